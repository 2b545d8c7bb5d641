//! Conversions over the clock graph (rules V), and the data solved for them.

use super::{ClockGraph, SnapshotId};
use crate::cache::ConversionCache;
use crate::clock::Clock;
use crate::hop::{self, Stretch};
use crate::mapping::{Bounds, Mapping, clamp};
use crate::recent::{Key, Origin, Slot};
use crate::routes::{DomainIx, SetIx};
use crate::snapshot::Source;
use crate::time::{ClockNs, Ticks};
use crate::unresolved::Unresolved;

/// One hop of a conversion, in the form of a calculation by hand: `value_out = to_value + (value_in
/// − from_value)`. If messages say how the two clocks relate ([`Source::Causality`]), the hop is by
/// lines: `snapshot` is the corner before the value, or the first one, and `value_out` is on the line
/// through it and the next corner.
///
/// ```
/// # use timebase_resolver::{Clock, ClockGraph, ClockNs, ConversionCache, Reading, Source};
/// # let (monotonic, boottime) = (Clock::host(3), Clock::BOOTTIME);
/// # let mut graph = ClockGraph::new();
/// # for (m, b) in [(1000, 2000), (2000, 3500)] {
/// #     let readings = [Reading::new(monotonic, m, 1, false)?, Reading::new(boottime, b, 1, false)?];
/// #     graph.add_snapshot(Source::Service, &readings, Some(boottime))?;
/// # }
/// # let mut cache = ConversionCache::new();
/// let hops = graph.explain(monotonic, ClockNs(1100), boottime, &mut cache).unwrap();
/// let [hop] = hops[..] else { panic!() };
/// assert_eq!((hop.from, hop.to, hop.snapshot.0), (monotonic, boottime, 0));
/// assert_eq!((hop.from_value, hop.to_value), (1000, 2000));
/// assert_eq!((hop.value_in, hop.value_out), (1100, 2100));
/// # Ok::<(), timebase_resolver::Rejected>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Hop {
    /// The clock where the hop starts.
    pub from: Clock,
    /// The clock where it ends.
    pub to: Clock,
    /// The snapshot that the hop uses (rules V2, AL20).
    pub snapshot: SnapshotId,
    /// The reading of `from` in it.
    pub from_value: i64,
    /// The reading of `to` in it.
    pub to_value: i64,
    /// The value before the hop; between two hops it may need 65 bits.
    pub value_in: i128,
    /// The value after it.
    pub value_out: i128,
}

/// After this many misses, a mapping may be composed.
const MISSES: u32 = 64;

impl ClockGraph {
    /// Converts a value, in nanoseconds, from one clock to another (rules V1–V6).
    ///
    /// ```
    /// # use timebase_resolver::{Clock, ClockGraph, ClockNs, ConversionCache, Reading, Source};
    /// # let (monotonic, boottime) = (Clock::host(3), Clock::BOOTTIME);
    /// # let mut graph = ClockGraph::new();
    /// # for (m, b) in [(1000, 2000), (2000, 3500)] {
    /// #     let readings = [Reading::new(monotonic, m, 1, false)?, Reading::new(boottime, b, 1, false)?];
    /// #     graph.add_snapshot(Source::Service, &readings, Some(boottime))?;
    /// # }
    /// # let mut cache = ConversionCache::new();
    /// let at = graph.convert(monotonic, ClockNs(1100), boottime, &mut cache);
    /// assert_eq!(at, Ok(ClockNs(2100)));
    /// let unknown = graph.convert(Clock::host(1), ClockNs(0), boottime, &mut cache);
    /// assert_eq!(unknown.unwrap_err().code(), "unknown_clock");
    /// # Ok::<(), timebase_resolver::Rejected>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The reason why it cannot be converted (rule V7).
    #[inline]
    pub fn convert(
        &self,
        from: Clock,
        ClockNs(value): ClockNs,
        to: Clock,
        cache: &mut ConversionCache,
    ) -> Result<ClockNs, Unresolved> {
        if let Some(slot) = cache.recent.find(Key::new(from, to))
            && slot.covers(value, self.snapshots)
            && cache.is_of(self.identity)
        {
            let result = value.checked_add(slot.offset);
            return result.map(ClockNs).ok_or(Unresolved::Overflow);
        }
        if from == to {
            return Ok(ClockNs(value));
        }
        match self.convert_anew(from, value, to, cache) {
            (value, None) => Ok(ClockNs(value)),
            (_, Some(reason)) => Err(reason),
        }
    }

