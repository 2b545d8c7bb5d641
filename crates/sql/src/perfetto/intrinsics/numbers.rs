//! Numbers.
//!
//! | function | result |
//! |---|---|
//! | `__intrinsic_ln(x)` | the natural logarithm; NULL unless x is more than 0 |
//! | `__intrinsic_exp(x)` | e to the power of x |
//! | `__intrinsic_sqrt(x)` | the square root; NULL for x below 0 |
//! | `__intrinsic_to_timecode(ns)` | a time in nanoseconds as hours, minutes, seconds, milliseconds, microseconds and nanoseconds: `01:02:03 004 005 006` |
//!
//! A text that is a number counts as one; anything else gives NULL. The public names are without
//! `__intrinsic_`.

use rusqlite::Connection;
use rusqlite::types::ValueRef;

use crate::{Answer, Arguments, Call, Function, Functions, Result};

pub fn register(conn: &Connection) -> rusqlite::Result<()> {
    let mut to = conn;
    to.add("__intrinsic_ln", 1, LN)?;
    to.add("__intrinsic_exp", 1, EXP)?;
    to.add("__intrinsic_sqrt", 1, SQRT)?;
    to.add("__intrinsic_to_timecode", 1, Timecode)?;
    Ok(())
}

/// Adds the functions under their public names. A SQLite built with mathematical functions has those with
/// numbers already, and they do the same: `has` tells.
pub fn add(to: &mut impl Functions, has: impl Fn(&str) -> bool) -> Result<()> {
    for (name, function) in [("ln", LN), ("exp", EXP), ("sqrt", SQRT)] {
        if !has(name) {
            to.add(name, 1, function)?;
        }
    }
    to.add("to_timecode", 1, Timecode)
}

/// Adds the mathematical functions that a SQLite may lack (SF11). Other callers than SQLite have their own.
pub fn add_mathematics(to: &mut impl Functions, has: impl Fn(&str) -> bool) -> Result<()> {
    for (name, function) in OF_ONE {
        if !has(name) {
            to.add(name, 1, function)?;
        }
    }
    for (name, function) in OF_TWO {
        if !has(name) {
            to.add(name, 2, function)?;
        }
    }
    if !has("log") {
        to.add("log", 1, LOG10)?;
        to.add("log", 2, LOG)?;
    }
    for (name, function) in ROUNDING {
        if !has(name) {
            to.add(name, 1, function)?;
        }
    }
    match has("pi") {
        true => Ok(()),
        false => to.add("pi", 0, Pi),
    }
}

/// The mathematical functions of SQLite that a build may lack.
const OF_ONE: [(&str, RealFunction); 16] = [
    ("acos", RealFunction(|x| Some(x.acos()))),
    ("acosh", RealFunction(|x| Some(x.acosh()))),
    ("asin", RealFunction(|x| Some(x.asin()))),
    ("asinh", RealFunction(|x| Some(x.asinh()))),
    ("atan", RealFunction(|x| Some(x.atan()))),
    ("atanh", RealFunction(|x| Some(x.atanh()))),
    ("cos", RealFunction(|x| Some(x.cos()))),
    ("cosh", RealFunction(|x| Some(x.cosh()))),
    ("degrees", RealFunction(|x| Some(x.to_degrees()))),
    ("log10", LOG10),
    ("log2", RealFunction(|x| (x > 0.0).then(|| x.log2()))),
    ("radians", RealFunction(|x| Some(x.to_radians()))),
    ("sin", RealFunction(|x| Some(x.sin()))),
    ("sinh", RealFunction(|x| Some(x.sinh()))),
    ("tan", RealFunction(|x| Some(x.tan()))),
    ("tanh", RealFunction(|x| Some(x.tanh()))),
];

const LOG10: RealFunction = RealFunction(|x| (x > 0.0).then(|| x.log10()));

const OF_TWO: [(&str, OfTwo); 4] = [
    ("atan2", OfTwo(|y, x| Some(y.atan2(x)))),
    ("mod", OfTwo(|x, y| Some(x % y))),
    ("pow", OfTwo(|x, y| Some(x.powf(y)))),
    ("power", OfTwo(|x, y| Some(x.powf(y)))),
];

const LOG: OfTwo = OfTwo(|base, x| {
    let (over, under) = ((x > 0.0).then(|| x.ln())?, (base > 0.0).then(|| base.ln())?);
    (under > 0.0).then_some(over / under)
});

const ROUNDING: [(&str, Rounding); 4] = [
    ("ceil", Rounding(f64::ceil)),
    ("ceiling", Rounding(f64::ceil)),
    ("floor", Rounding(f64::floor)),
    ("trunc", Rounding(f64::trunc)),
];

const LN: RealFunction = RealFunction(|x| (x > 0.0).then(|| x.ln()));
const EXP: RealFunction = RealFunction(|x| Some(x.exp()));
const SQRT: RealFunction = RealFunction(|x| (x >= 0.0).then(|| x.sqrt()));

/// A function of a real number.
#[derive(Clone, Copy)]
struct RealFunction(fn(f64) -> Option<f64>);

impl Function for RealFunction {
    fn call<C: Call>(&self, call: &C) -> Result<Answer> {
        Ok(real(number(call, 0).and_then(self.0)))
    }
}

/// A function of two real numbers.
#[derive(Clone, Copy)]
struct OfTwo(fn(f64, f64) -> Option<f64>);

