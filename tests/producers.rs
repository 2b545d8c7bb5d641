//! Traces of programs that write Perfetto traces for a living, and their rules: pid namespaces, negative
//! pids, callstacks of track events, V8's profiles, and counters of `stats`.

use std::fs;

use crate::support::events::{
    BEGIN, COUNTER, END, INSTANT, SEQUENCE, STATE, TRACK_EVENT, at, clear, counter, described,
    event, legacy, loss, named, needs, process, references, thread, told, unnamed,
};
use crate::support::kernel::{self, gives, imported, lines, new, packet};
use crate::support::{Imported, Place, answer, count, data};
use timebase_lab::encode::{Message, trace_of};

fn report(name: &str) -> Imported {
    Imported::new(&format!("reports/{name}.pftrace"), &[])
}

fn counted(trace: &Imported, name: &str) -> i64 {
    trace.count(&format!("SELECT ifnull(sum(value), 0) FROM stats WHERE name = '{name}'"))
}

// J11

/// A process list in which the process has numbers in namespaces, and so do its threads.
fn tree(pid: u64, nspid: &[u64], threads: &[(u64, &[u64])]) -> Message {
    let of = kernel::process(pid, 1, &["/bin/app"]);
    let process = nspid.iter().fold(of, |process, pid| process.number(6, *pid));
    threads.iter().fold(new().message(1, process), |tree, (tid, nstid)| {
        let thread = new().number(1, *tid).number(3, pid);
        let thread = nstid.iter().fold(thread, |thread, tid| thread.number(4, *tid));
        tree.message(2, thread)
    })
}

/// A packet of a program whose pid the recorder knows.
fn of(trusted_pid: i64, packet: Message) -> Message {
    packet.signed(79, trusted_pid)
}

const ON: &str = "SELECT s.name, tid, pid, is_main_thread FROM slice AS s JOIN thread_track AS k ON k.id = track_id \
     JOIN thread USING (utid) JOIN process USING (upid) ORDER BY s.id";
const PROCESSES: &str = "SELECT pid FROM process WHERE pid > 1 ORDER BY pid";

#[test]
fn j11_a_slice_of_a_container_is_beside_the_rows_of_sched() {
    let trace = report("07-pid-namespace");
    gives(
        &trace,
        "SELECT s.name, s.ts, s.dur, tid, t.name, pid, p.name FROM slice AS s JOIN thread_track AS k ON k.id = track_id \
         JOIN thread AS t USING (utid) JOIN process AS p USING (upid)",
        &["job 3000 2000 501 worker 500 /usr/bin/app"],
    );
    // The same thread runs while it has the slice, and no process or thread has the container's numbers.
    gives(
        &trace,
        "SELECT c.ts, c.dur FROM sched AS c WHERE utid = (SELECT utid FROM thread_track AS k JOIN slice ON track_id = k.id)",
        &["2000 7000"],
    );
    gives(
        &trace,
        "SELECT (SELECT count(*) FROM process WHERE pid = 7), (SELECT count(*) FROM thread WHERE tid IN (7, 8))",
        &["0 0"],
    );
}

#[test]
fn j11_numbers_are_looked_up_at_the_depth_of_the_process() {
    let trace = told(&[
        packet(5, 2, tree(500, &[300, 7], &[(501, &[301, 8]), (502, &[9])])),
        of(500, described(1, thread(7, 7))),
        of(500, described(2, thread(7, 8))),
        of(500, described(3, thread(7, 301))),
        of(500, described(4, thread(7, 9))),
        of(500, described(5, process(7, "app"))),
        event(10, named(INSTANT, "main", 1)),
        event(11, named(INSTANT, "thread", 2)),
        // A number of another depth, and a thread that says too few numbers.
        event(12, named(INSTANT, "outer", 3)),
        event(13, named(INSTANT, "unknown", 4)),
    ]);
    trace.gives(ON, &["main 500 500 1", "thread 501 500 0", "outer 301 500 0", "unknown 9 500 0"]);
    // J5
    trace.gives("SELECT pid, name FROM process WHERE pid > 1", &["500 /bin/app"]);
}

