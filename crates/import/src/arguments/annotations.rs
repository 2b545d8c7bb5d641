//! Debug annotations (rules A4, A5, A7).

use timebase_descriptor::field::Value;
use timebase_schema::fields::{
    debug_annotation as annotation, debug_annotation_nested_value as nested,
    interned_data as interned,
};

use super::decoder::{Decoder, Interning, Unknown};
use super::key::{Fault, Label};
use super::set::{ArgValue, number_of};
use crate::message::{self, Message};

/// An annotation, with the field for its value that counts.
#[derive(Debug)]
struct Annotation<'a> {
    message: Message<'a>,
    name_iid: u64,
    name: Option<&'a [u8]>,
    type_name: Option<&'a [u8]>,
    type_name_iid: Option<u64>,
    /// The rank of the value's field, and the value.
    value: Option<(u8, Value<'a>)>,
}

// The ranks of fields with values: the least counts.
const DICT: u8 = 0;
const LIST: u8 = 1;
const BOOL: u8 = 2;
const UINT: u8 = 3;
const INT: u8 = 4;
const DOUBLE: u8 = 5;
const STRING: u8 = 6;
const STRING_IID: u8 = 7;
const POINTER: u8 = 8;
const JSON: u8 = 9;
const PROTO: u8 = 10;
const NESTED: u8 = 11;

impl<'a> Annotation<'a> {
    fn read(annotation: &'a [u8]) -> Self {
        let mut read = Annotation {
            message: Message(annotation),
            name_iid: 0,
            name: None,
            type_name: None,
            type_name_iid: None,
            value: None,
        };
        for (number, value) in read.message.fields() {
            let place = match (number, value) {
                (annotation::DICT_ENTRIES, Value::Bytes(_)) => DICT,
                (annotation::ARRAY_VALUES, Value::Bytes(_)) => LIST,
                (annotation::BOOL_VALUE, Value::Varint(_)) => BOOL,
                (annotation::UINT_VALUE, Value::Varint(_)) => UINT,
                (annotation::INT_VALUE, Value::Varint(_)) => INT,
                (annotation::DOUBLE_VALUE, Value::Fixed64(_)) => DOUBLE,
                (annotation::STRING_VALUE, Value::Bytes(_)) => STRING,
                (annotation::STRING_VALUE_IID, Value::Varint(_)) => STRING_IID,
                (annotation::POINTER_VALUE, Value::Varint(_)) => POINTER,
                (annotation::LEGACY_JSON_VALUE, Value::Bytes(_)) => JSON,
                (annotation::PROTO_VALUE, Value::Bytes(_)) => PROTO,
                (annotation::NESTED_VALUE, Value::Bytes(_)) => NESTED,
                _ => {
                    read.take(number, value);
                    continue;
                }
            };
            if read.value.is_none_or(|(known, _)| place <= known) {
                read.value = Some((place, value));
            }
        }
        read
    }

    /// The value, if it needs no decoding.
    #[inline]
    fn plain(&self) -> Option<ArgValue<'a>> {
        Some(match self.value? {
            (BOOL, Value::Varint(value)) => ArgValue::Bool(value != 0),
            (UINT, Value::Varint(value)) => ArgValue::Uint(value),
            (INT, Value::Varint(value)) => ArgValue::Int(value as i64),
            (POINTER, Value::Varint(value)) => ArgValue::Pointer(value),
            (DOUBLE, Value::Fixed64(bits)) => ArgValue::Real(f64::from_bits(bits)),
            (STRING, Value::Bytes(text)) => ArgValue::Text(str::from_utf8(text).ok()?),
            _ => return None,
        })
    }

    fn take(&mut self, number: u32, value: Value<'a>) {
        match (number, value) {
            (annotation::NAME_IID, Value::Varint(iid)) => self.name_iid = iid,
            (annotation::NAME, Value::Bytes(name)) => self.name = Some(name),
            (annotation::PROTO_TYPE_NAME, Value::Bytes(name)) => self.type_name = Some(name),
            (annotation::PROTO_TYPE_NAME_IID, Value::Varint(iid)) => self.type_name_iid = Some(iid),
            _ => {}
        }
    }
}

