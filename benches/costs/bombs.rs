//! Traces that would fill the memory, take forever, or fill the disk.

use std::fs::File;
use std::path::{Path, PathBuf};

use timebase_import::Options;
use timebase_lab::reliability::grouped;
use timebase_lab::synth::{BOMBS, Bomb};

use crate::child::{Attempt, attempt};
use crate::pairs::{Pairs, Spread};
use crate::table::{Row, Table, Target};
use crate::traces::need_space;
use crate::{Bench, Result, progress};

/// The memory limit of an import, and the excess until the next check: a packet of 32 MiB takes up
/// to thirty times that.
const MEMORY: u64 = Options::MEMORY.0 + (1 << 30);

/// Four times the size, compared with a quarter of it.
const PARTS: u64 = 4;

pub fn run(bench: &Bench, table: &mut Table) -> Result<()> {
    need_space(bench, 5_000_000_000)?;
    for bomb in BOMBS {
        // A size given as a logarithm cannot be divided by four.
        let parts = |parts: u64| if bomb.full < 100 { 1 } else { parts };
        let count = bomb.full / parts(bench.size(1, 16));
        let quarter = once(bench, bomb, count / parts(PARTS))?;
        let whole = once(bench, bomb, count)?;
        let pairs = Pairs { ours: vec![whole.cost.time], yardstick: vec![quarter.cost.time] };
        let ratio: Spread = pairs.ratio();
        table.add(
            Row::new(format!("{}: {}", bomb.name, told(bomb, count, &whole)))
                .pairs(&pairs, "a quarter of them")
                .ratio(ratio)
                .memory(whole.cost.peak_memory.max(quarter.cost.peak_memory))
                .target(Target::Memory(MEMORY)),
        );
    }
    Ok(())
}

/// An import, and the sizes of everything.
struct Once {
    cost: crate::child::Cost,
    trace: u64,
    database: u64,
    error: Option<String>,
}

fn once(bench: &Bench, bomb: &Bomb, count: u64) -> Result<Once> {
    let name = format!("{} of {}", grouped(count), bomb.name);
    progress(format_args!("importing {name}"));
    let trace = bench.directory().join("bomb.pftrace");
    bomb.write(count, &mut File::create(&trace)?)?;
    let database = bench.directory().join("bomb.db");
    let Attempt { cost, error } = attempt(&trace, &database)?;
    let once = Once {
        cost,
        trace: trace.metadata()?.len(),
        database: database.metadata().map_or(0, |found| found.len()),
        error,
    };
    remove(&trace);
    remove(&database);
    Ok(once)
}

/// It may be missing.
fn remove(path: &Path) {
    let _: std::io::Result<()> = std::fs::remove_file(PathBuf::from(path));
}

fn told(bomb: &Bomb, count: u64, whole: &Once) -> String {
    let about = format!("{} {}, {:.1} MB", grouped(count), bomb.about, whole.trace as f64 / 1e6);
    match &whole.error {
        None => format!("{about} → {:.1} MB", whole.database as f64 / 1e6),
        // Without the name of the file.
        Some(error) => {
            let said = error.split_once(".pftrace ").map_or(error.as_str(), |(_, said)| said);
            format!("{about} → error: {said}")
        }
    }
}
