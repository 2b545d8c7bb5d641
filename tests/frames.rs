//! Frames, states, lines of the log that track events have, and energy (rules FT, ST, OT), through the real program: random
//! traces with the rows that Perfetto's trace processor has for the statements of queries-more.sql, and the worked
//! examples of the rules.

use timebase_lab::encode::{self, Message};

use crate::support::Imported;
use crate::support::statements::{answers_as_recorded, statements};

#[test]
fn ft1_to_ft9_known_rows() {
    answers_as_recorded(
        &["07", "14", "21", "28", "35"],
        &["expected_frames", "actual_frames", "frame_tracks", "frame_flows", "counts"],
        &[],
    );
}

#[test]
fn st1_to_st4_ot1_known_rows() {
    answers_as_recorded(
        &["01", "08", "15", "22", "29", "36"],
        &["states", "state_tracks", "state_slices", "track_event_logs", "counts"],
        // No track event of these traces has a log message.
        &["track_event_logs"],
    );
}

#[test]
fn ot2_ot3_known_rows() {
    answers_as_recorded(&["06", "13", "20", "27", "34"], &["power_counters", "counts"], &[]);
}

fn new() -> Message {
    Message::new()
}

/// Packets on one sequence, whose state is valid from the first one on.
fn imported(packets: Vec<Message>) -> Imported {
    let clocks = new().message(1, new().number(1, 6).number(2, 1));
    let begun = vec![new().number(10, 1).message(6, clocks), new().number(10, 2).number(13, 1)];
    Imported::of_bytes(&encode::trace_of(&[begun, packets].concat()), &[])
}

fn at(ts: u64, field: u32, payload: Message) -> Message {
    new().number(10, 2).number(8, ts).message(field, payload)
}

/// An event of a frame timeline, with its member.
fn frame(ts: u64, member: u32, fields: &[(u32, u64)]) -> Message {
    let fields = fields.iter();
    let message = fields.fold(new(), |message, &(field, value)| message.number(field, value));
    at(ts, 76, new().message(member, message))
}

fn frame_end(ts: u64, cookie: u64) -> Message {
    frame(ts, 5, &[(1, cookie)])
}

/// The rows of a statement, each as one text.
fn rows(imported: &Imported, sql: &str) -> Vec<String> {
    let rows = imported.rows(sql).into_iter();
    rows.map(|row| row.join(" ")).collect()
}

/// The counters that the rules name, if they are above 0.
fn counted(imported: &Imported) -> Vec<String> {
    rows(
        imported,
        "SELECT name, value FROM stats WHERE value > 0 AND (name GLOB 'frame_*' OR name GLOB 'track_event_*'
           OR name GLOB 'energy_*' OR name GLOB 'entity_*' OR name GLOB 'trace_sorter_*') ORDER BY name",
    )
}

const EXPECTED: &str = "SELECT e.ts, e.dur, pid, json_extract(d.args, '$.track_compressor_idx'), e.name,
    e.display_frame_token, ifnull(e.surface_frame_token, '-'), ifnull(e.layer_name, '-')
  FROM expected_frame_timeline_slice AS e JOIN process USING (upid) JOIN track AS t ON t.id = e.track_id
  JOIN arg_set AS d ON d.id = t.dimension_arg_set_id ORDER BY e.id";

const ACTUAL: &str = "SELECT e.ts, e.dur, pid, json_extract(d.args, '$.track_compressor_idx'), e.name,
    ifnull(e.layer_name, '-'), present_type, jank_type, jank_severity_type, jank_tag, jank_tag_experimental
  FROM actual_frame_timeline_slice AS e JOIN process USING (upid) JOIN track AS t ON t.id = e.track_id
  JOIN arg_set AS d ON d.id = t.dimension_arg_set_id ORDER BY e.id";

const FLOWS: &str = "SELECT a.ts, b.ts, ifnull(f.trace_id, '-'), ifnull(f.arg_set_id, '-')
  FROM flow AS f JOIN slice AS a ON a.id = slice_out JOIN slice AS b ON b.id = slice_in ORDER BY f.id";

