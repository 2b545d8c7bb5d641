//! What can be said on the command line. Help, man page and completions come
//! from this one definition.

use std::path::PathBuf;

use clap::{Args, CommandFactory, Parser, Subcommand, error::ErrorKind};
use clap_complete::Shell;
use timebase_import::Subject;
use timebase_resolver::ClockId;

use crate::output::Format;
use crate::parameters::{self, Parameter};
use crate::reports::Report;

/// Every event of a Perfetto trace on one time base, in a SQLite database
#[derive(Debug, Parser)]
#[command(
    name = "timebase",
    version,
    max_term_width = 100,
    disable_help_subcommand = true,
    after_help = "\
Examples:
  timebase import trace.pftrace
  timebase query trace.db \"SELECT ts, type FROM packet LIMIT 10\"
  timebase clocks trace.db

'timebase COMMAND --help' tells more about a command. Results go to standard
output, all else to standard error. The exit code is 0 if it was done, 1 if it
failed, 2 if the command line is wrong."
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make a SQLite database of a trace
    ///
    /// Every packet becomes a row with its time on one clock, trace time; so do the kernel events and
    /// the log lines inside of packets. What cannot be placed in time is kept, with the reason.
    Import(ImportArguments),
    /// Run SQL on a database, or on a trace
    ///
    /// Several statements are run in order, and their results follow one another. A comment line
    /// '-- # Title' before a statement is its result's title. A trace is imported first, to a
    /// temporary database.
    Query(QueryArguments),
    /// Type SQL, see results
    ///
    /// A statement ends with a semicolon and may take several lines. '.help' lists what else can be
    /// typed. If standard input is not a terminal, statements are read from it, without prompts.
    Shell(ShellArguments),
    /// List the clocks of a trace, and how each gets to BOOTTIME
    Clocks(ClocksArguments),
    /// Show how a reading of one clock is converted to another
    ///
    /// As one would do it by hand: each hop, the snapshot that it uses, the arithmetic. If the reading
    /// cannot be converted, the reason is the answer.
    Explain(ExplainArguments),
    /// Print the number of a clock's name
    ///
    /// Builtin clocks have fixed numbers. Any other name is hashed the way Perfetto does it:
    /// fnv1a_32(name) | 0x80000000.
    #[command(after_help = "\
Examples:
  timebase clock-id com.example.my_subsystem   for timestamp_clock_id
  timebase clock-id BOOTTIME                   6")]
    ClockId {
        /// A builtin clock, or the fully qualified name of your own
        #[arg(value_parser = clap::builder::NonEmptyStringValueParser::new())]
        name: String,
    },
    /// Print a completion script for a shell
    #[command(after_help = "\
Examples:
  source <(timebase completions bash)
  timebase completions zsh > ~/.zfunc/_timebase
  timebase completions fish > ~/.config/fish/completions/timebase.fish")]
    Completions {
        /// The shell that is to complete
        shell: Shell,
    },
    /// Print the manual page
    #[command(after_help = "\
Examples:
  timebase man | man -l -
  timebase man import > timebase-import.1")]
    Man {
        /// The command whose page is wanted, instead of the program's
        command: Option<String>,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  timebase import trace.pftrace                makes trace.db
  timebase import trace.pftrace.gz -o t.db     may be compressed
  ssh device cat trace | timebase import - -o trace.db")]
pub struct ImportArguments {
    /// The trace; '-' is standard input
    pub trace: PathBuf,
    /// Where to write the database [default: beside the trace, with .db for its extension]
    #[arg(short, long, value_name = "OUT.db")]
    pub output: Option<PathBuf>,
    /// Replace the database if it exists
    #[arg(long)]
    pub force: bool,
    /// Leave out the bytes of the packets
    ///
    /// The database is much smaller then. All times and all events are in it; only column data of
    /// table packet is NULL.
    #[arg(long)]
    pub no_data: bool,
    /// Leave out the events inside of packets: all tables of events stay empty
    #[arg(long)]
    pub no_events: bool,
    /// Which of the events inside of packets to keep; packets and clocks are always there
    ///
    /// Names of tables, with a comma between: ftrace_event, android_logs, thread (with process), sched (with
    /// thread_state), slice, counter. Processes and threads come with each of the last three.
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        conflicts_with = "no_events"
    )]
    pub tables: Option<Vec<Subject>>,
    /// Extend the schema of packets by a file, for events, packet_json and packet_field
    ///
    /// The file is a serialized FileDescriptorSet, as 'protoc --include_imports
    /// --descriptor_set_out=FILE' writes it. May be given several times. What the trace itself brings
    /// along is used without it.
    #[arg(long, value_name = "FILE")]
    pub descriptor: Vec<PathBuf>,
    /// Fail where the trace is damaged, instead of importing what can be read
    #[arg(long)]
    pub strict: bool,
}

