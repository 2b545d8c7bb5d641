//! Writes the bytes of a trace by hand. It uses none of the product's crates, so the same
//! misreading of the wire format cannot be in both.

/// A `TracePacket`. A field with its default value is not written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Packet {
    pub timestamp: Option<u64>,
    pub timestamp_clock_id: Option<u32>,
    /// `trusted_packet_sequence_id`
    pub seq: u32,
    /// Its sequence is number 0, which is written explicitly.
    pub is_zero_written: bool,
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
    pub ftrace_events: Option<Bundle>,
    /// `android_log`: the timestamps of its events.
    pub android_log: Option<Vec<Option<u64>>>,
    pub remote_clock_sync: Option<Vec<SyncedClocks>>,
    /// `system_info` with this `machine_name`.
    pub machine_name: Option<String>,
    /// `synchronization_marker`
    pub is_marker: bool,
}

impl Packet {
    /// Whether it names its sequence.
    pub fn is_of_sequence(&self) -> bool {
        self.seq != 0 || self.is_zero_written
    }
}

/// `RemoteClockSync.SyncedClocks`
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SyncedClocks {
    pub client: ClockSnapshot,
    pub host: ClockSnapshot,
}

/// The payload `clock_snapshot`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClockSnapshot {
    pub clocks: Vec<Reading>,
    /// `primary_trace_clock`
    pub primary: Option<i32>,
}

/// `ClockSnapshot.Clock`: an id of 0, a false flag and a unit of 0 are not written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    pub id: u32,
    pub timestamp: u64,
    pub incremental: bool,
    pub unit: u64,
}

/// The payload `ftrace_events`: a `FtraceEventBundle`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bundle {
    pub cpu: Option<u32>,
    /// `ftrace_clock`
    pub clock: Option<i32>,
    pub ftrace_timestamp: Option<i64>,
    pub boot_timestamp: Option<i64>,
    pub events: Vec<FtraceEvent>,
    /// `compact_sched`: its switches, in the order of time.
    pub switches: Vec<CompactSwitch>,
    /// `compact_sched`: its wakings, in the order of time.
    pub wakings: Vec<CompactWaking>,
}

/// `FtraceEvent`, with one kind or none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FtraceEvent {
    pub timestamp: Option<u64>,
    /// `pid`: the running thread.
    pub tid: Option<u32>,
    pub cpu_idle: Option<CpuIdle>,
    pub sched_switch: Option<SchedSwitch>,
    pub task_rename: Option<TaskRename>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct CpuIdle {
    pub state: Option<u32>,
}

/// `SchedSwitchFtraceEvent`, without the fields about the previous thread.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SchedSwitch {
    pub next_comm: Option<String>,
    pub next_pid: Option<i32>,
    pub next_prio: Option<i32>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskRename {
    pub pid: Option<i32>,
    pub newcomm: String,
}

/// A switch of `CompactSched`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CompactSwitch {
    pub timestamp: u64,
    pub prev_state: i64,
    pub next_pid: i32,
    pub next_prio: i32,
    pub next_comm: String,
}

/// A waking of `CompactSched`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CompactWaking {
    pub timestamp: u64,
    pub pid: i32,
    pub target_cpu: i32,
    pub prio: i32,
    pub comm: String,
}

/// Any message, field by field.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Message(pub Vec<u8>);

impl Message {
    pub fn new() -> Message {
        Message::default()
    }

    pub fn number(mut self, field: u32, value: u64) -> Message {
        number(&mut self.0, field, value);
        self
    }

    /// A number of any signed type.
    pub fn signed(self, field: u32, value: i64) -> Message {
        self.number(field, value.cast_unsigned())
    }

    pub fn text(self, field: u32, value: &str) -> Message {
        self.bytes(field, value.as_bytes())
    }

    pub fn message(self, field: u32, value: Message) -> Message {
        self.bytes(field, &value.0)
    }

    /// The fields of another message, after its own.
    pub fn and(mut self, other: &Message) -> Message {
        self.0.extend(&other.0);
        self
    }

    pub fn bytes(mut self, field: u32, value: &[u8]) -> Message {
        bytes(&mut self.0, field, value);
        self
    }

    pub fn packed(self, field: u32, values: &[u64]) -> Message {
        let mut packed = Vec::new();
        for value in values {
            varint(&mut packed, *value);
        }
        self.bytes(field, &packed)
    }

    pub fn double(mut self, field: u32, value: f64) -> Message {
        varint(&mut self.0, u64::from(field) << 3 | 1);
        self.0.extend(value.to_le_bytes());
        self
    }

    pub fn fixed64(mut self, field: u32, value: u64) -> Message {
        varint(&mut self.0, u64::from(field) << 3 | 1);
        self.0.extend(value.to_le_bytes());
        self
    }

    pub fn float(mut self, field: u32, value: f32) -> Message {
        varint(&mut self.0, u64::from(field) << 3 | 5);
        self.0.extend(value.to_le_bytes());
        self
    }
}

