//! Descriptors of processes, threads and tracks.

use timebase_schema::fields::{
    counter_descriptor, extension_descriptor, process_descriptor, thread_descriptor,
    track_descriptor as field, track_event,
};

use super::message::Message;

/// The field of `TrackEvent` that has arguments under names of their own. No field of the format has its number.
pub(crate) const ARGS: u32 = 9900;

/// `SIBLING_MERGE_BEHAVIOR_NONE` and `SIBLING_MERGE_BEHAVIOR_BY_SIBLING_MERGE_KEY`.
const NOT_MERGED: u64 = 2;
const MERGED_BY_KEY: u64 = 3;

/// `EXPLICIT`, of `ProcessOrdering`, `ThreadOrdering` and `ChildTracksOrdering`.
const EXPLICIT: u64 = 1;
pub(crate) const CHILDREN_EXPLICIT: u64 = 3;

/// `COUNTER_THREAD_TIME_NS`.
const THREAD_TIME: u64 = 1;

/// A descriptor of a uuid.
fn descriptor(uuid: u64) -> Message {
    let mut descriptor = Message::new();
    descriptor.number(field::UUID, uuid);
    descriptor
}

/// A process, with the rank that its hint for sorting says.
pub(crate) fn process(uuid: u64, pid: i64, name: Option<&str>, rank: Option<i64>) -> Message {
    let mut process = Message::new();
    process.signed(process_descriptor::PID, pid);
    if let Some(name) = name {
        process.text(process_descriptor::PROCESS_NAME, name);
    }
    let mut written = descriptor(uuid);
    written.message(field::PROCESS, &process);
    ranked(&mut written, rank);
    written
}

/// A thread of a process.
pub(crate) fn thread(
    uuid: u64,
    (pid, tid): (i64, i64),
    name: Option<&str>,
    rank: Option<i64>,
) -> Message {
    let mut thread = Message::new();
    thread.signed(thread_descriptor::PID, pid).signed(thread_descriptor::TID, tid);
    if let Some(name) = name {
        thread.text(thread_descriptor::THREAD_NAME, name);
    }
    let mut written = descriptor(uuid);
    written.message(field::THREAD, &thread);
    ranked(&mut written, rank);
    written
}

pub(crate) fn ranked(descriptor: &mut Message, rank: Option<i64>) {
    if let Some(rank) = rank {
        descriptor.signed(field::SIBLING_ORDER_RANK, rank);
    }
}

/// Uuid 0: processes and threads are sorted by their ranks.
pub(crate) fn sorted() -> Message {
    let mut written = descriptor(0);
    written.number(field::PROCESS_ORDERING, EXPLICIT).number(field::THREAD_ORDERING, EXPLICIT);
    written
}

/// A track below another one, if there is one.
pub(crate) fn track(uuid: u64, parent: Option<u64>, name: Option<&str>) -> Message {
    let mut written = descriptor(uuid);
    if let Some(parent) = parent {
        written.number(field::PARENT_UUID, parent);
    }
    if let Some(name) = name {
        written.text(field::NAME, name);
    }
    written
}

/// A track that merges with no other.
pub(crate) fn alone(uuid: u64, parent: Option<u64>, name: Option<&str>) -> Message {
    let mut written = track(uuid, parent, name);
    written.number(field::SIBLING_MERGE_BEHAVIOR, NOT_MERGED);
    written
}

/// A lane: the lanes of one key look like one track.
pub(crate) fn lane(uuid: u64, parent: Option<u64>, name: Option<&str>, key: &str) -> Message {
    let mut written = track(uuid, parent, name);
    written.number(field::SIBLING_MERGE_BEHAVIOR, MERGED_BY_KEY);
    written.text(field::SIBLING_MERGE_KEY, key);
    written
}

pub(crate) fn counter(uuid: u64, parent: Option<u64>, name: &str) -> Message {
    let mut written = track(uuid, parent, Some(name));
    written.message(field::COUNTER, &Message::new());
    written
}

/// The CPU time of a thread. The UI does not show it as a track.
pub(crate) fn thread_time(uuid: u64, thread: u64) -> Message {
    let mut written = track(uuid, Some(thread), None);
    let mut counter = Message::new();
    counter.number(counter_descriptor::TYPE, THREAD_TIME);
    written.message(field::COUNTER, &counter);
    written
}

/// The payload of a packet that adds the field [`ARGS`] to `TrackEvent`.
pub(crate) fn args_extension() -> Message {
    /// Numbers of fields of `FileDescriptorSet`, `FileDescriptorProto` and `FieldDescriptorProto`.
    const FILE: u32 = 1;
    const NAME: u32 = 1;
    const PACKAGE: u32 = 2;
    const EXTENSION: u32 = 7;
    const EXTENDEE: u32 = 2;
    const NUMBER: u32 = 3;
    const LABEL: u32 = 4;
    const TYPE: u32 = 5;
    const TYPE_NAME: u32 = 6;
    /// `LABEL_REPEATED` and `TYPE_MESSAGE`.
    const REPEATED: u64 = 3;
    const MESSAGE: u64 = 11;

    let mut field = Message::new();
    field.text(NAME, "args").text(EXTENDEE, ".perfetto.protos.TrackEvent");
    field.number(NUMBER, ARGS.into()).number(LABEL, REPEATED).number(TYPE, MESSAGE);
    field.text(TYPE_NAME, ".perfetto.protos.DebugAnnotation");
    let mut file = Message::new();
    file.text(NAME, "timebase/args.proto").text(PACKAGE, "timebase");
    file.message(EXTENSION, &field);
    let mut set = Message::new();
    set.message(FILE, &file);
    let mut extension = Message::new();
    extension.message(extension_descriptor::EXTENSION_SET, &set);
    extension
}

/// Types of `TrackEvent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EventType {
    Begin = 1,
    End = 2,
    Instant = 3,
    Counter = 4,
}

/// An event of a type on a track.
pub(crate) fn event(event_type: EventType, uuid: u64) -> Message {
    let mut event = Message::new();
    event.number(track_event::TYPE, event_type as u64).number(track_event::TRACK_UUID, uuid);
    event
}
