//! Packets in the form of the SDK: track events with deltas on clock 64 of their sequence (rule
//! V5). Each sequence is a thread, and has slices two deep; their names are interned at their first
//! use after a snapshot.

use std::io::Write;

use crate::synth::clock::Drifting;
use crate::synth::clock_ids as clock;
use crate::synth::encode::{self, Reading};
use crate::synth::error::Error;
use crate::synth::hop::Hop;
use crate::synth::scene::{Scene, seq};
use crate::synth::settings::{Reference, Settings};
use crate::synth::truth::{Expected, Reason, Row};

const STATE_CLEARED: u64 = 1;
const NEEDS_STATE: u64 = 2;

/// `trusted_uid` and `trusted_pid` of all writers.
const UID: u64 = 1000;
const FIRST_PID: u64 = 4000;

/// `track_uuid`, a random number in real traces.
const FIRST_TRACK: u64 = 0x6b3f_92d1;

/// The number of names for slices.
const NAMES: u64 = 100;

/// The number of the only category, and of the first annotation's name.
const CATEGORY: u64 = 1;
const FIRST_ANNOTATION: u64 = 1;

#[derive(Debug)]
pub(crate) struct Sdk {
    settings: Settings,
    /// The started sequences; a sequence starts with its first packet.
    sequences: Vec<Sequence>,
    /// The next sequence.
    turn: usize,
    packets: u64,
}

#[derive(Debug)]
struct Sequence {
    id: u32,
    on_monotonic: bool,
    /// Clocks 64 and 65, which only differ in their encoding.
    clock: Drifting,
    hop: Hop,
    /// The last reading of clock 64, the base of the next delta.
    last: i64,
    /// The number of packets since the snapshot.
    packets: u32,
    lost: bool,
    is_described: bool,
    /// The names that were interned since the snapshot, as bits.
    interned: u128,
}

impl Sdk {
    pub fn new(settings: &Settings) -> Self {
        Sdk { settings: settings.clone(), sequences: Vec::new(), turn: 0, packets: 0 }
    }

    pub fn record<W: Write>(&mut self, scene: &mut Scene<'_, W>) -> Result<(), Error> {
        if self.turn == self.sequences.len() {
            let sequence = self.begin(scene);
            self.sequences.push(sequence);
        }
        let Some(sequence) = self.sequences.get_mut(self.turn) else {
            return Ok(());
        };
        self.turn += 1;
        if self.turn == self.settings.sequences as usize {
            self.turn = 0;
        }
        if sequence.packets == self.settings.sequence_snapshot_every {
            sequence.snapshot(scene)?;
        }
        self.packets += 1;
        let is_one_of = |every: u64| every != 0 && self.packets.is_multiple_of(every);
        let absolute = is_one_of(self.settings.absolute_every);
        let loses = is_one_of(self.settings.loss_every);
        sequence.packet(scene, absolute, loses, self.settings.annotations)
    }

    fn begin<W: Write>(&self, scene: &mut Scene<'_, W>) -> Sequence {
        let index = self.sequences.len() as u32;
        let on_monotonic = match self.settings.sequence_reference {
            Reference::Boottime => false,
            Reference::Monotonic => true,
            Reference::Alternating => index % 2 == 1,
        };
        let mut sequence = Sequence {
            id: seq::SDK + scene.sequences_before + index,
            on_monotonic,
            clock: Drifting::new(&mut scene.random, 0, 0, 0, 1),
            hop: Hop::default(),
            last: 0,
            // Full, so it begins with a snapshot.
            packets: self.settings.sequence_snapshot_every,
            lost: false,
            is_described: false,
            interned: 0,
        };
        let parent = sequence.parent(scene);
        sequence.clock = Drifting::new(
            &mut scene.random,
            self.settings.drift_ppm,
            parent,
            parent,
            self.settings.sequence_unit_ns,
        );
        sequence
    }
}

impl Sequence {
    /// The current reading of its reference clock.
    #[inline]
    fn parent<W>(&self, scene: &Scene<'_, W>) -> i64 {
        if self.on_monotonic { scene.world.monotonic() } else { scene.world.boottime() }
    }

    /// The error from the reference clock to BOOTTIME.
    fn error_on<W>(&self, scene: &Scene<'_, W>, before: i64) -> i64 {
        if self.on_monotonic { scene.world.monotonic_error(before) } else { before }
    }

