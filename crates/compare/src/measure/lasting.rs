//! Things that last, added up by line: slices, waits and frames.

use std::collections::HashMap;
use std::path::Path;

use rusqlite::Connection;
use rustc_hash::FxHashMap;

use super::durations::{Durations, IN_MEMORY};
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
    durations: Durations,
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
            durations: Durations::new(scratch, IN_MEMORY),
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
        Ok(self.durations.push(line, dur, is_sure)?)
    }

    /// Puts the statistics of all lines.
    pub fn put(self, measured: &mut Measured, details: bool) -> Result<(), MeasureError> {
        let Lasting { lines, sums, durations, parents } = self;
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
        durations.finish::<MeasureError>(|lasted| {
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
