//! Losses of a recording (rules DT1, DT2): statistics that the recorder could have written,
//! appended to recorded traces, one field at a time; and damage.

use std::fs;

use crate::support::{Imported, Place, answer, data, repository, run, trimmed};
use timebase_lab::encode::{self, Message, Packet};

const FTRACE_EVENTS: u32 = 1;
const TRACE_CONFIG: u32 = 33;
const FTRACE_STATS: u32 = 34;
const TRACE_STATS: u32 = 35;

/// Phases of `FtraceStats`.
const BEGIN: u64 = 1;
const END: u64 = 2;

/// A packet of the recorder.
fn told(field: u32, message: Message) -> Message {
    Message::new().number(10, 1).message(field, message)
}

fn trace_stats(message: Message) -> Message {
    told(TRACE_STATS, message)
}

/// A field of a buffer that comes after another buffer.
fn buffer_stats(field: u32, value: u64) -> Message {
    let [first, second] = [Message::new(), Message::new().number(field, value)];
    trace_stats(Message::new().message(1, first).message(1, second))
}

/// A field of CPU 1.
fn cpu_stats(phase: u64, field: u32, value: u64) -> Message {
    let cpu = Message::new().number(1, 1).number(field, value);
    ftrace_stats(phase, Message::new().message(2, cpu))
}

fn ftrace_stats(phase: u64, rest: Message) -> Message {
    told(FTRACE_STATS, Message::new().number(1, phase).and(&rest))
}

/// A recorded trace of a program, which lost nothing, with packets appended.
fn with(packets: &[Message]) -> Vec<u8> {
    let mut bytes = fs::read(data("app.pftrace")).unwrap();
    bytes.extend(encode::trace_of(packets));
    bytes
}

/// One row of `loss`, without its ids.
const ROWS: &str = "SELECT kind, machine_id, ucpu, seq_id, buffer, count, severity FROM loss WHERE kind <> 'packets' ORDER BY kind, ucpu, count";

/// A field of the statistics, and its consequences.
struct Case {
    packets: Vec<Message>,
    /// The columns of its row in `loss`: kind, ucpu, seq_id, buffer, count, severity.
    row: &'static str,
    /// The counter, its idx, severity and value.
    counter: String,
    /// The text in the summary.
    line: &'static str,
    /// The check that reports it.
    check: &'static str,
}

