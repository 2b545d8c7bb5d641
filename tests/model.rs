//! Imports random traces and compares the contents of the database, and the results of the SQL
//! functions, with a naive model of the rules.

mod database;
pub mod generate;
mod java_heap;
pub mod threads;

use crate::support::random::for_all;
use database::Database;
use generate::{CLOCKS, Case};
use proptest::prelude::*;
use rusqlite::types::Value;
use std::collections::BTreeSet;
use timebase_import::Conversion;
use timebase_lab::encode::{Bundle, ClockSnapshot, FtraceEvent, Packet, Reading};
use timebase_lab::naive::{self, BOOTTIME, Clock, Imported, MONOTONIC, REALTIME, Reason};

const CUSTOM: u32 = 0x8000_0001;

#[test]
fn n1_to_n6_v1_to_v7_c1_to_c6_s1_to_s5_t1_t2_d1_to_d4_i1_i2_rows_of_any_trace() {
    for_all(1, generate::case(false), |case| agree(case).map(|_| ()));
}

#[test]
fn d1_d5_i1_i2_with_all_snapshots_first_ts_and_to_boottime_and_join_are_one() {
    for_all(1, generate::case(true), |case| {
        let (database, model) = agree(case)?;
        ts_is_boottime(&database, &model)
    });
}

#[test]
fn r8_v7_rows_of_any_trace_by_lines() {
    for_all(4, generate::case(false), |case| {
        let (nearest, linear) = (
            Database::import(&case.packets),
            Database::import_by(&case.packets, Conversion::Linear),
        );
        let model = naive::import(&case.packets);
        only_times_differ(&nearest, &linear, &model)?;
        if model.trace_time == Clock::new(BOOTTIME, 0, 0) {
            times_are_on_lines(&linear, &model, &case.packets)?;
        }
        Ok(())
    });
}

/// The packets, snapshots and events and their readings do not depend on the conversion, but on the
/// order of the file.
fn only_times_differ(
    nearest: &Database,
    linear: &Database,
    model: &Imported,
) -> Result<(), TestCaseError> {
    let packets = |database: &Database| {
        let mut rows = database.packets();
        for row in &mut rows {
            (row.ts, row.unresolved) = (None, None);
            // C6: the choice of two clocks depends on whether there is a path from the first one.
            if model.taken.contains(&row.id) {
                (row.clock_id, row.clock_ts) = (None, None);
            }
        }
        rows
    };
    prop_assert_eq!(packets(linear), packets(nearest), "rows of packet");
    let readings = |database: &Database| {
        let mut rows = database.readings();
        rows.iter_mut().for_each(|row| row.ts = None);
        rows
    };
    prop_assert_eq!(readings(linear), readings(nearest), "rows of clock_snapshot");
    let events = |database: &Database| {
        let mut rows = database.events();
        rows.iter_mut().for_each(|row| (row.ts, row.unresolved) = (None, None));
        rows
    };
    prop_assert_eq!(events(linear), events(nearest), "rows of ftrace_event");
    let logs = |database: &Database| {
        let mut rows = database.logs();
        rows.iter_mut().for_each(|row| (row.ts, row.unresolved) = (None, None));
        rows
    };
    prop_assert_eq!(logs(linear), logs(nearest), "rows of android_logs");
    Ok(())
}

