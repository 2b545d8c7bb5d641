//! The producer's statements about the clock of a file (rules JS32 to JS36).

use std::str::FromStr;

use jiff::Timestamp;
use timebase_resolver::ClockId;
use timebase_trace::json::{Number, Value, nanoseconds};

use super::fields::{Fields, text};
use crate::formats::FileSession;
use crate::formats::session::PlacedRecord;
use crate::output::{LogMessage, Severity};
use crate::place::WALL_CLOCK_YEARS;

/// The statements about the time of REALTIME at the file's time 0, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Key {
    Base,
    Viztracer,
    Beginning,
    ProcessStart,
    Date,
    ProfileStart,
    ProfileFinish,
    ClockOffset,
}

const KEYS: [(Key, &str); 8] = [
    (Key::Base, "baseTimeNanoseconds"),
    (Key::Viztracer, "viztracer_metadata.baseTimeNanoseconds"),
    (Key::Beginning, "beginningOfTime"),
    (Key::ProcessStart, "start_time_since_epoch_in_micros"),
    (Key::Date, "otherData.date"),
    (Key::ProfileStart, "otherData.profile_start_ts"),
    (Key::ProfileFinish, "otherData.profile_finish_ts"),
    (Key::ClockOffset, "metadata.clock-offset-since-epoch"),
];

/// Two statements that are further apart contradict each other.
const CONFLICT_NS: u64 = 1_000_000_000;

/// A statement and its record in `packet`.
#[derive(Debug, Clone, Copy)]
struct Stated {
    /// REALTIME at the file's time 0, or an error if there is no such time.
    realtime: Result<i64, ()>,
    record: i64,
}

/// The statements of a file.
#[derive(Debug, Default)]
pub(super) struct Anchors {
    /// The statements of [`KEYS`].
    realtime: [Option<Stated>; 8],
    /// The record that says that the file's times are those of MONOTONIC.
    monotonic: Option<i64>,
    /// MONOTONIC and REALTIME at one instant (rule JS36), and the last record that says so.
    parent: Option<i64>,
    wall: Option<i64>,
    markers: Option<i64>,
    /// The current record.
    record: i64,
}

impl Anchors {
    fn set(&mut self, key: Key, value: Value<'_>, unit: i64) {
        let integer = match (value.string(), value.number()) {
            (Some(text), _) => text.parse().ok(),
            (None, Some(Number::Int(int))) => Some(int),
            _ => None,
        };
        self.state(key, integer.and_then(|value: i64| value.checked_mul(unit)));
    }

    fn state(&mut self, key: Key, ns: Option<i64>) {
        let realtime = ns.filter(|ns| WALL_CLOCK_YEARS.contains(ns)).ok_or(());
        self.realtime[key as usize] = Some(Stated { realtime, record: self.record });
    }

    /// Reads a member of the outer object, which becomes this record.
    pub fn member(&mut self, key: &str, value: Option<Value<'_>>, record: i64) {
        let Some(value) = value else {
            return;
        };
        self.record = record;
        match key {
            "baseTimeNanoseconds" => self.set(Key::Base, value, 1),
            "beginningOfTime" => self.set(Key::Beginning, value, 1_000),
            "viztracer_metadata" => {
                let base = value.members().filter(|(key, _)| key.is("baseTimeNanoseconds")).last();
                if let Some((_, base)) = base {
                    self.set(Key::Viztracer, base, 1);
                }
            }
            "otherData" => self.other(value),
            "metadata" => self.metadata(value),
            "systemTraceEvents" => self.markers(value.string().as_deref().unwrap_or_default()),
            _ => {}
        }
    }

    /// Reads the statements of Bazel.
    fn other(&mut self, other: Value<'_>) {
        let mut date = None;
        for (key, value) in other.members() {
            if key.is("date") {
                date = value.string();
            } else if key.is("profile_start_ts") {
                self.set(Key::ProfileStart, value, 1_000_000);
            } else if key.is("profile_finish_ts") {
                self.set(Key::ProfileFinish, value, 1_000_000);
            }
        }
        let has = |key: Key| self.realtime[key as usize].is_some();
        let date = date.filter(|_| has(Key::ProfileStart) || has(Key::ProfileFinish));
        let date = date.filter(|date| date.ends_with('Z'));
        if let Some(date) = date.and_then(|date| Timestamp::from_str(&date).ok()) {
            self.state(Key::Date, i64::try_from(date.as_nanosecond()).ok());
        }
    }

