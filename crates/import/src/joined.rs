//! Finds a second recording in one file, as `cat a b > c` makes it (rule X45).
//!
//! # Design
//!
//! The tracing service writes its uuid, its configuration and its start once for each recording, also for a
//! clone. A writer without a service is known by its sequences and its clocks only. So there are certain signs,
//! which end the search, and two that need a second look: writers that begin again (none of them may go on
//! meanwhile), and a snapshot that is older than its sequence (a later descriptor must contradict an earlier
//! one). These wait as candidates. The state is a few numbers for each sequence (56 bytes) and each described uuid.
//!
//! The alternative was to look for a second snapshot or a second clearing of state, but a single recording has
//! many of both.

use std::io::Read;
use std::num::NonZeroU64;
use std::ops::ControlFlow;

use rustc_hash::FxHashMap;
use timebase_schema::fields::{
    clock_snapshot as snapshot, clock_snapshot_clock as clock, trace_config as config,
    trace_packet_defaults as defaults, tracing_service_event as service,
    track_descriptor as descriptor,
};
use timebase_trace::wire::packet::{Header, PacketType};
use timebase_trace::{Found, Packet, Packets, Payload};

use crate::message::Message;
use crate::pieces::Pieces;

/// BOOTTIME, which is also the clock of packets that name none.
const BOOTTIME: u32 = 6;

/// BOOTTIME goes on while the machine sleeps. Within one recording, it does not go back by more than this.
const JITTER: u64 = 10_000_000_000;

/// The packets with which the tracing service begins a recording. Its uuid is one of them, and not the first.
const PREAMBLE: [PacketType; 6] = [
    PacketType::CLOCK_SNAPSHOT,
    PacketType::SYNCHRONIZATION_MARKER,
    PacketType::TRACE_CONFIG,
    PacketType::TRACE_UUID,
    PacketType::SYSTEM_INFO,
    PacketType(124), // trace_provenance
];

/// A message names at most this many sequences or uuids.
const NAMED: usize = 5;

/// The sign of a second recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sign {
    TraceUuid,
    Config,
    TracingStarted,
    Writers,
    Boottime,
    Descriptors,
}

impl Sign {
    fn text(self) -> &'static str {
        match self {
            Sign::TraceUuid => "a second trace_uuid",
            Sign::Config => "a trace_config of another session",
            Sign::TracingStarted => "a second tracing_started",
            Sign::Writers => "writers that begin again (first_packet_on_sequence)",
            Sign::Boottime => "a snapshot in which BOOTTIME goes back by more than 10 s",
            Sign::Descriptors => {
                "a snapshot that is older than its sequence, and then another descriptor for a known track"
            }
        }
    }
}

/// The begin of a second recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Begin {
    /// The number of the packet in the file.
    pub packet: u64,
    /// The offset of its bytes in the decompressed file.
    pub offset: u64,
    pub sign: Sign,
}

/// A sequence, by the numbers of its packets.
#[derive(Debug, Clone, Copy, Default)]
struct Sequence {
    id: u32,
    default_clock: u32,
    /// The clock of the greatest timestamp, or 0, and that timestamp.
    clock: u32,
    time: u64,
    /// The number of the first packet, and one.
    first: Option<NonZeroU64>,
    last: u64,
    /// Whether a packet says that it is the first.
    has_first: bool,
    /// The number of the last later packet that says so, and one.
    restarted: Option<NonZeroU64>,
    /// The last reading of BOOTTIME, if there is one.
    has_boottime: bool,
    boottime: u64,
}

impl Sequence {
    fn first(&self) -> Option<u64> {
        self.first.map(|next| next.get() - 1)
    }

    fn restarted(&self) -> Option<u64> {
        self.restarted.map(|next| next.get() - 1)
    }
}

/// The number of a packet, and one: nothing then takes no memory of its own.
fn and_one(number: u64) -> Option<NonZeroU64> {
    NonZeroU64::new(number.saturating_add(1))
}

/// A described uuid.
#[derive(Debug, Clone, Copy)]
struct Described {
    /// The name, the owner and the parent.
    contents: u64,
    first: u64,
    last: u64,
}

/// The identity of a session in its configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Session {
    uuid: [Option<u64>; 2],
    name: Option<Box<str>>,
}

/// The recordings of one file.
#[derive(Debug, Default)]
pub(crate) struct Recordings {
    has_uuid: bool,
    session: Option<Session>,
    started: Option<u64>,
    sequences: Pieces<Sequence>,
    uuids: FxHashMap<u64, Described>,
    /// The place where the service's packets before the next one begin, if nothing else is in between.
    preamble: Option<(u64, u64)>,
    /// The second recording, if it is certain.
    second: Option<Begin>,
    /// Writers that begin again, and their number.
    restart: Option<(Begin, u64)>,
    /// A snapshot that is older than its sequence.
    older: Option<Begin>,
}

