//! Code for several kinds of tests.

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

/// A file in memory.
#[derive(Clone, Default)]
pub struct Memory(pub Rc<RefCell<Vec<u8>>>);

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
