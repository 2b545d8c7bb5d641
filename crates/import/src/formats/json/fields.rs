//! The fields of an event.

use std::borrow::Cow;
use std::fmt::Display;

use timebase_trace::json::{Integer, Kind, NoTime, Number, Value, integer, nanoseconds};

/// The members of an event that rules name, as values or as their places. Of equal keys the last counts, or the last one
/// of a type that can be used (rule JS7).
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Fields<V> {
    pub phase: Option<V>,
    pub name: Option<V>,
    pub category: Option<V>,
    pub ts: Time,
    pub dur: Time,
    pub thread_time: Time,
    pub thread_dur: Time,
    pub pid: Option<V>,
    pub tid: Option<V>,
    pub id: Option<V>,
    pub id2: Option<V>,
    pub scope: Option<V>,
    pub binds: Option<V>,
    pub bind_id: Option<V>,
    pub flow_in: Option<V>,
    pub flow_out: Option<V>,
    /// An object.
    pub args: Option<V>,
    /// Whether the event has no members.
    pub is_empty: bool,
}

/// A time of an event.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Time {
    /// In nanoseconds, from the last value that is a number, or a text of one (rule JS9).
    pub ns: Option<Result<i64, NoTime>>,
    is_there: bool,
}

impl Time {
    fn add(&mut self, value: Value<'_>) {
        self.is_there = true;
        match nanoseconds(value) {
            Err(NoTime::Unusable) => {}
            ns => self.ns = Some(ns),
        }
    }

    /// The duration in nanoseconds, if it is valid; and whether the event has an invalid one (rule
    /// JS10).
    pub fn optional(&self) -> (Option<i64>, bool) {
        let ns = self.ns.and_then(Result::ok);
        (ns, self.is_there && ns.is_none())
    }
}

impl<V: Copy> Fields<V> {
    /// The same members in another form.
    pub fn map<W>(&self, form: impl Fn(V) -> W) -> Fields<W> {
        let form = |member: Option<V>| member.map(&form);
        Fields {
            phase: form(self.phase),
            name: form(self.name),
            category: form(self.category),
            ts: self.ts,
            dur: self.dur,
            thread_time: self.thread_time,
            thread_dur: self.thread_dur,
            pid: form(self.pid),
            tid: form(self.tid),
            id: form(self.id),
            id2: form(self.id2),
            scope: form(self.scope),
            binds: form(self.binds),
            bind_id: form(self.bind_id),
            flow_in: form(self.flow_in),
            flow_out: form(self.flow_out),
            args: form(self.args),
            is_empty: self.is_empty,
        }
    }
}

impl<'a> Fields<Value<'a>> {
    /// The fields of an event.
    pub fn of(event: Value<'a>) -> Self {
        let mut fields = Fields { is_empty: true, ..Fields::default() };
        for (key, value) in event.members() {
            fields.is_empty = false;
            let Some(known) = KEYS.iter().find(|(name, _)| key.is(name)) else {
                continue;
            };
            known.1(&mut fields, value);
        }
        fields
    }

    /// Writes the id in the form that equal ids have. Returns whether it belongs to the process (rule JS21), or `None`
    /// without an id.
    pub fn async_id(&self, out: &mut String) -> Option<bool> {
        let (mut global, mut local) = (None, None);
        if self.id.is_none() {
            for (key, value) in self.id2.into_iter().flat_map(Value::members) {
                if key.is("global") {
                    global = Some(value).filter(|value| is_id(*value)).or(global);
                } else if key.is("local") {
                    local = Some(value).filter(|value| is_id(*value)).or(local);
                }
            }
        }
        exact_id(self.id.or(global).or(local)?, out)?;
        Some(self.id.or(global).is_none())
    }

    /// Whether a member is `true`.
    pub fn is_true(value: Option<Value<'_>>) -> bool {
        value.is_some_and(|value| value.kind() == Kind::Bool(true))
    }
}

