//! The written form of a clock, in the program's arguments, in SQL and in Python (rules C7 and C8).
//!
//! # Design
//!
//! Printed clocks are valid input: the parser reads a clock in the form of [`Clock`] and the list
//! of clocks, and also without the sequence, the machine or the file, which separate arguments may
//! give. A clock in a trace is only a number, so readers of traces do not use this.
//!
//! The caller that has the trace checks whether it has a name; the parser does not. The alternative
//! was an enum of the three forms of a clock. But every caller wants the number, and would have to
//! match on it.

use std::fmt;
use std::str::FromStr;

use crate::clock::{BUILTIN, Clock, ClockId, MachineId, Scope, SeqId};

/// A clock in writing: a number (`64`), a number of a sequence (`64@3`), a builtin name in any case
/// (`realtime`), or the name of a global clock, whose number follows from rule C3. ` of machine 2`
/// may follow, and then ` in file 3`.
///
/// ```
/// use timebase_resolver::{Clock, ClockId, MachineId, SeqId, WrittenClock};
///
/// let read = |text: &str| text.parse::<WrittenClock>();
/// assert_eq!(read("64@3")?.id(), ClockId(64));
/// assert_eq!(read("64@3")?.sequence(), Some(SeqId(3)));
/// assert_eq!(read("boottime")?.id(), ClockId::BOOTTIME);
/// assert_eq!(read("com.example.gpu")?.id(), ClockId::of_global_name("com.example.gpu"));
/// assert!(read("com.example.gpu")?.is_hashed());
///
/// // What is printed means the same clock.
/// let clock = Clock::new(MachineId(2), ClockId(64), SeqId(3));
/// assert_eq!(read(&clock.to_string())?.clock(), clock);
///
/// assert_eq!(
///     read("64@").unwrap_err().to_string(),
///     "must be number@sequence, as in 64@3"
/// );
/// # Ok::<(), timebase_resolver::NotAClock>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrittenClock {
    id: ClockId,
    sequence: Option<SeqId>,
    machine: Option<MachineId>,
    file: Option<u32>,
    is_hashed: bool,
}

impl WrittenClock {
    /// The number of the clock.
    pub fn id(self) -> ClockId {
        self.id
    }

    /// The sequence, if given.
    pub fn sequence(self) -> Option<SeqId> {
        self.sequence
    }

    /// The machine, if given.
    pub fn machine(self) -> Option<MachineId> {
        self.machine
    }

    /// The file that owns it (rule X14), by `trace_file.id`, if given.
    ///
    /// ```
    /// let written: timebase_resolver::WrittenClock = "64@3 of machine 1 in file 2".parse()?;
    /// assert_eq!(written.file(), Some(2));
    /// # Ok::<(), timebase_resolver::NotAClock>(())
    /// ```
    pub fn file(self) -> Option<u32> {
        self.file
    }

    /// Whether its number comes from a name that is not builtin. The trace may have this name, or
    /// it may be a slip of the pen: see [`UnknownName`].
    pub fn is_hashed(self) -> bool {
        self.is_hashed
    }

    /// The clock in a trace of one file, on the host if no machine is given.
    pub fn clock(self) -> Clock {
        self.clock_of(MachineId::HOST, SeqId(0))
    }

    /// The clock in a trace of one file, on this machine and sequence if none is given.
    pub fn clock_of(self, machine: MachineId, sequence: SeqId) -> Clock {
        let machine = self.machine.unwrap_or(machine);
        Clock::new(machine, self.id, self.sequence.unwrap_or(sequence))
    }
}

impl From<ClockId> for WrittenClock {
    fn from(id: ClockId) -> WrittenClock {
        WrittenClock { id, sequence: None, machine: None, file: None, is_hashed: false }
    }
}

impl FromStr for WrittenClock {
    type Err = NotAClock;

    fn from_str(text: &str) -> Result<WrittenClock, NotAClock> {
        if let Some(id) = builtin_id(text.as_bytes()) {
            return Ok(id.into());
        }
        match text.split_once(" in file ") {
            None => without_file(text),
            Some((clock, file)) => Ok(WrittenClock {
                file: Some(number(file).ok_or(NotAClock::File)?),
                ..without_file(clock)?
            }),
        }
    }
}

fn without_file(text: &str) -> Result<WrittenClock, NotAClock> {
    match text.split_once(" of machine ") {
        None => without_machine(text),
        Some((clock, machine)) => Ok(WrittenClock {
            machine: Some(MachineId(number(machine).ok_or(NotAClock::Machine)?)),
            ..without_machine(clock)?
        }),
    }
}

fn without_machine(text: &str) -> Result<WrittenClock, NotAClock> {
    if text.is_empty() {
        return Err(NotAClock::Empty);
    }
    if text.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err(NotAClock::Spaces);
    }
    if let Some((id, sequence)) = text.split_once('@') {
        return of_sequence(id, sequence);
    }
    if is_digits(text) {
        return Ok(clock_number(text)?.into());
    }
    Ok(match builtin_id(text.as_bytes()) {
        Some(id) => id.into(),
        None => WrittenClock { is_hashed: true, ..ClockId::of_global_name(text).into() },
    })
}

