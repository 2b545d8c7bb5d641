//! Traces in Chrome's JSON format.

use std::io::Read;

use timebase_trace::json::{
    JsonPieces, Kind, Piece, Token, Value, integer, nanoseconds, recognizes,
};

use super::stream::Pieces;

/// Reads a text as a trace in Chrome's JSON format.
///
/// Pieces come in the order of the text, inside of it, and do not depend on the sizes of reads; what
/// is valid can be taken apart.
///
/// ```
/// timebase_lab::fuzz::json(br#"[{"ph":"i","ts":1},{"ph":"i","ts"#);
/// ```
pub fn json(bytes: &[u8]) {
    let lines = pieces(bytes, bytes);
    assert_eq!(lines, pieces(bytes, Pieces::of(bytes)));
    recognizes(bytes);
}

/// A line for each piece.
fn pieces(bytes: &[u8], reader: impl Read) -> Vec<String> {
    let mut pieces = JsonPieces::new(reader);
    let mut lines = Vec::new();
    let mut end = 0;
    while let Some(piece) = pieces.next().unwrap() {
        let (start, size) = match piece {
            Piece::Event { offset, value } => {
                assert_eq!(value.kind(), Kind::Object);
                take_apart(value);
                (offset, value.text().len() as u64)
            }
            Piece::NoEvent { offset, text } => (offset, text.len() as u64),
            Piece::Member { offset, size, value, text, .. } => {
                assert_eq!(text.map(|text| text.len() as u64), Some(size));
                value.into_iter().for_each(take_apart);
                (offset, size)
            }
            Piece::Damage { offset, size, is_cut, .. } => {
                assert!(!is_cut || offset + size == bytes.len() as u64);
                (offset, size)
            }
            Piece::Trailing { offset, size } => {
                assert_eq!(offset + size, bytes.len() as u64);
                (offset, size)
            }
        };
        assert!(start >= end && start + size <= bytes.len() as u64);
        if let Piece::Event { value, .. } = piece {
            assert!(bytes[start as usize..].starts_with(value.text()));
        }
        end = start + size;
        lines.push(format!("{piece:?}"));
    }
    lines.push(format!("{} {}", pieces.is_array(), pieces.has_events()));
    lines
}

/// All parts of a value are there twice: by walking, and by going into each object and list.
fn take_apart(value: Value<'_>) {
    let mut depth = 0;
    let mut scalars = 0;
    for token in value.walk() {
        match token {
            Token::BeginObject | Token::BeginArray => depth += 1,
            Token::EndObject | Token::EndArray => depth -= 1,
            Token::Key(key) => assert!(key.is(&key.text()) || key.text().contains('\u{fffd}')),
            Token::Scalar(scalar) => {
                scalars += 1;
                scalar_parts(scalar);
            }
        }
    }
    assert_eq!(depth, 0);
    assert_eq!(scalars, inner_scalars(value));
}

fn inner_scalars(value: Value<'_>) -> usize {
    // Going into each object and list takes quadratic time.
    let mut open = vec![value];
    let mut scalars = 0;
    while let Some(value) = open.pop() {
        match value.kind() {
            Kind::Object => open.extend(value.members().map(|(_, value)| value)),
            Kind::Array => open.extend(value.items()),
            _ => scalars += 1,
        }
    }
    scalars
}

fn scalar_parts(scalar: Value<'_>) {
    let is_id = integer(scalar).is_some();
    match scalar.kind() {
        Kind::Number => assert!(scalar.number().is_some() && is_id),
        Kind::String => assert!(scalar.string().is_some() && is_id),
        _ => assert!(!is_id && nanoseconds(scalar).is_err()),
    }
}
