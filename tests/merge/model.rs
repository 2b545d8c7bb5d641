//! The required result of importing several files, written as plainly as possible from the rules.
//! It shares no code with the product.
//!
//! # Design
//!
//! Packets are read from bytes, one after the other; each rule is answered from everything that was
//! read before. The only state is the accepted snapshots, and facts that do not follow from the
//! past: whether a part is isolated, which path is settled, which times wait.

use super::archive::{self, File};
use super::graph::{Clock, Graph, Reason};
use super::import::Import;
use super::manifest::Manifest;
use std::io::Read;

/// A row of `packet`.
#[derive(Clone, Debug, PartialEq)]
pub struct PacketRow {
    pub file: String,
    pub number: usize,
    /// `machine.raw_id`; none of a synchronization_marker without a machine.
    pub machine: Option<u64>,
    pub ts: Option<i64>,
    pub unresolved: Option<Reason>,
    /// The clock of its time, unless that comes from a snapshot or counts as trace time.
    pub clock: Option<(Clock, i128)>,
    /// The times of its ftrace events.
    pub events: Vec<Option<i64>>,
    pub payload: Option<u32>,
}

/// A row of `remote_clock_sync` (X24).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sample {
    pub packet: usize,
    pub machine: u64,
    pub clock: u32,
    pub host_value: i64,
    pub offset: i64,
    pub half_round_trip: i64,
}

/// The rows of `clock_snapshot` of one snapshot.
#[derive(Clone, Debug, PartialEq)]
pub struct SnapshotRows {
    pub source: String,
    pub readings: Vec<ReadingRow>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReadingRow {
    /// The file that owns it, if the machine does not.
    pub file: Option<String>,
    pub raw_id: u64,
    pub clock_id: u32,
    pub seq_id: u32,
    pub value: i64,
    pub ts: Option<i64>,
}

/// A row of `machine`.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    pub raw_id: u64,
    pub name: Option<String>,
}

#[derive(Clone, Debug)]
pub struct Imported {
    pub machines: Vec<Machine>,
    /// The names of the inputs in the order of processing, without skipped ones (X2).
    pub files: Vec<String>,
    pub packets: Vec<PacketRow>,
    pub samples: Vec<Sample>,
    pub snapshots: Vec<SnapshotRows>,
    pub graph: Graph,
    pub trace_time: Option<Clock>,
}

/// The type of an input file (X3), in the order of X4.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Manifest,
    Trace,
    Compressed,
    Unknown,
}

fn class(bytes: &[u8]) -> Option<Class> {
    let head = &bytes[..bytes.len().min(128)];
    let white = |byte: &&u8| !byte.is_ascii_whitespace();
    let head: Vec<u8> = head.iter().filter(white).copied().collect();
    if bytes.starts_with(b"PK\x03\x04") || bytes.get(257..262) == Some(b"ustar") {
        None
    } else if bytes.starts_with(&[0x1f, 0x8b]) || bytes.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        Some(Class::Compressed)
    } else if head.starts_with(b"{\"perfetto_manifest\"") {
        Some(Class::Manifest)
    } else if bytes.first() == Some(&0x0a) {
        Some(Class::Trace)
    } else {
        Some(Class::Unknown)
    }
}

fn decompressed(bytes: &[u8]) -> Vec<u8> {
    if bytes.starts_with(&[0x1f, 0x8b]) {
        let mut inner = Vec::new();
        let mut stream = flate2::read::MultiGzDecoder::new(bytes);
        stream.read_to_end(&mut inner).unwrap();
        inner
    } else {
        zstd::decode_all(bytes).unwrap()
    }
}

/// X2
fn is_hidden(name: &str) -> bool {
    let mut components = name.split('/');
    components.any(|part| part.starts_with('.') && part != "." && part != "..")
}

/// An archive, or a refusal.
pub fn import_archive(bytes: &[u8]) -> Result<Imported, String> {
    import(&archive::members(bytes))
}

/// Several files, or a refusal of them all.
pub fn import(files: &[File]) -> Result<Imported, String> {
    let mut manifest = None;
    let mut inputs: Vec<(Class, File)> = Vec::new();
    for file in files.iter().filter(|file| !is_hidden(&file.name)) {
        let Some(class) = class(&file.bytes) else {
            return Err(format!("X6: {} is an archive", file.name));
        };
        inputs.push((class, file.clone()));
    }
    // X4: stable, so that it is by position last
    inputs.sort_by(|(a, x), (b, y)| (a, x.name.as_bytes()).cmp(&(b, y.name.as_bytes())));

    let (mut traces, mut others) = (Vec::new(), Vec::new());
    for (class, file) in &inputs {
        let mut file = file.clone();
        let mut class = *class;
        if class == Class::Compressed {
            file.bytes = decompressed(&file.bytes);
            class = match self::class(&file.bytes) {
                None => return Err(format!("X6: {} is an archive", file.name)),
                Some(class) => class,
            };
            // X5
            if class == Class::Manifest && !traces.is_empty() {
                return Err("X30: the manifest comes after a trace".to_owned());
            }
        }
        match class {
            Class::Trace => traces.push(file),
            Class::Manifest if manifest.is_some() => return Err("X30: two manifests".to_owned()),
            Class::Manifest => {
                others.push(file.name);
                manifest = Some(file.bytes);
            }
            Class::Compressed | Class::Unknown => {}
        }
    }
    let manifest = match manifest {
        Some(bytes) => Manifest::read(&bytes, &traces, &others)?,
        None => Manifest::default(),
    };
    let mut import = Import::new(manifest);
    import.relate(&traces);
    for (n, file) in traces.iter().enumerate() {
        import.file(n + 1, file)?;
    }
    import.end();
    let snapshots = import.snapshot_rows(&traces);
    Ok(Imported {
        snapshots,
        machines: import.machines,
        files: inputs.into_iter().map(|(_, file)| file.name).collect(),
        packets: import.rows,
        samples: import.samples,
        graph: import.graph,
        trace_time: import.trace_time,
    })
}
