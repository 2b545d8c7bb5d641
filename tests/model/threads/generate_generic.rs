//! Random traces of kernels that are not Linux. They have few threads, cpus and times, so that these coincide.

use super::generate::Random;
use timebase_lab::encode::Message;

const GUEST: u64 = 77;

const NAMES: [&str; 4] = ["a", "bb", "", "/bin/app -x"];

/// Tids and pids, some beyond 32 bits.
const IDS: [i64; 8] = [0, 1, 5, 6, 8, 9, (1 << 32) + 5, -3];

struct Generator {
    random: Random,
    now: u64,
}

impl Generator {
    fn id(&mut self) -> u64 {
        // Most events are of a few threads.
        let few = if self.random.one_in(5) { 8 } else { 5 };
        let few = self.random.below(few);
        IDS[few as usize] as u64
    }

    /// With a field, or without.
    fn maybe(&mut self, message: Message, field: u32, value: u64) -> Message {
        match self.random.one_in(8) {
            true => message,
            false => message.number(field, value),
        }
    }

    fn named(&mut self, message: Message, field: u32) -> Message {
        match self.random.one_in(3) {
            true => message,
            false => message.text(field, self.random.any(&NAMES)),
        }
    }

    fn state(&mut self) -> Message {
        let cpu = self.random.any(&[0, 0, 0, 1, 1, 4095, 4096, u64::MAX]);
        let state = self.random.any(&[0, 1, 2, 3, 3, 3, 3, 4, 4, 5, 6, 7, 8, 9, 1 << 32, u64::MAX]);
        let (tid, priority) = (self.id(), self.random.any(&[100, 120, u64::MAX]));
        let said = Message::new();
        let said = self.maybe(said, 1, cpu);
        let said = self.named(said, 2);
        let said = self.maybe(said, 3, tid);
        let said = self.maybe(said, 4, state);
        self.maybe(said, 5, priority)
    }

    fn tree(&mut self) -> Message {
        let mut tree = Message::new();
        for _ in 0..self.random.below(3) {
            let (pid, parent) = (self.id(), self.id());
            let process = self.maybe(Message::new(), 1, pid);
            let process = self.maybe(process, 2, parent);
            let process = self.named(process, 3);
            tree = tree.message(1, process);
        }
        for _ in 0..self.random.below(3) {
            let (tid, pid) = (self.id(), self.id());
            let pid = if self.random.one_in(2) { tid } else { pid };
            let thread = Message::new().number(1, tid).number(2, pid);
            let thread = self.named(thread, 3);
            let (is_main, is_idle) = (self.random.below(2), self.random.below(2));
            let thread = self.maybe(thread, 4, is_main);
            let thread = self.maybe(thread, 5, is_idle);
            tree = tree.message(2, thread);
        }
        tree
    }

    /// Linux's process tree may be in the trace, too.
    fn linux_tree(&mut self) -> Message {
        let process = Message::new().number(1, self.random.below(9));
        let process = process.number(2, self.random.below(3));
        let thread = Message::new().number(1, self.random.below(9));
        Message::new()
            .message(1, process.text(3, "linux"))
            .message(2, thread.number(3, self.random.below(9)))
    }

    fn packet(&mut self) -> Message {
        let (field, payload) = match self.random.below(20) {
            0 => (2, self.linux_tree()),
            1 => {
                let (tid, said) = (self.id(), Message::new());
                let said = self.maybe(said, 1, tid);
                (120, self.named(said, 2))
            }
            2 | 3 => (122, self.tree()),
            4 => {
                let hertz = self.random.any(&[0, 1_500_500, u64::MAX]);
                let cpu = self.random.any(&[0, 1, 4095, 4096, u64::MAX]);
                let said = self.maybe(Message::new(), 1, cpu);
                (118, self.maybe(said, 2, hertz))
            }
            5 => {
                let khz = self.random.any(&[0, 500, u64::MAX]);
                let gpu = self.random.below(3);
                let said = self.maybe(Message::new(), 1, gpu);
                (129, self.maybe(said, 2, khz))
            }
            _ => (117, self.state()),
        };
        self.now += self.random.any(&[0, 0, 0, 1, 10]);
        let mut packet = Message::new().number(10, 1).number(8, self.now);
        if self.random.one_in(10) {
            packet = packet.number(98, GUEST);
        }
        packet.message(field, payload)
    }
}

/// The packets of a random trace.
pub fn trace(seed: u64) -> Vec<Message> {
    let mut generator = Generator { random: Random(seed), now: 1000 };
    let reading = Message::new().number(1, 6).number(2, 1000);
    let snapshot = Message::new().message(1, reading.clone());
    let guests = Message::new().number(98, GUEST).number(10, 2).number(8, 1000);
    let mut packets = vec![
        Message::new().number(10, 1).message(6, snapshot.clone()),
        guests.message(6, snapshot),
    ];
    let count = 5 + generator.random.below(100);
    packets.extend((0..count).map(|_| generator.packet()));
    packets
}
