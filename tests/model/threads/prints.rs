//! The texts that programs write into the kernel's trace, and their meaning (B1, B2).

/// A parsed text.
#[derive(Clone, Debug, PartialEq)]
pub enum Print {
    Begin(i64, String),
    End(i64),
    /// S: process, name, cookie.
    AsyncBegin(i64, String, i64),
    /// F
    AsyncEnd(i64, String, i64),
    Counter(i64, String, i64),
    Instant(i64, String),
    /// N: process, track, name.
    TrackInstant(i64, String, String),
    /// G: process, track, name, cookie.
    TrackBegin(i64, String, String, i64),
    /// H: process, track, cookie.
    TrackEnd(i64, String, i64),
}

/// The sign and the digits of a number, saturated at `greatest` (B2).
fn number(text: &str, greatest: u64) -> Option<(bool, u64)> {
    let text = text.trim_start_matches([' ', '\t', '\n', '\x0b', '\x0c', '\r']);
    let is_negative = text.starts_with('-');
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let all_digits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let value = digits.parse().unwrap_or(u64::MAX).min(greatest);
    all_digits.then_some((is_negative, value))
}

/// A value or a cookie (B2).
pub fn signed(text: &str) -> Option<i64> {
    let (is_negative, value) = number(text, 1 << 63)?;
    let value = if is_negative { -i128::from(value) } else { i128::from(value) };
    Some(value.min(i64::MAX.into()) as i64)
}

/// A number that counts as one of 32 bits (B2).
pub fn id(text: &str) -> Option<i64> {
    let (is_negative, value) = number(text, u64::MAX)?;
    let saturated = value == u64::MAX;
    let value = if is_negative && !saturated { value.wrapping_neg() } else { value };
    Some(i64::from(value as u32))
}

/// The contents of a field up to a `|` or a NUL, and the rest of the text.
fn field(text: &str) -> (&str, &str) {
    text.split_once(['|', '\0']).unwrap_or((text, ""))
}

/// B1
pub fn parse(bytes: &[u8]) -> Option<Print> {
    let valid: String = bytes.utf8_chunks().map(|chunk| chunk.valid()).collect();
    let text = valid.trim_end_matches(['\n', '\0']);
    let (phase, rest) = field(text);
    let (tgid, rest) = field(rest);
    let tgid = id(tgid);
    let (second, behind) = field(rest);
    let (third, behind) = field(behind);
    let (fourth, _) = field(behind);
    let last = if fourth.is_empty() { third } else { fourth };
    let named = |name: &str| Some(name.to_owned()).filter(|name| !name.is_empty());
    Some(match phase.chars().next()? {
        'B' if rest.is_empty() => Print::Begin(tgid?, "[empty slice name]".to_owned()),
        'B' => Print::Begin(tgid?, rest.to_owned()),
        'E' => Print::End(tgid.unwrap_or(0)),
        'S' => Print::AsyncBegin(tgid?, named(second)?, signed(third)?),
        'F' => Print::AsyncEnd(tgid?, named(second)?, signed(third)?),
        'C' => Print::Counter(tgid?, named(second)?, signed(third)?),
        'I' => Print::Instant(tgid?, named(second)?),
        'N' => Print::TrackInstant(tgid?, named(second)?, named(third)?),
        'G' => Print::TrackBegin(tgid?, named(second)?, named(third)?, signed(fourth)?),
        'H' => Print::TrackEnd(tgid?, named(second)?, signed(last)?),
        _ => return None,
    })
}
