//! The measured conversions. Each case is a graph and inputs for it, prepared in memory, with the
//! expected sum of the results.
//!
//! The sums are computed without the library: the reading of a clock at an instant is known here,
//! and plain sorted arrays find the nearest snapshot.

#![allow(clippy::unwrap_used)]

use timebase_resolver::{
    Clock, ClockGraph, ClockId, ClockNs, ConversionCache, EstimateCache, Estimates, MachineId,
    Reading, SeqId, Source,
};

/// MONOTONIC of the host.
pub fn monotonic() -> Clock {
    Clock::host(3)
}

/// The sequence-scoped clock 64 of a sequence.
pub fn scoped(seq: u32) -> Clock {
    Clock::new(MachineId::HOST, ClockId(64), SeqId(seq))
}

/// A reading in nanoseconds.
pub fn reading(clock: Clock, value: i64) -> Reading {
    Reading { clock, value, unit: 1, incremental: false }
}

/// Adds a snapshot of the service, if the sequence is 1, or of another writer.
pub fn add(graph: &mut ClockGraph, source: Source, readings: &[Reading]) {
    graph.add_snapshot(source, readings, Some(Clock::BOOTTIME)).unwrap();
}

/// A small generator of numbers that are the same in every run.
pub struct Random(u64);

impl Random {
    /// A generator; each seed gives other numbers.
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(2) + 1)
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        // splitmix64
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % limit
    }

    fn signed(&mut self, limit: i64) -> i64 {
        self.below(limit as u64) as i64
    }
}

/// Sorted pairs of one hop.
#[derive(Debug, Default)]
pub struct Pairs(Vec<(i64, i64)>);

impl Pairs {
    /// The nearest snapshot by binary search (rule V2).
    pub fn convert(&self, value: i64) -> i64 {
        let after = self.0.partition_point(|&(from, _)| from <= value);
        let (from, to) = self.0[after.saturating_sub(1)];
        value + (to - from)
    }
}

/// Conversions with a graph that does not change.
pub struct Case {
    /// The inputs and their results.
    pub name: &'static str,
    /// The snapshots.
    pub graph: ClockGraph,
    /// For all passes over the inputs.
    pub cache: ConversionCache,
    /// The inputs, in order.
    pub inputs: Vec<(Clock, i64)>,
    /// The sum of the results.
    pub expected: i64,
}

impl Case {
    /// Converts all inputs to BOOTTIME; returns the sum.
    pub fn convert_all(&mut self) -> i64 {
        let (graph, cache) = (&self.graph, &mut self.cache);
        let mut sum = 0i64;
        for &(clock, value) in &self.inputs {
            let converted = graph.convert(clock, ClockNs(value), Clock::BOOTTIME, cache);
            sum = sum.wrapping_add(converted.unwrap().0);
        }
        sum
    }

    /// The yardstick: the cost of reading the inputs.
    pub fn sum_inputs(&self) -> i64 {
        self.inputs
            .iter()
            .fold(0i64, |sum, &(clock, value)| sum.wrapping_add(value ^ i64::from(clock.seq.0)))
    }
}

/// The number of inputs of a case.
pub const INPUTS: usize = 1 << 16;

const SECOND: i64 = 1_000_000_000;

/// `{from, to}` snapshots about every 10 s, each with another offset.
fn hop(random: &mut Random, graph: &mut ClockGraph, count: usize, from: Clock, to: Clock) -> Pairs {
    let mut pairs = Vec::with_capacity(count);
    let mut at = 0;
    for index in 0..count as i64 {
        at += 5 * SECOND + random.signed(10 * SECOND);
        let pair = (at, at + index * 1000 + random.signed(1000));
        add(graph, Source::Service, &[reading(from, pair.0), reading(to, pair.1)]);
        pairs.push(pair);
    }
    Pairs(pairs)
}

