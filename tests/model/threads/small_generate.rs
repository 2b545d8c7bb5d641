//! Random traces of other recordings, hypervisors, wakelocks, the CPU time of users, and configurations.
//! They have few numbers and times, so that these coincide.

use super::generate::Random;
use timebase_lab::encode::Message;

const FTRACE: u32 = 1;
const CONFIG: u32 = 33;
const GUEST: u64 = 77;
const UIDS: [u64; 7] = [1000, 10_001, 1_010_002, 50_003, 50_004, 90_007, 199_999];
const HYP: [u64; 17] =
    [476, 588, 477, 584, 478, 582, 479, 583, 480, 587, 578, 580, 585, 581, 586, 589, 590];
/// Nanoseconds after boot at which a recording counts as late, and some time after that.
const LATE: u64 = 300_000_000_000;

struct Generator {
    random: Random,
    now: u64,
    packets: Vec<Message>,
}

fn new() -> Message {
    Message::new()
}

/// The packets of a random trace.
pub fn trace(seed: u64) -> Vec<Message> {
    let mut random = Random(seed);
    let subject = random.below(6);
    of_subject(random, subject)
}

/// The packets of a random trace of other recordings or of hypervisors, whose rows do not depend on what comes later.
pub fn trace_of_states(seed: u64) -> Vec<Message> {
    of_subject(Random(seed), seed % 2)
}

fn of_subject(mut random: Random, subject: u64) -> Vec<Message> {
    let now = random.any(&[1000, LATE + 7]);
    let count = 3 + random.below(40);
    let mut generator = Generator { random, now, packets: Vec::new() };
    let clocks = new().message(1, new().number(1, 6).number(2, now));
    generator.packets.push(new().number(10, 1).message(6, clocks));
    if subject == 4 {
        generator.recording();
    }
    for _ in 0..count {
        let subject = match subject {
            5 => generator.random.below(4),
            one => one,
        };
        match subject {
            0 => generator.session(),
            1 => generator.hypervisor(),
            2 => generator.cpu_per_uid(),
            3 => generator.wakelocks(),
            _ => {
                generator.config();
                generator.hypervisor();
            }
        }
    }
    generator.packets
}

impl Generator {
    fn header(&mut self) -> Message {
        self.now += self.random.any(&[0, 1, 1, 7]);
        let mut packet = new().number(10, 1 + self.random.below(2));
        if !self.random.one_in(12) {
            packet = packet.number(8, self.now - self.random.any(&[0, 0, 0, 4]));
        }
        if self.random.one_in(6) {
            packet = packet.number(13, 1);
        }
        if self.random.one_in(10) {
            packet = packet.number(98, GUEST);
        }
        packet
    }

    fn push(&mut self, field: u32, payload: Message) {
        let packet = self.header();
        self.packets.push(packet.message(field, payload));
    }

    /// Fields with values, each of them mostly.
    fn maybe(&mut self, mut message: Message, fields: &[(u32, &[u64])]) -> Message {
        for (field, values) in fields {
            if !self.random.one_in(3) {
                message = message.number(*field, self.random.any(values));
            }
        }
        message
    }

    fn session(&mut self) {
        let mut session = self.maybe(
            new(),
            &[
                (1, &[1, 2, 2, 3, 4, 5, 6]),
                (3, &[1, 2, 1 << 63]),
                (4, &[7, u64::MAX]),
                (5, &[0, 3]),
            ],
        );
        if self.random.one_in(3) {
            session = session.text(2, self.random.any(&["", "mine"]));
        }
        self.push(134, session);
    }

