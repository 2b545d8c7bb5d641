//! The arguments of a row as annotations of an event.
//!
//! # Design
//!
//! A key such as `args.a[0].b` is a path, and all keys of a set make a tree. Most trees are annotations with
//! dictionaries and lists. A member whose name has `.`, `[` or `]` in a way that an annotation would change, and a
//! list in which an empty list or object takes a position, are the text of JSON, which readers take as it is.
//! JSON for everything was the alternative: it is larger, its names and texts are not interned, and trace
//! processor stops at a NaN.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use serde_core::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use timebase_schema::fields::{debug_annotation as field, track_event};

use super::message::Message;
use super::sequence::{Sequence, Table};

/// Annotations that are nested deeper are written as JSON: readers stop at a hundred levels.
const DEEPEST: usize = 90;

/// A value of an argument.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Scalar {
    Int(i64),
    Uint(u64),
    Real(f64),
    Bool(bool),
    Text(String),
}

/// A step of a key.
#[derive(Debug, Clone, PartialEq)]
enum Step {
    Name(String),
    /// A name that an annotation would change.
    OddName(String),
    Index(u64),
}

/// The members of a JSON object, in their order.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(Object)
    }
}

/// The members of an object whose values are texts; none if it is no such object.
fn texts(json: Option<&str>) -> BTreeMap<String, String> {
    let found = json.and_then(|json| serde_json::from_str::<Members<'_>>(json).ok());
    let members = found.map(|Members(members)| members).unwrap_or_default();
    let text = |(key, value): (String, &RawValue)| {
        let value = serde_json::from_str::<String>(value.get()).ok()?;
        Some((key, value))
    };
    members.into_iter().filter_map(text).collect()
}

/// A set of arguments, as `arg_set` and `arg_type` have it.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Stored<'a> {
    pub args: &'a str,
    pub types: Option<&'a str>,
    pub flat_keys: Option<&'a str>,
}

impl Stored<'_> {
    /// The keys, flat keys and values.
    fn values(self) -> Vec<(String, Option<String>, Scalar)> {
        let Ok(Members(members)) = serde_json::from_str::<Members<'_>>(self.args) else {
            return Vec::new();
        };
        let (types, mut flat_keys) = (texts(self.types), texts(self.flat_keys));
        let value = |(key, value): (String, &RawValue)| {
            let value = scalar(value.get(), types.get(&key).map(String::as_str))?;
            let flat = flat_keys.remove(&key);
            Some((key, flat, value))
        };
        members.into_iter().filter_map(value).collect()
    }
}

/// The value of an argument; `None` of a null.
fn scalar(text: &str, value_type: Option<&str>) -> Option<Scalar> {
    match (text, value_type) {
        ("null", Some("real")) => Some(Scalar::Real(f64::NAN)),
        ("null", _) => None,
        ("true", _) => Some(Scalar::Bool(true)),
        ("false", _) => Some(Scalar::Bool(false)),
        (text, _) if text.starts_with('"') => serde_json::from_str(text).ok().map(Scalar::Text),
        (text, Some("uint" | "pointer")) => text.parse().ok().map(Scalar::Uint),
        (text, _) if text.contains(['.', 'e', 'E']) => text.parse().ok().map(Scalar::Real),
        (text, _) => text.parse().ok().map(Scalar::Int),
    }
}

/// The annotations of a set: the arguments under a root such as `args`, and all others.
#[derive(Debug, Default)]
pub(crate) struct Annotations {
    roots: Named,
    /// The arguments without a root.
    left_out: u64,
}

#[derive(Debug, Default)]
struct Node {
    value: Option<Scalar>,
    members: Named,
    items: BTreeMap<u64, Node>,
    /// Whether a member has a name that an annotation would change.
    is_odd: bool,
}

/// Nodes by their names, in the order in which they were added.
#[derive(Debug, Default)]
struct Named {
    list: Vec<(String, Node)>,
    /// The places of names, if there are many.
    places: HashMap<String, usize>,
}

impl Named {
    /// Up to this number of names, a search is faster than a table.
    const FEW: usize = 16;

    /// The node of a name.
    fn node(&mut self, name: &str) -> &mut Node {
        let found = match self.list.len() {
            // Most keys have the names of the key before them.
            ..=Named::FEW => self.list.iter().rposition(|(known, _)| known == name),
            _ => self.places.get(name).copied(),
        };
        let at = found.unwrap_or_else(|| {
            self.list.push((name.to_owned(), Node::default()));
            match self.list.len() - 1 {
                Named::FEW => {
                    let names = self.list.iter().map(|(name, _)| name.clone());
                    self.places = names.zip(0..).collect();
                }
                at if at > Named::FEW => {
                    self.places.insert(name.to_owned(), at);
                }
                _ => {}
            }
            self.list.len() - 1
        });
        &mut self.list[at].1
    }
}

