//! The end of a value, and whether the value is valid (rule JS3).

use memchr::memchr2;

/// The deepest nesting. An event cannot reach it, because the limit of its size is the same number.
const DEEPEST: usize = 1 << 25;

/// A validator of one value. It takes the text in pieces of any size and looks at each byte once.
#[derive(Debug)]
pub(super) struct Scanner {
    nesting: Nesting,
    state: State,
}

/// The expected next byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// The first byte of a value.
    Value,
    /// The first byte of a value, or the end of a list.
    ItemOrEnd,
    /// The quote of a key, or the end of an object.
    KeyOrEnd,
    /// The colon after a key.
    Colon,
    /// A comma, or the end of an object or list.
    After,
    /// A byte of a key.
    Key,
    /// A byte after a backslash in a key.
    KeyEscape,
    /// A byte of another string.
    Text,
    /// A byte after a backslash in another string.
    TextEscape,
    /// A byte of a number, or the byte after the number.
    Number(Number),
    /// The rest of a word.
    Word(&'static [u8]),
}

/// The part of a number that was last read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Number {
    Plus,
    Minus,
    Integer,
    /// A point without digits before it.
    Point,
    Fraction,
    E,
    ESign,
    Exponent,
}

/// The result of looking at a piece of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scan {
    /// The value goes on after the piece.
    More,
    /// The value ended after this number of bytes.
    End(usize),
    /// The byte at this place is wrong.
    Bad(usize),
}

/// The result of looking at one byte.
enum Step {
    Next,
    /// The byte is not used yet.
    Again,
    End,
    /// The value ended before the byte.
    EndBefore,
    Bad,
}

impl Scanner {
    pub fn new() -> Scanner {
        Scanner { nesting: Nesting::default(), state: State::Value }
    }

    /// Prepares for another value.
    pub fn reset(&mut self) {
        self.nesting.clear();
        self.state = State::Value;
    }

    pub fn state(&self) -> State {
        self.state
    }

    /// The number of open objects and lists.
    pub fn depth(&self) -> usize {
        self.nesting.depth
    }

    /// Whether the innermost open value is an object.
    pub fn is_in_object(&self) -> bool {
        self.nesting.is_object()
    }

    /// Whether the text may end here. Only a number can: all other values have shown their end.
    pub fn may_end(&self) -> bool {
        self.nesting.depth == 0 && matches!(self.state, State::Number(part) if part.may_end())
    }

    /// Looks at the next bytes.
    pub fn advance(&mut self, bytes: &[u8]) -> Scan {
        let mut rest = bytes;
        while let Some((&byte, tail)) = rest.split_first() {
            let step = match self.state {
                State::Key | State::Text => {
                    let Some((end, tail)) = string_part(rest) else { return Scan::More };
                    rest = tail;
                    match self.string_byte(end) {
                        Step::End => return Scan::End(bytes.len() - rest.len()),
                        _ => continue,
                    }
                }
                State::Number(part) => {
                    rest = without_digits(part, rest);
                    let Some((&byte, _)) = rest.split_first() else { return Scan::More };
                    self.number(part, byte)
                }
                State::KeyEscape => self.go(State::Key),
                State::TextEscape => self.go(State::Text),
                State::Word(word) => self.word(word, byte),
                _ if is_white(byte) => {
                    rest = without_white(tail);
                    continue;
                }
                State::After => self.after(byte),
                State::KeyOrEnd => self.key_or_end(byte),
                State::Colon => self.colon(byte),
                State::ItemOrEnd if byte == b']' => self.close(),
                State::ItemOrEnd | State::Value => self.value(byte),
            };
            let used = bytes.len() - rest.len();
            match step {
                Step::Next => rest = rest.get(1..).unwrap_or_default(),
                Step::Again => {}
                Step::End => return Scan::End(used + 1),
                Step::EndBefore => return Scan::End(used),
                Step::Bad => return Scan::Bad(used),
            }
        }
        Scan::More
    }

    /// Looks at a quote or backslash in a string.
    #[inline]
    fn string_byte(&mut self, byte: u8) -> Step {
        match (byte, self.state) {
            (b'"', State::Key) => self.go(State::Colon),
            (b'"', _) => self.complete(),
            (_, State::Key) => self.go(State::KeyEscape),
            _ => self.go(State::TextEscape),
        }
    }

    #[inline]
    fn key_or_end(&mut self, byte: u8) -> Step {
        match byte {
            b'"' => self.go(State::Key),
            b'}' => self.close(),
            _ => Step::Bad,
        }
    }

    #[inline]
    fn colon(&mut self, byte: u8) -> Step {
        match byte {
            b':' => self.go(State::Value),
            _ => Step::Bad,
        }
    }

    #[inline]
    fn go(&mut self, state: State) -> Step {
        self.state = state;
        Step::Next
    }

    /// The value that began last has ended.
    #[inline]
    fn complete(&mut self) -> Step {
        match self.nesting.depth {
            0 => Step::End,
            _ => self.go(State::After),
        }
    }

    #[inline]
    fn after(&mut self, byte: u8) -> Step {
        match (byte, self.nesting.is_object()) {
            (b',', true) => self.go(State::KeyOrEnd),
            (b',', false) => self.go(State::ItemOrEnd),
            (b'}', true) | (b']', false) => self.close(),
            _ => Step::Bad,
        }
    }

