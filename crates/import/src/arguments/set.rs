//! Arguments one after the other, in few bytes.

use crate::compact::{Put, Take};
use crate::definitions::{Names, Texts};
use crate::timeline::Name;

/// Longer keys have no number, because looking up a key takes time in proportion to its length.
const LONGEST_NUMBERED: usize = 1 << 10;

/// The value of an argument (rule A2).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum ArgValue<'a> {
    Int(i64),
    Uint(u64),
    Pointer(u64),
    Bool(bool),
    Real(f64),
    Text(&'a str),
    /// A missing text.
    NoText,
    Null,
}

/// A position in a list (rule A3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Position {
    /// The length of the part of the flat key that precedes the position.
    pub at: usize,
    pub index: u64,
    /// Whether a further list with this key continues the list (rule A5). In lists of a message of
    /// the schema (rule A10), each entry has a fixed place.
    pub goes_on: bool,
}

/// Arguments that are being collected.
#[derive(Debug, Default)]
pub(crate) struct ArgBuf(Vec<u8>);

// The first byte of an entry: its type, and the form of its key.
const TYPE: u8 = 0x0f;
const NULL: u8 = 0;
const FALSE: u8 = 1;
const TRUE: u8 = 2;
const INT: u8 = 3;
const UINT: u8 = 4;
const POINTER: u8 = 5;
const REAL: u8 = 6;
const TEXT: u8 = 7;
const NO_TEXT: u8 = 8;
/// No argument: the last position is the next index of a list.
const COUNT: u8 = 9;
/// The flat key is a text, because it has no number.
const IN_FULL: u8 = 0x10;
/// The key has positions of lists.
const LISTED: u8 = 0x20;

impl ArgBuf {
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The bytes of all arguments.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Adds an argument that is in no list: its flat key is its key.
    #[inline]
    pub fn push(&mut self, key: &str, value: ArgValue<'_>, names: &mut Names) {
        self.push_at(key, &[], value, names);
    }

    /// Appends other arguments.
    pub fn append(&mut self, others: &ArgBuf) {
        self.0.extend_from_slice(&others.0);
    }

    /// Adds an argument at an index of a list.
    pub fn push_listed(&mut self, list: &str, index: u64, value: ArgValue<'_>, names: &mut Names) {
        let position = Position { at: list.len(), index, goes_on: false };
        self.push_at(list, &[position], value, names);
    }

    /// Removes all arguments, and adds this one.
    pub fn only(&mut self, key: &str, value: ArgValue<'_>, names: &mut Names) -> &[u8] {
        self.clear();
        self.push(key, value, names);
        self.as_bytes()
    }

    /// Adds an argument with its positions in lists, in the order of the key.
    #[inline]
    pub(super) fn push_at(
        &mut self,
        flat: &str,
        positions: &[Position],
        value: ArgValue<'_>,
        names: &mut Names,
    ) {
        self.push_key(type_of(value), flat, positions, names);
        self.push_value(value);
    }

    /// Adds an argument that is in no list, and whose key need not have a number.
    pub(super) fn push_in_full(&mut self, key: &str, value: ArgValue<'_>) {
        self.0.push(type_of(value) | IN_FULL);
        Put(&mut self.0).bytes(key.as_bytes());
        self.push_value(value);
    }

    /// Adds an argument that is in no list, and whose key has a number.
    #[inline]
    pub(super) fn push_numbered(&mut self, Name(key): Name, value: ArgValue<'_>) {
        self.0.push(type_of(value));
        Put(&mut self.0).natural(key.into());
        self.push_value(value);
    }

    #[inline]
    fn push_value(&mut self, value: ArgValue<'_>) {
        let mut put = Put(&mut self.0);
        match value {
            ArgValue::Int(value) => {
                put.integer(value);
            }
            ArgValue::Uint(value) | ArgValue::Pointer(value) => {
                put.natural(value);
            }
            ArgValue::Real(value) => put.rest(&value.to_bits().to_le_bytes()),
            ArgValue::Text(text) => {
                put.bytes(text.as_bytes());
            }
            ArgValue::Bool(_) | ArgValue::NoText | ArgValue::Null => {}
        }
    }

    /// Stores the next index of a list; the list's entries so far need not have arguments.
    pub(super) fn push_count(&mut self, flat: &str, positions: &[Position], names: &mut Names) {
        self.push_key(COUNT, flat, positions, names);
    }

    #[inline]
    fn push_key(&mut self, kind: u8, flat: &str, positions: &[Position], names: &mut Names) {
        let name = number_of(flat, names);
        let in_full = if name.is_none() { IN_FULL } else { 0 };
        self.0.push(kind | in_full | listed(positions));
        let mut put = Put(&mut self.0);
        match name {
            Some(Name(number)) => put.natural(number.into()),
            None => put.bytes(flat.as_bytes()),
        };
        put_positions(&mut put, positions);
    }
}

/// The number of a key, if it has one.
#[inline]
pub(super) fn number_of(key: &str, names: &mut Names) -> Option<Name> {
    match key.len() {
        0..=LONGEST_NUMBERED => names.known(key),
        _ => None,
    }
}

fn listed(positions: &[Position]) -> u8 {
    if positions.is_empty() { 0 } else { LISTED }
}

fn type_of(value: ArgValue<'_>) -> u8 {
    match value {
        ArgValue::Null => NULL,
        ArgValue::Bool(false) => FALSE,
        ArgValue::Bool(true) => TRUE,
        ArgValue::Int(_) => INT,
        ArgValue::Uint(_) => UINT,
        ArgValue::Pointer(_) => POINTER,
        ArgValue::Real(_) => REAL,
        ArgValue::Text(_) => TEXT,
        ArgValue::NoText => NO_TEXT,
    }
}

