//! Writes the rows of JSON traces as Perfetto traces (rules CV).

use std::collections::VecDeque;
use std::ops::AddAssign;

use rusqlite::{Connection, Row, Rows, Statement, params_from_iter};
use timebase_schema::fields::{
    clock_snapshot, clock_snapshot_clock, trace_attributes, trace_attributes_attribute,
    trace_packet, track_event, track_event_legacy_event as legacy,
};

use super::arguments::{Annotations, Scalar, Stored};
use super::descriptors::{self, ARGS, EventType, event};
use super::ends::{End, Ends, Open};
use super::error::EmitError;
use super::flows::{Flow, Flows};
use super::message::Message;
use super::rows::{Form, JsonRows};
use super::samples::{SAMPLES, Sample, Samples};
use super::sequence::{Sequences, Sink, Table, Time};
use super::texts::Texts;
use super::tracks::{Choice, Described, Kind, Lanes, STATES, State, Track, Tracks};
use super::unlike::{Difference, Unlike};

/// The sequences of samples have numbers from this far behind those of events on: found rows take those between.
const SAMPLED: u64 = 1 << 16;

/// The result of writing the rows of a trace.
#[derive(Debug, Default)]
pub(crate) struct Written {
    pub packets: u64,
    pub unlike: Unlike,
}

impl AddAssign for Written {
    fn add_assign(&mut self, other: Written) {
        self.packets += other.packets;
        self.unlike += other.unlike;
    }
}

impl JsonRows<'_> {
    /// Writes rows as packets.
    ///
    /// # Errors
    ///
    /// If the database cannot be read, or the receiver does not take a packet.
    pub fn write(&self, form: &Form, out: &mut Sink<'_>) -> Result<Written, EmitError> {
        let mut written = Written::default();
        let mut counted = |ts: Option<i64>, packet: &[u8]| {
            written.packets += 1;
            out(ts, packet)
        };
        let conn = self.conn;
        let idle = self.owners.idle().filter(|machine| self.is_home(form, *machine)).count();
        let choice = Choice {
            owners: &self.owners,
            uuids: self.uuids,
            file: form.file,
            machines: &form.machines,
        };
        let mut tracks = Tracks::of(conn, &choice)?;
        if self.has_states {
            tracks.add_states(conn, &choice, |machine| self.is_home(form, machine))?;
        }
        let mut sequences = Sequences::new(form.sequences.0, form.sequences.1);
        head(conn, form, &mut sequences, &mut counted)?;
        let mut events = Events {
            rows: self,
            form,
            described: self.descriptors(&choice, form, &tracks),
            texts: Texts::new(conn)?,
            sequences,
            machine: 0,
            ends: Ends::default(),
            arguments: conn.prepare(ARGUMENTS)?,
            flows: Flows::of(conn)?,
            samples: Samples::new(conn, form.sequences.1.saturating_add(SAMPLED))?,
            unlike: tracks.unlike.clone(),
            tracks: &tracks,
            out: &mut counted,
        };
        events.unlike.count(Difference::Idle, idle as u64);
        events.describe(None)?;
        events.write()?;
        written.unlike = events.unlike;
        Ok(written)
    }
}

