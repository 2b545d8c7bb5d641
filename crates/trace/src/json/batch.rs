//! Pieces with their text, for another thread.

use std::borrow::Cow;
use std::ops::Range;

use super::pieces::Piece;
use super::value::Value;

/// Pieces in their order, with a copy of their text and a note on each event.
#[derive(Clone, Debug)]
pub struct Batch<N> {
    text: Vec<u8>,
    kept: Vec<Kept<N>>,
}

/// A piece whose texts are places in the text of the batch.
#[derive(Clone, Debug)]
enum Kept<N> {
    Event {
        offset: u64,
        text: Range<usize>,
        note: N,
    },
    NoEvent {
        offset: u64,
        text: Range<usize>,
    },
    Member {
        offset: u64,
        size: u64,
        key: String,
        value: Option<Range<usize>>,
        text: Option<Range<usize>>,
    },
    Other(Piece<'static>),
}

/// The place of a value in the text of another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    at: u32,
    size: u32,
}

impl<'a> Value<'a> {
    /// The place of one of its parts. Values larger than [`LIMIT`](super::LIMIT) have no places: the answer is that of an
    /// empty value.
    pub fn place_of(self, part: Value<'a>) -> Place {
        let at = part.text().as_ptr().addr().wrapping_sub(self.text().as_ptr().addr());
        let place = u32::try_from(at).ok().zip(u32::try_from(part.text().len()).ok());
        let (at, size) = place.unwrap_or((0, 0));
        Place { at, size }
    }

    /// The part at a place that [`Value::place_of`] told of an equal value.
    pub fn part(self, place: Place) -> Value<'a> {
        let from = self.text().get(place.at as usize..).unwrap_or_default();
        Value::parsed(from.get(..place.size as usize).unwrap_or_default())
    }
}

impl<N> Default for Batch<N> {
    fn default() -> Self {
        Batch { text: Vec::new(), kept: Vec::new() }
    }
}

impl<N> Batch<N> {
    /// The number of bytes that it needs.
    pub fn size(&self) -> usize {
        self.text.len().saturating_add(self.kept.len().saturating_mul(size_of::<Kept<N>>()))
    }

    /// Adds a piece; `note` makes the note of an event.
    pub fn add(&mut self, piece: &Piece<'_>, note: impl FnOnce(Value<'_>) -> N) {
        let kept = match *piece {
            Piece::Event { offset, value } => {
                Kept::Event { offset, text: self.keep(value.text()), note: note(value) }
            }
            Piece::NoEvent { offset, text } => Kept::NoEvent { offset, text: self.keep(text) },
            Piece::Member { offset, size, ref key, value, text } => {
                let text = text.map(|text| self.keep(text));
                let value = value.zip(text.as_ref()).map(|(value, text)| {
                    // The text of a member ends with its value.
                    text.end.saturating_sub(value.text().len())..text.end
                });
                Kept::Member { offset, size, key: key.clone().into_owned(), value, text }
            }
            Piece::Damage { offset, size, is_cut, why } => {
                Kept::Other(Piece::Damage { offset, size, is_cut, why })
            }
            Piece::Trailing { offset, size } => Kept::Other(Piece::Trailing { offset, size }),
        };
        self.kept.push(kept);
    }

    fn keep(&mut self, text: &[u8]) -> Range<usize> {
        let start = self.text.len();
        self.text.extend_from_slice(text);
        start..self.text.len()
    }

    /// The pieces in their order, and the notes on events.
    pub fn pieces(&self) -> impl Iterator<Item = (Piece<'_>, Option<&N>)> {
        self.kept.iter().map(|kept| match kept {
            Kept::Event { offset, text, note } => {
                (Piece::Event { offset: *offset, value: Value::parsed(self.at(text)) }, Some(note))
            }
            Kept::NoEvent { offset, text } => {
                (Piece::NoEvent { offset: *offset, text: self.at(text) }, None)
            }
            Kept::Member { offset, size, key, value, text } => {
                let value = value.as_ref().map(|value| Value::parsed(self.at(value)));
                let text = text.as_ref().map(|text| self.at(text));
                let key = Cow::Borrowed(&**key);
                (Piece::Member { offset: *offset, size: *size, key, value, text }, None)
            }
            Kept::Other(piece) => (piece.clone(), None),
        })
    }

    fn at(&self, place: &Range<usize>) -> &[u8] {
        self.text.get(place.clone()).unwrap_or_default()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io;

    use super::super::JsonPieces;
    use super::*;

    #[test]
    fn a_batch_gives_the_pieces_that_were_added() -> io::Result<()> {
        let text =
            br#"{"a b": {"c": 1}, "traceEvents": [{"ph": "i", "ts": 1}, 7, {"ts": 2}, {"ts"], 3"#;
        let (mut batch, mut count) = (Batch::default(), 0);
        let mut pieces = JsonPieces::new(&text[..]);
        while let Some(piece) = pieces.next()? {
            batch.add(&piece, |event| {
                let (_, ts) = event.members().find(|(key, _)| key.is("ts")).unwrap();
                event.place_of(ts)
            });
            count += 1;
        }
        let (mut again, mut all) = (JsonPieces::new(&text[..]), batch.pieces());
        let mut times = Vec::new();
        while let Some(piece) = again.next()? {
            let (kept, place) = all.next().unwrap();
            assert_eq!(kept, piece);
            if let (Piece::Event { value, .. }, Some(place)) = (kept, place) {
                times.push(value.part(*place).text());
            }
        }
        assert!(count >= 5 && all.next().is_none());
        assert_eq!(times, [b"1", b"2"]);
        Ok(())
    }
}
