//! Sets of several machines or files: their bytes, and whether they contain their stated truth.

#![allow(clippy::unwrap_used)]

mod common;

use std::collections::HashMap;

use rusqlite::Connection;
use sha2::{Digest, Sha256};
use timebase_import::{Monitor, Options, Source, import};
use timebase_lab::decode::fields;
use timebase_lab::synth::{Form, Row, Set, SetSummary, SetTruth, write_set, write_set_with_truth};

use common::Memory;

const SECOND: i64 = 1_000_000_000;

struct Written {
    summary: SetSummary,
    files: HashMap<String, Memory>,
    truths: Vec<SetTruth>,
}

impl Written {
    fn file(&self, name: &str) -> Vec<u8> {
        self.files[name].0.borrow().clone()
    }
}

fn written(set: &Set) -> Written {
    let mut files = HashMap::new();
    let mut truths = Vec::new();
    let create =
        |name: &str| Ok(files.entry(name.to_owned()).or_insert_with(Memory::default).clone());
    let summary = write_set_with_truth(set, create, &mut |truth| {
        truths.push(truth);
        Ok(())
    });
    Written { summary: summary.unwrap(), files, truths }
}

fn small(form: Form) -> Set {
    let set = Set::of(form);
    Set { machine: set.machine.clone().records(4000), processes: 3, guests: 2, ..set }
}

fn numbers(bytes: &[u8], field: u32) -> Option<u64> {
    let mut all = fields(bytes).unwrap().into_iter();
    all.find(|found| found.number == field).map(|found| found.value.number())
}

fn messages(bytes: &[u8], field: u32) -> Vec<&[u8]> {
    let all = fields(bytes).unwrap().into_iter();
    all.filter(|found| found.number == field).map(|found| found.value.bytes()).collect()
}

fn packets(trace: &[u8]) -> Vec<&[u8]> {
    messages(trace, 1)
}

/// A reading of a clock in a `ClockSnapshot`.
fn reading(snapshot: &[u8], clock: u64) -> Option<i64> {
    let clocks = messages(snapshot, 1);
    let reading = clocks.iter().find(|reading| numbers(reading, 1) == Some(clock))?;
    numbers(reading, 2).map(u64::cast_signed)
}

/// BOOTTIME of client and host in each `synced_clocks` of a trace, by guest.
fn synced(trace: &[u8]) -> Vec<Vec<(i64, i64)>> {
    let mut guests: Vec<(u64, Vec<(i64, i64)>)> = Vec::new();
    for packet in packets(trace) {
        for sync in messages(packet, 107) {
            let machine = numbers(packet, 98).unwrap();
            let all = messages(sync, 1).into_iter().map(|synced| {
                let clock = |field| reading(messages(synced, field)[0], 6).unwrap();
                (clock(2), clock(3))
            });
            guests.push((machine, all.collect()));
        }
    }
    guests.sort_by_key(|&(machine, _)| machine);
    guests.into_iter().map(|(_, synced)| synced).collect()
}

/// The reading of a guest's BOOTTIME with a constant rate.
fn guest_time(set: &Set, guest: i64, begin: i64, host: i64) -> i64 {
    let drift = i128::from(set.guest_drift_ppm) * i128::from(1 - guest % 2 * 2);
    let gained = i128::from(host - begin) * -drift / 1_000_000;
    host + guest * set.guest_offset_ns as i64 + gained as i64
}

/// A change here changes the input of every benchmark.
#[test]
fn the_bytes_are_those_of_earlier_versions() {
    let hashes = Form::ALL.map(|form| {
        let written = written(&small(form));
        let mut digest = Sha256::new();
        for name in small(form).files() {
            digest.update(written.file(&name));
        }
        let digest = digest.finalize();
        let hash: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        format!("{form:?} {hash}")
    });
    assert_eq!(hashes, GOLDEN);
}

