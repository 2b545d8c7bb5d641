//! How long CPUs were busy: the least that can be asked of all CPUs' events in
//! the order of time. It makes no rows; [`ordering`](crate::ordering()) measures with
//! it what the order costs.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;

use super::tracker::Tracker;
use crate::compact::Take;
use crate::output::Rows;
use crate::place::TraceTime;
use crate::timeline::{Event, EventKind, SchedSwitch, SchedWaking};

/// What was seen.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seen {
    pub events: u64,
    /// Nanoseconds that CPUs ran a thread, from one switch to the next.
    pub busy: i128,
}

/// Adds up for how long CPUs ran a thread.
#[derive(Debug, Default)]
pub(crate) struct Busy {
    seen: Seen,
    /// Of each CPU of each machine, since when it runs a thread.
    since: FxHashMap<(u32, u32), TraceTime>,
    /// Where the sum goes at the end.
    told: Arc<Mutex<Seen>>,
}

impl Busy {
    /// The tracker, and where it will tell what it has seen.
    pub fn new() -> (Busy, Arc<Mutex<Seen>>) {
        let busy = Busy::default();
        let told = Arc::clone(&busy.told);
        (busy, told)
    }
}

impl Tracker for Busy {
    fn kinds(&self) -> &'static [EventKind] {
        &[SchedSwitch::KIND, SchedWaking::KIND]
    }

    fn event(
        &mut self,
        ts: TraceTime,
        kind: EventKind,
        event: Take<'_>,
        _rows: &mut Rows<'_>,
    ) -> io::Result<()> {
        self.seen.events += 1;
        if kind == SchedSwitch::KIND {
            let switch = SchedSwitch::take(event)?;
            let cpu = (switch.machine, switch.cpu);
            if let Some(since) = self.since.remove(&cpu) {
                self.seen.busy += i128::from(ts.0) - i128::from(since.0);
            }
            if switch.next_pid != 0 {
                self.since.insert(cpu, ts);
            }
        }
        Ok(())
    }

    fn end(&mut self, _rows: &mut Rows<'_>) {
        *self.told.lock().unwrap_or_else(PoisonError::into_inner) = self.seen;
    }
}
