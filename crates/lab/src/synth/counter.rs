//! Packets on a hardware counter: a global clock with a unit (rule V4), which snapshots sometimes
//! read together with BOOTTIME.

use std::io::Write;

use crate::synth::clock::Drifting;
use crate::synth::clock_ids as clock;
use crate::synth::encode::{self, Reading};
use crate::synth::error::Error;
use crate::synth::hop::Hop;
use crate::synth::scene::{Scene, seq};
use crate::synth::settings::Settings;
use crate::synth::truth::{Expected, Row};

#[derive(Debug)]
pub(crate) struct Counter {
    clock: Drifting,
    hop: Hop,
    snapshot_every: u64,
    packets: u64,
}

impl Counter {
    pub fn new<W>(settings: &Settings, scene: &mut Scene<'_, W>) -> Self {
        let begin = scene.world.begin();
        let unit = settings.counter_unit_ns;
        Counter {
            clock: Drifting::new(&mut scene.random, settings.drift_ppm, begin, begin / 7, unit),
            hop: Hop::default(),
            snapshot_every: settings.clock_snapshot_every.into(),
            packets: 0,
        }
    }

    pub fn record<W: Write>(&mut self, scene: &mut Scene<'_, W>) -> Result<(), Error> {
        let now = scene.world.now();
        let ticks = self.clock.ticks(now);
        if self.packets.is_multiple_of(self.snapshot_every) {
            let readings = [
                Reading::new(clock::BOOTTIME, now),
                Reading {
                    clock_id: clock::COUNTER,
                    ticks,
                    unit: self.clock.unit,
                    incremental: false,
                },
            ];
            scene.snapshot(seq::COUNTER, &readings, now, 0)?;
            self.hop.take(now, 0);
        }
        self.packets += 1;
        let value = scene.random.below(1000);
        let id = scene.out.packet(|out| {
            encode::time(out, 8, ticks);
            encode::number(out, 10, seq::COUNTER.into());
            encode::number(out, 58, clock::COUNTER.into());
            // A GpuCounterEvent with one counter.
            encode::message(out, 52, |out| {
                encode::message(out, 2, |out| {
                    encode::number(out, 1, 1);
                    encode::number(out, 2, value);
                });
            });
        })?;
        if scene.truths.wanted() {
            let expected = Expected::Within(self.hop.error(&self.clock, now, 0, 0));
            scene.truths.tell(Row::Packet(id), now, expected)?;
        }
        Ok(())
    }
}
