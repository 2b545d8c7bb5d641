//! Runs of this program for each of many traces, several at a time.
//!
//! # Design
//!
//! Each trace gets a process of its own, so its memory returns to the system, and a trace that ends the process ends
//! no other. The alternative was threads of one process: they share the limit of memory and the temporary directory,
//! and a crash would lose the results of all.
//!
//! The processes put temporary files into the temporary directory of this one, so nothing stays if one is killed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::{fs, io, thread};

use anyhow::{Context, bail};

use crate::children::Children;
use crate::progress::{self, Counts, Progress};
use crate::signals::Signals;

/// The way to run the jobs.
pub struct Settings {
    /// The number that runs at a time; the default is one for each processor.
    pub at_once: Option<usize>,
    pub progress: Progress,
    /// The place of temporary files of all processes.
    pub temporary: PathBuf,
    /// The work, as lines of progress name it.
    pub phase: &'static str,
}

/// Calls `job` for each trace and its index, several at a time, and `each` with the results, in the order of the
/// traces.
///
/// # Errors
///
/// If a signal comes, or the progress cannot be shown. A job that fails ends no other.
pub fn run<T: Send>(
    traces: &[PathBuf],
    settings: &Settings,
    signals: &Signals,
    job: impl Fn(usize, &Path, &Children) -> anyhow::Result<T> + Sync,
    mut each: impl FnMut(usize, anyhow::Result<T>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let children = Arc::new(Children::new(settings.temporary.clone()));
    let at_once = settings.at_once.unwrap_or_else(processors).min(traces.len()).max(1);
    let counts = Arc::new(Counts::new(settings.phase, traces.len()));
    let work = || {
        let next = AtomicUsize::new(0);
        thread::scope(|scope| {
            // A few results wait at most, so that they do not fill the memory.
            let (send, results) = mpsc::sync_channel(at_once);
            for _ in 0..at_once {
                let (send, next, job, children) = (send.clone(), &next, &job, &children);
                scope.spawn(move || {
                    loop {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        let Some(trace) = traces.get(index) else { return };
                        if send.send((index, job(index, trace, children))).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(send);
            in_order(&results, &children, &counts, &mut each)
        })
    };
    let done = signals.during_jobs(&children, || {
        progress::shown_jobs(settings.progress, &counts, &children, work)
    })?;
    if signals.came() {
        bail!("interrupted");
    }
    done
}

fn processors() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Calls `each` with the results in the order of their numbers. Results that come early wait.
fn in_order<T>(
    results: &mpsc::Receiver<(usize, anyhow::Result<T>)>,
    children: &Children,
    counts: &Counts,
    each: &mut impl FnMut(usize, anyhow::Result<T>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut early = BTreeMap::new();
    let mut next = 0;
    let mut failure = Ok(());
    for (index, result) in results {
        counts.one_more(result.is_err());
        early.insert(index, result);
        while let Some(result) = early.remove(&next) {
            if failure.is_ok() && !children.is_over() {
                failure = each(next, result);
                if failure.is_err() {
                    children.stop();
                }
            }
            next += 1;
        }
    }
    failure
}

/// The traces below a folder, in the order of their names: all files but hidden ones, and databases beside their
/// trace. Names with `_` in front are of other programs, as in folders of tables.
pub fn below(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    collect(folder, &mut found)
        .with_context(|| format!("cannot list the folder {}", folder.display()))?;
    found.sort();
    let stems: BTreeSet<PathBuf> = found
        .iter()
        .filter(|path| path.extension().is_none_or(|extension| extension != "db"))
        .map(|path| stem(path))
        .collect();
    found.retain(|path| {
        path.extension().is_none_or(|extension| extension != "db") || !stems.contains(&stem(path))
    });
    if found.is_empty() {
        bail!("there are no traces in the folder {}", folder.display());
    }
    Ok(found)
}

/// The path without the extensions that `import` leaves out of a database's name.
fn stem(path: &Path) -> PathBuf {
    let compressed = path.extension().is_some_and(|ending| ending == "gz" || ending == "zst");
    let path = if compressed { path.with_extension("") } else { path.to_owned() };
    path.with_extension("")
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().as_encoded_bytes().starts_with(b".")
            || entry.file_name().as_encoded_bytes().starts_with(b"_")
        {
            continue;
        }
        let path = entry.path();
        let kind = fs::metadata(&path)?;
        // A link to a folder may lead back up.
        if kind.is_dir() && !entry.file_type()?.is_symlink() {
            collect(&path, found)?;
        } else if kind.is_file() {
            found.push(path);
        }
    }
    Ok(())
}

/// The line about a trace that failed.
pub fn failure(trace: &Path, error: &anyhow::Error) -> String {
    let text = format!("{error:#}");
    named(trace, text.lines().next().unwrap_or_default())
}

/// A sentence about a trace, with its name.
pub fn named(trace: &Path, text: &str) -> String {
    let name = trace.display().to_string();
    match text.contains(&name) {
        true => text.to_owned(),
        false => format!("{name}: {text}"),
    }
}
