//! Adds definitions to a schema, leniently: existing definitions stay, and new parts of a
//! definition are added.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{
    DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorProto,
    FileDescriptorSet,
};

use crate::json::quote;
use crate::schema::{Definition, EnumId, Enumeration, Field, Kind, Message, MessageId, Schema};

/// Limits the cost of a name: a short name in a long package is a long name.
const MAX_NAME: usize = 1000;

/// The reason why definitions cannot be added.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DescriptorError {
    /// The bytes are no serialized descriptor.
    #[error("this is not a protobuf descriptor: {0}")]
    Undecodable(#[from] prost::DecodeError),
    /// A field has a type that is not defined anywhere.
    #[error("field {field} has the unknown type '{type_name}'")]
    UnknownType {
        /// The field's full name.
        field: String,
        /// The type, as the definition writes it.
        type_name: String,
    },
    /// A full name of more than 1000 bytes.
    #[error("a name in '{scope}' has more than {MAX_NAME} bytes")]
    LongName {
        /// The package or message that contains it.
        scope: String,
    },
    /// A message and an enum have the same name.
    #[error("'{name}' is both a message and an enum")]
    NotAMessage {
        /// The full name.
        name: String,
    },
}

/// As a sentence: a `main` that returns this error, and `unwrap`, write its Debug to the user.
impl fmt::Debug for DescriptorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Adds all files of a set. After an error, the schema is partly extended.
pub(crate) fn by_files(
    schema: &mut Schema,
    set: &FileDescriptorSet,
) -> Result<(), DescriptorError> {
    let mut extender = Extender::new(schema, true);
    for file in &set.file {
        extender.names_of_file(file)?;
    }
    for file in &set.file {
        extender.fields_of_file(file)?;
    }
    let names = extender.finish();
    schema.names.extend(names);
    Ok(())
}

/// Adds a message without a name. After an error, the schema is unchanged.
pub(crate) fn by_message(
    schema: &mut Schema,
    message: &DescriptorProto,
) -> Result<MessageId, DescriptorError> {
    let (messages, enums) = (schema.messages.len(), schema.enums.len());
    let added = add_unnamed(schema, message);
    if added.is_err() {
        schema.messages.truncate(messages);
        schema.enums.truncate(enums);
    }
    added
}

fn add_unnamed(
    schema: &mut Schema,
    message: &DescriptorProto,
) -> Result<MessageId, DescriptorError> {
    let mut extender = Extender::new(schema, false);
    extender.names_of_message("", message)?;
    extender.fields_of_message("", message)?;
    let id = extender.message(message.name())?;
    extender.finish();
    Ok(id)
}

/// Collects definitions: first all names, because a field may have a type that is defined later,
/// then the fields.
struct Extender<'a> {
    schema: &'a mut Schema,
    /// Whether a name that the schema already has is the same kind of thing here, so an extension
    /// can extend it.
    merges: bool,
    /// The names that this set defines.
    names: HashMap<String, Definition>,
    fields: BTreeMap<usize, Vec<Field>>,
}

impl<'a> Extender<'a> {
    fn new(schema: &'a mut Schema, merges: bool) -> Self {
        Extender { schema, merges, names: HashMap::new(), fields: BTreeMap::new() }
    }

    fn names_of_file(&mut self, file: &FileDescriptorProto) -> Result<(), DescriptorError> {
        for message in &file.message_type {
            self.names_of_message(file.package(), message)?;
        }
        for proto in &file.enum_type {
            self.add_enum(file.package(), proto)?;
        }
        Ok(())
    }

    /// The nesting is as deep as prost allows: 100 levels.
    fn names_of_message(
        &mut self,
        scope: &str,
        proto: &DescriptorProto,
    ) -> Result<(), DescriptorError> {
        let name = join(scope, proto.name())?;
        if self.known(&name).is_none() {
            let id = MessageId(self.schema.messages.len());
            self.schema.messages.push(Arc::new(Message {
                name: name.clone(),
                map_entry: proto.options.as_ref().is_some_and(|it| it.map_entry()),
                ..Message::default()
            }));
            self.names.insert(name.clone(), Definition::Message(id));
        }
        for nested in &proto.nested_type {
            self.names_of_message(&name, nested)?;
        }
        for nested in &proto.enum_type {
            self.add_enum(&name, nested)?;
        }
        Ok(())
    }