/// All fields that report missing data.
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let of_buffer = "buffer [NULL] [NULL] 1 777 data_loss";
    for (field, counter, severity) in [
        (18, "chunks_discarded", "info"),
        (11, "chunks_committed_out_of_order", "info"),
        (6, "patches_failed", "data_loss"),
        (19, "trace_writer_packet_loss", "data_loss"),
        (9, "abi_violations", "data_loss"),
    ] {
        cases.push(Case {
            packets: vec![buffer_stats(field, 777)],
            row: of_buffer,
            counter: format!("traced_buf_{counter} 1 {severity} 777"),
            line: "777 chunks or packets in 1 buffer",
            check: "buffer_lost",
        });
    }
    cases.push(Case {
        packets: vec![buffer_stats(3, 12_345)],
        row: "buffer [NULL] [NULL] 1 12345 info",
        counter: "traced_buf_chunks_overwritten 1 info 12345".to_owned(),
        line: "12,345 chunks overwritten in 1 ring buffer",
        check: "buffer_wrapped",
    });
    for (field, counter) in [(8, "traced_chunks_discarded"), (9, "traced_patches_discarded")] {
        cases.push(Case {
            packets: vec![trace_stats(Message::new().number(field, 7))],
            row: "buffer [NULL] [NULL] [NULL] 7 data_loss",
            counter: format!("{counter} [NULL] info 7"),
            line: "7 chunks or packets before any buffer",
            check: "buffer_lost",
        });
    }
    let filter = Message::new().number(4, 7);
    cases.push(Case {
        packets: vec![trace_stats(Message::new().message(11, filter))],
        row: "buffer [NULL] [NULL] [NULL] 7 data_loss",
        counter: "filter_errors [NULL] error 7".to_owned(),
        line: "7 chunks or packets before any buffer",
        check: "buffer_lost",
    });
    for (field, value, counter) in [
        (10, 2, "traced_invalid_packets [NULL] data_loss 2"),
        (14, 2, "traced_flushes_failed [NULL] data_loss 2"),
        (15, 2, "traced_final_flush_failed [NULL] data_loss 1"),
    ] {
        let count = counter.ends_with('2');
        cases.push(Case {
            packets: vec![trace_stats(Message::new().number(field, value))],
            row: match count {
                true => "writer [NULL] [NULL] [NULL] 2 data_loss",
                false => "writer [NULL] [NULL] [NULL] 1 data_loss",
            },
            counter: counter.to_owned(),
            line: match count {
                true => "2 failed flushes or invalid packets",
                false => "1 failed flush or invalid packet",
            },
            check: "writer_lost",
        });
    }
    let writer = Message::new().number(1, 2).number(4, 1);
    let writers = trace_stats(Message::new().message(18, writer));
    for (bit, counter) in [
        (1, "sequence_packet_loss"),
        (2, "data_loss_read_gap"),
        (4, "data_loss_chunk_corrupted"),
        (8, "data_loss_orphan_continuation"),
        (16, "data_loss_reassembly_gap"),
        (32, "data_loss_reassembly_broken_chain"),
        (64, "data_loss_overwrite"),
        (128, "data_loss_writer_abort"),
        (256, "data_loss_smb_full"),
    ] {
        let dropped = Message::new().number(10, 2).number(42, bit);
        cases.push(Case {
            packets: vec![dropped.clone(), dropped, writers.clone()],
            row: "writer [NULL] 2 1 2 data_loss",
            counter: format!("traced_buf_{counter} 1 data_loss 2"),
            line: "data of 1 writer",
            check: "writer_lost",
        });
    }
    for (field, counter, severity) in
        [(3, "overrun", "info"), (4, "commit_overrun", "error"), (8, "dropped_events", "error")]
    {
        let line = "9,999 kernel events in the buffers of 1 CPU";
        let (row, check) =
            ("kernel_buffer 1 [NULL] [NULL] 9999 data_loss", "kernel_buffer_overrun");
        cases.push(Case {
            packets: vec![cpu_stats(BEGIN, field, 1), cpu_stats(END, field, 10_000)],
            row,
            counter: format!("ftrace_cpu_{counter}_delta 1 {severity} 9999"),
            line,
            check,
        });
        // Only the end.
        cases.push(Case {
            packets: vec![cpu_stats(END, field, 9999)],
            row,
            counter: format!("ftrace_cpu_{counter}_end 1 info 9999"),
            line,
            check,
        });
    }
    let missed = |phase, misses| {
        let kprobes = Message::new().number(2, misses);
        ftrace_stats(phase, Message::new().message(10, kprobes))
    };
    cases.push(Case {
        packets: vec![missed(BEGIN, 5), missed(END, 12)],
        row: "kernel_buffer [NULL] [NULL] [NULL] 7 data_loss",
        counter: "ftrace_kprobe_misses_delta [NULL] data_loss 7".to_owned(),
        line: "kernel events that could not be read",
        check: "kernel_buffer_overrun",
    });
    cases.push(Case {
        packets: vec![ftrace_stats(END, Message::new().number(9, 12).packed(9, &[4, 4]))],
        row: "kernel_buffer [NULL] [NULL] [NULL] [NULL] data_loss",
        counter: "ftrace_parse_errors [NULL] error 2".to_owned(),
        line: "kernel events that could not be read",
        check: "kernel_buffer_overrun",
    });
    for field in [5, 6, 7, 13] {
        cases.push(Case {
            packets: vec![ftrace_stats(BEGIN, Message::new().text(field, "sched/no_such"))],
            row: "setup [NULL] [NULL] [NULL] [NULL] data_loss",
            counter: "ftrace_setup_errors [NULL] notice 1".to_owned(),
            line: "1 setup error",
            check: "setup_failed",
        });
    }
    let symbols = Message::new().number(13, 1);
    let source = Message::new().message(1, Message::new().message(100, symbols));
    cases.push(Case {
        packets: vec![
            told(TRACE_CONFIG, Message::new().message(2, source)),
            ftrace_stats(END, Message::new().number(3, 0)),
        ],
        row: "setup [NULL] [NULL] [NULL] [NULL] data_loss",
        counter: "ftrace_kernel_symbols_missing [NULL] notice 1".to_owned(),
        line: "1 setup error",
        check: "setup_failed",
    });
    cases
}

/// The line of the summary.
fn line(summary: &str) -> Option<&str> {
    let mut lines = summary.lines();
    lines.find_map(|line| line.strip_prefix("  lost        "))
}

