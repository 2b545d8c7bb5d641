//! Tables as Parquet, compared with stepping through the same rows with SQLite's C interface, which
//! every export needs.

use std::ffi::{CString, OsStr};
use std::fs;
use std::path::Path;
use std::ptr;
use std::slice;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags, ffi};
use timebase_export::{Compression, Folder, Monitor, Schema};
use timebase_import::Options;
use timebase_lab::reliability::grouped;
use timebase_lab::synth::{Preset, Settings};

use crate::events;
use crate::imports::import;
use crate::pairs::Pairs;
use crate::table::{Row, Table, Target};
use crate::traces::Trace;
use crate::{Bench, Result, program, progress};

/// The memory of a task in a cluster, for the whole program.
const MEMORY: u64 = 64_000_000;

pub fn run(bench: &Bench, table: &mut Table) -> Result<()> {
    let trace = match &bench.events {
        Some(trace) => Trace::of_file(trace),
        None => Trace::generate(bench, "events", &events::settings(bench))?,
    };
    let database = bench.directory().join("events.db");
    progress("importing events");
    import(&trace, &database, &Options::default())?;
    drop(trace);
    measure(bench, table, &database, "ftrace_event", "kernel events")?;
    measure(bench, table, &database, "sched", "slices of CPUs")?;
    fs::remove_file(&database)?;

    let packets = bench.size(2_000_000, 200_000);
    let settings = Settings::preset(Preset::Packets).records(packets);
    let trace = Trace::generate(bench, "packets", &settings)?;
    let database = bench.directory().join("packets.db");
    progress("importing packets");
    import(&trace, &database, &Options::default())?;
    drop(trace);
    measure(bench, table, &database, "packet", "packets")?;
    Ok(fs::remove_file(&database)?)
}

fn measure(
    bench: &Bench,
    table: &mut Table,
    database: &Path,
    name: &'static str,
    what: &str,
) -> Result<()> {
    progress(format_args!("exporting {name}"));
    let folder = bench.directory().join("exported");
    let conn = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let (rows, _) = export(&conn, &folder, name)?;
    // In bytes: its own rows, and the texts and numbers that a view looks up for them.
    let pages = "SELECT sum(pgsize) FROM dbstat WHERE name = ?1";
    let stored = match name {
        "ftrace_event" => "ftrace_record",
        "sched" => "sched_record",
        other => other,
    };
    let stored: Option<i64> = conn.query_row(pages, [stored], |row| row.get(0)).ok();
    let size = size(&folder)?;
    fs::remove_dir_all(&folder)?;
    let pairs = Pairs::run(
        bench.runs(),
        || {
            let (_, time) = export(&conn, &folder, name)?;
            fs::remove_dir_all(&folder)?;
            Ok(time)
        },
        || {
            let (found, time) = select(&conn, name)?;
            assert_eq!(found, rows, "rows of {name}");
            Ok(time)
        },
    )?;
    let arguments = ["export", "--tables", name, "-o"].map(OsStr::new);
    let places = [folder.as_os_str(), database.as_os_str()];
    let cost = program::cost(arguments.into_iter().chain(places))?;
    fs::remove_dir_all(&folder)?;
    let against = match stored {
        Some(stored) => format!(" of {:.0} in the database", stored as f64 / 1e6),
        None => String::new(),
    };
    table.add(
        Row::new(format!(
            "export of {} {what}, {:.0} MB{against}",
            grouped(rows),
            size as f64 / 1e6
        ))
        .pairs(&pairs, "SELECT of the same rows")
        .count(rows)
        .target(Target::Ratio(1.5)),
    );
    table.add(
        Row::new(format!("the same by the program, {what}"))
            .time(cost.time)
            .memory(cost.peak_memory)
            .target(Target::Memory(MEMORY)),
    );
    Ok(())
}

