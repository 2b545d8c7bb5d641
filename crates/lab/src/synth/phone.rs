//! The recording of a phone in a fleet: frames that two threads draw, their scheduling, and a
//! display with its own clock.

use crate::synth::clock_ids as clock;
use crate::synth::encode::{self, Reading};
use crate::synth::random::Random;
use crate::synth::scene::seq;

/// The devices of a fleet, in the order in which traces take turns.
pub(crate) const DEVICES: [&str; 5] = ["aster", "birch", "cedar", "dahlia", "elm"];

/// Their builds. On the device "birch" the second one is slower.
pub(crate) const BUILDS: [&str; 2] = ["b1", "b2"];

/// The clock `com.example.display`, by the number that its name hashes to.
const DISPLAY_CLOCK: u32 = 3_847_903_918;

/// The field of `Trace`.
const PACKET: u32 = 1;

/// The sequences of the application and of the display.
const APP: u32 = seq::SDK;
const DISPLAY: u32 = seq::SDK + 1;

const STATE_CLEARED: u64 = 1;
const NEEDS_STATE: u64 = 2;

const MAIN: u64 = 2000;
const RENDER: u64 = 2001;
const MAIN_TRACK: u64 = 0x4a11;
const RENDER_TRACK: u64 = 0x4a12;
const DISPLAY_TRACK: u64 = 0x4a13;

/// 60 frames a second.
const PERIOD: u64 = 16_666_667;

/// The number of frames between two snapshots, and between two reads of the kernel's buffers.
const FRAMES_PER_READ: u64 = 32;

/// The least time of a frame on each device, in ns.
const DRAWING: [u64; DEVICES.len()] = [3_000_000, 4_000_000, 5_000_000, 6_000_000, 7_000_000];

/// The interned names of slices.
const NAMES: [(u64, &str); 4] = [(1, "frame"), (2, "layout"), (3, "draw"), (4, "vsync")];
const FRAME: u64 = 1;
const LAYOUT: u64 = 2;
const DRAW: u64 = 3;
const VSYNC: u64 = 4;

pub(crate) struct Phone<'a> {
    random: &'a mut Random,
    out: Vec<u8>,
    /// Unread events of the kernel, of both CPUs.
    kernel: [Vec<u8>; 2],
    /// Whether packets of the application are lost once.
    is_lossy: bool,
    /// The least time of drawing in ns, and its percentage of the usual time.
    drawing: u64,
    percent: u64,
    /// Ticks of the display's clock in ten nanoseconds.
    ticks: u64,
    begin: u64,
    records: u64,
}

impl<'a> Phone<'a> {
    /// One of [`DEVICES`] with one of [`BUILDS`].
    pub fn new(device: &str, build: &str, is_lossy: bool, random: &'a mut Random) -> Self {
        let is_slower = device == "birch" && BUILDS.last() == Some(&build);
        let number = DEVICES.iter().position(|&other| other == device);
        let drawing = DRAWING.get(number.unwrap_or_default());
        let begin = 1_000_000_000_000 + random.below(1_000_000_000_000);
        Phone {
            random,
            out: Vec::new(),
            kernel: Default::default(),
            is_lossy,
            drawing: drawing.copied().unwrap_or_default(),
            percent: if is_slower { 160 } else { 100 },
            ticks: if device == "elm" { 24 } else { 10 },
            begin,
            records: 0,
        }
    }

    /// A trace with at least this many records.
    pub fn record(mut self, records: u64) -> Vec<u8> {
        let mut now = self.begin;
        let mut frame = 0u64;
        while self.records < records {
            if frame.is_multiple_of(FRAMES_PER_READ) {
                self.read();
                self.snapshot(now);
                self.describe(now);
            }
            // The second half of the data for the second read is lost.
            let part = frame % (2 * FRAMES_PER_READ);
            let loses = self.is_lossy && frame < 2 * FRAMES_PER_READ && part == 40;
            let end = self.frame(now, frame, loses);
            frame += 1;
            let next = self.begin + frame * PERIOD;
            now = next.max(end + 1_000_000);
        }
        self.read();
        self.snapshot(now);
        self.out
    }

