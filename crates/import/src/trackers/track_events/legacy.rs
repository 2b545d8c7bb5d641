//! The effects of legacy events (rules L3 to L7, G6).

use rustc_hash::FxHashMap;

use super::super::tracker::TrackerContext;
use super::tracks::{Lane, TrackOrLanes, other_name};
use super::{INSTANT, OwnedEvent, Slice, TrackEvents};
use crate::arguments::{ArgBuf, ArgValue};
use crate::definitions::Names;
use crate::output::{Cause, Counter, Fault, PARSER_ERROR};
use crate::timeline::{EventKind, InstantScope, Label, LegacyId, OwnLabel, TrackEvent};
use crate::world::{Details, FlowEvent, FlowId, NewTrack, Owner, Rank, Step, TrackId, Upid};

pub(super) mod fault {
    use super::{Cause, Counter, Fault};

    pub const INVALID_FLOW: Fault = Fault::new(
        Counter::error("flow_invalid_id", "a legacy flow event without an id is dropped")
            .drops(Cause::NoId),
    );
    pub const NO_ENCLOSING: Fault = Fault::new(
        Counter::error(
            "flow_no_enclosing_slice",
            "a legacy flow event outside any slice is left out",
        )
        .drops(Cause::OutsideSlice),
    );
}

/// An event that needs a thread or a process, and is on none.
const NO_THREAD: Fault = PARSER_ERROR.dropping(Cause::NoThread);
const NO_TRACK: Fault = PARSER_ERROR.dropping(Cause::NoTrack);
const INCOMPLETE: Fault = PARSER_ERROR.dropping(Cause::Incomplete);

/// The phase of an event.
fn phase_of(event: &TrackEvent<'_>) -> Option<u8> {
    match event.kind {
        EventKind::Phase(phase) => Some(phase),
        _ => None,
    }
}

/// Whether an event is on a track of legacy async events (rule L5).
pub(super) fn is_async(event: &TrackEvent<'_>) -> bool {
    matches!(phase_of(event), Some(b'b' | b'e' | b'n' | b'S' | b'T' | b'p' | b'F'))
}

/// Whether an event is an instant of no thread (rule L7).
pub(super) fn is_of_no_thread(event: &TrackEvent<'_>) -> bool {
    let is_of_none = |scope| scope != InstantScope::Thread;
    matches!(phase_of(event), Some(b'i' | b'I'))
        && event.legacy.is_some_and(|legacy| is_of_none(legacy.instant))
}

/// The arguments that an event gets from its phase (rules A8, L3).
pub(super) fn legacy_args(
    event: &TrackEvent<'_>,
) -> [Option<(&'static str, ArgValue<'static>)>; 2] {
    let Some(legacy) = event.legacy else {
        return [None; 2];
    };
    let phase = match phase_of(event) {
        Some(b'R') => Some("R"),
        Some(b'S') => Some("S"),
        Some(b'T') => Some("T"),
        Some(b'p') => Some("p"),
        _ => None,
    };
    let id = legacy.id.filter(|_| is_async(event));
    [
        phase.map(|phase| ("legacy_event.phase", ArgValue::Text(phase))),
        id.map(|id| {
            let id = ArgValue::Int(id.number() as i64);
            ("legacy_trace_source_id", id)
        }),
    ]
}

/// The state that legacy events share.
#[derive(Debug, Default)]
pub(super) struct Legacy {
    /// The first name of an id in a process, or in the whole trace.
    roots: FxHashMap<(u32, Option<Upid>, u64), OwnLabel>,
    /// The numbers of flows.
    flows: FxHashMap<(u64, OwnLabel, OwnLabel), u64>,
}

/// A track of legacy async events.
pub(in crate::trackers) struct AsyncTrack {
    pub machine: u32,
    /// The number of its id.
    pub id: u64,
    pub upid: Option<Upid>,
    /// `None` differs from an empty text.
    pub scope: Option<String>,
    /// The name of the first event with its id.
    pub root: Option<String>,
}

