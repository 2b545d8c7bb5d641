//! The ground truth about the contents of a trace.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;

/// The required result for one thing with a timestamp in a trace, if it is imported by the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Truth {
    /// Its row.
    pub row: Row,
    /// Its time: BOOTTIME, in nanoseconds.
    pub boottime: i64,
    /// The time that the import must give it.
    pub expected: Expected,
}

/// A row of the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Row {
    /// `packet.id`: the packet's number, from 0, in file order. A packet that carries compressed
    /// ones does not count, those inside do.
    Packet(u64),
    /// `ftrace_event.id`, or `ftrace_event_partial.id` for events before the first switch of their
    /// CPU in the compact encoding: the event's number, from 0, in file order, and within a bundle
    /// in the order of time.
    FtraceEvent(u64),
    /// `android_logs.id`: the line's number, from 0, in file order.
    AndroidLog(u64),
}

impl Row {
    /// The table of the row.
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

/// The time that the import must give a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// Its true BOOTTIME, with an error of at most this many nanoseconds. 0 without drift, for
    /// clocks whose unit is 1.
    Within(i64),
    /// No time.
    Unresolved(Reason),
}

/// The reason why a row must have no time (rule V7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// REALTIME went backwards before the row was read (rule N5).
    NonMonotonic,
    /// Its sequence lost a packet, and has not started again since (rule S4).
    IncrementalStateLost,
}

impl Reason {
    /// The text in the column `unresolved`.
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

/// The subject of a truth.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Whose {
    pub file: usize,
    pub machine: u32,
}

/// The receiver of the truth.
pub(crate) type Sink<'a> = &'a mut dyn FnMut(Whose, Truth) -> io::Result<()>;

/// Passes the truth to the receiver.
pub(crate) struct Truths<'a> {
    pub sink: Option<Rc<RefCell<Sink<'a>>>>,
    pub whose: Whose,
}

impl Truths<'_> {
    /// Whether errors need to be computed.
    #[inline]
    pub fn wanted(&self) -> bool {
        self.sink.is_some()
    }

    #[inline]
    pub fn tell(&mut self, row: Row, boottime: i64, expected: Expected) -> io::Result<()> {
        let truth = Truth { row, boottime, expected };
        match &self.sink {
            Some(sink) => sink.borrow_mut()(self.whose, truth),
            None => Ok(()),
        }
    }
}
