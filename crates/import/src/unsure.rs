//! For the summary: the clocks that put events at wrong times, and how large the error is.
//!
//! # Design
//!
//! `timebase doctor` says more about these errors, and must not contradict the summary. So for a small trace, the
//! summary uses the SQL of the doctor's checks, which looks at every packet: 3 µs each. But an import must not take
//! longer for its summary. So for a trace of more than [`LOOKED_AT`] packets, the summary reads the tables of the
//! clocks, which are small. They have the error of the nearest neighbour between two snapshots, whether an event is
//! there or not. They do not have the order of events.
//!
//! The alternative was to look at a part of the packets of a large trace, and to extrapolate: that takes as long, and
//! the numbers differ from the doctor's.

use std::cmp::Reverse;

use rusqlite::{Connection, Row};
use timebase_schema::{CHECKS, CHECKS_CLOCK, CHECKS_WORST, Check, with_parts};

use crate::options::Conversion;
use crate::summary::{ClockCheck, ClockFault};

/// The largest number of packets of which every one is looked at.
const LOOKED_AT: u64 = 10_000;

/// The reported columns of a statement about clocks. For an error that is not larger than this limit, `doctor` has an
/// info and not a warning.
const TOLD: &str = "
    SELECT clock, check_name, ppm, worst_ns, pairs, {worst}
    FROM (SELECT clock, check_name, ppm, CAST(round(worst) AS INTEGER) AS worst_ns, pairs FROM ({asked})) AS f
    WHERE worst_ns > 100000";

/// The clocks that wrapped or restarted.
const TURNED: &str = "
    SELECT {clock} AS clock, iif(kind = 'wrap', 'clock_wrapped', 'clock_restarted') AS check_name, NULL AS ppm, max(worst_ns) AS worst,
           NULL AS pairs
    FROM (SELECT *, coalesce(trace_file_id, -1) AS file FROM clock_turn) AS f
    GROUP BY machine_id, clock_id, seq_id, file, kind";

/// The result of the check `drift`.
const DRIFTING: &str =
    "SELECT {clock} AS clock, 'drift' AS check_name, ppm, worst, pairs FROM drifting AS f";

/// The result of another check.
const FOUND: &str = "
    SELECT coalesce(subject, {clock}) AS clock, '{name}' AS check_name, NULL AS ppm, worst_ns AS worst, NULL AS pairs FROM ({check}) AS f";

/// The errors in the tables of clocks, for clocks with events. It leaves out coarse clocks, which are off by their
/// ticks, and clocks of other machines, which have their own check.
const BETWEEN_SNAPSHOTS: &str = "
    SELECT {clock} AS clock, iif(max(is_drift) = min(is_drift) AND is_drift, 'drift', 'clock_not_nanoseconds') AS check_name,
           iif(min(is_drift), max(ppm), NULL) AS ppm, sum(worst) AS worst, NULL AS pairs
    FROM (
      SELECT w.machine_id, w.clock_id, w.seq_id, w.file, h.nominal_rate = 1 AS is_drift, abs(h.drift_ppm) AS ppm,
             h.worst_error_nearest_ns AS worst
      FROM hop_clock AS w JOIN clock_hop AS h ON h.id = w.hop_id
      WHERE h.source <> 'remote_sync'
    ) AS f
    JOIN clock_record AS c USING (machine_id, clock_id, seq_id, file)
    WHERE clock_id NOT IN (2, 4)
      AND (c.packets > 0
           OR clock_id = 1 AND EXISTS (SELECT * FROM android_log_record)
           OR (machine_id, clock_id, seq_id) IN (SELECT machine_id, clock_id, seq_id FROM clock_snapshot WHERE source = 'ftrace'))
    GROUP BY machine_id, clock_id, seq_id, file";

/// A statement about clocks.
struct Question {
    sql: Asked,
    /// A query for the rows without which `sql` returns nothing. SQLite takes longer to read the text of `sql` than
    /// most traces take for all other steps at the end of their import.
    needs: &'static str,
}