impl TrackEvents {
    /// Handles an event by its phase (rule L3).
    pub(super) fn phase(
        &mut self,
        phase: u8,
        here: &OwnedEvent<'_>,
        at: &mut TrackerContext<'_, '_>,
    ) -> Result<(), Fault> {
        match phase {
            b'B' | b'E' | b'X' if here.thread.is_none() => return Err(NO_THREAD),
            b'B' => self.begin(here, at),
            b'E' => self.end(here, at),
            b'X' => return self.complete(here, at),
            b'i' | b'I' => return self.instant(here, at),
            b'R' => {
                if let Some(track) = self.track(here, Lane::IsInstant, at) {
                    self.slice(here, track, INSTANT, at);
                }
            }
            b'b' => return self.asynchronous(Lane::Begins, here, at),
            b'S' => return self.asynchronous(Lane::Begins, here, at),
            b'e' => return self.asynchronous(Lane::Ends, here, at),
            b'F' => return self.asynchronous(Lane::Ends, here, at),
            b'n' => return self.asynchronous(Lane::IsInstant, here, at),
            b'T' => return self.asynchronous(Lane::IsInstant, here, at),
            b'p' => return self.asynchronous(Lane::IsInstant, here, at),
            b's' => return self.flow(Step::Out, here, at),
            b't' => return self.flow(Step::InOut, here, at),
            b'f' => return self.flow(Step::In, here, at),
            b'M' => return names(here, at),
            _ if here.thread.is_none() => {
                return Err(PARSER_ERROR.dropping(Cause::UnknownType));
            }
            _ => {}
        }
        Ok(())
    }

    /// Handles an event with a begin and a duration (rule L4).
    fn complete(
        &mut self,
        here: &OwnedEvent<'_>,
        at: &mut TrackerContext<'_, '_>,
    ) -> Result<(), Fault> {
        let legacy = here.event.legacy.unwrap_or_default();
        if legacy.dur < 0 {
            return Err(PARSER_ERROR.dropping(Cause::NegativeDuration));
        }
        let track = match here.event.uuid {
            None => self.track(here, Lane::Begins, at),
            Some(uuid) => match self.tracks.of_uuid(uuid, here.needs(), at) {
                TrackOrLanes::Track(track) => Some(track),
                TrackOrLanes::Lanes(_) => None,
            },
        };
        let track = track.ok_or(NO_THREAD)?;
        let slice = Slice::Complete {
            dur: legacy.dur,
            time: Some(legacy.thread_dur),
            instructions: Some(legacy.instructions),
        };
        self.slice(here, track, slice, at);
        Ok(())
    }

    /// Handles an instant (rule L7).
    fn instant(
        &mut self,
        here: &OwnedEvent<'_>,
        at: &mut TrackerContext<'_, '_>,
    ) -> Result<(), Fault> {
        let machine = here.event.machine;
        let track = match here.event.legacy.unwrap_or_default().instant {
            InstantScope::Global => Some(self.others.instants(machine, None, at.world)),
            InstantScope::Process => {
                let upid = here.process.ok_or(NO_THREAD)?;
                Some(self.others.instants(machine, Some(upid), at.world))
            }
            InstantScope::Thread if here.thread.is_none() => None,
            InstantScope::Thread => self.track(here, Lane::IsInstant, at),
        };
        let track = track.ok_or(NO_THREAD)?;
        self.slice(here, track, INSTANT, at);
        Ok(())
    }

    /// Handles a legacy async event (rule L5).
    fn asynchronous(
        &mut self,
        lane: Lane,
        here: &OwnedEvent<'_>,
        at: &mut TrackerContext<'_, '_>,
    ) -> Result<(), Fault> {
        let on = self.legacy.async_track(here, at)?;
        let name = track_name(on.upid, here.event.name, at);
        let name = text(name.label(), at);
        let track = lane_of(&on, lane, name.as_deref(), at).ok_or(NO_TRACK)?;
        match lane {
            Lane::Begins => self.slice(here, track, Slice::Begins, at),
            Lane::Ends => self.end_on(here, track, at),
            Lane::IsInstant => self.slice(here, track, INSTANT, at),
        }
        Ok(())
    }

