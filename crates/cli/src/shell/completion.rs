//! Completes names when the user presses the tab key while typing a statement.
//!
//! # Design
//!
//! The words around the cursor decide what may come next. After FROM it is a table, and after a
//! table's name or alias and a dot, a column of this table. Elsewhere it is a column of the tables
//! that the statement names, before or after the cursor. A parser of SQL would know more, but only
//! about complete statements, and a statement that is being typed is not complete.

use clap::ValueEnum;
use rusqlite::Connection;
use rustyline::completion::{Completer, FilenameCompleter};
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::Validator;
use rustyline::{Context, Helper};
use timebase_sql::token::{Kind, Token, Tokens};

use super::{commands, dot};
use crate::help;
use crate::output::Format;
use crate::reference::{SectionKind, reference};

/// The keywords that are completed.
const KEYWORDS: &[&str] = &[
    "AND",
    "AS",
    "ASC",
    "BETWEEN",
    "BY",
    "CASE",
    "CAST",
    "COLLATE",
    "CREATE",
    "CROSS",
    "DELETE",
    "DESC",
    "DISTINCT",
    "DROP",
    "ELSE",
    "END",
    "EXCEPT",
    "EXISTS",
    "EXPLAIN",
    "FILTER",
    "FROM",
    "FULL",
    "GLOB",
    "GROUP",
    "HAVING",
    "IN",
    "INDEX",
    "INNER",
    "INSERT",
    "INTERSECT",
    "INTO",
    "IS",
    "JOIN",
    "LEFT",
    "LIKE",
    "LIMIT",
    "MATERIALIZED",
    "NATURAL",
    "NOT",
    "NULL",
    "OFFSET",
    "ON",
    "OR",
    "ORDER",
    "OUTER",
    "OVER",
    "PARTITION",
    "PLAN",
    "QUERY",
    "RECURSIVE",
    "RIGHT",
    "SELECT",
    "SET",
    "TABLE",
    "TEMP",
    "THEN",
    "UNION",
    "UPDATE",
    "USING",
    "VALUES",
    "VIEW",
    "WHEN",
    "WHERE",
    "WINDOW",
    "WITH",
];

/// The table-valued functions of SQLite that are completed after FROM, besides the tables of the
/// database.
const OF_SQLITE: &[&str] = &["json_each", "json_tree"];

/// The schemas that can stand before a dot and a table.
const SCHEMAS: &[&str] = &["main", "temp"];

/// Answers the line editor's questions about SQL.
pub struct SqlHelper {
    /// The lines of the statement before the edited line.
    pending: String,
    /// Sorted by name.
    sources: Vec<Relation>,
    functions: Vec<String>,
    files: FilenameCompleter,
}

/// A table, a view or a table-valued function.
struct Relation {
    name: String,
    columns: Vec<String>,
    /// Whether it only stores the data of views, so that people do not look for it.
    is_storage: bool,
}

impl SqlHelper {
    /// Knows the names that the database has now.
    pub fn new(connection: &Connection, pending: &str) -> SqlHelper {
        SqlHelper {
            pending: pending.to_owned(),
            // Without names there is less help, but this is no error.
            sources: sources(connection).unwrap_or_default(),
            functions: functions(connection).unwrap_or_default(),
            files: FilenameCompleter::new(),
        }
    }

    fn source(&self, name: &str) -> Option<&Relation> {
        let mut sources = self.sources.iter();
        sources.find(|source| source.name.eq_ignore_ascii_case(name))
    }

