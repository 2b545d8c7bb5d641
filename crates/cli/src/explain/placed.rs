//! Explains the time in a packet's row if all snapshots of the trace give another time.
//!
//! # Design
//!
//! A packet is placed by the snapshots before it (rule D1), and the SQL functions use the whole
//! trace. If the two differ, the functions run again, in a database in memory that has only the
//! snapshots before the packet. The alternative was to leave out snapshots in the functions. But
//! each function would need another argument, which nobody else uses.

use std::io::Write;

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, params, params_from_iter};
use timebase_resolver::{Clock, ClockId, MachineId, SeqId, Unresolved};

use super::chosen::with_file;
use super::hops::write_folded;
use super::{Answer, Asked, Hops, trace_time_machine};
use crate::flags::Conversion;

/// The row of a packet.
pub struct Placed {
    pub packet: i64,
    /// Its trace time.
    pub ts: Option<i64>,
    /// The reason why it has none.
    pub unresolved: Option<String>,
}

impl Placed {
    /// Whether the row has the result of a conversion.
    pub fn is(&self, result: &Result<i64, String>) -> bool {
        match result {
            Ok(value) => self.ts == Some(*value),
            Err(reason) => self.ts.is_none() && self.unresolved.as_ref() == Some(reason),
        }
    }
}

/// The clock of `packet.ts`.
pub fn trace_time(database: &Connection) -> anyhow::Result<Clock> {
    let sql = "SELECT value FROM metadata WHERE name = 'trace_time_clock_id'";
    let id = database.query_row(sql, [], |row| row.get::<_, Option<u32>>(0));
    let id = id.optional()?.flatten().map_or(ClockId::BOOTTIME, ClockId);
    let machine: MachineId = trace_time_machine(database)?;
    // The clock of a JSON trace belongs to its file, and the first file has trace time.
    let file: Option<u32> = match id {
        ClockId::TRACE_FILE => database.query_row(
            "SELECT min(trace_file_id) FROM clock WHERE machine_id = ?1 AND clock_id = ?2",
            [machine.0, id.0],
            |row| row.get(0),
        )?,
        _ => None,
    };
    Ok(with_file(Clock::new(machine, id, SeqId(0)), file))
}

/// The data about a packet whose row differs from the result with all snapshots of the trace.
pub struct Contradiction<'a> {
    pub database: &'a Connection,
    pub row: &'a Placed,
    /// The result with all snapshots.
    pub of_all: &'a Answer,
    /// The reading, in nanoseconds.
    pub value: i128,
}

