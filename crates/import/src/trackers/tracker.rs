//! What a tracker is, and what it is given.

use crate::output::Rows;
use crate::timeline::{Energy, FtraceEvent, LogLine, PacketEvent, Switch, Waking};
use crate::world::{Utid, World};

/// Makes rows of events in the order of time.
///
/// When the whole trace is read, [`Tracker::begin`] is called. Then each event is
/// given to all trackers, in the order of time and, within one time, of the file; to
/// one tracker after the other in the order of the list (`all.rs`). Then
/// [`Tracker::end`] is called, once.
pub(crate) trait Tracker {
    /// All that is said once is known, and no event yet.
    fn begin(&mut self, _at: &mut At<'_, '_>) {}

    /// A CPU switches. `is_begun` is false before rule O6 lets it count.
    fn switch(&mut self, _ts: i64, _switch: &Switch, _is_begun: bool, _at: &mut At<'_, '_>) {}

    /// A thread wakes another one.
    fn waking(&mut self, _ts: i64, _waking: &Waking, _is_begun: bool, _at: &mut At<'_, '_>) {}

    /// Any other event of the kernel, of the thread `emitter`.
    fn ftrace(&mut self, _ts: i64, _event: &FtraceEvent<'_>, _emitter: Utid, _at: &mut At<'_, '_>) {
    }

    /// A packet.
    fn packet(&mut self, _ts: i64, _packet: &PacketEvent<'_>, _at: &mut At<'_, '_>) {}

    /// A line of the log.
    fn log_line(&mut self, _line: &LogLine, _at: &mut At<'_, '_>) {}

    /// What has gone through a power rail.
    fn energy(&mut self, _ts: i64, _energy: &Energy, _at: &mut At<'_, '_>) {}

    /// There are no more events: what is still open will never be closed.
    fn end(&mut self, _at: &mut At<'_, '_>) {}
}

/// All that an event may have an effect on.
pub(crate) struct At<'a, 'o> {
    pub world: &'a mut World,
    pub rows: &'a mut Rows<'o>,
}
