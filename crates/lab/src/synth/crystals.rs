//! Packets on realistic clocks. The rates of each clock, and of the clocks that lead from it to
//! BOOTTIME, are off and change. Snapshots read a clock and the one below it at a fixed interval,
//! one after the other, and sometimes with a pause in between.
//!
//! In the middle of the trace they may be set, become faster, or have no snapshots for a while.
//!
//! Crystals have their own random numbers, so a clock does not change if there are more clocks.
//! They stand still while the machine sleeps, and are read as soon as it wakes up.

use std::io::Write;

use crate::synth::clock_ids as clock;
use crate::synth::crystal::{Beginning, Crystal};
use crate::synth::encode::{self, Reading};
use crate::synth::error::Error;
use crate::synth::hop::Hop;
use crate::synth::random::Random;
use crate::synth::scene::{Scene, seq};
use crate::synth::settings::Settings;
use crate::synth::truth::{Expected, Row};
use crate::synth::world::World;

/// The frequency in kHz of the clocks that lead to BOOTTIME.
const NANOSECONDS: u32 = 1_000_000;

#[derive(Debug)]
pub(crate) struct Crystals {
    chains: Vec<Chain>,
    hops: usize,
    /// The time of the next snapshot, in time awake; `None` before the first.
    next: Option<i64>,
    /// The interval between two snapshots, and to the second of a pair.
    interval: i64,
    pair: i64,
    /// The largest time between reading the two clocks of a snapshot, of an outlier, and of any.
    apart: u64,
    outlier: u64,
    outlier_every: u64,
    largest_apart: u64,
}

/// A clock for packets, and the clocks that lead to BOOTTIME.
#[derive(Debug)]
struct Chain {
    /// From the bottom up.
    links: Vec<Link>,
    /// Random numbers for its snapshots.
    random: Random,
}

/// A clock, and the hop to the one below it.
#[derive(Debug)]
struct Link {
    id: u32,
    crystal: Crystal,
    hop: Hop,
    /// The time of its next snapshot, and whether this snapshot is the second of a pair.
    due: i64,
    is_second: bool,
    /// The ns by which it was set forward.
    set: i64,
}

impl Crystals {
    pub fn new(settings: &Settings, world: &World) -> Self {
        let chains = match settings.mix.crystals {
            0 => 0,
            _ => settings.crystals,
        };
        let chains = (0..chains).map(|number| Chain::new(settings, world, number));
        Crystals {
            chains: chains.collect(),
            hops: settings.crystal_hops as usize,
            next: None,
            interval: settings.crystal_snapshot_ns as i64,
            pair: settings.pair_ns as i64,
            apart: settings.apart_ns,
            outlier: settings.outlier_ns,
            outlier_every: settings.outlier_every,
            largest_apart: settings.largest_apart(),
        }
    }

    pub fn record<W: Write>(&mut self, scene: &mut Scene<'_, W>) -> Result<(), Error> {
        match self.next {
            Some(_) => self.snapshots(scene)?,
            None => self.read_all(scene)?,
        }
        let number = scene.random.below(self.chains.len() as u64) as usize;
        let Some(chain) = self.chains.get_mut(number) else {
            return Ok(());
        };
        let world = &scene.world;
        let (now, awake, suspended) = (world.now(), world.awake(), world.suspended());
        chain.go_on(awake);
        let top = chain.clock(self.hops);
        let id = scene.out.packet(|out| {
            encode::time(out, 8, top.ticks);
            encode::number(out, 10, seq::CRYSTALS.into());
            encode::number(out, 58, top.clock_id.into());
            encode::message(out, 11, |out| {
                encode::number(out, 9, 3);
                encode::number(out, 10, 1 + number as u64);
            });
        })?;
        if scene.truths.wanted() {
            let error = chain.error(self.hops, awake, suspended);
            let expected = Expected::Within(error);
            scene.truths.tell(Row::Packet(id), now, expected)?;
        }
        Ok(())
    }

    /// The machine is about to sleep. Due snapshots are taken, and then none for a while: a
    /// snapshot may be later than it says.
    pub fn before_suspend<W: Write>(&mut self, scene: &mut Scene<'_, W>) -> Result<(), Error> {
        if self.next.is_some() {
            self.snapshots(scene)?;
            self.pause(scene)?;
        }
        Ok(())
    }

    /// The machine woke up, and all clocks are read.
    pub fn after_suspend<W: Write>(&mut self, scene: &mut Scene<'_, W>) -> Result<(), Error> {
        if self.next.is_some() {
            self.read_all(scene)?;
        }
        Ok(())
    }

    /// The event in the middle of the trace.
    pub fn turn<W: Write>(
        &mut self,
        settings: &Settings,
        scene: &mut Scene<'_, W>,
    ) -> Result<(), Error> {
        if self.next.is_none() {
            return Ok(());
        }
        self.snapshots(scene)?;
        let awake = scene.world.awake();
        for link in self.chains.iter_mut().flat_map(|chain| {
            chain.go_on(awake);
            &mut chain.links
        }) {
            link.crystal.bend(settings.bend_ppm);
            link.due += settings.hole_ns as i64;
        }
        for link in self.chains.iter_mut().filter_map(|chain| chain.links.last_mut()) {
            link.crystal.set(settings.set_ns);
            link.set += settings.set_ns;
        }
        self.look_ahead();
        Ok(())
    }

