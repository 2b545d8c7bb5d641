//! A field of a message by its path, and its value.

mod parse;

use std::borrow::Cow;

use crate::field::Value;

use crate::contents::{Slot, Values};
use crate::json::Writer;
use crate::pool::Pool;
use crate::scalar::{Scalar, scalar, unknown_scalar};
use crate::schema::{Field, Kind, MessageId, Schema};
use crate::unreadable::{MAX_DEPTH, Reason, Unreadable};
pub use parse::PathError;

/// The place of a value in a message: `interned_data.event_names[0].name`.
///
/// A step is the name of a field or, if the schema does not know the field, its number. `[2]`
/// selects one element of a list, from 0; `.key` or `['key']` selects one entry of a map. An
/// extension may have its full name, `track_event.[some.package.extension]`.
///
/// ```
/// use timebase_descriptor::{FieldValue, Path, Pool, TRACE_PACKET};
///
/// let pool = Pool::perfetto();
/// let packet = pool.message(TRACE_PACKET).unwrap();
/// let path = Path::parse(&pool, packet, "track_event.type")?;
/// // track_event { type: TYPE_SLICE_BEGIN }
/// let value = path.get(&pool, &[0x5a, 0x02, 0x48, 0x01])?;
/// assert_eq!(value, Some(FieldValue::Text("TYPE_SLICE_BEGIN".into())));
///
/// let error = Path::parse(&pool, packet, "trak_event").unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "TracePacket has no field 'trak_event'; did you mean 'track_event'?"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Path {
    root: MessageId,
    steps: Vec<Step>,
}

#[derive(Debug, Clone)]
struct Step {
    /// The step, as the path has it.
    text: String,
    number: u32,
    /// Whether the schema knows the field.
    known: bool,
    select: Option<Select>,
}

/// A value of a list or a map.
#[derive(Debug, Clone)]
enum Select {
    Index(usize),
    Key(String),
}

/// The value at a path.
#[derive(Debug, Clone, PartialEq)]
pub enum FieldValue<'a> {
    /// An integer, a boolean (0 or 1), or a value of an enum that the schema
    /// does not know.
    Integer(i64),
    /// A float or double, or the nearest real number to an integer of 2⁶³ or more.
    Real(f64),
    /// A string, or the name of an enum's value.
    Text(Cow<'a, str>),
    /// Bytes, or a field that the schema does not know.
    Bytes(&'a [u8]),
    /// A message, list or map, as in [`Pool::write_json`].
    Json(String),
}

/// The target of a step.
enum Found<'p, 'b> {
    /// All elements of a list or a map.
    All(Slot<'p, 'b>),
    One(Option<&'p Field>, Values<'b>),
}

impl Path {
    /// Reads a path that starts at a message of type `root`.
    ///
    /// # Errors
    ///
    /// If it is not a path, or if no message of the type can have such a field.
    pub fn parse(pool: &Pool, root: MessageId, text: &str) -> Result<Path, PathError> {
        let steps = parse::steps(pool, root, text)?;
        Ok(Path { root, steps })
    }

    /// The value in a message; `None` if it is not set.
    ///
    /// `pool` must be the pool for which the path was made, or an extended clone of it.
    ///
    /// # Errors
    ///
    /// If a message on the path cannot be read. The method does not read other messages.
    pub fn get<'a>(
        &self,
        pool: &'a Pool,
        bytes: &'a [u8],
    ) -> Result<Option<FieldValue<'a>>, Unreadable> {
        let mut json = String::new();
        let mut writer = Writer::new(&pool.schema, &mut json);
        let (mut message, mut values) = (self.root, Values::one(Value::Bytes(bytes)));
        let mut depth = 0usize;
        for (at, step) in self.steps.iter().enumerate() {
            let found = step
                .find(&mut writer, message, values, depth)
                .map_err(|error| self.inside(at, error))?;
            if at + 1 == self.steps.len() {
                let Some(found) = found else { return Ok(None) };
                let value = step.finish(writer, found, depth);
                let value = value.map_err(|error| self.inside(at, error))?;
                return Ok(Some(value.unwrap_or(FieldValue::Json(json))));
            }
            let Some(Found::One(Some(field), inner)) = found else {
                return Ok(None);
            };
            let Kind::Message(id) = field.kind else {
                return Ok(None);
            };
            (message, values) = (id, inner);
            depth += step.depth();
        }
        Ok(None)
    }

    /// The error of a step, as seen from the root.
    fn inside(&self, step: usize, error: Unreadable) -> Unreadable {
        let before = self.steps.get(..step).unwrap_or_default();
        before.iter().rfold(error, |error, step| error.inside(&step.text))
    }
}

