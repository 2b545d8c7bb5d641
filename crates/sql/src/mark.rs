//! The data that calling statements keep for functions, and how to find it again.

use std::any::Any;
use std::ffi::c_int;
use std::sync::{Arc, Weak};

/// The key for a statement's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key(pub(crate) c_int);

impl Key {
    /// The key for a table or a query. It is negative, as SQLite requires for auxiliary data that
    /// belongs to the statement instead of an argument, and hardly any other function uses it.
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

/// Its address marks a statement, and it may hold data that ends with the statement.
#[derive(Debug)]
#[repr(C)]
pub struct Mark {
    /// rusqlite takes all auxiliary data for one of these, and its `Context::get_aux`, which is
    /// safe, may be called with our key: then it must find that this data is not its caller's.
    borne: Arc<dyn Any + Send + Sync>,
}

impl Mark {
    pub(crate) fn new() -> Arc<Mark> {
        struct Marked;
        Mark::bearing(Marked)
    }

    /// A mark that holds data until the statement ends.
    pub(crate) fn bearing(borne: impl Any + Send + Sync) -> Arc<Mark> {
        Arc::new(Mark { borne: Arc::new(borne) })
    }

    /// Its data, if it has this type.
    pub(crate) fn borne<T: Any>(&self) -> Option<&T> {
        self.borne.downcast_ref()
    }
}

/// Marks of calling statements, to find prepared queries again.
#[derive(Default)]
pub struct Prepared(Vec<Weak<Mark>>);

impl Prepared {
    /// The mark at an address, if a statement has it.
    #[inline]
    pub(crate) fn of(&self, address: *const Mark) -> Option<Arc<Mark>> {
        let mark = self.0.iter().find(|mark| mark.as_ptr() == address)?;
        mark.upgrade()
    }

    /// The mark of any statement. A function has one connection, which makes one call at a time, so
    /// the query of one statement serves all.
    pub(crate) fn any(&self) -> Option<Arc<Mark>> {
        self.0.iter().find_map(Weak::upgrade)
    }

    /// Keeps the mark, for as long as a statement has it.
    pub(crate) fn keep(&mut self, mark: Arc<Mark>) -> Arc<Mark> {
        self.0.retain(|mark| mark.strong_count() > 0);
        self.0.push(Arc::downgrade(&mark));
        mark
    }
}
