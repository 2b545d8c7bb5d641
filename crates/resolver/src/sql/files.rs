//! The owner of a clock in a call (rule X14): the database's facts about files, the parts of
//! machines in them, and machines.
//!
//! # Design
//!
//! A clock in a call is first treated as one of a trace with a single file, as most traces are;
//! then no look-up is needed. Further files are in three small tables, which do not change after an
//! import. The tables may be missing; then all clocks belong to one file.

use std::fmt;

use timebase_sql::{Database, Result, unless_interrupted};

use super::read::{each_row, integer};
use crate::clock::{Clock, ClockId, FileTag, MachineId, OwnClocks, Scope, SeqId};

/// A clock in a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Asked {
    /// The clock, as in a trace of one file.
    pub clock: Clock,
    /// Its file.
    pub file: AskedFile,
}

/// The file in a call, by `trace_file.id`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AskedFile {
    /// None is given: the clock belongs to the machine, or is the only such clock.
    Any,
    /// The clock that the number means in this file.
    Of(u32),
    /// This file's own clock.
    Own(u32),
}

/// The reason why the clock is ambiguous or does not exist.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NotThere {
    /// No row of `machine` has this id.
    Machine {
        /// The last id.
        last: u32,
        /// The machine with this number as its raw id.
        raw: Option<u32>,
    },
    /// No row of `trace_file` has this id, or the import read nothing from the file.
    File,
    /// Each of these files has such a clock.
    Several(Files),
}

/// Files in a sentence.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Files(Vec<u32>);

