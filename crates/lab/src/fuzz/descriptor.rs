//! Descriptors, and packets that are read with them.

use prost::Message as _;
use prost_types::FileDescriptorSet;
use serde_json::Value as Json;
use timebase_descriptor::{FieldValue, MessageId, Path, Pool, TRACE_PACKET};

/// Extends a schema by a descriptor, and reads a message with it: the whole message, and the value
/// at a path.
///
/// The bytes are the sizes of descriptor and message, in two bytes each, then both, and the path.
/// If the extension fails, the schema does not change; the message as JSON is valid JSON; and a
/// value at a path equals the one in the JSON.
///
/// ```
/// timebase_lab::fuzz::descriptor(b"\0\0\x02\0\x40\x01timestamp");
/// ```
pub fn descriptor(bytes: &[u8]) {
    let Some((sizes, rest)) = bytes.split_first_chunk::<4>() else {
        return;
    };
    let [a, b, c, d] = *sizes;
    let (descriptor, rest) = cut(rest, u16::from_le_bytes([a, b]));
    let (message, path) = cut(rest, u16::from_le_bytes([c, d]));
    let path = String::from_utf8_lossy(path);

    let mut pool = Pool::perfetto();
    let packet = pool.message(TRACE_PACKET).unwrap();
    read(&pool, packet, message, &path);
    if descriptor.is_empty() {
        return;
    }
    let as_message = pool.clone().add_message(descriptor);
    if pool.extend(descriptor).is_ok() {
        read(&pool, packet, message, &path);
    }
    // Also the messages of the descriptor, in a schema without anything else.
    let mut own = Pool::default();
    if own.extend(descriptor).is_ok() {
        for name in names(descriptor) {
            if let Some(id) = own.message(&name) {
                assert_eq!(own.message_name(id), name);
                read(&own, id, message, &path);
            }
        }
    }
    if as_message.is_ok() {
        let mut own = Pool::default();
        if let Ok(id) = own.add_message(descriptor) {
            read(&own, id, message, &path);
        }
    }
}

fn cut(bytes: &[u8], size: u16) -> (&[u8], &[u8]) {
    bytes.split_at(usize::from(size).min(bytes.len()))
}

/// The names of the first few messages of a descriptor.
fn names(descriptor: &[u8]) -> Vec<String> {
    let Ok(set) = FileDescriptorSet::decode(descriptor) else {
        return Vec::new();
    };
    let files = set.file.iter().flat_map(|file| {
        let package = file.package();
        let messages = file.message_type.iter();
        messages.map(move |message| match package {
            "" => message.name().to_owned(),
            _ => format!("{package}.{}", message.name()),
        })
    });
    files.take(3).collect()
}

fn read(pool: &Pool, message: MessageId, bytes: &[u8], path: &str) {
    let mut json = "before".to_owned();
    let written = pool.write_json(message, bytes, &mut json);
    let json = json.strip_prefix("before").unwrap();
    let parsed = written.is_ok().then(|| parse(json));
    if written.is_err() {
        assert_eq!(json, "");
    }
    one(pool, message, bytes, path, parsed.as_ref());
    // The paths of all values.
    if let Some(Json::Object(fields)) = &parsed {
        for (name, value) in fields.iter().take(8) {
            if name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
                one(pool, message, bytes, name, parsed.as_ref());
            }
            if let Json::Array(values) = value {
                let last = values.len().saturating_sub(1);
                one(pool, message, bytes, &format!("{name}[{last}]"), parsed.as_ref());
            }
        }
    }
}

fn parse(json: &str) -> Json {
    serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {json}"))
}

/// Looks up a value; if the path is also valid for the JSON, the result must be the same.
fn one(pool: &Pool, message: MessageId, bytes: &[u8], path: &str, json: Option<&Json>) {
    let Ok(parsed) = Path::parse(pool, message, path) else {
        return;
    };
    // If the message as a whole cannot be read, a path may still find its value.
    let Ok(found) = parsed.get(pool, bytes) else {
        assert!(json.is_none(), "{path} cannot be read, and all of it can");
        return;
    };
    if let Some(FieldValue::Json(text)) = &found {
        parse(text);
    }
    let (Some(json), Some(pointer)) = (json, pointer(path)) else {
        return;
    };
    match (json.pointer(&pointer), found) {
        (None | Some(Json::Null), None) => {}
        (Some(Json::Null), Some(FieldValue::Real(value))) => assert!(!value.is_finite(), "{path}"),
        (Some(expected), Some(FieldValue::Json(text))) => {
            assert_eq!(*expected, parse(&text), "{path}")
        }
        (Some(Json::String(expected)), Some(FieldValue::Text(text))) => {
            assert_eq!(*expected, text, "{path}")
        }
        (Some(Json::String(_)), Some(FieldValue::Bytes(_))) => {}
        // Infinite numbers are texts in JSON.
        (Some(Json::String(_)), Some(FieldValue::Real(value))) => {
            assert!(!value.is_finite(), "{path}")
        }
        (Some(Json::Bool(expected)), Some(FieldValue::Integer(value))) => {
            assert_eq!(i64::from(*expected), value, "{path}");
        }
        (Some(Json::Number(expected)), Some(FieldValue::Integer(value))) => {
            assert_eq!(expected.as_i64(), Some(value), "{path}");
        }
        (Some(Json::Number(expected)), Some(FieldValue::Real(value))) => {
            let expected = expected.as_f64().unwrap();
            assert!(
                expected == value || expected as f32 == value as f32,
                "{path}: {expected} and {value}"
            );
        }
        (expected, found) => panic!("{path}: JSON has {expected:?}, the path {found:?}"),
    }
}

/// The same path in JSON, which only has names and indices.
fn pointer(path: &str) -> Option<String> {
    let mut pointer = String::new();
    for step in path.split('.') {
        let (name, index) = match step.split_once('[') {
            Some((name, index)) => (name, Some(index.strip_suffix(']')?)),
            None => (step, None),
        };
        // A number is the number of a field, even if the field has a name.
        let is_name = |c: char| c.is_ascii_alphabetic() || c == '_';
        if !name.starts_with(is_name) || !name.chars().all(|c| is_name(c) || c.is_ascii_digit()) {
            return None;
        }
        pointer = pointer + "/" + name;
        if let Some(index) = index {
            let is_number = !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit());
            if !is_number || index.len() > 1 && index.starts_with('0') {
                return None;
            }
            pointer = pointer + "/" + index;
        }
    }
    Some(pointer)
}
