//! Counters of GPUs, their groups, and memory of GPUs (M11, M12, M14).

use super::args::Said;
use super::machines::Machine;
use super::packets::{Packets, Read};
use super::tracks::{Aside, Track, TrackId, TrackOwner};
use super::wire::Message;
use super::world::World;

/// List U, from 1 on.
const UNITS: &str = "bit Kb Mb Gb Tb Pb B KB MB GB TB PB Hz KHz MHz GHz THz PHz ns us ms s min h \
    Vertex Pixel Triangle mW W kW J V A C F K % Primitive Fragment Instruction";

fn unit_name(number: u64) -> &'static str {
    match usize::try_from(number) {
        Ok(0) => "",
        Ok(n) => UNITS.split_whitespace().nth(n - 1).unwrap_or("Unknown"),
        Err(_) => "Unknown",
    }
}

/// M11
fn unit(spec: &Message) -> Option<String> {
    let names = |field| spec.numbers(field).into_iter().map(unit_name);
    let denominators: Vec<&str> = names(8).filter(|name| !name.is_empty()).collect();
    let is_said = spec.has(7) || spec.has(8);
    let mut unit = String::new();
    for name in names(7) {
        if !unit.is_empty() {
            unit.push(':');
        }
        unit += name;
    }
    if !denominators.is_empty() {
        unit = format!("{unit}/{}", denominators.join(":"));
    }
    is_said.then_some(unit)
}

/// A descriptor that declares counters.
#[derive(Debug)]
struct Descriptor {
    /// The machine's `raw_id`.
    machine: u32,
    packet: usize,
    /// The iid, and all of the entry, as text.
    interned: Option<(u64, String)>,
    gpu: i64,
    /// The counters that it declares, by their counter_id.
    specs: Vec<(i64, Message)>,
    groups: Vec<Message>,
}

/// All of them, in file order.
#[derive(Debug, Default)]
pub struct Descriptors(Vec<Descriptor>);

impl Descriptors {
    /// O4
    pub fn new(packets: &Packets) -> Descriptors {
        let mut all = Descriptors::default();
        for (place, packet) in packets.all.iter().enumerate() {
            let Some((Read::GPU_COUNTERS, event)) = &packet.payload else {
                continue;
            };
            if packet.distrusted {
                continue;
            }
            let (interned, descriptor, gpu) = if let Some(iid) = event.number(4) {
                let is_known = |known: &Descriptor| {
                    let same = packets.is_same_interval(known.packet, place);
                    same && known.interned.as_ref().is_some_and(|(of, _)| *of == iid)
                };
                if all.0.iter().any(is_known) {
                    continue;
                }
                let Some(entry) = packets.interned_until(place + 1, place, 47, iid) else {
                    continue;
                };
                let Some(descriptor) = entry.message(2) else {
                    continue;
                };
                (Some((iid, format!("{entry:?}"))), descriptor, entry.id(3))
            } else {
                let descriptor = event.message(1).unwrap_or_default();
                (None, descriptor, event.id(3))
            };
            let machine = packet.machine;
            let mut specs: Vec<(i64, Message)> = Vec::new();
            for spec in descriptor.messages(1) {
                let is_own = |known: &Descriptor| {
                    let is_it = |(id, _): &(i64, Message)| *id == spec.id(1);
                    let is_of_machine = known.machine == machine && known.interned.is_none();
                    is_of_machine && known.specs.iter().any(is_it)
                };
                let is_known = interned.is_none() && all.0.iter().any(is_own);
                let is_here = specs.iter().any(|(id, _)| *id == spec.id(1));
                if spec.has(1) && spec.has(2) && !is_known && !is_here {
                    specs.push((spec.id(1), spec));
                }
            }
            all.0.push(Descriptor {
                machine,
                packet: place,
                interned,
                gpu,
                specs,
                groups: descriptor.messages(6),
            });
        }
        all
    }

    /// The descriptor and the specification of a sample's counter (M11).
    fn of_sample(
        &self,
        packets: &Packets,
        sample: usize,
        iid: Option<u64>,
        id: i64,
    ) -> Option<(&Descriptor, &Message)> {
        let is_its = |descriptor: &&Descriptor| match (&descriptor.interned, iid) {
            (None, None) => {
                let of_machine = descriptor.machine == packets.all[sample].machine;
                of_machine && descriptor.specs.iter().any(|(known, _)| *known == id)
            }
            (Some((known, _)), Some(iid)) => {
                *known == iid && packets.is_same_interval(descriptor.packet, sample)
            }
            _ => false,
        };
        let descriptor = self.0.iter().find(is_its)?;
        let mut specs = descriptor.specs.iter();
        let (_, spec) = specs.find(|(known, _)| *known == id)?;
        Some((descriptor, spec))
    }

