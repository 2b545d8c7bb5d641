//! SQL text: where its statements end, and running them in order.

use std::io::Write;
use std::ops::Range;

use anyhow::{Context, anyhow};
use rusqlite::{Connection, ErrorCode};

use crate::output::{self, Format};

const UNWRITABLE: &str = "cannot write the result";

/// Runs every statement of `text` and writes its rows, if it has any.
pub fn run(
    connection: &Connection,
    text: &str,
    format: Format,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let statements = split(text).statements;
    let several = statements.len() > 1;
    for (index, range) in statements.into_iter().enumerate() {
        let number = several.then_some(index + 1);
        run_one(connection, &text[range], number, format, out)?;
    }
    Ok(())
}

fn run_one(
    connection: &Connection,
    sql: &str,
    number: Option<usize>,
    format: Format,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let describe = |error| describe(&error, sql, number);
    let mut statement = connection.prepare(sql).map_err(describe)?;
    let count = statement.column_count();
    let columns = (0..count)
        .map(|index| statement.column_name(index).map(str::to_owned))
        .collect::<rusqlite::Result<Vec<_>>>()
        .map_err(describe)?;
    let mut rows = statement.raw_query();
    if count == 0 {
        while rows.next().map_err(describe)?.is_some() {}
        return Ok(());
    }
    let mut sink =
        output::sink(format, columns, output::terminal_width(), out).context(UNWRITABLE)?;
    while let Some(row) = rows.next().map_err(describe)? {
        let values = (0..count)
            .map(|index| row.get_ref(index))
            .collect::<rusqlite::Result<Vec<_>>>()
            .map_err(describe)?;
        sink.row(&values).context(UNWRITABLE)?;
    }
    sink.finish().context(UNWRITABLE)
}

/// SQLite's message and, beneath it, the statement, with a mark at the place
/// that SQLite names.
fn describe(error: &rusqlite::Error, sql: &str, number: Option<usize>) -> anyhow::Error {
    use rusqlite::Error::{SqlInputError, SqliteFailure};

    let (message, offset) = match error {
        SqlInputError { msg, offset, .. } => (msg.clone(), usize::try_from(*offset).ok()),
        SqliteFailure(_, Some(message)) => (message.clone(), None),
        other => (other.to_string(), None),
    };
    if error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) {
        return anyhow!("interrupted");
    }
    let place = number.map_or_else(String::new, |number| format!("statement {number}: "));
    anyhow!("{place}{message}\n{}", excerpt(sql, offset))
}

/// The line of the statement that `offset` is on, or the first one.
fn excerpt(sql: &str, offset: Option<usize>) -> String {
    /// What fits beside the indentation in a terminal of 80 columns.
    const WIDTH: usize = 76;

    let offset = offset.filter(|offset| sql.is_char_boundary(*offset));
    let start = offset
        .and_then(|offset| sql[..offset].rfind('\n'))
        .map_or(0, |newline| newline + 1);
    let line = sql[start..].lines().next().unwrap_or_default();
    let column = offset.map(|offset| sql[start..offset].chars().count());
    let skipped = column.map_or(0, |column| column.saturating_sub(WIDTH - 20));
    let shown: String = line
        .chars()
        .skip(skipped)
        .take(WIDTH)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    match column {
        Some(column) => format!("  {shown}\n  {:>width$}", '^', width = column - skipped + 1),
        None => format!("  {shown}"),
    }
}

/// Where the statements of a text are.
pub struct Split {
    /// Without what is only white space or comment, with the semicolon.
    pub statements: Vec<Range<usize>>,
    /// Whether the last one ends with a semicolon, or there is none.
    pub is_complete: bool,
}

/// What has been seen of a statement, as `sqlite3_complete` distinguishes it:
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

/// Finds the statements of `text`.
pub fn split(text: &str) -> Split {
    let bytes = text.as_bytes();
    let mut statements = Vec::new();
    let mut seen = Seen::Nothing;
    let mut start = 0;
    let mut at = 0;
    let mut is_open = false;
    while let Some(token) = token(bytes, at) {
        let end = at + token.length;
        if token.kind != Kind::Space && seen == Seen::Nothing {
            start = at;
        }
        at = end;
        let was = seen;
        seen = after(seen, token.kind, &text[end - token.length..end]);
        is_open = token.is_open;
        if token.kind == Kind::Semicolon && seen == Seen::Nothing && was != Seen::Nothing {
            statements.push(start..end);
        }
    }
    let is_complete = seen == Seen::Nothing && !is_open;
    if seen != Seen::Nothing {
        statements.push(start..text.len());
    }
    Split {
        statements,
        is_complete,
    }
}

