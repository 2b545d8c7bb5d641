//! JSON traces as Perfetto traces (rules CV): all traces are imported into a database for this purpose, and those in JSON
//! are written from their rows.
//!
//! # Design
//!
//! The database is in a directory of its own beside the output, and goes away with it. It takes the disk and not
//! memory, and its rows are those that an import of the source would show. The alternative was a database in
//! memory: a trace of a gigabyte needs as much.
//!
//! Among several traces, those of Perfetto are rewritten packet by packet, as without JSON traces. The passes over them know
//! what JSON traces state of their clocks from the database, and do not read them again. In one trace of both, packets
//! from rows stand among those of the Perfetto trace as those of found rows do ([`Found`]). The alternative was to write the
//! Perfetto trace from rows, too; but rows do not have all that packets say.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::atomic::Ordering;

use rusqlite::{Connection, OpenFlags, OptionalExtension};
use timebase_resolver::ClockId;
use timebase_store::files::{NewFile, WorkDir};

use super::archive::Members;
use super::output::{Output, Packing};
use super::several::Several;
use super::{Job, RewriteError, RewriteTo, Rewritten, Unlike};
use crate::emit::{self, Difference, EmitError, Form, Found, JsonRows};
use crate::error::Error;
use crate::files::{File, Files, StatedClocks};
use crate::import::{Into, Stopwatch};
use crate::manifest::Align;
use crate::options::{Options, Views};
use crate::subjects::Subject;
use crate::summary::Summary;
use crate::watched::watched;

/// Whether a name is that of a trace in Chrome's JSON format, compressed or not.
pub(super) fn is_json_name(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(&name);
    name.ends_with(".json")
}

/// The database of all traces together.
pub(super) struct Converted {
    conn: Connection,
    summary: Summary,
    /// The number of JSON traces.
    json: u64,
    is_one_file: bool,
    /// Keeps the database.
    _directory: WorkDir,
}

impl Converted {
    /// The summary of a trace that has packets of rows, too.
    pub fn told(&self, written: &emit::Written, rewritten: Rewritten) -> Rewritten {
        let without = if self.is_one_file { ", without --one-file" } else { "" };
        let summary = &self.summary;
        let sha256 = "SELECT sha256 FROM trace_file WHERE sha256 IS NOT NULL AND NOT is_container
                      ORDER BY processing_order";
        let sha256 = self.conn.prepare(sha256).and_then(|mut statement| {
            statement.query_map([], |row| row.get(0))?.collect::<Result<Vec<String>, _>>()
        });
        let mut warnings = summary.warnings.clone();
        let negative = written.unlike.of(Difference::Negative);
        if negative > 0 && summary.files > 1 {
            warnings.push(format!(
                "{negative} events of JSON traces are before time 0 of the trace, and are left out; if their clock is wrong, a manifest{without} says how it relates to the others"
            ));
        }
        let unlike = written.unlike.iter().map(|(of, count)| Unlike { what: of.what(), count });
        Rewritten {
            packets: summary.packets,
            converted: self.json,
            written: rewritten.written.saturating_add(written.packets),
            unlike: unlike.collect(),
            trace_time_clock: summary.trace_time_clock.clone(),
            source_bytes: summary.source_bytes,
            sha256: sha256.unwrap_or_default(),
            warnings,
            unrelated: summary.unrelated.clone(),
            ..rewritten
        }
    }
}

/// The clock of trace time, if it is not BOOTTIME, and whether JSON traces are of other machines than the host.
const OTHER_CLOCK: &str = "
    SELECT value, EXISTS (SELECT * FROM part JOIN trace_file AS f ON f.id = trace_file_id
                          JOIN machine AS m ON m.id = machine_id
                          WHERE f.trace_type = 'json' AND m.raw_id IS NOT 0)
    FROM fact WHERE name = 'trace_time_clock_id' AND value <> 6";

