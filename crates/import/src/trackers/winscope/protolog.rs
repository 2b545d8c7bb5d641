//! ProtoLog's messages (rule WS20).

use timebase_schema::WinscopeTable;
use timebase_schema::fields::{
    interned_data as interned, interned_string as entry, proto_log_message as log,
};
use timebase_trace::Interval;

use super::table::{Made, Named, Out, Statement};
use crate::definitions::{Logged, Protolog};
use crate::message::{self, Message};
use crate::output::{Counter, Fault, Faults};
use crate::trackers::tracker::TrackerContext;

const PROTOLOG: usize = WinscopeTable::number("protolog");

const TAG_MISSING: Fault = Fault::new(
    Counter::info(
        "winscope_protolog_group_tag_missing",
        "a message of ProtoLog is of a group that the trace does not state, so it has the tag UNKNOWN_GROUP",
    )
    .drops_nothing(),
);
const MISMATCH: Fault = Fault::new(
    Counter::info(
        "winscope_protolog_param_mismatch",
        "a message of ProtoLog has too few parameters for its text, or too many",
    )
    .drops_nothing(),
);
const NO_TEXT: Fault = Fault::new(
    Counter::info(
        "winscope_protolog_message_decoding_failed",
        "the trace does not state the text of a message of ProtoLog",
    )
    .drops_nothing(),
);
const NOT_INTERNED: Fault = Fault::new(
    Counter::info(
        "winscope_protolog_missing_interned_arg_parse_errors",
        "a text that a message of ProtoLog refers to is not in the trace",
    )
    .drops_nothing(),
);
const NO_STACK: Fault = Fault::new(
    Counter::info(
        "winscope_protolog_missing_interned_stacktrace_parse_errors",
        "a stack that a message of ProtoLog refers to is not in the trace",
    )
    .drops_nothing(),
);
const COLLISION: Fault = Fault::new(
    Counter::info(
        "winscope_protolog_message_collision",
        "a message of ProtoLog may have several texts, so it has none of them",
    )
    .drops_nothing(),
);
const RESOLVED: Fault = Fault::new(
    Counter::info(
        "winscope_protolog_message_collision_resolved",
        "a message of ProtoLog may have several texts, and its parameters fit only one",
    )
    .drops_nothing(),
);

/// The names of levels, from 1.
const LEVELS: [&str; 6] = ["DEBUG", "VERBOSE", "INFO", "WARN", "ERROR", "WTF"];

/// Texts of numbers are at most this long.
const LONGEST: usize = 31;

/// The parameters of a message.
#[derive(Debug, Default)]
struct Parameters {
    integers: Vec<i64>,
    reals: Vec<f64>,
    flags: Vec<bool>,
    texts: Vec<String>,
}

impl Parameters {
    fn counts(&self) -> [usize; 4] {
        [self.integers.len(), self.reals.len(), self.flags.len(), self.texts.len()]
    }
}

