//! `timebase manifest`: its output for traces of one machine, of several machines, and for
//! unreadable ones.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use timebase_import::manifest::{Machines, Manifest};

use crate::merge::archive::{self, File};
use crate::support::{Place, Said, answer, run};
use timebase_lab::encode::{ClockSnapshot, Message, Packet, Reading, trace};

fn snapshot(machine_id: u32) -> Packet {
    let reading = |id, timestamp| Reading { id, timestamp, ..Reading::default() };
    let clocks = vec![reading(6, 1_000_000_000), reading(1, 1_700_000_000_000_000_000)];
    Packet {
        machine_id,
        clock_snapshot: Some(ClockSnapshot { clocks, primary: None }),
        ..Packet::default()
    }
}

fn payload(machine_id: u32, field: u32, payload: Message) -> Packet {
    Packet { machine_id, payload: Some((field, payload.0)), ..Packet::default() }
}

/// A `SystemInfo` with a `machine_name`.
fn called(machine_id: u32, name: &str) -> Packet {
    payload(machine_id, 45, Message::new().text(17, name))
}

fn remote_clock_sync(machine_id: u32) -> Packet {
    payload(machine_id, 107, Message::new())
}

fn compressed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// The output for files with these names.
fn manifest(files: &[(&str, Vec<u8>)]) -> Said {
    let place = Place::new();
    let paths: Vec<_> = files.iter().map(|(name, bytes)| place.write(name, bytes)).collect();
    let paths = paths.iter().map(|path| path.to_str().unwrap());
    let arguments: Vec<&str> = ["manifest"].into_iter().chain(paths).collect();
    let said = run(&arguments);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let read = Manifest::parse(said.stdout.as_bytes()).unwrap();
    assert_eq!(read.to_string(), said.stdout);
    said
}

#[test]
fn x10_files_without_ids_are_of_one_machine_and_get_no_names() {
    let bytes = trace(&[snapshot(0)]);
    let said = manifest(&[("b", bytes.clone()), ("a", bytes)]);
    assert_eq!(
        said.stdout,
        "{\"perfetto_manifest\": {\n  \"version\": 1,\n  \"files\": [\n    {\"path\": \"a\"},\n    {\"path\": \"b\"}\n  ]\n}}\n"
    );
    assert_eq!(
        said.stderr,
        "timebase: note: a, b: packets without a machine_id count as one machine, the host, in all of these. If they \
         are several machines, give each file its own: \"machine\": {\"name\": \"…\"}\n"
    );
}

#[test]
fn x10_files_that_call_their_machine_otherwise_are_told_of() {
    let said = manifest(&[
        ("a", trace(&[snapshot(0), called(0, "phone")])),
        ("b", trace(&[snapshot(0), called(0, "watch")])),
    ]);
    assert!(!said.stdout.contains("phone"), "{}", said.stdout);
    assert!(
        said.stderr.contains(", although it calls itself \"phone\" in a, \"watch\" in b. If they"),
        "{}",
        said.stderr
    );
}

#[test]
fn x34_machines_are_called_what_they_call_themselves() {
    let relay = trace(&[
        snapshot(0),
        called(7, "vm"),
        remote_clock_sync(7),
        called(42, "vm"),
        snapshot(42),
        snapshot(9),
    ]);
    let said = manifest(&[("relay", relay)]);
    assert_eq!(
        said.stdout,
        r#"{"perfetto_manifest": {
  "version": 1,
  "files": [
    {"path": "relay",
     "machines": [
       {"id": 0, "name": "host"},
       {"id": 7, "name": "vm"},
       {"id": 42, "name": "vm (42)"},
       {"id": 9, "name": "machine 9"}]}
  ]
}}
"#
    );
    let notes: Vec<&str> = said.stderr.lines().collect();
    assert_eq!(notes.len(), 2, "{}", said.stderr);
    assert_eq!(
        notes[0],
        "timebase: note: relay: no RemoteClockSync relates the clocks of machine 42 to others, so timebase assumes that its \
         REALTIME, or else its BOOTTIME, is that of trace time. If you know better: \"clocks\": {\"machine\": \"vm (42)\", \
         \"clock\": \"BOOTTIME\", \"sync_to\": {\"file\": \"relay\", \"machine\": \"…\", \"clock\": \"BOOTTIME\"}, \"offset_ns\": …}"
    );
    assert!(notes[1].contains("the clocks of machine 9 to others"), "{}", notes[1]);
}

#[test]
fn x34_where_a_machine_has_a_name_all_have() {
    let said = manifest(&[
        ("b", trace(&[snapshot(0)])),
        ("a", trace(&[snapshot(0), snapshot(7), remote_clock_sync(7)])),
    ]);
    assert_eq!(
        said.stdout,
        r#"{"perfetto_manifest": {
  "version": 1,
  "files": [
    {"path": "a",
     "machines": [
       {"id": 0, "name": "host"},
       {"id": 7, "name": "machine 7"}]},
    {"path": "b",
     "machines": [{"id": 0, "name": "host"}]}
  ]
}}
"#
    );
    assert!(said.stderr.ends_with("give it a name of its own in each file\n"), "{}", said.stderr);
}

