//! A schema with every kind of field, and bytes for it.

use prost::Message;
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{
    DescriptorProto, EnumDescriptorProto, EnumValueDescriptorProto, FieldDescriptorProto,
    FileDescriptorProto, FileDescriptorSet, MessageOptions, OneofDescriptorProto,
};

use crate::{MessageId, Pool};

pub fn field(number: i32, name: &str, of: Type) -> FieldDescriptorProto {
    FieldDescriptorProto {
        name: Some(name.into()),
        number: Some(number),
        label: Some(Label::Optional.into()),
        r#type: Some(of.into()),
        ..Default::default()
    }
}

pub fn typed(number: i32, name: &str, of: Type, type_name: &str) -> FieldDescriptorProto {
    FieldDescriptorProto { type_name: Some(type_name.into()), ..field(number, name, of) }
}

pub fn repeated(field: FieldDescriptorProto) -> FieldDescriptorProto {
    FieldDescriptorProto { label: Some(Label::Repeated.into()), ..field }
}

fn choice(field: FieldDescriptorProto) -> FieldDescriptorProto {
    FieldDescriptorProto { oneof_index: Some(0), ..field }
}

pub fn message(name: &str, fields: Vec<FieldDescriptorProto>) -> DescriptorProto {
    DescriptorProto { name: Some(name.into()), field: fields, ..Default::default() }
}

fn entry(name: &str, key: FieldDescriptorProto, value: FieldDescriptorProto) -> DescriptorProto {
    DescriptorProto {
        options: Some(MessageOptions { map_entry: Some(true), ..Default::default() }),
        ..message(name, vec![key, value])
    }
}

pub fn enumeration(name: &str, values: &[(&str, i32)]) -> EnumDescriptorProto {
    let value = |&(name, number): &(&str, i32)| EnumValueDescriptorProto {
        name: Some(name.into()),
        number: Some(number),
        ..Default::default()
    };
    EnumDescriptorProto {
        name: Some(name.into()),
        value: values.iter().map(value).collect(),
        ..Default::default()
    }
}

/// A serialized set of one file.
pub fn set(file: FileDescriptorProto) -> Vec<u8> {
    FileDescriptorSet { file: vec![file] }.encode_to_vec()
}

pub fn file(package: &str, messages: Vec<DescriptorProto>) -> FileDescriptorProto {
    FileDescriptorProto {
        package: Some(package.into()),
        message_type: messages,
        ..Default::default()
    }
}

fn scalars() -> Vec<FieldDescriptorProto> {
    vec![
        field(1, "double", Type::Double),
        field(2, "float", Type::Float),
        field(3, "int32", Type::Int32),
        field(4, "int64", Type::Int64),
        field(5, "uint32", Type::Uint32),
        field(6, "uint64", Type::Uint64),
        field(7, "sint32", Type::Sint32),
        field(8, "sint64", Type::Sint64),
        field(9, "fixed32", Type::Fixed32),
        field(10, "fixed64", Type::Fixed64),
        field(11, "sfixed32", Type::Sfixed32),
        field(12, "sfixed64", Type::Sfixed64),
        field(13, "bool", Type::Bool),
        field(14, "string", Type::String),
        field(15, "bytes", Type::Bytes),
        typed(16, "color", Type::Enum, "Color"),
    ]
}

fn compounds() -> Vec<FieldDescriptorProto> {
    let inner = |number, name| typed(number, name, Type::Message, "Everything");
    let map = |number, name, entry| repeated(typed(number, name, Type::Message, entry));
    vec![
        inner(17, "inner"),
        repeated(field(18, "numbers", Type::Int32)),
        repeated(field(19, "floats", Type::Float)),
        repeated(field(20, "strings", Type::String)),
        repeated(inner(21, "list")),
        map(22, "by_name", "ByNameEntry"),
        map(23, "colors", "ColorsEntry"),
        choice(field(24, "number", Type::Uint32)),
        choice(field(25, "text", Type::String)),
        choice(inner(26, "message")),
        repeated(typed(27, "palette", Type::Enum, "Color")),
    ]
}

/// The pool that has the message `test.Everything`.
pub fn pool() -> (Pool, MessageId) {
    let mut everything = message("Everything", [scalars(), compounds()].concat());
    everything
        .oneof_decl
        .push(OneofDescriptorProto { name: Some("choice".into()), ..Default::default() });
    everything.nested_type = vec![
        entry(
            "ByNameEntry",
            field(1, "key", Type::String),
            typed(2, "value", Type::Message, ".test.Everything"),
        ),
        entry(
            "ColorsEntry",
            field(1, "key", Type::Sint32),
            typed(2, "value", Type::Enum, "test.Color"),
        ),
    ];
    let mut file = file("test", vec![everything]);
    let colors = [("RED", 0), ("GREEN", 1), ("ALSO_GREEN", 1), ("NONE", -1)];
    file.enum_type.push(enumeration("Color", &colors));
    let mut pool = Pool::default();
    pool.extend(&set(file)).unwrap();
    let id = pool.message("test.Everything").unwrap();
    (pool, id)
}

/// The bytes of messages, field by field.
#[derive(Debug, Clone, Default)]
pub struct Bytes(pub Vec<u8>);

impl Bytes {
    fn number(mut self, mut value: u64) -> Self {
        while value > 0x7f {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
        self
    }

    fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    pub fn varint(self, field: u32, value: u64) -> Self {
        self.number(u64::from(field) << 3).number(value)
    }

    pub fn fixed64(self, field: u32, value: u64) -> Self {
        let tag = u64::from(field) << 3 | 1;
        self.number(tag).raw(&value.to_le_bytes())
    }

    pub fn bytes(self, field: u32, value: impl AsRef<[u8]>) -> Self {
        let value = value.as_ref();
        let tag = u64::from(field) << 3 | 2;
        self.number(tag).number(value.len() as u64).raw(value)
    }

    pub fn fixed32(self, field: u32, value: u32) -> Self {
        let tag = u64::from(field) << 3 | 5;
        self.number(tag).raw(&value.to_le_bytes())
    }
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// A message without fields.
pub fn bytes() -> Bytes {
    Bytes::default()
}
