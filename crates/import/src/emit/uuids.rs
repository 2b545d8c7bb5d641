//! The uuids of written tracks.

use std::collections::HashSet;

/// The uuids of the things of one database: each number of a thing gives one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Uuids {
    /// No uuid up to this one is used.
    pub base: u64,
}

impl Uuids {
    /// The number of kinds of things.
    const KINDS: u64 = 4;

    fn of(self, kind: u64, id: i64) -> u64 {
        let place = id.cast_unsigned().wrapping_mul(Uuids::KINDS).wrapping_add(kind);
        self.base.wrapping_add(1).wrapping_add(place)
    }

    pub fn process(self, upid: i64) -> u64 {
        self.of(0, upid)
    }

    pub fn thread(self, utid: i64) -> u64 {
        self.of(1, utid)
    }

    pub fn track(self, id: i64) -> u64 {
        self.of(2, id)
    }

    /// The counter of a thread's CPU time.
    pub fn thread_time(self, utid: i64) -> u64 {
        self.of(3, utid)
    }

    /// Uuids that are far from all those that are used.
    pub fn apart(used: &HashSet<u64>) -> Uuids {
        /// No program counts its uuids from here.
        const FIRST: u64 = 0x7469_6d65_0000_0000;
        /// More than the things of a database.
        const ROOM: u64 = 1 << 48;
        let bases = (0..).map(|number: u64| FIRST.wrapping_add(number.wrapping_mul(ROOM)));
        let is_free = |base: &u64| used.iter().all(|uuid| uuid.wrapping_sub(*base) >= ROOM);
        // There are more bases than uuids.
        Uuids { base: bases.take(used.len() + 1).find(is_free).unwrap_or(FIRST) }
    }

    /// The first uuid after those of ids up to a greatest one.
    pub fn after(self, greatest: i64) -> u64 {
        self.of(0, greatest.saturating_add(1))
    }
}
