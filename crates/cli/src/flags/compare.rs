//! The arguments of `timebase compare`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{Conversion, TsArgument, jobs_of};
use crate::output::Format;
use crate::progress::Progress;

#[derive(Debug, Args)]
#[command(override_usage = "timebase compare [OPTIONS] OLD... --with NEW...")]
#[command(after_help = "\
Examples:
  timebase compare old/*.pftrace --with new/*.pftrace
  timebase compare old --with new -o diff.html           folders; a page with the runs as dots
  timebase compare old --with new --metric 'startup=SELECT dur FROM slice WHERE name = ''startup'''
  timebase compare old --with new --fail-on 'self:app/layout total > +5 %'
  timebase compare tables,build=b1 --with tables,build=b2 --by device
  timebase compare old new --values runs.parquet         the values of each run, for later

The exit code is 0 if no condition of --fail-on fails, 1 if one fails or the command does, 3 if one is
undecided, and 2 for a condition about an unknown metric or with less than 3 runs on a side.")]
pub struct CompareArguments {
    /// The runs before: traces, databases, folders, folders of tables, or files of values
    ///
    /// Each trace is a run; several files that belong together are an archive. A folder stands for each trace below
    /// it, and a pattern such as 'old/*.pftrace' for its files. A folder of tables, as 'export' fills it, and a file of
    /// values may have conditions: 'tables,build=b1'.
    #[arg(value_name = "OLD", required = true)]
    pub before: Vec<OsString>,
    /// The runs after; without any, only --values has a result
    #[arg(long = "with", value_name = "NEW", num_args = 1.., required_unless_present_any = ["values", "measure"])]
    pub after: Vec<OsString>,
    /// The file of the result, which appears when it is complete
    ///
    /// The extension selects the format, as in 'query'; .html is a page.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(short, long)]
    pub force: bool,
    /// The format of the result: text, or a row for each statistic of each line [default: text]
    #[arg(short = 'F', long, value_enum)]
    pub format: Option<Format>,
    /// The names of the two sides
    #[arg(
        long,
        value_name = "BEFORE,AFTER",
        value_delimiter = ',',
        num_args = 1,
        default_value = "before,after"
    )]
    pub labels: Vec<String>,
    /// Divide counts and totals by this: run, second, frame, or the slices on threads with this name
    #[arg(long, value_name = "WHAT", default_value = "run")]
    pub per: String,
    /// Add a metric: a SELECT with one number, or with columns name and value, for each run
    ///
    /// NAME=SQL, or @FILE.sql with a title '-- # NAME' before each SELECT. You can repeat this flag.
    #[arg(long, value_name = "NAME=SQL")]
    pub metric: Vec<String>,
    /// Fail if a change is beyond a limit
    ///
    /// 'self:app/layout total > +5 %', 'startup > +2 ms', or 'any > +5 %'; '<' for what must not become less. You can
    /// repeat this flag.
    #[arg(long, value_name = "CONDITION")]
    pub fail_on: Vec<String>,
    /// Give an undecided condition the exit code 3, or let it pass
    #[arg(long, value_enum, value_name = "HOW", default_value_t = Undecided::Three)]
    pub undecided: Undecided,
    /// Replace a part of names: REGEX=TEXT, before numbers are replaced by '#'
    #[arg(long = "name", value_name = "REGEX=TEXT")]
    pub names: Vec<String>,
    /// Keep the numbers in names
    #[arg(long)]
    pub keep_names: bool,
    /// Compare only the time of the first slice with this name of each trace, which may be a pattern (GLOB)
    #[arg(long, value_name = "NAME", conflicts_with_all = ["from", "to"])]
    pub during: Option<String>,
    /// Compare only from this time on: trace time in ns, or a date and a time
    #[arg(long, value_name = "TIME", allow_negative_numbers = true)]
    pub from: Option<TsArgument>,
    /// Compare only before this time
    #[arg(long, value_name = "TIME", allow_negative_numbers = true)]
    pub to: Option<TsArgument>,
    /// Leave out lines with a smaller share of their family's time, samples or bytes
    #[arg(long, value_name = "SHARE", default_value = "0.1%", value_parser = share)]
    pub min_share: f64,
    /// Mark runs that lost a larger share
    #[arg(long, value_name = "SHARE", default_value = "5%", value_parser = share)]
    pub max_loss: f64,
    /// Leave out a run by its name, or all marked runs: lossy
    #[arg(long, value_name = "RUN|lossy")]
    pub leave_out: Vec<String>,
    /// Test changes as they are, not beyond the change that all lines share
    #[arg(long)]
    pub absolute: bool,
    /// Compare the first run before with the first after, and so on
    #[arg(long, conflicts_with = "pair_by")]
    pub paired: bool,
    /// Compare runs whose names have the same match of this regular expression
    #[arg(long, value_name = "REGEX")]
    pub pair_by: Option<String>,
    /// Leave out the first runs of each side
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub skip_first: usize,
    /// Compare within each value of this label of a folder of tables, or column of a file of values
    #[arg(long, value_name = "LABEL")]
    pub by: Option<String>,
    /// The number of lines to show
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub top: usize,
    /// Write the values of all runs to a file: .csv or .parquet
    #[arg(long, value_name = "FILE")]
    pub values: Option<PathBuf>,
    /// Keep the values of each trace in this folder, and do not import it again
    #[arg(long, value_name = "DIR")]
    pub cache: Option<PathBuf>,
    /// Fail if a run cannot be read or is damaged, instead of leaving it out or using its readable parts
    #[arg(long)]
    pub strict: bool,
    /// The conversion of the traces' readings to one clock [default: nearest]
    #[arg(long, value_enum, value_name = "HOW")]
    pub conversion: Option<Conversion>,
    /// Read this many runs at a time [default: one for each processor]
    #[arg(long, value_name = "N", value_parser = jobs_of)]
    pub jobs: Option<usize>,
    /// The display of progress
    ///
    /// A line of 'lines' is {"traces":N,"of":N,"failed":N,"phase":"measuring"}.
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = Progress::Auto)]
    pub progress: Progress,
    /// Measure one run into a file, for the process that asked for it
    #[arg(long, hide = true, value_name = "FILE", conflicts_with = "after")]
    pub measure: Option<PathBuf>,
    /// The trace of a folder of tables to measure
    #[arg(long, hide = true, value_name = "ID", requires = "measure")]
    pub trace_id: Option<String>,
    /// Measure also what a page shows
    #[arg(long, hide = true, requires = "measure")]
    pub details: bool,
}

/// The exit code of an undecided condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Undecided {
    /// The exit code is 3
    #[value(name = "3")]
    Three,
    /// It passes
    Pass,
}

/// A share: a percentage, or a part of one.
fn share(text: &str) -> Result<f64, String> {
    let (number, of) = match text.trim().strip_suffix('%') {
        Some(number) => (number.trim(), 100.0),
        None => (text.trim(), 1.0),
    };
    let share = number.parse().map(|number: f64| number / of).ok();
    share
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| "use a share from 0 to 1, or from 0% to 100%".to_owned())
}
