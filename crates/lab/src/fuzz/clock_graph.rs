//! The clock graph, against the naive model of the tests.

use std::collections::BTreeSet;

use arbitrary::{Arbitrary, Unstructured};
use timebase_resolver::{
    ClockGraph, ClockId, ClockNs, ConversionCache, MachineId, SeqId, Source, Ticks, Unresolved,
};

use crate::naive;

/// A few clocks of each kind, so that they meet.
const CLOCKS: [(u32, u32, u32); 10] = [
    (1, 0, 0),
    (3, 0, 0),
    (6, 0, 0),
    (6, 0, 1),
    (64, 1, 0),
    (64, 2, 0),
    (64, 0, 0),
    (128, 0, 0),
    (128, 0, 1),
    (0, 0, 0),
];

#[derive(Debug, Arbitrary)]
enum Step {
    Snapshot {
        source: u8,
        readings: Vec<Reading>,
        trace_time: Option<u8>,
    },
    Convert {
        from: u8,
        to: u8,
        value: Number,
    },
    /// The same as the last one, for consecutive values.
    Stretch {
        from: u8,
        to: u8,
        first: Number,
        step: u8,
        count: u8,
    },
    Mapping {
        from: u8,
        to: u8,
        value: Number,
    },
}

#[derive(Debug, Arbitrary)]
struct Reading {
    clock: u8,
    ticks: Number,
    unit: u8,
    incremental: bool,
}

#[derive(Clone, Copy, Debug, Arbitrary)]
enum Number {
    Small(u8),
    Near { shift: u8, less: i8 },
    Any(u64),
}

impl Number {
    fn get(self) -> u64 {
        match self {
            Number::Small(value) => value.into(),
            Number::Near { shift, less } => (1u64 << (shift % 64)).wrapping_add_signed(less.into()),
            Number::Any(value) => value,
        }
    }
}

/// Adds snapshots to a clock graph and converts readings in between, and compares each answer with
/// the naive model, which computes it from all snapshots.
///
/// ```
/// timebase_lab::fuzz::clock_graph(&[0, 1, 2, 3]);
/// ```
pub fn clock_graph(bytes: &[u8]) {
    let mut unstructured = Unstructured::new(bytes);
    let mut pair = Pair::default();
    // The model takes time that grows with the square of the number of snapshots.
    for _ in 0..40 {
        if unstructured.is_empty() {
            break;
        }
        let Ok(step) = Step::arbitrary(&mut unstructured) else {
            break;
        };
        pair.step(&step);
    }
    pair.all_of_all();
}

#[derive(Default)]
struct Pair {
    graph: ClockGraph,
    cache: ConversionCache,
    snapshots: Vec<naive::Snapshot>,
}

fn model(index: u8) -> naive::Clock {
    let (id, seq, machine) = CLOCKS[usize::from(index) % CLOCKS.len()];
    naive::Clock::new(id, seq, machine)
}

fn product(clock: naive::Clock) -> timebase_resolver::Clock {
    timebase_resolver::Clock::new(MachineId(clock.machine), ClockId(clock.id), SeqId(clock.seq))
}

impl Pair {
    fn step(&mut self, step: &Step) {
        match step {
            Step::Snapshot { source, readings, trace_time } => {
                let readings = &readings[..readings.len().min(5)];
                self.snapshot(*source, readings, trace_time.map(model));
            }
            Step::Convert { from, to, value } => {
                self.convert(model(*from), value.get().cast_signed(), model(*to))
            }
            Step::Stretch { from, to, first, step, count } => {
                // Often enough for composing a mapping.
                let count = i64::from(*count) * 2;
                for n in 0..count {
                    let value =
                        first.get().cast_signed().wrapping_add(n * i64::from(*step) - count);
                    self.convert(model(*from), value, model(*to));
                }
            }
            Step::Mapping { from, to, value } => {
                self.mapping(model(*from), model(*to), value.get().cast_signed())
            }
        }
    }