    /// Converts a reading whose unit is this many nanoseconds (rule V4).
    ///
    /// ```
    /// use timebase_resolver::*;
    ///
    /// let (micros, boottime) = (Clock::host(200), Clock::BOOTTIME);
    /// let mut graph = ClockGraph::new();
    /// let readings = [Reading::new(micros, 5, 1000, false)?, Reading::new(boottime, 9000, 1, false)?];
    /// graph.add_snapshot(Source::Writer, &readings, None)?;
    /// let unit = graph.unit(micros).map_or(1, |unit| unit.ns);
    /// let at = graph.convert_ticks(micros, Ticks(6), unit, boottime, &mut ConversionCache::new());
    /// assert_eq!(at, Ok(ClockNs(10_000)));
    /// # Ok::<(), timebase_resolver::Rejected>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The reason why it cannot be converted (rule V7). If there is no path for any reading of its
    /// clock, that reason comes before an overflow of this reading.
    #[inline]
    pub fn convert_ticks(
        &self,
        from: Clock,
        ticks: Ticks,
        unit: i64,
        to: Clock,
        cache: &mut ConversionCache,
    ) -> Result<ClockNs, Unresolved> {
        match ticks.in_units_of(unit) {
            Some(value) => self.convert(from, value, to, cache),
            None => Err(self.overflow(from, to, cache)),
        }
    }

    /// The reason why a reading that does not fit 64 bits cannot be converted.
    ///
    /// ```
    /// # use timebase_resolver::{Clock, ClockGraph, ClockNs, ConversionCache, Reading, Source};
    /// # let (monotonic, boottime) = (Clock::host(3), Clock::BOOTTIME);
    /// # let mut graph = ClockGraph::new();
    /// # for (m, b) in [(1000, 2000), (2000, 3500)] {
    /// #     let readings = [Reading::new(monotonic, m, 1, false)?, Reading::new(boottime, b, 1, false)?];
    /// #     graph.add_snapshot(Source::Service, &readings, Some(boottime))?;
    /// # }
    /// # let mut cache = ConversionCache::new();
    /// # use timebase_resolver::Unresolved;
    /// assert_eq!(graph.overflow(monotonic, boottime, &mut cache), Unresolved::Overflow);
    /// assert_eq!(graph.overflow(Clock::host(1), boottime, &mut cache), Unresolved::UnknownClock);
    /// # Ok::<(), timebase_resolver::Rejected>(())
    /// ```
    #[cold]
    pub fn overflow(&self, from: Clock, to: Clock, cache: &mut ConversionCache) -> Unresolved {
        let any = self.convert(from, ClockNs(0), to, cache);
        any.err().unwrap_or(Unresolved::Overflow)
    }

    /// The indices of both ends, from a cache that knows all snapshots from now on.
    fn endpoints(
        &self,
        from: Clock,
        to: Clock,
        cache: &mut ConversionCache,
    ) -> Result<(DomainIx, usize), Unresolved> {
        if from.lacks_sequence() || to.lacks_sequence() {
            return Err(Unresolved::NoSequenceId);
        }
        cache.refresh(self.identity, &self.store);
        let source = self.store.find_clock(from);
        let source = source.ok_or(Unresolved::UnknownClock)?;
        if let Some(target) = cache.targets.find(to) {
            return Ok((source, target));
        }
        let domain = self.store.find_clock(to).ok_or(Unresolved::NoTarget)?;
        Ok((source, cache.targets.add(to, domain)))
    }

    /// A pair is returned in registers; with a `Result`, the loop around `convert` would keep every
    /// result in memory (0.3 ns more).
    #[cold]
    #[inline(never)]
    fn convert_anew(
        &self,
        from: Clock,
        value: i64,
        to: Clock,
        cache: &mut ConversionCache,
    ) -> (i64, Option<Unresolved>) {
        match self.convert_along_path(from, value, to, cache) {
            Ok(value) => (value, None),
            Err(reason) => (0, Some(reason)),
        }
    }

