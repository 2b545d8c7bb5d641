//! The key of an argument that is being built, and the positions in lists.

use std::borrow::Cow;

use rustc_hash::FxHashMap;
use timebase_schema::fields::interned_string as entry;

use super::set::{Position, push_index};
use crate::message::{self, Message};
use crate::timeline::Name;

/// Longer keys are a fault. The name in an entry of interned data is stored once, and may be in
/// many keys.
const LONGEST: usize = 1 << 16;

/// A fault, which ends the part that it is in (rule A4).
#[derive(Debug)]
pub(super) struct Fault;

/// A key, step by step.
#[derive(Debug, Default)]
pub(super) struct KeyText {
    pub flat: String,
    pub positions: Vec<Position>,
    /// The next index of each list of the event, by the list's key (rule A5).
    lists: FxHashMap<Box<str>, u64>,
    /// The bytes that these keys take.
    bytes: usize,
    /// The key of a list.
    list: String,
}

/// A former length of a key.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Mark {
    flat: usize,
    positions: usize,
}

impl KeyText {
    pub fn clear(&mut self) {
        self.flat.clear();
        self.positions.clear();
        self.lists.clear();
        self.bytes = 0;
    }

    /// The bytes that the key and the keys of lists take.
    pub fn size(&self) -> usize {
        self.flat.len() + self.bytes
    }

    pub fn mark(&self) -> Mark {
        Mark { flat: self.flat.len(), positions: self.positions.len() }
    }

    pub fn back_to(&mut self, mark: Mark) {
        self.flat.truncate(mark.flat);
        self.positions.truncate(mark.positions);
    }

    /// Adds a step with a name, after a dot.
    pub fn enter(&mut self, name: &str) -> Result<(), Fault> {
        if !self.flat.is_empty() {
            self.flat.push('.');
        }
        self.flat.push_str(name);
        match self.flat.len() {
            0..=LONGEST => Ok(()),
            _ => Err(Fault),
        }
    }

    /// Adds a step with a name that a writer chose: no part of it may look like a key.
    pub fn enter_annotation(&mut self, name: &str) -> Result<(), Fault> {
        const ODD: [char; 3] = ['.', '[', ']'];
        match name.bytes().any(|byte| matches!(byte, b'.' | b'[' | b']')) {
            true => self.enter(&name.replace(ODD, "_")),
            false => self.enter(name),
        }
    }

    /// Adds a step for an entry of a list. `goes_on` is the one of [`Position`].
    pub fn enter_entry(&mut self, index: u64, goes_on: bool) {
        self.positions.push(Position { at: self.flat.len(), index, goes_on });
    }

    /// The next index of the list with the current key.
    pub fn list(&mut self) -> u64 {
        self.write_list();
        self.lists.get(&*self.list).copied().unwrap_or_default()
    }

    /// Sets the next index of the list with the current key.
    pub fn set_list(&mut self, next: u64) {
        self.write_list();
        match self.lists.get_mut(&*self.list) {
            Some(known) => *known = next,
            None => {
                self.bytes += self.list.len();
                self.lists.insert(self.list.as_str().into(), next);
            }
        }
    }

    fn write_list(&mut self) {
        let mut written = 0;
        self.list.clear();
        for position in &self.positions {
            let part = self.flat.get(written..position.at);
            self.list.push_str(part.unwrap_or_default());
            written = position.at;
            push_index(position.index, &mut self.list);
        }
        let part = self.flat.get(written..);
        self.list.push_str(part.unwrap_or_default());
    }
}

/// The name of an annotation: an entry of interned data, or the annotation's own name.
#[derive(Debug, Clone, Copy)]
pub(super) enum Label<'a> {
    Entry(&'a [u8]),
    Name(&'a [u8]),
}

impl<'a> Label<'a> {
    /// The name.
    pub fn text(self) -> Cow<'a, str> {
        match self {
            Label::Entry(entry) => Message(entry).text(entry::STR).unwrap_or_default(),
            Label::Name(name) => message::text(name),
        }
    }
}

/// The keys for recent names, because a few names repeat often.
#[derive(Debug, Default)]
pub(super) struct Labels {
    entries: FxHashMap<Box<[u8]>, Name>,
    names: FxHashMap<Box<[u8]>, Name>,
}

impl Labels {
    const MOST: usize = 1 << 12;
    const LONGEST: usize = 1 << 8;

    #[inline]
    pub fn get(&self, label: Label<'_>) -> Option<Name> {
        match label {
            Label::Entry(entry) => self.entries.get(entry).copied(),
            Label::Name(name) => self.names.get(name).copied(),
        }
    }

    pub fn insert(&mut self, label: Label<'_>, key: Name) {
        let (known, label) = match label {
            Label::Entry(entry) => (&mut self.entries, entry),
            Label::Name(name) => (&mut self.names, name),
        };
        if known.len() >= Self::MOST {
            known.clear();
        }
        if label.len() <= Self::LONGEST {
            known.insert(label.into(), key);
        }
    }
}
