//! The packets of all files, in the order of processing, and the result for each.

use super::archive::File;
use super::graph::*;
use super::manifest::{Entry, Manifest, ManifestClock};
use super::model::{Machine, PacketRow, ReadingRow, Sample, SnapshotRows};
use super::wire::{self, Packet, Synced};
use std::collections::BTreeMap;

const INCREMENTAL_STATE_CLEARED: u32 = 1;
const NEEDS_INCREMENTAL_STATE: u32 = 2;

/// A part: the position of the file in the order of processing, and the machine.
type PartId = (usize, u64);

#[derive(Clone, Debug, Default)]
struct Part {
    isolated: bool,
    /// The clock that the last snapshot named, which is the private clock of a pinned file (T2).
    primary: Option<u32>,
    /// Whether an accepted snapshot, other than those of X19, holds BOOTTIME (T2).
    holds_boottime: bool,
    /// Whether its path was settled, and whether it was isolated then (X26).
    settled: Option<bool>,
}

/// X25
#[derive(Clone, Copy, Debug)]
struct Claim {
    file: usize,
    machine: u64,
    by_host: bool,
    explicit: bool,
}

/// A time that waits for more snapshots.
#[derive(Clone, Debug)]
struct Waiting {
    /// The row of the packet.
    row: usize,
    what: Time,
    part: PartId,
    /// Its clock and its reading.
    clock: u32,
    seq: u32,
    reading: i128,
    /// Whether the clock was in a snapshot then (V5).
    known: bool,
}

/// A time of a packet: its own, or that of its nth event.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Time {
    Own,
    Event(usize),
}

/// The history of an incremental clock (V5).
enum Tick {
    Reset(Clock, i128),
    Delta(Clock, i128),
}

pub struct Import {
    manifest: Manifest,
    pub machines: Vec<Machine>,
    /// The file that has the first packet of a machine (X15).
    first_files: BTreeMap<u64, usize>,
    parts: BTreeMap<PartId, Part>,
    pub graph: Graph,
    pub rows: Vec<PacketRow>,
    pub samples: Vec<Sample>,
    waiting: Vec<Waiting>,
    /// The row of the packet for each snapshot of a packet.
    snapshot_packets: Vec<(usize, usize)>,
    /// The trace times of the readings of each snapshot, once it is placed (N6).
    times: BTreeMap<usize, Vec<i64>>,
    ticks: Vec<Tick>,
    /// The machine and the ftrace_timestamp of each added pair (I1).
    pairs: Vec<(PartId, i64)>,
    pub trace_time: Option<Clock>,
    claim: Option<Claim>,
    /// Whether a packet was converted, and whether a snapshot was placed (T1, X25).
    converted: bool,
    placed: bool,
}

impl Import {
    pub fn new(manifest: Manifest) -> Import {
        let named = manifest.machines.iter().enumerate();
        let mut machines: Vec<Machine> = named
            .map(|(n, name)| Machine { raw_id: (1 << 32) + n as u64, name: Some(name.clone()) })
            .collect();
        // A reference to the host makes it, because a manifest cannot name it.
        let of = |clock: &ManifestClock| match clock {
            ManifestClock::Shared(_, machine) | ManifestClock::Private(_, machine) => *machine,
        };
        let relations = manifest.relations.iter();
        let mut referred = relations.flat_map(|r| [of(&r.clock), of(&r.reference)]);
        let by_trace_time = manifest.trace_time.as_ref().and_then(|t| t.machine) == Some(0);
        if by_trace_time || referred.any(|machine| machine == 0) {
            machines.push(Machine { raw_id: 0, name: None });
        }
        // X25 (1)
        let trace_time = manifest.trace_time.as_ref().and_then(|trace_time| {
            let first = machines.first().map(|machine| machine.raw_id);
            let machine = trace_time.machine.or(first)?;
            Some(Clock::shared(trace_time.clock, machine))
        });
        Import {
            manifest,
            first_files: BTreeMap::new(),
            parts: BTreeMap::new(),
            graph: Graph {
                snapshots: Vec::new(),
                machines: machines.iter().map(|machine| machine.raw_id).collect(),
            },
            machines,
            rows: Vec::new(),
            samples: Vec::new(),
            waiting: Vec::new(),
            snapshot_packets: Vec::new(),
            times: BTreeMap::new(),
            ticks: Vec::new(),
            pairs: Vec::new(),
            trace_time,
            claim: None,
            converted: false,
            placed: false,
        }
    }

