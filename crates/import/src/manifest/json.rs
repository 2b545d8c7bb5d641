//! The JSON of a manifest: values by their types, each with its place.
//!
//! # Design
//!
//! First the text is checked as a whole, so that JSON errors have a line and a column. Then each
//! object is read when it is needed, with its values as text. So the spelling tells integers from
//! `1.0` and `1e3`, at any size, an unknown field may hold anything, and nothing recurses, however
//! deep the text nests. One alternative was `serde_json::Value`: it turns an integer into a real
//! number if it does not fit into 64 bits. Another was a derived `Deserialize` with
//! `serde_path_to_error`: it would save the 110 lines of `Found`, `Object` and `Fields`. But 22 of
//! the 33 messages in `parse.rs` say what to write, where serde says `` missing field `path` `` at
//! the place of the object, and equal keys would be refused.

use std::collections::HashMap;
use std::fmt;

use serde_core::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// A place in a manifest: `files[1].clocks.offset_ns`. Paths begin inside `perfetto_manifest`; the
/// empty path is that object itself.
///
/// ```
/// use timebase_import::manifest::Place;
/// let place = Place::file(1).field("clocks").field("offset_ns");
/// assert_eq!(place.to_string(), "files[1].clocks.offset_ns");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place(String);

impl Place {
    /// An entry of `files`, counted from 0.
    pub fn file(index: usize) -> Place {
        Place::default().field("files").element(index)
    }

    /// A field of the object here.
    #[must_use]
    pub fn field(&self, name: &str) -> Place {
        match self.0.as_str() {
            "" => Place(name.to_owned()),
            outer => Place(format!("{outer}.{name}")),
        }
    }

    /// An element of the array here.
    #[must_use]
    pub(crate) fn element(&self, index: usize) -> Place {
        Place(format!("{}[{index}]", self.0))
    }

    /// The error that refuses the import because of something at this place, or missing there.
    pub fn refused(&self, what: impl fmt::Display) -> Refused {
        Refused { place: self.clone(), what: what.to_string() }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The reason why an import with this manifest is refused. The text begins with
/// `perfetto_manifest: ` and the place. It says what is wrong, and what to do unless that is plain.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("perfetto_manifest: {place}{}{what}", if place.0.is_empty() { "" } else { " " })]
pub struct Refused {
    /// The place of the error; empty for the whole manifest.
    pub place: Place,
    /// The error, as the rest of a sentence that begins with the place.
    pub what: String,
}

/// As a sentence: a `main` that returns this error, and `unwrap`, write its Debug to the user.
impl fmt::Debug for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Refused {
    /// The error for a manifest after a trace, where only a compressed manifest can be (rule X30).
    ///
    /// ```
    /// let refused = timebase_import::manifest::Refused::behind_a_trace("m.json.gz");
    /// assert_eq!(
    ///     refused.to_string(),
    ///     "perfetto_manifest: 'm.json.gz' is compressed, so timebase would read it after a trace: store it uncompressed"
    /// );
    /// ```
    pub fn behind_a_trace(name: &str) -> Refused {
        Place::default().refused(format_args!(
            "'{name}' is compressed, so timebase would read it after a trace: store it uncompressed"
        ))
    }
}

/// A value and its place.
#[derive(Debug, Clone)]
pub(crate) struct Found<'a> {
    pub(crate) place: Place,
    text: &'a str,
}

/// An object: its fields in the order of the text; of equal keys, the last counts.
#[derive(Debug)]
pub(crate) struct Object<'a> {
    pub(crate) place: Place,
    fields: Vec<(String, &'a str)>,
}

impl<'a> Found<'a> {
    /// The value of a whole text.
    pub(crate) fn whole(bytes: &'a [u8]) -> Result<Found<'a>, Refused> {
        let place = Place::default();
        if bytes.starts_with(b"\xef\xbb\xbf") {
            return Err(place.refused(
                "the text begins with a byte order mark, which is not valid JSON; save it as UTF-8 without one",
            ));
        }
        let text: &RawValue =
            serde_json::from_slice(bytes).map_err(|error| place.refused(syntax(bytes, &error)))?;
        Ok(Found { place, text: text.get() })
    }

    pub(crate) fn is_string(&self) -> bool {
        self.text.starts_with('"')
    }

    /// Reads an object; `what` continues the error after the place: `must be an object …`.
    pub(crate) fn object(self, what: &str) -> Result<Object<'a>, Refused> {
        if !self.text.starts_with('{') {
            return Err(self.place.refused(what));
        }
        let Fields(fields) = self.read()?;
        Ok(Object { place: self.place, fields })
    }

