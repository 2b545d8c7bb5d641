//! Rule D2: what could not be placed when it was read is tried once more, with
//! all snapshots. It is read back from the database, a stretch at a time, so
//! that nothing has to be kept in memory for it.

use std::collections::BTreeMap;

use rusqlite::{Connection, Row, params};
use timebase_resolver::{Clock, ClockId, MachineId, Reading, SeqId, Source, Unresolved};

use crate::clocks::Clocks;
use crate::decoder::Decoder;

const ROWS: usize = 4096;

/// Retries snapshots and packets.
pub(crate) fn retry(conn: &Connection, decoder: &mut Decoder) -> rusqlite::Result<()> {
    if decoder.counters.snapshots_to_retry > 0 {
        snapshots(conn, decoder)?;
    }
    if decoder.counters.packets_to_retry > 0 {
        packets(conn, decoder)?;
    }
    Ok(())
}

/// How many packets could not be placed, by reason.
pub(crate) fn unresolved(conn: &Connection) -> rusqlite::Result<BTreeMap<&'static str, u64>> {
    by_reason(
        conn,
        "SELECT unresolved, count(*) FROM packet WHERE unresolved IS NOT NULL GROUP BY 1",
    )
}

/// Counts by reason (rule V7), as a query tells them.
pub(crate) fn by_reason(
    conn: &Connection,
    query: &str,
) -> rusqlite::Result<BTreeMap<&'static str, u64>> {
    let mut statement = conn.prepare(query)?;
    let rows = statement.query_map([], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?))
    })?;
    let mut counts = BTreeMap::new();
    for row in rows {
        let (code, count) = row?;
        if let Some(reason) = Unresolved::from_code(&code) {
            counts.insert(reason.code(), count.unsigned_abs());
        }
    }
    Ok(counts)
}

fn clock_at(row: &Row<'_>, first: usize) -> rusqlite::Result<Clock> {
    let machine = MachineId(row.get(first)?);
    Ok(Clock::new(
        machine,
        ClockId(row.get(first + 1)?),
        SeqId(row.get(first + 2)?),
    ))
}

/// A packet that waits for a snapshot.
struct Waiting {
    id: i64,
    clock: Clock,
    seq_id: u32,
    clock_ts: Option<i64>,
    was_unknown: bool,
}

fn packets(conn: &Connection, decoder: &mut Decoder) -> rusqlite::Result<()> {
    // A reading that overflows by itself has no clock_ts, and never fits.
    let mut select = conn.prepare(
        "SELECT id, machine_id, clock_id, seq_id, clock_ts, unresolved FROM packet \
         WHERE id > ?1 AND unresolved IS NOT NULL AND clock_id IS NOT NULL \
           AND type IS NOT 'clock_snapshot' \
           AND NOT (unresolved = 'overflow' AND clock_ts IS NULL) ORDER BY id",
    )?;
    let mut update =
        conn.prepare("UPDATE packet SET ts = ?2, clock_ts = ?3, unresolved = ?4 WHERE id = ?1")?;
    let mut last = -1i64;
    loop {
        let mut waiting = Vec::new();
        let mut rows = select.query([last])?;
        while let Some(row) = rows.next()? {
            let reason: String = row.get(5)?;
            let reason = Unresolved::from_code(&reason);
            if !reason.is_some_and(Unresolved::may_resolve_later) {
                continue;
            }
            waiting.push(Waiting {
                id: row.get(0)?,
                clock: clock_at(row, 1)?,
                seq_id: row.get(3)?,
                clock_ts: row.get(4)?,
                was_unknown: reason == Some(Unresolved::UnknownClock),
            });
            if waiting.len() == ROWS {
                break;
            }
        }
        drop(rows);
        let Some(end) = waiting.last() else {
            return Ok(());
        };
        last = end.id;
        for packet in &waiting {
            let (clock_ts, result) = resolve(&mut decoder.clocks, packet);
            if let Ok(ts) = result {
                let machine = packet.clock.machine.0;
                let sequence = decoder.sequences.find(machine, packet.seq_id);
                decoder.sequences.get(sequence).saw(ts);
                decoder.counters.packets_on_trace_time += 1;
            }
            let reason = result.err().map(|reason| reason.code());
            update.execute(params![packet.id, result.ok(), clock_ts, reason])?;
        }
    }
}

