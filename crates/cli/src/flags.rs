//! The definition of the command line. Help, man page and completions are made from it.

mod compare;

use std::convert::Infallible;
use std::env;
use std::ffi::OsString;
use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use timebase_import::manifest::{Align, Clock};
use timebase_import::{FileKind, MappingFile, Options, Size, Subject};
use timebase_resolver::{NotAClock, NotATime, WallTime, WrittenClock};

use crate::messages;
use crate::output::Format;
use crate::parameters::{self, Parameter};
use crate::progress::Progress;
use crate::reports::Report;
pub use compare::{CompareArguments, Undecided};

/// Turn Perfetto traces into SQLite databases with every event on one clock
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

'timebase COMMAND --help' explains a command. Results go to standard output,
everything else goes to standard error. The exit code is 0 for success, 1 for a
failure, 2 for a wrong command line, 130 for an interrupt."
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make a SQLite database of a trace
    ///
    /// Every packet becomes a row with its time on one clock, trace time. So do the kernel events and
    /// log lines inside packets. An event without a known time keeps its row, with the reason.
    Import(ImportArguments),
    /// Run SQL on a database, or on a trace
    ///
    /// The command runs several statements in order, and prints their results in this order. A comment
    /// line '-- # Title' before a statement gives its result a title. The command imports a trace into a
    /// temporary database first. It opens a database read-only, unless --write is given. A terminal shows
    /// rows as they come, and so does a pipe in the formats csv, json and jsonl. Otherwise the command
    /// writes nothing if a statement fails. With --write, it writes no row before all statements have run.
    Query(QueryArguments),
    /// Type SQL, see results
    ///
    /// A statement ends with a semicolon and may take several lines. '.help' lists the other commands
    /// of the shell. If standard input is not a terminal, the shell reads statements from it, without
    /// prompts.
    Shell(ShellArguments),
    /// List the clocks of a trace, and the way from each to BOOTTIME or to a JSON trace's own clock
    Clocks(ClocksArguments),
    /// Find problems with the clocks of a trace, and their remedies
    ///
    /// Each finding shows the problem, its first place, its cost, and a remedy for the producer of the
    /// trace. If there are no problems, the doctor calls the trace healthy. It also prints numbers about
    /// the clocks. The view 'finding' of the database has the same findings.
    Doctor(DoctorArguments),
    /// Show how a reading of one clock is converted to another
    ///
    /// A reading is a value that a clock showed. The conversion has one or more hops, each from one
    /// clock to the next. The command prints each hop, its snapshot and the arithmetic. If it cannot
    /// convert the reading, it prints the reason.
    Explain(ExplainArguments),
    /// Write the tables of a trace as Parquet, into a folder of many traces
    ///
    /// Spark, DuckDB, Polars and pandas read such a folder. It has a folder for each table, with a partition for
    /// each trace (trace_id=…). The columns of a table are the same for every trace. The command first imports a
    /// trace into a temporary database, with only the data that the tables need.
    Export(ExportArguments),
    /// Write a trace again, with every time on one clock
    ///
    /// Other tools then show the times that timebase computes: of custom clocks, of drifting clocks with
    /// --conversion linear, of several machines, and of damaged traces. All other bytes of the packets stay. The
    /// command reads the trace more than once, and copies a pipe to a temporary file first.
    Rewrite(RewriteArguments),
    /// Open a trace in the Perfetto UI, with every time on one clock
    ///
    /// The command rewrites the trace to a temporary file, serves it on 127.0.0.1:9001, and opens the UI in the
    /// browser. Only https://ui.perfetto.dev gets the file. The UI reads it inside the browser and uploads nothing.
    View(ViewArguments),
    /// Draw the callstacks of samples or heap profiles as a flame graph
    ///
    /// A function is as wide as its share of the samples, or of the memory. The page is one self-contained HTML
    /// file, with search and zoom. Other forms are for other tools: folded lines, and profiles for pprof.
    Flamegraph(FlamegraphArguments),
    /// Say what got slower, or changed otherwise, between two groups of runs
    ///
    /// A run is a trace. Each line, such as the slices with one name, has one value for each run; the command says
    /// which lines changed by more than runs of one side differ, and how sure that is. Rows that the recording's losses
    /// may have made false do not count.
    Compare(Box<CompareArguments>),
    /// Make a page about the clocks of a trace, to look at and to share
    ///
    /// The page is one self-contained HTML file. It shows the findings of the doctor, the clock graph, a
    /// plot of the rate of each clock, the packets between their snapshots, the events without a time
    /// and the reasons, and the tables of the reports of 'query'.
    Report(ReportArguments),
    /// Print a manifest to start from, with the machines that the traces name
    ///
    /// A manifest states which machine recorded a file, and how clocks relate, if the traces do not say it. The
    /// printed manifest changes nothing. Edit the names in it; standard error suggests additions. JSON traces have
    /// entries, too.
    Manifest(ManifestArguments),
    /// Print the number of a named clock
    ///
    /// Builtin clocks have fixed numbers; their names are case-insensitive. The number of any other name is a
    /// hash, as in Perfetto: fnv1a_32(name) | 0x80000000.
    #[command(after_help = "\
Examples:
  timebase clock-id com.example.my_subsystem   for timestamp_clock_id
  timebase clock-id BOOTTIME                   6")]
    ClockId {
        /// A builtin clock, or the fully qualified name of your own
        name: ClockArgument,
    },
    /// Print the metadata of a database for Datasette
    ///
    /// The JSON lists the tables to hide, describes tables and columns, and has queries to start with.
    /// If the Python package is installed beside Datasette, its plugin does this automatically.
    #[command(after_help = "\
