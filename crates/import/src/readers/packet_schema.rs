//! The schema of packets: Perfetto's, with additions from the user and the trace.

use std::fs;
use std::path::Path;

use timebase_descriptor::{DescriptorError, MessageId, Pool, Unreadable};
use timebase_schema::tables::descriptor;

use crate::error::Error;
use crate::output::{Cell, Rows};

/// The schema while a trace is read.
#[derive(Debug, Default)]
pub(crate) struct PacketSchema {
    /// It is read when it is needed.
    pool: Option<Pool>,
    /// The number of additions.
    changes: u64,
    /// The user's additions, by the names of the files, until they are in the database.
    of_user: Vec<(String, Vec<u8>)>,
}

impl PacketSchema {
    /// Perfetto's schema and the user's files, each a serialized `FileDescriptorSet`.
    pub fn new(files: &[impl AsRef<Path>]) -> Result<Self, Error> {
        let mut schema = PacketSchema::default();
        for path in files {
            let path = path.as_ref();
            let set = fs::read(path)
                .map_err(|error| Error::OpenDescriptor { path: path.to_owned(), error })?;
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

    /// Stores the user's additions in the database.
    pub fn begin(&mut self, rows: &mut Rows<'_>) {
        for (name, set) in std::mem::take(&mut self.of_user) {
            keep(rows, &name, None, &set);
        }
    }

    /// The known messages.
    pub fn pool(&mut self) -> &Pool {
        self.pool_mut()
    }

    fn pool_mut(&mut self) -> &mut Pool {
        self.pool.get_or_insert_with(Pool::perfetto)
    }

    /// The messages that are known by then, if a message was needed.
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

    /// The number of additions. After an addition, results from the former schema may be outdated.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Adds the descriptors of a packet, and stores them in the database.
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

    /// Adds a message from its own description.
    pub fn add_message(&mut self, descriptor: &[u8]) -> Result<MessageId, DescriptorError> {
        let message = self.pool_mut().add_message(descriptor)?;
        self.changes += 1;
        Ok(message)
    }

    /// Adds a message without fields, which changes nothing for others.
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