const GOLDEN: [&str; 5] = [
    "Relay 4b961641fb77ae81",
    "Files 680ed1903170ef42",
    "Manifest 6fd9f11259531983",
    "Processes 1e45b4ee49bb74dd",
    "Together 268d180670fb2d16",
];

#[test]
fn another_seed_gives_other_bytes_and_who_wants_no_truth_gets_the_same() {
    for form in Form::ALL {
        let set = small(form);
        let name = &set.files()[0];
        let with_truth = written(&set);
        let file = Memory::default();
        let summary = write_set(&set, |wanted| {
            Ok(match wanted == name {
                true => file.clone(),
                false => Memory::default(),
            })
        });
        assert_eq!(summary.unwrap(), with_truth.summary, "{form:?}");
        assert!(*file.0.borrow() == with_truth.file(name), "{form:?}");
        let other = Set { machine: set.machine.clone().seed(2), ..set };
        assert!(written(&other).file(name) != with_truth.file(name), "{form:?}");
    }
}

#[test]
fn files_hold_what_the_summary_says() {
    for form in Form::ALL {
        let set = small(form);
        let written = written(&set);
        assert_eq!(written.summary.records, 4000, "{form:?}");
        let names: Vec<String> =
            written.summary.files.iter().map(|file| file.name.clone()).collect();
        assert_eq!(names, set.files());
        for file in &written.summary.files {
            let trace = written.file(&file.name);
            assert_eq!(trace.len() as u64, file.bytes);
            assert_eq!(packets(&trace).len() as u64, file.packets);
        }
        assert_eq!(written.summary.manifest.is_some(), form == Form::Manifest);
    }
}

#[test]
fn sets_have_as_many_bytes_as_were_asked_for() {
    for form in Form::ALL {
        let set = small(form);
        let set = Set { machine: set.machine.clone().bytes(1_000_000), ..set };
        let bytes: u64 = written(&set).summary.files.iter().map(|file| file.bytes).sum();
        assert!((995_000..1_005_000).contains(&bytes), "{form:?}: {bytes}");
    }
}

#[test]
fn x12_only_guests_have_machine_ids_and_not_with_a_manifest() {
    for form in Form::ALL {
        let set = small(form);
        let written = written(&set);
        for name in set.files() {
            let trace = written.file(&name);
            let mut ids: Vec<Option<u64>> =
                packets(&trace).iter().map(|packet| numbers(packet, 98)).collect();
            ids.sort_unstable();
            ids.dedup();
            let expected: &[Option<u64>] = match (form, name.as_str()) {
                (Form::Relay, _) => &[None, Some(0x8c1f_0de1), Some(0x8c1f_0de2)],
                (Form::Files, "vm-1.pftrace") => &[Some(0x8c1f_0de1)],
                (Form::Files, "vm-2.pftrace") => &[Some(0x8c1f_0de2)],
                _ => &[None],
            };
            assert_eq!(ids, expected, "{form:?} {name}");
        }
    }
}

#[test]
fn x19_a_guest_has_a_packet_with_five_readings_of_six_clocks() {
    let written = written(&small(Form::Relay));
    let trace = written.file("relay.pftrace");
    let mut found = 0;
    for packet in packets(&trace) {
        for sync in messages(packet, 107) {
            found += 1;
            let synced = messages(sync, 1);
            assert_eq!(synced.len(), 5);
            for synced in synced {
                for field in [2, 3] {
                    let clocks = messages(synced, field);
                    let ids: Vec<_> = (1..=6).filter_map(|id| reading(clocks[0], id)).collect();
                    assert_eq!(ids.len(), 6);
                }
            }
        }
    }
    assert_eq!(found, 2);
    // They are at the head, after the host's first snapshot.
    let head = packets(&trace);
    assert_eq!(messages(head[0], 6).len(), 1);
    assert!(head[1..3].iter().all(|packet| messages(packet, 107).len() == 1));
    let set = Set { sync_packets: 7, ..small(Form::Relay) };
    assert_eq!(synced(&self::written(&set).file("relay.pftrace")).len(), 14);
}

