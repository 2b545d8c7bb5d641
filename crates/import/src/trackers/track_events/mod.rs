//! Slices, values and flows of track events, with which programs describe their work (rules E7 to
//! E18, A11, G1).
//!
//! # Design
//!
//! Events come in the form that their reader gave them: texts are numbers, arguments are in their
//! compact form. Here a uuid becomes a thread, a process or a track, and slices go to the stacks
//! that atrace uses too. The world has the threads, uuids and flows, because other trackers use
//! them. Only this module knows the tracks of a uuid.
//!
//! | question | where it is decided |
//! |---|---|
//! | the track of an event (rules U) | `tracks.rs` |
//! | the effects of legacy events (rules L) | `legacy.rs` |
//! | the states of tracks (rules ST) | `states.rs` |
//! | lines of the log from events (rule OT1) | `logs.rs` |

mod legacy;
mod logs;
mod states;
mod tracks;

pub(in crate::trackers) use self::fault::NO_DIRECTION;
pub(in crate::trackers) use self::legacy::fault::{INVALID_FLOW, NO_ENCLOSING};
pub(in crate::trackers) use self::legacy::{AsyncTrack, flow_args, lane_of};
use self::legacy::{Legacy, is_async, is_of_no_thread, legacy_args};
use self::states::States;
pub(in crate::trackers) use self::tracks::{Lane, OtherTracks};
use self::tracks::{Needs, TrackOrLanes, UuidTracks};
use super::tracker::TrackerContext;
use crate::arguments::{ArgBuf, ArgValue, LateDecoder};
use crate::definitions::{Definitions, Writer};
use crate::output::{Cause, Counter, Doubt, Example, Fault, NOT_INTERNED, PARSER_ERROR};
use crate::timeline::{
    Arguments, EventKind, FlowDirection, FlowStep, Label, OwnLabel, TrackEvent, UuidIx,
};
use crate::world::{
    EndOfSlice, FlowEvent, FlowId, MadeSlice, NewSlice, Owner, SliceId, Spent, StageStep, Step,
    Threads, TrackId, Upid, Utid,
};

mod fault {
    use super::{Counter, Fault};

    pub const UNKNOWN: Fault = Fault::new(
        Counter::error(
            "unknown_extension_fields",
            "a field of a track event is in no known schema, and is left out",
        )
        .drops_nothing(),
    );
    pub const NO_DIRECTION: Fault = Fault::new(
        Counter::error("flow_without_direction", "a bind_id without flow_direction is left out")
            .drops_nothing(),
    );
}

/// Follows track events.
#[derive(Debug, Default)]
pub(crate) struct TrackEvents {
    tracks: UuidTracks,
    others: OtherTracks,
    legacy: Legacy,
    states: States,
    late: Option<Box<LateDecoder>>,
    /// The arguments of the current event, and those that count only if no other argument has their
    /// key.
    args: Vec<u8>,
    default_args: Vec<u8>,
    more: ArgBuf,
    /// The row that the last event with a callstack has made.
    stacked: Option<Stacked>,
}

/// The row of an event with a callstack (rule FP4).
#[derive(Debug, Clone, Copy)]
pub(super) struct Stacked {
    /// Its slice; `None` if it has a value or a state.
    pub slice: Option<SliceId>,
    /// Its part in the row.
    pub part: &'static str,
    /// The thread whose callstack it is, and the process of the event's track.
    pub thread: Option<Utid>,
    pub process: Option<Upid>,
}

/// An event with its thread and its process.
#[derive(Debug, Clone, Copy)]
struct OwnedEvent<'a> {
    ts: i64,
    event: &'a TrackEvent<'a>,
    /// The thread that owns the event's uuid; without a uuid, the event's own thread (rule E8).
    thread: Option<Utid>,
    process: Option<Upid>,
    /// The thread that the arguments name if the slice is on no thread's track (rule A11).
    passes_through: Option<Utid>,
    /// The time and the instructions that the thread has spent so far.
    time: Option<i64>,
    instructions: Option<i64>,
}

