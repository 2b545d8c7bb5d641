//! The program's statements about a trace must agree with the tables, on every trace of the
//! repository: `explain` for packets and slices, the head of the page, the summary of the import.

use std::fmt::Write;
use std::path::Path;
use std::{fs, thread};

use rusqlite::Connection;

use crate::summary;
use crate::support::{Imported, count, data, files, repository, rows, run};

/// Random traces. There are many, and times are not their subject: only a few packets and slices of
/// each are explained.
const RANDOM: [&str; 7] =
    ["/both/", "/slices/", "/threads/", "/merge/", "/profiles/", "/more/", "/rest/"];

/// Packets of all kinds in each trace: for each clock and sequence, the first and the last one with
/// a time, and without a time, by reason; those that a later snapshot would move, and those that
/// another turn's snapshot placed.
const PACKETS: &str = "
    SELECT id FROM (
      SELECT min(id) AS id, 1 AS place FROM packet GROUP BY unresolved, ts IS NULL, timestamp IS NULL, clock_id IS NULL
      UNION
      SELECT max(id), 2 FROM packet GROUP BY clock_id, ts IS NULL
      UNION
      SELECT id, 3 FROM (SELECT id FROM packet_resync WHERE difference <> 0 OR resync_ts IS NULL LIMIT 2)
      UNION
      SELECT wrong_packet_id, 4 FROM clock_turn WHERE wrong_packet_id IS NOT NULL
    )
    GROUP BY id ORDER BY min(place), id LIMIT";

const SLICES: &str = "
    SELECT id FROM (
      SELECT min(id) AS id FROM slice_record WHERE packet_id IS NOT NULL
      UNION
      SELECT max(id) FROM slice_record WHERE packet_id IS NOT NULL
      UNION
      SELECT max(s.id) FROM slice_record AS s JOIN packet AS p ON p.id = s.packet_id AND p.ts IS NULL
    )
    WHERE id IS NOT NULL ORDER BY id LIMIT";

/// The differences between the statements and the rows of a trace; and the number of explanations.
fn compare(trace: &Path, args: &[&str]) -> (String, usize) {
    let imported = Imported::of(trace, args);
    let conn = &imported.conn;
    let mut wrong = String::new();
    let is_random = RANDOM.iter().any(|made| trace.to_str().unwrap().contains(made));
    let most = if is_random { 2 } else { 8 };
    let packets = ids(conn, &format!("{PACKETS} {most}"));
    for packet in &packets {
        let said = explained(&imported, "--packet", *packet);
        if let Err(why) = of_packet(conn, *packet, &said) {
            writeln!(wrong, "packet {packet}: {why}\n{said}").unwrap();
        }
    }
    let slices = ids(conn, &format!("{SLICES} {most}"));
    for slice in &slices {
        let said = explained(&imported, "--slice", *slice);
        let sql = format!("SELECT ts, packet_id FROM slice WHERE id = {slice}");
        let [ts, packet] = &rows(conn, &sql)[0][..] else { panic!("two columns") };
        let first = said.lines().next().unwrap();
        let (_, rest) = said.split_once('\n').unwrap();
        let of_packet = of_packet(conn, packet.parse().unwrap(), rest);
        let begins = format!(" begins at {ts} by packet {packet}");
        if !first.ends_with(&begins) || of_packet.is_err() {
            writeln!(wrong, "slice {slice}: {begins}, {of_packet:?}\n{said}").unwrap();
        }
    }
    let page = run(&["report", imported.path(), "-o", "-"]);
    assert_eq!(page.code, Some(0), "{}", page.stderr);
    if let Err(why) = of_page(conn, &page.stdout) {
        writeln!(wrong, "the page: {why}").unwrap();
    }
    if let Err(why) = summary::compare(&imported) {
        writeln!(wrong, "the summary: {why}").unwrap();
    }
    let name = trace.strip_prefix(repository()).unwrap().display();
    if !wrong.is_empty() {
        wrong = format!("# {name} {args:?}\n{wrong}");
    }
    (wrong, packets.len() + slices.len())
}

fn ids(conn: &Connection, sql: &str) -> Vec<i64> {
    let rows = rows(conn, sql);
    rows.iter().map(|row| row[0].parse().unwrap()).collect()
}

