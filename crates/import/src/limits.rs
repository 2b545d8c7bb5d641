//! What an import may take: of the disk, and of memory.
//!
//! # Design
//!
//! Whatever an import writes is counted before it is written ([`Quota`]): pages of the database,
//! what is put aside and what is sorted. SQLite is told how many pages it may have, and what it
//! needs to sort an index is set aside first (`output/room.rs`).
//!
//! Memory is looked at from the outside: how much of it the process has, once for each megabyte
//! of the trace. Many tables grow with what a trace names once (sequences, clocks, interned
//! names, threads, tracks), each by some hundred bytes for what takes ten in the trace; no
//! recording comes near the limit, and a trace that was made to fill the memory gets there by
//! any of them. To count in each table what it takes was the alternative: dozens of sums that
//! have to be right for the bound to hold, and the one that is forgotten is the one that a bomb
//! is made for. An allocator that counts was another: it would be the business of every program
//! that uses this crate.
//!
//! To leave out what has no room and to go on was not chosen either: threads, tracks and clocks
//! hang together, and a database without some of them is one that lies.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use memory_stats::memory_stats;
use timebase_store::sort::Quota;

use crate::options::Options;

/// What an import may take.
#[derive(Debug, Clone)]
pub(crate) struct Limits {
    pub disk: Quota,
    pub memory: Memory,
}

impl Limits {
    pub fn new(options: &Options) -> Limits {
        Limits {
            disk: options
                .max_size
                .map_or_else(Quota::default, |size| Quota::of(size.0)),
            memory: Memory::new(options.max_memory.map(|size| size.0)),
        }
    }
}

/// How much memory an import may take, beyond what the process had when it began.
#[derive(Debug, Clone, Default)]
pub(crate) struct Memory(Option<Arc<Allowed>>);

#[derive(Debug)]
struct Allowed {
    most: u64,
    before: u64,
    is_exceeded: AtomicBool,
}

impl Memory {
    /// So many bytes; where the system does not tell how much a process has there is no limit.
    fn new(most: Option<u64>) -> Memory {
        let allowed = most.zip(used()).map(|(most, before)| Allowed {
            most,
            before,
            is_exceeded: AtomicBool::new(false),
        });
        Memory(allowed.map(Arc::new))
    }

    /// Whether the import has ended because of it.
    pub fn is_exceeded(&self) -> bool {
        let allowed = self.0.as_ref();
        allowed.is_some_and(|allowed| allowed.is_exceeded.load(Ordering::Relaxed))
    }

    /// Somebody who looks at it every now and then.
    pub fn watch(&self) -> Watch {
        Watch {
            memory: self.clone(),
            done: 0,
        }
    }

    #[cold]
    fn look(&self) -> io::Result<()> {
        if let Some(allowed) = &self.0
            && let Some(used) = used()
            && used.saturating_sub(allowed.before) > allowed.most
        {
            allowed.is_exceeded.store(true, Ordering::Relaxed);
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        Ok(())
    }
}

/// How much of the machine's memory the process has.
fn used() -> Option<u64> {
    memory_stats().map(|stats| stats.physical_mem as u64)
}

/// Looks at the memory each time so much was read.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    memory: Memory,
    done: usize,
}

/// After so many bytes of packets or events.
const EVERY: usize = 1 << 20;

/// What the shortest packet or event counts, as what it leaves in memory is not shorter.
const LEAST: usize = 64;

impl Watch {
    /// Something of so many bytes was read.
    ///
    /// # Errors
    ///
    /// If more memory is taken than may be.
    #[inline]
    pub fn after(&mut self, bytes: usize) -> io::Result<()> {
        self.done += bytes.max(LEAST);
        if self.done < EVERY {
            return Ok(());
        }
        self.done = 0;
        self.memory.look()
    }
}
