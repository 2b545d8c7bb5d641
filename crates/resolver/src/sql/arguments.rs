//! Arguments that name clocks (rules C7, C8 and X14).

use rusqlite::types::ValueRef;
use timebase_sql::{Arguments, Error, Result, Values};

use super::files::{Asked, AskedFile, NotThere};
use super::snapshots::Snapshots;
use crate::clock::{Clock, ClockId, FileTag, MachineId, SeqId};
use crate::written::{NotAClock, UnknownName, WrittenClock, builtin_id};

/// The positions and names of arguments.
pub(super) type Argument = (usize, &'static str);

/// The first clock, and its sequence.
pub(super) const FROM: [Argument; 2] = [(0, "clock_id"), (1, "seq_id")];
/// The reading of the first clock.
const TS: Argument = (2, "ts");
/// The second clock, and its sequence.
pub(super) const TO: [Argument; 2] = [(3, "to_clock_id"), (4, "to_seq_id")];

/// The positions of the arguments for machine and file, which hold for all clocks of a call, if
/// they are given.
#[derive(Debug, Clone, Copy)]
pub(super) struct Owner {
    machine: usize,
    file: usize,
}

impl Owner {
    /// For functions of `(clock_id, seq_id, ts)`.
    pub const OF_ONE: Owner = Owner { machine: 3, file: 4 };
    /// For functions of `(clock_id, seq_id, ts, to_clock_id, to_seq_id)`.
    pub const OF_TWO: Owner = Owner { machine: 5, file: 6 };

    fn machine(self) -> Argument {
        (self.machine, "machine_id")
    }

    fn file(self) -> Argument {
        (self.file, "trace_file_id")
    }
}

/// The arguments of a conversion between clocks of the host, given by numbers or by builtin names.
pub(super) struct Numbers {
    pub from: (ClockId, SeqId),
    pub ticks: i64,
    pub to: Option<(ClockId, SeqId)>,
}

/// The operations on the arguments of a clock function.
pub(super) trait ClockArguments {
    /// All data for a conversion, in the form of nearly all calls; `None` if an argument has
    /// another form, or if machine or file are given.
    fn numbers(&self, has_target: bool) -> Option<Numbers>;

    /// A clock as it was written; `None` if it is NULL.
    fn written(&self, argument: Argument) -> Result<Option<WrittenClock>>;

    /// A clock and its sequence, on the machine and in the file of optional further arguments;
    /// `None` if any of these except the file is NULL.
    ///
    /// `named` becomes true if the caller must call [`check_names`](ClockArguments::check_names),
    /// even for `None`.
    fn clock(
        &self,
        arguments: [Argument; 2],
        owner: Owner,
        named: &mut bool,
    ) -> Result<Option<Asked>>;

    /// The reading of `(clock_id, seq_id, ts)`, in the clock's own unit; `None` if any argument is
    /// NULL.
    fn reading(&self, owner: Owner, named: &mut bool) -> Result<Option<(Asked, i64)>>;

    /// The clock of the trace for the arguments.
    fn found(
        &self,
        argument: Argument,
        owner: Owner,
        asked: Asked,
        snapshots: &Snapshots,
    ) -> Result<Clock>;

    /// Checks that the trace has the clocks that are given by names.
    fn check_names(&self, has_target: bool, snapshots: &Snapshots) -> Result<()>;
}

impl<V: Values + ?Sized> ClockArguments for Arguments<'_, V> {
    #[inline(always)]
    fn numbers(&self, has_target: bool) -> Option<Numbers> {
        let (to, owner) = match has_target {
            true => (Some(hosts_clock(self, TO)?), Owner::OF_TWO),
            false => (None, Owner::OF_ONE),
        };
        if self.has(owner.machine) {
            return None;
        }
        Some(Numbers { from: hosts_clock(self, FROM)?, ticks: plain_integer(self, TS)?, to })
    }

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

    fn clock(
        &self,
        arguments: [Argument; 2],
        owner: Owner,
        named: &mut bool,
    ) -> Result<Option<Asked>> {
        let [clock, seq] = arguments;
        match self.get(clock.0) {
            Some(ValueRef::Text(_)) => written_clock(self, arguments, owner, named),
            _ => numbered_clock(self, clock, seq, owner),
        }
    }

    fn reading(&self, owner: Owner, named: &mut bool) -> Result<Option<(Asked, i64)>> {
        let clock = self.clock(FROM, owner, named)?;
        let ticks = self.integer(TS.0, TS.1)?;
        Ok(clock.zip(ticks))
    }

    fn found(
        &self,
        argument: Argument,
        owner: Owner,
        asked: Asked,
        snapshots: &Snapshots,
    ) -> Result<Clock> {
        let found = snapshots.clock(asked);
        found.map_err(|why| not_there(self, argument, owner, asked, &why))
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

/// A clock by its number or builtin name; `None` for anything else.
#[inline(always)]
fn hosts_clock<V: Values + ?Sized>(
    arguments: &Arguments<'_, V>,
    [(clock, _), seq]: [Argument; 2],
) -> Option<(ClockId, SeqId)> {
    let id = match arguments.get(clock) {
        Some(ValueRef::Integer(id)) if id != 0 => ClockId(u32::try_from(id).ok()?),
        Some(ValueRef::Text(name)) => builtin_id(name)?,
        _ => return None,
    };
    let seq = u32::try_from(plain_integer(arguments, seq)?).ok()?;
    Some((id, SeqId(seq)))
}

/// An integer; `None` for anything else.
#[inline(always)]
fn plain_integer<V: Values + ?Sized>(
    arguments: &Arguments<'_, V>,
    (index, _): Argument,
) -> Option<i64> {
    match arguments.get(index) {
        Some(ValueRef::Integer(value)) => Some(value),
        _ => None,
    }
}

/// A clock by its number; `None` if it is NULL.
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

/// The machine of an optional argument; `None` if it is NULL.
fn machine_of<V: Values + ?Sized>(
    arguments: &Arguments<'_, V>,
    (index, name): Argument,
) -> Result<Option<u32>> {
    match arguments.has(index) {
        true => arguments.number(index, name),
        false => Ok(Some(MachineId::HOST.0)),
    }
}

/// The file of an optional argument; NULL is the same as no argument.
fn file_of<V: Values + ?Sized>(
    arguments: &Arguments<'_, V>,
    (index, name): Argument,
) -> Result<AskedFile> {
    if !arguments.has(index) {
        return Ok(AskedFile::Any);
    }
    let file = arguments.number(index, name)?;
    Ok(file.map_or(AskedFile::Any, AskedFile::Of))
}

/// A clock by its number.
fn numbered_clock<V: Values + ?Sized>(
    arguments: &Arguments<'_, V>,
    clock: Argument,
    (seq, seq_name): Argument,
    owner: Owner,
) -> Result<Option<Asked>> {
    let id = number(arguments, clock)?;
    let seq = arguments.number(seq, seq_name)?;
    let machine = machine_of(arguments, owner.machine())?;
    let file = file_of(arguments, owner.file())?;
    let (Some(id), Some(seq), Some(machine)) = (id, seq, machine) else {
        return Ok(None);
    };
    let clock = Clock::new(MachineId(machine), id, SeqId(seq));
    Ok(Some(Asked { clock, file }))
}

/// A clock by its text.
fn written_clock<V: Values + ?Sized>(
    arguments: &Arguments<'_, V>,
    [clock, seq_argument]: [Argument; 2],
    owner: Owner,
    named: &mut bool,
) -> Result<Option<Asked>> {
    let written = arguments.written(clock)?;
    let mut seq = arguments.number(seq_argument.0, seq_argument.1)?;
    let mut machine = machine_of(arguments, owner.machine())?;
    let mut file = file_of(arguments, owner.file())?;
    let Some(written) = written else {
        return Ok(None);
    };
    *named |= written.is_hashed();
    if let Some(SeqId(of_text)) = written.sequence() {
        let given = seq.filter(|&given| given != 0);
        seq = Some(same(arguments, clock, seq_argument, of_text, given)?);
    }
    if let Some(MachineId(of_text)) = written.machine() {
        let given = machine.filter(|&given| given != 0);
        machine = Some(same(arguments, clock, owner.machine(), of_text, given)?);
    }
    if let Some(of_text) = written.file() {
        let given = match file {
            AskedFile::Of(given) => Some(given),
            AskedFile::Any | AskedFile::Own(_) => None,
        };
        file = AskedFile::Own(same(arguments, clock, owner.file(), of_text, given)?);
    }
    let of = seq.zip(machine);
    Ok(of.map(|(seq, machine)| {
        let clock = written.clock_of(MachineId(machine), SeqId(seq));
        Asked { clock, file }
    }))
}

/// Checks a number in the clock's text that an argument may repeat.
fn same<V: Values + ?Sized>(
    arguments: &Arguments<'_, V>,
    (clock_index, clock_name): Argument,
    (index, name): Argument,
    written: u32,
    given: Option<u32>,
) -> Result<u32> {
    if given.is_none_or(|given| given == written) {
        return Ok(written);
    }
    let text = arguments.text(clock_index, clock_name)?.unwrap_or_default();
    let nothing = match name {
        "trace_file_id" => "NULL",
        _ => "0",
    };
    let expected = format!("{nothing} or {written}, as '{text}' says");
    Err(arguments.must_be(index, name, &expected))
}

/// The error if a clock does not exist.
#[cold]
fn not_there<V: Values + ?Sized>(
    arguments: &Arguments<'_, V>,
    clock: Argument,
    owner: Owner,
    asked: Asked,
    why: &NotThere,
) -> Error {
    let written = arguments.written(clock).ok().flatten();
    match why {
        NotThere::Machine { last, raw } => {
            let is_written = written.is_some_and(|written| written.machine().is_some());
            let (argument, what) = match is_written {
                true => (clock, "of a machine in the table machine"),
                false => (owner.machine(), "the id of a row of machine"),
            };
            let ids = match last {
                0 => "there is only 0".to_owned(),
                last => format!("there are 0 to {last}"),
            };
            let error = arguments.must_be(argument.0, argument.1, what);
            match raw {
                None => Error::new(format_args!("{error}; {ids}")),
                Some(id) => Error::new(format_args!(
                    "{error}; {ids}, and {} is the raw_id of {id}",
                    asked.clock.machine.0
                )),
            }
        }
        NotThere::File => {
            let (argument, what) = match asked.file {
                AskedFile::Own(_) => (clock, "of a file in the table trace_file that was read"),
                AskedFile::Any | AskedFile::Of(_) => {
                    (owner.file(), "the id of a row of trace_file that was read")
                }
            };
            arguments.must_be(argument.0, argument.1, what)
        }
        NotThere::Several(files) => {
            let (index, name) = owner.file();
            let number = index + 1;
            let of_any = Clock { file: FileTag::SHARED, ..asked.clock };
            arguments.wrong(
                clock.0,
                clock.1,
                format_args!(
                    "does not say which {of_any} is meant, that of file {files}: give one as \
                     argument {number} ({name})"
                ),
            )
        }
    }
}
