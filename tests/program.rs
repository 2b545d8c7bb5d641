//! The program as its users run it: arguments, output, exit codes.

use std::path::Path;

use crate::support::{answer, run, run_with_input};

const NEAREST: &str = "tests/data/nearest.pftrace";
const MULTIHOP: &str = "tests/data/multihop.pftrace";
const DST: &str = "tests/data/dst.pftrace";

fn csv(trace: &str, sql: &str) -> String {
    answer(&["query", trace, sql, "--format", "csv"])
}

#[test]
fn v2_worked_example_nearest() {
    for (ts, expected) in [(1104, 2104), (1999, 2999), (2000, 3500), (900, 1900)] {
        let sql = format!("SELECT to_boottime(3, 0, {ts}) AS t");
        assert_eq!(csv(NEAREST, &sql), format!("t\n{expected}\n"));
    }
}

#[test]
fn v3_worked_example_multihop_is_explained() {
    let said = answer(&["explain", MULTIHOP, "--clock", "64", "--seq", "2", "--ts", "3503"]);
    let lines: Vec<&str> = said.lines().collect();
    assert!(
        lines[0].contains("64@2 3000 = MONOTONIC 3200") && lines[0].contains("= 3703"),
        "{said}"
    );
    assert!(
        lines[1].contains("MONOTONIC 1200 = BOOTTIME 5200") && lines[1].contains("= 7703"),
        "{said}"
    );
    assert!(lines[2].contains("BOOTTIME 7703"), "{said}");
    let other = answer(&["explain", MULTIHOP, "--clock", "64", "--seq", "3", "--ts", "3503"]);
    assert!(other.contains("unknown_clock"), "{other}");
}

#[test]
fn n5_worked_example_dst_is_refused_with_its_reason() {
    let said = answer(&["explain", DST, "--clock", "REALTIME", "--ts", "11"]);
    assert!(said.contains("non_monotonic") && said.contains("backwards"), "{said}");
    assert_eq!(csv(DST, "SELECT why_unresolved('REALTIME', 0, 11) AS w"), "w\nnon_monotonic\n");
    let other_way =
        "SELECT convert_clock(6, 0, 10029, 1, 0) AS a, convert_clock(6, 0, 40040, 1, 0) AS b";
    assert_eq!(csv(DST, other_way), "a,b\n29,40\n");
}

#[test]
fn d4_an_unplaced_packet_is_a_row_with_its_reason() {
    let sql = "SELECT ts, clock_id, seq_id, clock_ts, unresolved FROM packet WHERE unresolved IS NOT NULL";
    assert_eq!(
        csv(MULTIHOP, sql),
        "ts,clock_id,seq_id,clock_ts,unresolved\n,64,3,3503,unknown_clock\n"
    );
}

#[test]
fn every_format_gives_the_rows() {
    let sql = "SELECT 1 AS a, NULL AS b, 'x,y' AS c, 9007199254740993 AS d";
    let format = |name| answer(&["query", NEAREST, sql, "--format", name]);
    assert_eq!(format("csv"), "a,b,c,d\n1,,\"x,y\",9007199254740993\n");
    assert_eq!(format("jsonl"), "{\"a\":1,\"b\":null,\"c\":\"x,y\",\"d\":9007199254740993}\n");
    let json: serde_json::Value = serde_json::from_str(&format("json")).unwrap();
    assert_eq!(json[0]["d"], 9_007_199_254_740_993_i64);
    assert!(format("markdown").starts_with("| a"));
    assert!(format("table").contains("9007199254740993"));
}

#[test]
fn sql_comes_from_a_pipe_or_a_file_too() {
    let said = run_with_input(
        &["query", NEAREST, "-", "--format", "csv"],
        "SELECT 1 AS a; SELECT 2 AS b;",
    );
    assert_eq!(said.stdout, "a\n1\n\nb\n2\n", "{}", said.stderr);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("q.sql");
    std::fs::write(&file, "SELECT 3 AS c").unwrap();
    let args = ["query", NEAREST, "--format", "csv", "--file", file.to_str().unwrap()];
    assert_eq!(answer(&args), "c\n3\n");
}