Examples:
  timebase datasette-metadata trace.db > metadata.json
  datasette trace.db --metadata metadata.json")]
    DatasetteMetadata {
        /// The file names of the databases; the files need not exist
        #[arg(value_name = "DB", required = true)]
        databases: Vec<PathBuf>,
    },
    /// Explain a table, column, SQL function, command, report or module
    ///
    /// This prints the reference of this version, with examples, without a network. If the words are not
    /// a name, the command searches all texts for them. With --sql-package, this includes the names and texts
    /// of PerfettoSQL modules. In the shell, use '.help NAME'.
    #[command(after_help = "\
Examples:
  timebase help                  all topics
  timebase help tables           all tables, by subject
  timebase help slice            a table, with its columns
  timebase help to_boottime      a function
  timebase help sched-latency    a report, with its parameters
  timebase help lost packets     a search for these words
  timebase help coming-from-trace-processor
  timebase help --sql-package stdlib slices.with_context")]
    Help {
        /// A name in any case, table.column, or words to search for
        #[arg(value_name = "NAME")]
        name: Vec<String>,
        #[command(flatten)]
        packages: SqlPackages,
    },
    /// Print a completion script for a shell
    ///
    /// The script asks this program for completions: commands and flags, formats, reports and their
    /// parameters, tables, and the clocks of the database on the command line.
    #[command(after_help = "\
Examples:
  source <(timebase completions bash)                in ~/.bashrc
  source <(timebase completions zsh)                 in ~/.zshrc
  timebase completions fish | source                 in ~/.config/fish/config.fish

Load the script when a shell starts, not from a saved file, so that it always matches the version
of the program.")]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page of the program or of a command, or write all of them
    #[command(after_help = "\
Examples:
  timebase man | man -l -
  timebase man import | man -l -
  timebase man --dir ~/.local/share/man/man1    then: man timebase-import")]
    Man {
        /// The command whose page to print [default: the program's page]
        command: Option<String>,
        /// Write the pages of the program and of all commands to this directory; the command creates
        /// it if necessary
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
    /// The database to write [default: beside the trace, with the extension .db]
    #[arg(short, long, value_name = "OUT.db")]
    pub output: Option<PathBuf>,
    /// Replace the database if it exists
    #[arg(short, long)]
    pub force: bool,
    /// Read a file that consists of several recordings, one after the other, as several files
    ///
    /// The files of a.pftrace are a.pftrace#1, a.pftrace#2 and so on. Otherwise their tracks mix if both
    /// recordings use the same numbers; timebase doctor says so. JSON traces cannot be split.
    #[arg(long)]
    pub split: bool,
    /// Leave out the bytes of the packets
    ///
    /// This makes the database smaller. It still has all times and all events; only the column data
    /// of the table packet is NULL.
    #[arg(long)]
    pub no_data: bool,
    /// Compress the bytes of the packets, and leave out the indexes of packets and slices by time
    ///
    /// This makes the database smaller. The column data of the table packet is NULL, and the SQL function packet_data(id)
    /// returns the bytes. With --no-data there are no bytes. All else stays the same.
    #[arg(long)]
    pub compact: bool,
    /// Leave out the events inside packets: all tables of events stay empty
    #[arg(long)]
    pub no_events: bool,
    /// Import only these events from inside packets; packets and clocks are always imported
    ///
    /// Separate the names of tables with commas: ftrace_event, android_logs, thread (with process), sched (with
    /// thread_state), slice (with state), counter, stack_sample (with heap profiles and memory mappings). Each of
    /// the last four includes processes and threads.
    #[arg(long, value_name = "LIST", value_delimiter = ',', conflicts_with = "no_events")]
    pub tables: Option<Vec<Subject>>,
    /// The conversion of readings to one clock
    #[arg(long, value_enum, value_name = "HOW", default_value_t = Conversion::Nearest)]
    pub conversion: Conversion,
    #[command(flatten)]
    pub settings: ImportSettings,
    /// The display of progress
    ///
    /// A line of 'lines' is {"bytes":N,"of":N,"packets":N,"phase":"reading"}: the bytes of the trace read so
    /// far, the size of the trace (null for a pipe), and the packets so far. After the last byte the phase is
    /// 'writing'. With --conversion linear, 'surveying' comes before 'reading', and for a pipe 'copying' before
    /// that; each counts from 0. If the reader of the lines closes the pipe, the import stops and changes nothing.
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = Progress::Auto)]
    pub progress: Progress,
    /// Read standard input in pieces from a program that marks the end of the trace
    ///
    /// Each piece starts with its size in four bytes, the lowest first; an empty piece marks the end. If
    /// standard input ends without this mark, the program was killed and the trace may be incomplete, so the
    /// import fails.
    #[arg(long)]
    pub pieces: bool,
}

