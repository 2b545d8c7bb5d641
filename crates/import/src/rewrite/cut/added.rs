//! The packets that a cut adds: who lived when the window begins and ends, and the origin of the trace (rules CT2p, CT4).

use timebase_schema::fields::{
    generic_kernel_process_tree, generic_kernel_process_tree_process as generic_process,
    generic_kernel_process_tree_thread as generic_thread,
    generic_kernel_task_rename_event as rename, process_tree, process_tree_process as process,
    process_tree_thread as thread, trace_attributes, trace_attributes_attribute as attribute,
    trace_packet as packet, tracing_service_event as service,
};

use crate::message::Message;
use crate::readers::{put_bytes, put_number};
use crate::rewrite::cut::plan::{Living, Process};
use crate::rewrite::cut::window::Window;

/// The sequence of the packets that a cut adds: `cut1` in ASCII. The recorder counts sequences from 1.
pub(super) const SEQUENCE: u32 = 0x6375_7431;

/// The keys of attributes.
const FROM: &[u8] = b"timebase.cut.from";
const TO: &[u8] = b"timebase.cut.to";

/// The time of an added packet, on the clock of a packet beside it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Stamp {
    /// The difference of the clock to trace time.
    pub offset: i64,
    pub clock: u32,
    pub machine: u32,
}

impl Stamp {
    fn packet(&self, ts: Option<i64>, field: u32, payload: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(payload.len() + 32);
        if let Some(ts) = ts {
            put_number(&mut out, packet::TIMESTAMP, ts.saturating_sub(self.offset).max(0) as u64);
            if self.clock != 0 {
                put_number(&mut out, packet::TIMESTAMP_CLOCK_ID, self.clock.into());
            }
        }
        put_number(&mut out, packet::TRUSTED_PACKET_SEQUENCE_ID, SEQUENCE.into());
        if self.machine != 0 {
            put_number(&mut out, packet::MACHINE_ID, self.machine.into());
        }
        put_bytes(&mut out, field, payload);
        out
    }

    /// The processes and threads of a machine, as its kernel describes them.
    pub fn trees(&self, ts: i64, living: &Living, has_boot_time: bool) -> Vec<Vec<u8>> {
        match living.is_generic {
            true => self.generic(ts, living),
            false => vec![self.tree(ts, living, has_boot_time)],
        }
    }

    /// The same in packets of a kernel that is not Linux (rule GK5).
    fn generic(&self, ts: i64, living: &Living) -> Vec<Vec<u8>> {
        let mut tree = Vec::new();
        let mut room = Vec::new();
        for one in &living.processes {
            let Some(name) = &one.name else {
                continue;
            };
            room.clear();
            put_number(&mut room, generic_process::PID, one.pid as u64);
            put_number(&mut room, generic_process::PPID, one.parent as u64);
            // The name ends before the first blank.
            let cmdline =
                one.cmdline.as_ref().filter(|cmdline| cmdline.split(' ').next() == Some(name));
            put_bytes(&mut room, generic_process::CMDLINE, cmdline.unwrap_or(name).as_bytes());
            put_bytes(&mut tree, generic_kernel_process_tree::PROCESSES, &room);
        }
        let mut packets = Vec::new();
        let mut rename = |tid: i64, name: Option<&String>| {
            let mut message = Vec::new();
            put_number(&mut message, rename::TID, tid as u64);
            if let Some(name) = name {
                put_bytes(&mut message, rename::COMM, name.as_bytes());
            }
            packets.push(self.packet(Some(ts), packet::GENERIC_KERNEL_TASK_RENAME_EVENT, &message));
        };
        // A tree cuts a name before its first blank.
        let whole = living.processes.iter().filter_map(|one| Some((one.pid, one.name.as_ref()?)));
        whole
            .filter(|(_, name)| name.contains(' '))
            .for_each(|(pid, name)| rename(pid, Some(name)));
        for one in &living.threads {
            room.clear();
            let Some(pid) = one.pid else {
                rename(one.tid, one.name.as_ref());
                continue;
            };
            put_number(&mut room, generic_thread::TID, one.tid as u64);
            put_number(&mut room, generic_thread::PID, pid as u64);
            if let Some(name) = &one.name {
                put_bytes(&mut room, generic_thread::COMM, name.as_bytes());
            }
            put_number(&mut room, generic_thread::IS_MAIN_THREAD, one.is_main.into());
            put_number(&mut room, generic_thread::IS_IDLE, one.is_idle.into());
            put_bytes(&mut tree, generic_kernel_process_tree::THREADS, &room);
        }
        if !tree.is_empty() {
            packets.insert(0, self.packet(Some(ts), packet::GENERIC_KERNEL_PROCESS_TREE, &tree));
        }
        packets
    }

