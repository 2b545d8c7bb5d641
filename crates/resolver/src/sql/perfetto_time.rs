//! Functions from trace time to other clocks and back (rules K). Those that Perfetto's SQL also has
//! return the same results.

use timebase_sql::{Answer, Arguments, Call, Error, Function, Functions, Result, Session, Values};

use super::snapshots::Loaded;
use super::trace_time::Readings;
use crate::wall_clock::{NotATime, WallTime, Zone};

pub(super) fn add(to: &mut impl Functions, session: &Session<Loaded>) -> Result<()> {
    add_conversions(to, session, ["to_realtime", "to_monotonic", "abs_time_str"])?;
    let session = || session.clone();
    to.add("abs_time_str", 2, AbsTimeStrInZone(session()))?;
    to.add("from_abs_time_str", 1, FromAbsTimeStr(session()))
}

/// The functions with the names to which the prelude of Perfetto's library delegates (PQ9).
pub(super) fn add_intrinsics(to: &mut impl Functions, session: &Session<Loaded>) -> Result<()> {
    let names = ["__intrinsic_to_realtime", "__intrinsic_to_monotonic", "__intrinsic_abs_time_str"];
    add_conversions(to, session, names)
}

fn add_conversions(
    to: &mut impl Functions,
    session: &Session<Loaded>,
    names: [&'static str; 3],
) -> Result<()> {
    let [to_realtime, to_monotonic, abs_time_str] = names;
    add_of_trace_time(to, session, to_realtime, |readings, ts| readings.realtime(ts).into())?;
    add_of_trace_time(to, session, to_monotonic, |readings, ts| readings.monotonic(ts).into())?;
    add_of_trace_time(to, session, abs_time_str, |readings, ts| {
        let shown = readings.realtime(ts).map(WallTime::of_realtime);
        shown.map(|shown| shown.to_string()).into()
    })
}

fn add_of_trace_time<A>(
    to: &mut impl Functions,
    session: &Session<Loaded>,
    name: &'static str,
    answer: A,
) -> Result<()>
where
    A: Fn(&Readings, i64) -> Answer + Send + Sync + 'static,
{
    let function = OfTraceTime { name, session: session.clone(), answer };
    to.add(name, 1, function)
}

/// A function of a trace time; NULL for NULL.
struct OfTraceTime<A> {
    name: &'static str,
    session: Session<Loaded>,
    answer: A,
}

impl<A: Fn(&Readings, i64) -> Answer + Send + Sync + 'static> Function for OfTraceTime<A> {
    #[inline]
    fn call<C: Call>(&self, call: &C) -> Result<Answer> {
        match Arguments::new(self.name, call).integer(0, "ts")? {
            None => Ok(Answer::Null),
            Some(ts) => self
                .session
                .with(self.name, call, |loaded| (self.answer)(loaded.snapshots.readings(), ts)),
        }
    }
}

/// The instant as a clock of the zone shows it (rule K3).
struct AbsTimeStrInZone(Session<Loaded>);

impl Function for AbsTimeStrInZone {
    fn call<C: Call>(&self, call: &C) -> Result<Answer> {
        let name = "abs_time_str";
        let arguments = Arguments::new(name, call);
        let ts = arguments.integer(0, "ts")?;
        let zone = match arguments.text(1, "zone")? {
            None => None,
            Some(zone) => match zone.parse::<Zone>() {
                Ok(zone) => Some(zone),
                Err(wrong) => return Err(arguments.must_be(1, "zone", wrong.expected())),
            },
        };
        let Some((ts, zone)) = ts.zip(zone) else {
            return Ok(Answer::Null);
        };
        let shown = self.0.with(name, call, |loaded| loaded.snapshots.readings().realtime(ts))?;
        let shown = shown.map(|shown| WallTime::of_realtime(shown).in_zone(&zone));
        Ok(shown.into())
    }
}

/// The last trace time at which REALTIME had this value (rule K4).
struct FromAbsTimeStr(Session<Loaded>);

impl Function for FromAbsTimeStr {
    fn call<C: Call>(&self, call: &C) -> Result<Answer> {
        let name = "from_abs_time_str";
        let arguments = Arguments::new(name, call);
        let Some(time) = wall_time(&arguments, 0, "text")? else {
            return Ok(Answer::Null);
        };
        self.0.with(name, call, |loaded| {
            let readings = loaded.snapshots.readings();
            readings.last_with_realtime(time.realtime()).into()
        })
    }
}

/// A time of day; `None` for NULL.
fn wall_time<V: Values + ?Sized>(
    arguments: &Arguments<'_, V>,
    index: usize,
    name: &str,
) -> Result<Option<WallTime>> {
    let Some(text) = arguments.text(index, name)? else {
        return Ok(None);
    };
    text.parse().map(Some).map_err(|wrong: NotATime| {
        let error = arguments.must_be(index, name, wrong.expected());
        match wrong.reason() {
            Some(reason) => Error::new(format_args!("{error}: {reason}")),
            None => error,
        }
    })
}
