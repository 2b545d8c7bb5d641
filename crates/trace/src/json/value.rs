//! Values whose text is known to be valid.

use std::borrow::Cow;

use memchr::memchr;

use super::scan::{Scan, Scanner, is_white, string_part};
use super::text::unescape;

/// The text of one value. The text is valid by rule JS3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value<'a>(&'a [u8]);

/// `null`.
impl Default for Value<'_> {
    fn default() -> Self {
        Value(b"null")
    }
}

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, also `NaN` and the infinities.
    Number,
    /// A string.
    String,
    /// A list.
    Array,
    /// An object.
    Object,
}

/// The key of a member: the text between its quotes, with its escapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key<'a> {
    raw: &'a [u8],
    has_escapes: bool,
}

/// A part of a value, in the order of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token<'a> {
    /// `{`
    BeginObject,
    /// `}`
    EndObject,
    /// `[`
    BeginArray,
    /// `]`
    EndArray,
    /// The key of the member whose value comes next.
    Key(Key<'a>),
    /// A value that is neither an object nor a list.
    Scalar(Value<'a>),
}

impl<'a> Value<'a> {
    /// The value with this text, which may have white space around it; `None` if the text is no
    /// valid value.
    pub fn parse(text: &'a [u8]) -> Option<Value<'a>> {
        let text = trimmed(text);
        let mut scanner = Scanner::new();
        let is_whole = match scanner.advance(text) {
            Scan::End(size) => size == text.len(),
            Scan::More => scanner.may_end(),
            Scan::Bad(_) => false,
        };
        is_whole.then_some(Value(text))
    }

    /// The value of a text that is valid, and has no white space around it: what [`Value::text`] gave, or
    /// what was written by a program that can be relied on. Of another text it has any members.
    ///
    /// ```
    /// use timebase_trace::json::Value;
    ///
    /// let value = Value::parsed(br#"{"args.n":1}"#);
    /// assert!(value.members().all(|(key, value)| key.is("args.n") && value.text() == b"1"));
    /// ```
    pub fn parsed(text: &'a [u8]) -> Value<'a> {
        Value(text)
    }

    /// The text of the value, without white space around it.
    pub fn text(self) -> &'a [u8] {
        self.0
    }

    /// The type of the value.
    pub fn kind(self) -> Kind {
        match self.0.first() {
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::Array,
            Some(b'"') => Kind::String,
            Some(b't') => Kind::Bool(true),
            Some(b'f') => Kind::Bool(false),
            Some(b'n') | None => Kind::Null,
            Some(_) => Kind::Number,
        }
    }

    /// The members of an object, in the order of the text; of another value none.
    pub fn members(self) -> Members<'a> {
        let is_object = self.kind() == Kind::Object;
        Members(Cursor(if is_object { self.0.get(1..).unwrap_or_default() } else { &[] }))
    }

    /// The values of a list; of another value none.
    pub fn items(self) -> Items<'a> {
        let is_list = self.kind() == Kind::Array;
        Items(Cursor(if is_list { self.0.get(1..).unwrap_or_default() } else { &[] }))
    }

    /// All parts of the value. The time is linear in the text at any nesting.
    pub fn walk(self) -> Walk<'a> {
        Walk(Cursor(self.0))
    }

    /// The characters of a string (rule JS6).
    pub fn string(self) -> Option<Cow<'a, str>> {
        match self.kind() {
            Kind::String => Some(unescape(inside(self.0))),
            _ => None,
        }
    }
}

impl<'a> Key<'a> {
    /// The key with these quotes around it.
    pub(super) fn quoted(text: &'a [u8]) -> Key<'a> {
        Key::new(inside(text))
    }

    pub(super) fn new(raw: &'a [u8]) -> Key<'a> {
        Key { raw, has_escapes: memchr(b'\\', raw).is_some() }
    }

    /// Whether the key is this name, after unescaping.
    #[inline]
    pub fn is(self, name: &str) -> bool {
        match self.has_escapes {
            false => self.raw == name.as_bytes(),
            true => self.text() == name,
        }
    }

    /// The characters of the key (rule JS6).
    pub fn text(self) -> Cow<'a, str> {
        unescape(self.raw)
    }
}

fn trimmed(mut text: &[u8]) -> &[u8] {
    while let Some((_, rest)) = text.split_first().filter(|(first, _)| is_white(**first)) {
        text = rest;
    }
    while let Some((_, rest)) = text.split_last().filter(|(last, _)| is_white(**last)) {
        text = rest;
    }
    text
}

/// The text between quotes.
fn inside(quoted: &[u8]) -> &[u8] {
    let inside = quoted.get(1..quoted.len().saturating_sub(1));
    inside.unwrap_or_default()
}

/// The members of an object.
#[derive(Clone, Debug)]
pub struct Members<'a>(Cursor<'a>);

