//! Conversions by the rate of clocks (rules R), end to end: the results of plain SQL, of the
//! functions, and of `explain`. The tests of the resolver check the rules on small hops, and
//! compare them with a model.

use std::path::PathBuf;

use crate::support::{Imported, Place, answer, data, files, import, rows, run};

/// All traces of the repository, each with its file.
fn traces() -> impl Iterator<Item = (PathBuf, Imported)> {
    files("tests/data", &["pftrace"]).into_iter().map(|trace| {
        let imported = Imported::of(&trace, &["--no-data"]);
        timebase_resolver::sql::register(&imported.conn).unwrap();
        (trace, imported)
    })
}

/// The result of a plain JOIN for a value, and the results of the functions.
const BOTH: &str = "
    SELECT r.machine_id, r.clock_id, r.seq_id, r.ts,
           r.value + m.offset + CAST(round((r.value - anchor) * m.slope) AS INTEGER) AS joined,
           to_boottime_linear(r.clock_id, r.seq_id, r.ts, r.machine_id) AS called,
           m.error + (r.value - anchor) * m.error_slope AS joined_error,
           boottime_error(r.clock_id, r.seq_id, r.ts, r.machine_id) AS called_error
    FROM (SELECT *, ts * unit AS value FROM reading) AS r
    JOIN (SELECT *, iif(kind = 'before', end_value, start_value) AS anchor
          FROM clock_mapping_linear WHERE to_clock_id = 6) AS m
      ON m.machine_id = r.machine_id AND m.clock_id = r.clock_id AND m.seq_id = r.seq_id
     AND (m.start_value IS NULL OR m.start_value <= r.value)
     AND (m.end_value IS NULL OR r.value < m.end_value)";

/// Readings of packets, and the begin, the end and the middle of each line.
const READINGS: &str = "
    CREATE TEMP TABLE reading AS
    SELECT DISTINCT p.machine_id, p.clock_id, c.seq_id, c.unit_multiplier_ns AS unit, p.clock_ts AS ts
    FROM packet AS p
    JOIN clock AS c ON c.machine_id = p.machine_id AND c.clock_id = p.clock_id
     AND c.seq_id = iif(p.clock_id BETWEEN 64 AND 127, p.seq_id, 0)
    WHERE p.clock_ts IS NOT NULL
    UNION
    SELECT c.machine_id, c.clock_id, c.seq_id, 1, value
    FROM (SELECT machine_id, clock_id, seq_id, start_value AS value FROM clock_mapping_linear
          UNION SELECT machine_id, clock_id, seq_id, end_value - 1 FROM clock_mapping_linear
          UNION SELECT machine_id, clock_id, seq_id, (start_value + end_value) / 2 FROM clock_mapping_linear)
    JOIN clock AS c USING (machine_id, clock_id, seq_id)
    WHERE value IS NOT NULL AND c.unit_multiplier_ns = 1";

#[test]
fn r6_plain_sql_converts_as_the_functions_do() {
    let mut compared = 0;
    for (file, trace) in traces() {
        trace.conn.execute_batch(READINGS).unwrap();
        compared += trace.count("SELECT count(*) FROM reading");
        let missing = format!(
            "SELECT (SELECT count(*) FROM reading
                     WHERE to_boottime_linear(clock_id, seq_id, ts, machine_id) IS NOT NULL)
                  - (SELECT count(*) FROM ({BOTH}) WHERE typeof(joined) = 'integer')"
        );
        assert_eq!(trace.count(&missing), 0, "{}", file.display());
        let apart = format!(
            "SELECT * FROM ({BOTH})
             WHERE typeof(joined) = 'integer' AND joined IS NOT called OR called_error - joined_error NOT BETWEEN -1e-3 AND 1 + 1e-3"
        );
        assert_eq!(trace.rows(&apart), Vec::<Vec<String>>::new(), "{}", file.display());
    }
    assert!(compared > 10_000);
}

