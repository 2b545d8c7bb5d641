//! Events that could not be placed: why, and once more when the whole trace is
//! read (rule D2).
//!
//! Events of a bundle mostly share their fate, so a row of `ftrace_unresolved`
//! tells it for a stretch of them, with the clock that they were read from.

use rusqlite::{Connection, Statement, params};
use timebase_resolver::{Clock, ClockId, MachineId, SeqId, Unresolved};

use crate::clocks::Clocks;
use crate::rows::{Batch, Cell, Table};

pub(super) static RUNS: Table = Table {
    name: "ftrace_unresolved",
    columns: &[
        "first_id",
        "last_id",
        "reason",
        "machine_id",
        "clock_id",
        "seq_id",
    ],
    indexes: &[],
};

/// Events one after the other that could not be placed for the same reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    first: i64,
    last: i64,
    reason: Unresolved,
    /// `None` if it is not known which clock it was.
    clock: Option<Clock>,
}

/// The stretch that is going on.
#[derive(Debug, Default)]
pub(super) struct Runs(Option<Run>);

impl Runs {
    /// Takes in an event that could not be placed.
    #[cold]
    pub fn add(&mut self, id: i64, reason: Unresolved, clock: Option<Clock>, batch: &mut Batch) {
        match &mut self.0 {
            Some(run) if run.last + 1 == id && run.reason == reason && run.clock == clock => {
                run.last = id;
            }
            _ => {
                self.end(batch);
                self.0 = Some(Run {
                    first: id,
                    last: id,
                    reason,
                    clock,
                });
            }
        }
    }

    /// Writes down what is going on.
    pub fn end(&mut self, batch: &mut Batch) {
        if let Some(run) = self.0.take() {
            run.write(batch);
        }
    }
}

impl Run {
    fn write(&self, batch: &mut Batch) {
        let reason = batch.text(self.reason.code());
        let row = [
            Cell::from(self.first),
            Cell::from(self.last),
            reason,
            Cell::or_null(self.clock.map(|clock| clock.machine.0)),
            Cell::or_null(self.clock.map(|clock| clock.id.get())),
            Cell::or_null(self.clock.map(|clock| clock.seq.0)),
        ];
        batch.row(&RUNS, row);
    }
}

/// The second try.
pub(super) struct Retry<'c> {
    runs: Statement<'c>,
    events: Statement<'c>,
    /// Of `ftrace_record` and of `ftrace_partial`.
    updates: [Statement<'c>; 2],
    delete: Statement<'c>,
    insert: Statement<'c>,
}

/// How many rows are read before some of them are written again.
const ROWS: usize = 4096;

impl<'c> Retry<'c> {
    pub fn new(conn: &'c Connection) -> rusqlite::Result<Self> {
        Ok(Retry {
            runs: conn.prepare(&format!(
                "SELECT first_id, last_id, reason, machine_id, clock_id, seq_id \
                 FROM ftrace_unresolved WHERE first_id > ?1 AND clock_id IS NOT NULL \
                 ORDER BY first_id LIMIT {ROWS}"
            ))?,
            // The events of a stretch are in both tables, numbered through.
            events: conn.prepare(&format!(
                "SELECT id, iif(typeof(timestamp) = 'integer', timestamp, NULL), false \
                 FROM ftrace_record WHERE id BETWEEN ?1 AND ?2 \
                 UNION ALL \
                 SELECT id, iif(typeof(timestamp) = 'integer', timestamp, NULL), true \
                 FROM ftrace_partial WHERE id BETWEEN ?1 AND ?2 \
                 ORDER BY 1 LIMIT {ROWS}"
            ))?,
            updates: [
                conn.prepare("UPDATE ftrace_record SET ts = ?2, timestamp = ?3 WHERE id = ?1")?,
                conn.prepare("UPDATE ftrace_partial SET ts = ?2, timestamp = ?3 WHERE id = ?1")?,
            ],
            delete: conn.prepare("DELETE FROM ftrace_unresolved WHERE first_id = ?1")?,
            insert: conn
                .prepare("INSERT INTO ftrace_unresolved VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?,
        })
    }

    /// Tries all events once more.
    pub fn all(&mut self, clocks: &mut Clocks) -> rusqlite::Result<()> {
        let mut last = -1i64;
        loop {
            let runs: Vec<(Run, Clock)> = self
                .runs
                .query_map([last], |row| {
                    let machine = MachineId(row.get(3)?);
                    let clock = Clock::new(machine, ClockId(row.get(4)?), SeqId(row.get(5)?));
                    let reason: String = row.get(2)?;
                    let run = Run {
                        first: row.get(0)?,
                        last: row.get(1)?,
                        reason: Unresolved::from_code(&reason).unwrap_or(Unresolved::UnknownClock),
                        clock: Some(clock),
                    };
                    Ok((run, clock))
                })?
                .collect::<rusqlite::Result<_>>()?;
            let Some((end, _)) = runs.last() else {
                return Ok(());
            };
            last = end.last;
            for (run, clock) in runs {
                if run.reason.may_resolve_later() {
                    let left = self.run(clocks, &run, clock)?;
                    self.replace(&run, &left)?;
                }
            }
        }
    }

    /// Places the events of a stretch, and tells which still have no place.
    fn run(&mut self, clocks: &mut Clocks, run: &Run, clock: Clock) -> rusqlite::Result<Vec<Run>> {
        let unit = clocks.unit(clock);
        let mut left: Vec<Run> = Vec::new();
        let mut from = run.first;
        loop {
            let events: Vec<(i64, Option<i64>, bool)> = self
                .events
                .query_map([from, run.last], |row| {
                    Ok((row.get(0)?, row.get(1)?, row.get(2)?))
                })?
                .collect::<rusqlite::Result<_>>()?;
            let Some(&(end, ..)) = events.last() else {
                return Ok(left);
            };
            from = end + 1;
            for (id, timestamp, partial) in events {
                let placed = match timestamp {
                    Some(ticks) => clocks.place_event(clock, unit, ticks.unsigned_abs()),
                    None => Err(clocks.overflow(clock)),
                };
                match placed {
                    Ok(ts) => {
                        let recorded = timestamp.filter(|&timestamp| timestamp != ts);
                        self.updates[usize::from(partial)].execute(params![id, ts, recorded])?;
                    }
                    Err(reason) => match left.last_mut() {
                        Some(run) if run.last + 1 == id && run.reason == reason => run.last = id,
                        _ => left.push(Run {
                            first: id,
                            last: id,
                            reason,
                            clock: Some(clock),
                        }),
                    },
                }
            }
        }
    }

    /// Writes down what is left of a stretch.
    fn replace(&mut self, run: &Run, left: &[Run]) -> rusqlite::Result<()> {
        if left == [*run] {
            return Ok(());
        }
        self.delete.execute([run.first])?;
        for run in left {
            self.insert.execute(params![
                run.first,
                run.last,
                run.reason.code(),
                run.clock.map(|clock| clock.machine.0),
                run.clock.map(|clock| clock.id.get()),
                run.clock.map(|clock| clock.seq.0),
            ])?;
        }
        Ok(())
    }
}
