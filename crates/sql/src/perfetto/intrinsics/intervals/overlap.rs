//! Overlaps of spans: those found so far, with the spans of one more table.
//!
//! # Design
//!
//! The spans of a table are in the order of their starts. The candidates for a time are then a
//! range of them: they start before its end, and the first one is the first to end after its
//! start, by the latest end so far. If no span of the table overlaps another one, as usual, all in
//! the range fit. Otherwise one long span makes the range long, and a tree of latest ends skips
//! spans that ended earlier. The alternative, a centered interval tree, finds the same; but it is
//! built for each table and partition, although most tables have no overlaps.

use crate::Result;

use crate::perfetto::intrinsics::limits::{Budget, Watch};

/// A half-open span of time, in nanoseconds; an instant if its end is its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    pub start: i64,
    pub end: i64,
    pub id: u32,
}

impl Span {
    fn is_instant(&self) -> bool {
        self.start == self.end
    }
}

/// Whether a time overlaps a span. An instant overlaps spans that contain it, and equal instants.
pub fn overlaps(start: i64, end: i64, span: &Span) -> bool {
    match (start == end, span.is_instant()) {
        (true, true) => start == span.start,
        (true, false) => span.start <= start && start < span.end,
        (false, true) => start <= span.start && span.start < end,
        (false, false) => span.start < end && start < span.end,
    }
}

/// Times in which a span of each table so far overlaps, with the ids of those spans.
#[derive(Debug, Default)]
pub struct Overlaps {
    times: Vec<(i64, i64)>,
    /// `width` ids for each time.
    ids: Vec<u32>,
    width: usize,
}

impl Overlaps {
    /// The spans of the first table.
    pub fn of(spans: &[Span]) -> Overlaps {
        Overlaps {
            times: spans.iter().map(|span| (span.start, span.end)).collect(),
            ids: spans.iter().map(|span| span.id).collect(),
            width: 1,
        }
    }

    pub fn len(&self) -> usize {
        self.times.len()
    }

    /// The start and end of each time, with its ids in the order of the tables.
    pub fn iter(&self) -> impl Iterator<Item = (i64, i64, &[u32])> {
        let ids = self.ids.chunks_exact(self.width.max(1));
        self.times.iter().zip(ids).map(|(&(start, end), ids)| (start, end, ids))
    }

    /// Their overlaps with the spans of one more table.
    pub fn with(
        &self,
        spans: &[Span],
        watch: &mut Watch<'_>,
        budget: &mut Budget,
    ) -> Result<Overlaps> {
        let ends = LatestEnds::of(spans);
        let width = self.width + 1;
        let mut found = Overlaps { width, ..Overlaps::default() };
        for (start, end, ids) in self.iter() {
            watch.step()?;
            ends.each(start, end, |span| {
                watch.step()?;
                budget.take(size_of::<(i64, i64)>() + width * size_of::<u32>())?;
                // An instant stays where it is.
                let instant = if start == end { start } else { span.start };
                let time = match start == end || span.is_instant() {
                    true => (instant, instant),
                    false => (start.max(span.start), end.min(span.end)),
                };
                found.times.push(time);
                found.ids.extend_from_slice(ids);
                found.ids.push(span.id);
                Ok(())
            })?;
        }
        Ok(found)
    }
}

/// The spans of a table in the order of their starts, with the latest end of each first part of
/// them, and of each node of a binary tree over them.
struct LatestEnds<'s> {
    spans: &'s [Span],
    so_far: Vec<i64>,
    /// As in a heap: the children of the node `n` are `2n` and `2n + 1`, the leaves are its second
    /// half. Empty if no spans overlap.
    tree: Vec<i64>,
}

impl<'s> LatestEnds<'s> {
    fn of(spans: &'s [Span]) -> LatestEnds<'s> {
        let mut latest = i64::MIN;
        let mut has_overlaps = false;
        let so_far = spans.iter().map(|span| {
            has_overlaps |= span.start < latest;
            latest = latest.max(span.end);
            latest
        });
        let so_far: Vec<i64> = so_far.collect();
        let mut tree = Vec::new();
        if has_overlaps {
            let leaves = spans.len().next_power_of_two();
            tree = vec![i64::MIN; leaves * 2];
            for (node, span) in tree.iter_mut().skip(leaves).zip(spans) {
                *node = span.end;
            }
            for node in (1..leaves).rev() {
                tree[node] = tree[node * 2].max(tree[node * 2 + 1]);
            }
        }
        LatestEnds { spans, so_far, tree }
    }

    /// Calls `each` with the spans that overlap a time, in their order.
    fn each(&self, start: i64, end: i64, mut each: impl FnMut(&Span) -> Result<()>) -> Result<()> {
        // An instant at the start of a span is in it; another time ends before the span.
        let before_end = |span: &Span| span.start < end || span.start == start;
        let first = self.so_far.partition_point(|&latest| latest < start);
        let end_of_range = self.spans.partition_point(before_end);
        if self.tree.is_empty() || end_of_range.saturating_sub(first) <= 16 {
            let range = self.spans.get(first..end_of_range).unwrap_or_default();
            return range.iter().filter(|span| overlaps(start, end, span)).try_for_each(each);
        }
        let leaves = self.tree.len() / 2;
        // Nodes with their first span and the number of their leaves, the next one last.
        let mut nodes = vec![(1, 0, leaves)];
        while let Some((node, from, count)) = nodes.pop() {
            let is_outside = from >= end_of_range || from + count <= first;
            if is_outside || self.tree.get(node).is_none_or(|&latest| latest < start) {
                continue;
            }
            if count > 1 {
                let half = count / 2;
                nodes.push((node * 2 + 1, from + half, half));
                nodes.push((node * 2, from, half));
            } else if let Some(span) = self.spans.get(from).filter(|s| overlaps(start, end, s)) {
                each(span)?;
            }
        }
        Ok(())
    }
}
