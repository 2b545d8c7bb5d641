//! The imported traces.

use std::fs::File;
use std::path::{Path, PathBuf};

use nix::sys::statvfs::statvfs;
use rusqlite::Connection;
use timebase_lab::synth::{Settings, Summary, Truth};

use crate::{Bench, Result, progress};

/// A trace file. A generated one is removed when it is no longer needed.
pub struct Trace {
    pub path: PathBuf,
    /// Its contents, if the generator made it.
    pub made: Option<Summary>,
    /// Whether it belongs to the user.
    is_kept: bool,
}

impl Trace {
    pub fn generate(bench: &Bench, name: &str, settings: &Settings) -> Result<Trace> {
        let (path, mut file) = create(bench, name)?;
        let made = timebase_lab::synth::write(settings, &mut file)?;
        Ok(Trace::generated(path, made))
    }

    pub fn generate_with_truth(
        bench: &Bench,
        name: &str,
        settings: &Settings,
    ) -> Result<(Trace, Vec<Truth>)> {
        let (path, mut file) = create(bench, name)?;
        let mut truths = Vec::new();
        let made = timebase_lab::synth::write_with_truth(settings, &mut file, &mut |truth| {
            truths.push(truth);
            Ok(())
        })?;
        Ok((Trace::generated(path, made), truths))
    }

    /// The user's trace.
    pub fn of_file(path: &Path) -> Trace {
        Trace { path: path.into(), made: None, is_kept: true }
    }

    /// A trace that the benchmark itself wrote.
    pub fn of_bench(path: PathBuf) -> Trace {
        Trace { path, made: None, is_kept: false }
    }

    fn generated(path: PathBuf, made: Summary) -> Trace {
        Trace { path, made: Some(made), is_kept: false }
    }

    /// Fails if the import does not match the generated trace.
    pub fn check(&self, found: &timebase_import::Summary) {
        let Some(made) = &self.made else {
            return;
        };
        assert_eq!(found.packets, made.packets, "packets");
        assert_eq!(found.snapshots, made.snapshots + made.pairs, "snapshots");
        assert_eq!(found.rejected_snapshots, 0, "rejected snapshots");
        assert_eq!(found.source_bytes, made.bytes, "bytes");
    }

    /// Fails if the database does not have all generated events.
    pub fn check_events(&self, database: &Path) -> Result<()> {
        let Some(made) = &self.made else {
            return Ok(());
        };
        let conn = Connection::open(database)?;
        let count = "SELECT (SELECT count(*) FROM ftrace_record) \
             + (SELECT count(*) FROM ftrace_partial) + (SELECT count(*) FROM android_logs)";
        let found: i64 = conn.query_row(count, [], |row| row.get(0))?;
        let made = i64::try_from(made.events + made.lines)?;
        assert_eq!(found, made, "events and lines of the log");
        Ok(())
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        if !self.is_kept {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Begins a trace file.
pub fn create(bench: &Bench, name: &str) -> Result<(PathBuf, File)> {
    progress(format_args!("generating the trace '{name}'"));
    let path = bench.directory().join(format!("{name}.pftrace"));
    let file = File::create(&path)?;
    Ok((path, file))
}

/// Fails if the disk does not have this many free bytes.
pub fn need_space(bench: &Bench, needed: u64) -> Result<()> {
    let directory = bench.directory();
    let disk = statvfs(directory)?;
    // Their types differ between systems.
    #[allow(clippy::unnecessary_cast)]
    let free = disk.blocks_available() as u64 * disk.fragment_size() as u64;
    if free >= needed {
        return Ok(());
    }
    let gigabytes = |bytes: u64| bytes as f64 / 1e9;
    Err(format!(
        "{} has {:.1} GB of free space, and {:.1} GB are needed; name another place with \
         --directory, run less with --quick, or name the sections to run",
        directory.parent().unwrap_or(directory).display(),
        gigabytes(free),
        gigabytes(needed),
    )
    .into())
}