    /// Handles a flow event (rule G6).
    fn flow(
        &mut self,
        step: Step,
        here: &OwnedEvent<'_>,
        at: &mut TrackerContext<'_, '_>,
    ) -> Result<(), Fault> {
        let event = here.event;
        let legacy = event.legacy.unwrap_or_default();
        let Some(LegacyId::Unscoped(id)) = legacy.id else {
            here.drops(fault::INVALID_FLOW, at);
            return Err(PARSER_ERROR);
        };
        let track = match event.uuid {
            None => self.track(here, Lane::Begins, at),
            Some(uuid) => match self.tracks.of_uuid(uuid, here.needs(), at) {
                TrackOrLanes::Track(track) => Some(track),
                TrackOrLanes::Lanes(_) => None,
            },
        };
        let track = track.ok_or(NO_THREAD)?;
        let key = (id, event.category.into(), event.name.into());
        let next = self.legacy.flows.len() as u64;
        let number = *self.legacy.flows.entry(key).or_insert(next);
        let flow = FlowEvent {
            flow: FlowId::Legacy(number),
            step,
            packet: event.packet,
            arg_set_id: flow_args(event.name, event.category, at),
        };
        if step == Step::In && !legacy.binds_enclosing {
            at.world.flows.waits(track, flow);
            return Ok(());
        }
        match at.world.top_slice(track) {
            Some(slice) => at.world.flows.step(flow, slice),
            None => here.drops(fault::NO_ENCLOSING, at),
        }
        Ok(())
    }
}

/// The arguments of a flow: its name and its category.
pub(in crate::trackers) fn flow_args(
    name: Label<'_>,
    category: Label<'_>,
    at: &mut TrackerContext<'_, '_>,
) -> Option<i64> {
    let mut args = ArgBuf::default();
    for (key, label) in [("name", name), ("cat", category)] {
        if let Some(text) = text(label, at) {
            let names = &mut at.world.definitions.names;
            args.push(key, ArgValue::Text(&text), names);
        }
    }
    at.world.arg_set(args.as_bytes(), at.rows)
}

fn text(label: Label<'_>, at: &TrackerContext<'_, '_>) -> Option<String> {
    match label {
        Label::None => None,
        Label::Known(name) => Some(at.world.definitions.names.text(name).into()),
        Label::Own(text) => Some(text.into()),
    }
}

impl Legacy {
    /// The track of a legacy async event.
    fn async_track(
        &mut self,
        here: &OwnedEvent<'_>,
        at: &mut TrackerContext<'_, '_>,
    ) -> Result<AsyncTrack, Fault> {
        let event = here.event;
        let legacy = event.legacy.unwrap_or_default();
        let (id, upid) = match legacy.id {
            Some(LegacyId::Unscoped(id) | LegacyId::Global(id)) => (id, None),
            Some(LegacyId::Local(id)) => (id, Some(here.process.ok_or(NO_THREAD)?)),
            None => return Err(PARSER_ERROR.dropping(Cause::NoId)),
        };
        let machine = event.machine;
        let root = self.roots.entry((machine, upid, id));
        let root = root.or_insert_with(|| track_name(upid, event.name, at)).clone();
        let scope = match event.kind {
            EventKind::Phase(b'S' | b'T' | b'p' | b'F') => event.name,
            _ => event.category,
        };
        let scope = match legacy.scope {
            None => text(scope, at),
            Some(within) => {
                let category = text(event.category, at).unwrap_or_default();
                Some(format!("{category}:{within}"))
            }
        };
        Ok(AsyncTrack { machine, id, upid, scope, root: text(root.label(), at) })
    }
}

