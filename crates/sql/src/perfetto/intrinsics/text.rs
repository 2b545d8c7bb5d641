//! Texts.
//!
//! | function | result |
//! |---|---|
//! | `str_split(text, delimiter, index)` | a part of a text, the first one with the index 0; NULL if there are fewer |
//! | `hash(value, …)` | an integer of 64 bits: FNV-1a of the bytes of texts, and of the eight bytes of integers, the lowest first |
//! | `__intrinsic_reverse(text)` | the characters in the opposite order |
//! | `__intrinsic_strip_hex(text, least)` | the text with `<num>` for each hexadecimal number of at least `least` digits |
//! | `__intrinsic_base64_encode(blob)`, `__intrinsic_base64_decode(text)` | base64, with `+/`; both alphabets are read, with and without padding |
//! | `__intrinsic_unhex(text)` | the number with these hexadecimal digits, which may begin with `0x` |
//! | `cat_stacks(root, …, leaf)` | a blob for `experimental_profile`: a stack of texts, and of such blobs |
//!
//! `reverse`, `base64_encode` and `base64_decode` are the same as the functions with `__intrinsic_`.

use base64::Engine as _;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use rusqlite::Connection;
use rusqlite::types::ValueRef;

use crate::{Answer, Arguments, Call as AnyCall, Function, Functions, Result};

use super::call::{Call, PURE, scalar};
use super::wire::Message;

pub fn register(conn: &Connection) -> rusqlite::Result<()> {
    let mut to = conn;
    to.add("__intrinsic_reverse", 1, Reverse)?;
    to.add("__intrinsic_strip_hex", 2, StripHex)?;
    to.add("__intrinsic_base64_encode", 1, Encode)?;
    to.add("__intrinsic_base64_decode", 1, Decode)?;
    to.add("__intrinsic_unhex", 1, Unhex)?;
    scalar(conn, "hash", -1, PURE, hash)?;
    scalar(conn, "cat_stacks", -1, PURE, cat_stacks)
}

/// Adds the functions under their public names.
pub fn add(to: &mut impl Functions) -> Result<()> {
    to.add("str_split", 3, Split)?;
    to.add("reverse", 1, Reverse)?;
    to.add("base64_encode", 1, Encode)?;
    to.add("base64_decode", 1, Decode)
}

struct Split;

impl Function for Split {
    #[inline]
    fn call<C: AnyCall>(&self, call: &C) -> Result<Answer> {
        let arguments = Arguments::new("str_split", call);
        let delimiter = match arguments.get(1) {
            Some(ValueRef::Text(delimiter)) if !delimiter.is_empty() => delimiter,
            _ => return Err(arguments.must_be(1, "delimiter", "a text that is not empty")),
        };
        let index = match arguments.get(2) {
            Some(ValueRef::Integer(index)) => usize::try_from(index).ok(),
            _ => None,
        };
        let Some(index) = index else {
            return Err(arguments.must_be(2, "index", "an integer of 0 or more"));
        };
        let Some(ValueRef::Text(text)) = arguments.get(0) else {
            return Ok(Answer::Null);
        };
        let (text, delimiter) = (String::from_utf8_lossy(text), String::from_utf8_lossy(delimiter));
        Ok(text.split(&*delimiter).nth(index).map(str::to_owned).into())
    }
}

struct Reverse;

impl Function for Reverse {
    fn call<C: AnyCall>(&self, call: &C) -> Result<Answer> {
        let text = Arguments::new("reverse", call).text(0, "text")?;
        Ok(text.map(|text| text.chars().rev().collect::<String>()).into())
    }
}

struct StripHex;

impl Function for StripHex {
    fn call<C: AnyCall>(&self, call: &C) -> Result<Answer> {
        let arguments = Arguments::new("__intrinsic_strip_hex", call);
        let text = arguments.text(0, "text")?;
        let least = arguments.integer(1, "least")?;
        let (Some(text), Some(least)) = (text, least) else {
            return Ok(Answer::Null);
        };
        match usize::try_from(least) {
            Ok(least) => Ok(strip_hex(text, least).into()),
            Err(_) => Err(arguments.must_be(1, "least", "0 or more")),
        }
    }
}

