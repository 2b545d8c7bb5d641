//! Untrusted databases and statements: whatever they contain, the result is an answer or an error,
//! and the file does not change.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use proptest::prelude::*;
use proptest::sample::Index;
use rusqlite::config::DbConfig;
use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags};

use crate::support::{Imported, Place, Said, run, run_with_input};

/// A small database from an import.
fn small() -> &'static [u8] {
    static SMALL: OnceLock<Vec<u8>> = OnceLock::new();
    SMALL.get_or_init(|| {
        let imported = Imported::new("multihop.pftrace", &[]);
        fs::read(imported.path()).unwrap()
    })
}

/// A database with slices, arguments and flows.
fn larger() -> &'static [u8] {
    static LARGER: OnceLock<Vec<u8>> = OnceLock::new();
    LARGER.get_or_init(|| {
        let imported = Imported::new("app.pftrace", &[]);
        fs::read(imported.path()).unwrap()
    })
}

/// A database that was changed by these statements.
fn crafted(place: &Place, bytes: &[u8], sql: &str) -> PathBuf {
    let path = place.write("crafted.db", bytes);
    let conn = Connection::open(&path).unwrap();
    conn.execute_batch(sql).unwrap_or_else(|error| panic!("{error}: {sql}"));
    path
}

/// Replaces a table or a view by another view.
fn instead(name: &str, select: &str) -> String {
    let kind = match name {
        "slice" | "args" | "metadata" | "clock" => "VIEW",
        _ => "TABLE",
    };
    format!("DROP {kind} {name}; CREATE VIEW {name} AS {select};")
}

fn query(path: &Path, sql: &str) -> Said {
    run(&["query", path.to_str().unwrap(), sql, "--format", "csv"])
}

/// The program's message for a refusal, after `timebase: error: `.
fn refused(path: &Path, sql: &str) -> String {
    let before = fs::read(path).unwrap();
    let said = query(path, sql);
    assert_eq!(said.code, Some(1), "{sql}: {}{}", said.stdout, said.stderr);
    assert_eq!(said.stdout, "", "{sql}");
    assert_eq!(fs::read(path).unwrap(), before, "{sql} changed the file");
    let error = said.stderr.strip_prefix("timebase: error: ");
    error.unwrap_or_else(|| panic!("{}", said.stderr)).to_owned()
}

fn answered(path: &Path, sql: &str) -> String {
    let said = query(path, sql);
    assert_eq!(said.code, Some(0), "{sql}: {}", said.stderr);
    said.stdout
}

/// `clock_snapshot` as a view with these values in some of its columns.
fn snapshots(columns: &[(&str, &str)], from: &str) -> String {
    let all = [
        ("id", "0"),
        ("ts", "0"),
        ("clock_id", "3"),
        ("clock_name", "NULL"),
        ("clock_value", "0"),
        ("snapshot_id", "0"),
        ("machine_id", "0"),
        ("packet_id", "0"),
        ("seq_id", "0"),
        ("timestamp", "0"),
        ("unit_multiplier_ns", "1"),
        ("is_incremental", "0"),
        ("source", "'service'"),
        ("trace_file_id", "NULL"),
    ];
    let columns = all.map(|(name, usual)| {
        let given = columns.iter().find(|(of, _)| *of == name);
        format!("{} AS {name}", given.map_or(usual, |(_, value)| value))
    });
    instead("clock_snapshot", &format!("SELECT {} {from}", columns.join(", ")))
}

#[test]
fn a_view_that_calls_the_function_that_reads_it_is_an_error() {
    let place = Place::new();
    let itself = [("clock_value", "to_boottime(3, 0, 5)")];
    let path = crafted(&place, small(), &snapshots(&itself, ""));
    let error = refused(&path, "SELECT to_boottime(3, 0, 5)");
    assert!(
        error.contains("clock_snapshot is defined by a call that reads clock_snapshot; define it without the call"),
        "{error}"
    );
    // The table of readings is read first, and may be such a view, too.
    let version = "SELECT 'clock_snapshot_version' AS name, to_boottime(3, 0, 5) AS value";
    let path = crafted(&place, small(), &instead("metadata", version));
    assert_eq!(answered(&path, "SELECT why_unresolved(3, 0, 5) IS NULL AS yes"), "yes\n1\n");

    for (name, select, ask) in [
        ("slice", "SELECT * FROM ancestor_slice(1)", "SELECT * FROM slice"),
        ("slice", "SELECT * FROM ancestor_slice(1)", "SELECT * FROM ancestor_slice(1)"),
        ("slice", "SELECT * FROM ancestor_slice(1)", "SELECT * FROM descendant_slice(1)"),
        ("flow", "SELECT * FROM following_flow(1)", "SELECT * FROM preceding_flow(1)"),
        (
            "slice",
            "SELECT 1 AS id, slice_is_ancestor(1, 1) AS parent_id",
            "SELECT slice_is_ancestor(1, 1)",
        ),
        (
            "args",
            "SELECT 1 AS id, 3 AS arg_set_id, extract_arg(3, 'a\"b') AS key",
            "SELECT extract_arg(3, 'a\"b')",
        ),
    ] {
        let path = crafted(&place, larger(), &instead(name, select));
        let error = refused(&path, ask);
        assert!(!error.contains("panic"), "{ask}: {error}");
    }
}

