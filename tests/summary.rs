//! The lines in the summary of an import about clocks that put events at wrong times, which must
//! agree with the findings of `doctor`. `words::` compares the two on every trace of the
//! repository.

use crate::support::Imported;
use timebase_lab::encode::{self, ClockSnapshot, Packet, Reading};

const S: u64 = 1_000_000_000;
const BOOTTIME: u32 = 6;
/// The beginning of the traces.
const START: u64 = 1000 * S + 123; // no reading of a coarse clock

/// The checks whose findings are in the summary, if times are off by more than 100 µs.
pub const CHECKS: &str =
    "('drift', 'machine_drift', 'clock_not_nanoseconds', 'clock_wrapped', 'clock_restarted')";

fn snapshot(seq: u32, clocks: &[(u32, u64)]) -> Packet {
    let clocks =
        clocks.iter().map(|&(id, timestamp)| Reading { id, timestamp, ..Reading::default() });
    Packet {
        seq,
        clock_snapshot: Some(ClockSnapshot { clocks: clocks.collect(), primary: None }),
        ..Packet::default()
    }
}

fn event(seq: u32, clock: u32, timestamp: u64) -> Packet {
    Packet { seq, timestamp: Some(timestamp), timestamp_clock_id: Some(clock), ..Packet::default() }
}

/// Clock 64 of sequence 3, which runs 180 ppm too fast and is read every 4.9 s. In between, each of
/// its events is followed, 100 µs later, by one on BOOTTIME.
fn drifting(pairs: u64) -> Vec<u8> {
    let every = 4900 * S / 1000;
    let read = |at: u64| 457 + at + at / 100 * 18 / 1000;
    let taken = |at: u64| snapshot(3, &[(64, read(at)), (BOOTTIME, START + at)]);
    let mut trace = vec![snapshot(1, &[(3, START), (BOOTTIME, START)]), taken(0)];
    for n in 0..4 {
        let begin = n * every;
        for pair in 1..=pairs {
            let at = begin + every / (pairs + 1) * pair;
            trace.push(event(3, 64, read(at)));
            trace.push(event(2, BOOTTIME, START + at + 100_000));
        }
        trace.push(event(3, 64, read(begin + every - 1)));
        trace.push(taken(begin + every));
    }
    encode::trace(&trace)
}

/// The lines on the clocks, without the heading.
pub fn lines(summary: &str) -> Vec<&str> {
    let mut lines = summary.lines();
    let is_first = |line: &&str| line.starts_with("  clocks      ");
    let first = lines.by_ref().find(is_first).expect("a line on the clocks");
    let more = lines.map_while(|line| line.strip_prefix("              "));
    first.get(14..).into_iter().chain(more).collect()
}

/// Whether a summary agrees with the findings.
pub fn compare(imported: &Imported) -> Result<(), String> {
    let found = imported.rows(&format!(
        "SELECT subject, check_name, message, worst_ns FROM finding
         WHERE check_name IN {CHECKS} AND worst_ns > 100000 ORDER BY worst_ns DESC"
    ));
    let said = lines(&imported.said);
    let (all, at_fault) = said.split_last().expect("how many there are");
    let shown = at_fault.iter().filter(|line| !line.ends_with("more at fault"));
    let clocks = imported.count("SELECT count(*) FROM clock").to_string();
    if found.is_empty() != (*all == clocks) || shown.clone().count() != found.len().min(4) {
        return Err(format!("{found:#?} is not {said:#?}"));
    }
    for (line, row) in shown.zip(&found) {
        let [subject, check, message, _] = &row[..] else { panic!("four columns") };
        let (what, worst) = line.split_once(": times up to ").unwrap();
        let (worst, pairs) = worst.split_once(" wrong").unwrap();
        let does = what.strip_prefix(subject.as_str()).unwrap_or("?").trim();
        let mut expected = vec![format!(" {worst}")];
        match check.as_str() {
            "clock_wrapped" => assert_eq!(does, "wrapped"),
            "clock_restarted" => assert_eq!(does, "restarted"),
            "clock_not_nanoseconds" => assert_eq!(does, "does not count nanoseconds"),
            "machine_drift" => assert_eq!(does, "drifts"),
            _ if does == "drifts" => assert!(!message.contains(" ppm"), "{message}"),
            _ => expected.push(format!("The clock {does}.")),
        }
        if let Some(pairs) = pairs.strip_prefix(", ") {
            let number = pairs.split_once(' ').unwrap().0;
            expected.push(format!("It put {number} pair"));
        } else if check == "drift" && !message.starts_with("Kernel events") {
            expected.push("It put 0 pairs".to_owned());
        }
        if let Some(lacks) = expected.iter().find(|words| !message.contains(words.as_str())) {
            return Err(format!("{line:?}: {lacks:?} is not in {message:?}"));
        }
    }
    let is_clean = found.is_empty();
    let next = if is_clean { "Next: timebase query " } else { "Next: timebase doctor " };
    let says_all = imported.said.contains(": 100 %");
    match imported.said.contains(next) && (is_clean || !says_all) {
        true => Ok(()),
        false => Err(imported.said.clone()),
    }
}

