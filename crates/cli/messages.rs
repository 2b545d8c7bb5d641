//! What is said on standard error.

use std::fmt::Display;
use std::io::{self, Write};

/// Says a line. `eprintln!` would panic where standard error cannot be written,
/// on a full disk or on a terminal that is gone; there, nobody reads it anyway.
pub fn say(line: impl Display) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// Says why the program failed.
pub fn error(error: &anyhow::Error) {
    say(format_args!("timebase: error: {error:#}"));
}

/// Says what is wrong with a trace, but did not keep it from being imported.
pub fn warnings(warnings: &[String]) {
    for warning in warnings {
        say(format_args!("warning: {warning}"));
    }
}
