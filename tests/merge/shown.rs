//! The output of the program for several machines and files: `explain`, `clocks`, the reports and
//! the page.

use std::path::Path;

use rusqlite::Connection;

use crate::support::{PROGRAM, Place, Said, answer, count, rows, run};
use timebase_lab::encode::{ClockSnapshot, Message, Packet, Reading, trace};

const BOOTTIME: u32 = 6;
const REALTIME: u32 = 1;
const S: u64 = 1_000_000_000;
/// Some time of day.
const R: u64 = 1_700_000_000 * S;

fn snapshot(clocks: &[(u32, u64)]) -> Packet {
    let clocks =
        clocks.iter().map(|&(id, timestamp)| Reading { id, timestamp, ..Reading::default() });
    Packet {
        seq: 1,
        clock_snapshot: Some(ClockSnapshot { clocks: clocks.collect(), primary: None }),
        ..Packet::default()
    }
}

fn event(clock: u32, timestamp: u64) -> Packet {
    Packet {
        seq: 2,
        timestamp: Some(timestamp),
        timestamp_clock_id: Some(clock),
        payload: Some((900, b"x".to_vec())),
        ..Packet::default()
    }
}

fn of_machine(machine_id: u32, packet: Packet) -> Packet {
    Packet { machine_id, ..packet }
}

/// A RemoteClockSync of the guest 7: alternate readings of BOOTTIME on the guest and the host.
fn sync(readings: &[(u64, u64)]) -> Packet {
    let clocks = |value| {
        let clock = Message::new().number(1, BOOTTIME.into()).number(2, value);
        Message::new().message(1, clock)
    };
    let payload = readings.iter().fold(Message::new(), |sync, &(client, host)| {
        let synced = Message::new().message(2, clocks(client)).message(3, clocks(host));
        sync.message(1, synced)
    });
    Packet { seq: 1, machine_id: 7, payload: Some((107, payload.0)), ..Packet::default() }
}

/// An imported set of files. It is gone when this is.
struct Set {
    conn: Connection,
    database: String,
    _place: Place,
}

fn import(files: &[(&str, Vec<Packet>)], manifest: Option<&str>) -> Set {
    let place = Place::new();
    let path = |path: &Path| path.to_str().unwrap().to_owned();
    let mut arguments = vec!["import".to_owned()];
    for (name, packets) in files {
        arguments.push(path(&place.write(name, &trace(packets))));
    }
    if let Some(manifest) = manifest {
        let file = place.write("how.json", manifest.as_bytes());
        arguments.extend(["--manifest".to_owned(), path(&file)]);
    }
    let database = path(&place.path("out.db"));
    arguments.extend(["-o".to_owned(), database.clone()]);
    let output = std::process::Command::new(PROGRAM).args(&arguments).output();
    let said = Said::from(output.unwrap());
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    Set { conn: Connection::open(&database).unwrap(), database, _place: place }
}

impl Set {
    fn explain(&self, arguments: &[&str]) -> String {
        answer(&[&["explain", &self.database], arguments].concat())
    }

    fn refused(&self, arguments: &[&str]) -> String {
        let said = run(&[&["explain", self.database.as_str()], arguments].concat());
        assert_ne!(said.code, Some(0), "{}", said.stdout);
        said.stderr
    }

    fn page(&self) -> String {
        answer(&["report", &self.database, "-o", "-"])
    }
}

const NAMED: &str = r#"{"perfetto_manifest": {"version": 1, "files": [
    {"path": "a.pftrace", "machine": {"name": "phone"}}, {"path": "b.pftrace", "machine": {"name": "car"}}]}}"#;

/// Both files of XE1.
fn xe1(manifest: Option<&str>) -> Set {
    let a = vec![snapshot(&[(BOOTTIME, S), (REALTIME, R)]), event(BOOTTIME, 1_100_000_000)];
    let b = vec![snapshot(&[(BOOTTIME, 5 * S), (REALTIME, R + S)]), event(BOOTTIME, 5_100_000_000)];
    import(&[("a.pftrace", a), ("b.pftrace", b)], manifest)
}

/// The packets of XE4 of the first three lines.
fn xe4() -> Set {
    let packets = vec![
        snapshot(&[(BOOTTIME, S)]),
        sync(&[(50 * S, 2 * S + 1_000), (50 * S + 3_000, 2 * S + 4_000)]),
        of_machine(7, event(BOOTTIME, 50_100_000_000)),
    ];
    import(&[("relay.pftrace", packets)], None)
}

