//! The events of a bundle that a cut keeps (rules CT1, CT2k).

use timebase_descriptor::field::Value;
use timebase_schema::fields::{
    ftrace_event as event, ftrace_event_bundle as field,
    ftrace_event_bundle_compact_sched as column, print_ftrace_event as print,
    sched_switch_ftrace_event as switch, sched_waking_ftrace_event as waking,
};

use crate::compact::Put;
use crate::message::Message;
use crate::readers::{fields, put_bytes, put_number};
use crate::rewrite::cut::plan::{Kernel, KernelEvent, KernelEvents};
use crate::rewrite::cut::window::Window;

/// A bundle, and the events of it that stay.
pub(super) struct Bundle<'a> {
    pub payload: &'a [u8],
    pub window: Window,
    /// The machine, and the CPU in the import.
    pub ucpu: i64,
    /// The difference of trace time to the readings of the bundle.
    pub offset: i64,
    /// The events from before the window.
    pub carried: &'a KernelEvents,
    /// Whether the bundle stays although it has no event: it has the times from which its CPU recorded (rule O6).
    pub stays: bool,
    /// The last bundle of the CPU with switches.
    pub before: &'a [u8],
}

/// A thread that a CPU runs.
#[derive(Debug, Clone, Copy)]
struct Thread<'a> {
    pid: u64,
    prio: u64,
    comm: &'a [u8],
}

/// The times of a bundle.
#[derive(Debug, Default)]
pub(super) struct Span {
    /// The least and the greatest reading.
    readings: Option<(u64, u64)>,
    /// Whether it has switches.
    pub has_switches: bool,
}

impl Span {
    /// The times of a bundle's events.
    pub fn of(payload: &[u8]) -> Span {
        let mut span = Span::default();
        let mut switches = 0u64;
        let mut wakings = 0u64;
        for (number, value) in Message(payload).fields() {
            match (number, value) {
                (field::EVENT, Value::Bytes(one)) => {
                    let one = Message(one);
                    span.has_switches |= one.bytes(event::SCHED_SWITCH).is_some();
                    one.number(event::TIMESTAMP).into_iter().for_each(|time| span.add(time));
                }
                (field::COMPACT_SCHED, Value::Bytes(columns)) => {
                    for delta in Message(columns).numbers(column::SWITCH_TIMESTAMP) {
                        switches = switches.wrapping_add(delta);
                        span.add(switches);
                        span.has_switches = true;
                    }
                    for delta in Message(columns).numbers(column::WAKING_TIMESTAMP) {
                        wakings = wakings.wrapping_add(delta);
                        span.add(wakings);
                    }
                }
                _ => {}
            }
        }
        span
    }

    fn add(&mut self, time: u64) {
        let (first, last) = self.readings.unwrap_or((time, time));
        self.readings = Some((first.min(time), last.max(time)));
    }

    /// The times of the first and the last event.
    pub fn times(&self, offset: i64) -> Option<(i64, i64)> {
        let ts = |reading: u64| (reading as i64).wrapping_add(offset);
        self.readings.map(|(first, last)| (ts(first), ts(last)))
    }
}

/// The columns of switches, and of wakings.
const SWITCHES: [u32; 5] = [
    column::SWITCH_TIMESTAMP,
    column::SWITCH_PREV_STATE,
    column::SWITCH_NEXT_PID,
    column::SWITCH_NEXT_PRIO,
    column::SWITCH_NEXT_COMM_INDEX,
];
const WAKINGS: [u32; 6] = [
    column::WAKING_TIMESTAMP,
    column::WAKING_PID,
    column::WAKING_TARGET_CPU,
    column::WAKING_PRIO,
    column::WAKING_COMM_INDEX,
    column::WAKING_COMMON_FLAGS,
];

/// The outcome for a bundle.
pub(super) enum Kept {
    All,
    Some(Vec<u8>),
    None,
}

/// The fate of an event.
enum Fate<'a> {
    Stays,
    Goes,
    Carried(&'a Kernel),
}

/// The events of a bundle, as far as they were read.
#[derive(Default)]
struct Events {
    kept: u64,
    dropped: u64,
    changed: u64,
    /// The earliest event, and the earliest one that stays.
    first: Option<u64>,
    first_kept: Option<u64>,
    /// Events that were in columns, the last one first.
    plain: Vec<(u64, Vec<u8>)>,
}

