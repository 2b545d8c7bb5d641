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

/// Damage copies of traces, import each, and tell what became of them
///
/// Each kind of damage is done to many copies, at places that follow from the seed. What is told are
/// the packets that the damage did not touch and the import found, and what it took for packets that
/// were none. The tables are Markdown, on standard output, and docs/reliability.md says what they
/// mean. The exit code is 1 if a goal is missed.
#[derive(Debug, Parser)]
#[command(
    name = "cargo bench --bench reliability --",
    bin_name = "cargo bench --bench reliability --",
    max_term_width = 100
)]
struct Arguments {
    /// What to damage; three traces of tests/data if none is named
    #[arg(value_name = "TRACE")]
    traces: Vec<PathBuf>,
    /// How many copies of each trace for each kind of damage
    #[arg(long, value_name = "N", default_value_t = 200)]
    copies: u64,
    /// What the places of the damage follow from
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Only this kind of damage; may be given several times
    #[arg(long = "kind", value_name = "KIND")]
    kinds: Vec<DamageKind>,
    /// Only the copy of this number
    #[arg(long, value_name = "NUMBER")]
    copy: Option<u64>,
    /// How many imports run at a time; as many as there are CPUs if not given
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// Tell of each copy that lost an intact packet, has a row that was none, or failed
    #[arg(long, short)]
    verbose: bool,
    /// Keep these copies in this directory
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// An import that takes so many seconds hangs
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    patience: u64,
    /// Ask this program, not the one that was just built
    #[arg(long, value_name = "TIMEBASE", default_value = env!("CARGO_BIN_EXE_timebase"), hide_default_value = true)]
    program: PathBuf,
    /// Where copies and databases go meanwhile; /dev/shm where there is one
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Cargo says this to every benchmark.
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
        let name = path
            .file_name()
            .unwrap_or(path.as_os_str())
            .to_string_lossy();
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
    let Examined {
        original,
        kind,
        number,
        copy,
        outcome,
        verdict,
    } = examined;
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
        eprintln!(
            "  {} of {} rows were no packets",
            invented.len(),
            verdict.rows
        );
    }
    for invented in invented.iter().take(TOLD) {
        if let Some(row) = rows.get(invented.row) {
            let bytes: Vec<String> = row
                .data
                .iter()
                .take(24)
                .map(|b| format!("{b:02x}"))
                .collect();
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
