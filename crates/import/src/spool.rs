//! Records that are put aside and come back in the order they were put: in memory
//! while they are few, else in a temporary file without a name.

use std::io;
use std::path::Path;

use timebase_sort::Sorter;

/// Records put aside. Writing does not fail where the records come from: the
/// first error is kept, and told when they are asked for.
pub(crate) struct Spool {
    /// Numbered as they come, so there is nothing to sort.
    records: Sorter<i64>,
    next: i64,
    failure: Option<io::Error>,
}

impl Spool {
    pub fn new(directory: &Path) -> Self {
        Spool {
            records: Sorter::new(directory),
            next: 0,
            failure: None,
        }
    }

    pub fn push(&mut self, record: &[u8]) {
        if self.failure.is_none() {
            self.failure = self.records.push(self.next, record).err();
            self.next += 1;
        }
    }

    /// Gives all records.
    pub fn drain<E: From<io::Error>>(
        self,
        mut each: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        if let Some(error) = self.failure {
            return Err(error.into());
        }
        self.records.finish(|_, record| each(record))
    }
}
