//! `timebase report` from the outside: the page of every recorded trace agrees with the database.
//! tests/python/test_page.py checks pages in a browser.

use std::fs;
use std::process::Command;

use rusqlite::Connection;

use crate::support::{Imported, PROGRAM, Place, Said, data, files, run};

const MULTIHOP: &str = "tests/data/multihop.pftrace";

/// The text between two texts, at its first occurrence.
fn between<'a>(page: &'a str, start: &str, end: &str) -> &'a str {
    let (_, rest) = page.split_once(start).unwrap_or_else(|| panic!("no {start}"));
    rest.split_once(end).unwrap().0
}

/// Without tags, and with spaces in their place.
fn text(html: &str) -> String {
    let parts = html.split('<').map(|part| {
        let (_, text) = part.split_once('>').unwrap_or(("", part));
        text
    });
    parts.collect::<Vec<_>>().join(" ")
}

/// The page of a database, which must exist.
fn page(source: &str) -> String {
    let said = run(&["report", source, "-o", "-"]);
    assert_eq!(said.code, Some(0), "{source}: {}", said.stderr);
    assert_eq!(said.stderr, "", "{source}");
    said.stdout
}

/// Numbers in the form of the page.
fn grouped(number: i64) -> String {
    let digits = number.to_string();
    let parts = digits.as_bytes().rchunks(3).rev();
    let parts = parts.map(|part| std::str::from_utf8(part).unwrap());
    parts.collect::<Vec<_>>().join(",")
}

/// The fact with this id at the head.
fn fact(page: &str, id: &str) -> String {
    text(between(page, &format!("<dd id=\"{id}\">"), "</dd>"))
}

fn texts(conn: &Connection, sql: &str) -> Vec<String> {
    let mut statement = conn.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    rows.collect::<Result<_, _>>().unwrap()
}

#[test]
fn the_page_of_every_recorded_trace_says_what_the_database_says() {
    let mut hops_seen = 0;
    for trace in files("tests/data", &["pftrace"]) {
        let name = trace.display().to_string();
        if ["both", "slices", "threads"].iter().any(|made| name.contains(&format!("/{made}/"))) {
            continue; // random ones, of which there are many
        }
        let imported = Imported::of(&trace, &[]);
        let page = page(imported.path());
        let count = |sql: &str| imported.count(sql);

        for id in ["findings", "graph", "hops", "packets", "unplaced", "tables"] {
            assert!(page.contains(&format!("<section id=\"{id}\">")), "{name}: {id}");
        }
        assert!(page.len() < 400_000, "{name}: {}", page.len());
        let file = trace.file_name().unwrap().to_str().unwrap();
        assert_eq!(between(&page, "<h1>", "</h1>"), file);

        let packets = fact(&page, "packet-count");
        assert!(
            packets.starts_with(&grouped(count("SELECT count(*) FROM packet"))),
            "{name}: {packets}"
        );
        let placed = grouped(count("SELECT count(*) FROM packet WHERE ts IS NOT NULL"));
        let timed = grouped(count(
            "SELECT count(*) FROM packet WHERE ts IS NOT NULL OR unresolved IS NOT NULL",
        ));
        let share = fact(&page, "share");
        assert!(share.contains(&format!("{placed} of {timed} packet")), "{name}: {share}");
        let clocks = fact(&page, "clock-count");
        assert!(
            clocks.starts_with(&grouped(count("SELECT count(*) FROM clock"))),
            "{name}: {clocks}"
        );

        let findings = between(&page, "<section id=\"findings\">", "</section>");
        let found = usize::try_from(count("SELECT count(*) FROM finding")).unwrap();
        assert_eq!(findings.matches("</b>").count(), found.min(100), "{name}");
        let errors = count("SELECT count(*) FROM finding WHERE severity = 'error'");
        let verdict = fact(&page, "verdict");
        assert_eq!(errors > 0, verdict.contains("error"), "{name}: {verdict}");
        for message in texts(&imported.conn, "SELECT message FROM finding LIMIT 100") {
            let escaped = message
                .replace('&', "&amp;")
                .replace('<', "&lt;")
                .replace('>', "&gt;")
                .replace('"', "&quot;");
            assert!(findings.contains(&escaped), "{name}: {message}");
        }

        // A dot for each reading that is on the line.
        let hops = between(&page, "<section id=\"hops\">", "</section>");
        let plots = hops.matches("<figure").count();
        let in_database = "SELECT count(*) FROM clock_hop WHERE source NOT IN ('remote_sync', 'manifest', 'assumed')";
        let in_database = usize::try_from(count(in_database)).unwrap();
        assert_eq!(plots, in_database.min(24), "{name}");
        hops_seen += plots;
        if in_database <= 24 && count("SELECT coalesce(max(readings), 0) FROM clock_hop") <= 400 {
            let dots = count(
                "SELECT coalesce(sum(readings - outliers), 0) FROM clock_hop WHERE source NOT IN ('remote_sync', 'manifest', 'assumed')",
            );
            assert_eq!(hops.matches("<circle").count() as i64, dots, "{name}");
        }

        // A box for each clock.
        let graph = between(&page, "<section id=\"graph\">", "</section>");
        for clock in texts(
            &imported.conn,
            "SELECT coalesce(name, clock_id || iif(seq_id, '@' || seq_id, '')) FROM clock",
        ) {
            assert!(graph.contains(&format!("\n{clock}")), "{name}: {clock}");
        }

        // Events without a time, as in the report.
        let unplaced = text(between(&page, "<section id=\"unplaced\">", "</section>"));
        for reason in texts(
            &imported.conn,
            "SELECT DISTINCT unresolved FROM packet WHERE unresolved IS NOT NULL",
        ) {
            assert!(unplaced.contains(&reason), "{name}: {reason}");
        }
    }
    assert!(hops_seen > 50, "{hops_seen}");
}

