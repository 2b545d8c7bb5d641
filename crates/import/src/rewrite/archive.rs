//! The zip of several files that are written (rule RW9).
//!
//! # Design
//!
//! Files are read in the order of their names, and are in the zip in their original order. So each file is
//! stored temporarily until all are written. A file that was compressed is compressed again, because
//! compression affects the order of reading (rule X5).

use std::io::{self, BufWriter, Seek, Write};

use timebase_store::sort::{Quota, Scratch, ScratchFile};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use super::output::{Output, Packing};
use super::packed::{BUFFER, Counted, Written};
use super::several::Several;

/// The written files, each in a temporary file.
pub(crate) struct Members {
    scratch: Scratch,
    written: Vec<Member>,
}

struct Member {
    /// The id of the file that was read.
    id: usize,
    name: String,
    file: ScratchFile,
    packing: Packing,
}

/// The manifest of a zip: its name, its place among the files that were read, and its text.
pub(crate) struct Statement {
    pub name: String,
    pub id: Option<usize>,
    pub text: String,
}

impl Members {
    pub fn new(scratch: &Scratch) -> Members {
        Members { scratch: scratch.clone(), written: Vec::new() }
    }

    /// Begins the next file.
    ///
    /// # Errors
    ///
    /// If there is no room for it.
    pub fn begin(&self, packing: Packing) -> io::Result<Output> {
        // A temporary file counts itself.
        Output::new(Written::Aside(self.scratch.file()?), packing, &Quota::default())
    }

    /// Ends a file. A file without packets is left out.
    ///
    /// # Errors
    ///
    /// If the rest of it cannot be written.
    pub fn end(
        &mut self,
        id: usize,
        name: String,
        packing: Packing,
        output: Output,
    ) -> io::Result<()> {
        let is_empty = output.is_empty();
        if let (Written::Aside(mut file), _) = output.finish()?
            && !is_empty
        {
            file.rewind()?;
            self.written.push(Member { id, name, file, packing });
        }
        Ok(())
    }

    /// Writes all of them into a zip, with the manifest.
    ///
    /// # Errors
    ///
    /// If the disk or a limit does not take it.
    pub fn zip(self, several: Several, file: Written, quota: &Quota) -> io::Result<Counted> {
        let (name, id) = (several.name.clone(), several.id);
        let is_written = |name: &str| self.written.iter().any(|member| member.name == name);
        let text = several.text(is_written);
        self.zip_with(&Statement { name, id, text }, file, quota)
    }

    /// Writes all of them into a zip, with a manifest as it is.
    ///
    /// # Errors
    ///
    /// If the disk or a limit does not take it.
    pub fn zip_with(
        mut self,
        manifest: &Statement,
        file: Written,
        quota: &Quota,
    ) -> io::Result<Counted> {
        let Statement { name, id, text: manifest } = manifest;
        let writer = BufWriter::with_capacity(BUFFER, Counted::new(file, quota));
        let mut zip = ZipWriter::new(writer);
        self.written.sort_by_key(|member| member.id);
        let is_before = |member: &Member| id.is_none_or(|id| member.id < id);
        let behind = self.written.partition_point(is_before);
        let behind = self.written.split_off(behind);
        for member in self.written {
            put(&mut zip, member)?;
        }
        zip.start_file(name, options(Packing::Plain, manifest.len() as u64))?;
        zip.write_all(manifest.as_bytes())?;
        for member in behind {
            put(&mut zip, member)?;
        }
        zip.finish()?.into_inner().map_err(|error| error.into_error())
    }
}

fn put(zip: &mut ZipWriter<BufWriter<Counted>>, mut member: Member) -> io::Result<()> {
    let size = member.file.seek(io::SeekFrom::End(0))?;
    member.file.rewind()?;
    zip.start_file(&member.name, options(member.packing, size))?;
    io::copy(&mut member.file, zip).map(drop)
}

fn options(packing: Packing, size: u64) -> SimpleFileOptions {
    SimpleFileOptions::default()
        .compression_method(match packing {
            Packing::Plain => CompressionMethod::Deflated,
            Packing::Gzip | Packing::Zstd => CompressionMethod::Stored,
        })
        .last_modified_time(DateTime::default())
        .large_file(size >= LARGE)
}

/// From this size on, a file may need more than 32 bits for its size, deflated or not.
const LARGE: u64 = 0xf000_0000;
