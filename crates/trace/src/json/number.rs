//! Numbers: times as exact decimals (rule JS9), ids (rules JS14, JS15) and others (rule JS5).

use std::borrow::Cow;
use std::str;

use super::scan::Number as Part;
use super::value::{Kind, Value};

/// A number (rule JS5).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// A number without point and exponent that fits.
    Int(i64),
    /// The nearest double of any other number.
    Real(f64),
}

impl Value<'_> {
    /// The value of a number (rule JS5).
    pub fn number(self) -> Option<Number> {
        match self.kind() {
            Kind::Number => number(self.text()),
            _ => None,
        }
    }
}

/// The reason why there is no time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoTime {
    /// The value is no number.
    Unusable,
    /// The time does not fit into 64 bits.
    Overflow,
}

/// A pid or tid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Integer<'a> {
    /// A number (rule JS14).
    Number(i64),
    /// The text of any other string, or of a number that does not fit (rule JS15).
    Text(Cow<'a, str>),
}

/// The nanoseconds of a time in microseconds (rule JS9).
///
/// The time that it takes is linear in the text.
///
/// # Errors
///
/// If the value is no number, or if the time does not fit.
pub fn nanoseconds(value: Value<'_>) -> Result<i64, NoTime> {
    let text = match value.kind() {
        Kind::Number => match plain(value.text(), 3) {
            Some(time) => return Ok(time),
            None => Cow::Borrowed(value.text()),
        },
        Kind::String => value.string().map(bytes).unwrap_or_default(),
        _ => return Err(NoTime::Unusable),
    };
    let decimal = Decimal::of(&text).ok_or(NoTime::Unusable)?;
    decimal.scaled(3, Rounding::HalfAway).ok_or(NoTime::Overflow)
}

/// The number times a power of ten, if a valid number has only digits, at most `places` of them
/// after the point, and fits: nearly every number does.
fn plain(text: &[u8], places: u32) -> Option<i64> {
    let mut number = 0_i64;
    let mut after = None;
    for &byte in text {
        match (byte, after) {
            (b'0'..=b'9', _) => {
                number = number.checked_mul(10)?.checked_add(i64::from(byte - b'0'))?;
                after = after.map(|after| after + 1);
            }
            (b'.', None) => after = Some(0),
            _ => return None,
        }
    }
    let missing = places.checked_sub(after.unwrap_or(0))?;
    number.checked_mul(10_i64.checked_pow(missing)?)
}

fn bytes(text: Cow<'_, str>) -> Cow<'_, [u8]> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    }
}

/// The number or text that a pid or tid is; `None` for values of other types.
pub fn integer(value: Value<'_>) -> Option<Integer<'_>> {
    match value.kind() {
        Kind::Number => {
            if let Some(number) = plain(value.text(), 0) {
                return Some(Integer::Number(number));
            }
            let decimal = Decimal::of(value.text());
            let number = decimal.and_then(|decimal| decimal.scaled(0, Rounding::Down));
            let text = || Integer::Text(String::from_utf8_lossy(value.text()));
            Some(number.map_or_else(text, Integer::Number))
        }
        Kind::String => {
            let text = value.string()?;
            Some(match digits(&text) {
                Some(number) => Integer::Number(number),
                None => Integer::Text(text),
            })
        }
        _ => None,
    }
}

/// The number that a text of digits is, with a minus or not, if it fits.
fn digits(text: &str) -> Option<i64> {
    let is_number = !text.starts_with('+');
    is_number.then(|| text.parse().ok()).flatten()
}

/// The number with this valid text.
pub(super) fn number(text: &[u8]) -> Option<Number> {
    let text = str::from_utf8(text).ok()?;
    let integer = text.parse().ok().map(Number::Int);
    integer.or_else(|| text.parse().ok().map(Number::Real))
}

#[derive(Clone, Copy, PartialEq)]
enum Rounding {
    HalfAway,
    Down,
}

/// A number as its digits.
struct Decimal<'a> {
    is_negative: bool,
    /// The digits before and after the point.
    digits: [&'a [u8]; 2],
    exponent: i64,
}

impl<'a> Decimal<'a> {
    /// The number with this text; `None` if the text is something else, also NaN or an infinity.
    fn of(text: &'a [u8]) -> Option<Decimal<'a>> {
        let (is_negative, unsigned) = match text.first()? {
            b'-' => (true, text.get(1..)?),
            b'+' => (false, text.get(1..)?),
            _ => (false, text),
        };
        let last = unsigned.iter().try_fold(Part::Plus, |part, &byte| part.next(byte))?;
        if !last.may_end() {
            return None;
        }
        let (digits, exponent) = cut(unsigned, |byte| matches!(byte, b'e' | b'E'));
        let (before, after) = cut(digits, |byte| byte == b'.');
        Some(Decimal { is_negative, digits: [before, after], exponent: small(exponent) })
    }

    /// The number times a power of ten, if it fits.
    fn scaled(&self, power: i64, rounding: Rounding) -> Option<i64> {
        let mut digits =
            self.digits.iter().copied().flatten().map(|digit| digit.wrapping_sub(b'0'));
        let all = self.digits[0].len() as i64;
        let mut rest = digits.clone();
        let zeros = rest.by_ref().take_while(|&digit| digit == 0).count();
        if zeros == self.digits[0].len() + self.digits[1].len() {
            return Some(0);
        }
        let places = all.saturating_add(self.exponent).saturating_add(power);
        let places = places.saturating_sub(zeros as i64);
        if places > 19 {
            return None;
        }
        digits.by_ref().take(zeros).for_each(drop);
        let Ok(places) = usize::try_from(places) else { return Some(0) };
        let mut number: i128 = 0;
        for _ in 0..places {
            number = number * 10 + i128::from(digits.next().unwrap_or(0));
        }
        if rounding == Rounding::HalfAway && digits.next().is_some_and(|digit| digit >= 5) {
            number += 1;
        }
        i64::try_from(if self.is_negative { -number } else { number }).ok()
    }
}

/// The parts before and after the first such byte.
fn cut(text: &[u8], is_end: impl Fn(u8) -> bool) -> (&[u8], &[u8]) {
    let at = text.iter().position(|&byte| is_end(byte)).unwrap_or(text.len());
    (text.get(..at).unwrap_or_default(), text.get(at + 1..).unwrap_or_default())
}

/// An exponent; the nearest one if it does not fit.
fn small(exponent: &[u8]) -> i64 {
    let digits = exponent.iter().filter(|byte| byte.is_ascii_digit());
    let size = digits.fold(0_i64, |size, &digit| {
        size.saturating_mul(10).saturating_add(i64::from(digit.wrapping_sub(b'0')))
    });
    if exponent.first() == Some(&b'-') { size.saturating_neg() } else { size }
}
