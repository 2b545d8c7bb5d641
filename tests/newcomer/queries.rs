//! The effects of `query` and `shell` on a database, and their results for scripts.

use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;

#[cfg(unix)]
use crate::support::terminal::{Key, Terminal};
use crate::support::{PROGRAM, Place, Said, data, import, repository, run, run_with_input};

/// A database for queries, which must not change by itself.
fn database(place: &Place) -> PathBuf {
    let database = place.path("trace.db");
    let said = import(&data("sdk.pftrace"), &database, &[]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    database
}

fn query(place: &Place, args: &[&str]) -> Said {
    let database = place.path("trace.db");
    run(&[&["query", database.to_str().unwrap()], args].concat())
}

fn packets(place: &Place) -> String {
    let said = query(place, &["SELECT count(*) AS n FROM packet", "-F", "csv"]);
    said.stdout
}

#[test]
fn a_statement_that_deletes_is_refused_and_told_what_allows_it() {
    let place = Place::new();
    let before = fs::read(database(&place)).unwrap();
    let path = place.path("trace.db");
    let refused = [
        query(&place, &["DELETE FROM packet_record"]),
        query(&place, &["DROP TABLE packet_record"]),
        query(&place, &["PRAGMA user_version = 1"]),
        run_with_input(&["shell", path.to_str().unwrap()], "UPDATE packet_record SET ts = 0;\n"),
    ];
    for said in refused {
        assert_eq!((said.code, said.stdout.as_str()), (Some(1), ""), "{}", said.stderr);
        assert!(said.stderr.contains("--write opens it for writing"), "{}", said.stderr);
    }
    assert_eq!(fs::read(path).unwrap(), before);
    assert_eq!(place.files(), ["trace.db"]);
}

#[test]
fn what_is_temporary_needs_no_leave() {
    let place = Place::new();
    database(&place);
    let sql = "CREATE TEMP TABLE t AS SELECT 1 AS a; CREATE TEMP VIEW v AS SELECT a + 1 AS b FROM t; SELECT * FROM v";
    let said = query(&place, &[sql, "-F", "csv"]);
    assert_eq!((said.stdout.as_str(), said.stderr.as_str()), ("b\n2\n", ""));
}

#[test]
fn with_write_it_is_done_and_counted_and_said() {
    let place = Place::new();
    let path = database(&place);
    let sql =
        "DELETE FROM packet_record WHERE id < 25; CREATE VIEW v AS SELECT 1 AS a; SELECT a FROM v";
    let said = query(&place, &[sql, "--write", "-F", "csv"]);
    assert_eq!(said.stdout, "a\n1\n");
    assert_eq!(said.stderr, "25 rows of packet_record deleted, v created\n");
    assert_eq!(packets(&place), "n\n4800\n");

    let input = "DELETE FROM packet_record;\nSELECT 2 AS b;\n";
    let shell = ["shell", path.to_str().unwrap(), "--write", "-F", "csv"];
    let said = run_with_input(&shell, input);
    assert_eq!(said.stdout, "b\n2\n");
    assert_eq!(said.stderr, "4,800 rows of packet_record deleted\n");
    assert_eq!(packets(&place), "n\n0\n");
}

#[test]
fn a_transaction_that_is_not_ended_is_told() {
    let place = Place::new();
    database(&place);
    let said = query(&place, &["BEGIN; DELETE FROM packet_record", "--write"]);
    assert!(said.stderr.contains("a transaction was not ended"), "{}", said.stderr);
    assert_eq!(packets(&place), "n\n4825\n");
}

#[test]
fn a_trace_is_not_written_to() {
    let said = run(&["query", "tests/data/sdk.pftrace", "SELECT 1", "--write"]);
    assert_eq!(said.code, Some(1));
    assert!(said.stderr.contains("timebase import"), "{}", said.stderr);
}

#[test]
fn a_file_that_cannot_be_written_is_told_so_before_a_statement_runs() {
    let place = Place::new();
    let path = database(&place);
    // SQLite can only read a newer version of the format, even if root may write all files.
    let mut bytes = fs::read(&path).unwrap();
    const WRITE_VERSION: usize = 18;
    bytes[WRITE_VERSION] = 3;
    fs::write(&path, bytes).unwrap();
    let said = query(&place, &["SELECT 1", "--write"]);
    assert_eq!((said.code, said.stdout.as_str()), (Some(1), ""));
    assert!(said.stderr.contains("cannot write "), "{}", said.stderr);
    assert_eq!(query(&place, &["SELECT 1"]).code, Some(0));
}

/// Statements whose last row fails, or whose last statement does.
const FAILING: [&str; 2] = [
    "SELECT iif(id < 4824, id, abs(-9223372036854775808)) AS a FROM packet",
    "SELECT 0 AS a; SELECT 2 AS b, missing",
];

#[test]
fn a_statement_that_fails_leaves_a_table_away_and_a_stream_where_it_was() {
    let place = Place::new();
    database(&place);
    for sql in FAILING {
        for format in ["table", "markdown", "md", "line", "parquet"] {
            let said = query(&place, &[sql, "-F", format]);
            assert_eq!((said.code, said.stdout.as_str()), (Some(1), ""), "{format} {sql}");
        }
        for format in ["csv", "json", "jsonl"] {
            let said = query(&place, &[sql, "-F", format]);
            assert_eq!(said.code, Some(1), "{format} {sql}");
            assert!(said.stderr.starts_with("timebase: error: "), "{}", said.stderr);
            let rows = if sql == FAILING[0] { 4824 } else { 1 };
            let row = |line: &&str| line.contains(if format == "csv" { "0" } else { "\"a\":0" });
            assert!(said.stdout.lines().any(|line| row(&line)), "{}", said.stdout);
            let heads = said.stdout.lines().filter(|line| ["a", "["].contains(line)).count();
            let others =
                said.stdout.lines().filter(|line| *line == "{\"title\":null,\"rows\":[").count();
            assert_eq!(said.stdout.lines().count() - heads - others, rows, "{format} {sql}");
            assert!(!said.stdout.ends_with("]\n"), "an array without an end");
        }
    }
    // Nothing is there if there is no row before the error.
    for format in ["csv", "json", "jsonl"] {
        for sql in ["SELECT 1 AS a, abs(-9223372036854775808)", "SELECT missing"] {
            let said = query(&place, &[sql, "-F", format]);
            assert_eq!((said.code, said.stdout.as_str()), (Some(1), ""), "{format} {sql}");
        }
        let said = query(&place, &["SELECT 1 AS a WHERE 0", "--fail-if-empty", "-F", format]);
        assert_eq!((said.code, said.stdout.as_str()), (Some(1), ""), "{format}");
    }
    let input = "SELECT 1 AS a;\nSELECT iif(id < 4824, id, abs(-9223372036854775808)) FROM packet;\nSELECT 3 AS c;\n";
    let path = place.path("trace.db");
    let said = run_with_input(&["shell", path.to_str().unwrap(), "-F", "csv"], input);
    assert_eq!((said.code, said.stdout.as_str()), (Some(1), "a\n1\nc\n3\n"));
}

#[test]
fn a_result_that_a_shell_writes_to_a_file_is_whole_or_empty() {
    let place = Place::new();
    let path = database(&place);
    for format in ["csv", "json", "jsonl"] {
        let file = place.path("result");
        let mut command = Command::new(PROGRAM);
        command.args(["query", path.to_str().unwrap(), FAILING[0], "-F", format]);
        let out = fs::File::create(&file).unwrap();
        let code = command.stdout(out).stderr(Stdio::null()).status().unwrap();
        assert_eq!(code.code(), Some(1));
        assert_eq!(fs::read(&file).unwrap(), b"", "{format}");
    }
}

/// A row at once, and one after hours.
const SLOW: &str = "SELECT 1 AS a UNION ALL
    SELECT count(*) FROM (WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1000000000000) SELECT i FROM n)";

