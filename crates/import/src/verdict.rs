//! The consequence of damage in a trace: it is refused, or the readable part is imported and the
//! user gets a warning.

use rusqlite::{Connection, OptionalExtension};
use timebase_trace::SourceError;

use crate::damaged::cut;
use crate::error::Error;
use crate::pipeline::FileRead;

/// The first message that says that a database is of a damaged trace, which a strict import would
/// have refused. `None` if there is no such message.
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
        WHERE code IN ('cut', 'damaged', 'json_cut', 'json_damaged', 'json_no_event', 'corrupt_packet',
             'corrupt_payload') ORDER BY id LIMIT 1";
    conn.query_row(sql, [], |row| row.get(0)).optional()
}

/// A file that was read, however it ended.
pub(crate) struct Verdict<'a> {
    pub file: &'a FileRead,
    /// The name of the file in messages.
    pub name: &'a str,
    pub strict: bool,
}

impl Verdict<'_> {
    fn name(&self) -> String {
        self.name.to_owned()
    }

    fn not_a_trace(&self, why: String) -> Error {
        let source_name = self.name();
        // A file in no known format was read as packets, which says nothing about a text.
        let lacks = self.file.other.as_ref().and_then(|other| other.lacks);
        let lacks = lacks.filter(|_| !self.file.file.has_own_clock());
        let why = lacks.map_or(why, |lacks| lacks.to_string());
        match (self.file.other.clone(), self.file.compression) {
            (None, _) => Error::NotATrace { source_name, why },
            (Some(other), None) => Error::OtherFile { source_name, why, other: Box::new(other) },
            (Some(other), Some(compression)) => {
                let other = Box::new(other);
                Error::OtherFileInside { source_name, compression, why, other }
            }
        }
    }

    /// The warnings for the user about the file.
    ///
    /// # Errors
    ///
    /// If the file has no part of a trace, or if a part of it is none and the user is strict.
    pub fn warnings(&self) -> Result<Vec<String>, Error> {
        if !self.file.read.damage.is_any() {
            if self.file.is_empty {
                let source_name = self.name();
                return Err(SourceError::Empty { source_name }.into());
            }
            self.emptiness()?;
        }
        let mut warnings = Vec::new();
        warnings.extend(self.damage()?);
        warnings.extend(self.corruption()?);
        let of_format = self.file.read.warnings.iter();
        warnings.extend(of_format.map(|text| format!("{}: {text}", self.name)));
        if let Some(flaw) = &self.file.flaw {
            let (source_name, why) = (self.name(), flaw.clone());
            if self.strict {
                return Err(Error::Damaged { source_name, why });
            }
            warnings.push(format!("{source_name}: {why}"));
        }
        Ok(warnings)
    }

    /// Refuses files that are known to be something else although they have no damage: a file
    /// without any packet, and bytes that only look like packets.
    fn emptiness(&self) -> Result<(), Error> {
        match &self.file.other {
            // A trace in JSON may have no events (rule JS1).
            Some(_) if self.file.file.has_own_clock() => Ok(()),
            Some(_) if self.file.read.packets == 0 => {
                Err(self.not_a_trace("there is no packet in it".to_owned()))
            }
            Some(other) if other.is_sure => {
                Err(self.not_a_trace("nothing in it has a time or a writer".to_owned()))
            }
            _ => Ok(()),
        }
    }

    /// The consequence of damage: an error if there is nothing but damage or the user is strict,
    /// otherwise a warning.
    fn damage(&self) -> Result<Option<String>, Error> {
        let read = &self.file.read;
        let Some(first) = &read.damage.first else {
            return Ok(None);
        };
        let source_name = self.name();
        let why = first.why.clone();
        let is_other = self.file.other.is_some();
        let is_sure = self.file.other.as_ref().is_some_and(|other| other.is_sure);
        if read.is_unread() && (!first.is_plausible || is_other) || is_sure && first.is_begin {
            return Err(self.not_a_trace(why));
        }
        if self.strict {
            return Err(Error::Damaged { source_name, why });
        }
        let packets = read.packets;
        let (bytes, regions) = (read.counted.damaged_bytes, read.counted.damaged_regions);
        Ok(Some(match (regions, first.is_cut) {
            (1, true) => format!("{source_name}: {}", cut(&why, packets)),
            (1, false) => format!(
                "{source_name}: {why}; {bytes} bytes are left out, and the {packets} packets around \
                 them read"
            ),
            (regions, _) => format!(
                "{source_name}: {regions} places are damaged; {bytes} bytes are left out, and the \
                 {packets} packets around them read (the table import_log of an import says which and why)"
            ),
        }))
    }

    /// Packets and payloads that could not be read: an error if there are no others
    /// or the user is strict, otherwise warnings.
    fn corruption(&self) -> Result<Vec<String>, Error> {
        let counted = self.file.read.counted;
        let (packets, payloads) = (counted.packets_corrupt, counted.payloads_corrupt);
        let all = self.file.read.packets;
        let mut what = Vec::new();
        if packets > 0 {
            what.push((
                format!("{packets} of {all} packets cannot be read"),
                "they are rows with the type 'corrupt', and import_log says why",
            ));
        }
        if payloads > 0 {
            what.push((
                format!("the payloads of {payloads} of {all} packets cannot be read"),
                "the packets are rows without the data of their payloads, and import_log says why",
            ));
        }
        let Some((why, _)) = what.first() else {
            return Ok(Vec::new());
        };
        let (source_name, why) = (self.name(), why.clone());
        if packets + payloads == all {
            return Err(self.not_a_trace(why));
        }
        if self.strict {
            return Err(Error::Damaged { source_name, why });
        }
        let warnings = what.iter().map(|(why, then)| format!("{source_name}: {why}; {then}"));
        Ok(warnings.collect())
    }
}
