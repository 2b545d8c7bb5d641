//! Imports a trace and its rewritten form, and compares the databases (rule RW1).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use rusqlite::types::Value;
use tempfile::TempDir;
use timebase_import::{
    Conversion, Monitor, Options, RewriteTo, Rewritten, Source, Views, import, rewrite,
};
use timebase_lab::decode;

use crate::support::{Place, count};

/// The tables about bytes, clocks and damage, for which RW1 promises nothing.
const OF_BYTES_AND_CLOCKS: [&str; 25] = [
    "trace_file",
    "part",
    "clock_alignment",
    "clock_alignment_knot",
    "remote_clock_sync",
    "packet_record",
    "packet_common",
    "packet_clock_record",
    "clock_snapshot",
    "clock_record",
    "clock_step",
    "clock_route",
    "clock_line",
    "clock_hop",
    "clock_hop_reading",
    "clock_turn",
    "sequence",
    "import_log",
    "unsure_record",
    "stats",
    "fact",
    // Its times are those of packets that could not be placed before.
    "event_fault",
    "ftrace_unresolved",
    "string",
    // It refers to the times of packets, and to data lost by damage.
    "loss",
];

/// The columns of other tables with such data.
const COLUMNS: [&str; 6] =
    ["timestamp", "first_ts", "last_ts", "packets", "unresolved", "trace_file_id"];

type Rows = Vec<Vec<Value>>;

/// A trace, its rewritten form, and the databases of both.
pub struct Pair {
    place: Place,
    pub told: Rewritten,
    pub a: Connection,
    pub b: Connection,
    pub conversion: Conversion,
}

fn options(conversion: Conversion) -> Options {
    let mut options = Options::default();
    options.conversion = conversion;
    options.views = Views::Named(
        ["packet", "ftrace_event", "ftrace_event_partial", "android_logs"]
            .map(str::to_owned)
            .into(),
    );
    options.overwrite = true;
    options
}

fn imported(sources: &[PathBuf], options: &Options, to: &Path) -> Option<Connection> {
    let sources: Vec<Source> = sources.iter().cloned().map(Source::File).collect();
    let done = import(&sources, to, options, &Monitor::default());
    done.ok().map(|_| Connection::open(to).unwrap())
}

fn rewritten(sources: &[PathBuf], options: &Options, to: &Path) -> Rewritten {
    let sources: Vec<Source> = sources.iter().cloned().map(Source::File).collect();
    let to = RewriteTo::File(to);
    rewrite(&sources, to, options, &Monitor::default()).unwrap()
}

impl Pair {
    /// `None` if the import refuses the sources.
    pub fn of(sources: &[PathBuf], conversion: Conversion) -> Option<Pair> {
        Pair::by(sources, &options(conversion))
    }

    /// Does the same with a manifest.
    pub fn of_set(
        sources: &[PathBuf],
        manifest: Option<PathBuf>,
        conversion: Conversion,
    ) -> Option<Pair> {
        let mut options = options(conversion);
        options.manifest = manifest;
        Pair::by(sources, &options)
    }

    fn by(sources: &[PathBuf], by: &Options) -> Option<Pair> {
        let place = Place::new();
        let a = imported(sources, by, &place.path("a.db"))?;
        let o = place.path("o.pftrace");
        let told = rewritten(sources, by, &o);
        let nearest = options(Conversion::Nearest);
        let b = imported(&[o], &nearest, &place.path("b.db"));
        let conversion = by.conversion;
        Some(Pair { a, b: b.expect("the rewritten trace is imported"), told, place, conversion })
    }

    pub fn of_bytes(trace: &[u8], conversion: Conversion) -> Option<Pair> {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("s.pftrace");
        fs::write(&path, trace).unwrap();
        Pair::of(&[path], conversion)
    }

    /// The bytes of the rewritten trace.
    pub fn written(&self) -> Vec<u8> {
        fs::read(self.place.path("o.pftrace")).unwrap()
    }

    /// The violations of RW1 and RW10.
    pub fn differences(&self) -> Vec<String> {
        let mut found = self.of_tables();
        found.extend(self.of_fixpoint());
        found
    }

