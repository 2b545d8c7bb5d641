//! The contents of a manifest and their meaning, rule by rule, with the texts for users.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use timebase_import::manifest::{
    Attribute, Clock, MachineRef, Manifest, Member, MemberKind, Place, Reading, Refused,
    RelatedClock, Resolved, TraceTime, Warning,
};

const HOST: MachineRef = MachineRef::HOST;

/// A manifest of version 1 with these fields.
fn text(fields: &str) -> String {
    format!("{{\"perfetto_manifest\": {{\"version\": 1{fields}}}}}")
}

fn parse(fields: &str) -> Result<Manifest, Refused> {
    Manifest::parse(text(fields).as_bytes())
}

/// The reason why a text is refused, without the common start of these messages.
fn refused(text: &str) -> String {
    let refused = Manifest::parse(text.as_bytes()).unwrap_err().to_string();
    refused.strip_prefix("perfetto_manifest: ").unwrap().to_owned()
}

/// The same for a manifest of version 1.
fn field_refused(fields: &str) -> String {
    refused(&text(&format!(", {fields}")))
}

/// The same for one entry of `files`.
fn entry_refused(entry: &str) -> String {
    field_refused(&format!("\"files\": [{entry}]"))
}

fn traces<'a>(names: &[&'a str]) -> Vec<Member<'a>> {
    let kind = MemberKind::Trace;
    names.iter().map(|name| Member { name, kind }).collect()
}

/// A manifest with these entries, and the traces a, b and c.
fn resolve(files: &str) -> Result<Resolved, Refused> {
    with_trace_time(files, "")
}

fn with_trace_time(files: &str, trace_time: &str) -> Result<Resolved, Refused> {
    let fields = format!(", \"files\": [{files}]{trace_time}");
    parse(&fields).unwrap().resolve(&traces(&["a", "b", "c"]))
}

fn unresolved(files: &str) -> String {
    told(resolve(files).map(|_| ()))
}

fn told<T: std::fmt::Debug>(result: Result<T, Refused>) -> String {
    let refused = result.unwrap_err().to_string();
    refused.strip_prefix("perfetto_manifest: ").unwrap().to_owned()
}

fn shared(machine: MachineRef, clock: Clock, value: i64) -> Reading {
    Reading { machine, clock: RelatedClock::Shared(clock), value }
}

fn private(machine: MachineRef, member: usize, value: i64) -> Reading {
    Reading { machine, clock: RelatedClock::Private(member), value }
}

/// The readings of the relations.
fn related(resolved: &Resolved) -> Vec<(Reading, Reading)> {
    let relations = resolved.relations.iter();
    relations.map(|relation| (relation.this, relation.reference)).collect()
}

#[test]
fn x30_a_manifest_alone_does_nothing() {
    let manifest = parse("").unwrap();
    assert_eq!(manifest, Manifest::default());
    let resolved = manifest.resolve(&[]).unwrap();
    assert!(resolved.names.is_empty() && resolved.relations.is_empty());
    assert_eq!(resolved.trace_time, None);
    assert_eq!(resolved.warnings, []);
}

#[test]
fn x30_there_is_one_manifest() {
    let member = |name, kind| Member { name, kind };
    let mut members = vec![member("m.json", MemberKind::Manifest), member("a", MemberKind::Trace)];
    let manifest = parse("").unwrap();
    assert!(manifest.resolve(&members).is_ok());
    members.push(member("n.json", MemberKind::Manifest));
    assert_eq!(
        told(manifest.resolve(&members)),
        "there are two manifests, 'm.json' and 'n.json': leave one of them out"
    );
}

#[test]
fn x31_what_is_no_json_is_refused_with_line_and_column() {
    for (text, expected) in [
        ("{\"x\":\n [1,\n\n ]}", "line 4, column 2: a trailing comma, which is not valid JSON"),
        ("", "line 1, column 0: EOF while parsing a value"),
        ("{\n  \"perfetto_manifest\": }", "line 2, column 24: expected value"),
        (
            "{\"perfetto_manifest\": {\"version\": 1,}}",
            "line 1, column 37: a trailing comma, which is not valid JSON",
        ),
        ("{\"perfetto_manifest\": {\"version\": 1}}\n x", "line 2, column 2: trailing characters"),
        ("{\"perfetto_manifest\": {\"version\": 01}}", "line 1, column 36: invalid number"),
        ("{\"perfetto_manifest\": {'version': 1}}", "line 1, column 24: key must be a string"),
        (
            "{\"a\": \"\n\"}",
            "line 1, column 7: control character (\\u0000-\\u001F) found while parsing a string",
        ),
        (
            "\u{feff}{}",
            "the text begins with a byte order mark, which is not valid JSON; save it as UTF-8 without one",
        ),
    ] {
        assert_eq!(refused(text), expected, "{text:?}");
    }
    let latin = Manifest::parse(b"{\"perfetto_manifest\": \"\xe4\"}").unwrap_err();
    assert_eq!(
        latin.to_string(),
        "perfetto_manifest: line 1, column 24: invalid unicode code point"
    );
}

