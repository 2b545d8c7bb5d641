//! The values of all runs, and their files.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use anyhow::Context;
use timebase_compare::{Line, RunId, Values};

use super::inputs::Input;
use super::run_file::RunFile;

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

impl Gathered {
    /// Adds the values of a run, from its file.
    pub fn add(&mut self, input: &Input, path: &Path) -> anyhow::Result<()> {
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
    pub fn state_parents(&mut self) -> anyhow::Result<()> {
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
        Some(group) if line.process.is_empty() => {
            Line { process: group.to_owned(), ..line.clone() }
        }
        Some(group) => Line { process: format!("{group}: {}", line.process), ..line.clone() },
    }
}

/// The line as it is in the file of a run; `None` if it is of another group.
pub fn ungrouped(line: &Line, group: Option<&str>) -> Option<Line> {
    let Some(group) = group else { return Some(line.clone()) };
    let rest = line.process.strip_prefix(group)?;
    let process = if rest.is_empty() { rest } else { rest.strip_prefix(": ")? };
    Some(Line { process: process.to_owned(), ..line.clone() })
}
