//! Clocks: identity, scope and names (rules C).

use std::fmt;

/// The number of a clock on the wire. 0 is no clock.
///
/// ```
/// use timebase_resolver::{ClockId, Scope};
/// assert_eq!(ClockId::BOOTTIME, ClockId(6));
/// assert_eq!(ClockId(64).scope(), Scope::Sequence);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClockId(pub u32);

/// The packet sequence of a sequence-scoped clock; 0 for all other clocks.
///
/// ```
/// use timebase_resolver::{Clock, ClockId, MachineId, SeqId};
/// let of = |sequence| Clock::new(MachineId::HOST, ClockId(64), SeqId(sequence));
/// assert_ne!(of(1), of(2));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SeqId(pub u32);

/// The machine of a clock, by its row in `machine`.
///
/// ```
/// use timebase_resolver::{Clock, MachineId};
/// let guest = Clock { machine: MachineId(1), ..Clock::BOOTTIME };
/// assert_eq!(guest.to_string(), "BOOTTIME of machine 1");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MachineId(pub u32);

impl MachineId {
    /// The first machine. If the trace names no other machine, this one recorded it.
    pub const HOST: MachineId = MachineId(0);
}

/// The part of a trace in which a clock's number means the same clock (rule C2).
///
/// ```
/// use timebase_resolver::ClockId;
/// assert_eq!([6, 64, 128].map(|id| ClockId(id).scope().name()), ["builtin", "sequence", "global"]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scope {
    /// 1–63: a clock that Perfetto knows.
    Builtin,
    /// 64–127: valid only on one packet sequence.
    Sequence,
    /// 128 and above: one clock for the whole trace.
    Global,
}

impl Scope {
    /// The scope's name in the table `clock`.
    pub fn name(self) -> &'static str {
        match self {
            Scope::Builtin => "builtin",
            Scope::Sequence => "sequence",
            Scope::Global => "global",
        }
    }
}

pub(crate) const BUILTIN: [(u32, &str); 9] = [
    (1, "REALTIME"),
    (2, "REALTIME_COARSE"),
    (3, "MONOTONIC"),
    (4, "MONOTONIC_COARSE"),
    (5, "MONOTONIC_RAW"),
    (6, "BOOTTIME"),
    (9, "TSC"),
    (10, "PERF"),
    (11, "TRACE_FILE"),
];

/// The name of a builtin clock.
///
/// ```
/// assert_eq!(timebase_resolver::builtin_name(6), Some("BOOTTIME"));
/// assert_eq!(timebase_resolver::builtin_name(64), None);
/// ```
pub fn builtin_name(id: u32) -> Option<&'static str> {
    BUILTIN.iter().find(|(n, _)| *n == id).map(|(_, name)| *name)
}

impl ClockId {
    /// Wall-clock time.
    pub const REALTIME: ClockId = ClockId(1);
    /// Wall-clock time at the last tick.
    pub const REALTIME_COARSE: ClockId = ClockId(2);
    /// Time since boot, without suspend.
    pub const MONOTONIC: ClockId = ClockId(3);
    /// MONOTONIC at the last tick.
    pub const MONOTONIC_COARSE: ClockId = ClockId(4);
    /// MONOTONIC without adjustments of its rate.
    pub const MONOTONIC_RAW: ClockId = ClockId(5);
    /// Time since boot, suspend included.
    pub const BOOTTIME: ClockId = ClockId(6);
    /// A counter of the processor.
    pub const TSC: ClockId = ClockId(9);
    /// The private clock of a file that a manifest pins (rule X37).
    pub const TRACE_FILE: ClockId = ClockId(11);

    /// The global clock with a fully qualified name (rule C3).
    /// [`WrittenClock`](crate::WrittenClock) reads the names that people write, including builtin
    /// names.
    ///
    /// ```
    /// use timebase_resolver::ClockId;
    /// assert_eq!(ClockId::of_global_name("com.example.my_subsystem").get(), 4_144_414_090);
    /// ```
    pub fn of_global_name(name: &str) -> ClockId {
        let hash = name
            .bytes()
            .fold(0x811c_9dc5u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        ClockId(hash | 0x8000_0000)
    }

    /// Whether it only shows its last tick, which may be some milliseconds ago.
    pub(crate) fn is_coarse(self) -> bool {
        matches!(self.0, 2 | 4)
    }

    /// The number.
    pub fn get(self) -> u32 {
        self.0
    }

    /// The scope of the clock (rule C2).
    pub fn scope(self) -> Scope {
        match self.0 {
            0..64 => Scope::Builtin,
            64..128 => Scope::Sequence,
            _ => Scope::Global,
        }
    }
}

/// The owner of a clock: a file, or the machine for all of its files (rule X14).
///
/// ```
/// use timebase_resolver::{Clock, FileTag};
/// let own = FileTag { order: 1, id: 2 };
/// assert!(FileTag::SHARED < own);
/// assert_eq!(Clock { file: own, ..Clock::BOOTTIME }.to_string(), "BOOTTIME in file 2");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileTag {
    /// The file's position in the order of processing (rule X4), from 1; 0 for the clocks of the
    /// machine.
    pub order: u32,
    /// Its `trace_file.id`. It is 0 for the only file of an import, which needs no name.
    pub id: u32,
}

