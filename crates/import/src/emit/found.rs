//! Rows of queries as tracks (rules CN): rows go in, in any order, and packets come out in the order of time.
//!
//! # Design
//!
//! The rows wait in a database of their own, which SQLite keeps in a temporary file without a name: it sorts them
//! on the disk, and needs little memory. The packets go to a temporary file, from which a rewriting takes each when
//! its time has come. So a rewriting knows nothing of rows, and may go over its trace several times.

use std::collections::HashMap;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, OptionalExtension, params};
use timebase_resolver::ClockId;
use timebase_store::sort::{Scratch, ScratchFile};

use super::owned::{Owner, Stands};
use super::sequence::Sink;

/// A failure while rows become tracks.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FoundError {
    /// A value has a wrong type, or there is no thread, process or slice of its number.
    #[error("{0}")]
    Value(String),
    /// The database cannot be read, or the temporary one cannot be written.
    #[error("{0}")]
    Rows(#[from] rusqlite::Error),
    /// The temporary file cannot be written.
    #[error("cannot write a temporary file: {0}")]
    Write(#[from] io::Error),
}

/// The fate of the rows of a query.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FoundTrack {
    /// The name of the track.
    pub name: String,
    /// The rows that were written.
    pub rows: u64,
    /// The rows that have no time, one before 0 or, on a counter, no value.
    pub left_out: u64,
    /// The rows that stand a nanosecond behind the begin of their thread or process.
    pub moved: u64,
    /// The rows whose `flow_to` names a slice to which no arrow can lead.
    pub not_reached: u64,
}

/// The meaning of a column.
#[derive(Debug, Clone, PartialEq)]
enum Column {
    Ts,
    Dur,
    Name,
    Category,
    Value,
    Utid,
    Upid,
    Track,
    FlowTo,
    Argument(String),
}

impl Column {
    fn of(name: &str) -> Column {
        // Names of columns are the same in capitals, as in SQL.
        match name.to_ascii_lowercase().as_str() {
            "ts" => Column::Ts,
            "dur" => Column::Dur,
            "name" => Column::Name,
            "category" => Column::Category,
            "value" => Column::Value,
            "utid" => Column::Utid,
            "upid" => Column::Upid,
            "track" => Column::Track,
            "flow_to" => Column::FlowTo,
            _ => Column::Argument(name.to_owned()),
        }
    }
}

/// The rows of queries, until all are there.
///
/// ```
/// use rusqlite::Connection;
/// use rusqlite::types::ValueRef;
/// use timebase_import::{
///     FoundTracks, Monitor, Options, RewriteTo, Source, import_into, rewrite_with,
/// };
///
/// let trace = [Source::File("../../tests/data/nearest.pftrace".into())];
/// let (options, monitor) = (Options::default(), Monitor::default());
/// let mut conn = Connection::open_in_memory()?;
/// import_into(&trace, &mut conn, &options, &monitor)?;
/// let mut tracks = FoundTracks::new(&conn)?;
/// tracks.begin("mine", &["ts", "name"])?;
/// tracks.row(&[ValueRef::Integer(5), ValueRef::Text(b"here")])?;
/// let found = tracks.finish(&std::env::temp_dir())?;
/// assert_eq!(found.told()[0].rows, 1);
/// rewrite_with(&trace, RewriteTo::Nowhere, &options, Some(&found), &monitor)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct FoundTracks<'c> {
    /// The database of the trace.
    pub(super) conn: &'c Connection,
    /// The rows, in a temporary file.
    pub(super) rows: Connection,
    pub(super) stands: Stands<'c>,
    pub(super) groups: Vec<Group>,
    numbers: HashMap<(usize, Owner, Option<String>), usize>,
    columns: Vec<Column>,
    new: Vec<New>,
    last: i64,
    pub(super) told: Vec<FoundTrack>,
    pub(super) is_json: bool,
}

/// So many rows are in memory.
const AT_ONCE: usize = 512;

/// A row that is not stored yet.
struct New {
    id: i64,
    part: i64,
    span: (i64, i64),
    label: (Option<String>, Option<String>),
    value: Option<Value>,
    args: Option<String>,
}

