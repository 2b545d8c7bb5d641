//! The starts and deaths of processes, as Android's framework sees them (rule RT16).

use std::collections::BTreeMap;

use timebase_schema::fields::android_process_start_event as start;
use timebase_schema::tables::android_track_event_process;

use crate::definitions::PROCESS_START;
use crate::message::Message;
use crate::output::Cell;
use crate::timeline::PacketEvent;
use crate::trackers::tracker::TrackerContext;
use crate::world::{Rank, Threads, Upid};

/// The values of `HostingTypeId`, which all begin with the same word.
const HOSTING_TYPES: [&str; 17] = [
    "UNKNOWN",
    "ACTIVITY",
    "ADDED_APPLICATION",
    "BACKUP",
    "BROADCAST",
    "CONTENT_PROVIDER",
    "LINK_FAIL",
    "ON_HOLD",
    "NEXT_ACTIVITY",
    "NEXT_TOP_ACTIVITY",
    "RESTART",
    "SERVICE",
    "SYSTEM",
    "TOP_ACTIVITY",
    "EMPTY",
    "STARTED_SERVICE",
    "BOUND_SERVICE",
];

/// The values of `TriggerType`.
const TRIGGER_TYPES: [&str; 5] =
    ["UNKNOWN", "ALARM", "PUSH_MESSAGE", "PUSH_MESSAGE_OVER_QUOTA", "JOB"];

/// The fields that are columns with numbers of 32 bits, and those of 64 bits.
const SMALL: [u32; 3] = [start::PACKAGE_UID, start::CALLER_UID, start::DEFINING_UID];
const LARGE: [u32; 3] =
    [start::START_SEQ_ID, start::BIND_APPLICATION_DELAY_MS, start::PROCESS_START_DELAY_MS];

/// The processes that the framework has started.
#[derive(Debug, Default)]
pub(super) struct StartedProcesses(BTreeMap<Upid, Started>);

/// The framework's statements about a process. A later statement replaces an earlier one.
#[derive(Debug)]
struct Started {
    start: i64,
    end: Option<i64>,
    small: [Option<i32>; SMALL.len()],
    large: [Option<i64>; LARGE.len()],
    trigger_type: Option<String>,
    hosting_type: Option<String>,
    hosting_name: Option<String>,
}

impl StartedProcesses {
    /// Takes an event.
    pub fn packet(&mut self, ts: i64, packet: &PacketEvent<'_>, at: &mut TrackerContext<'_, '_>) {
        let (machine, message) = (packet.machine, packet.message());
        let Some(pid) = message.small(start::PID).map(i64::from) else {
            return;
        };
        let threads = &mut at.world.threads;
        if packet.field == PROCESS_START {
            let upid = threads.process(machine, pid);
            describe(upid, message, threads);
            let started = self.0.entry(upid).or_insert_with(|| Started::at(ts));
            started.say(message);
        } else if let Some(utid) = threads.live(machine, pid) {
            if let Some(upid) = threads.main_of(utid) {
                describe(upid, message, threads);
                if let Some(started) = self.0.get_mut(&upid) {
                    started.end = Some(ts);
                }
            }
            threads.ends(ts, utid);
        }
    }

    /// Writes the rows.
    pub fn end(&mut self, at: &mut TrackerContext<'_, '_>) {
        let mut started: Vec<_> = std::mem::take(&mut self.0).into_iter().collect();
        started.sort_by_key(|(upid, started)| (started.start, *upid));
        for (upid, started) in started {
            let id = at.rows.count(&android_track_event_process::TABLE);
            let [trigger_type, hosting_type, hosting_name] =
                [&started.trigger_type, &started.hosting_type, &started.hosting_name]
                    .map(|text| at.rows.optional_text(text.as_deref()));
            let [package_uid, caller_uid, defining_uid] = started.small.map(Cell::or_null);
            let [start_seq_id, bind_application_delay_ms, process_start_delay_ms] =
                started.large.map(Cell::or_null);
            at.rows.push(android_track_event_process::Row {
                id: Cell::from(id),
                upid: Cell::from(upid.0),
                start_seq_id,
                package_uid,
                caller_uid,
                defining_uid,
                fw_start_ts: Cell::from(started.start),
                fw_end_ts: Cell::or_null(started.end),
                trigger_type,
                hosting_type,
                hosting_name,
                bind_application_delay_ms,
                process_start_delay_ms,
            });
        }
    }
}

impl Started {
    fn at(start: i64) -> Started {
        Started {
            start,
            end: None,
            small: [None; SMALL.len()],
            large: [None; LARGE.len()],
            trigger_type: None,
            hosting_type: None,
            hosting_name: None,
        }
    }

    fn say(&mut self, message: Message<'_>) {
        for (column, field) in self.small.iter_mut().zip(SMALL) {
            *column = message.small(field).map(u32::cast_signed).or(*column);
        }
        for (column, field) in self.large.iter_mut().zip(LARGE) {
            *column = message.number(field).map(u64::cast_signed).or(*column);
        }
        if let Some(number) = message.small(start::HOSTING_TYPE) {
            self.hosting_type = Some(word("HOSTING_TYPE_", &HOSTING_TYPES, number));
        }
        if let Some(number) = message.small(start::TRIGGER_TYPE) {
            self.trigger_type = Some(word("TRIGGER_TYPE_", &TRIGGER_TYPES, number));
        }
        if let Some(name) = message.text(start::HOSTING_NAME) {
            self.hosting_name = Some(name.into_owned());
        }
    }
}

/// The user and the name of a process; starts and deaths have them in the same fields.
fn describe(upid: Upid, message: Message<'_>, threads: &mut Threads) {
    let uid = message.small(start::UID).map(|uid| i64::from(uid.cast_signed()));
    threads.runs_as(upid, uid, None);
    if let Some(name) = message.text(start::PROCESS_NAME) {
        threads.call_process(upid, Rank::Second, &name);
    }
}

/// The name of an enum's value, or else its number.
fn word(prefix: &str, words: &[&str], number: u32) -> String {
    let known = usize::try_from(number).ok().and_then(|place| words.get(place));
    known.map_or_else(|| number.cast_signed().to_string(), |word| format!("{prefix}{word}"))
}
