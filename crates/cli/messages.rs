//! What is said on standard error, in one style: `timebase: error: …`, whether it
//! was found by the parser of the command line or anywhere else.

use std::fmt::Display;
use std::io::Write;
use std::process;

use anstyle::{AnsiColor, Style};
use clap::error::ErrorKind;

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();

/// Says a line. `eprintln!` would panic where standard error cannot be written,
/// on a full disk or on a terminal that is gone; there, nobody reads it anyway.
pub fn say(line: impl Display) {
    let _ = writeln!(anstream::stderr(), "{line}");
}

/// Says what went wrong.
pub fn error(error: &anyhow::Error) {
    say(format_args!("timebase: {ERROR}error:{ERROR:#} {error:#}"));
}

/// Says what a user should know, but did not keep it from being done.
pub fn warning(warning: impl Display) {
    say(format_args!(
        "timebase: {WARNING}warning:{WARNING:#} {warning}"
    ));
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
        let _ = error.print();
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