    /// The relations and pins, before any file is read (X35, X37).
    pub fn relate(&mut self, traces: &[File]) {
        for relation in self.manifest.relations.clone() {
            let clock = |clock: &ManifestClock| match clock {
                ManifestClock::Shared(id, machine) => Some(Clock::shared(*id, *machine)),
                ManifestClock::Private(path, machine) => {
                    let place = traces.iter().position(|trace| trace.name == *path)?;
                    Some(Clock { tag: place + 1, ..Clock::shared(TRACE_FILE, *machine) })
                }
            };
            let (Some(a), Some(b)) = (clock(&relation.clock), clock(&relation.reference)) else {
                continue;
            };
            let snapshot = Snapshot {
                readings: vec![
                    Reading::of(a, relation.value.into()),
                    Reading::of(b, relation.reference_value.into()),
                ],
                source: Source::Manifest,
            };
            if self.graph.accepts(&snapshot, self.trace_time_or_guess()) {
                self.push(snapshot);
            }
        }
    }

    /// Trace time for N2 and X16 before it is known: BOOTTIME of the first machine.
    fn trace_time_or_guess(&self) -> Clock {
        let first = self.machines.first().map_or(0, |machine| machine.raw_id);
        self.trace_time.unwrap_or(Clock::shared(BOOTTIME, first))
    }

    pub fn file(&mut self, file: usize, trace: &File) -> Result<(), String> {
        let entry = self.manifest.entries.get(&trace.name).cloned();
        let entry = entry.unwrap_or_default();
        let packets = wire::packets(&trace.bytes);
        for (number, packet) in packets.iter().enumerate() {
            self.rows.push(PacketRow {
                file: trace.name.clone(),
                number,
                machine: None,
                ts: None,
                unresolved: None,
                clock: None,
                events: Vec::new(),
                payload: packet.payload,
            });
            self.packet(file, &entry, &packets[..=number])?;
        }
        self.end_of_file(file, &entry);
        Ok(())
    }

    /// Makes the machine and the part if they do not exist (X11).
    fn meet(&mut self, part: PartId, entry: &Entry) {
        let (file, machine) = part;
        if !self.graph.machines.contains(&machine) {
            self.graph.machines.push(machine);
            self.machines.push(Machine { raw_id: machine, name: None });
        }
        // X36: the first row of `machine`
        if self.trace_time.is_none()
            && let Some(trace_time) = &self.manifest.trace_time
        {
            let machine = trace_time.machine.unwrap_or(self.machines[0].raw_id);
            self.trace_time = Some(Clock::shared(trace_time.clock, machine));
        }
        self.first_files.entry(machine).or_insert(file);
        let primary = entry.pinned.then_some(TRACE_FILE);
        self.parts.entry(part).or_insert_with(|| Part { primary, ..Part::default() });
    }

    /// A clock of a part, which may have its own clocks (X14).
    fn clock_if(part: PartId, id: u32, seq: u32, isolated: bool) -> Clock {
        let (file, machine) = part;
        let of_sequence = is_sequence_scoped(id);
        Clock {
            id,
            seq: if of_sequence { seq } else { 0 },
            tag: if of_sequence || isolated { file } else { 0 },
            machine,
        }
    }

    fn clock(&self, part: PartId, id: u32, seq: u32, entry: &Entry) -> Clock {
        let private = entry.pinned && id == TRACE_FILE;
        Import::clock_if(part, id, seq, self.parts[&part].isolated || private)
    }

    fn packet(&mut self, file: usize, entry: &Entry, packets: &[Packet]) -> Result<(), String> {
        let packet = packets.last().unwrap();
        let row = self.rows.len() - 1;
        let has_id = packet.machine_id != 0;
        let breaks_pin = has_id || packet.snapshot.is_some() || packet.remote_sync.is_some();
        if entry.pinned && breaks_pin {
            return Err("X37: a pinned file has one clock".to_owned());
        }
        if entry.machine.is_some() && packet.remote_sync.is_some() {
            return Err("X33: clocks of another machine in a file that is one machine".to_owned());
        }
        let machine = entry.machine_of(packet.machine_id)?;
        let host: PartId = (file, entry.machine_of(0)?);
        // X11
        if packet.is_marker && !has_id {
            return Ok(());
        }
        let part = (file, machine);
        self.meet(part, entry);
        self.rows[row].machine = Some(machine);
        if let Some(name) = &packet.machine_name {
            let machine = self.machines.iter_mut().find(|m| m.raw_id == machine);
            let machine = machine.unwrap();
            if machine.raw_id < 1 << 32 {
                machine.name = Some(name.clone());
            }
        }

        if packet.snapshot.is_some() {
            self.clock_snapshot(row, packet, part, host, entry);
            return Ok(());
        }
        if let Some(synced) = &packet.remote_sync {
            self.remote_sync(row, packet, synced, part, host, entry);
        }
        self.pair(packet, part, entry);
        self.events(row, packet, part, host, entry);
        self.own_time(row, packets, part, host, entry);
        Ok(())
    }