impl Recordings {
    /// Takes the next packet of the file, with its number in the file and the number of its sequence among
    /// the file's.
    #[inline]
    pub fn packet(&mut self, packet: &Packet<'_>, number: u64, sequence: u32) {
        let header = packet.header;
        if header.has_sequence {
            self.sequence(packet, sequence, number);
        }
        let Some((kind, bytes)) = header.payload else {
            self.preamble = None;
            return;
        };
        let message = Message(bytes);
        let is_of_first = match kind {
            PacketType::TRACE_UUID => !self.has_uuid,
            PacketType::TRACE_CONFIG => self.session.is_none(),
            _ => false,
        };
        match kind {
            PacketType::CLOCK_SNAPSHOT => self.snapshot(message, sequence, packet.offset, number),
            PacketType::TRACK_DESCRIPTOR => self.descriptor(message, number),
            _ if header.machine_id == 0 => {
                if let Some(sign) = self.of_service(kind, message, header) {
                    let (packet, offset) = self.preamble.unwrap_or((number, packet.offset));
                    self.is_certain(Begin { packet, offset, sign });
                }
            }
            _ => {}
        }
        self.preamble = match PREAMBLE.contains(&kind) && !is_of_first {
            true => self.preamble.or(Some((number, packet.offset))),
            false => None,
        };
    }

    #[inline]
    fn sequence(&mut self, packet: &Packet<'_>, sequence: u32, number: u64) {
        let (header, place) = (packet.header, sequence as usize);
        let of = self.sequences.reach(place);
        of.first = of.first.or(and_one(number));
        of.id = header.trusted_packet_sequence_id;
        of.last = number;
        if header.first_packet_on_sequence {
            if of.has_first {
                of.restarted = and_one(number);
                let begin = Begin { packet: number, offset: packet.offset, sign: Sign::Writers };
                self.restart.get_or_insert((begin, 0)).1 += 1;
            }
            of.has_first = true;
        } else if let Some((begin, _)) = self.restart
            && of.first().is_some_and(|first| first < begin.packet)
            && of.restarted().is_none_or(|restarted| restarted < begin.packet)
        {
            self.restart = None; // this writer goes on
        }
        if let Some(defaults) = header.trace_packet_defaults
            && let Some(clock) = Message(defaults).small(defaults::TIMESTAMP_CLOCK_ID)
        {
            of.default_clock = clock;
        }
        if let Some(ts) = header.timestamp {
            let clock = [header.timestamp_clock_id, of.default_clock, BOOTTIME];
            let clock = clock.into_iter().find(|&clock| clock != 0).unwrap_or(BOOTTIME);
            of.time = match of.clock == clock {
                true => of.time.max(ts),
                false => ts,
            };
            of.clock = clock;
        }
    }

    /// Takes a snapshot of a sequence.
    #[cold]
    fn snapshot(&mut self, snapshot: Message<'_>, sequence: u32, offset: u64, number: u64) {
        let Some(of) = self.sequences.get_mut(sequence as usize) else {
            return;
        };
        let begin = |sign| Begin { packet: number, offset, sign };
        let mut goes_back = false;
        for clock in snapshot.messages(snapshot::CLOCKS) {
            let (Some(id), Some(reading)) =
                (clock.small(clock::CLOCK_ID), clock.number(clock::TIMESTAMP))
            else {
                continue;
            };
            if id == BOOTTIME {
                goes_back |= of.has_boottime && of.boottime.saturating_sub(reading) > JITTER;
                (of.has_boottime, of.boottime) = (true, reading);
            }
            let is_older = of.clock == id && id != 0 && of.time > reading;
            if is_older && self.older.is_none() {
                self.older = Some(begin(Sign::Descriptors));
            }
        }
        if goes_back {
            self.is_certain(begin(Sign::Boottime));
        }
    }

    /// Takes a `TrackDescriptor`.
    #[cold]
    fn descriptor(&mut self, descriptor: Message<'_>, number: u64) {
        use std::hash::{BuildHasher, BuildHasherDefault};
        const PARTS: [u32; 7] = [
            descriptor::NAME,
            descriptor::PROCESS,
            descriptor::THREAD,
            descriptor::PARENT_UUID,
            descriptor::COUNTER,
            descriptor::STATIC_NAME,
            descriptor::ATRACE_NAME,
        ];
        let Some(uuid) = descriptor.number(descriptor::UUID) else {
            return;
        };
        let parts = PARTS.map(|field| (descriptor.bytes(field), descriptor.number(field)));
        let contents = BuildHasherDefault::<rustc_hash::FxHasher>::default().hash_one(parts);
        let known =
            self.uuids.entry(uuid).or_insert(Described { contents, first: number, last: number });
        known.last = number;
        let is_other = known.contents != contents;
        if let Some(older) = self.older
            && is_other
            && known.first < older.packet
        {
            self.is_certain(older);
        }
    }