/// Resolves a packet with the clock and the reading it had when it was read.
fn resolve(clocks: &mut Clocks, packet: &Waiting) -> (Option<i64>, Result<i64, Unresolved>) {
    let domain = clocks.graph.domain(packet.clock);
    let unit = domain.map_or(1, |domain| domain.unit);
    if packet.was_unknown && domain.is_some_and(|domain| domain.incremental) {
        // It was a delta, read before the first snapshot of its clock (V5).
        return (None, Err(Unresolved::NoBase));
    }
    let result = match packet.clock_ts {
        Some(ticks) => clocks.resolve(packet.clock, ticks, unit),
        None => Err(clocks.overflow(packet.clock)),
    };
    (packet.clock_ts, result)
}

fn snapshots(conn: &Connection, decoder: &mut Decoder) -> rusqlite::Result<()> {
    // A snapshot has times for all of its readings or for none (rule N6).
    let mut select = conn.prepare(
        "SELECT machine_id, clock_id, seq_id, clock_value, unit_multiplier_ns, is_incremental, \
                id, packet_id, snapshot_id, source \
         FROM clock_snapshot WHERE snapshot_id = \
           (SELECT min(snapshot_id) FROM clock_snapshot WHERE ts IS NULL AND snapshot_id > ?1) \
         ORDER BY id",
    )?;
    conn.execute_batch(
        "CREATE INDEX unplaced ON clock_snapshot (snapshot_id) WHERE ts IS NULL;
         CREATE INDEX snapshots ON clock_snapshot (snapshot_id);",
    )?;
    let mut set_reading = conn.prepare("UPDATE clock_snapshot SET ts = ?2 WHERE id = ?1")?;
    let mut set_packet =
        conn.prepare("UPDATE packet SET ts = ?2, unresolved = ?3 WHERE id = ?1")?;
    let mut sequence_of = conn.prepare("SELECT machine_id, seq_id FROM packet WHERE id = ?1")?;
    let mut last = -1i64;
    loop {
        let mut readings = Vec::new();
        let mut ids: Vec<i64> = Vec::new();
        let (mut packet_id, mut source) = (0i64, 0i64);
        let mut rows = select.query([last])?;
        while let Some(row) = rows.next()? {
            readings.push(Reading {
                clock: clock_at(row, 0)?,
                value: row.get(3)?,
                unit: row.get(4)?,
                incremental: row.get(5)?,
            });
            ids.push(row.get(6)?);
            packet_id = row.get(7)?;
            last = row.get(8)?;
            source = row.get(9)?;
        }
        drop(rows);
        if ids.is_empty() {
            break;
        }
        let (readings, unresolved) = decoder.clocks.place_readings(readings);
        for (id, (_, ts)) in ids.iter().zip(&readings) {
            set_reading.execute(params![id, ts])?;
        }
        // A pair of rule I1 says nothing of its packet (rule D3).
        if Source::from_number(source) == Some(Source::Bundle) {
            continue;
        }
        let ts = readings.first().and_then(|&(_, ts)| ts);
        let reason = unresolved
            .filter(|_| ts.is_none())
            .map(|reason| reason.code());
        set_packet.execute(params![packet_id, ts, reason])?;
        if let Some(ts) = ts {
            decoder.counters.packets_on_trace_time += 1;
            let (machine, seq) =
                sequence_of.query_row([packet_id], |row| Ok((row.get(0)?, row.get(1)?)))?;
            let sequence = decoder.sequences.find(machine, seq);
            decoder.sequences.get(sequence).saw(ts);
        }
    }
    drop(select);
    conn.execute_batch("DROP INDEX unplaced; DROP INDEX snapshots;")
}
