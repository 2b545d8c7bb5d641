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

const LN: RealFunction = RealFunction(|x| (x > 0.0).then(|| x.ln()));
const EXP: RealFunction = RealFunction(|x| Some(x.exp()));
const SQRT: RealFunction = RealFunction(|x| (x >= 0.0).then(|| x.sqrt()));

/// A function of a real number.
struct RealFunction(fn(f64) -> Option<f64>);

impl Function for RealFunction {
    fn call<C: Call>(&self, call: &C) -> Result<Answer> {
        let number = match call.value(0) {
            Some(ValueRef::Integer(value)) => Some(value as f64),
            Some(ValueRef::Real(value)) => Some(value),
            Some(ValueRef::Text(text)) => {
                let text = std::str::from_utf8(text).unwrap_or_default().trim_ascii();
                text.parse().ok().filter(|number: &f64| number.is_finite())
            }
            _ => None,
        };
        Ok(number.and_then(self.0).map(Answer::Real).unwrap_or(Answer::Null))
    }
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
