//! The collective of each participation (rule AL3).
//!
//! # Design
//!
//! Participations are sorted by group and number, which shows the numbers that repeat in a file. Those that have none
//! or such numbers are sorted by file and launch, to be counted in their step of the profiler.

use std::collections::{BTreeMap, BTreeSet};

use timebase_store::sort::{Scratch, Sorter};

use super::kernels::{each, push};
use super::participation::{Order, Participation};
use super::{Context, FIRST, MANY};
use crate::align::packets::{COUNT, FILE, READING};
use crate::compact::{Compact, Take};
use crate::error::WriteError;
use crate::spill::{Records, SpillQueue};

/// Participations in the order of their groups and numbers.
pub(super) struct Numbered {
    with_number: SpillQueue,
    without: Unnumbered,
    /// The files and groups in which a number repeats.
    repeats: BTreeSet<(i64, u64)>,
    has_without: bool,
    scratch: Scratch,
}

/// The difference of a collective to others: its group, whether its step counts, its number or step, and its place in
/// the step.
pub(super) type Which = [i64; 4];

impl Numbered {
    /// Makes participations of kernels, and sorts them.
    ///
    /// # Errors
    ///
    /// If a temporary file cannot be read or written.
    pub fn new(
        kernels: Sorter<Order>,
        places: &[u64],
        scratch: &Scratch,
    ) -> Result<Numbered, WriteError> {
        let mut by_number = Sorter::new(scratch);
        let mut without = Unnumbered { launches: Sorter::new(scratch), lost: Lost::default() };
        let (mut has_without, mut record) = (false, Vec::new());
        let mut add = |of: Participation| {
            let place = usize::try_from(of.group).ok().and_then(|group| places.get(group));
            let of = Participation { group: place.copied().unwrap_or_default(), ..of };
            match of.seq {
                Some(seq) => {
                    let order = [of.group as i64, seq, of.file, of.row];
                    push(&mut by_number, order, &of, &mut record)
                }
                None => {
                    has_without = true;
                    without.add(&of, &mut record)
                }
            }
        };
        let mut current: Option<([i64; 3], Participation)> = None;
        kernels.finish(|&Order([file, has_op, id, _]), kernel| {
            let (key, kernel) = ([file, has_op, id], Participation::take(&mut Take(kernel))?);
            match &mut current {
                Some((last, earlier)) if *last == key => {
                    earlier.extend(&kernel);
                    Ok(())
                }
                _ => match current.replace((key, kernel)) {
                    Some((_, earlier)) => add(earlier),
                    None => Ok(()),
                },
            }
        })?;
        if let Some((_, last)) = current {
            add(last)?;
        }
        let mut with_number = SpillQueue::new(scratch);
        let mut repeats = BTreeSet::new();
        let mut last = None;
        by_number.finish(|&Order([group, seq, file, _]), record| {
            if last.replace([group, seq, file]) == Some([group, seq, file]) {
                repeats.insert((file, group as u64));
            }
            with_number.push(record);
            std::io::Result::Ok(())
        })?;
        let scratch = scratch.clone();
        Ok(Numbered { with_number, without, repeats, has_without, scratch })
    }

    /// Whether numbers do not tell the collectives of a file apart.
    pub fn needs_steps(&self) -> bool {
        self.has_without || !self.repeats.is_empty()
    }

    /// Finds the collective of each participation.
    ///
    /// # Errors
    ///
    /// If a temporary file cannot be read or written.
    pub fn identify(self, steps: &Steps) -> Result<Identified, WriteError> {
        let Numbered { with_number, mut without, repeats, scratch, .. } = self;
        let mut clocks = BTreeSet::new();
        let (mut by_number, mut copy) = (SpillQueue::new(&scratch), Vec::new());
        with_number.drain(|record| {
            let of = Participation::take(&mut Take(record))?;
            if repeats.contains(&(of.file, of.group)) {
                return without.add(&of, &mut copy);
            }
            clocks.insert(of.clock());
            by_number.push(record);
            Ok::<(), WriteError>(())
        })?;
        let (by_step, lost) = steps.count(without, &scratch, &mut clocks)?;
        Ok(Identified { by_number, by_step, clocks, lost })
    }
}

/// Participations whose collective is known.
pub(super) struct Identified {
    /// By group, number and file.
    by_number: SpillQueue,
    /// By group, step, place in it and file.
    by_step: Sorter<Order>,
    /// The clocks of all.
    pub clocks: BTreeSet<usize>,
    /// The participations whose collective is unknown.
    pub lost: Lost,
}

/// The participations of each group and clock that nothing tells apart, counted.
#[derive(Debug, Default)]
pub(super) struct Lost(BTreeMap<u64, BTreeMap<usize, i64>>);

impl Lost {
    fn add(&mut self, of: &Participation) {
        let count = self.0.entry(of.group).or_default().entry(of.clock()).or_default();
        *count = count.saturating_add(1);
    }

