//! The trait of trackers, and its context.

use crate::output::Rows;
use crate::timeline::{Energy, FtraceEvent, LogLine, PacketEvent};
use crate::world::{Utid, World};

/// Turns events into rows, in the order of time.
///
/// [`Tracker::begin`] is called after the whole trace has been read. Then each kernel event, packet, log line
/// and energy goes to all trackers, one after the other in the order of the list (`all.rs`). Only the tracker of
/// its subject gets a kernel event of `kernel/`, and any other event. Events come in the order of
/// time and, at one time, in the order of the file. At the end, [`Tracker::end`] is called once.
pub(crate) trait Tracker {
    /// All statements that hold for the whole trace are known, and no event has come yet.
    fn begin(&mut self, _at: &mut TrackerContext<'_, '_>) {}

    /// A kernel event that is no switch and no waking, of the thread `emitter`.
    fn ftrace(
        &mut self,
        _ts: i64,
        _event: &FtraceEvent<'_>,
        _emitter: Utid,
        _at: &mut TrackerContext<'_, '_>,
    ) {
    }

    /// A packet.
    fn packet(&mut self, _ts: i64, _packet: &PacketEvent<'_>, _at: &mut TrackerContext<'_, '_>) {}

    /// A line of the log.
    fn log_line(&mut self, _line: &LogLine, _at: &mut TrackerContext<'_, '_>) {}

    /// The energy that has gone through a power rail.
    fn energy(&mut self, _ts: i64, _energy: &Energy, _at: &mut TrackerContext<'_, '_>) {}

    /// There are no more events: slices and states that are still open stay open.
    fn end(&mut self, _at: &mut TrackerContext<'_, '_>) {}
}

/// Everything that an event may affect.
pub(crate) struct TrackerContext<'a, 'o> {
    pub world: &'a mut World,
    pub rows: &'a mut Rows<'o>,
}
