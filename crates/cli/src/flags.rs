//! What can be said on the command line. Help, man page and completions come
//! from this one definition.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::builder::PossibleValue;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use timebase_import::{FileKind, Options, Size, Subject};
use timebase_resolver::{NotAClock, NotATime, WallTime, WrittenClock};

use crate::messages;
use crate::output::Format;
use crate::parameters::{self, Parameter};
use crate::progress::Progress;
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
failed, 2 if the command line is wrong, 130 if it was interrupted."
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
    /// temporary database. A database is opened for reading, unless --write is given. If a statement
    /// fails there is no output, but on a terminal, which shows rows as they come.
    Query(QueryArguments),
    /// Type SQL, see results
    ///
    /// A statement ends with a semicolon and may take several lines. '.help' lists what else can be
    /// typed. If standard input is not a terminal, statements are read from it, without prompts.
    Shell(ShellArguments),
    /// List the clocks of a trace, and how each gets to BOOTTIME
    Clocks(ClocksArguments),
    /// Tell what is wrong with the clocks of a trace, and what to do
    ///
    /// Each finding has what was seen, where, what it cost, and what the producer of the trace should
    /// do. A healthy trace is told to be so, with the numbers. The findings are the view 'finding' of the
    /// database, too.
    Doctor(DoctorArguments),
    /// Show how a reading of one clock is converted to another
    ///
    /// As one would do it by hand: each hop, the snapshot that it uses, the arithmetic. If the reading
    /// cannot be converted, the reason is the answer.
    Explain(ExplainArguments),
    /// Write the tables of a trace as Parquet, into a folder of many traces
    ///
    /// Spark, DuckDB, Polars and pandas read such a folder: of each table there is one, with a partition a trace
    /// (trace_id=…). The columns of a table are the same for every trace. A trace is imported first, to a
    /// temporary database, without what no table that is asked for needs.
    Export(ExportArguments),
    /// Make a page about the clocks of a trace, to look at and to send
    ///
    /// One HTML file that needs nothing else: what the doctor found, the clock graph, a plot of how each
    /// clock runs, where packets lie against their snapshots, what was not placed and why, and the
    /// tables of the reports of 'query'.
    Report(ReportArguments),
    /// Print a manifest to start from: what traces say of their machines
    ///
    /// A manifest says which file is of which machine, and how their clocks relate, where the traces do not say
    /// it. What is printed changes nothing; names can be changed in it, and what one may want to add is said on
    /// standard error.
    Manifest(ManifestArguments),
    /// Print the number of a clock's name
    ///
    /// Builtin clocks have fixed numbers, and names in any case. Any other name is hashed the way Perfetto does it:
    /// fnv1a_32(name) | 0x80000000.
    #[command(after_help = "\
Examples:
  timebase clock-id com.example.my_subsystem   for timestamp_clock_id
  timebase clock-id BOOTTIME                   6")]
    ClockId {
        /// A builtin clock, or the fully qualified name of your own
        name: ClockArgument,
    },
    /// Print what Datasette can be told of a database
    ///
    /// Which tables to hide, what the tables and columns are, and queries to begin with, as JSON.
    /// With the Python package installed beside Datasette, its plugin tells all of that by itself.
    #[command(after_help = "\
Examples:
  timebase datasette-metadata trace.db > metadata.json
  datasette trace.db --metadata metadata.json")]
    DatasetteMetadata {
        /// The databases, by their files' names; they need not be there
        #[arg(value_name = "DB", required = true)]
        databases: Vec<PathBuf>,
    },
    /// Tell what a table, a column, an SQL function, a command or a report is
    ///
    /// This is the reference of this version, with its examples, and needs no network. Words that are no
    /// name are looked for in all texts. In the shell it is '.help NAME'.
    #[command(after_help = "\
Examples:
  timebase help                  what there is to read
  timebase help tables           all tables, by subject
  timebase help slice            a table, with its columns
  timebase help to_boottime      a function
  timebase help sched-latency    a report, with its parameters
  timebase help lost packets     where that is told
  timebase help coming-from-trace-processor")]
    Help {
        /// What to tell of: a name in any case, table.column, or words
        #[arg(value_name = "NAME")]
        name: Vec<String>,
    },
    /// Print a completion script for a shell
    ///
    /// The script asks this program what can come next: commands and flags, formats, reports and their
    /// parameters, tables, and the clocks of the database on the command line.
    #[command(after_help = "\
