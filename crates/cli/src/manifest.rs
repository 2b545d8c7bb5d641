//! `timebase manifest`: prints a manifest to start from, with the traces' statements about their machines.
//!
//! # Design
//!
//! The printed manifest changes nothing: an import with it has the same machines and times as an import
//! without it. So it describes the current state, and the user edits it with better knowledge. Standard error
//! suggests possible changes, with the fields to add. The alternative was to name the machines of two files
//! by their own names, even if both files record the host. This would place one of them in another way, on no
//! more than a guess.
//!
//! | question | where it is decided |
//! |---|---|
//! | the trace's statements about its machines | `manifest/scan.rs` |
//! | the manifest, and the notes about possible additions | `manifest/draft.rs` |

mod draft;
mod scan;

use std::collections::HashMap;
use std::env;
use std::ffi::OsStr;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::bail;
use timebase_import::FORMATS;
use timebase_store::sort::Scratch;
use timebase_trace::{Inputs, Monitor, Pass, Reads, Source, TraceType};

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
    if arguments.traces.iter().any(|trace| trace == OsStr::new("-")) {
        wrong_usage("manifest", "a manifest needs file names, but standard input has none");
    }
    let monitor = Arc::new(Monitor::default());
    let draft = signals.during_import(&monitor, || {
        progress::shown(Progress::Auto, &monitor, None, || read(&arguments.traces, &monitor))
    })??;
    for note in &draft.notes {
        messages::say(format_args!("timebase: note: {note}"));
    }
    write!(out, "{}", draft.manifest)?;
    Ok(())
}

/// Reads all files, in the order of an import.
fn read(traces: &[PathBuf], monitor: &Monitor) -> anyhow::Result<Draft> {
    let sources: Vec<Source> = traces.iter().cloned().map(Source::File).collect();
    let scratch = Scratch::from(&env::temp_dir());
    let mut inputs = Inputs::open(&sources, None, FORMATS, Reads::Once, &scratch, monitor)?;
    monitor.begin(Pass::Only, inputs.total());

    let all = inputs.files().first();
    let is_archive = all.is_some_and(|all| all.is_container && all.kind.is_some());
    let damage = inputs.damage().iter();
    let mut notes: Vec<String> =
        damage.map(|damage| format!("{}: {}", inputs.title(0), damage.why)).collect();
    // One entry is for all files with its name (rule X32).
    let mut scanned: Vec<Scanned> = Vec::new();
    let mut places = HashMap::new();
    for id in inputs.order().to_vec() {
        let Some(file) = inputs.files().get(id).cloned() else {
            continue;
        };
        let title = inputs.title(id).to_owned();
        let kind = file.kind;
        if file.kind == Some(TraceType::Manifest) {
            bail!(
                "{title} already is a manifest, and there can be only one: change it, or leave it out"
            );
        }
        // This is the name as one of several arguments: with a manifest, a single argument becomes one of two
        // (rule X1).
        let alone = traces.first().filter(|_| file.parent.is_none());
        let name = match alone.and_then(|alone| alone.file_name()) {
            Some(name) => name.to_string_lossy().into_owned(),
            None => file.name.unwrap_or_default(),
        };
        let place = places.get(&name).copied();
        let mut file = Scanned { name: name.clone(), ..Scanned::default() };
        let known = place.and_then(|place: usize| scanned.get_mut(place));
        let known = known.unwrap_or(&mut file);
        let is_json = matches!(kind, Some(TraceType::Trace(format)) if format.has_own_clock);
        let mut input = inputs.open_ahead(id)?;
        let found = match is_json {
            true => scan::json(&mut input, known).map(Ok)?,
            false => scan::scan(&mut input, known, monitor)?,
        };
        match found {
            Ok(()) if place.is_none() => {
                places.insert(name, scanned.len());
                scanned.push(file);
            }
            Ok(()) => {}
            Err(why) if is_archive => notes.push(format!("{title} has no entry: it {why}")),
            Err(why) => bail!("{title} {why}"),
        }
    }
    if scanned.is_empty() {
        let why = match notes.is_empty() {
            true => "there is no file in it".to_owned(),
            false => notes.join("; "),
        };
        bail!("{} has no trace in it: {why}", inputs.title(0));
    }
    scan::leave_ranks(&mut scanned);
    let mut draft = Draft::of(&scanned);
    notes.append(&mut draft.notes);
    Ok(Draft { notes, ..draft })
}
