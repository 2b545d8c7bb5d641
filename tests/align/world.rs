//! Traces of machines that send each other messages, and what their events say.

use std::path::PathBuf;

use timebase_lab::encode::{Message, trace_of};

use crate::support::Place;
use crate::support::kernel::new;

/// The wall clock of the first machine when its BOOTTIME is 0.
const EPOCH: i64 = 1_700_000_000_000_000_000;

/// A machine: how much its BOOTTIME and its wall clock are ahead of true time, in ns.
#[derive(Clone, Copy)]
pub struct Machine {
    pub boottime: i64,
    pub wall: i64,
    pub ppm: i64,
    /// From a true time on, both clocks stand still for so long, or jump if it is negative.
    pub stop: (i64, i64),
}

impl Machine {
    pub fn shows(&self, truth: i64) -> i64 {
        let counted = self.counted(truth);
        counted + self.boottime + counted / 1_000_000 * self.ppm
    }

    /// The time that its clocks have counted.
    fn counted(&self, truth: i64) -> i64 {
        let (at, stop) = self.stop;
        if truth <= at { truth } else { (truth - stop).max(at) }
    }
}

/// The role of an event in a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Start,
    Through,
    End,
}

/// An event of a flow at a true time. One with a duration is a slice.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    pub machine: usize,
    pub at: i64,
    pub role: Role,
    pub flow: u64,
    pub dur: i64,
}

/// Writes a trace for each machine, and a manifest that names them.
pub fn write(place: &Place, machines: &[Machine], events: &[Event]) -> (Vec<String>, String) {
    let name = |number: usize| format!("m{number:03}");
    let paths = machines.iter().enumerate().map(|(number, machine)| {
        let mut packets = Vec::new();
        for second in 0..=60 {
            packets.push((second * 1_000_000_000, snapshot(machine, second * 1_000_000_000)));
        }
        packets.push((0, track()));
        for event in events.iter().filter(|event| event.machine == number) {
            let kind = if event.dur > 0 { 1 } else { 3 };
            packets.push((event.at, track_event(machine, event.at, kind, &flow(event))));
            if event.dur > 0 {
                let end = event.at + event.dur;
                packets.push((end, track_event(machine, end, 2, &new())));
            }
        }
        packets.sort_by_key(|(at, _)| *at);
        let packets: Vec<Message> = packets.into_iter().map(|(_, packet)| packet).collect();
        place.write(&format!("{}.pftrace", name(number)), &trace_of(&packets))
    });
    let paths = paths.map(text).collect();
    let files: Vec<String> = (0..machines.len())
        .map(|number| {
            let name = name(number);
            format!(r#"{{"path": "{name}.pftrace", "machine": {{"name": "{name}"}}}}"#)
        })
        .collect();
    (paths, files.join(", "))
}

/// A manifest with these files and more fields.
pub fn manifest(place: &Place, files: &str, more: &str) -> String {
    let whole = format!(r#"{{"perfetto_manifest": {{"version": 1{more}, "files": [{files}]}}}}"#);
    text(place.write("machines.json", whole.as_bytes()))
}

pub fn text(path: PathBuf) -> String {
    path.to_str().unwrap().to_owned()
}

fn snapshot(machine: &Machine, truth: i64) -> Message {
    let clock = |id, value: i64| new().number(1, id).number(2, value as u64);
    let boottime = machine.shows(truth);
    let wall = EPOCH + machine.counted(truth) + machine.wall;
    let both = new().message(1, clock(6, boottime)).message(1, clock(1, wall));
    new().number(8, boottime as u64).number(58, 6).number(10, 1).message(6, both)
}

fn track() -> Message {
    new().number(10, 2).message(60, new().number(1, 7).text(2, "messages"))
}

/// A packet with a track event of a type.
fn track_event(machine: &Machine, truth: i64, kind: u64, more: &Message) -> Message {
    let event = new().number(9, kind).number(11, 7).text(23, "message").and(more);
    let packet = new().number(8, machine.shows(truth) as u64).number(58, 6).number(10, 2);
    packet.message(11, event)
}

fn flow(event: &Event) -> Message {
    match event.role {
        Role::Start => {
            new().message(6, new().number(8, event.flow).number(13, 2)) // bind_id, OUT
        }
        Role::Through => new().fixed64(47, event.flow),
        Role::End => new().fixed64(48, event.flow),
    }
}

/// Writes one trace of a host and a guest. Each ten seconds, two questions for the host's time take 2 ms, of which
/// the answer takes 700 µs.
pub fn write_guest(place: &Place, [host, guest]: &[Machine; 2], events: &[Event]) -> String {
    const RAW_ID: u32 = 98;
    let mut packets = vec![(0, track()), (0, track().number(RAW_ID, 7))];
    for second in 0..=60 {
        packets.push((second * 1_000_000_000, snapshot(host, second * 1_000_000_000)));
    }
    for second in (0..=60).step_by(10) {
        let at = second * 1_000_000_000;
        let boottime = |value: i64| new().message(1, new().number(1, 6).number(2, value as u64));
        let question = |at: i64| {
            let asked = new().message(2, boottime(guest.shows(at)));
            new().message(1, asked.message(3, boottime(host.shows(at + 1_300_000))))
        };
        let rounds = question(at).and(&question(at + 2_000_000));
        packets.push((at, new().number(RAW_ID, 7).message(107, rounds)));
    }
    for event in events {
        let machine = if event.machine == 0 { host } else { guest };
        let packet = track_event(machine, event.at, 3, &flow(event));
        packets
            .push((event.at, if event.machine == 0 { packet } else { packet.number(RAW_ID, 7) }));
    }
    packets.sort_by_key(|(at, _)| *at);
    let packets: Vec<Message> = packets.into_iter().map(|(_, packet)| packet).collect();
    text(place.write("guest.pftrace", &trace_of(&packets)))
}
