//! The values of all runs.
//!
//! A comparison may have millions of values, so a value takes 16 bytes: the numbers of its line, run and statistic in
//! 8, and the value. The value of all rows is stored apart, in 12 bytes, and only if it is another one: most runs
//! lose nothing. Values come in the order of runs and stay in it; a comparison makes an index by lines, of 4 bytes a
//! value. The alternative was a table with a column for each run: most lines are in few runs, so most of it is empty.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;
use std::rc::Rc;

use crate::error::{Error, Result};
use crate::line::{Family, Line, Stat};
use crate::run::{Facts, Run, RunId, Side};

/// More lines are an error.
const MAX_LINES: usize = 1_000_000;
/// The runs that fit into the number of a value.
const MAX_RUNS: usize = 1 << 26;
/// Values grow by pieces, so that no growth copies them.
const PIECE: usize = 1 << 16;

/// The two values of a statistic (rule CM10).
///
/// ```
/// use timebase_compare::Value;
/// assert_eq!(Value::sure(3.0), Value { sure: Some(3.0), all: Some(3.0) });
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Value {
    /// Without rows that may be wrong.
    pub sure: Option<f64>,
    /// With all rows. If it is missing, it is the sure value.
    pub all: Option<f64>,
}

impl Value {
    /// A value without doubt.
    pub fn sure(value: f64) -> Value {
        Value { sure: Some(value), all: Some(value) }
    }
}

/// A value with its line, run and statistic as numbers.
#[derive(Clone, Copy)]
struct Stored {
    line: u32,
    /// The run, a bit that says whether the value of all rows is another one, and 5 bits for the statistic.
    rest: u32,
    /// NaN if there is no sure value.
    sure: f64,
}

/// One value: of which run, which statistic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Given {
    pub stat: Stat,
    pub run: u32,
    pub value: Value,
}

/// The values by line.
pub(crate) struct Index {
    /// For each line, the begin of its places.
    starts: Vec<usize>,
    /// The numbers of values.
    places: Vec<u32>,
    /// The lines, by family, process and name: no result depends on the order in which they came.
    pub lines: Vec<u32>,
}

impl Index {
    fn range(&self, line: usize) -> Range<usize> {
        let bound = |at: usize| self.starts.get(at).copied().unwrap_or(0);
        bound(line)..bound(line + 1)
    }
}

/// The values of all runs of a comparison.
///
/// ```
/// use timebase_compare::{Facts, Family, Line, Side, Stat, Value, Values};
///
/// let mut values = Values::new();
/// let layout = Line::new(Family::SelfTime, "app", "layout");
/// let old = values.run("old/1", Side::Before, Facts::default())?;
/// values.add(old, &layout, Stat::Total, Value::sure(251e6))?;
/// let new = values.run("new/1", Side::After, Facts::default())?;
/// values.add(new, &layout, Stat::Total, Value { sure: Some(290e6), all: Some(303e6) })?;
/// assert_eq!(values.lines(), 1);
/// # Ok::<(), timebase_compare::Error>(())
/// ```
#[derive(Default)]
pub struct Values {
    runs: Vec<Run>,
    names: HashMap<String, RunId>,
    texts: Texts,
    /// Family, process and name by the number of a line.
    lines: Vec<(Family, u32, u32)>,
    numbers: HashMap<(Family, u32, u32), u32>,
    /// The parents of some lines, as texts.
    parents: HashMap<u32, u32>,
    pieces: Vec<Vec<Stored>>,
    /// Values of all rows that are not the sure ones: the numbers of their values, in order, and themselves.
    others: (Vec<u32>, Vec<f64>),
}

/// Texts by number, each once.
#[derive(Default)]
struct Texts {
    all: Vec<Rc<str>>,
    numbers: HashMap<Rc<str>, u32>,
}

impl Texts {
    fn number(&mut self, text: &str) -> Result<u32> {
        if let Some(&number) = self.numbers.get(text) {
            return Ok(number);
        }
        let number = u32::try_from(self.all.len()).map_err(|_| Error::TooManyValues)?;
        let text: Rc<str> = text.into();
        self.all.push(Rc::clone(&text));
        self.numbers.insert(text, number);
        Ok(number)
    }

