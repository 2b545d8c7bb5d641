//! The bounds of the trace, and units of time.
//!
//! | function | result |
//! |---|---|
//! | `trace_start()`, `trace_end()`, `trace_dur()` | the first and the last time of `trace_bounds`, and the time between them; 0 for a trace without times |
//! | `time_from_ns(x)`, `_us`, `_ms`, `_s`, `_min`, `_hours`, `_days` | x of this unit in nanoseconds |
//! | `time_to_ns(ns)`, `_us`, `_ms`, `_s`, `_min`, `_hours`, `_days` | nanoseconds in whole units, without the fraction |

use crate::{Answer, Arguments, Call, Function, Functions, Lookup, Result};

const BOUNDS: [(&str, &str); 3] = [
    ("trace_start", "SELECT coalesce((SELECT start_ts FROM main.trace_bounds), 0)"),
    ("trace_end", "SELECT coalesce((SELECT end_ts FROM main.trace_bounds), 0)"),
    ("trace_dur", "SELECT coalesce((SELECT end_ts - start_ts FROM main.trace_bounds), 0)"),
];

/// The functions for each unit, and by which numbers they multiply or divide one after another.
const UNITS: [(&str, &str, &[i64]); 7] = [
    ("time_from_ns", "time_to_ns", &[]),
    ("time_from_us", "time_to_us", &[1000]),
    ("time_from_ms", "time_to_ms", &[1000, 1000]),
    ("time_from_s", "time_to_s", &[1000, 1000, 1000]),
    ("time_from_min", "time_to_min", &[60, 1000, 1000, 1000]),
    ("time_from_hours", "time_to_hours", &[60, 60, 1000, 1000, 1000]),
    ("time_from_days", "time_to_days", &[24, 60, 60, 1000, 1000, 1000]),
];

pub fn add(to: &mut impl Functions) -> Result<()> {
    for (name, sql) in BOUNDS {
        let lookup = Lookup::new(sql);
        to.add(name, 0, Bound { name, lookup })?;
    }
    for (from, into, factors) in UNITS {
        let unit = |name, argument, convert| Unit { name, argument, factors, convert };
        to.add(from, 1, unit(from, "time", multiplied))?;
        to.add(into, 1, unit(into, "ns", divided))?;
    }
    Ok(())
}

struct Bound {
    name: &'static str,
    lookup: Lookup,
}

impl Function for Bound {
    fn call<C: Call>(&self, call: &C) -> Result<Answer> {
        self.lookup.value(self.name, call, &[])
    }
}

type Convert = fn(i64, &[i64]) -> Answer;

struct Unit {
    name: &'static str,
    argument: &'static str,
    factors: &'static [i64],
    convert: Convert,
}

impl Function for Unit {
    fn call<C: Call>(&self, call: &C) -> Result<Answer> {
        let time = Arguments::new(self.name, call).integer(0, self.argument)?;
        Ok(time.map_or(Answer::Null, |time| (self.convert)(time, self.factors)))
    }
}

/// A product beyond 64 bits is a real number, as SQLite's products are.
fn multiplied(time: i64, factors: &[i64]) -> Answer {
    let product = factors.iter().try_fold(time, |product, &factor| product.checked_mul(factor));
    let rounded = || factors.iter().fold(time as f64, |product, &factor| product * factor as f64);
    product.map_or_else(|| Answer::Real(rounded()), Answer::Integer)
}

fn divided(ns: i64, factors: &[i64]) -> Answer {
    let whole = factors.iter().fold(ns, |ns, &factor| ns.checked_div(factor).unwrap_or_default());
    Answer::Integer(whole)
}