#[test]
fn j11_the_latest_list_before_the_event_counts_and_then_the_last_of_the_trace() {
    let event = |time, uuid| of(500, event(time, named(INSTANT, "i", uuid)));
    let trace = told(&[
        of(500, described(1, thread(7, 8))),
        of(500, described(2, thread(7, 8))),
        of(500, described(3, thread(7, 9))),
        event(10, 1),
        packet(15, 2, tree(500, &[7], &[(501, &[8])])),
        packet(20, 2, tree(500, &[7], &[(502, &[8])])),
        event(30, 2),
        event(31, 3),
        packet(40, 2, tree(500, &[7], &[(503, &[9])])),
    ]);
    trace.gives(
        "SELECT s.ts, tid FROM slice AS s JOIN thread_track AS k ON k.id = track_id JOIN thread USING (utid) ORDER BY s.ts",
        &["10 502", "30 502", "31 503"],
    );
}

#[test]
fn j11_without_a_trusted_pid_of_a_listed_process_numbers_stay() {
    for trusted in [0, -500, 499, 7] {
        let trace = told(&[
            packet(5, 2, tree(500, &[7], &[(501, &[8])])),
            of(trusted, described(1, thread(7, 8))),
            event(10, named(INSTANT, "i", 1)),
        ]);
        trace.gives(ON, &["i 8 7 0"]);
        trace.gives(PROCESSES, &["7", "500"]);
    }
    // Process 500 is in no namespace.
    let trace = told(&[
        packet(5, 2, tree(500, &[], &[(501, &[8])])),
        of(500, described(1, thread(7, 8))),
        event(10, named(INSTANT, "i", 1)),
    ]);
    trace.gives(ON, &["i 8 7 0"]);
}

#[test]
fn j11_a_process_whose_numbers_change_has_no_threads() {
    let trace = told(&[
        packet(5, 2, tree(500, &[7], &[(501, &[8])])),
        packet(6, 2, tree(500, &[9], &[(502, &[10])])),
        of(500, described(1, thread(9, 8))),
        event(10, named(INSTANT, "i", 1)),
    ]);
    trace.gives(ON, &["i 8 500 0"]);
}

#[test]
fn j11_the_thread_of_a_sequence_and_overrides_are_of_the_namespace() {
    let on_thread = |time, overrides| {
        let event_of = legacy('i', overrides).text(23, "i");
        of(500, event(time, event_of))
    };
    let global = || new().number(1, 9).text(2, "global");
    let trace = told(&[
        packet(5, 2, tree(500, &[7], &[(501, &[8]), (502, &[9])])),
        clear(),
        of(500, references(7, 8, [0, 0, 0])),
        on_thread(10, new()),
        on_thread(11, new().number(19, 9)),
        on_thread(12, new().number(18, 7).number(19, 9)),
        on_thread(13, new().number(18, 7).number(19, 77)),
        new().number(10, SEQUENCE).message(kernel::TRACK_DESCRIPTOR, global()),
        of(500, event(14, named(INSTANT, "g", 9))),
    ]);
    trace.gives(
        "SELECT s.ts, tid, pid FROM slice AS s JOIN thread_track AS k ON k.id = track_id \
         JOIN thread USING (utid) JOIN process USING (upid) ORDER BY s.ts",
        &["10 501 500", "11 502 500", "12 502 500", "13 77 500"],
    );
    // A11
    trace.gives(
        "SELECT tid, pid FROM slice AS s JOIN args AS a USING (arg_set_id) JOIN thread AS t ON t.utid = a.int_value \
         JOIN process USING (upid) WHERE key = 'legacy_event.passthrough_utid'",
        &["501 500"],
    );
    trace.gives(PROCESSES, &["500"]);
}

#[test]
fn j11_a_sandboxed_tid_is_looked_up_by_its_lower_half() {
    let sandboxed = |pid, tid| thread(pid, tid).message(7, new().number(3, 1));
    let trace = told(&[
        packet(5, 2, tree(500, &[7], &[(501, &[8])])),
        of(500, described(1, sandboxed(500, 8))),
        of(500, described(2, sandboxed(7, 9))),
        event(10, named(INSTANT, "known", 1)),
        event(11, named(INSTANT, "unknown", 2)),
    ]);
    let combined = (500_i64 << 32) | 9;
    trace.gives(ON, &["known 501 500 0", &format!("unknown {combined} 500 0")]);
}

