//! `timebase export FOLDER`: each trace below it by itself.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::bail;
use timebase_export::Folder;

use crate::flags::ExportArguments;
use crate::jobs::{self, Settings};
use crate::messages;
use crate::signals::Signals;

/// The column with the path of the trace.
const PATH: &str = "trace_path";

/// The outcome for a trace.
enum Became {
    Exported { has_warnings: bool },
    Present,
}

/// The numbers of traces by outcome.
#[derive(Default)]
struct Totals {
    exported: usize,
    with_warnings: usize,
    present: usize,
    failures: Vec<String>,
}

pub fn run(arguments: &ExportArguments, output: &Path, signals: &Signals) -> anyhow::Result<()> {
    let traces = traces(arguments)?;
    let begun = Instant::now();
    let mut totals = Totals::default();
    let settings = Settings {
        at_once: arguments.jobs,
        progress: arguments.progress,
        temporary: signals.temporary_directory()?,
        phase: "exporting",
    };
    // It stays open, so that it is there for all, and goes if none came into it.
    let folder = Folder::at(output)?;
    let flags = flags(arguments, output);
    let job = |_: usize, trace: &Path, children: &crate::children::Children| {
        if !arguments.force
            && let Ok(id) = timebase_import::trace_id(trace)
            && folder.has(&id)
        {
            return Ok(Became::Present);
        }
        let run = children.run(&of_trace(arguments, &flags, trace))?;
        Ok(Became::Exported { has_warnings: !run.warnings.is_empty() })
    };
    jobs::run(&traces, &settings, signals, job, |index, became| {
        match became {
            Ok(Became::Exported { has_warnings }) => {
                totals.exported += 1;
                totals.with_warnings += usize::from(has_warnings);
            }
            Ok(Became::Present) => totals.present += 1,
            Err(error) => {
                let trace = traces.get(index).map_or(Path::new(""), PathBuf::as_path);
                totals.failures.push(jobs::failure(trace, &error));
            }
        }
        Ok(())
    })?;
    messages::warnings(&totals.failures);
    messages::say(format_args!(
        "{} → {}: {}, in {:.1?}",
        names(arguments),
        output.display(),
        totals.told(traces.len()),
        begun.elapsed()
    ));
    match totals.failures.len() {
        0 => Ok(()),
        failed => bail!("{failed} of {} traces were not exported", traces.len()),
    }
}

/// The traces below all folders, each once.
fn traces(arguments: &ExportArguments) -> anyhow::Result<Vec<PathBuf>> {
    let mut traces = Vec::new();
    for given in &arguments.traces {
        if !given.is_dir() {
            bail!(
                "{} is no folder: a folder stands for traces that are exported one by one, so name folders only",
                given.display()
            );
        }
        traces.extend(jobs::below(given)?);
    }
    if arguments.settings.manifest.is_some() || arguments.settings.merge {
        bail!(
            "--manifest and --merge relate files on one timeline, but each trace of a folder has its own; \
             an archive in the folder may contain a manifest"
        );
    }
    traces.sort();
    traces.dedup();
    Ok(traces)
}

fn names(arguments: &ExportArguments) -> String {
    let names: Vec<String> =
        arguments.traces.iter().map(|given| given.display().to_string()).collect();
    names.join(", ")
}

/// The flags that all runs share.
fn flags(arguments: &ExportArguments, output: &Path) -> Vec<OsString> {
    let mut flags: Vec<OsString> = vec!["export".into(), "--output".into(), output.into()];
    flags.push(format!("--compression={}", arguments.compression.name()).into());
    if let Some(tables) = &arguments.tables {
        flags.push(format!("--tables={}", tables.join(",")).into());
    }
    for label in &arguments.labels {
        let value = label.value.as_ref().map(|value| format!("={value}"));
        flags.push(format!("--label={}{}", label.name, value.unwrap_or_default()).into());
    }
    if arguments.force {
        flags.push("--force".into());
    }
    if let Some(conversion) = arguments.conversion {
        flags.push(format!("--conversion={}", conversion.name()).into());
    }
    flags.extend(arguments.settings.flags());
    flags
}

/// The arguments for one trace.
fn of_trace(arguments: &ExportArguments, flags: &[OsString], trace: &Path) -> Vec<OsString> {
    let mut all = flags.to_vec();
    if arguments.labels.iter().all(|label| !label.name.eq_ignore_ascii_case(PATH)) {
        let mut label = OsString::from(format!("--label={PATH}="));
        label.push(trace);
        all.push(label);
    }
    all.push("--".into());
    all.push(trace.into());
    all
}

impl Totals {
    fn told(&self, of: usize) -> String {
        let mut told = format!("{} of {of} traces exported", self.exported);
        if self.present > 0 {
            told.push_str(&format!(", {} were there already", self.present));
        }
        if !self.failures.is_empty() {
            told.push_str(&format!(", {} failed", self.failures.len()));
        }
        if self.with_warnings > 0 {
            told.push_str(&format!(
                ", {} with warnings, which the table import_log has",
                self.with_warnings
            ));
        }
        told
    }
}
