//! The manifest that describes the current state, and the notes about possible additions.
//!
//! If no file has a machine_id, all packets are the host's, and an entry is only a path. Otherwise
//! all machines get names, and so does the host, which then must have its name in each file: no two
//! raw ids share a name, and no raw id has two names. Entries are in the order in which files are
//! read, and machines in the order of their first packets, so that `machine.id` is the same as
//! without the manifest.

use std::collections::{HashMap, HashSet};

use timebase_import::manifest::{FileEntry, Machines, Manifest};

use super::scan::Scanned;

/// The output of the command.
#[derive(Debug)]
pub struct Draft {
    /// The text for standard output.
    pub manifest: Manifest,
    /// The notes for standard error.
    pub notes: Vec<String>,
}

impl Draft {
    /// The draft for files in the order in which they are read.
    pub fn of(files: &[Scanned]) -> Draft {
        let machines = files.iter().flat_map(|file| &file.machines);
        let has_ids = machines.clone().any(|machine| machine.raw_id != 0);
        let names = if has_ids { names(files) } else { HashMap::new() };
        let entry = |file: &Scanned| FileEntry {
            path: file.name.clone(),
            machines: named(file, &names),
            clocks: None,
            default_clock: None,
        };
        Draft {
            manifest: Manifest { files: files.iter().map(entry).collect(), ..Manifest::default() },
            notes: notes(files, &names),
        }
    }
}

/// A name for each raw id. No name is used twice.
fn names(files: &[Scanned]) -> HashMap<u32, String> {
    let mut names = HashMap::new();
    let mut taken = HashSet::new();
    // The machines' own names come first, so that generated names give way to them.
    let machines = || files.iter().flat_map(|file| &file.machines);
    let called = machines().filter_map(|machine| Some((machine.raw_id, machine.name.clone()?)));
    let made_up = machines().map(|machine| {
        let name = match machine.raw_id {
            0 => "host".to_owned(),
            raw_id => format!("machine {raw_id}"),
        };
        (machine.raw_id, name)
    });
    for (raw_id, name) in called.chain(made_up) {
        if names.contains_key(&raw_id) {
            continue;
        }
        let mut unique = name.clone();
        while !taken.insert(unique.clone()) {
            unique = format!("{unique} ({raw_id})");
        }
        names.insert(raw_id, unique);
    }
    names
}

/// The machines of a file, if any machine has a name.
fn named(file: &Scanned, names: &HashMap<u32, String>) -> Machines {
    let machines = file.machines.iter();
    let named: Vec<(u32, String)> = machines
        .filter_map(|machine| Some((machine.raw_id, names.get(&machine.raw_id)?.clone())))
        .collect();
    match named.is_empty() {
        true => Machines::ByRaw,
        false => Machines::Listed(named),
    }
}

/// Notes about facts that the user may know better.
fn notes(files: &[Scanned], names: &HashMap<u32, String>) -> Vec<String> {
    let mut notes = Vec::new();
    notes.extend(of_one_host(files, names));
    notes.extend(files.iter().flat_map(|file| unrelated(file, names)));
    let pinned = files.iter().filter_map(|file| without_clocks(file, files));
    notes.extend(pinned);
    notes.extend(of_json(files));
    notes
}

/// Files that all record the host, which may be several machines.
fn of_one_host(files: &[Scanned], names: &HashMap<u32, String>) -> Option<String> {
    let hosts = files.iter().filter_map(|file| {
        let host = file.machines.iter().find(|machine| machine.raw_id == 0)?;
        Some((&file.name, host.name.as_deref()))
    });
    let hosts: Vec<(&String, Option<&str>)> = hosts.collect();
    if hosts.len() < 2 {
        return None;
    }
    let listed: Vec<&str> = hosts.iter().map(|(file, _)| file.as_str()).collect();
    let called: HashSet<&str> = hosts.iter().filter_map(|(_, name)| *name).collect();
    let is_json = |name: &&String| files.iter().any(|file| file.name == **name && file.is_json);
    let json = hosts.iter().filter(|(file, _)| is_json(file)).count();
    let what = match hosts.len() - json {
        0 => "events",
        _ if json == 0 => "packets without a machine_id",
        _ => "packets without a machine_id, and events of JSON traces,",
    };
    let mut note =
        format!("{}: {what} count as one machine, the host, in all of these", listed.join(", "));
    if called.len() > 1 {
        let own =
            hosts.iter().filter_map(|(file, name)| Some(format!("{} in {file}", quoted((*name)?))));
        let own: Vec<String> = own.collect();
        note.push_str(&format!(", although it calls itself {}", own.join(", ")));
    }
    note.push_str(". If they are several machines, give ");
    note.push_str(match names.is_empty() {
        true => "each file its own: \"machine\": {\"name\": \"…\"}",
        false => "it a name of its own in each file",
    });
    Some(note)
}

