//! The costs of timebase: `cargo bench` measures all of them, and prints one table.
//!
//! `docs/benchmarks.md` explains the rows. To add a section, add a module with a function that gets
//! a [`Bench`] and adds [`Row`]s to a [`Table`], and a line in [`SECTIONS`].
//!
//! [`Row`]: table::Row

#![allow(missing_docs)]

mod bombs;
mod child;
mod compare;
mod conversions;
mod events;
mod export;
mod files;
mod functions;
mod growth;
mod imports;
mod inserts;
mod json;
mod kernel;
mod packets;
mod pairs;
mod profiles;
mod program;
mod queries;
mod resolver;
mod rewrite;
mod same_rows;
mod slices;
mod snapshots;
mod sql;
mod stages;
mod system;
mod table;
mod traces;
mod truth;
mod twice;

use std::error::Error;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use clap::builder::{PossibleValue, PossibleValuesParser};
use tempfile::TempDir;

use crate::table::Table;

/// The page with the figures.
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/benchmarks.md");

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Rows of the table that belong together.
struct Section {
    name: &'static str,
    about: &'static str,
    run: fn(&Bench, &mut Table) -> Result<()>,
    /// Whether it only runs if it is named.
    is_extra: bool,
}

const SECTIONS: &[Section] = &[
    Section {
        name: "packets",
        about: "Importing packets, against SQLite's inserts of their rows",
        run: packets::run,
        is_extra: false,
    },
    Section {
        name: "events",
        about: "Importing kernel events and what is made of them, against SQLite's inserts; asking for them",
        run: events::run,
        is_extra: false,
    },
    Section {
        name: "slices",
        about: "Importing track events, against SQLite's inserts; asking for slices and their arguments",
        run: slices::run,
        is_extra: false,
    },
    Section {
        name: "profiles",
        about: "Importing samples with callstacks, against SQLite's inserts of their rows",
        run: profiles::run,
        is_extra: false,
    },
    Section {
        name: "kernel",
        about: "Importing kernel events that are slices and values, against SQLite's inserts of their rows",
        run: kernel::run,
        is_extra: false,
    },
    Section {
        name: "json",
        about: "Importing a trace in JSON, against serde_json, which reads its events into structs",
        run: json::run,
        is_extra: false,
    },
    Section {
        name: "stages",
        about: "Where the time of an import goes",
        run: stages::run,
        is_extra: false,
    },
    Section {
        name: "queries",
        about: "What people ask of scheduling, slices and counters, against plain tables",
        run: queries::run,
        is_extra: false,
    },
    Section {
        name: "export",
        about: "Tables as Parquet, against reading their rows out of SQLite",
        run: export::run,
        is_extra: false,
    },
    Section {
        name: "sql",
        about: "A conversion in SQL, against a function that does nothing",
        run: sql::run,
        is_extra: false,
    },
    Section {
        name: "resolver",
        about: "A conversion by the clock graph alone",
        run: resolver::run,
        is_extra: false,
    },
    Section {
        name: "snapshots",
        about: "Many snapshots among packets, against few",
        run: snapshots::run,
        is_extra: false,
    },
    Section {
        name: "twice",
        about: "Importing by lines, for which the trace is read twice, against the nearest snapshot",
        run: twice::run,
        is_extra: false,
    },
    Section {
        name: "rewrite",
        about: "Rewriting traces, against imports of their packets alone",
        run: rewrite::run,
        is_extra: false,
    },
    Section {
        name: "files",
        about: "Importing many files, as arguments and in archives, against one file with the same packets",
        run: files::run,
        is_extra: false,
    },
    Section {
        name: "growth",
        about: "Memory and time of ever larger imports; takes the longest, and the most disk",
        run: growth::run,
        is_extra: false,
    },
    Section {
        name: "truth",
        about: "How far times are from the truth, in tables of their own; only if it is named, as it measures no time",
        run: truth::run,
        is_extra: true,
    },
    Section {
        name: "compare",
        about: "How often comparisons of runs are wrong, in a table of its own; only if it is named",
        run: compare::run,
        is_extra: true,
    },
    Section {
        name: "bombs",
        about: "Traces that are made to fill memory or disk; only if it is named, and it takes half an hour",
        run: bombs::run,
        is_extra: true,
    },
];

