//! The rows of Java heaps, written as plainly as possible from rules HG.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::threads::wire::{Field, Message};
use crate::support::statements::{Answers, Row};
use rusqlite::types::Value;

const REFERENT: &str = "java.lang.ref.Reference.referent";

#[derive(Clone, Default)]
pub struct Class {
    pub name: Option<String>,
    pub deobfuscated: Option<String>,
    location: Option<String>,
    superclass: Option<usize>,
    classloader: Option<usize>,
    kind: Option<u64>,
    package: Option<String>,
}

#[derive(Clone)]
pub struct Object {
    pub graph: usize,
    number: u64,
    pub pid: u64,
    pub ts: u64,
    pub size: i64,
    pub native: i64,
    set: Option<usize>,
    pub class: usize,
    heap: u64,
    kept: bool,
    pub root: Option<u64>,
    pub distance: i64,
    data: Option<usize>,
    registry: Option<i64>,
}

#[derive(Clone)]
struct Reference {
    set: usize,
    owner: usize,
    owned: Option<usize>,
    says: Option<u64>,
    name: Option<String>,
    type_name: Option<String>,
    names: Vec<String>,
    deobfuscated: Option<String>,
}

/// A graph at work.
#[derive(Clone, Default)]
struct Graph {
    number: usize,
    pid: u64,
    ts: u64,
    index: Option<u64>,
    is_cut: bool,
    heap_size: Option<i64>,
    last: u64,
    last_heap: u64,
    classes: BTreeMap<u64, usize>,
    types: BTreeMap<u64, Message>,
    fields: Vec<(u64, Option<String>, Option<String>)>,
    locations: Vec<(u64, Option<String>)>,
    roots: Vec<(u64, u64)>,
    without_size: Vec<(usize, usize)>,
    without_names: Vec<(usize, usize)>,
}

pub struct Dump {
    pub pid: u64,
    pub ts: u64,
    size: Option<i64>,
    pub is_cut: bool,
}

#[derive(Default)]
pub struct Model {
    pub objects: Vec<Object>,
    pub classes: Vec<Class>,
    references: Vec<Reference>,
    primitives: Vec<(usize, &'static str, &'static str, i64)>,
    data: Vec<usize>,
    pub dumps: Vec<Dump>,
    counts: BTreeMap<(String, Option<u64>), i64>,
    graphs: BTreeMap<u64, Graph>,
    number: usize,
}

/// The numbers of a repeated field; `None` if a packed one is broken.
fn repeated(message: &Message, field: u32) -> Option<Vec<u64>> {
    let all: Vec<&Field> =
        message.values().filter(|(number, _)| *number == field).map(|(_, value)| value).collect();
    match all.last() {
        Some(Field::Bytes(bytes)) => {
            let (mut numbers, mut value, mut shift) = (Vec::new(), 0u64, 0);
            for byte in bytes {
                value |= u64::from(byte & 127) << shift;
                shift += 7;
                if byte & 128 == 0 {
                    numbers.push(value);
                    (value, shift) = (0, 0);
                }
            }
            (shift == 0).then_some(numbers)
        }
        _ => Some(
            all.iter()
                .filter_map(|value| match value {
                    Field::Number(number) => Some(*number),
                    Field::Bytes(_) => None,
                })
                .collect(),
        ),
    }
}

/// The plain name, whether it is a class object's, and the arrays.
fn plain(name: &str) -> (String, bool, usize) {
    let is_static = name.starts_with("java.lang.Class<") && name.ends_with('>');
    let mut plain = match is_static {
        true => &name["java.lang.Class<".len()..name.len() - 1],
        false => name,
    };
    let mut arrays = 0;
    while plain.ends_with("[]") {
        plain = &plain[..plain.len() - 2];
        arrays += 1;
    }
    (plain.to_owned(), is_static, arrays)
}

fn around(name: &str, like: &str) -> String {
    let (_, is_static, arrays) = plain(like);
    let name = format!("{name}{}", "[]".repeat(arrays));
    if is_static { format!("java.lang.Class<{name}>") } else { name }
}

