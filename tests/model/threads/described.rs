//! The descriptors of uuids in the whole file (U1, U2).

use super::packets::Packets;
use super::wire::Message;
use std::collections::BTreeMap;

/// The kind of a descriptor.
#[derive(Clone, Debug)]
pub enum Stands {
    Thread {
        pid: i64,
        tid: i64,
        /// It has a track of its own (U5).
        alone: bool,
    },
    Process(i64),
    /// Its CounterDescriptor.
    Counter(Message),
    State,
    Nothing,
}

/// The uuids with which it shares lanes (U6).
#[derive(Clone, Debug, PartialEq)]
pub enum Merging {
    ByName,
    Never,
    ByKey(Option<String>),
}

/// The description of a uuid.
#[derive(Clone, Debug)]
pub struct Descriptor {
    /// The first TrackDescriptor of it.
    pub fields: Message,
    pub name: Option<String>,
    pub parent: Option<u64>,
    pub stands: Stands,
    pub merging: Merging,
    /// The pid of the writer of the first descriptor (J11).
    pub trusted_pid: i64,
}

/// The descriptors of a file, by machine and uuid.
#[derive(Debug, Default)]
pub struct Described(BTreeMap<(u32, u64), Descriptor>);

impl Described {
    pub const TRACK: u32 = 60;
    pub const THREAD: u32 = 44;
    pub const PROCESS: u32 = 43;

    /// U1
    pub fn read(packets: &Packets) -> Described {
        let mut all: BTreeMap<(u32, u64), Descriptor> = BTreeMap::new();
        for packet in packets.all.iter().filter(|packet| !packet.distrusted) {
            let Some((Self::TRACK, descriptor)) = &packet.payload else {
                continue;
            };
            if !Self::accepts(descriptor) || is_root_with_parent(descriptor) {
                continue;
            }
            let said = Descriptor::read(descriptor, packet.trusted_pid);
            let first = all.entry((packet.machine, descriptor.unsigned(1)));
            first.and_modify(|first| first.add(&said)).or_insert(said);
        }
        Described(all)
    }

    pub fn of(&self, machine: u32, uuid: u64) -> Option<&Descriptor> {
        self.0.get(&(machine, uuid))
    }

    /// Its fields, without those that uuid 0 must not have (U2).
    pub fn accepts(descriptor: &Message) -> bool {
        let of_owner = match (descriptor.message(4), descriptor.message(3)) {
            (Some(thread), _) => thread.has(1) && thread.has(2),
            (None, Some(process)) => process.has(1),
            (None, None) => true,
        };
        descriptor.has(1) && of_owner && descriptor.unsigned(11) <= 3
    }

    /// Only the tid has a sign (J2, J7, FP3).
    pub fn pid_and_tid(thread: &Message, chrome_thread: Option<&Message>) -> (i64, i64) {
        let signed = i64::from(thread.unsigned(1) as i32);
        let pid = thread.id(1);
        let tid = thread.signed(2);
        let is_sandboxed = chrome_thread.is_some_and(|chrome| chrome.unsigned(3) != 0);
        match is_sandboxed {
            true => (pid, Self::sandboxed(signed, tid)),
            false if tid == signed => (pid, pid),
            false => (pid, tid),
        }
    }

    /// J7
    pub fn sandboxed(pid: i64, tid: i64) -> i64 {
        (pid << 32) | tid
    }
}

/// U2
fn is_root_with_parent(descriptor: &Message) -> bool {
    descriptor.unsigned(1) == 0 && descriptor.unsigned(5) != 0
}

impl Descriptor {
    fn read(fields: &Message, trusted_pid: i64) -> Descriptor {
        let stands = stands(fields);
        let said = [2, 10, 13].into_iter().find_map(|field| fields.text(field));
        let builtin = || match &stands {
            Stands::Counter(counter) => match counter.unsigned(1) {
                1 => Some("thread_time".to_owned()),
                2 => Some("thread_instruction_count".to_owned()),
                _ => None,
            },
            _ => None,
        };
        let merging = match fields.unsigned(15) {
            2 => Merging::Never,
            3 => {
                let number = fields.number(17);
                let numbered = number.map(|n| format!("sibling_merge_key_int:{n}"));
                Merging::ByKey(fields.text(16).or(numbered))
            }
            _ => Merging::ByName,
        };
        Descriptor {
            fields: fields.clone(),
            name: said.or_else(builtin),
            parent: fields.number(5).filter(|parent| *parent != 0),
            stands,
            merging,
            trusted_pid,
        }
    }

    /// The fields that a later descriptor adds (U1).
    fn add(&mut self, later: &Descriptor) {
        let is_same = self.parent == later.parent
            && self.merging == later.merging
            && self.stands.agrees(&later.stands);
        if is_same && (self.name.is_none() || self.merging == Merging::Never) {
            self.name = later.name.clone().or(self.name.take());
        }
    }
}

/// The first existing one counts (U2).
fn stands(fields: &Message) -> Stands {
    if let Some(thread) = fields.message(4) {
        let (pid, tid) = Described::pid_and_tid(&thread, fields.message(7).as_ref());
        let alone = fields.unsigned(9) != 0;
        Stands::Thread { pid, tid, alone }
    } else if let Some(process) = fields.message(3) {
        Stands::Process(process.id(1))
    } else if let Some(counter) = fields.message(8) {
        Stands::Counter(counter)
    } else if fields.has(18) {
        Stands::State
    } else {
        Stands::Nothing
    }
}

impl Stands {
    /// U1
    fn agrees(&self, later: &Stands) -> bool {
        match (self, later) {
            (Stands::Thread { pid, tid, .. }, Stands::Thread { pid: p, tid: t, .. }) => {
                (pid, tid) == (p, t)
            }
            (Stands::Process(pid), Stands::Process(other)) => pid == other,
            (Stands::Counter(counter), Stands::Counter(other)) => {
                let numbers = |of: &Message| {
                    let multiplier = of.signed(4);
                    (of.unsigned(1), multiplier, of.unsigned(5) != 0)
                };
                numbers(counter) == numbers(other)
                    && counter.texts(2) == other.texts(2)
                    && counter.text(7) == other.text(7)
            }
            (Stands::State, Stands::State) | (Stands::Nothing, Stands::Nothing) => true,
            _ => false,
        }
    }

    /// Whether it is a thread's or a process's own.
    pub fn is_root(&self) -> bool {
        matches!(self, Stands::Thread { .. } | Stands::Process(_))
    }
}