fn put_positions(put: &mut Put<'_>, positions: &[Position]) {
    if positions.is_empty() {
        return;
    }
    put.natural(positions.len() as u64);
    for position in positions {
        put.natural((position.at as u64) << 1 | u64::from(position.goes_on))
            .natural(position.index);
    }
}

/// Reads arguments back, in the order in which they were added. Of arguments with one key, the last
/// counts (rule A1).
#[derive(Debug, Clone)]
pub(crate) struct Args<'a>(&'a [u8]);

/// An entry.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arg<'a> {
    pub key: Key<'a>,
    pub what: EntryContent<'a>,
    /// The bytes after its key.
    value: &'a [u8],
    kind: u8,
}

/// The content of an entry.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum EntryContent<'a> {
    Value(ArgValue<'a>),
    /// The next index of a list.
    Count,
}

/// A key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Key<'a> {
    flat: Flat<'a>,
    /// The bytes of the flat key.
    written: &'a [u8],
    positions: Option<&'a [u8]>,
}

#[derive(Debug, Clone, Copy)]
enum Flat<'a> {
    Number(Name),
    Text(&'a str),
}

impl<'a> Args<'a> {
    /// The arguments in these bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Args(bytes)
    }

    fn read(&self) -> Option<(Arg<'a>, &'a [u8])> {
        let (&tag, rest) = self.0.split_first()?;
        let mut take = Take(rest);
        let flat = match tag & IN_FULL {
            0 => Flat::Number(Name(take.small().ok()?)),
            _ => Flat::Text(text(take.bytes().ok()?)),
        };
        let written = rest.get(..rest.len() - take.0.len())?;
        let positions = match tag & LISTED {
            0 => None,
            _ => Some(take_positions(&mut take)?),
        };
        let behind = take.0;
        let what = EntryContent::take(tag & TYPE, &mut take)?;
        let value = behind.get(..behind.len() - take.0.len())?;
        let key = Key { flat, written, positions };
        let arg = Arg { key, what, value, kind: tag & (TYPE | IN_FULL) };
        Some((arg, take.0))
    }
}

impl<'a> Iterator for Args<'a> {
    type Item = Arg<'a>;

    fn next(&mut self) -> Option<Arg<'a>> {
        let (arg, rest) = self.read()?;
        self.0 = rest;
        Some(arg)
    }
}

impl<'a> EntryContent<'a> {
    fn take(kind: u8, take: &mut Take<'a>) -> Option<Self> {
        Some(EntryContent::Value(match kind {
            NULL => ArgValue::Null,
            FALSE => ArgValue::Bool(false),
            TRUE => ArgValue::Bool(true),
            INT => ArgValue::Int(take.integer().ok()?),
            UINT => ArgValue::Uint(take.natural().ok()?),
            POINTER => ArgValue::Pointer(take.natural().ok()?),
            REAL => {
                let (bits, rest) = take.0.split_first_chunk()?;
                take.0 = rest;
                ArgValue::Real(f64::from_bits(u64::from_le_bytes(*bits)))
            }
            TEXT => ArgValue::Text(text(take.bytes().ok()?)),
            NO_TEXT => ArgValue::NoText,
            COUNT => return Some(EntryContent::Count),
            _ => return None,
        }))
    }
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}

fn take_positions<'a>(take: &mut Take<'a>) -> Option<&'a [u8]> {
    let before = take.0;
    for _ in 0..take.natural().ok()? {
        take.natural().ok()?;
        take.natural().ok()?;
    }
    before.get(..before.len() - take.0.len())
}

impl<'a> Key<'a> {
    /// The key without positions.
    pub fn flat(&self, names: &'a Texts) -> &'a str {
        match self.flat {
            Flat::Number(name) => names.text(name),
            Flat::Text(text) => text,
        }
    }

    /// The number of a key without positions, if it has one.
    pub fn number(&self) -> Option<Name> {
        match self.flat {
            Flat::Number(name) if self.is_flat() => Some(name),
            _ => None,
        }
    }

    /// Whether the key equals the flat key.
    pub fn is_flat(&self) -> bool {
        self.positions.is_none()
    }

    pub(super) fn positions(&self) -> impl Iterator<Item = Position> + use<'a> {
        let mut take = Take(self.positions.unwrap_or_default());
        let count = take.natural().unwrap_or_default();
        (0..count).map_while(move |_| {
            let at = take.natural().ok()?;
            Some(Position {
                at: usize::try_from(at >> 1).ok()?,
                index: take.natural().ok()?,
                goes_on: at & 1 != 0,
            })
        })
    }

    /// Appends the key to a text.
    pub fn write(&self, names: &Texts, out: &mut String) {
        let flat = self.flat(names);
        if self.is_flat() {
            return out.push_str(flat);
        }
        let mut written = 0;
        for position in self.positions() {
            out.push_str(flat.get(written..position.at).unwrap_or_default());
            written = position.at;
            push_index(position.index, out);
        }
        out.push_str(flat.get(written..).unwrap_or_default());
    }
}

/// Appends an index of a list in the form that keys have.
pub(super) fn push_index(index: u64, out: &mut String) {
    use std::fmt::Write;
    // Writing to a String cannot fail.
    let _ = write!(out, "[{index}]");
}

impl Arg<'_> {
    /// Appends the argument to others, with other positions.
    pub(super) fn append_at(&self, positions: &[Position], onto: &mut Vec<u8>) {
        onto.push(self.kind | listed(positions));
        let mut put = Put(onto);
        put.rest(self.key.written);
        put_positions(&mut put, positions);
        put.rest(self.value);
    }
}
