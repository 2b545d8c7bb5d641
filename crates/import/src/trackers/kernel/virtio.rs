//! Commands to virtual GPUs and video devices (rules KE44 to KE46).

use rustc_hash::FxHashMap;
use timebase_schema::fields::{
    ftrace_event as event, virtio_gpu_cmd_queue_ftrace_event as command,
    virtio_video_cmd_ftrace_event as video, virtio_video_resource_queue_ftrace_event as queue,
};

use super::kernel_event::{ANY, Called, KernelEvent, fill};
use crate::arguments::{ArgBuf, ArgValue};
use crate::trackers::tracker::TrackerContext;
use crate::world::{NewTrack, Owner, SetId};

pub(super) const EVENTS: &[u32] = &[
    event::VIRTIO_VIDEO_CMD,
    event::VIRTIO_VIDEO_CMD_DONE,
    event::VIRTIO_VIDEO_RESOURCE_QUEUE,
    event::VIRTIO_VIDEO_RESOURCE_QUEUE_DONE,
    event::VIRTIO_GPU_CMD_QUEUE,
    event::VIRTIO_GPU_CMD_RESPONSE,
];

/// The types of tracks with lanes.
const GPU_QUEUE: &str = "virtgpu_queue_event";
const VIDEO_COMMAND: &str = "virtio_video_command";
const VIDEO_QUEUE: &str = "virtio_video_queue_event";

/// The duration of the slice of a command to a video device.
const COMMAND_NS: i64 = 100_000;

/// Follows the commands.
#[derive(Debug, Default)]
pub(super) struct Virtio {
    /// The times at which unanswered commands to GPUs were queued, by machine, queue and number.
    asked: FxHashMap<(u32, &'static str, u32), i64>,
    args: ArgBuf,
}

impl Virtio {
    pub fn event(&mut self, here: &KernelEvent<'_>, at: &mut TrackerContext<'_, '_>) {
        match here.field {
            event::VIRTIO_GPU_CMD_QUEUE | event::VIRTIO_GPU_CMD_RESPONSE => self.gpu(here, at),
            event::VIRTIO_VIDEO_CMD | event::VIRTIO_VIDEO_CMD_DONE => video_command(here, at),
            _ => self.video_resource(here, at),
        }
    }

    fn gpu(&mut self, here: &KernelEvent<'_>, at: &mut TrackerContext<'_, '_>) {
        let queue = match here.text(command::NAME).as_deref() {
            Some("control") => "Control",
            Some("cursor") => "Cursor",
            _ => return,
        };
        let machine = here.machine;
        let counter = |track_type, what| {
            let name = format!("Virtgpu {queue} {what}");
            let track = NewTrack::counter(machine, track_type, &name, Owner::None);
            track.with("virtgpu_name", queue)
        };
        let free = at.world.tracks.get(counter("virtgpu_num_free", "Free"));
        here.value(free, here.u32(command::NUM_FREE).into(), &[], at);
        let seqno = here.u32(command::SEQNO);
        let key = (machine, queue, seqno);
        let lanes = &mut at.world.lanes;
        let set = lanes.set(GPU_QUEUE, &[machine.into()], queue, || {
            let name = format!("Virtgpu {queue} Queue");
            let track = NewTrack::slices(machine, GPU_QUEUE, Some(&name), Owner::None);
            track.with("virtgpu_name", queue)
        });
        if here.field == event::VIRTIO_GPU_CMD_QUEUE {
            let name = words::gpu(here.u32(command::TYPE)).unwrap_or_default();
            let track = lanes.begin(set, seqno.into(), &mut at.world.tracks);
            if let Some(track) = track {
                here.begin(track, Called::named(name), &[], at);
            }
            // A command with a fence may be answered when the fence is signaled.
            if here.u64(command::FENCE_ID) == 0 {
                self.asked.insert(key, here.ts);
            }
            return;
        }
        let lane = lanes.end(set, seqno.into(), &mut at.world.tracks);
        if let Some((track, _)) = lane {
            here.end(track, ANY, &[], at);
        }
        if let Some(asked) = self.asked.remove(&key) {
            let latency = at.world.tracks.get(counter("virtgpu_latency", "Latency"));
            here.value(latency, here.ts.saturating_sub(asked) as f64, &[], at);
        }
    }