impl Annotations {
    pub fn of(stored: Stored<'_>) -> Annotations {
        let mut annotations = Annotations::default();
        for (key, flat, value) in stored.values() {
            annotations.add(&key, flat.as_deref(), value);
        }
        annotations
    }

    /// Adds an argument; without a flat key, it is the key.
    pub fn add(&mut self, key: &str, flat: Option<&str>, value: Scalar) {
        let flat = flat.unwrap_or(key);
        let (Some((root, key)), Some((_, flat))) = (key.split_once('.'), flat.split_once('.'))
        else {
            self.left_out += 1;
            return;
        };
        let mut at = self.roots.node(root);
        for step in steps(key, flat) {
            at = match step {
                Step::Index(index) => at.items.entry(index).or_default(),
                Step::Name(name) => at.members.node(&name),
                Step::OddName(name) => {
                    at.is_odd = true;
                    at.members.node(&name)
                }
            };
        }
        at.value = Some(value);
    }

    /// Writes the arguments under `debug` as annotations of an event.
    pub fn write_debug(&self, event: &mut Message, sequence: &mut Sequence) {
        for (_, node) in self.roots.list.iter().filter(|(root, _)| root == "debug") {
            for (name, inside) in &node.members.list {
                inside.put(Some(name), track_event::DEBUG_ANNOTATIONS, event, sequence);
            }
        }
    }

    /// Writes the annotations into a field of an event.
    ///
    /// Returns the number of arguments that it left out, because JSON cannot hold them.
    pub fn write(&self, field: u32, event: &mut Message, sequence: &mut Sequence) -> u64 {
        let mut left_out = self.left_out;
        for (root, node) in &self.roots.list {
            let mut plain = Message::new();
            let mut json = String::new();
            for (name, inside) in &node.members.list {
                if inside.needs_json(0) || node.is_odd && is_odd(name) {
                    left_out += inside.not_finite();
                    json.push(if json.is_empty() { '{' } else { ',' });
                    inside.put_members(name, &mut json);
                } else {
                    inside.put(Some(name), field::DICT_ENTRIES, &mut plain, sequence);
                }
            }
            let name = sequence.number(Table::ArgumentNames, root);
            if !plain.is_empty() {
                let mut annotation = Message::new();
                annotation.number(field::NAME_IID, name);
                annotation.extend(plain.as_bytes());
                event.message(field, &annotation);
            }
            if !json.is_empty() {
                json.push('}');
                let mut annotation = Message::new();
                annotation.number(field::NAME_IID, name).text(field::LEGACY_JSON_VALUE, &json);
                event.message(field, &annotation);
            }
        }
        left_out
    }
}

/// Whether an annotation would change a name, or cannot have it.
fn is_odd(name: &str) -> bool {
    name.is_empty() || name.contains(['.', '[', ']'])
}

/// The steps of a key, by what its flat key lacks: positions.
fn steps(key: &str, flat: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut name = String::new();
    let (mut key, mut flat) = (key, flat.chars());
    while let Some(next) = key.chars().next() {
        if next == '['
            && !flat.as_str().starts_with('[')
            && let Some((index, rest)) = key[1..].split_once(']')
            && let Ok(index) = index.parse()
        {
            name_steps(&std::mem::take(&mut name), &mut steps);
            steps.push(Step::Index(index));
            key = rest;
            continue;
        }
        name.push(next);
        flat.next();
        key = &key[next.len_utf8()..];
    }
    name_steps(&name, &mut steps);
    steps
}

/// The names in a part of a key between two positions.
fn name_steps(part: &str, steps: &mut Vec<Step>) {
    let is_first = steps.is_empty();
    if part.is_empty() && !is_first {
        return;
    }
    // After a position, a dot stands before the name of a member.
    let part = if is_first { part } else { part.strip_prefix('.').unwrap_or(part) };
    let is_plain = !part.contains(['[', ']']) && part.split('.').all(|name| !name.is_empty());
    match is_plain {
        true => steps.extend(part.split('.').map(|name| Step::Name(name.to_owned()))),
        false => steps.push(Step::OddName(part.to_owned())),
    }
}

impl Node {
    /// Whether annotations cannot hold it.
    fn needs_json(&self, depth: usize) -> bool {
        let has_gap = (0..).zip(self.items.keys()).any(|(place, index)| place != *index);
        let mut inside = self.members.list.iter().map(|(_, node)| node).chain(self.items.values());
        self.is_odd || has_gap || depth > DEEPEST || inside.any(|node| node.needs_json(depth + 1))
    }

    /// The number of values inside that JSON cannot hold.
    fn not_finite(&self) -> u64 {
        let own = matches!(self.value, Some(Scalar::Real(value)) if !value.is_finite());
        let inside = self.members.list.iter().map(|(_, node)| node).chain(self.items.values());
        u64::from(own) + inside.map(Node::not_finite).sum::<u64>()
    }

