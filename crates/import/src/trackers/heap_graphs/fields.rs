//! The names of the fields that references are in (rules HG5, HG6).
//!
//! # Design
//!
//! A name that comes in the trace is the name of all references so far that say its number. A later name of the
//! number replaces it, and a mapping may still know the reference by the former one (rule HG11). References would
//! have to be visited for each name. Instead, a reference has the number of its field and how many names the field had
//! had: the names from there on are its names. So a name costs the same, however many references it is for.

use rustc_hash::{FxHashMap, FxHashSet};
use timebase_schema::tables::heap_graph_field;

use crate::definitions::Names;
use crate::output::{Cell, Rows};
use crate::timeline::Name;

/// A field as the trace names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct FieldName {
    pub name: Option<Name>,
    pub type_name: Option<Name>,
}

impl FieldName {
    /// The type up to the first blank, and the name after it.
    pub fn of(text: Option<&str>, names: &mut Names) -> FieldName {
        let (type_name, name) = match text.and_then(|text| text.split_once(' ')) {
            Some((type_name, name)) => (Some(type_name), Some(name)),
            None => (None, text),
        };
        let mut number = |text: Option<&str>| text.map(|text| names.number(text.as_bytes()));
        FieldName { name: number(name), type_name: number(type_name) }
    }
}

/// A field as a row: its last name, and the names that it had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Field {
    last: FieldName,
    /// The first of its names.
    first: Option<Name>,
    /// The field with the names after the first one.
    then: Option<u32>,
}

/// A row of `heap_graph_field`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct FieldId(pub u32);

/// The fields of all graphs.
#[derive(Debug, Default)]
pub(super) struct Fields {
    all: Vec<Field>,
    ids: FxHashMap<Field, u32>,
    /// The fields that had one more name.
    named_again: FxHashMap<(u32, FieldName), FieldId>,
    renamed: FxHashMap<Name, (u64, Box<str>)>,
}

impl Fields {
    fn id(&mut self, field: Field) -> FieldId {
        let all = &mut self.all;
        FieldId(*self.ids.entry(field).or_insert_with(|| {
            all.push(field);
            (all.len() as u32).wrapping_sub(1)
        }))
    }

    /// A field that has one name.
    pub fn named(&mut self, name: FieldName) -> FieldId {
        self.id(Field { last: name, first: name.name, then: None })
    }

    /// A field that the trace does not name.
    fn unnamed(&mut self, name: Name) -> FieldId {
        let last = FieldName { name: Some(name), type_name: None };
        self.id(Field { last, first: None, then: None })
    }

    /// A field with these names one after the other, and with those of all its tails, the longest first.
    fn tails(&mut self, names: &[FieldName]) -> Vec<FieldId> {
        let mut tails = Vec::with_capacity(names.len());
        let mut then = None;
        if let Some(&last) = names.last() {
            for name in names.iter().rev() {
                let FieldId(id) = self.id(Field { last, first: name.name, then });
                tails.push(FieldId(id));
                then = Some(id);
            }
        }
        tails.reverse();
        tails
    }

    /// A field with one more name.
    pub fn again(&mut self, before: Option<FieldId>, name: FieldName) -> FieldId {
        let Some(FieldId(before)) = before else {
            return self.named(name);
        };
        if let Some(&known) = self.named_again.get(&(before, name)) {
            return known;
        }
        let mut names = Vec::new();
        let mut at = Some(before);
        while let Some(field) = at.and_then(|at| self.all.get(at as usize)) {
            names.push(FieldName { name: field.first, type_name: name.type_name });
            at = field.then;
        }
        names.push(name);
        let id = self.tails(&names).first().copied().unwrap_or(FieldId(before));
        self.named_again.insert((before, name), id);
        id
    }

    /// The last name of a field.
    pub fn name(&self, FieldId(id): FieldId) -> Option<Name> {
        self.all.get(id as usize)?.last.name
    }

    /// The names that fields ever had.
    pub fn names(&self) -> FxHashSet<Name> {
        self.all.iter().filter_map(|field| field.first).collect()
    }

