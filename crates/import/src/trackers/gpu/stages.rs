//! Slices of render stages (rules GP1, GP4, GP5).

use rustc_hash::FxHashMap;
use timebase_schema::fields::{
    gpu_render_stage_event as field, gpu_render_stage_event_specifications as specifications,
    interned_data as interned, interned_gpu_render_stage_specification as specification,
    interned_graphics_context as context, interned_string as text,
};
use timebase_schema::tables::gpu_slice_record;

use super::args::{self, Known};
use super::compute::ComputeArgs;
use super::contexts::Contexts;
use super::event::Event;
use super::objects::{ObjectType, Objects};
use super::queues::Specified;
use crate::arguments::ArgBuf;
use crate::message::Message;
use crate::output::Cell;
use crate::timeline::{OwnLabel, PacketEvent};
use crate::trackers::tracker::TrackerContext;
use crate::world::{NewSlice, StageStep, Upid};

/// The state of render stages, by machine.
#[derive(Debug, Default)]
pub(super) struct Stages {
    machines: FxHashMap<u32, Specified>,
    contexts: Contexts,
    args: ArgBuf,
}

impl Stages {
    /// Takes an event of a render stage.
    pub fn event(
        &mut self,
        ts: i64,
        packet: &PacketEvent<'_>,
        objects: &Objects,
        at: &mut TrackerContext<'_, '_>,
    ) {
        let event = Event { ts, packet, message: Message(packet.payload) };
        let specified = self.machines.entry(packet.machine).or_default();
        let specifications = event.message.bytes(field::SPECIFICATIONS).map(Message);
        if let Some(specifications) = specifications {
            specified.specify(&event, specifications, at);
        }
        self.contexts.see(&event, at);
        if event.message.number(field::EVENT_ID).is_some() {
            let dur = event.message.number(field::DURATION).unwrap_or(0);
            let dur = i64::try_from(dur).unwrap_or(i64::MAX);
            let Some((track, queue)) = specified.lane(&event, dur, at) else {
                return;
            };
            let upid = process(&event, specifications, at);
            let name = name(&event, specified, at);
            let subpasses = event.subpasses();
            let stage = event.message.number(field::STAGE_IID);
            let stage = stage.and_then(|iid| event.interned(interned::GPU_SPECIFICATIONS, iid, at));
            let known = Known {
                category: stage
                    .map(|stage| stage.small(specification::CATEGORY).unwrap_or(0) as i32),
                description: match event.message.number(field::STAGE_IID) {
                    Some(_) => stage.map(|stage| {
                        stage.text(specification::DESCRIPTION).map(|text| (&*text).into())
                    }),
                    None => described(&event, specified).map(Some),
                },
                subpasses: subpasses.as_deref(),
                queue,
                upid,
                objects: named(&event, objects),
            };
            let slice = NewSlice::named(ts, track, name.label());
            self.slice(&event, slice, dur, &known, at);
        }
    }

