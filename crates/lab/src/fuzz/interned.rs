//! Interned data.

use std::collections::{HashMap, HashSet};

use arbitrary::{Arbitrary, Unstructured};
use timebase_trace::{Interned, Interval, Kept};

/// The kept fields, and for how long.
const FIELDS: [(u32, Kept); 3] = [(2, Kept::Interval), (3, Kept::Interval), (14, Kept::Trace)];

#[derive(Debug, Arbitrary)]
enum Step {
    /// Some bytes for a serialized `InternedData`.
    Bytes {
        sequence: u8,
        bytes: Vec<u8>,
    },
    /// A message with these entries.
    Entries {
        sequence: u8,
        entries: Vec<Entry>,
    },
    Clear {
        sequence: u8,
    },
    Keep {
        sequence: u8,
    },
}

#[derive(Debug, Arbitrary)]
struct Entry {
    field: u8,
    iid: Option<u8>,
    text: u8,
}

/// Follows the interned data of a few sequences, as these bytes direct, and compares them with a
/// copy that never forgets anything.
///
/// ```
/// timebase_lab::fuzz::interned(&[1, 2, 3, 4]);
/// ```
pub fn interned(bytes: &[u8]) {
    let mut unstructured = Unstructured::new(bytes);
    let mut interned = Interned::new(&FIELDS);
    let mut model = Model::default();
    while let Ok(step) = Step::arbitrary(&mut unstructured) {
        model.step(&mut interned, &step);
        if unstructured.is_empty() {
            break;
        }
    }
    model.check(&interned);
}

#[derive(Default)]
struct Model {
    /// The number of clearings of each sequence.
    cleared: HashMap<u32, u32>,
    /// The intervals that are kept.
    kept: HashSet<Interval>,
    /// The first entry with each number.
    entries: HashMap<(Interval, u32, u64), Vec<u8>>,
    /// The result of [`Interned::keep`], and the entries at that time.
    moments: Vec<(Interval, u64, usize)>,
}

impl Model {
    fn interval(&self, sequence: u8) -> Interval {
        let sequence = u32::from(sequence % 3);
        let cleared = self.cleared.get(&sequence).copied().unwrap_or(0);
        Interval { sequence, cleared }
    }

    fn step(&mut self, interned: &mut Interned, step: &Step) {
        match step {
            Step::Clear { sequence } => {
                *self.cleared.entry(u32::from(sequence % 3)).or_default() += 1;
            }
            Step::Keep { sequence } => {
                let interval = self.interval(*sequence);
                let now = interned.keep(interval);
                self.kept.insert(interval);
                let of_it = self.entries.keys().filter(|(of, ..)| *of == interval);
                self.moments.push((interval, now, of_it.count()));
            }
            Step::Bytes { sequence, bytes } => {
                let interval = self.interval(*sequence);
                // If an entry is added, it must be found; if it is refused, it must not be found.
                let _ = interned.add(interval, bytes).is_ok_and(|_| {
                    self.take(interval, bytes);
                    true
                });
            }
            Step::Entries { sequence, entries } => {
                let interval = self.interval(*sequence);
                let bytes: Vec<u8> = entries.iter().flat_map(Entry::field).collect();
                let nameless = interned.add(interval, &bytes).unwrap();
                let expected =
                    entries.iter().filter(|entry| entry.iid.is_none() && entry.is_wanted());
                assert_eq!(nameless as usize, expected.count());
                self.take(interval, &bytes);
            }
        }
        self.check(interned);
    }

    /// Reads the message again, with another reader of protobuf.
    fn take(&mut self, interval: Interval, bytes: &[u8]) {
        for (field, entry) in fields(bytes) {
            let Some(entry) = entry else { continue };
            if !FIELDS.iter().any(|(wanted, _)| *wanted == field) {
                continue;
            }
            if let Some(iid) = iid(entry) {
                self.entries.entry((interval, field, iid)).or_insert_with(|| entry.to_vec());
            }
        }
    }

    fn check(&self, interned: &Interned) {
        for ((interval, field, iid), entry) in &self.entries {
            let current = self.interval(interval.sequence as u8);
            let lasts = *field == 14 || *interval == current || self.kept.contains(interval);
            if let Some(found) = interned.get(*interval, *field, *iid) {
                assert_eq!(found, entry);
            } else {
                assert!(!lasts, "{interval:?} lost {iid} of field {field}");
            }
        }
        for &(interval, now, count) in &self.moments {
            let of_it = self.entries.keys().filter(|(of, ..)| *of == interval);
            let then = of_it
                .filter(|(of, field, iid)| interned.get_until(*of, *field, *iid, now).is_some());
            assert_eq!(then.count(), count);
        }
    }
}

impl Entry {
    fn number(&self) -> u8 {
        [2, 3, 14, 15][usize::from(self.field % 4)]
    }

    fn is_wanted(&self) -> bool {
        FIELDS.iter().any(|(field, _)| *field == u32::from(self.number()))
    }

    /// The entry as a field of `InternedData`.
    fn field(&self) -> Vec<u8> {
        let mut entry = Vec::new();
        if let Some(iid) = self.iid {
            entry.extend([0x08, iid & 0x7f]);
        }
        entry.extend([0x12, 1, self.text]);
        [&[self.number() << 3 | 2, entry.len() as u8][..], &entry].concat()
    }
}

/// The readable fields of a message: their numbers, and the contents of those with a length.
fn fields(bytes: &[u8]) -> Vec<(u32, Option<&[u8]>)> {
    let mut fields = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let tag = prost::encoding::decode_varint(&mut rest).unwrap();
        let size = match tag & 7 {
            0 => {
                prost::encoding::decode_varint(&mut rest).unwrap();
                0
            }
            1 => 8,
            2 => prost::encoding::decode_varint(&mut rest).unwrap() as usize,
            _ => 4,
        };
        let (inside, behind) = rest.split_at(size);
        fields.push(((tag >> 3) as u32, (tag & 7 == 2).then_some(inside)));
        rest = behind;
    }
    fields
}

/// The number of an entry: the last one in it.
fn iid(entry: &[u8]) -> Option<u64> {
    let mut iid = None;
    let mut rest = entry;
    while !rest.is_empty() {
        let tag = prost::encoding::decode_varint(&mut rest).unwrap();
        let size = match tag & 7 {
            0 => {
                let value = prost::encoding::decode_varint(&mut rest).unwrap();
                if tag >> 3 == 1 {
                    iid = Some(value);
                }
                0
            }
            1 => 8,
            2 => prost::encoding::decode_varint(&mut rest).unwrap() as usize,
            _ => 4,
        };
        rest = &rest[size..];
    }
    iid
}
