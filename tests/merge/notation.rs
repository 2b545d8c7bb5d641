//! Sets of files in the notation of the specification's examples, and the expected results: of the
//! model and of the program.

use super::archive::{self, File};
use super::database::{self, Database};
use super::graph::{BOOTTIME, REALTIME};
use super::model;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use timebase_lab::encode::{self, ClockSnapshot, Packet, Reading, SyncedClocks};

/// Clocks, by their letters in the examples.
pub const B: u32 = BOOTTIME;
pub const R: u32 = REALTIME;

/// Nanoseconds of a number of seconds, exactly: "1.1".
pub fn s(seconds: &str) -> u64 {
    let (whole, part) = seconds.split_once('.').unwrap_or((seconds, ""));
    let part = format!("{part:0<9}");
    whole.parse::<u64>().unwrap() * 1_000_000_000 + part.parse::<u64>().unwrap()
}

/// The same for REALTIME: this many seconds after r.
pub fn r(seconds: &str) -> u64 {
    s("1700000000") + s(seconds)
}

/// A packet of a file; an event has a name.
#[derive(Clone, Debug)]
pub struct Item {
    name: &'static str,
    pub packet: Packet,
}

impl From<Packet> for Item {
    fn from(packet: Packet) -> Item {
        Item { name: "", packet }
    }
}

impl Item {
    /// The same of another machine.
    pub fn of(mut self, machine_id: u32) -> Item {
        self.packet.machine_id = machine_id;
        self
    }

    /// The same on another sequence.
    pub fn on(mut self, seq: u32) -> Item {
        self.packet.seq = seq;
        self
    }
}

pub fn readings(clocks: Readings<'_>) -> ClockSnapshot {
    let reading = |(id, timestamp): &(u32, u64)| Reading {
        id: *id,
        timestamp: *timestamp,
        ..Reading::default()
    };
    ClockSnapshot { clocks: clocks.iter().map(reading).collect(), primary: None }
}

/// A snapshot of the tracing service.
pub fn snapshot(clocks: Readings<'_>) -> Item {
    Item::from(Packet { seq: 1, clock_snapshot: Some(readings(clocks)), ..Packet::default() })
}

/// The same, with the named clock.
pub fn primary(clocks: Readings<'_>, clock: u32) -> Item {
    let mut item = snapshot(clocks);
    if let Some(snapshot) = &mut item.packet.clock_snapshot {
        snapshot.primary = i32::try_from(clock).ok();
    }
    item
}

/// `event("x", B, s("1.1"))` is x@B1.1.
pub fn event(name: &'static str, clock: u32, timestamp: u64) -> Item {
    let mut item = plain(name, timestamp);
    item.packet.timestamp_clock_id = Some(clock);
    item
}

/// An event that names no clock: n@2.
pub fn plain(name: &'static str, timestamp: u64) -> Item {
    let packet = Packet {
        seq: 2,
        timestamp: Some(timestamp),
        payload: Some((11, Vec::new())),
        ..Packet::default()
    };
    Item { name, packet }
}

/// Clocks and their readings.
pub type Readings<'a> = &'a [(u32, u64)];

/// Alternate readings of a client and the host, on these clocks: a `RemoteClockSync` of machine 7.
pub fn sync(synced: &[(Readings<'_>, Readings<'_>)]) -> Item {
    let both = |(client, host): &(Readings<'_>, Readings<'_>)| SyncedClocks {
        client: readings(client),
        host: readings(host),
    };
    let packet = Packet {
        machine_id: 7,
        remote_clock_sync: Some(synced.iter().map(both).collect()),
        ..Packet::default()
    };
    packet.into()
}

/// The same with BOOTTIME only: `(client, host)` in seconds.
pub fn sync_boottime(synced: &[(&str, &str)]) -> Item {
    let synced: Vec<_> =
        synced.iter().map(|(client, host)| (vec![(B, s(client))], vec![(B, s(host))])).collect();
    let borrowed: Vec<(Readings<'_>, Readings<'_>)> =
        synced.iter().map(|(client, host)| (client.as_slice(), host.as_slice())).collect();
    sync(&borrowed)
}

/// Traces by their names, and a manifest if there is one.
#[derive(Clone, Debug, Default)]
pub struct Set {
    files: Vec<(String, Vec<Item>)>,
    others: Vec<File>,
    manifest: Option<String>,
}

impl Set {
    pub fn new() -> Set {
        Set::default()
    }

    pub fn file(mut self, name: &str, items: impl IntoIterator<Item = Item>) -> Set {
        let items = items.into_iter().collect();
        self.files.push((name.to_owned(), items));
        self
    }

    /// A file that is no trace, or not a plain one.
    pub fn other(mut self, name: &str, bytes: impl Into<Vec<u8>>) -> Set {
        self.others.push(File::new(name, bytes));
        self
    }

    /// A manifest with these fields, and a version.
    pub fn manifest(self, mut fields: Json) -> Set {
        if fields.get("version").is_none() {
            fields["version"] = json!(1);
        }
        self.manifest_text(&json!({ "perfetto_manifest": fields }).to_string())
    }

    pub fn manifest_text(mut self, text: &str) -> Set {
        self.manifest = Some(text.to_owned());
        self
    }

    /// Each file is a separate machine with the file's name.
    pub fn each_a_machine(self) -> Set {
        let entry =
            |(name, _): &(String, Vec<Item>)| json!({"path": name, "machine": {"name": name}});
        let files: Vec<Json> = self.files.iter().map(entry).collect();
        self.manifest(json!({ "files": files }))
    }