#[test]
fn x20_offsets_are_what_the_drift_the_way_and_the_asymmetry_make_of_them() {
    for asymmetry_percent in [0, 10, 50] {
        let set = Set { asymmetry_percent, jitter_ns: 0, ..small(Form::Relay) };
        let written = written(&set);
        let (begin, mut rounds) = (written.summary.begin_ns, 0);
        for (guest, synced) in (1..).zip(synced(&written.file("relay.pftrace"))) {
            let offset = |host| guest_time(&set, guest, begin, host) - host;
            // The message takes longer than the answer by twice that.
            let wrong = (set.round_trip_ns * u64::from(asymmetry_percent) / 100).cast_signed();
            for pair in synced.windows(2).filter(|pair| pair[1].0 - pair[0].0 < SECOND) {
                let ((c1, h1), (c2, h2)) = (pair[0], pair[1]);
                let (o1, o2) = ((c1 + c2) / 2 - h1, c2 - (h1 + h2) / 2);
                // A clock that is 50 ppm off is 10 ns off after a round trip.
                assert!((o1 - offset(h1) + wrong).abs() <= 12, "{o1} {}", offset(h1));
                assert!((o2 - offset((h1 + h2) / 2) + wrong).abs() <= 12);
                rounds += 1;
            }
        }
        assert_eq!(rounds, 4);
    }
}

#[test]
fn x24_samples_enclose_the_truth() {
    for round_trip_ns in [2, 20_000, 200_000] {
        let set =
            Set { round_trip_ns, asymmetry_percent: 50, sync_packets: 5, ..small(Form::Relay) };
        let written = written(&set);
        let begin = written.summary.begin_ns;
        let guests = synced(&written.file("relay.pftrace"));
        assert_eq!(guests.len(), 10);
        for (packet, synced) in guests.iter().enumerate() {
            let offset = |host| guest_time(&set, 1 + packet as i64 / 5, begin, host) - host;
            for pair in synced.windows(2).filter(|pair| pair[1].0 - pair[0].0 < SECOND) {
                let ((c1, h1), (c2, h2)) = (pair[0], pair[1]);
                let (o1, o2) = ((c1 + c2) / 2 - h1, c2 - (h1 + h2) / 2);
                // Readings are rounded down, halves toward 0, and clocks drift meanwhile.
                assert!((o1 - offset(h1)).abs() <= (c2 - c1) / 2 + 22);
                assert!((o2 - offset((h1 + h2) / 2)).abs() <= (h2 - h1) / 2 + 22);
                assert!(c2 - c1 >= round_trip_ns.cast_signed() - 22);
            }
        }
    }
}

#[test]
fn x20_rounds_are_30_s_apart_unless_false_ones_are_wanted() {
    for (round_interval_ns, is_false) in [(30 * SECOND, false), (10 * SECOND, true)] {
        let set = Set { round_interval_ns: round_interval_ns.unsigned_abs(), ..small(Form::Relay) };
        // The second guest is slow: it has advanced by 30 s, too.
        let guests = synced(&written(&set).file("relay.pftrace"));
        assert_eq!(guests.len(), 2);
        for synced in guests {
            let gaps: Vec<i64> = synced.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
            let between: Vec<&i64> = gaps.iter().filter(|&&gap| gap > SECOND).collect();
            assert_eq!(between.len(), 2);
            for &&gap in &between {
                assert_eq!(gap < 30 * SECOND, is_false, "{gap}");
                assert!((0..SECOND / 10).contains(&(gap - round_interval_ns)), "{gap}");
            }
        }
    }
}

#[test]
fn the_head_of_a_trace_holds_the_last_rounds_of_when_it_is_read() {
    for read_after in [0, 100 * SECOND] {
        let set = Set { read_after_ns: read_after.unsigned_abs(), ..small(Form::Relay) };
        let written = written(&set);
        let read = written.summary.begin_ns + read_after;
        for synced in synced(&written.file("relay.pftrace")) {
            let (_, last) = *synced.last().unwrap();
            assert!((0..31 * SECOND).contains(&(read - last)), "{}", read - last);
        }
    }
}