/// The flags of an import, for all commands that import.
#[derive(Debug, Args)]
pub struct ImportSettings {
    /// A manifest in Perfetto's format: the relations of the files and their machines
    ///
    /// 'timebase manifest TRACE...' prints one to start from. An archive may contain its own.
    #[arg(long, value_name = "FILE")]
    pub manifest: Option<PathBuf>,
    /// Read timestamps that name no clock on this one
    ///
    /// REALTIME is for traces with Unix time and without snapshots of clocks, which 'doctor' names. A manifest can
    /// say it for single files. JSON traces have no such timestamps. The other clocks are REALTIME_COARSE, MONOTONIC, MONOTONIC_COARSE, MONOTONIC_RAW and BOOTTIME.
    #[arg(long, value_name = "NAME", value_parser = clock_of_name)]
    pub default_clock: Option<Clock>,
    /// Say what messages between machines may change
    ///
    /// No message arrives before it was sent. 'auto' moves files whose place was only assumed, and is proven wrong by
    /// flows between machines, collectives of ranks, or the pairs of a manifest. 'flows', 'collectives' and 'pairs' use
    /// these messages only, and move each assumed place that they bound. 'tighten' is 'auto', and makes the errors of
    /// measured relations less where messages bound them. 'report' moves nothing, and fills the tables; 'off' does neither. Measured relations never move. Without this flag, the manifest decides, or else it is 'auto'.
    #[arg(long, value_name = "MODE", value_parser = align_of_name)]
    pub align: Option<Align>,
    /// Put files on one timeline although nothing says how their clocks relate
    ///
    /// Without this flag, 'export' refuses several such files, and 'import' warns: if they are of several machines
    /// or boots, the order of their events is random.
    #[arg(long)]
    pub merge: bool,
    /// Extend the schema of packets with a file, for events, packet_json and packet_field
    ///
    /// The file is a serialized FileDescriptorSet, as 'protoc --include_imports
    /// --descriptor_set_out=FILE' writes it. You can repeat this flag. The import always uses the
    /// descriptors in the trace itself.
    #[arg(long, value_name = "FILE")]
    pub descriptor: Vec<PathBuf>,
    #[command(flatten)]
    pub names: NameArguments,
    /// Fail if the trace is damaged, instead of importing the readable parts
    #[arg(long)]
    pub strict: bool,
    /// Stop if the database and the temporary files together would exceed this size
    ///
    /// A number of bytes, or for example 500M, 2G or 4GiB. The import then leaves no files. Without this flag, only
    /// the disk is a limit. In measurements, databases of uncompressed recordings had 5 to 16 times the size of the trace.
    #[arg(long, value_name = "SIZE")]
    pub max_size: Option<Size>,
    /// Stop if the import would exceed this much memory
    ///
    /// A number of bytes, or for example 500M, 2G or 4GiB. Recordings do not come near the default, but traces that
    /// try to exhaust the memory do.
    #[arg(long, value_name = "SIZE", default_value_t = Options::MEMORY)]
    pub max_memory: Size,
}

/// Files with names for callstacks and Java heaps, for all commands that import.
#[derive(Debug, Clone, Default, Args)]
pub struct NameArguments {
    /// Name the native functions of callstacks by ELF files in this directory, with symbols or DWARF
    ///
    /// You can repeat this flag, and DIR can also be one file. A file counts if it has the build id that the trace states; its name and its place below DIR
    /// do not matter. The trace's own symbols are before those of files. The view unsymbolized_mapping has what still lacks names.
    #[arg(long, value_name = "DIR")]
    pub symbols: Vec<PathBuf>,
    /// Name the Java classes and methods that R8 or ProGuard renamed, by its mapping.txt
    ///
    /// You can repeat this flag. With PACKAGE=FILE, the mapping holds only for this package, such as com.example.app. The trace's
    /// own mappings are before files, and the first file before the others.
    #[arg(long, value_name = "[PACKAGE=]FILE", value_parser = mapping_file)]
    pub mapping: Vec<MappingFile>,
}

impl NameArguments {
    /// Whether none is given.
    pub fn are_none(&self) -> bool {
        self.symbols.is_empty() && self.mapping.is_empty()
    }

    /// Sets them in the options of an import.
    pub fn set(&self, options: &mut Options) {
        options.symbols.clone_from(&self.symbols);
        options.mappings.clone_from(&self.mapping);
    }
}

/// `mapping.txt` or `com.example.app=mapping.txt`; a package has no slashes.
fn mapping_file(text: &str) -> Result<MappingFile, &'static str> {
    let named = text.split_once('=').filter(|(package, _)| !package.contains(['/', '\\']));
    Ok(match named {
        Some((package, path)) if !Path::new(text).exists() => {
            if package.is_empty() || path.is_empty() {
                return Err("write a package, '=' and a file, or a file alone");
            }
            MappingFile { path: path.into(), package: Some(package.to_owned()) }
        }
        _ => MappingFile { path: text.into(), package: None },
    })
}

fn align_of_name(name: &str) -> Result<Align, String> {
    let modes = || Align::ALL.map(Align::name).join(", ");
    Align::from_name(name).ok_or_else(|| format!("use one of {}", modes()))
}

/// The clock of a name in upper or lower case.
fn clock_of_name(name: &str) -> Result<Clock, String> {
    Clock::from_name(&name.to_uppercase()).ok_or_else(|| {
        let names = Clock::ALL.map(Clock::name);
        format!("use one of {}", names.join(", "))
    })
}

impl ImportSettings {
    /// The options of an import, with its own defaults for everything else.
    pub fn options(&self) -> Options {
        let mut options = Options::default();
        options.manifest.clone_from(&self.manifest);
        options.default_clock = self.default_clock;
        options.align = self.align;
        options.descriptors.clone_from(&self.descriptor);
        self.names.set(&mut options);
        options.strict = self.strict;
        options.max_size = self.max_size;
        options.max_memory = Some(self.max_memory);
        options
    }

    /// The same settings as arguments for another process, without those that relate several files.
    pub fn flags(&self) -> Vec<OsString> {
        let mut flags: Vec<OsString> = Vec::new();
        if let Some(clock) = self.default_clock {
            flags.push(format!("--default-clock={}", clock.name()).into());
        }
        if let Some(align) = self.align {
            flags.push(format!("--align={}", align.name()).into());
        }
        for descriptor in &self.descriptor {
            let mut flag = OsString::from("--descriptor=");
            flag.push(descriptor);
            flags.push(flag);
        }
        for directory in &self.names.symbols {
            let mut flag = OsString::from("--symbols=");
            flag.push(directory);
            flags.push(flag);
        }
        for MappingFile { path, package } in &self.names.mapping {
            let mut flag = OsString::from("--mapping=");
            if let Some(package) = package {
                flag.push(package);
                flag.push("=");
            }
            flag.push(path);
            flags.push(flag);
        }
        if self.strict {
            flags.push("--strict".into());
        }
        if let Some(Size(bytes)) = self.max_size {
            flags.push(format!("--max-size={bytes}").into());
        }
        let Size(bytes) = self.max_memory;
        flags.push(format!("--max-memory={bytes}").into());
        flags
    }
}

