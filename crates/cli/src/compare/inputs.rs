//! The runs that arguments name (rule CM2).

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use timebase_compare::Side;

use crate::jobs;

/// The directory that marks a folder of tables.
const TABLES: &str = "_timebase";

/// A run, before it is measured.
#[derive(Clone, Debug)]
pub struct Input {
    pub name: String,
    pub side: Side,
    pub from: From,
    /// The value of the label of `--by`.
    pub group: Option<String>,
}

/// The place of a run.
#[derive(Clone, Debug)]
pub enum From {
    /// A trace or a database.
    File(PathBuf),
    /// A trace of a folder of tables.
    Tables { folder: PathBuf, trace_id: String },
}

/// A file of values, with the conditions of its rows.
#[derive(Clone, Debug)]
pub struct ValueFile {
    pub path: PathBuf,
    pub side: Side,
    pub conditions: Vec<(String, String)>,
}

/// All runs of both sides.
#[derive(Debug, Default)]
pub struct Inputs {
    pub runs: Vec<Input>,
    pub values: Vec<ValueFile>,
}

impl Inputs {
    /// Adds the runs that an argument names.
    pub fn add(&mut self, given: &OsStr, side: Side, by: Option<&str>) -> anyhow::Result<()> {
        let (path, conditions) = split(given)?;
        if path.is_dir() && path.join(TABLES).is_dir() {
            return self.tables(&path, side, &conditions, by);
        }
        if is_values(&path) {
            self.values.push(ValueFile { path, side, conditions });
            return Ok(());
        }
        if !conditions.is_empty() {
            bail!(
                "{}: conditions are for folders of tables, as 'timebase export' fills them, and for files of values",
                given.display()
            );
        }
        if let Some(label) = by {
            bail!(
                "--by {label}: {} has no labels; export the traces to a folder of tables with --label first",
                path.display()
            );
        }
        let paths = match path.is_dir() {
            true => jobs::below(&path)?,
            false => matching(&path)?,
        };
        for path in paths {
            if is_values(&path) {
                self.values.push(ValueFile { path, side, conditions: Vec::new() });
                continue;
            }
            let name = path.to_string_lossy().into_owned();
            self.runs.push(Input { name, side, from: From::File(path), group: None });
        }
        Ok(())
    }

    /// Adds the traces of a folder of tables.
    fn tables(
        &mut self,
        folder: &Path,
        side: Side,
        conditions: &[(String, String)],
        by: Option<&str>,
    ) -> anyhow::Result<()> {
        let before = self.runs.len();
        for (trace_id, record) in records(folder)? {
            let label =
                |name: &str| record.get("labels").and_then(|labels| labels.get(name)?.as_str());
            if let Some((name, _)) = conditions.iter().find(|(name, _)| label(name).is_none()) {
                bail!("{}: trace {trace_id} has no label {name}", folder.display());
            }
            if conditions.iter().any(|(name, value)| label(name) != Some(value)) {
                continue;
            }
            let group = by
                .map(|name| {
                    label(name).map(str::to_owned).with_context(|| {
                        format!(
                            "--by {name}: trace {trace_id} of {} has no such label",
                            folder.display()
                        )
                    })
                })
                .transpose()?;
            let name = label("trace_path").or_else(|| record.get("source")?.as_str());
            let name = name.unwrap_or(&trace_id).to_owned();
            let folder = folder.to_owned();
            self.runs.push(Input { name, side, from: From::Tables { folder, trace_id }, group });
        }
        if self.runs.len() == before {
            bail!("{}: no trace of the folder has these labels", folder.display());
        }
        Ok(())
    }

