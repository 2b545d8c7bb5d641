//! Naming a clock, and converting a time of day.

use crate::support::{Imported, Said, answer, run};

const APP: &str = "tests/data/app.pftrace";
const MULTIHOP: &str = "tests/data/multihop.pftrace";
const LATE_FRAME: &str = "tests/data/late-frame.pftrace";

/// Runs it, and returns its standard error and its exit code.
fn refused(arguments: &[&str]) -> (String, i32) {
    let Said { stdout, stderr, code } = run(arguments);
    assert_eq!(stdout, "", "{arguments:?}");
    (stderr, code.unwrap())
}

fn csv(trace: &str, sql: &str) -> Vec<String> {
    let shown = answer(&["query", trace, sql, "--format", "csv"]);
    shown.lines().skip(1).map(str::to_owned).collect()
}

#[test]
fn a_misspelt_clock_is_an_error_that_says_which_is_meant() {
    let (said, code) = refused(&["explain", MULTIHOP, "--clock", "REALTME", "--ts", "1"]);
    assert_eq!(code, 1);
    assert_eq!(
        said,
        "timebase: error: --clock REALTME must be a clock of the trace; did you mean REALTIME?\n"
    );
    let to = ["--clock", "3", "--ts", "1", "--to", "boot_time"];
    let (said, code) = refused(&[&["explain", MULTIHOP], &to[..]].concat());
    assert_eq!(code, 1);
    assert!(said.contains("--to boot_time") && said.contains("did you mean BOOTTIME?"), "{said}");

    let sql = "SELECT to_boottime('REALTIM', 0, 1)";
    let (said, code) = refused(&["query", MULTIHOP, sql]);
    assert_eq!(code, 1);
    assert!(
        said.contains("to_boottime(): argument 1 (clock_id)")
            && said.contains("did you mean REALTIME?"),
        "{said}"
    );
}

#[test]
fn a_name_that_the_trace_does_not_have_is_an_error_and_one_that_it_has_is_found() {
    let (said, code) =
        refused(&["explain", LATE_FRAME, "--clock", "com.example.gpuu", "--ts", "1"]);
    assert_eq!(code, 1);
    assert!(said.contains("none has the number of this name, "), "{said}");
    assert!(said.contains(&format!("'timebase clocks {LATE_FRAME}' lists")), "{said}");

    // The trace only has the number of this name.
    let by =
        |clock: &str| answer(&["explain", LATE_FRAME, "--clock", clock, "--ts", "99202137517"]);
    let told = format!("com.example.gpu is clock 2468715150\n{}", by("2468715150"));
    assert_eq!(by("com.example.gpu"), told);
}

#[test]
fn a_builtin_clock_that_no_snapshot_has_is_no_error_but_a_reason() {
    let said = answer(&["explain", MULTIHOP, "--clock", "realtime", "--ts", "1"]);
    assert!(said.starts_with("REALTIME 1 is unresolved: unknown_clock\n"), "{said}");
    assert_eq!(csv(MULTIHOP, "SELECT why_unresolved('REALTIME', 0, 1)"), ["unknown_clock"]);
}

/// The beginning of the last line of `explain` for the reading 7.
fn shown(clock: &str, machine: &str) -> String {
    match machine {
        "0" => format!("{clock} 7 is "),
        machine => format!("{clock} of machine {machine} 7 is "),
    }
}

