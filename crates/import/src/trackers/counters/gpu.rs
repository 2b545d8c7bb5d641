//! Counters and memory of GPUs, and the descriptions of GPUs (rules M11, M12, M14, H4).

use rustc_hash::FxHashMap;
use timebase_schema::fields::{
    ftrace_event::GPU_MEM_TOTAL, gpu_counter_event as event,
    gpu_counter_event_gpu_counter as counter, gpu_info as list, gpu_info_gpu as gpu,
    gpu_info_gpu_key_value as pair, gpu_mem_total_event as total,
};
use timebase_schema::tables::gpu_counter_group_record;

use super::series::{CounterSample, CounterType};
use crate::arguments::{ArgBuf, ArgValue};
use crate::message::Message;
use crate::output::Cell;
use crate::timeline::PacketEvent;
use crate::trackers::tracker::TrackerContext;
use crate::world::{GpuInfo, Measurement, NewTrack, Owner, TrackId};

const MEMORY: CounterType = CounterType::with_unit("gpu_memory", "bytes");
const PROCESS_MEMORY: CounterType = CounterType::with_unit("process_gpu_memory", "bytes");

/// The tracks of counters with a description, and the samples that wait on them.
#[derive(Debug, Default)]
pub(super) struct GpuCounters {
    /// By the counter's number among all counters.
    tracks: Vec<TrackId>,
    /// The last sample of a track, whose value may come with the next sample, and the value if it
    /// does not.
    pending: FxHashMap<TrackId, (Measurement, f64)>,
}

impl GpuCounters {
    /// Makes a track for each name on each GPU.
    pub fn begin(&mut self, at: &mut TrackerContext<'_, '_>) {
        let mut known = FxHashMap::default();
        let world = &mut *at.world;
        let machine = world.part.machine;
        let Some(of_part) = world.definitions.parts.get(world.part.part) else {
            return;
        };
        for counter in of_part.gpu_counters.iter() {
            let ugpu = world.gpus.ugpu(machine, counter.gpu);
            let track = *known.entry((ugpu, &counter.name)).or_insert_with(|| {
                let owner = Owner::Gpu(ugpu);
                let name = &*counter.name;
                let track = NewTrack::counter(machine, "gpu_counter", name, owner);
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

    /// Writes the groups of each track (rule M14).
    fn groups(&self, at: &mut TrackerContext<'_, '_>) {
        let world = &mut *at.world;
        let Some(of_part) = world.definitions.parts.get(world.part.part) else {
            return;
        };
        let described = &of_part.gpu_counters;
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
        for member in described.members() {
            let Some(track) = self.tracks.get(member.counter) else {
                continue;
            };
            let called = member.called.and_then(|place| called.get(place).copied());
            let (name, description) = called.unwrap_or((Cell::Null, Cell::Null));
            let id = at.rows.count(&gpu_counter_group_record::TABLE);
            at.rows.push(gpu_counter_group_record::Row {
                id: Cell::from(id),
                group_id: Cell::from(i64::from(member.group)),
                track_id: Cell::from(track.0),
                name,
                description,
            });
        }
    }

    /// Takes the samples of a `GpuCounterEvent`.
    pub fn samples(
        &mut self,
        ts: i64,
        packet: &PacketEvent<'_>,
        message: Message<'_>,
        at: &mut TrackerContext<'_, '_>,
    ) {
        let iid = message.number(event::COUNTER_DESCRIPTOR_IID);
        for sample in message.messages(event::COUNTERS) {
            let integer = sample.number(counter::INT_VALUE).map(|value| value as i64 as f64);
            let (Some(number), Some(value)) = (
                sample.small(counter::COUNTER_ID),
                integer.or(sample.float(counter::DOUBLE_VALUE)),
            ) else {
                continue;
            };
            let Some(of_part) = at.world.statements() else {
                return;
            };
            let described = &of_part.gpu_counters;
            let counter = match iid {
                None => described.own(number),
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

    /// Takes a value. It holds for the time after it, or for the time before it, which began with
    /// the previous sample.
    fn sample(
        &mut self,
        ts: i64,
        track: TrackId,
        value: f64,
        is_forwards: bool,
        at: &mut TrackerContext<'_, '_>,
    ) {
        let own = if is_forwards { value } else { 0.0 };
        let sample = at.world.sample(ts);
        if let Some((before, own)) = self.pending.insert(track, (sample, own)) {
            let value = if is_forwards { own } else { value };
            before.complete(track, value, None, at.rows);
        }
    }

    /// Completes the last samples, whose values no later sample has.
    pub fn end(&mut self, at: &mut TrackerContext<'_, '_>) {
        for (track, (sample, own)) in self.pending.drain() {
            sample.complete(track, own, None, at.rows);
        }
    }
}

/// Writes the memory of a GPU from a kernel event. Writes nothing for a process that has ended.
pub(super) fn memory_of_event(
    field: u32,
    message: Message<'_>,
    sample: &mut CounterSample<'_, '_, '_>,
) {
    if field == GPU_MEM_TOTAL {
        let pid = message.small(total::PID).unwrap_or(0);
        let threads = &sample.at.world.threads;
        if pid == 0 || threads.live(sample.machine, pid.into()).is_some() {
            memory(message, sample);
        }
    }
}

/// Writes the memory of a GPU: all of it, or the part of a process.
pub(super) fn memory(message: Message<'_>, sample: &mut CounterSample<'_, '_, '_>) {
    let machine = sample.machine;
    let gpu = message.small(total::GPU_ID).unwrap_or(0);
    let pid = message.small(total::PID).unwrap_or(0);
    let size = message.number(total::SIZE).unwrap_or(0) as f64;
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

/// Takes the descriptions of GPUs in a `GpuInfo`, which are numbered from 0.
pub(super) fn info(machine: u32, message: Message<'_>, at: &mut TrackerContext<'_, '_>) {
    for (number, gpu) in (0..).zip(message.messages(list::GPUS)) {
        let ugpu = at.world.gpus.ugpu(machine, number);
        let text = |field| {
            let text = gpu.text(field).filter(|text| !text.is_empty());
            text.map(String::from)
        };
        let mut args = ArgBuf::default();
        for more in gpu.messages(gpu::EXTRA_INFO) {
            if let Some((key, value)) = more.text(pair::KEY).zip(more.text(pair::VALUE)) {
                let names = &mut at.world.definitions.names;
                args.push(&key, ArgValue::Text(&value), names);
            }
        }
        let uuid = gpu.bytes(gpu::UUID).filter(|uuid| !uuid.is_empty());
        let info = GpuInfo {
            name: text(gpu::NAME),
            vendor: text(gpu::VENDOR),
            model: text(gpu::MODEL),
            architecture: text(gpu::ARCHITECTURE),
            uuid: uuid.map(|uuid| uuid.iter().map(|byte| format!("{byte:02x}")).collect()),
            pci_bdf: text(gpu::PCI_BDF),
            arg_set_id: at.world.arg_set(args.as_bytes(), at.rows),
        };
        at.world.gpus.describe(ugpu, info);
    }
}