fn explained(imported: &Imported, flag: &str, id: i64) -> String {
    let said = run(&["explain", imported.path(), flag, &id.to_string()]);
    assert_eq!(said.code, Some(0), "{flag} {id}: {}", said.stderr);
    said.stdout
}

/// Whether the explanation of a packet agrees with its row.
fn of_packet(conn: &Connection, packet: i64, said: &str) -> Result<(), String> {
    let sql = format!("SELECT timestamp, ts, unresolved FROM packet WHERE id = {packet}");
    let [timestamp, ts, unresolved] = &rows(conn, &sql)[0][..] else { panic!("three columns") };
    let is = |text: &String| text != "[NULL]";
    // "… is BOOTTIME 5 ns", but not a distance of 5 ns.
    let is_at = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        words.windows(2).any(|two| two[0] == ts && two[1].trim_end_matches(',') == "ns")
            || line.contains(&format!(" is at {ts}"))
    };
    let expected = match (is(timestamp), is(ts)) {
        (_, true) if said.lines().any(is_at) && !said.contains(" is unresolved") => return Ok(()),
        (_, true) => format!("its row has {ts}"),
        (false, false) if !is(unresolved) && said.contains("has no timestamp") => return Ok(()),
        (false, false) if !is(unresolved) => "its row has no timestamp".to_owned(),
        (_, false) => {
            let reason = format!(" is unresolved: {unresolved}\n");
            // It may contain the unit, but no time.
            let is_time = |line: &str| line.contains(" ns") && !line.contains(" × ");
            if said.contains(&reason) && !said.lines().any(is_time) {
                return Ok(());
            }
            format!("its row is unresolved, {unresolved}")
        }
    };
    Err(expected)
}

/// Whether the head of a page agrees with the tables.
fn of_page(conn: &Connection, page: &str) -> Result<(), String> {
    let between = |start: &str, end: &str| -> Option<String> {
        let (_, rest) = page.split_once(start)?;
        Some(rest.split_once(end).unwrap().0.to_owned())
    };
    let sentence = between("</h1><p class=\"about\">", "</p>").unwrap().replace(',', "");
    let worst = between("<dd id=\"worst\">", "</dd>");
    let placed = count(
        conn,
        "SELECT (SELECT count(ts) FROM packet) + (SELECT count(ts) FROM ftrace_event) + (SELECT count(ts) FROM android_logs)",
    );
    let unplaced = count(
        conn,
        "SELECT (SELECT count(unresolved) FROM packet) + (SELECT count(*) - count(ts) FROM ftrace_event)
              + (SELECT count(unresolved) FROM android_logs)",
    );
    let expected = match (placed, unplaced) {
        (0, _) => "No event stands on ".to_owned(),
        (_, 0) => "Every event stands on ".to_owned(),
        _ => format!("{placed} of {} events stand on ", placed + unplaced),
    };
    let said = |text: &str| sentence.contains(text);
    if !sentence.starts_with(&expected) || said("have no time") != (placed > 0 && unplaced > 0) {
        return Err(format!("{sentence:?} is not {expected:?}"));
    }
    let wrong = count(conn, "SELECT coalesce(sum(packets), 0) FROM clock_turn");
    let told = format!(" {wrong} of these at a wrong time");
    if said("at a wrong time") != (wrong > 0) || wrong > 0 && !said(&told) {
        return Err(format!("{sentence:?} says nothing of {wrong} wrong times"));
    }
    // JSON has no snapshots, and no error between them.
    let is_json = count(
        conn,
        "SELECT count(*) FILTER (WHERE trace_type = 'json') > 0 AND count(*) FILTER (WHERE trace_type = 'proto') = 0
         FROM trace_file",
    ) == 1;
    if worst.is_some() == is_json {
        return Err(format!("it says {worst:?}, and JSON alone is {is_json}"));
    }
    let Some(worst) = worst else { return Ok(()) };
    // It must not say that nothing is wrong if times are wrong or clocks have no path.
    let lacking = count(
        conn,
        "SELECT count(*) FROM clock WHERE packets > 0 AND path IS NULL
           AND EXISTS (SELECT 1 FROM packet WHERE unresolved IS NOT NULL)",
    );
    if worst.starts_with("none") && (lacking > 0 || wrong > 0) {
        return Err(format!("{worst:?}, and {lacking} clocks have no way"));
    }
    // Its first figure must be that of the tables, and the doctor's findings must not be worse.
    let is_linear = count(
        conn,
        "SELECT count(*) FROM metadata WHERE name = 'conversion' AND str_value = 'linear'",
    ) > 0;
    let column = match is_linear {
        true => "worst_error_ns",
        false => "worst_error_nearest_ns",
    };
    let expected = format!(
        "SELECT coalesce((SELECT max(t.worst_ns) FROM clock_turn AS t), (
           SELECT max({column}) FROM clock_hop AS h JOIN clock_record AS c USING (machine_id, clock_id, seq_id)
           WHERE c.file = coalesce(h.trace_file_id, -1) AND c.packets > 0 AND h.readings > 1
             AND h.source IN ('service', 'writer', 'ftrace')
         ), -1)"
    );
    let expected: f64 = conn.query_row(&expected, [], |row| row.get(0)).unwrap();
    let Some(shown) = nanoseconds(&worst) else {
        let is_none = expected < 0.0 || worst.starts_with("not known") && lacking > 0;
        return match is_none {
            true => Ok(()),
            false => Err(format!("{worst:?} is not {expected} ns")),
        };
    };
    if (shown - expected).abs() > expected / 100.0 {
        return Err(format!("{worst:?} is not {expected} ns"));
    }
    let found = "SELECT coalesce(max(worst_ns), 0) FROM finding
         WHERE check_name IN ('drift', 'clock_not_nanoseconds', 'clock_wrapped', 'clock_restarted') AND worst_ns > 100000";
    let found = count(conn, found) as f64;
    // Only for one machine: between two there are paths of many hops, which packets rarely use.
    let is_one = count(conn, "SELECT count(*) FROM part") == 1;
    match found <= shown * 1.01 || !is_one {
        true => Ok(()),
        false => Err(format!("{worst:?}, and the doctor found {found} ns")),
    }
}

