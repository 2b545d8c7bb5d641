//! Reads the text of a trace in Chrome's JSON format: events and members, one after the other.
//!
//! | question | decided in |
//! |---|---|
//! | whether a text is such a trace (rule JS1) | `recognize.rs` |
//! | which pieces a trace has (rules JS2, JS4, JS8) | `pieces.rs` |
//! | whether a value is valid, and its end (rule JS3) | `scan.rs` |
//! | the next event after damage (rule JS4) | `find.rs` |
//! | the parts of a value | `value.rs` |
//! | pieces for another thread | `batch.rs` |
//! | the characters of a string (rule JS6) | `text.rs` |
//! | numbers, times and ids (rules JS5, JS9, JS14, JS15) | `number.rs` |
//! | the bytes in memory | `input.rs` |
//!
//! This module knows nothing about the meaning of an event.
//!
//! ```
//! use timebase_trace::json::{JsonPieces, Piece, nanoseconds};
//!
//! let text = br#"[{"ph":"i","ts":1.5,"pid":1,"tid":1},{"ph":"i","ts""#;
//! let mut pieces = JsonPieces::new(&text[..]);
//!
//! let Some(Piece::Event { value, .. }) = pieces.next()? else { panic!() };
//! let (_, ts) = value.members().find(|(key, _)| key.is("ts")).unwrap();
//! assert_eq!(nanoseconds(ts), Ok(1500));
//!
//! let Some(Piece::Damage { offset, is_cut, .. }) = pieces.next()? else { panic!() };
//! assert_eq!((offset, is_cut), (37, true));
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # Design
//!
//! A validator looks at each byte once, as bytes arrive, and keeps one bit for each open object and
//! list. Only the text of one event is in memory. After that the text is known to be valid, so
//! looking for its members needs no errors.
//!
//! The alternative was a reader from a crate. The times in which they find the members of a million events of PyTorch's
//! profiler (241 MB, in memory), as ratios to serde_json with a struct that owns its fields, measured side by side:
//!
//! | reader | time | |
//! |---|---|---|
//! | jiter, skipping values | 0.25 | needs the whole text in memory, and validates it by other rules |
//! | serde_json, members as raw text | 0.36 | as jiter; its reader for streams cannot lend text |
//! | this module | 0.36 | |
//! | sonic-rs, lazy values | 0.70 | as jiter |
//! | simd-json, a tape | 1.0 | as jiter; it changes the text, so the offsets and digits of numbers are lost |
//! | struson | 1.3 | reads a stream, but refuses what rule JS3 tolerates |
//!
//! All of them refuse some of what rule JS3 tolerates (`NaN`, `007`, control characters, a comma before an end), and none can
//! go on after an error.

mod batch;
mod find;
mod input;
mod number;
mod pieces;
mod recognize;
mod scan;
#[cfg(test)]
mod tests;
mod text;
mod value;

pub use batch::{Batch, Place};
pub use number::{Integer, NoTime, Number, integer, nanoseconds};
pub use pieces::{JsonPieces, LIMIT, Piece};
pub use recognize::{Recognized, recognizes};
pub use value::{Items, Key, Kind, Members, Token, Value, Walk};