/// Trace time is BOOTTIME: all times equal those of `to_boottime_linear`.
fn times_are_on_lines(
    linear: &Database,
    model: &Imported,
    packets: &[Packet],
) -> Result<(), TestCaseError> {
    // R14: the position in the file decides about readings of a clock that wrapped or restarted,
    // and conversions over it.
    let has_turned = linear.count("SELECT count(*) FROM clock_turn") > 0;
    let fits = |clock: Clock, ticks: i64, ts: Option<i64>, reason: Option<&str>, what: &str| {
        let is_mended = || {
            let turned = format!(
                "SELECT count(*) FROM clock_turn WHERE clock_id = {} AND machine_id = {}",
                clock.id, clock.machine
            );
            linear.count(&turned) > 0
                || linear.why_unresolved(clock, ticks).as_deref() == Some("non_monotonic")
        };
        if has_turned && is_mended() {
            return Ok(());
        }
        prop_assert_eq!(
            ts,
            linear.to_boottime_linear(clock, ticks),
            "{}: {} on {:?}",
            what,
            ticks,
            clock
        );
        // A line may end where steps do not.
        if ts.is_none() && reason != Some("overflow") {
            let expected = linear.why_unresolved(clock, ticks);
            prop_assert_eq!(reason, expected.as_deref(), "{} on {:?}", ticks, clock);
        }
        Ok(())
    };
    for row in linear.packets() {
        let of_packet = ["no_base", "no_sequence_id", "incremental_state_lost"];
        let reason = row.unresolved.as_deref();
        let (Some(id), Some(ticks)) = (row.clock_id, row.clock_ts) else {
            continue;
        };
        let is_taken = model.taken.contains(&row.id);
        let is_snapshot = row.kind.as_deref() == Some("clock_snapshot");
        if is_taken || is_snapshot || reason.is_some_and(|reason| of_packet.contains(&reason)) {
            continue;
        }
        let clock = Clock::new(id as u32, row.seq_id as u32, row.machine_id as u32);
        fits(clock, ticks, row.ts, reason, "a packet")?;
    }
    let readings = linear.readings();
    for row in &readings {
        let of = |row: &naive::SnapshotRow| {
            let clock = Clock::new(row.clock_id as u32, row.seq_id as u32, row.machine_id as u32);
            linear.to_boottime_linear(clock, row.timestamp)
        };
        let mut together = readings.iter().filter(|other| other.snapshot_id == row.snapshot_id);
        let expected = of(row).or_else(|| together.find_map(of));
        prop_assert_eq!(row.ts, expected, "a reading: {:?}", row);
    }
    for row in linear.logs() {
        let machine = packets[row.packet_id as usize].machine_id;
        if let Value::Integer(ticks) = row.timestamp {
            let realtime = Clock::new(REALTIME, 0, machine);
            fits(realtime, ticks, row.ts, row.unresolved.as_deref(), "a line")?;
        }
    }
    for row in linear.events() {
        let packet = &packets[row.packet_id as usize];
        let id = match packet.ftrace_events.as_ref().and_then(|bundle| bundle.clock) {
            None | Some(0) => BOOTTIME,
            Some(MONO_RAW) => 5,
            Some(GLOBAL | 3) => 64,
            Some(_) => continue,
        };
        let clock = Clock::new(id, packet.seq, packet.machine_id);
        if let Value::Integer(ticks) = row.timestamp
            && row.unresolved.as_deref() != Some("no_sequence_id")
        {
            fits(clock, ticks, row.ts, row.unresolved.as_deref(), "an event")?;
        }
    }
    Ok(())
}

/// Imports a trace and makes all comparisons that are possible for any trace.
fn agree(case: &Case) -> Result<(Database, Imported), TestCaseError> {
    let database = Database::import(&case.packets);
    let model = naive::import(&case.packets);
    rows_agree(&database, &model)?;
    mapping_is_tiled(&database, &model)?;
    functions_agree(&database, &model, &case.probes)?;
    Ok((database, model))
}

fn rows_agree(database: &Database, model: &Imported) -> Result<(), TestCaseError> {
    let packets = database.packets();
    for (row, expected) in packets.iter().zip(&model.packets) {
        let mut expected = expected.clone();
        if let Some(reasons) = model.rejected.get(&row.id)
            && reasons.iter().any(|reason| *reason == row.unresolved.as_deref())
        {
            expected.unresolved.clone_from(&row.unresolved);
        }
        prop_assert_eq!(row, &expected, "\ndatabase and model differ in a row of packet");
    }
    prop_assert_eq!(packets.len(), model.packets.len(), "rows of packet");

    let readings = database.readings();
    for (row, expected) in readings.iter().zip(&model.readings) {
        prop_assert_eq!(row, expected, "\ndatabase and model differ in a row of clock_snapshot");
    }
    prop_assert_eq!(readings.len(), model.readings.len(), "rows of clock_snapshot");

    let events = database.events();
    for (row, expected) in events.iter().zip(&model.events) {
        prop_assert_eq!(
            row,
            expected,
            "\ndatabase and model differ in a row of ftrace_event or ftrace_event_partial"
        );
    }
    prop_assert_eq!(events.len(), model.events.len(), "rows of ftrace_event");

    let logs = database.logs();
    for (row, expected) in logs.iter().zip(&model.logs) {
        prop_assert_eq!(row, expected, "\ndatabase and model differ in a row of android_logs");
    }
    prop_assert_eq!(logs.len(), model.logs.len(), "rows of android_logs");
    Ok(())
}