/// Writes the row of a `ProtoLogMessage`.
pub(super) fn write(
    bytes: &[u8],
    (statement, interval): (&Statement<'_>, Interval),
    out: &mut Out,
    at: &mut TrackerContext<'_, '_>,
) {
    let message = Message(bytes);
    let text = |field, iid: u64| {
        let found = at.world.interned.get(interval, field, iid & u64::from(u32::MAX))?;
        Some(message::text(Message(found).bytes(entry::STR)?).into_owned())
    };
    let unsigned_zigzag = |value: u64| (value >> 1).cast_signed() ^ -((value & 1).cast_signed());
    let mut parameters = Parameters {
        integers: message.numbers(log::SINT64_PARAMS).map(unsigned_zigzag).collect(),
        reals: message.fixed(log::DOUBLE_PARAMS).map(f64::from_bits).collect(),
        flags: message.numbers(log::BOOLEAN_PARAMS).map(|flag| flag as u32 != 0).collect(),
        texts: Vec::new(),
    };
    let mut faults = Vec::new();
    for iid in message.numbers(log::STR_PARAM_IIDS) {
        let known = text(interned::PROTOLOG_STRING_ARGS, iid);
        faults.extend(known.is_none().then_some(NOT_INTERNED));
        parameters.texts.push(known.unwrap_or_else(|| "<ERROR>".to_owned()));
    }
    let mut stack = None;
    if let Some(iid) = message.number(log::STACKTRACE_IID) {
        stack = text(interned::PROTOLOG_STACKTRACE, iid);
        if stack.is_none() {
            faults.push(NO_STACK);
            parameters.texts.push("<ERROR>".to_owned());
        }
    }
    let id = message.natural(log::MESSAGE_ID).unwrap_or(0);
    let nothing = Protolog::default();
    let stated = at.world.statements().map_or(&nothing, |part| &part.protolog);
    let decoded = decoded(stated, id, &parameters, &mut faults);
    let made = match &decoded {
        None => [Made::Null; 5],
        Some(decoded) => [
            Made::Text(decoded.level),
            Made::Text(&decoded.tag),
            Made::Text(&decoded.text),
            Made::text(stack.as_deref()),
            Made::text(decoded.location.as_deref()),
        ],
    };
    let named = Named { ts: Some(statement.ts), ..Named::default() };
    out.row((PROTOLOG, &[]), named, &made, at);
    tell(&faults, statement.packet, &mut at.world.faults);
}

fn tell(met: &[Fault], packet: i64, faults: &mut Faults) {
    for fault in met {
        faults.add(*fault, packet);
    }
}

/// A message with its text.
struct Decoded {
    level: &'static str,
    tag: String,
    text: String,
    location: Option<Box<str>>,
}

fn decoded(
    stated: &Protolog,
    id: u64,
    parameters: &Parameters,
    faults: &mut Vec<Fault>,
) -> Option<Decoded> {
    let all = stated.messages(id);
    let fitting: Vec<&Logged> =
        all.iter().filter(|logged| wanted(&logged.text) == parameters.counts()).collect();
    let logged = match (all, &*fitting) {
        ([], _) => {
            faults.push(NO_TEXT);
            return None;
        }
        ([one], _) => one,
        (_, [one]) => {
            faults.push(RESOLVED);
            *one
        }
        _ => {
            faults.push(COLLISION);
            let texts = fitting.iter().map(|logged| filled(&logged.text, parameters, faults));
            let texts: Vec<String> = texts.collect();
            let what = match &*texts {
                [] => "no text fits its parameters".to_owned(),
                texts => format!("several texts fit: {}", texts.join(" | ")),
            };
            return Some(Decoded {
                level: "WARN",
                tag: "COLLISION_GROUP".to_owned(),
                text: format!("<PROTOLOG COLLISION of message {id:#x}: {what}>"),
                location: None,
            });
        }
    };
    let tag = stated.tag(logged.group).map(str::to_owned).unwrap_or_else(|| {
        faults.push(TAG_MISSING);
        "UNKNOWN_GROUP".to_owned()
    });
    let level = usize::try_from(logged.level).ok().and_then(|level| level.checked_sub(1));
    Some(Decoded {
        level: level.and_then(|level| LEVELS.get(level)).copied().unwrap_or("UNKNOWN"),
        tag,
        text: filled(&logged.text, parameters, faults),
        location: logged.location.clone(),
    })
}

/// A piece of a message's text.
enum Piece {
    Char(char),
    /// A parameter, by the letter after `%`.
    Parameter(char),
}

fn pieces(text: &str) -> impl Iterator<Item = Piece> {
    let mut chars = text.chars();
    let mut kept = None;
    std::iter::from_fn(move || {
        if let Some(kept) = kept.take() {
            return Some(Piece::Char(kept));
        }
        let first = chars.next()?;
        if first != '%' {
            return Some(Piece::Char(first));
        }
        match chars.next() {
            None => Some(Piece::Char('%')),
            Some('%') => Some(Piece::Char('%')),
            Some(letter @ ('d' | 'o' | 'x' | 'f' | 'e' | 'g' | 'b' | 's')) => {
                Some(Piece::Parameter(letter))
            }
            Some(other) => {
                kept = Some(other);
                Some(Piece::Char('%'))
            }
        }
    })
}

/// The number of parameters of each type that a text has.
fn wanted(text: &str) -> [usize; 4] {
    let mut counts = [0; 4];
    for piece in pieces(text) {
        let [integers, reals, flags, texts] = &mut counts;
        match piece {
            Piece::Char(_) => {}
            Piece::Parameter('d' | 'o' | 'x') => *integers += 1,
            Piece::Parameter('f' | 'e' | 'g') => *reals += 1,
            Piece::Parameter('b') => *flags += 1,
            Piece::Parameter(_) => *texts += 1,
        }
    }
    counts
}

/// A text with its parameters.
fn filled(text: &str, parameters: &Parameters, faults: &mut Vec<Fault>) -> String {
    let mut filled = String::new();
    let (mut integers, mut reals) = (parameters.integers.iter(), parameters.reals.iter());
    let (mut flags, mut texts) = (parameters.flags.iter(), parameters.texts.iter());
    for piece in pieces(text) {
        let value = match piece {
            Piece::Char(char) => {
                filled.push(char);
                continue;
            }
            Piece::Parameter('d') => integers.next().map(i64::to_string),
            Piece::Parameter('o') => integers.next().map(|value| format!("{value:o}")),
            Piece::Parameter('x') => integers.next().map(|value| format!("{value:x}")),
            Piece::Parameter('b') => flags.next().map(bool::to_string),
            Piece::Parameter('s') => texts.next().cloned(),
            Piece::Parameter(letter) => reals.next().map(|value| real(*value, letter)),
        };
        let value = value.unwrap_or_else(|| {
            faults.push(MISMATCH);
            "[MISSING_PARAM]".to_owned()
        });
        filled.push_str(&value);
    }
    let left = [integers.len(), reals.len(), flags.len(), texts.len()];
    if left != [0; 4] {
        faults.push(MISMATCH);
    }
    filled
}

/// A real number as C prints it, with `%f`, `%e` or `%g`.
fn real(value: f64, letter: char) -> String {
    let mut text = match (letter, value.is_finite()) {
        (_, false) if value.is_nan() => {
            if value.is_sign_negative() { "-nan" } else { "nan" }.to_owned()
        }
        (_, false) => if value < 0.0 { "-inf" } else { "inf" }.to_owned(),
        ('e', true) => with_exponent(value, 6),
        ('g', true) => shortest(value),
        _ => format!("{value:.6}"),
    };
    text.truncate(LONGEST);
    text
}

/// A number with an exponent of at least two digits.
fn with_exponent(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
}

/// A number with at most six digits, without zeros at the end.
fn shortest(value: f64) -> String {
    const DIGITS: i32 = 6;
    let text = with_exponent(value, 5);
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "+00"));
    let power: i32 = exponent.parse().unwrap_or(0);
    let without_zeros = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    if (-4..DIGITS).contains(&power) {
        let decimals = usize::try_from(DIGITS - 1 - power).unwrap_or(0);
        return without_zeros(&format!("{value:.decimals$}"));
    }
    format!("{}e{exponent}", without_zeros(digits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ws20_numbers_are_as_c_prints_them() {
        let cases = [
            (0.5, 'f', "0.500000"),
            (-1e10, 'f', "-10000000000.000000"),
            (1e300, 'f', "1000000000000000052504760255204"),
            (3.0, 'e', "3.000000e+00"),
            (-1.5e-7, 'e', "-1.500000e-07"),
            (0.5, 'g', "0.5"),
            (100_000.0, 'g', "100000"),
            (1_000_000.0, 'g', "1e+06"),
            (1_234_567.0, 'g', "1.23457e+06"),
            (0.0001, 'g', "0.0001"),
            (0.000_012_3, 'g', "1.23e-05"),
            (0.0, 'g', "0"),
            (f64::NEG_INFINITY, 'g', "-inf"),
        ];
        for (value, letter, expected) in cases {
            assert_eq!(real(value, letter), expected, "{value} {letter}");
        }
    }
}
