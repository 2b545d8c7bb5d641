//! `timebase import --conversion linear`: reading a trace twice, through the real program.
//!
//! `model::` tests the same on random traces.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use flate2::write::GzEncoder;
use rusqlite::Connection;
use timebase_import::{Monitor, Options, Source};
use timebase_lab::reliability::DamageKind;

use crate::support::{Imported, PROGRAM, Place, Said, count, data, files, rows, run};
use timebase_lab::encode::{self, ClockSnapshot, Packet, Reading};

const LINEAR: [&str; 2] = ["--conversion", "linear"];

/// The columns that contain times, or follow from them: all others do not depend on the conversion.
const TIMES: &[&str] = &["ts", "unresolved", "arg_set_id", "utid"];

/// Asserts that tables are equal, and shows the first row that differs.
fn assert_same(found: &[Rows], expected: &[Rows], what: &str) {
    for ((table, found), (other, expected)) in found.iter().zip(expected) {
        assert_eq!(table, other);
        for (found, expected) in found.iter().zip(expected) {
            assert_eq!(found, expected, "{table}: {what}");
        }
        assert_eq!(found.len(), expected.len(), "{table}: {what}");
    }
    assert_eq!(found.len(), expected.len());
}

/// A table, and its rows.
type Rows = (String, Vec<Vec<String>>);

/// The rows of each table that was made from the trace itself, without the excluded columns.
fn tables(conn: &Connection, tables: &[&str], without: &[&str]) -> Vec<Rows> {
    let of = |table: &&str| {
        let names = rows(conn, &format!("SELECT name FROM pragma_table_info('{table}')"));
        let names = names.iter().map(|row| row[0].as_str());
        let kept: Vec<_> = names.filter(|name| !without.contains(name)).collect();
        assert!(!kept.is_empty(), "{table}");
        let columns = kept.join(", ");
        let all = rows(conn, &format!("SELECT {columns} FROM {table} ORDER BY {columns}"));
        ((*table).to_owned(), all)
    };
    tables.iter().map(of).collect()
}

/// All tables and views of a database.
fn all(conn: &Connection) -> Vec<Rows> {
    let names = "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')
        AND name NOT LIKE 'sqlite%' ORDER BY name";
    let names = rows(conn, names);
    let names: Vec<&str> = names.iter().map(|row| row[0].as_str()).collect();
    let mut all = tables(conn, &names, &[]);
    for (name, rows) in &mut all {
        if name == "trace_file" {
            rows.iter_mut().for_each(|row| row[2].clear()); // its name
        }
        if name == "fact" || name == "metadata" {
            let own = ["source", "clock_snapshot_version"];
            rows.retain(|row| !own.contains(&row[1].as_str()));
        }
    }
    all
}

/// Facts that do not depend on times: the packets and the snapshots.
fn timeless(conn: &Connection) -> Vec<Rows> {
    let names = [
        "packet",
        "clock_snapshot",
        "clock",
        "clock_mapping",
        "import_log",
        "ftrace_event",
        "android_logs",
    ];
    let mut found = tables(conn, &names, TIMES);
    // For a sequence, all columns except its first and last time.
    found.extend(tables(conn, &["sequence"], &["first_ts", "last_ts"]));
    found
}

fn conversion(conn: &Connection) -> String {
    let sql = "SELECT str_value FROM metadata WHERE name = 'conversion'";
    conn.query_row(sql, [], |row| row.get(0)).unwrap()
}

/// Imports from a pipe to `pipe.db`.
fn piped(place: &Place, bytes: &[u8], args: &[&str]) -> (Connection, String) {
    let out = place.path("pipe.db");
    let mut child = Command::new(PROGRAM)
        .args(["import", "-", "--force", "-o", out.to_str().unwrap()])
        .args(args)
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(bytes).unwrap();
    let said = Said::from(child.wait_with_output().unwrap());
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    (Connection::open(out).unwrap(), said.stderr)
}

const COPIED: &str = "copying standard input to a temporary file first";

#[test]
fn nearest_is_the_default() {
    let (default, nearest) = (Place::new(), Place::new());
    for name in ["app", "system", "nearest"] {
        let trace = data(&format!("{name}.pftrace"));
        let (default, said) = default.import(&trace, &[]);
        let (nearest, _) = nearest.import(&trace, &["--conversion", "nearest"]);
        assert_same(&all(&default), &all(&nearest), name);
        assert_eq!(conversion(&default), "nearest");
        assert!(!said.contains("copied"), "{said}");
    }
}

