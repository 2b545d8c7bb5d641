//! Render stages of GPUs (GP).

use super::machines::Machine;
use super::tracks::{Of, Track};
use super::wire::Message;
use super::world::World;
use std::collections::BTreeMap;

/// The columns of `gpu_slice` in addition to those of `slice`.
#[derive(Debug)]
pub struct Stage {
    /// The row of `slice`.
    pub slice: usize,
    pub context: i64,
    pub render_target: i64,
    pub render_pass: i64,
    pub command_buffer: i64,
    pub submission: i64,
    pub queue: i64,
    pub process: usize,
    pub subpasses: Option<String>,
    pub category: Option<i64>,
}

#[derive(Debug, Default)]
pub struct Stages {
    pub all: Vec<Stage>,
    /// Names of queues and stages, by machine and number (GP2).
    queues: BTreeMap<(Machine, i64), String>,
    stages: BTreeMap<Machine, Vec<String>>,
    /// The first lane of each queue that had no name then, and its later name (GP3).
    firsts: Vec<(Machine, i64, Track, Option<String>)>,
}

impl Stages {
    /// The name of a track.
    pub fn name_of(&self, track: &Track) -> Option<String> {
        let first = self.firsts.iter().find(|(.., first, _)| first == track);
        let renamed = first.and_then(|(.., renamed)| renamed.clone());
        renamed.or_else(|| track.name.clone())
    }

    /// The facts in a packet about queues and stages (GP2, GP3).
    fn specify(&mut self, machine: Machine, gpu: i64, specifications: &Message) {
        for (number, queue) in (0..).zip(specifications.messages(2)) {
            let Some(name) = queue.text(1) else {
                continue;
            };
            let is_first = !self.queues.contains_key(&(machine, number));
            for (m, queue, first, renamed) in &mut self.firsts {
                let is_its = (*m, *queue, first.of) == (machine, number, Of::Gpu(machine, gpu));
                if is_its && is_first {
                    *renamed = Some(name.clone());
                }
            }
            self.queues.insert((machine, number), name);
        }
        let names = specifications.messages(3);
        let names = names.iter().filter_map(|stage| stage.text(1));
        self.stages.entry(machine).or_default().extend(names);
    }
}

impl World<'_> {
    pub fn render_stage(
        &mut self,
        machine: Machine,
        (time, packet): (i64, usize),
        event: &Message,
    ) {
        let gpu = i64::from(event.unsigned(11) as i32);
        let specifications = event.message(7).unwrap_or_default();
        self.stages.specify(machine, gpu, &specifications);
        // GP1
        if !event.has(1) {
            return;
        }
        let specification = |iid| self.packets.interned(packet, 24, iid);
        // GP3
        let mut is_unnamed = false;
        let (by_iid, queue, name) = if let Some(iid) = event.number(13) {
            let Some(specification) = specification(iid) else {
                return;
            };
            (true, iid.cast_signed(), specification.text(2))
        } else {
            let number = i64::from(event.unsigned(3) as i32);
            let known = self.stages.queues.get(&(machine, number)).cloned();
            is_unnamed = known.is_none();
            let name = known.unwrap_or_else(|| format!("Unknown GPU Queue {number}"));
            (false, number, Some(name))
        };
        let set = Track {
            queue: Some((by_iid, queue)),
            ..Track::new("gpu_render_stage", name.as_deref(), Of::Gpu(machine, gpu))
        };
        let of_stage = event.number(14).map(specification);
        let name = self.stage_name(machine, packet, event, of_stage.as_ref());
        let category = of_stage.flatten().map(|stage| stage.signed(4));
        // GP5
        let context = event.signed(5);
        let interned = self.packets.interned(packet, 23, event.unsigned(5));
        let inline = specifications.message(1);
        let pid = interned.or(inline).map_or(0, |context| context.id(2));
        let process = self.processes.process(machine, pid);
        let duration = event.signed(2);
        let name = name.as_deref();
        let (lane, slice) = self.slices.complete_on_lane(time, duration, &set, name);
        let is_first = |(m, number, first, _): &(Machine, i64, Track, Option<String>)| {
            (*m, *number, first.of) == (machine, queue, set.of)
        };
        if is_unnamed && !self.stages.firsts.iter().any(is_first) {
            self.stages.firsts.push((machine, queue, lane, None));
        }
        let Some(slice) = slice else {
            return;
        };
        self.stages.all.push(Stage {
            slice,
            context,
            render_target: event.signed(8),
            render_pass: event.signed(9),
            command_buffer: event.signed(12),
            submission: event.id(10),
            queue,
            process,
            subpasses: event.has(15).then(|| bits(&event.numbers(15))),
            category,
        });
    }

    /// GP4
    fn stage_name(
        &self,
        machine: Machine,
        packet: usize,
        event: &Message,
        of_stage: Option<&Option<Message>>,
    ) -> Option<String> {
        if let Some(iid) = event.number(20) {
            return self.packets.interned(packet, 2, iid)?.text(2);
        }
        if let Some(name) = event.text(17) {
            return Some(name);
        }
        if let Some(stage) = of_stage {
            return stage.as_ref()?.text(2);
        }
        let number = i64::from(event.unsigned(4) as i32);
        let names = self.stages.stages.get(&machine);
        let known = names.and_then(|names| names.get(usize::try_from(number).ok()?));
        Some(known.cloned().unwrap_or(format!("render stage({number})")))
    }
}

/// The numbers of the set bits (GP5).
fn bits(words: &[u64]) -> String {
    let set = (0..words.len() * 64).filter(|bit| words[bit / 64] >> (bit % 64) & 1 != 0);
    let numbers: Vec<String> = set.map(|bit| bit.to_string()).collect();
    numbers.join(",")
}
