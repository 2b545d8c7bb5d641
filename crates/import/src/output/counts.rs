//! Counters of files and machines, counted where there is no journal: while events are followed.

use std::collections::BTreeMap;

use super::counter::Counter;
use super::journal::Journal;

/// The key of a counter: its name, its file and machine, and the counted object if there are
/// several.
type Key = (&'static str, (u32, u32), Option<i64>);

/// The file and the machine of a counter that is about the whole trace.
pub(crate) const OF_TRACE: (u32, u32) = (u32::MAX, u32::MAX);

/// Counters of files and machines.
#[derive(Debug, Default)]
pub(crate) struct Counts(BTreeMap<Key, (&'static Counter, i64)>);

impl Counts {
    /// Sets a counter of a file and a machine, `of`; the last value counts.
    pub fn set(
        &mut self,
        counter: &'static Counter,
        of: (u32, u32),
        idx: impl Into<Option<i64>>,
        value: i64,
    ) {
        self.0.insert((counter.name, of, idx.into()), (counter, value));
    }

    /// Adds to a counter.
    pub fn add(
        &mut self,
        counter: &'static Counter,
        of: (u32, u32),
        idx: impl Into<Option<i64>>,
        more: i64,
    ) {
        let key = (counter.name, of, idx.into());
        let (_, value) = self.0.entry(key).or_insert((counter, 0));
        *value = value.saturating_add(more);
    }

    /// Adds all counters to the journal.
    pub fn tell(self, journal: &mut Journal) {
        for ((_, of, idx), (counter, value)) in self.0 {
            journal.set_at(counter, of, idx, value);
        }
    }
}