#[test]
fn x31_the_whole_is_an_object_with_one_key() {
    let expected = "the text must be a JSON object with the key \"perfetto_manifest\"";
    for text in ["[]", "1", "\"perfetto_manifest\"", "{}", "{\"manifest\": {}}"] {
        assert_eq!(refused(text), expected, "{text}");
    }
    assert_eq!(refused("{\"perfetto_manifest\": [1]}"), "\"perfetto_manifest\" must be an object");
}

#[test]
fn x31_the_version_is_the_integer_1() {
    let version = |version: &str| refused(&format!("{{\"perfetto_manifest\": {{{version}}}}}"));
    assert_eq!(version(""), "version is required: set \"version\": 1");
    for wrong in ["1.0", "1e0", "\"1\"", "true", "null", "[1]"] {
        let expected = "version must be the integer 1";
        assert_eq!(version(&format!("\"version\": {wrong}")), expected, "{wrong}");
    }
    for other in ["0", "2", "-1", "99999999999999999999999999999999999999999999"] {
        let expected = "version is not supported: only version 1 is, set \"version\": 1";
        assert_eq!(version(&format!("\"version\": {other}")), expected, "{other}");
    }
}

#[test]
fn x31_unknown_fields_are_ignored_whatever_they_hold() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for value in ["null", "1e999", "\"\\ud800\"", "-0", &deep] {
        let fields = format!(", \"x\": {value}, \"files\": [{{\"path\": \"a\", \"x\": {value}}}]");
        let manifest = parse(&fields).unwrap();
        assert_eq!(manifest.files.len(), 1);
    }
}

#[test]
fn x31_of_equal_keys_the_last_counts() {
    let manifest = Manifest::parse(
        br#"{"perfetto_manifest": 5, "perfetto_manifest": {
             "version": "2", "files": 7, "version": 1, "files": [{"path": 1, "path": "b"}],
             "attributes": {"k": null, "j": "x", "k": 3}}}"#,
    );
    let manifest = manifest.unwrap();
    assert_eq!(manifest.files[0].path, "b");
    let attributes = [
        ("k".to_owned(), Attribute::Integer(3)),
        ("j".to_owned(), Attribute::Text("x".to_owned())),
    ];
    assert_eq!(manifest.attributes, attributes);
}

#[test]
fn x31_keys_may_be_written_with_escapes() {
    let manifest = Manifest::parse(b"{\"perfetto_\\u006danifest\": {\"\\u0076ersion\": 1}}");
    assert_eq!(manifest, Ok(Manifest::default()));
}

#[test]
fn x31_attributes_are_strings_and_integers() {
    let manifest = parse(
        ", \"attributes\": {\"a.b\": \"\\ud83d\\ude00\", \"least\": -9223372036854775808, \"zero\": -0}",
    );
    let expected = [
        ("a.b", Attribute::Text("\u{1f600}".to_owned())),
        ("least", Attribute::Integer(i64::MIN)),
        ("zero", Attribute::Integer(0)),
    ];
    let expected = expected.map(|(key, value)| (key.to_owned(), value));
    assert_eq!(manifest.unwrap().attributes, expected);

    for wrong in ["true", "null", "1.5", "1e3", "[]", "{}"] {
        assert_eq!(
            field_refused(&format!("\"attributes\": {{\"k\": {wrong}}}")),
            "attributes.k must be a string or an integer",
            "{wrong}"
        );
    }
    for (fields, expected) in [
        (
            "\"attributes\": []",
            "attributes must be an object of strings and integers, such as \"attributes\": {\"benchmark\": \"startup\"}",
        ),
        ("\"attributes\": {\"\": 1}", "attributes has an empty key"),
        (
            "\"attributes\": {\"k\": 9223372036854775808}",
            "attributes.k must be from -9223372036854775808 to 9223372036854775807",
        ),
        (
            "\"attributes\": {\"k\": \"\\ud800\"}",
            "attributes.k has an invalid \\u escape: a surrogate without its other half",
        ),
        (
            "\"attributes\": {\"\\udc00\": 1}",
            "attributes has an invalid \\u escape: a surrogate without its other half",
        ),
    ] {
        assert_eq!(field_refused(fields), expected);
    }
}