    fn packet(&mut self, sequence: u32, write: impl FnOnce(&mut Vec<u8>)) {
        self.records += 1;
        encode::message(&mut self.out, PACKET, |out| {
            encode::number(out, 10, sequence.into());
            write(out);
        });
    }

    /// Takes a snapshot of the builtin clocks and the display's.
    fn snapshot(&mut self, now: u64) {
        let (boottime, display) = (now.cast_signed(), self.display(now).cast_signed());
        self.packet(seq::SERVICE, |out| {
            let readings = [
                Reading::new(clock::BOOTTIME, boottime),
                Reading::new(clock::MONOTONIC, boottime - 70_000_000_000),
                Reading::new(clock::REALTIME, boottime + 1_795_000_000_000_000_000),
                Reading::new(DISPLAY_CLOCK, display),
            ];
            encode::snapshot(out, &readings, clock::BOOTTIME);
        });
    }

    /// The reading of the display's clock.
    fn display(&self, now: u64) -> u64 {
        now / 10 * self.ticks
    }

    /// Clears the state of both sequences: the names and the tracks.
    fn describe(&mut self, now: u64) {
        let tracks =
            [(MAIN_TRACK, MAIN, "com.example.app"), (RENDER_TRACK, RENDER, "RenderThread")];
        self.packet(APP, |out| {
            encode::number(out, 8, now);
            encode::number(out, 13, STATE_CLEARED);
            intern_names(out);
        });
        for (track, tid, name) in tracks {
            self.packet(APP, |out| {
                encode::message(out, 60, |out| {
                    encode::number(out, 1, track);
                    encode::message(out, 4, |out| {
                        encode::number(out, 1, MAIN);
                        encode::number(out, 2, tid);
                        encode::bytes(out, 5, name.as_bytes());
                    });
                });
            });
        }
        self.packet(DISPLAY, |out| {
            encode::number(out, 13, STATE_CLEARED);
            intern_names(out);
            encode::message(out, 60, |out| {
                encode::number(out, 1, DISPLAY_TRACK);
                encode::bytes(out, 2, b"display");
            });
        });
    }

    /// A frame; returns its end.
    fn frame(&mut self, due: u64, frame: u64, loses: bool) -> u64 {
        self.vsync(due, frame);
        let begin = self.wake(due, 0, MAIN);
        let unusual = self.random.below(20) == 0;
        let slowness = if unusual { 300 } else { 100 } * self.percent / 100;
        let takes = (self.drawing + self.random.below(3_000_000)) * slowness / 100;
        self.begin_slice(begin, MAIN_TRACK, FRAME, Some(frame), loses);
        self.begin_slice(begin + 20_000, MAIN_TRACK, LAYOUT, None, false);
        self.end_slice(begin + takes / 4, MAIN_TRACK);
        let drawn = self.wake(begin + takes / 4, 1, RENDER);
        self.begin_slice(drawn, RENDER_TRACK, DRAW, None, false);
        let done = drawn + takes / 2;
        self.end_slice(done, RENDER_TRACK);
        self.sleep(done + 10_000, 1, RENDER);
        let end = (begin + takes).max(done + 5000);
        self.end_slice(end, MAIN_TRACK);
        self.sleep(end + 10_000, 0, MAIN);
        end + 10_000
    }

    /// A thread is woken, and runs after a while; returns that time.
    fn wake(&mut self, now: u64, cpu: usize, tid: u64) -> u64 {
        let most = if self.random.below(50) == 0 { 4_000_000 } else { 200_000 };
        let runs = now + 20_000 + self.random.below(most);
        self.event(cpu, now, 0, |out| {
            encode::message(out, 20, |out| {
                encode::bytes(out, 1, comm(tid));
                encode::number(out, 2, tid);
                encode::number(out, 3, 120);
                encode::number(out, 4, 1);
                encode::number(out, 5, cpu as u64);
            });
        });
        self.switch(runs, cpu, 0, tid);
        runs + 5000
    }

