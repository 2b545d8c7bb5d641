//! Random messages: no bytes do harm, and a path has the same value as the JSON.

use std::iter::repeat_with;

use crate::field::WireType;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use serde_json::Value as Json;

use super::everything::{self, Bytes, bytes};
use crate::schema::Schema;
use crate::{Field, FieldValue, Kind, MessageId, Path, Pool, TRACE_PACKET};

/// A source of numbers that depend on a seed.
struct Dice(u64);

impl Dice {
    /// splitmix64
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, end: usize) -> usize {
        (self.roll() % end.max(1) as u64) as usize
    }

    /// Any size, but more often small.
    fn number(&mut self) -> u64 {
        let shift = self.below(64) as u32;
        self.roll() >> shift
    }
}

/// A message with some of the fields of its type, in any order, some of them several times, some in
/// a wrong form.
fn random_message(schema: &Schema, id: MessageId, dice: &mut Dice, depth: usize) -> Bytes {
    let fields = &schema.message(id).unwrap().fields;
    let some: Vec<&Field> =
        repeat_with(|| fields.get(dice.below(fields.len()))).take(4).flatten().collect();
    let mut message = bytes();
    for _ in 0..dice.below(8) {
        message = match some.get(dice.below(5)) {
            Some(field) => random_field(message, schema, field, dice, depth),
            None => random_value(message, 1000, WireType::Varint, b"hi", dice),
        };
    }
    message
}

fn random_field(
    message: Bytes,
    schema: &Schema,
    field: &Field,
    dice: &mut Dice,
    depth: usize,
) -> Bytes {
    let inner = match field.kind {
        Kind::Message(id) if depth < 5 => random_message(schema, id, dice, depth + 1).0,
        Kind::Message(_) => vec![],
        Kind::Float => dice.roll().to_le_bytes().to_vec(),
        _ => vec![b'a' + dice.below(3) as u8, b'.'],
    };
    let any = [WireType::Varint, WireType::Fixed64, WireType::Fixed32];
    let wire_type = match dice.below(20) {
        0 => any[dice.below(3)],
        1..8 if field.repeated && field.kind.wire_type() == WireType::Varint => WireType::Bytes,
        _ => field.kind.wire_type(),
    };
    random_value(message, field.number, wire_type, &inner, dice)
}

fn random_value(
    message: Bytes,
    number: u32,
    wire_type: WireType,
    inner: &[u8],
    dice: &mut Dice,
) -> Bytes {
    match wire_type {
        WireType::Varint => message.varint(number, dice.number()),
        WireType::Fixed64 => message.fixed64(number, dice.roll()),
        WireType::Fixed32 => message.fixed32(number, dice.roll() as u32),
        WireType::Bytes => message.bytes(number, inner),
    }
}

/// Compares everything in a JSON object, and everything missing in it, with the results of paths.
struct Comparison<'a> {
    pool: &'a Pool,
    root: MessageId,
    message: &'a [u8],
}

impl Comparison<'_> {
    fn get(&self, path: &str) -> Option<FieldValue<'_>> {
        let parsed = Path::parse(self.pool, self.root, path).unwrap();
        parsed.get(self.pool, self.message).unwrap()
    }

    fn message(&self, id: MessageId, prefix: &str, json: &Json) {
        let fields = &self.pool.schema.message(id).unwrap().fields;
        for field in fields {
            let path = format!("{prefix}{}", field.name);
            match json.get(&field.name) {
                Some(json) => self.field(field, &path, json),
                None => assert_eq!(self.get(&path), None, "{path}"),
            }
        }
        for (key, json) in json.as_object().unwrap() {
            if key.parse().is_ok_and(|number| self.pool.field(id, number).is_none()) {
                self.value(&format!("{prefix}{key}"), json);
            }
        }
    }

    fn field(&self, field: &Field, path: &str, json: &Json) {
        self.value(path, json);
        let kind = match self.pool.schema.map_entry(field) {
            Some((_, value)) => value.kind,
            None => field.kind,
        };
        match json {
            Json::Array(list) => {
                for (index, json) in list.iter().enumerate() {
                    self.one(kind, &format!("{path}[{index}]"), json);
                }
                assert_eq!(self.get(&format!("{path}[{}]", list.len())), None);
            }
            Json::Object(map) if field.repeated => {
                for (key, json) in map {
                    self.one(kind, &format!("{path}['{key}']"), json);
                }
            }
            _ => self.one(kind, path, json),
        }
    }

    fn one(&self, kind: Kind, path: &str, json: &Json) {
        self.value(path, json);
        if let Kind::Message(id) = kind {
            self.message(id, &format!("{path}."), json);
        }
    }

    fn value(&self, path: &str, json: &Json) {
        let value = self.get(path).unwrap();
        let same = match (&value, json) {
            (FieldValue::Integer(value), Json::Bool(json)) => *value == i64::from(*json),
            (FieldValue::Integer(value), json) => json.as_i64() == Some(*value),
            (FieldValue::Real(value), Json::Number(json)) => {
                same_real(*value, json.as_f64().unwrap())
            }
            (FieldValue::Real(value), json) => not_finite(*value) == json.as_str(),
            (FieldValue::Text(value), json) => json.as_str() == Some(value),
            (FieldValue::Bytes(value), json) => json.as_str() == Some(&STANDARD.encode(value)),
            (FieldValue::Json(value), json) => {
                serde_json::from_str::<Json>(value).unwrap() == *json
            }
        };
        assert!(same, "{path}: {value:?} is not {json}");
    }
}

