//! Kernel events about the queues of devices: KE2 to KE5, KE43 to KE46.

use super::args::Said;
use super::kernel_events::{Now, Told, i32_of, int};
use super::slices::SliceId;
use super::tracks::Track;
use super::world::World;

/// A job or a fence: of old kernels a number, of new ones a context and a number.
#[derive(Clone, Debug, PartialEq)]
enum Id {
    Old(u64),
    New(u64, u64),
}

#[derive(Debug, Default)]
pub struct Queues {
    /// The jobs of rings, each with its fence, while they are not done: by ring.
    jobs: Vec<(Track, Id)>,
    /// The fences of runs, in their order.
    runs: Vec<(Track, usize, Id)>,
    /// The slices of threads that queued a job.
    queued: Vec<(Track, Id, SliceId)>,
    contexts: Vec<Fences>,
    /// The buffers that 422 queued: machine, minor, sequence, type, index.
    buffers: Vec<([i64; 5], Option<SliceId>)>,
    /// Commands to GPUs without an answer: machine, queue, number, and time.
    asked: Vec<((usize, &'static str, i64), i64)>,
}

/// The fences of a context.
#[derive(Debug)]
struct Fences {
    of: (usize, i64),
    track: Track,
    waiting: Vec<i64>,
    emitted: bool,
}

impl World<'_> {
    pub fn queue_events(&mut self, now: &Now<'_>) {
        match now.kind {
            411 | 412 | 413 | 592..=594 => self.job_events(now),
            414..=416 => self.fence_events(now),
            422..=427 => self.buffer_events(now),
            439..=442 => self.video_commands(now),
            468 | 469 => self.gpu_commands(now),
            _ => {}
        }
    }

    fn job_events(&mut self, now: &Now<'_>) {
        let fields = now.fields;
        let pair = |context, seqno| Id::New(fields.unsigned(context), fields.unsigned(seqno));
        let is_old = matches!(now.kind, 411..=413);
        let name = fields.text(if is_old { 6 } else { 1 });
        let ring = self
            .on(now, "drm_sched_ring", &format!("sched-{}", name.clone().unwrap_or_default()))
            .with("name", Said::String(name.clone()));
        let (job, fence) = match now.kind {
            413 => (Id::Old(0), Id::Old(fields.unsigned(1))),
            592 => (Id::Old(0), pair(1, 2)),
            411 | 412 => (Id::Old(fields.unsigned(4)), Id::Old(fields.unsigned(2))),
            _ => (pair(5, 6), pair(5, 6)),
        };
        match now.kind {
            411 | 593 => {
                let mut told = vec![("gpu sched ring", Said::String(name))];
                told.extend(job_args(&job));
                let track = Track::of_thread(now.thread);
                let called = (None, Some("drm_sched_job_queue"));
                let slice = self.kernel_slice(now, &track, 0, called, told);
                if let Some(slice) = slice {
                    let queued = &mut self.kernel.queues.queued;
                    queued.retain(|(of, id, _)| (of, id) != (&ring, &job));
                    queued.push((ring, job, slice));
                }
            }
            412 | 594 => {
                let queues = &mut self.kernel.queues;
                let runs = &mut queues.runs;
                if !runs.iter().any(|(_, of, id)| (*of, id) == (now.machine, &fence)) {
                    runs.push((ring.clone(), now.machine, fence));
                }
                queues.jobs.push((ring.clone(), job));
                let of_ring = queues.jobs.iter().filter(|(of, _)| *of == ring);
                if of_ring.count() == 1 {
                    self.job_begins(now, &ring);
                }
            }
            _ => {
                let queues = &mut self.kernel.queues;
                let mut runs = queues.runs.iter();
                let Some(run) = runs.position(|(_, of, id)| (*of, id) == (now.machine, &fence))
                else {
                    return;
                };
                let (ring, ..) = queues.runs.remove(run);
                self.kernel_end(now, &ring, (None, None), vec![]);
                let jobs = &mut self.kernel.queues.jobs;
                if let Some(first) = jobs.iter().position(|(of, _)| *of == ring) {
                    jobs.remove(first);
                }
                self.job_begins(now, &ring);
            }
        }
    }

    /// The first job of a ring begins, if there is one.
    fn job_begins(&mut self, now: &Now<'_>, ring: &Track) {
        let jobs = &self.kernel.queues.jobs;
        let Some((_, job)) = jobs.iter().find(|(of, _)| of == ring) else {
            return;
        };
        let job = job.clone();
        let slice = self.kernel_slice(now, ring, -1, (None, Some("job")), job_args(&job));
        let queued = &mut self.kernel.queues.queued;
        let from = queued.iter().position(|(of, id, _)| (of, id) == (ring, &job));
        if let (Some(slice), Some(from)) = (slice, from) {
            let (.., from) = queued.remove(from);
            self.flows.links.push((from, slice));
        }
    }

    fn fence_events(&mut self, now: &Now<'_>) {
        let fields = now.fields;
        let timeline = fields.text(4);
        if timeline.as_deref() == Some("unbound") {
            return;
        }
        let (of, seqno) = ((now.machine, fields.id(1)), fields.id(3));
        let known = self.kernel.queues.contexts.iter().position(|c| c.of == of);
        let place = known.unwrap_or_else(|| {
            let name = format!("fence-{}-{}", timeline.clone().unwrap_or_default(), of.1);
            let track = self
                .on(now, "drm_fence", &name)
                .with("name", Said::String(timeline))
                .with("context", int(of.1));
            self.kernel.queues.contexts.push(Fences {
                of,
                track,
                waiting: Vec::new(),
                emitted: false,
            });
            self.kernel.queues.contexts.len() - 1
        });
        let context = &mut self.kernel.queues.contexts[place];
        let track = context.track.clone();
        let mut begins = false;
        match now.kind {
            416 => {
                if context.waiting.first().is_some_and(|first| seqno >= *first) {
                    context.waiting.remove(0);
                    begins = !context.waiting.is_empty();
                    self.kernel_end(now, &track, (None, None), vec![]);
                }
            }
            414 if context.emitted => {}
            kind => {
                let is_first = kind == 415 && !context.emitted;
                context.emitted |= kind == 415;
                let ends = is_first && !context.waiting.is_empty();
                if is_first {
                    context.waiting.clear();
                }
                context.waiting.push(seqno);
                begins = context.waiting.len() == 1;
                if ends {
                    self.kernel_end(now, &track, (None, None), vec![]);
                }
            }
        }
        if begins {
            let first = self.kernel.queues.contexts[place].waiting[0];
            let told = vec![("fence seqno", Said::Uint(first as u64))];
            self.kernel_slice(now, &track, -1, (None, Some("fence")), told);
        }
    }

    /// KE43
    fn buffer_events(&mut self, now: &Now<'_>) {
        let fields = now.fields;
        let is_plain = now.kind < 424;
        // The numbers of field, flags, minor, sequence, timecode_flags and timestamp.
        let [field, flags, minor, sequence, timecode, timestamp] = match is_plain {
            true => [2, 3, 5, 6, 7, 17],
            false => [1, 2, 3, 4, 5, 15],
        };
        let (kind, index) = match is_plain {
            true => (fields.id(18), fields.id(4)),
            false => (0, 0),
        };
        let (minor, sequence) = (i32_of(fields, minor), fields.id(sequence));
        let name = match now.kind {
            422 => "VIDIOC_QBUF",
            423 => "VIDIOC_DQBUF",
            424 => "vb2_v4l2_buf_queue",
            425 => "vb2_v4l2_buf_done",
            _ => "vb2_v4l2_qbuf",
        };
        let mut name = format!("{name} minor={minor} seq={sequence} type={kind} index={index}");
        name.truncate(63);
        let word = |words: &str, place: i64| {
            let place = usize::try_from(place).ok();
            let word = place.and_then(|place| words.split(' ').nth(place));
            Said::String(word.map(str::to_owned))
        };
        let mut told: Told<'_> = vec![
            ("minor", int(minor)),
            ("sequence", int(sequence)),
            ("timestamp", int(fields.signed(timestamp))),
            ("flags", Said::text(&buffer_flags(fields.id(flags)))),
            (
                "field",
                word(
                    "ANY NONE TOP BOTTOM INTERLACED SEQ_TB SEQ_BT ALTERNATE INTERLACED_TB INTERLACED_BT",
                    fields.id(field),
                ),
            ),
            ("timecode_type", word("24FPS 25FPS 30FPS 50FPS 60FPS", fields.id(timecode + 5) - 1)),
            ("timecode_flags", Said::text(&timecode_flags(fields.id(timecode)))),
        ];
        for (key, behind) in [
            ("timecode_frames", 1),
            ("timecode_hours", 2),
            ("timecode_minutes", 3),
            ("timecode_seconds", 4),
            ("timecode_userbits0", 6),
            ("timecode_userbits1", 7),
            ("timecode_userbits2", 8),
            ("timecode_userbits3", 9),
        ] {
            told.push((key, int(fields.id(timecode + behind))));
        }
        if is_plain {
            const TYPES: &str = "VIDEO_CAPTURE VIDEO_OUTPUT VIDEO_OVERLAY VBI_CAPTURE VBI_OUTPUT \
                SLICED_VBI_CAPTURE SLICED_VBI_OUTPUT VIDEO_OUTPUT_OVERLAY VIDEO_CAPTURE_MPLANE \
                VIDEO_OUTPUT_MPLANE SDR_CAPTURE SDR_OUTPUT META_CAPTURE META_OUTPUT";
            told.push(("index", int(index)));
            told.push(("bytesused", int(fields.id(1))));
            let word = match kind {
                128 => Said::text("PRIVATE"),
                kind => word(TYPES, kind - 1),
            };
            told.push(("type", word));
        }
        let track = Track::of_thread(now.thread);
        let called = (Some("Video 4 Linux 2"), Some(name.as_str()));
        let slice = self.kernel_slice(now, &track, 0, called, told);
        let key = [now.machine as i64, minor, sequence, kind, index];
        let buffers = &mut self.kernel.queues.buffers;
        let known = buffers.iter().position(|(of, _)| *of == key);
        match (now.kind, known) {
            (422, None) => buffers.push((key, slice)),
            (423, Some(place)) => {
                if let ((_, Some(from)), Some(to)) = (buffers.remove(place), slice) {
                    self.flows.links.push((from, to));
                }
            }
            _ => {}
        }
    }

