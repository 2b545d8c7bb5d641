//! The errors of relations that follow from messages, and the bounds of measured ones: the tables
//! `clock_alignment` and `clock_alignment_knot` (rules AL16, AL18, AL20). The relations themselves are
//! snapshots.

use std::collections::BTreeMap;

use timebase_sql::{Database, Error, Result, Row, ValueRef, Values};

use super::files::Owners;
use super::read::{each_row, no_file};
use crate::clock::Clock;
use crate::linear::{CausalBound, CausalKnot, Estimates};

/// Of relations in use. A corner that messages bound on one side only is none of a conversion.
const KNOTS: &str = "SELECT a.machine_a, a.clock_a, coalesce(a.file_a, -1), a.machine_b, a.clock_b, \
     coalesce(a.file_b, -1), a.rate_error_ppm, k.value, k.offset, k.earliest, k.latest, \
     a.relation = 'measured' \
     FROM main.clock_alignment AS a JOIN main.clock_alignment_knot AS k ON k.alignment_id = a.id \
     WHERE a.used AND k.offset IS NOT NULL AND k.earliest IS NOT NULL AND k.latest IS NOT NULL";

/// Two clocks, and what messages say of them.
#[derive(Default)]
struct Relation {
    knots: Vec<CausalKnot>,
    /// How much their rate may change.
    wander: f64,
    /// The bounds of a measured relation.
    corners: Vec<CausalBound>,
}

/// Passes the knots to the estimates.
pub(super) fn load<D: Database + ?Sized>(
    database: &D,
    owners: &Owners,
    estimates: &mut Estimates,
) -> Result<()> {
    let mut relations: BTreeMap<[Clock; 2], Relation> = BTreeMap::new();
    each_row(database, "clock_alignment_knot", KNOTS, |row| {
        let clocks = [
            clock(row, owners, 0, ["machine_a", "clock_a", "file_a"])?,
            clock(row, owners, 3, ["machine_b", "clock_b", "file_b"])?,
        ];
        let relation = relations.entry(clocks).or_default();
        match row.value(11) {
            Some(ValueRef::Integer(1)) => relation.corners.push(corner(row)?),
            _ => {
                relation.wander = relation.wander.max(rate_error(row)?);
                relation.knots.push(knot(row)?);
            }
        }
        Ok(())
    })?;
    for ([a, b], relation) in relations {
        if !relation.knots.is_empty() {
            estimates.add_causality(a, b, relation.knots, relation.wander);
        }
        if !relation.corners.is_empty() {
            estimates.add_bounds(a, b, relation.corners);
        }
    }
    Ok(())
}

/// How much the rate may change, as a ratio; infinite if unknown.
fn rate_error(row: &Row<'_>) -> Result<f64> {
    match row.value(6) {
        Some(ValueRef::Real(ppm)) => Ok(ppm * 1e-6),
        Some(ValueRef::Integer(ppm)) => Ok(ppm as f64 * 1e-6),
        Some(ValueRef::Null) => Ok(f64::INFINITY),
        _ => Err(Error::new("rate_error_ppm must be a number")),
    }
}

fn knot(row: &Row<'_>) -> Result<CausalKnot> {
    let offset = row.integer(8, "offset")?;
    let earliest = offset.saturating_sub(row.integer(9, "earliest")?);
    let latest = row.integer(10, "latest")?.saturating_sub(offset);
    Ok(CausalKnot { value: row.integer(7, "value")?, offset, error: earliest.max(latest) })
}

fn corner(row: &Row<'_>) -> Result<CausalBound> {
    Ok(CausalBound {
        value: row.integer(7, "value")?,
        earliest: row.integer(9, "earliest")?,
        latest: row.integer(10, "latest")?,
    })
}

/// The clock in these columns, from the first one on: its machine, its number and its file.
fn clock(row: &Row<'_>, owners: &Owners, first: usize, names: [&str; 3]) -> Result<Clock> {
    let [of_machine, of_id, of_file] = names;
    let machine = row.number(first, of_machine)?;
    let id = row.number(first + 1, of_id)?;
    let file = match row.integer(first + 2, of_file)? {
        -1 => None,
        _ => Some(row.number(first + 2, of_file)?),
    };
    let clock = owners.read(machine, id, 0, file);
    clock.ok_or_else(|| Error::new(no_file(of_file, file)))
}
