//! The recorder's statistics of its buffers and writers at the end (rules DT1, DT2).
//!
//! # Design
//!
//! The counters are those of trace processor, set when a packet is read; the last of several
//! packets counts. The losses among them become rows after all packets are read, because only then
//! are the last packet and the configuration of each buffer known.

mod counters;

use std::collections::BTreeMap;

use self::counters::{
    BUFFER, BUFFER_LOSSES, CAUSE, FILTER, FILTERED_OUT, FINAL_FLUSH, SEQUENCE_PACKET_LOSS,
    SEQUENCES_DROPPED, SERVICE, SERVICE_LOSSES,
};
use timebase_schema::fields::{
    trace_stats as stats, trace_stats_buffer_stats as buffer, trace_stats_filter_stats as filter,
    trace_stats_writer_stats as writer,
};

use super::context::ImportContext;
use super::corrupt::Corrupt;
use super::packet::PlacedPacket;
use super::reader::{Payload, Reader};
use super::retiming::Times;
use crate::message::Message;
use crate::output::{Counter, Loss, Rows};
use crate::place::{CAUSES, PartIx, Place};
use crate::summary::LossKind;

/// The most buffers of a packet. A recorder has at most some hundred, with twenty counters each.
const MOST_BUFFERS: usize = 4096;

/// Reads the statistics of the recorder.
#[derive(Debug, Default)]
pub(crate) struct TraceStats {
    /// The losses in the last statistics of each part.
    losses: BTreeMap<PartIx, Vec<Lost>>,
}

/// A loss, before it is known whether it is intended.
#[derive(Debug)]
struct Lost {
    loss: Loss,
    /// Whether a ring buffer is meant to lose this.
    by_ring: bool,
}

impl Reader for TraceStats {
    type Payload<'a> = Message<'a>;

    const IS_COUNTED: bool = false;

    const TIMES: Times = Times::OfPacket;

    fn parse(payload: &[u8]) -> Result<Message<'_>, Corrupt> {
        let stats = Message::parse(payload)?;
        Corrupt::count(payload, stats::BUFFER_STATS, MOST_BUFFERS, "buffers")?;
        Ok(stats)
    }

    fn read(
        &mut self,
        stats: Message<'_>,
        packet: &PlacedPacket<'_>,
        context: &mut ImportContext,
        _rows: &mut Rows<'_>,
    ) {
        let mut report =
            Report { of: of(&context.place, packet.part), packet, context, losses: Vec::new() };
        report.service(stats);
        report.buffers(stats);
        report.writers(stats);
        let losses = report.losses;
        self.losses.insert(packet.part, losses);
    }

    fn end(&mut self, context: &mut ImportContext, rows: &mut Rows<'_>) {
        for (part, losses) in std::mem::take(&mut self.losses) {
            let of_part = context.definitions.parts.get(part);
            let config = of_part.and_then(|of_part| of_part.config.as_ref());
            for Lost { loss, by_ring } in losses {
                let discards = || config?.discards.get(loss.buffer? as usize).copied();
                let is_meant = by_ring && !discards().unwrap_or(false);
                Loss { is_meant, ..loss }.push(rows);
            }
        }
    }
}

/// The counters with one value for each machine.
pub(super) fn counters() -> impl Iterator<Item = &'static Counter> {
    let single = SERVICE.iter().chain(&FINAL_FLUSH).chain(&FILTER);
    single.map(|(_, counter)| counter)
}

/// The file and the machine of a part.
pub(crate) fn of(place: &Place, part: PartIx) -> (u32, u32) {
    let part = &place.clocks.parts[part];
    (part.file.id, part.machine.0)
}

/// The contents of one packet.
struct Report<'r> {
    of: (u32, u32),
    packet: &'r PlacedPacket<'r>,
    context: &'r mut ImportContext,
    losses: Vec<Lost>,
}