    fn snapshot<W: Write>(&mut self, scene: &mut Scene<'_, W>) -> Result<(), Error> {
        let parent = self.parent(scene);
        let ticks = self.clock.ticks(parent);
        let reference = if self.on_monotonic { clock::MONOTONIC } else { clock::BOOTTIME };
        let of_sequence =
            |clock_id, incremental| Reading { clock_id, ticks, unit: self.clock.unit, incremental };
        let readings = [
            Reading::new(reference, parent),
            of_sequence(clock::INCREMENTAL, true),
            of_sequence(clock::ABSOLUTE, false),
        ];
        let id = scene.out.packet(|out| {
            self.header(out);
            encode::number(out, 13, STATE_CLEARED);
            encode::message(out, 59, |out| {
                encode::number(out, 58, clock::INCREMENTAL.into());
            });
            encode::message(out, 12, |out| intern(out, 1, CATEGORY, "synth"));
            encode::snapshot(out, &readings, 0);
        })?;
        scene.snapshots += 1;
        if scene.truths.wanted() {
            let error = self.error_on(scene, 0);
            let expected = Expected::Within(error);
            scene.truths.tell(Row::Packet(id), scene.world.now(), expected)?;
        }
        self.hop.take(parent, 0);
        self.last = ticks;
        self.packets = 0;
        self.lost = false;
        self.interned = 0;
        if !self.is_described {
            self.is_described = true;
            scene.out.packet(|out| self.describe(out))?;
        }
        Ok(())
    }

    /// Describes the thread of the sequence.
    fn describe(&self, out: &mut Vec<u8>) {
        let (pid, tid) = (self.pid(), u64::from(self.id));
        self.header(out);
        encode::message(out, 60, |out| {
            encode::number(out, 1, self.track());
            encode::message(out, 4, |out| {
                encode::number(out, 1, pid);
                encode::number(out, 2, tid);
                encode::bytes(out, 5, format!("writer {tid}").as_bytes());
            });
        });
    }

    fn pid(&self) -> u64 {
        FIRST_PID + u64::from(self.id) % 1000
    }

    fn track(&self) -> u64 {
        FIRST_TRACK + u64::from(self.id)
    }

    #[inline]
    fn header(&self, out: &mut Vec<u8>) {
        encode::number(out, 10, self.id.into());
        encode::number(out, 3, UID);
        encode::number(out, 79, self.pid());
    }

    fn packet<W: Write>(
        &mut self,
        scene: &mut Scene<'_, W>,
        absolute: bool,
        loses: bool,
        annotations: u32,
    ) -> Result<(), Error> {
        let parent = self.parent(scene);
        let ticks = self.clock.ticks(parent);
        let name = 1 + scene.random.below(NAMES);
        self.lost |= loses;
        let timestamp = if absolute {
            ticks
        } else {
            let delta = ticks - self.last;
            self.last = ticks;
            delta
        };
        let begins = self.packets % 4 < 2;
        let (first, bit) = (self.interned == 0, 1 << name);
        let is_new = begins && self.interned & bit == 0 && !self.lost;
        self.interned |= if is_new { bit } else { 0 };
        let count = ticks.unsigned_abs();
        let id = scene.out.packet(|out| {
            encode::time(out, 8, timestamp);
            self.header(out);
            encode::number(out, 13, NEEDS_STATE);
            if absolute {
                encode::number(out, 58, clock::ABSOLUTE.into());
            }
            if loses {
                encode::number(out, 42, 1);
            }
            if is_new {
                encode::message(out, 12, |out| {
                    intern(out, 2, name, &format!("step {name}"));
                    for number in (0..u64::from(annotations)).filter(|_| first) {
                        let number = FIRST_ANNOTATION + number;
                        intern(out, 3, number, &format!("argument {number}"));
                    }
                });
            }
            encode::message(out, 11, |out| {
                encode::number(out, 9, if begins { 1 } else { 2 });
                encode::number(out, 11, self.track());
                if begins {
                    encode::number(out, 10, name);
                    encode::number(out, 3, CATEGORY);
                    annotate(out, annotations, count, name);
                }
            });
        })?;
        self.packets += 1;
        if scene.truths.wanted() {
            let expected = if self.lost {
                Expected::Unresolved(Reason::IncrementalStateLost)
            } else {
                let error = self.hop.error(&self.clock, parent, 0, 0);
                Expected::Within(self.error_on(scene, error))
            };
            scene.truths.tell(Row::Packet(id), scene.world.now(), expected)?;
        }
        Ok(())
    }
}

/// An entry of interned data with a text.
fn intern(out: &mut Vec<u8>, field: u32, number: u64, text: &str) {
    encode::message(out, field, |out| {
        encode::number(out, 1, number);
        encode::bytes(out, 2, text.as_bytes());
    });
}

/// Annotations of four types in turn: a number that rarely repeats, one of a hundred texts, a
/// fraction, a flag.
fn annotate(out: &mut Vec<u8>, annotations: u32, count: u64, name: u64) {
    for number in 0..u64::from(annotations) {
        encode::message(out, 4, |out| {
            encode::number(out, 1, FIRST_ANNOTATION + number);
            match number % 4 {
                0 => encode::number(out, 4, count),
                1 => encode::bytes(out, 6, format!("value {name}").as_bytes()),
                2 => encode::double(out, 5, (count % 1000) as f64 / 8.0),
                _ => encode::number(out, 2, count % 2),
            }
        });
    }
}
