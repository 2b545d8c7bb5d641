//! The arguments of a slice (JS25).

use std::collections::HashMap;

use super::event::Event;
use super::text::{Json, Node, fifteen_digits, real};

#[derive(Debug, Default)]
pub struct Args {
    /// Key, flat key, type and value.
    rows: Vec<(String, String, &'static str, String)>,
    /// The next position of each list.
    next: HashMap<String, usize>,
}

impl Args {
    pub fn set(&mut self, key: &str, flat: &str, kind: &'static str, value: String) {
        self.rows.retain(|row| row.0 != key);
        self.rows.push((key.to_owned(), flat.to_owned(), kind, value));
    }

    /// JS25; whether the value takes a position in a list.
    fn add(&mut self, key: &str, flat: &str, node: &Node) -> bool {
        match &node.value {
            Json::Null => return false,
            Json::Bool(value) => self.set(key, flat, "bool", i32::from(*value).to_string()),
            Json::Text(text) => self.set(key, flat, "string", text.clone()),
            Json::Number(number) => match node.int() {
                Some(int) => self.set(key, flat, "int", int.to_string()),
                None => self.set(key, flat, "real", fifteen_digits(real(number))),
            },
            Json::Object(members) => {
                for (name, member) in members {
                    self.add(&format!("{key}.{name}"), &format!("{flat}.{name}"), member);
                }
            }
            Json::List(entries) => {
                for entry in entries {
                    let next = self.next.get(key).copied().unwrap_or(0);
                    if self.add(&format!("{key}[{next}]"), flat, entry) {
                        self.next.insert(key.to_owned(), next + 1);
                    }
                }
            }
        }
        true
    }

    pub fn of(event: &Event) -> Args {
        let mut args = Args::default();
        args.add_all(event);
        args
    }

    pub fn add_all(&mut self, event: &Event) {
        if let Some(args) = event.args() {
            self.add("args", "args", args);
        }
    }

    pub fn text(&self) -> String {
        let row = |(key, flat, kind, value): &(String, String, &str, String)| {
            format!("{key} ({flat}) {kind}={value}")
        };
        let mut rows: Vec<String> = self.rows.iter().map(row).collect();
        rows.sort();
        rows.join("\x1f")
    }
}
