//! All values of all runs.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use timebase_compare::{Line, RunId, Side, Values};

use super::arguments::CompareArguments;
use super::inputs::{From, Input, Inputs};
use super::run_file::RunFile;
use super::value_file;
use crate::children::Children;
use crate::jobs::{self, Settings};
use crate::messages;
use crate::signals::Signals;

/// The values, and the files of the runs that were measured here.
#[derive(Default)]
pub struct Gathered {
    pub values: Values,
    /// The names around lines, with how often they are in all runs.
    pub parents: HashMap<Line, BTreeMap<String, i64>>,
    /// The files of runs.
    pub files: Vec<File>,
}

/// The file of a run.
pub struct File {
    pub run: RunId,
    pub path: PathBuf,
    /// The value of the label of `--by`.
    pub group: Option<String>,
}

/// Measures all runs, and reads files of values.
pub fn gather(
    arguments: &CompareArguments,
    inputs: &Inputs,
    details: bool,
    signals: &Signals,
) -> anyhow::Result<Gathered> {
    let mut gathered = Gathered::default();
    for file in &inputs.values {
        value_file::read(file, arguments.by.as_deref(), &mut gathered.values)?;
    }
    measure_all(arguments, inputs, details, signals, &mut gathered)?;
    gathered.state_parents()?;
    Ok(gathered)
}

fn measure_all(
    arguments: &CompareArguments,
    inputs: &Inputs,
    details: bool,
    signals: &Signals,
    gathered: &mut Gathered,
) -> anyhow::Result<()> {
    let flags = flags(arguments, details);
    let key = flags.join(" ".as_ref());
    let places: Vec<PathBuf> = inputs.runs.iter().map(place).collect();
    let directory = signals.temporary_directory()?;
    let settings = Settings {
        at_once: arguments.jobs,
        progress: arguments.progress,
        temporary: directory.clone(),
        phase: "measuring",
    };
    let mut failures = Vec::new();
    if let Some(cache) = &arguments.cache {
        std::fs::create_dir_all(cache)
            .with_context(|| format!("--cache: cannot make {}", cache.display()))?;
    }
    let job = |place: &Path, children: &Children| -> anyhow::Result<PathBuf> {
        let index = places.iter().position(|other| other == place).unwrap_or_default();
        let input = inputs.runs.get(index).context("a run without a place")?;
        let file = directory.join(format!("{index}.db"));
        let kept = match &arguments.cache {
            Some(cache) => kept(cache, input, &key)?,
            None => None,
        };
        if let Some(kept) = &kept
            && kept.is_file()
        {
            return Ok(kept.clone());
        }
        children.run(&of_run(input, &flags, &file))?;
        if let Some(kept) = kept {
            let bytes =
                std::fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
            crate::output::file::put(&kept, &bytes)
                .with_context(|| format!("--cache: cannot write {}", kept.display()))?;
        }
        Ok(file)
    };
    jobs::run(&places, &settings, signals, job, |index, file| {
        let Some(input) = inputs.runs.get(index) else { return Ok(()) };
        match file {
            Ok(file) => gathered.add(input, &file)?,
            Err(error) => failures.push(jobs::failure(Path::new(&input.name), &error)),
        }
        Ok(())
    })?;
    if arguments.strict
        && let Some(first) = failures.first()
    {
        bail!("{first}; without --strict, the run is left out");
    }
    for failure in failures {
        messages::warning(format_args!("left out: {failure}"));
    }
    Ok(())
}

/// The path of a run, which no other has.
fn place(input: &Input) -> PathBuf {
    match &input.from {
        From::File(path) => path.clone(),
        From::Tables { folder, trace_id } => folder.join(trace_id),
    }
}

