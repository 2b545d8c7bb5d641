//! The program `timebase`: a Perfetto trace into a SQLite database, and
//! questions to it. What the commands do is in the libraries; here they are
//! wired to arguments, terminal and signals.

// A test that panics has failed, as it should.
#![cfg_attr(test, allow(clippy::expect_used))]

mod clocks;
mod database;
mod explain;
mod flags;
mod generated;
mod import;
mod messages;
mod output;
mod parameters;
mod progress;
mod query;
mod reports;
mod script;
mod shell;
mod signals;
mod statements;

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;
use flags::{Cli, Command};
use signals::Signals;
use timebase_resolver::ClockId;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let signals = match Signals::install() {
        Ok(signals) => signals,
        Err(error) => return failed(&error),
    };
    let result = run(&cli.command, &signals);
    signals.remove_temporary();
    match result {
        Ok(code) => code,
        Err(error) if output::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => failed(&error),
    }
}

fn run(command: &Command, signals: &Signals) -> anyhow::Result<ExitCode> {
    let mut out = BufWriter::new(io::stdout().lock());
    let result = match command {
        Command::Import(arguments) => import::run(arguments, signals),
        Command::Query(arguments) => query::run(arguments, signals, &mut out),
        Command::Shell(arguments) => return shell::run(arguments, signals, &mut out),
        Command::Clocks(arguments) => clocks::run(arguments, signals, &mut out),
        Command::Explain(arguments) => explain::run(arguments, signals, &mut out),
        Command::ClockId { name } => {
            writeln!(out, "{}", ClockId::from_name(name).get()).map_err(Into::into)
        }
        Command::Completions { shell } => generated::completions(*shell, &mut out),
        Command::Man { command } => generated::man(command.as_deref(), &mut out),
    };
    // What was written before an error is a result, too.
    out.flush().context("cannot write the result")?;
    result.map(|()| ExitCode::SUCCESS)
}

fn failed(error: &anyhow::Error) -> ExitCode {
    messages::error(error);
    ExitCode::FAILURE
}
