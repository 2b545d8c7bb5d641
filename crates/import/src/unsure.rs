//! What the clocks make of the times, in a line each: which drift, count something else than nanoseconds, wrapped or
//! restarted, and how far times are off by that.
//!
//! # Design
//!
//! An import ends within moments of its last row, so this asks the tables of clocks, which are small, and not the
//! packets, which are millions. Which events are out of order only events tell: of a small trace all are looked at, of
//! a large one as many, in stretches that are spread over it, and the rest is reckoned. What `timebase doctor` finds in
//! all of them takes seconds for a million packets.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::options::Conversion;
use crate::summary::{ClockFault, ClockNote, Pairs};

/// A clock: machine, number, sequence, and the file whose own it is or -1.
type Key = (i64, i64, i64, i64);

/// By how much times may be off without a word: what `doctor` takes for a note, and not for a warning.
const TOLD_NS: f64 = 100_000.0;
/// How many events are looked at.
const EVENTS: i64 = 5_000;
/// In how many stretches of a large trace, and how many events are in each.
const STRETCHES: i64 = 16;
const STRETCH: i64 = 150;

fn key(row: &Row<'_>) -> rusqlite::Result<Key> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
}

/// What is to be said of the clocks that events were read from, the worst first.
pub(crate) fn notes(
    conn: &Connection,
    trace_time: Key,
    conversion: Conversion,
) -> rusqlite::Result<Vec<ClockNote>> {
    if conversion == Conversion::Linear {
        return Ok(Vec::new());
    }
    let hops = hops(conn)?;
    let mut notes = turned(conn)?;
    let mut drifting: Vec<(Key, ClockNote)> = Vec::new();
    let mut statement = conn.prepare(
        "SELECT machine_id, clock_id, seq_id, file, path FROM clock_record
         WHERE packets > 0 AND path IS NOT NULL AND hops > 0 AND clock_id NOT IN (2, 4)",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (key, path): (Key, String) = (key(row)?, row.get(4)?);
        let clocks: Vec<&str> = path.split(" → ").collect();
        let on_way = clocks.windows(2).filter_map(|two| match two {
            [from, to] => hops.get(&(*from).to_owned())?.get(&(*to).to_owned()),
            _ => None,
        });
        let on_way: Vec<&Hop> = on_way.collect();
        let clock = clocks.first().map_or_else(String::new, |clock| (*clock).to_owned());
        let worst_ns = on_way.iter().fold(0.0, |sum, hop| sum + hop.worst_ns);
        if !(worst_ns > TOLD_NS) {
            continue;
        }
        let fault = match on_way.iter().find(|hop| hop.rate != 1.0) {
            Some(hop) => ClockFault::Rate {
                ghz: 1.0 / hop.rate,
            },
            None => ClockFault::Drift {
                ppm: on_way.iter().fold(0.0, |most, hop| f64::max(most, hop.ppm)),
                pairs: None,
            },
        };
        drifting.push((
            key,
            ClockNote {
                clock,
                fault,
                worst_ns,
            },
        ));
    }
    if drifting.iter().any(|(_, note)| matches!(note.fault, ClockFault::Drift { .. })) {
        look(conn, trace_time, &mut drifting)?;
    }
    notes.extend(drifting.into_iter().map(|(_, note)| note));
    notes.retain(|note| note.worst_ns > TOLD_NS);
    notes.sort_by(|one, other| other.worst_ns.total_cmp(&one.worst_ns));
    Ok(notes)
}

/// A hop of a path.
struct Hop {
    rate: f64,
    ppm: f64,
    worst_ns: f64,
}

/// The hops by the clocks that they lead from and to.
fn hops(conn: &Connection) -> rusqlite::Result<HashMap<String, HashMap<String, Hop>>> {
    let mut statement = conn.prepare(
        "SELECT from_clock, to_clock, nominal_rate, abs(coalesce(drift_ppm, 0)), worst_error_nearest_ns FROM clock_hop",
    )?;
    let mut rows = statement.query([])?;
    let mut hops: HashMap<String, HashMap<String, Hop>> = HashMap::new();
    while let Some(row) = rows.next()? {
        let hop = Hop {
            rate: row.get(2)?,
            ppm: row.get(3)?,
            worst_ns: row.get(4)?,
        };
        hops.entry(row.get(0)?).or_default().insert(row.get(1)?, hop);
    }
    Ok(hops)
}

