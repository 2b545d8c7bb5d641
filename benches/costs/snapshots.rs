//! Many snapshots among packets, compared with few.

use timebase_import::Options;
use timebase_lab::reliability::grouped;
use timebase_lab::synth::{Preset, Settings};

use crate::imports::{discard, import};
use crate::pairs::Pairs;
use crate::table::{Row, Table, Target};
use crate::traces::Trace;
use crate::{Bench, Result, progress};

pub fn run(bench: &Bench, table: &mut Table) -> Result<()> {
    let packets = bench.size(1_000_000, 100_000);
    let many = packets / 10;
    // Snapshots of the packets' own clocks with BOOTTIME: each of the 8 sequences begins with one,
    // and takes the next after this many of its packets.
    let sequence = Settings::preset(Preset::Packets).records(packets);
    let of_sequence = |sequence_snapshot_every| Settings {
        service_snapshots: 2,
        sequence_snapshot_every,
        ..sequence.clone()
    };
    // Snapshots of the service: packets are on clocks that reach BOOTTIME through these.
    let service = Settings::preset(Preset::Snapshots).records(packets);
    let of_service = |service_snapshots| Settings { service_snapshots, ..service.clone() };
    for (what, many_of_them, few_of_them, target) in [
        (
            "snapshots of the packets' own clocks",
            of_sequence(10),
            of_sequence(u32::MAX),
            Some(Target::Ratio(1.3)),
        ),
        // Six times as many readings, and a row of the mapping for each clock.
        ("snapshots of the service, two hops", of_service(many), of_service(10), None),
    ] {
        let many_of_them = Trace::generate(bench, "many", &many_of_them)?;
        let few_of_them = Trace::generate(bench, "few", &few_of_them)?;
        let snapshots = many_of_them.made.map_or(0, |made| made.snapshots);
        assert!(snapshots >= many && snapshots < many + many / 100, "{snapshots}");
        progress(format_args!("importing {what}"));
        let database = bench.directory().join("snapshots.db");
        let options = Options::default();
        import(&few_of_them, &database, &options)?;
        let pairs = Pairs::run(
            bench.runs(),
            || discard(&database, import(&many_of_them, &database, &options)?),
            || discard(&database, import(&few_of_them, &database, &options)?),
        )?;
        let row = Row::new(format!("{} packets, {} {what}", grouped(packets), grouped(snapshots)));
        let row = row.pairs(&pairs, "with few snapshots").count(packets);
        table.add(match target {
            Some(target) => row.target(target),
            None => row,
        });
    }
    Ok(())
}
