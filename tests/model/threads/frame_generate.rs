//! Random traces of frames, states, log messages and energy. They have few numbers, names and
//! times, so that these coincide.

use super::generate::Random;
use timebase_lab::encode::Message;

const COOKIES: u64 = 5;
const TOKENS: u64 = 4;
const PIDS: [u64; 4] = [10, 20, 0, (1 << 32) | 10];
const GUEST: u64 = 77;
const VALUES: [&str; 4] = ["on", "off", "", "on"];
/// Uuids of states without an owner, of a process, of a thread; of a thread, of a counter, of
/// nothing.
const UUIDS: [u64; 8] = [1, 2, 3, 1, 2, 3, 4, 5];
/// Things happen from this time on, in nanoseconds.
const EPOCH: u64 = 1000;

struct Generator {
    random: Random,
    now: u64,
    packets: Vec<Message>,
    /// The percentage of another machine's packets.
    guests: u64,
}

fn new() -> Message {
    Message::new()
}

/// The packets of a random trace.
pub fn trace(seed: u64) -> Vec<Message> {
    let mut random = Random(seed);
    let guests = random.any(&[0, 0, 30]);
    let count = 5 + random.below(60);
    let subject = random.below(4);
    let mut generator = Generator { random, now: EPOCH, packets: Vec::new(), guests };
    generator.begin();
    for _ in 0..count {
        let subject = match subject {
            3 => generator.random.below(3),
            one => one,
        };
        match subject {
            0 => generator.frame(),
            1 => generator.track_event(),
            _ => generator.energy(),
        }
    }
    generator.packets
}

impl Generator {
    fn begin(&mut self) {
        let clocks = new().message(1, new().number(1, 6).number(2, EPOCH));
        self.packets.push(new().number(10, 1).message(6, clocks));
        for machine in [0, GUEST] {
            let header = || match machine {
                0 => new().number(10, 2),
                machine => new().number(10, 2).number(98, machine),
            };
            if machine == GUEST && self.guests == 0 {
                continue;
            }
            self.packets.push(header().number(13, 1));
            let thread = new().message(4, new().number(1, 10).number(2, 11));
            let process = new().message(3, new().number(1, 10));
            let state = || new().message(18, new());
            let named = |message: Message| message.text(2, "named");
            let descriptors = [
                state(),
                state().number(5, 7),
                named(state()).number(5, 4),
                thread,
                new().message(8, new()),
                new(),
                process,
            ];
            for (uuid, descriptor) in (1..).zip(descriptors) {
                if self.random.one_in(12) {
                    continue;
                }
                let descriptor = new().number(1, uuid).and(&descriptor);
                self.packets.push(header().message(60, descriptor));
            }
        }
    }

    fn push(&mut self, field: u32, payload: Message) {
        let packet = self.header();
        self.packets.push(packet.message(field, payload));
    }

    fn header(&mut self) -> Message {
        let mut packet = new().number(10, 2);
        self.now += self.random.any(&[0, 1, 1, 5]);
        if !self.random.one_in(20) {
            let back = match self.random.one_in(10) {
                true => self.random.below(20),
                false => 0,
            };
            packet = packet.number(8, self.now - back);
        }
        if self.random.below(100) < self.guests {
            packet = packet.number(98, GUEST);
        }
        packet
    }

    // Frames

    /// A field, mostly.
    fn maybe(&mut self, message: Message, field: u32, values: &[u64]) -> Message {
        match self.random.one_in(3) {
            true => message,
            false => message.number(field, self.random.any(values)),
        }
    }

    /// The fields that a start needs; one of them may be missing.
    fn start(&mut self, count: u32) -> Message {
        let missing = match self.random.one_in(15) {
            true => 1 + self.random.below(count.into()) as u32,
            false => 0,
        };
        let mut start = new();
        for field in (1..=count).filter(|field| *field != missing) {
            let value = match field {
                1 => self.random.below(COOKIES),
                field if field == count => self.random.any(&PIDS),
                _ if self.random.one_in(20) => u64::MAX - 2,
                _ => self.random.below(TOKENS),
            };
            start = start.number(field, value);
        }
        start
    }

