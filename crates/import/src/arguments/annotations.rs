//! Debug annotations (rules A4, A5, A7).

use timebase_descriptor::Pool;
use timebase_descriptor::field::Value;

use super::decode::{EventArgs, Fault, Interning, interned};
use super::key::Label;
use super::messages::Unknown;
use super::set::{ArgValue, Position, number_of};
use crate::facts::Names;
use crate::message::{self, Message};

/// So many bytes an event's arguments may take beside what its own bytes make of them:
/// by their numbers few bytes can repeat long texts.
const ROOM: usize = 16 << 20;

/// Deeper nesting is a fault.
const DEEPEST: u32 = 100;

/// Decodes one event.
pub(super) struct Decoder<'d, I> {
    pub interned: &'d I,
    pub pool: &'d Pool,
    pub names: &'d mut Names,
    pub args: &'d mut EventArgs,
    room: usize,
    depth: u32,
}

/// What an annotation is, by the field that counts.
#[derive(Debug)]
struct Annotation<'a> {
    message: Message<'a>,
    name_iid: u64,
    name: Option<&'a [u8]>,
    type_name: Option<&'a [u8]>,
    type_name_iid: Option<u64>,
    /// The field and, before it, its place among those that there may be.
    value: Option<(u8, Value<'a>)>,
}

// The order in which fields with values count.
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

/// Fields of `DebugAnnotation`, and of `NestedValue`, that are repeated.
mod field {
    pub const DICT_ENTRIES: u32 = 11;
    pub const ARRAY_VALUES: u32 = 12;
    pub const DICT_KEYS: u32 = 2;
    pub const DICT_VALUES: u32 = 3;
    pub const NESTED_ARRAY_VALUES: u32 = 4;
}

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
                (field::DICT_ENTRIES, Value::Bytes(_)) => DICT,
                (field::ARRAY_VALUES, Value::Bytes(_)) => LIST,
                (2, Value::Varint(_)) => BOOL,
                (3, Value::Varint(_)) => UINT,
                (4, Value::Varint(_)) => INT,
                (5, Value::Fixed64(_)) => DOUBLE,
                (6, Value::Bytes(_)) => STRING,
                (17, Value::Varint(_)) => STRING_IID,
                (7, Value::Varint(_)) => POINTER,
                (9, Value::Bytes(_)) => JSON,
                (14, Value::Bytes(_)) => PROTO,
                (8, Value::Bytes(_)) => NESTED,
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

    /// Its value, where that is there as it is.
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
            (1, Value::Varint(iid)) => self.name_iid = iid,
            (10, Value::Bytes(name)) => self.name = Some(name),
            (16, Value::Bytes(name)) => self.type_name = Some(name),
            (13, Value::Varint(iid)) => self.type_name_iid = Some(iid),
            _ => {}
        }
    }
}

impl<'d, I: Interning> Decoder<'d, I> {
    pub fn new(
        event: &[u8],
        interned: &'d I,
        pool: &'d Pool,
        names: &'d mut Names,
        args: &'d mut EventArgs,
    ) -> Self {
        Decoder {
            interned,
            pool,
            names,
            args,
            room: event.len().saturating_mul(4).saturating_add(ROOM),
            depth: 0,
        }
    }

    /// An argument of the key that is being made.
    pub fn push(&mut self, value: ArgValue<'_>) -> Result<(), Fault> {
        let size = match value {
            ArgValue::Text(text) => text.len(),
            _ => 0,
        };
        if !self.has_room(size) {
            return Err(Fault);
        }
        let (key, main) = (&self.args.key, &mut self.args.main);
        main.push_at(&key.flat, &key.positions, value, self.names);
        Ok(())
    }

    /// What is within a step of the key.
    pub fn within<T>(
        &mut self,
        go: impl FnOnce(&mut Self) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let mark = self.args.key.mark();
        self.depth += 1;
        let gone = match self.depth {
            0..=DEEPEST => go(self),
            _ => Err(Fault),
        };
        self.depth -= 1;
        self.args.key.back_to(mark);
        gone
    }

    /// One of an event (rule A4).
    pub fn debug_annotation(&mut self, annotation: &[u8]) -> Result<(), Fault> {
        let annotation = Annotation::read(annotation);
        let Some(value) = annotation.plain() else {
            return self.debug(|decoder| decoder.named(&annotation).map(|_| ()));
        };
        let label = self.label(&annotation)?;
        match self.args.labels.get(label) {
            Some(key) if self.has_room(annotation.message.0.len()) => {
                self.args.main.push_numbered(key, value);
                Ok(())
            }
            _ => self.debug(|decoder| decoder.labelled(label, value)),
        }
    }

