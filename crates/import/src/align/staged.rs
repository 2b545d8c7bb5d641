//! Messages that are put aside, by their pairs of clocks.
//!
//! # Design
//!
//! The solver reads the messages of a pair several times, so they are a file, not a queue. The messages of most pairs are
//! few, and stay in memory.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};
use std::io::{self, BufReader, Read, Seek, Write};

use timebase_resolver::align::{Direction, Message, Messages};
use timebase_store::sort::{Scratch, ScratchFile};

use crate::evidence::Located;

/// The bytes of a message.
const SIZE: usize = 41;
/// The bytes of messages that stay in memory.
const BUFFER: usize = 64 << 10;

/// The messages of one pair of clocks.
pub(super) struct Staged {
    scratch: Scratch,
    buffer: Vec<u8>,
    file: RefCell<Option<ScratchFile>>,
    pub unpaired: i64,
    pub undirected: i64,
    /// The kinds of evidence that it has.
    pub kinds: [bool; 3],
}

/// The kinds of evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Flows,
    Collectives,
    Pairs,
}

impl Kind {
    pub const ALL: [Kind; 3] = [Kind::Flows, Kind::Collectives, Kind::Pairs];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Flows => "flows",
            Kind::Collectives => "collectives",
            Kind::Pairs => "pairs",
        }
    }
}

/// All messages.
pub(super) struct StagedPairs {
    scratch: Scratch,
    pub pairs: BTreeMap<(usize, usize), Staged>,
}

impl StagedPairs {
    pub fn new(scratch: &Scratch) -> Self {
        StagedPairs { scratch: scratch.clone(), pairs: BTreeMap::new() }
    }

    /// The pair of two clocks, in any order.
    pub fn of(&mut self, one: usize, other: usize) -> &mut Staged {
        let scratch = &self.scratch;
        self.pairs.entry((one.min(other), one.max(other))).or_insert_with(|| Staged {
            scratch: scratch.clone(),
            buffer: Vec::new(),
            file: RefCell::new(None),
            unpaired: 0,
            undirected: 0,
            kinds: [false; 3],
        })
    }

    /// Counts ids or collectives of two clocks that do not pair up.
    pub fn add_unpaired(&mut self, kind: Kind, (one, other): (usize, usize), count: i64) {
        let pair = self.of(one, other);
        pair.unpaired = pair.unpaired.saturating_add(count);
        if let Some(has) = pair.kinds.get_mut(kind as usize) {
            *has = true;
        }
    }

    /// Adds a message. One inside a clock says nothing.
    ///
    /// # Errors
    ///
    /// If a temporary file cannot be written.
    pub fn add(&mut self, kind: Kind, out: &Located, into: &Located) -> io::Result<()> {
        if out.clock == into.clock {
            return Ok(());
        }
        let direction = match out.clock < into.clock {
            true => Direction::AToB,
            false => Direction::BToA,
        };
        let pair = self.of(out.clock, into.clock);
        if let Some(has) = pair.kinds.get_mut(kind as usize) {
            *has = true;
        }
        let message = Message {
            direction,
            sent: out.at,
            arrived: into.at,
            ended: None,
            packet_out: out.packet,
            packet_in: into.packet,
        };
        pair.push(&message, kind == Kind::Flows)
    }
}