    fn frame(&mut self) {
        let latest = i64::MAX as u64 - 10_000_000_000;
        let member = match self.random.below(40) {
            0 => 0,
            1..6 => 1,
            6..15 => 2,
            15..21 => 3,
            21..32 => 4,
            _ => 5,
        };
        let message = match member {
            0 | 5 if self.random.one_in(15) => new(),
            0 | 5 => new().number(1, self.random.below(COOKIES)),
            1 | 2 => self.start(3),
            _ => self.start(4),
        };
        let message = match member {
            2 => self.actual(message, [4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]),
            3 => self.layer(message),
            4 => {
                let message = self.layer(message);
                self.actual(message, [6, 7, 8, 9, 10, 12, 13, 15, 16, 17, 18])
            }
            _ => message,
        };
        let message = match member {
            2 => {
                let message = self.maybe(message, 15, &[0, 3, u64::MAX]);
                self.maybe(message, 16, &[0, 3])
            }
            4 => self.surface(message),
            _ => message,
        };
        let mut event = match member {
            0 => new(),
            member => new().message(member, message),
        };
        if member > 1 && self.random.one_in(25) {
            // The first member counts.
            let first = self.start(3);
            event = event.message(1, first);
        }
        if self.random.one_in(60) {
            let at = latest - self.random.below(2);
            let packet = new().number(10, 2).number(8, at);
            return self.packets.push(packet.message(76, event));
        }
        self.push(76, event);
    }

    fn layer(&mut self, message: Message) -> Message {
        match self.random.below(4) {
            0 => message,
            1 => message.text(5, ""),
            _ => message.text(5, self.random.any(&["app", "StatusBar#1"])),
        }
    }

    /// The fields of actual frames: present_type, on_time_finish, gpu_composition, jank_type,
    /// prediction_type, jank_severity_type, delay, score, experimental ones, metadata.
    fn actual(&mut self, mut message: Message, fields: [u32; 11]) -> Message {
        const JANKS: [u64; 16] = [
            0,
            1,
            2,
            3,
            64,
            128,
            64 + 128,
            256,
            512,
            1024,
            2048,
            4096 + 16,
            8192,
            32768,
            16384,
            1 << 40,
        ];
        let [present, time, gpu, jank, prediction, severity, rest @ ..] = fields;
        let [delay, score, experimental_jank, experimental_present, metadata] = rest;
        for (field, values) in [
            (present, &[0, 1, 2, 3, 4, 4, 5, 6, u64::MAX][..]),
            (experimental_present, &[0, 1, 4, 4, 9]),
            (time, &[0, 1, 2]),
            (gpu, &[0, 1]),
            (jank, &JANKS),
            (experimental_jank, &JANKS),
            (prediction, &[0, 1, 2, 3, 4]),
            (severity, &[0, 1, 2, 3, 4, u64::MAX]),
        ] {
            message = self.maybe(message, field, values);
        }
        for field in [delay, score, metadata] {
            if self.random.one_in(2) {
                message = message.float(field, self.random.any(&[0.5, -1.25, 0.0]));
            }
        }
        message
    }

    fn surface(&mut self, message: Message) -> Message {
        let message = self.maybe(message, 11, &[0, 1]);
        let mut message = self.maybe(message, 19, &[0, 1, 2, 3, 4]);
        for field in [14, 20] {
            if self.random.one_in(2) {
                message = message.float(field, self.random.any(&[0.1, 3.0]));
            }
        }
        message
    }

    // Track events

    fn track_event(&mut self) {
        let mut event = new();
        let kind = match self.random.below(10) {
            0 => 1,
            1 => 2,
            2 => 3,
            3 => 4,
            _ => 5,
        };
        event = event.number(9, kind);
        if !self.random.one_in(20) {
            event = event.number(11, self.random.any(&UUIDS));
        }
        if kind == 4 {
            event = event.number(30, 5);
        }
        match self.random.below(6) {
            0 => event = event.number(10, self.random.below(4)),
            1 => {}
            2 => {
                let iid = self.random.below(3);
                event = event.number(10, iid).text(23, "both");
            }
            _ => event = event.text(23, self.random.any(&VALUES)),
        }
        if self.random.one_in(2) {
            event = event.text(22, self.random.any(&["cat", "io"]));
        }
        if self.random.one_in(3) {
            let annotation = new().text(10, self.random.any(&["k", "l"]));
            let entry = new().number(4, self.now);
            event = event.message(
                4,
                match self.random.one_in(2) {
                    true => annotation.message(12, entry),
                    false => annotation.number(4, self.now),
                },
            );
        }
        if self.random.one_in(3) {
            event = event.message(21, self.log());
        }
        if self.random.one_in(6) {
            event = event.message(6, self.legacy());
        }
        let mut packet = self.header();
        if self.random.one_in(3) {
            packet = packet.message(12, self.interned());
        }
        self.packets.push(packet.message(11, event));
    }