#[test]
fn values_of_a_reading_that_are_none_are_named() {
    let place = Place::new();
    for (column, value, expected) in [
        ("snapshot_id", "NULL", "row 0: snapshot_id must be an integer, not NULL"),
        ("clock_value", "'now'", "snapshot 0: clock_value must be an integer, not the text 'now'"),
        ("clock_value", "x'00'", "snapshot 0: clock_value must be an integer, not a blob"),
        (
            "clock_value",
            "1.5",
            "snapshot 0: clock_value must be an integer, not the real number 1.5",
        ),
        ("clock_id", "-1", "snapshot 0: clock_id must be between 0 and 4294967295, not -1"),
        (
            "seq_id",
            "4294967296",
            "snapshot 0: seq_id must be between 0 and 4294967295, not 4294967296",
        ),
        ("machine_id", "NULL", "snapshot 0: machine_id must be an integer, not NULL"),
        ("ts", "'x'", "snapshot 0: ts must be an integer, not the text 'x'"),
        ("id", "x''", "snapshot 0: id must be an integer, not a blob"),
        (
            "source",
            "'nobody'",
            "snapshot 0: source must be one of manifest, service, writer, remote_sync, ftrace, causality, json, assumed",
        ),
        (
            "source",
            "NULL",
            "snapshot 0: source must be one of manifest, service, writer, remote_sync, ftrace, causality, json, assumed",
        ),
        (
            "is_incremental",
            "'yes'",
            "snapshot 0: is_incremental must be an integer, not the text 'yes'",
        ),
        (
            "unit_multiplier_ns",
            "NULL",
            "snapshot 0: unit_multiplier_ns must be an integer, not NULL",
        ),
    ] {
        let path = crafted(&place, small(), &snapshots(&[(column, value)], ""));
        let error = refused(&path, "SELECT to_boottime(3, 0, 5)");
        let expected = format!("to_boottime(): clock_snapshot cannot be used: {expected}\n");
        assert!(error.starts_with(&expected), "{error}");
    }
    // Texts as long as a book are not repeated.
    let path = crafted(
        &place,
        small(),
        &snapshots(&[("clock_value", "printf('%.*c', 1000000, 'x')")], ""),
    );
    assert!(refused(&path, "SELECT to_boottime(3, 0, 5)").len() < 300);
}

#[test]
fn the_ends_of_64_bits_are_readings_like_others() {
    let place = Place::new();
    let rows = "FROM (VALUES (0, 3, -9223372036854775808), (0, 6, 9223372036854775807),
        (1, 3, 9223372036854775807), (1, 6, 9223372036854775807)) AS r";
    for unit in ["1", "0", "-5", "-9223372036854775808", "9223372036854775807"] {
        let columns = [
            ("id", "row_number() OVER ()"),
            ("snapshot_id", "column1"),
            ("clock_id", "column2"),
            ("clock_value", "column3"),
            ("unit_multiplier_ns", unit),
        ];
        let path = crafted(&place, small(), &snapshots(&columns, rows));
        for ts in ["0", "-9223372036854775808", "9223372036854775807"] {
            let sql = format!(
                "SELECT to_boottime(3, 0, {ts}), convert_clock(6, 0, {ts}, 3, 0), why_unresolved(3, 0, {ts}),
                   to_monotonic({ts}), (SELECT count(*) FROM clock_path(3, 0, {ts}))"
            );
            let said = query(&path, &sql);
            assert_eq!(said.code, Some(0), "{unit}: {}", said.stderr);
        }
    }
}

#[test]
fn other_things_by_the_names_of_tables_are_errors_that_say_so() {
    let place = Place::new();
    for (sql, ask, expected) in [
        (
            "DROP TABLE clock_snapshot",
            "SELECT to_boottime(3, 0, 5)",
            "no such table: main.clock_snapshot",
        ),
        (
            "DROP TABLE clock_snapshot; CREATE TABLE clock_snapshot (id)",
            "SELECT to_boottime(3, 0, 5)",
            "no such column",
        ),
        (
            "DROP TABLE clock_snapshot; CREATE VIRTUAL TABLE clock_snapshot USING fts5(snapshot_id)",
            "SELECT to_boottime(3, 0, 5)",
            "no such column",
        ),
        (
            "INSERT INTO descriptor (source, data) VALUES ('trace', x'ff')",
            "SELECT packet_json(x'4001')",
            "this is not a protobuf descriptor",
        ),
        (
            "INSERT INTO descriptor (source, data) VALUES ('trace', zeroblob(20000000))",
            "SELECT packet_json(x'4001')",
            "more than 16777216 bytes together",
        ),
        (
            "DROP VIEW slice; CREATE VIEW slice AS SELECT 1 AS id",
            "SELECT * FROM ancestor_slice(1)",
            "no such column",
        ),
        ("DROP VIEW slice", "SELECT * FROM descendant_slice(1)", "has no table slice"),
    ] {
        let path = crafted(&place, larger(), sql);
        let error = refused(&path, ask);
        assert!(error.contains(expected), "{sql}: {error}");
    }
}

