//! Conversions over the clock graph (rules V), and what is solved for them.

use super::{ClockGraph, SnapshotId};
use crate::clock::Clock;
use crate::hop::{self, Stretch};
use crate::mapping::{Bounds, Mapping, clamp};
use crate::recent::{Key, Origin, Slot};
use crate::routes::{DomainIx, Over, Routes, SetIx, Topology};
use crate::snapshot::Source;
use crate::time::{ClockNs, Ticks};
use crate::unresolved::Unresolved;

/// How many targets keep their paths.
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

/// What is solved for one target.
#[derive(Debug)]
struct Target {
    clock: Clock,
    routes: Routes,
    /// The same over what is assumed, for clocks that have no route without (rule X18).
    assumed: Option<Routes>,
    with_excluded: Option<Routes>,
}

impl Target {
    /// All routes that there are.
    fn all(&mut self) -> impl Iterator<Item = &mut Routes> {
        let further = self.assumed.iter_mut().chain(&mut self.with_excluded);
        std::iter::once(&mut self.routes).chain(further)
    }
}

/// The targets that were asked for last.
#[derive(Debug, Default)]
pub(super) struct Targets {
    targets: Vec<Target>,
    /// The one that was asked for first, once there is no room.
    oldest: usize,
}

impl Targets {
    fn find(&self, clock: Clock) -> Option<usize> {
        self.targets.iter().position(|target| target.clock == clock)
    }

    fn add(&mut self, clock: Clock, domain: DomainIx) -> usize {
        let target = Target {
            clock,
            routes: Routes::new(domain, Over::Known),
            assumed: None,
            with_excluded: None,
        };
        if self.targets.len() < TARGETS {
            self.targets.push(target);
            return self.targets.len() - 1;
        }
        let index = self.oldest;
        self.targets[index] = target;
        self.oldest = (index + 1) % TARGETS;
        index
    }

    pub fn set_added(&mut self, topology: &Topology, set: SetIx) {
        for routes in self.targets.iter_mut().flat_map(Target::all) {
            routes.add_set(topology, set);
        }
    }

    pub fn exclude(&mut self, topology: &Topology, domain: DomainIx) {
        for routes in self.targets.iter_mut().flat_map(Target::all) {
            routes.exclude(topology, domain);
        }
    }
}

/// From how many misses on a mapping may be composed.
const MISSES: u32 = 64;

impl ClockGraph {
    /// Converts a value, in nanoseconds, from one clock to another (rules V1–V6).
    ///
    /// # Errors
    ///
    /// Why it cannot be (rule V7).
    #[inline]
    pub fn convert(
        &mut self,
        from: Clock,
        ClockNs(value): ClockNs,
        to: Clock,
    ) -> Result<ClockNs, Unresolved> {
        if let Some(slot) = self.recent.find(Key::new(from, to))
            && slot.covers(value, self.snapshots)
        {
            let result = value.checked_add(slot.offset);
            return result.map(ClockNs).ok_or(Unresolved::Overflow);
        }
        if from == to {
            return Ok(ClockNs(value));
        }
        match self.convert_anew(from, value, to) {
            (value, None) => Ok(ClockNs(value)),
            (_, Some(reason)) => Err(reason),
        }
    }

    /// Converts a reading in units of so many nanoseconds (rule V4).
    ///
    /// # Errors
    ///
    /// Why it cannot be (rule V7). That there is no way for any reading of its clock
    /// comes before that this one does not fit.
    #[inline]
    pub fn convert_ticks(
        &mut self,
        from: Clock,
        ticks: Ticks,
        unit: i64,
        to: Clock,
    ) -> Result<ClockNs, Unresolved> {
        match ticks.in_units_of(unit) {
            Some(value) => self.convert(from, value, to),
            None => Err(self.overflow(from, to)),
        }
    }

    /// Why a reading that does not fit 64 bits cannot be converted.
    #[cold]
    pub fn overflow(&mut self, from: Clock, to: Clock) -> Unresolved {
        let any = self.convert(from, ClockNs(0), to);
        any.err().unwrap_or(Unresolved::Overflow)
    }

    fn endpoints(&mut self, from: Clock, to: Clock) -> Result<(DomainIx, usize), Unresolved> {
        if from.lacks_sequence() || to.lacks_sequence() {
            return Err(Unresolved::NoSequenceId);
        }
        let source = self.store.find_clock(from);
        let source = source.ok_or(Unresolved::UnknownClock)?;
        if let Some(target) = self.targets.find(to) {
            return Ok((source, target));
        }
        let domain = self.store.find_clock(to).ok_or(Unresolved::NoTarget)?;
        Ok((source, self.targets.add(to, domain)))
    }

    /// A pair comes back in registers; for a `Result`, the loop around
    /// `convert` would keep every result in memory (0.3 ns more).
    #[cold]
    #[inline(never)]
    fn convert_anew(&mut self, from: Clock, value: i64, to: Clock) -> (i64, Option<Unresolved>) {
        match self.convert_along_path(from, value, to) {
            Ok(value) => (value, None),
            Err(reason) => (0, Some(reason)),
        }
    }

