//! Runs, the unit of a comparison: each statistic has one value for each run, because the events of a run share its
//! machine.

use crate::line::Family;

/// One of the two groups of runs.
///
/// ```
/// assert_eq!(timebase_compare::Side::After.index(), 1);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// The runs before the change.
    Before,
    /// The runs after the change.
    After,
}

impl Side {
    /// Both.
    pub const BOTH: [Side; 2] = [Side::Before, Side::After];

    /// 0 before, 1 after: the index in arrays of both sides.
    pub fn index(self) -> usize {
        usize::from(self == Side::After)
    }
}

/// The number of a run: its place among all runs, in the order in which they were added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(pub(crate) u32);

impl RunId {
    /// The index in [`Comparison::runs`](crate::Comparison::runs).
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Things about a run besides its values (rules CM8, CM11).
///
/// ```
/// use timebase_compare::{Facts, Family};
/// let facts = Facts { ns: 2e9, left_out: vec![(Family::SelfTime, 0.08)], ..Facts::default() };
/// assert_eq!(facts.frames, 0.0);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// The length of the recording in ns; 0 if it is unknown.
    pub ns: f64,
    /// The number of frames.
    pub frames: f64,
    /// For a family, the share of its time in rows with doubt, which the values leave out.
    pub left_out: Vec<(Family, f64)>,
    /// The share of the recording that is lost, by the table `loss`.
    pub lost: f64,
    /// The number of errors that the doctor finds.
    pub errors: u64,
    /// The begin of the recording, in ns of a wall clock that all runs share. If all runs have it, it
    /// gives their order; else the order in which they were added does.
    pub start: Option<i64>,
}

/// A run: one recording of the program.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// The name, which no other run has.
    pub name: String,
    /// The group.
    pub side: Side,
    /// Its facts.
    pub facts: Facts,
}

impl Facts {
    /// The facts as rows: name, statistic and value.
    ///
    /// ```
    /// use timebase_compare::Facts;
    /// let facts = Facts { ns: 2e9, ..Facts::default() };
    /// assert_eq!(facts.rows()[0], ("length", "ns", 2e9));
    /// ```
    pub fn rows(&self) -> Vec<(&'static str, &'static str, f64)> {
        let mut rows = vec![
            ("length", "ns", self.ns),
            ("frames", "count", self.frames),
            ("lost", "share", self.lost),
            ("errors", "count", self.errors as f64),
        ];
        rows.extend(self.start.map(|start| ("start", "ns", start as f64)));
        rows.extend(
            self.left_out.iter().map(|(family, share)| ("left_out", family.name(), *share)),
        );
        rows
    }

    /// Sets the fact of a row: its name, statistic and value. Others are ignored.
    ///
    /// ```
    /// use timebase_compare::Facts;
    /// let mut facts = Facts::default();
    /// facts.put("length", "ns", 2e9);
    /// assert_eq!(facts.ns, 2e9);
    /// ```
    pub fn put(&mut self, name: &str, stat: &str, value: f64) {
        match name {
            "length" => self.ns = value,
            "frames" => self.frames = value,
            // Parts that overlap are no more than all.
            "lost" => self.lost = value.min(1.0),
            "errors" => self.errors = value as u64,
            "left_out" => {
                if let Some(family) = Family::parse(stat) {
                    self.left_out.push((family, value));
                }
            }
            _ => {}
        }
    }
}
