//! The rules of legacy events and of flows, one by one, on small traces made by hand. The program
//! and the model must agree.

use crate::support::events::*;
use crate::support::kernel::{self, new};
use timebase_lab::encode::Message;

// L: legacy events

#[test]
fn l1_the_thread_of_a_sequence_is_that_of_its_packet() {
    let instant = |time, name| event(time, new().number(9, INSTANT).text(23, name));
    let trace = told(&[
        instant(10, "before"),
        references(10, 9, [0, 0, 0]),
        clear(),
        references(10, 11, [0, 0, 0]),
        instant(20, "first"),
        loss(),
        instant(30, "kept"),
        clear(),
        references(10, 12, [0, 0, 0]),
        instant(40, "second"),
    ]);
    let owners = ["before -", "first 11", "kept 11", "second 12"];
    trace.gives(
        "SELECT s.name, tid FROM slice AS s LEFT JOIN thread_track AS k ON k.id = track_id \
         LEFT JOIN thread USING (utid) ORDER BY s.id",
        &owners,
    );
    trace.counted("thread_descriptor_skipped_incremental_state_invalid", 1);
}

#[test]
fn l1_deltas_of_thread_time_and_instructions_are_sums() {
    let delta = |time, name| {
        let event_of = new().number(9, INSTANT).text(23, name);
        event(time, event_of.number(2, 5).number(8, 7))
    };
    let absolute = new().number(9, INSTANT).text(23, "absolute");
    let trace = told(&[
        clear(),
        references(10, 11, [0, 100, 500]),
        delta(10, "a"),
        event(20, absolute.number(17, 900).number(20, 800)),
        delta(30, "b"),
        loss(),
        delta(40, "lost"),
        event(50, new().number(9, INSTANT).text(23, "lost").number(1, 1)),
    ]);
    trace.gives(
        "SELECT name, thread_ts, thread_instruction_count FROM slice ORDER BY id",
        &["a 105000 507", "absolute 900000 800", "b 110000 514"],
    );
    trace.counted("track_event_skipped_timestamp_delta_without_valid_state", 1);
    trace.counted("track_event_skipped_thread_time_delta_without_valid_state", 1);
}

#[test]
fn l2_threads_of_events_without_a_uuid() {
    let instant = |time, name, legacy: Message| {
        let event_of = new().number(9, INSTANT).text(23, name);
        event(time, event_of.message(6, legacy))
    };
    let of_type_0 = new().number(11, 0).number(9, 0).text(23, "type 0");
    let on_0 = |name| new().number(11, 0).number(9, INSTANT).text(23, name);
    let trace = told(&[
        instant(5, "other process", new().number(18, 20)),
        clear(),
        references(10, 11, [0, 0, 0]),
        instant(10, "the sequence's", new()),
        instant(20, "other thread", new().number(19, 12)),
        instant(30, "both", new().number(18, 20).number(19, 21)),
        instant(40, "of no process", new().number(18, 0)),
        instant(50, "no thread", new().number(19, 0)),
        event(60, on_0("says uuid 0")),
        event(70, on_0("but a tid").message(6, new().number(19, 12))),
        event(80, of_type_0.message(6, new().number(2, 'i'.into()))),
    ]);
    trace.gives(
        "SELECT s.name, tid, pid FROM slice AS s LEFT JOIN thread_track AS k ON k.id = track_id \
         LEFT JOIN thread USING (utid) LEFT JOIN process USING (upid) ORDER BY s.id",
        &[
            "other process -1 20",
            "the sequence's 11 10",
            "other thread 12 10",
            "both 21 20",
            "says uuid 0 - -",
            "but a tid 12 10",
        ],
    );
}

