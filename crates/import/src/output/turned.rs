//! Finds clocks that wrapped or restarted, and packets that have a wrong time because of it: the table
//! `clock_turn`.
//!
//! # Design
//!
//! This looks at the rows after all of them are written, because only then the snapshots tell which clocks
//! went back. Usually no clock did, and one look at the snapshots of the possible clocks is enough. It looks
//! at packets only if a clock went back.
//!
//! The alternative was to count packets while they are read. But at that point nobody knows that a clock
//! wrapped: only the next snapshot tells it.

use std::collections::{BTreeMap, HashMap};

use rusqlite::{Connection, Row, params};
use timebase_resolver::{Clock, Source, Turn, Turns};
use timebase_schema::{Row as _, owner, tables};

use crate::options::Conversion;

/// A clock: machine, number, sequence, and the file that owns it or -1.
type Key = (i64, i64, i64, i64);

fn key(row: &Row<'_>) -> rusqlite::Result<Key> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
}

/// A reading of a clock in a snapshot.
#[derive(Debug, Clone, Copy)]
struct Taken {
    at: i64,
    value: i64,
    id: i64,
    packet: Option<i64>,
    source: u8,
}

/// The turns of a clock, with its snapshots.
struct Turned {
    turns: Turns,
    /// In the order of `turns.points`.
    packets: Vec<Option<i64>>,
    /// The points in the order of the file.
    in_file: Vec<usize>,
    unit: i64,
    cost: BTreeMap<usize, Cost>,
}

/// The cost of a turn.
#[derive(Debug, Clone, Copy, Default)]
struct Cost {
    packets: i64,
    first: Option<i64>,
    worst: i64,
}

/// Fills the table `clock_turn`.
pub(crate) fn insert(
    conn: &Connection,
    trace_time: Clock,
    conversion: Conversion,
) -> rusqlite::Result<()> {
    let went_back = went_back(conn, trace_time)?;
    if went_back.is_empty() {
        return Ok(());
    }
    let mut turned = turned(conn, trace_time, &went_back)?;
    if turned.is_empty() {
        return Ok(());
    }
    if conversion == Conversion::Nearest {
        count(conn, &mut turned)?;
    }
    let mut insert = conn.prepare(&tables::clock_turn::TABLE.insert())?;
    let mut id = 0_i64;
    for (&(machine, clock, seq, file), turned) in &turned {
        for (index, two) in turned.turns.points.windows(2).enumerate() {
            let [before, after] = two else { continue };
            let Some(turn) = after.turn else { continue };
            let kind = turn.name();
            let times = match turn {
                Turn::Wrap(times) => times,
                _ => 0,
            };
            let is_wrap = times > 0;
            let place = index + 1;
            let cost = turned.cost.get(&place).copied().unwrap_or_default();
            let packet = |place: usize| turned.packets.get(place).copied().flatten();
            let row = tables::clock_turn::Row::<&dyn rusqlite::ToSql> {
                id: &id,
                machine_id: &machine,
                clock_id: &clock,
                seq_id: &seq,
                trace_file_id: &Some(file).filter(|file| *file >= 0),
                kind: &kind,
                turns: &times,
                bits: &turned.turns.bits.filter(|_| is_wrap),
                turn_ns: &turned.turns.length().filter(|_| is_wrap),
                before_packet_id: &packet(index),
                packet_id: &packet(place),
                before_value: &before.value,
                value: &after.value,
                start_ts: &before.at,
                end_ts: &after.at,
                packets: &cost.packets,
                wrong_packet_id: &cost.first,
                worst_ns: &Some(cost.worst).filter(|_| cost.packets > 0),
            };
            insert.execute(row.cells().as_ref())?;
            id += 1;
        }
    }
    Ok(())
}

