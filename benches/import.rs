//! What an import costs, against what SQLite alone costs in the same run.
//!
//! `cargo bench --bench import` prints the peak memory of the program for traces
//! of packets and of kernel events, and a table of ratios:
//!
//! * an import of 2,000,000 packets of about 30 bytes, against bare prepared
//!   inserts of the very same rows from memory in one transaction;
//! * 1,000,000 packets with 100,000 snapshots among them, against the same with
//!   10;
//! * an import of 3,000,000 kernel events, index included, against bare inserts
//!   of as many rows without one; and queries over the view `ftrace_event`,
//!   against the same over a plain table of its columns with the same index.
//!
//! `cargo bench --bench import -- TRACE` takes the events from a trace.

#![allow(missing_docs)]

use std::error::Error;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};
use timebase_import::{Monitor, Options, Source, import};
use timebase_wire::proto::clock_snapshot::Clock;
use timebase_wire::proto::trace_packet::Data;
use timebase_wire::proto::{ClockSnapshot, TracePacket, TracePacketDefaults};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const SEQUENCES: u64 = 8;
const RUNS: usize = 5;

fn main() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let dir = dir.path();
    // Cargo adds `--bench`.
    let named = std::env::args_os().skip(1).find(|arg| arg != "--bench");
    let events = match named {
        Some(trace) => trace.into(),
        None => {
            let trace = dir.join("events.pftrace");
            let mut file = BufWriter::new(std::fs::File::create(&trace)?);
            write_bundles(&mut file, EVENTS)?;
            file.flush()?;
            trace
        }
    };
    // First, while this process is small: a child begins with its parent's size.
    for megabytes in [100, 1000] {
        let peak = peak_memory(dir, megabytes << 20)?;
        println!(
            "{:<58} {peak:>6.1} MB",
            format!("peak memory, a trace of {megabytes} MB")
        );
    }
    let peak = peak_memory_of(dir, &events)?;
    println!(
        "{:<58} {peak:>6.1} MB",
        "peak memory of all, with a trace of kernel events"
    );
    println!(
        "\n{:<58} {:>9} {:>9} {:>7}",
        "", "time", "yardstick", "ratio"
    );
    packets_against_inserts(dir)?;
    many_snapshots_against_few(dir)?;
    events_against_inserts(dir, &events)
}

fn events_against_inserts(dir: &Path, trace: &Path) -> Result<()> {
    let out = dir.join("events.db");
    time_import(trace, &out)?;
    let rows = numbers_of(&out)?;
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        ours.push(time_import(trace, &out)?);
        bare.push(time_number_inserts(&dir.join("bare.db"), &rows)?);
    }
    report(
        &format!("import of {} kernel events ÷ bare inserts", rows.len()),
        ours,
        bare,
    );
    let events = rows.len();
    drop(rows);
    view_against_table(&out)?;
    let size = |path: &Path| -> Result<f64> { Ok(std::fs::metadata(path)?.len() as f64 / 1e6) };
    let (trace, database) = (size(trace)?, size(&out)?);
    println!("the trace has {trace:.0} MB, the database {database:.0} MB with {events} events");
    Ok(())
}