/// The functions use the snapshots of the whole trace, and the JOIN equals `to_boottime` (D5).
fn functions_agree(
    database: &Database,
    model: &Imported,
    probes: &[i64],
) -> Result<(), TestCaseError> {
    let snapshots = &model.snapshots;
    let boottime = Clock::new(BOOTTIME, 0, 0);
    let in_snapshots = naive::clocks(snapshots);
    let others = CLOCKS.iter().map(|id| Clock::new(*id, 2, 0));
    let clocks: BTreeSet<Clock> = in_snapshots.iter().copied().chain(others).collect();

    let readings_of_packets: Vec<(Clock, i64)> = model
        .packets
        .iter()
        .filter_map(|packet| {
            let clock =
                Clock::new(packet.clock_id? as u32, packet.seq_id as u32, packet.machine_id as u32);
            Some((clock, packet.clock_ts?))
        })
        .collect();
    // BOOTTIME is in the mapping only if the trace has it.
    let in_trace: BTreeSet<Clock> =
        readings_of_packets.iter().map(|(clock, _)| *clock).chain(in_snapshots).collect();
    let readings_at_random =
        clocks.iter().flat_map(|clock| probes.iter().map(|ticks| (*clock, *ticks)));
    let readings = readings_of_packets.into_iter().chain(readings_at_random);

    for (n, (clock, ticks)) in readings.enumerate() {
        let expected = naive::convert(snapshots, clock, ticks.into(), boottime);
        let found = (database.to_boottime(clock, ticks), database.why_unresolved(clock, ticks));
        let wanted = (expected.ok(), expected.err().map(str::to_owned));
        prop_assert_eq!(
            found,
            wanted,
            "\nto_boottime and why_unresolved of {} on {:?}",
            ticks,
            clock
        );

        let joined = database.join(clock, ticks, naive::unit(snapshots, clock));
        if in_trace.contains(&clock) {
            prop_assert_eq!(joined, expected.ok(), "\nthe JOIN for {} on {:?}", ticks, clock);
        }

        if clock.machine == 0 {
            let targets = clocks.iter().filter(|c| c.machine == 0).collect::<Vec<_>>();
            let target = *targets[n % targets.len()];
            let expected = naive::convert(snapshots, clock, ticks.into(), target);
            let found = database.convert_clock(clock, ticks, target);
            prop_assert_eq!(found, expected.ok(), "\n{} on {:?} to {:?}", ticks, clock, target);
        }
    }
    Ok(())
}

/// `clock_mapping`: the rows of one conversion do not overlap, neighbours have different offsets,
/// and there is a gap only where the model has one, too.
fn mapping_is_tiled(database: &Database, model: &Imported) -> Result<(), TestCaseError> {
    let rows = database.mapping();
    for pair in rows.windows(2) {
        let (row, next) = (&pair[0], &pair[1]);
        if (row.from, row.to) != (next.from, next.to) {
            continue;
        }
        let (Some(end), Some(start)) = (row.end, next.start) else {
            return Err(TestCaseError::fail(format!("{row:?} overlaps {next:?}")));
        };
        prop_assert!(end <= start, "{:?} overlaps {:?}", row, next);
        if end == start {
            prop_assert_ne!(row.offset, next.offset, "{:?} and {:?} are one", row, next);
        } else {
            for value in [end, start - 1] {
                let result = naive::convert_value(&model.snapshots, row.from, value.into(), row.to);
                prop_assert_eq!(result, Err("overflow"), "between {:?} and {:?}", row, next);
            }
        }
    }
    for row in &rows {
        prop_assert!(row.start.is_none() || row.end.is_none() || row.start < row.end, "{:?}", row);
        for value in [row.start, row.end.map(|end| end - 1)].into_iter().flatten() {
            let expected = naive::convert_value(&model.snapshots, row.from, value.into(), row.to);
            let result = value.checked_add(row.offset).ok_or("overflow");
            prop_assert_eq!(result, expected, "{} in {:?}", value, row);
        }
    }
    Ok(())
}