/// The clocks that wrapped or restarted, and put packets elsewhere by that.
fn turned(conn: &Connection) -> rusqlite::Result<Vec<ClockNote>> {
    let mut statement = conn.prepare(
        "SELECT CASE WHEN t.clock_id BETWEEN 64 AND 127 THEN t.clock_id || '@' || t.seq_id ELSE coalesce(c.name, t.clock_id) END
                  || iif(t.machine_id, ' of machine ' || t.machine_id, '')
                  || iif(t.trace_file_id, ' in file ' || t.trace_file_id, ''),
                t.kind, max(t.bits), sum(t.packets), max(t.worst_ns)
         FROM clock_turn AS t LEFT JOIN clock AS c
           ON c.machine_id = t.machine_id AND c.clock_id = t.clock_id AND c.seq_id = t.seq_id AND c.trace_file_id IS t.trace_file_id
         GROUP BY t.machine_id, t.clock_id, t.seq_id, t.trace_file_id, t.kind
         HAVING sum(t.packets) > 0",
    )?;
    let rows = statement.query_map([], |row| {
        Ok(ClockNote {
            clock: row.get(0)?,
            fault: ClockFault::Turned {
                bits: row.get(2)?,
                packets: row.get(3)?,
            },
            worst_ns: row.get(4)?,
        })
    })?;
    rows.collect()
}

/// An event: whose clock, where the line has it, how far nearest neighbour is off, and whether the line is that sure.
struct Event {
    clock: Option<Key>,
    line_ts: i64,
    off: i64,
    is_off: bool,
}

/// Looks at events: which pairs of neighbours are out of order; and, of a small trace, how far they are off.
fn look(
    conn: &Connection,
    trace_time: Key,
    drifting: &mut [(Key, ClockNote)],
) -> rusqlite::Result<()> {
    let mut events = Events::new(conn, trace_time)?;
    let all: i64 = conn.query_row(
        "SELECT count(*) FROM (SELECT 1 FROM packet WHERE ts IS NOT NULL LIMIT ?1)",
        [EVENTS + 1],
        |row| row.get(0),
    )?;
    let mut inverted: HashMap<Key, f64> = HashMap::new();
    if all <= EVENTS {
        let Some(found) = events.between(i64::MIN, i64::MAX)? else {
            return Ok(());
        };
        for (key, note) in drifting.iter_mut() {
            let of_clock = found.iter().filter(|event| event.clock == Some(*key));
            if matches!(note.fault, ClockFault::Drift { .. }) && events.steady.contains_key(key) {
                let off = of_clock.filter(|event| event.is_off).map(|event| event.off);
                note.worst_ns = off.map(|off| off.unsigned_abs() as f64).fold(0.0, f64::max);
            }
        }
        count(&found, &mut inverted);
        tell(drifting, &events, |key| {
            let pairs = inverted.get(key).copied().unwrap_or(0.0);
            Some(Pairs {
                count: pairs as u64,
                is_exact: true,
            })
        });
        return Ok(());
    }
    let Some((seen, pairs)) = stretches(conn, &mut events, drifting, &mut inverted)? else {
        return Ok(());
    };
    tell(drifting, &events, |key| {
        let share = inverted.get(key).copied().unwrap_or(0.0) / seen.max(1.0);
        Some(Pairs {
            count: (share * pairs).round() as u64,
            is_exact: false,
        })
    });
    Ok(())
}

fn tell(
    drifting: &mut [(Key, ClockNote)],
    events: &Events<'_>,
    pairs_of: impl Fn(&Key) -> Option<Pairs>,
) {
    for (key, note) in drifting {
        if let ClockFault::Drift { pairs, .. } = &mut note.fault
            && events.steady.contains_key(key)
        {
            *pairs = pairs_of(key);
        }
    }
}

