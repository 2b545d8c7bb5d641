//! Reads the messages of a Perfetto trace by their schema: a message as JSON, or one
//! value by its path.
//!
//! | question | decided in |
//! |---|---|
//! | which messages are known | `pool.rs` |
//! | what the schema says about a field | `schema.rs` |
//! | how a trace's own definitions are added | `extend.rs` |
//! | which values a field of a message has | `contents.rs` |
//! | what a single value means | `scalar.rs` |
//! | how a message looks as JSON, and in protobuf's text format | `json.rs`, `text.rs` |
//! | which paths are valid, and where they lead | `path/parse.rs`, `path.rs` |
//!
//! See [`Pool`] and [`Path`] for examples. The module [`field`] walks the fields of any
//! message without copying. Nothing here depends on SQLite.
//!
//! The JSON equals that of Python's `MessageToDict(preserving_proto_field_name=True)`,
//! with these exceptions: 64-bit integers are numbers; an unknown field has its number
//! as its name; an unknown value of an enum is a number; an extension has its short
//! name, unless another field has it; invalid UTF-8 is replaced; an entry of a map
//! counts even if it has unknown fields.
//!
//! # Design
//!
//! The schema is data: the library contains 272 KiB of descriptors, and reads messages with them.
//! This adds four seconds to a clean release build on two cores, and 4.4 ms to the first use. These
//! alternatives were rejected:
//!
//! * the crate `perfetto_protos`, which generates code for every message. It takes 110 seconds to
//!   build, follows Perfetto late (0.51 when Perfetto is at 0.59), and cannot read the extensions
//!   that a trace itself describes;
//! * `prost-reflect`, which needs a complete set of files without contradictions. Descriptors in
//!   traces import files that the trace does not contain, and define existing names again; Perfetto
//!   merges them leniently, and so does `extend.rs`.
//!
//! A message is read in two steps: the first collects the values of all its fields, the second
//! writes them. The alternative was to write each value as it comes. But a later value may replace
//! an earlier one, or belong to the same list, and the output would have to be taken back. A path
//! only uses the first step, so it cannot disagree with the JSON.

mod contents;
mod extend;
pub mod field;
mod json;
mod path;
mod pool;
mod scalar;
mod schema;
mod text;
mod unreadable;

pub use extend::DescriptorError;
pub use json::quote;
pub use path::{FieldValue, Path, PathError};
pub use pool::{Pool, TRACE_PACKET};
pub use scalar::{Scalar, Scalars};
pub use schema::{EnumId, Field, Kind, MessageId};
pub use unreadable::{Reason, Unreadable};

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
