//! What a tracker is, and who gets which event.

use std::io;

use crate::compact::Take;
use crate::output::Rows;
use crate::place::TraceTime;
use crate::timeline::{EventKind, Timeline};

/// Makes rows of events in the order of time.
///
/// When the whole trace is read, [`Tracker::event`] is called with each event of
/// the kinds that it subscribes to, in the order of time and, within one time, of
/// the file; of several trackers that want an event, in the order in which they are
/// in [`Trackers`]. Then [`Tracker::end`] is called, once. Rows of a table are to be
/// pushed in the order of their ids.
pub(crate) trait Tracker: Send {
    /// The kinds of events that it wants.
    fn kinds(&self) -> &'static [EventKind];

    /// An event.
    ///
    /// # Errors
    ///
    /// If the event cannot be read back, which says that a temporary file is
    /// damaged. What a trace says, however odd, is no error.
    fn event(
        &mut self,
        ts: TraceTime,
        kind: EventKind,
        event: Take<'_>,
        rows: &mut Rows<'_>,
    ) -> io::Result<()>;

    /// There are no more events: what is still open will never be closed.
    fn end(&mut self, rows: &mut Rows<'_>);
}

/// All trackers of an import.
#[derive(Default)]
pub(crate) struct Trackers {
    all: Vec<Box<dyn Tracker>>,
}

impl Trackers {
    pub fn of(all: Vec<Box<dyn Tracker>>) -> Self {
        Trackers { all }
    }

    /// The kinds of events that somebody wants.
    pub fn kinds(&self) -> Vec<EventKind> {
        let kinds = self.all.iter().flat_map(|tracker| tracker.kinds());
        kinds.copied().collect()
    }

    /// Gives every event to those that want it.
    ///
    /// # Errors
    ///
    /// If the events cannot be read back.
    pub fn follow(&mut self, timeline: Timeline, rows: &mut Rows<'_>) -> io::Result<()> {
        timeline.drain(|ts, kind, event| {
            for tracker in &mut self.all {
                if tracker.kinds().contains(&kind) {
                    tracker.event(ts, kind, Take(event.0), rows)?;
                }
            }
            Ok(())
        })?;
        for tracker in &mut self.all {
            tracker.end(rows);
        }
        Ok(())
    }
}