    /// KE44
    fn gpu_commands(&mut self, now: &Now<'_>) {
        let fields = now.fields;
        let queue = match fields.text(5).as_deref() {
            Some("control") => "Control",
            Some("cursor") => "Cursor",
            _ => return,
        };
        let track = |world: &Self, kind, what| {
            let name = format!("Virtgpu {queue} {what}");
            world.on(now, kind, &name).with("virtgpu_name", Said::text(queue))
        };
        let free = track(self, "virtgpu_num_free", "Free");
        self.kernel_value(now, free, fields.id(6) as f64, vec![]);
        let set = track(self, "virtgpu_queue_event", "Queue");
        let seqno = fields.id(7);
        let key = (now.machine, queue, seqno);
        if now.kind == 468 {
            let name = gpu_command(fields.id(8));
            self.slices.begin_on_lane(now.time, &set, name, seqno);
            if fields.unsigned(3) == 0 {
                self.kernel.queues.asked.retain(|(of, _)| *of != key);
                self.kernel.queues.asked.push((key, now.time));
            }
            return;
        }
        self.slices.end_on_lane(now.time, &set, seqno);
        let asked = &mut self.kernel.queues.asked;
        if let Some(place) = asked.iter().position(|(of, _)| *of == key) {
            let (_, then) = asked.remove(place);
            let latency = track(self, "virtgpu_latency", "Latency");
            self.kernel_value(now, latency, (now.time - then) as f64, vec![]);
        }
    }