    fn snapshot(&mut self, source: u8, readings: &[Reading], trace_time: Option<naive::Clock>) {
        let units = [0, 1, 1, 3, 1000];
        let recorded = readings.iter().map(|reading| naive::Reading {
            clock: model(reading.clock),
            ticks: reading.ticks.get(),
            unit: units[usize::from(reading.unit) % units.len()],
            incremental: reading.incremental && model(reading.clock).seq != 0,
        });
        let recorded: Vec<_> = recorded.collect();
        let read: Result<Vec<_>, _> = recorded
            .iter()
            .map(|r| {
                timebase_resolver::Reading::new(product(r.clock), r.ticks, r.unit, r.incremental)
            })
            .collect();
        // An assumption is no source, and the model has none. It has no lines either.
        let is_in_model = |source: &Source| !matches!(source, Source::Causality | Source::Assumed);
        let sources: Vec<Source> = Source::ALL.into_iter().filter(is_in_model).collect();
        let source = sources[usize::from(source) % sources.len()];
        let added =
            read.and_then(|read| self.graph.add_snapshot(source, &read, trace_time.map(product)));

        let recorded = recorded.into_iter().map(|r| naive::Reading { unit: r.unit.max(1), ..r });
        let new =
            naive::Snapshot { readings: recorded.collect(), source: source as u32, primary: None };
        // A clock that occurs nowhere.
        let trace_time = trace_time.unwrap_or(naive::Clock::new(u32::MAX, 0, u32::MAX));
        let broken = naive::rejections(&self.snapshots, &new, trace_time);
        match added {
            Ok(id) => {
                assert!(broken.is_empty(), "accepted, and breaks {broken:?}: {new:?}");
                assert_eq!(id.0 as usize, self.snapshots.len());
                self.snapshots.push(new);
            }
            Err(error) => assert!(!broken.is_empty(), "{error}: {new:?}"),
        }
        assert_eq!(self.graph.snapshots() as usize, self.snapshots.len());
    }

    fn convert(&mut self, from: naive::Clock, value: i64, to: naive::Clock) {
        let lacks_sequence = |clock: naive::Clock| clock.seq == 0 && (64..128).contains(&clock.id);
        if lacks_sequence(to) {
            // For a target, the model does not check it (C5).
            if from != to {
                let found =
                    self.graph.convert(product(from), ClockNs(value), product(to), &mut self.cache);
                assert_eq!(found, Err(Unresolved::NoSequenceId));
            }
            return;
        }
        let expected = naive::convert_value(&self.snapshots, from, value.into(), to);
        let found = self.graph.convert(product(from), ClockNs(value), product(to), &mut self.cache);
        let found = found.map(|ClockNs(ns)| ns).map_err(|reason| reason.code());
        assert_eq!(found, expected, "{value} of {from:?} to {to:?}");

        let unit = naive::unit(&self.snapshots, from);
        let expected = naive::convert(&self.snapshots, from, value.into(), to);
        let unit = i64::try_from(unit).unwrap();
        let found = self.graph.convert_ticks(
            product(from),
            Ticks(value),
            unit,
            product(to),
            &mut self.cache,
        );
        let found = found.map(|ClockNs(ns)| ns).map_err(|reason| reason.code());
        assert_eq!(found, expected, "{value} units of {from:?} to {to:?}");
    }

    /// The mapping covers all values once, agrees with single conversions, and its neighbouring
    /// steps differ.
    fn mapping(&mut self, from: naive::Clock, to: naive::Clock, value: i64) {
        self.convert(from, value, to);
        let (a, b) = (product(from), product(to));
        let Ok(hops) = self.graph.explain(a, ClockNs(value), b, &mut self.cache) else {
            return;
        };
        if let (Some(first), Some(last)) = (hops.first(), hops.last()) {
            assert_eq!((first.from, last.to), (a, b));
        }
        let Ok(mapping) = self.graph.mapping(a, b, &mut self.cache) else {
            return;
        };
        let steps: Vec<_> = mapping.steps().collect();
        let at = mapping.at(value);
        let converted = mapping.convert(value);
        assert!(steps.contains(&at), "{at:?} is none of {steps:?}");
        assert_eq!(steps.first().unwrap().start, None);
        assert_eq!(steps.last().unwrap().end, None);
        for pair in steps.windows(2) {
            assert_eq!(pair[0].end, pair[1].start);
            assert_ne!(pair[0].offset, pair[1].offset);
        }
        let expected = naive::convert_value(&self.snapshots, from, value.into(), to);
        if let Ok(expected) = expected {
            assert_eq!(converted, Some(expected));
        }
        let bounds: BTreeSet<i64> =
            steps.iter().flat_map(|step| [step.start, step.end]).flatten().collect();
        for bound in bounds.into_iter().take(8) {
            self.convert(from, bound, to);
            self.convert(from, bound.wrapping_sub(1), to);
        }
    }

    fn all_of_all(&mut self) {
        for from in 0..CLOCKS.len() as u8 {
            for to in [2, 4, 7] {
                self.convert(model(from), 50, model(to));
            }
            let clock = model(from);
            let known = self.graph.domain(product(clock)).map(|domain| domain.snapshots);
            let holding =
                self.snapshots.iter().filter(|s| s.readings.iter().any(|r| r.clock == clock));
            assert_eq!(known.unwrap_or(0) as usize, holding.count());
        }
    }
}