Examples:
  source <(timebase completions bash)                in ~/.bashrc
  source <(timebase completions zsh)                 in ~/.zshrc
  timebase completions fish | source                 in ~/.config/fish/config.fish

To load it when a shell starts, rather than from a file that was written once, keeps it at the
version of the program.")]
    Completions {
        /// The shell that is to complete
        shell: Shell,
    },
    /// Print the manual page of the program or of a command, or write all of them
    #[command(after_help = "\
Examples:
  timebase man | man -l -
  timebase man import | man -l -
  timebase man --dir ~/.local/share/man/man1    then: man timebase-import")]
    Man {
        /// The command whose page is wanted, instead of the program's
        command: Option<String>,
        /// Write the pages of the program and of all commands to this directory, which is made if it
        /// is not there
        #[arg(long, value_name = "DIR", conflicts_with = "command")]
        dir: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  timebase import trace.pftrace                makes trace.db
  timebase import trace.pftrace.gz -o t.db     may be compressed
  ssh device cat trace | timebase import - -o trace.db")]
pub struct ImportArguments {
    /// The trace, an archive of traces (zip, tar), or several traces; '-' is standard input
    #[arg(value_name = "TRACE", required = true)]
    pub traces: Vec<PathBuf>,
    /// Where to write the database [default: beside the trace, with .db for its extension]
    #[arg(short, long, value_name = "OUT.db")]
    pub output: Option<PathBuf>,
    /// Replace the database if it exists
    #[arg(short, long)]
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
    /// How readings of clocks are brought to one clock
    #[arg(long, value_enum, value_name = "HOW", default_value_t = Conversion::Nearest)]
    pub conversion: Conversion,
    #[command(flatten)]
    pub settings: ImportSettings,
    /// Whether and how to show how far it is
    ///
    /// A line of 'lines' is {"bytes":N,"of":N,"packets":N,"phase":"reading"}: how many bytes of the trace are
    /// read, of how many (null for a pipe), and how many packets. The phase is 'writing' when all is
    /// read. With --conversion linear, 'surveying' comes before 'reading', for a pipe 'copying' before that, and
    /// each counts from 0. If nobody reads the lines any more, the import ends and changes nothing.
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = Progress::Auto)]
    pub progress: Progress,
    /// Take standard input in pieces from a program that says where the trace ends
    ///
    /// Before each piece stands its size, as four bytes, the lowest first; a piece of no bytes is the end. If
    /// standard input ends without that, the program was killed, and the import fails: what has come may
    /// be half a trace.
    #[arg(long)]
    pub pieces: bool,
}

/// How traces are imported, whichever command does it.
#[derive(Debug, Args)]
pub struct ImportSettings {
    /// How the files and their machines are related: a manifest in Perfetto's format
    ///
    /// 'timebase manifest TRACE...' prints one to begin with. An archive may have its own inside.
    #[arg(long, value_name = "FILE")]
    pub manifest: Option<PathBuf>,
    /// Put files on one timeline though nothing tells how their clocks are related
    ///
    /// Without it, 'export' refuses several such files, and 'import' warns: they may be of several machines or boots,
    /// and their events stand beside each other by chance.
    #[arg(long)]
    pub merge: bool,
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
    /// Stop where the database and the import's temporary files would take more than this together
    ///
    /// A number of bytes, or one such as 500M, 2G or 4GiB. Nothing is left then. Without it, there is no limit but
    /// the disk: the databases of recordings that were measured, not compressed, had 5 to 11 times the size of the trace.
    #[arg(long, value_name = "SIZE")]
    pub max_size: Option<Size>,
    /// Stop where the import would take more than this of memory
    ///
    /// A number of bytes, or one such as 500M, 2G or 4GiB. Recordings do not come near the default; traces that were
    /// made to fill the memory do.
    #[arg(long, value_name = "SIZE", default_value_t = Options::MEMORY)]
    pub max_memory: Size,
}

