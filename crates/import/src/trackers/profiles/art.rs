//! Processes of Android's runtime, and how they ran out of memory (rule RT9).

use timebase_schema::fields::{
    art_process_metadata as art, java_frame as frame, java_stack as stack,
};
use timebase_schema::tables::{
    heap_graph_java_oome_details, heap_graph_thread_callsite, package_list,
};

use super::callstacks::{CallsiteId, Callstacks, MappingId, Source, SymbolLine};
use super::packet::Packet;
use crate::message::Message;
use crate::output::Cell;
use crate::trackers::tracker::TrackerContext;
use crate::world::Rank;

/// The mapping of all frames.
const MAPPING: &str = "art_process_metadata";

/// The reason of a dump of a process that ran out of memory.
const OUT_OF_MEMORY: &str = "OOME";

/// The mapping, once a frame needs it.
#[derive(Debug, Default)]
pub(super) struct Runtime {
    mapping: Option<MappingId>,
}

impl Runtime {
    /// Takes a packet.
    pub fn packet(
        &mut self,
        packet: &Packet<'_>,
        callstacks: &mut Callstacks,
        at: &mut TrackerContext<'_, '_>,
    ) {
        let message = packet.message();
        let machine = packet.writer.machine;
        let pid = i64::from(message.small(art::PID).unwrap_or(0));
        let threads = &mut at.world.threads;
        let upid = threads.process(machine, pid);
        let utid = threads.bind_one(machine, pid, upid);
        if let Some(name) = message.text(art::PROCESS_NAME) {
            threads.call_process(upid, Rank::Second, &name);
        }
        let uid = message.number(art::UID).map(|uid| i64::from(uid as i32));
        threads.runs_as(upid, uid, None);
        if let (Some(name), Some(uid)) = (message.text(art::PACKAGE_NAME), uid) {
            package(&name, uid, at);
        }
        let Some(allocation) = message.number(art::OOM_ALLOCATION_SIZE) else {
            at.world.java_heaps.add(upid.0, packet.ts, None);
            return;
        };
        let dump = at.world.java_heaps.add(upid.0, packet.ts, Some(OUT_OF_MEMORY)) as i64;
        details(dump, allocation, message, at);
        if let Some(stack) = message.bytes(art::OOM_THREAD_JAVA_STACK) {
            let callsite = self.stack(machine, Message(stack), callstacks, at);
            let id = at.rows.count(&heap_graph_thread_callsite::TABLE);
            at.rows.push(heap_graph_thread_callsite::Row {
                id: Cell::from(id),
                heap_graph_id: Cell::from(dump),
                utid: Cell::from(utid.0),
                callsite_id: Cell::or_null(callsite.map(|callsite| callsite.0)),
            });
        }
    }

    /// The callsite of a stack, whose last frame is the root.
    fn stack(
        &mut self,
        machine: u32,
        stack: Message<'_>,
        callstacks: &mut Callstacks,
        at: &mut TrackerContext<'_, '_>,
    ) -> Option<CallsiteId> {
        let frames: Vec<Message<'_>> = stack.messages(stack::FRAMES).collect();
        let mut callsite = None;
        let mut depth = 0;
        for frame in frames.into_iter().rev() {
            let Some(method) = frame.text(frame::METHOD_NAME) else {
                continue;
            };
            let names = &mut at.world.definitions.names;
            let function = Some(names.number(function(&method).as_bytes()));
            let file = frame.bytes(frame::SOURCE_FILE).map(|file| names.number(file));
            let source = Source { file, line: frame.small(frame::LINE_NUMBER) };
            let mapping = match self.mapping {
                Some(mapping) => mapping,
                None => callstacks.dummy(machine, MAPPING, names, at.rows),
            };
            self.mapping = Some(mapping);
            let line = SymbolLine { function, source };
            let frame = callstacks.dummy_frame(mapping, line, names, at.rows);
            callsite = Some(callstacks.callsite(callsite, depth, frame, at.rows));
            depth += 1;
        }
        callsite
    }
}

/// The name of a method without its types: `a.B.f` of `void a.B.f(int)`.
fn function(method: &str) -> &str {
    let before = method.split('(').next().unwrap_or(method);
    before.rsplit(' ').next().unwrap_or(before)
}

/// Writes the package of a process as a row.
fn package(name: &str, uid: i64, at: &mut TrackerContext<'_, '_>) {
    let id = at.rows.count(&package_list::TABLE);
    let name = at.rows.text(name);
    at.rows.push(package_list::Row {
        id: Cell::from(id),
        package_name: name,
        uid: Cell::from(uid),
        debuggable: Cell::from(0),
        profileable_from_shell: Cell::from(0),
        version_code: Cell::from(0),
    });
}

/// Writes what the process asked for as a row.
fn details(dump: i64, allocation: u64, message: Message<'_>, at: &mut TrackerContext<'_, '_>) {
    let bytes = |field| message.number(field).unwrap_or(0).cast_signed();
    let id = at.rows.count(&heap_graph_java_oome_details::TABLE);
    let error_msg = at.rows.optional_text(message.text(art::OOM_ERROR_MSG).as_deref());
    at.rows.push(heap_graph_java_oome_details::Row {
        id: Cell::from(id),
        heap_graph_id: Cell::from(dump),
        allocation_size_bytes: Cell::from(allocation.cast_signed()),
        total_bytes_free: Cell::from(bytes(art::OOM_TOTAL_BYTES_FREE)),
        free_bytes_until_oom: Cell::from(bytes(art::OOM_FREE_BYTES_UNTIL_OOM)),
        error_msg,
    });
}

#[cfg(test)]
mod tests {
    use super::function;

    #[test]
    fn rt9_the_types_of_a_method_are_no_part_of_its_name() {
        for (method, expected) in [
            ("void a.B.f(int)", "a.B.f"),
            ("a.B.f", "a.B.f"),
            ("java.lang.String a.B.f(a.C, int) x", "a.B.f"),
            ("(int)", ""),
            ("", ""),
        ] {
            assert_eq!(function(method), expected, "{method}");
        }
    }
}