#[test]
fn dt1_dt2_each_field_is_a_row_a_counter_a_line_and_a_finding() {
    let place = Place::new();
    for case in cases() {
        let trace = place.write("trace.pftrace", &with(&case.packets));
        let (conn, summary) = place.import(&trace, &[]);
        let rows = |sql: &str| crate::support::rows(&conn, sql);
        let what = &case.counter;

        let losses = rows(ROWS);
        let losses: Vec<String> =
            losses.iter().map(|row| [&row[..1], &row[2..]].concat().join(" ")).collect();
        assert_eq!(losses, [case.row], "{what}");
        let (name, rest) = case.counter.split_once(' ').unwrap();
        let counters =
            format!("SELECT idx, severity, value FROM stats WHERE name = '{name}' AND value > 0");
        assert_eq!(rows(&counters), [rest.split(' ').collect::<Vec<_>>()], "{what}");
        let line = line(&summary).unwrap_or_else(|| panic!("{what}: {summary}"));
        assert!(line.contains(case.line), "{what}: {line}");
        let found = rows("SELECT check_name, advice <> '' FROM finding");
        assert_eq!(found, [[case.check, "1"]], "{what}");
        // The packet says the same as its row.
        let said = "SELECT count(*) FROM loss JOIN packet ON packet.id = packet_id WHERE type IN ('trace_stats', 'ftrace_stats')";
        assert_eq!(crate::support::count(&conn, said), 1, "{what}");
    }
}

/// The number of rows that may be wrong equals the number of rows with a doubt: it is counted
/// during the import, and reported in the line.
#[test]
fn dt3_dt4_dt5_dt6_the_summary_says_how_many_rows_may_be_wrong() {
    let place = Place::new();
    for (trace, has_doubts) in [
        ("desktop", true),
        ("desktop-compact", true),
        ("system", true),
        ("system-compressed", true),
        ("late-frame", false),
        ("app", false),
    ] {
        let trace = data(&format!("{trace}.pftrace"));
        let (conn, summary) = place.import(&trace, &[]);
        let count = |sql: &str| crate::support::count(&conn, sql);
        let (rows, doubtful) = (
            count("SELECT count(*) FROM thread_state"),
            count("SELECT count(doubt) FROM thread_state"),
        );
        let counted = "SELECT value FROM stats WHERE name = 'thread_states_doubtful'";
        assert_eq!(count(counted), doubtful, "{}", trace.display());
        assert_eq!(count("SELECT value FROM stats WHERE name = 'slices_doubtful'"), 0);
        let text = format!(
            "; {} of {} thread states may be wrong",
            indicatif::HumanCount(doubtful.unsigned_abs()),
            indicatif::HumanCount(rows.unsigned_abs())
        );
        assert_eq!(doubtful > 0, has_doubts, "{}", trace.display());
        match has_doubts {
            true => assert!(line(&summary).unwrap().ends_with(&text), "{text}: {summary}"),
            false => assert!(!summary.contains("may be wrong"), "{summary}"),
        }
    }
    // An import without scheduling has no rows of it that may be wrong.
    let (conn, summary) = place.import(&data("desktop.pftrace"), &["--tables", "slice"]);
    assert!(!summary.contains("may be wrong"), "{summary}");
    let counted = "SELECT value FROM stats WHERE name = 'thread_states_doubtful'";
    assert_eq!(crate::support::count(&conn, counted), 0);
}

#[test]
fn dt1_who_lost_something_is_not_called_healthy() {
    let place = Place::new();
    let verdict = |packets: &[Message]| {
        let trace = place.write("trace.pftrace", &with(packets));
        let said = run(&["doctor", trace.to_str().unwrap(), "--fail-on", "warning"]);
        let verdict = said.stdout.lines().find(|line| {
            line.starts_with("healthy") || line.starts_with(|c: char| c.is_ascii_digit())
        });
        (said.code, verdict.unwrap().to_owned())
    };
    let healthy = "healthy: nothing is wrong with the clocks of this trace";
    assert_eq!(verdict(&[]), (Some(0), healthy.to_owned()));
    let noted = "healthy: nothing is wrong, 1 note";
    assert_eq!(verdict(&[buffer_stats(3, 5)]), (Some(0), noted.to_owned()));
    let lost = "1 warning".to_owned();
    assert_eq!(verdict(&[buffer_stats(18, 5)]), (Some(1), lost));
}

