//! What an import costs, against what SQLite alone costs in the same run.
//!
//! `cargo bench --bench import` prints a table of ratios: an import of
//! 2,000,000 packets of about 30 bytes, against bare prepared inserts of the
//! very same rows from memory in one transaction; 1,000,000 packets with
//! 100,000 snapshots among them, against the same with 10; and the peak memory
//! of the program for traces of 100 MB and 1 GB, which are streamed to it.

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
    // First, while this process is small: a child begins with its parent's size.
    for megabytes in [100, 1000] {
        let peak = peak_memory(dir, megabytes << 20)?;
        println!(
            "{:<58} {peak:>6.1} MB",
            format!("peak memory, a trace of {megabytes} MB")
        );
    }
    println!(
        "\n{:<58} {:>9} {:>9} {:>7}",
        "", "time", "yardstick", "ratio"
    );
    packets_against_inserts(dir)?;
    many_snapshots_against_few(dir)
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
    assert_eq!(
        summary.on_trace_time, summary.packets,
        "every packet is placed"
    );
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
