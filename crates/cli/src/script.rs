//! A text of SQL: its statements, and the titles and parameters in its comments.
//!
//! # Design
//!
//! A report is SQL. Anything more than SQL is in its comments: titles, and descriptions of its
//! parameters. So a report runs in any client, which skips the comments and asks for the parameters
//! in its own way. A format of our own around the statements (a header, or one file for each
//! statement) would have needed rules of quoting, and an editor would not recognize it as SQL.
//!
//! Only comments between statements count. Within a statement they are notes, and within quotes
//! they are no comments.
//!
//! SQLite itself tells where a statement ends only when it prepares the statement. It cannot prepare a
//! statement that reads a table which an earlier statement makes. So the tokens tell it here.

use timebase_sql::token::{Kind, Token, Tokens};

/// A text of SQL.
#[derive(Debug)]
pub struct Script<'a> {
    /// The statements in the order of the text.
    pub statements: Vec<Statement<'a>>,
    /// The parameters that the lines `-- param name type = value : description` at the top declare.
    pub declared: Vec<Declared<'a>>,
    /// Whether the last statement ends with a semicolon, or there is no statement.
    pub is_complete: bool,
}

/// One statement of the text.
#[derive(Debug, PartialEq, Eq)]
pub struct Statement<'a> {
    /// The statement with its semicolon, without white space and comments around it.
    pub sql: &'a str,
    /// The title of the last line `-- # Title` between the previous statement and this one.
    pub title: Option<String>,
    /// The names after `:`, `@`, `$` and `#`, each once.
    pub parameters: Vec<&'a str>,
    /// The tracks of the lines `-- # track NAME: SELECT …` between the previous statement and this one. They read the
    /// tables that earlier statements make.
    pub tracks: Vec<Track<'a>>,
}

/// A track for a timeline, which a line `-- # track NAME: SELECT …` states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Track<'a> {
    /// The name.
    pub name: &'a str,
    /// The statement with its rows.
    pub sql: &'a str,
}

/// A parameter that a line `-- param name type = value : description` declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Declared<'a> {
    /// The name without `:` before it.
    pub name: &'a str,
    /// The type of its values; `None` for any type.
    pub value_type: Option<Type>,
    /// The value if the command line has none. Without a default, the command line has to have a
    /// value.
    pub default: Option<&'a str>,
    /// The description for the person who gives the value.
    pub description: &'a str,
}

/// The type of a parameter's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// A whole number of 64 bits.
    Integer,
    /// A number, whole or not.
    Real,
    /// The text as written, without a check.
    Text,
    /// Trace time: nanoseconds, or a date and time of day.
    Time,
}

impl Type {
    fn of_name(name: &str) -> Option<Type> {
        Some(match name {
            "integer" => Type::Integer,
            "real" => Type::Real,
            "text" => Type::Text,
            "time" => Type::Time,
            _ => return None,
        })
    }
}

/// The part of a statement that has been seen, with the distinctions of `sqlite3_complete`:
/// semicolons inside a trigger's body do not end the CREATE TRIGGER.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    Nothing,
    Explain,
    Create,
    Other,
    Trigger,
    TriggerSemicolon,
    TriggerEnd,
}

