//! Packets become rows. This runs on a thread of its own, beside the one that
//! writes the rows.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, SyncSender};

use flate2::read::ZlibDecoder;
use prost::Message;
use timebase_descriptor::Pool;
use timebase_wire::packet::{Header, PacketType};
use timebase_wire::proto::TracePacketDefaults;

use crate::Monitor;
use crate::clocks::Clocks;
use crate::descriptor;
use crate::payload::{self, Corrupt, Halt, Packet, States};
use crate::rows::{Batch, Cell, LogRow, PacketRow, Placement, RowType, Severity};
use crate::sequence::Sequences;
use crate::stream::{PacketStream, RawPacket, StreamError};

/// What the import counts, for the table `stats`.
#[derive(Debug, Default, Clone)]
pub(crate) struct Counters {
    pub packets: u64,
    pub packets_corrupt: u64,
    pub packets_without_timestamp: u64,
    pub packets_on_trace_time: u64,
    pub packets_to_retry: u64,
    pub compressed_packets: u64,
    pub compressed_packets_damaged: u64,
    pub compressed_packets_nested: u64,
    pub snapshots_rejected: u64,
    pub snapshots_to_retry: u64,
    pub trace_bytes: u64,
    /// Those of importers, by their names in `stats`.
    pub of_importers: BTreeMap<&'static str, u64>,
}

/// How the trace ended.
#[derive(Debug)]
pub(crate) enum End {
    Complete,
    /// Cut or damaged here; what came before is in the rows.
    Damaged(StreamError),
    /// There is nobody left to take the rows.
    Stopped,
}

/// The writing thread is gone, or the user wants no more.
#[derive(Debug)]
pub(crate) struct Stop;

/// Where full batches go, and where they come back from.
pub(crate) struct Outlet<'a> {
    pub full: SyncSender<Batch>,
    pub emptied: Receiver<Batch>,
    pub monitor: &'a Monitor,
}

/// The packets inside of a compressed packet, of either kind (rule F3).
pub(crate) fn inflate(kind: PacketType, bytes: &[u8]) -> io::Result<Box<dyn Read + '_>> {
    Ok(match kind {
        PacketType::COMPRESSED_PACKETS => Box::new(ZlibDecoder::new(bytes)),
        _ => Box::new(zstd::stream::read::Decoder::with_buffer(bytes)?),
    })
}

/// The state of a trace while it is read.
pub(crate) struct Decoder {
    pub clocks: Clocks,
    pub sequences: Sequences,
    pub counters: Counters,
    pub trace_uuid: Option<String>,
    pub batch: Batch,
    /// What importers remember.
    pub states: States,
    /// The schema, with what the trace adds to it; read when it is needed.
    pool: Option<Pool>,
    /// How many parts of the schema are kept.
    descriptors: i64,
    /// How often the trace has added to the schema.
    pub schema_changes: u64,
    /// Whether the events inside of packets are wanted.
    pub keep_events: bool,
    keep_data: bool,
}

impl Decoder {
    pub fn new(keep_data: bool, keep_events: bool, pool: Option<Pool>) -> Self {
        Decoder {
            clocks: Clocks::new(),
            sequences: Sequences::default(),
            counters: Counters::default(),
            trace_uuid: None,
            batch: Batch::default(),
            states: States::default(),
            pool,
            descriptors: 0,
            schema_changes: 0,
            keep_events,
            keep_data,
        }
    }

    /// Reads a whole trace.
    pub fn run(&mut self, input: impl Read, outlet: &Outlet<'_>) -> End {
        let mut stream = PacketStream::new(input);
        let end = loop {
            match stream.next() {
                Ok(Some(packet)) => {
                    self.counters.trace_bytes = packet.offset + packet.bytes.len() as u64;
                    if self.packet(packet, None, outlet).is_err() {
                        return End::Stopped;
                    }
                }
                Ok(None) => break End::Complete,
                Err(error) => break End::Damaged(error),
            }
        };
        match self.send(outlet) {
            Ok(()) => end,
            Err(Stop) => End::Stopped,
        }
    }

