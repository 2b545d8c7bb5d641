//! Things that last, added up by line: slices, waits and frames.

use std::collections::HashMap;
use std::path::Path;

use rusqlite::Connection;
use rustc_hash::FxHashMap;
use timebase_store::sort::{
    Key, LONGEST_NUMBER, Quota, Scratch, Sorter, put_difference, take_difference,
};

use super::lines::Lines;
use super::ranks::Ranks;
use super::{MeasureError, Measured, Measuring};
use crate::line::{Family, Stat};
use crate::values::Value;

/// Threads but idle ones, with the name of their process.
const THREADS: &str = "
    SELECT utid, coalesce(p.name, ''), coalesce(t.name, '') FROM thread AS t LEFT JOIN process AS p USING (upid)
    WHERE NOT coalesce(t.is_idle, 0)";

/// Threads that wait for a CPU, or in the kernel. A join would keep SQLite from leaving out other states at once.
const WAITS: &str = "
    SELECT state GLOB 'R*', utid, dur, doubt IS NULL FROM thread_state
    WHERE dur >= 0 AND (state IN ('R', 'R+') OR state GLOB 'D*')";

/// Frames, which have no doubt.
const FRAMES: &str = "
    SELECT coalesce(p.name, ''), coalesce(f.layer_name, 'display'), f.dur
    FROM actual_frame_timeline_slice AS f LEFT JOIN process AS p USING (upid) WHERE f.dur >= 0";

/// A duration of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lasted {
    pub line: i64,
    pub dur: i64,
    pub is_sure: bool,
}

impl Key for Lasted {
    const FIRST: Self = Lasted { line: 0, dur: 0, is_sure: false };
    const LONGEST: usize = 1 + 2 * LONGEST_NUMBER;
    const RANKS: usize = 2;

    fn rank(&self, number: usize) -> i64 {
        if number == 0 { self.line } else { self.dur }
    }

    fn put(&self, after: &Self, bytes: &mut [u8]) -> usize {
        let Some((first, rest)) = bytes.split_first_mut() else { return 0 };
        *first = self.is_sure.into();
        let size = put_difference(after.line, self.line, rest);
        let rest = rest.get_mut(size..).unwrap_or_default();
        1 + size + put_difference(after.dur, self.dur, rest)
    }

    fn take(after: &Self, bytes: &[u8]) -> Option<(Self, usize)> {
        let (first, rest) = bytes.split_first()?;
        let (line, size) = take_difference(after.line, rest)?;
        let (dur, other) = take_difference(after.dur, rest.get(size..)?)?;
        Some((Lasted { line, dur, is_sure: *first != 0 }, 1 + size + other))
    }
}

/// The sums of a line: of sure rows, and of all.
#[derive(Clone, Copy, Default)]
pub struct Sums {
    pub sure: u64,
    pub all: u64,
    sure_ns: f64,
    all_ns: f64,
}

/// The things that last, of one run.
pub struct Lasting {
    pub lines: Lines,
    sums: Vec<Sums>,
    sorter: Sorter<Lasted, ()>,
    /// How often a name is around the slices of a line of self time.
    parents: FxHashMap<(i64, i64), u64>,
}

impl Lasting {
    /// Reads all waits and frames.
    pub fn read(
        conn: &Connection,
        measuring: &Measuring,
        scratch: &Path,
    ) -> Result<Lasting, MeasureError> {
        let mut lasting = Lasting {
            lines: Lines::new(measuring.names.clone()),
            sums: Vec::new(),
            sorter: Sorter::new(Scratch::new(scratch, &Quota::default())),
            parents: FxHashMap::default(),
        };
        lasting.waits(conn)?;
        lasting.frames(conn)?;
        Ok(lasting)
    }