/// One clock, readings in order, over 1,000 snapshots.
pub fn in_order() -> Case {
    let mut random = Random::new(1);
    let mut graph = ClockGraph::new();
    let pairs = hop(&mut random, &mut graph, 1000, monotonic(), Clock::BOOTTIME);
    let step = 10_000 * SECOND / INPUTS as i64;
    let inputs: Vec<_> = (0..INPUTS as i64).map(|i| (monotonic(), i * step)).collect();
    let expected = inputs.iter().map(|&(_, value)| pairs.convert(value)).sum();
    Case { name: "one clock, in order", graph, cache: ConversionCache::new(), inputs, expected }
}

/// The number of sequences with their own clock.
pub const SEQUENCES: u32 = 1000;

/// 1,000 sequences, each with a clock, in random order. `over_monotonic` says whether their
/// snapshots hold MONOTONIC instead of BOOTTIME.
pub fn sequences(over_monotonic: bool) -> Case {
    let mut random = Random::new(2);
    let mut graph = ClockGraph::new();
    let offset = 77 * SECOND;
    let to = match over_monotonic {
        true => {
            let service = [reading(monotonic(), 0), reading(Clock::BOOTTIME, offset)];
            add(&mut graph, Source::Service, &service);
            monotonic()
        }
        false => Clock::BOOTTIME,
    };
    let mut starts = Vec::new();
    for seq in 0..SEQUENCES {
        let at = i64::from(seq) * SECOND;
        let start = random.signed(1000 * SECOND);
        add(&mut graph, Source::Writer, &[reading(scoped(seq + 2), start), reading(to, at)]);
        starts.push(at - start + if over_monotonic { offset } else { 0 });
    }
    let mut expected = 0;
    let inputs: Vec<_> = (0..INPUTS as i64)
        .map(|i| {
            let seq = random.below(SEQUENCES.into()) as u32;
            let value = i * 1000;
            expected += value + starts[seq as usize];
            (scoped(seq + 2), value)
        })
        .collect();
    Case {
        name: match over_monotonic {
            true => "1,000 sequences at random, two hops",
            false => "1,000 sequences at random, one hop",
        },
        graph,
        cache: ConversionCache::new(),
        inputs,
        expected,
    }
}

/// Four hops of 100,000 snapshots each, readings at random.
pub struct FourHops {
    /// The conversions.
    pub case: Case,
    hops: Vec<Pairs>,
}

impl FourHops {
    /// The yardstick: a binary search for each hop, in plain arrays.
    pub fn binary_searches(&self) -> i64 {
        let hops = |value| self.hops.iter().fold(value, |value, hop| hop.convert(value));
        self.case.inputs.iter().fold(0i64, |sum, &(_, value)| sum.wrapping_add(hops(value)))
    }
}

/// Four hops of 100,000 snapshots each, readings at random.
pub fn four_hops() -> FourHops {
    const SNAPSHOTS: usize = 100_000;
    let mut random = Random::new(3);
    let mut graph = ClockGraph::new();
    let clocks =
        [Clock::host(200), Clock::host(201), Clock::host(202), monotonic(), Clock::BOOTTIME];
    let hops: Vec<Pairs> = clocks
        .windows(2)
        .map(|pair| hop(&mut random, &mut graph, SNAPSHOTS, pair[0], pair[1]))
        .collect();
    let range = SNAPSHOTS as i64 * 10 * SECOND;
    let inputs: Vec<_> = (0..INPUTS).map(|_| (clocks[0], random.signed(range))).collect();
    let case = Case {
        name: "random readings over 100,000 snapshots, four hops",
        graph,
        cache: ConversionCache::new(),
        inputs,
        expected: 0,
    };
    let mut four = FourHops { case, hops };
    four.case.expected = four.binary_searches();
    four
}

/// The number of readings in [`fitted`].
pub const READINGS: usize = 100_000;

/// A hop with many readings of two clocks 50 ppm apart. In about one in twenty, the clocks were not
/// read together; their number is known. The line through them is fitted each time.
pub struct Fitted {
    estimates: Estimates,
    cache: EstimateCache,
    apart: usize,
}

