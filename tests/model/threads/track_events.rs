//! The effects of track events, in the order of time (E6 to E18, L2 to L7).

use super::args::{Args, Said};
use super::described::{Described, Stands};
use super::machines::Machine;
use super::processes::{Upid, Utid, rank};
use super::profiles::{self, EventStack};
use super::sequences::{COUNTER, STATE, TrackEvent};
use super::slices::SliceId;
use super::tracks::{Row, Track, TrackId, TrackOwner};
use super::uuids::{Count, Lanes, Owner, Place, Uuid};
use super::wire::Message;
use super::world::World;

/// A track event, and its owner.
pub struct Happening<'a> {
    pub machine: Machine,
    packet: usize,
    pub time: i64,
    pub event: &'a TrackEvent,
    /// Its LegacyEvent.
    pub legacy: Message,
    pub phase: Option<char>,
    pub name: Option<String>,
    pub category: Option<String>,
    pub uuid: Uuid,
    /// E8
    pub thread: Option<Utid>,
    pub process: Option<Upid>,
    /// The sequence's thread, if it may be reported (A11).
    pub passed_on: Option<Utid>,
    /// Whether it is on its thread's track instead of a uuid's (L2).
    pub on_thread: bool,
    /// The event's extra values (E14).
    thread_time: Option<i64>,
    instructions: Option<i64>,
}

/// The common facts of a set's lanes: the process, the scope, the root (L5).
pub type AsyncKey = (Machine, Option<Upid>, Option<String>, Option<String>);

/// An id, for a process or for all (L5).
type AsyncId = (Machine, Option<Upid>, u64);

/// L5
#[derive(Debug, Default)]
pub struct Asyncs {
    /// Names of the first events.
    roots: Vec<(AsyncId, Option<String>)>,
    sets: Vec<Lanes<AsyncKey>>,
}

/// E7
#[derive(Clone, Copy, Debug, PartialEq)]
enum Does {
    Begin,
    End,
    Instant,
    Complete,
}

impl TrackEvent {
    /// The text of an iid; 0 means none (E2).
    pub fn interned(&self, field: u32, iid: u64) -> Option<&Message> {
        self.interned.get(&(field, iid))
    }

    /// E6
    fn name(&self, legacy: &Message) -> Option<String> {
        let iids = [self.fields.unsigned(10), legacy.unsigned(1)];
        match iids.into_iter().find(|iid| *iid != 0) {
            Some(iid) => self.interned(2, iid)?.text(2),
            None => self.fields.text(23),
        }
    }

    /// E6
    fn category(&self) -> Option<String> {
        let iids = self.fields.numbers(3);
        let said = self.fields.texts(22);
        if let ([iid], []) = (iids.as_slice(), said.as_slice()) {
            return match self.interned(1, *iid) {
                Some(category) => category.text(2),
                None => Some(format!("unknown({iid})")),
            };
        }
        if let ([], [category]) = (iids.as_slice(), said.as_slice()) {
            return Some(category.clone());
        }
        let known = iids.iter().filter_map(|iid| self.interned(1, *iid));
        let known = known.map(|category| category.text(2).unwrap_or_default());
        let mut joined = String::new();
        for category in known.chain(said) {
            if !joined.is_empty() {
                joined.push(',');
            }
            joined += &category;
        }
        Some(joined).filter(|joined| !joined.is_empty())
    }
}

/// E16
fn is_incremental(described: &Described, uuid: Uuid) -> bool {
    let stands = described.of(uuid.raw_id, uuid.number).map(|said| &said.stands);
    matches!(stands, Some(Stands::Counter(counter)) if counter.unsigned(5) != 0)
}

/// The numbers of a sequence's thread have signs; but if a thread is mentioned because of them,
/// they do not (J2).
fn without_sign(number: i64) -> i64 {
    i64::from(number as u32)
}