    fn convert_along_path(
        &self,
        from: Clock,
        value: i64,
        to: Clock,
        cache: &mut ConversionCache,
    ) -> Result<i64, Unresolved> {
        cache.begin(self.identity);
        let key = Key::new(from, to);
        let generation = self.snapshots;
        let mut misses = 1;
        if let Some((slot, origin)) = cache.recent.find_mut(key) {
            if slot.generation == generation {
                misses = origin.misses.saturating_add(1);
            } else if origin.rows > 0
                && slot.generation >= self.topology_changed
                && origin.rows as usize == self.store.rows(origin.set).len()
            {
                // The snapshots since then do not affect it.
                slot.generation = generation;
                origin.misses = 0;
                if slot.covers(value, generation) {
                    return value.checked_add(slot.offset).ok_or(Unresolved::Overflow);
                }
            }
            if misses > MISSES
                && let Some(around) = cache.kept.find(generation, key, value)
            {
                slot.start = around.start;
                slot.span = around.end.wrapping_sub(around.start) as u64;
                slot.offset = around.offset;
                return value.checked_add(around.offset).ok_or(Unresolved::Overflow);
            }
        }
        let (source, target) = self.endpoints(from, to, cache)?;
        // At 128, 256 and so on, because the check costs something, too.
        if misses > MISSES && misses.is_power_of_two() {
            self.compose(source, target, key, misses, cache)?;
        }
        let mut slot = Slot { key, generation, ..Slot::default() };
        let mut origin = Origin { misses, ..Origin::default() };
        let mut bounds = Bounds::default();
        let (mut total, mut hops, mut last) = (0i128, 0, None);
        self.walk((source, target), value, cache, |set, stretch, before, after| {
            bounds.narrow(stretch.start, stretch.end, before);
            total = after;
            hops += 1;
            last = set;
        })?;
        if let (1, Some(set)) = (hops, last) {
            origin.set = set;
            origin.rows = self.store.rows(set).len() as u32;
        }
        let step = bounds.step(i64::try_from(total).ok());
        slot.offset = step.offset.ok_or(Unresolved::Overflow)?;
        slot.start = step.start.unwrap_or(i64::MIN);
        let end = step.end.map_or(i64::MAX, |end| end.saturating_sub(1));
        slot.span = end.wrapping_sub(slot.start) as u64;
        cache.recent.put(slot, origin);
        value.checked_add(slot.offset).ok_or(Unresolved::Overflow)
    }

    /// Composes the mapping of a clock that missed its step often enough for this to pay off.
    ///
    /// Composing costs about as much as n / 3 conversions hop by hop, if n is the number of
    /// snapshots; so it has already paid off when it is not needed any more.
    fn compose(
        &self,
        source: DomainIx,
        target: usize,
        key: Key,
        misses: u32,
        cache: &mut ConversionCache,
    ) -> Result<(), Unresolved> {
        let path = self.prepared_path(source, target, cache)?;
        let mapping = Mapping::new(&self.store, &cache.hops, &path)?;
        let pays = misses as usize > mapping.snapshots() / 4;
        if pays && !cache.kept.has_tried(self.snapshots, key) {
            cache.kept.keep(self.snapshots, key, &mapping);
        }
        Ok(())
    }

