//! The fields of a payload, also those that it lacks (rule WS5).

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use timebase_descriptor::field::{Fields, Value as Wire};
use timebase_descriptor::{Field, Kind, MessageId, Pool, Scalar};

use super::super::limits::Budget;
use crate::{Error, Result};

/// Deeper messages are an error, as everywhere.
const DEEPEST: usize = 100;

/// A value of a field.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Null,
    Int(i64),
    Real(f64),
    Text(String),
}

/// A row of the function.
#[derive(Debug, Clone)]
pub struct Row {
    pub proto: i64,
    pub flat: String,
    pub key: String,
    pub value: Value,
}

/// The fields of a message that become rows.
#[derive(Debug, Clone, Copy, Default)]
pub struct Choice<'a> {
    /// The fields that do not, by the numbers of the fields that lead to them.
    pub without: &'a [&'a [u32]],
    /// The fields that are not even part of the payload, so that it lacks them.
    pub cut: &'a [&'a [u32]],
    /// The only field at the top that does, if there is one.
    pub only: Option<u32>,
}

/// The interned texts of a payload, by the names of their fields without `_iid`.
#[derive(Debug, Default)]
pub struct Texts(pub HashMap<String, String>);

/// The text of a number without an entry (rule WS12).
const NOT_INTERNED: &str = "STRING DE-INTERNING ERROR";

/// Collects rows.
pub struct Walk<'p> {
    pub pool: &'p Pool,
    pub rows: Vec<Row>,
    pub budget: Budget,
    /// The rows of the keys of a group, in which each key has one row.
    pub group: Option<HashMap<String, usize>>,
    proto: i64,
    flat: String,
    key: String,
    path: Vec<u32>,
}