/// Rows that are one track, or the lanes of one.
#[derive(Debug, Clone)]
pub(super) struct Group {
    /// The query.
    pub of: usize,
    pub owner: Owner,
    /// The value of the column `track`, if there is one.
    pub track: Option<String>,
    pub is_counter: bool,
    /// Whether arrows may begin and end at its slices, so that its lanes do not merge.
    pub has_flows: bool,
}

const ROWS: &str = "
    CREATE TABLE found (id INTEGER PRIMARY KEY, part INTEGER, at INTEGER, ends INTEGER, name TEXT, category TEXT, value, args TEXT);
    CREATE TABLE arrow (found INTEGER PRIMARY KEY, at INTEGER, uuid INTEGER, is_first INTEGER);
    BEGIN";

/// A row by the meaning of its columns.
#[derive(Default)]
struct Values<'r> {
    ts: Option<i64>,
    dur: Option<i64>,
    name: Option<&'r str>,
    category: Option<&'r str>,
    value: Option<ValueRef<'r>>,
    utid: Option<i64>,
    upid: Option<i64>,
    track: Option<&'r str>,
    flow_to: Option<i64>,
    args: Vec<(&'r str, ValueRef<'r>)>,
}

impl<'c> FoundTracks<'c> {
    /// Tracks for the trace of a database.
    ///
    /// # Errors
    ///
    /// If the database cannot be read, or a temporary one cannot be made.
    pub fn new(conn: &'c Connection) -> Result<FoundTracks<'c>, FoundError> {
        let rows = Connection::open("")?;
        rows.pragma_update(None, "journal_mode", "OFF")?;
        rows.execute_batch(ROWS)?;
        let is_json = "SELECT NOT EXISTS (SELECT * FROM trace_file WHERE trace_type = 'proto')";
        let is_json = conn.query_row(is_json, [], |row| row.get(0))?;
        let stands = Stands::of(conn, is_json)?;
        let (groups, numbers, columns, new, told) = Default::default();
        let last = 0;
        Ok(FoundTracks { conn, rows, stands, groups, numbers, columns, new, last, told, is_json })
    }

    /// Begins the rows of a query, which are a track of this name.
    ///
    /// # Errors
    ///
    /// If the query lacks the column `ts`.
    pub fn begin(&mut self, name: &str, columns: &[&str]) -> Result<(), FoundError> {
        self.columns = columns.iter().map(|name| Column::of(name)).collect();
        if !self.columns.contains(&Column::Ts) {
            let columns = columns.join(", ");
            let why = format!("it has no column ts, the time of a row; it has {columns}");
            return Err(FoundError::Value(why));
        }
        self.told.push(FoundTrack { name: name.to_owned(), ..FoundTrack::default() });
        Ok(())
    }

    /// Adds a row of the query that was begun last.
    ///
    /// # Errors
    ///
    /// If a value has a wrong type, or no thread, process or slice has its number.
    pub fn row(&mut self, row: &[ValueRef<'_>]) -> Result<(), FoundError> {
        let columns = std::mem::take(&mut self.columns);
        let added = values(&columns, row).and_then(|values| self.add(&columns, &values));
        self.columns = columns;
        added
    }

    fn add(&mut self, columns: &[Column], values: &Values<'_>) -> Result<(), FoundError> {
        let of = self.told.len().saturating_sub(1);
        let Some(told) = self.told.get_mut(of) else {
            return Ok(());
        };
        let is_counter = columns.contains(&Column::Value);
        let Some(mut ts) = values.ts.filter(|_| !is_counter || values.value.is_some()) else {
            told.left_out += 1;
            return Ok(());
        };
        let owner = match (values.utid, values.upid) {
            (Some(utid), _) => Owner::Thread(utid),
            (None, Some(upid)) => Owner::Process(upid),
            (None, None) => Owner::All,
        };
        let Some(stand) = self.stands.stand(owner)? else {
            let (what, id) = match owner {
                Owner::Process(upid) => ("process has the upid", upid),
                Owner::Thread(utid) => ("thread has the utid", utid),
                Owner::All => return Ok(()),
            };
            return Err(FoundError::Value(format!("no {what} {id}")));
        };
        let has_dur = columns.contains(&Column::Dur) && !is_counter;
        let end = match values.dur {
            _ if !has_dur => ts,
            Some(dur) if dur >= 0 => ts.saturating_add(dur),
            _ => i64::MAX,
        };
        if ts < stand.first {
            ts = stand.first;
            told.moved += 1;
        }
        if ts < 0 {
            told.left_out += 1;
            return Ok(());
        }
        told.rows += 1;
        let has_flows = columns.contains(&Column::FlowTo) && !is_counter;
        let track = values.track.map(str::to_owned);
        let part = *self.numbers.entry((of, owner, track.clone())).or_insert_with(|| {
            self.groups.push(Group { of, owner, track, is_counter, has_flows });
            self.groups.len() - 1
        });
        let args = arguments(&values.args);
        self.last += 1;
        self.new.push(New {
            id: self.last,
            part: part as i64,
            span: (ts, end.max(ts)),
            label: (values.name.map(str::to_owned), values.category.map(str::to_owned)),
            value: values.value.map(Value::try_from).transpose().unwrap_or_default(),
            args,
        });
        if self.new.len() >= AT_ONCE {
            self.put_aside()?;
        }
        match values.flow_to.filter(|_| has_flows) {
            Some(slice) => self.flow(of, (self.last, ts), slice),
            None => Ok(()),
        }
    }

    /// Stores the rows that are in memory.
    fn put_aside(&mut self) -> rusqlite::Result<()> {
        let mut statement =
            self.rows.prepare("INSERT INTO found VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")?;
        for New { id, part, span: (ts, end), label: (name, category), value, args } in
            self.new.drain(..)
        {
            statement.execute(params![id, part, ts, end, name, category, value, args])?;
        }
        Ok(())
    }

    /// Notes the arrow between a row and a slice, if one can lead there.
    fn flow(&mut self, of: usize, (row, ts): (i64, i64), slice: i64) -> Result<(), FoundError> {
        // One ns behind its begin, the slice is the topmost one, if nothing else begins or ends on its track until then.
        let sql = "SELECT s.ts + 1, s.track_id,
                          (s.dur < 0 OR s.dur = 0 OR s.dur > 1)
                          AND NOT EXISTS (SELECT * FROM slice_record AS o WHERE o.track_id = s.track_id AND o.id <> s.id
                                          AND (o.ts = s.ts AND o.id > s.id OR o.ts = s.ts + 1))
                          AND NOT EXISTS (SELECT * FROM slice_record AS p WHERE p.id = s.parent_id AND p.dur >= 0
                                          AND p.ts + p.dur <= s.ts + 1)
                   FROM slice_record AS s WHERE s.id = ?1";
        let mut statement = self.conn.prepare(sql)?;
        let found = statement.query_row([slice], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, bool>(2)?))
        });
        let Some((at, track, is_topmost)) = found.optional()? else {
            return Err(FoundError::Value(format!(
                "no slice has the id {slice}, which flow_to names"
            )));
        };
        let stand = self.stands.track(track)?;
        let Some((uuid, owner)) = stand.filter(|_| is_topmost) else {
            if let Some(told) = self.told.get_mut(of) {
                told.not_reached += 1;
            }
            return Ok(());
        };
        // Its descriptor, if it has none, comes with the other tracks.
        if self.stands.stand(owner)?.is_some_and(|stand| stand.machine != 0)
            && let Some(told) = self.told.get_mut(of)
        {
            told.not_reached += 1;
            return Ok(());
        }
        let sql = "INSERT INTO arrow (found, at, uuid, is_first) VALUES (?1, ?2, ?3, ?4)";
        let is_first = at < ts;
        self.rows.prepare(sql)?.execute(params![row, at, uuid.cast_signed(), is_first])?;
        Ok(())
    }

    /// Makes packets of all rows, in a temporary file in a directory.
    ///
    /// # Errors
    ///
    /// If the rows cannot be read, or the file cannot be written.
    pub fn finish(mut self, directory: &Path) -> Result<Found, FoundError> {
        self.put_aside()?;
        let clock = "SELECT value FROM fact WHERE name = 'trace_time_clock_id'";
        let clock: Option<i64> = self.conn.query_row(clock, [], |row| row.get(0)).optional()?;
        let boottime = i64::from(ClockId::BOOTTIME.get());
        let clock = clock.filter(|clock| *clock != boottime && !self.is_json);
        let clock = u32::try_from(clock.unwrap_or(0)).unwrap_or(0);
        let conn = self.conn;
        let (mut found, told) =
            Found::of(conn, &Scratch::from(directory), |out| self.write(clock, out))?;
        found.told = told;
        Ok(found)
    }
}

