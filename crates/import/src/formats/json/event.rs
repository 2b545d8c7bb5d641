//! An event: its row, and its form for the timeline.

use std::borrow::Cow;
use std::io;
use std::ops::ControlFlow;

use rustc_hash::FxHashMap;
use timebase_trace::json::{Integer, Key, Number, Value};

use super::anchors::Anchors;
use super::fields::{Fields, flow_id, id, int, real, text};
use super::profile;
use super::threads::KnownThreads;
use crate::arguments::{ArgValue, JsonArgs};
use crate::definitions::{Names, json_fault as fault};
use crate::evidence::{FlowKey, Role};
use crate::formats::FileSession;
use crate::formats::session::PlacedRecord;
use crate::frame::{Record, RecordTime};
use crate::output::{Example, Fault};
use crate::readers::JsonTime;
use crate::timeline::{FlowDirection, InstantScope, JsonEvent, Label, NameOf, ThreadState};

/// Reads the events of a file.
#[derive(Debug, Default)]
pub(super) struct Events {
    threads: KnownThreads,
    args: JsonArgs,
    payload: Vec<u8>,
    id: String,
    bind: String,
}

impl Events {
    /// Reads an event at an offset.
    ///
    /// # Errors
    ///
    /// If the import needs too much memory.
    pub fn event(
        &mut self,
        (offset, event): (u64, Value<'_>),
        fields: &Fields<Value<'_>>,
        anchors: &mut Anchors,
        session: &mut FileSession<'_, '_>,
    ) -> io::Result<ControlFlow<()>> {
        let ts = fields.ts.ns;
        let time = match ts {
            None => RecordTime::None,
            Some(Ok(ts)) => RecordTime::OfFile(ts),
            Some(Err(_)) => RecordTime::Overflow,
        };
        let bytes = event.text();
        let size = bytes.len() as u64;
        let record = Record { row_type: "json_event", offset, size, bytes, time };
        session.record(&record, |mut at| {
            if !fields.is_empty {
                self.read(fields, anchors, &mut at);
            }
        })
    }

    fn read(
        &mut self,
        fields: &Fields<Value<'_>>,
        anchors: &mut Anchors,
        at: &mut PlacedRecord<'_>,
    ) {
        let ts = fields.ts.ns;
        let phase = fields.phase.and_then(Value::string);
        let Some(phase) = phase.and_then(|phase| phase.chars().next()) else {
            return drops(at, fault::NO_PHASE, fields);
        };
        let time = match ts {
            Some(Ok(_)) => JsonTime::OfRecord,
            // Its row tells that its time does not fit.
            Some(Err(_)) => return,
            None if phase == 'M' => JsonTime::First,
            None => return drops(at, fault::NO_TIME, fields),
        };
        if let Some(Ok(ts)) = ts {
            at.json_phase(phase, ts);
        }
        let (dur, no_dur) = fields.dur.optional();
        let (thread_time, no_thread_time) = fields.thread_time.optional();
        let (thread_dur, no_thread_dur) = fields.thread_dur.optional();
        let unusable = [no_dur, no_thread_time, no_thread_dur];
        at.faults(fault::TOKENIZER, unusable.into_iter().filter(|is| *is).count() as u32);
        let name = text(fields.name);
        let instant = instant(phase, fields);
        let has_zero = has_thread_zero(phase, instant, dur, name.as_deref());
        let thread = self.threads.number(fields, has_zero, at.json_threads());
        let category = text(fields.category);
        let mut event = JsonEvent {
            name: name.as_deref().map_or(Label::None, |name| at.label(name)),
            category: category.as_deref().map_or(Label::None, |category| at.label(category)),
            dur,
            thread_time,
            thread_dur,
            instant,
            ..at.json_event(phase, thread)
        };
        let mut id = None;
        match phase {
            'X' if dur.is_none() => {
                drops(at, fault::NO_DURATION, fields);
                return at.mention_json(time, &event);
            }
            'B' | 'E' | 'X' | 'i' | 'I' | 'R' => {}
            'b' | 'e' | 'n' | 'S' | 'F' | 'p' => id = Some(fields.async_id(&mut self.id)),
            'T' if dur.is_none() => id = Some(fields.async_id(&mut self.id)),
            's' | 't' | 'f' => {
                let id = fields.id.and_then(|id| flow_id(id, &mut self.id));
                event.id = id.map(|()| &*self.id);
                event.binds_enclosing =
                    fields.binds.and_then(Value::string).as_deref() == Some("e");
                if let (Some(id), Some(role)) = (event.id, Role::of_phase(phase)) {
                    let [category, name] = [&category, &name].map(|text| text.as_deref());
                    at.flow_moment(role, || {
                        FlowKey::json(id, category.unwrap_or_default(), name.unwrap_or_default())
                    });
                }
                return at.give_json(time, &event);
            }
            'T' => {
                self.payload.clear();
                state(fields).write(&mut self.payload);
                event.payload = &self.payload;
                return at.give_json(time, &event);
            }
            'C' => return self.counter(fields, name.as_deref(), &event, time, at),
            'M' => {
                if name.as_deref() == Some("process_name") {
                    anchors.process_start(fields, at.packet.id);
                }
                return self.names(fields, name.as_deref(), &event, time, at);
            }
            'P' => return profile::read(fields, &event, at),
            'c' => {
                Anchors::clock_sync(fields, at);
                return at.mention_json(time, &event);
            }
            _ => return at.mention_json(time, &event),
        }
        if let Some(is_local) = id {
            let Some(is_local) = is_local else {
                drops(at, fault::NO_ID, fields);
                return at.mention_json(time, &event);
            };
            (event.id, event.is_local) = (Some(&*self.id), is_local);
        }
        if matches!(phase, 'B' | 'X' | 'b' | 'n') {
            let bind = fields.bind_id.and_then(|id| flow_id(id, &mut self.bind));
            event.bind = bind.map(|()| (&*self.bind, direction(fields)));
            if let Some((id, Some(direction))) = event.bind {
                at.flow_moment(Role::from(direction), || FlowKey::bind(id));
            }
        }
        self.args.clear();
        let has_room = arguments(&mut self.args, phase, fields, at.names());
        at.faults(fault::PARSER, u32::from(!has_room));
        event.args = self.args.as_bytes();
        at.give_json(time, &event);
    }

    /// Gives the values of a counter event, each as an event of its own (rule JS26).
    fn counter(
        &mut self,
        fields: &Fields<Value<'_>>,
        name: Option<&str>,
        event: &JsonEvent<'_>,
        time: JsonTime,
        at: &mut PlacedRecord<'_>,
    ) {
        let Some(args) = fields.args else {
            drops(at, fault::NO_VALUE, fields);
            return at.mention_json(time, event);
        };
        let mut track = name.unwrap_or_default().to_owned();
        let id = fields.id.and_then(|id| match id.string() {
            Some(id) => Some(id).filter(|id| !id.is_empty()),
            None => int(id).map(|id| id.to_string().into()),
        });
        if let Some(id) = id {
            track.push_str(" id: ");
            track.push_str(&id);
        }
        let base = track.len();
        at.mention_json(time, event);
        for (key, value) in last_of_each(args) {
            let Some(value) = number(value) else {
                at.faults(fault::PARSER, 1);
                continue;
            };
            track.truncate(base);
            track.push(' ');
            track.push_str(&key.text());
            let payload = value.to_bits().to_le_bytes();
            let event = JsonEvent { name: at.label(&track), payload: &payload, ..*event };
            at.give_json(time, &event);
        }
    }

    /// Gives the name or the index of a thread or process (rule JS17).
    fn names(
        &mut self,
        fields: &Fields<Value<'_>>,
        name: Option<&str>,
        event: &JsonEvent<'_>,
        time: JsonTime,
        at: &mut PlacedRecord<'_>,
    ) {
        let (key, is_name) = match name {
            Some("process_name" | "thread_name") => ("name", true),
            Some("process_sort_index" | "thread_sort_index") => ("sort_index", false),
            _ => return at.mention_json(time, event),
        };
        let is_thread = matches!(name, Some("thread_name" | "thread_sort_index"));
        let members = fields.args.into_iter().flat_map(Value::members);
        let Some((_, value)) = members.filter(|(name, _)| name.is(key)).last() else {
            return at.mention_json(time, event);
        };
        self.payload.clear();
        let given = match is_name {
            true => text(Some(value)).map(|name| match is_thread {
                true => NameOf::Thread(&name).write(&mut self.payload),
                false => NameOf::Process(&name).write(&mut self.payload),
            }),
            false => low_bits(value).map(|index| match is_thread {
                true => NameOf::ThreadIndex(index).write(&mut self.payload),
                false => NameOf::ProcessIndex(index).write(&mut self.payload),
            }),
        };
        if given.is_none() {
            at.faults(fault::PARSER, 1);
            return at.mention_json(time, event);
        }
        at.give_json(time, &JsonEvent { payload: &self.payload, ..*event });
    }
}

/// Decodes the arguments of an event, and adds the one that says its phase (rule JS22). Returns whether all of them have
/// found room.
fn arguments(
    args: &mut JsonArgs,
    phase: char,
    fields: &Fields<Value<'_>>,
    names: &mut Names,
) -> bool {
    let has_room = fields.args.is_none_or(|of_event| args.decode(of_event, names));
    let phase = match phase {
        'S' => Some("S"),
        'p' => Some("p"),
        'T' => Some("T"),
        _ => None,
    };
    if let Some(phase) = phase {
        args.push("legacy_event.phase", ArgValue::Text(phase), names);
    }
    has_room
}

/// Counts a fault that drops an event.
#[cold]
fn drops(at: &mut PlacedRecord<'_>, fault: Fault, fields: &Fields<Value<'_>>) {
    let number = |value| match id(value) {
        Some(Integer::Number(number)) => Some(number),
        _ => None,
    };
    at.drops(fault, |example| Example {
        name: text(fields.name).map(Cow::into_owned),
        pid: number(fields.pid),
        tid: number(fields.tid),
        ..example
    });
}

/// The members of an object, of equal keys the last.
fn last_of_each(object: Value<'_>) -> Vec<(Key<'_>, Value<'_>)> {
    let mut members: Vec<(Key<'_>, Value<'_>)> = Vec::new();
    let mut places: FxHashMap<Cow<'_, str>, usize> = FxHashMap::default();
    for (key, value) in object.members() {
        let place = *places.entry(key.text()).or_insert(members.len());
        match members.get_mut(place) {
            Some(member) => member.1 = value,
            None => members.push((key, value)),
        }
    }
    members
}

/// The place of an instant (rule JS20).
fn instant(phase: char, fields: &Fields<Value<'_>>) -> InstantScope {
    let scope = fields.scope.filter(|_| matches!(phase, 'i' | 'I' | 'R'));
    match scope.and_then(Value::string).as_deref() {
        Some("g") => InstantScope::Global,
        Some("p") => InstantScope::Process,
        _ => InstantScope::Thread,
    }
}

/// Whether a tid of 0 is a thread of its own, and not missing (rule JS14).
fn has_thread_zero(
    phase: char,
    instant: InstantScope,
    dur: Option<i64>,
    name: Option<&str>,
) -> bool {
    match phase {
        'B' | 'E' | 'X' | 'P' | 's' | 't' | 'f' => true,
        'T' => dur.is_some(),
        'i' | 'I' | 'R' => instant == InstantScope::Thread,
        'M' => matches!(name, Some("thread_name" | "thread_sort_index")),
        _ => false,
    }
}

fn direction(fields: &Fields<Value<'_>>) -> Option<FlowDirection> {
    match (Fields::is_true(fields.flow_in), Fields::is_true(fields.flow_out)) {
        (true, true) => Some(FlowDirection::InOut),
        (true, false) => Some(FlowDirection::In),
        (false, true) => Some(FlowDirection::Out),
        (false, false) => None,
    }
}

/// The value of a counter.
fn number(value: Value<'_>) -> Option<f64> {
    match (value.string(), value.number()) {
        (Some(text), _) => real(&text),
        (None, Some(Number::Int(int))) => Some(int as f64),
        (None, Some(Number::Real(real))) => Some(real),
        (None, None) => None,
    }
}

/// The low 32 bits of an index, with its sign. A fraction is cut off; a text of digits is a number.
fn low_bits(value: Value<'_>) -> Option<i32> {
    match id(Some(value))? {
        Integer::Number(number) => Some(number as i32),
        // Its bits are those of a number that does not fit, which C's conversion leaves open.
        Integer::Text(_) => value.number().map(|_| 0),
    }
}

/// The state of a thread (rule JS27).
fn state<'a>(fields: &Fields<Value<'a>>) -> ThreadState<'a> {
    let mut state = ThreadState::default();
    for (key, value) in fields.args.into_iter().flat_map(Value::members) {
        if key.is("io_wait") {
            state.io_wait = int(value);
        } else if key.is("cpu") {
            state.cpu = int(value);
        } else if key.is("blocked_function") {
            state.blocked_function = value.string();
        }
    }
    state
}