impl Model {
    pub fn of(trace: &[u8]) -> Model {
        let mut model = Model::default();
        let mut events = Vec::new();
        let mut seen = 0;
        for packet in Message::parse(trace).unwrap().messages(1) {
            seen = seen.max(packet.number(8).unwrap_or(0));
            let ts = packet.number(8).unwrap_or(seen);
            events.push((ts, packet));
        }
        events.sort_by_key(|(ts, _)| *ts);
        for (ts, packet) in &events {
            for graph in packet.messages(56) {
                model.packet(packet.number(10).unwrap_or(0), *ts, &graph);
            }
        }
        if !model.graphs.is_empty() {
            model.count("heap_graph_non_finalized_graph", None);
        }
        for (_, graph) in std::mem::take(&mut model.graphs) {
            model.end(graph);
        }
        for (_, packet) in &events {
            for mapping in packet.messages(64) {
                model.deobfuscate(&mapping);
            }
        }
        model
    }

    fn count(&mut self, name: &str, pid: Option<u64>) {
        *self.counts.entry((name.to_owned(), pid)).or_default() += 1;
    }

    fn packet(&mut self, sequence: u64, ts: u64, message: &Message) {
        let mut graph = self.graphs.remove(&sequence).unwrap_or_else(|| {
            self.number += 1;
            Graph { number: self.number, ..Graph::default() }
        });
        let pid = u64::from(message.unsigned(1) as u32);
        // HG3
        if message.unsigned(6) != graph.index.map_or(0, |index| index + 1) {
            graph.is_cut = true;
            self.count("heap_graph_missing_packet", Some(graph.pid));
        }
        graph.index = Some(message.unsigned(6));
        graph.heap_size = message.number(10).map(u64::cast_signed).or(graph.heap_size);
        for object in message.messages(2) {
            let numbers = [4, 5, 10].map(|field| repeated(&object, field));
            let [Some(fields), Some(references), Some(internal)] = numbers else {
                self.count("heap_graph_malformed_packet", Some(pid));
                break;
            };
            if !fields.is_empty() && fields.len() != references.len() {
                self.count("heap_graph_malformed_packet", Some(pid));
                continue;
            }
            if self.takes(&mut graph, pid, ts) {
                self.object(&mut graph, &object, [fields, references, internal]);
            }
        }
        // HG5
        for class in message.messages(9) {
            match repeated(&class, 6) {
                Some(_) => {
                    graph.types.insert(class.unsigned(1), class);
                }
                None => self.count("heap_graph_malformed_packet", Some(pid)),
            }
        }
        for named in message.messages(4) {
            let text = named.text(2);
            let (type_name, name) = match text.as_deref().and_then(|text| text.split_once(' ')) {
                Some((of, name)) => (Some(of.to_owned()), Some(name.to_owned())),
                None => (None, text),
            };
            let iid = named.unsigned(1);
            graph.fields.push((iid, name.clone(), type_name.clone()));
            for reference in &mut self.references {
                let is_of_graph = self.objects[reference.owner].graph == graph.number;
                if is_of_graph && reference.says == Some(iid) {
                    reference.name.clone_from(&name);
                    reference.type_name.clone_from(&type_name);
                    reference.names.extend(name.clone());
                }
            }
        }
        for named in message.messages(8) {
            graph.locations.push((named.unsigned(1), named.text(2)));
        }
        for root in message.messages(7) {
            let Some(numbers) = repeated(&root, 1) else {
                self.count("heap_graph_malformed_packet", Some(pid));
                break;
            };
            if self.takes(&mut graph, pid, ts) {
                let kind = root.unsigned(2);
                let kind = if kind <= 14 { kind } else { 0 };
                graph.roots.extend(numbers.into_iter().map(|number| (number, kind)));
            }
        }
        match message.unsigned(5) {
            0 => self.end(graph),
            _ => {
                self.graphs.insert(sequence, graph);
            }
        }
    }

    /// HG2
    fn takes(&mut self, graph: &mut Graph, pid: u64, ts: u64) -> bool {
        if graph.pid != 0 && graph.pid != pid || graph.ts != 0 && graph.ts != ts {
            self.count("heap_graph_non_finalized_graph", None);
            return false;
        }
        (graph.pid, graph.ts) = (pid, ts);
        true
    }

