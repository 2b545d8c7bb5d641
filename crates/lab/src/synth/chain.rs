//! Packets on custom clocks that are several hops from BOOTTIME: snapshots read each clock of the
//! chain only together with the one below it, and the first with MONOTONIC (rule V3).

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
pub(crate) struct Chain {
    links: Vec<Link>,
    /// The readings of MONOTONIC and each clock, from the bottom up.
    readings: Vec<i64>,
    snapshot_every: u64,
    packets: u64,
}

/// A clock, and the hop to the one below it.
#[derive(Debug)]
struct Link {
    clock: Drifting,
    hop: Hop,
}

impl Chain {
    pub fn new<W>(settings: &Settings, scene: &mut Scene<'_, W>) -> Self {
        let mut below = scene.world.monotonic();
        let links = (1..=i64::from(settings.chain))
            .map(|number| {
                let origin = number * 1_000_000_000_000;
                let random = &mut scene.random;
                let clock = Drifting::new(random, settings.drift_ppm, below, origin, 1);
                below = origin;
                Link { clock, hop: Hop::default() }
            })
            .collect();
        Chain {
            links,
            readings: Vec::new(),
            snapshot_every: settings.clock_snapshot_every.into(),
            packets: 0,
        }
    }

    pub fn record<W: Write>(&mut self, scene: &mut Scene<'_, W>) -> Result<(), Error> {
        let mut value = scene.world.monotonic();
        self.readings.clear();
        self.readings.push(value);
        for link in &self.links {
            value = link.clock.ticks(value);
            self.readings.push(value);
        }
        self.snapshots(scene)?;
        self.packets += 1;

        let number = scene.random.below(self.links.len() as u64) as usize;
        let timestamp = self.reading(number + 1);
        let id = scene.out.packet(|out| {
            encode::time(out, 8, timestamp);
            encode::number(out, 10, seq::CHAIN.into());
            encode::number(out, 58, id_of(number).into());
            encode::message(out, 11, |out| {
                encode::number(out, 9, 3);
                encode::number(out, 10, 1 + number as u64);
            });
        })?;
        if scene.truths.wanted() {
            let expected = Expected::Within(self.error(scene, number + 1));
            scene.truths.tell(Row::Packet(id), scene.world.now(), expected)?;
        }
        Ok(())
    }

    /// Takes the snapshots that are due, by turns, so that the hops of a packet have different
    /// distances. At the beginning it takes all, from the bottom up.
    fn snapshots<W: Write>(&mut self, scene: &mut Scene<'_, W>) -> Result<(), Error> {
        let links = self.links.len();
        for number in 0..links {
            let phase = self.snapshot_every * number as u64 / links as u64;
            let due = self.packets == 0
                || (self.packets + self.snapshot_every - phase).is_multiple_of(self.snapshot_every);
            if !due {
                continue;
            }
            let (below, value) = (self.reading(number), self.reading(number + 1));
            let below_id = match number.checked_sub(1) {
                Some(below) => id_of(below),
                None => clock::MONOTONIC,
            };
            let readings = [Reading::new(below_id, below), Reading::new(id_of(number), value)];
            let error = if scene.truths.wanted() { self.error(scene, number) } else { 0 };
            scene.snapshot(seq::CHAIN, &readings, scene.world.now(), error)?;
            if let Some(link) = self.links.get_mut(number) {
                link.hop.take(below, 0);
            }
        }
        Ok(())
    }

    fn reading(&self, number: usize) -> i64 {
        self.readings.get(number).copied().unwrap_or_default()
    }

    /// The largest error of a current reading, `hops` above MONOTONIC.
    fn error<W>(&self, scene: &Scene<'_, W>, hops: usize) -> i64 {
        let links = self.links.iter().zip(&self.readings).take(hops).rev();
        let error =
            links.fold(0, |error, (link, &below)| link.hop.error(&link.clock, below, 0, error));
        scene.world.monotonic_error(error)
    }
}

fn id_of(number: usize) -> u32 {
    clock::CHAIN + number as u32
}
