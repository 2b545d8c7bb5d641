//! Rewrites a trace so that every time in it is trace time (rules RW).
//!
//! | question | where it is decided |
//! |---|---|
//! | the order of all steps, and the refusals | `mod.rs` |
//! | the new form of a packet | `pass.rs` |
//! | how a packet is written as bytes | `header.rs`; payloads beside their readers, `readers/retiming.rs` |
//! | the times of a packet, and times that wait for a later snapshot | `times.rs`, `waits.rs` |
//! | which reading of a clock leads to a time | `target.rs`, `inverse.rs` |
//! | the output of several files | `several.rs`, `archive.rs` |
//! | traces in Chrome's JSON format | `converted.rs`, and the room `emit` |
//! | the counts of the summary | `tally.rs` |
//! | the part of a trace that is cut out | `cut/` |
//!
//! # Design
//!
//! One place decides times: [`crate::place`]. A pass over the trace gives it every packet, by the same
//! functions as an import ([`crate::frame`]), and takes the time of the packet and of each event inside
//! while the packet is in memory. So nothing is kept of packets whose time is known at once, and an import
//! does not change. There are two passes, because a time that waits for a later snapshot (rule D2) is known
//! only at the end of the first; these times go to the second pass through temporary files. With rates, the
//! first pass finds the snapshots, as the first pass of an import does, and keeps their packets. The next pass
//! writes if it can. If it cannot, and only needs snapshots from some packet on, it takes these and ends; then
//! another pass writes. Several files need one more pass before, because the manifest that is written depends
//! on their machines and on trace time.
//!
//! The alternative was to import into a temporary database, and to rewrite packets with the times of its
//! rows: it makes rows, texts and arguments of all kernel events, of which only a number is needed.
//!
//! The written packets also go through the rules of places (`target.rs`). So a time that an import of the
//! written trace would read differently is always counted.

mod archive;
mod behind;
mod converted;
mod cut;
mod error;
mod header;
mod inverse;
mod output;
mod packed;
mod pass;
mod several;
mod tally;
mod target;
mod times;
mod waits;

