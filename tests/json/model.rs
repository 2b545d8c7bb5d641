//! The rows that a file of Chrome's JSON becomes, computed without regard to time or memory, rule by
//! rule: the answers to the queries of tests/data/json/queries-json.sql.

use std::collections::{BTreeMap, HashMap};

use super::arguments::Args;
use super::clocks;
use super::event::{
    Cookie, Event, FlowId, Id, Session, Time, async_id, flow_id, low_32_bits, time,
};
use super::outline::{Item, Outline};
use super::text::{Decimal, Json, Node, real, strtod, strtoull};

/// The rows of each query.
pub type Tables = BTreeMap<String, Vec<Vec<String>>>;

/// The rows of one file, alone in its import.
pub fn rows(bytes: &[u8]) -> Tables {
    let outline = Outline::of(bytes);
    let mut model = Model::new();
    for (index, item) in outline.items.iter().enumerate() {
        model.packet(index, item, bytes);
    }
    let (readings, log) = clocks::anchors(&outline);
    model.readings = readings;
    for (code, offset) in &outline.log {
        model.add("log", &[(*code).to_owned(), offset.to_string()]);
    }
    for code in log {
        model.add("log", &[code.to_owned(), String::new()]);
    }
    model.play();
    model.finish()
}

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Owner {
    Thread(usize),
    Process(usize),
    Global,
}

#[derive(Debug)]
pub struct Process {
    pub pid: Id,
    /// A name of its own hides the text of its pid.
    pub name: Option<String>,
    pub sort: Option<i32>,
}

#[derive(Debug)]
pub struct Thread {
    pub upid: usize,
    pub tid: Id,
    pub name: Option<String>,
    pub sort: Option<i32>,
}

#[derive(Debug)]
pub struct Track {
    pub kind: &'static str,
    pub owner: Owner,
    pub name: Option<String>,
    pub lane: Option<usize>,
    pub stack: Vec<usize>,
    pub waiting: Vec<FlowKey>,
    pub is_used: bool,
}

#[derive(Debug)]
pub struct Slice {
    pub track: usize,
    pub ts: i64,
    pub dur: i64,
    pub depth: usize,
    pub parent: Option<usize>,
    pub name: Option<String>,
    pub cat: Option<String>,
    pub thread_ts: Option<i64>,
    pub thread_dur: Option<i64>,
    pub args: Args,
}

/// The id, category and name of a flow of version 1; of one of version 2 only the id.
type FlowKey = (FlowId, Option<(Option<String>, Option<String>)>);

/// The effect of a flow event (G5).
#[derive(Clone, Copy, Debug, PartialEq)]
enum Direction {
    Out,
    InOut,
    In,
}

/// JS21, JS22: category, id, process of a local one, name for the older phases.
type AsyncKey = (Option<String>, Cookie, Option<usize>, Option<Option<String>>);

#[derive(Debug)]
struct Lane {
    track: usize,
    owner: AsyncKey,
    count: usize,
}

#[derive(Debug)]
struct Lanes {
    root: Option<String>,
    process: Option<usize>,
    lanes: Vec<Lane>,
}

#[derive(Debug, Default)]
struct Profile {
    ts: i64,
    /// By their ids.
    nodes: HashMap<i64, Frame>,
    /// The parents that nodes named for their children.
    parents: HashMap<i64, i64>,
}

#[derive(Clone, Debug)]
struct Frame {
    parent: Option<i64>,
    text: String,
}

#[derive(Debug, Default)]
pub struct Model {
    pub tables: Tables,
    pub stats: BTreeMap<&'static str, u64>,
    pub readings: Vec<(u32, i64)>,
    events: Vec<Event>,
    pub processes: Vec<Process>,
    pub threads: Vec<Thread>,
    pub tracks: Vec<Track>,
    pub slices: Vec<Slice>,
    flows: HashMap<FlowKey, usize>,
    pub links: Vec<(usize, usize, String)>,
    sets: Vec<Lanes>,
    set_of: HashMap<AsyncKey, usize>,
    pub counters: Vec<(usize, i64, f64)>,
    pub states: Vec<(usize, Vec<String>)>,
    pub sched: Vec<(usize, Vec<String>)>,
    pub samples: Vec<(usize, i64, String)>,
    profiles: HashMap<Session, Profile>,
}

pub fn shown<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

