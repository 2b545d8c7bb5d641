//! Lines of systemd's journal (rule RT5).

use timebase_schema::fields::systemd_journald_event as journal;
use timebase_schema::tables::journald_record;

use crate::arguments::{ArgBuf, ArgValue};
use crate::output::{Cell, Counter};
use crate::timeline::PacketEvent;
use crate::trackers::tracker::TrackerContext;

static TOTAL: Counter =
    Counter::info("systemd_journal_num_total", "lines of systemd's journal that the recorder saw")
        .recorded();
static FAILED: Counter = Counter::error(
    "systemd_journal_num_failed",
    "lines of systemd's journal that the recorder could not read",
)
.recorded();

pub(super) const COUNTERS: [&Counter; 2] = [&TOTAL, &FAILED];

/// The arguments that are texts.
const TEXTS: [(u32, &str); 4] = [
    (journal::COMM, "comm"),
    (journal::SYSTEMD_UNIT, "systemd_unit"),
    (journal::HOSTNAME, "hostname"),
    (journal::TRANSPORT, "transport"),
];

/// Takes a packet.
pub(super) fn packet(ts: i64, packet: &PacketEvent<'_>, at: &mut TrackerContext<'_, '_>) {
    let message = packet.message();
    let totals = [(journal::NUM_TOTAL, &TOTAL), (journal::NUM_FAILED, &FAILED)];
    let mut has_totals = false;
    for (field, counter) in totals {
        if let Some(value) = message.number(field) {
            has_totals = true;
            let of = (packet.file, packet.machine);
            at.world.counts.set(counter, of, None, value.cast_signed());
        }
    }
    if has_totals {
        return;
    }
    let pid = message.small(journal::PID).unwrap_or(0);
    let tid = message.small(journal::TID).unwrap_or(pid);
    let utid = (pid != 0).then(|| at.world.threads.bind(packet.machine, tid.into(), pid.into()));
    let mut args = ArgBuf::default();
    let names = &mut at.world.definitions.names;
    if let Some(uid) = message.small(journal::UID) {
        args.push("uid", ArgValue::Int(uid.into()), names);
    }
    for (field, key) in TEXTS {
        if let Some(text) = message.text(field) {
            args.push(key, ArgValue::Text(&text), names);
        }
    }
    let arg_set_id = at.world.arg_set(args.as_bytes(), at.rows);
    let id = at.rows.count(&journald_record::TABLE);
    at.world.spans(&journald_record::TABLE, ts, 0);
    let tag = at.rows.optional_text(message.text(journal::TAG).as_deref());
    let msg = at.rows.optional_text(message.text(journal::MESSAGE).as_deref());
    at.rows.push(journald_record::Row {
        id: Cell::from(id),
        ts: Cell::from(ts),
        packet_id: Cell::from(packet.id),
        utid: Cell::or_null(utid.map(|utid| utid.0)),
        prio: Cell::from(message.small(journal::PRIO).unwrap_or(0)),
        tag,
        msg,
        arg_set_id: Cell::or_null(arg_set_id),
    });
}