fn of_sequence(id: &str, sequence: &str) -> Result<WrittenClock, NotAClock> {
    if !is_digits(id) || !is_digits(sequence) {
        return Err(NotAClock::Sequence);
    }
    let id = clock_number(id)?;
    if id.scope() != Scope::Sequence {
        return Err(NotAClock::NotScoped);
    }
    match number(sequence) {
        None | Some(0) => Err(NotAClock::SequenceNumber),
        Some(sequence) => Ok(WrittenClock { sequence: Some(SeqId(sequence)), ..id.into() }),
    }
}

fn clock_number(text: &str) -> Result<ClockId, NotAClock> {
    match number(text) {
        None | Some(0) => Err(NotAClock::Number),
        Some(id) => Ok(ClockId(id)),
    }
}

/// Only digits: `u32::from_str` also accepts a plus sign.
fn number(text: &str) -> Option<u32> {
    is_digits(text).then(|| text.parse().ok()).flatten()
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The clock with a builtin name, in any case. Most names have the printed form.
#[inline(never)]
pub(crate) fn builtin_id(name: &[u8]) -> Option<ClockId> {
    let is_it = |(_, builtin): &&(u32, &str)| {
        let builtin = builtin.as_bytes();
        builtin.len() == name.len() && (builtin == name || builtin.eq_ignore_ascii_case(name))
    };
    BUILTIN.iter().find(is_it).map(|&(id, _)| ClockId(id))
}

/// The reason why a text is no clock (rule C7).
///
/// ```
/// use timebase_resolver::{NotAClock, WrittenClock};
/// assert_eq!("64@x".parse::<WrittenClock>(), Err(NotAClock::Sequence));
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // the messages explain them
#[non_exhaustive]
pub enum NotAClock {
    Empty,
    Spaces,
    Number,
    Sequence,
    SequenceNumber,
    NotScoped,
    Machine,
    File,
}

/// As a sentence: a `main` that returns this error, and `unwrap`, write its Debug to the user.
impl fmt::Debug for NotAClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl NotAClock {
    /// The required form, as the end of a sentence.
    ///
    /// ```
    /// let wrong = "0".parse::<timebase_resolver::WrittenClock>().unwrap_err();
    /// assert_eq!(wrong.expected(), "a clock number (1 to 4294967295) or name");
    /// ```
    pub fn expected(self) -> &'static str {
        match self {
            NotAClock::Empty => "a clock number, number@sequence or name",
            NotAClock::Spaces => "a clock number or a name without spaces and control characters",
            NotAClock::Number => "a clock number (1 to 4294967295) or name",
            NotAClock::Sequence => "number@sequence, as in 64@3",
            NotAClock::SequenceNumber => "number@sequence with a sequence of 1 to 4294967295",
            NotAClock::NotScoped => {
                "a clock without '@': only the clocks 64 to 127 are of a sequence"
            }
            NotAClock::Machine => "a clock, or one with ' of machine ' and a number behind it",
            NotAClock::File => "a clock, or one with ' in file ' and a number behind it",
        }
    }
}

impl fmt::Display for NotAClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "must be {}", self.expected())
    }
}

impl std::error::Error for NotAClock {}

/// A name whose number no clock of the trace has (rule C8), and the builtin name that the user may
/// have meant. The trace's other clocks only have numbers.
///
/// ```
/// use timebase_resolver::UnknownName;
///
/// let unknown = UnknownName::of("REALTME");
/// assert_eq!(unknown.near(), Some("REALTIME"));
/// assert_eq!(unknown.to_string(), "did you mean REALTIME?");
/// assert_eq!(UnknownName::of("com.example.gpu").near(), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownName {
    near: Option<&'static str>,
    id: ClockId,
}

impl UnknownName {
    /// The least similarity of two names, from 0 to 1: MONO is similar to the builtin name that it
    /// begins, fully qualified names to none.
    const ALIKE: f64 = 0.8;

    /// The error for a name that the trace does not have.
    pub fn of(name: &str) -> UnknownName {
        let capitals = name.to_uppercase();
        // Linux uses these names for the clocks.
        let capitals = capitals.strip_prefix("CLOCK_").unwrap_or(&capitals);
        let mut near = None;
        let mut most = UnknownName::ALIKE;
        for (_, builtin) in BUILTIN {
            let alike = strsim::jaro_winkler(capitals, builtin);
            if alike >= most {
                (near, most) = (Some(builtin), alike);
            }
        }
        let id = ClockId::of_global_name(name);
        UnknownName { near, id }
    }