    /// Whether the state of the last packet's sequence is valid, and its default (S1, S2, S3, X13).
    fn sequence_state(packets: &[Packet]) -> (bool, u32) {
        let last = packets.last().unwrap();
        let (mut valid, mut default) = (false, 0);
        let same = |p: &&Packet| (p.machine_id, p.seq) == (last.machine_id, last.seq);
        for packet in packets.iter().filter(same).filter(|p| p.seq != 0) {
            if packet.flags & INCREMENTAL_STATE_CLEARED != 0 || packet.incremental_state_cleared {
                (valid, default) = (true, 0);
            } else if packet.previous_packet_dropped {
                valid = false;
            }
            default = packet.defaults.unwrap_or(default);
        }
        (valid, default)
    }

    /// T2, X17
    fn default_clock(&self, part: PartId, host: PartId) -> Option<u32> {
        let of = |part: &Part| part.primary.or(part.holds_boottime.then_some(BOOTTIME));
        let own = self.parts.get(&part).and_then(of);
        own.or_else(|| self.parts.get(&host).and_then(of))
    }

    /// Adds a snapshot of a part, if it is accepted. This makes the part isolated (X15), and then
    /// the snapshot also holds the machine's REALTIME (X16). `readings` returns the readings with
    /// the clocks of a part that is or is not isolated.
    fn add(
        &mut self,
        part: PartId,
        source: Source,
        trace_time: Clock,
        readings: &dyn Fn(bool) -> Vec<Reading>,
    ) -> Option<usize> {
        let (file, machine) = part;
        let isolated = self.first_files[&machine] != file;
        let mut readings = readings(isolated);
        if isolated && machine != trace_time.machine {
            for reading in readings.clone() {
                if [REALTIME, REALTIME_COARSE].contains(&reading.clock.id) {
                    let clock = Clock::shared(reading.clock.id, machine);
                    readings.push(Reading { clock, ..reading });
                }
            }
        }
        let is_empty = readings.is_empty();
        let snapshot = Snapshot { readings, source };
        if !self.graph.accepts(&snapshot, trace_time) {
            return None;
        }
        for reading in &snapshot.readings {
            self.ticks.push(Tick::Reset(reading.clock, reading.ticks)); // V5
        }
        self.graph.snapshots.push(snapshot);
        if isolated && !is_empty {
            self.parts.get_mut(&part).unwrap().isolated = true;
        }
        Some(self.graph.snapshots.len() - 1)
    }

    /// The trace time of the first reading that has one; the readings without one take it (D3, N6).
    fn place(&mut self, snapshot: usize) -> Result<i64, Option<Reason>> {
        let Some(trace_time) = self.trace_time else {
            return Err(None);
        };
        let readings = self.graph.snapshots[snapshot].readings.iter();
        let results: Vec<_> =
            readings.map(|r| self.graph.convert(r.clock, r.ticks, trace_time)).collect();
        let first = results.iter().find_map(|result| result.ok());
        let first = first.ok_or_else(|| results.first().and_then(|result| result.err()))?;
        let times = results.iter().map(|result| result.unwrap_or(first));
        self.times.insert(snapshot, times.collect());
        Ok(first)
    }

    /// Adds a snapshot without checking it, and places it.
    fn push(&mut self, snapshot: Snapshot) -> bool {
        self.graph.snapshots.push(snapshot);
        self.place(self.graph.snapshots.len() - 1).is_ok()
    }

