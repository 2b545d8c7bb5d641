//! Snapshots (rules N): readings taken at one instant, and why one is refused.

use crate::clock::{Clock, Scope};

/// Who took a snapshot (rules V2, X18). The smaller is the better one.
///
/// ```
/// use timebase_resolver::Source;
/// assert!(Source::Service < Source::Bundle);
/// assert_eq!(Source::Bundle.name(), "ftrace");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum Source {
    /// Who wrote the manifest (rule X35).
    Manifest = 0,
    /// The tracing service: a `ClockSnapshot` packet on sequence 1, or what a client's clocks read
    /// (rule X19).
    Service = 1,
    /// A `ClockSnapshot` packet of another writer.
    Writer = 2,
    /// A pair of rule X21, from a synchronization with another machine.
    RemoteSync = 3,
    /// A pair of rule I1, from an ftrace bundle.
    Bundle = 4,
    /// Nobody: that two clocks read the same is assumed (rule X26). It is no source (X18): paths
    /// lead over it only where there is none without.
    Assumed = 5,
}

impl Source {
    /// All of them, the best first.
    ///
    /// ```
    /// use timebase_resolver::Source;
    /// assert!(Source::ALL.is_sorted());
    /// ```
    pub const ALL: [Source; 6] = [
        Source::Manifest,
        Source::Service,
        Source::Writer,
        Source::RemoteSync,
        Source::Bundle,
        Source::Assumed,
    ];

    /// What it is called in `clock_snapshot.source`.
    pub fn name(self) -> &'static str {
        match self {
            Source::Manifest => "manifest",
            Source::Service => "service",
            Source::Writer => "writer",
            Source::RemoteSync => "remote_sync",
            Source::Bundle => "ftrace",
            Source::Assumed => "assumed",
        }
    }

    /// The source from its name in `clock_snapshot.source`.
    ///
    /// ```
    /// use timebase_resolver::Source;
    /// assert_eq!(Source::from_name("ftrace"), Some(Source::Bundle));
    /// ```
    pub fn from_name(name: &str) -> Option<Source> {
        Source::ALL.into_iter().find(|source| source.name() == name)
    }
}

/// One reading of a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// The clock that was read.
    pub clock: Clock,
    /// What it read, in nanoseconds (rule N3).
    pub value: i64,
    /// Nanoseconds in a unit of the clock.
    pub unit: i64,
    /// Whether packets give deltas on this clock (rule V5).
    pub incremental: bool,
}

impl Reading {
    /// A reading as recorded: `timestamp` in the clock's own unit, `unit` 0
    /// for the unit of one nanosecond (rule N3).
    ///
    /// # Errors
    ///
    /// [`Rejected::Overflow`] if it does not fit 64 bits in nanoseconds.
    ///
    /// ```
    /// use timebase_resolver::{Clock, Reading, Rejected};
    /// let reading = Reading::new(Clock::host(200), 15, 1000, false)?;
    /// assert_eq!(reading.value, 15_000);
    /// # Ok::<(), Rejected>(())
    /// ```
    pub fn new(
        clock: Clock,
        timestamp: u64,
        unit: u64,
        incremental: bool,
    ) -> Result<Self, Rejected> {
        let overflow = Rejected::Overflow { clock };
        let unit = i64::try_from(unit.max(1)).map_err(|_| overflow)?;
        let value = i64::try_from(timestamp)
            .ok()
            .and_then(|timestamp| timestamp.checked_mul(unit))
            .ok_or(overflow)?;
        Ok(Reading {
            clock,
            value,
            unit,
            incremental,
        })
    }

    /// What can be seen wrong of it alone.
    pub(crate) fn check(&self, trace_time: Option<Clock>) -> Result<(), Rejected> {
        let clock = self.clock;
        if clock.id.get() == 0 {
            return Err(Rejected::NoClockId);
        }
        if clock.lacks_sequence() {
            return Err(Rejected::NoSequenceId { clock });
        }
        if self.incremental && clock.id.scope() != Scope::Sequence {
            return Err(Rejected::IncrementalNotScoped { clock });
        }
        if trace_time == Some(clock) && self.unit != 1 {
            return Err(Rejected::TraceTimeUnit { clock });
        }
        Ok(())
    }
}

/// Why a snapshot was rejected as a whole (rules N1, N2, C5).
///
/// ```
/// use timebase_resolver::{Clock, Reading};
/// let rejected = Reading::new(Clock::BOOTTIME, u64::MAX, 1, false).unwrap_err();
/// assert_eq!(rejected.code(), "snapshot_overflow");
/// assert_eq!(rejected.to_string(), "the reading of clock BOOTTIME does not fit 64 bits in nanoseconds");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // the messages say it
#[non_exhaustive]
pub enum Rejected {
    #[error("a reading names no clock")]
    NoClockId,
    #[error("clock {clock} is sequence-scoped, and the packet has no sequence id")]
    NoSequenceId { clock: Clock },
    #[error("clock {clock} is read twice")]
    Duplicate { clock: Clock },
    #[error("clock {clock} has another unit or incremental flag than in its first snapshot")]
    UnitChanged { clock: Clock },
    #[error("clock {clock} is incremental, which only sequence-scoped clocks (64 to 127) can be")]
    IncrementalNotScoped { clock: Clock },
    #[error("clock {clock} is trace time, and its unit is not one nanosecond")]
    TraceTimeUnit { clock: Clock },
    #[error("clock {clock} is trace time, and goes backwards from {before} to {value}")]
    TraceTimeBackwards {
        clock: Clock,
        before: i64,
        value: i64,
    },
    #[error("the reading of clock {clock} does not fit 64 bits in nanoseconds")]
    Overflow { clock: Clock },
    #[error("the trace has more than 4294967295 snapshots")]
    TooMany,
}

impl Rejected {
    /// A short name of the kind, for the import log and the counters.
    pub fn code(self) -> &'static str {
        match self {
            Rejected::NoClockId => "snapshot_no_clock_id",
            Rejected::NoSequenceId { .. } => "snapshot_no_sequence_id",
            Rejected::Duplicate { .. } => "snapshot_duplicate_clock",
            Rejected::UnitChanged { .. } => "snapshot_unit_changed",
            Rejected::IncrementalNotScoped { .. } => "snapshot_incremental_not_scoped",
            Rejected::TraceTimeUnit { .. } => "snapshot_trace_time_unit",
            Rejected::TraceTimeBackwards { .. } => "snapshot_trace_time_backwards",
            Rejected::Overflow { .. } => "snapshot_overflow",
            Rejected::TooMany => "snapshot_too_many",
        }
    }
}
