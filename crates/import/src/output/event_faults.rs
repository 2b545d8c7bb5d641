//! Events without a row, and slices without their name: the table `event_fault` (rules FE1, FE4).
//!
//! # Design
//!
//! An event counts for its cause and its sequence, and the first one of both is kept as an example. So
//! memory is bounded, and the check of the doctor reads some rows instead of all packets. The
//! alternative was a row for each event. But a producer that forgets one field loses all of its
//! events, which may be millions, and the first one tells what to change. A text in `import_log` was
//! another one. But a query could not read the thread and the time of the example there.
//!
//! A cause is known when the event is read, with one exception: state that a sequence does not have
//! was lost, or the writer never tells when it begins. The end of the trace decides between these.

use std::collections::BTreeMap;

use timebase_schema::tables::event_fault;

use super::batch::Cell;
use super::rows::Rows;

/// The cause for which an event made no row, or a slice lacks its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Cause {
    /// Its packet has no sequence id.
    NoSequenceId,
    /// It relies on the state of its sequence, which does not have it.
    StateLost,
    /// It has no time.
    NoTime,
    /// Its time is below 0 on its clock.
    NegativeTime,
    /// It has a difference to a time that its sequence did not state.
    NoReference,
    /// It is before 0 on trace time.
    BeforeZero,
    /// It is a value or a state, and names no track.
    NoTrackUuid,
    /// It is a value for a track that is no counter's.
    NotACounter,
    /// It is a state for a track that has no states.
    NotAState,
    /// It is a counter's, without a value.
    NoValue,
    /// Its further values do not fit the tracks for them.
    ExtraValues,
    /// It needs a thread or a process, and names none.
    NoThread,
    /// Its track has no place among the tracks.
    NoTrack,
    /// It needs an id.
    NoId,
    /// It is the step of a flow outside any slice.
    OutsideSlice,
    /// Its duration is negative.
    NegativeDuration,
    /// It is complete, and has no duration.
    NoDuration,
    /// It begins inside a complete slice, and ends after it.
    Overlap,
    /// There are 512 slices below it.
    TooDeep,
    /// Its type is unknown.
    UnknownType,
    /// It lacks another field.
    Incomplete,
    /// It is a sample without a callstack.
    NoCallstack,
    /// Its payload cannot be read.
    Unreadable,
    /// Its payload is too large to be read.
    TooLarge,
    /// No entry of interned data has the number of its name.
    NameNotDefined,
    /// An entry of interned data has the number 0, which means no name.
    NameZero,
    /// Its name was stated while its sequence had no state, or lost since.
    NameStateLost,
    /// Its name was not stated, but its sequence may begin later in the trace than it began.
    NameEarly,
    /// It is an end with a name, and no open slice of its thread has the name, though others are open.
    NoOpenSlice,
}

impl Cause {
    /// All causes.
    #[cfg(test)]
    const ALL: [Cause; 29] = [
        Cause::NoSequenceId,
        Cause::StateLost,
        Cause::NoTime,
        Cause::NegativeTime,
        Cause::NoReference,
        Cause::BeforeZero,
        Cause::NoTrackUuid,
        Cause::NotACounter,
        Cause::NotAState,
        Cause::NoValue,
        Cause::ExtraValues,
        Cause::NoThread,
        Cause::NoTrack,
        Cause::NoId,
        Cause::OutsideSlice,
        Cause::NegativeDuration,
        Cause::NoDuration,
        Cause::Overlap,
        Cause::TooDeep,
        Cause::UnknownType,
        Cause::Incomplete,
        Cause::NoCallstack,
        Cause::Unreadable,
        Cause::TooLarge,
        Cause::NameNotDefined,
        Cause::NameZero,
        Cause::NameStateLost,
        Cause::NameEarly,
        Cause::NoOpenSlice,
    ];

    /// Its word in `event_fault.cause`. `is_ever_cleared` tells whether its sequence ever begins its
    /// state.
    fn word(self, is_ever_cleared: bool) -> &'static str {
        match self {
            Cause::NoSequenceId => "no_sequence_id",
            Cause::StateLost | Cause::NameStateLost if !is_ever_cleared => "state_never_cleared",
            Cause::NameEarly if !is_ever_cleared => "not_defined",
            Cause::StateLost | Cause::NameStateLost | Cause::NameEarly => "state_lost",
            Cause::NoTime => "no_time",
            Cause::NegativeTime => "negative_time",
            Cause::NoReference => "no_reference",
            Cause::BeforeZero => "before_zero",
            Cause::NoTrackUuid => "no_track_uuid",
            Cause::NotACounter => "not_a_counter",
            Cause::NotAState => "not_a_state",
            Cause::NoValue => "no_value",
            Cause::ExtraValues => "extra_values",
            Cause::NoThread => "no_thread",
            Cause::NoTrack => "no_track",
            Cause::NoId => "no_id",
            Cause::OutsideSlice => "outside_slice",
            Cause::NegativeDuration => "negative_duration",
            Cause::NoDuration => "no_duration",
            Cause::Overlap => "overlap",
            Cause::TooDeep => "too_deep",
            Cause::UnknownType => "unknown_type",
            Cause::Incomplete => "incomplete",
            Cause::NoCallstack => "no_callstack",
            Cause::Unreadable => "unreadable",
            Cause::TooLarge => "too_large",
            Cause::NameNotDefined => "not_defined",
            Cause::NameZero => "iid_zero",
            Cause::NoOpenSlice => "no_open_slice",
        }
    }

    /// Its word in `event_fault.effect`.
    fn effect(self) -> &'static str {
        match self {
            Cause::NameNotDefined | Cause::NameZero | Cause::NameStateLost | Cause::NameEarly => {
                "unnamed"
            }
            Cause::NoOpenSlice => "unmatched",
            _ => "dropped",
        }
    }
}

