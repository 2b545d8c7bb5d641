//! Tokens, as SQLite divides a text into them (PQ1).
//!
//! There is one difference: `!` is a token, because `name!(…)` calls a macro. SQLite refuses a `!`
//! without `=` after it.

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Blanks and line breaks.
    Space,
    /// From `--` to the end of the line, or from `/*` to `*/`.
    Comment,
    /// A keyword or a name without quotes.
    Word,
    /// A name in `"`, `` ` `` or `[]`.
    Quoted,
    /// A text in `'`, or a blob.
    Literal,
    /// A number.
    Number,
    /// `$name`, `:name`, `@name`, `#name` or `?1`. A name may be one of Tcl's: `$a::b(c)`.
    Variable,
    /// An operator or another sign.
    Sign,
    /// Anything that SQLite refuses, for example a text without an end.
    Illegal,
}

impl Kind {
    /// Whether the token has no meaning.
    pub fn is_blank(self) -> bool {
        matches!(self, Kind::Space | Kind::Comment)
    }
}

/// A token of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token<'t> {
    /// The kind of the token.
    pub kind: Kind,
    /// The first byte, in the whole text.
    pub start: usize,
    /// The token itself.
    pub text: &'t str,
}

impl Token<'_> {
    /// The byte after its last one.
    pub fn end(self) -> usize {
        self.start.saturating_add(self.text.len())
    }

    /// Whether it is this word without quotes, in any case.
    pub fn is_word(self, word: &str) -> bool {
        self.kind == Kind::Word && self.text.eq_ignore_ascii_case(word)
    }

    /// Whether it is this sign.
    pub fn is_sign(self, sign: &str) -> bool {
        self.kind == Kind::Sign && self.text == sign
    }

    /// Whether it is a comment up to the end of its line.
    pub fn is_line_comment(self) -> bool {
        self.kind == Kind::Comment && self.text.starts_with("--")
    }

    /// Whether it is a quotation or a comment without its end.
    pub fn is_open(self) -> bool {
        match self.kind {
            Kind::Comment => {
                let inside = self.text.strip_prefix("/*");
                inside.is_some_and(|inside| !inside.ends_with("*/"))
            }
            Kind::Illegal => self.text.starts_with(['\'', '"', '`', '[', 'x', 'X']),
            _ => false,
        }
    }
}

/// The tokens of a text, from the first byte to the last one.
#[derive(Clone)]
pub struct Tokens<'t> {
    text: &'t str,
    at: usize,
    has_macros: bool,
}

impl<'t> Tokens<'t> {
    /// The tokens for SQLite.
    pub fn of(text: &'t str) -> Tokens<'t> {
        Tokens { text, at: 0, has_macros: false }
    }

    /// The tokens for PerfettoSQL: a variable ends at its name. The parentheses that SQLite adds,
    /// a form from Tcl, would hide the arguments of a macro.
    pub fn with_macros(text: &'t str) -> Tokens<'t> {
        Tokens { text, at: 0, has_macros: true }
    }
}

/// Whether a text ends inside a quotation or a comment.
pub fn is_open(text: &str) -> bool {
    Tokens::of(text).last().is_some_and(Token::is_open)
}

impl<'t> Iterator for Tokens<'t> {
    type Item = Token<'t>;

    fn next(&mut self) -> Option<Token<'t>> {
        let rest = self.text.as_bytes().get(self.at..)?;
        let (kind, mut length) = first(rest)?;
        if kind == Kind::Variable && !self.has_macros && !rest.starts_with(b"?") {
            length = length.saturating_add(parentheses(rest.get(length..).unwrap_or_default()));
        }
        let start = self.at;
        self.at = start.saturating_add(length).min(self.text.len());
        // A sign may be a character of several bytes.
        while !self.text.is_char_boundary(self.at) {
            self.at = self.at.saturating_add(1);
        }
        let text = self.text.get(start..self.at).unwrap_or_default();
        Some(Token { kind, start, text })
    }
}

/// Whether a byte can be part of a name.
pub fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

/// The kind and length of the first token.
fn first(rest: &[u8]) -> Option<(Kind, usize)> {
    let byte = *rest.first()?;
    let second = rest.get(1).copied().unwrap_or(0);
    Some(match byte {
        b' ' | b'\t' | b'\n' | 0x0c | b'\r' => (Kind::Space, run(rest, 0, is_space)),
        b'-' if second == b'-' => (Kind::Comment, run(rest, 2, |byte| byte != b'\n')),
        b'/' if second == b'*' => (Kind::Comment, block(rest)),
        b'\'' => literal(rest, 0),
        b'x' | b'X' if second == b'\'' => literal(rest, 1),
        b'"' | b'`' => quoted(rest, byte),
        b'[' => bracketed(rest),
        b'0'..=b'9' => (Kind::Number, number(rest)),
        b'.' if second.is_ascii_digit() => (Kind::Number, number(rest)),
        b'?' => (Kind::Variable, run(rest, 1, |byte| byte.is_ascii_digit())),
        b'$' | b'@' | b':' | b'#' => match variable(rest) {
            1 => (Kind::Illegal, 1),
            length => (Kind::Variable, length),
        },
        // A byte order mark is a blank at any place.
        0xef if rest.starts_with(&[0xef, 0xbb, 0xbf]) => (Kind::Space, 3),
        _ if is_name_byte(byte) => (Kind::Word, run(rest, 0, is_name_byte)),
        _ => sign(rest),
    })
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | 0x0c | b'\r')
}

