//! `streaming_profile_packet`: samples of Chrome's profiler, each with its own time (rules CP).

use timebase_resolver::{ClockId, SeqId};
use timebase_schema::Table;
use timebase_schema::fields::streaming_profile_packet as profile;
use timebase_trace::wire::packet::{Header, PacketType};

use super::{TABLES, event_of};
use crate::compact::{Compact, Put};
use crate::definitions::StreamedSample;
use crate::message::Message;
use crate::output::{BEFORE_ZERO, Cause, Counter, Fault, Rows, STACKPROFILE_PARSER_ERROR};
use crate::place::{CountsFor, TraceTime};
use crate::readers::context::ImportContext;
use crate::readers::packet::PlacedPacket;
use crate::readers::reader::Reader;
use crate::readers::retiming::{Fixed, Retime, Retimed, Rewritten, Times, fields, put_number};
use crate::readers::sequences::NS_PER_US;
use crate::timeline::Event;

const INVALID_TIMESTAMP: Fault = Fault::new(
    Counter::error(
        "streaming_profile_invalid_timestamp",
        "samples of a streaming profile without a valid reference of time \
     are dropped",
    )
    .drops(Cause::NoReference),
);

/// Reads samples of streaming profiles.
#[derive(Debug, Default)]
pub(crate) struct StreamingProfiles {
    sample: Vec<u8>,
}

impl Reader for StreamingProfiles {
    type Payload<'a> = Message<'a>;

    const TABLES: &'static [&'static Table] = TABLES;

    const COUNTS_FOR: CountsFor = CountsFor::ItsMachine;

    const TIMES: Times = Times::Inside;

    fn converts(_payload: &Message<'_>, header: &Header<'_>) -> bool {
        header.has_sequence
    }

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
        if let Err(fault) = self.samples(message, packet, context) {
            context.faults.add(fault, packet.id);
        }
    }

    fn retime(
        message: Message<'_>,
        packet: &Retimed<'_>,
        to: &mut impl Retime,
        out: &mut Vec<u8>,
    ) -> Rewritten {
        let mut deltas = message.numbers(profile::TIMESTAMP_DELTA_US).map(|delta| delta as i64);
        let Some(first) = deltas.next().filter(|_| !packet.is_lost) else {
            return Rewritten::Same;
        };
        let Some(written) = first_delta(first, packet, to) else {
            return Rewritten::Same;
        };
        let rest = deltas.fold(0i64, i64::saturating_add);
        let references = to.references(packet.generation);
        let moves = [(&mut references.read, first), (&mut references.written, written)];
        for (reference, first) in moves {
            *reference = reference.map(|time| time.saturating_add(first).saturating_add(rest));
        }
        let mut written = Some(written);
        for (number, _, bytes) in fields(packet.payload) {
            match number {
                // All deltas are written at the place of the first.
                profile::TIMESTAMP_DELTA_US => {
                    if let Some(first) = written.take() {
                        put_number(out, profile::TIMESTAMP_DELTA_US, first as u64);
                        let others = message.numbers(profile::TIMESTAMP_DELTA_US).skip(1);
                        others
                            .for_each(|delta| put_number(out, profile::TIMESTAMP_DELTA_US, delta));
                    }
                }
                _ => out.extend_from_slice(bytes),
            }
        }
        Rewritten::Changed
    }
}

/// The first delta of a packet in the rewritten trace, in microseconds, so that its samples have
/// the same times (rule RW5). The other deltas stay the same.
fn first_delta(first: i64, packet: &Retimed<'_>, to: &mut impl Retime) -> Option<i64> {
    let references = *to.references(packet.generation);
    let (read, written) = (references.read?, references.written?);
    let ns = |time: i64| u64::try_from(time.saturating_mul(NS_PER_US)).ok();
    let monotonic = to.clock(Some((ClockId::MONOTONIC, SeqId(0))));
    let (reading, reading_written) = (ns(read)?, ns(written)?);
    let TraceTime(ts) = match to.time_now(&monotonic, reading) {
        Some(ts) => ts,
        None => TraceTime(read.saturating_mul(NS_PER_US)),
    };
    let TraceTime(ts_written) = match to.leads_to(ClockId::MONOTONIC, reading_written) {
        Some(ts) => ts,
        None => TraceTime(written.saturating_mul(NS_PER_US)),
    };
    let between = ts.saturating_sub(ts_written);
    let off = between.checked_rem(NS_PER_US).unwrap_or(0).unsigned_abs();
    if off != 0 {
        to.off(Fixed::StreamedSamples, Some(off));
    }
    let between = between.checked_div(NS_PER_US).unwrap_or(0);
    Some(first.saturating_add(between))
}

