//! Things that last: slices, waits and frames, added up by line.

use std::collections::HashMap;
use std::path::Path;

use rusqlite::Connection;
use rusqlite::types::ValueRef;
use timebase_store::sort::{
    Key, LONGEST_NUMBER, Quota, Scratch, Sorter, put_difference, take_difference,
};

use super::{LASTING, MeasureError, Measured, Measuring};
use crate::line::{Family, Line, Stat};
use crate::pattern::Names;
use crate::values::Value;

/// A duration of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Lasted {
    line: i64,
    dur: i64,
    is_sure: bool,
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
struct Sums {
    sure: u64,
    all: u64,
    sure_ns: f64,
    all_ns: f64,
}

/// The things that last, of one run.
pub struct Lasting {
    lines: Lines,
    sums: Vec<Sums>,
    sorter: Sorter<Lasted, ()>,
    /// How often a name is around the slices of a line of self time.
    parents: HashMap<(i64, i64), u64>,
}

/// Lines by number. Each raw name becomes a pattern once.
struct Lines {
    names: Names,
    texts: HashMap<String, u32>,
    patterns: Vec<String>,
    of_pattern: HashMap<String, u32>,
    numbers: HashMap<(Family, u32, u32), i64>,
    all: Vec<(Family, u32, u32)>,
}

impl Lines {
    /// The number of the pattern of a raw name.
    fn text(&mut self, raw: &[u8]) -> u32 {
        let raw = String::from_utf8_lossy(raw);
        if let Some(number) = self.texts.get(&*raw) {
            return *number;
        }
        let pattern = self.names.pattern(&raw).into_owned();
        let new = u32::try_from(self.patterns.len()).unwrap_or(u32::MAX);
        let number = *self.of_pattern.entry(pattern.clone()).or_insert(new);
        if number == new {
            self.patterns.push(pattern);
        }
        self.texts.insert(raw.into_owned(), number);
        number
    }

    fn line(&mut self, family: Family, process: u32, name: u32) -> i64 {
        let new = i64::try_from(self.all.len()).unwrap_or(i64::MAX);
        let number = *self.numbers.entry((family, process, name)).or_insert(new);
        if number == new {
            self.all.push((family, process, name));
        }
        number
    }

    /// The line of a number.
    fn of(&self, number: i64) -> Option<Line> {
        let at = usize::try_from(number).ok()?;
        let (family, process, name) = *self.all.get(at)?;
        Some(Line { family, process: self.pattern(process), name: self.pattern(name) })
    }

    fn pattern(&self, number: u32) -> String {
        self.patterns.get(number as usize).cloned().unwrap_or_default()
    }
}

/// The open slices of each track: their ids, and the numbers of their lines of self time.
#[derive(Default)]
struct Stacks(HashMap<i64, Vec<(i64, i64)>>);

impl Stacks {
    /// Notes a slice, and returns the line of the one around it. Slices of a track come in the order of their ids, and
    /// an outer one has the lesser id.
    fn enter(&mut self, track: i64, (id, line): (i64, i64), parent: Option<i64>) -> Option<i64> {
        let stack = self.0.entry(track).or_default();
        let parent = parent.unwrap_or(i64::MIN);
        // The slice around it may have no name, and be no row.
        while stack.last().is_some_and(|(inner, _)| *inner > parent) {
            stack.pop();
        }
        let around = stack.last().filter(|(outer, _)| *outer == parent).map(|(_, line)| *line);
        stack.push((id, line));
        around
    }
}

impl Lasting {
    /// Reads all rows that last.
    pub fn read(
        conn: &Connection,
        measuring: &Measuring,
        scratch: &Path,
    ) -> Result<Lasting, MeasureError> {
        let names = measuring.names.clone();
        let lines = Lines {
            names,
            texts: HashMap::new(),
            patterns: Vec::new(),
            of_pattern: HashMap::new(),
            numbers: HashMap::new(),
            all: Vec::new(),
        };
        let sorter = Sorter::new(Scratch::new(scratch, &Quota::default()));
        let mut lasting = Lasting { lines, sums: Vec::new(), sorter, parents: HashMap::new() };
        let mut stacks = Stacks::default();
        let mut statement = conn.prepare(LASTING)?;
        let mut rows = statement.query([])?;
        let bytes = |value: ValueRef<'_>| value.as_bytes().map(<[u8]>::to_vec).unwrap_or_default();
        let mut last: Option<(Vec<u8>, Family)> = None;
        while let Some(row) = rows.next()? {
            let family = row.get_ref(0)?;
            let family = match &last {
                Some((name, family_before)) if family.as_bytes() == Ok(name) => *family_before,
                _ => {
                    let name = bytes(family);
                    let Some(family) = Family::parse(&String::from_utf8_lossy(&name)) else {
                        continue;
                    };
                    last = Some((name, family));
                    family
                }
            };
            let process = lasting.lines.text(row.get_ref(1)?.as_bytes().unwrap_or_default());
            let name = lasting.lines.text(row.get_ref(2)?.as_bytes().unwrap_or_default());
            let (dur, is_sure): (i64, bool) = (row.get(3)?, row.get(5)?);
            let line = lasting.lines.line(family, process, name);
            lasting.add(line, dur, is_sure)?;
            let self_dur: Option<i64> = row.get(4)?;
            if let Some(self_dur) = self_dur {
                let line = lasting.lines.line(Family::SelfTime, process, name);
                lasting.add(line, self_dur, is_sure)?;
                let (track, id, parent) = (row.get(6)?, row.get(7)?, row.get(8)?);
                if let Some(parent) = stacks.enter(track, (id, line), parent) {
                    *lasting.parents.entry((line, parent)).or_default() += 1;
                }
            }
        }
        Ok(lasting)
    }

