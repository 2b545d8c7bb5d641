//! Random dumps of Java heaps. They have few objects, names and numbers, so that these coincide.

use crate::model::threads::generate::Random;
use timebase_lab::encode::Message;

const PIDS: [u64; 5] = [100, 100, 100, 101, 0];
const SEQUENCES: [u64; 4] = [1, 1, 2, 3];
const OBJECTS: [u64; 9] = [1, 2, 3, 16, 17, 18, 32, 33, 34];
const TYPES: [u64; 6] = [0, 1, 2, 3, 4, 9];
const IIDS: [u64; 6] = [0, 1, 2, 3, 4, 9];
const SIZES: [u64; 5] = [0, 0, 8, 24, u64::MAX];
const CLASSES: [&str; 12] = [
    "a.b",
    "a.c",
    "a.b[]",
    "java.lang.Class<a.b>",
    "java.lang.Class<a.c>",
    "java.lang.Class<a.b[]>",
    "java.lang.Class<>",
    "java.lang.Object",
    "sun.misc.Cleaner",
    "",
    "x>",
    "[][]",
];
const FIELDS: [&str; 12] = [
    "a.c a.b.f",
    "a.b.f",
    "int a.c.g",
    "java.lang.Class java.lang.Class.superClass",
    "java.lang.Class.superClass",
    "java.lang.ref.Reference.referent",
    "java.lang.Object java.lang.ref.Reference.referent",
    "t sun.misc.Cleaner.thunk",
    "t sun.misc.Cleaner.next",
    "r libcore.util.NativeAllocationRegistry$CleanerThunk.this$0",
    " x",
    "",
];
const LOCATIONS: [&str; 9] = [
    "",
    "base.apk",
    "/data/app/org.app-1/base.apk",
    "/data/app/~~q==/org.app-z==/base.apk",
    "/data/app/org.app/base.apk",
    "/data/app/~~q==",
    "[anon:dex extracted in memory from /data/app/~~q==/org.mem-z==/base.apk]",
    "/product/app/Maps/Maps.apk!classes2.dex",
    "/x/PrebuiltGmsCore/y",
];
const PACKAGES: [&str; 4] = ["", "org.app", "org.mem", "com.google.android.apps.maps"];
const OBFUSCATED: [&str; 6] = ["a.b", "a.c", "", "java.lang.Object", "x>", "unknown"];
const MEMBERS: [&str; 4] = ["f", "g", "", "superClass"];
const CLEAR: [&str; 5] = ["Good", "org.Better", "", "field", "Other.field"];
/// Bytes of a packed field that end inside a number.
const BROKEN: [u8; 3] = [1, 2, 0x80];

struct Generator {
    random: Random,
    now: u64,
    indexes: [u64; 4],
}

fn new() -> Message {
    Message::new()
}

/// The packets of a random trace.
pub fn trace(seed: u64) -> Vec<Message> {
    let mut generator = Generator { random: Random(seed ^ 0x4ea9), now: 1000, indexes: [0; 4] };
    // A packet with a time comes first, because no event has a time before it.
    let mut packets = vec![new().number(8, 1000).number(10, 9).message(2, new())];
    let count = 1 + generator.random.below(9);
    packets.extend((0..count).map(|_| generator.packet()));
    packets
}

impl Generator {
    fn chance(&mut self, percent: u64) -> bool {
        self.random.below(100) < percent
    }

    fn any(&mut self, of: &[u64]) -> u64 {
        self.random.any(of)
    }

    fn some(&mut self, message: Message, percent: u64, field: u32, of: &[u64]) -> Message {
        match self.chance(percent) {
            true => message.number(field, self.random.any(of)),
            false => message,
        }
    }

    fn packet(&mut self) -> Message {
        self.now += self.any(&[0, 0, 0, 0, 1, 50]);
        let mut packet = new();
        match self.random.below(16) {
            0 => {}
            // Packets of other sequences come later, with an earlier time.
            1 => packet = packet.number(8, self.now - 1),
            _ => packet = packet.number(8, self.now),
        }
        let sequence = self.any(&SEQUENCES);
        if !self.random.one_in(20) {
            packet = packet.number(10, sequence);
        }
        match self.random.below(6) {
            0 => packet.message(64, self.mapping()),
            _ => packet.message(56, self.graph(sequence)),
        }
    }

