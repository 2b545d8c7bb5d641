//! Names without their numbers (rule CM7).
//!
//! | function | result |
//! |---|---|
//! | `pattern(name)` | the name with `#` for UUIDs, hexadecimal numbers and numbers |

use std::borrow::Cow;

use rusqlite::types::ValueRef;

use crate::{Answer, Arguments, Call, Function, Functions, Result};

pub fn add(to: &mut impl Functions) -> Result<()> {
    to.add("pattern", 1, Pattern)
}

struct Pattern;

impl Function for Pattern {
    #[inline]
    fn call<C: Call>(&self, call: &C) -> Result<Answer> {
        let name = match Arguments::new("pattern", call).get(0) {
            Some(ValueRef::Text(name)) => String::from_utf8_lossy(name),
            _ => return Ok(Answer::Null),
        };
        Ok(Some(pattern(&name).into_owned()).into())
    }
}

/// The name without ids and numbers, so that the events of two runs have one name.
///
/// ```
/// use timebase_sql::standard::pattern;
/// assert_eq!(pattern("Binder:123_4"), "Binder:#_#");
/// assert_eq!(pattern("Choreographer#doFrame 1234"), "Choreographer#doFrame #");
/// assert_eq!(pattern("conv2d"), "conv2d");
/// ```
pub fn pattern(name: &str) -> Cow<'_, str> {
    let mut name = Cow::Borrowed(name);
    for find in [uuid as Find, hexadecimal, number] {
        if let Some(new) = replaced(&name, find) {
            name = Cow::Owned(new);
        }
    }
    name
}

/// The length of the text to replace at the beginning of bytes, if there is one. The second argument is the byte
/// before.
type Find = fn(&[u8], Option<u8>) -> Option<usize>;

/// The name with `#` for all that is found, from left to right; `None` if it finds nothing.
fn replaced(name: &str, find: Find) -> Option<String> {
    let mut new = None;
    let mut kept = 0;
    let mut at = 0;
    while let Some(rest) = name.as_bytes().get(at..).filter(|rest| !rest.is_empty()) {
        let before = at.checked_sub(1).and_then(|at| name.as_bytes().get(at)).copied();
        match find(rest, before) {
            Some(length) => {
                let new = new.get_or_insert_with(String::new);
                new.push_str(name.get(kept..at).unwrap_or(""));
                new.push('#');
                at += length;
                kept = at;
            }
            None => at += 1,
        }
    }
    let mut new = new?;
    new.push_str(name.get(kept..).unwrap_or(""));
    Some(new)
}

/// 8, 4, 4, 4 and 12 hexadecimal digits between hyphens.
fn uuid(text: &[u8], _: Option<u8>) -> Option<usize> {
    let text = text.get(..36)?;
    let is_hyphen = |at| matches!(at, 8 | 13 | 18 | 23);
    let fits = |(at, byte): (usize, &u8)| match is_hyphen(at) {
        true => *byte == b'-',
        false => byte.is_ascii_hexdigit(),
    };
    text.iter().enumerate().all(fits).then_some(text.len())
}

/// `0x` and hexadecimal digits, or at least 16 of these.
fn hexadecimal(text: &[u8], _: Option<u8>) -> Option<usize> {
    let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    if let Some(rest) = text.strip_prefix(b"0x")
        && digits(rest) > 0
    {
        return Some(2 + digits(rest));
    }
    Some(digits(text)).filter(|&length| length >= 16)
}

/// Digits after no letter or digit.
fn number(text: &[u8], before: Option<u8>) -> Option<usize> {
    let length = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let is_inside = before.is_some_and(|byte| byte.is_ascii_alphanumeric());
    (length > 0 && !is_inside).then_some(length)
}