    /// A packet of the stream, or one out of the compressed packet at `carrier`.
    fn packet(
        &mut self,
        raw: RawPacket<'_>,
        carrier: Option<u64>,
        outlet: &Outlet<'_>,
    ) -> Result<(), Stop> {
        let offset = carrier.unwrap_or(raw.offset);
        match Header::parse(raw.bytes) {
            Ok(header) => match header.payload {
                Some((
                    kind @ (PacketType::COMPRESSED_PACKETS | PacketType::ZSTD_COMPRESSED_PACKETS),
                    bytes,
                )) => {
                    if carrier.is_some() {
                        self.skip_nested(offset);
                    } else {
                        self.inflate(kind, bytes, raw, outlet)?;
                    }
                }
                _ => match self.row(raw.bytes, offset, &header, outlet) {
                    Err(Halt::Corrupt(error)) => {
                        self.corrupt(raw.bytes, offset, &error.to_string());
                    }
                    Err(Halt::Stop(stop)) => return Err(stop),
                    Ok(()) => {}
                },
            },
            Err(error) => self.corrupt(raw.bytes, offset, &Corrupt::from(error).to_string()),
        }
        self.make_room(outlet)
    }

    /// Hands the batch over if it is full. An importer that makes many rows of
    /// one packet does so in between, so that memory does not grow with them.
    #[inline]
    pub fn make_room(&mut self, outlet: &Outlet<'_>) -> Result<(), Stop> {
        if self.batch.is_full() {
            self.send(outlet)?;
        }
        Ok(())
    }

    fn send(&mut self, outlet: &Outlet<'_>) -> Result<(), Stop> {
        outlet
            .monitor
            .packets
            .store(self.counters.packets, Ordering::Relaxed);
        if outlet.monitor.cancel.load(Ordering::Relaxed) {
            return Err(Stop);
        }
        let next = outlet.emptied.try_recv().unwrap_or_default();
        let full = std::mem::replace(&mut self.batch, next);
        outlet.full.send(full).map_err(|_| Stop)
    }

    /// Rule F3: the packets inside stand in the place of their carrier.
    fn inflate(
        &mut self,
        kind: PacketType,
        bytes: &[u8],
        carrier: RawPacket<'_>,
        outlet: &Outlet<'_>,
    ) -> Result<(), Stop> {
        self.counters.compressed_packets += 1;
        let damage = match inflate(kind, bytes) {
            Ok(inflated) => self.inflated(inflated, carrier.offset, outlet)?,
            Err(error) => Some(error.to_string()),
        };
        if let Some(damage) = damage {
            self.counters.compressed_packets_damaged += 1;
            let message = format!("the compressed packets inside are damaged: {damage}");
            self.corrupt(carrier.bytes, carrier.offset, &message);
        }
        Ok(())
    }

    fn inflated(
        &mut self,
        inflated: impl Read,
        carrier: u64,
        outlet: &Outlet<'_>,
    ) -> Result<Option<String>, Stop> {
        let mut stream = PacketStream::new(inflated);
        loop {
            match stream.next() {
                Ok(Some(packet)) => self.packet(packet, Some(carrier), outlet)?,
                Ok(None) => return Ok(None),
                Err(error) => return Ok(Some(error.to_string())),
            }
        }
    }

    fn skip_nested(&mut self, offset: u64) {
        self.counters.compressed_packets_nested += 1;
        self.batch.log.push(LogRow {
            severity: Severity::Error,
            code: "nested_compression",
            packet_id: None,
            offset: Some(offset),
            message: "a compressed packet inside a compressed packet was skipped (rule F3)".into(),
        });
    }

    /// A packet becomes a row.
    fn row(
        &mut self,
        bytes: &[u8],
        offset: u64,
        header: &Header<'_>,
        outlet: &Outlet<'_>,
    ) -> Result<(), Halt> {
        let default_clock = match header.trace_packet_defaults {
            Some(defaults) => Some(TracePacketDefaults::decode(defaults)?.timestamp_clock_id()),
            None => None,
        };
        let sequence = self.sequences.update(header, default_clock);
        let id = self.counters.packets;
        let imported = header
            .payload
            .and_then(|(kind, payload)| Some((payload::importer(kind)?, payload)));
        let placement = match imported {
            Some((importer, payload)) => {
                let packet = Packet {
                    id,
                    offset,
                    header,
                    sequence,
                    payload,
                    outlet,
                };
                (importer.import)(self, &packet)?
            }
            None => self.clocks.place(header, self.sequences.get(sequence)),
        };
        if let Some(clock) = placement.clock_id {
            self.clocks.count_use(header, clock);
        }
        self.note(&placement, id, offset, header);
        if let Some(ts) = placement.ts {
            self.sequences.get(sequence).saw(ts);
        }
        self.push(
            bytes,
            PacketRow {
                row_type: header.packet_type().map_or(RowType::None, RowType::Payload),
                timestamp: header.timestamp,
                placement,
                seq_id: header.trusted_packet_sequence_id,
                machine_id: header.machine_id,
                uid: header.trusted_uid,
                pid: header.trusted_pid,
                offset,
                size: 0,
                data: 0..0,
            },
        );
        Ok(())
    }