    /// Gives each two clocks that may have been in the same collectives, and in how many. Of many clocks, only pairs
    /// with the first ones count.
    pub fn each(&self, mut each: impl FnMut((usize, usize), i64)) {
        for counts in self.0.values() {
            let first = if counts.len() > MANY { FIRST } else { counts.len() };
            for (place, (&one, &count)) in counts.iter().enumerate().take(first) {
                for (&other, &of_other) in counts.iter().skip(place + 1) {
                    each((one, other), count.min(of_other));
                }
            }
        }
    }
}

impl Identified {
    /// Gives participations with their collectives, in the order of these, and then in that of the files.
    ///
    /// # Errors
    ///
    /// The first error of `each`. Or if a temporary file cannot be read.
    pub fn each(
        self,
        mut each: impl FnMut(Which, Participation) -> Result<(), WriteError>,
    ) -> Result<(), WriteError> {
        let mut numbered = Peeked::new(self.by_number.records()?)?;
        self.by_step.finish(|&Order([group, step, place, _]), record| {
            while let Some(of) = numbered.next_if(|of| of.group as i64 <= group)? {
                each(of.numbered(), of)?;
            }
            each([group, 1, step, place], Participation::take(&mut Take(record))?)
        })?;
        while let Some(of) = numbered.next_if(|_| true)? {
            each(of.numbered(), of)?;
        }
        Ok(())
    }
}

impl Participation {
    fn numbered(&self) -> Which {
        [self.group as i64, 0, self.seq.unwrap_or_default(), 0]
    }
}

/// Participations whose number does not tell them apart.
struct Unnumbered {
    /// By file, launch, start and place.
    launches: Sorter<Order>,
    lost: Lost,
}

impl Unnumbered {
    /// Adds one. Without a launch its collective is unknown.
    fn add(&mut self, of: &Participation, record: &mut Vec<u8>) -> Result<(), WriteError> {
        match of.launch {
            Some(launch) => {
                push(&mut self.launches, [of.file, launch, of.start, of.row], of, record)
            }
            None => {
                self.lost.add(of);
                Ok(())
            }
        }
    }
}

/// Records whose next one is known.
struct Peeked {
    records: Records,
    next: Option<Participation>,
}

impl Peeked {
    fn new(records: Records) -> Result<Peeked, WriteError> {
        let mut peeked = Peeked { records, next: None };
        peeked.advance()?;
        Ok(peeked)
    }

    fn advance(&mut self) -> Result<(), WriteError> {
        self.next = match self.records.next()? {
            Some(record) => Some(Participation::take(&mut Take(record))?),
            None => None,
        };
        Ok(())
    }

    fn next_if(
        &mut self,
        is_wanted: impl Fn(&Participation) -> bool,
    ) -> Result<Option<Participation>, WriteError> {
        let next = self.next.filter(is_wanted);
        if next.is_some() {
            self.advance()?;
        }
        Ok(next)
    }
}

/// The steps of the profiler: by files, their begins, ends and numbers.
#[derive(Debug, Default)]
pub(super) struct Steps(BTreeMap<i64, Vec<(i64, i64, i64)>>);

impl Steps {
    /// # Errors
    ///
    /// If the database cannot be read.
    pub fn read(context: &mut Context<'_, '_>) -> Result<Steps, WriteError> {
        let mut steps = Steps::default();
        let sql = format!(
            "SELECT {READING}, s.dur, n.value FROM slice_record AS s \
             JOIN string AS n ON n.id = s.name AND n.value LIKE 'ProfilerStep#%' \
             JOIN packet AS p ON p.id = s.packet_id WHERE s.dur >= 0 \
               AND s.category IS NOT (SELECT id FROM string WHERE value = 'gpu_user_annotation')"
        );
        each(context.conn, &sql, |row| {
            let reading = context.packets.read(row, context.clocks)?;
            let Some((_, start)) = reading else { return Ok(()) };
            let (dur, name): (i64, String) = (row.get(COUNT)?, row.get(COUNT + 1)?);
            let number = name.rsplit('#').next().and_then(|number| number.parse().ok());
            if let Some(number) = number {
                let of_file = steps.0.entry(row.get(FILE)?).or_default();
                of_file.push((start, start.saturating_add(dur), number));
            }
            Ok(())
        })?;
        steps.0.values_mut().for_each(|of_file| of_file.sort_unstable());
        Ok(steps)
    }

    /// The number of the last step that begins before a launch, if the launch is in it.
    fn around(&self, file: i64, at: i64) -> Option<i64> {
        let of_file = self.0.get(&file)?;
        let begun = of_file.partition_point(|(start, ..)| *start <= at);
        let (_, end, number) = of_file.get(begun.checked_sub(1)?)?;
        (at < *end).then_some(*number)
    }

