//! The messages of a Perfetto trace, read by their schema.
mod contents;
mod extend;
mod json;
mod path;
mod pool;
mod scalar;
mod schema;
#[cfg(feature = "sql")]
pub mod sql;
mod unreadable;

pub use extend::DescriptorError;
pub use path::{FieldValue, Path, PathError};
pub use pool::{Pool, TRACE_PACKET};
pub use schema::{EnumId, Field, Kind, MessageId};
pub use unreadable::{Reason, Unreadable};

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