#[test]
fn x26_xe1_explain_names_the_rendezvous_of_two_machines() {
    let set = xe1(Some(NAMED));
    let told = set.explain(&["--packet", "3"]);
    let start = "packet 3 (1 of b.pftrace) has timestamp 5100000000 of BOOTTIME of machine 1\n\
                 machine 0 is phone, machine 1 is car\n";
    assert!(told.starts_with(start), "{told}");
    let crossing = "\n  assumed, by REALTIME: the wall clocks of both machines agree\n";
    assert_eq!(told.matches(crossing).count(), 1, "{told}");
    // It is below the hop that crosses machines.
    let hop = told.lines().find(|line| line.starts_with("REALTIME of machine 1 "));
    assert!(told.contains(&format!("{}{crossing}", hop.unwrap())), "{told}");
    assert!(
        told.ends_with("BOOTTIME of machine 1 5100000000 is BOOTTIME 2100000000 ns (nearest; by the clocks' rate 2100000000, with an unknown error)\n"),
        "{told}"
    );
    // The machine by its id or its name, or by its only file.
    let asked = ["--clock", "BOOTTIME", "--ts", "5100000000"];
    let rest = |told: &str| told.split_once('\n').unwrap().1.to_owned();
    for owner in
        [["--machine", "1"], ["--machine", "car"], ["--file", "b.pftrace"], ["--file", "2"]]
    {
        assert_eq!(set.explain(&[&asked[..], &owner].concat()), rest(&told), "{owner:?}");
    }
    let linear = set.explain(&["--packet", "3", "--conversion", "linear"]);
    assert!(linear.contains(crossing), "{linear}");
    // To a clock of the same machine, nothing is assumed.
    let own = set.explain(&["--packet", "3", "--to", "REALTIME"]);
    assert!(
        own.contains("is REALTIME of machine 1 1700000001100000000 ns") && !own.contains("assumed"),
        "{own}"
    );
}

#[test]
fn x26_x28_xe1_explain_says_which_file_is_taken_to_be_of_the_same_boot() {
    let set = xe1(None);
    let told = set.explain(&["--packet", "3"]);
    assert!(
        told.starts_with("packet 3 (1 of b.pftrace) has timestamp 5100000000 of BOOTTIME in file 2\nfile 2 is b.pftrace\n"),
        "{told}"
    );
    let assumed = "  assumed: BOOTTIME of the file is that of its machine, so both are of one boot; \
                   by REALTIME the file is -3.000 s from there\n\
                   BOOTTIME in file 2 5100000000 is BOOTTIME 5100000000 ns (nearest; by the clocks' rate 5100000000, with an unknown error)\n";
    assert!(told.ends_with(assumed), "{told}");
    // A clock without a file is the machine's, with a note about the other one.
    let shared = set.explain(&["--clock", "BOOTTIME", "--ts", "7"]);
    assert_eq!(
        shared,
        "file 2 has its own BOOTTIME, which --file 2 asks for; this is the machine's\n\
         BOOTTIME 7 is BOOTTIME 7 ns\n"
    );
    let clock = ["--clock", "REALTIME in file 2", "--ts", "1700000001000000000"];
    let own = set.explain(&clock);
    assert!(own.ends_with("is BOOTTIME 5000000000 ns (nearest; by the clocks' rate 5000000000, with an unknown error)\n"), "{own}");
    let said = set.refused(&[&clock[..], &["--file", "1"]].concat());
    assert!(said.contains("--file 1 is not the file of REALTIME in file 2"), "{said}");
    // The first file has no clocks of its own.
    let first = set.explain(&["--clock", "BOOTTIME", "--ts", "7", "--file", "a.pftrace"]);
    assert_eq!(first, "BOOTTIME 7 is BOOTTIME 7 ns\n");
}

