//! A JSON trace as a Perfetto trace (rules CV): it is imported into a database for this purpose, and written from
//! its rows.
//!
//! # Design
//!
//! The database is in a directory of its own beside the output, and goes away with it. It takes the disk and not
//! memory, and its rows are those that an import of the source would show. The alternative was a database in
//! memory: a trace of a gigabyte needs as much.

use std::io;
use std::path::Path;
use std::sync::atomic::Ordering;

use rusqlite::{Connection, OpenFlags};
use timebase_store::files::{NewFile, WorkDir};

use super::output::{Output, Packing};
use super::packed::Written;
use super::{Job, RewriteError, RewriteTo, Rewritten, Unlike};
use crate::emit::{self, EmitError, Found};
use crate::error::Error;
use crate::files::Files;
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

impl Job<'_> {
    /// Writes JSON traces as a Perfetto trace.
    pub(super) fn convert(
        &self,
        mut files: Files<'_>,
        new: Option<NewFile>,
        to: RewriteTo<'_>,
    ) -> Result<Rewritten, RewriteError> {
        if files.traces().len() > 1 && !self.options.one_file {
            return Err(RewriteError::SeveralJson { files: files.traces().len() });
        }
        self.refuse_zip()?;
        let directory = WorkDir::new_in(self.scratch.directory());
        let directory = directory.map_err(|error| self.failed(error))?;
        let path = directory.path().join("rows.db");
        let summary = self.import_rows(&mut files, &path)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let conn = Connection::open_with_flags(&path, flags);
        let conn = conn.map_err(|error| self.unreadable(&error))?;
        let (file, packing) = self.destination(new.as_ref(), &to)?;
        let mut output = self.output(file, packing)?;
        let written = self.write_rows(&conn, &mut output)?;
        let written_bytes = self.put(output, new, to)?;
        Ok(Rewritten {
            packets: summary.packets,
            written: written.packets,
            unlike: told(&written.unlike),
            is_converted: true,
            tracks: self.found.map(|found| found.told().to_vec()).unwrap_or_default(),
            trace_time_clock: summary.trace_time_clock,
            files: 1,
            source_bytes: summary.source_bytes,
            written_bytes,
            warnings: summary.warnings,
            unrelated: summary.unrelated,
            ..Rewritten::default()
        })
    }

    fn import_rows(&self, files: &mut Files<'_>, path: &Path) -> Result<Summary, RewriteError> {
        files.align = self.options.align.unwrap_or(Align::Off);
        let options = Options {
            keep_data: false,
            overwrite: true,
            subjects: Subject::ALL.to_vec(),
            views: Views::Named(vec!["thread_state".to_owned()]),
            ..self.options.clone()
        };
        let into = Into {
            sources: self.sources,
            destination: path,
            options: &options,
            limits: &self.limits,
            monitor: self.monitor,
        };
        Ok(into.import(files, &mut Stopwatch::default())?)
    }

    fn output(
        &self,
        file: Option<Written>,
        packing: Packing,
    ) -> Result<Option<Output>, RewriteError> {
        let output = file.map(|file| Output::new(file, packing, &self.limits.disk));
        output.transpose().map_err(|error| self.failed(error))
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
            emit::write(conn, &mut put)
        });
        let written = written.and_then(|written| Ok(put_all(None, None).map(|()| written)?));
        if cancel.load(Ordering::Relaxed) {
            return Err(Error::Cancelled.into());
        }
        written.map_err(|error| match error {
            EmitError::Write(error) => self.failed(error),
            EmitError::Rows(error) => self.unreadable(&error),
        })
    }

    fn unreadable(&self, error: &rusqlite::Error) -> RewriteError {
        RewriteError::Rows { source_name: self.name(), error: error.to_string() }
    }
}

/// The differences for the user.
fn told(unlike: &emit::Unlike) -> Vec<Unlike> {
    let emit::Unlike {
        negative,
        renumbered,
        nameless,
        arguments,
        thread_durs,
        ends,
        endless,
        flows,
        states,
        samples,
    } = *unlike;
    let all = [
        (negative, ["event before time 0, left out", "events before time 0, left out"]),
        (
            renumbered,
            [
                "process or thread with another number, because the format has none for its own",
                "processes and threads with other numbers, because the format has none for their own",
            ],
        ),
        (
            nameless,
            [
                "nameless track, which gets the name of its first slice",
                "nameless tracks, which get the name of their first slice",
            ],
        ),
        (arguments, ["argument, left out", "arguments, left out"]),
        (
            thread_durs,
            [
                "slice with a CPU time of 0 or none, where readers show the other one",
                "slices with a CPU time of 0 or none, where readers show the other one",
            ],
        ),
        (
            ends,
            [
                "slice that ends before one inside it, so that readers end another one",
                "slices that end before one inside them, so that readers end others",
            ],
        ),
        (
            endless,
            [
                "slice whose end does not fit 64 bits, and which never ends",
                "slices whose ends do not fit 64 bits, and which never end",
            ],
        ),
        (
            flows,
            [
                "flow between slices of one time, which points the other way",
                "flows between slices of one time, which point the other way",
            ],
        ),
        (
            states,
            [
                "state of a thread, which is a slice on a track 'thread state'",
                "states of threads, which are slices on tracks 'thread state'",
            ],
        ),
        (samples, ["sample of a callstack, left out", "samples of callstacks, left out"]),
    ];
    let counted = all.into_iter().filter(|(count, _)| *count > 0);
    counted.map(|(count, what)| Unlike { what, count }).collect()
}
