//! The rows of JSON traces that are written, and the form of the trace that they become.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};

use rusqlite::Connection;

use super::descriptors;
use super::owned::described;
use super::owners::{OwnerDescriptor, Owners};
use super::sequence::unused;
use super::tracks::{Choice, Described, Tracks};
use super::unlike::{Difference, Unlike};
use super::uuids::Uuids;

/// The form of a trace that is written.
#[derive(Debug)]
pub(crate) struct Form {
    /// The file whose rows are written; `None` for those of all JSON traces.
    pub file: Option<i64>,
    /// The numbers of machines in packets, by their rows. Others have 0.
    pub machines: HashMap<i64, u64>,
    /// The clock that packets name; 0 for none.
    pub clock: u32,
    /// The sequences of descriptors and of events. A thread's descriptor would make events of its sequence the thread's.
    pub sequences: (u64, u64),
    /// Whether it begins with what producers say of their clocks (rule JS32).
    pub has_snapshot: bool,
}

impl Form {
    /// A trace of its own.
    pub fn alone(file: Option<i64>) -> Form {
        Form { file, machines: HashMap::new(), clock: 0, sequences: (1, 2), has_snapshot: true }
    }

    /// One trace of all JSON traces of a database.
    ///
    /// # Errors
    ///
    /// If the database cannot be read.
    pub fn of_all(conn: &Connection) -> rusqlite::Result<Form> {
        let mut statement = conn.prepare("SELECT id, id FROM machine WHERE id > 0")?;
        let machines = statement.query_map([], |row| {
            let (row, number): (i64, i64) = (row.get(0)?, row.get(1)?);
            Ok((row, number.cast_unsigned()))
        })?;
        Ok(Form { machines: machines.collect::<rusqlite::Result<_>>()?, ..Form::alone(None) })
    }

    /// The packets of all JSON traces of a database, among those of its Perfetto trace, with times on a clock.
    ///
    /// # Errors
    ///
    /// If the database cannot be read.
    pub fn beside(conn: &Connection, clock: u32) -> rusqlite::Result<Form> {
        let mut statement = conn.prepare("SELECT id, raw_id FROM machine ORDER BY id")?;
        let machines = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let machines: Vec<(i64, Option<i64>)> = machines.collect::<rusqlite::Result<_>>()?;
        let own = |raw: Option<i64>| raw.and_then(|raw| u32::try_from(raw).ok()).map(u64::from);
        let used: HashSet<u64> = machines.iter().filter_map(|(_, raw)| own(*raw)).collect();
        let mut free = (1..).filter(|number| !used.contains(number));
        let numbers = machines.iter().map(|(row, raw)| {
            let number = own(*raw).or_else(|| free.next()).unwrap_or(0);
            (*row, number)
        });
        let machines = numbers.collect();
        Ok(Form {
            machines,
            clock,
            sequences: unused(conn)?,
            has_snapshot: false,
            ..Form::alone(None)
        })
    }
}

/// The rows of JSON traces, in a database that may have those of Perfetto traces, too.
pub(crate) struct JsonRows<'c> {
    pub(super) conn: &'c Connection,
    pub(super) uuids: Uuids,
    pub(super) owners: Owners,
    /// Whether there are Perfetto traces. They may describe the same threads, and a descriptor is then not earlier than
    /// the first row below it: an earlier one would be of the thread that had the tid before.
    pub(super) is_beside: bool,
    /// The first file of each machine that only JSON traces have. It has the threads without rows, and threads' states,
    /// which are of no file.
    homes: HashMap<i64, i64>,
    pub(super) has_states: bool,
    pub(super) outlasted: HashSet<i64>,
    /// The number of samples of callstacks of JSON traces.
    pub(super) samples: u64,
}

const HOMES: &str = "
    SELECT machine_id, trace_file_id FROM part AS p JOIN trace_file AS f ON f.id = p.trace_file_id
    WHERE NOT EXISTS (SELECT * FROM part AS o JOIN trace_file AS of ON of.id = o.trace_file_id
                      WHERE o.machine_id = p.machine_id AND of.trace_type <> 'json')
    ORDER BY f.processing_order DESC";

