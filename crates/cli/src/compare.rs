//! `timebase compare`: the changes between two groups of runs (rules CM).
//!
//! # Design
//!
//! Each run is measured in a process of its own (`measuring.rs`), which imports the trace, writes some thousand values
//! to a small file (`run_file.rs`) and drops the database. So memory and disk are those of one import at a time for
//! each process, and a trace that cannot be read ends only its process. This process reads the values
//! (`gather.rs`) and leaves all judgement to the crate `timebase-compare`.
//!
//! The rows of a result are a table in memory, which the writers of `query` print. The alternative was a writer for
//! each format here.

mod gather;
mod gathered;
mod inputs;
mod measuring;
mod page;
mod remarks;
mod rows;
mod run_file;
mod tables;
mod text;
mod value_file;

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, bail};
use timebase_compare::{
    Comparison, FailOn, Names, Outcome, Pairs, Per, Settings, Side, Verdict, compare, judge,
};

use crate::database::Database;
use crate::flags::{CompareArguments, Undecided, wrong_usage};
use crate::output::file::{self, Existing};
use crate::output::{self, Format};
use crate::signals::Signals;
use crate::{hints, messages, statements};
use gathered::Gathered;
use inputs::Inputs;

/// The form of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Text,
    Page,
    Rows(Format),
    Parquet,
}

pub fn run(
    arguments: &CompareArguments,
    signals: &Signals,
    out: &mut dyn Write,
) -> anyhow::Result<ExitCode> {
    if let Some(path) = &arguments.measure {
        measuring::run(arguments, path, signals)?;
        return Ok(ExitCode::SUCCESS);
    }
    // All arguments are checked before anything is measured.
    let form = form(arguments)?;
    let settings = settings(arguments)?;
    // The exit code 1 would say that a condition fails.
    let conditions: Vec<FailOn> = arguments
        .fail_on
        .iter()
        .map(|text| FailOn::parse(text))
        .collect::<Result<_, _>>()
        .unwrap_or_else(|error| wrong_usage("compare", &error.to_string()));
    measuring::metrics(&arguments.metric)?;
    Names::new(&arguments.names, true)?;
    let existing = Existing::forced(arguments.force);
    if let Some(path) = arguments.output.as_deref().filter(|path| path.as_os_str() != "-") {
        existing.check(path)?;
    }
    if let Some(path) = &arguments.values {
        value_file::check(path)?;
        existing.check(path)?;
    }
    let inputs = inputs(arguments)?;
    inputs.check_flags(&measuring_flags(arguments))?;
    for path in [&arguments.output, &arguments.values].into_iter().flatten() {
        inputs.check_output(path)?;
    }
    if let (Some(values), Some(given)) = (&arguments.values, inputs.values.first()) {
        bail!(
            "--values {}: {} has values already; name traces, databases or folders",
            values.display(),
            given.path.display()
        );
    }
    let gathered = gather::gather(arguments, &inputs, form == Form::Page, signals)?;
    if let Some(path) = &arguments.values {
        file::write(path, existing, signals, |out| value_file::write(&gathered, path, out))?;
        let runs = gathered.files.len();
        messages::say(format_args!("the values of {runs} runs are in {}", path.display()));
    }
    if arguments.after.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    gather::check_sides(&gathered.values)?;
    let comparison = compare(&gathered.values, &settings)?;
    let verdict = judge(&gathered.values, &comparison, &conditions)?;
    match arguments.output.as_deref().filter(|path| path.as_os_str() != "-") {
        Some(path) => {
            file::write(path, existing, signals, |out| {
                write(arguments, form, &gathered, &comparison, None, out)
            })?;
        }
        None => {
            let width = output::terminal_width();
            write(arguments, form, &gathered, &comparison, width, out)?;
        }
    }
    Ok(tell(&conditions, &verdict, &comparison, arguments.undecided))
}

fn write(
    arguments: &CompareArguments,
    form: Form,
    gathered: &Gathered,
    comparison: &Comparison,
    terminal: Option<u16>,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    match form {
        Form::Text => {
            let text = text::of(comparison, gathered, arguments.top);
            Ok(out.write_all(text.as_bytes())?)
        }
        Form::Page => {
            let page = page::of(comparison, gathered, arguments)?;
            Ok(out.write_all(page.as_bytes())?)
        }
        Form::Rows(Format::Json) => {
            let report = text::Report { comparison, gathered, top: arguments.top };
            let database = Database::from(rows::document(&report)?);
            for ((name, sql), before) in rows::PARTS.into_iter().zip(["{", ",", ","]) {
                write!(out, "{before}\"{name}\":")?;
                statements::run(&database, sql, Format::Json, terminal, out)?;
            }
            Ok(out.write_all(b"}\n")?)
        }
        Form::Rows(format) => {
            let database = Database::from(rows::table(comparison)?);
            statements::run(&database, rows::ALL, format, terminal, out)
        }
        Form::Parquet => {
            let conn = rows::table(comparison)?;
            let types = timebase_export::declared_types(&conn, rows::ALL)?;
            timebase_export::write_result(&mut conn.prepare(rows::ALL)?, &types, out)?;
            Ok(())
        }
    }
}

