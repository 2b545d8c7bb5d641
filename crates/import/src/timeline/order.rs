//! The order of events.

use std::io;
use std::path::Path;

use rustc_hash::FxHashSet;
use timebase_sort::Sorter;

use super::event::{self, EventKind};
use crate::compact::Take;
use crate::place::TraceTime;

/// Takes events in file order, and gives them in the order of time.
pub(crate) struct Timeline {
    wanted: FxHashSet<EventKind>,
    events: Sorter<(i64, u64)>,
    /// How many there are, which is where the next one stands in the file.
    next: u64,
    failure: Option<io::Error>,
}

impl Timeline {
    /// A timeline of the kinds that somebody wants. What does not fit memory is put
    /// aside in `directory`.
    pub fn new(wanted: impl IntoIterator<Item = EventKind>, directory: &Path) -> Self {
        Timeline {
            wanted: wanted.into_iter().collect(),
            events: Sorter::new(directory),
            next: 0,
            failure: None,
        }
    }

    /// Whether events of a kind are to be made.
    #[inline]
    pub fn wants(&self, kind: EventKind) -> bool {
        !self.wanted.is_empty() && self.wanted.contains(&kind)
    }

    /// Adds an event that [`write`](event::write) wrote. If it cannot be put aside,
    /// [`Timeline::drain`] says so.
    #[inline]
    pub fn push(&mut self, TraceTime(ts): TraceTime, event: &[u8]) {
        if self.failure.is_none() {
            self.failure = self.events.push((ts, self.next), event).err();
            self.next += 1;
        }
    }

    /// Gives all events, in order.
    pub fn drain(
        self,
        mut each: impl FnMut(TraceTime, EventKind, Take<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        if let Some(error) = self.failure {
            return Err(error);
        }
        self.events.finish(|&(ts, _), record| {
            let (kind, event) = event::read(record)?;
            each(TraceTime(ts), kind, event)
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::compact::Put;
    use crate::timeline::event::{Event, write};
    use proptest::prelude::*;

    const KIND: EventKind = EventKind::ftrace(1);

    #[derive(Debug, PartialEq)]
    struct Note(u64);

    impl Event<'_> for Note {
        const KIND: EventKind = KIND;

        fn put(&self, put: &mut Put<'_>) {
            put.natural(self.0);
        }

        fn take(mut take: Take<'_>) -> io::Result<Self> {
            take.natural().map(Note)
        }
    }

    proptest! {
        #[test]
        fn events_come_in_the_order_of_time_and_then_of_the_file(
            times in prop::collection::vec(-20i64..20, 0..200)
        ) {
            let directory = tempfile::tempdir().unwrap();
            let mut timeline = Timeline::new([KIND], directory.path());
            let mut event = Vec::new();
            for (number, &ts) in (0..).zip(&times) {
                write(&Note(number), &mut event);
                timeline.push(TraceTime(ts), &event);
            }
            let mut expected: Vec<(i64, u64)> = times.iter().copied().zip(0..).collect();
            expected.sort();
            let mut found = Vec::new();
            timeline
                .drain(|TraceTime(ts), kind, event| {
                    assert_eq!(kind, KIND);
                    found.push((ts, Note::take(event)?.0));
                    Ok(())
                })
                .unwrap();
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn only_what_somebody_wants_is_made() {
        let directory = tempfile::tempdir().unwrap();
        let timeline = Timeline::new([KIND], directory.path());
        assert!(timeline.wants(KIND));
        assert!(!timeline.wants(EventKind::ftrace(2)));
        assert!(!Timeline::new([], directory.path()).wants(KIND));
    }

    #[test]
    fn a_directory_that_is_not_there_is_told_at_the_end() {
        let directory = tempfile::tempdir().unwrap();
        let mut timeline = Timeline::new([KIND], &directory.path().join("gone"));
        let mut event = Vec::new();
        write(&Note(7), &mut event);
        for ts in 0..200_000 {
            timeline.push(TraceTime(ts), &event);
        }
        assert!(timeline.drain(|_, _, _| Ok(())).is_err());
    }
}
