//! The names of perf's counters (rules PF3, PF4).

use std::fmt::Write as _;

use timebase_schema::fields::{perf_events_raw_event as raw, perf_events_tracepoint as tracepoint};

use crate::message::{Message, text};

/// The fields of a `Timebase` or a `FollowerEvent`.
#[derive(Debug, Clone, Copy)]
pub(super) struct EventFields {
    name: u32,
    counter: u32,
    tracepoint: u32,
    raw_event: u32,
    modifiers: u32,
}

pub(super) const TIMEBASE: EventFields =
    EventFields { name: 10, counter: 4, tracepoint: 3, raw_event: 5, modifiers: 12 };

pub(super) const FOLLOWER: EventFields =
    EventFields { name: 4, counter: 1, tracepoint: 2, raw_event: 3, modifiers: 5 };

/// The counters of perf, from 1 on.
const COUNTERS: [&str; 20] = [
    "cpu-clock",
    "page-faults",
    "task-clock",
    "context-switches",
    "cpu-migrations",
    "minor-faults",
    "major-faults",
    "alignment-faults",
    "emulation-faults",
    "cpu-cycles",
    "instructions",
    "cache-references",
    "cache-misses",
    "branch-instructions",
    "branch-misses",
    "bus-cycles",
    "stalled-cycles-frontend",
    "stalled-cycles-backend",
    "ref-cycles",
    "dummy",
];

/// The name and the unit of the timebase without defaults.
pub(super) const DEFAULT: (&str, &str) = ("cpu-clock", "ns");

const UNKNOWN: &str = "unknown";

/// The name of an event (rule PF3).
pub(super) fn name(event: Message<'_>, fields: &EventFields) -> String {
    let mut name = base_name(event, fields);
    let modifiers: String = event
        .numbers(fields.modifiers)
        .filter_map(|modifier| match modifier {
            1 => Some('u'),
            2 => Some('k'),
            3 => Some('h'),
            _ => None,
        })
        .collect();
    if !modifiers.is_empty() {
        name.push(':');
        name += &modifiers;
    }
    name
}

fn base_name(event: Message<'_>, fields: &EventFields) -> String {
    if let Some(name) = event.bytes(fields.name).filter(|name| !name.is_empty()) {
        return text(name).into_owned();
    }
    if let Some(counter) = event.number(fields.counter) {
        let place = usize::try_from(counter).ok().and_then(|n| n.checked_sub(1));
        let known = place.and_then(|place| COUNTERS.get(place));
        return known.copied().unwrap_or(UNKNOWN).to_owned();
    }
    if let Some(tracepoint) = event.bytes(fields.tracepoint) {
        return text(Message(tracepoint).bytes(tracepoint::NAME).unwrap_or_default()).into_owned();
    }
    let Some(raw) = event.bytes(fields.raw_event).map(Message) else {
        return UNKNOWN.to_owned();
    };
    let mut name = "raw".to_owned();
    let number = |field| raw.number(field).unwrap_or(0);
    // The type is a uint32.
    for number in [
        u64::from(number(raw::TYPE) as u32),
        number(raw::CONFIG),
        number(raw::CONFIG1),
        number(raw::CONFIG2),
    ] {
        // Writing to a String does not fail.
        let _ = write!(name, ".0x{number:x}");
    }
    name
}

/// The unit of the timebase (rule PF4).
pub(super) fn unit(event: Message<'_>, fields: &EventFields) -> Option<&'static str> {
    match event.number(fields.counter) {
        Some(1 | 3) => Some("ns"),
        Some(10 | 16 | 19) => Some("cycles"),
        Some(11) => Some("instructions"),
        Some(_) => Some("count"),
        None => event.bytes(fields.tracepoint).map(|_| "count"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pf3_an_event_is_called_by_the_first_that_is_there() {
        let name = |bytes: &[u8]| name(Message(bytes), &FOLLOWER);
        assert_eq!(name(&[0x22, 1, b'n', 0x08, 11]), "n");
        assert_eq!(name(&[0x22, 0, 0x08, 11]), "instructions");
        assert_eq!(name(&[0x08, 99]), "unknown");
        assert_eq!(name(&[0x08, 0]), "unknown");
        assert_eq!(name(&[0x12, 3, 0x0a, 1, b't']), "t");
        assert_eq!(name(&[0x12, 0]), "");
        assert_eq!(name(&[0x1a, 4, 0x08, 4, 0x10, 27]), "raw.0x4.0x1b.0x0.0x0");
        assert_eq!(name(&[]), "unknown");
        // Modifiers, packed or not, in their order.
        assert_eq!(name(&[0x08, 1, 0x28, 2, 0x28, 9, 0x28, 1]), "cpu-clock:ku");
        assert_eq!(name(&[0x08, 1, 0x2a, 2, 3, 3]), "cpu-clock:hh");
        assert_eq!(name(&[0x08, 1, 0x28, 9]), "cpu-clock");
    }

    #[test]
    fn pf4_units_are_of_counters_and_tracepoints() {
        let unit = |bytes: &[u8]| unit(Message(bytes), &TIMEBASE);
        assert_eq!(unit(&[0x20, 3]), Some("ns"));
        assert_eq!(unit(&[0x20, 19]), Some("cycles"));
        assert_eq!(unit(&[0x20, 11]), Some("instructions"));
        assert_eq!(unit(&[0x20, 99]), Some("count"));
        assert_eq!(unit(&[0x1a, 0]), Some("count"));
        assert_eq!(unit(&[0x2a, 0]), None);
    }
}