impl Events {
    /// Writes the events that were in columns up to a time.
    fn plain_until(&mut self, timestamp: u64, out: &mut Vec<u8>) {
        while self.plain.last().is_some_and(|(at, _)| *at <= timestamp) {
            if let Some((_, plain)) = self.plain.pop() {
                put_bytes(out, field::EVENT, &plain);
            }
        }
    }

    fn count(&mut self, timestamp: u64, stays: bool) {
        let least =
            |known: Option<u64>| Some(known.map_or(timestamp, |known| known.min(timestamp)));
        self.first = least(self.first);
        match stays {
            true => {
                self.first_kept = least(self.first_kept);
                self.kept += 1;
            }
            false => self.dropped += 1,
        }
    }
}

impl Bundle<'_> {
    /// Keeps the events of the window and those that are carried over.
    pub fn cut(&self, span: &Span) -> Kept {
        let (first, last) = span.times(self.offset).unwrap_or((i64::MAX, i64::MIN));
        let is_outside = first >= self.window.to || last < self.window.from;
        let describes = || {
            let mut all = Message(self.payload).fields();
            all.any(|(number, _)| number == field::GENERIC_EVENT_DESCRIPTORS)
        };
        match is_outside && !self.carried.has_any(first, last) && !self.stays && !describes() {
            true => Kept::None,
            false => self.kept(&mut Events::default()),
        }
    }

    fn kept(&self, events: &mut Events) -> Kept {
        let mut out = Vec::with_capacity(self.payload.len());
        let mut describes = self.stays;
        if Message(self.payload).number(field::FTRACE_CLOCK).is_some() {
            return self.unresolved();
        }
        let compact: Vec<&[u8]> = Message(self.payload).each(field::COMPACT_SCHED).collect();
        let compact = Compact::of(&compact);
        let columns = compact.map(|compact| self.compact(&compact, events));
        events.plain.sort_by_key(|(timestamp, _)| std::cmp::Reverse(*timestamp));
        for (number, value, bytes) in fields(self.payload) {
            match (number, value) {
                (field::EVENT, Value::Bytes(one)) => self.event(one, bytes, events, &mut out),
                (field::COMPACT_SCHED | field::LOST_EVENTS, _) => {}
                _ => {
                    describes |= number == field::GENERIC_EVENT_DESCRIPTORS;
                    out.extend_from_slice(bytes);
                }
            }
        }
        events.plain_until(u64::MAX, &mut out);
        if let Some(columns) = columns.filter(|columns| !columns.is_empty()) {
            put_bytes(&mut out, field::COMPACT_SCHED, &columns);
        }
        if events.dropped == 0 && events.changed == 0 {
            return match describes || events.kept > 0 {
                true => Kept::All,
                false => Kept::None,
            };
        }
        if events.kept == 0 && !describes {
            return Kept::None;
        }
        if events.first == events.first_kept {
            for (number, _, bytes) in fields(self.payload) {
                if number == field::LOST_EVENTS {
                    out.extend_from_slice(bytes);
                }
            }
        }
        Kept::Some(out)
    }

    /// Only a bundle whose events have no known times names a clock. What it has of other times is not known either.
    fn unresolved(&self) -> Kept {
        const TIMED: [u32; 8] = [
            field::EVENT,
            field::COMPACT_SCHED,
            field::LOST_EVENTS,
            field::FTRACE_CLOCK,
            field::FTRACE_TIMESTAMP,
            field::BOOT_TIMESTAMP,
            field::LAST_READ_EVENT_TIMESTAMP,
            field::PREVIOUS_BUNDLE_END_TIMESTAMP,
        ];
        let mut out = Vec::new();
        let mut describes = self.stays;
        for (number, _, bytes) in fields(self.payload) {
            describes |= number == field::GENERIC_EVENT_DESCRIPTORS;
            if !TIMED.contains(&number) {
                out.extend_from_slice(bytes);
            }
        }
        if describes { Kept::Some(out) } else { Kept::None }
    }

    /// The last plain switch of a time, by the place of its bytes.
    fn last_switch(&self, timestamp: u64) -> Option<*const u8> {
        let is_one = |one: &&[u8]| {
            let message = Message(one);
            message.number(event::TIMESTAMP) == Some(timestamp)
                && message.bytes(event::SCHED_SWITCH).is_some()
        };
        let last = Message(self.payload).each(field::EVENT).filter(is_one).last();
        last.map(<[u8]>::as_ptr)
    }

    fn ts(&self, timestamp: u64) -> i64 {
        (timestamp as i64).wrapping_add(self.offset)
    }

    fn fate(&self, timestamp: u64, fits: impl Fn(&KernelEvent) -> bool) -> Fate<'_> {
        let ts = self.ts(timestamp);
        if self.window.contains(ts) {
            return Fate::Stays;
        }
        let carried = self.carried.at(ts).iter().find(|event| fits(event));
        carried.map_or(Fate::Goes, |event| Fate::Carried(&event.kind))
    }

    /// Whether a switch of this CPU is carried.
    fn is_switch(&self, carried: &KernelEvent) -> bool {
        matches!(carried.kind, Kernel::Switch { ucpu, .. } if ucpu == self.ucpu)
    }

    fn event(&self, one: &[u8], bytes: &[u8], events: &mut Events, out: &mut Vec<u8>) {
        let message = Message(one);
        let Some(timestamp) = message.number(event::TIMESTAMP) else {
            // It has no time and makes nothing.
            events.dropped += 1;
            return;
        };
        let is_last = |timestamp| self.last_switch(timestamp) == Some(one.as_ptr());
        let tid = message.number(event::PID).map(|tid| i64::from(tid as u32));
        let fate = self.fate(timestamp, |carried| {
            is_such(message, &carried.kind)
                && (carried.tid.is_none() || carried.tid == tid)
                && (!matches!(carried.kind, Kernel::Switch { .. })
                    || self.is_switch(carried) && is_last(timestamp))
        });
        let fate = match fate {
            Fate::Goes if self.carried.is_queued(message, self.ts(timestamp)) => {
                Fate::Carried(&Kernel::Slice)
            }
            fate => fate,
        };
        events.count(timestamp, !matches!(fate, Fate::Goes));
        if !matches!(fate, Fate::Goes) {
            events.plain_until(timestamp, out);
        }
        match fate {
            Fate::Goes => {}
            Fate::Carried(Kernel::Switch { asleep, is_first: false, .. })
                if !asleep.contains(&prev_of(message)) =>
            {
                match without_prev(message) {
                    Some(changed) => {
                        events.changed += 1;
                        put_bytes(out, field::EVENT, &changed);
                    }
                    None => out.extend_from_slice(bytes),
                }
            }
            Fate::Stays | Fate::Carried(_) => out.extend_from_slice(bytes),
        }
    }

    /// The columns of the events that stay in them.
    fn compact(&self, compact: &Compact<'_>, events: &mut Events) -> Vec<u8> {
        let mut kept = [Vec::new(), Vec::new()];
        for (row, &timestamp) in compact.switches[0].iter().enumerate() {
            // The last switch of one time counts; plain ones follow compact ones (rule O3).
            let is_last = || {
                compact.switches[0].get(row + 1) != Some(&timestamp)
                    && self.last_switch(timestamp).is_none()
            };
            let fate = self.fate(timestamp, |event| self.is_switch(event) && is_last());
            events.count(timestamp, !matches!(fate, Fate::Goes));
            match fate {
                Fate::Goes => {}
                Fate::Carried(Kernel::Switch { asleep, is_first: false, .. }) => {
                    events.changed += 1;
                    let prev = self.running(compact, timestamp, row);
                    let prev = prev.filter(|prev| asleep.contains(&(prev.pid as i64)));
                    let plain = compact.switch(row, timestamp, prev);
                    events.plain.push((timestamp, plain));
                }
                Fate::Stays | Fate::Carried(_) => kept[0].push(row),
            }
        }
        for (row, &timestamp) in compact.wakings[0].iter().enumerate() {
            let pid = compact.wakings[1].get(row).copied();
            let fits = |event: &KernelEvent| matches!(event.kind, Kernel::Waking { wakee, .. } if pid.map(|pid| pid as u32) == Some(wakee));
            let fate = self.fate(timestamp, fits);
            events.count(timestamp, !matches!(fate, Fate::Goes));
            match fate {
                Fate::Carried(Kernel::Waking { waker, .. }) => {
                    events.changed += 1;
                    let running = || self.running(compact, timestamp, compact.switches_before(row));
                    let waker = waker.map(u64::from).or_else(|| running().map(|one| one.pid));
                    let plain = compact.waking(row, timestamp, waker.unwrap_or(0));
                    events.plain.push((timestamp, plain));
                }
                Fate::Goes | Fate::Carried(_) => {}
                Fate::Stays => kept[1].push(row),
            }
        }
        compact.write(&kept)
    }
}