    /// Refuses flags that would change nothing: those that say how to measure a run, if it is measured already, and
    /// those that need its trace, if a folder of tables is all there is.
    pub fn check_flags(&self, flags: &[(&'static str, bool)]) -> anyhow::Result<()> {
        if let (Some((flag, _)), [], Some(file)) =
            (flags.first(), self.runs.as_slice(), self.values.first())
        {
            bail!(
                "{flag}: {} has values that are measured already; name the traces, or leave the flag out",
                file.path.display()
            );
        }
        let folder = self.runs.iter().find_map(|run| match &run.from {
            From::Tables { folder, .. } => Some(folder),
            From::File(_) => None,
        });
        if let (Some((flag, _)), Some(folder)) =
            (flags.iter().find(|(_, needs_trace)| *needs_trace), folder)
        {
            bail!(
                "{flag}: {} has tables of traces, without the traces; name the traces, or leave the flag out",
                folder.display()
            );
        }
        Ok(())
    }

    /// Refuses a result that would replace an input.
    pub fn check_output(&self, output: &Path) -> anyhow::Result<()> {
        let runs = self.runs.iter().filter_map(|run| match &run.from {
            From::File(path) => Some(path),
            From::Tables { .. } => None,
        });
        let output = fs::canonicalize(output).ok();
        for input in runs.chain(self.values.iter().map(|file| &file.path)) {
            if output.is_some() && fs::canonicalize(input).ok() == output {
                bail!(
                    "{} is an input, which the result would replace; name another file",
                    input.display()
                );
            }
        }
        Ok(())
    }

    /// Refuses a run that is on both sides, and drops one that a side names twice.
    pub fn check(&mut self) -> anyhow::Result<()> {
        let mut known: HashMap<PathBuf, Side> = HashMap::new();
        let mut twice = None;
        self.runs.retain(|run| {
            let place = match &run.from {
                From::File(path) => fs::canonicalize(path).unwrap_or_else(|_| path.clone()),
                From::Tables { folder, trace_id } => {
                    fs::canonicalize(folder).unwrap_or_else(|_| folder.clone()).join(trace_id)
                }
            };
            match known.insert(place, run.side) {
                None => true,
                Some(side) => {
                    if side != run.side {
                        twice.get_or_insert_with(|| run.name.clone());
                    }
                    false
                }
            }
        });
        match twice {
            Some(name) => bail!("the run {name} is on both sides: name it once"),
            None => Ok(()),
        }
    }
}

/// The records of the complete traces of a folder of tables.
fn records(folder: &Path) -> anyhow::Result<BTreeMap<String, serde_json::Value>> {
    let mut records = BTreeMap::new();
    let done = folder.join(TABLES);
    let cannot = || format!("cannot read {}", done.display());
    for entry in fs::read_dir(&done).with_context(cannot)? {
        let path = entry.with_context(cannot)?.path();
        let Some(id) = path.file_stem().and_then(OsStr::to_str).map(str::to_owned) else {
            continue;
        };
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let text = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let record = serde_json::from_slice(&text)
            .with_context(|| format!("{} is no record of a trace", path.display()))?;
        records.insert(id, record);
    }
    Ok(records)
}

/// A path and its conditions: `tables,build=b1`. A file may have a comma in its name.
fn split(given: &OsStr) -> anyhow::Result<(PathBuf, Vec<(String, String)>)> {
    let path = PathBuf::from(given);
    let Some(text) = given.to_str().filter(|text| text.contains(',') && !path.exists()) else {
        return Ok((path, Vec::new()));
    };
    let mut parts = text.split(',');
    let path = PathBuf::from(parts.next().unwrap_or_default());
    let conditions = parts.map(|part| match part.split_once('=') {
        Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
        None => bail!("{text}: {part:?} is no condition; write LABEL=VALUE"),
    });
    Ok((path, conditions.collect::<anyhow::Result<_>>()?))
}

/// Whether a file has values of runs, by its name.
fn is_values(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "csv" || extension == "parquet")
}

/// The files of a pattern, or the path itself.
fn matching(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let text = path.to_string_lossy();
    if path.exists() || !text.contains(['*', '?', '[']) {
        fs::metadata(path).with_context(|| format!("cannot open {}", path.display()))?;
        return Ok(vec![path.to_owned()]);
    }
    let found = glob::glob(&text).with_context(|| format!("{text} is no pattern"))?;
    let mut found: Vec<PathBuf> =
        found.collect::<Result<_, _>>().with_context(|| format!("cannot list {text}"))?;
    found.retain(|path| path.is_file());
    if found.is_empty() {
        bail!("no file matches {text}");
    }
    Ok(found)
}