type Set = for<'f, 'a> fn(&'f mut Fields<Value<'a>>, Value<'a>);

/// The keys, the most frequent first.
const KEYS: &[(&str, Set)] = &[
    ("ph", |fields, value| fields.phase = Some(value)),
    ("cat", |fields, value| fields.category = Some(value)),
    ("name", |fields, value| fields.name = Some(value)),
    ("pid", |fields, value| {
        if integer(value).is_some() {
            fields.pid = Some(value);
        }
    }),
    ("tid", |fields, value| {
        if integer(value).is_some() {
            fields.tid = Some(value);
        }
    }),
    ("ts", |fields, value| fields.ts.add(value)),
    ("dur", |fields, value| fields.dur.add(value)),
    ("args", |fields, value| {
        if value.kind() == Kind::Object {
            fields.args = Some(value);
        }
    }),
    ("id", |fields, value| {
        if is_id(value) {
            fields.id = Some(value);
        }
    }),
    ("bp", |fields, value| fields.binds = Some(value)),
    ("s", |fields, value| fields.scope = Some(value)),
    ("tts", |fields, value| fields.thread_time.add(value)),
    ("tdur", |fields, value| fields.thread_dur.add(value)),
    ("id2", |fields, value| fields.id2 = Some(value)),
    ("bind_id", |fields, value| {
        if is_id(value) {
            fields.bind_id = Some(value);
        }
    }),
    ("flow_in", |fields, value| fields.flow_in = Some(value)),
    ("flow_out", |fields, value| fields.flow_out = Some(value)),
];

/// Whether a value is a text or an integer.
fn is_id(value: Value<'_>) -> bool {
    value.kind() == Kind::String || int(value).is_some()
}

/// Writes an id that is a text or an integer, in a form that tells 1 from "1".
fn exact_id(value: Value<'_>, out: &mut String) -> Option<()> {
    match (value.string(), value.number()) {
        (Some(text), _) => write(out, 's', text),
        (None, Some(Number::Int(id))) => write(out, 'n', id),
        _ => None,
    }
}

/// Writes the id of a flow (rule JS23): texts in hexadecimal are numbers.
pub(super) fn flow_id(value: Value<'_>, out: &mut String) -> Option<()> {
    match (value.string(), value.number()) {
        (Some(text), _) if text.is_empty() => None,
        (Some(text), _) => match hexadecimal(&text) {
            Some(id) => write(out, 'n', id),
            None => write(out, 's', text),
        },
        (None, Some(Number::Int(id))) => write(out, 'n', id as u64),
        _ => None,
    }
}

fn write(out: &mut String, kind: char, id: impl Display) -> Option<()> {
    use std::fmt::Write;
    out.clear();
    write!(out, "{kind}{id}").ok()
}

/// The number that C's `strtoull` reads from a whole text in base 16.
pub(super) fn hexadecimal(text: &str) -> Option<u64> {
    let text = text.trim_start_matches([' ', '\t', '\n', '\u{b}', '\u{c}', '\r']);
    let (is_negative, text) = match text.as_bytes().first()? {
        b'-' => (true, text.get(1..)?),
        b'+' => (false, text.get(1..)?),
        _ => (false, text),
    };
    let digits = text.strip_prefix("0x").or(text.strip_prefix("0X")).unwrap_or(text);
    if digits.is_empty() {
        return None;
    }
    let mut number = Some(0u64);
    for digit in digits.chars() {
        let digit = digit.to_digit(16)?;
        number = number.and_then(|number| number.checked_mul(16)?.checked_add(digit.into()));
    }
    Some(match (number, is_negative) {
        (None, _) => u64::MAX,
        (Some(number), true) => number.wrapping_neg(),
        (Some(number), false) => number,
    })
}

/// The number that C's `strtod` reads from a whole text.
pub(super) fn real(text: &str) -> Option<f64> {
    let text = text.trim_start_matches([' ', '\t', '\n', '\u{b}', '\u{c}', '\r']);
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if let Some(digits) = unsigned.strip_prefix("0x").or(unsigned.strip_prefix("0X")) {
        let value = hexadecimal_real(digits)?;
        return Some(if text.starts_with('-') { -value } else { value });
    }
    // Rust has the same decimals and words, but `nan(…)`.
    text.parse().ok()
}

/// The value of hexadecimal digits with a point and a binary exponent.
fn hexadecimal_real(text: &str) -> Option<f64> {
    let (digits, exponent) = match text.split_once(['p', 'P']) {
        None => (text, 0),
        Some((digits, exponent)) => (digits, exponent.parse::<i32>().ok()?),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut value = 0.0;
    for digit in whole.chars().chain(fraction.chars()) {
        value = value * 16.0 + f64::from(digit.to_digit(16)?);
    }
    let places = i32::try_from(fraction.len()).ok()?.checked_mul(4)?;
    Some(value * 2f64.powi(exponent.checked_sub(places)?))
}

/// A text that is not empty.
pub(super) fn text(value: Option<Value<'_>>) -> Option<Cow<'_, str>> {
    value.and_then(Value::string).filter(|text| !text.is_empty())
}

/// The number of a pid or tid, or its text.
pub(super) fn id(value: Option<Value<'_>>) -> Option<Integer<'_>> {
    value.and_then(integer)
}

/// An integer.
pub(super) fn int(value: Value<'_>) -> Option<i64> {
    match value.number() {
        Some(Number::Int(int)) => Some(int),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn js23_a_hexadecimal_text_is_the_number_that_strtoull_reads() {
        let texts =
            ["10", "0xff", "0XFF", " +a", "-1", "ffffffffffffffffff", "0x", "1g", "", "0x-1"];
        let expected = [Some(16), Some(255), Some(255), Some(10), Some(u64::MAX), Some(u64::MAX)];
        let expected = expected.into_iter().chain([None; 4]);
        assert!(texts.into_iter().map(hexadecimal).eq(expected));
    }

    #[test]
    fn js26_a_text_is_a_value_if_strtod_reads_all_of_it() {
        let texts = ["2.5", " -1e3", "0x1.8p1", "inf", "1 ", "", "abc", "-0x10"];
        let expected = [Some(2.5), Some(-1000.0), Some(3.0), Some(f64::INFINITY)];
        let expected = expected.into_iter().chain([None; 3]).chain([Some(-16.0)]);
        assert!(texts.into_iter().map(real).eq(expected));
    }
}