    /// Takes a packet of the tracing service.
    fn of_service(
        &mut self,
        kind: PacketType,
        message: Message<'_>,
        header: &Header<'_>,
    ) -> Option<Sign> {
        match kind {
            PacketType::TRACE_UUID => {
                std::mem::replace(&mut self.has_uuid, true).then_some(Sign::TraceUuid)
            }
            PacketType::TRACE_CONFIG => {
                let session = Session {
                    uuid: [config::TRACE_UUID_MSB, config::TRACE_UUID_LSB]
                        .map(|field| message.number(field)),
                    name: message.text(config::UNIQUE_SESSION_NAME).map(Into::into),
                };
                let before = self.session.get_or_insert_with(|| session.clone());
                before.is_other(&session).then_some(Sign::Config)
            }
            PacketType::SERVICE_EVENT if message.flag(service::TRACING_STARTED) => {
                let ts = header.timestamp?;
                let before = *self.started.get_or_insert(ts);
                (before != ts).then_some(Sign::TracingStarted)
            }
            _ => None,
        }
    }

    /// A second recording begins. The first of its signs counts.
    fn is_certain(&mut self, begin: Begin) {
        if self.second.is_none_or(|second| begin.packet < second.packet) {
            self.second = Some(begin);
        }
    }

    /// The begin of the second recording, if the file has one. After the last packet, writers that began again
    /// count, too.
    pub fn second(&self, is_end: bool) -> Option<Begin> {
        let restart = self.restart.filter(|&(_, writers)| is_end && writers > 1);
        let all = [self.second, restart.map(|(begin, _)| begin)];
        all.into_iter().flatten().min_by_key(|begin| begin.packet)
    }

    /// The message about a second recording in a file.
    pub fn text(&self, begin: Begin) -> String {
        let is_both = |first: u64, last: u64| first < begin.packet && last >= begin.packet;
        let sequences = self.sequences.iter();
        let sequences =
            sequences.filter(|of| of.first().is_some_and(|first| is_both(first, of.last)));
        let mut sequences: Vec<u64> = sequences.map(|of| of.id.into()).collect();
        let uuids = self.uuids.iter();
        let uuids = uuids.filter(|(_, of)| is_both(of.first, of.last));
        let mut uuids: Vec<u64> = uuids.map(|(&uuid, _)| uuid).collect();
        let mut used = Vec::new();
        for (what, numbers) in [("sequences", &mut sequences), ("track uuids", &mut uuids)] {
            numbers.sort_unstable();
            let more = numbers.len().saturating_sub(NAMED);
            let named: Vec<String> = numbers.iter().take(NAMED).map(u64::to_string).collect();
            if !named.is_empty() {
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                used.push(format!("{what} {}{more}", named.join(", ")));
            }
        }
        let used = match used.is_empty() {
            true => String::new(),
            false => format!("; both use {}", used.join(" and ")),
        };
        format!(
            "a second recording begins at packet {}, byte {}: {}{used}",
            begin.packet,
            begin.offset,
            begin.sign.text()
        )
    }
}

impl Session {
    /// Whether both name their session, and differently.
    fn is_other(&self, other: &Session) -> bool {
        let differs = |(one, other): (&Option<u64>, &Option<u64>)| {
            one.zip(*other).is_some_and(|(a, b)| a != b)
        };
        let is_named = self.name.as_ref().zip(other.name.as_ref());
        self.uuid.iter().zip(&other.uuid).any(differs)
            || is_named.is_some_and(|(one, other)| one != other)
    }
}

/// The place of the packet that begins the second recording of a trace; `None` if there is only one.
pub(crate) fn second_begins(trace: &mut dyn Read) -> Option<u64> {
    let mut recordings = Recordings::default();
    let mut sequences: FxHashMap<(u32, u32), u32> = FxHashMap::default();
    let mut number = 0;
    Packets::new(trace).for_each(|found| {
        let Found::Packet(packet) = found else {
            return ControlFlow::Continue(Payload::Sound);
        };
        let header = packet.header;
        let key = (header.machine_id, header.trusted_packet_sequence_id);
        let next = sequences.len() as u32;
        let sequence = *sequences.entry(key).or_insert(next);
        recordings.packet(packet, number, sequence);
        number += 1;
        match recordings.second(false) {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(Payload::Sound),
        }
    });
    recordings.second(true).map(|begin| begin.offset)
}