    /// Writes it as annotations in a field: its value, its members and its entries.
    fn put(&self, name: Option<&str>, field: u32, out: &mut Message, sequence: &mut Sequence) {
        let name = name.map(|name| sequence.number(Table::ArgumentNames, name));
        let mut add = |fill: &mut dyn FnMut(&mut Message)| {
            let mut annotation = Message::new();
            if let Some(name) = name {
                annotation.number(field::NAME_IID, name);
            }
            fill(&mut annotation);
            out.message(field, &annotation);
        };
        if let Some(value) = &self.value {
            add(&mut |annotation| value.put(annotation, sequence));
        }
        if !self.members.list.is_empty() {
            add(&mut |annotation| {
                for (name, node) in &self.members.list {
                    node.put(Some(name), field::DICT_ENTRIES, annotation, sequence);
                }
            });
        }
        if !self.items.is_empty() {
            add(&mut |annotation| {
                for node in self.items.values() {
                    node.put(None, field::ARRAY_VALUES, annotation, sequence);
                }
            });
        }
    }

    /// Writes it as members of a JSON object with this name: one for its value, its members and its entries.
    fn put_members(&self, name: &str, json: &mut String) {
        let mut is_first = true;
        let mut add = |json: &mut String, fill: &dyn Fn(&mut String)| {
            if !std::mem::take(&mut is_first) {
                json.push(',');
            }
            put_text(name, json);
            json.push(':');
            fill(json);
        };
        if let Some(value) = &self.value {
            add(json, &|json| value.put_json(json));
        }
        if !self.items.is_empty() {
            add(json, &|json| self.put_list(json));
        }
        if !self.members.list.is_empty() || (self.value.is_none() && self.items.is_empty()) {
            add(json, &|json| self.put_object(json));
        }
    }

    fn put_object(&self, json: &mut String) {
        json.push('{');
        for (place, (name, node)) in self.members.list.iter().enumerate() {
            if place > 0 {
                json.push(',');
            }
            node.put_members(name, json);
        }
        json.push('}');
    }

    /// A list, in which an empty object takes each position without a value.
    fn put_list(&self, json: &mut String) {
        json.push('[');
        let mut next = 0;
        for (index, node) in &self.items {
            while next < *index {
                json.push_str("{},");
                next += 1;
            }
            match node {
                Node { value: Some(value), .. } => value.put_json(json),
                node if !node.items.is_empty() => node.put_list(json),
                node => node.put_object(json),
            }
            json.push(',');
            next += 1;
        }
        json.pop();
        json.push(']');
    }
}

impl Scalar {
    /// Writes it as the value of an annotation.
    fn put(&self, annotation: &mut Message, sequence: &mut Sequence) {
        match self {
            Scalar::Int(value) => annotation.signed(field::INT_VALUE, *value),
            Scalar::Uint(value) => annotation.number(field::UINT_VALUE, *value),
            Scalar::Real(value) => annotation.double(field::DOUBLE_VALUE, *value),
            Scalar::Bool(value) => annotation.number(field::BOOL_VALUE, u64::from(*value)),
            Scalar::Text(text) => {
                let number = sequence.number(Table::ArgumentTexts, text);
                annotation.number(field::STRING_VALUE_IID, number)
            }
        };
    }

    fn put_json(&self, json: &mut String) {
        match self {
            Scalar::Int(value) => json.push_str(&value.to_string()),
            Scalar::Uint(value) => json.push_str(&value.to_string()),
            // JSON has no such numbers. An empty object adds nothing, and takes the number's position.
            Scalar::Real(value) if !value.is_finite() => json.push_str("{}"),
            // It has a fraction or an exponent, so that it is a real number again.
            Scalar::Real(value) => json.push_str(&format!("{value:?}")),
            Scalar::Bool(value) => json.push_str(if *value { "true" } else { "false" }),
            Scalar::Text(text) => put_text(text, json),
        }
    }
}

fn put_text(text: &str, json: &mut String) {
    // Writing a text to memory cannot fail.
    json.push_str(&serde_json::to_string(text).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(key: &str, flat: &str) -> String {
        let shown = steps(key, flat).into_iter().map(|step| match step {
            Step::Name(name) => name,
            Step::OddName(name) => format!("'{name}'"),
            Step::Index(index) => format!("#{index}"),
        });
        shown.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn cv1_a_key_is_a_path() {
        assert_eq!(path("a[1][0].b.c", "a.b.c"), "a #1 #0 b c");
        assert_eq!(path("a[1]", "a[1]"), "'a[1]'");
        assert_eq!(path("a[1][2]", "a[1]"), "'a[1]' #2");
        assert_eq!(path("", ""), "''");
        assert_eq!(path("a..b", "a..b"), "'a..b'");
        assert_eq!(path("a[0].", "a."), "a #0 ''");
    }
}
