//! The headers of an ELF file: its build id, its executable segment, and its sections.
//!
//! gimli's reader decodes the numbers, and its errors have the offset. The crate `object` has all headers as types, and
//! was rejected: five of them matter here, it reads a table of symbols as a whole, and its errors have no offset.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use gimli::Reader;

use crate::bytes::{Bytes, endian, word};
use crate::error::SymbolError;
use crate::pages::Pages;

/// The numbers of the format.
const MAGIC: [u8; 4] = *b"\x7fELF";
const CLASS_32: u8 = 1;
const CLASS_64: u8 = 2;
const DATA_LITTLE: u8 = 1;
const DATA_BIG: u8 = 2;
const SEGMENT_LOAD: u32 = 1;
const SEGMENT_NOTE: u32 = 4;
const EXECUTABLE: u32 = 1;
const GNU_BUILD_ID: u32 = 3;
pub(crate) const SECTION_SYMBOLS: u32 = 2;
pub(crate) const SECTION_NOTE: u32 = 7;
pub(crate) const SECTION_NO_BITS: u32 = 8;
pub(crate) const SECTION_DYNAMIC_SYMBOLS: u32 = 11;
pub(crate) const HAS_CODE: u64 = 4;
pub(crate) const COMPRESSED: u64 = 0x800;
pub(crate) const ARM: u16 = 40;

/// The most sections of a file, and the largest note. Files that have more are no programs.
const MOST_SECTIONS: u64 = 1 << 20;
const LARGEST_NOTE: u64 = 1 << 20;

/// A program or library, or the file with its symbols.
pub(crate) struct Elf {
    pub path: PathBuf,
    pub bytes: Bytes,
    pub is_64: bool,
    pub machine: u16,
    pub build_id: Option<Vec<u8>>,
    /// The first executable segment.
    pub executable: Option<Segment>,
    has_loaded: bool,
    pub sections: Vec<Section>,
}

/// A segment that is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Segment {
    pub address: u64,
    pub align: u64,
    /// Whether no other segment is loaded before it.
    pub is_first: bool,
}

/// A section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Section {
    pub name: String,
    pub kind: u32,
    pub flags: u64,
    pub address: u64,
    pub offset: u64,
    pub size: u64,
    /// Of symbols, the section of their names.
    pub link: u32,
}

/// The places of tables in a file.
struct Tables {
    segments: (u64, u16, u16),
    sections: (u64, u16, u16),
    names: u16,
}

impl Elf {
    /// Reads the headers of a file; `None` if it is no ELF file.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or its headers are damaged.
    pub fn open(path: &Path) -> Result<Option<Elf>, SymbolError> {
        let unreadable = |error: std::io::Error| SymbolError::new(path, None, error);
        let file = File::open(path).map_err(unreadable)?;
        let pages = Rc::new(Pages::new(file, None).map_err(unreadable)?);
        let mut ident = [0; 16];
        let mut start = Bytes::of(&pages, endian(false));
        if start.read_slice(&mut ident).is_err() || ident.get(..4) != Some(&MAGIC) {
            return Ok(None);
        }
        let [_, _, _, _, class, data, ..] = ident;
        if !matches!(class, CLASS_32 | CLASS_64) || !matches!(data, DATA_LITTLE | DATA_BIG) {
            return Err(SymbolError::new(path, Some(4), "its class or byte order is unknown"));
        }
        let bytes = Bytes::of(&pages, endian(data == DATA_BIG));
        let mut elf = Elf {
            path: path.to_owned(),
            bytes,
            is_64: class == CLASS_64,
            machine: 0,
            build_id: None,
            executable: None,
            has_loaded: false,
            sections: Vec::new(),
        };
        let tables = elf.header().map_err(|error| elf.damaged("its header", &error))?;
        elf.read_segments(&tables)?;
        elf.read_sections(&tables)?;
        Ok(Some(elf))
    }

    /// An error of gimli in a part of the file.
    pub fn damaged(&self, part: &str, error: &gimli::Error) -> SymbolError {
        let offset = match error {
            gimli::Error::UnexpectedEof(id) => Some(id.0),
            _ => None,
        };
        SymbolError::new(&self.path, offset, format_args!("{part} cannot be read: {error}"))
    }

    fn header(&mut self) -> gimli::Result<Tables> {
        let mut header = self.bytes.clone();
        header.skip(16 + 2)?;
        self.machine = header.read_u16()?;
        header.skip(4)?;
        word(&mut header, self.is_64)?;
        let segments = word(&mut header, self.is_64)?;
        let sections = word(&mut header, self.is_64)?;
        header.skip(4 + 2)?;
        let segments_are = (header.read_u16()?, header.read_u16()?);
        let sections_are = (header.read_u16()?, header.read_u16()?);
        Ok(Tables {
            segments: (segments, segments_are.0, segments_are.1),
            sections: (sections, sections_are.0, sections_are.1),
            names: header.read_u16()?,
        })
    }

    fn read_segments(&mut self, tables: &Tables) -> Result<(), SymbolError> {
        let (offset, size, count) = tables.segments;
        for index in 0..u64::from(count) {
            let at = offset.saturating_add(index.saturating_mul(size.into()));
            let Some(entry) = self.bytes.range(at, size.into()) else {
                let what = "its program headers are behind the end of the file";
                return Err(SymbolError::new(&self.path, Some(at), what));
            };
            let read = self.read_segment(entry);
            read.map_err(|error| self.damaged("a program header", &error))?;
        }
        Ok(())
    }

