//! Binder (KB).

use super::args::Said;
use super::kernel_events::{Now, Told, i32_of, int};
use super::processes::Utid;
use super::slices::SliceId;
use super::tracks::Track;
use super::world::World;

/// A transaction that was sent: whether it has flag 1, and whether it is a reply.
type Sent = (bool, bool);

#[derive(Debug, Default)]
pub struct Binder {
    /// By machine and debug_id: the kind, the thread, the slice and the arguments.
    outstanding: Vec<((usize, i64), Outstanding)>,
    /// The frames of threads, the topmost last: a word for the state, and the sent transaction.
    frames: Vec<(Utid, &'static str, Sent)>,
    waiting: Vec<Utid>,
    holding: Vec<Utid>,
}

#[derive(Clone, Debug)]
struct Outstanding {
    sent: Sent,
    thread: Utid,
    slice: Option<SliceId>,
    told: Told<'static>,
}

const BINDER: Option<&str> = Some("binder");

impl World<'_> {
    pub fn binder_events(&mut self, now: &Now<'_>) {
        let fields = now.fields;
        let track = &Track::of_thread(now.thread);
        match now.kind {
            50 => self.transaction(now),
            51 => self.received(now),
            53 => {
                self.kernel_slice(now, track, -1, (BINDER, Some("binder lock waiting")), vec![]);
                let waiting = &mut self.kernel.binder.waiting;
                waiting.push(now.thread);
            }
            54 if self.kernel.binder.waiting.contains(&now.thread) => {
                self.kernel.binder.waiting.retain(|thread| *thread != now.thread);
                self.kernel_end(now, track, (None, None), vec![]);
                self.kernel_slice(now, track, -1, (BINDER, Some("binder lock held")), vec![]);
                self.kernel.binder.holding.push(now.thread);
            }
            55 if self.kernel.binder.holding.contains(&now.thread) => {
                self.kernel.binder.holding.retain(|thread| *thread != now.thread);
                self.kernel_end(now, track, (BINDER, Some("binder lock held")), vec![]);
            }
            323 => {
                let told = vec![
                    ("data size", Said::Uint(fields.unsigned(1))),
                    ("offsets size", Said::Uint(fields.unsigned(3))),
                ];
                self.mark(now.thread, "binder transaction", told);
            }
            485 => self.command(now),
            486 => self.returned(now),
            _ => {}
        }
    }

    /// The topmost open slice of this name gets arguments.
    fn mark(&mut self, thread: Utid, name: &str, told: Told<'_>) {
        let track = self.slices.tracks.find(&Track::of_thread(thread));
        let Some(slice) = self.slices.open_named(track, "binder", name) else {
            return;
        };
        for (key, said) in told {
            self.slices.say(Some(slice), key, said);
        }
    }

    fn destination(&mut self, machine: usize, tid: i64) -> Option<String> {
        let thread = self.processes.thread(machine, tid);
        self.processes.threads[thread].name.clone()
    }

