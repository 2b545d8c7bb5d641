//! `profile_packet`: dumps of heap profiles (rules HP).
//!
//! # Design
//!
//! The times of dumps are readings of a clock, converted with all snapshots of the trace (HP2). So
//! this reader collects the dumps, and converts their times after the last packet, before events
//! are followed. There is one record for each process and dump.

use timebase_descriptor::field::Value;
use timebase_resolver::{ClockId, SeqId};
use timebase_schema::Table;
use timebase_schema::fields::{
    profile_packet as profile, profile_packet_process_heap_samples as dump,
};
use timebase_trace::Kept;
use timebase_trace::wire::packet::PacketType;

use super::{TABLES, event_of};
use crate::message::Message;
use crate::output::Rows;
use crate::readers::context::ImportContext;
use crate::readers::packet::PlacedPacket;
use crate::readers::reader::Reader;
use crate::readers::retiming::{
    Fixed, Retime, Retimed, Rewritten, Times, fields, put_bytes, put_number,
};
use crate::timeline::Event;
use crate::trackers::PROFILES_INTERNED;

/// The clock of a dump's times.
const MONOTONIC_COARSE: ClockId = ClockId(4);

/// Reads dumps of heap profiles.
#[derive(Debug, Default)]
pub(crate) struct HeapProfiles;

impl Reader for HeapProfiles {
    type Payload<'a> = Message<'a>;

    const TABLES: &'static [&'static Table] = TABLES;

    /// The tracker of all packets of profiles looks them up.
    const INTERNED: &'static [(u32, Kept)] = PROFILES_INTERNED;

    const TIMES: Times = Times::Inside;

    fn read(
        &mut self,
        message: Message<'_>,
        packet: &PlacedPacket<'_>,
        context: &mut ImportContext,
        _rows: &mut Rows<'_>,
    ) {
        if packet.is_lost() || !context.events.timeline.is_wanted() {
            return;
        }
        let profiles = &mut context.definitions.profiles;
        for dump in message.messages(profile::PROCESS_DUMPS) {
            let end = dump.number(dump::TIMESTAMP).unwrap_or(0);
            profiles.wants_time(packet.part, end);
            profiles.wants_time(packet.part, dump.number(dump::START_TIMESTAMP).unwrap_or(end));
        }
        let event = event_of(PacketType::PROFILE_PACKET.0, packet, message.0, context);
        context.packet(packet, &Event::Profile(event));
    }

    fn retime(
        _message: Message<'_>,
        packet: &Retimed<'_>,
        to: &mut impl Retime,
        out: &mut Vec<u8>,
    ) -> Rewritten {
        if packet.is_lost {
            return Rewritten::Same;
        }
        for (number, value, bytes) in fields(packet.payload) {
            match value {
                Value::Bytes(dump) if number == profile::PROCESS_DUMPS => {
                    let mut retimed = Vec::new();
                    retime_dump(dump, to, &mut retimed);
                    put_bytes(out, number, &retimed);
                }
                _ => out.extend_from_slice(bytes),
            }
        }
        Rewritten::Changed
    }

    fn end(&mut self, context: &mut ImportContext, _rows: &mut Rows<'_>) {
        let clocks = &mut context.place.clocks;
        for (part, reading, time) in context.definitions.profiles.wanted_times() {
            let coarse = clocks.event_clock(part, Some((MONOTONIC_COARSE, SeqId(0))));
            *time = clocks.place_event(&coarse, reading).ok();
        }
    }
}

/// A dump with the clock readings for its new times (rule RW6).
fn retime_dump(dump: &[u8], to: &mut impl Retime, out: &mut Vec<u8>) {
    let clock = to.clock(Some((MONOTONIC_COARSE, SeqId(0))));
    let mut has_end = false;
    let mut written = |field, recorded, out: &mut Vec<u8>| {
        let ts = to.time_now(&clock, recorded);
        let reading = ts.map(|ts| to.reading(Fixed::HeapDumps, MONOTONIC_COARSE, recorded, ts));
        put_number(out, field, reading.unwrap_or(recorded));
    };
    for (number, value, bytes) in fields(dump) {
        match value {
            Value::Varint(recorded)
                if number == dump::TIMESTAMP || number == dump::START_TIMESTAMP =>
            {
                has_end |= number == dump::TIMESTAMP;
                written(number, recorded, out);
            }
            _ => out.extend_from_slice(bytes),
        }
    }
    if !has_end {
        written(dump::TIMESTAMP, 0, out);
    }
}
