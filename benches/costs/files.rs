//! Imports of many files, compared with one file with the same packets.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;
use timebase_lab::synth::{Form, Set};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::child::Cost;
use crate::pairs::{Pairs, median};
use crate::program::import;
use crate::table::{Row, Table, Target};
use crate::traces::need_space;
use crate::{Bench, Result, progress};

const FILES: u32 = 20;
const RUNS: usize = 3;
const MEMORY: Target = Target::Memory(64_000_000);
/// All packets as one file, as many files, and in two archives; and a database with its temporary
/// files.
const SPACE: u64 = 4 + 5;

pub fn run(bench: &Bench, table: &mut Table) -> Result<()> {
    let bytes: u64 = bench.size(1_000_000_000, 20_000_000);
    need_space(bench, bytes * SPACE)?;
    let one = Inputs::generate(bench, Form::Together, bytes)?;
    let many = Inputs::generate(bench, Form::Processes, bytes)?;
    let (zip, tar) = (many.packed(bench, "zip", zip)?, many.packed(bench, "tar", tar)?);
    let megabytes = bytes / 1_000_000;
    let files = format!("{FILES} files of {} MB", megabytes / u64::from(FILES));
    let mut imports = [
        (format!("one file of {megabytes} MB"), &one),
        (format!("{files}, as arguments"), &many),
        (format!("{files} in a zip"), &zip),
        (format!("{files} in a tar"), &tar),
    ]
    .map(|(name, inputs)| Imports { name, inputs, costs: Vec::new() });
    for _ in 0..RUNS {
        for import in &mut imports {
            import.once_more(bench)?;
        }
    }
    let [one, many @ ..] = &imports;
    table.add(one.row());
    for import in many {
        table.add(import.row_against(one));
    }
    Ok(())
}

/// The input of an import: always the same packets.
struct Inputs {
    files: Vec<PathBuf>,
    packets: u64,
}

impl Inputs {
    fn generate(bench: &Bench, form: Form, bytes: u64) -> Result<Inputs> {
        progress(format_args!("generating {} MB of {FILES} processes", bytes / 1_000_000));
        let set = Set::of(form);
        let set = Set { machine: set.machine.clone().bytes(bytes), processes: FILES, ..set };
        let place = |name: &str| bench.directory().join(name);
        let made = timebase_lab::synth::write_set(&set, |name| File::create(place(name)))?;
        Ok(Inputs {
            files: set.files().iter().map(|name| place(name)).collect(),
            packets: made.files.iter().map(|file| file.packets).sum(),
        })
    }

    fn packed(&self, bench: &Bench, kind: &str, pack: Pack) -> Result<Inputs> {
        progress(format_args!("packing them into a {kind}"));
        let archive = bench.directory().join(format!("files.{kind}"));
        pack(&archive, &self.files)?;
        Ok(Inputs { files: vec![archive], packets: self.packets })
    }
}

impl Drop for Inputs {
    fn drop(&mut self) {
        for file in &self.files {
            let _ = std::fs::remove_file(file);
        }
    }
}

/// The number of packets, none of which may be unresolved.
const PLACED: &str = "
    SELECT (SELECT count(*) FROM packet) -
           (SELECT count(*) FROM packet WHERE unresolved IS NOT NULL)";

/// A way to import the packets, and its cost.
struct Imports<'a> {
    name: String,
    inputs: &'a Inputs,
    costs: Vec<Cost>,
}

impl Imports<'_> {
    fn once_more(&mut self, bench: &Bench) -> Result<()> {
        progress(format_args!("importing {}", self.name));
        let database = bench.directory().join("files.db");
        self.costs.push(import(&self.inputs.files, &database)?);
        let conn = Connection::open(&database)?;
        let placed: i64 = conn.query_row(PLACED, [], |row| row.get(0))?;
        assert_eq!(placed, i64::try_from(self.inputs.packets)?, "packets");
        Ok(std::fs::remove_file(&database)?)
    }

    fn times(&self) -> Vec<Duration> {
        self.costs.iter().map(|cost| cost.time).collect()
    }

    fn row(&self) -> Row {
        let memory = self.costs.iter().map(|cost| cost.peak_memory).max();
        Row::new(&self.name)
            .time(median(&self.times()))
            .count(self.inputs.packets)
            .memory(memory.unwrap_or_default())
            .target(MEMORY)
    }

    fn row_against(&self, one: &Imports<'_>) -> Row {
        let pairs = Pairs { ours: self.times(), yardstick: one.times() };
        self.row().pairs(&pairs, "one file with the same packets")
    }
}

/// Makes an archive of files.
type Pack = fn(&Path, &[PathBuf]) -> Result<()>;

/// Nothing is compressed, so that only the archive makes a difference.
fn zip(archive: &Path, files: &[PathBuf]) -> Result<()> {
    let mut zip = ZipWriter::new(BufWriter::new(File::create(archive)?));
    let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    for file in files {
        zip.start_file(name(file), stored)?;
        std::io::copy(&mut BufReader::new(File::open(file)?), &mut zip)?;
    }
    zip.finish()?.flush()?;
    Ok(())
}

fn tar(archive: &Path, files: &[PathBuf]) -> Result<()> {
    let mut tar = tar::Builder::new(BufWriter::new(File::create(archive)?));
    for file in files {
        tar.append_path_with_name(file, name(file))?;
    }
    tar.into_inner()?.flush()?;
    Ok(())
}

fn name(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}
