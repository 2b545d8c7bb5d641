//! Conversions over the clock graph (rules V), and what is solved for them.

use rustc_hash::FxHashMap;

use super::{ClockGraph, SnapshotId};
use crate::clock::Clock;
use crate::hop;
use crate::mapping::{Bounds, Mapping, StepFunction, clamp};
use crate::routes::{DomainIx, Routes};
use crate::unresolved::Unresolved;

/// How many steps the mappings towards one target may have together before
/// further ones share what is common (16 bytes a step).
const FLAT_STEPS: usize = 1 << 20;

/// How many targets keep their paths and mappings.
const TARGETS: usize = 16;

/// One hop of a conversion, as one would do it by hand:
/// `value_out = to_value + (value_in − from_value)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hop {
    /// The clock the hop starts at.
    pub from: Clock,
    /// The clock it leads to.
    pub to: Clock,
    /// The snapshot that was used (rule V2).
    pub snapshot: SnapshotId,
    /// What `from` reads in it.
    pub from_value: i64,
    /// What `to` reads in it.
    pub to_value: i64,
    /// The value before the hop; between two hops it may need 65 bits.
    pub value_in: i128,
    /// The value after it.
    pub value_out: i128,
}

/// Where a clock's last conversion was.
#[derive(Debug, Clone, Copy, Default)]
struct Stretch {
    generation: u64,
    start: i64,
    /// Inclusive.
    end: i64,
    offset: i64,
    misses: usize,
}

/// What is solved for one target.
#[derive(Debug)]
pub(super) struct Target {
    clock: Clock,
    pub(super) routes: Routes,
    pub(super) with_excluded: Option<Routes>,
    stretches: Vec<Stretch>,
    mappings: FxHashMap<DomainIx, Mapping>,
    mappings_generation: u64,
    steps: usize,
}

impl ClockGraph {
    /// Converts a value, in nanoseconds, from one clock to another (rules V1–V6).
    ///
    /// # Errors
    ///
    /// Why it cannot be (rule V7).
    #[inline]
    pub fn convert(&mut self, from: Clock, value: i64, to: Clock) -> Result<i64, Unresolved> {
        if from == to {
            return Ok(value);
        }
        let (source, target) = self.endpoints(from, to)?;
        if let Some(stretch) = self.targets[target].stretches.get(source as usize)
            && stretch.generation == self.generation
            && stretch.start <= value
            && value <= stretch.end
        {
            return value
                .checked_add(stretch.offset)
                .ok_or(Unresolved::Overflow);
        }
        self.convert_anew(source, value, target)
    }

    fn endpoints(&mut self, from: Clock, to: Clock) -> Result<(DomainIx, usize), Unresolved> {
        if from.lacks_sequence() || to.lacks_sequence() {
            return Err(Unresolved::NoSequenceId);
        }
        let source = *self.index.get(&from).ok_or(Unresolved::UnknownClock)?;
        if let Some(target) = self.targets.iter().position(|target| target.clock == to) {
            return Ok((source, target));
        }
        let target = *self.index.get(&to).ok_or(Unresolved::NoTarget)?;
        if self.targets.len() == TARGETS {
            self.targets.remove(0);
        }
        self.targets.push(Target {
            clock: to,
            routes: Routes::new(target, false),
            with_excluded: None,
            stretches: Vec::new(),
            mappings: FxHashMap::default(),
            mappings_generation: 0,
            steps: 0,
        });
        Ok((source, self.targets.len() - 1))
    }

    #[cold]
    fn convert_anew(
        &mut self,
        source: DomainIx,
        value: i64,
        target: usize,
    ) -> Result<i64, Unresolved> {
        let domains = self.domains.len();
        let generation = self.generation;
        let stretches = &mut self.targets[target].stretches;
        stretches.resize(domains.max(stretches.len()), Stretch::default());
        let stretch = &mut stretches[source as usize];
        if stretch.generation != generation {
            stretch.misses = 0;
        }
        stretch.misses += 1;
        let misses = stretch.misses;

        let step = if misses > self.misses_before_mapping() {
            self.mapping_of(source, target)?.at(value)
        } else {
            let mut bounds = Bounds::default();
            let mut total = 0i128;
            self.walk(source, value, target, |stretch, before, after| {
                bounds.narrow(stretch.start, stretch.end, before);
                total = after;
            })?;
            bounds.step(i64::try_from(total).ok())
        };
        let offset = step.offset.ok_or(Unresolved::Overflow)?;
        self.targets[target].stretches[source as usize] = Stretch {
            generation,
            start: step.start.unwrap_or(i64::MIN),
            end: step.end.map_or(i64::MAX, |end| end.saturating_sub(1)),
            offset,
            misses,
        };
        value.checked_add(offset).ok_or(Unresolved::Overflow)
    }

    /// Composing a mapping costs about what a search costs, a step; so it has
    /// paid when it is not needed any more.
    fn misses_before_mapping(&self) -> usize {
        64 + self.snapshots as usize / 8
    }

    /// Goes from clock to clock towards the target, and tells for each hop the
    /// stretch used and the sum of the offsets before and after it.
    fn walk(
        &mut self,
        source: DomainIx,
        value: i64,
        target: usize,
        mut each: impl FnMut(hop::Stretch, i128, i128),
    ) -> Result<(), Unresolved> {
        let mut total = 0i128;
        for (from, to) in self.path_of(source, target)? {
            let table = self.hop(from, to);
            let value = clamp(i128::from(value) + total);
            let stretch = self.hops[table].nearest(value).ok_or(Unresolved::NoPath)?;
            let after = total + stretch.pair.offset();
            each(stretch, total, after);
            total = after;
        }
        Ok(())
    }

