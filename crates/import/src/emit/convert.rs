//! Writes the rows of JSON traces as Perfetto traces (rules CV).

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
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
use super::message::Message;
use super::owned::described;
use super::owners::{OwnerDescriptor, Owners};
use super::samples::{SAMPLES, Sample, Samples};
use super::sequence::{Sequences, Sink, Table, Time, unused};
use super::texts::Texts;
use super::tracks::{Choice, Described, Kind, Lanes, STATES, State, Track, Tracks};
use super::uuids::Uuids;

/// The sequences of samples have numbers from this far behind those of events on: found rows take those between.
const SAMPLED: u64 = 1 << 16;

/// Flow ids of the written trace begin here. Trace processor has one space for these and for ids of other kinds.
const FIRST_FLOW: i64 = 1 << 32;

/// Things that are not as they were, and their number.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unlike {
    /// Processes with the pid 0, which are the kernel's idle ones.
    pub idle: u64,
    /// Threads with CPU times, which are values of a counter, too.
    pub timed: u64,
    /// Tracks of threads and processes that have the name of their file, because other files have such tracks, too.
    pub apart: u64,
    /// Tracks of threads and processes that the Perfetto trace beside describes several times, which have no owner.
    pub ownerless: u64,
    /// Slices and values before time 0, which are left out.
    pub negative: u64,
    /// Processes and threads with other numbers.
    pub renumbered: u64,
    /// Nameless tracks that get a name.
    pub nameless: u64,
    /// Arguments that no annotation can hold.
    pub arguments: u64,
    /// CPU times of slices that are 0 or unknown, where the other one is written.
    pub thread_durs: u64,
    /// Ends of slices below or above others that do not end with them, which readers give to others.
    pub ends: u64,
    /// Slices whose ends do not fit 64 bits, which have none.
    pub endless: u64,
    /// Flows between two slices of one time, which point the other way.
    pub flows: u64,
    /// States of threads, which are slices.
    pub states: u64,
    /// Samples of callstacks, which are left out beside Perfetto traces.
    pub samples: u64,
    /// Samples of callstacks that are less than a microsecond too early.
    pub rounded: u64,
}

impl AddAssign for Unlike {
    fn add_assign(&mut self, other: Unlike) {
        let Unlike {
            idle,
            timed,
            apart,
            ownerless,
            negative,
            renumbered,
            nameless,
            arguments,
            thread_durs,
            ends,
            endless,
            flows,
            states,
            samples,
            rounded,
        } = other;
        self.idle += idle;
        self.timed += timed;
        self.apart += apart;
        self.ownerless += ownerless;
        self.negative += negative;
        self.renumbered += renumbered;
        self.nameless += nameless;
        self.arguments += arguments;
        self.thread_durs += thread_durs;
        self.ends += ends;
        self.endless += endless;
        self.flows += flows;
        self.states += states;
        self.samples += samples;
        self.rounded += rounded;
    }
}

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

/// The form of a trace that is written.
#[derive(Debug)]
pub(crate) struct Form {
    /// The file whose rows are written; `None` for those of all JSON traces.
    pub file: Option<i64>,
    /// The numbers of machines in packets, by their rows. Others have 0.
    pub machines: HashMap<i64, u64>,
    /// The clock that packets name; 0 for none.
    pub clock: u32,
    /// The sequences of descriptors and of events. A thread's descriptor would make events of its sequence the thread's.
    pub sequences: (u64, u64),
    /// Whether it begins with what producers say of their clocks (rule JS32).
    pub has_snapshot: bool,
}

impl Form {
    /// A trace of its own.
    pub fn alone(file: Option<i64>) -> Form {
        Form { file, machines: HashMap::new(), clock: 0, sequences: (1, 2), has_snapshot: true }
    }