impl Model {
    fn new() -> Model {
        let mut model = Model::default();
        // P3: the idle process and thread.
        model.processes.push(Process { pid: Id::Main, name: None, sort: None });
        model.threads.push(Thread { upid: 0, tid: Id::Number(0), name: None, sort: None });
        model
    }

    fn add(&mut self, table: &str, row: &[String]) {
        self.tables.entry(table.to_owned()).or_default().push(row.to_vec());
    }

    fn count(&mut self, name: &'static str) {
        *self.stats.entry(name).or_default() += 1;
    }

    /// JS8 and what is read in file order.
    fn packet(&mut self, index: usize, item: &Item, bytes: &[u8]) {
        let (start, end, kind, ts) = match item {
            Item::Event(node) => (node.start, node.end, "json_event", time(node, "ts")),
            Item::Member(_, start, node) => (*start, node.end, "json_member", Time::Missing),
            Item::NoEvent(node) => (node.start, node.end, "corrupt", Time::Missing),
        };
        let (ts, unresolved) = match ts {
            Time::At(ts) => (ts.to_string(), ""),
            Time::Overflow => (String::new(), "overflow"),
            _ => (String::new(), ""),
        };
        let (index, size) = (index.to_string(), end - start);
        let row = [
            index,
            start.to_string(),
            size.to_string(),
            kind.to_owned(),
            ts,
            unresolved.to_owned(),
        ];
        self.add("packets", &row);
        match item {
            Item::Event(node) => self.tokenize(node),
            Item::Member(key, _, node) => self.member(key, node, bytes),
            Item::NoEvent(_) => {}
        }
    }

    /// JS30
    fn member(&mut self, key: &str, node: &Node, bytes: &[u8]) {
        if key == "displayTimeUnit" {
            self.count("json_display_time_unit");
        }
        match (&node.value, key) {
            (Json::Object(members), "metadata") => {
                self.entries("metadata", "json_metadata", members, bytes)
            }
            (Json::Object(members), "otherData") => {
                self.entries("members", "json_other", members, bytes)
            }
            (Json::Object(_) | Json::List(_), _) => {}
            _ => self.entries("members", "json", &[(key.to_owned(), node.clone())], bytes),
        }
    }

    fn entries(&mut self, table: &str, prefix: &str, members: &[(String, Node)], bytes: &[u8]) {
        for (key, node) in members {
            let name = format!("{prefix}.{key}");
            let table = self.tables.entry(table.to_owned()).or_default();
            table.retain(|row| row[0] != name);
            let written = || String::from_utf8_lossy(&bytes[node.start..node.end]).into_owned();
            let whole = |number: &str| {
                let value = real(number);
                (value.abs() < 9.2e18 && value.fract() == 0.0).then_some(value as i64)
            };
            let (int, text) = match &node.value {
                Json::Null => (None, String::new()),
                Json::Bool(value) => (Some(i64::from(*value)), String::new()),
                Json::Text(text) => (None, text.clone()),
                Json::Number(number) => match node.int().or_else(|| whole(number)) {
                    Some(int) => (Some(int), String::new()),
                    None => (None, written()),
                },
                Json::List(_) | Json::Object(_) => (None, written()),
            };
            table.push(vec![name, shown(int), text]);
        }
    }

    /// JS9 to JS15
    fn tokenize(&mut self, node: &Node) {
        if matches!(&node.value, Json::Object(members) if members.is_empty()) {
            return;
        }
        let Some(phase) = node.get("ph").and_then(|ph| ph.text()?.chars().next()) else {
            return self.count("json_tokenizer_failure");
        };
        let ts = match time(node, "ts") {
            Time::At(ts) => Some(ts),
            Time::Overflow => return,
            _ if phase == 'M' => None,
            _ => return self.count("json_tokenizer_failure"),
        };
        let [dur, tts, tdur] = ["dur", "tts", "tdur"].map(|key| match time(node, key) {
            Time::At(time) => Some(time),
            Time::Missing => None,
            Time::Unusable | Time::Overflow => {
                self.count("json_tokenizer_failure");
                None
            }
        });
        let word = |key: &str| node.get(key).and_then(Node::word).map(str::to_owned);
        let (pid, tid) = Event::thread(phase, dur, node);
        let (name, cat) = (word("name"), word("cat"));
        let node = node.clone();
        let event = Event { phase, ts, name, cat, dur, tts, tdur, pid, tid, node, sample: None };
        match phase {
            'P' => self.profile(&event),
            _ => self.events.push(event),
        }
    }

