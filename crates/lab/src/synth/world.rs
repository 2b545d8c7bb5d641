//! The true time, and a machine's clocks that depend on it.
//!
//! The true time is the host's BOOTTIME. A guest's BOOTTIME has its own crystal; its REALTIME,
//! which somebody keeps right, follows the true time.

use crate::synth::clock::Drifting;
use crate::synth::clock_ids as clock;
use crate::synth::crystal::Crystal;
use crate::synth::encode::Reading;
use crate::synth::error::Error;
use crate::synth::hop::Hop;
use crate::synth::random::Random;
use crate::synth::settings::Settings;

const SECOND: i64 = 1_000_000_000;

/// The true BOOTTIME at which every trace begins.
pub(crate) const BEGIN: i64 = 1000 * SECOND;
/// Machines that ask each other for the time have done so for this long before.
pub(crate) const EARLY: i64 = BEGIN - 300 * SECOND;
/// The time that the machine had been suspended until then.
const SUSPENDED_BEFORE: i64 = 300 * SECOND;
/// The reading of REALTIME then: 14 November 2023.
const REALTIME: i64 = 1_700_000_000 * SECOND;
/// The coarse clocks advance once in this many ns, as with 250 Hz.
const JIFFY: i64 = 4_000_000;
/// 36 years: beyond, readings might not fit.
const END: i64 = 1 << 60;

/// The readings of the builtin clocks at one instant, in ns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Builtin {
    pub realtime: i64,
    pub realtime_coarse: i64,
    pub monotonic: i64,
    pub monotonic_coarse: i64,
    pub monotonic_raw: i64,
    pub boottime: i64,
}

impl Builtin {
    /// In the form of snapshots.
    pub fn readings(&self) -> [Reading; 6] {
        [
            Reading::new(clock::REALTIME, self.realtime),
            Reading::new(clock::REALTIME_COARSE, self.realtime_coarse),
            Reading::new(clock::MONOTONIC, self.monotonic),
            Reading::new(clock::MONOTONIC_COARSE, self.monotonic_coarse),
            Reading::new(clock::MONOTONIC_RAW, self.monotonic_raw),
            Reading::new(clock::BOOTTIME, self.boottime),
        ]
    }
}

#[derive(Debug, Clone)]
pub(crate) struct World {
    /// The true time, in ns.
    now: i64,
    /// A guest's BOOTTIME, over the true time.
    guest: Option<Crystal>,
    /// The current reading of BOOTTIME, in ns.
    boottime: i64,
    /// The time that the machine was suspended since the trace began.
    suspended: i64,
    /// The ns by which REALTIME was set back.
    set_back: i64,
    /// Whether snapshots show that REALTIME went backwards (rule N5).
    pub realtime_went_back: bool,
    mean_gap: u64,
    monotonic: Drifting,
    monotonic_raw: Drifting,
    realtime: Drifting,
    hops: ServiceHops,
}

/// The hops to BOOTTIME from the service's snapshots.
#[derive(Debug, Clone, Default)]
struct ServiceHops {
    monotonic: Hop,
    monotonic_raw: Hop,
    realtime: Hop,
}

impl World {
    /// The host when its trace begins.
    pub fn new(settings: &Settings, random: &mut Random) -> Self {
        let awake = BEGIN - SUSPENDED_BEFORE;
        let mut clock =
            |parent, origin| Drifting::new(random, settings.drift_ppm, parent, origin, 1);
        World {
            now: BEGIN,
            guest: None,
            boottime: BEGIN,
            suspended: 0,
            set_back: 0,
            realtime_went_back: false,
            mean_gap: settings.gap_ns,
            monotonic: clock(awake, awake),
            monotonic_raw: clock(awake, awake - 7_654_321),
            realtime: clock(BEGIN, REALTIME),
            hops: ServiceHops::default(),
        }
    }

    /// The same machine [`EARLY`], as a guest whose BOOTTIME is this crystal's, and whose REALTIME
    /// has this error. Without a crystal it is the host.
    pub fn early(mut self, crystal: Option<Crystal>, realtime_off: i64) -> Self {
        self.guest = crystal;
        self.set_back = -realtime_off;
        self.go_to(EARLY);
        self
    }

