//! A mapping in an array. One short search finds a reading, in any order: over one hop of 1,000
//! snapshots a conversion takes 44 ns, and 170 ns hop by hop; over four hops of 100,000 each it
//! takes 77 ns, and 1,700 ns.
//!
//! # Design
//!
//! The range of values is cut into equal buckets, so many that each has four to eight steps on
//! average. A step is its start relative to its bucket and its offset relative to the least one,
//! each in as few whole bytes as possible: 8 to 10 bytes instead of 16 for (start, offset). 400,000
//! steps are 4 MB, and a lookup touches one entry of the buckets (0.3 MB, in the second-level
//! cache) and one or two lines of steps. If values are skewed, many steps share a bucket, and
//! bisection finds the step.
//!
//! The alternative was a sorted array of starts and another one of offsets: 19 probes, half of them
//! out of cache, 155 ns instead of 57 for 400,000 steps. Half or twice as many buckets take 2 to 4
//! ns more.

use std::hint::select_unpredictable;
use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::mapping::{Mapping, Step};
use crate::recent::Key;
use crate::rows::{number, width_of};

/// The largest total size of the mappings of all clocks, in bytes: enough for one of four hops of
/// 100,000 snapshots each.
const KEPT: usize = 5 << 20;

/// The offset around a value. Bounds are inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Around {
    pub start: i64,
    pub end: i64,
    pub offset: i64,
}

/// The mappings of the clocks whose readings come in no order, until the next snapshot.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    generation: u32,
    bytes: usize,
    /// `None` is a mapping that is too large, or by lines, whose steps nobody counts.
    mappings: FxHashMap<Key, Option<Composed>>,
}

impl Kept {
    /// The step around a value; `None` if there is no mapping.
    pub fn find(&self, generation: u32, clocks: Key, value: i64) -> Option<Around> {
        if self.generation != generation {
            return None;
        }
        let composed = self.mappings.get(&clocks)?.as_ref()?;
        Some(composed.around(value))
    }

    /// Whether a mapping exists, or is known to be too large.
    pub fn has_tried(&self, generation: u32, clocks: Key) -> bool {
        self.generation == generation && self.mappings.contains_key(&clocks)
    }

    pub fn keep(&mut self, generation: u32, clocks: Key, mapping: &Mapping<'_>) {
        if self.generation != generation {
            *self = Kept { generation, ..Kept::default() };
        }
        let composed = match mapping.is_by_lines() {
            true => None,
            false => Composed::new(|| mapping.steps(), KEPT - self.bytes),
        };
        self.bytes += composed.as_ref().map_or(0, Composed::size);
        self.mappings.insert(clocks, composed);
    }
}

#[derive(Debug)]
struct Composed {
    /// The offset before the first step that has a start.
    before: i64,
    /// The first start, which is also the start of the first bucket.
    base: i64,
    /// The size of a bucket, as a power of two.
    shift: u32,
    /// The number of steps before each bucket; one entry more than buckets.
    buckets: Box<[u32]>,
    least_offset: i64,
    start_width: u8,
    offset_width: u8,
    /// Each step's start, then its offset; and 8 more bytes, because reading a number may read 8
    /// bytes.
    bytes: Box<[u8]>,
}

/// The facts about all steps that determine their layout.
struct Extent {
    before: i64,
    count: usize,
    first: i64,
    last: i64,
    least_offset: i64,
    greatest_offset: i64,
}

impl Extent {
    /// `None` if an offset does not fit 64 bits, or there are more than `limit`
    /// steps.
    fn of(mut steps: impl Iterator<Item = Step>, limit: usize) -> Option<Extent> {
        let before = steps.next()?.offset?;
        let mut extent = Extent {
            before,
            count: 0,
            first: 0,
            last: 0,
            least_offset: i64::MAX,
            greatest_offset: i64::MIN,
        };
        for step in steps {
            let (start, offset) = (step.start?, step.offset?);
            if extent.count == limit {
                return None;
            }
            if extent.count == 0 {
                extent.first = start;
            }
            extent.count += 1;
            extent.last = start;
            extent.least_offset = extent.least_offset.min(offset);
            extent.greatest_offset = extent.greatest_offset.max(offset);
        }
        Some(extent)
    }
}