#[test]
fn rows_are_there_at_once_and_the_end_when_the_reader_goes() {
    let place = Place::new();
    let path = database(&place);
    for (format, first) in [("csv", "a\n1\n"), ("json", "[\n{\"a\":1}"), ("jsonl", "{\"a\":1}\n")] {
        let mut command = Command::new(PROGRAM);
        command.args(["query", path.to_str().unwrap(), SLOW, "-F", format]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut seen = vec![0; first.len()];
        let mut out = child.stdout.take().unwrap();
        out.read_exact(&mut seen).unwrap();
        assert_eq!(String::from_utf8(seen).unwrap(), first);
        assert_eq!(child.try_wait().unwrap(), None, "the second row takes hours");
        drop(out);
        let ended: Said = child.wait_with_output().unwrap().into();
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{format}");
    }
}

#[test]
fn many_rows_come_as_they_are_and_the_reader_of_a_few_is_enough() {
    let place = Place::new();
    let path = database(&place);
    let endless = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i, 'text' AS t FROM n";
    let many = format!("{endless} LIMIT 300000");
    for (format, last) in [
        ("csv", "300000,text\n"),
        ("json", "{\"i\":300000,\"t\":\"text\"}\n]\n"),
        ("jsonl", "{\"i\":300000,\"t\":\"text\"}\n"),
    ] {
        let said = query(&place, &[&many, "-F", format]);
        assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
        assert!(said.stdout.ends_with(last), "{format}");
        let rows = said.stdout.lines().filter(|line| line.contains("text")).count();
        assert_eq!(rows, 300_000, "{format}");
        let mut command = Command::new(PROGRAM);
        command.args(["query", path.to_str().unwrap(), endless, "-F", format]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut out = child.stdout.take().unwrap();
        let mut seen = vec![0; 1_000_000];
        out.read_exact(&mut seen).unwrap();
        drop(out);
        let ended: Said = child.wait_with_output().unwrap().into();
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{format}");
    }
}

#[test]
fn statements_that_write_run_even_if_nobody_reads_the_rows() {
    let place = Place::new();
    let path = database(&place);
    let sql = "SELECT id FROM packet; DELETE FROM packet_record WHERE id < 25";
    let mut command = Command::new(PROGRAM);
    command.args(["query", path.to_str().unwrap(), sql, "--write", "-F", "csv"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(packets(&place), "n\n4800\n");
}

#[test]
fn a_statement_may_begin_with_a_comment() {
    let place = Place::new();
    database(&place);
    for sql in ["-- # Title\nSELECT 1 AS a", "--\nSELECT 1 AS a", "--title\nSELECT 1 AS a"] {
        let said = query(&place, &[sql, "-F", "csv"]);
        assert_eq!((said.code, said.stdout.as_str()), (Some(0), "a\n1\n"), "{}", said.stderr);
    }
    let said = query(&place, &["-- # Title\nSELECT 1 AS a"]);
    assert!(said.stdout.starts_with("Title\n"), "{}", said.stdout);
    // A misspelt flag is still one.
    let said = query(&place, &["--formt csv", "SELECT 1"]);
    assert_eq!(said.code, Some(2));
}

/// Endless rows.
#[cfg(unix)]
const ENDLESS: &str =
    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n";

#[cfg(unix)]
#[test]
fn a_terminal_shows_what_takes_long() {
    let place = Place::new();
    let path = database(&place);
    let path = path.to_str().unwrap();
    let out = place.path("out.csv");
    let counted = format!("SELECT count(*) FROM ({ENDLESS})");
    let several = format!("SELECT 1; {counted}");
    let cases: [(&[&str], &[&str]); 3] = [
        (&[&counted], &["query, "]),
        (&[&several, "-o", out.to_str().unwrap()], &["query, statement 2 of 2, 1 rows, "]),
        (&[ENDLESS, "-o", out.to_str().unwrap()], &["query, ", " rows, "]),
    ];
    for (arguments, shown) in cases {
        let terminal = Terminal::run(100, &[&["query", path], arguments].concat());
        let is_shown = |screen: &str| shown.iter().all(|part| screen.contains(part));
        terminal.wait_until("progress", is_shown);
        terminal.press(Key::CtrlC);
        let ended = terminal.end();
        assert_eq!(ended.code, Some(130), "{}", ended.screen);
        assert!(!ended.screen.contains("query, "), "{}", ended.screen);
        assert_eq!(place.files(), ["trace.db"]);
    }
    // Rows that come at once are no progress, also of a result that streams.
    let terminal = Terminal::run(100, &["query", path, SLOW, "-F", "csv"]);
    terminal.wait_for("a\n1");
    terminal.press(Key::CtrlC);
    let ended = terminal.end();
    assert_eq!(ended.code, Some(130), "{}", ended.screen);
    assert!(!ended.screens.iter().any(|screen| screen.contains("query")));
}

#[test]
fn a_result_in_a_file_is_whole_or_not_there() {
    let place = Place::new();
    database(&place);
    let output = place.path("out.jsonl");
    let file = output.to_str().unwrap();
    let said = query(&place, &["SELECT 1 AS a; SELECT missing", "-o", file]);
    assert_eq!(said.code, Some(1));
    assert_eq!(place.files(), ["trace.db"]);

    let said = query(&place, &["SELECT 1 AS a", "--output", file]);
    assert_eq!((said.code, said.stdout.as_str(), said.stderr.as_str()), (Some(0), "", ""));
    assert_eq!(fs::read_to_string(&output).unwrap(), "{\"a\":1}\n");

    // It still has the old contents when the next one fails.
    let said = query(&place, &["SELECT 1 AS a; SELECT missing", "-o", file]);
    assert_eq!(said.code, Some(1));
    assert_eq!(fs::read_to_string(&output).unwrap(), "{\"a\":1}\n");
    assert_eq!(place.files(), ["out.jsonl", "trace.db"]);
}

#[test]
fn the_name_of_the_file_says_the_format_unless_that_is_said() {
    let place = Place::new();
    database(&place);
    let written = |name: &str, args: &[&str]| {
        let path = place.path(name);
        let args = [&["SELECT 1 AS a", "-o", path.to_str().unwrap()], args].concat();
        assert_eq!(query(&place, &args).code, Some(0));
        fs::read_to_string(path).unwrap()
    };
    assert_eq!(written("x.csv", &[]), "a\n1\n");
    assert_eq!(written("x.json", &[]), "[\n{\"a\":1}\n]\n");
    assert_eq!(written("x.md", &[]), "| a |\n| ---: |\n| 1 |\n");
    assert_eq!(written("x.txt", &[]), " a \n───\n 1 \n");
    assert_eq!(written("y.csv", &["-F", "jsonl"]), "{\"a\":1}\n");
    assert_eq!(written("z.xlsx", &["-F", "csv"]), "a\n1\n");
    assert_eq!(written("none", &[]), " a \n───\n 1 \n");
}

#[test]
fn a_file_of_a_kind_that_there_is_not_is_refused_with_those_that_there_are() {
    let place = Place::new();
    database(&place);
    for name in ["out.xlsx", "out.csv.gz", "out.v2"] {
        let path = place.path(name);
        let said = query(&place, &["SELECT 1 AS a", "-o", path.to_str().unwrap()]);
        assert_eq!(said.code, Some(2), "{name}");
        let ending = name.rsplit('.').next().unwrap();
        let what = format!("unknown extension .{ending}.");
        assert!(said.stderr.contains(&what), "{}", said.stderr);
        for format in [".csv", ".json", ".jsonl", ".md", ".parquet", "--format"] {
            assert!(said.stderr.contains(format), "{}", said.stderr);
        }
        assert!(!path.exists());
    }
}

#[test]
fn a_name_that_begins_with_a_dash_can_be_pasted_from_next() {
    let place = Place::new();
    let trace = data("nearest.pftrace");
    let import = |output: &str| {
        let done = Command::new(PROGRAM)
            .args(["import", trace.to_str().unwrap(), output])
            .current_dir(place.path("."))
            .output()
            .unwrap();
        assert!(done.status.success());
        String::from_utf8(done.stderr).unwrap()
    };
    for (output, shown) in [
        ("-o=-dash.db", "timebase query ./-dash.db \""),
        ("-o=--a b.db", "timebase query './--a b.db' \""),
    ] {
        let said = import(output);
        let (_, next) = said.split_once("\nNext: ").unwrap();
        assert!(next.starts_with(shown), "{next}");
        let command = next.lines().next().unwrap().replacen("timebase", PROGRAM, 1);
        let done = Command::new("sh")
            .args(["-c", &command])
            .current_dir(place.path("."))
            .output()
            .unwrap();
        assert!(done.status.success(), "{command}");
    }
}

#[test]
fn a_file_that_cannot_be_the_result_is_told() {
    let place = Place::new();
    let before = fs::read(database(&place)).unwrap();
    let message = |file: PathBuf| {
        let said = query(&place, &["SELECT 1", "-o", file.to_str().unwrap()]);
        assert_eq!(said.code, Some(1));
        said.stderr
    };
    let source = message(place.path("trace.db"));
    assert!(source.contains("which the result would replace"), "{source}");
    assert_eq!(fs::read(place.path("trace.db")).unwrap(), before);
    let missing = message(place.path("none/x.csv"));
    assert!(missing.contains("there is no directory"), "{missing}");
    let directory = message(place.path("."));
    assert!(directory.contains("is a directory"), "{directory}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told() {
    let said = run(&["query", "tests/data/nearest.pftrace", "SELECT 1", "-o", "/dev/full"]);
    assert_eq!(said.code, Some(1));
    assert!(said.stderr.contains("cannot write /dev/full: No space left"), "{}", said.stderr);
}

#[test]
fn a_wrong_parameter_of_a_report_is_named_with_what_it_takes() {
    let report = ["query", "tests/data/app.pftrace", "--report", "slices"];
    let message = |parameter: &str| {
        let said = run(&[&report[..], &["-p", parameter]].concat());
        assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""), "{}", said.stderr);
        said.stderr
    };
    let unknown = message("elephants=3");
    assert!(unknown.contains("--param elephants: no statement uses :elephants"), "{unknown}");
    let from = message("from=x");
    assert!(
        from.contains("--param from=x: 'x' must be trace time in ns, or a time such as")
            && from.contains("trace time from which on slices begin"),
        "{from}"
    );
    let top = message("top=1.5");
    assert!(top.contains("must be an integer (how many names"), "{top}");
    let date = message("from=2026-99-21T16:21:30");
    assert!(date.contains("--param from=2026-99-21T16:21:30"), "{date}");
}

#[test]
fn a_report_takes_a_date_for_a_time() {
    let sql = "-- param from time : since when\nSELECT :from AS ts;";
    let place = Place::new();
    database(&place);
    let file = place.write("q.sql", sql.as_bytes());
    let known = query(
        &place,
        &[
            "SELECT abs_time_str(ts) AS at, ts FROM packet WHERE ts > 0 LIMIT 1 OFFSET 100",
            "-F",
            "csv",
        ],
    );
    let (at, ts) = known.stdout.lines().nth(1).unwrap().split_once(',').unwrap();
    let file = file.to_str().unwrap();
    let said = query(&place, &["-f", file, "-p", &format!("from={at}"), "-F", "csv"]);
    assert_eq!(said.stdout, format!("ts\n{ts}\n"), "{}", said.stderr);
    let needed = query(&place, &["-f", file]);
    assert!(needed.stderr.contains("from, which needs a value: since when"), "{}", needed.stderr);
}

#[test]
fn a_nightly_script_fails_where_there_is_nothing_or_half_of_it() {
    let place = Place::new();
    database(&place);
    let empty = ["SELECT 1 WHERE 0; SELECT 2 WHERE 0", "--fail-if-empty", "-F", "json"];
    let said = query(&place, &empty);
    assert_eq!((said.code, said.stdout.as_str()), (Some(1), ""));
    assert!(said.stderr.contains("all results are empty"), "{}", said.stderr);
    let one = ["SELECT 1 WHERE 0; SELECT 2", "--fail-if-empty"];
    assert_eq!(query(&place, &one).code, Some(0));

    let whole = fs::read(data("sdk.pftrace")).unwrap();
    let trace = place.write("cut.pftrace", &whole[..100_000]);
    let cut = place.path("cut.db");
    assert_eq!(import(&trace, &cut, &[]).code, Some(0));
    for source in [trace, cut] {
        let source = source.to_str().unwrap();
        let said = run(&["query", source, "SELECT 1", "--strict"]);
        assert_eq!((said.code, said.stdout.as_str()), (Some(1), ""));
        assert!(said.stderr.contains("the file ends inside the packet"), "{}", said.stderr);
        assert_eq!(run(&["query", source, "SELECT 1"]).code, Some(0));
    }
    assert_eq!(query(&place, &["SELECT 1", "--strict"]).code, Some(0));
}

#[test]
fn every_error_has_one_style() {
    let nearest = "tests/data/nearest.pftrace";
    for args in [
        &["query", nearest][..],
        &["query", nearest, "SELECT missing"],
        &["query", nearest, "SELECT 1", "--formt", "csv"],
        &["query", "no such file", "SELECT 1"],
        &["import", nearest, "-o", nearest],
        &["explain", nearest, "--slice", "abc"],
        &["nothing"],
    ] {
        let said = run(args);
        assert!(said.stderr.starts_with("timebase: error: "), "{args:?}\n{}", said.stderr);
    }
    let piped = run_with_input(&["shell", nearest], "SELECT missing;\n.nothing\n");
    let errors: Vec<&str> = piped.stderr.lines().filter(|line| line.contains("error")).collect();
    assert_eq!(errors.len(), 2, "{}", piped.stderr);
    assert!(errors.iter().all(|line| line.starts_with("timebase: error: ")), "{errors:?}");
}

#[test]
fn who_gives_no_arguments_gets_the_help() {
    let said = run(&[]);
    assert_eq!(said.code, Some(2));
    assert!(
        said.stderr.starts_with("Turn Perfetto traces into SQLite databases"),
        "{}",
        said.stderr
    );
}

#[test]
fn the_common_flags_are_short() {
    let place = Place::new();
    let database = database(&place);
    let database = database.to_str().unwrap();
    assert_eq!(run(&["import", "tests/data/sdk.pftrace", "-o", database, "-f"]).code, Some(0));
    let report = run(&["query", database, "-r", "slices", "-p", "top=1", "-F", "md"]);
    assert!(report.stdout.starts_with("## Slices by name\n"), "{}", report.stderr);
    let multihop = "tests/data/multihop.pftrace";
    let explained = run(&["explain", multihop, "-c", "64", "-s", "2", "-t", "3503"]);
    assert!(explained.stdout.contains("is BOOTTIME 7703 ns (nearest; "), "{}", explained.stderr);
}

#[test]
fn the_time_of_a_slice_is_explained_from_the_trace_itself() {
    let trace = "tests/data/app.pftrace";
    let said = run(&["explain", trace, "--slice", "77"]);
    assert!(said.stdout.starts_with("slice 77 'frame' begins at"), "{}", said.stderr);
}

#[test]
fn blobs_are_alike_in_csv_and_json() {
    let sql = "SELECT x'0aff' AS a";
    let written = |format| run(&["query", "tests/data/nearest.pftrace", sql, "-F", format]).stdout;
    assert_eq!(written("csv"), "a\n0AFF\n");
    assert_eq!(written("jsonl"), "{\"a\":\"0AFF\"}\n");
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_a_query_with_the_code_that_shells_expect() {
    // The signal once came between the making of the file and the handler's knowledge of it.
    for _ in 0..20 {
        interrupted_as_soon_as_its_file_is_there();
    }
}

#[cfg(unix)]
fn interrupted_as_soon_as_its_file_is_there() {
    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;
    use std::process::{Command, Stdio};

    let place = Place::new();
    let endless =
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
    let file = place.path("out.csv");
    let child = Command::new(PROGRAM)
        .current_dir(repository())
        .args(["query", "tests/data/nearest.pftrace", endless, "-o", file.to_str().unwrap()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The file that will become the result.
    while place.files().is_empty() {
        thread::yield_now();
    }
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).unwrap();
    let said: Said = child.wait_with_output().unwrap().into();
    assert_eq!((said.code, said.stdout.as_str()), (Some(130), ""));
    assert!(said.stderr.ends_with("timebase: error: interrupted\n"), "{}", said.stderr);
    assert_eq!(place.files(), Vec::<String>::new());
}
