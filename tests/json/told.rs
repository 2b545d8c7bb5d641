//! What the program tells its user about traces in JSON: summaries, warnings and errors.

use crate::support::{Imported, Place, answer, data, run};

#[test]
fn the_summary_says_that_producers_placed_the_files() {
    let said = Imported::of(&data("json/merge-build.zip"), &[]).said;
    assert_eq!(said.matches("machine 0: by what its producer says of its clock\n").count(), 2);
    assert!(!said.contains("clock snapshots"), "{said}");
}

/// The error of an import.
fn refused(text: &[u8]) -> String {
    let place = Place::new();
    let trace = place.write("package.json", text);
    place.refuse(&trace, &[])
}

#[test]
fn js1_json_that_is_no_trace_is_told_what_it_lacks() {
    const EXPECTED: &str = "It is JSON. A trace in Chrome's JSON format is an object with a list 'traceEvents', \
                            or a list of objects with a phase 'ph'";
    for (text, lacks) in [
        (r#"{"name": "app", "version": "1.0"}"#, "it has no list 'traceEvents'"),
        ("{}", "it has no list 'traceEvents'"),
        ("[1, 2, 3]", "no object at the begin of its list has a phase 'ph'"),
        (r#"[{"name": "app"}, {}]"#, "no object at the begin of its list has a phase 'ph'"),
    ] {
        let said = refused(text.as_bytes());
        assert!(
            said.contains(&format!("package.json is not a trace: {lacks}. {EXPECTED}")),
            "{said}"
        );
    }
    let said = refused(br#"{"traceEvents": {"a": 1}}"#);
    assert!(
        said.contains("is not a trace: its 'traceEvents' is no list of events. It is a"),
        "{said}"
    );
}

#[test]
fn js1_text_in_utf_16_is_told_how_to_convert_it() {
    let text = r#"[{"ph":"i","ts":1}]"#;
    let (mut little, mut big): (Vec<u8>, Vec<u8>) = (vec![0xff, 0xfe], vec![0xfe, 0xff]);
    for unit in text.encode_utf16() {
        little.extend(unit.to_le_bytes());
        big.extend(unit.to_be_bytes());
    }
    for bytes in [&little[..], &big, &little[2..], &big[2..]] {
        let said = refused(bytes);
        let expected = "is not a trace: it is no text in UTF-8. It is text in UTF-16. Convert it to UTF-8 first: \
                        iconv -f UTF-16 -t UTF-8 FILE > trace.json";
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn js2_a_trace_without_events_is_told_so() {
    for text in ["[[[[[[[[", "[]", "[ ,,", r#"{"traceEvents": [], "displayTimeUnit": "ns"}"#] {
        let imported = Imported::of_bytes(text.as_bytes(), &[]);
        assert!(imported.said.contains(": the trace has no events\n"), "{text}: {}", imported.said);
        let logged =
            imported.rows("SELECT severity, code FROM import_log WHERE code = 'no_events'");
        assert_eq!(logged, [["warning", "no_events"]], "{text}");
    }
    let imported = Imported::of_bytes(br#"[{"ph":"i","ts":1}]"#, &[]);
    assert!(!imported.said.contains("no events"), "{}", imported.said);
}

#[test]
fn options_that_mean_nothing_for_json_are_refused_or_told() {
    let place = Place::new();
    let json = place.write("a.json", br#"[{"ph":"i","ts":1}]"#);
    let database = place.path("out.db").display().to_string();
    let json = json.display().to_string();
    let import = |more: &[&str]| {
        let import = ["import", &json, "-o", &database, "--force", "--merge"];
        run(&[&import, more].concat())
    };
    let clock = "its events are on the file's own clock, so a default clock means nothing for them";
    let split = "nothing in it shows where a recording begins, so it cannot be split";
    for (flags, said) in [
        (
            &["--default-clock", "REALTIME"][..],
            format!(
                "{clock}. Leave out --default-clock; a manifest says how this clock relates to others"
            ),
        ),
        (&["--split"], format!("{split}. Leave out --split\n")),
    ] {
        let refused = run(&[&["import", &json, "-o", &database], flags].concat());
        assert_eq!(refused.code, Some(1), "{}", refused.stderr);
        let expected = format!("timebase: error: {json} is in Chrome's JSON format: {said}");
        assert!(refused.stderr.starts_with(&expected), "{}", refused.stderr);
    }

    let perfetto = data("multihop.pftrace").display().to_string();
    let both = import(&[&perfetto, "--default-clock", "BOOTTIME", "--split"]);
    assert_eq!(both.code, Some(0), "{}", both.stderr);
    for why in [clock, split] {
        let warning = format!("{json}, in Chrome's JSON format: {why}\n");
        assert_eq!(both.stderr.matches(&warning).count(), 1, "{}", both.stderr);
    }
}

#[test]
fn json_traces_have_entries_in_a_manifest() {
    let place = Place::new();
    let named = |name: &str| {
        let text = br#"{"traceEvents": [{"ph":"i","ts":1}], "beginningOfTime": 1700000000000000}"#;
        place.write(name, text).display().to_string()
    };
    let (a, b) = (named("a.json"), named("b.json"));
    let said = run(&["manifest", &a, &b]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stdout.contains(r#"{"path": "a.json"},"#), "{}", said.stdout);
    assert!(
        said.stderr.contains("events count as one machine, the host, in all of these"),
        "{}",
        said.stderr
    );
    assert!(
        said.stderr.contains(r#""clocks": {"sync_to": {"file": "a.json"}, "offset_ns": …}"#),
        "{}",
        said.stderr
    );

    // The manifest with the suggested addition places the file.
    let entry = r#"{"path": "b.json"}"#;
    let moved =
        r#"{"path": "b.json", "clocks": {"sync_to": {"file": "a.json"}, "offset_ns": 5000}}"#;
    let manifest = place.write("manifest.json", said.stdout.replace(entry, moved).as_bytes());
    let database = place.path("out.db").display().to_string();
    let manifest = manifest.display().to_string();
    let said = run(&["import", &a, &b, "--manifest", &manifest, "-o", &database]);
    assert!(said.stderr.contains("b.json, machine 0: as the manifest says"), "{}", said.stderr);

    // Ranks are machines, with names that the import gives (rule JS38).
    let rank = |name: &str| data(name).display().to_string();
    let said = run(&["manifest", &rank("training-rank0.json"), &rank("training-rank1.json")]);
    assert!(!said.stderr.contains("one machine"), "{}", said.stderr);
}

#[test]
fn cv2_rewrite_says_that_json_traces_are_converted() {
    let place = Place::new();
    let json = place.write("a.json", br#"[{"ph":"i","ts":1}]"#).display().to_string();
    let out = place.path("out.pftrace").display().to_string();
    let perfetto = data("multihop.pftrace").display().to_string();
    let both = run(&["rewrite", &json, &perfetto, "-o", &out]);
    assert_eq!(both.code, Some(0), "{}", both.stderr);
    let told = "9 packets, events and members read, 12 packets written";
    assert!(both.stderr.contains(told), "{}", both.stderr);
    assert!(both.stderr.contains("a zip of 2 traces, with a manifest"), "{}", both.stderr);
    let dry = run(&["rewrite", &json, &perfetto, "--dry-run"]);
    let told = "9 packets, events and members read, 12 packets would be written";
    assert!(dry.stderr.contains(told), "{}", dry.stderr);
}

#[test]
fn js9_explain_shows_a_time_that_does_not_fit() {
    let text = r#"[{"ph":"i","ts":1},{"ph":"i","ts":1e30},{"ph":"i"}]"#;
    let imported = Imported::of_bytes(text.as_bytes(), &[]);
    let explain =
        |imported: &Imported, packet| answer(&["explain", imported.path(), "--packet", packet]);
    let fits = "in microseconds, which does not fit 64 bits as nanoseconds; so it has no time\n";
    assert_eq!(explain(&imported, "1"), format!("packet 1 has \"ts\": 1e30, {fits}"));
    assert_eq!(explain(&imported, "2"), "packet 2 has no timestamp: there is nothing to convert\n");
    let without = Imported::of_bytes(text.as_bytes(), &["--no-data"]);
    assert_eq!(explain(&without, "1"), format!("packet 1 has \"ts\", {fits}"));
}

#[test]
fn clocks_shows_the_offset_to_the_clock_of_a_json_trace() {
    let imported = Imported::of(&data("json/merge-build.zip"), &[]);
    let said = answer(&["clocks", imported.path(), "--format", "csv"]);
    let last = |name: &str| {
        let line = said.lines().find(|line| line.contains(name)).unwrap_or_default();
        line.rsplit(',').take(2).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(last("bazel.json"), ["0", "0"], "{said}");
    assert_eq!(last("clang-a.json"), ["0", "13724000"], "{said}");
}

#[test]
fn js29_members_that_are_not_read_are_told_once() {
    let text = r##"{"traceEvents": [{"ph":"i","ts":1}], "stackFrames": {}, "samples": [{"cpu": 0}], "samples": [1],
                   "systemTraceEvents": "# tracer: nop\n"}"##;
    let imported = Imported::of_bytes(text.as_bytes(), &[]);
    let logged = imported
        .rows("SELECT severity, packet_id, message FROM import_log WHERE code = 'member_not_read'");
    let message = |what| format!("the member {what}");
    let samples = message("samples is not read, which has samples of callstacks");
    let system = message(
        "systemTraceEvents is not read, which has events of the kernel or the system as text",
    );
    assert_eq!(logged, [["info", "2", &samples], ["info", "4", &system]]);
    for message in [samples, system] {
        assert_eq!(
            imported.said.matches(&format!(": {message}\n")).count(),
            1,
            "{}",
            imported.said
        );
    }
    let none = r#"{"traceEvents": [{"ph":"i","ts":1}], "stackFrames": {}, "samples": [], "systemTraceEvents": ""}"#;
    assert!(!Imported::of_bytes(none.as_bytes(), &[]).said.contains("not read"));
}
