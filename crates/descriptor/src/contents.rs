//! The values of each field of a message.
//!
//! The rules are protobuf's: the last value of a scalar counts; the pieces of a message are one
//! message; a member of a oneof clears the other members; and a value that the field's type does
//! not allow is a value of an unknown field.

use std::collections::HashMap;

use crate::field::{Fields, Value};

use crate::scalar::Packed;
use crate::schema::{Field, Kind, MessageId, Schema};
use crate::unreadable::{MOST_VALUES, Reason};

/// A message with up to this many different fields is searched linearly, which is faster than a
/// hash for nearly all messages.
const FEW: usize = 24;

/// Field numbers are smaller than this.
const ONEOF: usize = 1 << 30;
const UNKNOWN: usize = 1 << 29;

/// A field of a message, or a oneof, that is set.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slot<'p, 'b> {
    id: usize,
    pub number: u32,
    /// `None` for a field that the schema does not know.
    pub field: Option<&'p Field>,
    pub values: Values<'b>,
    last: Option<usize>,
}

/// The first value of a field, and the place of its further values.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Values<'b> {
    pub first: Value<'b>,
    pub next: Option<usize>,
}

impl<'b> Values<'b> {
    pub fn one(first: Value<'b>) -> Self {
        Values { first, next: None }
    }
}

/// The fields of a message and of the messages around it. They are a stack, so reading a message
/// takes no memory of its own.
#[derive(Debug, Default)]
pub(crate) struct Contents<'p, 'b> {
    slots: Vec<Slot<'p, 'b>>,
    more: Vec<Values<'b>>,
}

/// The height of the stack at the start.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark {
    pub slots: usize,
    more: usize,
}

impl<'p, 'b> Contents<'p, 'b> {
    pub fn mark(&self) -> Mark {
        Mark { slots: self.slots.len(), more: self.more.len() }
    }

    /// Forgets everything that was read since that height.
    pub fn release(&mut self, mark: Mark) {
        self.slots.truncate(mark.slots);
        self.more.truncate(mark.more);
    }

    #[inline]
    pub fn slot(&self, at: usize) -> Option<Slot<'p, 'b>> {
        self.slots.get(at).copied()
    }

    /// The slot of a field, among those that were read since that height.
    pub fn find(&self, since: Mark, number: u32, known: bool) -> Option<Slot<'p, 'b>> {
        let slots = self.slots.get(since.slots..)?;
        let is_it = |slot: &&Slot<'_, '_>| slot.number == number && slot.field.is_some() == known;
        slots.iter().find(is_it).copied()
    }

    /// Reads a message, which may be in pieces.
    pub fn read(
        &mut self,
        schema: &'p Schema,
        message: MessageId,
        mut pieces: Values<'b>,
    ) -> Result<(), Reason> {
        let mut reading = Reading { start: self.slots.len(), index: HashMap::new() };
        let message = schema.message(message);
        loop {
            if let Value::Bytes(bytes) = pieces.first {
                let mut fields = Fields::new(bytes);
                while let Some((number, value)) = fields.next()? {
                    let field = message.and_then(|message| message.field(number));
                    let field = field.filter(|field| field.takes(value));
                    self.add(&mut reading, field, number, value);
                    if self.slots.len() + self.more.len() > MOST_VALUES {
                        return Err(Reason::TooMany);
                    }
                }
            }
            let Some(&next) = pieces.next.and_then(|next| self.more.get(next)) else {
                return Ok(());
            };
            pieces = next;
        }
    }

    #[inline]
    fn add(
        &mut self,
        reading: &mut Reading,
        field: Option<&'p Field>,
        number: u32,
        value: Value<'b>,
    ) {
        let Some(id) = slot_id(field, number, value) else {
            return;
        };
        let slot = Slot { id, number, field, values: Values::one(value), last: None };
        let Some(at) = reading.find(&self.slots, id) else {
            reading.insert(&self.slots, id);
            return self.slots.push(slot);
        };
        match self.slots.get_mut(at) {
            Some(known) if known.number == number && accumulates(field) => self.append(at, value),
            Some(known) => *known = slot,
            None => {}
        }
    }

    fn append(&mut self, slot: usize, value: Value<'b>) {
        let at = self.more.len();
        self.more.push(Values::one(value));
        let Some(slot) = self.slots.get_mut(slot) else {
            return;
        };
        let before = match slot.last.replace(at) {
            None => Some(&mut slot.values),
            Some(last) => self.more.get_mut(last),
        };
        if let Some(before) = before {
            before.next = Some(at);
        }
    }

    /// Steps through the elements of a list.
    pub fn elements(&self, slot: &Slot<'p, 'b>) -> Elements<'p, 'b> {
        Elements { field: slot.field, values: Some(slot.values), packed: None }
    }
}

/// The slot of a value. The members of a oneof share one. `None` for an empty list, which is no
/// value.
#[inline]
fn slot_id(field: Option<&Field>, number: u32, value: Value<'_>) -> Option<usize> {
    let number = number as usize;
    let Some(field) = field else {
        return Some(UNKNOWN + number);
    };
    if value == Value::Bytes(&[]) && field.is_packed(value) {
        return None;
    }
    Some(field.oneof.map_or(number, |oneof| ONEOF.saturating_add(oneof)))
}

/// Whether a further value does not replace the first.
#[inline]
fn accumulates(field: Option<&Field>) -> bool {
    field.is_none_or(|field| field.repeated || matches!(field.kind, Kind::Message(_)))
}

/// Finds the slots of one message.
struct Reading {
    start: usize,
    /// Empty as long as there are few slots.
    index: HashMap<usize, usize>,
}

impl Reading {
    #[inline]
    fn find(&self, slots: &[Slot<'_, '_>], id: usize) -> Option<usize> {
        if !self.index.is_empty() {
            return self.index.get(&id).copied();
        }
        let own = slots.get(self.start..).unwrap_or_default();
        // Several values of a field usually follow each other.
        let found = own.iter().rposition(|slot| slot.id == id)?;
        Some(self.start + found)
    }

    /// Records that the next slot will have this id.
    #[inline]
    fn insert(&mut self, slots: &[Slot<'_, '_>], id: usize) {
        let own = slots.get(self.start..).unwrap_or_default();
        if own.len() < FEW {
            return;
        }
        if self.index.is_empty() {
            let places = own.iter().zip(self.start..);
            self.index.extend(places.map(|(slot, at)| (slot.id, at)));
        }
        self.index.insert(id, slots.len());
    }
}

/// The elements of a list, one by one.
pub(crate) struct Elements<'p, 'b> {
    field: Option<&'p Field>,
    values: Option<Values<'b>>,
    packed: Option<Packed<'b>>,
}

impl<'b> Elements<'_, 'b> {
    /// The next element; `None` after the last.
    #[inline]
    pub fn next(&mut self, contents: &Contents<'_, 'b>) -> Result<Option<Value<'b>>, Reason> {
        loop {
            if let Some(packed) = &mut self.packed
                && let Some(value) = packed.next()?
            {
                return Ok(Some(value));
            }
            self.packed = None;
            let Some(Values { first, next }) = self.values else {
                return Ok(None);
            };
            self.values = next.and_then(|next| contents.more.get(next).copied());
            match (self.field, first) {
                (Some(field), Value::Bytes(list)) if field.is_packed(first) => {
                    self.packed = Some(Packed::new(list, field.kind));
                }
                _ => return Ok(Some(first)),
            }
        }
    }
}
