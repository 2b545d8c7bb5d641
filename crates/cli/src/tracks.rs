//! The rows of queries as tracks of a written trace: `--track NAME=SQL`, `--marks`.
//!
//! # Design
//!
//! The trace is imported into a temporary database, as for `query`, and the statements run there with the same
//! defences and the same Ctrl-C. Their rows go to the import, which writes packets. So the statements may use all
//! functions and views. The writer could not run them, because the functions are not part of the import.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail, ensure};
use timebase_import::manifest::Align;
use timebase_import::{Found, FoundError, FoundTrack, FoundTracks, Options, Source, Subject};

use crate::database::{self, Database};
use crate::escape::one_line;
use crate::flags::TrackFlags;
use crate::progress::Progress;
use crate::script::Script;
use crate::signals::Signals;
use crate::statements::{self, Step};

/// A track to make: its name, and the statements whose last result has its rows.
struct Wanted {
    name: String,
    sql: String,
}

/// The losses of the recording that have a time.
const LOSSES: &str = "
    SELECT start_ts AS ts, end_ts - start_ts AS dur, kind AS name, count, ucpu % 4096 AS cpu
    FROM loss WHERE start_ts IS NOT NULL AND end_ts >= start_ts";

/// The rows of threads that may be wrong.
const DOUBTS: &str = "
    SELECT ts, dur, doubt AS name, utid FROM thread_state WHERE doubt IS NOT NULL
    UNION ALL
    SELECT s.ts, s.dur, s.doubt, k.utid FROM slice AS s JOIN thread_track AS k ON k.id = s.track_id
    WHERE s.doubt IS NOT NULL";

/// The error of each clock's packets, for the first packet of each millisecond.
const ERRORS: &str = "
    SELECT min(p.ts) AS ts, (i.latest - i.earliest) / 2 AS value,
           ifnull((SELECT name FROM clock AS c WHERE c.machine_id = p.machine_id AND c.clock_id = p.clock_id),
                  'clock ' || p.clock_id) AS track
    FROM packet AS p JOIN packet_interval AS i ON i.id = p.id
    WHERE p.ts IS NOT NULL
    GROUP BY p.machine_id, p.clock_id, p.ts / 1000000";

const MARKS: [(&str, &str); 3] =
    [("losses", LOSSES), ("may be wrong", DOUBTS), ("error (ns)", ERRORS)];

/// Runs the statements of all tracks, if there are any, and returns the tracks.
pub fn find(
    flags: &TrackFlags,
    traces: &[PathBuf],
    sources: &[Source],
    options: &Options,
    (progress, signals): (Progress, &Signals),
) -> anyhow::Result<Option<Found>> {
    let mut wanted = flags.track.iter().map(|given| of(given)).collect::<Result<Vec<_>, _>>()?;
    if flags.marks {
        let mark = |(name, sql): &(&str, &str)| Wanted {
            name: (*name).to_owned(),
            sql: (*sql).to_owned(),
        };
        wanted.extend(MARKS.iter().map(mark));
    }
    let has_any = !wanted.is_empty() || !flags.report.is_empty();
    let Some(first) = traces.first().filter(|_| has_any) else {
        return Ok(None);
    };
    ensure!(
        traces.iter().all(|trace| trace.as_os_str() != "-"),
        "--track, --report and --marks read the trace twice, which standard input does not allow: save it to a file"
    );
    let mut options = options.clone();
    options.keep_data = true;
    options.subjects = Subject::ALL.to_vec();
    // As of the trace that is written, whose files move only if the user says it.
    options.align = options.align.or(Some(Align::Off));
    let (database, _) = database::open_traces(first, sources, &options, progress, signals)?;
    let mut tracks = FoundTracks::new(&database).context("cannot read the imported trace")?;
    for one in &wanted {
        let handle = database.get_interrupt_handle();
        signals.during_query(handle, || rows(&database, one, &mut tracks))?;
    }
    for report in &flags.report {
        let script = Script::parse(report.sql());
        let handle = database.get_interrupt_handle();
        signals
            .during_query(handle, || of_report(&database, &script, &mut tracks))
            .with_context(|| format!("report {}", report.name()))?;
    }
    let found = tracks.finish(&std::env::temp_dir()).context("cannot write the tracks")?;
    Ok(Some(found))
}

/// A track from the argument `NAME=SQL` or `NAME=@FILE`.
fn of(given: &str) -> anyhow::Result<Wanted> {
    let Some((name, sql)) = given.split_once('=').filter(|(name, _)| !name.trim().is_empty())
    else {
        bail!(
            "--track '{given}' has no name: write --track 'NAME=SELECT ts, dur, name FROM slice'"
        );
    };
    let sql = match sql.trim().strip_prefix('@') {
        Some(file) => fs::read_to_string(Path::new(file))
            .with_context(|| format!("cannot read the statements of track '{name}' from {file}"))?,
        None => sql.to_owned(),
    };
    Ok(Wanted { name: name.trim().to_owned(), sql })
}

/// Adds the rows of a track.
fn rows(database: &Database, wanted: &Wanted, tracks: &mut FoundTracks<'_>) -> anyhow::Result<()> {
    let name = &wanted.name;
    let script = Script::parse(&wanted.sql);
    let mut row = 0u64;
    let mut step = |step: Step<'_>| add(tracks, name, step, &mut row);
    statements::rows_of(database, &script, &mut step).with_context(|| format!("track '{name}'"))
}

/// Adds the tracks of a report.
fn of_report(
    database: &Database,
    script: &Script<'_>,
    tracks: &mut FoundTracks<'_>,
) -> anyhow::Result<()> {
    let mut row = 0u64;
    statements::tracks_of(database, script, &mut |name, step| add(tracks, name, step, &mut row))
}

/// Adds the columns or a row of a track, and counts the row.
fn add(
    tracks: &mut FoundTracks<'_>,
    name: &str,
    step: Step<'_>,
    row: &mut u64,
) -> anyhow::Result<()> {
    let done = match step {
        Step::Columns(columns) => {
            *row = 0;
            tracks.begin(name, columns)
        }
        Step::Row(values) => {
            *row += 1;
            tracks.row(values)
        }
    };
    done.map_err(|error| match error {
        FoundError::Value(why) if *row > 0 => anyhow!("row {row}: {why}"),
        other => anyhow!("{other}"),
    })
}

/// The summary's words about a track.
pub fn told(track: &FoundTrack) -> String {
    let name = one_line(&track.name);
    let mut text = format!("{} '{name}'", counted(track.rows, "row", "rows on"));
    let others = [
        (track.left_out, "left out, because they have no time, one before 0, or no value"),
        (track.moved, "1 ns behind the begin of their thread or process"),
        (track.not_reached, "without an arrow, because none can lead to the slice"),
    ];
    for (count, what) in others.into_iter().filter(|(count, _)| *count > 0) {
        text += &format!("; {count} {what}");
    }
    text
}

fn counted(count: u64, one: &str, many: &str) -> String {
    match count {
        1 => format!("1 {one} on"),
        count => format!("{} {many}", indicatif::HumanCount(count)),
    }
}