#[test]
fn the_shell_reads_statements_and_dot_commands() {
    let input = ".mode csv\nSELECT to_boottime(3,\n 0, 1104) AS t;\n.tables\n.schema clock_snapshot\n.help\n";
    let said = run_with_input(&["shell", NEAREST], input);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stdout.contains("t\n2104\n"), "{}", said.stdout);
    assert!(said.stdout.contains("clock_mapping"), "{}", said.stdout);
    assert!(said.stdout.contains("CREATE TABLE clock_snapshot"), "{}", said.stdout);
    let failed = run_with_input(&["shell", NEAREST], "SELECT nothing;\nSELECT 5;\n");
    assert_eq!(failed.code, Some(1));
    assert!(failed.stderr.contains("nothing") && failed.stdout.contains('5'));
}

#[test]
fn clocks_shows_every_clock() {
    let said = answer(&["clocks", MULTIHOP]);
    assert!(said.contains("64@2 → MONOTONIC → BOOTTIME"), "{said}");
    assert!(said.contains("64@3"), "{said}");
}

#[test]
fn c3_clock_id_of_a_name() {
    assert_eq!(answer(&["clock-id", "com.example.my_subsystem"]), "4144414090\n");
    assert_eq!(answer(&["clock-id", "BOOTTIME"]), "6\n");
}

#[test]
fn exit_codes_and_errors_name_what_is_wrong() {
    let wrong_usage = run(&["import"]);
    assert_eq!(wrong_usage.code, Some(2));
    assert_eq!(run(&["query", NEAREST, "SELECT 1", "--format", "xml"]).code, Some(2));

    let sql = run(&["query", NEAREST, "SELECT * FROM nowhere"]);
    assert_eq!(sql.code, Some(1));
    assert!(sql.stderr.contains("no such table: nowhere"), "{}", sql.stderr);
    let argument = run(&["query", NEAREST, "SELECT to_boottime(x'00', 0, 1)"]);
    assert!(argument.stderr.contains("argument 1 (clock_id)"), "{}", argument.stderr);

    for command in ["query", "clocks"] {
        let args = |file| {
            if command == "query" { vec![command, file, "SELECT 1"] } else { vec![command, file] }
        };
        let missing = run(&args("missing.pftrace"));
        assert_eq!(missing.code, Some(1));
        assert!(missing.stderr.contains("missing.pftrace"), "{}", missing.stderr);
        let readme = run(&args("Cargo.toml"));
        assert_eq!(readme.code, Some(1));
        assert!(readme.stderr.contains("is not a trace"), "{}", readme.stderr);
        assert!(run(&args("tests")).stderr.contains("directory"));
    }
}

#[test]
fn a_database_that_is_not_ours_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("other.db");
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("CREATE TABLE t (x)").unwrap();
    let ask = |path: &Path| run(&["query", path.to_str().unwrap(), "SELECT 1"]);
    let foreign = ask(&path);
    assert_eq!(foreign.code, Some(1));
    assert!(foreign.stderr.contains("but timebase did not make it"), "{}", foreign.stderr);
    other.execute_batch("PRAGMA application_id = 1952605811; PRAGMA user_version = 99;").unwrap();
    let newer = ask(&path);
    assert_eq!(newer.code, Some(1));
    let expected = format!(
        "has the database layout 99, but this version of timebase reads {}; a newer timebase made \
         it, so update timebase\n",
        timebase_schema::VERSION
    );
    assert!(newer.stderr.ends_with(&expected), "{}", newer.stderr);
    other.execute_batch("PRAGMA user_version = 1").unwrap();
    let older = ask(&path);
    assert!(older.stderr.ends_with("; import the trace again\n"), "{}", older.stderr);
}

#[test]
fn results_go_to_stdout_and_all_else_to_stderr() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("o.db");
    let said = run(&["import", NEAREST, "-o", out.to_str().unwrap()]);
    assert_eq!(said.code, Some(0));
    assert_eq!(said.stdout, "");
    for fact in ["packets", "trace time", "snapshots", "clocks", "BOOTTIME"] {
        assert!(said.stderr.contains(fact), "{}", said.stderr);
    }
    assert!(!said.stderr.contains('\r'), "no progress bar in a pipe");
    let twice = run(&["import", out.to_str().unwrap()]);
    assert_eq!(twice.code, Some(1));
    assert!(twice.stderr.contains("already is a SQLite database"), "{}", twice.stderr);
    let again = answer(&[
        "query",
        out.to_str().unwrap(),
        "SELECT count(*) AS n FROM packet",
        "--format",
        "csv",
    ]);
    assert_eq!(again, "n\n16\n");
}