/// The slice that an event makes.
#[derive(Debug, Clone, Copy)]
enum Slice {
    Begins,
    /// With a duration, and the time and the instructions that the thread spent in it.
    Complete {
        dur: i64,
        time: Option<i64>,
        instructions: Option<i64>,
    },
}

impl<'a> OwnedEvent<'a> {
    /// The time and the instructions of the thread, if the slice has them (rule E14).
    fn spent(&self, slice: Slice) -> (Spent, Spent) {
        let (time, instructions) = match slice {
            Slice::Begins => (None, None),
            Slice::Complete { time, instructions, .. } => (time, instructions),
        };
        let spent =
            |before: Option<i64>, within: Option<i64>| Spent { before, within: before.and(within) };
        match self.spends() {
            false => (Spent::default(), Spent::default()),
            true => (spent(self.time, time), spent(self.instructions, instructions)),
        }
    }

    /// Whether the slice has the time and the instructions of the thread.
    fn spends(&self) -> bool {
        self.thread.is_some() && !is_async(self.event)
    }

    fn needs(&self) -> Needs<'a> {
        Needs { name: self.event.name, sequence: self.event.sequence }
    }
}

/// An instant has the duration 0, and its thread spends nothing in it.
const INSTANT: Slice = Slice::Complete { dur: 0, time: Some(0), instructions: Some(0) };

impl TrackEvents {
    /// The row that the last event has made, if the event has a callstack.
    pub fn stacked(&mut self) -> Option<Stacked> {
        self.stacked.take()
    }

    /// Takes an event.
    pub fn event(&mut self, ts: i64, event: &TrackEvent<'_>, at: &mut TrackerContext<'_, '_>) {
        if event.arguments.undecoded.is_empty() {
            return self.decoded(ts, event, at);
        }
        let mut late = self.late.take().unwrap_or_default();
        let definitions = &mut at.world.definitions;
        if let Some(pool) = &definitions.schema {
            let (names, interned) = (&mut definitions.names, &at.world.interned);
            let (arguments, missing) = late.decode(event, interned, pool, names);
            let event = TrackEvent { arguments, ..*event };
            at.world.faults.add_many(NOT_INTERNED, event.packet, missing);
            self.decoded(ts, &event, at);
        }
        self.late = Some(late);
    }

    fn decoded(&mut self, ts: i64, event: &TrackEvent<'_>, at: &mut TrackerContext<'_, '_>) {
        let Some(mut here) = OwnedEvent::of(ts, event, at) else {
            return;
        };
        if !event.more_values.is_empty() {
            self.more_values(&mut here, at);
        }
        self.spent(&here, at);
        if let Err(fault) = self.does(&here, at) {
            here.drops(fault, at);
        }
    }

    /// Writes the values of extra counters (rule E17).
    fn more_values(&mut self, here: &mut OwnedEvent<'_>, at: &mut TrackerContext<'_, '_>) {
        for (uuid, value) in here.event.more_values.iter() {
            if !at.world.meet_value(uuid, here.event.packet) {
                continue;
            }
            self.value(here, uuid, value, None, at);
            let descriptor = at.world.definitions.uuids.descriptor(uuid);
            match descriptor.and_then(|descriptor| descriptor.name()) {
                Some("thread_time") => here.time = Some(value as i64),
                Some("thread_instruction_count") => here.instructions = Some(value as i64),
                _ => {}
            }
        }
    }

    fn value(
        &mut self,
        here: &OwnedEvent<'_>,
        uuid: UuidIx,
        value: f64,
        args: Option<i64>,
        at: &mut TrackerContext<'_, '_>,
    ) {
        let needs = Needs { name: Label::None, sequence: here.event.sequence };
        if let TrackOrLanes::Track(track) = self.tracks.of_uuid(uuid, needs, at) {
            let is_incremental = || {
                let counter = at.world.definitions.uuids.counter(uuid);
                counter.is_some_and(|counter| counter.is_incremental)
            };
            let is_doubtful = here.event.lossy && is_incremental();
            let doubt = is_doubtful.then_some(Doubt::PacketsLost);
            let value_of = at.world.sample(here.ts).doubted(doubt);
            value_of.complete(track, value, args, at.rows);
        }
    }

