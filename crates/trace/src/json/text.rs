//! The characters of strings (rule JS6).

use std::borrow::Cow;

use memchr::memchr;

/// The text of half of a surrogate pair, and of invalid UTF-8.
const REPLACEMENT: char = '\u{fffd}';

/// The characters of the text between two quotes.
pub(super) fn unescape(raw: &[u8]) -> Cow<'_, str> {
    match memchr(b'\\', raw) {
        None => String::from_utf8_lossy(raw),
        Some(_) => Cow::Owned(unescaped(raw)),
    }
}

fn unescaped(mut raw: &[u8]) -> String {
    let mut text = Vec::with_capacity(raw.len());
    while let Some(found) = memchr(b'\\', raw) {
        let (plain, rest) = raw.split_at_checked(found).unwrap_or((raw, &[]));
        text.extend_from_slice(plain);
        let (character, size) = escape(rest).unwrap_or(('\\', 1));
        text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        raw = rest.get(size..).unwrap_or_default();
    }
    text.extend_from_slice(raw);
    match String::from_utf8(text) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    }
}

/// The character and the size of an escape; `None` if JSON does not know the escape.
fn escape(text: &[u8]) -> Option<(char, usize)> {
    let character = match text.get(1)? {
        b'"' => '"',
        b'\\' => '\\',
        b'/' => '/',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => return unicode(text),
        _ => return None,
    };
    Some((character, 2))
}

fn unicode(text: &[u8]) -> Option<(char, usize)> {
    let first = code(text)?;
    if !(0xd800..0xdc00).contains(&first) {
        return Some((char::from_u32(first).unwrap_or(REPLACEMENT), 6));
    }
    let second = text.get(6..).and_then(code).filter(|code| (0xdc00..0xe000).contains(code));
    Some(match second {
        Some(second) => {
            let code = 0x10000 + ((first & 0x3ff) << 10 | second & 0x3ff);
            (char::from_u32(code).unwrap_or(REPLACEMENT), 12)
        }
        None => (REPLACEMENT, 6),
    })
}

/// The number of an escape `\uXXXX`.
fn code(text: &[u8]) -> Option<u32> {
    let digits = text.strip_prefix(b"\\u")?.get(..4)?;
    digits.iter().try_fold(0, |code, &digit| Some(code << 4 | char::from(digit).to_digit(16)?))
}
