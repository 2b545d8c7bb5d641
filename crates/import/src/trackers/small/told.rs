//! Packets that are not understood as a whole (rule RT8).

use timebase_schema::tables::trace_import_log;

use crate::arguments::{ArgBuf, ArgValue};
use crate::output::{Cell, Counter};
use crate::timeline::PacketEvent;
use crate::trackers::tracker::TrackerContext;

/// Writes a row about a packet, with one argument.
pub(super) fn told(
    (ts, packet): (i64, &PacketEvent<'_>),
    counter: &Counter,
    (key, value): (&str, ArgValue<'_>),
    at: &mut TrackerContext<'_, '_>,
) {
    let mut args = ArgBuf::default();
    let args = args.only(key, value, &mut at.world.definitions.names);
    let arg_set_id = at.world.arg_set(args, at.rows);
    let id = at.rows.count(&trace_import_log::TABLE);
    let severity = at.rows.text(counter.meaning.severity);
    let name = at.rows.text(counter.name);
    at.rows.push(trace_import_log::Row {
        id: Cell::from(id),
        trace_id: Cell::from(packet.file),
        ts: Cell::from(ts),
        severity,
        name,
        arg_set_id: Cell::or_null(arg_set_id),
    });
}