use std::fs;
use std::io::{self, ErrorKind, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use rusqlite::{Connection, OpenFlags};
use timebase_resolver::{Clock, Estimates, FileTag};
use timebase_store::files::NewFile;
use timebase_store::sort::Scratch;
use timebase_trace::{
    Counts, End as EndOfFile, FileKind, InputsError, Monitor, Pass as Reading, Reads, Source,
    SourceError, TraceType, file_kind,
};

use self::archive::Members;
use self::converted::Converted;
use self::output::{Output, Packing};
use self::packed::Written;
use self::pass::{Others, Pass, Room};
use self::several::Several;
use self::tally::Left;
use self::target::Target;
use self::times::{Times, Waits};
use self::waits::{Collected, End, Known};
use crate::describe::unrelated;
use crate::emit::{self, Found};
use crate::error::{Error, HowFar, WriteError, is_full};
use crate::files::{File, Files, Opening};
use crate::formats::{FORMATS, FileSession};
use crate::frame::{Frame, Keep, SnapshotPackets};
use crate::identity::check_database;
use crate::limits::Limits;
use crate::manifest::{Align, MemberRules};
use crate::options::{Conversion, Options, Views};
use crate::output::{RowType, Rows, parent, placed};
use crate::pipeline::{self, Broken, FileRead};
use crate::place::{Place, Settled, Uses, Whole};
use crate::readers::PacketSchema;
use crate::subjects::{StateOf, Subject, Wanted};
use crate::verdict::Verdict;

pub use cut::{Choice, Cut, Window};
pub use error::RewriteError;
pub use tally::{LeftOut, Moved, Rewritten, Unlike, Unmet};

/// The destination of a written trace.
pub enum RewriteTo<'a> {
    /// A file that appears when it is complete. The extensions `.gz` and `.zst` compress it.
    File(&'a Path),
    /// A writer that gets all of it when it is complete.
    Writer(&'a mut dyn Write),
    /// Nothing is written; the result is only the summary.
    Nowhere,
}

impl RewriteTo<'_> {
    /// The name of the destination.
    fn path(&self) -> PathBuf {
        match self {
            RewriteTo::File(path) => path.to_path_buf(),
            RewriteTo::Writer(_) => "standard output".into(),
            RewriteTo::Nowhere => "the trace".into(),
        }
    }
}

/// Rewrites traces so that every time in them is trace time (rules RW), by [`Options::conversion`],
/// [`Options::manifest`] and, if it is set, [`Options::align`]. One trace becomes one trace; several files, or one with a manifest, become a zip
/// (RW9). Of the other options, the limits and [`Options::overwrite`] have an effect.
///
/// ```
/// use timebase_import::{Monitor, Options, RewriteTo, Source, rewrite};
///
/// # let directory = tempfile::tempdir()?;
/// # let out = directory.path().join("out.pftrace");
/// let trace = Source::File("../../tests/data/multihop.pftrace".into());
/// let (options, monitor) = (Options::default(), Monitor::default());
/// let rewritten = rewrite(&[trace], RewriteTo::File(&out), &options, &monitor)?;
/// assert!(rewritten.written > 0 && out.exists());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`RewriteError`] says what was wrong. The destination is then as it was before.
pub fn rewrite(
    sources: &[Source],
    to: RewriteTo<'_>,
    options: &Options,
    monitor: &Monitor,
) -> Result<Rewritten, RewriteError> {
    rewrite_with(sources, to, options, None, monitor)
}

/// The same with tracks of rows that were found in the trace (rules CN). [`FoundTracks`](crate::FoundTracks) has an example.
///
/// # Errors
///
/// Those of [`rewrite()`].
pub fn rewrite_with(
    sources: &[Source],
    to: RewriteTo<'_>,
    options: &Options,
    found: Option<&Found>,
    monitor: &Monitor,
) -> Result<Rewritten, RewriteError> {
    let path = to.path();
    rewrite_as(path, sources, to, (options, found), monitor)
}

/// The same. Errors call the destination `path`.
fn rewrite_as(
    path: PathBuf,
    sources: &[Source],
    to: RewriteTo<'_>,
    (options, found): (&Options, Option<&Found>),
    monitor: &Monitor,
) -> Result<Rewritten, RewriteError> {
    let limits = Limits::new(options);
    let new = match to {
        RewriteTo::File(path) => Some(create(path, sources, options.overwrite)?),
        RewriteTo::Writer(_) | RewriteTo::Nowhere => None,
    };
    let directory = match &new {
        Some(new) => new.directory().to_path_buf(),
        None => std::env::temp_dir(),
    };
    let job = Job {
        sources,
        path,
        options,
        found,
        monitor,
        scratch: Scratch::new(&directory, &limits.disk),
        limits,
    };
    job.run(new, to)
}

/// Rewrites traces as [`rewrite()`] does, and cuts a window out of the result (rules CT): a [`Window`], or what a
/// function chooses in a database of the whole trace.
///
/// ```
/// use timebase_import::{Monitor, Options, RewriteTo, Source, Window, cut};
///
/// # let directory = tempfile::tempdir()?;
/// # let out = directory.path().join("out.pftrace");
/// let trace = Source::File("../../tests/data/nearest.pftrace".into());
/// let (options, monitor) = (Options::default(), Monitor::default());
/// let window = Window { from: 0, to: 1_000_000_000_000 };
/// let cut = cut(&[trace], RewriteTo::File(&out), &options, window, &monitor)?;
/// assert_eq!(cut.cut.map(|cut| cut.window), Some(window));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`RewriteError`] says what was wrong. The destination is then as it was before.
pub fn cut(
    sources: &[Source],
    to: RewriteTo<'_>,
    options: &Options,
    choice: impl Choice,
    monitor: &Monitor,
) -> Result<Rewritten, RewriteError> {
    let limits = Limits::new(options);
    let path = to.path();
    let failed = |error| RewriteError::Write { path: path.clone(), error };
    let new = match to {
        RewriteTo::File(path) => create(path, sources, options.overwrite)?,
        RewriteTo::Writer(_) | RewriteTo::Nowhere => {
            NewFile::at(&std::env::temp_dir().join("cut")).map_err(failed)?
        }
    };
    let directory = new.directory();
    let (whole, database) = (directory.join("whole"), directory.join("whole.db"));
    let to_whole = RewriteTo::File(&whole);
    let told = rewrite_as(path.clone(), sources, to_whole, (options, None), monitor)?;
    let window = learn(&whole, &database, options, choice, monitor)?;
    let names = sources.iter().map(|source| match source {
        Source::File(path) => path.file_name().map(|name| name.to_string_lossy().into_owned()),
        other => Some(other.to_string()),
    });
    let job = cut::Job {
        whole: &whole,
        database: &database,
        window,
        source: names.flatten().collect::<Vec<_>>().join(", "),
        sha256: told.sha256.join(", "),
        scratch: &Scratch::new(directory, &limits.disk),
        monitor,
    };
    let (packing, file) = match &to {
        RewriteTo::File(path) => (Packing::of_name(path), new.file().try_clone()),
        RewriteTo::Writer(_) | RewriteTo::Nowhere => (Packing::Plain, new.file().try_clone()),
    };
    let done = job.run(Written::File(file.map_err(failed)?), packing);
    let (output, counts, written) = done.map_err(|error| match error {
        cut::Failed::Read(error) => RewriteError::Read(error),
        cut::Failed::Write(error) if is_full(&error) => {
            RewriteError::DiskFull { path: path.clone() }
        }
        cut::Failed::Write(error) => failed(error),
    })?;
    let (file, mut written_bytes) = output.finish().map_err(failed)?;
    match (file, to) {
        (Written::File(mut file), RewriteTo::Writer(writer)) => {
            let copied = file.rewind().and_then(|()| io::copy(&mut file, writer));
            copied.and_then(|_| writer.flush()).map_err(failed)?;
        }
        (_, RewriteTo::File(path)) => {
            written_bytes = new.complete(options.overwrite).map_err(|error| {
                let path = path.to_path_buf();
                match error.kind() {
                    ErrorKind::AlreadyExists => RewriteError::Exists { path },
                    _ => RewriteError::Write { path, error },
                }
            })?;
        }
        _ => {}
    }
    Ok(Rewritten { written, written_bytes, cut: Some(counts), ..told })
}

/// Imports a written trace for the state at the begin of a window, and returns the window. If the window is not known, an
/// import of the slices comes first, from which it is chosen.
fn learn(
    whole: &Path,
    database: &Path,
    options: &Options,
    choice: impl Choice,
    monitor: &Monitor,
) -> Result<Window, RewriteError> {
    let of_import = Options {
        max_size: options.max_size,
        max_memory: options.max_memory,
        keep_data: false,
        overwrite: true,
        views: Views::Named(vec!["thread_state".to_owned()]),
        ..Options::default()
    };
    let sources = [Source::File(whole.to_owned())];
    let refused = |why| RewriteError::Window { why };
    let state_of =
        |Window { from, to }| Options { state_of: Some(StateOf { from, to }), ..of_import.clone() };
    if let Some(known) = choice.known() {
        crate::import::import(&sources, database, &state_of(known), monitor)?;
        return choice.choose(database).map_err(refused);
    }
    let all = Window { from: i64::MIN, to: i64::MAX };
    let of_slices = Options { subjects: vec![Subject::Slices], ..state_of(all) };
    crate::import::import(&sources, database, &of_slices, monitor)?;
    let window = choice.choose(database).map_err(refused)?;
    crate::import::import(&sources, database, &state_of(window), monitor)?;
    Ok(window)
}

/// The traces to rewrite, and the limits.
struct Job<'a> {
    sources: &'a [Source],
    path: PathBuf,
    options: &'a Options,
    found: Option<&'a Found>,
    monitor: &'a Monitor,
    scratch: Scratch,
    limits: Limits,
}