    #[inline]
    fn open(&mut self, is_object: bool) -> Step {
        if self.nesting.depth >= DEEPEST {
            return Step::Bad;
        }
        self.nesting.push(is_object);
        self.go(if is_object { State::KeyOrEnd } else { State::ItemOrEnd })
    }

    #[inline]
    fn close(&mut self) -> Step {
        self.nesting.pop();
        self.complete()
    }

    #[inline]
    fn value(&mut self, byte: u8) -> Step {
        let state = match byte {
            b'{' => return self.open(true),
            b'[' => return self.open(false),
            b'"' => State::Text,
            b'0'..=b'9' => State::Number(Number::Integer),
            b'-' => State::Number(Number::Minus),
            b'+' => State::Number(Number::Plus),
            b'.' => State::Number(Number::Point),
            b't' => State::Word(b"rue"),
            b'f' => State::Word(b"alse"),
            b'n' => State::Word(b"ull"),
            b'N' => State::Word(b"aN"),
            b'I' => State::Word(b"nfinity"),
            _ => return Step::Bad,
        };
        self.go(state)
    }

    fn word(&mut self, rest: &'static [u8], byte: u8) -> Step {
        match rest.split_first() {
            Some((&first, [])) if first == byte => self.complete(),
            Some((&first, rest)) if first == byte => self.go(State::Word(rest)),
            _ => Step::Bad,
        }
    }

    #[inline]
    fn number(&mut self, part: Number, byte: u8) -> Step {
        if part == Number::Minus && byte == b'I' {
            return self.go(State::Word(b"nfinity"));
        }
        match part.next(byte) {
            Some(part) => self.go(State::Number(part)),
            None if !part.may_end() => Step::Bad,
            None if self.nesting.depth == 0 => Step::EndBefore,
            None => {
                self.state = State::After;
                Step::Again
            }
        }
    }
}

impl Number {
    /// The part to which the next byte belongs, if it belongs to the number.
    pub fn next(self, byte: u8) -> Option<Number> {
        use Number::{E, ESign, Exponent, Fraction, Integer, Minus, Plus, Point};
        Some(match (self, byte) {
            (Plus | Minus | Integer, b'0'..=b'9') => Integer,
            (Plus | Minus, b'.') => Point,
            (Integer, b'.') | (Point | Fraction, b'0'..=b'9') => Fraction,
            (Integer | Fraction, b'e' | b'E') => E,
            (E, b'+' | b'-') => ESign,
            (E | ESign | Exponent, b'0'..=b'9') => Exponent,
            _ => return None,
        })
    }

    /// Whether a number may end with this part.
    pub fn may_end(self) -> bool {
        matches!(self, Number::Integer | Number::Fraction | Number::Exponent)
    }
}

/// The next quote or backslash, and the text after it.
#[inline]
pub(super) fn string_part(text: &[u8]) -> Option<(u8, &[u8])> {
    // Most strings are shorter than a call of memchr2 is worth.
    const SHORT: usize = 24;
    let (mut rest, mut count) = (text, 0);
    while let Some((&byte, tail)) = rest.split_first() {
        if matches!(byte, b'"' | b'\\') {
            return Some((byte, tail));
        }
        rest = tail;
        count += 1;
        if count == SHORT {
            let found = memchr2(b'"', b'\\', rest)?;
            let (&byte, tail) = rest.get(found..)?.split_first()?;
            return Some((byte, tail));
        }
    }
    None
}

/// The text after the digits that change nothing.
#[inline]
fn without_digits(part: Number, text: &[u8]) -> &[u8] {
    match part.may_end() {
        true => without(text, |byte| byte.is_ascii_digit()),
        false => text,
    }
}

#[inline]
fn without_white(text: &[u8]) -> &[u8] {
    without(text, is_white)
}

/// The text after such bytes.
#[inline]
fn without(mut text: &[u8], is_skipped: impl Fn(u8) -> bool) -> &[u8] {
    while let Some((&byte, tail)) = text.split_first() {
        if !is_skipped(byte) {
            break;
        }
        text = tail;
    }
    text
}

/// White space of JSON.
#[inline]
pub(super) fn is_white(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\r' | b'\t')
}

/// The kinds of the open values: one bit for each, set for an object, so deep nesting takes little memory.
#[derive(Debug, Default)]
struct Nesting {
    /// The bits of the outer values.
    outer: Vec<u64>,
    /// The bits of the innermost values, at most 64.
    inner: u64,
    depth: usize,
}

impl Nesting {
    fn clear(&mut self) {
        self.outer.clear();
        (self.inner, self.depth) = (0, 0);
    }

    fn is_object(&self) -> bool {
        self.inner & 1 == 1
    }

    fn push(&mut self, is_object: bool) {
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.outer.push(self.inner);
            self.inner = 0;
        }
        self.inner = self.inner << 1 | u64::from(is_object);
        self.depth += 1;
    }

    fn pop(&mut self) {
        self.inner >>= 1;
        self.depth = self.depth.saturating_sub(1);
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.inner = self.outer.pop().unwrap_or_default();
        }
    }
}