/// The length up to the first byte, from `from` on, that is not `part`.
fn run(rest: &[u8], from: usize, part: impl Fn(u8) -> bool) -> usize {
    let tail = rest.get(from..).unwrap_or_default();
    let length = tail.iter().take_while(|byte| part(**byte)).count();
    from.saturating_add(length)
}

/// The length of a comment in `/* */`; one without an end takes the rest.
fn block(rest: &[u8]) -> usize {
    let tail = rest.get(2..).unwrap_or_default();
    match tail.windows(2).position(|pair| pair == b"*/") {
        Some(at) => at.saturating_add(4),
        None => rest.len(),
    }
}

/// The length of a quoted part, in which a doubled quote stands for one; `None` without an end.
fn closed(rest: &[u8], quote: u8) -> Option<usize> {
    let mut at = 1;
    loop {
        match rest.get(at)? {
            byte if *byte != quote => at += 1,
            _ if rest.get(at + 1) == Some(&quote) => at += 2,
            _ => return Some(at + 1),
        }
    }
}

fn literal(rest: &[u8], before: usize) -> (Kind, usize) {
    let tail = rest.get(before..).unwrap_or_default();
    match closed(tail, b'\'') {
        Some(length) => (Kind::Literal, before.saturating_add(length)),
        None => (Kind::Illegal, rest.len()),
    }
}

fn quoted(rest: &[u8], quote: u8) -> (Kind, usize) {
    match closed(rest, quote) {
        Some(length) => (Kind::Quoted, length),
        None => (Kind::Illegal, rest.len()),
    }
}

fn bracketed(rest: &[u8]) -> (Kind, usize) {
    match rest.iter().position(|byte| *byte == b']') {
        Some(at) => (Kind::Quoted, at.saturating_add(1)),
        None => (Kind::Illegal, rest.len()),
    }
}

fn number(rest: &[u8]) -> usize {
    if rest.len() > 2 && (rest.starts_with(b"0x") || rest.starts_with(b"0X")) {
        return run(rest, 2, |byte| byte.is_ascii_hexdigit() || byte == b'_');
    }
    let is_digit = |byte: u8| byte.is_ascii_digit() || byte == b'_';
    let mut at = run(rest, 0, is_digit);
    if rest.get(at) == Some(&b'.') {
        at = run(rest, at.saturating_add(1), is_digit);
    }
    if matches!(rest.get(at), Some(b'e' | b'E')) {
        let signed = matches!(rest.get(at.saturating_add(1)), Some(b'+' | b'-'));
        let digits = at.saturating_add(1).saturating_add(usize::from(signed));
        if rest.get(digits).is_some_and(u8::is_ascii_digit) {
            at = run(rest, digits, is_digit);
        }
    }
    // A name that follows without a blank belongs to the number, and SQLite refuses it.
    run(rest, at, is_name_byte)
}

/// The length of a variable up to the end of its name; 1 if it has no name.
fn variable(rest: &[u8]) -> usize {
    let mut at = 1;
    let mut is_named = false;
    loop {
        match rest.get(at..).unwrap_or_default() {
            [byte, ..] if is_name_byte(*byte) => {
                is_named = true;
                at += 1;
            }
            [b':', b':', ..] => at += 2,
            _ if is_named => return at,
            _ => return 1,
        }
    }
}

/// The length of the parentheses after a variable's name. They may contain a semicolon, but no
/// white space; 0 if there are none.
fn parentheses(rest: &[u8]) -> usize {
    let is_end = |byte: &u8| matches!(byte, b')' | b' ' | b'\t'..=b'\r');
    let end = rest.iter().position(is_end).unwrap_or(rest.len());
    match (rest.first(), rest.get(end)) {
        (Some(b'('), Some(b')')) => end.saturating_add(1),
        _ => 0,
    }
}