/// Fields that do not report missing data are only counters.
#[test]
fn dt2_other_fields_are_counters() {
    let of_buffer = [
        (1, "bytes_written"),
        (2, "chunks_written"),
        (4, "write_wrap_count"),
        (5, "patches_succeeded"),
        (7, "readaheads_succeeded"),
        (8, "readaheads_failed"),
        (10, "chunks_rewritten"),
        (12, "buffer_size"),
        (13, "bytes_overwritten"),
        (14, "bytes_read"),
        (15, "padding_bytes_written"),
        (16, "padding_bytes_cleared"),
        (17, "chunks_read"),
        (20, "chunks_relocated"),
    ];
    let of_service = [
        (2, "producers_connected"),
        (3, "producers_seen"),
        (4, "data_sources_registered"),
        (5, "data_sources_seen"),
        (6, "tracing_sessions"),
        (7, "total_buffers"),
        (12, "flushes_requested"),
        (13, "flushes_succeeded"),
    ];
    let of_filter =
        [(1, "input_packets"), (2, "input_bytes"), (3, "output_bytes"), (5, "time_taken_ns")];
    let of_cpu = [(2, "entries"), (5, "bytes"), (9, "read_events")];
    let fill = |fields: &[(u32, &str)]| {
        fields.iter().fold(Message::new(), |message, &(field, _)| {
            message.number(field, 1000 + u64::from(field))
        })
    };
    let filter = fill(&of_filter).packed(20, &[5, 6]);
    let stats = fill(&of_service).message(1, fill(&of_buffer)).message(11, filter).number(15, 1);
    let cpu = |more| {
        let cpu = of_cpu.iter().fold(Message::new().number(1, 3), |cpu, &(field, _)| {
            cpu.number(field, more + u64::from(field))
        });
        let cpu = cpu.double(6, 2.5).double(7, 1e30);
        let kprobes = Message::new().number(1, more);
        Message::new().message(2, cpu).message(10, kprobes)
    };
    let imported = Imported::of_bytes(
        &with(&[ftrace_stats(BEGIN, cpu(100)), ftrace_stats(END, cpu(1000)), trace_stats(stats)]),
        &[],
    );
    assert_eq!(imported.count("SELECT count(*) FROM loss"), 0);
    let value = |name: &str, idx: &str| {
        let sql =
            format!("SELECT severity, value FROM stats WHERE name = '{name}' AND idx IS {idx}");
        let rows = imported.rows(&sql);
        assert_eq!(rows.len(), 1, "{name} {idx}");
        rows[0].join(" ")
    };
    for (field, name) in of_buffer {
        let value = value(&format!("traced_buf_{name}"), "0");
        assert_eq!(value, format!("info {}", 1000 + field), "{name}");
    }
    for (field, name) in of_service {
        let value = value(&format!("traced_{name}"), "NULL");
        assert_eq!(value, format!("info {}", 1000 + field), "{name}");
    }
    for (field, name) in of_filter {
        let value = value(&format!("filter_{name}"), "NULL");
        assert_eq!(value, format!("info {}", 1000 + field), "{name}");
    }
    for (field, name) in of_cpu {
        for (moment, number) in [("begin", 100 + field), ("end", 1000 + field), ("delta", 900)] {
            let value = value(&format!("ftrace_cpu_{name}_{moment}"), "3");
            assert_eq!(value, format!("info {number}"), "{name}");
        }
    }
    for moment in ["begin", "end"] {
        let oldest = value(&format!("ftrace_cpu_oldest_event_ts_{moment}"), "3");
        assert_eq!(oldest, "info 2500000000");
        let now = value(&format!("ftrace_cpu_now_ts_{moment}"), "3");
        assert_eq!(now, format!("info {}", i64::MAX));
    }
    assert_eq!(value("ftrace_kprobe_hits_delta", "NULL"), "info 900");
    assert_eq!(value("traced_buf_bytes_filtered_out", "0"), "info 5");
    assert_eq!(value("traced_buf_bytes_filtered_out", "1"), "info 6");
    assert_eq!(value("traced_final_flush_succeeded", "NULL"), "info 1");
}