    /// JS28
    fn profile(&mut self, event: &Event) {
        let ids = event.node.all("id");
        let id = match ids.map(|id| (id.int(), id.text())).find(|id| *id != (None, None)) {
            Some((Some(int), _)) => int as u64,
            Some((_, Some(text))) => match strtoull(text) {
                Some(id) => id,
                None => return self.count("json_tokenizer_failure"),
            },
            _ => return,
        };
        let session = (id, event.pid.clone());
        let Some(data) = event.arg("data") else { return };
        if data.get("startTime").is_some() {
            if let Time::At(ts) = time(data, "startTime") {
                self.profiles.entry(session).or_default().ts = ts;
            }
            return;
        }
        let list = |node: Option<&Node>| match node.map(|node| &node.value) {
            Some(Json::List(entries)) => entries.clone(),
            _ => Vec::new(),
        };
        let profile = data.get("cpuProfile");
        for node in list(profile.and_then(|profile| profile.get("nodes"))) {
            if self.node(&session, &node).is_none() {
                self.count("legacy_v8_cpu_profile_invalid_callsite");
            }
        }
        let samples = list(profile.and_then(|profile| profile.get("samples")));
        let deltas = list(data.get("timeDeltas"));
        let is_known = self.profiles.contains_key(&session);
        if samples.len() != deltas.len() || !is_known {
            return self.count("json_tokenizer_failure");
        }
        for (sample, delta) in samples.iter().zip(&deltas) {
            let delta =
                delta.number().and_then(Decimal::read).and_then(|delta| delta.scaled(3, true));
            let profile = self.profiles.get_mut(&session).unwrap();
            profile.ts += delta.unwrap_or(0);
            let ts = Some(profile.ts);
            let sample = Some((session.clone(), sample.int().unwrap_or(0)));
            self.events.push(Event { ts, sample, ..event.clone() });
        }
    }

    /// A new callsite.
    fn node(&mut self, session: &Session, node: &Node) -> Option<()> {
        let profile = self.profiles.get_mut(session)?;
        let id = node.get("id").and_then(Node::int)?;
        let named = node.get("parent").and_then(Node::int);
        let parent = named.or(profile.parents.get(&id).copied());
        if profile.nodes.contains_key(&id)
            || parent.is_some_and(|parent| !profile.nodes.contains_key(&parent))
        {
            return None;
        }
        let frame = node.get("callFrame");
        let text = |key| frame.and_then(|frame| frame.get(key)?.text()).unwrap_or("");
        let text = format!("{}@{}", text("functionName"), text("url"));
        profile.nodes.insert(id, Frame { parent, text });
        let mut is_right = Some(());
        if let Some(Json::List(children)) = node.get("children").map(|children| &children.value) {
            let before = profile.parents.clone();
            let children: Vec<i64> = children.iter().filter_map(Node::int).collect();
            for (place, child) in children.iter().enumerate() {
                profile.parents.entry(*child).or_insert(id);
                if before.contains_key(child) || children[..place].contains(child) {
                    is_right = None;
                }
            }
        }
        is_right
    }

    /// JS13
    fn order(&self) -> Vec<usize> {
        let has_x = self.events.iter().any(|event| event.phase == 'X');
        let mut begun: HashMap<(Option<i64>, Id, Id), u32> = HashMap::new();
        let mut keys = Vec::new();
        for event in &self.events {
            let begins = begun.entry((event.ts, event.pid.clone(), event.tid.clone())).or_default();
            let group = match event.phase {
                'B' => {
                    *begins += 1;
                    (2, 0)
                }
                'E' if *begins > 0 => {
                    *begins -= 1;
                    (2, 0)
                }
                'E' => (0, 0),
                'X' => event.dur.map_or((2, 0), |dur| (1, -i128::from(dur))),
                _ => (2, 0),
            };
            keys.push(if has_x { group } else { (2, 0) });
        }
        let mut order: Vec<usize> = (0..self.events.len()).collect();
        order.sort_by_key(|index| (self.events[*index].ts, keys[*index], *index));
        order
    }

    fn play(&mut self) {
        for index in self.order() {
            let event = self.events[index].clone();
            let utid = self.mention(&event);
            self.event(&event, utid);
        }
    }

