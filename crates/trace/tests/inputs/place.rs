//! A directory for a test, and the contents of the inputs in it.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use timebase_store::sort::{Quota, Scratch};
use timebase_trace::{
    ArchiveDamage, Input, Inputs, InputsError, Monitor, PERFETTO, Reads, Source, TraceFile,
};

pub const PACKET: &[u8] = b"\n\x02X\x01";

/// This many packets.
pub fn packets(count: usize) -> Vec<u8> {
    PACKET.repeat(count)
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), Default::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 0).unwrap()
}

/// A file after reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadFile {
    pub file: TraceFile,
    pub bytes: Vec<u8>,
    pub damage: Option<String>,
    pub size: u64,
    pub sha256: Option<String>,
}

impl ReadFile {
    pub fn name(&self) -> &str {
        self.file.name.as_deref().unwrap()
    }
}

/// The contents of all inputs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadAll {
    pub files: Vec<TraceFile>,
    /// In the order of processing.
    pub read: Vec<ReadFile>,
    pub damage: Vec<ArchiveDamage>,
    pub total: Option<u64>,
}

impl ReadAll {
    /// Names and bytes, in the order of processing.
    pub fn contents(&self) -> Vec<(String, Vec<u8>)> {
        let pair = |file: &ReadFile| (file.name().to_owned(), file.bytes.clone());
        self.read.iter().map(pair).collect()
    }

    pub fn names(&self) -> Vec<&str> {
        self.read.iter().map(ReadFile::name).collect()
    }
}

/// All bytes, except for damaged parts.
pub fn read_to_end(input: &mut Input<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 1000];
    loop {
        match input.reader.read(&mut chunk) {
            Ok(0) => return bytes,
            Ok(size) => bytes.extend_from_slice(&chunk[..size]),
            Err(error) if error.kind() == ErrorKind::InvalidData => {}
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return bytes,
            Err(error) => panic!("{error}"),
        }
    }
}

pub struct Place {
    directory: TempDir,
    pub quota: Quota,
}

impl Place {
    pub fn new() -> Place {
        let memory = Path::new("/dev/shm");
        let directory = match memory.is_dir() {
            true => tempfile::tempdir_in(memory),
            false => tempfile::tempdir(),
        };
        Place { directory: directory.unwrap(), quota: Quota::of(100 << 20) }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn write(&self, name: &str, bytes: &[u8]) -> Source {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        Source::File(path)
    }

    /// A pipe with a writer.
    pub fn pipe(&self, name: &str, bytes: &[u8]) -> Source {
        let path = self.path(name);
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.unwrap().success());
        let (to, bytes) = (path.clone(), bytes.to_vec());
        // The reader may stop.
        std::thread::spawn(move || {
            let _ = fs::write(to, bytes);
        });
        Source::File(path)
    }

    pub fn scratch(&self) -> Scratch {
        Scratch::new(self.directory.path(), &self.quota)
    }

    pub fn open<'a>(
        &self,
        sources: &[Source],
        manifest: Option<&Source>,
        reads: Reads,
        monitor: &'a Monitor,
    ) -> Result<Inputs<'a>, InputsError> {
        let manifest = manifest.map(|source| match source {
            Source::File(path) => path.as_path(),
            _ => panic!(),
        });
        Inputs::open(sources, manifest, &[PERFETTO], reads, &self.scratch(), monitor)
    }

    pub fn read_with(
        &self,
        sources: &[Source],
        manifest: Option<&Source>,
        reads: Reads,
    ) -> Result<ReadAll, InputsError> {
        let monitor = Monitor::default();
        let mut inputs = self.open(sources, manifest, reads, &monitor)?;
        let files = inputs.files().to_vec();
        let mut read = Vec::new();
        for id in inputs.order().to_vec() {
            let ahead = match reads {
                Reads::Again => Some(read_to_end(&mut inputs.open_ahead(id)?)),
                Reads::Once => None,
            };
            let mut input = inputs.open_file(id)?;
            assert_eq!(input.compression(), files[id].compression);
            let bytes = read_to_end(&mut input);
            assert!(ahead.is_none_or(|ahead| ahead == bytes));
            if let Some(failure) = input.failed() {
                return Err(failure.into());
            }
            let digested = input.digest();
            read.push(ReadFile {
                file: files[id].clone(),
                bytes,
                damage: input.damage(),
                size: digested.size,
                sha256: digested.sha256,
            });
        }
        let all = ReadAll { files, read, damage: inputs.damage().to_vec(), total: inputs.total() };
        well_formed(&all);
        Ok(all)
    }

    pub fn read(&self, sources: &[Source]) -> Result<ReadAll, InputsError> {
        let once = self.read_with(sources, None, Reads::Once);
        let is_file = |source: &Source| matches!(source, Source::File(path) if path.is_file());
        if sources.iter().all(is_file) {
            let again = self.read_with(sources, None, Reads::Again);
            assert_eq!(format!("{once:?}"), format!("{again:?}"));
        }
        once
    }

    /// The contents of a file with these bytes, read in each way.
    pub fn read_bytes(&self, bytes: &[u8]) -> Result<ReadAll, InputsError> {
        self.read(&[self.write("input", bytes)])
    }
}

/// Properties of all inputs.
fn well_formed(all: &ReadAll) {
    for (id, file) in all.files.iter().enumerate() {
        assert_eq!(file.id, id);
        assert_eq!(file.parent.is_none(), id == 0);
        assert_eq!(file.is_container, file.processing_order.is_none());
        assert!(!file.is_container || id == 0);
    }
    for (place, read) in all.read.iter().enumerate() {
        assert_eq!(read.file.processing_order, Some(place));
        let is_whole = read.damage.is_none() && read.sha256.is_some() && all.damage.is_empty();
        if is_whole && let Some(size) = read.file.size {
            assert_eq!(read.size, size, "{}", read.name());
        }
    }
    assert_eq!(all.read.len(), all.files.iter().filter(|file| !file.is_container).count());
}
