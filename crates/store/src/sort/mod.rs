//! Sorts records outside of memory, in little of it: by any [`Key`], stably, with
//! bytes that come along or without.
//!
//! ```
//! use timebase_store::sort::Sorter;
//!
//! let mut sorter: Sorter<i64> = Sorter::new(&std::env::temp_dir());
//! for i in 0..200_000 {
//!     let key = i * 7_919 % 200_003;
//!     sorter.push(key, format!("record {i}").as_bytes())?;
//! }
//! let (mut count, mut last) = (0, -1);
//! sorter.finish(|&key, payload| {
//!     assert!(key > last && payload.starts_with(b"record "));
//!     (count, last) = (count + 1, key);
//!     std::io::Result::Ok(())
//! })?;
//! assert_eq!(count, 200_000);
//! # std::io::Result::Ok(())
//! ```
//!
//! # Design
//!
//! Records are collected to a *stretch* of 2 MiB, which is sorted and written to a
//! file without a name, each key as its difference to the one before. What comes
//! meanwhile is collected to another one. A stretch that does not begin before
//! another one ends can follow it: such stretches are a *run*. At the end all runs
//! are merged. Up to 2 MiB there is neither a file nor a thread.
//!
//! Measured with 7.1 million records of a time, a number and 16 bytes, which are
//! 139 stretches, on a machine with two cores that was not idle: the least time, the
//! median of the processor time, and its ratio to what the former way took in turns with it,
//! which was a run of every stretch, and an operation of a heap for every record.
//!
//! | they come | time | processor time | ratio | runs | peak memory |
//! |---|---|---|---|---|---|
//! | in order | 0.34 s | 0.37 s | 0.7 | 1 | 8 MiB, was 13 |
//! | in order, each up to 1,000 places late | 0.62 s | 0.80 s | 0.9 | 2 | 9 MiB, was 13 |
//! | in order, but one of 10,000 anywhere | 0.39 s | 0.46 s | 0.8 to 0.9 | 138 | 13 MiB, was 13 |
//! | of 2 ring buffers, 10,000 of each in turns | 0.38 s | 0.45 s | 0.8 | 2 | 8 MiB, was 13 |
//! | of 8, 10,000 of each in turns | 0.48 s | 0.60 s | 0.8 | 4 | 8 MiB, was 13 |
//! | of 2, 500,000 of each in turns | 0.34 s | 0.44 s | 0.85 | 3 | 8 MiB, was 13 |
//! | of 8, 500,000 of each in turns | 0.41 s | 0.58 s | 0.95 | 15 | 10 MiB, was 13 |
//! | in no order | 1.12 s | 1.28 s | 1.0 | 139 | 19 MiB, was 19 |
//!
//! * **Sorting has a thread of its own, and so has merging.** Buffers that are
//!   handed over come back to be filled again: two stretches, three batches. There
//!   are no others, and that is what bounds memory: 4 MiB of stretches with what
//!   sorting one of them takes, and at the end 8 MiB of pieces of all runs.
//!   60 million records in no order, which are 1,630 stretches, take 19 MiB as well.
//!   (With more than 8,192 runs, of 16 GiB at least, it is 1 KiB for each.) A record
//!   that is larger than a stretch or a batch is alone in it, and is waited for:
//!   with six payloads of 256 MiB, one of them is in memory beside the caller's.
//! * **A run is extended by the stretch that follows it**, of several runs the one
//!   that ends last, as in patience sorting. Ring buffers, each in order, flushed in
//!   turns, make some runs for each buffer, not one for each stretch. By itself this
//!   saves memory, and reading in small pieces, rather than time: where stretches are
//!   in order anyway, all runs but one are waiting.
//! * **The run that has the least key is not in the heap of the others**, and is
//!   taken from as long as its key is before the first of those. That is one
//!   comparison for most records, and is what the ratios above come from: they are nearest
//!   to 1 where a record mostly is of another run than the one before. It is also why
//!   stretches are not cut where a few late records make them begin early: 138 runs
//!   take little more time than one then.
//! * **Equal keys are told apart by the number of their stretch**, as a run has its
//!   stretches in the order they were pushed. A number for each record would take
//!   eight bytes of memory, and at least one of the file.
//! * **Payloads are behind each other beside the keys**, and a key has four bytes for
//!   where; none is allocated. Whether there are payloads is a type, so that keys
//!   alone have nothing, neither in memory nor in the file. With payloads in the sorted
//!   vector itself, sorting would have to move them, or they would have one size.
//! * **`finish` calls back.** Records are lent out of a batch, so an iterator
//!   could not be an [`Iterator`]; and whoever calls has a thread to itself
//!   already, as merging is on another one.
//!
//! Keys `(i64, u64)` that are compared as one number of 128 bits were tried: 0.9 of
//! the time in no order, nothing elsewhere, for another method of every key. More than
//! one level of merging was not tried.

mod key;
mod merge;
mod number;
mod payload;
mod records;
mod runs;
mod scratch;
mod sorter;
mod source;
#[cfg(test)]
mod tests;

pub use key::Key;
pub use number::{LONGEST_NUMBER, put_difference, take_difference};
pub use payload::Payload;
pub use scratch::{Quota, Scratch, ScratchFile};
pub use sorter::Sorter;
