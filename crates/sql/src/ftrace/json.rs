//! Reads the JSON that the database has for the arguments of an event, without changing numbers: they may have 64
//! bits without a sign.

use std::borrow::Cow;
use std::fmt;

use serde_core::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Json<'j> {
    Text(String),
    /// A number, `true`, `false` or `null`, as written.
    Word(&'j str),
    Array(Vec<Json<'j>>),
    /// An object, whatever is in it.
    Object,
}

impl Json<'_> {
    /// An integer; the lower 64 bits of one without a sign.
    pub fn integer(&self) -> Option<i64> {
        let Json::Word(word) = self else { return None };
        let unsigned = || word.parse::<u64>().ok().map(u64::cast_signed);
        word.parse().ok().or_else(unsigned)
    }

    /// The value that trace processor's arguments have: the last one of an array, and none of an object.
    pub fn simple(&self) -> Option<&Self> {
        match self {
            Json::Array(elements) => elements.last()?.simple(),
            Json::Object => None,
            simple => Some(simple),
        }
    }

    /// As a line shows it.
    pub fn shown(&self) -> Cow<'_, str> {
        match self {
            Json::Text(text) => text.into(),
            Json::Word("true") => "1".into(),
            Json::Word("false") => "0".into(),
            Json::Word(word) => word.strip_suffix(".0").unwrap_or(word).into(),
            Json::Array(_) | Json::Object => "".into(),
        }
    }
}

impl<'j> Json<'j> {
    /// A value from its text; `None` for an array in an array, which is no argument, and whose depth could be any.
    fn of(raw: &'j RawValue) -> Option<Self> {
        let text = raw.get();
        Some(match text.as_bytes().first()? {
            b'"' => Json::Text(serde_json::from_str(text).ok()?),
            b'[' => Json::Array(array(text)?),
            b'{' => Json::Object,
            _ => Json::Word(text),
        })
    }
}

/// The members of an object, in their order; those up to the first mistake, if there is one.
pub fn members(object: &str) -> Vec<(String, Json<'_>)> {
    let mut members = Members(Vec::new());
    // The members before a mistake are there already.
    let _ = serde_json::Deserializer::from_str(object).deserialize_map(&mut members);
    members.0
}

struct Members<'j>(Vec<(String, Json<'j>)>);

impl<'j> Visitor<'j> for &mut Members<'j> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'j>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some((key, raw)) = map.next_entry()? {
            let Some(value) = Json::of(raw) else { break };
            self.0.push((key, value));
        }
        Ok(())
    }
}

/// The elements of an array; none if there is a mistake in it.
pub fn elements(array: &str) -> Vec<Json<'_>> {
    self::array(array).unwrap_or_default()
}

fn array(text: &str) -> Option<Vec<Json<'_>>> {
    let raw: Vec<&RawValue> = serde_json::from_str(text).ok()?;
    let mut raw = raw.into_iter();
    if raw.clone().any(|raw| raw.get().starts_with('[')) {
        return None;
    }
    raw.try_fold(Vec::new(), |mut elements, raw| {
        elements.push(Json::of(raw)?);
        Some(elements)
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sf9_members_keep_their_order_and_their_digits() {
        let found = members(
            r#" {"a" : 18446744073709551600, "b":-7,"c" :"x\"\\\n\u00e9\ud83d\ude00", "d":[1,"2"], "e":{"f":"}{"}, "g":true, "h":[]}"#,
        );
        let named: Vec<_> = found.iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(named, ["a", "b", "c", "d", "e", "g", "h"]);
        assert_eq!(found[0].1.shown(), "18446744073709551600");
        assert_eq!(found[0].1.integer(), Some(-16));
        assert_eq!(found[1].1.integer(), Some(-7));
        assert_eq!(found[2].1, Json::Text("x\"\\\né😀".into()));
        let array = vec![Json::Word("1"), Json::Text("2".into())];
        assert_eq!(found[3].1, Json::Array(array));
        assert_eq!(found[3].1.simple(), Some(&Json::Text("2".into())));
        assert_eq!(found[4].1, Json::Object);
        assert_eq!(found[4].1.simple(), None);
        assert_eq!(found[5].1.shown(), "1");
        assert_eq!(found[6].1, Json::Array(Vec::new()));
        assert_eq!(found[6].1.simple(), None);
        assert_eq!(Json::Word("1.5").shown(), "1.5");
        assert_eq!(Json::Word("-2.0").shown(), "-2");
        assert_eq!(elements("[null, 5]"), [Json::Word("null"), Json::Word("5")]);
    }

    proptest! {
        #[test]
        fn sf9_any_text_is_read_as_json_reads_it(keys in proptest::collection::vec(".{0,9}", 0..4), texts in proptest::collection::vec(".{0,9}", 4)) {
            let written = keys.iter().zip(&texts).map(|(key, text)| {
                let [key, text] = [key, text].map(|text| serde_json::Value::from(text.as_str()).to_string());
                format!("{key}:{text}")
            });
            let object = format!("{{{}}}", written.collect::<Vec<_>>().join(", "));
            let expected: Vec<_> = keys.iter().cloned().zip(texts.into_iter().map(Json::Text)).collect();
            prop_assert_eq!(members(&object), expected);
        }

        #[test]
        fn sf9_what_is_no_json_ends_early(text in "[\\[\\]{}\",:\\\\u0-9a\u{e9} ]{0,40}") {
            let known = members(&text).len();
            prop_assert!(known <= text.len());
            elements(&text);
        }
    }
}