impl ImportSettings {
    /// The options of an import, with its own defaults for all else.
    pub fn options(&self) -> Options {
        let mut options = Options::default();
        options.manifest.clone_from(&self.manifest);
        options.descriptors.clone_from(&self.descriptor);
        options.strict = self.strict;
        options.max_size = self.max_size;
        options.max_memory = Some(self.max_memory);
        options
    }
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
  timebase query trace.db -f report.sql -p top=20 -o report.md
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
    #[arg(short, long, value_name = "FILE", conflicts_with = "report")]
    pub file: Option<PathBuf>,
    /// Run a report that comes with the program
    #[arg(short, long, value_enum, value_name = "NAME")]
    pub report: Option<Report>,
    /// Give a parameter (:name, @name or $name) of the statements its value
    ///
    /// May be given several times. A value is an integer, a real number, NULL or else text. Text that
    /// looks like one of these goes in single quotes: --param "tag='123'". A line
    /// '-- param top integer = 20 : how many rows' at the top of the statements says what a parameter
    /// takes (integer, real, text or time), and what it is by default; without '= 20' it is needed.
    #[arg(short, long = "param", value_name = "NAME=VALUE", value_parser = parameters::parse)]
    pub parameters: Vec<Parameter>,
    /// How to write the result
    ///
    /// Several results, and one with a title, are an array of {title, rows} in json, and lines of
    /// {title, row} in jsonl; one without is just its rows. A title is a heading in table and markdown.
    /// In csv, an empty line is before each of several results but the first, and then a line '# Title'
    /// if it has one. [default: table, or what the name of --output ends with]
    #[arg(short = 'F', long, value_enum)]
    format: Option<QueryFormat>,
    /// Write the result to a file, which appears when it is complete
    ///
    /// Where --format does not say it, the format is what the name ends with: .csv, .json, .jsonl, .md, .parquet;
    /// .txt, and a name that ends with nothing, is table.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Let the statements change the database, and say what they changed
    #[arg(long)]
    pub write: bool,
    /// How readings of the trace's clocks are brought to one clock [default: nearest]
    ///
    /// A database has times of one kind: the other one is refused.
    #[arg(long, value_enum, value_name = "HOW")]
    pub conversion: Option<Conversion>,
    /// Fail where the trace is damaged, instead of asking what can be read of it
    #[arg(long)]
    pub strict: bool,
    /// Fail if there is not one row in all results
    #[arg(long)]
    pub fail_if_empty: bool,
}

impl QueryArguments {
    /// How the result is written; or why nobody can tell.
    pub fn format(&self) -> Result<QueryFormat, String> {
        if let Some(format) = self.format {
            return Ok(format);
        }
        let output = self.output.as_deref();
        let Some(ending) = output.and_then(Path::extension) else {
            return Ok(QueryFormat::Rows(Format::Table));
        };
        let known = ending.to_str().and_then(QueryFormat::of_ending);
        known.ok_or_else(|| {
            format!(
                "--output {}: there is no format of files that end with .{}. There are .csv, .json, .jsonl, .md \
                 and .parquet, and .txt for the table; --format says it for any other name",
                output.unwrap_or(Path::new("")).display(),
                ending.display()
            )
        })
    }
}

/// A format of the result of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryFormat {
    /// One that any result may have.
    Rows(Format),
    /// A file of its own kind, of one result.
    Parquet,
}

impl QueryFormat {
    /// The format that the name of a file says which ends with this.
    fn of_ending(ending: &str) -> Option<QueryFormat> {
        match ending.eq_ignore_ascii_case("txt") {
            true => Some(QueryFormat::Rows(Format::Table)),
            false => QueryFormat::from_str(ending, true).ok(),
        }
    }
}

impl ValueEnum for QueryFormat {
    fn value_variants<'a>() -> &'a [Self] {
        &[
            QueryFormat::Rows(Format::Table),
            QueryFormat::Rows(Format::Csv),
            QueryFormat::Rows(Format::Json),
            QueryFormat::Rows(Format::Jsonl),
            QueryFormat::Rows(Format::Markdown),
            QueryFormat::Rows(Format::Line),
            QueryFormat::Parquet,
        ]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            QueryFormat::Rows(format) => format.to_possible_value(),
            QueryFormat::Parquet => {
                Some(PossibleValue::new("parquet").help("A file for other programs, of one result"))
            }
        }
    }
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
    #[arg(short = 'F', long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
    /// How readings of the trace's clocks are brought to one clock [default: nearest]
    ///
    /// A database has times of one kind: the other one is refused.
    #[arg(long, value_enum, value_name = "HOW")]
    pub conversion: Option<Conversion>,
    /// Let statements change the database, and say what they changed
    #[arg(long)]
    pub write: bool,
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
    #[arg(short = 'F', long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  timebase doctor trace.pftrace
  timebase doctor trace.db --fail-on warning
  timebase doctor trace.pftrace --format markdown >> \"$GITHUB_STEP_SUMMARY\"
  timebase query trace.db \"SELECT check_name, count(*) FROM finding GROUP BY 1\"

