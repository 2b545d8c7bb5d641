//! Lines of the log from track events (rule OT1).

use timebase_schema::tables::{android_log_record, android_log_thread};

use super::super::tracker::TrackerContext;
use super::OwnedEvent;
use crate::arguments::{ArgValue, Args, EntryContent};
use crate::output::Cell;
use crate::world::Utid;

/// The priority of a line without a priority.
const INFO: i64 = 4;

/// Writes the log message of an event as a row.
pub(super) fn line(here: &OwnedEvent<'_>, utid: Utid, at: &mut TrackerContext<'_, '_>) {
    let (mut message, mut file, mut line, mut prio) = (None, None, None, INFO);
    let names = &at.world.definitions.names;
    for arg in Args::new(here.event.arguments.log) {
        let EntryContent::Value(value) = arg.what else {
            continue;
        };
        match (arg.key.flat(names.texts()), value) {
            ("track_event.log_message.message", ArgValue::Text(text)) => message = Some(text),
            ("track_event.log_message.file_name", ArgValue::Text(text)) => file = Some(text),
            ("track_event.log_message.line_number", ArgValue::Int(number)) => line = Some(number),
            ("track_event.priority", ArgValue::Int(number)) => prio = number,
            _ => {}
        }
    }
    // A location always has a line number, and may have no file.
    let tag = line.map(|line| format!("{}:{line}", file.unwrap_or_default()));
    let (tid, pid) = at.world.threads.ids(utid);
    let id = at.rows.count(&android_log_record::TABLE);
    let tag = at.rows.optional_text(tag.as_deref());
    let msg = at.rows.optional_text(message);
    at.rows.push(android_log_record::Row {
        id: Cell::from(id),
        ts: Cell::from(here.ts),
        packet_id: Cell::from(here.event.packet),
        pid: Cell::or_null(pid),
        tid: Cell::or_null(tid),
        uid: Cell::Null,
        log_id: Cell::Null,
        prio: Cell::from(prio),
        tag,
        msg,
        args: Cell::Null,
        timestamp: Cell::Null,
        unresolved: Cell::Null,
    });
    at.rows.push(android_log_thread::Row { id: Cell::from(id), utid: Cell::from(utid.0) });
}
