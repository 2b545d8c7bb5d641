//! The kinds of damage.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use crate::synth::Random;

use crate::reliability::copy::{Copy, Damage};

/// The damage to a copy, at a random place. Sizes are in bytes.
///
/// ```
/// use timebase_lab::reliability::DamageKind;
///
/// let trace = [7; 100];
/// let copy = DamageKind::Dropped(64).damage(&trace, 1, 0);
/// assert_eq!(copy.bytes.len(), 36);
/// // The same numbers make the same copy.
/// assert_eq!(copy, DamageKind::Dropped(64).damage(&trace, 1, 0));
/// assert_eq!(DamageKind::Dropped(4096).to_string(), "4 kB dropped");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DamageKind {
    /// This many bits are flipped, each in a different byte.
    Flipped(usize),
    /// A region is zeros.
    Zeroed(usize),
    /// A region is random bytes.
    Noise(usize),
    /// A region is missing.
    Dropped(usize),
    /// A region is there twice, one copy after the other.
    Duplicated(usize),
    /// Two regions of this size are swapped.
    Swapped(usize),
    /// Everything after some byte is missing.
    CutAtEnd,
    /// Everything before some byte is missing.
    CutAtStart,
}

impl DamageKind {
    /// All measured kinds.
    pub const ALL: &[DamageKind] = &[
        DamageKind::Flipped(1),
        DamageKind::Flipped(3),
        DamageKind::Zeroed(64),
        DamageKind::Zeroed(4 << 10),
        DamageKind::Zeroed(64 << 10),
        DamageKind::Noise(64),
        DamageKind::Noise(4 << 10),
        DamageKind::Noise(64 << 10),
        DamageKind::Dropped(64),
        DamageKind::Dropped(4 << 10),
        DamageKind::Dropped(64 << 10),
        DamageKind::Duplicated(64),
        DamageKind::Duplicated(4 << 10),
        DamageKind::Duplicated(64 << 10),
        DamageKind::Swapped(64),
        DamageKind::Swapped(4 << 10),
        DamageKind::Swapped(64 << 10),
        DamageKind::CutAtEnd,
        DamageKind::CutAtStart,
    ];

    /// A name for command lines and files.
    ///
    /// ```
    /// # use timebase_lab::reliability::DamageKind;
    /// assert_eq!(DamageKind::Noise(64 << 10).name(), "noise-64k");
    /// assert_eq!("noise-64k".parse::<DamageKind>()?, DamageKind::Noise(64 << 10));
    /// # Ok::<(), timebase_lab::reliability::UnknownKind>(())
    /// ```
    pub fn name(self) -> String {
        let size = |bytes: usize| match bytes >> 10 {
            0 => bytes.to_string(),
            kilobytes => format!("{kilobytes}k"),
        };
        match self {
            DamageKind::Flipped(bits) => format!("flipped-{bits}"),
            DamageKind::Zeroed(bytes) => format!("zeroed-{}", size(bytes)),
            DamageKind::Noise(bytes) => format!("noise-{}", size(bytes)),
            DamageKind::Dropped(bytes) => format!("dropped-{}", size(bytes)),
            DamageKind::Duplicated(bytes) => format!("duplicated-{}", size(bytes)),
            DamageKind::Swapped(bytes) => format!("swapped-{}", size(bytes)),
            DamageKind::CutAtEnd => "cut-end".into(),
            DamageKind::CutAtStart => "cut-start".into(),
        }
    }