    /// The possible completions of `typed` between these two parts of a statement.
    fn candidates(&self, before: &str, typed: &str, after: &str) -> Vec<String> {
        let mut named = Scan::of(&format!("{before} {typed}{after}")).sources;
        if let Some(before) = before.strip_suffix('.') {
            let start = before.trim_end_matches(is_of_name).len();
            let qualifier = &before[start..];
            if SCHEMAS.iter().any(|schema| schema.eq_ignore_ascii_case(qualifier)) {
                return self.sources.iter().map(|source| source.name.clone()).collect();
            }
            let of_alias = named.iter().find(|source| source.alias.eq_ignore_ascii_case(qualifier));
            let table = of_alias.map_or(qualifier, |source| &source.table);
            let columns = self.source(table).map(|source| source.columns.clone());
            return columns.unwrap_or_default();
        }
        if Scan::of(before).expects_source {
            let sources = self.sources.iter();
            let shown = sources.filter(|source| !(source.is_storage && typed.is_empty()));
            let names = shown.map(|source| source.name.clone());
            return names.chain(OF_SQLITE.iter().map(ToString::to_string)).collect();
        }
        if typed.is_empty() {
            return Vec::new();
        }
        named.retain(|source| self.source(&source.table).is_some());
        let mut words: Vec<String> = KEYWORDS.iter().map(ToString::to_string).collect();
        words.extend(self.functions.iter().map(|name| format!("{name}(")));
        for source in &self.sources {
            let is_named = |named: &Named| named.table.eq_ignore_ascii_case(&source.name);
            if named.is_empty() || named.iter().any(is_named) {
                words.extend(source.columns.iter().cloned());
            }
        }
        words.extend(named.into_iter().map(|named| named.alias));
        words
    }

    /// The possible completions in a command.
    fn of_command(&self, command: &str) -> Vec<String> {
        let formats =
            || Format::value_variants().iter().filter_map(|format| format.to_possible_value());
        match command {
            ".mode" => formats().map(|format| format.get_name().to_owned()).collect(),
            ".timer" => vec!["on".to_owned(), "off".to_owned()],
            ".help" | "help" => help::names_known().into_iter().map(|(name, _)| name).collect(),
            ".schema" => self.sources.iter().map(|source| source.name.clone()).collect(),
            _ => Vec::new(),
        }
    }
}

fn sources(connection: &Connection) -> rusqlite::Result<Vec<Relation>> {
    let mut columns = connection.prepare("SELECT name FROM pragma_table_info(?1)")?;
    let mut sources = Vec::new();
    for (name, _) in dot::sources(connection)? {
        let columns = columns.query_map([&name], |row| row.get(0))?;
        let section = reference().section(&name);
        sources.push(Relation {
            // A view may refer to tables that no longer exist.
            columns: columns.collect::<rusqlite::Result<_>>().unwrap_or_default(),
            is_storage: section.is_some_and(|section| section.kind == SectionKind::Storage),
            name,
        });
    }
    Ok(sources)
}

/// The functions that are useful in queries. This leaves out SQLite's internal functions for
/// full-text search, and the hints for its planner.
fn functions(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    const INNOCUOUS: i64 = 0x20_0000;
    connection
        .prepare(
            "SELECT DISTINCT name FROM pragma_function_list
             WHERE flags & ?1 AND name GLOB '[a-z]*' AND name NOT GLOB 'sqlite_*' AND name NOT GLOB 'fts5_*'
               AND name NOT IN ('likelihood', 'likely', 'unlikely', 'subtype')
             ORDER BY name",
        )?
        .query_map([INNOCUOUS], |row| row.get(0))?
        .collect()
}

/// The tables that a statement names after FROM, JOIN and similar keywords.
#[derive(Default)]
struct Scan {
    sources: Vec<Named>,
    /// Whether the name of a table comes next.
    expects_source: bool,
}

struct Named {
    alias: String,
    table: String,
}

