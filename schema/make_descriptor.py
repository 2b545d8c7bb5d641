#!/usr/bin/env python3
"""Makes perfetto.descriptor, the schema of Perfetto traces that
crates/descriptor embeds.

    pip install perfetto==0.59.1 grpcio-tools
    python3 schema/make_descriptor.py

The schema has three sources, and a field counts from the first that has it:

1. The package `perfetto` 0.59.1 of PyPI: the messages of Perfetto's own tree.
2. The crate `perfetto_protos` 0.51.1 of crates.io, for what that package leaves
   out because it is an extension since: Java heap graphs, window tracing, frame
   timelines, wakelocks of apps and network packets in TracePacket and
   InternedData, and the extensions of WinscopeExtensions and TrackEvent. The
   script downloads the crate's archive and checks its hash.
3. `proto/newer.proto`, for what these messages gained after 0.51. Its file says
   where it has that from. Here a field of the same number replaces the crate's.

Extensions of TracePacket, InternedData and WinscopeExtensions are ordinary
fields here, as they were once. Those of TrackEvent stay extensions.

Only what is needed to read a message is kept: the names, numbers and types of
messages, fields, oneofs and enums. The file's name in it records the versions.
"""

import hashlib
import importlib.metadata
import io
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import urllib.request

from google.protobuf import descriptor_pb2
from perfetto.protos.perfetto.trace import perfetto_trace_pb2

HERE = pathlib.Path(__file__).parent
OUTPUT = HERE / "perfetto.descriptor"
PACKAGE = ".perfetto.protos."

CRATE = "perfetto_protos-0.51.1"
CRATE_URL = f"https://static.crates.io/crates/perfetto_protos/{CRATE}.crate"
CRATE_SHA256 = "634f88ebef917643d9e470dbf99637fbfa8295f54525954d156641f06823f9ac"
CRATE_FILES = [
    "protos/perfetto/trace/trace.proto",
    "protos/perfetto/trace/android/android_track_event.proto",
    "protos/perfetto/trace/android/winscope_extensions_impl.proto",
    "protos/third_party/chromium/chrome_track_event.proto",
]

# Messages whose extensions become ordinary fields.
OPEN = ["TracePacket", "InternedData", "WinscopeExtensions"]


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


def bare_file(files):
    """All files of a set as one."""
    bare = descriptor_pb2.FileDescriptorProto(package=PACKAGE.strip("."))
    for file in files:
        bare.message_type.extend(map(bare_message, file.message_type))
        bare.enum_type.extend(map(bare_enum, file.enum_type))
        bare.extension.extend(map(bare_field, file.extension))
    return bare


def compiled(root, files):
    with tempfile.TemporaryDirectory() as directory:
        output = pathlib.Path(directory) / "set"
        command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{root}"]
        command += ["--include_imports", f"--descriptor_set_out={output}", *files]
        subprocess.run(command, check=True)
        schema = descriptor_pb2.FileDescriptorSet.FromString(output.read_bytes())
    return bare_file(f for f in schema.file if f.package == PACKAGE.strip("."))


def crate():
    with urllib.request.urlopen(CRATE_URL) as answer:
        archive = answer.read()
    if hashlib.sha256(archive).hexdigest() != CRATE_SHA256:
        sys.exit(f"{CRATE_URL} is not the archive that this script knows")
    with tempfile.TemporaryDirectory() as directory:
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            tar.extractall(directory, filter="data")
        return compiled(pathlib.Path(directory) / CRATE, CRATE_FILES)


def named(things):
    return {thing.name: thing for thing in things}


def open_extensions(schema):
    """Makes the extensions of the messages OPEN fields, and gives the others."""
    messages = named(schema.message_type)
    others = []
    extensions = list(schema.extension)
    for message in schema.message_type:
        extensions += message.extension
        del message.extension[:]
    for extension in extensions:
        extendee = extension.extendee.removeprefix(PACKAGE)
        if extendee in OPEN:
            extension.ClearField("extendee")
            messages[extendee].field.append(extension)
        else:
            others.append(extension)
    del schema.extension[:]
    return others