    pub fn snapshot_rows(&self, traces: &[File]) -> Vec<SnapshotRows> {
        let rows = |(n, snapshot): (usize, &Snapshot)| {
            let row = |(place, reading): (usize, &Reading)| ReadingRow {
                file: match reading.clock.tag {
                    0 => None,
                    tag => Some(traces[tag - 1].name.clone()),
                },
                raw_id: reading.clock.machine,
                clock_id: reading.clock.id,
                seq_id: reading.clock.seq,
                value: reading.value() as i64,
                ts: self.times.get(&n).map(|times| times[place]),
            };
            let source = match snapshot.source {
                Source::Manifest => "manifest",
                Source::Service => "service",
                Source::Writer => "writer",
                Source::RemoteSync => "remote_sync",
                Source::Ftrace => "ftrace",
                Source::Assumed => "assumed",
            };
            SnapshotRows {
                source: source.to_owned(),
                readings: snapshot.readings.iter().enumerate().map(row).collect(),
            }
        };
        let snapshots = self.graph.snapshots.iter();
        snapshots.enumerate().map(rows).collect()
    }

    fn clock_snapshot(
        &mut self,
        row: usize,
        packet: &Packet,
        part: PartId,
        host: PartId,
        entry: &Entry,
    ) {
        let message = packet.snapshot.as_ref().unwrap();
        let usable = |id: &u32| *id != 0 && !is_sequence_scoped(*id);
        let primary = message.primary.filter(usable);
        let readings = |isolated| {
            let clocks = message.clocks.iter();
            clocks
                .map(|c| Reading {
                    clock: Import::clock_if(part, c.id, packet.seq, isolated),
                    ticks: c.timestamp.into(),
                    unit: c.unit.max(1), // N3
                    incremental: c.incremental,
                })
                .collect()
        };
        let claimed = self.claim(message, primary, part, host);
        let trace_time = claimed.map(|(clock, _)| clock);
        let source = if packet.seq == 1 { Source::Service } else { Source::Writer };
        let new = trace_time.unwrap_or(self.trace_time_or_guess());
        let Some(snapshot) = self.add(part, source, new, &readings) else {
            self.rows[row].unresolved = Some("rejected"); // N1
            return;
        };
        if let Some((clock, claim)) = claimed {
            self.trace_time = Some(clock);
            self.claim = Some(claim);
        }
        let holds_boottime = message.clocks.iter().any(|c| c.id == BOOTTIME);
        let part = self.parts.get_mut(&part).unwrap();
        if !entry.pinned {
            part.primary = primary.or(part.primary);
        }
        part.holds_boottime |= holds_boottime;
        match self.place(snapshot) {
            Ok(ts) => {
                self.rows[row].ts = Some(ts);
                self.placed = true; // T1
            }
            Err(reason) => {
                self.rows[row].unresolved = reason;
                self.snapshot_packets.push((row, snapshot));
            }
        }
    }

    /// The trace time that a snapshot claims, if its claim counts (X25 (2), T1).
    fn claim(
        &self,
        message: &wire::Snapshot,
        primary: Option<u32>,
        part: PartId,
        host: PartId,
    ) -> Option<(Clock, Claim)> {
        let holds = |id| message.clocks.iter().any(|c| c.id == id);
        let implicit = holds(BOOTTIME) && !holds(TRACE_FILE);
        let id = primary.or(implicit.then_some(BOOTTIME))?;
        let (file, machine) = part;
        let new = Claim { file, machine, by_host: part == host, explicit: primary.is_some() };
        let counts = match self.claim {
            None => self.trace_time.is_none(),
            Some(old) if old.file != new.file || self.converted => false,
            Some(old) if old.machine == new.machine => new.explicit && !self.placed,
            Some(old) => new.by_host && !old.by_host,
        };
        counts.then_some((Clock::shared(id, machine), new))
    }

