//! The whole mapping from one clock to another as a step function.
//!
//! A conversion adds an offset that depends on the nearest snapshot, so a hop is a step function
//! from values to offsets, and so is a path of hops. This code reads its steps from the snapshots
//! one after the other, and stores nothing. The alternative was an array of all steps for each
//! clock: 10,000 clocks over a MONOTONIC with 1,000 snapshots have ten million steps.

use crate::hop::{Hops, Leg};
use crate::routes::DomainIx;
use crate::store::Store;
use crate::unresolved::Unresolved;

/// A step of a mapping: `target = value + offset` for `start ≤ value < end`.
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
/// let mapping = graph.mapping(monotonic, boottime, &mut cache).unwrap();
/// let step = mapping.at(1100);
/// assert_eq!((step.start, step.end, step.offset), (None, Some(2000), Some(1000)));
/// assert!(step.holds(-5) && !step.holds(2000));
/// # Ok::<(), timebase_resolver::Rejected>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Step {
    /// `None` is no bound.
    pub start: Option<i64>,
    /// `None` is no bound.
    pub end: Option<i64>,
    /// `None` if the offset does not fit 64 bits (rule V6).
    pub offset: Option<i64>,
}

impl Step {
    /// Whether a value is on it.
    pub fn holds(&self, value: i64) -> bool {
        self.start.is_none_or(|start| start <= value) && self.end.is_none_or(|end| value < end)
    }
}

/// The nearest existing value.
pub(crate) fn clamp(value: i128) -> i64 {
    i64::try_from(value).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX })
}

/// The range of source values for which a path of hops uses the same snapshots.
#[derive(Debug, Default)]
pub(crate) struct Bounds {
    start: Option<i64>,
    end: Option<i64>,
}

impl Bounds {
    /// Adds the bounds of one hop, whose values are those of the source plus `offset`.
    pub fn narrow(&mut self, start: Option<i64>, end: Option<i64>, offset: i128) {
        // A bound that does not fit 64 bits on the way back is no bound.
        let back = |bound: i64| i64::try_from(i128::from(bound) - offset).ok();
        self.start = self.start.max(start.and_then(back));
        self.end = match (self.end, end.and_then(back)) {
            (Some(a), Some(b)) => Some(i64::min(a, b)),
            (a, b) => a.or(b),
        };
    }

    pub fn step(self, offset: Option<i64>) -> Step {
        Step { start: self.start, end: self.end, offset }
    }
}

/// The conversion of one clock to another, for all values.
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
/// let mapping = graph.mapping(monotonic, boottime, &mut cache).unwrap();
/// let steps: Vec<_> = mapping.steps().map(|step| (step.start, step.offset)).collect();
/// assert_eq!(steps, [(None, Some(1000)), (Some(2000), Some(1500))]);
/// assert_eq!(mapping.convert(2001), Some(3501));
/// # Ok::<(), timebase_resolver::Rejected>(())
/// ```
#[derive(Debug, Clone)]
pub struct Mapping<'g> {
    store: &'g Store,
    legs: Vec<Leg<'g>>,
}

impl<'g> Mapping<'g> {
    /// The mapping along a path with prepared hops.
    pub(crate) fn new(
        store: &'g Store,
        hops: &'g Hops,
        path: &[(DomainIx, DomainIx)],
    ) -> Result<Self, Unresolved> {
        let leg = |&(from, to): &(DomainIx, DomainIx)| hops.leg(store, from, to);
        let legs: Option<Vec<Leg<'_>>> = path.iter().map(leg).collect();
        let legs = legs.ok_or(Unresolved::NoPath)?;
        Ok(Mapping { store, legs })
    }

    /// The number of snapshots of its hops.
    pub(crate) fn snapshots(&self) -> usize {
        self.legs.iter().map(|leg| leg.len(self.store)).sum()
    }

    /// Whether a hop of it is by lines (rule AL20). Then its steps are of 1 ns and too many for a
    /// list: up to 500,000 for each second that the clocks run. Use [`Mapping::at`] for the values that occur.
    ///
    /// ```
    /// use timebase_resolver::*;
    ///
    /// let (one, other) = (Clock::BOOTTIME, Clock { machine: MachineId(1), ..Clock::BOOTTIME });
    /// let mut graph = ClockGraph::new();
    /// for (a, b) in [(0, 500), (1_000_000, 1_000_530)] {
    ///     let corner = [Reading::new(one, a, 1, false)?, Reading::new(other, b, 1, false)?];
    ///     graph.add_snapshot(Source::Causality, &corner, None)?;
    /// }
    /// let mut cache = ConversionCache::new();
    /// let mapping = graph.mapping(one, other, &mut cache).unwrap();
    /// assert!(mapping.is_by_lines());
    /// let step = mapping.at(500_000);
    /// assert_eq!((step.start, step.end, step.offset), (Some(483_334), Some(516_667), Some(515)));
    /// # Ok::<(), Rejected>(())
    /// ```
    pub fn is_by_lines(&self) -> bool {
        self.legs.iter().any(|leg| leg.is_by_lines(self.store))
    }

    /// The step that contains `value`, in its full length.
    pub fn at(&self, value: i64) -> Step {
        let mut hints = self.hints();
        let mut step = self.piece(value, &mut hints);
        while let Some(before) = step.start.and_then(|start| start.checked_sub(1)) {
            let previous = self.piece(before, &mut hints);
            if previous.offset != step.offset {
                break;
            }
            step.start = previous.start;
        }
        self.extend(&mut step, &mut hints);
        step
    }

    /// All steps, in order of their values. Neighbouring steps have different
    /// offsets. There are very many if a hop is by lines (see [`Mapping::is_by_lines`]).
    pub fn steps(&self) -> impl Iterator<Item = Step> {
        let mut hints = self.hints();
        let mut next = Some(self.piece(i64::MIN, &mut hints));
        std::iter::from_fn(move || {
            let mut step = next?;
            next = self.extend(&mut step, &mut hints);
            Some(step)
        })
    }

    /// Converts a value (rule V6: `None` if the result does not fit 64 bits).
    pub fn convert(&self, value: i64) -> Option<i64> {
        value.checked_add(self.piece(value, &mut self.hints()).offset?)
    }

    /// The start for the search in each hop; it follows the values.
    fn hints(&self) -> Vec<usize> {
        vec![0; self.legs.len()]
    }

    /// Extends a step as far as its offset holds; returns the next one.
    fn extend(&self, step: &mut Step, hints: &mut [usize]) -> Option<Step> {
        while let Some(end) = step.end {
            let next = self.piece(end, hints);
            if next.offset != step.offset {
                return Some(next);
            }
            step.end = next.end;
        }
        None
    }

    /// The values around this one that use the same snapshots.
    fn piece(&self, value: i64, hints: &mut [usize]) -> Step {
        let mut total = 0i128;
        let mut bounds = Bounds::default();
        for (leg, hint) in self.legs.iter().zip(hints) {
            let at = clamp(i128::from(value) + total);
            // A hop of a path has snapshots.
            let Some(stretch) = leg.nearest(self.store, at, *hint) else {
                return bounds.step(None);
            };
            bounds.narrow(stretch.start, stretch.end, total);
            total += stretch.offset();
            *hint = stretch.hint;
        }
        bounds.step(i64::try_from(total).ok())
    }
}
