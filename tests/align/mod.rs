//! Clocks aligned by causality, through the program (rules AL): fixtures with their truth, invented machines, and a naive
//! count of messages.

mod collectives;
mod naive;
mod tighten;
mod told;
mod world;

use std::fs;
use std::path::Path;

use rusqlite::Connection;

use self::world::{Event, Machine, Role, manifest, text, write};
use crate::merge::archive::{File, zip};
use crate::support::kernel::{self, new};
use crate::support::{Imported, PROGRAM, Place, Said, answer, data, repository, rows, run};
use timebase_lab::encode::{Message, trace_of};

/// Fields of `FtraceEvent`.
const NETIF_RECEIVE_SKB: u32 = 360;
const NET_DEV_XMIT: u32 = 361;

/// Imports files into `out.db`, which must succeed.
fn import(place: &Place, files: &[String], args: &[&str]) -> Connection {
    let said = attempt(place, files, args);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    Connection::open(place.path("out.db")).unwrap()
}

fn attempt(place: &Place, files: &[String], args: &[&str]) -> Said {
    let out = text(place.path("out.db"));
    let files = files.iter().map(String::as_str);
    let all: Vec<&str> = ["import"].into_iter().chain(files).collect();
    run(&[&all[..], &["-o", &out, "--force"], args].concat())
}

fn fixture(name: &str, files: &[&str]) -> Vec<String> {
    files.iter().map(|file| text(data(&format!("align/{name}/{file}")))).collect()
}

fn one(conn: &Connection, sql: &str) -> i64 {
    conn.query_row(sql, [], |row| row.get(0)).unwrap()
}

fn alone(conn: &Connection, columns: &str) -> Vec<String> {
    let all = rows(conn, &format!("SELECT {columns} FROM clock_alignment"));
    let [row] = &all[..] else { panic!("{all:?}") };
    row.clone()
}

const PAIR: [&str; 2] = ["client.pftrace", "server.pftrace"];

fn pair(args: &[&str]) -> Connection {
    let manifest = text(data("align/pair/machines.json"));
    let args = [&["--manifest", &manifest], args].concat();
    import(&Place::new(), &fixture("pair", &PAIR), &args)
}

#[test]
fn al20_an_assumption_that_messages_contradict_is_replaced() {
    let conn = pair(&[]);
    let columns = "evidence, sides, messages_ab, messages_ba, inverted, used, reason";
    let reason = "messages contradict the assumption";
    assert_eq!(alone(&conn, columns), ["flows", "both", "41", "40", "37", "1", reason]);
    let how = "SELECT group_concat(how, ' ') FROM placement";
    assert_eq!(rows(&conn, how), [["trace_time causality"]]);
    // 3.4 ms, less what the delays of messages leave open.
    let wrong_by = one(&conn, "SELECT wrong_by FROM clock_alignment");
    assert!((3_100_000..3_400_000).contains(&wrong_by), "{wrong_by}");
    // The server's BOOTTIME is 4,900 s ahead, and gains 30 ppm from 100 s on.
    let truth = "4900000000000 + (value - 100000000000) * 30 / 1000000";
    let outside = format!(
        "SELECT count(*) FROM clock_alignment_knot WHERE {truth} NOT BETWEEN earliest AND latest"
    );
    assert_eq!(one(&conn, &outside), 0);
    let worst = format!("SELECT max(abs(offset - ({truth}))) FROM clock_alignment_knot");
    assert!(one(&conn, &worst) < 50_000);
    // Readings keep their clock.
    let kept = "SELECT count(*) FROM packet WHERE machine_id = 1 AND clock_ts < 4900000000000";
    assert_eq!(one(&conn, kept), 0);
}

