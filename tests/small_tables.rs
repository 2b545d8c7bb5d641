//! Small tables (rules RT), through the real program: random traces, with the rows that Perfetto's trace processor has
//! for the statements of queries-rest.sql, and rules one by one on traces made by hand.

use crate::support::Imported;
use crate::support::kernel::{bundle, event, gives, imported, new, packet};
use crate::support::statements::{answer, as_text, difference, recorded, statements};
use timebase_lab::encode::Message;

const TRACK_EVENT: u32 = 11;
const PACKAGES: u32 = 47;
const GAMES: u32 = 83;
const USERS: u32 = 123;
const FLAGS: u32 = 127;
const INTERRUPTS: u32 = 130;
const RUNTIME: u32 = 131;
const JOURNAL: u32 = 132;
const SESSION: u32 = 134;

/// Traces of one subject, whose statements begin with `prefix`.
fn known_rows(prefix: &str, first: usize) {
    let mut statements = statements("rest/queries-rest.sql");
    statements.retain(|(name, _)| name.starts_with(prefix));
    let mut silent: Vec<String> = statements.iter().map(|(name, _)| name.clone()).collect();
    let mut wrong = String::new();
    for trace in (first..=30).step_by(4) {
        let trace = format!("rest/{trace:02}");
        let database = Imported::new(&format!("{trace}.pftrace"), &[]);
        let expected = recorded(&format!("{trace}.jsonl.zst"));
        silent.retain(|name| !expected.contains_key(name));
        for (name, sql) in &statements {
            let expected = as_text(expected.get(name).cloned().unwrap_or_default());
            let why = match answer(&database.conn, sql) {
                Ok(found) => difference(&as_text(found), &expected),
                Err(error) => Some(error),
            };
            wrong += &why.map_or(String::new(), |why| format!("\n{trace}, {name}: {why}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(silent.is_empty(), "no trace has rows of {silent:?}");
}

#[test]
fn rt1_to_rt11_known_rows() {
    known_rows("rt_", 2);
}

#[test]
fn rt12_to_rt16_known_rows() {
    known_rows("an_", 3);
}

const COUNTS: &str =
    "SELECT name, value FROM stats WHERE value > 0 AND severity = 'error' ORDER BY name";

#[test]
fn rt1_to_rt4_lists_hold_for_the_whole_trace() {
    let package = |name: &str, uid| new().text(1, name).number(2, uid).number(5, 7);
    let game = new().text(1, "game").number(2, 10_001).number(3, 2);
    let mode = |mode, fps: f32| new().number(1, mode).number(2, 1).float(4, fps);
    let games = game.message(4, mode(2, 30.0)).message(4, mode(2, 60.0)).message(4, mode(7, 1.0));
    let user = |kind: &str, uid| new().text(1, kind).number(2, uid);
    let interrupt = |id, name: &str| new().number(1, id).text(2, name);
    let trace = imported(&[
        packet(
            10,
            PACKAGES,
            new().message(1, package("a", 10_001)).message(1, package("b", 10_002)),
        ),
        packet(9, PACKAGES, new().message(1, package("a", 10_003)).number(2, 1).number(3, 1)),
        packet(8, PACKAGES, new().number(3, 1)),
        packet(10, GAMES, new().message(1, games).number(2, 1)),
        packet(10, USERS, new().message(1, user("full.SYSTEM", 0)).message(1, user("x", 10))),
        packet(10, USERS, new().message(1, user("full.SECONDARY", 10)).number(2, -1_i64 as u64)),
        packet(
            10,
            INTERRUPTS,
            new().message(1, interrupt(1, "gic")).message(1, new().number(1, 2)),
        ),
        packet(10, INTERRUPTS, new().message(1, interrupt(1, "timer"))),
    ]);
    gives(&trace, "SELECT * FROM package_list", &["0 a 10001 0 0 7", "1 b 10002 0 0 7"]);
    gives(
        &trace,
        "SELECT * FROM android_game_intervention_list",
        &["0 game 10001 2 0 - - - 1 0 1 60 0 - - -"],
    );
    gives(
        &trace,
        "SELECT * FROM __intrinsic_android_user_list",
        &["0 full.SYSTEM 0", "1 full.SECONDARY 10"],
    );
    gives(&trace, "SELECT * FROM _linux_interrupt_mapping", &["0 1 gic 0"]);
    gives(
        &trace,
        COUNTS,
        &[
            "game_intervention_has_parse_errors 1",
            "packages_list_has_read_errors 1",
            "user_list_errors 1",
        ],
    );
}

#[test]
fn rt5_lines_of_the_journal_are_logs() {
    let line = |tid, pid| new().number(1, pid).number(2, tid).number(5, 3).text(7, "hello");
    let trace = imported(&[
        packet(10, JOURNAL, line(11, 10).number(3, 1000).text(8, "sh").text(12, "stdout")),
        packet(20, JOURNAL, line(12, 0)),
        packet(30, JOURNAL, new().number(20, 9).number(21, 2)),
    ]);
    let sql = "SELECT ts, tid, prio, log_source, msg, (SELECT group_concat(key || '=' || display_value) FROM args AS a
        WHERE a.arg_set_id = l.arg_set_id) FROM logs AS l LEFT JOIN thread USING (utid)";
    gives(
        &trace,
        sql,
        &[
            "10 11 3 systemd_journald hello comm=sh,transport=stdout,uid=1000",
            "20 - 3 systemd_journald hello -",
        ],
    );
    gives(&trace, "SELECT count(*) FROM android_logs", &["0"]);
    let totals = "SELECT name, value FROM stats WHERE name GLOB 'systemd_journal_*' ORDER BY name";
    gives(&trace, totals, &["systemd_journal_num_failed 2", "systemd_journal_num_total 9"]);
}

#[test]
fn rt6_rt8_other_recordings_are_states() {
    let session = |ts, state| packet(ts, SESSION, new().number(1, state).number(3, 7).number(5, 1));
    let named = new().number(1, 5).number(3, 8).text(2, "mine");
    let trace = imported(&[
        session(10, 2),
        session(20, 3),
        session(30, 3),
        session(40, 1),
        session(50, 9),
        packet(60, SESSION, named),
    ]);
    let sql = "SELECT s.ts, s.dur, s.value, t.name FROM state AS s JOIN state_track AS t ON t.id = s.track_id
        ORDER BY s.id";
    gives(
        &trace,
        sql,
        &[
            "10 10 CONFIGURED Session 7",
            "20 20 STARTED Session 7",
            "40 0 DISABLED Session 7",
            "60 -1 CLONED_READ_ONLY mine (clone)",
        ],
    );
    let logs = "SELECT l.ts, l.severity, l.name, a.key, a.int_value FROM _trace_import_logs AS l JOIN args AS a USING (arg_set_id)";
    gives(&trace, logs, &["50 error concurrent_session_event_unknown_state state 9"]);
    gives(&trace, COUNTS, &["concurrent_session_event_unknown_state 1"]);
}

#[test]
fn rt7_rt8_a_list_of_flags_with_an_error_makes_no_row() {
    let flag =
        new().text(2, "f").text(3, "pkg").number(7, 2).number(8, 3).number(9, 1).number(10, 9);
    let trace = imported(&[
        packet(10, FLAGS, new().message(1, flag.clone())),
        packet(20, FLAGS, new().message(1, flag).text(2, "broken")),
    ]);
    gives(
        &trace,
        "SELECT * FROM __intrinsic_android_aflags",
        &["0 10 pkg f - - - - read-write local none unspecified"],
    );
    let logs = "SELECT ts, name, string_value FROM _trace_import_logs JOIN args USING (arg_set_id)";
    gives(&trace, logs, &["20 android_aflags_errors broken"]);
}

#[test]
fn rt9_a_process_out_of_memory_has_a_callstack() {
    let frame = |method: &str, line| new().text(1, method).text(2, "A.java").number(3, line);
    let stack = new()
        .message(1, frame("void a.A.leaf(int)", 3))
        .message(1, new().text(2, "nameless"))
        .message(1, frame("void a.A.main()", 9));
    let process = || new().number(1, 50).number(2, 10_001).text(3, "app").text(4, "a");
    let oome = || process().number(5, 64).number(6, 8).text(9, "full");
    let trace = imported(&[
        packet(10, RUNTIME, process()),
        packet(20, RUNTIME, oome().message(8, stack.clone())),
        packet(30, RUNTIME, oome().message(8, stack)),
    ]);
    let dumps = "SELECT g.ts, g.dump_reason, p.pid, p.name, p.uid, d.allocation_size_bytes, d.error_msg FROM heap_graph AS g
        JOIN process AS p USING (upid) LEFT JOIN __intrinsic_heap_graph_java_oome_details AS d ON d.heap_graph_id = g.id";
    gives(
        &trace,
        dumps,
        &["10 - 50 app 10001 - -", "20 OOME 50 app 10001 64 full", "30 OOME 50 app 10001 64 full"],
    );
    let frames = "SELECT c.depth, f.name, y.line_number, m.name FROM stack_profile_callsite AS c
        JOIN stack_profile_frame AS f ON f.id = c.frame_id JOIN stack_profile_mapping AS m ON m.id = f.mapping
        JOIN stack_profile_symbol AS y USING (symbol_set_id) ORDER BY c.depth";
    gives(
        &trace,
        frames,
        &["0 a.A.main 9 art_process_metadata", "1 a.A.leaf 3 art_process_metadata"],
    );
    let threads = "SELECT heap_graph_id, tid, callsite_id FROM heap_graph_thread_callsite JOIN thread USING (utid)";
    gives(&trace, threads, &["1 50 1", "2 50 1"]);
    gives(&trace, "SELECT package_name, uid, version_code FROM package_list", &["a 10001 0"; 3]);
}

#[test]
fn rt11_an_event_has_flags_and_one_row() {
    let plain = event(10, 5, 3, new().text(2, "a"));
    let flagged = event(20, 5, 3, new().text(2, "b")).number(5, 7);
    let stats = packet(30, 7, new().number(17, 300));
    let trace = imported(&[bundle(0, &[plain, flagged]), stats]);
    gives(&trace, "SELECT ts, name, common_flags FROM ftrace_event", &["10 print 0", "20 print 7"]);
    gives(&trace, "SELECT value FROM counter", &["300"]);
}

/// An instant of a track event, on a track of its own.
fn instant(ts: u64, uuid: u64) -> Message {
    new().number(8, ts).number(10, 3).message(TRACK_EVENT, of_track(uuid))
}

fn of_track(uuid: u64) -> Message {
    new().number(9, 3).number(11, uuid).text(23, "e")
}

#[test]
fn rt11_active_processes_may_be_an_extension() {
    let active = of_track(7).message(1042, new().number(1, 50));
    let trace = imported(&[packet(10, TRACK_EVENT, active)]);
    let missing = "SELECT pid FROM experimental_missing_chrome_processes JOIN process USING (upid)";
    gives(&trace, missing, &["50"]);
}

#[test]
fn rt12_the_stream_that_gave_the_last_event_goes_on() {
    let mark = |ts, text: &str| event(ts, 5, 3, new().text(2, &format!("I|5|{text}")));
    let trace = imported(&[
        instant(10, 7),
        instant(30, 7),
        bundle(1, &[mark(20, "one"), mark(30, "one")]),
        bundle(0, &[mark(30, "zero"), mark(40, "zero")]),
        instant(40, 7),
    ]);
    // At 30 CPU 1 goes on, because its event at 20 was the last one. Then come the packets and CPU 0.
    let slices = "SELECT ts, name FROM slice ORDER BY id";
    gives(&trace, slices, &["10 e", "20 one", "30 one", "30 e", "30 zero", "40 zero", "40 e"]);
}

#[test]
fn rt16_starts_and_deaths_of_processes_are_rows_and_no_arguments() {
    let start = |pid| new().number(1, 10_001).number(2, pid).text(3, "app").number(7, 1);
    let at = |ts, event| packet(ts, TRACK_EVENT, event);
    let died = |pid| of_track(7).message(2013, new().number(2, pid));
    let trace = imported(&[
        at(10, of_track(7).message(2010, start(50).number(10, 3))),
        at(20, of_track(7).message(2010, start(50).number(8, 99))),
        at(30, died(50)),
        at(40, died(51)),
        at(50, of_track(7).message(2010, new().number(7, 1))),
    ]);
    let rows = "SELECT pid, name, uid, end_ts, start_seq_id, fw_start_ts, fw_end_ts, trigger_type, hosting_type
        FROM __intrinsic_android_track_event_process JOIN process USING (upid)";
    gives(&trace, rows, &["50 app 10001 30 3 10 30 99 HOSTING_TYPE_ACTIVITY"]);
    gives(&trace, "SELECT count(*), count(arg_set_id) FROM slice", &["5 0"]);
}
