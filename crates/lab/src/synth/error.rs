//! The errors of the generator.

use std::io;

/// The reason why a trace could not be written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A knob is out of its range.
    #[error("{knob} must be {range}")]
    Settings {
        /// The field of [`Settings`](crate::synth::Settings).
        knob: &'static str,
        /// Its range.
        range: &'static str,
    },
    /// The trace would last longer than 36 years: readings of its clocks would not fit 64 bits.
    #[error("the trace would last longer than 36 years; lower its size, gaps or suspends")]
    TooLong,
    /// Writing the trace or its truth failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}