#[test]
fn j11_samples_of_a_stream_are_of_the_same_thread() {
    let streamed = new().packed(1, &[1]).packed(2, &[5]);
    let interned = new()
        .message(5, new().number(1, 1).text(2, "main"))
        .message(6, new().number(1, 1).number(2, 1))
        .message(7, new().number(1, 1).number(2, 1));
    let trace = imported(&[
        packet(5, 2, tree(500, &[7], &[(501, &[8])])),
        clear(),
        of(500, references(7, 8, [1, 0, 0])),
        new().number(10, SEQUENCE).message(12, interned).message(54, streamed),
    ]);
    gives(
        &trace,
        "SELECT ts, tid, pid FROM cpu_profile_stack_sample JOIN thread USING (utid) JOIN process USING (upid)",
        &["6000 501 500"],
    );
}

#[test]
fn j11_slices_alone_are_on_the_same_threads() {
    let trace = Imported::new("reports/07-pid-namespace.pftrace", &["--tables", "slice"]);
    gives(&trace, ON, &["job 501 500 0"]);
}

// FP3

#[test]
fn fp3_a_negative_pid_is_one_process() {
    let trace = report("producer-micromegas-negative-pid");
    gives(&trace, "SELECT pid, name FROM process WHERE pid <> 0", &["3730000721 my-app.exe"]);
    gives(
        &trace,
        "SELECT DISTINCT process_name, thread_name, tid FROM thread_slice ORDER BY tid",
        &["my-app.exe main 1234", "my-app.exe worker 1235"],
    );
}

#[test]
fn fp3_the_same_negative_tid_is_the_main_thread() {
    let trace = told(&[
        described(1, process(u64::from(u32::MAX) - 6, "app")),
        described(2, thread(-7, -7)),
        described(3, thread(-7, -8)),
        event(10, named(INSTANT, "main", 2)),
        event(11, named(INSTANT, "other", 3)),
    ]);
    trace.gives(ON, &["main 4294967289 4294967289 1", "other -8 4294967289 0"]);
    trace.gives("SELECT pid, name FROM process WHERE pid <> 0", &["4294967289 app"]);
}

// FP4

const STACKS: &str = "SELECT c.ts, s.name, event, callstack(callsite_id) AS stack, weight FROM track_event_callstack AS c \
     LEFT JOIN slice AS s ON s.id = c.slice_id ORDER BY c.id";

/// The callstack of an event, as frames in the event.
fn inline(frames: &[&str]) -> Message {
    let frames = frames.iter().fold(new(), |stack, name| stack.message(1, new().text(1, name)));
    new().message(55, frames)
}

/// The rows that the program gives a statement with its own functions.
fn queried(trace: &Imported, sql: &str) -> String {
    answer(&["query", trace.path(), sql, "--format", "csv"])
}

#[test]
fn fp4_the_callstack_of_an_event_is_a_row() {
    let trace = report("producer-perfetto-python-builder-inline-callstack");
    gives(
        &trace,
        "SELECT c.slice_id, event, s.name, c.ts = s.ts, c.utid = k.utid \
         FROM track_event_callstack AS c JOIN slice AS s ON s.id = c.slice_id LEFT JOIN thread_track AS k ON k.id = track_id",
        &["8 instant WithStack 1 1"],
    );
    gives(
        &trace,
        "SELECT c.depth, f.name, m.name, y.source_file, y.line_number FROM stack_profile_callsite AS c \
         JOIN stack_profile_frame AS f ON f.id = frame_id JOIN stack_profile_mapping AS m ON m.id = mapping \
         JOIN stack_profile_symbol AS y USING (symbol_set_id) ORDER BY c.depth",
        &["0 main track_event_inline a.cc 3", "1 draw track_event_inline a.cc 3"],
    );
}

