//! The order of events of one time (rules O3, RT12).
//!
//! # Design
//!
//! Trace processor merges streams: packets are one, and the kernel events of each CPU another. The stream with the
//! earliest next event gives its events up to the earliest next time of the others. So at one time the stream that
//! gave the event before goes on, and the others follow by their numbers. Rows are numbered in this order, and
//! modules of Perfetto's library show these numbers, so timebase has the same order.
//!
//! Events are sorted by time, stream and place in the file. Only the stream that goes on first depends on the events
//! before, so only the events of the streams below it wait here, until its events have come. The alternative was to
//! merge sorted streams. But a trace has up to thousands of them, and the sort is there already.

/// The number of bits of a key that are a place in the file; those above are the stream.
const PLACE_BITS: u32 = 48;

/// The last stream, which all CPUs with higher numbers share.
const LAST: u64 = 0xffff;

/// The most bytes that wait; after that, events of one time are in the order of their streams.
const MOST: usize = 16 << 20;

/// The second part of a key: the place in the file, below the stream.
#[inline]
pub(super) fn key(stream: u64, place: u64) -> u64 {
    stream.min(LAST) << PLACE_BITS | place & ((1 << PLACE_BITS) - 1)
}

/// Gives events of one time in the order of streams.
#[derive(Debug, Default)]
pub(super) struct Streams {
    /// The time of the last event, and the stream that goes on at that time.
    ts: i64,
    first: u64,
    /// The stream that gave the last event.
    last: u64,
    /// The records that wait, one after the other, with the end and the stream of each.
    waiting: Vec<u8>,
    ends: Vec<(usize, u64)>,
}

impl Streams {
    /// Takes the next event in the order of keys, and gives those whose turn it is.
    #[inline]
    pub fn next<E>(
        &mut self,
        (ts, key): (i64, u64),
        record: &[u8],
        mut each: impl FnMut(i64, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let stream = key >> PLACE_BITS;
        if ts != self.ts {
            self.flush(&mut each)?;
            (self.ts, self.first) = (ts, self.last);
        }
        if stream < self.first {
            return self.wait(stream, record, each);
        }
        if stream > self.first && !self.ends.is_empty() {
            self.flush(&mut each)?;
        }
        self.last = stream;
        each(ts, record)
    }

    /// Lets an event wait for those of the stream that goes on.
    #[cold]
    fn wait<E>(
        &mut self,
        stream: u64,
        record: &[u8],
        mut each: impl FnMut(i64, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.waiting.extend_from_slice(record);
        self.ends.push((self.waiting.len(), stream));
        if self.waiting.len() > MOST {
            self.flush(&mut each)?;
            self.first = 0;
        }
        Ok(())
    }

    /// Gives the events that wait.
    pub fn flush<E>(
        &mut self,
        each: &mut impl FnMut(i64, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut start = 0;
        for &(end, stream) in &self.ends {
            each(self.ts, self.waiting.get(start..end).unwrap_or_default())?;
            start = end;
            self.last = stream;
        }
        self.waiting.clear();
        self.ends.clear();
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    /// The rule as it stands: streams with their times give their events.
    fn merged(times: &[(u64, i64)]) -> Vec<(u64, i64)> {
        let mut streams: Vec<(u64, VecDeque<i64>)> = (0..4)
            .map(|stream| {
                let own = times.iter().filter(|(of, _)| *of == stream).map(|(_, ts)| *ts);
                let mut own: Vec<i64> = own.collect();
                own.sort_unstable();
                (stream, own.into())
            })
            .collect();
        let mut given = Vec::new();
        loop {
            streams.retain(|(_, events)| !events.is_empty());
            let next = streams.iter().map(|(stream, events)| (events[0], *stream)).min();
            let Some((_, first)) = next else { return given };
            let others = streams.iter().filter(|(stream, _)| *stream != first);
            let until = others.map(|(_, events)| events[0]).min().unwrap_or(i64::MAX);
            let (_, events) = streams.iter_mut().find(|(stream, _)| *stream == first).unwrap();
            while events.front().is_some_and(|ts| *ts <= until) {
                given.push((first, events.pop_front().unwrap()));
            }
        }
    }

    proptest! {
        #[test]
        fn rt12_streams_are_merged(times in prop::collection::vec((0u64..4, 0i64..8), 0..60)) {
            let mut sorted: Vec<(i64, u64)> =
                (0..).zip(&times).map(|(place, &(stream, ts))| (ts, key(stream, place))).collect();
            sorted.sort_unstable();
            let mut found = Vec::new();
            let mut give = |ts, record: &[u8]| {
                found.push((u64::from(record[0]), ts));
                Ok::<(), ()>(())
            };
            let mut streams = Streams::default();
            for (ts, key) in sorted {
                streams.next((ts, key), &[(key >> PLACE_BITS) as u8], &mut give).unwrap();
            }
            streams.flush(&mut give).unwrap();
            prop_assert_eq!(found, merged(&times));
        }
    }

    #[test]
    fn rt12_cpus_with_high_numbers_share_a_stream() {
        assert_eq!(key(u64::MAX, 7), key(0x1_0000, 7));
        assert!(key(1, 7) > key(0, 1 << 40));
    }
}
