//! Arguments, by their keys (A1, A2).

use std::collections::BTreeMap;

/// The value of an argument.
#[derive(Clone, Debug, PartialEq)]
pub enum Said {
    Int(i64),
    Uint(u64),
    Pointer(u64),
    Bool(bool),
    /// A text that was never given is NULL.
    String(Option<String>),
    Real(f64),
    Null,
}

impl Said {
    pub fn text(text: &str) -> Said {
        Said::String(Some(text.to_owned()))
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Arg {
    pub key: Key,
    pub said: Said,
}

/// A key with the positions in lists, and one without (A3).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Key {
    pub full: String,
    pub flat: String,
}

impl Key {
    pub fn new(name: &str) -> Key {
        Key { full: name.to_owned(), flat: name.to_owned() }
    }

    /// The key of this name below it.
    pub fn child(&self, name: &str) -> Key {
        if self.full.is_empty() {
            return Key::new(name);
        }
        Key { full: format!("{}.{name}", self.full), flat: format!("{}.{name}", self.flat) }
    }

    /// Its element with this number.
    pub fn element(&self, position: usize) -> Key {
        Key { full: format!("{}[{position}]", self.full), flat: self.flat.clone() }
    }
}

/// The arguments of one row.
#[derive(Clone, Debug, Default)]
pub struct Args {
    pub all: Vec<Arg>,
    /// The position where the next list of a key begins (A5).
    next: BTreeMap<String, usize>,
}

impl Args {
    /// An existing key gets the new value (A1).
    pub fn set(&mut self, key: Key, said: Said) {
        match self.all.iter_mut().find(|arg| arg.key.full == key.full) {
            Some(known) => *known = Arg { key, said },
            None => self.all.push(Arg { key, said }),
        }
    }

    /// The same for a key without lists.
    pub fn say(&mut self, name: &str, said: Said) {
        self.set(Key::new(name), said);
    }

    pub fn has(&self, name: &str) -> bool {
        self.all.iter().any(|arg| arg.key.full == name)
    }

    /// The current position in a list with this key (A5).
    pub fn position(&self, list: &Key) -> usize {
        self.next.get(&list.full).copied().unwrap_or(0)
    }

    /// An entry of the list has added something (A5).
    pub fn advance(&mut self, list: &Key) {
        *self.next.entry(list.full.clone()).or_default() += 1;
    }
}