/// A counter without an index is in each trace; a name has one number, in the order of names.
#[test]
fn dt2_counters_have_names_and_numbers() {
    let imported = Imported::new("nearest.pftrace", &[]);
    let zeros =
        "SELECT count(*) FROM stats WHERE value = 0 AND trace_file_id = 0 AND machine_id = 0";
    assert_eq!(imported.count(zeros), 63);
    let of_one = format!("{zeros} AND idx IS NOT NULL");
    assert_eq!(imported.count(&of_one), 0);
    let imported = Imported::new("desktop.pftrace", &["--no-events"]);
    let numbered = "SELECT count(*) FROM (SELECT id, key, dense_rank() OVER (ORDER BY name) - 1 AS place, \
                    row_number() OVER (ORDER BY name, idx) - 1 AS number FROM stats) WHERE key <> place OR id <> number";
    assert_eq!(imported.count(numbered), 0);
    let cpus = "SELECT group_concat(idx) FROM stats WHERE name = 'ftrace_cpu_read_events_end'";
    assert_eq!(imported.rows(cpus), [["0,1"]]);
}

/// A ring buffer is meant to wrap; a buffer that keeps its beginning is not. The last configuration
/// counts.
#[test]
fn dt1_the_fill_policy_says_what_was_meant() {
    const UNSPECIFIED: u64 = 0;
    const RING_BUFFER: u64 = 1;
    const DISCARD: u64 = 2;
    let config = |policies: &[u64]| {
        let buffers = policies.iter().map(|&policy| Message::new().number(4, policy));
        told(TRACE_CONFIG, buffers.fold(Message::new(), |config, buffer| config.message(1, buffer)))
    };
    let overwritten = |value| Message::new().number(3, value).number(18, 1);
    let stats = trace_stats(Message::new().message(1, overwritten(10)).message(1, overwritten(20)));
    let expected = |first: &str, second: &str| {
        let of = |buffer: &str, count: &str, severity: &str| {
            [buffer, count, severity].map(str::to_owned).to_vec()
        };
        vec![
            of("0", "1", "data_loss"),
            of("0", "10", first),
            of("1", "1", "data_loss"),
            of("1", "20", second),
        ]
    };
    for (configs, first, second) in [
        (vec![config(&[UNSPECIFIED, DISCARD])], "info", "data_loss"),
        (vec![config(&[RING_BUFFER, RING_BUFFER])], "info", "info"),
        (vec![config(&[DISCARD])], "data_loss", "info"),
        (vec![config(&[DISCARD, DISCARD]), config(&[RING_BUFFER, DISCARD])], "info", "data_loss"),
    ] {
        // The position of the configuration does not matter.
        for is_first in [true, false] {
            let mut packets = configs.clone();
            packets.insert(if is_first { 0 } else { packets.len() }, stats.clone());
            let imported = Imported::of_bytes(&with(&packets), &[]);
            let found =
                imported.rows("SELECT buffer, count, severity FROM loss ORDER BY buffer, count");
            assert_eq!(found, expected(first, second));
            let said = "SELECT count(*) FROM finding WHERE message LIKE '%overwritten although%'";
            let kept = [first, second].iter().filter(|s| **s == "data_loss").count();
            assert_eq!(imported.count(said), kept as i64);
        }
    }
}

#[test]
fn dt1_the_last_statistics_count() {
    let imported = Imported::of_bytes(
        &with(&[
            buffer_stats(18, 100),
            cpu_stats(BEGIN, 3, 10),
            cpu_stats(END, 3, 20),
            buffer_stats(19, 42),
            // Each flush has a pair.
            cpu_stats(BEGIN, 3, 10),
            cpu_stats(END, 3, 35),
            // Without a phase.
            cpu_stats(0, 3, 1000),
        ]),
        &[],
    );
    let rows = imported.rows("SELECT kind, count FROM loss ORDER BY kind");
    assert_eq!(rows, [["buffer", "42"], ["kernel_buffer", "25"]]);
    let counters = "SELECT name, value FROM stats WHERE name IN ('ftrace_cpu_overrun_delta', 'traced_buf_chunks_discarded', \
                    'traced_buf_trace_writer_packet_loss') AND idx = 1 ORDER BY name";
    assert_eq!(
        imported.rows(counters),
        [
            ["ftrace_cpu_overrun_delta", "25"],
            ["traced_buf_chunks_discarded", "0"],
            ["traced_buf_trace_writer_packet_loss", "42"],
        ]
    );
}