/// The difference from a value to another one that is not smaller.
fn above(value: i64, base: i64) -> u64 {
    value.wrapping_sub(base) as u64
}

impl Composed {
    /// The mapping with these steps, if it fits into `room` bytes.
    ///
    /// It goes through the steps twice, so they are never in memory in full size (16 bytes each,
    /// and up to twice that while a vector grows).
    fn new<I>(steps: impl Fn() -> I, room: usize) -> Option<Composed>
    where
        I: Iterator<Item = Step>,
    {
        // A step and its share of a bucket seldom have less than 4 bytes.
        let extent = Extent::of(steps(), room / 4)?;
        let range = above(extent.last, extent.first);
        let mut shift = 0;
        while range >> shift > (extent.count as u64 / 4).max(1) {
            shift += 1;
        }
        let buckets = (range >> shift) as usize + 1;
        let mut composed = Composed {
            before: extent.before,
            base: extent.first,
            shift,
            buckets: Box::default(),
            least_offset: extent.least_offset,
            start_width: width_of((1u64 << shift) - 1),
            offset_width: width_of(above(extent.greatest_offset, extent.least_offset)),
            bytes: Box::default(),
        };
        let bytes = extent.count * composed.stride() + 8;
        if bytes + 4 * (buckets + 1) > room {
            return None;
        }
        let mut records = Vec::with_capacity(bytes);
        let mut starts: Vec<u32> = Vec::with_capacity(buckets + 1);
        for (index, step) in steps().skip(1).enumerate() {
            let from_base = above(step.start?, composed.base);
            let bucket = (from_base >> shift) as usize;
            starts.resize(starts.len().max(bucket + 1), index as u32);
            let start = from_base - ((bucket as u64) << shift);
            let offset = above(step.offset?, composed.least_offset);
            records.extend_from_slice(&start.to_le_bytes()[..composed.start_width.into()]);
            records.extend_from_slice(&offset.to_le_bytes()[..composed.offset_width.into()]);
        }
        starts.resize(buckets + 1, extent.count as u32);
        records.resize(bytes, 0);
        composed.buckets = starts.into();
        composed.bytes = records.into();
        Some(composed)
    }

    fn size(&self) -> usize {
        self.bytes.len() + 4 * self.buckets.len()
    }

    fn stride(&self) -> usize {
        usize::from(self.start_width) + usize::from(self.offset_width)
    }

    fn start(&self, step: usize) -> u64 {
        number(&self.bytes, step * self.stride(), self.start_width)
    }

    fn offset(&self, step: usize) -> i64 {
        let at = step * self.stride() + usize::from(self.start_width);
        let above = number(&self.bytes, at, self.offset_width);
        self.least_offset.wrapping_add(above as i64)
    }

    /// The offset of a value, and the range in which it holds, within the value's bucket.
    fn around(&self, value: i64) -> Around {
        if value < self.base || self.count() == 0 {
            return Around {
                start: i64::MIN,
                end: match self.count() {
                    0 => i64::MAX,
                    _ => self.base - 1,
                },
                offset: self.before,
            };
        }
        let from_base = above(value, self.base);
        let buckets = self.buckets.len() - 1;
        let bucket = usize::try_from(from_base >> self.shift).unwrap_or(buckets);
        if bucket >= buckets {
            let end = (buckets as u64) << self.shift;
            return Around {
                start: self.base.wrapping_add(end as i64),
                end: i64::MAX,
                offset: self.offset(self.count() - 1),
            };
        }
        let (first, end) = (self.buckets[bucket] as usize, self.buckets[bucket + 1] as usize);
        let bucket_base = self.base.wrapping_add(((bucket as u64) << self.shift) as i64);
        let relative = above(value, bucket_base);
        let beyond = first + self.count_until(first..end, relative);
        // The first bucket starts with a step, so there is one before.
        let start = match beyond > first {
            true => self.start(beyond - 1),
            false => 0,
        };
        let end = match beyond < end {
            true => self.start(beyond) - 1,
            false => (1u64 << self.shift) - 1,
        };
        Around {
            start: bucket_base.wrapping_add(start as i64),
            // The last bucket may reach beyond the largest possible value.
            end: bucket_base.checked_add_unsigned(end).unwrap_or(i64::MAX),
            offset: self.offset(beyond - 1),
        }
    }

