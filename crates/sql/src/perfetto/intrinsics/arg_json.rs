//! The arguments of an event as one JSON object.
//!
//! | function | result |
//! |---|---|
//! | `__intrinsic_arg_set_to_json(arg_set_id)` | the set as an object: the key `debug.ids[1]` is the second element of the list `ids` in the object `debug`. `{}` for a set without arguments, NULL for NULL |
//!
//! # Design
//!
//! One query gathers a set as a list of texts, and the objects are made here. SQLite's `json_set` could make them
//! from paths, but takes a key with a point or bracket apart only if the paths are quoted by hand, and it replaces a
//! value by a container without an error.

use rusqlite::Connection;
use rusqlite::types::ValueRef;
use timebase_descriptor::quote;

use super::limits::Budget;
use crate::{Answer, Arguments, Call, Error, Function, Functions, Lookup, Result};

const NAME: &str = "__intrinsic_arg_set_to_json";

/// The keys, types and values of a set, in their order. A real number has 16 digits, as in trace processor.
const ARGUMENTS: &str = "SELECT json_group_array(json_array(key, value_type, \
         CASE iif(coalesce(int_value, string_value, real_value) IS NULL, NULL, value_type) \
         WHEN 'string' THEN string_value WHEN 'json' THEN string_value \
         WHEN 'real' THEN printf('%.16g', real_value) \
         WHEN 'uint' THEN printf('%llu', int_value) WHEN 'pointer' THEN printf('0x%llx', int_value) \
         ELSE CAST(int_value AS TEXT) END)) \
     FROM (SELECT * FROM main.args WHERE arg_set_id = ?1 ORDER BY id)";

pub fn register(conn: &Connection) -> rusqlite::Result<()> {
    let mut to = conn;
    Ok(to.add(NAME, 1, ArgSetToJson(Lookup::new(ARGUMENTS)))?)
}

struct ArgSetToJson(Lookup);

impl Function for ArgSetToJson {
    fn call<C: Call>(&self, call: &C) -> Result<Answer> {
        let Some(set) = Arguments::new(NAME, call).integer(0, "arg_set_id")? else {
            return Ok(Answer::Null);
        };
        let found = self.0.value(NAME, call, &[ValueRef::Integer(set)])?;
        let Answer::Text(found) = found else {
            return Ok(Answer::Null);
        };
        let found: Vec<(String, Option<String>, Option<String>)> =
            serde_json::from_str(&found).map_err(|error| wrong(&error))?;
        let mut root = Node::Object(Vec::new());
        let mut budget = Budget::new(NAME);
        for (key, kind, value) in found {
            root.insert(&key, json_of(kind.as_deref(), value), &mut budget)?;
        }
        let mut json = String::new();
        root.write(&mut json);
        Ok(json.into())
    }
}

fn wrong(what: &dyn std::fmt::Display) -> Error {
    Error::new(format_args!("{NAME}(): {what}"))
}

/// A value as JSON. What is no number in JSON is a text.
fn json_of(kind: Option<&str>, value: Option<String>) -> Node {
    let text = |value: &str| {
        let mut json = String::new();
        quote(value.as_bytes(), &mut json);
        Node::Value(json)
    };
    match (kind, value) {
        (Some("real"), None) => text("NaN"),
        (_, None) => Node::Nothing,
        (Some("real"), Some(value)) => match value.as_str() {
            "Inf" => text("Infinity"),
            "-Inf" => text("-Infinity"),
            _ => Node::Value(value),
        },
        (Some("bool"), Some(value)) => Node::Value((value != "0").to_string()),
        (Some("int" | "uint"), Some(value)) => Node::Value(value),
        (_, Some(value)) => text(&value),
    }
}

/// A part of the object.
enum Node {
    /// NULL, or a place in a list that no key names.
    Nothing,
    /// In JSON.
    Value(String),
    List(Vec<Node>),
    Object(Vec<(String, Node)>),
}

/// The most containers inside of each other.
const DEEPEST: usize = 500;

impl Node {
    /// Puts a value under a key.
    fn insert(&mut self, key: &str, value: Node, budget: &mut Budget) -> Result<()> {
        let mut node = self;
        let mut depth = 0usize;
        // Points at the ends and next to each other count for nothing, as in trace processor.
        for part in key.split('.').filter(|part| !part.is_empty()) {
            let (name, rest) = part.split_at(part.find('[').unwrap_or(part.len()));
            node = node.member(name, budget)?.ok_or_else(|| clash(key))?;
            for bracket in rest.split('[').skip(1) {
                let index = bracket.split(']').next().and_then(|index| index.parse::<u32>().ok());
                let index = index.and_then(|index| usize::try_from(index).ok());
                let index = index.ok_or_else(|| {
                    wrong(&format_args!("the key {key} has an index that is no number"))
                })?;
                node = node.element(index, budget)?.ok_or_else(|| clash(key))?;
                depth = depth.saturating_add(1);
            }
            depth = depth.saturating_add(1);
            if depth > DEEPEST {
                return Err(wrong(&format_args!("a key has more than {DEEPEST} parts")));
            }
        }
        match node {
            Node::List(_) | Node::Object(_) => Err(clash(key)),
            _ => {
                *node = value;
                Ok(())
            }
        }
    }

    /// The member of an object; `None` if this is a list or a value.
    fn member(&mut self, name: &str, budget: &mut Budget) -> Result<Option<&mut Node>> {
        if matches!(self, Node::Nothing) {
            *self = Node::Object(Vec::new());
        }
        let Node::Object(members) = self else {
            return Ok(None);
        };
        let known = members.iter().position(|(known, _)| known == name);
        if known.is_none() {
            budget.take(name.len().saturating_add(size_of::<(String, Node)>()))?;
            members.push((name.to_owned(), Node::Nothing));
        }
        let place = known.unwrap_or(members.len().saturating_sub(1));
        Ok(members.get_mut(place).map(|(_, node)| node))
    }

    /// The element of a list; `None` if this is an object or a value.
    fn element(&mut self, index: usize, budget: &mut Budget) -> Result<Option<&mut Node>> {
        if matches!(self, Node::Nothing) {
            *self = Node::List(Vec::new());
        }
        let Node::List(elements) = self else {
            return Ok(None);
        };
        if elements.len() <= index {
            let more = index.saturating_add(1).saturating_sub(elements.len());
            budget.take(more.saturating_mul(2 * size_of::<Node>()))?;
            elements.resize_with(index.saturating_add(1), || Node::Nothing);
        }
        Ok(elements.get_mut(index))
    }

    fn write(&self, json: &mut String) {
        match self {
            Node::Nothing => *json += "null",
            Node::Value(value) => *json += value,
            Node::List(elements) => {
                json.push('[');
                for (at, element) in elements.iter().enumerate() {
                    if at > 0 {
                        json.push(',');
                    }
                    element.write(json);
                }
                json.push(']');
            }
            Node::Object(members) => {
                json.push('{');
                for (at, (name, member)) in members.iter().enumerate() {
                    if at > 0 {
                        json.push(',');
                    }
                    quote(name.as_bytes(), json);
                    json.push(':');
                    member.write(json);
                }
                json.push('}');
            }
        }
    }
}

fn clash(key: &str) -> Error {
    wrong(&format_args!(
        "the key {key} is both a value and a container of other keys; read such a set from args"
    ))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