#[test]
fn fp4_each_event_of_a_slice_has_its_callstack() {
    let trace = imported(&[
        described(1, thread(10, 11)),
        described(2, counter(new())),
        described(3, new().message(18, new())),
        event(10, named(BEGIN, "a", 1).and(&inline(&["main", "f"])).double(57, 2.5)),
        event(15, named(INSTANT, "i", 1).and(&inline(&["main"]))),
        event(18, unnamed(COUNTER, 2).signed(30, 5).and(&inline(&["main", "c"]))),
        event(19, named(STATE, "on", 3).and(&inline(&["main", "s"]))),
        event(30, unnamed(END, 1).and(&inline(&["main", "g"]))),
        // These make no row: an end without a slice, and a callstack without frames.
        event(40, unnamed(END, 1).and(&inline(&["main", "h"]))),
        event(50, named(INSTANT, "empty", 1).and(&inline(&[]))),
        event(60, legacy('X', new().number(3, 1)).number(11, 1).text(23, "x").and(&inline(&["x"]))),
    ]);
    assert_eq!(
        queried(&trace, STACKS),
        "ts,name,event,stack,weight\n\
         10,a,begin,main;f,2.5\n\
         15,i,instant,main,\n\
         18,,counter,main;c,\n\
         19,,state,main;s,\n\
         30,a,end,main;g,\n\
         60,x,begin,x,\n"
    );
    gives(
        &trace,
        "SELECT c.ts, tid FROM track_event_callstack AS c LEFT JOIN thread USING (utid)",
        &["10 11", "15 11", "18 -", "19 -", "30 11", "60 11"],
    );
    gives(
        &trace,
        "SELECT DISTINCT name, start, end FROM stack_profile_mapping",
        &["track_event_inline 0 -1"],
    );
    assert_eq!(counted(&trace, "track_event_parser_errors"), 0);
    assert_eq!(counted(&trace, "unknown_extension_fields"), 0);
}

/// Interned data: the callstack 1 has the function in a mapping.
fn stack_entries(function: &str) -> Message {
    new()
        .message(5, new().number(1, 1).text(2, function))
        .message(17, new().number(1, 1).text(2, "app"))
        .message(19, new().number(1, 1).number(5, 4096).number(7, 1))
        .message(6, new().number(1, 1).number(2, 1).number(3, 1).number(4, 16))
        .message(7, new().number(1, 1).number(2, 1))
}

#[test]
fn fp4_cs1_a_number_means_what_its_packet_sees() {
    let stacked = |time, iid| needs(event(time, named(INSTANT, "i", 1).number(56, iid)));
    let trace = imported(&[
        described(1, thread(10, 11)),
        clear().message(12, stack_entries("f")),
        stacked(10, 1),
        // Another interval, in which the number has another meaning, and its last event comes first.
        clear().message(12, stack_entries("g")),
        stacked(5, 1),
        stacked(20, 2).message(12, new().message(7, new().number(1, 3).number(2, 1))),
        stacked(30, 3),
    ]);
    assert_eq!(
        queried(&trace, STACKS),
        "ts,name,event,stack,weight\n5,i,instant,g,\n10,i,instant,f,\n30,i,instant,g,\n"
    );
    let counts = [
        "track_event_parser_errors",
        "stackprofile_invalid_callstack_id",
        "interned_data_tokenizer_errors",
    ];
    assert_eq!(counts.map(|name| counted(&trace, name)), [1, 1, 1]);
    // Each interval has a mapping of the process.
    gives(&trace, "SELECT name, end FROM stack_profile_mapping", &["/app 4096", "/app 4096"]);
}

/// An event whose schema comes after it is decoded when the packets with the schema are known.
#[test]
fn fp4_an_event_that_is_decoded_later_keeps_its_callstack_and_its_texts() {
    let set = fs::read(data("extension.descriptor")).unwrap();
    let late = |time, iid| {
        let annotation = new().number(1, 1).number(17, 1);
        let event_of = named(INSTANT, "i", 1).message(4, annotation).number(56, iid);
        needs(event(time, event_of.message(9901, new())))
    };
    let texts = stack_entries("f")
        .message(3, new().number(1, 1).text(2, "key"))
        .message(29, new().number(1, 1).text(2, "value"));
    let trace = imported(&[
        described(1, thread(10, 11)),
        clear().message(12, texts),
        // The last event of a profiler in the interval, before the events that are decoded later.
        needs(packet(5, 66, new().number(2, 10).number(3, 11).number(4, 1)).number(10, SEQUENCE)),
        late(10, 1),
        late(20, 1),
        new().number(10, 1).message(72, new().bytes(1, &set)),
    ]);
    assert_eq!(
        queried(&trace, STACKS),
        "ts,name,event,stack,weight\n10,i,instant,f,\n20,i,instant,f,\n"
    );
    gives(
        &trace,
        "SELECT s.ts, string_value FROM slice AS s JOIN args USING (arg_set_id) WHERE key = 'debug.key'",
        &["10 value", "20 value"],
    );
}