impl<'d, I: Interning> Decoder<'d, I> {
    /// Adds an annotation of an event (rule A4).
    pub fn debug_annotation(&mut self, annotation: &[u8]) -> Result<(), Fault> {
        let annotation = Annotation::read(annotation);
        let Some(value) = annotation.plain() else {
            return self.debug(|decoder| decoder.named(&annotation).map(|_| ()));
        };
        let has_room = self.has_room(annotation.message.0.len());
        let iid = annotation.name_iid;
        if let Some(key) = self.interned.key(iid).filter(|_| iid != 0 && has_room) {
            self.args.main.push_numbered(key, value);
            return Ok(());
        }
        let label = self.label(&annotation)?;
        match self.args.labels.get(label) {
            Some(key) if has_room => {
                if iid != 0 {
                    self.args.keys.push((iid, key));
                }
                self.args.main.push_numbered(key, value);
                Ok(())
            }
            _ => self.debug(|decoder| decoder.labelled(label, value)),
        }
    }

    /// The name of an annotation.
    fn label<'a>(&mut self, annotation: &Annotation<'a>) -> Result<Label<'a>, Fault>
    where
        'd: 'a,
    {
        match (annotation.name_iid, annotation.name) {
            (0, None) => Err(Fault),
            (0, Some(name)) => Ok(Label::Name(name)),
            (iid, _) => {
                let Message(entry) = self.entry(interned::DEBUG_ANNOTATION_NAMES, iid)?;
                Ok(Label::Entry(entry))
            }
        }
    }

    /// Adds something under the key of all debug annotations of events.
    fn debug(&mut self, go: impl FnOnce(&mut Self) -> Result<(), Fault>) -> Result<(), Fault> {
        self.within(|decoder| {
            decoder.args.key.enter("debug")?;
            go(decoder)
        })
    }

    /// Adds a value with the name of its annotation. The next annotation with this name is faster.
    fn labelled(&mut self, label: Label<'_>, value: ArgValue<'_>) -> Result<(), Fault> {
        self.args.key.enter_annotation(&label.text())?;
        self.push(value)?;
        if let Some(key) = number_of(&self.args.key.flat, self.names) {
            self.args.labels.insert(label, key);
        }
        Ok(())
    }

    /// Adds an annotation of a message.
    pub fn annotation(&mut self, annotation: &[u8]) -> Result<(), Fault> {
        let annotation = Annotation::read(annotation);
        self.named(&annotation).map(|_| ())
    }

    /// Adds an annotation with its name. Returns whether anything was added, so that an entry of a
    /// list exists.
    fn named(&mut self, annotation: &Annotation<'_>) -> Result<bool, Fault> {
        self.within(|decoder| {
            let label = decoder.label(annotation)?;
            decoder.args.key.enter_annotation(&label.text())?;
            decoder.value(annotation)
        })
    }

    fn value(&mut self, annotation: &Annotation<'_>) -> Result<bool, Fault> {
        if let Some(value) = annotation.plain() {
            self.push(value)?;
            return Ok(true);
        }
        match annotation.value {
            Some((STRING_IID, Value::Varint(iid))) => {
                let text = self.text_of(interned::DEBUG_ANNOTATION_STRING_VALUES, iid)?;
                self.push(ArgValue::Text(&text))?;
                Ok(true)
            }
            Some((place, Value::Bytes(bytes))) => self.bytes(place, bytes, annotation),
            _ => Ok(false),
        }
    }

    fn bytes(
        &mut self,
        place: u8,
        bytes: &[u8],
        annotation: &Annotation<'_>,
    ) -> Result<bool, Fault> {
        match place {
            DICT => self.dict(annotation)?,
            LIST => return self.annotations(annotation),
            STRING => self.push(ArgValue::Text(&message::text(bytes)))?,
            JSON => self.json(bytes)?,
            PROTO => self.proto(bytes, annotation)?,
            _ => return self.nested(bytes),
        }
        Ok(true)
    }

    fn dict(&mut self, annotation: &Annotation<'_>) -> Result<(), Fault> {
        for entry in annotation.message.each(annotation::DICT_ENTRIES) {
            self.named(&Annotation::read(entry))?;
        }
        Ok(())
    }

    fn annotations(&mut self, annotation: &Annotation<'_>) -> Result<bool, Fault> {
        let entries = annotation.message.each(annotation::ARRAY_VALUES);
        self.list(entries, |decoder, entry| decoder.value(&Annotation::read(entry)))
    }

    /// Adds a message of the schema (rule A7).
    fn proto(&mut self, message: &[u8], annotation: &Annotation<'_>) -> Result<(), Fault> {
        let name = match (annotation.type_name, annotation.type_name_iid) {
            (Some(name), _) => message::text(name),
            (None, Some(iid)) => self.text_of(interned::DEBUG_ANNOTATION_VALUE_TYPE_NAMES, iid)?,
            (None, None) => return Err(Fault),
        };
        let full = name.strip_prefix('.');
        match full.and_then(|full| self.pool.message(full)) {
            Some(id) => self.message(id, message, Unknown::Ignored),
            None => {
                self.args.needs_schema = true;
                Err(Fault)
            }
        }
    }

    /// Adds a `NestedValue` (rule A7).
    fn nested(&mut self, value: &[u8]) -> Result<bool, Fault> {
        let value = Message(value);
        match value.number(nested::NESTED_TYPE).unwrap_or(0) {
            0 => self.leaf(value),
            1 => self.nested_dict(value),
            2 => {
                let entries = value.each(nested::ARRAY_VALUES);
                self.list(entries, Self::nested)
            }
            _ => Ok(false),
        }
    }

    fn leaf(&mut self, value: Message<'_>) -> Result<bool, Fault> {
        let text = value.text(nested::STRING_VALUE);
        let value = None
            .or(value.number(nested::BOOL_VALUE).map(|value| ArgValue::Bool(value != 0)))
            .or(value.number(nested::INT_VALUE).map(|value| ArgValue::Int(value as i64)))
            .or(value.float(nested::DOUBLE_VALUE).map(ArgValue::Real))
            .or(text.as_deref().map(ArgValue::Text));
        if let Some(value) = value {
            self.push(value)?;
        }
        Ok(value.is_some())
    }

    fn nested_dict(&mut self, value: Message<'_>) -> Result<bool, Fault> {
        let keys = value.each(nested::DICT_KEYS);
        let values = value.each(nested::DICT_VALUES);
        if value.each(nested::DICT_KEYS).count() != value.each(nested::DICT_VALUES).count() {
            return Err(Fault);
        }
        for (key, value) in keys.zip(values) {
            self.within(|decoder| {
                let key = message::text(key);
                decoder.args.key.enter_annotation(&key)?;
                decoder.nested(value)
            })?;
        }
        Ok(true)
    }

    /// Adds a list. Only entries that add something count (rule A5).
    fn list<'a>(
        &mut self,
        entries: impl Iterator<Item = &'a [u8]>,
        mut add: impl FnMut(&mut Self, &'a [u8]) -> Result<bool, Fault>,
    ) -> Result<bool, Fault> {
        let mut list = self.begin_list();
        let first = list.next;
        for entry in entries {
            let added =
                self.entry_of(&mut list, |decoder| decoder.within(|decoder| add(decoder, entry)));
            if added.is_err() {
                self.end_list(&list);
            }
            added?;
        }
        self.end_list(&list);
        Ok(list.next > first)
    }
}
