//! Functions, inlined functions and lines from DWARF.

use std::sync::Arc;

use addr2line::Context;
use gimli::{Dwarf, Section as _};
use timebase_store::sort::Scratch;

use crate::bytes::Bytes;
use crate::contents::contents;
use crate::elf::Elf;
use crate::error::SymbolError;
use crate::line::Line;

/// The number of bytes that are read before everything that was made of them is dropped. The addresses are sorted, so
/// hardly any unit is read twice.
const READ: u64 = 256 << 20;

/// The DWARF of a file.
pub(crate) struct Debug<'e> {
    elf: &'e Elf,
    sections: Arc<Dwarf<Bytes>>,
    context: Context<Bytes>,
    /// The number of bytes that had been read when the context was new.
    read: u64,
}

impl<'e> Debug<'e> {
    /// The DWARF of a file; `None` if it has none. `shared` is the file that has what several files share.
    ///
    /// # Errors
    ///
    /// If its sections cannot be read.
    pub fn of(
        elf: &'e Elf,
        shared: Option<&Elf>,
        scratch: &Scratch,
    ) -> Result<Option<Debug<'e>>, SymbolError> {
        if !elf.has_debug() {
            return Ok(None);
        }
        let mut sections = Dwarf::load(|id| contents(elf, id.name(), scratch))?;
        if let Some(shared) = shared {
            sections.load_sup(|id| contents(shared, id.name(), scratch))?;
        }
        #[allow(clippy::arc_with_non_send_sync)] // addr2line takes no Rc
        let sections = Arc::new(sections);
        let context = context(elf, &sections)?;
        let read = read(&sections);
        Ok(Some(Debug { elf, sections, context, read }))
    }

    /// The functions at an address, the innermost first.
    ///
    /// # Errors
    ///
    /// If the DWARF is damaged.
    pub fn lines(&mut self, address: u64) -> Result<Vec<Line>, SymbolError> {
        // addr2line looks for the range from an address to the next one.
        if address == u64::MAX {
            return Ok(Vec::new());
        }
        if read(&self.sections).saturating_sub(self.read) > READ {
            self.context = context(self.elf, &self.sections)?;
            self.read = read(&self.sections);
        }
        let lines = self.find(address);
        lines.map_err(|error| self.elf.damaged("its DWARF", &error))
    }

    fn find(&self, address: u64) -> gimli::Result<Vec<Line>> {
        /// Compilers do not inline deeper.
        const DEEPEST: usize = 1 << 10;

        let mut frames = self.context.find_frames(address).skip_all_loads()?;
        let mut lines = Vec::new();
        while let Some(frame) = frames.next()? {
            let function = match &frame.function {
                Some(function) => Some(function.raw_name()?.into_owned()),
                None => None,
            };
            let location = frame.location.as_ref();
            let file = location.and_then(|location| location.file).map(str::to_owned);
            let line = location.and_then(|location| location.line);
            let function = function.filter(|name| !name.is_empty());
            lines.push(Line { function, file, line: line.filter(|line| *line != 0) });
            if lines.len() == DEEPEST {
                break;
            }
        }
        Ok(lines)
    }
}

fn context(elf: &Elf, sections: &Arc<Dwarf<Bytes>>) -> Result<Context<Bytes>, SymbolError> {
    let context = Context::from_arc_dwarf(sections.clone());
    context.map_err(|error| elf.damaged("its DWARF", &error))
}

/// The number of bytes that were read.
fn read(sections: &Dwarf<Bytes>) -> u64 {
    sections.debug_info.reader().read_so_far()
}
