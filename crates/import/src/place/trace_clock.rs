//! The clock of trace time (rules T1, X25).

use timebase_resolver::{Clock, ClockId, MachineId};

use super::parts::{Part, shared};

/// The clock that everything is converted to, once it is known.
#[derive(Debug, Default)]
pub(crate) struct TraceClock {
    claim: Option<Claim>,
    /// Whether the conversion of a packet or event to it was attempted, so that the clock cannot
    /// change.
    pub is_converted: bool,
    /// Whether a snapshot was placed on it, so that its machine does not change the clock.
    pub is_placed: bool,
}

/// The reason for the clock.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Claim {
    /// The manifest names it, or there was no other clock when something had to be converted.
    Settled(Clock),
    /// A snapshot names it, or implies it.
    Snapshot {
        clock: Clock,
        /// The file's position in the order of processing.
        file: u32,
        is_host: bool,
    },
}

impl Claim {
    pub fn clock(&self) -> Clock {
        match *self {
            Claim::Settled(clock) | Claim::Snapshot { clock, .. } => clock,
        }
    }
}

impl TraceClock {
    /// The clock; `None` while nothing has claimed it and nothing was converted.
    #[inline]
    pub fn clock(&self) -> Option<Clock> {
        self.claim.as_ref().map(Claim::clock)
    }

    /// The clock, or the one for a first conversion now: BOOTTIME of the first machine.
    pub fn or_first(&self) -> Clock {
        let first = shared(MachineId::HOST, ClockId::BOOTTIME);
        self.clock().unwrap_or(first)
    }

    /// Its machine, or the first one.
    pub fn machine(&self) -> MachineId {
        self.or_first().machine
    }

    /// Whether the clock cannot change any more.
    #[inline]
    pub fn is_settled(&self) -> bool {
        self.is_converted && self.claim.is_some()
    }

    /// The claim of a part's snapshot: `primary` if the snapshot names one, else BOOTTIME if the
    /// snapshot `implies` it. `None` if the claim does not count.
    pub fn claimed(&self, part: &Part, primary: Option<Clock>, implies: bool) -> Option<Claim> {
        let implied = implies.then(|| part.shared(ClockId::BOOTTIME));
        let clock = primary.or(implied)?;
        let counts = match self.claim {
            None => true,
            _ if self.is_converted => false,
            Some(Claim::Settled(_)) => false,
            Some(Claim::Snapshot { file, .. }) if file != part.file.order => false,
            Some(Claim::Snapshot { clock, .. }) if clock.machine == part.machine => {
                primary.is_some() && !self.is_placed
            }
            Some(Claim::Snapshot { is_host, .. }) => part.is_host && !is_host,
        };
        counts.then_some(Claim::Snapshot { clock, file: part.file.order, is_host: part.is_host })
    }

    /// Takes the claimed clock.
    pub fn take(&mut self, claim: Claim) {
        self.claim = Some(claim);
        self.is_placed = false;
    }
}