impl ImportArguments {
    /// The subjects of the events inside packets that the import keeps.
    pub fn subjects(&self) -> Vec<Subject> {
        match &self.tables {
            _ if self.no_events => Vec::new(),
            None => Subject::ALL.to_vec(),
            Some(subjects) => subjects.clone(),
        }
    }
}

#[derive(Debug, Args)]
pub struct SqlPackages {
    /// Find modules of PerfettoSQL in this folder
    ///
    /// You can repeat this flag. In DIR, each folder is a package: INCLUDE PERFETTO MODULE slices.with_context reads
    /// DIR/slices/with_context.sql. For Perfetto's own modules, name a checkout of its repository; they are in
    /// src/trace_processor/perfetto_sql/stdlib. NAME=DIR makes DIR itself the package NAME. The variable TIMEBASE_SQL_PACKAGES names more
    /// folders, separated as in PATH.
    #[arg(long = "sql-package", value_name = "[NAME=]DIR")]
    pub folders: Vec<String>,
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
    /// Set a parameter (:name, @name or $name) of the statements
    ///
    /// You can repeat this flag. A value is an integer, a real number, NULL, or otherwise text. Put text
    /// that looks like a number or NULL in single quotes: --param "tag='123'". A line
    /// '-- param top integer = 20 : how many rows' at the top of the statements declares the type of a
    /// parameter (integer, real, text or time) and its default. Without '= 20' the parameter is required.
    #[arg(short, long = "param", value_name = "NAME=VALUE", value_parser = parameters::parse)]
    pub parameters: Vec<Parameter>,
    /// The format of the result
    ///
    /// A single result without a title is just its rows. Otherwise json has an array of {title, rows}, and
    /// jsonl has lines of {title, row}. In table and markdown, a title is a heading. In csv, an empty line
    /// separates results, and a line '# Title' precedes a result with a title. [default: table, or the
    /// format of the extension of --output]
    #[arg(short = 'F', long, value_enum)]
    format: Option<QueryFormat>,
    /// Write the result to a file, which appears when it is complete
    ///
    /// Without --format, the extension selects the format: .csv, .json, .jsonl, .md, .parquet, or .txt for table.
    /// A name without an extension also means table.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Let the statements change the database, and say what they changed
    #[arg(long)]
    pub write: bool,
    /// The conversion of the trace's readings to one clock [default: nearest]
    ///
    /// A database was imported with one conversion; the other one is an error.
    #[arg(long, value_enum, value_name = "HOW")]
    pub conversion: Option<Conversion>,
    #[command(flatten)]
    pub names: NameArguments,
    #[command(flatten)]
    pub packages: SqlPackages,
    /// Fail if the trace is damaged, instead of querying the readable parts
    #[arg(long)]
    pub strict: bool,
    /// Fail if all results are empty
    #[arg(long)]
    pub fail_if_empty: bool,
}

impl QueryArguments {
    /// The format of the result, or an error if it is unknown.
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
                "--output {}: unknown extension .{}. Known are .csv, .json, .jsonl, .md and .parquet, and .txt \
                 for the table; for any other name use --format",
                output.unwrap_or(Path::new("")).display(),
                ending.display()
            )
        })
    }
}

/// A format of the result of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryFormat {
    /// A format for any result.
    Rows(Format),
    /// A Parquet file, for one result.
    Parquet,
}

impl QueryFormat {
    /// The format for a file whose name ends with this.
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
            QueryFormat::Parquet => Some(
                PossibleValue::new("parquet").help("A file with one result, for other programs"),
            ),
        }
    }
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  timebase shell trace.db
  timebase shell trace.pftrace < report.sql

The shell keeps its history in $XDG_STATE_HOME/timebase/history; without that
variable, in ~/.local/state/timebase/history.")]
pub struct ShellArguments {
    /// A trace, or the database that 'import' made of one
    #[arg(value_name = "TRACE-or-DB")]
    pub source: PathBuf,
    /// The format of results; '.mode' changes it
    #[arg(short = 'F', long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
    /// The conversion of the trace's readings to one clock [default: nearest]
    ///
    /// A database was imported with one conversion; the other one is an error.
    #[arg(long, value_enum, value_name = "HOW")]
    pub conversion: Option<Conversion>,
    /// Let statements change the database, and say what they changed
    #[arg(long)]
    pub write: bool,
    #[command(flatten)]
    pub names: NameArguments,
    #[command(flatten)]
    pub packages: SqlPackages,
}

#[derive(Debug, Args)]
#[command(after_help = "\
A clock of a sequence is written number@sequence. At the first snapshot, a
reading plus the offset is BOOTTIME, in nanoseconds. The drift is the change of
the offset from the first to the last snapshot. If trace time is the clock of a
JSON trace (TRACE_FILE), the offset leads to that; column ts has these times.

Examples:
  timebase clocks trace.pftrace
  timebase clocks trace.db --format json")]