#[test]
#[ignore = "heavy"]
fn both_passes_find_the_same_snapshots_and_packets_as_an_import_by_nearest() {
    let (nearest, linear) = (Place::new(), Place::new());
    for trace in files("tests/data", &["pftrace"]) {
        let (nearest, _) = nearest.import(&trace, &[]);
        let (linear, _) = linear.import(&trace, &LINEAR);
        let what = trace.display().to_string();
        // Packets of profilers are read in the order of time (OP2), so which of them is the first with a fault depends
        // on the conversion.
        let is_profile = what.contains("/profiles/");
        let of = |conn: &Connection| {
            let mut tables = timeless(conn);
            tables.retain(|(table, _)| !(is_profile && table == "import_log"));
            tables
        };
        assert_same(&of(&linear), &of(&nearest), &what);
        assert_eq!(conversion(&linear), "linear");
        let other = "SELECT name, value FROM metadata
            WHERE name NOT IN ('conversion', 'clock_snapshot_version') ORDER BY name";
        assert_eq!(rows(&nearest, other), rows(&linear, other));
    }
}

#[test]
#[ignore = "heavy"]
fn both_passes_find_the_same_in_damaged_traces() {
    let place = Place::new();
    let monitor = Monitor::default;
    let mut damaged = 0;
    for (name, copies) in
        [("ftrace-clocks", 2), ("ftrace-machines", 2), ("extension-gzip", 2), ("late-frame", 1)]
    {
        let bytes = fs::read(data(&format!("{name}.pftrace"))).unwrap();
        for &kind in DamageKind::ALL {
            for number in 0..copies {
                let copy = kind.damage(&bytes, 15, number);
                let trace = Source::File(place.write("copy", &copy.bytes));
                let import = |name: &str, conversion| {
                    let mut options = Options::default();
                    options.conversion = conversion;
                    options.overwrite = true;
                    let out = place.path(name);
                    let summary = timebase_import::import(
                        std::slice::from_ref(&trace),
                        &out,
                        &options,
                        &monitor(),
                    );
                    let conn = summary.map(|_| Connection::open(out).unwrap());
                    conn.map_err(|error| error.to_string())
                };
                let nearest = import("nearest.db", timebase_import::Conversion::Nearest);
                let linear = import("linear.db", timebase_import::Conversion::Linear);
                let said = format!("{name}, {kind}, copy {number}");
                match (nearest, linear) {
                    (Ok(nearest), Ok(linear)) => {
                        damaged += count(&linear, "SELECT count(*) FROM import_log");
                        assert_same(&timeless(&linear), &timeless(&nearest), &said);
                    }
                    (nearest, linear) => {
                        assert_eq!(nearest.err(), linear.err(), "{said}");
                    }
                }
            }
        }
    }
    assert!(damaged > 100, "{damaged}");
}

#[test]
#[ignore = "heavy"]
fn a_pipe_is_put_aside_and_gives_what_the_file_gives() {
    let place = Place::new();
    for name in ["system-compressed", "app"] {
        let bytes = fs::read(data(&format!("{name}.pftrace"))).unwrap();
        let mut gzip = GzEncoder::new(Vec::new(), flate2::Compression::default());
        gzip.write_all(&bytes).unwrap();
        let zstd = zstd::encode_all(&bytes[..], 3).unwrap();
        for bytes in [bytes, gzip.finish().unwrap(), zstd] {
            let trace = place.write("trace", &bytes);
            let (file, said) = place.import(&trace, &LINEAR);
            assert!(!said.contains("copied"), "{said}");
            let (pipe, said) = piped(&place, &bytes, &LINEAR);
            assert!(said.starts_with(COPIED), "{said}");
            assert_same(&all(&pipe), &all(&file), name);
            let source = "SELECT str_value FROM metadata WHERE name = 'source'";
            assert_eq!(rows(&pipe, source), [["standard input"]]);
            let (_, said) = piped(&place, &bytes, &[]);
            assert!(!said.contains("copied"), "{said}");
        }
    }
}

