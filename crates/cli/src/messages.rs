//! What is said on standard error, in one style: `timebase: error: …`, whether it
//! was found by the parser of the command line or anywhere else.

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

/// Says a line. Names and texts of a trace or a database may be in it, and a terminal is not told by
/// them what to do.
pub fn say(line: impl Display) {
    write(printable(&line.to_string()));
}

/// Says a line to a program, and tells whether that is there no longer.
pub fn is_gone(line: impl Display) -> bool {
    write_line(line).is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

fn write_line(line: impl Display) -> io::Result<()> {
    writeln!(anstream::stderr(), "{line}")
}

/// Says what went wrong, and what to type about it.
pub fn error(error: &anyhow::Error) {
    let is_interrupted = |cause: &(dyn std::error::Error + 'static)| {
        let code = cause
            .downcast_ref()
            .and_then(rusqlite::Error::sqlite_error_code);
        code == Some(ErrorCode::OperationInterrupted)
    };
    let error = match error.chain().any(is_interrupted) {
        // As SQLite puts it, there are a number and what the statement was for.
        true => "interrupted".to_owned(),
        false => printable(&format!("{error:#}{}", advice::of(error))),
    };
    write(format_args!("timebase: {ERROR}error:{ERROR:#} {error}"));
}

/// Says what a user should know, but did not keep it from being done.
pub fn warning(warning: impl Display) {
    let warning = printable(&warning.to_string());
    write(format_args!(
        "timebase: {WARNING}warning:{WARNING:#} {warning}"
    ));
}

/// Says what a user may want to know of a result.
pub fn note(note: impl Display) {
    let note = printable(&note.to_string());
    write(format_args!("timebase: note: {note}"));
}

/// `eprintln!` would panic where standard error cannot be written, on a full disk or on a
/// terminal that is gone; there, nobody reads it anyway.
fn write(line: impl Display) {
    let _ = write_line(line);
}

/// Says what is wrong with a command line, as the parser puts it, and ends the
/// program; or shows the help, which who gives no arguments gets as well.
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

/// Says what is wrong with a trace, but did not keep it from being imported.
pub fn warnings(warnings: &[String]) {
    for text in warnings {
        warning(text);
    }
}
