//! The mappings from obfuscated names to those of the source: `deobfuscation_mapping` of the trace, and the files of
//! the user (rules DM). Frames and Java heaps take their names from them.
//!
//! # Design
//!
//! A mapping holds for everything before and after it. A mapping of R8 may have 50 MB, so those of the trace wait on
//! disk, and files are read again at the end. Only the classes that something has are given.

use std::io;

use rustc_hash::FxHashSet;
use timebase_schema::fields::{
    deobfuscation_mapping as mapping, obfuscated_class as class, obfuscated_member as member,
};
use timebase_store::sort::{Scratch, Sorter};
use timebase_symbols::{Class, MappingFile, Member};

use crate::message::{Message, text};

/// The mappings of the trace, in the order of time.
#[derive(Default)]
pub(super) struct Mappings {
    waiting: Option<Sorter<i64>>,
    count: i64,
}

/// A mapping that a class is of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Source<'m> {
    /// The package that it holds for; `None` if it names none.
    pub package: Option<&'m str>,
    /// The place of a file among those of the user; `None` for a mapping of the trace, whose names are before those of
    /// files (rule DM3).
    pub file: Option<usize>,
}

impl Source<'_> {
    /// Whether it names something that may have a name: the trace comes before files, the first file before others.
    pub fn may_name(&self, is_named: bool) -> bool {
        self.file.is_none() || !is_named
    }
}

impl std::fmt::Debug for Mappings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mappings").field("count", &self.count).finish_non_exhaustive()
    }
}

impl Mappings {
    /// Adds a mapping of the trace.
    ///
    /// # Errors
    ///
    /// If it cannot be stored.
    pub fn add(&mut self, payload: &[u8], scratch: &Scratch) -> io::Result<()> {
        let place = self.count;
        self.count += 1;
        self.waiting.get_or_insert_with(|| Sorter::new(scratch)).push(place, payload)
    }

    /// Whether there is no mapping, in the trace or in a file.
    pub fn are_none(&self, files: &[MappingFile]) -> bool {
        self.waiting.is_none() && files.is_empty()
    }

    /// Gives all classes with wanted obfuscated names: those of the trace's mappings, then those of files.
    ///
    /// # Errors
    ///
    /// If a mapping cannot be read back.
    pub fn each(
        self,
        files: &[MappingFile],
        wanted: &FxHashSet<&str>,
        mut give: impl FnMut(Source<'_>, &Class),
    ) -> io::Result<()> {
        if let Some(waiting) = self.waiting {
            waiting.finish(|_, payload| {
                let message = Message(payload);
                let package = message.text(mapping::PACKAGE_NAME);
                let package = package.as_deref().filter(|package| !package.is_empty());
                for of in message.messages(mapping::OBFUSCATED_CLASSES) {
                    let obfuscated = of.text(class::OBFUSCATED_NAME).unwrap_or_default();
                    if wanted.contains(&*obfuscated) {
                        give(Source { package, file: None }, &class_of(of));
                    }
                }
                io::Result::Ok(())
            })?;
        }
        for (place, file) in files.iter().enumerate() {
            let source = Source { package: file.package.as_deref(), file: Some(place) };
            let read = file.each(|class| wanted.contains(class), |class| give(source, &class));
            read.map_err(io::Error::other)?;
        }
        Ok(())
    }
}

/// An `ObfuscatedClass`.
fn class_of(message: Message<'_>) -> Class {
    let name = |number| message.text(number).unwrap_or_default().into_owned();
    Class {
        obfuscated: name(class::OBFUSCATED_NAME),
        original: name(class::DEOBFUSCATED_NAME),
        fields: message.messages(class::OBFUSCATED_MEMBERS).map(member_of).collect(),
        methods: message.messages(class::OBFUSCATED_METHODS).map(member_of).collect(),
    }
}

/// An `ObfuscatedMember`. Where one end of a range is absent, the range has no such end.
fn member_of(message: Message<'_>) -> Member {
    let name = |number| message.bytes(number).map(text).unwrap_or_default().into_owned();
    let line = |number| message.small(number);
    let lines = (line(member::OBFUSCATED_LINE_START), line(member::OBFUSCATED_LINE_END));
    Member {
        obfuscated: name(member::OBFUSCATED_NAME),
        original: name(member::DEOBFUSCATED_NAME),
        lines: match lines {
            (None, None) => None,
            (first, last) => Some((first.unwrap_or(0), last.unwrap_or(u32::MAX))),
        },
        source: line(member::SOURCE_LINE_START).map(|start| (start, line(member::SOURCE_LINE_END))),
    }
}
