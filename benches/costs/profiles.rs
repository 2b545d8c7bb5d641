//! Imports of samples with callstacks, compared with SQLite's inserts of the same rows.

use std::io::{BufWriter, Write};

use rusqlite::Connection;
use timebase_lab::encode::{Message, trace_of};
use timebase_lab::reliability::grouped;

use crate::same_rows::{Contents, compare};
use crate::table::Table;
use crate::traces::{Trace, create};
use crate::{Bench, Result, progress};

/// The tables with many rows.
const TABLES: [&str; 5] = [
    "packet_record",
    "stack_sample_record",
    "counter_record",
    "stack_profile_callsite",
    "stack_profile_frame",
];

const STACKS: u64 = 5_000;
const FRAMES: u64 = 40;
const FUNCTIONS: u64 = 20_000;
const PROCESSES: u64 = 8;

pub fn run(bench: &Bench, table: &mut Table) -> Result<()> {
    let samples = bench.size(1_000_000, 100_000);
    let what =
        format!("{} samples of {FRAMES} frames in {} stacks", grouped(samples), grouped(STACKS));
    progress(format_args!("importing {what}"));
    let (path, file) = create(bench, "profiles")?;
    let mut file = BufWriter::new(file);
    write(samples, &mut file)?;
    file.flush()?;
    let trace = Trace::of_bench(path);
    let contents = Contents { what: &what, count: samples };
    compare(bench, table, (&trace, contents), TABLES, |database| check(database, samples))
}

/// Each sample has its stack, and a value.
fn check(database: &std::path::Path, samples: u64) -> Result<()> {
    let conn = Connection::open(database)?;
    let count = |sql: &str| conn.query_row(sql, [], |row| row.get::<_, i64>(0));
    let stacks = "SELECT count(*) FROM stack_sample JOIN stack_profile_callsite AS c ON c.id = callsite_id WHERE depth = 39";
    assert_eq!(count(stacks)?, samples as i64, "samples");
    assert_eq!(count("SELECT count(*) FROM counter")?, samples as i64, "values");
    let different = "SELECT count(DISTINCT callsite_id) FROM stack_sample";
    assert_eq!(count(different)?, STACKS as i64, "stacks");
    Ok(())
}

/// The function of a stack at a depth: stacks have their outer frames in common.
fn function(stack: u64, depth: u64) -> u64 {
    const BITS: u64 = 13;
    let inner = BITS.saturating_sub(depth / 3);
    let path = stack >> inner;
    1 + (path.wrapping_mul(2_654_435_761) + depth * 517) % FUNCTIONS
}

/// A trace of perf: interned data first, as a writer's first packets have it.
fn write(samples: u64, file: &mut impl Write) -> std::io::Result<()> {
    let new = Message::new;
    let reading = |id, value| new().number(1, id).number(2, value);
    let snapshot = new().message(1, reading(6, 1000)).message(1, reading(3, 900));
    let mut put = |packet: Message| file.write_all(&trace_of(&[packet]));
    put(new().number(10, 1).message(6, snapshot))?;
    let timebase = new().number(10, 100).number(4, 10);
    let defaults = new().message(12, new().message(1, timebase));
    put(new().number(10, 2).number(13, 1).message(59, defaults))?;
    let path = new().number(1, 1).text(2, "system/lib64/libapp.so");
    let mapping = new().number(1, 1).number(7, 1);
    put(new().number(10, 2).message(12, new().message(17, path).message(19, mapping)))?;
    for first in (1..=FUNCTIONS).step_by(500) {
        let mut data = new();
        for iid in first..first + 500 {
            let name =
                new().number(1, iid).text(2, &format!("app::module_{}::function_{iid}", iid % 97));
            let frame = new().number(1, iid).number(2, iid).number(3, 1).number(4, iid * 16);
            data = data.message(5, name).message(6, frame);
        }
        put(new().number(10, 2).message(12, data))?;
    }
    for first in (1..=STACKS).step_by(250) {
        let mut data = new();
        for iid in first..first + 250 {
            let frames: Vec<u64> = (0..FRAMES).map(|depth| function(iid, depth)).collect();
            data = data.message(7, new().number(1, iid).packed(2, &frames));
        }
        put(new().number(10, 2).message(12, data))?;
    }
    for sample in 0..samples {
        let process = 1000 + sample % PROCESSES;
        let perf = new()
            .number(1, sample % 8)
            .number(2, process)
            .number(3, process)
            .number(4, 1 + sample.wrapping_mul(7919) % STACKS)
            .number(5, 2)
            .number(6, 1_000_000 + sample % 1000);
        put(new()
            .number(10, 2)
            .number(13, 2)
            .number(8, 2000 + sample * 100)
            .number(58, 6)
            .message(66, perf))?;
    }
    Ok(())
}