    /// The copy with this number. Its places only depend on the seed, the kind and the number. A
    /// region that is larger than the trace has the trace's size; each of two swapped regions has
    /// at most half of it.
    pub fn damage(self, trace: &[u8], seed: u64, number: u64) -> Copy {
        let mut random = Random::new(self.seed(seed, number));
        let random = &mut random;
        let mut copy = Copy::new();
        let end = trace.len();
        let (what, places) = match self {
            DamageKind::Flipped(bits) => {
                let mut places: Vec<Range<usize>> = Vec::new();
                while places.len() < bits.min(end) {
                    let place = region(random, 1, end);
                    if !places.contains(&place) {
                        places.push(place);
                    }
                }
                places.sort_by_key(|place| place.start);
                let mut kept = 0;
                for place in &places {
                    copy.keep(trace, kept..place.start);
                    let byte = trace.get(place.start).copied().unwrap_or_default();
                    copy.replace(&[byte ^ 1 << below(random, 8)], place.clone());
                    kept = place.end;
                }
                copy.keep(trace, kept..end);
                ("flipped a bit of each of", places)
            }
            DamageKind::Zeroed(size) => {
                let place = region(random, size, end);
                copy.keep(trace, 0..place.start);
                copy.replace(&vec![0; place.len()], place.clone());
                copy.keep(trace, place.end..end);
                ("zeroed", vec![place])
            }
            DamageKind::Noise(size) => {
                let place = region(random, size, end);
                let noise: Vec<u8> = place.clone().map(|_| below(random, 256) as u8).collect();
                copy.keep(trace, 0..place.start);
                copy.replace(&noise, place.clone());
                copy.keep(trace, place.end..end);
                ("noise instead of", vec![place])
            }
            DamageKind::Dropped(size) => {
                let place = region(random, size, end);
                copy.keep(trace, 0..place.start);
                copy.keep(trace, place.end..end);
                ("dropped", vec![place])
            }
            DamageKind::Duplicated(size) => {
                let place = region(random, size, end);
                copy.keep(trace, 0..place.end);
                copy.keep(trace, place.start..end);
                ("duplicated", vec![place])
            }
            DamageKind::Swapped(size) => {
                let size = size.min(end / 2);
                // The positions of two starts in the rest without the first region.
                let room = end - 2 * size + 1;
                let (one, other) = (below(random, room), below(random, room));
                let first = one.min(other)..one.min(other) + size;
                let second = one.max(other) + size..one.max(other) + 2 * size;
                copy.keep(trace, 0..first.start);
                copy.keep(trace, second.clone());
                copy.keep(trace, first.end..second.start);
                copy.keep(trace, first.clone());
                copy.keep(trace, second.end..end);
                ("swapped", vec![first, second])
            }
            DamageKind::CutAtEnd => {
                let cut = below(random, end)..end;
                copy.keep(trace, 0..cut.start);
                ("cut off", vec![cut])
            }
            DamageKind::CutAtStart => {
                let cut = 0..below(random, end) + 1;
                copy.keep(trace, cut.end..end);
                ("cut off", vec![cut])
            }
        };
        copy.damage = Damage { what, places };
        copy
    }

    /// FNV-1a of the three, so that a copy does not depend on which others are made.
    fn seed(self, seed: u64, number: u64) -> u64 {
        let numbers = [seed.to_le_bytes(), number.to_le_bytes()].concat();
        let bytes = self.name().into_bytes().into_iter().chain(numbers);
        bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        })
    }
}

fn below(random: &mut Random, bound: usize) -> usize {
    random.below(bound as u64) as usize
}

/// A region of this size before `end`.
fn region(random: &mut Random, size: usize, end: usize) -> Range<usize> {
    let size = size.min(end);
    let start = below(random, end - size + 1);
    start..start + size
}

/// The name of an unknown kind of damage.
#[derive(Debug, thiserror::Error)]
#[error("there are {}", DamageKind::ALL.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(", "))]
pub struct UnknownKind;

impl FromStr for DamageKind {
    type Err = UnknownKind;

    fn from_str(name: &str) -> Result<DamageKind, UnknownKind> {
        let named = DamageKind::ALL.iter().find(|kind| kind.name() == name);
        named.copied().ok_or(UnknownKind)
    }
}

