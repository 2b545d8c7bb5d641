//! Marks of processes, drivers and the kernel: slices, instants and values of atrace (rules B1 to
//! B8, M3), and the state of a device (part of rule M13).
//!
//! # Design
//!
//! A mark is parsed to borrowed values (`mark.rs`) and has its effect at once, on the stacks and
//! lanes that the world has for all trackers, because the events of an SDK are on the same track of
//! a thread. Texts are parsed in the order of time and not by the reader. Parsing a mark twice is
//! cheaper than another compact form of the mark, which would also have to hold its texts.
//!
//! Tracks of values are remembered here by process and name, so that a mark does not build a full
//! key of its track and throw it away.

mod mark;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use timebase_schema::fields::{
    android_system_property as list, android_system_property_property_value as property,
    ftrace_event as event, print_ftrace_event as print,
};

use rustc_hash::FxHashMap;

use self::mark::{Fielded, Mark, MarkAction};
use super::events::Events;
use super::tracker::{Tracker, TrackerContext};
use crate::arguments::{ArgBuf, ArgValue};
use crate::definitions::Names;
use crate::message::Message;
use crate::timeline::{FtraceEvent, Label, PacketEvent};
use crate::world::{Begins, EndOfSlice, NewSlice, NewTrack, Owner, SetId, TrackId, Upid, Utid};

/// The type of tracks for slices that begin and end on any thread of a process.
const ASYNC: &str = "atrace_async_slice";

/// The same for slices that name their track.
const ON_TRACK: &str = "atrace_async_slice_for_track";

/// A track that belongs to no process, no matter which process marks it (rule B7).
const DEVICE_STATE: &str = "DeviceStateChanged";

/// The field of `TracePacket`.
const SYSTEM_PROPERTIES: u32 = 86;

/// The name of an instant when a process is killed for lack of memory (rule B7).
const KILLED: &str = "mem.lmk";

/// Follows marks.
#[derive(Debug, Default)]
pub(crate) struct Atrace {
    /// Tracks of values, by process and name.
    values: FxHashMap<Box<[u8]>, TrackId>,
    /// The key that is looked up.
    key: Vec<u8>,
    /// The arguments of the current mark.
    args: ArgBuf,
}

impl Atrace {
    /// The kernel events that it takes.
    pub const EVENTS: Events = Events::new(&[
        event::PRINT,
        event::TRACING_MARK_WRITE,
        event::ZERO,
        event::SDE_TRACING_MARK_WRITE,
        event::DPU_TRACING_MARK_WRITE,
        event::G2D_TRACING_MARK_WRITE,
        event::MALI_TRACING_MARK_WRITE,
        event::LWIS_TRACING_MARK_WRITE,
        event::SAMSUNG_TRACING_MARK_WRITE,
    ]);
}

impl Tracker for Atrace {
    fn ftrace(
        &mut self,
        ts: i64,
        event: &FtraceEvent<'_>,
        emitter: Utid,
        at: &mut TrackerContext<'_, '_>,
    ) {
        let message = Message(event.message);
        let by = MarkSource { ts, machine: event.machine, tid: event.tid.into(), emitter };
        match event.field {
            event::PRINT => {
                let text = mark::text(message.bytes(print::BUF).unwrap_or_default());
                if let Some(mark) = Mark::parse(&text) {
                    self.mark(by, mark, at);
                }
            }
            field => {
                let read = Fielded::read(field, message);
                if let Some(mark) = read.as_ref().and_then(Fielded::mark) {
                    self.mark(by, mark, at);
                }
            }
        }
    }

    /// Takes a property whose value is no number (rule M13).
    fn packet(&mut self, ts: i64, packet: &PacketEvent<'_>, at: &mut TrackerContext<'_, '_>) {
        if packet.field != SYSTEM_PROPERTIES {
            return;
        }
        for property in Message(packet.payload).messages(list::VALUES) {
            if property.bytes(property::NAME) == Some(b"debug.tracing.device_state") {
                device_state(ts, packet.machine, property.text(property::VALUE).as_deref(), at);
            }
        }
    }
}

/// The time and the thread of a mark.
#[derive(Debug, Clone, Copy)]
struct MarkSource {
    ts: i64,
    machine: u32,
    tid: i64,
    emitter: Utid,
}

impl MarkSource {
    /// The track of the marking thread, as a thread of the process that the mark names (rule B3).
    fn thread_track(&self, tgid: u32, at: &mut TrackerContext<'_, '_>) -> TrackId {
        let threads = &mut at.world.threads;
        let utid = match tgid {
            0 => self.emitter,
            _ => threads.bind(self.machine, self.tid, tgid.into()),
        };
        at.world.tracks.of_thread(utid)
    }

