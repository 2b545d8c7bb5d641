//! The machine and the file in the arguments, by their ids or their names.
//!
//! # Design
//!
//! A number is an id first, because all tables and printed clocks have ids. It is a name only if
//! there is no such id. So a machine with the name "1" cannot hide another.

use anyhow::bail;
use rusqlite::{Connection, OptionalExtension};
use timebase_resolver::MachineId;

use crate::flags::ExplainArguments;

/// The largest number of names in a message.
const LISTED: usize = 10;

/// The owner of the clocks, as far as flags give it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Owner {
    pub machine: Option<MachineId>,
    /// The file that decides the meaning of a clock, as `trace_file.id`.
    pub file: Option<u32>,
}

/// The kind of an owner, the query for its names, and its words in messages.
struct OwnerKind {
    flag: &'static str,
    sql: &'static str,
    many: &'static str,
}

const MACHINE: OwnerKind = OwnerKind {
    flag: "machine",
    sql: "SELECT id, name FROM machine ORDER BY id",
    many: "machines",
};

const FILE: OwnerKind = OwnerKind {
    flag: "file",
    sql: "SELECT id, name FROM trace_file
          WHERE processing_order IS NOT NULL AND trace_type IS NOT 'perfetto_manifest' ORDER BY id",
    many: "files",
};

impl Owner {
    /// The owner from `--machine` and `--file`. If a file has one machine, it determines the
    /// machine.
    pub fn of(arguments: &ExplainArguments, database: &Connection) -> anyhow::Result<Owner> {
        let find = |kind: &OwnerKind, given: &Option<String>| match given {
            Some(given) => kind.find(database, given).map(Some),
            None => Ok(None),
        };
        let machine = find(&MACHINE, &arguments.machine)?;
        let file = find(&FILE, &arguments.file)?;
        let machine = match (machine, file) {
            (None, Some(file)) => machine_of(database, file)?,
            (machine, _) => machine,
        };
        Ok(Owner { machine: machine.map(MachineId), file })
    }
}

impl OwnerKind {
    fn find(&self, database: &Connection, given: &str) -> anyhow::Result<u32> {
        let known = all(database, self.sql)?;
        let by_id = known.iter().find(|(id, _)| id.to_string() == given);
        let by_name = || known.iter().find(|(_, name)| name.as_deref() == Some(given));
        match by_id.or_else(by_name) {
            Some((id, _)) => Ok(*id),
            None => bail!(
                "--{} {given} is neither an id nor a name; the {} are {}",
                self.flag,
                self.many,
                listed(&known)
            ),
        }
    }
}

/// Refuses a machine in a written clock that does not exist.
pub fn check_machine(database: &Connection, text: &str, machine: MachineId) -> anyhow::Result<()> {
    let known = all(database, MACHINE.sql)?;
    if known.is_empty() || known.iter().any(|(id, _)| *id == machine.0) {
        return Ok(());
    }
    bail!("{text}: there is no machine {}; the machines are {}", machine.0, listed(&known))
}

/// The machine of a file, if it is the only one, or if it is the first of all machines.
fn machine_of(database: &Connection, file: u32) -> anyhow::Result<Option<u32>> {
    let sql = "SELECT m.id, m.name FROM part AS p JOIN machine AS m ON m.id = p.machine_id
               WHERE p.trace_file_id = ?1 ORDER BY m.id";
    let mut statement = database.prepare(sql)?;
    let rows = statement.query_map([file], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let machines: Vec<(u32, Option<String>)> = rows.collect::<rusqlite::Result<_>>()?;
    match machines.as_slice() {
        [] => Ok(None),
        [(only, _)] => Ok(Some(*only)),
        [(0, _), ..] => Ok(Some(0)),
        several => bail!(
            "--file {file} has several machines; choose one with --machine: {}",
            listed(several)
        ),
    }
}

fn all(database: &Connection, sql: &str) -> anyhow::Result<Vec<(u32, Option<String>)>> {
    let mut statement = database.prepare(sql)?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn listed(known: &[(u32, Option<String>)]) -> String {
    let shown = known.iter().take(LISTED).map(|(id, name)| match name {
        Some(name) => format!("{id} ({name})"),
        None => id.to_string(),
    });
    let shown: Vec<String> = shown.collect();
    let shown = shown.join(", ");
    match known.len().saturating_sub(LISTED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// The names of the clocks' machines and files, as parts of a line; empty if there are none.
pub fn names(
    database: &Connection,
    machines: &[u32],
    files: &[u32],
) -> anyhow::Result<Vec<String>> {
    let name = |sql: &str, id: u32| -> anyhow::Result<Option<String>> {
        let name = database.query_row(sql, [id], |row| row.get(0));
        Ok(name.optional()?.flatten())
    };
    let mut said = Vec::new();
    // The only machine needs no name.
    if machines.iter().any(|machine| *machine != 0) {
        for &machine in machines {
            if let Some(name) = name("SELECT name FROM machine WHERE id = ?1", machine)? {
                said.push(format!("machine {machine} is {name},"));
            }
        }
    }
    for &file in files.iter().filter(|file| **file != 0) {
        if let Some(name) = name("SELECT name FROM trace_file WHERE id = ?1", file)? {
            said.push(format!("file {file} is {name},"));
        }
    }
    if let Some(last) = said.last_mut() {
        last.pop();
    }
    Ok(said)
}
