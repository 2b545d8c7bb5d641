//! The tables of profilers, through the real program: random traces and the worked examples of the rules,
//! with the rows that Perfetto's trace processor has for the statements of queries-profiles.sql.

use std::collections::BTreeMap;

use crate::support::Imported;
use crate::support::statements::{answer, as_text, difference, recorded, statements};
use timebase_lab::encode::{self, Message};

const STATEMENTS: &str = "profiles/queries-profiles.sql";

/// The random traces, and the examples of docs/rules/profiles.md.
fn traces() -> impl Iterator<Item = String> {
    let random = (1..=40).map(|number| format!("{number:02}"));
    let examples = ["example1", "example2", "CS7", "CS7-again", "SY2", "HP6", "CP1"];
    random.chain(examples.map(|example| format!("examples/{example}")))
}

#[test]
fn op1_to_op4_cs1_to_cs10_sy1_to_sy3_pf1_to_pf7_ss1_to_ss7_cp1_to_cp3_hp1_to_hp8_sm1_to_sm3_known_rows()
 {
    let statements = statements(STATEMENTS);
    assert_eq!(statements.len(), 22);
    // For each statement the traces with a wrong answer, and the difference for the first of them.
    let mut wrong: BTreeMap<&str, (Vec<String>, String)> = BTreeMap::new();
    for trace in traces() {
        let database = Imported::new(&format!("profiles/{trace}.pftrace"), &[]);
        let expected = recorded(&format!("profiles/{trace}.jsonl.zst"));
        for (name, sql) in &statements {
            if (&*trace, &**name) == WITHOUT_EVENTS {
                continue;
            }
            let expected = expected.get(name).cloned().unwrap_or_default();
            let why = match answer(&database.conn, sql) {
                Ok(rows) => difference(&as_text(rows), &as_text(expected)),
                Err(error) => Some(error),
            };
            if let Some(why) = why {
                let (traces, _) = wrong.entry(name).or_insert((Vec::new(), why));
                traces.push(trace.clone());
            }
        }
    }
    let told = wrong.iter().map(|(name, (traces, why))| {
        let all = traces.join(" ");
        format!("\n{name}, {} traces: {all}\n  the first: {why}", traces.len())
    });
    assert!(wrong.is_empty(), "{}", told.collect::<String>());
}

/// Trace processor has the bounds 0 and 0 if there is no event. Our bounds are those of the
/// packets.
const WITHOUT_EVENTS: (&str, &str) = ("22", "trace_bounds");

fn new() -> Message {
    Message::new()
}

/// A packet of sequence 2 at a time of BOOTTIME.
fn at(ts: u64, field: u32, payload: Message) -> Message {
    packet(ts).message(field, payload)
}

fn packet(ts: u64) -> Message {
    new().number(10, 2).number(8, ts).number(58, 6)
}

/// An interval begins, with snapshots of the clocks that are needed.
fn begun() -> Vec<Message> {
    let reading = |id, value| new().number(1, id).number(2, value);
    let clocks = [(6, 10_000), (3, 9_000), (4, 9_900)];
    let snapshot =
        clocks.iter().fold(new(), |snapshot, &(id, value)| snapshot.message(1, reading(id, value)));
    vec![new().number(10, 1).message(6, snapshot), new().number(10, 2).number(13, 1)]
}

/// Interned data: a stack of number 1 with one frame, of a function in a mapping.
fn stack(mapping: Message) -> Message {
    new()
        .message(17, new().number(1, 1).text(2, "app"))
        .message(5, new().number(1, 1).text(2, "main"))
        .message(19, mapping.number(1, 1).number(7, 1))
        .message(6, new().number(1, 1).number(2, 1).number(3, 1).number(4, 16))
        .message(7, new().number(1, 1).number(2, 1))
}

fn perf(cpu: u64, pid: u64) -> Message {
    new().number(1, cpu).number(2, pid).number(3, pid)
}

fn imported(packets: Vec<Message>) -> Imported {
    let all = [begun(), packets].concat();
    Imported::of_bytes(&encode::trace_of(&all), &[])
}

/// The rows of a statement, each as one text.
fn rows(imported: &Imported, sql: &str) -> Vec<String> {
    let rows = imported.rows(sql).into_iter();
    rows.map(|row| row.join(" ")).collect()
}

