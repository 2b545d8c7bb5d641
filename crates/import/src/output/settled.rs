//! Changes the rows of packets, snapshots and events that waited, after they have got their time or
//! their final reason. SQLite has the database again by then.

use std::io;

use rusqlite::{Connection, Statement, params};
use timebase_resolver::Unresolved;
use timebase_schema::tables;
use timebase_store::sort::Scratch;

use crate::compact::{Compact, Put, Take};
use crate::error::WriteError;
use crate::place::{EventRow, Settled, TraceTime};
use crate::spill::SpillQueue;

/// The rows that have to change.
pub(crate) struct SettledRows {
    queue: SpillQueue,
    record: Vec<u8>,
}

const READING: u64 = 0;
const SNAPSHOT: u64 = 1;
const PACKET: u64 = 2;
const EVENT: u64 = 3;

impl SettledRows {
    /// Records that do not fit memory go to `scratch`.
    pub fn new(scratch: &Scratch) -> Self {
        SettledRows { queue: SpillQueue::new(scratch), record: Vec::new() }
    }

    /// Remembers the result of a waiting packet, snapshot or event.
    pub fn push(&mut self, settled: &Settled<'_>) {
        self.record.clear();
        let mut put = Put(&mut self.record);
        match settled {
            Settled::Reading { id, ts } => {
                put.natural(READING).integer(*id).integer(ts.0);
            }
            Settled::Snapshot { id, result, .. } => {
                put.natural(SNAPSHOT).integer(*id);
                put_result(&mut put, *result);
            }
            Settled::Packet { id, clock_ts, result, .. } => {
                put.natural(PACKET).integer(*id).optional(clock_ts.map(|ticks| ticks.0));
                put_result(&mut put, result.map_err(Some));
            }
            // It has its own row, or none.
            Settled::Clock { .. } | Settled::UntimedPacket(_) | Settled::Untimed(_) => return,
            Settled::Event(event) => {
                put.natural(EVENT);
                event.row.put(&mut put);
                put.optional(event.ticks.map(|ticks| ticks.0));
                put_result(&mut put, event.result.map_err(Some));
            }
        }
        self.queue.push(&self.record);
    }

    /// Changes the rows.
    pub fn apply(self, conn: &Connection) -> Result<(), WriteError> {
        let mut updates = Updates::prepare(conn)?;
        self.queue.drain(|record| updates.apply(conn, record))
    }
}

/// The statements that change rows.
struct Updates<'c> {
    reading: Statement<'c>,
    snapshot: Statement<'c>,
    packet: Statement<'c>,
    /// A statement for each table of events, by the table's number.
    events: Vec<Option<Statement<'c>>>,
}

impl<'c> Updates<'c> {
    fn prepare(conn: &'c Connection) -> rusqlite::Result<Self> {
        Ok(Updates {
            reading: conn.prepare("UPDATE clock_snapshot SET ts = ?2 WHERE id = ?1")?,
            snapshot: conn
                .prepare("UPDATE packet_record SET ts = ?2, unresolved = ?3 WHERE id = ?1")?,
            packet: conn.prepare(
                "UPDATE packet_record SET ts = ?2, unresolved = ?3, clock_ts = ?4 WHERE id = ?1",
            )?,
            events: tables::ALL.iter().map(|_| None).collect(),
        })
    }

    fn apply(&mut self, conn: &'c Connection, record: &[u8]) -> Result<(), WriteError> {
        let mut take = Take(record);
        match take.natural()? {
            READING => {
                let (id, ts) = (take.integer()?, take.integer()?);
                self.reading.execute([id, ts])?;
            }
            SNAPSHOT => {
                let id = take.integer()?;
                let (ts, reason) = columns(take_result(&mut take)?);
                self.snapshot.execute(params![id, ts, reason])?;
            }
            PACKET => {
                let (id, clock_ts) = (take.integer()?, take.optional()?);
                let (ts, reason) = columns(take_result(&mut take)?);
                self.packet.execute(params![id, ts, reason, clock_ts])?;
            }
            _ => {
                let row = EventRow::take(&mut take)?;
                let ticks = take.optional()?;
                self.event(conn, &row, ticks, take_result(&mut take)?)?;
            }
        }
        Ok(())
    }

    /// A table of events has a column for the reason why there is no time; or it has the recorded
    /// timestamp only if the timestamp is not the time.
    fn event(
        &mut self,
        conn: &'c Connection,
        row: &EventRow,
        ticks: Option<i64>,
        result: Outcome,
    ) -> rusqlite::Result<()> {
        let EventRow { table, id, .. } = row;
        let has_reason = table.columns.contains(&"unresolved");
        let update = match &mut self.events[table.number] {
            Some(update) => update,
            none => {
                let column = if has_reason { "unresolved" } else { "timestamp" };
                let name = table.name;
                let sql = format!("UPDATE {name} SET ts = ?2, {column} = ?3 WHERE id = ?1");
                none.insert(conn.prepare(&sql)?)
            }
        };
        let (ts, reason) = columns(result);
        if has_reason {
            update.execute(params![id, ts, reason])?;
        } else if ts.is_some() {
            update.execute(params![id, ts, ticks.filter(|_| ticks != ts)])?;
        }
        Ok(())
    }
}

/// A time, or the reason why there is none; or neither if there is nothing to say.
type Outcome = Result<TraceTime, Option<Unresolved>>;

fn columns(result: Outcome) -> (Option<i64>, Option<&'static str>) {
    match result {
        Ok(TraceTime(ts)) => (Some(ts), None),
        Err(reason) => (None, reason.map(Unresolved::code)),
    }
}

fn put_result(put: &mut Put<'_>, result: Outcome) {
    result.ok().put(put);
    result.err().flatten().put(put);
}

fn take_result(take: &mut Take<'_>) -> io::Result<Outcome> {
    let ts: Option<TraceTime> = Compact::take(take)?;
    let reason: Option<Unresolved> = Compact::take(take)?;
    Ok(ts.ok_or(reason))
}