    /// One trace of all JSON traces of a database.
    ///
    /// # Errors
    ///
    /// If the database cannot be read.
    pub fn of_all(conn: &Connection) -> rusqlite::Result<Form> {
        let mut statement = conn.prepare("SELECT id, id FROM machine WHERE id > 0")?;
        let machines = statement.query_map([], |row| {
            let (row, number): (i64, i64) = (row.get(0)?, row.get(1)?);
            Ok((row, number.cast_unsigned()))
        })?;
        Ok(Form { machines: machines.collect::<rusqlite::Result<_>>()?, ..Form::alone(None) })
    }

    /// The packets of all JSON traces of a database, among those of its Perfetto trace, with times on a clock.
    ///
    /// # Errors
    ///
    /// If the database cannot be read.
    pub fn beside(conn: &Connection, clock: u32) -> rusqlite::Result<Form> {
        let mut statement = conn.prepare("SELECT id, raw_id FROM machine ORDER BY id")?;
        let machines = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let machines: Vec<(i64, Option<i64>)> = machines.collect::<rusqlite::Result<_>>()?;
        let own = |raw: Option<i64>| raw.and_then(|raw| u32::try_from(raw).ok()).map(u64::from);
        let used: HashSet<u64> = machines.iter().filter_map(|(_, raw)| own(*raw)).collect();
        let mut free = (1..).filter(|number| !used.contains(number));
        let numbers = machines.iter().map(|(row, raw)| {
            let number = own(*raw).or_else(|| free.next()).unwrap_or(0);
            (*row, number)
        });
        let machines = numbers.collect();
        Ok(Form {
            machines,
            clock,
            sequences: unused(conn)?,
            has_snapshot: false,
            ..Form::alone(None)
        })
    }
}

/// The rows of JSON traces, in a database that may have those of Perfetto traces, too.
pub(crate) struct JsonRows<'c> {
    conn: &'c Connection,
    uuids: Uuids,
    owners: Owners,
    /// Whether there are Perfetto traces. They may describe the same threads, and a descriptor is then not earlier than
    /// the first row below it: an earlier one would be of the thread that had the tid before.
    is_beside: bool,
    /// The first file of each machine that only JSON traces have. It has the threads without rows, and threads' states,
    /// which are of no file.
    homes: HashMap<i64, i64>,
    has_states: bool,
    outlasted: HashSet<i64>,
    /// The number of samples of callstacks of JSON traces.
    samples: u64,
}

const HOMES: &str = "
    SELECT machine_id, trace_file_id FROM part AS p JOIN trace_file AS f ON f.id = p.trace_file_id
    WHERE NOT EXISTS (SELECT * FROM part AS o JOIN trace_file AS of ON of.id = o.trace_file_id
                      WHERE o.machine_id = p.machine_id AND of.trace_type <> 'json')
    ORDER BY f.processing_order DESC";

