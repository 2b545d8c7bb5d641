//! The reference without a network.

use std::fs;

use crate::support::{Place, answer, run, run_with_input};

/// A text with single spaces, so that a test does not depend on its layout.
fn flowing(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn help(words: &[&str]) -> String {
    answer(&[&["help"], words].concat())
}

#[test]
fn help_alone_says_what_there_is_to_read_and_all_of_that_is_there() {
    let overview = help(&[]);
    let mut topics = 0;
    for line in overview.lines() {
        if let Some(rest) = line.trim_start().strip_prefix("timebase help ") {
            let topic = rest.split(' ').next().unwrap();
            assert!(help(&[topic]).len() > 60, "{topic}");
            topics += 1;
        }
    }
    assert!(topics >= 15, "{overview}");
}

#[test]
fn help_for_a_table_tells_its_columns_and_shows_an_example() {
    let slice = flowing(&help(&["slice"]));
    for part in [
        "A row is an activity with a start and an end",
        "dur integer, ns the duration. 0 for an instant, -1 for a slice without an end",
        "Slices are on tracks. On one track they nest",
        "Example, on tests/data/system.pftrace: SELECT name, count(*)",
        "RCU │ 806 │ 5416228",
    ] {
        assert!(slice.contains(part), "{part}\n{slice}");
    }
    assert!(!slice.contains("]("), "links are text");
}

#[test]
fn help_for_doubt_tells_each_word_and_how_such_rows_are_left_out() {
    let doubt = flowing(&help(&["doubt"]));
    for part in [
        "switch_missed",
        "woken_again",
        "wakeup_missed",
        "packets_lost",
        "Kernel events are missing in the row",
        "WHERE doubt IS NULL",
        "Example, on tests/data/desktop.pftrace: SELECT state",
    ] {
        assert!(doubt.contains(part), "{part}\n{doubt}");
    }
    for table in ["sched", "thread_state", "slice", "thread_state_with_thread_process"] {
        let columns = flowing(&help(&[table]));
        assert!(columns.contains("may be wrong"), "{table}: {columns}");
    }
}

#[test]
fn help_for_a_view_tells_what_its_columns_are_and_not_where_that_is_told() {
    let view = flowing(&help(&["thread_slice"]));
    assert!(view.contains("dur integer, ns the duration. 0 for an instant"), "{view}");
    assert!(!view.contains("as in `slice`"), "{view}");
}

#[test]
fn help_for_a_function_tells_how_it_is_called() {
    let function = help(&["to_boottime"]);
    assert!(function.contains("    to_boottime(clock_id, seq_id, ts) → integer, ns\n"));
    assert!(function.contains("to_boottime(64, 2, 3503)"));
    assert_eq!(help(&["TO_BOOTTIME()"]), function, "in any case, with or without ()");
}

#[test]
fn help_for_a_command_is_what_its_help_flag_says() {
    let help = help(&["import"]);
    let flag = answer(&["import", "--help"]);
    let flag: Vec<&str> = flag.lines().map(str::trim_end).collect();
    assert!(help.contains(&flag.join("\n")), "{help}");
}

#[test]
fn help_for_a_report_tells_what_it_shows_and_its_parameters() {
    let report = help(&["sched-latency"]);
    assert!(report.contains("how long threads that could run waited for a CPU"), "{report}");
    assert!(report.contains("param top integer = 20"), "{report}");
    // A view and a report have the same name.
    let both = help(&["counters"]);
    assert!(both.contains("The table counters") && both.contains("The report counters"), "{both}");
}

#[test]
fn help_lists_every_table_function_command_and_report() {
    let tables = help(&["tables"]);
    let functions = help(&["functions"]);
    let page =
        std::fs::read_to_string(crate::support::repository().join("docs/reference.md")).unwrap();
    let (before, rest) = page.split_once("\n## SQL functions\n").unwrap();
    let names = |text: &str| -> Vec<String> {
        let headings = text.lines().filter_map(|line| line.strip_prefix("### `"));
        headings.map(|name| name.trim_end_matches('`').to_owned()).collect()
    };
    assert!(names(before).len() > 60);
    for table in names(before) {
        assert!(tables.contains(&table), "{table}");
    }
    assert!(names(rest).len() >= 18);
    for function in names(rest) {
        assert!(functions.contains(&format!("{function}(")), "{function}");
    }
    for command in ["import", "query", "shell", "clocks", "explain", "manifest", "help", "man"] {
        assert!(help(&["commands"]).contains(&format!("\n  {command} ")), "{command}");
    }
    for report in ["clock-health", "time-spent", "flows"] {
        assert!(help(&["reports"]).contains(&format!("\n  {report} ")), "{report}");
    }
}

#[test]
fn help_for_a_column_tells_what_it_is_in_each_table() {
    let column = flowing(&help(&["slice.DUR"]));
    assert!(column.contains("slice.dur integer, ns the duration."), "{column}");
    assert!(help(&["thread", "state"]).starts_with("The table thread_state\n"));
    assert!(help(&["boottime"]).starts_with("Times and clocks\n"));
    let utid = flowing(&help(&["utid"]));
    assert!(utid.contains("thread.utid") && utid.contains("sched.utid"), "{utid}");
}

#[test]
fn help_for_a_word_that_is_no_name_explains_it() {
    for (words, said) in [
        (&["linear"][..], "import --conversion linear"),
        (&["frequency"], "cpu_counter_track"),
        (&["trace", "time"], "the clock of the column `ts`"),
        (&["JSON"], "an object with `traceEvents`"),
        (&["pytorch"], "traces of PyTorch's profiler"),
        (&["symbols"], "module_symbols"),
        (&["systems"], "tested on Linux"),
        (&["windows"], "tested on Linux"),
        (&["pbtxt"], "traceconv binary"),
    ] {
        let help = flowing(&help(words)).replace("**", "");
        assert!(help.contains(said), "{words:?}: {help}");
        assert!(!help.contains("Nothing is called"), "{words:?}: {help}");
    }
}

#[test]
fn help_for_a_column_of_a_report_tells_what_it_is() {
    let unknown = flowing(&help(&["unknown_us"]));
    assert!(
        unknown.contains(
            "In the report slices unknown_us the time for which the recording lacks events"
        ),
        "{unknown}"
    );
    assert_eq!(help(&["slices.unknown_us"]), help(&["unknown_us"]));
    let waited = help(&["waited_us"]);
    for report in ["slices", "sched-latency"] {
        assert!(waited.contains(&format!("In the report {report}")), "{waited}");
    }
    let said = run(&["help", "unknwon_us"]);
    assert!(said.stderr.contains("did you mean 'unknown_us'"), "{}", said.stderr);
}

/// The columns of all results of all reports, on traces that fill them.
#[test]
fn every_column_of_every_report_has_help() {
    let reports = [
        "clock-health",
        "counters",
        "cpu-profile",
        "flows",
        "heap-profile",
        "java-heap",
        "sched-latency",
        "slices",
        "time-spent",
        "unplaced",
    ];
    let mut columns = std::collections::BTreeSet::new();
    for report in reports {
        let shown =
            answer(&["query", "tests/data/desktop.pftrace", "--report", report, "-F", "csv"]);
        let lines: Vec<&str> = shown.lines().collect();
        for pair in lines.windows(2).filter(|pair| pair[0].starts_with("# ")) {
            let of = pair[1].split(',');
            columns.extend(of.map(|column| (report, column.trim_matches('"').to_owned())));
        }
    }
    assert!(columns.len() > 150, "{}", columns.len());
    for (report, column) in columns {
        let help = help(&[&column]);
        // A table, a report or a topic has the name of some columns.
        let first = help.lines().next().unwrap_or_default().to_lowercase();
        let is_explained = help.contains(&format!("The column {column}"))
            || help.contains(&format!("In the report {report}\n"))
            || first.split(' ').next_back() == Some(column.as_str());
        assert!(is_explained, "{report}: {column}\n{help}");
    }
}

#[test]
fn help_for_what_stands_in_a_result_tells_what_it_means() {
    assert!(flowing(&help(&["no_path"])).contains("no chain of snapshots leads from the clock"));
    assert!(
        flowing(&help(&["flow_duplicate_id"])).contains("the second begin of a flow is left out")
    );
    assert!(flowing(&help(&[".timer"])).contains("says how long statements take"));
    assert!(help(&["how-conversion-works"]).starts_with("How conversion works\n"));
    assert!(flowing(&help(&["conversion"])).contains("`nearest` or `linear`"));
}

#[test]
fn help_for_a_name_that_is_misspelt_asks_what_was_meant() {
    for (typed, meant) in [
        ("to_bootime", "to_boottime"),
        ("Slcie", "slice"),
        ("sched-latncy", "sched-latency"),
        ("exlpain", "explain"),
    ] {
        let said = run(&["help", typed]);
        assert_eq!(said.code, Some(1), "{typed}");
        let expected =
            format!("timebase: error: nothing is called '{typed}'; did you mean '{meant}'?\n");
        assert_eq!((said.stderr, said.stdout), (expected, String::new()));
    }
    for typed in ["zzzzzz", "select", "python"] {
        let said = run(&["help", typed]);
        assert!(!said.stderr.contains("did you mean"), "{}", said.stderr);
    }
    let said = run(&["help", "zzzzzz"]);
    assert!(said.stderr.contains("'timebase help' lists"), "{}", said.stderr);
}

#[test]
fn help_finds_by_words_in_its_texts() {
    for (typed, found) in [
        // A column, a command's option, a report, and a form of each word.
        ("lost packet", "timebase help why-a-time-is-unresolved"),
        ("temporary files together", "timebase help import"),
        ("waited for CPUs", "timebase help sched-latency"),
        ("perfetto module", "timebase help coming-from-trace-processor"),
        ("wall clock of machines", "timebase help placement"),
        ("which clock did this event use", "timebase help packet_clock"),
        ("how do I convert to the wall clock", "timebase help to_realtime"),
        ("what is a thread waiting for CPU", "timebase help thread_state"),
    ] {
        let said = help(&[typed]);
        assert!(
            said.starts_with(&format!("Nothing is called '{typed}'. These texts contain it:\n")),
            "{said}"
        );
        assert!(said.contains(found), "{typed}: {said}");
        assert!(said.lines().count() < 50, "{said}");
        // The commands that it suggests must work.
        for line in said.lines() {
            if let Some(rest) = line.trim_start().strip_prefix("timebase help ") {
                let name = rest.split("  ").next().unwrap();
                let told = help(&name.split(' ').collect::<Vec<_>>());
                assert!(!told.starts_with("Nothing is called"), "{name}");
            }
        }
    }
    // Not all words are there, but most.
    assert!(help(&["elephants", "wait", "for", "CPU"]).contains("sched-latency"));
    let said = run(&["help", "elephants", "trumpeting"]);
    assert_eq!((said.code, said.stdout.as_str()), (Some(1), ""));
}

#[test]
fn help_has_the_page_for_those_who_come_from_trace_processor() {
    let page = help(&["coming-from-trace-processor"]);
    assert_eq!(help(&["coming", "from", "trace", "processor"]), page);
    for part in [
        "Coming from trace processor\n",
        "\nSpan joins\n",
        "CREATE PERFETTO TABLE",
        "CREATE INDEX temp.state_by ON state (utid, ts);",
    ] {
        assert!(page.contains(part), "{part}\n{page}");
    }
    assert!(help(&["span", "joins"]).starts_with("Span joins\n"));
    assert!(help(&[]).contains("timebase help coming-from-trace-processor"));
}

/// The project has no public repository.
#[test]
fn help_names_no_address_that_does_not_exist() {
    let mut all = String::new();
    for topic in [
        "coming-from-trace-processor",
        "the-program",
        "sql-functions",
        "limits",
        "datasette-metadata",
    ] {
        all += &help(&[topic]);
    }
    all += &answer(&["datasette-metadata", "a.db"]);
    all += &answer(&["man"]);
    all += &run(&["query", "tests/data/nearest.pftrace", "SELECT trace_start()"]).stderr;
    assert!(!all.contains("github.com/timebase"), "{all}");
    assert!(!all.contains("/blob/"), "{all}");
}

#[test]
fn help_in_a_pipe_is_plain_text_of_a_hundred_columns() {
    for topic in
        ["slice", "stats", "to_boottime", "tables", "limits", "the-program", "thread_state"]
    {
        let text = help(&[topic]);
        assert!(!text.contains('\x1b'), "{topic}");
        for line in text.lines() {
            // Text for copying is in one piece.
            let is_verbatim = line.starts_with("    ") && !line.contains('│');
            assert!(is_verbatim || line.chars().count() <= 100, "{topic}: {line}");
        }
    }
}

const FRAMES: &str = "-- A licence.\n
-- Frames that took too long, e.g. two vsyncs. On any display:
-- - those of apps
-- - those of \u{1b}[31mthe system
CREATE PERFETTO TABLE late_frame(
  -- The slice.
  id JOINID(slice.id),
  -- How late.
  late DURATION
) AS SELECT 1 AS id, 2 AS late;
-- Twice as much.
CREATE PERFETTO FUNCTION twice(
  -- A number.
  x LONG
)
-- The double.
RETURNS LONG AS SELECT missing!($x);
CREATE PERFETTO VIEW _inner AS SELECT 1 AS one;
CREATE PERFETTO MACRO of_slice(t TableOrSubquery) RETURNS Expr AS (SELECT 1 FROM $t);
";

#[test]
fn pq2_help_tells_what_modules_declare_with_their_comments() {
    let place = Place::new();
    let folder = place.path("modules");
    fs::create_dir_all(folder.join("mine/more")).unwrap();
    fs::write(folder.join("mine/frames.sql"), FRAMES).unwrap();
    fs::write(folder.join("mine/more/other.sql"), "CREATE PERFETTO VIEW slice AS SELECT 1 AS one;")
        .unwrap();
    let folder = folder.to_str().unwrap();
    let with = |words: &[&str]| flowing(&help(&[&["--sql-package", folder], words].concat()));

    assert!(with(&[]).contains("timebase help mine 2 modules"), "{}", with(&[]));
    let package = with(&["mine"]);
    assert!(
        package.contains("mine.frames late_frame, twice, of_slice mine.more.other slice"),
        "{package}"
    );
    let module = with(&["mine.frames"]);
    for expected in [
        "INCLUDE PERFETTO MODULE mine.frames;",
        "late_frame table: Frames that took too long, e.g. two vsyncs twice(x) function: Twice as much",
        "of_slice!(t) macro",
    ] {
        assert!(module.contains(expected), "{expected}: {module}");
    }
    assert!(!module.contains("_inner") && !module.contains("licence"), "{module}");
    let table = help(&["--sql-package", folder, "LATE_FRAME"]);
    assert!(
        table.contains("On any display:\n\n- those of apps\n\n- those of ␛[31mthe system\n"),
        "{table}"
    );
    let table = flowing(&table);
    for expected in [
        "The table late_frame, of the module mine.frames",
        "SELECT * FROM late_frame;",
        "id JOINID(slice.id) The slice. late DURATION How late.",
    ] {
        assert!(table.contains(expected), "{expected}: {table}");
    }
    let function = with(&["twice"]);
    assert!(
        function.contains("SELECT twice(x); Arguments: x LONG A number. Returns LONG. The double."),
        "{function}"
    );
    // If timebase also has the name, the help describes both.
    let slice = with(&["slice"]);
    assert!(
        slice.contains("The table slice ")
            && slice.contains("The view slice, of the module mine.more.other")
    );
    // Words, and names that are misspelt.
    assert!(
        with(&["two", "vsyncs"]).contains("timebase help late_frame Frames that took too long")
    );
    let wrong = run(&["help", "--sql-package", folder, "twcie"]);
    assert!(wrong.stderr.contains("did you mean 'twice'?"), "{}", wrong.stderr);
    assert_eq!(wrong.code, Some(1));
    let wrong = run(&["help", "--sql-package", "no/folder", "slice"]);
    assert!(
        wrong.stderr.contains("--sql-package: cannot read the SQL package no/folder"),
        "{}",
        wrong.stderr
    );

    // The shell knows its own folders.
    let database = place.path("a.db");
    let trace = crate::support::data("nearest.pftrace");
    answer(&["import", trace.to_str().unwrap(), "-o", database.to_str().unwrap()]);
    let shell = ["shell", database.to_str().unwrap(), "--sql-package", folder];
    let said = run_with_input(&shell, ".help twice\n");
    assert!(flowing(&said.stdout).contains("Twice as much."), "{}{}", said.stdout, said.stderr);
}