#[test]
fn x35_xe3_explain_names_the_manifest() {
    let manifest = r#"{"perfetto_manifest": {"version": 1, "files": [
        {"path": "a.pftrace", "machine": {"name": "phone"}, "clocks":
          {"clock": "BOOTTIME", "sync_to": {"file": "b.pftrace", "clock": "BOOTTIME"}, "offset_ns": 500}},
        {"path": "b.pftrace"}], "trace_time": {"clock": "BOOTTIME", "file": "a.pftrace"}}}"#;
    let set = xe1(Some(manifest));
    let told = set.explain(&["--packet", "3"]);
    let manifest = "  the manifest how.json relates them, in the entry of a.pftrace (clocks)\n\
                    BOOTTIME of machine 1 5100000000 is BOOTTIME 5099999500 ns (nearest; by the clocks' rate 5099999500, with an unknown error)\n";
    assert!(told.ends_with(manifest), "{told}");
    // Trace time belongs to the file that the manifest names.
    let manifest = r#"{"perfetto_manifest": {"version": 1, "files": [
        {"path": "a.pftrace", "machine": {"name": "phone"}, "clocks":
          {"clock": "BOOTTIME", "sync_to": {"file": "b.pftrace", "clock": "BOOTTIME"}, "offset_ns": 500}},
        {"path": "b.pftrace"}], "trace_time": {"clock": "BOOTTIME", "file": "b.pftrace"}}}"#;
    let set = xe1(Some(manifest));
    let told = set.explain(&["--packet", "1"]);
    assert!(
        told.ends_with("BOOTTIME 1100000000 is BOOTTIME of machine 1 1100000500 ns (nearest; by the clocks' rate 1100000500, with an unknown error)\n"),
        "{told}"
    );
}

#[test]
fn x37_a_private_clock_is_listed_where_its_file_is_not_said() {
    let manifest = r#"{"perfetto_manifest": {"version": 1, "files": [
        {"path": "a.pftrace", "machine": {"name": "phone"}},
        {"path": "b.pftrace", "machine": {"name": "car"}, "clocks":
          {"sync_to": {"file": "a.pftrace", "clock": "BOOTTIME"}, "offset_ns": 500}}]}}"#;
    let plain = Packet { timestamp_clock_id: None, ..event(BOOTTIME, 2 * S) };
    let a = vec![snapshot(&[(BOOTTIME, S), (REALTIME, R)])];
    let set = import(&[("a.pftrace", a), ("b.pftrace", vec![plain])], Some(manifest));
    let said = set.refused(&["--clock", "TRACE_FILE", "--ts", "2"]);
    let command = "--clock 'TRACE_FILE of machine 1 in file 2' --ts 2   # 1 snapshot, 1 packet, car, b.pftrace\n";
    assert!(said.ends_with(command), "{said}");
    let told = set.explain(&["--clock", "TRACE_FILE of machine 1 in file 2", "--ts", "2"]);
    assert!(
        told.ends_with(
            "is BOOTTIME 502 ns (nearest; by the clocks' rate 502, with an unknown error)\n"
        ),
        "{told}"
    );
    assert!(told.contains("the manifest how.json relates them, in the entry of b.pftrace"));
    assert_eq!(set.explain(&["--clock", "11", "--file", "b.pftrace", "--ts", "2"]), told);
}

#[test]
fn x24_xe4_explain_tells_the_rounds_of_a_synchronization() {
    let set = xe4();
    let told = set.explain(&["--packet", "2"]);
    let round = "  synchronization of packet 1, 1 round: client − host is 48000000500 ns ± 1500 ns, half a round trip\n\
                 BOOTTIME of machine 1 50100000000 is BOOTTIME 2099999500 ns (nearest; by the clocks' rate 2099999500 ± 51510)\n";
    assert!(told.ends_with(round), "{told}");
    // The way back uses the same hops.
    let back = set.explain(&[
        "--clock",
        "BOOTTIME",
        "--ts",
        "2099999500",
        "--to",
        "BOOTTIME of machine 1",
    ]);
    assert!(back.contains("synchronization of packet 1, 1 round:"), "{back}");
    assert!(
        back.ends_with("is BOOTTIME of machine 1 50100000000 ns (nearest; by the clocks' rate 50100000000 ± 51510)\n"),
        "{back}"
    );
    // With several rounds, it is the average.
    let packets = vec![
        snapshot(&[(BOOTTIME, S)]),
        sync(&[
            (50 * S, 2 * S),
            (50 * S + 2_000, 2 * S + 2_000),
            (60 * S, 12 * S),
            (60 * S + 2_000, 12 * S + 2_000),
        ]),
        of_machine(7, event(BOOTTIME, 61 * S)),
    ];
    let set = import(&[("relay.pftrace", packets)], None);
    let told = set.explain(&["--packet", "2"]);
    assert!(told.contains("synchronization of packet 1, 3 rounds:"), "{told}");
    assert!(told.contains("half a round trip; this is their average\n"), "{told}");
    assert!(
        told.ends_with(
            "is BOOTTIME 11333333000 ns (nearest; by the clocks' rate 12999999000 ± 1400)\n"
        ),
        "{told}"
    );
}

