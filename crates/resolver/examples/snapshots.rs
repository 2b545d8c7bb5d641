//! A clock graph by itself: snapshots in, a time and its explanation out.
//!
//!     cargo run -p timebase-resolver --example snapshots

use timebase_resolver::{Clock, ClockGraph, ClockNs, ConversionCache, Reading, Source};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (app, monotonic, boottime) = (Clock::host(200), Clock::host(3), Clock::BOOTTIME);
    let read = |clock, value| Reading::new(clock, value, 1, false);
    let mut graph = ClockGraph::new();
    let by_app = [read(app, 5_000)?, read(monotonic, 9_000)?];
    graph.add_snapshot(Source::Writer, &by_app, None)?;
    let by_service = [read(monotonic, 8_000)?, read(boottime, 8_070)?];
    graph.add_snapshot(Source::Service, &by_service, None)?;

    let mut cache = ConversionCache::new(); // one for each thread
    let event = ClockNs(6_000);
    let at = graph.convert(app, event, boottime, &mut cache)?;
    assert_eq!(at, ClockNs(10_070));

    let hops = graph.explain(app, event, boottime, &mut cache)?;
    for hop in &hops {
        let (id, before, after) = (hop.snapshot.0, hop.value_in, hop.value_out);
        println!("snapshot {id}: {} {before} = {} {after}", hop.from, hop.to);
    }
    assert_eq!(hops.len(), 2);
    Ok(())
}

#[test]
fn a_time_is_converted_and_explained() -> Result<(), Box<dyn std::error::Error>> {
    main()
}