/// The values of a row by the meaning of their columns.
fn values<'r>(columns: &'r [Column], row: &[ValueRef<'r>]) -> Result<Values<'r>, FoundError> {
    let mut values = Values::default();
    for (column, value) in columns.iter().zip(row) {
        match column {
            Column::Ts => values.ts = integer("ts", *value)?,
            Column::Dur => {
                values.dur = integer("dur", *value)?;
                if values.dur.is_some_and(|dur| dur < -1) {
                    return Err(wrong("dur", *value, "0 or more, or -1 for no end"));
                }
            }
            Column::Name => values.name = text("name", *value)?,
            Column::Category => values.category = text("category", *value)?,
            Column::Utid => values.utid = integer("utid", *value)?,
            Column::Upid => values.upid = integer("upid", *value)?,
            Column::Track => values.track = text("track", *value)?,
            Column::FlowTo => values.flow_to = integer("flow_to", *value)?,
            Column::Value => {
                values.value = match value {
                    ValueRef::Null => None,
                    ValueRef::Integer(_) | ValueRef::Real(_) => Some(*value),
                    _ => return Err(wrong("value", *value, "a number")),
                };
            }
            Column::Argument(name) => match value {
                ValueRef::Null => {}
                ValueRef::Blob(_) => return Err(wrong(name, *value, "a number or a text")),
                value => values.args.push((name, *value)),
            },
        }
    }
    Ok(values)
}

fn wrong(column: &str, value: ValueRef<'_>, needed: &str) -> FoundError {
    let is = match value {
        ValueRef::Null => "NULL".to_owned(),
        ValueRef::Integer(value) => format!("the integer {value}"),
        ValueRef::Real(value) => format!("the real number {value:?}"),
        ValueRef::Text(text) => {
            let text: String = String::from_utf8_lossy(text).chars().take(40).collect();
            format!("the text {text:?}")
        }
        ValueRef::Blob(bytes) => format!("{} bytes", bytes.len()),
    };
    FoundError::Value(format!("{column} is {is}, and has to be {needed}"))
}

fn integer(column: &str, value: ValueRef<'_>) -> Result<Option<i64>, FoundError> {
    match value {
        ValueRef::Null => Ok(None),
        ValueRef::Integer(value) => Ok(Some(value)),
        value => Err(wrong(column, value, "an integer")),
    }
}

fn text<'r>(column: &str, value: ValueRef<'r>) -> Result<Option<&'r str>, FoundError> {
    match value {
        ValueRef::Null => Ok(None),
        ValueRef::Text(text) => match std::str::from_utf8(text) {
            Ok(text) => Ok(Some(text)),
            Err(_) => Err(wrong(column, value, "a text in UTF-8")),
        },
        value => Err(wrong(column, value, "a text")),
    }
}

