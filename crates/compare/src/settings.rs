//! The choices of a user.

use regex::Regex;

/// The thing by which counts and totals are divided (rule CM8).
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Per {
    /// Nothing: values are of a run.
    #[default]
    Run,
    /// The seconds of the recording.
    Second,
    /// The frames.
    Frame,
    /// The slices on threads with that name, of all processes.
    Slice(String),
}

/// The way in which runs become pairs (rule CM17).
#[derive(Clone, Debug)]
pub enum Pairs {
    /// By the order in which the runs of each side were added.
    Order,
    /// By the part of their names that the expression matches; its first group, if it has one.
    By(Regex),
}

/// The choices of a user.
///
/// ```
/// use timebase_compare::Settings;
/// let settings = Settings { absolute: true, ..Settings::default() };
/// assert_eq!(settings.min_share, 0.001);
/// ```
#[derive(Clone, Debug)]
pub struct Settings {
    /// The share of its family that a line needs (rule CM12).
    pub min_share: f64,
    /// The share of loss from which a run is marked (rule CM11).
    pub max_loss: f64,
    /// Whether lines are tested as they are, and not beyond what all share (rule CM14).
    pub absolute: bool,
    /// Whether runs are pairs, and by what.
    pub pairs: Option<Pairs>,
    /// The number of first runs of each side to leave out (rule CM18).
    pub skip_first: usize,
    /// Names of runs to leave out, or `lossy` for all marked runs.
    pub leave_out: Vec<String>,
    /// The thing by which counts and totals are divided.
    pub per: Per,
    /// The names of the sides.
    pub labels: [String; 2],
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            min_share: 0.001,
            max_loss: 0.05,
            absolute: false,
            pairs: None,
            skip_first: 0,
            leave_out: Vec::new(),
            per: Per::Run,
            labels: ["before".to_owned(), "after".to_owned()],
        }
    }
}