#[test]
fn l3_l4_phases_of_threads() {
    let trace = told(&[
        described(1, thread(10, 10)),
        described(2, new().text(2, "of nobody")),
        phase(1000, 'B', "b", 1, new()),
        phase(2000, 'X', "x", 1, new().number(3, 5).number(4, 9)),
        phase(3000, 'X', "negative", 1, new().signed(3, -1)),
        phase(8000, 'E', "b", 1, new()),
        phase(9000, 'B', "dropped", 2, new()),
        phase(9000, 'X', "dropped", 2, new()),
        phase(9000, 'i', "dropped", 2, new()),
        phase(9000, 'R', "mark", 2, new()),
        phase(9000, 'Z', "no row", 1, new()),
    ]);
    let slices = ["b 1000 7000 0", "x 2000 5000 1", "mark 9000 0 0"];
    trace.gives(SLICES, &slices);
    trace.gives(ARGS, &["mark legacy_event.phase string R"]);
    trace.counted("track_event_parser_errors", 4);
}

#[test]
fn l3_e7_a_phase_goes_before_the_type_but_not_before_a_counter() {
    let counting = counts(2, 5).and(&legacy('B', new()));
    let trace = told(&[
        described(1, thread(10, 10)),
        described(2, counter(new()).text(2, "c").and(&below(1))),
        event(10, legacy('B', new()).and(&named(INSTANT, "b", 1))),
        event(20, counting),
    ]);
    trace.gives(SLICES, &["b 10 -1 0"]);
    trace.gives("SELECT value FROM counter", &["5"]);
}

#[test]
fn l4_complete_events_are_not_for_lanes() {
    let trace = told(&[
        described(1, thread(10, 10)),
        described(2, below(1).text(2, "q")),
        phase(10, 'X', "x", 2, new().number(3, 5)),
    ]);
    trace.gives(SLICES, &[]);
    trace.counted("track_event_parser_errors", 1);
}

/// Names, times and tracks of asynchronous slices, with numbered tracks.
const ASYNC: &str = "SELECT s.name, s.ts, s.dur, k.name, dense_rank() OVER (ORDER BY track_id) \
     FROM slice AS s JOIN track AS k ON k.id = s.track_id ORDER BY s.id";

#[test]
fn l5_asynchronous_slices_are_on_lanes_by_scope_and_root() {
    let id = |id| new().number(6, id);
    let trace = told(&[
        described(1, thread(10, 10)),
        phase(10, 'b', "root", 1, id(1)),
        phase(20, 'b', "below", 1, id(1)),
        phase(25, 'n', "instant", 1, id(1)),
        phase(30, 'e', "below", 1, id(1)),
        phase(40, 'b', "root", 1, id(2)),
        phase(50, 'e', "root", 1, id(1)),
        phase(60, 'b', "root", 1, new().number(11, 3)),
        phase(70, 'b', "other root", 1, id(4)),
        phase(80, 'b', "no id", 1, new()),
    ]);
    trace.gives(
        ASYNC,
        &[
            "root 10 40 root 1",
            "below 20 10 root 1",
            "instant 25 0 root 1",
            "root 40 -1 root 2",
            "root 60 -1 root 1",
            "other root 70 -1 other root 3",
        ],
    );
    trace.gives(
        "SELECT DISTINCT k.type, a.key, coalesce(string_value, int_value) FROM track AS k \
         JOIN args AS a ON a.arg_set_id = k.source_arg_set_id ORDER BY a.key",
        &[
            "legacy_async_global_slice source chrome",
            "legacy_async_global_slice source_scope cat",
            "legacy_async_global_slice trace_id_is_process_scoped 0",
            "legacy_async_global_slice upid 0",
        ],
    );
    trace.counted("track_event_parser_errors", 1);
}

#[test]
fn l5_ids_of_a_process_and_scopes() {
    let local = |id| new().number(10, id);
    let trace = told(&[
        described(1, thread(10, 10)),
        described(2, thread(20, 20)),
        described(3, new().text(2, "of nobody")),
        phase(10, 'b', "a", 1, local(1)),
        phase(20, 'b', "b", 2, local(1)),
        phase(30, 'b', "dropped", 3, local(1)),
        phase(40, 'b', "c", 3, new().number(6, 1).text(7, "scope")),
        phase(50, 'S', "d", 3, new().number(6, 2)),
    ]);
    trace.gives(
        "SELECT s.name, k.type, pid, (SELECT string_value FROM args AS a \
         WHERE a.arg_set_id = k.source_arg_set_id AND key = 'source_scope') \
         FROM slice AS s JOIN track AS k ON k.id = s.track_id \
         LEFT JOIN process_track AS p ON p.id = k.id LEFT JOIN process USING (upid) ORDER BY s.id",
        &[
            "a legacy_async_process_slice 10 cat",
            "b legacy_async_process_slice 20 cat",
            "c legacy_async_global_slice - cat:scope",
            "d legacy_async_global_slice - d",
        ],
    );
}

