//! Lines and their names by number.

use std::collections::HashMap;

use rustc_hash::FxHashMap;

use crate::line::{Family, Line};
use crate::pattern::Names;

/// Lines by number. Each raw name becomes a pattern once.
pub struct Lines {
    names: Names,
    texts: HashMap<String, u32>,
    patterns: Vec<String>,
    of_pattern: HashMap<String, u32>,
    numbers: FxHashMap<(Family, u32, u32), i64>,
    all: Vec<(Family, u32, u32)>,
}

impl Lines {
    /// No lines yet.
    pub fn new(names: Names) -> Lines {
        Lines {
            names,
            texts: HashMap::new(),
            patterns: Vec::new(),
            of_pattern: HashMap::new(),
            numbers: FxHashMap::default(),
            all: Vec::new(),
        }
    }

    /// The number of lines.
    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// The number of the pattern of a raw name.
    pub fn text(&mut self, raw: &[u8]) -> u32 {
        let raw = String::from_utf8_lossy(raw);
        if let Some(number) = self.texts.get(&*raw) {
            return *number;
        }
        let pattern = self.names.pattern(&raw).into_owned();
        let new = u32::try_from(self.patterns.len()).unwrap_or(u32::MAX);
        let number = *self.of_pattern.entry(pattern.clone()).or_insert(new);
        if number == new {
            self.patterns.push(pattern);
        }
        self.texts.insert(raw.into_owned(), number);
        number
    }

    /// The number of a line, whose process and name are texts by number.
    pub fn line(&mut self, family: Family, process: u32, name: u32) -> i64 {
        let new = i64::try_from(self.all.len()).unwrap_or(i64::MAX);
        let number = *self.numbers.entry((family, process, name)).or_insert(new);
        if number == new {
            self.all.push((family, process, name));
        }
        number
    }

    /// The line of a number.
    pub fn of(&self, number: i64) -> Option<Line> {
        let at = usize::try_from(number).ok()?;
        let (family, process, name) = *self.all.get(at)?;
        Some(Line { family, process: self.pattern(process), name: self.pattern(name) })
    }

    fn pattern(&self, number: u32) -> String {
        self.patterns.get(number as usize).cloned().unwrap_or_default()
    }
}
