#!/usr/bin/env python3
"""Makes perfetto.descriptor, the schema of Perfetto traces that
crates/descriptor embeds.

    pip install perfetto==0.59.1
    python3 schema/make_descriptor.py

The schema is the one that the package `perfetto` of PyPI carries. Only what is
needed to read a message is kept: the names, numbers and types of messages,
fields, oneofs and enums. The file's name in it records the package's version:
`perfetto_trace.proto from perfetto 0.59.1`.
"""

import importlib.metadata
import pathlib

from google.protobuf import descriptor_pb2
from perfetto.protos.perfetto.trace import perfetto_trace_pb2

OUTPUT = pathlib.Path(__file__).with_name("perfetto.descriptor")


def bare_field(field):
    bare = descriptor_pb2.FieldDescriptorProto(
        name=field.name, number=field.number, label=field.label, type=field.type
    )
    for name in ("type_name", "extendee", "oneof_index"):
        if field.HasField(name):
            setattr(bare, name, getattr(field, name))
    return bare


def bare_enum(enum):
    bare = descriptor_pb2.EnumDescriptorProto(name=enum.name)
    for value in enum.value:
        bare.value.add(name=value.name, number=value.number)
    return bare


def bare_message(message):
    bare = descriptor_pb2.DescriptorProto(
        name=message.name,
        field=map(bare_field, message.field),
        extension=map(bare_field, message.extension),
        nested_type=map(bare_message, message.nested_type),
        enum_type=map(bare_enum, message.enum_type),
    )
    for oneof in message.oneof_decl:
        bare.oneof_decl.add(name=oneof.name)
    if message.options.map_entry:
        bare.options.map_entry = True
    return bare


def main():
    version = importlib.metadata.version("perfetto")
    file = descriptor_pb2.FileDescriptorProto()
    perfetto_trace_pb2.DESCRIPTOR.CopyToProto(file)
    bare = descriptor_pb2.FileDescriptorProto(
        name=f"perfetto_trace.proto from perfetto {version}",
        package=file.package,
        message_type=map(bare_message, file.message_type),
        enum_type=map(bare_enum, file.enum_type),
        extension=map(bare_field, file.extension),
    )
    schema = descriptor_pb2.FileDescriptorSet(file=[bare])
    OUTPUT.write_bytes(schema.SerializeToString(deterministic=True))
    print(f"{OUTPUT.name}: {OUTPUT.stat().st_size} bytes, {bare.name}")


if __name__ == "__main__":
    main()
