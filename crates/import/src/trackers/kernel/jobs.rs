//! Jobs that a GPU scheduler of DRM queues and runs (rules KE2, KE3, KE4).

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use timebase_schema::fields::{
    drm_run_job_ftrace_event as run_job, drm_sched_job_done_ftrace_event as done,
    drm_sched_job_ftrace_event as job, drm_sched_job_queue_ftrace_event as queue,
    drm_sched_job_run_ftrace_event as run, drm_sched_process_job_ftrace_event as process_job,
    ftrace_event as event,
};

use super::kernel_event::{ANY, Called, KernelEvent, fill, text_arg};
use crate::arguments::{ArgBuf, ArgValue};
use crate::trackers::tracker::TrackerContext;
use crate::world::{NewTrack, Owner, SliceId, TrackId};

pub(super) const EVENTS: &[u32] = &[
    event::DRM_SCHED_JOB,
    event::DRM_RUN_JOB,
    event::DRM_SCHED_PROCESS_JOB,
    event::DRM_SCHED_JOB_DONE,
    event::DRM_SCHED_JOB_QUEUE,
    event::DRM_SCHED_JOB_RUN,
];

/// The number of a job or of a fence; kernels of two generations have different numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Number {
    Old(u64),
    New { context: u64, seqno: u64 },
}

impl Number {
    fn new(here: &KernelEvent<'_>, context: u32, seqno: u32) -> Number {
        Number::New { context: here.u64(context), seqno: here.u64(seqno) }
    }

    /// The arguments that name a job.
    fn args(self) -> Vec<(&'static str, ArgValue<'static>)> {
        match self {
            Number::Old(id) => vec![("gpu sched job", ArgValue::Uint(id))],
            Number::New { context, seqno } => vec![
                ("fence context", ArgValue::Uint(context)),
                ("fence seqno", ArgValue::Uint(seqno)),
            ],
        }
    }
}

/// A ring of a GPU, by its name.
#[derive(Debug)]
struct Ring {
    track: TrackId,
    /// The jobs of the ring, in order; the ring runs the first one.
    queue: VecDeque<Number>,
    /// The slices of the threads that queued a job.
    queued_by: FxHashMap<Number, SliceId>,
}

/// Follows the rings.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    rings: Vec<Ring>,
    known: FxHashMap<(u32, Option<Box<str>>), usize>,
    /// The ring that runs the job of a fence.
    fences: FxHashMap<(u32, Number), usize>,
    args: ArgBuf,
}

impl Jobs {
    pub fn event(&mut self, here: &KernelEvent<'_>, at: &mut TrackerContext<'_, '_>) {
        match here.field {
            event::DRM_SCHED_JOB => {
                self.queues(here, job::NAME, Number::Old(here.u64(job::ID)), at)
            }
            event::DRM_SCHED_JOB_QUEUE => self.queues(
                here,
                queue::NAME,
                Number::new(here, queue::FENCE_CONTEXT, queue::FENCE_SEQNO),
                at,
            ),
            event::DRM_RUN_JOB => {
                let (job, fence) =
                    (Number::Old(here.u64(run_job::ID)), Number::Old(here.u64(run_job::FENCE)));
                self.runs(here, run_job::NAME, job, fence, at);
            }
            event::DRM_SCHED_JOB_RUN => {
                let job = Number::new(here, run::FENCE_CONTEXT, run::FENCE_SEQNO);
                self.runs(here, run::NAME, job, job, at);
            }
            event::DRM_SCHED_PROCESS_JOB => {
                self.is_done(here, Number::Old(here.u64(process_job::FENCE)), at)
            }
            event::DRM_SCHED_JOB_DONE => {
                self.is_done(here, Number::new(here, done::FENCE_CONTEXT, done::FENCE_SEQNO), at)
            }
            _ => {}
        }
    }

    /// Takes a job that a thread queues.
    fn queues(
        &mut self,
        here: &KernelEvent<'_>,
        name: u32,
        job: Number,
        at: &mut TrackerContext<'_, '_>,
    ) {
        let ring = self.ring(here, name, at);
        let name = here.text(name);
        let mut args = vec![("gpu sched ring", text_arg(name.as_deref()))];
        args.extend(job.args());
        let args = fill(&mut self.args, &args, at);
        let track = here.thread(at);
        let slice = here.instant(track, Called::named("drm_sched_job_queue"), args, at);
        if let Some((slice, ring)) = slice.zip(self.rings.get_mut(ring)) {
            ring.queued_by.insert(job, slice);
        }
    }

    /// Gives a ring a job, which ends when its fence is signaled.
    fn runs(
        &mut self,
        here: &KernelEvent<'_>,
        name: u32,
        job: Number,
        fence: Number,
        at: &mut TrackerContext<'_, '_>,
    ) {
        let place = self.ring(here, name, at);
        self.fences.entry((here.machine, fence)).or_insert(place);
        let Some(ring) = self.rings.get_mut(place) else {
            return;
        };
        ring.queue.push_back(job);
        if ring.queue.len() == 1 {
            ring.begin(here, &mut self.args, at);
        }
    }

    fn is_done(&mut self, here: &KernelEvent<'_>, fence: Number, at: &mut TrackerContext<'_, '_>) {
        let place = self.fences.remove(&(here.machine, fence));
        let Some(ring) = place.and_then(|place| self.rings.get_mut(place)) else {
            return;
        };
        here.end(ring.track, ANY, &[], at);
        ring.queue.pop_front();
        ring.begin(here, &mut self.args, at);
    }

    fn ring(
        &mut self,
        here: &KernelEvent<'_>,
        name: u32,
        at: &mut TrackerContext<'_, '_>,
    ) -> usize {
        let name = here.text(name);
        let key = (here.machine, name.as_deref().map(Box::from));
        let (rings, machine) = (&mut self.rings, here.machine);
        *self.known.entry(key).or_insert_with(|| {
            let shown = format!("sched-{}", name.as_deref().unwrap_or_default());
            let track = NewTrack::slices(machine, "drm_sched_ring", Some(&shown), Owner::None);
            rings.push(Ring {
                track: at.world.tracks.get(track.with("name", name.as_deref())),
                queue: VecDeque::new(),
                queued_by: FxHashMap::default(),
            });
            rings.len() - 1
        })
    }
}

impl Ring {
    /// Begins the first job, if there is one, and links it from the thread that queued it.
    fn begin(
        &mut self,
        here: &KernelEvent<'_>,
        args: &mut ArgBuf,
        at: &mut TrackerContext<'_, '_>,
    ) {
        let Some(&job) = self.queue.front() else {
            return;
        };
        let args = fill(args, &job.args(), at);
        let slice = here.begin(self.track, Called::named("job"), args, at);
        if let Some(slice) = slice
            && let Some(from) = self.queued_by.remove(&job)
        {
            at.world.flows.link(from, slice);
        }
    }
}
