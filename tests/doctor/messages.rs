//! What the doctor and `timebase explain` tell of clocks that messages relate, on the traces of a client and a server.

use super::traces;
use crate::support::{Imported, Place, data, run};

/// The names of all findings.
fn checks(imported: &Imported) -> Vec<Vec<String>> {
    imported.rows("SELECT check_name, severity FROM finding ORDER BY 1")
}

fn message(imported: &Imported, check: &str) -> String {
    let sql = format!("SELECT message || ' ' || advice FROM finding WHERE check_name = '{check}'");
    imported.rows(&sql).concat().concat()
}

#[test]
fn al20_wall_clocks_that_messages_contradict_are_an_error_until_the_import_leaves_them() {
    let trace = traces::contradicted(30, 100);
    let moved = Imported::of_bytes(&trace, &[]);
    assert_eq!(checks(&moved), [["wall_clocks_contradicted", "info"]]);
    let told = message(&moved, "wall_clocks_contradicted");
    assert!(
        told.contains(" messages from machine 0 to machine 1 arrive before they were sent: "),
        "{told}"
    );
    assert!(told.contains("disagree by at least 2.8"), "{told}");
    assert!(told.contains("So the import related the clocks by the messages"), "{told}");

    let kept = Imported::of_bytes(&trace, &["--align", "report"]);
    assert_eq!(checks(&kept), [["wall_clocks_contradicted", "error"]]);
    assert!(message(&kept, "wall_clocks_contradicted").contains("Import with --align auto, "));
    // The two events of the message that is named are those of one flow, in the wrong order.
    let sql = "SELECT o.machine_id, i.machine_id, o.ts - i.ts
               FROM clock_alignment AS a JOIN packet AS o ON o.id = a.worst_out JOIN packet AS i ON i.id = a.worst_in";
    assert_eq!(kept.rows(sql), [["0", "1", "2900000"]]);

    let off = Imported::of_bytes(&trace, &["--align", "off"]);
    assert_eq!(checks(&off), [["wall_clock_only", "warning"]]);
}

#[test]
fn al20_few_messages_are_an_error_and_the_mode_that_believes_them_is_named() {
    let file = data("doctor/wall_clocks_contradicted.tar");
    let path = file.to_str().unwrap();
    let said = run(&["doctor", path]);
    assert_eq!(said.code, Some(1), "{}", said.stderr);
    let told: Vec<&str> = said.stdout.split_whitespace().collect();
    let told = told.join(" ");
    assert!(
        told.contains("5 of 5 messages from client to server arrive before they were sent"),
        "{told}"
    );
    assert!(
        told.contains("the wall clocks of client and server disagree by at least 2.8"),
        "{told}"
    );
    assert!(told.contains("Import with --align flows, "), "{told}");
    let imported = Imported::of(&file, &["--align", "flows"]);
    assert_eq!(checks(&imported), [["wall_clocks_contradicted", "info"]]);
}

#[test]
fn al18_a_measured_relation_that_messages_contradict_is_off_by_more_than_its_error() {
    let imported = Imported::new("doctor/causality_contradicts.pftrace", &[]);
    let sql = "SELECT severity, events, worst_ns BETWEEN 890000 AND 900000 FROM finding";
    assert_eq!(imported.rows(sql), [["warning", "5", "1"]]);
    let sql =
        "SELECT relation, used, inverted, inverted_ab, wrong_by > unexplained FROM clock_alignment";
    assert_eq!(imported.rows(sql), [["measured", "0", "5", "0", "1"]]);
}

/// Ids from 2³² on are one space of all machines, so that `flow_backwards` sees them.
#[test]
fn al10_g7_a_wrong_pair_is_no_flow_that_runs_backwards() {
    let trace = traces::contradicted(30, 1 << 32);
    let kept = Imported::of_bytes(&trace, &["--align", "report"]);
    assert_eq!(kept.count("SELECT count(*) FROM flow_backwards"), 31);
    let sql = "SELECT severity, worst_ns FROM finding WHERE check_name = 'flow_backwards'";
    assert_eq!(kept.rows(sql), [["error", "2900000"]]);
    // Without alignment, nothing tells which one is wrong.
    let off = Imported::of_bytes(&trace, &["--align", "off"]);
    assert_eq!(off.rows(sql), [["error", "1003000000"]]);
    let moved = Imported::of_bytes(&trace, &[]);
    assert_eq!(moved.count("SELECT count(*) FROM flow_backwards"), 1);
    assert_eq!(checks(&moved), [["wall_clocks_contradicted", "info"]]);
}

