//! Reads the JSON that the database has for the arguments of an event, without changing numbers: they may have 64
//! bits without a sign.

use std::borrow::Cow;
use std::str::Chars;

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

/// The members of an object, in their order; those up to the first mistake, if there is one.
pub fn members(object: &str) -> Vec<(String, Json<'_>)> {
    let mut reader = Reader(object);
    let mut members = Vec::new();
    if !reader.is_next('{') {
        return members;
    }
    while let Some(key) = reader.text() {
        if !reader.is_next(':') {
            break;
        }
        let Some(value) = reader.value() else { break };
        members.push((key, value));
        if !reader.is_next(',') {
            break;
        }
    }
    members
}

/// The elements of an array, likewise.
pub fn elements(array: &str) -> Vec<Json<'_>> {
    Reader(array).array().unwrap_or_default()
}

/// The rest of the text.
struct Reader<'j>(&'j str);

impl<'j> Reader<'j> {
    fn is_next(&mut self, expected: char) -> bool {
        match self.0.trim_start().strip_prefix(expected) {
            Some(rest) => {
                self.0 = rest;
                true
            }
            None => false,
        }
    }

    fn value(&mut self) -> Option<Json<'j>> {
        self.0 = self.0.trim_start();
        match self.0.chars().next()? {
            '"' => self.text().map(Json::Text),
            '[' => self.array().map(Json::Array),
            '{' => self.object(),
            _ => {
                let end = self.0.find([',', ']', '}']).unwrap_or(self.0.len());
                let (word, rest) = self.0.split_at(end);
                self.0 = rest;
                // Without a word there would be no progress.
                (!word.is_empty()).then(|| Json::Word(word.trim_end()))
            }
        }
    }

    fn text(&mut self) -> Option<String> {
        if !self.is_next('"') {
            return None;
        }
        let mut text = String::new();
        let mut chars = self.0.chars();
        loop {
            match chars.next()? {
                '"' => break,
                '\\' => text.push(escaped(&mut chars)?),
                char => text.push(char),
            }
        }
        self.0 = chars.as_str();
        Some(text)
    }

    fn array(&mut self) -> Option<Vec<Json<'j>>> {
        let mut elements = Vec::new();
        if !self.is_next('[') {
            return None;
        }
        while !self.is_next(']') {
            elements.push(match self.0.trim_start().starts_with('[') {
                // An array in an array is no argument, and its depth could be any.
                true => return None,
                false => self.value()?,
            });
            self.is_next(',');
        }
        Some(elements)
    }

    /// Skips an object.
    fn object(&mut self) -> Option<Json<'j>> {
        let (mut depth, mut is_in_text, mut is_escaped) = (0_usize, false, false);
        for (at, char) in self.0.char_indices() {
            match char {
                _ if is_escaped => is_escaped = false,
                '\\' if is_in_text => is_escaped = true,
                '"' => is_in_text = !is_in_text,
                _ if is_in_text => {}
                '{' => depth = depth.saturating_add(1),
                '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 && char == '}' && !is_in_text {
                self.0 = self.0.get(at.saturating_add(1)..).unwrap_or_default();
                return Some(Json::Object);
            }
        }
        None
    }
}

/// The character after a backslash.
fn escaped(chars: &mut Chars<'_>) -> Option<char> {
    Some(match chars.next()? {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'u' => {
            let first = unit(chars)?;
            let is_high = (0xd800..0xdc00).contains(&first);
            let mut units = vec![first];
            if is_high && chars.as_str().starts_with("\\u") {
                chars.nth(1);
                units.push(unit(chars)?);
            }
            let mut decoded = char::decode_utf16(units);
            decoded.next()?.unwrap_or(char::REPLACEMENT_CHARACTER)
        }
        other => other,
    })
}

/// Four hexadecimal digits.
fn unit(chars: &mut Chars<'_>) -> Option<u16> {
    let digits = chars.as_str().get(..4)?;
    let unit = u16::from_str_radix(digits, 16).ok()?;
    chars.nth(3);
    Some(unit)
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