#[test]
fn r6_intervals_of_packets_are_those_of_their_readings() {
    for (file, trace) in traces() {
        let intervals = "SELECT count(*) FROM packet_interval";
        // By all snapshots; a clock may have gone backwards after it placed a packet.
        let placed = "SELECT count(*) FROM packet WHERE unresolved IS NULL
                      AND to_boottime_linear(clock_id, seq_id, clock_ts, machine_id) IS NOT NULL";
        assert_eq!(trace.count(intervals), trace.count(placed), "{}", file.display());
        if trace.count("SELECT int_value FROM metadata WHERE name = 'trace_time_clock_id'") != 6 {
            continue;
        }
        let apart = "
            SELECT p.id, i.earliest, i.ts, i.latest, f.*
            FROM packet_interval AS i
            JOIN packet AS p ON p.id = i.id
            JOIN boottime_interval(p.clock_id, p.seq_id, p.clock_ts, p.machine_id) AS f
            WHERE (i.earliest, i.ts, i.latest) IS NOT (f.earliest, f.estimate, f.latest)";
        assert_eq!(trace.rows(apart), Vec::<Vec<String>>::new(), "{}", file.display());
    }
}

#[test]
fn r4_it_is_exact_at_the_readings_that_are_used() {
    let mut compared = 0;
    for (file, trace) in traces() {
        // Of readings closer than a thousandth of the usual distance, at most one is used (R1a).
        let used = "
            CREATE TEMP TABLE near AS
            WITH reading AS (
              SELECT a.id, h.id AS hop, a.clock_value AS a,
                     a.clock_value - lag(a.clock_value) OVER (PARTITION BY h.id ORDER BY a.clock_value, a.id) AS gap,
                     lead(a.clock_value) OVER (PARTITION BY h.id ORDER BY a.clock_value, a.id) - a.clock_value AS next
              FROM clock_hop AS h
              JOIN clock_snapshot AS a ON (a.machine_id, a.clock_id, a.seq_id) = (h.machine_id, h.clock_id, h.seq_id) AND a.source = h.source
            ), gaps AS (
              SELECT hop, gap, row_number() OVER (PARTITION BY hop ORDER BY gap) - 1 AS place, count(*) OVER (PARTITION BY hop) AS m
              FROM reading WHERE gap > 0
            ), short AS (SELECT hop, gap / 1000.0 AS short FROM gaps WHERE place = 3 * m / 4)
            SELECT id FROM reading JOIN short USING (hop) WHERE gap BETWEEN 1 AND short OR next BETWEEN 1 AND short;
            CREATE TEMP TABLE used AS
            SELECT h.clock_id, h.seq_id, h.machine_id, a.clock_value AS a, b.clock_value AS b
            FROM clock_hop AS h
            JOIN clock_snapshot AS a
              ON (a.machine_id, a.clock_id, a.seq_id) = (h.machine_id, h.clock_id, h.seq_id)
             AND a.source = h.source
            JOIN clock_snapshot AS b
              ON (b.machine_id, b.clock_id, b.seq_id) = (h.to_machine_id, h.to_clock_id, h.to_seq_id)
             AND b.snapshot_id = a.snapshot_id
            WHERE h.to_clock_id = 6 AND h.to_machine_id = 0 AND a.unit_multiplier_ns = 1
              AND h.source <> 'remote_sync' -- their samples are used (R9)
              AND h.kin IS NULL -- these have an offset, not a line (R31)
              AND NOT EXISTS (SELECT 1 FROM clock_hop_reading AS r
                              WHERE r.hop_id = h.id AND r.kind = 'outlier' AND r.snapshot_id = a.snapshot_id)
              AND a.id NOT IN (SELECT id FROM near)
              AND NOT EXISTS (SELECT 1 FROM clock_snapshot AS e
                              JOIN clock_snapshot AS t ON t.snapshot_id = e.snapshot_id
                               AND (t.machine_id, t.clock_id, t.seq_id) = (h.to_machine_id, h.to_clock_id, h.to_seq_id)
                              WHERE (e.machine_id, e.clock_id, e.seq_id) = (h.machine_id, h.clock_id, h.seq_id)
                                AND e.source = h.source AND e.clock_value = a.clock_value
                                AND e.snapshot_id < a.snapshot_id)";
        trace.conn.execute_batch(used).unwrap();
        compared += trace.count("SELECT count(*) FROM used");
        let off =
            "SELECT * FROM used WHERE to_boottime_linear(clock_id, seq_id, a, machine_id) IS NOT b";
        assert_eq!(trace.rows(off), Vec::<Vec<String>>::new(), "{}", file.display());
    }
    assert!(compared > 100, "{compared}");
}

