//! From any clock to any clock, and the names of clocks.

use std::ops::RangeInclusive;

use timebase_sql::{Answer, Arguments, Call, Function, Functions, Result, Session, ValueRef};

use super::arguments::{ClockArguments, FROM, Numbers, Owner, TO};
use super::snapshots::{Cache, Loaded, Snapshots};
use crate::clock::{Clock, builtin_name};
use crate::unresolved::Unresolved;

pub(super) fn add(to: &mut impl Functions, session: &Session<Loaded>) -> Result<()> {
    add_conversion(to, session, Signature::to_boottime("to_boottime", 3..=5), nearest)?;
    add_conversion(to, session, Signature::with_target("convert_clock", 5..=7, 5), nearest)?;
    add_conversion(to, session, Signature::with_target("why_unresolved", 3..=7, 5), reason)?;
    add_conversion(to, session, Signature::to_boottime("to_boottime_linear", 3..=5), linear)?;
    add_conversion(to, session, Signature::to_boottime("boottime_error", 3..=5), error)?;
    to.add("clock_id", 1, ClockIdOfName)?;
    to.add("clock_name", 1, NameOfClockId)
}

/// A clock, its reading, and the target.
type Wanted = (Clock, i64, Clock);

#[inline(always)]
fn nearest(snapshots: &Snapshots, (from, ticks, to): Wanted, cache: &mut Cache) -> Option<i64> {
    snapshots.convert(from, ticks, to, cache).ok()
}

fn reason(
    snapshots: &Snapshots,
    (from, ticks, to): Wanted,
    cache: &mut Cache,
) -> Option<&'static str> {
    let reason = snapshots.convert(from, ticks, to, cache).err();
    reason.map(Unresolved::code)
}

fn linear(snapshots: &Snapshots, (from, ticks, to): Wanted, cache: &mut Cache) -> Option<i64> {
    snapshots.convert_linear(from, ticks, to, cache).ok()
}

fn error(snapshots: &Snapshots, (from, ticks, to): Wanted, cache: &mut Cache) -> Option<i64> {
    let estimate = snapshots.estimate(from, ticks, to, cache).ok();
    estimate.and_then(|estimate| estimate.error())
}

/// The name of a conversion, and its possible numbers of arguments.
struct Signature {
    name: &'static str,
    counts: RangeInclusive<u8>,
    /// The least number of arguments that includes the two of the target; `None` if the target is BOOTTIME. So
    /// five arguments of `why_unresolved` are a clock and another, and never a clock, its machine and its file.
    with_target: Option<u8>,
}

impl Signature {
    /// A function whose target is BOOTTIME, however many arguments it has.
    fn to_boottime(name: &'static str, counts: RangeInclusive<u8>) -> Signature {
        Signature { name, counts, with_target: None }
    }

    fn with_target(name: &'static str, counts: RangeInclusive<u8>, from: u8) -> Signature {
        Signature { name, counts, with_target: Some(from) }
    }
}

fn add_conversion<A>(
    to: &mut impl Functions,
    session: &Session<Loaded>,
    signature: Signature,
    answer: A,
) -> Result<()>
where
    A: Answers + Copy,
{
    let name = signature.name;
    for count in signature.counts {
        let function = Conversion {
            name,
            has_target: signature.with_target.is_some_and(|from| count >= from),
            session: session.clone(),
            answer,
        };
        to.add(name, count, function)?;
    }
    Ok(())
}

/// The answer of a conversion.
trait Answers: Send + Sync + 'static {
    /// It becomes an answer only at the end, so it is passed in registers.
    type Value: Into<Answer>;

    fn answer(
        &self,
        snapshots: &Snapshots,
        wanted: Wanted,
        cache: &mut Cache,
    ) -> Option<Self::Value>;
}

impl<A, T> Answers for A
where
    A: Fn(&Snapshots, Wanted, &mut Cache) -> Option<T> + Send + Sync + 'static,
    T: Into<Answer>,
{
    type Value = T;

    #[inline(always)]
    fn answer(&self, snapshots: &Snapshots, wanted: Wanted, cache: &mut Cache) -> Option<T> {
        self(snapshots, wanted, cache)
    }
}

