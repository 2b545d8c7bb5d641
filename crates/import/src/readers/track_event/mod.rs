//! Track events in the order of the file (rules E1 to E4, E6, E7, E16, L1, L2).
//!
//! # Design
//!
//! This module settles whatever depends on the event's position in the file: its time, the meaning
//! of interned numbers, defaults, deltas, and sums. The tracker (`trackers/track_events`) settles
//! whatever depends on the order of time: the track and the thread of a uuid, and the stack of
//! slices. In between, an event is a record of about ten to a hundred bytes, in which texts are
//! numbers and arguments have their compact form. The alternative was to keep the event in its
//! original form, and interned data to the end of the trace. Then all versions of an interned
//! number would have to be kept, and names and arguments would be read again for each event.
//!
//! | question | where it is decided |
//! |---|---|
//! | the fields of an event | `sequences/event.rs` |
//! | the state that the events of a sequence share | `sequences/writers.rs` |
//! | values of counters, and their sums | `sequences/counters.rs` |
//! | which events count as dropped, and which lack their name | `examples.rs` |
//! | the arguments of an event, also those that cannot be read yet | `arguments.rs` |
//! | V8's profiles in events | `v8.rs` |
//! | the event in a rewritten trace | `retiming.rs` |

mod arguments;
mod evidence;
mod examples;
mod retiming;
mod v8;

use std::borrow::Cow;

use timebase_descriptor::field::Value;
use timebase_resolver::{ClockId, SeqId};
use timebase_schema::fields::{
    debug_annotation as annotation, interned_data as interned, interned_string as entry,
    track_event as field,
};
use timebase_schema::{Table, tables};
use timebase_trace::wire::packet::{Header, PacketType};
use timebase_trace::{Interned, Interval, Kept};

use self::arguments::Decoder;
use super::context::ImportContext;
use super::corrupt::Corrupt;
use super::events::EventSink;
use super::observed::observe;
use super::packet::PlacedPacket;
use super::reader::{Payload, Reader};
use super::retiming::{Retime, Retimed, Rewritten, Times};
use super::sequences::NS_PER_US;
use super::sequences::counters::{EventValues, HeldValues};
use super::sequences::event::{GPU_CORRELATION, RawTrackEvent};
use super::sequences::writers::SequenceState;
use crate::definitions::{Definitions, Names, Uuids, Writer, is_process_event};
use crate::message::Message;
use crate::output::{BEFORE_ZERO, Cause, Counter, Fault, NOT_INTERNED, PARSER_ERROR, Rows};
use crate::place::{CountsFor, Place, TraceTime};
use crate::timeline::{
    Arguments, EventKind, EventStack, FlowStep, Flows, Label, Name, StackFrames, TrackEvent,
    UuidIx, Values, WriterThread,
};

/// The reasons to drop an event.
pub(super) mod dropped {
    use super::{Cause, Counter, Fault};

    pub const MISSING_SEQUENCE: Fault = Fault::new(
        Counter::error(
            "track_event_missing_sequence_id",
            "a track event without trusted_packet_sequence_id is dropped",
        )
        .drops(Cause::NoSequenceId),
    );
    pub const STATE_LOST: Fault = Fault::new(
        Counter::data_loss(
            "packet_skipped_seq_needs_incremental_state_invalid",
            "a track event that needs the state of a sequence without valid state is dropped",
        )
        .drops(Cause::StateLost),
    );
    pub const MISSING_TIME: Fault = Fault::new(
        Counter::error("track_event_missing_timestamp", "a track event without a time is dropped")
            .drops(Cause::NoTime),
    );
    pub const INVALID_TIME: Fault = Fault::new(
        Counter::error(
            "track_event_invalid_timestamp",
            "a track event with a time below 0 is dropped",
        )
        .drops(Cause::NegativeTime),
    );
    pub const STATE_WITHOUT_UUID: Fault = Fault::new(
        Counter::error(
            "track_event_state_missing_track_uuid",
            "a state that names no track is dropped",
        )
        .drops(Cause::NoTrackUuid),
    );
    pub const TIME_DELTA: Fault = Fault::new(
        Counter::error(
            "track_event_skipped_timestamp_delta_without_valid_state",
            "a track event with a time delta but no base is dropped",
        )
        .drops(Cause::NoReference),
    );
    pub const THREAD_TIME_DELTA: Fault = Fault::new(
        Counter::error(
            "track_event_skipped_thread_time_delta_without_valid_state",
            "a track event with a thread time delta but no base is dropped",
        )
        .drops(Cause::NoReference),
    );
    pub const INSTRUCTIONS_DELTA: Fault = Fault::new(
        Counter::error(
            "track_event_skipped_thread_instruction_delta_without_valid_state",
            "a track event with an instruction count delta but no base is \
         dropped",
        )
        .drops(Cause::NoReference),
    );
}

