//! The division of a text into statements (PQ1), in one pass over its tokens.

use crate::token::{Token, Tokens, is_name_byte};

/// A statement of a script, without the semicolon and the blanks around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Raw {
    pub start: usize,
    pub end: usize,
    /// Whether the statement may be of the dialect: it calls a macro or has the word `PERFETTO`, or
    /// it makes an object that the dialect puts into the temp schema.
    pub is_dialect: bool,
    /// Whether the statement begins like one that has rows.
    pub is_query: bool,
}

/// The statements of a script, one by one.
pub struct Statements<'t> {
    tokens: Tokens<'t>,
}

impl<'t> Statements<'t> {
    pub fn of(text: &'t str) -> Statements<'t> {
        Statements { tokens: Tokens::with_macros(text) }
    }
}

impl Iterator for Statements<'_> {
    type Item = Raw;

    fn next(&mut self) -> Option<Raw> {
        let mut found: Option<Raw> = None;
        let mut words = Words::default();
        for token in self.tokens.by_ref() {
            if token.kind.is_blank() {
                continue;
            }
            if token.is_sign(";") && !words.inside_trigger() {
                match found {
                    Some(_) => break,
                    None => continue,
                }
            }
            let raw = found.get_or_insert(Raw {
                start: token.start,
                end: token.end(),
                is_dialect: false,
                is_query: is_query(token.text),
            });
            raw.end = token.end();
            raw.is_dialect |= words.follow(token);
        }
        found
    }
}

fn is_query(word: &str) -> bool {
    ["SELECT", "WITH", "VALUES", "EXPLAIN", "PRAGMA"]
        .iter()
        .any(|known| word.eq_ignore_ascii_case(known))
}

/// The facts about a statement from its tokens so far.
#[derive(Default)]
struct Words {
    /// The number of tokens.
    count: usize,
    begins_create: bool,
    trigger: Trigger,
    after_bang: bool,
}

/// The place in `CREATE TRIGGER … BEGIN …; END`, which has semicolons inside.
#[derive(Default, PartialEq, Eq)]
enum Trigger {
    #[default]
    None,
    Inside,
    AfterSemicolon,
    End,
}

impl Words {
    /// Whether a semicolon is part of the statement.
    fn inside_trigger(&mut self) -> bool {
        matches!(self.trigger, Trigger::Inside | Trigger::AfterSemicolon)
    }

    /// Whether the token says that the statement is one of the dialect.
    fn follow(&mut self, token: Token<'_>) -> bool {
        self.count = self.count.saturating_add(1);
        let is = |word: &str| token.is_word(word);
        if self.count == 1 {
            self.begins_create = is("CREATE");
        }
        // CREATE [TEMP|TEMPORARY] TRIGGER
        if self.begins_create && self.count <= 3 && is("TRIGGER") {
            self.trigger = Trigger::Inside;
        }
        self.trigger = match self.trigger {
            Trigger::None => Trigger::None,
            Trigger::AfterSemicolon if is("END") => Trigger::End,
            _ if token.is_sign(";") => Trigger::AfterSemicolon,
            _ => Trigger::Inside,
        };
        let is_call = self.after_bang && token.is_sign("(");
        self.after_bang = token.is_sign("!");
        let makes = self.begins_create && self.count == 2;
        is_call
            || is("PERFETTO")
            || is("_auto_id")
            || makes && (is("TABLE") || is("VIEW") || is("VIRTUAL"))
    }
}

/// Whether a text may have a statement of the dialect. It looks at bytes only, so it may be wrong
/// for a text in a literal or comment, but never misses one.
pub fn may_be_dialect(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.iter().enumerate().any(|(at, byte)| {
        let rest = bytes.get(at..).unwrap_or_default();
        let begins = |word: &[u8]| {
            rest.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
        };
        match byte {
            b'!' => rest.get(1) != Some(&b'='),
            b'c' | b'C' => begins(b"create_") || (begins(b"create") && is_word(bytes, at, 6)),
            b'e' | b'E' => begins(b"experimental_memoize"),
            b'i' | b'I' => begins(b"import") && is_word(bytes, at, 6),
            b'p' | b'P' => begins(b"perfetto"),
            b's' | b'S' => begins(b"span_"),
            b'_' => begins(b"_auto_id"),
            _ => false,
        }
    })
}

/// Whether a word of some length begins at a place, and is not a part of a longer name.
fn is_word(bytes: &[u8], at: usize, length: usize) -> bool {
    let is_name =
        |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(|byte| is_name_byte(*byte));
    !is_name(at.checked_sub(1)) && !is_name(at.checked_add(length))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{Raw, Statements, may_be_dialect};

    fn divided(text: &str) -> Vec<(&str, bool)> {
        let part = |raw: Raw| (&text[raw.start..raw.end], raw.is_dialect);
        Statements::of(text).map(part).collect()
    }

    #[test]
    fn pq1_a_script_is_divided_at_its_semicolons() {
        let text = ";; SELECT ';' -- a;b\n AS x; /* ; */\nSELECT \"a;b\" FROM [c;d] ;\n-- end;";
        let parts = divided(text);
        assert_eq!(
            parts,
            [("SELECT ';' -- a;b\n AS x", false), ("SELECT \"a;b\" FROM [c;d]", false)]
        );
        assert_eq!(divided(" -- nothing\n;"), []);
    }

    #[test]
    fn pq1_a_trigger_has_semicolons_inside() {
        let trigger = "CREATE TEMP TRIGGER t AFTER INSERT ON a BEGIN SELECT CASE 1 WHEN 1 THEN 2 END; DELETE FROM b; END";
        let text = format!("{trigger}; SELECT 1");
        assert_eq!(divided(&text), [(trigger, false), ("SELECT 1", false)]);
    }

    #[test]
    fn pq1_statements_of_the_dialect_are_seen() {
        for (text, expected) in [
            ("SELECT a != b", false),
            ("SELECT m!(1)", true),
            ("SELECT m ! /* c */ (1)", true),
            ("SELECT 'm!(1)'", false),
            ("include perfetto module a", true),
            ("CREATE TABLE t (x)", true),
            ("SELECT module, include FROM macro", false),
        ] {
            let found = Statements::of(text).next().unwrap();
            assert_eq!(found.is_dialect, expected, "{text}");
            assert!(may_be_dialect(text) || !expected || text.starts_with("CREATE TABLE"));
        }
        assert!(!may_be_dialect(
            "SELECT a != b, c.id, created FROM process AS c, sched, irq, import_log"
        ));
        for text in ["CREATE TABLE t(a)", "SELECT Create_Function('f()', 'INT', 'SELECT 1')"] {
            assert!(may_be_dialect(text), "{text}");
        }
        assert!(may_be_dialect("SELECT import('a.b')"));
        assert!(may_be_dialect("SELECT EXPERIMENTAL_MEMOIZE('f')"));
        assert!(may_be_dialect("CREATE VIRTUAL TABLE x USING Span_Join(a, b)"));
    }

    #[test]
    fn pq1_a_script_of_10_mb_is_divided() {
        let statement = "SELECT 'text', \"name\", 1.5 FROM t -- comment\n;";
        let count = (10 << 20) / statement.len();
        assert_eq!(Statements::of(&statement.repeat(count)).count(), count);
    }
}