    fn add_enum(
        &mut self,
        scope: &str,
        proto: &EnumDescriptorProto,
    ) -> Result<(), DescriptorError> {
        let name = join(scope, proto.name())?;
        let id = match self.known(&name) {
            Some(Definition::Enum(id)) => id,
            Some(Definition::Message(_)) => return Err(DescriptorError::NotAMessage { name }),
            None => {
                let id = EnumId(self.schema.enums.len());
                self.schema.enums.push(Arc::new(Enumeration {
                    default: proto.value.first().map_or(0, |value| value.number()),
                    ..Enumeration::default()
                }));
                self.names.insert(name, Definition::Enum(id));
                id
            }
        };
        if let Some(known) = self.schema.enums.get_mut(id.0) {
            let known = Arc::make_mut(known);
            for value in &proto.value {
                let names = known.names.entry(value.number());
                names.or_insert_with(|| value.name().to_owned());
            }
        }
        Ok(())
    }

    fn fields_of_file(&mut self, file: &FileDescriptorProto) -> Result<(), DescriptorError> {
        for message in &file.message_type {
            self.fields_of_message(file.package(), message)?;
        }
        self.extensions(file.package(), &file.extension)
    }

    fn fields_of_message(
        &mut self,
        scope: &str,
        proto: &DescriptorProto,
    ) -> Result<(), DescriptorError> {
        let name = join(scope, proto.name())?;
        let id = self.message(&name)?;
        let oneofs = self.oneofs(id, proto);
        for field in &proto.field {
            let oneof = field.oneof_index.map(usize::try_from);
            let oneof = oneof.and_then(|index| oneofs.get(index.ok()?).copied());
            if let Some(mut field) = self.field(id, &name, field)? {
                field.oneof = oneof;
                self.fields.entry(id.0).or_default().push(field);
            }
        }
        for nested in &proto.nested_type {
            self.fields_of_message(&name, nested)?;
        }
        if self.merges {
            self.extensions(&name, &proto.extension)?;
        }
        Ok(())
    }

    fn extensions(
        &mut self,
        scope: &str,
        extensions: &[FieldDescriptorProto],
    ) -> Result<(), DescriptorError> {
        for extension in extensions {
            let extendee = self.resolve(scope, extension.extendee());
            let Some(Definition::Message(id)) = extendee else {
                continue;
            };
            if let Some(mut field) = self.field(id, scope, extension)? {
                field.extension = Some(join(scope, extension.name())?);
                self.fields.entry(id.0).or_default().push(field);
            }
        }
        Ok(())
    }

    /// A field of a message, as a scope defines it; `None` if the message already has it, or if no
    /// message can have it.
    fn field(
        &self,
        message: MessageId,
        scope: &str,
        proto: &FieldDescriptorProto,
    ) -> Result<Option<Field>, DescriptorError> {
        let Ok(number @ 1..=0x1fff_ffff) = u32::try_from(proto.number()) else {
            return Ok(None);
        };
        if self.schema.field(message, number).is_some() {
            return Ok(None);
        }
        let kind = match scalar(proto) {
            Type::Message | Type::Enum => self.named_kind(scope, proto)?,
            Type::Group => return Ok(None),
            scalar => scalar_kind(scalar),
        };
        Ok(kind.map(|kind| Field {
            number,
            name: proto.name().to_owned(),
            kind,
            repeated: proto.label() == Label::Repeated,
            extension: None,
            oneof: None,
            key: String::new(),
        }))
    }

    fn named_kind(
        &self,
        scope: &str,
        proto: &FieldDescriptorProto,
    ) -> Result<Option<Kind>, DescriptorError> {
        match self.resolve(scope, proto.type_name()) {
            Some(Definition::Message(id)) => Ok(Some(Kind::Message(id))),
            Some(Definition::Enum(id)) => Ok(Some(Kind::Enum(id))),
            None => Err(DescriptorError::UnknownType {
                field: join(scope, proto.name())?,
                type_name: proto.type_name().to_owned(),
            }),
        }
    }

    /// Finds a definition's oneofs among the oneofs of a message, by their names.
    fn oneofs(&mut self, id: MessageId, proto: &DescriptorProto) -> Vec<usize> {
        let message = match self.schema.messages.get_mut(id.0) {
            Some(message) if !proto.oneof_decl.is_empty() => Arc::make_mut(message),
            _ => return Vec::new(),
        };
        let mut oneofs = Vec::new();
        for oneof in &proto.oneof_decl {
            let next = message.oneofs.len();
            let known = message.oneofs.entry(oneof.name().to_owned());
            oneofs.push(*known.or_insert(next));
        }
        oneofs
    }

