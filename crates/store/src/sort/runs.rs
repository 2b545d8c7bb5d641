//! Sorted stretches in a file, and the runs that they form.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use crate::sort::key::Key;
use crate::sort::payload::Payload;
use crate::sort::records::Records;
use crate::sort::scratch::{Scratch, ScratchFile};

/// The number of bytes to write at once.
const WRITTEN: usize = 256 << 10;

/// The thread that sorts stretches and writes them to the file.
#[derive(Debug)]
pub(crate) struct Aside<K: Key, P: Payload + ?Sized> {
    full: Sender<Records<K, P>>,
    emptied: Receiver<Records<K, P>>,
    /// The other one of the two stretches, unless it is in transit.
    spare: Option<Records<K, P>>,
    thread: JoinHandle<io::Result<Runs<K>>>,
}

/// Sorted stretches in a file without a name.
#[derive(Debug)]
pub(crate) struct Runs<K> {
    pub file: ScratchFile,
    /// The end of each stretch, and the start of the next.
    pub ends: Vec<u64>,
    pub runs: Vec<Run<K>>,
}

/// Stretches of which none begins before the previous one ends.
#[derive(Debug)]
pub(crate) struct Run<K> {
    pub stretches: Vec<u32>,
    last: K,
}

/// The error for a thread that panicked, which never happens.
pub(crate) fn ended() -> io::Error {
    io::Error::other("the thread that sorts records ended")
}

impl<K: Key, P: Payload + ?Sized> Aside<K, P> {
    pub fn new(scratch: &Scratch, stretch: usize) -> io::Result<Self> {
        let file = scratch.file()?;
        let (full, stretches) = channel();
        let (empty, emptied) = channel();
        let thread = thread::Builder::new().spawn(move || Runs::write(file, stretches, empty))?;
        Ok(Aside { full, emptied, spare: Some(Records::new(stretch)), thread })
    }

    /// Takes a stretch, and returns an empty one for further records. `None` means that the thread
    /// has ended; [`Aside::end`] tells why.
    pub fn put(&mut self, stretch: Records<K, P>) -> Option<Records<K, P>> {
        self.full.send(stretch).ok()?;
        self.spare.take().or_else(|| self.emptied.recv().ok())
    }

    /// Waits until nothing is in transit.
    pub fn settle(&mut self) {
        if self.spare.is_none() {
            self.spare = self.emptied.recv().ok();
        }
    }

    /// All sorted stretches.
    pub fn end(self) -> io::Result<Runs<K>> {
        drop(self.full);
        self.thread.join().unwrap_or_else(|_| Err(ended()))
    }
}

impl<K: Key> Runs<K> {
    /// Sorts stretches, and writes them as differences, which are small because of the order.
    fn write<P: Payload + ?Sized>(
        file: ScratchFile,
        stretches: Receiver<Records<K, P>>,
        emptied: Sender<Records<K, P>>,
    ) -> io::Result<Self> {
        let mut out = Out::new(file, WRITTEN + K::LONGEST);
        let (mut ends, mut runs) = (Vec::new(), Vec::new());
        for mut stretch in stretches {
            stretch.sort();
            if let Some((first, last)) = stretch.ends() {
                add(&mut runs, ends.len() as u32, first, last);
                let mut last = K::FIRST;
                for (key, payload) in stretch.iter_sized() {
                    out.key(key, &last)?;
                    if P::HAS_BYTES {
                        out.bytes(payload)?;
                    }
                    last = *key;
                }
                ends.push(out.written + out.len as u64);
            }
            stretch.clear();
            // At the end, nobody takes it back.
            let _ = emptied.send(stretch);
        }
        out.flush()?;
        let file = out.file;
        Ok(Runs { file, ends, runs })
    }
}

/// Appends a stretch to the run that ends nearest before it, or begins a new run.
fn add<K: Key>(runs: &mut Vec<Run<K>>, stretch: u32, first: K, last: K) {
    let before = runs.iter_mut().filter(|run| run.last <= first);
    match before.max_by_key(|run| run.last) {
        Some(run) => {
            run.stretches.push(stretch);
            run.last = last;
        }
        None => runs.push(Run { stretches: vec![stretch], last }),
    }
}

/// A file for writing. A [`std::io::BufWriter`] would copy every key once more.
struct Out {
    file: ScratchFile,
    buffer: Box<[u8]>,
    /// The used part of the buffer.
    len: usize,
    /// The bytes in the file.
    written: u64,
}

impl Out {
    fn new(file: ScratchFile, buffer: usize) -> Self {
        Out { file, buffer: vec![0; buffer].into(), len: 0, written: 0 }
    }

    #[inline]
    fn key<K: Key>(&mut self, key: &K, after: &K) -> io::Result<()> {
        if self.buffer.len() - self.len < K::LONGEST {
            self.flush()?;
        }
        self.len += key.put(after, &mut self.buffer[self.len..]);
        Ok(())
    }

    #[inline]
    fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.buffer.len() - self.len < bytes.len() {
            self.flush()?;
            if self.buffer.len() < bytes.len() {
                self.file.write_all(bytes)?;
                self.written += bytes.len() as u64;
                return Ok(());
            }
        }
        self.buffer[self.len..][..bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
        Ok(())
    }

    #[cold]
    fn flush(&mut self) -> io::Result<()> {
        self.file.write_all(&self.buffer[..self.len])?;
        self.written += self.len as u64;
        self.len = 0;
        Ok(())
    }
}
