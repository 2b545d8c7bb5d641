//! Texts that are made to take time and memory. A test that takes minutes has found an algorithm
//! that is not linear.

use std::io::{self, Cursor, Read};

use super::line;
use crate::json::pieces::{JsonPieces, LIMIT, Piece};
use crate::json::{NoTime, Number, Token, Value, nanoseconds};

const MB: usize = 1_000_000;

/// A text that is repeated so often.
struct Repeated {
    text: Vec<u8>,
    rest: u64,
}

impl Repeated {
    /// So many bytes of repetitions of a text.
    fn new(text: &str, bytes: usize) -> Repeated {
        let count = (1 << 16) / text.len();
        let text = text.repeat(count.max(1)).into_bytes();
        Repeated { rest: (bytes / text.len() * text.len()) as u64, text }
    }
}

impl Read for Repeated {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // The rest tells the place in the text.
        let left = self.rest as usize % self.text.len();
        let from = if left == 0 { 0 } else { self.text.len() - left };
        let size = (self.text.len() - from).min(buffer.len()).min(self.rest as usize);
        buffer[..size].copy_from_slice(&self.text[from..from + size]);
        self.rest -= size as u64;
        Ok(size)
    }
}

fn between(begin: &'static str, text: &str, bytes: usize, end: &'static str) -> impl Read {
    Cursor::new(begin).chain(Repeated::new(text, bytes)).chain(Cursor::new(end))
}

/// The number of pieces, the first three and the last. The memory must not grow with the text.
fn read(input: impl Read) -> (usize, Vec<String>) {
    let mut pieces = JsonPieces::new(input);
    let (mut count, mut lines) = (0, Vec::<String>::new());
    while let Some(piece) = pieces.next().unwrap() {
        count += 1;
        let mut line = line(&piece);
        line.truncate(60);
        lines.truncate(3);
        lines.push(line);
    }
    assert!(pieces.memory() <= 8 * LIMIT, "{} bytes", pieces.memory());
    (count, lines)
}

#[test]
fn a_string_of_a_gigabyte_is_too_large() {
    let text = || io::repeat(b'x').take(1 << 30);
    let event = Cursor::new("[{\"a\":\"").chain(text()).chain(Cursor::new("\"},{\"ph\":\"i\"}]"));
    let (_, lines) = read(event);
    assert_eq!(lines, ["1 damage 1073741833", "1073741834 event {\"ph\":\"i\"}"]);
    let member = Cursor::new("{\"a\":\"").chain(text()).chain(Cursor::new("\",\"b\":1}"));
    let (_, lines) = read(member);
    assert_eq!(lines, ["1 member 1073741830 \"a\" large", "1073741832 member 5 \"b\" 1"]);
    let (_, lines) = read(Cursor::new("[\"").chain(text()));
    assert_eq!(lines, ["1 damage 1073741825"]);
}

#[test]
fn white_space_takes_no_memory() {
    for text in
        ["[", "{\"a\" ", "{\"a\": ", "{", "{\"a\":1 ", "{\"a\":1, ", "{\"traceEvents\":[", "{} "]
    {
        read(Cursor::new(text).chain(io::repeat(b' ').take(1 << 26)));
    }
}

#[test]
fn nesting_of_a_million_is_no_recursion() {
    let count = 1_000_000;
    for (begin, end) in [("[", "]"), ("{\"a\":", "}"), ("[{\"ph\":", "}]")] {
        let text = format!("{{\"a\":{}1{}}}", begin.repeat(count), end.repeat(count));
        let (_, lines) = read(Cursor::new(format!("[{text}]")));
        assert_eq!(lines.len(), 1);
        assert!(lines[0].starts_with("1 event"));
        let value = Value::parsed(text.as_bytes());
        let (_, inner) = value.members().next().unwrap();
        assert_eq!(inner.text().len(), text.len() - 6);
        let depth =
            value.walk().filter(|token| matches!(token, Token::BeginArray | Token::BeginObject));
        assert!(depth.count() > count);
        // The same without an end.
        let cut = format!("[{{\"a\":{}", begin.repeat(count));
        let (_, lines) = read(Cursor::new(&cut));
        assert_eq!(lines, [format!("1 cut {}", cut.len() - 1)]);
    }
}