fn sign(rest: &[u8]) -> (Kind, usize) {
    const LONG: [&[u8]; 9] = [b"->>", b"->", b"==", b"<=", b"<>", b"<<", b">=", b">>", b"!="];
    if let Some(found) = LONG.iter().find(|sign| rest.starts_with(sign)) {
        return (Kind::Sign, found.len());
    }
    match rest {
        [b'|', b'|', ..] => (Kind::Sign, 2),
        [byte, ..] if b"-();+*/%=<>|,&~.!".contains(byte) => (Kind::Sign, 1),
        _ => (Kind::Illegal, 1),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::{Kind, Tokens, is_open};

    fn parts(all: Tokens<'_>) -> Vec<(Kind, &str)> {
        let all = all.filter(|token| token.kind != Kind::Space);
        all.map(|token| (token.kind, token.text)).collect()
    }

    #[test]
    fn pq1_tokens_are_those_of_sqlite() {
        use Kind::{Comment, Illegal, Literal, Number, Quoted, Sign, Variable, Word};
        for (text, expected) in [
            ("a_$1é", vec![(Word, "a_$1é")]),
            ("x'00' X'a' xy", vec![(Literal, "x'00'"), (Literal, "X'a'"), (Word, "xy")]),
            ("'it''s' 'open", vec![(Literal, "'it''s'"), (Illegal, "'open")]),
            (
                "\"a\"\"b\" `c` [d e]",
                vec![(Quoted, "\"a\"\"b\""), (Quoted, "`c`"), (Quoted, "[d e]")],
            ),
            (
                "1 1.5e-3 .5 0x1F 1_000 1e",
                vec![
                    (Number, "1"),
                    (Number, "1.5e-3"),
                    (Number, ".5"),
                    (Number, "0x1F"),
                    (Number, "1_000"),
                    (Number, "1e"),
                ],
            ),
            (
                "$a($b) :c ?12 @d",
                vec![
                    (Variable, "$a"),
                    (Sign, "("),
                    (Variable, "$b"),
                    (Sign, ")"),
                    (Variable, ":c"),
                    (Variable, "?12"),
                    (Variable, "@d"),
                ],
            ),
            (
                "a--b\nc/*d;*/e/*f",
                vec![
                    (Word, "a"),
                    (Comment, "--b"),
                    (Word, "c"),
                    (Comment, "/*d;*/"),
                    (Word, "e"),
                    (Comment, "/*f"),
                ],
            ),
            (
                "a->>b!=c!(||)",
                vec![
                    (Word, "a"),
                    (Sign, "->>"),
                    (Word, "b"),
                    (Sign, "!="),
                    (Word, "c"),
                    (Sign, "!"),
                    (Sign, "("),
                    (Sign, "||"),
                    (Sign, ")"),
                ],
            ),
            ("{", vec![(Illegal, "{")]),
        ] {
            assert_eq!(parts(Tokens::with_macros(text)), expected, "{text}");
        }
    }

    #[test]
    fn pq1_a_variable_may_have_parentheses_only_without_macros() {
        for (text, name) in [
            ("$a::b(c;d)", "$a::b"),
            ("@::e", "@::e"),
            (":f(g", ":f"),
            (":f (g)", ":f"),
            ("?1(2)", "?1"),
            ("::", ":"),
        ] {
            let first = |mut tokens: Tokens<'_>| tokens.next().unwrap().text.len();
            assert_eq!(first(Tokens::with_macros(text)), name.len(), "{text}");
            let is_whole = text == "$a::b(c;d)";
            let expected = if is_whole { text } else { name };
            assert_eq!(first(Tokens::of(text)), expected.len(), "{text}");
        }
    }

    #[test]
    fn a_quotation_or_comment_without_its_end_is_open() {
        for open in ["'a", "'a''", "x'0", "\"a", "`", "[a", "/*", "/*/", "1 /* -- */ /* *"] {
            assert!(is_open(open), "{open}");
        }
        for closed in ["", "'a''b'", "x'00'", "x", "[a]", "/**/", "-- '", "{"] {
            assert!(!is_open(closed), "{closed}");
        }
    }

    proptest! {
        #[test]
        fn pq1_tokens_are_the_whole_text(text in "[a-z0-9'\"`\\[\\]$:?!(){};,.\\-/*\\n é€\u{feff}]{0,40}") {
            for tokens in [Tokens::of(&text), Tokens::with_macros(&text)] {
                let mut at = 0;
                for token in tokens {
                    prop_assert_eq!(token.start, at);
                    prop_assert!(!token.text.is_empty());
                    at = token.end();
                }
                prop_assert_eq!(at, text.len());
            }
        }
    }
}
