//! Rewriting a trace, compared with an import of its packets alone.

use std::ffi::OsStr;
use std::path::Path;

use timebase_lab::reliability::grouped;
use timebase_lab::synth::{Preset, Settings};

use crate::child::Cost;
use crate::imports::remove;
use crate::pairs::Pairs;
use crate::program::cost;
use crate::table::{Row, Table, Target};
use crate::traces::Trace;
use crate::{Bench, Result, progress};

const CONVERSIONS: [&str; 2] = ["nearest", "linear"];
const RATIO: Target = Target::Ratio(1.5);
const MEMORY: Target = Target::Memory(64_000_000);

pub fn run(bench: &Bench, table: &mut Table) -> Result<()> {
    for (what, preset, records) in [
        ("packets", Preset::Packets, bench.size(2_000_000, 200_000)),
        ("kernel events", Preset::Events, bench.size(3_000_000, 300_000)),
        ("records of all kinds", Preset::Mixed, bench.size(2_000_000, 200_000)),
    ] {
        let settings = Settings::preset(preset).records(records);
        let trace = Trace::generate(bench, "rewrite", &settings)?;
        for conversion in CONVERSIONS {
            let name = format!("{} {what}, {conversion}", grouped(records));
            progress(format_args!("rewriting {name}"));
            let (database, written) =
                (bench.directory().join("rewrite.db"), bench.directory().join("rewritten.pftrace"));
            let mut memory = 0;
            let pairs = Pairs::run(
                bench.runs(),
                || {
                    let Cost { time, peak_memory } =
                        done(&["rewrite", "--conversion", conversion], &trace.path, &written)?;
                    memory = memory.max(peak_memory);
                    Ok(time)
                },
                || {
                    let import = ["import", "--no-events", "--conversion", conversion];
                    Ok(done(&import, &trace.path, &database)?.time)
                },
            )?;
            let row = Row::new(&name).count(records).memory(memory);
            let row = row.pairs(&pairs, "an import of the packets alone");
            table.add(row.target(RATIO));
            table.add(Row::new(format!("{name}: memory")).memory(memory).target(MEMORY));
        }
        cut(bench, &trace, (&grouped(records), what), table)?;
    }
    Ok(())
}

/// Cuts the middle seventh of a trace's time out, compared with rewriting all of it.
fn cut(bench: &Bench, trace: &Trace, (count, what): (&str, &str), table: &mut Table) -> Result<()> {
    let name = format!("a cut of {count} {what}");
    progress(format_args!("rewriting {name}"));
    let Some((first, last)) = trace.made.as_ref().map(|made| (made.begin_ns, made.end_ns)) else {
        return Ok(());
    };
    let part = (last - first) / 7;
    let (from, to) = ((first + 3 * part).to_string(), (first + 4 * part).to_string());
    let written = bench.directory().join("cut.pftrace");
    let mut memory = 0;
    let pairs = Pairs::run(
        bench.runs(),
        || {
            let cut = ["rewrite", "--from", &from, "--to", &to];
            let Cost { time, peak_memory } = done(&cut, &trace.path, &written)?;
            memory = memory.max(peak_memory);
            Ok(time)
        },
        || Ok(done(&["rewrite"], &trace.path, &written)?.time),
    )?;
    let row = Row::new(&name).memory(memory).pairs(&pairs, "rewriting all of it");
    table.add(row);
    table.add(Row::new(format!("{name}: memory")).memory(memory).target(MEMORY));
    Ok(())
}

/// Runs the program, and removes what it wrote.
fn done(command: &[&str], trace: &Path, output: &Path) -> Result<Cost> {
    remove(output)?;
    let words = command.iter().map(OsStr::new);
    let files = [trace.as_os_str(), OsStr::new("-o"), output.as_os_str()];
    let cost = cost(words.chain(files))?;
    remove(output)?;
    Ok(cost)
}