impl<'p> Walk<'p> {
    pub fn new(pool: &'p Pool, budget: Budget) -> Walk<'p> {
        Walk {
            pool,
            rows: Vec::new(),
            budget,
            group: None,
            proto: 0,
            flat: String::new(),
            key: String::new(),
            path: Vec::new(),
        }
    }

    /// Adds the rows of a payload. What follows a field that cannot be read is not there.
    pub fn payload(
        &mut self,
        proto: i64,
        (id, bytes): (MessageId, &[u8]),
        choice: Choice<'_>,
        texts: Option<&Texts>,
    ) -> Result<()> {
        self.proto = proto;
        self.flat.clear();
        self.key.clear();
        self.path.clear();
        self.message(id, bytes, choice, texts)
    }

    fn message(
        &mut self,
        id: MessageId,
        bytes: &[u8],
        choice: Choice<'_>,
        texts: Option<&Texts>,
    ) -> Result<()> {
        let pool = self.pool;
        let (mut said, mut places) = (HashSet::new(), HashMap::new());
        let mut fields = Fields::new(bytes);
        while let Ok(Some((number, value))) = fields.next() {
            if self.is_one_of(choice.cut, number) || self.is_left_out(number, choice) {
                continue;
            }
            let Some(field) = pool.field(id, number) else {
                continue;
            };
            let Some(scalars) = field.scalars(value) else {
                continue;
            };
            said.insert(number);
            if self.interned(field, texts)? {
                continue;
            }
            for scalar in scalars {
                let place = places.entry(number).or_insert(0_u64);
                self.field(field, (scalar, value), *place, choice)?;
                *place += 1;
            }
        }
        for field in pool.fields(id) {
            let is_missing =
                !said.contains(&field.number) && !self.is_left_out(field.number, choice);
            if is_missing && !self.interned(field, texts)? {
                self.missing(field, pool.is_map_entry(id))?;
            }
        }
        Ok(())
    }

    fn is_left_out(&self, number: u32, choice: Choice<'_>) -> bool {
        let is_other = self.path.is_empty() && choice.only.is_some_and(|only| only != number);
        is_other || self.is_one_of(choice.without, number)
    }

    fn is_one_of(&self, paths: &[&[u32]], number: u32) -> bool {
        let is_here = |path: &[u32]| {
            let (last, before) = path.split_last().unwrap_or((&0, &[]));
            *last == number && before == self.path
        };
        paths.iter().any(|path| is_here(path))
    }

    /// Adds the rows of a number of interned data. Returns whether the field is one.
    fn interned(&mut self, field: &Field, texts: Option<&Texts>) -> Result<bool> {
        let (Some(texts), true) = (texts, self.path.is_empty()) else {
            return Ok(false);
        };
        let Some(name) = field.name.strip_suffix("_iid") else {
            return Ok(false);
        };
        let known = texts.0.get(name).cloned();
        let is_known = known.is_some();
        let marks = self.enter(name);
        let added = self.add(Value::Text(known.unwrap_or_else(|| NOT_INTERNED.to_owned())), false);
        self.back_to(marks);
        added?;
        Ok(is_known)
    }

    fn field(
        &mut self,
        field: &Field,
        (scalar, value): (Scalar<'_>, Wire<'_>),
        place: u64,
        choice: Choice<'_>,
    ) -> Result<()> {
        let marks = self.enter(&field.name);
        if field.repeated {
            // Writing to a String does not fail.
            let _ = write!(self.key, "[{place}]");
        }
        self.path.push(field.number);
        let added = match (scalar, value) {
            (Scalar::Message(_), _) if self.path.len() > DEEPEST => Err(Error::new(format_args!(
                "a payload has more than {DEEPEST} messages in each other"
            ))),
            (Scalar::Message(id), Wire::Bytes(inner)) => self.message(id, inner, choice, None),
            (Scalar::Message(_), _) => Ok(()),
            _ => self.add(self.value(scalar), false),
        };
        self.path.pop();
        self.back_to(marks);
        added
    }

    fn value(&self, scalar: Scalar<'_>) -> Value {
        let text = |bytes: &[u8]| Value::Text(String::from_utf8_lossy(bytes).into_owned());
        match scalar {
            Scalar::Signed(value) => Value::Int(value),
            Scalar::Unsigned(value) => Value::Int(value.cast_signed()),
            Scalar::Bool(value) => Value::Int(value.into()),
            Scalar::Float(value) => Value::Real(value.into()),
            Scalar::Double(value) => Value::Real(value),
            Scalar::Text(bytes) | Scalar::Bytes(bytes) => text(bytes),
            Scalar::Enum(id, number) => {
                let name = self.pool.enum_name(id, number).map(str::to_owned);
                Value::Text(name.unwrap_or_else(|| number.to_string()))
            }
            Scalar::Message(_) => Value::Null,
        }
    }

    /// Adds the row of a field that a message lacks.
    fn missing(&mut self, field: &Field, is_in_map: bool) -> Result<()> {
        let value = match field.kind {
            _ if field.repeated => Value::Null,
            Kind::String | Kind::Bytes if is_in_map => Value::Text(String::new()),
            Kind::String | Kind::Bytes | Kind::Message(_) => Value::Null,
            Kind::Float | Kind::Double => Value::Real(0.0),
            Kind::Enum(id) => self.value(Scalar::Enum(id, 0)),
            _ => Value::Int(0),
        };
        let marks = self.enter(&field.name);
        let added = self.add(value, true);
        self.back_to(marks);
        added
    }

    fn enter(&mut self, name: &str) -> (usize, usize) {
        let marks = (self.flat.len(), self.key.len());
        for text in [&mut self.flat, &mut self.key] {
            if !text.is_empty() {
                text.push('.');
            }
            text.push_str(name);
        }
        marks
    }

    fn back_to(&mut self, (flat, key): (usize, usize)) {
        self.flat.truncate(flat);
        self.key.truncate(key);
    }

    fn add(&mut self, value: Value, is_default: bool) -> Result<()> {
        let known = self.group.as_ref().and_then(|group| group.get(&self.key).copied());
        if let Some(row) = known.and_then(|at| self.rows.get_mut(at)) {
            if !is_default {
                row.proto = self.proto;
                row.value = value;
            }
            return Ok(());
        }
        let text = match &value {
            Value::Text(text) => text.len(),
            _ => 0,
        };
        self.budget.take(size_of::<Row>() + text + 3 * self.key.len())?;
        if let Some(group) = &mut self.group {
            group.insert(self.key.clone(), self.rows.len());
        }
        let (flat, key) = (self.flat.clone(), self.key.clone());
        self.rows.push(Row { proto: self.proto, flat, key, value });
        Ok(())
    }
}