impl Job<'_> {
    /// Writes JSON traces as one Perfetto trace.
    pub(super) fn convert(
        &self,
        mut files: Files<'_>,
        new: Option<NewFile>,
        to: RewriteTo<'_>,
    ) -> Result<Rewritten, RewriteError> {
        self.refuse_zip()?;
        let converted = self.import_rows(&mut files)?;
        let (file, packing) = self.destination(new.as_ref(), &to)?;
        let output = file.map(|file| Output::new(file, packing, &self.limits.disk));
        let mut output = output.transpose().map_err(|error| self.failed(error))?;
        let written = self.write_rows(&converted.conn, &mut output)?;
        let written_bytes = self.put(output, new, to)?;
        let rewritten = Rewritten {
            tracks: self.found.map(|found| found.told().to_vec()).unwrap_or_default(),
            files: 1,
            written_bytes,
            ..Rewritten::default()
        };
        Ok(converted.told(&written, rewritten))
    }

    /// Writes several traces, of which some are in JSON, as several Perfetto traces.
    pub(super) fn convert_several(
        &self,
        mut files: Files<'_>,
        new: Option<NewFile>,
        to: RewriteTo<'_>,
    ) -> Result<Rewritten, RewriteError> {
        let converted = self.import_rows(&mut files)?;
        let (file, packing) = self.destination(new.as_ref(), &to)?;
        if !files.traces().iter().all(File::has_own_clock) {
            let found = self.find_several(&mut files)?;
            let (passed, written) =
                self.write(&mut files, found, (file, packing), Some(&converted))?;
            let rewritten = self.end(&files, new, to, passed)?;
            let rewritten = Rewritten { files: files.traces().len() as u64, ..rewritten };
            return Ok(converted.told(&written, rewritten));
        }
        let mut surveyed = self.survey(&mut files, None)?;
        let several = Several::of(&files, &mut surveyed).map_err(Error::Manifest)?;
        let mut members = Members::new(&self.scratch);
        let written = self.write_members(&converted, &files, &several, &mut members)?;
        let zipped = file.map(|file| self.zip(members, several, file, packing)).transpose();
        let zipped = zipped.map_err(|error| self.failed(error))?;
        let rewritten = Rewritten {
            files: files.traces().len() as u64,
            written_bytes: self.put(zipped, new, to)?,
            ..Rewritten::default()
        };
        Ok(converted.told(&written, rewritten))
    }

    /// Writes JSON traces and one Perfetto trace as one trace: their packets stand among its own, as those of found rows do.
    pub(super) fn convert_into(
        &self,
        mut files: Files<'_>,
        new: Option<NewFile>,
        to: RewriteTo<'_>,
    ) -> Result<Rewritten, RewriteError> {
        self.refuse_zip()?;
        let converted = self.import_rows(&mut files)?;
        let (conn, cancel) = (&converted.conn, &self.monitor.cancel);
        let clock = conn.query_row(OTHER_CLOCK, [], |row| Ok((row.get(0)?, row.get(1)?)));
        let clock: Option<(u32, bool)> =
            clock.optional().map_err(|error| self.unreadable(&error))?;
        if let Some((_, true)) = clock {
            let clock = converted.summary.trace_time_clock.clone();
            return Err(RewriteError::OneFileOfMachines { clock });
        }
        let clock = clock.map_or(0, |(clock, _)| clock);
        let found = watched(conn, cancel, || {
            let rows = JsonRows::of(conn)?;
            let form = Form::beside(conn, clock)?;
            Found::of(conn, &self.scratch, |out| {
                let mut written = rows.write(&form, out)?;
                written.unlike += rows.unlike();
                Ok(written)
            })
        });
        if cancel.load(Ordering::Relaxed) {
            return Err(Error::Cancelled.into());
        }
        let (found, written) = found.map_err(|error| self.not_written(error))?;
        let job = Job {
            path: self.path.clone(),
            found: Some(&found),
            scratch: self.scratch.clone(),
            limits: self.limits.clone(),
            ..*self
        };
        let rewritten = job.rewrite_one(&mut files, new, to)?;
        Ok(converted.told(&written, rewritten))
    }

    /// Imports all traces, so that those in JSON can be written from their rows. Later passes over the files know what
    /// they state about their clocks.
    pub(super) fn import_rows(&self, files: &mut Files<'_>) -> Result<Converted, RewriteError> {
        let directory = WorkDir::new_in(self.scratch.directory());
        let directory = directory.map_err(|error| self.failed(error))?;
        let path = directory.path().join("rows.db");
        files.align = self.options.align.unwrap_or(Align::Off);
        files.can_be_read_again = true;
        let is_beside = !files.traces().iter().all(File::has_own_clock);
        let options = Options {
            // The packets of Perfetto traces have their uuids.
            keep_data: is_beside,
            overwrite: true,
            subjects: Subject::ALL.to_vec(),
            views: Views::Named(vec!["thread_state".to_owned(), "packet".to_owned()]),
            ..self.options.clone()
        };
        let into = Into {
            sources: self.sources,
            destination: &path,
            options: &options,
            limits: &self.limits,
            monitor: self.monitor,
        };
        let imported = into.import(files, &mut Stopwatch::default());
        let summary = imported.map_err(|error| match error {
            // The advice of an import is none for this command.
            Error::TooLarge { limit, read, .. } => {
                RewriteError::TooLarge { path: self.path.clone(), limit, read }
            }
            Error::DiskFull { .. } => RewriteError::DiskFull { path: self.path.clone() },
            error => error.into(),
        })?;
        files.align = Align::Off;
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let conn = Connection::open_with_flags(&path, flags);
        let conn = conn.map_err(|error| self.unreadable(&error))?;
        files.stated = Some(stated(&conn).map_err(|error| self.unreadable(&error))?);
        let json = files.traces().iter().filter(|file| file.has_own_clock()).count() as u64;
        let is_one_file = self.options.one_file;
        Ok(Converted { conn, summary, json, is_one_file, _directory: directory })
    }

    /// Writes each JSON trace of several files.
    pub(super) fn write_members(
        &self,
        converted: &Converted,
        files: &Files<'_>,
        several: &Several,
        members: &mut Members,
    ) -> Result<emit::Written, RewriteError> {
        let conn = &converted.conn;
        let cancel = &self.monitor.cancel;
        let rows = watched(conn, cancel, || JsonRows::of(conn));
        let rows = rows.map_err(|error| self.unreadable(&error))?;
        let mut all = emit::Written { packets: 0, unlike: rows.unlike() };
        let traces = files.traces();
        // Beside a Perfetto trace, a producer's statement would relate the shared clocks of a machine a second time.
        let mut has_snapshot = traces.iter().all(File::has_own_clock);
        for file in traces.iter().filter(|file| file.has_own_clock()) {
            let compression = files.inputs.files().get(file.id).and_then(|file| file.compression);
            let packing = Packing::of_source(compression);
            let mut output = members.begin(packing).map_err(|error| self.failed(error))?;
            let id = Some(i64::from(file.tag.id));
            let form = Form { clock: several.clock, has_snapshot, ..Form::alone(id) };
            has_snapshot = false;
            let mut put = |_: Option<i64>, packet: &[u8]| match cancel.load(Ordering::Relaxed) {
                true => Err(io::ErrorKind::Interrupted.into()),
                false => output.packet(packet),
            };
            let written = watched(conn, cancel, || rows.write(&form, &mut put));
            if cancel.load(Ordering::Relaxed) {
                return Err(Error::Cancelled.into());
            }
            all += written.map_err(|error| self.not_written(error))?;
            let ended = members.end(file.id, several.name_of(file), packing, output);
            ended.map_err(|error| self.failed(error))?;
        }
        Ok(all)
    }

    /// Writes the packets of all rows, until the user cancels it.
    fn write_rows(
        &self,
        conn: &Connection,
        output: &mut Option<Output>,
    ) -> Result<emit::Written, RewriteError> {
        let cancel = &self.monitor.cancel;
        let mut inserted = self.found.map(Found::packets);
        let mut put_all = |until: Option<i64>, packet: Option<&[u8]>| {
            if cancel.load(Ordering::Relaxed) {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let mut put = |packet: &[u8]| match output {
                Some(output) => output.packet(packet),
                None => Ok(()),
            };
            if let Some(packet) = packet {
                put(packet)?;
            }
            if let Some(inserted) =
                inserted.as_mut().filter(|_| until.is_some() || packet.is_none())
            {
                inserted.begin();
                while let Some(packet) = inserted.until(until)? {
                    put(&packet)?;
                }
            }
            Ok(())
        };
        let written = watched(conn, cancel, || {
            let mut put = |ts: Option<i64>, packet: &[u8]| put_all(ts, Some(packet));
            let rows = JsonRows::of(conn)?;
            let mut written = rows.write(&Form::of_all(conn)?, &mut put)?;
            written.unlike += rows.unlike();
            Ok(written)
        });
        let written = written.and_then(|written| Ok(put_all(None, None).map(|()| written)?));
        if cancel.load(Ordering::Relaxed) {
            return Err(Error::Cancelled.into());
        }
        written.map_err(|error| self.not_written(error))
    }

    fn not_written(&self, error: EmitError) -> RewriteError {
        match error {
            EmitError::Write(error) => self.failed(error),
            EmitError::Rows(error) => self.unreadable(&error),
        }
    }

    fn unreadable(&self, error: &rusqlite::Error) -> RewriteError {
        RewriteError::Rows { source_name: self.name(), error: error.to_string() }
    }
}

/// The statements of JSON traces about their clocks, by their files.
fn stated(conn: &Connection) -> rusqlite::Result<BTreeMap<usize, StatedClocks>> {
    let mut stated: BTreeMap<usize, StatedClocks> = BTreeMap::new();
    let mut statement = conn.prepare(
        "SELECT c.trace_file_id, s.clock_id, s.clock_value, s.trace_file_id IS NOT NULL
         FROM clock_snapshot AS s JOIN packet_record AS p ON p.id = s.packet_id
         JOIN packet_common AS c ON c.id = p.common_id WHERE s.source = 'json' ORDER BY s.id",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        // It came from an id of this import.
        let file: i64 = row.get(0)?;
        let of = stated.entry(file as usize).or_default();
        match row.get(3)? {
            true => of.has_own = true,
            false => of.clocks.push((ClockId(row.get(1)?), row.get(2)?)),
        }
    }
    Ok(stated)
}