/// The results of the passes before the one that writes.
struct Surveyed {
    known: Known,
    whole: Option<Whole>,
    /// The manifest's statements if several files are written.
    several: Option<Several>,
    /// The files whose clocks nothing relates to the clocks of the files before them.
    unrelated: Vec<String>,
    /// The written trace, after all of it.
    target: Frame,
    trace_time: Clock,
    /// The counts, which have to be the same in the next pass.
    counts: Counts,
}

/// The result of writing a trace while it is read for the first time.
enum AtOnce {
    Written(Box<Passed>),
    /// Something waits for a later packet. The file has no part of the trace.
    Found(Box<Surveyed>, Option<Written>),
}

/// The result of a pass.
struct Passed {
    pass: Pass,
    files: Vec<FileRead>,
    /// The number of packets that cannot be read, and of their bytes.
    unreadable: (u64, u64),
}

impl Job<'_> {
    fn run(&self, new: Option<NewFile>, to: RewriteTo<'_>) -> Result<Rewritten, RewriteError> {
        let mut files = self.open()?;
        let traces = files.traces().len();
        if traces == 0 {
            let why = "name at least one trace".to_owned();
            let source_name = files.title();
            return Err(Error::NoTrace { source_name, why }.into());
        }
        let json = files.traces().iter().filter(|file| file.has_own_clock()).count();
        let is_one = match self.options.one_file {
            true => json == traces || traces == 1,
            false => traces == 1 && files.manifest.is_none(),
        };
        if self.found.is_some() && !is_one {
            return Err(RewriteError::TracksOfSeveral);
        }
        if json == traces && (traces == 1 || self.options.one_file) {
            return self.convert(files, new, to);
        }
        if json > 0 {
            return match self.options.one_file {
                true => self.convert_into(files, new, to),
                false => self.convert_several(files, new, to),
            };
        }
        if traces > 1
            && let Some(mode) = self.options.align
            && !matches!(mode, Align::Report | Align::Off)
        {
            let directory = self.scratch.directory();
            let found =
                crate::import::aligned(self.sources, directory, self.options, self.monitor)?;
            files.relations = found.map(|found| found.relations).unwrap_or_default();
        }
        if traces > 1 || files.manifest.is_some() {
            let destination = self.destination(new.as_ref(), &to)?;
            let found = self.find_several(&mut files)?;
            let unrelated = found.unrelated.clone();
            let (passed, _) = self.write(&mut files, found, destination, None)?;
            let rewritten = self.end(&files, new, to, passed)?;
            return Ok(Rewritten { unrelated, ..rewritten });
        }
        self.refuse_zip()?;
        self.rewrite_one(&mut files, new, to)
    }

    /// Writes one Perfetto trace.
    fn rewrite_one(
        &self,
        files: &mut Files<'_>,
        new: Option<NewFile>,
        to: RewriteTo<'_>,
    ) -> Result<Rewritten, RewriteError> {
        let (file, packing) = self.destination(new.as_ref(), &to)?;
        let passed = match self.at_once(files, (file, packing))? {
            AtOnce::Written(passed) => *passed,
            AtOnce::Found(found, file) => {
                let (passed, _) = self.write(files, *found, (file, packing), None)?;
                passed
            }
        };
        self.end(files, new, to, passed)
    }

    /// Refuses the name of a zip for one trace, because readers of such a file expect members.
    fn refuse_zip(&self) -> Result<(), RewriteError> {
        let ending = self.path.extension().and_then(|ending| ending.to_str());
        match ending.is_some_and(|ending| ending.eq_ignore_ascii_case("zip")) {
            true => Err(RewriteError::ToZip { path: self.path.clone() }),
            false => Ok(()),
        }
    }

    /// The file that is written, if there is one, and its compression.
    fn destination(
        &self,
        new: Option<&NewFile>,
        to: &RewriteTo<'_>,
    ) -> Result<(Option<Written>, Packing), RewriteError> {
        let packing = match to {
            RewriteTo::File(path) => Packing::of_name(path),
            RewriteTo::Writer(_) | RewriteTo::Nowhere => Packing::Plain,
        };
        let file = match (new, to) {
            (Some(new), _) => new.file().try_clone().map(|file| Some(Written::File(file))),
            (None, RewriteTo::Writer(_)) => {
                self.scratch.file().map(|file| Some(Written::Aside(file)))
            }
            _ => Ok(None),
        };
        Ok((file.map_err(|error| self.failed(error))?, packing))
    }

    /// Goes through one trace, and writes it as long as it needs nothing from later packets.
    fn at_once(
        &self,
        files: &mut Files<'_>,
        (file, packing): (Option<Written>, Packing),
    ) -> Result<AtOnce, RewriteError> {
        let (whole, surveyed) = match self.options.conversion {
            Conversion::Linear => {
                let mut snapshots = SnapshotPackets::new(&self.scratch);
                let surveyed = self.survey(files, Some(&mut snapshots))?;
                let counts = surveyed.counts;
                (Some(surveyed.context.place.found()), Some((snapshots, counts)))
            }
            Conversion::Nearest => (None, None),
        };
        let has_rates = whole.is_some();
        let (snapshots, surveyed_counts) = surveyed.unzip();
        let output = file.map(|file| Output::new(file, packing, &self.limits.disk));
        let output = output.transpose().map_err(|error| self.failed(error))?;
        let target = Target::new(self.frame(None), None, Clock::BOOTTIME);
        let times = Times::new(Waits::Collected, true, has_rates);
        let mut pass = self.new_pass(whole, target, times);
        pass.others.output = output;
        pass.others.surveyed = snapshots;
        let reading = match has_rates {
            true => Reading::Second,
            false => Reading::Only,
        };
        let mut passed = self.pass(files, pass, None, reading)?;
        let Pass { source, others } = &mut passed.pass;
        let place = &mut source.context.place;
        let trace_time = place.trace_time();
        if others.times.writes
            && trace_time == others.target.trace_time
            && others.target.is_as_assumed()
        {
            return match place.clocks.are_as_found() {
                true => Ok(AtOnce::Written(Box::new(passed))),
                false => Err(self.changed()),
            };
        }
        let whole = place.clocks.give_back();
        let counts = surveyed_counts.filter(|_| others.ends_early);
        let counts = counts.unwrap_or(source.counts);
        let others = passed.pass.others;
        let file = others.output.map(|output| output.abandon(&self.scratch, &self.limits.disk));
        let file = file.transpose().map_err(|error| self.failed(error))?;
        let known = others.collected.known();
        let found = Surveyed {
            known: known.map_err(|error| self.failed(error))?,
            whole,
            several: None,
            unrelated: Vec::new(),
            target: others.target.frame,
            trace_time,
            counts,
        };
        Ok(AtOnce::Found(Box::new(found), file))
    }

    /// Goes through all files, after the passes that find everything, and writes them.
    fn write(
        &self,
        files: &mut Files<'_>,
        found: Surveyed,
        (file, packing): (Option<Written>, Packing),
        converted: Option<&Converted>,
    ) -> Result<(Passed, emit::Written), RewriteError> {
        let Surveyed { known, whole, several, target, trace_time, counts, .. } = found;
        // Several files are stored temporarily until all are written.
        let (aside, file) = match &several {
            Some(_) => (file, None),
            None => (None, file),
        };
        let output = file.map(|file| Output::new(file, packing, &self.limits.disk));
        let times = Times::new(Waits::Known(known), true, whole.is_some());
        let target = Target::new(self.frame(None), Some(target), trace_time);
        let mut pass = self.new_pass(whole, target, times);
        pass.others.output = output.transpose().map_err(|error| self.failed(error))?;
        pass.others.members = aside.is_some().then(|| Members::new(&self.scratch));
        let mut passed = self.pass(files, pass, several.as_ref(), Reading::Second)?;
        let source = &mut passed.pass.source;
        let is_same = source.counts == counts
            && source.context.place.trace_time() == trace_time
            && source.context.place.clocks.are_as_found();
        if !is_same {
            return Err(self.changed());
        }
        let others = &mut passed.pass.others;
        let mut written = emit::Written::default();
        let mut members = others.members.take();
        if let (Some(converted), Some(several)) = (converted, &several) {
            // The summary says the differences also if nothing is written.
            let mut nowhere = Members::new(&self.scratch);
            let members = members.as_mut().unwrap_or(&mut nowhere);
            written = self.write_members(converted, files, several, members)?;
        }
        if let (Some(members), Some(several), Some(file)) = (members, several, aside) {
            let zipped = self.zip(members, several, file, packing);
            others.output = Some(zipped.map_err(|error| self.failed(error))?);
        }
        Ok((passed, written))
    }

    /// The error if a trace has changed since it was read before.
    fn changed(&self) -> RewriteError {
        let source_name = self.name();
        RewriteError::Changed { source_name }
    }

    /// Puts several files into one (rules RW9, RW11).
    pub(super) fn zip(
        &self,
        members: Members,
        several: Several,
        file: Written,
        packing: Packing,
    ) -> io::Result<Output> {
        let disk = &self.limits.disk;
        if packing == Packing::Plain {
            let zipped = members.zip(several, file, disk)?;
            return Output::of(zipped);
        }
        let aside = Written::Aside(self.scratch.file()?);
        let mut output = Output::new(file, packing, disk)?;
        if let Written::Aside(mut zipped) = members.zip(several, aside, disk)?.file {
            zipped.rewind()?;
            output.copy(&mut zipped)?;
        }
        Ok(output)
    }

    /// Goes through all files for their snapshots and machines.
    fn survey(
        &self,
        files: &mut Files<'_>,
        kept: Option<&mut SnapshotPackets>,
    ) -> Result<Frame, RewriteError> {
        self.monitor.begin(Reading::First, files.inputs.total());
        let surveyed = pipeline::survey(files, self.frame(None), kept, self.monitor);
        if self.monitor.cancel.load(Ordering::Relaxed) {
            return Err(Error::Cancelled.into());
        }
        surveyed.map_err(|broken| self.broken(broken))
    }

    /// Goes through several files twice: first for their machines and clocks, and then for the data about the
    /// whole written trace.
    fn find_several(&self, files: &mut Files<'_>) -> Result<Surveyed, RewriteError> {
        let mut surveyed = self.survey(files, None)?;
        let several = Several::of(files, &mut surveyed).map_err(Error::Manifest)?;
        let whole = match self.options.conversion {
            Conversion::Linear => Some(surveyed.context.place.found()),
            Conversion::Nearest => None,
        };
        let target = Target::new(self.frame(None), None, Clock::BOOTTIME);
        let times = Times::new(Waits::Collected, false, false);
        let pass = self.new_pass(whole, target, times);
        let passed = self.pass(files, pass, Some(&several), Reading::First)?;
        let Pass { mut source, others } = passed.pass;
        let known = others.collected.known();
        let place = &mut source.context.place;
        let (whole, trace_time) = (place.clocks.give_back(), place.trace_time());
        let of_files = |place: &mut Place, estimates: &Estimates, _: &[bool]| {
            unrelated(files, &placed(place, estimates))
        };
        let unrelated = place.with_estimates(of_files);
        Ok(Surveyed {
            known: known.map_err(|error| self.failed(error))?,
            whole,
            several: Some(several),
            unrelated,
            target: others.target.frame,
            trace_time,
            counts: source.counts,
        })
    }

    /// The start of a pass that writes nowhere yet.
    fn new_pass(&self, whole: Option<Whole>, target: Target, times: Times) -> Pass {
        Pass {
            source: self.frame(whole),
            others: Others {
                target,
                times,
                collected: Collected::new(&self.scratch),
                output: None,
                members: None,
                room: Room::default(),
                packets: 0,
                surveyed: None,
                ends_early: false,
                inserted: self.found.map(Found::packets),
                failure: None,
            },
        }
    }

    /// A trace before any of it is read.
    fn frame(&self, whole: Option<Whole>) -> Frame {
        let keep = Keep { data: false, events: Wanted::of(&[]) };
        let watch = self.limits.memory.watch();
        let mut frame = Frame::new(PacketSchema::default(), keep, &self.scratch, watch, whole);
        frame.context.place.uses = Uses::off();
        frame
    }

    /// Goes through all files.
    fn pass(
        &self,
        files: &mut Files<'_>,
        pass: Pass,
        several: Option<&Several>,
        reading: Reading,
    ) -> Result<Passed, RewriteError> {
        let monitor = self.monitor;
        monitor.begin(reading, files.inputs.total());
        let mut unreadable = (0u64, 0u64);
        let passed = pipeline::both(
            pass,
            Wanted::of(&[]),
            monitor,
            |batch| {
                // Other packets have no rows.
                for packet in &batch.packets {
                    debug_assert!(matches!(packet.row_type, RowType::Corrupt));
                    unreadable.0 = unreadable.0.saturating_add(1);
                    unreadable.1 = unreadable.1.saturating_add(packet.size);
                }
                Ok(())
            },
            |pass, rows| read(files, pass, several, rows),
        );
        if monitor.cancel.load(Ordering::Relaxed) {
            return Err(Error::Cancelled.into());
        }
        let (mut pass, files, _) = passed.map_err(|broken| self.broken(broken))?;
        if let Some(failure) = pass.others.failure.take() {
            return Err(self.failed(failure));
        }
        Ok(Passed { pass, files: files.map_err(|broken| self.broken(broken))?, unreadable })
    }

    /// Puts the written trace into its place.
    fn end(
        &self,
        files: &Files<'_>,
        new: Option<NewFile>,
        to: RewriteTo<'_>,
        passed: Passed,
    ) -> Result<Rewritten, RewriteError> {
        let Passed { pass, files: read, unreadable: (packets, bytes) } = passed;
        let warnings = match files.stated {
            // The import of all traces has told them.
            Some(_) => Vec::new(),
            None => self.warnings(files, &read)?,
        };
        let Pass { source, mut others } = pass;
        let regions = read.iter().map(|file| file.read.counted);
        let (count, damaged) = regions.fold((0u64, 0u64), |(count, bytes), of| {
            let (more, size) = (of.damaged_regions, of.damaged_bytes);
            (count.saturating_add(more), bytes.saturating_add(size))
        });
        let tally = &mut others.times.tally;
        tally.left(Left::Region, count, damaged);
        tally.left(Left::Packet, packets, bytes);
        let written_bytes = self.put(others.output, new, to)?;
        Ok(Rewritten {
            packets: read.iter().map(|file| file.read.packets).sum(),
            trace_time_clock: source.context.place.trace_time().to_string(),
            files: read.len() as u64,
            source_bytes: read.iter().map(|file| file.digest.size).sum(),
            written_bytes,
            sha256: read.iter().filter_map(|file| file.digest.sha256.clone()).collect(),
            warnings,
            tracks: self.found.map(|found| found.told().to_vec()).unwrap_or_default(),
            ..others.times.tally.told()
        })
    }

    /// Puts the output, if there is one, into its place. Returns its size.
    fn put(
        &self,
        output: Option<Output>,
        new: Option<NewFile>,
        to: RewriteTo<'_>,
    ) -> Result<u64, RewriteError> {
        let output = output.map(Output::finish).transpose();
        let output = output.map_err(|error| self.failed(error))?;
        let written_bytes = output.as_ref().map_or(0, |(_, size)| *size);
        match (output, to) {
            (Some((Written::Aside(mut file), _)), RewriteTo::Writer(writer)) => {
                let copied = file
                    .rewind()
                    .and_then(|()| io::copy(&mut file, writer))
                    .and_then(|_| writer.flush());
                copied.map_err(|error| self.failed(error))?;
            }
            (Some(_), _) => {
                if let Some(new) = new {
                    return self.complete(new);
                }
            }
            (None, _) => {}
        }
        Ok(written_bytes)
    }

    /// The warnings for the user about the files.
    ///
    /// # Errors
    ///
    /// If none of them is a trace.
    fn warnings(&self, files: &Files<'_>, read: &[FileRead]) -> Result<Vec<String>, RewriteError> {
        let mut told = Vec::new();
        for damage in files.inputs.damage() {
            told.push(format!("{}: {}", files.title(), damage.why));
        }
        let mut traces = 0;
        for file in read {
            let verdict = Verdict { file, name: &file.title, strict: self.options.strict };
            match verdict.warnings() {
                Ok(warnings) => {
                    told.extend(warnings);
                    traces += 1;
                }
                Err(error) if files.is_alone || self.options.strict => return Err(error.into()),
                // It does not affect the other files.
                Err(error) => told.push(error.to_string()),
            }
        }
        let is_left = |file: &&File| !file.is_trace() && file.kind != TraceType::Manifest;
        for file in files.order.iter().filter(is_left).filter(|_| !files.is_alone) {
            told.push(format!("{}: not a trace, left out", files.inputs.title(file.id)));
        }
        match traces {
            0 => {
                let source_name = files.title();
                let why = "none of its files can be read".to_owned();
                Err(Error::NoTrace { source_name, why }.into())
            }
            _ => Ok(told),
        }
    }

    fn complete(&self, new: NewFile) -> Result<u64, RewriteError> {
        new.complete(self.options.overwrite).map_err(|error| {
            let path = self.path.clone();
            match error.kind() {
                ErrorKind::AlreadyExists => RewriteError::Exists { path },
                _ => self.failed(error),
            }
        })
    }

    /// Opens the trace for several readings.
    fn open(&self) -> Result<Files<'_>, RewriteError> {
        let manifest = self.options.manifest.as_deref();
        let (sources, monitor) = (self.sources, self.monitor);
        let opening = Opening { manifest, formats: FORMATS, reads: Reads::Again, split: false };
        let opened = Files::open(sources, opening, &self.scratch, monitor);
        let opened = opened.map_err(|error| match (error, sources) {
            _ if monitor.cancel.load(Ordering::Relaxed) => Error::Cancelled.into(),
            (Error::Source(SourceError::IsDatabase { .. }), [Source::File(path)]) => {
                is_database(path)
            }
            (Error::Inputs(InputsError::PutAside(error)), _) => self.failed(error),
            (error, _) => error.into(),
        });
        let files = opened?;
        let traces = files.traces();
        let perfetto: Vec<&File> = traces.iter().filter(|file| !file.has_own_clock()).collect();
        if let (Some(file), true) = (perfetto.last(), self.options.one_file) {
            let source_name = files.inputs.title(file.id).to_owned();
            if perfetto.len() > 1 || files.manifest.is_some() {
                return Err(RewriteError::OneFileOfPerfetto { source_name });
            }
        }
        Ok(files)
    }

    /// The name of all sources together.
    fn name(&self) -> String {
        match self.sources {
            [source] => source.to_string(),
            sources => format!("one of {} files", sources.len()),
        }
    }

    fn how_far(&self) -> HowFar {
        HowFar {
            bytes: self.monitor.bytes_read.load(Ordering::Relaxed),
            of: self.monitor.of(),
            packets: self.monitor.packets.load(Ordering::Relaxed),
        }
    }

    fn broken(&self, broken: Broken) -> RewriteError {
        match broken {
            Broken::Write(WriteError::Bulk(timebase_store::btree::Error::Io(error))) => {
                self.failed(error)
            }
            Broken::Write(error) => self.failed(io::Error::other(error)),
            Broken::Source(error) => Error::Source(error).into(),
            Broken::Refused(refused) => Error::Manifest(refused).into(),
            Broken::Read => Error::Stopped.into(),
        }
    }

    /// The error for the user if something could not be written or stored temporarily.
    fn failed(&self, error: io::Error) -> RewriteError {
        let path = self.path.clone();
        if self.limits.memory.is_exceeded()
            && let Some(limit) = self.options.max_memory
        {
            return RewriteError::TooMuchMemory {
                source_name: self.name(),
                limit,
                read: self.how_far(),
            };
        }
        match self.options.max_size {
            Some(limit) if self.limits.disk.is_exceeded() => {
                RewriteError::TooLarge { path, limit, read: self.how_far() }
            }
            _ if is_full(&error) => RewriteError::DiskFull { path },
            _ => RewriteError::Write { path, error },
        }
    }
}

