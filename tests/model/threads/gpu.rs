//! Render stages of GPUs (GP).

use super::args::{Args, Said};
use super::machines::Machine;
use super::tracks::{Track, TrackOwner};
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
    /// The names of its target, its pass and its command buffer (GP8).
    pub names: [Option<String>; 3],
}

#[derive(Debug, Default)]
pub struct Stages {
    pub all: Vec<Stage>,
    /// GP8: machine, type, handle.
    pub objects: BTreeMap<(Machine, u64, u64), String>,
    /// GP12: machine, handle, the entry.
    pub contexts: Vec<(Machine, u64, Message)>,
    /// Names of queues and stages, by machine and number (GP2).
    queues: BTreeMap<(Machine, i64), Named>,
    stages: BTreeMap<Machine, Vec<Named>>,
    /// The first lane of each queue that had no name then, and its later name (GP3).
    firsts: Vec<(Machine, i64, Track, Option<Named>)>,
}

/// A name and a description.
type Named = (String, Option<String>);

impl Stages {
    /// The name of a track.
    pub fn name_of(&self, track: &Track) -> Option<String> {
        let first = self.firsts.iter().find(|(.., first, _)| first == track);
        let renamed = first.and_then(|(.., renamed)| renamed.clone());
        renamed.map(|(name, _)| name).or_else(|| track.name.clone())
    }

    /// TK3
    pub fn describe(&self, track: &Track, source: &mut Args) {
        let first = self.firsts.iter().find(|(.., first, _)| first == track);
        if let Some((.., Some((_, Some(description))))) = first {
            source.say("description", Said::text(description));
        }
    }