    /// The builtin name that the user may have meant.
    pub fn near(self) -> Option<&'static str> {
        self.near
    }
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.near {
            Some(near) => write!(f, "did you mean {near}?"),
            None => write!(f, "none has the number of this name, {}", self.id.get()),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::clock::FileTag;

    fn read(text: &str) -> Result<Clock, NotAClock> {
        text.parse().map(WrittenClock::clock)
    }

    fn of(id: u32, seq: u32, machine: u32) -> Clock {
        Clock::new(MachineId(machine), ClockId(id), SeqId(seq))
    }

    #[test]
    fn c7_a_clock_is_a_number_a_number_of_a_sequence_or_a_name() {
        for (text, clock) in [
            ("64", of(64, 0, 0)),
            ("4294967295", of(u32::MAX, 0, 0)),
            ("64@3", of(64, 3, 0)),
            ("127@4294967295", of(127, u32::MAX, 0)),
            ("REALTIME", of(1, 0, 0)),
            ("realtime", of(1, 0, 0)),
            ("Monotonic_Raw", of(5, 0, 0)),
            ("com.example.my_subsystem", of(4_144_414_090, 0, 0)),
            ("64@3 of machine 2", of(64, 3, 2)),
            ("boottime of machine 7", of(6, 0, 7)),
            ("BOOTTIME of machine 0", of(6, 0, 0)),
        ] {
            assert_eq!(read(text), Ok(clock), "{text}");
        }
        let named = |text: &str| text.parse::<WrittenClock>().unwrap().is_hashed();
        assert!(named("REALTIM") && named("com.example.gpu of machine 2"));
        assert!(!named("realtime") && !named("64@3") && !named("2468715150"));
    }

    #[test]
    fn c7_what_is_no_clock_is_told() {
        for (text, wrong) in [
            ("", NotAClock::Empty),
            (" ", NotAClock::Spaces),
            ("REALTIME ", NotAClock::Spaces),
            ("a\0b", NotAClock::Spaces),
            ("my clock", NotAClock::Spaces),
            ("my\u{a0}clock", NotAClock::Spaces),
            ("0", NotAClock::Number),
            ("4294967296", NotAClock::Number),
            ("99999999999999999999999", NotAClock::Number),
            ("0@3", NotAClock::Number),
            ("64@", NotAClock::Sequence),
            ("@3", NotAClock::Sequence),
            ("@", NotAClock::Sequence),
            ("64@3@4", NotAClock::Sequence),
            ("64@+3", NotAClock::Sequence),
            ("REALTIME@3", NotAClock::Sequence),
            ("64@0", NotAClock::SequenceNumber),
            ("64@99999999999", NotAClock::SequenceNumber),
            ("6@3", NotAClock::NotScoped),
            ("128@3", NotAClock::NotScoped),
            ("64@3 of machine", NotAClock::Spaces),
            ("64@3 of machine x", NotAClock::Machine),
            ("64@3 of machine 4294967296", NotAClock::Machine),
            (" of machine 2", NotAClock::Empty),
            ("64@3 in file", NotAClock::Spaces),
            ("64@3 in file x", NotAClock::File),
            ("64@3 in file 2 of machine 1", NotAClock::File),
            (" in file 2", NotAClock::Empty),
        ] {
            assert_eq!(read(text), Err(wrong), "{text:?}");
        }
    }

    #[test]
    fn c8_a_slip_of_the_pen_is_near_and_a_name_of_ones_own_is_not() {
        for (name, near) in [
            ("REALTME", "REALTIME"),
            ("realtim", "REALTIME"),
            ("CLOCK_REALTIME", "REALTIME"),
            ("MONO", "MONOTONIC"),
            ("monotonicraw", "MONOTONIC_RAW"),
            ("MONOTONIC_COARS", "MONOTONIC_COARSE"),
            ("boot", "BOOTTIME"),
            ("boot_time", "BOOTTIME"),
        ] {
            assert_eq!(UnknownName::of(name).near(), Some(near), "{name}");
        }
        for name in [
            "com.example.gpu",
            "com.example.realtime",
            "gpu",
            "wall",
            "utc",
            "dev.perfetto.clock",
            "mapviewer",
        ] {
            assert_eq!(UnknownName::of(name).near(), None, "{name}");
        }
    }

    proptest! {
        #[test]
        fn c7_what_is_printed_is_read_back(
            id in prop_oneof![1u32..12, 60u32..130, any::<u32>()],
            seq in 1u32..,
            machine in prop_oneof![Just(0), any::<u32>()],
            file in prop_oneof![Just(0), any::<u32>()],
        ) {
            let clock = of(id.max(1), seq, machine);
            prop_assert_eq!(read(&clock.to_string()), Ok(clock));
            let own = Clock { file: FileTag { order: 1, id: file }, ..clock };
            let written: WrittenClock = own.to_string().parse().unwrap();
            prop_assert_eq!(written.clock(), clock);
            prop_assert_eq!(written.file(), Some(file).filter(|&file| file != 0));
        }

        #[test]
        fn c7_no_text_is_read_in_two_ways(text in "[ -~]{0,12}|[6-9]{1,2}@[0-9]{0,3}") {
            if let Ok(written) = text.parse::<WrittenClock>() {
                let again: WrittenClock = text.to_lowercase().parse().unwrap();
                prop_assert_eq!(again.is_hashed(), written.is_hashed());
                prop_assert_eq!(written.sequence().is_some(), text.contains('@'));
            }
        }
    }
}
