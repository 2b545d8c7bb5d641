//! The program `timebase`: it turns Perfetto traces into SQLite databases, and queries
//! them. The libraries do the work of the commands; this crate connects them to
//! arguments, terminal and signals.

// A test that panics has failed, as it should.
#![cfg_attr(test, allow(clippy::expect_used))]

mod advice;
mod changes;
mod children;
mod clocks;
mod compare;
mod database;
mod datasette;
mod dialect;
mod doctor;
mod escape;
mod explain;
mod export;
mod flags;
mod flamegraph;
mod generated;
mod guard;
mod help;
mod hints;
mod import;
mod jobs;
mod manifest;
mod messages;
mod output;
mod page;
pub mod parameters;
mod progress;
mod query;
mod reference;
mod reports;
mod rewrite;
pub mod script;
mod shell;
mod signals;
mod statements;
mod tracks;
mod unrelated;
mod view;
mod window;

use std::process::ExitCode;

use flags::Command;
use output::Out;
use signals::Signals;

/// Runs the program with the arguments of this process.
pub fn main() -> ExitCode {
    // This comes first, because it may be the only thing that the shell asks for.
    generated::complete();
    let cli = flags::parse();
    let signals = match Signals::install() {
        Ok(signals) => signals,
        Err(error) => return failed(&error),
    };
    let result = run(&cli.command, &signals);
    signals.remove_temporary();
    match result {
        Ok(code) => code,
        Err(error) if output::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let code = failed(&error);
            if signals.came() { signals::INTERRUPTED.into() } else { code }
        }
    }
}

fn run(command: &Command, signals: &Signals) -> anyhow::Result<ExitCode> {
    let mut out = Out::standard();
    // The verdict of a command that was successful and wrote its answer.
    let mut verdict = Ok(());
    // The exit code of a successful command.
    let mut code = ExitCode::SUCCESS;
    let result = match command {
        Command::Import(arguments) => import::run(arguments, signals),
        Command::Query(arguments) => query::run(arguments, signals, &mut out),
        Command::Shell(arguments) => return shell::run(arguments, signals),
        Command::Clocks(arguments) => clocks::run(arguments, signals, &mut out),
        Command::Doctor(arguments) => {
            doctor::run(arguments, signals, &mut out).map(|found| verdict = found)
        }
        Command::Explain(arguments) => explain::run(arguments, signals, &mut out),
        Command::Export(arguments) => export::run(arguments, signals, &mut out),
        Command::Rewrite(arguments) => rewrite::run(arguments, signals, &mut out),
        Command::View(arguments) => view::run(arguments, signals),
        Command::Flamegraph(arguments) => flamegraph::run(arguments, signals, &mut out),
        Command::Compare(arguments) => {
            compare::run(arguments, signals, &mut out).map(|decided| code = decided)
        }
        Command::Report(arguments) => page::run(arguments, signals, &mut out),
        Command::Manifest(arguments) => manifest::run(arguments, signals, &mut out),
        Command::ClockId { name } => clocks::id(name, &mut out),
        Command::Help { name, packages } => help::run(name, packages, &mut out),
        Command::DatasetteMetadata { databases } => datasette::run(databases, &mut out),
        Command::Completions { shell } => generated::completions(*shell, &mut out),
        Command::Man { dir: Some(dir), .. } => generated::man_pages(dir),
        Command::Man { command, .. } => generated::man(command.as_deref(), &mut out),
    };
    let written = out.finish(result.is_ok());
    result?;
    written?;
    verdict?;
    Ok(code)
}

fn failed(error: &anyhow::Error) -> ExitCode {
    messages::error(error);
    ExitCode::FAILURE
}