#[test]
fn l5_u6_no_name_and_an_empty_one_are_two() {
    let nameless = |time, uuid| {
        let event_of = legacy('S', new().number(6, 1));
        event(time, event_of.number(11, uuid))
    };
    let trace = told(&[
        described(1, new()),
        described(2, new()),
        nameless(10, 1),
        phase(20, 'S', "", 1, new().number(6, 1)),
        event(30, unnamed(END, 1)),
        event(40, named(INSTANT, "", 2)),
        event(50, named(INSTANT, "i", 1)),
    ]);
    trace.gives(
        "SELECT ts, k.type, dense_rank() OVER (ORDER BY track_id) FROM slice \
         JOIN track AS k ON k.id = track_id ORDER BY ts",
        &[
            "10 legacy_async_global_slice 1",
            "20 legacy_async_global_slice 2",
            "40 global_merged_track_event 4",
            "50 global_merged_track_event 3",
        ],
    );
}

#[test]
fn l5_t_is_an_instant_and_f_an_end() {
    let id = || new().number(6, 1);
    let trace = told(&[
        phase(10, 'S', "s", 5, id()),
        phase(20, 'T', "s", 5, id()),
        phase(30, 'p', "s", 5, id()),
        phase(40, 'F', "s", 5, id()),
        phase(50, 'S', "s", 5, new().number(6, 2)),
    ]);
    trace.gives(ASYNC, &["s 10 30 s 1", "s 20 0 s 1", "s 30 0 s 1", "s 50 -1 s 1"]);
    trace.gives(
        "SELECT ts, key, coalesce(string_value, int_value) FROM slice AS s \
         JOIN args AS a ON a.arg_set_id = s.arg_set_id ORDER BY ts, key",
        &[
            "10 legacy_event.phase S",
            "10 legacy_trace_source_id 1",
            "20 legacy_event.phase T",
            "20 legacy_trace_source_id 1",
            "30 legacy_event.phase p",
            "30 legacy_trace_source_id 1",
            "50 legacy_event.phase S",
            "50 legacy_trace_source_id 2",
        ],
    );
}

#[test]
fn l5_l7_u6_the_events_own_uuid_has_no_part_in_other_tracks() {
    let q = || new().text(2, "q");
    let trace = told(&[
        described(1, q()),
        described(2, q()),
        phase(10, 'b', "async", 1, new().number(6, 1)),
        phase(15, 'i', "global", 1, new().number(14, 1)),
        says("B a@20 #2"),
        says("B b@30 #1"),
    ]);
    let tracks = ["async 10 -1 async 1", "global 15 0 - 2", "a 20 -1 q 3", "b 30 -1 q 4"];
    trace.gives(ASYNC, &tracks);
}

#[test]
fn l6_names_by_legacy_events() {
    let names = |time, name, uuid, text| {
        let annotation = new().text(10, "name").text(6, text);
        let event_of = legacy('M', new()).text(23, name).number(11, uuid);
        event(time, event_of.message(4, annotation))
    };
    let trace = told(&[
        described(1, thread(10, 10)),
        described(2, thread_named(10, 11, "descriptor")),
        described(3, process(20, "")),
        names(10, "thread_name", 1, "legacy"),
        names(20, "thread_name", 2, "lower than the descriptor"),
        names(30, "process_name", 1, "p"),
        names(40, "process_name", 3, "q"),
        names(50, "process_name", 3, ""),
        names(60, "thread_name", 3, "no thread"),
    ]);
    trace.gives(THREADS, &["10 legacy 10", "11 descriptor 10", "20 - 20"]);
    trace.gives(PROCESSES, &["10 p -", "20 q -"]);
    trace.counted("track_event_parser_errors", 1);
}