#[test]
fn x31_clocks_have_six_names() {
    for clock in Clock::ALL {
        let manifest = parse(&format!(", \"trace_time\": {{\"clock\": \"{clock}\"}}"));
        assert_eq!(manifest.unwrap().trace_time.unwrap().clock, clock);
    }
    assert_eq!(Clock::ALL.map(Clock::id), [1, 2, 3, 4, 5, 6]);
    for (clock, expected) in [
        (
            "\"boottime\"",
            "trace_time.clock is no clock: 'boottime'; use one of REALTIME, REALTIME_COARSE, MONOTONIC, \
             MONOTONIC_COARSE, MONOTONIC_RAW, BOOTTIME",
        ),
        (
            "6",
            "trace_time.clock must be a string; it is one of REALTIME, REALTIME_COARSE, MONOTONIC, \
             MONOTONIC_COARSE, MONOTONIC_RAW, BOOTTIME",
        ),
    ] {
        let fields = format!("\"trace_time\": {{\"clock\": {clock}}}");
        assert_eq!(field_refused(&fields), expected);
    }
}

#[test]
fn x32_an_entry_has_the_name_of_its_member() {
    assert_eq!(field_refused("\"files\": {}"), "files must be an array");
    let expected = "files[0] must be an object, such as {\"path\": \"trace.pftrace\"}";
    assert_eq!(entry_refused("\"a\""), expected);
    let expected = "files[0].path is required: a string, the exact name of the file in the archive";
    assert_eq!(entry_refused("{}"), expected);
    assert_eq!(entry_refused("{\"path\": null}"), expected);
    assert_eq!(
        entry_refused("{\"path\": \"a\"}, {\"path\": 5}"),
        "files[1].path is required: a string, the exact name of the file in the archive"
    );
}

#[test]
fn x32_an_entry_for_no_member_is_allowed() {
    let resolved = resolve(
        r#"{"path": "A"}, {"path": "d/a", "machine": {"name": "x"}},
           {"path": "a", "clocks": {"clock": "BOOTTIME", "sync_to": {"file": "d/a", "clock": "BOOTTIME"}}}"#,
    );
    let resolved = resolved.unwrap();
    assert_eq!(resolved.names, ["x"]);
    assert_eq!(
        related(&resolved),
        [(shared(HOST, Clock::Boottime, 0), shared(MachineRef::Named(0), Clock::Boottime, 0))]
    );
    let warnings: Vec<String> = resolved.warnings.iter().map(Warning::to_string).collect();
    assert_eq!(
        warnings,
        [
            "files[0].path 'A' names no file of the import",
            "files[1].path 'd/a' names no file of the import"
        ]
    );
}

#[test]
fn x32_of_two_entries_with_one_path_the_first_counts() {
    let resolved = resolve(
        r#"{"path": "a", "machine": {"name": "x"}}, {"path": "b"},
           {"path": "a", "machine": {"name": "y"}, "clocks": {"sync_to": {"file": "nobody"}}}"#,
    );
    let resolved = resolved.unwrap();
    assert_eq!(resolved.names, ["x"]);
    assert_eq!(resolved.members[0].machine(0), Ok(MachineRef::Named(0)));
    assert_eq!(resolved.relations, []);
    let warnings: Vec<String> = resolved.warnings.iter().map(Warning::to_string).collect();
    assert_eq!(warnings, ["files[2].path 'a' repeats files[0]; the first entry counts"]);
}

#[test]
fn x32_members_without_an_entry_are_as_without_a_manifest() {
    let resolved = resolve(r#"{"path": "a", "machine": {"name": "x"}}"#).unwrap();
    let rules = &resolved.members[1];
    assert_eq!(rules.machine(0), Ok(HOST));
    assert_eq!(rules.machine(u32::MAX), Ok(MachineRef::Raw(u32::MAX)));
    assert_eq!((rules.clock_snapshot(), rules.remote_clock_sync()), (Ok(()), Ok(())));
    assert_eq!(rules.pinned(), None);
}

#[test]
fn x32_an_entry_is_for_all_members_of_its_name() {
    let files = r#"{"path": "a", "machine": {"name": "x"},
                    "clocks": {"sync_to": {"file": "b", "clock": "BOOTTIME"}}}, {"path": "b"}"#;
    let manifest = parse(&format!(", \"files\": [{files}]")).unwrap();
    let resolved = manifest.resolve(&traces(&["a", "b", "a"])).unwrap();
    let x = MachineRef::Named(0);
    for member in [0, 2] {
        assert_eq!(resolved.members[member].machine(0), Ok(x));
        assert_eq!(resolved.members[member].pinned(), Some(x));
    }
    let reference = shared(HOST, Clock::Boottime, 0);
    assert_eq!(related(&resolved), [(private(x, 0, 0), reference), (private(x, 2, 0), reference)]);
}