    fn log(&mut self) -> Message {
        let mut log = new();
        if !self.random.one_in(10) {
            log = log.number(2, 1 + self.random.below(2));
        }
        if self.random.one_in(2) {
            log = log.number(1, 1 + self.random.below(2));
        }
        match self.random.one_in(2) {
            true => log.number(3, self.random.any(&[0, 3, 7, 8, (1 << 32) | 5])),
            false => log,
        }
    }

    fn legacy(&mut self) -> Message {
        let mut legacy = new();
        if self.random.one_in(2) {
            legacy = legacy.number(1, self.random.below(3));
        }
        if self.random.one_in(2) {
            let phase = self.random.any(b"iIXbeR");
            legacy = legacy.number(2, phase.into()).number(6, 1);
        }
        if self.random.one_in(3) {
            legacy = legacy.number(14, self.random.below(4));
        }
        if self.random.one_in(5) {
            legacy = legacy.number(18, 10).number(19, 12);
        }
        legacy
    }

    fn interned(&mut self) -> Message {
        let mut interned = new();
        for (field, text) in [(2, "interned"), (4, "a\\b.cc"), (20, "body")] {
            let mut entry = new().number(1, 1 + self.random.below(2));
            if !self.random.one_in(4) {
                entry = entry.text(2, text);
            }
            if field == 4 && self.random.one_in(2) {
                entry = entry.number(4, 7);
            }
            interned = interned.message(field, entry);
        }
        interned
    }

    // Energy

    fn energy(&mut self) {
        match self.random.one_in(2) {
            true => {
                let packet = self.residency();
                self.push(91, packet);
            }
            false => {
                let packet = self.breakdown();
                self.push(77, packet);
            }
        }
    }

    fn small(&mut self) -> u64 {
        self.random.any(&[0, 1, 2, u64::MAX])
    }

    fn residency(&mut self) -> Message {
        let mut packet = new();
        for _ in 0..self.random.below(3) {
            let mut said = new();
            for field in [1, 2] {
                if !self.random.one_in(12) {
                    said = said.number(field, self.small());
                }
            }
            for (field, names) in [(3, ["cpu", "gpu"]), (4, ["idle", ""])] {
                if !self.random.one_in(4) {
                    said = said.text(field, self.random.any(&names));
                }
            }
            packet = packet.message(1, said);
        }
        for _ in 0..self.random.below(4) {
            let mut residency = new();
            for field in [1, 2] {
                if !self.random.one_in(4) {
                    residency = residency.number(field, self.small());
                }
            }
            residency = self.maybe(residency, 3, &[0, 7, u64::MAX]);
            packet = packet.message(2, residency);
        }
        packet
    }

    fn breakdown(&mut self) -> Message {
        let mut packet = new();
        if self.random.one_in(3) {
            let mut said = new();
            for _ in 0..self.random.below(3) {
                let mut consumer = new();
                if !self.random.one_in(10) {
                    consumer = consumer.number(1, self.small());
                }
                consumer = self.maybe(consumer, 2, &[0, 3, u64::MAX]);
                for (field, text) in [(3, "CPU"), (4, "big")] {
                    if !self.random.one_in(4) {
                        consumer = consumer.text(field, text);
                    }
                }
                said = said.message(1, consumer);
            }
            packet = packet.message(1, said);
        }
        if !self.random.one_in(8) {
            packet = packet.number(2, self.small());
        }
        if !self.random.one_in(8) {
            packet = packet.number(3, self.random.any(&[0, 100, u64::MAX]));
        }
        for _ in 0..self.random.below(3) {
            let of_uid = new();
            let of_uid = self.maybe(of_uid, 1, &[0, 1000, u64::MAX]);
            let of_uid = self.maybe(of_uid, 2, &[0, 60, u64::MAX]);
            packet = packet.message(4, of_uid);
        }
        packet
    }
}
