//! The counters of StackSamples (rules SS5, SS6).

use rustc_hash::FxHashMap;
use timebase_schema::fields::{
    interned_data as interned, stack_sample as field, stack_sample_counter_descriptor as counter,
    stack_sample_defaults as defaults,
};

use super::packet::{Packet, number, some_number};
use super::samples::{Sample, Samples, SessionId, SourceId};
use crate::arguments::{ArgBuf, ArgValue};
use crate::definitions::Names;
use crate::message::Message;
use crate::timeline::Name;
use crate::trackers::tracker::TrackerContext;
use crate::world::{Details, NewTrack, Owner, TrackId, World};

/// The CPU, the session and the source of a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Measured {
    /// The CPU of the sample. A counter has it only if there is one counter for each CPU.
    pub ucpu: Option<u32>,
    pub session: SessionId,
    pub source: Option<SourceId>,
}

/// A `CounterDescriptor`.
#[derive(Debug, Clone)]
struct Descriptor {
    name: Option<Name>,
    unit: Option<Name>,
    multiplier: Option<u64>,
    description: Option<Name>,
    is_of_cpu: bool,
}

impl Descriptor {
    fn read(message: Message<'_>, names: &mut Names) -> Self {
        const OF_CPU: u64 = 2;
        Descriptor {
            name: message.bytes(counter::NAME).map(|name| number(name, names)),
            unit: unit(message, names),
            multiplier: message.number(counter::UNIT_MULTIPLIER),
            description: some_number(message.bytes(counter::DESCRIPTION), names),
            is_of_cpu: message.number(counter::SCOPE) == Some(OF_CPU),
        }
    }
}

/// The unit of a counter; an unknown one is the empty text.
fn unit(message: Message<'_>, names: &mut Names) -> Option<Name> {
    const UNITS: [&str; 9] = [
        "ns",
        "cycles",
        "instructions",
        "bytes",
        "page-faults",
        "cache-misses",
        "cache-references",
        "branch-misses",
        "count",
    ];
    match message.number(counter::UNIT).unwrap_or(0) {
        0 => some_number(message.bytes(counter::UNIT_STR), names),
        unit => {
            let place = usize::try_from(unit).ok().and_then(|n| n.checked_sub(1));
            let known = place.and_then(|place| UNITS.get(place));
            Some(names.number(known.copied().unwrap_or_default().as_bytes()))
        }
    }
}

/// The tracks of counters.
#[derive(Debug, Default)]
pub(super) struct Counters {
    tracks: FxHashMap<(Measured, Option<Name>, bool), TrackId>,
}

impl Counters {
    /// Writes the weights of a sample as values of its counters (rule SS6).
    pub fn measure(
        &mut self,
        packet: &Packet<'_>,
        of: Measured,
        sample: &mut Sample,
        samples: &mut Samples,
        at: &mut TrackerContext<'_, '_>,
    ) {
        let message = packet.message();
        let timebase = timebase(packet, at.world);
        let followers = followers(packet, at.world);
        if let Some(timebase) = timebase {
            if let Some(unit) = timebase.unit {
                samples.set_unit(of.session, unit);
            }
            let track = self.track(&timebase, of, true, packet, at.world);
            let weight = message.number(field::PRIMARY_WEIGHT);
            if let (Some(track), Some(weight)) = (track, weight) {
                samples.value((packet.ts, weight), track, &mut sample.values, at);
            }
        }
        let mut weights = message.numbers(field::FOLLOWER_WEIGHTS);
        for follower in followers {
            let track =
                follower.and_then(|follower| self.track(&follower, of, false, packet, at.world));
            if let (Some(weight), Some(track)) = (weights.next(), track) {
                samples.value((packet.ts, weight), track, &mut sample.values, at);
            }
        }
    }

