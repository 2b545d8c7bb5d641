//! `timebase rewrite`: the rewritten trace has the same import as the source (rules RW).

mod converted;
mod cut;
mod found;
mod random;
mod tables;

use std::fs;
use std::io::Read;
use std::thread;

use timebase_import::Conversion;
use timebase_lab::encode::{Message, trace_of};
use timebase_lab::reliability::DamageKind;
use timebase_lab::synth::{Form, Preset, Set, Settings, write, write_set};

use crate::model::threads::generate_gpu;
use crate::support::{Place, count, data, files, run};
use tables::{Pair, field, fields};

/// Each trace is converted by the nearest snapshots, and every third one also by rates.
fn conversions(name: &str) -> &'static [Conversion] {
    const BOTH: [Conversion; 2] = [Conversion::Nearest, Conversion::Linear];
    let sum: u32 = name.bytes().map(u32::from).sum();
    if sum.is_multiple_of(3) { &BOTH } else { &BOTH[..1] }
}

/// Compares pairs of many traces, on two threads, and shows the differences.
fn all_are_as_promised(cases: &[(String, Vec<u8>)]) {
    let check = |(name, trace): &(String, Vec<u8>)| {
        let mut wrong = String::new();
        for conversion in conversions(name) {
            let Some(pair) = Pair::of_bytes(trace, *conversion) else {
                continue;
            };
            // A time that only rates refuse is counted, and placed by the nearest snapshot.
            let is_counted = *conversion == Conversion::Linear && !pair.told.unmet.is_empty();
            let found = match is_counted {
                true => pair.differences_of_times(),
                false => pair.differences(),
            };
            if !found.is_empty() {
                let (name, told) = (conversion.name(), &pair.told.unmet);
                wrong += &format!("by {name}, {told:?}: {}\n", found.join("\n"));
            }
        }
        (!wrong.is_empty()).then(|| format!("{name} {wrong}"))
    };
    let halves = cases.chunks(cases.len().div_ceil(2).max(1));
    let wrong: Vec<String> = thread::scope(|scope| {
        let halves: Vec<_> = halves
            .map(|half| scope.spawn(move || half.iter().filter_map(check).collect::<Vec<_>>()))
            .collect();
        let halves = halves.into_iter().map(|half| half.join().unwrap());
        halves.flatten().collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn rw1_rw5_rw6_rw10_traces_of_gpus_are_imported_alike() {
    // Traces of one machine: guests wait for the host's clock, so ids can differ (RW1).
    let is_of_guest = |packet: &Message| fields(&packet.0).iter().any(|(field, ..)| *field == 98);
    let traces = (0..80).map(|seed| (seed, generate_gpu::sound_trace(seed)));
    let traces = traces.filter(|(_, packets)| !packets.iter().any(is_of_guest));
    let traces = traces.map(|(seed, packets)| (format!("seed {seed}"), trace_of(&packets)));
    all_are_as_promised(&traces.collect::<Vec<_>>());
}

fn recorded() -> Vec<(String, Vec<u8>)> {
    let traces = files("tests/data", &["pftrace"]);
    let traces = traces.iter().map(|path| (path.display().to_string(), fs::read(path).unwrap()));
    traces.collect()
}

#[test]
fn rw1_rw5_rw10_every_recorded_trace_is_imported_alike() {
    all_are_as_promised(&recorded());
}

#[test]
fn rw1_rw6_rw10_traces_of_each_generator_are_imported_alike() {
    let presets = [
        Preset::Packets,
        Preset::Events,
        Preset::Logs,
        Preset::Hops,
        Preset::Snapshots,
        Preset::Sequences,
        Preset::Mixed,
        Preset::Drift,
        Preset::Wander,
        Preset::Jitter,
        Preset::Outliers,
        Preset::Suspends,
        Preset::Gigahertz,
        Preset::Bend,
        Preset::Hole,
    ];
    let mut cases = Vec::new();
    for preset in presets {
        for seed in 0..2 {
            let mut trace = Vec::new();
            let mut settings = Settings::preset(preset).records(200).seed(seed);
            // An event that waits for a snapshot comes after others of its time, so its id differs.
            settings.mix.late = 0;
            write(&settings, &mut trace).unwrap();
            cases.push((format!("{preset:?}, seed {seed}"), trace));
        }
    }
    all_are_as_promised(&cases);
}

#[test]
fn rw1_rw8_machines_of_one_trace_come_to_one_time() {
    let mut cases = Vec::new();
    for seed in 0..4 {
        let mut set = Set::of(Form::Relay);
        set.machine = set.machine.records(1000).seed(seed);
        set.guests = 2;
        let place = Place::new();
        let path = place.path("relay.pftrace");
        write_set(&set, |_| fs::File::create(&path)).unwrap();
        cases.push((format!("seed {seed}"), fs::read(&path).unwrap()));
    }
    all_are_as_promised(&cases);
}

/// The rewritten form of a damaged copy has all undamaged packets, and nothing else.
#[test]
fn rw7_what_is_written_of_a_damaged_trace_is_whole() {
    for name in ["sdk.pftrace", "desktop-compact.pftrace", "system-compressed.pftrace"] {
        let trace = fs::read(data(name)).unwrap();
        for (number, &kind) in DamageKind::ALL.iter().enumerate() {
            let copy = kind.damage(&trace, 1, number as u64);
            let Some(pair) = Pair::of_bytes(&copy.bytes, Conversion::Nearest) else {
                continue;
            };
            let damage = "SELECT count(*) FROM import_log WHERE code IN
                ('cut', 'damaged', 'corrupt_packet', 'corrupt_payload')";
            assert_eq!(count(&pair.b, damage), 0, "{name}, {kind}");
            let whole = "SELECT count(*) FROM packet WHERE type IS NOT 'corrupt' AND id NOT IN
                (SELECT packet_id FROM import_log WHERE code = 'corrupt_payload')";
            let bare = "SELECT count(*) FROM packet WHERE type IS NULL";
            let (a, b) = (count(&pair.a, whole), count(&pair.b, "SELECT count(*) FROM packet"));
            let bare = count(&pair.b, bare) - count(&pair.a, bare);
            assert_eq!(a, b - bare, "{name}, {kind}");
            let times = "SELECT total(ts) FROM packet WHERE type IS NOT NULL AND id NOT IN
                (SELECT packet_id FROM import_log WHERE code = 'corrupt_payload')";
            let times = |conn| {
                let sum: f64 =
                    rusqlite::Connection::query_row(conn, times, [], |row| row.get(0)).unwrap();
                sum
            };
            assert_eq!(times(&pair.a), times(&pair.b), "{name}, {kind}");
        }
    }
}

const BOOTTIME: u64 = 6;

/// A snapshot of the service, with a clock and its reading each.
fn snapshot(readings: &[(u64, u64)]) -> Message {
    let readings = readings.iter().fold(Message::new(), |message, &(id, reading)| {
        message.message(1, Message::new().number(1, id).number(2, reading))
    });
    Message::new().number(10, 1).message(6, readings)
}

/// The packets of the rewritten trace.
fn packets(pair: &Pair) -> Vec<Vec<u8>> {
    let written = pair.written();
    let packets = fields(&written).into_iter();
    packets.map(|(_, packet, _)| packet.to_vec()).collect()
}

fn nearest(packets: &[Message]) -> Pair {
    Pair::of_bytes(&trace_of(packets), Conversion::Nearest).unwrap()
}

#[test]
fn rw2_a_header_gets_its_time_and_unknown_fields_stay() {
    let event = Message::new().number(9, 3).text(23, "x").text(9999, "of an extension");
    let packet = Message::new()
        .text(5000, "unknown")
        .number(8, 500)
        .number(58, 64)
        .number(10, 7)
        .message(11, event.clone())
        .number(6000, 3);
    let clocks = Message::new()
        .message(1, Message::new().number(1, 64).number(2, 400))
        .message(1, Message::new().number(1, BOOTTIME).number(2, 1400));
    let of_sequence = Message::new().number(10, 7).number(13, 1).message(6, clocks);
    let defaults = Message::new()
        .number(10, 7)
        .message(59, Message::new().number(58, 64).message(11, Message::new().number(11, 1)));
    let trace = [snapshot(&[(BOOTTIME, 1000), (3, 10)]), of_sequence, defaults, packet];
    let pair = nearest(&trace);
    assert_eq!(pair.differences(), Vec::<String>::new());
    let written = packets(&pair);
    let expected = Message::new()
        .text(5000, "unknown")
        .number(8, 1500)
        .number(10, 7)
        .message(11, event)
        .number(6000, 3);
    assert_eq!(written[3], expected.0);
    let without = Message::new()
        .number(10, 7)
        .message(59, Message::new().message(11, Message::new().number(11, 1)));
    assert_eq!(written[2], without.0);
}

#[test]
fn rw2_a_clock_is_written_where_nothing_else_says_it() {
    // Before the first snapshot, and with a trace time other than BOOTTIME.
    let early = Message::new().number(8, 5).number(58, BOOTTIME).number(10, 2);
    let pair = nearest(&[early.clone(), snapshot(&[(BOOTTIME, 9)])]);
    assert_eq!(packets(&pair)[0], early.0);
    let readings = Message::new()
        .message(1, Message::new().number(1, BOOTTIME).number(2, 100))
        .message(1, Message::new().number(1, 3).number(2, 40))
        .number(2, 3);
    let primary = Message::new().number(10, 1).message(6, readings);
    let pair =
        nearest(&[primary, Message::new().number(8, 150).number(58, BOOTTIME).number(10, 2)]);
    let expected = Message::new().number(8, 90).number(58, 3).number(10, 2);
    assert_eq!(packets(&pair)[1], expected.0);
    assert_eq!(pair.differences(), Vec::<String>::new());
}

#[test]
fn rw3_what_nobody_can_place_keeps_its_clock_and_timestamp() {
    let default =
        Message::new().number(10, 7).number(13, 1).message(59, Message::new().number(58, 65));
    let lost = Message::new().number(8, 77).number(10, 7);
    let without = Message::new().number(10, 7).message(11, Message::new().number(9, 3));
    let pair = nearest(&[snapshot(&[(BOOTTIME, 9), (3, 4)]), default, lost, without.clone()]);
    let written = packets(&pair);
    assert_eq!(written[2], Message::new().number(8, 77).number(58, 65).number(10, 7).0);
    assert_eq!(written[3], without.0);
    assert_eq!(pair.told.unplaced, 1);
    assert_eq!(pair.differences(), Vec::<String>::new());
}

#[test]
fn rw4_snapshots_stay_as_they_were_recorded() {
    let trace = [snapshot(&[(BOOTTIME, 100), (1, 7)]), snapshot(&[(BOOTTIME, 200), (1, 107)])];
    let pair = nearest(&trace);
    assert_eq!(pair.written(), trace_of(&trace));
}

#[test]
fn rw5_kernel_events_leave_their_clock_and_may_go_back() {
    let event = |time| Message::new().number(1, time).number(2, 5).message(15, Message::new());
    let bundle = Message::new()
        .number(1, 0)
        .message(2, event(1099))
        .message(2, event(1101))
        .number(5, 4)
        .number(9, 1000);
    let compact = Message::new()
        .packed(1, &[1099, 2])
        .packed(2, &[1, 1])
        .packed(3, &[7, 8])
        .packed(4, &[120, 120])
        .packed(6, &[0, 0])
        .text(5, "a");
    let compact = Message::new().number(1, 1).message(4, compact).number(5, 4);
    // Between the two snapshots, BOOTTIME advanced less than MONOTONIC_RAW.
    let trace = [
        snapshot(&[(BOOTTIME, 3000), (5, 1000)]),
        snapshot(&[(BOOTTIME, 3050), (5, 1100)]),
        Message::new().number(8, 4000).number(10, 2).message(1, bundle),
        Message::new().number(8, 4001).number(10, 2).message(1, compact),
    ];
    let pair = nearest(&trace);
    assert_eq!(pair.differences(), Vec::<String>::new());
    let written = packets(&pair);
    let of_bundle = field(&written[2], 1);
    assert!(fields(of_bundle).iter().all(|(number, ..)| *number != 5));
    let times = fields(of_bundle).into_iter().filter(|(number, ..)| *number == 2);
    let times: Vec<u64> = times.map(|(_, event, _)| fields(event)[0].2).collect();
    assert_eq!(times, [3099, 3051]);
}

#[test]
fn rw5_the_own_time_of_a_track_event_becomes_its_packets() {
    let event = Message::new().number(9, 3).number(16, 2).number(17, 9);
    let trace = [
        snapshot(&[(BOOTTIME, 5000), (3, 1000)]),
        Message::new().number(10, 7).message(11, event.clone()),
        Message::new().number(8, 9000).number(10, 7).message(11, event),
    ];
    let pair = nearest(&trace);
    assert_eq!(pair.differences(), Vec::<String>::new());
    let event = Message::new().number(9, 3).number(17, 9);
    let written = packets(&pair);
    let expected = Message::new().number(8, 6000).number(10, 7).message(11, event);
    assert_eq!(written[1], expected.0);
    assert_eq!(written[2], expected.0);
}

#[test]
fn rw6_a_log_line_stays_on_the_wall_clock_or_is_counted() {
    let line = |time: u64| Message::new().message(1, Message::new().number(5, time));
    let at = |time: u64, payload| Message::new().number(8, time).number(10, 2).message(39, payload);
    // By rates, the second line is 50 ns later than by the nearest snapshot.
    let trace = [
        snapshot(&[(BOOTTIME, 1_000_000), (1, 2_000_000)]),
        at(1_000_100, line(2_000_500)),
        snapshot(&[(BOOTTIME, 2_000_000), (1, 3_000_100)]),
        snapshot(&[(BOOTTIME, 3_000_000), (1, 4_000_200)]),
        at(3_000_000, line(3_500_150)),
    ];
    let pair = Pair::of_bytes(&trace_of(&trace), Conversion::Linear).unwrap();
    let lines = "SELECT group_concat(ts) FROM android_log_record";
    let lines = |conn: &rusqlite::Connection| -> String {
        conn.query_row(lines, [], |row| row.get(0)).unwrap()
    };
    assert_eq!(lines(&pair.a), lines(&pair.b));
    assert_eq!(pair.told.unmet, []);
    // The wall clock is 900 ppm slow. From 1.9991 s to the next snapshot, no reading leads to the time.
    let snapshots = (0..6).map(|second| {
        let (boottime, wall) = (second * 1_000_000_000, second * 999_100_000);
        // Round readings would be those of coarse clocks.
        snapshot(&[(BOOTTIME, 1_000_000_007 + boottime), (1, 1_000_000_003 + wall)])
    });
    let line = at(6_000_000_000, line(1_998_650_408));
    let trace: Vec<_> = snapshots.chain([line]).collect();
    let told = Pair::of_bytes(&trace_of(&trace), Conversion::Linear).unwrap().told;
    let [unmet] = told.unmet.as_slice() else {
        panic!("{told:?}");
    };
    assert_eq!((unmet.what, unmet.count), (["log line", "log lines"], 1));
    assert!(unmet.largest.unwrap().abs_diff(450_000) < 1_000, "{unmet:?}");
}

/// The first line waits for a snapshot, so nothing can be written before all snapshots are known. They are
/// taken from the survey once all machines are known.
#[test]
fn rw6_a_time_before_all_snapshots_is_written_by_all_of_them() {
    let line = |time: u64| {
        let line = Message::new().message(1, Message::new().number(5, time));
        Message::new().number(10, 2).message(39, line)
    };
    // The wall clock is 900 ppm slow.
    let snapshots = |begin: u64| {
        (0..6).map(move |second| {
            let (boottime, wall) = (second * 1_000_000_000, second * 999_100_000);
            snapshot(&[(BOOTTIME, begin + boottime), (1, begin + wall)])
        })
    };
    let begin = 1_000_000_007;
    let mut alone = vec![line(begin + 2_450_000_000)];
    alone.extend(snapshots(begin));
    alone.push(line(begin + 1_500_000_000));

    const OTHER: u64 = 5;
    let begin = 60_000_000_007;
    let mut two = alone.clone();
    two.push(line(begin + 2_450_000_000).number(98, OTHER));
    two.extend(snapshots(begin).map(|snapshot| snapshot.number(98, OTHER)));
    two.push(line(begin + 1_500_000_000).number(98, OTHER));
    two.extend(alone.iter().skip(1).cloned());

    for (trace, lines) in [(&alone, 2), (&two, 5)] {
        let pair = Pair::of_bytes(&trace_of(trace), Conversion::Linear).unwrap();
        assert_eq!(pair.differences(), Vec::<String>::new());
        assert_eq!(pair.told.unmet, []);
        let placed = "SELECT count(ts) FROM android_log_record";
        assert_eq!(count(&pair.a, placed), lines);
    }
}

#[test]
fn rw8_guests_are_on_the_hosts_time_without_synchronizations() {
    let pair = Pair::of(&[data("several/vm.pftrace")], Conversion::Nearest).unwrap();
    assert_eq!(pair.differences(), Vec::<String>::new());
    assert_eq!(pair.told.left_out.len(), 1);
    let syncs = "SELECT count(*) FROM packet WHERE type = 'remote_clock_sync'";
    assert_eq!((count(&pair.a, syncs), count(&pair.b, syncs)), (1, 1));
    let rounds = "SELECT count(*) FROM remote_clock_sync";
    assert!(count(&pair.a, rounds) > 0 && count(&pair.b, rounds) == 0);
}

/// A reader without knowledge of clocks: it only reads fields and timestamps.
fn timestamps(trace: &[u8]) -> Vec<(u64, u64)> {
    let mut found = Vec::new();
    for (_, packet, _) in fields(trace) {
        let packet = fields(packet);
        let number = |field| packet.iter().rev().find(|(number, ..)| *number == field);
        let is_snapshot = number(6).is_some();
        if let (Some((.., time)), false) = (number(8), is_snapshot) {
            assert!(number(58).is_none(), "a clock is left");
            found.push((number(10).map_or(0, |(.., seq)| *seq), *time));
        }
    }
    found
}

/// A counter of 19.2 MHz that is 180 ppm fast, for a reader that knows no clocks.
#[test]
fn rw1_a_drifting_clock_is_right_for_a_reader_without_clocks() {
    const START: u64 = 1_000_000_000_000;
    let counted =
        |ns: u64| (u128::from(ns) * 19_200_000 * 1_000_180 / 1_000_000 / 1_000_000_000) as u64;
    let counter = 0x8000_0001;
    let mut trace = Vec::new();
    let mut truth = Vec::new();
    for second in 0..60u64 {
        let ns = second * 1_000_000_000;
        if second % 10 == 0 {
            let reading = |id: u64, value: u64, unit: u64| {
                Message::new().number(1, id).number(2, value).number(4, unit)
            };
            let clocks = Message::new()
                .message(1, reading(BOOTTIME, START + ns, 1))
                .message(1, reading(counter, counted(ns), 52));
            trace.push(Message::new().number(10, 3).message(6, clocks));
        }
        let at = ns + 456_000_000;
        truth.push(START + at);
        let packet = Message::new().number(8, counted(at)).number(58, counter).number(10, 3);
        trace.push(packet.message(11, Message::new().number(9, 3)));
    }
    let worst = |conversion| {
        let pair = Pair::of_bytes(&trace_of(&trace), conversion).unwrap();
        let found = timestamps(&pair.written());
        let off = found.iter().zip(&truth).map(|((_, time), truth)| time.abs_diff(*truth));
        assert_eq!(found.len(), truth.len());
        off.max().unwrap()
    };
    // A tick takes 52.08 ns, and the snapshots say 52, which is 1,600 ppm more.
    assert!(worst(Conversion::Nearest) > 1_000_000);
    assert!(worst(Conversion::Linear) < 200, "{}", worst(Conversion::Linear));
}

#[test]
fn rw11_the_name_says_how_it_is_compressed_and_nothing_is_left_of_a_failure() {
    let place = Place::new();
    let trace = data("system-compressed.pftrace").display().to_string();
    let path = |name: &str| place.path(name).display().to_string();
    for name in ["o.pftrace", "o.pftrace.gz", "o.pftrace.zst"] {
        let said = run(&["rewrite", &trace, "-o", &path(name)]);
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        assert!(said.stderr.contains("BOOTTIME"), "{}", said.stderr);
    }
    let plain = fs::read(place.path("o.pftrace")).unwrap();
    let mut unpacked = Vec::new();
    let packed = fs::File::open(place.path("o.pftrace.gz")).unwrap();
    flate2::read::GzDecoder::new(packed).read_to_end(&mut unpacked).unwrap();
    assert_eq!(unpacked, plain);
    let packed = fs::read(place.path("o.pftrace.zst")).unwrap();
    assert_eq!(zstd::decode_all(&packed[..]).unwrap(), plain);
    for (arguments, expected) in [
        (["-o", "o.pftrace"], "exists; name another file with -o, or replace it with --force"),
        (["-o", "none/o.pftrace"], "there is no directory"),
        (["-o", ""], "directory"),
        (["-o", "small"], "--max-size"),
    ] {
        let output = path(arguments[1]);
        let mut all = vec!["rewrite", &trace, "-o", &output];
        if expected == "--max-size" {
            all.extend(["--max-size", "100k"]);
        }
        let said = run(&all);
        assert_eq!(said.code, Some(1), "{arguments:?} {}", said.stderr);
        assert!(said.stderr.contains(expected), "{}", said.stderr);
    }
    let said = run(&["rewrite", &trace, "--dry-run"]);
    assert!(said.stderr.contains("would be written"), "{}", said.stderr);
    let said = run(&["rewrite", &trace]);
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    let again = run(&["rewrite", &trace, "-o", &path("o.pftrace"), "--force"]);
    assert_eq!(again.code, Some(0));
    assert_eq!(place.files(), ["o.pftrace", "o.pftrace.gz", "o.pftrace.zst"]);
}

#[test]
fn rw9_one_trace_is_not_written_under_the_name_of_a_zip() {
    let place = Place::new();
    let out = place.path("o.zip").display().to_string();
    let (trace, json) = ("tests/data/app.pftrace", "tests/data/training.json");
    let given: [&[&str]; 3] = [&[trace], &[json], &[trace, "--from", "3337000000000"]];
    for arguments in given {
        let said = run(&[&["rewrite", "-o", out.as_str()], arguments].concat());
        assert_eq!(said.code, Some(1), "{arguments:?}");
        let told = "one trace is written as it is, and not as a zip; name a file such as";
        assert!(said.stderr.contains(told), "{}", said.stderr);
        assert!(!said.stderr.contains("whole"), "{}", said.stderr);
    }
    assert!(place.files().is_empty());
}

#[test]
fn rw11_what_cannot_be_rewritten_is_told_in_a_sentence() {
    let place = Place::new();
    let path = |name: &str| place.path(name).display().to_string();
    let trace = path("t.pftrace");
    fs::copy(data("nearest.pftrace"), &trace).unwrap();
    let said = run(&["import", &trace, "-o", &path("t.db")]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let fails = |arguments: &[&str], expected: &str| {
        let said = run(&[&["rewrite"], arguments].concat());
        assert_eq!(said.code, Some(1), "{arguments:?} {}", said.stderr);
        assert!(said.stderr.contains(expected), "{}", said.stderr);
        assert_eq!(place.files(), ["t.db", "t.pftrace"]);
    };
    let out = path("o.pftrace");
    fails(&[&path("t.db"), "-o", &out], "rewriting needs the trace that it was made of");
    fails(&[&path("t.db"), "-o", &out], "t.pftrace");
    fails(&[&trace, "-o", &trace, "--force"], "is a trace that is read");
    fails(&[&trace, "-o", &path("t.db"), "--force"], "is a database");
    fails(&[&path("none.pftrace"), "-o", &out], "none.pftrace");
    let readme = crate::support::repository().join("README.md").display().to_string();
    fails(&[&readme, "-o", &out], "is not a trace");
}

/// Compares sets by both conversions. For a set with times that no reading leads to (RW6), compares
/// only the times.
fn sets_are_as_promised(sets: &[(String, Vec<u8>)]) {
    let check = |(name, set): &(String, Vec<u8>)| {
        let mut wrong = String::new();
        for conversion in [Conversion::Nearest, Conversion::Linear] {
            let Some(pair) = Pair::of_bytes(set, conversion) else {
                continue;
            };
            let found = match pair.told.unmet.as_slice() {
                [] => pair.differences(),
                _ => pair.differences_of_times(),
            };
            if !found.is_empty() {
                wrong += &format!("{name} by {}: {}\n", conversion.name(), found.join("\n"));
            }
        }
        (!wrong.is_empty()).then_some(wrong)
    };
    let wrong: Vec<String> = sets.iter().filter_map(check).collect();
    let (count, all) = (wrong.len(), sets.len());
    assert_eq!(count, 0, "{count} of {all}\n{}", wrong.join("\n"));
}

fn recorded_sets(folder: &str) -> Vec<(String, Vec<u8>)> {
    let sets = files(folder, &["tar", "zip"]);
    assert!(!sets.is_empty());
    let sets = sets.iter();
    sets.map(|path| (path.display().to_string(), fs::read(path).unwrap())).collect()
}

#[test]
fn rw9_rw10_sets_of_files_are_imported_alike() {
    sets_are_as_promised(&recorded_sets("tests/data/merge"));
}

#[test]
fn rw9_rw10_recorded_sets_of_files_are_imported_alike() {
    sets_are_as_promised(&recorded_sets("tests/data/several"));
    // Traces in JSON are left out.
    let mut of_checks = recorded_sets("tests/data/doctor");
    of_checks.retain(|(name, _)| !name.contains("json_"));
    sets_are_as_promised(&of_checks);
}
