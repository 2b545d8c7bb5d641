//! Traces whose shape must not make memory or disk large.

use crate::support::Imported;
use timebase_lab::encode::{self, ClockSnapshot, Packet, Reading, trace};

fn snapshot(seq: u32, clocks: &[(u32, u64)]) -> Packet {
    let clocks =
        clocks.iter().map(|&(id, timestamp)| Reading { id, timestamp, ..Reading::default() });
    Packet {
        seq,
        flags: encode::INCREMENTAL_STATE_CLEARED,
        clock_snapshot: Some(ClockSnapshot { clocks: clocks.collect(), primary: None }),
        ..Packet::default()
    }
}

fn event(seq: u32, timestamp: u64) -> Packet {
    Packet {
        seq,
        flags: encode::NEEDS_INCREMENTAL_STATE,
        timestamp: Some(timestamp),
        timestamp_clock_id: Some(64),
        payload: Some((11, Vec::new())),
        ..Packet::default()
    }
}

/// `sequences` clocks over a MONOTONIC with `steps` snapshots, each with another offset; four
/// packets for each clock.
fn many_clocks_over_monotonic(sequences: u32, steps: u64) -> Vec<u8> {
    let monotonic = |step: u64| 1_000_000 + step * 1000;
    let mut packets: Vec<Packet> = (0..steps)
        .map(|step| snapshot(1, &[(3, monotonic(step)), (6, 2 * monotonic(step))]))
        .collect();
    for seq in 2..2 + sequences {
        packets.push(snapshot(seq, &[(64, 0), (3, monotonic(0))]));
        let readings = [0, 1, 77_777, steps * 1000 + 5];
        packets.extend(readings.map(|reading| event(seq, reading)));
    }
    trace(&packets)
}

/// The JOIN of docs/plain-sql.md, checked against the functions.
const JOIN: &str = "SELECT count(*) FROM packet AS p
    JOIN clock AS c
      ON c.machine_id = p.machine_id AND c.clock_id = p.clock_id
     AND c.seq_id = CASE WHEN p.clock_id BETWEEN 64 AND 127 THEN p.seq_id ELSE 0 END
    JOIN clock_mapping AS m
      ON m.machine_id = c.machine_id AND m.clock_id = c.clock_id AND m.seq_id = c.seq_id
     AND m.to_clock_id = 6
     AND (m.start_value IS NULL OR m.start_value <= p.clock_ts * c.unit_multiplier_ns)
     AND (m.end_value IS NULL OR p.clock_ts * c.unit_multiplier_ns < m.end_value)
    WHERE p.ts = p.clock_ts * c.unit_multiplier_ns + m.offset
      AND p.ts = to_boottime(p.clock_id, p.seq_id, p.clock_ts)";

fn imported(trace: &[u8]) -> Imported {
    let imported = Imported::of_bytes(trace, &[]);
    timebase_resolver::sql::register(&imported.conn).unwrap();
    imported
}

#[test]
fn clock_mapping_is_whole_while_it_is_small() {
    let db = imported(&many_clocks_over_monotonic(20, 100));
    assert_eq!(db.count(JOIN), 20 * 4);
    let rows = "SELECT min(n) FROM (SELECT count(*) AS n FROM clock_mapping WHERE clock_id = 64 GROUP BY seq_id)";
    assert_eq!(db.count(rows), 100);
    assert_eq!(db.count("SELECT count(*) FROM import_log WHERE code NOT LIKE 'track_event%'"), 0);
}

#[test]
#[ignore = "heavy"]
fn clock_mapping_of_very_many_clocks_is_bounded_by_what_packets_use() {
    let db = imported(&many_clocks_over_monotonic(3000, 1000));
    assert_eq!(db.count(JOIN), 3000 * 4, "every packet is placed by the JOIN all the same");
    let rows = db.count("SELECT count(*) FROM clock_mapping WHERE clock_id = 64");
    assert_eq!(rows, 3000 * 3, "two of the four readings share a step");
    assert_eq!(db.count("SELECT count(*) FROM clock_mapping WHERE clock_id = 3"), 1000);
    let said = "SELECT count(*) FROM import_log WHERE code = 'clock_mapping_bounded'";
    assert_eq!(db.count(said), 1);
    // Only the function answers for a reading that no packet has.
    let other = "SELECT to_boottime(64, 5, 500500)";
    assert_eq!(db.count(other), 2 * (1_000_000 + 500_000) + 500);
}