    /// KE45, KE46
    fn video_commands(&mut self, now: &Now<'_>) {
        let fields = now.fields;
        if now.kind < 441 {
            const NAMES: &str = "QUERY_CAPABILITY STREAM_CREATE STREAM_DESTROY STREAM_DRAIN RESOURCE_CREATE \
                RESOURCE_QUEUE RESOURCE_DESTROY_ALL QUEUE_CLEAR GET_PARAMS SET_PARAMS QUERY_CONTROL \
                GET_CONTROL SET_CONTROL GET_PARAMS_EXT SET_PARAMS_EXT";
            let (stream, response) = (fields.id(1), i64::from(now.kind == 440));
            let what = if response == 1 { "Responses" } else { "Requests" };
            let name = format!("virtio_video stream #{stream} {what}");
            let set = self
                .on(now, "virtio_video_command", &name)
                .with("virtio_stream_id", int(stream))
                .with("is_response", int(response));
            let place = usize::try_from(fields.id(2) - 256).ok();
            let name = place.and_then(|place| NAMES.split_whitespace().nth(place));
            let name = name.unwrap_or("Unknown");
            self.slices.complete_on_lane(now.time, 100_000, &set, Some(name));
            return;
        }
        let (queue, stream) = (fields.id(5), fields.id(7));
        let word = match queue {
            0x100 => "INPUT",
            0x101 => "OUTPUT",
            _ => "Unknown",
        };
        let set = self
            .on(now, "virtio_video_queue_event", &format!("virtio_video stream #{stream} {word}"))
            .with("virtio_stream_id", int(stream))
            .with("virtio_queue_type", int(queue));
        let resource = i32_of(fields, 6);
        if now.kind == 441 {
            let name = format!("Resource #{resource}");
            self.slices.begin_on_lane(now.time, &set, &name, resource);
            return;
        }
        let slice = self.slices.end_on_lane(now.time, &set, resource);
        for (key, said) in [
            ("stream_id", int(i32_of(fields, 7))),
            ("resource_id", int(resource)),
            ("data_size0", int(fields.id(1))),
            ("data_size1", int(fields.id(2))),
            ("data_size2", int(fields.id(3))),
            ("data_size3", int(fields.id(4))),
            ("queue_type", Said::text(word)),
            ("timestamp", Said::Uint(fields.unsigned(8))),
        ] {
            self.slices.say(slice, key, said);
        }
    }
}