#[test]
fn a_clock_that_drifts_has_a_line_with_how_far_times_are_off_and_what_is_out_of_order() {
    let trace = drifting(50);
    let imported = Imported::of_bytes(&trace, &[]);
    // After 556 ms it is 100 µs ahead. Events are 96 ms apart: five in each range, and the one at
    // its end, are in order.
    let pairs = 4 * (50 - 5);
    let expected = format!(
        "64@3 drifts by 180 ppm: times up to 882 µs wrong, {pairs} pairs of events out of order"
    );
    assert_eq!(lines(&imported.said), [&expected, "3 in all"]);
    let said = &imported.said;
    assert!(said.contains("on BOOTTIME, up to 882 µs wrong\n"), "{said}");
    let next = format!("\n\nNext: timebase doctor {}\n", imported.path());
    assert!(said.contains(&next) && said.contains("--conversion linear"), "{said}");
    compare(&imported).unwrap();

    let linear = Imported::of_bytes(&trace, &["--conversion", "linear"]);
    assert_eq!(lines(&linear.said), ["3"]);
    assert!(linear.said.contains("on BOOTTIME: 100 %\n"), "{}", linear.said);
    assert!(linear.said.contains("Next: timebase query "), "{}", linear.said);
}

#[test]
fn of_a_large_trace_the_clock_tables_tell_how_far_times_are_off() {
    let imported = Imported::of_bytes(&drifting(1300), &["--no-data"]);
    assert!(imported.count("SELECT count(*) FROM packet") > 10_000);
    let said = lines(&imported.said);
    assert_eq!(said, ["64@3 drifts by 180 ppm: times up to 882 µs wrong", "3 in all"]);
    let found = imported.rows("SELECT worst_ns, message FROM finding WHERE check_name = 'drift'");
    let [row] = &found[..] else { panic!("{found:?}") };
    assert!(row[1].contains(": 882 µs at worst") && row[1].contains("by 180 ppm"), "{row:?}");
    let counter = Imported::of_bytes(&counting(6_000), &["--no-data"]);
    let said = lines(&counter.said);
    let of = imported_worst(&counter, "clock_not_nanoseconds");
    assert!(said[0].starts_with("64@3 does not count nanoseconds: times up to "));
    let worst: f64 = said[0].rsplit(' ').nth(2).unwrap().parse().unwrap();
    assert!((worst * 1e6 - of).abs() < of / 100.0, "{said:?}, {of}");
}

fn imported_worst(imported: &Imported, check: &str) -> f64 {
    let sql = format!("SELECT worst_ns FROM finding WHERE check_name = '{check}'");
    imported.count(&sql) as f64
}

/// A clock that claims to count nanoseconds, and counts at 19.2 MHz.
fn counting(events: u64) -> Vec<u8> {
    let read = |at: u64| at / 10_000 * 192;
    let taken = |at: u64| snapshot(3, &[(64, read(at)), (BOOTTIME, START + at)]);
    let mut trace = vec![snapshot(1, &[(3, START), (BOOTTIME, START)])];
    for n in 0..2 {
        trace.push(taken(n * S));
        trace.extend((1..events).map(|m| event(3, 64, read(n * S + S / events * m))));
    }
    trace.push(taken(2 * S));
    encode::trace(&trace)
}

#[test]
fn a_clock_that_counts_something_else_wrapped_or_restarted_has_a_line() {
    for (trace, expected) in [
        (
            "clock_not_nanoseconds",
            "2468715150 does not count nanoseconds: times up to 784.6 ms wrong",
        ),
        ("clock_wrapped", "64@2 wrapped: times up to 8.5899 s wrong"),
        ("clock_restarted", "64@2 restarted: times up to 68 s wrong"),
        ("machine_drift", "machine 1 drifts: times up to 6 ms wrong"),
    ] {
        let name = format!("doctor/{trace}.pftrace");
        let imported = Imported::new(&name, &[]);
        assert_eq!(lines(&imported.said)[0], expected);
        compare(&imported).unwrap();
        let linear = Imported::new(&name, &["--conversion", "linear"]);
        assert_eq!(lines(&linear.said).len(), 1, "{}", linear.said);
    }
}

#[test]
fn where_times_are_right_the_clocks_are_counted_and_no_more() {
    for name in ["app", "sdk", "system", "desktop", "dst", "multihop"] {
        let imported = Imported::new(&format!("{name}.pftrace"), &[]);
        let clocks = imported.count("SELECT count(*) FROM clock").to_string();
        assert_eq!(lines(&imported.said), [clocks]);
        compare(&imported).unwrap();
    }
}

#[test]
fn of_many_clocks_at_fault_the_worst_are_named() {
    let clocks: Vec<u32> = (0..6).map(|n| 64 + n).collect();
    let read = |clock: u32, at: u64| 457 + at + at / 10_000 * u64::from(clock - 60);
    let mut trace = vec![snapshot(1, &[(3, START), (BOOTTIME, START)])];
    for at in (0..5).map(|n| n * S) {
        let taken = clocks.iter().map(|&clock| (clock, read(clock, at)));
        let taken: Vec<_> = taken.chain([(BOOTTIME, START + at)]).collect();
        trace.push(snapshot(3, &taken));
        trace.extend(clocks.iter().map(|&clock| event(3, clock, read(clock, at + S / 2))));
    }
    let imported = Imported::of_bytes(&encode::trace(&trace), &[]);
    let said = lines(&imported.said);
    assert_eq!(said.len(), 6, "{said:?}");
    assert!(said[0].starts_with("69@3 drifts by 899 ppm"), "{said:?}");
    assert_eq!(said[4..], ["2 more at fault", "8 in all"]);
    compare(&imported).unwrap();
}