    fn transaction(&mut self, now: &Now<'_>) {
        let fields = now.fields;
        let flags = fields.id(7);
        let sent = (flags & 1 == 1, i32_of(fields, 5) == 1);
        let words = [
            (1, "this is a one-way call: async, no return; "),
            (4, "contents are the components root object; "),
            (8, "contents are a 32-bit status code; "),
            (16, "allow replies with file descriptors; "),
        ];
        let set = words.iter().filter(|(bit, _)| flags & bit != 0);
        let mut words: String = set.map(|(_, word)| *word).collect();
        if flags == 0 {
            words = "No Flags Set".to_owned();
        }
        let told: Told<'static> = vec![
            ("transaction id", int(i32_of(fields, 1))),
            ("destination node", int(i32_of(fields, 2))),
            ("destination process", int(fields.id(3))),
            ("reply transaction?", Said::Bool(sent.1)),
            ("calling tid", Said::Uint(now.pid as u64)),
            ("flags", Said::text(&format!("0x{flags:02x} {words}"))),
            ("code", Said::text(&format!("0x{:02x} Java Layer Dependent", fields.id(6)))),
        ];
        let track = &Track::of_thread(now.thread);
        let slice = match sent {
            (_, true) => {
                let to = fields.id(4);
                let name = self.destination(now.machine, to);
                let mut destination = vec![("destination thread", int(to))];
                destination.extend(name.map(|name| ("destination name", Said::text(&name))));
                self.mark(now.thread, "binder reply", destination);
                self.kernel_end(now, track, (None, None), told.clone())
            }
            (true, _) => {
                let called = (BINDER, Some("binder transaction async"));
                self.kernel_slice(now, track, 0, called, told.clone())
            }
            _ => {
                let called = (BINDER, Some("binder transaction"));
                self.kernel_slice(now, track, -1, called, told.clone())
            }
        };
        let binder = &mut self.kernel.binder;
        let key = (now.machine, i32_of(fields, 1));
        binder.outstanding.retain(|(of, _)| *of != key);
        let outstanding = Outstanding { sent, thread: now.thread, slice, told };
        binder.outstanding.push((key, outstanding));
        match binder.state(now.thread) {
            "sending" => binder.becomes(now.thread, "sent", Some(sent)),
            "replying" => binder.becomes(now.thread, "replied", Some(sent)),
            "received" => binder.goes(now.thread),
            _ => {}
        }
    }

    fn received(&mut self, now: &Now<'_>) {
        let key = (now.machine, i32_of(now.fields, 1));
        let binder = &mut self.kernel.binder;
        let mut all = binder.outstanding.iter();
        let Some(place) = all.position(|(of, _)| *of == key) else {
            return;
        };
        let (_, outstanding) = binder.outstanding.remove(place);
        let (is_one_way, is_reply) = outstanding.sent;
        match (is_one_way, is_reply) {
            (true, _) => {}
            (false, false) => binder.frames.push((now.thread, "received", (false, false))),
            (false, true) if binder.state(now.thread) == "accepted" => {
                binder.becomes(now.thread, "answered", None);
            }
            (false, true) => {}
        }
        let track = &Track::of_thread(now.thread);
        let slice = if is_reply {
            self.kernel_end(now, track, (None, None), vec![]);
            return;
        } else if is_one_way {
            let called = (BINDER, Some("binder async rcv"));
            self.kernel_slice(now, track, 0, called, outstanding.told)
        } else {
            let name = self.processes.threads[now.thread].name.clone();
            let mut destination = vec![("destination thread", Said::Uint(now.pid as u64))];
            destination.extend(name.map(|name| ("destination name", Said::text(&name))));
            self.mark(outstanding.thread, "binder transaction", destination);
            self.kernel_slice(now, track, -1, (BINDER, Some("binder reply")), vec![])
        };
        if let (Some(from), Some(to)) = (outstanding.slice, slice) {
            self.flows.links.push((from, to));
        }
    }

    /// A command from a thread to the driver.
    fn command(&mut self, now: &Now<'_>) {
        let binder = &mut self.kernel.binder;
        match now.fields.id(1) {
            0x4040_6300 | 0x4048_6311 => {
                binder.frames.push((now.thread, "sending", (false, false)))
            }
            0x4040_6301 | 0x4048_6312 if binder.state(now.thread) == "called" => {
                binder.becomes(now.thread, "replying", None);
            }
            _ => {}
        }
    }

    /// A return from the driver to a thread.
    fn returned(&mut self, now: &Now<'_>) {
        let binder = &mut self.kernel.binder;
        let thread = now.thread;
        let (is_one_way, is_reply) = binder.top(thread).map(|(.., sent)| sent).unwrap_or_default();
        match (now.fields.id(1), binder.state(thread)) {
            (0x8040_7202 | 0x8048_7202, "received") => binder.becomes(thread, "called", None),
            (0x7206 | 0x7213, "replied" | "sending") => binder.goes(thread),
            (0x7206 | 0x7213, "sent") if is_one_way => binder.goes(thread),
            (0x7206 | 0x7213, "sent") => binder.becomes(thread, "accepted", None),
            (0x8040_7203, "answered") => binder.goes(thread),
            (0x7205 | 0x7211 | 0x7212 | 0x7214, "sending") => binder.goes(thread),
            (0x7205 | 0x7211 | 0x7212 | 0x7214, "sent" | "replying" | "replied" | "accepted") => {
                binder.goes(thread);
                if !is_one_way && !is_reply {
                    self.kernel_end(now, &Track::of_thread(thread), (None, None), vec![]);
                }
            }
            _ => {}
        }
    }
}

impl Binder {
    fn top(&mut self, thread: Utid) -> Option<(Utid, &'static str, Sent)> {
        let mut frames = self.frames.iter().rev();
        frames.find(|(of, ..)| *of == thread).copied()
    }

    /// The state of the topmost frame of a thread; empty without one.
    fn state(&mut self, thread: Utid) -> &'static str {
        self.top(thread).map_or("", |(_, state, _)| state)
    }

    fn becomes(&mut self, thread: Utid, state: &'static str, sent: Option<Sent>) {
        let mut frames = self.frames.iter_mut().rev();
        if let Some(frame) = frames.find(|(of, ..)| *of == thread) {
            frame.1 = state;
            frame.2 = sent.unwrap_or(frame.2);
        }
    }

    fn goes(&mut self, thread: Utid) {
        if let Some(place) = self.frames.iter().rposition(|(of, ..)| *of == thread) {
            self.frames.remove(place);
        }
    }
}
