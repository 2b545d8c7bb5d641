//! Faults of a trace that may come by the million: each kind is counted, and logged once.

use std::collections::BTreeMap;

use super::counter::Counter;
use super::event_faults::{Cause, EventFaults, Example, FaultySequence};
use super::journal::{Journal, LogMessage, Severity};
use super::rows::Rows;

/// A kind of fault.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fault {
    counter: Counter,
    /// Whether other code counts it.
    is_counted: bool,
    /// The cause for which its event makes no row.
    drops: Option<Cause>,
}

impl Fault {
    /// A fault with this counter. The log has the counter's description.
    pub const fn new(counter: Counter) -> Fault {
        Fault { counter, is_counted: false, drops: counter.drops }
    }

    /// The same fault, of an event that makes no row for this cause.
    pub const fn dropping(self, cause: Cause) -> Fault {
        Fault { drops: Some(cause), ..self }
    }

    /// The counter of the fault.
    pub const fn counter(&self) -> Counter {
        self.counter
    }

    /// The counter of a fault that lasts.
    pub const fn counter_ref(&'static self) -> &'static Counter {
        &self.counter
    }

    /// The same fault, but only for the log: other code counts it for each file, machine or object.
    pub const fn counted(self) -> Fault {
        Fault { is_counted: true, ..self }
    }
}

/// A track event whose meaning is unknown, or with an argument whose meaning is unknown.
pub(crate) const PARSER_ERROR: Fault = Fault::new(
    Counter::error(
        "track_event_parser_errors",
        "a track event or one of its arguments is unreadable, and is left \
     out",
    )
    .drops_some(),
);

/// A number of interned data without an entry, or an entry without a number.
pub(crate) const NOT_INTERNED: Fault = Fault::new(
    Counter::error(
        "interned_data_tokenizer_errors",
        "a reference to interned data has no entry, or an entry has no \
     number",
    )
    .drops_nothing(),
);

/// An event whose time is before the start of trace time.
pub(crate) const BEFORE_ZERO: Fault = Fault::new(
    Counter::error(
        "trace_sorter_negative_timestamp_dropped",
        "a track event, a sample or a frame before time 0 is dropped",
    )
    .drops(Cause::BeforeZero),
);

/// A sample of a profiler without a time, or without a callstack although it needs one.
pub(crate) const STACKPROFILE_PARSER_ERROR: Fault = Fault::new(
    Counter::error(
        "stackprofile_parser_error",
        "a sample of a streaming profile without a time or a callstack is \
     dropped",
    )
    .drops(Cause::NoCallstack),
);

/// The faults that occurred.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    met: BTreeMap<&'static str, Met>,
    /// The events with a fault.
    pub events: EventFaults,
}

#[derive(Debug)]
struct Met {
    fault: Fault,
    count: u64,
    /// The first packet with the fault, if it is known.
    packet: Option<i64>,
}

impl Faults {
    /// Adds a fault of a packet.
    pub fn add(&mut self, fault: Fault, packet: impl Into<Option<i64>>) {
        self.add_many(fault, packet, 1);
    }

    /// Adds this number of faults of a packet.
    pub fn add_many(&mut self, fault: Fault, packet: impl Into<Option<i64>>, count: u32) {
        if count == 0 {
            return;
        }
        let packet = packet.into();
        self.met(fault, packet, count.into());
        if let Some(cause) = fault.drops {
            let example = || Example::of_packet(packet);
            self.events.add(cause, None, count.into(), example);
        }
    }

    /// Adds a fault of an event of a sequence. If its event makes no row, `example` describes the
    /// event (rule FE1).
    pub fn add_event(
        &mut self,
        fault: Fault,
        packet: impl Into<Option<i64>>,
        sequence: Option<u32>,
        example: impl FnOnce() -> Example,
    ) {
        self.met(fault, packet.into(), 1);
        if let Some(cause) = fault.drops {
            self.events.add(cause, sequence, 1, example);
        }
    }

    /// Notes an event that no counter counts (rule FE1).
    pub fn note(&mut self, cause: Cause, example: impl FnOnce() -> Example) {
        self.events.add(cause, None, 1, example);
    }

    fn met(&mut self, fault: Fault, packet: Option<i64>, count: u64) {
        let met = self.met.entry(fault.counter.name).or_insert(Met { fault, count: 0, packet });
        met.count += count;
        met.packet = match (met.packet, packet) {
            (Some(first), Some(packet)) => Some(first.min(packet)),
            (first, packet) => first.or(packet),
        };
    }

    /// Adds the other faults.
    pub fn join(&mut self, other: Faults) {
        for Met { fault, count, packet } in other.met.into_values() {
            self.met(fault, packet, count);
        }
        self.events.join(other.events);
    }

    /// Counts the faults in `stats`, logs them, and makes rows of the events with a fault. `sequence`
    /// knows the sequences by their numbers.
    pub fn tell(
        self,
        sequence: impl Fn(u32) -> Option<FaultySequence>,
        journal: &mut Journal,
        rows: &mut Rows<'_>,
    ) {
        for (code, met) in self.met {
            let Fault { counter, is_counted, .. } = met.fault;
            let said = counter.description;
            if !is_counted {
                journal.count(counter, met.count);
            }
            let first = match met.count {
                1 => String::new(),
                count => format!("; {count} times in all, first here"),
            };
            let message = LogMessage {
                packet_id: met.packet,
                ..LogMessage::new(Severity::Warning, code, format!("{said}{first}"))
            };
            message.push(rows);
        }
        self.events.tell(sequence, rows);
    }
}