#[test]
fn x12_a_stamped_file_has_no_host() {
    // A synchronization marker makes no machine (rule X11); compressed files come last (X4).
    let stamped = trace(&[payload(0, 36, Message::new()), snapshot(42)]);
    let said = manifest(&[("a.gz", compressed(&stamped)), ("b", trace(&[snapshot(7)]))]);
    assert_eq!(
        said.stdout,
        r#"{"perfetto_manifest": {
  "version": 1,
  "files": [
    {"path": "b",
     "machines": [{"id": 7, "name": "machine 7"}]},
    {"path": "a.gz",
     "machines": [{"id": 42, "name": "machine 42"}]}
  ]
}}
"#
    );
    assert_eq!(said.stderr, "");
}

#[test]
fn x37_a_file_without_snapshots_may_be_pinned() {
    let timed = Packet { timestamp: Some(2), ..Packet::default() };
    let said = manifest(&[("a", trace(&[snapshot(42)])), ("n", trace(&[timed]))]);
    assert_eq!(
        said.stderr,
        "timebase: note: n: it has no ClockSnapshot. If its times are of a separate clock, relate that to a clock of another \
         file: \"clocks\": {\"sync_to\": {\"file\": \"a\", \"clock\": \"BOOTTIME\"}, \"offset_ns\": …}\n"
    );
}

#[test]
fn what_is_no_trace_is_refused() {
    let place = Place::new();
    let sure = place.write("a", &trace(&[snapshot(0)]));
    let sure = sure.to_str().unwrap();
    let refused = |path: &str| {
        let said = run(&["manifest", sure, path]);
        assert_eq!((said.code, said.stdout.as_str()), (Some(1), ""), "{}", said.stderr);
        said.stderr
    };
    assert!(refused("README.md").contains("README.md is not a trace but text"));
    assert!(refused("docs").contains("docs is a directory"));
    assert!(refused("nowhere/b").contains("cannot open nowhere/b"));
    let empty = place.write("empty", b"");
    assert!(refused(empty.to_str().unwrap()).contains("empty is not a trace: it has no packets"));
    let many: Vec<Packet> = (0..1001).map(|id| snapshot(id + 1)).collect();
    let many = place.write("many", &trace(&many));
    assert!(refused(many.to_str().unwrap()).contains("packets of more than 1000 machines"));

    let said = run(&["manifest", "-"]);
    assert_eq!(said.code, Some(2));
    assert!(said.stderr.contains("standard input has none"), "{}", said.stderr);
}

#[test]
fn x1_two_files_of_one_name_are_refused() {
    let place = Place::new();
    std::fs::create_dir(place.path("d")).unwrap();
    let bytes = trace(&[snapshot(0)]);
    let [one, two] = ["a", "d/a"].map(|name| place.write(name, &bytes));
    let said = run(&["manifest", one.to_str().unwrap(), two.to_str().unwrap()]);
    assert_eq!((said.code, said.stdout.as_str()), (Some(1), ""));
    assert!(said.stderr.contains("have the same name, 'a', "), "{}", said.stderr);
}

/// The entries of the output, and their machines.
fn entries(said: &Said) -> Vec<(String, Machines)> {
    let manifest = Manifest::parse(said.stdout.as_bytes()).unwrap();
    let entries = manifest.files.into_iter();
    entries.map(|entry| (entry.path, entry.machines)).collect()
}

fn listed(machines: &[(u32, &str)]) -> Machines {
    let named = machines.iter().map(|(id, name)| (*id, String::from(*name)));
    Machines::Listed(named.collect())
}

#[test]
fn x1_members_of_an_archive_are_called_by_their_paths() {
    let bytes = trace(&[snapshot(7)]);
    let archive = archive::zip(&[
        File::new("d/a", bytes.clone()),
        File::new("README", "what this is"),
        File::new("d/b.gz", compressed(&bytes)),
    ]);
    let called = listed(&[(7, "machine 7")]);
    for archive in [compressed(&archive), archive] {
        let said = manifest(&[("set.zip", archive)]);
        assert_eq!(entries(&said), ["d/a", "d/b.gz"].map(|path| (path.to_owned(), called.clone())));
        assert!(
            said.stderr.contains("set.zip has no entry: it is not a trace but text"),
            "{}",
            said.stderr
        );
    }
}

#[test]
fn x30_an_archive_with_a_manifest_needs_no_other() {
    let place = Place::new();
    let file = |name: &str, text: &str| File::new(name, text);
    let manifest = file("m.json", r#"{"perfetto_manifest": {"version": 1}}"#);
    let with = place.write("with.zip", &archive::zip(&[manifest]));
    let empty = place.write("none.zip", &archive::zip(&[file("README", "what this is")]));
    for (path, expected) in [
        (with, "with.zip already is a manifest, and there can be only one"),
        (empty, "none.zip has no trace in it: 'README' in "),
    ] {
        let said = run(&["manifest", path.to_str().unwrap()]);
        assert_eq!((said.code, said.stdout.as_str()), (Some(1), ""));
        assert!(said.stderr.contains(expected), "{}", said.stderr);
    }
}

#[test]
fn x32_files_of_one_name_have_one_entry() {
    let archive = archive::tar(&[
        File::new("a", trace(&[snapshot(7)])),
        File::new("a", trace(&[snapshot(8), called(7, "vm")])),
    ]);
    let said = manifest(&[("set.tar", archive)]);
    let machines = listed(&[(7, "vm"), (8, "machine 8")]);
    assert_eq!(entries(&said), [("a".to_owned(), machines)]);
}

#[test]
fn recorded_traces_name_no_machine() {
    let said = answer(&["manifest", "tests/data/system.pftrace"]);
    assert!(said.contains("{\"path\": \"system.pftrace\"}"), "{said}");
}