#[cfg(unix)]
#[test]
fn a_pipe_that_has_a_name_is_put_aside_too() {
    let place = Place::new();
    let (trace, fifo) = (data("sdk.pftrace"), place.path("fifo"));
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let bytes = fs::read(&trace).unwrap();
    let writer = std::thread::spawn({
        let fifo = fifo.clone();
        move || fs::write(fifo, bytes).unwrap()
    });
    let (named, said) = place.import(&fifo, &LINEAR);
    writer.join().unwrap();
    assert!(said.contains("fifo to a temporary file first"), "{said}");
    let file = Imported::of(&trace, &LINEAR);
    assert_same(&all(&named), &all(&file.conn), "fifo");
}

/// MONOTONIC and BOOTTIME at one instant.
fn snapshot(monotonic: u64, boottime: u64) -> Packet {
    let reading = |id, timestamp| Reading { id, timestamp, ..Reading::default() };
    Packet {
        seq: 1,
        clock_snapshot: Some(ClockSnapshot {
            clocks: vec![reading(6, boottime), reading(3, monotonic)],
            primary: None,
        }),
        ..Packet::default()
    }
}

/// A packet of MONOTONIC.
fn packet(timestamp: u64) -> Packet {
    Packet { seq: 2, timestamp: Some(timestamp), timestamp_clock_id: Some(3), ..Packet::default() }
}

#[test]
fn d1_d2_d5_what_was_seen_until_then_does_not_matter() {
    let mut late: Vec<Packet> = (0..100).map(|n| packet(10_000 + n)).collect();
    late.extend([snapshot(10_000, 20_000), snapshot(10_100, 20_100)]);
    let late = Imported::of_bytes(&encode::trace(&late), &LINEAR);
    let placed = "SELECT count(*) FROM packet WHERE ts = timestamp + 10000";
    assert_eq!(late.count(placed), 100);

    let moved = [snapshot(1_000_000, 2_000_000), packet(1_020_000), snapshot(1_010_000, 2_010_001)];
    let moved = encode::trace(&moved);
    let nearest = Imported::of_bytes(&moved, &[]);
    let linear = Imported::of_bytes(&moved, &LINEAR);
    let moved = "SELECT count(*) FROM packet_resync";
    assert!(nearest.count(moved) > 0);
    assert_eq!(linear.count(moved), 0);
}

#[test]
fn what_is_left_out_changes_no_time() {
    let times = "SELECT id, ts, unresolved FROM packet ORDER BY id";
    let readings = "SELECT id, ts FROM clock_snapshot ORDER BY id";
    for name in ["app", "dst", "logs-dst", "ftrace-machines"] {
        let name = format!("{name}.pftrace");
        let whole = Imported::new(&name, &LINEAR);
        for left_out in ["--no-events", "--no-data", "--tables=sched"] {
            let part = Imported::new(&name, &[&LINEAR[..], &[left_out]].concat());
            for sql in [times, readings] {
                assert_eq!(whole.rows(sql), part.rows(sql), "{name} {left_out}");
            }
        }
    }
}

#[test]
fn v7_n5_a_clock_that_goes_back_at_last_is_refused_from_the_beginning() {
    let linear = Imported::new("dst.pftrace", &LINEAR);
    let unresolved = "SELECT DISTINCT unresolved FROM packet WHERE unresolved IS NOT NULL";
    assert_eq!(linear.rows(unresolved), [["non_monotonic"]]);
    let counted = "SELECT value FROM stats WHERE name = 'packets_unresolved_non_monotonic'";
    let packets = "SELECT count(*) FROM packet WHERE unresolved = 'non_monotonic'";
    assert_eq!(linear.count(counted), linear.count(packets));
    let nearest = Imported::new("dst.pftrace", &[]);
    assert!(nearest.count(packets) < linear.count(packets));
}

/// A snapshot of BOOTTIME with clocks.
fn beside_boottime(seq: u32, clocks: &[(u32, u64)], boottime: u64, unit: u64) -> Packet {
    let reading = |id, timestamp, unit| Reading { id, timestamp, unit, ..Reading::default() };
    let clocks = clocks.iter().map(|&(id, value)| reading(id, value, unit));
    Packet {
        seq,
        clock_snapshot: Some(ClockSnapshot {
            clocks: clocks.chain([reading(6, boottime, 1)]).collect(),
            primary: None,
        }),
        ..Packet::default()
    }
}

