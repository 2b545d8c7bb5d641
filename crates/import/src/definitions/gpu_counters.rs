//! The described counters of GPUs (rule M11), and their groups (rule M14).

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;
use timebase_trace::Interval;

/// All described counters.
#[derive(Debug, Default)]
pub(crate) struct GpuCounters {
    all: Vec<GpuCounter>,
    /// Counters whose numbers hold for the whole part, by their numbers.
    own: FxHashMap<u32, usize>,
    /// The descriptor for a number of interned data.
    interned: FxHashMap<(Interval, u64), usize>,
    descriptors: Vec<Described>,
    /// Equal descriptors, which are stored once because each interval repeats them.
    known: FxHashMap<Box<[u8]>, usize>,
    /// The members of groups, and the names of groups.
    members: Vec<Member>,
    called: Vec<GroupCalled>,
}

/// Counters by the numbers that they have in a descriptor.
type Described = FxHashMap<u32, usize>;

/// A counter of a GPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GpuCounter {
    pub gpu: u32,
    pub name: Box<str>,
    pub unit: Option<Box<str>>,
    pub description: Option<Box<str>>,
    /// Whether a sample holds for the time after it.
    pub is_forwards: bool,
}

/// A counter in a descriptor.
#[derive(Debug)]
pub(crate) struct DescribedCounter {
    pub number: u32,
    pub counter: GpuCounter,
    /// The groups that the counter names.
    pub groups: Vec<i32>,
}

/// A group in a descriptor.
#[derive(Debug)]
pub(crate) struct CounterGroup {
    pub group: i32,
    pub called: GroupCalled,
    /// The numbers of counters that the group names.
    pub counters: Vec<u32>,
}

/// The name and the description of a group.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct GroupCalled {
    pub name: Option<Box<str>>,
    pub description: Option<Box<str>>,
}

/// A counter's membership in a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Member {
    /// The counter's index among all counters.
    pub counter: usize,
    pub group: i32,
    /// The name of the group, as an index of [`GpuCounters::called`].
    pub called: Option<usize>,
}

impl GpuCounters {
    /// Adds counters whose numbers hold for the whole part; of equal numbers, the first counts.
    pub fn describe(&mut self, counters: Vec<DescribedCounter>, groups: Vec<CounterGroup>) {
        let counters =
            counters.into_iter().filter_map(|described| match self.own.entry(described.number) {
                Entry::Occupied(_) => None,
                Entry::Vacant(own) => {
                    own.insert(self.all.len());
                    self.all.push(described.counter);
                    Some((described.number, self.all.len() - 1, described.groups))
                }
            });
        let new: Vec<_> = counters.collect();
        if !new.is_empty() {
            self.sort(new, groups);
        }
    }

    /// Whether a number of interned data has a descriptor.
    pub fn knows(&self, interval: Interval, iid: u64) -> bool {
        self.interned.contains_key(&(interval, iid))
    }

    /// Gives a number of interned data its descriptor; of counters with one number, the first
    /// counts.
    pub fn intern(
        &mut self,
        interval: Interval,
        iid: u64,
        bytes: &[u8],
        counters: impl FnOnce() -> (Vec<DescribedCounter>, Vec<CounterGroup>),
    ) {
        let descriptor = match self.known.get(bytes) {
            Some(&descriptor) => descriptor,
            None => {
                let (counters, groups) = counters();
                let mut described = Described::default();
                let mut new = Vec::new();
                for one in counters {
                    if let Entry::Vacant(place) = described.entry(one.number) {
                        place.insert(self.all.len());
                        new.push((one.number, self.all.len(), one.groups));
                        self.all.push(one.counter);
                    }
                }
                self.sort(new, groups);
                self.known.insert(bytes.into(), self.descriptors.len());
                self.descriptors.push(described);
                self.descriptors.len() - 1
            }
        };
        self.interned.insert((interval, iid), descriptor);
    }

    /// Puts new counters of a descriptor into groups: the groups that they name, and the groups
    /// that name them (rule M14). Each counter comes with its number, its index and its groups.
    fn sort(&mut self, new: Vec<(u32, usize, Vec<i32>)>, groups: Vec<CounterGroup>) {
        let first = self.called.len();
        let mut called = FxHashMap::default();
        for (place, group) in (first..).zip(&groups) {
            called.entry(group.group).or_insert(place);
        }
        let mut numbers = FxHashMap::default();
        for (number, counter, in_groups) in new {
            numbers.insert(number, counter);
            if in_groups.is_empty() {
                self.members.push(Member { counter, group: 0, called: None });
            }
            self.members.extend(in_groups.iter().map(|&group| Member {
                counter,
                group,
                called: called.get(&group).copied(),
            }));
        }
        for (place, group) in (first..).zip(groups) {
            let counters = group.counters.iter();
            let counters = counters.filter_map(|number| numbers.get(number));
            self.members.extend(counters.map(|&counter| Member {
                counter,
                group: group.group,
                called: Some(place),
            }));
            self.called.push(group.called);
        }
    }

    /// The index of the counter with a number that holds for the whole part.
    pub fn own(&self, number: u32) -> Option<usize> {
        self.own.get(&number).copied()
    }

    /// The index of the counter with this number in the descriptor for a number of interned data.
    pub fn interned(&self, interval: Interval, iid: u64, number: u32) -> Option<usize> {
        let descriptor = *self.interned.get(&(interval, iid))?;
        self.descriptors.get(descriptor)?.get(&number).copied()
    }

    /// Whether samples of a counter hold for the time after them.
    pub fn is_forwards(&self, counter: usize) -> bool {
        let counter = self.all.get(counter);
        counter.is_some_and(|counter| counter.is_forwards)
    }

    /// All counters, in file order.
    pub fn iter(&self) -> impl Iterator<Item = &GpuCounter> {
        self.all.iter()
    }

    /// All memberships in groups, in file order.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// The names of groups.
    pub fn called(&self) -> &[GroupCalled] {
        &self.called
    }
}