/// Packets about the whole trace: the field of arguments, the clocks and the facts.
fn head(
    conn: &Connection,
    form: &Form,
    sequences: &mut Sequences,
    out: &mut Sink<'_>,
) -> Result<(), EmitError> {
    let about = sequences.about(0);
    let extension = descriptors::args_extension();
    about.packet(Time::default(), (trace_packet::EXTENSION_DESCRIPTOR, &extension), out)?;
    let mut snapshot = Message::new();
    // A snapshot of several files may have a clock of each.
    let mut statement = conn.prepare(
        "WITH first AS (SELECT clock_id, clock_value FROM clock_snapshot
                        WHERE snapshot_id = (SELECT min(snapshot_id) FROM clock_snapshot))
         SELECT clock_id, clock_value FROM first
         WHERE ?1 AND (SELECT count(*) = count(DISTINCT clock_id) FROM first) ORDER BY clock_id",
    )?;
    let mut rows = statement.query([form.has_snapshot])?;
    while let Some(row) = rows.next()? {
        let mut clock = Message::new();
        clock.number(clock_snapshot_clock::CLOCK_ID, row.get::<_, i64>(0)?.cast_unsigned());
        clock.signed(clock_snapshot_clock::TIMESTAMP, row.get(1)?);
        snapshot.message(clock_snapshot::CLOCKS, &clock);
    }
    if !snapshot.is_empty() {
        about.packet(Time::default(), (trace_packet::CLOCK_SNAPSHOT, &snapshot), out)?;
    }
    let mut attributes = Message::new();
    let mut statement = conn.prepare(
        "SELECT name, iif(typeof(value) = 'integer', value, NULL), iif(typeof(value) = 'text', value, NULL)
         FROM fact WHERE name GLOB 'json*' AND file = ifnull(?1, file) ORDER BY id",
    )?;
    let mut rows = statement.query([form.file])?;
    while let Some(row) = rows.next()? {
        let mut attribute = Message::new();
        attribute.text(trace_attributes_attribute::KEY, &row.get::<_, String>(0)?);
        match (row.get::<_, Option<i64>>(1)?, row.get::<_, Option<String>>(2)?) {
            (Some(value), _) => attribute.signed(trace_attributes_attribute::LONG_VALUE, value),
            (None, Some(text)) => attribute.text(trace_attributes_attribute::STRING_VALUE, &text),
            (None, None) => &mut attribute,
        };
        attributes.message(trace_attributes::ATTRIBUTE, &attribute);
    }
    if !attributes.is_empty() {
        about.packet(Time::default(), (trace_packet::TRACE_ATTRIBUTES, &attributes), out)?;
    }
    Ok(())
}

const SLICES: &str = "SELECT ts, id, dur, track_id, category, name, depth, arg_set_id, thread_ts, thread_dur FROM slice_record";
const COUNTERS: &str = "SELECT ts, track_id, value FROM counter_record";
/// The rows of a file, which an index finds; all rows are in an order that needs none.
const OF_FILE: &str = "WHERE track_id IN (SELECT id FROM track_record WHERE trace_file_id = ?1)";
const ARGUMENTS: &str = "
    SELECT args, types, flat_keys FROM arg_set LEFT JOIN arg_type ON arg_type.id = type_id WHERE arg_set.id = ?1";

/// A row of `slice_record`.
#[derive(Debug, Clone, Copy)]
struct Slice {
    ts: i64,
    id: i64,
    dur: i64,
    track: i64,
    category: Option<i64>,
    name: Option<i64>,
    depth: i64,
    args: Option<i64>,
    thread_ts: Option<i64>,
    thread_dur: Option<i64>,
}

impl Slice {
    fn of(row: &Row<'_>) -> rusqlite::Result<Slice> {
        Ok(Slice {
            ts: row.get(0)?,
            id: row.get(1)?,
            dur: row.get(2)?,
            track: row.get(3)?,
            category: row.get(4)?,
            name: row.get(5)?,
            depth: row.get(6)?,
            args: row.get(7)?,
            thread_ts: row.get(8)?,
            thread_dur: row.get(9)?,
        })
    }
}

/// A value of a counter.
struct Value {
    ts: i64,
    track: i64,
    value: Option<f64>,
}

impl Value {
    fn of(row: &Row<'_>) -> rusqlite::Result<Value> {
        Ok(Value { ts: row.get(0)?, track: row.get(1)?, value: row.get(2)? })
    }
}