const STACKS: &str = "SELECT ts, ifnull(callsite_id, '-') FROM perf_sample ORDER BY id";

#[test]
fn op1_cs1_a_sample_finds_what_was_said_up_to_its_packet() {
    let sample = |ts| at(ts, 66, perf(0, 7).number(4, 1));
    let late = sample(12_000).message(12, stack(new()));
    let found = imported(vec![sample(11_000), late, sample(13_000), sample(11_500)]);
    // The last one is before them in time, but has their stack.
    assert_eq!(rows(&found, STACKS), ["11000 -", "11500 0", "12000 0", "13000 0"]);
    let stats = "SELECT name || ' ' || value FROM stats WHERE name IN ('interned_data_tokenizer_errors', 'stackprofile_invalid_callstack_id')";
    assert_eq!(
        rows(&found, stats),
        ["interned_data_tokenizer_errors 1", "stackprofile_invalid_callstack_id 1"]
    );
}

#[test]
fn op3_op4_s3_keeps_stacks_and_s2_drops_them() {
    let sample = |ts| at(ts, 66, perf(0, 7).number(4, 1));
    let found = imported(vec![
        sample(11_000).message(12, stack(new())),
        sample(12_000).number(42, 1),
        sample(13_000).number(13, 1),
        sample(14_000).number(42, 1).number(13, 2),
    ]);
    assert_eq!(rows(&found, STACKS), ["11000 0", "12000 0", "13000 -"]);
}

#[test]
fn cs7_a_mapping_that_ends_before_it_begins_is_one_without_a_range() {
    let mapping = new().number(4, 8192).number(5, 4096);
    let sample = |ts, pid| at(ts, 66, perf(0, pid).number(4, 1));
    let found = imported(vec![sample(11_000, 7).message(12, stack(mapping)), sample(12_000, 8)]);
    assert_eq!(
        rows(&found, "SELECT name, start, end FROM stack_profile_mapping"),
        ["/app 8192 4096"]
    );
}

#[test]
fn pf5_pf6_a_cpu_that_no_machine_has_is_none() {
    let found = imported(vec![
        at(11_000, 66, perf(4096, 7).number(6, 5)),
        at(12_000, 66, perf(4095, 7).number(6, 6)),
    ]);
    assert_eq!(
        rows(&found, "SELECT ts, ifnull(cpu, '-') FROM perf_sample"),
        ["11000 -", "12000 4095"]
    );
    assert_eq!(rows(&found, "SELECT ts, CAST(value AS INTEGER) FROM counter"), ["12000 6"]);
}

#[test]
fn ss4_ss5_a_cpu_that_no_machine_has_has_no_counter() {
    let descriptor = new().text(2, "c").number(7, 2);
    let sample = |cpu| {
        let execution = new().number(2, cpu);
        new()
            .message(3, execution)
            .message(9, descriptor.clone())
            .number(11, 5)
            .message(5, new().message(1, new().text(1, "f")))
    };
    let found = imported(vec![at(11_000, 135, sample(4096)), at(12_000, 135, sample(1))]);
    assert_eq!(
        rows(
            &found,
            "SELECT ts, ifnull(ucpu, '-') FROM stack_sample AS s JOIN stack_sample_execution_context AS e ON e.id = execution_context_id"
        ),
        ["11000 -", "12000 1"]
    );
    assert_eq!(rows(&found, "SELECT ts, CAST(value AS INTEGER) FROM counter"), ["12000 5"]);
}

#[test]
fn cp1_cp2_a_stream_without_a_reference_is_dropped() {
    let streamed = new().packed(1, &[1]).packed(2, &[5]);
    let packet = new().number(10, 2).message(12, stack(new())).message(54, streamed);
    let found = imported(vec![packet]);
    assert_eq!(rows(&found, "SELECT * FROM cpu_profile_stack_sample"), [""; 0]);
    let stats = "SELECT value FROM stats WHERE name = 'streaming_profile_invalid_timestamp'";
    assert_eq!(rows(&found, stats), ["1"]);
    assert_eq!(
        rows(&found, "SELECT code FROM import_log WHERE code LIKE 'streaming%'"),
        ["streaming_profile_invalid_timestamp"]
    );
}

