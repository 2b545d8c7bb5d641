//! A packet of a profiler as its readers get it, and what interned data its numbers stand for.

use timebase_trace::Interned;

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

    /// The file and the machine, for counters.
    pub fn of(&self) -> (u32, u32) {
        (self.writer.file, self.writer.machine)
    }

    /// Looks numbers of interned data up, as of this packet (rule OP1).
    pub fn look_up<'w>(&self, world: &'w mut World) -> LookUp<'w> {
        LookUp {
            interned: &world.interned,
            names: &mut world.definitions.names,
            faults: &mut world.faults,
            event: ProfileEvent {
                payload: &[],
                ..*self.event
            },
        }
    }
}

/// Looks numbers of interned data up.
pub(super) struct LookUp<'w> {
    interned: &'w Interned,
    pub names: &'w mut Names,
    pub faults: &'w mut Faults,
    event: ProfileEvent<'static>,
}

impl<'w> LookUp<'w> {
    /// The entry of a number. One that is not there is counted (rule CS1).
    pub fn entry(&mut self, field: u32, iid: u64) -> Option<Message<'w>> {
        let ProfileEvent {
            interval,
            until,
            packet,
            ..
        } = self.event;
        let entry = self.interned.get_until(interval, field, iid, until);
        if entry.is_none() {
            self.faults.add(NOT_INTERNED, packet);
        }
        entry.map(Message)
    }

    /// Counts a fault of the packet.
    pub fn fault(&mut self, fault: Fault) {
        self.faults.add(fault, self.event.packet);
    }
}

/// The number of a text.
pub(super) fn number(bytes: &[u8], names: &mut Names) -> Name {
    names.number(text(bytes).as_bytes())
}

/// The number of a text that is not empty.
pub(super) fn some_number(bytes: Option<&[u8]>, names: &mut Names) -> Option<Name> {
    let bytes = bytes.filter(|bytes| !bytes.is_empty());
    bytes.map(|bytes| number(bytes, names))
}