    /// JS16
    fn mention(&mut self, event: &Event) -> usize {
        let upid = self.processes.iter().position(|process| process.pid == event.pid);
        let upid = upid.unwrap_or_else(|| {
            self.processes.push(Process { pid: event.pid.clone(), name: None, sort: None });
            let upid = self.processes.len() - 1;
            let tid = match &event.pid {
                Id::Number(pid) => Id::Number(*pid),
                _ => Id::Main,
            };
            self.threads.push(Thread { upid, tid, name: None, sort: None });
            upid
        });
        let is_it = |thread: &Thread| thread.upid == upid && thread.tid == event.tid;
        self.threads.iter().position(is_it).unwrap_or_else(|| {
            self.threads.push(Thread { upid, tid: event.tid.clone(), name: None, sort: None });
            self.threads.len() - 1
        })
    }

    fn event(&mut self, event: &Event, utid: usize) {
        let Some(ts) = event.ts else {
            return self.metadata(event, utid);
        };
        match event.phase {
            'M' => self.metadata(event, utid),
            'B' => self.begin(event, utid, ts),
            'E' => self.end(event, utid, ts),
            'X' => self.complete(event, utid, ts),
            'i' | 'I' | 'R' => self.instant(event, utid, ts),
            'T' if event.dur.is_some() => self.state(event, utid, ts),
            'b' | 'e' | 'n' | 'S' | 'F' | 'T' | 'p' => self.async_event(event, utid, ts),
            's' | 't' | 'f' => self.flow_v1(event, utid),
            'C' => self.counter(event, utid, ts),
            'P' => self.sample(event, utid, ts),
            _ => {}
        }
    }

    /// JS17
    fn metadata(&mut self, event: &Event, utid: usize) {
        let upid = self.threads[utid].upid;
        let name = event.name.as_deref().unwrap_or("");
        let is_name = matches!(name, "process_name" | "thread_name");
        let is_index = matches!(name, "process_sort_index" | "thread_sort_index");
        if is_name && let Some(value) = event.arg("name") {
            match value.word().map(str::to_owned) {
                None => self.count("json_parser_failure"),
                Some(text) if name == "process_name" => self.processes[upid].name = Some(text),
                Some(text) => self.threads[utid].name = Some(text),
            }
        }
        if is_index && let Some(value) = event.arg("sort_index") {
            let Some(index) = low_32_bits(value) else {
                return self.count("json_parser_failure");
            };
            let sort = match name {
                "process_sort_index" => &mut self.processes[upid].sort,
                _ => &mut self.threads[utid].sort,
            };
            sort.get_or_insert(index);
        }
    }

    fn track(&mut self, kind: &'static str, owner: Owner, name: Option<String>) -> usize {
        let is_it =
            |track: &Track| track.kind == kind && track.owner == owner && track.name == name;
        self.tracks
            .iter()
            .position(is_it)
            .unwrap_or_else(|| self.new_track(kind, owner, name, None))
    }

    fn new_track(
        &mut self,
        kind: &'static str,
        owner: Owner,
        name: Option<String>,
        lane: Option<usize>,
    ) -> usize {
        let (stack, waiting) = (Vec::new(), Vec::new());
        self.tracks.push(Track { kind, owner, name, lane, stack, waiting, is_used: false });
        self.tracks.len() - 1
    }

    fn thread_track(&mut self, utid: usize) -> usize {
        self.track("thread_execution", Owner::Thread(utid), None)
    }

    /// E9; `dur` is that of a new slice that is closed. False: E12 drops it.
    fn settle(&mut self, track: usize, ts: i64, dur: Option<i64>) -> bool {
        let mut is_open_above = false;
        for place in (0..self.tracks[track].stack.len()).rev() {
            let slice = &self.slices[self.tracks[track].stack[place]];
            let end = i128::from(slice.ts) + i128::from(slice.dur);
            let (now, is_instant) = (i128::from(ts), slice.dur == 0 && dur == Some(0));
            if slice.dur < 0 {
                is_open_above = true;
            } else if is_open_above {
                if end < now {
                    self.cut(track, place, end as i64);
                    is_open_above = false;
                }
            } else if end < now || end == now && !is_instant {
                self.tracks[track].stack.pop();
            } else if dur.is_some_and(|dur| now < end && now + i128::from(dur) > end) {
                return false;
            }
        }
        true
    }

