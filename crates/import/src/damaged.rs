//! The bytes of a trace without packets, the rows that they make unsure (rules Z1, Z8), and the times around
//! them (rule DT1).

use rustc_hash::FxHashMap;
use timebase_trace::{Damage, Region};

use crate::output::{Loss, Rows};
use crate::place::SequenceIx;
use crate::summary::LossKind;

/// The message about a trace that ends early, after this number of packets.
pub(crate) fn cut(why: &str, packets: u64) -> String {
    format!("{why}; the {packets} packets before it are read")
}

/// The damage of a trace. Its amount is in counters of the journal.
#[derive(Debug, Default)]
pub(crate) struct Damaged {
    /// The first region without packets.
    pub first: Option<First>,
    /// The line of the log about the last region.
    last: i64,
    /// For each sequence, the value of `last` when its state was cleared.
    resets: FxHashMap<u32, i64>,
}

/// The first region of a trace without packets.
#[derive(Debug)]
pub(crate) struct First {
    pub why: String,
    pub is_cut: bool,
    /// Whether it is at the beginning of the trace.
    pub is_begin: bool,
    /// Whether its bytes could be the beginning of a packet.
    pub is_plausible: bool,
}

impl Damaged {
    /// Adds a region of the stream, or of the contents of the compressed packet at `carrier`. `log` is the
    /// line of the log about it.
    pub fn add(&mut self, region: &Region, carrier: Option<u64>, log: i64) {
        self.last = log;
        self.first.get_or_insert_with(|| First {
            why: region.why.to_string(),
            is_cut: region.why.is_cut(),
            is_begin: region.offset == 0 && carrier.is_none(),
            is_plausible: matches!(region.why, Damage::Cut { plausible: true, .. }),
        });
    }

    /// Whether there was any until now.
    pub fn is_any(&self) -> bool {
        self.first.is_some()
    }

    /// Whether the trace begins with damage.
    pub fn is_at_begin(&self) -> bool {
        self.first.as_ref().is_some_and(|first| first.is_begin)
    }

    /// The state of a sequence is cleared.
    pub fn reset(&mut self, sequence: SequenceIx) {
        self.resets.insert(sequence.0, self.last);
    }

    /// The line of the log about the last damage, if the damage came after the state of the sequence was
    /// cleared.
    pub fn since_reset(&self, sequence: SequenceIx) -> Option<i64> {
        let reset = self.resets.get(&sequence.0);
        (self.is_any() && reset != Some(&self.last)).then_some(self.last)
    }
}

/// The times around damage, in the order of a file.
#[derive(Debug, Default)]
pub(crate) struct Around {
    /// The last time that was read.
    last: Option<i64>,
    /// Damage after which no time was read yet.
    open: Vec<Loss>,
}

/// The limit on damage that is kept until a time follows. For more damage in one place, the time after it is
/// unknown.
const MOST_OPEN: usize = 1 << 16;

impl Around {
    /// The last time that was read.
    pub fn last(&self) -> Option<i64> {
        self.last
    }

    /// Notes the times inside a packet: the first and the last of them in file order.
    #[inline]
    pub fn saw(&mut self, (first, last): (i64, i64), rows: &mut Rows<'_>) {
        self.last = Some(last);
        if !self.open.is_empty() {
            self.close(Some(first), rows);
        }
    }

    /// Something is damaged; `start` is the last time before it.
    #[cold]
    pub fn damaged(&mut self, start: Option<i64>, of: Loss, rows: &mut Rows<'_>) {
        let loss = Loss { start, ..of };
        match self.open.len() {
            MOST_OPEN.. => loss.push(rows),
            _ => self.open.push(loss),
        }
    }

    /// The next time is read, or there is none.
    #[cold]
    pub fn close(&mut self, end: Option<i64>, rows: &mut Rows<'_>) {
        for loss in self.open.drain(..) {
            Loss { end, ..loss }.push(rows);
        }
    }
}

/// A packet that cannot be read, of a machine if that is known.
pub(crate) fn unread_packet(id: i64, machine: Option<u32>) -> Loss {
    Loss { machine, count: Some(1), packet: Some(id), ..Loss::new(LossKind::Damage) }
}