fn after(seen: Seen, kind: Kind, text: &str) -> Seen {
    let is = |keyword: &str| kind == Kind::Word && text.eq_ignore_ascii_case(keyword);
    match (seen, kind) {
        (_, Kind::Space) => seen,
        (Seen::Trigger | Seen::TriggerSemicolon, Kind::Semicolon) => Seen::TriggerSemicolon,
        (_, Kind::Semicolon) => Seen::Nothing,
        (Seen::Nothing, _) if is("EXPLAIN") => Seen::Explain,
        (Seen::Nothing | Seen::Explain, _) if is("CREATE") => Seen::Create,
        // EXPLAIN QUERY PLAN CREATE ... is a statement, too.
        (Seen::Explain, _) if is("QUERY") || is("PLAN") => Seen::Explain,
        (Seen::Create, _) if is("TEMP") || is("TEMPORARY") => Seen::Create,
        (Seen::Create, _) if is("TRIGGER") => Seen::Trigger,
        (Seen::TriggerSemicolon, _) if is("END") => Seen::TriggerEnd,
        (Seen::Trigger | Seen::TriggerSemicolon | Seen::TriggerEnd, _) => Seen::Trigger,
        _ => Seen::Other,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// White space or a comment.
    Space,
    Semicolon,
    Word,
    Other,
}

struct Token {
    kind: Kind,
    length: usize,
    /// A quotation or a comment without its end.
    is_open: bool,
}

/// The token that starts at `at`; None at the end.
fn token(bytes: &[u8], at: usize) -> Option<Token> {
    let rest = &bytes[at..];
    let until = |from: usize, end: &[u8]| {
        rest[from..]
            .windows(end.len())
            .position(|window| window == end)
            .map(|position| from + position + end.len())
    };
    let run = |is: fn(&u8) -> bool| rest.iter().take_while(|byte| is(byte)).count();
    let enclosed = |kind, end: Option<usize>| Token {
        kind,
        length: end.unwrap_or(rest.len()),
        is_open: end.is_none(),
    };
    let closed = |kind, length| Token {
        kind,
        length,
        is_open: false,
    };
    Some(match rest {
        [] => return None,
        [b';', ..] => closed(Kind::Semicolon, 1),
        // The end of the text ends such a comment as well.
        [b'-', b'-', ..] => closed(Kind::Space, until(2, b"\n").unwrap_or(rest.len())),
        [b'/', b'*', ..] => enclosed(Kind::Space, until(2, b"*/")),
        [quote @ (b'\'' | b'"' | b'`'), ..] => enclosed(Kind::Other, until(1, &[*quote])),
        [b'[', ..] => enclosed(Kind::Other, until(1, b"]")),
        [byte, ..] if byte.is_ascii_whitespace() => {
            closed(Kind::Space, run(u8::is_ascii_whitespace))
        }
        [byte, ..] if is_of_word(byte) => closed(Kind::Word, run(is_of_word)),
        _ => closed(Kind::Other, 1),
    })
}

/// What identifiers and keywords consist of. All of UTF-8's other bytes do, so
/// that a token always ends between two characters.
fn is_of_word(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || !byte.is_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str) -> Vec<&str> {
        split(text)
            .statements
            .into_iter()
            .map(|range| &text[range])
            .collect()
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
    }

    #[test]
    fn a_trigger_is_one_statement() {
        let trigger = "CREATE TEMP TRIGGER t AFTER INSERT ON packet BEGIN SELECT 1; SELECT 2; END;";
        assert_eq!(
            pieces(&format!("{trigger} SELECT 3;")),
            [trigger, "SELECT 3;"]
        );
        assert!(!split("CREATE TRIGGER t AFTER INSERT ON p BEGIN SELECT 1;").is_complete);
    }

    #[test]
    fn a_statement_is_complete_with_its_semicolon() {
        assert!(split("SELECT 1;").is_complete);
        assert!(split("SELECT 1; -- done").is_complete);
        assert!(split("").is_complete);
        assert!(!split("SELECT 1").is_complete);
        assert!(!split("SELECT 1; SELECT").is_complete);
        assert!(!split("SELECT ';").is_complete);
        assert!(!split("SELECT 1; /* and").is_complete);
    }

    #[test]
    fn text_beyond_ascii_is_cut_between_characters() {
        assert_eq!(
            pieces("SELECT 'ä→;'; SELECT é;"),
            ["SELECT 'ä→;';", "SELECT é;"]
        );
    }

    #[test]
    fn an_error_shows_where_it_is() {
        let connection = Connection::open_in_memory().expect("in memory");
        let message = |sql| {
            let mut out = Vec::new();
            run(&connection, sql, Format::Csv, &mut out)
                .expect_err("is wrong")
                .to_string()
        };
        assert_eq!(
            message("SELECT missing FROM sqlite_schema"),
            "no such column: missing\n  SELECT missing FROM sqlite_schema\n         ^"
        );
        assert_eq!(
            message("SELECT 1;\nSELECT 1,\n  x;"),
            "statement 2: no such column: x\n    x;\n    ^"
        );
    }
}