#[test]
fn r1_a_counter_whose_unit_nobody_wrote_down_is_converted_by_its_rate() {
    let trace = Imported::new("system.pftrace", &[]);
    let hop = trace.rows(
        "SELECT round(nominal_rate, 4) = 0.3852, steps, outliers, worst_error_ns < 2500, worst_error_nearest_ns > 1e9
         FROM clock_hop WHERE from_clock = 'TSC'",
    );
    assert_eq!(hop, [["1", "0", "0", "1", "1"]]);
}

#[test]
fn r7_explain_shows_the_readings_around_the_rate_and_the_error_of_every_hop() {
    let trace = data("multihop.pftrace");
    let trace = trace.to_str().unwrap();
    let asked = ["explain", trace, "--clock", "64@2", "--ts", "2500", "--conversion"];
    let linear = answer(&[&asked[..], &["linear"]].concat());
    assert_eq!(
        linear,
        "\
64@2 2500 → MONOTONIC 2675 ± 2501 ns
  1.500 µs after snapshot 0: 64@2 1000 = MONOTONIC 1100
  500 ns before snapshot 2: 64@2 3000 = MONOTONIC 3200
  MONOTONIC runs 50000.000 ppm faster, between them
MONOTONIC 2675 → BOOTTIME 7675 ± 1500 ns
  1.475 µs after snapshot 1: MONOTONIC 1200 = BOOTTIME 5200
  1.325 µs before snapshot 3: MONOTONIC 4000 = BOOTTIME 9000
  BOOTTIME runs as fast, between them
  BOOTTIME is 5000 ns ahead of MONOTONIC, by all snapshots without a step between them
64@2 2500 is BOOTTIME 7675 ns ± 4001 ns
"
    );
    let nearest = answer(&[&asked[..], &["nearest"]].concat());
    assert!(
        nearest.ends_with(
            "64@2 2500 is BOOTTIME 6600 ns (nearest; by the clocks' rate 7675 ± 4001)\n"
        ),
        "{nearest}"
    );
    // Without an option, the conversion of the database counts.
    assert_eq!(answer(&asked[..6]), nearest);
    let place = Place::new();
    let database = place.path("linear.db");
    let said = import(trace.as_ref(), &database, &["--conversion", "linear"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let by_default = [&["explain", database.to_str().unwrap()], &asked[2..6]].concat();
    assert_eq!(answer(&by_default), linear);

    let dst = data("dst.pftrace");
    let refused = ["explain", dst.to_str().unwrap(), "--clock", "REALTIME", "--ts", "11"];
    let refused = run(&[&refused[..], &["--conversion", "linear"]].concat());
    assert!(refused.stdout.starts_with("REALTIME 11 is unresolved: non_monotonic\n"));
}

#[test]
fn r7_explain_tells_of_a_time_beyond_64_bits() {
    // BOOTTIME is 5 µs ahead.
    let trace = data("multihop.pftrace");
    let asked = ["explain", trace.to_str().unwrap(), "--clock", "MONOTONIC"];
    let far = ["--ts", "9223372036854775000", "--conversion"];
    let linear = answer(&[&asked[..], &far, &["linear"]].concat());
    assert!(linear.contains("→ BOOTTIME beyond 64 bits"), "{linear}");
    assert!(linear.contains("MONOTONIC 9223372036854775000 is unresolved: overflow\n"), "{linear}");
    // A clock has the same facts with either conversion.
    let same = ["explain", trace.to_str().unwrap(), "--clock", "BOOTTIME", "--ts", "7"];
    let same = answer(&[&same[..], &["--conversion", "linear"]].concat());
    assert_eq!(same, "BOOTTIME 7 is BOOTTIME 7 ns\n");
}

#[test]
fn r7_explain_ends_where_the_function_does() {
    let trace = Imported::new("sdk.pftrace", &[]);
    timebase_resolver::sql::register(&trace.conn).unwrap();
    let hops = "
        SELECT p.id, to_boottime_linear(p.clock_id, p.seq_id, p.clock_ts) AS called,
               (SELECT value_out FROM clock_path_linear(p.clock_id, p.seq_id, p.clock_ts)
                ORDER BY step DESC LIMIT 1) AS walked
        FROM packet AS p WHERE p.clock_ts IS NOT NULL AND p.clock_id <> 6 AND called IS NOT walked";
    assert_eq!(rows(&trace.conn, hops), Vec::<Vec<String>>::new());
}
