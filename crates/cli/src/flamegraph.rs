//! `timebase flamegraph`: the callstacks of samples and heap profiles, added up.
//!
//! # Design
//!
//! `samples.rs` selects samples and adds them up by callstack, in one pass over their rows. Filters are SQL, except
//! `--during`: intervals of slices are merged for each thread first, so a sample costs one binary search, however many
//! slices there are. The alternative, EXISTS over the slices of each sample, reads every slice of a deep stack.
//!
//! From then on everything works on *folded* lines: a callstack from the outermost function to the innermost, and its
//! weight. The crate `inferno` draws them (`graph.rs`): it is the port of the original flame graph scripts, and its
//! SVG has search, zoom and any width without a network. `pprof.rs` writes frames with their files and lines instead.
//!
//! Dumps of Java heaps have no callstacks: `java.rs` makes stacks of classes of them.
//!
//! The graph has the functions of all threads together, as trace processor's. A root for each process or thread would
//! show a function in many places; `--process` and `--thread` do this on request.

mod graph;
mod java;
mod pprof;
mod samples;
mod vanished;

use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

use anyhow::{Context, bail, ensure};

use crate::database::{self, Access, Database};
use crate::flags::{FlamegraphArguments, wrong_usage};
use crate::messages;
use crate::output::file::{self, Existing};
use crate::page::name;
use crate::signals::Signals;
pub use samples::time;
use samples::{Query, Samples};

/// The form of the output, by the name of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// A page for a browser.
    Page,
    /// The graph alone, as SVG.
    Svg,
    /// A line for each callstack.
    Folded,
    /// A compressed protobuf message for pprof and speedscope.
    Pprof,
}

impl Form {
    fn of(path: &Path) -> anyhow::Result<Form> {
        let name = path.file_name().unwrap_or(path.as_os_str());
        let name = name.to_string_lossy().to_lowercase();
        let forms = [
            (".html", Form::Page),
            (".svg", Form::Svg),
            (".folded", Form::Folded),
            (".pb.gz", Form::Pprof),
        ];
        let form = forms.into_iter().find(|(end, _)| name.ends_with(end));
        form.map(|(_, form)| form).with_context(|| {
            format!(
                "--output {}: the name must end with .html, .svg, .folded or .pb.gz (pprof)",
                path.display()
            )
        })
    }
}

pub fn run(
    arguments: &FlamegraphArguments,
    signals: &Signals,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let file = arguments.output.as_deref().filter(|path| path.as_os_str() != "-");
    let form = match file {
        Some(path) => Form::of(path)?,
        None if arguments.output.is_none() && io::stdout().is_terminal() => wrong_usage(
            "flamegraph",
            "cannot show a page on a terminal; name a file with -o flame.html",
        ),
        None => Form::Folded,
    };
    let existing = Existing::forced(arguments.force);
    if let Some(path) = file {
        file::check(path, &arguments.source)?;
        existing.check(path)?;
    }
    if form == Form::Pprof && (arguments.diff.is_some() || arguments.reverse) {
        bail!(
            "a file for pprof has neither --diff nor --reverse; pprof does both: go tool pprof -diff_base"
        );
    }
    ensure!(
        arguments.diff.is_none() || (arguments.from.is_none() && arguments.to.is_none()),
        "--diff: --from and --to are times of one recording; use --during to compare the same work in both"
    );
    let database = open(&arguments.source, arguments, signals)?;
    let query = Query::of(arguments, &database)?;
    let samples = select(&database, &arguments.source, &query, signals)?;
    tell(&samples, &arguments.source);
    ensure!(
        form != Form::Pprof || samples.classes.is_none(),
        "a file for pprof has callstacks, but a Java heap has none; name a .html, .svg or .folded file"
    );
    let bytes = match form {
        Form::Pprof => interruptible(&database, signals, || pprof::encode(&database, &samples))?,
        form => {
            let lines = interruptible(&database, signals, || folded(&database, &samples))?;
            let lines = reversed(lines, arguments.reverse);
            let before = match &arguments.diff {
                None => None,
                Some(other) => Some(Before {
                    name: name(other),
                    lines: reversed(
                        of_other(other, arguments, &query, signals)?,
                        arguments.reverse,
                    ),
                }),
            };
            if before.as_ref().is_some_and(|before| before.lines == lines) {
                messages::note(match samples.classes {
                    Some(_) => {
                        "nothing differs; from one trace, --diff compares the first dump of each process with its last"
                    }
                    None => "nothing differs",
                });
            }
            let name = name(&arguments.source);
            let title = samples.title(&name, arguments);
            match form {
                Form::Folded => graph::text(&lines, before.as_ref()),
                Form::Svg => graph::svg(&lines, before.as_ref(), &samples, &title)?,
                _ => graph::page(&lines, before.as_ref(), &samples, &title)?,
            }
        }
    };
    database.warn_if_changed();
    match file {
        Some(path) => file::write(path, existing, signals, |out| Ok(out.write_all(&bytes)?)),
        None => Ok(out.write_all(&bytes)?),
    }
}