    /// The files as they are, without the manifest.
    pub fn files(&self) -> Vec<File> {
        let trace = |(name, items): &(String, Vec<Item>)| {
            let packets: Vec<Packet> = items.iter().map(|item| item.packet.clone()).collect();
            File::new(name, encode::trace(&packets))
        };
        let traces = self.files.iter().map(trace);
        traces.chain(self.others.iter().cloned()).collect()
    }

    /// The files, and the manifest among them.
    pub fn with_manifest(&self) -> Vec<File> {
        let mut files = self.files();
        if let Some(manifest) = &self.manifest {
            files.push(File::new("the.manifest", manifest.as_bytes()));
        }
        files
    }

    pub fn by_model(&self) -> Result<model::Imported, String> {
        model::import(&self.with_manifest())
    }

    pub fn import(&self) -> Result<Database, String> {
        database::import(&self.files(), self.manifest.as_deref())
    }

    /// The database of an accepted set.
    pub fn database(&self) -> Database {
        match self.import() {
            Ok(database) => database,
            Err(why) => panic!("refused: {why}"),
        }
    }

    /// The names of events by their positions.
    fn names(&self) -> BTreeMap<(String, usize), &'static str> {
        let mut names = BTreeMap::new();
        for (file, items) in &self.files {
            let named = items.iter().enumerate().filter(|(_, i)| !i.name.is_empty());
            names.extend(named.map(|(number, item)| ((file.clone(), number), item.name)));
        }
        names
    }

    /// `x 1.1, y unplaced`: the times of the events, in seconds, by the model and by the program.
    #[track_caller]
    pub fn assert(&self, expected: &str) -> Database {
        self.assert_of_model(expected);
        let database = self.database();
        let names = self.names();
        let packets = database.packets();
        let times = packets.iter().filter_map(|packet| {
            // A single file is the input.
            let alone = self.with_manifest().len() == 1;
            let file = if alone { &self.files[0].0 } else { &packet.file };
            let name = names.get(&(file.clone(), packet.number as usize))?;
            Some((*name, packet.ts))
        });
        assert_eq!(told(times), sorted(expected), "by the program");
        database
    }

    #[track_caller]
    fn assert_of_model(&self, expected: &str) {
        let model = self.by_model().expect("the model refuses");
        let names = self.names();
        let times = model.packets.iter().filter_map(|packet| {
            let name = names.get(&(packet.file.clone(), packet.number))?;
            Some((*name, packet.ts))
        });
        assert_eq!(told(times), sorted(expected), "by the model");
    }

    /// The files cannot be imported together; the program's message contains all of these.
    #[track_caller]
    pub fn refused(&self, told: &[&str]) {
        let by_model = self.by_model();
        assert!(by_model.is_err(), "the model does not refuse: {by_model:?}");
        let why = match self.import() {
            Ok(database) => panic!("not refused: {}", database.summary),
            Err(why) => why,
        };
        for part in told {
            assert!(why.contains(part), "{part:?} is not in {why}");
        }
    }

    /// The raw ids and names of all machines, in the order of their rows, by the model and by the
    /// program.
    #[track_caller]
    pub fn assert_machines(&self, expected: &[(u64, &str)]) -> Database {
        let machine = |raw_id: u64, name: Option<String>| (raw_id, name.unwrap_or_default());
        let expected: Vec<(u64, String)> =
            expected.iter().map(|(raw_id, name)| (*raw_id, String::from(*name))).collect();
        let model = self.by_model().expect("the model refuses");
        let machines = model.machines.into_iter();
        let machines: Vec<_> = machines.map(|m| machine(m.raw_id, m.name)).collect();
        assert_eq!(machines, expected, "by the model");
        let database = self.database();
        let sql = "SELECT raw_id, name FROM machine ORDER BY id";
        let machines = database.rows(sql, |row| {
            let raw_id: i64 = row.get(0)?;
            Ok(machine(raw_id.cast_unsigned(), row.get(1)?))
        });
        assert_eq!(machines, expected, "by the program");
        database
    }

    /// The files in a zip, and in a tar.
    pub fn archives(&self) -> [(&'static str, Vec<u8>); 2] {
        let files = self.with_manifest();
        [("set.zip", archive::zip(&files)), ("set.tar", archive::tar(&files))]
    }
}

fn told<'a>(times: impl Iterator<Item = (&'a str, Option<i64>)>) -> Vec<String> {
    let mut told: Vec<String> = times
        .map(|(name, ts)| match ts {
            None => format!("{name} unplaced"),
            Some(ts) => format!("{name} {}", seconds(ts)),
        })
        .collect();
    told.sort();
    told
}

fn sorted(expected: &str) -> Vec<String> {
    let mut expected: Vec<String> = expected.split(", ").map(String::from).collect();
    expected.sort();
    expected
}

/// Seconds without zeros at the end.
fn seconds(ts: i64) -> String {
    let sign = if ts < 0 { "-" } else { "" };
    let ts = ts.unsigned_abs();
    let (whole, part) = (ts / 1_000_000_000, ts % 1_000_000_000);
    let part = format!("{part:09}");
    match part.trim_end_matches('0') {
        "" => format!("{sign}{whole}"),
        part => format!("{sign}{whole}.{part}"),
    }
}