/// `TrackEvent.Type`
mod event_type {
    pub const UNSPECIFIED: u64 = 0;
    pub const SLICE_BEGIN: u64 = 1;
    pub const SLICE_END: u64 = 2;
    pub const INSTANT: u64 = 3;
    pub const COUNTER: u64 = 4;
    pub const STATE: u64 = 5;
}

/// Reads track events. It only keeps buffers, which are used again.
#[derive(Debug, Default)]
pub(crate) struct TrackEvents {
    values: EventValues,
    args: Decoder,
    more: Vec<u8>,
    flows: Vec<u8>,
}

impl<'a> Payload<'a> for RawTrackEvent<'a> {
    fn parse(payload: &'a [u8]) -> Result<Self, Corrupt> {
        Ok(RawTrackEvent::read(payload)?)
    }
}

impl Reader for TrackEvents {
    type Payload<'a> = RawTrackEvent<'a>;

    const TABLES: &'static [&'static Table] = &[
        &tables::slice_record::TABLE,
        &tables::counter_record::TABLE,
        &tables::thread_record::TABLE,
        &tables::track_event_callstack::TABLE,
    ];

    const INTERNED: &'static [(u32, Kept)] = &[
        (interned::EVENT_CATEGORIES, Kept::Interval),
        (interned::EVENT_NAMES, Kept::Interval),
        (interned::DEBUG_ANNOTATION_NAMES, Kept::Interval),
        (interned::SOURCE_LOCATIONS, Kept::Interval),
        (interned::LOG_MESSAGE_BODY, Kept::Interval),
        (interned::HISTOGRAM_NAMES, Kept::Interval),
        (interned::DEBUG_ANNOTATION_VALUE_TYPE_NAMES, Kept::Interval),
        (interned::DEBUG_ANNOTATION_STRING_VALUES, Kept::Interval),
        (interned::CORRELATION_ID_STR, Kept::Interval),
    ];

    const COUNTS_FOR: CountsFor = CountsFor::ItsMachine;

    const TIMES: Times = Times::Inside;

    fn converts(event: &RawTrackEvent<'_>, _header: &Header<'_>) -> bool {
        event.has_time()
    }

    fn read(
        &mut self,
        event: RawTrackEvent<'_>,
        packet: &PlacedPacket<'_>,
        context: &mut ImportContext,
        _rows: &mut Rows<'_>,
    ) {
        if !packet.header.has_sequence {
            return examples::drop_event(dropped::MISSING_SEQUENCE, &event, packet, context);
        }
        if packet.is_lost() {
            return examples::drop_event(dropped::STATE_LOST, &event, packet, context);
        }
        if v8::is_profile(&event) {
            let (state, _) = context.writers.state(packet.generation);
            let uuids = &mut context.definitions.uuids;
            let on = track_and_thread(&event, packet, state, uuids);
            let thread = on.and_then(|(_, thread)| uuids.thread(thread?));
            v8::read(&event, thread, packet, context);
        }
        if let Err(fault) = self.event(&event, packet, context) {
            examples::drop_event(fault, &event, packet, context);
        }
    }

    fn retime(
        event: RawTrackEvent<'_>,
        packet: &Retimed<'_>,
        to: &mut impl Retime,
        out: &mut Vec<u8>,
    ) -> Rewritten {
        retiming::retime(&event, packet, to, out)
    }
}

