//! The facts at the head of the page.

use rusqlite::{Connection, OptionalExtension, Row};

use crate::clocks::{Key, natural};
use crate::error::{Error, Reading};
use crate::text::{counted, shown, shown_up_to};

/// The formats of the traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Formats {
    Perfetto,
    Json,
    Both,
}

impl Formats {
    fn read(database: &Connection) -> rusqlite::Result<Formats> {
        let sql = "SELECT count(*) FILTER (WHERE trace_type = 'json'), count(*) FILTER (WHERE trace_type = 'proto') FROM trace_file";
        let counts = database.query_row(sql, [], |row| Ok((natural(row, 0)?, natural(row, 1)?)))?;
        Ok(match counts {
            (0, _) => Formats::Perfetto,
            (_, 0) => Formats::Json,
            _ => Formats::Both,
        })
    }

    /// The name of the traces' packets and events.
    pub fn packets(self) -> &'static str {
        match self {
            Formats::Perfetto => "packets",
            Formats::Json => "events",
            Formats::Both => "packets and events",
        }
    }

    /// The name of one of them.
    pub fn one(self) -> &'static str {
        match self {
            Formats::Perfetto => "packet",
            Formats::Json => "event",
            Formats::Both => "packet or event",
        }
    }

    /// A number of them.
    pub fn counted(self, number: u64) -> String {
        counted(number, self.one(), self.packets())
    }
}

/// A trace, in a few numbers.
#[derive(Debug)]
pub struct Facts {
    /// Facts from the import, by their names on the page.
    pub noted: Vec<(&'static str, String)>,
    /// The name of the trace.
    pub name: Option<String>,
    pub formats: Formats,
    /// Whether `ts` is an estimate between two snapshots instead of a conversion by the nearest
    /// one.
    pub is_linear: bool,
    /// The number of the clock of trace time.
    pub trace_clock: i64,
    /// The machine of that clock.
    pub trace_machine: i64,
    /// The file that owns it, or -1.
    pub trace_file: i64,
    /// Packets, and events of JSON traces.
    pub packets: u64,
    pub placed: u64,
    pub unplaced: u64,
    /// The number of events with a wrong time because their clock wrapped or restarted.
    pub wrong: u64,
    /// Kernel events and lines of the log with a time, and without one.
    pub inside: (u64, u64),
    /// The time range of events, as the import tells it (FP6).
    pub bounds: Option<(i64, i64)>,
    /// The time range of events, packets or snapshots, for plots.
    pub span: Option<(i64, i64)>,
}

/// Names in `metadata`, and their names on the page.
const NOTED: [(&str, &str); 5] = [
    ("source_sha256", "SHA-256"),
    ("system_name", "system"),
    ("system_release", "release"),
    ("system_machine", "processor"),
    ("tool_version", "imported by timebase"),
];

impl Facts {
    /// The clock of trace time.
    pub fn trace_time(&self) -> Key {
        Key {
            machine: self.trace_machine,
            id: self.trace_clock,
            sequence: 0,
            file: self.trace_file,
        }
    }