    fn waits(&mut self, conn: &Connection) -> Result<(), MeasureError> {
        let mut threads: HashMap<i64, (u32, u32)> = HashMap::new();
        let mut statement = conn.prepare(THREADS)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let process = self.lines.text(row.get_ref(1)?.as_bytes().unwrap_or_default());
            let name = self.lines.text(row.get_ref(2)?.as_bytes().unwrap_or_default());
            threads.insert(row.get(0)?, (process, name));
        }
        let mut statement = conn.prepare(WAITS)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let Some((process, name)) = threads.get(&row.get(1)?) else { continue };
            let family = if row.get(0)? { Family::Wait } else { Family::Blocked };
            let line = self.lines.line(family, *process, *name);
            self.add(line, row.get(2)?, row.get(3)?)?;
        }
        Ok(())
    }

    fn frames(&mut self, conn: &Connection) -> Result<(), MeasureError> {
        let mut statement = conn.prepare(FRAMES)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let process = self.lines.text(row.get_ref(0)?.as_bytes().unwrap_or_default());
            let name = self.lines.text(row.get_ref(1)?.as_bytes().unwrap_or_default());
            let line = self.lines.line(Family::Frame, process, name);
            self.add(line, row.get(2)?, true)?;
        }
        Ok(())
    }

    /// Notes that the slice of a line is inside one of another line.
    pub fn note_parent(&mut self, line: i64, around: i64) {
        *self.parents.entry((line, around)).or_default() += 1;
    }

    /// Adds a duration of a line.
    pub fn add(&mut self, line: i64, dur: i64, is_sure: bool) -> Result<(), MeasureError> {
        let at = usize::try_from(line).unwrap_or(usize::MAX);
        if at >= self.sums.len() {
            self.sums.resize(self.lines.count(), Sums::default());
        }
        if let Some(sums) = self.sums.get_mut(at) {
            sums.all += 1;
            sums.all_ns += dur as f64;
            if is_sure {
                sums.sure += 1;
                sums.sure_ns += dur as f64;
            }
        }
        Ok(self.sorter.push(Lasted { line, dur, is_sure }, &())?)
    }

    /// Puts the statistics of all lines.
    pub fn put(self, measured: &mut Measured, details: bool) -> Result<(), MeasureError> {
        let Lasting { lines, sums, sorter, parents } = self;
        let mut left_out: HashMap<Family, (f64, f64)> = HashMap::new();
        for (number, sums) in (0_i64..).zip(&sums) {
            let Some(line) = lines.of(number) else { continue };
            let (without, all) = left_out.entry(line.family).or_default();
            *without += sums.all_ns - sums.sure_ns;
            *all += sums.all_ns;
            let count = Value { sure: Some(sums.sure as f64), all: Some(sums.all as f64) };
            let total = Value { sure: Some(sums.sure_ns), all: Some(sums.all_ns) };
            measured.values.push((line.clone(), Stat::Count, count));
            measured.values.push((line, Stat::Total, total));
        }
        let left_out = left_out.into_iter().filter(|(_, (_, all))| *all > 0.0);
        measured.facts.left_out =
            left_out.map(|(family, (out, all))| (family, out / all)).collect();
        measured.facts.left_out.sort_by_key(|(family, _)| *family);
        let mut ranks = Ranks::new(details);
        sorter.finish::<MeasureError>(|lasted, ()| {
            if ranks.line != Some(lasted.line) {
                ranks.end(&lines, measured);
                let at = usize::try_from(lasted.line).unwrap_or(usize::MAX);
                let of = sums.get(at).copied().unwrap_or_default();
                ranks.begin(lasted.line, (of.sure, of.all));
            }
            ranks.next(lasted.dur, lasted.is_sure);
            Ok(())
        })?;
        ranks.end(&lines, measured);
        for ((line, parent), count) in parents {
            if let (Some(line), Some(parent)) = (lines.of(line), lines.of(parent)) {
                measured.parents.push((line, parent.name, count));
            }
        }
        measured.parents.sort();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cm4_durations_come_back_from_the_disk_in_order() {
        let mut bytes = [0; Lasted::LONGEST];
        let before = Lasted { line: 7, dur: i64::MIN, is_sure: true };
        for lasted in [before, Lasted { line: 9, dur: i64::MAX, is_sure: false }] {
            let size = lasted.put(&before, &mut bytes);
            assert_eq!(Lasted::take(&before, &bytes[..size]), Some((lasted, size)));
        }
    }
}