#[test]
fn no_view_calls_what_can_do_harm_and_all_call_what_cannot() {
    let place = Place::new();
    let harmful = "CREATE VIEW v AS SELECT load_extension('x') AS x";
    let error = refused(&crafted(&place, small(), harmful), "SELECT * FROM v");
    assert!(error.starts_with("unsafe use of "), "{error}");
    let made = "CREATE VIEW mine AS SELECT to_boottime(3, 0, 1000) AS boottime, clock_name(3) AS name,
          extract_arg(1, 'a') AS arg, packet_field(x'4001', 'timestamp') AS ts, packet_json(x'4001') AS json,
          abs_time_str(5) AS at, (SELECT count(*) FROM clock_path(3, 0, 1000)) AS hops,
          (SELECT count(*) FROM ancestor_slice(1)) AS above, slice_is_ancestor(1, 2) AS is_above,
          json_object('a', 1) AS object, printf('%d', 1) AS text;
        CREATE TABLE generated (ts, boottime AS (to_boottime(3, 0, ts)));
        INSERT INTO generated (ts) VALUES (1000);
        CREATE INDEX by_field ON packet_record (packet_field(data, 'timestamp'));
        CREATE TRIGGER t AFTER INSERT ON packet_record BEGIN SELECT load_extension('x'); END;";
    let path = crafted(&place, larger(), "");
    let conn = Connection::open(&path).unwrap();
    register(&conn);
    conn.execute_batch(made).unwrap();
    drop(conn);
    answered(&path, "SELECT * FROM mine");
    answered(&path, "SELECT * FROM generated");
    answered(&path, "SELECT count(*) FROM packet WHERE packet_field(data, 'timestamp') = 5");
    // For each table of timebase.
    let conn = Connection::open(&path).unwrap();
    let mut statement = conn.prepare("SELECT name FROM sqlite_schema WHERE type = 'view'").unwrap();
    let views = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
    let all: Vec<String> = views
        .map(|view| format!("SELECT count(*) FROM (SELECT * FROM \"{}\" LIMIT 10)", view.unwrap()))
        .collect();
    assert!(all.len() > 30);
    answered_all(&path, &all);
}

fn answered_all(path: &Path, statements: &[String]) {
    let args = ["query", path.to_str().unwrap(), "-"];
    let said = run_with_input(&args, &statements.join(";\n"));
    assert_eq!(said.code, Some(0), "{}", said.stderr);
}