    fn of_fixpoint(&self) -> Vec<String> {
        // A time that only rates refuse has a value in the rewritten trace.
        if self.told.unmet.iter().any(|unmet| unmet.largest.is_none()) {
            return Vec::new();
        }
        let (o, again) = (self.place.path("o.pftrace"), self.place.path("oo.pftrace"));
        rewritten(&[o], &options(Conversion::Nearest), &again);
        match fs::read(again).unwrap() == self.written() {
            true => Vec::new(),
            false => vec!["RW10: another trace".to_owned()],
        }
    }

    /// The violation of RW10, and the times that differ beyond the counts of the summary (RW3,
    /// RW6). Events are compared by their packets, because an event that no longer waits for a
    /// snapshot has another id (RW1).
    pub fn differences_of_times(&self) -> Vec<String> {
        let mut found = self.of_fixpoint();
        for (what, sql) in TIMES {
            let (a, b) = (times(&self.a, sql), times(&self.b, sql));
            let off = Off::of(&a, &b);
            let unmet = self.told.unmet.iter().find(|unmet| unmet.what[1] == what);
            let is_told = match unmet {
                None => off.count == 0,
                Some(unmet) => {
                    off.count <= unmet.count
                        && unmet
                            .largest
                            .is_none_or(|most| off.largest <= Some(most) && off.largest.is_some())
                }
            };
            if !is_told {
                found.push(format!("{what}: {off:?}, but {unmet:?}\n  {a:?}\n  {b:?}"));
            }
        }
        found
    }

    /// The violations of RW1.
    fn of_tables(&self) -> Vec<String> {
        let mut found = Vec::new();
        let is_several = self.written().starts_with(b"PK");
        let pairs = "SELECT count(*) FROM clock_snapshot WHERE source = 'ftrace'";
        let has_pairs = count(&self.a, pairs) > 0;
        let mut packets = rows(&self.a, PACKETS);
        let others = rows(&self.b, PACKETS);
        for (a, b) in packets.iter_mut().zip(&others) {
            let is_snapshot = a[0] == Value::Text("clock_snapshot".into());
            let has_own = matches!(&a[7], Value::Blob(data) if has_own_time(data));
            let has_guests = !self.told.left_out.is_empty();
            let is_elsewhere =
                has_guests || has_pairs || is_several || self.conversion == Conversion::Linear;
            let is_excepted = has_own || is_snapshot && is_elsewhere;
            if is_excepted {
                a[6] = b[6].clone();
            }
            if is_snapshot && has_pairs {
                a[5] = b[5].clone();
            }
            a[7] = b[7].clone();
            // Without the synchronizations of machines and the pairs of bundles, other clocks are
            // known.
            if (is_several || has_guests || has_pairs) && a[5] != Value::Null && b[5] != Value::Null
            {
                a[5] = b[5].clone();
            }
        }
        compare("packet", &packets, &others, &mut found);
        let tables =
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'";
        for table in rows(&self.a, tables) {
            let Value::Text(table) = &table[0] else {
                continue;
            };
            if !OF_BYTES_AND_CLOCKS.contains(&table.as_str()) {
                self.table(table, &mut found);
            }
        }
        found
    }

    fn table(&self, table: &str, found: &mut Vec<String>) {
        let columns = rows(&self.a, &format!("SELECT name FROM pragma_table_info('{table}')"));
        let columns = columns.iter().filter_map(|column| match &column[0] {
            Value::Text(name) if !COLUMNS.contains(&name.as_str()) => Some(name.clone()),
            _ => None,
        });
        // If only guests recorded, rows that wait for trace time have no doubt yet.
        let of_linear = |name: &String| self.conversion == Conversion::Linear && name == "doubt";
        let columns: Vec<String> = columns.filter(|name| !of_linear(name)).collect();
        let sql = format!("SELECT {} FROM {table}", columns.join(", "));
        compare(table, &rows(&self.a, &sql), &rows(&self.b, &sql), found);
    }
}

const PACKETS: &str =
    "SELECT type, seq_id, machine_id, uid, pid, unresolved, ts, data FROM packet ORDER BY id";

