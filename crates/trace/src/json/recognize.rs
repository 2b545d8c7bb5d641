//! Whether a text is a trace, by its first bytes (rule JS1).

use super::pieces::{JsonPieces, Piece};
use super::value::Value;

/// The number of objects of a list of which one must have a `ph`.
const OBJECTS: usize = 10;

/// First keys of other formats.
const OTHERS: [&str; 4] = ["perfetto_manifest", "meta", "libs", "nodes"];

/// Whether a text is a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recognized {
    /// It is a trace.
    Yes,
    /// It is none.
    No,
    /// The bytes end too early to tell.
    Maybe,
}

/// Whether a text with these first bytes is a trace in Chrome's JSON format.
pub fn recognizes(head: &[u8]) -> Recognized {
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let is_nothing = |byte: &u8| matches!(byte, b' ' | b'\n' | b'\r' | b'\t' | 0);
    let begin = text.iter().position(|byte| !is_nothing(byte));
    match begin.and_then(|begin| text.get(begin..)?.split_first()) {
        None => Recognized::Maybe,
        Some((b'[', _)) => list(head),
        Some((b'{', rest)) if !is_other(rest) => object(head),
        Some(_) => Recognized::No,
    }
}

/// Whether the first key of an object is one of another format.
fn is_other(rest: &[u8]) -> bool {
    let key = rest.trim_ascii_start().strip_prefix(b"\"");
    let is_key = |name: &str| {
        let rest = key.and_then(|key| key.strip_prefix(name.as_bytes()));
        rest.is_some_and(|rest| rest.starts_with(b"\""))
    };
    OTHERS.iter().any(|name| is_key(name))
}

fn list(head: &[u8]) -> Recognized {
    let mut pieces = JsonPieces::new(head);
    let mut objects = 0;
    let (mut is_cut, mut is_damaged) = (false, false);
    while let Ok(Some(piece)) = pieces.next() {
        match piece {
            Piece::Event { value, .. } if has_phase(value) => return Recognized::Yes,
            Piece::Event { .. } => objects += 1,
            Piece::NoEvent { .. } if objects == 0 => return Recognized::No,
            Piece::Damage { is_cut: true, .. } => is_cut = true,
            Piece::Damage { .. } => is_damaged = true,
            _ => {}
        }
        if objects == OBJECTS {
            return Recognized::No;
        }
    }
    let last = head.trim_ascii_end().last();
    match (objects, last) {
        _ if is_cut => Recognized::Maybe,
        (0, Some(b'[' | b']' | b',')) if !is_damaged => Recognized::Yes,
        (0, _) | (_, Some(b']')) => Recognized::No,
        _ => Recognized::Maybe,
    }
}

fn has_phase(event: Value<'_>) -> bool {
    event.members().any(|(key, _)| key.is("ph"))
}

fn object(head: &[u8]) -> Recognized {
    let mut pieces = JsonPieces::new(head);
    let mut is_cut = false;
    while let Ok(Some(piece)) = pieces.next() {
        is_cut |= matches!(piece, Piece::Damage { is_cut: true, .. });
        if pieces.has_events() {
            return Recognized::Yes;
        }
    }
    match (pieces.has_events(), is_cut) {
        (true, _) => Recognized::Yes,
        (false, true) => Recognized::Maybe,
        (false, false) => Recognized::No,
    }
}
