//! Takes records in any order.

use std::io;
use std::mem;

use crate::sort::key::Key;
use crate::sort::merge::merged;
use crate::sort::payload::Payload;
use crate::sort::records::Records;
use crate::sort::runs::{Aside, ended};
use crate::sort::scratch::Scratch;

/// How much is sorted at once. Twice as much is in memory: what is sorted, and
/// what comes meanwhile.
const STRETCH: usize = 2 << 20;

/// Sorts records, of a key and a payload: `[u8]`, or `()` for keys alone.
///
/// Records with equal keys stay in the order they were pushed. The first 2 MiB are
/// in memory; what comes then is in a file without a name.
#[derive(Debug)]
pub struct Sorter<K: Key, P: Payload + ?Sized = [u8]> {
    scratch: Scratch,
    stretch: usize,
    records: Records<K, P>,
    /// Once there is more than one stretch.
    aside: Option<Aside<K, P>>,
}

impl<K: Key, P: Payload + ?Sized> Sorter<K, P> {
    /// Sorts with a temporary file there, if one is needed.
    pub fn new(scratch: impl Into<Scratch>) -> Self {
        Self::with_stretch(scratch, STRETCH)
    }

    /// Sorts so many bytes at once.
    pub(crate) fn with_stretch(scratch: impl Into<Scratch>, stretch: usize) -> Self {
        Sorter {
            scratch: scratch.into(),
            stretch,
            records: Records::new(stretch),
            aside: None,
        }
    }

    /// Adds a record.
    ///
    /// # Errors
    ///
    /// If the temporary file cannot be made or written; all records are lost then.
    #[inline]
    pub fn push(&mut self, key: K, payload: &P) -> io::Result<()> {
        let bytes = payload.bytes();
        if !self.records.has_room(bytes.len()) {
            self.make_room(bytes.len())?;
        }
        self.records.push(key, bytes);
        Ok(())
    }

    /// Puts a stretch aside. Of records that are larger than a stretch only one is
    /// in memory.
    #[cold]
    fn make_room(&mut self, payload: usize) -> io::Result<()> {
        if !self.records.is_empty() {
            self.put_aside()?;
        }
        if let Some(aside) = &mut self.aside
            && !self.records.has_room(payload)
        {
            aside.settle();
        }
        Ok(())
    }

    fn put_aside(&mut self) -> io::Result<()> {
        let mut aside = match self.aside.take() {
            Some(aside) => aside,
            None => Aside::new(&self.scratch, self.stretch)?,
        };
        let stretch = mem::replace(&mut self.records, Records::new(self.stretch));
        match aside.put(stretch) {
            Some(empty) => self.records = empty,
            None => return Err(aside.end().err().unwrap_or_else(ended)),
        }
        self.aside = Some(aside);
        Ok(())
    }

    /// Gives all records in the order of their keys.
    ///
    /// # Errors
    ///
    /// The first one of `each`, or that the temporary file cannot be written or
    /// read.
    pub fn finish<E: From<io::Error>>(
        mut self,
        mut each: impl FnMut(&K, &P) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.aside.is_some() && !self.records.is_empty() {
            self.put_aside()?;
        }
        match self.aside {
            Some(aside) => {
                drop(self.records);
                merged(aside.end()?, each)
            }
            None => {
                self.records.sort();
                let mut records = self.records.iter();
                records.try_for_each(|(key, payload)| each(key, payload))
            }
        }
    }
}