    /// The marking thread, as the only argument. Call this after everything that makes processes,
    /// because that may have made the thread anew.
    fn thread<'a>(
        &self,
        key: &str,
        args: &'a mut ArgBuf,
        at: &mut TrackerContext<'_, '_>,
    ) -> &'a [u8] {
        let Utid(utid) = at.world.threads.thread(self.machine, self.tid);
        args.only(key, ArgValue::Uint(utid.into()), &mut at.world.definitions.names)
    }

    /// The lanes of the process that a mark names.
    fn lanes(
        &self,
        track_type: &'static str,
        name: &str,
        tgid: u32,
        at: &mut TrackerContext<'_, '_>,
    ) -> SetId {
        let Upid(upid) = at.world.threads.process(self.machine, tgid.into());
        at.world.lanes.set(track_type, &[upid.into()], name, || {
            let owner = Owner::Process(Upid(upid));
            NewTrack::slices(self.machine, track_type, Some(name), owner).with("name", name)
        })
    }

    /// Adds the instant of a killed process.
    fn killed(&self, upid: Upid, at: &mut TrackerContext<'_, '_>) {
        let track =
            NewTrack::slices(self.machine, "android_lmk", Some("LMK"), Owner::Process(upid));
        let track = at.world.tracks.get(track);
        instant(self.ts, track, Some(KILLED), &[], at);
    }
}

/// A slice or an instant that begins at this time.
fn slice<'a>(
    ts: i64,
    track: TrackId,
    name: Option<&'a str>,
    at: &mut TrackerContext<'_, '_>,
) -> NewSlice<'a> {
    let names = &mut at.world.definitions.names;
    let name = name.map_or(Label::None, |name| names.label(name));
    NewSlice::named(ts, track, name)
}

fn instant(
    ts: i64,
    track: TrackId,
    name: Option<&str>,
    args: &[u8],
    at: &mut TrackerContext<'_, '_>,
) {
    let slice = slice(ts, track, name, at);
    at.world.add_slice(slice, 0, args, at.rows);
}

/// Marks the state of a device, such as folded, from now on (rule B7).
fn device_state(ts: i64, machine: u32, name: Option<&str>, at: &mut TrackerContext<'_, '_>) {
    let track = NewTrack::slices(machine, "android_device_state", Some(DEVICE_STATE), Owner::None);
    let track = at.world.tracks.get(track);
    instant(ts, track, name, &[], at);
}

impl Atrace {
    fn mark(&mut self, by: MarkSource, mark: Mark<'_>, at: &mut TrackerContext<'_, '_>) {
        let (ts, tgid) = (by.ts, mark.tgid);
        match mark.what {
            MarkAction::Begin { name } => {
                let track = by.thread_track(tgid, at);
                let slice = slice(ts, track, name, at);
                at.world.begin_slice(slice, &[], at.rows);
                if let Some(name) = name {
                    kill_notice(by, name, at);
                }
            }
            MarkAction::End => {
                let track = by.thread_track(tgid, at);
                at.world.end_slice(EndOfSlice::any(ts, track), &[], at.rows);
            }
            MarkAction::Instant { name } => {
                let track = by.thread_track(tgid, at);
                instant(ts, track, name, &[], at);
            }
            MarkAction::AsyncBegin { name, cookie } => {
                let set = by.lanes(ASYNC, name, tgid, at);
                let tracks = &mut at.world.tracks;
                if let Some(track) = at.world.lanes.begin_alone(set, ts, cookie, tracks) {
                    let slice = slice(ts, track, Some(name), at);
                    let names = &mut at.world.definitions.names;
                    let args = self.args.only("cookie", ArgValue::Int(cookie), names);
                    at.world.begin_slice(slice, args, at.rows);
                }
            }
            MarkAction::AsyncEnd { name, cookie } => {
                let set = by.lanes(ASYNC, name, tgid, at);
                let tracks = &mut at.world.tracks;
                if let Some((track, begins)) = at.world.lanes.end(set, cookie, tracks) {
                    let args = self.unnested(&begins, &mut at.world.definitions.names);
                    at.world.end_slice(EndOfSlice::any(ts, track), args, at.rows);
                }
            }
            MarkAction::TrackInstant { track, name } if track == DEVICE_STATE => {
                device_state(ts, by.machine, Some(name), at);
            }
            MarkAction::TrackInstant { track, name } => {
                let set = by.lanes(ON_TRACK, track, tgid, at);
                if let Some(track) = at.world.lanes.add(set, ts, 0, &mut at.world.tracks) {
                    let thread = by.thread("utid", &mut self.args, at);
                    instant(ts, track, Some(name), thread, at);
                }
            }
            MarkAction::TrackBegin { track, name, cookie } => {
                let set = by.lanes(ON_TRACK, track, tgid, at);
                if let Some(track) = at.world.lanes.begin(set, cookie, &mut at.world.tracks) {
                    let thread = by.thread("utid", &mut self.args, at);
                    let slice = slice(ts, track, Some(name), at);
                    at.world.begin_slice(slice, thread, at.rows);
                }
            }
            MarkAction::TrackEnd { track, cookie } => {
                let set = by.lanes(ON_TRACK, track, tgid, at);
                if let Some((track, _)) = at.world.lanes.end(set, cookie, &mut at.world.tracks) {
                    let thread = by.thread("end_utid", &mut self.args, at);
                    at.world.end_slice(EndOfSlice::any(ts, track), thread, at.rows);
                }
            }
            MarkAction::Value { name, value } => self.value(by, tgid, name, value, at),
        }
    }

