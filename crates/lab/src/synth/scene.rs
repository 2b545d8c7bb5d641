//! What all kinds of records share: the world, the file, and who wants the
//! truth.

use std::io::{self, Write};

use crate::synth::clock_ids as clock;
use crate::synth::encode::{self, Reading};
use crate::synth::error::Error;
use crate::synth::output::Port;
use crate::synth::random::Random;
use crate::synth::truth::{Expected, Row, Truths};
use crate::synth::world::World;

/// The sequences of those that write. The SDK's come after [`seq::SDK`].
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

/// Between an event of the world (a suspend, a step) and records, in ns.
const PAUSE: u64 = 1000;

pub(crate) struct Scene<'a, W> {
    pub random: Random,
    pub world: World,
    pub out: Port<W>,
    pub truths: Truths<'a>,
    pub snapshots: u64,
    /// Whether a service runs on this machine that takes snapshots. On the guest
    /// of a relay none does.
    pub has_service: bool,
    /// How many sequences of the SDK others have that come before its own.
    pub sequences_before: u32,
}

impl<W: Write> Scene<'_, W> {
    /// Writes a snapshot that was taken at `boottime`. It is placed by its first
    /// reading (rule N6), `error` ns off at most.
    pub fn snapshot(
        &mut self,
        seq: u32,
        readings: &[Reading],
        boottime: i64,
        error: i64,
    ) -> io::Result<()> {
        // Only the service says which clock is the trace's.
        let primary = if seq == seq::SERVICE {
            clock::BOOTTIME
        } else {
            0
        };
        let id = self.out.packet(|out| {
            encode::number(out, 10, seq.into());
            encode::snapshot(out, readings, primary);
        })?;
        self.snapshots += 1;
        self.truths
            .tell(Row::Packet(id), boottime, Expected::Within(error))
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

    /// REALTIME is set back. The service's snapshots before and after it show
    /// that (rule N5).
    pub fn set_realtime_back(&mut self, ns: i64) -> Result<(), Error> {
        self.service_snapshot()?;
        self.world.set_realtime_back(ns);
        // Less than the least step, which would go unseen otherwise.
        self.world.go_on_by(PAUSE)?;
        self.service_snapshot_now()?;
        self.world.realtime_went_back = true;
        Ok(())
    }
}