    fn text(&self, number: u32) -> &str {
        self.all.get(number as usize).map_or("", |text| text)
    }
}

impl Values {
    /// No values yet.
    pub fn new() -> Values {
        Values::default()
    }

    /// Adds a run. Its name must be new.
    pub fn run(&mut self, name: &str, side: Side, facts: Facts) -> Result<RunId> {
        if let Some(other) = self.names.get(name).and_then(|id| self.runs.get(id.index())) {
            let run = name.to_owned();
            // CM2
            return Err(if other.side == side {
                Error::RunTwice { run }
            } else {
                Error::OnBothSides { run }
            });
        }
        let number = u32::try_from(self.runs.len()).map_err(|_| Error::TooManyValues)?;
        if self.runs.len() >= MAX_RUNS {
            return Err(Error::TooManyValues);
        }
        let id = RunId(number);
        self.runs.push(Run { name: name.to_owned(), side, facts });
        self.names.insert(name.to_owned(), id);
        Ok(id)
    }

    /// Adds the values of a statistic of a line in a run. Without any value, it adds nothing.
    pub fn add(&mut self, run: RunId, line: &Line, stat: Stat, value: Value) -> Result<()> {
        let given = [value.sure, value.all].into_iter().flatten();
        if let Some(wrong) = given.clone().find(|value| !value.is_finite()) {
            let value = wrong.to_string();
            return Err(Error::NotFinite {
                run: self.name(run.0),
                line: line.to_string(),
                stat: stat.name(),
                value,
            });
        }
        if given.count() == 0 {
            return Ok(());
        }
        let line = self.line_number(line)?;
        let differs = value.all.is_some() && value.all != value.sure;
        if let (true, Some(all)) = (differs, value.all) {
            let at = u32::try_from(self.len()).map_err(|_| Error::TooManyValues)?;
            self.others.0.push(at);
            self.others.1.push(all);
        }
        let rest = run.0 << 6 | u32::from(differs) << 5 | u32::from(stat as u8);
        let stored = Stored { line, rest, sure: value.sure.unwrap_or(f64::NAN) };
        match self.pieces.last_mut().filter(|piece| piece.len() < PIECE) {
            Some(piece) => piece.push(stored),
            None => {
                let mut piece = Vec::with_capacity(PIECE);
                piece.push(stored);
                self.pieces.push(piece);
            }
        }
        Ok(())
    }

    /// States the line around a line, such as the slice around slices (rule CM19).
    pub fn parent(&mut self, line: &Line, parent: &str) -> Result<()> {
        let line = self.line_number(line)?;
        let parent = self.texts.number(parent)?;
        self.parents.insert(line, parent);
        Ok(())
    }