#[test]
fn tables_of_reports_are_there_for_what_the_trace_has() {
    let tables = |trace: &str| {
        let page = page(&data(trace).display().to_string());
        let tables = between(&page, "<section id=\"tables\">", "</section>");
        let names = tables.split("<details id=\"").skip(1);
        let names: Vec<String> =
            names.map(|part| part.split_once('"').unwrap().0.to_owned()).collect();
        (names, text(tables))
    };
    let (names, text) = tables("desktop.pftrace");
    assert_eq!(names, ["clock-health", "time-spent", "sched-latency", "slices", "counters"]);
    for title in
        ["Not to be trusted", "Processes", "Longest waits", "Slices by name", "CPU idle states"]
    {
        assert!(text.contains(title), "{title}");
    }
    let (names, _) = tables("app.pftrace");
    assert_eq!(names, ["clock-health", "slices", "flows", "counters"]);
}

#[test]
fn the_page_goes_to_a_file_or_to_a_pipe_and_is_the_same() {
    let place = Place::new();
    let file = place.write("old.html", b"as it was");
    let out = file.to_str().unwrap();
    let said = run(&["report", MULTIHOP, "-o", out]);
    assert_eq!((said.code, said.stdout.as_str()), (Some(1), ""));
    assert_eq!(
        said.stderr,
        format!(
            "timebase: error: {out} exists; name another file with -o, or replace it with --force\n"
        )
    );
    assert_eq!(fs::read(&file).unwrap(), b"as it was");
    let said = run(&["report", MULTIHOP, "-o", out, "--force"]);
    assert_eq!((said.code, said.stdout.as_str(), said.stderr.as_str()), (Some(0), "", ""));
    let written = fs::read_to_string(&file).unwrap();
    assert_eq!(written, run(&["report", MULTIHOP]).stdout);
    assert_eq!(written, page(MULTIHOP));
    assert!(written.starts_with("<!DOCTYPE html>") && written.ends_with("</html>"));
    assert_eq!(place.files(), ["old.html"]);

    // A trace from a pipe has no name.
    let trace = fs::File::open(data("multihop.pftrace")).unwrap();
    let mut command = Command::new(PROGRAM);
    let said: Said = command.args(["report", "-"]).stdin(trace).output().unwrap().into();
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stdout.contains("<h1>standard input</h1>"));
    let body = |page: &str| between(page, "<section id=\"findings\">", "</html>").to_owned();
    assert_eq!(body(&said.stdout), body(&written));
}

