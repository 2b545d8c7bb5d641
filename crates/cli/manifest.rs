//! `timebase manifest`: a manifest to start from, filled with what traces say of themselves.
//!
//! # Design
//!
//! What is printed changes nothing: an import with it has the machines and the times of an import without. So it
//! says what is so, and what the user knows better is changed in it; what that may be is said on standard
//! error, with the fields to add. To name two files' machines by what they are called was the alternative, where
//! both record the host: it would place one of them anew, on no more than a guess.
//!
//! | question | where it is decided |
//! |---|---|
//! | what a trace says of its machines | `manifest/scan.rs` |
//! | what the manifest says, and what one may want to add | `manifest/draft.rs` |

mod draft;
mod scan;

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail};
use timebase_trace::{Monitor, Source};

use crate::flags::{ManifestArguments, wrong_usage};
use crate::messages;
use crate::progress::{self, Progress};
use crate::signals::Signals;
use draft::Draft;
use scan::Scanned;

pub fn run(
    arguments: &ManifestArguments,
    signals: &Signals,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let mut names = HashSet::new();
    let mut scanned = Vec::new();
    for trace in &arguments.traces {
        if trace == OsStr::new("-") {
            wrong_usage(
                "manifest",
                "a manifest names files, and standard input has no name",
            );
        }
        let name = name(trace)?;
        if !names.insert(name.clone()) {
            bail!(
                "two files are called {name}: in a manifest and in an import of both they need different names"
            );
        }
        scanned.push(scan(trace, name, signals)?);
    }
    let draft = Draft::of(scanned);
    for note in &draft.notes {
        messages::say(format_args!("timebase: note: {note}"));
    }
    write!(out, "{}", draft.manifest)?;
    Ok(())
}

/// What a manifest calls a file (rule X1).
fn name(trace: &Path) -> anyhow::Result<String> {
    let name = trace.file_name().and_then(OsStr::to_str);
    let name = name.with_context(|| {
        let trace = trace.display();
        format!("{trace} has no name that a manifest can hold, which is text: rename it")
    });
    Ok(name?.to_owned())
}

/// Reads one of the arguments, and shows how far it is.
fn scan(trace: &Path, name: String, signals: &Signals) -> anyhow::Result<Scanned> {
    let source = Source::File(trace.to_owned());
    let monitor = Arc::new(Monitor::default());
    let file = fs::metadata(trace).ok();
    let size = file
        .filter(fs::Metadata::is_file)
        .map(|metadata| metadata.len());
    signals.during_import(&monitor, || {
        progress::shown(Progress::Auto, &monitor, size, || {
            scan::scan(&source, name, &monitor)
        })
    })?
}