    fn find(&self, graph: &Graph, number: u64) -> Option<usize> {
        self.objects
            .iter()
            .position(|object| object.graph == graph.number && object.number == number)
    }

    fn get(&mut self, graph: &Graph, number: u64) -> usize {
        self.find(graph, number).unwrap_or_else(|| {
            self.objects.push(Object {
                graph: graph.number,
                number,
                pid: graph.pid,
                ts: graph.ts,
                size: -1,
                native: 0,
                set: None,
                class: 0,
                heap: 0,
                kept: false,
                root: None,
                distance: -1,
                data: None,
                registry: None,
            });
            self.objects.len() - 1
        })
    }

    fn class(&mut self, graph: &mut Graph, id: u64) -> usize {
        let classes = &mut self.classes;
        *graph.classes.entry(id).or_insert_with(|| {
            classes.push(Class::default());
            classes.len() - 1
        })
    }

    /// HG4, HG10
    fn object(&mut self, graph: &mut Graph, message: &Message, numbers: [Vec<u64>; 3]) {
        let [fields, references, internal] = numbers;
        let number = match message.unsigned(7) {
            0 => message.unsigned(1),
            delta => graph.last.wrapping_add(delta),
        };
        graph.last = number;
        graph.last_heap = message.number(9).unwrap_or(graph.last_heap);
        let object = self.get(graph, number);
        let class = self.class(graph, message.unsigned(2));
        let size = message.unsigned(3).cast_signed();
        (self.objects[object].class, self.objects[object].size) = (class, size);
        if graph.last_heap != 0 {
            self.objects[object].heap = graph.last_heap;
            self.objects[object].kept |= [2, 3].contains(&graph.last_heap);
        }
        if size == 0 {
            graph.without_size.push((class, object));
        }
        let set = self.references.len();
        let reference = |owner, owned| Reference {
            set,
            owner,
            owned,
            says: None,
            name: None,
            type_name: None,
            names: Vec::new(),
            deobfuscated: None,
        };
        for (place, number) in references.iter().enumerate() {
            let based = number.wrapping_add(message.unsigned(6));
            let owned = (*number != 0 && based != 0).then(|| self.get(graph, based));
            let says = fields.get(place).copied();
            self.references.push(Reference { says, ..reference(object, owned) });
        }
        for number in &internal {
            let owned = Some(self.get(graph, *number));
            let name = Some("runtimeInternalObjects".to_owned());
            self.references.push(Reference { name, ..reference(object, owned) });
        }
        if self.references.len() > set {
            self.objects[object].set = Some(set);
        }
        if !references.is_empty() && fields.is_empty() {
            graph.without_names.push((class, object));
        }
        if let Some(size) = message.number(8) {
            self.objects[object].registry = Some(size.cast_signed());
        }
        let first = self.primitives.len();
        for (field, name, type_name) in [
            (11, "mId", "long"),
            (12, "mSourceId", "long"),
            (13, "mWidth", "int"),
            (14, "mHeight", "int"),
        ] {
            if let Some(value) = message.number(field) {
                let value = if type_name == "int" { value & 0xffff_ffff } else { value };
                self.primitives.push((first, name, type_name, value.cast_signed()));
            }
        }
        if self.primitives.len() > first {
            self.objects[object].data = Some(self.data.len());
            self.data.push(first);
        }
    }

