#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod hostile;
mod model;
mod numbers;
mod rules;

use std::io::{self, Read};

use super::pieces::{JsonPieces, Piece};

/// The pieces of a text, a line each.
fn lines(text: &[u8]) -> Vec<String> {
    lines_of(JsonPieces::new(text))
}

fn lines_of<R: Read>(mut pieces: JsonPieces<R>) -> Vec<String> {
    let mut lines = Vec::new();
    while let Some(piece) = pieces.next().unwrap() {
        lines.push(line(&piece));
    }
    lines.push(format!("array {} events {}", pieces.is_array(), pieces.has_events()));
    lines
}

fn line(piece: &Piece<'_>) -> String {
    let text = |text: &[u8]| String::from_utf8_lossy(text).into_owned();
    match piece {
        Piece::Event { offset, value } => format!("{offset} event {}", text(value.text())),
        Piece::NoEvent { offset, text: value } => format!("{offset} no event {}", text(value)),
        Piece::Member { offset, size, key, value, text: all } => {
            let value = value.map(|value| text(value.text()));
            assert_eq!(value.is_some(), all.is_some());
            assert!(all.is_none_or(|all| all.len() as u64 == *size));
            format!("{offset} member {size} {key:?} {}", value.unwrap_or_else(|| "large".into()))
        }
        Piece::Damage { offset, size, is_cut: true, .. } => format!("{offset} cut {size}"),
        Piece::Damage { offset, size, .. } => format!("{offset} damage {size}"),
        Piece::Trailing { offset, size } => format!("{offset} trailing {size}"),
    }
}

/// Gives a few bytes at a time.
struct Slowly<'a> {
    rest: &'a [u8],
    sizes: u64,
}

impl Read for Slowly<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.sizes = self.sizes.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let size = match self.sizes >> 61 {
            0 => return Err(io::ErrorKind::Interrupted.into()),
            1 => (self.sizes >> 40) as usize % 97 + 1,
            _ => 1,
        };
        let size = size.min(self.rest.len()).min(buffer.len());
        let (now, rest) = self.rest.split_at(size);
        buffer[..size].copy_from_slice(now);
        self.rest = rest;
        Ok(size)
    }
}