    /// The track of a counter (rule SS5); `None` for a counter of a CPU if the CPU is not known.
    fn track(
        &mut self,
        counter: &Descriptor,
        of: Measured,
        is_timebase: bool,
        packet: &Packet<'_>,
        world: &mut World,
    ) -> Option<TrackId> {
        let ucpu = match counter.is_of_cpu {
            true => Some(of.ucpu?),
            false => None,
        };
        let names = &world.definitions.names;
        // No name is the same as an empty name.
        let name = counter.name.filter(|&name| !names.text(name).is_empty());
        let key = (Measured { ucpu, ..of }, name, counter.is_of_cpu);
        if let Some(&track) = self.tracks.get(&key) {
            return Some(track);
        }
        let (track_type, owner) = match ucpu {
            Some(ucpu) => ("stack_sample_cpu_counter", Owner::Cpu(ucpu)),
            None => ("stack_sample_session_counter", Owner::None),
        };
        let text = |name: Option<Name>| name.map(|name| Box::from(names.text(name)));
        let new = NewTrack {
            name: text(counter.name),
            unit: text(counter.unit),
            description: text(counter.description),
            ..NewTrack::counter(packet.writer.machine, track_type, "", owner)
        };
        let track = world.tracks.add(new);
        let details = details(counter, of, is_timebase, packet, world);
        world.tracks.describe(track, details);
        self.tracks.insert(key, track);
        Some(track)
    }
}

/// The arguments of a track.
fn details(
    counter: &Descriptor,
    of: Measured,
    is_timebase: bool,
    packet: &Packet<'_>,
    world: &mut World,
) -> Details {
    let definitions = &mut world.definitions;
    let defaults = definitions.profiles.stack_sample_defaults(packet.event.defaults);
    let source = defaults.and_then(|defaults| defaults.text(defaults::SOURCE));
    let names = &mut definitions.names;
    let text = |name: Option<Name>, names: &Names| {
        name.map(|name| names.text(name).to_owned()).unwrap_or_default()
    };
    let (name, description) = (text(counter.name, names), text(counter.description, names));
    let mut details = Details::default();
    let dimensions = &mut details.dimensions;
    let session = ArgValue::Int(of.session.0.into());
    dimensions.push("session_id", session, names);
    dimensions.push("source", ArgValue::Text(&source.unwrap_or_default()), names);
    dimensions.push("counter_name", ArgValue::Text(&name), names);
    let args: &mut ArgBuf = &mut details.source;
    args.push("is_timebase", ArgValue::Bool(is_timebase), names);
    if let Some(multiplier) = counter.multiplier {
        args.push("unit_multiplier", ArgValue::Int(multiplier as i64), names);
    }
    if !description.is_empty() {
        args.push("description", ArgValue::Text(&description), names);
    }
    details
}

/// The descriptor of the timebase.
fn timebase(packet: &Packet<'_>, world: &mut World) -> Option<Descriptor> {
    let message = packet.message();
    if let Some(own) = message.bytes(field::PRIMARY_DESCRIPTOR) {
        return Some(Descriptor::read(Message(own), &mut world.definitions.names));
    }
    if let Some(iid) = message.number(field::PRIMARY_DESCRIPTOR_IID) {
        let mut look_up = packet.look_up(world);
        let entry = look_up.entry(interned::STACK_SAMPLE_COUNTER_DESCRIPTORS, iid)?;
        return Some(Descriptor::read(entry, look_up.names));
    }
    let definitions = &mut world.definitions;
    let defaults = definitions.profiles.stack_sample_defaults(packet.event.defaults)?;
    let own = defaults.bytes(defaults::PRIMARY_DESCRIPTOR)?;
    Some(Descriptor::read(Message(own), &mut definitions.names))
}

/// The descriptors of the followers; `None` for a number without an entry.
fn followers(packet: &Packet<'_>, world: &mut World) -> Vec<Option<Descriptor>> {
    let message = packet.message();
    let names = &mut world.definitions.names;
    let own: Vec<_> = message
        .messages(field::FOLLOWER_DESCRIPTORS)
        .map(|follower| Some(Descriptor::read(follower, names)))
        .collect();
    if !own.is_empty() {
        return own;
    }
    let mut look_up = packet.look_up(world);
    let mut interned = Vec::new();
    for iid in message.numbers(field::FOLLOWER_DESCRIPTOR_IIDS) {
        let entry = look_up.entry(interned::STACK_SAMPLE_COUNTER_DESCRIPTORS, iid);
        interned.push(entry.map(|entry| Descriptor::read(entry, look_up.names)));
    }
    if !interned.is_empty() {
        return interned;
    }
    let definitions = &mut world.definitions;
    let profiles = &definitions.profiles;
    let defaults = profiles.stack_sample_defaults(packet.event.defaults);
    let followers = defaults.into_iter().flat_map(|of| of.messages(defaults::FOLLOWER_DESCRIPTORS));
    let names = &mut definitions.names;
    followers.map(|follower| Some(Descriptor::read(follower, names))).collect()
}
