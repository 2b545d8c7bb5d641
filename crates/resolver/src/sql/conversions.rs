//! From any clock to any clock, and the names of clocks.

use std::ops::RangeInclusive;

use timebase_sqlfn::{Answer, Arguments, Call, Function, Functions, Result, Session};

use super::arguments::ClockArguments;
use super::snapshots::Snapshots;
use crate::clock::{Clock, ClockId, builtin_name};
use crate::unresolved::Unresolved;

pub(super) fn add(to: &mut impl Functions, session: &Session<Snapshots>) -> Result<()> {
    add_conversion(to, session, "to_boottime", 3..=4, value)?;
    add_conversion(to, session, "convert_clock", 5..=6, value)?;
    add_conversion(to, session, "why_unresolved", 3..=6, reason)?;
    to.add("clock_id", 1, ClockIdOfName)?;
    to.add("clock_name", 1, NameOfClockId)
}

fn value(converted: Converted) -> Answer {
    converted.ok().into()
}

fn reason(converted: Converted) -> Answer {
    converted.err().map(Unresolved::code).into()
}

type Converted = Result<i64, Unresolved>;

fn add_conversion<A>(
    to: &mut impl Functions,
    session: &Session<Snapshots>,
    name: &'static str,
    counts: RangeInclusive<u8>,
    answer: A,
) -> Result<()>
where
    A: Fn(Converted) -> Answer + Copy + Send + Sync + 'static,
{
    for count in counts {
        let function = Conversion {
            name,
            has_target: count >= 5,
            session: session.clone(),
            answer,
        };
        to.add(name, count, function)?;
    }
    Ok(())
}

/// A function of `(clock_id, seq_id, ts)`, perhaps `(to_clock_id, to_seq_id)`,
/// and perhaps a machine. It is NULL if any of them is.
struct Conversion<A> {
    name: &'static str,
    has_target: bool,
    session: Session<Snapshots>,
    answer: A,
}

impl<A: Fn(Converted) -> Answer + Send + Sync + 'static> Function for Conversion<A> {
    #[inline]
    fn call<C: Call>(&self, call: &C) -> Result<Answer> {
        let arguments = Arguments::new(self.name, call);
        let (from, to) = if self.has_target {
            let to = arguments.clock(3, ["to_clock_id", "to_seq_id"], 5)?;
            (arguments.reading(5)?, to)
        } else {
            (arguments.reading(3)?, Some(Clock::BOOTTIME))
        };
        let (Some((from, ticks)), Some(to)) = (from, to) else {
            return Ok(Answer::Null);
        };
        self.session.with(self.name, call, |snapshots| {
            (self.answer)(snapshots.convert(from, ticks, to))
        })
    }
}

struct ClockIdOfName;

impl Function for ClockIdOfName {
    #[inline]
    fn call<C: Call>(&self, call: &C) -> Result<Answer> {
        let name = Arguments::new("clock_id", call).text(0, "name")?;
        let id = name.map(|name| i64::from(ClockId::from_name(name).get()));
        Ok(id.into())
    }
}

struct NameOfClockId;

impl Function for NameOfClockId {
    #[inline]
    fn call<C: Call>(&self, call: &C) -> Result<Answer> {
        let id = Arguments::new("clock_name", call).clock_id(0, "id")?;
        Ok(id.and_then(|id| builtin_name(id.get())).into())
    }
}
