//! The reasons why a row may be wrong (rules DT3 to DT7, DT9).

use rusqlite::{Connection, OptionalExtension, params};

/// The words of the column `doubt`, by their numbers in the tables. If several apply to a row, it has the
/// first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Doubt {
    /// `switch_missed`: an event contradicts the thread that ran.
    SwitchMissed = 1,
    /// `woken_again`: the thread waited for a CPU, and was woken again.
    WokenAgain = 2,
    /// `wakeup_missed`: the thread slept, and no event woke it.
    WakeupMissed = 3,
    /// `lost`: kernel events are missing within the row.
    Lost = 4,
    /// `packets_lost`: packets of the writer are missing within the row.
    PacketsLost = 5,
    /// `end_misplaced`: an end of another slice ended the row, or its own end did not.
    EndMisplaced = 6,
    /// `cpus_missing`: some CPUs lack their events at the begin of the row.
    CpusMissing = 7,
}

impl Doubt {
    /// The first of two doubts, if there are two.
    pub fn first(one: Option<Doubt>, other: Option<Doubt>) -> Option<Doubt> {
        match (one, other) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        }
    }

    /// The doubt's number, for a row.
    pub fn number(self) -> i64 {
        self as i64
    }
}

/// The rows that a row of `sched_record` stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowPart {
    /// The row of `sched`.
    Sched = 0,
    /// The rows of `thread_state`: the thread runs; it is off the CPU; it is runnable.
    Running = 3,
    After = 6,
    Runnable = 9,
}

/// The doubts of the rows that a row of `sched_record` stands for, with three bits each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Doubts(u16);

impl Doubts {
    /// The doubts from the number in a column.
    pub fn of_number(number: i64) -> Doubts {
        Doubts(number as u16)
    }

    pub fn mark(&mut self, part: RowPart, doubt: Doubt) {
        let shift = part as u16;
        let old = self.0 >> shift & 7;
        let new = doubt as u16;
        if old == 0 || new < old {
            self.0 = self.0 & !(7 << shift) | new << shift;
        }
    }

    /// The doubts of both.
    pub fn and(mut self, Doubts(other): Doubts) -> Doubts {
        for part in [RowPart::Sched, RowPart::Running, RowPart::After, RowPart::Runnable] {
            if let Some(doubt) = Doubts(other).of(part) {
                self.mark(part, doubt);
            }
        }
        self
    }

    pub fn of(self, part: RowPart) -> Option<Doubt> {
        match self.0 >> part as u16 & 7 {
            1 => Some(Doubt::SwitchMissed),
            2 => Some(Doubt::WokenAgain),
            3 => Some(Doubt::WakeupMissed),
            4 => Some(Doubt::Lost),
            7 => Some(Doubt::CpusMissing),
            _ => None,
        }
    }

    /// The number of existing rows of `thread_state` that are in doubt: running, after, runnable.
    pub fn states(self, are_states: [bool; 3]) -> u64 {
        if self == Doubts::default() {
            return 0;
        }
        let parts = [RowPart::Running, RowPart::After, RowPart::Runnable];
        let parts = parts.into_iter().zip(are_states);
        let doubtful = parts.filter(|(part, is_state)| *is_state && self.of(*part).is_some());
        doubtful.count() as u64
    }

    /// The number for the column; `None` if there is no doubt.
    pub fn number(self) -> Option<i64> {
        (self.0 != 0).then_some(self.0.into())
    }
}

/// The number of rows of a kind, and the number of those that may be wrong.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub rows: u64,
    pub doubtful: u64,
}

impl Tally {
    #[inline]
    pub fn count(&mut self, is_doubtful: bool) {
        self.rows += 1;
        self.doubtful += u64::from(is_doubtful);
    }

    pub fn add(&mut self, other: Tally) {
        self.rows += other.rows;
        self.doubtful += other.doubtful;
    }
}

/// The rows that can be in doubt, by their kind for a user.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tallies {
    /// Rows of `thread_state`.
    pub states: Tally,
    /// Rows of `slice`.
    pub slices: Tally,
    /// Rows of `counter`.
    pub values: Tally,
}

/// Marks the slices of `misplaced_end` that have no doubt of another kind (rule DT9). Returns their number.
pub(crate) fn mark_misplaced(conn: &Connection) -> rusqlite::Result<u64> {
    let marked = conn.execute(
        "UPDATE slice_record SET doubt = ?1
         WHERE doubt IS NULL AND id IN (SELECT slice_id FROM misplaced_end)",
        [Doubt::EndMisplaced.number()],
    )?;
    Ok(marked as u64)
}