    fn end(&mut self, mut graph: Graph) {
        let types = graph.types.clone();
        let mut described = BTreeSet::new();
        // HG6
        for (id, of) in &types {
            let class = self.class(&mut graph, *id);
            described.insert(class);
            let location = of.number(2).and_then(|id| {
                let known = graph.locations.iter().find(|(iid, _)| *iid == id);
                if known.is_none() {
                    self.count("heap_graph_invalid_string_id", Some(graph.pid));
                }
                known.and_then(|(_, text)| text.clone())
            });
            for (_, object) in graph.without_size.iter().filter(|(other, _)| *other == class) {
                self.objects[*object].size = of.unsigned(4).cast_signed();
            }
            if ![2, 3, 4].contains(&of.unsigned(7)) {
                for (_, object) in graph.without_names.iter().filter(|(other, _)| *other == class) {
                    self.name_references(&graph, *id, *object);
                }
            }
            let loader = of.unsigned(8);
            let classloader = (loader != 0).then(|| self.get(&graph, loader));
            let kind = Some(of.unsigned(7)).filter(|kind| *kind <= 11).unwrap_or(0);
            let package = location.as_deref().and_then(|location| self.package(location));
            let name = of.text(3);
            self.classes[class] = Class {
                name,
                location,
                classloader,
                kind: Some(kind),
                package,
                ..Class::default()
            };
        }
        let mut left = graph.without_size.iter().chain(&graph.without_names);
        if left.any(|(class, _)| !described.contains(class)) {
            self.count("heap_graph_malformed_packet", Some(graph.pid));
        }
        self.roots(&graph);
        self.superclasses(&graph);
        self.native_sizes(&graph);
        // HG10
        let (pid, ts) = (graph.pid, graph.ts);
        match self.dumps.iter_mut().find(|dump| (dump.pid, dump.ts) == (pid, ts)) {
            Some(dump) => {
                dump.size = graph.heap_size.or(dump.size);
                dump.is_cut |= graph.is_cut;
            }
            None => {
                self.dumps.push(Dump { pid, ts, size: graph.heap_size, is_cut: graph.is_cut });
            }
        }
    }

    fn set(&self, object: usize) -> Vec<usize> {
        let Some(set) = self.objects[object].set else { return Vec::new() };
        let of_set = |place: &usize| self.references[*place].set == set;
        (0..self.references.len()).filter(of_set).collect()
    }

    /// HG6, YR1
    fn name_references(&mut self, graph: &Graph, class: u64, object: usize) {
        let fields = |class: u64| repeated(&graph.types[&class], 6).unwrap();
        let (mut class, mut place) = (class, 0);
        for reference in self.set(object) {
            let mut steps = 0;
            while place >= fields(class).len() {
                let above = graph.types[&class].unsigned(5);
                steps += 1;
                if above == 0 || !graph.types.contains_key(&above) || steps > graph.types.len() {
                    self.count("heap_graph_malformed_packet", Some(graph.pid));
                    return;
                }
                (class, place) = (above, 0);
            }
            let iid = fields(class)[place];
            place += 1;
            match graph.fields.iter().find(|(known, ..)| *known == iid) {
                None => self.count("heap_graph_malformed_packet", Some(graph.pid)),
                Some((_, name, type_name)) => {
                    let reference = &mut self.references[reference];
                    reference.name.clone_from(name);
                    reference.type_name.clone_from(type_name);
                    reference.names.extend(name.clone());
                }
            }
        }
    }

    /// HG12
    fn package(&mut self, path: &str) -> Option<String> {
        for line in include_str!("../../data/rest/REST-PATHS.tsv").lines().skip(1) {
            let [place, text, package] = line.split('\t').collect::<Vec<_>>()[..] else { panic!() };
            if place == "start" && path.starts_with(text)
                || place == "inside" && path.contains(text)
            {
                return Some(package.to_owned());
            }
        }
        let marker = "dex extracted in memory from ";
        let path = path.find(marker).map_or(path, |at| &path[at + marker.len()..]);
        let installed = path.strip_prefix("/data/app/")?;
        let found = (|| {
            let rest = match installed.starts_with('~') {
                true => &installed[installed.find('/')? + 1..],
                false => installed,
            };
            let directory = &rest[..rest.find('/')?];
            Some(directory[..directory.find('-')?].to_owned())
        })();
        if found.is_none() {
            self.count("deobfuscate_location_parse_error", None);
        }
        found
    }

    pub fn children(&self, object: usize) -> BTreeSet<usize> {
        let kind = self.classes[self.objects[object].class].kind;
        let is_weak = kind.is_some_and(|kind| [9, 10, 11].contains(&kind));
        let strong = self.set(object).into_iter().filter(|place| {
            !(is_weak && self.references[*place].name.as_deref() == Some(REFERENT))
        });
        strong.filter_map(|place| self.references[place].owned).collect()
    }

