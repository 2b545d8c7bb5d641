//! The tables of alignments.

use rusqlite::{Connection, ToSql, params};
use timebase_resolver::Clock;
use timebase_resolver::align::OutlierKind;
use timebase_schema::Row as _;
use timebase_schema::tables::{causal_outlier, clock_alignment, clock_alignment_knot};

use super::WANDER;
use super::clocks::Known;
use super::relate::PairReport;
use super::staged::Kind;
use crate::place::file_id;

/// Fills the tables. `at` gives the trace time of a reading.
///
/// # Errors
///
/// If the database cannot be written.
pub(super) fn write(
    conn: &Connection,
    reports: &[PairReport],
    at: &mut dyn FnMut(Clock, i64) -> Option<i64>,
) -> rusqlite::Result<()> {
    let mut pair = conn.prepare(&clock_alignment::TABLE.insert())?;
    for (id, report) in (0_i64..).zip(reports) {
        let numbers = report.alignment.as_ref();
        let mut time = |reading: Option<i64>| reading.and_then(|reading| at(report.a, reading));
        let in_middle = report.knot.as_ref();
        let compared = report.compared.unwrap_or_default();
        let [messages_ab, messages_ba] = numbers.map_or([0; 2], |of| of.messages);
        let [accepted_ab, accepted_ba] = numbers.map_or([0; 2], |of| of.accepted);
        let worst = compared.worst.unzip();
        // Without a rate of its own, the relation has the wander that conversions use.
        let wander = report.rate.map(|(_, width)| width).or(report.is_used.then_some(WANDER));
        let is_measured = report.known.stays();
        let row = clock_alignment::Row::<&dyn ToSql> {
            id: &id,
            machine_a: &report.a.machine.0,
            file_a: &file_id(report.a.file),
            clock_a: &report.a.id.0,
            machine_b: &report.b.machine.0,
            file_b: &file_id(report.b.file),
            clock_b: &report.b.id.0,
            evidence: &evidence(report.kinds),
            arrival: &numbers.map_or("begin", |of| of.arrival),
            sides: &numbers.map_or("both", |of| of.sides),
            from_ts: &time(numbers.map(|of| of.from).filter(|_| messages_ab + messages_ba > 0)),
            to_ts: &time(numbers.map(|of| of.to).filter(|_| messages_ab + messages_ba > 0)),
            messages_ab: &(messages_ab as i64),
            messages_ba: &(messages_ba as i64),
            accepted_ab: &(accepted_ab as i64),
            accepted_ba: &(accepted_ba as i64),
            violated: &(numbers.map_or(0, |of| of.violated) as i64),
            suspect: &(numbers.map_or(0, |of| of.suspect) as i64),
            unpaired: &report.unpaired,
            undirected: &report.undirected,
            stretches: &(numbers.map_or(1, |of| of.stretches) as i64),
            at_ts: &time(in_middle.map(|knot| knot.value)),
            offset: &in_middle.and_then(|knot| knot.offset),
            earliest: &in_middle.and_then(|knot| knot.interval.earliest),
            latest: &in_middle.and_then(|knot| knot.interval.latest),
            rate_ppm: &report.rate.map(|(rate, _)| rate * 1e6),
            rate_error_ppm: &wander.map(|wander| wander * 1e6),
            relation: &relation(report.known),
            assumed: &report.assumed,
            wrong_by: &report.compared.map(|compared| compared.wrong_by),
            unexplained: &is_measured.then_some(compared.unexplained),
            inverted: &(compared.inverted as i64),
            inverted_ab: &(compared.inverted_ab as i64),
            worst_out: &worst.0,
            worst_in: &worst.1,
            used: &report.is_used,
            reason: &report.reason,
        };
        pair.execute(row.cells().as_ref())?;
    }
    write_corners(conn, reports)?;
    write_outliers(conn, reports)
}

fn write_corners(conn: &Connection, reports: &[PairReport]) -> rusqlite::Result<()> {
    let mut knot = conn.prepare(&clock_alignment_knot::TABLE.insert())?;
    for (id, report) in (0_i64..).zip(reports) {
        for corner in &report.knots {
            let row = clock_alignment_knot::Row::<&dyn ToSql> {
                alignment_id: &id,
                value: &corner.value,
                offset: &corner.offset,
                earliest: &corner.interval.earliest,
                latest: &corner.interval.latest,
                step: &corner.step,
            };
            knot.execute(row.cells().as_ref())?;
        }
    }
    Ok(())
}

fn write_outliers(conn: &Connection, reports: &[PairReport]) -> rusqlite::Result<()> {
    let mut outlier = conn.prepare(&causal_outlier::TABLE.insert())?;
    for (id, report) in (0_i64..).zip(reports) {
        for found in &report.outliers {
            let row = causal_outlier::Row::<&dyn ToSql> {
                alignment_id: &id,
                packet_out: &found.message.packet_out,
                packet_in: &found.message.packet_in,
                by: &found.by,
                kind: &match found.kind {
                    OutlierKind::Violated => "violated",
                    OutlierKind::Suspect => "suspect",
                },
            };
            outlier.execute(row.cells().as_ref())?;
        }
    }
    Ok(())
}

/// States the possible error of parts whose assumed place is confirmed (rule AL20).
///
/// # Errors
///
/// If the database cannot be written.
pub(super) fn state_errors(
    conn: &Connection,
    reports: &[PairReport],
    trace_time: Clock,
) -> rusqlite::Result<()> {
    let is_first =
        |clock: Clock| clock.machine == trace_time.machine && clock.file == trace_time.file;
    for report in reports.iter().filter(|report| is_first(report.a)) {
        let Some(error) = report.error else { continue };
        let file = file_id(report.b.file);
        conn.execute(
            "UPDATE part SET error = ?1 WHERE machine_id = ?2 AND how IN ('realtime', 'same_clock') \
               AND (?3 IS NULL OR trace_file_id = ?3)",
            params![error, report.b.machine.0, file],
        )?;
    }
    Ok(())
}

fn relation(known: Known) -> Option<&'static str> {
    match known {
        Known::Nothing => None,
        Known::Assumed { by_wall_clocks: true } => Some("realtime"),
        Known::Assumed { by_wall_clocks: false } => Some("same_clock"),
        Known::Measured | Known::Stated => Some("measured"),
    }
}

fn evidence(kinds: [bool; 3]) -> String {
    let names = Kind::ALL.into_iter().zip(kinds).filter(|(_, has)| *has);
    let names: Vec<&str> = names.map(|(kind, _)| kind.name()).collect();
    match names.is_empty() {
        true => "other clocks".to_owned(),
        false => names.join("+"),
    }
}