enum Asked {
    Table(&'static str),
    Check(&'static Check),
}

/// The statements for a trace of so many packets.
fn questions(packets: u64) -> impl Iterator<Item = Question> {
    let is_small = packets <= LOOKED_AT;
    let tables = [
        (TURNED, "SELECT * FROM clock_turn"),
        match is_small {
            true => (
                DRIFTING,
                "SELECT route_id FROM clock_line WHERE slope <> 0 UNION ALL SELECT id FROM clock_hop WHERE worst_error_nearest_ns > 1000",
            ),
            false => (BETWEEN_SNAPSHOTS, "SELECT * FROM clock_hop"),
        },
    ];
    let checks = [
        ("machine_drift", true, "SELECT * FROM remote_clock_sync"),
        ("clock_not_nanoseconds", is_small, "SELECT * FROM clock_hop WHERE nominal_rate <> 1"),
    ];
    let tables = tables.map(|(sql, needs)| (Asked::Table(sql), needs));
    let checks = checks.into_iter().filter_map(|(name, is_asked, needs)| {
        let check = CHECKS.iter().find(|check| is_asked && check.name == name)?;
        Some((Asked::Check(check), needs))
    });
    let all = tables.into_iter().chain(checks);
    all.map(|(sql, needs)| Question { sql, needs })
}

/// The clocks that put events at wrong times, the worst first.
pub(crate) fn clock_faults(
    conn: &Connection,
    packets: u64,
    conversion: Conversion,
) -> rusqlite::Result<Vec<ClockFault>> {
    // The linear conversion has none of these errors.
    if conversion == Conversion::Linear {
        return Ok(Vec::new());
    }
    // The text of a check has its own braces, so it is inserted last.
    let clocks = |sql: &str| sql.replace("{clock}", CHECKS_CLOCK);
    let told = TOLD.replace("{worst}", CHECKS_WORST);
    let mut faults = Vec::new();
    for Question { sql, needs } in questions(packets) {
        let is_needed = format!("SELECT EXISTS ({needs})");
        if !conn.query_row(&is_needed, [], |row| row.get(0))? {
            continue;
        }
        let asked = match sql {
            Asked::Table(sql) => clocks(sql),
            Asked::Check(Check { name, sql, .. }) => {
                let found = clocks(FOUND).replace("{name}", name);
                found.replace("{check}", sql)
            }
        };
        let told = told.replace("{asked}", &asked);
        let mut statement = conn.prepare(&with_parts(&told))?;
        for fault in statement.query_map([], fault)? {
            faults.extend(fault?);
        }
    }
    faults.sort_by_key(|fault| Reverse(fault.worst_ns));
    Ok(faults)
}

fn fault(row: &Row<'_>) -> rusqlite::Result<Option<ClockFault>> {
    let Some(check) = ClockCheck::of_name(row.get_ref(1)?.as_str()?) else {
        return Ok(None);
    };
    Ok(Some(ClockFault {
        clock: row.get(0)?,
        check,
        ppm: row.get(2)?,
        worst_ns: row.get::<_, i64>(3)?.unsigned_abs(),
        worst: row.get(5)?,
        pairs: row.get::<_, Option<i64>>(4)?.map(i64::unsigned_abs),
    }))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    /// The thousands of instructions that SQLite's virtual machine needs for so many clocks without packets.
    fn cost(clocks: u32) -> u64 {
        let mut conn = Connection::open_in_memory().unwrap();
        let sql = format!(
            "{}
             CREATE TABLE n AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {clocks}) SELECT i FROM n;
             INSERT INTO clock_record SELECT 0, 64, i, 0, NULL, 'sequence', 1, 0, 1, 2, 0, 9, 0, NULL, 1 FROM n;
             INSERT INTO clock_snapshot (ts, clock_id, seq_id, clock_value, snapshot_id, source) SELECT 0, 64, i, 5, i, 'writer' FROM n;
             INSERT INTO clock_hop SELECT i, 0, 64, i, 0, 0, 6, 0, NULL, '64@' || i, 'BOOTTIME', 'writer', 2, NULL, 1, 50, NULL, 0, 0, 0, 0, 0, 9, NULL FROM n;",
            timebase_schema::TABLES
        );
        conn.execute_batch(&sql).unwrap();
        let steps = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&steps);
        conn.progress_handler(
            1000,
            Some(move || {
                counted.fetch_add(1, Ordering::Relaxed);
                false
            }),
        )
        .unwrap();
        let faults = clock_faults(&conn, LOOKED_AT + 1, Conversion::Nearest).unwrap();
        assert!(faults.is_empty(), "{faults:?}");
        steps.load(Ordering::Relaxed)
    }

    #[test]
    fn four_times_the_clocks_cost_four_times_as_much() {
        let (some, more) = (cost(1000), cost(4000));
        assert!(some > 10 && more < 6 * some, "{some} and {more} thousand steps");
    }
}
