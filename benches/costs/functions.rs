//! Databases for calls of functions, and functions that do nothing:
//!
//! * `noop_closure`, registered with rusqlite's `create_scalar_function`, reads
//!   its three arguments as `i64` and returns the third;
//! * `noop_raw` does the same by SQLite's C interface alone.
//!
//! The packets have no `data`, so rows are short and the ratios as high as possible.

use std::ffi::c_int;
use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::functions::FunctionFlags;
use rusqlite::{Connection, ffi, params};

use crate::Result;

pub const PACKETS: i64 = 2_000_000;
pub const SNAPSHOTS: i64 = 100_000;
const SEQUENCES: Range<i64> = 2..10; // 1 is the service's
/// Packets come in chunks of one sequence, as from shared memory.
const CHUNK: i64 = 50;
/// Chunks of one sequence between two snapshots on it.
const CHUNKS_A_SNAPSHOT: i64 = 100;
const NANOSECONDS_A_PACKET: i64 = 100_000;
const START: i64 = 100_000_000_000;
/// The distance from BOOTTIME back to MONOTONIC.
const SUSPENDED: i64 = 40_000_000_000;

const FLAGS: FunctionFlags = FunctionFlags::SQLITE_UTF8
    .union(FunctionFlags::SQLITE_DETERMINISTIC)
    .union(FunctionFlags::SQLITE_INNOCUOUS);

/// A new database with timebase's tables.
fn create(path: &Path) -> Result<Connection> {
    let conn = Connection::open(path)?;
    conn.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")?;
    conn.execute_batch(timebase_schema::TABLES)?;
    Ok(conn)
}

fn finish(conn: &Connection) -> Result<()> {
    conn.execute_batch(&timebase_schema::finish())?;
    Ok(())
}

const ADD_READING: &str = "INSERT INTO clock_snapshot (ts, clock_id, clock_value, snapshot_id, \
     seq_id, unit_multiplier_ns, is_incremental, source) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";

/// The common data of a sequence's packets.
const ADD_COMMON: &str = "INSERT INTO packet_common (id, clock_id, seq_id, machine_id, type, uid, pid, \
     trace_file_id, first_id, is_absolute) \
     VALUES (?1, 64, ?1, 0, 'track_event', 10000, 1000 + ?1, 0, 0, 0)";

const ADD_PACKET: &str = "INSERT INTO packet_record (id, ts, timestamp, clock_ts, common_id, offset, size) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, 40)";

/// The last reading of a sequence's clock.
#[derive(Clone, Copy)]
struct Base {
    boottime: i64,
    ticks: i64,
}

/// The expected sums over a database of packets.
#[derive(Clone, Copy)]
pub struct Expected {
    pub boottime: i64,
    pub monotonic: i64,
    pub clock_ts: i64,
}

/// Makes a database of packets on eight sequences, each with its sequence-scoped clock 64. The
/// packets hold deltas (rule V5), half of them in microseconds. Half of the clocks are read
/// together with BOOTTIME, the others with MONOTONIC.
pub fn write_packets(path: &Path, packets: i64) -> Result<Expected> {
    let conn = create(path)?;
    let transaction = conn.unchecked_transaction()?;
    for seq in SEQUENCES {
        conn.execute(ADD_COMMON, [seq])?;
    }
    let mut add_packet = conn.prepare(ADD_PACKET)?;
    let mut add_reading = conn.prepare(ADD_READING)?;
    let mut snapshots = 0;
    let mut expected = Expected { boottime: 0, monotonic: 0, clock_ts: 0 };
    let mut bases = [Base { boottime: 0, ticks: 0 }; 10];
    let mut last_ticks = [0; 10];
    for id in 0..packets {
        let now = START + id * NANOSECONDS_A_PACKET + scatter(id) % NANOSECONDS_A_PACKET;
        let chunk = id / CHUNK;
        let seq = SEQUENCES.start + chunk % 8;
        let unit = if seq % 2 == 0 { 1 } else { 1000 };
        let base = &mut bases[seq as usize];
        let is_due = (chunk / 8) % CHUNKS_A_SNAPSHOT == 0;
        if id % CHUNK == 0 && is_due {
            let monotonic = now - SUSPENDED;
            let service = [(3, monotonic), (6, now), (1, now + 1_700_000_000_000_000_000)];
            if seq == SEQUENCES.start {
                for (clock, value) in service {
                    add_reading
                        .execute(params![now, clock, value, snapshots, 0, 1, 0, "service"])?;
                }
                snapshots += 1;
            }
            // The recorder's clock is off by some ticks, differently each time.
            let ticks = (now - START / 2) / unit + scatter(snapshots) % 100;
            *base = Base { boottime: now, ticks };
            let (clock, value) = if seq < 6 { (6, now) } else { (3, monotonic) };
            let value_of_64 = ticks * unit;
            add_reading.execute(params![
                now,
                64,
                value_of_64,
                snapshots,
                seq,
                unit,
                1,
                "writer"
            ])?;
            add_reading.execute(params![now, clock, value, snapshots, 0, 1, 0, "writer"])?;
            snapshots += 1;
        }
        let ticks = base.ticks + (now - base.boottime) / unit;
        let boottime = base.boottime + (ticks - base.ticks) * unit;
        let last = std::mem::replace(&mut last_ticks[seq as usize], ticks);
        let delta = ticks - last;
        add_packet.execute(params![id, boottime, delta, ticks, seq, id * 40])?;
        expected.boottime += boottime;
        expected.monotonic += boottime - SUSPENDED;
        expected.clock_ts += ticks;
    }
    drop((add_packet, add_reading));
    transaction.commit()?;
    finish(&conn)?;
    Ok(expected)
}

