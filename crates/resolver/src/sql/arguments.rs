//! The arguments that are clocks (rules C7 and C8).

use rusqlite::types::ValueRef;
use timebase_sqlfn::{Arguments, Error, Result, Values};

use super::snapshots::Snapshots;
use crate::clock::{Clock, ClockId, MachineId, SeqId};
use crate::written::{NotAClock, UnknownName, WrittenClock, builtin_id};

/// Where an argument is, and what it is called.
pub(super) type Argument = (usize, &'static str);

/// The first clock, and its sequence.
pub(super) const FROM: [Argument; 2] = [(0, "clock_id"), (1, "seq_id")];
/// The reading of the first clock.
const TS: Argument = (2, "ts");
/// The second clock, and its sequence.
pub(super) const TO: [Argument; 2] = [(3, "to_clock_id"), (4, "to_seq_id")];

/// What a function of clocks asks its arguments for.
pub(super) trait ClockArguments {
    /// A clock as it was written; `None` if it is NULL.
    fn written(&self, argument: Argument) -> Result<Option<WrittenClock>>;

    /// A clock and its sequence, on the machine that an optional further argument names;
    /// `None` if any is NULL.
    ///
    /// `named` becomes true if [`check_names`](ClockArguments::check_names) has to be
    /// asked, also for `None`.
    fn clock(
        &self,
        arguments: [Argument; 2],
        machine: usize,
        named: &mut bool,
    ) -> Result<Option<Clock>>;

    /// The reading of `(clock_id, seq_id, ts)`, in the clock's own unit; `None` if any
    /// of them is NULL.
    fn reading(&self, machine: usize, named: &mut bool) -> Result<Option<(Clock, i64)>>;

    /// Checks that the trace has the clocks that are given by names.
    fn check_names(&self, has_target: bool, snapshots: &Snapshots) -> Result<()>;
}

impl<V: Values + ?Sized> ClockArguments for Arguments<'_, V> {
    fn written(&self, (index, name): Argument) -> Result<Option<WrittenClock>> {
        match self.get(index) {
            Some(ValueRef::Text(_)) => match self.text(index, name)?.map(str::parse) {
                None => Ok(None),
                Some(Ok(written)) => Ok(Some(written)),
                Some(Err(wrong)) => {
                    let wrong: NotAClock = wrong;
                    Err(self.must_be(index, name, wrong.expected()))
                }
            },
            _ => Ok(number(self, (index, name))?.map(WrittenClock::from)),
        }
    }

    /// Numbers have a way of their own, with nothing of what texts need, and builtin
    /// names have one with little: else a conversion takes half as much time again.
    #[inline(always)]
    fn clock(
        &self,
        arguments: [Argument; 2],
        machine: usize,
        named: &mut bool,
    ) -> Result<Option<Clock>> {
        let [(index, name), seq] = arguments;
        match self.get(index) {
            Some(ValueRef::Text(text)) => match builtin_id(text) {
                Some(id) => builtin_clock(self, id, seq, machine),
                None => written_clock(self, arguments, machine, named),
            },
            _ => {
                let id = number(self, (index, name))?;
                numbered_clock(self, id, seq, machine)
            }
        }
    }

    #[inline(always)]
    fn reading(&self, machine: usize, named: &mut bool) -> Result<Option<(Clock, i64)>> {
        let clock = self.clock(FROM, machine, named)?;
        let ticks = self.integer(TS.0, TS.1)?;
        Ok(clock.zip(ticks))
    }

    #[cold]
    fn check_names(&self, has_target: bool, snapshots: &Snapshots) -> Result<()> {
        let target = has_target.then_some(TO[0]);
        for (index, name) in [FROM[0]].into_iter().chain(target) {
            let written = self.written((index, name))?;
            if written.is_some_and(|written| written.is_hashed() && !snapshots.has(written.id())) {
                let text = self.text(index, name)?.unwrap_or_default();
                let error = self.must_be(index, name, "a clock of the trace");
                let unknown = UnknownName::of(text);
                return Err(Error::new(format_args!("{error}; {unknown}")));
            }
        }
        Ok(())
    }
}

