//! Transactions of binder (rules KB).
//!
//! A transaction is a slice of the thread that asks and a slice of the thread that answers.
//! `binder_frames.rs` follows the frames of each thread, which show when a transaction failed.

use rustc_hash::{FxHashMap, FxHashSet};
use timebase_schema::fields::{
    binder_command_ftrace_event as command, binder_return_ftrace_event as ret,
    binder_transaction_alloc_buf_ftrace_event as buffer, binder_transaction_ftrace_event as sent,
    binder_transaction_received_ftrace_event as received, ftrace_event as event,
};

use super::binder_frames::{Event, Frames, Sent};
use super::kernel_event::{ANY, Called, KernelEvent, fill};
use crate::arguments::{ArgBuf, ArgValue};
use crate::trackers::tracker::TrackerContext;
use crate::world::{SliceId, TrackId, Utid};

pub(super) const EVENTS: &[u32] = &[
    event::BINDER_TRANSACTION,
    event::BINDER_TRANSACTION_RECEIVED,
    event::BINDER_LOCK,
    event::BINDER_LOCKED,
    event::BINDER_UNLOCK,
    event::BINDER_TRANSACTION_ALLOC_BUF,
    event::BINDER_COMMAND,
    event::BINDER_RETURN,
];

const TRANSACTION: Called<'_> = of_binder("binder transaction");
const TRANSACTION_ASYNC: Called<'_> = of_binder("binder transaction async");
const REPLY: Called<'_> = of_binder("binder reply");
const ASYNC_RECEIVED: Called<'_> = of_binder("binder async rcv");
const LOCK_WAITING: Called<'_> = of_binder("binder lock waiting");
const LOCK_HELD: Called<'_> = of_binder("binder lock held");

const fn of_binder(name: &str) -> Called<'_> {
    Called { category: Some("binder"), name: Some(name) }
}

/// The flag of a transaction without an answer.
const ONE_WAY: u32 = 1;

const FLAGS: [(u32, &str); 4] = [
    (ONE_WAY, "this is a one-way call: async, no return; "),
    (4, "contents are the components root object; "),
    (8, "contents are a 32-bit status code; "),
    (16, "allow replies with file descriptors; "),
];

/// A transaction that no thread has received yet.
#[derive(Debug)]
struct Outstanding {
    sent: Sent,
    /// The track of the sending thread, and the slice on it.
    track: TrackId,
    slice: Option<SliceId>,
    /// Its arguments, if the receiver's slice has them too.
    args: Vec<u8>,
}

/// Follows transactions.
#[derive(Debug, Default)]
pub(super) struct Binder {
    outstanding: FxHashMap<(u32, i32), Outstanding>,
    frames: Frames,
    /// The threads that wait for the lock, and the threads that hold it.
    waiting: FxHashSet<Utid>,
    holding: FxHashSet<Utid>,
    args: ArgBuf,
}

impl Binder {
    pub fn event(&mut self, here: &KernelEvent<'_>, at: &mut TrackerContext<'_, '_>) {
        let track = here.thread(at);
        match here.field {
            event::BINDER_TRANSACTION => self.sends(here, track, at),
            event::BINDER_TRANSACTION_RECEIVED => self.receives(here, track, at),
            event::BINDER_LOCK => {
                here.begin(track, LOCK_WAITING, &[], at);
                self.waiting.insert(here.emitter);
            }
            event::BINDER_LOCKED if self.waiting.remove(&here.emitter) => {
                here.end(track, ANY, &[], at);
                here.begin(track, LOCK_HELD, &[], at);
                self.holding.insert(here.emitter);
            }
            event::BINDER_UNLOCK if self.holding.remove(&here.emitter) => {
                here.end(track, LOCK_HELD, &[], at);
            }
            event::BINDER_TRANSACTION_ALLOC_BUF => {
                let args = [
                    ("data size", ArgValue::Uint(here.u64(buffer::DATA_SIZE))),
                    ("offsets size", ArgValue::Uint(here.u64(buffer::OFFSETS_SIZE))),
                ];
                let args = fill(&mut self.args, &args, at);
                mark(track, TRANSACTION, args, at);
            }
            event::BINDER_COMMAND => {
                self.frames.follow(here.emitter, Event::Command(here.u32(command::CMD)))
            }
            event::BINDER_RETURN => {
                let fails = self.frames.returns(here.emitter, here.u32(ret::CMD));
                if fails {
                    here.end(track, ANY, &[], at);
                }
            }
            _ => {}
        }
    }