/// The time of an event.
#[derive(Debug, Clone, Copy)]
enum Time {
    At(TraceTime),
    /// Known as soon as its packet has a time: the packet's time, or this time of its own.
    Later(Option<TraceTime>),
    /// It never gets a time.
    Unplaced,
}

/// Looks up interned numbers.
struct LookUp<'a> {
    interned: &'a mut Interned,
    interval: Interval,
    names: &'a mut Names,
}

impl LookUp<'_> {
    /// The text of an interned number, in a field whose entries have a text. The number of the text
    /// is in the note of the entry, because nearly every event needs it.
    #[inline]
    fn called<'e>(&mut self, field: u32, iid: u64) -> Option<Called<'e>> {
        let note = self.interned.note_of(self.interval, field, iid)?;
        if let Some(name) = note.checked_sub(1) {
            return Some(Called::Known(Name(name)));
        }
        let entry = self.interned.get(self.interval, field, iid);
        let Some(text) = Message(entry.unwrap_or_default()).text(entry::STR) else {
            return Some(Called::Nothing);
        };
        let Label::Known(name) = self.names.label(&text) else {
            return Some(Called::Text(text.into_owned().into()));
        };
        if let Some(note) = name.0.checked_add(1) {
            self.interned.note(self.interval, field, iid, note);
        }
        Some(Called::Known(name))
    }
}

/// The name or the category of an event, before it is a [`Label`].
enum Called<'a> {
    Nothing,
    Known(Name),
    Text(Cow<'a, str>),
}

impl Called<'_> {
    fn label(&self, names: &mut Names) -> Label<'_> {
        match self {
            Called::Nothing => Label::None,
            Called::Known(name) => Label::Known(*name),
            Called::Text(text) => names.label(text),
        }
    }
}

/// The definitions see what kinds of events the trace has.
#[inline]
fn noted(event: &TrackEvent<'_>, definitions: &mut Definitions) {
    if matches!(event.kind, EventKind::End | EventKind::Phase(b'E' | b'e' | b'F')) {
        definitions.end_names.end(event.name);
    }
    let arguments = &event.arguments;
    definitions.has_log_messages |= arguments.has_log || !arguments.undecoded.is_empty();
}

/// The timeline has the event: its packet waits if the event does, and its processes are seen.
fn given(
    event: &RawTrackEvent<'_>,
    time: Time,
    packet: &PlacedPacket<'_>,
    context: &mut ImportContext,
) {
    if matches!(time, Time::Later(_)) {
        context.packet_waits(packet);
    }
    if let Some(processes) = event.active_processes {
        observe(PacketType::TRACK_EVENT, processes, packet, context);
    }
    if event.has_process {
        for (field, value) in event.message.fields() {
            if let Value::Bytes(said) = value
                && is_process_event(field, event.event_type)
            {
                observe(PacketType(field), Message(said), packet, context);
            }
        }
    }
}

