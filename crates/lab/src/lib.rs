//! What timebase is tested and measured with. It is not published.
//!
//! | module | what it is |
//! |---|---|
//! | [`synth`] | traces, and sets of several machines or files, whose true times are known |
//! | [`encode`] | the bytes of a trace, written by hand |
//! | [`naive`] | what an import of clocks must yield, written down from the rules as plainly as can be |
//! | [`accuracy`] | how far the times of an import are from the truth, on generated and on recorded traces |
//! | [`reliability`] | copies of traces that are damaged, and what an import makes of them |
//! | [`fuzz`] | what must hold of any input, a function for each parser; `fuzz/` has the fuzzers around them |

pub mod accuracy;
#[allow(missing_docs)]
pub mod encode;

pub mod fuzz;
#[allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
pub mod naive;
pub mod reliability;
pub mod synth;