impl<'a> Bundle<'a> {
    /// The thread that the CPU runs at a time, before a row of the switches in columns.
    fn running<'b>(&'b self, compact: &'b Compact<'a>, at: u64, row: usize) -> Option<Thread<'b>> {
        let in_columns = row.checked_sub(1).and_then(|row| compact.next(row));
        let plain = last_plain(self.payload, at);
        let latest = match (in_columns, plain) {
            (Some(one), Some(other)) if other.0 > one.0 => Some(other),
            (one, other) => one.or(other),
        };
        latest.map(|(_, thread)| thread).or_else(|| last_running(self.before))
    }
}

/// The thread that a CPU runs behind a bundle.
fn last_running(payload: &[u8]) -> Option<Thread<'_>> {
    let compact: Vec<&[u8]> = Message(payload).each(field::COMPACT_SCHED).collect();
    let in_columns = Compact::of(&compact).and_then(|compact| {
        compact.switches[0].len().checked_sub(1).and_then(|row| compact.next(row))
    });
    let plain = last_plain(payload, u64::MAX);
    match (in_columns, plain) {
        (Some(one), Some(other)) if other.0 >= one.0 => Some(other.1),
        (one, other) => one.or(other).map(|(_, thread)| thread),
    }
}

/// The last plain switch before a time, and the thread that it begins to run.
fn last_plain(payload: &[u8], before: u64) -> Option<(u64, Thread<'_>)> {
    let is_one = |one: &&[u8]| {
        let message = Message(one);
        message.number(event::TIMESTAMP).is_some_and(|time| time < before)
            && message.bytes(event::SCHED_SWITCH).is_some()
    };
    let last = Message(payload).each(field::EVENT).filter(is_one).last()?;
    let time = Message(last).number(event::TIMESTAMP)?;
    let next = Message(Message(last).bytes(event::SCHED_SWITCH)?);
    let thread = Thread {
        pid: next.number(switch::NEXT_PID).unwrap_or(0),
        prio: next.number(switch::NEXT_PRIO).unwrap_or(0),
        comm: next.bytes(switch::NEXT_COMM).unwrap_or_default(),
    };
    Some((time, thread))
}

