//! Reads the packets of a trace by hand: the few fields for the rules of time and machines.

use std::io::Read;

use timebase_lab::decode::{self, Field};

/// A `TracePacket`, with the fields that the model uses.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Packet {
    pub timestamp: Option<u64>,
    pub clock_id: u32,
    pub seq: u32,
    pub flags: u32,
    pub incremental_state_cleared: bool,
    pub previous_packet_dropped: bool,
    pub defaults: Option<u32>,
    pub machine_id: u32,
    pub is_marker: bool,
    pub snapshot: Option<Snapshot>,
    pub remote_sync: Option<Vec<Synced>>,
    pub bundle: Option<Bundle>,
    /// `SystemInfo.machine_name`
    pub machine_name: Option<String>,
    /// The number of its payload's field.
    pub payload: Option<u32>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    pub clocks: Vec<Reading>,
    pub primary: Option<u32>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    pub id: u32,
    pub timestamp: u64,
    pub incremental: bool,
    pub unit: u64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Synced {
    pub client: Snapshot,
    pub host: Snapshot,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bundle {
    pub clock: u32,
    pub ftrace_timestamp: Option<i64>,
    pub boot_timestamp: Option<i64>,
    /// Its events, in their order.
    pub events: Vec<Option<u64>>,
}

fn fields(bytes: &[u8]) -> Vec<Field<'_>> {
    decode::fields(bytes).unwrap()
}

/// The first field of a message with a number.
fn first(message: &[u8], number: u32) -> Option<Field<'_>> {
    fields(message).into_iter().find(|field| field.number == number)
}

/// The packets of a trace. Those in a compressed packet replace it (F3); empty ones are ignored
/// (F1).
pub fn packets(trace: &[u8]) -> Vec<Packet> {
    let mut packets = Vec::new();
    for Field { number, value, .. } in fields(trace) {
        if number != 1 || value.bytes().is_empty() {
            continue;
        }
        if let Some(Field { value: stream, .. }) = first(value.bytes(), 50) {
            let mut inner = Vec::new();
            let mut stream = flate2::read::ZlibDecoder::new(stream.bytes());
            stream.read_to_end(&mut inner).unwrap();
            packets.extend(self::packets(&inner));
        } else {
            packets.push(packet(value.bytes()));
        }
    }
    packets
}

fn packet(bytes: &[u8]) -> Packet {
    let mut packet = Packet::default();
    for Field { number, value, .. } in fields(bytes) {
        match number {
            8 => packet.timestamp = Some(value.number()),
            10 => packet.seq = value.number() as u32,
            13 => packet.flags = value.number() as u32,
            36 => packet.is_marker = true,
            41 => packet.incremental_state_cleared = value.number() != 0,
            42 => packet.previous_packet_dropped = value.number() != 0,
            58 => packet.clock_id = value.number() as u32,
            59 => {
                let clock = first(value.bytes(), 58);
                packet.defaults = Some(clock.map_or(0, |id| id.value.number() as u32));
            }
            98 => packet.machine_id = value.number() as u32,
            6 => packet.snapshot = Some(snapshot(value.bytes())),
            107 => packet.remote_sync = Some(remote_sync(value.bytes())),
            1 => packet.bundle = Some(bundle(value.bytes())),
            45 => {
                let name = first(value.bytes(), 17).map(|name| name.value.bytes().to_vec());
                packet.machine_name = name.map(|name| String::from_utf8(name).unwrap());
            }
            5 | 11 | 39 | 51 | 69 | 900 => packet.payload = Some(number),
            _ => {}
        }
    }
    packet
}

fn snapshot(bytes: &[u8]) -> Snapshot {
    let mut snapshot = Snapshot::default();
    for Field { number, value, .. } in fields(bytes) {
        match number {
            1 => snapshot.clocks.push(reading(value.bytes())),
            2 => snapshot.primary = u32::try_from(value.number()).ok(),
            _ => {}
        }
    }
    snapshot
}

fn reading(bytes: &[u8]) -> Reading {
    let mut reading = Reading::default();
    for Field { number, value, .. } in fields(bytes) {
        match number {
            1 => reading.id = value.number() as u32,
            2 => reading.timestamp = value.number(),
            3 => reading.incremental = value.number() != 0,
            4 => reading.unit = value.number(),
            _ => {}
        }
    }
    reading
}

fn remote_sync(bytes: &[u8]) -> Vec<Synced> {
    let synced = fields(bytes).into_iter().filter(|field| field.number == 1);
    let read = |field: Field<'_>| {
        let mut synced = Synced::default();
        for Field { number, value, .. } in fields(field.value.bytes()) {
            match number {
                2 => synced.client = snapshot(value.bytes()),
                3 => synced.host = snapshot(value.bytes()),
                _ => {}
            }
        }
        synced
    };
    synced.map(read).collect()
}

fn bundle(bytes: &[u8]) -> Bundle {
    let mut bundle = Bundle::default();
    for Field { number, value, .. } in fields(bytes) {
        match number {
            2 => {
                let time = first(value.bytes(), 1);
                bundle.events.push(time.map(|time| time.value.number()));
            }
            5 => bundle.clock = value.number() as u32,
            6 => bundle.ftrace_timestamp = Some(value.number().cast_signed()),
            7 => bundle.boot_timestamp = Some(value.number().cast_signed()),
            _ => {}
        }
    }
    bundle
}
