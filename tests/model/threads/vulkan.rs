//! Compute kernels, contexts, names and submissions of Vulkan, the log of GPUs, flows of stages, and
//! memory of Vulkan (GP7 to GP12, M15).

use super::args::{Args, Key, Said};
use super::machines::Machine;
use super::processes::Upid;
use super::slices::SliceId;
use super::tracks::{Track, TrackOwner};
use super::wire::Message;
use super::world::World;
use std::collections::BTreeMap;

/// GP9: the slices that name an id, in the order of time.
#[derive(Debug, Default)]
pub struct Correlated(Vec<(Machine, u64, Role, SliceId)>);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Role {
    Has,
    Submits,
    Awaits,
    Follows,
}

/// Slices of `vulkan_events` and `gpu_log`: the command buffer and the submission.
pub type Other = (SliceId, Option<i64>, Option<i64>);

/// A row of `vulkan_memory_allocations`, without its arguments.
#[derive(Debug)]
pub struct Allocation {
    pub time: i64,
    pub process: Upid,
    pub event: Message,
    pub function: Option<String>,
    pub args: Args,
}

#[derive(Debug, Default)]
pub struct Vulkan {
    pub correlated: Correlated,
    pub others: Vec<Other>,
    pub allocations: Vec<Allocation>,
    sums: BTreeMap<(Upid, String), i64>,
}

/// List V
const SOURCES: &str = "UNSPECIFIED DRIVER DEVICE GPU_DEVICE_MEMORY GPU_BUFFER GPU_IMAGE";
const OPERATIONS: &str = "UNSPECIFIED CREATE DESTROY BIND DESTROY_BOUND ANNOTATIONS";
const SCOPES: &str = "UNSPECIFIED COMMAND OBJECT CACHE DEVICE INSTANCE";

impl Allocation {
    fn word(&self, words: &'static str, field: u32) -> Option<&'static str> {
        let number = self.event.unsigned(field) as u32;
        words.split(' ').nth(number as usize)
    }

    pub fn source(&self) -> Option<&'static str> {
        self.word(SOURCES, 1)
    }

    pub fn operation(&self) -> Option<&'static str> {
        self.word(OPERATIONS, 2)
    }

    pub fn scope(&self) -> Option<&'static str> {
        self.word(SCOPES, 8).filter(|_| self.event.has(8))
    }

    /// The sum that it changes: the type of its track, the key of its dimension, what that is, and
    /// the change.
    fn changes(&self) -> Option<(&'static str, &'static str, Said, i64)> {
        let size = self.event.signed(6);
        let of_type = Said::Int(self.event.id(18));
        let change = match self.operation()? {
            "CREATE" | "BIND" => size,
            "DESTROY" | "DESTROY_BOUND" => size.wrapping_neg(),
            _ => return None,
        };
        let is_bound = matches!(self.operation()?, "BIND" | "DESTROY_BOUND");
        match (self.source()?, is_bound) {
            ("DRIVER", false) => {
                let scope = self.scope().filter(|scope| *scope != "UNSPECIFIED")?;
                let scope = Said::text(scope);
                Some(("vulkan_driver_mem", "vulkan_allocation_scope", scope, change))
            }
            ("GPU_DEVICE_MEMORY", false) => {
                let kind = "vulkan_device_mem_allocation";
                Some((kind, "vulkan_memory_type", of_type, change))
            }
            ("GPU_BUFFER" | "GPU_IMAGE", true) => {
                Some(("vulkan_device_mem_bind", "vulkan_memory_type", of_type, change))
            }
            _ => None,
        }
    }
}

