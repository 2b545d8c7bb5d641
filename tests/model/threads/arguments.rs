//! The arguments of track events (A).

use super::args::{Args, Key, Said};
use super::json::Json;
use super::schema::{Described, Schema};
use super::sequences::TrackEvent;
use super::track_events::{Happening, is_async};
use super::wire::{self, Field, Message, Packed};
use super::world::World;
use std::collections::BTreeMap;

/// The end of an annotation by a fault (A4).
struct Fault;

/// Whether anything was added.
type Added = Result<bool, Fault>;

const ANNOTATION: &str = ".perfetto.protos.DebugAnnotation";
const TRACK_EVENT: &str = ".perfetto.protos.TrackEvent";

impl World<'_> {
    /// A4, A8, A9, A11, L3
    pub fn arguments(&self, happening: &Happening<'_>, args: &mut Args) {
        let event = happening.event;
        let mut reading = Reading { schema: &self.schema, event, args };
        for annotation in event.fields.messages(4) {
            let _ = reading.annotation(&annotation, &Key::new("debug"));
        }
        reading.places_in_code();
        if happening.thread.is_some() {
            reading.log_message();
        }
        reading.correlation();
        reading.histogram();
        let _ = reading.by_schema();
        if let Some(utid) = happening.passed_on
            && !args.has("legacy_event.passthrough_utid")
        {
            args.say("legacy_event.passthrough_utid", Said::Uint(utid as u64));
        }
        if let Some(phase @ ('R' | 'S' | 'T' | 'p')) = happening.phase {
            args.say("legacy_event.phase", Said::text(&phase.to_string()));
        }
        let id = [6, 11, 10].into_iter().find_map(|f| happening.legacy.number(f));
        if let (Some(id), true) = (id, happening.phase.is_some_and(is_async)) {
            args.say("legacy_trace_source_id", Said::Int(id.cast_signed()));
        }
    }
}

struct Reading<'a> {
    schema: &'a Schema,
    event: &'a TrackEvent,
    args: &'a mut Args,
}

/// A4
fn sanitized(name: &str) -> String {
    name.replace(['.', '[', ']'], "_")
}