#[test]
fn x14_clocks_of_sequences_are_listed_with_their_machines_and_files() {
    let own = |value, boottime| Packet { seq: 3, ..snapshot(&[(64, value), (BOOTTIME, boottime)]) };
    let a = vec![snapshot(&[(BOOTTIME, S), (REALTIME, R)]), own(5, 2 * S)];
    let b = vec![snapshot(&[(BOOTTIME, 9 * S), (REALTIME, R)]), own(7, 8 * S)];
    let set = import(&[("a.pftrace", a), ("b.pftrace", b)], None);
    for clock in [&["--clock", "64"][..], &["--clock", "64@3"]] {
        let said = set.refused(&[clock, &["--ts", "7"]].concat());
        let commands: Vec<&str> = said.lines().skip(1).collect();
        assert_eq!(commands.len(), 2, "{said}");
        for (command, file) in commands.iter().zip([1, 2]) {
            let clock = format!("64@3 in file {file}");
            assert!(
                command.contains(&format!("--clock '{clock}' --ts 7   # 1 snapshot")),
                "{said}"
            );
            assert!(command.ends_with(["a.pftrace", "b.pftrace"][file - 1]), "{said}");
            let told = set.explain(&["--clock", &clock, "--ts", "7"]);
            assert!(told.contains(&format!("\n{clock} 7 is BOOTTIME ")), "{told}");
            let file = file.to_string();
            assert_eq!(set.explain(&["--clock", "64@3", "--file", &file, "--ts", "7"]), told);
        }
    }
    let listed = answer(&["clocks", &set.database, "--format", "csv"]);
    let cells = |line: &str| line.split(',').take(5).map(str::to_owned).collect::<Vec<_>>();
    let listed: Vec<Vec<String>> = listed.lines().map(cells).collect();
    assert_eq!(
        listed,
        [
            ["machine", "machine_name", "file", "file_name", "clock"],
            ["0", "", "", "", "REALTIME"],
            ["0", "", "", "", "BOOTTIME"],
            ["0", "", "1", "a.pftrace", "64@3"],
            ["0", "", "2", "b.pftrace", "REALTIME"],
            ["0", "", "2", "b.pftrace", "BOOTTIME"],
            ["0", "", "2", "b.pftrace", "64@3"],
        ]
    );
}

#[test]
fn x10_machines_and_files_that_there_are_not_are_told_which_there_are() {
    let set = xe1(Some(NAMED));
    let asked = ["--clock", "BOOTTIME", "--ts", "7"];
    for (owner, expected) in [
        (
            ["--machine", "bus"],
            "--machine bus is neither an id nor a name; the machines are 0 (phone), 1 (car)",
        ),
        (
            ["--file", "how.json"],
            "--file how.json is neither an id nor a name; the files are 1 (a.pftrace), 2 (b.pftrace)",
        ),
    ] {
        let said = set.refused(&[&asked[..], &owner].concat());
        assert!(said.contains(expected), "{said}");
    }
    let clock = ["--clock", "BOOTTIME of machine 1", "--ts", "7"];
    set.explain(&[&clock[..], &["--machine", "car"]].concat());
    let said = set.refused(&[&clock[..], &["--machine", "phone"]].concat());
    assert!(said.contains("--machine phone is not the machine of BOOTTIME of machine 1"), "{said}");
    let said = set.refused(&["--clock", "BOOTTIME of machine 9", "--ts", "7"]);
    assert!(said.contains("there is no machine 9"), "{said}");
    // A file of several machines does not determine the machine.
    let guest =
        vec![of_machine(7, snapshot(&[(BOOTTIME, S)])), of_machine(8, snapshot(&[(BOOTTIME, S)]))];
    let host = vec![snapshot(&[(BOOTTIME, S)])];
    let set = import(&[("a.pftrace", host), ("b.pftrace", guest)], None);
    let said = set.refused(&[&asked[..], &["--file", "b.pftrace"]].concat());
    assert!(said.contains("choose one with --machine: 1, 2"), "{said}");
}

#[test]
fn x27_reports_count_nothing_that_is_assumed_for_a_snapshot() {
    for set in [xe1(Some(NAMED)), xe1(None)] {
        let report =
            answer(&["query", &set.database, "--report", "clock-health", "--format", "json"]);
        let report: serde_json::Value = serde_json::from_str(&report).unwrap();
        let results = report.as_array().unwrap();
        let of = |title: &str| {
            let found = results.iter().find(|result| result["title"] == title);
            found.unwrap()["rows"].as_array().unwrap().clone()
        };
        let coverage = &of("Coverage by snapshots")[0];
        assert_eq!(coverage["snapshots"], 2);
        assert_eq!(coverage["first_ts"], 1_000_000_000);
        // One row for each clock, even if the files share clocks.
        let clocks = of("Clocks").len() as i64;
        assert_eq!(clocks, count(&set.conn, "SELECT count(*) FROM clock"));
        let drifts = of("Drift and steps against trace time");
        assert_eq!(drifts.len() as i64, clocks);
        assert!(drifts.iter().all(|row| row["readings"] == 1), "{drifts:?}");
    }
}

