//! The whole mapping of one clock onto another as a step function.
//!
//! A conversion adds an offset that depends on which snapshot is nearest, so a
//! hop is a step function from values to offsets, and so is a path of hops: it
//! is composed once, and then a conversion is one binary search however many
//! hops the path has.

use std::sync::Arc;

/// Stands for an offset that does not fit 64 bits (rule V6).
const OVERFLOW: i64 = i64::MIN;

/// A step of a mapping: `target = value + offset` for `start ≤ value < end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// `None` is no bound.
    pub start: Option<i64>,
    /// `None` is no bound.
    pub end: Option<i64>,
    /// `None` where the offset does not fit 64 bits (rule V6).
    pub offset: Option<i64>,
}

/// A sorted array of (from value, offset). The first step starts at the least
/// value there is, and neighbouring steps have different offsets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepFunction {
    starts: Vec<i64>,
    offsets: Vec<i64>,
}

impl StepFunction {
    /// The mapping of a clock onto itself (rule V1).
    pub fn identity() -> Self {
        StepFunction {
            starts: vec![i64::MIN],
            offsets: vec![0],
        }
    }

    pub(crate) fn empty() -> Self {
        StepFunction {
            starts: Vec::new(),
            offsets: Vec::new(),
        }
    }

    /// Appends a step; one that starts where the last one does replaces it.
    pub(crate) fn push(&mut self, start: i64, offset: i128) {
        let offset = i64::try_from(offset).unwrap_or(OVERFLOW);
        if self.starts.last() == Some(&start) {
            self.starts.pop();
            self.offsets.pop();
        }
        if self.offsets.last() != Some(&offset) {
            self.starts.push(start);
            self.offsets.push(offset);
        }
    }

    /// How many steps it has.
    #[allow(clippy::len_without_is_empty)] // it never is
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    fn index(&self, value: i64) -> usize {
        self.starts
            .partition_point(|&start| start <= value)
            .saturating_sub(1)
    }

    fn step(&self, index: usize) -> Step {
        let start = self.starts.get(index).copied();
        let offset = self.offsets.get(index).copied();
        Step {
            start: start.filter(|_| index > 0),
            end: self.starts.get(index + 1).copied(),
            offset: offset.filter(|&offset| offset != OVERFLOW),
        }
    }

    /// The step that `value` falls in.
    pub fn at(&self, value: i64) -> Step {
        self.step(self.index(value))
    }

    /// All steps, in order of their values.
    pub fn steps(&self) -> impl Iterator<Item = Step> {
        (0..self.len()).map(|index| self.step(index))
    }

    /// This mapping, followed by `next`: `None` if it has more than `limit`
    /// steps, or an offset that does not fit 64 bits.
    ///
    /// Each step of the first is cut wherever its image crosses a step of the
    /// second. The images may overlap (a target that went backwards), so the
    /// result can have more steps than both together.
    pub fn then(&self, next: &StepFunction, limit: usize) -> Option<StepFunction> {
        let mut result = StepFunction::empty();
        for (index, step) in self.steps().enumerate() {
            let offset = i128::from(step.offset?);
            let end = step.end.map_or(i128::from(i64::MAX) + 1, |end| end.into());
            let mut begin = self.starts.get(index).copied()?;
            let mut at = next.index(clamp(i128::from(begin) + offset));
            loop {
                let total = offset + i128::from(next.step(at).offset?);
                let fits = i64::try_from(total).is_ok_and(|total| total != OVERFLOW);
                result.push(begin, fits.then_some(total)?);
                if result.len() > limit {
                    return None;
                }
                at += 1;
                let cut = next.starts.get(at).map(|&cut| i128::from(cut) - offset);
                match cut.filter(|&cut| cut < end) {
                    Some(cut) => begin = clamp(cut),
                    None => break,
                }
            }
        }
        Some(result)
    }
}

/// The nearest value that there is.
pub(crate) fn clamp(value: i128) -> i64 {
    i64::try_from(value).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX })
}

/// Between which source values a path of hops goes over the same steps.
#[derive(Debug, Default)]
pub(crate) struct Bounds {
    start: Option<i64>,
    end: Option<i64>,
}

impl Bounds {
    /// Takes in the bounds of one hop, whose values are those of the source plus
    /// `offset`.
    pub fn narrow(&mut self, start: Option<i64>, end: Option<i64>, offset: i128) {
        // A bound that leaves 64 bits on the way back is none.
        let back = |bound: i64| i64::try_from(i128::from(bound) - offset).ok();
        self.start = self.start.max(start.and_then(back));
        self.end = match (self.end, end.and_then(back)) {
            (Some(a), Some(b)) => Some(i64::min(a, b)),
            (a, b) => a.or(b),
        };
    }

    pub fn step(self, offset: Option<i64>) -> Step {
        Step {
            start: self.start,
            end: self.end,
            offset,
        }
    }
}