    fn tree(&self, ts: i64, living: &Living, has_boot_time: bool) -> Vec<u8> {
        let mut tree = Vec::new();
        let mut room = Vec::new();
        for one in &living.processes {
            room.clear();
            put_process(&mut room, one, has_boot_time);
            if !room.is_empty() {
                put_bytes(&mut tree, process_tree::PROCESSES, &room);
            }
        }
        for one in &living.threads {
            let Some(pid) = one.pid else {
                continue;
            };
            room.clear();
            put_number(&mut room, thread::TID, one.tid as u64);
            put_number(&mut room, thread::TGID, pid as u64);
            if let Some(name) = &one.name {
                put_bytes(&mut room, thread::NAME, name.as_bytes());
            }
            put_bytes(&mut tree, process_tree::THREADS, &room);
        }
        self.packet(Some(ts), packet::PROCESS_TREE, &tree)
    }

    /// The event at which the UI begins to show a trace.
    pub fn started(&self, ts: i64) -> Vec<u8> {
        let mut event = Vec::new();
        put_number(&mut event, service::ALL_DATA_SOURCES_STARTED, 1);
        self.packet(Some(ts), packet::SERVICE_EVENT, &event)
    }
}

/// The trace that was cut.
#[derive(Debug, Clone)]
pub(super) struct Origin {
    pub name: String,
    pub sha256: String,
    pub command: String,
    pub window: Window,
}

impl Origin {
    /// The packet that names it, of the machine that a trace begins with, because machines are numbered by their first packets.
    pub fn packet(&self, machine: u32) -> Vec<u8> {
        let mut attributes = Vec::new();
        let texts: [(&[u8], &str); 3] = [
            (b"timebase.cut.source", &self.name),
            (b"timebase.cut.sha256", &self.sha256),
            (b"timebase.cut.command", &self.command),
        ];
        for (key, value) in texts {
            let mut one = Vec::new();
            put_bytes(&mut one, attribute::KEY, key);
            put_bytes(&mut one, attribute::STRING_VALUE, value.as_bytes());
            put_bytes(&mut attributes, trace_attributes::ATTRIBUTE, &one);
        }
        for (key, value) in [(FROM, self.window.from), (TO, self.window.to)] {
            let mut one = Vec::new();
            put_bytes(&mut one, attribute::KEY, key);
            put_number(&mut one, attribute::LONG_VALUE, value as u64);
            put_bytes(&mut attributes, trace_attributes::ATTRIBUTE, &one);
        }
        Stamp { machine, ..Stamp::default() }.packet(None, packet::TRACE_ATTRIBUTES, &attributes)
    }
}

/// The window of an earlier cut, from its attributes.
pub(super) fn window_of(attributes: &[u8]) -> Option<Window> {
    let value = |wanted: &[u8]| {
        let all = Message(attributes).each(trace_attributes::ATTRIBUTE).map(Message);
        let found = all.filter(|one| one.bytes(attribute::KEY) == Some(wanted)).last();
        found.and_then(|one| one.number(attribute::LONG_VALUE)).map(|value| value as i64)
    };
    Some(Window { from: value(FROM)?, to: value(TO)? })
}

/// Whether a service event only says that all data sources have started.
pub(super) fn is_started(event: &[u8]) -> bool {
    Message(event).flag(service::ALL_DATA_SOURCES_STARTED)
}

fn put_process(out: &mut Vec<u8>, of: &Process, has_boot_time: bool) {
    let Some(name) = &of.name else {
        // Without a command line, a process is not read. Its threads make it.
        return;
    };
    put_number(out, process::PID, of.pid as u64);
    // The name of a worker of the kernel would end before these.
    let is_cut = name.starts_with("kworker/") && name.contains(['+', '-']);
    put_number(out, process::PPID, if is_cut { 0 } else { of.parent as u64 });
    let rest = of.cmdline.as_ref().and_then(|cmdline| cmdline.strip_prefix(name.as_str()));
    put_bytes(out, process::CMDLINE, name.as_bytes());
    match rest.and_then(|rest| rest.strip_prefix(' ')) {
        Some(rest) => put_bytes(out, process::CMDLINE, rest.as_bytes()),
        // A single text would end before its first blank.
        None if name.contains(' ') => put_bytes(out, process::CMDLINE, b""),
        None => {}
    }
    if let Some(uid) = of.uid {
        put_number(out, process::UID, uid as u64);
    }
    if let Some(start) = of.start_ts.filter(|start| has_boot_time && *start >= 0) {
        put_number(out, process::PROCESS_START_FROM_BOOT, start as u64);
    }
    if of.is_kthread {
        put_number(out, process::IS_KTHREAD, 1);
    }
}
