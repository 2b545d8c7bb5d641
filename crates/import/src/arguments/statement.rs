//! Arguments of a message that becomes a row (rules WS2, WS3): all its fields by the schema, under
//! their own names.
//!
//! # Design
//!
//! This differs from the arguments of track events in what a fault is and in the fields that are left out, so it has a
//! walk of its own over the same keys and values. The alternative was to give the decoder of track
//! events these cases. Then each field of each track event would pay for the question.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustc_hash::FxHashMap;
use timebase_descriptor::field::{Fields, Value};
use timebase_descriptor::{Field, Kind, MessageId, Pool, Scalar};

use super::key::{Fault, KeyText};
use super::set::{ArgBuf, ArgValue};
use crate::definitions::Names;
use crate::message;

/// Deeper nesting is a fault.
const DEEPEST: usize = 100;

/// The bytes that arguments may take in addition to four times the size of the message.
const ROOM: usize = 16 << 20;

/// The fields that become arguments.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Choice {
    /// The fields that do not, by the numbers of the fields that lead to them.
    pub without: &'static [&'static [u32]],
    /// Whether a message that has only such fields is empty.
    pub is_cut: bool,
    /// The only fields that do, if there are any.
    pub only: &'static [u32],
}

/// The meaning of a field that is a number of interned data.
pub(crate) trait Iids {
    /// The text for the number in a field; the inner `None` if it is unknown. The outer `None` says that the field is
    /// no such number.
    fn text(&mut self, field: u32, iid: u64) -> Option<Option<Cow<'_, str>>>;
}

/// A message without interned data.
pub(crate) struct NoIids;

impl Iids for NoIids {
    fn text(&mut self, _field: u32, _iid: u64) -> Option<Option<Cow<'_, str>>> {
        None
    }
}

/// The text of a number without an entry (rule WS12).
pub(crate) const NOT_INTERNED: &str = "STRING DE-INTERNING ERROR";

/// The arguments of a row.
#[derive(Debug, Default)]
pub(crate) struct StatementArgs {
    /// In the order in which they count.
    pub args: ArgBuf,
    key: KeyText,
    path: Vec<u32>,
}

/// The parts of a walk that do not change.
struct Walk<'w> {
    choice: Choice,
    pool: &'w Pool,
    names: &'w mut Names,
    iids: &'w mut dyn Iids,
    room: usize,
}

impl StatementArgs {
    /// Removes all arguments.
    pub fn clear(&mut self) {
        self.args.clear();
    }

    /// Adds the fields of a message. Returns whether it was readable to its end.
    pub fn add(
        &mut self,
        (id, bytes): (MessageId, &[u8]),
        choice: Choice,
        (pool, names): (&Pool, &mut Names),
        iids: &mut dyn Iids,
    ) -> bool {
        self.key.clear();
        self.path.clear();
        let room = bytes.len().saturating_mul(4).saturating_add(ROOM);
        let room = room.saturating_add(self.args.as_bytes().len());
        let mut walk = Walk { choice, pool, names, iids, room };
        self.message(id, bytes, &mut walk).is_ok()
    }

    fn message(&mut self, id: MessageId, bytes: &[u8], walk: &mut Walk<'_>) -> Result<(), Fault> {
        let mut places: FxHashMap<u32, u64> = FxHashMap::default();
        let (mut fields, mut is_empty) = (Fields::new(bytes), true);
        loop {
            let (number, value) = match fields.next() {
                Ok(Some(field)) => field,
                Ok(None) => break,
                Err(_) => return Err(Fault),
            };
            let is_left_out = self.is_left_out(number, walk.choice);
            is_empty &= is_left_out && walk.choice.is_cut;
            if is_left_out {
                continue;
            }
            if let Some(field) = walk.pool.field(id, number) {
                self.field(field, value, places.entry(number).or_default(), walk)?;
            }
        }
        match is_empty {
            true => self.push(ArgValue::Null, walk),
            false => Ok(()),
        }
    }