impl World<'_> {
    pub fn track_event(&mut self, (machine, raw_id): (Machine, u32), time: i64, packet: usize) {
        let Some((_, event)) = self.track_events.get(&packet).cloned() else {
            return;
        };
        let legacy = event.fields.message(6).unwrap_or_default();
        let kind = event.fields.unsigned(9);
        let phase = legacy.number(2).map(|phase| char::from(phase as u8));
        if phase.is_none() && kind == 0 {
            return;
        }
        // Neither of these has a phase (E7).
        let phase = phase.filter(|_| !matches!(kind, COUNTER | STATE));
        let uuid = event.fields.number(11).or(event.defaults.number(11));
        let uuid = Uuid { machine, raw_id, number: uuid.unwrap_or(0) };
        let mut happening = Happening {
            machine,
            packet,
            time,
            name: event.name(&legacy),
            category: event.category(),
            event: &event,
            legacy,
            phase,
            uuid,
            thread: None,
            process: None,
            passed_on: None,
            on_thread: false,
            thread_time: None,
            instructions: None,
        };
        if self.associate(&mut happening).is_some() {
            self.counters_of(&mut happening);
            self.happens(&happening);
        }
    }

    /// `None` if the event has no owner (E8, L2, A11).
    fn associate(&mut self, happening: &mut Happening<'_>) -> Option<()> {
        let Happening { event, .. } = *happening;
        if let Some((pid, tid)) = thread_of(happening) {
            if pid == 0 || tid == 0 {
                return None;
            }
            let legacy = &happening.legacy;
            let is_own = legacy.has(18) || legacy.has(19);
            let trusted = match event.thread.filter(|_| !is_own) {
                Some(thread) => thread.trusted_pid,
                None => event.trusted_pid,
            };
            let (pid, tid) = self.outside(happening.machine, trusted, (pid, tid));
            let utid = self.processes.bind(happening.machine, tid, pid);
            happening.thread = Some(utid);
            happening.process = self.processes.threads[utid].process;
            happening.on_thread = true;
        } else {
            match self.owner_of_event(happening.uuid)? {
                Owner::Thread(utid) => {
                    happening.thread = Some(utid);
                    happening.process = self.processes.threads[utid].process;
                }
                Owner::Process(upid) => happening.process = Some(upid),
                Owner::Nobody => {}
            }
            if happening.uuid.number != 0
                && happening.thread.is_none()
                && let Some(thread) = event.thread
            {
                let numbers = (without_sign(thread.pid), without_sign(thread.tid));
                let (pid, tid) = self.outside(happening.machine, thread.trusted_pid, numbers);
                let utid = self.processes.bind(happening.machine, tid, pid);
                let is_of = |upid| self.processes.threads[utid].process == Some(upid);
                if happening.process.is_none_or(is_of) {
                    happening.passed_on = Some(utid);
                }
            }
        }
        let scope = happening.legacy.unsigned(14);
        match happening.phase {
            Some('i' | 'I') if matches!(scope, 1 | 2) => {
                happening.passed_on = happening.thread;
                happening.thread = None;
            }
            Some(phase) if is_async(phase) => {
                happening.passed_on = happening.thread;
            }
            _ => {}
        }
        Some(())
    }

    /// E17, E18, and their values for E14.
    fn counters_of(&mut self, happening: &mut Happening<'_>) {
        let Happening { event, time, .. } = *happening;
        happening.thread_time = event.thread_time;
        happening.instructions = event.instructions;
        if let Some(utid) = happening.thread {
            let of = [
                ("thread_time", "thread_time", event.thread_time),
                ("thread_instructions", "thread_instruction_count", event.instructions),
            ];
            for (kind, name, value) in of {
                if let Some(value) = value {
                    let track = Track::named(kind, name, TrackOwner::Thread(utid));
                    self.counters.push(track, time, value as f64);
                }
            }
        }
        for &(number, value) in &event.extra {
            let uuid = Uuid { number, ..happening.uuid };
            let Some(Place::Track(track)) = self.place(uuid, None, event.sequence) else {
                continue;
            };
            let track = self.slices.tracks.0[track].track.clone();
            match track.name.as_deref() {
                Some("thread_time") => happening.thread_time = Some(value as i64),
                Some("thread_instruction_count") => happening.instructions = Some(value as i64),
                _ => {}
            }
            let counter = self.counters.push(track, time, value);
            counter.is_doubtful = event.is_lossy && is_incremental(&self.described, uuid);
        }
    }

    /// E7, L3
    fn happens(&mut self, happening: &Happening<'_>) {
        let kind = happening.event.fields.unsigned(9);
        let Some(phase) = happening.phase else {
            match kind {
                1 => self.does(happening, Does::Begin),
                2 => self.does(happening, Does::End),
                3 => self.does(happening, Does::Instant),
                COUNTER => self.counts(happening),
                // U6, U9
                STATE => self.says_state(happening),
                _ => {}
            }
            return;
        };
        let has_thread = happening.thread.is_some();
        match phase {
            'B' if has_thread => self.does(happening, Does::Begin),
            'E' if has_thread => self.does(happening, Does::End),
            'X' if has_thread => self.does(happening, Does::Complete),
            'i' | 'I' => self.legacy_instant(happening),
            'R' => self.does(happening, Does::Instant),
            'M' => self.legacy_name(happening),
            's' | 't' | 'f' => self.legacy_flow(happening, phase),
            phase if is_async(phase) => self.legacy_async(happening, phase),
            _ => {}
        }
    }

    /// The place of an event (U5, U6, L2).
    pub fn place_of(&mut self, happening: &Happening<'_>) -> Option<Place> {
        match happening.thread {
            Some(utid) if happening.on_thread => {
                let track = self.slices.tracks.find(&Track::of_thread(utid));
                Some(Place::Track(track))
            }
            _ => {
                let name = happening.name.as_deref();
                self.place(happening.uuid, name, happening.event.sequence)
            }
        }
    }

    /// A slice or an end at the event's place (E10 to E12, L4).
    fn does(&mut self, happening: &Happening<'_>, does: Does) {
        if does == Does::Complete && happening.legacy.signed(3) < 0 {
            return;
        }
        let Some(place) = self.place_of(happening) else {
            return;
        };
        let track = match (place, does) {
            (Place::Track(track), _) => track,
            (Place::Lanes(_), Does::Complete) => return,
            (Place::Lanes(set), does) => {
                let by = match does {
                    Does::Begin => Count::Begin,
                    Does::End => Count::End,
                    _ => Count::Instant,
                };
                self.lane(set, happening.uuid, by, happening.event.sequence)
            }
        };
        if let Some(slice) = self.on_track(happening, does, track) {
            self.carries(happening, does, slice);
            self.tells(happening, does, slice);
        }
    }

    fn on_track(
        &mut self,
        happening: &Happening<'_>,
        does: Does,
        track: TrackId,
    ) -> Option<SliceId> {
        let time = happening.time;
        let name = happening.name.as_deref();
        let category = happening.category.as_deref();
        let duration = match does {
            Does::Begin => -1,
            Does::Instant => 0,
            Does::Complete => happening.legacy.signed(3).saturating_mul(1000),
            Does::End => return self.slices.end(track, time, name, category),
        };
        self.slices.push(track, (time, duration), name, category)
    }

    /// E14, L4
    fn carries(&mut self, happening: &Happening<'_>, does: Does, slice: SliceId) {
        if happening.thread.is_none() {
            return;
        }
        let (time, instructions) = (happening.thread_time, happening.instructions);
        let slice = &mut self.slices.all[slice];
        let legacy = &happening.legacy;
        match does {
            Does::End => {
                let used = |start: Option<i64>, end: Option<i64>| Some(end?.wrapping_sub(start?));
                slice.thread_time.1 = used(slice.thread_time.0, time).filter(|used| *used != 0);
                slice.instructions.1 = used(slice.instructions.0, instructions);
            }
            Does::Begin => {
                slice.thread_time = (time, None);
                slice.instructions = (instructions, None);
            }
            Does::Instant => {
                slice.thread_time = (time, time.map(|_| 0));
                slice.instructions = (instructions, instructions.map(|_| 0));
            }
            Does::Complete => {
                let used = legacy.signed(4).saturating_mul(1000);
                slice.thread_time = (time, time.map(|_| used));
                let delta = legacy.signed(15);
                slice.instructions = (instructions, instructions.map(|_| delta));
            }
        }
    }

    /// The callstack of an event that made a row or closed a slice (FP4).
    pub fn stacked(
        &mut self,
        happening: &Happening<'_>,
        part: &'static str,
        slice: Option<SliceId>,
    ) {
        let fields = &happening.event.fields;
        let callsite = match (fields.number(56), fields.message(55)) {
            (Some(iid), _) => {
                let of = profiles::ProfilePacket {
                    machine: happening.machine,
                    packet: happening.packet,
                    time: happening.time,
                };
                self.stack(of, happening.process, iid)
            }
            (None, Some(stack)) => {
                let stacks = &mut self.profiles.stacks;
                stacks.inline(happening.machine, "track_event_inline", &stack)
            }
            (None, None) => return,
        };
        let Some(callsite) = callsite else { return };
        self.profiles.event_stacks.push(EventStack {
            time: happening.time,
            thread: happening.thread.or(happening.passed_on),
            slice,
            part,
            callsite,
            weight: fields.number(57).map(f64::from_bits),
        });
    }

    /// Arguments and flows of a slice that was made or closed (A1, G1), and its callstack (FP4).
    fn tells(&mut self, happening: &Happening<'_>, does: Does, slice: SliceId) {
        let part = match does {
            Does::Begin | Does::Complete => "begin",
            Does::End => "end",
            Does::Instant => "instant",
        };
        self.stacked(happening, part, Some(slice));
        let mut args = std::mem::take(&mut self.slices.all[slice].args);
        self.arguments(happening, &mut args);
        self.slices.all[slice].args = args;
        self.logs(happening);
        if !matches!(happening.phase, Some('T' | 'p')) {
            self.flows_of(happening, slice);
        }
    }

    /// E15
    fn counts(&mut self, happening: &Happening<'_>) {
        let Some(Place::Track(track)) = self.place_of(happening) else {
            return;
        };
        let mut args = Args::default();
        self.arguments(happening, &mut args);
        let track = self.slices.tracks.0[track].track.clone();
        let counter = self.counters.push(track, happening.time, happening.event.value);
        counter.args = args;
        let is_lossy = happening.event.is_lossy;
        counter.is_doubtful = is_lossy && is_incremental(&self.described, happening.uuid);
        self.logs(happening);
        self.stacked(happening, "counter", None);
    }

    /// L7
    fn legacy_instant(&mut self, happening: &Happening<'_>) {
        let machine = happening.machine;
        let track = match happening.legacy.unsigned(14) {
            1 => Track::new("legacy_chrome_global_instants", None, TrackOwner::Machine(machine)),
            2 => match happening.process {
                Some(upid) => Track::new("chrome_process_instant", None, TrackOwner::Process(upid)),
                None => return,
            },
            _ if happening.thread.is_some() => return self.does(happening, Does::Instant),
            _ => return,
        };
        let track = self.slices.tracks.find(&track);
        let source = &mut self.slices.tracks.0[track].source;
        source.say("source", Said::text("chrome"));
        if let Some(slice) = self.on_track(happening, Does::Instant, track) {
            self.tells(happening, Does::Instant, slice);
        }
    }

    /// L6
    fn legacy_name(&mut self, happening: &Happening<'_>) {
        let annotation = happening.event.fields.messages(4).into_iter().next();
        let name = annotation.and_then(|annotation| annotation.text(6));
        let name = name.filter(|name| !name.is_empty());
        match happening.name.as_deref() {
            Some("thread_name") => {
                if let Some(utid) = happening.thread {
                    self.processes.name_thread(utid, name.as_deref(), rank::LEGACY_THREAD);
                }
            }
            Some("process_name") => {
                if let Some(upid) = happening.process {
                    self.processes.name_process(upid, name.as_deref(), rank::PROCESS_DESCRIPTOR);
                }
            }
            _ => {}
        }
    }

    /// G6
    fn legacy_flow(&mut self, happening: &Happening<'_>, phase: char) {
        let Some(id) = happening.legacy.number(6) else {
            return;
        };
        let Some(Place::Track(track)) = self.place_of(happening) else {
            return;
        };
        let (category, name) = (happening.category.clone(), happening.name.clone());
        let flow = (happening.machine, id, category, name);
        if phase == 'f' && happening.legacy.unsigned(12) == 0 {
            self.flows.wait(track, flow);
        } else if let Some(slice) = self.slices.top(track) {
            self.flows.legacy(&self.slices, phase, flow, slice);
        }
    }

    /// L5
    fn legacy_async(&mut self, happening: &Happening<'_>, phase: char) {
        let legacy = &happening.legacy;
        let (machine, name) = (happening.machine, happening.name.clone());
        let global = legacy.number(6).or(legacy.number(11));
        let local = legacy.number(10).filter(|_| global.is_none());
        let Some(id) = global.or(local) else {
            return;
        };
        let upid = match (local, happening.process) {
            (Some(_), None) => return,
            (Some(_), process) => process,
            (None, _) => None,
        };
        let category = match phase {
            'S' | 'T' | 'p' | 'F' if !legacy.has(7) => name.clone(),
            _ => happening.category.clone(),
        };
        let scope = match legacy.text(7) {
            Some(scope) => Some(format!("{}:{scope}", category.unwrap_or_default())),
            None => category,
        };
        let name = match upid {
            Some(_) => self.slices.translations.track(machine, name.as_deref()),
            None => name,
        };
        let root = (machine, upid, id);
        let roots = &mut self.asyncs.roots;
        if !roots.iter().any(|(of, _)| *of == root) {
            roots.push((root, name.clone()));
        }
        let root = roots.iter().find(|(of, _)| *of == root);
        let root = root.and_then(|(_, name)| name.clone());
        let (does, by) = match phase {
            'b' | 'S' => (Does::Begin, Count::Begin),
            'e' | 'F' => (Does::End, Count::End),
            _ => (Does::Instant, Count::Instant),
        };
        let key = (machine, upid, scope, root);
        let track = self.async_lane(key, id, by, name.as_deref());
        if let Some(slice) = self.on_track(happening, does, track) {
            self.tells(happening, does, slice);
            let args = &mut self.slices.all[slice].args;
            args.say("legacy_trace_source_id", Said::Int(id.cast_signed()));
        }
    }

    fn async_lane(&mut self, key: AsyncKey, id: u64, by: Count, name: Option<&str>) -> TrackId {
        let sets = &mut self.asyncs.sets;
        let found = sets.iter().position(|set| set.key == key);
        let place = found.unwrap_or_else(|| {
            sets.push(Lanes::new(key.clone()));
            sets.len() - 1
        });
        let set = &mut self.asyncs.sets[place];
        if let Some(track) = set.count(id, by) {
            return track;
        }
        let (machine, upid, scope, _) = key;
        let (kind, of) = match upid {
            Some(upid) => ("legacy_async_process_slice", TrackOwner::Process(upid)),
            None => ("legacy_async_global_slice", TrackOwner::Machine(machine)),
        };
        let mut source = Args::default();
        source.say("source", Said::text("chrome"));
        source.say("trace_id_is_process_scoped", Said::Bool(upid.is_some()));
        source.say("upid", Said::Uint(upid.unwrap_or(0) as u64));
        source.say("source_scope", Said::String(scope));
        let track = self.slices.tracks.make(Row {
            track: Track::new(kind, name, of),
            parent: None,
            source,
            is_counter: false,
        });
        let set = &mut self.asyncs.sets[place];
        set.add(id, track);
        set.count(id, by);
        track
    }
}

/// L5
pub fn is_async(phase: char) -> bool {
    matches!(phase, 'b' | 'e' | 'n' | 'S' | 'T' | 'p' | 'F')
}

/// The pid and tid of the thread of an event with uuid 0 (L2).
fn thread_of(happening: &Happening<'_>) -> Option<(i64, i64)> {
    let (fields, legacy) = (&happening.event.fields, &happening.legacy);
    let lacks = !fields.has(11) || !fields.has(9);
    let of_sequence = happening.event.thread.filter(|_| legacy.has(19) || lacks);
    if happening.uuid.number != 0 || !legacy.has(18) && of_sequence.is_none() {
        return None;
    }
    let own = happening.event.thread;
    let (own_pid, own_tid) = own.map_or((0, 0), |thread| (thread.pid, thread.tid));
    let (mut pid, mut tid) = (without_sign(own_pid), own_tid);
    if legacy.has(18) {
        (pid, tid) = (legacy.id(18), -1);
    }
    if legacy.has(19) {
        tid = legacy.id(19);
        // J7
        if own_tid >> 32 != 0 {
            tid = Described::sandboxed(pid, tid);
        }
    }
    Some((pid, tid))
}