/// If all snapshots come before any other packet, D1 and D5 use the same ones.
fn ts_is_boottime(database: &Database, model: &Imported) -> Result<(), TestCaseError> {
    if model.trace_time != Clock::new(BOOTTIME, 0, 0) {
        return Ok(());
    }
    for row in database.packets_by_all_ways() {
        let is_snapshot = row.kind.as_deref() == Some("clock_snapshot");
        // Counts as trace time (C6): not converted from that machine's BOOTTIME.
        let foreign = model.taken.contains(&row.id) && row.machine_id != 0;
        if row.ts.is_some() && !is_snapshot && !foreign {
            prop_assert_eq!(row.ts, row.to_boottime, "ts and to_boottime of {:?}", row);
            prop_assert_eq!(row.ts, row.joined, "ts and the JOIN of {:?}", row);
        }
    }
    for &(clock, ticks, ts) in &model.placed {
        prop_assert_eq!(
            database.to_boottime(clock, ticks),
            Some(ts),
            "to_boottime of an event, {} on {:?}",
            ticks,
            clock
        );
    }
    Ok(())
}

/// A packet of the service with a snapshot of two clocks.
fn snapshot_of_two(a: (u32, u64), b: (u32, u64)) -> Packet {
    let reading = |(id, timestamp)| Reading { id, timestamp, ..Reading::default() };
    Packet {
        seq: 1,
        clock_snapshot: Some(ClockSnapshot { clocks: vec![reading(a), reading(b)], primary: None }),
        ..Packet::default()
    }
}

/// Snapshots of two clocks.
fn snapshots_of_two(a: u32, b: u32, values: &[(u64, u64)]) -> Vec<Packet> {
    values.iter().map(|&(x, y)| snapshot_of_two((a, x), (b, y))).collect()
}

/// The model's conversion, after checking that the product agrees.
fn converted(packets: &[Packet], from: u32, ticks: i64, to: u32) -> Result<i64, Reason> {
    let (from, to) = (Clock::new(from, 0, 0), Clock::new(to, 0, 0));
    let expected = naive::convert(&naive::import(packets).snapshots, from, ticks.into(), to);
    let found = Database::import(packets).convert_clock(from, ticks, to);
    assert_eq!(found, expected.ok(), "product and model, {ticks} on {from:?} to {to:?}");
    expected
}

#[test]
fn v2_worked_example_of_the_nearest_snapshot() {
    let values =
        [(1000, 2000), (1100, 2100), (1200, 2200), (1900, 2900), (2000, 3500), (2100, 3600)];
    let packets = snapshots_of_two(MONOTONIC, BOOTTIME, &values);
    assert_eq!(converted(&packets, MONOTONIC, 1104, BOOTTIME), Ok(2104));
    assert_eq!(converted(&packets, MONOTONIC, 1999, BOOTTIME), Ok(2999));
    assert_eq!(converted(&packets, MONOTONIC, 2000, BOOTTIME), Ok(3500));
    assert_eq!(converted(&packets, MONOTONIC, 900, BOOTTIME), Ok(1900));
}

