//! The order of events.

use std::io;

use timebase_store::sort::{Scratch, Sorter};

use super::event::Event;
use crate::limits::Watch;
use crate::place::{PartKeys, TraceTime};

/// Takes events in file order, and gives them in the order of time.
pub(crate) struct Timeline {
    /// Whether events are wanted.
    is_wanted: bool,
    events: Sorter<(i64, u64)>,
    /// The number of events so far, which is the position of the next event in the file.
    next: u64,
    failure: Option<io::Error>,
}

impl Timeline {
    /// A timeline without events. Events that do not fit into memory go to `scratch`.
    pub fn new(is_wanted: bool, scratch: &Scratch) -> Self {
        Timeline { is_wanted, events: Sorter::new(scratch), next: 0, failure: None }
    }

    /// Whether events are wanted.
    #[inline]
    pub fn is_wanted(&self) -> bool {
        self.is_wanted
    }

    /// Adds an event that [`Event::write`] wrote. An event before time 0 is only in its own table
    /// (rule O1), and is not added. If the event cannot be stored on disk, [`Timeline::drain`]
    /// returns the error.
    #[inline]
    pub fn push(&mut self, TraceTime(ts): TraceTime, event: &[u8]) {
        if ts >= 0 {
            let place = self.reserve();
            self.push_at(TraceTime(ts), place, event);
        }
    }

    /// Reserves a position in the file for an event that [`Timeline::push_at`] will add.
    pub fn reserve(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    /// Adds an event at a reserved position.
    #[inline]
    pub fn push_at(&mut self, TraceTime(ts): TraceTime, place: u64, event: &[u8]) {
        let is_kept = ts >= 0 || Event::may_be_negative(event);
        if is_kept && self.failure.is_none() {
            self.failure = self.events.push((ts, place), event).err();
        }
    }

    /// Adds an event at its reserved position, if it has one, or else after all others.
    pub fn push_kept(&mut self, ts: TraceTime, place: Option<u64>, event: &[u8]) {
        match place {
            Some(place) => self.push_at(ts, place, event),
            None => self.push(ts, event),
        }
    }

    /// Gives all events of these parts, in order.
    pub fn drain(
        self,
        parts: &PartKeys,
        watch: &mut Watch,
        mut each: impl FnMut(TraceTime, &Event<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        if let Some(error) = self.failure {
            return Err(error);
        }
        self.events.finish(|&(ts, _), record| {
            watch.after(record.len())?;
            match Event::read(record, parts) {
                Ok(ref event) => each(TraceTime(ts), event),
                Err(error) => Err(error),
            }
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::event::LogLine;
    use super::*;
    use crate::place::PartIx;
    use proptest::prelude::*;

    fn parts() -> PartKeys {
        PartKeys::new([(0, 0)])
    }

    fn line(row: i64) -> Event<'static> {
        Event::LogLine(LogLine { part: PartIx(0), machine: 0, pid: 1, tid: 2, row })
    }

    proptest! {
        #[test]
        fn o1_o3_events_come_in_the_order_of_time_and_then_of_the_file(
            times in prop::collection::vec(-2i64..20, 0..200)
        ) {
            let directory = tempfile::tempdir().unwrap();
            let mut timeline = Timeline::new(true, &directory.path().into());
            let mut event = Vec::new();
            for (number, &ts) in (0..).zip(&times) {
                line(number).write(&mut event);
                timeline.push(TraceTime(ts), &event);
            }
            let mut expected: Vec<(i64, i64)> = times.iter().copied().zip(0..).collect();
            expected.retain(|&(ts, _)| ts >= 0);
            expected.sort();
            let mut found = Vec::new();
            timeline
                .drain(&parts(), &mut Watch::default(), |TraceTime(ts), event| {
                    if let Event::LogLine(line) = event {
                        found.push((ts, line.row));
                    }
                    Ok(())
                })
                .unwrap();
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_directory_that_is_not_there_is_told_at_the_end() {
        let directory = tempfile::tempdir().unwrap();
        let mut timeline = Timeline::new(true, &(&directory.path().join("gone")).into());
        let mut event = Vec::new();
        line(7).write(&mut event);
        for ts in 0..200_000 {
            timeline.push(TraceTime(ts), &event);
        }
        assert!(timeline.drain(&parts(), &mut Watch::default(), |_, _| Ok(())).is_err());
    }
}
