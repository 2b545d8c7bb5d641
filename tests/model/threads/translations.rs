//! Other names for slices, tracks of processes and hashes (TN).

use super::args::{Args, Key, Said};
use super::machines::Machine;
use super::packets::Packets;
use super::wire::Message;

const HISTOGRAM: [&str; 2] = ["chrome_histogram_sample.name_hash", "chrome_histogram_sample.name"];
const USER_EVENT: [&str; 2] = ["chrome_user_event.action_hash", "chrome_user_event.action"];
const SITE: [&str; 2] =
    ["chrome_hashed_performance_mark.site_hash", "chrome_hashed_performance_mark.site"];
const MARK: [&str; 2] =
    ["chrome_hashed_performance_mark.mark_hash", "chrome_hashed_performance_mark.mark"];
const TRIGGER: [&str; 2] = ["chrome_trigger.name_hash", "chrome_trigger.name"];

/// The translations in packets, in their order.
#[derive(Debug, Default)]
pub struct Translations {
    /// Machine, a slice's name, its other name.
    slices: Vec<(Machine, String, String)>,
    /// The same for tracks of processes.
    tracks: Vec<(Machine, String, String)>,
    /// Machine, the arguments, the hash, its name.
    hashes: Vec<(Machine, [&'static str; 2], u64, String)>,
}

impl Translations {
    const PACKET: u32 = 82;

    /// TN1
    pub fn read(packets: &Packets, machine_of: impl Fn(u32) -> Machine) -> Translations {
        let mut all = Translations::default();
        for (raw, _, packet) in packets.trusted(Translations::PACKET) {
            let machine = machine_of(raw);
            let Some(member) = (1..=6).find(|member| packet.has(*member)) else {
                continue;
            };
            let entries = packet.message(member).unwrap_or_default();
            let mut hashes = |field, arguments, modulus: u128| {
                for entry in entries.messages(field) {
                    let hash = (u128::from(entry.unsigned(1)) % modulus) as u64;
                    let name = entry.text(2).unwrap_or_default();
                    all.hashes.push((machine, arguments, hash, name));
                }
            };
            match member {
                1 => hashes(1, HISTOGRAM, 1 << 64),
                2 => hashes(1, USER_EVENT, 1 << 64),
                3 => {
                    hashes(1, SITE, 1 << 32);
                    hashes(2, MARK, 1 << 32);
                }
                6 => hashes(1, TRIGGER, 1 << 64),
                _ => {
                    let names = |entry: &Message| {
                        let other = entry.text(2).unwrap_or_default();
                        Some((machine, entry.text(1)?, other))
                    };
                    let names = entries.messages(1).iter().filter_map(names).collect::<Vec<_>>();
                    match member {
                        4 => all.slices.extend(names),
                        _ => all.tracks.extend(names),
                    }
                }
            }
        }
        all
    }

    /// TN2
    pub fn slice(&self, machine: Machine, name: Option<&str>) -> Option<String> {
        other(&self.slices, machine, name)
    }

    /// TN4
    pub fn track(&self, machine: Machine, name: Option<&str>) -> Option<String> {
        other(&self.tracks, machine, name)
    }

    /// The arguments of a slice (TN3).
    pub fn args(&self, machine: Machine, args: &Args) -> Args {
        let mut named = args.clone();
        let place = |key: &str| args.all.iter().position(|arg| arg.key.full == key);
        for [hash, name] in [HISTOGRAM, USER_EVENT, SITE, MARK, TRIGGER] {
            let Some(at) = place(hash) else { continue };
            let Said::Uint(value) = args.all[at].said else {
                continue;
            };
            let is_it = |(of, [key, _], hash_of, _): &&(Machine, [&str; 2], u64, String)| {
                (*of, *key, *hash_of) == (machine, hash, value)
            };
            let found = self.hashes.iter().find(is_it);
            if let Some((.., text)) = found
                && place(name).is_none_or(|said| said < at)
            {
                named.set(Key::new(name), Said::text(text));
            }
        }
        named
    }
}

fn other(
    names: &[(Machine, String, String)],
    machine: Machine,
    name: Option<&str>,
) -> Option<String> {
    let mut names = names.iter().rev();
    let found = names.find(|(of, raw, _)| *of == machine && Some(raw.as_str()) == name);
    found.map_or(name.map(str::to_owned), |(.., other)| Some(other.clone()))
}