#[test]
fn al16_al20_explain_shows_the_messages_around_and_the_bounds() {
    for args in [&[][..], &["--conversion", "linear"]] {
        let imported = Imported::of_bytes(&traces::contradicted(30, 100), args);
        let sql = "SELECT id, ts, clock_ts FROM packet WHERE machine_id = 1 AND clock_ts > 5000100000000 LIMIT 1";
        let [packet, ts, reading] = <[String; 3]>::try_from(imported.rows(sql)[0].clone()).unwrap();
        let said = run(&["explain", imported.path(), "--packet", &packet]);
        let lines: Vec<&str> = said.stdout.lines().collect();
        let hop = format!("BOOTTIME of machine 1 {reading} → BOOTTIME {ts}");
        assert!(lines[2].starts_with(&hop), "{}", said.stdout);
        let (around, offset) = lines[3].split_once("; ").unwrap();
        assert!(around.starts_with("  by causality: between a message "), "{}", said.stdout);
        // The clocks do not drift, and messages take 100 µs.
        let bounds = offset.strip_prefix("−4900.000000 s, ").unwrap();
        let (least, most) = bounds.split_once(" to +").unwrap();
        let least: i64 = least.strip_prefix('−').unwrap().parse().unwrap();
        let most: i64 = most.strip_suffix(" µs").unwrap().parse().unwrap();
        assert!((100..110).contains(&least) && (100..110).contains(&most), "{bounds}");
        assert_eq!(lines.len(), 5, "{}", said.stdout);
        assert!(lines[4].contains(&format!(" is BOOTTIME {ts} ns ")), "{}", said.stdout);
        // The other way round.
        let said = run(&[
            "explain",
            imported.path(),
            "--clock",
            "BOOTTIME",
            "--ts",
            &ts,
            "--to",
            "BOOTTIME of machine 1",
        ]);
        assert!(said.stdout.contains("; +4900.000000 s, −10"), "{}{}", said.stdout, said.stderr);
    }
}

/// Slices of JSON traces are on clocks of their files.
#[test]
fn al16_explain_shows_the_messages_around_a_slice_in_json() {
    let events = |start: u64, out: bool| {
        let event = |phase: char, ts: u64, id: u64| {
            let bind = if phase == 'f' { r#""bp":"e","# } else { "" };
            format!(
                r#"{{"ph":"X","name":"work","ts":{ts},"dur":50,"pid":1,"tid":2}},
{{"ph":"{phase}",{bind}"cat":"c","name":"n","id":{id},"ts":{ts},"pid":1,"tid":2}}"#
            )
        };
        let rounds = (0..30).flat_map(|n| {
            let at = start + n * 10_000;
            match out {
                true => [event('s', at, 2 * n), event('f', at + 400, 2 * n + 1)],
                false => [event('f', at + 100, 2 * n), event('s', at + 300, 2 * n + 1)],
            }
        });
        let rounds: Vec<String> = rounds.collect();
        format!(
            "{{\"baseTimeNanoseconds\":1700000000000000000,\"traceEvents\":[\n{}\n]}}\n",
            rounds.join(",\n")
        )
    };
    let place = Place::new();
    let one = place.write("one.json", events(1_000_000, true).as_bytes());
    let other = place.write("other.json", events(4_000_000, false).as_bytes());
    let manifest = r#"{"perfetto_manifest": {"version": 1, "files": [
  {"path": "one.json", "machine": {"name": "one"}}, {"path": "other.json", "machine": {"name": "other"}}]}}"#;
    let manifest = place.write("machines.json", manifest.as_bytes());
    let database = place.path("both.db");
    let paths = [&one, &other, &manifest, &database].map(|path| path.to_str().unwrap());
    let said = run(&["import", paths[0], paths[1], paths[2], "-o", paths[3]]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let said = run(&["explain", paths[3], "--slice", "50"]);
    let told = "by causality: between a message ";
    assert!(said.stdout.contains(told), "{}{}", said.stdout, said.stderr);
}