    /// The meaning of a name inside a scope: the innermost definition.
    fn resolve(&self, scope: &str, name: &str) -> Option<Definition> {
        if let Some(full) = name.strip_prefix('.') {
            return self.find(full);
        }
        let mut scope = scope;
        while !scope.is_empty() {
            let found = join(scope, name).ok().and_then(|full| self.find(&full));
            if found.is_some() {
                return found;
            }
            scope = scope.rfind('.').and_then(|dot| scope.get(..dot)).unwrap_or_default();
        }
        self.find(name)
    }

    fn find(&self, full: &str) -> Option<Definition> {
        let known = || self.schema.names.get(full);
        self.names.get(full).or_else(known).copied()
    }

    /// The existing thing that a definition with this name extends.
    fn known(&self, full: &str) -> Option<Definition> {
        match self.merges {
            true => self.find(full),
            false => self.names.get(full).copied(),
        }
    }

    fn message(&self, full: &str) -> Result<MessageId, DescriptorError> {
        match self.known(full) {
            Some(Definition::Message(id)) => Ok(id),
            _ => Err(DescriptorError::NotAMessage { name: full.to_owned() }),
        }
    }

    /// Adds the fields to their messages; returns the new names.
    fn finish(self) -> HashMap<String, Definition> {
        for (id, fields) in self.fields {
            if let Some(message) = self.schema.messages.get_mut(id) {
                add_fields(Arc::make_mut(message), fields);
            }
        }
        self.names
    }
}

/// Adds fields; the first one with a number or a name counts.
fn add_fields(message: &mut Message, fields: Vec<Field>) {
    message.fields.extend(fields);
    let (mut numbers, mut names) = (HashSet::new(), HashSet::new());
    let is_first = |field| numbers.insert(number(field)) && names.insert(full_name(field));
    let first: Vec<bool> = message.fields.iter().map(is_first).collect();
    let mut first = first.into_iter();
    message.fields.retain(|_| first.next().unwrap_or_default());
    message.fields.sort_by_key(number);
    name_keys(message);
}

fn number(field: &Field) -> u32 {
    field.number
}

/// The name of an extension does not collide with fields of the message.
fn full_name(field: &Field) -> (bool, &str) {
    let full = field.extension.as_deref();
    (full.is_some(), full.unwrap_or(&field.name))
}

/// An extension has a short key, unless another field has the same name.
fn name_keys(message: &mut Message) {
    let shared = shared_names(&message.fields);
    for field in &mut message.fields {
        field.key.clear();
        match &field.extension {
            Some(full) if shared.contains(&field.name) => {
                quote(format!("[{full}]").as_bytes(), &mut field.key);
            }
            _ => quote(field.name.as_bytes(), &mut field.key),
        }
        field.key.push(':');
    }
}

/// The names that both an extension and another field have.
fn shared_names(fields: &[Field]) -> HashSet<String> {
    if fields.iter().all(|field| field.extension.is_none()) {
        return HashSet::new();
    }
    let mut seen = HashSet::new();
    let names = fields.iter().map(|field| &field.name);
    names.filter(|name| !seen.insert(*name)).cloned().collect()
}

/// If the type is missing, the name determines it.
fn scalar(proto: &FieldDescriptorProto) -> Type {
    match proto.r#type.map(Type::try_from) {
        Some(Ok(known)) => known,
        None if proto.type_name.is_some() => Type::Message,
        // There is no such type. Like a group, it cannot be read.
        Some(Err(_)) | None => Type::Group,
    }
}

fn scalar_kind(scalar: Type) -> Option<Kind> {
    Some(match scalar {
        Type::Double => Kind::Double,
        Type::Float => Kind::Float,
        Type::Int64 => Kind::Int64,
        Type::Uint64 => Kind::Uint64,
        Type::Int32 => Kind::Int32,
        Type::Fixed64 => Kind::Fixed64,
        Type::Fixed32 => Kind::Fixed32,
        Type::Bool => Kind::Bool,
        Type::String => Kind::String,
        Type::Bytes => Kind::Bytes,
        Type::Uint32 => Kind::Uint32,
        Type::Sfixed32 => Kind::Sfixed32,
        Type::Sfixed64 => Kind::Sfixed64,
        Type::Sint32 => Kind::Sint32,
        Type::Sint64 => Kind::Sint64,
        Type::Group | Type::Message | Type::Enum => return None,
    })
}

fn join(scope: &str, name: &str) -> Result<String, DescriptorError> {
    if scope.len().saturating_add(name.len()) > MAX_NAME {
        return Err(DescriptorError::LongName { scope: scope.chars().take(100).collect() });
    }
    if scope.is_empty() {
        return Ok(name.to_owned());
    }
    Ok(format!("{scope}.{name}"))
}