#[test]
fn fp4_flamegraph_of_slices() {
    let place = Place::new();
    let trace = place.write(
        "trace.pftrace",
        &trace_of(&[
            described(1, thread(10, 11)),
            described(2, thread(10, 12)),
            event(10, named(BEGIN, "a", 1).and(&inline(&["main", "f"]))),
            event(20, unnamed(END, 1).and(&inline(&["main", "g"]))),
            event(30, named(INSTANT, "b", 2).and(&inline(&["main", "f"]))),
        ]),
    );
    let trace = trace.to_str().unwrap();
    assert_eq!(answer(&["flamegraph", trace, "--of", "slices"]), "main;f 2\nmain;g 1\n");
    // The only callstacks are also the default.
    assert_eq!(answer(&["flamegraph", trace]), "main;f 2\nmain;g 1\n");
    assert_eq!(answer(&["flamegraph", trace, "--thread", "12"]), "main;f 1\n");
    assert_eq!(answer(&["flamegraph", trace, "--during", "a"]), "main;f 1\n");
    let page = place.path("flame.html");
    answer(&["flamegraph", trace, "-o", page.to_str().unwrap()]);
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("Callstacks of events of trace.pftrace") && page.contains("events"));
    let profile = place.path("profile.pb.gz");
    answer(&["flamegraph", trace, "-o", profile.to_str().unwrap()]);
    assert!(fs::metadata(profile).unwrap().len() > 50);
}

#[test]
fn fp4_trace_processors_table_has_a_row_for_each_slice() {
    let trace = imported(&[
        described(1, thread(10, 11)),
        described(2, counter(new())),
        event(10, named(BEGIN, "a", 1).and(&inline(&["f"])).double(57, 2.0)),
        event(15, unnamed(COUNTER, 2).signed(30, 5).and(&inline(&["c"]))),
        event(18, named(BEGIN, "b", 1)),
        event(20, unnamed(END, 1).and(&inline(&["g"])).double(57, 3.0)),
        event(30, unnamed(END, 1).and(&inline(&["h"]))),
    ]);
    // The first module of a folder with a prelude makes trace processor's tables.
    let place = Place::new();
    let folder = place.path("sql");
    fs::create_dir_all(folder.join("prelude")).unwrap();
    fs::write(folder.join("prelude/first.sql"), "CREATE PERFETTO VIEW _first AS SELECT 1 AS a;")
        .unwrap();
    fs::write(folder.join("any.sql"), "CREATE PERFETTO VIEW any_view AS SELECT 1 AS a;").unwrap();
    let sql = "INCLUDE PERFETTO MODULE any; \
               SELECT s.name, c.track_id = s.track_id AS of_track, callstack(callsite_id) AS begin, \
               callstack(end_callsite_id) AS end, weight FROM __intrinsic_track_event_callstacks AS c \
               JOIN slice AS s ON s.id = c.slice_id ORDER BY c.id";
    let folder = folder.to_str().unwrap();
    let told = answer(&["query", trace.path(), sql, "--format", "csv", "--sql-package", folder]);
    assert_eq!(told, "name,of_track,begin,end,weight\na,1,f,h,2.0\nb,1,,g,3.0\n");
    let columns = "INCLUDE PERFETTO MODULE any; SELECT * FROM __intrinsic_track_event_callstacks";
    let told =
        answer(&["query", trace.path(), columns, "--format", "csv", "--sql-package", folder]);
    let columns = told.lines().next();
    assert_eq!(columns, Some("id,slice_id,track_id,callsite_id,end_callsite_id,weight"));
}

#[test]
fn fp4_callstacks_are_there_when_samples_are_chosen() {
    let trace = "reports/producer-perfetto-python-builder-inline-callstack.pftrace";
    let rows = |args: &[&str]| {
        let trace = Imported::new(trace, args);
        let table = |name: &str| trace.count(&format!("SELECT count(*) FROM {name}"));
        [table("track_event_callstack"), table("stack_profile_callsite")]
    };
    let all = rows(&[]);
    assert!(all[0] == 1 && all[1] > 0, "{all:?}");
    assert_eq!(rows(&["--tables", "stack_sample"]), all);
    assert_eq!(rows(&["--tables", "slice"]), [0, 0]);
    assert_eq!(rows(&["--no-events"]), [0, 0]);
}

