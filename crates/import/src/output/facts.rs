//! Facts about a trace: rows of the table `fact`, which the view `metadata` shows.
//!
//! A trace can repeat statements about itself without end, and facts become rows only after the trace is
//! read. So there is a limit for facts in memory.

use std::borrow::Cow;
use std::collections::HashMap;

use rusqlite::types::Null;
pub(crate) use rusqlite::types::Value as Fact;

/// The largest number of facts in memory, and of their bytes.
const MOST: usize = 1 << 18;
const MOST_BYTES: usize = 32 << 20;

/// The subject of a fact: a file, a machine, a machine's packets in a file, or none of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct About {
    pub file: Option<u32>,
    pub machine: Option<u32>,
}

impl About {
    /// The whole import.
    pub const ALL: About = About { file: None, machine: None };

    /// A file.
    pub fn trace(file: u32) -> About {
        About { file: Some(file), machine: None }
    }

    /// A machine.
    pub fn machine(machine: u32) -> About {
        About { file: None, machine: Some(machine) }
    }

    /// The packets of a machine in a file.
    pub fn both(file: u32, machine: u32) -> About {
        About { file: Some(file), machine: Some(machine) }
    }
}

/// A row of `fact`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FactRow {
    pub name: Cow<'static, str>,
    pub about: About,
    /// Whether the name may have several rows.
    pub is_multi: bool,
    pub value: Fact,
}

impl FactRow {
    fn bytes(&self) -> usize {
        let value = match &self.value {
            Fact::Text(text) => text.len(),
            Fact::Blob(bytes) => bytes.len(),
            Fact::Null | Fact::Integer(_) | Fact::Real(_) => 0,
        };
        self.name.len().saturating_add(value)
    }
}

/// The facts so far, in the order in which they were first stated.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    rows: Vec<FactRow>,
    /// The places of facts that a later value replaces.
    places: HashMap<(Cow<'static, str>, About), usize>,
    bytes: usize,
    /// The number of facts without room.
    pub left_out: u64,
}

impl Facts {
    /// States a fact. A later value of the same name and subject replaces it.
    pub fn set(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        about: About,
        value: impl Into<Fact>,
    ) {
        let key = (name.into(), about);
        let row = FactRow { name: key.0.clone(), about, is_multi: false, value: value.into() };
        match self.places.get(&key).and_then(|&at| self.rows.get_mut(at)) {
            Some(known) => {
                let others = self.bytes.saturating_sub(known.bytes());
                let bytes = others.saturating_add(row.bytes());
                if bytes > MOST_BYTES {
                    self.left_out = self.left_out.saturating_add(1);
                    return;
                }
                self.bytes = bytes;
                *known = row;
            }
            None => {
                if let Some(at) = self.push(row) {
                    self.places.insert(key, at);
                }
            }
        }
    }

    /// States a fact as text, or as NULL if there is no text.
    pub fn set_text(&mut self, name: &'static str, about: About, text: Option<Cow<'_, str>>) {
        let text = text.map(|text| Fact::Text(text.into_owned()));
        self.set(name, about, text.unwrap_or(Null.into()));
    }

    /// Adds a row in addition to earlier rows of the name.
    pub fn add(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        about: About,
        is_multi: bool,
        value: impl Into<Fact>,
    ) {
        self.push(FactRow { name: name.into(), about, is_multi, value: value.into() });
    }

    fn push(&mut self, row: FactRow) -> Option<usize> {
        let bytes = self.bytes.saturating_add(row.bytes());
        if self.rows.len() >= MOST || bytes > MOST_BYTES {
            self.left_out = self.left_out.saturating_add(1);
            return None;
        }
        self.bytes = bytes;
        self.rows.push(row);
        Some(self.rows.len().saturating_sub(1))
    }

    /// A fact that [`Facts::set`] stated.
    pub fn get(&self, name: &'static str, about: About) -> Option<&Fact> {
        let at = self.places.get(&(Cow::Borrowed(name), about))?;
        self.rows.get(*at).map(|row| &row.value)
    }

    /// Adds all facts of `others` after these.
    pub fn join(&mut self, others: Facts) {
        let Facts { rows, places, left_out, .. } = others;
        self.left_out = self.left_out.saturating_add(left_out);
        for (at, row) in rows.into_iter().enumerate() {
            let key = (row.name, row.about);
            match places.get(&key) == Some(&at) {
                true => self.set(key.0, key.1, row.value),
                false => self.add(key.0, key.1, row.is_multi, row.value),
            }
        }
    }

    /// All facts.
    pub fn iter(&self) -> impl Iterator<Item = &FactRow> {
        self.rows.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(facts: &Facts) -> Vec<String> {
        let rows = facts.iter();
        rows.map(|row| format!("{} {:?}", row.name, row.value)).collect()
    }

    #[test]
    fn md1_the_last_value_wins_at_the_place_of_the_first() {
        let mut facts = Facts::default();
        facts.set("a", About::trace(0), 1);
        facts.add("b", About::ALL, true, 2);
        facts.add("b", About::ALL, true, 3);
        facts.set("a", About::machine(0), 4);
        facts.set("a", About::trace(0), 5);
        let mut later = Facts::default();
        later.add("b", About::ALL, true, 6);
        later.set("a", About::machine(0), 7);
        facts.join(later);
        assert_eq!(
            shown(&facts),
            ["a Integer(5)", "b Integer(2)", "b Integer(3)", "a Integer(7)", "b Integer(6)"]
        );
        assert_eq!(facts.get("a", About::trace(0)), Some(&Fact::Integer(5)));
        assert_eq!(facts.get("b", About::ALL), None);
    }

    #[test]
    fn facts_without_room_are_counted() {
        let mut facts = Facts::default();
        let large = || "x".repeat(MOST_BYTES / 2 + 1);
        facts.set("a", About::ALL, large());
        facts.set("b", About::ALL, large());
        facts.set("a", About::ALL, String::new());
        facts.set("b", About::ALL, large());
        facts.set("a", About::ALL, large());
        assert_eq!(facts.get("a", About::ALL), Some(&Fact::Text(String::new())));
        let names: Vec<&str> = facts.iter().map(|row| &*row.name).collect();
        assert_eq!((names, facts.left_out), (vec!["a", "b"], 2));
        for number in 0..MOST as i64 {
            facts.add("c", About::ALL, true, number);
        }
        assert_eq!((facts.iter().count(), facts.left_out), (MOST, 4));
    }
}
