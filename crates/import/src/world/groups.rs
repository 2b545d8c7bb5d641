//! The groups of the times of a machine's events: starts and ends of slices, values and runs of CPUs, with
//! more than an hour between two groups (rule FE6).
//!
//! # Design
//!
//! Nearly every trace has one group, so each time costs two comparisons. A list has the groups in the order of
//! time, and the last one that was used is tried first. At most 128 groups are kept for each machine: to make
//! room, the two that are nearest to each other become one. The alternative was to find the groups by SQL after
//! the import. But no index has the ends of slices, so a trace of some hours would be read once more.

use timebase_schema::tables::{counter_record, event_group, sched_record, slice_record};

use crate::output::{Cell, Rows};

/// The least time between two groups: an hour.
const APART: i64 = 3_600_000_000_000;

/// The largest number of groups of a machine.
const MOST: usize = 128;

/// The kinds of times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimeOf {
    Slice,
    Value,
    Run,
}

/// A group of times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Group {
    start: i64,
    end: i64,
    times: i64,
}

/// The groups of a machine, in the order of time.
#[derive(Debug, Default)]
struct OfMachine {
    groups: Vec<Group>,
    /// The place of the group that was used last.
    last: usize,
}

/// The groups of all machines.
#[derive(Debug)]
pub(crate) struct Groups {
    /// By the machine's number, which is small.
    machines: Vec<OfMachine>,
    /// Whether slices, values and runs become rows.
    wanted: [bool; 3],
}

impl Groups {
    pub fn new(rows: &Rows<'_>) -> Groups {
        let tables = [&slice_record::TABLE, &counter_record::TABLE, &sched_record::TABLE];
        Groups { machines: Vec::new(), wanted: tables.map(|table| rows.wants(table)) }
    }

    /// Notes a time of an event of a machine.
    #[inline]
    pub fn see(&mut self, of: TimeOf, machine: u32, ts: i64) {
        if !self.wanted[of as usize] {
            return;
        }
        let known = self.machines.get_mut(machine as usize);
        if !known.is_some_and(|known| known.continues(ts)) {
            self.look_up(machine, ts);
        }
    }

    fn look_up(&mut self, machine: u32, ts: i64) {
        let machine = machine as usize;
        if self.machines.len() <= machine {
            self.machines.resize_with(machine + 1, OfMachine::default);
        }
        self.machines[machine].add(ts);
    }

    /// Makes a row for each group.
    pub fn end(&self, rows: &mut Rows<'_>) {
        for (machine, of) in (0_u32..).zip(&self.machines) {
            for group in &of.groups {
                rows.push(event_group::Row {
                    machine_id: Cell::from(machine),
                    start_ts: Cell::from(group.start),
                    end_ts: Cell::from(group.end),
                    times: Cell::from(group.times),
                });
            }
        }
    }
}

impl OfMachine {
    /// Adds a time to the group that was used last, if it is in the group, or if no other group can come
    /// near to that.
    #[inline]
    fn continues(&mut self, ts: i64) -> bool {
        let is_final = self.last + 1 == self.groups.len();
        let Some(group) = self.groups.get_mut(self.last) else {
            return false;
        };
        let end = match is_final {
            true => group.end.saturating_add(APART),
            false => group.end,
        };
        if ts < group.start || ts > end {
            return false;
        }
        group.end = group.end.max(ts);
        group.times += 1;
        true
    }

    fn add(&mut self, ts: i64) {
        let groups = &mut self.groups;
        let place = groups.partition_point(|group| group.end.saturating_add(APART) < ts);
        match groups.get_mut(place) {
            Some(group) if group.start.saturating_sub(APART) <= ts => {
                group.start = group.start.min(ts);
                group.end = group.end.max(ts);
                group.times += 1;
                self.last = place;
                self.join(place);
            }
            _ => {
                let (start, end, times) = (ts, ts, 1);
                groups.insert(place, Group { start, end, times });
                self.last = place;
                if groups.len() > MOST {
                    self.make_room();
                }
            }
        }
    }

    /// Joins a group and the next one, if they are no longer apart.
    fn join(&mut self, place: usize) {
        let pair = self.groups.get(place).zip(self.groups.get(place + 1));
        if pair.is_some_and(|(group, next)| next.start.saturating_sub(APART) <= group.end) {
            self.unite(place);
        }
    }

    /// Makes one group of two.
    fn unite(&mut self, place: usize) {
        let next = self.groups.remove(place + 1);
        if let Some(group) = self.groups.get_mut(place) {
            group.end = group.end.max(next.end);
            group.times += next.times;
        }
        self.last = place;
    }

    /// Makes one group of the two that are nearest to each other.
    #[cold]
    fn make_room(&mut self) {
        let pairs = (0..).zip(self.groups.windows(2));
        let nearest = pairs.min_by_key(|(_, pair)| match pair {
            [one, next] => next.start.saturating_sub(one.end),
            _ => i64::MAX,
        });
        if let Some((place, _)) = nearest {
            self.unite(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(times: &[i64]) -> Vec<Group> {
        let mut of = OfMachine::default();
        for &ts in times {
            if !of.continues(ts) {
                of.add(ts);
            }
        }
        of.groups
    }

    fn group(start: i64, end: i64, times: i64) -> Group {
        Group { start, end, times }
    }

    #[test]
    fn fe6_groups_are_more_than_an_hour_apart() {
        let found = groups(&[0, 7, APART + 8, APART + 9, 3 * APART]);
        let expected =
            [group(0, 7, 2), group(APART + 8, APART + 9, 2), group(3 * APART, 3 * APART, 1)];
        assert_eq!(found, expected);
        // A time between two groups joins them.
        assert_eq!(groups(&[0, APART + 8, 8]), [group(0, APART + 8, 3)]);
        assert_eq!(groups(&[i64::MAX, i64::MIN]).len(), 2);
    }

    #[test]
    fn fe6_groups_are_those_of_the_sorted_times_in_any_order() {
        let mut seed = 7_u64;
        let mut random = |most: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((seed >> 33) % most) as i64
        };
        for _ in 0..300 {
            let times: Vec<i64> = (0..40).map(|_| random(60) * (APART / 3)).collect();
            let mut sorted = times.clone();
            sorted.sort_unstable();
            let mut expected: Vec<Group> = Vec::new();
            for ts in sorted {
                match expected.last_mut() {
                    Some(last) if ts - last.end <= APART => {
                        last.end = ts;
                        last.times += 1;
                    }
                    _ => expected.push(group(ts, ts, 1)),
                }
            }
            assert_eq!(groups(&times), expected);
        }
    }

    #[test]
    fn fe6_groups_are_bounded_and_the_nearest_ones_join() {
        let mut times: Vec<i64> = (1..1000).map(|n| n * 2 * APART).collect();
        times.push(-(1 << 60));
        let found = groups(&times);
        assert_eq!(found.len(), MOST);
        assert_eq!(found.first(), Some(&group(-(1 << 60), -(1 << 60), 1)));
        assert_eq!(found.iter().map(|group| group.times).sum::<i64>(), 1000);
    }
}
