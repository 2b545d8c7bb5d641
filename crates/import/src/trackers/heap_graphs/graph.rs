//! A graph while its packets come (rules HG1 to HG5).

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use timebase_descriptor::field::Value;
use timebase_schema::fields::{
    heap_graph as graph, heap_graph_object as object, heap_graph_root as root,
    heap_graph_type as described, interned_string as text,
};

use super::classes::{Classes, kind};
use super::fields::{FieldName, GraphFields, INTERNAL, UNNAMED};
use super::objects::{ClassId, OTHER_HEAP, ObjectIx, Objects, References};
use super::wire::{Broken, Repeated, name, repeated};
use crate::definitions::Names;
use crate::message::Message;
use crate::timeline::Name;
use crate::world::Upid;

/// The numbers of the next rows.
#[derive(Debug, Default)]
pub(super) struct NextRows {
    pub objects: u32,
    pub references: u32,
    pub data: u32,
    pub primitives: u32,
}

/// A class as the trace describes it.
#[derive(Debug)]
pub(super) struct Type {
    pub location: Option<u64>,
    pub name: Option<Name>,
    pub object_size: i64,
    pub superclass: u64,
    pub fields: Box<[u64]>,
    pub kind: u8,
    pub classloader: u64,
}

/// Values of fields of an object.
#[derive(Debug)]
pub(super) struct Primitive {
    pub row: u32,
    pub set: u32,
    /// Its place among [`PRIMITIVES`].
    pub field: usize,
    pub value: i64,
}

/// The fields with values: their numbers in the trace, their names and types.
pub(super) const PRIMITIVES: [(u32, &str, &str); 4] = [
    (object::BITMAP_ID_FIELD, "android.graphics.Bitmap.mId", "long"),
    (object::BITMAP_SOURCE_ID_FIELD, "android.graphics.Bitmap.mSourceId", "long"),
    (object::BITMAP_WIDTH_FIELD, "android.graphics.Bitmap.mWidth", "int"),
    (object::BITMAP_HEIGHT_FIELD, "android.graphics.Bitmap.mHeight", "int"),
];

/// A graph that waits for its end.
#[derive(Debug, Default)]
pub(super) struct Graph {
    /// Process 0 and time 0 stand for none yet.
    pub upid: u32,
    pub ts: i64,
    /// The numbers of objects that were there before the process and the time.
    without_process: u32,
    without_time: u32,
    index: Option<u64>,
    pub is_cut: bool,
    pub heap_size: Option<i64>,
    last_object: u64,
    last_heap: u8,
    pub objects: Objects,
    pub references: References,
    pub types: BTreeMap<u64, Type>,
    pub classes: FxHashMap<u64, ClassId>,
    pub fields: GraphFields,
    pub locations: FxHashMap<u64, Option<Name>>,
    /// The numbers of objects, with the number of the root's type.
    pub roots: Vec<(u64, u8)>,
    /// Objects that had no size, or references without names of fields, with their class at that time.
    pub without_size: Vec<(ClassId, ObjectIx)>,
    pub without_names: Vec<(ClassId, ObjectIx)>,
    /// The sizes of what objects of `NativeAllocationRegistry` stand for.
    pub native_sizes: FxHashMap<ObjectIx, i64>,
    pub data: FxHashMap<ObjectIx, u32>,
    pub data_rows: Vec<(u32, u32)>,
    pub primitives: Vec<Primitive>,
    numbers: [Vec<u64>; 3],
}

/// The faults of a packet.
#[derive(Debug, Default)]
pub(super) struct PacketFaults {
    /// The packet before this one is missing; the process then.
    pub missing: Option<u32>,
    pub malformed: i64,
    /// The number of objects and roots of another process or time.
    pub foreign: u32,
}

/// The things of all graphs that a packet adds to.
pub(super) struct Shared<'a> {
    pub classes: &'a mut Classes,
    pub next: &'a mut NextRows,
    pub names: &'a mut Names,
}

/// An object as a packet has it.
#[derive(Debug, Default)]
struct Described<'a> {
    message: Message<'a>,
    id: u64,
    id_delta: u64,
    type_id: u64,
    size: u64,
    base: u64,
    heap: Option<u64>,
    native_size: Option<u64>,
    fields: Repeated<'a>,
    references: Repeated<'a>,
    internal: Repeated<'a>,
    primitives: [Option<i64>; PRIMITIVES.len()],
}

