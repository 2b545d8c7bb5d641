//! Counters and memory of GPUs, and what they are (rules M11, M12, M14, H4).

use rustc_hash::FxHashMap;
use timebase_schema::tables::gpu_counter_group_record;

use super::series::{CounterSample, CounterType};
use crate::arguments::{ArgBuf, ArgValue};
use crate::message::Message;
use crate::output::Cell;
use crate::timeline::PacketEvent;
use crate::trackers::tracker::At;
use crate::world::{GpuInfo, Measurement, NewTrack, Owner, TrackId};

const MEMORY: CounterType = CounterType::with_unit("gpu_memory", "bytes");
const PROCESS_MEMORY: CounterType = CounterType::with_unit("process_gpu_memory", "bytes");

/// The field of `FtraceEvent`.
const GPU_MEM_TOTAL: u32 = 340;

/// The tracks of counters that are described, and what waits on them.
#[derive(Debug, Default)]
pub(super) struct GpuCounters {
    /// By which of all counters it is.
    tracks: Vec<TrackId>,
    /// The last sample of a track, whose value the next one may tell, and what it is if
    /// that does not.
    pending: FxHashMap<TrackId, (Measurement, f64)>,
}

impl GpuCounters {
    /// A track for each name on each GPU.
    pub fn begin(&mut self, at: &mut At<'_, '_>) {
        let mut known = FxHashMap::default();
        let world = &mut *at.world;
        for counter in world.definitions.gpu_counters.iter() {
            let ugpu = world.gpus.ugpu(counter.machine, counter.gpu);
            let track = *known.entry((ugpu, &counter.name)).or_insert_with(|| {
                let owner = Owner::Gpu(ugpu);
                let name = &*counter.name;
                let track = NewTrack::counter(counter.machine, "gpu_counter", name, owner);
                let track = track.with("name", name);
                world.tracks.add(NewTrack {
                    unit: counter.unit.clone(),
                    ..track.described(counter.description.as_deref())
                })
            });
            self.tracks.push(track);
        }
        self.groups(at);
    }

    /// Which track is in which groups (rule M14).
    fn groups(&self, at: &mut At<'_, '_>) {
        let world = &mut *at.world;
        let described = &world.definitions.gpu_counters;
        let mut text = |text: Option<&str>| {
            let number = text.map(|text| world.strings.number(text, at.rows));
            Cell::or_null(number)
        };
        let called: Vec<_> = described
            .called()
            .iter()
            .map(|called| {
                let name = text(called.name.as_deref());
                (name, text(called.description.as_deref()))
            })
            .collect();
        for (id, member) in (0i64..).zip(described.members()) {
            let Some(track) = self.tracks.get(member.counter) else {
                continue;
            };
            let called = member.called.and_then(|place| called.get(place).copied());
            let (name, description) = called.unwrap_or((Cell::Null, Cell::Null));
            at.rows.push(gpu_counter_group_record::Row {
                id: Cell::from(id),
                group_id: Cell::from(i64::from(member.group)),
                track_id: Cell::from(track.0),
                name,
                description,
            });
        }
    }

    /// The samples of a `GpuCounterEvent`.
    pub fn samples(
        &mut self,
        ts: i64,
        packet: &PacketEvent<'_>,
        message: Message<'_>,
        at: &mut At<'_, '_>,
    ) {
        let iid = message.number(4);
        for sample in message.messages(2) {
            let integer = sample.number(2).map(|value| value as i64 as f64);
            let (Some(number), Some(value)) = (sample.small(1), integer.or(sample.float(3))) else {
                continue;
            };
            let described = &at.world.definitions.gpu_counters;
            let counter = match iid {
                None => described.own(packet.machine, number),
                Some(iid) => described.interned(packet.interval, iid, number),
            };
            let Some(counter) = counter else {
                continue;
            };
            let is_forwards = described.is_forwards(counter);
            if let Some(&track) = self.tracks.get(counter) {
                self.sample(ts, track, value, is_forwards, at);
            }
        }
    }

    /// A value for the time that begins with it; or for the time until then, which
    /// began with the sample before.
    fn sample(
        &mut self,
        ts: i64,
        track: TrackId,
        value: f64,
        is_forwards: bool,
        at: &mut At<'_, '_>,
    ) {
        let own = if is_forwards { value } else { 0.0 };
        let sample = at.world.sample(ts);
        if let Some((before, own)) = self.pending.insert(track, (sample, own)) {
            let value = if is_forwards { own } else { value };
            before.complete(track, value, None, at.rows);
        }
    }

    /// Nobody tells the values of the last samples.
    pub fn end(&mut self, at: &mut At<'_, '_>) {
        for (track, (sample, own)) in self.pending.drain() {
            sample.complete(track, own, None, at.rows);
        }
    }
}

/// Memory of a GPU, as the kernel tells it. Of a process that has ended it says
/// nothing.
pub(super) fn memory_of_event(
    field: u32,
    message: Message<'_>,
    sample: &mut CounterSample<'_, '_, '_>,
) {
    if field == GPU_MEM_TOTAL {
        let pid = message.small(2).unwrap_or(0);
        let threads = &sample.at.world.threads;
        if pid == 0 || threads.live(sample.machine, pid.into()).is_some() {
            memory(message, sample);
        }
    }
}

/// Memory of a GPU: all of it, or that of a process.
pub(super) fn memory(message: Message<'_>, sample: &mut CounterSample<'_, '_, '_>) {
    let machine = sample.machine;
    let gpu = message.small(1).unwrap_or(0);
    let pid = message.small(2).unwrap_or(0);
    let size = message.number(3).unwrap_or(0) as f64;
    let world = &mut *sample.at.world;
    let ugpu = world.gpus.ugpu(machine, gpu);
    let (counter, owner) = if pid == 0 {
        (MEMORY, Owner::Gpu(ugpu))
    } else {
        world.threads.bind(machine, pid.into(), pid.into());
        let upid = world.threads.process(machine, pid.into());
        (PROCESS_MEMORY, Owner::ProcessOnGpu(upid, ugpu))
    };
    sample.put(&counter, owner, &[], format_args!("GPU Memory"), size);
}

/// What a `GpuInfo` says of GPUs, which count from 0.
pub(super) fn info(machine: u32, message: Message<'_>, at: &mut At<'_, '_>) {
    for (number, gpu) in (0..).zip(message.messages(1)) {
        let ugpu = at.world.gpus.ugpu(machine, number);
        let text = |field| {
            let text = gpu.text(field).filter(|text| !text.is_empty());
            text.map(String::from)
        };
        let mut args = ArgBuf::default();
        for more in gpu.messages(6) {
            if let Some((key, value)) = more.text(1).zip(more.text(2)) {
                let names = &mut at.world.definitions.names;
                args.push(&key, ArgValue::Text(&value), names);
            }
        }
        let uuid = gpu.bytes(5).filter(|uuid| !uuid.is_empty());
        let info = GpuInfo {
            name: text(1),
            vendor: text(2),
            model: text(3),
            architecture: text(4),
            uuid: uuid.map(|uuid| uuid.iter().map(|byte| format!("{byte:02x}")).collect()),
            pci_bdf: text(7),
            arg_set_id: at.world.arg_set(args.as_bytes(), at.rows),
        };
        at.world.gpus.describe(ugpu, info);
    }
}