    /// HG7
    fn roots(&mut self, graph: &Graph) {
        let rank = |kind| [5, 1, 2].iter().position(|other| *other == kind).unwrap_or(3);
        let mut roots: Vec<(usize, u64)> = graph
            .roots
            .iter()
            .filter_map(|(number, kind)| Some((self.find(graph, *number)?, *kind)))
            .collect();
        let kept = (0..self.objects.len())
            .filter(|object| self.objects[*object].graph == graph.number)
            .filter(|object| self.objects[*object].kept);
        roots.extend(kept.map(|object| (object, 13)));
        for (object, kind) in roots {
            let known = &mut self.objects[object].root;
            if known.is_none_or(|known| rank(kind) < rank(known)) {
                *known = Some(kind);
            }
        }
        // Distances become smaller until they are right.
        loop {
            let mut changed = false;
            for object in 0..self.objects.len() {
                if self.objects[object].graph != graph.number {
                    continue;
                }
                if self.objects[object].root.is_some() && self.objects[object].distance != 0 {
                    self.objects[object].distance = 0;
                    changed = true;
                }
                let distance = self.objects[object].distance;
                if distance < 0 {
                    continue;
                }
                for child in self.children(object) {
                    let known = &mut self.objects[child].distance;
                    if *known < 0 || *known > distance + 1 {
                        *known = distance + 1;
                        changed = true;
                    }
                }
            }
            if !changed {
                break;
            }
        }
    }

    fn first(&self, object: usize, name: &str) -> Option<usize> {
        let set = self.set(object);
        let place = set.iter().find(|place| self.references[**place].name.as_deref() == Some(name));
        self.references[*place?].owned
    }

    /// HG8
    fn superclasses(&mut self, graph: &Graph) {
        let mut above = BTreeMap::new();
        for object in 0..self.objects.len() {
            if self.objects[object].graph != graph.number {
                continue;
            }
            let class = &self.classes[self.objects[object].class];
            let Some((name, true, 0)) = class.name.as_deref().map(plain) else { continue };
            let Some(superclass) = self.first(object, "java.lang.Class.superClass") else {
                continue;
            };
            let superclass = &self.classes[self.objects[superclass].class];
            let of = superclass.name.as_deref().map(|name| plain(name).0);
            above.insert((name, class.location.clone()), (of, superclass.location.clone()));
        }
        for class in 0..self.classes.len() {
            let Some(name) = self.classes[class].name.clone() else { continue };
            let (bare, is_static, arrays) = plain(&name);
            let location = self.classes[class].location.clone();
            let Some((Some(superclass), of)) = above.get(&(bare, location)) else { continue };
            if is_static || arrays > 0 {
                continue;
            }
            let found = self.classes.iter().rposition(|other| {
                other.name.as_ref() == Some(superclass) && other.location == *of
            });
            self.classes[class].superclass = found.or(self.classes[class].superclass);
        }
    }

    /// HG9
    fn native_sizes(&mut self, graph: &Graph) {
        for object in 0..self.objects.len() {
            let class = &self.classes[self.objects[object].class];
            if self.objects[object].graph != graph.number
                || class.name.as_deref() != Some("sun.misc.Cleaner")
            {
                continue;
            }
            let this = "libcore.util.NativeAllocationRegistry$CleanerThunk.this$0";
            let referent = self.first(object, REFERENT);
            let thunk = self.first(object, "sun.misc.Cleaner.thunk");
            let next = self.first(object, "sun.misc.Cleaner.next");
            if let (Some(referent), Some(thunk)) = (referent, thunk)
                && next != Some(object)
                && let Some(registry) = self.first(thunk, this)
                && let Some(size) = self.objects[registry].registry
            {
                let native = &mut self.objects[referent].native;
                *native = native.wrapping_add(size & !1);
            }
        }
    }

    /// HG11
    fn deobfuscate(&mut self, mapping: &Message) {
        let package = mapping.text(1).filter(|package| !package.is_empty());
        for class in mapping.messages(3) {
            let old = class.text(1).unwrap_or_default();
            let new = class.text(2).unwrap_or_default();
            for known in &mut self.classes {
                let Some(name) = known.name.clone() else { continue };
                let is_ours = known.package.is_none() || known.package == package;
                if plain(&name).0 == old && is_ours {
                    known.deobfuscated = Some(around(&new, &name));
                }
            }
            for member in class.messages(3) {
                let old = format!("{old}.{}", member.text(1).unwrap_or_default());
                let field = member.text(2).unwrap_or_default();
                let field = if field.contains('.') { field } else { format!("{new}.{field}") };
                for reference in &mut self.references {
                    if reference.names.contains(&old) {
                        reference.deobfuscated = Some(field.clone());
                    }
                }
            }
        }
    }