impl fmt::Display for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MOST_NAMED: usize = 5;
        let more = self.0.len().saturating_sub(MOST_NAMED);
        let named = self.0.iter().take(MOST_NAMED);
        let last = named.len().saturating_sub(1);
        for (index, file) in named.enumerate() {
            match index {
                0 => {}
                _ if index == last && more == 0 => f.write_str(" and ")?,
                _ => f.write_str(", ")?,
            }
            write!(f, "{file}")?;
        }
        match more {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

/// A part whose clocks are not those of its machine.
#[derive(Debug)]
struct Part {
    file: u32,
    machine: u32,
    own: OwnClocks,
}

/// Facts about files and machines.
#[derive(Debug)]
pub(super) struct Owners {
    /// The files that the import read, by their ids; `None` without such a table.
    files: Option<Vec<FileTag>>,
    /// By file and machine.
    parts: Vec<Part>,
    /// The raw ids of the machines 0, 1 …; `None` if the ids are not these numbers.
    machines: Option<Vec<Option<i64>>>,
    trace_time: MachineId,
    scoped: Scoped,
}

/// The files of the sequence-scoped clocks.
#[derive(Debug)]
enum Scoped {
    /// All belong to this file.
    One(FileTag),
    /// They belong to several: the clocks, by machine, number, sequence and file.
    Several(Vec<Clock>),
}

/// The key to find a clock whose file is not given.
fn without_file(clock: &Clock) -> (MachineId, ClockId, SeqId) {
    (clock.machine, clock.id, clock.seq)
}

impl Owners {
    /// Reads the facts from the database.
    pub fn load<D: Database + ?Sized>(database: &D) -> Result<Owners> {
        let sql = "SELECT value FROM main.metadata WHERE name = 'trace_time_machine_id'";
        let machine = unless_interrupted(integer(database, sql))?.flatten();
        let machine = machine.and_then(|machine| u32::try_from(machine).ok());
        Ok(Owners {
            files: files(database)?,
            parts: parts(database)?,
            machines: unless_interrupted(machines(database))?.flatten(),
            trace_time: machine.map_or(MachineId::HOST, MachineId),
            scoped: Scoped::One(FileTag::ONLY),
        })
    }

    /// Records the files of the clocks in the snapshots.
    pub fn set_clocks(&mut self, clocks: impl Iterator<Item = Clock> + Clone) {
        let is_scoped = |clock: &Clock| clock.id.scope() == Scope::Sequence;
        let scoped = || clocks.clone().filter(is_scoped);
        let one = scoped().next().map_or(self.nobodys(), |first| first.file);
        self.scoped = match scoped().all(|clock| clock.file == one) {
            true => Scoped::One(one),
            false => {
                let mut clocks: Vec<Clock> = scoped().collect();
                clocks.sort_unstable_by_key(|clock| (without_file(clock), clock.file));
                Scoped::Several(clocks)
            }
        };
    }

    /// The machine of trace time (rule X25).
    pub fn trace_time_machine(&self) -> MachineId {
        self.trace_time
    }

    /// The file of a sequence-scoped clock if no file is given: the only one.
    fn nobodys(&self) -> FileTag {
        match self.files.as_deref() {
            None | Some([]) => FileTag::ONLY,
            Some(&[only]) => only,
            Some(_) => FileTag::SHARED,
        }
    }

    /// A file's tag; `None` if the import did not read it. Without the table of files, the ids are
    /// the order.
    fn tag(&self, id: u32) -> Option<FileTag> {
        match &self.files {
            None => {
                let order = id.checked_add(1)?;
                Some(FileTag { order, id })
            }
            Some(files) => {
                let index = files.binary_search_by_key(&id, |file| file.id).ok()?;
                files.get(index).copied()
            }
        }
    }

    /// The clock of a row of `clock_snapshot`, which names the owner; `None` if there is no such
    /// file.
    pub fn read(&self, machine: u32, id: u32, seq: u32, file: Option<u32>) -> Option<Clock> {
        let clock = Clock::new(MachineId(machine), ClockId(id), SeqId(seq));
        let file = match file {
            None if clock.file == FileTag::SHARED => FileTag::SHARED,
            None => self.nobodys(),
            Some(file) => self.tag(file)?,
        };
        Some(Clock { file, ..clock })
    }

    /// The clock of the host with this number and sequence, if no file is given; `None` if several
    /// files may own it.
    #[inline(always)]
    pub fn hosts_clock(&self, id: ClockId, seq: SeqId) -> Option<Clock> {
        let clock = Clock::new(MachineId::HOST, id, seq);
        match self.scoped {
            _ if clock.id == ClockId::TRACE_FILE => Some(self.of_only_file(clock)),
            _ if clock.file == FileTag::SHARED => Some(clock),
            Scoped::One(file) => Some(Clock { file, ..clock }),
            Scoped::Several(_) => None,
        }
    }

    /// The clock for a call.
    pub fn clock(&self, asked: Asked) -> Result<Clock, NotThere> {
        let Asked { clock, file } = asked;
        if let Some(machines) = &self.machines
            && clock.machine.0 as usize >= machines.len()
        {
            return Err(no_machine(machines, clock.machine));
        }
        match (file, &self.scoped) {
            (AskedFile::Any, _) if clock.id == ClockId::TRACE_FILE => Ok(self.of_only_file(clock)),
            (AskedFile::Any, _) if clock.file == FileTag::SHARED => Ok(clock),
            (AskedFile::Any, &Scoped::One(file)) => Ok(Clock { file, ..clock }),
            (AskedFile::Any, Scoped::Several(clocks)) => only(clocks, clock),
            (AskedFile::Of(file), _) => self.of_file(clock, file),
            (AskedFile::Own(file), _) => match self.tag(file) {
                Some(file) => Ok(Clock { file, ..clock }),
                None => Err(NotThere::File),
            },
        }
    }

    /// The clock that a number means if no file is given. Only one file can own it.
    #[cold]
    fn of_only_file(&self, clock: Clock) -> Clock {
        let only = match self.files.as_deref() {
            Some(&[only]) => self.of_file(clock, only.id).ok(),
            _ => None,
        };
        only.unwrap_or(clock)
    }

    /// The clock that a number means in a file (rule X14).
    fn of_file(&self, clock: Clock, file: u32) -> Result<Clock, NotThere> {
        let tag = self.tag(file).ok_or(NotThere::File)?;
        let key = (file, clock.machine.0);
        let part = self.parts.binary_search_by_key(&key, |part| (part.file, part.machine));
        let part = part.ok().and_then(|index| self.parts.get(index));
        let own = part.map_or(OwnClocks::default(), |part| part.own);
        Ok(Clock::in_file(clock.machine, clock.id, clock.seq, tag, own))
    }
}

/// The only one of these clocks that equals this one apart from the file; if there is none, the
/// clock itself.
fn only(clocks: &[Clock], clock: Clock) -> Result<Clock, NotThere> {
    let key = without_file(&clock);
    let first = clocks.partition_point(|other| without_file(other) < key);
    let rest = clocks.get(first..).unwrap_or_default();
    let same = rest.partition_point(|other| without_file(other) == key);
    match rest.get(..same).unwrap_or_default() {
        [] => Ok(clock),
        &[only] => Ok(only),
        several => {
            let files = several.iter().map(|clock| clock.file.id);
            Err(NotThere::Several(Files(files.collect())))
        }
    }
}

#[cold]
fn no_machine(machines: &[Option<i64>], machine: MachineId) -> NotThere {
    let raw = machines.iter().position(|raw| *raw == Some(machine.0.into()));
    NotThere::Machine {
        last: (machines.len() as u32).saturating_sub(1),
        raw: raw.map(|index| index as u32),
    }
}

/// The files that the import read; their order is the order of processing, without gaps.
fn files<D: Database + ?Sized>(database: &D) -> Result<Option<Vec<FileTag>>> {
    let sql = "SELECT id, processing_order FROM main.trace_file WHERE processing_order IS NOT NULL";
    let mut files = Vec::new();
    let is_there = each_row(database, "trace_file", sql, |row| {
        files.push((row.integer(1, "processing_order")?, row.number(0, "id")?));
        Ok(())
    })?;
    if !is_there {
        return Ok(None);
    }
    files.sort_unstable();
    let tags = (1..).zip(&files).map(|(order, &(_, id))| FileTag { order, id });
    let mut tags: Vec<FileTag> = tags.collect();
    tags.sort_unstable_by_key(|tag| (tag.id, tag.order));
    tags.dedup_by_key(|tag| tag.id);
    Ok(Some(tags))
}

/// The parts whose clocks are not all those of their machines.
fn parts<D: Database + ?Sized>(database: &D) -> Result<Vec<Part>> {
    let sql = "SELECT trace_file_id, machine_id, own_from IS NOT NULL, is_pinned IS TRUE \
               FROM main.part WHERE own_from IS NOT NULL OR is_pinned";
    let mut parts = Vec::new();
    each_row(database, "part", sql, |row| {
        parts.push(Part {
            file: row.number(0, "trace_file_id")?,
            machine: row.number(1, "machine_id")?,
            own: OwnClocks {
                all: row.integer(2, "own_from")? != 0,
                pin: row.integer(3, "is_pinned")? != 0,
            },
        });
        Ok(())
    })?;
    parts.sort_unstable_by_key(|part| (part.file, part.machine));
    Ok(parts)
}

/// The raw ids of the machines 0, 1 …; `None` if there are none, or if the ids are others.
fn machines<D: Database + ?Sized>(database: &D) -> Result<Option<Vec<Option<i64>>>> {
    let sql = "SELECT id, raw_id FROM main.machine";
    let mut machines = Vec::new();
    each_row(database, "machine", sql, |row| {
        machines.push((row.number(0, "id")?, row.optional_integer(1, "raw_id")?));
        Ok(())
    })?;
    machines.sort_unstable();
    let are_numbered = (0..).zip(&machines).all(|(number, &(id, _))| id == number);
    let is_known = are_numbered && !machines.is_empty();
    Ok(is_known.then(|| machines.into_iter().map(|(_, raw)| raw).collect()))
}