    /// X19–X23
    fn remote_sync(
        &mut self,
        row: usize,
        packet: &Packet,
        synced: &[Synced],
        part: PartId,
        host: PartId,
        entry: &Entry,
    ) {
        // X23
        if packet.machine_id == 0 {
            return;
        }
        for synced in synced {
            let clocks = synced.client.clocks.iter();
            let readings = |isolated| {
                let reading = |c: &wire::Reading| {
                    let clock = Import::clock_if(part, c.id, packet.seq, isolated);
                    Reading::of(clock, c.timestamp.into())
                };
                clocks.clone().map(reading).collect()
            };
            let trace_time = self.trace_time_or_guess();
            let added = self.add(part, Source::Service, trace_time, &readings);
            self.placed |= added.is_some_and(|snapshot| self.place(snapshot).is_ok());
        }
        let samples = samples(synced);
        for (clock, sample) in &samples {
            self.samples.push(Sample {
                packet: row,
                machine: part.1,
                clock: *clock,
                ..sample.clone()
            });
        }
        self.meet(host, entry); // X22
        let mut clocks: Vec<u32> = samples.iter().map(|(clock, _)| *clock).collect();
        clocks.sort_unstable();
        clocks.dedup();
        for id in clocks {
            // X21
            let of_clock = samples.iter().filter(|(clock, _)| *clock == id);
            let offsets: Vec<i128> = of_clock.map(|(_, s)| s.offset.into()).collect();
            let offset = offsets.iter().sum::<i128>() / offsets.len() as i128;
            let hosts = synced.iter().rev().map(|synced| read(&synced.host, id));
            let last = hosts.flatten().find(|value| *value != 0).unwrap();
            let client = self.clock(part, id, packet.seq, entry);
            let host = self.clock(host, id, packet.seq, entry);
            let pair = Snapshot {
                readings: vec![Reading::of(host, last), Reading::of(client, last + offset)],
                source: Source::RemoteSync,
            };
            if self.graph.accepts(&pair, self.trace_time_or_guess()) {
                self.placed |= self.push(pair);
            }
        }
    }

    /// The snapshot of a bundle's pair (I1).
    fn pair(&mut self, packet: &Packet, part: PartId, entry: &Entry) {
        let Some(bundle) = &packet.bundle else {
            return;
        };
        let Some(id) = bundle_clock(bundle.clock) else {
            return;
        };
        let (Some(ftrace), Some(boot)) = (bundle.ftrace_timestamp, bundle.boot_timestamp) else {
            return;
        };
        let last = self.pairs.iter().rfind(|(p, _)| p.1 == part.1);
        let is_last = last.is_some_and(|(_, last)| *last == ftrace);
        let lacks_sequence = is_sequence_scoped(id) && packet.seq == 0;
        if id == BOOTTIME || lacks_sequence || is_last || ftrace < 0 || boot < 0 {
            return;
        }
        let readings = |isolated| {
            [(id, ftrace), (BOOTTIME, boot)]
                .map(|(id, value)| {
                    let clock = Import::clock_if(part, id, packet.seq, isolated);
                    Reading::of(clock, value.into())
                })
                .to_vec()
        };
        let trace_time = self.trace_time_or_guess();
        let added = self.add(part, Source::Ftrace, trace_time, &readings);
        if let Some(snapshot) = added {
            self.pairs.push((part, ftrace));
            if !entry.pinned {
                self.parts.get_mut(&part).unwrap().holds_boottime = true;
            }
            self.placed |= self.place(snapshot).is_ok(); // T1
        }
    }

    /// I1
    fn events(&mut self, row: usize, packet: &Packet, part: PartId, host: PartId, entry: &Entry) {
        let Some(bundle) = &packet.bundle else {
            return;
        };
        for (n, timestamp) in bundle.events.iter().enumerate() {
            self.rows[row].events.push(None);
            let (Some(timestamp), Some(id)) = (timestamp, bundle_clock(bundle.clock)) else {
                continue;
            };
            if is_sequence_scoped(id) && packet.seq == 0 {
                continue;
            }
            let waiting = Waiting {
                row,
                what: Time::Event(n),
                part,
                clock: id,
                seq: packet.seq,
                reading: (*timestamp).into(),
                known: true,
            };
            self.first_try(waiting, host, entry);
        }
    }

