//! Kernel events, in bundles (rule I1).

use std::io::Write;

use crate::synth::clock::Drifting;
use crate::synth::encode;
use crate::synth::error::Error;
use crate::synth::hop::Hop;
use crate::synth::scene::{Scene, seq};
use crate::synth::settings::{FtraceClock, Settings};
use crate::synth::truth::{Expected, Row};

/// The number of threads. Thread 0 is the idle thread of every CPU.
const THREADS: u64 = 40;
const FIRST_PID: u64 = 1000;
const PRIO: u64 = 120;

/// The columns of `CompactSched`.
mod column {
    pub const SWITCH_TIMESTAMP: usize = 1;
    pub const SWITCH_PREV_STATE: usize = 2;
    pub const SWITCH_NEXT_PID: usize = 3;
    pub const SWITCH_NEXT_PRIO: usize = 4;
    pub const SWITCH_NEXT_COMM: usize = 6;
    pub const WAKING_TIMESTAMP: usize = 7;
    pub const WAKING_PID: usize = 8;
    pub const WAKING_TARGET_CPU: usize = 9;
    pub const WAKING_PRIO: usize = 10;
    pub const WAKING_COMM: usize = 11;
    pub const WAKING_COMMON_FLAGS: usize = 12;
    pub const COUNT: usize = 13;
}

pub(crate) struct Ftrace {
    compact: bool,
    clock: FtraceClock,
    /// The clock of [`FtraceClock::Global`] and [`FtraceClock::Local`], and the hop from the
    /// bundles' pairs.
    kernel: Drifting,
    hop: Hop,
    cpus: Vec<Cpu>,
    /// The number of waiting events, and the number at which they are read.
    waiting: u32,
    events_per_read: u32,
    comms: Vec<Vec<u8>>,
    /// All names, in the form of `CompactSched`.
    intern_table: Vec<u8>,
    pairs: u64,
}

/// The buffer of a CPU.
#[derive(Debug, Default)]
struct Cpu {
    running: u64,
    columns: [Vec<u8>; column::COUNT],
    last_switch: i64,
    last_waking: i64,
    /// Events in the full encoding.
    full: Vec<u8>,
    /// The time of each event, and the largest error of its conversion.
    times: Vec<(i64, i64)>,
}

impl Ftrace {
    pub fn new<W>(settings: &Settings, scene: &mut Scene<'_, W>) -> Self {
        let begin = scene.world.begin();
        let comms: Vec<Vec<u8>> =
            (0..THREADS).map(|thread| format!("thread-{thread}").into_bytes()).collect();
        let mut intern_table = Vec::new();
        for comm in &comms {
            encode::bytes(&mut intern_table, 5, comm);
        }
        Ftrace {
            compact: settings.compact,
            clock: settings.ftrace_clock,
            // It began with the machine, and never slept.
            kernel: Drifting::new(&mut scene.random, settings.drift_ppm, begin, begin / 2, 1),
            hop: Hop::default(),
            cpus: (0..settings.cpus).map(|_| Cpu::default()).collect(),
            waiting: 0,
            events_per_read: settings.events_per_read,
            comms,
            intern_table,
            pairs: 0,
        }
    }

    pub fn record<W: Write>(&mut self, scene: &mut Scene<'_, W>) -> Result<(), Error> {
        let timestamp = self.now(scene);
        let number = scene.random.below(self.cpus.len() as u64);
        let (kind, thread) = (scene.random.below(16), scene.random.below(THREADS));
        let error = match self.clock {
            FtraceClock::MonotonicRaw if scene.truths.wanted() => scene.world.monotonic_raw_error(),
            // The events' times are known when the pair is.
            _ => 0,
        };
        let Some(cpu) = self.cpus.get_mut(number as usize) else {
            return Ok(());
        };
        let comms = &self.comms;
        match kind {
            0..=8 if self.compact => cpu.compact_switch(timestamp, thread),
            0..=8 => cpu.switch(timestamp, thread, comms),
            9..=13 if self.compact => cpu.compact_waking(timestamp, thread, number),
            9..=13 => cpu.waking(timestamp, thread, number, comms),
            14 => cpu.full(timestamp, 13, |out| {
                encode::number(out, 1, thread % 4);
                encode::number(out, 2, number);
            }),
            _ => cpu.full(timestamp, 236, |out| {
                encode::number(out, 1, FIRST_PID + thread);
                encode::bytes(out, 2, comm(comms, thread));
                encode::bytes(out, 3, b"renamed");
                encode::number(out, 4, 0);
            }),
        }
        cpu.times.push((scene.world.now(), error));
        self.waiting += 1;
        if self.waiting == self.events_per_read {
            self.finish(scene)?;
        }
        Ok(())
    }

    /// The current reading of the events' clock.
    fn now<W>(&self, scene: &Scene<'_, W>) -> i64 {
        match self.clock {
            FtraceClock::Boottime => scene.world.boottime(),
            FtraceClock::MonotonicRaw => scene.world.monotonic_raw(),
            FtraceClock::Global | FtraceClock::Local => self.kernel.ticks(scene.world.boottime()),
        }
    }

    /// The number of waiting bytes.
    pub fn waiting(&self) -> u64 {
        if self.waiting == 0 {
            return 0;
        }
        // The names, and a few numbers and lengths for each CPU.
        let bundle = self.intern_table.len() + 60;
        let cpus = self.cpus.iter().filter(|cpu| !cpu.times.is_empty());
        cpus.map(|cpu| cpu.bytes() + bundle).sum::<usize>() as u64
    }

