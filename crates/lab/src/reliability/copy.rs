//! A damaged copy, and the original positions of its bytes.

use std::fmt;
use std::ops::Range;

/// A damaged copy of a trace.
///
/// ```
/// use timebase_lab::reliability::Copy;
///
/// let mut copy = Copy::new();
/// copy.keep(b"abcdef", 0..2);
/// copy.keep(b"abcdef", 4..6);
/// assert_eq!(copy.bytes, b"abef");
/// assert_eq!((copy.place(3), copy.place(4)), (Some(5), None));
/// // `ab` and `ef` are whole, and between them something is missing.
/// assert_eq!(copy.whole(), [(0, 0..2), (2, 4..6)]);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Copy {
    /// The file.
    pub bytes: Vec<u8>,
    /// Its pieces, one after the other.
    pub pieces: Vec<Piece>,
    /// The damage.
    pub damage: Damage,
}

/// Bytes of a copy that were also contiguous in the trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Their positions in the copy.
    pub at: usize,
    /// Their position in the trace.
    pub from: Range<usize>,
    /// Whether they were changed in place.
    pub touched: bool,
}

/// The damaged bytes of a trace, and the damage.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Damage {
    /// The kind of damage.
    pub what: &'static str,
    /// The affected bytes of the trace.
    pub places: Vec<Range<usize>>,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let places: Vec<String> =
            self.places.iter().map(|place| format!("{}..{}", place.start, place.end)).collect();
        write!(f, "{} bytes {}", self.what, places.join(" and "))
    }
}

impl Copy {
    /// An empty copy.
    pub fn new() -> Copy {
        Copy::default()
    }

    /// Appends bytes of the trace.
    pub fn keep(&mut self, trace: &[u8], from: Range<usize>) {
        let bytes = trace.get(from.clone()).unwrap_or_default();
        self.add(bytes, from, false);
    }

    /// Appends other bytes in place of the same number at `from`.
    pub fn replace(&mut self, bytes: &[u8], from: Range<usize>) {
        self.add(bytes, from, true);
    }

    fn add(&mut self, bytes: &[u8], from: Range<usize>, touched: bool) {
        if from.is_empty() {
            return;
        }
        let at = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        self.pieces.push(Piece { at, from, touched });
    }

    /// The original position of byte `at` of the copy, even if the byte was changed.
    pub fn place(&self, at: usize) -> Option<usize> {
        let after = self.pieces.partition_point(|piece| piece.at <= at);
        let piece = self.pieces.get(after.checked_sub(1)?)?;
        let place = piece.from.start + (at - piece.at);
        piece.from.contains(&place).then_some(place)
    }

    /// The longest untouched ranges of the copy that are contiguous in both: the start of each, and
    /// its original position.
    pub fn whole(&self) -> Vec<(usize, Range<usize>)> {
        let mut whole: Vec<(usize, Range<usize>)> = Vec::new();
        // The start in the copy of a range that continues the last one.
        let mut end = None;
        for piece in &self.pieces {
            if piece.touched {
                continue;
            }
            match whole.last_mut() {
                Some((_, from)) if end == Some(piece.at) && from.end == piece.from.start => {
                    from.end = piece.from.end;
                }
                _ => whole.push((piece.at, piece.from.clone())),
            }
            end = Some(piece.at + piece.from.len());
        }
        whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &[u8] = b"0123456789";

    #[test]
    fn what_was_side_by_side_is_one_stretch() {
        let mut copy = Copy::new();
        copy.keep(TRACE, 0..4);
        copy.keep(TRACE, 4..6);
        copy.replace(b"x", 6..7);
        copy.keep(TRACE, 7..10);
        assert_eq!(copy.bytes, b"012345x789");
        assert_eq!(copy.whole(), [(0, 0..6), (7, 7..10)]);
        assert_eq!((copy.place(6), copy.place(9), copy.place(10)), (Some(6), Some(9), None));
    }

    #[test]
    fn what_is_there_twice_has_two_places() {
        let mut copy = Copy::new();
        copy.keep(TRACE, 0..6);
        copy.keep(TRACE, 4..10);
        assert_eq!(copy.bytes, b"012345456789");
        assert_eq!(copy.whole(), [(0, 0..6), (6, 4..10)]);
        assert_eq!((copy.place(5), copy.place(7)), (Some(5), Some(5)));
    }

    #[test]
    fn nothing_is_no_piece() {
        let mut copy = Copy::new();
        copy.keep(TRACE, 3..3);
        assert_eq!((copy.pieces.len(), copy.place(0), copy.whole().len()), (0, None, 0));
    }
}
