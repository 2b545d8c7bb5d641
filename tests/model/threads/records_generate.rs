//! Random traces with records of the recording. They have few names, numbers and times, so that these
//! coincide.

use super::generate::Random;
use timebase_lab::encode::Message;

const TEXTS: [&str; 7] = ["a", "", "läuft", "it's \"x\"\\", "b\n\tc", "\u{1}\u{7f}", "t1"];
const NUMBERS: [u64; 8] = [0, 1, 2, 7, 1_000, 1 << 40, u64::MAX - 8, 1 << 63];
const SEQUENCES: [u64; 3] = [2, 3, 4];
const GUEST: u64 = 77;
const EPOCH: u64 = 5_000;

struct Generator {
    random: Random,
    now: u64,
    guests: u64,
}

fn new() -> Message {
    Message::new()
}

/// The packets of a random trace.
pub fn trace(seed: u64) -> Vec<Message> {
    let mut random = Random(seed ^ 0x4d44);
    let guests = random.any(&[0, 0, 0, 25]);
    let count = 4 + random.below(40);
    let mut generator = Generator { random, now: EPOCH, guests };
    let mut packets = vec![generator.snapshot()];
    for _ in 0..count {
        packets.push(generator.packet());
    }
    packets
}

impl Generator {
    fn chance(&mut self, percent: u64) -> bool {
        self.random.below(100) < percent
    }

