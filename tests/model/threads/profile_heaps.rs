//! Heap profiles (HP).

use super::profile_stacks::{Mapping, build_id, numbers, trimmed};
use super::profiles::{Allocation, HeapProfile, ProfilePacket};
use super::wire::{Message, text};
use super::world::World;
use std::collections::{BTreeMap, BTreeSet};

/// Allocations, their bytes, frees, their bytes.
type Sums = [i64; 4];

/// A process, and the name of its heap.
type Heap = (usize, String);

/// The state of dumps in an interval.
#[derive(Clone, Debug, Default)]
pub struct Dumps {
    index: Option<u64>,
    has_begun: bool,
    /// HP8
    strings: BTreeMap<u64, Vec<u8>>,
    mappings: BTreeMap<u64, usize>,
    frames: BTreeMap<u64, usize>,
    callstacks: BTreeMap<u64, usize>,
    /// HP5: the dump's heap and time, the callstack, and its sums.
    waiting: Vec<(Heap, i64, u64, Sums)>,
    last: BTreeMap<(Heap, usize), Sums>,
    seen: BTreeSet<(Heap, u64, usize)>,
    bases: BTreeMap<(Heap, u64), Sums>,
}

impl World<'_> {
    pub fn heap_profile(&mut self, of: ProfilePacket, message: &Message) {
        let interval = self.interval(of.packet);
        let mut dumps = self.profiles.dumps.remove(&interval).unwrap_or_default();
        if !dumps.has_begun {
            dumps.has_begun = true;
            dumps.strings.insert(0, Vec::new());
        }
        // HP1
        let expected = dumps.index.map_or(0, |index| index.wrapping_add(1));
        if message.unsigned(7) != expected {
            self.profiles.count("heapprofd_missing_packet");
        }
        dumps.index = Some(message.unsigned(7));
        self.own_stacks(of, message, &mut dumps);
        for dump in message.messages(5) {
            self.dump(of, &dump, &mut dumps);
        }
        if message.unsigned(6) == 0 {
            for (heap, time, stack, now) in std::mem::take(&mut dumps.waiting) {
                let own = dumps.callstacks.get(&stack).copied();
                let callsite = own.or_else(|| self.stack(of, Some(heap.0), stack));
                if let Some(callsite) = callsite {
                    self.heap_sample(of, (heap, time), (stack, callsite, now), &mut dumps);
                }
            }
            dumps.strings.clear();
            dumps.mappings.clear();
            dumps.frames.clear();
            dumps.callstacks.clear();
        }
        self.profiles.dumps.insert(interval, dumps);
    }

    /// HP2 to HP5
    fn dump(&mut self, of: ProfilePacket, dump: &Message, dumps: &mut Dumps) {
        let packets = self.packets;
        let Some(end) = packets.time_of_coarse(of.packet, dump.unsigned(9)) else {
            return;
        };
        let start = dump.number(15).unwrap_or(dump.unsigned(9));
        let start = packets.time_of_coarse(of.packet, start).unwrap_or(end);
        let pid = dump.id(1);
        let process = self.processes.process(of.machine, pid);
        let heap = dump.text(11).filter(|heap| !heap.is_empty());
        let profiles = &mut self.profiles;
        let same = |p: &HeapProfile| (p.process, p.end, &p.heap) == (process, end, &heap);
        if !profiles.heap_profiles.iter().any(same) {
            profiles.heap_profiles.push(HeapProfile { process, start, end, heap: heap.clone() });
        }
        // HP4
        let idx = of.idx(i64::from(pid as u32 as i32));
        profiles.set("heapprofd_last_profile_timestamp", idx, of.time);
        if dump.unsigned(14) != 0 {
            profiles.set("heapprofd_client_error", idx, dump.signed(14));
        }
        if dump.unsigned(13) != 0 {
            let adjusted = dump.unsigned(12).wrapping_sub(dump.unsigned(13));
            let name = "heapprofd_sampling_interval_adjusted";
            profiles.set(name, idx, adjusted.cast_signed());
        }
        for (is_set, name) in [
            (dump.unsigned(6) != 0, "heapprofd_client_disconnected"),
            (dump.unsigned(8) != 0, "heapprofd_buffer_corrupted"),
            (dump.unsigned(4) != 0, "heapprofd_rejected_concurrent"),
            (dump.unsigned(10) != 0, "heapprofd_hit_guardrail"),
            (dump.unsigned(7) != 0 || dump.unsigned(14) == 1, "heapprofd_buffer_overran"),
        ] {
            if is_set {
                profiles.add(name, Some(idx), 1);
            }
        }
        if let Some(stats) = dump.message(5) {
            for (field, name) in [
                (5, "heapprofd_unwind_time_us"),
                (2, "heapprofd_unwind_samples"),
                (6, "heapprofd_client_spinlock_blocked"),
            ] {
                profiles.add(name, Some(idx), stats.signed(field));
            }
        }
        let heap = (process, heap.unwrap_or_else(|| "unknown".to_owned()));
        for sample in dump.messages(2) {
            let [size, freed, count, frees] = [2, 3, 5, 6].map(|field| sample.signed(field));
            let now = match sample.number(8) {
                Some(most) if dump.unsigned(13) != 0 => {
                    [sample.signed(9), most.cast_signed(), 0, 0]
                }
                Some(most) => [0, most.cast_signed(), 0, 0],
                None => [count, size, -frees, -freed],
            };
            dumps.waiting.push((heap.clone(), end, sample.unsigned(1), now));
        }
    }

    /// HP6
    fn heap_sample(
        &mut self,
        of: ProfilePacket,
        (heap, time): (Heap, i64),
        (stack, callsite, now): (u64, usize, Sums),
        dumps: &mut Dumps,
    ) {
        let last = dumps.last.get(&(heap.clone(), callsite)).copied().unwrap_or_default();
        if dumps.seen.insert((heap.clone(), stack, callsite)) {
            dumps.bases.insert((heap.clone(), stack), last);
        }
        let base = dumps.bases[&(heap.clone(), stack)];
        let now: Sums = std::array::from_fn(|n| now[n] + base[n]);
        let [count, size, frees, freed]: Sums = std::array::from_fn(|n| now[n] - last[n]);
        if count < 0 || size < 0 || frees > 0 || freed > 0 {
            let upid = of.idx(heap.0 as i64);
            return self.profiles.add("heapprofd_malformed_packet", Some(upid), 1);
        }
        dumps.last.insert((heap.clone(), callsite), now);
        let is_java = heap.1 == "com.android.art";
        for (count, size, is_left_out) in [(count, size, false), (frees, freed, is_java)] {
            if (count, size) != (0, 0) && !is_left_out {
                self.profiles.allocations.push(Allocation {
                    time,
                    process: heap.0,
                    heap: heap.1.clone(),
                    callsite,
                    count,
                    size,
                });
            }
        }
    }

    /// HP8
    fn own_stacks(&mut self, of: ProfilePacket, message: &Message, dumps: &mut Dumps) {
        const STRING: &str = "stackprofile_invalid_string_id";
        for string in message.messages(1) {
            let bytes = string.bytes(2).unwrap_or_default().to_vec();
            dumps.strings.entry(string.unsigned(1)).or_insert(bytes);
        }
        for mapping in message.messages(4) {
            if dumps.mappings.contains_key(&mapping.unsigned(1)) {
                continue;
            }
            let Some(raw) = dumps.strings.get(&mapping.unsigned(2)) else {
                self.profiles.count(STRING);
                continue;
            };
            let mut path = String::new();
            for iid in mapping.numbers(7) {
                let Some(part) = dumps.strings.get(&iid) else {
                    self.profiles.count(STRING);
                    break;
                };
                path += &format!("/{}", text(part));
            }
            let new = Mapping {
                machine: of.machine,
                build_id: Some(build_id(raw)),
                numbers: numbers(&mapping),
                name: trimmed(&path),
            };
            let id = self.profiles.stacks.mapping(new, false, false);
            dumps.mappings.insert(mapping.unsigned(1), id);
        }
        for frame in message.messages(2) {
            if dumps.frames.contains_key(&frame.unsigned(1)) {
                continue;
            }
            let Some(&mapping) = dumps.mappings.get(&frame.unsigned(3)) else {
                self.profiles.count("stackprofile_invalid_mapping_id");
                continue;
            };
            let Some(name) = dumps.strings.get(&frame.unsigned(2)) else {
                self.profiles.count(STRING);
                continue;
            };
            let name = Some(text(name));
            let stacks = &mut self.profiles.stacks;
            let id = stacks.frame(mapping, frame.unsigned(4), name, None);
            dumps.frames.insert(frame.unsigned(1), id);
        }
        for stack in message.messages(3) {
            if dumps.callstacks.contains_key(&stack.unsigned(1)) {
                continue;
            }
            let mut callsite = None;
            let mut is_whole = true;
            for iid in stack.numbers(2) {
                let Some(&frame) = dumps.frames.get(&iid) else {
                    self.profiles.count("stackprofile_invalid_frame_id");
                    is_whole = false;
                    break;
                };
                callsite = Some(self.profiles.stacks.callsite(callsite, frame));
            }
            match callsite.filter(|_| is_whole) {
                Some(callsite) => {
                    dumps.callstacks.insert(stack.unsigned(1), callsite);
                }
                None if is_whole => self.profiles.count("stackprofile_empty_callstack"),
                None => {}
            }
        }
    }
}