/// The arguments as the object that `arg_set` would have; `None` of none.
fn arguments(args: &[(&str, ValueRef<'_>)]) -> Option<String> {
    let mut json = String::new();
    for (name, value) in args {
        json.push(if json.is_empty() { '{' } else { ',' });
        let quoted = |text: &str| serde_json::to_string(text).unwrap_or_default();
        json.push_str(&quoted(&format!("debug.{name}")));
        json.push(':');
        match value {
            ValueRef::Integer(value) => json.push_str(&value.to_string()),
            ValueRef::Real(f64::INFINITY) => json.push_str("9e999"),
            ValueRef::Real(f64::NEG_INFINITY) => json.push_str("-9e999"),
            ValueRef::Real(value) => json.push_str(&format!("{value:?}")),
            ValueRef::Text(text) => json.push_str(&quoted(&String::from_utf8_lossy(text))),
            ValueRef::Null | ValueRef::Blob(_) => json.push_str("null"),
        }
    }
    (!json.is_empty()).then(|| json + "}")
}

/// The packets of all tracks, in the order of time.
#[derive(Clone)]
pub struct Found {
    file: Arc<Mutex<ScratchFile>>,
    told: Vec<FoundTrack>,
    /// Whether the packets come after the first snapshot of clocks, because the trace has one.
    waits: bool,
}

impl Found {
    /// The packets that `write` gives, in the order of time, for the trace of a database.
    ///
    /// # Errors
    ///
    /// The errors of `write`, and if the temporary file cannot be written.
    pub(crate) fn of<T, E: From<io::Error> + From<rusqlite::Error>>(
        conn: &Connection,
        scratch: &Scratch,
        write: impl FnOnce(&mut Sink<'_>) -> Result<T, E>,
    ) -> Result<(Found, T), E> {
        let waits = "SELECT EXISTS (SELECT * FROM clock_snapshot WHERE packet_id IS NOT NULL)";
        let waits = conn.query_row(waits, [], |row| row.get(0))?;
        let mut file = scratch.file()?;
        let mut written = io::BufWriter::new(&mut file);
        let result = write(&mut |ts: Option<i64>, packet: &[u8]| {
            // A packet without a time comes first.
            written.write_all(&ts.unwrap_or(i64::MIN).to_le_bytes())?;
            written.write_all(&(packet.len() as u64).to_le_bytes())?;
            written.write_all(packet)
        })?;
        written.flush()?;
        drop(written);
        Ok((Found { file: Arc::new(Mutex::new(file)), told: Vec::new(), waits }, result))
    }

    /// The fate of the rows of each query.
    pub fn told(&self) -> &[FoundTrack] {
        &self.told
    }

    /// The packets from the first one on.
    pub(crate) fn packets(&self) -> Packets {
        Packets {
            file: Arc::clone(&self.file),
            at: 0,
            next: None,
            waits: self.waits,
            is_over: false,
        }
    }
}

/// The packets that are not written yet.
pub(crate) struct Packets {
    file: Arc<Mutex<ScratchFile>>,
    /// The place of the packet after the next one.
    at: u64,
    next: Option<(i64, Vec<u8>)>,
    waits: bool,
    is_over: bool,
}

impl Packets {
    /// The first snapshot of clocks was written.
    pub fn begin(&mut self) {
        self.waits = false;
    }

    /// The next packet up to a time; of any time if none is given.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub fn until(&mut self, ts: Option<i64>) -> io::Result<Option<Vec<u8>>> {
        if self.is_over || self.waits && ts.is_some() {
            return Ok(None);
        }
        if self.next.is_none() {
            self.read()?;
        }
        match self.next.take_if(|(at, _)| ts.is_none_or(|ts| *at <= ts)) {
            Some((_, packet)) => Ok(Some(packet)),
            None => Ok(None),
        }
    }

    fn read(&mut self) -> io::Result<()> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let end = file.seek(SeekFrom::End(0))?;
        if self.at >= end {
            self.is_over = true;
            return Ok(());
        }
        file.seek(SeekFrom::Start(self.at))?;
        let (mut ts, mut size) = ([0; 8], [0; 8]);
        file.read_exact(&mut ts)?;
        file.read_exact(&mut size)?;
        let size = u64::from_le_bytes(size);
        let mut packet = Vec::new();
        (&mut *file).take(size).read_to_end(&mut packet)?;
        self.at = self.at.saturating_add(16).saturating_add(size);
        self.next = Some((i64::from_le_bytes(ts), packet));
        Ok(())
    }
}