/// A doubt that came after its row of `sched_record` was written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LateDoubt {
    /// The key of the row.
    pub ts: i64,
    pub id: i64,
    pub doubts: Doubts,
}

impl LateDoubt {
    /// Marks the rows, after SQLite has the database again. Returns the number of rows of `thread_state` that
    /// became doubtful.
    pub fn mark_all(late: &[LateDoubt], conn: &Connection) -> rusqlite::Result<u64> {
        let mut read = conn.prepare(
            "SELECT coalesce(doubt, 0), is_state, after IS NOT NULL, runnable IS NOT NULL
             FROM sched_record WHERE ts = ?1 AND id = ?2",
        )?;
        let mut mark =
            conn.prepare("UPDATE sched_record SET doubt = ?3 WHERE ts = ?1 AND id = ?2")?;
        let mut became_doubtful = 0;
        for LateDoubt { ts, id, doubts } in late {
            let written = read.query_row([ts, id], |row| {
                Ok((row.get(0)?, [row.get(1)?, row.get(2)?, row.get(3)?]))
            });
            // Without tables of scheduling there is no row.
            let Some((old, are_states)) = written.optional()? else {
                continue;
            };
            let old = Doubts::of_number(old);
            let all = old.and(*doubts);
            became_doubtful += all.states(are_states) - old.states(are_states);
            mark.execute(params![ts, id, all.number()])?;
        }
        Ok(became_doubtful)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dt3_dt4_dt5_dt6_a_late_doubt_counts_for_the_rows_that_there_are_and_once()
    -> rusqlite::Result<()> {
        let conn = Connection::open_in_memory()?;
        conn.execute_batch(timebase_schema::TABLES)?;
        // A thread runs and sleeps, and the doubt is whether it ran; an idle CPU.
        conn.execute_batch(
            "INSERT INTO sched_record (ts, id, dur, ucpu, utid, priority, is_state, after, doubt)
             VALUES (10, 0, 5, 0, 1, 120, 1, 7, 32), (15, 1, 7, 0, 0, 120, 0, NULL, NULL)",
        )?;
        let late = |ts, id, parts: &[RowPart]| {
            let mut doubts = Doubts::default();
            for part in parts {
                doubts.mark(*part, Doubt::WokenAgain);
            }
            LateDoubt { ts, id, doubts }
        };
        let late = [
            late(10, 0, &[RowPart::Sched, RowPart::Running, RowPart::After, RowPart::Runnable]),
            late(10, 0, &[RowPart::After]),
            late(15, 1, &[RowPart::Sched, RowPart::Running]),
            late(99, 2, &[RowPart::Running]),
        ];
        assert_eq!(LateDoubt::mark_all(&late, &conn), Ok(1));
        let marked =
            "SELECT group_concat(doubt, ' ') FROM (SELECT doubt FROM sched_record ORDER BY ts)";
        let marked: String = conn.query_row(marked, [], |row| row.get(0))?;
        let all = 2 | 2 << 3 | 2 << 6 | 2 << 9;
        assert_eq!(marked, format!("{all} {}", 2 | 2 << 3));
        assert_eq!(LateDoubt::mark_all(&late, &conn), Ok(0));
        Ok(())
    }

    #[test]
    fn dt3_dt4_dt5_dt6_of_several_words_the_first_stays() {
        let mut doubts = Doubts::default();
        assert_eq!(doubts.number(), None);
        doubts.mark(RowPart::Running, Doubt::Lost);
        doubts.mark(RowPart::Running, Doubt::WokenAgain);
        doubts.mark(RowPart::Running, Doubt::WakeupMissed);
        doubts.mark(RowPart::Runnable, Doubt::Lost);
        assert_eq!(doubts.of(RowPart::Running), Some(Doubt::WokenAgain));
        assert_eq!(doubts.of(RowPart::Runnable), Some(Doubt::Lost));
        assert_eq!((doubts.of(RowPart::Sched), doubts.of(RowPart::After)), (None, None));
        assert_eq!(doubts.number(), Some(2 << 3 | 4 << 9));
        let mut more = Doubts::default();
        more.mark(RowPart::Running, Doubt::SwitchMissed);
        more.mark(RowPart::After, Doubt::Lost);
        let both = Doubts::of_number(2 << 3 | 4 << 9).and(more);
        assert_eq!(both.number(), Some(1 << 3 | 4 << 6 | 4 << 9));
    }
}