    /// Counts the launches of each group in each step, and sorts them by group, step, place in it, and file. `clocks` gets
    /// their clocks.
    fn count(
        &self,
        without: Unnumbered,
        scratch: &Scratch,
        clocks: &mut BTreeSet<usize>,
    ) -> Result<(Sorter<Order>, Lost), WriteError> {
        let mut by_step = Sorter::new(scratch);
        let mut launched: BTreeMap<(u64, i64), i64> = BTreeMap::new();
        let mut last = None;
        let Unnumbered { launches, mut lost } = without;
        launches.finish(|&Order([file, launch, ..]), record| {
            if last.replace(file) != Some(file) {
                launched.clear();
            }
            let of = Participation::take(&mut Take(record))?;
            let Some(step) = self.around(file, launch) else {
                lost.add(&of);
                return Ok(());
            };
            let place = launched.entry((of.group, step)).or_default();
            *place = place.saturating_add(1);
            clocks.insert(of.clock());
            Ok::<(), WriteError>(
                by_step.push(Order([of.group as i64, step, *place, file]), record)?,
            )
        })?;
        Ok((by_step, lost))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use timebase_store::sort::Quota;

    use super::*;

    /// Kernels of 3 files, each with what makes it one participation with others.
    fn kernels(count: i64, has_numbers: bool) -> Vec<([i64; 2], Participation)> {
        let mut state = count as u64;
        let mut below = |most: i64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as i64 % most
        };
        let kernel = |row| {
            let (file, op) = (below(3), below(count * 2));
            // The numbers of group 1 repeat in file 2.
            let group = below(3) as u64;
            let seq = if (file, group) == (2, 1) { below(4) } else { op };
            let start = below(1000);
            let of = Participation {
                file,
                row,
                clock: file as u64 + 5,
                start,
                end: start + below(50),
                group,
                seq: (has_numbers || below(9) > 0).then_some(seq),
                launch: (below(9) > 0).then(|| below(1000)),
                ..Participation::default()
            };
            ([below(2), op], of)
        };
        (0..count).map(kernel).collect()
    }

    fn steps() -> Steps {
        let of_file = (0..8).map(|step| (step * 110, step * 110 + 100, step)).collect();
        Steps((0..3).map(|file| (file, Vec::clone(&of_file))).collect())
    }

    /// The same in memory, straight from rule AL3.
    fn naive(kernels: &[([i64; 2], Participation)]) -> Vec<(Which, Participation)> {
        let mut all: Vec<([i64; 2], Participation)> = Vec::new();
        for (op, kernel) in kernels {
            let is_same = |other: &&mut ([i64; 2], Participation)| {
                (other.0, other.1.file) == (*op, kernel.file)
            };
            match all.iter_mut().find(is_same) {
                Some((_, earlier)) => earlier.extend(kernel),
                None => all.push((*op, *kernel)),
            }
        }
        let mut all: Vec<Participation> = all.into_iter().map(|(_, of)| of).collect();
        all.sort_by_key(|of| (of.file, of.launch, of.start));
        let repeats = |of: &Participation| {
            let group = all.iter().filter(|other| (other.file, other.group) == (of.file, of.group));
            let numbers: Vec<i64> = group.filter_map(|other| other.seq).collect();
            numbers.len() > numbers.iter().collect::<BTreeSet<_>>().len()
        };
        let steps = steps();
        let mut launched: BTreeMap<(i64, u64, i64), i64> = BTreeMap::new();
        let mut identified = Vec::new();
        for of in &all {
            let group = of.group as i64;
            let which = match of.seq.filter(|_| !repeats(of)) {
                Some(seq) => [group, 0, seq, 0],
                None => {
                    let Some(launch) = of.launch else { continue };
                    let Some(step) = steps.around(of.file, launch) else { continue };
                    let place = launched.entry((of.file, of.group, step)).or_default();
                    *place += 1;
                    [group, 1, step, *place]
                }
            };
            identified.push((which, *of));
        }
        identified.sort_by_key(|(which, of)| (*which, of.file));
        identified
    }

    #[test]
    fn al3_participations_are_sorted_as_in_memory() {
        let scratch = Scratch::new(&std::env::temp_dir(), &Quota::default());
        let (mut by_number, mut by_step) = (0, 0);
        for count in 1..120 {
            let kernels = kernels(count, count % 2 == 0);
            let mut sorted = Sorter::new(&scratch);
            for ([has_op, id], of) in &kernels {
                push(&mut sorted, [of.file, *has_op, *id, of.row], of, &mut Vec::new()).unwrap();
            }
            let all = Numbered::new(sorted, &[0, 1, 2], &scratch).unwrap();
            let needs_steps = all.needs_steps();
            let identified = all.identify(&steps()).unwrap();
            let clocks = identified.clocks.clone();
            let mut found = Vec::new();
            let each = |which, of| {
                found.push((which, of));
                Ok(())
            };
            identified.each(each).unwrap();
            assert_eq!(found, naive(&kernels), "{count}");
            assert_eq!(clocks, found.iter().map(|(_, of)| of.clock()).collect());
            let steps = found.iter().filter(|(which, _)| which[1] == 1).count();
            assert!(needs_steps || steps == 0);
            (by_number, by_step) = (by_number + found.len() - steps, by_step + steps);
        }
        assert!(by_number > 3000 && by_step > 300, "{by_number} {by_step}");
    }
}