    /// Takes a slice and all above it off the stack; these end when it does.
    fn cut(&mut self, track: usize, place: usize, end: i64) {
        let cut = self.tracks[track].stack.split_off(place);
        for slice in &cut[1..] {
            self.slices[*slice].dur = end - self.slices[*slice].ts;
        }
        self.count("misplaced_end_event");
    }

    /// E10, E12: a slice on top of the stack.
    fn push(&mut self, track: usize, mut slice: Slice) -> Option<usize> {
        let stack = &self.tracks[track].stack;
        if stack.len() >= 512 {
            self.count("slice_max_depth_exceeded");
            return None;
        }
        (slice.track, slice.depth, slice.parent) = (track, stack.len(), stack.last().copied());
        self.slices.push(slice);
        let id = self.slices.len() - 1;
        self.tracks[track].stack.push(id);
        self.tracks[track].is_used = true;
        for flow in std::mem::take(&mut self.tracks[track].waiting) {
            self.flow_to(&flow, Direction::In, id);
        }
        Some(id)
    }

    /// A slice of an event; open with a dur of −1.
    fn slice(event: &Event, ts: i64, dur: i64, name: Option<String>) -> Slice {
        Slice {
            track: 0,
            ts,
            dur,
            depth: 0,
            parent: None,
            name,
            cat: event.cat.clone(),
            thread_ts: event.tts,
            thread_dur: None,
            args: Args::of(event),
        }
    }

    fn begin(&mut self, event: &Event, utid: usize, ts: i64) {
        let track = self.thread_track(utid);
        self.settle(track, ts, None);
        self.push(track, Model::slice(event, ts, -1, event.named()));
        self.flow_v2(event, track);
    }

    /// E11; the slice that it closed.
    fn close(&mut self, event: &Event, track: usize, ts: i64) -> Option<usize> {
        self.settle(track, ts, None);
        let stack = &self.tracks[track].stack;
        let place = stack.iter().rposition(|slice| {
            let slice = &self.slices[*slice];
            let is_named = slice.name.is_none() || event.name.is_none() || slice.name == event.name;
            slice.dur < 0 && (event.cat.is_none() || slice.cat == event.cat) && is_named
        })?;
        let id = stack[place];
        if place + 1 == stack.len() {
            self.tracks[track].stack.pop();
        }
        self.slices[id].dur = ts - self.slices[id].ts;
        self.slices[id].args.add_all(event);
        Some(id)
    }

    fn end(&mut self, event: &Event, utid: usize, ts: i64) {
        let track = self.thread_track(utid);
        if let Some(id) = self.close(event, track, ts)
            && let (Some(from), Some(to)) = (self.slices[id].thread_ts, event.tts)
        {
            self.slices[id].thread_dur = Some(to - from);
        }
    }

    /// JS19
    fn complete(&mut self, event: &Event, utid: usize, ts: i64) {
        let Some(dur) = event.dur else {
            return self.count("json_parser_failure");
        };
        let mut track = self.thread_track(utid);
        if dur < 0 {
            self.count("slice_negative_duration");
        } else {
            if !self.settle(track, ts, Some(dur)) {
                self.count("slice_spill_overlapping_complete_event");
                track = self.overflow_lane(utid, ts, dur);
            }
            let mut slice = Model::slice(event, ts, dur, event.named());
            slice.thread_dur = event.tdur;
            self.push(track, slice);
        }
        self.flow_v2(event, track);
    }

    fn overflow_lane(&mut self, utid: usize, ts: i64, dur: i64) -> usize {
        let (kind, owner) = ("thread_overlapping_slice", Owner::Thread(utid));
        let is_lane = |track: &Track| track.kind == kind && track.owner == owner;
        let lanes: Vec<usize> =
            (0..self.tracks.len()).filter(|track| is_lane(&self.tracks[*track])).collect();
        let end = |slice: &Slice| i128::from(slice.ts) + i128::from(slice.dur);
        for lane in &lanes {
            let slices = &self.slices;
            let stack = &mut self.tracks[*lane].stack;
            while stack.last().is_some_and(|slice| end(&slices[*slice]) <= i128::from(ts)) {
                stack.pop();
            }
            let wanted = i128::from(ts) + i128::from(dur);
            if stack.last().is_none_or(|slice| wanted <= end(&slices[*slice])) {
                return *lane;
            }
        }
        self.new_track(kind, owner, None, Some(lanes.len()))
    }