    fn video_resource(&mut self, here: &KernelEvent<'_>, at: &mut TrackerContext<'_, '_>) {
        let (resource, queue) = (here.i32(queue::RESOURCE_ID), here.u32(queue::QUEUE_TYPE));
        let queue_name = match queue {
            0x100 => "INPUT",
            0x101 => "OUTPUT",
            _ => "Unknown",
        };
        let set = video_lanes(here, VIDEO_QUEUE, here.u32(queue::STREAM_ID), queue_name, at);
        let (lanes, tracks) = (&mut at.world.lanes, &mut at.world.tracks);
        if here.field == event::VIRTIO_VIDEO_RESOURCE_QUEUE {
            if let Some(track) = lanes.begin(set, resource.into(), tracks) {
                let name = format!("Resource #{resource}");
                here.begin(track, Called::named(&name), &[], at);
            }
            return;
        }
        let Some((track, _)) = lanes.end(set, resource.into(), tracks) else {
            return;
        };
        let size = |field| ArgValue::Int(here.u32(field).into());
        let args = [
            ("stream_id", ArgValue::Int(here.i32(queue::STREAM_ID).into())),
            ("resource_id", ArgValue::Int(resource.into())),
            ("queue_type", ArgValue::Text(queue_name)),
            ("data_size0", size(1)),
            ("data_size1", size(2)),
            ("data_size2", size(3)),
            ("data_size3", size(4)),
            ("timestamp", ArgValue::Uint(here.u64(queue::TIMESTAMP))),
        ];
        let args = fill(&mut self.args, &args, at);
        here.end(track, ANY, args, at);
    }
}

fn video_command(here: &KernelEvent<'_>, at: &mut TrackerContext<'_, '_>) {
    let what = match here.field {
        event::VIRTIO_VIDEO_CMD => "Requests",
        _ => "Responses",
    };
    let set = video_lanes(here, VIDEO_COMMAND, here.u32(video::STREAM_ID), what, at);
    let (lanes, tracks) = (&mut at.world.lanes, &mut at.world.tracks);
    if let Some(track) = lanes.add(set, here.ts, COMMAND_NS, tracks) {
        let name = words::video(here.u32(video::TYPE)).unwrap_or("Unknown");
        let slice = here.slice(track, Called::named(name), at);
        at.world.add_slice(slice, COMMAND_NS, &[], at.rows);
    }
}

/// The lanes of a stream of a video device.
fn video_lanes(
    here: &KernelEvent<'_>,
    track_type: &'static str,
    stream: u32,
    what: &str,
    at: &mut TrackerContext<'_, '_>,
) -> SetId {
    let machine = here.machine;
    let (key, kind) = match track_type {
        VIDEO_COMMAND => ("is_response", u32::from(here.field == event::VIRTIO_VIDEO_CMD_DONE)),
        _ => ("virtio_queue_type", here.u32(queue::QUEUE_TYPE)),
    };
    let numbers = [machine.into(), stream.into(), kind.into()];
    at.world.lanes.set(track_type, &numbers, "", || {
        let name = format!("virtio_video stream #{stream} {what}");
        let track = NewTrack::slices(machine, track_type, Some(&name), Owner::None);
        track.with("virtio_stream_id", stream).with(key, kind)
    })
}

/// The words for the numbers of commands.
mod words {
    /// From 0x100.
    const GPU_2D: [&str; 14] = [
        "GET_DISPLAY_INFO",
        "RESOURCE_CREATE_2D",
        "RESOURCE_UNREF",
        "SET_SCANOUT",
        "RESOURCE_FLUSH",
        "TRANSFER_TO_HOST_2D",
        "RESOURCE_ATTACH_BACKING",
        "RESOURCE_DETACH_BACKING",
        "GET_CAPSET_INFO",
        "GET_CAPSET",
        "GET_EDID",
        "RESOURCE_ASSIGN_UUID",
        "RESOURCE_CREATE_BLOB",
        "SET_SCANOUT_BLOB",
    ];
    /// From 0x200.
    const GPU_3D: [&str; 10] = [
        "CTX_CREATE",
        "CTX_DESTROY",
        "CTX_ATTACH_RESOURCE",
        "CTX_DETACH_RESOURCE",
        "RESOURCE_CREATE_3D",
        "TRANSFER_TO_HOST_3D",
        "TRANSFER_FROM_HOST_3D",
        "SUBMIT_3D",
        "RESOURCE_MAP_BLOB",
        "RESOURCE_UNMAP_BLOB",
    ];
    /// From 0x300.
    const GPU_CURSOR: [&str; 2] = ["UPDATE_CURSOR", "MOVE_CURSOR"];
    /// From 0x100.
    const VIDEO: [&str; 15] = [
        "QUERY_CAPABILITY",
        "STREAM_CREATE",
        "STREAM_DESTROY",
        "STREAM_DRAIN",
        "RESOURCE_CREATE",
        "RESOURCE_QUEUE",
        "RESOURCE_DESTROY_ALL",
        "QUEUE_CLEAR",
        "GET_PARAMS",
        "SET_PARAMS",
        "QUERY_CONTROL",
        "GET_CONTROL",
        "SET_CONTROL",
        "GET_PARAMS_EXT",
        "SET_PARAMS_EXT",
    ];

    pub fn gpu(number: u32) -> Option<&'static str> {
        let words: &[&str] = match number >> 8 {
            1 => &GPU_2D,
            2 => &GPU_3D,
            3 => &GPU_CURSOR,
            _ => &[],
        };
        words.get((number & 0xff) as usize).copied()
    }

    pub fn video(number: u32) -> Option<&'static str> {
        VIDEO.get(number.checked_sub(0x100)? as usize).copied()
    }
}