    /// Takes a transaction that a thread sends (rule KB1).
    fn sends(&mut self, here: &KernelEvent<'_>, track: TrackId, at: &mut TrackerContext<'_, '_>) {
        let (debug_id, to_thread, flags) =
            (here.i32(sent::DEBUG_ID), here.u32(sent::TO_THREAD), here.u32(sent::FLAGS));
        let sent = Sent { is_one_way: flags & ONE_WAY != 0, is_reply: here.i32(sent::REPLY) == 1 };
        self.put_args(here, sent, at);
        let own = self.args.as_bytes().to_vec();
        let slice = if sent.is_reply {
            let args = destination(here.machine, to_thread, ArgValue::Int, &mut self.args, at);
            mark(track, REPLY, args, at);
            here.end(track, ANY, &own, at).map(|made| made.id)
        } else if sent.is_one_way {
            here.instant(track, TRANSACTION_ASYNC, &own, at)
        } else {
            here.begin(track, TRANSACTION, &own, at)
        };
        let is_shared = sent.is_one_way && !sent.is_reply;
        let outstanding =
            Outstanding { sent, track, slice, args: if is_shared { own } else { Vec::new() } };
        self.outstanding.insert((here.machine, debug_id), outstanding);
        self.frames.follow(here.emitter, Event::Sends(sent));
    }

    fn put_args(&mut self, here: &KernelEvent<'_>, sent: Sent, at: &mut TrackerContext<'_, '_>) {
        let (code, flags) = (here.u32(sent::CODE), here.u32(sent::FLAGS));
        let words = match flags {
            0 => "No Flags Set".to_owned(),
            _ => super::kernel_event::words_of_bits(flags, &FLAGS, ""),
        };
        let (flags, code) =
            (format!("0x{flags:02x} {words}"), format!("0x{code:02x} Java Layer Dependent"));
        let args = [
            ("transaction id", ArgValue::Int(here.i32(sent::DEBUG_ID).into())),
            ("destination node", ArgValue::Int(here.i32(sent::TARGET_NODE).into())),
            ("destination process", ArgValue::Int(here.u32(sent::TO_PROC).into())),
            ("reply transaction?", ArgValue::Bool(sent.is_reply)),
            ("flags", ArgValue::Text(&flags)),
            ("code", ArgValue::Text(&code)),
            ("calling tid", ArgValue::Uint(here.tid.into())),
        ];
        fill(&mut self.args, &args, at);
    }

    /// Takes a transaction that a thread receives (rule KB2).
    fn receives(
        &mut self,
        here: &KernelEvent<'_>,
        track: TrackId,
        at: &mut TrackerContext<'_, '_>,
    ) {
        let outstanding = self.outstanding.remove(&(here.machine, here.i32(received::DEBUG_ID)));
        let Some(outstanding) = outstanding else {
            return;
        };
        let sent = outstanding.sent;
        self.frames.follow(here.emitter, Event::Receives(sent));
        if sent.is_reply {
            here.end(track, ANY, &[], at);
            return;
        }
        let slice = if sent.is_one_way {
            here.instant(track, ASYNC_RECEIVED, &outstanding.args, at)
        } else {
            let uint = |tid: i64| ArgValue::Uint(tid.unsigned_abs());
            let args = destination(here.machine, here.tid, uint, &mut self.args, at);
            mark(outstanding.track, TRANSACTION, args, at);
            here.begin(track, REPLY, &[], at)
        };
        if let Some((from, to)) = outstanding.slice.zip(slice) {
            at.world.flows.link(from, to);
        }
    }
}

/// The arguments that name the thread to which a transaction goes, with its name at this moment.
fn destination<'a>(
    machine: u32,
    tid: u32,
    number: impl Fn(i64) -> ArgValue<'static>,
    args: &'a mut ArgBuf,
    at: &mut TrackerContext<'_, '_>,
) -> &'a [u8] {
    let utid = at.world.threads.thread(machine, tid.into());
    let names = &mut at.world.definitions.names;
    let name = at.world.threads.name(utid, names).map(str::to_owned);
    args.clear();
    args.push("destination thread", number(tid.into()), names);
    if let Some(name) = name {
        args.push("destination name", ArgValue::Text(&name), names);
    }
    args.as_bytes()
}

/// Adds arguments to the topmost open slice with this name.
fn mark(track: TrackId, called: Called<'_>, args: &[u8], at: &mut TrackerContext<'_, '_>) {
    let (category, name) = called.labels(at);
    at.world.mark_slice(track, category, name, args);
}