    /// What it is called.
    fn label<'a>(&mut self, annotation: &Annotation<'a>) -> Result<Label<'a>, Fault>
    where
        'd: 'a,
    {
        match (annotation.name_iid, annotation.name) {
            (0, None) => Err(Fault),
            (0, Some(name)) => Ok(Label::Name(name)),
            (iid, _) => {
                let Message(entry) = self.entry(interned::ANNOTATION_NAMES, iid)?;
                Ok(Label::Entry(entry))
            }
        }
    }

    /// What is under the key of all annotations of events.
    fn debug(&mut self, go: impl FnOnce(&mut Self) -> Result<(), Fault>) -> Result<(), Fault> {
        self.within(|decoder| {
            decoder.args.key.enter("debug")?;
            go(decoder)
        })
    }

    /// A value, and what its annotation is called: the next one that is called so is
    /// faster.
    fn labelled(&mut self, label: Label<'_>, value: ArgValue<'_>) -> Result<(), Fault> {
        self.args.key.enter_annotation(&label.text())?;
        self.push(value)?;
        if let Some(key) = number_of(&self.args.key.flat, self.names) {
            self.args.labels.insert(label, key);
        }
        Ok(())
    }

    /// One of a message.
    pub fn annotation(&mut self, annotation: &[u8]) -> Result<(), Fault> {
        let annotation = Annotation::read(annotation);
        self.named(&annotation).map(|_| ())
    }

    /// Tells whether anything was added, and so an entry of a list is there.
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
                let text = self.text_of(interned::STRING_VALUES, iid)?;
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
        for entry in annotation.message.each(field::DICT_ENTRIES) {
            self.named(&Annotation::read(entry))?;
        }
        Ok(())
    }

    fn annotations(&mut self, annotation: &Annotation<'_>) -> Result<bool, Fault> {
        let entries = annotation.message.each(field::ARRAY_VALUES);
        self.list(entries, |decoder, entry| {
            decoder.value(&Annotation::read(entry))
        })
    }

    /// A message of the schema (rule A7).
    fn proto(&mut self, message: &[u8], annotation: &Annotation<'_>) -> Result<(), Fault> {
        let name = match (annotation.type_name, annotation.type_name_iid) {
            (Some(name), _) => message::text(name),
            (None, Some(iid)) => self.text_of(interned::TYPE_NAMES, iid)?,
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

    /// A `NestedValue` (rule A7).
    fn nested(&mut self, value: &[u8]) -> Result<bool, Fault> {
        let value = Message(value);
        match value.number(1).unwrap_or(0) {
            0 => self.leaf(value),
            1 => self.nested_dict(value),
            2 => {
                let entries = value.each(field::NESTED_ARRAY_VALUES);
                self.list(entries, Self::nested)
            }
            _ => Ok(false),
        }
    }

    fn leaf(&mut self, value: Message<'_>) -> Result<bool, Fault> {
        let text = value.text(8);
        let value = None
            .or(value.number(7).map(|value| ArgValue::Bool(value != 0)))
            .or(value.number(5).map(|value| ArgValue::Int(value as i64)))
            .or(value.float(6).map(ArgValue::Real))
            .or(text.as_deref().map(ArgValue::Text));
        if let Some(value) = value {
            self.push(value)?;
        }
        Ok(value.is_some())
    }

    fn nested_dict(&mut self, value: Message<'_>) -> Result<bool, Fault> {
        let keys = value.each(field::DICT_KEYS);
        let values = value.each(field::DICT_VALUES);
        if value.each(field::DICT_KEYS).count() != value.each(field::DICT_VALUES).count() {
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

    /// A list, whose entries are counted that add something (rule A5).
    fn list<'a>(
        &mut self,
        entries: impl Iterator<Item = &'a [u8]>,
        mut add: impl FnMut(&mut Self, &'a [u8]) -> Result<bool, Fault>,
    ) -> Result<bool, Fault> {
        let mut list = self.begin_list();
        let first = list.next;
        for entry in entries {
            let added = self.entry_of(&mut list, |decoder| {
                decoder.within(|decoder| add(decoder, entry))
            });
            if added.is_err() {
                self.end_list(&list);
            }
            added?;
        }
        self.end_list(&list);
        Ok(list.next > first)
    }
}

/// A list that is being read.
pub(super) struct List {
    /// The place of the next entry.
    next: u64,
    /// How much there is that tells by its keys where the list goes on; `None` if
    /// nothing does.
    told: Option<usize>,
}

/// Where lists go on (rule A5).
impl<I: Interning> Decoder<'_, I> {
    fn size(&self) -> usize {
        self.args.main.as_bytes().len()
    }

    pub fn begin_list(&mut self) -> List {
        List {
            next: self.args.key.list(),
            told: Some(self.size()),
        }
    }

    /// An entry, which is one if it adds something.
    pub fn entry_of<E>(
        &mut self,
        list: &mut List,
        add: impl FnOnce(&mut Self) -> Result<bool, E>,
    ) -> Result<bool, E> {
        let (mark, before) = (self.args.key.mark(), self.size());
        self.args.key.enter_entry(list.next, true);
        let added = add(self);
        self.args.key.back_to(mark);
        if let Ok(true) = added {
            list.next += 1;
            list.told = (self.size() > before).then(|| self.size());
        }
        added
    }

    /// There are no more. If the keys of what was added do not tell where the list goes
    /// on, an entry of its own does.
    pub fn end_list(&mut self, list: &List) {
        let key = &mut self.args.key;
        key.set_list(list.next);
        let size = self.args.main.as_bytes().len();
        if list.told == Some(size) || key.size().saturating_add(size) > self.room {
            return;
        }
        key.positions.push(Position {
            at: key.flat.len(),
            index: list.next,
            goes_on: true,
        });
        let main = &mut self.args.main;
        main.push_count(&key.flat, &key.positions, self.names);
        key.positions.pop();
    }

    /// Whether so much more can be added.
    fn has_room(&self, more: usize) -> bool {
        let size = self.size().saturating_add(self.args.key.size());
        size.saturating_add(more) <= self.room
    }
}