#[test]
fn dt1_what_did_not_grow_was_not_lost() {
    for packets in [
        vec![cpu_stats(BEGIN, 3, 7), cpu_stats(END, 3, 7)],
        // The statistics were reset in between.
        vec![cpu_stats(BEGIN, 3, 7), cpu_stats(END, 3, 2)],
        vec![cpu_stats(BEGIN, 3, 7)],
        // The configuration did not ask for names of functions.
        vec![ftrace_stats(END, Message::new().number(3, 0))],
        // Only the statistics at the beginning have the setup.
        vec![ftrace_stats(END, Message::new().text(6, "no_such"))],
    ] {
        let imported = Imported::of_bytes(&with(&packets), &[]);
        assert_eq!(imported.count("SELECT count(*) FROM loss"), 0);
    }
}

/// Each sequence reports once, as in trace processor; the log has the names.
#[test]
fn dt1_what_could_not_be_switched_on_is_named() {
    let errors = Message::new()
        .text(7, "irq/no_right")
        .text(6, "sched/no_such")
        .text(6, "sched/nor_such")
        .text(5, "");
    let begin = ftrace_stats(BEGIN, errors);
    let imported = Imported::of_bytes(&with(&[begin.clone(), begin]), &[]);
    assert_eq!(imported.count("SELECT count(*) FROM loss WHERE kind = 'setup'"), 3);
    let log = imported.rows("SELECT code, message FROM import_log ORDER BY id");
    let texts = [
        "the recorder could not enable event irq/no_right",
        "the kernel has no event sched/no_such",
        "the kernel has no event sched/nor_such",
    ];
    assert_eq!(log, texts.map(|text| ["ftrace_setup_errors", text]));
    let message = imported.rows("SELECT message FROM finding");
    let expected = format!(
        "The recording lacks 3 things that its configuration asked for: {}.",
        texts.join("; ")
    );
    assert_eq!(message, [[expected]]);
}

#[test]
fn dt1_dt2_each_machine_has_losses_of_its_own() {
    let guest = |packet: Message| packet.number(98, 7);
    let dropped = guest(Message::new().number(10, 2));
    let writer = Message::new().number(1, 2).number(4, 0);
    let imported = Imported::of_bytes(
        &with(&[
            cpu_stats(END, 3, 5),
            guest(cpu_stats(END, 8, 6)),
            dropped.clone(),
            dropped.number(42, 256),
            // The host's sequence 2 lost nothing.
            guest(trace_stats(Message::new().message(18, writer))),
        ]),
        &[],
    );
    let rows = imported.rows(ROWS);
    assert_eq!(
        rows,
        [
            ["kernel_buffer", "0", "1", "[NULL]", "[NULL]", "5", "data_loss"],
            ["kernel_buffer", "1", "4097", "[NULL]", "[NULL]", "6", "data_loss"],
            ["writer", "1", "[NULL]", "2", "0", "1", "data_loss"],
        ]
    );
    let counters = "SELECT name, machine_id, value FROM stats WHERE value > 0 AND (name LIKE 'ftrace_cpu_%' OR name LIKE 'traced_buf_data%') ORDER BY 1, 2";
    assert_eq!(
        imported.rows(counters),
        [
            ["ftrace_cpu_dropped_events_end", "1", "6"],
            ["ftrace_cpu_overrun_end", "0", "5"],
            ["traced_buf_data_loss_smb_full", "1", "1"],
        ]
    );
}

/// A writer with only packets that rely on lost state.
#[test]
fn dt1_a_writer_of_which_nothing_can_be_read_is_a_loss() {
    let needs = Message::new().number(10, 900).number(13, 2);
    let writer = Message::new().number(1, 900).number(4, 1);
    let stats = trace_stats(Message::new().message(18, writer));
    let imported = Imported::of_bytes(&with(&[needs.clone(), needs.clone(), stats.clone()]), &[]);
    let row = ["writer", "0", "[NULL]", "900", "1", "2", "data_loss"];
    assert_eq!(imported.rows(ROWS), [row]);
    let dropped = "SELECT value FROM stats WHERE name = 'traced_buf_incremental_sequences_dropped' AND idx = 1";
    assert_eq!(imported.count(dropped), 1);
    assert_eq!(imported.rows("SELECT check_name FROM finding"), [["state_lost"]]);
    // One readable packet is enough.
    let cleared = Message::new().number(10, 900).number(13, 3);
    let imported = Imported::of_bytes(&with(&[needs, cleared, stats]), &[]);
    assert_eq!(imported.count("SELECT count(*) FROM loss"), 0);
    assert_eq!(imported.count(dropped), 0);
}