pub struct ClocksArguments {
    /// A trace, or the database that 'import' made of one; '-' is a trace on standard input
    #[arg(value_name = "TRACE-or-DB")]
    pub source: PathBuf,
    /// The format of the list
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

An error: events have no time, or a wrong one. A warning: times may be off by
more than 100 µs. Info: worth knowing. The exit code is 1 for a finding that
--fail-on selects, or if the doctor cannot read the trace.")]
pub struct DoctorArguments {
    /// A trace, or the database that 'import' made of one; '-' is a trace on standard input
    #[arg(value_name = "TRACE-or-DB")]
    pub source: PathBuf,
    /// The format of the findings
    #[arg(short = 'F', long, value_enum, default_value_t = Findings::Table)]
    pub format: Findings,
    /// The lowest severity of a finding that makes the exit code 1
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
    /// A database that 'import' made, or the input of 'import': a trace, an archive of traces, or several traces
    /// that belong together; '-' is standard input
    ///
    /// A folder stands for each trace below it by itself, with its path in a column trace_path of all tables. Files
    /// and folders whose names begin with '.' or '_' do not count.
    #[arg(value_name = "TRACE-or-DB", required_unless_present = "schema")]
    pub traces: Vec<PathBuf>,
    /// The folder; the command creates it if necessary
    #[arg(short, long, value_name = "DIR", required_unless_present = "schema")]
    pub output: Option<PathBuf>,
    /// The tables and views, separated by commas [default: all that 'timebase help tables' lists]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub tables: Option<Vec<String>>,
    /// The compression of the files
    #[arg(long, value_enum, value_name = "HOW", default_value_t = Compression::Zstd)]
    pub compression: Compression,
    /// Add a column with this name and value to each table, to distinguish traces
    ///
    /// You can repeat this flag: --label build=1234 --label device=oriole. Without a value, the column has the name
    /// of the trace's file, as in trace_file.name: --label trace_file.
    #[arg(long = "label", value_name = "NAME[=VALUE]", value_parser = label)]
    pub labels: Vec<Label>,
    /// Replace the trace if the folder already has it
    #[arg(short, long)]
    pub force: bool,
    /// Export this many traces of a folder at a time [default: one for each processor]
    #[arg(long, value_name = "N", value_parser = jobs_of)]
    pub jobs: Option<usize>,
    /// Print the columns of the tables and their types, as JSON, and export nothing
    #[arg(long, conflicts_with_all = ["traces", "output", "labels", "force"])]
    pub schema: bool,
    /// The conversion of the trace's readings to one clock [default: nearest]
    ///
    /// A database was imported with one conversion; the other one is an error.
    #[arg(long, value_enum, value_name = "HOW")]
    pub conversion: Option<Conversion>,
    #[command(flatten)]
    pub settings: ImportSettings,
    /// The display of progress
    ///
    /// After the lines of the import, if there is one, a line of 'lines' is
    /// {"tables":N,"of":N,"rows":N,"phase":"exporting"}.
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = Progress::Auto)]
    pub progress: Progress,
}

/// A number of processes, at least one.
pub fn jobs_of(text: &str) -> Result<usize, String> {
    text.parse()
        .ok()
        .filter(|jobs| (1..=1024).contains(jobs))
        .ok_or_else(|| "use a number from 1 to 1024".to_owned())
}

/// A name and a value of `--label`. Without a value, it is the name of the trace's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    pub name: String,
    pub value: Option<String>,
}

fn label(text: &str) -> Result<Label, Infallible> {
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (text, None),
    };
    let name = name.to_owned();
    Ok(Label { name, value })
}

/// The compression of Parquet files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Compression {
    /// Zstandard: small; all recent readers support it
    Zstd,
    /// Snappy: all readers support it
    Snappy,
    /// No compression
    None,
}

impl Compression {
    /// The name as an argument.
    pub fn name(self) -> &'static str {
        match self {
            Compression::Zstd => "zstd",
            Compression::Snappy => "snappy",
            Compression::None => "none",
        }
    }
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

For reports that are tables, made by SQL, use 'timebase query --report NAME'.")]
pub struct ReportArguments {
    /// A trace, or the database that 'import' made of one; '-' is a trace on standard input
    #[arg(value_name = "TRACE-or-DB")]
    pub source: PathBuf,
    /// The file of the page, which appears when it is complete; '-' is standard output, the default in
    /// a pipe
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(short, long)]
    pub force: bool,
    /// The conversion of the trace's readings to one clock [default: nearest]
    ///
    /// A database was imported with one conversion; the other one is an error.
    #[arg(long, value_enum, value_name = "HOW")]
    pub conversion: Option<Conversion>,
    /// Fail if the trace is damaged, instead of showing the readable parts
    #[arg(long)]
    pub strict: bool,
}

/// The quantity that a flame graph adds up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FlameOf {
    /// Samples of running threads
    Cpu,
    /// Bytes that were allocated and not freed
    Heap,
    /// Bytes that were allocated, even if they were freed
    Allocations,
    /// Callstacks that programs gave their own events
    Slices,
    /// Bytes of the Java heap, by the classes of the objects that keep them alive alone
    Java,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  timebase flamegraph trace.pftrace -o flame.html
  timebase flamegraph trace.db -o frame.html --process com.example.app --during 'frame *'
  timebase flamegraph new.pftrace --diff old.pftrace -o change.html
  timebase flamegraph trace.db --of java -o heap.html
  timebase flamegraph trace.db -o heap.pb.gz --of heap && go tool pprof -top heap.pb.gz")]