#[test]
fn ft3_to_ft8_the_worked_example_of_frames() {
    let surface = [(1, 1), (2, 7), (3, 9), (4, 100)];
    let again = [(1, 2), (2, 7), (3, 9), (4, 100)];
    let layered = new()
        .number(1, 3)
        .number(2, 7)
        .number(3, 9)
        .number(4, 100)
        .text(5, "app")
        .number(6, 2)
        .number(9, 64 + 128)
        .number(10, 1);
    let pip =
        new().number(1, 4).number(2, 8).number(3, 9).number(4, 100).text(5, "pip").number(9, 128);
    let display = [(1, 5), (2, 9), (3, 200), (4, 1), (7, 1), (12, 16)];
    let found = imported(vec![
        frame(10, 3, &surface),
        frame(12, 3, &again),
        at(14, 76, new().message(4, layered)),
        at(15, 76, new().message(4, pip)),
        frame(20, 2, &display),
        frame_end(21, 1),
        frame_end(22, 2),
        frame_end(23, 3),
        frame_end(30, 5),
        frame_end(31, 5),
    ]);
    assert_eq!(rows(&found, EXPECTED), ["10 11 100 0 7 9 7 -"]);
    assert_eq!(
        rows(&found, ACTUAL),
        [
            "14 9 100 0 7 app Late Present App Deadline Missed, Buffer Stuffing Unknown Self Jank Unspecified",
            "15 -1 100 1 8 pip Unspecified Present Buffer Stuffing Unknown Buffer Stuffing Unspecified",
            "20 10 200 0 9 - On-time Present None None No Jank Self Jank",
        ]
    );
    assert_eq!(rows(&found, FLOWS), ["14 20 - -", "15 20 - -"]);
    assert_eq!(counted(&found), ["frame_timeline_unpaired_end_event 1"]);
}

#[test]
fn ft1_ft2_what_lacks_something_is_dropped() {
    let start = |left_out: u32| {
        let fields = (1..=4).filter(move |field| *field != left_out);
        let fields: Vec<_> = fields.map(|field| (field, 0)).collect();
        frame(10, 3, &fields)
    };
    let latest = i64::MAX as u64 - 10_000_000_000;
    let display = [(1, 7), (2, 8), (3, 9)];
    let found = imported(vec![
        at(10, 76, new()),
        start(1),
        start(2),
        start(3),
        start(4),
        frame(11, 5, &[]),
        frame(latest, 1, &display),
        // All of them exist with the value 0.
        start(9),
        frame(latest - 1, 1, &display),
    ]);
    assert_eq!(rows(&found, EXPECTED), ["10 -1 0 0 0 0 0 -", "9223372026854775806 -1 9 0 8 8 - -"]);
    assert_eq!(counted(&found), ["frame_timeline_event_parser_errors 7"]);
}

#[test]
fn ft1_frames_before_0_are_dropped() {
    // BOOTTIME of the second snapshot is the machine's own, so a time of the first is before 0.
    let clocks = |boot, real| {
        let clock = |id, value| new().number(1, id).number(2, value);
        new().message(1, clock(6, boot)).message(1, clock(1, real))
    };
    let early = frame(5, 1, &[(1, 1), (2, 2), (3, 3)]).number(58, 1);
    let packets = [
        new().number(10, 1).message(6, clocks(100, 1_000)),
        early,
        frame(110, 1, &[(1, 1), (2, 2), (3, 3)]),
    ];
    let found = Imported::of_bytes(&encode::trace_of(&packets), &[]);
    assert_eq!(rows(&found, EXPECTED), ["110 -1 3 0 2 2 - -"]);
    let dropped = ["trace_sorter_negative_timestamp_dropped 1"];
    assert_eq!(counted(&found), dropped);
}

#[test]
fn ft5_the_first_member_counts_and_a_layer_without_a_name_is_null() {
    let display = new().number(1, 1).number(2, 5).number(3, 9).number(15, 2);
    let surface = new().number(1, 2).number(2, 6).number(3, 5).number(4, 9);
    let both = new().message(4, surface.clone()).message(2, display);
    // Values without a word: two of them are counted, two are only unknown.
    let odd = surface.number(6, 6).number(17, 0).number(12, 9).number(19, 4);
    let found = imported(vec![at(10, 76, both), at(11, 76, new().message(4, odd))]);
    let sql = "SELECT ts, ifnull(latched_unsignaled_count, '-'), ifnull(layer_name, '-'), present_type, jank_severity_type,
      ifnull(latched_fence_state, '-') FROM actual_frame_timeline_slice";
    assert_eq!(
        rows(&found, sql),
        ["10 2 - Unspecified Present Unknown -", "11 - - Unspecified Present Unknown Unknown"]
    );
    assert_eq!(counted(&found), ["frame_timeline_event_parser_errors 2"]);
}