/// The first event with a fault.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Example {
    pub packet: Option<i64>,
    pub ts: Option<i64>,
    /// The name of the event, or of its counter.
    pub name: Option<String>,
    /// The pid and the tid of its thread.
    pub pid: Option<i64>,
    pub tid: Option<i64>,
}

impl Example {
    /// An event of which only the packet is known.
    pub fn of_packet(packet: impl Into<Option<i64>>) -> Example {
        Example { packet: packet.into(), ..Example::default() }
    }
}

/// The sequence of events with a fault, at the end of the trace.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FaultySequence {
    /// 0 for packets that name none.
    pub id: u32,
    pub machine: u32,
    pub file: u32,
    /// Whether any packet begins its state.
    pub is_ever_cleared: bool,
}

/// The events with a fault.
#[derive(Debug, Default)]
pub(crate) struct EventFaults(BTreeMap<(Cause, Option<u32>), Met>);

#[derive(Debug)]
struct Met {
    events: u64,
    example: Example,
}

/// The largest number of causes and sequences with an example of their own. Events beyond it count for
/// their cause alone.
const MOST: usize = 1 << 12;

impl EventFaults {
    /// Adds events with a cause of a sequence, by the number that the import has for it.
    pub fn add(
        &mut self,
        cause: Cause,
        sequence: Option<u32>,
        events: u64,
        example: impl FnOnce() -> Example,
    ) {
        let mut key = (cause, sequence);
        if self.0.len() >= MOST && !self.0.contains_key(&key) {
            key = (cause, None);
        }
        let met = self.0.entry(key).or_insert_with(|| Met { events: 0, example: example() });
        met.events = met.events.saturating_add(events);
    }

    /// Adds the other faults.
    pub fn join(&mut self, other: EventFaults) {
        for ((cause, sequence), Met { events, example }) in other.0 {
            self.add(cause, sequence, events, || example);
        }
    }

    /// Makes a row of each cause and sequence.
    pub fn tell(self, sequence: impl Fn(u32) -> Option<FaultySequence>, rows: &mut Rows<'_>) {
        for (id, ((cause, number), Met { events, example })) in (0..).zip(self.0) {
            let of = number.and_then(&sequence);
            let effect = rows.text(cause.effect());
            let cause = rows.text(cause.word(of.is_none_or(|of| of.is_ever_cleared)));
            let name = rows.optional_text(example.name.as_deref());
            rows.push(event_fault::Row {
                id: Cell::from(id),
                effect,
                cause,
                machine_id: Cell::or_null(of.map(|of| of.machine)),
                trace_file_id: Cell::or_null(of.map(|of| of.file)),
                seq_id: Cell::or_null(of.map(|of| of.id)),
                events: Cell::from(i64::try_from(events).unwrap_or(i64::MAX)),
                packet_id: Cell::or_null(example.packet),
                ts: Cell::or_null(example.ts),
                name,
                pid: Cell::or_null(example.pid),
                tid: Cell::or_null(example.tid),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    /// The check of the doctor has a text for each cause, and the reference explains each.
    #[test]
    fn fe1_fe4_every_cause_has_a_remedy_and_a_description() -> std::io::Result<()> {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let reference = std::fs::read_to_string(repository.join("docs/reference.md"))?;
        let words = Cause::ALL.into_iter().flat_map(|cause| {
            let words = BTreeSet::from([cause.word(true), cause.word(false)]);
            words.into_iter().map(move |word| (cause.effect(), word))
        });
        for (effect, word) in words {
            let file = match effect {
                "dropped" if word == "state_lost" => "state_lost.sql",
                "dropped" => "events_dropped.sql",
                "unmatched" => "json_end_unmatched.sql",
                _ => "names_missing.sql",
            };
            let check = std::fs::read_to_string(repository.join("schema/findings").join(file))?;
            assert!(check.contains(&format!("'{word}'")), "{file}: {word}");
            let described = format!("| `{effect}` | `{word}` | ");
            assert!(reference.contains(&described), "{described}");
        }
        Ok(())
    }

    #[test]
    fn fe1_events_of_very_many_sequences_count_for_their_cause() {
        let mut faults = EventFaults::default();
        for sequence in 0..2 * MOST as u32 {
            faults
                .add(Cause::NoValue, Some(sequence), 1, || Example::of_packet(i64::from(sequence)));
        }
        assert_eq!(faults.0.len(), MOST + 1);
        let rest = faults.0.get(&(Cause::NoValue, None));
        let rest = rest.map(|met| (met.events, met.example.packet));
        assert_eq!(rest, Some((MOST as u64, Some(MOST as i64))));
    }
}
