//! The words of the import, of the doctor and of other commands about clocks that messages relate.

use rusqlite::Connection;

use super::collectives::{parts, rank};
use super::world::{Event, Machine, Role, manifest, text, write};
use super::{alone, attempt, import, machines, one, talk};
use crate::support::{Place, Said, rows, run};

/// Two machines whose wall clocks are this many ns apart, and their messages; the import's words.
fn imported(place: &Place, apart: i64, events: &[Event], mode: &str) -> Said {
    let (files, entries) = write(place, &machines(apart), events);
    let manifest = manifest(place, &entries, "");
    let said = attempt(place, &files, &["--manifest", &manifest, "--align", mode]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    said
}

/// The line of the summary about the second machine.
fn placed(said: &Said) -> String {
    let lines: Vec<&str> = said.stderr.lines().chain(said.stdout.lines()).collect();
    let line = lines.iter().find(|line| line.contains("m001.pftrace, m001: "));
    let Some(line) = line else { panic!("{lines:?}") };
    line.split(": ").skip(1).collect::<Vec<_>>().join(": ")
}

#[test]
fn al20_the_summary_says_what_messages_say_of_an_assumption() {
    let place = Place::new();
    let of = |apart, count, mode| placed(&imported(&place, apart, &talk(count), mode));
    let agree = "assuming that the wall clocks agree, which ";
    assert_eq!(of(50_000_000, 30, "off"), format!("{agree}nothing confirms"));
    let confirmed = of(50_000, 30, "auto");
    let error = confirmed.strip_prefix(&format!("{agree}60 messages confirm, ± "));
    assert!(error.is_some_and(|error| error.ends_with("µs")), "{confirmed}");
    let contradicted = format!("{agree}messages contradict: it is wrong by at least 49.8ms; ");
    let kept = of(50_000_000, 30, "report");
    assert_eq!(kept, format!("{contradicted}import with --align auto to follow the messages"));
    let few = of(50_000_000, 9, "auto");
    assert_eq!(few, format!("{contradicted}import with --align flows to follow the messages"));
    let moved = of(50_000_000, 30, "auto");
    let error = moved.strip_prefix("by messages, which moved it by 50.0ms, ± ");
    assert!(error.is_some_and(|error| error.ends_with("µs")), "{moved}");
    let mut one_way = talk(30);
    one_way.retain(|event| event.flow % 2 == 1);
    let one_way = placed(&imported(&place, 50_000_000, &one_way, "auto"));
    assert!(one_way.ends_with("; 'timebase doctor' says what to do"), "{one_way}");
}

#[test]
fn al4_rows_that_are_no_messages_are_counted() {
    let place = Place::new();
    let (files, entries) = write(&place, &machines(50_000_000), &talk(1));
    let sql = "SELECT min(packet_id) AS packet_out, max(packet_id) AS packet_in FROM slice UNION ALL \
               SELECT min(packet_id), max(packet_id) FROM slice UNION ALL \
               SELECT 77777, 1 UNION ALL SELECT 1, 88888";
    let align = |sql: &str| format!(r#", "align": {{"pairs": "{sql}"}}"#);
    let manifest = manifest(&place, &entries, &align(sql));
    let said = attempt(&place, &files, &["--manifest", &manifest, "--align", "pairs"]);
    let told = "align.pairs of the manifest: ignored 2 rows with a packet that does not exist or has no time, first packet \
                77777; and 1 row that repeats another, first packets ";
    assert!(said.stderr.contains(told), "{}", said.stderr);
    let conn = Connection::open(place.path("out.db")).unwrap();
    let log = "SELECT severity FROM import_log WHERE code = 'align_pairs_ignored'";
    assert_eq!(rows(&conn, log), [["warning"]]);
    assert_eq!(one(&conn, "SELECT sum(messages_ab + messages_ba) FROM clock_alignment"), 1);
}

#[cfg(unix)]
#[test]
fn al20_a_pipe_with_a_name_is_refused_before_it_is_read() {
    let place = Place::new();
    let fifo = place.path("fifo");
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let (fifo, out) = (text(fifo), text(place.path("out.zip")));
    for args in [&["rewrite", &fifo, "-o", &out][..], &["view", &fifo, "--no-browser"]] {
        let said = run(&[args, &["--align", "auto"]].concat());
        assert_eq!(said.code, Some(1));
        let told = format!(
            "--align reads traces once more than the pipe {fifo} allows: save it to a file"
        );
        assert!(said.stderr.contains(&told), "{}", said.stderr);
    }
}

/// The findings of a check: their messages and advice.
fn found(conn: &Connection, check: &str) -> Vec<Vec<String>> {
    let sql = format!("SELECT message, advice FROM finding WHERE check_name = '{check}'");
    rows(conn, &sql)
}

#[test]
fn al3_collectives_that_nothing_tells_apart_are_counted_and_told() {
    // Text is no number, and the launches are after the last step of the profiler.
    let place = Place::new();
    let files = [0, 1].map(|number| {
        let mut parts = parts("allreduce", number, |number| format!(r#","Seq":"{number}""#));
        for part in &mut parts {
            part.start += 5_000_000;
            part.end += 5_000_000;
        }
        rank(&place, number, &parts, true)
    });
    let conn = import(&place, &files, &[]);
    let reason = "most sends and arrivals do not pair up";
    let columns = "evidence, sides, unpaired, messages_ab, used, reason";
    assert_eq!(alone(&conn, columns), ["collectives", "none", "20", "0", "0", reason]);
    let found = found(&conn, "flow_undirected");
    let [row] = &found[..] else { panic!("{found:?}") };
    assert!(row[0].starts_with("20 collectives of file 1 and file 2 do not pair up"), "{row:?}");
    assert!(row[1].contains("(Seq)"), "{row:?}");
}

#[test]
fn al14_the_advice_is_for_the_kind_of_messages() {
    let place = Place::new();
    let one_way =
        |number: i64| format!(r#","Seq":{number},"In msg nelems":64,"Src Rank":0,"Dst Rank":1"#);
    let files = [0, 1].map(|number| rank(&place, number, &parts("send", number, one_way), true));
    let conn = import(&place, &files, &[]);
    let advice = found(&conn, "alignment_one_sided").concat().concat();
    assert!(advice.contains("all-reduce") && !advice.contains("flow_ids"), "{advice}");
    let flows = |number: i64, phase: char| {
        let event = |id: i64| {
            let ts = 1_000_000 + 10_000 * id + 200 * number;
            format!(
                r#"{{"ph":"{phase}","bp":"e","cat":"c","name":"n","id":{id},"ts":{ts},"pid":1,"tid":2}}"#
            )
        };
        let events: Vec<String> = (0..30).map(event).collect();
        let text = format!(
            r#"{{"baseTimeNanoseconds":1700000000000000000,"traceEvents":[{}]}}"#,
            events.join(",")
        );
        text_of(&place, number, &text)
    };
    let files = [flows(0, 's'), flows(1, 'f')];
    let entry =
        |number| format!(r#"{{"path": "{number}.json", "machine": {{"name": "{number}"}}}}"#);
    let manifest = manifest(&place, &[0, 1].map(entry).join(","), "");
    let conn = import(&place, &files, &["--manifest", &manifest]);
    let advice = found(&conn, "alignment_one_sided").concat().concat();
    assert!(advice.contains(r#""ph": "f""#) && !advice.contains("flow_ids"), "{advice}");
}

fn text_of(place: &Place, number: i64, json: &str) -> String {
    text(place.write(&format!("{number}.json"), json.as_bytes()))
}

#[test]
fn al2_an_id_for_a_request_and_its_answer_is_told() {
    let place = Place::new();
    let mut events = talk(30);
    // Each id has two starts and two ends, of which only one is on a machine of its own.
    events.iter_mut().for_each(|event| event.flow &= !1);
    events.retain(|event| event.role != Role::End || event.machine == 1);
    events.iter_mut().filter(|event| event.machine == 1).for_each(|event| event.role = Role::End);
    let (files, entries) = write(&place, &machines(50_000_000), &events);
    let manifest = manifest(&place, &entries, "");
    let conn = import(&place, &files, &["--manifest", &manifest]);
    let reason = "most sends and arrivals do not pair up";
    assert_eq!(alone(&conn, "evidence, unpaired, reason"), ["flows", "30", reason]);
    let found = found(&conn, "flow_undirected");
    let [row] = &found[..] else { panic!("{found:?}") };
    assert!(row[0].starts_with("30 flow ids of machine 0 and machine 1 do not pair up"), "{row:?}");
    assert!(row[1].contains("an id of its own"), "{row:?}");
}

#[test]
fn al11_a_pair_that_was_set_in_the_middle_tells_of_its_longest_stretch() {
    let place = Place::new();
    let mut events = talk(30);
    // The messages are from 1 to 30 s, and the second machine is set after 15.5 s.
    for event in events.iter_mut().filter(|event| event.machine == 1 && event.at > 15_500_000_000) {
        event.at += 7_000_000_000;
    }
    let (files, entries) = write(&place, &machines(0), &events);
    let manifest = manifest(&place, &entries, "");
    let conn = import(&place, &files, &["--manifest", &manifest, "--align", "report"]);
    let columns = "stretches, latest - earliest < 1000000, abs(offset - 6907000000000) < 300000, at_ts > 116000000000";
    assert_eq!(alone(&conn, columns), ["2", "1", "1", "1"]);
}

#[test]
fn al14_a_drift_beyond_the_limit_is_refused_and_told() {
    let place = Place::new();
    let mut machines = machines(50_000_000);
    machines[1] = Machine { ppm: 1_000, ..machines[1] };
    let (files, entries) = write(&place, &machines, &talk(40));
    let import = |more: &str| {
        let manifest = manifest(&place, &entries, more);
        import(&place, &files, &["--manifest", &manifest])
    };
    let conn = import("");
    let reason = "the clocks drift by about 1000 ppm, more than max_drift_ppm allows";
    assert_eq!(alone(&conn, "sides, used, reason"), ["contradictory", "0", reason]);
    let found = found(&conn, "alignment_contradictory");
    let [row] = &found[..] else { panic!("{found:?}") };
    let told = "By 80 messages, the clocks of machine 0 and machine 1 drift by about 1000 ppm";
    assert!(row[0].starts_with(told), "{row:?}");
    assert!(row[1].contains(r#""align": {"max_drift_ppm": …}"#), "{row:?}");
    let conn = import(r#", "align": {"max_drift_ppm": 2000}"#);
    assert_eq!(alone(&conn, "sides, stretches, violated, used"), ["both", "1", "0", "1"]);
}

#[test]
fn al18_a_statement_of_producers_is_not_called_a_measurement() {
    let place = Place::new();
    // Both files are of one rank, and the producers state clocks that are 20 ms apart.
    let files = [0, 1].map(|number| {
        let seq = |number| format!(r#","Seq":{number},"In msg nelems":64"#);
        let path = rank(&place, number, &parts("allreduce", number, seq), true);
        let json = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, json.replace(r#""rank":1"#, r#""rank":0"#)).unwrap();
        path
    });
    let conn = import(&place, &files, &[]);
    assert_eq!(
        alone(&conn, "relation, used, reason"),
        ["measured", "0", "the producers state the relation"]
    );
    let found = found(&conn, "causality_contradicts");
    let [row] = &found[..] else { panic!("{found:?}") };
    assert!(row[0].contains(" state of their clocks: it is off by at least "), "{row:?}");
    assert!(
        row[1].contains("baseTimeNanoseconds") && !row[1].contains("RemoteClockSync"),
        "{row:?}"
    );
}

#[test]
fn js38_explain_lists_the_own_clocks_of_all_files() {
    let place = Place::new();
    let seq = |number| format!(r#","Seq":{number},"In msg nelems":64"#);
    let files = [0, 1].map(|number| rank(&place, number, &parts("allreduce", number, seq), true));
    drop(import(&place, &files, &[]));
    let database = text(place.path("out.db"));
    let said = run(&["explain", &database, "--clock", "TRACE_FILE", "--ts", "5"]);
    assert_eq!(said.code, Some(1), "{}", said.stdout);
    for file in ["TRACE_FILE in file 1", "TRACE_FILE of machine 1 in file 2"] {
        assert!(said.stderr.contains(file), "{}", said.stderr);
    }
}