/// A pseudorandom number from 0 to 2^31.
fn scatter(number: i64) -> i64 {
    (number.wrapping_mul(0x5851_F42D_4C95_7F2D) >> 33) & 0x7FFF_FFFF
}

/// Makes a database that only has snapshots of three clocks.
pub fn write_snapshots(path: &Path, snapshots: i64) -> Result<()> {
    let conn = create(path)?;
    let transaction = conn.unchecked_transaction()?;
    let mut add_reading = conn.prepare(ADD_READING)?;
    for snapshot in 0..snapshots {
        let now = START + snapshot * 10_000_000;
        let (scoped, monotonic) = (now / 2, now - SUSPENDED + scatter(snapshot) % 1000);
        for (clock, value, seq) in [(64, scoped, 2), (3, monotonic, 0), (6, now, 0)] {
            add_reading.execute(params![now, clock, value, snapshot, seq, 1, 0, "writer"])?;
        }
    }
    drop(add_reading);
    transaction.commit()?;
    finish(&conn)
}

/// A connection with all functions.
pub fn connect(path: &Path) -> Result<Connection> {
    let conn = Connection::open(path)?;
    timebase_resolver::sql::register(&conn)?;
    register_noops(&conn)?;
    Ok(conn)
}

fn register_noops(conn: &Connection) -> Result<()> {
    conn.create_scalar_function("noop_closure", 3, FLAGS, |ctx| {
        let (_, _, ts): (i64, i64, i64) = (ctx.get(0)?, ctx.get(1)?, ctx.get(2)?);
        Ok(ts)
    })?;
    // SAFETY: the function takes as many arguments as registered, and the connection is open.
    let code = unsafe {
        ffi::sqlite3_create_function_v2(
            conn.handle(),
            c"noop_raw".as_ptr(),
            3,
            FLAGS.bits(),
            std::ptr::null_mut(),
            Some(noop_raw),
            None,
            None,
            None,
        )
    };
    (code == ffi::SQLITE_OK).then_some(()).ok_or_else(|| "noop_raw".into())
}

/// # Safety
///
/// SQLite calls it, with three arguments.
unsafe extern "C" fn noop_raw(
    ctx: *mut ffi::sqlite3_context,
    _count: c_int,
    arguments: *mut *mut ffi::sqlite3_value,
) {
    // SAFETY: by the contract of this function.
    unsafe {
        let read = |index| ffi::sqlite3_value_int64(*arguments.add(index));
        std::hint::black_box((read(0), read(1)));
        ffi::sqlite3_result_int64(ctx, read(2));
    }
}

/// Whether the functions return the values from which the packets were made.
pub fn check(conn: &Connection, expected: Expected) -> Result<()> {
    for (expression, expected) in [
        ("to_boottime(clock_id, seq_id, clock_ts)", expected.boottime),
        ("convert_clock(clock_id, seq_id, clock_ts, 3, 0)", expected.monotonic),
        ("noop_closure(clock_id, seq_id, clock_ts)", expected.clock_ts),
        ("noop_raw(clock_id, seq_id, clock_ts)", expected.clock_ts),
    ] {
        let sum: i64 = conn.query_row(&sum_of(expression), [], |row| row.get(0))?;
        assert_eq!(sum, expected, "the sum of {expression}");
    }
    Ok(())
}

fn sum_of(expression: &str) -> String {
    format!("SELECT sum({expression}) FROM packet")
}

/// The time to sum an expression over all packets.
pub fn time_sum(conn: &Connection, expression: &str) -> Result<Duration> {
    let start = Instant::now();
    let mut statement = conn.prepare(&sum_of(expression))?;
    statement.query_row([], |row| row.get::<_, i64>(0))?;
    Ok(start.elapsed())
}

/// The time of the first call on a new connection.
pub fn time_first_call(path: &Path) -> Result<Duration> {
    let conn = connect(path)?;
    let start = Instant::now();
    let call = "SELECT to_boottime('MONOTONIC', 0, 100000000000)";
    conn.query_row(call, [], |row| row.get::<_, i64>(0))?;
    Ok(start.elapsed())
}

/// The time to read the rows that this call reads.
pub fn time_reading(path: &Path) -> Result<Duration> {
    let conn = connect(path)?;
    let start = Instant::now();
    let read = "SELECT snapshot_id, machine_id, clock_id, seq_id, clock_value, \
         unit_multiplier_ns, is_incremental, source = 'writer' FROM clock_snapshot";
    let mut statement = conn.prepare(read)?;
    let mut rows = statement.query([])?;
    let mut sum = 0i64;
    while let Some(row) = rows.next()? {
        for column in 0..8 {
            sum = sum.wrapping_add(row.get(column)?);
        }
    }
    std::hint::black_box(sum);
    Ok(start.elapsed())
}
