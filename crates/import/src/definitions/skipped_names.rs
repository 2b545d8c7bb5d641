//! The numbers of event names that interned data stated, but that no event can look up (rule FE4).

use rustc_hash::FxHashSet;
use timebase_schema::fields::{event_name as name, interned_data as interned};

use crate::message::Message;

/// The largest number of numbers. Beyond it, every number counts as stated.
const MOST: usize = 1 << 16;

/// Numbers of names that were left out: their sequence had no state yet, or an entry has the number 0,
/// which means no name.
#[derive(Debug, Default)]
pub(crate) struct SkippedNames(FxHashSet<(u32, u64)>);

impl SkippedNames {
    /// The event names of a serialized `InternedData` are left out.
    pub fn add(&mut self, sequence: u32, data: &[u8]) {
        self.0.extend(
            numbers(data).map(|number| (sequence, number)).take(MOST.saturating_sub(self.0.len())),
        );
    }

    /// Notes that a serialized `InternedData` has event names without a number, which are left out.
    pub fn add_unnumbered(&mut self, sequence: u32, data: &[u8]) {
        if self.0.len() < MOST && numbers(data).any(|number| number == 0) {
            self.0.insert((sequence, 0));
        }
    }

    /// Whether a number of a sequence was left out.
    pub fn has(&self, sequence: u32, number: u64) -> bool {
        self.0.len() >= MOST || self.0.contains(&(sequence, number))
    }
}

/// The numbers of the event names in a serialized `InternedData`.
fn numbers(data: &[u8]) -> impl Iterator<Item = u64> {
    let entries = Message(data).messages(interned::EVENT_NAMES);
    entries.map(|entry| entry.number(name::IID).unwrap_or(0))
}
