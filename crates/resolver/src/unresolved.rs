//! The reasons why a reading cannot be converted to the target clock (rule V7).

/// The reason why a reading could not be converted.
///
/// ```
/// use timebase_resolver::Unresolved;
/// assert_eq!(Unresolved::NoPath.code(), "no_path");
/// assert_eq!(Unresolved::from_code("no_path"), Some(Unresolved::NoPath));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Unresolved {
    /// The clock was never in a snapshot.
    #[error("the clock was never in a snapshot")]
    UnknownClock,
    /// No chain of snapshots leads from the clock to the target.
    #[error("no chain of snapshots leads from the clock to the target")]
    NoPath,
    /// A path exists only through a clock that went backwards (rule N5).
    #[error("every path leads through a clock that was seen going backwards")]
    NonMonotonic,
    /// The target was never in a snapshot.
    #[error("the target clock was never in a snapshot")]
    NoTarget,
    /// The result does not fit 64 bits (rule V6).
    #[error("the result does not fit 64 bits")]
    Overflow,
    /// The sequence lost data that the packet needs (rule S4).
    #[error("the packet's sequence lost the state that the packet needs")]
    IncrementalStateLost,
    /// A sequence-scoped clock without a sequence (rule C5).
    #[error("the clock is sequence-scoped, and there is no sequence id")]
    NoSequenceId,
    /// A delta before any snapshot of its clock (rule V5).
    #[error("the timestamp is a delta, and no snapshot of its clock came before it")]
    NoBase,
}

impl Unresolved {
    /// All reasons there are.
    pub const ALL: [Unresolved; 8] = [
        Unresolved::UnknownClock,
        Unresolved::NoPath,
        Unresolved::NonMonotonic,
        Unresolved::NoTarget,
        Unresolved::Overflow,
        Unresolved::IncrementalStateLost,
        Unresolved::NoSequenceId,
        Unresolved::NoBase,
    ];

    /// The name of the reason in rule V7.
    pub fn code(self) -> &'static str {
        match self {
            Unresolved::UnknownClock => "unknown_clock",
            Unresolved::NoPath => "no_path",
            Unresolved::NonMonotonic => "non_monotonic",
            Unresolved::NoTarget => "no_target",
            Unresolved::Overflow => "overflow",
            Unresolved::IncrementalStateLost => "incremental_state_lost",
            Unresolved::NoSequenceId => "no_sequence_id",
            Unresolved::NoBase => "no_base",
        }
    }

    /// The reason with a name.
    pub fn from_code(code: &str) -> Option<Unresolved> {
        Self::ALL.into_iter().find(|reason| reason.code() == code)
    }

    /// Whether more snapshots could change it (rule D2).
    pub fn may_resolve_later(self) -> bool {
        !matches!(
            self,
            Unresolved::IncrementalStateLost | Unresolved::NoSequenceId | Unresolved::NoBase
        )
    }
}
