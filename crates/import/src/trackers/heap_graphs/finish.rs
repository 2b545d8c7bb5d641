//! The end of a graph: names, sizes, roots, and then its rows (rules HG6 to HG10).

use rustc_hash::{FxHashMap, FxHashSet};
use timebase_schema::tables::{
    heap_graph_object_data_record, heap_graph_object_record, heap_graph_primitive_record,
    heap_graph_reference_record,
};

use super::classes::{Class, Classes, Shape};
use super::fields::{FieldId, Fields, of_settled, settled};
use super::graph::{Graph, NextRows, PRIMITIVES, Type};
use super::objects::{ClassId, OTHER_HEAP, ObjectIx};
use super::plain::{NoPackage, package};
use super::roots::Reached;
use crate::definitions::Names;
use crate::output::{Cell, Rows};
use crate::timeline::Name;
use crate::world::Upid;

/// What the ends of graphs read and add to.
pub(super) struct Ending<'a> {
    pub classes: &'a mut Classes,
    pub fields: &'a mut Fields,
    pub next: &'a mut NextRows,
    pub names: &'a mut Names,
}

/// The faults of a graph's end.
#[derive(Debug, Default)]
pub(super) struct EndFaults {
    pub malformed: i64,
    pub invalid_strings: i64,
    pub unknown_packages: u32,
}

/// A graph whose last packet has come.
pub(super) struct Finished<'a> {
    graph: Graph,
    to: Ending<'a>,
    faults: EndFaults,
}

/// Names that mean something to the import.
#[derive(Debug, Clone, Copy)]
pub(super) struct KnownNames {
    pub referent: Name,
    thunk: Name,
    next: Name,
    registry: Name,
    superclass: Name,
    cleaner: Name,
    internal: Name,
}

impl KnownNames {
    pub fn of(names: &mut Names) -> KnownNames {
        let mut number = |text: &str| names.number(text.as_bytes());
        KnownNames {
            referent: number("java.lang.ref.Reference.referent"),
            thunk: number("sun.misc.Cleaner.thunk"),
            next: number("sun.misc.Cleaner.next"),
            registry: number("libcore.util.NativeAllocationRegistry$CleanerThunk.this$0"),
            superclass: number("java.lang.Class.superClass"),
            cleaner: number("sun.misc.Cleaner"),
            internal: number("runtimeInternalObjects"),
        }
    }
}

/// The kinds of classes whose references have no names (rule HG6).
const WITHOUT_NAMES: [u8; 3] = [2, 3, 4];