/// Counts the pairs out of order in stretches of a large trace; how many neighbours were looked at, and how many there
/// are. `None` if there are too many events within the time that clocks are off.
fn stretches(
    conn: &Connection,
    events: &mut Events<'_>,
    drifting: &[(Key, ClockNote)],
    inverted: &mut HashMap<Key, f64>,
) -> rusqlite::Result<Option<(f64, f64)>> {
    let worst = drifting.iter().map(|(_, note)| note.worst_ns);
    let around = worst.fold(0.0, f64::max) as i64;
    let last: i64 = conn.query_row("SELECT max(id) FROM packet", [], |row| row.get(0))?;
    let mut seen = 0.0;
    for stretch in 0..STRETCHES {
        let from = last / STRETCHES * stretch;
        let begin = "SELECT ts FROM packet WHERE id >= ?1 AND ts IS NOT NULL ORDER BY id LIMIT 1";
        let begin: Option<i64> = conn.query_row(begin, [from], |row| row.get(0)).optional()?;
        let Some(begin) = begin else { continue };
        let end = "SELECT max(ts) FROM (SELECT ts FROM packet WHERE ts >= ?1 ORDER BY ts LIMIT ?2)";
        let end: i64 = conn.query_row(end, [begin, STRETCH], |row| row.get(0))?;
        let found = events.between(begin.saturating_sub(around), end.saturating_add(around))?;
        let Some(mut found) = found else {
            return Ok(None);
        };
        found.retain(|event| (begin..=end).contains(&event.line_ts));
        seen += found.len() as f64;
        count(&found, inverted);
    }
    let all: f64 = conn.query_row("SELECT count(*) FROM packet", [], |row| row.get(0))?;
    Ok((seen > 0.0).then_some((seen, all)))
}

/// Adds the pairs of neighbours that nearest neighbour has the other way round, each to the clock that is off by more.
fn count(events: &[Event], inverted: &mut HashMap<Key, f64>) {
    if !events.iter().any(|event| event.is_off) {
        return;
    }
    for two in events.windows(2) {
        let [one, next] = two else { continue };
        let at = |event: &Event| i128::from(event.line_ts) + i128::from(event.off);
        if at(one) <= at(next) {
            continue;
        }
        let by = match next.off.unsigned_abs() >= one.off.unsigned_abs() {
            true => next.clock,
            false => one.clock,
        };
        if let Some(by) = by {
            *inverted.entry(by).or_default() += 1.0;
        }
    }
}

/// Events by time, beside where the line has them.
struct Events<'c> {
    conn: &'c Connection,
    trace_time: Key,
    /// The clocks that count nanoseconds and whose line is inclined, with its number and their unit.
    steady: HashMap<Key, (i64, i64)>,
}