    fn graph(&mut self, sequence: u64) -> Message {
        let mut graph = new();
        let is_continued = self.chance(45);
        let next = &mut self.indexes[sequence as usize];
        let index = *next;
        *next = if is_continued { index + 1 } else { 0 };
        if self.random.one_in(12) {
            graph = graph.number(6, self.any(&[0, 1, 2, 7]));
        } else if index != 0 || self.chance(50) {
            graph = graph.number(6, index);
        }
        if !self.random.one_in(15) {
            graph = graph.number(1, self.any(&PIDS));
        }
        for _ in 0..self.random.below(7) {
            graph = graph.message(2, self.object());
        }
        for _ in 0..self.random.below(5) {
            graph = graph.message(9, self.class());
        }
        for _ in 0..self.random.below(5) {
            graph = graph.message(4, self.name(&IIDS, &FIELDS));
        }
        for _ in 0..self.random.below(3) {
            graph = graph.message(8, self.name(&IIDS, &LOCATIONS));
        }
        for _ in 0..self.random.below(3) {
            let root = new();
            let root = self.repeated(root, 1, &OBJECTS, 3);
            let kinds = [0, 1, 2, 3, 5, 8, 13, 14, 15, u64::MAX];
            graph = graph.message(7, self.some(root, 85, 2, &kinds));
        }
        let graph = self.some(graph, 20, 10, &[0, 77, u64::MAX]);
        if is_continued { graph.number(5, 1) } else { self.some(graph, 30, 5, &[0]) }
    }

    /// A repeated number: packed, broken, in several fields, or not at all.
    fn repeated(&mut self, message: Message, field: u32, of: &[u64], most: u64) -> Message {
        let count = self.random.below(most + 1);
        let numbers: Vec<u64> = (0..count).map(|_| self.any(of)).collect();
        match self.random.below(14) {
            0 => message.bytes(field, &BROKEN),
            1 => message.packed(field, &[of[0]]).packed(field, &numbers),
            2..=5 => numbers.into_iter().fold(message, |message, n| message.number(field, n)),
            _ if numbers.is_empty() => message,
            _ => message.packed(field, &numbers),
        }
    }

    fn object(&mut self) -> Message {
        let mut object = new();
        match self.random.below(4) {
            0 => object = object.number(7, self.any(&[0, 1, 2, 15])).number(1, self.any(&OBJECTS)),
            1 => object = object.number(7, self.any(&[1, 1, 14])),
            _ => object = object.number(1, self.any(&OBJECTS)),
        }
        object = self.some(object, 90, 2, &TYPES);
        object = self.some(object, 60, 3, &SIZES);
        object = self.some(object, 30, 9, &[0, 1, 2, 3, 4, u64::MAX]);
        object = self.some(object, 20, 6, &[0, 1, 16, u64::MAX]);
        let references = self.random.below(4);
        let mut owned: Vec<u64> = OBJECTS.to_vec();
        owned.push(0);
        if self.random.one_in(8) {
            object = self.repeated(object, 4, &IIDS, 3);
            object = self.repeated(object, 5, &owned, 3);
        } else if references > 0 {
            let numbers = |generator: &mut Self, of: &[u64]| -> Vec<u64> {
                (0..references).map(|_| generator.any(of)).collect()
            };
            if self.chance(50) {
                let iids = numbers(self, &IIDS);
                object = object.packed(4, &iids);
            }
            let owned = numbers(self, &owned);
            object = object.packed(5, &owned);
        }
        if self.random.one_in(5) {
            object = self.repeated(object, 10, &owned, 2);
        }
        object = self.some(object, 20, 8, &[0, 1, 100, 101, u64::MAX]);
        for field in [11, 12, 13, 14] {
            object = self.some(object, 8, field, &[0, 5, 640, u64::MAX]);
        }
        object
    }

    fn class(&mut self) -> Message {
        let mut class = self.some(new(), 95, 1, &TYPES);
        class = self.some(class, 60, 2, &IIDS);
        if !self.random.one_in(12) {
            class = class.text(3, self.random.any(&CLASSES));
        }
        class = self.some(class, 70, 4, &SIZES);
        class = self.some(class, 60, 5, &TYPES);
        class = self.repeated(class, 6, &IIDS, 3);
        class = self.some(class, 70, 7, &[0, 1, 1, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12, u64::MAX]);
        self.some(class, 20, 8, &OBJECTS)
    }

    fn name(&mut self, iids: &[u64], texts: &[&'static str]) -> Message {
        let named = self.some(new(), 95, 1, iids);
        match self.random.one_in(15) {
            true => named,
            false => named.text(2, self.random.any(texts)),
        }
    }

    fn mapping(&mut self) -> Message {
        let mut mapping = new();
        if self.chance(80) {
            mapping = mapping.text(1, self.random.any(&PACKAGES));
        }
        for _ in 0..self.random.below(4) {
            let mut class = new();
            if self.chance(90) {
                class = class.text(1, self.random.any(&OBFUSCATED));
            }
            if self.chance(90) {
                class = class.text(2, self.random.any(&CLEAR));
            }
            for _ in 0..self.random.below(3) {
                let mut member = new();
                if self.chance(90) {
                    member = member.text(1, self.random.any(&MEMBERS));
                }
                if self.chance(90) {
                    member = member.text(2, self.random.any(&CLEAR));
                }
                class = class.message(3, member);
            }
            mapping = mapping.message(3, class);
        }
        mapping
    }
}
