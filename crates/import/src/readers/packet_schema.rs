//! The schema of packets: Perfetto's, with what the user and the trace add to it.

use std::fs;
use std::path::Path;

use timebase_descriptor::{DescriptorError, MessageId, Pool, Unreadable};
use timebase_schema::tables::descriptor;

use crate::error::Error;
use crate::output::{Cell, Rows};

/// The schema while a trace is read.
#[derive(Debug, Default)]
pub(crate) struct PacketSchema {
    /// Read when it is needed.
    pool: Option<Pool>,
    /// How often it was added to.
    changes: u64,
    /// What the user adds, by the names of the files, until it is in the database.
    of_user: Vec<(String, Vec<u8>)>,
}

impl PacketSchema {
    /// Perfetto's schema and these files of the user's, each a serialized
    /// `FileDescriptorSet`.
    pub fn new(files: &[impl AsRef<Path>]) -> Result<Self, Error> {
        let mut schema = PacketSchema::default();
        for path in files {
            let path = path.as_ref();
            let set = fs::read(path).map_err(|error| Error::OpenDescriptor {
                path: path.to_owned(),
                error,
            })?;
            let extended = schema.pool_mut().extend(&set);
            extended.map_err(|error| Error::Descriptor {
                path: path.to_owned(),
                why: error.to_string(),
            })?;
            let name = path.to_string_lossy().into_owned();
            schema.of_user.push((name, set));
        }
        Ok(schema)
    }

    /// Keeps what the user adds for the database.
    pub fn begin(&mut self, rows: &mut Rows<'_>) {
        for (name, set) in std::mem::take(&mut self.of_user) {
            keep(rows, &name, None, &set);
        }
    }

    /// The messages that are known.
    pub fn pool(&mut self) -> &Pool {
        self.pool_mut()
    }

    fn pool_mut(&mut self) -> &mut Pool {
        self.pool.get_or_insert_with(Pool::perfetto)
    }

    /// The messages that are known by then, if anybody has asked for one.
    pub fn known(&self) -> Option<Pool> {
        self.pool.clone()
    }

    /// A `TraceConfig` in protobuf's text format (rule MD8).
    pub fn config_text(&mut self, config: &[u8]) -> Result<String, Unreadable> {
        let pool = self.pool_mut();
        let message = pool.message("perfetto.protos.TraceConfig");
        let mut text = String::new();
        pool.write_text(message.unwrap_or(MessageId::UNKNOWN), config, &mut text)?;
        Ok(text)
    }

    /// How often something was added: what was made of the schema before may look
    /// otherwise now.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Adds what a packet brings along, and keeps it for the database.
    pub fn extend(
        &mut self,
        rows: &mut Rows<'_>,
        packet: i64,
        set: &[u8],
    ) -> Result<(), DescriptorError> {
        self.pool_mut().extend(set)?;
        self.changes += 1;
        keep(rows, "trace", Some(packet), set);
        Ok(())
    }

    /// Adds a message that describes itself.
    pub fn add_message(&mut self, descriptor: &[u8]) -> Result<MessageId, DescriptorError> {
        let message = self.pool_mut().add_message(descriptor)?;
        self.changes += 1;
        Ok(message)
    }

    /// Adds a message of no fields, which changes nothing for others.
    pub fn add_empty_message(&mut self) -> Option<MessageId> {
        self.pool_mut().add_message(&[]).ok()
    }
}

fn keep(rows: &mut Rows<'_>, source: &str, packet: Option<i64>, set: &[u8]) {
    let id = rows.count(&descriptor::TABLE) + 1;
    let (source, data) = (rows.text(source), rows.blob(set));
    rows.push(descriptor::Row {
        id: Cell::from(id),
        source,
        packet_id: Cell::or_null(packet),
        data,
    });
}
