//! Kernel events that become slices, values and flows (rules KE and KB).
//!
//! # Design
//!
//! Most of these events say one thing about one track: something begins, ends, happens or has a value. Such
//! an event is a line of a table (`table.rs`). The line names the field of `FtraceEvent`, the effect, the
//! kind of track, the pattern of a name, and the place of each argument in the message. An interpreter
//! applies the line. So a new event takes one to five lines: two lines if it begins and ends a slice, and two
//! to four for a kind of track. For a calculated value, a line may have a small function. An event that
//! depends on other events has code: each subject is a file with its state and a method that takes its
//! events.
//!
//! The alternative was a function for each event: 75 functions, each of which makes a track, a name,
//! arguments and a slice in the same way, so that a new event takes 20 to 30 lines. Another alternative was a
//! table as a file that is read at the start. But the compiler checks this table, and nothing is parsed. A
//! table for counters alone was tried when only the events of [`counters`](super::counters) were known; half
//! of them would have had code.
//!
//! The set of events follows from the table and from the lists of the other files ([`EVENTS`]). An event
//! finds its lines by a list of places by field, and reaches no other tracker.
//!
//! | rules | file |
//! |---|---|
//! | most of KE | `table.rs`, with the vocabulary of `entry.rs`, by `interpret.rs` |
//! | KE2 to KE4 | `jobs.rs` |
//! | KE5 | `fences.rs` |
//! | KE8 | `tcp.rs` |
//! | KE12, KE13 | `suspend.rs` |
//! | KE15 | `wakelocks.rs` |
//! | KE22 | `android_fs.rs` |
//! | KE23 | `contiguous.rs` |
//! | KE28 | `i2c.rs` |
//! | KE32 | `syscalls.rs` |
//! | KE43 | `video.rs` |
//! | KE44 to KE46 | `virtio.rs` |
//! | KB1 to KB3 | `binder.rs` |
//! | KB4 | `binder_frames.rs` |

mod android_fs;
mod binder;
mod binder_frames;
mod contiguous;
mod entry;
mod fences;
mod i2c;
mod interpret;
mod jobs;
mod kernel_event;
mod suspend;
mod syscalls;
mod table;
mod tcp;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
mod video;
mod virtio;
mod wakelocks;

use std::sync::LazyLock;

use self::interpret::Interpreter;
use self::kernel_event::KernelEvent;
pub(super) use self::syscalls::TRUNCATED;
use self::table::TABLE;
use super::events::Events;
use super::tracker::{Tracker, TrackerContext};
use crate::message::Message;
use crate::output::{LogMessage, Severity};
use crate::timeline::FtraceEvent;
use crate::world::{CPUS, Utid};

/// The subjects that have code.
#[derive(Debug, Clone, Copy)]
enum Subject {
    Binder,
    Buffers,
    Contiguous,
    Fences,
    FileReads,
    Jobs,
    Streams,
    Suspend,
    Syscalls,
    Transfers,
    Virtio,
    Wakelocks,
}

/// The events of each subject.
const SUBJECTS: &[(Subject, &[u32])] = &[
    (Subject::Binder, binder::EVENTS),
    (Subject::Buffers, video::EVENTS),
    (Subject::Contiguous, contiguous::EVENTS),
    (Subject::Fences, fences::EVENTS),
    (Subject::FileReads, android_fs::EVENTS),
    (Subject::Jobs, jobs::EVENTS),
    (Subject::Streams, tcp::EVENTS),
    (Subject::Suspend, suspend::EVENTS),
    (Subject::Syscalls, syscalls::EVENTS),
    (Subject::Transfers, i2c::EVENTS),
    (Subject::Virtio, virtio::EVENTS),
    (Subject::Wakelocks, wakelocks::EVENTS),
];

/// All events that this tracker reads.
pub(super) const EVENTS: Events = {
    let mut events = Events::new(&[]);
    let mut line = 0;
    while line < TABLE.len() {
        events = events.with(TABLE[line].event);
        line += 1;
    }
    let mut subject = 0;
    while subject < SUBJECTS.len() {
        events = events.and(&Events::new(SUBJECTS[subject].1));
        subject += 1;
    }
    events
};

