//! The samples of machines that asked each other for the time: the table `remote_clock_sync` (rules
//! X24, R9).

use std::collections::BTreeMap;

use timebase_sql::{Database, Error, Result, Row};

use super::files::Owners;
use super::read::{each_row, no_file};
use crate::clock::Clock;
use crate::linear::{Estimates, Sample};

/// All are integers, like those of `clock_snapshot`.
const SAMPLES: &str = "SELECT machine_id, clock_id, coalesce(trace_file_id, -1), host_machine_id, \
     coalesce(host_trace_file_id, -1), host_value, offset, half_round_trip \
     FROM main.remote_clock_sync WHERE used";

/// Passes the used samples to the estimates.
pub(super) fn load<D: Database + ?Sized>(
    database: &D,
    owners: &Owners,
    estimates: &mut Estimates,
) -> Result<()> {
    let mut hops: BTreeMap<[Clock; 2], Vec<Sample>> = BTreeMap::new();
    each_row(database, "remote_clock_sync", SAMPLES, |row| {
        let clocks = [clock(row, owners, 0, 2)?, clock(row, owners, 3, 4)?];
        hops.entry(clocks).or_default().push(Sample {
            host_value: row.integer(5, "host_value")?,
            offset: row.integer(6, "offset")?,
            half_round_trip: row.integer(7, "half_round_trip")?,
        });
        Ok(())
    })?;
    for ([client, host], samples) in hops {
        estimates.add_used_sync(client, host, samples);
    }
    Ok(())
}

/// The clock of a row; these columns have its machine and file.
fn clock(row: &Row<'_>, owners: &Owners, machine: usize, file: usize) -> Result<Clock> {
    let names = match machine {
        0 => ["machine_id", "trace_file_id"],
        _ => ["host_machine_id", "host_trace_file_id"],
    };
    let machine = row.number(machine, names[0])?;
    let id = row.number(1, "clock_id")?;
    let file = match row.integer(file, names[1])? {
        -1 => None,
        _ => Some(row.number(file, names[1])?),
    };
    let clock = owners.read(machine, id, 0, file);
    clock.ok_or_else(|| Error::new(no_file(names[1], file)))
}