#[test]
fn what_is_wrong_is_said_and_the_file_stays_as_it_was() {
    let place = Place::new();
    let old = place.write("old.html", b"as it was");
    let out = old.to_str().unwrap();
    let database = place.path("other.db");
    let other = Connection::open(&database).unwrap();
    other.execute_batch("CREATE TABLE t (x)").unwrap();
    let broken = Imported::new("multihop.pftrace", &[]);
    broken.conn.execute_batch("UPDATE clock_hop SET readings = 'many'").unwrap();
    let damaged = data("damaged.pftrace").display().to_string();
    for (args, why) in [
        (vec!["none.pftrace", "-o", out, "-f"], "cannot open none.pftrace: No such file"),
        (vec!["README.md", "-o", out, "-f"], "README.md is not a trace"),
        (
            vec![database.to_str().unwrap(), "-o", out, "-f"],
            "is a SQLite database, but timebase did not make it",
        ),
        (
            vec![broken.path(), "-o", out, "-f"],
            "cannot read the hops between clocks of out.db: Invalid column type Text at index: 8, name: readings",
        ),
        (vec![&damaged, "--strict", "-o", out, "-f"], "is damaged"),
        (
            vec![MULTIHOP, "-o", "none/report.html"],
            "--output none/report.html: there is no directory none",
        ),
        (vec![MULTIHOP, "-o", "tests"], "--output tests is a directory; name a file in it"),
        (
            vec![MULTIHOP, "-o", MULTIHOP, "-f"],
            "is the queried file, which the result would replace",
        ),
    ] {
        let said = run(&[&["report"], args.as_slice()].concat());
        assert_eq!((said.code, said.stdout.as_str()), (Some(1), ""), "{args:?}");
        assert!(said.stderr.starts_with("timebase: error: "), "{}", said.stderr);
        assert!(said.stderr.contains(why), "{args:?}: {}", said.stderr);
        assert_eq!(fs::read(&old).unwrap(), b"as it was");
    }
}

/// Snapshots of three clocks from 0 to 9 s, and slices from 5 to 8 s. The trace clock is REALTIME.
fn on_realtime() -> Vec<u8> {
    use timebase_lab::encode::{ClockSnapshot, Message, Packet, Reading, trace};

    const SECOND: u64 = 1_000_000_000;
    let reading = |id, timestamp| Reading { id, timestamp, ..Reading::default() };
    let snapshot = |second: u64| Packet {
        seq: 1,
        clock_snapshot: Some(ClockSnapshot {
            clocks: vec![
                reading(1, 1_700_000_000 * SECOND + second * SECOND),
                reading(3, second * SECOND),
                reading(6, (100 + second) * SECOND),
            ],
            primary: Some(1),
        }),
        ..Packet::default()
    };
    let event = |second: u64, kind: u64| Packet {
        seq: 2,
        timestamp: Some(second * SECOND),
        timestamp_clock_id: Some(3),
        payload: Some((11, Message::new().number(9, kind).number(11, 7).text(23, "x").0)),
        ..Packet::default()
    };
    let track = Packet {
        seq: 2,
        payload: Some((60, Message::new().number(1, 7).text(2, "track").0)),
        ..Packet::default()
    };
    let mut packets: Vec<Packet> = (0..10).map(snapshot).collect();
    packets.extend([track, event(5, 1), event(6, 2), event(7, 1), event(8, 2)]);
    trace(&packets)
}

