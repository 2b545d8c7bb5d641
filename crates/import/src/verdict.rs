//! What it means that a trace is damaged: it is refused, or imported as far as it
//! can be read and the user told.

use rusqlite::{Connection, OptionalExtension};
use timebase_schema::{Table, tables};
use timebase_trace::{OtherFile, Source};

use crate::damaged::cut;
use crate::error::Error;
use crate::frame::{Frame, counter};
use crate::options::Conversion;

/// The first thing that says a database is of a damaged trace: one that a strict import
/// would have refused. `None` if nothing does.
///
/// ```
/// let conn = rusqlite::Connection::open_in_memory()?;
/// conn.execute_batch(timebase_schema::TABLES)?;
/// assert_eq!(timebase_import::damage(&conn)?, None);
/// # Ok::<(), rusqlite::Error>(())
/// ```
///
/// # Errors
///
/// If the table `import_log` cannot be read.
pub fn damage(conn: &Connection) -> rusqlite::Result<Option<String>> {
    let sql = "SELECT message FROM import_log
        WHERE code IN ('cut', 'damaged', 'corrupt_packet', 'corrupt_payload') ORDER BY id LIMIT 1";
    conn.query_row(sql, [], |row| row.get(0)).optional()
}

/// A trace that was read, however it ended.
pub(crate) struct ReadTrace<'a> {
    pub source: &'a Source,
    /// How many rows each table has got, by its number.
    pub rows: Vec<i64>,
    pub strict: bool,
    /// How its readings are brought to trace time.
    pub conversion: Conversion,
    /// How it is compressed as a whole.
    pub compression: Option<&'static str>,
    /// What it is if it is no trace, as far as its first bytes say it. It is asked only where
    /// something speaks against its being one.
    pub other: Option<OtherFile>,
}

impl ReadTrace<'_> {
    /// How many rows a table has got.
    pub fn count(&self, table: &Table) -> u64 {
        self.rows[table.number].unsigned_abs()
    }

    /// How many packets there are.
    pub fn packets(&self) -> u64 {
        self.count(&tables::packet::TABLE)
    }

    /// Whether no packet of it could be read.
    pub fn is_unread(&self, frame: &Frame) -> bool {
        let (packets, payloads) = self.corrupt(frame);
        self.packets() == packets + payloads
    }

    fn not_a_trace(&self, why: String) -> Error {
        let source_name = self.source.to_string();
        match (self.other.clone(), self.compression) {
            (None, _) => Error::NotATrace { source_name, why },
            (Some(other), None) => Error::OtherFile {
                source_name,
                why,
                other,
            },
            (Some(other), Some(compression)) => Error::OtherFileInside {
                source_name,
                compression,
                why,
                other,
            },
        }
    }

    /// What is known to be something else, although nothing of it is damaged: a source without
    /// any packet, and what only looks like packets.
    pub fn emptiness(&self) -> Result<(), Error> {
        match &self.other {
            Some(_) if self.packets() == 0 => {
                Err(self.not_a_trace("there is no packet in it".to_owned()))
            }
            Some(other) if other.is_sure => {
                Err(self.not_a_trace("nothing in it has a time or a writer".to_owned()))
            }
            _ => Ok(()),
        }
    }

    /// How many packets cannot be read, and how many have a payload that cannot.
    fn corrupt(&self, frame: &Frame) -> (u64, u64) {
        let counter = |counter| frame.journal.counter(counter);
        (
            counter(counter::PACKETS_CORRUPT),
            counter(counter::PAYLOADS_CORRUPT),
        )
    }

    /// What damage means: an error if it is all there is or the user is strict,
    /// otherwise a warning.
    pub fn damage(&self, frame: &Frame) -> Result<Option<String>, Error> {
        let Some(first) = &frame.damage.first else {
            return Ok(None);
        };
        let source_name = self.source.to_string();
        let why = first.why.clone();
        let is_other = self.other.is_some();
        let is_sure = self.other.as_ref().is_some_and(|other| other.is_sure);
        if self.is_unread(frame) && (!first.is_plausible || is_other) || is_sure && first.is_begin {
            return Err(self.not_a_trace(why));
        }
        if self.strict {
            return Err(Error::Damaged { source_name, why });
        }
        let packets = self.packets();
        let bytes = frame.journal.counter(counter::DAMAGED_BYTES);
        let regions = frame.journal.counter(counter::DAMAGED_REGIONS);
        Ok(Some(match (regions, first.is_cut) {
            (1, true) => format!("{source_name}: {}", cut(&why, packets)),
            (1, false) => format!(
                "{source_name}: {why}; {bytes} bytes are left out, and the {packets} packets around \
                 them imported"
            ),
            (regions, _) => format!(
                "{source_name}: {regions} places are damaged; {bytes} bytes are left out, and the \
                 {packets} packets around them imported (the table import_log says which and why)"
            ),
        }))
    }

    /// Packets and payloads that could not be read: an error if there are no others
    /// or the user is strict, otherwise warnings.
    pub fn corruption(&self, frame: &Frame) -> Result<Vec<String>, Error> {
        let (packets, payloads) = self.corrupt(frame);
        let all = self.packets();
        let mut what = Vec::new();
        if packets > 0 {
            what.push((
                format!("{packets} of {all} packets cannot be read"),
                "they are rows of type 'corrupt', and import_log says why",
            ));
        }
        if payloads > 0 {
            what.push((
                format!("the payloads of {payloads} of {all} packets cannot be read"),
                "the packets are rows without what their payloads hold, and import_log says why",
            ));
        }
        let Some((why, _)) = what.first() else {
            return Ok(Vec::new());
        };
        let (source_name, why) = (self.source.to_string(), why.clone());
        if packets + payloads == all {
            return Err(self.not_a_trace(why));
        }
        if self.strict {
            return Err(Error::Damaged { source_name, why });
        }
        let warnings = what
            .iter()
            .map(|(why, then)| format!("{source_name}: {why}; {then}"));
        Ok(warnings.collect())
    }
}