#[test]
#[ignore = "heavy"]
fn nesting_without_an_end_takes_no_memory() {
    for begin in ["[", "{\"a\":", "{\"traceEvents\":[", "[{\"a\":"] {
        for text in ["[", "{\"\":", "[{\"\":"] {
            read(between(begin, text, 200 * MB, ""));
        }
    }
}

#[test]
#[ignore = "heavy"]
fn ten_million_keys_are_read() {
    let (count, _) = read(between("{", "\"k\":1,", 70 * MB, "}"));
    assert!(count > 9_900_000);
    let (_, lines) = read(between("{\"a\":{", "\"k\":1,", 70 * MB, "}}"));
    assert!(lines[0].ends_with("large"), "{lines:?}");
    let (_, lines) = read(between("[{", "\"k\":1,", 70 * MB, "},{\"ph\":\"\"}]"));
    assert!(lines[0].starts_with("1 damage"), "{lines:?}");
    assert_eq!(lines.len(), 2);
}

#[test]
fn numbers_of_a_million_digits_are_read() {
    let digits = "7".repeat(1_000_000);
    let zeros = "0".repeat(1_000_000);
    let time = |text: &str| nanoseconds(Value::parsed(text.as_bytes()));
    assert_eq!(time(&digits), Err(NoTime::Overflow));
    assert_eq!(time(&format!("\"1.5{digits}\"")), Ok(1578));
    assert_eq!(time(&format!("{zeros}2.{zeros}1")), Ok(2000));
    assert_eq!(time(&format!("0.{zeros}1e1000001")), Ok(1000));
    assert_eq!(time(&format!("1{zeros}e-1000000")), Ok(1000));
    assert_eq!(time(&format!("1e{digits}")), Err(NoTime::Overflow));
    assert_eq!(time(&format!("1e-{digits}")), Ok(0));
    let number = |text: &str| Value::parsed(text.as_bytes()).number();
    assert_eq!(number(&digits), Some(Number::Real(f64::INFINITY)));
    assert_eq!(number(&format!("0.{zeros}1")), Some(Number::Real(0.0)));
}

/// Units of which each begins something that is never closed, or closed late, with and without
/// events in between.
#[test]
fn js4_the_search_is_linear() {
    let units = [
        "{\"",
        "{",
        "[",
        "\"",
        "\\\"{",
        "{\"a\":",
        "{\"a\":[{\"ph\":\"i\"},",
        "{\"ph\":\"i\",\"a\":[{\"ph\":\"i\"},",
        "{\"ph\":{\"ph\":\"i\"},\"a\":",
        "[{\"ph\":\"i\"},",
        "],\"k\":{\"a\":[{\"ph\":\"i\"},",
        "],\"k\":[[{\"ph\":\"i\"},",
        "]\"{\"ph\":\"i\"}",
        "\"{\"ph\":\"i\"},",
        "{\"a\":{\"ph\":\"x\"},\"b\":",
        "{\"{\":\"{\",\"ph\":\"\",\"\":[\"\",",
        "{\"a\":\"{\\\"a\\\":",
        "{\"ph\":\"i\"}x{",
    ];
    for begin in ["[", "{\"traceEvents\":["] {
        for unit in units {
            read(between(begin, unit, MB, ""));
        }
        let (depth, unit) = (50_000, "{\"a\":{\"ph\":\"x\"},\"b\":");
        let nested = format!("{begin}{}1{}:x", unit.repeat(depth), "}".repeat(depth));
        read(Cursor::new(format!("{nested},{nested}")));
    }
}

#[test]
fn a_piece_is_there_before_the_input_ends() {
    /// An input that must not be read to its end.
    struct Endless;
    impl Read for Endless {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            panic!("the event was in memory already");
        }
    }
    let mut pieces = JsonPieces::new(Cursor::new("[{\"ph\":\"i\"},").chain(Endless));
    assert!(matches!(pieces.next().unwrap(), Some(Piece::Event { .. })));
}
