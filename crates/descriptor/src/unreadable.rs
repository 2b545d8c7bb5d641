//! The reason why a message cannot be read.

use crate::field::Malformed;

/// The limit for nested messages, as in protobuf's own libraries.
pub(crate) const MAX_DEPTH: usize = 100;

/// The limit for values of a message and of the messages around it. A value takes a hundred bytes
/// of memory, and two in the message.
pub(crate) const MOST_VALUES: usize = 1 << 23;

/// The limit of JSON in bytes: one byte of a message can become a name of thirty bytes.
pub(crate) const MOST_JSON: usize = 512 << 20;

/// The limit of protobuf's text format in bytes: two bytes of a message that is inside a hundred others
/// can become a line of two hundred blanks.
pub(crate) const MOST_TEXT: usize = 16 << 20;

/// The reason why bytes are not a message of the expected type.
///
/// ```
/// use timebase_descriptor::{Pool, TRACE_PACKET};
///
/// let pool = Pool::perfetto();
/// let packet = pool.message(TRACE_PACKET).unwrap();
/// // A track_event of two bytes, the second field of which is cut off.
/// let error = pool.write_json(packet, &[0x5a, 0x01, 0x48], &mut String::new());
/// assert_eq!(
///     error.unwrap_err().to_string(),
///     "track_event: the message ends inside a field that starts at byte 0"
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}{}{reason}", if path.is_empty() { "" } else { ": " })]
pub struct Unreadable {
    /// The path of the unreadable field, `track_event.type`; empty if it is the message itself.
    pub path: String,
    /// The problem. Offsets count from the start of that field's value.
    pub reason: Reason,
}

/// The problem in a message or a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// The bytes do not follow the wire format.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// A packed list ends inside an element.
    #[error("the list ends inside an element that starts at byte {at}")]
    CutList {
        /// The offset of the element in the list.
        at: usize,
    },
    /// A number of a packed list has more than 64 bits.
    #[error("a number at byte {at} of the list has more than 64 bits")]
    LongNumber {
        /// The offset of the number in the list.
        at: usize,
    },
    /// Messages are nested too deep.
    #[error("messages are nested more than {MAX_DEPTH} deep")]
    TooDeep,
    /// There are more values than the limit for memory.
    #[error("there are more than {MOST_VALUES} values")]
    TooMany,
    /// The text is larger than its limit.
    #[error("as JSON it has more than {MOST_JSON} bytes")]
    TooLong,
    /// Protobuf's text format of it is larger than its limit.
    #[error("in protobuf's text format it has more than {MOST_TEXT} bytes")]
    TooLongAsText,
}

impl<T: Into<Reason>> From<T> for Unreadable {
    fn from(reason: T) -> Self {
        Unreadable { path: String::new(), reason: reason.into() }
    }
}

impl Unreadable {
    /// The same error, as seen from the message that has the field.
    pub(crate) fn inside(mut self, step: &str) -> Self {
        let separator = if self.path.is_empty() { "" } else { "." };
        self.path = format!("{step}{separator}{}", self.path);
        self
    }
}