pub struct FlamegraphArguments {
    /// A trace, or the database that 'import' made of one; '-' is a trace on standard input
    #[arg(value_name = "TRACE-or-DB")]
    pub source: PathBuf,
    /// The file: .html is a page, .svg the graph alone, .folded a line for each callstack, .pb.gz a profile for
    /// pprof. '-' is standard output, the default in a pipe, with folded lines
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(short, long)]
    pub force: bool,
    /// The quantity to add up [default: that of cpu, heap and slices with the most rows, or else java]
    #[arg(long, value_enum, value_name = "WHAT")]
    pub of: Option<FlameOf>,
    /// Only processes with this name, which may be a pattern (GLOB), or with this pid
    #[arg(long, value_name = "NAME|PID")]
    pub process: Option<String>,
    /// Only threads with this name, which may be a pattern (GLOB), or with this tid
    #[arg(long, value_name = "NAME|TID")]
    pub thread: Option<String>,
    /// Only from this time on: trace time in ns, or a date and a time such as 2026-11-21T16:21:30.5
    #[arg(long, value_name = "TIME", allow_negative_numbers = true)]
    pub from: Option<TsArgument>,
    /// Only before this time
    #[arg(long, value_name = "TIME", allow_negative_numbers = true)]
    pub to: Option<TsArgument>,
    /// Only samples of a thread while it is in a slice with this name, which may be a pattern (GLOB)
    #[arg(long, value_name = "SLICE")]
    pub during: Option<String>,
    /// Start with the innermost functions, so that callers are below the functions that they call
    #[arg(long)]
    pub reverse: bool,
    /// Color the change from another trace or database to this one, as shares of all samples
    ///
    /// A page also lists the functions that only the other trace has. With --of java, the same trace again stands for
    /// its first dump of each process, and this one for the last.
    #[arg(long, value_name = "TRACE-or-DB")]
    pub diff: Option<PathBuf>,
    /// The conversion of the trace's readings to one clock [default: nearest]
    ///
    /// A database was imported with one conversion; the other one is an error.
    #[arg(long, value_enum, value_name = "HOW")]
    pub conversion: Option<Conversion>,
    #[command(flatten)]
    pub names: NameArguments,
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
    /// Explain the begin of the slice with this id
    #[arg(long, value_name = "ID", conflicts_with_all = ["packet", "clock", "ts", "seq", "machine", "file"])]
    pub slice: Option<i64>,
    /// Explain the time of the packet with this id
    #[arg(long, value_name = "ID", conflicts_with_all = ["clock", "ts", "seq", "machine", "file"])]
    pub packet: Option<i64>,
    /// The clock of the reading: a number, number@sequence or a name
    ///
    /// Write it as 'timebase clocks' prints it, with or without ' of machine N' and ' in file N'. Builtin names
    /// are case-insensitive; any other name must be the name of a clock in the trace. For a time of day the default
    /// is REALTIME.
    #[arg(short, long)]
    pub clock: Option<ClockArgument>,
    /// The reading, in the clock's own unit; or a time of day
    ///
    /// A time of day such as 2026-11-21T16:21:30.5 is UTC, unless it has an offset or a zone:
    /// 2026-11-21T17:21:30.5+01:00, '2026-11-21T17:21:30.5[Europe/Berlin]'.
    #[arg(short, long, allow_negative_numbers = true)]
    pub ts: Option<TsArgument>,
    /// The sequence of the clock; clocks 64 to 127 need one, here or as number@sequence
    #[arg(short, long, default_value_t = 0, value_name = "N")]
    pub seq: u32,
    /// The target clock, of the same machine and file, written as for --clock [default: BOOTTIME of trace time]
    #[arg(long, value_name = "CLOCK")]
    pub to: Option<ClockArgument>,
    /// The sequence of the target clock
    #[arg(long, default_value_t = 0, value_name = "N", requires = "to")]
    pub to_seq: u32,
    /// The machine of the clock: its id or its name [default: the machine of the file, or 0]
    #[arg(long, value_name = "MACHINE")]
    pub machine: Option<String>,
    /// The file of the reading, if there are several: its id or its name
    ///
    /// Each file has its own sequences, and can have its own clocks.
    #[arg(long, value_name = "FILE")]
    pub file: Option<String>,
    /// The conversion of the trace's readings [default: as in the database]
    #[arg(long, value_enum, value_name = "HOW")]
    pub conversion: Option<Conversion>,
}

/// A clock, as the user wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClockArgument {
    pub written: WrittenClock,
    pub text: String,
}

impl FromStr for ClockArgument {
    type Err = NotAClock;

    fn from_str(text: &str) -> Result<ClockArgument, NotAClock> {
        Ok(ClockArgument { written: text.parse()?, text: text.to_owned() })
    }
}

/// A reading of a clock, as the user wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TsArgument {
    /// In the clock's own unit.
    Ticks(i64),
    /// As a wall clock shows it.
    Shown(WallTime, String),
}

/// The text as the user wrote it.
impl Display for TsArgument {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            TsArgument::Ticks(ticks) => ticks.fmt(f),
            TsArgument::Shown(_, text) => text.fmt(f),
        }
    }
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

/// The output format of findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Findings {
    /// A paragraph for each finding, as wide as the terminal
    Table,
    /// An object with findings and summary
    Json,
    /// A table for a document or the summary of a build
    #[value(alias = "md")]
    Markdown,
}

/// The findings that make the command fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// An error
    Error,
    /// An error or a warning
    Warning,
    /// No finding
    Never,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  timebase rewrite trace.pftrace -o out.pftrace --conversion linear
  timebase rewrite trace.pftrace -o out.pftrace.gz     compressed
  timebase rewrite phone.pftrace watch.pftrace -o both.zip
  timebase rewrite trace.json -o out.pftrace           a JSON trace as a Perfetto trace
  timebase rewrite trace.pftrace -o out.pftrace --track 'long=SELECT ts, dur, name FROM slice WHERE dur > 1e6'
  timebase rewrite trace.pftrace --dry-run             what would change
  timebase rewrite trace.pftrace -o second.pftrace --during 'frame*' --margin 50ms
  ssh device cat trace | timebase rewrite - -o - > out.pftrace")]
