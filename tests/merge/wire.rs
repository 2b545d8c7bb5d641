//! Reads the packets of a trace by hand: the few fields for the rules of time and machines.

use std::io::Read;

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

enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl<'a> Value<'a> {
    fn number(&self) -> u64 {
        match self {
            Value::Number(number) => *number,
            Value::Bytes(_) => panic!("a number is expected"),
        }
    }

    fn bytes(&self) -> &'a [u8] {
        match self {
            Value::Bytes(bytes) => bytes,
            Value::Number(_) => panic!("bytes are expected"),
        }
    }
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for n in 0.. {
        let (first, rest) = bytes.split_first().unwrap();
        *bytes = rest;
        value |= u64::from(first & 0x7f) << (7 * n);
        if *first < 0x80 {
            break;
        }
    }
    value
}

fn fields(mut bytes: &[u8]) -> Vec<(u32, Value<'_>)> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let mut take = |length: usize| {
            let (taken, rest) = bytes.split_at(length);
            bytes = rest;
            Value::Bytes(taken)
        };
        let value = match key & 7 {
            0 => Value::Number(varint(&mut bytes)),
            1 => take(8),
            5 => take(4),
            2 => {
                let length = varint(&mut bytes) as usize;
                let (taken, rest) = bytes.split_at(length);
                bytes = rest;
                Value::Bytes(taken)
            }
            wire_type => panic!("wire type {wire_type}"),
        };
        fields.push(((key >> 3) as u32, value));
    }
    fields
}

/// The packets of a trace. Those in a compressed packet replace it (F3); empty ones are ignored
/// (F1).
pub fn packets(trace: &[u8]) -> Vec<Packet> {
    let mut packets = Vec::new();
    for (field, value) in fields(trace) {
        if field != 1 || value.bytes().is_empty() {
            continue;
        }
        let compressed = fields(value.bytes()).into_iter().find(|(f, _)| *f == 50);
        if let Some((_, stream)) = compressed {
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
    for (field, value) in fields(bytes) {
        match field {
            8 => packet.timestamp = Some(value.number()),
            10 => packet.seq = value.number() as u32,
            13 => packet.flags = value.number() as u32,
            36 => packet.is_marker = true,
            41 => packet.incremental_state_cleared = value.number() != 0,
            42 => packet.previous_packet_dropped = value.number() != 0,
            58 => packet.clock_id = value.number() as u32,
            59 => {
                let clock = fields(value.bytes()).into_iter().find(|(f, _)| *f == 58);
                packet.defaults = Some(clock.map_or(0, |(_, id)| id.number() as u32));
            }
            98 => packet.machine_id = value.number() as u32,
            6 => packet.snapshot = Some(snapshot(value.bytes())),
            107 => packet.remote_sync = Some(remote_sync(value.bytes())),
            1 => packet.bundle = Some(bundle(value.bytes())),
            45 => {
                let name = fields(value.bytes()).into_iter().find(|(f, _)| *f == 17);
                let text = |name: &[u8]| String::from_utf8(name.to_vec()).unwrap();
                packet.machine_name = name.map(|(_, name)| text(name.bytes()));
            }
            5 | 11 | 39 | 51 | 69 | 900 => packet.payload = Some(field),
            _ => {}
        }
    }
    packet
}

fn snapshot(bytes: &[u8]) -> Snapshot {
    let mut snapshot = Snapshot::default();
    for (field, value) in fields(bytes) {
        match field {
            1 => snapshot.clocks.push(reading(value.bytes())),
            2 => snapshot.primary = u32::try_from(value.number()).ok(),
            _ => {}
        }
    }
    snapshot
}

fn reading(bytes: &[u8]) -> Reading {
    let mut reading = Reading::default();
    for (field, value) in fields(bytes) {
        match field {
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
    let synced = fields(bytes).into_iter().filter(|(field, _)| *field == 1);
    let read = |(_, value): (u32, Value<'_>)| {
        let mut synced = Synced::default();
        for (field, clocks) in fields(value.bytes()) {
            match field {
                2 => synced.client = snapshot(clocks.bytes()),
                3 => synced.host = snapshot(clocks.bytes()),
                _ => {}
            }
        }
        synced
    };
    synced.map(read).collect()
}

fn bundle(bytes: &[u8]) -> Bundle {
    let mut bundle = Bundle::default();
    for (field, value) in fields(bytes) {
        match field {
            2 => {
                let time = fields(value.bytes()).into_iter().find(|(f, _)| *f == 1);
                bundle.events.push(time.map(|(_, time)| time.number()));
            }
            5 => bundle.clock = value.number() as u32,
            6 => bundle.ftrace_timestamp = Some(value.number().cast_signed()),
            7 => bundle.boot_timestamp = Some(value.number().cast_signed()),
            _ => {}
        }
    }
    bundle
}