    /// Reads the buffers of all CPUs: a bundle for each.
    pub fn finish<W: Write>(&mut self, scene: &mut Scene<'_, W>) -> Result<(), Error> {
        if self.waiting == 0 {
            return Ok(());
        }
        self.waiting = 0;
        let (ftrace, boot) = (self.now(scene), scene.world.boottime());
        let number = match self.clock {
            FtraceClock::Boottime => 0,
            FtraceClock::Global => 2,
            FtraceClock::Local => 3,
            FtraceClock::MonotonicRaw => 4,
        };
        let by_pairs = matches!(self.clock, FtraceClock::Global | FtraceClock::Local);
        if number != 0 {
            self.pairs += 1;
            self.hop.take(boot, 0);
        }
        for (index, cpu) in (0u64..).zip(&mut self.cpus) {
            if cpu.times.is_empty() {
                continue;
            }
            scene.out.packet(|out| {
                encode::number(out, 10, seq::FTRACE.into());
                encode::message(out, 1, |out| {
                    encode::number(out, 1, index);
                    out.extend_from_slice(&cpu.full);
                    if self.compact {
                        encode::message(out, 4, |out| cpu.compact_sched(out, &self.intern_table));
                    }
                    if number != 0 {
                        encode::number(out, 5, number);
                        encode::time(out, 6, ftrace);
                        encode::time(out, 7, boot);
                    }
                });
            })?;
            for &(time, error) in &cpu.times {
                let error = if by_pairs && scene.truths.wanted() {
                    self.hop.error(&self.kernel, time, 0, 0)
                } else {
                    error
                };
                let row = Row::FtraceEvent(scene.out.next_event());
                scene.truths.tell(row, time, Expected::Within(error))?;
            }
            cpu.clear();
        }
        Ok(())
    }

    /// The number of written pairs of clocks; each is in the bundles of one read.
    pub fn pairs(&self) -> u64 {
        self.pairs
    }
}

fn comm(comms: &[Vec<u8>], thread: u64) -> &[u8] {
    comms.get(thread as usize).map_or(&[], Vec::as_slice)
}

fn pid_of(thread: u64) -> u64 {
    if thread == 0 { 0 } else { FIRST_PID + thread }
}

impl Cpu {
    fn compact_switch(&mut self, timestamp: i64, next: u64) {
        let delta = timestamp - self.last_switch;
        self.last_switch = timestamp;
        self.running = next;
        for (column, value) in [
            (column::SWITCH_TIMESTAMP, delta.unsigned_abs()),
            (column::SWITCH_PREV_STATE, next % 3),
            (column::SWITCH_NEXT_PID, pid_of(next)),
            (column::SWITCH_NEXT_PRIO, PRIO),
            (column::SWITCH_NEXT_COMM, next),
        ] {
            encode::varint(&mut self.columns[column], value);
        }
    }

    fn compact_waking(&mut self, timestamp: i64, thread: u64, cpu: u64) {
        let delta = timestamp - self.last_waking;
        self.last_waking = timestamp;
        for (column, value) in [
            (column::WAKING_TIMESTAMP, delta.unsigned_abs()),
            (column::WAKING_PID, pid_of(thread)),
            (column::WAKING_TARGET_CPU, cpu),
            (column::WAKING_PRIO, PRIO),
            (column::WAKING_COMM, thread),
            (column::WAKING_COMMON_FLAGS, 1),
        ] {
            encode::varint(&mut self.columns[column], value);
        }
    }

    fn switch(&mut self, timestamp: i64, next: u64, comms: &[Vec<u8>]) {
        let prev = std::mem::replace(&mut self.running, next);
        self.event(timestamp, prev, 4, |out| {
            encode::bytes(out, 1, comm(comms, prev));
            encode::number(out, 2, pid_of(prev));
            encode::number(out, 3, PRIO);
            encode::number(out, 4, next % 3);
            encode::bytes(out, 5, comm(comms, next));
            encode::number(out, 6, pid_of(next));
            encode::number(out, 7, PRIO);
        });
    }

    fn waking(&mut self, timestamp: i64, thread: u64, cpu: u64, comms: &[Vec<u8>]) {
        self.full(timestamp, 20, |out| {
            encode::bytes(out, 1, comm(comms, thread));
            encode::number(out, 2, pid_of(thread));
            encode::number(out, 3, PRIO);
            encode::number(out, 4, 1);
            encode::number(out, 5, cpu);
        });
    }

    /// An event in the full encoding, from the running thread.
    fn full(&mut self, timestamp: i64, field: u32, write: impl FnOnce(&mut Vec<u8>)) {
        self.event(timestamp, self.running, field, write);
    }

    fn event(&mut self, timestamp: i64, thread: u64, field: u32, write: impl FnOnce(&mut Vec<u8>)) {
        encode::message(&mut self.full, 2, |out| {
            encode::time(out, 1, timestamp);
            encode::number(out, 2, pid_of(thread));
            encode::message(out, field, write);
        });
    }

    fn compact_sched(&self, out: &mut Vec<u8>, intern_table: &[u8]) {
        out.extend_from_slice(intern_table);
        for (field, values) in (0u32..).zip(&self.columns) {
            if !values.is_empty() {
                encode::bytes(out, field, values);
            }
        }
    }

    fn bytes(&self) -> usize {
        self.full.len() + self.columns.iter().map(Vec::len).sum::<usize>()
    }

    /// A bundle's first timestamps are not deltas.
    fn clear(&mut self) {
        for column in &mut self.columns {
            column.clear();
        }
        self.full.clear();
        self.times.clear();
        (self.last_switch, self.last_waking) = (0, 0);
    }
}
