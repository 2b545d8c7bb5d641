//! The effect of a line of the table on an event.
//!
//! A track is found by bytes: its type, its owner, and the values that distinguish it. So an event
//! of a known track needs neither a name nor a key of its own.

use std::borrow::Cow;
use std::fmt::Write;

use rustc_hash::FxHashMap;

use super::entry::{Argument, Does, Entry, Kind, Pattern, Scope, Target, Track, Value, When};
use super::kernel_event::{ANY, Called, KernelEvent, hex};
use crate::arguments::{ArgBuf, ArgValue};
use crate::trackers::tracker::TrackerContext;
use crate::world::{NewTrack, Owner, TrackId, Upid, Utid, ucpu};

/// Does what the lines of the table say.
#[derive(Debug, Default)]
pub(super) struct Interpreter {
    tracks: FxHashMap<Box<[u8]>, TrackId>,
    /// The key of the track that is looked up.
    key: Vec<u8>,
    /// The sums of tracks.
    sums: FxHashMap<TrackId, i64>,
    /// The name and the arguments of the current event.
    name: String,
    args: ArgBuf,
    /// The number of lines for CPUs that no machine can have.
    pub beyond_cpus: u64,
}

/// A value in an event.
enum Found<'a> {
    Number(i64),
    Text(Option<Cow<'a, str>>),
}

impl Interpreter {
    /// Applies a line to an event.
    pub fn run(&mut self, entry: &Entry, here: &KernelEvent<'_>, at: &mut TrackerContext<'_, '_>) {
        if !holds(entry.when, here, at) {
            return;
        }
        if let Does::Each(values) = entry.does {
            for &(key, value) in values {
                if let Some(track) = self.track(entry.on, here, key, at) {
                    here.value(track, real(value, here, at), &[], at);
                }
            }
            return;
        }
        let Some(track) = self.track(entry.on, here, "", at) else {
            return;
        };
        self.put_args(entry.args, here, at);
        let mut name = std::mem::take(&mut self.name);
        name.clear();
        let called = Called {
            category: entry.category,
            name: written(entry.name, here, "", &mut name, at).then_some(name.as_str()),
        };
        let args = self.args.as_bytes();
        match entry.does {
            Does::Begin => {
                here.begin(track, called, args, at);
            }
            Does::End => {
                here.end(track, called, args, at);
            }
            Does::Turn => {
                here.end(track, ANY, &[], at);
                here.begin(track, called, args, at);
            }
            Does::Instant => {
                here.instant(track, called, args, at);
            }
            Does::Mark => here.mark(track, called, args, at),
            Does::Count(value) => here.value(track, real(value, here, at), args, at),
            Does::Sum(value, divisor) => {
                let Found::Number(value) = found(value, here, "", at) else {
                    return;
                };
                let sum = self.sums.entry(track).or_default();
                *sum = sum.wrapping_add(value);
                let whole = sum.checked_div(divisor).unwrap_or_default();
                here.value(track, whole as f64, args, at);
            }
            Does::Each(_) => {}
        }
        self.name = name;
    }

    fn put_args(
        &mut self,
        args: &[Argument],
        here: &KernelEvent<'_>,
        at: &mut TrackerContext<'_, '_>,
    ) {
        self.args.clear();
        for argument in args {
            match *argument {
                Argument::One(key, kind, value) => {
                    let found = found(value, here, "", at);
                    let value = match (&found, kind) {
                        (Found::Number(value), Kind::Uint) => ArgValue::Uint(*value as u64),
                        (Found::Number(value), Kind::Bool) => ArgValue::Bool(*value != 0),
                        (Found::Number(value), _) => ArgValue::Int(*value),
                        (Found::Text(Some(text)), _) => ArgValue::Text(text),
                        (Found::Text(None), _) => ArgValue::NoText,
                    };
                    self.args.push(key, value, &mut at.world.definitions.names);
                }
                Argument::Bits { list, field, words, none } => {
                    let names = &mut at.world.definitions.names;
                    let bits = here.u32(field);
                    if bits == 0 {
                        self.args.push(list, ArgValue::Text(none), names);
                    }
                    let set = words.iter().zip(0..).filter(|(_, bit)| bits >> bit & 1 != 0);
                    for ((word, _), index) in set.zip(0..) {
                        self.args.push_listed(list, index, ArgValue::Text(word), names);
                    }
                }
            }
        }
    }

    /// The track of a line, which may be new. `None` for a CPU that the machine cannot have.
    fn track(
        &mut self,
        on: Target,
        here: &KernelEvent<'_>,
        key: &str,
        at: &mut TrackerContext<'_, '_>,
    ) -> Option<TrackId> {
        let Target::Track(track) = on else {
            return Some(here.thread(at));
        };
        let owner = self.owner(&track, here, at)?;
        self.put_key(&track, owner, here, key, at);
        if let Some(&track) = self.tracks.get(&self.key[..]) {
            return Some(track);
        }
        let mut name = String::new();
        let is_named = written(track.name, here, key, &mut name, at);
        let mut new =
            NewTrack::slices(here.machine, track.track_type, is_named.then_some(&name), owner);
        new.is_counter = track.is_counter;
        for &(dimension, value) in track.dimensions {
            new = match found(value, here, key, at) {
                Found::Number(number) => new.with(dimension, number),
                Found::Text(text) => new.with(dimension, text.as_deref()),
            };
        }
        let id = at.world.tracks.get(new);
        self.tracks.insert(self.key.as_slice().into(), id);
        Some(id)
    }