/// The number of the thread that ran before a plain switch.
fn prev_of(message: Message<'_>) -> i64 {
    let switch = message.bytes(event::SCHED_SWITCH).map(Message);
    switch.and_then(|switch| switch.number(switch::PREV_PID)).unwrap_or(0) as i64
}

/// Whether an event is of the kind that is carried.
fn is_such(message: Message<'_>, kind: &Kernel) -> bool {
    let has = |number| message.bytes(number).is_some();
    let printed = || {
        let buf = message.bytes(event::PRINT).and_then(|print| Message(print).bytes(print::BUF));
        buf.and_then(|buf| buf.first().copied())
    };
    match kind {
        Kernel::Switch { .. } => has(event::SCHED_SWITCH),
        Kernel::Waking { wakee, .. } => {
            let woken = message.bytes(event::SCHED_WAKING).map(|message| (message, waking::PID));
            let begun = message.bytes(event::TASK_NEWTASK).map(|message| (message, waking::COMM));
            let pid = woken.or(begun).and_then(|(message, pid)| Message(message).number(pid));
            pid.map(|pid| pid as u32) == Some(*wakee)
        }
        Kernel::Slice => {
            !has(event::SCHED_SWITCH)
                && !has(event::SCHED_WAKING)
                && !matches!(printed(), Some(b'C' | b'E'))
        }
        Kernel::End => {
            !has(event::SCHED_SWITCH)
                && !has(event::SCHED_WAKING)
                && !matches!(printed(), Some(b'B' | b'C'))
        }
        Kernel::Counter => {
            !has(event::SCHED_SWITCH)
                && !has(event::SCHED_WAKING)
                && matches!(printed(), None | Some(b'C'))
        }
    }
}

