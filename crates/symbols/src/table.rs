//! Names of functions from a table of symbols.
//!
//! The table is read once, entry by entry, for all addresses of a file. Only the nearest symbol before each address is
//! kept, so memory depends on the addresses. To sort the table first was rejected: a browser has a million symbols.

use gimli::Reader;

use crate::bytes::{Bytes, word};
use crate::contents::stored;
use crate::elf::{
    ARM, Elf, HAS_CODE, SECTION_DYNAMIC_SYMBOLS, SECTION_NO_BITS, SECTION_SYMBOLS, Section,
};
use crate::error::SymbolError;

/// The types of symbols that are functions, or labels in code.
const NO_TYPE: u8 = 0;
const FUNCTION: u8 = 2;
const INDIRECT_FUNCTION: u8 = 10;

/// The rank of functions that say their size.
const WITH_SIZE: u8 = 4;

/// A symbol before an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Symbol {
    start: u64,
    /// The end of a function; of a label, of its section.
    end: u64,
    name: u32,
    /// Of several symbols at one place, the greatest is taken.
    rank: u8,
}

/// The name at an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Named {
    pub name: String,
    /// Whether the table says that the function reaches up to the address.
    pub is_certain: bool,
}

/// For each address, the nearest symbol before it and after the address before.
type Nearest = Vec<Option<Symbol>>;

/// The names of functions at sorted addresses, as they are in the table: mangled, if they are.
///
/// # Errors
///
/// If the table cannot be read.
pub(crate) fn names(elf: &Elf, addresses: &[u64]) -> Result<Vec<Option<Named>>, SymbolError> {
    let mut names: Vec<Option<Named>> = vec![None; addresses.len()];
    for kind in [SECTION_SYMBOLS, SECTION_DYNAMIC_SYMBOLS] {
        let mut tables = elf.sections.iter().filter(|section| section.kind == kind);
        let Some(table) = tables.next() else { continue };
        let linked = elf.sections.get(table.link as usize);
        let linked = linked.filter(|texts| texts.kind != SECTION_NO_BITS);
        let texts = linked.map(|texts| stored(elf, texts)).transpose()?;
        let entries = stored(elf, table)?;
        let found = nearest(elf, entries, addresses);
        let [functions, labels] = found.map_err(|error| elf.damaged(&table.name, &error))?;
        let before = last(&functions).zip(last(&labels));
        for ((name, address), (function, label)) in names.iter_mut().zip(addresses).zip(before) {
            if name.is_some() {
                continue;
            }
            // A label ends where the next function begins.
            let label = label.filter(|label| function.is_none_or(|of| of.start <= label.start));
            let [function, label] = [function, label]
                .map(|symbol: Option<Symbol>| symbol.filter(|symbol| *address < symbol.end));
            let of = |symbol: Symbol| {
                let name = unversioned(elf.name(texts.as_ref(), symbol.name)?);
                let is_certain = symbol.rank >= WITH_SIZE;
                (!name.is_empty()).then_some(Named { name, is_certain })
            };
            // ARM's tables mark the kind of code with `$a`, `$d`, `$t` and `$x`.
            let label = || label.and_then(of).filter(|label| !label.name.starts_with('$'));
            *name = function.and_then(of).or_else(label);
        }
    }
    Ok(names)
}

/// A name without the version of its library: `memcpy@@GLIBC_2.14`.
fn unversioned(name: String) -> String {
    match name.split_once('@') {
        Some((name, _)) if !name.is_empty() => name.to_owned(),
        _ => name,
    }
}

/// The nearest functions and labels.
fn nearest(elf: &Elf, mut entries: Bytes, addresses: &[u64]) -> gimli::Result<[Nearest; 2]> {
    let mut functions = vec![None; addresses.len()];
    let mut labels = functions.clone();
    let size = if elf.is_64 { 24 } else { 16 };
    while entries.len() >= size {
        let mut entry = entries.split(size)?;
        let name = entry.read_u32()?;
        let (info, section, start, size) = match elf.is_64 {
            true => {
                let info = entry.read_u8()?;
                entry.read_u8()?;
                (info, entry.read_u16()?, entry.read_u64()?, entry.read_u64()?)
            }
            false => {
                let (start, size) = (word(&mut entry, false)?, word(&mut entry, false)?);
                let info = entry.read_u8()?;
                entry.read_u8()?;
                (info, entry.read_u16()?, start, size)
            }
        };
        let (bind, kind) = (info >> 4, info & 0xf);
        let is_function = matches!(kind, FUNCTION | INDIRECT_FUNCTION);
        if section == 0 || !is_function && kind != NO_TYPE {
            continue;
        }
        // The lowest bit of a function of ARM says that its instructions are short.
        let start = if is_function && elf.machine == ARM { start & !1 } else { start };
        let inside = elf.sections.get(usize::from(section));
        let end = match size {
            0 => inside.map(end_of_code).unwrap_or_default(),
            size if is_function => start.saturating_add(size),
            _ => inside.filter(|inside| inside.flags & HAS_CODE != 0).map_or(0, end_of_code),
        };
        // Global symbols are before weak ones, and these before local ones.
        let rank = [0, 2, 1].get(usize::from(bind)).copied().unwrap_or_default();
        let rank = rank + if is_function && size > 0 { WITH_SIZE } else { 0 };
        let symbol = Symbol { start, end, name, rank };
        let list = if is_function { &mut functions } else { &mut labels };
        let after = addresses.partition_point(|address| *address < start);
        if let Some(known) = list.get_mut(after)
            && known.is_none_or(|known: Symbol| (known.start, known.rank) < (start, rank))
            && addresses.get(after).is_some_and(|_| end > start)
        {
            *known = Some(symbol);
        }
    }
    Ok([functions, labels])
}

/// The end of a section with code; 0 for others.
fn end_of_code(section: &Section) -> u64 {
    match section.flags & HAS_CODE {
        0 => 0,
        _ => section.address.saturating_add(section.size),
    }
}

/// The last symbol before each address.
fn last(nearest: &Nearest) -> impl Iterator<Item = Option<Symbol>> {
    nearest.iter().scan(None, |last, symbol| {
        *last = symbol.or(*last);
        Some(*last)
    })
}