#[test]
fn ft8_a_display_that_is_too_deep_takes_the_surfaces_with_it() {
    let surface = [(1, 1), (2, 7), (3, 9), (4, 100)];
    let display = [(1, 5), (2, 9), (3, 200)];
    let mut packets = vec![frame(10, 4, &surface)];
    // All of them have one cookie, and so one lane.
    packets.extend((0..512).map(|ts| frame(20 + ts, 2, &[(1, 5), (2, 8), (3, 200)])));
    packets.push(frame(600, 2, &display));
    packets.push(frame_end(601, 5));
    packets.push(frame(700, 2, &[(1, 6), (2, 9), (3, 200)]));
    let found = imported(packets);
    assert_eq!(rows(&found, FLOWS), [""; 0]);
    let deepest = "SELECT depth, dur FROM actual_frame_timeline_slice ORDER BY depth DESC LIMIT 1";
    assert_eq!(rows(&found, deepest), ["511 70"]);
}

#[test]
fn ft3_ft4_ft8_machines_have_cookies_and_tokens_of_their_own() {
    let of = |machine: u64, packet: Message| packet.number(98, machine);
    let expected = [(1, 1), (2, 7), (3, 9), (4, 100)];
    let found = imported(vec![
        frame(10, 3, &expected),
        of(5, frame(11, 3, &expected)),
        frame(12, 4, &expected),
        of(5, frame(13, 2, &[(1, 2), (2, 9), (3, 100)])),
        of(5, frame_end(14, 1)),
        frame_end(15, 1),
    ]);
    let sql = "SELECT s.ts, s.dur, machine_id, s.name FROM slice AS s JOIN track AS t ON t.id = s.track_id ORDER BY s.ts";
    assert_eq!(rows(&found, sql), ["10 -1 0 7", "11 3 1 7", "12 3 0 7", "13 -1 1 9"]);
    assert_eq!(rows(&found, FLOWS), [""; 0]);
}

/// A state event of a uuid, with additional fields.
fn state(ts: u64, uuid: u64, more: Message) -> Message {
    at(ts, 11, new().number(9, 5).number(11, uuid).and(&more))
}

fn described(uuid: u64, more: Message) -> Message {
    let descriptor = new().number(1, uuid).and(&more);
    new().number(10, 2).message(60, descriptor)
}

/// The descriptor of a state.
fn is_state(name: &str) -> Message {
    new().text(2, name).message(18, new())
}

const STATES: &str =
    "SELECT s.ts, s.dur, ifnull(t.name, '-'), ifnull(s.category, '-'), quote(s.value),
    ifnull((SELECT args FROM arg_set AS a WHERE a.id = s.arg_set_id), '-')
  FROM state AS s JOIN state_track AS t ON t.id = s.track_id ORDER BY s.id";