    /// The number of lines.
    pub fn lines(&self) -> usize {
        self.lines.len()
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        let full = self.pieces.len().saturating_sub(1) * PIECE;
        self.pieces.last().map_or(0, |last| full + last.len())
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// The runs, in the order in which they were added.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// The places of the values of each line, and the lines in the order of their names. Two values of one
    /// statistic are an error.
    pub(crate) fn index(&self) -> Result<Index> {
        let mut starts = vec![0; self.lines.len() + 1];
        for stored in self.pieces.iter().flatten() {
            if let Some(start) = starts.get_mut(stored.line as usize + 1) {
                *start += 1;
            }
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let mut next = starts.clone();
        let mut places = vec![0; self.len()];
        for (at, stored) in (0..).zip(self.pieces.iter().flatten()) {
            if let Some(next) = next.get_mut(stored.line as usize) {
                if let Some(place) = places.get_mut(*next) {
                    *place = at;
                }
                *next += 1;
            }
        }
        let mut lines: Vec<u32> = (0..).take(self.lines.len()).collect();
        lines.sort_unstable_by_key(|&line| {
            let (family, process, name) = self.key(line);
            (family, self.texts.text(process), self.texts.text(name))
        });
        let mut index = Index { starts, places, lines };
        for line in 0..self.lines.len() {
            self.sort(&mut index, line)?;
        }
        Ok(index)
    }

    /// Sorts the values of a line by statistic and run.
    fn sort(&self, index: &mut Index, line: usize) -> Result<()> {
        let range = index.range(line);
        let places = index.places.get_mut(range).unwrap_or_default();
        // Statistic, run and place as one number: they are read once, not in each comparison.
        let key = |at: u32| {
            let rest = self.stored(at).map_or(0, |stored| stored.rest);
            u64::from((rest & 31) << 26 | rest >> 6) << 32 | u64::from(at)
        };
        let mut keys: Vec<u64> = places.iter().map(|&at| key(at)).collect();
        keys.sort_unstable();
        for (place, key) in places.iter_mut().zip(&keys) {
            *place = *key as u32;
        }
        for pair in keys.windows(2) {
            let &[one, other] = pair else { continue };
            if one >> 32 == other >> 32 {
                let (stat, run) = (one >> 58, one >> 32 & ((1 << 26) - 1));
                let stat = Stat::ALL.get(stat as usize).map_or("", |stat| stat.name());
                let line = self.line(line as u32).to_string();
                return Err(Error::ValueTwice { run: self.name(run as u32), line, stat });
            }
        }
        Ok(())
    }

    /// The values of a line, by statistic, then run.
    pub(crate) fn of_line<'a>(
        &'a self,
        index: &'a Index,
        line: u32,
    ) -> impl Iterator<Item = Given> + 'a {
        let places = index.places.get(index.range(line as usize)).unwrap_or_default();
        places.iter().filter_map(|&at| self.given(at))
    }

    fn given(&self, at: u32) -> Option<Given> {
        let stored = self.stored(at)?;
        let stat = *Stat::ALL.get(stored.rest as usize & 31)?;
        let sure = Some(stored.sure).filter(|sure| !sure.is_nan());
        let all = if stored.rest & 32 == 0 {
            sure
        } else {
            let other = self.others.0.binary_search(&at).ok();
            other.and_then(|other| self.others.1.get(other)).copied()
        };
        Some(Given { stat, run: stored.rest >> 6, value: Value { sure, all } })
    }

    fn stored(&self, at: u32) -> Option<&Stored> {
        let at = at as usize;
        self.pieces.get(at / PIECE)?.get(at % PIECE)
    }

    fn key(&self, line: u32) -> (Family, u32, u32) {
        self.lines.get(line as usize).copied().unwrap_or((Family::Metric, u32::MAX, u32::MAX))
    }

    /// The family of a line.
    pub(crate) fn family(&self, line: u32) -> Family {
        self.key(line).0
    }

    /// A line by its number.
    pub(crate) fn line(&self, line: u32) -> Line {
        let (family, process, name) = self.key(line);
        Line::new(family, self.texts.text(process), self.texts.text(name))
    }

    /// The number of a line.
    pub(crate) fn number(&self, line: &Line) -> Option<u32> {
        let text = |text: &String| self.texts.numbers.get(text.as_str()).copied();
        let key = (line.family, text(&line.process)?, text(&line.name)?);
        self.numbers.get(&key).copied()
    }

    /// The line around a line, if it is known.
    pub(crate) fn parent_of(&self, line: u32) -> Option<&str> {
        self.parents.get(&line).map(|&parent| self.texts.text(parent))
    }

    fn line_number(&mut self, line: &Line) -> Result<u32> {
        let key = (line.family, self.texts.number(&line.process)?, self.texts.number(&line.name)?);
        let new = self.lines.len();
        match self.numbers.entry(key) {
            Entry::Occupied(known) => Ok(*known.get()),
            Entry::Vacant(_) if new >= MAX_LINES => Err(Error::TooManyLines { limit: MAX_LINES }),
            Entry::Vacant(free) => {
                self.lines.push(key);
                Ok(*free.insert(u32::try_from(new).map_err(|_| Error::TooManyValues)?))
            }
        }
    }

    /// The name of a run, for messages.
    fn name(&self, run: u32) -> String {
        self.runs.get(run as usize).map_or_else(String::new, |run| run.name.clone())
    }
}
