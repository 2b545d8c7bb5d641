//! The course of a trace: the next record, and the machine's events in between.

use std::cell::RefCell;
use std::io::Write;
use std::rc::Rc;

use crate::synth::chain::Chain;
use crate::synth::counter::Counter;
use crate::synth::crystals::Crystals;
use crate::synth::error::Error;
use crate::synth::ftrace::Ftrace;
use crate::synth::late::Late;
use crate::synth::logs::Logs;
use crate::synth::output::{Output, Port};
use crate::synth::random::Random;
use crate::synth::scene::Scene;
use crate::synth::sdk::Sdk;
use crate::synth::settings::{Settings, Size};
use crate::synth::truth::{Sink, Truths, Whose};
use crate::synth::world::World;

/// The contents of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Summary {
    /// Records, as [`Size::Records`] counts them.
    pub records: u64,
    /// Rows of `packet`: all packets except those that carry compressed ones.
    pub packets: u64,
    /// Kernel events.
    pub events: u64,
    /// Log lines.
    pub lines: u64,
    /// `clock_snapshot` packets.
    pub snapshots: u64,
    /// Pairs of clocks in bundles of kernel events (rule I1).
    pub pairs: u64,
    /// The size of the file.
    pub bytes: u64,
    /// The BOOTTIME at the beginning of the trace, in ns.
    pub begin_ns: i64,
    /// The BOOTTIME at its end.
    pub end_ns: i64,
}

/// Events that happen this many times, evenly over the trace.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Milestones {
    count: u64,
    /// 0 if the first is at the beginning of the trace, 1 if none is at its beginning or end.
    inset: u64,
    passed: u64,
}

impl Milestones {
    /// This many, the first of them at the beginning.
    pub fn from_the_beginning(count: u64) -> Self {
        Milestones { count, inset: 0, passed: 0 }
    }

    /// This many, none of them at the beginning or the end.
    fn within(count: u64) -> Self {
        Milestones { count, inset: 1, passed: 0 }
    }

    /// Whether the next one is due after `done` of `total`.
    #[inline]
    pub fn due(&self, done: u64, total: u64) -> bool {
        let at = u128::from(self.passed + self.inset) * u128::from(total);
        self.passed < self.count && u128::from(done) * u128::from(self.count + self.inset) >= at
    }

    /// The next one has happened.
    pub fn pass(&mut self) {
        self.passed += 1;
    }
}

/// The next event in a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    Record,
    /// The service takes a snapshot.
    Snapshot,
    Suspend,
    /// REALTIME is set back.
    Step,
    /// An event of the crystals.
    Turn,
    /// Waiting data is written.
    End,
}

