//! A1, A2: arguments, by their keys.

use std::collections::BTreeMap;

/// What an argument says.
#[derive(Clone, Debug, PartialEq)]
pub enum Said {
    Int(i64),
    Uint(u64),
    Pointer(u64),
    Bool(bool),
    /// A text that nobody said is NULL.
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

/// A3: a key with the positions in lists, and one without.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Key {
    pub full: String,
    pub flat: String,
}

impl Key {
    pub fn new(name: &str) -> Key {
        Key {
            full: name.to_owned(),
            flat: name.to_owned(),
        }
    }

    /// What is called so below it.
    pub fn child(&self, name: &str) -> Key {
        if self.full.is_empty() {
            return Key::new(name);
        }
        Key {
            full: format!("{}.{name}", self.full),
            flat: format!("{}.{name}", self.flat),
        }
    }

    /// Its element of this number.
    pub fn element(&self, position: usize) -> Key {
        Key {
            full: format!("{}[{position}]", self.full),
            flat: self.flat.clone(),
        }
    }
}

/// The arguments of one row.
#[derive(Clone, Debug, Default)]
pub struct Args {
    pub all: Vec<Arg>,
    /// A5: where the next list of a key begins.
    next: BTreeMap<String, usize>,
}

impl Args {
    /// A1: a key that is there gets the new value.
    pub fn set(&mut self, key: Key, said: Said) {
        self.all.retain(|arg| arg.key.full != key.full);
        self.all.push(Arg { key, said });
    }

    /// The same of a key without lists.
    pub fn say(&mut self, name: &str, said: Said) {
        self.set(Key::new(name), said);
    }

    pub fn has(&self, name: &str) -> bool {
        self.all.iter().any(|arg| arg.key.full == name)
    }

    /// A5: the position that a list of this key has come to.
    pub fn position(&self, list: &Key) -> usize {
        self.next.get(&list.full).copied().unwrap_or(0)
    }

    /// A5: an entry of the list has added something.
    pub fn advance(&mut self, list: &Key) {
        *self.next.entry(list.full.clone()).or_default() += 1;
    }
}