/// The clocks that read less than before in the order of the file, with their units. Clocks that people set
/// are left out. So are builtin clocks that are in order by rule N5: their snapshots are all alike.
fn went_back(conn: &Connection, trace_time: Clock) -> rusqlite::Result<HashMap<Key, i64>> {
    let mut statement = conn.prepare(
        "SELECT machine_id, clock_id, seq_id, file, unit_multiplier_ns FROM clock_record
         WHERE (NOT is_monotonic OR scope <> 'builtin') AND clock_id NOT IN (1, 2) AND snapshots > 1
           AND (machine_id, clock_id, file) <> (?1, ?2, -1)",
    )?;
    let (machine, id) = (trace_time.machine.0, trace_time.id.0);
    let rows = statement.query_map(params![machine, id], |row| Ok((key(row)?, row.get(4)?)))?;
    let units: HashMap<Key, i64> = rows.collect::<rusqlite::Result<_>>()?;
    let mut went_back = HashMap::new();
    if units.is_empty() {
        return Ok(went_back);
    }
    let mut last: HashMap<Key, i64> = HashMap::new();
    let mut statement = conn.prepare(
        "SELECT machine_id, clock_id, seq_id, coalesce(trace_file_id, -1), clock_value FROM clock_snapshot
         WHERE source NOT IN ('manifest', 'causality', 'assumed') ORDER BY id",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (key, value) = (key(row)?, row.get(4)?);
        if let Some(unit) = units.get(&key)
            && last.insert(key, value).is_some_and(|last| value < last)
        {
            went_back.insert(key, *unit);
        }
    }
    Ok(went_back)
}

/// Rules R11 to R13: the turns of these clocks, for each clock that wrapped or restarted.
fn turned(
    conn: &Connection,
    trace_time: Clock,
    went_back: &HashMap<Key, i64>,
) -> rusqlite::Result<BTreeMap<Key, Turned>> {
    let home: Key =
        (trace_time.machine.0.into(), trace_time.id.0.into(), trace_time.seq.0.into(), -1);
    let mut turned = BTreeMap::new();
    for (key, readings) in taken(conn, home, went_back)? {
        let unit = went_back.get(&key).copied().unwrap_or(1);
        if let Some(of_clock) = of_clock(readings, unit) {
            turned.insert(key, of_clock);
        }
    }
    Ok(turned)
}

/// The turns of one clock, from its readings; `None` if it neither wrapped nor restarted.
fn of_clock(mut readings: Vec<Taken>, unit: i64) -> Option<Turned> {
    let best = readings.iter().map(|reading| reading.source).min();
    readings.retain(|reading| Some(reading.source) == best);
    readings.sort_by_key(|reading| (reading.at, reading.id));
    let pairs: Vec<(i64, i64)> = readings.iter().map(|taken| (taken.at, taken.value)).collect();
    let turns = Turns::of(&pairs, unit)?;
    let mut in_file: Vec<usize> = (0..readings.len()).collect();
    in_file.sort_by_key(|place| readings.get(*place).map(|reading| reading.id));
    Some(Turned {
        turns,
        packets: readings.iter().map(|reading| reading.packet).collect(),
        in_file,
        unit,
        cost: BTreeMap::new(),
    })
}

/// The readings of these clocks, each with its time: the time of the clock `home` in its snapshot, or else
/// the earliest time of the others.
fn taken(
    conn: &Connection,
    home: Key,
    went_back: &HashMap<Key, i64>,
) -> rusqlite::Result<HashMap<Key, Vec<Taken>>> {
    let mut taken: HashMap<Key, Vec<Taken>> = HashMap::new();
    let mut together: Vec<(Key, Taken, Option<i64>)> = Vec::new();
    let mut note = |together: &mut Vec<(Key, Taken, Option<i64>)>| {
        let by_home = together.iter().find(|(key, ..)| *key == home);
        let by_home = by_home.map(|(_, taken, _)| taken.value);
        for (index, (key, reading, _)) in together.iter().enumerate() {
            let others = together.iter().enumerate().filter(|(other, _)| *other != index);
            let at = by_home.or_else(|| others.filter_map(|(_, (.., ts))| *ts).min());
            if let Some(at) = at.filter(|_| went_back.contains_key(key)) {
                taken.entry(*key).or_default().push(Taken { at, ..*reading });
            }
        }
        together.clear();
    };
    let mut statement = conn.prepare(&format!(
        "SELECT machine_id, clock_id, seq_id, coalesce(trace_file_id, -1), snapshot_id, clock_value, ts, packet_id, id, {}
         FROM clock_snapshot WHERE source NOT IN ('manifest', 'causality', 'assumed') ORDER BY id",
        Source::rank("source")
    ))?;
    let mut current: Option<i64> = None;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let snapshot = row.get(4)?;
        if current != Some(snapshot) {
            note(&mut together);
            current = Some(snapshot);
        }
        let reading = Taken {
            at: 0,
            value: row.get(5)?,
            packet: row.get(7)?,
            id: row.get(8)?,
            source: row.get(9)?,
        };
        together.push((key(row)?, reading, row.get(6)?));
    }
    note(&mut together);
    Ok(taken)
}