/// The next row of a query.
fn next<T>(
    rows: &mut Rows<'_>,
    of: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Option<T>> {
    rows.next()?.map(of).transpose()
}

/// Everything that has a time, in its order.
struct Events<'c, 'o> {
    rows: &'c JsonRows<'c>,
    form: &'c Form,
    tracks: &'c Tracks,
    /// The descriptors that are not written yet.
    described: VecDeque<Described>,
    texts: Texts<'c>,
    sequences: Sequences,
    /// The machine of the event that is written.
    machine: u64,
    ends: Ends,
    arguments: Statement<'c>,
    flows: Flows<'c>,
    samples: Samples<'c>,
    unlike: Unlike,
    out: &'o mut Sink<'o>,
}

impl Events<'_, '_> {
    fn write(&mut self) -> Result<(), EmitError> {
        let (conn, file) = (self.rows.conn, self.form.file);
        let sorted = |select: &str| match file {
            Some(_) => conn.prepare(&format!("{select} {OF_FILE} ORDER BY ts, id")),
            None => conn.prepare(&format!("{select} ORDER BY ts, id")),
        };
        let (mut slices, mut counters) = (sorted(SLICES)?, sorted(COUNTERS)?);
        let mut states = conn.prepare(STATES)?;
        let of_file = || params_from_iter(file);
        let (mut slices, mut counters) = (slices.query(of_file())?, counters.query(of_file())?);
        let mut states = states.query([])?;
        let mut slice = next(&mut slices, Slice::of)?;
        let mut value = next(&mut counters, Value::of)?;
        let mut state = match self.tracks.states.is_empty() {
            false => next(&mut states, State::of)?,
            true => None,
        };
        let mut samples = conn.prepare(SAMPLES)?;
        let mut samples = samples.query([])?;
        let has_samples = self.rows.samples > 0 && !self.rows.is_beside;
        let mut sample = match has_samples {
            true => next(&mut samples, Sample::of)?,
            false => None,
        };
        let mut lanes = Lanes::default();
        loop {
            let sample_ts = sample.as_ref().map(|sample| sample.ts);
            let slice_ts = slice.as_ref().map(|slice| slice.ts);
            let value_ts = value.as_ref().map(|value| value.ts);
            let state_ts = state.as_ref().map(|state| state.ts);
            let first = [slice_ts, value_ts, state_ts, sample_ts].into_iter().flatten().min();
            let Some(first) = first else { break };
            if let Some(row) = slice.take_if(|slice| slice.ts == first) {
                self.slice(&row)?;
                slice = next(&mut slices, Slice::of)?;
            } else if let Some(row) = value.take_if(|value| value.ts == first) {
                self.value(&row)?;
                value = next(&mut counters, Value::of)?;
            } else if let Some(row) = state.take_if(|state| state.ts == first) {
                self.state(&row, &mut lanes)?;
                state = next(&mut states, State::of)?;
            } else if let Some(row) = sample.take_if(|sample| sample.ts == first) {
                self.sample(&row)?;
                sample = next(&mut samples, Sample::of)?;
            }
        }
        while let Some(end) = self.ends.rest() {
            self.end(end)?;
        }
        self.describe(Some(i64::MAX))
    }

    /// Writes the descriptors up to a time, or those without one.
    fn describe(&mut self, until: Option<i64>) -> Result<(), EmitError> {
        while self.described.front().is_some_and(|of| of.first <= until)
            && let Some(Described { first, machine, message }) = self.described.pop_front()
        {
            let ts = first.map(|first| first.max(0));
            let time = Time { ts, clock: ts.map_or(0, |_| self.form.clock), machine };
            let payload = (trace_packet::TRACK_DESCRIPTOR, &message);
            self.sequences.about(machine).packet(time, payload, self.out)?;
        }
        Ok(())
    }

    fn sample(&mut self, sample: &Sample) -> Result<(), EmitError> {
        let numbers = self.rows.owners.numbers(sample.utid);
        let is_home = self.rows.is_home(self.form, sample.machine);
        let Some(numbers) = numbers.filter(|_| is_home) else {
            return Ok(());
        };
        if sample.ts < 0 {
            self.unlike.count(Difference::Negative, 1);
            return Ok(());
        }
        self.until(sample.ts)?;
        let machine = self.form.machines.get(&sample.machine).copied().unwrap_or(0);
        let time = Time { ts: Some(sample.ts), clock: self.form.clock, machine };
        let is_exact = self.samples.write(sample, numbers, time, self.out)?;
        self.unlike.count(Difference::Rounded, u64::from(!is_exact));
        Ok(())
    }

    /// A state of a thread, as a slice.
    fn state(&mut self, state: &State, lanes: &mut Lanes) -> Result<(), EmitError> {
        let lane = lanes.take(state.utid, state.ts, state.end());
        let track = self.tracks.states.get(&state.utid).and_then(|tracks| tracks.get(lane));
        let Some(track) = track.copied() else {
            return Ok(());
        };
        if state.ts < 0 {
            self.unlike.count(Difference::Negative, 1);
            return Ok(());
        }
        self.unlike.count(Difference::State, 1);
        self.until(state.ts)?;
        while let Some(end) = self.ends.at(state.ts, track, 0) {
            self.end(end)?;
        }
        self.machine = self.machine_of(track);
        self.sequences.events(self.machine).begin();
        let event_type = if state.dur == 0 { EventType::Instant } else { EventType::Begin };
        let mut written = event(event_type, self.uuid(track));
        if state.dur != 0 {
            let end = state.end();
            let (name, category, thread_end) = (None, None, None);
            self.ends.begin(Open { track, depth: 0, end, name, category, thread_end });
        }
        if let Some(name) = &state.name {
            let number = self.sequences.events(self.machine).number(Table::Names, name);
            written.number(track_event::NAME_IID, number);
        }
        let numbers = [("args.cpu", state.cpu), ("args.io_wait", state.io_wait)];
        let mut annotations = Annotations::default();
        for (key, value) in numbers {
            if let Some(value) = value {
                annotations.add(key, None, Scalar::Int(value));
            }
        }
        if let Some(function) = &state.blocked_function {
            let value = Scalar::Text(function.clone());
            annotations.add("args.blocked_function", None, value);
        }
        annotations.write(ARGS, &mut written, self.sequences.events(self.machine));
        self.event(state.ts, &written)
    }

    /// Writes the ends before a time, and the descriptors of what begins then.
    fn until(&mut self, ts: i64) -> Result<(), EmitError> {
        while let Some(end) = self.ends.before(ts) {
            self.end(end)?;
        }
        self.describe(Some(ts))?;
        Ok(())
    }

    fn event(&mut self, ts: i64, event: &Message) -> Result<(), EmitError> {
        let payload = (trace_packet::TRACK_EVENT, event);
        let time = Time { ts: Some(ts), clock: self.form.clock, machine: self.machine };
        let sequence = self.sequences.events(self.machine);
        Ok(sequence.packet(time, payload, self.out)?)
    }

    fn value(&mut self, value: &Value) -> Result<(), EmitError> {
        let Some(track) = self.tracks.all.get(&value.track) else {
            return Ok(());
        };
        if value.ts < 0 {
            self.unlike.count(Difference::Negative, 1);
            return Ok(());
        }
        self.until(value.ts)?;
        self.machine = track.machine;
        let mut written = event(EventType::Counter, track.uuid);
        match value.value.map(|value| (value, whole(value))) {
            Some((_, Some(whole))) => written.signed(track_event::COUNTER_VALUE, whole),
            Some((value, None)) => written.double(track_event::DOUBLE_COUNTER_VALUE, value),
            None => written.double(track_event::DOUBLE_COUNTER_VALUE, f64::NAN),
        };
        self.sequences.events(self.machine).begin();
        self.event(value.ts, &written)
    }

    fn slice(&mut self, slice: &Slice) -> Result<(), EmitError> {
        let Some(track) = self.tracks.all.get(&slice.track).copied() else {
            return Ok(());
        };
        if slice.ts < 0 {
            self.unlike.count(Difference::Negative, 1);
            return Ok(());
        }
        self.until(slice.ts)?;
        while let Some(end) = self.ends.at(slice.ts, slice.track, slice.depth) {
            self.end(end)?;
        }
        self.unlike.count(Difference::End, self.ends.cut(slice.track, slice.ts));
        self.machine = track.machine;
        self.sequences.events(self.machine).begin();
        let flows = self.flows.of_slice(slice.id)?;
        let turned = flows.iter().filter(|flow| flow.is_turned && flow.is_first).count();
        self.unlike.count(Difference::Flow, turned as u64);
        let mut written = self.begin(slice, &track)?;
        self.label(slice.name, slice.category, &mut written)?;
        for flow in flows.iter().filter(|flow| flow.legacy.is_none()) {
            if flow.is_first {
                written.fixed(track_event::FLOW_IDS, flow.id);
            }
            if flow.is_last {
                written.fixed(track_event::TERMINATING_FLOW_IDS, flow.id);
            }
        }
        if let Some(args) = slice.args {
            self.arguments(args, &mut written)?;
        }
        self.event(slice.ts, &written)?;
        for flow in &flows {
            if let Some((name, category)) = &flow.legacy {
                let label = (name.as_deref(), category.as_deref());
                self.legacy_flow(slice.ts, track.uuid, flow, label)?;
            }
        }
        Ok(())
    }

    /// The begin of a slice, or all of it, with its thread time.
    fn begin(&mut self, slice: &Slice, track: &Track) -> Result<Message, EmitError> {
        let time = track.thread_time.zip(slice.thread_ts);
        let thread_dur = slice.thread_dur.filter(|_| time.is_some());
        let is_outlasted = self.rows.outlasted.contains(&slice.id);
        let scope = match track.kind {
            Kind::GlobalInstants => Some(1),
            Kind::ProcessInstants => Some(2),
            _ => None,
        };
        let mut written = match (scope, complete(slice, track, is_outlasted)) {
            (Some(scope), _) => {
                let mut of_legacy = Message::new();
                of_legacy.number(legacy::PHASE, b'i'.into());
                of_legacy.number(legacy::INSTANT_EVENT_SCOPE, scope);
                on(track.uuid, &of_legacy)
            }
            (None, Some(micros)) => {
                let mut of_legacy = Message::new();
                of_legacy.number(legacy::PHASE, b'X'.into()).signed(legacy::DURATION_US, micros);
                if let Some(thread_dur) = thread_dur {
                    of_legacy.signed(legacy::THREAD_DURATION_US, thread_dur / 1000);
                }
                on(track.uuid, &of_legacy)
            }
            (None, None) if slice.dur == 0 && !is_outlasted => {
                let is_other = time.is_some() && thread_dur != Some(0);
                self.unlike.count(Difference::ThreadDur, u64::from(is_other));
                event(EventType::Instant, track.uuid)
            }
            (None, None) => {
                let end = match slice.dur {
                    dur if dur < 0 => i64::MAX,
                    dur => slice.ts.saturating_add(dur),
                };
                let is_endless = slice.dur >= 0 && end == i64::MAX;
                self.unlike.count(Difference::Endless, u64::from(is_endless));
                let thread_end =
                    time.zip(thread_dur).and_then(|((_, ts), dur)| ts.checked_add(dur));
                self.unlike.count(Difference::ThreadDur, u64::from(thread_dur == Some(0)));
                let Slice { track, depth, name, category, .. } = *slice;
                self.ends.begin(Open { track, depth, end, name, category, thread_end });
                event(EventType::Begin, self.uuid(track))
            }
        };
        if slice.thread_dur.is_some() && time.is_none() {
            self.unlike.count(Difference::ThreadDur, 1);
        }
        if let Some((uuid, thread_ts)) = time {
            thread_time(uuid, thread_ts, &mut written);
        }
        Ok(written)
    }

    fn uuid(&self, track: i64) -> u64 {
        self.tracks.all.get(&track).map_or(0, |track| track.uuid)
    }

    fn machine_of(&self, track: i64) -> u64 {
        self.tracks.all.get(&track).map_or(0, |track| track.machine)
    }

    fn end(&mut self, End { slice, is_covered, is_taken }: End) -> Result<(), EmitError> {
        let cut = self.ends.cut(slice.track, slice.end);
        self.unlike.count(Difference::End, u64::from(is_taken) + cut);
        self.machine = self.machine_of(slice.track);
        self.sequences.events(self.machine).begin();
        let mut written = event(EventType::End, self.uuid(slice.track));
        if is_covered {
            self.label(slice.name, slice.category, &mut written)?;
        }
        let track = self.tracks.all.get(&slice.track);
        if let (Some(uuid), Some(time)) =
            (track.and_then(|track| track.thread_time), slice.thread_end)
        {
            thread_time(uuid, time, &mut written);
        }
        self.event(slice.end, &written)
    }

    /// Adds a name and a category.
    fn label(
        &mut self,
        name: Option<i64>,
        category: Option<i64>,
        event: &mut Message,
    ) -> Result<(), EmitError> {
        if let Some(name) = self.texts.get(name)? {
            event.number(
                track_event::NAME_IID,
                self.sequences.events(self.machine).number(Table::Names, name),
            );
        }
        if let Some(category) = self.texts.get(category)? {
            let number = self.sequences.events(self.machine).number(Table::Categories, category);
            event.number(track_event::CATEGORY_IIDS, number);
        }
        Ok(())
    }

    fn arguments(&mut self, id: i64, event: &mut Message) -> Result<(), EmitError> {
        let mut rows = self.arguments.query([id])?;
        if let Some(row) = rows.next()? {
            let text =
                |column| row.get_ref(column)?.as_str_or_null().map_err(rusqlite::Error::from);
            let stored =
                Stored { args: text(0)?.unwrap_or_default(), types: text(1)?, flat_keys: text(2)? };
            let left_out =
                Annotations::of(stored).write(ARGS, event, self.sequences.events(self.machine));
            self.unlike.count(Difference::Argument, left_out);
        }
        Ok(())
    }

    /// A flow of version 1, at the slice that was just begun.
    fn legacy_flow(
        &mut self,
        ts: i64,
        uuid: u64,
        flow: &Flow,
        (name, category): (Option<&str>, Option<&str>),
    ) -> Result<(), EmitError> {
        let phases = [(flow.is_first, b's'), (flow.is_last, b'f')];
        for (_, phase) in phases.into_iter().filter(|(is_here, _)| *is_here) {
            self.sequences.events(self.machine).begin();
            let mut of_legacy = Message::new();
            of_legacy.number(legacy::PHASE, phase.into()).number(legacy::UNSCOPED_ID, flow.id);
            if phase == b'f' {
                of_legacy.number(legacy::BIND_TO_ENCLOSING, 1);
            }
            let mut written = on(uuid, &of_legacy);
            if let Some(name) = name {
                written.number(
                    track_event::NAME_IID,
                    self.sequences.events(self.machine).number(Table::Names, name),
                );
            }
            if let Some(category) = category {
                let number =
                    self.sequences.events(self.machine).number(Table::Categories, category);
                written.number(track_event::CATEGORY_IIDS, number);
            }
            self.event(ts, &written)?;
        }
        Ok(())
    }
}

/// The microseconds of a slice that is written as one event: a complete one. Readers drop it on lanes, and give it a
/// thread time of whole microseconds, which is 0 if it is unknown.
fn complete(slice: &Slice, track: &Track, is_outlasted: bool) -> Option<i64> {
    let is_whole = |ns: i64| ns % 1000 == 0;
    let has_time = track.thread_time.is_some() && slice.thread_ts.is_some();
    let is_time_whole = !has_time || slice.thread_dur.is_some_and(is_whole);
    let is_complete =
        track.kind == Kind::Thread && slice.dur > 0 && is_whole(slice.dur) && is_time_whole;
    (is_complete && !is_outlasted).then_some(slice.dur / 1000)
}

/// A legacy event on a track.
pub(super) fn on(uuid: u64, legacy: &Message) -> Message {
    let mut event = Message::new();
    event.number(track_event::TRACK_UUID, uuid).message(track_event::LEGACY_EVENT, legacy);
    event
}

/// Adds a value of a thread's CPU time to an event.
fn thread_time(uuid: u64, value: i64, event: &mut Message) {
    event.number(track_event::EXTRA_COUNTER_TRACK_UUIDS, uuid);
    event.signed(track_event::EXTRA_COUNTER_VALUES, value);
}

/// The integer that is this number, if a double holds it exactly.
pub(super) fn whole(value: f64) -> Option<i64> {
    /// Above this, a double may stand for several integers.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let is_whole = value.fract() == 0.0 && value.abs() <= EXACT;
    // -0 is written as it is.
    (is_whole && !(value == 0.0 && value.is_sign_negative())).then_some(value as i64)
}