fn job_args(job: &Id) -> Told<'static> {
    match *job {
        Id::Old(id) => vec![("gpu sched job", Said::Uint(id))],
        Id::New(context, seqno) => {
            vec![("fence context", Said::Uint(context)), ("fence seqno", Said::Uint(seqno))]
        }
    }
}

fn buffer_flags(flags: i64) -> String {
    if flags == 0 {
        return "TIMESTAMP_UNKNOWN|TSTAMP_SRC_EOF".to_owned();
    }
    let first = "MAPPED QUEUED DONE KEYFRAME PFRAME BFRAME ERROR IN_REQUEST TIMECODE M2M_HOLD_CAPTURE_BUF \
        PREPARED NO_CACHE_INVALIDATE NO_CACHE_CLEAN";
    let mut words: Vec<&str> = first
        .split_whitespace()
        .enumerate()
        .filter(|(bit, _)| flags >> bit & 1 == 1)
        .map(|(_, word)| word)
        .collect();
    for (bits, word) in [
        (0xe000, "TIMESTAMP_MASK"),
        (0x2000, "TIMESTAMP_MONOTONIC"),
        (0x4000, "TIMESTAMP_COPY"),
        (0x70000, "TSTAMP_SRC_MASK"),
        (0x10000, "TSTAMP_SRC_SOE"),
        (0x0010_0000, "LAST"),
        (0x0080_0000, "REQUEST_FD"),
    ] {
        if flags & bits != 0 {
            words.push(word);
        }
    }
    words.join("|")
}

fn timecode_flags(flags: i64) -> String {
    let mut words = Vec::new();
    if flags == 0 {
        words.push("USERBITS_USERDEFINED");
    }
    if flags & 1 != 0 {
        words.push("FLAG_DROPFRAME");
    }
    if flags & 2 != 0 {
        words.push("FLAG_COLORFRAME");
    }
    match flags & 12 {
        4 => words.push("USERBITS_field(01)"),
        8 => words.push("USERBITS_field(10)"),
        12 => words.push("USERBITS_field(11)"),
        _ => {}
    }
    if flags & 8 != 0 {
        words.push("USERBITS_8BITCHARS");
    }
    words.join("|")
}

fn gpu_command(kind: i64) -> &'static str {
    let (first, words) = match kind {
        0x100..0x200 => (
            0x100,
            "GET_DISPLAY_INFO RESOURCE_CREATE_2D RESOURCE_UNREF SET_SCANOUT RESOURCE_FLUSH \
             TRANSFER_TO_HOST_2D RESOURCE_ATTACH_BACKING RESOURCE_DETACH_BACKING GET_CAPSET_INFO GET_CAPSET \
             GET_EDID RESOURCE_ASSIGN_UUID RESOURCE_CREATE_BLOB SET_SCANOUT_BLOB",
        ),
        0x200..0x300 => (
            0x200,
            "CTX_CREATE CTX_DESTROY CTX_ATTACH_RESOURCE CTX_DETACH_RESOURCE RESOURCE_CREATE_3D \
             TRANSFER_TO_HOST_3D TRANSFER_FROM_HOST_3D SUBMIT_3D RESOURCE_MAP_BLOB RESOURCE_UNMAP_BLOB",
        ),
        _ => (0x300, "UPDATE_CURSOR MOVE_CURSOR"),
    };
    let place = usize::try_from(kind - first).ok();
    let word = place.and_then(|place| words.split_whitespace().nth(place));
    word.unwrap_or_default()
}