#[test]
fn al16_no_accepted_message_arrives_before_it_was_sent() {
    let place = Place::new();
    let manifest = text(data("align/pair/machines.json"));
    drop(import(&place, &fixture("pair", &PAIR), &["--manifest", &manifest]));
    let sql = "WITH step AS MATERIALIZED (
                 SELECT id, ts, packet_json(data) ->> '$.track_event.flow_ids[0]' AS sent,
                        packet_json(data) ->> '$.track_event.terminating_flow_ids[0]' AS arrived
                 FROM packet WHERE type = 'track_event')
               SELECT count(*), sum(i.ts < o.ts),
                      sum(i.ts < o.ts AND i.id NOT IN (SELECT packet_in FROM causal_outlier))
               FROM step AS o JOIN step AS i ON i.arrived = o.sent";
    let said = answer(&["query", &text(place.path("out.db")), sql, "--format", "csv"]);
    // The wrong pair still arrives too early.
    assert_eq!(said.lines().nth(1), Some("81,1,0"), "{said}");
}

#[test]
fn al20_report_moves_nothing_and_off_says_nothing() {
    let [report, off] = ["report", "off"].map(|mode| pair(&["--align", mode]));
    let times = "SELECT id, ts, unresolved FROM packet";
    assert_eq!(rows(&report, times), rows(&off, times));
    assert_eq!(one(&report, "SELECT count(*) FROM clock_alignment WHERE inverted = 37"), 1);
    assert_eq!(one(&off, "SELECT count(*) FROM clock_alignment"), 0);
    let how = "SELECT how FROM placement ORDER BY machine_id";
    assert_eq!(rows(&report, how), [["trace_time"], ["realtime"]]);
}

#[test]
fn al20_both_conversions_put_events_at_the_same_time() {
    let [nearest, linear] = ["nearest", "linear"].map(|how| pair(&["--conversion", how]));
    let times = "SELECT ts FROM packet WHERE machine_id = 1 AND type = 'track_event' ORDER BY id";
    let [nearest, linear] = [&nearest, &linear].map(|conn| rows(conn, times));
    assert_eq!((nearest.len(), linear.len()), (81 * 2, 81 * 2));
    for (nearest, linear) in nearest.iter().zip(&linear) {
        let [nearest, linear] = [nearest, linear].map(|row| row[0].parse::<i64>().unwrap());
        assert!(nearest.abs_diff(linear) <= 1, "{nearest} {linear}");
    }
}

#[test]
fn al14_messages_one_way_bound_one_side_and_move_nothing() {
    let manifest = text(data("align/oneway/machines.json"));
    let args = ["--manifest", &manifest];
    let conn = import(&Place::new(), &fixture("oneway", &PAIR), &args);
    let columns = "sides, earliest, messages_ab, messages_ba, used, reason";
    let reason = "messages bound one side only";
    assert_eq!(alone(&conn, columns), ["upper", "[NULL]", "40", "0", "0", reason]);
    assert_eq!(one(&conn, "SELECT count(*) FROM placement WHERE how = 'realtime'"), 1);
}

#[test]
fn al3_collectives_align_ranks() {
    let files = ["rank0.json", "rank1.json", "rank2.json", "rank3.json"];
    let conn = import(&Place::new(), &fixture("ranks", &files), &[]);
    let how = "SELECT group_concat(how, ' ') FROM placement";
    assert_eq!(rows(&conn, how), [["trace_time causality causality causality"]]);
    let path = repository().join("tests/data/align/ranks/truth.json");
    let truth: serde_json::Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let mut checked = 0;
    for rank in 1..4 {
        let knots = format!(
            "SELECT value, offset, earliest, latest FROM clock_alignment_knot WHERE alignment_id =
               (SELECT id FROM clock_alignment WHERE machine_a = 0 AND machine_b = {rank})"
        );
        let number = |name: &str| truth[name][rank].as_f64().unwrap();
        for knot in rows(&conn, &knots) {
            let knot: Vec<f64> = knot.iter().map(|cell| cell.parse().unwrap()).collect();
            let [value, offset, earliest, latest] = knot[..] else { panic!() };
            let at = value - 7e12;
            let expected = number("offset_ns") + number("ppm") * 1e-6 * at;
            let is_inside = earliest - 6_000.0 <= expected && expected <= latest + 6_000.0;
            assert!(
                is_inside && (offset - expected).abs() < 30_000.0,
                "{rank} {knot:?} {expected}"
            );
            checked += 1;
        }
    }
    assert!(checked > 10);
}

