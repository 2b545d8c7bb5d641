//! The tokens of SQL that are needed to find the ends of statements.
//!
//! Semicolons, comments and parameters have to be distinguished from quoted text that looks like
//! them; everything else may stay unknown. SQLite itself tells where a statement ends only when it
//! prepares the statement. It cannot prepare a statement that reads a table which an earlier
//! statement makes.

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// White space or a comment between `/*` and `*/`.
    Space,
    /// A comment from `--` to the end of the line.
    LineComment,
    /// `;`
    Semicolon,
    /// A keyword or a name.
    Word,
    /// `:name`, `@name`, `$name` or `#name`, where a name may be one of Tcl's: `$a::b(c)`.
    Parameter,
    /// Everything else: an operator, a number, a quotation.
    Other,
}

impl TokenKind {
    /// Whether it separates tokens and has no meaning itself.
    pub fn is_blank(self) -> bool {
        matches!(self, TokenKind::Space | TokenKind::LineComment)
    }
}

/// A token: `length` bytes of its kind.
#[derive(Clone, Copy, Debug)]
pub struct Token {
    /// The kind of the token.
    pub kind: TokenKind,
    /// The length in bytes.
    pub length: usize,
    /// A quotation or a comment without its end.
    pub is_open: bool,
}

/// The token that starts at `at`; None at the end.
pub fn token(bytes: &[u8], at: usize) -> Option<Token> {
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
    let closed = |kind, length| Token { kind, length, is_open: false };
    Some(match rest {
        [] => return None,
        [b';', ..] => closed(TokenKind::Semicolon, 1),
        // The end of the text ends such a comment as well.
        [b'-', b'-', ..] => closed(TokenKind::LineComment, until(2, b"\n").unwrap_or(rest.len())),
        [b'/', b'*', ..] => enclosed(TokenKind::Space, until(2, b"*/")),
        [quote @ (b'\'' | b'"' | b'`'), ..] => enclosed(TokenKind::Other, until(1, &[*quote])),
        [b'[', ..] => enclosed(TokenKind::Other, until(1, b"]")),
        [b':' | b'@' | b'$' | b'#', name @ ..] if name_length(name) > 0 => {
            closed(TokenKind::Parameter, 1 + name_length(name))
        }
        [byte, ..] if byte.is_ascii_whitespace() => {
            closed(TokenKind::Space, run(u8::is_ascii_whitespace))
        }
        [byte, ..] if is_of_word(byte) => closed(TokenKind::Word, run(is_of_word)),
        _ => closed(TokenKind::Other, 1),
    })
}

/// The length of the parameter's name at the start of these bytes; 0 if there is none. Parentheses
/// may contain a semicolon, but no white space.
fn name_length(bytes: &[u8]) -> usize {
    let mut length = 0;
    let mut is_named = false;
    loop {
        match bytes.get(length..) {
            Some([byte, ..]) if is_of_word(byte) => {
                is_named = true;
                length += 1;
            }
            Some([b':', b':', ..]) => length += 2,
            Some([b'(', index @ ..]) if is_named => {
                let is_end = |byte: &u8| matches!(byte, b')' | b' ' | b'\t'..=b'\r');
                let end = index.iter().position(is_end);
                let closed = end.filter(|&end| index.get(end) == Some(&b')'));
                return length + closed.map_or(0, |end| end + 2);
            }
            _ if is_named => return length,
            _ => return 0,
        }
    }
}

/// Whether a byte can be part of an identifier or keyword. All of UTF-8's other bytes can, so that
/// a token always ends between two characters.
pub fn is_of_word(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || !byte.is_ascii()
}

/// The tokens of a text, with their kinds.
pub fn tokens(text: &str) -> impl Iterator<Item = (TokenKind, &str)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let token = token(text.as_bytes(), at)?;
        let part = &text[at..at + token.length];
        at += token.length;
        Some((token.kind, part))
    })
}

/// Whether a text ends inside a quotation or a comment.
pub fn is_open(text: &str) -> bool {
    let mut at = 0;
    let mut is_open = false;
    while let Some(token) = token(text.as_bytes(), at) {
        at += token.length;
        is_open = token.is_open;
    }
    is_open
}