    fn add(&mut self, line: i64, dur: i64, is_sure: bool) -> Result<(), MeasureError> {
        let at = usize::try_from(line).unwrap_or(usize::MAX);
        if at >= self.sums.len() {
            self.sums.resize(self.lines.all.len(), Sums::default());
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
                ranks.begin(lasted.line, sums.get(at).copied().unwrap_or_default());
            }
            ranks.next(lasted);
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

/// The percentiles of one line after another, from durations in order.
struct Ranks {
    details: bool,
    line: Option<i64>,
    of: Sums,
    seen: Sums,
    found: [Value; 4],
    buckets: Vec<(i32, u64)>,
}

const PERCENTILES: [(Stat, u64); 4] =
    [(Stat::P50, 50), (Stat::P90, 90), (Stat::P99, 99), (Stat::Max, 100)];

/// The rank of a percentile among `n`, from 1 (rule CM4: nearest rank).
fn rank(percent: u64, n: u64) -> u64 {
    let product = u128::from(percent) * u128::from(n);
    u64::try_from(product.div_ceil(100)).unwrap_or(u64::MAX)
}

impl Ranks {
    fn new(details: bool) -> Ranks {
        Ranks {
            details,
            line: None,
            of: Sums::default(),
            seen: Sums::default(),
            found: [Value::default(); 4],
            buckets: Vec::new(),
        }
    }

    fn begin(&mut self, line: i64, of: Sums) {
        *self = Ranks { line: Some(line), of, ..Ranks::new(self.details) };
    }

    fn next(&mut self, lasted: &Lasted) {
        self.seen.all += 1;
        self.seen.sure += u64::from(lasted.is_sure);
        for ((_, percent), found) in PERCENTILES.iter().zip(&mut self.found) {
            if self.seen.all == rank(*percent, self.of.all) {
                found.all = Some(lasted.dur as f64);
            }
            if lasted.is_sure && self.seen.sure == rank(*percent, self.of.sure) {
                found.sure = Some(lasted.dur as f64);
            }
        }
        if self.details {
            let bucket = bucket(lasted.dur);
            match self.buckets.last_mut() {
                Some((last, count)) if *last == bucket => *count += 1,
                _ => self.buckets.push((bucket, 1)),
            }
        }
    }

    fn end(&mut self, lines: &Lines, measured: &mut Measured) {
        let Some(line) = self.line.take().and_then(|line| lines.of(line)) else { return };
        for ((stat, _), found) in PERCENTILES.iter().zip(self.found) {
            measured.values.push((line.clone(), *stat, found));
        }
        let buckets = self.buckets.drain(..);
        measured.buckets.extend(buckets.map(|(bucket, count)| (line.clone(), bucket, count)));
    }
}

/// The number of the bucket of a duration: each is 2 % wider than the one before (rule CM4).
fn bucket(dur: i64) -> i32 {
    // 1.02 ^ bucket ns; nothing is shorter than 1 ns.
    let dur = dur.max(1) as f64;
    (dur.ln() / 1.02_f64.ln()).floor() as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cm4_a_percentile_is_the_row_of_the_nearest_rank() {
        assert_eq!([rank(50, 1), rank(99, 1), rank(100, 1)], [1, 1, 1]);
        assert_eq!([rank(50, 5), rank(90, 5), rank(99, 5), rank(100, 5)], [3, 5, 5, 5]);
        assert_eq!([rank(50, 100), rank(90, 100), rank(99, 100)], [50, 90, 99]);
        assert_eq!(rank(100, u64::MAX), u64::MAX);
    }

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
