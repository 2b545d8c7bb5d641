//! Generates the prost messages and the table of packet types from
//! `schema/proto/trace.proto`, with a protobuf compiler written in Rust so
//! that a build needs no `protoc`.

use std::error::Error;
use std::fmt::Write;
use std::path::PathBuf;
use std::{env, fs};

use prost_types::FileDescriptorSet;

fn main() -> Result<(), Box<dyn Error>> {
    let out_dir = PathBuf::from(env::var("OUT_DIR")?);
    // The compiler reads files.
    fs::write(out_dir.join("trace.proto"), timebase_schema::TRACE_PROTO)?;
    let descriptors = protox::compile(["trace.proto"], [&out_dir])?;
    fs::write(out_dir.join("packet_type.rs"), packet_types(&descriptors)?)?;
    prost_build::Config::new()
        .out_dir(out_dir)
        .compile_fds(descriptors)?;
    Ok(())
}

/// The payload fields of `TracePacket` as a `match` from number to field name.
fn packet_types(descriptors: &FileDescriptorSet) -> Result<String, Box<dyn Error>> {
    let packet = descriptors
        .file
        .iter()
        .flat_map(|file| &file.message_type)
        .find(|message| message.name() == "TracePacket")
        .ok_or("trace.proto declares no TracePacket")?;
    let mut code = String::from("match number {\n");
    for field in packet.field.iter().filter(|f| f.oneof_index.is_some()) {
        writeln!(code, "    {} => Some({:?}),", field.number(), field.name())?;
    }
    code.push_str("    _ => None,\n}\n");
    Ok(code)
}
