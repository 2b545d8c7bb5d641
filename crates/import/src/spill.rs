//! A queue of records that spills: the first records stay in memory, more go to a temporary file without
//! a name.

use std::io::{self, BufReader, Cursor, ErrorKind, Read, Seek, Write};

use timebase_store::sort::{Scratch, ScratchFile};

/// The number of bytes that stay in memory.
const BUFFER: usize = 256 << 10;

/// The number of bytes of a record's length.
const LENGTH: usize = size_of::<u32>();

/// Records, first in first out. Writing a record does not fail: [`SpillQueue::drain`] returns the first
/// error.
pub(crate) struct SpillQueue {
    scratch: Scratch,
    /// The records that are not in the file yet, each after its length.
    buffer: Vec<u8>,
    file: Option<ScratchFile>,
    failure: Option<io::Error>,
}

impl SpillQueue {
    pub fn new(scratch: impl Into<Scratch>) -> Self {
        SpillQueue { scratch: scratch.into(), buffer: Vec::new(), file: None, failure: None }
    }

    /// Takes all records, and leaves an empty queue.
    pub fn replace(&mut self) -> SpillQueue {
        let scratch = self.scratch.clone();
        std::mem::replace(self, SpillQueue::new(&scratch))
    }

    pub fn push(&mut self, record: &[u8]) {
        if self.failure.is_none() {
            self.failure = self.write(record).err();
        }
    }

    fn write(&mut self, record: &[u8]) -> io::Result<()> {
        let length = u32::try_from(record.len()).map_err(|_| ErrorKind::FileTooLarge)?;
        self.buffer.extend_from_slice(&length.to_le_bytes());
        self.buffer.extend_from_slice(record);
        if self.buffer.len() >= BUFFER {
            let file = match &mut self.file {
                Some(file) => file,
                none => none.insert(self.scratch.file()?),
            };
            file.write_all(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }

    /// Calls `each` with all records, in their order.
    pub fn drain<E: From<io::Error>>(
        self,
        mut each: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut records = self.records()?;
        while let Some(record) = records.next()? {
            each(record)?;
        }
        Ok(())
    }

    /// All records, for a caller that takes one at a time.
    ///
    /// # Errors
    ///
    /// If the records could not be stored, or cannot be read back.
    pub fn records(self) -> io::Result<Records> {
        if let Some(error) = self.failure {
            return Err(error);
        }
        let file: Box<dyn Read + Send> = match self.file {
            Some(mut file) => {
                file.rewind()?;
                Box::new(file)
            }
            None => Box::new(io::empty()),
        };
        let all = file.chain(Cursor::new(self.buffer));
        Ok(Records { input: BufReader::with_capacity(BUFFER, Box::new(all)), record: Vec::new() })
    }
}

/// Records on their way back.
pub(crate) struct Records {
    input: BufReader<Box<dyn Read + Send>>,
    record: Vec<u8>,
}

impl Records {
    /// The next record, if there is one.
    ///
    /// # Errors
    ///
    /// If the record cannot be read back.
    pub fn next(&mut self) -> io::Result<Option<&[u8]>> {
        let mut length = [0; LENGTH];
        match self.input.read_exact(&mut length) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
            read => read?,
        }
        self.record.resize(u32::from_le_bytes(length) as usize, 0);
        self.input.read_exact(&mut self.record)?;
        Ok(Some(&self.record))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// As many records as are asked for, of some bytes each.
    fn records(count: usize) -> impl Iterator<Item = Vec<u8>> {
        (0..count).map(|i| vec![i as u8; i % 300])
    }

    #[test]
    fn records_come_back_in_their_order_from_memory_and_from_a_file() {
        let directory = tempfile::tempdir().unwrap();
        for count in [0, 1, 100, 20_000] {
            let mut queue = SpillQueue::new(directory.path());
            for record in records(count) {
                queue.push(&record);
            }
            assert_eq!(queue.file.is_some(), count == 20_000);
            let mut expected = records(count);
            queue
                .drain(|record| {
                    assert_eq!(Some(record), expected.next().as_deref());
                    io::Result::Ok(())
                })
                .unwrap();
            assert_eq!(expected.next(), None);
        }
    }

    #[test]
    fn a_directory_that_is_not_there_is_told_at_the_end() {
        let directory = tempfile::tempdir().unwrap();
        let mut queue = SpillQueue::new(&*directory.path().join("gone"));
        for record in records(20_000) {
            queue.push(&record);
        }
        assert!(queue.drain(|_| io::Result::Ok(())).is_err());
    }
}
