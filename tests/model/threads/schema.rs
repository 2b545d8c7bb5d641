//! Descriptors of messages, which are read as plain messages (A9, A10).

use super::packets::Packets;
use super::wire::Message;
use flate2::read::MultiGzDecoder;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Read as _;
use std::sync::OnceLock;

/// The known messages and enums, by their full names with the leading dot.
#[derive(Clone, Debug, Default)]
pub struct Schema {
    messages: BTreeMap<String, BTreeMap<u32, Described>>,
    enums: BTreeMap<String, BTreeMap<i32, String>>,
}

/// A field.
#[derive(Clone, Debug)]
pub struct Described {
    pub name: String,
    /// A number of FieldDescriptorProto.Type.
    pub kind: u64,
    /// For a message or an enum.
    pub type_name: String,
    pub is_repeated: bool,
    pub is_extension: bool,
}

const EXTENSION_DESCRIPTOR: u32 = 72;

/// Perfetto's schema with the trace's additions.
pub fn schema(packets: &Packets) -> Cow<'static, Schema> {
    static PERFETTO: OnceLock<Schema> = OnceLock::new();
    let perfetto = PERFETTO.get_or_init(|| {
        let mut schema = Schema::default();
        schema.add(timebase_schema::PERFETTO_DESCRIPTOR);
        schema
    });
    let mut schema = Cow::Borrowed(perfetto);
    for (.., descriptor) in packets.trusted(EXTENSION_DESCRIPTOR) {
        if let Some(set) = descriptor.bytes(1) {
            schema.to_mut().add(set);
        }
        if let Some(gzip) = descriptor.bytes(2) {
            let mut set = Vec::new();
            if MultiGzDecoder::new(gzip).read_to_end(&mut set).is_ok() {
                schema.to_mut().add(&set);
            }
        }
    }
    schema
}

impl Schema {
    pub fn field(&self, message: &str, number: u32) -> Option<&Described> {
        self.messages.get(message)?.get(&number)
    }

    pub fn has(&self, message: &str) -> bool {
        self.messages.contains_key(message)
    }

    pub fn name_of_number(&self, of: &str, number: i32) -> Option<&str> {
        self.enums.get(of)?.get(&number).map(String::as_str)
    }

    /// Adds a FileDescriptorSet.
    fn add(&mut self, set: &[u8]) {
        for file in Message::parse(set).unwrap_or_default().messages(1) {
            let package = file.text(2).filter(|package| !package.is_empty());
            let scope = package.map_or(String::new(), |package| format!(".{package}"));
            self.add_all(&scope, &file, (4, 5, 7));
        }
    }

    /// Adds the messages, the enums and the extensions of a scope in these fields.
    fn add_all(&mut self, scope: &str, of: &Message, fields: (u32, u32, u32)) {
        let (messages, enums, extensions) = fields;
        for message in of.messages(messages) {
            let name = format!("{scope}.{}", message.text(1).unwrap_or_default());
            self.messages.entry(name.clone()).or_default();
            for field in message.messages(2) {
                self.add_field(&name, &field, false);
            }
            self.add_all(&name, &message, (3, 4, 6));
        }
        for definition in of.messages(enums) {
            let name = format!("{scope}.{}", definition.text(1).unwrap_or_default());
            let names = self.enums.entry(name).or_default();
            for value in definition.messages(2) {
                let name = value.text(1).unwrap_or_default();
                names.entry(value.unsigned(2) as i32).or_insert(name);
            }
        }
        for extension in of.messages(extensions) {
            let extendee = extension.text(2).unwrap_or_default();
            self.add_field(&extendee, &extension, true);
        }
    }

    /// If a field has two definitions, the first one counts.
    fn add_field(&mut self, message: &str, field: &Message, is_extension: bool) {
        const REPEATED: u64 = 3;
        let described = Described {
            name: field.text(1).unwrap_or_default(),
            kind: field.unsigned(5),
            type_name: field.text(6).unwrap_or_default(),
            is_repeated: field.unsigned(4) == REPEATED,
            is_extension,
        };
        let fields = self.messages.entry(message.to_owned()).or_default();
        fields.entry(field.unsigned(3) as u32).or_insert(described);
    }
}