impl Reading<'_> {
    fn add(&mut self, key: &Key, said: Said) -> Added {
        self.args.set(key.clone(), said);
        Ok(true)
    }

    fn interned(&self, field: u32, iid: u64) -> Result<&Message, Fault> {
        self.event.interned(field, iid).ok_or(Fault)
    }

    /// An annotation below a key (A4).
    fn annotation(&mut self, annotation: &Message, parent: &Key) -> Added {
        let name = match annotation.unsigned(1) {
            0 => annotation.text(10).ok_or(Fault)?,
            iid => self.interned(3, iid)?.text(2).unwrap_or_default(),
        };
        self.value(annotation, &parent.child(&sanitized(&name)))
    }

    /// The first existing value (A4).
    fn value(&mut self, annotation: &Message, key: &Key) -> Added {
        let number = |field| annotation.number(field);
        if annotation.has(11) {
            for entry in annotation.messages(11) {
                self.annotation(&entry, key)?;
            }
            Ok(true)
        } else if annotation.has(12) {
            self.list(&annotation.messages(12), key, Self::value)
        } else if let Some(value) = number(2) {
            self.add(key, Said::Bool(value != 0))
        } else if let Some(value) = number(3) {
            self.add(key, Said::Uint(value))
        } else if let Some(value) = number(4) {
            self.add(key, Said::Int(value.cast_signed()))
        } else if let Some(bits) = number(5) {
            self.add(key, Said::Real(f64::from_bits(bits)))
        } else if let Some(text) = annotation.text(6) {
            self.add(key, Said::text(&text))
        } else if let Some(iid) = number(17) {
            let text = self.interned(29, iid)?.text(2).unwrap_or_default();
            self.add(key, Said::text(&text))
        } else if let Some(value) = number(7) {
            self.add(key, Said::Pointer(value))
        } else if let Some(text) = annotation.text(9) {
            if let Some(json) = Json::parse(&text) {
                self.json(&json, key);
            }
            Ok(true)
        } else if let Some(bytes) = annotation.bytes(14) {
            self.proto_value(annotation, bytes, key)
        } else if let Some(nested) = annotation.message(8) {
            self.nested(&nested, key)
        } else {
            Ok(false)
        }
    }

    /// A5
    fn list(
        &mut self,
        entries: &[Message],
        key: &Key,
        read: fn(&mut Self, &Message, &Key) -> Added,
    ) -> Added {
        let mut added = false;
        for entry in entries {
            let position = self.args.position(key);
            if read(self, entry, &key.element(position))? {
                self.args.advance(key);
                added = true;
            }
        }
        Ok(added)
    }

    /// Whether an entry of a list counts (A6).
    fn json(&mut self, json: &Json, key: &Key) -> bool {
        let said = match json {
            Json::Null => return false,
            Json::Object(fields) => {
                for (name, value) in fields {
                    self.json(value, &key.child(name));
                }
                return true;
            }
            Json::List(entries) => {
                for entry in entries {
                    let position = self.args.position(key);
                    if self.json(entry, &key.element(position)) {
                        self.args.advance(key);
                    }
                }
                return true;
            }
            Json::Bool(value) => Said::Bool(*value),
            Json::Integer(value) => Said::Int(*value),
            Json::Real(value) => Said::Real(*value),
            Json::Text(text) => Said::text(text),
        };
        self.args.set(key.clone(), said);
        true
    }

    /// A7
    fn proto_value(&mut self, annotation: &Message, bytes: &[u8], key: &Key) -> Added {
        let name = match annotation.text(16) {
            Some(name) => name,
            None => {
                let iid = annotation.number(13).ok_or(Fault)?;
                self.interned(27, iid)?.text(2).unwrap_or_default()
            }
        };
        if !self.schema.has(&name) {
            return Err(Fault);
        }
        if name == ANNOTATION {
            self.annotation(&Message::parse(bytes).unwrap_or_default(), key)?;
        } else {
            self.message(&name, bytes, key)?;
        }
        Ok(true)
    }

    /// A7
    fn nested(&mut self, nested: &Message, key: &Key) -> Added {
        match nested.unsigned(1) {
            0 => {
                if let Some(value) = nested.number(7) {
                    self.add(key, Said::Bool(value != 0))
                } else if let Some(value) = nested.number(5) {
                    self.add(key, Said::Int(value.cast_signed()))
                } else if let Some(bits) = nested.number(6) {
                    self.add(key, Said::Real(f64::from_bits(bits)))
                } else if let Some(text) = nested.text(8) {
                    self.add(key, Said::text(&text))
                } else {
                    Ok(false)
                }
            }
            1 => {
                let (names, values) = (nested.texts(2), nested.messages(3));
                if names.len() != values.len() {
                    return Err(Fault);
                }
                for (name, value) in names.iter().zip(&values) {
                    self.nested(value, &key.child(&sanitized(name)))?;
                }
                Ok(true)
            }
            2 => self.list(&nested.messages(4), key, Self::nested),
            _ => Ok(false),
        }
    }

    /// A8
    fn places_in_code(&mut self) {
        let task = self.event.fields.message(5).unwrap_or_default();
        let places =
            [("source", self.event.fields.number(34)), ("task.posted_from", task.number(1))];
        for (name, iid) in places {
            let known = iid.and_then(|iid| self.event.interned(4, iid));
            if let Some(place) = known.filter(|_| iid != Some(0)).cloned() {
                let file = place.text(2).unwrap_or_default().replace('\\', "/");
                let key = Key::new(name);
                let said = [
                    ("file_name", Said::text(&file)),
                    ("function_name", Said::String(place.text(3))),
                    ("line_number", Said::Uint(place.id(4) as u64)),
                ];
                for (field, said) in said {
                    self.args.set(key.child(field), said);
                }
            }
        }
    }

    /// A8
    fn log_message(&mut self) {
        const PRIORITIES: i64 = 8;
        let Some(log) = self.event.fields.message(21) else {
            return;
        };
        let Some(body) = self.event.interned(20, log.unsigned(2)) else {
            return;
        };
        let body = body.text(2).unwrap_or_default();
        let key = Key::new("track_event.log_message");
        self.args.set(key.child("message"), Said::text(&body));
        if let Some(iid) = log.number(1) {
            let Some(place) = self.event.interned(4, iid).cloned() else {
                return;
            };
            let said = [
                ("file_name", Said::String(place.text(2))),
                ("function_name", Said::String(place.text(3))),
                ("line_number", Said::Int(place.id(4))),
            ];
            for (field, said) in said {
                self.args.set(key.child(field), said);
            }
        }
        if log.has(3) {
            let known = Some(log.id(3)).filter(|priority| *priority < PRIORITIES);
            let priority = Said::Int(known.unwrap_or(0));
            self.args.say("track_event.priority", priority);
        }
    }

    /// A8
    fn correlation(&mut self) {
        let fields = &self.event.fields;
        let numbered = fields.number(52).map(|id| format!("tp:#{id}"));
        let interned = || {
            let entry = self.event.interned(43, fields.number(54)?)?;
            Some(entry.text(2).unwrap_or_default())
        };
        let id = numbered.or_else(|| fields.text(53)).or_else(interned);
        if let Some(id) = id {
            self.args.say("correlation_id", Said::text(&id));
        }
    }

    /// A8
    fn histogram(&mut self) {
        let sample = self.event.fields.message(28).unwrap_or_default();
        let name = sample.number(4).and_then(|iid| self.event.interned(25, iid));
        if let Some(name) = name.map(|name| name.text(2).unwrap_or_default()) {
            let key = "chrome_histogram_sample.name";
            self.args.say(key, Said::text(&name));
        }
    }

    /// A9
    fn by_schema(&mut self) -> Result<(), Fault> {
        let own = |number| matches!(number, 24..=29 | 32..=35 | 38..=41 | 43 | 49 | 50);
        let chosen = |number: u32, field: &Described| own(number) || field.is_extension;
        self.fields(TRACK_EVENT, &self.event.fields, &Key::default(), chosen)
    }

    /// A10
    fn message(&mut self, name: &str, bytes: &[u8], key: &Key) -> Result<(), Fault> {
        let message = Message::parse(bytes).unwrap_or_default();
        if message.fields().next().is_none() {
            self.args.set(key.clone(), Said::Null);
            return Ok(());
        }
        self.fields(name, &message, key, |_, _| true)
    }

    /// The selected fields of a message (A10).
    fn fields(
        &mut self,
        name: &str,
        message: &Message,
        key: &Key,
        chosen: impl Fn(u32, &Described) -> bool,
    ) -> Result<(), Fault> {
        let schema = self.schema;
        let mut positions: BTreeMap<u32, usize> = BTreeMap::new();
        for (number, value) in message.values() {
            let known = schema.field(name, number);
            let Some(field) = known.filter(|field| chosen(number, field)) else {
                continue;
            };
            if let (ANNOTATION, Field::Bytes(bytes)) = (field.type_name.as_str(), value) {
                self.annotation(&Message::parse(bytes).unwrap_or_default(), key)?;
                continue;
            }
            for value in elements(field, value) {
                let mut key = key.child(&field.name);
                if field.is_repeated {
                    let position = positions.entry(number).or_default();
                    key = key.element(*position);
                    *position += 1;
                }
                match &value {
                    Field::Bytes(bytes) if field.kind == MESSAGE => {
                        self.message(&field.type_name, bytes, &key)?;
                    }
                    value => {
                        if let Some(said) = self.scalar(field, value) {
                            self.args.set(key, said);
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// A value by the type of its field, if it fits (A10).
    fn scalar(&self, field: &Described, value: &Field) -> Option<Said> {
        let bits = match value {
            Field::Number(bits) => *bits,
            Field::Bytes(bytes) => {
                return match field.kind {
                    STRING => Some(Said::text(&wire::text(bytes))),
                    BYTES => Some(Said::text(&base64(bytes))),
                    _ => None,
                };
            }
        };
        let zigzag = || (bits >> 1).cast_signed() ^ -(bits & 1).cast_signed();
        Some(match field.kind {
            DOUBLE => Said::Real(f64::from_bits(bits)),
            FLOAT => Said::Real(f32::from_bits(bits as u32).into()),
            INT64 | SFIXED64 => Said::Int(bits.cast_signed()),
            INT32 | SFIXED32 => Said::Int(i64::from(bits as i32)),
            SINT32 | SINT64 => Said::Int(zigzag()),
            UINT64 | FIXED64 => Said::Uint(bits),
            UINT32 | FIXED32 => Said::Uint(u64::from(bits as u32)),
            BOOL => Said::Bool(bits != 0),
            ENUM => {
                let number = bits as i32;
                let name = self.schema.name_of_number(&field.type_name, number);
                Said::String(Some(name.map_or(number.to_string(), str::to_owned)))
            }
            _ => return None,
        })
    }
}

/// The values of a field that may be packed.
fn elements(field: &Described, value: &Field) -> Vec<Field> {
    let packed = match field.kind {
        DOUBLE | FIXED64 | SFIXED64 => Packed::Fixed64s,
        FLOAT | FIXED32 | SFIXED32 => Packed::Fixed32s,
        _ => Packed::Varints,
    };
    match value {
        Field::Bytes(bytes)
            if field.is_repeated && !matches!(field.kind, STRING | BYTES | MESSAGE) =>
        {
            packed.read(bytes).into_iter().map(Field::Number).collect()
        }
        value => vec![value.clone()],
    }
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let at = |place| u32::from(three.get(place).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for place in 0..4 {
            let digit = (bits >> (18 - 6 * place) & 63) as usize;
            let is_there = place <= three.len();
            text.push(if is_there { DIGITS[digit].into() } else { '=' });
        }
    }
    text
}

// FieldDescriptorProto.Type
const DOUBLE: u64 = 1;
const FLOAT: u64 = 2;
const INT64: u64 = 3;
const UINT64: u64 = 4;
const INT32: u64 = 5;
const FIXED64: u64 = 6;
const FIXED32: u64 = 7;
const BOOL: u64 = 8;
const STRING: u64 = 9;
const MESSAGE: u64 = 11;
const BYTES: u64 = 12;
const UINT32: u64 = 13;
const ENUM: u64 = 14;
const SFIXED32: u64 = 15;
const SFIXED64: u64 = 16;
const SINT32: u64 = 17;
const SINT64: u64 = 18;
