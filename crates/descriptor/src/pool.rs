//! The known messages.

use std::sync::{Arc, OnceLock};

use crate::field::Value;
use prost::Message as _;
use prost_types::{DescriptorProto, FileDescriptorSet};
use timebase_schema::PERFETTO_DESCRIPTOR;

use crate::contents::Values;
use crate::extend::{self, DescriptorError};
use crate::json::Writer;
use crate::schema::{Definition, EnumId, Field, MessageId, Schema};
use crate::text::TextWriter;
use crate::unreadable::Unreadable;

/// The message type of every packet in a trace.
pub const TRACE_PACKET: &str = "perfetto.protos.TracePacket";

/// A set of message types that refer to each other.
///
/// The default pool is empty. A clone costs next to nothing, and the original does not see the
/// extensions of a clone.
///
/// ```
/// use timebase_descriptor::{Pool, TRACE_PACKET};
///
/// let pool = Pool::perfetto();
/// let packet = pool.message(TRACE_PACKET).unwrap();
/// let mut json = String::new();
/// pool.write_json(packet, &[0x40, 0xd0, 0x08], &mut json)?;
/// assert_eq!(json, r#"{"timestamp":1104}"#);
/// # Ok::<(), timebase_descriptor::Unreadable>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Pool {
    pub(crate) schema: Arc<Schema>,
}

impl Pool {
    /// The schema of Perfetto traces, without the additions of a trace.
    ///
    /// It is read at the first call.
    pub fn perfetto() -> Pool {
        static POOL: OnceLock<Pool> = OnceLock::new();
        let read = || {
            let mut pool = Pool::default();
            // A test proves that the embedded file is valid. If it were not, every field would
            // appear under its number.
            let _ = pool.extend(PERFETTO_DESCRIPTOR);
            pool
        };
        POOL.get_or_init(read).clone()
    }

    /// Adds a serialized `google.protobuf.FileDescriptorSet`.
    ///
    /// Imports are ignored: a name may refer to anything in the pool. If a field or an enum's value
    /// has two definitions, the first one counts. An extension of an unknown message is skipped.
    ///
    /// ```
    /// let mut pool = timebase_descriptor::Pool::perfetto();
    /// assert!(pool.extend(b"no descriptor").is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// If it cannot be read, or if a field has an unknown type. The pool is then unchanged.
    pub fn extend(&mut self, file_descriptor_set: &[u8]) -> Result<(), DescriptorError> {
        let set = FileDescriptorSet::decode(file_descriptor_set)?;
        let mut schema = Schema::clone(&self.schema);
        extend::by_files(&mut schema, &set)?;
        self.schema = Arc::new(schema);
        Ok(())
    }

    /// Adds a message that describes itself: a serialized
    /// `google.protobuf.DescriptorProto`, as in ftrace's
    /// `generic_event_descriptors`.
    ///
    /// Only its id finds it, so any number of messages may have the same name.
    ///
    /// ```
    /// // message Wakeup { optional int32 cpu = 1; }
    /// let wakeup = b"\x0a\x06Wakeup\x12\x0b\x0a\x03cpu\x18\x01\x20\x01\x28\x05";
    /// let mut pool = timebase_descriptor::Pool::perfetto();
    /// let wakeup = pool.add_message(wakeup)?;
    /// assert_eq!(pool.message_name(wakeup), "Wakeup");
    /// assert_eq!(pool.field(wakeup, 1).unwrap().name, "cpu");
    /// # Ok::<(), timebase_descriptor::DescriptorError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If it cannot be read, or if a field has an unknown type. The pool is then unchanged.
    pub fn add_message(&mut self, descriptor_proto: &[u8]) -> Result<MessageId, DescriptorError> {
        let message = DescriptorProto::decode(descriptor_proto)?;
        extend::by_message(Arc::make_mut(&mut self.schema), &message)
    }

    /// A message by its full name, without a leading dot.
    ///
    /// ```
    /// let pool = timebase_descriptor::Pool::perfetto();
    /// assert!(pool.message("perfetto.protos.FtraceEvent").is_some());
    /// assert!(pool.message("FtraceEvent").is_none());
    /// ```
    pub fn message(&self, full_name: &str) -> Option<MessageId> {
        match self.schema.names.get(full_name) {
            Some(&Definition::Message(id)) => Some(id),
            _ => None,
        }
    }

    /// The full name of a message; empty if this pool does not have it.
    pub fn message_name(&self, message: MessageId) -> &str {
        self.schema.message(message).map_or("", |message| message.name.as_str())
    }

    /// A field of a message by its number.
    #[inline]
    pub fn field(&self, message: MessageId, number: u32) -> Option<&Field> {
        self.schema.field(message, number)
    }