impl<'a> Iterator for Members<'a> {
    type Item = (Key<'a>, Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.skip() != Some(b'"') {
            return None;
        }
        let key = self.0.key();
        self.0.skip();
        Some((key, Value(self.0.value())))
    }
}

/// The values of a list.
#[derive(Clone, Debug)]
pub struct Items<'a>(Cursor<'a>);

impl<'a> Iterator for Items<'a> {
    type Item = Value<'a>;

    fn next(&mut self) -> Option<Value<'a>> {
        match self.0.skip() {
            Some(b']') | None => None,
            Some(_) => Some(Value(self.0.value())),
        }
    }
}

/// The parts of a value.
#[derive(Clone, Debug)]
pub struct Walk<'a>(Cursor<'a>);

impl<'a> Iterator for Walk<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        let token = match self.0.skip()? {
            b'{' => Token::BeginObject,
            b'}' => Token::EndObject,
            b'[' => Token::BeginArray,
            b']' => Token::EndArray,
            b'"' => {
                let text = self.0.string();
                return Some(match self.0.is_before_colon() {
                    true => Token::Key(Key::quoted(text)),
                    false => Token::Scalar(Value(text)),
                });
            }
            _ => return Some(Token::Scalar(Value(self.0.word()))),
        };
        self.0.take(1);
        Some(token)
    }
}

/// The rest of a valid text.
#[derive(Clone, Debug)]
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    /// Takes this number of bytes.
    fn take(&mut self, size: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at_checked(size).unwrap_or((self.0, &[]));
        self.0 = rest;
        taken
    }

    /// Skips white space, commas and colons.
    fn skip(&mut self) -> Option<u8> {
        while let Some((&first, rest)) = self.0.split_first() {
            if !is_white(first) && first != b',' && first != b':' {
                return Some(first);
            }
            self.0 = rest;
        }
        None
    }

    /// Whether a colon comes next.
    fn is_before_colon(&self) -> bool {
        self.0.iter().find(|&&byte| !is_white(byte)) == Some(&b':')
    }

    /// Takes a string with its quotes.
    fn string(&mut self) -> &'a [u8] {
        let (size, _) = string_size(self.0);
        self.take(size)
    }

    /// Takes a key with its quotes.
    fn key(&mut self) -> Key<'a> {
        let (size, has_escapes) = string_size(self.0);
        Key { raw: inside(self.take(size)), has_escapes }
    }

    /// Takes a number, or a word such as `true`.
    fn word(&mut self) -> &'a [u8] {
        let ends = |&byte: &u8| is_white(byte) || matches!(byte, b',' | b'}' | b']');
        let size = self.0.iter().position(ends).unwrap_or(self.0.len());
        self.take(size)
    }

    /// Takes a value.
    fn value(&mut self) -> &'a [u8] {
        match self.0.first() {
            Some(b'"') => self.string(),
            Some(b'{' | b'[') => {
                let size = nested_size(self.0);
                self.take(size)
            }
            _ => self.word(),
        }
    }
}

/// The size of the string at the beginning of a text, with its quotes, and whether it has escapes.
#[inline]
fn string_size(text: &[u8]) -> (usize, bool) {
    let mut has_escapes = false;
    let mut rest = text.get(1..).unwrap_or_default();
    while let Some((byte, tail)) = string_part(rest) {
        if byte == b'"' {
            return (text.len() - tail.len(), has_escapes);
        }
        has_escapes = true;
        rest = tail.get(1..).unwrap_or_default();
    }
    (text.len(), has_escapes)
}

/// The size of the object or list at the beginning of a text.
fn nested_size(text: &[u8]) -> usize {
    let mut rest = text;
    let mut depth = 0_usize;
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        match byte {
            b'"' => {
                let mut string = string_part(rest);
                while let Some((b'\\', tail)) = string {
                    string = string_part(tail.get(1..).unwrap_or_default());
                }
                rest = string.map_or(&[], |(_, tail)| tail);
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth <= 1 => return text.len() - rest.len(),
            b'}' | b']' => depth -= 1,
            _ => {}
        }
    }
    text.len()
}