    fn is_left_out(&self, number: u32, choice: Choice) -> bool {
        let is_other = self.path.is_empty() && !choice.only.is_empty();
        let is_here = |path: &&&[u32]| {
            let (last, before) = path.split_last().unwrap_or((&0, &[]));
            *last == number && before == self.path
        };
        is_other && !choice.only.contains(&number)
            || choice.without.iter().any(|path| is_here(&path))
    }

    fn field(
        &mut self,
        field: &Field,
        value: Value<'_>,
        place: &mut u64,
        walk: &mut Walk<'_>,
    ) -> Result<(), Fault> {
        let Some(scalars) = field.scalars(value) else {
            return Ok(());
        };
        if field.kind == Kind::Bool && matches!(value, Value::Bytes(_)) {
            return Err(Fault);
        }
        if let Value::Varint(iid) = value
            && self.interned(field, iid, walk)?
        {
            return Ok(());
        }
        for scalar in scalars {
            let mark = self.key.mark();
            self.key.enter(&field.name)?;
            if field.repeated {
                self.key.enter_entry(*place, false);
                *place += 1;
            }
            self.path.push(field.number);
            let added = match self.path.len() {
                0..=DEEPEST => self.scalar(scalar, value, walk),
                _ => Err(Fault),
            };
            self.path.pop();
            self.key.back_to(mark);
            added?;
        }
        Ok(())
    }

    /// Adds the text of a number of interned data. Returns whether that is all that the field says.
    fn interned(&mut self, field: &Field, iid: u64, walk: &mut Walk<'_>) -> Result<bool, Fault> {
        let Some(name) = field.name.strip_suffix("_iid").filter(|_| self.path.is_empty()) else {
            return Ok(false);
        };
        let Walk { iids, names, room, .. } = walk;
        let Some(text) = iids.text(field.number, iid) else {
            return Ok(false);
        };
        let is_known = text.is_some();
        let text = text.unwrap_or(Cow::Borrowed(NOT_INTERNED));
        if self.args.as_bytes().len().saturating_add(text.len()) > *room {
            return Err(Fault);
        }
        self.args.push(name, ArgValue::Text(&text), names);
        Ok(is_known)
    }

    fn push(&mut self, value: ArgValue<'_>, walk: &mut Walk<'_>) -> Result<(), Fault> {
        let size = match value {
            ArgValue::Text(text) => text.len(),
            _ => 0,
        };
        let size = size.saturating_add(self.key.size()).saturating_add(self.args.as_bytes().len());
        if size > walk.room {
            return Err(Fault);
        }
        self.args.push_at(&self.key.flat, &self.key.positions, value, walk.names);
        Ok(())
    }

    fn scalar(
        &mut self,
        scalar: Scalar<'_>,
        value: Value<'_>,
        walk: &mut Walk<'_>,
    ) -> Result<(), Fault> {
        let value = match scalar {
            Scalar::Signed(value) => ArgValue::Int(value),
            Scalar::Unsigned(value) => ArgValue::Uint(value),
            Scalar::Bool(value) => ArgValue::Bool(value),
            Scalar::Float(value) => ArgValue::Real(value.into()),
            Scalar::Double(value) => ArgValue::Real(value),
            Scalar::Text(text) => return self.push(ArgValue::Text(&message::text(text)), walk),
            Scalar::Bytes(bytes) => {
                return self.push(ArgValue::Text(&STANDARD.encode(bytes)), walk);
            }
            Scalar::Enum(id, number) => {
                let name = walk.pool.enum_name(id, number).map(str::to_owned);
                let text = name.unwrap_or_else(|| number.to_string());
                return self.push(ArgValue::Text(&text), walk);
            }
            Scalar::Message(id) => match value {
                Value::Bytes(message) => return self.message(id, message, walk),
                _ => return Ok(()),
            },
        };
        self.push(value, walk)
    }
}