#[test]
fn fp4_callstacks_are_exported_and_rewritten() {
    let place = Place::new();
    let trace = data("reports/producer-perfetto-python-builder-inline-callstack.pftrace");
    let trace = trace.to_str().unwrap();
    let written = place.path("rewritten.pftrace");
    answer(&["rewrite", trace, "-o", written.to_str().unwrap()]);
    let sql =
        "SELECT ts, slice_id, event, callstack(callsite_id) AS stack FROM track_event_callstack";
    let asked = |trace: &str| answer(&["query", trace, sql, "--format", "csv"]);
    assert_eq!(asked(trace).lines().count(), 2);
    assert_eq!(asked(written.to_str().unwrap()), asked(trace));
    let folder = place.path("tables");
    answer(&["export", trace, "-o", folder.to_str().unwrap(), "--tables", "track_event_callstack"]);
    let file = fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path());
    let names: Vec<String> = file.map(|path| path.display().to_string()).collect();
    assert!(names.iter().any(|name| name.contains("track_event_callstack")), "{names:?}");
}

/// A trace that was damaged is salvaged, and the callstacks of its other events are there.
#[test]
fn fp4_callstacks_of_a_damaged_trace() {
    let mut trace = trace_of(&[described(1, thread(10, 11))]);
    trace.extend_from_slice(&[0xff; 40]);
    let stacked = |time| event(time, named(INSTANT, "i", 1).and(&inline(&["main", "f"])));
    trace.extend(trace_of(&[stacked(10), stacked(20)]));
    let found = Imported::of_bytes(&trace, &[]);
    assert!(
        queried(&found, STACKS).ends_with("20,i,instant,main;f,\n"),
        "{}",
        queried(&found, STACKS)
    );
}

// FP5

/// An event of V8 with a part of a profile.
fn v8(time: u64, id: u64, json: &str) -> Message {
    let annotation = new().text(10, "data").text(9, json);
    let event_of = legacy('P', new().number(6, id)).text(23, "ProfileChunk");
    event(time, event_of.message(4, annotation))
}

/// MONOTONIC is trace time.
fn snapshot() -> Message {
    let reading = |id| new().number(1, id).number(2, 500);
    let clocks = new().message(1, reading(6)).message(1, reading(3));
    new().number(10, 1).message(6, clocks)
}

const SAMPLES: &str = "SELECT ts, callstack(callsite_id) AS stack, tid, pid FROM cpu_profile_stack_sample \
     LEFT JOIN thread USING (utid) LEFT JOIN process USING (upid) ORDER BY ts";

const NODES: &str = r#"{"id": 1, "callFrame": {"functionName": "(root)", "url": ""}},
    {"id": 2, "parent": 1, "callFrame": {"functionName": "f", "url": "https://a/x.js", "lineNumber": 7}}"#;

