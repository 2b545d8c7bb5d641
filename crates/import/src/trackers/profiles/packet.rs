//! A packet of a profiler in the form that its readers get, and the interned data for its numbers.

use timebase_trace::{Interned, Interval};

use crate::definitions::{Names, ProfileWriter};
use crate::message::{Message, text};
use crate::output::{Fault, Faults, NOT_INTERNED};
use crate::timeline::{Name, ProfileEvent};
use crate::world::World;

/// A packet, at its time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Packet<'e> {
    pub ts: i64,
    pub event: &'e ProfileEvent<'e>,
    pub writer: ProfileWriter,
}

impl<'e> Packet<'e> {
    pub fn message(&self) -> Message<'e> {
        Message(self.event.payload)
    }

    /// The file and the machine, which counters need.
    pub fn of(&self) -> (u32, u32) {
        (self.writer.file, self.writer.machine)
    }

    /// The state of interned data at this packet (rule OP1).
    pub fn known(&self) -> KnownThen {
        KnownThen {
            packet: self.event.packet,
            machine: self.writer.machine,
            interval: self.event.interval,
            until: self.event.until,
        }
    }

    /// Returns a lookup of interned data, in the state of this packet (rule OP1).
    pub fn look_up<'w>(&self, world: &'w mut World) -> LookUp<'w> {
        self.known().look_up(world)
    }
}

/// The interned data that a packet may refer to.
#[derive(Debug, Clone, Copy)]
pub(super) struct KnownThen {
    pub packet: i64,
    pub machine: u32,
    pub interval: Interval,
    /// The number of entries that count.
    pub until: u64,
}

impl KnownThen {
    pub fn look_up(self, world: &mut World) -> LookUp<'_> {
        LookUp {
            interned: &world.interned,
            names: &mut world.definitions.names,
            faults: &mut world.faults,
            then: self,
        }
    }
}

/// Looks up numbers in interned data.
pub(super) struct LookUp<'w> {
    interned: &'w Interned,
    pub names: &'w mut Names,
    pub faults: &'w mut Faults,
    then: KnownThen,
}

impl<'w> LookUp<'w> {
    /// The entry for a number. Counts a number without an entry (rule CS1).
    pub fn entry(&mut self, field: u32, iid: u64) -> Option<Message<'w>> {
        let KnownThen { interval, until, packet, .. } = self.then;
        let entry = self.interned.get_until(interval, field, iid, until);
        if entry.is_none() {
            self.faults.add(NOT_INTERNED, packet);
        }
        entry.map(Message)
    }

    /// Counts a fault of the packet.
    pub fn fault(&mut self, fault: Fault) {
        self.faults.add(fault, self.then.packet);
    }
}

/// The number of a text.
pub(super) fn number(bytes: &[u8], names: &mut Names) -> Name {
    names.number(text(bytes).as_bytes())
}

/// The number of a text; `None` for an empty text.
pub(super) fn some_number(bytes: Option<&[u8]>, names: &mut Names) -> Option<Name> {
    let bytes = bytes.filter(|bytes| !bytes.is_empty());
    bytes.map(|bytes| number(bytes, names))
}
