//! The vocabulary of the table of kernel events: the parts of a line.

use super::kernel_event::KernelEvent;

/// A value of an event, as a number or as a text. Fields have the type that the message defines.
#[derive(Clone, Copy)]
pub(super) enum Value {
    I32(u32),
    U32(u32),
    I64(u32),
    U64(u32),
    /// A field; an absent text is not the empty text.
    Text(u32),
    /// The function at the address in a field, by its name if the trace has the name.
    Symbol(u32),
    /// A number in hexadecimal digits.
    Hex(u32),
    /// The CPU of the event's buffer.
    Cpu,
    /// The running thread, by the kernel's number.
    Tid,
    Fixed(i64),
    Lit(&'static str),
    /// The key of one of several values, see [`Does::Each`].
    Key,
    /// The difference of two fields.
    Minus(u32, u32),
    /// A word for each number from 0 on, and a word for all others.
    Word(u32, &'static [&'static str], &'static str),
    /// A number for each of some numbers, and a number for all others.
    Mapped(u32, &'static [(i32, i64)], i64),
    Calculated(fn(&KernelEvent<'_>) -> i64),
    Written(fn(&KernelEvent<'_>, &mut String)),
}

/// A text from several values, with numbers in decimal digits.
pub(super) type Pattern = &'static [Value];

/// The type of an argument.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Int,
    Uint,
    Bool,
    Text,
}

/// An argument of a slice or a value.
#[derive(Clone, Copy)]
pub(super) enum Argument {
    One(&'static str, Kind, Value),
    /// A list with a word for each bit that is set in a field; without any bit one word, which is no list.
    Bits {
        list: &'static str,
        field: u32,
        words: &'static [&'static str],
        none: &'static str,
    },
}

pub(super) const fn int(key: &'static str, value: Value) -> Argument {
    Argument::One(key, Kind::Int, value)
}

pub(super) const fn uint(key: &'static str, value: Value) -> Argument {
    Argument::One(key, Kind::Uint, value)
}

pub(super) const fn boolean(key: &'static str, value: Value) -> Argument {
    Argument::One(key, Kind::Bool, value)
}

pub(super) const fn text(key: &'static str, value: Value) -> Argument {
    Argument::One(key, Kind::Text, value)
}

/// The owner of a track.
#[derive(Clone, Copy)]
pub(super) enum Scope {
    Nobody,
    /// The CPU with this number.
    Cpu(Value),
    /// The running thread.
    Thread,
    /// The process whose pid is the number of the running thread.
    Process,
}

/// A kind of tracks.
#[derive(Clone, Copy)]
pub(super) struct Track {
    pub track_type: &'static str,
    /// An empty pattern is no name.
    pub name: Pattern,
    pub of: Scope,
    /// The values that distinguish tracks of this kind and owner.
    pub dimensions: &'static [(&'static str, Value)],
    pub is_counter: bool,
}

impl Track {
    /// Tracks of slices.
    pub const fn new(track_type: &'static str, name: Pattern) -> Track {
        Track { track_type, name, of: Scope::Nobody, dimensions: &[], is_counter: false }
    }

    /// Tracks of values, or of slices that stand among them.
    pub const fn counter(track_type: &'static str, name: Pattern) -> Track {
        Track { is_counter: true, ..Track::new(track_type, name) }
    }

    pub const fn of(self, of: Scope) -> Track {
        Track { of, ..self }
    }

    pub const fn by(self, dimensions: &'static [(&'static str, Value)]) -> Track {
        Track { dimensions, ..self }
    }
}

/// The track to which an event goes.
#[derive(Clone, Copy)]
pub(super) enum Target {
    /// On the track of the running thread.
    Thread,
    Track(Track),
}

/// The condition under which a line counts.
#[derive(Clone, Copy)]
pub(super) enum When {
    Always,
    /// A value is this number.
    Is(Value, i64),
    IsNot(Value, i64),
}

/// The effect of an event.
#[derive(Clone, Copy)]
pub(super) enum Does {
    /// A slice begins.
    Begin,
    /// The topmost open slice ends; if the line has a name or a category, the topmost one with these.
    End,
    /// The open slice ends, and another one begins.
    Turn,
    Instant,
    /// The topmost open slice with the name and the category gets arguments.
    Mark,
    /// A value of a counter.
    Count(Value),
    /// The sum of all values of the track so far, divided.
    Sum(Value, i64),
    /// Values of several counters, by their keys.
    Each(&'static [(&'static str, Value)]),
}

/// A line of the table.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    /// The field of `FtraceEvent`.
    pub event: u32,
    pub when: When,
    pub does: Does,
    pub on: Target,
    pub name: Pattern,
    pub category: Option<&'static str>,
    pub args: &'static [Argument],
}

impl Entry {
    const fn new(event: u32, does: Does, on: Target) -> Entry {
        Entry { event, when: When::Always, does, on, name: &[], category: None, args: &[] }
    }

    pub const fn when(self, when: When) -> Entry {
        Entry { when, ..self }
    }

    pub const fn named(self, name: Pattern) -> Entry {
        Entry { name, ..self }
    }

    pub const fn in_category(self, category: &'static str) -> Entry {
        Entry { category: Some(category), ..self }
    }

    pub const fn with(self, args: &'static [Argument]) -> Entry {
        Entry { args, ..self }
    }
}

pub(super) const fn begin(event: u32, on: Target, name: Pattern) -> Entry {
    Entry::new(event, Does::Begin, on).named(name)
}

pub(super) const fn end(event: u32, on: Target) -> Entry {
    Entry::new(event, Does::End, on)
}

pub(super) const fn turn(event: u32, on: Target, name: Pattern) -> Entry {
    Entry::new(event, Does::Turn, on).named(name)
}

pub(super) const fn instant(event: u32, on: Target, name: Pattern) -> Entry {
    Entry::new(event, Does::Instant, on).named(name)
}

pub(super) const fn mark(event: u32, on: Target, name: Pattern) -> Entry {
    Entry::new(event, Does::Mark, on).named(name)
}

pub(super) const fn count(event: u32, on: Track, value: Value) -> Entry {
    Entry::new(event, Does::Count(value), Target::Track(on))
}

pub(super) const fn sum(event: u32, on: Track, value: Value, divisor: i64) -> Entry {
    Entry::new(event, Does::Sum(value, divisor), Target::Track(on))
}

pub(super) const fn each(event: u32, on: Track, values: &'static [(&'static str, Value)]) -> Entry {
    Entry::new(event, Does::Each(values), Target::Track(on))
}