    fn hypervisor(&mut self) {
        let cpu = self.random.below(2);
        let mut bundle = new().number(1, cpu);
        if self.random.one_in(30) {
            bundle = bundle.number(3, 1);
        }
        for _ in 0..1 + self.random.below(4) {
            self.now += self.random.below(3);
            let kind = self.random.any(&HYP);
            let values: &[u64] = &[0, 1, 7, u64::MAX - 1];
            let fields = self
                .maybe(new(), &[(1, values), (2, values), (3, values), (6, values), (7, values)]);
            let mut event = new().number(1, self.now);
            if !self.random.one_in(10) {
                event = event.number(2, 5);
            }
            bundle = bundle.message(2, event.message(kind as u32, fields));
        }
        self.push(FTRACE, bundle);
    }

    fn cpu_per_uid(&mut self) {
        let mut data = new();
        if self.random.one_in(2) {
            data = data.number(1, 1 + self.random.below(2));
        }
        for _ in 0..self.random.below(4) {
            data = data.number(2, self.random.any(&UIDS));
            for _ in 0..self.random.below(3) {
                data = data.number(3, self.random.any(&[0, 0, 5, 9]));
            }
        }
        self.push(119, data);
    }

    fn wakelocks(&mut self) {
        let mut data = new();
        for _ in 0..self.random.below(3) {
            let mut lock = self.maybe(new(), &[(1, &[1, 2, 3]), (3, &[0, 1, 2, 9])]);
            if !self.random.one_in(8) {
                lock = lock.text(2, self.random.any(&["", "radio", "wlan"]));
            }
            data = data.message(1, lock);
        }
        for _ in 0..self.random.below(4) {
            data =
                data.number(2, 1 + self.random.below(4)).number(3, self.random.any(&[0, 0, 1, 6]));
        }
        let data = self.maybe(data, &[(4, &[0, 1, 2, 5, 7])]);
        self.push(115, data);
    }

    /// The start of the recording, and the machine.
    fn recording(&mut self) {
        if self.random.one_in(2) {
            self.push(69, new().number(2, 1));
        }
        let print =
            self.random.any(&["a/b:12/c/d:user/keys", "a:userdebug/keys", "x:user", "user"]);
        self.push(45, new().text(2, print));
        if self.random.one_in(4) {
            let video = self.random.any(&[1000, 1001]);
            self.push(video, new().number(1, 1));
        }
    }

    fn config(&mut self) {
        let mut config = new();
        for _ in 0..self.random.below(3) {
            config = config.message(1, new().number(4, self.random.below(3)));
        }
        for _ in 0..self.random.below(3) {
            let mut source = new();
            if !self.random.one_in(5) {
                let names = ["linux.ftrace", "track_event", "android.display.video", "other"];
                source = source.text(1, self.random.any(&names));
            }
            source = self.maybe(source, &[(2, &[0, 1, 2])]);
            if self.random.one_in(2) {
                let ftrace = self.ftrace_config();
                source = source.message(100, ftrace);
            }
            if self.random.one_in(3) {
                let interval = self.random.any(&[0, 1, 4096, 102_399, 102_400]);
                source = source.message(105, new().number(1, interval));
            }
            config = config.message(2, new().message(1, source));
        }
        let config =
            self.maybe(config, &[(8, &[0, 1, 1]), (9, &[0, 5000, 604_799_999, 604_800_000])]);
        self.push(CONFIG, config);
    }

    fn ftrace_config(&mut self) -> Message {
        let mut ftrace = new();
        for _ in 0..self.random.below(3) {
            let events = [
                "raw_syscalls/sys_enter",
                "raw_syscalls/sys_exit",
                "workqueue/workqueue_execute_start",
                "sched/sched_blocked_reason",
                "sched/sched_switch",
            ];
            ftrace = ftrace.text(1, self.random.any(&events));
        }
        if self.random.one_in(3) {
            ftrace = ftrace.text(18, "sys_read");
        }
        self.maybe(
            ftrace,
            &[
                (10, &[0, 1, 63, 64, 65, 512, 1023, 1024, 4096]),
                (11, &[0, 1, 99, 100, 250, 1000, 60_000, 60_001]),
                (13, &[0, 1]),
                (19, &[0, 1]),
                (23, &[0, 1]),
            ],
        )
    }
}