impl<'a> Script<'a> {
    /// Finds the statements of a text. Any text is accepted; SQLite reports errors in statements.
    pub fn parse(text: &'a str) -> Script<'a> {
        // Editors of Windows put this mark there, and SQLite skips it.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut script = Script { statements: Vec::new(), declared: Vec::new(), is_complete: true };
        let mut seen = Seen::Nothing;
        let mut next_title = None;
        let mut tracks = Vec::new();
        let mut parameters = Vec::new();
        let mut start = 0;
        let mut is_open = false;
        let mut macros = Macros::default();
        for token in Tokens::of(text) {
            is_open = token.is_open();
            if seen == Seen::Nothing {
                start = token.start;
                if token.is_line_comment() && starts_line(text, start) {
                    match track(token.text) {
                        Some(track) => tracks.push(track),
                        None => next_title = title(token.text).or(next_title),
                    }
                    if script.statements.is_empty() {
                        script.declared.extend(declared(token.text));
                    }
                }
            }
            macros.follow(token);
            // The variables of a declaration in PerfettoSQL are its arguments, and a macro that scans a graph
            // takes a query of $table.
            if let Some(name) = parameter(token)
                && !parameters.contains(&name)
                && !(macros.is_inside() && token.text == "$table")
                && !is_declaration(&text[start..token.start])
            {
                parameters.push(name);
            }
            let was = seen;
            seen = after(seen, token);
            if token.is_sign(";") && seen == Seen::Nothing && was != Seen::Nothing {
                script.statements.push(Statement {
                    sql: &text[start..token.end()],
                    title: next_title.take(),
                    parameters: std::mem::take(&mut parameters),
                    tracks: std::mem::take(&mut tracks),
                });
            }
        }
        script.is_complete = seen == Seen::Nothing && !is_open;
        if seen != Seen::Nothing {
            script.statements.push(Statement {
                sql: &text[start..],
                title: next_title,
                parameters,
                tracks,
            });
        }
        script
    }
}

/// The place in calls of macros, `name!(…)`.
#[derive(Default)]
struct Macros {
    is_after_bang: bool,
    /// The open parentheses from that of the outermost call on.
    depth: usize,
}

impl Macros {
    fn follow(&mut self, token: Token<'_>) {
        if token.kind.is_blank() {
            return;
        }
        if token.is_sign("(") && (self.is_after_bang || self.is_inside()) {
            self.depth += 1;
        } else if token.is_sign(")") {
            self.depth = self.depth.saturating_sub(1);
        } else if token.is_sign(";") {
            self.depth = 0;
        }
        self.is_after_bang = token.is_sign("!");
    }

    fn is_inside(&self) -> bool {
        self.depth > 0
    }
}

/// The name of a parameter, without its sign; `None` for other tokens and for `?1`, which has no name.
fn parameter(token: Token<'_>) -> Option<&str> {
    let named = token.text.strip_prefix([':', '@', '$', '#']);
    named.filter(|_| token.kind == Kind::Variable)
}

/// Whether a statement begins as `CREATE [OR REPLACE] PERFETTO FUNCTION` or `MACRO` does.
fn is_declaration(start: &str) -> bool {
    let mut words = Tokens::of(start)
        .filter(|token| !token.kind.is_blank())
        .map(|token| token.text.to_ascii_uppercase());
    let mut next = || words.next().unwrap_or_default();
    if next() != "CREATE" {
        return false;
    }
    let mut word = next();
    if word == "OR" && next() == "REPLACE" {
        word = next();
    }
    word == "PERFETTO" && matches!(next().as_str(), "FUNCTION" | "MACRO")
}

fn after(seen: Seen, token: Token<'_>) -> Seen {
    let is = |keyword| token.is_word(keyword);
    match seen {
        _ if token.kind.is_blank() => seen,
        Seen::Trigger | Seen::TriggerSemicolon if token.is_sign(";") => Seen::TriggerSemicolon,
        _ if token.is_sign(";") => Seen::Nothing,
        Seen::Nothing if is("EXPLAIN") => Seen::Explain,
        Seen::Nothing | Seen::Explain if is("CREATE") => Seen::Create,
        // EXPLAIN QUERY PLAN CREATE ... is a statement, too.
        Seen::Explain if is("QUERY") || is("PLAN") => Seen::Explain,
        Seen::Create if is("TEMP") || is("TEMPORARY") => Seen::Create,
        Seen::Create if is("TRIGGER") => Seen::Trigger,
        Seen::TriggerSemicolon if is("END") => Seen::TriggerEnd,
        Seen::Trigger | Seen::TriggerSemicolon | Seen::TriggerEnd => Seen::Trigger,
        _ => Seen::Other,
    }
}

/// Whether there are only blanks before this place on its line. A comment after a statement is
/// about that statement.
fn starts_line(text: &str, at: usize) -> bool {
    let line = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    text[line..at].trim().is_empty()
}

/// The title in a comment: `-- # Title`.
fn title(comment: &str) -> Option<String> {
    let text = comment.strip_prefix("--")?.trim().strip_prefix('#')?;
    let is_marker = text.starts_with(char::is_whitespace);
    // A title is one line, in every format.
    let printable = |c: char| if c.is_control() { ' ' } else { c };
    is_marker.then(|| text.trim().chars().map(printable).collect())
}

/// The track in a comment: `-- # track NAME: SELECT …`.
fn track(comment: &str) -> Option<Track<'_>> {
    let text = comment.strip_prefix("--")?.trim().strip_prefix('#')?;
    let text = text.trim_start().strip_prefix("track ")?;
    let (name, sql) = text.split_once(": ")?;
    let (name, sql) = (name.trim(), sql.trim());
    (!name.is_empty() && !sql.is_empty()).then_some(Track { name, sql })
}

