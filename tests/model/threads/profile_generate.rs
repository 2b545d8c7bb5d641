//! Random traces of profilers. They have few names, numbers and times, so that these coincide.

use super::generate::Random;
use timebase_lab::encode::Message;

const TEXTS: [&str; 6] = ["app", "/b", "", "läuft", "data/local/tmp", "kernel"];
const HEAPS: [&str; 4] = ["libc.malloc", "", "com.android.art", "h"];
const PIDS: [u64; 3] = [10, 20, 30];
const SEQUENCES: [u64; 3] = [2, 3, 4];
const GUEST: u64 = 77;
/// Things happen a little after this time, in nanoseconds.
const EPOCH: u64 = 5_000_000;
const FEW: [u64; 4] = [0, 1, 2, 5];
const ADDRESSES: [u64; 4] = [0, 16, 4096, 8192];

struct Generator {
    random: Random,
    now: u64,
    packets: Vec<Message>,
    guests: u64,
}

fn new() -> Message {
    Message::new()
}

/// The packets of a random trace.
pub fn trace(seed: u64) -> Vec<Message> {
    let mut random = Random(seed ^ 0x5eed);
    let guests = random.any(&[0, 0, 0, 20]);
    let count = 6 + random.below(30);
    let mut generator = Generator { random, now: EPOCH, packets: Vec::new(), guests };
    if !generator.random.one_in(8) {
        generator.snapshot();
    }
    for _ in 0..count {
        generator.packet();
    }
    generator.packets
}

impl Generator {
    fn chance(&mut self, percent: u64) -> bool {
        self.random.below(100) < percent
    }

    fn iid(&mut self) -> u64 {
        match self.random.below(20) {
            0 => 0,
            1 => 9,
            n => 1 + n % 3,
        }
    }

