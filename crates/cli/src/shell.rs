//! `timebase shell`: runs statements from a terminal or a pipe, and writes the result after each.

mod commands;
mod completion;
mod dot;
mod input;

use std::env;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufRead, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, anyhow};
use rustyline::error::ReadlineError;
use rustyline::history::DefaultHistory;
use rustyline::{CompletionType, Config, Editor};
use timebase_store::files::NewFile;

use crate::database::{self, Access, Database};
use crate::dialect;
use crate::flags::{ShellArguments, wrong_usage};
use crate::messages;
use crate::output::{self, Format, Named, Whole};
use crate::signals::{INTERRUPTED, Signals};
use crate::statements;
use completion::SqlHelper;
use input::{Input, Line};

const PROMPT: &str = "timebase> ";
/// The prompt within a statement.
const CONTINUED: &str = "     ...> ";

/// The next step after an input.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Continue,
    Quit,
}

/// The shell: the database for statements, and the form of their results.
struct Shell<'a> {
    database: Database,
    format: Format,
    /// Whether to print the time of each statement.
    timer: bool,
    /// The number of files that are being read, each by a command in the previous one.
    depth: usize,
    out: &'a mut dyn Write,
    /// The width of the terminal for output, if it is a terminal.
    terminal: Option<u16>,
}

pub fn run(arguments: &ShellArguments, signals: &Signals) -> anyhow::Result<ExitCode> {
    if arguments.source.as_os_str() == OsStr::new("-") {
        wrong_usage("shell", "the statements and the trace cannot both come from standard input");
    }
    let access = Access {
        is_writing: arguments.write,
        conversion: arguments.conversion.map(Into::into),
        names: Some(&arguments.names),
        ..Access::ALL
    };
    let mut out = BufWriter::new(Named::standard());
    let database = database::open(&arguments.source, access, signals)?;
    dialect::add_packages(&database, &arguments.packages.folders, None)?;
    let mut shell = Shell {
        database,
        format: arguments.format,
        timer: false,
        depth: 0,
        out: &mut out,
        terminal: output::terminal_width(),
    };
    if io::stdin().is_terminal() {
        shell.converse(signals)?;
        Ok(ExitCode::SUCCESS)
    } else {
        shell.read(signals)
    }
}

