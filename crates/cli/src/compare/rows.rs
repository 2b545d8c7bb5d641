//! The result as a table: a row for each statistic of each line (rule CM23).

use rusqlite::{Connection, params};
use timebase_compare::{Appearance, Call, Comparison, Line, NameResult, Row, Scale, Side};

use super::remarks;
use super::text::Report;

/// All rows, in the order of the report.
pub const ALL: &str = "SELECT * FROM comparison ORDER BY rowid";

/// The parts of a document: each with its name, and a statement over the tables of [`document()`].
pub const PARTS: [(&str, &str); 3] = [
    ("runs", "SELECT * FROM run ORDER BY rowid"),
    ("notes", "SELECT * FROM note ORDER BY rowid"),
    ("rows", ALL),
];

const OF_DOCUMENT: &str = "
    CREATE TABLE run (run TEXT, side TEXT, start INTEGER, length REAL, frames REAL, lost REAL, errors INTEGER,
        factor REAL, marks TEXT, unused TEXT);
    CREATE TABLE note (note TEXT, run TEXT, text TEXT);";

const TABLE: &str = "CREATE TABLE comparison (
    line TEXT, family TEXT, process TEXT, name TEXT, stat TEXT, unit TEXT,
    n_before INTEGER, n_after INTEGER, mean_before REAL, mean_after REAL, delta REAL, ratio REAL,
    low REAL, high REAL, level REAL, low95 REAL, high95 REAL, p REAL, called INTEGER, why TEXT,
    left_out REAL, smallest REAL, absolute_low95 REAL, absolute_high95 REAL)";

const INSERT: &str = "INSERT INTO comparison VALUES
    (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

/// A database in memory with the table of all rows.
pub fn table(comparison: &Comparison) -> rusqlite::Result<Connection> {
    let mut conn = Connection::open_in_memory()?;
    let transaction = conn.transaction()?;
    transaction.execute_batch(TABLE)?;
    shift(comparison, &transaction)?;
    {
        let mut insert = transaction.prepare(INSERT)?;
        for line in &comparison.lines {
            for row in comparison.rows.get(line.rows.clone()).unwrap_or_default() {
                put(&mut insert, &line.line, row, line.left_out)?;
            }
        }
        for name in &comparison.names {
            put_name(&mut insert, name)?;
        }
    }
    transaction.commit()?;
    Ok(conn)
}

/// A database in memory with the tables of all rows, runs and notes.
pub fn document(report: &Report<'_>) -> rusqlite::Result<Connection> {
    let comparison = report.comparison;
    let conn = table(comparison)?;
    conn.execute_batch(OF_DOCUMENT)?;
    {
        let mut insert = conn.prepare("INSERT INTO run VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")?;
        for compared in &comparison.runs {
            let facts = &compared.run.facts;
            let marks: Vec<String> =
                compared.marks.iter().map(|mark| remarks::marked(*mark)).collect();
            insert.execute(params![
                compared.run.name,
                match compared.run.side {
                    Side::Before => "before",
                    Side::After => "after",
                },
                facts.start,
                facts.ns,
                facts.frames,
                facts.lost,
                i64::try_from(facts.errors).unwrap_or(i64::MAX),
                compared.factor.map(f64::exp),
                Some(marks.join("; ")).filter(|marks| !marks.is_empty()),
                compared.unused.map(|unused| unused.name()),
            ])?;
        }
        let mut insert = conn.prepare("INSERT INTO note VALUES (?, ?, ?)")?;
        for note in &comparison.notes {
            let Some(text) = report.noted(note) else { continue };
            let run = note.run().and_then(|run| comparison.runs.get(run.index()));
            insert.execute(params![note.name(), run.map(|run| &run.run.name), text])?;
        }
    }
    Ok(conn)
}

/// The first row: the change that all lines share.
fn shift(comparison: &Comparison, conn: &Connection) -> rusqlite::Result<()> {
    let Some(shift) = &comparison.shift else { return Ok(()) };
    let level = shift.estimate.interval(0.05).map(|ends| ends.map(f64::exp));
    let [low, high] = level.map_or([None; 2], |ends| ends.map(Some));
    conn.execute(
        INSERT,
        params![
            "all together",
            None::<String>,
            None::<String>,
            None::<String>,
            "shift",
            "",
            i64::try_from(comparison.counts.runs[0]).unwrap_or(i64::MAX),
            i64::try_from(comparison.counts.runs[1]).unwrap_or(i64::MAX),
            None::<f64>,
            None::<f64>,
            None::<f64>,
            shift.estimate.d.exp(),
            low,
            high,
            0.95,
            low,
            high,
            shift.estimate.p(),
            None::<bool>,
            None::<String>,
            None::<f64>,
            None::<f64>,
            low,
            high,
        ],
    )?;
    Ok(())
}

fn put(
    insert: &mut rusqlite::Statement<'_>,
    line: &Line,
    row: &Row,
    left_out: f64,
) -> rusqlite::Result<()> {
    let ends = |interval: Option<[f64; 2]>| interval.map_or([None; 2], |ends| ends.map(Some));
    let [low, high] = ends(row.interval());
    let [low95, high95] = ends(row.interval95());
    let [absolute_low, absolute_high] = ends(row.interval_of(row.change, 0.05));
    // The absolute change; beyond all lines are the intervals.
    let ratio = match row.scale {
        Scale::Ratio => finite(row.change.d.exp()),
        Scale::Difference => finite(row.mean[1] / row.mean[0]),
    };
    insert.execute(params![
        line.to_string(),
        line.family.name(),
        line.process,
        line.name,
        row.stat.name(),
        row.unit.name(),
        row.n[0],
        row.n[1],
        finite(row.mean[0]),
        finite(row.mean[1]),
        finite(row.delta()),
        ratio,
        low,
        high,
        row.p.map(|_| 1.0 - row.alpha),
        low95,
        high95,
        row.p,
        row.call == Call::Changed,
        match row.call {
            Call::StandsOut => Some("few_runs"),
            _ => row.why.map(|why| why.name()),
        },
        left_out,
        row.smallest(),
        absolute_low,
        absolute_high,
    ])?;
    Ok(())
}

/// A name that is new or gone: no ratio.
fn put_name(insert: &mut rusqlite::Statement<'_>, name: &NameResult) -> rusqlite::Result<()> {
    let (before, after) = match name.appearance {
        Appearance::New => (None, Some(name.mean)),
        Appearance::Gone => (Some(name.mean), None),
        Appearance::Seldom => (None, None),
    };
    let stat = match name.appearance {
        Appearance::New => "new",
        Appearance::Gone => "gone",
        Appearance::Seldom => "seldom",
    };
    let Line { family, process, name: text } = &name.line;
    insert.execute(params![
        name.line.to_string(),
        family.name(),
        process,
        text,
        stat,
        name.unit.name(),
        name.runs[0],
        name.runs[1],
        before,
        after,
        None::<f64>,
        None::<f64>,
        None::<f64>,
        None::<f64>,
        None::<f64>,
        None::<f64>,
        None::<f64>,
        name.p,
        name.call == Call::Changed,
        None::<String>,
        None::<f64>,
        None::<f64>,
        None::<f64>,
        None::<f64>,
    ])?;
    Ok(())
}

fn finite(number: f64) -> Option<f64> {
    Some(number).filter(|number| number.is_finite())
}
