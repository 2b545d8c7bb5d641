//! Readers of packets' payloads, one file for each payload. They get packets in file order.
//!
//! The trait [`Reader`](reader::Reader) defines the tasks of a reader, and when each is called;
//! `all.rs` lists the readers.

mod all;
mod android_log;
mod clock_snapshot;
mod context;
mod corrupt;
mod descriptors;
mod energy;
mod events;
mod extension_descriptor;
mod ftrace;
mod ftrace_stats;
mod gpu_counter_event;
mod observed;
mod once;
mod packet;
mod packet_schema;
mod power_rails;
mod profiles;
mod properties;
mod reader;
mod records;
mod remote_clock_sync;
mod retiming;
mod sequences;
mod stated;
mod trace_config;
mod trace_stats;
mod track_event;
mod translation_table;
mod vulkan_memory;
mod windowing;
mod winscope;

pub(crate) use all::{Parsed, Readers, counters_of_machines, faults_of_machines, windowed};
pub(crate) use context::{ImportContext, JsonTime};
pub(crate) use corrupt::Corrupt;
pub(crate) use events::{EventSink, Latest};
pub(crate) use packet::PlacedPacket;
pub(crate) use packet_schema::PacketSchema;
pub(crate) use retiming::{
    Fixed, References, Retime, Retimed, Rewritten, fields, put_bytes, put_number,
};
pub(crate) use sequences::Writers;
pub(crate) use windowing::Windowed;