#[test]
fn every_clock_that_is_printed_can_be_given() {
    let mut given = 0;
    for trace in ["app", "multihop", "late-frame", "ftrace-machines", "sdk"] {
        let trace = format!("tests/data/{trace}.pftrace");
        let listed = answer(&["clocks", &trace, "--format", "csv"]);
        let mut listed = listed.lines();
        let columns: Vec<&str> = listed.next().unwrap().split(',').collect();
        let place = |name: &str| columns.iter().position(|column| *column == name).unwrap();
        for line in listed {
            let cells: Vec<&str> = line.split(',').collect();
            let (machine, clock) = (cells[place("machine")], cells[place("clock")]);
            let beside = ["explain", &trace, "--clock", clock, "--machine", machine, "--ts", "7"];
            let told = answer(&beside);
            let behind = format!("{clock} of machine {machine}");
            assert_eq!(answer(&["explain", &trace, "--clock", &behind, "--ts", "7"]), told);
            let small =
                answer(&["explain", &trace, "--clock", &behind.to_lowercase(), "--ts", "7"]);
            assert_eq!(small, told);
            // The functions accept it, too.
            let sql = format!(
                "SELECT coalesce(to_boottime('{behind}', 0, 7), why_unresolved('{behind}', 0, 7))"
            );
            let value = csv(&trace, &sql).concat();
            let result =
                told.lines().find(|line| line.starts_with(&shown(clock, machine))).unwrap();
            let is_it =
                [format!(" 7 is BOOTTIME {value} ns"), format!(" 7 is unresolved: {value}")];
            // After it comes the possible error.
            let result = result.split(" (nearest; ").next().unwrap();
            assert!(is_it.iter().any(|end| result.ends_with(end)), "{sql}: {value}\n{told}");
            given += 1;
        }
    }
    assert!(given > 30, "{given}");
}

#[test]
fn a_clock_of_a_sequence_without_one_lists_the_commands_for_each() {
    let asked = ["explain", APP, "--clock", "64", "--ts", "3336860237888", "--to", "realtime"];
    let (said, code) = refused(&asked);
    assert_eq!(code, 1);
    let commands: Vec<&str> =
        said.lines().filter_map(|line| line.strip_prefix("  timebase ")).collect();
    assert_eq!(commands.len(), 5, "{said}");
    assert!(commands[0].ends_with("# 1 snapshot, 1226 packets"), "{said}");
    for command in commands {
        let (command, _) = command.split_once(" #").unwrap();
        let words: Vec<&str> = command.split_whitespace().collect();
        let told = answer(&words);
        assert!(told.contains(" is REALTIME 1795278090258994341 ns"), "{command}\n{told}");
    }
    // The same holds for the target clock.
    let (said, _) = refused(&["explain", APP, "--slice", "77", "--to", "64"]);
    assert!(
        said.contains("\n  timebase explain tests/data/app.pftrace --slice 77 --to 64@2"),
        "{said}"
    );
    let (said, _) = refused(&["explain", APP, "--clock", "65", "--ts", "1"]);
    assert!(said.contains("no sequence of the trace has clock 65"), "{said}");
    // In SQL there is a reason.
    assert_eq!(csv(APP, "SELECT why_unresolved(64, 0, 1)"), ["no_sequence_id"]);
}

#[test]
fn a_clock_of_a_sequence_is_listed_with_the_process_that_wrote_it() {
    let trace = Imported::new("app.pftrace", &[]);
    trace
        .conn
        .execute_batch(
            "UPDATE sequence SET pid = 4711 WHERE id IN (2, 3);
             INSERT INTO process_record (id, pid, name, machine_id) VALUES (99, 4711, 'mapviewer', 0);
             UPDATE sequence SET pid = 4712 WHERE id = 4",
        )
        .unwrap();
    let (said, _) = refused(&["explain", trace.path(), "--clock", "64", "--ts", "1"]);
    for (clock, who) in [
        ("64@2", "1 snapshot, 1226 packets, mapviewer (pid 4711)"),
        ("64@4", "1 snapshot, 434 packets, pid 4712"),
        ("64@6", "1 snapshot, 317 packets"),
    ] {
        let line = said.lines().find(|line| line.contains(clock)).unwrap();
        assert!(line.ends_with(&format!("--ts 1   # {who}")), "{line}");
    }
}

#[test]
fn what_is_no_clock_is_wrong_usage_that_says_what_one_is() {
    for (clock, expected) in [
        ("", "must be a clock number, number@sequence or name"),
        ("0", "must be a clock number (1 to 4294967295) or name"),
        ("4294967296", "must be a clock number (1 to 4294967295) or name"),
        ("BOOT TIME", "without spaces"),
        ("64@", "must be number@sequence, as in 64@3"),
        ("@3", "must be number@sequence, as in 64@3"),
        ("64@99999999999", "with a sequence of 1 to 4294967295"),
        ("6@3", "only the clocks 64 to 127 are of a sequence"),
    ] {
        for command in [
            &["explain", MULTIHOP, "--ts", "1", "--clock", clock][..],
            &["explain", MULTIHOP, "--ts", "1", "--clock", "3", "--to", clock],
            &["clock-id", clock],
        ] {
            let (said, code) = refused(command);
            assert_eq!(code, 2, "{command:?}");
            assert!(said.contains(expected), "{command:?}: {said}");
        }
    }
}

