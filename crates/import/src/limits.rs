//! The limits of an import on disk and memory.
//!
//! # Design
//!
//! All bytes are counted before they are written ([`Quota`]): pages of the database, temporary
//! files, and records for sorting. SQLite gets a limit on its pages, and the room for sorting an
//! index is reserved first (`output/room.rs`).
//!
//! Memory is measured from the outside: the memory of the process, once for each megabyte of the
//! trace. Many tables grow with the things that a trace names once (sequences, clocks, interned
//! names, threads, tracks). Each thing takes some hundred bytes in memory, and ten in the trace. No
//! recording comes near the limit, but a trace that was made to fill the memory can do it with any
//! of these tables. The alternative was to count the memory of each table. Dozens of sums would
//! then have to be right, and a bomb would use the one that was forgotten. Another alternative was
//! an allocator that counts, but then every program that uses this crate would have to install it.
//!
//! It was also not chosen to leave out things without room and to continue. Threads, tracks and
//! clocks refer to each other, and a database without some of them would be wrong.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use memory_stats::memory_stats;
use timebase_store::sort::Quota;

use crate::options::Options;

/// The limits of an import.
#[derive(Debug, Clone)]
pub(crate) struct Limits {
    pub disk: Quota,
    pub memory: Memory,
}

impl Limits {
    pub fn new(options: &Options) -> Limits {
        Limits {
            disk: options.max_size.map_or_else(Quota::default, |size| Quota::of(size.0)),
            memory: Memory::new(options.max_memory.map(|size| size.0)),
        }
    }
}

/// The memory that an import may take in addition to the memory that the process had at its start.
#[derive(Debug, Clone, Default)]
pub(crate) struct Memory(Option<Arc<Allowed>>);

#[derive(Debug)]
struct Allowed {
    most: u64,
    before: u64,
    is_exceeded: AtomicBool,
}

impl Memory {
    /// A limit in bytes. There is no limit if the system does not tell how much memory a process
    /// has.
    fn new(most: Option<u64>) -> Memory {
        let allowed = most.zip(used()).map(|(most, before)| Allowed {
            most,
            before,
            is_exceeded: AtomicBool::new(false),
        });
        Memory(allowed.map(Arc::new))
    }

    /// Whether the import ended because of this limit.
    pub fn is_exceeded(&self) -> bool {
        let allowed = self.0.as_ref();
        allowed.is_some_and(|allowed| allowed.is_exceeded.load(Ordering::Relaxed))
    }

    /// A watch that checks the memory now and then.
    pub fn watch(&self) -> Watch {
        Watch { memory: self.clone(), done: 0 }
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

/// The machine's memory that the process has.
fn used() -> Option<u64> {
    memory_stats().map(|stats| stats.physical_mem as u64)
}

/// Checks the memory whenever a certain number of bytes was read.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    memory: Memory,
    done: usize,
}

/// The number of bytes of packets or events between two checks.
const EVERY: usize = 1 << 20;

/// The least number of bytes that a packet or an event counts, because it takes no less in memory.
const LEAST: usize = 64;

impl Watch {
    /// Counts something that was read, with its size in bytes.
    ///
    /// # Errors
    ///
    /// If the import takes more memory than allowed.
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
