//! Random traces with everything that the rules are about. They have few names, numbers and times,
//! so that these coincide.

use timebase_lab::encode::Message;

/// A sequence of numbers that only depends on its start.
pub struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// True once in this many times.
    pub fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    pub fn any<T: Clone>(&mut self, of: &[T]) -> T {
        let place = self.below(of.len() as u64);
        of[place as usize].clone()
    }

    fn some<T>(&mut self, value: impl FnOnce(&mut Self) -> T) -> Option<T> {
        (!self.one_in(6)).then(|| value(self))
    }
}

/// The clocks of a trace's bundles.
#[derive(Clone, Copy, PartialEq)]
enum Clocks {
    Boottime,
    MonotonicRaw,
    /// GLOBAL, with pairs.
    OfSequence,
}

const GUEST: u64 = 77;
/// Things happen a little after this time.
const EPOCH: u64 = 10_000;

pub(super) struct Generator {
    pub(super) random: Random,
    clocks: Clocks,
    /// The current time.
    now: u64,
    pub(super) packets: Vec<Message>,
    /// The percentage of another machine's packets.
    guests: u64,
    /// The percentage of bundles in the compact encoding.
    compact: u64,
}

/// The packets of a random trace.
pub fn trace(seed: u64) -> Vec<Message> {
    trace_of(seed, Generator::packet)
}

/// The packets of a random trace, each of which `packet` adds.
pub(super) fn trace_of(seed: u64, packet: fn(&mut Generator)) -> Vec<Message> {
    let mut random = Random(seed);
    let clocks =
        random.any(&[Clocks::Boottime, Clocks::Boottime, Clocks::MonotonicRaw, Clocks::OfSequence]);
    let guests = random.any(&[0, 0, 40, 80, 100]);
    let compact = random.any(&[0, 30, 90]);
    let count = 5 + random.below(50);
    let mut generator =
        Generator { random, clocks, now: EPOCH, packets: Vec::new(), guests, compact };
    // Until then, guests wait for trace time.
    let host_after = match generator.guests > 0 && generator.random.one_in(2) {
        true => generator.random.below(2 * count),
        false => 0,
    };
    for place in 0..count {
        if place == host_after {
            generator.host();
        }
        packet(&mut generator);
    }
    generator.packets
}

const NAMES: [&str; 8] =
    ["init", "app", "worker", "", "kworker/0:1-events", "kworker/u8:2+flush", "a b", "swapper"];

/// Ends of ranges.
const NUMBERS: [u64; 8] =
    [0, 1, 4096, 123_456, i32::MAX as u64, u32::MAX as u64, i64::MAX as u64, u64::MAX];

impl Generator {
    pub(super) fn pid(&mut self) -> u64 {
        match self.random.below(40) {
            0 => u64::MAX, // −1
            1 => i32::MAX as u64,
            2 => 0,
            _ => self.random.below(9),
        }
    }