impl Staged {
    fn push(&mut self, message: &Message, is_of_flow: bool) -> io::Result<()> {
        let flags = u8::from(message.direction == Direction::BToA)
            | u8::from(message.ended.is_some()) << 1
            | u8::from(is_of_flow) << 2;
        self.buffer.push(flags);
        let numbers = [
            message.sent,
            message.arrived,
            message.ended.unwrap_or_default(),
            message.packet_out,
            message.packet_in,
        ];
        for number in numbers {
            self.buffer.extend_from_slice(&number.to_le_bytes());
        }
        if self.buffer.len() >= BUFFER {
            let file = self.file.get_mut();
            let file = match file {
                Some(file) => file,
                none => none.insert(self.scratch.file()?),
            };
            file.write_all(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }
}

impl Staged {
    /// The packets that receive the messages of flows.
    ///
    /// # Errors
    ///
    /// If a temporary file cannot be read.
    pub fn received(&self) -> io::Result<HashSet<i64>> {
        let mut received = HashSet::new();
        self.each_record(|message, is_of_flow| {
            if is_of_flow {
                received.insert(message.packet_in);
            }
        })?;
        Ok(received)
    }

    /// Sets when the slices ended that receive the messages of flows, by the durations of slices that packets begin.
    ///
    /// # Errors
    ///
    /// If a temporary file cannot be written or read.
    pub fn end(&mut self, durations: &BTreeMap<i64, i64>) -> io::Result<()> {
        let scratch = self.scratch.clone();
        let empty = Staged { scratch, buffer: Vec::new(), file: RefCell::new(None), ..*self };
        let before = std::mem::replace(self, empty);
        let mut pushed = Ok(());
        before.each_record(|mut message, is_of_flow| {
            let dur = durations.get(&message.packet_in).filter(|_| is_of_flow);
            message.ended = dur.and_then(|dur| message.arrived.checked_add(*dur));
            if pushed.is_ok() {
                pushed = self.push(&message, is_of_flow);
            }
        })?;
        pushed
    }

    /// Gives each message, and whether it is of a flow.
    fn each_record(&self, mut each: impl FnMut(Message, bool)) -> io::Result<()> {
        let mut each = |record: &[u8; SIZE]| each(message(record), record[0] & 4 != 0);
        let mut record = [0; SIZE];
        if let Some(file) = &mut *self.file.borrow_mut() {
            let end = file.stream_position()?;
            file.rewind()?;
            let mut input = BufReader::with_capacity(BUFFER, (&mut *file).take(end));
            for _ in 0..end / SIZE as u64 {
                input.read_exact(&mut record)?;
                each(&record);
            }
        }
        self.buffer.chunks_exact(SIZE).filter_map(|record| record.first_chunk()).for_each(each);
        Ok(())
    }
}

fn message(record: &[u8; SIZE]) -> Message {
    let (flags, numbers) = record.split_at(1);
    let flags = flags.first().copied().unwrap_or_default();
    let mut numbers = numbers
        .chunks_exact(8)
        .map(|bytes| i64::from_le_bytes(bytes.first_chunk().copied().unwrap_or_default()));
    let mut next = || numbers.next().unwrap_or_default();
    let (sent, arrived, ended) = (next(), next(), next());
    Message {
        direction: if flags & 1 == 0 { Direction::AToB } else { Direction::BToA },
        sent,
        arrived,
        ended: (flags & 2 != 0).then_some(ended),
        packet_out: next(),
        packet_in: next(),
    }
}

impl Messages for Staged {
    type Error = io::Error;

    fn each(&self, visit: &mut dyn FnMut(Message)) -> io::Result<()> {
        self.each_record(|message, _| visit(message))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use timebase_store::sort::Quota;

    use super::*;
    use crate::evidence::Role;

    #[test]
    fn messages_are_read_back_as_often_as_wanted_from_memory_and_from_disk() {
        let scratch = Scratch::new(&std::env::temp_dir(), &Quota::default());
        for count in [3, 5000] {
            let mut all = StagedPairs::new(&scratch);
            let at = |clock, at: i64| Located { clock, at, role: Role::Start, packet: at - 7 };
            for i in 0..count {
                all.add(Kind::Pairs, &at(4, -i), &at(2, i64::MAX - i)).unwrap();
                all.add(Kind::Pairs, &at(4, -i), &at(4, i)).unwrap();
            }
            let pair = &all.pairs[&(2, 4)];
            assert_eq!((all.pairs.len(), pair.kinds), (1, [false, false, true]));
            for _ in 0..2 {
                let mut read = Vec::new();
                pair.each(&mut |message| read.push(message)).unwrap();
                assert_eq!(read.len() as i64, count);
                for (i, message) in (0..).zip(read) {
                    let expected = Message {
                        direction: Direction::BToA,
                        sent: -i,
                        arrived: i64::MAX - i,
                        ended: None,
                        packet_out: -i - 7,
                        packet_in: i64::MAX - i - 7,
                    };
                    assert_eq!(message, expected);
                }
            }
        }
    }

    #[test]
    fn al6_only_flows_may_wait_in_a_slice() {
        let scratch = Scratch::new(&std::env::temp_dir(), &Quota::default());
        let mut all = StagedPairs::new(&scratch);
        let at = |clock, at| Located { clock, at, role: Role::End, packet: at };
        for (kind, time) in [(Kind::Flows, 10), (Kind::Collectives, 20), (Kind::Flows, 30)] {
            all.add(kind, &at(0, time), &at(1, time + 1)).unwrap();
        }
        let pair = all.of(0, 1);
        assert_eq!(pair.received().unwrap(), HashSet::from([11, 31]));
        pair.end(&BTreeMap::from([(11, 5), (21, 5)])).unwrap();
        let mut ended = Vec::new();
        pair.each(&mut |message| ended.push(message.ended)).unwrap();
        assert_eq!(ended, [Some(16), None, None]);
    }
}
