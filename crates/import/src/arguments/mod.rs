//! Arguments of events: the fields of a message, in a compact form that follows the event through
//! the timeline, and the way to merge the arguments of two events (rules A).
//!
//! | subject | file |
//! |---|---|
//! | the compact form | `set.rs` |
//! | how a slice's end continues the lists of its begin (rule A5) | `merge.rs` |
//! | the tools of every decoder | `decoder.rs` |
//! | the arguments of an event, and their order (rule A8) | `decode.rs` |
//! | debug annotations (rules A4, A5, A7) | `annotations.rs` |
//! | debug annotations that are JSON (rule A6) | `json.rs` |
//! | arguments of events of JSON traces (rule JS25) | `trace_json.rs` |
//! | messages by their schema (rules A9, A10) | `messages.rs` |
//! | a key that is being built | `key.rs` |
//! | events whose schema is known only later | `late.rs` |
//! | messages that become rows (rules WS2, WS3) | `statement.rs` |
//!
//! # Design
//!
//! Arguments are decoded when the packet is read, because only then the meaning of interned numbers
//! is known. They become bytes: each has a key, a type and a value. A frequent key is a number,
//! because there are few keys and many arguments; a text is stored as it is. The alternative was to
//! pass the message on, and to decode it in the order of time. Then the entries of all intervals
//! would have to be kept to the end.
//!
//! A later argument replaces an earlier one with the same key (rule A1). But nothing is replaced in
//! the bytes: later values come after earlier ones, and the final reader takes the last value of
//! each key. So adding an argument only appends bytes, and so does merging the arguments of a
//! slice's end with those of its begin, unless there are lists.

mod annotations;
mod decode;
mod decoder;
mod json;
mod key;
mod late;
mod merge;
mod messages;
mod set;
mod statement;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) mod testing;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
mod trace_json;
mod translate;

pub(crate) use decode::decode;
pub(crate) use decoder::{EventArgs, Interning};
pub(crate) use late::LateDecoder;
pub(crate) use merge::merge;
pub(crate) use set::{ArgBuf, ArgValue, Args, EntryContent};
pub(crate) use statement::{Choice, Iids, NoIids, StatementArgs};
pub(crate) use trace_json::JsonArgs;
pub(crate) use translate::with_names;