/// The guests of a file whose clocks nothing relates to the host's clocks.
fn unrelated(file: &Scanned, names: &HashMap<u32, String>) -> Vec<String> {
    let others = file.machines.len() > 1;
    let guests =
        file.machines.iter().filter(|machine| machine.raw_id != 0 && !machine.is_synchronized);
    let path = quoted(&file.name);
    let guests = guests.filter(|_| others).map(|guest| {
        let name = names.get(&guest.raw_id).map_or("", String::as_str);
        format!(
            "{}: no RemoteClockSync relates the clocks of machine {} to others, so timebase assumes that its REALTIME, or else its BOOTTIME, is that of trace time. If you know better: \"clocks\": {{\"machine\": {}, \"clock\": \
             \"BOOTTIME\", \"sync_to\": {{\"file\": {path}, \"machine\": \"…\", \"clock\": \"BOOTTIME\"}}, \"offset_ns\": …}}",
            file.name, guest.raw_id, quoted(name)
        )
    });
    guests.collect()
}

/// A file whose times are on no clock that another file has.
fn without_clocks(file: &Scanned, files: &[Scanned]) -> Option<String> {
    if file.is_json || file.has_snapshots || file.machines.iter().any(|machine| machine.raw_id != 0)
    {
        return None;
    }
    let other = files.iter().find(|other| other.has_snapshots)?;
    Some(format!(
        "{}: it has no ClockSnapshot. If its times are of a separate clock, relate that to a clock of another file: \
         \"clocks\": {{\"sync_to\": {{\"file\": {}, \"clock\": \"BOOTTIME\"}}, \"offset_ns\": …}}",
        file.name,
        quoted(&other.name)
    ))
}

/// JSON traces beside other files, to whose clocks the user can relate theirs.
fn of_json(files: &[Scanned]) -> Option<String> {
    let other = files.iter().find(|file| !file.is_json).or(files.first())?;
    let json = files.iter().filter(|file| file.is_json && file.name != other.name);
    let json: Vec<&str> = json.map(|file| file.name.as_str()).collect();
    let clock = if other.is_json { "" } else { ", \"clock\": \"BOOTTIME\"" };
    (!json.is_empty()).then(|| {
        format!(
            "{}: the producers' statements place the events, or else assumptions. To place a file by an offset instead: \
             \"clocks\": {{\"sync_to\": {{\"file\": {}{clock}}}, \"offset_ns\": …}}",
            json.join(", "),
            quoted(&other.name)
        )
    })
}

/// A text in JSON.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::collection::vec;
    use proptest::prelude::*;
    use timebase_import::manifest::{MachineRef, Member, MemberKind};

    use super::super::scan::Machine;
    use super::*;

    prop_compose! {
        /// There are few ids and names, so that they often coincide.
        fn machine()(
            raw_id in 0u32..4,
            name in prop::option::of(prop::sample::select(vec!["host", "machine 1", "host (1)", "a\"\n"])),
            is_synchronized in any::<bool>(),
        ) -> Machine {
            Machine { raw_id, name: name.map(str::to_owned), is_synchronized }
        }
    }

    prop_compose! {
        fn files()(
            files in prop::collection::btree_map("[a-e]{1,2}", (vec(machine(), 0..4), any::<bool>()), 1..4),
        ) -> Vec<Scanned> {
            let files = files.into_iter().map(|(name, (found, has_snapshots))| {
                let mut machines: Vec<Machine> = Vec::new();
                for machine in found {
                    if machines.iter().all(|known| known.raw_id != machine.raw_id) {
                        machines.push(machine);
                    }
                }
                Scanned { name, machines, has_snapshots, ..Scanned::default() }
            });
            files.collect()
        }
    }

    proptest! {
        #[test]
        fn x10_what_is_printed_makes_the_machines_that_are_there_without_it(files in files()) {
            let members: Vec<(String, Vec<u32>)> = files
                .iter()
                .map(|file| (file.name.clone(), file.machines.iter().map(|machine| machine.raw_id).collect()))
                .collect();
            let printed = Draft::of(&files).manifest.to_string();
            let manifest = Manifest::parse(printed.as_bytes());
            let members_of: Vec<Member<'_>> = members
                .iter()
                .map(|(name, _)| Member { name, kind: MemberKind::Trace })
                .collect();
            let resolved = manifest.and_then(|manifest| manifest.resolve(&members_of));
            prop_assert!(resolved.is_ok(), "{}", printed);
            let Ok(resolved) = resolved else { return Ok(()) };
            prop_assert_eq!(resolved.warnings, []);

            // The machines in the order of their first packets: without, and with the manifest.
            let mut without: Vec<u32> = Vec::new();
            let mut with: BTreeMap<u32, MachineRef> = BTreeMap::new();
            for ((_, raw_ids), rules) in members.iter().zip(&resolved.members) {
                for raw_id in raw_ids {
                    let machine = rules.machine(*raw_id);
                    prop_assert!(machine.is_ok(), "{}", printed);
                    let Ok(machine) = machine else { return Ok(()) };
                    if !without.contains(raw_id) {
                        without.push(*raw_id);
                    }
                    prop_assert_eq!(*with.entry(*raw_id).or_insert(machine), machine);
                }
            }
            let in_order: Vec<MachineRef> = without.iter().filter_map(|raw_id| with.get(raw_id).copied()).collect();
            let expected: Vec<MachineRef> = match without.iter().any(|raw_id| *raw_id != 0) {
                true => (0..without.len()).map(MachineRef::Named).collect(),
                false => without.iter().map(|_| MachineRef::HOST).collect(),
            };
            prop_assert_eq!(in_order, expected, "{}", printed);
        }
    }
}
