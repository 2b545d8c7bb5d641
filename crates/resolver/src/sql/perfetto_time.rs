//! From trace time to other clocks, with the results of the functions of these
//! names in Perfetto's SQL (rules K).

use timebase_sqlfn::{Answer, Arguments, Call, Function, Functions, Result, Session};

use super::snapshots::Snapshots;
use super::trace_time::{Readings, as_utc};

pub(super) fn add(to: &mut impl Functions, session: &Session<Snapshots>) -> Result<()> {
    add_of_trace_time(to, session, "to_realtime", |readings, ts| {
        readings.realtime(ts).into()
    })?;
    add_of_trace_time(to, session, "to_monotonic", |readings, ts| {
        readings.monotonic(ts).into()
    })?;
    add_of_trace_time(to, session, "abs_time_str", |readings, ts| {
        readings.realtime(ts).map(as_utc).into()
    })
}

fn add_of_trace_time<A>(
    to: &mut impl Functions,
    session: &Session<Snapshots>,
    name: &'static str,
    answer: A,
) -> Result<()>
where
    A: Fn(&Readings, i64) -> Answer + Send + Sync + 'static,
{
    let function = OfTraceTime {
        name,
        session: session.clone(),
        answer,
    };
    to.add(name, 1, function)
}

/// A function of a trace time, NULL if that is.
struct OfTraceTime<A> {
    name: &'static str,
    session: Session<Snapshots>,
    answer: A,
}

impl<A: Fn(&Readings, i64) -> Answer + Send + Sync + 'static> Function for OfTraceTime<A> {
    #[inline]
    fn call<C: Call>(&self, call: &C) -> Result<Answer> {
        match Arguments::new(self.name, call).integer(0, "ts")? {
            None => Ok(Answer::Null),
            Some(ts) => self.session.with(self.name, call, |snapshots| {
                (self.answer)(snapshots.readings(), ts)
            }),
        }
    }
}