#[test]
fn a_statement_that_only_reads_writes_no_file() {
    let place = Place::new();
    let path = crafted(&place, small(), "");
    let other = place.path("other.db");
    fs::write(&other, small()).unwrap();
    fs::write(place.path("empty.db"), "").unwrap();
    let before = place.files();
    let name = |name: &str| place.path(name).to_str().unwrap().to_owned();
    for sql in [
        format!("VACUUM INTO '{}'", name("made.db")),
        format!("vacuum/**/main INTO 'file:{}'", name("made.db")),
        format!("VACUUM INTO '{}'", name("empty.db")),
        format!("ATTACH '{}' AS made; CREATE TABLE made.t (a)", name("made.db")),
        format!("ATTACH 'file:{}?mode=rwc' AS made", name("made.db")),
        format!("ATTACH '{}' AS other; DELETE FROM other.packet_record", name("other.db")),
        format!("ATTACH '{}' AS other; DROP TABLE other.packet_record", name("other.db")),
        "DELETE FROM packet_record".to_owned(),
        "PRAGMA writable_schema = ON".to_owned(),
        "PRAGMA main.Trusted_Schema(1)".to_owned(),
        "PRAGMA mmap_size = 1000000".to_owned(),
        "PRAGMA temp_store_directory = '/'".to_owned(),
        "SELECT load_extension('x')".to_owned(),
    ] {
        refused(&path, &sql);
        assert_eq!(place.files(), before, "{sql}");
        assert_eq!(fs::read(&other).unwrap(), small(), "{sql}");
        assert_eq!(fs::metadata(place.path("empty.db")).unwrap().len(), 0, "{sql}");
    }
    // Queries and temporary objects are allowed.
    let sql = format!(
        "ATTACH '{}' AS other; CREATE TEMP TABLE t AS SELECT count(*) AS n FROM other.packet;
         CREATE TEMP TRIGGER again AFTER INSERT ON t WHEN new.n < 0 BEGIN INSERT INTO t VALUES (new.n + 1); END;
         INSERT INTO t VALUES (-2); PRAGMA trusted_schema; SELECT count(*) > 2 AS more FROM t",
        name("other.db")
    );
    let said = run(&["query", path.to_str().unwrap(), &sql, "--format", "jsonl"]);
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
    assert!(
        said.stdout.contains("\"trusted_schema\":0") && said.stdout.contains("\"more\":1"),
        "{}",
        said.stdout
    );
    // With --write, all of them are.
    let sql = format!("PRAGMA trusted_schema = ON; VACUUM INTO '{}'", name("made.db"));
    let said = run(&["query", "--write", path.to_str().unwrap(), &sql]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(place.path("made.db").exists());
}

#[test]
fn what_a_statement_may_have_of_memory_is_bounded() {
    let place = Place::new();
    let path = crafted(&place, small(), "");
    for (sql, expected) in [
        ("SELECT length(zeroblob(536870913))", "string or blob too big"),
        ("SELECT length(hex(zeroblob(300000000)))", "string or blob too big"),
        ("SELECT 'a' LIKE printf('%.*c', 1001, '_')", "LIKE or GLOB pattern too complex"),
        ("SELECT 'a' GLOB printf('%.*c', 1001, '?')", "LIKE or GLOB pattern too complex"),
    ] {
        assert!(refused(&path, sql).starts_with(expected), "{sql}");
    }
    let deep = format!("SELECT {}1{}", "(".repeat(100_000), ")".repeat(100_000));
    let wide = format!("SELECT 1{}", " UNION ALL SELECT 1".repeat(600));
    let long = format!("SELECT '{}'", "x".repeat(17 << 20));
    for sql in [deep, wide, long] {
        let args = ["query", path.to_str().unwrap(), "-"];
        let said = run_with_input(&args, &sql);
        assert_eq!(said.code, Some(1));
        assert!(said.stderr.len() < 1000, "{}", &said.stderr[..1000]);
    }
    // Two bytes each; a value would take fifty times as much.
    let sql = "SELECT packet_json(CAST(replace(hex(zeroblob(9000000)), '00', char(8, 1)) AS BLOB))";
    assert!(refused(&path, sql).contains("cannot be read: there are more than 8388608 values"));
    let sql = "WITH RECURSIVE v(a, n) AS (SELECT zeroblob(400000000), 1 UNION ALL SELECT a || a, n + 1 FROM v)
        SELECT sum(length(a)) FROM v";
    assert!(refused(&path, sql).starts_with("string or blob too big"));
    // A person reads its beginning.
    let said =
        run(&["query", path.to_str().unwrap(), "SELECT printf('%.*c', 3000000, 'x') AS long"]);
    assert!(
        said.stdout.len() < 6_000_000 && said.stdout.contains("… 3000000 bytes"),
        "{}",
        said.stdout.len()
    );
}

#[test]
fn a_terminal_is_not_told_what_to_do() {
    let place = Place::new();
    let path = crafted(
        &place,
        small(),
        "CREATE VIEW \"\u{1b}[31m\" AS SELECT load_extension('\u{1b}]0;a') AS x",
    );
    let error = refused(&path, "SELECT [no \u{1b}[31m] FROM packet");
    assert!(error.contains('\u{241b}') && !error.contains('\u{1b}'), "{error:?}");
}

#[test]
fn circles_and_chains_of_slices_and_flows_end() {
    let place = Place::new();
    let chain = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)";
    for (parent, slices) in
        [("(i + 1) % 3001", 3000), ("i", 0), ("iif(i, i - 1, NULL)", 3000), ("i / 2", 3000)]
    {
        let sql = format!(
            "DROP VIEW slice; DROP TABLE flow;
             CREATE TABLE slice AS {chain} SELECT i AS id, 0 AS ts, -1 AS dur, 0 AS track_id, 'x' AS name, 0 AS depth,
               {parent} AS parent_id FROM n;
             CREATE UNIQUE INDEX slice_by_id ON slice (id);
             CREATE TABLE flow AS {chain} SELECT i AS id, i AS slice_out, (i + 1) % 3001 AS slice_in FROM n;
             CREATE INDEX flow_in ON flow (slice_in); CREATE INDEX flow_out ON flow (slice_out)"
        );
        let path = crafted(&place, larger(), &sql);
        let count = |of: &str| -> i64 {
            let told = answered(&path, &format!("SELECT count(*) AS n FROM {of}"));
            told.trim_start_matches("n\n").trim().parse().unwrap()
        };
        assert!(count("ancestor_slice(3000)") <= 3000, "{parent}");
        assert!(count("descendant_slice(0)") <= slices, "{parent}");
        assert_eq!(count("directly_connected_flow(5)"), 3001, "{parent}");
        let ends = "SELECT slice_is_ancestor(5, 3000) IN (0, 1) AS yes";
        assert_eq!(answered(&path, ends), "yes\n1\n");
    }
    // Forged ids, of any type.
    for value in ["NULL", "'a'", "x'00'", "1.5", "-9223372036854775808"] {
        let slice = format!(
            "SELECT 1 AS id, {value} AS ts, {value} AS dur, {value} AS track_id, {value} AS parent_id"
        );
        let flow = format!("SELECT {value} AS id, 1 AS slice_out, {value} AS slice_in");
        let path = crafted(&place, larger(), &(instead("slice", &slice) + &instead("flow", &flow)));
        for of in ["ancestor_slice", "descendant_slice", "following_flow", "preceding_flow"] {
            let said = query(&path, &format!("SELECT * FROM {of}(1)"));
            assert!(
                !said.stderr.contains("panic") && said.code.is_some_and(|code| code < 2),
                "{}",
                said.stderr
            );
        }
    }
}

