//! What a window does with the packets of a reader, for a trace of which a part is cut out (rules CT).
//!
//! # Design
//!
//! The list of readers (`all.rs`) says it for each, without a default, so a reader without it does not compile. The
//! alternative was a list beside the code that cuts. It would not change with the readers, and the packets of a new one
//! would be lost.

/// What a window does with the packets of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Windowed {
    /// They hold for the whole trace, so they stay (rule CT3).
    Always,
    /// They stay if their time is in the window, or if the state at its begin comes from them (rule CT2).
    ByTime,
    /// Their time decides, but these fields of the payload hold for the whole trace.
    Described(&'static [u32]),
    /// Each kernel event has its time.
    KernelEvents,
    /// They stay by their time. Their deltas are added to those of earlier packets.
    TrackEvent,
    /// Their samples have deltas from earlier packets, and are about the time before them.
    StreamedSamples,
    /// Each line has its time.
    LogLines,
    /// A dump is written after its time, in several packets.
    HeapDumps,
    /// Clocks are converted by the last one.
    Snapshot,
}