/// The event with the idle thread as the one that ran before; `None` if it is that already.
fn without_prev(message: Message<'_>) -> Option<Vec<u8>> {
    let old = Message(message.bytes(event::SCHED_SWITCH)?);
    if old.number(switch::PREV_PID).unwrap_or(0) == 0 {
        return None;
    }
    let mut new = Vec::new();
    for (number, _, bytes) in fields(old.0) {
        match number {
            switch::PREV_COMM | switch::PREV_PID | switch::PREV_PRIO | switch::PREV_STATE => {}
            _ => new.extend_from_slice(bytes),
        }
    }
    put_number(&mut new, switch::PREV_PID, 0);
    put_number(&mut new, switch::PREV_PRIO, 0);
    put_number(&mut new, switch::PREV_STATE, 0);
    let mut out = Vec::new();
    for (number, _, bytes) in fields(message.0) {
        match number {
            event::PID => put_number(&mut out, event::PID, 0),
            event::SCHED_SWITCH => put_bytes(&mut out, number, &new),
            _ => out.extend_from_slice(bytes),
        }
    }
    Some(out)
}

/// The columns of a bundle, with absolute times.
struct Compact<'a> {
    comms: Vec<&'a [u8]>,
    switches: [Vec<u64>; 5],
    wakings: [Vec<u64>; 6],
}

