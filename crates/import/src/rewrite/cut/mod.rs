//! Cuts a window out of a trace (rules CT).
//!
//! | question | where it is decided |
//! |---|---|
//! | the order of the steps | `mod.rs` |
//! | which packets and events from before the window stay | `plan.rs` |
//! | what becomes of a packet | `pass.rs`, by what its reader says (`readers/windowing.rs`) |
//! | the events of a bundle, and of a track | `kernel.rs`, `track_event.rs` |
//! | the state of a sequence that packets left out would have made | `sequences.rs`, `spool.rs` |
//! | the names and callstacks that packets need of it | `names.rs` |
//! | the packets that a cut adds | `added.rs` |
//!
//! # Design
//!
//! The trace is rewritten first, into a temporary file, and this file is imported into a temporary database. Then all
//! times are on one clock, all packets are readable, and their numbers are those of the database. A pass over the file
//! copies what the window keeps. The alternative was to cut while the trace is rewritten. That saves a copy of the trace
//! on the disk, a tenth of the time; but packets wait for snapshots there, damage shifts their numbers, and each pass
//! would have to know of windows.

mod added;
mod kernel;
mod names;
mod pass;
mod plan;
mod sequences;
mod spool;
mod track_event;
mod window;

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::path::Path;

use rusqlite::{Connection, OpenFlags};
use timebase_store::sort::Scratch;
use timebase_trace::{Found, Monitor, Packets, Payload, Reads, Source};

use self::added::Origin;
use self::pass::{Counted, Pass, Placed};
use self::plan::Plan;
use self::spool::Spool;
use crate::error::Error;
use crate::files::{Files, Opening};
use crate::formats::FORMATS;
use crate::rewrite::archive::{Members, Statement};
use crate::rewrite::output::{Output, Packing};
use crate::rewrite::packed::Written;

pub use window::{Choice, Cut, Window};

/// A rewritten trace, its database, and the window to cut out.
pub(super) struct Job<'a> {
    pub whole: &'a Path,
    pub database: &'a Path,
    pub window: Window,
    /// The name and the hash of the trace, for the new one.
    pub source: String,
    pub sha256: String,
    pub scratch: &'a Scratch,
    pub monitor: &'a Monitor,
}

/// The reason why a trace cannot be cut.
pub(super) enum Failed {
    Read(Error),
    Write(io::Error),
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Self {
        Failed::Write(error)
    }
}

impl From<rusqlite::Error> for Failed {
    fn from(error: rusqlite::Error) -> Self {
        Failed::Write(io::Error::other(error))
    }
}

impl From<timebase_trace::SourceError> for Failed {
    fn from(error: timebase_trace::SourceError) -> Self {
        Failed::Read(error.into())
    }
}

impl Job<'_> {
    /// Writes the window of the trace.
    pub fn run(&self, file: Written, packing: Packing) -> Result<(Output, Cut, u64), Failed> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let conn = Connection::open_with_flags(self.database, flags)?;
        conn.pragma_update(None, "cache_size", -4096)?;
        let plan = Plan::of(&conn, self.window)?;
        let origin = Origin {
            name: self.source.clone(),
            sha256: self.sha256.clone(),
            command: format!(
                "timebase rewrite --from {} --to {}",
                self.window.from, self.window.to
            ),
            window: self.window,
        };
        let opening =
            Opening { manifest: None, formats: FORMATS, reads: Reads::Again, split: false };
        let sources = [Source::File(self.whole.to_owned())];
        let mut files =
            Files::open(&sources, opening, self.scratch, self.monitor).map_err(Failed::Read)?;
        let mut counted = Counted::default();
        let is_alone = files.is_alone;
        let quota = self.scratch.quota().clone();
        let reading = Reading { job: self, conn: &conn, plan: &plan, origin: &origin };
        let output = if is_alone {
            let mut output = Output::new(file, packing, &quota)?;
            for file in files.traces() {
                reading.file(&mut files, file.id, &mut output, &mut counted)?;
            }
            output
        } else {
            let mut members = Members::new(self.scratch);
            for file in files.traces() {
                let name = files.name(&file);
                let compression = files.inputs.open_ahead(file.id)?.compression();
                let packing = Packing::of_source(compression);
                let mut output = members.begin(packing)?;
                reading.file(&mut files, file.id, &mut output, &mut counted)?;
                members.end(file.id, name, packing, output)?;
            }
            let mut manifest = Statement { name: String::new(), id: None, text: String::new() };
            if let Some(file) = files.manifest_file().cloned() {
                manifest.name = files.name(&file);
                manifest.id = Some(file.id);
                let mut input = files.inputs.open_ahead(file.id)?;
                input.reader.read_to_string(&mut manifest.text)?;
            }
            Output::of(members.zip_with(&manifest, file, &quota)?)?
        };
        let bounds =
            conn.query_row(BOUNDS, [], |row| Ok(Window { from: row.get(0)?, to: row.get(1)? }))?;
        let Counted { carried, added, written, .. } = counted;
        Ok((output, Cut { window: self.window, of: bounds, carried, added }, written))
    }
}

/// The times of a trace.
pub(super) const BOUNDS: &str =
    "SELECT coalesce(min(ts), 0), coalesce(max(ts), 0) FROM packet_record";