/// What a client asks, over the view and over a table of the same columns.
fn view_against_table(database: &Path) -> Result<()> {
    let conn = Connection::open(database)?;
    conn.execute_batch(
        "CREATE TABLE plain AS SELECT * FROM ftrace_event;
         CREATE INDEX plain_ts ON plain (ts);",
    )?;
    let window = "ts BETWEEN (SELECT min(ts) + (max(ts) - min(ts)) * 2 / 5 FROM plain) \
                  AND (SELECT min(ts) + (max(ts) - min(ts)) / 2 FROM plain)";
    let next_pid = "sum(json_extract(args, '$.next_pid'))";
    for (what, select) in [
        (
            "by name",
            "SELECT name, count(*), min(ts) FROM # GROUP BY name".to_owned(),
        ),
        (
            "arguments",
            format!("SELECT {next_pid} FROM # WHERE name = 'sched_switch'"),
        ),
        (
            "a tenth of the time",
            format!("SELECT name, {next_pid} FROM # WHERE {window}"),
        ),
        (
            "all columns",
            "SELECT sum(length(name) + length(args) + cpu + tid + ts % 7) FROM #".to_owned(),
        ),
    ] {
        let time = |from: &str| -> Result<(Duration, Vec<Vec<Value>>)> {
            let mut statement = conn.prepare(&select.replace('#', from))?;
            let columns = statement.column_count();
            let start = Instant::now();
            let rows = statement.query_map([], |row| (0..columns).map(|i| row.get(i)).collect())?;
            let rows = rows.collect::<rusqlite::Result<_>>()?;
            Ok((start.elapsed(), rows))
        };
        let (mut view, mut plain) = (Vec::new(), Vec::new());
        for _ in 0..RUNS {
            let (ours, theirs) = (time("ftrace_event")?, time("plain")?);
            assert_eq!(ours.1, theirs.1, "the view says what the table says");
            view.push(ours.0);
            plain.push(theirs.0);
        }
        report(&format!("query of {what}, view ÷ plain table"), view, plain);
    }
    conn.execute_batch("DROP TABLE plain; VACUUM")?;
    Ok(())
}

fn packets_against_inserts(dir: &Path) -> Result<()> {
    let (trace, out) = (dir.join("packets.pftrace"), dir.join("packets.db"));
    let mut file = BufWriter::new(std::fs::File::create(&trace)?);
    write_trace(&mut file, 2_000_000, 200_000)?;
    file.flush()?;
    time_import(&trace, &out)?;
    let rows = rows_of(&out)?;
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        ours.push(time_import(&trace, &out)?);
        bare.push(time_inserts(&dir.join("bare.db"), &rows)?);
    }
    report(
        "import of 2,000,000 packets ÷ bare inserts of the rows",
        ours,
        bare,
    );
    Ok(())
}

fn many_snapshots_against_few(dir: &Path) -> Result<()> {
    let mut times = Vec::new();
    for every in [10, 100_000] {
        let (trace, out) = (dir.join("snapshots.pftrace"), dir.join("snapshots.db"));
        let mut file = BufWriter::new(std::fs::File::create(&trace)?);
        write_trace(&mut file, 1_000_000, every)?;
        file.flush()?;
        let runs: Result<Vec<_>> = (0..RUNS).map(|_| time_import(&trace, &out)).collect();
        times.push(runs?);
    }
    let few = times.pop().unwrap_or_default();
    let many = times.pop().unwrap_or_default();
    report(
        "1,000,000 packets with 100,000 snapshots ÷ with 10",
        many,
        few,
    );
    Ok(())
}

fn report(what: &str, mut times: Vec<Duration>, mut yardstick: Vec<Duration>) {
    times.sort_unstable();
    yardstick.sort_unstable();
    let (time, yardstick) = (times[times.len() / 2], yardstick[yardstick.len() / 2]);
    let ratio = time.as_secs_f64() / yardstick.as_secs_f64();
    let (time, yardstick) = (time.as_secs_f64(), yardstick.as_secs_f64());
    println!("{what:<58} {time:>7.2} s {yardstick:>7.2} s {ratio:>7.2}");
}

fn time_import(trace: &Path, out: &Path) -> Result<Duration> {
    let options = Options {
        overwrite: true,
        ..Options::default()
    };
    let start = Instant::now();
    let summary = import(
        &Source::File(trace.into()),
        out,
        &options,
        &Monitor::default(),
    )?;
    let time = start.elapsed();
    assert!(summary.unresolved.is_empty(), "every packet is placed");
    Ok(time)
}