/// The name of a legacy async event's track (rules L5, TN4).
fn track_name(upid: Option<Upid>, name: Label<'_>, at: &TrackerContext<'_, '_>) -> OwnLabel {
    let owner = upid.map_or(Owner::None, Owner::Process);
    other_name(owner, name.into(), at.world)
}

/// The lane of a legacy async event. A lane has the name of the event that created it.
pub(in crate::trackers) fn lane_of(
    on: &AsyncTrack,
    lane: Lane,
    name: Option<&str>,
    at: &mut TrackerContext<'_, '_>,
) -> Option<TrackId> {
    let (track_type, owner) = match on.upid {
        Some(upid) => ("legacy_async_process_slice", Owner::Process(upid)),
        None => ("legacy_async_global_slice", Owner::None),
    };
    let (scope, root) = (on.scope.as_deref(), on.root.as_deref());
    let numbers = [
        on.machine.into(),
        on.upid.map_or(0, |Upid(upid)| u64::from(upid) + 1),
        scope.map_or(0, |scope| scope.len() as u64 + 1),
        root.is_some().into(),
    ];
    let key = [scope.unwrap_or_default(), root.unwrap_or_default()].concat();
    let set = at
        .world
        .lanes
        .set(track_type, &numbers, &key, || NewTrack::slices(on.machine, track_type, None, owner));
    let cookie = on.id as i64;
    let world = &mut *at.world;
    if !world.lanes.has_room(set, cookie) {
        let number = world.lanes.count(set);
        let name = name.map(Into::into);
        let track = world.lanes.add_lane(set, cookie, name, &mut world.tracks)?;
        let details = on.details(number, &mut world.definitions.names);
        world.tracks.describe(track, details);
    }
    let mut track = None;
    if lane != Lane::Ends {
        track = world.lanes.begin(set, cookie, &mut world.tracks);
    }
    if lane != Lane::Begins {
        let end = world.lanes.end(set, cookie, &mut world.tracks);
        track = end.map(|(track, _)| track);
    }
    track
}

impl AsyncTrack {
    /// The arguments of a lane's track: its source and its dimensions.
    fn details(&self, number: u32, names: &mut Names) -> Details {
        let mut details = Details::default();
        let upid = self.upid.map_or(0, |Upid(upid)| upid);
        for (key, value) in [
            ("source", ArgValue::Text("chrome")),
            ("trace_id_is_process_scoped", ArgValue::Bool(self.upid.is_some())),
            ("upid", ArgValue::Uint(upid.into())),
            ("source_scope", optional(&self.scope)),
        ] {
            details.source.push(key, value, names);
        }
        let dimensions = &mut details.dimensions;
        dimensions.push("scope", optional(&self.scope), names);
        dimensions.push("name", optional(&self.root), names);
        dimensions.push("track_compressor_idx", ArgValue::Int(number.into()), names);
        details
    }
}

fn optional(text: &Option<String>) -> ArgValue<'_> {
    text.as_deref().map_or(ArgValue::NoText, ArgValue::Text)
}

/// Names a thread or a process (rule L6).
fn names(here: &OwnedEvent<'_>, at: &mut TrackerContext<'_, '_>) -> Result<(), Fault> {
    let event = here.event;
    let name = text(event.name, at).ok_or(INCOMPLETE)?;
    let threads = &mut at.world.threads;
    match name.as_str() {
        "thread_name" => {
            let utid = here.thread.ok_or(INCOMPLETE)?;
            let note = event.note.ok_or(INCOMPLETE)?;
            if !note.is_empty() {
                threads.call_thread(utid, Rank::Third, note);
            }
        }
        "process_name" => {
            let upid = here.process.ok_or(INCOMPLETE)?;
            let note = event.note.ok_or(INCOMPLETE)?;
            if !note.is_empty() {
                threads.call_process(upid, Rank::Second, note);
            }
        }
        _ => {}
    }
    Ok(())
}