/// The readings of clock 64 of each sequence with deltas, by packet.
fn accumulated(trace: &[u8]) -> Vec<(u64, u64, i64)> {
    let mut last = HashMap::new();
    let mut all = Vec::new();
    for (number, packet) in (0..).zip(packets(trace)) {
        let sequence = numbers(packet, 10).unwrap();
        let machine = numbers(packet, 98).unwrap_or_default();
        let key = (machine, sequence);
        if let Some(value) = messages(packet, 6).first().and_then(|taken| reading(taken, 64)) {
            last.insert(key, value);
        }
        if let (Some(delta), Some(last)) = (numbers(packet, 8), last.get_mut(&key)) {
            *last += delta.cast_signed();
            all.push((number, machine, *last));
        }
    }
    all
}

#[test]
fn guests_read_their_clock_when_it_is_said_to_have_been() {
    let set = small(Form::Relay);
    let written = written(&set);
    let truths: HashMap<Row, i64> =
        written.truths.iter().map(|truth| (truth.row, truth.boottime)).collect();
    let read = accumulated(&written.file("relay.pftrace"));
    assert!(read.len() > 2500);
    for (number, machine, value) in read {
        let guest = machine.saturating_sub(0x8c1f_0de0).cast_signed();
        let truth = truths[&Row::Packet(number)];
        let expected = match guest {
            0 => truth,
            _ => guest_time(&set, guest, written.summary.begin_ns, truth),
        };
        assert!((value - expected).abs() <= 2, "packet {number}: {value}, not {expected}");
    }
}

#[test]
fn a_guest_whose_rate_wanders_tells_the_same_in_rounds_and_records() {
    let set = Set {
        guest_wander_ppb: 1000,
        jitter_ns: 0,
        asymmetry_percent: 0,
        guests: 1,
        ..small(Form::Relay)
    };
    let set = Set { machine: set.machine.clone().records(100_000), ..set };
    let written = written(&set);
    let trace = written.file("relay.pftrace");
    let truths: HashMap<Row, i64> =
        written.truths.iter().map(|truth| (truth.row, truth.boottime)).collect();
    let records: Vec<(i64, i64)> = accumulated(&trace)
        .into_iter()
        .filter(|&(_, machine, _)| machine > 0)
        .map(|(number, _, value)| (truths[&Row::Packet(number)], value))
        .collect();
    let (mut seen, mut wandered) = (0, 0);
    for pair in synced(&trace)[0].windows(2).filter(|pair| pair[1].0 - pair[0].0 < SECOND) {
        let ((c1, h1), (c2, _)) = (pair[0], pair[1]);
        let offset = (c1 + c2) / 2 - h1;
        let Some(&(host, guest)) = records.iter().rfind(|&&(host, _)| host <= h1) else {
            continue;
        };
        // Some ms later, by less than 100 ppm.
        assert!((offset - (guest - host)).abs() < 5000);
        let steady = guest_time(&set, 1, written.summary.begin_ns, h1) - h1;
        wandered = wandered.max((offset - steady).abs());
        seen += 1;
    }
    assert!(seen >= 2);
    assert!(wandered > 10_000, "{wandered}");
}

#[test]
fn a_manifest_says_how_far_machines_are_apart() {
    let set = small(Form::Manifest);
    let written = written(&set);
    let text = written.file(written.summary.manifest.unwrap());
    assert!(text.starts_with(b"{\n  \"perfetto_manifest\""));
    let manifest: serde_json::Value = serde_json::from_slice(&text).unwrap();
    let manifest = &manifest["perfetto_manifest"];
    assert_eq!(manifest["version"], 1);
    assert_eq!(manifest["trace_time"]["file"], "host.pftrace");
    let files = manifest["files"].as_array().unwrap();
    let paths: Vec<&str> = files.iter().map(|file| file["path"].as_str().unwrap()).collect();
    assert_eq!(paths, set.files());
    assert!(files[0].get("clocks").is_none());
    for (guest, file) in (1..).zip(&files[1..]) {
        assert_eq!(file["machine"]["name"], format!("vm-{guest}"));
        assert_eq!(file["clocks"]["sync_to"]["file"], "host.pftrace");
        let offset = file["clocks"]["offset_ns"].as_i64().unwrap();
        assert_eq!(offset, -guest * set.guest_offset_ns.cast_signed());
    }
}

