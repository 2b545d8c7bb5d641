//! All values of all runs.

use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use timebase_compare::{Side, Values};

use super::gathered::Gathered;
use super::inputs::{From, Input, Inputs};
use super::run_file::RunFile;
use super::value_file::{self, Names};
use crate::children::Children;
use crate::flags::CompareArguments;
use crate::jobs::{self, Settings};
use crate::messages;
use crate::signals::Signals;

/// Measures all runs, and reads files of values.
pub fn gather(
    arguments: &CompareArguments,
    inputs: &Inputs,
    details: bool,
    signals: &Signals,
) -> anyhow::Result<Gathered> {
    let mut gathered = Gathered::default();
    let mut names = Names::default();
    for file in &inputs.values {
        value_file::read(file, arguments.by.as_deref(), &mut names, &mut gathered.values)?;
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
    // A file of metrics may change under its name.
    let metrics = super::measuring::metrics(&arguments.metric)?;
    let mut key = DefaultHasher::new();
    (env!("CARGO_PKG_VERSION"), timebase_schema::VERSION, &flags, &metrics).hash(&mut key);
    let key = key.finish();
    let places: Vec<PathBuf> = inputs.runs.iter().map(place).collect();
    let directory = signals.temporary_directory()?;
    let settings = Settings {
        at_once: arguments.jobs,
        progress: arguments.progress,
        temporary: directory.clone(),
        phase: "measuring",
    };
    let mut failures = Said::default();
    let mut warnings = Said::default();
    if let Some(cache) = &arguments.cache {
        std::fs::create_dir_all(cache)
            .with_context(|| format!("--cache: cannot make {}", cache.display()))?;
    }
    let job = |index: usize, _: &Path, children: &Children| {
        let input = inputs.runs.get(index).context("a run without a place")?;
        let file = directory.join(format!("{index}.db"));
        let kept = match &arguments.cache {
            Some(cache) => Some(kept(cache, input, key)?),
            None => None,
        };
        // A file that another program damaged is made again.
        if let Some(kept) = &kept
            && kept.is_file()
            && RunFile::open(kept).is_ok_and(|file| file.is_whole())
        {
            return Ok((kept.clone(), Vec::new()));
        }
        let run = children.run(&of_run(input, &flags, &file))?;
        if let Some(kept) = kept {
            let bytes =
                std::fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
            crate::output::file::put(&kept, &bytes)
                .with_context(|| format!("--cache: cannot write {}", kept.display()))?;
        }
        Ok((file, run.warnings))
    };
    jobs::run(&places, &settings, signals, job, |index, measured| {
        let Some(input) = inputs.runs.get(index) else { return Ok(()) };
        match measured {
            Ok((file, said)) => {
                gathered.add(input, &file)?;
                for text in said {
                    warnings.add(&input.name, jobs::named(Path::new(&input.name), &text));
                }
            }
            Err(error) => {
                failures.add(&input.name, jobs::failure(Path::new(&input.name), &error));
            }
        }
        Ok(())
    })?;
    for text in warnings.told() {
        messages::warning(text);
    }
    left_out(arguments, &failures, inputs.runs.len())
}

/// Tells of the runs that cannot be read, or refuses them.
fn left_out(arguments: &CompareArguments, failures: &Said, runs: usize) -> anyhow::Result<()> {
    let told = failures.told();
    let Some(first) = told.first() else { return Ok(()) };
    if arguments.strict {
        bail!("{first}; without --strict, the run is left out");
    }
    // CM17: without it, each later run would have another partner.
    if arguments.paired {
        bail!("{first}; --paired needs all runs: leave its partner out, too, or use --pair-by");
    }
    // One reason for all runs is a mistake in the arguments.
    if runs > 1 && told.len() == 1 && failures.runs() == runs {
        bail!("{first}");
    }
    for failure in told {
        messages::warning(format_args!("left out: {failure}"));
    }
    Ok(())
}

/// Sentences about runs. One that holds for several runs is told once.
#[derive(Default)]
struct Said {
    /// The sentence about its first run, the same without that run's name, and the number of runs.
    all: Vec<(String, String, usize)>,
}

impl Said {
    fn add(&mut self, run: &str, text: String) {
        let without = text.replace(run, "");
        match self.all.iter_mut().find(|(_, other, _)| *other == without) {
            Some((.., runs)) => *runs += 1,
            None => self.all.push((text, without, 1)),
        }
    }

    /// The number of runs.
    fn runs(&self) -> usize {
        self.all.iter().map(|(.., runs)| runs).sum()
    }

    /// The sentences.
    fn told(&self) -> Vec<String> {
        let all = self.all.iter().map(|(text, _, runs)| match runs {
            1 => text.clone(),
            runs => format!("{text} (and {} more for this reason)", runs - 1),
        });
        all.collect()
    }
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

/// The file of a run in the cache: its name has the hash of the trace, and that of the way it is measured.
fn kept(cache: &Path, input: &Input, key: u64) -> anyhow::Result<PathBuf> {
    let id = match &input.from {
        From::File(path) => timebase_import::trace_id(path)
            .with_context(|| format!("cannot read {}", path.display()))?,
        From::Tables { trace_id, .. } => trace_id.clone(),
    };
    Ok(cache.join(format!("{id}-{key:016x}.db")))
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