    /// A mapping gives a name another one; `order` is the place among all mappings (rule HG11).
    pub fn rename(&mut self, name: Name, order: u64, new: &str) {
        self.renamed.insert(name, (order, new.into()));
    }

    /// Writes the rows.
    pub fn end(self, names: &Names, rows: &mut Rows<'_>) {
        // A field comes after those that have its later names.
        let mut last: Vec<Option<&(u64, Box<str>)>> = Vec::with_capacity(self.all.len());
        for (id, field) in (0i64..).zip(&self.all) {
            let own = field.first.and_then(|name| self.renamed.get(&name));
            let then = field.then.and_then(|then| last.get(then as usize).copied().flatten());
            let new = own.into_iter().chain(then).max_by_key(|(order, _)| *order);
            last.push(new);
            let name = rows.optional_text(field.last.name.map(|name| names.text(name)));
            let type_name = rows.optional_text(field.last.type_name.map(|name| names.text(name)));
            let deobfuscated_name = rows.optional_text(new.map(|(_, new)| &**new));
            rows.push(heap_graph_field::Row {
                id: Cell::from(id),
                name,
                type_name,
                deobfuscated_name,
            });
        }
    }
}

/// The form of a reference's field while its graph is at work.
pub(super) const UNNAMED: u32 = 0;
/// The object is the runtime's, and not in a field.
pub(super) const INTERNAL: u32 = 1;
const FIRST_SLOT: u32 = 2;

/// The names of fields in a graph, by their numbers in the trace.
#[derive(Debug, Default)]
pub(super) struct GraphFields {
    by_iid: FxHashMap<u64, u32>,
    all: Vec<GraphField>,
    /// The field, and the number of names that it had had, of references.
    slots: Vec<(u32, u32)>,
}

#[derive(Debug, Default)]
struct GraphField {
    names: Vec<FieldName>,
    /// The last slot, and the number of names at its time.
    slot: Option<(u32, u32)>,
}

impl GraphFields {
    fn place(&mut self, iid: u64) -> u32 {
        let all = &mut self.all;
        *self.by_iid.entry(iid).or_insert_with(|| {
            all.push(GraphField::default());
            (all.len() as u32).wrapping_sub(1)
        })
    }

    /// The form of a reference that says a number.
    pub fn slot(&mut self, iid: u64) -> u32 {
        let place = self.place(iid);
        let Some(field) = self.all.get_mut(place as usize) else {
            return UNNAMED;
        };
        let named = field.names.len() as u32;
        let slot = match field.slot {
            Some((slot, then)) if then == named => slot,
            _ => {
                self.slots.push((place, named));
                (self.slots.len() as u32).wrapping_sub(1)
            }
        };
        field.slot = Some((slot, named));
        slot.saturating_add(FIRST_SLOT)
    }

    /// A number gets a name.
    pub fn name(&mut self, iid: u64, name: FieldName) {
        let place = self.place(iid);
        if let Some(field) = self.all.get_mut(place as usize) {
            field.names.push(name);
        }
    }

    /// The first name of a number, which types use.
    pub fn first(&self, iid: u64) -> Option<FieldName> {
        let field = self.all.get(*self.by_iid.get(&iid)? as usize)?;
        field.names.first().copied()
    }

    /// The fields of all forms, when no more names come.
    pub fn settle(&self, internal: Name, fields: &mut Fields) -> Vec<Option<FieldId>> {
        let tails: Vec<Vec<FieldId>> = self
            .all
            .iter()
            .map(|field| match field.slot {
                Some(_) => fields.tails(&field.names),
                None => Vec::new(),
            })
            .collect();
        let of_slots = self.slots.iter().map(|&(field, named)| {
            tails.get(field as usize).and_then(|tails| tails.get(named as usize)).copied()
        });
        [None, Some(fields.unnamed(internal))].into_iter().chain(of_slots).collect()
    }
}

/// The form of a settled field, which replaces the form that a graph at work has.
pub(super) fn settled(field: Option<FieldId>) -> u32 {
    field.map_or(UNNAMED, |FieldId(id)| id.wrapping_add(1))
}

/// The field of a settled form.
pub(super) fn of_settled(form: u32) -> Option<FieldId> {
    form.checked_sub(1).map(FieldId)
}