pub struct RewriteArguments {
    /// The trace, an archive of traces (zip, tar), or several traces; '-' is standard input
    #[arg(value_name = "TRACE", required = true)]
    pub traces: Vec<PathBuf>,
    /// The trace to write, or a zip if there are several; '-' is standard output
    ///
    /// The extension .gz or .zst compresses it.
    #[arg(short, long, value_name = "OUT")]
    pub output: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(short, long)]
    pub force: bool,
    /// Say what would change, and write nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Fail if the trace is damaged, instead of writing the readable parts
    #[arg(long)]
    pub strict: bool,
    #[command(flatten)]
    pub window: WindowArguments,
    #[command(flatten)]
    pub settings: RewriteSettings,
    /// The format of the summary: text on standard error, or JSON on standard output
    #[arg(short = 'F', long, value_enum, value_name = "HOW", default_value_t = SummaryFormat::Text)]
    pub format: SummaryFormat,
    /// Stop if the new trace and the temporary files together would exceed this size
    ///
    /// A number of bytes, or for example 500M, 2G or 4GiB. The command then leaves no files.
    #[arg(long, value_name = "SIZE")]
    pub max_size: Option<Size>,
    /// The display of progress
    ///
    /// The lines are the same as for 'import'.
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = Progress::Auto)]
    pub progress: Progress,
    /// Read standard input in pieces from a program that marks the end of the trace
    ///
    /// The pieces have the same form as for 'import'.
    #[arg(long)]
    pub pieces: bool,
}

/// The part of a trace to cut out.
#[derive(Debug, Args)]
pub struct WindowArguments {
    /// Cut: only from this time on; trace time in ns, or a date and a time such as 2026-11-21T16:21:30.5
    ///
    /// The new trace has the names, the open slices, the running threads and the last values of that time.
    #[arg(long, value_name = "TIME", allow_negative_numbers = true)]
    pub from: Option<TsArgument>,
    /// Cut: only before this time
    #[arg(long, value_name = "TIME", allow_negative_numbers = true)]
    pub to: Option<TsArgument>,
    /// Cut: only the time of this slice, by its id in the table 'slice' of an import
    #[arg(long, value_name = "ID", conflicts_with_all = ["from", "to", "during"])]
    pub slice: Option<i64>,
    /// Cut: only the time of the first slice with this name, which may be a pattern (GLOB)
    #[arg(long, value_name = "NAME", conflicts_with_all = ["from", "to"])]
    pub during: Option<String>,
    /// Cut: this much more on both sides, for example 50ms
    #[arg(long, value_name = "DUR", value_parser = duration_of)]
    pub margin: Option<i64>,
}

impl WindowArguments {
    /// Whether a part of the trace is wanted.
    pub fn is_any(&self) -> bool {
        self.from.is_some() || self.to.is_some() || self.slice.is_some() || self.during.is_some()
    }
}

/// A duration in nanoseconds, from a number and its unit.
fn duration_of(text: &str) -> Result<i64, String> {
    let expected = || "must be a number and a unit: ns, us, ms or s, for example 50ms".to_owned();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit = match unit {
        "ns" => 1,
        "us" | "µs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        _ => return Err(expected()),
    };
    let number: i64 = number.parse().map_err(|_| expected())?;
    number.checked_mul(unit).ok_or_else(|| "must fit 64 bits in nanoseconds".to_owned())
}

/// The flags of a rewriting, for all commands that rewrite.
#[derive(Debug, Args)]
pub struct RewriteSettings {
    /// The conversion of readings to one clock
    #[arg(long, value_enum, value_name = "HOW", default_value_t = Conversion::Nearest)]
    pub conversion: Conversion,
    /// A manifest in Perfetto's format: the relations of the files and their machines
    ///
    /// 'timebase manifest TRACE...' prints one to start from. An archive may contain its own.
    #[arg(long, value_name = "FILE")]
    pub manifest: Option<PathBuf>,
    /// Move files whose assumed place messages between machines prove wrong
    ///
    /// The modes are those of 'timebase import --align'. The files are imported first, into a temporary database that
    /// is dropped. Without this flag, assumptions stay.
    #[arg(long, value_name = "MODE", value_parser = align_of_name)]
    pub align: Option<Align>,
    /// Put files on one timeline although nothing says how their clocks relate
    ///
    /// Without this flag, the command warns.
    #[arg(long)]
    pub merge: bool,
    /// Make one trace, not a zip, of several JSON traces, or of JSON traces and one Perfetto trace
    ///
    /// Machines that differ keep their events apart, but not their names.
    #[arg(long)]
    pub one_file: bool,
    #[command(flatten)]
    pub tracks: TrackFlags,
}

/// The tracks that are added to a written trace.
#[derive(Debug, Args)]
pub struct TrackFlags {
    /// Add a track of the rows of a SELECT; may be given several times
    ///
    /// NAME=SQL or NAME=@FILE. Columns: ts, in ns; dur (none or 0: instants; NULL or -1: no end); name; category; value (a
    /// counter); utid or upid, the owner; track (a track for each text); flow_to (an arrow to the slice with this id). Other
    /// columns are arguments. The trace is imported first, into a temporary database.
    #[arg(long, value_name = "NAME=SQL")]
    pub track: Vec<String>,
    /// Add the tracks of a report: sched-latency the longest waits for a CPU, slices the slowest slices
    #[arg(long, value_parser = report_with_tracks(), value_name = "NAME")]
    pub report: Vec<Report>,
    /// Add tracks of the losses of the recording, of rows that may be wrong, and of the errors of clocks
    #[arg(long)]
    pub marks: bool,
}

