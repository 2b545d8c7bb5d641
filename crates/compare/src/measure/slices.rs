//! Slices, with the time without those inside them.
//!
//! # Design
//!
//! One pass over the slices, in the order of their ids, gives their own time and the names around them. A slice gets
//! its id when it begins, so an outer one has the lesser id, and a slice is over for its track when a later one has a
//! parent with a lesser id. The view `slice_self_dur` would read each slice and its parent once more, and sort them.
//!
//! A database has the numbers of names in its records, and a run has few names. The view `slice` looks up the name of
//! each slice, which takes longer than all else here; a folder of tables only has this form.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row, Statement};
use rustc_hash::FxHashMap;

use super::MeasureError;
use super::lasting::Lasting;
use crate::line::Family;

/// Slices, in the order in which they began: of records the name is a number.
const COLUMNS: &str = "SELECT id, ts, dur, track_id, name, parent_id, doubt IS NULL";
const IS_DATABASE: &str = "SELECT EXISTS (SELECT * FROM sqlite_schema WHERE name = 'slice_record')";
const STRING: &str = "SELECT value FROM string WHERE id = ?";

/// The tracks of threads and processes; all others have no process.
const TRACKS: &str = "
    SELECT t.id, 1, coalesce(p.name, '') FROM thread_track AS t JOIN thread USING (utid) LEFT JOIN process AS p USING (upid)
    UNION ALL
    SELECT t.id, 0, coalesce(p.name, '') FROM process_track AS t LEFT JOIN process AS p USING (upid)";

/// The tracks of frames, which are a family of their own.
const FRAMES: &str = "
    SELECT track_id FROM expected_frame_timeline_slice UNION ALL SELECT track_id FROM actual_frame_timeline_slice";

/// A track with slices.
enum Track {
    /// A thread's track, with the number of its process's name, and the slices that are not over.
    Thread(u32, Vec<Open>),
    /// Another track, with the number of its process's name.
    Other(u32),
    /// A track of frames.
    Frames,
}

/// A slice on a thread, inside of which others may begin.
struct Open {
    id: i64,
    ts: i64,
    dur: i64,
    /// The time of the slices inside.
    inner: i64,
    /// The line of its own time; `None` if it has no name or no end, and does not count.
    line: Option<i64>,
    is_sure: bool,
}

impl Open {
    /// Notes a slice that begins inside of this one. It counts up to the end of this one, as does one without an end.
    fn add(&mut self, ts: i64, dur: i64) {
        let dur = if dur < 0 { self.dur } else { dur };
        let left = self.ts.saturating_add(self.dur).saturating_sub(ts);
        self.inner = self.inner.saturating_add(dur.min(left).max(0));
    }
}

/// Adds all slices.
pub fn read(conn: &Connection, lasting: &mut Lasting) -> Result<(), MeasureError> {
    let mut tracks = tracks(conn, lasting)?;
    let no_process = lasting.lines.text(b"");
    let is_database: bool = conn.query_row(IS_DATABASE, [], |row| row.get(0))?;
    let table = if is_database { "slice_record" } else { "slice" };
    let mut names = SliceNames::new(conn, is_database)?;
    let mut statement = conn.prepare(&format!("{COLUMNS} FROM {table} ORDER BY id"))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (id, ts, dur): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let track = tracks.entry(row.get(3)?).or_insert(Track::Other(no_process));
        let is_sure: bool = row.get(6)?;
        let name = if dur >= 0 { names.of(row, lasting)? } else { None };
        match track {
            Track::Frames => {}
            Track::Other(process) => {
                if let Some(name) = name {
                    let line = lasting.lines.line(Family::Async, *process, name);
                    lasting.add(line, dur, is_sure)?;
                }
            }
            Track::Thread(process, open) => {
                let line = match name {
                    Some(name) => {
                        let line = lasting.lines.line(Family::Slice, *process, name);
                        lasting.add(line, dur, is_sure)?;
                        Some(lasting.lines.line(Family::SelfTime, *process, name))
                    }
                    None => None,
                };
                let parent: Option<i64> = row.get(5)?;
                close(open, parent, lasting)?;
                if let Some(outer) = open.last_mut().filter(|outer| Some(outer.id) == parent) {
                    outer.add(ts, dur);
                    if let (Some(line), Some(around)) = (line, outer.line) {
                        lasting.note_parent(line, around);
                    }
                }
                open.push(Open { id, ts, dur, inner: 0, line, is_sure });
            }
        }
    }
    for track in tracks.values_mut() {
        if let Track::Thread(_, open) = track {
            close(open, None, lasting)?;
        }
    }
    Ok(())
}

/// The names of slices.
struct SliceNames<'conn> {
    /// The lookup of a number; `None` if slices have texts.
    string: Option<Statement<'conn>>,
    /// The patterns of numbers.
    known: FxHashMap<i64, Option<u32>>,
}

impl<'conn> SliceNames<'conn> {
    fn new(conn: &'conn Connection, are_numbers: bool) -> rusqlite::Result<SliceNames<'conn>> {
        let string = are_numbers.then(|| conn.prepare(STRING)).transpose()?;
        Ok(SliceNames { string, known: FxHashMap::default() })
    }

    /// The number of the pattern of a slice's name.
    fn of(&mut self, row: &Row<'_>, lasting: &mut Lasting) -> rusqlite::Result<Option<u32>> {
        let number = match (row.get_ref(4)?, &mut self.string) {
            (ValueRef::Integer(number), Some(_)) => number,
            (ValueRef::Text(text), None) => return Ok(Some(lasting.lines.text(text))),
            _ => return Ok(None),
        };
        if let Some(known) = self.known.get(&number) {
            return Ok(*known);
        }
        let Some(string) = &mut self.string else { return Ok(None) };
        let name = string
            .query_row([number], |row| {
                let text = row.get_ref(0)?.as_bytes_or_null().ok().flatten();
                Ok(text.map(|text| lasting.lines.text(text)))
            })
            .optional()?
            .flatten();
        self.known.insert(number, name);
        Ok(name)
    }
}

/// Ends the slices of a track that are not around a slice with this parent.
fn close(
    open: &mut Vec<Open>,
    parent: Option<i64>,
    lasting: &mut Lasting,
) -> Result<(), MeasureError> {
    while let Some(over) = open.pop_if(|last| parent.is_none_or(|parent| last.id > parent)) {
        if let Some(line) = over.line {
            lasting.add(line, over.dur.saturating_sub(over.inner), over.is_sure)?;
        }
    }
    Ok(())
}

/// The tracks of threads, processes and frames.
fn tracks(conn: &Connection, lasting: &mut Lasting) -> Result<FxHashMap<i64, Track>, MeasureError> {
    let mut tracks = FxHashMap::default();
    let mut statement = conn.prepare(TRACKS)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let process = lasting.lines.text(row.get_ref(2)?.as_bytes().unwrap_or_default());
        let track = match row.get(1)? {
            true => Track::Thread(process, Vec::new()),
            false => Track::Other(process),
        };
        tracks.insert(row.get(0)?, track);
    }
    let mut statement = conn.prepare(FRAMES)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        tracks.insert(row.get(0)?, Track::Frames);
    }
    Ok(tracks)
}
