//! System calls (rule KE32).
//!
//! `syscalls.txt` has a line for each number from 0 on: the name of the call in the tables of aarch64, arm,
//! x86_64 and x86, or `-`. The names and numbers are from the headers of Linux 6.1 (`asm-generic` and
//! `x86`), except those of arm, of the x32 calls of x86_64 and of newer calls. These are from the crate
//! linux-raw-sys 0.12.1.

use std::fmt::Write;

use rustc_hash::{FxHashMap, FxHashSet};
use timebase_schema::fields::{
    ftrace_event as event, sys_enter_ftrace_event as enter, sys_exit_ftrace_event as exit,
};

use super::kernel_event::{Called, KernelEvent};
use crate::arguments::{ArgBuf, ArgValue};
use crate::definitions::Architecture;
use crate::output::{Counter, Fault};
use crate::trackers::tracker::TrackerContext;
use crate::world::{EndOfSlice, Utid};

pub(super) const EVENTS: &[u32] = &[event::SYS_ENTER, event::SYS_EXIT];

const NAMES: &str = include_str!("syscalls.txt");

/// The first number that is no call.
const COUNT: u32 = 550;

const WRITE: &str = "sys_write";
/// The call that never returns.
const SIGRETURN: &str = "sys_rt_sigreturn";

pub(in super::super) const TRUNCATED: Fault = Fault::new(
    Counter::info(
        "truncated_sys_write_duration",
        "a thread marks something inside a call of sys_write: the slice of \
     the call ends there",
    )
    .drops_nothing(),
);

/// Follows calls.
#[derive(Debug, Default)]
pub(super) struct Syscalls {
    /// The names of calls by number, for each machine.
    names: FxHashMap<u32, Vec<Box<str>>>,
    /// The threads inside `sys_write`.
    writing: FxHashSet<Utid>,
    args: ArgBuf,
}

impl Syscalls {
    pub fn event(&mut self, here: &KernelEvent<'_>, at: &mut TrackerContext<'_, '_>) {
        let machine = here.machine;
        let names = self.names.entry(machine);
        let names = names.or_insert_with(|| {
            let known = at.world.definitions.machines.get(machine);
            names_of(known.and_then(|machine| machine.system.architecture))
        });
        let name = names.get(here.u32(enter::ID) as usize);
        let Some(name) = name.map(AsRef::as_ref) else {
            return;
        };
        let track = here.thread(at);
        let called = Called::named(name);
        self.args.clear();
        let texts = &mut at.world.definitions.names;
        if here.field == event::SYS_EXIT {
            if name == WRITE && !self.writing.remove(&here.emitter) {
                return;
            }
            if let Some(ret) = here.message.number(exit::RET) {
                self.args.push("ret", ArgValue::Int(ret as i64), texts);
            }
            here.end(track, called, self.args.as_bytes(), at);
            return;
        }
        for (value, index) in here.message.numbers(enter::ARGS).zip(0..) {
            self.args.push_listed("args", index, ArgValue::Uint(value), texts);
        }
        let args = self.args.as_bytes();
        match name {
            SIGRETURN => here.instant(track, called, args, at),
            _ => here.begin(track, called, args, at),
        };
        if name == WRITE {
            self.writing.insert(here.emitter);
        }
    }

    /// Takes a mark of a thread. The thread writes it by a call of `sys_write`: the call's slice ends here,
    /// so that the mark is not inside it.
    pub fn marks(&mut self, ts: i64, emitter: Utid, at: &mut TrackerContext<'_, '_>) {
        if self.writing.is_empty() || !self.writing.remove(&emitter) {
            return;
        }
        at.world.faults.add(TRUNCATED, None);
        let track = at.world.tracks.of_thread(emitter);
        let end = EndOfSlice {
            name: at.world.definitions.names.label(WRITE),
            ..EndOfSlice::any(ts, track)
        };
        at.world.end_slice(end, &[], at.rows);
    }
}

/// The names of all calls of an architecture.
fn names_of(architecture: Option<Architecture>) -> Vec<Box<str>> {
    let column = architecture.map(|architecture| match architecture {
        Architecture::Aarch64 => 0,
        Architecture::Arm => 1,
        Architecture::X86_64 => 2,
        Architecture::X86 => 3,
    });
    let mut lines = NAMES.lines();
    let name = |number: u32| {
        let line = lines.next();
        let known = column.zip(line).and_then(|(column, line)| line.split(' ').nth(column));
        let mut name = "sys_".to_owned();
        match known.filter(|&name| name != "-") {
            Some(known) => name.push_str(known),
            // Writing a number to a String never fails.
            None => write!(name, "{number}").unwrap_or_default(),
        }
        name.into()
    };
    (0..COUNT).map(name).collect()
}