    /// The track of a counter, which the first one of the name describes.
    fn track(&self, machine: Machine, of: &Descriptor, spec: &Message) -> Track {
        let name = spec.text(2).unwrap_or_default();
        let mut alike = self.0.iter().filter(|other| {
            let (machine, gpu) = (other.machine, other.gpu);
            (machine, gpu) == (of.machine, of.gpu)
        });
        let first = alike.find_map(|other| {
            let mut specs = other.specs.iter();
            specs.find(|(_, spec)| spec.text(2).as_ref() == Some(&name))
        });
        let (_, first) = first.unwrap();
        let description = first.text(3);
        let said = Said::String(description.clone());
        Track {
            unit: unit(first),
            source: Aside(vec![("description", said)]),
            description: Aside(description),
            ..Track::named("gpu_counter", &name, TrackOwner::Gpu(machine, of.gpu))
        }
    }
}

/// A row of `gpu_counter_group`.
#[derive(Debug)]
pub struct GroupRow {
    pub group: i64,
    pub track: TrackId,
    pub name: Option<String>,
    pub description: Option<String>,
}

impl World<'_> {
    /// M11
    pub fn gpu_counters(
        &mut self,
        machine: Machine,
        (time, packet): (i64, usize),
        event: &Message,
    ) {
        const FORWARDS_LOOKING: u64 = 2;
        for sample in event.messages(2) {
            let (id, iid) = (sample.id(1), event.number(4));
            let found = self.gpu_descriptors.of_sample(self.packets, packet, iid, id);
            let Some((descriptor, spec)) = found else {
                continue;
            };
            let value = match (sample.has(2), sample.number(3)) {
                (true, _) => sample.signed(2) as f64,
                (false, bits) => f64::from_bits(bits.unwrap_or(0)),
            };
            let track = self.gpu_descriptors.track(machine, descriptor, spec);
            let is_before = spec.unsigned(11) != FORWARDS_LOOKING;
            if is_before {
                let rows = self.counters.0.iter_mut();
                let mut of_track = rows.filter(|row| row.track == track);
                if let Some(row) = of_track.next_back() {
                    row.value = value;
                }
            }
            let value = if is_before { 0.0 } else { value };
            self.counters.push(track, time, value);
        }
    }

    /// M14
    pub fn counter_groups(&mut self) -> Vec<GroupRow> {
        let int32 = |group: u64| i64::from(group as i32);
        let mut rows = Vec::new();
        let all = &self.gpu_descriptors.0;
        for (place, descriptor) in all.iter().enumerate() {
            let is_same = |other: &Descriptor| {
                let entry = |descriptor: &Descriptor| {
                    let (_, entry) = descriptor.interned.clone()?;
                    Some((descriptor.machine, entry))
                };
                entry(other).is_some() && entry(other) == entry(descriptor)
            };
            if all[..place].iter().any(is_same) {
                continue;
            }
            let of_machine =
                |facts: &super::machines::MachineFacts| facts.raw_id == descriptor.machine;
            let machine = self.machines.iter().position(of_machine).unwrap_or(0);
            let mut tracks = Vec::new();
            for (id, spec) in &descriptor.specs {
                let track = self.gpu_descriptors.track(machine, descriptor, spec);
                let track = self.slices.tracks.find(&track);
                self.slices.tracks.0[track].is_counter = true;
                tracks.push((*id, track));
                let mut groups = spec.numbers(10).into_iter().map(int32).collect::<Vec<_>>();
                let has_none = groups.is_empty();
                if has_none {
                    groups.push(0);
                }
                for group in groups {
                    let mut named = descriptor.groups.iter();
                    let named =
                        named.find(|of| !has_none && of.has(1) && int32(of.unsigned(1)) == group);
                    rows.push(GroupRow {
                        group,
                        track,
                        name: named.and_then(|named| named.text(2)),
                        description: named.and_then(|named| named.text(3)),
                    });
                }
            }
            for group in descriptor.groups.iter().filter(|group| group.has(1)) {
                for counter in group.numbers(4) {
                    let mut tracks = tracks.iter();
                    let counter = i64::from(counter as u32);
                    let Some((_, track)) = tracks.find(|(id, _)| *id == counter) else {
                        continue;
                    };
                    rows.push(GroupRow {
                        group: int32(group.unsigned(1)),
                        track: *track,
                        name: group.text(2),
                        description: group.text(3),
                    });
                }
            }
        }
        rows
    }

    /// M12
    pub fn gpu_memory(&mut self, machine: Machine, time: i64, event: &Message) {
        let (gpu, pid) = (event.id(1), event.id(2));
        let (of, kind) = if pid == 0 {
            (TrackOwner::Gpu(machine, gpu), "gpu_memory")
        } else {
            self.processes.bind(machine, pid, pid);
            let upid = self.processes.process(machine, pid);
            (TrackOwner::ProcessOnGpu(upid, gpu), "process_gpu_memory")
        };
        let size = event.unsigned(3) as f64;
        self.at(time).with_unit(of, kind, "GPU Memory", "bytes", size);
    }
}