#[test]
fn a_database_that_says_what_it_is_not_is_refused() {
    let place = Place::new();
    for (sql, expected) in [
        ("PRAGMA application_id = 7", "is a SQLite database, but timebase did not make it"),
        ("PRAGMA user_version = 100000", "has the database layout 100000"),
        ("PRAGMA user_version = -1", "has the database layout -1"),
    ] {
        let path = crafted(&place, small(), sql);
        let path = path.to_str().unwrap();
        for args in [
            &["query", path, "SELECT 1"][..],
            &["query", path, "--report", "slices"],
            &["clocks", path],
            &["doctor", path],
            &["report", path, "-o", "-"],
            &["shell", path],
            &["explain", path, "--clock", "3", "--ts", "5"],
        ] {
            let said = run(args);
            assert_eq!((said.code, said.stdout.as_str()), (Some(1), ""), "{args:?}");
            assert!(said.stderr.contains(expected), "{}", said.stderr);
        }
    }
}

#[test]
fn statistics_that_are_made_up_change_no_answer() {
    let place = Place::new();
    let path = crafted(&place, larger(), "");
    let sql =
        "SELECT count(*), sum(dur) FROM thread_slice JOIN flow ON slice_out = thread_slice.id";
    let expected = answered(&path, sql);
    for stat in [
        "'0 0 0'",
        "'9223372036854775807 1 1'",
        "'-1 -1'",
        "x'00ff'",
        "printf('%.*c', 100000, '1 ')",
        "NULL",
    ] {
        let made = format!(
            "ANALYZE; UPDATE sqlite_stat1 SET stat = {stat};
             INSERT INTO sqlite_stat1 VALUES ('slice_record', 'no such', '1'), (NULL, NULL, NULL)"
        );
        let path = crafted(&place, larger(), &made);
        assert_eq!(answered(&path, sql), expected, "{stat}");
    }
}

#[test]
fn journals_of_others_change_no_file() {
    let place = Place::new();
    // From a killed program: a part of a change is in the file, and the journal undoes it.
    let path = place.write("unfinished.db", small());
    let conn = Connection::open(&path).unwrap();
    conn.execute_batch(
        "PRAGMA cache_size = 2; BEGIN; UPDATE packet_common SET uid = 4711;
         CREATE TABLE t AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
           SELECT i, randomblob(500) FROM n",
    )
    .unwrap();
    let half = place.path("half.db");
    for end in ["", "-journal"] {
        fs::copy(place.path(format!("unfinished.db{end}")), place.path(format!("half.db{end}")))
            .unwrap();
    }
    drop(conn);
    let journal = fs::read(place.path("half.db-journal")).unwrap();
    let error = refused(&half, "SELECT DISTINCT uid FROM packet");
    assert!(error.contains("a journal beside it holds an incomplete change"), "{error}");
    assert_eq!(fs::read(place.path("half.db-journal")).unwrap(), journal);

    // A change that is still in the log next to the file counts, and stays there.
    let path = place.write("logged.db", small());
    let conn = Connection::open(&path).unwrap();
    conn.execute_batch("PRAGMA journal_mode = wal; UPDATE packet_common SET uid = 4711").unwrap();
    let log = place.path("copy.db-wal");
    fs::copy(&path, place.path("copy.db")).unwrap();
    fs::copy(place.path("logged.db-wal"), &log).unwrap();
    drop(conn);
    let (before, log_before) = (fs::read(place.path("copy.db")).unwrap(), fs::read(&log).unwrap());
    assert_eq!(answered(&place.path("copy.db"), "SELECT DISTINCT uid FROM packet"), "uid\n4711\n");
    assert_eq!(fs::read(place.path("copy.db")).unwrap(), before);
    assert_eq!(fs::read(&log).unwrap(), log_before);

    // Garbage with these names is no log.
    let path = place.write("garbage.db", small());
    for end in ["-wal", "-shm"] {
        place.write(&format!("garbage.db{end}"), &[0xa5; 5000]);
    }
    place.write("garbage.db-journal", &[0; 5000]);
    assert_eq!(answered(&path, "SELECT count(*) > 0 AS yes FROM packet"), "yes\n1\n");
    assert_eq!(fs::read(&path).unwrap(), small());
}

#[test]
fn a_name_is_that_of_a_file_whatever_it_is() {
    let place = Place::new();
    for name in ["file:a.db", "file:b.db?mode=memory", ":memory:", "a ?#%20.db", "-c.db"] {
        let path = place.write(name, small());
        assert_eq!(answered(&path, "SELECT count(*) > 0 AS yes FROM packet"), "yes\n1\n", "{name}");
        let mut command = std::process::Command::new(crate::support::PROGRAM);
        command.current_dir(path.parent().unwrap());
        let said: Said = command
            .args(["query", "--", name, "SELECT count(*) > 0 FROM packet"])
            .output()
            .unwrap()
            .into();
        assert_eq!(said.code, Some(0), "{name}: {}", said.stderr);
    }
}

#[cfg(unix)]
#[test]
fn what_is_no_file_is_no_database() {
    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;

    let place = Place::new();
    let path = place.write("small.db", small());
    let link = place.path("link.db");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    answered(&link, "SELECT 1");
    let directory = place.path("directory.db");
    fs::create_dir(&directory).unwrap();
    let error = query(&directory, "SELECT 1");
    assert!(error.stderr.contains("is a directory"), "{}", error.stderr);
    let circle = place.path("circle.db");
    std::os::unix::fs::symlink(&circle, &circle).unwrap();
    assert_eq!(query(&circle, "SELECT 1").code, Some(1));
    // SQLite cannot read a pipe, so the contents of a pipe are a trace or nothing.
    let pipe = place.path("pipe.db");
    mkfifo(&pipe, Mode::S_IRWXU).unwrap();
    let writer = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::write(pipe, small())
    });
    let said = query(&pipe, "SELECT 1");
    assert_eq!(said.code, Some(1));
    assert!(said.stderr.contains("already is a SQLite database"), "{}", said.stderr);
    let _ = writer.join().unwrap();
}