impl<'c> JsonRows<'c> {
    /// # Errors
    ///
    /// If the database cannot be read.
    pub fn of(conn: &'c Connection) -> rusqlite::Result<JsonRows<'c>> {
        let is = |sql: &str| conn.query_row(sql, [], |row| row.get::<_, bool>(0));
        let is_beside = is("SELECT EXISTS (SELECT * FROM trace_file WHERE trace_type = 'proto')")?;
        let mut used = HashSet::new();
        let beside = is_beside.then(|| described(conn, &mut used)).transpose()?;
        let uuids = match is_beside {
            true => Uuids::apart(&used),
            false => Uuids { base: 0 },
        };
        let mut statement = conn.prepare(HOMES)?;
        let homes = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        // Only JSON traces have this source.
        let samples = "SELECT count(*) FROM stack_sample_record AS s JOIN stack_sample_source AS o ON o.id = s.source
                       WHERE o.name = 'legacy_v8'";
        let samples: i64 = conn.query_row(samples, [], |row| row.get(0))?;
        Ok(JsonRows {
            conn,
            uuids,
            owners: Owners::of(conn, uuids, beside.as_ref())?,
            is_beside,
            homes: homes.collect::<rusqlite::Result<_>>()?,
            has_states: is("SELECT EXISTS (SELECT * FROM thread_state)")?,
            outlasted: outlasted(conn)?,
            samples: samples.cast_unsigned(),
        })
    }

    /// Things that are not as they were in all traces together.
    pub fn unlike(&self) -> Unlike {
        // Beside a Perfetto trace, MONOTONIC, on which they are read, may lead elsewhere.
        let samples = if self.is_beside { self.samples } else { 0 };
        let mut unlike = Unlike::default();
        unlike.count(Difference::Renumbered, self.owners.renumbered);
        unlike.count(Difference::Sample, samples);
        unlike
    }

    /// Whether the trace has what no file of a machine has for itself.
    pub(super) fn is_home(&self, form: &Form, machine: i64) -> bool {
        let home = self.homes.get(&machine);
        home.is_some_and(|home| form.file.is_none_or(|file| file == *home))
    }

    /// The descriptors of owners and tracks, in their order.
    pub(super) fn descriptors(
        &self,
        choice: &Choice<'_>,
        form: &Form,
        tracks: &Tracks,
    ) -> VecDeque<Described> {
        let machines: BTreeSet<u64> = tracks.all.values().map(|track| track.machine).collect();
        let sorted = machines.into_iter().filter(|_| self.owners.are_sorted());
        let sorted = sorted.map(|machine| Described {
            first: None,
            machine,
            message: descriptors::sorted(),
        });
        // Where there is a Perfetto trace, it is not known whose thread one without rows is.
        let is_wanted = |owner: &OwnerDescriptor| {
            tracks.owners.contains_key(&owner.key) || self.is_home(form, owner.machine)
        };
        let owners = self.owners.descriptors(form.file.is_none());
        let owners: Vec<OwnerDescriptor> = owners.filter(is_wanted).collect();
        let owners = owners.into_iter().map(|owner| Described {
            first: tracks.owners.get(&owner.key).copied().flatten(),
            machine: choice.machine(owner.machine),
            message: owner.message,
        });
        let all = sorted.chain(owners).chain(tracks.descriptors.iter().cloned());
        let mut all: Vec<Described> = match self.is_beside {
            false => all.map(|of| Described { first: None, ..of }).collect(),
            true => all.collect(),
        };
        all.sort_by_key(|of| of.first);
        all.into()
    }
}

/// Slices that cannot be complete events or instants: one inside ends later, begins at their end, or is longer than an
/// instant.
fn outlasted(conn: &Connection) -> rusqlite::Result<HashSet<i64>> {
    let mut statement = conn.prepare(
        "WITH RECURSIVE found (id) AS (
           SELECT p.id FROM slice_record AS c JOIN slice_record AS p ON p.id = c.parent_id
           WHERE p.dur >= 0 AND (c.dur < 0 OR c.ts + c.dur > p.ts + p.dur OR p.dur > 0 AND c.ts = p.ts + p.dur
                              OR p.dur = 0 AND c.dur <> 0)
           UNION
           SELECT p.id FROM found JOIN slice_record AS c ON c.id = found.id
           JOIN slice_record AS p ON p.id = c.parent_id WHERE p.dur = 0)
         SELECT id FROM found",
    )?;
    statement.query_map([], |row| row.get(0))?.collect()
}