/// A float is shorter in JSON than as a double in SQL.
fn same_real(value: f64, json: f64) -> bool {
    value == json || value as f32 == json as f32 && f64::from(value as f32) == value
}

fn not_finite(value: f64) -> Option<&'static str> {
    Some(match value {
        f64::INFINITY => "Infinity",
        f64::NEG_INFINITY => "-Infinity",
        value if value.is_nan() => "NaN",
        _ => return None,
    })
}

fn paths_agree_with_json(pool: &Pool, root: MessageId, seed: u64) {
    let message = random_message(&pool.schema, root, &mut Dice(seed), 0).0;
    let mut text = String::new();
    pool.write_json(root, &message, &mut text).unwrap();
    let json: Json = serde_json::from_str(&text).unwrap();
    let comparison = Comparison { pool, root, message: &message };
    comparison.message(root, "", &json);
}

fn read_all(pool: &Pool, root: MessageId, bytes: &[u8], paths: &[&str]) {
    let mut out = String::new();
    match pool.write_json(root, bytes, &mut out) {
        Ok(()) => assert!(serde_json::from_str::<Json>(&out).is_ok(), "{out}"),
        Err(_) => assert_eq!(out, ""),
    }
    for path in paths {
        let _ = Path::parse(pool, root, path).unwrap().get(pool, bytes);
    }
}

const PATHS: [&str; 5] = ["inner.list[1].numbers[0]", "by_name.a.inner", "colors", "text", "99"];

/// A valid message with some changed bytes.
fn damaged(message: Bytes, damage: &[(usize, u8)]) -> Vec<u8> {
    let mut bytes = message.0;
    for &(at, byte) in damage {
        let size = bytes.len().max(1);
        if let Some(place) = bytes.get_mut(at % size) {
            *place = byte;
        }
    }
    bytes
}

proptest! {
    #[test]
    fn a_path_has_the_value_of_the_json(seed: u64) {
        let (pool, id) = everything::pool();
        paths_agree_with_json(&pool, id, seed);
    }

    #[test]
    fn a_path_has_the_value_of_the_json_of_a_packet(seed: u64) {
        let pool = Pool::perfetto();
        let packet = pool.message(TRACE_PACKET).unwrap();
        paths_agree_with_json(&pool, packet, seed);
    }

    #[test]
    fn no_bytes_do_harm(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let (mut pool, id) = everything::pool();
        read_all(&pool, id, &bytes, &PATHS);
        let _ = pool.extend(&bytes);
        let _ = pool.add_message(&bytes);
    }

    #[test]
    fn no_damaged_message_does_harm(seed: u64, damage in prop::collection::vec(any::<(usize, u8)>(), 1..5)) {
        let (pool, id) = everything::pool();
        let message = random_message(&pool.schema, id, &mut Dice(seed), 0);
        read_all(&pool, id, &damaged(message, &damage), &PATHS);
    }

    #[test]
    fn no_text_of_a_path_does_harm(text in r#"([a-z.\[\]'"0-9_ü]|inner|list|by_name|numbers){0,12}"#) {
        let (pool, id) = everything::pool();
        let _ = Path::parse(&pool, id, &text);
    }

    #[test]
    fn no_damaged_schema_does_harm(damage in prop::collection::vec(any::<(usize, u8)>(), 1..5), seed: u64) {
        let set = everything::set(everything::file("p", vec![everything::message("M", vec![
            everything::repeated(everything::field(1, "a", prost_types::field_descriptor_proto::Type::Sint64)),
            everything::typed(2, "m", prost_types::field_descriptor_proto::Type::Message, ".p.M"),
        ])]));
        let mut pool = Pool::default();
        if pool.extend(&damaged(Bytes(set), &damage)).is_ok() {
            for id in (0..pool.schema.messages.len()).map(MessageId) {
                let message = random_message(&pool.schema, id, &mut Dice(seed), 0);
                read_all(&pool, id, &message.0, &[]);
            }
        }
    }
}
