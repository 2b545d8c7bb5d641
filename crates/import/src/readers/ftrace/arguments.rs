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
//! What was seen is remembered in bounded memory (`seen.rs`).
//!
//! The alternative, a column for every argument, is smaller where no two events
//! are alike and larger where they are; and the JSON would have to be made in
//! SQL whenever it is read.

use timebase_schema::tables::ftrace_args;

use crate::output::{Cell, Rows};
use crate::seen::Seen;

/// How many bytes a generation may take.
const GENERATION: usize = 6 << 20;

/// What precedes the message in the key of a set of arguments: its machine and
/// kind, which say what the message means, and `common_flags` of the event,
/// which are stored with them.
const KEY_HEAD: usize = 13;

/// The sets of arguments, with the one that is looked at now.
#[derive(Debug)]
pub(super) struct Arguments {
    seen: Seen,
    key: Vec<u8>,
    flags: Option<u32>,
    json: String,
}

impl Default for Arguments {
    fn default() -> Self {
        Arguments {
            seen: Seen::new(GENERATION),
            key: Vec::new(),
            flags: None,
            json: String::new(),
        }
    }
}

impl Arguments {
    /// Forgets what was seen: messages may look otherwise now.
    pub fn forget(&mut self) {
        self.seen = Seen::new(GENERATION);
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
        // Sets of other arguments have the even numbers.
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