An error: events have no time, or a wrong one. A warning: they may be off by more
than 100 µs. Info: worth knowing. The exit code is 1 if there is a finding that
--fail-on names, and if the trace cannot be read.")]
pub struct DoctorArguments {
    /// A trace, or the database that 'import' made of one; '-' is a trace on standard input
    #[arg(value_name = "TRACE-or-DB")]
    pub source: PathBuf,
    /// How to write the findings
    #[arg(short = 'F', long, value_enum, default_value_t = Findings::Table)]
    pub format: Findings,
    /// Which findings make the exit code 1
    #[arg(long, value_enum, value_name = "SEVERITY", default_value_t = FailOn::Error)]
    pub fail_on: FailOn,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  timebase export trace.pftrace -o traces
  timebase export trace.db -o traces --tables slice,thread --label build=1234
  timebase export --schema --tables slice
  duckdb -c \"SELECT name, count(*) FROM 'traces/slice/*/*.parquet' GROUP BY name\"")]
pub struct ExportArguments {
    /// A database that 'import' made, or what 'import' takes: a trace, an archive of traces, or several that
    /// belong together; '-' is standard input
    #[arg(value_name = "TRACE-or-DB", required_unless_present = "schema")]
    pub traces: Vec<PathBuf>,
    /// The folder, which is made if it is not there
    #[arg(short, long, value_name = "DIR", required_unless_present = "schema")]
    pub output: Option<PathBuf>,
    /// Which tables and views, with a comma between [default: all that 'timebase help tables' lists]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub tables: Option<Vec<String>>,
    /// How the files are compressed
    #[arg(long, value_enum, value_name = "HOW", default_value_t = Compression::Zstd)]
    pub compression: Compression,
    /// Give each table a column of this name, with this value, to tell traces apart
    ///
    /// May be given several times: --label build=1234 --label device=oriole.
    #[arg(long = "label", value_name = "NAME=VALUE", value_parser = label)]
    pub labels: Vec<(String, String)>,
    /// Replace the trace if it is in the folder
    #[arg(short, long)]
    pub force: bool,
    /// Print the columns of the tables and their types, as JSON, and export nothing
    #[arg(long, conflicts_with_all = ["traces", "output", "labels", "force"])]
    pub schema: bool,
    /// How readings of the trace's clocks are brought to one clock [default: nearest]
    ///
    /// A database has times of one kind: the other one is refused.
    #[arg(long, value_enum, value_name = "HOW")]
    pub conversion: Option<Conversion>,
    #[command(flatten)]
    pub settings: ImportSettings,
    /// Whether and how to show how far it is
    ///
    /// After the lines of the import, if there is one, a line of 'lines' is
    /// {"tables":N,"of":N,"rows":N,"phase":"exporting"}.
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = Progress::Auto)]
    pub progress: Progress,
}

/// A name and a value of `--label`.
fn label(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
        None => Err("a label is a name and a value: --label build=1234".to_owned()),
    }
}

/// How files of Parquet are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Compression {
    /// Zstandard: small, and read by all that is not old
    Zstd,
    /// Snappy: read by everything
    Snappy,
    /// Not at all
    None,
}

