//! Imports that are timed.

use std::path::Path;
use std::time::{Duration, Instant};

use timebase_import::{Monitor, Options, Source};

use crate::Result;
use crate::traces::Trace;

/// Imports a trace, as a program that uses the library does it.
pub fn import(trace: &Trace, database: &Path, options: &Options) -> Result<Duration> {
    remove(database)?;
    let source = Source::File(trace.path.clone());
    let begun = Instant::now();
    let summary = timebase_import::import(&[source], database, options, &Monitor::default())?;
    let time = begun.elapsed();
    trace.check(&summary);
    trace.check_events(database)?;
    Ok(time)
}

/// Removes a database that was timed, and passes the time on: on its way to the
/// disk it would disturb what comes next.
pub fn discard(database: &Path, time: Duration) -> Result<Duration> {
    remove(database)?;
    Ok(time)
}

/// Removes a database, before another is made in its place: that would be part
/// of what is timed.
pub fn remove(database: &Path) -> Result<()> {
    match std::fs::remove_file(database) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}