/// The flags that all processes share.
fn flags(arguments: &CompareArguments, details: bool) -> Vec<OsString> {
    let mut flags: Vec<OsString> = vec!["compare".into()];
    let several = [("--metric", &arguments.metric), ("--name", &arguments.names)];
    for (flag, values) in several {
        flags.extend(values.iter().map(|value| format!("{flag}={value}").into()));
    }
    let one = [
        ("--during", arguments.during.clone()),
        ("--from", arguments.from.as_ref().map(ToString::to_string)),
        ("--to", arguments.to.as_ref().map(ToString::to_string)),
        ("--conversion", arguments.conversion.map(|conversion| conversion.name().to_owned())),
    ];
    for (flag, value) in one {
        flags.extend(value.map(|value| OsString::from(format!("{flag}={value}"))));
    }
    let is_set = [
        ("--keep-names", arguments.keep_names),
        ("--strict", arguments.strict),
        ("--details", details),
    ];
    flags.extend(is_set.iter().filter(|(_, is_set)| *is_set).map(|(flag, _)| flag.into()));
    flags
}

/// The arguments of the process for one run.
fn of_run(input: &Input, flags: &[OsString], file: &Path) -> Vec<OsString> {
    let mut all = flags.to_vec();
    all.extend(["--measure".into(), file.into()]);
    let path = match &input.from {
        From::File(path) => path,
        From::Tables { folder, trace_id } => {
            all.push(format!("--trace-id={trace_id}").into());
            folder
        }
    };
    all.extend(["--".into(), path.into()]);
    all
}

/// The file of a run in the cache: its name has the hash of the trace, the program's version and the flags.
fn kept(cache: &Path, input: &Input, flags: &std::ffi::OsStr) -> anyhow::Result<Option<PathBuf>> {
    let id = match &input.from {
        From::File(path) => timebase_import::trace_id(path)
            .with_context(|| format!("cannot read {}", path.display()))?,
        From::Tables { trace_id, .. } => trace_id.clone(),
    };
    let how = format!("{} {}", env!("CARGO_PKG_VERSION"), flags.to_string_lossy());
    let how = timebase_resolver::ClockId::of_global_name(&how).get();
    Ok(Some(cache.join(format!("{id}-{how:08x}.db"))))
}

impl Gathered {
    fn add(&mut self, input: &Input, path: &Path) -> anyhow::Result<()> {
        let unreadable = || format!("cannot read the values of {}", input.name);
        let file = RunFile::open(path).with_context(unreadable)?;
        let run =
            self.values.run(&input.name, input.side, file.facts().with_context(unreadable)?)?;
        file.values::<anyhow::Error>(|line, stat, value| {
            let line = grouped(line, input.group.as_deref());
            Ok(self.values.add(run, &line, stat, value)?)
        })?;
        file.parents(|line, parent, count| {
            let line = grouped(&line, input.group.as_deref());
            let sum = self.parents.entry(line).or_default().entry(parent).or_default();
            *sum = sum.saturating_add(count);
        })
        .with_context(unreadable)?;
        let group = input.group.clone();
        self.files.push(File { run, path: path.to_owned(), group });
        Ok(())
    }

    /// States the most frequent name around each line.
    fn state_parents(&mut self) -> anyhow::Result<()> {
        for (line, parents) in &self.parents {
            if let Some((parent, _)) = parents.iter().max_by_key(|(_, count)| **count) {
                self.values.parent(line, parent)?;
            }
        }
        Ok(())
    }
}

/// The line of a group: its process has the value of the label in front.
pub fn grouped(line: &Line, group: Option<&str>) -> Line {
    match group {
        None => line.clone(),
        Some(group) => Line { process: format!("{group}: {}", line.process), ..line.clone() },
    }
}

/// The line as it is in the file of a run; `None` if it is of another group.
pub fn ungrouped(line: &Line, group: Option<&str>) -> Option<Line> {
    let Some(group) = group else { return Some(line.clone()) };
    let process = line.process.strip_prefix(group)?.strip_prefix(": ")?;
    Some(Line { process: process.to_owned(), ..line.clone() })
}

/// Whether there are runs of both sides.
pub fn check_sides(values: &Values) -> anyhow::Result<()> {
    for (side, name) in [(Side::Before, "before"), (Side::After, "after")] {
        if values.runs().iter().all(|run| run.side != side) {
            bail!("no run {name} could be read, so there is nothing to compare");
        }
    }
    Ok(())
}
