//! Calls of Vulkan: names of objects (rule GP8), and submissions (rule GP10).

use timebase_schema::fields::{
    vulkan_api_event as event, vulkan_api_event_vk_queue_submit as submit,
};
use timebase_schema::tables::gpu_slice_record;

use super::columns;
use super::objects::Objects;
use crate::arguments::{ArgBuf, ArgValue};
use crate::message::Message;
use crate::output::Cell;
use crate::timeline::{Label, PacketEvent};
use crate::trackers::tracker::TrackerContext;
use crate::world::{NewSlice, NewTrack, Owner};

/// Takes a `VulkanApiEvent`.
pub(super) fn event(
    ts: i64,
    packet: &PacketEvent<'_>,
    objects: &mut Objects,
    at: &mut TrackerContext<'_, '_>,
) {
    let message = Message(packet.payload);
    if let Some(name) = message.bytes(event::VK_DEBUG_UTILS_OBJECT_NAME) {
        objects.name(packet.machine, Message(name));
    }
    if let Some(submit) = message.bytes(event::VK_QUEUE_SUBMIT) {
        queue_submit(ts, packet.machine, Message(submit), at);
    }
}

/// Adds a `VkQueueSubmit`.
fn queue_submit(ts: i64, machine: u32, submit: Message<'_>, at: &mut TrackerContext<'_, '_>) {
    let names = &mut at.world.definitions.names;
    let mut args = ArgBuf::default();
    for (key, field) in [("pid", submit::PID), ("tid", submit::TID)] {
        let number = submit.small(field).unwrap_or(0);
        args.push(key, ArgValue::Int(number.into()), names);
    }
    let first = submit.numbers(submit::VK_COMMAND_BUFFERS).next();
    if let Some(buffer) = first {
        args.push("command_buffer", ArgValue::Uint(buffer), names);
    }
    for (place, buffer) in (0..).zip(submit.numbers(submit::VK_COMMAND_BUFFERS)) {
        args.push_listed("command_buffers", place, ArgValue::Uint(buffer), names);
    }
    let submission = submit.small(submit::SUBMISSION_ID).unwrap_or(0);
    args.push("submission_id", ArgValue::Int(submission.into()), names);
    let track = NewTrack::slices(machine, "vulkan_events", Some("Vulkan Events"), Owner::None);
    let track = at.world.tracks.get(track);
    let dur = submit.number(submit::DURATION_NS).unwrap_or(0);
    let dur = i64::try_from(dur).unwrap_or(i64::MAX);
    let slice = NewSlice::named(ts, track, Label::Own("vkQueueSubmit"));
    if let Some(slice) = at.world.add_slice(slice, dur, args.as_bytes(), at.rows) {
        at.rows.push(gpu_slice_record::Row {
            command_buffer: Cell::or_null(first.map(|buffer| buffer as i64)),
            submission_id: Cell::from(submission),
            ..columns::none(slice)
        });
    }
}