impl ImportArguments {
    /// What of the events inside of packets is kept.
    pub fn subjects(&self) -> Vec<Subject> {
        match &self.tables {
            _ if self.no_events => Vec::new(),
            None => Subject::ALL.to_vec(),
            Some(subjects) => subjects.clone(),
        }
    }
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  timebase query trace.db \"SELECT * FROM clock_snapshot\" --format csv
  timebase query trace.pftrace --report clock-health
  timebase query trace.db --file report.sql --param top=20 --format markdown
  echo \"SELECT abs_time_str(start_ts) FROM trace_bounds\" |
    timebase query trace.db -")]
pub struct QueryArguments {
    /// A trace, or the database that 'import' made of one; '-' is a trace on standard input
    #[arg(value_name = "TRACE-or-DB")]
    pub source: PathBuf,
    /// The statements; '-' reads them from standard input
    #[arg(required_unless_present_any = ["file", "report"], conflicts_with_all = ["file", "report"])]
    pub sql: Option<String>,
    /// Read the statements from a file
    #[arg(long, value_name = "FILE", conflicts_with = "report")]
    pub file: Option<PathBuf>,
    /// Run a report that comes with the program
    #[arg(long, value_enum, value_name = "NAME")]
    pub report: Option<Report>,
    /// Give a parameter (:name, @name or $name) of the statements its value
    ///
    /// May be given several times. A value is an integer, a real number, NULL or else text. Text that
    /// looks like one of these goes in single quotes: --param "tag='123'". A line
    /// '-- param top = 20 : how many rows' at the top of the statements is a default.
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = parameters::parse)]
    pub parameters: Vec<Parameter>,
    /// How to write the result
    ///
    /// Several results, and one with a title, are an array of {title, rows} in json, and lines of
    /// {title, row} in jsonl; one without is just its rows. A title is a heading in table and markdown,
    /// and a line '# Title' in csv with several results.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  timebase shell trace.db
  timebase shell trace.pftrace < report.sql

What was typed is kept in $XDG_STATE_HOME/timebase/history; without that
variable, in ~/.local/state/timebase/history.")]
pub struct ShellArguments {
    /// A trace, or the database that 'import' made of one
    #[arg(value_name = "TRACE-or-DB")]
    pub source: PathBuf,
    /// How to write results; '.mode' changes it
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
}

#[derive(Debug, Args)]
#[command(after_help = "\
A clock of a sequence is written number@sequence. The offset is what has to be
added to a reading, in nanoseconds, to get BOOTTIME, at the first snapshot. The
drift is by how much the offset changed until the last one.

Examples:
  timebase clocks trace.pftrace
  timebase clocks trace.db --format json")]
