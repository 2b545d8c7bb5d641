//! Snapshots and their conversions (rules N, V, X14, X18), as naively as possible: each answer is
//! computed from the list of all snapshots.

use std::collections::{BTreeMap, BTreeSet};

pub const REALTIME: u32 = 1;
pub const REALTIME_COARSE: u32 = 2;
pub const MONOTONIC_RAW: u32 = 5;
pub const BOOTTIME: u32 = 6;
pub const TRACE_FILE: u32 = 11;

pub type Reason = &'static str;

/// A clock (X14). A machine is identified by its `raw_id`; a tag is 0 for the machine's shared
/// clocks, otherwise the position of a file in the order of processing, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Clock {
    pub id: u32,
    pub seq: u32,
    pub tag: usize,
    pub machine: u64,
}

impl Clock {
    pub fn shared(id: u32, machine: u64) -> Clock {
        let (seq, tag) = (0, 0);
        Clock { id, seq, tag, machine }
    }
}

/// C2
pub fn is_sequence_scoped(id: u32) -> bool {
    (64..=127).contains(&id)
}

/// The sources, best first (X18).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    Manifest,
    /// The service's snapshots, and client clocks of X19.
    Service,
    Writer,
    RemoteSync,
    Ftrace,
    Assumed,
}

/// A reading of a snapshot, in the clock's own unit.
#[derive(Clone, Debug)]
pub struct Reading {
    pub clock: Clock,
    pub ticks: i128,
    pub unit: u64,
    pub incremental: bool,
}

impl Reading {
    pub fn of(clock: Clock, ticks: i128) -> Reading {
        let (unit, incremental) = (1, false);
        Reading { clock, ticks, unit, incremental }
    }

    /// N3
    pub fn value(&self) -> i128 {
        self.ticks * i128::from(self.unit)
    }
}

#[derive(Clone, Debug)]
pub struct Snapshot {
    pub readings: Vec<Reading>,
    pub source: Source,
}

impl Snapshot {
    pub fn reading(&self, clock: Clock) -> Option<&Reading> {
        self.readings.iter().find(|r| r.clock == clock)
    }

    fn clocks(&self) -> BTreeSet<Clock> {
        self.readings.iter().map(|r| r.clock).collect()
    }
}

/// The accepted snapshots, in the order in which they were read, and the machines in the order of
/// their rows.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    pub snapshots: Vec<Snapshot>,
    pub machines: Vec<u64>,
}

impl Graph {
    fn first_reading(&self, clock: Clock) -> Option<&Reading> {
        self.snapshots.iter().find_map(|s| s.reading(clock))
    }

    pub fn is_known(&self, clock: Clock) -> bool {
        self.first_reading(clock).is_some()
    }

    pub fn unit(&self, clock: Clock) -> i128 {
        self.first_reading(clock).map_or(1, |r| r.unit.into())
    }

    pub fn is_incremental(&self, clock: Clock) -> bool {
        self.first_reading(clock).is_some_and(|r| r.incremental)
    }

    /// The clocks of a snapshot that read less than in the previous snapshot of the same clocks
    /// (N5). Assumptions are not readings.
    fn backwards(before: &[Snapshot], new: &Snapshot) -> Vec<Clock> {
        let clocks = new.clocks();
        let real = |s: &&Snapshot| s.source != Source::Assumed && s.clocks() == clocks;
        let Some(before) = before.iter().rev().find(real) else {
            return Vec::new();
        };
        let fell = |r: &&Reading| {
            let earlier = before.reading(r.clock);
            earlier.is_some_and(|earlier| r.value() < earlier.value())
        };
        let readings = new.readings.iter().filter(fell);
        readings.map(|r| r.clock).collect()
    }

    fn non_monotonic(&self) -> BTreeSet<Clock> {
        let real = |n: &usize| self.snapshots[*n].source != Source::Assumed;
        (0..self.snapshots.len())
            .filter(real)
            .flat_map(|n| Graph::backwards(&self.snapshots[..n], &self.snapshots[n]))
            .collect()
    }

    /// N2
    pub fn accepts(&self, new: &Snapshot, trace_time: Clock) -> bool {
        let of_reading = new.readings.iter().all(|r| {
            let first = self.first_reading(r.clock).unwrap_or(r);
            r.clock.id != 0
                && (!is_sequence_scoped(r.clock.id) || r.clock.seq != 0) // C5
                && (first.unit, first.incremental) == (r.unit, r.incremental)
                && (!r.incremental || is_sequence_scoped(r.clock.id))
                && (r.clock != trace_time || r.unit == 1)
                && i64::try_from(r.value()).is_ok()
        });
        of_reading
            && new.clocks().len() == new.readings.len()
            && !Graph::backwards(&self.snapshots, new).contains(&trace_time)
    }

