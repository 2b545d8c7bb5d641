//! Names for the frames of callstacks: from ELF files with symbols or DWARF, and from the mappings of R8 and ProGuard.
//!
//! | question | decided in |
//! |---|---|
//! | the file of a module (rules SB1 to SB3) | `files.rs` |
//! | the address in a file (rule SB4) | `look_up.rs` |
//! | functions, inlined ones and lines (rule SB5) | `debug.rs`, `table.rs` |
//! | ELF: headers, compressed sections | `elf.rs`, `contents.rs` |
//! | how files are read | `bytes.rs`, `pages.rs` |
//! | the classes of a mapping (rules DM) | `mapping.rs` |
//!
//! # Design
//!
//! The addresses of a file are looked up together and in order. A file is read by pages, of which 64 MiB stay in memory,
//! so neither a browser's gigabytes of DWARF nor a million symbols have to fit. A mapped file was rejected: it needs
//! unsafe code, and the process ends if somebody shortens the file.
//!
//! The crates `addr2line` and `gimli` decode DWARF. They take any reader, are maintained with each other, and are what
//! the standard library prints its backtraces with. They are 2 packages, which take 5 s of a processor to build. With the
//! features that matter here, `symbolic` is 119 packages, and `wholesym` 209. For 2,000 functions of a program with 205 MB,
//! mostly DWARF, the debug build of this crate takes 0.7 s and 310 MB of memory, `llvm-symbolizer` 0.6 s and 470 MB, and `addr2line` of
//! binutils 11 s and 1.2 GB. The functions are those of `llvm-symbolizer`, but for two that have several names.
//!
//! `symbolic` turns a whole file into a cache first, which pays if many traces ask for one file. `wholesym` also asks
//! servers, and an import does not go into a network. For mappings, there is `proguard`. It is 24 packages, which
//! take 16 s of a processor, needs the file in memory, and resolves stack traces, not the classes of a heap. `mapping.rs` reads
//! lines as they come.

mod bytes;
mod contents;
mod debug;
mod elf;
mod error;
mod files;
mod line;
mod look_up;
mod mapping;
mod pages;
mod table;

pub use error::SymbolError;
pub use files::{FoundFiles, Module, SymbolFile, SymbolFiles};
pub use line::Line;
pub use look_up::{Loaded, LookedUp};
pub use mapping::{Class, MappingError, MappingFile, Member};
