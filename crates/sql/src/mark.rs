//! What statements that call keep for functions, and where it is found again.

use std::any::Any;
use std::ffi::c_int;
use std::sync::{Arc, Weak};

/// What a statement keeps something under.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key(pub(crate) c_int);

impl Key {
    /// The key for a table or a query: negative, as SQLite has it for auxiliary data
    /// that belongs to the statement and no argument, and hardly anybody else's.
    pub const fn of(name: &str) -> Key {
        let bytes = name.as_bytes();
        let (mut hash, mut at) = (0x811c_9dc5u32, 0);
        while at < bytes.len() {
            hash = (hash ^ bytes[at] as u32).wrapping_mul(0x0100_0193);
            at += 1;
        }
        Key((hash | 0x8000_0000) as c_int)
    }
}

/// What marks a statement, by its address, and may bear what goes with the statement.
#[derive(Debug)]
#[repr(C)]
pub struct Mark {
    /// rusqlite takes whatever a statement keeps for one of these, and its
    /// `Context::get_aux`, which is safe, may be called with our key: it shall find
    /// that this is not what its caller keeps.
    borne: Arc<dyn Any + Send + Sync>,
}

impl Mark {
    pub(crate) fn new() -> Arc<Mark> {
        struct Marked;
        Mark::bearing(Marked)
    }

    /// A mark with which something goes when the statement ends.
    pub(crate) fn bearing(borne: impl Any + Send + Sync) -> Arc<Mark> {
        Arc::new(Mark {
            borne: Arc::new(borne),
        })
    }

    /// What it bears, if it is of this type.
    pub(crate) fn borne<T: Any>(&self) -> Option<&T> {
        self.borne.downcast_ref()
    }
}

/// Where what SQLite has prepared is found again: marks of the statements that call.
#[derive(Default)]
pub struct Prepared(Vec<Weak<Mark>>);

impl Prepared {
    /// The mark at an address, if that is one that a statement has.
    #[inline]
    pub(crate) fn of(&self, address: *const Mark) -> Option<Arc<Mark>> {
        let mark = self.0.iter().find(|mark| mark.as_ptr() == address)?;
        mark.upgrade()
    }

    /// Finds the mark again, for as long as a statement has it.
    pub(crate) fn keep(&mut self, mark: Arc<Mark>) -> Arc<Mark> {
        self.0.retain(|mark| mark.strong_count() > 0);
        self.0.push(Arc::downgrade(&mark));
        mark
    }
}