    /// JS20
    fn instant(&mut self, event: &Event, utid: usize, ts: i64) {
        let process = Owner::Process(self.threads[utid].upid);
        let (track, is_of_thread) = match event.node.get("s").and_then(Node::text) {
            Some("g") => (self.track("legacy_chrome_global_instants", Owner::Global, None), false),
            Some("p") => (self.track("chrome_process_instant", process, None), false),
            _ => (self.thread_track(utid), true),
        };
        self.settle(track, ts, Some(0));
        let name = if is_of_thread { event.named() } else { event.name.clone() };
        let mut slice = Model::slice(event, ts, 0, name);
        slice.thread_ts = event.tts.filter(|_| is_of_thread);
        self.push(track, slice);
    }

    /// JS21, JS22
    fn async_event(&mut self, event: &Event, utid: usize, ts: i64) {
        let (is_old, step) = match event.phase {
            'b' => (false, 'b'),
            'e' => (false, 'e'),
            'n' => (false, 'n'),
            'S' => (true, 'b'),
            'F' => (true, 'e'),
            _ => (true, 'n'),
        };
        let upid = self.threads[utid].upid;
        let Some((id, process)) = async_id(&event.node, upid) else {
            return self.count("json_parser_failure");
        };
        let key = (event.cat.clone(), id, process, is_old.then(|| event.name.clone()));
        let track = self.lane(event, key, step);
        let name = if step == 'b' { event.named() } else { event.name.clone() };
        let mut slice = Model::slice(event, ts, if step == 'b' { -1 } else { 0 }, name);
        slice.thread_ts = None;
        if is_old {
            let (key, phase) = ("legacy_event.phase", event.phase.to_string());
            slice.args.set(key, key, "string", phase);
        }
        match step {
            'b' => {
                self.settle(track, ts, None);
                self.push(track, slice);
            }
            'n' => {
                self.settle(track, ts, Some(0));
                self.push(track, slice);
            }
            _ => {
                self.close(event, track, ts);
            }
        }
        if matches!(event.phase, 'b' | 'n') {
            self.flow_v2(event, track);
        }
    }

    /// U6
    fn lane(&mut self, event: &Event, key: AsyncKey, step: char) -> usize {
        let process = key.2;
        let set = self.set_of.get(&key).copied().unwrap_or_else(|| {
            let is_it = |set: &Lanes| set.root == event.name && set.process == process;
            let set = self.sets.iter().position(is_it).unwrap_or_else(|| {
                let root = event.name.clone();
                self.sets.push(Lanes { root, process, lanes: Vec::new() });
                self.sets.len() - 1
            });
            self.set_of.insert(key.clone(), set);
            set
        });
        let lanes = &self.sets[set].lanes;
        let own = lanes.iter().position(|lane| lane.owner == key);
        let place = own.or_else(|| lanes.iter().position(|lane| lane.count == 0));
        let number = lanes.len();
        let place = place.unwrap_or_else(|| {
            let (kind, owner) = match process {
                Some(upid) => ("legacy_async_process_slice", Owner::Process(upid)),
                None => ("legacy_async_global_slice", Owner::Global),
            };
            let track = self.new_track(kind, owner, event.name.clone(), Some(number));
            self.sets[set].lanes.push(Lane { track, owner: key.clone(), count: 0 });
            number
        });
        let lane = &mut self.sets[set].lanes[place];
        lane.owner = key;
        match step {
            'b' => lane.count += 1,
            'e' => lane.count = lane.count.saturating_sub(1),
            _ => {}
        }
        lane.track
    }

    /// JS23
    fn flow_v1(&mut self, event: &Event, utid: usize) {
        let Some(id) = flow_id(&event.node, "id") else {
            return self.count("flow_invalid_id");
        };
        let track = self.thread_track(utid);
        let flow = (id, Some((event.name.clone(), event.cat.clone())));
        let direction = match event.phase {
            's' => Direction::Out,
            't' => Direction::InOut,
            _ => Direction::In,
        };
        let is_bound = event.node.get("bp").and_then(Node::text) == Some("e");
        if direction == Direction::In && !is_bound {
            return self.tracks[track].waiting.push(flow);
        }
        self.flow_at(&flow, direction, track);
    }