#[test]
fn v3_worked_example_of_two_hops() {
    let mut packets = snapshots_of_two(CUSTOM, MONOTONIC, &[(1000, 1100), (3000, 3200)]);
    packets.extend(snapshots_of_two(MONOTONIC, BOOTTIME, &[(1200, 5200), (4000, 9000)]));
    assert_eq!(converted(&packets, CUSTOM, 3503, MONOTONIC), Ok(3703));
    assert_eq!(converted(&packets, MONOTONIC, 3703, BOOTTIME), Ok(7703));
    assert_eq!(converted(&packets, CUSTOM, 3503, BOOTTIME), Ok(7703));
}

#[test]
fn n5_worked_example_of_a_clock_going_backwards() {
    let values = [(10010, 10), (10020, 20), (30040, 40), (40030, 30)];
    let packets = snapshots_of_two(BOOTTIME, REALTIME, &values);
    assert_eq!(converted(&packets, REALTIME, 11, BOOTTIME), Err("non_monotonic"));
    assert_eq!(converted(&packets, BOOTTIME, 10029, REALTIME), Ok(29));
    assert_eq!(converted(&packets, BOOTTIME, 40040, REALTIME), Ok(40));
}

/// A fixed trace, and readings to convert.
fn assert_agree(packets: Vec<Packet>, probes: &[i64]) {
    let case = Case { packets, probes: probes.to_vec() };
    if let Err(why) = agree(&case) {
        panic!("{why}\nfor the trace{case:?}");
    }
}

const GREATEST: u64 = i64::MAX.cast_unsigned();

#[test]
fn t2_what_is_taken_as_trace_time_is_not_tried_again() {
    let packet = Packet { timestamp: Some(GREATEST + 1), ..Packet::default() };
    assert_agree(vec![packet], &[]);
}

#[test]
fn v2_a_step_from_the_greatest_value_on_does_not_overlap_the_one_before() {
    let values = [(0, 0), (GREATEST, 0)];
    let packets = snapshots_of_two(REALTIME, BOOTTIME, &values);
    assert_agree(packets, &[0, i64::MAX - 1, i64::MAX]);
}

#[test]
fn v6_offsets_of_some_hops_need_not_fit_if_that_of_all_does() {
    let packets = vec![
        snapshot_of_two((128, GREATEST), (129, 0)),
        snapshot_of_two((129, 0), (130, GREATEST)),
        snapshot_of_two((130, 0), (BOOTTIME, GREATEST)),
    ];
    assert_agree(packets, &[-1, 0, 1]);
}

/// A bundle on sequence 2 with a pair, and events at these times.
fn bundle(clock: i32, pair: Option<(i64, i64)>, timestamps: &[u64]) -> Packet {
    let event =
        |timestamp: &u64| FtraceEvent { timestamp: Some(*timestamp), ..FtraceEvent::default() };
    Packet {
        seq: 2,
        ftrace_events: Some(Bundle {
            cpu: Some(0),
            clock: Some(clock),
            ftrace_timestamp: pair.map(|pair| pair.0),
            boot_timestamp: pair.map(|pair| pair.1),
            events: timestamps.iter().map(event).collect(),
            ..Bundle::default()
        }),
        ..Packet::default()
    }
}

/// Values of `ftrace_clock`.
const GLOBAL: i32 = 2;
const MONO_RAW: i32 = 4;

/// The model's times of a trace's events, after checking that the product agrees.
fn events_of(packets: Vec<Packet>) -> Vec<Option<i64>> {
    let times = naive::import(&packets).events;
    assert_agree(packets, &[0, 100]);
    times.iter().map(|event| event.ts).collect()
}

#[test]
fn i1_the_pair_is_added_before_the_events_of_its_bundle() {
    let packets = vec![
        bundle(GLOBAL, Some((10, 110)), &[0, 10, 20]),
        bundle(GLOBAL, Some((20, 220)), &[19, 20]),
    ];
    let times = [100, 110, 120, 119, 220].map(Some);
    assert_eq!(events_of(packets), times);
}

