//! The text of an event or a member of a trace in Chrome's JSON format as JSON (rule JS8).
//!
//! The import keeps the text as it is in the file, which may have what JSON does not allow (rule JS3). Here each token
//! becomes one of JSON, and serde_json then says whether the result is a value. `timebase-trace` reads the same text, but an
//! extension for other clients would then carry its archives and decompressors.

use std::borrow::Cow;

use serde_json::value::RawValue;

/// The JSON of an object, or of a member as an object with this member; `None` if the text is neither.
pub(super) fn json(data: &[u8]) -> Option<String> {
    let first = data.iter().find(|byte| !byte.is_ascii_whitespace())?;
    if !matches!(first, b'{' | b'"') {
        return None;
    }
    let text = String::from_utf8_lossy(data);
    let text = match first {
        b'{' => text,
        _ => Cow::Owned(format!("{{{text}}}")),
    };
    if let Ok(json) = serde_json::from_str::<&RawValue>(&text) {
        return Some(json.get().to_owned());
    }
    let strict = strict(&text);
    serde_json::from_str::<&RawValue>(&strict).ok()?;
    Some(strict)
}

fn strict(mut text: &str) -> String {
    let mut json = String::with_capacity(text.len());
    while let Some(first) = text.chars().next() {
        let size = match first {
            '"' => string(text, &mut json),
            '}' | ']' => {
                if json.ends_with(',') {
                    json.pop();
                }
                json.push(first);
                1
            }
            '{' | '[' | ',' | ':' => {
                json.push(first);
                1
            }
            _ if first.is_ascii_whitespace() => 1,
            _ => word(text, &mut json),
        };
        text = text.get(size..).unwrap_or_default();
    }
    json
}

/// Adds the string at the beginning of a text, and returns its size.
fn string(text: &str, json: &mut String) -> usize {
    let mut characters = text.char_indices().skip(1).peekable();
    json.push('"');
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => {
                json.push('"');
                return at + 1;
            }
            '\\' => escape(text.get(at..).unwrap_or_default(), &mut characters, json),
            control if control < ' ' => json.push_str(&format!("\\u{:04x}", u32::from(control))),
            other => json.push(other),
        }
    }
    text.len()
}

/// Adds an escape. One that JSON does not know stands as it is written, and half of a pair is no character.
fn escape(
    text: &str,
    characters: &mut std::iter::Peekable<impl Iterator<Item = (usize, char)>>,
    json: &mut String,
) {
    let unit = |at: usize| {
        let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
        let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_hex.then(|| u32::from_str_radix(digits, 16).ok()).flatten()
    };
    let known = text.chars().nth(1).filter(|next| "\"\\/bfnrt".contains(*next));
    let (written, size) = match (known, unit(0)) {
        (Some(known), _) => (format!("\\{known}"), 2),
        (None, Some(high @ 0xd800..=0xdbff)) => match unit(6) {
            Some(low @ 0xdc00..=0xdfff) => (format!("\\u{high:04x}\\u{low:04x}"), 12),
            _ => ("\u{fffd}".to_owned(), 6),
        },
        (None, Some(0xdc00..=0xdfff)) => ("\u{fffd}".to_owned(), 6),
        (None, Some(unit)) => (format!("\\u{unit:04x}"), 6),
        (None, None) => ("\\\\".to_owned(), 1),
    };
    json.push_str(&written);
    for _ in 1..size {
        characters.next();
    }
}

/// Adds the number or the literal at the beginning of a text, and returns its size.
fn word(text: &str, json: &mut String) -> usize {
    let is_end = |c: char| c.is_ascii_whitespace() || matches!(c, ',' | '}' | ']' | ':' | '"');
    let size = text.find(is_end).unwrap_or(text.len()).max(1);
    let word = text.get(..size).unwrap_or(text);
    match word {
        // JSON has no such number.
        "NaN" => json.push_str("null"),
        "Infinity" => json.push_str("1e999"),
        "-Infinity" => json.push_str("-1e999"),
        "true" | "false" | "null" => json.push_str(word),
        number => push_number(number, json),
    }
    size
}

fn push_number(number: &str, json: &mut String) {
    let (sign, digits) = match number.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", number.strip_prefix('+').unwrap_or(number)),
    };
    let end = digits.find(['e', 'E']).unwrap_or(digits.len());
    let (digits, exponent) = digits.split_at(end);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let whole = whole.trim_start_matches('0');
    json.push_str(sign);
    json.push_str(if whole.is_empty() { "0" } else { whole });
    if !fraction.is_empty() {
        json.push('.');
        json.push_str(fraction);
    }
    json.push_str(exponent);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn js8_the_text_of_an_event_or_a_member_is_json() {
        let of = |text: &str| json(text.as_bytes());
        assert_eq!(of(r#"{"a": 1}"#).as_deref(), Some(r#"{"a": 1}"#));
        assert_eq!(of(r#""k" : [1]"#).as_deref(), Some(r#"{"k" : [1]}"#));
        let lenient = "{\"a\": [007, +1, .5, 5., -0, NaN, Infinity,], \"b\\q\\ud800\": \"\t\",}";
        assert_eq!(
            of(lenient).as_deref(),
            Some("{\"a\":[7,1,0.5,5,-0,null,1e999],\"b\\\\q\u{fffd}\":\"\\u0009\"}")
        );
        for other in ["", "x", "[1]", "{", "\"a\"", "{\"a\" 1}"] {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
