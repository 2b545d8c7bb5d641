//! A `GenericFtraceEvent`: an event of a kind that no schema knows, with its name and the names of
//! its arguments.

use serde_json::{Map, Value as Json};
use timebase_descriptor::field::{Fields, Malformed, Value};
use timebase_schema::fields::{generic_ftrace_event as event, generic_ftrace_event_field as field};

/// The name and the arguments of a `GenericFtraceEvent`, which has the names itself.
pub(super) fn read(message: &[u8]) -> Result<(String, Json), Malformed> {
    let mut name = String::new();
    let mut args = Map::new();
    let mut fields = Fields::new(message);
    while let Some((number, value)) = fields.next()? {
        match (number, value) {
            (event::EVENT_NAME, Value::Bytes(text)) => {
                name = String::from_utf8_lossy(text).into_owned()
            }
            (event::FIELD, Value::Bytes(field)) => {
                let (name, value) = argument(field)?;
                args.insert(name, value);
            }
            _ => {}
        }
    }
    Ok((name, Json::Object(args)))
}

fn argument(message: &[u8]) -> Result<(String, Json), Malformed> {
    let (mut name, mut json) = (String::new(), Json::Null);
    let mut fields = Fields::new(message);
    while let Some((number, value)) = fields.next()? {
        match (number, value) {
            (field::NAME, Value::Bytes(text)) => name = String::from_utf8_lossy(text).into_owned(),
            (field::STR_VALUE, Value::Bytes(text)) => json = String::from_utf8_lossy(text).into(),
            (field::INT_VALUE, Value::Varint(value)) => json = (value as i64).into(),
            (field::UINT_VALUE, Value::Varint(value)) => json = value.into(),
            _ => {}
        }
    }
    Ok((name, json))
}
