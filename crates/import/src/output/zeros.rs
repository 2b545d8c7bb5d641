//! Snapshots whose clocks all read 0, because nobody read the clocks (rule FP1).
//!
//! # Design
//!
//! A simulation may begin at 0, so the snapshot counts only if it reads REALTIME, which is 0 in 1970, or if no timestamp of
//! its part is near 0. That is known at the end, so the log is written there, by SQL over the tables, and only if a snapshot
//! of zeros came. The alternative was to note for each part whether a timestamp is near 0. Then every packet would pay for a
//! mistake that few writers make.

use rusqlite::Connection;

/// Writes a line of the log for each such snapshot.
pub(crate) fn log(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute_batch(
        "INSERT INTO import_log (severity, code, packet_id, offset, message, trace_file_id, machine_id)
         SELECT 'warning', 'snapshot_of_zeros', s.packet_id, p.offset,
                printf('all %d clocks of the snapshot read 0: its writer did not read them', s.clocks), c.trace_file_id, c.machine_id
         FROM (
           SELECT packet_id, count(*) AS clocks, max(clock_id = 1) AS has_realtime
           FROM clock_snapshot
           WHERE source IN ('service', 'writer')
           GROUP BY snapshot_id
           HAVING count(*) > 1 AND min(clock_value) = 0 AND max(clock_value) = 0
         ) AS s
         CROSS JOIN packet_record AS p ON p.id = s.packet_id
         CROSS JOIN packet_common AS c ON c.id = p.common_id
         WHERE s.has_realtime
            OR NOT EXISTS (
              SELECT * FROM packet_common AS o CROSS JOIN packet_record AS q ON q.common_id = o.id
              WHERE o.machine_id = c.machine_id AND o.trace_file_id = c.trace_file_id AND o.type IS NOT 'clock_snapshot'
                AND coalesce(q.ts + o.clock_offset, q.clock_ts) BETWEEN -3600000000000 AND 3600000000000
            )",
    )
}