#[test]
fn x26_realtime_of_all_machines_is_nearly_the_same() {
    let set = small(Form::Files);
    let written = written(&set);
    let mut apart = Vec::new();
    for (file, name) in set.files().iter().enumerate() {
        let trace = written.file(name);
        let truths: HashMap<Row, i64> = written
            .truths
            .iter()
            .filter(|truth| truth.file == file)
            .map(|truth| (truth.row, truth.boottime))
            .collect();
        for (number, packet) in (0..).zip(packets(&trace)) {
            let snapshot = messages(packet, 6);
            if let Some(realtime) = snapshot.first().and_then(|taken| reading(taken, 1)) {
                let since = truths[&Row::Packet(number)] - written.summary.begin_ns;
                apart.push((file, realtime - since - 1_700_000_000 * SECOND));
            }
        }
    }
    assert_eq!(apart.len(), 30); // ten snapshots each
    for (file, apart) in apart {
        let most = if file == 0 { 0 } else { 100_000 };
        assert!(apart.abs() <= most && (file == 0 || apart != 0), "{file}: {apart}");
    }
}

#[test]
fn processes_have_the_packets_that_one_file_has() {
    let sorted = |form| {
        let set = small(form);
        let written = written(&set);
        let mut all: Vec<Vec<u8>> = Vec::new();
        for name in set.files() {
            all.extend(packets(&written.file(&name)).iter().map(|packet| packet.to_vec()));
        }
        all.sort_unstable();
        all
    };
    assert!(sorted(Form::Processes) == sorted(Form::Together));
}

/// Each file by itself, and the truth of its packets.
#[test]
fn files_of_one_machine_are_imported_as_they_were() {
    for form in [Form::Processes, Form::Together] {
        let mut set = small(form);
        set.machine.mix.logs = 1;
        let written = written(&set);
        for (file, name) in set.files().iter().enumerate() {
            let truths = written.truths.iter().filter(|truth| truth.file == file);
            let imported = imported(&written.file(name));
            let mut lines = 0;
            for truth in truths {
                assert_eq!(imported.get(&truth.row), Some(&truth.boottime), "{name} {truth:?}");
                lines += u64::from(matches!(truth.row, Row::AndroidLog(_)));
            }
            assert_eq!(lines, written.summary.files[file].lines);
            assert!(lines > 100);
        }
    }
}

/// The times of packets and log lines.
fn imported(trace: &[u8]) -> HashMap<Row, i64> {
    let dir = tempfile::tempdir().unwrap();
    let (path, database) = (dir.path().join("t.pftrace"), dir.path().join("t.db"));
    std::fs::write(&path, trace).unwrap();
    let found = import(&[Source::File(path)], &database, &Options::default(), &Monitor::default());
    assert_eq!(found.unwrap().rejected_snapshots, 0);
    let conn = Connection::open(&database).unwrap();
    type Make = fn(u64) -> Row;
    let tables: [(&str, Make); 2] = [("packet", Row::Packet), ("android_logs", Row::AndroidLog)];
    let mut all = HashMap::new();
    for (table, row_of) in tables {
        let query = format!("SELECT id, ts FROM {table} WHERE ts IS NOT NULL");
        let mut statement = conn.prepare(&query).unwrap();
        let rows = statement.query_map([], |row| Ok((row.get::<_, i64>(0)?, row.get(1)?)));
        for row in rows.unwrap() {
            let (id, ts) = row.unwrap();
            all.insert(row_of(id.unsigned_abs()), ts);
        }
    }
    all
}