/// Presses Ctrl-C this many times, once the program is ready for it.
#[cfg(target_os = "linux")]
fn interrupted(path: &Path, args: &[&str], times: usize) -> Said {
    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;
    use std::process::{Command, Stdio};
    use std::time::Duration;

    let mut command = Command::new(crate::support::PROGRAM);
    command.arg(args[0]).arg(path).args(&args[1..]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let handles = || {
        let status = fs::read_to_string(&status).unwrap_or_default();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let caught = caught.and_then(|caught| u64::from_str_radix(caught.trim(), 16).ok());
        caught.is_some_and(|caught| caught >> (Signal::SIGINT as u64 - 1) & 1 == 1)
    };
    while !handles() {
        std::thread::sleep(Duration::from_millis(10));
    }
    // It ends, whatever it is doing at that time.
    for _ in 0..times {
        std::thread::sleep(Duration::from_millis(500));
        kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).unwrap();
    }
    child.wait_with_output().unwrap().into()
}

#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_ends_what_has_no_end() {
    let place = Place::new();
    let endless =
        "FROM (WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n)";
    let never = format!("{endless} WHERE i % 2 = 7");
    let readings = snapshots(&[("id", "i"), ("clock_value", "i"), ("snapshot_id", "i")], &never);
    let slices = format!(
        "SELECT i AS id, 0 AS ts, 0 AS dur, 0 AS track_id, i + 1 AS parent_id {endless} WHERE i % 2 = 7"
    );
    let descriptors = format!("SELECT i AS id, x'' AS data {never}");
    let endless_clocks = format!("SELECT old.* FROM old, (SELECT i {endless}) WHERE i % 2 = 7");
    let clocks = "CREATE TABLE old AS SELECT * FROM clock_record;".to_owned()
        + &instead("clock_record", &endless_clocks);
    let sql = [
        readings,
        instead("slice", &slices),
        instead("descriptor", &descriptors),
        clocks,
        instead("clock", &format!("SELECT i AS clock_id {never}")),
        // Few checks read this table. A view that many checks read makes the statement larger than
        // SQLite takes.
        instead(
            "flow_backwards",
            &format!(
                "SELECT i AS id, 0 AS slice_out, 0 AS slice_in, i AS trace_id, 0 AS packet_out, 0 AS packet_in {never}"
            ),
        ),
    ];
    for (changes, args) in [
        (&sql[0], &["query", "SELECT to_boottime(3, 0, 5)"][..]),
        (&sql[0], &["query", "SELECT * FROM clock_path(3, 0, 5)"]),
        (&sql[0], &["explain", "--clock", "3", "--ts", "5"]),
        (&sql[1], &["query", "SELECT * FROM descendant_slice(1)"]),
        (&sql[1], &["query", "SELECT slice_is_ancestor(1, 2)"]),
        (&sql[2], &["query", "SELECT packet_json(data) FROM packet"]),
        (&sql[3], &["clocks"]),
        (&sql[5], &["doctor"]),
        (&sql[0], &["report"]),
        (&sql[3], &["report"]),
        (&sql[4], &["query", "SELECT to_boottime('com.example', 0, 5)"]),
    ] {
        let path = crafted(&place, small(), changes);
        let said = interrupted(&path, args, 1);
        assert_eq!(said.code, Some(130), "{args:?}: {}{}", said.stdout, said.stderr);
        assert_eq!(said.stderr.trim(), "timebase: error: interrupted", "{args:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_ends_a_function_that_does_not_look_for_it() {
    let place = Place::new();
    let path = crafted(&place, small(), "");
    // Compares ten million bytes ten million times.
    let sql = "SELECT instr(printf('%.*c', 20000000, 'a'), printf('%.*c', 10000000, 'a') || 'b')";
    let said = interrupted(&path, &["query", sql], 2);
    assert_eq!(said.code, Some(130), "{}{}", said.stdout, said.stderr);
    assert_eq!(said.stderr.trim(), "timebase: error: interrupted");
}

fn register(conn: &Connection) {
    timebase::sql::register(conn).unwrap();
}

/// Possible queries of a program with timebase's functions.
const QUESTIONS: &[&str] = &[
    "SELECT to_boottime(3, 0, 3503), to_boottime(64, 2, 3503), why_unresolved(1, 0, 5), to_realtime(7)",
    "SELECT * FROM clock_path(64, 2, 3503)",
    "SELECT id, packet_json(data), packet_field(data, 'timestamp'), to_boottime(clock_id, seq_id, clock_ts) FROM packet",
    "SELECT extract_arg(id, 'debug.n'), extract_arg(id, 'a\"b') FROM arg_set LIMIT 20",
    "SELECT * FROM clock",
    "SELECT * FROM clock_mapping",
    "SELECT * FROM ancestor_slice((SELECT max(id) FROM slice))",
    "SELECT * FROM descendant_slice(0)",
    "SELECT * FROM directly_connected_flow((SELECT min(slice_out) FROM flow))",
    "SELECT slice_is_ancestor(0, (SELECT max(id) FROM slice))",
    "SELECT * FROM thread_slice",
    "SELECT * FROM args LIMIT 100",
    "SELECT * FROM sched_with_thread_process",
    "SELECT * FROM import_log",
    "SELECT * FROM trace_bounds",
];

/// Runs all queries on a file, each with a limited number of steps. Whatever the file contains, the
/// results are rows or errors.
fn ask(path: &Path) {
    let Ok(mut conn) = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY) else {
        return;
    };
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true).unwrap();
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false).unwrap();
    let _ = conn.execute_batch("PRAGMA cell_size_check = ON");
    register(&conn);
    let _ = timebase_import::check_database(&conn);
    let _ = timebase_import::damage(&conn);
    for question in QUESTIONS {
        let mut left = 200;
        let is_enough = move || {
            left -= 1;
            left < 0
        };
        conn.progress_handler(10_000, Some(is_enough)).unwrap();
        let asked = || -> rusqlite::Result<()> {
            let mut statement = conn.prepare(question)?;
            let columns = statement.column_count();
            let mut rows = statement.raw_query();
            while let Some(row) = rows.next()? {
                for column in 0..columns {
                    row.get_ref(column)?;
                }
            }
            Ok(())
        };
        if let Err(error) = asked() {
            assert!(!error.to_string().contains("panic"), "{question}: {error}");
        }
    }
}

