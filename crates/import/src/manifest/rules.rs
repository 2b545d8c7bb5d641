//! The rules for the packets of a member (rules X33, X34, X37).

use std::collections::HashMap;

use crate::manifest::json::{Place, Refused};
use crate::manifest::types::Clock;

/// The raw id of the first machine that a manifest names (rule X11); packets have ids below it.
const FIRST_NAMED: i64 = 1 << 32;

/// A machine, which a manifest or a packet's machine_id identifies.
///
/// ```
/// use timebase_import::manifest::MachineRef;
/// assert_eq!(MachineRef::Named(1).raw_id(), 4_294_967_297);
/// assert_eq!(MachineRef::Raw(42).raw_id(), 42);
/// assert_eq!(MachineRef::HOST.raw_id(), 0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MachineRef {
    /// The machine with this raw id, in any file (rule X10).
    Raw(u32),
    /// A machine that the manifest names: its index in
    /// [`Resolved::names`](crate::manifest::Resolved::names).
    Named(usize),
}

impl MachineRef {
    /// The machine of raw id 0.
    pub const HOST: MachineRef = MachineRef::Raw(0);

    /// `machine.raw_id`: no two machines have the same number (rule X11).
    pub fn raw_id(self) -> i64 {
        match self {
            MachineRef::Raw(id) => i64::from(id),
            MachineRef::Named(index) => {
                let index = i64::try_from(index).unwrap_or(i64::MAX);
                FIRST_NAMED.saturating_add(index)
            }
        }
    }
}

/// The manifest's statements about the packets of one member. The default is for a member without
/// an entry.
#[derive(Debug, Clone, Default)]
pub struct MemberRules {
    /// The place of the entry.
    pub(crate) place: Place,
    pub(crate) path: String,
    pub(crate) machines: Mapping,
    pub(crate) pinned: Option<MachineRef>,
    /// The clock of packets that name none (rule FP2).
    pub(crate) default_clock: Option<Clock>,
}

/// The machine for each machine_id, as an index in the list of names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Mapping {
    /// The packets decide (rule X10).
    #[default]
    ByRaw,
    /// All packets are from one machine (rule X33).
    One(usize),
    /// Each machine is listed (rule X34). The host has no name, or this one.
    Listed { host: Option<usize>, others: HashMap<u32, usize> },
}

impl MemberRules {
    /// The machine of a packet; a packet without a machine_id has 0.
    ///
    /// ```
    /// use timebase_import::manifest::{MachineRef, MemberRules};
    /// assert_eq!(MemberRules::default().machine(42)?, MachineRef::Raw(42));
    /// # Ok::<(), timebase_import::manifest::Refused>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Refused`] for an id in a file of one machine (rule X33) or in a pinned file (X37), and for
    /// an id that is not listed (X34).
    pub fn machine(&self, raw_id: u32) -> Result<MachineRef, Refused> {
        let path = &self.path;
        if let (Mapping::One(_), 1..) = (&self.machines, raw_id) {
            return Err(self.one_machine(format_args!("one has machine_id {raw_id}")));
        }
        if let (Some(_), 1..) = (self.pinned, raw_id) {
            return Err(self.no_clocks(format_args!("a packet has machine_id {raw_id}")));
        }
        match &self.machines {
            Mapping::ByRaw => Ok(MachineRef::Raw(raw_id)),
            Mapping::One(name) => Ok(MachineRef::Named(*name)),
            Mapping::Listed { host, .. } if raw_id == 0 => {
                Ok(host.map_or(MachineRef::HOST, MachineRef::Named))
            }
            Mapping::Listed { others, .. } => match others.get(&raw_id) {
                Some(name) => Ok(MachineRef::Named(*name)),
                None => Err(self.place.field("machines").refused(format_args!(
                    "does not list machine_id {raw_id}, which a packet of '{path}' has; add \
                     {{\"id\": {raw_id}, \"name\": \"…\"}}"
                ))),
            },
        }
    }

    /// Checks that the member may have a `ClockSnapshot`.
    ///
    /// # Errors
    ///
    /// [`Refused`] in a pinned file (rule X37).
    pub fn clock_snapshot(&self) -> Result<(), Refused> {
        match self.pinned {
            Some(_) => Err(self.no_clocks("it has a ClockSnapshot")),
            None => Ok(()),
        }
    }

    /// Checks that the member may have a RemoteClockSync, which is about two machines.
    ///
    /// # Errors
    ///
    /// [`Refused`] in a file of one machine (rule X33), and in a pinned file (X37).
    pub fn remote_clock_sync(&self) -> Result<(), Refused> {
        match (&self.machines, self.pinned) {
            (Mapping::One(_), _) => Err(self.one_machine("it has a RemoteClockSync of two")),
            (_, Some(_)) => Err(self.no_clocks("it has a RemoteClockSync")),
            _ => Ok(()),
        }
    }

    /// The machine of a pinned file's private clock, which is the file's default clock from the
    /// start (rule X37).
    pub fn pinned(&self) -> Option<MachineRef> {
        self.pinned
    }

    fn one_machine(&self, but: impl std::fmt::Display) -> Refused {
        self.place.field("machine").refused(format_args!(
            "says that all packets of '{}' are of one machine, but {but}; name its machines by their ids, \
             in machines",
            self.path
        ))
    }

    fn no_clocks(&self, but: impl std::fmt::Display) -> Refused {
        let clocks = self.place.field("clocks");
        clocks.refused(format_args!(
            "pins '{}' as a file with only a private clock, but {but}; name the clock to relate, as {}",
            self.path,
            clocks.field("clock")
        ))
    }
}