    /// The true time, in ns.
    #[inline]
    pub fn now(&self) -> i64 {
        self.now
    }

    /// The current reading of BOOTTIME: on the host, the true time.
    #[inline]
    pub fn boottime(&self) -> i64 {
        self.boottime
    }

    /// The true BOOTTIME at which the trace begins.
    pub fn begin(&self) -> i64 {
        BEGIN
    }

    /// Advances by a random gap of at least 2 ns, so that a clock that is a tenth slower still has
    /// another reading.
    #[inline]
    pub fn go_on(&mut self, random: &mut Random) -> Result<(), Error> {
        let gap = 2 + random.below(2 * self.mean_gap - 3);
        self.go_on_by(gap)
    }

    /// Advances by `ns`.
    #[inline]
    pub fn go_on_by(&mut self, ns: u64) -> Result<(), Error> {
        let now = self.now.saturating_add_unsigned(ns);
        if now >= END {
            return Err(Error::TooLong);
        }
        self.go_to(now);
        Ok(())
    }

    /// Advances to a true time; a guest does not go back.
    #[inline]
    pub fn go_to(&mut self, now: i64) {
        self.now = now;
        self.boottime = match &mut self.guest {
            None => now,
            Some(crystal) => {
                crystal.go_on(now);
                crystal.ticks(0)
            }
        };
    }

    /// Advances by `ns` while all clocks except BOOTTIME and REALTIME stand still.
    pub fn suspend(&mut self, ns: u64) -> Result<(), Error> {
        let before = self.now;
        self.go_on_by(ns)?;
        self.suspended += self.now - before;
        Ok(())
    }

    /// Sets REALTIME back by `ns`.
    pub fn set_realtime_back(&mut self, ns: i64) {
        self.set_back += ns;
    }

    /// The time that the machine was suspended since the trace began.
    pub fn suspended(&self) -> i64 {
        self.suspended
    }

    /// BOOTTIME without suspends. MONOTONIC drifts over it.
    #[inline]
    pub fn awake(&self) -> i64 {
        self.boottime - SUSPENDED_BEFORE - self.suspended
    }

    #[inline]
    pub fn monotonic(&self) -> i64 {
        self.monotonic.ticks(self.awake())
    }

    #[inline]
    pub fn monotonic_raw(&self) -> i64 {
        self.monotonic_raw.ticks(self.awake())
    }

    #[inline]
    pub fn realtime(&self) -> i64 {
        self.realtime.ticks(self.now) - self.set_back
    }

    /// The contents of a snapshot that the service takes now.
    pub fn take_snapshot(&mut self) -> Builtin {
        let (awake, suspended) = (self.awake(), self.suspended);
        self.hops.monotonic.take(awake, suspended);
        self.hops.monotonic_raw.take(awake, suspended);
        self.hops.realtime.take(self.now, 0);
        self.read()
    }

    /// The current readings of all clocks.
    pub fn read(&self) -> Builtin {
        let (realtime, monotonic) = (self.realtime(), self.monotonic());
        let coarse = |value: i64| value - value % JIFFY;
        Builtin {
            realtime,
            realtime_coarse: coarse(realtime),
            monotonic,
            monotonic_coarse: coarse(monotonic),
            monotonic_raw: self.monotonic_raw(),
            boottime: self.boottime,
        }
    }

    /// The largest error of a current reading of MONOTONIC that is already wrong by `before` ns.
    pub fn monotonic_error(&self, before: i64) -> i64 {
        let hop = &self.hops.monotonic;
        hop.error(&self.monotonic, self.awake(), self.suspended, before)
    }

    /// The largest error of a current reading of MONOTONIC_RAW.
    pub fn monotonic_raw_error(&self) -> i64 {
        let hop = &self.hops.monotonic_raw;
        hop.error(&self.monotonic_raw, self.awake(), self.suspended, 0)
    }

    /// The largest error of a current reading of REALTIME.
    pub fn realtime_error(&self) -> i64 {
        self.hops.realtime.error(&self.realtime, self.now, 0, 0)
    }
}
