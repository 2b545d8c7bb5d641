//! The messages in the sources of `timebase_trace::wire` must equal those of
//! `schema/proto/trace.proto`. They are not generated in every build, because the compiler for them
//! takes longer to build than they do.

#![allow(clippy::unwrap_used)]

use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

use prost_types::FileDescriptorSet;

const HEAD: &str = "// Generated from `schema/proto/trace.proto`: \
    `TIMEBASE_WRITE=1 cargo test -p timebase-lab --test messages` writes it again.\n\n\
    #![cfg_attr(rustfmt, rustfmt_skip)]\n";

#[test]
fn messages_are_those_of_the_schema() {
    let directory = tempfile::tempdir().unwrap();
    // The compiler reads files.
    fs::write(directory.path().join("trace.proto"), timebase_schema::TRACE_PROTO).unwrap();
    let descriptors = protox::compile(["trace.proto"], [directory.path()]).unwrap();
    let names = packet_types(&descriptors);
    let mut config = prost_build::Config::new();
    config.out_dir(directory.path());
    config.compile_fds(descriptors).unwrap();
    let messages = fs::read_to_string(directory.path().join("timebase.wire.rs")).unwrap();
    let generated = format!("{HEAD}\n{names}\n{messages}");

    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../trace/src/wire/messages.rs");
    if env::var_os("TIMEBASE_WRITE").is_some() {
        fs::write(&file, &generated).unwrap();
    }
    assert!(
        fs::read_to_string(&file).unwrap() == generated,
        "{} is not what the schema gives: TIMEBASE_WRITE=1 writes it again",
        file.display()
    );
}

/// The payload fields of `TracePacket`, as a function from number to field name.
fn packet_types(descriptors: &FileDescriptorSet) -> String {
    let mut messages = descriptors.file.iter().flat_map(|file| &file.message_type);
    let packet = messages.find(|message| message.name() == "TracePacket").unwrap();
    let mut code = String::from(
        "/// The names of the payload fields of `TracePacket`.\n\
         pub(super) fn packet_type(number: u32) -> Option<&'static str> {\n    match number {\n",
    );
    for field in packet.field.iter().filter(|f| f.oneof_index.is_some()) {
        writeln!(code, "        {} => Some({:?}),", field.number(), field.name()).unwrap();
    }
    code.push_str("        _ => None,\n    }\n}\n");
    code
}