impl Report<'_> {
    fn set(&mut self, counter: &'static Counter, idx: Option<u32>, value: u64) {
        // The same 64 bits as a signed number, as in trace processor.
        let journal = &mut self.context.journal;
        journal.set(counter, self.of, idx, value.cast_signed());
    }

    fn lost(&mut self, kind: LossKind, count: u64) -> Option<&mut Lost> {
        if count == 0 {
            return None;
        }
        let loss = Loss {
            machine: Some(self.packet.machine),
            packet: Some(self.packet.id),
            ..Loss::new(kind).counted(count)
        };
        self.losses.push(Lost { loss, by_ring: false });
        self.losses.last_mut()
    }

    fn service(&mut self, stats: Message<'_>) {
        for (field, counter) in &SERVICE {
            let value = stats.number(*field).unwrap_or(0);
            self.set(counter, None, value);
            if let Some((_, kind)) = SERVICE_LOSSES.iter().find(|(loss, _)| loss == field) {
                self.lost(*kind, value);
            }
        }
        let outcome = stats.number(stats::FINAL_FLUSH_OUTCOME).unwrap_or(0);
        for (value, counter) in &FINAL_FLUSH {
            if outcome == u64::from(*value) {
                let before = self.context.journal.recorded(counter, self.of, None);
                let all = before.unwrap_or(0).saturating_add(1);
                self.context.journal.set(counter, self.of, None, all);
                if counter.meaning.severity == "data_loss" {
                    self.lost(LossKind::Writer, 1);
                }
            }
        }
        let Some(filter) = stats.bytes(stats::FILTER_STATS).map(Message) else {
            return;
        };
        for (field, counter) in &FILTER {
            let value = filter.number(*field).unwrap_or(0);
            self.set(counter, None, value);
            if *field == filter::ERRORS {
                self.lost(LossKind::Buffer, value);
            }
        }
        let discarded = filter.numbers(filter::BYTES_DISCARDED_PER_BUFFER);
        for (buffer, bytes) in (0..MOST_BUFFERS as u32).zip(discarded) {
            self.set(&FILTERED_OUT, Some(buffer), bytes);
        }
    }

    fn buffers(&mut self, stats: Message<'_>) {
        for (buffer, stats) in (0..).zip(stats.messages(stats::BUFFER_STATS)) {
            for (field, counter) in &BUFFER {
                let value = stats.number(*field).unwrap_or(0);
                self.set(counter, Some(buffer), value);
                if BUFFER_LOSSES.contains(field)
                    && let Some(lost) = self.lost(LossKind::Buffer, value)
                {
                    lost.loss.buffer = Some(buffer);
                    lost.by_ring = *field == buffer::CHUNKS_OVERWRITTEN;
                }
            }
        }
    }

    /// The import's own counts for each writer, added up by the buffer into which the writer writes
    /// according to the recorder.
    fn writers(&mut self, stats: Message<'_>) {
        let mut buffers: BTreeMap<u32, OfWriters> = BTreeMap::new();
        let machine_id = self.packet.header.machine_id;
        for writer in stats.messages(stats::WRITER_STATS) {
            // 0 means packets without a sequence.
            let id = writer.small(writer::SEQUENCE_ID).filter(|&id| id != 0);
            let buffer = writer.small(writer::BUFFER).unwrap_or(0);
            let known = id.and_then(|id| self.context.place.sequences.known(machine_id, id));
            let Some(sequence) = known else {
                continue;
            };
            // The statistics themselves do not count, because they are read.
            let header = self.packet.header;
            let is_own = header.has_sequence && id == Some(header.trusted_packet_sequence_id);
            let never_trusted = sequence.never_trusted(is_own && header.needs_state());
            let losses = sequence.losses();
            let of = buffers.entry(buffer).or_default();
            of.losses += u64::from(losses);
            of.never_trusted += u64::from(never_trusted.is_some());
            for (all, count) in of.causes.iter_mut().zip(sequence.causes()) {
                *all += u64::from(count);
            }
            for count in [losses, never_trusted.unwrap_or(0)] {
                if let Some(lost) = self.lost(LossKind::Writer, count.into()) {
                    lost.loss.seq = id;
                    lost.loss.buffer = Some(buffer);
                }
            }
        }
        for (buffer, of) in buffers {
            self.set(&SEQUENCE_PACKET_LOSS, Some(buffer), of.losses);
            self.set(&SEQUENCES_DROPPED, Some(buffer), of.never_trusted);
            for (counter, count) in CAUSE.iter().zip(of.causes) {
                self.set(counter, Some(buffer), count);
            }
        }
    }
}

/// The losses of the writers into a buffer.
#[derive(Debug, Default)]
struct OfWriters {
    losses: u64,
    never_trusted: u64,
    causes: [u64; CAUSES],
}