/// The files of a trace as they are read.
struct Reading<'a> {
    job: &'a Job<'a>,
    conn: &'a Connection,
    plan: &'a Plan,
    origin: &'a Origin,
}

impl Reading<'_> {
    fn file(
        &self,
        files: &mut Files<'_>,
        id: usize,
        output: &mut Output,
        counted: &mut Counted,
    ) -> Result<(), Failed> {
        let spool = Spool::new(self.job.scratch.file()?);
        let mut pass =
            Pass::new(self.plan, self.origin, spool, output).with_boot_time(self.has_boot_time()?);
        let sql = "SELECT id, machine_id, first_id FROM packet_common WHERE trace_file_id = ?1";
        let mut machines = BTreeMap::new();
        let mut first = i64::MAX;
        let mut statement = self.conn.prepare(sql)?;
        let mut rows = statement.query([id as i64])?;
        while let Some(row) = rows.next()? {
            machines.insert(row.get::<_, i64>(0)?, row.get::<_, i64>(1)?);
            first = first.min(row.get(2)?);
        }
        let sql = "SELECT id, ts, common_id FROM packet_record WHERE id >= ?1 ORDER BY id";
        let mut statement = self.conn.prepare(sql)?;
        let mut rows = statement.query([first])?;
        let mut differences = self.conn.prepare(DIFFERENCES)?;
        let mut offsets = OfPackets::new(differences.query([])?);
        let mut of_lines = self.conn.prepare(LINES)?;
        let window = (self.job.window.from, self.job.window.to);
        let mut lines = OfPackets::new(of_lines.query(window)?);
        if self.has_counters()? {
            let mut input = files.inputs.open_ahead(id)?;
            Packets::new(&mut input.reader).for_each(|found| {
                if let Found::Packet(packet) = found {
                    pass.descriptor(packet.header);
                }
                ControlFlow::Continue(Payload::Sound)
            });
        }
        let mut input = files.inputs.open_ahead(id)?;
        let mut failed = None;
        Packets::new(&mut input.reader).for_each(|found| {
            let Found::Packet(packet) = found else {
                return ControlFlow::Continue(Payload::Sound);
            };
            let mut next = || -> Result<(), Failed> {
                let Some(row) = rows.next()? else {
                    return Err(Failed::Write(io::Error::other("the temporary file has changed")));
                };
                let (id, common): (i64, i64) = (row.get(0)?, row.get(2)?);
                let machine = machines.get(&common).copied().unwrap_or(0);
                let offset = offsets.of_packet(id)?.unwrap_or(0);
                let has_lines = lines.of_packet(id)?.is_some();
                let placed = Placed { id, ts: row.get(1)?, machine, offset, has_lines };
                Ok(pass.packet(packet, placed)?)
            };
            match next() {
                Ok(()) => ControlFlow::Continue(Payload::Sound),
                Err(error) => {
                    failed = Some(error);
                    ControlFlow::Break(())
                }
            }
        });
        if let Some(failed) = failed {
            return Err(failed);
        }
        if let Some(failed) = input.failed() {
            return Err(failed.into());
        }
        let of_file = pass.end()?;
        counted.packets += of_file.packets;
        counted.written += of_file.written;
        counted.carried += of_file.carried;
        counted.added += of_file.added;
        Ok(())
    }

    /// Whether descriptors can say that values of counters are increments.
    fn has_counters(&self) -> rusqlite::Result<bool> {
        let sql =
            "SELECT EXISTS (SELECT 1 FROM track_record WHERE type GLOB '*counter_track_event')";
        self.conn.query_row(sql, [], |row| row.get(0))
    }

    /// Whether trace time is BOOTTIME.
    fn has_boot_time(&self) -> rusqlite::Result<bool> {
        let sql = "SELECT NOT EXISTS (SELECT 1 FROM fact WHERE name = 'trace_time_clock_id' AND value <> 6)";
        self.conn.query_row(sql, [], |row| row.get(0))
    }
}

/// Values of packets, in the order of packets.
struct OfPackets<'a> {
    rows: rusqlite::Rows<'a>,
    next: Option<(i64, i64)>,
    has_more: bool,
}

/// The differences of trace time to the readings of kernel events.
const DIFFERENCES: &str = "SELECT packet_id, ts - timestamp FROM ftrace_record
    WHERE timestamp IS NOT NULL AND ts IS NOT NULL ORDER BY id";

/// The packets with lines of logs in the window.
const LINES: &str = "SELECT DISTINCT packet_id, 0 FROM android_log_record
    WHERE ts >= ?1 AND ts < ?2 ORDER BY packet_id";

impl<'a> OfPackets<'a> {
    fn new(rows: rusqlite::Rows<'a>) -> OfPackets<'a> {
        OfPackets { rows, next: None, has_more: true }
    }

    /// The first value of a packet. The caller asks for ever later ones.
    fn of_packet(&mut self, id: i64) -> rusqlite::Result<Option<i64>> {
        while self.has_more && self.next.is_none_or(|(packet, _)| packet < id) {
            self.next = match self.rows.next()? {
                Some(row) => Some((row.get(0)?, row.get(1)?)),
                None => {
                    self.has_more = false;
                    None
                }
            };
        }
        Ok(self.next.filter(|(packet, _)| *packet == id).map(|(_, value)| value))
    }
}