    fn read_segment(&mut self, mut entry: Bytes) -> gimli::Result<()> {
        let kind = entry.read_u32()?;
        let mut flags = if self.is_64 { entry.read_u32()? } else { 0 };
        let offset = word(&mut entry, self.is_64)?;
        let address = word(&mut entry, self.is_64)?;
        word(&mut entry, self.is_64)?;
        let size = word(&mut entry, self.is_64)?;
        word(&mut entry, self.is_64)?;
        if !self.is_64 {
            flags = entry.read_u32()?;
        }
        let align = word(&mut entry, self.is_64)?;
        if kind == SEGMENT_LOAD {
            if flags & EXECUTABLE != 0 && self.executable.is_none() {
                let is_first = !self.has_loaded;
                self.executable = Some(Segment { address, align, is_first });
            }
            self.has_loaded = true;
        }
        if kind == SEGMENT_NOTE && self.build_id.is_none() {
            self.build_id = self.note(offset, size);
        }
        Ok(())
    }

    /// The build id in notes. A file with symbols only may have its notes in another place than its segment says.
    fn note(&self, offset: u64, size: u64) -> Option<Vec<u8>> {
        /// Longer ids are none.
        const LONGEST: u32 = 64;

        let mut notes = self.bytes.range(offset, size).filter(|_| size <= LARGEST_NOTE)?;
        while !notes.is_empty() {
            let (name, id) = (notes.read_u32().ok()?, notes.read_u32().ok()?);
            let kind = notes.read_u32().ok()?;
            let padded = |size: u32| u64::from(size).next_multiple_of(4);
            let called = notes.split(padded(name)).ok()?;
            let contents = notes.split(padded(id)).ok()?;
            if kind == GNU_BUILD_ID && name == 4 && id > 0 && id <= LONGEST {
                let is_gnu = called.to_slice().is_ok_and(|called| called.starts_with(b"GNU"));
                let id = contents.to_slice().ok().filter(|_| is_gnu)?.get(..id as usize)?.to_vec();
                return Some(id);
            }
        }
        None
    }

    fn read_sections(&mut self, tables: &Tables) -> Result<(), SymbolError> {
        let (offset, size, mut count) =
            (tables.sections.0, tables.sections.1, tables.sections.2.into());
        let mut names = u32::from(tables.names);
        if offset == 0 {
            return Ok(());
        }
        let first = self.section(offset, size)?;
        // Counts that do not fit into the header are in the first section.
        if count == 0 {
            count = first.0.size;
        }
        if names == 0xffff {
            names = first.0.link;
        }
        if count > MOST_SECTIONS {
            let what = format_args!("it has {count} sections, more than a program has");
            return Err(SymbolError::new(&self.path, Some(offset), what));
        }
        let mut sections = Vec::new();
        for index in 0..count {
            let at = offset.saturating_add(index.saturating_mul(size.into()));
            sections.push(self.section(at, size)?);
        }
        let table = sections.get(names as usize).map(|(section, _)| section.clone());
        let table = table.and_then(|table| self.bytes.range(table.offset, table.size));
        for (section, name) in &mut sections {
            section.name = self.name(table.as_ref(), *name).unwrap_or_default();
        }
        self.sections = sections.into_iter().map(|(section, _)| section).collect();
        if self.build_id.is_none() {
            let mut notes = self.sections.iter().filter(|section| section.kind == SECTION_NOTE);
            self.build_id = notes.find_map(|notes| self.note(notes.offset, notes.size));
        }
        Ok(())
    }

    /// A section, and the place of its name.
    fn section(&self, at: u64, size: u16) -> Result<(Section, u32), SymbolError> {
        let Some(mut entry) = self.bytes.range(at, size.into()) else {
            let what = "its section headers are behind the end of the file";
            return Err(SymbolError::new(&self.path, Some(at), what));
        };
        let mut read = || -> gimli::Result<(Section, u32)> {
            let (name, kind) = (entry.read_u32()?, entry.read_u32()?);
            let flags = word(&mut entry, self.is_64)?;
            let address = word(&mut entry, self.is_64)?;
            let offset = word(&mut entry, self.is_64)?;
            let size = word(&mut entry, self.is_64)?;
            let link = entry.read_u32()?;
            let unnamed = String::new();
            Ok((Section { name: unnamed, kind, flags, address, offset, size, link }, name))
        };
        read().map_err(|error| self.damaged("a section header", &error))
    }

    /// A text in a table of texts.
    pub fn name(&self, table: Option<&Bytes>, at: u32) -> Option<String> {
        let mut text = table?.clone();
        text.skip(at.into()).ok()?;
        let text = text.read_null_terminated_slice().ok()?;
        text.to_string_lossy().ok().map(|text| text.into_owned())
    }

    /// The section with a name, if it has contents.
    pub fn section_named(&self, name: &str) -> Option<&Section> {
        let mut sections = self.sections.iter();
        sections.find(|section| section.kind != SECTION_NO_BITS && section.name == name)
    }

    /// Whether the file has DWARF.
    pub fn has_debug(&self) -> bool {
        [".debug_info", ".zdebug_info"].iter().any(|name| self.section_named(name).is_some())
    }
}