#[test]
fn cp3_the_thread_is_that_of_the_packet() {
    let thread = |pid, time| {
        let descriptor = new().number(1, pid).number(2, pid).number(6, time);
        new().number(10, 2).message(44, descriptor)
    };
    let streamed = || new().number(10, 2).message(54, new().packed(1, &[1]).packed(2, &[0]));
    let found = imported(vec![
        thread(7, 20),
        streamed().message(12, stack(new())),
        thread(8, 30),
        streamed(),
    ]);
    let samples =
        "SELECT ts, tid FROM cpu_profile_stack_sample JOIN thread USING (utid) ORDER BY ts";
    assert_eq!(rows(&found, samples), ["21000 7", "31000 8"]);
}

/// A dump of a process's heap with a sample: callstack, bytes and allocations.
fn dump(ts: u64, pid: u64, heap: &str, [stack, size, count]: [u64; 3]) -> Message {
    let sample = new().number(1, stack).number(2, size).number(5, count);
    new().number(1, pid).number(9, ts).text(11, heap).message(2, sample)
}

const ALLOCATIONS: &str = "SELECT ts, pid, heap_name, count, size FROM heap_profile_allocation JOIN process USING (upid) ORDER BY heap_profile_allocation.id";

#[test]
fn hp2_hp5_hp6_heaps_and_processes_do_not_share_sums() {
    let both = new()
        .message(5, dump(10_900, 7, "a", [1, 100, 1]))
        .message(5, dump(10_900, 7, "b", [1, 50, 1]))
        .message(5, dump(10_900, 8, "a", [1, 30, 1]));
    let found = imported(vec![at(11_000, 37, both).message(12, stack(new()))]);
    assert_eq!(rows(&found, ALLOCATIONS), ["11000 7 a 1 100", "11000 7 b 1 50", "11000 8 a 1 30"]);
    assert_eq!(rows(&found, "SELECT * FROM stats WHERE name LIKE 'heapprofd_malformed%'"), [""; 0]);
}

#[test]
fn hp1_hp4_hp7_dumps_are_counted_by_pid_and_what_they_lack_is_a_loss() {
    let lacking = dump(10_900, 7, "a", [1, 100, 1]).number(8, 1);
    let less = dump(11_900, 7, "a", [1, 50, 1]);
    let packets = vec![
        at(11_000, 37, new().message(5, lacking).number(7, 3)).message(12, stack(new())),
        at(12_000, 37, new().message(5, less).number(7, 4)),
    ];
    let found = imported(packets);
    assert_eq!(rows(&found, ALLOCATIONS), ["11000 7 a 1 100"]);
    let stats = "SELECT name, ifnull(idx, '-'), value FROM stats WHERE name LIKE 'heapprofd_%' ORDER BY name";
    assert_eq!(
        rows(&found, stats),
        [
            "heapprofd_buffer_corrupted 7 1",
            "heapprofd_last_profile_timestamp 7 12000",
            "heapprofd_malformed_packet 1 1",
            "heapprofd_missing_packet - 1"
        ]
    );
    assert_eq!(rows(&found, "SELECT kind, end_ts FROM loss"), ["heap 11000"]);
    let log = "SELECT code FROM import_log WHERE code LIKE 'heap%' ORDER BY code";
    assert_eq!(rows(&found, log), ["heapprofd_malformed_packet", "heapprofd_missing_packet"]);
}

#[test]
fn hp3_hp8_a_text_for_the_empty_one_is_ignored() {
    let own = new()
        .message(1, new().number(1, 0).text(2, "late"))
        .message(4, new().number(1, 1))
        .message(2, new().number(1, 1).number(3, 1).number(4, 5))
        .message(3, new().number(1, 1).number(2, 1))
        .message(5, dump(10_900, 7, "", [1, 100, 1]));
    let found = imported(vec![at(11_000, 37, own)]);
    assert_eq!(rows(&found, "SELECT quote(name), rel_pc FROM stack_profile_frame"), ["'' 5"]);
    assert_eq!(rows(&found, "SELECT quote(heap_name), dur FROM heap_profile"), ["NULL 0"]);
    assert_eq!(rows(&found, ALLOCATIONS), ["11000 7 unknown 1 100"]);
}