    fn convert_along_path(
        &mut self,
        from: Clock,
        value: i64,
        to: Clock,
    ) -> Result<i64, Unresolved> {
        let key = Key::new(from, to);
        let generation = self.snapshots;
        let mut misses = 1;
        if let Some((slot, origin)) = self.recent.find_mut(key) {
            if slot.generation == generation {
                misses = origin.misses.saturating_add(1);
            } else if origin.rows > 0
                && slot.generation >= self.topology_changed
                && origin.rows as usize == self.store.set(origin.set).rows.len()
            {
                // The snapshots since then do not matter to it.
                slot.generation = generation;
                origin.misses = 0;
                if slot.covers(value, generation) {
                    return value.checked_add(slot.offset).ok_or(Unresolved::Overflow);
                }
            }
            if misses > MISSES
                && let Some(around) = self.kept.find(generation, key, value)
            {
                slot.start = around.start;
                slot.span = around.end.wrapping_sub(around.start) as u64;
                slot.offset = around.offset;
                return value.checked_add(around.offset).ok_or(Unresolved::Overflow);
            }
        }
        let (source, target) = self.endpoints(from, to)?;
        // At 128, 256 and so on, since to see whether it pays costs something.
        if misses > MISSES && misses.is_power_of_two() {
            self.compose(source, target, key, misses)?;
        }
        let mut slot = Slot {
            key,
            generation,
            ..Slot::default()
        };
        let mut origin = Origin {
            misses,
            ..Origin::default()
        };
        let mut bounds = Bounds::default();
        let (mut total, mut hops, mut last) = (0i128, 0, None);
        self.walk(source, value, target, |set, stretch, before, after| {
            bounds.narrow(stretch.start, stretch.end, before);
            total = after;
            hops += 1;
            last = set;
        })?;
        if let (1, Some(set)) = (hops, last) {
            origin.set = set;
            origin.rows = self.store.set(set).rows.len() as u32;
        }
        let step = bounds.step(i64::try_from(total).ok());
        slot.offset = step.offset.ok_or(Unresolved::Overflow)?;
        slot.start = step.start.unwrap_or(i64::MIN);
        let end = step.end.map_or(i64::MAX, |end| end.saturating_sub(1));
        slot.span = end.wrapping_sub(slot.start) as u64;
        self.recent.put(slot, origin);
        value.checked_add(slot.offset).ok_or(Unresolved::Overflow)
    }

    /// Composes the mapping of a clock that has missed its stretch so often that
    /// it pays.
    ///
    /// To compose it costs about as much as a third of as many conversions hop by
    /// hop as there are snapshots; so it has paid when it is not needed any more.
    fn compose(
        &mut self,
        source: DomainIx,
        target: usize,
        key: Key,
        misses: u32,
    ) -> Result<(), Unresolved> {
        let path = self.prepared_path(source, target)?;
        let mapping = Mapping::new(&self.store, &self.hops, &path)?;
        let pays = misses as usize > mapping.snapshots() / 4;
        if pays && !self.kept.has_tried(self.snapshots, key) {
            self.kept.keep(self.snapshots, key, &mapping);
        }
        Ok(())
    }

    /// Goes from clock to clock towards the target, and tells for each hop the
    /// stretch used and the sum of the offsets before and after it.
    fn walk(
        &mut self,
        source: DomainIx,
        value: i64,
        target: usize,
        mut each: impl FnMut(Option<SetIx>, Stretch, i128, i128),
    ) -> Result<(), Unresolved> {
        let over = self.reach(source, target)?;
        let mut total = 0i128;
        let mut at = source;
        while let Some(next) = self.next(target, over, at) {
            let leg = match self.hops.leg(&self.store, at, next) {
                Some(leg) => leg,
                None => {
                    self.hops.prepare(&mut self.store, at, next);
                    let leg = self.hops.leg(&self.store, at, next);
                    leg.ok_or(Unresolved::NoPath)?
                }
            };
            let value = clamp(i128::from(value) + total);
            let only_set = leg.only_set();
            let hint = only_set.map_or(0, |set| self.store.set(set).hint);
            let stretch = leg.nearest(&self.store, value, hint as usize);
            let stretch = stretch.ok_or(Unresolved::NoPath)?;
            if let Some(set) = only_set {
                self.store.set_mut(set).hint = stretch.hint as u32;
            }
            let after = total + stretch.offset();
            each(only_set, stretch, total, after);
            total = after;
            at = next;
        }
        Ok(())
    }

    /// The hops from a clock to the target.
    fn path_of(
        &mut self,
        source: DomainIx,
        target: usize,
    ) -> Result<Vec<(DomainIx, DomainIx)>, Unresolved> {
        let over = self.reach(source, target)?;
        let mut path = Vec::new();
        let mut at = source;
        while let Some(next) = self.next(target, over, at) {
            path.push((at, next));
            at = next;
        }
        Ok(path)
    }

