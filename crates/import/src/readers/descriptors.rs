//! Descriptors of tracks and threads. Their statements about uuids hold for the whole trace (rules
//! U1, U2). They also say which thread the writer is, for the packets that follow on its sequence
//! (rule L1). Each descriptor is also an event.

use timebase_schema::{Table, tables};
use timebase_trace::wire::packet::PacketType;

use super::context::ImportContext;
use super::observed::observe;
use super::packet::PlacedPacket;
use super::reader::Reader;
use super::retiming::{References, Retime, Retimed, Rewritten, Times};
use super::sequences::writers::time_of;
use crate::definitions::{Descriptor, Writer, is_sandboxed, thread_ids, thread_of};
use crate::message::Message;
use crate::output::{Counter, Fault, Rows};

const MISSING_SEQUENCE: Fault = Fault::new(
    Counter::error(
        "thread_descriptor_missing_sequence_id",
        "a thread descriptor without trusted_packet_sequence_id is ignored",
    )
    .drops_nothing(),
);
const STATE_LOST: Fault = Fault::new(
    Counter::data_loss(
        "thread_descriptor_skipped_incremental_state_invalid",
        "a thread descriptor of a sequence without valid state is ignored",
    )
    .drops_nothing(),
);

/// Reads `track_descriptor`.
#[derive(Debug, Default)]
pub(crate) struct TrackDescriptors;

impl Reader for TrackDescriptors {
    type Payload<'a> = Message<'a>;

    const TABLES: &'static [&'static Table] = &[&tables::thread_record::TABLE];

    const TIMES: Times = Times::References;

    fn read(
        &mut self,
        message: Message<'_>,
        packet: &PlacedPacket<'_>,
        context: &mut ImportContext,
        _rows: &mut Rows<'_>,
    ) {
        if packet.is_lost() {
            return;
        }
        let described = Descriptor::read(message, packet.trusted_pid());
        let described = described.and_then(|(uuid, descriptor)| {
            if let Some(thread) = thread_of(message).filter(|_| packet.valid) {
                is_thread(thread, is_sandboxed(message), packet, context);
            }
            context.definitions.uuids.describe(packet.part, uuid, descriptor)
        });
        if let Err(fault) = described {
            context.faults.add(fault, packet.id);
        }
        observe(PacketType::TRACK_DESCRIPTOR, message, packet, context);
    }

    fn retime(
        message: Message<'_>,
        packet: &Retimed<'_>,
        to: &mut impl Retime,
        _out: &mut Vec<u8>,
    ) -> Rewritten {
        let is_read = packet.is_valid && !packet.is_lost;
        let described = Descriptor::read(message, 0);
        if let Some(thread) = thread_of(message).filter(|_| is_read && described.is_ok()) {
            *to.references(packet.generation) = References::of(time_of(thread));
        }
        Rewritten::Same
    }
}

/// Reads `thread_descriptor`.
#[derive(Debug, Default)]
pub(crate) struct ThreadDescriptors;

impl Reader for ThreadDescriptors {
    type Payload<'a> = Message<'a>;

    const TABLES: &'static [&'static Table] = &[&tables::thread_record::TABLE];

    const TIMES: Times = Times::References;

    fn read(
        &mut self,
        message: Message<'_>,
        packet: &PlacedPacket<'_>,
        context: &mut ImportContext,
        _rows: &mut Rows<'_>,
    ) {
        if !packet.header.has_sequence {
            return context.faults.add(MISSING_SEQUENCE, packet.id);
        }
        if !packet.valid {
            return context.faults.add(STATE_LOST, packet.id);
        }
        is_thread(message, false, packet, context);
        observe(PacketType::THREAD_DESCRIPTOR, message, packet, context);
    }

    fn retime(
        message: Message<'_>,
        packet: &Retimed<'_>,
        to: &mut impl Retime,
        _out: &mut Vec<u8>,
    ) -> Rewritten {
        if packet.header.has_sequence && packet.is_valid {
            *to.references(packet.generation) = References::of(time_of(message));
        }
        Rewritten::Same
    }
}

/// Keeps the thread that a writer says it is.
fn is_thread(
    thread: Message<'_>,
    is_sandboxed: bool,
    packet: &PlacedPacket<'_>,
    context: &mut ImportContext,
) {
    let (pid, tid) = thread_ids(thread, is_sandboxed);
    let writer = Writer { pid: pid as u32, trusted_pid: packet.trusted_pid(), tid };
    let number = context.definitions.uuids.writer(writer);
    let (state, _) = context.writers.state(packet.generation);
    state.is_thread(number, thread);
}
