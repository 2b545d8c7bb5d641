//! The classes of all graphs: their rows, superclasses and deobfuscated names (rules HG6, HG8, HG11).
//!
//! # Design
//!
//! At the end of a graph, each class of the trace may get another superclass (rule HG8). To go through all of them at
//! the end of each graph takes time by the square of the graphs. So a name with its location has the list of its
//! rows, the last superclass, and how many of these rows existed when it got that.

use rustc_hash::FxHashMap;
use timebase_schema::tables::heap_graph_class;

use super::objects::ClassId;
use super::plain::Plain;
use crate::definitions::Names;
use crate::output::{Cell, Rows};
use crate::timeline::Name;
use crate::world::Upid;

/// A class of a graph.
#[derive(Debug, Default)]
pub(super) struct Class {
    pub name: Option<Name>,
    pub location: Option<Name>,
    /// The row of an object.
    pub classloader: Option<u32>,
    /// The kind, if the trace describes the class.
    pub kind: Option<u8>,
    /// The package of its file.
    pub package: Option<Name>,
    /// The process of its graph.
    pub upid: Option<Upid>,
    pub shape: Shape,
}

/// The parts of a class's name.
#[derive(Debug, Default)]
pub(super) struct Shape {
    plain: Option<Name>,
    is_bare: bool,
    /// Whether it is the class object of a class that is no array.
    is_static: bool,
}

/// The kinds by their numbers in the trace.
const KINDS: [&str; 12] = [
    "KIND_UNKNOWN",
    "KIND_NORMAL",
    "KIND_NOREFERENCES",
    "KIND_STRING",
    "KIND_ARRAY",
    "KIND_CLASS",
    "KIND_CLASSLOADER",
    "KIND_DEXCACHE",
    "KIND_SOFT_REFERENCE",
    "KIND_WEAK_REFERENCE",
    "KIND_FINALIZER_REFERENCE",
    "KIND_PHANTOM_REFERENCE",
];

/// The kind of a number; a number without a kind is unknown.
pub(super) fn kind(number: u64) -> u8 {
    // An enum is an int32.
    let number = number as i32;
    u8::try_from(number).ok().filter(|kind| usize::from(*kind) < KINDS.len()).unwrap_or(0)
}

/// The rows of one name and location.
#[derive(Debug, Default)]
struct Alike {
    rows: Vec<ClassId>,
    /// The row with the largest number.
    last: Option<ClassId>,
    /// The superclass, and the number of rows at that time.
    superclass: Option<(ClassId, usize)>,
}

/// A plain name with a location.
pub(super) type Located = (Name, Option<Name>);

/// The classes of all graphs.
#[derive(Debug, Default)]
pub(super) struct Classes {
    all: Vec<Class>,
    alike: FxHashMap<Located, Alike>,
}

impl Classes {
    /// A new class that has no description yet.
    pub fn add(&mut self) -> ClassId {
        self.all.push(Class::default());
        ClassId((self.all.len() as u32).wrapping_sub(1))
    }

    pub fn get(&self, ClassId(id): ClassId) -> Option<&Class> {
        self.all.get(id as usize)
    }

    /// Describes a class.
    pub fn describe(&mut self, id: ClassId, class: Class, names: &mut Names) {
        let Some(known) = self.all.get_mut(id.0 as usize) else { return };
        *known = class;
        let Some(name) = known.name else { return };
        let text = names.text(name).to_owned();
        let plain = Plain::of(&text);
        known.shape = Shape {
            plain: Some(names.number(plain.name.as_bytes())),
            is_bare: plain.is_bare(),
            is_static: plain.is_static && plain.arrays == 0,
        };
        let alike = self.alike.entry((name, known.location)).or_default();
        alike.rows.push(id);
        alike.last = alike.last.max(Some(id));
    }

    /// The plain name and the location of a class.
    pub fn located(&self, id: ClassId) -> Option<Located> {
        let class = self.get(id)?;
        Some((class.shape.plain?, class.location))
    }

    /// Whether the class is the class object of one that is no array.
    pub fn is_static(&self, id: ClassId) -> bool {
        self.get(id).is_some_and(|class| class.shape.is_static)
    }

    /// All classes so far of this name and location get a superclass.
    pub fn set_superclass(&mut self, of: Located, superclass: Located) {
        let last = self.alike.get(&superclass).and_then(|alike| alike.last);
        if let (Some(last), Some(alike)) = (last, self.alike.get_mut(&of)) {
            alike.superclass = Some((last, alike.rows.len()));
        }
    }

    /// A class whose file names no package is of the package of its process (rule HG11).
    pub fn find_packages(&mut self, package_of: impl Fn(Upid) -> Option<Name>) {
        for class in self.all.iter_mut().filter(|class| class.package.is_none()) {
            class.package = class.upid.and_then(&package_of);
        }
    }

    /// The classes by their plain names.
    pub fn by_plain_name(&self) -> FxHashMap<Name, Vec<ClassId>> {
        let mut by_name: FxHashMap<Name, Vec<ClassId>> = FxHashMap::default();
        for (id, class) in (0..).zip(&self.all) {
            if let Some(plain) = class.shape.plain {
                by_name.entry(plain).or_default().push(ClassId(id));
            }
        }
        by_name
    }

    /// Writes the rows, with these deobfuscated names.
    pub fn end(
        self,
        deobfuscated: &FxHashMap<ClassId, String>,
        names: &Names,
        rows: &mut Rows<'_>,
    ) {
        let mut superclasses: FxHashMap<ClassId, ClassId> = FxHashMap::default();
        for alike in self.alike.into_values() {
            let (Some((superclass, count)), Some(first)) = (alike.superclass, alike.rows.first())
            else {
                continue;
            };
            if self.all.get(first.0 as usize).is_some_and(|class| class.shape.is_bare) {
                let alike = alike.rows.iter().take(count);
                superclasses.extend(alike.map(|id| (*id, superclass)));
            }
        }
        for (id, class) in (0..).map(ClassId).zip(&self.all) {
            let text = |name: Option<Name>| name.map(|name| names.text(name));
            let kind = class.kind.and_then(|kind| KINDS.get(usize::from(kind)).copied());
            let cells = [
                text(class.name),
                deobfuscated.get(&id).map(String::as_str),
                text(class.location),
                kind,
            ];
            let [name, deobfuscated_name, location, kind] =
                cells.map(|cell| rows.optional_text(cell));
            rows.push(heap_graph_class::Row {
                id: Cell::from(id.0),
                name,
                deobfuscated_name,
                location,
                superclass_id: Cell::or_null(superclasses.get(&id).map(|class| class.0)),
                classloader_id: Cell::or_null(class.classloader),
                kind,
            });
        }
    }
}