    /// The hops from a clock to the target.
    fn path_of(
        &mut self,
        source: DomainIx,
        target: usize,
    ) -> Result<Vec<(DomainIx, DomainIx)>, Unresolved> {
        self.reach(source, target)?;
        let routes = &self.targets[target].routes;
        let mut path = Vec::new();
        let mut at = source;
        while let Some(next) = routes.next(at) {
            path.push((at, next));
            at = next;
        }
        Ok(path)
    }

    /// Whether there is a path, or why not (rule V7).
    fn reach(&mut self, source: DomainIx, target: usize) -> Result<(), Unresolved> {
        let ix = self.index.get(&self.targets[target].clock).copied();
        let (topology, target) = (&self.topology, &mut self.targets[target]);
        target.routes.refresh(topology);
        if target.routes.distance(source).is_some() {
            return Ok(());
        }
        let ix = ix.ok_or(Unresolved::NoTarget)?;
        let routes = target
            .with_excluded
            .get_or_insert_with(|| Routes::new(ix, true));
        routes.refresh(topology);
        Err(match routes.distance(source) {
            Some(_) => Unresolved::NonMonotonic,
            None => Unresolved::NoPath,
        })
    }

    /// Why a value cannot be converted; `None` if it can.
    pub fn why_unresolved(&mut self, from: Clock, value: i64, to: Clock) -> Option<Unresolved> {
        self.convert(from, value, to).err()
    }

    /// The clocks that a conversion passes, from the first to the last (rule V3).
    ///
    /// # Errors
    ///
    /// Why there is no path (rule V7).
    pub fn path(&mut self, from: Clock, to: Clock) -> Result<Vec<Clock>, Unresolved> {
        if from == to {
            return Ok(vec![from]);
        }
        let (source, target) = self.endpoints(from, to)?;
        let hops = self.path_of(source, target)?;
        let clocks = hops.iter().map(|&(_, to)| self.domains[to as usize].clock);
        Ok(std::iter::once(from).chain(clocks).collect())
    }

    /// The conversion of a value, hop by hop. It has no hops if both clocks are
    /// the same.
    ///
    /// # Errors
    ///
    /// Why there is no path (rule V7).
    pub fn explain(&mut self, from: Clock, value: i64, to: Clock) -> Result<Vec<Hop>, Unresolved> {
        let path = self.path(from, to)?;
        if from == to {
            return Ok(Vec::new());
        }
        let (source, target) = self.endpoints(from, to)?;
        let mut hops = Vec::new();
        let mut clocks = path.windows(2);
        self.walk(source, value, target, |stretch, before, after| {
            if let Some(&[from, to]) = clocks.next() {
                hops.push(Hop {
                    from,
                    to,
                    snapshot: SnapshotId(stretch.pair.snapshot),
                    from_value: stretch.pair.from,
                    to_value: stretch.pair.to,
                    value_in: i128::from(value) + before,
                    value_out: i128::from(value) + after,
                });
            }
        })?;
        Ok(hops)
    }

    /// The whole mapping of one clock onto another, as a step function of
    /// nanoseconds.
    ///
    /// # Errors
    ///
    /// Why there is no path (rule V7).
    pub fn mapping(&mut self, from: Clock, to: Clock) -> Result<Mapping, Unresolved> {
        if from == to {
            return Ok(Mapping::flat(StepFunction::identity()));
        }
        let (source, target) = self.endpoints(from, to)?;
        self.mapping_of(source, target).cloned()
    }

    fn mapping_of(&mut self, source: DomainIx, target: usize) -> Result<&Mapping, Unresolved> {
        let solved = &mut self.targets[target];
        if solved.mappings_generation != self.generation {
            solved.mappings_generation = self.generation;
            solved.mappings.clear();
            solved.steps = 0;
        }
        if !solved.mappings.contains_key(&source) {
            let path = self.path_of(source, target)?;
            let mut rest: Option<Mapping> = None;
            for (from, to) in path.into_iter().rev() {
                let mapping = match self.targets[target].mappings.get(&from) {
                    Some(mapping) => mapping.clone(),
                    None => self.solve(from, to, rest, target),
                };
                rest = Some(mapping);
            }
            let mapping = rest.unwrap_or_else(|| Mapping::flat(StepFunction::identity()));
            self.targets[target].mappings.insert(source, mapping);
        }
        self.targets[target]
            .mappings
            .get(&source)
            .ok_or(Unresolved::NoPath)
    }

    /// The mapping of a clock whose next one is solved already.
    fn solve(
        &mut self,
        from: DomainIx,
        to: DomainIx,
        rest: Option<Mapping>,
        target: usize,
    ) -> Mapping {
        let first = self.hop_steps(from, to);
        let target = &mut self.targets[target];
        let mapping = match rest {
            None => Mapping::flat(first),
            Some(rest) => {
                let room = FLAT_STEPS.saturating_sub(target.steps);
                match rest.as_flat().and_then(|rest| first.then(rest, room)) {
                    Some(steps) => {
                        target.steps += steps.len();
                        Mapping::flat(steps)
                    }
                    None => rest.after(first),
                }
            }
        };
        target.mappings.insert(from, mapping.clone());
        mapping
    }

    fn hop_steps(&mut self, from: DomainIx, to: DomainIx) -> StepFunction {
        let hop = self.hop(from, to);
        let mut steps = StepFunction::empty();
        for (index, pair) in self.hops[hop].pairs().enumerate() {
            if index == 0 {
                steps.push(i64::MIN, pair.offset());
            }
            steps.push(pair.from, pair.offset());
        }
        steps
    }
}