impl Contradiction<'_> {
    /// Writes the row's time, the reason for it, and the result of the functions.
    pub fn write(
        &self,
        asked: &Asked,
        conversion: Conversion,
        width: usize,
        out: &mut dyn Write,
    ) -> anyhow::Result<()> {
        match self.row.ts {
            Some(ts) => {
                let then = match conversion {
                    Conversion::Nearest => self.by_then(asked, ts)?,
                    Conversion::Linear => None,
                };
                let mut how = match &then {
                    Some(answer) => {
                        answer.write_hops(self.database, self.value, width, out)?;
                        "(nearest, by the snapshots until then".to_owned()
                    }
                    None if ts == asked.ts => "(taken as trace time".to_owned(),
                    None => "(as the import placed it".to_owned(),
                };
                if let Some(rate) = self.of_all.rate() {
                    how += &format!("; {rate}");
                }
                asked.write_answer(ts, Some(how + ")"), width, out)?;
            }
            None => {
                let reason = self.row.unresolved.clone().unwrap_or_default();
                writeln!(out, "{} {} is unresolved: {reason}", asked.from, asked.ts)?;
                if let Some(words) = Unresolved::from_code(&reason) {
                    writeln!(out, "{words}")?;
                }
            }
        }
        let of_all = match &self.of_all.result {
            Ok(value) => format!("{} {value}", asked.to),
            Err(reason) => match Unresolved::from_code(reason) {
                Some(words) => format!("NULL, {reason}: {words}"),
                None => format!("NULL, {reason}"),
            },
        };
        let line = [
            "for the SQL functions, which use all snapshots of the trace, it is".to_owned(),
            of_all,
        ];
        write_folded(&line, "", width, out)?;
        self.write_turn(asked, width, out)
    }

    /// The result with the snapshots before the packet, if it is the row's time.
    fn by_then(&self, asked: &Asked, ts: i64) -> anyhow::Result<Option<Answer>> {
        let snapshots = until(self.database, self.row.packet)?;
        let result = asked.nearest(&snapshots)?;
        if result != Ok(ts) {
            return Ok(None);
        }
        Ok(Some(Answer {
            result,
            hops: Hops::Nearest(asked.hops(&snapshots, self.database)?),
            by_rate: None,
            is_bounded: false,
        }))
    }

    /// Writes that the clock wrapped or restarted around the packet, if it did.
    fn write_turn(&self, asked: &Asked, width: usize, out: &mut dyn Write) -> anyhow::Result<()> {
        let Clock { machine, id, seq, .. } = asked.from;
        let sql = "SELECT kind, before_packet_id, packet_id FROM clock_turn
            WHERE machine_id = ?1 AND clock_id = ?2 AND seq_id = ?3 AND ?4 >= before_packet_id
              AND trace_file_id IS (SELECT trace_file_id FROM packet_clock WHERE packet_id = ?4)
            ORDER BY ?4 > packet_id, id DESC LIMIT 1";
        let asked_of = params![machine.0, id.0, seq.0, self.row.packet];
        let found = self
            .database
            .query_row(sql, asked_of, |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
        let found: Option<(String, Option<i64>, Option<i64>)> = found.optional()?;
        if let Some((kind, Some(before), Some(after))) = found {
            let did = match kind.as_str() {
                "wrap" => "wrapped",
                _ => "restarted",
            };
            let line = [
                format!(
                    "{} {did} between the snapshots in packets {before} and {after};",
                    asked.from
                ),
                "'timebase doctor' shows the cost".to_owned(),
            ];
            write_folded(&line, "", width, out)?;
        }
        Ok(())
    }
}

/// A database with the snapshots before a packet, and the snapshots that no packet has.
fn until(database: &Connection, packet: i64) -> anyhow::Result<Connection> {
    let snapshots = Connection::open_in_memory()?;
    let tables = [
        (
            "clock_snapshot",
            "SELECT * FROM clock_snapshot WHERE packet_id < ?1 OR packet_id IS NULL ORDER BY id",
        ),
        ("trace_file", "SELECT * FROM trace_file WHERE ?1 IS NOT NULL"),
        ("part", "SELECT * FROM part WHERE ?1 IS NOT NULL"),
        ("machine", "SELECT * FROM machine WHERE ?1 IS NOT NULL"),
        (
            "metadata",
            "SELECT name, value FROM metadata
             WHERE name IN ('trace_time_machine_id', 'clock_snapshot_version') AND ?1 IS NOT NULL",
        ),
    ];
    for (table, sql) in tables {
        let mut statement = database.prepare(sql)?;
        let columns: Vec<String> =
            statement.column_names().map(|name| format!("\"{name}\"")).collect();
        let columns = columns.join(", ");
        snapshots.execute_batch(&format!("CREATE TABLE {table} ({columns})"))?;
        let count = statement.column_count();
        let places: Vec<String> = (1..=count).map(|place| format!("?{place}")).collect();
        let mut insert =
            snapshots.prepare(&format!("INSERT INTO {table} VALUES ({})", places.join(", ")))?;
        let mut rows = statement.query([packet])?;
        while let Some(row) = rows.next()? {
            let cells = (0..count).map(|column| row.get::<_, Value>(column));
            let cells: Vec<Value> = cells.collect::<rusqlite::Result<_>>()?;
            insert.execute(params_from_iter(cells))?;
        }
    }
    timebase_resolver::sql::register(&snapshots)?;
    Ok(snapshots)
}