/// The rows of `packet`, to insert them again.
fn rows_of(database: &Path) -> Result<Vec<Vec<Value>>> {
    let conn = Connection::open(database)?;
    let mut statement = conn.prepare("SELECT * FROM packet ORDER BY id")?;
    let columns = statement.column_count();
    let rows = statement.query_map([], |row| (0..columns).map(|i| row.get(i)).collect())?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn time_inserts(path: &Path, rows: &[Vec<Value>]) -> Result<Duration> {
    let _ = std::fs::remove_file(path);
    let conn = Connection::open(path)?;
    conn.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;")?;
    conn.execute_batch(include_str!("../schema/tables.sql"))?;
    let start = Instant::now();
    conn.execute_batch("BEGIN")?;
    let columns = vec!["?"; rows.first().map_or(0, Vec::len)].join(", ");
    let mut insert = conn.prepare(&format!("INSERT INTO packet VALUES ({columns})"))?;
    for row in rows {
        insert.execute(params_from_iter(row))?;
    }
    conn.execute_batch("COMMIT")?;
    Ok(start.elapsed())
}

/// A row of `ftrace_record`.
type Numbers = [Option<i64>; 8];

/// The rows of events, to insert them again.
fn numbers_of(database: &Path) -> Result<Vec<Numbers>> {
    let conn = Connection::open(database)?;
    let mut statement = conn.prepare("SELECT * FROM ftrace_record ORDER BY id")?;
    let rows = statement.query_map([], |row| {
        let mut numbers = Numbers::default();
        for (i, number) in numbers.iter_mut().enumerate() {
            *number = row.get(i)?;
        }
        Ok(numbers)
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn time_number_inserts(path: &Path, rows: &[Numbers]) -> Result<Duration> {
    let _ = std::fs::remove_file(path);
    let conn = Connection::open(path)?;
    conn.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;")?;
    conn.execute_batch(include_str!("../schema/tables.sql"))?;
    conn.execute_batch("DROP INDEX ftrace_record_ts")?;
    let start = Instant::now();
    conn.execute_batch("BEGIN")?;
    let mut insert =
        conn.prepare("INSERT INTO ftrace_record VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")?;
    for row in rows {
        for (place, number) in (1..).zip(row) {
            insert.raw_bind_parameter(place, number)?;
        }
        insert.raw_execute()?;
    }
    conn.execute_batch("COMMIT")?;
    Ok(start.elapsed())
}

/// The peak memory of the program importing a trace, and of those before it, in
/// MB.
fn peak_memory_of(dir: &Path, trace: &Path) -> Result<f64> {
    let status = Command::new(env!("CARGO_BIN_EXE_timebase"))
        .arg("import")
        .arg(trace)
        .args(["--force", "-o"])
        .arg(dir.join("memory.db"))
        .stderr(Stdio::null())
        .status()?;
    assert!(status.success(), "the import succeeds");
    Ok(getrusage(UsageWho::RUSAGE_CHILDREN)?.max_rss() as f64 / 1000.0)
}

/// The peak memory of the program importing a trace from a pipe, in MB.
fn peak_memory(dir: &Path, bytes: u64) -> Result<f64> {
    let mut program = Command::new(env!("CARGO_BIN_EXE_timebase"))
        .args(["import", "-", "--force", "-o"])
        .arg(dir.join("memory.db"))
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    if let Some(stdin) = program.stdin.take() {
        write_trace(&mut BufWriter::new(stdin), bytes / 32, 10_000)?;
    }
    assert!(program.wait()?.success(), "the import succeeds");
    // The largest of all children so far: what grows with the trace shows.
    Ok(getrusage(UsageWho::RUSAGE_CHILDREN)?.max_rss() as f64 / 1000.0)
}

const EVENTS: u64 = 3_000_000;
const CPUS: u64 = 4;
/// Two switches and a waking, so often in a bundle.
const ROUNDS: u64 = 700;

/// Bundles of kernel events in the compact scheduler encoding, and the snapshot
/// that a recording begins with.
fn write_bundles(out: &mut impl Write, events: u64) -> Result<()> {
    let mut buffer = Vec::new();
    write_packet(out, &mut buffer, &snapshot(1, 1_000_000))?;
    let mut seed = 1u64;
    let mut random = move |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % below
    };
    let mut now = 2_600_000_000_000u64;
    for bundle in 0..events / (3 * ROUNDS) {
        let mut columns: [Vec<u64>; 13] = Default::default();
        let (mut switched, mut woken) = (0, 0);
        for round in 0..ROUNDS {
            let time = now + round * 3000;
            for (at, pid) in [(time, random(40)), (time + 1000, random(40))] {
                let values = [at + random(900), 1, 1000 + pid, 120];
                columns[1].push(values[0] - switched);
                switched = values[0];
                for column in 2..5 {
                    columns[column].push(values[column - 1]);
                }
                columns[6].push(pid);
            }
            let (at, pid) = (time + 2000 + random(900), random(40));
            columns[7].push(at - woken);
            woken = at;
            for (column, value) in [
                (8, 1000 + pid),
                (9, pid % CPUS),
                (10, 120),
                (11, pid),
                (12, 1),
            ] {
                columns[column].push(value);
            }
        }
        if bundle % CPUS == CPUS - 1 {
            now += ROUNDS * 3000;
        }
        let packet = TracePacket {
            trusted_packet_sequence_id: Some(2),
            data: Some(Data::FtraceEvents(bundle_of(bundle % CPUS, &columns))),
            ..TracePacket::default()
        };
        write_packet(out, &mut buffer, &packet)?;
    }
    Ok(())
}

fn bundle_of(cpu: u64, columns: &[Vec<u64>]) -> Vec<u8> {
    let mut compact = Vec::new();
    for thread in 0..40 {
        prost::encoding::string::encode(5, &format!("thread-{thread}"), &mut compact);
    }
    for (tag, column) in (0..).zip(columns) {
        prost::encoding::uint64::encode_packed(tag, column, &mut compact);
    }
    let mut bundle = Vec::new();
    prost::encoding::uint64::encode(1, &cpu, &mut bundle);
    prost::encoding::bytes::encode(4, &compact, &mut bundle);
    bundle
}

/// Track events of about 30 bytes, with deltas on a clock of their sequence,
/// which starts anew with a snapshot every so many packets.
fn write_trace(out: &mut impl Write, packets: u64, snapshot_every: u64) -> Result<()> {
    let mut buffer = Vec::new();
    for index in 0..packets {
        let sequence = 2 + index % SEQUENCES;
        if index < SEQUENCES || index % snapshot_every == 0 {
            write_packet(
                out,
                &mut buffer,
                &snapshot(sequence as u32, 1_000_000 + index * 1000),
            )?;
        }
        let packet = TracePacket {
            timestamp: Some(1000 * SEQUENCES),
            trusted_packet_sequence_id: Some(sequence as u32),
            trusted_uid: Some(1000),
            trusted_pid: Some(4242),
            sequence_flags: Some(2),
            data: Some(Data::TrackEvent(vec![
                0x48, 0x01, 0x50, 0x02, 0x58, 0x03, 0x60, 0x04,
            ])),
            ..TracePacket::default()
        };
        write_packet(out, &mut buffer, &packet)?;
    }
    Ok(())
}

fn write_packet(out: &mut impl Write, buffer: &mut Vec<u8>, packet: &TracePacket) -> Result<()> {
    buffer.clear();
    prost::encoding::message::encode(1, packet, buffer);
    Ok(out.write_all(buffer)?)
}

fn snapshot(sequence: u32, now: u64) -> TracePacket {
    let clock = |id, incremental| Clock {
        clock_id: Some(id),
        timestamp: Some(now),
        is_incremental: Some(incremental),
        ..Clock::default()
    };
    TracePacket {
        trusted_packet_sequence_id: Some(sequence),
        sequence_flags: Some(1),
        trace_packet_defaults: Some(TracePacketDefaults {
            timestamp_clock_id: Some(64),
        }),
        data: Some(Data::ClockSnapshot(ClockSnapshot {
            clocks: vec![clock(6, false), clock(64, true)],
            primary_trace_clock: None,
        })),
        ..TracePacket::default()
    }
}