impl<'c> JsonRows<'c> {
    /// # Errors
    ///
    /// If the database cannot be read.
    pub fn of(conn: &'c Connection) -> rusqlite::Result<JsonRows<'c>> {
        let is = |sql: &str| conn.query_row(sql, [], |row| row.get::<_, bool>(0));
        let is_beside = is("SELECT EXISTS (SELECT * FROM trace_file WHERE trace_type = 'proto')")?;
        let mut used = HashSet::new();
        let beside = is_beside.then(|| described(conn, &mut used)).transpose()?;
        let uuids = match is_beside {
            true => Uuids::apart(&used),
            false => Uuids { base: 0 },
        };
        let mut statement = conn.prepare(HOMES)?;
        let homes = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        // Only JSON traces have this source.
        let samples = "SELECT count(*) FROM stack_sample_record AS s JOIN stack_sample_source AS o ON o.id = s.source
                       WHERE o.name = 'legacy_v8'";
        let samples: i64 = conn.query_row(samples, [], |row| row.get(0))?;
        Ok(JsonRows {
            conn,
            uuids,
            owners: Owners::of(conn, uuids, beside.as_ref())?,
            is_beside,
            homes: homes.collect::<rusqlite::Result<_>>()?,
            has_states: is("SELECT EXISTS (SELECT * FROM thread_state)")?,
            outlasted: outlasted(conn)?,
            samples: samples.cast_unsigned(),
        })
    }

    /// Things that are not as they were in all traces together.
    pub fn unlike(&self) -> Unlike {
        // Beside a Perfetto trace, MONOTONIC, on which they are read, may lead elsewhere.
        let samples = if self.is_beside { self.samples } else { 0 };
        Unlike { renumbered: self.owners.renumbered, samples, ..Unlike::default() }
    }

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
            unlike: Unlike {
                idle: idle as u64,
                timed: tracks.timed,
                nameless: tracks.nameless,
                apart: tracks.apart,
                ownerless: tracks.ownerless,
                ..Unlike::default()
            },
            tracks: &tracks,
            out: &mut counted,
        };
        events.describe(None)?;
        events.write()?;
        written.unlike = events.unlike;
        Ok(written)
    }

    /// Whether the trace has what no file of a machine has for itself.
    fn is_home(&self, form: &Form, machine: i64) -> bool {
        let home = self.homes.get(&machine);
        home.is_some_and(|home| form.file.is_none_or(|file| file == *home))
    }

    /// The descriptors of owners and tracks, in their order.
    fn descriptors(
        &self,
        choice: &Choice<'_>,
        form: &Form,
        tracks: &Tracks,
    ) -> VecDeque<Described> {
        let machines: BTreeSet<u64> = tracks.all.values().map(|track| track.machine).collect();
        let sorted = machines.into_iter().filter(|_| self.owners.are_sorted());
        let sorted = sorted.map(|machine| Described {
            first: None,
            machine,
            message: descriptors::sorted(),
        });
        // Where there is a Perfetto trace, it is not known whose thread one without rows is.
        let is_wanted = |owner: &OwnerDescriptor| {
            tracks.owners.contains_key(&owner.key) || self.is_home(form, owner.machine)
        };
        let owners = self.owners.descriptors(form.file.is_none());
        let owners: Vec<OwnerDescriptor> = owners.filter(is_wanted).collect();
        let owners = owners.into_iter().map(|owner| Described {
            first: tracks.owners.get(&owner.key).copied().flatten(),
            machine: choice.machine(owner.machine),
            message: owner.message,
        });
        let all = sorted.chain(owners).chain(tracks.descriptors.iter().cloned());
        let mut all: Vec<Described> = match self.is_beside {
            false => all.map(|of| Described { first: None, ..of }).collect(),
            true => all.collect(),
        };
        all.sort_by_key(|of| of.first);
        all.into()
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

/// Slices that cannot be complete events or instants: one inside ends later, begins at their end, or is longer than an
/// instant.
fn outlasted(conn: &Connection) -> rusqlite::Result<HashSet<i64>> {
    let mut statement = conn.prepare(
        "WITH RECURSIVE found (id) AS (
           SELECT p.id FROM slice_record AS c JOIN slice_record AS p ON p.id = c.parent_id
           WHERE p.dur >= 0 AND (c.dur < 0 OR c.ts + c.dur > p.ts + p.dur OR p.dur > 0 AND c.ts = p.ts + p.dur
                              OR p.dur = 0 AND c.dur <> 0)
           UNION
           SELECT p.id FROM found JOIN slice_record AS c ON c.id = found.id
           JOIN slice_record AS p ON p.id = c.parent_id WHERE p.dur = 0)
         SELECT id FROM found",
    )?;
    statement.query_map([], |row| row.get(0))?.collect()
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

/// The ends of flows at slices.
struct Flows<'c> {
    /// `None` if the trace has no flows.
    statement: Option<Statement<'c>>,
}

/// A flow of a slice.
struct Flow {
    id: u64,
    /// The slice is the first of the two in the written trace, the last, or both.
    is_first: bool,
    is_last: bool,
    /// The name and category of a flow of version 1.
    legacy: Option<(Option<String>, Option<String>)>,
}