    /// Goes from clock to clock towards the target, and returns for each hop its step and the sum
    /// of the offsets before and after it.
    fn walk(
        &self,
        (source, target): (DomainIx, usize),
        value: i64,
        cache: &mut ConversionCache,
        mut each: impl FnMut(Option<SetIx>, Stretch, i128, i128),
    ) -> Result<(), Unresolved> {
        let over = cache.targets.reach(&self.store.topology, source, target)?;
        let mut total = 0i128;
        let mut at = source;
        while let Some(next) = cache.targets.next(target, over, at) {
            let leg = match cache.hops.leg(&self.store, at, next) {
                Some(leg) => leg,
                None => {
                    cache.hops.prepare(&self.store, at, next);
                    let leg = cache.hops.leg(&self.store, at, next);
                    leg.ok_or(Unresolved::NoPath)?
                }
            };
            let value = clamp(i128::from(value) + total);
            let only_set = leg.only_set();
            let hint = only_set.map_or(0, |set| cache.hops.hint(set));
            let stretch = leg.nearest(&self.store, value, hint);
            let stretch = stretch.ok_or(Unresolved::NoPath)?;
            if let Some(set) = only_set {
                cache.hops.set_hint(set, stretch.hint);
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
        &self,
        source: DomainIx,
        target: usize,
        cache: &mut ConversionCache,
    ) -> Result<Vec<(DomainIx, DomainIx)>, Unresolved> {
        let targets = &mut cache.targets;
        let over = targets.reach(&self.store.topology, source, target)?;
        let mut path = Vec::new();
        let mut at = source;
        while let Some(next) = targets.next(target, over, at) {
            path.push((at, next));
            at = next;
        }
        Ok(path)
    }

    /// The same, prepared for searching.
    fn prepared_path(
        &self,
        source: DomainIx,
        target: usize,
        cache: &mut ConversionCache,
    ) -> Result<Vec<(DomainIx, DomainIx)>, Unresolved> {
        let path = self.path_of(source, target, cache)?;
        for &(from, to) in &path {
            cache.hops.prepare(&self.store, from, to);
        }
        Ok(path)
    }

    /// The hops between two clocks, as indices of clocks. [`ClockGraph::each_reading`] returns
    /// their snapshots with the same cache.
    ///
    /// # Errors
    ///
    /// The reason why there is no path (rule V7).
    pub(crate) fn hops(
        &self,
        from: Clock,
        to: Clock,
        cache: &mut ConversionCache,
    ) -> Result<Vec<(DomainIx, DomainIx)>, Unresolved> {
        if from == to {
            return Ok(Vec::new());
        }
        let (source, target) = self.endpoints(from, to, cache)?;
        self.prepared_path(source, target, cache)
    }

    /// The readings of both clocks of a hop in each of its snapshots, in the order of the first
    /// one's values.
    pub(crate) fn each_reading(
        &self,
        (from, to): (DomainIx, DomainIx),
        cache: &ConversionCache,
        each: impl FnMut(i64, i64, u32),
    ) {
        if let Some(leg) = cache.hops.leg(&self.store, from, to) {
            leg.each(&self.store, each);
        }
    }

    /// The number of snapshots of a hop.
    pub(crate) fn readings(
        &self,
        (from, to): (DomainIx, DomainIx),
        cache: &ConversionCache,
    ) -> usize {
        let leg = cache.hops.leg(&self.store, from, to);
        leg.map_or(0, |leg| leg.len(&self.store))
    }

    /// The origin of a hop's snapshots (rule V2).
    pub(crate) fn source_of(
        &self,
        (from, to): (DomainIx, DomainIx),
        cache: &ConversionCache,
    ) -> Option<Source> {
        let leg = cache.hops.leg(&self.store, from, to)?;
        leg.source(&self.store)
    }

    /// The clocks on the path of a conversion, from the first to the last (rule V3).
    ///
    /// ```
    /// # use timebase_resolver::{Clock, ClockGraph, ClockNs, ConversionCache, Reading, Source};
    /// # let (monotonic, boottime) = (Clock::host(3), Clock::BOOTTIME);
    /// # let mut graph = ClockGraph::new();
    /// # for (m, b) in [(1000, 2000), (2000, 3500)] {
    /// #     let readings = [Reading::new(monotonic, m, 1, false)?, Reading::new(boottime, b, 1, false)?];
    /// #     graph.add_snapshot(Source::Service, &readings, Some(boottime))?;
    /// # }
    /// # let mut cache = ConversionCache::new();
    /// let app = Clock::host(200);
    /// let readings = [Reading::new(app, 5, 1, false)?, Reading::new(monotonic, 1500, 1, false)?];
    /// graph.add_snapshot(Source::Writer, &readings, Some(boottime))?;
    /// assert_eq!(graph.path(app, boottime, &mut cache), Ok(vec![app, monotonic, boottime]));
    /// # Ok::<(), timebase_resolver::Rejected>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The reason why there is no path (rule V7).
    pub fn path(
        &self,
        from: Clock,
        to: Clock,
        cache: &mut ConversionCache,
    ) -> Result<Vec<Clock>, Unresolved> {
        if from == to {
            return Ok(vec![from]);
        }
        let (source, target) = self.endpoints(from, to, cache)?;
        let hops = self.path_of(source, target, cache)?;
        let clocks = hops.iter().map(|&(_, to)| self.clock_at(to));
        Ok(std::iter::once(from).chain(clocks).collect())
    }

    /// The conversion of a value, hop by hop. It has no hops if both clocks are
    /// the same.
    ///
    /// # Errors
    ///
    /// The reason why there is no path (rule V7).
    pub fn explain(
        &self,
        from: Clock,
        ClockNs(value): ClockNs,
        to: Clock,
        cache: &mut ConversionCache,
    ) -> Result<Vec<Hop>, Unresolved> {
        let path = self.path(from, to, cache)?;
        if from == to {
            return Ok(Vec::new());
        }
        let ends = self.endpoints(from, to, cache)?;
        let mut stretches = Vec::new();
        self.walk(ends, value, cache, |_, stretch, before, after| {
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

    /// The whole mapping from one clock to another, as a step function of nanoseconds.
    ///
    /// # Errors
    ///
    /// The reason why there is no path (rule V7).
    pub fn mapping<'g>(
        &'g self,
        from: Clock,
        to: Clock,
        cache: &'g mut ConversionCache,
    ) -> Result<Mapping<'g>, Unresolved> {
        let path = self.hops(from, to, cache)?;
        Mapping::new(&self.store, &cache.hops, &path)
    }
}