#[test]
fn x33_a_machine_has_a_name() {
    let with =
        |machine: &str| entry_refused(&format!("{{\"path\": \"a\", \"machine\": {machine}}}"));
    let expected = "files[0].machine must be an object with a name, such as \"machine\": {\"name\": \"phone\"}";
    assert_eq!(with("\"phone\""), expected);
    assert_eq!(with("null"), expected);
    assert_eq!(with("{}"), "files[0].machine.name is required: a string, the name of the machine");
    assert_eq!(with("{\"name\": 5}"), "files[0].machine.name must be a string");
    assert_eq!(with("{\"name\": \"\"}"), "files[0].machine.name must not be empty");
    assert_eq!(
        entry_refused(r#"{"path": "a", "machine": {"name": "x"}, "machines": []}"#),
        "files[0] has both machine and machines: use machine for a file of one machine, machines for the ids of several"
    );
}

#[test]
fn x33_all_packets_of_the_file_are_of_the_machine() {
    let resolved = resolve(
        r#"{"path": "b", "machine": {"name": "x"}}, {"path": "a", "machine": {"name": "x"}}"#,
    );
    let resolved = resolved.unwrap();
    assert_eq!(resolved.names, ["x"]);
    for rules in &resolved.members[..2] {
        assert_eq!(rules.machine(0), Ok(MachineRef::Named(0)));
    }
    assert_eq!(MachineRef::Named(0).raw_id(), 4_294_967_296);
    assert_eq!(
        told(resolved.members[0].machine(42)),
        "files[1].machine says that all packets of 'a' are of one machine, but one has machine_id 42; \
         name its machines by their ids, in machines"
    );
    assert_eq!(
        told(resolved.members[0].remote_clock_sync()),
        "files[1].machine says that all packets of 'a' are of one machine, but it has a RemoteClockSync \
         of two; name its machines by their ids, in machines"
    );
    assert_eq!(resolved.members[0].clock_snapshot(), Ok(()));
}

#[test]
fn x34_machines_have_ids_and_names() {
    let with =
        |machines: &str| entry_refused(&format!("{{\"path\": \"a\", \"machines\": {machines}}}"));
    assert_eq!(
        with("{}"),
        "files[0].machines must be an array, such as \"machines\": [{\"id\": 0, \"name\": \"phone\"}]"
    );
    assert_eq!(
        with("[7]"),
        "files[0].machines[0] must be an object with an id and a name, such as {\"id\": 0, \"name\": \"phone\"}"
    );
    assert_eq!(
        with("[{\"name\": \"x\"}]"),
        "files[0].machines[0].id is required: an integer from 0 to 4294967295"
    );
    for wrong in ["1.0", "1e3", "\"1\"", "false"] {
        let machines = format!("[{{\"id\": {wrong}, \"name\": \"x\"}}]");
        let expected = "files[0].machines[0].id must be an integer from 0 to 4294967295";
        assert_eq!(with(&machines), expected, "{wrong}");
    }
    for wrong in ["-1", "4294967296", "340282366920938463463374607431768211456"] {
        let machines = format!("[{{\"id\": 4294967295, \"name\": \"x\"}}, {{\"id\": {wrong}}}]");
        let expected = "files[0].machines[1].id must be from 0 to 4294967295";
        assert_eq!(with(&machines), expected, "{wrong}");
    }
    assert_eq!(
        with("[{\"id\": 0, \"name\": \"\"}]"),
        "files[0].machines[0].name must not be empty"
    );
}

#[test]
fn x34_a_raw_id_is_the_machine_of_its_name() {
    let resolved = resolve(
        r#"{"path": "b", "machines": [{"id": 7, "name": "vm"}, {"id": 0, "name": "host"}]},
           {"path": "a", "machines": [{"id": 9, "name": "host"}]}"#,
    );
    let resolved = resolved.unwrap();
    assert_eq!(resolved.names, ["vm", "host"]);
    let [a, b, _] = &resolved.members[..] else { unreachable!("there are three members") };
    assert_eq!(b.machine(7), Ok(MachineRef::Named(0)));
    assert_eq!(b.machine(0), Ok(MachineRef::Named(1)));
    assert_eq!(a.machine(9), Ok(MachineRef::Named(1)));
    // A machine that is not listed is an error, except for the host.
    assert_eq!(a.machine(0), Ok(HOST));
    assert_eq!(
        told(a.machine(7)),
        "files[1].machines does not list machine_id 7, which a packet of 'a' has; add {\"id\": 7, \"name\": \"…\"}"
    );
    assert_eq!(a.remote_clock_sync(), Ok(()));
}

#[test]
fn x34_of_equal_ids_the_last_counts_for_the_host_and_the_first_for_others() {
    let resolved = resolve(
        r#"{"path": "a", "machines": [{"id": 0, "name": "h1"}, {"id": 7, "name": "v1"},
                                      {"id": 7, "name": "v2"}, {"id": 0, "name": "h2"}]}"#,
    );
    let resolved = resolved.unwrap();
    assert_eq!(resolved.names, ["h1", "v1", "v2", "h2"]);
    assert_eq!(resolved.members[0].machine(0), Ok(MachineRef::Named(3)));
    assert_eq!(resolved.members[0].machine(7), Ok(MachineRef::Named(1)));
}