#[test]
fn fp5_a_profile_of_v8_is_samples() {
    let chunk = |nodes: &str, samples: &str, deltas: &str| {
        format!(
            r#"{{"cpuProfile": {{"nodes": [{nodes}], "samples": [{samples}]}}, "timeDeltas": [{deltas}]}}"#
        )
    };
    let trace = imported(&[
        snapshot(),
        clear(),
        references(10, 11, [0, 0, 0]),
        v8(900_000, 7, r#"{"startTime": 1000}"#),
        v8(5_000_000, 7, &chunk(NODES, "2, 1", "5, 10")),
        // A child that its parent names, and a fraction of a microsecond.
        v8(
            6_000_000,
            7,
            &chunk(
                r#"{"id": 3, "parent": 2, "children": [4], "callFrame": {"functionName": "g"}},
                   {"id": 4, "callFrame": {"functionName": "h"}}"#,
                "4, 3",
                "-20, 1.5",
            ),
        ),
    ]);
    assert_eq!(
        queried(&trace, SAMPLES),
        "ts,stack,tid,pid\n\
         995000,(root);f;g;h,11,10\n\
         996500,(root);f;g,11,10\n\
         1005000,(root);f,11,10\n\
         1015000,(root),11,10\n"
    );
    gives(
        &trace,
        "SELECT f.name, y.name, source_file, line_number, m.name FROM stack_profile_frame AS f \
         JOIN stack_profile_symbol AS y USING (symbol_set_id) JOIN stack_profile_mapping AS m ON m.id = mapping ORDER BY f.name",
        &["(root) (root) - - ", "f f https://a/x.js - ", "g g - - ", "h h - - "],
    );
    gives(&trace, "SELECT DISTINCT source, session_id FROM stack_sample", &["legacy_v8 -"]);
    gives(&trace, "SELECT count(*), count(DISTINCT id) FROM stack_profile_mapping", &["1 1"]);
    let counts = [
        "legacy_v8_cpu_profile_invalid_callsite",
        "legacy_v8_cpu_profile_invalid_sample",
        "track_event_parser_errors",
    ];
    assert_eq!(counts.map(|name| counted(&trace, name)), [0, 0, 0]);
}

#[test]
fn fp5_what_a_profile_lacks_is_counted() {
    let start = r#"{"startTime": 1000}"#;
    let trace = imported(&[
        snapshot(),
        clear(),
        references(10, 11, [0, 0, 0]),
        // Without a start.
        v8(1, 8, r#"{"cpuProfile": {"nodes": [{"id": 1}], "samples": [1]}, "timeDeltas": [5]}"#),
        v8(2, 7, start),
        // No id, an unknown parent, a node that is there.
        v8(
            3,
            7,
            r#"{"cpuProfile": {"nodes": [{"id": 1}, {}, {"id": 2, "parent": 9}, {"id": 1}]}}"#,
        ),
        // Lists of different lengths.
        v8(4, 7, r#"{"cpuProfile": {"samples": [1, 1]}, "timeDeltas": [5]}"#),
        // An unknown node, and a number that is none; their times count.
        v8(5, 7, r#"{"cpuProfile": {"samples": [77, "x", 1]}, "timeDeltas": [5, 10, 20]}"#),
        v8(6, 7, "{"),
        v8(7, 7, r#"{"startTime": "now"}"#),
    ]);
    assert_eq!(queried(&trace, SAMPLES), "ts,stack,tid,pid\n1035000,[unknown]+0x0,11,10\n");
    let counts = ["legacy_v8_cpu_profile_invalid_callsite", "legacy_v8_cpu_profile_invalid_sample"];
    assert_eq!(counts.map(|name| counted(&trace, name)), [4, 6]);
}

#[test]
fn fp5_other_phases_and_other_annotations_are_no_profile() {
    let start = r#"{"startTime": 1000}"#;
    let chunk = r#"{"cpuProfile": {"nodes": [{"id": 1}], "samples": [1]}, "timeDeltas": [5]}"#;
    let other = |phase, name: &str| {
        let annotation = new().text(10, name).text(9, chunk);
        let event_of = legacy(phase, new().number(6, 7)).text(23, "ProfileChunk");
        event(3, event_of.message(4, annotation))
    };
    let trace = imported(&[
        snapshot(),
        clear(),
        references(10, 11, [0, 0, 0]),
        v8(2, 7, start),
        other('P', "other"),
        other('I', "data"),
    ]);
    gives(&trace, "SELECT * FROM cpu_profile_stack_sample", &[]);
    assert_eq!(counted(&trace, "legacy_v8_cpu_profile_invalid_sample"), 0);
}

#[test]
fn fp5_profiles_of_two_processes_and_calls_without_samples() {
    let chunk = |name: &str| {
        format!(
            r#"{{"cpuProfile": {{"nodes": [{{"id": 1, "callFrame": {{"functionName": "{name}"}}}},
                {{"id": 2, "parent": 1, "callFrame": {{"functionName": "unsampled"}}}}], "samples": [1]}}, "timeDeltas": [5]}}"#
        )
    };
    let of = |pid: u64, json: &str| {
        let annotation = new().number(1, 1).text(9, json);
        let event_of = legacy('P', new().number(6, 7).number(18, pid).number(19, pid));
        event(2, event_of.message(4, annotation))
    };
    let names = new().message(3, new().number(1, 1).text(2, "data"));
    let trace = imported(&[
        snapshot(),
        clear().message(12, names),
        of(10, r#"{"startTime": 1000}"#),
        of(20, r#"{"startTime": 2000}"#),
        of(10, &chunk("a")),
        of(20, &chunk("b")),
    ]);
    assert_eq!(queried(&trace, SAMPLES), "ts,stack,tid,pid\n1005000,a,10,10\n2005000,b,20,20\n");
    let stacks = "SELECT callstack(id) AS stack FROM stack_profile_callsite ORDER BY 1";
    assert_eq!(queried(&trace, stacks), "stack\na\na;unsampled\nb\nb;unsampled\n");
}

// Counters of stats

#[test]
fn u4_e17_a_value_without_a_track_is_no_error_of_its_event() {
    let trace = report("stats-parser-errors-a");
    assert_eq!(counted(&trace, "track_event_parser_errors"), 1);
    assert_eq!(counted(&trace, "track_hierarchy_missing_uuid"), 2);
    gives(&trace, "SELECT name, dur FROM slice", &["draw -1"]);
    gives(&trace, "SELECT count(*) FROM counter", &["0"]);
}

#[test]
fn a8_an_unknown_correlation_id_is_no_error_of_its_event() {
    let trace = report("stats-parser-errors-b");
    assert_eq!(counted(&trace, "track_event_parser_errors"), 0);
    gives(
        &trace,
        "SELECT key, display_value FROM slice JOIN args USING (arg_set_id)",
        &["debug.a_b 4294967296"],
    );
}

#[test]
fn md4_the_recorders_own_packet_is_not_dropped() {
    for trace in ["stats-sequences-dropped-a", "stats-sequences-dropped-b"] {
        let trace = report(trace);
        let name = "traced_buf_incremental_sequences_dropped";
        assert_eq!(counted(&trace, name), 0);
        // The buffer is known all the same.
        let known = "SELECT count(*) > 0 FROM stats WHERE name = 'traced_buf_sequence_packet_loss'";
        assert_eq!(trace.count(known), 1);
    }
}

/// Packets of other writers in the same state are dropped, but those that are read in any state are not.
#[test]
fn md4_packets_that_are_read_in_any_state_do_not_count() {
    let writer = new().number(1, SEQUENCE).number(4, 3);
    let stats = || new().number(10, 9).message(35, new().message(18, writer.clone()));
    let dropped = |before: &[Message]| {
        let trace = imported(&[before, &[stats()]].concat());
        counted(&trace, "traced_buf_incremental_sequences_dropped")
    };
    let lost = || needs(event(10, named(INSTANT, "i", 1)));
    assert_eq!(dropped(&[loss(), lost()]), 1);
    assert_eq!(dropped(&[clear(), lost()]), 0);
    let clocks = new().message(1, new().number(1, 6).number(2, 5));
    let clocks = needs(new().number(10, SEQUENCE).message(6, clocks));
    assert_eq!(dropped(&[loss(), clocks.clone()]), 0);
    assert_eq!(dropped(&[loss(), clocks, lost()]), 1);
}

#[test]
fn e2_e6_an_unknown_category_is_no_missing_text() {
    for (trace, categories) in
        [("producer-tg4perfetto-small", 13), ("producer-tracing-perfetto-file-small", 0)]
    {
        let trace = report(trace);
        assert_eq!(counted(&trace, "interned_data_tokenizer_errors"), 0);
        let unknown = "SELECT count(*) FROM slice WHERE category GLOB 'unknown(*)'";
        assert_eq!(trace.count(unknown), categories);
    }
    // An unknown name is.
    let trace = told(&[
        described(1, thread(10, 11)),
        clear(),
        needs(event(10, unnamed(INSTANT, 1).number(3, 7).number(10, 8))),
        needs(event(20, named(INSTANT, "i", 1).number(3, 7).number(3, 8))),
    ]);
    trace.gives("SELECT name, category FROM slice ORDER BY id", &["- unknown(7)", "i -"]);
    trace.counted("interned_data_tokenizer_errors", 1);
}

/// Trace processor's bounds are 0 and 0 then.
#[test]
fn h5_without_rows_the_bounds_are_those_of_packets() {
    // A sample of an unknown source without a callstack is in no table.
    let sample = |time| at(time, 135, new().message(1, new().number(2, 10)));
    let trace = imported(&[clear(), sample(70), sample(90)]);
    gives(
        &trace,
        "SELECT (SELECT count(*) FROM perf_sample), (SELECT count(*) FROM stack_sample), \
         (SELECT count(*) FROM cpu_profile_stack_sample)",
        &["0 0 0"],
    );
    gives(&trace, "SELECT start_ts, end_ts FROM trace_bounds", &["70 90"]);
    let trace = imported(&[clear(), at(70, TRACK_EVENT, new())]);
    gives(&trace, "SELECT start_ts, end_ts FROM trace_bounds", &["70 70"]);
    assert_eq!(lines(&trace.conn, "SELECT * FROM slice"), [""; 0]);
    assert_eq!(count(&trace.conn, "SELECT count(*) FROM packet"), 2);
}
