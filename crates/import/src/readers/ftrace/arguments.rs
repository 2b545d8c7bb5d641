//! The arguments of events, each different set of them stored once.
//!
//! # Design
//!
//! Kernel events repeat themselves: the 7.1 million scheduler events of a 7 s
//! trace have 268 different sets of arguments. So a row has the number of a set,
//! and the table `ftrace_args` has the set's JSON. Sets are recognized by the
//! message's bytes, so that one that was seen is neither decoded nor written
//! again.
//!
//! What was seen is remembered in two generations of a bounded size: where the
//! younger is full, the older is forgotten. A set that comes again after that
//! is stored again, which costs a row and changes no answer. So memory does not
//! grow with a trace whose arguments never repeat.
//!
//! The alternative, a column for every argument, is smaller where no two events
//! are alike and larger where they are; and the JSON would have to be made in
//! SQL whenever it is read.

use rustc_hash::FxHashMap;
use timebase_schema::tables::ftrace_args;

use crate::output::{Cell, Rows};

/// How many bytes a generation may take.
const GENERATION: usize = 6 << 20;

/// What an entry takes beside its key, about.
const ENTRY: usize = 48;

/// What precedes the message in the key of a set of arguments: its machine and
/// kind, which say what the message means, and `common_flags` of the event,
/// which are stored with them.
const KEY_HEAD: usize = 13;

/// The sets of arguments, with the one that is looked at now.
#[derive(Debug, Default)]
pub(super) struct Arguments {
    seen: Seen,
    key: Vec<u8>,
    flags: Option<u32>,
    json: String,
}

impl Arguments {
    /// Forgets what was seen: messages may look otherwise now.
    pub fn forget(&mut self) {
        self.seen = Seen::default();
    }

    /// Begins with the arguments of an event: its message is to be appended.
    #[inline]
    pub fn begin(&mut self, machine: u32, kind: u32, flags: Option<u32>) -> &mut Vec<u8> {
        self.flags = flags;
        let key = &mut self.key;
        key.clear();
        key.extend_from_slice(&machine.to_le_bytes());
        key.extend_from_slice(&kind.to_le_bytes());
        key.push(flags.is_some().into());
        key.extend_from_slice(&flags.unwrap_or(0).to_le_bytes());
        key
    }

    /// The number of the arguments; of new ones when `write` has written their
    /// message as JSON. `None` if it could not.
    #[inline]
    pub fn number(
        &mut self,
        rows: &mut Rows<'_>,
        write: impl FnOnce(&[u8], &mut String) -> Option<()>,
    ) -> Option<i64> {
        if let Some(id) = self.seen.get(&self.key) {
            return Some(id);
        }
        self.json.clear();
        write(self.key.get(KEY_HEAD..)?, &mut self.json)?;
        let id = rows.count(&ftrace_args::TABLE);
        self.seen.insert(&self.key, id);
        let args = rows.text(&self.json);
        rows.push(ftrace_args::Row {
            id: Cell::from(id),
            common_flags: Cell::or_null(self.flags),
            args,
        });
        Some(id)
    }
}

/// Which sets of arguments were seen.
#[derive(Debug, Default)]
struct Seen {
    young: FxHashMap<Box<[u8]>, i64>,
    old: FxHashMap<Box<[u8]>, i64>,
    /// How many bytes the young generation takes.
    bytes: usize,
}

impl Seen {
    /// The number of a set that was seen.
    fn get(&mut self, key: &[u8]) -> Option<i64> {
        if let Some(&id) = self.young.get(key) {
            return Some(id);
        }
        let (key, id) = self.old.remove_entry(key)?;
        self.remember(key, id);
        Some(id)
    }

    /// Remembers a set.
    fn insert(&mut self, key: &[u8], id: i64) {
        self.remember(key.into(), id);
    }

    fn remember(&mut self, key: Box<[u8]>, id: i64) {
        let size = key.len() + ENTRY;
        if self.bytes + size > GENERATION {
            self.old = std::mem::take(&mut self.young);
            self.bytes = 0;
        }
        if size <= GENERATION {
            self.bytes += size;
            self.young.insert(key, id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_stays_and_memory_is_bounded() {
        let mut seen = Seen::default();
        seen.insert(b"often", 0);
        for i in 0..1_000_000i64 {
            seen.insert(&i.to_le_bytes(), i + 1);
            if i % 1000 == 0 {
                assert_eq!(seen.get(b"often"), Some(0));
            }
        }
        let entries = seen.young.len() + seen.old.len();
        assert!(entries < 2 * GENERATION / ENTRY, "{entries} entries");
        assert_eq!(seen.get(&0i64.to_le_bytes()), None);
        seen.insert(&vec![0; 2 * GENERATION], 7);
        assert_eq!(seen.get(&vec![0; 2 * GENERATION]), None);
    }
}