/// Reads all files.
fn read(
    files: &mut Files<'_>,
    pass: &mut Pass,
    several: Option<&Several>,
    rows: &mut Rows<'_>,
) -> Result<Vec<FileRead>, Broken> {
    let Pass { source, others } = pass;
    pipeline::begin(files, source, rows)?;
    let target = &mut others.target.frame;
    target.begin(rows);
    if let Some(several) = several {
        target.follow_manifest(&several.resolved, &[], rows);
        pipeline::stopped(target, EndOfFile::Complete)?;
    }
    let mut read = Vec::new();
    let mut late = 0u64;
    for file in files.traces() {
        let title = files.inputs.title(file.id).to_owned();
        let (name, rules) = (files.name(&file), files.rules(&file));
        if let Some(stated) = files.stated(&file) {
            source.begin_file(file.tag, true, rules, rows);
            FileSession::new(source, rows).repeat(&stated);
            source.end_timed_file(rows, |_| Ok(()))?;
            if let Some(several) = several {
                others.target.enter_converted(&file, several, rows);
            }
            continue;
        }
        let mut input = files.inputs.open_ahead(file.id)?;
        source.begin_file(file.tag, false, rules, rows);
        // Several files are written only if there is a manifest.
        let (tag, rules) = match several {
            Some(several) => (file.tag, several.rules(&file)),
            None => (FileTag::ONLY, MemberRules::default()),
        };
        others.target.frame.begin_file(tag, false, rules, rows);
        let packing = Packing::of_source(input.compression());
        if let Some(members) = &others.members {
            others.output = Some(members.begin(packing)?);
        }
        let end = source.time_file(&mut input.reader, rows, |source, packet, rows| {
            others.packet(source, packet, rows)
        })?;
        if others.failure.is_some() {
            return Ok(read);
        }
        match others.ends_early {
            true => others.enter_rest(rows)?,
            false => pipeline::stopped(source, end)?,
        }
        if let Some(failure) = input.failed() {
            return Err(failure.into());
        }
        let collected = &mut others.collected;
        let of_frame = source.end_timed_file(rows, |settled| {
            collected.settled(&settled, End::File);
            Ok(())
        })?;
        others.target.frame.end_timed_file(rows, |settled| {
            late = late.saturating_add(u64::from(is_placed(&settled)));
            Ok(())
        })?;
        others.insert(None);
        if let Some(members) = &mut others.members
            && let Some(output) = others.output.take()
        {
            members.end(file.id, name, packing, output)?;
        }
        if others.ends_early {
            continue; // another pass reads the file to its end
        }
        let is_doubtful = of_frame.is_doubtful() || !source.context.place.is_used();
        read.push(FileRead::new(file, title, of_frame, is_doubtful, input)?);
    }
    let collected = &mut others.collected;
    source.end_timed(|settled| {
        collected.settled(&settled, End::All);
        Ok(())
    })?;
    others.target.frame.end_timed(|settled| {
        late = late.saturating_add(u64::from(is_placed(&settled)));
        Ok(())
    })?;
    others.placed_late(late);
    rows.hand_over();
    match rows.stopped() {
        true => Err(Broken::Read),
        false => Ok(read),
    }
}

