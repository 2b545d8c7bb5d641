//! A generation of a sequence's state, and what its events have in common by default.

use timebase_trace::Interval;

/// The packets of a sequence between which its state was neither cleared nor lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Generation {
    pub interval: Interval,
    /// How often the state was lost before.
    pub lost: u32,
}

/// `TrackEventDefaults`.
#[derive(Debug, Default)]
pub(crate) struct Defaults {
    pub track_uuid: Option<u64>,
    pub more_uuids: Vec<u64>,
    pub more_double_uuids: Vec<u64>,
}