/// A bundle says on which CPU events are missing.
#[test]
fn dt2_a_cpu_that_lost_events_is_counted() {
    let bundle = |cpu| told(FTRACE_EVENTS, Message::new().number(1, cpu).number(3, 1));
    let imported = Imported::of_bytes(&with(&[bundle(3), bundle(3)]), &[]);
    let counter =
        "SELECT idx, severity, source, value FROM stats WHERE name = 'ftrace_cpu_has_data_loss'";
    assert_eq!(imported.rows(counter), [["3", "data_loss", "trace", "1"]]);
}

/// Statistics exist whatever is left out, and also for a trace without a database.
#[test]
fn dt1_what_was_lost_is_told_without_events() {
    let place = Place::new();
    let trace = place.write("trace.pftrace", &with(&[buffer_stats(18, 5), cpu_stats(END, 3, 9)]));
    let (conn, summary) = place.import(&trace, &["--no-events"]);
    let sql = "SELECT kind, count FROM loss ORDER BY kind";
    let expected = [["buffer", "5"], ["kernel_buffer", "9"]];
    assert_eq!(crate::support::rows(&conn, sql), expected);
    assert_eq!(
        line(&summary),
        Some("9 kernel events in the buffers of 1 CPU, 5 chunks or packets in 1 buffer")
    );
    let asked = answer(&["query", trace.to_str().unwrap(), sql, "--format", "csv"]);
    assert_eq!(asked, "kind,count\nbuffer,5\nkernel_buffer,9\n");
}

/// Numbers that do not fit a column.
#[test]
fn dt1_counts_of_64_bits_do_no_harm() {
    let buffers = Message::new().number(18, u64::MAX).number(19, u64::MAX);
    let trace = with(&[
        trace_stats(Message::new().message(1, buffers)),
        cpu_stats(BEGIN, 3, 0),
        cpu_stats(END, 3, u64::MAX),
        cpu_stats(END, 8, u64::MAX),
    ]);
    let place = Place::new();
    let trace = place.write("trace.pftrace", &trace);
    let (conn, summary) = place.import(&trace, &[]);
    assert_eq!(
        crate::support::rows(&conn, "SELECT DISTINCT count FROM loss"),
        [[i64::MAX.to_string()]]
    );
    assert!(line(&summary).is_some(), "{summary}");
    let found = answer(&["doctor", trace.to_str().unwrap(), "--fail-on", "never"]);
    assert!(found.contains("kernel_buffer_overrun"), "{found}");
}

#[test]
fn dt1_statistics_that_cannot_be_read_are_told() {
    let broken = Message::new().number(10, 1).bytes(TRACE_STATS, &[0xff]);
    let many = (0..5000).fold(Message::new(), |stats, _| stats.message(1, Message::new()));
    let imported = Imported::of_bytes(&with(&[broken, trace_stats(many)]), &[]);
    let log = imported.rows("SELECT code FROM import_log ORDER BY id");
    assert_eq!(log, [["corrupt_payload"], ["payload_too_large"]]);
    assert_eq!(imported.rows("SELECT DISTINCT kind FROM loss"), [["damage"]]);
}

/// Regions without packets lie between the times around them.
#[test]
fn dt1_damage_lies_between_the_times_around_it() {
    let imported = Imported::new("damaged.pftrace", &[]);
    let around = "SELECT (SELECT ts FROM packet AS p WHERE p.offset < g.offset AND ts IS NOT NULL ORDER BY id DESC LIMIT 1), \
                  (SELECT ts FROM packet AS p WHERE p.offset > g.offset AND ts IS NOT NULL ORDER BY id LIMIT 1) \
                  FROM import_log AS g WHERE code IN ('cut', 'damaged') ORDER BY id";
    let rows = imported.rows("SELECT start_ts, end_ts FROM loss WHERE kind = 'damage' ORDER BY id");
    assert_eq!(rows, imported.rows(around));
    assert_eq!(rows.len(), 2);
    assert!(rows[0][0] < rows[0][1] && rows[1][1] == "[NULL]", "{rows:?}");
}