/// Whether a packet that waited has a time.
fn is_placed(settled: &Settled<'_>) -> bool {
    matches!(settled, Settled::Packet { result: Ok(_), .. })
}

/// The error if a database was named instead of a trace: with the name of its trace, if timebase made it.
fn is_database(path: &Path) -> RewriteError {
    let foreign = || Error::ImportsForeignDatabase { path: path.to_owned() };
    // To SQLite, names such as `file:a.db` and `:memory:` are not names of files.
    let name = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let Ok(conn) = Connection::open_with_flags(name, OpenFlags::SQLITE_OPEN_READ_ONLY) else {
        return foreign().into();
    };
    match check_database(&conn) {
        Err(Error::ForeignDatabase { .. }) => return foreign().into(),
        Err(Error::HeaderOnly { .. }) => {
            let path = path.to_owned();
            return Error::HeaderOnly { path }.into();
        }
        _ => {}
    }
    let sql = "SELECT value FROM fact WHERE name = 'source'";
    RewriteError::IsDatabase {
        path: path.to_owned(),
        of: conn.query_row(sql, [], |row| row.get(0)).ok(),
    }
}

/// Checks that the destination is free, or may be replaced, and makes an empty file beside it.
fn create(path: &Path, sources: &[Source], overwrite: bool) -> Result<NewFile, RewriteError> {
    let path_buf = || path.to_path_buf();
    if converted::is_json_name(path) {
        return Err(RewriteError::ToJson { path: path_buf() });
    }
    let failed = |error| RewriteError::Create { path: path_buf(), error };
    match fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(failed(error)),
        Ok(found) if found.is_dir() => return Err(RewriteError::IsDirectory { path: path_buf() }),
        Ok(found) if !found.is_file() => return Err(RewriteError::NotAFile { path: path_buf() }),
        Ok(_) if sources.iter().any(|source| is_at(source, path)) => {
            return Err(RewriteError::IsInput { path: path_buf() });
        }
        Ok(_) if !overwrite => return Err(RewriteError::Exists { path: path_buf() }),
        Ok(_) => {
            if file_kind(path).map_err(failed)? == FileKind::Database {
                return Err(RewriteError::NotReplaceable { path: path_buf() });
            }
        }
    }
    NewFile::at(path).map_err(|error| {
        let (path, directory) = (path_buf(), parent(path).to_path_buf());
        if error.kind() == ErrorKind::NotFound && !directory.is_dir() {
            RewriteError::NoDirectory { path, directory }
        } else if is_full(&error) {
            RewriteError::DiskFull { path }
        } else {
            RewriteError::Create { path, error }
        }
    })
}

/// Whether a source is the file at a path.
fn is_at(source: &Source, path: &Path) -> bool {
    match (source, fs::canonicalize(path)) {
        (Source::File(source), Ok(path)) => {
            fs::canonicalize(source).is_ok_and(|source| source == path)
        }
        _ => false,
    }
}
