//! `vulkan_memory_event`: the memory that programs get from Vulkan (rule M15).
//!
//! # Design
//!
//! An event has its own time, and stands at this time (rule O1), because the packet may be written
//! later. The event goes to the timeline unchanged; interned data are looked up when it is
//! followed.

use timebase_resolver::{ClockId, SeqId};
use timebase_schema::fields::vulkan_memory_event as memory;
use timebase_schema::{Table, tables};
use timebase_trace::Kept;
use timebase_trace::wire::packet::{Header, PacketType};

use super::context::ImportContext;
use super::observed::{observe, packet_event};
use super::packet::PlacedPacket;
use super::reader::Reader;
use super::retiming::{Fixed, Retime, Retimed, Rewritten, Times, put_with};
use crate::message::Message;
use crate::output::Rows;
use crate::place::CountsFor;
use crate::timeline::Event;
use crate::trackers::VULKAN_INTERNED;

/// Reads events of Vulkan's memory.
#[derive(Debug, Default)]
pub(crate) struct VulkanMemoryEvents;

/// The event's own time, if it has one.
fn time(message: Message<'_>) -> Option<u64> {
    message.number(memory::TIMESTAMP)
}

impl Reader for VulkanMemoryEvents {
    type Payload<'a> = Message<'a>;

    const TABLES: &'static [&'static Table] =
        &[&tables::counter_record::TABLE, &tables::thread_record::TABLE];

    const INTERNED: &'static [(u32, Kept)] = VULKAN_INTERNED;

    const COUNTS_FOR: CountsFor = CountsFor::ItsMachine;

    const TIMES: Times = Times::Inside;

    fn converts(message: &Message<'_>, _header: &Header<'_>) -> bool {
        time(*message).is_some()
    }

    fn read(
        &mut self,
        message: Message<'_>,
        packet: &PlacedPacket<'_>,
        context: &mut ImportContext,
        _rows: &mut Rows<'_>,
    ) {
        if packet.is_lost() {
            if Self::converts(&message, packet.header) {
                context.place.clocks.attempted(packet.part);
            }
            return;
        }
        context.place.interned.keep(packet.generation.interval);
        let packet_type = PacketType::VULKAN_MEMORY_EVENT;
        let Some(time) = time(message) else {
            return observe(packet_type, message, packet, context);
        };
        let boottime = Some((ClockId::BOOTTIME, SeqId(0)));
        let clock = context.place.clocks.event_clock(packet.part, boottime);
        let event = Event::Packet(packet_event(packet_type, message, packet, context));
        context.part(packet, &clock, time, &event);
    }

    fn retime(
        message: Message<'_>,
        packet: &Retimed<'_>,
        to: &mut impl Retime,
        out: &mut Vec<u8>,
    ) -> Rewritten {
        let Some(recorded) = time(message).filter(|_| !packet.is_lost) else {
            return Rewritten::Same;
        };
        let (fixed, clock) = (Fixed::VulkanMemory, ClockId::BOOTTIME);
        let boottime = to.clock(Some((clock, SeqId(0))));
        let Some(ts) = to.time(&boottime, recorded) else {
            to.unplaced(fixed, (clock, SeqId(0)), recorded);
            return Rewritten::Same;
        };
        let reading = to.reading(fixed, clock, recorded, ts);
        if reading == recorded {
            return Rewritten::Same;
        }
        put_with(out, packet.payload, memory::TIMESTAMP, reading);
        Rewritten::Changed
    }
}
