//! Snapshots: readings of one instant, and the reasons for rejecting one (rules N).

use crate::clock::{Clock, Scope};

/// The origin of a snapshot (rules V2, X18, AL20). A smaller one is better.
///
/// ```
/// use timebase_resolver::Source;
/// assert!(Source::Service < Source::Bundle);
/// assert_eq!(Source::Bundle.name(), "ftrace");
/// assert!(Source::Bundle < Source::Causality && Source::Causality < Source::Assumed);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum Source {
    /// The manifest (rule X35).
    Manifest = 0,
    /// The tracing service: a `ClockSnapshot` packet on sequence 1, or the readings of a client's
    /// clocks (rule X19).
    Service = 1,
    /// A `ClockSnapshot` packet of another writer.
    Writer = 2,
    /// A pair of rule X21, from a synchronization with another machine.
    RemoteSync = 3,
    /// A pair of rule I1, from an ftrace bundle.
    Bundle = 4,
    /// A corner of the relation that messages between two clocks bound (rules AL16, AL20). The hop
    /// is by lines in every conversion.
    Causality = 5,
    /// The statements of a JSON trace's producer about its clock (rule JS32).
    Json = 6,
    /// An assumption that two clocks agree (rule X26). It is no real source (X18): paths use it
    /// only if there is no path without it.
    Assumed = 7,
}

impl Source {
    /// All origins, the best first.
    ///
    /// ```
    /// use timebase_resolver::Source;
    /// assert!(Source::ALL.is_sorted());
    /// ```
    pub const ALL: [Source; 8] = [
        Source::Manifest,
        Source::Service,
        Source::Writer,
        Source::RemoteSync,
        Source::Bundle,
        Source::Causality,
        Source::Json,
        Source::Assumed,
    ];

    /// The place of an origin in [`Source::ALL`], as SQL that reads its name from a column; -1 for any other text.
    ///
    /// ```
    /// use timebase_resolver::Source;
    /// assert!(Source::rank("s.source").starts_with("CASE s.source WHEN 'manifest' THEN 0 WHEN 'service' THEN 1 "));
    /// ```
    pub fn rank(column: &str) -> String {
        let names =
            Source::ALL.map(|source| format!(" WHEN '{}' THEN {}", source.name(), source as u8));
        format!("CASE {column}{} ELSE -1 END", names.concat())
    }

    /// Its name in `clock_snapshot.source`.
    pub fn name(self) -> &'static str {
        match self {
            Source::Manifest => "manifest",
            Source::Service => "service",
            Source::Writer => "writer",
            Source::RemoteSync => "remote_sync",
            Source::Bundle => "ftrace",
            Source::Causality => "causality",
            Source::Json => "json",
            Source::Assumed => "assumed",
        }
    }

    /// The origin with a name in `clock_snapshot.source`.
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
    /// The clock.
    pub clock: Clock,
    /// Its value, in nanoseconds (rule N3).
    pub value: i64,
    /// Nanoseconds in a unit of the clock.
    pub unit: i64,
    /// Whether packets hold deltas of this clock (rule V5).
    pub incremental: bool,
}

impl Reading {
    /// A reading as recorded: `timestamp` in the clock's own unit; `unit` 0 means nanoseconds (rule
    /// N3).
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
        Ok(Reading { clock, value, unit, incremental })
    }

    /// The problem of the reading by itself, if any.
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
            return Err(Rejected::TraceTimeUnit { clock, unit: self.unit });
        }
        Ok(())
    }
}

/// The reason why a whole snapshot was rejected (rules N1, N2, C5).
///
/// ```
/// use timebase_resolver::{Clock, Reading};
/// let rejected = Reading::new(Clock::BOOTTIME, u64::MAX, 1, false).unwrap_err();
/// assert_eq!(rejected.code(), "snapshot_overflow");
/// assert_eq!(rejected.to_string(), "the reading of clock BOOTTIME does not fit 64 bits in nanoseconds");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // the messages explain them
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
    #[error("clock {clock} is trace time, and its unit is {unit} ns, not one nanosecond")]
    TraceTimeUnit { clock: Clock, unit: i64 },
    #[error("clock {clock} is trace time, and goes backwards from {before} to {value}")]
    TraceTimeBackwards { clock: Clock, before: i64, value: i64 },
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