#[test]
fn l7_instants_of_all_of_a_process_and_of_threads() {
    let scope = |scope| new().number(14, scope);
    let trace = told(&[
        described(1, thread(10, 10)),
        described(2, new().text(2, "of nobody")),
        phase(10, 'i', "global", 2, scope(1)),
        phase(20, 'I', "process", 1, scope(2)),
        phase(30, 'i', "no process", 2, scope(2)),
        phase(40, 'i', "thread", 1, scope(3)),
    ]);
    trace.gives(
        ON_TRACKS,
        &[
            "global legacy_chrome_global_instants -",
            "process chrome_process_instant -",
            "thread thread_execution -",
        ],
    );
    trace.counted("track_event_parser_errors", 1);
}

// G: flows

/// An event with flows: fields of `TrackEvent` and ids.
fn flowing(time: u64, kind: u64, name: &str, flows: &[(u32, u64)]) -> Message {
    let event_of =
        flows.iter().fold(named(kind, name, UUID), |event, (field, id)| event.fixed64(*field, *id));
    event(time, event_of)
}

const FLOW: u32 = 47;
const TERMINATING: u32 = 48;

#[test]
fn g2_g3_worked_example_of_flows() {
    let trace = told(&[
        described(UUID, thread(10, 10)),
        flowing(10, INSTANT, "p", &[(FLOW, 1)]),
        flowing(20, BEGIN, "q", &[(FLOW, 1)]),
        flowing(30, INSTANT, "r", &[(TERMINATING, 1)]),
        flowing(40, INSTANT, "s", &[(FLOW, 1)]),
    ]);
    trace.gives(FLOWS, &["p q", "q r"]);
}

#[test]
fn g1_e11_flows_of_an_end_are_its_slices() {
    let old = |time, name, field: u32| {
        let event_of = named(INSTANT, name, UUID);
        event(time, event_of.number(field, 1))
    };
    let trace = told(&[
        described(UUID, thread(10, 10)),
        flowing(10, BEGIN, "a", &[]),
        flowing(20, END, "a", &[(FLOW, 1)]),
        old(30, "b", 36),
        old(40, "c", 42),
        flowing(50, END, "nothing", &[(FLOW, 1)]),
        flowing(60, INSTANT, "d", &[(TERMINATING, 1)]),
    ]);
    trace.gives(FLOWS, &["a b", "b c"]);
}

#[test]
fn g4_a_link_goes_to_the_slice_that_began_later() {
    let trace = told(&[
        described(UUID, thread(10, 10)),
        flowing(10, BEGIN, "a", &[]),
        flowing(20, INSTANT, "b", &[(FLOW, u64::MAX)]),
        flowing(30, END, "a", &[(FLOW, u64::MAX)]),
    ]);
    trace.gives(FLOWS, &["a b"]);
    kernel::gives(&trace.program, "SELECT trace_id FROM flow", &["-1"]);
}

#[test]
fn g7_a_flow_that_ends_before_it_begins_is_told_once() {
    let bind = |time, name, direction| {
        let legacy = new().number(8, 5).number(13, direction);
        event(time, named(INSTANT, name, UUID).message(6, legacy))
    };
    let (into, out) = (1, 2);
    let trace = told(&[
        described(UUID, thread(10, 10)),
        // Received, then sent; and on the way it passes another slice.
        flowing(10, INSTANT, "received", &[(TERMINATING, 1)]),
        flowing(20, INSTANT, "sent", &[(FLOW, 1)]),
        flowing(11, INSTANT, "received late", &[(TERMINATING, 2)]),
        flowing(21, INSTANT, "sent", &[(FLOW, 2)]),
        flowing(22, INSTANT, "passed on", &[(FLOW, 2)]),
        bind(12, "bound", into),
        bind(23, "binds", out),
        // The begin of the first is not in the trace, and the second one is correct.
        flowing(13, INSTANT, "of before", &[(TERMINATING, 3)]),
        flowing(24, INSTANT, "sent", &[(FLOW, 3)]),
        flowing(25, INSTANT, "received", &[(TERMINATING, 3)]),
        // Two ends: either may be meant.
        flowing(14, INSTANT, "first", &[(TERMINATING, 4)]),
        flowing(15, INSTANT, "second", &[(TERMINATING, 4)]),
        flowing(26, INSTANT, "sent", &[(FLOW, 4)]),
        // Only received, only sent.
        flowing(16, INSTANT, "received", &[(TERMINATING, 6)]),
        flowing(27, INSTANT, "sent", &[(FLOW, 7)]),
    ]);
    kernel::gives(
        &trace.program,
        "SELECT o.name, i.name, trace_id, p.ts, q.ts FROM flow_backwards
         JOIN slice AS o ON o.id = slice_out JOIN slice AS i ON i.id = slice_in
         JOIN packet AS p ON p.id = packet_out JOIN packet AS q ON q.id = packet_in ORDER BY trace_id",
        &[
            "sent received 1 20 10",
            "passed on received late 2 22 11",
            "binds bound 5 23 12",
        ],
    );
}