#[test]
fn sy1_to_sy3_symbols_of_a_module_that_is_not_there_are_counted() {
    let symbols = new().text(1, "/other").message(3, new().number(1, 16));
    let tmp = new().number(1, 1).text(2, "data/local/tmp/x");
    let interned = new().message(17, tmp).and(&stack(new()));
    let found = imported(vec![
        at(11_000, 66, perf(0, 7).number(4, 1)).message(12, interned),
        at(12_000, 61, symbols),
    ]);
    let stats = "SELECT name, value FROM stats WHERE name IN ('stackprofile_invalid_mapping_id', 'symbolization_tmp_build_id_not_found') ORDER BY name";
    assert_eq!(
        rows(&found, stats),
        ["stackprofile_invalid_mapping_id 1", "symbolization_tmp_build_id_not_found 1"]
    );
}

#[test]
fn sm1_to_sm3_packed_smaps_pair_by_position() {
    let packed =
        new().text(1, "/a (deleted)").text(1, "/b").packed(2, &[1, 0, 7]).packed(4, &[10, 20, 30]);
    let smaps = new().number(1, 7).message(3, packed);
    let found = imported(vec![at(11_000, 68, smaps)]);
    assert_eq!(
        rows(&found, "SELECT path, path_trimmed, is_deleted, size_kb FROM profiler_smaps"),
        ["/b /b 0 10", "/a (deleted) /a 1 20"]
    );
    assert_eq!(rows(&found, "SELECT value FROM stats WHERE name = 'smaps_parser_errors'"), ["1"]);
}

#[test]
fn op2_pf5_what_a_profiler_lost_is_a_row_of_loss_and_a_line_of_the_summary() {
    let guardrail = new().message(19, new().number(1, 1));
    let packets = [
        begun(),
        vec![
            at(11_000, 66, perf(3, 7).number(17, 250)),
            at(12_000, 66, perf(3, 7).number(18, 3)),
            at(13_000, 66, perf(3, 7).number(18, 1)),
            at(14_000, 66, guardrail),
        ],
    ]
    .concat();
    let found = Imported::of_bytes(&encode::trace_of(&packets), &[]);
    let loss = "SELECT kind, ifnull(start_ts, '-'), ifnull(end_ts, '-'), ifnull(ucpu, '-'), ifnull(count, '-') FROM loss ORDER BY id";
    assert_eq!(
        rows(&found, loss),
        ["samples - 11000 3 250", "samples 14000 - - -", "samples 12000 13000 - 2"]
    );
    assert_eq!(found.count("SELECT count(*) FROM perf_sample"), 2);
    let stats = "SELECT name, ifnull(idx, '-'), value FROM stats WHERE name LIKE 'perf_%' AND name NOT LIKE '%shard%' ORDER BY name";
    assert_eq!(
        rows(&found, stats),
        [
            "perf_cpu_lost_records 3 250",
            "perf_guardrail_stop_ts 0 14000",
            "perf_samples_skipped - 1",
            "perf_samples_skipped_dataloss - 1"
        ]
    );
    let finding = "SELECT severity, check_name FROM finding WHERE check_name = 'profile_lost'";
    assert_eq!(rows(&found, finding), ["warning profile_lost"]);
}

#[test]
fn pf1_to_pf7_cs2_to_cs6_cs8_to_cs10_ss1_to_ss7_views_show_stacks_as_functions_do() {
    let example = Imported::new("profiles/examples/example1.pftrace", &[]);
    assert_eq!(
        rows(
            &example,
            "SELECT tid, pid, stack, stack = callstack FROM (SELECT *, 'main;f' AS callstack FROM perf_sample_with_stack)"
        ),
        ["11 10 main;f 1"]
    );
    let totals = "SELECT source, callsite_id, self_count, total_count, ifnull(total_size, '-') FROM callsite_total ORDER BY callsite_id";
    assert_eq!(rows(&example, totals), ["linux.perf 0 0 1 -", "linux.perf 1 1 1 -"]);
    let heap = Imported::new("profiles/examples/example2.pftrace", &[]);
    let totals =
        "SELECT source, self_count, total_count, self_size, total_size FROM callsite_total";
    assert_eq!(rows(&heap, totals), ["heap:h 4 4 400 400"]);
}