    /// C4–C6, S4, V5, D1
    fn own_time(
        &mut self,
        row: usize,
        packets: &[Packet],
        part: PartId,
        host: PartId,
        entry: &Entry,
    ) {
        let packet = packets.last().unwrap();
        let (valid, default) = Import::sequence_state(packets);
        let named = if packet.clock_id == 0 { default } else { packet.clock_id };
        let id = if packet.payload == Some(69) && packet.clock_id == 0 {
            Some(BOOTTIME) // C6
        } else if named == 0 {
            self.default_clock(part, host)
        } else {
            Some(named)
        };
        if packet.flags & NEEDS_INCREMENTAL_STATE != 0 && !valid {
            self.rows[row].unresolved = Some("incremental_state_lost"); // S4
            return;
        }
        let Some(timestamp) = packet.timestamp else {
            return; // D3
        };
        let Some(id) = id else {
            // Counts as trace time (T2, X17).
            let ts = i64::try_from(timestamp);
            self.rows[row].ts = ts.ok();
            self.rows[row].unresolved = ts.is_err().then_some("overflow");
            return;
        };
        let clock = self.clock(part, id, packet.seq, entry);
        let mut reading = i128::from(timestamp);
        if self.graph.is_incremental(clock) {
            self.ticks.push(Tick::Delta(clock, reading));
            reading = self.accumulated(clock);
        }
        if is_sequence_scoped(id) && packet.seq == 0 {
            self.rows[row].unresolved = Some("no_sequence_id"); // C5
            return;
        }
        let waiting = Waiting {
            row,
            what: Time::Own,
            part,
            clock: id,
            seq: packet.seq,
            reading,
            known: self.graph.is_known(clock),
        };
        self.first_try(waiting, host, entry);
    }

    /// The value of an incremental clock (V5).
    fn accumulated(&self, clock: Clock) -> i128 {
        let mut value = 0;
        for tick in &self.ticks {
            match *tick {
                Tick::Reset(c, ticks) if c == clock => value = ticks,
                Tick::Delta(c, delta) if c == clock => value += delta,
                _ => {}
            }
        }
        value
    }

    /// D1, X25 (3)
    fn first_try(&mut self, waiting: Waiting, host: PartId, entry: &Entry) {
        if self.trace_time.is_none() {
            if waiting.part != host {
                self.waiting.push(waiting);
                return;
            }
            self.trace_time = Some(Clock::shared(BOOTTIME, waiting.part.1));
        }
        self.attempt(waiting, host, entry);
    }

    /// Settles the path (X26), then converts; failures wait.
    fn attempt(&mut self, waiting: Waiting, host: PartId, entry: &Entry) {
        let clock = self.clock(waiting.part, waiting.clock, waiting.seq, entry);
        let private = entry.pinned && waiting.clock == TRACE_FILE;
        if !private {
            self.settle(waiting.part, host);
        }
        self.converted = true;
        let result = if !waiting.known && self.graph.is_incremental(clock) {
            Err("no_base") // V5
        } else {
            let trace_time = self.trace_time.unwrap();
            self.graph.convert(clock, waiting.reading, trace_time)
        };
        let row = &mut self.rows[waiting.row];
        match waiting.what {
            Time::Own => {
                row.ts = result.ok();
                row.unresolved = result.err();
                row.clock = Some((clock, waiting.reading));
            }
            Time::Event(n) => row.events[n] = result.ok(),
        }
        if result.is_err() {
            self.waiting.push(waiting);
        }
    }

    /// The path of a part; the file's host part comes first (X26).
    fn settle(&mut self, part: PartId, host: PartId) {
        let is_settled = |import: &Import, id: PartId| {
            let part = import.parts.get(&id);
            part.is_none_or(|part| part.settled == Some(part.isolated))
        };
        if is_settled(self, part) {
            return;
        }
        for id in [host, part] {
            if !is_settled(self, id) {
                let part = self.parts.get_mut(&id).unwrap();
                part.settled = Some(part.isolated);
                self.bridge(id);
            }
        }
    }

    fn bridge(&mut self, part: PartId) {
        let machine = part.1;
        let trace_time = self.trace_time.unwrap();
        let own = Import::clock_if(part, BOOTTIME, 0, self.parts[&part].isolated);
        let shared = Clock::shared(BOOTTIME, machine);
        if self.graph.reaches(own, trace_time) {
            return; // (a)
        }
        if own != shared {
            self.assume(own, shared); // (b)
        }
        if self.graph.reaches(shared, trace_time) {
            return; // (c)
        }
        let realtime = Clock::shared(REALTIME, machine);
        let other = Clock::shared(REALTIME, trace_time.machine);
        if realtime != other
            && self.graph.reaches(shared, realtime)
            && self.graph.reaches(other, trace_time)
        {
            if !self.graph.reaches(realtime, other) {
                self.assume(realtime, other); // (d)
            }
        } else if [BOOTTIME, TRACE_FILE].contains(&trace_time.id) {
            self.assume(shared, trace_time); // (e)
        }
    }

