//! A file that is read page by page, with a bounded number of pages in memory.

use std::cell::RefCell;
use std::io::{self, Read, Seek, SeekFrom};
use std::rc::Rc;

/// The size of a page. The root of each unit of DWARF is read, so larger pages read more than is needed.
const PAGE: u64 = 16 << 10;

/// The number of pages in memory: 64 MiB.
const PAGES: usize = 4096;

/// A file, or a temporary file.
trait Stored: Read + Seek {}

impl<F: Read + Seek> Stored for F {}

/// The bytes of a page, and the offset of its first byte.
#[derive(Clone)]
pub(crate) struct Page {
    pub start: u64,
    pub bytes: Rc<[u8]>,
}

/// A file in pages.
pub(crate) struct Pages {
    size: u64,
    /// The offset in the file of the user where these bytes are, for messages.
    origin: Option<u64>,
    state: RefCell<State>,
}

struct State {
    file: Box<dyn Stored>,
    /// By the number of the page, modulo [`PAGES`].
    held: Vec<Option<Page>>,
    /// The number of bytes that were read from the file.
    read: u64,
}

impl Pages {
    /// # Errors
    ///
    /// If the size of the file cannot be found out.
    pub fn new(mut file: impl Read + Seek + 'static, origin: Option<u64>) -> io::Result<Pages> {
        let size = file.seek(SeekFrom::End(0))?;
        let pages = size.div_ceil(PAGE).min(PAGES as u64) as usize;
        let state = State { file: Box::new(file), held: vec![None; pages], read: 0 };
        Ok(Pages { size, origin, state: RefCell::new(state) })
    }

    pub fn size(&self) -> u64 {
        self.size
    }

    /// The number of bytes that were read from the file, some of them more than once.
    pub fn read(&self) -> u64 {
        self.state.borrow().read
    }

    /// The offset in the file of the user that a message names for an offset in these pages.
    pub fn told(&self, offset: u64) -> u64 {
        self.origin.unwrap_or(offset)
    }

    /// The page that has an offset.
    ///
    /// # Errors
    ///
    /// If the file ends before the offset, or cannot be read.
    pub fn page(&self, offset: u64) -> io::Result<Page> {
        if offset >= self.size {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let number = offset / PAGE;
        let start = number * PAGE;
        let mut state = self.state.borrow_mut();
        let state = &mut *state;
        let slots = state.held.len().max(1) as u64;
        let slot = state.held.get_mut((number % slots) as usize);
        let Some(slot) = slot else {
            return Err(io::ErrorKind::UnexpectedEof.into());
        };
        if let Some(page) = slot.as_ref().filter(|page| page.start == start) {
            return Ok(page.clone());
        }
        let mut bytes = vec![0; PAGE.min(self.size - start) as usize];
        state.file.seek(SeekFrom::Start(start))?;
        state.file.read_exact(&mut bytes)?;
        state.read += bytes.len() as u64;
        let page = Page { start, bytes: bytes.into() };
        *slot = Some(page.clone());
        Ok(page)
    }
}