    /// Counts how a packet fared.
    fn note(&mut self, placement: &Placement, id: u64, offset: u64, header: &Header<'_>) {
        let counters = &mut self.counters;
        if placement.ts.is_some() {
            counters.packets_on_trace_time += 1;
        }
        let is_snapshot = header.packet_type() == Some(PacketType::CLOCK_SNAPSHOT);
        match placement.unresolved {
            Some(timebase_resolver::Unresolved::NoSequenceId) if !is_snapshot => {
                self.batch.log.push(LogRow {
                    severity: Severity::Error,
                    code: "no_sequence_id",
                    packet_id: Some(id),
                    offset: Some(offset),
                    message: format!(
                        "the packet's clock {} is sequence-scoped, and it has no sequence id (rule C5)",
                        placement.clock_id.unwrap_or_default()
                    ),
                });
            }
            Some(reason) if reason.may_resolve_later() => {
                if is_snapshot {
                    counters.snapshots_to_retry += 1;
                } else {
                    counters.packets_to_retry += 1;
                }
            }
            _ => {}
        }
        if header.timestamp.is_none() && placement.ts.is_none() && placement.unresolved.is_none() {
            self.counters.packets_without_timestamp += 1;
        }
    }

    /// Rule F7: a packet that cannot be read is kept as it is.
    fn corrupt(&mut self, bytes: &[u8], offset: u64, why: &str) {
        self.counters.packets_corrupt += 1;
        self.batch.log.push(LogRow {
            severity: Severity::Error,
            code: "corrupt_packet",
            packet_id: Some(self.counters.packets),
            offset: Some(offset),
            message: why.into(),
        });
        self.push(
            bytes,
            PacketRow {
                row_type: RowType::Corrupt,
                timestamp: None,
                placement: Placement::default(),
                seq_id: 0,
                machine_id: 0,
                uid: None,
                pid: None,
                offset,
                size: 0,
                data: 0..0,
            },
        );
    }

    fn push(&mut self, bytes: &[u8], row: PacketRow) {
        let start = self.batch.bytes.len();
        if self.keep_data {
            self.batch.bytes.extend_from_slice(bytes);
        }
        let data = start..self.batch.bytes.len();
        self.batch.packets.push(PacketRow {
            data,
            size: bytes.len() as u64,
            ..row
        });
        self.counters.packets += 1;
    }

    /// The schema of packets.
    pub fn pool(&mut self) -> &mut Pool {
        self.pool.get_or_insert_with(Pool::perfetto)
    }

    /// Keeps a part of the schema for the database.
    pub fn descriptor(&mut self, source: &str, packet: Option<u64>, set: &[u8]) {
        self.descriptors += 1;
        let (source, data) = (self.batch.text(source), self.batch.blob(set));
        let packet = Cell::or_null(packet.map(|id| id as i64));
        let row = [Cell::from(self.descriptors), source, packet, data];
        self.batch.row(&descriptor::TABLE, row);
    }

    /// Adds to a counter of an importer's own.
    pub fn count(&mut self, name: &'static str, more: u64) {
        *self.counters.of_importers.entry(name).or_default() += more;
    }

    /// Says something about a packet in the import log.
    pub fn log(
        &mut self,
        severity: Severity,
        code: &'static str,
        packet: &Packet<'_>,
        message: String,
    ) {
        self.batch.log.push(LogRow {
            severity,
            code,
            packet_id: Some(packet.id),
            offset: Some(packet.offset),
            message,
        });
    }
}
