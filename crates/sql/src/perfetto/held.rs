//! Copies of values.

use std::sync::Arc;

use crate::value::ValueRef;

/// A copy of a value. A text need not be UTF-8.
#[derive(Debug, Clone, PartialEq)]
pub enum Held {
    Null,
    Integer(i64),
    Real(f64),
    Text(Arc<[u8]>),
    Blob(Arc<[u8]>),
}

impl Held {
    pub fn of(value: ValueRef<'_>) -> Held {
        match value {
            ValueRef::Null => Held::Null,
            ValueRef::Integer(value) => Held::Integer(value),
            ValueRef::Real(value) => Held::Real(value),
            ValueRef::Text(text) => Held::Text(text.into()),
            ValueRef::Blob(blob) => Held::Blob(blob.into()),
        }
    }

    pub fn get(&self) -> ValueRef<'_> {
        match self {
            Held::Null => ValueRef::Null,
            Held::Integer(value) => ValueRef::Integer(*value),
            Held::Real(value) => ValueRef::Real(*value),
            Held::Text(text) => ValueRef::Text(text),
            Held::Blob(blob) => ValueRef::Blob(blob),
        }
    }
}
