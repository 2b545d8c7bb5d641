//! The arguments of events; equal sets are stored once.
//!
//! # Design
//!
//! Kernel events repeat themselves: the 7.1 million scheduler events of a 7 s trace have 268
//! different sets of arguments. So a row has the number of a set, and the table `ftrace_args` has
//! the set's JSON. The bytes of a message identify its set, so a known set is neither decoded nor
//! written again.
//!
//! Known sets are remembered in bounded memory (`seen.rs`).
//!
//! The alternative was a column for every argument. It is smaller if no two events are alike, and
//! larger if they are. The JSON would also have to be made in SQL at each read.

use timebase_schema::tables::ftrace_args;

use crate::output::{Cell, Rows};
use crate::seen::Seen;

/// The limit of a generation in bytes.
const GENERATION: usize = 6 << 20;

/// The bytes before the message in the key of a set: the machine and the kind, which decide what
/// the message means, and the event's `common_flags`, which are stored with the arguments.
const KEY_HEAD: usize = 13;

/// The sets of arguments, and the current set.
#[derive(Debug)]
pub(super) struct Arguments {
    seen: Seen,
    key: Vec<u8>,
    flags: Option<u32>,
    json: String,
}

impl Default for Arguments {
    fn default() -> Self {
        Arguments { seen: Seen::new(GENERATION), key: Vec::new(), flags: None, json: String::new() }
    }
}

impl Arguments {
    /// Forgets all sets, because the schema of messages may have changed.
    pub fn forget(&mut self) {
        self.seen = Seen::new(GENERATION);
    }

    /// Begins the arguments of an event; the caller appends its message.
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

    /// The number of the current set. If the set is new, `write` writes its message as JSON; `None`
    /// if that fails.
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
        // Other sets of arguments have the even numbers.
        let id = rows.count(&ftrace_args::TABLE).saturating_mul(2) + 1;
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