impl<'a> Compact<'a> {
    fn of(messages: &[&'a [u8]]) -> Option<Compact<'a>> {
        if messages.is_empty() {
            return None;
        }
        let column = |number: u32| -> Vec<u64> {
            messages.iter().flat_map(|message| Message(message).numbers(number)).collect()
        };
        let mut switches = SWITCHES.map(column);
        let mut wakings = WAKINGS.map(column);
        for times in [&mut switches[0], &mut wakings[0]] {
            let mut last = 0u64;
            for time in times {
                last = last.wrapping_add(*time);
                *time = last;
            }
        }
        // Rows are as many as all columns have; flags may be missing.
        let rows = |columns: &[Vec<u64>]| columns.iter().map(Vec::len).min().unwrap_or(0);
        let (of_switches, of_wakings) = (rows(&switches), rows(&wakings[..5]));
        switches.iter_mut().for_each(|column| column.truncate(of_switches));
        wakings.iter_mut().for_each(|column| column.truncate(of_wakings));
        let comms = messages.iter().flat_map(|message| Message(message).each(column::INTERN_TABLE));
        Some(Compact { comms: comms.collect(), switches, wakings })
    }

    fn comm(&self, index: Option<&u64>) -> &'a [u8] {
        let index = index.and_then(|index| usize::try_from(*index).ok());
        index.and_then(|index| self.comms.get(index)).copied().unwrap_or_default()
    }

    /// The time of a switch, and the thread that it begins to run.
    fn next(&self, row: usize) -> Option<(u64, Thread<'a>)> {
        let [times, _, pid, prio, comm] = &self.switches;
        let (pid, prio) = (*pid.get(row)?, *prio.get(row)?);
        Some((*times.get(row)?, Thread { pid, prio, comm: self.comm(comm.get(row)) }))
    }

    /// The number of switches before a waking: of one time, switches come first.
    fn switches_before(&self, waking: usize) -> usize {
        let mut switches = self.switches[0].iter().peekable();
        let mut count = 0;
        for time in self.wakings[0].iter().take(waking.saturating_add(1)) {
            while switches.next_if(|switch| *switch <= time).is_some() {
                count += 1;
            }
        }
        count
    }

    /// A switch as an event of its own.
    fn switch(&self, row: usize, timestamp: u64, prev: Option<Thread<'_>>) -> Vec<u8> {
        let [_, state, pid, prio, comm] = &self.switches;
        let of = |column: &Vec<u64>| column.get(row).copied().unwrap_or(0);
        let mut message = Vec::new();
        if let Some(prev) = prev {
            put_bytes(&mut message, switch::PREV_COMM, prev.comm);
        }
        put_number(&mut message, switch::PREV_PID, prev.map_or(0, |prev| prev.pid));
        put_number(&mut message, switch::PREV_PRIO, prev.map_or(0, |prev| prev.prio));
        put_number(&mut message, switch::PREV_STATE, if prev.is_some() { of(state) } else { 0 });
        put_bytes(&mut message, switch::NEXT_COMM, self.comm(comm.get(row)));
        put_number(&mut message, switch::NEXT_PID, of(pid));
        put_number(&mut message, switch::NEXT_PRIO, of(prio));
        let mut out = Vec::new();
        put_number(&mut out, event::TIMESTAMP, timestamp);
        put_number(&mut out, event::PID, prev.map_or(0, |prev| prev.pid));
        put_bytes(&mut out, event::SCHED_SWITCH, &message);
        out
    }

    /// A waking as an event of its own.
    fn waking(&self, row: usize, timestamp: u64, waker: u64) -> Vec<u8> {
        let [_, pid, cpu, prio, comm, _] = &self.wakings;
        let of = |column: &Vec<u64>| column.get(row).copied().unwrap_or(0);
        let mut message = Vec::new();
        put_bytes(&mut message, waking::COMM, self.comm(comm.get(row)));
        put_number(&mut message, waking::PID, of(pid));
        put_number(&mut message, waking::PRIO, of(prio));
        put_number(&mut message, waking::SUCCESS, 1);
        put_number(&mut message, waking::TARGET_CPU, of(cpu));
        let mut out = Vec::new();
        put_number(&mut out, event::TIMESTAMP, timestamp);
        put_number(&mut out, event::PID, waker);
        put_bytes(&mut out, event::SCHED_WAKING, &message);
        out
    }

    /// The rows that stay. Only the names that they use stay with them.
    fn write(&self, [switches, wakings]: &[Vec<usize>; 2]) -> Vec<u8> {
        let mut out = Vec::new();
        if switches.is_empty() && wakings.is_empty() {
            return out;
        }
        let mut names = Names { compact: self, used: Vec::new() };
        let mut columns = Vec::new();
        for (number, column) in SWITCHES.iter().zip(&self.switches) {
            put_column(&mut columns, *number, column, switches, &mut names);
        }
        for (number, column) in WAKINGS.iter().zip(&self.wakings) {
            put_column(&mut columns, *number, column, wakings, &mut names);
        }
        for index in &names.used {
            put_bytes(&mut out, column::INTERN_TABLE, self.comm(Some(index)));
        }
        out.extend_from_slice(&columns);
        out
    }
}

/// The names that the rows use, in the order of their first use.
struct Names<'a> {
    compact: &'a Compact<'a>,
    used: Vec<u64>,
}

impl Names<'_> {
    fn index(&mut self, index: u64) -> u64 {
        let is_known = usize::try_from(index).is_ok_and(|at| at < self.compact.comms.len());
        if !is_known {
            // It stays beyond the table.
            return u64::from(u32::MAX);
        }
        let at = self.used.iter().position(|used| *used == index);
        at.unwrap_or_else(|| {
            self.used.push(index);
            self.used.len() - 1
        }) as u64
    }
}

fn put_column(out: &mut Vec<u8>, number: u32, of: &[u64], rows: &[usize], names: &mut Names<'_>) {
    let mut packed = Vec::new();
    let mut last = 0u64;
    for value in rows.iter().filter_map(|row| of.get(*row).copied()) {
        let value = match number {
            column::SWITCH_TIMESTAMP | column::WAKING_TIMESTAMP => {
                let delta = value.wrapping_sub(last);
                last = value;
                delta
            }
            column::SWITCH_NEXT_COMM_INDEX | column::WAKING_COMM_INDEX => names.index(value),
            _ => value,
        };
        Put(&mut packed).natural(value);
    }
    if !packed.is_empty() {
        put_bytes(out, number, &packed);
    }
}