pub struct ClocksArguments {
    /// A trace, or the database that 'import' made of one; '-' is a trace on standard input
    #[arg(value_name = "TRACE-or-DB")]
    pub source: PathBuf,
    /// How to write the list
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  timebase explain trace.db --clock 64 --seq 3 --ts 3503
  timebase explain trace.db --clock REALTIME --ts 17000000 --to MONOTONIC
  timebase explain trace.db --clock com.example.gpu --ts 12345")]
pub struct ExplainArguments {
    /// A trace, or the database that 'import' made of one; '-' is a trace on standard input
    #[arg(value_name = "TRACE-or-DB")]
    pub source: PathBuf,
    /// The slice whose begin is to be explained: its id
    #[arg(long, value_name = "ID", conflicts_with_all = ["packet", "clock", "ts", "seq", "machine"])]
    pub slice: Option<i64>,
    /// The packet whose time is to be explained: its id
    #[arg(long, value_name = "ID", conflicts_with_all = ["clock", "ts", "seq", "machine"])]
    pub packet: Option<i64>,
    /// The clock that was read: a number or a name
    #[arg(long, value_parser = parse_clock, required_unless_present_any = ["slice", "packet"])]
    pub clock: Option<ClockArgument>,
    /// The reading, in the clock's own unit
    #[arg(long, allow_negative_numbers = true, required_unless_present_any = ["slice", "packet"])]
    pub ts: Option<i64>,
    /// The sequence of the clock; clocks 64 to 127 need one
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub seq: u32,
    /// The clock to convert to, of the same machine: a number or a name [default: BOOTTIME of the
    /// host]
    #[arg(long, value_parser = parse_clock, value_name = "CLOCK")]
    pub to: Option<ClockArgument>,
    /// The sequence of the clock to convert to
    #[arg(long, default_value_t = 0, value_name = "N", requires = "to")]
    pub to_seq: u32,
    /// The machine on which the clock was read; 0 is the host
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub machine: u32,
}

/// A clock as it was given: by its number or by a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClockArgument {
    pub id: u32,
    pub text: String,
}

fn parse_clock(text: &str) -> Result<ClockArgument, String> {
    let id = if text.is_empty() {
        return Err("a clock is a number or a name".to_owned());
    } else if text.bytes().all(|byte| byte.is_ascii_digit()) {
        text.parse()
            .ok()
            .filter(|id| *id > 0)
            .ok_or_else(|| format!("a clock's number is 1 to {}", u32::MAX))?
    } else {
        ClockId::from_name(text).get()
    };
    Ok(ClockArgument {
        id,
        text: text.to_owned(),
    })
}

/// Ends the program because of a combination of arguments that the definition
/// above cannot rule out.
pub fn wrong_usage(command: &str, message: &str) -> ! {
    let mut cli = Cli::command();
    cli.build();
    match cli.find_subcommand_mut(command) {
        Some(command) => command.error(ErrorKind::ArgumentConflict, message),
        None => cli.error(ErrorKind::ArgumentConflict, message),
    }
    .exit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_clock_is_a_number_or_a_name() {
        let id = |text| parse_clock(text).map(|clock| clock.id);
        assert_eq!(id("64"), Ok(64));
        assert_eq!(id("4294967295"), Ok(u32::MAX));
        assert_eq!(id("BOOTTIME"), Ok(6));
        // fnv1a_32("com.example.gpu") has its highest bit set by rule C3.
        assert!(id("com.example.gpu").is_ok_and(|id| id >= 0x8000_0000));
        assert!(id("4294967296").is_err());
        assert!(id("0").is_err());
        assert!(id("").is_err());
    }

    #[test]
    fn statements_come_from_one_place() {
        let parse = |arguments: &[&str]| Cli::try_parse_from(arguments).map(|_| ());
        assert!(parse(&["timebase", "query", "t.db", "SELECT 1"]).is_ok());
        assert!(parse(&["timebase", "query", "t.db", "--file", "q.sql"]).is_ok());
        assert!(parse(&["timebase", "query", "t.db"]).is_err());
        assert!(parse(&["timebase", "query", "t.db", "--report", "unplaced"]).is_ok());
        assert!(parse(&["timebase", "query", "t.db", "SELECT 1", "--file", "q.sql"]).is_err());
        assert!(
            parse(&[
                "timebase", "query", "t.db", "SELECT 1", "--report", "unplaced"
            ])
            .is_err()
        );
        let both = [
            "timebase", "query", "t.db", "--file", "q.sql", "--report", "unplaced",
        ];
        assert!(parse(&both).is_err());
    }

    #[test]
    fn a_reading_may_be_negative() {
        let arguments = ["timebase", "explain", "t.db", "--clock", "3", "--ts", "-5"];
        assert!(Cli::try_parse_from(arguments).is_ok());
    }
}
