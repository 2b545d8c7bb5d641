//! Imports of kernel events that become slices, values and flows, compared with SQLite's inserts of the
//! same rows.

use std::io::{BufWriter, Write};

use rusqlite::Connection;
use timebase_lab::encode::{Message, trace_of};
use timebase_lab::reliability::grouped;

use crate::same_rows::{Contents, compare};
use crate::table::Table;
use crate::traces::{Trace, create};
use crate::{Bench, Result, progress};

/// The tables with many rows.
const TABLES: [&str; 6] =
    ["packet_record", "ftrace_record", "ftrace_args", "slice_record", "counter_record", "arg_set"];

const CPUS: u64 = 8;
const THREADS: u64 = 64;
/// The number of rounds in a bundle, and the number of events in a round.
const ROUNDS: u64 = 50;
const EVENTS: u64 = 12;

pub fn run(bench: &Bench, table: &mut Table) -> Result<()> {
    let bundles = bench.size(4_000, 400);
    let events = bundles * ROUNDS * EVENTS;
    let what = format!("{} kernel events that are slices and values", grouped(events));
    progress(format_args!("importing {what}"));
    let (path, file) = create(bench, "kernel")?;
    let mut file = BufWriter::new(file);
    write(bundles, &mut file)?;
    file.flush()?;
    let trace = Trace::of_bench(path);
    let contents = Contents { what: &what, count: events };
    compare(bench, table, (&trace, contents), TABLES, |database| check(database, bundles * ROUNDS))
}

/// A round makes five slices and two values.
fn check(database: &std::path::Path, rounds: u64) -> Result<()> {
    let conn = Connection::open(database)?;
    let count = |sql: &str| conn.query_row(sql, [], |row| row.get::<_, i64>(0));
    let rounds = rounds as i64;
    assert_eq!(count("SELECT count(*) FROM slice WHERE dur > 0")?, 5 * rounds, "slices");
    assert_eq!(count("SELECT count(*) FROM counter")?, 2 * rounds, "values");
    Ok(())
}

/// The events of a thread in a round: calls, work, a timer, requests, packets.
fn round(number: u64) -> [(u32, Message); EVENTS as usize] {
    let new = Message::new;
    let call = || new().number(1, [0, 1, 17, 202][number as usize % 4]);
    let request = || new().number(1, number % 4).number(2, number % 4096);
    let packet = || new().number(1, 60 + number % 1400).text(2, "wlan0");
    [
        (329, call().packed(2, &[number % 16, 0x7fff_0000 + number % 64, 4096])),
        (546, request()),
        (58, new().number(2, 1 + number % 16)),
        (57, new()),
        (553, new().number(3, 1 + number % 16)),
        (554, new()),
        (360, packet()),
        (547, request()),
        (361, packet()),
        (417, new().number(1, 3).number(3, number % 256)),
        (418, new()),
        (330, call().number(2, number % 4096)),
    ]
}

/// Bundles of all CPUs in turn, with the names of functions in the first one.
fn write(bundles: u64, file: &mut impl Write) -> std::io::Result<()> {
    let new = Message::new;
    let mut put = |packet: Message| file.write_all(&trace_of(&[packet]));
    let reading = |id, value| new().number(1, id).number(2, value);
    let snapshot = new().message(1, reading(6, 1000)).message(1, reading(3, 900));
    put(new().number(10, 1).message(6, snapshot))?;
    let utsname = new().text(1, "Linux").text(3, "6.1.0").text(4, "x86_64");
    put(new().number(10, 1).message(45, new().message(1, utsname)))?;
    let symbols = (1..=16).fold(new(), |symbols, iid| {
        let symbol = new().number(1, iid).text(2, &format!("work_function_{iid}"));
        symbols.message(26, symbol)
    });
    put(new().number(10, 2).number(13, 1).message(12, symbols))?;
    let mut now = 10_000;
    for bundle in 0..bundles {
        let mut events = new().number(1, bundle % CPUS);
        for number in bundle * ROUNDS..(bundle + 1) * ROUNDS {
            for (kind, fields) in round(number) {
                now += 700;
                let tid = 1000 + number % THREADS;
                let event = new().number(1, now).number(2, tid);
                events = events.message(2, event.message(kind, fields));
            }
        }
        put(new().number(10, 2).number(13, 2).message(1, events))?;
    }
    Ok(())
}