#[test]
fn i1_a_pair_with_the_ftrace_timestamp_of_the_pair_added_last_is_no_snapshot() {
    let packets = vec![
        bundle(GLOBAL, Some((10, 110)), &[10]),
        bundle(GLOBAL, Some((10, 210)), &[10]),
        bundle(GLOBAL, Some((11, 311)), &[10]),
        // It is another clock's, but the pair of the same machine.
        bundle(MONO_RAW, Some((11, 400)), &[10]),
    ];
    let times = [Some(110), Some(110), Some(110), None];
    assert_eq!(events_of(packets), times);
}

#[test]
fn i1_n1_a_rejected_pair_is_not_the_pair_added_last() {
    let packets = vec![
        bundle(GLOBAL, Some((10, 110)), &[]),
        // BOOTTIME goes backwards (N2).
        bundle(GLOBAL, Some((20, 100)), &[20]),
        bundle(GLOBAL, Some((20, 220)), &[20]),
    ];
    assert_eq!(events_of(packets), [Some(120), Some(220)]);
}

#[test]
fn i1_n6_a_pair_without_trace_time_says_nothing_of_its_packet() {
    let packet = bundle(GLOBAL, Some((10, 110)), &[]);
    let placed = Packet { timestamp: Some(5), ..packet.clone() };
    let of_custom = |primary| {
        let snapshot =
            ClockSnapshot { clocks: vec![Reading { id: CUSTOM, ..Reading::default() }], primary };
        Packet { seq: 1, clock_snapshot: Some(snapshot), ..Packet::default() }
    };
    // Trace time is a clock to which no pair leads.
    let other = of_custom(Some(MONOTONIC as i32));
    let alone = of_custom(None);
    let realtime = Packet {
        clock_snapshot: Some(ClockSnapshot {
            clocks: vec![Reading { id: REALTIME, ..Reading::default() }],
            primary: Some(REALTIME as i32),
        }),
        seq: 1,
        ..Packet::default()
    };
    // The snapshot has no trace time either: both are tried again.
    assert_agree(vec![realtime.clone(), packet.clone(), alone.clone()], &[]);
    assert_agree(vec![realtime, placed, alone.clone()], &[]);
    assert_agree(vec![other, packet, alone], &[]);
}

#[test]
fn i1_n6_d2_a_pair_takes_the_trace_time_that_a_later_snapshot_gives() {
    let mut primary = snapshot_of_two((REALTIME, 10), (CUSTOM, 10));
    if let Some(snapshot) = &mut primary.clock_snapshot {
        snapshot.primary = Some(1);
    }
    let packets = vec![
        primary,
        bundle(MONO_RAW, Some((1, 100)), &[1]),
        snapshot_of_two((REALTIME, 1200), (BOOTTIME, 200)),
    ];
    let rows = naive::import(&packets).readings;
    assert_eq!(rows[2].ts, Some(1100));
    assert_eq!(events_of(packets), [Some(1100)]);
}

#[test]
fn i1_v2_a_pair_gives_way_to_snapshots_of_the_service_and_of_writers() {
    let raw = naive::MONOTONIC_RAW;
    let mut writer = snapshot_of_two((raw, 10), (BOOTTIME, 500));
    writer.seq = 3;
    let packets = vec![
        bundle(MONO_RAW, Some((10, 110)), &[10]),
        writer,
        bundle(MONO_RAW, Some((20, 600)), &[20]),
        snapshot_of_two((raw, 20), (BOOTTIME, 1000)),
        bundle(MONO_RAW, Some((30, 1600)), &[30]),
    ];
    let times = [Some(110), Some(510), Some(1010)];
    assert_eq!(events_of(packets), times);
}

#[test]
fn i2_d2_a_line_whose_time_does_not_fit_is_tried_again_for_its_reason() {
    let log =
        Packet { android_log: Some(vec![Some(GREATEST + 1), Some(GREATEST)]), ..Packet::default() };
    let snapshot = snapshot_of_two((REALTIME, 0), (BOOTTIME, 1));
    let lines = naive::import(&[log.clone(), snapshot.clone()]).logs;
    let reasons: Vec<_> = lines.iter().map(|line| line.unresolved.as_deref()).collect();
    assert_eq!(reasons, [Some("overflow"); 2]);
    assert_agree(vec![log, snapshot], &[]);
}