/// Exports a table, and returns its number of rows.
fn export(conn: &Connection, folder: &Path, name: &str) -> Result<(u64, Duration)> {
    let begun = Instant::now();
    let schema = Schema::new()?;
    let options = timebase_export::Options {
        tables: schema.table(name).into_iter().collect(),
        compression: Compression::Zstd,
        labels: Vec::new(),
        overwrite: false,
    };
    let folder = Folder::at(folder)?;
    let summary = timebase_export::export(conn, &folder, &schema, &options, &Monitor::default())?;
    let rows = summary.tables.iter().map(|(_, rows)| rows).sum();
    Ok((rows, begun.elapsed()))
}

/// The size of the Parquet files in bytes.
fn size(folder: &Path) -> Result<u64> {
    let mut size = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        size += match entry.file_type()?.is_dir() {
            true => self::size(&entry.path())?,
            false if entry.path().extension() == Some(OsStr::new("parquet")) => {
                entry.metadata()?.len()
            }
            false => 0,
        };
    }
    Ok(size)
}

/// Reads each value of each row, and returns the number of rows.
fn select(conn: &Connection, name: &str) -> Result<(u64, Duration)> {
    let begun = Instant::now();
    let sql = CString::new(format!("SELECT * FROM {name}"))?;
    let mut statement = ptr::null_mut();
    // SAFETY: the connection is open; the text ends with a zero byte; SQLite does not need the
    // address of the rest.
    let code = unsafe {
        ffi::sqlite3_prepare_v2(
            conn.handle(),
            sql.as_ptr(),
            -1,
            &raw mut statement,
            ptr::null_mut(),
        )
    };
    if code != ffi::SQLITE_OK {
        return Err(format!("cannot prepare: {code}").into());
    }
    // SAFETY: the statement was prepared.
    let columns = unsafe { ffi::sqlite3_column_count(statement) };
    let (mut rows, mut seen) = (0, 0_u64);
    // SAFETY: it is finalized below and not before.
    while unsafe { ffi::sqlite3_step(statement) } == ffi::SQLITE_ROW {
        for column in 0..columns {
            // SAFETY: there is a row, and it has this column.
            seen = seen.wrapping_add(unsafe { value(statement, column) });
        }
        rows += 1;
    }
    // SAFETY: it was prepared above, and nothing else uses it any more.
    let code = unsafe { ffi::sqlite3_finalize(statement) };
    if code != ffi::SQLITE_OK {
        return Err(format!("cannot read {name}: {code}").into());
    }
    std::hint::black_box(seen);
    Ok((rows, begun.elapsed()))
}

/// Reads a value as a client would: its type, and then its contents.
///
/// # Safety
///
/// The statement has a current row with this column.
unsafe fn value(statement: *mut ffi::sqlite3_stmt, column: i32) -> u64 {
    // SAFETY: as above, for all of them. Text and blob are valid until the next step, and have as
    // many bytes as SQLite says.
    unsafe {
        match ffi::sqlite3_column_type(statement, column) {
            ffi::SQLITE_INTEGER => ffi::sqlite3_column_int64(statement, column) as u64,
            ffi::SQLITE_FLOAT => ffi::sqlite3_column_double(statement, column).to_bits(),
            ffi::SQLITE_TEXT => bytes(
                ffi::sqlite3_column_text(statement, column),
                ffi::sqlite3_column_bytes(statement, column),
            ),
            ffi::SQLITE_BLOB => bytes(
                ffi::sqlite3_column_blob(statement, column).cast(),
                ffi::sqlite3_column_bytes(statement, column),
            ),
            _ => 0,
        }
    }
}

/// The first and the last of some bytes.
///
/// # Safety
///
/// There are this many bytes, unless there are none.
unsafe fn bytes(start: *const u8, length: i32) -> u64 {
    if start.is_null() || length == 0 {
        return 0;
    }
    // SAFETY: as above.
    let bytes = unsafe { slice::from_raw_parts(start, length.unsigned_abs() as usize) };
    let ends = bytes.first().zip(bytes.last());
    ends.map_or(0, |(first, last)| u64::from(*first) + u64::from(*last))
}
