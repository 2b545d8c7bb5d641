//! A dump in memory: the objects that are alive, and the references that keep them alive.
//!
//! A dump may have millions of objects, so places of objects and classes have 32 bits, and references are one list of
//! places, by owner. The alternative, pairs of an owner and an owned object, took twice the memory.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use crate::perfetto::intrinsics::Budget;
use crate::{Queries, Result, ValueRef, Values};

/// An object that is alive.
#[derive(Debug, Clone)]
pub struct Object {
    pub id: i64,
    pub self_size: i64,
    pub native_size: i64,
    /// The place of its class.
    class: u32,
    pub distance: i32,
    /// The number of a root's type; `None` for an object of another process (rule HG2), too.
    pub root_type: Option<u8>,
}

/// A class.
#[derive(Debug, Clone, Default)]
pub struct Class {
    pub name: Option<String>,
    pub deobfuscated_name: Option<String>,
    /// Its objects do not keep their referents alive.
    is_weak: bool,
}

impl Class {
    /// The name to show.
    pub fn shown(&self) -> Option<&str> {
        self.deobfuscated_name.as_deref().or(self.name.as_deref())
    }
}

/// A dump.
#[derive(Debug, Default)]
pub struct Heap {
    /// By their ids.
    pub objects: Vec<Object>,
    pub classes: Vec<Class>,
    /// The places of the objects to which an object refers, each once, by owner.
    owned: Vec<u32>,
    /// The end of each object's part of `owned`.
    ends: Vec<u32>,
}

const CLASSES: &str = "SELECT id, name, deobfuscated_name,
    coalesce(kind IN ('KIND_WEAK_REFERENCE', 'KIND_FINALIZER_REFERENCE', 'KIND_PHANTOM_REFERENCE'), 0)
    FROM heap_graph_class";
const OBJECTS: &str = "SELECT id, self_size, native_size, type_id, root_type, root_distance, reference_set_id, upid = ?1
    FROM heap_graph_object_record WHERE graph_sample_ts = ?2 AND root_distance >= 0 ORDER BY id";
const REFERENTS: &str =
    "SELECT id FROM heap_graph_field WHERE name = 'java.lang.ref.Reference.referent'";
const REFERENCES: &str = "SELECT owner_id, owned_id, reference_set_id, field_id
    FROM heap_graph_reference_record WHERE id >= ?1 AND owned_id IS NOT NULL ORDER BY id";

impl Heap {
    /// Reads the dump of a process at a time: its objects, and those of other processes that they lead to, because a
    /// graph whose process is stated late has objects of several (rule HG2).
    pub fn read(
        queries: &mut Queries,
        (upid, ts): (i64, i64),
        budget: &mut Budget,
    ) -> Result<Heap> {
        let mut heap = Heap::default();
        let mut places = HashMap::new();
        queries.each(CLASSES, &[], |row| {
            let text = |column| match row.value(column) {
                Some(ValueRef::Text(text)) => Some(String::from_utf8_lossy(text).into_owned()),
                _ => None,
            };
            let class = Class {
                name: text(1),
                deobfuscated_name: text(2),
                is_weak: row.integer(3, "kind")? != 0,
            };
            let bytes = |text: &Option<String>| text.as_ref().map_or(0, String::len);
            budget.take(
                size_of::<Class>() + bytes(&class.name) + bytes(&class.deobfuscated_name) + 48,
            )?;
            let place = u32::try_from(heap.classes.len()).unwrap_or(u32::MAX);
            places.insert(row.integer(0, "id")?, place);
            heap.classes.push(class);
            Ok(ControlFlow::Continue(()))
        })?;
        let (mut is_own, mut sets) = (Vec::new(), Vec::new());
        let of = [ValueRef::Integer(upid), ValueRef::Integer(ts)];
        queries.each(OBJECTS, &of, |row| {
            budget.take(size_of::<Object>() + size_of::<Option<i64>>() + 1)?;
            let class = places.get(&row.integer(3, "type_id")?).copied();
            let own = row.integer(7, "upid")? != 0;
            is_own.push(own);
            sets.push(row.optional_integer(6, "reference_set_id")?);
            let root_type = row.optional_integer(4, "root_type")?.filter(|_| own);
            heap.objects.push(Object {
                id: row.integer(0, "id")?,
                self_size: row.integer(1, "self_size")?,
                native_size: row.integer(2, "native_size")?,
                class: class.unwrap_or(u32::MAX),
                distance: i32::try_from(row.integer(5, "root_distance")?).unwrap_or(i32::MAX),
                root_type: root_type.map(|number| u8::try_from(number).unwrap_or(u8::MAX)),
            });
            Ok(ControlFlow::Continue(()))
        })?;
        let references = heap.references(queries, &sets, budget)?;
        drop(sets);
        heap.refer(references);
        if is_own.contains(&false) {
            heap.keep(is_own);
        }
        Ok(heap)
    }

