//! The functions at addresses of a file.

use std::path::Path;

use gimli::Reader;
use timebase_store::sort::Scratch;

use crate::debug::Debug;
use crate::elf::Elf;
use crate::error::SymbolError;
use crate::files::SymbolFile;
use crate::line::Line;
use crate::table::{Named, names};

/// What the trace says of how a module was loaded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Loaded {
    /// The offset of the mapping in its file.
    pub exact_offset: u64,
    /// The offset of the module in its file, which may be an archive.
    pub start_offset: u64,
    /// What the recorder subtracted from addresses in memory, in addition to the start of the mapping.
    pub load_bias: u64,
}

/// The functions at addresses.
#[derive(Debug, Default)]
pub struct LookedUp {
    /// For each address, the functions there: those that the compiler inlined first, the innermost before the others.
    /// Empty if the file has none.
    pub lines: Vec<Vec<Line>>,
    /// A part of the file that cannot be read. Other parts were used.
    pub problem: Option<SymbolError>,
}

impl SymbolFile {
    /// The functions at sorted addresses, which are relative to the module as it was `loaded`. Compressed sections are
    /// decompressed into `scratch`. `is_stopped` ends the search early.
    ///
    /// ```
    /// use timebase_store::sort::{Quota, Scratch};
    /// use timebase_symbols::{Loaded, SymbolFile};
    ///
    /// let file = SymbolFile { path: std::env::current_exe()?, is_by_name: false };
    /// let scratch = Scratch::new(&std::env::temp_dir(), &Quota::default());
    /// let found = file.look_up(&[u64::MAX], Loaded::default(), &scratch, &|| false);
    /// assert!(found.lines == [[]] && found.problem.is_none());
    /// # std::io::Result::Ok(())
    /// ```
    pub fn look_up(
        &self,
        addresses: &[u64],
        loaded: Loaded,
        scratch: &Scratch,
        is_stopped: &dyn Fn() -> bool,
    ) -> LookedUp {
        if addresses.is_empty() {
            return LookedUp::default();
        }
        let nothing = || vec![Vec::new(); addresses.len()];
        let elf = match Elf::open(&self.path) {
            Ok(Some(elf)) => elf,
            Ok(None) => return LookedUp { lines: nothing(), problem: None },
            Err(error) => return LookedUp { lines: nothing(), problem: Some(error) },
        };
        let correction = correction(&elf, loaded);
        let addresses: Vec<u64> =
            addresses.iter().map(|address| address.saturating_add(correction)).collect();
        let mut problem = None;
        let mut lines = debug_lines(&elf, &addresses, scratch, is_stopped, &mut problem);
        lines.resize(addresses.len(), Vec::new());
        match names(&elf, &addresses) {
            Ok(names) => {
                for (lines, name) in lines.iter_mut().zip(names) {
                    name_outermost(lines, name);
                }
            }
            Err(error) => problem = problem.or(Some(error)),
        }
        for lines in &mut lines {
            lines.retain(|line| line.function.is_some());
        }
        LookedUp { lines, problem }
    }
}

/// The lines of DWARF, up to the first that cannot be read.
fn debug_lines(
    elf: &Elf,
    addresses: &[u64],
    scratch: &Scratch,
    is_stopped: &dyn Fn() -> bool,
    problem: &mut Option<SymbolError>,
) -> Vec<Vec<Line>> {
    let shared = shared(elf);
    let mut debug = match Debug::of(elf, shared.as_ref(), scratch) {
        Ok(Some(debug)) => debug,
        Ok(None) => return Vec::new(),
        Err(error) => {
            *problem = Some(error);
            return Vec::new();
        }
    };
    let mut all = Vec::new();
    for &address in addresses {
        if is_stopped() {
            break;
        }
        all.push(debug.lines(address).unwrap_or_else(|error| {
            problem.get_or_insert(error);
            Vec::new()
        }));
    }
    all
}

/// Names the function that was not inlined by the table of symbols. It has the name with namespaces, which DWARF may
/// leave out.
fn name_outermost(lines: &mut Vec<Line>, named: Option<Named>) {
    let Some(Named { name, is_certain }) = named else { return };
    match lines.last_mut() {
        Some(last) if is_certain || last.function.is_none() => last.function = Some(name),
        Some(_) => {}
        None => lines.push(Line { function: Some(name), file: None, line: None }),
    }
}

/// What is to be added to addresses, because the recorder did not know the load bias (rule SB4).
fn correction(elf: &Elf, loaded: Loaded) -> u64 {
    let Some(segment) = elf.executable else { return 0 };
    let aligned = |offset: u64| match segment.align {
        0 => offset,
        align => offset - offset % align,
    };
    let offset = aligned(loaded.exact_offset.saturating_sub(loaded.start_offset));
    // The executable segment is not at the start of the file, so the trace does not know where it is.
    if offset == 0 && !segment.is_first {
        return 0;
    }
    let bias = aligned(segment.address).saturating_sub(offset);
    bias.saturating_sub(loaded.load_bias)
}

/// The file with what several files share, which Debian's packages of symbols have.
fn shared(elf: &Elf) -> Option<Elf> {
    let section = elf.section_named(".gnu_debugaltlink")?;
    let mut link = elf.bytes.range(section.offset, section.size)?;
    let path = link.read_null_terminated_slice().ok()?.to_string_lossy().ok()?.into_owned();
    let id = link.to_slice().ok()?.into_owned();
    let path = elf.path.parent().unwrap_or(Path::new("")).join(path);
    let shared = Elf::open(&path).ok().flatten()?;
    (shared.build_id.as_ref() == Some(&id)).then_some(shared)
}