impl StreamingProfiles {
    /// Reads the samples (rules CP1, CP2), or returns the reason to drop the rest of the packet.
    fn samples(
        &mut self,
        message: Message<'_>,
        packet: &PlacedPacket<'_>,
        context: &mut ImportContext,
    ) -> Result<(), Fault> {
        if packet.header.has_sequence {
            context.place.clocks.attempted(packet.part);
        }
        let reference = reference(packet, context).ok_or(INVALID_TIMESTAMP)?;
        let ns = reference.saturating_mul(NS_PER_US);
        let reading = u64::try_from(ns).map_err(|_| INVALID_TIMESTAMP)?;
        let clocks = &mut context.place.clocks;
        let monotonic = clocks.event_clock(packet.part, Some((ClockId::MONOTONIC, SeqId(0))));
        let placed = clocks.place_event(&monotonic, reading);
        let TraceTime(mut time) = placed.unwrap_or(TraceTime(ns));
        let priority = message.number(profile::PROCESS_PRIORITY).unwrap_or(0) as i32;
        let mut stacks = message.numbers(profile::CALLSTACK_IID);
        let mut deltas = message.numbers(profile::TIMESTAMP_DELTA_US);
        loop {
            let (stack, delta) = (stacks.next(), deltas.next());
            let Some(delta) = delta.map(|delta| delta as i64) else {
                return match stack {
                    Some(_) => Err(STACKPROFILE_PARSER_ERROR),
                    None => Ok(()),
                };
            };
            time = time.saturating_add(delta.saturating_mul(NS_PER_US));
            move_reference(delta, packet, context)?;
            match stack {
                Some(_) if time < 0 => context.faults.add(BEFORE_ZERO, packet.id),
                Some(stack) => self.sample(TraceTime(time), stack, priority, packet, context),
                None => {}
            }
        }
    }

    /// Gives a sample to the timeline, with the current thread of the sequence (rule CP3).
    fn sample(
        &mut self,
        ts: TraceTime,
        stack: u64,
        priority: i32,
        packet: &PlacedPacket<'_>,
        context: &mut ImportContext,
    ) {
        let (state, _) = context.writers.state(packet.generation);
        let thread = state.thread();
        let thread = thread.and_then(|thread| context.definitions.uuids.thread(thread));
        let Some(thread) = thread else {
            return;
        };
        self.sample.clear();
        StreamedSample { thread, stack, priority }.put(&mut Put(&mut self.sample));
        let field = PacketType::STREAMING_PROFILE_PACKET.0;
        let event = event_of(field, packet, &self.sample, context);
        Event::Profile(event).write(&mut context.events.record);
        context.events.push_record(ts);
    }
}

/// The reference of the sequence's times, in microseconds (rule L1).
fn reference(packet: &PlacedPacket<'_>, context: &mut ImportContext) -> Option<i64> {
    let (state, _) = context.writers.state(packet.generation);
    Some(state.references()?.time_us)
}

/// Moves the reference of the sequence's times. A reference below 0 ends the packet.
fn move_reference(
    delta: i64,
    packet: &PlacedPacket<'_>,
    context: &mut ImportContext,
) -> Result<(), Fault> {
    let (state, _) = context.writers.state(packet.generation);
    if let Some(references) = state.references() {
        references.time_us = references.time_us.saturating_add(delta);
        if references.time_us < 0 {
            return Err(INVALID_TIMESTAMP);
        }
    }
    Ok(())
}