    /// The rows of the statements.
    pub fn answers(&self) -> Answers {
        let mut answers = Answers::new();
        let mut add = |name: &str, rows: Vec<Row>| answers.insert(name.to_owned(), rows);
        let dumps = self.dumps.iter();
        let dumps = dumps.map(|dump| row([&dump.ts, &dump.pid, &NULL, &shown(dump.size)]));
        add("heap_graph", dumps.collect());
        let kinds = KINDS.map(|kind| format!("KIND_{kind}"));
        let classes = self.classes.iter().enumerate().map(|(id, class)| {
            row([
                &id,
                &shown(class.name.clone()),
                &shown(class.deobfuscated.clone()),
                &shown(class.location.clone()),
                &shown(class.superclass),
                &shown(class.classloader),
                &shown(class.kind.map(|kind| kinds[kind as usize].clone())),
            ])
        });
        add("heap_class", classes.collect());
        add("heap_object", (0..self.objects.len()).map(|id| self.object_row(id)).collect());
        let references = self.references.iter().map(|reference| {
            row([
                &reference.set,
                &reference.owner,
                &shown(reference.owned),
                &shown(reference.name.clone()),
                &shown(reference.type_name.clone()),
                &shown(reference.deobfuscated.clone()),
            ])
        });
        add("heap_reference", references.collect());
        add("heap_flame", super::flame::rows(self));
        let counts = self.counts.iter();
        let counts = counts.map(|((name, pid), value)| row([name, &shown(*pid), value]));
        add("heap_counts", counts.collect());
        answers
    }

    fn object_row(&self, id: usize) -> Row {
        let object = &self.objects[id];
        // YR2
        let heap = match object.heap {
            1 => Some("HEAP_TYPE_APP"),
            2 => Some("HEAP_TYPE_ZYGOTE"),
            3 => Some("HEAP_TYPE_BOOT_IMAGE"),
            _ => None,
        };
        let data = object.data.map(|data| {
            let of_set = self.primitives.iter().filter(|(set, ..)| *set == self.data[data]);
            let shown = of_set.map(|(_, name, type_name, value)| {
                format!("android.graphics.Bitmap.{name} {type_name}={value}")
            });
            shown.collect::<Vec<_>>().join(";")
        });
        row([
            &id,
            &object.pid,
            &object.ts,
            &object.size,
            &object.native,
            &shown(object.set),
            &i64::from(object.distance >= 0),
            &shown(heap),
            &object.class,
            &shown(object.root.map(root_type)),
            &object.distance,
            &shown(data),
        ])
    }
}

const KINDS: [&str; 12] = [
    "UNKNOWN",
    "NORMAL",
    "NOREFERENCES",
    "STRING",
    "ARRAY",
    "CLASS",
    "CLASSLOADER",
    "DEXCACHE",
    "SOFT_REFERENCE",
    "WEAK_REFERENCE",
    "FINALIZER_REFERENCE",
    "PHANTOM_REFERENCE",
];

/// The name of a root's type.
pub fn root_type(number: u64) -> String {
    let names = [
        "UNKNOWN",
        "JNI_GLOBAL",
        "JNI_LOCAL",
        "JAVA_FRAME",
        "NATIVE_STACK",
        "STICKY_CLASS",
        "THREAD_BLOCK",
        "MONITOR_USED",
        "THREAD_OBJECT",
        "INTERNED_STRING",
        "FINALIZING",
        "DEBUGGER",
        "REFERENCE_CLEANUP",
        "VM_INTERNAL",
        "JNI_MONITOR",
    ];
    format!("ROOT_{}", names[number as usize])
}

pub const NULL: &str = "(null)";

fn shown<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(|| NULL.to_owned(), |value| value.to_string())
}

pub fn row<const N: usize>(cells: [&dyn ToString; N]) -> Row {
    cells.iter().map(|cell| Value::Text(cell.to_string())).collect()
}
