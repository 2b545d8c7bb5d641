//! Properties of any text and of any manifest.

#![allow(clippy::unwrap_used)]

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use timebase_import::manifest::{
    Attribute, Clock, ClockReference, Clocks, FileEntry, MachineRef, Machines, Manifest, Member,
    MemberKind, RelatedClock, TraceTimeEntry,
};

/// Few, so that they meet.
fn name() -> impl Strategy<Value = String> {
    prop_oneof![4 => "[abc]", 1 => ".{1,5}", 1 => "[\u{0}-\u{9f}\\\\\"]{1,5}"]
}

fn clock() -> impl Strategy<Value = Clock> {
    prop::sample::select(&Clock::ALL[..])
}

fn machines() -> impl Strategy<Value = Machines> {
    let id = prop_oneof![3 => 0u32..3, 1 => any::<u32>()];
    prop_oneof![
        Just(Machines::ByRaw),
        name().prop_map(Machines::One),
        vec((id, name()), 1..4).prop_map(Machines::Listed),
    ]
}

prop_compose! {
    fn clocks()(
        clock in option::of(clock()),
        machine in option::of(name()),
        file in name(),
        of in option::of(name()),
        reference in option::of(self::clock()),
        offset_ns in prop_oneof![-3i64..3, any::<i64>()],
    ) -> Clocks {
        let sync_to = ClockReference { file, machine: of, clock: reference };
        Clocks { clock, machine, sync_to, offset_ns: offset_ns.max(-i64::MAX) }
    }
}

prop_compose! {
    fn file()(path in name(), machines in machines(), clocks in option::of(clocks()), default_clock in option::of(clock())) -> FileEntry {
        // A pinned file has no default clock.
        let is_pinned = clocks.as_ref().is_some_and(|clocks| clocks.clock.is_none());
        FileEntry { path, machines, clocks, default_clock: default_clock.filter(|_| !is_pinned) }
    }
}

prop_compose! {
    fn trace_time()(clock in clock(), file in option::of(name()), machine in option::of(name())) -> TraceTimeEntry {
        TraceTimeEntry { clock, file, machine }
    }
}

fn manifest() -> impl Strategy<Value = Manifest> {
    let value =
        prop_oneof![".*".prop_map(Attribute::Text), any::<i64>().prop_map(Attribute::Integer)];
    let attributes = prop::collection::btree_map(name(), value, 0..3);
    let parts = (attributes, vec(file(), 0..5), option::of(trace_time()));
    parts.prop_map(|(attributes, files, trace_time)| Manifest {
        attributes: attributes.into_iter().collect(),
        files,
        trace_time,
        ..Manifest::default()
    })
}

fn kind() -> impl Strategy<Value = MemberKind> {
    prop_oneof![
        6 => Just(MemberKind::Trace),
        1 => Just(MemberKind::Compressed),
        1 => Just(MemberKind::Manifest),
        1 => Just(MemberKind::Archive),
        1 => Just(MemberKind::Unknown),
    ]
}

/// Texts that are JSON, or nearly JSON.
fn json() -> impl Strategy<Value = String> {
    let key = prop::sample::select(vec![
        "perfetto_manifest",
        "version",
        "files",
        "path",
        "machine",
        "machines",
        "id",
        "name",
        "clocks",
        "clock",
        "sync_to",
        "file",
        "offset_ns",
        "trace_time",
        "attributes",
        "x",
        "\\ud800",
    ]);
    let leaf = prop::sample::select(vec![
        "1",
        "1.0",
        "-0",
        "1e3",
        "null",
        "true",
        "\"a\"",
        "\"\"",
        "\"BOOTTIME\"",
        "\"\\ud800\"",
        "",
        "9223372036854775808",
    ]);
    let leaf = leaf.prop_map(str::to_owned);
    leaf.prop_recursive(6, 64, 6, move |inner| {
        let field =
            (key.clone(), inner.clone()).prop_map(|(key, value)| format!("\"{key}\": {value}"));
        prop_oneof![
            vec(inner, 0..4).prop_map(|elements| format!("[{}]", elements.join(", "))),
            vec(field, 0..6).prop_map(|fields| format!("{{{}}}", fields.join(", "))),
        ]
    })
}

proptest! {
    #[test]
    fn x31_what_is_printed_is_read_as_the_same(manifest in manifest()) {
        let text = manifest.to_string();
        let read = Manifest::parse(text.as_bytes());
        prop_assert_eq!(read.as_ref(), Ok(&manifest), "{}", text);
        // Any other reader of JSON takes it, too.
        prop_assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok());
    }

    #[test]
    fn x31_any_bytes_are_a_manifest_or_refused(bytes in vec(any::<u8>(), 0..200)) {
        if let Err(refused) = Manifest::parse(&bytes) {
            prop_assert!(refused.to_string().starts_with("perfetto_manifest: "));
        }
    }

    #[test]
    fn x31_any_json_is_a_manifest_or_refused(fields in json()) {
        for text in [format!("{{\"perfetto_manifest\": {fields}}}"), fields.clone()] {
            match Manifest::parse(text.as_bytes()) {
                Ok(manifest) => prop_assert_eq!(Manifest::parse(manifest.to_string().as_bytes()), Ok(manifest)),
                Err(refused) => prop_assert!(refused.to_string().starts_with("perfetto_manifest: ")),
            }
        }
    }

    #[test]
    fn x35_x38_what_is_resolved_can_be_looked_up(
        manifest in manifest(),
        members in vec((name(), kind()), 0..5),
        raw_id in prop_oneof![0u32..3, any::<u32>()],
    ) {
        let members: Vec<Member<'_>> = members.iter().map(|(name, kind)| Member { name, kind: *kind }).collect();
        let Ok(resolved) = manifest.resolve(&members) else { return Ok(()) };
        prop_assert_eq!(resolved.members.len(), members.len());
        let is_known = |machine: MachineRef| match machine {
            MachineRef::Named(index) => index < resolved.names.len(),
            MachineRef::Raw(_) => true,
        };
        for rules in &resolved.members {
            prop_assert!(rules.machine(raw_id).is_ok_and(is_known) || raw_id != 0);
        }
        for relation in &resolved.relations {
            let (this, reference) = (relation.this, relation.reference);
            prop_assert!((this.machine, this.clock) != (reference.machine, reference.clock));
            prop_assert!(this.value == 0 || reference.value == 0);
            for reading in [this, reference] {
                prop_assert!(reading.value >= 0 && is_known(reading.machine));
                if let RelatedClock::Private(member) = reading.clock {
                    prop_assert!(member < members.len());
                }
            }
        }
    }
}