    /// Reads the statements of Chrome.
    fn metadata(&mut self, metadata: Value<'_>) {
        for (key, value) in metadata.members() {
            if key.is("clock-offset-since-epoch") {
                self.set(Key::ClockOffset, value, 1_000);
            } else if key.is("clock-domain") {
                let is_monotonic = value.string().as_deref() == Some("LINUX_CLOCK_MONOTONIC");
                self.monotonic = is_monotonic.then_some(self.record);
            }
        }
    }

    /// The markers of atrace.
    fn markers(&mut self, events: &str) {
        const MARKER: &str = "trace_event_clock_sync: ";
        for line in events.lines() {
            let Some((_, marker)) = line.split_once(MARKER) else {
                continue;
            };
            let value = |name| marker.trim().strip_prefix(name);
            if let Some(seconds) = value("parent_ts=") {
                self.parent = decimal(seconds, 9).or(self.parent);
                self.markers = Some(self.record);
            } else if let Some(ms) = value("realtime_ts=") {
                self.wall = decimal(ms, 6).or(self.wall);
            }
        }
    }

    /// The start of the process in the first metadata event that has it.
    pub fn process_start(&mut self, fields: &Fields<Value<'_>>, record: i64) {
        self.record = record;
        let is_first = self.realtime[Key::ProcessStart as usize].is_none();
        let mut members = fields.args.filter(|_| is_first).into_iter().flat_map(Value::members);
        let start = members.find(|(key, _)| key.is("start_time_since_epoch_in_micros"));
        if let Some((_, start)) = start {
            self.set(Key::ProcessStart, start, 1_000);
        }
    }

    /// Notes a `clock_sync` event (rule JS35).
    pub fn clock_sync(fields: &Fields<Value<'_>>, at: &mut PlacedRecord<'_>) {
        let (mut id, mut issued) = (None, None);
        for (key, value) in fields.args.into_iter().flat_map(Value::members) {
            if key.is("sync_id") {
                id = text(Some(value));
            } else if key.is("issue_ts") {
                issued = nanoseconds(value).ok();
            }
        }
        if let (Some(id), Some(Ok(ts))) = (id, fields.ts.ns) {
            at.clock_sync(&id, ts, issued);
        }
    }

    /// Gives the statements to the clocks of the import, after the last byte of the file.
    pub fn tell(&self, session: &mut FileSession<'_, '_>) {
        let Some(part) = session.part() else {
            return;
        };
        let is_pinned = session.json_clock(part).is_some_and(|json| json.is_anchored);
        if is_pinned {
            return; // The manifest says it.
        }
        let mut realtime = None;
        for (key, name) in KEYS {
            let Some(stated) = self.realtime[key as usize] else {
                continue;
            };
            match (stated.realtime, realtime) {
                (Err(()), _) => {
                    let text = format!(
                        "{name} is no time of the years 2000 to 2099 in its unit, and does not place the file"
                    );
                    say("json_clock_invalid", text, session);
                }
                (Ok(ns), None) => realtime = Some((name, ns, stated.record)),
                (Ok(ns), Some((first, at, _))) if ns.abs_diff(at) > CONFLICT_NS => {
                    let seconds = (i128::from(ns) - i128::from(at)) as f64 / 1e9;
                    let text =
                        format!("{name} is {seconds:+.3} s from {first}, which places the file");
                    say("json_clock_conflict", text, session);
                }
                (Ok(_), Some(_)) => {}
            }
        }
        let offset = self.realtime[Key::ClockOffset as usize];
        let offset = offset.filter(|stated| stated.realtime.is_ok());
        let monotonic = self.monotonic.or(offset.map(|stated| stated.record));
        let mut readings = Vec::new();
        readings.extend(realtime.map(|(_, ns, _)| (ClockId::REALTIME, ns)));
        readings.extend(monotonic.map(|_| (ClockId::MONOTONIC, 0)));
        if let Some(record) = realtime.map(|(.., record)| record).or(monotonic) {
            session.anchor(part, true, &readings, record);
        }
        if let Some(json) = session.json_clock(part) {
            json.is_anchored = realtime.is_some();
        }
        if let (None, Some(parent), Some(wall), Some(record)) =
            (realtime, self.parent, self.wall, self.markers)
        {
            let readings = [(ClockId::MONOTONIC, parent), (ClockId::REALTIME, wall)];
            session.anchor(part, false, &readings, record);
        }
    }
}

fn say(code: &'static str, text: String, session: &mut FileSession<'_, '_>) {
    session.log(LogMessage::new(Severity::Warning, code, text));
}

/// A decimal times a power of ten, cut off.
fn decimal(text: &str, places: usize) -> Option<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let fraction: String = fraction.chars().chain(std::iter::repeat('0')).take(places).collect();
    format!("{whole}{fraction}").parse().ok()
}
