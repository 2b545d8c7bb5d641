//! A dump in memory: the objects that are alive, and the references that keep them alive.

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
    pub class: usize,
    /// The number of a root's type; `None` for an object of another process (rule HG2), too.
    pub root_type: Option<i64>,
    pub distance: i64,
    /// Its set of references.
    set: Option<i64>,
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
    /// The places of the owner and of the object to which it refers, by owner, each pair once.
    references: Vec<(u32, u32)>,
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
            places.insert(row.integer(0, "id")?, heap.classes.len());
            heap.classes.push(class);
            Ok(ControlFlow::Continue(()))
        })?;
        let mut is_own = Vec::new();
        let of = [ValueRef::Integer(upid), ValueRef::Integer(ts)];
        queries.each(OBJECTS, &of, |row| {
            budget.take(size_of::<Object>() + 1)?;
            let class = places.get(&row.integer(3, "type_id")?).copied();
            let own = row.integer(7, "upid")? != 0;
            is_own.push(own);
            heap.objects.push(Object {
                id: row.integer(0, "id")?,
                self_size: row.integer(1, "self_size")?,
                native_size: row.integer(2, "native_size")?,
                class: class.unwrap_or(usize::MAX),
                root_type: row.optional_integer(4, "root_type")?.filter(|_| own),
                distance: row.integer(5, "root_distance")?,
                set: row.optional_integer(6, "reference_set_id")?,
            });
            Ok(ControlFlow::Continue(()))
        })?;
        heap.refer(queries, budget)?;
        if is_own.contains(&false) {
            heap.keep(is_own);
        }
        Ok(heap)
    }

    /// Leaves out what these objects do not lead to.
    fn keep(&mut self, mut is_kept: Vec<bool>) {
        let mut next: Vec<usize> = (0..is_kept.len()).filter(|&place| is_kept[place]).collect();
        while let Some(owner) = next.pop() {
            for child in self.children(owner) {
                if !std::mem::replace(&mut is_kept[child], true) {
                    next.push(child);
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
        let mut kept = places.iter().map(Option::is_some);
        self.objects.retain(|_| kept.next().unwrap_or_default());
        let references = self.references.iter();
        self.references =
            references.filter_map(|&(owner, owned)| Some((new(owner)?, new(owned)?))).collect();
    }

    /// Reads the references.
    fn refer(&mut self, queries: &mut Queries, budget: &mut Budget) -> Result<()> {
        let mut referents = HashSet::new();
        queries.each(REFERENTS, &[], |row| {
            referents.insert(row.integer(0, "id")?);
            Ok(ControlFlow::Continue(()))
        })?;
        let sets = self.objects.iter().filter_map(|object| object.set);
        let Some(first) = sets.clone().min() else { return Ok(()) };
        let last = sets.max().unwrap_or(first);
        let mut references = Vec::new();
        queries.each(REFERENCES, &[ValueRef::Integer(first)], |row| {
            let set = row.integer(2, "reference_set_id")?;
            if set > last {
                return Ok(ControlFlow::Break(()));
            }
            let Some(owner) = self.place(row.integer(0, "owner_id")?) else {
                return Ok(ControlFlow::Continue(()));
            };
            let Some(object) = self.objects.get(owner).filter(|object| object.set == Some(set))
            else {
                return Ok(ControlFlow::Continue(()));
            };
            let field = row.optional_integer(3, "field_id")?;
            let is_referent = field.is_some_and(|field| referents.contains(&field));
            let is_weak = self.classes.get(object.class).is_some_and(|class| class.is_weak);
            if let Some(owned) = self.place(row.integer(1, "owned_id")?)
                && !(is_referent && is_weak)
                && let (Ok(owner), Ok(owned)) = (u32::try_from(owner), u32::try_from(owned))
            {
                budget.take(size_of::<(u32, u32)>())?;
                references.push((owner, owned));
            }
            Ok(ControlFlow::Continue(()))
        })?;
        references.sort_unstable();
        references.dedup();
        self.references = references;
        Ok(())
    }

    /// The place of an object.
    pub fn place(&self, id: i64) -> Option<usize> {
        self.objects.binary_search_by_key(&id, |object| object.id).ok()
    }

    /// The places of the owners and of the objects to which they refer.
    pub fn references(&self) -> &[(u32, u32)] {
        &self.references
    }

    /// The objects to which an object refers, by their ids.
    pub fn children(&self, owner: usize) -> impl Iterator<Item = usize> {
        let owner = u32::try_from(owner).unwrap_or(u32::MAX);
        let first = self.references.partition_point(|(other, _)| *other < owner);
        let of = self.references.get(first..).unwrap_or_default();
        of.iter().take_while(move |(other, _)| *other == owner).map(|(_, owned)| *owned as usize)
    }

    /// The class of an object.
    pub fn class(&self, object: &Object) -> Option<&Class> {
        self.classes.get(object.class)
    }
}