    fn text(&mut self) -> &'static str {
        self.random.any(&TEXTS)
    }

    /// A field in most cases.
    fn maybe(&mut self, message: Message, field: u32, values: &[u64]) -> Message {
        match self.chance(70) {
            true => message.number(field, self.random.any(values)),
            false => message,
        }
    }

    fn maybe_text(&mut self, message: Message, field: u32) -> Message {
        match self.chance(70) {
            true => message.text(field, self.text()),
            false => message,
        }
    }

    /// Several numbers, packed or not.
    fn many(&mut self, message: Message, field: u32, numbers: &[u64]) -> Message {
        match self.random.one_in(2) {
            true => message.packed(field, numbers),
            false => numbers.iter().fold(message, |message, n| message.number(field, *n)),
        }
    }

    fn iids(&mut self, most: u64) -> Vec<u64> {
        let count = self.random.below(most + 1);
        (0..count).map(|_| self.iid()).collect()
    }

    fn snapshot(&mut self) {
        let now = self.now;
        let jitter = self.random.below(3) * 500;
        let reading = |id, value| new().number(1, id).number(2, value);
        let snapshot = new()
            .message(1, reading(6, now))
            .message(1, reading(3, now - 7000 - jitter))
            .message(1, reading(4, now - 9000 + jitter));
        let packet = self.of_machine(new().number(10, 1));
        self.packets.push(packet.message(6, snapshot));
    }

    fn of_machine(&mut self, packet: Message) -> Message {
        match self.chance(self.guests) {
            true => packet.number(98, GUEST),
            false => packet,
        }
    }

    fn packet(&mut self) {
        self.now += self.random.below(4) * 1000;
        if self.random.one_in(12) {
            return self.snapshot();
        }
        let mut packet = match self.random.one_in(40) {
            true => new(),
            false => new().number(10, self.random.any(&SEQUENCES)),
        };
        packet = self.of_machine(packet);
        if self.random.one_in(3) {
            packet = packet.number(13, self.random.any(&[1, 1, 2, 3]));
        }
        if self.random.one_in(15) {
            packet = packet.number(42, 1);
        }
        if self.random.one_in(2) {
            packet = packet.message(12, self.interned());
        }
        if self.random.one_in(3) {
            packet = packet.message(59, self.defaults());
        }
        if self.chance(90) {
            let (clock, offset) = self.random.any(&[(6, 0), (6, 0), (3, 7000), (900, 0)]);
            let earlier = self.random.any(&[0, 0, 0, 3000]);
            packet = packet.number(8, self.now - offset - earlier).number(58, clock);
        }
        let (field, payload) = match self.random.below(14) {
            0..=3 => (66, self.perf_sample()),
            4..=6 => (135, self.stack_sample()),
            7 | 8 => (37, self.heap_profile()),
            9 => (61, self.module_symbols()),
            10 => (68, self.smaps()),
            11 => (44, self.thread_descriptor()),
            12 => (11, new().signed(1, self.random.below(5).cast_signed() - 1)),
            _ => (54, self.streamed()),
        };
        self.packets.push(packet.message(field, payload));
    }

    fn interned(&mut self) -> Message {
        let mut data = new();
        for _ in 0..self.random.below(12) {
            let field = self.random.any(&[5, 5, 6, 6, 6, 7, 7, 16, 17, 18, 19, 19, 48, 49, 50, 51]);
            let entry = new().number(1, 1 + self.random.below(3));
            let entry = match field {
                5 | 17 | 18 => self.maybe_text(entry, 2),
                16 => match self.random.below(4) {
                    0 => entry,
                    1 => entry.bytes(2, &[0xab; 33]),
                    2 => entry.bytes(2, b""),
                    _ => entry.bytes(2, b"AB"),
                },
                6 => self.frame(entry),
                7 => {
                    let iids = self.iids(4);
                    self.many(entry, 2, &iids)
                }
                19 => self.mapping(entry),
                48 => self.task(entry),
                49 => self.execution(entry),
                50 => self.descriptor(entry),
                _ => {
                    let entry = self.maybe_text(entry, 2);
                    let entry = self.maybe_text(entry, 3);
                    self.maybe(entry, 4, &[0, 1, 2, 3])
                }
            };
            data = data.message(field, entry);
        }
        data
    }

    fn frame(&mut self, frame: Message) -> Message {
        let mut frame = frame;
        for field in [2, 3] {
            let iid = self.iid();
            frame = self.maybe(frame, field, &[iid]);
        }
        frame = self.maybe(frame, 4, &ADDRESSES);
        if self.random.one_in(4) {
            frame = frame.number(5, self.iid());
        }
        if self.random.one_in(4) {
            frame = frame.number(6, self.random.any(&FEW));
        }
        if self.random.one_in(4) {
            frame = frame.number(7, self.random.below(9));
        }
        if self.random.one_in(4) {
            frame = frame.text(8, self.random.any(&["kind", ""]));
        }
        frame
    }

    fn mapping(&mut self, mapping: Message) -> Message {
        let mut mapping = mapping;
        let iid = self.iid();
        if self.random.one_in(3) {
            mapping = mapping.number(2, iid);
        }
        for field in [3, 4, 5, 6, 8] {
            if self.random.one_in(4) {
                mapping = mapping.number(field, self.random.any(&ADDRESSES));
            }
        }
        let iids = self.iids(2);
        self.many(mapping, 7, &iids)
    }

    fn defaults(&mut self) -> Message {
        let mut defaults = new();
        if self.chance(60) {
            let mut perf = new();
            if self.chance(80) {
                let timebase = self.event([10, 4, 3, 5, 12]);
                perf = perf.message(1, timebase);
            }
            perf = self.maybe(perf, 2, &[0, 4]);
            perf = self.maybe(perf, 3, &[1, 2]);
            for _ in 0..self.random.below(3) {
                let follower = self.event([4, 1, 2, 3, 5]);
                perf = perf.message(4, follower);
            }
            defaults = defaults.message(12, perf);
        }
        if self.chance(60) {
            let source = self.random.any(&["linux.perf", "chrome", "other", ""]);
            let mut samples = new();
            if self.chance(80) {
                samples = samples.text(1, source);
            }
            if self.chance(60) {
                samples = samples.message(2, self.descriptor(new()));
            }
            for _ in 0..self.random.below(3) {
                samples = samples.message(3, self.descriptor(new()));
            }
            defaults = defaults.message(100, samples);
        }
        defaults
    }

    /// A counter of perf, by the fields of its name, counter, tracepoint, raw event, modifiers.
    fn event(&mut self, [name, counter, tracepoint, raw, modifiers]: [u32; 5]) -> Message {
        let mut event = new();
        if self.random.one_in(4) {
            event = event.text(name, self.text());
        }
        event = match self.random.below(5) {
            0 => event,
            1 => event.message(tracepoint, self.maybe_text(new(), 1)),
            2 => {
                let numbers = self.maybe(new(), 1, &[4, 1 << 33 | 4]);
                let numbers = self.maybe(numbers, 2, &[27]);
                event.message(raw, self.maybe(numbers, 4, &[255, u64::MAX]))
            }
            _ => event.number(counter, self.random.any(&[0, 1, 3, 10, 11, 20, 21])),
        };
        let count = self.random.below(3);
        let said: Vec<u64> = (0..count).map(|_| self.random.below(5)).collect();
        self.many(event, modifiers, &said)
    }

    fn perf_sample(&mut self) -> Message {
        let mut sample = new();
        sample = self.maybe(sample, 1, &[0, 1, 1, 3, 4096]);
        sample = self.maybe(sample, 2, &PIDS);
        sample = self.maybe(sample, 3, &[10, 11, 20, u64::MAX]);
        let iid = self.iid();
        sample = self.maybe(sample, 4, &[iid]);
        sample = self.maybe(sample, 5, &[0, 1, 2, 3, 4, 5, 6]);
        sample = self.maybe(sample, 6, &[0, 512, 1 << 63]);
        let counts: Vec<u64> = (0..self.random.below(4)).map(|n| n * 7).collect();
        sample = self.many(sample, 7, &counts);
        if self.random.one_in(4) {
            sample = sample.number(16, self.random.any(&[0, 1, 2, 15, 16, 99]));
        }
        match self.random.below(12) {
            0 => sample.number(17, self.random.below(5)),
            1 => sample.number(18, self.random.below(6)),
            2 => sample.message(19, new().number(1, self.random.below(3))),
            _ => sample,
        }
    }

    fn task(&mut self, task: Message) -> Message {
        let task = self.maybe(task, 2, &PIDS);
        let task = self.maybe(task, 3, &[10, 11, 20]);
        let iid = self.iid();
        match self.random.one_in(2) {
            true => task.number(4, iid),
            false => task,
        }
    }

    fn execution(&mut self, execution: Message) -> Message {
        let execution = self.maybe(execution, 2, &[0, 1, 4096]);
        self.maybe(execution, 3, &[0, 1, 2, 3, 4, 5, 6])
    }

    fn descriptor(&mut self, descriptor: Message) -> Message {
        let mut descriptor = self.maybe_text(descriptor, 2);
        if self.random.one_in(2) {
            descriptor = descriptor.number(3, self.random.below(12));
        }
        if self.random.one_in(3) {
            descriptor = descriptor.text(4, self.random.any(&["ms", ""]));
        }
        if self.random.one_in(4) {
            descriptor = descriptor.number(5, self.random.any(&[0, 1000]));
        }
        if self.random.one_in(4) {
            descriptor = descriptor.text(6, self.random.any(&["what", ""]));
        }
        self.maybe(descriptor, 7, &[0, 1, 2, 2])
    }

    fn stack_sample(&mut self) -> Message {
        let mut sample = new();
        for (own, iid) in [(1, 2), (3, 4), (9, 10)] {
            match self.random.below(5) {
                0 => {}
                1 => sample = sample.number(iid, self.iid()),
                _ => {
                    let message = match own {
                        1 => self.task(new()),
                        3 => self.execution(new()),
                        _ => self.descriptor(new()),
                    };
                    sample = sample.message(own, message);
                }
            }
        }
        match self.random.below(5) {
            0 => {}
            1 | 2 => sample = sample.number(6, self.iid()),
            _ => {
                let mut stack = new();
                for _ in 0..self.random.below(4) {
                    let frame = self.maybe_text(new(), 1);
                    let frame = self.maybe_text(frame, 2);
                    stack = stack.message(1, self.maybe(frame, 3, &FEW));
                }
                sample = sample.message(5, stack);
            }
        }
        sample = self.maybe(sample, 11, &[0, 5, u64::MAX]);
        if self.random.one_in(3) {
            for _ in 0..self.random.below(3) {
                sample = sample.message(12, self.descriptor(new()));
            }
        }
        if self.random.one_in(3) {
            let iids = self.iids(3);
            sample = self.many(sample, 13, &iids);
        }
        let weights: Vec<u64> = (0..self.random.below(4)).collect();
        self.many(sample, 14, &weights)
    }

    fn thread_descriptor(&mut self) -> Message {
        let time = (self.now - 7000) / 1000 + self.random.below(3);
        let time = self.random.any(&[time, time, time, 1, (-5_i64).cast_unsigned()]);
        let pid = self.random.any(&PIDS);
        let tid = pid + self.random.below(2);
        new().number(1, pid).number(2, tid).number(6, time)
    }

    fn streamed(&mut self) -> Message {
        let iids = self.iids(4);
        let packet = self.many(new(), 1, &iids);
        let count = iids.len() as u64 + self.random.below(2)
            - u64::from(!iids.is_empty() && self.random.one_in(5));
        let deltas: Vec<u64> =
            (0..count).map(|_| (self.random.below(5).cast_signed() - 2).cast_unsigned()).collect();
        let packet = self.many(packet, 2, &deltas);
        self.maybe(packet, 3, &[0, 8, u64::MAX])
    }

    fn heap_profile(&mut self) -> Message {
        let mut packet = self.maybe(new(), 7, &[0, 1, 2]);
        packet = self.maybe(packet, 6, &[0, 0, 1]);
        if self.random.one_in(3) {
            for _ in 0..self.random.below(4) {
                let string = new().number(1, self.random.below(3));
                packet = packet.message(1, self.maybe_text(string, 2));
            }
            for field in [4, 2, 3] {
                for _ in 0..self.random.below(3) {
                    let iid = self.random.below(3);
                    let entry = new().number(1, iid);
                    let entry = match field {
                        4 => self.mapping(entry),
                        2 => self.frame(entry),
                        _ => {
                            let iids = self.iids(3);
                            self.many(entry, 2, &iids)
                        }
                    };
                    packet = packet.message(field, entry);
                }
            }
        }
        for _ in 0..self.random.below(3) {
            packet = packet.message(5, self.dump());
        }
        packet
    }

    fn dump(&mut self) -> Message {
        let time = self.now - 9000;
        let mut dump = self.maybe(new(), 1, &[10, 20, (-7_i64).cast_unsigned()]);
        dump = self.maybe(dump, 9, &[time, time, time - 1000]);
        if self.random.one_in(2) {
            dump = dump.number(15, time - self.random.below(3) * 500);
        }
        if self.chance(80) {
            dump = dump.text(11, self.random.any(&HEAPS));
        }
        for field in [4, 6, 7, 8, 10, 14] {
            if self.random.one_in(6) {
                dump = dump.number(field, self.random.below(3));
            }
        }
        for field in [12, 13] {
            dump = self.maybe(dump, field, &[0, 4096, 8192]);
        }
        if self.random.one_in(4) {
            dump = dump.message(5, new().number(2, 3).number(5, 7).number(6, self.random.below(3)));
        }
        for _ in 0..self.random.below(4) {
            let iid = self.iid();
            let mut sample = self.maybe(new(), 1, &[iid]);
            for field in [2, 3, 5, 6] {
                sample = self.maybe(sample, field, &[0, 10, 20, 30]);
            }
            if self.random.one_in(4) {
                sample = sample.number(8, self.random.any(&[5, 50]));
                sample = self.maybe(sample, 9, &[1, 2]);
            }
            dump = dump.message(2, sample);
        }
        dump
    }

    fn module_symbols(&mut self) -> Message {
        let mut symbols = new();
        if self.chance(90) {
            let path = self.random.any(&[
                "/app",
                "/b",
                "",
                "/kernel",
                "/app/app",
                "/",
                "/data/local/tmp/app",
            ]);
            symbols = symbols.text(1, path);
        }
        if self.random.one_in(3) {
            symbols = symbols.bytes(2, self.random.any(&[&b"AB"[..], b"", &[0xab; 33]]));
        }
        for _ in 0..self.random.below(4) {
            let mut address = self.maybe(new(), 1, &ADDRESSES);
            for _ in 0..self.random.below(3) {
                let line = self.maybe_text(new(), 1);
                let line = self.maybe_text(line, 2);
                address = address.message(2, self.maybe(line, 3, &FEW));
            }
            symbols = symbols.message(3, address);
        }
        symbols
    }

    fn smaps(&mut self) -> Message {
        const PATHS: [&str; 5] = ["/a (deleted)", "/b", "", " (deleted)", "x(deleted)"];
        let mut smaps = self.maybe(new(), 1, &PIDS);
        for _ in 0..self.random.below(3) {
            let mut entry = new();
            if self.chance(80) {
                entry = entry.text(1, self.random.any(&PATHS));
            }
            for field in [2, 3, 4, 6, 7, 10, 11, 12, 13, 14, 15] {
                if self.random.one_in(3) {
                    entry = entry.number(field, self.random.any(&[0, 4, u64::MAX]));
                }
            }
            for field in [5, 8, 9] {
                if self.random.one_in(5) {
                    entry = entry.text(field, self.random.any(&PATHS));
                }
            }
            smaps = smaps.message(2, entry);
        }
        if self.random.one_in(2) {
            let rows = self.random.below(4);
            let mut packed = new();
            for _ in 0..rows + u64::from(self.random.one_in(6)) {
                packed = packed.text(1, self.random.any(&PATHS));
            }
            let names = self.random.any(&[2, 2, 3]);
            for field in [names, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15] {
                if field > 3 && self.random.one_in(3) {
                    continue;
                }
                let count = rows + u64::from(self.random.one_in(20));
                let values: Vec<u64> = (0..count).map(|_| self.random.below(rows + 1)).collect();
                packed = self.many(packed, field, &values);
            }
            smaps = smaps.message(3, packed);
        }
        smaps
    }
}