/// The reader of an event.
#[derive(Debug, Clone, Copy)]
enum Route {
    Nothing,
    /// Lines of the table: the first line, and the number of lines.
    Lines(u16, u16),
    Subject(Subject),
}

/// The routes of all events, by their fields.
static ROUTES: LazyLock<Routes> = LazyLock::new(Routes::new);

#[derive(Debug)]
struct Routes(Vec<Route>);

impl Routes {
    fn new() -> Self {
        let mut routes = vec![Route::Nothing; Events::COUNT];
        let mut first = 0;
        for lines in TABLE.chunk_by(|one, other| one.event == other.event) {
            let count = lines.len() as u16;
            if let Some(route) = lines.first().and_then(|line| routes.get_mut(line.event as usize))
            {
                *route = Route::Lines(first, count);
            }
            first += count;
        }
        for &(subject, events) in SUBJECTS {
            for &event in events {
                if let Some(route) = routes.get_mut(event as usize) {
                    *route = Route::Subject(subject);
                }
            }
        }
        Routes(routes)
    }
}

/// Follows these events.
#[derive(Debug, Default)]
pub(crate) struct Kernel {
    interpreter: Interpreter,
    binder: binder::Binder,
    buffers: video::Buffers,
    contiguous: contiguous::Contiguous,
    fences: fences::Fences,
    file_reads: android_fs::FileReads,
    jobs: jobs::Jobs,
    streams: tcp::Streams,
    suspend: suspend::Suspend,
    syscalls: syscalls::Syscalls,
    transfers: i2c::Transfers,
    virtio: virtio::Virtio,
    wakelocks: wakelocks::Wakelocks,
}

impl Kernel {
    /// Takes a mark of a thread (rule KE32), before the mark has its effect.
    #[inline]
    pub fn marks(&mut self, ts: i64, emitter: Utid, at: &mut TrackerContext<'_, '_>) {
        self.syscalls.marks(ts, emitter, at);
    }
}

impl Tracker for Kernel {
    fn ftrace(
        &mut self,
        ts: i64,
        event: &FtraceEvent<'_>,
        emitter: Utid,
        at: &mut TrackerContext<'_, '_>,
    ) {
        let here = &KernelEvent {
            ts,
            machine: event.machine,
            cpu: event.cpu,
            tid: event.tid,
            emitter,
            field: event.field,
            message: Message(event.message),
            interval: event.interval,
        };
        let route = ROUTES.0.get(event.field as usize).copied();
        match route.unwrap_or(Route::Nothing) {
            Route::Nothing => {}
            Route::Lines(first, count) => {
                let lines = TABLE.iter().skip(first.into()).take(count.into());
                for line in lines {
                    self.interpreter.run(line, here, at);
                }
            }
            Route::Subject(subject) => match subject {
                Subject::Binder => self.binder.event(here, at),
                Subject::Buffers => self.buffers.event(here, at),
                Subject::Contiguous => self.contiguous.event(here, at),
                Subject::Fences => self.fences.event(here, at),
                Subject::FileReads => self.file_reads.event(here, at),
                Subject::Jobs => self.jobs.event(here, at),
                Subject::Streams => self.streams.event(here, at),
                Subject::Suspend => self.suspend.event(here, at),
                Subject::Syscalls => self.syscalls.event(here, at),
                Subject::Transfers => self.transfers.event(here, at),
                Subject::Virtio => self.virtio.event(here, at),
                Subject::Wakelocks => self.wakelocks.event(here, at),
            },
        }
    }

    fn end(&mut self, at: &mut TrackerContext<'_, '_>) {
        if self.interpreter.beyond_cpus > 0 {
            let text = format!(
                "{} kernel events of CPUs above {} are no slices or values",
                self.interpreter.beyond_cpus,
                CPUS - 1
            );
            let code = "kernel_event_cpu_out_of_range";
            LogMessage::new(Severity::Warning, code, text).push(at.rows);
        }
    }
}
