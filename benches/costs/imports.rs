//! Timed imports.

use std::path::Path;
use std::time::{Duration, Instant};

use timebase_import::{Monitor, Options, Source};

use crate::Result;
use crate::traces::Trace;

/// Imports a trace like a program that uses the library.
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

/// Removes a timed database, and passes the time on: writing it to the disk would disturb the next
/// measurement.
pub fn discard(database: &Path, time: Duration) -> Result<Duration> {
    remove(database)?;
    Ok(time)
}

/// Removes a database before another one is made in its place. Otherwise the removal would be part
/// of the measured time.
pub fn remove(database: &Path) -> Result<()> {
    match std::fs::remove_file(database) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}