/// Two machines whose wall clocks agree, but for this number of ns.
fn machines(apart: i64) -> [Machine; 2] {
    let first = Machine { boottime: 100_000_000_000, wall: 0, ppm: 0, stop: (0, 0) };
    [first, Machine { boottime: 7_000_000_000_000, wall: apart, ppm: 0, stop: (0, 0) }]
}

/// A request and a reply each second, 200 µs each way.
fn talk(count: i64) -> Vec<Event> {
    let mut events = Vec::new();
    for i in 0..count {
        let at = 1_000_000_000 + i * 1_000_000_000;
        for (way, machine) in [(0, 0), (1, 1)] {
            let at = at + way * 1_000_000;
            let flow = (2 * i + way) as u64 + (1 << 40);
            let send = Event { machine, at, role: Role::Through, flow, dur: 0 };
            let arrive = Event { machine: 1 - machine, at: at + 200_000, role: Role::End, ..send };
            events.extend([send, arrive]);
        }
    }
    events
}

#[test]
fn al20_an_assumption_that_holds_stays_and_gets_an_error() {
    let place = Place::new();
    let (files, entries) = write(&place, &machines(50_000), &talk(30));
    let manifest = manifest(&place, &entries, "");
    let all = |mode: &str| import(&place, &files, &["--manifest", &manifest, "--align", mode]);
    let times = "SELECT id, ts FROM packet";
    let off = rows(&all("off"), times);
    let conn = all("auto");
    assert_eq!(rows(&conn, times), off);
    let reason = "messages do not contradict the assumption";
    assert_eq!(alone(&conn, "inverted, used, reason"), ["0", "0", reason]);
    // The bounds are 200 µs on each side of the truth, and the wall clocks 50 µs off.
    let error = one(&conn, "SELECT error FROM placement WHERE how = 'realtime'");
    assert!((240_000..300_000).contains(&error), "{error}");
    // Another mode asks for it.
    let conn = all("flows");
    assert_eq!(alone(&conn, "used, reason"), ["1", "the mode asks for it"]);
    let conn = all("collectives");
    assert_eq!(one(&conn, "SELECT count(*) FROM clock_alignment"), 0);
    // The manifest has no pairs.
    let said = attempt(&place, &files, &["--manifest", &manifest, "--align", "pairs"]);
    assert!(said.stderr.contains("align.pairs is required by the mode 'pairs'"), "{}", said.stderr);
}

#[test]
fn al20_few_messages_move_nothing() {
    let place = Place::new();
    let (files, entries) = write(&place, &machines(50_000_000), &talk(9));
    let manifest = manifest(&place, &entries, "");
    let conn = import(&place, &files, &["--manifest", &manifest]);
    let reason = "fewer than 10 messages each way are accepted";
    assert_eq!(alone(&conn, "inverted, used, reason"), ["9", "0", reason]);
}

#[test]
fn al14_nothing_but_wrong_pairs_relates_nothing() {
    let place = Place::new();
    let mut events = talk(60);
    let flows: Vec<u64> = events.iter().map(|event| event.flow).collect();
    for (event, step) in events.iter_mut().filter(|event| event.role == Role::End).zip(0..) {
        // The reply to a request of some other second.
        let other = flows[(step * 74 + 12) % flows.len()];
        event.flow = other ^ (event.flow ^ other) & 1;
    }
    let (files, entries) = write(&place, &machines(50_000_000), &events);
    let manifest = manifest(&place, &entries, "");
    let conn = import(&place, &files, &["--manifest", &manifest]);
    assert_eq!(alone(&conn, "sides, used"), ["contradictory", "0"]);
    assert_eq!(one(&conn, "SELECT count(*) FROM clock_alignment_knot"), 0);
}

