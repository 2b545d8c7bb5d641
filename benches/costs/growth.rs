//! Memory and time of increasingly large imports.

use timebase_lab::reliability::grouped;
use timebase_lab::synth::{Preset, Settings};

use crate::child::{Cost, import_in_child};
use crate::pairs::{Pairs, Spread, median};
use crate::table::{Row, Table, Target};
use crate::traces::{Trace, need_space};
use crate::{Bench, Result, progress};

/// For ten times the trace, this many times the time is allowed.
const TEN_TIMES: Target = Target::Ratio(10.5);
const MEMORY: Target = Target::Memory(64_000_000);
const RUNS: usize = 3;
const MEGABYTE: u64 = 1_000_000;
/// A database is about 4 times as large as its trace, and during the import there is also an
/// unsorted index.
const DATABASE: u64 = 5;

pub fn run(bench: &Bench, table: &mut Table) -> Result<()> {
    let sizes: &[u64] = bench.size(&[10, 100, 1000, 4000], &[10, 100]);
    bytes(bench, table, Preset::Packets, "packets", sizes)?;
    let sizes: &[u64] = bench.size(&[10, 100, 1000], &[10, 100]);
    bytes(bench, table, Preset::Mixed, "records of all kinds", sizes)?;

    let packets = bench.size(1_000_000, 100_000);
    let snapshots = Settings::preset(Preset::Snapshots).records(packets);
    for service_snapshots in [10, packets / 1000, packets / 10, packets] {
        let what = format!(
            "{} packets, {} snapshots of the service",
            grouped(packets),
            grouped(service_snapshots)
        );
        let settings = Settings { service_snapshots, ..snapshots.clone() };
        count(bench, table, what, &settings)?;
    }
    let packets_of = Settings::preset(Preset::Packets).records(packets);
    for sequences in [1, 100, 10_000, 100_000] {
        if u64::from(sequences) * 10 > packets {
            continue;
        }
        let settings = Settings { sequences, ..packets_of.clone() };
        let what = format!(
            "{} packets of {} sequence{}",
            grouped(packets),
            grouped(sequences.into()),
            if sequences == 1 { "" } else { "s" }
        );
        count(bench, table, what, &settings)?;
    }
    Ok(())
}

/// A trace, and the cost of each of its imports.
struct Imports {
    name: String,
    trace: Trace,
    costs: Vec<Cost>,
}

impl Imports {
    fn of(bench: &Bench, name: String, settings: &Settings) -> Result<Imports> {
        Ok(Imports { trace: Trace::generate(bench, &name, settings)?, name, costs: Vec::new() })
    }

    fn once_more(&mut self, bench: &Bench) -> Result<()> {
        progress(format_args!("importing {}", self.name));
        let database = bench.directory().join("growth.db");
        self.costs.push(import_in_child(&self.trace, &database)?);
        self.trace.check_events(&database)?;
        Ok(std::fs::remove_file(&database)?)
    }

    fn times(&self) -> Vec<std::time::Duration> {
        self.costs.iter().map(|cost| cost.time).collect()
    }

    fn row(&self, what: String) -> Row {
        let memory = self.costs.iter().map(|cost| cost.peak_memory).max();
        Row::new(what)
            .time(median(&self.times()))
            .count(self.trace.made.map_or(0, |made| made.records))
            .memory(memory.unwrap_or_default())
            .target(MEMORY)
    }
}

/// Traces of this many megabytes, each compared with the previous one.
fn bytes(bench: &Bench, table: &mut Table, preset: Preset, of: &str, sizes: &[u64]) -> Result<()> {
    let largest = sizes.iter().max().copied().unwrap_or_default();
    let all = sizes.iter().sum::<u64>() + largest * DATABASE;
    need_space(bench, all * MEGABYTE)?;
    let mut imports = Vec::new();
    for &size in sizes {
        let settings = Settings::preset(preset).bytes(size * MEGABYTE);
        imports.push(Imports::of(bench, format!("{size} MB of {of}"), &settings)?);
    }
    for _ in 0..RUNS {
        for import in &mut imports {
            import.once_more(bench)?;
        }
    }
    for import in &imports {
        table.add(import.row(import.name.clone()));
    }
    for (smaller, larger) in imports.iter().zip(imports.iter().skip(1)) {
        table.add(ten_times(smaller, larger));
    }
    Ok(())
}

/// The ratio of the larger one's time to the smaller one's, for ten times the bytes.
fn ten_times(smaller: &Imports, larger: &Imports) -> Row {
    let bytes = |imports: &Imports| imports.trace.made.map_or(0, |made| made.bytes) as f64;
    let pairs = Pairs { ours: larger.times(), yardstick: smaller.times() };
    let scale = 10.0 * bytes(smaller) / bytes(larger);
    let ratio: Spread = pairs.ratio().scaled(scale);
    Row::new(format!("10 times the trace: {} ÷ {}", larger.name, smaller.name))
        .pairs(&pairs, "the smaller trace")
        .ratio(ratio)
        .target(TEN_TIMES)
}

/// A trace with as many records as others, but more of something else.
fn count(bench: &Bench, table: &mut Table, what: String, settings: &Settings) -> Result<()> {
    let mut imports = Imports::of(bench, what.clone(), settings)?;
    for _ in 0..RUNS {
        imports.once_more(bench)?;
    }
    table.add(imports.row(what));
    Ok(())
}