impl TrackEvents {
    /// Gives an event to the timeline, or returns the reason to drop it.
    fn event(
        &mut self,
        event: &RawTrackEvent<'_>,
        packet: &PlacedPacket<'_>,
        context: &mut ImportContext,
    ) -> Result<(), Fault> {
        let generation = packet.generation;
        let (state, held) = context.writers.state(generation);
        let time = time(event, packet, state, &mut context.place)?;
        let (thread_time, instructions) = spent(event, state)?;
        if matches!(time, Time::Unplaced) {
            return Ok(());
        }
        let kind = event_kind(event);
        let uuid = event.track_uuid.or(state.defaults.track_uuid());
        if kind == Some(EventKind::State) && uuid.is_none() {
            return Err(dropped::STATE_WITHOUT_UUID);
        }
        let Definitions { uuids, names, .. } = &mut context.definitions;
        let part = packet.part;
        let has_values = kind == Some(EventKind::Counter) || event.has_more_values;
        self.read_values((event, kind), packet, time, (state, uuids))?;
        if let Time::At(ts) = time {
            context.events.latest.event(ts);
        }
        let Some(kind) = kind else {
            return self.without_track(Cause::UnknownType, time, packet, context);
        };
        let Some((uuid, thread)) = track_and_thread(event, packet, state, uuids) else {
            return self.without_track(Cause::NoThread, time, packet, context);
        };

        let mut look_up =
            LookUp { interned: &mut context.place.interned, interval: generation.interval, names };
        let called = name(event, &mut look_up);
        let mut missing = u32::from(called.is_none());
        let name = called.unwrap_or(Called::Nothing);
        let value = self::state(event, kind);
        let category = category(event, &mut look_up);
        let is_unnamed = matches!(name, Called::Nothing);
        if event.has_arguments {
            let (place, pool) = (&mut context.place, context.schema.pool());
            missing += self.args.decode(event, generation, place, pool, names);
        }
        context.faults.add_many(NOT_INTERNED, packet.id, missing);

        if is_unnamed && examples::needs_name(kind) {
            let of = (time, uuid, thread);
            let known = (&context.place, &context.definitions);
            examples::name_missing((event, packet), of, known, &mut context.faults.events);
        }
        let scope = event.legacy.and_then(|legacy| legacy.scope());
        let names = &mut context.definitions.names;
        let made = TrackEvent {
            part,
            machine: packet.machine,
            sequence: generation.interval.sequence,
            packet: packet.id,
            kind,
            uuid,
            thread,
            category: category.label(names),
            name: name.label(names),
            state: value.as_ref().map(|value| value.label(names)),
            thread_time,
            instructions,
            value: self.values.own.map(|(_, value)| value),
            more_values: Values::write(&self.values.more, &mut self.more),
            // Only values need it.
            lossy: generation.lossy && has_values,
            legacy: event.legacy.map(|legacy| legacy.event(scope.as_deref())),
            note: note(event, kind),
            flows: match event.has_flows {
                true => Flows::write(flows(event), &mut self.flows),
                false => Flows::default(),
            },
            stack: stack(event, generation.interval, &mut context.place),
            arguments: match event.has_arguments {
                true => self.args.arguments(),
                false => Arguments::default(),
            },
        };
        if made.stack.is_some() || !made.arguments.undecoded.is_empty() {
            // Its coming is not noted: other readers of the interval may be later still.
            context.definitions.profiles.expect(generation.interval);
        }
        noted(&made, &mut context.definitions);
        give(&made, time, &self.values, held, &mut context.events);
        given(event, time, packet, context);
        if context.wants_evidence() && event.time_delta.is_none() && event.time_absolute == 0 {
            evidence::put_aside(&made, packet, context);
        }
        Ok(())
    }

