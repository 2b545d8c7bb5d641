//! The peak memory of a clock graph and a cache, for traces whose shape could make them large.
//!
//! The import may use 64 MB for everything, for any trace.

#![allow(clippy::unwrap_used)]

use std::convert::Infallible;

use timebase_resolver::align::{Direction, Evidence, Message, Messages, PairClocks, align};
use timebase_resolver::{
    Clock, ClockGraph, ClockId, ClockNs, ConversionCache, EstimateCache, Estimates, MachineId,
    Reading, SeqId, Source, Unresolved,
};

#[global_allocator]
static HEAP: dhat::Alloc = dhat::Alloc;

const SECOND: i64 = 1_000_000_000;

fn monotonic() -> Clock {
    Clock::host(3)
}

fn scoped(seq: u32) -> Clock {
    Clock::new(MachineId::HOST, ClockId(64), SeqId(seq))
}

fn reading(clock: Clock, value: i64) -> Reading {
    Reading { clock, value, unit: 1, incremental: false }
}

#[derive(Default)]
struct Asked {
    graph: ClockGraph,
    cache: ConversionCache,
}

fn add(asked: &mut Asked, source: Source, readings: &[Reading]) {
    asked.graph.add_snapshot(source, readings, Some(Clock::BOOTTIME)).unwrap();
}

/// Numbers without a pattern, below `limit`.
fn noise(index: i64, limit: i64) -> i64 {
    let mixed = (index as u64 ^ 0x5bd1_e995).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((mixed >> 20) % limit as u64) as i64
}

/// The six builtin clocks, as the tracing service reads them: one after the other, every 10 s and
/// up to 10 s late; the coarse ones are up to 4 ms behind.
fn service(index: i64) -> [Reading; 6] {
    const JIFFY: i64 = 4_000_000;
    let boot = index * 10 * SECOND + noise(index, 10 * SECOND);
    let real = 1_700_000_000 * SECOND + boot + index * 20_000;
    [
        (6, boot),
        (2, real / JIFFY * JIFFY),
        (4, boot / JIFFY * JIFFY),
        (1, real + 100 + noise(index + 1, 200)),
        (3, boot + 300 + noise(index + 2, 200)),
        (5, boot - index * 9_000 + 400 + noise(index + 3, 200)),
    ]
    .map(|(id, value)| reading(Clock::host(id), value))
}

fn to_boottime(asked: &mut Asked, clock: Clock, value: i64) -> Result<i64, Unresolved> {
    let Asked { graph, cache } = asked;
    let converted = graph.convert(clock, ClockNs(value), Clock::BOOTTIME, cache);
    converted.map(|ClockNs(value)| value)
}

/// 1,000,000 service snapshots, with a conversion of each reading (rule N6), and events on
/// MONOTONIC between them.
fn service_snapshots() {
    let mut asked = Asked::default();
    for index in 0..1_000_000 {
        let readings = service(index);
        let boot = readings[0].value;
        add(&mut asked, Source::Service, &readings);
        for reading in readings {
            let placed = to_boottime(&mut asked, reading.clock, reading.value);
            assert_eq!(placed, Ok(boot));
        }
        let placed = to_boottime(&mut asked, monotonic(), readings[4].value + 1);
        assert_eq!(placed, Ok(boot + 1));
    }
}

/// The fits of 1,000,000 service snapshots, one hop after the other (rules R1 to R5, R31).
fn fits() {
    let mut graph = ClockGraph::new();
    for index in 0..1_000_000 {
        graph.add_snapshot(Source::Service, &service(index), Some(Clock::BOOTTIME)).unwrap();
    }
    let estimates = Estimates::new(graph);
    for id in 1..6 {
        let mut cache = EstimateCache::new();
        let fit = estimates.fit(Clock::host(id), Clock::BOOTTIME, &mut cache).unwrap();
        assert!(fit.readings > 700_000, "{id}: {}", fit.readings);
    }
}

/// 1,000,000 snapshots of the incremental clocks of 8 sequences.
fn incremental_clocks() {
    let mut asked = Asked::default();
    for index in 0..1_000_000 {
        let seq = 2 + noise(index, 8) as u32;
        let boot = index * SECOND / 10 + noise(index, SECOND / 10);
        let own =
            Reading { incremental: true, ..reading(scoped(seq), boot - 5000 - noise(index, 1000)) };
        let readings = [own, reading(Clock::BOOTTIME, boot)];
        add(&mut asked, Source::Writer, &readings);
        let placed = to_boottime(&mut asked, own.clock, own.value + 7);
        assert_eq!(placed, Ok(boot + 7));
    }
}

/// 100,000 sequences, each with one snapshot.
fn sequences() {
    let mut asked = Asked::default();
    for seq in 2..100_002 {
        let at = i64::from(seq) * 1000;
        let readings = [reading(scoped(seq), 5), reading(Clock::BOOTTIME, at)];
        add(&mut asked, Source::Writer, &readings);
        let placed = to_boottime(&mut asked, scoped(seq), 9);
        assert_eq!(placed, Ok(at + 4));
    }
    for seq in 2..100_002 {
        let placed = to_boottime(&mut asked, scoped(seq), 6);
        assert_eq!(placed, Ok(i64::from(seq) * 1000 + 1));
    }
}