impl FileTag {
    /// Owned by the machine instead of a file.
    pub const SHARED: FileTag = FileTag { order: 0, id: 0 };
    /// The only file of an import.
    pub const ONLY: FileTag = FileTag { order: 1, id: 0 };
}

/// The clocks of a part that belong to its file, apart from sequence-scoped ones, which always do (rule X14).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OwnClocks {
    /// All of them, because the part is isolated.
    pub all: bool,
    /// `TRACE_FILE`, because it pins the file (rule X37).
    pub pin: bool,
}

/// A clock: one clock domain (rules C1, X14).
///
/// Clocks are ordered by clock id, sequence, file and machine (rules V3 and X14).
///
/// ```
/// use timebase_resolver::{Clock, ClockId, MachineId, SeqId};
/// // Rule C2: a builtin clock is the same on every sequence,
/// assert_eq!(Clock::new(MachineId::HOST, ClockId(3), SeqId(7)), Clock::host(3));
/// // a sequence-scoped one is not.
/// let scoped = Clock::new(MachineId::HOST, ClockId(64), SeqId(3));
/// assert_eq!(scoped.to_string(), "64@3");
/// assert_eq!(Clock::host(6).to_string(), "BOOTTIME");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Clock {
    /// Its number.
    pub id: ClockId,
    /// Its sequence, 0 unless it is sequence-scoped.
    pub seq: SeqId,
    /// The file that owns it. A sequence-scoped clock always belongs to a file.
    pub file: FileTag,
    /// Its machine.
    pub machine: MachineId,
}

impl Clock {
    /// BOOTTIME of the host, the target of `to_boottime`.
    pub const BOOTTIME: Clock = Clock {
        id: ClockId::BOOTTIME,
        seq: SeqId(0),
        file: FileTag::SHARED,
        machine: MachineId::HOST,
    };

    /// The clock that `id` means on a packet of this machine and sequence, in a trace of one file.
    #[inline]
    pub fn new(machine: MachineId, id: ClockId, seq: SeqId) -> Clock {
        Clock::in_file(machine, id, seq, FileTag::ONLY, OwnClocks::default())
    }

    /// The clock that `id` means on a packet of this machine, sequence and file, whose part owns these clocks
    /// (rule X14).
    ///
    /// ```
    /// use timebase_resolver::{Clock, ClockId, FileTag, MachineId, OwnClocks, SeqId};
    /// let (file, host) = (FileTag { order: 2, id: 1 }, MachineId::HOST);
    /// let shared = OwnClocks::default();
    /// let scoped = Clock::in_file(host, ClockId(64), SeqId(3), file, shared);
    /// assert_eq!(scoped.to_string(), "64@3 in file 1");
    /// let boottime = Clock::in_file(host, ClockId(6), SeqId(3), file, shared);
    /// assert_eq!(boottime, Clock::BOOTTIME);
    /// let pinned = OwnClocks { pin: true, ..shared };
    /// let pin = Clock::in_file(host, ClockId::TRACE_FILE, SeqId(3), file, pinned);
    /// assert_eq!(pin.file, file);
    /// ```
    #[inline]
    pub fn in_file(
        machine: MachineId,
        id: ClockId,
        seq: SeqId,
        file: FileTag,
        own: OwnClocks,
    ) -> Clock {
        let is_own = own.all || own.pin && id == ClockId::TRACE_FILE;
        let (seq, file) = match id.scope() {
            Scope::Sequence => (seq, file),
            Scope::Builtin | Scope::Global if is_own => (SeqId(0), file),
            Scope::Builtin | Scope::Global => (SeqId(0), FileTag::SHARED),
        };
        Clock { id, seq, file, machine }
    }

    /// A builtin or global clock of the host.
    pub fn host(id: u32) -> Clock {
        Clock::new(MachineId::HOST, ClockId(id), SeqId(0))
    }

    /// Whether it is a sequence-scoped clock without a sequence (rule C5).
    pub fn lacks_sequence(self) -> bool {
        self.id.scope() == Scope::Sequence && self.seq == SeqId(0)
    }
}

impl fmt::Display for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match builtin_name(self.id.0) {
            Some(name) => f.write_str(name)?,
            None => write!(f, "{}", self.id.0)?,
        }
        if self.id.scope() == Scope::Sequence {
            write!(f, "@{}", self.seq.0)?;
        }
        if self.machine != MachineId::HOST {
            write!(f, " of machine {}", self.machine.0)?;
        }
        if self.file.id != 0 {
            write!(f, " in file {}", self.file.id)?;
        }
        Ok(())
    }
}