/// The things with times, by their name in the summary, and the query for their times by packet.
const TIMES: [(&str, &str); 3] = [
    ("packets", "SELECT id, ts FROM packet WHERE type IS NOT 'clock_snapshot'"),
    (
        "kernel events",
        "SELECT packet_id, ts FROM ftrace_event
         UNION ALL SELECT packet_id, ts FROM ftrace_event_partial",
    ),
    ("log lines", "SELECT packet_id, ts FROM android_logs"),
];

/// Sorted times, by packet.
type Times = BTreeMap<i64, Vec<Option<i64>>>;

fn times(conn: &Connection, sql: &str) -> Times {
    let mut times = Times::new();
    let mut statement = conn.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
    for row in rows.unwrap() {
        let (packet, ts): (i64, Option<i64>) = row.unwrap();
        times.entry(packet).or_default().push(ts);
    }
    times.values_mut().for_each(|times| times.sort_unstable());
    times
}

/// The number of times that differ, and the largest difference; `None` if only one of two times is
/// known.
#[derive(Debug)]
struct Off {
    count: u64,
    largest: Option<u64>,
}

impl Off {
    fn of(a: &Times, b: &Times) -> Off {
        let mut off = Off { count: 0, largest: Some(0) };
        let none = Vec::new();
        let packets: BTreeSet<i64> = a.keys().chain(b.keys()).copied().collect();
        for packet in packets {
            let of = |times: &'_ Times| times.get(&packet).unwrap_or(&none).clone();
            let (a, b) = (of(a), of(b));
            let mut rest = b.clone();
            for time in &a {
                match rest.iter().position(|other| other == time) {
                    Some(at) => drop(rest.swap_remove(at)),
                    None => off.count += 1,
                }
            }
            // Pairing the times in order gives the smallest differences.
            let by = a.iter().zip(&b).map(|(a, b)| match (a, b) {
                (Some(a), Some(b)) => Some(a.abs_diff(*b)),
                (None, None) => Some(0),
                _ => None,
            });
            off.largest = by.fold(off.largest, |largest, by| Some(largest?.max(by?)));
            if a.len() != b.len() {
                off.count += b.len().saturating_sub(a.len()) as u64;
                off.largest = None;
            }
        }
        off
    }
}

fn rows(conn: &Connection, sql: &str) -> Rows {
    let mut statement = conn.prepare(sql).unwrap();
    let count = statement.column_count();
    let rows = statement.query_map([], |row| (0..count).map(|at| row.get(at)).collect());
    rows.unwrap().map(Result::unwrap).collect()
}

fn compare(what: &str, a: &Rows, b: &Rows, found: &mut Vec<String>) {
    if a.len() != b.len() {
        found.push(format!("{what}: {} rows, {} rows", a.len(), b.len()));
    }
    let differ = || a.iter().zip(b).filter(|(a, b)| a != b);
    if let Some((one, other)) = differ().next() {
        let count = differ().count();
        found.push(format!("{what}, {count} rows:\n  {one:?}\n  {other:?}"));
    }
}

/// The fields of a message: the number, the bytes of a value with a length, and the value
/// otherwise.
pub fn fields(bytes: &[u8]) -> Vec<(u32, &[u8], u64)> {
    let all = decode::fields(bytes).unwrap().into_iter();
    all.map(|field| (field.number, field.value.bytes(), field.value.number())).collect()
}

/// The bytes of a field. If there are several, the last counts.
pub fn field(message: &[u8], field: u32) -> &[u8] {
    let found = fields(message).into_iter().rev();
    let mut found = found.filter(|(number, ..)| *number == field);
    found.next().unwrap().1
}

/// Whether a packet is a track event with its own time (rule RW5).
fn has_own_time(packet: &[u8]) -> bool {
    let packet = fields(packet);
    let event = packet.iter().rev().find(|(number, ..)| *number == 11);
    event.is_some_and(|(_, event, _)| {
        let is_time = |(number, ..): &(u32, &[u8], u64)| matches!(number, 1 | 16);
        fields(event).iter().any(is_time)
    })
}