/// A report whose rows have times of their own.
fn report_with_tracks() -> impl TypedValueParser<Value = Report> {
    let reports = Report::value_variants().iter().filter(|report| report.has_tracks());
    PossibleValuesParser::new(reports.filter_map(Report::to_possible_value))
        .try_map(|name| <Report as ValueEnum>::from_str(&name, false))
}

impl RewriteSettings {
    /// Checks that the traces can be read as often as the settings need.
    pub fn check(&self, traces: &[PathBuf]) -> anyhow::Result<()> {
        if self.align.is_none_or(|mode| mode == Align::Off) {
            return Ok(());
        }
        for trace in traces {
            anyhow::ensure!(
                trace.as_os_str() != "-",
                "--align reads traces once more than standard input allows: save it to a file"
            );
            // A pipe with a name would wait for a second writer.
            let is_stored = |found: std::fs::Metadata| found.is_file() || found.is_dir();
            anyhow::ensure!(
                trace.metadata().map_or(true, is_stored),
                "--align reads traces once more than the pipe {} allows: save it to a file",
                trace.display()
            );
        }
        Ok(())
    }

    /// The options of a rewriting, with its own defaults for everything else.
    pub fn options(&self) -> Options {
        let mut options = Options::default();
        options.conversion = self.conversion.into();
        options.manifest.clone_from(&self.manifest);
        options.align = self.align;
        options.one_file = self.one_file;
        options
    }
}

/// The output format of a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SummaryFormat {
    Text,
    Json,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  timebase view trace.pftrace --conversion linear
  timebase view phone.pftrace watch.pftrace
  timebase view trace.pftrace --marks                  losses, doubts and errors of clocks as tracks
  timebase view trace.pftrace --no-browser --keep      prints the URL, serves until Ctrl-C")]
pub struct ViewArguments {
    /// The trace, an archive of traces (zip, tar), or several traces; '-' is standard input
    #[arg(value_name = "TRACE", required = true)]
    pub traces: Vec<PathBuf>,
    #[command(flatten)]
    pub settings: RewriteSettings,
    /// Print the URL instead of opening it
    #[arg(long)]
    pub no_browser: bool,
    /// Serve the trace until Ctrl-C, instead of ending when the UI has it
    #[arg(long)]
    pub keep: bool,
}

/// The method to convert readings of clocks to one clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Conversion {
    /// Use the nearest snapshot before a reading, of those read so far: Perfetto's rule
    Nearest,
    /// Use lines through all snapshots; reads the trace twice, and copies a pipe to a temporary file
    Linear,
}

impl Conversion {
    /// The name as an argument.
    pub fn name(self) -> &'static str {
        timebase_import::Conversion::from(self).name()
    }
}

impl From<Conversion> for timebase_import::Conversion {
    fn from(conversion: Conversion) -> Self {
        match conversion {
            Conversion::Nearest => timebase_import::Conversion::Nearest,
            Conversion::Linear => timebase_import::Conversion::Linear,
        }
    }
}

/// Parses the command line. If it is wrong, ends the program.
pub fn parse() -> Cli {
    let arguments = env::args_os().map(statement);
    Cli::try_parse_from(arguments).unwrap_or_else(|mut error| {
        if let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand)
            && let Some(tip) = command_meant(word)
        {
            let tips = ContextValue::StyledStrs(vec![tip.into()]);
            // Without this, clap would also suggest a command that is only spelt alike.
            error.remove(ContextKind::SuggestedSubcommand);
            error.insert(ContextKind::Suggested, tips);
        }
        messages::usage(&error)
    })
}

/// Puts a space in front of a statement that begins with a comment, so that clap does not take it
/// for a flag.
fn statement(argument: OsString) -> OsString {
    let is_statement = argument.to_str().is_some_and(|text| {
        let Some(rest) = text.strip_prefix("--") else {
            return false;
        };
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '-');
        let has_value = end.is_some_and(|end| rest[end..].starts_with('='));
        rest.starts_with(char::is_whitespace) || !has_value && rest.contains('\n')
    });
    match is_statement {
        true => [OsString::from(" "), argument].into_iter().collect(),
        false => argument,
    }
}

/// The command that the user probably meant, if the first word is not a command.
fn command_meant(word: &str) -> Option<String> {
    let path = Path::new(word);
    if path.is_file() {
        return Some(match timebase_import::file_kind(path) {
            Ok(FileKind::Database) => format!(
                "that is a database: query it with 'timebase query {word} \"SELECT …\"' or \
                 'timebase shell {word}'"
            ),
            _ => format!(
                "that is a file: 'timebase import {word}' makes a database of a trace, and \
                 'timebase shell {word}' queries it directly"
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
    fn a_comment_before_a_statement_is_no_flag() {
        let is_statement = |text: &str| statement(text.into()) != text;
        for text in ["-- # title\nSELECT 1", "--\nSELECT 1", "--title\nSELECT 1", "-- SELECT 1"] {
            assert!(is_statement(text), "{text}");
        }
        for text in ["--", "--format", "--format csv", "--output=a\nb", "-F", "SELECT 1 -- \n"] {
            assert!(!is_statement(text), "{text}");
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
        assert!(parse(&["timebase", "query", "t.db", "SELECT 1", "--report", "unplaced"]).is_err());
        let both = ["timebase", "query", "t.db", "--file", "q.sql", "--report", "unplaced"];
        assert!(parse(&both).is_err());
    }

    #[test]
    fn a_reading_may_be_negative() {
        let arguments = ["timebase", "explain", "t.db", "--clock", "3", "--ts", "-5"];
        assert!(Cli::try_parse_from(arguments).is_ok());
    }
}