impl From<Compression> for timebase_export::Compression {
    fn from(compression: Compression) -> Self {
        match compression {
            Compression::Zstd => timebase_export::Compression::Zstd,
            Compression::Snappy => timebase_export::Compression::Snappy,
            Compression::None => timebase_export::Compression::None,
        }
    }
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  timebase report trace.pftrace -o report.html
  ssh device cat trace | timebase report - > report.html

A report that is a table, of SQL, is run by 'timebase query --report NAME'.")]
pub struct ReportArguments {
    /// A trace, or the database that 'import' made of one; '-' is a trace on standard input
    #[arg(value_name = "TRACE-or-DB")]
    pub source: PathBuf,
    /// Where to write the page, which appears when it is complete; '-' is standard output, as without
    /// it in a pipe
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// How readings of the trace's clocks are brought to one clock [default: nearest]
    ///
    /// A database has times of one kind: the other one is refused.
    #[arg(long, value_enum, value_name = "HOW")]
    pub conversion: Option<Conversion>,
    /// Fail where the trace is damaged, instead of showing what can be read of it
    #[arg(long)]
    pub strict: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  timebase manifest phone.pftrace watch.pftrace > manifest.json
  timebase manifest relay.pftrace
  timebase manifest traces.zip")]
pub struct ManifestArguments {
    /// The traces, which may be compressed, or one archive of them
    #[arg(value_name = "TRACE", required = true)]
    pub traces: Vec<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  timebase explain trace.db --clock 64@3 --ts 3503
  timebase explain trace.db --ts 2026-11-21T16:21:30.5 --to MONOTONIC
  timebase explain trace.db --clock com.example.gpu --ts 12345")]
pub struct ExplainArguments {
    /// A trace, or the database that 'import' made of one; '-' is a trace on standard input
    #[arg(value_name = "TRACE-or-DB")]
    pub source: PathBuf,
    /// The slice whose begin is to be explained: its id
    #[arg(long, value_name = "ID", conflicts_with_all = ["packet", "clock", "ts", "seq", "machine", "file"])]
    pub slice: Option<i64>,
    /// The packet whose time is to be explained: its id
    #[arg(long, value_name = "ID", conflicts_with_all = ["clock", "ts", "seq", "machine", "file"])]
    pub packet: Option<i64>,
    /// The clock that was read: a number, number@sequence or a name
    ///
    /// As 'timebase clocks' prints it, with ' of machine N' and ' in file N' behind it if you like. Builtin
    /// names may be in any case; any other name must be that of a clock of the trace. If the reading is a
    /// time of day, it is REALTIME if not given.
    #[arg(short, long)]
    pub clock: Option<ClockArgument>,
    /// The reading, in the clock's own unit; or a time of day
    ///
    /// A time of day such as 2026-11-21T16:21:30.5 is UTC, or what an offset or a zone behind it says:
    /// 2026-11-21T17:21:30.5+01:00, '2026-11-21T17:21:30.5[Europe/Berlin]'.
    #[arg(short, long, allow_negative_numbers = true)]
    pub ts: Option<TsArgument>,
    /// The sequence of the clock; clocks 64 to 127 need one, here or as number@sequence
    #[arg(short, long, default_value_t = 0, value_name = "N")]
    pub seq: u32,
    /// The clock to convert to, of the same machine and file: as --clock [default: BOOTTIME of trace time]
    #[arg(long, value_name = "CLOCK")]
    pub to: Option<ClockArgument>,
    /// The sequence of the clock to convert to
    #[arg(long, default_value_t = 0, value_name = "N", requires = "to")]
    pub to_seq: u32,
    /// The machine on which the clock was read: its id or its name [default: that of the file, or 0]
    #[arg(long, value_name = "MACHINE")]
    pub machine: Option<String>,
    /// The file in which the clock was read, if there are several: its id or its name
    ///
    /// A file can have clocks of its own, and sequences of one number are others in each.
    #[arg(long, value_name = "FILE")]
    pub file: Option<String>,
    /// By which conversion [default: that of the database]
    #[arg(long, value_enum, value_name = "HOW")]
    pub conversion: Option<Conversion>,
}

/// A clock as it was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClockArgument {
    pub written: WrittenClock,
    pub text: String,
}

impl FromStr for ClockArgument {
    type Err = NotAClock;

    fn from_str(text: &str) -> Result<ClockArgument, NotAClock> {
        Ok(ClockArgument {
            written: text.parse()?,
            text: text.to_owned(),
        })
    }
}

/// What a clock read, as it was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TsArgument {
    /// In the clock's own unit.
    Ticks(i64),
    /// As a wall clock shows it.
    Shown(WallTime, String),
}

impl FromStr for TsArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<TsArgument, String> {
        let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
        if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
            let ticks = text.parse().map(TsArgument::Ticks);
            return ticks.map_err(|_| "must fit 64 bits".to_owned());
        }
        match text.parse() {
            Ok(time) => Ok(TsArgument::Shown(time, text.to_owned())),
            Err(wrong @ NotATime::Form) => {
                Err(format!("must be an integer, or {}", wrong.expected()))
            }
            Err(wrong) => Err(wrong.to_string()),
        }
    }
}

/// How findings are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Findings {
    /// For a person: a paragraph each, as wide as the terminal
    Table,
    /// An object with findings and summary
    Json,
    /// To paste into a document or the summary of a build
    #[value(alias = "md")]
    Markdown,
}