impl Scan {
    fn of(statement: &str) -> Scan {
        let mut scan = Scan::default();
        // For each open parenthesis: whether a name after a comma is a table, and the index in
        // `sources` to which an alias would belong.
        let mut outer: Vec<(bool, Option<usize>)> = Vec::new();
        let (mut in_from, mut last) = (false, None);
        for token in Tokens::of(statement).filter(|token| !token.kind.is_blank()) {
            let text = token.text;
            let is_name = matches!(token.kind, Kind::Word | Kind::Quoted);
            if is_name && !is_keyword(text) {
                let name = text.trim_matches(['"', '`', '[', ']']).to_owned();
                if scan.expects_source {
                    last = Some(scan.sources.len());
                    scan.sources.push(Named { alias: name.clone(), table: name });
                } else if let Some(named) =
                    last.take().and_then(|index: usize| scan.sources.get_mut(index))
                {
                    named.alias = name;
                }
                scan.expects_source = false;
                continue;
            }
            match text.to_ascii_uppercase().as_str() {
                "FROM" | "JOIN" => {
                    (in_from, last) = (true, None);
                    scan.expects_source = true;
                    continue;
                }
                "INTO" | "UPDATE" | "TABLE" | "VIEW" => {
                    (in_from, last) = (false, None);
                    scan.expects_source = true;
                    continue;
                }
                "," => {
                    last = None;
                    scan.expects_source = in_from;
                    continue;
                }
                // The name before the dot was a schema.
                "." if last.is_some() => {
                    scan.sources.pop();
                    last = None;
                    scan.expects_source = true;
                    continue;
                }
                "(" => {
                    outer.push((in_from, last));
                    (in_from, last) = (false, None);
                }
                ")" => (in_from, last) = outer.pop().unwrap_or_default(),
                // The FROM clause continues, or an alias follows.
                "AS" => {}
                "ON" | "USING" | "LEFT" | "RIGHT" | "FULL" | "INNER" | "OUTER" | "CROSS"
                | "NATURAL" => {
                    last = None;
                }
                _ if token.kind == Kind::Word || token.is_sign(";") => {
                    (in_from, last) = (false, None);
                }
                _ => {}
            }
            scan.expects_source = false;
        }
        scan
    }
}