/// See [`Fitted`].
pub fn fitted() -> Fitted {
    let mut random = Random::new(5);
    let mut graph = ClockGraph::new();
    let mut apart = 0;
    for index in 0..READINGS as i64 {
        let at = index * SECOND + random.signed(SECOND / 10);
        let is_apart = index % 20 == 10;
        apart += usize::from(is_apart);
        let late = random.signed(100) + i64::from(is_apart) * (20_000 + random.signed(200_000));
        let pair = [reading(monotonic(), at), reading(Clock::BOOTTIME, at + at / 20_000 + late)];
        add(&mut graph, Source::Service, &pair);
    }
    Fitted { estimates: Estimates::new(graph), cache: EstimateCache::new(), apart }
}

impl Fitted {
    /// Whether the line leaves out exactly those readings.
    pub fn fit(&mut self) -> bool {
        let (estimates, cache) = (&self.estimates, &mut self.cache);
        cache.forget();
        let fit = estimates.fit(monotonic(), Clock::BOOTTIME, cache).unwrap();
        fit.outliers.len() == self.apart && fit.steps.is_empty()
    }
}

/// A snapshot and ten conversions, alternately, starting with an empty graph.
pub struct Interleaved {
    /// The inputs and their results.
    pub name: &'static str,
    snapshots: Vec<[Reading; 2]>,
    inputs: Vec<(Clock, i64)>,
    /// The sum of the results.
    pub expected: i64,
}

/// Conversions for each snapshot of [`Interleaved`].
pub const PER_SNAPSHOT: usize = 10;

impl Interleaved {
    /// The number of conversions.
    pub fn conversions(&self) -> usize {
        self.inputs.len()
    }

    /// Only the snapshots; returns their number.
    pub fn snapshots_alone(&self) -> u32 {
        let mut graph = ClockGraph::new();
        for snapshot in &self.snapshots {
            add(&mut graph, Source::Writer, snapshot);
        }
        graph.snapshots()
    }

    /// Snapshots and conversions; returns the sum.
    pub fn play(&self) -> i64 {
        let (mut graph, mut cache) = (ClockGraph::new(), ConversionCache::new());
        let mut sum = 0i64;
        for (snapshot, inputs) in self.snapshots.iter().zip(self.inputs.chunks(PER_SNAPSHOT)) {
            add(&mut graph, Source::Writer, snapshot);
            for &(clock, value) in inputs {
                let converted = graph.convert(clock, ClockNs(value), Clock::BOOTTIME, &mut cache);
                sum = sum.wrapping_add(converted.unwrap().0);
            }
        }
        sum
    }
}

/// Snapshots `{64@seq, BOOTTIME}` of the sequences in turn, and conversions for random sequences
/// that had one.
pub fn interleaved(sequences: u32) -> Interleaved {
    let mut random = Random::new(4);
    let mut offsets = vec![0; sequences as usize];
    let (mut snapshots, mut inputs) = (Vec::new(), Vec::new());
    let mut expected = 0;
    for index in 0..(INPUTS / PER_SNAPSHOT) as u32 {
        let seq = index % sequences;
        let at = i64::from(index) * SECOND;
        let offset = random.signed(1000);
        offsets[seq as usize] = offset;
        snapshots.push([reading(scoped(seq + 2), at), reading(Clock::BOOTTIME, at + offset)]);
        let known = (index + 1).min(sequences);
        for after in 1..=PER_SNAPSHOT as i64 {
            let seq = random.below(known.into()) as u32;
            let value = at + after;
            expected += value + offsets[seq as usize];
            inputs.push((scoped(seq + 2), value));
        }
    }
    Interleaved {
        name: match sequences {
            1 => "a snapshot every 10 conversions, one sequence",
            _ => "a snapshot every 10 conversions, 1,000 sequences",
        },
        snapshots,
        inputs,
        expected,
    }
}