/// The readings of a clock so far, in the order of the file.
#[derive(Default)]
struct SoFar {
    /// The number of its snapshots so far.
    snapshots: usize,
    /// These snapshots in the order of their values: the value, and the number of the point.
    by_value: Vec<(i64, usize)>,
    /// The last reading of each sequence: its packet, and its time.
    last: HashMap<i64, (i64, i64)>,
}

/// Counts the packets that were converted by a snapshot of another life or turn. By rule V2, this is the
/// snapshot before the packet in the file with the greatest value that is not above the reading, or else with
/// the smallest value.
fn count(conn: &Connection, turned: &mut BTreeMap<Key, Turned>) -> rusqlite::Result<()> {
    let mut so_far: HashMap<Key, SoFar> = HashMap::new();
    let mut statement = conn.prepare(&format!(
        "SELECT c.machine_id, c.clock_id, iif(c.clock_id BETWEEN 64 AND 127, c.seq_id, 0),
                iif(c.clock_id BETWEEN 64 AND 127, c.trace_file_id, coalesce({}, -1)),
                p.id, c.seq_id, coalesce(p.ts + c.clock_offset, p.clock_ts) AS clock_ts, p.ts
         FROM packet_record AS p CROSS JOIN packet_common AS c ON c.id = p.common_id
         WHERE c.clock_id IN (SELECT value FROM json_each(?1)) AND p.ts IS NOT NULL
           AND coalesce(c.clock_offset, p.clock_ts) IS NOT NULL AND c.type IS NOT 'clock_snapshot'
         ORDER BY p.id",
        owner("p.id", "c")
    ))?;
    let ids: Vec<String> = turned.keys().map(|(_, id, ..)| id.to_string()).collect();
    let mut rows = statement.query([format!("[{}]", ids.join(","))])?;
    while let Some(row) = rows.next()? {
        let key = key(row)?;
        let Some(turned) = turned.get_mut(&key) else {
            continue;
        };
        let (packet, seq): (i64, i64) = (row.get(4)?, row.get(5)?);
        let (ticks, ts): (i64, i64) = (row.get(6)?, row.get(7)?);
        let Some(value) = ticks.checked_mul(turned.unit) else {
            continue;
        };
        let so_far = so_far.entry(key).or_default();
        if let Some((place, off)) = turned.wrong(so_far, (packet, seq), value, ts) {
            let cost = turned.cost.entry(place).or_default();
            cost.packets += 1;
            cost.first.get_or_insert(packet);
            cost.worst = cost.worst.max(off);
        }
    }
    Ok(())
}

impl Turned {
    /// If a packet has a wrong time, the turn that caused it, and the size of the error.
    fn wrong(
        &self,
        so_far: &mut SoFar,
        (packet, seq): (i64, i64),
        value: i64,
        ts: i64,
    ) -> Option<(usize, i64)> {
        let points = &self.turns.points;
        while let Some(&place) = self.in_file.get(so_far.snapshots)
            && self.packets.get(place).copied().flatten().is_some_and(|at| at < packet)
        {
            let value = points.get(place)?.value;
            let to = so_far.by_value.partition_point(|(other, _)| *other <= value);
            so_far.by_value.insert(to, (value, place));
            so_far.snapshots += 1;
        }
        let last_place = *self.in_file.get(so_far.snapshots.checked_sub(1)?)?;
        let last = points.get(last_place)?;
        let next_place = self.in_file.get(so_far.snapshots).copied();
        let next = next_place.and_then(|place| points.get(place));
        let near = match so_far.last.get(&seq) {
            Some((before, at))
                if self.packets.get(last_place).copied().flatten() < Some(*before) =>
            {
                *at
            }
            _ => last.at,
        };
        let lives = [last.life, next.map_or(last.life, |next| next.life)];
        let found = self.turns.continued(value, near, &lives)?;
        so_far.last.insert(seq, (packet, found.at));
        let by = so_far.by_value.partition_point(|(other, _)| *other <= value);
        let by = so_far.by_value.get(by.saturating_sub(1))?;
        let by = points.get(by.1)?;
        if (by.life, by.turns) == (found.life, found.turns) {
            return None;
        }
        // The turn at the next snapshot, or else the first turn.
        let is_turn = |place: &usize| points.get(*place).is_some_and(|point| point.turn.is_some());
        let place = next_place.filter(is_turn).or_else(|| (0..points.len()).find(is_turn))?;
        let off = i64::try_from(ts.abs_diff(found.at)).unwrap_or(i64::MAX);
        Some((place, off))
    }
}
