//! Random flows between machines, and a count of their messages straight from rule AL2.

use std::collections::{BTreeMap, BTreeSet};

use super::import;
use super::world::{Event, Machine, Role, manifest, write};
use crate::support::random::Random;
use crate::support::{Place, rows};

/// Messages each way, ids that are unpaired, ids that are undirected.
type Counts = [i64; 4];

fn world(random: &mut Random) -> Vec<Event> {
    let mut events = Vec::new();
    for flow in 0..12 {
        // Small and large ids, and ids that most events have.
        let flow = [flow + 1, flow + (1 << 50), 3][random.below(3) as usize];
        let of_end = random.below(3) as usize;
        for _ in 0..1 + random.below(6) {
            let machine = match random.below(4) {
                0 => of_end,
                _ => random.below(3) as usize,
            };
            let role = match (random.below(8), machine == of_end) {
                (0, _) | (1..4, true) => Role::End,
                (1..4, false) => Role::Start,
                _ => Role::Through,
            };
            // Times that are equal, too.
            let at = 1_000_000_000 + random.below(20) as i64 * 1_000_000;
            events.push(Event { machine, at, role, flow, dur: 0 });
        }
    }
    events
}

fn counts(machines: &[Machine], events: &[Event]) -> BTreeMap<(usize, usize), Counts> {
    let mut all: BTreeMap<(usize, usize), Counts> = BTreeMap::new();
    let mut count = |one: usize, other: usize, what: usize, by: i64| {
        all.entry((one.min(other), one.max(other))).or_default()[what] += by;
    };
    let ids: BTreeSet<u64> = events.iter().map(|event| event.flow).collect();
    for id in ids {
        let of_id: Vec<&Event> = events.iter().filter(|event| event.flow == id).collect();
        let ends: Vec<_> = of_id.iter().filter(|event| event.role == Role::End).collect();
        let others: Vec<_> = of_id.iter().filter(|event| event.role != Role::End).collect();
        let on_other: BTreeSet<usize> = others.iter().map(|event| event.machine).collect();
        let on_end: BTreeSet<usize> = ends.iter().map(|event| event.machine).collect();
        if ends.is_empty() {
            let are_through = others.iter().all(|event| event.role == Role::Through);
            if are_through && on_other.len() > 1 {
                let first = others[0].machine;
                let other = others.iter().find(|event| event.machine != first).unwrap().machine;
                count(first, other, 3, 1);
            }
            continue;
        }
        // (a)
        if on_end.len() > 1 || !on_end.is_disjoint(&on_other) || others.is_empty() {
            continue;
        }
        let receiver = ends[0].machine;
        let way = |sender: usize| usize::from(sender > receiver);
        // (b)
        if ends.len() == 1 {
            for sender in on_other {
                count(sender, receiver, way(sender), 1);
            }
        } else if on_other.len() == 1 && ends.len() == others.len() {
            let sender = others[0].machine;
            count(sender, receiver, way(sender), ends.len() as i64);
        } else {
            count(*on_other.first().unwrap(), receiver, 2, 1);
        }
    }
    assert!(machines.len() == 3);
    all
}

#[test]
fn al2_messages_are_those_of_a_naive_count() {
    let machine = |number: i64| Machine {
        boottime: number * 1_000_000_000_000,
        wall: 0,
        ppm: 0,
        stop: (0, 0),
    };
    let machines = [1, 2, 3].map(machine);
    let mut seen = Counts::default();
    for seed in 1..=60 {
        let mut events = world(&mut Random(seed * 0x9e37_79b9));
        // Events of a file are read in the order of its packets.
        events.sort_by_key(|event| (event.machine, event.at));
        let expected = counts(&machines, &events);
        let place = Place::new();
        let (files, entries) = write(&place, &machines, &events);
        let manifest = manifest(&place, &entries, "");
        let conn = import(&place, &files, &["--manifest", &manifest, "--align", "report"]);
        let sql = "SELECT machine_a, machine_b, messages_ab, messages_ba, unpaired, undirected
                   FROM clock_alignment";
        let given = rows(&conn, sql).into_iter().map(|row| {
            let row: Vec<i64> = row.iter().map(|cell| cell.parse().unwrap()).collect();
            let [a, b, counts @ ..] = &row[..] else { panic!() };
            ((*a as usize, *b as usize), Counts::try_from(counts).unwrap())
        });
        let given: BTreeMap<_, _> = given.collect();
        assert_eq!(given, expected, "seed {seed}: {events:?}");
        for counts in expected.values() {
            for (seen, count) in seen.iter_mut().zip(counts) {
                *seen += count;
            }
        }
    }
    assert!(seen.iter().all(|count| *count > 5), "{seen:?}");
}