const FLOWS: &str = "
    SELECT f.id, f.slice_out, o.ts, f.slice_in, i.ts, f.arg_set_id IS NOT NULL, a.args ->> '$.name', a.args ->> '$.cat'
    FROM (SELECT id FROM flow WHERE slice_out = ?1 UNION SELECT id FROM flow WHERE slice_in = ?1) AS here
    JOIN flow AS f ON f.id = here.id
    JOIN slice_record AS o ON o.id = f.slice_out JOIN slice_record AS i ON i.id = f.slice_in
    LEFT JOIN arg_set AS a ON a.id = f.arg_set_id
    ORDER BY f.id";

impl<'c> Flows<'c> {
    fn of(conn: &'c Connection) -> rusqlite::Result<Flows<'c>> {
        let has_any: bool =
            conn.query_row("SELECT EXISTS (SELECT * FROM flow)", [], |row| row.get(0))?;
        let statement = has_any.then(|| conn.prepare(FLOWS)).transpose()?;
        Ok(Flows { statement })
    }

    /// The flows of a slice. Also counts those that are written the other way round, at their first slice.
    fn of_slice(&mut self, slice: i64, turned: &mut u64) -> rusqlite::Result<Vec<Flow>> {
        let Some(statement) = &mut self.statement else {
            return Ok(Vec::new());
        };
        let mut found = Vec::new();
        let mut rows = statement.query([slice])?;
        while let Some(row) = rows.next()? {
            let (out, into): (i64, i64) = (row.get(1)?, row.get(3)?);
            let (at_out, at_in): (i64, i64) = (row.get(2)?, row.get(4)?);
            let is_turned = (at_in, into) < (at_out, out);
            let first = if is_turned { into } else { out };
            *turned += u64::from(is_turned && slice == first);
            found.push(Flow {
                id: FIRST_FLOW.saturating_add(row.get(0)?).cast_unsigned(),
                is_first: slice == first,
                is_last: out == into || slice != first,
                legacy: match row.get(5)? {
                    true => Some((row.get(6)?, row.get(7)?)),
                    false => None,
                },
            });
        }
        Ok(found)
    }
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
            self.unlike.negative += 1;
            return Ok(());
        }
        self.until(sample.ts)?;
        let machine = self.form.machines.get(&sample.machine).copied().unwrap_or(0);
        let time = Time { ts: Some(sample.ts), clock: self.form.clock, machine };
        let is_exact = self.samples.write(sample, numbers, time, self.out)?;
        self.unlike.rounded += u64::from(!is_exact);
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
            self.unlike.negative += 1;
            return Ok(());
        }
        self.unlike.states += 1;
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
            self.unlike.negative += 1;
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
            self.unlike.negative += 1;
            return Ok(());
        }
        self.until(slice.ts)?;
        while let Some(end) = self.ends.at(slice.ts, slice.track, slice.depth) {
            self.end(end)?;
        }
        self.unlike.ends += self.ends.cut(slice.track, slice.ts);
        self.machine = track.machine;
        self.sequences.events(self.machine).begin();
        let flows = self.flows.of_slice(slice.id, &mut self.unlike.flows)?;
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
                self.unlike.thread_durs += u64::from(time.is_some() && thread_dur != Some(0));
                event(EventType::Instant, track.uuid)
            }
            (None, None) => {
                let end = match slice.dur {
                    dur if dur < 0 => i64::MAX,
                    dur => slice.ts.saturating_add(dur),
                };
                self.unlike.endless += u64::from(slice.dur >= 0 && end == i64::MAX);
                let thread_end =
                    time.zip(thread_dur).and_then(|((_, ts), dur)| ts.checked_add(dur));
                self.unlike.thread_durs += u64::from(thread_dur == Some(0));
                let Slice { track, depth, name, category, .. } = *slice;
                self.ends.begin(Open { track, depth, end, name, category, thread_end });
                event(EventType::Begin, self.uuid(track))
            }
        };
        if slice.thread_dur.is_some() && time.is_none() {
            self.unlike.thread_durs += 1;
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
        self.unlike.ends += u64::from(is_taken) + self.ends.cut(slice.track, slice.end);
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
            self.unlike.arguments += left_out;
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