    fn sleep(&mut self, now: u64, cpu: usize, tid: u64) {
        self.switch(now, cpu, tid, 0);
    }

    /// The thread that leaves the CPU sleeps; the idle thread is always ready.
    fn switch(&mut self, now: u64, cpu: usize, from: u64, to: u64) {
        self.event(cpu, now, from, |out| {
            encode::message(out, 4, |out| {
                encode::bytes(out, 1, comm(from));
                encode::number(out, 2, from);
                encode::number(out, 3, 120);
                encode::number(out, 4, u64::from(from != 0));
                encode::bytes(out, 5, comm(to));
                encode::number(out, 6, to);
                encode::number(out, 7, 120);
            });
        });
    }

    fn event(&mut self, cpu: usize, now: u64, tid: u64, write: impl FnOnce(&mut Vec<u8>)) {
        self.records += 1;
        if let Some(buffer) = self.kernel.get_mut(cpu) {
            encode::message(buffer, 2, |out| {
                encode::number(out, 1, now);
                encode::number(out, 2, tid);
                write(out);
            });
        }
    }

    /// Reads the kernel's buffers: a bundle for each CPU.
    fn read(&mut self) {
        for (cpu, events) in (0u64..).zip(std::mem::take(&mut self.kernel)) {
            if !events.is_empty() {
                self.packet(seq::FTRACE, |out| {
                    encode::message(out, 1, |out| {
                        encode::number(out, 1, cpu);
                        out.extend_from_slice(&events);
                    });
                });
            }
        }
    }

    fn begin_slice(&mut self, now: u64, track: u64, name: u64, number: Option<u64>, lost: bool) {
        self.packet(APP, |out| {
            encode::number(out, 8, now);
            encode::number(out, 13, NEEDS_STATE);
            if lost {
                encode::number(out, 42, 1);
            }
            encode::message(out, 11, |out| {
                encode::number(out, 9, 1);
                encode::number(out, 11, track);
                encode::number(out, 10, name);
                if let Some(number) = number {
                    encode::message(out, 4, |out| {
                        encode::bytes(out, 10, b"number");
                        encode::number(out, 4, number);
                    });
                }
            });
        });
    }

    fn end_slice(&mut self, now: u64, track: u64) {
        self.packet(APP, |out| {
            encode::number(out, 8, now);
            encode::number(out, 13, NEEDS_STATE);
            encode::message(out, 11, |out| {
                encode::number(out, 9, 2);
                encode::number(out, 11, track);
            });
        });
    }

    /// The display reports that it wants a frame.
    fn vsync(&mut self, now: u64, frame: u64) {
        let ticks = self.display(now);
        self.packet(DISPLAY, |out| {
            encode::number(out, 8, ticks);
            encode::number(out, 58, DISPLAY_CLOCK.into());
            encode::number(out, 13, NEEDS_STATE);
            encode::message(out, 11, |out| {
                encode::number(out, 9, 3);
                encode::number(out, 11, DISPLAY_TRACK);
                encode::number(out, 10, VSYNC);
                encode::message(out, 4, |out| {
                    encode::bytes(out, 10, b"number");
                    encode::number(out, 4, frame);
                });
            });
        });
    }
}

fn intern_names(out: &mut Vec<u8>) {
    encode::message(out, 12, |out| {
        for (number, name) in NAMES {
            encode::message(out, 2, |out| {
                encode::number(out, 1, number);
                encode::bytes(out, 2, name.as_bytes());
            });
        }
    });
}

fn comm(tid: u64) -> &'static [u8] {
    match tid {
        MAIN => b"com.example.app",
        RENDER => b"RenderThread",
        _ => b"swapper",
    }
}