/// The time at the beginning of a text, which is a bound if the conversion knows no more.
fn nanoseconds(text: &str) -> Option<f64> {
    let text = text.strip_prefix("within ").unwrap_or(text);
    let mut words = text.split([' ', '<']);
    let number: f64 = words.next()?.parse().ok()?;
    let units = [
        ("ns", 1.0),
        ("µs", 1e3),
        ("ms", 1e6),
        ("s", 1e9),
        ("min", 60e9),
        ("h", 3600e9),
        ("d", 86_400e9),
    ];
    let unit = words.next()?;
    let unit = units.iter().find(|(name, _)| *name == unit)?;
    Some(number * unit.1)
}

#[test]
#[ignore = "heavy"]
fn what_explain_and_the_page_say_is_what_the_rows_say() {
    let mut traces = files("tests/data", &["pftrace", "tar", "zip"]);
    let sets = fs::read_to_string(data("merge/expected.csv")).unwrap();
    traces.retain(|trace| {
        let name = trace.file_name().unwrap().to_str().unwrap();
        !sets.contains(&format!("{name},,,refused,"))
    });
    assert!(traces.len() > 200, "{}", traces.len());
    let jobs: Vec<(&Path, &[&str])> = traces
        .iter()
        .flat_map(|trace| {
            let is_checked = trace.to_str().unwrap().contains("/doctor/");
            let linear = is_checked.then_some((trace.as_path(), &["--conversion", "linear"][..]));
            [(trace.as_path(), &[][..])].into_iter().chain(linear)
        })
        .collect();
    let half = jobs.len().div_ceil(2);
    let (wrong, read) = thread::scope(|scope| {
        let parts = jobs.chunks(half).map(|jobs| {
            scope.spawn(move || {
                let found = jobs.iter().map(|(trace, args)| compare(trace, args));
                found.fold((String::new(), 0), |(text, sum), (wrong, read)| {
                    (text + &wrong, sum + read)
                })
            })
        });
        let parts: Vec<_> = parts.collect();
        parts
            .into_iter()
            .map(|part| part.join().unwrap())
            .fold((String::new(), 0), |(text, sum), (wrong, read)| (text + &wrong, sum + read))
    });
    assert!(wrong.is_empty(), "{wrong}");
    assert!(read > 700, "{read}");
}