/// 10,000 clocks over a MONOTONIC of 1,000 snapshots, and the mapping of each.
fn mappings() {
    let mut asked = Asked::default();
    for index in 0..1000 {
        let at = index * SECOND;
        let readings = [reading(monotonic(), at), reading(Clock::BOOTTIME, at + index)];
        add(&mut asked, Source::Service, &readings);
    }
    for seq in 2..10_002 {
        let readings = [reading(scoped(seq), 0), reading(monotonic(), SECOND)];
        add(&mut asked, Source::Writer, &readings);
    }
    for seq in 2..10_002 {
        // Out of order; for some clocks so often that a mapping is composed.
        for event in 0..if seq % 8 == 0 { 1000 } else { 10 } {
            let index = noise(event, 999);
            let placed = to_boottime(&mut asked, scoped(seq), index * SECOND);
            assert_eq!(placed, Ok((index + 1) * SECOND + index + 1));
        }
    }
    for seq in 2..10_002 {
        let Asked { graph, cache } = &mut asked;
        let mapping = graph.mapping(scoped(seq), Clock::BOOTTIME, cache).unwrap();
        assert_eq!(mapping.steps().count(), 1000);
    }
}

/// Readings in any order over many snapshots of many clocks, so that only the mappings of some
/// clocks fit.
fn composed_mappings() {
    let mut asked = Asked::default();
    let clocks: Vec<Clock> = (200..220).map(Clock::host).collect();
    let at = |index| index * 2 * SECOND + noise(index, SECOND);
    for index in 0..50_000 {
        let own = |&clock| reading(clock, at(index) - noise(index, 999));
        let mut readings: Vec<Reading> = clocks.iter().map(own).collect();
        readings.push(reading(Clock::BOOTTIME, at(index)));
        add(&mut asked, Source::Service, &readings);
    }
    for clock in clocks {
        for event in 0..20_000 {
            let index = noise(event, 50_000);
            let placed = to_boottime(&mut asked, clock, at(index));
            assert_eq!(placed, Ok(at(index) + noise(index, 999)));
        }
    }
}

/// Messages that nobody keeps: requests and replies, 0.6 ms apart, and one in five with a wrong partner.
struct Unkept(i64);

impl Messages for Unkept {
    type Error = Infallible;

    fn each(&self, visit: &mut dyn FnMut(Message)) -> Result<(), Infallible> {
        for index in 0..self.0 {
            let sent = index * 600_000;
            let is_wrong = noise(index, 5) == 0;
            let late = if is_wrong { noise(index, self.0) * 600_000 - sent } else { 100_000 };
            let direction = if index % 2 == 0 { Direction::AToB } else { Direction::BToA };
            let (from, to) = if index % 2 == 0 { (0, SECOND) } else { (SECOND, 0) };
            visit(Message {
                direction,
                sent: sent + from,
                arrived: sent + late + noise(index + 1, 100_000) + to,
                ended: None,
                packet_out: index,
                packet_in: index,
            });
        }
        Ok(())
    }
}

/// 1,000,000 messages between two clocks (rule AL13).
fn messages() {
    let messages = Unkept(1_000_000);
    let Ok(alignment) = align(PairClocks::default(), &messages);
    assert_eq!(alignment.sides, Evidence::Both);
    assert!(alignment.violated > 90_000, "{}", alignment.violated);
    let off = alignment.estimate(300 * SECOND).unwrap() - SECOND;
    assert!(off.abs() < 10_000, "{off}");
    let mut shown = 0;
    let Ok(()) = alignment.outliers(&messages, &mut |_| shown += 1);
    assert_eq!(shown, alignment.violated + alignment.suspect);
}

fn peak_of(case: fn()) -> usize {
    let profiler = dhat::Profiler::builder().testing().build();
    case();
    let peak = dhat::HeapStats::get().max_bytes;
    drop(profiler);
    peak
}

/// A single test, because there is a single heap.
#[test]
fn peaks_are_bounded() {
    let cases: [(&str, fn(), usize); 7] = [
        ("1,000,000 messages", messages, 4),
        ("1,000,000 service snapshots", service_snapshots, 25),
        ("fits of 1,000,000 service snapshots", fits, 60),
        ("1,000,000 incremental snapshots", incremental_clocks, 16),
        ("100,000 sequences", sequences, 22),
        ("mappings of 10,000 clocks", mappings, 10),
        ("composed mappings of 20 clocks", composed_mappings, 12),
    ];
    for (name, case, megabytes) in cases {
        let peak = peak_of(case);
        println!("{name}: {:.1} MB", peak as f64 / 1e6);
        assert!(peak <= megabytes * 1_000_000, "{name}: {peak} bytes");
    }
}
