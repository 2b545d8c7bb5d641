//! `stats` and `metadata` as Perfetto's trace processor has them, and triggers, through the real program:
//! random traces with its rows for the statements of queries-more.sql, and small traces for each rule.

use std::collections::BTreeMap;

use rusqlite::types::Value;

use crate::support::Imported;
use crate::support::statements::{Row, answer, as_text, difference, recorded, statements};
use timebase_lab::encode::{self, Message};

const STATEMENTS: &str = "more/queries-more.sql";

/// The random traces with records.
const TRACES: [&str; 6] = ["02", "09", "16", "23", "30", "37"];

/// timebase's own facts, which `metadata` has in addition to those of trace processor.
pub const OWN: [&str; 11] = [
    "clock_snapshot_version",
    "conversion",
    "import_data",
    "import_tables",
    "source",
    "source_sha256",
    "source_size",
    "tool",
    "tool_version",
    "trace_id",
    "trace_time_machine_id",
];

/// Whether a row of the statement `metadata` is one of timebase's own facts.
pub fn is_own(row: &Row) -> bool {
    matches!(&row[0], Value::Text(name) if OWN.contains(&name.as_str()))
}

#[test]
fn md1_to_md16_known_rows() {
    let statements = statements(STATEMENTS);
    let asked = ["metadata", "recorded", "triggers"];
    let statements: Vec<_> =
        statements.into_iter().filter(|(name, _)| asked.contains(&name.as_str())).collect();
    assert_eq!(statements.len(), asked.len());
    let mut wrong: BTreeMap<&str, String> = BTreeMap::new();
    for trace in TRACES {
        let database = Imported::new(&format!("more/{trace}.pftrace"), &[]);
        let expected = recorded(&format!("more/{trace}.jsonl.zst"));
        for (name, sql) in &statements {
            let expected = expected.get(name).cloned().unwrap_or_default();
            let mut found = answer(&database.conn, sql).unwrap();
            if name == "metadata" {
                let all = found.len();
                found.retain(|row| !is_own(row));
                assert_eq!(all - found.len(), OWN.len(), "{trace}");
            }
            if let Some(why) = difference(&as_text(found), &as_text(expected)) {
                *wrong.entry(name).or_default() += &format!("\n  {trace}: {why}");
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

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

fn imported(packets: &[Message], arguments: &[&str]) -> Imported {
    Imported::of_bytes(&encode::trace_of(packets), arguments)
}

/// The rows of a statement, each as one text.
fn rows(imported: &Imported, sql: &str) -> Vec<String> {
    let rows = imported.rows(sql).into_iter();
    rows.map(|row| row.join(" ")).collect()
}

/// The facts whose names begin with `begin`, with their values, machines and traces, in the order
/// of their ids.
fn facts(imported: &Imported, begin: &str) -> Vec<String> {
    let sql = format!(
        "SELECT name || '=' || ifnull(value, '(null)') || ' ' || key_type, ifnull(machine_id, '-'), ifnull(trace_id, '-')
         FROM metadata WHERE name GLOB '{begin}*' ORDER BY id"
    );
    rows(imported, &sql)
}

fn trigger(name: &str) -> Message {
    new().text(1, name)
}

#[test]
fn md1_some_packets_are_read_in_file_order_and_others_in_the_order_of_time() {
    let config = |name: &str| new().text(22, name);
    let start = |us| new().number(1, us);
    let packets = [
        at(300, 33, config("late")),
        at(300, 90, start(1)),
        at(100, 33, config("early")),
        at(100, 90, start(2)),
        at(300, 46, trigger("second")),
        at(200, 46, trigger("first")),
    ];
    let found = imported(&packets, &[]);
    assert_eq!(
        [
            facts(&found, "unique_session_name"),
            facts(&found, "range_of_interest_start_us"),
            facts(&found, "trace_trigger")
        ]
        .concat(),
        [
            "unique_session_name=late single - 0",
            "range_of_interest_start_us=2 single - 0",
            "trace_trigger=first single - 0"
        ]
    );
    // Without events, the order of the file is the only one.
    let found = imported(&packets, &["--no-events"]);
    assert_eq!(
        [facts(&found, "unique_session_name"), facts(&found, "trace_trigger")].concat(),
        ["unique_session_name=early single - 0", "trace_trigger=second single - 0"]
    );
}

#[test]
fn md1_a_packet_that_relies_on_lost_state_says_only_some_things() {
    let lost = |field, payload: Message| at(100, field, payload).number(13, 2);
    let attribute = new().text(1, "k").number(2, 5);
    let packets = [
        lost(126, new().message(1, attribute)),
        lost(69, new().number(2, 1)),
        lost(35, new().number(2, 3)),
        lost(78, new().number(1, 1)),
        lost(45, new().text(9, "soc")),
        lost(51, new().number(2, 1)),
        lost(5, new().message(2, new().text(1, "n").text(2, "v"))),
        lost(46, trigger("t")),
        lost(33, new().text(22, "s")),
        lost(90, new()),
        lost(
            86,
            new().message(1, new().text(1, "debug.tracing.profile_system_server").text(2, "1")),
        ),
        lost(39, new().message(2, new().number(1, 5))),
    ];
    for arguments in [&[][..], &["--no-events"]] {
        let found = imported(&packets, arguments);
        let named = "SELECT group_concat(name, ' ') FROM (SELECT name FROM metadata WHERE machine_id IS NOT NULL OR trace_id IS NOT NULL ORDER BY name)";
        assert_eq!(
            rows(&found, named),
            ["trace_attribute.k trace_size_bytes trace_type tracing_started_ns"]
        );
        let counted = "SELECT name, value FROM stats WHERE value <> 0 AND machine_id IS NOT NULL";
        assert_eq!(rows(&found, counted), ["traced_producers_connected 3"]);
    }
}

#[test]
fn md5_another_phase_of_ftrace_stats_says_nothing() {
    let stats = |phase| {
        let cpu = new().number(1, 0).number(2, 9);
        let stats = new().number(1, phase).message(2, cpu).text(7, "sched/x");
        at(100, 34, stats)
    };
    let found = imported(&[stats(0), stats(3)], &[]);
    let counted = "SELECT name, value FROM stats
        WHERE name GLOB 'ftrace_*' AND (value <> 0 OR idx IS NOT NULL) ORDER BY name";
    assert!(rows(&found, counted).is_empty());
    let found = imported(&[stats(1), stats(3)], &[]);
    let of_one = "SELECT count(*) FROM stats WHERE name GLOB 'ftrace_cpu_*_begin' AND idx = 0";
    assert_eq!(rows(&found, of_one), ["8"]);
    let setup = "SELECT value FROM stats WHERE name = 'ftrace_setup_errors'";
    assert_eq!(rows(&found, setup), ["1"]);
}

#[test]
fn md7_a_service_event_is_at_its_own_timestamp() {
    // On a clock that is not trace time, and without a timestamp.
    let converted = new().number(10, 2).number(8, 70).number(58, 3);
    let reading = |id, value| new().number(1, id).number(2, value);
    let snapshot = new().message(1, reading(6, 1000)).message(1, reading(3, 50));
    let packets = [
        new().number(10, 1).message(6, snapshot),
        converted.message(69, new().number(2, 1).number(3, 1)),
        new().number(10, 2).message(69, new().number(5, 1).number(3, 1).number(11, 4)),
    ];
    let found = imported(&packets, &[]);
    assert_eq!(
        facts(&found, "*_ns"),
        [
            "tracing_started_ns=70 single 0 0",
            "all_data_source_flushed_ns=70 multi 0 0",
            "tracing_disabled_ns=0 single 0 0",
            "all_data_source_flushed_ns=0 multi 0 0"
        ]
    );
    let cloned = "SELECT idx, severity, source, value, machine_id, trace_id FROM stats
        WHERE name = 'traced_buf_clone_done_timestamp_ns'";
    assert_eq!(rows(&found, cloned), ["4 info trace 0 0 0"]);
}

#[test]
fn md8_a_configuration_that_cannot_be_read_has_no_text() {
    let packets = [at(100, 33, new().bytes(1, &[0x08]).text(22, "s"))];
    let found = imported(&packets, &[]);
    assert!(facts(&found, "trace_config_pbtxt").is_empty());
    let told = "SELECT severity, code FROM import_log";
    assert_eq!(rows(&found, told), ["warning unreadable_config"]);
    assert_eq!(facts(&found, "unique_session_name"), ["unique_session_name=s single - 0"]);
}

#[test]
fn md10_a_trace_without_a_uuid_has_no_row() {
    let packets = [at(100, 89, new()), at(100, 33, new().number(27, 0))];
    assert!(facts(&imported(&packets, &[]), "trace_uuid").is_empty());
    let config = at(100, 33, new().number(28, 1));
    let found = imported(std::slice::from_ref(&config), &[]);
    let uuid = |low| format!("trace_uuid=00000000-0000-0000-0000-00000000000{low} single - 0");
    assert_eq!(facts(&found, "trace_uuid"), [uuid(1)]);
    let packets = [config, at(100, 89, new().number(2, 2))];
    assert_eq!(facts(&imported(&packets, &[]), "trace_uuid"), [uuid(2)]);
}

#[test]
fn md12_a_letter_tells_packets_of_chrome_apart() {
    let packet = |version| at(100, 51, new().number(2, version));
    let packets: Vec<Message> = (0..28).map(packet).collect();
    let found = imported(&packets, &[]);
    let all = facts(&found, "cr-?-playstore_version_code");
    assert_eq!(all.len(), 28);
    for (place, expected) in [
        (0, "cr-a-playstore_version_code=0 single 0 0"),
        (25, "cr-z-playstore_version_code=25 single 0 0"),
        (26, "cr-a-playstore_version_code=26 single 0 0"),
        (27, "cr-b-playstore_version_code=27 single 0 0"),
    ] {
        assert_eq!(all[place], expected);
    }
}

#[test]
fn md14_h1_the_api_level_is_that_of_the_fingerprint_if_nothing_says_it() {
    let print = |version: &str| format!("google/coral/coral:{version}/SP1A.1/7679548:user/keys");
    let info =
        |version: &str, more: Message| at(100, 45, new().text(2, &print(version)).and(&more));
    for (packet, level) in [
        (info("12", new()), Some(31)),
        (info("8.1", new()), Some(27)),
        (info("12", new().number(5, 35)), Some(35)),
        (info("99", new()), None),
        (at(100, 45, new().number(5, 30)), Some(30)),
        (at(100, 45, new()), None),
    ] {
        let found = imported(&[packet], &[]);
        let level = level.map(|level: i64| level.to_string());
        let of_machine = "SELECT ifnull(android_sdk_version, '') FROM machine";
        assert_eq!(rows(&found, of_machine), [level.clone().unwrap_or_default()]);
        let fact = level.map(|level| format!("android_sdk_version={level} single 0 -"));
        assert_eq!(facts(&found, "android_sdk_version"), Vec::from_iter(fact));
    }
}

#[test]
fn md15_every_machine_has_its_rows() {
    let info = |name: &str| new().message(1, new().text(1, name));
    let guest = at(100, 45, info("guest")).number(98, 7);
    let packets = [at(100, 45, info("host")), guest];
    let found = imported(&packets, &[]);
    assert_eq!(
        facts(&found, "system_name"),
        ["system_name=host single 0 -", "system_name=guest single 1 -"]
    );
    let not_of_each = "SELECT name FROM stats WHERE machine_id IS NOT NULL AND idx IS NULL
        GROUP BY name HAVING count(*) <> 2 OR count(trace_id) <> 2 OR total(value) <> 0";
    assert!(rows(&found, not_of_each).is_empty());
    let of_each = "SELECT count(DISTINCT name) FROM stats WHERE machine_id = 1";
    assert_eq!(rows(&found, of_each), ["63"]);
}

#[test]
fn ft1_gk1_ot1_ke32_counters_of_other_rules_have_their_rows() {
    let of_frames = at(100, 76, new());
    let found = imported(&[at(50, 45, new()), of_frames], &[]);
    let told = "SELECT name, severity, value FROM stats WHERE source = 'analysis' AND idx IS NULL
        AND machine_id = 0 AND trace_id = 0 ORDER BY name";
    assert_eq!(
        rows(&found, told),
        [
            "concurrent_session_event_unknown_state error 0",
            "energy_breakdown_missing_values error 0",
            "energy_descriptor_invalid error 0",
            "energy_uid_breakdown_missing_values error 0",
            "entity_state_residency_invalid error 0",
            "entity_state_residency_lookup_failed error 0",
            "frame_timeline_event_parser_errors info 1",
            "frame_timeline_unpaired_end_event info 0",
            "ftrace_abi_errors_skipped_zero_data_length info 0",
            "generic_task_state_invalid_order error 0",
            "kernel_wakelock_reused_id error 0",
            "kernel_wakelock_unknown_id error 0",
            "task_state_invalid error 0",
            "track_event_parser_errors error 0",
            "track_event_range_of_interest_missing_start_us error 0",
            "track_event_state_missing_track_uuid error 0",
            "truncated_sys_write_duration info 0",
        ]
    );
    let of_none = "SELECT name, severity, value FROM stats
        WHERE name GLOB 'trace_sorter_*' AND machine_id IS NULL AND trace_id IS NULL";
    assert_eq!(rows(&found, of_none), ["trace_sorter_negative_timestamp_dropped error 0"]);
}

#[test]
fn md15_own_facts_are_of_neither_machine_nor_trace() {
    let found = imported(&[at(100, 46, trigger("t"))], &[]);
    let own =
        "SELECT group_concat(name, ' ') FROM (SELECT name FROM metadata WHERE machine_id IS NULL
        AND trace_id IS NULL AND name <> 'trace_time_clock_id' ORDER BY name)";
    assert_eq!(rows(&found, own), [OWN.join(" ")]);
    let ids = "SELECT count(DISTINCT id) - count(*), min(id), max(id) - count(*) FROM metadata";
    assert_eq!(rows(&found, ids), ["0 0 -1"]);
}

#[test]
fn md16_a_trigger_of_chrome_terminates_a_flow() {
    let event = new().number(9, 3).number(11, 5).fixed64(47, 7);
    let packets = [
        at(100, 60, new().number(1, 5).text(2, "track")),
        at(100, 11, event.text(23, "sends")).number(13, 1),
        at(200, 109, new().fixed64(3, 7)),
        at(300, 109, new().text(1, "late").fixed64(3, 7)),
    ];
    let found = imported(&packets, &[]);
    let flows = "SELECT a.name, b.ts, b.name FROM flow
        JOIN slice AS a ON a.id = slice_out JOIN slice AS b ON b.id = slice_in";
    assert_eq!(rows(&found, flows), ["sends 200 chrome_trigger"]);
    let track = "SELECT DISTINCT t.type, t.name, t.machine_id FROM slice AS s
        JOIN track AS t ON t.id = s.track_id WHERE s.ts >= 200";
    assert_eq!(rows(&found, track), ["triggers Trace Triggers 0"]);
}

#[test]
fn md16_the_first_trigger_that_cloned_the_recording_counts() {
    let clone = |ts, name| at(ts, 113, trigger(name));
    let packets = [clone(300, "second"), at(100, 46, trigger("started")), clone(200, "first")];
    let found = imported(&packets, &[]);
    assert_eq!(facts(&found, "trace_trigger"), ["trace_trigger=first single - 0"]);
    let time = "SELECT value FROM stats WHERE name = 'traced_clone_trigger_timestamp_ns'";
    assert_eq!(rows(&found, time), ["200"]);
    let found = imported(&[at(50, 113, new())], &[]);
    assert_eq!(facts(&found, "trace_trigger"), ["trace_trigger=(null) single - 0"]);
    let unnamed = "SELECT count(*) FROM slice WHERE name IS NULL AND dur = 0";
    assert_eq!(rows(&found, unnamed), ["1"]);
}