    fn owner(
        &mut self,
        track: &Track,
        here: &KernelEvent<'_>,
        at: &mut TrackerContext<'_, '_>,
    ) -> Option<Owner> {
        Some(match track.of {
            Scope::Nobody => Owner::None,
            Scope::Thread => Owner::Thread(here.emitter),
            Scope::Process => {
                let threads = &mut at.world.threads;
                Owner::Process(threads.process(here.machine, here.tid.into()))
            }
            Scope::Cpu(value) => {
                let cpu = match found(value, here, "", at) {
                    Found::Number(cpu) => ucpu(here.machine, cpu as u32),
                    Found::Text(_) => None,
                };
                self.beyond_cpus += u64::from(cpu.is_none());
                Owner::Cpu(cpu?)
            }
        })
    }

    /// Builds the bytes by which a track is found.
    fn put_key(
        &mut self,
        track: &Track,
        owner: Owner,
        here: &KernelEvent<'_>,
        key: &str,
        at: &TrackerContext<'_, '_>,
    ) {
        let bytes = &mut self.key;
        bytes.clear();
        bytes.extend_from_slice(&here.machine.to_le_bytes());
        let owner = match owner {
            Owner::Thread(Utid(id)) | Owner::Process(Upid(id)) | Owner::Cpu(id) => id,
            Owner::None | Owner::Gpu(_) | Owner::ProcessOnGpu(..) => 0,
        };
        bytes.extend_from_slice(&owner.to_le_bytes());
        bytes.extend_from_slice(track.track_type.as_bytes());
        for &(_, value) in track.dimensions {
            bytes.push(0);
            match found(value, here, key, at) {
                Found::Number(number) => bytes.extend_from_slice(&number.to_le_bytes()),
                Found::Text(None) => bytes.push(0),
                Found::Text(Some(text)) => {
                    bytes.push(1);
                    bytes.extend_from_slice(&(text.len() as u64).to_le_bytes());
                    bytes.extend_from_slice(text.as_bytes());
                }
            }
        }
    }
}

fn holds(when: When, here: &KernelEvent<'_>, at: &TrackerContext<'_, '_>) -> bool {
    let is = |value, expected| match found(value, here, "", at) {
        Found::Number(number) => number == expected,
        Found::Text(_) => false,
    };
    match when {
        When::Always => true,
        When::Is(value, expected) => is(value, expected),
        When::IsNot(value, expected) => !is(value, expected),
    }
}

/// A value of a counter. Unsigned numbers have 64 bits.
fn real(value: Value, here: &KernelEvent<'_>, at: &TrackerContext<'_, '_>) -> f64 {
    match (value, found(value, here, "", at)) {
        (Value::U64(_), Found::Number(number)) => number as u64 as f64,
        (_, Found::Number(number)) => number as f64,
        (_, Found::Text(_)) => 0.0,
    }
}

/// Looks up a value in an event.
fn found<'a>(
    value: Value,
    here: &KernelEvent<'a>,
    key: &'a str,
    at: &TrackerContext<'_, '_>,
) -> Found<'a> {
    let number = match value {
        Value::I32(field) => here.i32(field).into(),
        Value::U32(field) => here.u32(field).into(),
        Value::I64(field) | Value::U64(field) => here.i64(field),
        Value::Cpu => here.cpu.into(),
        Value::Tid => here.tid.into(),
        Value::Fixed(number) => number,
        Value::Minus(from, what) => here.i64(from).wrapping_sub(here.i64(what)),
        Value::Mapped(field, numbers, other) => {
            let number = here.i32(field);
            let known = numbers.iter().find(|(from, _)| *from == number);
            known.map_or(other, |&(_, to)| to)
        }
        Value::Calculated(calculate) => calculate(here),
        Value::Text(field) => return Found::Text(here.text(field)),
        Value::Symbol(field) => {
            return Found::Text(Some(here.symbol(here.u64(field), at).into()));
        }
        Value::Hex(field) => return Found::Text(Some(hex(here.u64(field)).into())),
        Value::Lit(text) => return Found::Text(Some(text.into())),
        Value::Key => return Found::Text(Some(key.into())),
        Value::Word(field, words, other) => {
            let place = usize::try_from(here.i32(field)).ok();
            let word = place.and_then(|place| words.get(place)).unwrap_or(&other);
            return Found::Text(Some((*word).into()));
        }
        Value::Written(write) => {
            let mut text = String::new();
            write(here, &mut text);
            return Found::Text(Some(text.into()));
        }
    };
    Found::Number(number)
}

/// Appends a pattern with the values of an event. Returns whether there is a text. There is none if
/// the pattern is empty, or is only a text that is absent.
fn written(
    pattern: Pattern,
    here: &KernelEvent<'_>,
    key: &str,
    out: &mut String,
    at: &TrackerContext<'_, '_>,
) -> bool {
    let mut is_there = pattern.len() > 1;
    for &value in pattern {
        match found(value, here, key, at) {
            Found::Number(number) => {
                is_there = true;
                // Writing a number to a String never fails.
                let _ = write!(out, "{number}");
            }
            Found::Text(Some(text)) => {
                is_there = true;
                out.push_str(&text);
            }
            Found::Text(None) => {}
        }
    }
    is_there
}
