//! Arguments of events: what a message says, in a compact form that goes behind an
//! event through the timeline; and what comes of two of them (rules A).
//!
//! | question | where it is decided |
//! |---|---|
//! | what the compact form is | `set.rs` |
//! | where the lists of a slice's end go on (rule A5) | `merge.rs` |
//! | what a decoder has in its hands | `decoder.rs` |
//! | what an event says itself, and in which order (rule A8) | `decode.rs` |
//! | what debug annotations are (rules A4, A5, A7) | `annotations.rs` |
//! | what those are that are JSON (rule A6) | `json.rs` |
//! | what messages are by their schema (rules A9, A10) | `messages.rs` |
//! | what a key is while it is being made | `key.rs` |
//! | the same, when the schema is known that was not then | `late.rs` |
//!
//! # Design
//!
//! Arguments are decoded where the packet is read, for what numbers of interned data
//! stand for is known only there. They go on as bytes, each a key, a type and a value:
//! a key that many have is a number, as there are few keys and many arguments; a text is
//! there as it is. To hand on the message, and to decode it in the order of time, was
//! the alternative: the entries of all intervals would have to be kept to the end.
//!
//! What comes later replaces what has the same key (rule A1). But nothing is replaced
//! in the bytes, where later values stand behind earlier ones; who reads all of them in
//! the end takes the last of a key. So to add is to append, and so is to put the
//! arguments of a slice's end to those of its begin, unless there are lists.

mod annotations;
mod decode;
mod decoder;
mod json;
mod key;
mod late;
mod merge;
mod messages;
mod set;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) mod testing;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
mod translate;

pub(crate) use decode::decode;
pub(crate) use decoder::{EventArgs, Interning};
pub(crate) use late::LateDecoder;
pub(crate) use merge::merge;
pub(crate) use set::{ArgBuf, ArgValue, Args, What};
pub(crate) use translate::with_names;
