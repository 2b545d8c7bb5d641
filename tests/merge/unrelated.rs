//! Several files with unrelated clocks, through the program (rule X41).

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::archive::{self, File};
use super::notation::{B, Item, R, event, r, s, snapshot, sync_boottime};
use crate::support::{PROGRAM, Place, Said, data, run};
use timebase_lab::encode::{self, Packet};

/// BOOTTIME and REALTIME, this many seconds after r.
fn both(boottime: &str, realtime: &str) -> Item {
    snapshot(&[(B, s(boottime)), (R, r(realtime))])
}

fn write(place: &Place, name: &str, items: &[Item]) -> String {
    let packets: Vec<Packet> = items.iter().map(|item| item.packet.clone()).collect();
    let path = place.write(name, &encode::trace(&packets));
    path.to_str().unwrap().to_owned()
}

/// The results of export and import for several files: refusals and warnings.
fn is_told(place: &Place, files: &[&str]) -> bool {
    let folder = place.path("tables");
    let tables = ["--tables", "packet", "-o", folder.to_str().unwrap()];
    let exported = run(&[&["export"], files, &tables].concat());
    let database = place.path("all.db");
    let imported = ["import", "-f", "-o", database.to_str().unwrap()];
    let imported = run(&[&imported, files].concat());
    assert_eq!(imported.code, Some(0), "{}", imported.stderr);
    let says = |said: &Said| said.stderr.contains("nothing says how the clocks of ");
    assert_eq!(says(&exported), says(&imported), "{}", exported.stderr);
    assert_eq!(exported.code == Some(1), says(&exported));
    assert_eq!(folder.exists(), !says(&exported));
    let _ = fs::remove_dir_all(&folder);
    says(&imported)
}

#[test]
fn x41_files_that_nothing_relates_are_refused_by_export_and_warned_of_by_import() {
    let place = Place::new();
    let a = write(&place, "a", &[both("1", "0"), event("x", B, s("2"))]);
    let of_b = |name: &str, items: &[Item]| write(&place, name, items);
    let y = || event("y", B, s("6"));
    for (why, b) in [
        ("another boot", of_b("b1", &[both("5", "1"), y()])),
        ("no REALTIME", of_b("b2", &[snapshot(&[(B, s("5"))]), y()])),
        ("no snapshot", of_b("b3", &[y()])),
        ("two machines, and no REALTIME", of_b("b4", &[snapshot(&[(B, s("5"))]).of(7), y().of(7)])),
    ] {
        assert!(is_told(&place, &[&a, &b]), "{why}");
    }
    let c = of_b("c", &[both("9", "8"), event("z", B, s("9"))]);
    for (why, b) in [
        ("REALTIME agrees", of_b("r1", &[both("5", "4"), y()])),
        ("another machine, and its wall clock", of_b("r2", &[both("5", "100").of(7), y().of(7)])),
        (
            "a guest that asked the host for the time",
            of_b(
                "r3",
                &[
                    sync_boottime(&[("50", "2.000001"), ("50.000003", "2.000004")]),
                    event("g", B, s("50.1")).of(7),
                ],
            ),
        ),
        ("nothing on the timeline", of_b("r4", &[snapshot(&[(B, s("5"))])])),
    ] {
        assert!(!is_told(&place, &[&a, &b]), "{why}");
        assert!(!is_told(&place, &[&a, &b, &c]), "{why}");
    }
    let unrelated = of_b("u", &[both("5", "1"), y()]);
    assert!(is_told(&place, &[&a, &c, &unrelated]), "one of three");
}

#[test]
fn x41_a_manifest_and_merge_say_that_files_are_one_timeline() {
    let place = Place::new();
    let set = ["phone.pftrace", "watch.pftrace"].map(|name| data("several").join(name));
    let [phone, watch] = set.each_ref().map(|path| path.to_str().unwrap());
    assert!(is_told(&place, &[phone, watch]));
    let manifest = data("several/machines.json");
    let manifest = ["--manifest", manifest.to_str().unwrap()];
    assert!(!is_told(&place, &[&[phone, watch], &manifest[..]].concat()));
    assert!(!is_told(&place, &[phone, watch, "--merge"]));
    let relay = data("several/vm.pftrace");
    assert!(!is_told(&place, &[relay.to_str().unwrap()]), "one file");
}

#[test]
fn x41_an_archive_of_unrelated_files_is_warned_of_and_never_refused() {
    let place = Place::new();
    let files = ["phone.pftrace", "watch.pftrace"]
        .map(|name| File::new(name, fs::read(data("several").join(name)).unwrap()));
    let archive = place.write("both.tar", &archive::tar(&files));
    let archive = archive.to_str().unwrap();
    let folder = place.path("tables");
    let export = ["export", archive, "-o", folder.to_str().unwrap(), "--tables", "slice"];
    let said = run(&export);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let warning = "timebase: warning: nothing says how the clocks of ";
    assert!(said.stderr.contains(warning), "{}", said.stderr);
    let said = run(&[&export[..], &["--merge", "--force"]].concat());
    assert!(said.code == Some(0) && !said.stderr.contains(warning), "{}", said.stderr);
    // For processes of one boot, REALTIME says so.
    let processes = data("several/processes.tar");
    let said = run(&["export", processes.to_str().unwrap(), "-o", folder.to_str().unwrap()]);
    assert!(said.code == Some(0) && !said.stderr.contains(warning), "{}", said.stderr);
}

#[test]
fn a_folder_of_traces_is_exported_trace_by_trace_as_the_error_says() {
    let place = Place::new();
    fs::create_dir(place.path("fleet")).unwrap();
    let mut traces: Vec<PathBuf> = Vec::new();
    for (name, realtime) in [("a", "0"), ("b", "100"), ("c", "200"), ("d", "300")] {
        let items = [both("1", realtime), event("x", B, s("2"))];
        let path = write(&place, &format!("fleet/{name}.pftrace"), &items);
        traces.push(path.into());
    }
    let said = Command::new(PROGRAM)
        .args(["export", "-o", "tables", "--tables", "packet"])
        .args(traces.iter().map(|path| path.strip_prefix(place.path(".")).unwrap_or(path)))
        .current_dir(place.path("."))
        .output()
        .unwrap();
    let said = String::from_utf8(said.stderr).unwrap();
    assert!(said.contains("b.pftrace"), "{said}");
    let command = |heading: &str| {
        let line = said.lines().find_map(|line| line.trim().strip_prefix(heading));
        let line = line.unwrap_or_else(|| panic!("{said}"));
        line.trim().replace("timebase export", &format!("{PROGRAM} export"))
    };
    let traces_in = |command: &str| {
        let done =
            Command::new("sh").args(["-c", command]).current_dir(place.path(".")).output().unwrap();
        assert!(done.status.success(), "{command}: {done:?}");
        let traces = fs::read_dir(place.path("tables/packet")).unwrap().count();
        fs::remove_dir_all(place.path("tables")).unwrap();
        traces
    };
    assert_eq!(traces_in(&command("separately:")), 4);
    assert_eq!(traces_in(&command("one timeline:")), 1);
}