    /// Reads all clocks, from the bottom up. From then on they are read by turns, so that a time
    /// close to a snapshot of one is not close to a snapshot of another.
    fn read_all<W: Write>(&mut self, scene: &mut Scene<'_, W>) -> Result<(), Error> {
        for hop in 0..self.hops {
            // An early reading must not be before the clock's first value.
            self.pause(scene)?;
            let (now, chains) = (scene.world.awake(), self.chains.len());
            for number in 0..chains {
                // The rest of an interval remains, so that no clock is read twice at once.
                let turn = (hop * chains + number) as i64;
                let wait = self.interval / 2 / (self.hops * chains) as i64 * turn;
                let due = now + self.interval / 2 + wait;
                self.snapshot(number, hop, now, due, scene)?;
            }
        }
        self.look_ahead();
        Ok(())
    }

    /// Advances by more than the time between two readings of a snapshot.
    fn pause<W>(&self, scene: &mut Scene<'_, W>) -> Result<(), Error> {
        scene.world.go_on_by(2 * self.largest_apart + 2)
    }

    /// Takes the snapshots that are due by now, in the order of time.
    fn snapshots<W: Write>(&mut self, scene: &mut Scene<'_, W>) -> Result<(), Error> {
        let now = scene.world.awake();
        while let Some(due) = self.next.filter(|&due| due <= now) {
            for number in 0..self.chains.len() {
                for hop in 0..self.hops {
                    let link = |chain: &Chain| chain.links.get(hop).map(|link| link.due);
                    if self.chains.get(number).and_then(link) == Some(due) {
                        let next = self.after(number, hop, due);
                        self.snapshot(number, hop, due, next, scene)?;
                    }
                }
            }
            self.look_ahead();
        }
        Ok(())
    }

    /// The time of the snapshot after the one at `due`.
    fn after(&mut self, number: usize, hop: usize, due: i64) -> i64 {
        let chain = self.chains.get_mut(number);
        let Some(link) = chain.and_then(|chain| chain.links.get_mut(hop)) else {
            return due + self.interval;
        };
        link.is_second = self.pair > 0 && !link.is_second;
        match link.is_second {
            true => due + self.pair,
            false => due + self.interval - self.pair,
        }
    }

    fn look_ahead(&mut self) {
        let links = self.chains.iter().flat_map(|chain| &chain.links);
        self.next = links.map(|link| link.due).min();
    }

    /// Takes a snapshot of a clock and the one below it, after this time awake; returns when the
    /// next one is due.
    fn snapshot<W: Write>(
        &mut self,
        number: usize,
        hop: usize,
        awake: i64,
        due: i64,
        scene: &mut Scene<'_, W>,
    ) -> Result<(), Error> {
        let boottime = scene.world.now() - (scene.world.awake() - awake);
        let suspended = scene.world.suspended();
        let Some(chain) = self.chains.get_mut(number) else {
            return Ok(());
        };
        chain.go_on(awake);
        let is_outlier = self.outlier_every > 0 && chain.random.below(self.outlier_every) == 0;
        let most = if is_outlier { self.outlier } else { self.apart };
        let apart = chain.random.below(2 * most + 1) as i64 - most as i64;
        let below = match hop {
            0 => Reading::new(clock::BOOTTIME, boottime),
            _ => chain.clock(hop),
        };
        let error = match scene.truths.wanted() {
            true => chain.error(hop, awake, suspended),
            false => 0,
        };
        if let Some(link) = chain.links.get_mut(hop) {
            link.due = due;
            let readings = [below, Reading::new(link.id, link.crystal.ticks(apart))];
            scene.snapshot(seq::CRYSTALS, &readings, boottime, error)?;
            let (parent, paused) = match hop {
                0 => (awake, suspended),
                _ => (below.ticks, 0),
            };
            link.hop.take_apart(parent, paused - link.set, apart.abs());
        }
        Ok(())
    }
}

impl Chain {
    fn new(settings: &Settings, world: &World, number: u32) -> Self {
        // These random numbers are independent of the records' random numbers.
        let seed = settings.seed.wrapping_add(u64::from(number + 1) << 32);
        let mut random = Random::new(seed);
        let hops = settings.crystal_hops;
        let mut below = world.awake();
        let links = (0..hops).map(|hop| {
            let khz = match hop + 1 == hops {
                true => settings.crystal_khz,
                false => NANOSECONDS,
            };
            let origin = i64::from(hop + 2) * 1_000_000_000_000;
            let own = Random::new(random.below(u64::MAX));
            let is_faster = number.is_multiple_of(2);
            let beginning = Beginning { parent: below, origin };
            let crystal = Crystal::new(settings, own, beginning, khz, is_faster);
            below = origin;
            Link {
                id: clock::CRYSTALS + number * hops + hop,
                crystal,
                hop: Hop::default(),
                due: i64::MAX,
                is_second: false,
                set: 0,
            }
        });
        Chain { links: links.collect(), random }
    }

    /// Advances to this time awake.
    fn go_on(&mut self, awake: i64) {
        let mut below = awake;
        for link in &mut self.links {
            link.crystal.go_on(below);
            below = link.crystal.ticks(0);
        }
    }

    /// The reading of the clock that is this many hops from BOOTTIME, at least one.
    fn clock(&self, hops: usize) -> Reading {
        let link = hops.checked_sub(1).and_then(|hop| self.links.get(hop));
        link.map_or(Reading::new(0, 0), |link| Reading::new(link.id, link.crystal.ticks(0)))
    }

    /// The largest error of a current reading of that clock.
    fn error(&self, hops: usize, awake: i64, suspended: i64) -> i64 {
        let links = self.links.iter().enumerate().take(hops).rev();
        links.fold(0, |error, (hop, link)| {
            let (parent, paused) = match hop {
                0 => (awake, suspended),
                _ => (self.clock(hop).ticks, 0),
            };
            link.hop.error(&link.crystal, parent, paused - link.set, error)
        })
    }
}
