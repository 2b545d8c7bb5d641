//! Writes the bytes of a trace by hand. It uses none of the product's crates,
//! so that a misreading of the wire format cannot hide in both.

/// A `TracePacket`. A field at its default is not written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Packet {
    pub timestamp: Option<u64>,
    pub timestamp_clock_id: Option<u32>,
    /// `trusted_packet_sequence_id`
    pub seq: u32,
    /// `sequence_flags`
    pub flags: u32,
    pub incremental_state_cleared: bool,
    pub previous_packet_dropped: u32,
    pub first_packet_on_sequence: bool,
    /// `trace_packet_defaults` with this `timestamp_clock_id`, or with none if it is 0.
    pub defaults: Option<u32>,
    pub machine_id: u32,
    pub uid: Option<i32>,
    pub pid: Option<i32>,
    /// The number of a payload field and its bytes.
    pub payload: Option<(u32, Vec<u8>)>,
    pub clock_snapshot: Option<ClockSnapshot>,
}

/// The payload `clock_snapshot`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClockSnapshot {
    pub clocks: Vec<Reading>,
    /// `primary_trace_clock`
    pub primary: Option<i32>,
}

/// `ClockSnapshot.Clock`: not written are an id of 0, a false flag and a unit of 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    pub id: u32,
    pub timestamp: u64,
    pub incremental: bool,
    pub unit: u64,
}

/// Values of `Packet::flags`.
pub const INCREMENTAL_STATE_CLEARED: u32 = 1;
pub const NEEDS_INCREMENTAL_STATE: u32 = 2;

/// The bytes of a `Trace` of these packets.
pub fn trace(packets: &[Packet]) -> Vec<u8> {
    let mut out = Vec::new();
    for packet in packets {
        bytes(&mut out, 1, &packet_bytes(packet));
    }
    out
}

fn packet_bytes(packet: &Packet) -> Vec<u8> {
    let mut out = Vec::new();
    if let Some(uid) = packet.uid {
        number(&mut out, 3, signed(uid));
    }
    if let Some(timestamp) = packet.timestamp {
        number(&mut out, 8, timestamp);
    }
    number_unless_zero(&mut out, 10, packet.seq.into());
    number_unless_zero(&mut out, 13, packet.flags.into());
    number_unless_zero(&mut out, 41, packet.incremental_state_cleared.into());
    number_unless_zero(&mut out, 42, packet.previous_packet_dropped.into());
    if let Some(clock) = packet.timestamp_clock_id {
        number(&mut out, 58, clock.into());
    }
    if let Some(clock) = packet.defaults {
        let mut defaults = Vec::new();
        number_unless_zero(&mut defaults, 58, clock.into());
        bytes(&mut out, 59, &defaults);
    }
    if let Some(pid) = packet.pid {
        number(&mut out, 79, signed(pid));
    }
    number_unless_zero(&mut out, 87, packet.first_packet_on_sequence.into());
    number_unless_zero(&mut out, 98, packet.machine_id.into());
    if let Some(snapshot) = &packet.clock_snapshot {
        bytes(&mut out, 6, &snapshot_bytes(snapshot));
    }
    if let Some((field, payload)) = &packet.payload {
        bytes(&mut out, *field, payload);
    }
    out
}

fn snapshot_bytes(snapshot: &ClockSnapshot) -> Vec<u8> {
    let mut out = Vec::new();
    for reading in &snapshot.clocks {
        let mut clock = Vec::new();
        number_unless_zero(&mut clock, 1, reading.id.into());
        number(&mut clock, 2, reading.timestamp);
        number_unless_zero(&mut clock, 3, reading.incremental.into());
        number_unless_zero(&mut clock, 4, reading.unit);
        bytes(&mut out, 1, &clock);
    }
    if let Some(primary) = snapshot.primary {
        number(&mut out, 2, signed(primary));
    }
    out
}

/// An int32 or an enum on the wire: sign-extended to 64 bits.
fn signed(value: i32) -> u64 {
    i64::from(value).cast_unsigned()
}

fn number_unless_zero(out: &mut Vec<u8>, field: u32, value: u64) {
    if value != 0 {
        number(out, field, value);
    }
}

fn number(out: &mut Vec<u8>, field: u32, value: u64) {
    varint(out, u64::from(field) << 3);
    varint(out, value);
}

fn bytes(out: &mut Vec<u8>, field: u32, value: &[u8]) {
    varint(out, u64::from(field) << 3 | 2);
    varint(out, value.len() as u64);
    out.extend_from_slice(value);
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
