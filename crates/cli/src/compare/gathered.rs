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
    /// The file of each run.
    pub files: Vec<(RunId, PathBuf)>,
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
        self.files.push((run, path.to_owned()));
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
        Some(group) => Line { process: format!("{group}: {}", line.process), ..line.clone() },
    }
}
