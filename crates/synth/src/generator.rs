//! The course of a trace: which record comes next, and what happens to the
//! machine in between.

use std::io::Write;

use crate::chain::Chain;
use crate::counter::Counter;
use crate::crystals::Crystals;
use crate::error::Error;
use crate::ftrace::Ftrace;
use crate::late::Late;
use crate::logs::Logs;
use crate::output::Output;
use crate::random::Random;
use crate::scene::Scene;
use crate::sdk::Sdk;
use crate::settings::{Settings, Size};
use crate::truth::{Sink, Truths};
use crate::world::World;

/// What a trace holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Summary {
    /// Records, as [`Size::Records`] counts them.
    pub records: u64,
    /// Rows that `packet` gets: all packets but those that hold compressed ones.
    pub packets: u64,
    /// Kernel events.
    pub events: u64,
    /// Log lines.
    pub lines: u64,
    /// `clock_snapshot` packets.
    pub snapshots: u64,
    /// Pairs of clocks in bundles of kernel events (rule I1).
    pub pairs: u64,
    /// How large the file is.
    pub bytes: u64,
    /// The BOOTTIME at which the trace begins, in ns.
    pub begin_ns: i64,
    /// The BOOTTIME at which it ends.
    pub end_ns: i64,
}

/// Things that happen so many times, evenly over the trace.
struct Milestones {
    count: u64,
    /// 0 if the first is at the beginning of the trace, 1 if none is at its
    /// beginning or end.
    inset: u64,
    passed: u64,
}

impl Milestones {
    /// Whether the next one is due after `done` of `total`.
    #[inline]
    fn due(&self, done: u64, total: u64) -> bool {
        let at = u128::from(self.passed + self.inset) * u128::from(total);
        self.passed < self.count && u128::from(done) * u128::from(self.count + self.inset) >= at
    }
}

pub(crate) struct Generator<'a, W> {
    settings: &'a Settings,
    scene: Scene<'a, W>,
    sdk: Sdk,
    ftrace: Ftrace,
    logs: Logs,
    chain: Chain,
    counter: Counter,
    late: Late,
    crystals: Crystals,
    records: u64,
}

impl<'a, W: Write> Generator<'a, W> {
    pub fn new(settings: &'a Settings, out: W, sink: Option<Sink<'a>>) -> Result<Self, Error> {
        settings.check()?;
        let mut random = Random::new(settings.seed);
        let world = World::new(settings, &mut random);
        let mut scene = Scene {
            random,
            world,
            out: Output::new(out, settings.compression, settings.compression_batch)?,
            truths: Truths { sink },
            snapshots: 0,
        };
        Ok(Generator {
            settings,
            sdk: Sdk::new(settings),
            ftrace: Ftrace::new(settings, &mut scene),
            logs: Logs::new(settings),
            chain: Chain::new(settings, &mut scene),
            counter: Counter::new(settings, &mut scene),
            late: Late::new(settings, &mut scene),
            crystals: Crystals::new(settings, &scene.world),
            scene,
            records: 0,
        })
    }

    pub fn run(mut self) -> Result<Summary, Error> {
        let settings = self.settings;
        let total = match settings.size {
            Size::Records(total) | Size::Bytes(total) => total,
        };
        let milestones = |count, inset| Milestones {
            count,
            inset,
            passed: 0,
        };
        let mut snapshots = milestones(settings.service_snapshots, 0);
        let mut suspends = milestones(settings.suspends.into(), 1);
        let mut steps = milestones(u64::from(settings.realtime_step_ns > 0), 1);
        // A size in bytes may be too small for all snapshots: there are as many
        // as records then, and no more when it is reached.
        let bounded = matches!(settings.size, Size::Bytes(_));
        let mut record_at_last = true;
        loop {
            let done = self.done();
            if bounded && done >= total {
                return self.finish();
            }
            if snapshots.due(done, total) && (record_at_last || !bounded) {
                snapshots.passed += 1;
                record_at_last = false;
                self.scene.service_snapshot()?;
            } else if suspends.due(done, total) {
                suspends.passed += 1;
                self.crystals.before_suspend(&mut self.scene)?;
                self.scene.suspend(settings.suspend_ns)?;
                self.crystals.after_suspend(&mut self.scene)?;
            } else if steps.due(done, total) {
                steps.passed += 1;
                let step = i64::try_from(settings.realtime_step_ns).unwrap_or(i64::MAX);
                self.scene.set_realtime_back(step)?;
            } else if done < total {
                record_at_last = true;
                self.record()?;
            } else {
                return self.finish();
            }
        }
    }

    /// How much of the trace's size there is.
    fn done(&self) -> u64 {
        match self.settings.size {
            Size::Records(_) => self.records,
            Size::Bytes(_) => {
                let late = self.late.waiting(&self.scene);
                let waiting = self.ftrace.waiting() + self.logs.waiting() + late;
                self.scene.out.size_with(waiting)
            }
        }
    }

    fn record(&mut self) -> Result<(), Error> {
        self.records += 1;
        self.scene.world.go_on(&mut self.scene.random)?;
        let weights = self.settings.mix.weights();
        let sum = weights.iter().map(|&weight| u64::from(weight)).sum();
        let mut drawn = self.scene.random.below(sum);
        let kind = weights.iter().position(|&weight| {
            let before = drawn;
            drawn = drawn.saturating_sub(weight.into());
            before < u64::from(weight)
        });
        let scene = &mut self.scene;
        match kind {
            Some(0) => self.sdk.record(scene),
            Some(1) => self.ftrace.record(scene),
            Some(2) => self.logs.record(scene),
            Some(3) => self.chain.record(scene),
            Some(4) => self.counter.record(scene),
            Some(5) => self.late.record(scene),
            _ => self.crystals.record(scene),
        }
    }

    fn finish(mut self) -> Result<Summary, Error> {
        let scene = &mut self.scene;
        self.logs.finish(scene)?;
        self.ftrace.finish(scene)?;
        self.late.finish(scene)?;
        Ok(Summary {
            records: self.records,
            packets: scene.out.packets(),
            events: self.ftrace.events(),
            lines: self.logs.lines(),
            snapshots: scene.snapshots,
            pairs: self.ftrace.pairs(),
            bytes: scene.out.finish()?,
            begin_ns: scene.world.begin(),
            end_ns: scene.world.now(),
        })
    }
}