impl Shell<'_> {
    /// Reads from a person, who sees errors and continues.
    fn converse(&mut self, signals: &Signals) -> anyhow::Result<()> {
        let config =
            Config::builder().completion_type(CompletionType::List).auto_add_history(false).build();
        let mut editor: Editor<SqlHelper, DefaultHistory> =
            Editor::with_config(config).context("cannot use this terminal")?;
        let history = history_file();
        if let Some(history) = &history {
            // At first there is no history.
            let _ = editor.load_history(history);
        }
        writeln!(
            self.out,
            "End statements with a semicolon; 'help' lists the commands, 'exit' ends the shell."
        )?;
        self.out.flush()?;
        let mut input = Input::new(true);
        loop {
            editor.set_helper(Some(SqlHelper::new(&self.database, input.pending())));
            let prompt = if input.pending().is_empty() { PROMPT } else { CONTINUED };
            let typed = match editor.readline(prompt) {
                Ok(typed) => typed,
                Err(ReadlineError::Interrupted) => {
                    input.give_up();
                    continue;
                }
                Err(ReadlineError::Eof) => return Ok(()),
                Err(error) => return Err(error).context("cannot read from this terminal"),
            };
            // Pasted text, or text from the history, can have several lines.
            for line in typed.lines() {
                if line.trim().is_empty() && input.pending().is_empty() {
                    continue;
                }
                let taken = input.take(line);
                let whole = match &taken {
                    Line::Part => continue,
                    Line::Statements(text) | Line::Command(text) => text.trim_end(),
                };
                // The line is added now and not at the end, because a signal may end the shell.
                let _ = editor.add_history_entry(whole);
                if let Some(history) = &history {
                    // Saving the statement in the history is not worth an error.
                    let _ = keep(&mut editor, history);
                }
                let handle = self.database.get_interrupt_handle();
                let next = signals.during_statement(handle, || self.answer(&taken));
                if self.report(next)? == Some(Next::Quit) {
                    return Ok(());
                }
                if !input.pending().is_empty() {
                    messages::say(
                        "the previous statement is not finished: end it with a semicolon, or cancel it with Ctrl-C",
                    );
                }
            }
        }
    }

    /// Reads from a pipe or a file. After a failed statement the next ones run, but the exit code
    /// tells of the failure.
    fn read(&mut self, signals: &Signals) -> anyhow::Result<ExitCode> {
        let mut code = ExitCode::SUCCESS;
        let mut input = Input::new(false);
        let mut lines = io::stdin().lock().lines();
        loop {
            let line =
                lines.next().transpose().context("cannot read statements from standard input")?;
            let is_end = line.is_none();
            let taken = match line {
                Some(line) => input.take(&line),
                // The last statement needs no semicolon.
                None => Line::Statements(input.give_up()),
            };
            if taken == Line::Part {
                continue;
            }
            let unfinished = self.unfinished(&taken, &mut input);
            if self.report(unfinished)?.is_none() {
                code = ExitCode::FAILURE;
            }
            let handle = self.database.get_interrupt_handle();
            let next = signals.during_query(handle, || self.answer(&taken));
            match self.report(next)? {
                Some(Next::Continue) => {}
                Some(Next::Quit) => return Ok(code),
                None => code = ExitCode::FAILURE,
            }
            if signals.came() {
                return Ok(INTERRUPTED.into());
            }
            if is_end {
                return Ok(code);
            }
        }
    }

    /// Fails if a command comes before a statement is finished. The statement is then skipped,
    /// because nobody is there to finish it.
    fn unfinished(&self, taken: &Line, input: &mut Input) -> anyhow::Result<Next> {
        match taken {
            Line::Command(command) if !input.pending().is_empty() => {
                let statement = input.give_up();
                let first = statement.trim().lines().next().unwrap_or_default();
                Err(anyhow!(
                    "skipped the unfinished statement before '{command}': end it with a semicolon\n  {first}"
                ))
            }
            _ => Ok(Next::Continue),
        }
    }

    fn answer(&mut self, taken: &Line) -> anyhow::Result<Next> {
        let text = match taken {
            Line::Part => return Ok(Next::Continue),
            Line::Command(command) => return self.command(command),
            Line::Statements(text) => text,
        };
        let start = Instant::now();
        let mut whole = Whole::new();
        let out: &mut dyn Write = match self.terminal {
            Some(_) => self.out,
            None => &mut whole,
        };
        let result = statements::run(&self.database, text, self.format, self.terminal, out);
        if result.is_ok() {
            whole.finish(self.out)?;
        }
        self.out.flush()?;
        self.database.tell_changes();
        if self.timer {
            messages::say(format_args!("took {:.1?}", start.elapsed()));
        }
        result.map(|()| Next::Continue)
    }

    /// Shows the result of an input; `None` if it failed.
    fn report(&mut self, result: anyhow::Result<Next>) -> anyhow::Result<Option<Next>> {
        // This comes first, so that the error comes after the rows before it.
        self.out.flush()?;
        match result {
            Ok(next) => Ok(Some(next)),
            Err(error) if output::is_broken_pipe(&error) => Err(error),
            Err(error) => {
                messages::error(&error);
                Ok(None)
            }
        }
    }
}

/// Adds the new lines to the history, in a new file that then replaces the old one. The editor
/// would rewrite the old file in its place whenever it is full, or if another shell has written to
/// it. If the shell is killed then, or the disk is full, the history would be lost.
fn keep(
    editor: &mut Editor<SqlHelper, DefaultHistory>,
    history: &Path,
) -> Result<(), ReadlineError> {
    let file = NewFile::at(history)?;
    if let Ok(mut older) = File::open(history) {
        io::copy(&mut older, &mut file.file())?;
    }
    editor.append_history(file.path())?;
    file.complete(true)?;
    Ok(())
}

/// The path of the history; `None` if there is no place for it.
fn history_file() -> Option<PathBuf> {
    let state = match env::var_os("XDG_STATE_HOME") {
        Some(directory) if !directory.is_empty() => PathBuf::from(directory),
        _ => env::home_dir()?.join(".local/state"),
    };
    let directory = state.join("timebase");
    fs::create_dir_all(&directory).ok()?;
    Some(directory.join("history"))
}
