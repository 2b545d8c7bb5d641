//! Code for tests in several files.

use std::io::{self, Read};

/// Returns few bytes for each read.
pub(crate) struct Slow<'a>(pub &'a [u8]);

impl Read for Slow<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let size = buf.len().min(3);
        self.0.read(&mut buf[..size])
    }
}