#[test]
fn a_sequence_or_machine_beside_a_clock_must_be_its_own() {
    let explain = |more: &[&'static str]| [&["explain", MULTIHOP, "--ts", "3503"], more].concat();
    for (arguments, expected) in [
        (&["--clock", "64@2", "--seq", "3"][..], "--seq 3 is not the sequence of 64@2"),
        (&["--clock", "3", "--to", "64@2", "--to-seq", "3"], "--to-seq 3 is not the sequence"),
        (
            &["--clock", "64@2 of machine 5", "--machine", "4"],
            "--machine 4 is not the machine of 64@2 of machine 5",
        ),
    ] {
        let (said, code) = refused(&explain(arguments));
        assert_eq!(code, 2, "{said}");
        assert!(said.contains(expected), "{said}");
    }
    let told = answer(&explain(&["--clock", "64@2", "--seq", "2"]));
    assert_eq!(told, answer(&explain(&["--clock", "64", "--seq", "2"])));
    for (other, expected) in [
        (
            &["--clock", "64@2", "--machine", "3"][..],
            "--machine 3 is neither an id nor a name; the machines are 0\n",
        ),
        (
            &["--clock", "64@2", "--file", "other.pftrace"],
            "--file other.pftrace is neither an id nor a name; the files are 0 (tests/data/multihop.pftrace)\n",
        ),
        (
            &["--clock", "64@2 of machine 3"],
            "--clock 64@2 of machine 3: there is no machine 3; the machines are 0\n",
        ),
    ] {
        let (said, code) = refused(&explain(other));
        assert_eq!(code, 1, "{said}");
        assert!(said.ends_with(expected), "{said}");
    }
}

#[test]
fn clock_id_takes_any_name_and_warns_of_one_that_is_nearly_builtin() {
    for (name, id) in
        [("BOOTTIME", "6\n"), ("boottime", "6\n"), ("com.example.my_subsystem", "4144414090\n")]
    {
        let said = run(&["clock-id", name]);
        assert_eq!((said.stdout.as_str(), said.stderr.as_str()), (id, ""));
    }
    let said = run(&["clock-id", "REALTME"]);
    assert_eq!((said.stdout.as_str(), said.code), ("2960648885\n", Some(0)));
    assert!(
        said.stderr.contains("warning: REALTME is not the builtin REALTIME"),
        "{}",
        said.stderr
    );
}

#[test]
fn a_time_of_day_is_explained_in_any_zone() {
    let utc = answer(&["explain", APP, "--ts", "2026-11-21T16:21:30.5"]);
    let mut lines = utc.lines();
    assert_eq!(
        lines.next(),
        Some(
            "2026-11-21T16:21:30.5 is REALTIME 1795278090500000000, 2026-11-21T16:21:30.500000000 UTC"
        )
    );
    let last = lines.next_back().unwrap();
    assert!(
        last.starts_with(
            "REALTIME 1795278090500000000 is BOOTTIME 3337101243547 ns (nearest; by the clocks' rate "
        ),
        "{last}"
    );
    for (time, clock) in [
        ("2026-11-21T16:21:30.5Z", None),
        ("2026-11-21T17:21:30.5+01:00", Some("REALTIME")),
        ("2026-11-21T17:21:30.5[Europe/Berlin]", Some("realtime")),
        ("2026-11-21 16:21:30.500000000", None),
    ] {
        let mut command = vec!["explain", APP, "--ts", time];
        command.extend(clock.iter().flat_map(|clock| ["--clock", clock]));
        let told = answer(&command);
        assert_eq!(told, utc.replacen("2026-11-21T16:21:30.5", time, 1));
    }
    let back =
        answer(&["explain", APP, "--clock", "6", "--ts", "3337101243547", "--to", "realtime"]);
    assert!(
        back.contains("is REALTIME 1795278090500000000 ns (nearest; by the clocks' rate ")
            && back.ends_with("), 2026-11-21T16:21:30.500000000 UTC\n"),
        "{back}"
    );
}

#[test]
fn a_time_of_day_that_there_is_not_is_wrong_usage() {
    for (arguments, expected) in [
        (&["--ts", "noon"][..], "must be an integer, or a time such as 2026-11-21T16:21:30.5"),
        (&["--ts", "9223372036854775808", "--clock", "3"], "must fit 64 bits"),
        (&["--ts", "2026-10-25T02:30[Europe/Berlin]"], "fold"),
        (&["--ts", "2026-03-29T02:30[Europe/Berlin]"], "gap"),
        (&["--ts", "2026-03-29T02:30[Europe/Atlantis]"], "Europe/Atlantis"),
        (
            &["--ts", "2026-11-21T16:21:30", "--clock", "MONOTONIC"],
            "is a time of day, which MONOTONIC does not show",
        ),
        (&["--ts", "5"], "--clock is missing, the clock that read 5"),
    ] {
        let (said, code) = refused(&[&["explain", APP], arguments].concat());
        assert_eq!(code, 2, "{arguments:?}: {said}");
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
    let berlin = "2026-10-25T02:30+01:00[Europe/Berlin]";
    assert!(
        answer(&["explain", APP, "--ts", berlin]).contains("2026-10-25T01:30:00.000000000 UTC")
    );
}

#[test]
fn a_slice_is_explained_of_a_trace_as_of_its_database() {
    let database = Imported::new("app.pftrace", &[]);
    let of_trace = answer(&["explain", APP, "--slice", "77"]);
    assert!(of_trace.starts_with("slice 77 'frame' begins at 3336860237888"), "{of_trace}");
    assert_eq!(answer(&["explain", database.path(), "--slice", "77"]), of_trace);
}

/// The last line has both: the time by nearest neighbour, and the range by the clocks' rate.
#[test]
fn an_explanation_without_an_option_gives_the_interval_too() {
    let trace = "tests/data/doctor/drift.pftrace";
    let imported = Imported::new("doctor/drift.pftrace", &[]);
    timebase_resolver::sql::register(&imported.conn).unwrap();
    let packets =
        "SELECT id FROM packet WHERE clock_id = 2468715150 AND type IS NOT 'clock_snapshot'";
    let packets = imported.rows(packets);
    assert_eq!(packets.len(), 50);
    for packet in packets.iter().step_by(7).map(|row| &row[0]) {
        let sql = format!(
            "SELECT printf('2468715150 %d is BOOTTIME %d ns (nearest; by the clocks'' rate %d ± %d)', clock_ts, ts,
                           to_boottime_linear(clock_id, seq_id, clock_ts), boottime_error(clock_id, seq_id, clock_ts)),
                    clock_ts, abs(ts - to_boottime_linear(clock_id, seq_id, clock_ts)) > 1000
             FROM packet WHERE id = {packet}"
        );
        let [line, reading, is_off] = &imported.rows(&sql)[0][..] else { panic!("three columns") };
        assert_eq!(is_off, "1", "{line}");
        for args in [["--packet", packet], ["--ts", reading]] {
            let clock = ["--clock", "2468715150"];
            let clock = if args[0] == "--ts" { &clock[..] } else { &[] };
            let said = answer(&[&["explain", trace], clock, &args[..]].concat());
            assert_eq!(said.lines().last(), Some(line.as_str()), "{said}");
        }
    }
}

#[test]
fn k4_what_is_shown_of_any_recorded_time_leads_back_to_it() {
    let mut compared = 0;
    for trace in ["app", "late-frame", "logs", "logs-dst", "dst", "desktop", "system"] {
        let trace = Imported::new(&format!("{trace}.pftrace"), &[]);
        timebase_resolver::sql::register(&trace.conn).unwrap();
        for zone in ["", ", 'Europe/Berlin'", ", '-05:30'"] {
            let sql = format!(
                "WITH time AS (SELECT ts FROM packet UNION SELECT ts - 1 FROM clock_snapshot
                               UNION SELECT ts FROM clock_snapshot UNION SELECT ts + 1000000007 FROM packet),
                      shown AS (SELECT ts, abs_time_str(ts{zone}) AS text FROM time WHERE ts IS NOT NULL),
                      back AS (SELECT ts, text, from_abs_time_str(text) AS back FROM shown WHERE text IS NOT NULL)
                 SELECT count(*) FROM back WHERE "
            );
            let wrong = format!("{sql} abs_time_str(back{zone}) IS NOT text");
            assert_eq!(trace.count(&wrong), 0, "{}{zone}", trace.path());
            compared += trace.count(&format!("{sql} abs_time_str(back{zone}) = text"));
        }
    }
    assert!(compared > 5000, "{compared}");
}