impl<'a> Described<'a> {
    fn of(message: Message<'a>) -> Described<'a> {
        let mut object = Described { message, ..Described::default() };
        for (number, value) in message.fields() {
            match (number, value) {
                (object::REFERENCE_FIELD_ID, value) => object.fields = Repeated::of(value),
                (object::REFERENCE_OBJECT_ID, value) => {
                    object.references = Repeated::of(value);
                }
                (object::RUNTIME_INTERNAL_OBJECT_ID, value) => {
                    object.internal = Repeated::of(value);
                }
                (number, Value::Varint(value)) => object.number(number, value),
                _ => {}
            }
        }
        object
    }

    fn number(&mut self, number: u32, value: u64) {
        match number {
            object::ID => self.id = value,
            object::ID_DELTA => self.id_delta = value,
            object::TYPE_ID => self.type_id = value,
            object::SELF_SIZE => self.size = value,
            object::REFERENCE_FIELD_ID_BASE => self.base = value,
            object::HEAP_TYPE_DELTA => self.heap = Some(value),
            object::NATIVE_ALLOCATION_REGISTRY_SIZE_FIELD => self.native_size = Some(value),
            _ => {
                let known = PRIMITIVES.iter().position(|(field, ..)| *field == number);
                let known = known.and_then(|place| {
                    Some((self.primitives.get_mut(place)?, PRIMITIVES.get(place)?.2))
                });
                if let Some((known, type_name)) = known {
                    let is_int = type_name == "int";
                    *known = Some(if is_int { (value as u32).into() } else { value.cast_signed() });
                }
            }
        }
    }
}

/// A heap type by its number in the trace. Numbers without a name are one.
fn heap(number: u64) -> u8 {
    match number as i32 {
        known @ 0..=3 => known as u8,
        _ => OTHER_HEAP,
    }
}

impl Graph {
    /// Takes a packet of a process. Returns its faults.
    pub fn packet(
        &mut self,
        message: Message<'_>,
        (upid, ts): (Upid, i64),
        shared: &mut Shared<'_>,
    ) -> PacketFaults {
        let mut faults = PacketFaults { missing: self.follow(message), ..PacketFaults::default() };
        if let Some(size) = message.number(graph::HEAP_BYTES_ALLOCATED) {
            self.heap_size = Some(size.cast_signed());
        }
        for object in message.messages(graph::OBJECTS) {
            if self.object(Described::of(object), (upid, ts), shared, &mut faults).is_err() {
                faults.malformed += 1;
                break;
            }
        }
        for described in message.messages(graph::TYPES) {
            match of_type(described, shared.names) {
                Ok((id, described)) => {
                    self.types.insert(id, described);
                }
                Err(Broken) => faults.malformed += 1,
            }
        }
        for named in message.messages(graph::FIELD_NAMES) {
            let text = named.text(text::STR);
            let name = FieldName::of(text.as_deref(), shared.names);
            self.fields.name(named.number(text::IID).unwrap_or(0), name);
        }
        for named in message.messages(graph::LOCATION_NAMES) {
            let iid = named.number(text::IID).unwrap_or(0);
            let name = name(named, text::STR, shared.names);
            self.locations.entry(iid).or_insert(name);
        }
        for root in message.messages(graph::ROOTS) {
            if self.root(root, (upid, ts), &mut faults).is_err() {
                faults.malformed += 1;
                break;
            }
        }
        faults
    }

    /// Checks the index of a packet (rule HG3). If packets before it are missing, returns the graph's process.
    fn follow(&mut self, message: Message<'_>) -> Option<u32> {
        let index = message.number(graph::INDEX).unwrap_or(0);
        let expected = self.index.map_or(0, |before| before.wrapping_add(1));
        self.index = Some(index);
        let is_missing = index != expected;
        self.is_cut |= is_missing;
        is_missing.then_some(self.upid)
    }

    /// Whether an object or a root is of this graph, which may get its process and time from it (rule HG2).
    fn takes(&mut self, (Upid(upid), ts): (Upid, i64), faults: &mut PacketFaults) -> bool {
        let is_other = self.upid != 0 && self.upid != upid || self.ts != 0 && self.ts != ts;
        if is_other {
            faults.foreign = faults.foreign.saturating_add(1);
            return false;
        }
        let count = self.objects.rows.count();
        if self.upid == 0 {
            self.without_process = count;
        }
        if self.ts == 0 {
            self.without_time = count;
        }
        (self.upid, self.ts) = (upid, ts);
        true
    }

    /// The process and the time of an object: those that the graph had when the object came.
    pub fn of(&self, ObjectIx(place): ObjectIx) -> (u32, i64) {
        let upid = if place < self.without_process { 0 } else { self.upid };
        (upid, if place < self.without_time { 0 } else { self.ts })
    }

    /// Takes an object (rule HG4).
    fn object(
        &mut self,
        object: Described<'_>,
        of: (Upid, i64),
        shared: &mut Shared<'_>,
        faults: &mut PacketFaults,
    ) -> Result<(), Broken> {
        let mut numbers = std::mem::take(&mut self.numbers);
        let [fields, references, internal] = &mut numbers;
        let message = object.message;
        let read = object.fields.read(message, object::REFERENCE_FIELD_ID, fields);
        let read = read.and_then(|()| {
            object.references.read(message, object::REFERENCE_OBJECT_ID, references)
        });
        let read = read.and_then(|()| {
            object.internal.read(message, object::RUNTIME_INTERNAL_OBJECT_ID, internal)
        });
        if read.is_ok() {
            let fits = fields.is_empty() || fields.len() == references.len();
            if !fits {
                faults.malformed += 1;
            } else if self.takes(of, faults) {
                self.add(&object, [fields, references, internal], shared);
            }
        }
        self.numbers = numbers;
        read
    }