#[test]
fn fp6_the_tree_of_clocks_has_lines_on_any_trace_time_and_the_span_is_the_imports() {
    let imported = Imported::of_bytes(&on_realtime(), &[]);
    assert!(imported.said.contains("duration    3.000s"), "{}", imported.said);
    let page = page(imported.path());
    assert!(page.contains("Every event stands on REALTIME"));
    let packets = fact(&page, "packet-count");
    assert!(packets.contains("in 3 s"), "{packets}");
    // Three boxes, and a line to trace time from each of the others.
    let graph = between(&page, "<section id=\"graph\">", "</section>");
    let lines = graph.matches("<polyline").count();
    assert_eq!(lines, 2, "{graph}");
    let at = |name: &str| graph.find(&format!(">\n{name}\n<")).unwrap();
    assert!(at("REALTIME") < at("MONOTONIC") && at("REALTIME") < at("BOOTTIME"), "{graph}");
}

#[test]
fn the_page_of_json_traces_has_no_words_and_plots_of_perfetto() {
    let shown = |trace: &str| {
        let page = page(&data(trace).display().to_string());
        let (own, _) = page.split_once("<section id=\"unplaced\">").unwrap();
        let own = own.split_once("<body>").unwrap().1;
        let own = own.replace(between(own, "<section id=\"findings\">", "</section>"), "");
        for word in ["snapshot", "packet", "hops\"", "circle"] {
            let uses = own.to_lowercase().matches(word).count();
            // The names of a section and a fact are for links.
            let names = own.matches(&format!("id=\"{word}")).count();
            assert_eq!(uses, names, "{trace}: {word}: {own}");
        }
        (text(&own), page)
    };

    let (said, page) = shown("training.json");
    assert!(said.contains("Every event stands on TRACE_FILE, the file's own clock."), "{said}");
    assert_eq!(fact(&page, "packet-count").split_whitespace().next(), Some("400"));
    assert!(said.contains("TRACE_FILE 0 ns = REALTIME 1727743122000000000 ns"), "{said}");
    assert!(said.contains("2024-10-01 00:38:42"), "{said}");
    // The bars fill the picture, although the clock began hours before.
    let strip = between(&page, "<section id=\"packets\">", "</section>");
    assert!(strip.matches("<rect").count() > 50, "{strip}");
    assert!(!text(&page).contains("Coverage by"), "{page}");

    let (said, _) = shown("json/01.json");
    assert!(said.contains("The trace has one clock, TRACE_FILE."), "{said}");
    assert!(said.contains("the time of day at which their clocks began is unknown"), "{said}");

    let (said, _) = shown("json/merge-build.zip");
    assert!(said.contains("the offset from its clock to trace time"), "{said}");
    assert_eq!(said.matches("by what its producer says of its clock").count(), 2, "{said}");

    let (said, _) = shown("json/merge-nothing-known.zip");
    assert!(said.contains("assumed: its clock is trace time or the wall clock"), "{said}");
}

#[cfg(unix)]
#[test]
fn a_terminal_is_not_flooded_with_html() {
    use crate::support::terminal::Terminal;

    let ended = Terminal::run(120, &["report", MULTIHOP]).end();
    let screen = ended.screen;
    assert_eq!(ended.code, Some(2), "{screen}");
    assert!(screen.contains("name a file with -o report.html"), "{screen}");
    assert!(!screen.contains("<!DOCTYPE"), "{screen}");
}

#[test]
fn what_a_report_makes_for_itself_is_not_in_the_way_of_the_next() {
    let imported = Imported::new("desktop.pftrace", &[]);
    let before = fs::read(imported.path()).unwrap();
    page(imported.path());
    assert_eq!(fs::read(imported.path()).unwrap(), before);
}