    /// Writes the thread's time and instructions as values of counters (rule E18).
    fn spent(&mut self, here: &OwnedEvent<'_>, at: &mut TrackerContext<'_, '_>) {
        let Some(utid) = here.thread else { return };
        let event = here.event;
        for (is_time, spent) in [(true, event.thread_time), (false, event.instructions)] {
            if let Some(spent) = spent {
                let track = self.others.spent(event.machine, utid, is_time, at.world);
                at.world.value(here.ts, track, spent as f64, None, at.rows);
            }
        }
    }

    /// Does what the event's type or phase says (rules E7 and L3).
    fn does(
        &mut self,
        here: &OwnedEvent<'_>,
        at: &mut TrackerContext<'_, '_>,
    ) -> Result<(), Fault> {
        match here.event.kind {
            EventKind::Begin => self.begin(here, at),
            EventKind::End => self.end(here, at),
            EventKind::Instant => {
                if let Some(track) = self.track(here, Lane::IsInstant, at) {
                    self.slice(here, track, INSTANT, at);
                }
            }
            EventKind::Counter => {
                if let (Some(uuid), Some(value)) = (here.event.uuid, here.event.value) {
                    self.put_args(here, at);
                    self.args.splice(..0, self.default_args.iter().copied());
                    let args = at.world.arg_set(&self.args, at.rows);
                    self.value(here, uuid, value, args, at);
                    self.row_made(here, None, at);
                }
            }
            EventKind::State => return self.state(here, at),
            EventKind::Unknown => return Err(PARSER_ERROR.dropping(Cause::UnknownType)),
            EventKind::Phase(phase) => return self.phase(phase, here, at),
        }
        Ok(())
    }

    /// The track of an event's slice (rule E8).
    fn track(
        &mut self,
        here: &OwnedEvent<'_>,
        lane: Lane,
        at: &mut TrackerContext<'_, '_>,
    ) -> Option<TrackId> {
        match (here.event.uuid, here.thread) {
            (Some(uuid), _) => self.tracks.of_slice(uuid, lane, here.needs(), at),
            (None, Some(utid)) => Some(at.world.tracks.of_thread(utid)),
            (None, None) => None,
        }
    }

    fn begin(&mut self, here: &OwnedEvent<'_>, at: &mut TrackerContext<'_, '_>) {
        if let Some(track) = self.track(here, Lane::Begins, at) {
            self.slice(here, track, Slice::Begins, at);
        }
    }

    fn end(&mut self, here: &OwnedEvent<'_>, at: &mut TrackerContext<'_, '_>) {
        if let Some(track) = self.track(here, Lane::Ends, at) {
            self.end_on(here, track, at);
        }
    }

    /// Begins a slice, or adds a complete one.
    fn slice(
        &mut self,
        here: &OwnedEvent<'_>,
        track: TrackId,
        slice: Slice,
        at: &mut TrackerContext<'_, '_>,
    ) {
        let event = here.event;
        let (time, instructions) = here.spent(slice);
        let new = NewSlice {
            ts: here.ts,
            track,
            category: event.category,
            name: event.name,
            packet: Some(event.packet),
            sequence: Some(event.sequence),
            time,
            instructions,
        };
        self.put_args(here, at);
        self.args.splice(..0, self.default_args.iter().copied());
        let made = match slice {
            Slice::Begins => at.world.begin_slice(new, &self.args, at.rows),
            Slice::Complete { dur, .. } => at.world.add_slice(new, dur, &self.args, at.rows),
        };
        if let Some(id) = made {
            let ts = here.ts;
            self.row_made(here, Some(id), at);
            flows(here, MadeSlice { id, ts }, at);
        }
    }

