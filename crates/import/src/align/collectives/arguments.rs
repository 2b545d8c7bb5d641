//! The arguments of kernels and operators.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_core::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

/// The arguments that tell something of a collective.
const NAMES: [&str; 14] = [
    "Process Group Name",
    "Process Group Ranks",
    "Group size",
    "Collective name",
    "In split size",
    "Out split size",
    "In msg nelems",
    "dtype",
    "Seq",
    "Src Rank",
    "Dst Rank",
    "Root Rank",
    "correlation",
    "External id",
];

/// Some arguments of an event. Most events have a dozen others, which are not kept.
#[derive(Debug, Default)]
pub(super) struct Arguments([Option<Value>; NAMES.len()]);

/// The group and the name of a collective.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Group([String; 4]);

impl Group {
    pub fn name(&self) -> &str {
        let Group([.., name]) = self;
        name
    }
}

/// The statements of a rank about its data in a collective, as a hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Said {
    pub hash: u64,
    /// Whether a rank sends or gets nothing of some other one.
    pub has_empty_split: bool,
}

impl Arguments {
    /// The arguments in the text of an `arg_set`; none if it is no object.
    pub fn of(text: &[u8]) -> Arguments {
        serde_json::from_slice(text).unwrap_or_default()
    }

    /// Replaces the arguments that others have too, and adds the others.
    pub fn extend(&mut self, others: Arguments) {
        for (own, other) in self.0.iter_mut().zip(others.0) {
            *own = other.or(own.take());
        }
    }

    fn get(&self, name: &str) -> Option<&Value> {
        let place = NAMES.iter().position(|other| *other == name)?;
        self.0.get(place)?.as_ref()
    }

    pub fn number(&self, name: &str) -> Option<i64> {
        self.get(name)?.as_i64()
    }

    pub fn names_collective(&self) -> bool {
        self.get("Collective name").is_some()
    }

    fn text(&self, name: &str) -> String {
        match self.get(name) {
            Some(Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
            None => String::new(),
        }
    }

    pub fn group(&self) -> Group {
        let names = ["Process Group Name", "Process Group Ranks", "Group size", "Collective name"];
        Group(names.map(|name| self.text(name)))
    }

    pub fn said(&self) -> Said {
        let splits = ["In split size", "Out split size"].map(|name| self.text(name)).concat();
        let mut sizes = splits.split(|c: char| !c.is_ascii_digit());
        let has_empty_split = sizes.any(|size| size == "0");
        let mut hasher = DefaultHasher::new();
        let data = ["In msg nelems", "dtype"].map(|name| self.text(name));
        (data, has_empty_split).hash(&mut hasher);
        Said { hash: hasher.finish(), has_empty_split }
    }
}

/// The place of an argument, by its key in an `arg_set`; `None` of another argument.
struct Place(Option<usize>);

impl<'de> Deserialize<'de> for Place {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Place, D::Error> {
        struct Key;
        impl Visitor<'_> for Key {
            type Value = Place;

            fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                to.write_str("a key")
            }

            fn visit_str<E>(self, key: &str) -> Result<Place, E> {
                let name = key.strip_prefix("args.");
                Ok(Place(name.and_then(|name| NAMES.iter().position(|other| *other == name))))
            }
        }
        deserializer.deserialize_str(Key)
    }
}

impl<'de> Deserialize<'de> for Arguments {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Arguments, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Arguments;

            fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                to.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Arguments, A::Error> {
                let mut arguments = Arguments::default();
                while let Some(Place(place)) = map.next_key()? {
                    match place.and_then(|place| arguments.0.get_mut(place)) {
                        Some(place) => *place = Some(map.next_value()?),
                        None => drop(map.next_value::<IgnoredAny>()?),
                    }
                }
                Ok(arguments)
            }
        }
        deserializer.deserialize_map(Object)
    }
}
