//! Dumps of the Java heap (rules HG).
//!
//! # Design
//!
//! Names, sizes and roots come after the objects, so a dump is in memory until its last packet. Then its objects and
//! references become rows at once. What a later packet may still change stays: the few classes (rule HG8), and the names
//! of fields, which are rows of their own, so that a mapping renames thousands of references by one row (rule HG11).
//! The alternative was to write references before their names and to change their rows later: a dump has millions of
//! them.
//!
//! | question | where it is decided |
//! |---|---|
//! | how objects and references are kept | `objects.rs`, `ids.rs` |
//! | what a packet adds to its graph (rules HG1 to HG5) | `graph.rs`, `wire.rs` |
//! | the names of references | `fields.rs` |
//! | what the end of a graph adds, and its rows (rules HG6, HG8 to HG10) | `finish.rs` |
//! | what roots lead to (rule HG7) | `roots.rs` |
//! | classes and their superclasses | `classes.rs` |
//! | plain names, packages of files (rules HG8, HG12) | `plain.rs` |
//! | other names by mappings (rule HG11) | `deobfuscate.rs` |

mod classes;
mod deobfuscate;
mod faults;
mod fields;
mod finish;
mod graph;
mod ids;
mod objects;
mod plain;
mod roots;
mod wire;

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use timebase_schema::fields::heap_graph as field;
use timebase_schema::tables::{heap_graph, heap_graph_object_record};

use self::classes::Classes;
pub(super) use self::deobfuscate::Renaming;
use self::faults::{INVALID_STRING, MALFORMED, MISSING_PACKET, NOT_FINALIZED, UNKNOWN_PACKAGE};
use self::fields::Fields;
use self::finish::{Ending, Finished};
use self::graph::{Graph, NextRows, PacketFaults, Shared};
use self::objects::ClassId;
pub(super) use self::plain::package;
use super::tracker::TrackerContext;
use crate::definitions::{Names, ProfileWriter};
use crate::message::Message;
use crate::output::{Counter, Fault, OF_TRACE};
use crate::timeline::{Name, ProfileEvent};
use crate::world::Upid;

/// Follows dumps of Java heaps.
#[derive(Debug, Default)]
pub(super) struct HeapGraphs {
    /// The graphs at work, by the file, the machine and the number of their sequences (rule HG1).
    graphs: BTreeMap<(u32, u32, u32), Box<Graph>>,
    classes: Classes,
    fields: Fields,
    next: NextRows,
}

impl HeapGraphs {
    /// Takes a packet of a dump.
    pub fn packet(
        &mut self,
        ts: i64,
        event: &ProfileEvent<'_>,
        writer: ProfileWriter,
        at: &mut TrackerContext<'_, '_>,
    ) {
        let message = Message(event.payload);
        let pid = message.small(field::PID).unwrap_or(0);
        let upid = at.world.threads.process(writer.machine, pid.into());
        if !at.rows.wants(&heap_graph_object_record::TABLE) {
            return;
        }
        let key = (writer.file, writer.machine, writer.sequence);
        let graph = self.graphs.entry(key).or_default();
        let shared = &mut Shared {
            classes: &mut self.classes,
            next: &mut self.next,
            names: &mut at.world.definitions.names,
        };
        let faults = graph.packet(message, (upid, ts), shared);
        count(&faults, upid, event.packet, at);
        if !message.flag(field::CONTINUED)
            && let Some(graph) = self.graphs.remove(&key)
        {
            self.finish(*graph, Some(event.packet), at);
        }
    }

    /// Ends a graph (rules HG6 to HG10).
    fn finish(&mut self, graph: Graph, packet: Option<i64>, at: &mut TrackerContext<'_, '_>) {
        let (upid, ts) = (graph.upid, graph.ts);
        if graph.objects.rows.count() > 0 {
            at.world.spans(&heap_graph::TABLE, ts, 0);
        }
        let dump = at.world.java_heaps.dump(upid, ts);
        dump.heap_size = graph.heap_size.or(dump.heap_size);
        dump.is_truncated |= graph.is_cut;
        let to = Ending {
            classes: &mut self.classes,
            fields: &mut self.fields,
            next: &mut self.next,
            names: &mut at.world.definitions.names,
        };
        let faults = Finished::new(graph, to).end(at.rows);
        indexed(&MALFORMED, (upid, faults.malformed), packet, at);
        indexed(&INVALID_STRING, (upid, faults.invalid_strings), packet, at);
        at.world.faults.add_many(UNKNOWN_PACKAGE, packet, faults.unknown_packages);
    }

    /// Ends the graphs that have no last packet.
    pub fn end_graphs(&mut self, at: &mut TrackerContext<'_, '_>) {
        let unfinished = std::mem::take(&mut self.graphs);
        if !unfinished.is_empty() {
            at.world.faults.add(NOT_FINALIZED, None);
        }
        for graph in unfinished.into_values() {
            self.finish(*graph, None, at);
        }
    }

    /// The names that mappings may rename, after all graphs have ended. `package_of` is the package of a process.
    pub fn renaming<'a>(
        &'a mut self,
        names: &'a Names,
        package_of: impl Fn(Upid) -> Option<Name>,
    ) -> Renaming<'a> {
        self.classes.find_packages(package_of);
        Renaming::new(&self.classes, &mut self.fields, names)
    }

    /// Writes the rest of the rows, with the deobfuscated names of classes.
    pub fn end(
        &mut self,
        deobfuscated: &FxHashMap<ClassId, String>,
        at: &mut TrackerContext<'_, '_>,
    ) {
        let names = &at.world.definitions.names;
        std::mem::take(&mut self.fields).end(names, at.rows);
        std::mem::take(&mut self.classes).end(deobfuscated, names, at.rows);
    }
}

/// Counts the faults of a packet.
fn count(faults: &PacketFaults, Upid(upid): Upid, packet: i64, at: &mut TrackerContext<'_, '_>) {
    if let Some(process) = faults.missing {
        indexed(&MISSING_PACKET, (process, 1), Some(packet), at);
    }
    indexed(&MALFORMED, (upid, faults.malformed), Some(packet), at);
    at.world.faults.add_many(NOT_FINALIZED, packet, faults.foreign);
}

/// Counts a fault of a process.
fn indexed(
    fault: &'static Fault,
    (upid, more): (u32, i64),
    packet: Option<i64>,
    at: &mut TrackerContext<'_, '_>,
) {
    if more > 0 {
        let counter: &'static Counter = fault.counter_ref();
        at.world.counts.add(counter, OF_TRACE, i64::from(upid), more);
        at.world.faults.add(*fault, packet);
    }
}
