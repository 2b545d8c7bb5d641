//! What a reader is, and what it is given.

use timebase_descriptor::field::{Fields, Malformed};
use timebase_resolver::Unresolved;
use timebase_schema::{Table, tables};
use timebase_trace::Kept;
use timebase_trace::wire::packet::Header;

use super::packet::Packet;
use super::packet_schema::PacketSchema;
use super::sequences::Writers;
use crate::facts::Facts;
use crate::output::{Faults, Journal, Message, Rows, Severity};
use crate::place::{
    Counts, EventClock, EventRow, Place, SettledEvent, Snapshot, TraceTime, Untimed,
};
use crate::subjects::Wanted;
use crate::timeline::{Event, Timeline};

/// Reads the payloads of one type of packets, in file order.
///
/// For each of its packets these are called once, in this order:
///
/// 1. [`Reader::parse`], which is pure: it looks at nothing but the bytes, and may
///    fail. Then none of the others is called, and the packet is a row with its own
///    header.
/// 2. [`Reader::snapshot`]: what the payload says of clocks. It is in force for
///    what comes next.
/// 3. The frame places the packet.
/// 4. [`Reader::read`], which has effects, rows above all, and cannot fail: what
///    is odd in the payload is counted, said in the log, or a row of its own. It is
///    left out if the user wants no events and the reader makes nothing else.
///
/// When the trace is read to its end, [`Reader::settled`] is called for each of its
/// events that could not be placed when it was read, in file order, and then
/// [`Reader::end`], once.
pub(crate) trait Reader {
    /// What is parsed. It may borrow from the bytes.
    type Payload<'a>;

    /// The tables that it fills.
    const TABLES: &'static [&'static Table] = &[];

    /// The fields of `InternedData` that it, or the tracker of its events, looks up.
    const INTERNED: &'static [(u32, Kept)] = &[];

    /// Reads the payload.
    ///
    /// # Errors
    ///
    /// [`Corrupt`] if it is damaged.
    fn parse(payload: &[u8]) -> Result<Self::Payload<'_>, Corrupt>;

    /// What it says that clocks read at one instant.
    fn snapshot(_payload: &Self::Payload<'_>, _header: &Header<'_>) -> Option<Snapshot> {
        None
    }

    /// Whether [`Reader::read`] attempts to convert a time. Where it is left out, the
    /// attempt counts as if it was made (rule T1), so that trace time does not depend
    /// on what the user wants to see.
    fn converts(_payload: &Self::Payload<'_>, _header: &Header<'_>) -> bool {
        false
    }

    /// Makes of it what is to be made.
    fn read(
        &mut self,
        _payload: Self::Payload<'_>,
        _packet: &Packet<'_>,
        _desk: &mut Desk<'_, '_>,
    ) {
    }

    /// An event of one of its tables has its time, or its last reason. Its columns
    /// `ts`, and `unresolved` or `timestamp`, are changed without the reader.
    fn settled(&mut self, _event: &SettledEvent<'_>, _rows: &mut Rows<'_>) {}

    /// There are no more packets, and nothing waits any more.
    fn end(&mut self, _desk: &mut Desk<'_, '_>) {}
}