    /// Reads the values of an event, and sums them.
    #[inline]
    fn read_values(
        &mut self,
        (event, kind): (&RawTrackEvent<'_>, Option<EventKind>),
        packet: &PlacedPacket<'_>,
        time: Time,
        (state, uuids): (&mut SequenceState, &mut Uuids),
    ) -> Result<(), Fault> {
        self.values.clear(packet.generation);
        let is_counter = kind == Some(EventKind::Counter);
        if is_counter || event.has_more_values {
            let defaults = &state.defaults;
            self.values.read(event, is_counter, packet.part, defaults, uuids);
            let waits = matches!(time, Time::Later(_));
            let sums = state.sums.get_or_insert_default();
            self.values.sum(sums, uuids, waits)?;
        }
        Ok(())
    }

    /// Drops an event whose track cannot exist. Its values count for the sums of later events.
    fn without_track(
        &self,
        cause: Cause,
        time: Time,
        packet: &PlacedPacket<'_>,
        context: &mut ImportContext,
    ) -> Result<(), Fault> {
        if !self.values.is_held {
            return Err(PARSER_ERROR.dropping(cause));
        }
        let (values, held) = (&self.values, &mut context.writers.values);
        match time {
            Time::At(ts) => held.hold_dropped(ts, values, packet),
            Time::Later(own) => {
                held.waiting_dropped(own, values, packet, &mut context.events.record);
                context.packet_waits(packet);
            }
            Time::Unplaced => {}
        }
        Ok(())
    }
}

/// Gives an event to the timeline, or holds it for its values. If the event waits for the time of
/// its packet, only its record is written.
#[inline]
fn give(
    event: &TrackEvent<'_>,
    time: Time,
    values: &EventValues,
    held: &mut HeldValues,
    events: &mut EventSink,
) {
    match time {
        Time::At(ts) if values.is_held => {
            let place = events.timeline.reserve();
            held.hold(ts, place, values, event);
        }
        Time::At(ts) => {
            event.write(&mut events.record);
            events.timeline.push(ts, &events.record);
        }
        Time::Later(own) => held.waiting(own, values, event, &mut events.record),
        Time::Unplaced => {}
    }
}

/// The time of an event (rule E4). A delta is always added to the sequence's reference, even if the
/// event is dropped.
fn time(
    event: &RawTrackEvent<'_>,
    packet: &PlacedPacket<'_>,
    state: &mut SequenceState,
    place: &mut Place,
) -> Result<Time, Fault> {
    let own = match event.time_delta {
        Some(delta) => {
            let time = &mut state.references().ok_or(dropped::TIME_DELTA)?.time_us;
            *time = time.saturating_add(delta);
            Some(*time)
        }
        None => Some(event.time_absolute).filter(|&time| time != 0),
    };
    let Some(own) = own else {
        let placement = &packet.placement;
        return match (placement.ts, packet.header.timestamp) {
            (Some(ts), _) => on_time(ts),
            (None, None) => Err(dropped::MISSING_TIME),
            (None, Some(_)) if placement.waits => Ok(Time::Later(None)),
            (None, Some(_)) => Ok(Time::Unplaced),
        };
    };
    let ns = own.saturating_mul(NS_PER_US);
    let reading = u64::try_from(ns).map_err(|_| dropped::INVALID_TIME)?;
    let is_unplaced = packet.placement.ts.is_none() && packet.header.timestamp.is_some();
    if is_unplaced && !packet.placement.waits {
        return Ok(Time::Unplaced);
    }
    let monotonic = place.clocks.event_clock(packet.part, Some((ClockId::MONOTONIC, SeqId(0))));
    let placed = place.clocks.place_event(&monotonic, reading);
    let time = on_time(placed.unwrap_or(TraceTime(ns)))?;
    Ok(match time {
        Time::At(ts) if is_unplaced => Time::Later(Some(ts)),
        time => time,
    })
}

fn on_time(ts: TraceTime) -> Result<Time, Fault> {
    match ts {
        TraceTime(..0) => Err(BEFORE_ZERO),
        ts => Ok(Time::At(ts)),
    }
}

/// The time in nanoseconds and the instructions that its thread has spent until then
/// (rule L1).
fn spent(
    event: &RawTrackEvent<'_>,
    state: &mut SequenceState,
) -> Result<(Option<i64>, Option<i64>), Fault> {
    let time = match event.thread_time_delta {
        Some(delta) => {
            let references = state.references().ok_or(dropped::THREAD_TIME_DELTA)?;
            let sum = &mut references.thread_time_us;
            *sum = sum.saturating_add(delta);
            Some(*sum)
        }
        None => event.thread_time_absolute,
    };
    let instructions = match event.instructions_delta {
        Some(delta) => {
            let references = state.references().ok_or(dropped::INSTRUCTIONS_DELTA)?;
            let sum = &mut references.instructions;
            *sum = sum.saturating_add(delta);
            Some(*sum)
        }
        None => event.instructions_absolute,
    };
    Ok((time.map(|time| time.saturating_mul(NS_PER_US)), instructions))
}

/// The kind of an event (rule E7); `None` if the event has neither type nor phase.
fn event_kind(event: &RawTrackEvent<'_>) -> Option<EventKind> {
    let event_type = event.event_type.unwrap_or(event_type::UNSPECIFIED);
    match (event_type, event.phase()) {
        (event_type::COUNTER, _) => Some(EventKind::Counter),
        (event_type::STATE, _) => Some(EventKind::State),
        (event_type::UNSPECIFIED, 0) => None,
        (event_type::SLICE_BEGIN, 0) => Some(EventKind::Begin),
        (event_type::SLICE_END, 0) => Some(EventKind::End),
        (event_type::INSTANT, 0) => Some(EventKind::Instant),
        (_, 0) => Some(EventKind::Unknown),
        (_, phase) => Some(EventKind::Phase(u8::try_from(phase).unwrap_or(u8::MAX))),
    }
}

/// The track that an event names, or none if the event is on its thread's track; and this thread,
/// or the thread of its sequence (rules E8, L2). `None` if the thread of the event cannot exist.
fn track_and_thread(
    event: &RawTrackEvent<'_>,
    packet: &PlacedPacket<'_>,
    state: &SequenceState,
    uuids: &mut Uuids,
) -> Option<(Option<UuidIx>, Option<WriterThread>)> {
    let part = packet.part;
    let uuid = event.track_uuid.or(state.defaults.track_uuid()).unwrap_or(0);
    let own = state.thread();
    if uuid != 0 {
        let uuid = uuids.number(part, uuid);
        return Some((Some(uuid), own));
    }
    let own = own.and_then(|thread| Some((uuids.thread(thread)?, thread)));
    let pid = event.legacy.and_then(|legacy| legacy.pid_override);
    let tid = event.legacy.and_then(|legacy| legacy.tid_override);
    let lacks = event.track_uuid.is_none() || event.event_type.is_none();
    let of_sequence = own.filter(|_| tid.is_some() || lacks);
    let (writer, thread) = match (pid, tid, of_sequence) {
        (None, None, Some((writer, thread))) => (writer, Some(thread)),
        (None, _, None) => return Some((Some(uuids.number(part, 0)), None)),
        _ => {
            let own = own.map(|(writer, _)| writer);
            let writer = Writer::of_event(own, (pid, tid), packet.trusted_pid());
            (writer, None)
        }
    };
    let is_thread = writer.pid != 0 && writer.tid != 0;
    is_thread.then(|| (None, Some(thread.unwrap_or_else(|| uuids.writer(writer)))))
}

/// The name of an event (rule E6); `None` if its number has no entry.
fn name<'a>(event: &RawTrackEvent<'a>, look_up: &mut LookUp<'_>) -> Option<Called<'a>> {
    let iid = match event.name_iid {
        None | Some(0) => event.legacy_name_iid().unwrap_or(0),
        Some(iid) => iid,
    };
    match (iid, event.name) {
        (0, None) => Some(Called::Nothing),
        (0, Some(name)) => Some(Called::Text(String::from_utf8_lossy(name))),
        _ => look_up.called(interned::EVENT_NAMES, iid),
    }
}

/// The state of its track that an event states, if that is not the event's name (rule ST4).
fn state<'a>(event: &RawTrackEvent<'a>, kind: EventKind) -> Option<Called<'a>> {
    let has_name = |iid: Option<u64>| iid.is_some_and(|iid| iid != 0);
    let is_named_otherwise = event.name_iid.is_some() || has_name(event.legacy_name_iid());
    if kind != EventKind::State || has_name(event.name_iid) || !is_named_otherwise {
        return None;
    }
    Some(match (event.name_iid, event.name) {
        (None, Some(name)) => Called::Text(String::from_utf8_lossy(name)),
        _ => Called::Nothing,
    })
}

