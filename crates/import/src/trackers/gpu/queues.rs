//! The names of GPU queues, the lanes of slices on them (rules GP2, GP3), and the stages that the
//! same specifications name.

use rustc_hash::FxHashMap;
use timebase_schema::fields::{
    gpu_render_stage_event as stage, gpu_render_stage_event_specifications as specifications,
    gpu_render_stage_event_specifications_description as description, interned_data as interned,
    interned_gpu_render_stage_specification as specification,
};

use super::event::Event;
use crate::arguments::ArgValue;
use crate::message::Message;
use crate::timeline::OwnLabel;
use crate::trackers::tracker::TrackerContext;
use crate::world::{Details, NewTrack, Owner, SetId, TrackId};

const TYPE: &str = "gpu_render_stage";

/// The specifications of the old style on a machine (rule GP2).
#[derive(Debug, Default)]
pub(super) struct Specified {
    queues: FxHashMap<u32, Queue>,
    /// The first lane of each queue that had no name then, by GPU and queue.
    unnamed: FxHashMap<(u32, u32), TrackId>,
    stages: Vec<Stage>,
}

/// The name and the description of a queue.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Queue {
    name: Box<str>,
    description: Option<Box<str>>,
}

/// The name and the description of a stage.
#[derive(Debug)]
pub(super) struct Stage {
    pub name: OwnLabel,
    pub description: Option<Box<str>>,
}

/// The lanes that a slice can be on (rule GP3).
#[derive(Debug, Clone, Copy)]
enum Lanes {
    ById = 0,
    ByIid = 1,
}

impl Specified {
    /// The stage of an event, if a specification has it.
    pub fn stage(&self, event: &Event<'_>) -> Option<&Stage> {
        let stage = usize::try_from(event.stage()).ok()?;
        self.stages.get(stage)
    }

    /// Takes the specifications of an event (rule GP2).
    pub fn specify(
        &mut self,
        event: &Event<'_>,
        said: Message<'_>,
        at: &mut TrackerContext<'_, '_>,
    ) {
        for (id, queue) in (0..).zip(said.messages(specifications::HW_QUEUE)) {
            let Some(name) = queue.text(description::NAME) else { continue };
            let said = Queue {
                name: (&*name).into(),
                description: queue.text(description::DESCRIPTION).map(|text| (&*text).into()),
            };
            let is_first = !self.queues.contains_key(&id);
            if let Some(&track) = self.unnamed.get(&(event.gpu(), id))
                && is_first
            {
                at.world.tracks.rename(track, &name);
                if let Some(description) = &said.description {
                    let mut details = Details::default();
                    let names = &mut at.world.definitions.names;
                    let description = ArgValue::Text(description);
                    details.source.push("description", description, names);
                    at.world.tracks.describe(track, details);
                }
            }
            self.queues.insert(id, said);
        }
        for stage in said.messages(specifications::STAGE) {
            let Some(name) = stage.text(description::NAME) else { continue };
            let name = at.world.definitions.names.label(&name);
            self.stages.push(Stage {
                name: name.into(),
                description: stage.text(description::DESCRIPTION).map(|text| (&*text).into()),
            });
        }
    }

    /// The lane of a slice (rule GP3), and the number of its queue; `None` if the queue is not
    /// known.
    pub fn lane(
        &mut self,
        event: &Event<'_>,
        dur: i64,
        at: &mut TrackerContext<'_, '_>,
    ) -> Option<(TrackId, u64)> {
        let (set, unnamed, number) = match event.message.number(stage::HW_QUEUE_IID) {
            Some(iid) => {
                let queue = event.interned(interned::GPU_SPECIFICATIONS, iid, at)?;
                let description =
                    queue.text(specification::DESCRIPTION).filter(|text| !text.is_empty());
                let queue = Queue {
                    name: queue
                        .text(specification::NAME)
                        .map(|name| (&*name).into())
                        .unwrap_or_default(),
                    description: description.map(|text| (&*text).into()),
                };
                (lanes(event, Lanes::ByIid, iid, Some(&queue), at), None, iid)
            }
            None => {
                let id = event.message.small(stage::HW_QUEUE_ID).unwrap_or(0);
                let queue = self.queues.get(&id);
                let set = lanes(event, Lanes::ById, id.into(), queue, at);
                (set, queue.is_none().then_some(id), id.into())
            }
        };
        let world = &mut *at.world;
        let lane = world.lanes.add(set, event.ts, dur, &mut world.tracks)?;
        if let Some(id) = unnamed {
            self.unnamed.entry((event.gpu(), id)).or_insert(lane);
        }
        Some((lane, number))
    }
}

/// The lanes of a queue, which may be unknown.
fn lanes(
    event: &Event<'_>,
    lanes: Lanes,
    number: u64,
    queue: Option<&Queue>,
    at: &mut TrackerContext<'_, '_>,
) -> SetId {
    let (machine, gpu) = (event.packet.machine, event.gpu());
    let numbers = [machine.into(), gpu.into(), lanes as u64, number];
    let owner = Owner::Gpu(at.world.gpus.ugpu(machine, gpu));
    let unknown;
    let name = match queue {
        Some(queue) => &*queue.name,
        None => {
            unknown = format!("Unknown GPU Queue {number}");
            &unknown
        }
    };
    at.world.lanes.set(TYPE, &numbers, name, || {
        let source = match lanes {
            Lanes::ById => "id",
            Lanes::ByIid => "iid",
        };
        let track = NewTrack::slices(machine, TYPE, Some(name), owner)
            .with("render_stage_source", source)
            .with("hwqueue_id", number as i64)
            .with("hwqueue_name", queue.map(|queue| &*queue.name));
        match queue.and_then(|queue| queue.description.as_deref()) {
            None => track,
            description => track.with_source("description", description),
        }
    })
}