    /// Leaves out what these objects do not lead to.
    fn keep(&mut self, mut is_kept: Vec<bool>) {
        let mut next: Vec<usize> = (0..is_kept.len()).filter(|&place| is_kept[place]).collect();
        while let Some(owner) = next.pop() {
            for &child in self.children(owner) {
                if !std::mem::replace(&mut is_kept[child as usize], true) {
                    next.push(child as usize);
                }
            }
        }
        let mut count = 0;
        let places: Vec<Option<u32>> = is_kept
            .into_iter()
            .map(|is_kept| {
                count += u32::from(is_kept);
                is_kept.then(|| count - 1)
            })
            .collect();
        let new = |place: u32| places.get(place as usize).copied().flatten();
        let mut references = Vec::new();
        for (owner, place) in places.iter().enumerate() {
            let Some(place) = *place else { continue };
            let owned = self.children(owner).iter();
            references.extend(owned.filter_map(|&owned| Some((place, new(owned)?))));
        }
        let mut kept = places.iter().map(Option::is_some);
        self.objects.retain(|_| kept.next().unwrap_or_default());
        self.refer(references);
    }

    /// Sets the references: pairs of the places of an owner and of an object that it owns.
    fn refer(&mut self, mut references: Vec<(u32, u32)>) {
        references.sort_unstable();
        references.dedup();
        let mut ends = vec![0; self.objects.len()];
        for &(owner, _) in &references {
            if let Some(count) = ends.get_mut(owner as usize) {
                *count += 1;
            }
        }
        let mut end = 0;
        for count in &mut ends {
            end += *count;
            *count = end;
        }
        self.ends = ends;
        self.owned = references.into_iter().map(|(_, owned)| owned).collect();
    }

    /// Reads the references; `sets` are the sets of references of the objects.
    fn references(
        &self,
        queries: &mut Queries,
        sets: &[Option<i64>],
        budget: &mut Budget,
    ) -> Result<Vec<(u32, u32)>> {
        let mut referents = HashSet::new();
        queries.each(REFERENTS, &[], |row| {
            referents.insert(row.integer(0, "id")?);
            Ok(ControlFlow::Continue(()))
        })?;
        let mut references = Vec::new();
        let of_all = sets.iter().copied().flatten();
        let Some(first) = of_all.clone().min() else { return Ok(references) };
        let last = of_all.max().unwrap_or(first);
        queries.each(REFERENCES, &[ValueRef::Integer(first)], |row| {
            let set = row.integer(2, "reference_set_id")?;
            if set > last {
                return Ok(ControlFlow::Break(()));
            }
            let owner = self.place(row.integer(0, "owner_id")?);
            let Some(owner) = owner.filter(|&owner| sets.get(owner) == Some(&Some(set))) else {
                return Ok(ControlFlow::Continue(()));
            };
            let field = row.optional_integer(3, "field_id")?;
            let is_referent = field.is_some_and(|field| referents.contains(&field));
            let class = self.objects.get(owner).and_then(|object| self.class(object));
            let is_weak = class.is_some_and(|class| class.is_weak);
            if let Some(owned) = self.place(row.integer(1, "owned_id")?)
                && !(is_referent && is_weak)
                && let (Ok(owner), Ok(owned)) = (u32::try_from(owner), u32::try_from(owned))
            {
                budget.take(size_of::<(u32, u32)>())?;
                references.push((owner, owned));
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(references)
    }

    /// The place of an object.
    pub fn place(&self, id: i64) -> Option<usize> {
        self.objects.binary_search_by_key(&id, |object| object.id).ok()
    }

    /// The places of the objects to which an object refers, in order.
    pub fn children(&self, owner: usize) -> &[u32] {
        let end = |owner: usize| self.ends.get(owner).map(|&end| end as usize);
        let start = owner.checked_sub(1).and_then(end).unwrap_or_default();
        let end = end(owner).unwrap_or(start);
        self.owned.get(start..end).unwrap_or_default()
    }

    /// The number of references.
    pub fn count_of_references(&self) -> usize {
        self.owned.len()
    }

    /// The class of an object.
    pub fn class(&self, object: &Object) -> Option<&Class> {
        self.classes.get(object.class as usize)
    }
}