pub(crate) struct Generator<'a, W> {
    settings: Settings,
    /// Its size, in the unit of [`Generator::done`].
    total: u64,
    snapshots: Milestones,
    suspends: Milestones,
    steps: Milestones,
    turns: Milestones,
    /// Whether a record came after the service's last snapshot.
    record_at_last: bool,
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
    /// A trace of one machine in a file of its own.
    pub fn alone(settings: &Settings, out: W, sink: Option<Sink<'a>>) -> Result<Self, Error> {
        settings.check()?;
        let mut random = Random::new(settings.seed);
        let world = World::new(settings, &mut random);
        let out = Output::new(out, settings.compression, settings.compression_batch)?;
        let scene = Scene {
            random,
            world,
            out: Port::new(out),
            truths: Truths {
                sink: sink.map(|sink| Rc::new(RefCell::new(sink))),
                whose: Whose::default(),
            },
            snapshots: 0,
            has_service: true,
            sequences_before: 0,
        };
        Ok(Generator::new(settings, scene))
    }

    /// The generator of a machine's trace, with valid settings.
    pub fn new(settings: &Settings, mut scene: Scene<'a, W>) -> Self {
        let (Size::Records(total) | Size::Bytes(total)) = settings.size;
        Generator {
            total,
            snapshots: Milestones::from_the_beginning(settings.service_snapshots),
            suspends: Milestones::within(settings.suspends.into()),
            steps: Milestones::within(u64::from(settings.realtime_step_ns > 0)),
            turns: Milestones::within(u64::from(settings.has_turn())),
            record_at_last: true,
            settings: settings.clone(),
            sdk: Sdk::new(settings),
            ftrace: Ftrace::new(settings, &mut scene),
            logs: Logs::new(settings),
            chain: Chain::new(settings, &mut scene),
            counter: Counter::new(settings, &mut scene),
            late: Late::new(settings, &mut scene),
            crystals: Crystals::new(settings, &scene.world),
            scene,
            records: 0,
        }
    }

    pub fn run(mut self) -> Result<Summary, Error> {
        loop {
            let next = self.next();
            self.wait(next)?;
            self.act(next)?;
            if next == Next::End {
                break;
            }
        }
        let scene = &self.scene;
        let written = scene.out.finish()?;
        Ok(Summary {
            records: self.records,
            packets: written.packets,
            events: written.events,
            lines: written.lines,
            snapshots: scene.snapshots,
            pairs: self.ftrace.pairs(),
            bytes: written.bytes,
            begin_ns: scene.world.begin(),
            end_ns: scene.world.now(),
        })
    }

    /// The next event.
    pub fn next(&self) -> Next {
        let (done, total) = (self.done(), self.total);
        // A size in bytes may be too small for all snapshots: then there are as many as records,
        // and no more when it is reached.
        let bounded = matches!(self.settings.size, Size::Bytes(_));
        if bounded && done >= total {
            Next::End
        } else if self.snapshots.due(done, total) && (self.record_at_last || !bounded) {
            Next::Snapshot
        } else if self.suspends.due(done, total) {
            Next::Suspend
        } else if self.steps.due(done, total) {
            Next::Step
        } else if self.turns.due(done, total) {
            Next::Turn
        } else if done < total {
            Next::Record
        } else {
            Next::End
        }
    }

    /// Advances to the time of the event.
    pub fn wait(&mut self, next: Next) -> Result<(), Error> {
        match next {
            Next::Snapshot | Next::Record => self.scene.world.go_on(&mut self.scene.random),
            Next::Suspend | Next::Step | Next::Turn | Next::End => Ok(()),
        }
    }

    /// Performs the event.
    pub fn act(&mut self, next: Next) -> Result<(), Error> {
        match next {
            Next::Snapshot => {
                self.snapshots.pass();
                self.record_at_last = false;
                self.scene.service_snapshot_now()
            }
            Next::Suspend => {
                self.suspends.pass();
                self.crystals.before_suspend(&mut self.scene)?;
                self.scene.suspend(self.settings.suspend_ns)?;
                self.crystals.after_suspend(&mut self.scene)
            }
            Next::Step => {
                self.steps.pass();
                let step = i64::try_from(self.settings.realtime_step_ns).unwrap_or(i64::MAX);
                self.scene.set_realtime_back(step)
            }
            Next::Turn => {
                self.turns.pass();
                self.crystals.turn(&self.settings, &mut self.scene)
            }
            Next::Record => {
                self.record_at_last = true;
                self.record()
            }
            Next::End => self.finish(),
        }
    }

    /// The finished part of the trace, and the whole.
    pub fn progress(&self) -> (u64, u64) {
        (self.done(), self.total)
    }

    /// Its machine, and its way into the file.
    pub fn scene(&self) -> &Scene<'a, W> {
        &self.scene
    }

    pub fn scene_mut(&mut self) -> &mut Scene<'a, W> {
        &mut self.scene
    }

    /// The number of records.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// The size of the trace so far.
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

    /// Writes waiting data.
    fn finish(&mut self) -> Result<(), Error> {
        let scene = &mut self.scene;
        self.logs.finish(scene)?;
        self.ftrace.finish(scene)?;
        self.late.finish(scene)
    }
}
