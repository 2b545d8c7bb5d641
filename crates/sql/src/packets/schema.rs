//! The schema of a connection's packets, made from its table `descriptor`.

use std::ops::ControlFlow;

use crate::{Database, Error, Result, Row, Table, unless_interrupted};

use timebase_descriptor::MessageId;
use timebase_descriptor::{Path, PathError};
use timebase_descriptor::{Pool, TRACE_PACKET};

/// Reads just enough rows to see that there are too many: the table may be an endless view.
const VERSION: &str =
    "SELECT count(*), max(id) FROM (SELECT id FROM main.descriptor LIMIT 10001 OFFSET 0)";
const DESCRIPTORS: &str =
    "SELECT id, data FROM (SELECT id, data FROM main.descriptor LIMIT 10001 OFFSET 0) ORDER BY id";

/// The limit for the number of descriptors, and for their total size. A byte of a descriptor takes
/// up to a hundred bytes of memory; Perfetto's own schema has less than one million bytes.
const MOST: usize = 10_000;
const MOST_BYTES: usize = 16 << 20;

/// The number of paths that are kept.
const PATHS: usize = 16;

/// Perfetto's schema, extended by a version of `descriptor`.
pub(super) struct PacketSchema {
    pub pool: Pool,
    /// The message type of every packet.
    pub packet: MessageId,
    paths: Vec<(Box<str>, Path)>,
    /// The path that was parsed first, once the list is full.
    oldest: usize,
}

impl From<Pool> for PacketSchema {
    fn from(pool: Pool) -> Self {
        // Without a schema, all fields of a packet are unknown.
        let packet = pool.message(TRACE_PACKET).unwrap_or(MessageId::UNKNOWN);
        PacketSchema { pool, packet, paths: Vec::new(), oldest: 0 }
    }
}

impl PacketSchema {
    /// Parses a text as a path.
    pub fn path(&mut self, text: &str) -> Result<(&Pool, &Path), PathError> {
        let known = self.paths.iter().position(|(of, _)| **of == *text);
        let index = match known {
            Some(index) => index,
            None => self.keep(text, Path::parse(&self.pool, self.packet, text)?),
        };
        Ok((&self.pool, &self.paths[index].1))
    }

    fn keep(&mut self, text: &str, path: Path) -> usize {
        let kept = (text.into(), path);
        if self.paths.len() < PATHS {
            self.paths.push(kept);
            return self.paths.len() - 1;
        }
        let index = self.oldest;
        self.paths[index] = kept;
        self.oldest = (index + 1) % PATHS;
        index
    }
}

impl Table for PacketSchema {
    const NAME: &'static str = "descriptor";

    /// The number of rows of the table, and the last one; `None` without a table.
    type Version = Option<(i64, Option<i64>)>;

    fn version<D: Database + ?Sized>(database: &D) -> Result<Option<Self::Version>> {
        let mut version = None;
        let read = database.query(VERSION, |row| {
            let count = row.integer(0, "count")?;
            version = Some((count, row.optional_integer(1, "id")?));
            Ok(ControlFlow::Break(()))
        });
        Ok(Some(unless_interrupted(read)?.and(version)))
    }

    fn load<D: Database + ?Sized>(function: &str, database: &D) -> Result<Self> {
        let mut pool = Pool::perfetto();
        // A table with this name that belongs to another program extends nothing.
        if Self::version(database)?.flatten().is_some() {
            let mut room = (MOST, MOST_BYTES);
            let read = database.query(DESCRIPTORS, |row| {
                extend(&mut pool, function, row, &mut room)?;
                Ok(ControlFlow::Continue(()))
            });
            match read {
                Err(error) if !error.message().starts_with("no such column") => return Err(error),
                _ => (),
            }
        }
        Ok(pool.into())
    }

    /// `descriptor` may be a view that finds descriptors in packets.
    fn while_loading() -> Option<Self> {
        Some(Pool::perfetto().into())
    }
}

/// `room` is the remaining number of rows and bytes.
fn extend(pool: &mut Pool, function: &str, row: &Row<'_>, room: &mut (usize, usize)) -> Result<()> {
    let id = row.integer(0, "id");
    let id = id.map_err(|why| Error::new(format_args!("{function}(): descriptor: {why}")))?;
    let unusable = |why: &dyn std::fmt::Display| {
        Error::new(format_args!("{function}(): descriptor {id} cannot be used: {why}"))
    };
    let data = row.blob(1, "data").map_err(|why| unusable(&why))?;
    let (Some(rows), Some(bytes)) = (room.0.checked_sub(1), room.1.checked_sub(data.len())) else {
        return Err(unusable(&format_args!(
            "there are more than {MOST}, or they have more than {MOST_BYTES} bytes together"
        )));
    };
    *room = (rows, bytes);
    pool.extend(data).map_err(|why| unusable(&why))
}
