//! Imports of packets without their contents, compared with SQLite's inserts of their rows.

use timebase_import::Options;
use timebase_lab::reliability::grouped;
use timebase_lab::synth::{Preset, Settings};

use crate::imports::{discard, import};
use crate::inserts::{Rows, same_rows};
use crate::pairs::Pairs;
use crate::table::{Row, Table, Target};
use crate::traces::Trace;
use crate::{Bench, Result, progress, truth};

pub fn run(bench: &Bench, table: &mut Table) -> Result<()> {
    let packets = bench.size(2_000_000, 200_000);
    let settings = Settings::preset(Preset::Packets).records(packets);
    let (trace, truths) = Trace::generate_with_truth(bench, "packets", &settings)?;
    let ours = bench.directory().join("packets.db");
    let bare = bench.directory().join("bare.db");
    for (what, keep_data) in [("", true), (", without their bytes", false)] {
        progress(format_args!("importing packets{what}"));
        let mut options = Options::default();
        options.keep_data = keep_data;
        options.subjects = Vec::new();
        import(&trace, &ours, &options)?;
        truth::check(&ours, &truths)?;
        let rows = Rows::read(&ours, "packet_record")?;
        rows.insert(&bare)?;
        same_rows(&ours, &bare, "packet_record")?;
        let pairs = Pairs::run(
            bench.runs(),
            || discard(&ours, import(&trace, &ours, &options)?),
            || discard(&bare, rows.insert(&bare)?),
        )?;
        let row = Row::new(format!("import of {} packets of 30 bytes{what}", grouped(packets)))
            .pairs(&pairs, "bare inserts of the same rows")
            .count(rows.len() as u64);
        table.add(match keep_data {
            true => row.target(Target::Ratio(1.25)),
            false => row,
        });
    }
    Ok(())
}
