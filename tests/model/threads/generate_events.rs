//! Random traces of track events and their descriptors, with atrace and process lists on the same
//! threads. They have few names, numbers and times, so that these coincide.

use super::generate::Random;
use crate::support::data;
use std::collections::BTreeSet;
use timebase_lab::encode::Message;

const NAMES: [&str; 7] = ["run", "draw", "q", "", "thread_time", "läuft", "q"];
const CATEGORIES: [&str; 4] = ["cat", "io", "", "cat"];
const PIDS: [u64; 3] = [10, 20, 30];
const TIDS: [u64; 5] = [10, 11, 20, 21, 30];
const GUEST: u64 = 77;
/// 0 is a sequence that is written explicitly.
const SEQUENCES: [u64; 4] = [2, 3, 4, 0];
/// Neither has a descriptor that counts.
const UNDESCRIBED: [u64; 2] = [77, 78];
/// Things happen a little after this time, in nanoseconds.
const EPOCH: u64 = 5_000_000;
/// A clock that a snapshot reads late or never.
const LATE: u64 = 900;

struct Generator {
    random: Random,
    /// The current time.
    now: u64,
    packets: Vec<Message>,
    /// The descriptions of the trace's uuids, which are 1, 2, 3 …
    descriptors: Vec<Message>,
    counters: Vec<u64>,
    /// The percentage of legacy events.
    legacy: u64,
    /// The percentage of another machine's packets.
    guests: u64,
    has_late_clock: bool,
    /// Whether programs are in containers, and whether events have callstacks.
    has_namespaces: bool,
    has_stacks: bool,
    /// The machine and the sequence of the current packet, and whether it is on the late clock:
    /// then nothing may depend on whether it is read before it is placed.
    sequence: (u64, u64),
    is_late: bool,
    /// Sequences with a base for deltas.
    referenced: BTreeSet<(u64, u64)>,
}

fn new() -> Message {
    Message::new()
}

/// The packets of a random trace.
pub fn trace(seed: u64) -> Vec<Message> {
    let mut random = Random(seed);
    let legacy = random.any(&[0, 20, 60]);
    let uuids = 3 + random.below(10);
    let count = 10 + random.below(60);
    let guests = random.any(&[0, 0, 0, 30]);
    let has_late_clock = random.one_in(4);
    let (has_namespaces, has_stacks) = (random.one_in(3), random.one_in(3));
    let mut generator = Generator {
        random,
        now: EPOCH,
        packets: Vec::new(),
        descriptors: Vec::new(),
        counters: Vec::new(),
        legacy,
        guests,
        has_late_clock,
        has_namespaces,
        has_stacks,
        sequence: (0, 0),
        is_late: false,
        referenced: BTreeSet::new(),
    };
    for uuid in 1..=uuids {
        let descriptor = generator.first_descriptor(uuid);
        generator.descriptors.push(descriptor);
    }
    generator.begin();
    for place in 0..uuids as usize {
        if generator.random.one_in(2) {
            generator.describe(place);
        }
    }
    for _ in 0..count {
        generator.packet();
    }
    for place in 0..uuids as usize {
        if generator.random.one_in(2) {
            generator.describe(place);
        }
    }
    generator.packets
}