    /// X27
    fn assume(&mut self, a: Clock, b: Clock) {
        let reading =
            |clock| Reading { unit: self.graph.unit(clock) as u64, ..Reading::of(clock, 0) };
        let readings = vec![reading(a), reading(b)];
        let source = Source::Assumed;
        self.push(Snapshot { readings, source });
    }

    /// X25 (4), X26, X29
    fn end_of_file(&mut self, file: usize, entry: &Entry) {
        let host = (file, entry.machine_of(0).unwrap());
        let of_file = |waiting: &&Waiting| waiting.part.0 == file;
        if self.trace_time.is_none()
            && let Some(first) = self.waiting.iter().find(of_file)
        {
            self.trace_time = Some(Clock::shared(BOOTTIME, first.part.1));
        }
        if self.trace_time.is_some() {
            for machine in self.graph.machines.clone() {
                let part = (file, machine);
                if self.parts.get(&part).is_some_and(|part| part.isolated) {
                    self.settle(part, host);
                }
            }
        }
        self.retry(file, entry);
    }

    fn retry(&mut self, file: usize, entry: &Entry) {
        let host = (file, entry.machine_of(0).unwrap());
        let waiting = std::mem::take(&mut self.waiting);
        for waiting in waiting {
            if waiting.part.0 == file {
                self.attempt(waiting, host, entry);
            } else {
                self.waiting.push(waiting);
            }
        }
    }

    /// Tries all failures once more, at the end of the import (X29).
    pub fn end(&mut self) {
        // X25: nothing was converted
        if self.trace_time.is_none() && !self.machines.is_empty() {
            self.trace_time = Some(self.trace_time_or_guess());
        }
        let mut files: Vec<usize> = self.parts.keys().map(|(file, _)| *file).collect();
        files.dedup();
        for file in files {
            let of_file = |waiting: &&Waiting| waiting.part.0 == file;
            let Some(first) = self.waiting.iter().find(of_file) else {
                continue;
            };
            let name = &self.rows[first.row].file;
            let entry = self.manifest.entries.get(name).cloned();
            self.retry(file, &entry.unwrap_or_default());
        }
        for snapshot in 0..self.graph.snapshots.len() {
            if !self.times.contains_key(&snapshot) {
                // Rows without a time stay without one.
                let _ = self.place(snapshot);
            }
        }
        for (row, snapshot) in std::mem::take(&mut self.snapshot_packets) {
            let placed = self.place(snapshot);
            self.rows[row].ts = placed.ok();
            self.rows[row].unresolved = placed.err().flatten();
        }
    }
}

/// The clock of a bundle's events (I1).
fn bundle_clock(clock: u32) -> Option<u32> {
    match clock {
        0 => Some(BOOTTIME),
        2 | 3 => Some(64),
        4 => Some(MONOTONIC_RAW),
        _ => None,
    }
}

/// The readings of a clock in a snapshot of X20.
fn read(snapshot: &wire::Snapshot, clock: u32) -> Option<i128> {
    let reading = snapshot.clocks.iter().find(|c| c.id == clock);
    reading.map(|reading| reading.timestamp.into())
}

/// The clocks and offsets of all rounds in a packet (X20, X24).
fn samples(synced: &[Synced]) -> Vec<(u32, Sample)> {
    let mut samples = Vec::new();
    for round in synced.windows(2) {
        let boottime = |synced: &Synced| read(&synced.client, BOOTTIME).unwrap_or(0);
        let grew = boottime(&round[1]) - boottime(&round[0]);
        if !(0..30_000_000_000).contains(&grew) {
            continue;
        }
        for clock in round[0].client.clocks.iter().map(|c| c.id) {
            let readings = [
                read(&round[0].client, clock),
                read(&round[0].host, clock),
                read(&round[1].client, clock),
                read(&round[1].host, clock),
            ];
            let readings = readings.map(|reading| reading.filter(|value| *value != 0));
            let [Some(c1), Some(h1), Some(c2), Some(h2)] = readings else {
                continue;
            };
            let mut sample = |host: i128, offset: i128, round_trip: i128| {
                let sample = Sample {
                    packet: 0,
                    machine: 0,
                    clock,
                    host_value: host as i64,
                    offset: offset as i64,
                    half_round_trip: (round_trip / 2) as i64,
                };
                samples.push((clock, sample));
            };
            sample(h1, (c1 + c2) / 2 - h1, c2 - c1);
            let middle = (h1 + h2) / 2;
            sample(middle, c2 - middle, h2 - h1);
        }
    }
    samples
}