    /// JS24
    fn flow_v2(&mut self, event: &Event, track: usize) {
        let Some(id) = flow_id(&event.node, "bind_id") else { return };
        let is_true =
            |key: &str| event.node.get(key).is_some_and(|node| node.value == Json::Bool(true));
        let direction = match (is_true("flow_out"), is_true("flow_in")) {
            (true, true) => Direction::InOut,
            (true, false) => Direction::Out,
            (false, true) => Direction::In,
            (false, false) => return self.count("flow_without_direction"),
        };
        self.flow_at(&(id, None), direction, track);
    }

    fn flow_at(&mut self, flow: &FlowKey, direction: Direction, track: usize) {
        match self.tracks[track].stack.last().copied() {
            Some(slice) => self.flow_to(flow, direction, slice),
            None => self.count("flow_no_enclosing_slice"),
        }
    }

    /// G5
    fn flow_to(&mut self, flow: &FlowKey, direction: Direction, slice: usize) {
        let current = self.flows.get(flow).copied();
        match (direction, current) {
            (Direction::Out, Some(_)) => self.count("flow_duplicate_id"),
            (Direction::InOut, None) => self.count("flow_step_without_start"),
            (Direction::In, None) => self.count("flow_end_without_start"),
            (Direction::In, Some(from)) => self.link(flow, from, slice),
            (Direction::InOut, Some(from)) => {
                self.link(flow, from, slice);
                self.flows.insert(flow.clone(), slice);
            }
            (Direction::Out, None) => {
                self.flows.insert(flow.clone(), slice);
            }
        }
    }

    /// G4
    fn link(&mut self, flow: &FlowKey, from: usize, to: usize) {
        let is_turned = self.slices[to].ts < self.slices[from].ts;
        let (from, to) = if is_turned { (to, from) } else { (from, to) };
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let named = flow.1.as_ref().filter(|(name, cat)| name.is_some() || cat.is_some());
        let args = named.map(|(name, cat)| format!("{} {}", text(name), text(cat)));
        self.links.push((from, to, args.unwrap_or_default()));
    }

    /// JS26
    fn counter(&mut self, event: &Event, utid: usize, ts: i64) {
        let Some(Json::Object(members)) = event.args().map(|args| &args.value) else {
            return self.count("json_parser_failure");
        };
        let id = event.node.all("id").find_map(|id| match &id.value {
            Json::Number(_) => id.int().map(|int| int.to_string()),
            _ => id.word().map(str::to_owned),
        });
        let id = id.map_or_else(String::new, |id| format!(" id: {id}"));
        let name = event.name.as_deref().unwrap_or("");
        let owner = Owner::Process(self.threads[utid].upid);
        for (place, (key, node)) in members.iter().enumerate() {
            if members[place + 1..].iter().any(|(later, _)| later == key) {
                continue;
            }
            let value = match &node.value {
                Json::Number(number) => Some(real(number)),
                Json::Text(text) => strtod(text),
                _ => None,
            };
            let Some(value) = value else {
                self.count("json_parser_failure");
                continue;
            };
            let track = self.track("json_counter", owner, Some(format!("{name}{id} {key}")));
            self.tracks[track].is_used = true;
            self.counters.push((track, ts, value));
        }
    }

    /// JS27
    fn state(&mut self, event: &Event, utid: usize, ts: i64) {
        let name = event.named().unwrap_or_default();
        let int = |key: &str| event.arg(key).and_then(Node::int);
        let blocked = event.arg("blocked_function").and_then(Node::text);
        let times = [ts.to_string(), shown(event.dur)];
        let row = [name.clone(), shown(int("io_wait")), shown(blocked)];
        self.states.push((utid, [&times[..], &row[..]].concat()));
        if let Some(cpu) = int("cpu").filter(|_| name == "Running") {
            self.sched.push((utid, [&times[..], &[cpu.to_string()]].concat()));
        }
    }

    fn sample(&mut self, event: &Event, utid: usize, ts: i64) {
        let Some((session, node)) = &event.sample else { return };
        let profile = &self.profiles[session];
        let mut frames = Vec::new();
        let mut next = Some(*node);
        while let Some(frame) = next.and_then(|node| profile.nodes.get(&node)) {
            frames.push(frame.text.clone());
            next = frame.parent;
        }
        if frames.is_empty() {
            return self.count("legacy_v8_cpu_profile_invalid_sample");
        }
        self.samples.push((utid, ts, frames.join("\x1f")));
    }
}