/// The category of an event (rule E6).
fn category<'a>(event: &RawTrackEvent<'a>, look_up: &mut LookUp<'_>) -> Called<'a> {
    const CATEGORIES: u32 = interned::EVENT_CATEGORIES;
    match (event.category_iids, event.has_categories) {
        (0, false) => return Called::Nothing,
        (1, false) => {
            let iid = event.category_iid;
            let called = look_up.called(CATEGORIES, iid);
            return called.unwrap_or_else(|| Called::Text(format!("unknown({iid})").into()));
        }
        _ => {}
    }
    let mut joined = String::new();
    let mut join = |text: &str| {
        if !joined.is_empty() {
            joined.push(',');
        }
        joined.push_str(text);
    };
    for iid in event.message.numbers(field::CATEGORY_IIDS) {
        match look_up.called(CATEGORIES, iid) {
            None => {}
            Some(Called::Nothing) => join(""),
            Some(Called::Known(name)) => join(look_up.names.text(name)),
            Some(Called::Text(text)) => join(&text),
        }
    }
    let mut texts = 0;
    for text in event.message.each(field::CATEGORIES) {
        join(&String::from_utf8_lossy(text));
        texts += 1;
    }
    let is_one = event.category_iids == 0 && texts == 1;
    match joined.is_empty() && !is_one {
        true => Called::Nothing,
        false => Called::Text(joined.into()),
    }
}

