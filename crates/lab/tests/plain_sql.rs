//! The view `packet_interval`, with which errors are measured, must return the same as a plain
//! join.

#![allow(clippy::unwrap_used)]

use std::fs::File;

use rusqlite::Connection;
use timebase_import::{Monitor, Options, Source, import};
use timebase_lab::accuracy::Case;

/// Packets for which a join returns another time or another error.
const JOIN: &str = "
    SELECT count(*), sum(is_elsewhere), sum(abs(stated - error) > 1)
    FROM (
      SELECT i.ts <> clock_ts + offset + CAST(round((clock_ts - anchor) * slope) AS INTEGER)
               AS is_elsewhere,
             i.latest - i.ts AS stated,
             error + (clock_ts - anchor) * error_slope AS error
      FROM (
        SELECT p.id, p.clock_ts, l.*, iif(l.kind = 'before', l.end_value, l.start_value) AS anchor
        FROM packet AS p
        JOIN clock_mapping_linear AS l
          ON l.clock_id = p.clock_id AND l.to_clock_id = 6
         AND (l.start_value IS NULL OR l.start_value <= p.clock_ts)
         AND (l.end_value IS NULL OR p.clock_ts < l.end_value)
        WHERE p.timestamp IS NOT NULL
      ) AS p
      JOIN packet_interval AS i ON i.id = p.id
    )";

#[test]
fn r6_a_plain_join_gives_the_times_and_errors_of_packets() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    for case in Case::all() {
        let (trace, database) = (directory.join("t.pftrace"), directory.join("t.db"));
        let settings = case.records(2000);
        timebase_lab::synth::write(&settings, &mut File::create(&trace).unwrap()).unwrap();
        let mut options = Options::default();
        options.overwrite = true;
        import(&[Source::File(trace)], &database, &options, &Monitor::default()).unwrap();
        let conn = Connection::open(&database).unwrap();
        let found: (i64, i64, i64) =
            conn.query_row(JOIN, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
        assert_eq!(found, (2000, 0, 0), "{}", case.name);
    }
}
