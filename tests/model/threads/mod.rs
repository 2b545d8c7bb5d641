//! The required rows of the tables of processes, threads, scheduling, slices, counters and flows,
//! written as plainly as possible from the rules: all events of a trace, in order, one after the
//! other. There is a file for each part of the rules.

pub mod agreement;
mod args;
mod arguments;
mod counters;
mod described;
mod dimensions;
mod doubt;
mod energy;
mod flows;
pub mod frame_generate;
mod frame_random;
mod frame_tables;
mod frames;
pub mod generate;
pub mod generate_events;
pub mod generate_generic;
pub mod generate_gpu;
mod generic;
mod gpu;
mod gpu_counters;
mod json;
mod kernel;
mod kernel_binder;
mod kernel_events;
pub mod kernel_generate;
mod kernel_queues;
mod kernel_random;
mod kernel_steps;
mod kernel_tables;
mod machines;
mod namespaces;
mod order;
mod packets;
mod prints;
mod process_tree;
mod processes;
pub mod profile_generate;
mod profile_heaps;
mod profile_random;
mod profile_samples;
mod profile_stacks;
mod profile_tables;
mod profiles;
mod random;
mod records;
mod records_generate;
mod records_random;
mod samples;
mod scheduling;
mod schema;
mod sequences;
mod slices;
mod small;
pub mod small_generate;
mod small_random;
mod states;
mod stats;
mod tables;
mod track_events;
mod tracks;
mod translations;
mod uuids;
mod vulkan;
pub mod wire;
mod world;

use crate::support::statements::{Answers, answer, statements};
use rusqlite::Connection;

/// Tables when all events of a trace without compression are followed.
fn followed(trace: &[u8], tables: impl FnOnce(world::World<'_>) -> Connection) -> Connection {
    let packets = packets::Packets::read(trace);
    let mut world = world::World::new(&packets);
    for event in order::events(&packets, &world) {
        world.event(&event);
    }
    tables(world)
}

/// The tables of a trace without compression.
pub fn tables(trace: &[u8]) -> Connection {
    followed(trace, |mut world| world.tables())
}

/// The slices, counters and flows of kernel events of a trace without compression.
pub fn kernel_tables(trace: &[u8]) -> Connection {
    followed(trace, |mut world| world.kernel_tables())
}

/// The tables of profilers of a trace without compression.
pub fn profile_tables(trace: &[u8]) -> Connection {
    followed(trace, |world| world.profile_tables())
}

/// The rows that a file's statements return from tables.
pub fn answers(tables: &Connection, file: &str) -> Answers {
    let answers = statements(file).into_iter();
    answers.map(|(name, sql)| (name, answer(tables, &sql).unwrap())).collect()
}
