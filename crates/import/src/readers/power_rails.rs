//! `power_rails`: samples of the energy of power rails, and the names of the rails (rule M10).
//!
//! # Design
//!
//! A sample has its own time (rule O1), so each sample is an event of the timeline, with a few
//! bytes. The alternative was one event for the packet. But then its samples would stand at the
//! packet's time, which is later, because the recorder holds samples back.

mod retiming;

use timebase_resolver::{ClockId, SeqId};
use timebase_schema::fields::{
    power_rails as rails, power_rails_energy_data as data, power_rails_rail_descriptor as rail,
};
use timebase_schema::{Table, tables};
use timebase_trace::wire::packet::Header;

use super::context::ImportContext;
use super::packet::PlacedPacket;
use super::reader::Reader;
use super::retiming::{Retime, Retimed, Rewritten, Times};
use crate::definitions::RailIndex;
use crate::message::Message;
use crate::output::Rows;
use crate::place::{CountsFor, TraceTime};
use crate::timeline::{Energy, Event};

/// The greatest index whose descriptor is read.
const GREATEST_INDEX: u32 = 256;

/// The `machine_id` of packets from the machine that recorded the trace.
const HOST: u32 = 0;

/// The number of nanoseconds in a unit of `timestamp_ms`.
const MILLI: u64 = 1_000_000;

/// Reads samples of power rails.
#[derive(Debug, Default)]
pub(crate) struct PowerRails;

impl Reader for PowerRails {
    type Payload<'a> = Message<'a>;

    const TABLES: &'static [&'static Table] = &[&tables::counter_record::TABLE];

    const COUNTS_FOR: CountsFor = CountsFor::ItsMachine;

    const TIMES: Times = Times::Inside;

    fn converts(message: &Message<'_>, _header: &Header<'_>) -> bool {
        message
            .messages(rails::ENERGY_DATA)
            .any(|sample| sample.number(data::TIMESTAMP_MS).is_some())
    }

    fn read(
        &mut self,
        message: Message<'_>,
        packet: &PlacedPacket<'_>,
        context: &mut ImportContext,
        _rows: &mut Rows<'_>,
    ) {
        if packet.is_lost() {
            // The attempt counts here too, as it does if the user wants no events.
            if Self::converts(&message, packet.header) {
                context.place.clocks.attempted(packet.part);
            }
            return;
        }
        let session = message.number(rails::SESSION_UUID).unwrap_or(0);
        for descriptor in message.messages(rails::RAIL_DESCRIPTOR) {
            let index = descriptor.small(rail::INDEX).unwrap_or(0);
            if index <= GREATEST_INDEX {
                let index = RailIndex { session, index };
                let name = descriptor.text(rail::RAIL_NAME).unwrap_or_default();
                let subsystem = descriptor.text(rail::SUBSYS_NAME);
                let rails = &mut context.definitions.parts.of(packet.part).rails;
                rails.describe(index, &name, subsystem.as_deref());
            }
        }
        let boottime = Some((ClockId::BOOTTIME, SeqId(0)));
        let clock = context.place.clocks.event_clock(packet.part, boottime);
        let packet_ts = packet.placement.ts.filter(|_| packet.header.machine_id == HOST);
        let packet_ts = packet_ts.map(|TraceTime(ts)| ts);
        for sample in message.messages(rails::ENERGY_DATA) {
            let event = Event::Energy(Energy {
                part: packet.part,
                machine: packet.machine,
                session,
                index: sample.small(data::INDEX).unwrap_or(0),
                energy: sample.number(data::ENERGY).unwrap_or(0),
                packet_ts,
            });
            match sample.number(data::TIMESTAMP_MS) {
                Some(time) => context.part(packet, &clock, time.saturating_mul(MILLI), &event),
                None => context.packet(packet, &event),
            }
        }
    }

    fn retime(
        _message: Message<'_>,
        packet: &Retimed<'_>,
        to: &mut impl Retime,
        out: &mut Vec<u8>,
    ) -> Rewritten {
        retiming::retime(packet, to, out)
    }
}