impl fmt::Display for DamageKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = |bytes: usize| match bytes >> 10 {
            0 => format!("{bytes} B"),
            kilobytes => format!("{kilobytes} kB"),
        };
        match *self {
            DamageKind::Flipped(1) => f.write_str("1 bit flipped"),
            DamageKind::Flipped(bits) => write!(f, "{bits} bits flipped"),
            DamageKind::Zeroed(bytes) => write!(f, "{} zeroed", size(bytes)),
            DamageKind::Noise(bytes) => write!(f, "{} of noise", size(bytes)),
            DamageKind::Dropped(bytes) => write!(f, "{} dropped", size(bytes)),
            DamageKind::Duplicated(bytes) => write!(f, "{} duplicated", size(bytes)),
            DamageKind::Swapped(bytes) => write!(f, "two of {} swapped", size(bytes)),
            DamageKind::CutAtEnd => f.write_str("cut at the end"),
            DamageKind::CutAtStart => f.write_str("cut at the start"),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Bytes that all differ from their neighbours, longer than two regions.
    fn trace() -> Vec<u8> {
        let mut random = Random::new(3);
        (0..140_000).map(|_| random.below(256) as u8).collect()
    }

    #[test]
    fn the_map_says_where_each_byte_of_each_kind_was() {
        let trace = trace();
        for &kind in DamageKind::ALL {
            for number in 0..20 {
                let copy = kind.damage(&trace, 1, number);
                let mut at = 0;
                for piece in &copy.pieces {
                    assert_eq!(piece.at, at, "{kind}");
                    let there = &copy.bytes[at..at + piece.from.len()];
                    if !piece.touched {
                        assert_eq!(there, &trace[piece.from.clone()], "{kind}");
                    }
                    at += piece.from.len();
                }
                assert_eq!(at, copy.bytes.len(), "{kind}");
            }
        }
    }

    #[test]
    fn as_much_is_damaged_as_the_kind_says() {
        let trace = trace();
        for &kind in DamageKind::ALL {
            let copy = kind.damage(&trace, 1, 0);
            let (size, end) = (copy.bytes.len(), trace.len());
            let touched: usize =
                copy.pieces.iter().filter(|p| p.touched).map(|p| p.from.len()).sum();
            let differ = copy.bytes.iter().zip(&trace).filter(|(a, b)| a != b).count();
            match kind {
                DamageKind::Flipped(bits) => assert_eq!((size, touched, differ), (end, bits, bits)),
                DamageKind::Zeroed(bytes) | DamageKind::Noise(bytes) => {
                    assert_eq!((size, touched), (end, bytes));
                    assert!(differ > bytes * 9 / 10);
                }
                DamageKind::Dropped(bytes) => assert_eq!((size, touched), (end - bytes, 0)),
                DamageKind::Duplicated(bytes) => assert_eq!((size, touched), (end + bytes, 0)),
                DamageKind::Swapped(bytes) => {
                    assert_eq!((size, touched), (end, 0));
                    let moved = |p: &&crate::reliability::Piece| p.at != p.from.start;
                    let moved: usize = copy.pieces.iter().filter(moved).map(|p| p.from.len()).sum();
                    assert_eq!(moved, 2 * bytes);
                }
                DamageKind::CutAtEnd => assert!(size < end && trace.starts_with(&copy.bytes)),
                DamageKind::CutAtStart => assert!(size < end && trace.ends_with(&copy.bytes)),
            }
        }
    }

    #[test]
    fn copies_differ_by_number_and_seed_and_are_the_same_again() {
        let trace = trace();
        for &kind in DamageKind::ALL {
            let copy = kind.damage(&trace, 1, 0);
            assert_eq!(copy, kind.damage(&trace, 1, 0));
            assert_ne!(copy, kind.damage(&trace, 1, 1));
            assert_ne!(copy, kind.damage(&trace, 2, 0));
        }
    }

    #[test]
    fn a_trace_may_be_smaller_than_a_region() {
        for trace in [&b"a"[..], b"ab", b"abc"] {
            for &kind in DamageKind::ALL {
                let copy = kind.damage(trace, 1, 0);
                assert!(copy.bytes.len() <= 2 * trace.len(), "{kind}");
            }
        }
    }

    #[test]
    fn each_kind_has_its_name() {
        for &kind in DamageKind::ALL {
            assert_eq!(kind.name().parse::<DamageKind>().ok(), Some(kind));
        }
        let said = "zeroed".parse::<DamageKind>().unwrap_err().to_string();
        assert!(said.starts_with("there are flipped-1, flipped-3, "), "{said}");
    }
}
