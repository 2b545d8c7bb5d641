//! The numbers of slices that begin at one time (rule RT12).
//!
//! # Design
//!
//! Trace processor merges streams: packets are one, and the kernel events of each CPU another. The stream with the
//! earliest next event gives its events up to the earliest next time of the others. So at one time the stream that
//! gave the event before goes on, and the others follow by their numbers. Modules of Perfetto's library show the numbers
//! of slices, so slices have the numbers that they have in this order, although events of one time happen in
//! the order of the file (rule O3).
//!
//! The order is known when all events of a time have come. By then slices may be rows, so their new numbers
//! go to the end of the import, which changes these rows. The alternative was to follow events in the order of streams. But then the
//! effects of events of one time would depend on the events before them, and not on the file.

use crate::output::Rows;
use crate::timeline::Event;

/// The stream of an event: 0 for packets, and one more than the CPU for kernel events.
#[inline]
pub(crate) fn stream(event: &Event<'_>) -> u32 {
    let cpu = match event {
        Event::Switch(event) => event.cpu,
        Event::Waking(event) => event.cpu,
        Event::Ftrace(event) => event.cpu,
        _ => return 0,
    };
    cpu.saturating_add(1)
}

/// The most slices of one time that get other numbers.
const MOST: usize = 1 << 16;

/// A slice that begins at the current time.
#[derive(Debug, Clone, Copy)]
struct Begun {
    id: i64,
    stream: u32,
    /// The slice that it is in.
    parent: Option<i64>,
}

/// Follows the streams, and the slices of the current time.
#[derive(Debug, Default)]
pub(super) struct SliceOrder {
    ts: i64,
    /// The stream that goes on at this time, and the stream of the current event.
    first: u32,
    current: u32,
    /// Whether the first stream has events at this time, and the least and the greatest of the others that have some.
    has_first: bool,
    others: Option<(u32, u32)>,
    begun: Vec<Begun>,
}

impl SliceOrder {
    /// An event comes.
    #[inline]
    pub fn event(&mut self, ts: i64, stream: u32, rows: &mut Rows<'_>) {
        self.comes(ts, stream, |old, new| rows.renumber(old, new));
    }

    #[inline]
    fn comes(&mut self, ts: i64, stream: u32, renumber: impl FnMut(i64, i64)) {
        if ts != self.ts {
            self.end_time(renumber);
            self.ts = ts;
        }
        self.current = stream;
        if stream == self.first {
            self.has_first = true;
        } else {
            let (least, most) = self.others.unwrap_or((stream, stream));
            self.others = Some((least.min(stream), most.max(stream)));
        }
    }

    /// The current event begins a slice.
    #[inline]
    pub fn begins(&mut self, id: i64, parent: Option<i64>) {
        if self.begun.len() < MOST {
            self.begun.push(Begun { id, stream: self.current, parent });
        }
    }

    /// There are no more events.
    pub fn end(&mut self, rows: &mut Rows<'_>) {
        self.end_time(|old, new| rows.renumber(old, new));
    }

    /// There are no more events of this time.
    #[inline]
    fn end_time(&mut self, renumber: impl FnMut(i64, i64)) {
        if let Some((least, most)) = self.others {
            if self.begun.len() > 1 && (self.has_first || least < most) {
                self.renumber(renumber);
            }
            self.first = most;
        }
        (self.has_first, self.others) = (false, None);
        self.begun.clear();
    }

    /// Gives the slices of this time their numbers in the order of streams, unless a slice would come before the one
    /// that it is in.
    #[cold]
    fn renumber(&mut self, mut renumber: impl FnMut(i64, i64)) {
        if self.begun.len() == MOST {
            return;
        }
        let first = self.first;
        let rank = |begun: &Begun| (begun.stream != first, begun.stream);
        let mut ordered = self.begun.clone();
        ordered.sort_by_key(rank);
        let new: Vec<(i64, i64)> =
            ordered.iter().zip(&self.begun).map(|(of, at)| (of.id, at.id)).collect();
        let is_before_parent = |(begun, (_, own)): (&Begun, &(i64, i64))| {
            let parent = new.iter().find(|(old, _)| Some(*old) == begun.parent);
            parent.is_some_and(|(_, parent)| parent > own)
        };
        if ordered.iter().zip(&new).any(is_before_parent) {
            return;
        }
        for &(old, new) in new.iter().filter(|(old, new)| old != new) {
            renumber(old, new);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, VecDeque};

    /// The rule as it stands: streams with their times give their events. Returns the slices of the events in this order.
    fn merged(events: &[(u32, i64)]) -> Vec<usize> {
        let mut streams: BTreeMap<u32, VecDeque<(i64, usize)>> = BTreeMap::new();
        for (number, &(stream, ts)) in events.iter().enumerate() {
            streams.entry(stream).or_default().push_back((ts, number));
        }
        for own in streams.values_mut() {
            own.make_contiguous().sort();
        }
        let mut given = Vec::new();
        loop {
            let next = streams.iter().filter_map(|(stream, own)| Some((own.front()?.0, *stream)));
            let Some((_, first)) = next.min() else { return given };
            let others = streams.iter().filter(|(stream, _)| **stream != first);
            let until = others.filter_map(|(_, own)| Some(own.front()?.0)).min();
            let own = streams.get_mut(&first).unwrap();
            while own.front().is_some_and(|(ts, _)| until.is_none_or(|until| *ts <= until)) {
                given.extend(own.pop_front().map(|(_, number)| number));
            }
        }
    }

    proptest! {
        #[test]
        fn rt12_slices_have_the_numbers_of_merged_streams(
            events in prop::collection::vec((0u32..4, 0i64..8), 0..60)
        ) {
            let mut in_order: Vec<(i64, usize)> =
                events.iter().enumerate().map(|(number, &(_, ts))| (ts, number)).collect();
            in_order.sort_unstable();
            let mut order = SliceOrder::default();
            let mut ids: BTreeMap<i64, i64> = (0..).zip(&events).map(|(id, _)| (id, id)).collect();
            for (id, &(ts, number)) in (0..).zip(&in_order) {
                let (stream, _) = events[number];
                order.comes(ts, stream, |old, new| { ids.insert(old, new); });
                order.begins(id, None);
            }
            order.end_time(|old, new| { ids.insert(old, new); });
            let mut found: Vec<(i64, usize)> =
                (0..).zip(&in_order).map(|(id, (_, number))| (ids[&id], *number)).collect();
            found.sort_unstable();
            let found: Vec<usize> = found.into_iter().map(|(_, number)| number).collect();
            prop_assert_eq!(found, merged(&events));
        }
    }

    #[test]
    fn rt12_a_slice_is_never_before_the_one_that_it_is_in() {
        let mut order = SliceOrder::default();
        (order.current, order.has_first, order.others) = (1, true, Some((1, 1)));
        order.begins(5, None);
        order.current = 0;
        order.begins(6, Some(5));
        let mut renumbered = Vec::new();
        order.end_time(|old, new| renumbered.push((old, new)));
        assert!(renumbered.is_empty());
    }
}