    /// Writes the slice with its arguments, and its columns (rule GP5).
    fn slice(
        &mut self,
        event: &Event<'_>,
        slice: NewSlice<'_>,
        dur: i64,
        known: &Known<'_>,
        at: &mut TrackerContext<'_, '_>,
    ) {
        let message = event.message;
        self.args.clear();
        let names = &mut at.world.definitions.names;
        args::of_stage(known, &mut self.args, names);
        let mut compute = ComputeArgs {
            interned: &at.world.interned,
            interval: event.packet.interval,
            names,
            args: &mut self.args,
        };
        if let Some(iid) = message.number(field::KERNEL_IID) {
            compute.kernel(iid);
        }
        if let Some(launch) = message.bytes(field::LAUNCH) {
            compute.launch(Message(launch));
        }
        args::of_event(event, known, &mut self.args, names);
        let args = self.args.as_bytes();
        let Some(slice) = at.world.add_slice(slice, dur, args, at.rows) else {
            return;
        };
        if let Some(id) = message.number(field::EVENT_ID) {
            at.world.flows.stage(id, StageStep::Is, slice);
        }
        for id in message.numbers(field::EVENT_WAIT_IDS) {
            at.world.flows.stage(id, StageStep::Follows, slice);
        }
        let [target, pass, buffer] = known.objects.map(|name| {
            let name = name.map(|name| at.world.strings.number(name, at.rows));
            Cell::or_null(name)
        });
        let subpasses = at.rows.optional_text(known.subpasses);
        let handle = |field| Cell::from(message.number(field).unwrap_or(0) as i64);
        at.rows.push(gpu_slice_record::Row {
            id: Cell::from(slice.0),
            context_id: handle(field::CONTEXT),
            render_target: handle(field::RENDER_TARGET_HANDLE),
            render_target_name: target,
            render_pass: handle(field::RENDER_PASS_HANDLE),
            render_pass_name: pass,
            command_buffer: handle(field::COMMAND_BUFFER_HANDLE),
            command_buffer_name: buffer,
            submission_id: Cell::from(message.small(field::SUBMISSION_ID).unwrap_or(0)),
            hw_queue_id: Cell::from(known.queue as i64),
            upid: Cell::from(known.upid.0),
            render_subpasses: subpasses,
            render_stage_category: Cell::or_null(known.category),
        });
    }
}

/// The name of a slice (rule GP4).
fn name(event: &Event<'_>, specified: &Specified, at: &mut TrackerContext<'_, '_>) -> OwnLabel {
    let message = event.message;
    let called =
        |name: &str, at: &mut TrackerContext<'_, '_>| at.world.definitions.names.label(name).into();
    let entry = match (message.number(field::NAME_IID), message.number(field::STAGE_IID)) {
        (Some(iid), _) => Some((interned::EVENT_NAMES, iid)),
        (None, _) if message.bytes(field::NAME).is_some() => None,
        (None, stage) => stage.map(|iid| (interned::GPU_SPECIFICATIONS, iid)),
    };
    if let Some((field, iid)) = entry {
        let entry = event.interned(field, iid, at);
        let name = entry.and_then(|entry| Some(entry.text(text::STR)?.into_owned()));
        return name.map_or(OwnLabel::None, |name| called(&name, at));
    }
    if let Some(name) = message.text(field::NAME) {
        return called(&name, at);
    }
    if let Some(stage) = specified.stage(event) {
        return stage.name.clone();
    }
    called(&format!("render stage({})", event.stage()), at)
}

/// The description of a stage in specifications of the old style.
fn described(event: &Event<'_>, specified: &Specified) -> Option<Box<str>> {
    event.message.number(field::STAGE_ID)?;
    specified.stage(event)?.description.clone()
}

/// The process of an event, or the process with pid 0 if no context names one (rule GP5).
fn process(
    event: &Event<'_>,
    specifications: Option<Message<'_>>,
    at: &mut TrackerContext<'_, '_>,
) -> Upid {
    let context = event.message.number(field::CONTEXT);
    let context = context.and_then(|iid| event.interned(interned::GRAPHICS_CONTEXTS, iid, at));
    let specified =
        specifications.and_then(|said| said.bytes(specifications::CONTEXT_SPEC).map(Message));
    let pid = context.or(specified).and_then(|said| said.small(context::PID));
    let pid = pid.unwrap_or(0).into();
    at.world.threads.process(event.packet.machine, pid)
}

/// The names of the render target, the render pass and the command buffer (rule GP8).
fn named<'o>(event: &Event<'_>, objects: &'o Objects) -> [Option<&'o str>; 3] {
    let of = [
        (ObjectType::Framebuffer, 8),
        (ObjectType::RenderPass, 9),
        (ObjectType::CommandBuffer, 12),
    ];
    of.map(|(of, field)| {
        let handle = event.message.number(field).unwrap_or(0);
        objects.get(event.packet.machine, of, handle)
    })
}
