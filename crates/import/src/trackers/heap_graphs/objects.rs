//! The objects of a graph and their references, in memory.
//!
//! # Design
//!
//! A dump may have a million objects with three million references. So an object takes about forty bytes, and a
//! reference eight: each property is a vector of its own, references are numbers of objects, and the table that
//! finds an object has four bytes for each. The alternative was a struct for each object in a map by its number. The
//! map alone would have 16 bytes for each object, and three vectors for its references 72.

use std::hash::{BuildHasher, BuildHasherDefault};
use std::ops::Range;

use hashbrown::HashTable;
use rustc_hash::FxHasher;

use super::ids::RowIds;

/// The place of an object in its graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ObjectIx(pub u32);

/// A row of `heap_graph_class`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::trackers) struct ClassId(pub u32);

/// No object, no set.
const NONE: u32 = u32::MAX;

/// An object as far as it is known.
#[derive(Debug, Default)]
pub(super) struct Objects {
    places: HashTable<u32>,
    numbers: Vec<u64>,
    pub rows: RowIds,
    sizes: Vec<i64>,
    classes: Vec<u32>,
    /// The places of their sets of references.
    sets: Vec<u32>,
    states: Vec<u8>,
}

/// The heap that an object is in, from the trace. 0 is unknown.
const HEAP: u8 = 0b0000_0111;
/// A heap type that has no name.
pub(super) const OTHER_HEAP: u8 = 4;
/// The runtime keeps the object (rule HG7).
const KEPT: u8 = 0b0000_1000;

fn hash(number: u64) -> u64 {
    BuildHasherDefault::<FxHasher>::default().hash_one(number)
}

impl Objects {
    /// The object with a number.
    pub fn find(&self, number: u64) -> Option<ObjectIx> {
        let same = |place: &u32| self.numbers.get(*place as usize) == Some(&number);
        self.places.find(hash(number), same).map(|place| ObjectIx(*place))
    }

    /// The object with a number, which may be new.
    pub fn get(&mut self, number: u64, next: &mut u32) -> ObjectIx {
        if let Some(object) = self.find(number) {
            return object;
        }
        let place = self.rows.take(next);
        self.numbers.push(number);
        self.sizes.push(-1);
        self.classes.push(0);
        self.sets.push(NONE);
        self.states.push(0);
        let numbers = &self.numbers;
        let rehash = |place: &u32| hash(numbers.get(*place as usize).copied().unwrap_or(0));
        self.places.insert_unique(hash(number), place, rehash);
        ObjectIx(place)
    }

    /// Frees the numbers of objects in the trace.
    pub fn forget_numbers(&mut self) {
        self.places = HashTable::new();
        self.numbers = Vec::new();
    }

    pub fn all(&self) -> impl Iterator<Item = ObjectIx> + use<> {
        (0..self.rows.count()).map(ObjectIx)
    }

    pub fn row(&self, object: ObjectIx) -> u32 {
        self.rows.row(object.0)
    }

    pub fn size(&self, ObjectIx(place): ObjectIx) -> i64 {
        self.sizes.get(place as usize).copied().unwrap_or(-1)
    }

    pub fn set_size(&mut self, ObjectIx(place): ObjectIx, size: i64) {
        if let Some(known) = self.sizes.get_mut(place as usize) {
            *known = size;
        }
    }

    /// An object that the trace does not describe is of its first class (rule HG4).
    pub fn class(&self, ObjectIx(place): ObjectIx) -> ClassId {
        ClassId(self.classes.get(place as usize).copied().unwrap_or(0))
    }

    pub fn set_class(&mut self, ObjectIx(place): ObjectIx, class: ClassId) {
        if let Some(known) = self.classes.get_mut(place as usize) {
            *known = class.0;
        }
    }

    /// The heap type; 0 if it is unknown.
    pub fn heap(&self, ObjectIx(place): ObjectIx) -> u8 {
        self.states.get(place as usize).copied().unwrap_or(0) & HEAP
    }

    pub fn set_heap(&mut self, ObjectIx(place): ObjectIx, heap: u8, is_kept: bool) {
        if let Some(state) = self.states.get_mut(place as usize) {
            let kept = if is_kept { KEPT } else { 0 };
            *state = *state & !HEAP | heap & HEAP | kept;
        }
    }

    /// Whether the runtime keeps the object.
    pub fn is_kept(&self, ObjectIx(place): ObjectIx) -> bool {
        self.states.get(place as usize).copied().unwrap_or(0) & KEPT != 0
    }

    pub fn set(&self, ObjectIx(place): ObjectIx) -> Option<SetIx> {
        let set = self.sets.get(place as usize).copied();
        set.filter(|set| *set != NONE).map(SetIx)
    }

    pub fn set_set(&mut self, ObjectIx(place): ObjectIx, SetIx(set): SetIx) {
        if let Some(known) = self.sets.get_mut(place as usize) {
            *known = set;
        }
    }
}

/// The place of a set of references.
#[derive(Debug, Clone, Copy)]
pub(super) struct SetIx(pub u32);

/// The references that a graph's objects have, or had before the trace described them again.
#[derive(Debug, Default)]
pub(super) struct References {
    pub rows: RowIds,
    owned: Vec<u32>,
    /// The names of their fields, in a form that `fields.rs` knows.
    pub fields: Vec<u32>,
    /// The first reference and the owner of each set.
    sets: Vec<(u32, u32)>,
}

impl References {
    /// Begins a set; if no reference follows, the next set replaces it.
    pub fn begin(&mut self, owner: ObjectIx) -> SetIx {
        let first = self.rows.count();
        if self.sets.last().is_some_and(|(last, _)| *last == first) {
            self.sets.pop();
        }
        self.sets.push((first, owner.0));
        SetIx((self.sets.len() as u32).wrapping_sub(1))
    }

    /// Adds a reference to the last set.
    pub fn add(&mut self, owned: Option<ObjectIx>, field: u32, next: &mut u32) {
        self.rows.take(next);
        self.owned.push(owned.map_or(NONE, |object| object.0));
        self.fields.push(field);
    }

    /// The places of a set's references.
    pub fn of(&self, SetIx(set): SetIx) -> Range<u32> {
        let place = set as usize;
        let first = self.sets.get(place).map_or(0, |(first, _)| *first);
        let end = self.sets.get(place.wrapping_add(1)).map_or(self.rows.count(), |(end, _)| *end);
        first..end
    }

    /// The object that a reference leads to.
    pub fn owned(&self, place: u32) -> Option<ObjectIx> {
        let owned = self.owned.get(place as usize).copied();
        owned.filter(|owned| *owned != NONE).map(ObjectIx)
    }

    /// All sets with references, with their owners.
    pub fn sets(&self) -> impl Iterator<Item = (ObjectIx, Range<u32>)> {
        let sets = (0..).zip(&self.sets);
        sets.map(|(set, (_, owner))| (ObjectIx(*owner), self.of(SetIx(set))))
    }
}