#[test]
fn al5_kernel_events_of_two_machines_are_no_evidence() {
    let place = Place::new();
    let machines = machines(50_000_000);
    let (files, entries) = write(&place, &machines, &[]);
    // One machine sends a packet, and the other receives it and wakes the thread that waits for it. The same the other
    // way, and each machine wakes a thread with the id of the sender on the other.
    for (number, file) in files.iter().enumerate() {
        let events = (0..60).map(|round: u64| {
            let is_sender = round % 2 == number as u64;
            let truth = 1_000_000_000 + round as i64 * 500_000_000;
            let time = |delay: i64| machines[number].shows(truth + delay) as u64;
            let packet = new().number(1, 1500).text(2, "eth0");
            match is_sender {
                true => kernel::event(time(0), 70, NET_DEV_XMIT, packet.number(4, 0xabc0 + round)),
                false => {
                    let packet = packet.number(3, 0xabc0 + round);
                    kernel::event(time(200_000), 0, NETIF_RECEIVE_SKB, packet)
                }
            }
        });
        let wakings = (0..60).map(|round: u64| {
            let truth = 1_000_300_000 + round as i64 * 500_000_000;
            kernel::waking(machines[number].shows(truth) as u64, 0, 70, "server")
        });
        let mut events: Vec<Message> = events.chain(wakings).collect();
        let bundle = kernel::bundle(0, &std::mem::take(&mut events));
        let more = trace_of(&[bundle]);
        fs::write(file, [fs::read(file).unwrap(), more].concat()).unwrap();
    }
    let manifest = manifest(&place, &entries, "");
    let conn = import(&place, &files, &["--manifest", &manifest]);
    let names = "SELECT name, count(*), count(DISTINCT machine_id) FROM ftrace_event JOIN packet ON packet.id = packet_id \
                 GROUP BY name ORDER BY name";
    let names: Vec<Vec<String>> = rows(&conn, names);
    let expected = [("net_dev_xmit", "60"), ("netif_receive_skb", "60"), ("sched_waking", "120")];
    assert_eq!(names, expected.map(|(name, count)| [name, count, "2"]));
    assert_eq!(one(&conn, "SELECT count(*) FROM clock_alignment"), 0);
    assert_eq!(one(&conn, "SELECT count(*) FROM placement WHERE how = 'realtime'"), 1);
}

#[test]
fn al6_ends_of_receiving_slices_count_if_they_waited() {
    let place = Place::new();
    let mut events = talk(40);
    for event in events.iter_mut().filter(|event| event.role == Role::End) {
        // The slice began before the message was sent.
        event.at -= 400_000;
        event.dur = 400_000;
    }
    let (files, entries) = write(&place, &machines(50_000_000), &events);
    let manifest = manifest(&place, &entries, "");
    let conn = import(&place, &files, &["--manifest", &manifest]);
    assert_eq!(alone(&conn, "arrival, violated, used"), ["end", "0", "1"]);
}

