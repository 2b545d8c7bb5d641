//! Log lines of GPUs (rule GP11).

use timebase_schema::fields::gpu_log as log;

use super::columns;
use crate::arguments::{ArgBuf, ArgValue};
use crate::message::Message;
use crate::timeline::{Label, PacketEvent};
use crate::trackers::tracker::TrackerContext;
use crate::world::{NewSlice, NewTrack, Owner};

/// The severities by number.
const SEVERITIES: [&str; 6] = ["UNSPECIFIED", "VERBOSE", "DEBUG", "INFO", "WARNING", "ERROR"];

/// Adds a `GpuLog` as an instant.
pub(super) fn line(ts: i64, packet: &PacketEvent<'_>, at: &mut TrackerContext<'_, '_>) {
    let message = Message(packet.payload);
    let severity = usize::try_from(message.small(log::SEVERITY).unwrap_or(0)).ok();
    let severity = severity.and_then(|severity| SEVERITIES.get(severity).copied());
    let name = Label::Own(severity.unwrap_or("UNKNOWN_SEVERITY"));
    let mut args = ArgBuf::default();
    for (key, field) in [("tag", 2), ("message", 3)] {
        if let Some(text) = message.text(field) {
            let names = &mut at.world.definitions.names;
            args.push(key, ArgValue::Text(&text), names);
        }
    }
    let track = NewTrack::slices(packet.machine, "gpu_log", Some("GPU Log"), Owner::None);
    let track = at.world.tracks.get(track);
    let slice = NewSlice::named(ts, track, name);
    if let Some(slice) = at.world.add_slice(slice, 0, args.as_bytes(), at.rows) {
        at.rows.push(columns::none(slice));
    }
}