def overlay(message, newer):
    """Adds the fields, messages, enums and values of `newer` to `message`, where they win."""
    numbers = {field.number for field in newer.field}
    kept = [field for field in message.field if field.number not in numbers]
    del message.field[:]
    message.field.extend([*kept, *newer.field])
    messages = named(message.nested_type)
    for nested in newer.nested_type:
        if nested.name in messages:
            overlay(messages[nested.name], nested)
        else:
            message.nested_type.append(nested)
    enums = named(message.enum_type)
    message.enum_type.extend(e for e in newer.enum_type if e.name not in enums)
    for enum in newer.enum_type:
        if enum.name in enums:
            values = named(enums[enum.name].value)
            enums[enum.name].value.extend(v for v in enum.value if v.name not in values)


def wanted_types(message):
    """The names of top-level types that the fields of a message have."""
    fields = [*message.field, *message.extension]
    names = {f.type_name.removeprefix(PACKAGE).split(".")[0] for f in fields}
    for nested in message.nested_type:
        names.update(wanted_types(nested))
    return sorted(names - {""})


def add(schema, older):
    """Adds to the package's schema what only `older` has of messages OPEN, the
    extensions of TrackEvent, and the types of these."""
    extensions = open_extensions(older)
    messages, enums = named(schema.message_type), named(schema.enum_type)
    older_messages, older_enums = named(older.message_type), named(older.enum_type)
    wanted = []
    for name in OPEN:
        if name not in messages:
            continue
        oneofs = [oneof.name for oneof in messages[name].oneof_decl]
        numbers = {field.number for field in messages[name].field}
        names = {field.name for field in messages[name].field}
        for field in older_messages[name].field:
            if field.number in numbers or field.name in names:
                continue
            if "data" in oneofs and field.type == field.TYPE_MESSAGE:
                field.oneof_index = oneofs.index("data")
            else:
                field.ClearField("oneof_index")
            messages[name].field.append(field)
            wanted.append(field.type_name.removeprefix(PACKAGE).split(".")[0])
    known = {field.number for field in messages["TrackEvent"].field}
    for extension in extensions:
        if extension.extendee == f"{PACKAGE}TrackEvent" and extension.number not in known:
            extension.ClearField("oneof_index")
            schema.extension.append(extension)
            wanted.append(extension.type_name.removeprefix(PACKAGE).split(".")[0])
    while wanted:
        name = wanted.pop()
        if not name or name in messages or name in enums:
            continue
        if name in older_enums:
            enums[name] = older_enums[name]
            schema.enum_type.append(older_enums[name])
            continue
        messages[name] = older_messages[name]
        schema.message_type.append(older_messages[name])
        wanted += wanted_types(older_messages[name])


def main():
    version = importlib.metadata.version("perfetto")
    file = descriptor_pb2.FileDescriptorProto()
    perfetto_trace_pb2.DESCRIPTOR.CopyToProto(file)
    schema = bare_file([file])
    schema.name = f"perfetto_trace.proto from perfetto {version}, {CRATE} and newer.proto"
    older, newer = crate(), compiled(HERE / "proto", ["newer.proto"])
    older_messages, older_enums = named(older.message_type), named(older.enum_type)
    for message in newer.message_type:
        if message.name in older_messages:
            overlay(older_messages[message.name], message)
        else:
            older.message_type.append(message)
    older.enum_type.extend(e for e in newer.enum_type if e.name not in older_enums)
    older.extension.extend(newer.extension)
    add(schema, older)
    result = descriptor_pb2.FileDescriptorSet(file=[schema])
    OUTPUT.write_bytes(result.SerializeToString(deterministic=True))
    print(f"{OUTPUT.name}: {OUTPUT.stat().st_size} bytes, {schema.name}")


if __name__ == "__main__":
    main()
