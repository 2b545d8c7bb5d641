//! The formats of events: the name of each kind, and the schema of its messages.

use rustc_hash::FxHashMap;
use timebase_descriptor::{Kind as FieldKind, MessageId};

use crate::readers::packet_schema::PacketSchema;

/// The name of a kind of events, and the schema of its messages.
#[derive(Debug, Clone, Copy)]
pub(super) struct EventFormat {
    /// The number of its name.
    pub name: i64,
    pub message: Option<MessageId>,
}

/// The formats of all kinds that have been seen.
#[derive(Debug, Default)]
pub(super) struct EventFormats {
    schema: Option<Schema>,
    /// The number of changes of the schema at the time when they were seen.
    schema_changes: u64,
    met: FxHashMap<(u32, u32), EventFormat>,
    /// Self-describing kinds, by machine and field of `FtraceEvent`.
    described: FxHashMap<(u32, u32), MessageId>,
    names: FxHashMap<String, i64>,
    /// The number of events of no kind, which have no name.
    nameless: Option<i64>,
}

/// The parts of the schema that are used.
#[derive(Debug, Clone, Copy)]
struct Schema {
    event: Option<MessageId>,
    /// A message without fields, for kinds that the schema does not know.
    unknown: Option<MessageId>,
}

impl EventFormats {
    /// Adds a bundle's description of a kind.
    ///
    /// # Errors
    ///
    /// The error in the description.
    pub fn describe(
        &mut self,
        machine: u32,
        (field, descriptor): (u32, &[u8]),
        schema: &mut PacketSchema,
    ) -> Result<(), String> {
        if self.described.contains_key(&(machine, field)) {
            return Ok(());
        }
        match schema.add_message(descriptor) {
            Ok(message) => {
                self.described.insert((machine, field), message);
                Ok(())
            }
            Err(error) => Err(format!("the description of event {field} cannot be used: {error}")),
        }
    }

    /// Forgets the formats if the schema has changed, and returns whether it has.
    pub fn follow(&mut self, schema: &PacketSchema) -> bool {
        let changed = self.schema_changes != schema.changes();
        if changed {
            self.schema_changes = schema.changes();
            self.schema = None;
            self.met.clear();
        }
        changed
    }

    /// The format of a field of `FtraceEvent`.
    #[inline]
    pub fn get(&mut self, machine: u32, number: u32, schema: &mut PacketSchema) -> EventFormat {
        match self.met.get(&(machine, number)) {
            Some(&format) => format,
            None => self.meet(machine, number, schema),
        }
    }

    #[cold]
    fn meet(&mut self, machine: u32, number: u32, schema: &mut PacketSchema) -> EventFormat {
        let messages = *self.schema.get_or_insert_with(|| Schema {
            event: schema.pool().message("perfetto.protos.FtraceEvent"),
            unknown: schema.add_empty_message(),
        });
        let pool = schema.pool();
        let known = match self.described.get(&(machine, number)) {
            Some(&message) => Some((pool.message_name(message).to_owned(), message)),
            None => messages.event.and_then(|event| {
                let field = pool.field(event, number)?;
                match field.kind {
                    FieldKind::Message(message) => Some((field.name.clone(), message)),
                    _ => None,
                }
            }),
        };
        let (name, message) = match known {
            Some((name, message)) => (name, Some(message)),
            None => (number.to_string(), messages.unknown),
        };
        let format = EventFormat { name: self.name(&name), message };
        self.met.insert((machine, number), format);
        format
    }

    /// The number of a name.
    pub fn name(&mut self, name: &str) -> i64 {
        if let Some(&id) = self.names.get(name) {
            return id;
        }
        let id = self.next_number();
        self.names.insert(name.to_owned(), id);
        id
    }

    /// The number of events of no kind.
    pub fn nameless(&mut self) -> i64 {
        let next = self.next_number();
        *self.nameless.get_or_insert(next)
    }

    fn next_number(&self) -> i64 {
        let count = self.names.len() + usize::from(self.nameless.is_some());
        count as i64
    }

    /// All names and their numbers, in the order of the numbers.
    pub fn names(&self) -> Vec<(Option<&str>, i64)> {
        let names = self.names.iter();
        let mut names: Vec<_> = names.map(|(name, &id)| (Some(name.as_str()), id)).collect();
        names.extend(self.nameless.map(|id| (None, id)));
        names.sort_unstable_by_key(|&(_, id)| id);
        names
    }
}