impl Step {
    /// The number of messages that the path enters.
    fn depth(&self) -> usize {
        match self.select {
            Some(Select::Key(_)) => 2,
            _ => 1,
        }
    }

    fn find<'p, 'b>(
        &self,
        writer: &mut Writer<'p, 'b, '_>,
        message: MessageId,
        values: Values<'b>,
        depth: usize,
    ) -> Result<Option<Found<'p, 'b>>, Unreadable> {
        if depth > MAX_DEPTH {
            return Err(Reason::TooDeep.into());
        }
        let mark = writer.contents.mark();
        writer.contents.read(writer.schema, message, values)?;
        let Some(slot) = writer.contents.find(mark, self.number, self.known) else {
            return Ok(None);
        };
        let found = match &self.select {
            None => return Ok(Some(all(slot))),
            Some(Select::Index(index)) => element(writer, &slot, *index),
            Some(Select::Key(key)) => entry(writer, &slot, key),
        };
        found.map_err(|error| error.inside(&self.text))
    }

    /// The value of the last step; `None` if it is already written as JSON.
    fn finish<'p: 'b, 'b>(
        &self,
        mut writer: Writer<'p, 'b, '_>,
        found: Found<'p, 'b>,
        depth: usize,
    ) -> Result<Option<FieldValue<'b>>, Unreadable> {
        let (field, values) = match found {
            Found::All(slot) => return writer.slot(&slot, depth).map(|()| None),
            Found::One(field, values) => (field, values),
        };
        let value = match field {
            Some(field) => scalar(field.kind, values.first),
            None => Some(unknown_scalar(values.first)),
        };
        let Some(value) = value else { return Ok(None) };
        let value = sql_value(writer.schema, value);
        if value.is_none() {
            let written = writer.value(field, values, depth);
            written.map_err(|error| error.inside(&self.text))?;
        }
        Ok(value)
    }
}

fn all<'p, 'b>(slot: Slot<'p, 'b>) -> Found<'p, 'b> {
    let several = match slot.field {
        Some(field) => field.repeated,
        None => slot.values.next.is_some(),
    };
    if several { Found::All(slot) } else { Found::One(slot.field, slot.values) }
}

fn element<'p, 'b>(
    writer: &mut Writer<'p, 'b, '_>,
    slot: &Slot<'p, 'b>,
    index: usize,
) -> Result<Option<Found<'p, 'b>>, Unreadable> {
    let mut elements = writer.contents.elements(slot);
    let mut wanted = None;
    let mut at = 0usize;
    // It reads to the end, so a list is as readable here as in JSON.
    while let Some(value) = elements.next(&writer.contents)? {
        if at == index {
            wanted = Some(Found::One(slot.field, Values::one(value)));
        }
        at += 1;
    }
    Ok(wanted)
}

fn entry<'p, 'b>(
    writer: &mut Writer<'p, 'b, '_>,
    slot: &Slot<'p, 'b>,
    wanted: &str,
) -> Result<Option<Found<'p, 'b>>, Unreadable> {
    let Some(field) = slot.field else {
        return Ok(None);
    };
    let Some((key, value)) = writer.schema.map_entry(field) else {
        return Ok(None);
    };
    let mut elements = writer.contents.elements(slot);
    let mut last = None;
    while let Some(entry) = elements.next(&writer.contents)? {
        if writer.entry_key(field, key, entry)? == wanted {
            last = Some(entry);
        }
    }
    let Some(entry) = last else { return Ok(None) };
    let values = writer.entry_value(field, value, entry)?;
    Ok(Some(Found::One(Some(value), values)))
}

/// A value as an SQL value; `None` for a message.
fn sql_value<'a>(schema: &'a Schema, value: Scalar<'a>) -> Option<FieldValue<'a>> {
    Some(match value {
        Scalar::Message(_) => return None,
        Scalar::Signed(value) => FieldValue::Integer(value),
        Scalar::Unsigned(value) => unsigned(value),
        Scalar::Bool(value) => FieldValue::Integer(value.into()),
        Scalar::Float(value) => FieldValue::Real(value.into()),
        Scalar::Double(value) => FieldValue::Real(value),
        Scalar::Text(text) => FieldValue::Text(String::from_utf8_lossy(text)),
        Scalar::Bytes(bytes) => FieldValue::Bytes(bytes),
        Scalar::Enum(id, number) => match schema.enum_name(id, number) {
            Some(name) => FieldValue::Text(name.into()),
            None => FieldValue::Integer(number.into()),
        },
    })
}

/// An SQL integer has 63 bits and a sign.
#[allow(clippy::cast_precision_loss)]
fn unsigned<'a>(value: u64) -> FieldValue<'a> {
    match i64::try_from(value) {
        Ok(value) => FieldValue::Integer(value),
        Err(_) => FieldValue::Real(value as f64),
    }
}