/// A payload that cannot be read is one packet, between the two around it.
#[test]
fn dt1_a_corrupt_payload_is_damage() {
    let placed = |ts| Packet {
        seq: 1,
        timestamp: Some(ts),
        timestamp_clock_id: Some(6),
        ..Packet::default()
    };
    let corrupt =
        Packet { payload: Some((FTRACE_EVENTS, vec![0xff])), machine_id: 7, ..placed(20) };
    let untimed = Packet { payload: Some((FTRACE_EVENTS, vec![0xff])), ..Packet::default() };
    let trace = [placed(10), corrupt, untimed, placed(30), placed(40)];
    let imported = Imported::of_bytes(&encode::trace(&trace), &[]);
    let rows = imported.rows("SELECT start_ts, end_ts, machine_id, count, packet_id, severity FROM loss ORDER BY packet_id");
    assert_eq!(
        rows,
        [["10", "30", "1", "1", "1", "data_loss"], ["20", "30", "0", "1", "2", "data_loss"],]
    );
}

/// Kernel events have times, though their packets have none.
#[test]
fn dt1_damage_among_kernel_events_lies_between_them() {
    let place = Place::new();
    let mut bytes = fs::read(data("system.pftrace")).unwrap();
    let (conn, _) = place.import(&data("system.pftrace"), &[]);
    let third =
        "SELECT id, offset FROM packet WHERE type = 'ftrace_events' ORDER BY id LIMIT 1 OFFSET 3";
    let [id, offset] = crate::support::rows(&conn, third)[0].clone().try_into().unwrap();
    let (id, offset): (i64, usize) = (id.parse().unwrap(), offset.parse().unwrap());
    let around = format!(
        "SELECT (SELECT ts FROM ftrace_event WHERE packet_id < {id} ORDER BY id DESC LIMIT 1), \
         (SELECT ts FROM ftrace_event WHERE packet_id > {id} ORDER BY id LIMIT 1)"
    );
    let expected = crate::support::rows(&conn, &around);
    let neighbours = format!(
        "SELECT count(*) FROM packet WHERE id IN ({id} - 1, {id} + 1) AND type = 'ftrace_events'"
    );
    assert_eq!(crate::support::count(&conn, &neighbours), 2);
    // Its first byte is no field.
    bytes[offset] = 0x07;
    let trace = place.write("trace.pftrace", &bytes);
    let (conn, _) = place.import(&trace, &[]);
    let rows =
        crate::support::rows(&conn, "SELECT start_ts, end_ts FROM loss WHERE kind = 'damage'");
    assert_eq!(rows, expected);
}

/// The statistics in the page about fleets, and its description of them.
#[test]
fn dt2_the_query_for_traces_that_lost_data_finds_them() {
    let page = fs::read_to_string(repository().join("docs/fleet.md")).unwrap();
    let begin = page.find("**Which traces lost data?**").unwrap();
    let sql = page[begin..].split("```sql\n").nth(1).unwrap();
    let sql = sql.split("```").next().unwrap();
    let buffer = Message::new().number(3, 12_345).number(18, 777).number(19, 42);
    let cpu = Message::new().number(1, 0).number(3, 9999).number(8, 555);
    let place = Place::new();
    let trace = place.write(
        "trace.pftrace",
        &with(&[
            trace_stats(Message::new().message(1, buffer)),
            ftrace_stats(END, Message::new().message(2, cpu)),
        ]),
    );
    let (conn, summary) = place.import(&trace, &[]);
    let found = crate::support::rows(&conn, sql.replace("BIGINT", "INTEGER").as_str());
    assert_eq!(found, [["traced_buf_trace_writer_packet_loss", "1", "42"]]);
    assert_eq!(
        line(&summary),
        Some(
            "10,554 kernel events in the buffers of 1 CPU, 819 chunks or packets in 1 buffer, \
             12,345 chunks overwritten in 1 ring buffer"
        )
    );
    let checks = "SELECT check_name, severity FROM finding ORDER BY 1";
    assert_eq!(
        crate::support::rows(&conn, checks),
        [
            ["buffer_lost", "warning"],
            ["buffer_wrapped", "info"],
            ["kernel_buffer_overrun", "warning"],
        ]
    );
}

#[test]
fn dt1_help_has_a_page_for_what_was_lost() {
    let page = trimmed(&answer(&["help", "loss"]));
    for word in ["kernel_buffer", "severity", "start_ts", "data_loss"] {
        assert!(page.contains(word), "{page}");
    }
}