impl World<'_> {
    /// GP7
    pub fn compute_args(&mut self, packet: usize, slice: Option<SliceId>, event: &Message) {
        if let Some(iid) = event.number(19)
            && let Some(kernel) = self.packets.interned(packet, 1000, iid)
        {
            for (key, field) in [("kernel_name", 2), ("kernel_demangled_name", 3), ("arch", 4)] {
                if let Some(text) = kernel.text(field) {
                    self.slices.say(slice, key, Said::text(&text));
                }
            }
            self.extra_args(packet, slice, kernel.messages(5));
        }
        if let Some(launch) = event.message(21) {
            for (field, of) in [(1, "grid_size"), (2, "workgroup_size")] {
                let Some(size) = launch.message(field) else {
                    continue;
                };
                for (field, axis) in [(1, "x"), (2, "y"), (3, "z")] {
                    if size.has(field) {
                        let said = Said::Uint(size.id(field).cast_unsigned());
                        self.slices.say(slice, &format!("launch.{of}.{axis}"), said);
                    }
                }
            }
            self.extra_args(packet, slice, launch.messages(3));
        }
    }

    fn extra_args(&mut self, packet: usize, slice: Option<SliceId>, args: Vec<Message>) {
        for arg in args {
            let key = match arg.number(1) {
                Some(iid) => self.packets.interned(packet, 1001, iid).and_then(|e| e.text(2)),
                None => arg.text(2),
            };
            let said = if arg.has(3) {
                Some(Said::Int(arg.signed(3)))
            } else if arg.has(4) {
                Some(Said::Uint(arg.unsigned(4)))
            } else if arg.has(5) {
                Some(Said::Real(f64::from_bits(arg.unsigned(5))))
            } else if let Some(iid) = arg.number(7) {
                let entry = self.packets.interned(packet, 29, iid);
                entry.map(|entry| Said::String(entry.text(2)))
            } else {
                arg.text(6).map(|text| Said::text(&text))
            };
            if let (Some(key), Some(said)) = (key, said) {
                self.slices.say(slice, &key, said);
            }
        }
    }

    /// GP12
    pub fn graphics_context(&mut self, machine: Machine, packet: usize, event: &Message) {
        if let Some(handle) = event.number(5)
            && let Some(entry) = self.packets.interned(packet, 23, handle)
        {
            let contexts = &mut self.stages.contexts;
            if !contexts.iter().any(|(m, h, _)| (*m, *h) == (machine, handle)) {
                contexts.push((machine, handle, entry));
            }
        }
    }

    /// GP9
    pub fn stage_flows(&mut self, machine: Machine, slice: SliceId, event: &Message) {
        self.correlates(machine, event.unsigned(1), Role::Has, slice);
        for id in event.numbers(18) {
            self.correlates(machine, id, Role::Follows, slice);
        }
    }

    /// GP9
    pub fn event_flows(&mut self, machine: Machine, slice: SliceId, event: &Message) {
        let correlation = event.messages(3000).into_iter().next().unwrap_or_default();
        for id in correlation.numbers(1) {
            self.correlates(machine, id, Role::Submits, slice);
        }
        for id in correlation.numbers(2) {
            self.correlates(machine, id, Role::Awaits, slice);
        }
    }

    fn correlates(&mut self, machine: Machine, id: u64, role: Role, slice: SliceId) {
        let all = &self.vulkan.correlated.0;
        let named = |role| {
            let of_id = all.iter().filter(move |(m, i, r, _)| (*m, *i, *r) == (machine, id, role));
            of_id.map(|(.., slice)| *slice)
        };
        let links = &mut self.flows.links;
        match role {
            Role::Has => {
                links.extend(named(Role::Submits).next_back().map(|from| (from, slice)));
                links.extend(named(Role::Awaits).next_back().map(|to| (slice, to)));
                links.extend(named(Role::Follows).map(|to| (slice, to)));
            }
            Role::Submits => links.extend(named(Role::Has).map(|to| (slice, to))),
            Role::Awaits | Role::Follows => {
                links.extend(named(Role::Has).map(|from| (from, slice)));
            }
        }
        self.vulkan.correlated.0.push((machine, id, role, slice));
    }

    /// GP8, GP10
    pub fn vulkan_api(&mut self, machine: Machine, time: i64, event: &Message) {
        if let Some(object) = event.message(1) {
            let of = u64::from(object.unsigned(3) as u32);
            let name = object.text(5).unwrap_or_default();
            let name = name.split('\0').next().unwrap().to_owned();
            let key = (machine, of, object.unsigned(4));
            self.stages.objects.insert(key, name);
        }
        let Some(submit) = event.message(2) else {
            return;
        };
        let track = Track::named("vulkan_events", "Vulkan Events", TrackOwner::Machine(machine));
        let track = self.slices.tracks.find(&track);
        let during = (time, submit.signed(1));
        let slice = self.slices.push(track, during, Some("vkQueueSubmit"), None);
        let Some(slice) = slice else { return };
        let args = &mut self.slices.all[slice].args;
        args.say("pid", Said::Int(submit.id(2)));
        args.say("tid", Said::Int(submit.id(3)));
        let buffers = submit.numbers(5);
        for (place, buffer) in buffers.iter().enumerate() {
            let key = Key::new("command_buffers").element(place);
            args.set(key, Said::Uint(*buffer));
        }
        let first = buffers.first().copied();
        if let Some(first) = first {
            args.say("command_buffer", Said::Uint(first));
        }
        args.say("submission_id", Said::Int(submit.id(6)));
        let first = first.map(u64::cast_signed);
        self.vulkan.others.push((slice, first, Some(submit.id(6))));
    }

    /// GP11
    pub fn gpu_log(&mut self, machine: Machine, time: i64, line: &Message) {
        const SEVERITIES: &str = "UNSPECIFIED VERBOSE DEBUG INFO WARNING ERROR";
        let severity = line.unsigned(1) as u32 as usize;
        let name = SEVERITIES.split(' ').nth(severity).unwrap_or("UNKNOWN_SEVERITY");
        let track = Track::named("gpu_log", "GPU Log", TrackOwner::Machine(machine));
        let slice = self.slices.instant(time, &track, name);
        for (key, field) in [("tag", 2), ("message", 3)] {
            if let Some(text) = line.text(field) {
                self.slices.say(slice, key, Said::text(&text));
            }
        }
        self.vulkan.others.extend(slice.map(|slice| (slice, None, None)));
    }

    /// M15
    pub fn vulkan_memory(
        &mut self,
        machine: Machine,
        (time, packet): (i64, usize),
        event: &Message,
    ) {
        let interned = |field, iid| self.packets.interned(packet, field, iid);
        let mut args = Args::default();
        for annotation in event.messages(9) {
            let key = interned(22, annotation.unsigned(1)).and_then(|entry| entry.text(2));
            let said = if annotation.has(2) {
                Said::Int(annotation.signed(2))
            } else if annotation.has(3) {
                Said::Real(f64::from_bits(annotation.unsigned(3)))
            } else if let Some(iid) = annotation.number(4) {
                Said::String(interned(22, iid).and_then(|entry| entry.text(2)))
            } else {
                continue;
            };
            if let Some(key) = key {
                args.say(&key, said);
            }
        }
        let function = event.number(7).and_then(|iid| interned(5, iid)?.text(2));
        let process = self.processes.process(machine, event.id(4));
        let allocation = Allocation { time, process, event: event.clone(), function, args };
        if let Some((kind, key, said, change)) = allocation.changes() {
            let name = match &said {
                Said::String(Some(scope)) => format!("vulkan.mem.driver.scope.{scope}"),
                Said::Int(of) => {
                    let (_, what) = kind.rsplit_once('_').unwrap();
                    format!("vulkan.mem.device.memory.type.{of}.{what}")
                }
                _ => unreachable!(),
            };
            let sum = self.vulkan.sums.entry((process, name.clone())).or_default();
            *sum = sum.wrapping_add(change);
            let value = *sum as f64;
            let track = Track::named(kind, &name, TrackOwner::Process(process)).with(key, said);
            self.counters.push(track, time, value);
        }
        self.vulkan.allocations.push(allocation);
    }
}
