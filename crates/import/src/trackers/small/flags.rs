//! The values of Android's feature flags (rule RT7).

use timebase_schema::fields::android_aflags as aflags;

use super::told::told;
use crate::arguments::ArgValue;
use crate::definitions::{Stated, StatedBy, statement};
use crate::output::Counter;
use crate::timeline::PacketEvent;
use crate::trackers::tracker::TrackerContext;

pub(super) static ERRORS: Counter = Counter::error(
    "android_aflags_errors",
    "lists of feature flags that the recorder could not read",
)
.recorded();

/// Takes a packet.
pub(super) fn packet(ts: i64, packet: &PacketEvent<'_>, at: &mut TrackerContext<'_, '_>) {
    let message = packet.message();
    if let Some(error) = message.text(aflags::ERROR) {
        at.world.counts.add(&ERRORS, (packet.file, packet.machine), None, 1);
        return told((ts, packet), &ERRORS, ("error", ArgValue::Text(&error)), at);
    }
    if let Some(line) = statement(packet.field) {
        let by = StatedBy { machine: packet.machine, ts };
        Stated::default().read(line, message, by, at.rows);
    }
}