    pub(super) fn name(&mut self) -> &'static str {
        self.random.any(&NAMES)
    }

    pub(super) fn number(&mut self) -> u64 {
        self.random.any(&NUMBERS)
    }

    /// A number with exact products and sums.
    fn moderate(&mut self) -> u64 {
        self.random.any(&[0, 1, 3, 1024, 5000, 1 << 20, 1 << 31])
    }

    fn cpu(&mut self) -> u64 {
        match self.random.below(60) {
            0 => 1023,
            1 => 1024,
            2 => 5000,
            _ => self.random.below(3),
        }
    }

    /// A time near the current one, for an event.
    pub(super) fn time(&mut self) -> u64 {
        self.now += self.random.below(3);
        match self.random.below(12) {
            0 => self.now.saturating_sub(self.random.below(60)),
            _ => self.now,
        }
    }

    /// A reading of the clock of the bundles.
    fn reading(&mut self) -> u64 {
        let time = self.time();
        match self.clocks {
            Clocks::Boottime => time,
            Clocks::MonotonicRaw => time - 5_000,
            Clocks::OfSequence => time - 7_000,
        }
    }

    /// A snapshot of the host's clocks.
    fn host(&mut self) {
        let snapshot = |clock, timestamp| Message::new().number(1, clock).number(2, timestamp);
        let mut clocks = Message::new().message(1, snapshot(6, EPOCH));
        if self.clocks == Clocks::MonotonicRaw {
            clocks = clocks.message(1, snapshot(5, EPOCH - 5_000));
        }
        if !self.random.one_in(4) {
            clocks = clocks.message(1, snapshot(1, EPOCH + 1_000_000));
        }
        let packet = Message::new().number(10, 1).message(6, clocks);
        self.packets.push(packet);
    }

    fn packet(&mut self) {
        let (field, payload) = match self.random.below(100) {
            0..50 => (1, self.bundle()),
            50..56 => (2, self.process_tree()),
            56..62 => (9, self.process_stats()),
            62..67 => (7, self.sys_stats()),
            67..70 => (39, self.android_log()),
            70..73 => (45, self.system_info()),
            73..75 => (67, self.cpu_info()),
            75..79 => (60, self.track_descriptor()),
            79 => (44, self.thread_descriptor()),
            80 => (43, self.process_descriptor()),
            81 | 82 => (38, self.battery()),
            83 | 84 => (40, self.power_rails()),
            85..88 => (52, self.gpu_counters()),
            88..93 => (53, self.render_stage()),
            93 => (71, self.gpu_memory()),
            94 | 95 => (86, self.properties()),
            96 => (70, self.display()),
            97 => (69, Message::new().number(2, 1)),
            98 => {
                let preserves = self.random.below(2);
                (34, Message::new().number(1, 1).number(8, preserves))
            }
            _ => (900, Message::new()),
        };
        let mut packet = self.header(field);
        if !self.random.one_in(3) {
            packet = packet.message(12, self.interned());
        }
        let mut payload = payload.0;
        if self.random.one_in(50) {
            payload.push(0xff); // a field that does not end
        }
        self.packets.push(packet.bytes(field, &payload));
    }

    pub(super) fn header(&mut self, field: u32) -> Message {
        let mut packet = Message::new();
        let sequence = self.random.any(&[2, 3, 5]);
        packet = packet.number(10, sequence);
        if field == 69 {
            // The event says when the recording began.
            let back = self.random.below(40);
            packet = packet.number(8, self.time() - back);
        } else if !self.random.one_in(6) {
            packet = packet.number(8, self.time());
        }
        let guest = self.random.below(100) < self.guests;
        if guest {
            packet = packet.number(98, GUEST);
        }
        match self.random.below(20) {
            0..6 => packet = packet.number(13, 1),
            6 => packet = packet.number(13, 2),
            7 => packet = packet.number(41, 1),
            8 => packet = packet.number(42, 1),
            _ => {}
        }
        packet
    }

    pub(super) fn interned(&mut self) -> Message {
        let mut interned = Message::new();
        let iid = |generator: &mut Self| 1 + generator.random.below(3);
        for (field, value) in [(26, 2), (2, 2), (24, 2)] {
            if self.random.one_in(2) {
                let mut entry = Message::new().number(1, iid(self));
                entry = entry.text(value, self.name());
                if field == 24 {
                    entry = entry.number(4, self.random.below(3));
                    if self.random.one_in(2) {
                        entry = entry.text(3, self.random.any(&["described", ""]));
                    }
                }
                interned = interned.message(field, entry);
            }
        }
        if self.random.one_in(2) {
            let context = Message::new().number(1, iid(self)).number(2, self.pid());
            interned = interned.message(23, context);
        }
        if self.random.one_in(3) {
            let descriptor = Message::new()
                .number(1, iid(self))
                .message(2, self.gpu_specs("interned"))
                .number(3, self.random.below(2));
            interned = interned.message(47, descriptor);
        }
        interned
    }

    pub(super) fn bundle(&mut self) -> Message {
        let cpu = self.cpu();
        let mut bundle = Message::new().number(1, cpu);
        if self.random.one_in(8) {
            bundle = bundle.number(3, 1);
        }
        match self.clocks {
            Clocks::Boottime => {}
            Clocks::MonotonicRaw => bundle = bundle.number(5, 4),
            Clocks::OfSequence => {
                bundle = bundle.number(5, 2);
                if self.random.one_in(2) {
                    let now = self.now;
                    bundle = bundle.number(6, now - 7_000).number(7, now);
                }
            }
        }
        if self.random.one_in(60) {
            bundle = bundle.number(5, 1);
        }
        if self.random.below(100) < self.compact {
            bundle = bundle.message(4, self.compact());
        }
        for _ in 0..self.random.below(6) {
            let event = self.event();
            bundle = bundle.message(2, event);
        }
        if self.random.one_in(60) {
            bundle = bundle.bytes(2, &[8, 0xff]);
        }
        for field in [9, 10] {
            if self.random.one_in(5) {
                let begin = self.reading().saturating_sub(self.random.below(20));
                bundle = bundle.number(field, begin);
            }
        }
        bundle
    }

    fn compact(&mut self) -> Message {
        let mut columns: [Vec<u64>; 13] = Default::default();
        let times = |generator: &mut Self, column: &mut Vec<u64>, count| {
            let mut last = 0;
            let mut time = generator.reading();
            for _ in 0..count {
                column.push(time - last);
                last = time;
                time += generator.random.below(3);
            }
        };
        let switches = self.random.below(5);
        times(self, &mut columns[1], switches);
        for _ in 0..switches {
            columns[2].push(self.state());
            columns[3].push(self.pid());
            columns[4].push(self.random.any(&[0, 97, 120]));
            columns[6].push(self.random.below(3));
        }
        let wakings = self.random.below(4);
        times(self, &mut columns[7], wakings);
        for _ in 0..wakings {
            columns[8].push(self.pid());
            columns[9].push(0);
            columns[10].push(120);
            columns[11].push(self.random.below(3));
        }
        if self.random.one_in(2) {
            columns[12] = (0..wakings).map(|_| self.random.any(&[0, 1, 8, 16])).collect();
        }
        let mut compact = Message::new();
        for _ in 0..3 {
            compact = compact.text(5, self.name());
        }
        for (field, column) in (0..).zip(&columns) {
            if !column.is_empty() {
                compact = compact.packed(field, column);
            }
        }
        compact
    }

    /// A `prev_state`.
    fn state(&mut self) -> u64 {
        match self.random.below(4) {
            0 => 0,
            1 => self.random.any(&[1, 2, 0x402, 0x100, 0x800, 0x1000, 0x10000]),
            2 => 1 << self.random.below(17),
            _ => self.random.below(0x1_0000),
        }
    }

    fn event(&mut self) -> Message {
        let mut event = Message::new();
        if !self.random.one_in(40) {
            event = event.number(1, self.reading());
        }
        let emitter = self.pid();
        if !self.random.one_in(20) {
            event = event.number(2, emitter);
        }
        let (kind, fields) = self.kernel_event(emitter);
        event.message(kind, fields)
    }

    fn kernel_event(&mut self, emitter: u64) -> (u32, Message) {
        let new = Message::new();
        match self.random.below(44) {
            0..11 => {
                let mut switch = new;
                if let Some(name) = self.random.some(|r| r.any(&NAMES)) {
                    switch = switch.text(1, name);
                }
                switch = switch.number(2, self.pid()).number(4, self.state());
                if let Some(name) = self.random.some(|r| r.any(&NAMES)) {
                    switch = switch.text(5, name);
                }
                (4, switch.number(6, self.pid()).number(7, 120))
            }
            11..15 => (20, new.text(1, self.name()).number(2, self.pid())),
            15..17 => {
                let caller = self.random.below(4) | self.random.below(2) << 32;
                let mut blocked = new.number(1, self.pid()).number(2, caller);
                if self.random.one_in(2) {
                    blocked = blocked.number(3, self.random.below(2));
                }
                (18, blocked)
            }
            17..20 => {
                let flags = self.random.any(&[0, 0x10000, 0x10f00, u64::MAX]);
                let pid = match self.random.one_in(6) {
                    true => emitter,
                    false => self.pid(),
                };
                let task = new.number(1, pid);
                (235, task.text(2, self.name()).number(3, flags))
            }
            20 => (236, new.number(1, self.pid()).text(3, self.name())),
            21 => {
                let pid = match self.random.one_in(6) {
                    true => 0,
                    false => self.pid(),
                };
                (240, new.number(2, pid))
            }
            22..30 => (3, new.bytes(2, &self.print())),
            30 => self.marker(),
            31 => (36, new.number(1, 3).text(2, self.name())),
            32 => (37, new.number(1, 3).number(2, self.random.below(2))),
            33 => (24, new.number(1, self.random.below(12))),
            34 => (25, new.number(1, self.random.below(12))),
            35 => (325, new.number(4, self.pid()).number(6, 9)),
            36 => (324, new.number(3, 9)),
            37 => (334, new.number(1, self.pid())),
            38 => (self.random.any(&[17, 114, 237, 238, 239]), new),
            _ => self.kernel_counter(),
        }
    }

    fn kernel_counter(&mut self) -> (u32, Message) {
        let new = Message::new();
        match self.random.below(20) {
            0 => (11, new.number(1, self.moderate()).number(2, self.cpu())),
            1 => {
                let state = self.random.any(&[0, 1, u32::MAX.into()]);
                (13, new.number(1, state).number(2, self.cpu()))
            }
            2 => {
                let limits = new.number(1, self.moderate()).number(2, self.moderate());
                (12, limits.number(3, self.cpu()))
            }
            3 => {
                let kind = self.random.any(&[14, 15, 16]);
                (kind, new.text(1, self.name()).number(2, self.number()))
            }
            4 => (332, new.number(1, self.random.below(2)).number(2, 5)),
            5 => (509, new.number(1, 7).number(2, self.random.below(2))),
            6 => {
                let temperature = self.random.any(&[-5, 0, i32::MAX.into()]);
                (341, new.signed(2, temperature).text(4, self.name()))
            }
            7 => (342, new.number(1, self.number()).text(2, self.name())),
            8 => {
                let kind = self.random.any(&[335, 351]);
                let length = self.random.any(&[4096, -4096, 0, 10_000]);
                let stat = new.number(1, self.random.below(3)).signed(2, length);
                (kind, stat.number(3, self.moderate()))
            }
            9 => {
                let kind = self.random.any(&[314, 315]);
                let mut heap = new.number(2, 4096).number(3, self.moderate());
                if !self.random.one_in(3) {
                    heap = heap.text(1, self.name());
                }
                (kind, heap)
            }
            10..13 => {
                let size = self.random.any(&[-1, 0, 4096, i64::MAX]);
                let mut rss = new.number(1, self.random.below(6)).signed(2, size);
                if self.random.one_in(2) {
                    rss = rss.number(3, self.random.below(2));
                }
                if !self.random.one_in(3) {
                    rss = rss.number(4, self.random.below(2));
                }
                (313, rss)
            }
            13 => {
                let rss = new.number(1, self.random.below(2)).number(2, 1);
                (359, rss.number(3, self.random.below(2)).number(4, 8192))
            }
            14 => (579, new.number(1, self.number())),
            15 => {
                let score = self.random.any(&[-1000, 0, 900, 40_000]);
                (326, new.signed(2, score).number(3, self.pid()))
            }
            16 => {
                let record = new.number(1, self.moderate()).number(2, 3).number(3, 4);
                (328, record.number(4, self.random.below(9)))
            }
            _ => (340, self.gpu_memory()),
        }
    }

    /// Of all forms, and of none.
    fn print(&mut self) -> Vec<u8> {
        if self.random.one_in(30) {
            let broken: [&[u8]; 6] = [b"", b"\n", b"Z|1|x", b"B|1|\xffx\xfe", b"||", b"\0\0"];
            return self.random.any(&broken).to_vec();
        }
        let phase = self.random.any(&['B', 'B', 'E', 'E', 'S', 'F', 'C', 'I', 'N', 'G', 'H']);
        let mut text = String::from(phase);
        let fields = match phase {
            'E' => self.random.below(3),
            'B' | 'I' => 2,
            'S' | 'F' | 'C' | 'N' => 3,
            'H' => 3 + self.random.below(2),
            _ => 4,
        };
        for field in 0..fields {
            let value = match (field, field + 1 == fields) {
                (0, _) => self.tgid(),
                (_, true) if !"BIN".contains(phase) => self.cookie(),
                _ => self.mark(),
            };
            text += "|";
            text += &value;
        }
        if self.random.one_in(12) {
            text.pop();
        }
        text += self.random.any(&["", "\n", "\0\n", "|rest", "\n\n"]);
        text.into_bytes()
    }

    fn tgid(&mut self) -> String {
        match self.random.below(20) {
            0 => self.random.any(&["", " ", "x", "1x", "+3", "-1", " 4", "99999999999999999999"]),
            _ => return self.random.below(9).to_string(),
        }
        .to_owned()
    }

    fn cookie(&mut self) -> String {
        let strange = ["", "x", "-9223372036854775808", "99999999999999999999", "+2", "1 "];
        match self.random.below(15) {
            0 => self.random.any(&strange).to_owned(),
            _ => self.random.below(4).to_string(),
        }
    }

    fn mark(&mut self) -> String {
        let marks = [
            "draw",
            "draw",
            "fetch",
            "fetch",
            "load",
            "",
            "ScreenState",
            "battery_stats.x",
            "DeviceStateChanged",
            "kill_one_process",
            "lmk,3,1,200,0",
            "lmk,3",
        ];
        self.random.any(&marks).to_owned()
    }

    /// B8
    fn marker(&mut self) -> (u32, Message) {
        let new = Message::new();
        let phase = u64::from(self.random.any(b"BECIX"));
        let name = self.mark();
        let (pid, value) = (self.pid(), self.random.below(3));
        let begin = self.random.below(2);
        let typed = !self.random.one_in(4);
        let add = |message: Message, field, value| match typed {
            true => message.number(field, value),
            false => message,
        };
        match self.random.below(8) {
            0 => {
                let flag = self.random.below(9);
                let zero = new.number(1, flag).text(2, &name);
                (331, zero.number(3, pid).number(4, value))
            }
            1 => (80, add(new.number(1, pid).text(2, &name), 3, begin)),
            2 => {
                let sde = add(new.number(1, pid).text(2, &name), 3, phase);
                let sde = sde.number(4, value);
                let begins = self.random.one_in(2);
                (333, if begins { sde.number(5, begin) } else { sde })
            }
            3 => {
                let phase = self.random.any(&[phase, 0]);
                let samsung = add(new.number(1, pid).text(2, &name), 4, phase);
                (484, samsung.number(5, value))
            }
            4 => {
                let dpu = add(new.number(1, pid).text(4, &name), 5, phase);
                (348, dpu.number(6, value))
            }
            5 => {
                let g2d = add(new.number(1, pid).text(4, &name), 5, phase);
                (349, g2d.number(6, value))
            }
            6 => {
                let mali = add(new.text(1, &name).number(2, pid), 3, phase);
                (350, mali.number(4, value))
            }
            _ => {
                let lwis = add(new, 2, phase).number(3, pid).text(4, &name);
                (467, lwis.number(5, value))
            }
        }
    }

    fn process_tree(&mut self) -> Message {
        let mut tree = Message::new();
        for _ in 0..self.random.below(4) {
            let mut process = Message::new().number(1, self.pid());
            process = process.number(2, self.random.any(&[0, 1, 2, 5]));
            for _ in 0..self.random.below(3) {
                process = process.text(3, self.name());
            }
            if self.random.one_in(2) {
                process = process.number(5, self.random.any(&[0, 10_123, u64::MAX]));
            }
            if self.random.one_in(2) {
                process = process.number(7, self.now - self.random.below(100));
            }
            if self.random.one_in(3) {
                process = process.number(9, 1);
            }
            tree = tree.message(1, process);
        }
        for _ in 0..self.random.below(4) {
            let mut thread = Message::new().number(1, self.pid()).number(3, self.pid());
            if !self.random.one_in(4) {
                thread = thread.text(2, self.name());
            }
            tree = tree.message(2, thread);
        }
        tree
    }

    fn process_stats(&mut self) -> Message {
        let mut stats = Message::new();
        for _ in 0..self.random.below(4) {
            let mut process = Message::new().number(1, self.pid());
            for _ in 0..self.random.below(5) {
                process = match self.random.below(26) {
                    0 | 1 | 15 => process.message(11, Message::new().number(1, self.pid())),
                    10 | 11 => process.signed(10, -900),
                    12 => process.number(12, 1),
                    field @ (21 | 22) => process.number(field as u32, self.number()),
                    25 => process.message(15, Message::new()),
                    field => process.number(field as u32, self.moderate()),
                };
            }
            stats = stats.message(1, process);
        }
        stats
    }

    fn sys_stats(&mut self) -> Message {
        let new = Message::new;
        let mut stats = new();
        for _ in 0..self.random.below(6) {
            stats = match self.random.below(17) {
                0 => {
                    let value = new().number(1, self.random.below(41));
                    stats.message(1, value.number(2, self.moderate()))
                }
                1 => {
                    let value = new().number(1, self.random.below(191));
                    stats.message(2, value.number(2, self.number()))
                }
                2 => {
                    let mut times = new();
                    if !self.random.one_in(4) {
                        times = times.number(1, self.cpu());
                    }
                    stats.message(3, times.number(2, self.number()).number(7, 5))
                }
                3 => stats.number(4, self.number()),
                4 => stats.number(5, self.number()),
                5 => stats.message(6, new().number(1, self.pid()).number(2, self.number())),
                6 => stats.number(7, self.number()),
                7 => stats.message(8, new().number(1, 3).number(2, self.number())),
                8 => stats.message(10, new().text(1, self.name()).number(2, self.number())),
                9 => stats.number(11, self.moderate()),
                10 => {
                    let orders = [self.random.below(9), self.random.below(9), 2];
                    let info = new().text(1, "0").text(2, self.name());
                    stats.message(12, orders.iter().fold(info, |info, n| info.number(3, *n)))
                }
                11 | 12 => {
                    let device = self.random.any(&["sda", "dm-0"]);
                    let fields = [2, 3, 4, 5, 6, 7, 8, 9].into_iter();
                    let disk = fields.fold(new().text(1, device), |disk, field| {
                        disk.number(field, self.random.below(100_000))
                    });
                    stats.message(13, disk)
                }
                13 => {
                    let sample = new().number(1, self.random.below(9));
                    stats.message(14, sample.number(2, self.number()))
                }
                14 => {
                    let zone = new().text(1, "zone").text(3, self.name());
                    stats.message(15, zone.number(2, self.number()))
                }
                15 => {
                    let entry = new().text(1, "C1").number(2, self.number());
                    stats.message(16, new().number(1, self.cpu()).message(2, entry))
                }
                _ => {
                    let slab = new().text(1, self.name()).number(2, 2);
                    let slab = slab.number(3, self.random.below(99));
                    stats.number(17, self.moderate()).message(18, slab)
                }
            };
        }
        stats
    }

    fn android_log(&mut self) -> Message {
        let mut log = Message::new();
        for _ in 0..self.random.below(3) {
            let time = self.time() + 1_000_000;
            let line = Message::new().number(2, self.pid()).number(3, self.pid());
            log = log.message(1, line.number(5, time));
        }
        log
    }

    fn system_info(&mut self) -> Message {
        let releases =
            ["4.4.1", "4.8", "4.14.0", "5.10.43-android12", "6.1-rc1", "6.18.44", "weird", "4.9.x"];
        let name = Message::new()
            .text(1, self.random.any(&["Linux", "Linux", "Linux", "Darwin"]))
            .text(2, "#1")
            .text(3, self.random.any(&releases))
            .text(4, "aarch64");
        let mut info = Message::new();
        if !self.random.one_in(5) {
            info = info.message(1, name);
        }
        if self.random.one_in(2) {
            info = info.number(6, self.random.any(&[0, 4096, 16_384]));
        }
        if self.random.one_in(2) {
            info = info.number(8, 4);
        }
        info
    }

    fn cpu_info(&mut self) -> Message {
        let mut info = Message::new();
        let (all_have_capacity, all_have_frequencies) =
            (self.random.one_in(2), self.random.one_in(2));
        for _ in 0..self.random.below(5) {
            let mut cpu = Message::new().text(1, self.random.any(&["", "A55", "A78"]));
            if all_have_frequencies || self.random.one_in(2) {
                cpu = cpu.number(2, self.random.any(&[900, 1800])).number(2, 300);
            }
            if all_have_capacity || self.random.one_in(2) {
                cpu = cpu.number(3, self.random.any(&[250, 1024]));
            }
            info = info.message(1, cpu);
        }
        info
    }

    fn thread_descriptor(&mut self) -> Message {
        let thread = Message::new().signed(1, self.signed_pid());
        let thread = thread.signed(2, self.signed_pid());
        match self.random.one_in(2) {
            true => thread.text(5, self.name()),
            false => thread,
        }
    }

    /// The sign of these counts (J2).
    fn signed_pid(&mut self) -> i64 {
        match self.random.below(20) {
            0 => -7,
            _ => 1 + self.random.below(8) as i64,
        }
    }

    fn process_descriptor(&mut self) -> Message {
        let mut process = Message::new().number(1, 1 + self.random.below(8));
        if self.random.one_in(2) {
            process = process.text(6, self.name());
        }
        if self.random.one_in(3) {
            process = process.number(7, self.random.below(5_000));
        }
        process
    }

    fn track_descriptor(&mut self) -> Message {
        let mut descriptor = Message::new();
        if !self.random.one_in(20) {
            descriptor = descriptor.number(1, 1 + self.random.below(6));
        }
        match self.random.below(3) {
            0 => descriptor = descriptor.message(3, self.process_descriptor()),
            1 => descriptor = descriptor.message(4, self.thread_descriptor()),
            _ => {}
        }
        if self.random.one_in(3) {
            descriptor = descriptor.number(5, 1 + self.random.below(6));
        }
        if self.random.one_in(30) {
            descriptor = descriptor.number(11, 4);
        }
        descriptor
    }

    fn battery(&mut self) -> Message {
        let mut battery = Message::new();
        for field in [1, 3, 4, 6, 7] {
            if self.random.one_in(2) {
                let value = self.random.any(&[-412_000, 0, 4_100_000, 77]);
                battery = battery.signed(field, value);
            }
        }
        if self.random.one_in(2) {
            battery = battery.float(2, 77.5);
        }
        if self.random.one_in(2) {
            battery = battery.text(5, self.random.any(&["", "BAT0"]));
        }
        battery
    }

    fn power_rails(&mut self) -> Message {
        let mut rails = Message::new();
        let names = ["VSYS_PWR_MODEM", "S2S_VDD_G3D", "S4M_VDD_CPUCL0_M", "foo"];
        for _ in 0..self.random.below(3) {
            let rail = Message::new().number(1, self.random.any(&[0, 1, 256, 300]));
            let rail = rail.text(2, self.random.any(&names));
            let rail = match self.random.below(3) {
                0 => rail,
                which => rail.text(3, if which == 1 { "cpu" } else { "" }),
            };
            rails = rails.message(1, rail);
        }
        for _ in 0..self.random.below(3) {
            let mut data = Message::new().number(1, self.random.any(&[0, 1, 256, 300]));
            if self.random.one_in(2) {
                data = data.number(2, self.random.below(3));
            }
            rails = rails.message(2, data.number(3, self.number()));
        }
        match self.random.one_in(2) {
            true => rails.number(3, 5),
            false => rails,
        }
    }

    fn properties(&mut self) -> Message {
        let names = [
            "screen_state",
            "battery_stats.wifi",
            "mcc",
            "mnc",
            "battery_status",
            "plug_type",
            "device_state",
            "unknown",
            "desktop_mode_visible_tasks",
        ];
        let mut properties = Message::new();
        for _ in 0..self.random.below(3) {
            let name = self.random.any(&names);
            let value = self.random.any(&["1", "-3", "", "x", " 2"]);
            let name = match self.random.one_in(10) {
                true => name.to_owned(),
                false => format!("debug.tracing.{name}"),
            };
            properties = properties.message(1, Message::new().text(1, &name).text(2, value));
        }
        properties
    }

    fn display(&mut self) -> Message {
        Message::new().signed(1, self.random.any(&[0, 2, -1]))
    }
}