/// Writes the outcomes of conditions, and returns the exit code.
fn tell(
    conditions: &[FailOn],
    verdict: &Verdict,
    comparison: &Comparison,
    undecided: Undecided,
) -> ExitCode {
    for (condition, judged) in conditions.iter().zip(&verdict.conditions) {
        let meant = condition
            .metric
            .as_ref()
            .filter(|_| judged.outcome == Outcome::Unknown)
            .and_then(|name| hints::meant(name, &text::names_in_conditions(comparison)));
        messages::say(text::judged(condition, judged, meant.as_deref()));
    }
    verdict.exit_code(undecided == Undecided::Pass).into()
}

fn form(arguments: &CompareArguments) -> anyhow::Result<Form> {
    let ending = arguments.output.as_deref().and_then(Path::extension).and_then(|e| e.to_str());
    let by_name = match ending {
        _ if arguments.format.is_some() => None,
        None | Some("txt") => Some(Form::Text),
        Some("html") => Some(Form::Page),
        Some("csv") => Some(Form::Rows(Format::Csv)),
        Some("json") => Some(Form::Rows(Format::Json)),
        Some("jsonl") => Some(Form::Rows(Format::Jsonl)),
        Some("md") => Some(Form::Rows(Format::Markdown)),
        Some("parquet") => Some(Form::Parquet),
        Some(other) => bail!(
            "--output: unknown extension .{other}. Known are .txt, .html, .csv, .json, .jsonl, .md and .parquet; \
             for any other name use --format"
        ),
    };
    let form = by_name.or(arguments.format.map(Form::Rows)).unwrap_or(Form::Text);
    if form == Form::Parquet && arguments.output.is_none() && std::io::stdout().is_terminal() {
        wrong_usage(
            "compare",
            "cannot show Parquet on a terminal; name a file with -o diff.parquet",
        );
    }
    Ok(form)
}

fn settings(arguments: &CompareArguments) -> anyhow::Result<Settings> {
    let labels = match arguments.labels.as_slice() {
        [before, after] if before.trim() != after.trim() => Some([before.trim(), after.trim()]),
        _ => None,
    };
    let labels = labels.filter(|labels| labels.iter().all(|label| !label.is_empty()));
    let labels = labels.context("--labels takes two names, such as --labels old,new")?;
    let pairs = match &arguments.pair_by {
        Some(text) => {
            Some(Pairs::By(regex::Regex::new(text).with_context(|| format!("--pair-by {text}"))?))
        }
        None => arguments.paired.then_some(Pairs::Order),
    };
    Ok(Settings {
        min_share: arguments.min_share,
        max_loss: arguments.max_loss,
        absolute: arguments.absolute,
        pairs,
        skip_first: arguments.skip_first,
        leave_out: arguments.leave_out.clone(),
        per: match arguments.per.as_str() {
            "run" => Per::Run,
            "second" => Per::Second,
            "frame" => Per::Frame,
            name => Per::Slice(name.to_owned()),
        },
        labels: labels.map(str::to_owned),
    })
}

/// The given flags that say how to measure a run, and whether they need its trace.
fn measuring_flags(arguments: &CompareArguments) -> Vec<(&'static str, bool)> {
    let all = [
        ("--during", true, arguments.during.is_some()),
        ("--from", true, arguments.from.is_some()),
        ("--to", true, arguments.to.is_some()),
        ("--conversion", true, arguments.conversion.is_some()),
        ("--metric", false, !arguments.metric.is_empty()),
        ("--name", false, !arguments.names.is_empty()),
        ("--keep-names", false, arguments.keep_names),
    ];
    let given = all.into_iter().filter(|(.., is_given)| *is_given);
    given.map(|(flag, needs_trace, _)| (flag, needs_trace)).collect()
}

fn inputs(arguments: &CompareArguments) -> anyhow::Result<Inputs> {
    let mut inputs = Inputs::default();
    let by = arguments.by.as_deref();
    for given in &arguments.before {
        inputs.add(given, Side::Before, by)?;
    }
    for given in &arguments.after {
        inputs.add(given, Side::After, by)?;
    }
    inputs.check()?;
    Ok(inputs)
}
