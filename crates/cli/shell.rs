//! `timebase shell`: statements typed or piped, results after each.

mod completion;
mod dot;

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, BufRead, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use rusqlite::Connection;
use rustyline::error::ReadlineError;
use rustyline::history::DefaultHistory;
use rustyline::{CompletionType, Config, Editor};

use crate::database::{self, Access};
use crate::flags::{ShellArguments, wrong_usage};
use crate::messages;
use crate::output::{self, Format};
use crate::script::Script;
use crate::signals::Signals;
use crate::statements;
use completion::SqlHelper;

const PROMPT: &str = "timebase> ";

/// What comes after an input.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Continue,
    Quit,
}

/// The shell: where statements run and how their results are written.
struct Shell<'a> {
    connection: Connection,
    format: Format,
    out: &'a mut dyn Write,
}

pub fn run(
    arguments: &ShellArguments,
    signals: &Signals,
    out: &mut dyn Write,
) -> anyhow::Result<ExitCode> {
    if arguments.source.as_os_str() == OsStr::new("-") {
        wrong_usage(
            "shell",
            "statements come from standard input, so the trace cannot",
        );
    }
    let mut shell = Shell {
        connection: database::open(&arguments.source, Access::Write, signals)?,
        format: arguments.format,
        out,
    };
    if io::stdin().is_terminal() {
        shell.converse(signals)?;
        Ok(ExitCode::SUCCESS)
    } else {
        shell.read(signals)
    }
}

impl Shell<'_> {
    /// Reads from a person, who sees errors and goes on.
    fn converse(&mut self, signals: &Signals) -> anyhow::Result<()> {
        let config = Config::builder()
            .completion_type(CompletionType::List)
            .auto_add_history(false)
            .build();
        let mut editor: Editor<SqlHelper, DefaultHistory> =
            Editor::with_config(config).context("cannot use this terminal")?;
        let history = history_file();
        if let Some(history) = &history {
            // There is none at first.
            let _ = editor.load_history(history);
        }
        writeln!(
            self.out,
            "End statements with a semicolon; '.help' lists commands, Ctrl-D ends."
        )?;
        self.out.flush()?;
        loop {
            editor.set_helper(Some(SqlHelper::new(&self.connection)));
            let input = match editor.readline(PROMPT) {
                Ok(input) => input,
                Err(ReadlineError::Interrupted) => continue,
                Err(ReadlineError::Eof) => return Ok(()),
                Err(error) => return Err(error).context("cannot read from this terminal"),
            };
            if input.trim().is_empty() {
                continue;
            }
            // At once and not at the end, which may be a signal.
            let _ = editor.add_history_entry(input.trim_end());
            if let Some(history) = &history {
                let _ = editor.append_history(history);
            }
            let handle = self.connection.get_interrupt_handle();
            let next = signals.during_statement(handle, || self.answer(&input));
            if self.report(next)? == Some(Next::Quit) {
                return Ok(());
            }
        }
    }

    /// Reads from a pipe or a file. A failed statement does not keep the next
    /// ones from running, but is told by the exit code.
    fn read(&mut self, signals: &Signals) -> anyhow::Result<ExitCode> {
        let mut code = ExitCode::SUCCESS;
        let mut pending = String::new();
        let mut lines = io::stdin().lock().lines();
        loop {
            let line = lines
                .next()
                .transpose()
                .context("cannot read statements from standard input")?;
            if let Some(line) = &line {
                // Not to go through a long statement again at every line of it.
                let may_end = pending.is_empty() || line.contains(';') || line.contains("*/");
                pending.push_str(line);
                pending.push('\n');
                if !may_end || !is_complete(&pending) {
                    continue;
                }
            }
            let handle = self.connection.get_interrupt_handle();
            let next = signals.during_query(handle, || self.answer(&pending));
            pending.clear();
            match self.report(next)? {
                Some(Next::Continue) => {}
                Some(Next::Quit) => return Ok(code),
                None => code = ExitCode::FAILURE,
            }
            if line.is_none() || signals.came() {
                return Ok(code);
            }
        }
    }

    fn answer(&mut self, input: &str) -> anyhow::Result<Next> {
        if dot::is_command(input) {
            return self.command(input);
        }
        statements::run(&self.connection, input, self.format, self.out)?;
        Ok(Next::Continue)
    }

    /// Shows what an input came to; None if it failed.
    fn report(&mut self, result: anyhow::Result<Next>) -> anyhow::Result<Option<Next>> {
        // First, so that the error comes after the rows before it.
        self.out.flush()?;
        match result {
            Ok(next) => Ok(Some(next)),
            Err(error) if output::is_broken_pipe(&error) => Err(error),
            Err(error) => {
                messages::say(format_args!("error: {error:#}"));
                Ok(None)
            }
        }
    }
}

/// Whether an input can be answered, or more lines of it are needed.
fn is_complete(input: &str) -> bool {
    dot::is_command(input) || Script::parse(input).is_complete
}

/// Where what was typed is kept; None if there is no place for it.
fn history_file() -> Option<PathBuf> {
    let state = match env::var_os("XDG_STATE_HOME") {
        Some(directory) if !directory.is_empty() => PathBuf::from(directory),
        _ => env::home_dir()?.join(".local/state"),
    };
    let directory = state.join("timebase");
    fs::create_dir_all(&directory).ok()?;
    Some(directory.join("history"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_may_take_several_lines() {
        assert!(is_complete("SELECT 1;"));
        assert!(is_complete(".tables"));
        assert!(is_complete(""));
        assert!(!is_complete("SELECT"));
        assert!(!is_complete("SELECT '\n.help\n"));
    }
}
