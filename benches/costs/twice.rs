//! An import that reads its trace twice, compared with one that reads it once.

use timebase_import::{Conversion, Options};
use timebase_lab::reliability::grouped;
use timebase_lab::synth::{Preset, Settings};

use crate::imports::{discard, import};
use crate::pairs::Pairs;
use crate::table::{Row, Table, Target};
use crate::traces::Trace;
use crate::{Bench, Result, progress};

pub fn run(bench: &Bench, table: &mut Table) -> Result<()> {
    for (what, preset, records) in [
        ("packets", Preset::Packets, bench.size(2_000_000, 200_000)),
        ("kernel events", Preset::Events, bench.size(3_000_000, 300_000)),
        (
            "packets, with a snapshot for every tenth",
            Preset::Snapshots,
            bench.size(500_000, 50_000),
        ),
    ] {
        let settings = Settings::preset(preset).records(records);
        let trace = Trace::generate(bench, "twice", &settings)?;
        progress(format_args!("importing {what} by lines"));
        let database = bench.directory().join("twice.db");
        let by = |conversion| {
            let mut options = Options::default();
            options.conversion = conversion;
            options
        };
        let (linear, nearest) = (by(Conversion::Linear), by(Conversion::Nearest));
        import(&trace, &database, &nearest)?;
        let pairs = Pairs::run(
            bench.runs(),
            || discard(&database, import(&trace, &database, &linear)?),
            || discard(&database, import(&trace, &database, &nearest)?),
        )?;
        let row = Row::new(format!("import of {} {what} by lines", grouped(records)));
        let row = row.pairs(&pairs, "by the nearest snapshot").count(records);
        table.add(row.target(Target::Ratio(1.5)));
    }
    Ok(())
}
