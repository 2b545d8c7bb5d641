//! Takes records in any order.

use std::io;
use std::mem;

use crate::sort::key::Key;
use crate::sort::merge::merged;
use crate::sort::payload::Payload;
use crate::sort::records::Records;
use crate::sort::runs::{Aside, ended};
use crate::sort::scratch::Scratch;

/// The size of a stretch. Memory holds twice as much: the stretch that is sorted, and the one for
/// further records.
const STRETCH: usize = 512 << 10;

/// Sorts records of a key and a payload: `[u8]`, or `()` for keys alone.
///
/// Records with equal keys stay in the order in which they were pushed. The first 512 KiB are in
/// memory; the rest goes to a file without a name.
#[derive(Debug)]
pub struct Sorter<K: Key, P: Payload + ?Sized = [u8]> {
    scratch: Scratch,
    stretch: usize,
    records: Records<K, P>,
    /// Present if there is more than one stretch.
    aside: Option<Aside<K, P>>,
}

impl<K: Key, P: Payload + ?Sized> Sorter<K, P> {
    /// Sorts with a temporary file in this directory, if it needs one.
    pub fn new(scratch: impl Into<Scratch>) -> Self {
        Self::with_stretch(scratch, STRETCH)
    }

    /// Sorts stretches of this size.
    pub(crate) fn with_stretch(scratch: impl Into<Scratch>, stretch: usize) -> Self {
        Sorter { scratch: scratch.into(), stretch, records: Records::new(stretch), aside: None }
    }

    /// Adds a record.
    ///
    /// # Errors
    ///
    /// If making or writing the temporary file fails; all records are lost then.
    #[inline]
    pub fn push(&mut self, key: K, payload: &P) -> io::Result<()> {
        let bytes = payload.bytes();
        if !self.records.has_room(bytes.len()) {
            self.make_room(bytes.len())?;
        }
        self.records.push(key, bytes);
        Ok(())
    }

    /// Hands a stretch to the thread. Of records that are larger than a stretch, only one is in
    /// memory.
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
    /// The first error of `each`. Or if writing or reading the temporary file fails.
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