#[test]
fn x34_an_empty_array_is_as_none() {
    let resolved = resolve(r#"{"path": "a", "machines": []}"#).unwrap();
    assert_eq!(resolved.members[0].machine(42), Ok(MachineRef::Raw(42)));
}

#[test]
fn x35_clocks_name_a_file_and_an_offset() {
    let with = |clocks: &str| entry_refused(&format!("{{\"path\": \"a\", \"clocks\": {clocks}}}"));
    let offset = |offset: &str| {
        with(&format!("{{\"sync_to\": {{\"file\": \"b\"}}, \"offset_ns\": {offset}}}"))
    };
    assert_eq!(with("[]"), "files[0].clocks must be an object");
    assert_eq!(
        with("{\"clock\": \"BOOTTIME\"}"),
        "files[0].clocks.sync_to is required: it names the clock of another file, such as \"sync_to\": {\"file\": \
         \"other.pftrace\", \"clock\": \"BOOTTIME\"}"
    );
    assert_eq!(
        with("{\"sync_to\": \"b\"}"),
        "files[0].clocks.sync_to must be an object, such as {\"file\": \"other.pftrace\", \"clock\": \"BOOTTIME\"}"
    );
    let expected =
        "files[0].clocks.sync_to.file is required: a string, the path of an entry of files";
    assert_eq!(with("{\"sync_to\": {}}"), expected);
    assert_eq!(with("{\"sync_to\": {\"file\": 1}}"), expected);
    assert_eq!(
        with("{\"sync_to\": {\"file\": \"b\", \"machine\": 1}}"),
        "files[0].clocks.sync_to.machine must be a string"
    );
    assert_eq!(
        with("{\"sync_to\": {\"file\": \"b\"}, \"machine\": {}}"),
        "files[0].clocks.machine must be a string"
    );
    assert_eq!(
        with("{\"sync_to\": {\"file\": \"b\", \"clock\": \"TAI\"}}"),
        "files[0].clocks.sync_to.clock is no clock: 'TAI'; use one of REALTIME, REALTIME_COARSE, MONOTONIC, \
         MONOTONIC_COARSE, MONOTONIC_RAW, BOOTTIME"
    );
    for wrong in ["1.0", "1e3", "\"5\"", "true", "null"] {
        let expected = "files[0].clocks.offset_ns must be an integer, in nanoseconds";
        assert_eq!(offset(wrong), expected, "{wrong}");
    }
    for wrong in ["-9223372036854775808", "9223372036854775808", &"9".repeat(1000)] {
        let expected =
            "files[0].clocks.offset_ns must be from -9223372036854775807 to 9223372036854775807";
        assert_eq!(offset(wrong), expected, "{wrong}");
    }
}

#[test]
fn x35_relating_two_clocks_is_a_snapshot_of_both() {
    let files = |offset: &str| {
        let offset =
            if offset.is_empty() { String::new() } else { format!(", \"offset_ns\": {offset}") };
        format!(
            r#"{{"path": "a", "machine": {{"name": "A"}}, "clocks": {{"clock": "BOOTTIME",
                 "sync_to": {{"file": "b", "clock": "REALTIME"}}{offset}}}}}, {{"path": "b"}}"#
        )
    };
    for (offset, this, reference) in [
        ("", 0, 0),
        ("500", 0, 500),
        ("-500", 500, 0),
        ("9223372036854775807", 0, i64::MAX),
        ("-9223372036854775807", i64::MAX, 0),
    ] {
        let resolved = resolve(&files(offset)).unwrap();
        assert_eq!(
            related(&resolved),
            [(
                shared(MachineRef::Named(0), Clock::Boottime, this),
                shared(HOST, Clock::Realtime, reference)
            )],
            "{offset}"
        );
        assert_eq!(resolved.relations[0].place, Place::file(0).field("clocks"));
        assert_eq!(resolved.members[0].pinned(), None);
        assert_eq!(resolved.members[0].clock_snapshot(), Ok(()));
    }
}

#[test]
fn x35_two_clocks_of_one_machine_may_be_related() {
    let resolved = resolve(
        r#"{"path": "a", "clocks": {"clock": "BOOTTIME", "sync_to": {"file": "b", "clock": "REALTIME"}}},
           {"path": "b"}"#,
    );
    assert_eq!(
        related(&resolved.unwrap()),
        [(shared(HOST, Clock::Boottime, 0), shared(HOST, Clock::Realtime, 0))]
    );
}