fn is_keyword(word: &str) -> bool {
    KEYWORDS.iter().any(|keyword| keyword.eq_ignore_ascii_case(word))
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The part of a text after its last semicolon that ends a statement.
fn last_statement(text: &str) -> &str {
    let last = Tokens::of(text).filter(|token| token.is_sign(";")).last();
    &text[last.map_or(0, Token::end)..]
}

impl Helper for SqlHelper {}

impl Highlighter for SqlHelper {}

impl Hinter for SqlHelper {
    type Hint = String;
}

impl Validator for SqlHelper {}

impl Completer for SqlHelper {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        position: usize,
        context: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        let (before, after) = line.split_at_checked(position).unwrap_or((line, ""));
        let word = before.trim_start();
        let command = commands::name(word);
        let is_command =
            word.starts_with('.') || self.pending.is_empty() && commands::is_bare(command);
        let argument =
            word.strip_prefix(command).filter(|rest| rest.starts_with(char::is_whitespace));
        let (start, mut candidates) = match argument {
            Some(_) if is_command && command == ".read" => {
                let (start, files) = self.files.complete(line, position, context)?;
                return Ok((start, files.into_iter().map(|file| file.replacement).collect()));
            }
            Some(argument) if is_command => {
                let typed = argument.trim_start();
                (before.len() - typed.len(), self.of_command(command))
            }
            None if word.starts_with('.') => {
                let names = commands::COMMANDS.iter().map(|(name, ..)| (*name).to_owned());
                (before.len() - word.len(), names.collect())
            }
            _ => {
                let text = format!("{}{before}", self.pending);
                let is_inside = |token: Token<'_>| token.is_open() || token.is_line_comment();
                if Tokens::of(&text).last().is_some_and(is_inside) {
                    return Ok((position, Vec::new()));
                }
                let start = before.trim_end_matches(is_of_name).len();
                let typed = &before[start..];
                let statement = last_statement(&text);
                let statement = statement.strip_suffix(typed).unwrap_or(statement);
                let after = after.split(';').next().unwrap_or_default();
                (start, self.candidates(statement, typed, after))
            }
        };
        let typed = &before[start..];
        candidates.retain(|candidate| {
            let beginning = candidate.get(..typed.len());
            beginning.is_some_and(|beginning| beginning.eq_ignore_ascii_case(typed))
        });
        candidates.sort_unstable();
        candidates.dedup();
        Ok((start, candidates))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustyline::history::DefaultHistory;

    fn completed_at(pending: &str, line: &str, position: usize) -> (usize, Vec<String>) {
        let connection = Connection::open_in_memory().expect("in memory");
        connection
            .execute_batch(
                "CREATE TABLE packet (unresolved, ts); CREATE TABLE slice_record (id);
                 CREATE VIEW slice AS SELECT 1 AS dur, 2 AS ts",
            )
            .expect("valid SQL");
        timebase_resolver::sql::register(&connection).expect("can be registered");
        let history = DefaultHistory::new();
        SqlHelper::new(&connection, pending)
            .complete(line, position, &Context::new(&history))
            .expect("no error")
    }

    fn completed(line: &str) -> Vec<String> {
        completed_at("", line, line.len()).1
    }

    #[test]
    fn behind_from_are_tables_and_table_valued_functions() {
        let all = [
            "boottime_interval",
            "clock_path",
            "clock_path_linear",
            "json_each",
            "json_tree",
            "packet",
            "slice",
        ];
        assert_eq!(completed("SELECT * FROM "), all);
        assert_eq!(completed("SELECT * FROM packet AS p, "), all);
        assert_eq!(completed("SELECT * FROM (SELECT 1) JOIN "), all);
        assert_eq!(completed_at("SELECT *\nFROM\n", "pack", 4), (0, vec!["packet".to_owned()]));
        // The table behind a view is offered only if the user types the start of its name.
        assert_eq!(completed("SELECT * FROM sli"), ["slice", "slice_record"]);
        assert_eq!(completed("SELECT * FROM main.sli"), ["slice", "slice_record"]);
        // SQLite's own tables are left out.
        assert!(completed("SELECT * FROM sqlite").is_empty());
        assert!(completed("SELECT * FROM pragma").is_empty());
    }

    #[test]
    fn behind_a_table_or_alias_and_a_dot_are_its_columns() {
        assert_eq!(completed("SELECT packet."), ["ts", "unresolved"]);
        assert_eq!(completed("SELECT p.t FROM packet AS p JOIN slice s WHERE s."), ["dur", "ts"]);
        assert_eq!(
            completed_at("", "SELECT p.UN FROM packet p", 11),
            (9, vec!["unresolved".to_owned()])
        );
        assert_eq!(
            completed("SELECT h. FROM packet JOIN clock_path(1, 2, 3) AS h WHERE h.st"),
            ["step"]
        );
        assert!(completed("SELECT nobody.").is_empty());
    }

    #[test]
    fn elsewhere_are_columns_of_the_tables_at_hand() {
        let unlike = completed("SELECT un");
        for word in ["UNION", "unhex(", "unresolved"] {
            assert!(unlike.iter().any(|found| found == word), "{word}: {unlike:?}");
        }
        assert!(!unlike.contains(&"unlikely(".to_owned()), "{unlike:?}");
        assert_eq!(completed_at("", "SELECT du FROM slice", 9), (7, vec!["dur".to_owned()]));
        assert!(completed_at("", "SELECT du FROM packet", 9).1.is_empty());
        assert_eq!(completed("sele"), ["SELECT"]);
        assert_eq!(completed("SELECT to_b"), ["to_boottime(", "to_boottime_linear("]);
        assert!(completed("SELECT sqlite_").is_empty());
        assert!(completed("SELECT fts").is_empty());
    }

    #[test]
    fn commands_are_completed_with_what_they_take() {
        assert_eq!(completed(".ta"), [".tables"]);
        assert_eq!(completed(".mode js"), ["json", "jsonl"]);
        assert_eq!(completed(".timer o"), ["off", "on"]);
        assert_eq!(completed(".help to_b"), ["to_boottime", "to_boottime_linear"]);
        assert_eq!(completed("help sched-l"), ["sched-latency"]);
        assert_eq!(completed(".schema pa"), ["packet"]);
        assert_eq!(completed(".read Cargo.to"), ["Cargo.toml"]);
    }

    #[test]
    fn nothing_is_completed_in_quotes_comments_and_from_nothing() {
        assert!(completed("SELECT ").is_empty());
        assert!(completed("SELECT 'pack").is_empty());
        assert!(completed("SELECT 1 -- FROM pack").is_empty());
        assert!(completed_at("SELECT '\n", "pack", 4).1.is_empty());
        // The statement before the semicolon does not count.
        assert_eq!(completed("SELECT 1 FROM packet; SELECT du"), ["dur"]);
    }
}
