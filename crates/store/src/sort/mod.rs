//! Sorts records outside of memory, with little memory: by any [`Key`], stably, with or without a
//! payload of bytes.
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
//! Records are collected in a *stretch* of 512 KiB. It is sorted and written to a file without a
//! name, each key as its difference from the previous one; meanwhile, further records go to another
//! stretch. If a stretch does not begin before another one ends, it can follow it; such stretches
//! are a *run*. At the end all runs are merged. Up to 512 KiB, there is neither a file nor a thread.
//!
//! These figures are from 7.1 million records of a time, a number and 16 bytes, which are 139
//! stretches of 2 MiB (the size at that time), on a machine with two cores that was not idle. They
//! are the least time, the median processor time, and its ratio to the former method, measured
//! alternately. The former method had a run for every stretch, and a heap operation for every
//! record.
//!
//! | order of records | time | processor time | ratio | runs | peak memory |
//! |---|---|---|---|---|---|
//! | in order | 0.34 s | 0.37 s | 0.7 | 1 | 8 MiB, was 13 |
//! | in order, each up to 1,000 places late | 0.62 s | 0.80 s | 0.9 | 2 | 9 MiB, was 13 |
//! | in order, except for one of 10,000, which is anywhere | 0.39 s | 0.46 s | 0.8 to 0.9 | 138 | 13 MiB, was 13 |
//! | of 2 ring buffers, 10,000 of each alternately | 0.38 s | 0.45 s | 0.8 | 2 | 8 MiB, was 13 |
//! | of 8, 10,000 of each alternately | 0.48 s | 0.60 s | 0.8 | 4 | 8 MiB, was 13 |
//! | of 2, 500,000 of each alternately | 0.34 s | 0.44 s | 0.85 | 3 | 8 MiB, was 13 |
//! | of 8, 500,000 of each alternately | 0.41 s | 0.58 s | 0.95 | 15 | 10 MiB, was 13 |
//! | in no order | 1.12 s | 1.28 s | 1.0 | 139 | 19 MiB, was 19 |
//!
//! * **Sorting has its own thread, and so has merging.** Buffers come back and are filled again:
//!   two stretches, three batches. There are no others, which limits memory: 1 MiB of stretches,
//!   plus what sorting one of them takes, and at the end 8 MiB of pieces of all runs. 60 million
//!   records in no order, which are 1,630 stretches of 2 MiB, also take 19 MiB. (With more than
//!   8,192 runs, of 4 GiB at least, it is 1 KiB for each.) A record that is larger than a stretch or
//!   a batch is alone in it, and the caller waits for it: with six payloads of 256 MiB, one of them
//!   is in memory in addition to the caller's.
//! * **A stretch fits into a second-level cache.** With stretches of 2 MiB, imports took 1.02 to
//!   1.1 times as long; and an import has a dozen sorters, so with 3,000,000 records of all kinds it
//!   took 86 MB instead of 52.
//! * **A stretch is sorted by the digits of its ranks**, which are times or numbers near to each
//!   other: one pass for nine bits. An import of 2,000,000 instants of 16 threads takes 0.88 of the
//!   processor time that it takes if keys are only compared, and one of scheduler events, which
//!   are mostly in order, as long.
//! * **A stretch that follows a run extends it**; if it follows several, it extends the run that
//!   ends last, as in patience sorting. If ring buffers, each in order, are flushed alternately,
//!   this makes a few runs for each buffer, not one for each stretch. By itself this saves memory
//!   and small reads rather than time: if stretches are in order anyway, all runs except one are
//!   waiting.
//! * **The run with the least key is not in the heap of the others**, and gives records as long as
//!   its key is before the first key of the heap. That is one comparison for most records, and
//!   explains the ratios above: they are nearest to 1 if most records come from another run than
//!   the previous one. It also explains why stretches are not cut if a few late records make them
//!   begin early: 138 runs then take little more time than one.
//! * **The number of the stretch orders equal keys**, because a run has its stretches in the order
//!   in which they were pushed. A number for each record would take eight bytes of memory, and at
//!   least one byte of the file.
//! * **Payloads are one after another beside the keys**, and a key has four bytes for the place of
//!   its payload; none is allocated separately. A type says whether there are payloads, so keys
//!   alone have no overhead, neither in memory nor in the file. If the payloads were in the sorted
//!   vector, sorting would have to move them, or they would need one size.
//! * **`finish` calls back.** It lends records out of a batch, so an iterator could not be an
//!   [`Iterator`]; and the caller has a thread to itself already, because merging has another one.
//!
//! Comparing keys `(i64, u64)` as one number of 128 bits was tried: it took 0.9 of the time for
//! records in no order, gained nothing elsewhere, and needed another method for every key. More
//! than one level of merging was not tried.

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