#[test]
fn x26_what_is_unplaced_is_told_by_its_machine_and_file() {
    // Trace time REALTIME, b without it (XE1).
    let mut first = snapshot(&[(BOOTTIME, S), (REALTIME, R)]);
    if let Some(snapshot) = &mut first.clock_snapshot {
        snapshot.primary = Some(1);
    }
    let a = vec![first, event(BOOTTIME, 1_100_000_000)];
    let b = vec![snapshot(&[(BOOTTIME, 5 * S)]), event(BOOTTIME, 5_100_000_000)];
    let set = import(&[("a.pftrace", a), ("b.pftrace", b)], Some(NAMED));
    let report = answer(&["query", &set.database, "--report", "unplaced"]);
    assert!(report.contains(" packet │ no_path │ BOOTTIME of machine 1 in file 2 │"), "{report}");
    let page = set.page();
    assert!(page.contains("nothing relates it to trace time"), "{page}");
}

#[test]
fn x26_the_page_says_how_files_were_placed_and_draws_what_relates_them() {
    let assumed = xe1(Some(NAMED)).page();
    for said in [
        "How the files were placed",
        "<td>b.pftrace (file 2)</td><td>car (machine 1)</td><td>assumed: the wall clocks of both machines agree</td>",
        "\nREALTIME of machine 1\n",
        "\nassumed the same\n",
    ] {
        assert!(assumed.contains(said), "{said}");
    }
    assert!(!assumed.contains("What machines asked each other"));
    let asked = xe4().page();
    for said in [
        "<td>by asking the other machine for the time</td>",
        "BOOTTIME of machine 1 asked BOOTTIME",
        "2 samples · ",
        "\n1 synchronization\n",
    ] {
        assert!(asked.contains(said), "{said}");
    }
}

#[test]
fn x12_one_machine_in_one_file_is_shown_as_ever() {
    let set = import(
        &[(
            "only.pftrace",
            vec![snapshot(&[(BOOTTIME, S), (REALTIME, R)]), event(REALTIME, R + 5)],
        )],
        None,
    );
    let told = set.explain(&["--packet", "1"]);
    assert_eq!(
        told,
        "packet 1 has timestamp 1700000000000000005 of REALTIME\n\
         REALTIME 1700000000000000005 → BOOTTIME 1000000005   snapshot 0: REALTIME 1700000000000000000 = BOOTTIME 1000000000;  \
         1000000000 + (1700000000000000005 − 1700000000000000000) = 1000000005\n\
         REALTIME 1700000000000000005 is BOOTTIME 1000000005 ns (nearest; by the clocks' rate 1000000005 ± 2003000)\n"
    );
    let listed = answer(&["clocks", &set.database, "--format", "csv"]);
    assert!(
        listed.starts_with(
            "machine,clock,scope,unit_ns,snapshots,packets,monotonic,path,offset_ns,drift_ns\n"
        ),
        "{listed}"
    );
    let page = set.page();
    for other in ["How the files were placed", "dashed", "machine-count"] {
        assert!(!page.contains(other), "{other}");
    }
    assert_eq!(rows(&set.conn, "SELECT count(*) FROM placement"), [["1"]]);
}

#[test]
fn x33_an_entry_of_the_manifest_without_a_file_is_a_warning() {
    let place = Place::new();
    let trace = place.write("a.pftrace", &trace(&[event(BOOTTIME, 5 * S)]));
    let manifest = br#"{"perfetto_manifest": {"version": 1, "files": [{"path": "A.pftrace"}]}}"#;
    let manifest = place.write("m.json", manifest);
    let database = place.path("x.db");
    let [trace, manifest, database] =
        [&trace, &manifest, &database].map(|path| path.to_str().unwrap());
    let said = run(&["import", trace, "--manifest", manifest, "-o", database]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let text = "warning: the manifest: files[0].path 'A.pftrace' names no file of the import";
    assert!(said.stderr.contains(text), "{}", said.stderr);
    // A manifest alone is no trace.
    let said = run(&["import", manifest, "-o", database, "--force"]);
    let text = "it has a manifest, but no trace";
    assert!(said.stderr.contains(text), "{}", said.stderr);
}