    /// The arguments of an end on a lane that does not nest, about the begins that it ends.
    fn unnested(&mut self, begins: &Begins, names: &mut Names) -> &[u8] {
        let args = [
            ("legacy_unnestable_begin_count", begins.count),
            ("legacy_unnestable_last_begin_ts", begins.last_ts),
        ];
        self.args.clear();
        for (key, value) in args {
            self.args.push(key, ArgValue::Int(value), names);
        }
        self.args.as_bytes()
    }

    /// Takes a value (rules M3, B7).
    fn value(
        &mut self,
        by: MarkSource,
        tgid: u32,
        name: &str,
        value: i64,
        at: &mut TrackerContext<'_, '_>,
    ) {
        let machine = by.machine;
        let number = value as f64;
        let global = |track_type| NewTrack::counter(machine, track_type, name, Owner::None);
        let track = match name {
            "ScreenState" => Some(global("screen_state")),
            _ if name.starts_with("battery_stats.") => {
                Some(global("battery_stats").with("counter_key", name))
            }
            _ => None,
        };
        if let Some(track) = track {
            let track = at.world.tracks.get(track);
            at.world.value(by.ts, track, number, None, at.rows);
            return;
        }
        let upid = at.world.threads.process(machine, tgid.into());
        let track = self.value_track(machine, upid, name, at);
        let thread = by.thread("utid", &mut self.args, at);
        let args = at.world.arg_set(thread, at.rows);
        at.world.value(by.ts, track, number, args, at.rows);
        if name == "kill_one_process" && value != 0 {
            let killed = i64::from(value as u32);
            let upid = at.world.threads.process(machine, killed);
            by.killed(upid, at);
        }
    }

    fn value_track(
        &mut self,
        machine: u32,
        upid: Upid,
        name: &str,
        at: &mut TrackerContext<'_, '_>,
    ) -> TrackId {
        self.key.clear();
        self.key.extend_from_slice(&upid.0.to_le_bytes());
        self.key.extend_from_slice(name.as_bytes());
        if let Some(&track) = self.values.get(self.key.as_slice()) {
            return track;
        }
        let owner = Owner::Process(upid);
        let track = NewTrack::counter(machine, "atrace_counter", name, owner).with("name", name);
        let track = at.world.tracks.get(track);
        self.values.insert(self.key.as_slice().into(), track);
        track
    }
}

/// Notes that a process was killed for lack of memory, if a slice says so (rule B7).
fn kill_notice(by: MarkSource, name: &str, at: &mut TrackerContext<'_, '_>) {
    let Some(notice) = name.strip_prefix("lmk,") else {
        return;
    };
    let mut fields = notice.split(',').filter(|field| !field.is_empty());
    let (pid, _reason, adj) = (fields.next(), fields.next(), fields.next());
    let Some((pid, adj)) = pid.and_then(mark::tgid).zip(adj.and_then(mark::number)) else {
        return;
    };
    let upid = at.world.threads.process(by.machine, pid.into());
    let owner = Owner::Process(upid);
    let track = NewTrack::counter(by.machine, "oom_score_adj", "oom_score_adj", owner);
    let track = at.world.tracks.get(track);
    at.world.value(by.ts, track, f64::from(adj as i32), None, at.rows);
    by.killed(upid, at);
}