#[test]
fn k3_k4_where_the_clock_was_set_back_a_time_leads_to_its_second_coming() {
    // REALTIME 20 at 10020, 40 at 30040, 30 at 40030: 30 to 40 occur twice.
    let dst = "tests/data/dst.pftrace";
    let at =
        |ns: i64| csv(dst, &format!("SELECT from_abs_time_str('1970-01-01T00:00:00.{ns:09}')"));
    assert_eq!(at(35), ["40035"]);
    assert_eq!(at(25), ["10025"]);
    // Its readings mean two times. `explain` says this, and how to take the last one.
    let told = answer(&["explain", dst, "--ts", "1970-01-01T00:00:00.000000035"]);
    assert!(told.contains("is unresolved: non_monotonic"), "{told}");
    let sql = told.rsplit_once("showed it: ").expect("a statement").1;
    assert_eq!(csv(dst, sql), ["40035"]);
    let local = "SELECT abs_time_str(from_abs_time_str('1970-01-01T01:00:00.000000035[Europe/Berlin]'), 'Europe/Berlin')";
    assert_eq!(csv(dst, local), ["1970-01-01T01:00:00.000000035+01:00"]);
}

#[cfg(unix)] // there are pseudo-terminals
#[test]
fn an_explanation_fits_a_terminal_and_says_the_same_as_in_a_pipe() {
    use crate::support::terminal::Terminal;

    // With a trace, the progress of its import would be there, too.
    let database = Imported::new("app.pftrace", &[]);
    let path = database.path();

    let time = ["explain", path, "--ts", "2026-11-21T16:21:30.5", "--to", "64@2"];
    let slice = ["explain", path, "--slice", "77", "--to", "realtime"];
    for arguments in [time, slice] {
        let words =
            |text: &str| -> Vec<String> { text.split_whitespace().map(str::to_owned).collect() };
        let in_pipe = answer(&arguments);
        for columns in [60, 80, 400] {
            let ended = Terminal::run(columns, &arguments).end();
            assert_eq!(ended.code, Some(0), "{}", ended.screen);
            assert_eq!(words(&ended.screen), words(&in_pipe), "{columns}");
            // The terminal itself would break a line in the middle of a number.
            let lines: Vec<&str> = ended.raw.lines().collect();
            let widest = lines.iter().map(|line| line.chars().count()).max();
            assert!(widest <= Some(columns.into()), "{columns}: {lines:#?}");
            let hops = lines.iter().filter(|line| line.contains("snapshot ")).count();
            assert_eq!(hops, 2);
        }
        assert!(in_pipe.lines().any(|line| line.chars().count() > 150), "{in_pipe}");
    }
}

#[test]
fn explain_of_nothing_says_what_can_be_explained() {
    let (said, code) = refused(&["explain", MULTIHOP]);
    assert_eq!(code, 2);
    for option in ["--slice ID", "--packet ID", "--clock CLOCK --ts N"] {
        assert!(said.contains(option), "{said}");
    }
    assert!(!said.contains("required"), "{said}");
    let (said, code) = refused(&["explain", MULTIHOP, "--clock", "64@3"]);
    assert_eq!(code, 2);
    assert!(said.contains("--ts is missing, the reading of 64@3"), "{said}");
}