    /// The number of steps in a range that start at or before `relative`.
    ///
    /// The comparisons are as good as random, so the bisection selects instead of branching: 57 ns
    /// for a random conversion instead of 70.
    fn count_until(&self, steps: Range<usize>, relative: u64) -> usize {
        let (mut count, mut left) = (0, steps.len());
        while left > 0 {
            let half = left.div_ceil(2);
            let holds = self.start(steps.start + count + half - 1) <= relative;
            count = select_unpredictable(holds, count + half, count);
            left -= half;
        }
        count
    }

    fn count(&self) -> usize {
        self.buckets.last().map_or(0, |&count| count as usize)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Steps of a mapping, from some starts and offsets on.
    fn steps(before: i64, given: &[(i64, i64)]) -> Vec<Step> {
        let mut steps = vec![Step { start: None, end: None, offset: Some(before) }];
        for &(start, offset) in given {
            let last = steps.last_mut().unwrap();
            if last.offset == Some(offset) {
                continue;
            }
            last.end = Some(start);
            steps.push(Step { start: Some(start), end: None, offset: Some(offset) });
        }
        steps
    }

    /// Evenly spread, close to a few places, and at the ends of 64 bits.
    fn starts() -> impl Strategy<Value = Vec<i64>> {
        let start = prop_oneof![
            4 => (0i64..1000).prop_map(|start| start * 1_000_003),
            2 => 0i64..500,
            1 => Just(i64::MIN + 1),
            1 => Just(i64::MAX),
            1 => any::<i64>(),
        ];
        prop::collection::btree_set(start, 0..200).prop_map(|starts| starts.into_iter().collect())
    }

    proptest! {
        #[test]
        fn v2_a_composed_mapping_is_the_steps_it_was_made_of(
            starts in starts(),
            offsets in prop::collection::vec(prop_oneof![-500i64..500, any::<i64>()], 201),
            ats in prop::collection::vec(prop_oneof![-9i64..2_000_000_000, any::<i64>()], 20),
        ) {
            let given: Vec<_> = starts.iter().copied().zip(offsets[1..].iter().copied()).collect();
            let steps = steps(offsets[0], &given);
            let composed = Composed::new(|| steps.iter().copied(), KEPT).unwrap();
            prop_assert!(composed.size() <= 26 * steps.len() + 24);
            let edges = starts.iter().flat_map(|&start| [start - 1, start, start.saturating_add(1)]);
            for at in ats.into_iter().chain(edges).chain([i64::MIN, i64::MAX]) {
                let step = steps.iter().rfind(|step| step.start.is_none_or(|s| s <= at)).unwrap();
                let around = composed.around(at);
                prop_assert_eq!(Some(around.offset), step.offset);
                prop_assert!(around.start <= at && at <= around.end);
                prop_assert!(step.start.is_none_or(|start| start <= around.start));
                prop_assert!(step.end.is_none_or(|end| around.end < end));
            }
        }
    }

    #[test]
    fn a_mapping_that_does_not_fit_or_overflows_is_not_kept() {
        let given: Vec<_> = (0..1000).map(|i| (i * 1_000_000, i)).collect();
        let mut steps = steps(7, &given);
        assert!(Composed::new(|| steps.iter().copied(), 4000).is_none());
        let composed = Composed::new(|| steps.iter().copied(), 10_000).unwrap();
        assert!(composed.size() <= 10_000);
        steps[500].offset = None;
        assert!(Composed::new(|| steps.iter().copied(), 10_000).is_none());
    }
}
