//! The cost of a conversion in SQL, compared with a function that does nothing.

use crate::functions::{self, PACKETS, SNAPSHOTS};
use crate::pairs::Pairs;
use crate::table::{Row, Table, Target};
use crate::{Bench, Result, progress};

/// A sum over all packets, with its yardstick and the target.
const COMPARED: [(&str, &str, Option<f64>); 8] = [
    (
        "to_boottime(clock_id, seq_id, clock_ts)",
        "noop_closure(clock_id, seq_id, clock_ts)",
        Some(1.2),
    ),
    ("to_boottime(clock_id, seq_id, clock_ts)", "noop_raw(clock_id, seq_id, clock_ts)", None),
    (
        "convert_clock(clock_id, seq_id, clock_ts, 3, 0)",
        "noop_closure(clock_id, seq_id, clock_ts)",
        None,
    ),
    (
        "why_unresolved(clock_id, seq_id, clock_ts) IS NULL",
        "noop_closure(clock_id, seq_id, clock_ts) IS NULL",
        None,
    ),
    (
        "to_boottime_linear(clock_id, seq_id, clock_ts)",
        "noop_closure(clock_id, seq_id, clock_ts)",
        Some(1.5),
    ),
    (
        "boottime_error(clock_id, seq_id, clock_ts)",
        "noop_closure(clock_id, seq_id, clock_ts)",
        None,
    ),
    ("to_boottime(3, 0, ts)", "noop_closure(3, 0, ts)", None),
    ("to_boottime('MONOTONIC', 0, ts)", "noop_closure(3, 0, ts)", None),
];

pub fn run(bench: &Bench, table: &mut Table) -> Result<()> {
    let packets = bench.size(PACKETS, PACKETS / 10);
    progress(format_args!("a database of {packets} packets"));
    let path = bench.directory().join("functions.db");
    let expected = functions::write_packets(&path, packets)?;
    let conn = functions::connect(&path)?;
    functions::check(&conn, expected)?;
    for (ours, yardstick, target) in COMPARED {
        progress(ours);
        let time = |expression: &'static str| {
            let conn = &conn;
            move || functions::time_sum(conn, expression)
        };
        let pairs = Pairs::run(bench.runs(), time(ours), time(yardstick))?;
        let name = yardstick.split('(').next().unwrap_or_default();
        let row = Row::new(format!("sum({ours})"));
        let row = row.pairs(&pairs, name).count(packets as u64);
        table.add(match target {
            Some(target) => row.target(Target::Ratio(target)),
            None => row,
        });
    }
    drop(conn);
    let snapshots = bench.size(SNAPSHOTS, SNAPSHOTS / 10);
    progress(format_args!("the first call with {snapshots} snapshots"));
    let path = bench.directory().join("first-call.db");
    functions::write_snapshots(&path, snapshots)?;
    let pairs = Pairs::run(
        bench.runs(),
        || functions::time_first_call(&path),
        || functions::time_reading(&path),
    )?;
    let row = Row::new(format!("the first call in a database of {snapshots} snapshots"));
    table.add(row.pairs(&pairs, "reading their rows").count(snapshots as u64));
    Ok(())
}
