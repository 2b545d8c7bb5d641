//! Messages on standard error, in one style: `timebase: error: …`, for errors of the command line and for all
//! others.

use std::fmt::Display;
use std::io::{self, Write};
use std::process;

use anstyle::{AnsiColor, Style};
use anyhow::anyhow;
use clap::error::ErrorKind;
use rusqlite::ErrorCode;

use crate::advice;
use crate::escape::printable;

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();

/// Writes a line. It may contain names and texts of a trace or a database, which must not control the
/// terminal.
pub fn say(line: impl Display) {
    write(printable(&line.to_string()));
}

/// Writes a line to a program, and returns whether the program is gone.
pub fn is_gone(line: impl Display) -> bool {
    write_line(line).is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

fn write_line(line: impl Display) -> io::Result<()> {
    writeln!(anstream::stderr(), "{line}")
}

/// Writes an error, and advice on what to type.
pub fn error(error: &anyhow::Error) {
    let is_interrupted = |cause: &(dyn std::error::Error + 'static)| {
        let code = cause.downcast_ref().and_then(rusqlite::Error::sqlite_error_code);
        code == Some(ErrorCode::OperationInterrupted)
    };
    let error = match error.chain().any(is_interrupted) {
        // SQLite's text would have a number and the purpose of the statement.
        true => "interrupted".to_owned(),
        false => printable(&format!("{error:#}{}", advice::of(error))),
    };
    write(format_args!("timebase: {ERROR}error:{ERROR:#} {error}"));
}

/// Writes a warning, about a problem that did not stop the command.
pub fn warning(warning: impl Display) {
    let warning = printable(&warning.to_string());
    write(format_args!("timebase: {WARNING}warning:{WARNING:#} {warning}"));
}

/// Writes a note about a result.
pub fn note(note: impl Display) {
    let note = printable(&note.to_string());
    write(format_args!("timebase: note: {note}"));
}

/// `eprintln!` would panic if standard error cannot be written, for example on a full disk or a closed
/// terminal. Nobody reads it there anyway.
fn write(line: impl Display) {
    let _ = write_line(line);
}

/// Writes the parser's error about a command line, and ends the program. Or it writes the help, which a user
/// without arguments gets as well.
pub fn usage(error: &clap::Error) -> ! {
    let is_help = matches!(
        error.kind(),
        ErrorKind::DisplayHelp
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
            | ErrorKind::DisplayVersion
    );
    if is_help {
        let printed = error.print().and_then(|()| io::stdout().flush());
        if let Err(failure) = printed
            && failure.kind() != io::ErrorKind::BrokenPipe
        {
            self::error(&anyhow!("cannot write the help: {failure}"));
            process::exit(1);
        }
    } else {
        let _ = write!(anstream::stderr(), "timebase: {}", error.render().ansi());
    }
    process::exit(error.exit_code());
}

/// Writes warnings about a trace that was imported nevertheless.
pub fn warnings(warnings: &[String]) {
    for text in warnings {
        warning(text);
    }
}
