//! The common state of all kinds of records: the world, the file, and the receiver of the truth.

use std::io::{self, Write};

use crate::synth::clock_ids as clock;
use crate::synth::encode::{self, Reading};
use crate::synth::error::Error;
use crate::synth::output::Port;
use crate::synth::random::Random;
use crate::synth::truth::{Expected, Row, Truths};
use crate::synth::world::World;

/// The sequences of the writers. The SDK's come after [`seq::SDK`].
pub(crate) mod seq {
    pub const SERVICE: u32 = 1;
    pub const FTRACE: u32 = 2;
    pub const LOGS: u32 = 3;
    pub const CHAIN: u32 = 4;
    pub const COUNTER: u32 = 5;
    pub const LATE: u32 = 6;
    pub const CRYSTALS: u32 = 7;
    pub const SDK: u32 = 16;
}

/// The time between an event of the world (a suspend, a step) and records, in ns.
const PAUSE: u64 = 1000;

pub(crate) struct Scene<'a, W> {
    pub random: Random,
    pub world: World,
    pub out: Port<W>,
    pub truths: Truths<'a>,
    pub snapshots: u64,
    /// Whether a service on this machine takes snapshots. The guest of a relay has none.
    pub has_service: bool,
    /// The number of SDK sequences of other machines before its own.
    pub sequences_before: u32,
}

impl<W: Write> Scene<'_, W> {
    /// Writes a snapshot of the time `boottime`. Its first reading gives its time (rule N6), with
    /// an error of at most `error` ns.
    pub fn snapshot(
        &mut self,
        seq: u32,
        readings: &[Reading],
        boottime: i64,
        error: i64,
    ) -> io::Result<()> {
        // Only the service names the trace's clock.
        let primary = if seq == seq::SERVICE { clock::BOOTTIME } else { 0 };
        let id = self.out.packet(|out| {
            encode::number(out, 10, seq.into());
            encode::snapshot(out, readings, primary);
        })?;
        self.snapshots += 1;
        self.truths.tell(Row::Packet(id), boottime, Expected::Within(error))
    }

    /// The service takes a snapshot, a little later.
    fn service_snapshot(&mut self) -> Result<(), Error> {
        self.world.go_on(&mut self.random)?;
        self.service_snapshot_now()
    }

    pub fn service_snapshot_now(&mut self) -> Result<(), Error> {
        if self.has_service {
            let read = self.world.take_snapshot();
            // Each of them leads to BOOTTIME by this very snapshot.
            self.snapshot(seq::SERVICE, &read.readings(), self.world.now(), 0)?;
        }
        Ok(())
    }

    /// The machine sleeps. The service takes a snapshot when it wakes up.
    pub fn suspend(&mut self, ns: u64) -> Result<(), Error> {
        self.world.go_on_by(PAUSE)?;
        self.world.suspend(ns)?;
        self.service_snapshot()?;
        self.world.go_on_by(PAUSE)
    }

    /// REALTIME is set back. The service's snapshots before and after it show that (rule N5).
    pub fn set_realtime_back(&mut self, ns: i64) -> Result<(), Error> {
        self.service_snapshot()?;
        self.world.set_realtime_back(ns);
        // The pause is shorter than the smallest step, which would be invisible otherwise.
        self.world.go_on_by(PAUSE)?;
        self.service_snapshot_now()?;
        self.world.realtime_went_back = true;
        Ok(())
    }
}
