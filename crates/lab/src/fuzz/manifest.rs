//! Manifests of several traces.

use timebase_import::manifest::{MachineRef, Manifest, Member, MemberKind, RelatedClock};

/// Reads a text as a manifest, and resolves it for members; it names some of them.
///
/// A refusal names the place; a printed manifest reads back as the same; a resolved one only refers
/// to existing members and names.
///
/// ```
/// timebase_lab::fuzz::manifest(br#"{"perfetto_manifest": {"version": 1}}"#);
/// ```
pub fn manifest(bytes: &[u8]) {
    let manifest = match Manifest::parse(bytes) {
        Ok(manifest) => manifest,
        Err(refused) => {
            assert!(refused.to_string().starts_with("perfetto_manifest: "));
            return;
        }
    };
    let printed = manifest.to_string();
    assert_eq!(Manifest::parse(printed.as_bytes()).unwrap(), manifest);

    // One in four entries has no member, and one in eight a member that is not a trace.
    let paths = manifest.files.iter().map(|file| file.path.as_str());
    let named = paths.enumerate().filter(|(number, _)| number % 4 != 3);
    let members: Vec<Member<'_>> = named
        .map(|(number, name)| {
            let kind = match number % 8 {
                6 => MemberKind::Archive,
                4 => MemberKind::Compressed,
                _ => MemberKind::Trace,
            };
            Member { name, kind }
        })
        .collect();
    let Ok(resolved) = manifest.resolve(&members) else {
        return;
    };
    assert_eq!(resolved.members.len(), members.len());
    let check = |machine: MachineRef| match machine {
        MachineRef::Named(index) => assert!(index < resolved.names.len()),
        MachineRef::Raw(id) => assert_eq!(machine.raw_id(), i64::from(id)),
    };
    for rules in &resolved.members {
        check(rules.machine(0).unwrap());
        for raw_id in [1, 42, u32::MAX] {
            let _ = rules.machine(raw_id).map(check);
        }
        assert!(rules.pinned().is_none() || rules.clock_snapshot().is_err());
    }
    for relation in &resolved.relations {
        let (this, reference) = (relation.this, relation.reference);
        assert_ne!((this.machine, this.clock), (reference.machine, reference.clock));
        for reading in [this, reference] {
            check(reading.machine);
            assert!(reading.value >= 0);
            if let RelatedClock::Private(member) = reading.clock {
                assert!(member < members.len());
            }
        }
    }
}