/// The bytes of a `Trace` of these packets.
pub fn trace_of(packets: &[Message]) -> Vec<u8> {
    let packets = packets.iter().cloned();
    packets.fold(Message::new(), |trace, packet| trace.message(1, packet)).0
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
    if packet.is_of_sequence() {
        number(&mut out, 10, packet.seq.into());
    }
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
    if let Some(bundle) = &packet.ftrace_events {
        bytes(&mut out, 1, &bundle_bytes(bundle));
    }
    if let Some(timestamps) = &packet.android_log {
        bytes(&mut out, 39, &log_bytes(timestamps));
    }
    if let Some(synced) = &packet.remote_clock_sync {
        bytes(&mut out, 107, &remote_sync_bytes(synced));
    }
    if let Some(name) = &packet.machine_name {
        bytes(&mut out, 45, &Message::new().text(17, name).0);
    }
    if packet.is_marker {
        bytes(&mut out, 36, &[0; 16]);
    }
    if let Some((field, payload)) = &packet.payload {
        bytes(&mut out, *field, payload);
    }
    out
}

fn remote_sync_bytes(synced: &[SyncedClocks]) -> Vec<u8> {
    let mut out = Vec::new();
    for synced in synced {
        let mut both = Vec::new();
        bytes(&mut both, 2, &snapshot_bytes(&synced.client));
        bytes(&mut both, 3, &snapshot_bytes(&synced.host));
        bytes(&mut out, 1, &both);
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

pub fn bundle_bytes(bundle: &Bundle) -> Vec<u8> {
    let mut out = Vec::new();
    if let Some(cpu) = bundle.cpu {
        number(&mut out, 1, cpu.into());
    }
    for event in &bundle.events {
        bytes(&mut out, 2, &event_bytes(event));
    }
    if !bundle.switches.is_empty() || !bundle.wakings.is_empty() {
        bytes(&mut out, 4, &compact_bytes(bundle));
    }
    if let Some(clock) = bundle.clock {
        number(&mut out, 5, signed(clock));
    }
    if let Some(timestamp) = bundle.ftrace_timestamp {
        number(&mut out, 6, timestamp.cast_unsigned());
    }
    if let Some(timestamp) = bundle.boot_timestamp {
        number(&mut out, 7, timestamp.cast_unsigned());
    }
    out
}

fn event_bytes(event: &FtraceEvent) -> Vec<u8> {
    let mut out = Vec::new();
    if let Some(timestamp) = event.timestamp {
        number(&mut out, 1, timestamp);
    }
    if let Some(tid) = event.tid {
        number(&mut out, 2, tid.into());
    }
    if let Some(switch) = &event.sched_switch {
        let mut message = Vec::new();
        if let Some(comm) = &switch.next_comm {
            bytes(&mut message, 5, comm.as_bytes());
        }
        if let Some(pid) = switch.next_pid {
            number(&mut message, 6, signed(pid));
        }
        if let Some(prio) = switch.next_prio {
            number(&mut message, 7, signed(prio));
        }
        bytes(&mut out, 4, &message);
    }
    if let Some(idle) = &event.cpu_idle {
        let mut message = Vec::new();
        if let Some(state) = idle.state {
            number(&mut message, 1, state.into());
        }
        bytes(&mut out, 13, &message);
    }
    if let Some(rename) = &event.task_rename {
        let mut message = Vec::new();
        if let Some(pid) = rename.pid {
            number(&mut message, 1, signed(pid));
        }
        bytes(&mut message, 3, rename.newcomm.as_bytes());
        bytes(&mut out, 236, &message);
    }
    out
}

/// `CompactSched`: timestamps are deltas, names are indices of a table.
fn compact_bytes(bundle: &Bundle) -> Vec<u8> {
    let mut comms: Vec<&str> = Vec::new();
    let mut place = |comm| {
        comms.iter().position(|c| *c == comm).unwrap_or_else(|| {
            comms.push(comm);
            comms.len() - 1
        }) as u64
    };
    let mut columns: [Vec<u64>; 12] = Default::default();
    let mut last = 0;
    for switch in &bundle.switches {
        columns[1].push(switch.timestamp - last);
        columns[2].push(switch.prev_state.cast_unsigned());
        columns[3].push(signed(switch.next_pid));
        columns[4].push(signed(switch.next_prio));
        columns[6].push(place(&switch.next_comm));
        last = switch.timestamp;
    }
    last = 0;
    for waking in &bundle.wakings {
        columns[7].push(waking.timestamp - last);
        columns[8].push(signed(waking.pid));
        columns[9].push(signed(waking.target_cpu));
        columns[10].push(signed(waking.prio));
        columns[11].push(place(&waking.comm));
        last = waking.timestamp;
    }
    let mut out = Vec::new();
    for comm in comms {
        bytes(&mut out, 5, comm.as_bytes());
    }
    for (field, column) in (0_u32..).zip(&columns) {
        if !column.is_empty() {
            let mut packed = Vec::new();
            for value in column {
                varint(&mut packed, *value);
            }
            bytes(&mut out, field, &packed);
        }
    }
    out
}

fn log_bytes(timestamps: &[Option<u64>]) -> Vec<u8> {
    let mut out = Vec::new();
    for timestamp in timestamps {
        let mut event = Vec::new();
        if let Some(timestamp) = timestamp {
            number(&mut event, 5, *timestamp);
        }
        bytes(&mut out, 1, &event);
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

#[inline]
pub fn number(out: &mut Vec<u8>, field: u32, value: u64) {
    varint(out, u64::from(field) << 3);
    varint(out, value);
}

pub fn bytes(out: &mut Vec<u8>, field: u32, value: &[u8]) {
    varint(out, u64::from(field) << 3 | 2);
    varint(out, value.len() as u64);
    out.extend_from_slice(value);
}

#[inline]
pub(crate) fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