    /// The facts in a packet about queues and stages (GP2, GP3).
    fn specify(&mut self, machine: Machine, gpu: i64, specifications: &Message) {
        for (number, queue) in (0..).zip(specifications.messages(2)) {
            let Some(name) = queue.text(1) else {
                continue;
            };
            let is_first = !self.queues.contains_key(&(machine, number));
            for (m, its, first, renamed) in &mut self.firsts {
                let is_its =
                    (*m, *its, first.of) == (machine, number, TrackOwner::Gpu(machine, gpu));
                if is_its && is_first {
                    *renamed = Some((name.clone(), queue.text(2)));
                }
            }
            self.queues.insert((machine, number), (name, queue.text(2)));
        }
        let names = specifications.messages(3);
        let names = names.iter().filter_map(|stage| Some((stage.text(1)?, stage.text(2))));
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
        self.graphics_context(machine, packet, event);
        // GP1
        if !event.has(1) {
            return;
        }
        let specification = |iid| self.packets.interned(packet, 24, iid);
        // GP3
        let mut is_unnamed = false;
        let (by_iid, queue, named) = if let Some(iid) = event.number(13) {
            let Some(specification) = specification(iid) else {
                return;
            };
            let description = specification.text(3).filter(|text| !text.is_empty());
            let name = specification.text(2).unwrap_or_default();
            (true, iid.cast_signed(), Some((name, description)))
        } else {
            let number = i64::from(event.unsigned(3) as i32);
            let known = self.stages.queues.get(&(machine, number)).cloned();
            is_unnamed = known.is_none();
            (false, number, known)
        };
        let of = TrackOwner::Gpu(machine, gpu);
        let set = self.stage_track(of, (by_iid, queue), named);
        let of_stage = event.number(14).map(specification);
        let name = self.stage_name(machine, packet, event, of_stage.as_ref());
        let of_stage = of_stage.flatten();
        let category = of_stage.as_ref().map(|stage| stage.signed(4));
        // GP5
        let context = event.signed(5);
        let interned = self.packets.interned(packet, 23, event.unsigned(5));
        let inline = specifications.message(1);
        let pid = interned.or(inline).map_or(0, |context| context.id(2));
        let process = self.processes.process(machine, pid);
        let duration = event.signed(2);
        let name = name.as_deref();
        let (lane, slice) = self.slices.complete_on_lane(time, duration, &set, name);
        let is_first = |(m, number, first, _): &(Machine, i64, Track, Option<Named>)| {
            (*m, *number, first.of) == (machine, queue, set.of)
        };
        if is_unnamed && !self.stages.firsts.iter().any(is_first) {
            self.stages.firsts.push((machine, queue, lane, None));
        }
        let subpasses = event.has(15).then(|| bits(&event.numbers(15)));
        self.stage_args(machine, packet, slice, (event, of_stage.as_ref()));
        let names = [(24, 8), (18, 9), (6, 12)].map(|(of, field)| {
            let object = (machine, of, event.unsigned(field));
            self.stages.objects.get(&object).cloned()
        });
        let keys = ["render_target_name", "render_pass_name", "command_buffer_name"];
        for (key, name) in keys.into_iter().zip(&names) {
            self.slices.say(slice, key, Said::String(name.clone()));
        }
        let uint = |number: i64| Said::Uint(number.cast_unsigned());
        self.slices.say(slice, "hw_queue_id", uint(queue));
        self.slices.say(slice, "upid", Said::Int(process as i64));
        let said = Said::String(subpasses.clone());
        self.slices.say(slice, "render_subpasses", said);
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
            subpasses,
            category,
            names,
        });
        self.stage_flows(machine, slice, event);
    }

    /// The lanes of a queue (GP3, TK1, TK3).
    fn stage_track(
        &self,
        of: TrackOwner,
        (by_iid, queue): (bool, i64),
        named: Option<Named>,
    ) -> Track {
        let unknown = format!("Unknown GPU Queue {queue}");
        let name = named.as_ref().map_or(&unknown, |(name, _)| name);
        let source = if by_iid { "iid" } else { "id" };
        let mut set =
            Track { queue: Some((by_iid, queue)), ..Track::named("gpu_render_stage", name, of) }
                .told("render_stage_source", Some(source.to_owned()))
                .told("hwqueue_name", named.clone().map(|(name, _)| name));
        set.told.0.push(("hwqueue_id", Said::Int(queue)));
        let lanes = self.slices.tracks.0.iter();
        let mut others = lanes.filter(|row| {
            let lane = Track { lane: set.lane, ..row.track.clone() };
            lane == set
        });
        if let Some(other) = others.next() {
            set.source = other.track.source.clone();
        } else if let Some((_, Some(description))) = named {
            set.source.0 = vec![("description", Said::text(&description))];
        }
        set
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
        let name = known.map(|(name, _)| name.clone());
        Some(name.unwrap_or(format!("render stage({number})")))
    }

    /// GP6, of the event and its stage.
    fn stage_args(
        &mut self,
        machine: Machine,
        packet: usize,
        slice: Option<usize>,
        (event, of_stage): (&Message, Option<&Message>),
    ) {
        let mut say = |key: &str, said: Said| self.slices.say(slice, key, said);
        if let Some(stage) = of_stage {
            say("render_stage_category", Said::Int(stage.signed(4)));
            say("description", Said::String(stage.text(3)));
        }
        let number = usize::try_from(event.unsigned(4) as i32).ok();
        let named = self.stages.stages.get(&machine);
        let stage = named.and_then(|stages| stages.get(number?));
        if let Some((_, Some(description))) = stage
            && event.has(4)
            && !event.has(14)
        {
            say("description", Said::text(description));
        }
        self.compute_args(packet, slice, event);
        let mut say = |key: &str, said: Said| self.slices.say(slice, key, said);
        if event.unsigned(16) != 0 {
            let pass = format!("rp:#{}", event.unsigned(16));
            say("correlation_id", Said::text(&pass));
        }
        for extra in event.messages(6) {
            let name = extra.text(1).unwrap_or_default();
            say(&name, Said::String(extra.text(2)));
        }
        for (key, field) in
            [("context_id", 5), ("render_target", 8), ("render_pass", 9), ("command_buffer", 12)]
        {
            say(key, Said::Uint(event.unsigned(field)));
        }
        say("submission_id", Said::Int(event.id(10)));
    }
}

/// The numbers of the set bits (GP5).
fn bits(words: &[u64]) -> String {
    let set = (0..words.len() * 64).filter(|bit| words[bit / 64] >> (bit % 64) & 1 != 0);
    let numbers: Vec<String> = set.map(|bit| bit.to_string()).collect();
    numbers.join(",")
}
