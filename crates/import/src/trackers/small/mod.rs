//! Packets that are rows of small tables, in the order of time (rules RT5 to RT8, RT16).
//!
//! | rules | file |
//! |---|---|
//! | RT5 | `journal.rs` |
//! | RT6 | `sessions.rs` |
//! | RT7 | `flags.rs`, with the columns in `definitions/statements/table.rs` |
//! | RT8 | `told.rs` |
//! | RT16 | `processes.rs` |

mod flags;
mod journal;
mod processes;
mod sessions;
mod told;

use timebase_schema::fields::trace_packet as packet;

use self::processes::StartedProcesses;
use self::sessions::Sessions;
pub(super) use self::sessions::UNKNOWN_STATE;
use super::tracker::TrackerContext;
use crate::definitions::{BINDER_DIED, PROCESS_START};
use crate::output::Counter;
use crate::timeline::PacketEvent;

/// The counters that every machine of a file has, even if nothing was counted.
pub(super) fn counters() -> impl Iterator<Item = &'static Counter> {
    journal::COUNTERS.into_iter().chain([&flags::ERRORS])
}

/// Whether a packet goes to this tracker, and to no other.
pub(super) fn reads(field: u32) -> bool {
    matches!(
        field,
        packet::ANDROID_AFLAGS
            | packet::JOURNALD_EVENT
            | packet::CONCURRENT_SESSION_EVENT
            | PROCESS_START
            | BINDER_DIED
    )
}

/// Follows these packets.
#[derive(Debug, Default)]
pub(super) struct SmallTables {
    sessions: Sessions,
    processes: StartedProcesses,
}

impl SmallTables {
    /// Takes a packet.
    pub fn packet(&mut self, ts: i64, packet: &PacketEvent<'_>, at: &mut TrackerContext<'_, '_>) {
        match packet.field {
            packet::ANDROID_AFLAGS => flags::packet(ts, packet, at),
            packet::JOURNALD_EVENT => journal::packet(ts, packet, at),
            packet::CONCURRENT_SESSION_EVENT => self.sessions.packet(ts, packet, at),
            PROCESS_START | BINDER_DIED => self.processes.packet(ts, packet, at),
            _ => {}
        }
    }

    /// There are no more events of the part.
    pub fn end(&mut self, at: &mut TrackerContext<'_, '_>) {
        self.sessions.end(at);
        self.processes.end(at);
    }
}
