//! The facts about events of profilers that depend on their position in the file (rules OP): their
//! writers, the defaults of their sequences, and times that need all snapshots.

use rustc_hash::FxHashMap;
use timebase_schema::fields::trace_packet_defaults as defaults;
use timebase_trace::Interval;

use super::descriptors::Writer;
use crate::compact::{Put, records};
use crate::message::Message;
use crate::place::{PartIx, TraceTime};

/// A sequence with packets of profilers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ProfileWriter {
    pub part: PartIx,
    pub machine: u32,
    /// The file of its part.
    pub file: u32,
    /// 0 for packets without a sequence.
    pub sequence: u32,
}

/// A sample of a streaming profile.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StreamedSample {
    pub thread: Writer,
    /// The number of its callstack.
    pub stack: u64,
    pub priority: i32,
}

/// A sample in a profile of V8.
#[derive(Debug, Clone, Copy)]
pub(crate) struct V8Sample {
    /// The number of its session.
    pub session: u32,
    pub node: u32,
    pub thread: Option<Writer>,
}

records! {
    Writer { pid, trusted_pid, tid }
    StreamedSample { thread, stack, priority }
    V8Sample { session, node, thread }
}

/// All these facts.
#[derive(Debug, Default)]
pub(crate) struct Profiles {
    writers: Vec<ProfileWriter>,
    numbers: FxHashMap<ProfileWriter, u32>,
    last: Option<(ProfileWriter, u32)>,
    /// Messages with the fields that are read; equal messages are stored once.
    defaults: Vec<Box<[u8]>>,
    by_defaults: FxHashMap<Box<[u8]>, u32>,
    /// The number of events of an interval that are still to come.
    expected: FxHashMap<Interval, u64>,
    /// Readings of MONOTONIC_COARSE in heap profiles (rule HP2).
    times: FxHashMap<(PartIx, u64), Option<TraceTime>>,
}

impl Profiles {
    /// The number of a writer.
    #[inline]
    pub fn writer(&mut self, writer: ProfileWriter) -> u32 {
        match self.last {
            Some((last, number)) if last == writer => number,
            _ => {
                let writers = &mut self.writers;
                let number = *self.numbers.entry(writer).or_insert_with(|| {
                    writers.push(writer);
                    (writers.len() - 1) as u32
                });
                self.last = Some((writer, number));
                number
            }
        }
    }

    /// The writer with a number.
    pub fn of(&self, number: u32) -> Option<ProfileWriter> {
        self.writers.get(number as usize).copied()
    }

    /// The number of a serialized `TracePacketDefaults`, of which only the defaults for profilers
    /// count; 0 means none.
    pub fn defaults(&mut self, defaults: &[u8]) -> u32 {
        let mut read = Vec::new();
        for field in [defaults::PERF_SAMPLE_DEFAULTS, defaults::STACK_SAMPLE_DEFAULTS] {
            if let Some(of) = Message(defaults).bytes(field) {
                let mut put = Put(&mut read);
                put.natural(u64::from(field) << 3 | 2).bytes(of);
            }
        }
        if read.is_empty() {
            return 0;
        }
        let known = &mut self.defaults;
        let place = self.by_defaults.entry(read.into());
        let all = place.key().clone();
        *place.or_insert_with(|| {
            known.push(all);
            known.len() as u32
        })
    }

    fn known(&self, number: u32) -> Message<'_> {
        let place = (number as usize).checked_sub(1);
        let known = place.and_then(|place| self.defaults.get(place));
        Message(known.map(AsRef::as_ref).unwrap_or_default())
    }

    /// The `PerfSampleDefaults` with a number.
    pub fn perf_defaults(&self, number: u32) -> Option<Message<'_>> {
        self.known(number).bytes(defaults::PERF_SAMPLE_DEFAULTS).map(Message)
    }

    /// The `StackSampleDefaults` with a number.
    pub fn stack_sample_defaults(&self, number: u32) -> Option<Message<'_>> {
        self.known(number).bytes(defaults::STACK_SAMPLE_DEFAULTS).map(Message)
    }

    /// Notes that an event of an interval will come.
    #[inline]
    pub fn expect(&mut self, interval: Interval) {
        *self.expected.entry(interval).or_default() += 1;
    }

    /// Notes that an event of an interval has come; returns whether it was the last.
    #[inline]
    pub fn has_come(&mut self, interval: Interval) -> bool {
        let Some(expected) = self.expected.get_mut(&interval) else {
            return false;
        };
        *expected = expected.saturating_sub(1);
        let is_last = *expected == 0;
        if is_last {
            self.expected.remove(&interval);
        }
        is_last
    }

    /// Notes a reading of a part's MONOTONIC_COARSE, to be converted when all snapshots are known.
    pub fn wants_time(&mut self, part: PartIx, reading: u64) {
        self.times.entry((part, reading)).or_insert(None);
    }

    /// The readings to be converted.
    pub fn wanted_times(&mut self) -> impl Iterator<Item = (PartIx, u64, &mut Option<TraceTime>)> {
        let times = self.times.iter_mut();
        times.map(|(&(part, reading), time)| (part, reading, time))
    }

    /// The trace time of a reading; `None` if it cannot be converted.
    pub fn time(&self, part: PartIx, reading: u64) -> Option<TraceTime> {
        self.times.get(&(part, reading)).copied().flatten()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn s1_defaults_of_profilers_are_told_apart_by_what_is_read() {
        let mut profiles = Profiles::default();
        assert_eq!(profiles.defaults(&[]), 0);
        // Only a clock: nothing for profilers.
        assert_eq!(profiles.defaults(&[0xd0, 0x03, 6]), 0);
        let perf = profiles.defaults(&[0xd0, 0x03, 6, 0x62, 0]);
        assert_eq!((perf, profiles.defaults(&[0x62, 0])), (1, 1));
        let both = profiles.defaults(&[0x62, 0, 0xa2, 0x06, 2, 0x0a, 0]);
        assert_eq!(both, 2);
        assert!(profiles.perf_defaults(0).is_none() && profiles.perf_defaults(1).is_some());
        assert!(profiles.stack_sample_defaults(1).is_none());
        assert_eq!(profiles.stack_sample_defaults(2).unwrap().0, &[0x0a, 0][..]);
    }

    #[test]
    fn s2_the_last_event_of_an_interval_is_told() {
        let mut profiles = Profiles::default();
        let interval = Interval::default();
        profiles.expect(interval);
        profiles.expect(interval);
        assert!(!profiles.has_come(interval));
        assert!(profiles.has_come(interval));
        assert!(!profiles.has_come(interval));
    }
}