    fn end_on(&mut self, here: &OwnedEvent<'_>, track: TrackId, at: &mut TrackerContext<'_, '_>) {
        let event = here.event;
        let (time, instructions) = match here.spends() {
            true => (here.time, here.instructions),
            false => (None, None),
        };
        self.put_args(here, at);
        let end = EndOfSlice {
            ts: here.ts,
            track,
            category: event.category,
            name: event.name,
            time,
            instructions,
            defaults: &self.default_args,
        };
        if let Some(made) = at.world.end_slice(end, &self.args, at.rows) {
            self.row_made(here, Some(made.id), at);
            flows(here, made, at);
        }
    }

    /// Collects the arguments of an event in order, so that later arguments replace earlier ones;
    /// and the argument that counts only if no other argument has its key (rule A11).
    fn put_args(&mut self, here: &OwnedEvent<'_>, at: &mut TrackerContext<'_, '_>) {
        self.args.clear();
        self.default_args.clear();
        let Arguments { main, log, .. } = here.event.arguments;
        if let Some(Utid(utid)) = here.passes_through {
            let (key, value) = ("legacy_event.passthrough_utid", ArgValue::Uint(utid.into()));
            let names = &mut at.world.definitions.names;
            self.default_args.extend_from_slice(self.more.only(key, value, names));
        }
        if here.thread.is_some() {
            self.args.extend_from_slice(log);
        }
        self.args.extend_from_slice(main);
        for (key, value) in legacy_args(here.event).into_iter().flatten() {
            let names = &mut at.world.definitions.names;
            self.args.extend_from_slice(self.more.only(key, value, names));
        }
    }

    /// Counts the faults of an event's arguments, because the event has made a row, and notes the row
    /// for its callstack.
    fn row_made(
        &mut self,
        here: &OwnedEvent<'_>,
        slice: Option<SliceId>,
        at: &mut TrackerContext<'_, '_>,
    ) {
        self.stacked = here.event.stack.map(|_| Stacked {
            slice,
            part: part(here.event.kind),
            thread: here.thread.or(here.passes_through),
            process: here.process,
        });
        let arguments = &here.event.arguments;
        // The errors of a log message are missing entries of interned data.
        let (of_log, not_interned) = match (arguments.has_log, here.thread) {
            (false, _) => (0, 0),
            (true, Some(_)) => (arguments.log_errors, arguments.log_errors),
            (true, None) => (1, 0),
        };
        let faults = &mut at.world.faults;
        let packet = here.event.packet;
        faults.add_many(NOT_INTERNED, packet, not_interned);
        faults.add_many(PARSER_ERROR, packet, arguments.errors.saturating_add(of_log));
        faults.add_many(fault::UNKNOWN, packet, arguments.unknown);
        if let Some(utid) = here.thread.filter(|_| arguments.has_log && arguments.log_errors == 0) {
            logs::line(here, utid, at);
        }
    }
}

impl<'a> OwnedEvent<'a> {
    /// Finds the thread and the process of an event. `None` if its uuid has no track.
    fn of(ts: i64, event: &'a TrackEvent<'a>, at: &mut TrackerContext<'_, '_>) -> Option<Self> {
        let world = &mut *at.world;
        let mut here = OwnedEvent {
            ts,
            event,
            thread: None,
            process: None,
            passes_through: None,
            time: event.thread_time,
            instructions: event.instructions,
        };
        let writer = event.thread.and_then(|thread| world.definitions.uuids.thread(thread));
        match event.uuid {
            Some(uuid) => {
                if !world.meet_event(uuid, event.packet) {
                    here.has_no_track(at);
                    return None;
                }
                match world.uuids.owner(uuid) {
                    Owner::Thread(utid) => {
                        here.thread = Some(utid);
                        here.process = world.threads.process_of(utid);
                    }
                    Owner::Process(upid) => here.process = Some(upid),
                    _ => {}
                }
                // If the uuid has no owner thread, the arguments name the event's own thread (A11).
                let is_zero = world.definitions.uuids.uuid(uuid) == 0;
                if let Some(writer) = writer.filter(|_| here.thread.is_none() && !is_zero) {
                    let tid = writer.small_tid().into();
                    let utid = world.bind_writer(event.machine, Writer { tid, ..writer });
                    let threads = &world.threads;
                    let is_its = here.process.is_none() || here.process == threads.process_of(utid);
                    here.passes_through = Some(utid).filter(|_| is_its);
                }
            }
            None => {
                let writer = writer?;
                let utid = world.bind_writer(event.machine, writer);
                here.thread = Some(utid);
                here.process = world.threads.process_of(utid);
            }
        }
        if is_async(event) {
            here.passes_through = here.thread;
        } else if is_of_no_thread(event) {
            here.passes_through = here.thread.take();
        }
        Some(here)
    }
}