/// The declaration in a comment: `-- param name type = value : description`, without the type, or
/// without the value. Any other comment is a note.
fn declared(comment: &str) -> Option<Declared<'_>> {
    let text = comment.strip_prefix("--")?.trim().strip_prefix("param")?;
    let is_marker = text.starts_with(char::is_whitespace);
    let (text, description) = text.split_once(" : ").unwrap_or((text, ""));
    let (words, default) = match text.split_once('=') {
        Some((words, default)) => (words, Some(default.trim())),
        None => (text, None),
    };
    let mut words = words.split_whitespace();
    let (name, of_type) = (words.next()?, words.next());
    let value_type = match of_type.map(Type::of_name) {
        Some(None) => return None,
        known => known.flatten(),
    };
    let says_something = value_type.is_some() || default.is_some() || !description.is_empty();
    let is_one = is_marker && is_name(name) && words.next().is_none() && says_something;
    is_one.then(|| Declared { name, value_type, default, description: description.trim() })
}

/// The name of one of several statements in a message.
pub fn place(index: usize, title: Option<&str>) -> String {
    let title = title.map_or_else(String::new, |title| format!(" ({title})"));
    format!("statement {}{title}", index + 1)
}

/// Whether SQLite accepts the text as a parameter's name, after the sign.
pub fn is_name(text: &str) -> bool {
    let written = format!(":{text}");
    let token = Tokens::of(&written).next();
    token.is_some_and(|token| token.kind == Kind::Variable && token.text == written)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rusqlite::fallible_iterator::FallibleIterator;
    use rusqlite::{Batch, Connection};

    #[test]
    fn pq9_the_table_of_a_scan_is_no_parameter() {
        let names = |text| Script::parse(text).statements.remove(0).parameters;
        let scan = "SELECT * FROM scan!(g, i, (x), (SELECT id, $x FROM $table AS t GROUP BY (id)))";
        assert_eq!(names(scan), ["x"]);
        assert_eq!(names("SELECT $table, m!(1)"), ["table"]);
        assert_eq!(names("SELECT m ! (f(1), $table), $table"), ["table"]);
    }

    fn pieces(text: &str) -> Vec<&str> {
        let statements = Script::parse(text).statements.into_iter();
        statements.map(|statement| statement.sql).collect()
    }

    fn titles(text: &str) -> Vec<Option<String>> {
        let statements = Script::parse(text).statements.into_iter();
        statements.map(|statement| statement.title).collect()
    }

    fn is_complete(text: &str) -> bool {
        Script::parse(text).is_complete
    }

    fn some(title: &str) -> Option<String> {
        Some(title.to_owned())
    }

    #[test]
    fn a_semicolon_ends_a_statement() {
        assert_eq!(pieces("SELECT 1; SELECT 2"), ["SELECT 1;", "SELECT 2"]);
        assert_eq!(pieces("SELECT 1;\n"), ["SELECT 1;"]);
    }

    #[test]
    fn a_semicolon_in_quotes_or_a_comment_does_not() {
        for statement in [
            "SELECT ';';",
            "SELECT \"a;b\";",
            "SELECT `;`, [;];",
            "SELECT 'it''s; so';",
            "SELECT 1 /* ; */;",
            "SELECT 1 -- ;\n;",
        ] {
            assert_eq!(pieces(statement), [statement]);
        }
    }

    #[test]
    fn what_is_only_comment_is_no_statement() {
        assert!(pieces("").is_empty());
        assert!(pieces(" ;; -- nothing\n;/* here */").is_empty());
        assert_eq!(pieces("-- why\nSELECT 1;"), ["SELECT 1;"]);
        assert_eq!(pieces("\u{feff}-- why\nSELECT 1;"), ["SELECT 1;"]);
    }

    #[test]
    fn a_trigger_is_one_statement() {
        let trigger = "CREATE TEMP TRIGGER t AFTER INSERT ON packet BEGIN SELECT 1; SELECT 2; END;";
        assert_eq!(pieces(&format!("{trigger} SELECT 3;")), [trigger, "SELECT 3;"]);
        assert!(!is_complete("CREATE TRIGGER t AFTER INSERT ON p BEGIN SELECT 1;"));
    }

    #[test]
    fn a_statement_is_complete_with_its_semicolon() {
        assert!(is_complete("SELECT 1;"));
        assert!(is_complete("SELECT 1; -- done"));
        assert!(is_complete(""));
        assert!(!is_complete("SELECT 1"));
        assert!(!is_complete("SELECT 1; SELECT"));
        assert!(!is_complete("SELECT ';"));
        assert!(!is_complete("SELECT 1; /* and"));
    }

    #[test]
    fn text_beyond_ascii_is_cut_between_characters() {
        assert_eq!(pieces("SELECT 'ä→;'; SELECT é;"), ["SELECT 'ä→;';", "SELECT é;"]);
    }

    #[test]
    fn a_title_is_a_line_before_its_statement() {
        assert_eq!(titles("-- # Clocks\nSELECT 1;"), [some("Clocks")]);
        assert_eq!(
            titles(
                "-- # A\r\n-- What it shows.\n\nSELECT 1;\n  --  #   B & C  \nSELECT 2;SELECT 3"
            ),
            [some("A"), some("B & C"), None]
        );
        assert_eq!(titles("-- # Not this\n-- # But this\nSELECT 1"), [some("But this")]);
        assert_eq!(titles("-- # A\n;;\nSELECT 1"), [some("A")]);
        assert_eq!(titles("-- # A\u{1b}[2J\tB\nSELECT 1"), [some("A [2J B")]);
    }

    #[test]
    fn other_comments_are_no_titles() {
        for text in [
            "-- Clocks\nSELECT 1",
            "-- ## Clocks\nSELECT 1",
            "-- #1\nSELECT 1",
            "-- #\nSELECT 1",
            "/*\n-- # Clocks\n*/ SELECT 1",
            "SELECT -- # Clocks\n 1",
            "SELECT '\n-- # Clocks\n'",
            "SELECT 1 -- # Clocks",
        ] {
            assert_eq!(titles(text), [None], "{text}");
        }
        let behind = "SELECT 1; -- # of the one before\nSELECT 2;";
        assert_eq!(titles(behind), [None, None]);
    }

    #[test]
    fn parameters_have_three_signs_and_are_not_in_quotes() {
        let script = Script::parse(
            "SELECT :a, @b, $c, :a, ':d', \":e\", [:f], 1 /* :g */ -- :h\n; SELECT a$b, x'@';",
        );
        assert_eq!(script.statements[0].parameters, ["a", "b", "c"]);
        assert!(script.statements[1].parameters.is_empty());
    }

    #[test]
    fn a_parameter_may_have_a_name_as_in_tcl() {
        let script = Script::parse("SELECT $a::b(c;d), @::e, #f, :g(h; SELECT :i (1), ':j';");
        assert_eq!(script.statements[0].sql, "SELECT $a::b(c;d), @::e, #f, :g(h;");
        let [first, second] = [0, 1].map(|index| &script.statements[index].parameters[..]);
        assert_eq!(first, ["a::b(c;d)", "::e", "f", "g"]);
        assert_eq!(second, ["i"]);
        assert!(is_name("a") && is_name("a::b(c;d)") && is_name("::e"));
        assert!(!is_name("") && !is_name("::") && !is_name("a b") && !is_name("a(b"));
    }

    #[test]
    fn parameters_are_declared_at_the_top() {
        let text = "-- A report.\n-- param top = 20 : how many rows: at most\n\
                    --param from=NULL\n-- param tag = a = b : c\n-- parameter x = 1\n\
                    -- param of the art = 2\n-- param sets\n-- param n integer = 3\n\
                    -- param since time : from when\n-- param log text\n-- param x : which\n\
                    SELECT 1;\n-- param late = 3\nSELECT 2";
        let declared = |name, value_type, default, description| Declared {
            name,
            value_type,
            default,
            description,
        };
        assert_eq!(
            Script::parse(text).declared,
            [
                declared("top", None, Some("20"), "how many rows: at most"),
                declared("from", None, Some("NULL"), ""),
                declared("tag", None, Some("a = b"), "c"),
                declared("n", Some(Type::Integer), Some("3"), ""),
                declared("since", Some(Type::Time), None, "from when"),
                declared("log", Some(Type::Text), None, ""),
                declared("x", None, None, "which"),
            ]
        );
    }

    /// A statement, its title and its parameters, made of fragments that look like each other.
    fn statement() -> impl Strategy<Value = (String, Option<String>, Vec<&'static str>)> {
        let fragment = prop::sample::select(vec![
            ("'-- # no'", None),
            ("'\n-- # no\n; :no'", None),
            ("\"a;\n-- # no\nb\"", None),
            ("[-- # no;\n-- # no]", None),
            ("/* \n-- # no\n; */ 1", None),
            ("1 -- # no ; :no\n", None),
            ("'it''s;'", None),
            ("'ä→:no'", None),
            ("2\n\n  - -1", None),
            (":a", Some("a")),
            ("@b", Some("b")),
            ("$c", Some("c")),
        ]);
        let title = prop::option::of("[A-Za-z'\";:ä][A-Za-z'\";:/*ä-]{0,8}");
        (prop::collection::vec(fragment, 1..5), title).prop_map(|(fragments, title)| {
            let (mut sql, mut used) = ("SELECT ".to_owned(), Vec::new());
            for (index, (text, parameter)) in fragments.into_iter().enumerate() {
                let quoted = text.starts_with(['"', '[']);
                let separator = if index > 0 { ", " } else { "" };
                // A name in quotes has to be the name of something.
                let text = if quoted { format!("1 AS {text}") } else { text.to_owned() };
                sql += &format!("{separator}{text}");
                used.extend(parameter.filter(|name| !used.contains(name)));
            }
            (sql + ";", title, used)
        })
    }

    proptest! {
        /// SQLite cuts the text where we do, and finds the same parameters.
        #[test]
        fn comments_in_quotes_do_not_fool_it(
            statements in prop::collection::vec(statement(), 0..6),
            between in prop::sample::select(vec!["\n", " -- # of the one before\n", "\n;\n/* -- # no */\n", "\r\n\n-- why\r\n"]),
        ) {
            let text: String = statements
                .iter()
                .map(|(sql, title, _)| {
                    let title = title.as_ref().map(|title| format!("-- # {title}\n"));
                    format!("{}{sql}{between}", title.unwrap_or_default())
                })
                .collect();
            let script = Script::parse(&text);
            prop_assert!(script.is_complete);
            prop_assert_eq!(script.statements.len(), statements.len());
            for (found, (sql, title, parameters)) in script.statements.iter().zip(&statements) {
                prop_assert_eq!(found.sql, sql);
                prop_assert_eq!(&found.title, title);
                prop_assert_eq!(&found.parameters, parameters);
            }
            let connection = Connection::open_in_memory().expect("in memory");
            let mut batch = Batch::new(&connection, &text);
            let mut found = script.statements.iter();
            while let Some(prepared) = batch.next().expect("valid SQL") {
                let Some(statement) = found.next() else {
                    // White space at the end is an empty statement.
                    prop_assert_eq!(prepared.column_count(), 0);
                    break;
                };
                let names: Vec<_> = (1..=prepared.parameter_count())
                    .filter_map(|index| prepared.parameter_name(index))
                    .map(|name| &name[1..])
                    .collect();
                prop_assert_eq!(&names, &statement.parameters);
            }
            prop_assert!(found.next().is_none());
        }

        #[test]
        fn any_text_is_a_script(text in any::<String>()) {
            let script = Script::parse(&text);
            for statement in script.statements {
                prop_assert!(text.contains(statement.sql));
            }
        }
    }
}
