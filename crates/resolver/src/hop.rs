//! Where "which snapshot is nearest" is decided: one hop from a clock to
//! another (rule V2).

use crate::snapshot::Source;

/// The two readings of a snapshot that holds both clocks of a hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pair {
    pub from: i64,
    pub to: i64,
    pub snapshot: u32,
}

impl Pair {
    /// What has to be added on this hop. It may need 65 bits.
    pub fn offset(self) -> i128 {
        i128::from(self.to) - i128::from(self.from)
    }
}

/// The stretch of source values for which one pair is the nearest. A bound of
/// `None` is no bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub start: Option<i64>,
    pub end: Option<i64>,
    pub pair: Pair,
}

/// How many pairs a chunk holds. A late snapshot moves at most one chunk
/// (12 KiB), so late snapshots never make an import quadratic, and a chunk
/// that is filled in order wastes nothing.
const CHUNK: usize = 512;

/// All pairs of a hop that come from its best source, sorted by source value;
/// among equal values, in file order.
#[derive(Debug)]
pub(crate) struct HopTable {
    source: Source,
    chunks: Vec<Vec<Pair>>,
}

impl HopTable {
    pub fn new() -> HopTable {
        HopTable {
            source: Source::Bundle,
            chunks: Vec::new(),
        }
    }

    /// Adds a pair that comes after all earlier ones in the file.
    pub fn insert(&mut self, source: Source, pair: Pair) {
        if source > self.source {
            return;
        }
        if source < self.source {
            self.source = source;
            self.chunks.clear();
        }
        let index = self
            .chunks
            .partition_point(|c| first_of(c) <= Some(pair.from));
        let Some(chunk) = self.chunks.get_mut(index.saturating_sub(1)) else {
            self.chunks.push(vec![pair]);
            return;
        };
        let at = chunk.partition_point(|p| p.from <= pair.from);
        let in_order = at == chunk.len() && index == self.chunks.len();
        if in_order && chunk_is_full(&self.chunks) {
            self.chunks.push(vec![pair]);
            return;
        }
        let Some(chunk) = self.chunks.get_mut(index.saturating_sub(1)) else {
            return;
        };
        chunk.insert(at, pair);
        if chunk.len() > CHUNK {
            let upper = chunk.split_off(CHUNK / 2);
            self.chunks.insert(index.max(1), upper);
        }
    }

    /// The pair nearest to `value`, and for which values it is that.
    pub fn nearest(&self, value: i64) -> Option<Stretch> {
        let after = self.chunks.partition_point(|c| first_of(c) <= Some(value));
        let Some(index) = after.checked_sub(1) else {
            let pair = *self.chunks.first()?.first()?;
            return Some(Stretch {
                start: None,
                end: Some(pair.from),
                pair,
            });
        };
        let chunk = self.chunks.get(index)?;
        let at = chunk.partition_point(|p| p.from <= value);
        let pair = *chunk.get(at.checked_sub(1)?)?;
        let next = chunk.get(at).or_else(|| self.chunks.get(after)?.first());
        Some(Stretch {
            start: Some(pair.from),
            end: next.map(|p| p.from),
            pair,
        })
    }

    /// All pairs, in order.
    pub fn pairs(&self) -> impl Iterator<Item = Pair> {
        self.chunks.iter().flatten().copied()
    }
}

fn first_of(chunk: &[Pair]) -> Option<i64> {
    chunk.first().map(|pair| pair.from)
}

fn chunk_is_full(chunks: &[Vec<Pair>]) -> bool {
    chunks.last().is_some_and(|chunk| chunk.len() >= CHUNK)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pair(from: i64, to: i64, snapshot: u32) -> Pair {
        Pair { from, to, snapshot }
    }

    fn table(pairs: &[(i64, i64)]) -> HopTable {
        let mut table = HopTable::new();
        for (i, &(from, to)) in pairs.iter().enumerate() {
            table.insert(Source::Writer, pair(from, to, i as u32));
        }
        table
    }

    #[test]
    fn v2_equal_values_take_the_last_and_before_all_the_first() {
        let table = table(&[(10, 1), (10, 2), (20, 3), (20, 4)]);
        assert_eq!(table.nearest(5).unwrap().pair.to, 1);
        assert_eq!(table.nearest(10).unwrap().pair.to, 2);
        assert_eq!(table.nearest(19).unwrap().pair.to, 2);
        assert_eq!(table.nearest(20).unwrap().pair.to, 4);
    }

    #[test]
    fn v2_a_better_source_replaces_and_a_worse_one_is_not_used() {
        let mut table = table(&[(10, 1)]);
        table.insert(Source::Service, pair(30, 3, 1));
        table.insert(Source::Bundle, pair(40, 4, 2));
        table.insert(Source::Writer, pair(50, 5, 3));
        assert_eq!(table.nearest(60).unwrap().pair.to, 3);
        assert_eq!(table.nearest(5).unwrap().pair.to, 3);
    }

    proptest! {
        #[test]
        fn v2_any_order_of_insertion_gives_a_sorted_table(
            values in prop::collection::vec(-300i64..300, 1..2500), at in -400i64..400,
        ) {
            let pairs: Vec<_> = values.iter().zip(0..).map(|(&v, to)| (v, to)).collect();
            let table = table(&pairs);
            prop_assert!(table.chunks.iter().all(|c| !c.is_empty() && c.len() <= CHUNK));
            let mut sorted = pairs.clone();
            sorted.sort(); // `to` is the file order
            prop_assert_eq!(table.pairs().map(|p| (p.from, p.to)).collect::<Vec<_>>(), sorted.clone());
            let nearest = sorted.iter().rfind(|p| p.0 <= at).unwrap_or(&sorted[0]);
            let stretch = table.nearest(at).unwrap();
            prop_assert_eq!((stretch.pair.from, stretch.pair.to), *nearest);
            prop_assert!(stretch.start.is_none_or(|s| s <= at) && stretch.end.is_none_or(|e| at < e));
        }
    }
}
