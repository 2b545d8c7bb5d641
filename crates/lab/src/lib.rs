//! The tools for testing and measuring timebase. This crate is not published.
//!
//! | module | what it is |
//! |---|---|
//! | [`synth`] | traces, and sets of several machines or files, whose true times are known |
//! | [`encode`], [`decode`] | the bytes of a trace, written and read by hand |
//! | [`naive`] | the required results of an import of clocks, written as plainly as possible from the rules |
//! | [`align`] | simulated clocks with messages, and how well causality aligns them |
//! | [`compare`] | simulated groups of runs, and how often a comparison is wrong |
//! | [`accuracy`] | the errors of an import's times, on generated and on recorded traces |
//! | [`reliability`] | damaged copies of traces, and how much of them an import keeps |
//! | [`fuzz`] | properties that hold for any input, a function for each parser; `fuzz/` has the fuzzers |

pub mod accuracy;
pub mod align;
pub mod compare;
#[allow(missing_docs)]
pub mod decode;
#[allow(missing_docs)]
pub mod encode;

pub mod fuzz;
#[allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
pub mod naive;
pub mod reliability;
pub mod synth;