impl<'a> Finished<'a> {
    pub fn new(graph: Graph, to: Ending<'a>) -> Finished<'a> {
        Finished { graph, to, faults: EndFaults::default() }
    }

    /// Ends the graph: writes its rows, and returns its faults.
    pub fn end(mut self, rows: &mut Rows<'_>) -> EndFaults {
        let known = KnownNames::of(self.to.names);
        let forms = self.graph.fields.settle(known.internal, self.to.fields);
        for form in &mut self.graph.references.fields {
            *form = settled(forms.get(*form as usize).copied().flatten());
        }
        drop(forms);
        self.types();
        let roots = self.roots();
        self.graph.objects.forget_numbers();
        let reached = Reached::from(&roots, &self.graph, self.to.classes, |place| {
            self.field_name(place) == Some(known.referent)
        });
        drop(roots);
        self.superclasses(known);
        let native = self.native_sizes(known);
        self.object_rows(&reached, &native, rows);
        self.reference_rows(rows);
        self.value_rows(rows);
        self.faults
    }

    fn field_name(&self, place: u32) -> Option<Name> {
        let form = self.graph.references.fields.get(place as usize)?;
        self.to.fields.name(of_settled(*form)?)
    }

    /// Describes the classes (rule HG6).
    fn types(&mut self) {
        let types = std::mem::take(&mut self.graph.types);
        let above = Above::of(&types);
        let mut without_size = std::mem::take(&mut self.graph.without_size);
        let mut without_names = std::mem::take(&mut self.graph.without_names);
        without_size.sort_unstable();
        without_names.sort_unstable();
        let mut described = FxHashSet::default();
        for (&id, of) in &types {
            let location = self.location(of);
            let class = self.graph.class(id, self.to.classes);
            described.insert(class);
            for &(_, object) in of_class(&without_size, class) {
                self.graph.objects.set_size(object, of.object_size);
            }
            if !WITHOUT_NAMES.contains(&of.kind) {
                // Names are the same each time that an object was described, but faults count again.
                for same in of_class(&without_names, class).chunk_by(|one, other| one == other) {
                    let Some(&(_, object)) = same.first() else { continue };
                    let faults = self.name_references(object, (id, of), &above);
                    let times = i64::try_from(same.len()).unwrap_or(i64::MAX);
                    let more = faults.saturating_mul(times);
                    self.faults.malformed = self.faults.malformed.saturating_add(more);
                }
            }
            let classloader = (of.classloader != 0).then(|| {
                let object = self.graph.objects.get(of.classloader, &mut self.to.next.objects);
                self.graph.objects.row(object)
            });
            let package = self.package(location);
            let class_of = Class {
                name: of.name,
                location,
                classloader,
                kind: Some(of.kind),
                package,
                upid: Some(Upid(self.graph.upid)),
                shape: Shape::default(),
            };
            self.to.classes.describe(class, class_of, self.to.names);
        }
        let is_unknown = |(class, _): &(ClassId, ObjectIx)| !described.contains(class);
        if without_size.iter().any(is_unknown) || without_names.iter().any(is_unknown) {
            self.faults.malformed += 1;
        }
    }

    fn location(&mut self, of: &Type) -> Option<Name> {
        match self.graph.locations.get(&of.location?) {
            Some(location) => *location,
            None => {
                self.faults.invalid_strings += 1;
                None
            }
        }
    }

    /// The package of a class by its file (rule HG12).
    fn package(&mut self, location: Option<Name>) -> Option<Name> {
        let names = &mut *self.to.names;
        let by_path = location.map(|location| match package(names.text(location)) {
            Ok(found) => found.map(str::to_owned),
            Err(NoPackage) => {
                self.faults.unknown_packages = self.faults.unknown_packages.saturating_add(1);
                None
            }
        });
        by_path.flatten().map(|package| names.number(package.as_bytes()))
    }

    /// Names the references of an object by the fields of its class and of the classes above it. Returns the number
    /// of faults.
    fn name_references(&mut self, object: ObjectIx, of: (u64, &Type), above: &Above<'_>) -> i64 {
        let Some(set) = self.graph.objects.set(object) else { return 0 };
        let mut faults = 0;
        let (mut class, mut fields) = (of.0, of.1.fields.iter());
        for place in self.graph.references.of(set) {
            let mut field = fields.next();
            if field.is_none()
                && let Some((next, described)) = above.next(class)
            {
                (class, fields) = (next, described.fields.iter());
                field = fields.next();
            }
            let Some(field) = field else {
                return faults + 1;
            };
            let Some(name) = self.graph.fields.first(*field) else {
                faults += 1;
                continue;
            };
            if let Some(form) = self.graph.references.fields.get_mut(place as usize) {
                *form = settled(Some(self.to.fields.again(of_settled(*form), name)));
            }
        }
        faults
    }

    /// The roots that exist, in order (rule HG7).
    fn roots(&mut self) -> Vec<(ObjectIx, u8)> {
        const VM_INTERNAL: u8 = 13;
        let objects = &self.graph.objects;
        let stated = std::mem::take(&mut self.graph.roots);
        let stated = stated.into_iter();
        let stated = stated.filter_map(|(number, kind)| Some((objects.find(number)?, kind)));
        let kept = objects.all().filter(|object| objects.is_kept(*object));
        stated.chain(kept.map(|object| (object, VM_INTERNAL))).collect()
    }

    /// The first reference of an object that has this name.
    fn first(&self, object: ObjectIx, name: Name) -> Option<ObjectIx> {
        let mut references = self.graph.references.of(self.graph.objects.set(object)?);
        let first = references.find(|place| self.field_name(*place) == Some(name))?;
        self.graph.references.owned(first)
    }

    /// Class objects say which classes are above others (rule HG8).
    fn superclasses(&mut self, known: KnownNames) {
        let own = self.graph.classes.values().copied();
        let classes = &*self.to.classes;
        let own: FxHashSet<ClassId> = own.filter(|class| classes.is_static(*class)).collect();
        let mut above = FxHashMap::default();
        for object in self.graph.objects.all() {
            let class = self.graph.objects.class(object);
            if !own.contains(&class) {
                continue;
            }
            let Some(superclass) = self.first(object, known.superclass) else { continue };
            let superclass = self.graph.objects.class(superclass);
            if let Some(located) = classes.located(class) {
                above.insert(located, classes.located(superclass));
            }
        }
        for (of, superclass) in above {
            if let Some(superclass) = superclass {
                self.to.classes.set_superclass(of, superclass);
            }
        }
    }

    /// The memory outside of the heap that objects own (rule HG9).
    fn native_sizes(&self, known: KnownNames) -> FxHashMap<ObjectIx, i64> {
        let mut sizes = FxHashMap::default();
        if self.graph.native_sizes.is_empty() {
            return sizes;
        }
        let is_cleaner = |class: &ClassId| {
            let class = self.to.classes.get(*class);
            class.is_some_and(|class| class.name == Some(known.cleaner))
        };
        let cleaners: FxHashSet<ClassId> =
            self.graph.classes.values().copied().filter(is_cleaner).collect();
        for object in self.graph.objects.all() {
            if !cleaners.contains(&self.graph.objects.class(object))
                || self.first(object, known.next) == Some(object)
            {
                continue;
            }
            let size = || {
                let referent = self.first(object, known.referent)?;
                let thunk = self.first(object, known.thunk)?;
                let registry = self.first(thunk, known.registry)?;
                Some((referent, self.graph.native_sizes.get(&registry)?))
            };
            if let Some((referent, size)) = size() {
                let sum: &mut i64 = sizes.entry(referent).or_default();
                *sum = sum.wrapping_add(size & !1);
            }
        }
        sizes
    }

    fn object_rows(
        &self,
        reached: &Reached,
        native: &FxHashMap<ObjectIx, i64>,
        rows: &mut Rows<'_>,
    ) {
        let graph = &self.graph;
        for object in graph.objects.all() {
            let set = graph.objects.set(object).map(|set| graph.references.of(set).start);
            let heap = graph.objects.heap(object);
            let heap = Some(heap).filter(|heap| *heap != 0 && *heap != OTHER_HEAP);
            let via = reached.via(object).map(|place| graph.references.rows.row(place));
            let (upid, ts) = graph.of(object);
            rows.push(heap_graph_object_record::Row {
                id: Cell::from(graph.objects.row(object)),
                upid: Cell::from(upid),
                graph_sample_ts: Cell::from(ts),
                self_size: Cell::from(graph.objects.size(object)),
                native_size: Cell::from(native.get(&object).copied().unwrap_or(0)),
                reference_set_id: Cell::or_null(set.map(|set| graph.references.rows.row(set))),
                heap_type: Cell::or_null(heap),
                type_id: Cell::from(graph.objects.class(object).0),
                root_type: Cell::or_null(reached.root_type(object)),
                root_distance: Cell::from(reached.distance(object)),
                root_reference_id: Cell::or_null(via),
                object_data_id: Cell::or_null(graph.data.get(&object).copied()),
            });
        }
    }

    fn reference_rows(&self, rows: &mut Rows<'_>) {
        let references = &self.graph.references;
        for (owner, set) in references.sets() {
            let owner = self.graph.objects.row(owner);
            let set_id = references.rows.row(set.start);
            for place in set {
                let owned = references.owned(place).map(|owned| self.graph.objects.row(owned));
                let form = references.fields.get(place as usize).copied().unwrap_or_default();
                let field = of_settled(form).map(|FieldId(id)| id);
                rows.push(heap_graph_reference_record::Row {
                    id: Cell::from(references.rows.row(place)),
                    reference_set_id: Cell::from(set_id),
                    owner_id: Cell::from(owner),
                    owned_id: Cell::or_null(owned),
                    field_id: Cell::or_null(field),
                });
            }
        }
    }

    fn value_rows(&self, rows: &mut Rows<'_>) {
        for &(row, set) in &self.graph.data_rows {
            rows.push(heap_graph_object_data_record::Row {
                id: Cell::from(row),
                field_set_id: Cell::from(set),
            });
        }
        for primitive in &self.graph.primitives {
            let Some((_, name, type_name)) = PRIMITIVES.get(primitive.field) else { continue };
            let field_name = rows.text(name);
            let field_type = rows.text(type_name);
            rows.push(heap_graph_primitive_record::Row {
                id: Cell::from(primitive.row),
                field_set_id: Cell::from(primitive.set),
                field_name,
                field_type,
                value: Cell::from(primitive.value),
            });
        }
    }
}

/// The entries of a class; they are sorted by classes.
fn of_class(sorted: &[(ClassId, ObjectIx)], class: ClassId) -> &[(ClassId, ObjectIx)] {
    let first = sorted.partition_point(|(other, _)| *other < class);
    let end = sorted.partition_point(|(other, _)| *other <= class);
    sorted.get(first..end).unwrap_or_default()
}

/// For each class, the nearest one above it that has fields. A circle without fields has none (rule YR1).
struct Above<'t> {
    types: &'t std::collections::BTreeMap<u64, Type>,
    nearest: FxHashMap<u64, Option<u64>>,
}

impl<'t> Above<'t> {
    fn of(types: &'t std::collections::BTreeMap<u64, Type>) -> Above<'t> {
        let mut nearest: FxHashMap<u64, Option<u64>> = FxHashMap::default();
        for &first in types.keys() {
            let mut passed = Vec::new();
            let mut class = first;
            let found = loop {
                if let Some(&known) = nearest.get(&class) {
                    break known;
                }
                // If the way comes back here, it has found nothing.
                nearest.insert(class, None);
                passed.push(class);
                let above = types.get(&class).map_or(0, |of| of.superclass);
                match types.get(&above).filter(|_| above != 0) {
                    None => break None,
                    Some(of) if !of.fields.is_empty() => break Some(above),
                    Some(_) => class = above,
                }
            };
            for class in passed {
                nearest.insert(class, found);
            }
        }
        Above { types, nearest }
    }

    fn next(&self, class: u64) -> Option<(u64, &'t Type)> {
        let next = self.nearest.get(&class).copied().flatten()?;
        Some((next, self.types.get(&next)?))
    }
}