#[test]
fn al4_the_manifest_pairs_packets() {
    let place = Place::new();
    let mut events = talk(30);
    for event in &mut events {
        // Ids that no rule pairs: both ends only go through.
        event.role = Role::Through;
    }
    let (files, entries) = write(&place, &machines(50_000_000), &events);
    let import = |more: &str| {
        let manifest = manifest(&place, &entries, more);
        attempt(&place, &files, &["--manifest", &manifest])
    };
    let said = import("");
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let conn = Connection::open(place.path("out.db")).unwrap();
    assert_eq!(alone(&conn, "sides, undirected, used"), ["none", "60", "0"]);
    // The k-th event of a machine belongs to the k-th of the other one; requests and replies alternate.
    let sql = "WITH e AS (SELECT packet_id, machine_id, row_number() OVER \
               (PARTITION BY machine_id ORDER BY packet_id) AS k \
               FROM slice JOIN packet ON packet.id = packet_id) \
               SELECT iif(a.k % 2, a.packet_id, b.packet_id) AS packet_out, \
                      iif(a.k % 2, b.packet_id, a.packet_id) AS packet_in \
               FROM e AS a JOIN e AS b USING (k) WHERE a.machine_id = 0 AND b.machine_id = 1";
    let said = import(&format!(r#", "align": {{"pairs": "{sql}"}}"#));
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let conn = Connection::open(place.path("out.db")).unwrap();
    let columns = "evidence, messages_ab, messages_ba, used";
    assert_eq!(alone(&conn, columns), ["pairs", "30", "30", "1"]);
    for (sql, why) in [
        ("SELECT 1", "packet_out"),
        ("SELECT missing", "no such column"),
        ("DELETE FROM packet_record", "must be a SELECT"),
        ("WITH a AS (SELECT 1) DELETE FROM packet_record", "must only read"),
        ("ATTACH 'evil.db' AS evil", "must be a SELECT"),
        ("PRAGMA writable_schema = 1", "must be a SELECT"),
        ("", "must be a SELECT"),
        ("SELECT 'a' AS packet_out, 1 AS packet_in", "packet_out"),
    ] {
        let said = import(&format!(r#", "align": {{"pairs": "{sql}"}}"#));
        assert_eq!(said.code, Some(1), "{sql}");
        let is_told = said.stderr.contains("align.pairs") && said.stderr.contains(why);
        assert!(is_told, "{sql}: {}", said.stderr);
    }
    let said = import(r#", "align": {"mode": "never"}"#);
    assert!(said.stderr.contains("align.mode is no mode: 'never'"), "{}", said.stderr);
}

#[test]
fn al2_the_order_of_the_arguments_changes_nothing() {
    let place = Place::new();
    let (mut files, entries) = write(&place, &machines(50_000_000), &talk(30));
    let manifest = manifest(&place, &entries, "");
    let all = "SELECT * FROM clock_alignment_knot";
    let times = "SELECT id, ts FROM packet";
    let conn = import(&place, &files, &["--manifest", &manifest]);
    let before = (rows(&conn, all), rows(&conn, times));
    files.reverse();
    let conn = import(&place, &files, &["--manifest", &manifest]);
    assert_eq!((rows(&conn, all), rows(&conn, times)), before);
    assert!(!before.0.is_empty());
}

#[test]
fn al17_a_ring_of_machines_that_send_one_way_is_aligned() {
    const COUNT: usize = 100;
    let place = Place::new();
    let of = |number: i64| Machine {
        boottime: 1_000_000_000_000 + number * 77_000_000_000,
        wall: number % 7 * 3_000_000,
        ppm: number % 5,
        stop: (0, 0),
    };
    let machines: Vec<Machine> = (0..COUNT as i64).map(of).collect();
    let mut events = Vec::new();
    for turn in 0..20 {
        for machine in 0..COUNT {
            let at = 1_000_000_000 + turn * 2_500_000_000 + machine as i64 * 1_000_000;
            let flow = (1 << 40) + (turn as u64) * 1000 + machine as u64;
            let send = Event { machine, at, role: Role::Start, flow, dur: 0 };
            let next = (machine + 1) % COUNT;
            let arrive = Event { machine: next, at: at + 50_000, role: Role::End, ..send };
            events.extend([send, arrive]);
        }
    }
    let (files, entries) = write(&place, &machines, &events);
    let manifest = manifest(&place, &entries, "");
    let import = |mode: &str| import(&place, &files, &["--manifest", &manifest, "--align", mode]);
    let conn = import("report");
    assert_eq!(one(&conn, "SELECT count(*) FROM clock_alignment"), COUNT as i64);
    // Each pair bounds one side; only together they bound both.
    assert_eq!(one(&conn, "SELECT count(*) FROM clock_alignment WHERE sides = 'both'"), 0);
    let conn = import("flows");
    let moved = "SELECT count(*) FROM placement WHERE how = 'causality' AND error < 20000000";
    assert_eq!(one(&conn, moved), COUNT as i64 - 1);
    // A machine that is n behind in the ring shows its BOOTTIME that much later.
    let expected = |number: usize| machines[number].boottime - machines[0].boottime;
    for row in rows(&conn, "SELECT machine_id, offset FROM placement WHERE machine_id > 0") {
        let [machine, offset] = [0, 1].map(|cell| row[cell].parse::<i64>().unwrap());
        let off = offset + expected(machine as usize);
        assert!(off.abs() < 3_000_000, "{machine}: {off}");
    }
}

#[test]
fn al20_a_stream_that_cannot_be_read_again_stays_as_it_is() {
    let place = Place::new();
    let (files, entries) = write(&place, &machines(50_000_000), &talk(30));
    let manifest = manifest(&place, &entries, "");
    let member = |path: &String| {
        let name = Path::new(path).file_name().unwrap().to_str().unwrap();
        File::new(name, fs::read(path).unwrap())
    };
    let members: Vec<File> = [&[manifest][..], &files].concat().iter().map(member).collect();
    let archive = text(place.write("all.zip", &zip(&members)));
    let conn = import(&place, std::slice::from_ref(&archive), &[]);
    assert_eq!(alone(&conn, "used"), ["1"]);
    let out = text(place.path("piped.db"));
    let shell = format!("cat {archive} | {PROGRAM} import - -o {out}");
    let status = std::process::Command::new("sh").args(["-c", &shell]).status().unwrap();
    assert!(status.success());
    let conn = Connection::open(out).unwrap();
    let said = alone(&conn, "used, reason");
    assert_eq!(said, ["0", "a stream cannot be read again: save it to a file"]);
}

#[test]
fn al20_rewriting_moves_what_an_import_moves() {
    let place = Place::new();
    let (files, entries) = write(&place, &machines(50_000_000), &talk(30));
    let manifest = manifest(&place, &entries, "");
    let inverted = |args: &[&str]| {
        let out = text(place.path("out.zip"));
        let files = files.iter().map(String::as_str);
        let all: Vec<&str> = ["rewrite"].into_iter().chain(files).collect();
        let more = ["-o", &out, "--force", "--manifest", &manifest];
        let said = run(&[&all[..], &more, args].concat());
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        assert!(!place.path("alignment.db").exists());
        let conn = import(&place, &[out], &["--align", "report"]);
        alone(&conn, "messages_ab, messages_ba, inverted")
    };
    assert_eq!(inverted(&[]), ["30", "30", "30"]);
    assert_eq!(inverted(&["--align", "auto"]), ["30", "30", "0"]);
}

#[test]
fn al20_an_import_without_events_has_the_same_times() {
    let [all, none] = [&[][..], &["--no-events"]].map(pair);
    let times = "SELECT id, ts FROM packet";
    assert_eq!(rows(&all, times), rows(&none, times));
    let tables = "SELECT reason, used FROM clock_alignment";
    assert_eq!(rows(&all, tables), rows(&none, tables));
}

#[test]
fn al20_one_machine_has_no_alignment() {
    let import = Imported::new("system.pftrace", &[]);
    assert_eq!(import.count("SELECT count(*) FROM clock_alignment"), 0);
}

/// Two machines of which one stops or jumps in the middle, and their messages.
fn stopped(number: usize, stop: i64, count: i64) -> Connection {
    let place = Place::new();
    let mut machines = machines(50_000_000);
    machines[number].stop = (12_400_000_000, stop);
    let mut events = talk(count);
    // A machine that stands still neither sends nor receives.
    events.retain(|event| !(12_000_000_000..12_500_000_000 + stop.max(0)).contains(&event.at));
    let (files, entries) = write(&place, &machines, &events);
    let manifest = manifest(&place, &entries, "");
    import(&place, &files, &["--manifest", &manifest])
}

#[test]
fn al11_a_clock_that_stands_still_or_jumps_loses_no_time() {
    for (number, stop) in [
        (1, 7_000_000_000),
        (0, 7_000_000_000),
        (1, -2_000_000_000),
        (0, -2_000_000_000),
        (1, 50_000_000),
        (0, -50_000_000),
    ] {
        let conn = stopped(number, stop, 40);
        let case = format!("machine {number} stops for {stop} ns");
        assert_eq!(alone(&conn, "sides, stretches, used"), ["both", "2", "1"], "{case}");
        let lost = "SELECT count(*) FROM packet WHERE unresolved IS NOT NULL";
        assert_eq!(one(&conn, lost), 0, "{case}");
        assert_eq!(
            one(&conn, "SELECT count(*) FROM finding WHERE check_name = 'clock_backwards'"),
            0,
            "{case}"
        );
        let back = "SELECT count(*) FROM (SELECT value + offset - lag(value + offset) OVER (ORDER BY value) AS gone FROM clock_alignment_knot)
                    WHERE gone < 0";
        assert_eq!(one(&conn, back), 0, "{case}");
    }
}