/// The text of the first annotation, if the event may name a thread or a process
/// (rule L6).
fn note<'a>(event: &RawTrackEvent<'a>, kind: EventKind) -> Option<&'a str> {
    if kind != EventKind::Phase(b'M') {
        return None;
    }
    let first = event.message.messages(field::DEBUG_ANNOTATIONS).next()?;
    let text = first.bytes(annotation::STRING_VALUE).unwrap_or_default();
    Some(std::str::from_utf8(text).unwrap_or_default())
}

/// The callstack of an event (rule FP4). The interned data of its interval is kept for it.
#[inline]
fn stack<'a>(
    event: &RawTrackEvent<'a>,
    interval: Interval,
    place: &mut Place,
) -> Option<EventStack<'a>> {
    let frames = match (event.callstack_iid, event.callstack) {
        (Some(iid), _) => StackFrames::Interned(iid),
        (None, frames) => StackFrames::Inline(frames?),
    };
    Some(EventStack {
        interval,
        until: place.interned.keep(interval),
        frames,
        weight: event.callstack_weight,
    })
}

/// The flows of an event (rules G1, except for `bind_id`, and GP9).
fn flows<'a>(event: &RawTrackEvent<'a>) -> impl Iterator<Item = (FlowStep, u64)> + use<'a> {
    let message = event.message;
    let ids = move |field, old_field| {
        let mut ids = message.fixed(field).peekable();
        let old = match ids.peek() {
            Some(_) => Message::default(),
            None => message,
        };
        ids.chain(old.numbers(old_field))
    };
    let goes = ids(field::FLOW_IDS, field::FLOW_IDS_OLD);
    let terminates = ids(field::TERMINATING_FLOW_IDS, field::TERMINATING_FLOW_IDS_OLD);
    let goes = goes.map(|id| (FlowStep::Goes, id));
    let of_flows = goes.chain(terminates.map(|id| (FlowStep::Terminates, id)));
    let correlation = message.messages(GPU_CORRELATION).next();
    let correlation = correlation.unwrap_or_default();
    let submits = correlation.numbers(1).map(|id| (FlowStep::Submits, id));
    let awaits = correlation.numbers(2).map(|id| (FlowStep::Awaits, id));
    of_flows.chain(submits).chain(awaits)
}
