//! Packets on a clock whose snapshots all come at the end of the trace, so the import cannot place
//! any of them at first (rule D2).
//!
//! The snapshots were taken in time, at a fixed interval, and written when the recording stopped.
//! They are not remembered until then: their readings are computed again.

use std::io::Write;

use crate::synth::clock::Drifting;
use crate::synth::clock_ids as clock;
use crate::synth::encode::{self, Reading};
use crate::synth::error::Error;
use crate::synth::hop::Paced;
use crate::synth::scene::{Scene, seq};
use crate::synth::settings::Settings;
use crate::synth::truth::{Expected, Row};

/// The approximate size of a snapshot.
const SNAPSHOT: u64 = 30;

#[derive(Debug)]
pub(crate) struct Late {
    clock: Drifting,
    begin: i64,
    /// The time between two snapshots.
    interval: i64,
    packets: u64,
}

impl Late {
    pub fn new<W>(settings: &Settings, scene: &mut Scene<'_, W>) -> Self {
        let begin = scene.world.begin();
        Late {
            clock: Drifting::new(&mut scene.random, settings.drift_ppm, begin, begin * 3, 1),
            begin,
            interval: settings.late_snapshot_ns as i64,
            packets: 0,
        }
    }

    pub fn record<W: Write>(&mut self, scene: &mut Scene<'_, W>) -> Result<(), Error> {
        let now = scene.world.now();
        self.packets += 1;
        let id = scene.out.packet(|out| {
            encode::time(out, 8, self.clock.ticks(now));
            encode::number(out, 10, seq::LATE.into());
            encode::number(out, 58, clock::LATE.into());
            encode::message(out, 11, |out| encode::number(out, 9, 3));
        })?;
        // The nearest earlier snapshot is less than the interval away, or a tick more if two
        // readings are equal.
        let error = self.clock.drift_over(self.interval + 2) + self.clock.rounding();
        scene.truths.tell(Row::Packet(id), now, Expected::Within(error))?;
        Ok(())
    }

    /// The number of bytes to come.
    pub fn waiting<W>(&self, scene: &Scene<'_, W>) -> u64 {
        if self.packets == 0 {
            return 0;
        }
        let snapshots = (scene.world.now() - self.begin) / self.interval + 1;
        snapshots.unsigned_abs() * SNAPSHOT
    }

    /// Writes the snapshots.
    pub fn finish<W: Write>(&self, scene: &mut Scene<'_, W>) -> Result<(), Error> {
        if self.packets == 0 {
            return Ok(());
        }
        let mut taken = self.begin;
        while taken <= scene.world.now() {
            let readings = [
                Reading::new(clock::BOOTTIME, taken),
                Reading::new(clock::LATE, self.clock.ticks(taken)),
            ];
            scene.snapshot(seq::LATE, &readings, taken, 0)?;
            taken += self.interval;
        }
        Ok(())
    }
}