#[test]
fn st1_st3_st4_the_worked_example_of_states() {
    let annotation = new().text(10, "k").number(4, 1);
    let found = imported(vec![
        described(5, is_state("power")),
        state(10, 5, new().text(22, "c").text(23, "on")),
        state(20, 5, new().text(22, "d").text(23, "on").message(4, annotation)),
        state(30, 5, new().text(23, "off")),
        state(40, 5, new()),
        state(50, 5, new().text(23, "")),
        state(60, 6, new().text(23, "x")),
    ]);
    assert_eq!(
        rows(&found, STATES),
        [r#"10 20 power c 'on' {"debug.k":1}"#, "30 10 power - 'off' -", "50 -1 power - '' -"]
    );
    assert_eq!(counted(&found), ["track_event_parser_errors 1"]);
    let types = "SELECT type, (SELECT count(*) FROM process_state_track), (SELECT count(*) FROM thread_state_track) FROM state_track";
    assert_eq!(rows(&found, types), ["global_state_track_event 0 0"]);
}

#[test]
fn st2_st4_a_legacy_event_names_the_track_and_not_the_state() {
    let interned = new().message(2, new().number(1, 7).text(2, "legacy"));
    let legacy = |phase: u8| new().message(6, new().number(1, 7).number(2, phase.into()));
    let by_iid = |iid| legacy(b'i').number(10, iid).text(23, "no part");
    let found = imported(vec![
        described(5, new().message(18, new())),
        state(10, 5, legacy(b'X').text(23, "own")).message(12, interned),
        state(20, 5, by_iid(0)),
        state(30, 5, by_iid(7)),
        state(40, 5, by_iid(8)),
    ]);
    assert_eq!(rows(&found, STATES), ["10 10 legacy - 'own' -", "30 10 legacy - 'legacy' -"]);
}

#[test]
fn st3_a_state_on_no_track_of_states_is_dropped() {
    let thread = new().message(4, new().number(1, 1).number(2, 2));
    let without_uuid = at(40, 11, new().number(9, 5).text(23, "a"));
    let overridden = new().message(6, new().number(18, 3).number(19, 4)).text(23, "a");
    let found = imported(vec![
        described(5, thread),
        described(8, is_state("loop").number(5, 8)),
        state(10, 5, new().text(23, "a")),
        state(20, 8, new().text(23, "a")),
        state(30, 0, overridden),
        without_uuid,
    ]);
    assert_eq!(rows(&found, STATES), [""; 0]);
    assert_eq!(
        counted(&found),
        [
            // The descriptor of a loop counts, too.
            "track_event_parser_errors 4",
            "track_event_state_missing_track_uuid 1",
            "track_event_track_hierarchy_loop 2"
        ]
    );
}

#[test]
fn st4_a_state_that_goes_on_gets_arguments_as_a_slice_does_at_its_end() {
    let annotation = |name: &str, value| new().message(4, new().text(10, name).number(4, value));
    let list = |value| {
        let entry = new().number(4, value);
        new().message(4, new().text(10, "l").message(12, entry))
    };
    let faulty = new().message(4, new().number(4, 1));
    let found = imported(vec![
        described(5, is_state("s")),
        state(10, 5, new().text(23, "a").and(&annotation("k", 1)).and(&list(5))),
        state(20, 5, new().text(23, "a").and(&annotation("k", 2)).and(&list(6))),
        // An error in the arguments of an event without a value counts nowhere.
        state(30, 5, faulty.clone()),
        state(40, 5, new().text(23, "b").and(&faulty)),
    ]);
    assert_eq!(
        rows(&found, STATES),
        [r#"10 20 s - 'a' {"debug.l[0]":5,"debug.k":2,"debug.l[1]":6}"#, "40 -1 s - 'b' -"]
    );
    assert_eq!(counted(&found), ["track_event_parser_errors 1"]);
}

const LOGS: &str = "SELECT l.ts, l.tid, ifnull(l.pid, '-'), thread.tid, prio, ifnull(tag, '-'), ifnull(msg, '-'), l.unresolved IS NULL
  FROM android_logs AS l JOIN thread USING (utid) ORDER BY l.id";

#[test]
fn ot1_log_messages_of_track_events_are_lines_of_the_log() {
    let location = new().number(1, 2).text(2, "a\\b.cc");
    let interned = new()
        .message(20, new().number(1, 1).text(2, "hello"))
        .message(4, location)
        .message(4, new().number(1, 3).number(4, 9));
    let log = |more: Message| new().message(21, new().number(2, 1).and(&more));
    let event = |ts, kind: u64, uuid: u64, more: Message| {
        at(ts, 11, new().number(9, kind).number(11, uuid).and(&more))
    };
    let thread = new().message(4, new().number(1, 6).number(2, 7));
    let state_of_thread = is_state("s").number(5, 5);
    let logcat = new().message(1, new().number(3, 2).number(5, 50).text(8, "m"));
    let unknown = new().message(21, new().number(2, 9));
    let found = imported(vec![
        described(5, thread),
        described(8, state_of_thread),
        event(10, 1, 5, log(new().number(1, 2).number(3, 3))).message(12, interned),
        event(20, 2, 5, log(new().number(1, 3).number(3, 99))),
        // It closes nothing.
        event(30, 2, 5, log(new())),
        event(40, 3, 5, log(new())),
        event(50, 3, 5, unknown),
        event(60, 5, 8, log(new()).text(23, "v")),
        event(70, 5, 8, log(new()).text(23, "v")),
        event(80, 5, 8, log(new())),
        event(90, 3, 99, log(new())),
        at(95, 39, logcat),
    ]);
    let of_events = rows(&found, LOGS).into_iter().filter(|line| line.contains("hello"));
    assert_eq!(
        of_events.collect::<Vec<_>>(),
        [
            "10 7 6 7 3 a\\b.cc:0 hello 1",
            "20 7 6 7 0 :9 hello 1",
            "40 7 6 7 4 - hello 1",
            "60 7 6 7 4 - hello 1",
            "70 7 6 7 4 - hello 1"
        ]
    );
    // The recorded traces have no rows for this statement: thread 7 of the process 6, and its log.
    let statements = statements("more/queries-more.sql");
    let (_, sql) = statements.iter().find(|(name, _)| name == "track_event_logs").unwrap();
    let mut lines = rows(&found, sql);
    lines.retain(|line| line.contains("hello"));
    lines.sort();
    assert_eq!(
        lines,
        [
            "10 7/6#1#1 3 a\\b.cc:0 hello",
            "20 7/6#1#1 0 :9 hello",
            "40 7/6#1#1 4 (null) hello",
            "60 7/6#1#1 4 (null) hello",
            "70 7/6#1#1 4 (null) hello",
        ]
    );
    assert_eq!(found.count("SELECT count(*) FROM android_logs"), 6);
    assert_eq!(found.count("SELECT count(DISTINCT id) FROM android_logs"), 6);
}

/// Values of counters, with the names of their tracks.
const VALUES: &str = "SELECT c.ts, t.name, CAST(c.value AS INTEGER), (SELECT a.args FROM arg_set AS a WHERE a.id = t.dimension_arg_set_id),
    ifnull((SELECT a.args FROM arg_set AS a WHERE a.id = t.source_arg_set_id), '-')
  FROM counter AS c JOIN track AS t ON t.id = c.track_id ORDER BY c.id";

#[test]
fn ot2_what_is_said_first_of_a_state_counts_wherever_it_stands() {
    let residency = |entity, state, ms| {
        let residency = new().number(1, entity).number(2, state).number(3, ms);
        new().message(2, residency)
    };
    let says = |state: u64, name: &str| {
        let said = new().number(1, 0).number(2, state).text(3, "cpu").text(4, name);
        new().message(1, said)
    };
    let found = imported(vec![
        at(10, 91, residency(0, 1, 7)),
        at(20, 91, says(1, "idle").and(&says(1, "later")).and(&says(0, "on"))),
        // The rest of the packet is left out.
        at(30, 91, residency(0, 1, 8).and(&residency(0, 2, 9)).and(&residency(0, 1, 9))),
        at(40, 91, new().message(2, new().number(3, 5)).message(1, new().number(1, 0))),
    ]);
    assert_eq!(
        rows(&found, VALUES),
        [
            r#"10 Entity residency: cpu is idle 7 {"entity_name":"cpu","state_name":"idle"} -"#,
            r#"30 Entity residency: cpu is idle 8 {"entity_name":"cpu","state_name":"idle"} -"#,
            r#"40 Entity residency: cpu is on 5 {"entity_name":"cpu","state_name":"on"} -"#,
        ]
    );
    assert_eq!(
        counted(&found),
        [
            "energy_descriptor_invalid 1",
            "entity_state_residency_invalid 1",
            "entity_state_residency_lookup_failed 1"
        ]
    );
}

#[test]
fn ot3_energy_is_of_consumers_and_of_user_ids() {
    let consumer =
        |id: u64, name: &str| new().number(1, id).number(2, 3).text(3, "CPU").text(4, name);
    let said = new()
        .message(1, consumer(1, "big"))
        .message(1, consumer(1, "later"))
        .message(1, new().text(4, "no id"));
    let uid = |uid: u64, energy: u64| new().message(4, new().number(1, uid).number(2, energy));
    let lacking = new().message(4, new().number(1, 5));
    let found = imported(vec![
        at(10, 77, new().number(2, 1).number(3, 100).and(&lacking).and(&uid(1000, 60))),
        // It describes consumers, and contains nothing else.
        at(20, 77, new().message(1, said).number(2, 1).number(3, 5)),
        at(30, 77, new().number(2, 2).number(3, 5)),
        at(40, 77, new().number(2, 1).and(&uid(1000, 70))),
    ]);
    assert_eq!(
        rows(&found, VALUES),
        [
            r#"10 big 100 {"energy_consumer_id":1} {"consumer_type":"CPU","ordinal":3}"#,
            r#"10 big 60 {"energy_consumer_id":1,"uid":1000} -"#,
        ]
    );
    assert_eq!(
        counted(&found),
        [
            "energy_breakdown_missing_values 2",
            "energy_descriptor_invalid 1",
            "energy_uid_breakdown_missing_values 1"
        ]
    );
}