/// A function of `(clock_id, seq_id, ts)`, perhaps with `(to_clock_id, to_seq_id)`, and perhaps
/// with a machine and a file. It is NULL if any of them except the file is NULL.
struct Conversion<A> {
    name: &'static str,
    has_target: bool,
    session: Session<Loaded>,
    answer: A,
}

impl<A: Answers> Function for Conversion<A> {
    #[inline]
    fn call<C: Call>(&self, call: &C) -> Result<Answer> {
        let arguments = Arguments::new(self.name, call);
        match arguments.numbers(self.has_target) {
            Some(numbers) => self.of_numbers(call, numbers),
            None => self.of_any(call),
        }
    }
}

impl<A: Answers> Conversion<A> {
    /// For clocks by their numbers, without machine or file. No data about a clock goes through
    /// memory, because reading a value at once that was written in halves has to wait.
    #[inline(always)]
    fn of_numbers<C: Call>(&self, call: &C, numbers: Numbers) -> Result<Answer> {
        let Numbers { from, ticks, to } = numbers;
        let answer = self.session.with(self.name, call, |loaded| {
            let Loaded { snapshots, cache } = loaded;
            let from = snapshots.hosts_clock(from)?;
            let to = match to {
                None => snapshots.boottime(),
                Some(to) => snapshots.hosts_clock(to)?,
            };
            Some(self.answer.answer(snapshots, (from, ticks, to), cache))
        })?;
        match answer {
            Some(answer) => Ok(answer.into()),
            None => self.of_any(call),
        }
    }

    #[inline(never)]
    fn of_any<C: Call>(&self, call: &C) -> Result<Answer> {
        let arguments = Arguments::new(self.name, call);
        let owner = match self.has_target {
            true => Owner::OF_TWO,
            false => Owner::OF_ONE,
        };
        let mut named = false;
        let to = match self.has_target {
            true => arguments.clock(TO, owner, &mut named)?,
            false => None,
        };
        let from = arguments.reading(owner, &mut named)?;
        if named {
            self.check_names(call)?;
        }
        let Some((from, ticks)) = from else {
            return Ok(Answer::Null);
        };
        if self.has_target && to.is_none() {
            return Ok(Answer::Null);
        }
        self.session.with(self.name, call, |loaded| {
            let Loaded { snapshots, cache } = loaded;
            let from = arguments.found(FROM[0], owner, from, snapshots)?;
            let to = match to {
                None => snapshots.boottime(),
                Some(to) => arguments.found(TO[0], owner, to, snapshots)?,
            };
            Ok(self.answer.answer(snapshots, (from, ticks, to), cache).into())
        })?
    }

    #[cold]
    #[inline(never)]
    fn check_names<C: Call>(&self, call: &C) -> Result<()> {
        let arguments = Arguments::new(self.name, call);
        self.session.with(self.name, call, |loaded| {
            arguments.check_names(self.has_target, &loaded.snapshots)
        })?
    }
}

struct ClockIdOfName;

impl Function for ClockIdOfName {
    #[inline]
    fn call<C: Call>(&self, call: &C) -> Result<Answer> {
        let arguments = Arguments::new("clock_id", call);
        let name = (0, "name");
        if let Some(ValueRef::Integer(_)) = arguments.get(0) {
            return Err(arguments.must_be(name.0, name.1, "a text"));
        }
        let written = arguments.written(name)?;
        Ok(written.map(|written| i64::from(written.id().get())).into())
    }
}

struct NameOfClockId;

impl Function for NameOfClockId {
    #[inline]
    fn call<C: Call>(&self, call: &C) -> Result<Answer> {
        let written = Arguments::new("clock_name", call).written((0, "id"))?;
        Ok(written.and_then(|written| builtin_name(written.id().get())).into())
    }
}