/// The changes of bytes.
#[derive(Clone, Debug)]
enum Damage {
    Flip(Index, u8),
    /// In the head of a page, where a wrong bit has the largest effect.
    InHead(Index, u16, u8),
    Zero(Index, u16),
    /// A page is replaced by another one, so that trees share branches, or have cycles.
    Copy(Index, Index),
    /// A number of four bytes becomes the number of another page.
    Link(Index, u16, u8),
    Cut(Index),
    Append(Vec<u8>),
}

const PAGE: usize = 4096;

impl Damage {
    fn any() -> impl Strategy<Value = Damage> {
        prop_oneof![
            3 => (any::<Index>(), 0u8..8).prop_map(|(at, bit)| Damage::Flip(at, bit)),
            6 => (any::<Index>(), 0u16..120, any::<u8>()).prop_map(|(page, at, byte)| Damage::InHead(page, at, byte)),
            1 => (any::<Index>(), 1u16..5000).prop_map(|(at, size)| Damage::Zero(at, size)),
            2 => (any::<Index>(), any::<Index>()).prop_map(|(to, from)| Damage::Copy(to, from)),
            3 => (any::<Index>(), 0u16..4092, any::<u8>()).prop_map(|(page, at, to)| Damage::Link(page, at, to)),
            1 => any::<Index>().prop_map(Damage::Cut),
            1 => prop::collection::vec(any::<u8>(), 1..9000).prop_map(Damage::Append),
        ]
    }

    fn apply(&self, bytes: &mut Vec<u8>) {
        let pages = (bytes.len() / PAGE).max(1);
        match self {
            _ if bytes.is_empty() => {}
            Damage::Flip(at, bit) => {
                let at = at.index(bytes.len());
                bytes[at] ^= 1 << bit;
            }
            Damage::InHead(page, at, byte) => {
                if let Some(old) = bytes.get_mut(page.index(pages) * PAGE + usize::from(*at)) {
                    *old = *byte;
                }
            }
            Damage::Zero(at, size) => {
                let at = at.index(bytes.len());
                let end = bytes.len().min(at + usize::from(*size));
                bytes[at..end].fill(0);
            }
            Damage::Copy(to, from) => {
                let (to, from) = (to.index(pages) * PAGE, from.index(pages) * PAGE);
                if to.max(from) + PAGE <= bytes.len() {
                    bytes.copy_within(from..from + PAGE, to);
                }
            }
            Damage::Link(page, at, to) => {
                let at = page.index(pages) * PAGE + usize::from(*at);
                if let Some(old) = bytes.get_mut(at..at + 4) {
                    old.copy_from_slice(&u32::from(*to).to_be_bytes());
                }
            }
            Damage::Cut(at) => bytes.truncate(at.index(bytes.len())),
            Damage::Append(more) => bytes.extend(more),
        }
    }
}