/// A number begins after `0x`, after a character that is neither a letter nor a digit, at the
/// beginning of the text, or at a digit. It needs a digit, except after `0x`.
fn strip_hex(text: &str, least: usize) -> String {
    let mut stripped = String::with_capacity(text.len());
    let mut before = None;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let is_prefix = matches!(c, 'x' | 'X') && before == Some('0');
        let is_start = is_prefix || !c.is_ascii_alphanumeric();
        if is_start {
            stripped.push(c);
            rest = rest.get(c.len_utf8()..).unwrap_or_default();
            before = Some(c);
        } else if !(c.is_ascii_digit() || (before.is_none() && c.is_ascii_hexdigit())) {
            stripped.push(c);
            rest = rest.get(c.len_utf8()..).unwrap_or_default();
            before = Some(c);
            continue;
        }
        let end = rest.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(rest.len());
        let (number, after) = rest.split_at(end);
        let has_digit = is_prefix || number.contains(|c: char| c.is_ascii_digit());
        stripped += if has_digit && number.len() >= least { "<num>" } else { number };
        before = number.chars().next_back().or(before);
        rest = after;
    }
    stripped
}

struct Encode;

impl Function for Encode {
    fn call<C: AnyCall>(&self, call: &C) -> Result<Answer> {
        let blob = Arguments::new("base64_encode", call).blob(0, "blob")?;
        let engine = base64::engine::general_purpose::STANDARD;
        Ok(blob.map(|blob| engine.encode(blob)).into())
    }
}

struct Decode;

impl Function for Decode {
    fn call<C: AnyCall>(&self, call: &C) -> Result<Answer> {
        let arguments = Arguments::new("base64_decode", call);
        let text = match arguments.get(0) {
            None | Some(ValueRef::Null) => return Ok(Answer::Null),
            Some(ValueRef::Text(text) | ValueRef::Blob(text)) => text,
            Some(_) => return Err(arguments.must_be(0, "text", "a text")),
        };
        let config = GeneralPurposeConfig::new()
            .with_decode_allow_trailing_bits(true)
            .with_decode_padding_mode(DecodePaddingMode::Indifferent);
        let is_url_safe = text.contains(&b'-') || text.contains(&b'_');
        let alphabet = if is_url_safe { URL_SAFE } else { STANDARD };
        match GeneralPurpose::new(&alphabet, config).decode(text) {
            Ok(blob) => Ok(Answer::Blob(blob)),
            Err(wrong) => {
                let wrong = format_args!("is no base64: {wrong}");
                Err(arguments.wrong(0, "text", wrong))
            }
        }
    }
}

struct Unhex;

impl Function for Unhex {
    fn call<C: AnyCall>(&self, call: &C) -> Result<Answer> {
        let arguments = Arguments::new("unhex", call);
        let Some(text) = arguments.text(0, "text")? else {
            return Ok(Answer::Null);
        };
        let digits = text.trim_ascii();
        let digits = digits.strip_prefix("0x").or(digits.strip_prefix("0X")).unwrap_or(digits);
        match i64::from_str_radix(digits, 16) {
            Ok(number) => Ok(number.into()),
            Err(_) => Err(arguments.must_be(0, "text", "a hexadecimal number of 63 bits")),
        }
    }
}

fn hash(call: Call<'_, '_>) -> Result<i64> {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |bytes: &[u8]| {
        for &byte in bytes {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    };
    for index in 0..call.count() {
        match call.value(index) {
            ValueRef::Integer(value) => add(&value.to_le_bytes()),
            ValueRef::Text(text) => add(text),
            _ => {
                return Err(call.arguments().must_be(index, "value", "an integer or a text"));
            }
        }
    }
    Ok(hash as i64)
}

/// A `perfetto.protos.Stack`: entries with a name, the leaf first.
fn cat_stacks(call: Call<'_, '_>) -> Result<Vec<u8>> {
    const NAME: u64 = 1;
    const ENTRY: u64 = 1;
    let mut stack = Message::default();
    for index in (0..call.count()).rev() {
        match call.value(index) {
            ValueRef::Null => {}
            ValueRef::Blob(entries) => stack.append(entries),
            ValueRef::Text(name) => {
                let mut entry = Message::default();
                entry.bytes(NAME, name);
                stack.message(ENTRY, entry);
            }
            _ => {
                return Err(call.arguments().must_be(index, "stack", "a blob, a text or NULL"));
            }
        }
    }
    Ok(stack.into_bytes())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