impl Generator {
    fn name(&mut self) -> &'static str {
        self.random.any(&NAMES)
    }

    fn pid(&mut self) -> u64 {
        match self.random.below(30) {
            0 => (-7_i64).cast_unsigned(),
            1 => u64::from(u32::MAX) - 6,
            _ => self.random.any(&PIDS),
        }
    }

    fn tid(&mut self) -> u64 {
        match self.random.below(30) {
            0 => (-7_i64).cast_unsigned(),
            1 => (1 << 33) | 11,
            _ => self.random.any(&TIDS),
        }
    }

    fn iid(&mut self) -> u64 {
        match self.random.below(16) {
            0 => 0,
            1 => 3,
            n => 1 + n % 2,
        }
    }

    fn uuid(&mut self) -> u64 {
        match self.random.below(20) {
            0 => 0,
            1 => self.random.any(&UNDESCRIBED),
            _ => 1 + self.random.below(self.descriptors.len() as u64),
        }
    }

    fn counter(&mut self) -> u64 {
        match self.counters.len() as u64 {
            0 => self.uuid(),
            _ if self.random.one_in(12) => self.uuid(),
            _ => self.random.any(&self.counters.clone()),
        }
    }

    /// A time near the current one.
    fn time(&mut self) -> u64 {
        self.now += self.random.any(&[0, 0, 500, 1000, 1000, 3000]);
        match self.random.below(12) {
            0 => self.now - self.random.below(60) * 1000,
            _ => self.now,
        }
    }

    /// The first snapshot: MONOTONIC reads less than BOOTTIME, or there is none.
    fn begin(&mut self) {
        let snapshot = |clock, timestamp| new().number(1, clock).number(2, timestamp);
        let mut clocks = new().message(1, snapshot(6, EPOCH));
        if !self.random.one_in(4) {
            let behind = self.random.any(&[0, 0, 1_000_000]);
            clocks = clocks.message(1, snapshot(3, EPOCH - behind));
        }
        self.packets.push(new().number(10, 1).message(6, clocks));
        for sequence in SEQUENCES {
            if !self.random.one_in(4) {
                let mut packet = new().number(10, sequence).number(13, 1);
                if self.random.one_in(2) {
                    packet = packet.message(12, self.interned());
                }
                if self.random.one_in(2) {
                    packet = packet.message(59, self.defaults());
                }
                if self.random.one_in(2) {
                    let thread = self.thread();
                    let thread = self.references(thread);
                    packet = packet.number(8, EPOCH).message(44, thread);
                    self.referenced.insert((0, sequence));
                }
                self.packets.push(packet);
            }
        }
    }

    // Descriptors

    fn first_descriptor(&mut self, uuid: u64) -> Message {
        let mut descriptor = new().number(1, uuid);
        descriptor = self.stands(uuid, descriptor);
        if !self.random.one_in(3) {
            let name = self.name();
            let field = self.random.any(&[2, 2, 10, 13]);
            descriptor = descriptor.text(field, name);
        }
        if !self.random.one_in(4) {
            let parent = match self.random.below(40) {
                0 => 0,
                1 => self.random.any(&UNDESCRIBED),
                2 => uuid + 1,
                n if n < 28 => 1,
                _ => self.random.below(uuid),
            };
            descriptor = descriptor.number(5, parent);
        }
        descriptor = self.looks(descriptor);
        self.merges(descriptor)
    }

    /// Its owner, or its counter.
    fn stands(&mut self, uuid: u64, descriptor: Message) -> Message {
        let kind = match uuid {
            1 => self.random.below(4),
            2 => 4,
            _ => self.random.below(10),
        };
        match kind {
            0 | 1 => {
                let thread = self.thread();
                let mut descriptor = descriptor.message(4, thread);
                if self.random.one_in(5) {
                    descriptor = descriptor.number(9, 1);
                }
                if self.random.one_in(4) {
                    descriptor = descriptor.message(7, new().number(3, 1));
                }
                if self.random.one_in(8) {
                    let kind = self.random.any(&[0, 4, 15, 45, 99]);
                    descriptor = descriptor.message(7, new().number(1, kind));
                }
                descriptor
            }
            2 | 3 => {
                let process = self.process();
                let descriptor = descriptor.message(3, process);
                if !self.random.one_in(4) {
                    return descriptor;
                }
                let kind = self.random.any(&[0, 1, 2, 40, 99]);
                let mut chrome = new().number(1, kind);
                if self.random.one_in(3) {
                    chrome = chrome.text(4, "com.app").number(5, u64::MAX);
                }
                descriptor.message(6, chrome)
            }
            4 | 5 => {
                self.counters.push(uuid);
                let counter = self.counter_descriptor();
                descriptor.message(8, counter)
            }
            6 => descriptor.message(18, new()),
            _ => descriptor,
        }
    }

    fn thread(&mut self) -> Message {
        let mut thread = new();
        if !self.random.one_in(30) {
            thread = thread.number(1, self.pid());
        }
        thread = thread.number(2, self.tid());
        if self.random.one_in(2) {
            thread = thread.text(5, self.name());
        }
        if self.random.one_in(8) {
            thread = thread.number(4, self.random.any(&[0, 3, 51, 99]));
        }
        if self.random.one_in(2) {
            thread = self.references(thread);
        }
        thread
    }

    fn references(&mut self, thread: Message) -> Message {
        let thread = thread.number(6, EPOCH / 1000);
        thread.number(7, 100).number(8, 500)
    }

    fn process(&mut self) -> Message {
        let mut process = new();
        if !self.random.one_in(30) {
            process = process.number(1, self.pid());
        }
        if self.random.one_in(2) {
            process = process.text(6, self.name());
        }
        if self.random.one_in(8) {
            process = process.number(4, self.random.below(10));
        }
        if self.random.one_in(5) {
            process = process.signed(7, self.random.any(&[0, 5, -1]));
        }
        for _ in 0..self.random.below(3).saturating_sub(1) {
            process = process.text(8, self.name());
        }
        process
    }

    fn counter_descriptor(&mut self) -> Message {
        let mut counter = new();
        let numbers: [(u32, &[u64]); 4] =
            [(1, &[0, 1, 2]), (3, &[0, 1, 2, 3]), (4, &[0, 1, 10, u64::MAX]), (5, &[0, 1])];
        for (field, values) in numbers {
            if self.random.one_in(2) {
                counter = counter.number(field, self.random.any(values));
            }
        }
        for (field, text) in [(2, "cat"), (2, "io"), (6, "frogs"), (7, "y")] {
            if self.random.one_in(4) {
                counter = counter.text(field, text);
            }
        }
        counter
    }

    fn looks(&mut self, mut descriptor: Message) -> Message {
        if self.random.one_in(6) {
            descriptor = descriptor.number(11, self.random.any(&[0, 1, 2, 3, 3, 4]));
        }
        if self.random.one_in(5) {
            descriptor = descriptor.signed(12, self.random.any(&[0, 7, -3]));
        }
        if self.random.one_in(8) {
            descriptor = descriptor.text(14, "what it is");
        }
        descriptor
    }

    fn merges(&mut self, mut descriptor: Message) -> Message {
        if self.random.one_in(3) {
            descriptor = descriptor.number(15, self.random.below(4));
        }
        match self.random.below(8) {
            0 => descriptor.text(16, self.random.any(&["key", ""])),
            1 => descriptor.number(17, 7),
            _ => descriptor,
        }
    }

    /// A packet with the descriptor of a uuid, as before or different.
    fn describe(&mut self, place: usize) {
        let mut descriptor = self.descriptors[place].clone();
        match self.random.below(12) {
            0 => descriptor = descriptor.text(2, "renamed"),
            1 => descriptor = self.first_descriptor(place as u64 + 1),
            2 => {
                let mut root = new().number(1, 0);
                for field in [19, 20] {
                    root = root.number(field, self.random.below(2));
                }
                if self.random.one_in(4) {
                    root = root.number(5, 1);
                }
                descriptor = root;
            }
            _ => {}
        }
        let packet = self.header();
        self.packets.push(packet.message(60, descriptor));
    }

    // Packets

    fn packet(&mut self) {
        let place = self.random.below(self.descriptors.len() as u64) as usize;
        match self.random.below(100) {
            0..66 => self.event_packet(),
            66..74 => self.describe(place),
            74..78 => {
                let thread = self.thread();
                let thread = self.references(thread);
                self.push(44, thread);
                self.referenced.insert(self.sequence);
            }
            78 => {
                let process = self.process();
                self.push(43, process);
            }
            79..82 if self.has_namespaces => {
                let tree = self.namespaces();
                self.push(2, tree);
            }
            79..93 => {
                let bundle = self.bundle();
                self.packets.push(new().number(10, 8).message(1, bundle));
            }
            93 => {
                let process = new().number(1, self.pid()).number(2, 1);
                let process = process.text(3, "/bin/app");
                self.push(2, new().message(1, process));
            }
            94 => {
                let set = std::fs::read(data("extension.descriptor")).unwrap();
                self.packets.push(new().number(10, 1).message(72, new().bytes(1, &set)));
            }
            96 => {
                let table = self.translations();
                self.push(82, table);
            }
            95 if self.has_late_clock => {
                let snapshot = |clock, timestamp| new().number(1, clock).number(2, timestamp);
                let clocks =
                    new().message(1, snapshot(6, EPOCH + 2000)).message(1, snapshot(LATE, 1000));
                self.packets.push(new().number(10, 1).message(6, clocks));
            }
            _ => {
                let packet = self.header();
                self.packets.push(packet);
            }
        }
    }

    /// Processes and threads with their numbers in namespaces (J11), which are those of the other events.
    fn namespaces(&mut self) -> Message {
        let mut tree = new();
        for _ in 0..1 + self.random.below(2) {
            let mut process = new().number(1, self.random.any(&[100, 100, 200, 10]));
            process = process.number(2, 1);
            if !self.random.one_in(8) {
                process = process.text(3, "/bin/app");
            }
            for _ in 0..self.random.any(&[1, 1, 2, 0]) {
                process = process.number(6, self.random.any(&PIDS));
            }
            tree = tree.message(1, process);
        }
        for _ in 0..self.random.below(4) {
            let tid = self.random.any(&[100, 101, 102, 201, 11]);
            let pid = self.random.any(&[100, 100, 200, 10]);
            let mut thread = new().number(1, tid).number(3, pid);
            for _ in 0..self.random.any(&[1, 1, 2, 0]) {
                thread = thread.number(4, self.random.any(&TIDS));
            }
            tree = tree.message(2, thread);
        }
        tree
    }

    /// A callstack of an event (FP4), mostly by its number.
    fn callstack(&mut self, mut event: Message) -> Message {
        match self.random.below(6) {
            0..3 => event = event.number(56, self.iid()),
            3..5 => {
                let mut stack = new();
                for _ in 0..self.random.below(3) {
                    let mut frame = new();
                    if !self.random.one_in(8) {
                        frame = frame.text(1, self.name());
                    }
                    if self.random.one_in(3) {
                        frame = frame.text(2, "a.cc").number(3, self.random.below(3));
                    }
                    stack = stack.message(1, frame);
                }
                event = event.message(55, stack);
            }
            _ => {}
        }
        if self.random.one_in(4) {
            event = event.double(57, self.random.any(&[0.0, 2.5, -1.0]));
        }
        event
    }

    /// The entries that callstacks need.
    fn stack_entries(&mut self, mut interned: Message) -> Message {
        for field in [5, 6, 7, 17, 18, 19] {
            if self.random.one_in(3) {
                continue;
            }
            let mut entry = new().number(1, self.iid());
            match field {
                6 => {
                    for (field, values) in [(2, 3), (3, 3), (4, 2), (5, 3), (6, 4)] {
                        if !self.random.one_in(3) {
                            entry = entry.number(field, self.random.below(values));
                        }
                    }
                }
                7 => {
                    for _ in 0..self.random.below(4) {
                        entry = entry.number(2, self.iid());
                    }
                }
                19 => {
                    entry = entry.number(5, self.random.any(&[0, 4096]));
                    entry = entry.number(7, self.iid());
                }
                _ => entry = entry.text(2, self.name()),
            }
            interned = interned.message(field, entry);
        }
        interned
    }

    /// A translation_table (TN), mostly of names.
    fn translations(&mut self) -> Message {
        let mut table = new();
        for _ in 0..1 + self.random.below(2) {
            let member = self.random.any(&[1, 2, 3, 4, 4, 4, 5, 5, 5, 6, 7]);
            let mut entries = new();
            for _ in 0..1 + self.random.below(3) {
                let entry = match member {
                    4 | 5 => new().text(1, self.name()),
                    3 => new().number(1, self.random.any(&[7, 8, (1 << 32) + 7])),
                    _ => new().number(1, self.random.any(&[0, 7, 8, 99, (1 << 32) + 7])),
                };
                let entry = match self.random.below(8) {
                    0 => new().text(2, self.name()),
                    1 => entry,
                    _ => entry.text(2, self.name()),
                };
                let field = 1 + u32::from(self.random.one_in(2) && member == 3);
                entries = entries.message(field, entry);
            }
            table = table.message(member, entries);
        }
        table
    }

    fn push(&mut self, field: u32, payload: Message) {
        let packet = self.header();
        self.packets.push(packet.message(field, payload));
    }

    fn header(&mut self) -> Message {
        let mut packet = new();
        let sequence = self.random.any(&SEQUENCES);
        self.sequence = (0, sequence);
        self.is_late = false;
        if !self.random.one_in(50) {
            packet = packet.number(10, sequence);
        }
        if self.random.below(100) < self.guests {
            packet = packet.number(98, GUEST);
            self.sequence = (GUEST, sequence);
        }
        if !self.random.one_in(7) {
            packet = packet.number(8, self.time());
            if self.has_late_clock && self.random.one_in(12) {
                packet = packet.number(58, LATE);
                self.is_late = true;
            }
        }
        let state = self.random.below(40);
        match state {
            0 => packet = packet.number(13, 1),
            1 => packet = packet.number(41, 1),
            2 => packet = packet.number(42, 1),
            3 => packet = packet.number(42, 1).number(13, 2),
            4..12 => packet = packet.number(13, 2),
            _ => {}
        }
        if state < 4 {
            self.referenced.remove(&self.sequence);
        }
        if self.random.one_in(20) {
            packet = packet.number(87, 1);
        }
        if self.has_namespaces && !self.random.one_in(6) {
            let pid = self.random.any(&[100, 100, 200, 10, 0, u64::MAX]);
            packet = packet.number(79, pid);
        }
        if self.random.one_in(8) {
            packet = packet.message(59, self.defaults());
        }
        packet
    }

    fn defaults(&mut self) -> Message {
        let mut defaults = new();
        if !self.random.one_in(3) {
            defaults = defaults.number(11, self.uuid());
        }
        if self.random.one_in(2) {
            defaults = defaults.number(31, self.counter());
        }
        if self.random.one_in(3) {
            let uuids = [self.counter(), self.counter()];
            defaults = defaults.packed(45, &uuids);
        }
        new().message(11, defaults)
    }

    fn bundle(&mut self) -> Message {
        let mut bundle = new().number(1, self.random.below(2));
        for _ in 0..1 + self.random.below(3) {
            let time = self.time();
            let event = new().number(1, time).number(2, self.random.any(&TIDS));
            let (kind, fields) = match self.random.below(12) {
                0 => {
                    let task = new().number(1, self.random.any(&TIDS)).text(2, "kid");
                    (235, task.number(3, self.random.any(&[0, 0x10000])))
                }
                1 => (240, new().number(2, self.random.any(&TIDS))),
                2 => (325, new().number(4, self.random.any(&TIDS)).number(6, 9)),
                _ => (3, new().text(2, &self.print())),
            };
            bundle = bundle.message(2, event.message(kind, fields));
        }
        bundle
    }

    fn print(&mut self) -> String {
        let pid = self.random.any(&PIDS);
        let (name, cookie) = (self.name(), self.random.below(3));
        match self.random.below(10) {
            0..3 => format!("B|{pid}|{name}"),
            3..5 => format!("E|{pid}"),
            5 => "E".to_owned(),
            6 => format!("I|{pid}|{name}"),
            7 => format!("S|{pid}|{name}|{cookie}"),
            8 => format!("F|{pid}|{name}|{cookie}"),
            _ => format!("C|{pid}|{name}|{cookie}"),
        }
    }

    fn event_packet(&mut self) {
        let mut packet = self.header();
        if self.random.one_in(2) {
            packet = packet.message(12, self.interned());
        }
        let mut event = self.event().0;
        if self.random.one_in(80) {
            event.push(0xff); // a field that does not end
        }
        self.packets.push(packet.bytes(11, &event));
    }

    fn interned(&mut self) -> Message {
        let mut interned = new();
        for field in [1, 2, 3, 4, 20, 25, 27, 29, 43] {
            if self.random.one_in(2) {
                continue;
            }
            let mut entry = new();
            if !self.random.one_in(20) {
                entry = entry.number(1, self.iid());
            }
            if !self.random.one_in(8) {
                let text = match field {
                    1 => self.random.any(&CATEGORIES),
                    4 => self.random.any(&["dir\\a.cc", "b.cc"]),
                    27 => self.type_name(),
                    _ => self.name(),
                };
                entry = entry.text(2, text);
            }
            if field == 4 && self.random.one_in(2) {
                entry = entry.text(3, "fn").number(4, 7);
            }
            interned = interned.message(field, entry);
        }
        match self.has_stacks {
            true => self.stack_entries(interned),
            false => interned,
        }
    }

    // Track events

    fn event(&mut self) -> Message {
        let mut event = new();
        let is_legacy = self.random.below(100) < self.legacy;
        let (mut is_counter, mut is_end) = (false, false);
        if is_legacy {
            event = event.message(6, self.legacy_event());
        }
        if !is_legacy || self.random.one_in(6) {
            let kind = match self.random.below(40) {
                0 => 0,
                1 => 6,
                2..5 => 5,
                _ if self.is_late => self.random.any(&[1, 2, 3]),
                5..18 => 1,
                18..28 => 2,
                28..34 => 3,
                _ => 4,
            };
            event = event.number(9, kind);
            (is_counter, is_end) = (kind == 4, kind == 2);
            if is_counter {
                event = self.counts(event);
            }
        }
        if !self.random.one_in(3) && !is_counter {
            event = event.number(11, self.uuid());
        }
        if !is_end || self.random.one_in(3) {
            event = self.named(event);
        }
        event = self.timed(event);
        if !self.is_late {
            event = self.counts_more(event);
        }
        event = self.flows(event);
        if self.random.one_in(2) {
            event = self.tells(event);
        }
        if self.has_stacks && self.random.one_in(2) {
            event = self.callstack(event);
        }
        event
    }

    fn counts(&mut self, mut event: Message) -> Message {
        event = event.number(11, self.counter());
        match self.random.below(12) {
            0 => event,
            1..4 => event.double(44, self.random.any(&[0.5, -2.25, 100.0])),
            _ => event.signed(30, self.random.any(&[1, 5, -3, 100])),
        }
    }

    fn named(&mut self, mut event: Message) -> Message {
        match self.random.below(6) {
            0..2 => event = event.number(10, self.iid()),
            2..5 => event = event.text(23, self.name()),
            _ => {}
        }
        match self.random.below(6) {
            0 => event = event.number(3, self.iid()),
            1 => event = event.packed(3, &[self.iid(), self.iid()]),
            2 | 3 => event = event.text(22, self.random.any(&CATEGORIES)),
            4 => event = event.text(22, "cat").text(22, "io"),
            _ => {}
        }
        event
    }

    fn timed(&mut self, mut event: Message) -> Message {
        let has_references = self.referenced.contains(&self.sequence);
        let may_add = (has_references || self.random.one_in(20)) && !self.is_late;
        match self.random.below(16) {
            0..5 if may_add => event = event.signed(1, self.random.any(&[0, 1, 5, -3])),
            5 => {
                let now = (self.now / 1000).cast_signed();
                event = event.signed(16, self.random.any(&[0, now, now - 2, -5]));
            }
            _ => {}
        }
        for (delta, absolute) in [(2, 17), (8, 20)] {
            match self.random.below(12) {
                0..5 if may_add => event = event.signed(delta, self.random.any(&[0, 10, 30])),
                5 => event = event.signed(absolute, self.random.any(&[0, 700, 900])),
                _ => {}
            }
        }
        event
    }

    /// Values of counters, and their uuids.
    fn counts_more(&mut self, mut event: Message) -> Message {
        if self.random.one_in(8) {
            let count = match self.random.below(20) {
                0 => 9,
                1 => 0,
                _ => 1 + self.random.below(3),
            };
            let values: Vec<u64> = (0..count).map(|_| self.random.below(50)).collect();
            event = event.packed(12, &values);
            if !self.random.one_in(5) {
                let spare = u64::from(!self.random.one_in(10));
                for _ in 0..(count + spare).saturating_sub(1).max(1) {
                    event = event.number(31, self.counter());
                }
            }
        }
        if self.random.one_in(12) {
            for _ in 0..1 + self.random.below(2) {
                event = event.double(46, self.random.any(&[0.25, 8.5, -1.0]));
            }
            if !self.random.one_in(4) {
                event = event.number(45, self.counter()).number(45, self.counter());
            }
        }
        event
    }

    fn flows(&mut self, mut event: Message) -> Message {
        for (new, old) in [(47, 36), (48, 42)] {
            for _ in 0..self.random.below(5).saturating_sub(2) {
                let flow = 1 + self.random.below(3);
                if self.random.one_in(3) {
                    event = event.number(old, flow);
                } else {
                    event = event.fixed64(new, flow);
                }
            }
        }
        event
    }

    fn legacy_event(&mut self) -> Message {
        let mut legacy = new();
        let phases = b"BEXBEXiIRbenSTpFstfMbeSFZ";
        if !self.random.one_in(30) {
            legacy = legacy.number(2, u64::from(self.random.any(phases)));
        }
        if self.random.one_in(6) {
            legacy = legacy.number(1, self.iid());
        }
        let fields: [(u32, u64, &[i64]); 9] = [
            (3, 2, &[0, 2, 5, 12, -1]),
            (4, 2, &[0, 3]),
            (8, 6, &[1, 2]),
            (13, 5, &[0, 1, 2, 3]),
            (12, 3, &[0, 1]),
            (14, 3, &[0, 1, 2, 3]),
            (15, 4, &[9]),
            (18, 8, &[10, 20, 0, -7, (1 << 32) | 10]),
            (19, 8, &[11, 21, 0, -7, (1 << 32) | 11]),
        ];
        for (field, times, values) in fields {
            if self.random.one_in(times) {
                legacy = legacy.signed(field, self.random.any(values));
            }
        }
        let id = self.random.any(&[6, 6, 6, 10, 11]);
        if !self.random.one_in(8) {
            legacy = legacy.number(id, 1 + self.random.below(2));
        }
        if self.random.one_in(5) {
            legacy = legacy.text(7, self.random.any(&["scope", ""]));
        }
        legacy
    }

    // Arguments

    fn tells(&mut self, mut event: Message) -> Message {
        for _ in 0..self.random.below(3) {
            let annotation = self.annotation(0);
            event = event.message(4, annotation);
        }
        match self.random.below(15) {
            12 | 13 => {
                let hash = new().number(1, self.random.any(&[0, 7, 8, 99]));
                let name = new().text(2, self.name());
                let sample = match self.random.below(5) {
                    0 => hash.and(&name),
                    1 => name.and(&hash),
                    2 => name,
                    _ => hash,
                };
                event.message(28, sample)
            }
            0 => event.number(34, self.iid()),
            1 => event.message(5, new().number(1, self.iid())),
            2 => {
                let mut log = new().number(2, self.iid());
                if self.random.one_in(2) {
                    log = log.number(1, self.iid());
                }
                if self.random.one_in(2) {
                    log = log.number(3, self.random.any(&[0, 4, 7, 8]));
                }
                event.message(21, log)
            }
            3 => event.number(52, 7),
            4 => event.text(53, "corr"),
            5 => event.number(54, self.iid()),
            6 => {
                let sample = new().number(1, 3).number(4, self.iid());
                event.message(28, sample)
            }
            7 => event.message(25, self.user_event()),
            8 => event.message(29, self.latency()),
            9 => {
                let place = new().text(2, "f\\g.cc").number(4, 9);
                event.message(33, place).number(9999, 1)
            }
            10 => {
                let request = new().text(1, "π").number(2, self.random.below(3));
                let event = event.message(9902, request.number(3, u64::MAX));
                event.text(9903, "slow").text(9903, "again").signed(9901, -5)
            }
            _ => event.message(27, new().number(1, 99).number(2, 12)),
        }
    }

    fn user_event(&mut self) -> Message {
        match self.random.below(4) {
            0 => new(),
            1 => new().text(1, "click").text(1, "clack"),
            2 => new().number(2, self.random.any(&[7, 8])),
            _ => new().text(1, "click").number(77, 1),
        }
    }

    fn latency(&mut self) -> Message {
        let component = new().number(1, 1).number(2, self.random.below(9));
        let latency = new().signed(1, -1).number(2, self.random.below(3));
        let latency = latency.message(4, component).message(4, new());
        latency.number(5, 1)
    }

    fn annotation(&mut self, depth: u64) -> Message {
        let annotation = match self.random.below(8) {
            0..2 => new().number(1, self.iid()),
            2 if self.random.one_in(4) => new(),
            _ => new().text(10, self.random.any(&["x", "l.x", "y", "[0]", ""])),
        };
        self.valued(annotation, depth)
    }

    fn valued(&mut self, mut annotation: Message, depth: u64) -> Message {
        if depth < 3 && self.random.one_in(3) {
            let count = self.random.below(4);
            let is_list = self.random.one_in(2);
            for _ in 0..count {
                let entry = match is_list {
                    true => self.valued(new(), depth + 1),
                    false => self.annotation(depth + 1),
                };
                annotation = annotation.message(if is_list { 12 } else { 11 }, entry);
            }
            return annotation;
        }
        match self.random.below(14) {
            0 => annotation.number(2, 1),
            1 | 2 => annotation.number(3, self.random.any(&[0, 5, u64::MAX])),
            3 | 4 => annotation.signed(4, self.random.any(&[0, -5, 1 << 40])),
            5 => annotation.double(5, self.random.any(&[0.0, 1.5, -2.25])),
            6 => annotation.text(6, "a\\b"),
            7 => annotation.number(17, self.iid()),
            8 => annotation.number(7, 0xdead_beef),
            9 => annotation.text(9, self.json()),
            10 => self.proto_value(annotation),
            11 => {
                let nested = self.nested(0);
                annotation.message(8, nested)
            }
            _ => annotation,
        }
    }

    fn json(&mut self) -> &'static str {
        self.random.any(&[
            "{\"b.c\": [1, null, {\"d\": true}]}",
            "[1, [2, 3], {\"k\": false}]",
            "[[], {}, null, \"\\u00fc\"]",
            "\"text\"",
            " 1.5e3 ",
            "-9223372036854775808",
            "0.1",
            "null",
            "[]",
            "{\"a\": 1, \"a\": 2}",
            "{\"not\": json",
            "[1] 2",
            "",
        ])
    }

    fn type_name(&mut self) -> &'static str {
        self.random.any(&[
            ".perfetto.protos.SourceLocation",
            ".perfetto.protos.SourceLocation",
            ".perfetto.protos.DebugAnnotation",
            ".perfetto.protos.TrackEvent",
            "perfetto.protos.SourceLocation",
            ".no.such.Type",
        ])
    }

    fn proto_value(&mut self, annotation: Message) -> Message {
        let name = self.type_name();
        let value = match name {
            ".perfetto.protos.DebugAnnotation" => self.annotation(2),
            ".perfetto.protos.TrackEvent" => {
                let annotation = self.annotation(2);
                let list = new().number(3, 1).packed(3, &[2, 3]).double(46, 0.5);
                list.message(4, annotation).number(9, 9).number(9998, 1)
            }
            _ if self.random.one_in(4) => new(),
            _ => new().text(2, "f.cc").number(4, 3),
        };
        let annotation = annotation.message(14, value);
        match self.random.below(8) {
            0 => annotation,
            1 => annotation.number(13, self.iid()),
            _ => annotation.text(16, name),
        }
    }

    fn nested(&mut self, depth: u64) -> Message {
        let nested = new();
        match self.random.below(if depth < 2 { 8 } else { 5 }) {
            0 => nested.number(7, 1),
            1 => nested.signed(5, -3),
            2 => nested.double(6, 0.5),
            3 => nested.text(8, "nv"),
            4 => nested,
            5 => {
                let mut dict = nested.number(1, 1);
                for _ in 0..self.random.below(3) {
                    let value = self.nested(depth + 1);
                    dict = dict.text(2, self.random.any(&["k", "a.b"])).message(3, value);
                }
                if self.random.one_in(10) {
                    dict = dict.text(2, "no value");
                }
                dict
            }
            _ => {
                let mut list = nested.number(1, 2);
                for _ in 0..self.random.below(3) {
                    let value = self.nested(depth + 1);
                    list = list.message(4, value);
                }
                list
            }
        }
    }
}