/// Why a payload cannot be read (rule F7).
#[derive(Debug, thiserror::Error)]
pub(crate) enum Corrupt {
    #[error("{0}")]
    Packet(#[from] Malformed),
    #[error("{0}")]
    Message(#[from] prost::DecodeError),
    #[error("it has {0} bytes; more than {LARGEST} are kept but not read")]
    TooLarge(usize),
    #[error("it has more than {0} {1}")]
    TooMany(usize, &'static str),
}

/// A packet of more bytes is a row, and nothing is made of its payload. What is made of one
/// takes up to some thirty times its bytes of memory; and no buffer of a recorder has a packet
/// that is as large.
const LARGEST: usize = 32 << 20;

impl Corrupt {
    /// Whether its bytes are not what they have to be; else there are too many of them.
    pub fn is_damage(&self) -> bool {
        match self {
            Corrupt::Packet(_) | Corrupt::Message(_) => true,
            Corrupt::TooLarge(_) | Corrupt::TooMany(..) => false,
        }
    }

    /// Of a packet that is too large to be read.
    pub fn size(packet: &[u8]) -> Result<(), Corrupt> {
        match packet.len() {
            0..=LARGEST => Ok(()),
            size => Err(Corrupt::TooLarge(size)),
        }
    }

    /// Of a message that has too much of a field, before all of it is in memory at once.
    pub fn count(message: &[u8], field: u32, most: usize, of: &'static str) -> Result<(), Corrupt> {
        // Two bytes are the least that there is of one.
        if message.len() / 2 <= most {
            return Ok(());
        }
        let mut count = 0;
        let mut fields = Fields::new(message);
        while let Some((number, _)) = fields.next()? {
            count += usize::from(number == field);
        }
        match count <= most {
            true => Ok(()),
            false => Err(Corrupt::TooMany(most, of)),
        }
    }
}

/// All that reading a payload may have an effect on.
pub(crate) struct Desk<'a, 'o> {
    pub place: &'a mut Place,
    pub rows: &'a mut Rows<'o>,
    pub journal: &'a mut Journal,
    pub schema: &'a mut PacketSchema,
    pub timeline: &'a mut Timeline,
    pub facts: &'a mut Facts,
    pub latest: &'a mut Latest,
    /// What track events of a sequence share.
    pub writers: &'a mut Writers,
    pub faults: &'a mut Faults,
    /// The event that is being made.
    pub event: &'a mut Vec<u8>,
    /// The times of the first and the last event of the packet, in file order.
    pub event_times: &'a mut Option<(i64, i64)>,
    /// Which tables get rows.
    pub wanted: &'a Wanted,
}

/// The greatest times seen until now (rule O2).
#[derive(Debug, Default)]
pub(crate) struct Latest {
    events: i64,
    /// By the rows of machines.
    packets: Vec<i64>,
}

impl Latest {
    /// An event of any machine has its time.
    #[inline]
    pub fn event(&mut self, TraceTime(ts): TraceTime) {
        self.events = self.events.max(ts);
    }

    fn packet(&mut self, machine: u32, TraceTime(ts): TraceTime) {
        let machine = machine as usize;
        if self.packets.len() <= machine {
            self.packets.resize(machine + 1, 0);
        }
        let latest = &mut self.packets[machine];
        *latest = (*latest).max(ts);
    }

    /// A packet of a machine has its time, which counts for that.
    pub fn counts(&mut self, counts: Counts, machine: u32, ts: TraceTime) {
        match counts {
            Counts::Nothing => {}
            Counts::ItsMachine => self.packet(machine, ts),
            Counts::All => self.event(ts),
        }
    }

    /// Where a packet of a machine stands that has no time of its own.
    pub fn of(&self, machine: u32) -> TraceTime {
        let packets = self.packets.get(machine as usize).copied();
        TraceTime(self.events.max(packets.unwrap_or_default()))
    }
}

impl Desk<'_, '_> {
    /// Says something about a packet in the log.
    pub fn say(
        &mut self,
        severity: Severity,
        code: &'static str,
        packet: &Packet<'_>,
        text: String,
    ) {
        let message = Message {
            severity,
            code,
            packet_id: Some(packet.id),
            offset: Some(packet.offset),
            size: None,
            text,
        };
        message.push(self.rows);
    }

    /// Places an event that has a timestamp of its own, for its row and for the
    /// timeline, where `event` is what it is there; empty for nothing. One that
    /// cannot be placed yet waits.
    #[inline]
    pub fn event(
        &mut self,
        row: EventRow,
        clock: &EventClock,
        timestamp: u64,
        event: &[u8],
    ) -> Result<TraceTime, Unresolved> {
        match self.place.event(clock, timestamp) {
            Ok(ts) => {
                let TraceTime(time) = ts;
                let (first, _) = self.event_times.unwrap_or((time, time));
                *self.event_times = Some((first, time));
                if !event.is_empty() {
                    self.latest.event(ts);
                    self.timeline.push(ts, event);
                }
                Ok(ts)
            }
            Err(reason) => {
                let place = self.kept_place().filter(|_| !event.is_empty());
                let waits = (place, event);
                self.place.event_waits(row, clock, timestamp, reason, waits);
                if self.place.may_resolve_later(clock.part(), reason) {
                    self.journal.waits(row.table);
                }
                Err(reason)
            }
        }
    }

    /// Gives a part of a packet to the timeline that has a timestamp of its own, and no
    /// row.
    pub fn part(
        &mut self,
        packet: &Packet<'_>,
        clock: &EventClock,
        timestamp: u64,
        event: &Event<'_>,
    ) {
        event.write(self.event);
        match self.place.event(clock, timestamp) {
            Ok(ts) => {
                self.latest.event(ts);
                self.timeline.push(ts, self.event);
            }
            Err(reason) => {
                let row = EventRow {
                    table: &tables::packet::TABLE,
                    id: packet.id,
                    mark: 0,
                };
                let place = self.kept_place();
                let waits = (place, &self.event[..]);
                self.place.event_waits(row, clock, timestamp, reason, waits);
            }
        }
    }

    /// What waits to know trace time keeps its place on the timeline (rules O3, X25); what waits for a
    /// snapshot is behind others of its time.
    #[cold]
    fn kept_place(&mut self) -> Option<u64> {
        let keeps = self.place.waits_for_trace_time();
        keeps.then(|| self.timeline.reserve())
    }

    /// The packet's sequence lost some before it, which stands before whatever the packet is for the timeline;
    /// where it relies on what was lost (rule S4) or has no time, at the greatest time until then. It is no event
    /// that is seen (rule O2).
    pub fn packets_lost(&mut self, packet: &Packet<'_>) {
        if !self.timeline.is_wanted() {
            return;
        }
        let lost = Event::PacketsLost {
            sequence: packet.interval.sequence,
        };
        lost.write(self.event);
        match (packet.placement.ts, packet.header.timestamp) {
            (Some(ts), _) => self.timeline.push(ts, self.event),
            (None, Some(_)) if !packet.is_lost() => self.packet_waits(packet),
            (None, _) => self.timeline.push(packet.latest, self.event),
        }
    }

    /// What a packet is for the timeline waits together with the packet.
    pub fn packet_waits(&mut self, packet: &Packet<'_>) {
        let waits = (self.kept_place(), &self.event[..]);
        self.place.packet_event_waits(
            packet.id,
            packet.header,
            packet.of,
            &packet.placement,
            waits,
        );
    }

    /// Gives what a packet is to the timeline: at its time; where it has no timestamp,
    /// at the greatest time until then (rule O2); where it waits for a snapshot,
    /// when it has one.
    pub fn packet(&mut self, packet: &Packet<'_>, event: &Event<'_>) {
        if !self.timeline.is_wanted() || packet.is_lost() {
            return;
        }
        event.write(self.event);
        let placement = &packet.placement;
        match (placement.ts, packet.header.timestamp) {
            (Some(ts), _) => {
                self.latest.event(ts);
                self.timeline.push(ts, self.event);
            }
            (None, None) => {
                self.latest.event(packet.latest);
                match self.place.has_pending() {
                    false => self.timeline.push(packet.latest, self.event),
                    true => self.place.untimed_waits(&Untimed {
                        packet: packet.id,
                        latest: packet.latest,
                        place: self.timeline.reserve(),
                        event: self.event,
                    }),
                }
            }
            (None, Some(_)) => self.packet_waits(packet),
        }
    }
}
