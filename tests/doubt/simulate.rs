//! A scheduler with some CPUs and threads, and its kernel events.

use std::collections::VecDeque;

use super::Random;
use super::cut::{Bundle, Event, Packet, full_event};
use crate::support::kernel;
use timebase_lab::encode::Message;

/// The encoding of events.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Encoding {
    Plain,
    /// Switches and wakings in columns; one in three events is another one, or none is.
    Compact {
        with_others: bool,
    },
}

const CPUS: usize = 3;
const THREADS: usize = 40;
/// Bits of `prev_state`, for a kernel of unknown version.
const SLEEPS: u64 = 1;
const WAITS: u64 = 2;
const PREEMPTED: u64 = 0x800;
/// `cpu_idle`.
const IDLE: u32 = 13;

struct Thread {
    /// The time of its wake-up, if it sleeps.
    wakes: Option<u64>,
    /// The CPU on which it last ran and waits.
    cpu: usize,
}

struct Scheduler {
    random: Random,
    encoding: Encoding,
    now: u64,
    threads: Vec<Thread>,
    /// The threads that wait for each CPU.
    ready: [VecDeque<usize>; CPUS],
    /// The running thread of each CPU, and its end.
    running: [Option<(usize, u64)>; CPUS],
    events: Vec<(usize, Event)>,
}

/// The pid of a thread, 0 for none.
fn pid(thread: Option<usize>) -> u64 {
    thread.map_or(0, |thread| 100 + thread as u64)
}

impl Scheduler {
    fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.random.below(most - least)
    }

    fn on(&self, cpu: usize) -> Option<usize> {
        self.running[cpu].map(|(thread, _)| thread)
    }

    /// Events of a CPU are consecutive.
    fn tick(&mut self) -> u64 {
        self.now += self.random.below(3_000) + 200;
        self.now
    }

    /// A third of the events are others.
    fn others(&mut self, cpu: usize) {
        if self.encoding == (Encoding::Compact { with_others: true }) {
            let (now, runs) = (self.tick(), pid(self.on(cpu)));
            let event = kernel::event(now, runs, IDLE, Message::new().number(1, 1));
            self.events.push((cpu, full_event(event)));
        }
    }

    fn switch(&mut self, cpu: usize, state: u64, next: Option<usize>) {
        let now = self.tick();
        let prev = pid(self.on(cpu));
        let event = match self.encoding {
            Encoding::Plain => full_event(kernel::switch(now, (prev, state), (pid(next), "t"))),
            Encoding::Compact { .. } => Event::Switch([now, state, pid(next), 120, 0]),
        };
        self.events.push((cpu, event));
        self.running[cpu] = next.map(|thread| {
            self.threads[thread].cpu = cpu;
            let burst = match self.random.below(4) {
                0 => self.between(300_000, 3_000_000),
                _ => self.between(10_000, 300_000),
            };
            (thread, now + burst)
        });
        self.others(cpu);
    }

    fn waking(&mut self, cpu: usize, thread: usize) {
        let (now, waker) = (self.tick(), pid(self.on(cpu)));
        let wakee = pid(Some(thread));
        let event = match self.encoding {
            Encoding::Plain => full_event(kernel::waking(now, waker, wakee, "t")),
            Encoding::Compact { .. } => Event::Waking([now, wakee, 0, 120, 0, 0]),
        };
        self.events.push((cpu, event));
    }

    fn any(&mut self) -> usize {
        self.random.below(CPUS as u64) as usize
    }

    /// The running thread of some CPU wakes a thread, which usually runs where it last ran.
    fn wake(&mut self, thread: usize) {
        let last = self.threads[thread].cpu;
        let by = self.any();
        let cpu = if self.random.one_in(20) { self.any() } else { last };
        self.threads[thread].wakes = None;
        self.waking(by, thread);
        if self.on(cpu).is_none() {
            self.switch(cpu, 0, Some(thread));
        } else {
            self.ready[cpu].push_back(thread);
            if self.random.one_in(16) {
                self.preempt(cpu);
            }
        }
    }

    /// A thread leaves its CPU although it could continue.
    fn preempt(&mut self, cpu: usize) {
        let Some(thread) = self.on(cpu) else { return };
        let Some(next) = self.ready[cpu].pop_front() else {
            return;
        };
        let state = if self.random.one_in(2) { PREEMPTED } else { 0 };
        self.switch(cpu, state, Some(next));
        // The thread has set its state to sleeping, but does not sleep yet.
        if state == PREEMPTED && self.random.one_in(30) {
            let by = self.any();
            self.waking(by, thread);
        }
        self.ready[cpu].push_back(thread);
    }

    fn sleep(&mut self, cpu: usize) {
        let Some(thread) = self.on(cpu) else { return };
        let state = if self.random.one_in(5) { WAITS } else { SLEEPS };
        let sleeps = match self.random.below(5) {
            0 => self.between(4_000_000, 40_000_000),
            _ => self.between(200_000, 4_000_000),
        };
        self.threads[thread].wakes = Some(self.now + sleeps);
        let next = self.ready[cpu].pop_front();
        self.switch(cpu, state, next);
    }

    fn step(&mut self) {
        let wakes = self.threads.iter().enumerate();
        let wakes = wakes.filter_map(|(thread, known)| Some((known.wakes?, thread)));
        let wakes = wakes.min();
        let ends = self.running.iter().enumerate();
        let ends = ends.filter_map(|(cpu, runs)| Some((runs.as_ref()?.1, cpu)));
        let ends = ends.min();
        match (wakes, ends) {
            (Some((at, thread)), ends) if ends.is_none_or(|(end, _)| at <= end) => {
                self.now = self.now.max(at);
                self.wake(thread);
            }
            (_, Some((at, cpu))) => {
                self.now = self.now.max(at);
                match self.random.below(16) {
                    0 if !self.ready[cpu].is_empty() => self.preempt(cpu),
                    _ => self.sleep(cpu),
                }
            }
            _ => {}
        }
    }
}

/// A trace with this many events.
pub fn trace(seed: u64, encoding: Encoding, events: usize) -> Vec<Packet> {
    let mut random = Random(seed);
    let threads = (0..THREADS).map(|_| Thread {
        wakes: Some(1_000_000 + random.below(5_000_000)),
        cpu: random.below(CPUS as u64) as usize,
    });
    let mut scheduler = Scheduler {
        threads: threads.collect(),
        random,
        encoding,
        now: 1_000_000,
        ready: [const { VecDeque::new() }; CPUS],
        running: [None; CPUS],
        events: Vec::new(),
    };
    while scheduler.events.len() < events {
        scheduler.step();
    }
    let bundle = |cpu: usize| Bundle {
        packet: Message::new().number(10, 2),
        cpu: cpu as u64,
        names: vec![b"t".to_vec()],
        ..Bundle::default()
    };
    let mut open: [Bundle; CPUS] = [0, 1, 2].map(bundle);
    let mut packets = Vec::new();
    for (cpu, event) in scheduler.events {
        open[cpu].events.push(event);
        if open[cpu].events.len() >= 60 {
            let full = std::mem::replace(&mut open[cpu], bundle(cpu));
            packets.push(Packet::Bundle(full));
        }
    }
    packets.extend(open.map(Packet::Bundle));
    packets
}