/// The part of an event in its row.
fn part(kind: EventKind) -> &'static str {
    match kind {
        EventKind::End | EventKind::Phase(b'E' | b'e' | b'F') => "end",
        EventKind::Begin | EventKind::Phase(b'B' | b'X' | b'b' | b'S') => "begin",
        EventKind::Counter => "counter",
        EventKind::State => "state",
        EventKind::Instant | EventKind::Phase(_) | EventKind::Unknown => "instant",
    }
}

impl OwnedEvent<'_> {
    /// Counts a fault of the event, which makes no row if the fault says so.
    #[cold]
    fn drops(&self, fault: Fault, at: &mut TrackerContext<'_, '_>) {
        let sequence = Some(self.event.sequence);
        let (world, packet) = (&mut *at.world, self.event.packet);
        let (threads, definitions) = (&world.threads, &world.definitions);
        let example = || self.example(threads, definitions);
        world.faults.add_event(fault, packet, sequence, example);
    }

    /// The event makes no row because its uuid has no track; its uuid has counted the fault.
    #[cold]
    fn has_no_track(&self, at: &mut TrackerContext<'_, '_>) {
        let sequence = Some(self.event.sequence);
        let world = &mut *at.world;
        let (threads, definitions) = (&world.threads, &world.definitions);
        let example = || self.example(threads, definitions);
        world.faults.events.add(Cause::NoTrack, sequence, 1, example);
    }

    fn example(&self, threads: &Threads, definitions: &Definitions) -> Example {
        let event = self.event;
        let (pid, tid) = match self.thread {
            Some(utid) => {
                let (tid, pid) = threads.ids(utid);
                (pid, tid)
            }
            None => definitions.uuids.ids(event.uuid, event.thread),
        };
        let name = OwnLabel::from(event.name);
        let name = definitions.names.text_of(&name);
        let of_track = || {
            let descriptor = definitions.uuids.descriptor(event.uuid?)?;
            descriptor.name()
        };
        Example {
            packet: Some(event.packet),
            ts: Some(self.ts),
            name: name.or_else(of_track).map(str::to_owned),
            pid,
            tid,
        }
    }
}

/// The effects of an event's slice on flows (rules G1, G5 and GP9).
fn flows(here: &OwnedEvent<'_>, made: MadeSlice, at: &mut TrackerContext<'_, '_>) {
    let event = here.event;
    if matches!(event.kind, EventKind::Phase(b'T' | b'p')) {
        return;
    }
    let step = |flow: u64, step: Step| FlowEvent {
        flow: FlowId::Event(flow),
        step,
        packet: event.packet,
        arg_set_id: None,
    };
    let bind = event.legacy.and_then(|legacy| legacy.bind);
    if let Some((id, direction)) = bind {
        let direction = direction.map(|direction| match direction {
            FlowDirection::In => Step::In,
            FlowDirection::Out => Step::Out,
            FlowDirection::InOut => Step::InOut,
        });
        match direction {
            Some(direction) => at.world.flows.step(step(id, direction), made),
            None => at.world.faults.add(fault::NO_DIRECTION, event.packet),
        }
    }
    for (does, id) in event.flows.iter() {
        let flows = &mut at.world.flows;
        let mut stage = |step| flows.stage(id, step, made.id);
        match does {
            FlowStep::Submits => stage(StageStep::Submits),
            FlowStep::Awaits => stage(StageStep::Awaits),
            FlowStep::Goes => flows.step(step(id, Step::Goes), made),
            FlowStep::Terminates => flows.step(step(id, Step::Terminates), made),
        }
    }
}
