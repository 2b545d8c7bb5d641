//! What the tables of processes, threads, scheduling, slices and counters must hold, written down
//! from the rules as plainly as can be: all events of a trace, in order, one after the other. A
//! file for each part of the rules.

mod answers;
mod counters;
mod descriptors;
mod generate;
mod gpu;
mod kernel;
mod machines;
mod order;
mod packets;
mod prints;
mod process_tree;
mod processes;
mod random;
mod samples;
mod scheduling;
mod slices;
mod stats;
mod wire;
mod world;

use crate::support::statements::Answers;

/// The rows that the statements of queries-threads.sql give for a trace, which is not compressed.
pub fn answers(trace: &[u8]) -> Answers {
    let packets = packets::Packets::read(trace);
    let mut world = world::World::new(&packets);
    for event in order::events(&packets) {
        world.event(&event);
    }
    world.answers()
}
