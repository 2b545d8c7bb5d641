//! Help while a statement is typed: more lines until it is complete, and
//! names at the tab key.

use rusqlite::Connection;
use rustyline::completion::Completer;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Context, Helper, Highlighter, Hinter};

use super::dot;

/// The words that statements on a trace are made of.
const KEYWORDS: &[&str] = &[
    "AND",
    "AS",
    "ASC",
    "BETWEEN",
    "BY",
    "CASE",
    "CREATE",
    "DELETE",
    "DESC",
    "DISTINCT",
    "DROP",
    "ELSE",
    "END",
    "EXISTS",
    "EXPLAIN",
    "FROM",
    "GLOB",
    "GROUP",
    "HAVING",
    "INDEX",
    "INSERT",
    "INTO",
    "JOIN",
    "LEFT",
    "LIKE",
    "LIMIT",
    "NOT",
    "NULL",
    "OFFSET",
    "ORDER",
    "OVER",
    "PARTITION",
    "PLAN",
    "QUERY",
    "SELECT",
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

/// What the line editor asks about SQL.
#[derive(Helper, Highlighter, Hinter)]
pub struct SqlHelper {
    /// Keywords, commands, and the names in the database; sorted.
    words: Vec<String>,
}

impl SqlHelper {
    /// Knows the names that are in the database now.
    pub fn new(connection: &Connection) -> SqlHelper {
        let mut words: Vec<String> = KEYWORDS.iter().map(ToString::to_string).collect();
        words.extend(dot::COMMANDS.iter().map(|(name, ..)| (*name).to_owned()));
        // Without names there is less help, but nothing is wrong.
        words.extend(names(connection).unwrap_or_default());
        words.sort_unstable();
        words.dedup();
        SqlHelper { words }
    }

    fn starting_with(&self, start: &str) -> Vec<String> {
        let is_match = |word: &&String| {
            word.get(..start.len())
                .is_some_and(|beginning| beginning.eq_ignore_ascii_case(start))
        };
        self.words.iter().filter(is_match).cloned().collect()
    }
}

/// Tables, views, their columns, and functions.
fn names(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    connection
        .prepare(
            "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')
             UNION SELECT c.name FROM sqlite_schema AS s, pragma_table_xinfo(s.name) AS c
                    WHERE s.type IN ('table', 'view')
             UNION SELECT name FROM pragma_function_list
             UNION SELECT name FROM pragma_module_list
                    WHERE name IN ('clock_path', 'ancestor_slice', 'descendant_slice', 'following_flow',
                                   'preceding_flow', 'directly_connected_flow')",
        )?
        .query_map([], |row| row.get(0))?
        .collect()
}

impl Completer for SqlHelper {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        position: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        let before = line.get(..position).unwrap_or_default();
        let is_of_name = |c: char| c.is_alphanumeric() || c == '_';
        let word = before.trim_end_matches(is_of_name);
        // A dot belongs to a command; elsewhere it comes after a table's name.
        let start = if word == "." { 0 } else { word.len() };
        let typed = &before[start..];
        if typed.is_empty() {
            return Ok((position, Vec::new()));
        }
        Ok((start, self.starting_with(typed)))
    }
}

impl Validator for SqlHelper {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        Ok(if super::is_complete(context.input()) {
            ValidationResult::Valid(None)
        } else {
            ValidationResult::Incomplete
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustyline::history::DefaultHistory;

    fn completed(line: &str) -> (usize, Vec<String>) {
        let connection = Connection::open_in_memory().expect("in memory");
        connection
            .execute_batch("CREATE TABLE packet (unresolved)")
            .expect("valid SQL");
        let history = DefaultHistory::new();
        SqlHelper::new(&connection)
            .complete(line, line.len(), &Context::new(&history))
            .expect("no error")
    }

    #[test]
    fn names_of_the_database_are_completed() {
        assert_eq!(
            completed("SELECT * FROM pack"),
            (14, vec!["packet".to_owned()])
        );
        assert_eq!(
            completed("SELECT p.UNRES"),
            (9, vec!["unresolved".to_owned()])
        );
        assert_eq!(completed("sele"), (0, vec!["SELECT".to_owned()]));
    }

    #[test]
    fn commands_are_completed_at_the_start() {
        assert_eq!(completed(".ta"), (0, vec![".tables".to_owned()]));
    }

    #[test]
    fn nothing_is_completed_from_nothing() {
        assert_eq!(completed("SELECT "), (7, Vec::new()));
    }
}
