//! The timeline: events of all CPUs and sequences in one order, that of time and,
//! within one time, of the file.
//!
//! # Design
//!
//! A reader meets events in file order and gives those that a tracker subscribes
//! to a compact form, of some ten to thirty bytes. They are sorted outside of
//! memory (`timebase-sort`) while the trace is read, and go to the trackers when
//! it is, because until then an earlier event may come: a ring buffer that was
//! read late, or an event that waited for a snapshot. Those get their place in the
//! order when they have a time, behind others of their time.
//!
//! To sort within a window, and drop what comes later than that, was the
//! alternative; trace processor does so with streaming sessions, and its tables
//! then depend on how the trace was flushed. What nobody subscribes to is not made
//! at all: packets, kernel events and log lines become rows in file order.
//!
//! `docs/benchmarks.md` has what this costs.

use std::io;
use std::path::Path;

use rustc_hash::FxHashSet;
use timebase_sort::Sorter;

use crate::compact::{Put, Take};
use crate::place::TraceTime;

/// What kind of event it is: a field of `TracePacket` or of `FtraceEvent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct EventKind(u32);

impl EventKind {
    /// An event of the kernel, by its field of `FtraceEvent`.
    pub const fn ftrace(field: u32) -> EventKind {
        EventKind(field << 1 | 1)
    }
}

/// An event in its compact form.
pub(crate) trait Event<'a>: Sized {
    const KIND: EventKind;
    fn put(&self, put: &mut Put<'_>);
    /// # Errors
    ///
    /// If the bytes are none that `put` wrote.
    fn take(take: Take<'a>) -> io::Result<Self>;
}

/// The compact form of an event, with its kind.
pub(crate) fn write<'a, E: Event<'a>>(event: &E, record: &mut Vec<u8>) {
    record.clear();
    let mut put = Put(record);
    put.natural(E::KIND.0.into());
    event.put(&mut put);
}

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

    /// Adds an event that [`write`] wrote. If it cannot be put aside,
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
        self.events.finish(|&(ts, _), event| {
            let mut take = Take(event);
            let kind = EventKind(take.small()?);
            each(TraceTime(ts), kind, take)
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
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