    fn add(
        &mut self,
        object: &Described<'_>,
        [fields, references, internal]: [&[u64]; 3],
        shared: &mut Shared<'_>,
    ) {
        let id = match object.id_delta {
            0 => object.id,
            delta => self.last_object.wrapping_add(delta),
        };
        self.last_object = id;
        self.last_heap = object.heap.map_or(self.last_heap, heap);
        let owner = self.objects.get(id, &mut shared.next.objects);
        let class = self.class(object.type_id, shared.classes);
        self.objects.set_class(owner, class);
        self.objects.set_size(owner, object.size.cast_signed());
        match self.last_heap {
            0 => {}
            heap => self.objects.set_heap(owner, heap, matches!(heap, 2 | 3)),
        }
        if object.size == 0 {
            self.without_size.push((class, owner));
        }
        if !references.is_empty() || !internal.is_empty() {
            self.refer(owner, object.base, [fields, references, internal], shared.next);
        }
        if !references.is_empty() && fields.is_empty() {
            self.without_names.push((class, owner));
        }
        if let Some(size) = object.native_size {
            self.native_sizes.insert(owner, size.cast_signed());
        }
        self.values(owner, &object.primitives, shared.next);
    }

    /// The class of a number in the trace, which may be new.
    pub fn class(&mut self, id: u64, classes: &mut Classes) -> ClassId {
        *self.classes.entry(id).or_insert_with(|| classes.add())
    }

    /// Adds a set of references.
    fn refer(
        &mut self,
        owner: ObjectIx,
        base: u64,
        [fields, references, internal]: [&[u64]; 3],
        next: &mut NextRows,
    ) {
        let set = self.references.begin(owner);
        let mut fields = fields.iter();
        for &reference in references {
            let number = if reference == 0 { 0 } else { reference.wrapping_add(base) };
            let owned = (number != 0).then(|| self.objects.get(number, &mut next.objects));
            let field = fields.next().map_or(UNNAMED, |iid| self.fields.slot(*iid));
            self.references.add(owned, field, &mut next.references);
        }
        for &number in internal {
            let owned = self.objects.get(number, &mut next.objects);
            self.references.add(Some(owned), INTERNAL, &mut next.references);
        }
        self.objects.set_set(owner, set);
    }

    /// Adds the values of an object's fields (rule HG10).
    fn values(
        &mut self,
        owner: ObjectIx,
        values: &[Option<i64>; PRIMITIVES.len()],
        next: &mut NextRows,
    ) {
        let set = next.primitives;
        for (field, value) in values.iter().enumerate() {
            if let Some(value) = *value {
                self.primitives.push(Primitive { row: next.primitives, set, field, value });
                next.primitives = next.primitives.wrapping_add(1);
            }
        }
        if next.primitives != set {
            self.data.insert(owner, next.data);
            self.data_rows.push((next.data, set));
            next.data = next.data.wrapping_add(1);
        }
    }

    /// Takes a root (rule HG5).
    fn root(
        &mut self,
        root: Message<'_>,
        of: (Upid, i64),
        faults: &mut PacketFaults,
    ) -> Result<(), Broken> {
        let mut numbers = Vec::new();
        repeated(root, root::OBJECT_IDS, &mut numbers)?;
        if self.takes(of, faults) {
            let root_type = root.number(root::ROOT_TYPE).unwrap_or(0) as i32;
            let root_type = u8::try_from(root_type).ok().filter(|number| *number <= LAST_ROOT_TYPE);
            let root_type = root_type.unwrap_or(0);
            self.roots.extend(numbers.into_iter().map(|number| (number, root_type)));
        }
        Ok(())
    }
}

/// The largest number of a root's type.
const LAST_ROOT_TYPE: u8 = 14;

fn of_type(message: Message<'_>, names: &mut Names) -> Result<(u64, Type), Broken> {
    let mut fields = Vec::new();
    repeated(message, described::REFERENCE_FIELD_ID, &mut fields)?;
    let number = |field| message.number(field).unwrap_or(0);
    let described = Type {
        location: message.number(described::LOCATION_ID),
        name: name(message, described::CLASS_NAME, names),
        object_size: number(described::OBJECT_SIZE).cast_signed(),
        superclass: number(described::SUPERCLASS_ID),
        fields: fields.into(),
        kind: kind(number(described::KIND)),
        classloader: number(described::CLASSLOADER_ID),
    };
    Ok((number(described::ID), described))
}