impl<'c> Events<'c> {
    fn new(conn: &'c Connection, trace_time: Key) -> rusqlite::Result<Events<'c>> {
        let mut statement = conn.prepare(
            "SELECT r.machine_id, r.clock_id, r.seq_id, r.file, r.id, c.unit_multiplier_ns
             FROM clock_route AS r JOIN clock_record AS c USING (machine_id, clock_id, seq_id, file)
             WHERE r.to_clock_id = ?1 AND c.packets + (c.clock_id = 1) > 0
               AND (r.machine_id, r.clock_id, r.seq_id, r.file) NOT IN (
                 SELECT machine_id, clock_id, seq_id, coalesce(trace_file_id, -1) FROM clock_hop WHERE nominal_rate <> 1)
               AND EXISTS (SELECT * FROM clock_line AS l WHERE l.route_id = r.id AND l.slope <> 0)
               AND instr(c.path, ' of machine ') = 0",
        )?;
        let rows = statement.query_map([trace_time.1], |row| {
            Ok((key(row)?, (row.get(4)?, row.get(5)?)))
        })?;
        let mut steady: HashMap<Key, (i64, i64)> = rows.collect::<rusqlite::Result<_>>()?;
        steady.remove(&trace_time);
        Ok(Events {
            conn,
            trace_time,
            steady,
        })
    }

    /// Those that nearest neighbour put between two times, in the order of the line; `None` if they are too many.
    fn between(&mut self, begin: i64, end: i64) -> rusqlite::Result<Option<Vec<Event>>> {
        let mut statement = self.conn.prepare_cached(
            "SELECT v.machine_id, v.clock_id, iif(v.clock_id BETWEEN 64 AND 127, v.seq_id, 0),
                    coalesce(x.file, iif(v.clock_id BETWEEN 64 AND 127 OR v.packet_id >= t.own_from
                                         OR t.is_pinned AND v.clock_id = 11, v.trace_file_id, -1)),
                    v.value, v.ts, v.is_packet
             FROM (
               SELECT * FROM (
                 SELECT id AS packet_id, machine_id, trace_file_id, clock_id, seq_id, clock_ts AS value, ts, 1 AS is_packet
                 FROM packet WHERE ts BETWEEN ?1 AND ?2 AND clock_ts IS NOT NULL AND type IS NOT 'clock_snapshot' LIMIT ?3
               )
               UNION ALL
               SELECT * FROM (
                 SELECT p.id, p.machine_id, p.trace_file_id, 1, 0, l.timestamp, l.ts, 0
                 FROM android_log_record AS l JOIN packet AS p ON p.id = l.packet_id WHERE l.ts BETWEEN ?1 AND ?2 LIMIT ?3
               )
             ) AS v
             LEFT JOIN part AS t ON t.trace_file_id = v.trace_file_id AND t.machine_id = v.machine_id
             LEFT JOIN packet_clock_record AS x ON x.packet_id = v.packet_id",
        )?;
        let mut line = self.conn.prepare_cached(
            "SELECT l.offset, l.slope, iif(l.kind = 'before', l.end_value, l.start_value), coalesce(l.error, 0), l.error_slope
             FROM clock_line AS l WHERE l.route_id = ?1 AND l.start_value <= ?2 ORDER BY l.start_value DESC LIMIT 1",
        )?;
        let mut step = self.conn.prepare_cached(
            "SELECT offset FROM clock_step
             WHERE machine_id = ?1 AND clock_id = ?2 AND seq_id = ?3 AND file = ?4 AND to_clock_id = ?5 AND start_value <= ?6
             ORDER BY start_value DESC LIMIT 1",
        )?;
        let mut rows = statement.query(params![begin, end, EVENTS + 1])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            if found.len() as i64 >= EVENTS {
                return Ok(None);
            }
            let key = key(row)?;
            let (value, ts): (i64, i64) = (row.get(4)?, row.get(5)?);
            if key == self.trace_time {
                found.push(Event {
                    clock: None,
                    line_ts: ts,
                    off: 0,
                    is_off: false,
                });
                continue;
            }
            let Some(&(route, unit)) = self.steady.get(&key) else {
                continue;
            };
            let is_packet: bool = row.get(6)?;
            let unit = if is_packet { unit } else { 1 };
            let Some(value) = value.checked_mul(unit) else {
                continue;
            };
            let by_line = line.query_row(params![route, value], |row| {
                let (offset, slope): (i64, f64) = (row.get(0)?, row.get(1)?);
                let anchor: Option<i64> = row.get(2)?;
                let (error, growth): (f64, f64) = (row.get(3)?, row.get(4)?);
                let ahead = anchor.map_or(0, |anchor| i128::from(value) - i128::from(anchor));
                let inclined = (ahead as f64 * slope).round() as i128;
                let at = i128::from(value) + i128::from(offset) + inclined;
                Ok((at, error + ahead as f64 * growth))
            });
            let (machine, clock, seq, file) = key;
            let of_step = params![machine, clock, seq, file, self.trace_time.1, value];
            let offset = step.query_row(of_step, |row| row.get::<_, i64>(0));
            let (Some((line_ts, error)), Some(offset)) = (by_line.optional()?, offset.optional()?)
            else {
                continue;
            };
            let off = i128::from(value) + i128::from(offset) - line_ts;
            if let (Ok(line_ts), Ok(off)) = (i64::try_from(line_ts), i64::try_from(off)) {
                found.push(Event {
                    clock: Some(key),
                    line_ts,
                    off,
                    is_off: off.unsigned_abs() as f64 > error.max(1000.0),
                });
            }
        }
        found.sort_by_key(|event| event.line_ts);
        Ok(Some(found))
    }
}