    /// The order of V3 (X14).
    fn place(&self, clock: Clock) -> (u32, u32, usize, usize) {
        let row = self.machines.iter().position(|m| *m == clock.machine);
        let row = row.unwrap_or(self.machines.len());
        (clock.id, clock.seq, clock.tag, row)
    }

    /// The path by breadth-first search; among paths of equal length, the first in the order (V3).
    fn path_by(&self, from: Clock, to: Clock, assumed: bool, heed_n5: bool) -> Option<Vec<Clock>> {
        let excluded = if heed_n5 { self.non_monotonic() } else { BTreeSet::new() };
        let mut edges: BTreeSet<(Clock, Clock)> = BTreeSet::new();
        for snapshot in &self.snapshots {
            if snapshot.source == Source::Assumed && !assumed {
                continue;
            }
            for a in snapshot.clocks() {
                for b in snapshot.clocks() {
                    if a != b && !excluded.contains(&a) {
                        edges.insert((a, b));
                    }
                }
            }
        }
        let in_order = |path: &[Clock]| -> Vec<_> { path.iter().map(|c| self.place(*c)).collect() };
        let mut found = BTreeMap::from([(from, vec![from])]);
        let mut last = vec![from];
        while !found.contains_key(&to) {
            let mut next: BTreeMap<Clock, Vec<Clock>> = BTreeMap::new();
            for (a, b) in &edges {
                if last.contains(a) && !found.contains_key(b) {
                    let longer = [found[a].as_slice(), &[*b]].concat();
                    let best = next.entry(*b).or_insert_with(|| longer.clone());
                    if in_order(&longer) < in_order(best) {
                        *best = longer;
                    }
                }
            }
            if next.is_empty() {
                return None;
            }
            last = next.keys().copied().collect();
            found.extend(next);
        }
        found.remove(&to)
    }

    /// Assumptions count only if there is no other path (X18).
    pub fn path(&self, from: Clock, to: Clock) -> Option<Vec<Clock>> {
        let real = self.path_by(from, to, false, true);
        real.or_else(|| self.path_by(from, to, true, true))
    }

    pub fn reaches(&self, from: Clock, to: Clock) -> bool {
        self.path(from, to).is_some()
    }

    /// The offset of one hop (V2).
    fn hop(&self, from: Clock, to: Clock, value: i128) -> i128 {
        let pairs: Vec<(Source, i128, i128)> = self
            .snapshots
            .iter()
            .filter_map(|s| Some((s.source, s.reading(from)?.value(), s.reading(to)?.value())))
            .collect();
        let best = pairs.iter().map(|pair| pair.0).min().unwrap();
        let pairs: Vec<_> = pairs.into_iter().filter(|pair| pair.0 == best).collect();
        let readings = pairs.iter().map(|pair| pair.1);
        let (_, a, b) = match readings.clone().filter(|a| *a <= value).max() {
            Some(greatest) => pairs.iter().rfind(|pair| pair.1 == greatest).unwrap(),
            None => {
                let smallest = readings.min().unwrap();
                pairs.iter().find(|pair| pair.1 == smallest).unwrap()
            }
        };
        b - a
    }

    /// Converts a reading in the clock's own unit to a value of another clock in nanoseconds (rules
    /// V).
    pub fn convert(&self, from: Clock, ticks: i128, to: Clock) -> Result<i64, Reason> {
        if is_sequence_scoped(from.id) && from.seq == 0 {
            return Err("no_sequence_id"); // C5
        }
        let value = ticks * self.unit(from); // V4
        if from != to {
            if !self.is_known(from) {
                return Err("unknown_clock");
            }
            if !self.is_known(to) {
                return Err("no_target");
            }
        }
        let Some(path) = self.path(from, to) else {
            let excluded = self.path_by(from, to, true, false).is_some();
            return Err(if excluded { "non_monotonic" } else { "no_path" });
        };
        let fits = |n: i128| i64::try_from(n).map_err(|_| "overflow");
        fits(value)?;
        let mut result = value;
        for hop in path.windows(2) {
            result += self.hop(hop[0], hop[1], result);
        }
        fits(result - value)?;
        fits(result)
    }
}