/// What makes the command fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// An error
    Error,
    /// An error or a warning
    Warning,
    /// No finding
    Never,
}

/// How readings of clocks are brought to one clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Conversion {
    /// By the nearest snapshot before a reading, of those seen until then: Perfetto's rule
    Nearest,
    /// By lines through all snapshots of the trace, which is read twice; a pipe is copied to a temporary file for that
    Linear,
}

impl From<Conversion> for timebase_import::Conversion {
    fn from(conversion: Conversion) -> Self {
        match conversion {
            Conversion::Nearest => timebase_import::Conversion::Nearest,
            Conversion::Linear => timebase_import::Conversion::Linear,
        }
    }
}

/// What was said on the command line; if it is wrong, ends the program.
pub fn parse() -> Cli {
    Cli::try_parse().unwrap_or_else(|mut error| {
        if let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand)
            && let Some(tip) = command_meant(word)
        {
            let tips = ContextValue::StyledStrs(vec![tip.into()]);
            // A command that is only spelt alike would be beside it.
            error.remove(ContextKind::SuggestedSubcommand);
            error.insert(ContextKind::Suggested, tips);
        }
        messages::usage(&error)
    })
}

/// The command that somebody may have meant who began with another word.
fn command_meant(word: &str) -> Option<String> {
    let path = Path::new(word);
    if path.is_file() {
        return Some(match timebase_import::file_kind(path) {
            Ok(FileKind::Database) => format!(
                "that is a database: ask it with 'timebase query {word} \"SELECT …\"' or \
                 'timebase shell {word}'"
            ),
            _ => format!(
                "that is a file: 'timebase import {word}' makes a database of a trace, and \
                 'timebase shell {word}' asks it at once"
            ),
        });
    }
    let lower = word.to_ascii_lowercase();
    let tip = match lower.split_whitespace().next()? {
        "usage" | "commands" | "options" | "?" => "'timebase --help' lists the commands",
        "version" => "'timebase --version' prints the version",
        "convert" | "load" | "open" | "read" | "create" | "parse" => {
            "'timebase import TRACE' makes a database of a trace"
        }
        "sql" | "select" | "with" | "run" | "ask" | "exec" => {
            "'timebase query TRACE-or-DB \"SELECT …\"' runs SQL"
        }
        "repl" | "console" | "sqlite" | "sqlite3" | "interactive" => {
            "'timebase shell TRACE-or-DB' takes SQL line by line"
        }
        "reports" => {
            "'timebase query TRACE-or-DB --report NAME' runs a report, and 'timebase report TRACE-or-DB -o \
             report.html' makes a page of all"
        }
        "info" | "summary" | "stats" | "show" | "tables" | "schema" => {
            "'timebase shell TRACE-or-DB' shows the tables with '.tables', and their columns with \
             '.schema NAME'"
        }
        _ if word.contains(['.', '/']) => {
            "a command comes first, then the file: 'timebase import TRACE' makes a database of a \
             trace"
        }
        _ => return None,
    };
    Some(tip.to_owned())
}

/// Ends the program because of a combination of arguments that the definition
/// above cannot rule out.
pub fn wrong_usage(command: &str, message: &str) -> ! {
    let mut cli = Cli::command();
    cli.build();
    let error = match cli.find_subcommand_mut(command) {
        Some(command) => command.error(ErrorKind::ArgumentConflict, message),
        None => cli.error(ErrorKind::ArgumentConflict, message),
    };
    messages::usage(&error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_reading_is_an_integer_or_a_time() {
        let read = |text: &str| text.parse::<TsArgument>();
        assert_eq!(read("-5"), Ok(TsArgument::Ticks(-5)));
        let noon = WallTime::of_realtime(1_795_262_400_000_000_000);
        for text in ["2026-11-21T12:00:00", "2026-11-21T13:00[Europe/Berlin]"] {
            assert_eq!(read(text), Ok(TsArgument::Shown(noon, text.to_owned())));
        }
        for (text, said) in [
            ("9223372036854775808", "must fit 64 bits"),
            ("noon", "must be an integer, or a time such as"),
            ("", "must be an integer, or a time such as"),
            ("-", "must be an integer, or a time such as"),
            ("2026-03-29T02:30[Europe/Berlin]", "gap"),
        ] {
            let wrong = read(text).expect_err(text);
            assert!(wrong.contains(said), "{text}: {wrong}");
        }
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