impl Function for OfTwo {
    fn call<C: Call>(&self, call: &C) -> Result<Answer> {
        let both = number(call, 0).zip(number(call, 1));
        Ok(real(both.and_then(|(one, other)| (self.0)(one, other))))
    }
}

/// A function that makes a number whole. An integer stays one.
#[derive(Clone, Copy)]
struct Rounding(fn(f64) -> f64);

impl Function for Rounding {
    fn call<C: Call>(&self, call: &C) -> Result<Answer> {
        match call.value(0) {
            Some(ValueRef::Integer(value)) => Ok(Answer::Integer(value)),
            _ => Ok(real(number(call, 0).map(self.0))),
        }
    }
}

struct Pi;

impl Function for Pi {
    fn call<C: Call>(&self, _: &C) -> Result<Answer> {
        Ok(Answer::Real(std::f64::consts::PI))
    }
}

/// An argument as a number; `None` for anything else.
fn number<C: Call>(call: &C, index: usize) -> Option<f64> {
    match call.value(index) {
        Some(ValueRef::Integer(value)) => Some(value as f64),
        Some(ValueRef::Real(value)) => Some(value),
        Some(ValueRef::Text(text)) => {
            let text = std::str::from_utf8(text).unwrap_or_default().trim_ascii();
            text.parse().ok().filter(|number: &f64| number.is_finite())
        }
        _ => None,
    }
}

/// A number; NULL outside of the domain.
fn real(number: Option<f64>) -> Answer {
    number.filter(|number| !number.is_nan()).map(Answer::Real).unwrap_or(Answer::Null)
}

struct Timecode;

impl Function for Timecode {
    fn call<C: Call>(&self, call: &C) -> Result<Answer> {
        let Some(ns) = Arguments::new("to_timecode", call).integer(0, "ns")? else {
            return Ok(Answer::Null);
        };
        let (us, ms, seconds) = (ns / 1000, ns / 1_000_000, ns / 1_000_000_000);
        let (minutes, hours) = (seconds / 60, seconds / 3600);
        let timecode = format!(
            "{hours:02}:{:02}:{:02} {:03} {:03} {:03}",
            minutes % 60,
            seconds % 60,
            ms % 1000,
            us % 1000,
            ns % 1000
        );
        Ok(timecode.into())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::super::testing::{connection, error, rows};

    fn one(expression: &str) -> String {
        rows(&connection(), &format!("SELECT {expression}")).remove(0)
    }

    #[test]
    fn pq9_logarithms_powers_and_roots() {
        let cases = [
            ("__intrinsic_ln(1)", "0.0"),
            ("__intrinsic_ln('2.718281828459045')", "1.0"),
            ("__intrinsic_ln(0)", "NULL"),
            ("__intrinsic_ln(-1)", "NULL"),
            ("__intrinsic_ln('one')", "NULL"),
            ("__intrinsic_ln(NULL)", "NULL"),
            ("__intrinsic_exp(0)", "1.0"),
            ("__intrinsic_exp(1.0)", "2.718281828459045"),
            ("__intrinsic_exp('inf')", "NULL"),
            ("__intrinsic_sqrt(9)", "3.0"),
            ("__intrinsic_sqrt(-1)", "NULL"),
            ("__intrinsic_sqrt(x'09')", "NULL"),
        ];
        for (expression, expected) in cases {
            assert_eq!(one(expression), expected, "{expression}");
        }
    }

    #[test]
    fn sf11_mathematical_functions_are_those_of_sqlite() {
        let cases = [
            ("acos(1)", "0.0"),
            ("acos(2)", "NULL"),
            ("atan2(0, 1)", "0.0"),
            ("ceil(1.5)", "2.0"),
            ("ceiling(-1.5)", "-1.0"),
            ("ceil(7)", "7"),
            ("floor(-1.5)", "-2.0"),
            ("floor('2.5')", "2.0"),
            ("trunc(-1.5)", "-1.0"),
            ("floor('x')", "NULL"),
            ("log(100)", "2.0"),
            ("log10(0)", "NULL"),
            ("log(2, 8)", "3.0"),
            ("log(1, 8)", "NULL"),
            ("log2(8)", "3.0"),
            ("mod(7.5, 2)", "1.5"),
            ("mod(1, 0)", "NULL"),
            ("pow(2, 10)", "1024.0"),
            ("power(2, NULL)", "NULL"),
            ("round(pi(), 5)", "3.14159"),
            ("degrees(pi())", "180.0"),
            ("radians(180) = pi()", "1"),
            ("tanh(0)", "0.0"),
            (
                "sin(0) + cos(0) + tan(0) + sinh(0) + cosh(0) + asin(0) + asinh(0) + acosh(1) + atan(0) + atanh(0)",
                "2.0",
            ),
        ];
        for (expression, expected) in cases {
            assert_eq!(one(expression), expected, "{expression}");
        }
    }

    #[test]
    fn pq9_a_timecode_shows_each_unit() {
        assert_eq!(one("__intrinsic_to_timecode(3723004005006)"), "01:02:03 004 005 006");
        assert_eq!(one("__intrinsic_to_timecode(0)"), "00:00:00 000 000 000");
        assert_eq!(one("__intrinsic_to_timecode(360000000000000)"), "100:00:00 000 000 000");
        assert_eq!(one("__intrinsic_to_timecode(NULL)"), "NULL");
        let message = error(&connection(), "SELECT __intrinsic_to_timecode(1.5)");
        assert_eq!(
            message,
            "to_timecode(): argument 1 (ns) must be an integer, not the real number 1.5"
        );
    }
}