fn open(
    source: &Path,
    arguments: &FlamegraphArguments,
    signals: &Signals,
) -> anyhow::Result<Database> {
    let access = Access {
        to_data: false,
        conversion: arguments.conversion.map(Into::into),
        names: Some(&arguments.names),
        ..Access::ALL
    };
    database::open(source, access, signals)
}

fn interruptible<T>(
    database: &Database,
    signals: &Signals,
    run: impl FnOnce() -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    signals.during_query(database.get_interrupt_handle(), run)
}

/// The samples of a query. There is at least one.
fn select(
    database: &Database,
    source: &Path,
    query: &Query,
    signals: &Signals,
) -> anyhow::Result<Samples> {
    let samples = interruptible(database, signals, || Samples::select(database, query))?;
    let name = name(source);
    match &samples.classes {
        _ if !samples.weights.is_empty() => Ok(samples),
        None => bail!("no callstack of {name} matches: {}", query.told(database)?),
        Some(classes) if classes.has_no_dump() => {
            bail!("no dump of a Java heap in {name} matches: {}", query.told(database)?)
        }
        Some(_) => bail!(
            "nothing in the Java heap of {name} is alive, as no root of its dump leads to an object; heap_graph_object \
             has the objects{}",
            if samples.lost > 0 { ", and packets of a dump are missing" } else { "" }
        ),
    }
}

/// Writes notes about the things that the graph lacks.
fn tell(samples: &Samples, source: &Path) {
    match samples.without_stack {
        0 => {}
        1 => messages::note("1 sample has no callstack, and is left out"),
        without => {
            messages::note(format_args!("{without} samples have no callstack, and are left out"))
        }
    }
    match (samples.lost, samples.classes.is_some()) {
        (0, _) => {}
        (_, false) => messages::warning(format_args!(
            "{}: the recording lost samples, so shares may be wrong; the table loss has the places",
            source.display()
        )),
        (_, true) => messages::warning(format_args!(
            "{}: packets of a dump are missing, so shares may be wrong; heap_graph.truncated marks the dump",
            source.display()
        )),
    }
}

/// The lines of another trace or database, for the same query.
fn of_other(
    other: &Path,
    arguments: &FlamegraphArguments,
    query: &Query,
    signals: &Signals,
) -> anyhow::Result<Folded> {
    let database = open(other, arguments, signals)?;
    let is_same = is_same(other, &arguments.source);
    let samples = select(&database, other, &query.before(is_same), signals)?;
    if !is_same {
        tell(&samples, other);
    }
    interruptible(&database, signals, || folded(&database, &samples))
}

/// Whether two paths are one file.
fn is_same(one: &Path, other: &Path) -> bool {
    one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

/// The trace that another one is compared with.
struct Before {
    name: String,
    lines: Folded,
}

/// Weights by callstack, as text.
type Folded = BTreeMap<String, i64>;

fn folded(database: &Database, samples: &Samples) -> anyhow::Result<Folded> {
    let mut stack = database.prepare("SELECT callstack(?1)")?;
    let mut lines = Folded::new();
    for (callsite, weight) in &samples.weights {
        let text: Option<String> = match &samples.classes {
            Some(classes) => Some(classes.text(*callsite)),
            None => stack.query_row([callsite], |row| row.get(0))?,
        };
        // A line cannot contain line feeds.
        let text = text.unwrap_or_default().replace(['\n', '\r'], " ");
        let sum = lines.entry(text).or_default();
        *sum = sum.saturating_add(weight.value(samples.of));
    }
    lines.retain(|_, weight| *weight > 0);
    Ok(lines)
}

fn reversed(lines: Folded, is_reversed: bool) -> Folded {
    if !is_reversed {
        return lines;
    }
    let turned = lines.into_iter().map(|(stack, weight)| {
        let frames: Vec<&str> = stack.rsplit(';').collect();
        (frames.join(";"), weight)
    });
    turned.collect()
}
