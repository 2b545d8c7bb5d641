//! Earlier statements of the writers of track events: the defaults, names and sums of their
//! sequences.

pub(super) mod counters;
mod defaults;
pub(super) mod event;
mod legacy;
pub(super) mod writers;

pub(crate) use writers::Writers;

/// The times of legacy events are in microseconds.
pub(super) const NS_PER_US: i64 = 1000;
