//! The manifests of a merge of traces, and trace processor's results for them: the machines, their
//! names and raw ids, and the files that they are in. For each set, `sets.json` has the manifest,
//! the members in the order of the archive, and the machines of the packets.

#![allow(clippy::unwrap_used)]

use serde_json::Value;
use timebase_import::manifest::{MachineRef, Manifest, Member, MemberKind};

fn sets() -> Vec<Value> {
    serde_json::from_str(include_str!("sets.json")).unwrap()
}

fn members(set: &Value) -> Vec<Member<'_>> {
    let members = set["members"].as_array().unwrap().iter();
    let member = |member: &'_ Value| -> MemberKind {
        match member[1].as_str().unwrap() {
            "manifest" => MemberKind::Manifest,
            "trace" => MemberKind::Trace,
            "compressed" => MemberKind::Compressed,
            _ => MemberKind::Unknown,
        }
    };
    members.map(|found| Member { name: found[0].as_str().unwrap(), kind: member(found) }).collect()
}

#[test]
fn x11_machines_have_the_raw_ids_and_names_of_the_expected_sets() {
    let mut compared = 0;
    for set in sets() {
        let name = set["set"].as_str().unwrap();
        let manifest = Manifest::parse(set["manifest"].as_str().unwrap().as_bytes()).unwrap();
        let members = members(&set);
        let resolved = manifest.resolve(&members).unwrap();
        assert_eq!(resolved.warnings, [], "{name}");
        for machine in set["machines"].as_array().unwrap() {
            let raw_id = machine[0].as_i64().unwrap();
            let machine_name = machine[1].as_str().unwrap();
            let file = machine[2].as_str().unwrap();
            let index = members.iter().position(|member| member.name == file).unwrap();
            // One of the raw ids in the file's packets stands for this machine.
            let ids = [0, 1, 7, 42, 1234, u32::MAX].into_iter();
            let mut found = ids.filter_map(|id| resolved.members[index].machine(id).ok());
            let found = found.find(|found| found.raw_id() == raw_id);
            let found = found.unwrap_or_else(|| unreachable!("{name}: {file} has no {raw_id}"));
            let named = match found {
                MachineRef::Named(index) => resolved.names[index].as_str(),
                MachineRef::Raw(_) => "",
            };
            assert_eq!(named, machine_name, "{name}: {file}");
            compared += 1;
        }
    }
    assert_eq!(compared, 51);
}

/// The refused set has a RemoteClockSync in a file of one machine.
#[test]
fn x33_the_set_that_is_refused_is_so_for_its_packets() {
    let sets = sets();
    let refused: Vec<&Value> = sets.iter().filter(|set| set["refused"] == true).collect();
    assert_eq!(refused.len(), 1);
    let manifest = Manifest::parse(refused[0]["manifest"].as_str().unwrap().as_bytes()).unwrap();
    let members = members(refused[0]);
    let resolved = manifest.resolve(&members).unwrap();
    let index = members.iter().position(|member| member.name == "Z.pb").unwrap();
    let error = resolved.members[index].remote_clock_sync().unwrap_err();
    assert_eq!(error.place.to_string(), "files[1].machine");
}