/// The conversion of one clock to another, solved.
///
/// Nearly always this is one [`StepFunction`]. Where many clocks reach their
/// target over the same long mapping, what is common is shared: such a mapping
/// has several stages that are gone through one after the other, with the same
/// results. So has one with a part whose offset needs more than 64 bits.
#[derive(Debug, Clone)]
pub struct Mapping {
    stages: Vec<Arc<StepFunction>>,
}

impl Mapping {
    pub(crate) fn flat(steps: StepFunction) -> Self {
        Mapping {
            stages: vec![Arc::new(steps)],
        }
    }

    /// `first`, followed by this mapping, which it shares.
    pub(crate) fn after(&self, first: StepFunction) -> Self {
        let stages = std::iter::once(Arc::new(first)).chain(self.stages.iter().cloned());
        Mapping {
            stages: stages.collect(),
        }
    }

    /// The mapping as one sorted array, unless it is too large to be worth it.
    pub fn as_flat(&self) -> Option<&StepFunction> {
        match self.stages.as_slice() {
            [steps] => Some(steps),
            _ => None,
        }
    }

    /// The step that `value` falls in, as long as it goes.
    pub fn at(&self, value: i64) -> Step {
        if let Some(steps) = self.as_flat() {
            return steps.at(value);
        }
        let mut step = self.piece(value);
        while let Some(end) = step.end {
            let next = self.piece(end);
            if next.offset != step.offset {
                break;
            }
            step.end = next.end;
        }
        while let Some(before) = step.start.and_then(|start| start.checked_sub(1)) {
            let previous = self.piece(before);
            if previous.offset != step.offset {
                break;
            }
            step.start = previous.start;
        }
        step
    }

    /// All steps, in order of their values.
    pub fn steps(&self) -> impl Iterator<Item = Step> {
        let next = |step: &Step| step.end.map(|end| self.at(end));
        std::iter::successors(Some(self.at(i64::MIN)), next)
    }

    /// Stretch on which no stage changes its step.
    fn piece(&self, value: i64) -> Step {
        let mut total = 0i128;
        let mut bounds = Bounds::default();
        for stage in &self.stages {
            let step = stage.at(clamp(i128::from(value) + total));
            bounds.narrow(step.start, step.end, total);
            let Some(offset) = step.offset else {
                return bounds.step(None);
            };
            total += i128::from(offset);
        }
        bounds.step(i64::try_from(total).ok())
    }

    /// Converts a value (rule V6: `None` if the result does not fit 64 bits).
    pub fn convert(&self, value: i64) -> Option<i64> {
        let step = match self.stages.as_slice() {
            [steps] => steps.at(value),
            _ => self.piece(value),
        };
        value.checked_add(step.offset?)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn function(steps: &[(i64, i64)]) -> StepFunction {
        let mut function = StepFunction::empty();
        function.push(i64::MIN, 0);
        for &(start, offset) in steps {
            function.push(start, offset.into());
        }
        function
    }

    fn steps() -> impl Strategy<Value = StepFunction> {
        prop::collection::btree_map(-100i64..100, -60i64..60, 0..12)
            .prop_map(|steps| function(&steps.into_iter().collect::<Vec<_>>()))
    }

    proptest! {
        #[test]
        fn a_composition_is_one_function_after_the_other(
            a in steps(), b in steps(), c in steps(), value in -300i64..300,
        ) {
            let flat = a.then(&b, 1000).unwrap().then(&c, 1000).unwrap();
            let shared = Mapping::flat(c).after(b).after(a);
            let mut expected = value;
            for stage in &shared.stages {
                expected += stage.at(expected).offset.unwrap();
            }
            prop_assert_eq!(flat.at(value).offset, Some(expected - value));
            prop_assert_eq!(shared.convert(value), Some(expected));
            prop_assert_eq!(shared.at(value), flat.at(value));
            prop_assert!(shared.steps().eq(flat.steps()));
            prop_assert!(flat.offsets.windows(2).all(|w| w[0] != w[1]));
            prop_assert!(flat.starts.windows(2).all(|w| w[0] < w[1]));
        }
    }

    #[test]
    fn v6_only_the_sum_of_all_offsets_has_to_fit_64_bits() {
        let far = function(&[(0, i64::MAX)]);
        assert_eq!(far.then(&far, 10), None);
        let there = Mapping::flat(far.clone()).after(far.clone());
        assert_eq!(there.at(5).offset, None);
        assert_eq!(there.convert(5), None);
        assert_eq!(there.convert(-5), Some(-5));
        let back = function(&[(0, -i64::MAX)]);
        assert_eq!(
            Mapping::flat(back).after(far.clone()).after(far).convert(5),
            None
        );
    }

    #[test]
    fn a_composition_beyond_the_limit_is_given_up() {
        let a = function(&[(0, 10), (10, 20), (20, 30)]);
        assert!(a.then(&a, 3).is_none());
    }
}