/// A clock by its number; `None` if it is NULL.
#[inline(always)]
fn number<V: Values + ?Sized>(
    arguments: &Arguments<'_, V>,
    (index, name): Argument,
) -> Result<Option<ClockId>> {
    match arguments.get(index) {
        Some(ValueRef::Integer(value)) => match u32::try_from(value) {
            Ok(id) if id != 0 => Ok(Some(ClockId(id))),
            _ => Err(arguments.must_be(index, name, "a clock number (1 to 4294967295) or name")),
        },
        Some(ValueRef::Null) => Ok(None),
        _ => Err(arguments.must_be(index, name, "a clock number or name")),
    }
}

/// The machine that an optional argument names; `None` if it is NULL.
#[inline(always)]
fn machine_of<V: Values + ?Sized>(
    arguments: &Arguments<'_, V>,
    index: usize,
) -> Result<Option<u32>> {
    match arguments.has(index) {
        true => arguments.number(index, "machine_id"),
        false => Ok(Some(MachineId::HOST.0)),
    }
}

/// A clock by its number, which was given.
#[inline(always)]
fn numbered_clock<V: Values + ?Sized>(
    arguments: &Arguments<'_, V>,
    id: Option<ClockId>,
    (seq, seq_name): Argument,
    machine: usize,
) -> Result<Option<Clock>> {
    let seq = arguments.number(seq, seq_name)?;
    let machine = machine_of(arguments, machine)?;
    let (Some(id), Some(seq), Some(machine)) = (id, seq, machine) else {
        return Ok(None);
    };
    Ok(Some(Clock::new(MachineId(machine), id, SeqId(seq))))
}

/// A clock by its builtin name.
#[inline(never)]
fn builtin_clock<V: Values + ?Sized>(
    arguments: &Arguments<'_, V>,
    id: ClockId,
    seq: Argument,
    machine: usize,
) -> Result<Option<Clock>> {
    numbered_clock(arguments, Some(id), seq, machine)
}

/// A clock by what is written for it.
#[inline(never)]
fn written_clock<V: Values + ?Sized>(
    arguments: &Arguments<'_, V>,
    [clock, (seq_index, seq_name)]: [Argument; 2],
    machine_index: usize,
    named: &mut bool,
) -> Result<Option<Clock>> {
    let written = arguments.written(clock)?;
    let mut seq = arguments.number(seq_index, seq_name)?;
    let mut machine = machine_of(arguments, machine_index)?;
    let Some(written) = written else {
        return Ok(None);
    };
    *named |= written.is_hashed();
    if let Some(SeqId(of_text)) = written.sequence() {
        seq = Some(same(arguments, clock, (seq_index, seq_name), of_text, seq)?);
    }
    if let Some(MachineId(of_text)) = written.machine() {
        let argument = (machine_index, "machine_id");
        machine = Some(same(arguments, clock, argument, of_text, machine)?);
    }
    let of = seq.zip(machine);
    Ok(of.map(|(seq, machine)| written.clock_of(MachineId(machine), SeqId(seq))))
}

/// A number that a clock was written with, which an argument may give again; 0 and NULL
/// are as if it did not.
fn same<V: Values + ?Sized>(
    arguments: &Arguments<'_, V>,
    (clock_index, clock_name): Argument,
    (index, name): Argument,
    written: u32,
    given: Option<u32>,
) -> Result<u32> {
    match given {
        None | Some(0) => Ok(written),
        Some(given) if given == written => Ok(written),
        Some(_) => {
            let text = arguments.text(clock_index, clock_name)?.unwrap_or_default();
            let expected = format!("0 or {written}, as '{text}' says");
            Err(arguments.must_be(index, name, &expected))
        }
    }
}