    pub(crate) fn array(self, what: &str) -> Result<Vec<Found<'a>>, Refused> {
        if !self.text.starts_with('[') {
            return Err(self.place.refused(what));
        }
        let elements: Vec<&RawValue> = self.read()?;
        let found = |(index, element): (usize, &'a RawValue)| Found {
            place: self.place.element(index),
            text: element.get(),
        };
        Ok(elements.into_iter().enumerate().map(found).collect())
    }

    pub(crate) fn string(&self, what: &str) -> Result<String, Refused> {
        if !self.is_string() {
            return Err(self.place.refused(what));
        }
        self.read()
    }

    /// An integer: digits, and perhaps a minus before them. `None` if it does not fit into 128
    /// bits.
    pub(crate) fn integer(&self, what: &str) -> Result<Option<i128>, Refused> {
        let digits = self.text.strip_prefix('-').unwrap_or(self.text);
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(self.place.refused(what));
        }
        Ok(self.text.parse().ok())
    }

    /// The value of the text. The text is known to be JSON, so the only error is a text with half
    /// of a surrogate pair.
    fn read<T: Deserialize<'a>>(&self) -> Result<T, Refused> {
        serde_json::from_str(self.text).map_err(|_| {
            self.place.refused("has an invalid \\u escape: a surrogate without its other half")
        })
    }
}

impl<'a> Object<'a> {
    pub(crate) fn get(&self, name: &str) -> Option<Found<'a>> {
        let (_, text) = self.fields.iter().find(|(key, _)| key == name)?;
        Some(Found { place: self.place.field(name), text })
    }

    /// A required field; `what` continues the error after its place: `is required …`.
    pub(crate) fn require(&self, name: &str, what: &str) -> Result<Found<'a>, Refused> {
        let refused = || self.place.field(name).refused(what);
        self.get(name).ok_or_else(refused)
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = (&str, Found<'a>)> {
        self.fields.iter().map(|(key, text)| {
            let place = self.place.field(key);
            (key.as_str(), Found { place, text })
        })
    }
}

/// The error in a text that is no JSON, with its position.
fn syntax(bytes: &[u8], error: &serde_json::Error) -> String {
    let (line, column) = (error.line(), error.column());
    let text = error.to_string();
    let at = format!(" at line {line} column {column}");
    let what = if is_behind_a_comma(bytes, line, column) {
        "a trailing comma, which is not valid JSON"
    } else {
        text.strip_suffix(&at).unwrap_or(&text)
    };
    format!("line {line}, column {column}: {what}")
}

/// Whether the line and column, counted from 1, are those of the bracket after a trailing comma.
/// Many parsers accept such a comma, for example trace processor's.
fn is_behind_a_comma(bytes: &[u8], line: usize, column: usize) -> bool {
    let mut lines = bytes.split_inclusive(|byte| *byte == b'\n');
    let before: usize = lines.by_ref().take(line.saturating_sub(1)).map(<[u8]>::len).sum();
    let at = before.saturating_add(column.saturating_sub(1));
    let Some((before, [b'}' | b']', ..])) = bytes.split_at_checked(at) else {
        return false;
    };
    before.trim_ascii_end().ends_with(b",")
}

/// The fields of an object as serde reads them; of equal keys, the last counts.
struct Fields<'a>(Vec<(String, &'a str)>);

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
                let mut fields: Vec<(String, &'de str)> = Vec::new();
                let mut places: HashMap<String, usize> = HashMap::new();
                while let Some((key, value)) = map.next_entry::<String, &'de RawValue>()? {
                    let text = value.get();
                    match places.get(&key).and_then(|place| fields.get_mut(*place)) {
                        Some(earlier) => earlier.1 = text,
                        None => {
                            places.insert(key.clone(), fields.len());
                            fields.push((key, text));
                        }
                    }
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Read)
    }
}