    /// All fields of a message by their numbers; none if this pool does not have it.
    ///
    /// ```
    /// use timebase_descriptor::Pool;
    ///
    /// let pool = Pool::perfetto();
    /// let rect = pool.message("perfetto.protos.RectProto").unwrap();
    /// let names: Vec<&str> = pool.fields(rect).iter().map(|field| field.name.as_str()).collect();
    /// assert_eq!(names, ["left", "top", "right", "bottom"]);
    /// ```
    pub fn fields(&self, message: MessageId) -> &[Field] {
        self.schema.message(message).map_or(&[], |message| &message.fields)
    }

    /// Whether a message describes the entries of a map.
    ///
    /// ```
    /// use timebase_descriptor::Pool;
    ///
    /// let pool = Pool::perfetto();
    /// let entry = pool.message("perfetto.protos.LayerProto.MetadataEntry").unwrap();
    /// assert!(pool.is_map_entry(entry));
    /// ```
    pub fn is_map_entry(&self, message: MessageId) -> bool {
        self.schema.message(message).is_some_and(|message| message.map_entry)
    }

    /// A field of a message by its name. The name of an extension has no scope; if that is
    /// ambiguous, it is the full name in brackets.
    ///
    /// ```
    /// use timebase_descriptor::{Pool, TRACE_PACKET};
    ///
    /// let pool = Pool::perfetto();
    /// let packet = pool.message(TRACE_PACKET).unwrap();
    /// assert_eq!(pool.field_by_name(packet, "track_event").unwrap().number, 11);
    /// ```
    pub fn field_by_name(&self, message: MessageId, name: &str) -> Option<&Field> {
        let fields = &self.schema.message(message)?.fields;
        match name.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
            Some(full) => fields.iter().find(|field| field.extension.as_deref() == Some(full)),
            None => fields.iter().find(|field| field.step() == name),
        }
    }

    /// The name of a number in an enum.
    ///
    /// ```
    /// use timebase_descriptor::{Kind, Pool};
    ///
    /// let pool = Pool::perfetto();
    /// let event = pool.message("perfetto.protos.TrackEvent").unwrap();
    /// let Kind::Enum(types) = pool.field_by_name(event, "type").unwrap().kind else {
    ///     unreachable!()
    /// };
    /// assert_eq!(pool.enum_name(types, 1), Some("TYPE_SLICE_BEGIN"));
    /// assert_eq!(pool.enum_name(types, 100), None);
    /// ```
    pub fn enum_name(&self, id: EnumId, number: i32) -> Option<&str> {
        self.schema.enum_name(id, number)
    }

    /// Appends a message to `out`, as a JSON object.
    ///
    /// Fields have the names of the schema, in the order in which they occur; missing fields are
    /// left out. 64-bit integers are numbers, enums are names, bytes are base64. A field that the
    /// schema does not know has its number as its name, and is an unsigned number or base64.
    ///
    /// # Errors
    ///
    /// If it cannot be read as a message of this type, or if messages are nested more than 100
    /// deep. `out` is then unchanged.
    pub fn write_json(
        &self,
        message: MessageId,
        bytes: &[u8],
        out: &mut String,
    ) -> Result<(), Unreadable> {
        let before = out.len();
        let written =
            Writer::new(&self.schema, out).message(message, Values::one(Value::Bytes(bytes)), 0);
        written.inspect_err(|_| out.truncate(before))
    }

    /// Appends a message to `out`, in protobuf's text format.
    ///
    /// Fields have the names of the schema, in the order in which they occur and as often as they
    /// occur. A field that the schema does not know has its number as its name, and so has an enum
    /// with an unknown value.
    ///
    /// ```
    /// let pool = timebase_descriptor::Pool::perfetto();
    /// let config = pool.message("perfetto.protos.TraceConfig").unwrap();
    /// let mut text = String::new();
    /// pool.write_text(config, &[0x0a, 0x02, 0x20, 0x02, 0x18, 0x05], &mut text)?;
    /// assert_eq!(text, "buffers {\n  fill_policy: DISCARD\n}\nduration_ms: 5");
    /// # Ok::<(), timebase_descriptor::Unreadable>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If it cannot be read as a message of this type, if messages are nested more than 100 deep, or
    /// if the text would have more than 16 MiB. `out` is then unchanged.
    pub fn write_text(
        &self,
        message: MessageId,
        bytes: &[u8],
        out: &mut String,
    ) -> Result<(), Unreadable> {
        let start = out.len();
        let mut writer = TextWriter { schema: &self.schema, out, start };
        let written = writer.message(message, bytes, 0);
        written.inspect_err(|_| out.truncate(start))
    }
}