    /// The same, ready to be searched.
    fn prepared_path(
        &mut self,
        source: DomainIx,
        target: usize,
    ) -> Result<Vec<(DomainIx, DomainIx)>, Unresolved> {
        let path = self.path_of(source, target)?;
        for &(from, to) in &path {
            self.hops.prepare(&mut self.store, from, to);
        }
        Ok(path)
    }

    /// The hops between two clocks, as indices of clocks, whose snapshots
    /// [`ClockGraph::each_reading`] gives.
    ///
    /// # Errors
    ///
    /// Why there is no path (rule V7).
    pub(crate) fn hops(
        &mut self,
        from: Clock,
        to: Clock,
    ) -> Result<Vec<(DomainIx, DomainIx)>, Unresolved> {
        if from == to {
            return Ok(Vec::new());
        }
        let (source, target) = self.endpoints(from, to)?;
        self.prepared_path(source, target)
    }

    /// What both clocks of a hop read in each of its snapshots, in the order of the first
    /// one's values.
    pub(crate) fn each_reading(
        &self,
        (from, to): (DomainIx, DomainIx),
        each: impl FnMut(i64, i64, u32),
    ) {
        if let Some(leg) = self.hops.leg(&self.store, from, to) {
            leg.each(&self.store, each);
        }
    }

    /// How many snapshots a hop has.
    pub(crate) fn readings(&self, (from, to): (DomainIx, DomainIx)) -> usize {
        let leg = self.hops.leg(&self.store, from, to);
        leg.map_or(0, |leg| leg.len(&self.store))
    }

    /// Who took the snapshots of a hop (rule V2).
    pub(crate) fn source_of(&self, (from, to): (DomainIx, DomainIx)) -> Option<Source> {
        let leg = self.hops.leg(&self.store, from, to)?;
        leg.source(&self.store)
    }

    /// The clock after `at` on the way to the target.
    #[inline]
    fn next(&self, target: usize, over: Over, at: DomainIx) -> Option<DomainIx> {
        let target = &self.targets.targets[target];
        match over {
            Over::Known => target.routes.next(at),
            Over::Assumed | Over::Excluded => target.assumed.as_ref()?.next(at),
        }
    }

    /// Over what there is a path, or why there is none (rules V7, X18).
    fn reach(&mut self, source: DomainIx, target: usize) -> Result<Over, Unresolved> {
        let topology = &self.store.topology;
        let target = &mut self.targets.targets[target];
        target.routes.refresh(topology);
        if target.routes.reaches(source) {
            return Ok(Over::Known);
        }
        let domain = target.routes.target();
        if topology.assumes() {
            let routes = target
                .assumed
                .get_or_insert_with(|| Routes::new(domain, Over::Assumed));
            routes.refresh(topology);
            if routes.reaches(source) {
                return Ok(Over::Assumed);
            }
        }
        let routes = target
            .with_excluded
            .get_or_insert_with(|| Routes::new(domain, Over::Excluded));
        routes.refresh(topology);
        Err(match routes.reaches(source) {
            true => Unresolved::NonMonotonic,
            false => Unresolved::NoPath,
        })
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
        let clocks = hops
            .iter()
            .map(|&(_, to)| self.domains()[to as usize].clock);
        Ok(std::iter::once(from).chain(clocks).collect())
    }

    /// The conversion of a value, hop by hop. It has no hops if both clocks are
    /// the same.
    ///
    /// # Errors
    ///
    /// Why there is no path (rule V7).
    pub fn explain(
        &mut self,
        from: Clock,
        ClockNs(value): ClockNs,
        to: Clock,
    ) -> Result<Vec<Hop>, Unresolved> {
        let path = self.path(from, to)?;
        if from == to {
            return Ok(Vec::new());
        }
        let (source, target) = self.endpoints(from, to)?;
        let mut stretches = Vec::new();
        self.walk(source, value, target, |_, stretch, before, after| {
            stretches.push((stretch, before, after));
        })?;
        let hops = path.windows(2).zip(stretches);
        let hops = hops.map(|(clocks, (stretch, before, after))| Hop {
            from: clocks[0],
            to: clocks[1],
            snapshot: SnapshotId(hop::snapshot_of(&self.store, stretch.row)),
            from_value: stretch.from,
            to_value: stretch.to,
            value_in: i128::from(value) + before,
            value_out: i128::from(value) + after,
        });
        Ok(hops.collect())
    }

    /// The whole mapping of one clock onto another, as a step function of
    /// nanoseconds.
    ///
    /// # Errors
    ///
    /// Why there is no path (rule V7).
    pub fn mapping(&mut self, from: Clock, to: Clock) -> Result<Mapping<'_>, Unresolved> {
        let mut path = Vec::new();
        if from != to {
            let (source, target) = self.endpoints(from, to)?;
            path = self.prepared_path(source, target)?;
        }
        Mapping::new(&self.store, &self.hops, &path)
    }
}