/// Measure the costs of timebase, and print a table of them
///
/// Most rows compare a time with a yardstick. Both are measured in turns, so that fast and slow
/// machines give the same result. The table is Markdown, on standard output; progress goes to
/// standard error. docs/benchmarks.md explains the rows.
#[derive(Debug, Parser)]
#[command(name = "cargo bench --", bin_name = "cargo bench --", max_term_width = 100)]
struct Arguments {
    /// The sections to run; without a name, all but 'truth', 'compare' and 'bombs'
    #[arg(value_name = "SECTION", value_parser = sections())]
    sections: Vec<String>,
    /// A smaller version of everything, in under two minutes
    #[arg(long)]
    quick: bool,
    /// Take the kernel events of 'events', 'stages' and 'queries' from this trace, not from the
    /// generator
    #[arg(long, value_name = "TRACE")]
    events: Option<PathBuf>,
    /// Also leave snapshots out of this trace in 'truth'; may be given several times
    #[arg(long, value_name = "TRACE")]
    recorded: Vec<PathBuf>,
    /// Replace the rows of these sections in docs/benchmarks.md, each section as soon as it is measured
    #[arg(long, conflicts_with_all = ["quick", "events"])]
    write: bool,
    /// The directory for temporary traces and databases; by default below cargo's target directory
    #[arg(long, value_name = "DIR", default_value = env!("CARGO_TARGET_TMPDIR"), hide_default_value = true)]
    directory: PathBuf,
    /// Cargo passes this to every benchmark.
    #[arg(long, hide = true)]
    bench: bool,
    /// `child.rs` passes this to a process of this program: the trace to import, and the path of
    /// the database.
    #[arg(long, hide = true, num_args = 2)]
    child: Option<Vec<PathBuf>>,
    /// `program.rs` passes this to a process of this program: the arguments for timebase.
    #[arg(long, hide = true, num_args = 1.., allow_hyphen_values = true)]
    program: Option<Vec<OsString>>,
}

fn sections() -> PossibleValuesParser {
    let sections = SECTIONS.iter();
    PossibleValuesParser::new(
        sections.map(|section| PossibleValue::new(section.name).help(section.about)),
    )
}

/// The input of a section.
struct Bench {
    quick: bool,
    /// The user's trace of kernel events.
    events: Option<PathBuf>,
    /// The traces from which snapshots are left out.
    recorded: Vec<PathBuf>,
    directory: TempDir,
}

impl Bench {
    fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The size of something, and its size with `--quick`.
    fn size<T>(&self, size: T, quick: T) -> T {
        if self.quick { quick } else { size }
    }

    /// The number of pairs of runs behind the median of a ratio.
    fn runs(&self) -> usize {
        self.size(9, 5)
    }
}

fn main() -> ExitCode {
    match run(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Arguments) -> Result<()> {
    if let Some([trace, database]) = arguments.child.as_deref() {
        return child::import(trace, database);
    }
    if let Some(arguments) = arguments.program.as_deref() {
        return program::run(arguments);
    }
    // Cargo runs benchmarks in the folder of their package, but the user's paths are those of the shell.
    if let Some(directory) = std::env::var_os("PWD") {
        std::env::set_current_dir(directory)?;
    }
    std::fs::create_dir_all(&arguments.directory)?;
    let directory = tempfile::tempdir_in(&arguments.directory)?;
    let interrupted = directory.path().to_owned();
    ctrlc::set_handler(move || {
        let _ = std::fs::remove_dir_all(&interrupted);
        std::process::exit(130);
    })?;
    let bench = Bench {
        quick: arguments.quick,
        events: arguments.events,
        recorded: arguments.recorded,
        directory,
    };
    let mut table = Table::default();
    let all: Vec<&str> = SECTIONS.iter().map(|section| section.name).collect();
    for section in SECTIONS {
        let named = |name: &String| name == section.name;
        let is_usual = arguments.sections.is_empty() && !section.is_extra;
        if is_usual || arguments.sections.iter().any(named) {
            eprintln!("{}", section.name);
            table.section = section.name;
            (section.run)(&bench, &mut table)?;
            if arguments.write {
                table.write(Path::new(PAGE), &all)?;
            }
        }
    }
    if !table.is_empty() {
        println!("{table}");
    }
    Ok(())
}

/// Reports the current work.
fn progress(what: impl std::fmt::Display) {
    eprintln!("  {what}");
}
