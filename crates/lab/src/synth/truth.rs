//! What is known of what a trace holds: the ground truth.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;

/// What becomes of one timestamped thing in a trace, if it is imported by the
/// rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Truth {
    /// Which row it is.
    pub row: Row,
    /// When it happened: BOOTTIME, in nanoseconds.
    pub boottime: i64,
    /// Where the import must place it.
    pub expected: Expected,
}

/// A row of the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Row {
    /// `packet.id`: the packet's number, from 0, in file order; a packet that
    /// holds compressed ones does not count, those inside do.
    Packet(u64),
    /// `ftrace_event.id`, or `ftrace_event_partial.id` for what comes before the
    /// first switch of its CPU in the compact encoding: the event's number, from
    /// 0, in file order, and within a bundle in order of time.
    FtraceEvent(u64),
    /// `android_logs.id`: the line's number, from 0, in file order.
    AndroidLog(u64),
}

impl Row {
    /// The table that holds the row.
    ///
    /// ```
    /// assert_eq!(timebase_lab::synth::Row::AndroidLog(7).table(), "android_logs");
    /// ```
    pub fn table(self) -> &'static str {
        match self {
            Row::Packet(_) => "packet",
            Row::FtraceEvent(_) => "ftrace_event",
            Row::AndroidLog(_) => "android_logs",
        }
    }

    /// Its `id` there.
    pub fn id(self) -> u64 {
        match self {
            Row::Packet(id) | Row::FtraceEvent(id) | Row::AndroidLog(id) => id,
        }
    }
}

/// Where the import must place a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// At its true BOOTTIME, at most so many nanoseconds off. 0 without drift,
    /// for clocks whose unit is 1.
    Within(i64),
    /// Nowhere.
    Unresolved(Reason),
}

/// Why a row must stay without a time (rule V7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// REALTIME went backwards before the row was read (rule N5).
    NonMonotonic,
    /// Its sequence lost a packet, and has not started anew since (rule S4).
    IncrementalStateLost,
}

impl Reason {
    /// What the column `unresolved` says.
    ///
    /// ```
    /// assert_eq!(timebase_lab::synth::Reason::NonMonotonic.code(), "non_monotonic");
    /// ```
    pub fn code(self) -> &'static str {
        match self {
            Reason::NonMonotonic => "non_monotonic",
            Reason::IncrementalStateLost => "incremental_state_lost",
        }
    }
}

/// What a truth is of.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Whose {
    pub file: usize,
    pub machine: u32,
}

/// Who wants the truth.
pub(crate) type Sink<'a> = &'a mut dyn FnMut(Whose, Truth) -> io::Result<()>;

/// Tells the truth to whoever wants it.
pub(crate) struct Truths<'a> {
    pub sink: Option<Rc<RefCell<Sink<'a>>>>,
    pub whose: Whose,
}

impl Truths<'_> {
    /// Whether it is worth working errors out.
    #[inline]
    pub fn wanted(&self) -> bool {
        self.sink.is_some()
    }

    #[inline]
    pub fn tell(&mut self, row: Row, boottime: i64, expected: Expected) -> io::Result<()> {
        let truth = Truth {
            row,
            boottime,
            expected,
        };
        match &self.sink {
            Some(sink) => sink.borrow_mut()(self.whose, truth),
            None => Ok(()),
        }
    }
}