#[test]
fn x35_a_clock_is_not_related_to_itself() {
    let clocks = r#""clocks": {"clock": "BOOTTIME", "sync_to": {"file": "b", "clock": "BOOTTIME"}, "offset_ns": 5}"#;
    assert_eq!(
        unresolved(&format!(r#"{{"path": "a", {clocks}}}, {{"path": "b"}}"#)),
        "files[0].clocks relates BOOTTIME of the host to itself: files of one machine cannot be moved against \
         each other; give one of them a machine of its own, or leave clocks out"
    );
    let machine = r#""machine": {"name": "x"}"#;
    assert_eq!(
        unresolved(&format!(r#"{{"path": "a", {machine}, {clocks}}}, {{"path": "b", {machine}}}"#)),
        "files[0].clocks relates BOOTTIME of machine 'x' to itself: files of one machine cannot be moved against \
         each other; give one of them a machine of its own, or leave clocks out"
    );
    assert_eq!(
        unresolved(r#"{"path": "a", "clocks": {"sync_to": {"file": "a"}}}"#),
        "files[0].clocks relates the private clock of the file to itself: name another file, or a clock, in sync_to"
    );
}

#[test]
fn x35_without_a_clock_the_reference_is_the_private_clock_of_a_member() {
    let resolved = resolve(
        r#"{"path": "c", "clocks": {"clock": "MONOTONIC", "sync_to": {"file": "b"}, "offset_ns": -3}},
           {"path": "b", "machine": {"name": "x"}}"#,
    );
    assert_eq!(
        related(&resolved.unwrap()),
        [(shared(HOST, Clock::Monotonic, 3), private(MachineRef::Named(0), 1, 0))]
    );
    assert_eq!(
        unresolved(
            r#"{"path": "c", "clocks": {"clock": "MONOTONIC", "sync_to": {"file": "x"}}}, {"path": "x"}"#
        ),
        "files[0].clocks.sync_to.file 'x' is no file of the import: without files[0].clocks.sync_to.clock, the \
         reference is the private clock of that file"
    );
}

#[test]
fn x36_trace_time_is_a_clock_of_a_machine() {
    let with = |trace_time: &str| field_refused(&format!("\"trace_time\": {trace_time}"));
    let expected =
        "trace_time must be an object, such as \"trace_time\": {\"clock\": \"BOOTTIME\"}";
    assert_eq!(with("\"BOOTTIME\""), expected);
    let expected = "trace_time.clock is required, such as \"clock\": \"BOOTTIME\"";
    assert_eq!(with("{}"), expected);
    let expected = "trace_time.file must be a string";
    assert_eq!(with("{\"clock\": \"BOOTTIME\", \"file\": null}"), expected);
    let expected = "trace_time.machine must be a string";
    assert_eq!(with("{\"clock\": \"BOOTTIME\", \"machine\": []}"), expected);

    let file = r#", "trace_time": {"clock": "REALTIME", "file": "b"}"#;
    let names = r#"{"path": "a", "machine": {"name": "x"}}, {"path": "b"}"#;
    let trace_time = |machine| {
        let clock = Clock::Realtime;
        Some(TraceTime { clock, machine })
    };
    let resolved = with_trace_time(names, file).unwrap();
    assert_eq!(resolved.trace_time, trace_time(Some(HOST)));
}

#[test]
fn x36_without_a_file_trace_time_is_of_the_first_machine() {
    let trace_time = r#", "trace_time": {"clock": "BOOTTIME"}"#;
    let machine =
        |files: &str| with_trace_time(files, trace_time).unwrap().trace_time.unwrap().machine;
    assert_eq!(
        machine(r#"{"path": "a"}, {"path": "b", "machine": {"name": "x"}}"#),
        Some(MachineRef::Named(0))
    );
    // The machine of the first packet, whichever it is.
    assert_eq!(machine(r#"{"path": "a"}"#), None);
    // A relation of machines without names is about the host, and exists before any packet.
    let relation = r#"{"path": "a", "clocks": {"clock": "BOOTTIME", "sync_to": {"file": "a", "clock": "REALTIME"}}}"#;
    assert_eq!(machine(relation), Some(HOST));
}

#[test]
fn x37_a_file_without_a_clock_is_pinned() {
    let resolved = resolve(
        r#"{"path": "a", "machine": {"name": "A"}},
           {"path": "b", "machine": {"name": "B"},
            "clocks": {"sync_to": {"file": "a", "clock": "BOOTTIME"}, "offset_ns": 500}},
           {"path": "c", "clocks": {"sync_to": {"file": "b"}}}"#,
    );
    let resolved = resolved.unwrap();
    let [a, b] = [0, 1].map(MachineRef::Named);
    assert_eq!(
        related(&resolved),
        [
            (private(b, 1, 0), shared(a, Clock::Boottime, 500)),
            (private(HOST, 2, 0), private(b, 1, 0)),
        ]
    );
    let pinned: Vec<_> = resolved.members.iter().map(|rules| rules.pinned()).collect();
    assert_eq!(pinned, [None, Some(b), Some(HOST)]);
}

#[test]
fn x37_a_pinned_file_has_no_other_machines_and_no_snapshots() {
    let resolved = resolve(
        r#"{"path": "a", "clocks": {"sync_to": {"file": "b", "clock": "BOOTTIME"}}}, {"path": "b"}"#,
    );
    let resolved = resolved.unwrap();
    let rules = &resolved.members[0];
    assert_eq!(rules.machine(0), Ok(HOST));
    let start = "files[0].clocks pins 'a' as a file with only a private clock, but ";
    let end = "; name the clock to relate, as files[0].clocks.clock";
    for (result, what) in [
        (rules.machine(7).map(|_| ()), "a packet has machine_id 7"),
        (rules.clock_snapshot(), "it has a ClockSnapshot"),
        (rules.remote_clock_sync(), "it has a RemoteClockSync"),
    ] {
        assert_eq!(told(result), format!("{start}{what}{end}"));
    }
}

#[test]
fn x37_a_pinned_entry_for_no_member_relates_nothing() {
    let resolved = resolve(
        r#"{"path": "x", "clocks": {"sync_to": {"file": "b", "clock": "BOOTTIME"}}}, {"path": "b"}"#,
    );
    assert_eq!(resolved.unwrap().relations, []);
}

/// Entries that the references in the tests below name.
const NAMED: &str = r#"{"path": "one", "machine": {"name": "x"}}, {"path": "plain"},
    {"path": "many", "machines": [{"id": 0, "name": "h"}, {"id": 7, "name": "v"}, {"id": 7, "name": "w"}]}"#;

#[test]
fn x38_a_reference_names_a_file_with_an_entry_and_one_of_its_machines() {
    let reference = |sync_to: &str| {
        let files = format!(
            r#"{{"path": "a", "clocks": {{"clock": "MONOTONIC", "sync_to": {{"clock": "BOOTTIME", {sync_to}}}}}}}, {NAMED}"#
        );
        resolve(&files).map(|resolved| resolved.relations[0].reference.machine)
    };
    let named = MachineRef::Named;
    assert_eq!(reference(r#""file": "one""#), Ok(named(0)));
    assert_eq!(reference(r#""file": "one", "machine": "x""#), Ok(named(0)));
    assert_eq!(reference(r#""file": "plain""#), Ok(HOST));
    assert_eq!(reference(r#""file": "many", "machine": "h""#), Ok(named(1)));
    assert_eq!(reference(r#""file": "many", "machine": "v""#), Ok(named(2)));
    // It is declared, although no packet belongs to it.
    assert_eq!(reference(r#""file": "many", "machine": "w""#), Ok(named(3)));
    for (sync_to, expected) in [
        (
            r#""file": "b""#,
            "files[0].clocks.sync_to.file names unknown file 'b': it must be the path of an entry of files",
        ),
        (
            r#""file": "many""#,
            "files[0].clocks.sync_to.file 'many' is a multi-machine trace: also name the machine, as \
             files[0].clocks.sync_to.machine",
        ),
        (
            r#""file": "many", "machine": "x""#,
            "files[0].clocks.sync_to.machine 'x' is not a machine declared by file 'many', in files[3]",
        ),
        (
            r#""file": "one", "machine": "y""#,
            "files[0].clocks.sync_to.machine 'y' is not a machine declared by file 'one', in files[1]",
        ),
        (
            r#""file": "plain", "machine": "x""#,
            "files[0].clocks.sync_to.machine 'x' is not a machine declared by file 'plain', in files[2]",
        ),
    ] {
        assert_eq!(told(reference(sync_to)), expected);
    }
}

#[test]
fn x38_so_does_trace_time() {
    let trace_time = |fields: &str| {
        let trace_time = format!(r#", "trace_time": {{"clock": "BOOTTIME", {fields}}}"#);
        let resolved = with_trace_time(NAMED, &trace_time);
        resolved.map(|resolved| resolved.trace_time.unwrap().machine)
    };
    assert_eq!(trace_time(r#""file": "plain""#), Ok(Some(HOST)));
    assert_eq!(trace_time(r#""file": "many", "machine": "v""#), Ok(Some(MachineRef::Named(2))));
    for (fields, expected) in [
        (
            r#""machine": "v""#,
            "trace_time.machine needs trace_time.file, because a file declares its machines",
        ),
        (
            r#""file": "b""#,
            "trace_time.file names unknown file 'b': it must be the path of an entry of files",
        ),
        (
            r#""file": "many""#,
            "trace_time.file 'many' is a multi-machine trace: also name the machine, as trace_time.machine",
        ),
        (
            r#""file": "plain", "machine": "v""#,
            "trace_time.machine 'v' is not a machine declared by file 'plain', in files[1]",
        ),
    ] {
        assert_eq!(told(trace_time(fields)), expected);
    }
}

#[test]
fn x38_so_do_the_clocks_of_an_entry_itself() {
    let clocks = |machines: &str, machine: &str| {
        let files = format!(
            r#"{{"path": "a", {machines} "clocks": {{"clock": "BOOTTIME", {machine}
                 "sync_to": {{"file": "b", "clock": "REALTIME"}}}}}}, {{"path": "b"}}"#
        );
        resolve(&files).map(|resolved| resolved.relations[0].this.machine)
    };
    let one = r#""machine": {"name": "x"},"#;
    let many = r#""machines": [{"id": 7, "name": "v"}],"#;
    assert_eq!(clocks("", ""), Ok(HOST));
    assert_eq!(clocks(one, ""), Ok(MachineRef::Named(0)));
    assert_eq!(clocks(one, r#""machine": "x","#), Ok(MachineRef::Named(0)));
    assert_eq!(clocks(many, r#""machine": "v","#), Ok(MachineRef::Named(0)));
    assert_eq!(
        told(clocks(many, "")),
        "files[0].clocks is of a multi-machine trace, 'a': name the machine that the clock is on, as \
         files[0].clocks.machine"
    );
    for machines in ["", one, many] {
        assert_eq!(
            told(clocks(machines, r#""machine": "y","#)),
            "files[0].clocks.machine 'y' is not a machine declared by file 'a', in files[0]"
        );
    }
}

#[test]
fn x39_only_traces_are_overridden() {
    let resolve = |entry: &str, kind| {
        let files = format!(r#", "files": [{{"path": "a", {entry}}}, {{"path": "b"}}]"#);
        let members = [Member { name: "a", kind }, Member { name: "b", kind: MemberKind::Trace }];
        parse(&files).unwrap().resolve(&members).map(|_| ())
    };
    let machine = r#""machine": {"name": "x"}"#;
    let host = r#""machines": [{"id": 0, "name": "x"}]"#;
    let clocks = r#""clocks": {"sync_to": {"file": "b", "clock": "BOOTTIME"}}"#;
    for (entry, field) in [(machine, "machine"), (host, "machines"), (clocks, "clocks")] {
        assert_eq!(
            told(resolve(entry, MemberKind::Manifest)),
            format!("files[0].{field} does not apply to 'a', which is a manifest, not a trace")
        );
        assert_eq!(
            told(resolve(entry, MemberKind::Archive)),
            format!("files[0].{field} does not apply to 'a', which is an archive, not a trace")
        );
        for kind in [MemberKind::Trace, MemberKind::Compressed, MemberKind::Unknown] {
            assert_eq!(resolve(entry, kind), Ok(()));
        }
    }
    // An entry that says nothing about the file as a whole is no override.
    let guest = r#""machines": [{"id": 7, "name": "x"}]"#;
    assert_eq!(resolve(guest, MemberKind::Manifest), Ok(()));
    assert_eq!(resolve(r#""x": 1"#, MemberKind::Archive), Ok(()));
}

#[test]
fn x40_relations_are_known_before_any_file_is_read() {
    // A reference to a file that comes later, and one in a circle.
    let resolved = resolve(
        r#"{"path": "a", "machine": {"name": "A"},
            "clocks": {"clock": "BOOTTIME", "sync_to": {"file": "b", "clock": "REALTIME"}}},
           {"path": "b", "machine": {"name": "B"},
            "clocks": {"clock": "BOOTTIME", "sync_to": {"file": "a", "clock": "MONOTONIC"}}}"#,
    );
    let [a, b] = [0, 1].map(MachineRef::Named);
    assert_eq!(
        related(&resolved.unwrap()),
        [
            (shared(a, Clock::Boottime, 0), shared(b, Clock::Realtime, 0)),
            (shared(b, Clock::Boottime, 0), shared(a, Clock::Monotonic, 0)),
        ]
    );
}

/// The examples of the page for users, each with its meaning for two traces.
#[test]
fn x35_the_examples_of_the_page_do_what_it_says() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/manifest.md");
    let page = fs::read_to_string(page).unwrap().replace("\r\n", "\n");
    let blocks = page.split("```json\n").skip(1);
    let examples: Vec<&str> = blocks.map(|block| block.split_once("```").unwrap().0).collect();
    let members = traces(&["a.pftrace", "b.pftrace"]);
    let resolved = examples.iter().map(|example| {
        let manifest = Manifest::parse(example.as_bytes()).unwrap();
        manifest.resolve(&members).unwrap()
    });
    let resolved: Vec<Resolved> = resolved.collect();
    let [named, related_clocks, pinned, _] = &resolved[..] else {
        unreachable!("there are {} examples", resolved.len())
    };
    for resolved in [named, related_clocks, pinned] {
        assert_eq!(resolved.names, ["phone", "watch"]);
        assert_eq!(resolved.warnings, []);
    }
    let [phone, watch] = [0, 1].map(MachineRef::Named);
    assert_eq!(related(named), []);
    let clock = Clock::Boottime;
    assert_eq!(related(related_clocks), [(shared(phone, clock, 0), shared(watch, clock, 500))]);
    let machine = Some(phone);
    assert_eq!(related_clocks.trace_time, Some(TraceTime { clock, machine }));
    assert_eq!(related(pinned), [(private(watch, 1, 0), shared(phone, clock, 500))]);
    assert_eq!(pinned.members[1].pinned(), Some(watch));
}