    /// Reads them from the database.
    pub fn read(database: &Connection) -> Result<Facts, Error> {
        let (packets, placed, unplaced) = database
            .query_row(
                "SELECT count(*) FILTER (WHERE type IS NOT 'json_member'), count(ts), count(unresolved) FROM packet",
                [],
                |row| Ok((natural(row, 0)?, natural(row, 1)?, natural(row, 2)?)),
            )
            .reading("packets")?;
        let wrong = database
            .query_row("SELECT coalesce(sum(packets), 0) FROM clock_turn", [], |row| {
                natural(row, 0)
            })
            .reading("turns of clocks")?;
        let inside = database
            .query_row(
                "SELECT sum(placed), sum(unplaced) FROM (
                   SELECT count(ts) AS placed, count(*) - count(ts) AS unplaced FROM ftrace_record
                   UNION ALL
                   SELECT count(ts), count(unresolved) FROM android_log_record
                 )",
                [],
                |row| Ok((natural(row, 0)?, natural(row, 1)?)),
            )
            .reading("events")?;
        let mut noted = Vec::new();
        for (name, said) in NOTED {
            if let Some(value) = fact(database, name)? {
                // This much of a hash distinguishes traces.
                let most = if name == "source_sha256" { 12 } else { 100 };
                noted.push((said, shown_up_to(most, &value)));
            }
        }
        let source = fact(database, "source")?;
        let file = source.as_deref().and_then(|path| path.rsplit(['/', '\\']).next());
        let number = |name: &str| -> Result<Option<i64>, Error> {
            Ok(fact(database, name)?.and_then(|id| id.parse().ok()))
        };
        let trace_clock = number("trace_time_clock_id")?.unwrap_or(BOOTTIME);
        let trace_machine = number("trace_time_machine_id")?.unwrap_or(0);
        // The clock of a JSON trace belongs to its file, and the first file has trace time.
        let trace_file = database
            .query_row(
                "SELECT coalesce(min(file), -1) FROM clock_record WHERE machine_id = ?1 AND clock_id = ?2",
                [trace_machine, trace_clock],
                |row| row.get(0),
            )
            .reading("the clock of trace time")?;
        Ok(Facts {
            noted,
            formats: Formats::read(database).reading("files")?,
            name: file.filter(|file| !file.is_empty()).map(shown),
            is_linear: fact(database, "conversion")?.as_deref() == Some("linear"),
            trace_clock,
            trace_machine,
            trace_file,
            packets,
            placed,
            unplaced,
            wrong,
            inside,
            bounds: bounds(database).reading("bounds")?,
            span: span(database).reading("bounds")?,
        })
    }
}

/// The number of the clock to which all clocks are converted.
pub const BOOTTIME: i64 = 6;

fn fact(database: &Connection, name: &str) -> Result<Option<String>, Error> {
    database
        .query_row(
            "SELECT CAST(value AS TEXT) FROM metadata
             WHERE name = ?1 AND value IS NOT NULL AND coalesce(machine_id, 0) = 0",
            [name],
            |row| row.get(0),
        )
        .optional()
        .reading("metadata")
}

fn bounds(database: &Connection) -> rusqlite::Result<Option<(i64, i64)>> {
    let sql = "SELECT start_ts, end_ts FROM trace_bounds WHERE end_ts > start_ts";
    let bounds = database.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)));
    bounds.optional()
}

fn span(database: &Connection) -> rusqlite::Result<Option<(i64, i64)>> {
    /// An event more than a day away usually has a timestamp of another clock than it names, and
    /// would make everything else too small to see.
    const FAR: i64 = 86_400_000_000_000;

    let both = |row: &Row<'_>| {
        let ends: (Option<i64>, Option<i64>) = (row.get(0)?, row.get(1)?);
        Ok(ends.0.zip(ends.1))
    };
    let span = database.query_row(
        "SELECT min(start_ts), max(end_ts) FROM (
           SELECT typical_start_ts AS start_ts, typical_end_ts AS end_ts FROM trace_bounds
           UNION ALL
           SELECT min(ts), max(ts) FROM clock_snapshot WHERE source NOT IN ('causality', 'manifest', 'assumed', 'json')
         )",
        [],
        both,
    )?;
    let Some((begin, end)) = span else {
        return Ok(None);
    };
    database.query_row(
        "SELECT min(?1, coalesce((SELECT min(ts) FROM packet WHERE ts >= ?3 AND start_ts = typical_start_ts), ?1)),
                max(?2, coalesce((SELECT max(ts) FROM packet WHERE ts <= ?4 AND end_ts = typical_end_ts), ?2))
         FROM trace_bounds",
        [
            begin,
            end,
            begin.saturating_sub(FAR),
            end.saturating_add(FAR),
        ],
        both,
    )
}
