//! Imports of damaged traces: `cargo bench --bench reliability` makes the tables of
//! `docs/reliability.md`, which explains them. The crate `timebase_lab::reliability` does the work.

#![allow(missing_docs)]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use std::{fs, thread};

use clap::Parser;
use timebase_lab::reliability::{DamageKind, Examined, Importer, Original, Outcome, Plan, Report};

/// Damage copies of traces, import each copy, and report the results
///
/// Each kind of damage is done to many copies, at places that depend on the seed. The results are
/// the untouched packets that the import found, and the rows that were no packets. The tables are
/// Markdown, on standard output, and docs/reliability.md explains them. The exit code is 1 if a
/// goal is missed.
#[derive(Debug, Parser)]
#[command(
    name = "cargo bench --bench reliability --",
    bin_name = "cargo bench --bench reliability --",
    max_term_width = 100
)]
struct Arguments {
    /// The traces to damage; without a name, three traces of tests/data
    #[arg(value_name = "TRACE")]
    traces: Vec<PathBuf>,
    /// The number of copies of each trace for each kind of damage
    #[arg(long, value_name = "N", default_value_t = 200)]
    copies: u64,
    /// The seed for the places of the damage
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Only this kind of damage; may be given several times
    #[arg(long = "kind", value_name = "KIND")]
    kinds: Vec<DamageKind>,
    /// Only the copy with this number
    #[arg(long, value_name = "NUMBER")]
    copy: Option<u64>,
    /// The number of simultaneous imports; by default the number of CPUs
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// Report each copy that lost an intact packet, has a row that was no packet, or failed
    #[arg(long, short)]
    verbose: bool,
    /// Keep these copies in this directory
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// An import that takes longer than this number of seconds counts as hanging
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    patience: u64,
    /// Use this program, not the one that was just built
    #[arg(long, value_name = "TIMEBASE", default_value = env!("CARGO_BIN_EXE_timebase"), hide_default_value = true)]
    program: PathBuf,
    /// The directory for temporary copies and databases; by default /dev/shm if it exists
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Cargo passes this to every benchmark.
    #[arg(long, hide = true)]
    bench: bool,
}

/// An SDK trace, a system trace, and one with compressed packets.
const TRACES: [&str; 3] = ["sdk.pftrace", "system.pftrace", "system-compressed.pftrace"];

/// The number of faults of a copy that are reported.
const TOLD: usize = 5;

fn main() -> ExitCode {
    match run(Arguments::parse()) {
        Ok(report) => {
            print!("{report}");
            match report.is_met() {
                true => ExitCode::SUCCESS,
                false => ExitCode::FAILURE,
            }
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Arguments) -> Result<Report, Box<dyn Error>> {
    // Cargo runs benchmarks in the folder of their package, but the user's paths are those of the shell.
    if let Some(directory) = std::env::var_os("PWD") {
        std::env::set_current_dir(directory)?;
    }
    let parent = arguments.directory.clone().unwrap_or_else(memory);
    let directory =
        tempfile::tempdir_in(&parent).map_err(|error| format!("{}: {error}", parent.display()))?;
    let interrupted = directory.path().to_owned();
    ctrlc::set_handler(move || {
        let _ = fs::remove_dir_all(&interrupted);
        std::process::exit(130);
    })?;
    if let Some(keep) = &arguments.keep {
        fs::create_dir_all(keep).map_err(|error| format!("{}: {error}", keep.display()))?;
    }
    let plan = Plan {
        importer: Importer {
            program: arguments.program.clone(),
            patience: Duration::from_secs(arguments.patience),
        },
        seed: arguments.seed,
        copies: match arguments.copy {
            Some(number) => number..number.saturating_add(1),
            None => 0..arguments.copies,
        },
        jobs: match arguments.jobs {
            Some(jobs) => jobs,
            None => thread::available_parallelism().map_or(1, usize::from),
        },
        directory: directory.path().to_owned(),
    };
    let wanted = |kind: &&DamageKind| arguments.kinds.is_empty() || arguments.kinds.contains(kind);
    let mut report = Report::default();
    for path in traces(&arguments) {
        let bytes = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
        let mut original = Original::read(name, bytes)?;
        let events = timebase_lab::reliability::prepare(&mut original, &plan)?;
        report.begin(&original.name);
        for &kind in DamageKind::ALL.iter().filter(wanted) {
            eprintln!("{}: {kind}", original.name);
            let observe = |examined: &Examined<'_>| {
                if examined.has_fault() {
                    if arguments.verbose {
                        tell(examined);
                    }
                    if let Some(directory) = &arguments.keep {
                        keep(examined, directory);
                    }
                }
            };
            let tally =
                timebase_lab::reliability::measure(&original, events, kind, &plan, &observe)?;
            report.add(kind, tally);
        }
    }
    Ok(report)
}

fn traces(arguments: &Arguments) -> Vec<PathBuf> {
    if !arguments.traces.is_empty() {
        return arguments.traces.clone();
    }
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data");
    TRACES.iter().map(|name| data.join(name)).collect()
}

/// A directory in memory, if there is one: databases are written by the thousand.
fn memory() -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    match memory.is_dir() {
        true => memory,
        false => std::env::temp_dir(),
    }
}

/// Reports the problems of a copy.
fn tell(examined: &Examined<'_>) {
    let Examined { original, kind, number, copy, outcome, verdict } = examined;
    eprintln!("{}: {kind}, copy {number}: {}", original.name, copy.damage);
    let rows = match outcome {
        Outcome::Database(database) => database.rows.as_slice(),
        Outcome::Refused(said) => {
            eprintln!("  refused with {} packets left: {said}", verdict.intact);
            return;
        }
        Outcome::Crashed(said) => return eprintln!("  crashed: {said}"),
        Outcome::Hung => return eprintln!("  did not end"),
        Outcome::Broken(why) => return eprintln!("  the database: {why}"),
    };
    let name = |kind: &Option<String>| kind.clone().unwrap_or("no payload".into());
    let (lost, invented) = (&verdict.lost, &verdict.invented);
    if !lost.is_empty() {
        eprintln!("  lost {} of {} intact packets", lost.len(), verdict.intact);
    }
    for lost in lost.iter().take(TOLD) {
        let inside = lost.inside.map(|index| format!(", number {index} inside"));
        eprintln!(
            "    {} of {} bytes at {}{}, which was at {}",
            name(&lost.kind),
            lost.size,
            lost.at,
            inside.unwrap_or_default(),
            lost.was_at
        );
    }
    if !invented.is_empty() {
        eprintln!("  {} of {} rows were no packets", invented.len(), verdict.rows);
    }
    for invented in invented.iter().take(TOLD) {
        if let Some(row) = rows.get(invented.row) {
            let bytes: Vec<String> = row.data.iter().take(24).map(|b| format!("{b:02x}")).collect();
            eprintln!(
                "    row {}: {} of {} bytes at {}: {}: {}",
                invented.row,
                name(&row.kind),
                row.size,
                row.offset,
                invented.why,
                bytes.join(" ")
            );
        }
    }
}

fn keep(examined: &Examined<'_>, directory: &Path) {
    let trace = Path::new(&examined.original.name).with_extension("");
    let (kind, number) = (examined.kind.name(), examined.number);
    let path = directory.join(format!("{}-{kind}-{number}.pftrace", trace.display()));
    if let Err(error) = fs::write(&path, &examined.copy.bytes) {
        eprintln!("warning: {}: {error}", path.display());
    }
}
