//! What can go wrong.

use std::io;

/// Why a trace could not be written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A knob is out of its range.
    #[error("{knob} must be {range}")]
    Settings {
        /// The field of [`Settings`](crate::synth::Settings).
        knob: &'static str,
        /// What it may be.
        range: &'static str,
    },
    /// The trace would last longer than 36 years: readings of its clocks would
    /// not fit 64 bits.
    #[error("the trace would last longer than 36 years; lower its size, gaps or suspends")]
    TooLong,
    /// The trace, or its truth, could not be written.
    #[error(transparent)]
    Io(#[from] io::Error),
}