/// com.example.gpu
const GPU: u32 = 2_468_715_150;

/// Rule R14. Two sequences read a clock ten times a second. One of them writes its packets late,
/// and sometimes there is a snapshot. Every event has its true time.
fn assert_continued(what: &str, read: &dyn Fn(u64) -> u64, unit: u64, every: u64) {
    const MS: u64 = 1_000_000;
    const START: u64 = 500_000 * MS;
    let mut trace = vec![beside_boottime(1, &[(3, START)], START, 1)];
    let (mut late, mut expected) = (Vec::new(), Vec::new());
    for n in 0..300 {
        let at = n * 100 * MS;
        if at.is_multiple_of(every) {
            trace.push(beside_boottime(2, &[(GPU, read(at))], START + at, unit));
        }
        for (seq, at) in [(2, at + 10 * MS), (3, at + 20 * MS)] {
            let event = Packet {
                seq,
                timestamp: Some(read(at)),
                timestamp_clock_id: Some(GPU),
                ..Packet::default()
            };
            match seq {
                2 => (trace.push(event), expected.push((trace.len() - 1, START + at))).1,
                _ => late.push((event, START + at)),
            }
        }
        if n % 4 == 3 {
            for (event, at) in late.drain(..) {
                trace.push(event);
                expected.push((trace.len() - 1, at));
            }
        }
    }
    let trace = encode::trace(&trace);
    let nearest = Imported::of_bytes(&trace, &[]);
    let linear = Imported::of_bytes(&trace, &LINEAR);
    let lost = "SELECT count(*) FROM packet WHERE unresolved IS NOT NULL";
    assert!(nearest.count(lost) > 0, "{what}");
    expected.sort_unstable();
    for (packet, at) in expected {
        let ts = linear.count(&format!("SELECT ts FROM packet WHERE id = {packet}"));
        // A unit of 1 µs changes nothing.
        assert!(ts.abs_diff(at as i64) <= unit, "{what}: packet {packet} at {at}, not {ts}");
    }
    assert_eq!(linear.count("SELECT sum(packets) FROM clock_turn"), 0);
    let turned = "SELECT count(*) FROM clock_turn";
    assert_eq!(linear.count(turned), nearest.count(turned));
}

#[test]
fn r14_readings_of_a_clock_that_wrapped_are_continued() {
    let wraps = 1 << 32;
    let read = |at: u64| (at + wraps - 1_300_000_000) % wraps;
    assert_continued("a counter of 32 bits", &read, 1, 1_000_000_000);
    assert_continued("in long gaps", &read, 1, 10_000_000_000);
    let micros = |at: u64| (at / 1000 + 60_000) % (1 << 24);
    assert_continued("of 24 bits, in µs", &micros, 1000, 5_000_000_000);
}

#[test]
fn r14_each_life_of_a_clock_that_restarted_is_a_clock_of_its_own() {
    let twice = |at: u64| match at {
        0..8_000_000_000 => at + 60_000_000_000,
        8_000_000_000..17_500_000_000 => at - 8_000_000_000,
        _ => at - 17_500_000_000,
    };
    assert_continued("a device that is reset", &twice, 1, 1_000_000_000);
}

#[test]
fn r14_what_leads_over_a_clock_that_wrapped_has_a_time() {
    let read = |at: u64| at % (1 << 32);
    let start = 500_000_000_000;
    let mut trace = vec![beside_boottime(1, &[(3, start)], start, 1)];
    for n in 0..4 {
        let at = n * 2_000_000_000;
        trace.push(beside_boottime(2, &[(64, read(at))], start + at, 1));
    }
    let mut other = beside_boottime(2, &[(64, read(5_000_000_000)), (65, 77)], 0, 1);
    other.clock_snapshot.as_mut().unwrap().clocks.pop();
    trace.insert(4, other);
    trace.push(Packet {
        seq: 2,
        timestamp: Some(1_000_077),
        timestamp_clock_id: Some(65),
        ..Packet::default()
    });
    let linear = Imported::of_bytes(&encode::trace(&trace), &LINEAR);
    let ts =
        linear.count("SELECT ts FROM packet WHERE clock_id = 65 AND type IS NOT 'clock_snapshot'");
    assert_eq!(ts, 505_001_000_000);
}