#[test]
fn a_name_that_is_no_text_is_an_error() {
    let mut bytes = larger().to_vec();
    let after = |bytes: &[u8], from: usize, text: &str| {
        let found = bytes[from..].windows(text.len()).position(|part| part == text.as_bytes());
        found.map(|place| from + place + text.len())
    };
    // Pages that are free now can have the text, too.
    let mut from = 0;
    while let Some(table) = after(&bytes, from, "CREATE TABLE counter_record (") {
        let column = after(&bytes, table, "  valu").unwrap();
        bytes[column] = 0xff;
        from = table;
    }
    let place = Place::new();
    let path = place.write("damaged.db", &bytes);
    let path = path.to_str().unwrap();
    for args in [&["report", path][..], &["query", path, "SELECT 1"]] {
        let said = run(args);
        assert_eq!(said.code, Some(1), "{}", said.stderr);
        assert!(said.stderr.contains("damaged.db"), "{}", said.stderr);
        assert!(!said.stderr.contains("panic"), "{}", said.stderr);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 320, max_shrink_iters: 50, ..ProptestConfig::default() })]

    #[test]
    fn a_damaged_file_gives_rows_or_errors(
        damages in prop::collection::vec(Damage::any(), 1..9),
        is_larger in prop::bool::weighted(0.2),
    ) {
        let mut bytes = if is_larger { larger() } else { small() }.to_vec();
        damages.iter().for_each(|damage| damage.apply(&mut bytes));
        let place = Place::new();
        let path = place.write("damaged.db", &bytes);
        ask(&path);
        prop_assert_eq!(fs::read(&path).unwrap(), bytes);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, max_shrink_iters: 20, ..ProptestConfig::default() })]

    #[test]
    fn the_program_survives_a_damaged_file(damages in prop::collection::vec(Damage::any(), 1..5)) {
        let mut bytes = larger().to_vec();
        // The test above changes the header; without a valid header, this is no database.
        damages.iter().for_each(|damage| damage.apply(&mut bytes));
        let head = bytes.len().min(100);
        bytes[..head].copy_from_slice(&larger()[..head]);
        let place = Place::new();
        let path = place.write("damaged.db", &bytes);
        let path = path.to_str().unwrap();
        for args in [
            &["query", path, "SELECT * FROM thread_slice"][..],
            &["query", path, "--report", "slices"],
            &["clocks", path],
            &["doctor", path],
            &["report", path],
            &["explain", path, "--slice", "77"],
        ] {
            let said = run(args);
            prop_assert!(matches!(said.code, Some(0 | 1)), "{:?}: {:?} {}", args, said.code, said.stderr);
            prop_assert!(!said.stderr.contains("panic"), "{:?}: {}", args, said.stderr);
        }
        prop_assert_eq!(fs::read(path).unwrap(), bytes);
    }
}

/// Any value, with values that clocks have more often.
fn any_value() -> impl Strategy<Value = Value> {
    let integer = prop_oneof![
        8 => -3i64..10,
        2 => prop::sample::select(vec![i64::MIN, i64::MAX, 63, 64, 127, 128, u32::MAX.into(), 1 << 32]),
        1 => any::<i64>(),
    ];
    prop_oneof![
        40 => integer.prop_map(Value::Integer),
        1 => Just(Value::Null),
        1 => any::<f64>().prop_map(Value::Real),
        1 => "\\PC{0,3}".prop_map(Value::Text),
        1 => prop::collection::vec(any::<u8>(), 0..4).prop_map(Value::Blob),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn any_rows_are_readings_or_an_error(
        rows in prop::collection::vec(prop::collection::vec(any_value(), 10), 0..12),
        ticks in prop::collection::vec(any::<i64>(), 3),
    ) {
        let conn = Connection::open_in_memory().unwrap();
        register(&conn);
        conn.execute_batch(
            "CREATE TABLE clock_snapshot (id, ts, clock_id, clock_value, snapshot_id, machine_id, seq_id,
               unit_multiplier_ns, is_incremental, source)",
        )
        .unwrap();
        for row in &rows {
            conn.execute(
                "INSERT INTO clock_snapshot VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                rusqlite::params_from_iter(row),
            )
            .unwrap();
        }
        for ts in ticks.into_iter().chain([0, 5, i64::MIN, i64::MAX]) {
            for clock in [3, 6, 64, 128] {
                let seq = i64::from(clock == 64);
                let sql = format!(
                    "SELECT to_boottime({clock}, {seq}, ?1), why_unresolved({clock}, {seq}, ?1), to_realtime(?1),
                       to_monotonic(?1), (SELECT count(*) FROM clock_path({clock}, {seq}, ?1))"
                );
                let asked = conn.query_row(&sql, [ts], |row| {
                    let (value, why): (Option<i64>, Option<String>) = (row.get(0)?, row.get(1)?);
                    Ok((value, why))
                });
                match asked {
                    // There is a value, or a reason why there is none.
                    Ok((value, why)) => prop_assert_eq!(value.is_some(), why.is_none()),
                    Err(error) => {
                        let error = error.to_string();
                        prop_assert!(error.contains("clock_snapshot cannot be used: "), "{}", error);
                    }
                }
            }
        }
    }
}

#[test]
fn a_file_that_shrinks_while_it_is_read_is_an_error() {
    let place = Place::new();
    let path = place.write("shrinks.db", larger());
    let conn = Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    register(&conn);
    conn.execute_batch("PRAGMA mmap_size = 0; PRAGMA cache_size = 5").unwrap();
    let mut statement = conn.prepare("SELECT packet_json(data) FROM packet").unwrap();
    let mut rows = statement.raw_query();
    assert!(rows.next().unwrap().is_some());
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(2 * PAGE as u64).unwrap();
    let error = loop {
        match rows.next() {
            Ok(Some(_)) => {}
            Ok(None) => panic!("all rows of a file without them"),
            Err(error) => break error,
        }
    };
    let code = error.sqlite_error_code();
    assert!(
        matches!(
            code,
            Some(rusqlite::ErrorCode::DatabaseCorrupt | rusqlite::ErrorCode::SystemIoFailure)
        ),
        "{error}"
    );
}
