//! Compresses and writes on its own thread.
//!
//! # Design
//!
//! Packets are read, placed and rewritten on one thread. Writing a buffer costs as much as reading it,
//! because the system copies every byte. So full buffers go to another thread, which has nothing else to do,
//! and also compresses them. A few buffers are used again and again, even if a packet is large.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{Builder, JoinHandle};

use super::packed::{BUFFER, Counted, Packed};

/// The number of full buffers that may wait.
const WAITING: usize = 2;

/// A writer that writes on another thread.
pub(super) struct Behind {
    buffer: Vec<u8>,
    full: SyncSender<Vec<u8>>,
    empty: Receiver<Vec<u8>>,
    /// `None` if the thread has failed and its error was returned.
    thread: Option<JoinHandle<io::Result<Counted>>>,
}

impl Behind {
    /// # Errors
    ///
    /// If the system has no thread left.
    pub fn new(packed: Packed) -> io::Result<Behind> {
        let (full, buffers) = sync_channel(WAITING);
        let (written, empty) = channel();
        let thread = Builder::new().name("rewrite".into());
        Ok(Behind {
            buffer: Vec::with_capacity(BUFFER),
            full,
            empty,
            thread: Some(thread.spawn(move || write(packed, &buffers, &written))?),
        })
    }

    /// The buffer is full.
    #[cold]
    fn hand_over(&mut self) -> io::Result<()> {
        let next = self.empty.try_recv();
        let next = next.unwrap_or_else(|_| Vec::with_capacity(BUFFER));
        let full = std::mem::replace(&mut self.buffer, next);
        match self.full.send(full) {
            Ok(()) => Ok(()),
            Err(_) => self.end().and(Err(stopped())),
        }
    }

    /// Sends no more buffers, and returns the result of the other thread.
    fn end(&mut self) -> io::Result<Counted> {
        self.full = sync_channel(0).0;
        let thread = self.thread.take().ok_or_else(stopped)?;
        thread.join().unwrap_or_else(|_| Err(stopped()))
    }

    /// Ends writing, and returns the file.
    ///
    /// # Errors
    ///
    /// If the disk or a limit did not take all of it.
    pub fn finish(mut self) -> io::Result<Counted> {
        if !self.buffer.is_empty() {
            self.hand_over()?;
        }
        self.end()
    }
}

impl Drop for Behind {
    /// After the drop, nothing more is written.
    fn drop(&mut self) {
        let _ = self.end();
    }
}

impl Write for Behind {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.buffer.len() == BUFFER {
            self.hand_over()?;
        }
        let size = bytes.len().min(BUFFER - self.buffer.len());
        let (taken, _) = bytes.split_at(size);
        self.buffer.extend_from_slice(taken);
        Ok(size)
    }

    #[inline]
    fn write_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let size = self.write(bytes)?;
            bytes = bytes.get(size..).unwrap_or_default();
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The other thread: it ends with the first error.
fn write(
    mut packed: Packed,
    full: &Receiver<Vec<u8>>,
    empty: &Sender<Vec<u8>>,
) -> io::Result<Counted> {
    for mut buffer in full {
        packed.writer().write_all(&buffer)?;
        buffer.clear();
        // At the end, nobody takes it back.
        let _ = empty.send(buffer);
    }
    packed.finish()
}

fn stopped() -> io::Error {
    io::Error::other("the thread that writes has stopped")
}