#[test]
fn what_is_refused_is_refused_as_ever() {
    let place = Place::new();
    let refuse = |trace: &Path, args: &[&str]| {
        let nearest = place.refuse(trace, args);
        assert_eq!(nearest, place.refuse(trace, &[&LINEAR[..], args].concat()));
        nearest
    };
    let said = refuse(&data("damaged.pftrace"), &["--strict"]);
    assert!(said.contains("is damaged"), "{said}");
    let said = refuse(&place.write("empty", b""), &[]);
    assert!(said.contains("is empty"), "{said}");
    let said = refuse(&place.write("text", b"that is no trace at all"), &[]);
    assert!(said.contains("is not a trace"), "{said}");
    let said = refuse(&place.path("nothing"), &[]);
    assert!(said.contains("cannot open"), "{said}");
    let said = refuse(&place.path(""), &[]);
    assert!(said.contains("is a directory"), "{said}");
    let (_, _) = place.import(&data("nearest.pftrace"), &[]);
    let said = refuse(&place.path("out.db"), &[]);
    assert!(said.contains("already is a SQLite database"), "{said}");
}

#[test]
fn what_is_put_aside_counts_for_max_size() {
    let place = Place::new();
    // The database of such a small trace, without temporary files.
    let trace = data("sdk.pftrace");
    let args = [&LINEAR[..], &["--no-events", "--no-data", "--max-size=100K"]].concat();
    let out = place.path("new.db");
    let mut child = Command::new(PROGRAM)
        .args(["import", "-", "-o", out.to_str().unwrap()])
        .args(&args)
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let _ = child.stdin.take().unwrap().write_all(&fs::read(&trace).unwrap());
    let said = Said::from(child.wait_with_output().unwrap());
    assert_eq!(said.code, Some(1), "{}", said.stderr);
    assert!(said.stderr.contains(" of disk, "), "{}", said.stderr);
    assert!(said.stderr.contains("(0 packets)"), "{}", said.stderr);
    assert_eq!(place.files(), Vec::<String>::new());
}

#[cfg(unix)]
#[test]
fn a_pipe_that_hangs_is_interrupted_and_leaves_nothing() {
    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;
    use std::io::{BufRead, BufReader};

    let place = Place::new();
    let mut child = Command::new(PROGRAM)
        .args(["import", "-", "--progress", "lines", "-o"])
        .arg(place.path("out.db"))
        .args(LINEAR)
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let trace = fs::read(data("nearest.pftrace")).unwrap();
    child.stdin.as_mut().unwrap().write_all(&trace).unwrap();
    // `wait` would close it, and the import might end before it gets the signal.
    let input = child.stdin.take();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let copying = |line: &String| line.contains(r#""of":null,"packets":0,"phase":"copying""#);
    assert!(lines.by_ref().any(|line| copying(&line.unwrap())));
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).unwrap();
    assert!(lines.any(|line| line.unwrap().contains("interrupted")));
    assert_eq!(child.wait().unwrap().code(), Some(130));
    drop(input);
    assert_eq!(place.files(), Vec::<String>::new());
}

#[test]
fn a_query_of_a_trace_says_how_times_are_made_and_of_a_database_what_they_are() {
    let place = Place::new();
    let sql = "SELECT str_value FROM metadata WHERE name = 'conversion'";
    let query = |source: &str, args: &[&str]| {
        run(&[&["query", source, sql, "--format", "csv"], args].concat())
    };
    let trace = "tests/data/sdk.pftrace";
    assert_eq!(query(trace, &[]).stdout, "str_value\nnearest\n");
    assert_eq!(query(trace, &LINEAR).stdout, "str_value\nlinear\n");
    place.import(&data("sdk.pftrace"), &LINEAR);
    let database = place.path("out.db");
    let database = database.to_str().unwrap();
    assert_eq!(query(database, &[]).stdout, "str_value\nlinear\n");
    assert_eq!(query(database, &LINEAR).stdout, "str_value\nlinear\n");
    for command in [&["query", database, sql][..], &["shell", database]] {
        let said = run(&[command, &["--conversion", "nearest"]].concat());
        assert_eq!(said.code, Some(1));
        let expected = format!(
            "timebase: error: {database} was imported with --conversion linear, which cannot change; import \
             the trace again with --conversion nearest\n"
        );
        assert_eq!(said.stderr, expected);
    }
}