    fn text(&mut self) -> &'static str {
        self.random.any(&TEXTS)
    }

    fn number(&mut self) -> u64 {
        self.random.any(&NUMBERS)
    }

    /// A number of each of these fields, in half of the cases.
    fn numbers(&mut self, message: Message, fields: &[u32]) -> Message {
        fields.iter().fold(message, |message, &field| match self.chance(50) {
            true => message.number(field, self.number()),
            false => message,
        })
    }

    /// A text of each of these fields, in half of the cases.
    fn texts(&mut self, message: Message, fields: &[u32]) -> Message {
        fields.iter().fold(message, |message, &field| match self.chance(50) {
            true => message.text(field, self.text()),
            false => message,
        })
    }

    /// Some messages of a field.
    fn some(
        &mut self,
        message: Message,
        field: u32,
        most: u64,
        mut one: impl FnMut(&mut Self) -> Message,
    ) -> Message {
        (0..self.random.below(most + 1)).fold(message, |message, _| {
            let one = one(self);
            message.message(field, one)
        })
    }

    fn snapshot(&mut self) -> Message {
        let reading = |id, value| new().number(1, id).number(2, value);
        let snapshot =
            new().message(1, reading(6, self.now)).message(1, reading(3, self.now - 500));
        new().number(10, 1).message(6, snapshot)
    }

    fn packet(&mut self) -> Message {
        self.now += self.random.below(4) * 10;
        if self.random.one_in(20) {
            return self.snapshot();
        }
        let mut packet = match self.random.one_in(20) {
            true => new(),
            false => new().number(10, self.random.any(&SEQUENCES)),
        };
        if self.chance(self.guests) {
            packet = packet.number(98, GUEST);
        }
        if self.random.one_in(4) {
            packet = packet.number(13, self.random.any(&[1, 2, 2, 3]));
        }
        if self.random.one_in(5) {
            let causes = [1, 2, 4, 8, 16, 32, 64, 128, 256, 511];
            packet = packet.number(42, self.random.any(&causes));
        }
        if self.chance(85) {
            let (clock, offset) = self.random.any(&[(6, 0), (6, 0), (3, 500), (900, 0)]);
            let earlier = self.random.any(&[0, 0, 30]);
            packet = packet.number(8, self.now - offset - earlier).number(58, clock);
        }
        let (field, payload) = self.payload();
        packet.message(field, payload)
    }

    fn payload(&mut self) -> (u32, Message) {
        match self.random.below(20) {
            0 | 1 => (33, self.config()),
            2 | 3 => (35, self.trace_stats()),
            4 | 5 => (34, self.ftrace_stats()),
            6 => (45, self.system_info()),
            7 => (69, self.service_event()),
            8 => (126, self.attributes()),
            9 => (51, self.chrome_metadata()),
            10 => (5, self.chrome_events()),
            11 => {
                let benchmark = self.numbers(new(), &[1, 2, 8, 9]);
                let benchmark = self.texts(benchmark, &[3, 4, 5, 6, 7]);
                (48, self.texts(benchmark, &[7]))
            }
            12 => (78, self.numbers(new(), &[1, 2])),
            13 => (89, self.numbers(new(), &[1, 2])),
            14 => (90, self.numbers(new(), &[1])),
            15 => (86, self.properties()),
            16 => {
                let stats = self.numbers(new(), &[1, 2, 3]);
                (39, self.some(new(), 2, 1, |_| stats.clone()))
            }
            17 => {
                let bundle = new().number(1, self.random.below(3));
                (1, bundle.number(3, self.random.below(2)))
            }
            18 => {
                let trigger = self.texts(new(), &[1, 2]);
                let uid = self.numbers(trigger, &[3]);
                (self.random.any(&[46, 113]), uid)
            }
            _ => self.chrome_trigger(),
        }
    }

    fn chrome_trigger(&mut self) -> (u32, Message) {
        let mut trigger = self.texts(new(), &[1]);
        if self.chance(50) {
            trigger = trigger.number(2, self.number());
        }
        (109, trigger)
    }

    fn attributes(&mut self) -> Message {
        self.some(new(), 1, 3, |this| {
            let attribute = this.texts(new(), &[1]);
            let attribute = this.numbers(attribute, &[2]);
            this.texts(attribute, &[3])
        })
    }

    fn config(&mut self) -> Message {
        let mut config = new();
        for _ in 0..self.random.below(7) {
            config = match self.random.below(11) {
                0 | 1 => {
                    let mut buffer = self.numbers(new(), &[1]);
                    if self.chance(70) {
                        buffer = buffer.number(4, self.random.any(&[0, 1, 2, 2, 9]));
                    }
                    config.message(1, buffer)
                }
                2 => config.number(8, self.random.below(3)),
                3 => config.number(13, self.random.any(&[0, 5_000])),
                4 => config.text(22, self.text()),
                5 => self.numbers(config, &[27, 28]),
                6 => config.message(48, self.attributes()),
                7 => config.message(7, self.numbers(new(), &[1, 4])),
                9 => {
                    let source = self.texts(new(), &[1]);
                    let source = self.numbers(source, &[2]);
                    config.message(2, new().message(1, source))
                }
                8 => {
                    let probability = self.random.any(&[0.25, -1.5, 1e9, 1e-9]);
                    let trigger = self.texts(new(), &[1]).double(5, probability);
                    config.message(17, new().message(2, trigger))
                }
                _ => config.number(900, self.number()).text(901, self.text()),
            };
        }
        match self.chance(40) {
            true => config.number(8, 1),
            false => config,
        }
    }

    fn trace_stats(&mut self) -> Message {
        let stats = self.numbers(new(), &[2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 14]);
        let stats = match self.random.below(4) {
            outcome @ 0..=2 => stats.number(15, outcome),
            _ => stats,
        };
        let stats = self.some(stats, 1, 2, |this| {
            let all: Vec<u32> = (1..=20).collect();
            this.numbers(new(), &all)
        });
        let stats = self.some(stats, 11, 1, |this| {
            let filter = this.numbers(new(), &[1, 2, 3, 4, 5]);
            let (one, other) = (this.number(), this.number());
            match this.random.below(3) {
                0 => filter.packed(20, &[one, other]),
                1 => filter.number(20, one).number(20, other),
                _ => filter,
            }
        });
        self.some(stats, 18, 4, |this| {
            let sequence = this.random.any(&[0, 1, 2, 3, 4, 5, (1 << 32) + 3]);
            new().number(1, sequence).number(4, this.random.below(3))
        })
    }

    fn ftrace_stats(&mut self) -> Message {
        let stats = match self.random.below(6) {
            0 => new(),
            1 => new().number(1, 3),
            phase => new().number(1, 1 + phase % 2),
        };
        let stats = self.some(stats, 2, 2, |this| {
            let cpu = new().number(1, this.random.below(2));
            let cpu = this.numbers(cpu, &[2, 3, 4, 5, 8, 9]);
            let times = [0.0, 12.25, 0.5, 1e30, f64::NAN, -1.0];
            let cpu = cpu.double(6, this.random.any(&times));
            cpu.double(7, this.random.any(&times))
        });
        let stats = self.some(stats, 10, 1, |this| this.numbers(new(), &[1, 2]));
        self.texts(stats, &[5, 6, 6, 7, 13])
    }

    fn system_info(&mut self) -> Message {
        let info = self.some(new(), 1, 1, |this| this.texts(new(), &[1, 2, 3, 4]));
        let info = self.texts(info, &[9, 10, 11, 12, 13, 14, 15]);
        let info = self.numbers(info, &[5, 7, 16]);
        let info = match self.chance(50) {
            true => info.text(2, &self.fingerprint()),
            false => info,
        };
        let versions = [
            "",
            "Perfetto v53.0",
            "Perfetto v54.1-a (b)",
            "Perfetto v9-x.60",
            "Perfetto v60",
            "v60.1",
        ];
        match self.chance(60) {
            true => info.text(4, self.random.any(&versions)),
            false => info,
        }
    }

    fn fingerprint(&mut self) -> String {
        let version = self.random.any(&[
            "12", "11", "10", "9", "8.1", "8.0", "7.1", "7.0", "6.0", "5.1", "5.1.1", "5.0",
            "5.0.1", "5.0.2", "S", "Tiramisu", "13", "",
        ]);
        match self.random.below(6) {
            0 => "nonsense".to_owned(),
            1 => format!("a:{version}/b"),
            2 => format!("a:{version}/b/c"),
            3 => format!(":{version}/::/:"),
            _ => format!("g/c/c:{version}/ID/765:user/keys"),
        }
    }

    fn service_event(&mut self) -> Message {
        let event =
            [1, 2, 3, 5, 10].iter().fold(new(), |event, &field| match self.random.below(3) {
                0 => event.number(field, self.random.below(2)),
                _ => event,
            });
        let event = match self.chance(30) {
            true => event.number(11, self.random.below(3)),
            false => event,
        };
        self.some(event, 7, 1, |this| this.some(new(), 1, 2, |this| this.texts(new(), &[1, 2])))
    }

    fn chrome_metadata(&mut self) -> Message {
        let metadata = self.numbers(new(), &[2, 7]);
        let metadata = self.texts(metadata, &[3, 5, 6, 8]);
        let metadata = self.some(metadata, 4, 5, |this| this.numbers(new(), &[1, 2]));
        self.some(metadata, 1, 1, |this| this.numbers(new(), &[1, 2]))
    }

    fn chrome_events(&mut self) -> Message {
        let events = match self.chance(20) {
            true => new().number(900, 1),
            false => new(),
        };
        self.some(events, 2, 3, |this| {
            let metadata = this.texts(new(), &[1]);
            match this.random.below(6) {
                0 => metadata,
                1 => metadata.text(2, this.text()),
                2 => metadata.number(4, this.number()).number(3, 1),
                3 => metadata.number(3, this.number()),
                4 => metadata.text(5, "{\"a\":1}"),
                _ => metadata.text(5, "{}").number(3, 0).number(4, 9).text(2, this.text()),
            }
        })
    }

    fn properties(&mut self) -> Message {
        self.some(new(), 1, 3, |this| {
            let name = this.random.any(&[
                "debug.tracing.profile_boot_classpath",
                "debug.tracing.profile_system_server",
                "profile_system_server",
                "debug.tracing.profile_",
            ]);
            let value = this.random.any(&["1", "-7", " 3", "", "on", "2147483648", "0"]);
            new().text(1, name).text(2, value)
        })
    }
}
