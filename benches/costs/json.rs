//! Imports of a trace of PyTorch's profiler in JSON, compared with serde_json, which reads every event into
//! a struct.

use std::collections::HashMap;
use std::fs;
use std::hint::black_box;
use std::io::BufWriter;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use serde::Deserialize;
use serde_json::Value;
use timebase_import::Options;
use timebase_lab::reliability::grouped;
use timebase_lab::synth::write_kineto;

use crate::child::import_in_child;
use crate::imports::{discard, import};
use crate::pairs::Pairs;
use crate::table::{Row, Table, Target};
use crate::traces::{Trace, create};
use crate::{Bench, Result, progress};

/// A trace as a program with serde_json would declare it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Read {
    trace_events: Vec<Event>,
}

#[derive(Deserialize)]
struct Event {
    ph: String,
    name: Option<String>,
    cat: Option<String>,
    ts: Option<f64>,
    dur: Option<f64>,
    pid: Option<Value>,
    tid: Option<Value>,
    id: Option<Value>,
    args: Option<HashMap<String, Value>>,
}

pub fn run(bench: &Bench, table: &mut Table) -> Result<()> {
    let events = bench.size(1_000_000, 100_000);
    let (path, file) = create(bench, "json")?;
    let mut file = BufWriter::new(file);
    write_kineto(events, 1, &mut file)?;
    drop(file);
    let size = fs::metadata(&path)?.len();
    let trace = Trace::of_bench(path);
    let ours = bench.directory().join("json.db");
    for (what, keep_data) in [("", true), (", without their text", false)] {
        progress(format_args!("importing JSON{what}"));
        let mut options = Options::default();
        options.keep_data = keep_data;
        import(&trace, &ours, &options)?;
        check(&ours, events)?;
        let database = fs::metadata(&ours)?.len();
        let pairs = Pairs::run(
            bench.runs(),
            || discard(&ours, import(&trace, &ours, &options)?),
            || parse(&trace, events),
        )?;
        let times_as_large = database as f64 / size as f64;
        let what = format!(
            "import of {} events of JSON{what}, a database {times_as_large:.2} times as large",
            grouped(events)
        );
        let row = Row::new(what).pairs(&pairs, "serde_json reads each into a struct").count(events);
        table.add(match keep_data {
            true => {
                let cost = import_in_child(&trace, &ours)?;
                row.memory(cost.peak_memory).target(Target::Ratio(1.5))
            }
            false => row,
        });
    }
    Ok(())
}

/// Two of five events are those of flows.
fn check(database: &std::path::Path, events: u64) -> Result<()> {
    let conn = Connection::open(database)?;
    let slices: i64 = conn.query_row("SELECT count(*) FROM slice", [], |row| row.get(0))?;
    assert_eq!(u64::try_from(slices)?, events / 5 * 3, "slices");
    Ok(())
}

fn parse(trace: &Trace, events: u64) -> Result<Duration> {
    let begun = Instant::now();
    let text = fs::read(&trace.path)?;
    let read: Read = serde_json::from_slice(&text)?;
    let time = begun.elapsed();
    let mut counted = 0;
    for event in &read.trace_events {
        let Event { ph, name, cat, ts, dur, pid, tid, id, args } = event;
        black_box((name, cat, ts, dur, pid, tid, id, args));
        counted += u64::from(ph != "M");
    }
    assert_eq!(counted, events, "events");
    Ok(time)
}
