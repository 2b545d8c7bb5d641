//! Residency of power entities, and energy of consumers (OT2, OT3).

use super::args::{Args, Said};
use super::machines::Machine;
use super::packets::Packets;
use super::tracks::{Row, Track, TrackId, TrackOwner};
use super::wire::Message;
use super::world::World;
use std::collections::BTreeMap;

/// A machine's `raw_id`, and the numbers of an entity and its state.
type StateId = (u32, i64, i64);

#[derive(Debug, Default)]
pub struct Energy {
    /// The first descriptions.
    states: Vec<(StateId, Message)>,
    consumers: Vec<(u32, i64, Message)>,
    /// Tracks by machine, type and dimensions.
    tracks: Vec<(Machine, &'static str, Args, TrackId)>,
}

fn signed(message: &Message, field: u32) -> i64 {
    i64::from(message.unsigned(field) as i32)
}

impl Energy {
    pub const BREAKDOWN: u32 = 77;
    pub const RESIDENCY: u32 = 91;

    pub fn new(packets: &Packets, counted: &mut BTreeMap<&'static str, i64>) -> Energy {
        let mut energy = Energy::default();
        let mut invalid = 0;
        for (machine, _, packet) in packets.trusted(Energy::RESIDENCY) {
            for state in packet.messages(1) {
                if state.has(1) && state.has(2) {
                    let id = (machine, signed(&state, 1), signed(&state, 2));
                    energy.states.push((id, state));
                } else {
                    invalid += 1;
                }
            }
        }
        for (machine, _, packet) in packets.trusted(Energy::BREAKDOWN) {
            for consumer in packet.message(1).unwrap_or_default().messages(1) {
                if consumer.has(1) {
                    let id = signed(&consumer, 1);
                    energy.consumers.push((machine, id, consumer));
                } else {
                    invalid += 1;
                }
            }
        }
        if invalid > 0 {
            counted.insert("energy_descriptor_invalid", invalid);
        }
        energy
    }
}

impl World<'_> {
    /// OT2
    pub fn residency(&mut self, (machine, raw): (Machine, u32), time: i64, packet: &Message) {
        let residencies = packet.messages(2);
        if residencies.is_empty() {
            self.count("entity_state_residency_invalid");
        }
        for residency in residencies {
            let id = (raw, signed(&residency, 1), signed(&residency, 2));
            let states = &self.energy.states;
            let Some((_, state)) = states.iter().find(|(of, _)| *of == id) else {
                return self.count("entity_state_residency_lookup_failed");
            };
            let (entity, state) = (state.text(3), state.text(4));
            let name = format!(
                "Entity residency: {} is {}",
                entity.clone().unwrap_or_default(),
                state.clone().unwrap_or_default()
            );
            let mut dimensions = Args::default();
            dimensions.say("entity_name", Said::String(entity));
            dimensions.say("state_name", Said::String(state));
            let what = (machine, "entity_state", Some(name));
            let value = residency.unsigned(3) as f64;
            self.used(time, what, dimensions, Args::default(), value);
        }
    }

    /// OT3
    pub fn breakdown(&mut self, (machine, raw): (Machine, u32), time: i64, packet: &Message) {
        const OF_CONSUMER: &str = "android_energy_estimation_breakdown";
        const OF_UID: &str = "android_energy_estimation_breakdown_per_uid";
        if packet.has(1) {
            return;
        }
        let id = signed(packet, 2);
        let mut consumers = self.energy.consumers.iter();
        let consumer = consumers.find(|(of, number, _)| (*of, *number) == (raw, id));
        let is_whole = packet.has(2) && packet.has(3);
        let Some((.., consumer)) = consumer.filter(|_| is_whole).cloned() else {
            return self.count("energy_breakdown_missing_values");
        };
        let mut dimensions = Args::default();
        dimensions.say("energy_consumer_id", Said::Int(id));
        let mut source = Args::default();
        source.say("consumer_type", Said::String(consumer.text(3)));
        source.say("ordinal", Said::Int(signed(&consumer, 2)));
        let what = (machine, OF_CONSUMER, consumer.text(4));
        let value = packet.signed(3) as f64;
        self.used(time, what, dimensions.clone(), source, value);
        for of_uid in packet.messages(4) {
            if !of_uid.has(1) || !of_uid.has(2) {
                self.count("energy_uid_breakdown_missing_values");
                continue;
            }
            let mut dimensions = dimensions.clone();
            dimensions.say("uid", Said::Int(signed(&of_uid, 1)));
            let what = (machine, OF_UID, consumer.text(4));
            let value = of_uid.signed(2) as f64;
            self.used(time, what, dimensions, Args::default(), value);
        }
    }

    /// A value on the track with these dimensions.
    fn used(
        &mut self,
        time: i64,
        (machine, kind, name): (Machine, &'static str, Option<String>),
        dimensions: Args,
        source: Args,
        value: f64,
    ) {
        // TK2
        let alike = |args: &Args| {
            let mut all = args.all.clone();
            for arg in &mut all {
                if matches!(arg.said, Said::String(None)) {
                    arg.said = Said::text("");
                }
            }
            all
        };
        let is_it = |(m, k, d, _): &&(Machine, &str, Args, TrackId)| {
            (*m, *k) == (machine, kind) && alike(d) == alike(&dimensions)
        };
        let found = self.energy.tracks.iter().find(is_it);
        let track = match found {
            Some((.., track)) => *track,
            None => {
                let track = self.slices.tracks.make(Row {
                    track: Track::new(kind, name.as_deref(), TrackOwner::Machine(machine)),
                    parent: None,
                    source,
                    is_counter: true,
                });
                let known = (machine, kind, dimensions.clone(), track);
                self.energy.tracks.push(known);
                self.dimensions.insert(track, dimensions);
                track
            }
        };
        let track = self.slices.tracks.0[track].track.clone();
        self.counters.push(track, time, value);
    }
}
