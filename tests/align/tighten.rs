//! `--align tighten`: what is measured stays, and its error becomes less (rule AL18).

use rusqlite::Connection;

use super::world::{Machine, manifest, write, write_guest};
use super::{alone, import, machines, one, talk};
use crate::support::{Place, answer, rows};

/// A guest that gains 20 ppm on its host.
fn guest() -> [Machine; 2] {
    let [host, guest] = machines(0);
    [host, Machine { ppm: 20, ..guest }]
}

/// The imported messages of a host and a guest that asks for the time.
fn synchronized(place: &Place, args: &[&str]) -> Connection {
    import(place, &[write_guest(place, &guest(), &talk(50))], args)
}

/// The true time, on the host's BOOTTIME, of each of the guest's events, with its interval.
const GUESTS: &str = "SELECT p.clock_ts, i.earliest, i.ts, i.latest FROM packet_interval AS i JOIN packet AS p USING (id)
                      JOIN slice_record AS s ON s.packet_id = p.id WHERE p.machine_id <> 0 ORDER BY p.id";

#[test]
fn al18_tighten_makes_the_error_of_a_measured_relation_less_and_moves_nothing() {
    for conversion in ["nearest", "linear"] {
        let place = Place::new();
        let all = |mode| synchronized(&place, &["--align", mode, "--conversion", conversion]);
        let (plain, tight) = (all("auto"), all("tighten"));
        let times = "SELECT id, ts FROM packet";
        assert_eq!(rows(&plain, times), rows(&tight, times));
        let reason = "messages bound the measured relation";
        assert_eq!(alone(&plain, "used, reason"), ["0", "the relation is measured"]);
        assert_eq!(alone(&tight, "used, relation, reason"), ["1", "measured", reason]);
        let [host, guest] = guest();
        let truth = |clock_ts: &str| {
            let shown: i64 = clock_ts.parse().unwrap();
            let mut truth = shown - guest.boottime;
            truth -= truth / 1_000_000 * guest.ppm;
            host.shows(truth)
        };
        let (plain, tight) = (rows(&plain, GUESTS), rows(&tight, GUESTS));
        assert_eq!((plain.len(), tight.len()), (100, 100));
        for (before, after) in plain.iter().zip(&tight) {
            let number = |text: &String| text.parse::<i64>().unwrap();
            let width = |row: &Vec<String>| number(&row[3]) - number(&row[1]);
            assert_eq!((&before[0], &before[2]), (&after[0], &after[2]));
            assert!(
                (number(&after[1])..=number(&after[3])).contains(&truth(&after[0])),
                "{after:?}"
            );
            // A question takes 2 ms. A message takes 200 µs, and the answers' delay of 300 µs is a bound's, too.
            assert!(width(before) >= 2_000_000 && width(after) < 1_100_000, "{before:?} {after:?}");
        }
    }
}

#[test]
fn al18_sql_has_the_tightened_errors_too() {
    let place = Place::new();
    let conn = synchronized(&place, &["--align", "tighten"]);
    timebase_resolver::sql::register(&conn).unwrap();
    let sql = "SELECT count(*), count(nullif(boottime_error(p.clock_id, p.seq_id, p.clock_ts, p.machine_id) = i.latest - i.ts, 1))
               FROM packet_interval AS i JOIN packet AS p USING (id) WHERE p.machine_id <> 0";
    assert_eq!(rows(&conn, sql), [["100", "0"]]);
}

/// The messages of two machines, whose manifest states an offset that is off by so many ns.
fn stated(place: &Place, off: i64, mode: &str) -> Connection {
    let (files, entries) = write(place, &machines(0), &talk(30));
    let offset = off - 6_900_000_000_000;
    let clock = format!(
        r#""clocks": {{"clock": "BOOTTIME", "sync_to": {{"file": "m000.pftrace", "clock": "BOOTTIME"}}, "offset_ns": {offset}}}"#
    );
    let last = r#""machine": {"name": "m001"}"#;
    let manifest = manifest(place, &entries.replace(last, &format!("{last}, {clock}")), "");
    import(place, &files, &["--manifest", &manifest, "--align", mode])
}

const ERROR: &str = "SELECT coalesce(error, -1) FROM placement WHERE how = 'manifest'";

#[test]
fn al18_an_unknown_error_becomes_known() {
    let place = Place::new();
    assert_eq!(one(&stated(&place, 30_000, "auto"), ERROR), -1);
    // Messages bound the truth by 200 µs on each side, and by less before the first one.
    let conn = stated(&place, 30_000, "tighten");
    let known = one(&conn, ERROR);
    assert!((230_000..310_000).contains(&known), "{known}");
    let database = conn.path().unwrap();
    let said = answer(&[
        "explain",
        database,
        "--clock",
        "BOOTTIME",
        "--machine",
        "1",
        "--ts",
        "7020000000000",
    ]);
    assert!(said.contains(", within what messages allow"), "{said}");
    let said = answer(&[
        "explain",
        database,
        "--clock",
        "BOOTTIME",
        "--machine",
        "1",
        "--ts",
        "9020000000000",
    ]);
    assert!(said.contains(", with an unknown error"), "{said}");
    let page = answer(&["report", database, "-o", "-"]);
    assert!(page.contains("; times stay, their error is less") && !page.contains("Moved: "));
}

#[test]
fn al18_messages_that_contradict_a_measured_relation_do_not_tighten_it() {
    let conn = stated(&Place::new(), 300_000, "tighten");
    assert_eq!(alone(&conn, "used, reason"), ["0", "the relation is measured"]);
    assert_eq!(one(&conn, ERROR), -1);
    let found = "SELECT count(*) FROM finding WHERE check_name = 'causality_contradicts'";
    assert_eq!(one(&conn, found), 1);
}
