//! Events for tests of trackers, and the resulting rows as texts.

use std::collections::BTreeMap;
use std::sync::mpsc::{channel, sync_channel};

use timebase_schema::fields::interned_data as interned;
use timebase_schema::{Table, tables};
use timebase_trace::{Interned, Interval, Kept, Monitor};

use crate::definitions::Definitions;
use crate::limits::Watch;
use crate::manifest::MachineRef;
use crate::output::{Batch, Cell, Outlet, Rows};
use crate::place::{PartIx, PartKeys, TraceTime};
use crate::subjects::{Subject, Wanted};
use crate::timeline::{Event, FtraceEvent, PacketEvent, Timeline};
use crate::world::{ArgRows, World};

/// A field of a message.
pub(crate) enum Field<'a> {
    Number(u64),
    Double(f64),
    Bytes(&'a [u8]),
}

pub(crate) use Field::{Bytes, Double, Number};

pub(crate) fn message(fields: &[(u32, Field<'_>)]) -> Vec<u8> {
    let mut message = Vec::new();
    for (number, field) in fields {
        let (wire_type, value) = match field {
            Number(value) => (0, *value),
            Double(_) => (1, 0),
            Bytes(bytes) => (2, bytes.len() as u64),
        };
        prost::encoding::encode_varint(u64::from(*number) << 3 | wire_type, &mut message);
        match field {
            Double(value) => message.extend_from_slice(&value.to_le_bytes()),
            Number(_) | Bytes(_) => prost::encoding::encode_varint(value, &mut message),
        }
        if let Bytes(bytes) = field {
            message.extend_from_slice(bytes);
        }
    }
    message
}

/// A trace: events by their times.
#[derive(Default)]
pub(crate) struct Trace {
    events: Vec<(i64, Vec<u8>)>,
    interned: Vec<u8>,
}

impl Trace {
    /// An event of CPU 3.
    pub fn ftrace(mut self, ts: i64, tid: u32, field: u32, fields: &[(u32, Field<'_>)]) -> Self {
        let event = Event::Ftrace(FtraceEvent {
            part: PartIx(0),
            machine: 0,
            cpu: 3,
            tid,
            interval: Interval::default(),
            field,
            message: &message(fields),
        });
        self.push(ts, &event);
        self
    }

    /// A mark of atrace.
    pub fn print(self, ts: i64, tid: u32, text: &str) -> Self {
        self.ftrace(ts, tid, 3, &[(2, Bytes(text.as_bytes()))])
    }

    pub fn packet(mut self, ts: i64, field: u32, payload: &[u8]) -> Self {
        let event = Event::Packet(PacketEvent {
            id: 0,
            part: PartIx(0),
            file: 0,
            machine: 0,
            field,
            trusted_pid: 0,
            interval: Interval::default(),
            valid: true,
            payload,
        });
        self.push(ts, &event);
        self
    }

    /// An entry of a field of `InternedData`.
    pub fn interned(mut self, field: u32, entry: &[(u32, Field<'_>)]) -> Self {
        let entry = message(entry);
        self.interned.extend(message(&[(field, Bytes(&entry))]));
        self
    }

    pub fn push(&mut self, ts: i64, event: &Event<'_>) {
        let mut record = Vec::new();
        event.write(&mut record);
        self.events.push((ts, record));
    }

    /// Follows the events, which are of a host if the definitions have no machine.
    pub fn follow(self, mut definitions: Definitions) -> WrittenRows {
        if definitions.machines.iter().next().is_none() {
            definitions.machines.see(MachineRef::HOST);
        }
        let directory = tempfile::tempdir().unwrap();
        let mut timeline = Timeline::new(true, &directory.path().into());
        for (ts, event) in &self.events {
            timeline.push(TraceTime(*ts), event);
        }
        let symbols = [(interned::KERNEL_SYMBOLS, Kept::Trace)];
        let mut interned =
            Interned::new(&[super::GPU_INTERNED, super::VULKAN_INTERNED, &symbols].concat());
        interned.add(Interval::default(), &self.interned).unwrap();
        WrittenRows::by(|rows| {
            let world = World::new(definitions, interned, &directory.path().into(), rows);
            let keys = PartKeys::new([(0, 0)]);
            super::follow(
                timeline,
                &keys,
                world,
                &directory.path().into(),
                &mut Watch::default(),
                rows,
            )
            .unwrap();
        })
    }

    /// The slices of the trace, in the order of their ids.
    pub fn slices(self) -> Vec<String> {
        self.follow(Definitions::default()).slices()
    }
}

/// The value of a column of a row.
fn of<'r>(table: &Table, row: &'r [String], column: &str) -> &'r str {
    &row[table.columns.iter().position(|name| *name == column).unwrap()]
}

/// Rows, as texts.
pub(crate) struct WrittenRows(Vec<Batch>);

impl WrittenRows {
    /// Collects the rows of `make`, which makes a few thousand at most.
    pub fn by(make: impl FnOnce(&mut Rows<'_>)) -> Self {
        let (full, batches) = sync_channel(1000);
        let (_sender, emptied) = channel();
        let monitor = Monitor::default();
        let outlet = Outlet { full, emptied, monitor: &monitor };
        let mut rows = Rows::new(outlet, Wanted::of(&Subject::ALL));
        make(&mut rows);
        rows.hand_over();
        drop(rows);
        let mut sets = ArgRows::default();
        let written = batches.into_iter().map(|mut batch| {
            sets.write(&mut batch);
            batch
        });
        WrittenRows(written.collect())
    }

    pub fn rows(&self, table: &'static Table) -> Vec<Vec<String>> {
        let cell = |batch: &Batch, cell: &Cell| match *cell {
            Cell::Null => "-".to_owned(),
            Cell::Integer(value) => value.to_string(),
            Cell::Real(value) => value.to_string(),
            Cell::Text { start, size } | Cell::Blob { start, size } => {
                String::from_utf8_lossy(batch.kept(start, size)).into_owned()
            }
        };
        let of = |batch| {
            let rows = Batch::rows(batch, table);
            rows.map(move |row| row.iter().map(|value| cell(batch, value)).collect())
        };
        self.0.iter().flat_map(of).collect()
    }

    /// Rows of a table by their first column.
    fn by_id(&self, table: &'static Table) -> BTreeMap<i64, Vec<String>> {
        let rows = self.rows(table).into_iter();
        rows.map(|row| (row[0].parse().unwrap(), row)).collect()
    }

    fn strings(&self) -> BTreeMap<String, String> {
        let rows = self.rows(&tables::string::TABLE).into_iter();
        let strings = rows.map(|row| (row[0].clone(), row[1].clone()));
        strings.chain([("-".into(), "-".into())]).collect()
    }

    /// Sets of arguments: ` key=value` for each. Values have no comma.
    fn args(&self) -> BTreeMap<String, String> {
        let rows = self.rows(&tables::arg_set::TABLE).into_iter();
        let set = |row: Vec<String>| {
            let json = row[1].trim_matches(['{', '}']);
            let args = json.replace('"', "").replace(',', " ").replace(':', "=");
            (row[0].clone(), format!(" {args}"))
        };
        let none = ("-".into(), String::new());
        rows.map(set).chain([none]).collect()
    }

    /// `type/name#id owner` for each track.
    pub fn tracks(&self) -> BTreeMap<String, String> {
        let rows = self.by_id(&tables::track_record::TABLE).into_values();
        let track = |row: Vec<String>| {
            let of = |column| of(&tables::track_record::TABLE, &row, column);
            let owner = ["utid", "upid", "ucpu", "ugpu"].map(|key| (key, of(key)));
            let owner = owner.iter().filter(|(_, id)| *id != "-");
            let owner: Vec<_> = owner.map(|(key, id)| format!(" {key}{id}")).collect();
            let said = format!("{}/{}#{}{}", of("type"), of("name"), row[0], owner.concat());
            (row[0].clone(), said)
        };
        rows.map(track).collect()
    }

    /// `ts+dur depth name, track key=value`, and the category before it, if there is one.
    pub fn slices(&self) -> Vec<String> {
        let (strings, args, tracks) = (self.strings(), self.args(), self.tracks());
        let rows = self.by_id(&tables::slice_record::TABLE).into_values();
        let slice = |row: Vec<String>| {
            let of = |column| of(&tables::slice_record::TABLE, &row, column);
            let category = match strings[of("category")].as_str() {
                "-" => String::new(),
                category => format!("{category}: "),
            };
            let (name, track) = (&strings[of("name")], &tracks[of("track_id")]);
            let (ts, dur, depth, args) =
                (of("ts"), of("dur"), of("depth"), &args[of("arg_set_id")]);
            format!("{category}{ts}+{dur} {depth} {name}, {track}{args}")
        };
        rows.map(slice).collect()
    }

    /// `ts value, track key=value` for each value.
    pub fn values(&self) -> Vec<String> {
        let (args, tracks) = (self.args(), self.tracks());
        let rows = self.by_id(&tables::counter_record::TABLE).into_values();
        let value = |row: Vec<String>| {
            let of = |column| of(&tables::counter_record::TABLE, &row, column);
            let (track, args) = (&tracks[of("track_id")], &args[of("arg_set_id")]);
            format!("{} {}, {track}{args}", of("ts"), of("value"))
        };
        rows.map(value).collect()
    }
}