#[test]
fn g5_binding_and_its_directions() {
    let bind = |time, name, direction| {
        let legacy = new().number(8, 1).number(13, direction);
        event(time, named(INSTANT, name, UUID).message(6, legacy))
    };
    let (into, out, through) = (1, 2, 3);
    let trace = told(&[
        described(UUID, thread(10, 10)),
        bind(10, "a", into),
        bind(11, "b", through),
        bind(12, "c", out),
        bind(13, "d", out),
        bind(14, "e", into),
        bind(15, "f", through),
        bind(16, "g", into),
        bind(17, "h", 0),
        flowing(18, INSTANT, "i", &[(FLOW, 1)]),
    ]);
    trace.gives(FLOWS, &["c e", "c f", "f g", "f i"]);
    for name in [
        "flow_end_without_start",
        "flow_step_without_start",
        "flow_duplicate_id",
        "flow_without_direction",
    ] {
        trace.counted(name, 1);
    }
}

#[test]
fn g6_flows_of_legacy_events_bind_what_encloses_them() {
    let id = || new().number(6, 1);
    let trace = told(&[
        described(1, thread(10, 10)),
        described(2, below(1).text(2, "a lane")),
        phase(5, 's', "flow", 1, id()),
        says("B a@10"),
        phase(11, 's', "flow", 1, id()),
        says("B b@20"),
        phase(21, 't', "flow", 1, id()),
        phase(22, 's', "flow", 2, id()),
        phase(23, 't', "other", 1, id()),
        phase(24, 's', "flow", 1, new()),
        says("B c@30"),
        phase(31, 'f', "flow", 1, id().number(12, 1)),
    ]);
    trace.gives(FLOWS, &["a b", "b c"]);
    for name in ["flow_no_enclosing_slice", "flow_step_without_start", "flow_invalid_id"] {
        trace.counted(name, 1);
    }
}

#[test]
fn g6_an_end_waits_for_the_next_slice_even_one_that_is_printed() {
    let id = || new().number(6, 1);
    let never_begun = phase(7, 'f', "never begun", 1, id());
    let trace = told(&[
        described(1, thread(10, 10)),
        says("B a@5"),
        phase(6, 's', "flow", 1, id()),
        never_begun,
        phase(8, 'f', "flow", 1, id()),
        phase(9, 'f', "flow", 1, id()),
        says("E@9"),
        says("print B|10|printed@10"),
    ]);
    trace.gives(FLOWS, &["a printed", "a printed"]);
    trace.counted("flow_end_without_start", 1);
    kernel::gives(
        &trace.program,
        "SELECT DISTINCT trace_id, key, string_value FROM flow JOIN args USING (arg_set_id) \
         ORDER BY key",
        &["0 cat cat", "0 name flow"],
    );
}

#[test]
fn g6_legacy_flows_and_others_do_not_share_numbers() {
    let trace = told(&[
        described(1, thread(10, 10)),
        says("B a@10"),
        phase(11, 's', "flow", 1, new().number(6, 5)),
        flowing(20, INSTANT, "b", &[(FLOW, 0), (FLOW, 5)]),
        flowing(30, INSTANT, "c", &[(TERMINATING, 0)]),
    ]);
    trace.gives(FLOWS, &["b c"]);
}
