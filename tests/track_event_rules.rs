//! The rules of track events: reading them, slices and counters, one by one, on small traces made
//! by hand. The program and the model must agree.

use crate::support::events::*;
use crate::support::kernel::{self, bundle, new};
use timebase_lab::encode::Message;

// E: reading an event

#[test]
fn e1_events_without_a_sequence_or_without_its_state_are_dropped() {
    let without_sequence = new().number(8, 10);
    let trace = told(&[
        described(UUID, thread(10, 10)),
        without_sequence.clone().message(TRACK_EVENT, named(INSTANT, "a", UUID)),
        needs(without_sequence).message(TRACK_EVENT, named(INSTANT, "b", UUID)),
        needs(event(20, named(INSTANT, "c", UUID))),
        event(30, named(INSTANT, "read whatever the state", UUID)),
        clear(),
        needs(event(40, named(INSTANT, "d", UUID))),
    ]);
    trace.gives(SLICES, &["read whatever the state 30 0 0", "d 40 0 0"]);
    trace.counted("track_event_missing_sequence_id", 2);
    trace.counted("packet_skipped_seq_needs_incremental_state_invalid", 1);
}

#[test]
fn e2_interned_data_is_what_was_said_up_to_the_packet() {
    let trace = told(&[
        clear(),
        event(10, called(INSTANT, 1)),
        with(event(20, called(INSTANT, 1)), &[(EVENT_NAMES, 1, "first")]),
        with(event(30, called(INSTANT, 1)), &[(EVENT_NAMES, 1, "later")]),
        clear(),
        with(event(40, called(INSTANT, 1)), &[(EVENT_NAMES, 1, "anew")]),
    ]);
    let names = ["- 10 0 0", "first 20 0 0", "first 30 0 0", "anew 40 0 0"];
    trace.gives("SELECT name, ts, dur, 0 FROM slice ORDER BY id", &names);
    trace.counted("interned_data_tokenizer_errors", 1);
}

#[test]
fn e2_nothing_is_added_while_the_state_is_invalid() {
    let trace = told(&[
        clear(),
        with(event(10, called(INSTANT, 1)), &[(EVENT_NAMES, 1, "a")]),
        loss(),
        with(event(20, called(INSTANT, 2)), &[(EVENT_NAMES, 2, "b")]),
        event(30, called(INSTANT, 1)),
    ]);
    let names = "SELECT ts, name FROM slice ORDER BY id";
    trace.gives(names, &["10 a", "20 -", "30 a"]);
    trace.counted("interned_data_skipped_incremental_state_invalid", 1);
}

#[test]
fn e2_an_entry_without_text_is_there_and_one_without_iid_is_counted() {
    let entries =
        new().message(EVENT_NAMES, new().number(1, 1)).message(EVENT_NAMES, new().text(2, "lost"));
    let trace =
        told(&[clear(), event(10, called(INSTANT, 1).text(23, "not taken")).message(12, entries)]);
    trace.gives("SELECT name FROM slice", &["-"]);
    trace.counted("interned_data_tokenizer_errors", 1);
}

#[test]
fn e3_e8_defaults_are_those_in_force_at_the_packet() {
    let defaults = |uuid| new().message(11, new().number(11, uuid));
    let instant = |name| new().number(9, INSTANT).text(23, name);
    let trace = told(&[
        described(1, new().text(2, "one")),
        described(2, new().text(2, "two")),
        clear().message(59, defaults(1)),
        event(10, instant("a")),
        loss(),
        event(20, instant("b")),
        event(30, instant("c")).message(59, defaults(2)),
        event(40, instant("d").number(11, 1)),
        event(50, instant("e").number(11, 0)),
        clear(),
        event(60, instant("f")),
    ]);
    let merged = "global_merged_track_event";
    trace.gives(
        ON_TRACKS,
        &[
            &format!("a {merged} one"),
            &format!("b {merged} one"),
            &format!("c {merged} two"),
            &format!("d {merged} one"),
            &format!("e {merged} Default Track"),
            &format!("f {merged} Default Track"),
        ],
    );
}

#[test]
fn e4_times_of_events_are_microseconds_of_monotonic() {
    let instant = |name| named(INSTANT, name, UUID);
    let reading = |clock, time| new().number(1, clock).number(2, time);
    let clocks = new().message(1, reading(6, 50_000)).message(1, reading(3, 40_000));
    let untimed = |event| new().number(10, SEQUENCE).message(TRACK_EVENT, event);
    let trace = told(&[
        event(10, instant("before a snapshot").number(16, 7)),
        new().number(10, 1).message(6, clocks),
        clear(),
        references(10, 10, [20, 0, 0]),
        untimed(instant("delta").number(1, 5)),
        untimed(instant("sum").number(1, 1)),
        event(90_000, instant("of the packet").number(16, 0)),
        untimed(instant("absolute").number(16, 30)),
        untimed(instant("none")),
        untimed(instant("negative").signed(16, -30)),
        untimed(instant("the end of 64 bits").signed(1, i64::MAX)),
    ]);
    trace.gives(
        "SELECT name, ts FROM slice ORDER BY id",
        &[
            "before a snapshot 7000",
            "delta 35000",
            "sum 36000",
            "absolute 40000",
            "of the packet 90000",
            "the end of 64 bits 9223372036854775807",
        ],
    );
    trace.counted("track_event_missing_timestamp", 1);
    trace.counted("track_event_invalid_timestamp", 1);
}

#[test]
fn e4_d2_an_event_keeps_its_own_time_though_its_packet_is_placed_late() {
    const LATE: u64 = 900;
    let reading = |clock, time| new().number(1, clock).number(2, time);
    let clocks = new().message(1, reading(6, 50_000)).message(1, reading(LATE, 10));
    let late = |name, time| event(20, named(INSTANT, name, UUID).number(16, time)).number(58, LATE);
    let trace = told(&[
        event(10_000, named(INSTANT, "first", UUID)),
        late("of its own time", 9),
        late("of the packet's", 0),
        new().number(10, 1).message(6, clocks),
    ]);
    trace.gives(
        "SELECT name, ts FROM slice ORDER BY id",
        &["of its own time 9000", "first 10000", "of the packet's 50010"],
    );
}

#[test]
fn e5_equal_times_are_in_the_order_of_the_file() {
    let trace = story(&["B a@10", "B b@10", "E b@10", "I i@5", "E a@10"]);
    trace.gives(SLICES, &["i 5 0 0", "a 10 0 0", "b 10 0 1"]);
}

#[test]
fn e5_a_descriptor_without_a_time_happens_at_the_greatest_before_it() {
    let fork = kernel::newtask(20, 1, 10, "kid", 0);
    let trace = told(&[
        bundle(0, &[fork]),
        described(1, process(10, "named")),
        event(10, named(INSTANT, "early", 1)),
    ]);
    // The event is before the fork, so its process is another one.
    trace.gives(
        "SELECT pid, name, start_ts FROM process WHERE pid = 10 ORDER BY upid",
        &["10 - -", "10 kid 20"],
    );
}

#[test]
fn e6_names_and_categories() {
    let entries = [
        (EVENT_NAMES, 1, "interned"),
        (EVENT_NAMES, 2, "legacy's"),
        (CATEGORIES, 1, "cat"),
        (CATEGORIES, 2, ""),
    ];
    let instant = || unnamed(INSTANT, UUID);
    let categories = |iids: &[u64]| instant().packed(3, iids);
    let trace = told(&[
        with(clear(), &entries),
        event(10, instant().number(10, 1).text(23, "said")),
        event(11, instant().number(10, 0).text(23, "said")),
        event(12, legacy('i', new().number(1, 2)).number(11, UUID)),
        event(13, instant().number(10, 9)),
        event(20, categories(&[1])),
        event(21, categories(&[7])),
        event(22, categories(&[2, 1, 7, 1]).text(22, "io")),
        event(23, categories(&[7, 8])),
        event(24, instant().text(22, "")),
        event(25, instant().text(22, "").text(22, "x").text(22, "")),
    ]);
    trace.gives(
        "SELECT ts, name FROM slice WHERE ts < 20 ORDER BY id",
        &["10 interned", "11 said", "13 -"],
    );
    trace.gives(
        "SELECT ts, category FROM slice WHERE ts >= 20 ORDER BY id",
        &["20 cat", "21 unknown(7)", "22 cat,cat,io", "23 -", "24 ", "25 x,"],
    );
}

#[test]
fn e7_a4_st4_faults_in_the_arguments_of_what_makes_no_row_are_not_counted() {
    let faulty = |kind| unnamed(kind, UUID).message(4, new().signed(4, 1));
    let trace = told(&[
        described(1, thread(10, 10)),
        described(2, new().number(5, 1).message(18, new())),
        event(10, faulty(STATE).number(11, 2)),
        event(20, faulty(END)),
    ]);
    trace.gives(SLICES, &[]);
    trace.counted("track_event_parser_errors", 0);
}

#[test]
fn e7_e17_st3_events_of_no_type_are_dropped_and_of_an_unknown_one_count() {
    let counting = |kind| {
        let event = unnamed(kind, UUID);
        event.packed(12, &[kind + 1]).packed(31, &[2])
    };
    let trace = told(&[
        described(1, new().text(2, "q")),
        described(2, counter(new()).text(2, "c")),
        event(10, counting(0)),
        event(20, counting(STATE)),
        event(30, counting(6)),
    ]);
    trace.gives(SLICES, &[]);
    trace.gives("SELECT ts, value FROM counter", &["20 6", "30 7"]);
    // The track of the state is the same as that of slices.
    trace.counted("track_event_parser_errors", 3);
}

#[test]
fn e7_e16_e17_e18_a_state_without_uuid_is_dropped_whole() {
    let state = new().number(9, STATE).signed(17, 7);
    let state = state.packed(12, &[5]).packed(31, &[2]);
    let trace = told(&[
        described(2, counter(new().number(5, 1)).text(2, "c")),
        clear().message(THREAD_DESCRIPTOR, thread_of_sequence()),
        event(10, state.clone()),
        event(20, state.number(11, 3)),
    ]);
    trace.gives("SELECT ts, value FROM counter", &["20 5"]);
    trace.counted("track_event_state_missing_track_uuid", 1);
}

fn thread_of_sequence() -> Message {
    new().number(1, 5).number(2, 6)
}

// E: slices

#[test]
fn e9_e11_worked_examples_of_ends() {
    story(&["B a@10", "B b@20", "E@30", "E@50"]).gives(SLICES, &["a 10 40 0", "b 20 10 1"]);
    let cut = story(&["B a@10", "B b@20", "E a@30", "B c@40"]);
    cut.gives(SLICES, &["a 10 20 0", "b 20 10 1", "c 40 -1 0"]);
    cut.counted("misplaced_end_event", 1);
}

#[test]
fn e9_worked_example_of_a_slice_that_goes_for_another() {
    let trace = story(&["B a@0", "X b@1000+100000", "E a@5000", "B c@10000"]);
    trace.gives(PARENTS, &["a 0 5000 0 -", "b 1000 100000 1 a", "c 10000 -1 1 a"]);
}

#[test]
fn e9_what_ended_is_off_the_stack_at_its_end() {
    let trace = story(&["X a@1000+5000", "B b@6000", "X c@7000+0", "I i@7000"]);
    let slices = ["a 1000 5000 0", "b 6000 -1 0", "c 7000 0 1", "i 7000 0 2"];
    trace.gives(SLICES, &slices);
}

#[test]
fn e9_all_above_a_cut_get_its_end_closed_ones_too() {
    let trace = story(&["B a@0", "B b@1000", "X x@2000+90000", "E a@3000", "B c@4000"]);
    trace.gives(SLICES, &["a 0 3000 0", "b 1000 2000 1", "x 2000 1000 2", "c 4000 -1 0"]);
    trace.counted("misplaced_end_event", 1);
}

#[test]
fn e11_b5_worked_example_of_ends_that_are_printed() {
    let trace =
        story(&["print B|10|b@10", "B a c@20", "E - c@30", "B d@40", "print E|10@50", "E b@60"]);
    trace.gives(PARENTS, &["b 10 50 0 -", "a 20 10 1 b", "d 40 10 1 b"]);
}

#[test]
fn e9_b4_worked_example_of_a_cut_between_prints() {
    let trace = story(&["B a@10", "print B|10|b@20", "E a@30", "print B|10|c@40", "print E|10@50"]);
    trace.gives(SLICES, &["a 10 20 0", "b 20 10 1", "c 40 10 0"]);
    trace.counted("misplaced_end_event", 1);
}

#[test]
fn e10_worked_example_of_instants() {
    let trace = story(&["I i@10", "I j@10", "B k@10"]);
    trace.gives(PARENTS, &["i 10 0 0 -", "j 10 0 1 i", "k 10 -1 0 -"]);
}

#[test]
fn e10_b4_a_stack_is_512_deep() {
    let mut packets = vec![described(UUID, thread(10, 10))];
    packets.extend((1..=513).map(|time| event(time, named(BEGIN, "n", UUID))));
    packets.push(bundle(0, &[kernel::print(600, 10, "B|10|deeper")]));
    packets.push(event(700, unnamed(END, UUID)));
    let trace = told(&packets);
    trace.gives("SELECT count(*), max(depth) FROM slice", &["512 511"]);
    trace.gives("SELECT ts, dur FROM slice WHERE dur >= 0", &["512 188"]);
    trace.counted("slice_max_depth_exceeded", 2);
}

#[test]
fn e11_names_and_categories_of_an_end_choose_what_it_ends() {
    let trace = story(&["B a x@10", "B b y@20", "B c y@30", "E b z@40", "E b y@50", "E a@60"]);
    trace.gives(SLICES, &["a 10 50 0", "b 20 30 1", "c 30 20 2"]);
    story(&["E@10", "B a@20", "E b@30"]).gives(SLICES, &["a 20 -1 0"]);
}

#[test]
fn e12_worked_example_of_complete_events() {
    let trace = story(&["X a@1000+5000", "X b@3000+5000", "X c@3000+3000"]);
    trace.gives(SLICES, &["a 1000 5000 0", "c 3000 3000 1"]);
    trace.counted("slice_drop_overlapping_complete_event", 1);
}

#[test]
fn e9_e12_worked_example_of_a_pass_that_ends_with_an_overlap() {
    let trace = story(&["B a@100", "X x@200+2000", "E a@1000", "X y@1500+3000"]);
    trace.gives(SLICES, &["a 100 900 0", "x 200 2000 1"]);
    trace.counted("slice_drop_overlapping_complete_event", 1);
}

#[test]
fn e12_e13_an_open_slice_bounds_nothing_and_stays_open() {
    let trace = story(&["B a@0", "B b@1000", "X c@2000+9000", "E a@3000"]);
    trace.gives(SLICES, &["a 0 3000 0", "b 1000 -1 1", "c 2000 9000 2"]);
}

const THREAD_TIMES: &str = "SELECT name, thread_ts, thread_dur, thread_instruction_count, \
     thread_instruction_delta FROM slice ORDER BY id";

#[test]
fn e14_e17_worked_example_of_thread_time() {
    let counting = |event: Message, value| event.packed(12, &[value]).packed(31, &[2]);
    let trace = told(&[
        described(1, thread(10, 11)),
        described(2, counter(new().number(1, 1)).and(&below(1))),
        event(10, counting(named(BEGIN, "a", 1), 100)),
        event(20, counting(unnamed(END, 1), 150)),
    ]);
    trace.gives(THREAD_TIMES, &["a 100 50 - -"]);
    let counters = "thread_time thread_counter_track_event ns";
    trace.gives(COUNTERS, &[&format!("{counters} 10 100"), &format!("{counters} 20 150")]);
}

#[test]
fn e14_thread_time_and_instructions_of_all_kinds_of_slices() {
    let carries = |event: Message, time, count| event.number(17, time).number(20, count);
    let complete = new().number(3, 5).number(4, 3).number(15, 9);
    let trace = told(&[
        described(1, thread(10, 10)),
        event(10, carries(named(BEGIN, "a", 1), 5, 100)),
        event(20, carries(named(INSTANT, "i", 1), 6, 120)),
        event(30, carries(unnamed(END, 1), 5, 100)),
        event(40, carries(legacy('X', complete).and(&named(0, "x", 1)), 7, 130)),
        event(90_000, carries(named(BEGIN, "b", 1), 8, 140)),
        event(91_000, unnamed(END, 1)),
        event(92_000, named(BEGIN, "c", 1)),
        event(93_000, carries(unnamed(END, 1), 9, 150)),
    ]);
    trace.gives(
        THREAD_TIMES,
        &["a 5000 - 100 0", "i 6000 0 120 0", "x 7000 3000 130 9", "b 8000 - 140 -", "c - - - -"],
    );
}

#[test]
fn e14_the_difference_of_instructions_that_counters_count() {
    let counting = |event: Message, value| event.packed(12, &[value]).packed(31, &[2]);
    let trace = told(&[
        described(1, thread(10, 11)),
        described(2, counter(new().number(1, 2)).and(&below(1))),
        event(10, counting(named(BEGIN, "a", 1), 100)),
        event(20, counting(unnamed(END, 1), 170)),
    ]);
    trace.gives(THREAD_TIMES, &["a - - 100 70"]);
}

// E: counters

#[test]
fn e15_a_counter_may_be_described_behind_its_events() {
    let trace = told(&[
        event(10, counts(2, 5)),
        event(20, unnamed(COUNTER, 2).double(44, 0.5)),
        event(30, unnamed(COUNTER, 2)),
        event(40, new().number(9, COUNTER).signed(30, 1)),
        event(50, counts(3, 1)),
        described(2, counter(new()).text(2, "c")),
    ]);
    trace.gives(
        COUNTERS,
        &["c global_counter_track_event - 10 5", "c global_counter_track_event - 20 0.5"],
    );
    trace.counted("track_event_counter_missing_value", 1);
    trace.counted("track_event_counter_missing_track_uuid", 1);
    trace.counted("track_event_counter_invalid_track_uuid", 1);
}

#[test]
fn e15_l2_a_counter_event_on_uuid_0_mentions_no_thread_where_nothing_describes_that() {
    let overridden = new().signed(18, 7).signed(19, 8);
    let trace = told(&[event(10, counts(0, 5).message(6, overridden))]);
    trace.gives(PROCESSES, &[]);
    trace.gives("SELECT value FROM counter", &[]);
    trace.counted("track_event_counter_invalid_track_uuid", 1);
}

#[test]
fn e16_worked_example_of_an_incremental_counter() {
    let fields = new().number(3, 3).number(4, 10).number(5, 1);
    let trace = told(&[
        described(2, counter(fields).text(2, "c")),
        clear(),
        event(1, counts(2, 1)),
        event(2, counts(2, 2)),
        clear(),
        event(3, counts(2, 5)),
    ]);
    trace.gives(
        "SELECT unit, value FROM counter AS c JOIN counter_track AS k ON k.id = track_id \
         ORDER BY ts",
        &["bytes 10", "bytes 30", "bytes 50"],
    );
}

#[test]
fn e16_sums_begin_anew_after_a_loss_and_are_of_one_sequence() {
    let sums = counter(new().number(5, 1)).text(2, "c");
    let elsewhere = |time, event| {
        let packet = new().number(8, time).number(10, 3);
        packet.message(TRACK_EVENT, event)
    };
    let trace = told(&[
        described(2, sums),
        clear(),
        event(1, counts(2, 1)),
        elsewhere(2, counts(2, 10)),
        event(3, counts(2, 2)),
        loss(),
        event(4, counts(2, 5)),
    ]);
    let values = ["1 1", "2 10", "3 3", "4 5"];
    trace.gives("SELECT ts, value FROM counter ORDER BY ts", &values);
}

/// Descriptors of a thread 1 and of ten incremental counters below it, 11 to 20.
fn ten_counters() -> Vec<Message> {
    let sums = |uuid: u64| {
        let sums = counter(new().number(5, 1)).and(&below(1));
        described(uuid, sums.text(2, &format!("c{uuid}")))
    };
    let mut packets = vec![described(1, thread(10, 10))];
    packets.extend((11..=20).map(sums));
    packets.push(clear());
    packets
}

#[test]
fn e16_e17_what_was_added_before_a_fault_stays() {
    let more = |values: &[u64], uuids: &[u64]| {
        let event = named(INSTANT, "i", 1);
        event.packed(12, values).packed(31, uuids)
    };
    let all: Vec<u64> = (11..=20).collect();
    let mut packets = ten_counters();
    packets.extend([
        event(10, more(&[1, 2, 3], &[11, 12])),
        event(20, more(&[1; 9], &all)),
        event(30, more(&[1, 2, 4], &[11, 0, 12])),
        event(40, more(&[1, 2], &[11, 99])),
        event(50, named(INSTANT, "i", 1).packed(12, &[1])),
        event(60, more(&[1, 1], &[11, 12])),
        event(70, more(&[1; 8], &all)),
    ]);
    let trace = told(&packets);
    trace.gives(
        "SELECT name, value FROM counter AS c JOIN counter_track AS k ON k.id = track_id \
         WHERE ts = 60 ORDER BY name",
        &["c11 5", "c12 4"],
    );
    trace.gives("SELECT ts, count(*) FROM counter GROUP BY ts", &["60 2", "70 8"]);
    trace.gives("SELECT ts FROM slice", &["60", "70"]);
    trace.counted("track_event_extra_counter_missing_track_uuids", 1);
    let counts = [
        ("track_event_extra_counter_track_uuid_mismatch", 2),
        ("track_event_extra_counter_exceeds_max", 1),
        ("track_event_extra_counter_invalid_track", 1),
    ];
    for (name, times) in counts {
        trace.counted(name, times);
    }
}

#[test]
fn e17_of_several_values_those_behind_a_0_are_what_they_are() {
    let event_of = |event: Message| event.packed(12, &[0, 7]).packed(31, &[11, 12]);
    let mut packets = ten_counters();
    packets.push(event(10, event_of(named(INSTANT, "i", 1))));
    packets.push(event(20, unnamed(END, 1).double(46, 0.5).double(46, 1.5).packed(45, &[13, 14])));
    told(&packets).gives(
        "SELECT name, value FROM counter AS c JOIN counter_track AS k ON k.id = track_id \
         ORDER BY name",
        &["c11 0", "c12 7", "c13 0.5", "c14 1.5"],
    );
}

#[test]
fn e18_thread_time_and_instructions_are_counters_whatever_becomes_of_the_event() {
    let trace = told(&[
        described(1, thread(10, 10)),
        event(10, unnamed(END, 1).number(17, 5).number(20, 9)),
        event(20, legacy('i', new().number(14, 1)).number(11, 1).number(17, 6)),
    ]);
    trace.gives(
        COUNTERS,
        &[
            "thread_instruction_count thread_instructions - 10 9",
            "thread_time thread_time - 10 5000",
        ],
    );
    let of = "SELECT t.tid FROM thread_counter_track JOIN thread AS t USING (utid)";
    trace.gives(of, &["10", "10"]);
}

// TN: other names

/// A translation_table with entries of a member; texts are keys or hashes.
fn translations(member: u32, entries: &[(&str, &str)]) -> Message {
    let entries = entries.iter().fold(new(), |all, (key, value)| {
        let entry = match key.parse() {
            Ok(hash) => new().number(1, hash),
            Err(_) => new().text(1, key),
        };
        all.message(1, entry.text(2, value))
    });
    at(1, 82, new().message(member, entries))
}

#[test]
fn tn1_tn2_slices_have_other_names_wherever_the_table_is() {
    let trace = told(&[
        described(UUID, thread(10, 10)),
        says("B x@10"),
        says("E x@30"),
        says("I x@40"),
        translations(4, &[("x", "y")]),
    ]);
    trace.gives(SLICES, &["y 10 20 0", "y 40 0 0"]);
}

#[test]
fn tn1_the_last_entry_of_a_name_and_the_first_of_a_hash_count() {
    let sample = |time, hash| {
        let sample = unnamed(INSTANT, UUID).message(28, new().number(1, hash));
        event(time, sample.text(23, "x"))
    };
    let unkeyed = new().message(1, new().text(2, "not a name"));
    let unhashed = new().message(1, new().text(2, "zero"));
    let trace = told(&[
        clear(),
        described(UUID, thread(10, 10)),
        translations(4, &[("x", "first"), ("x", "x2")]),
        at(1, 82, new().message(4, unkeyed)),
        translations(4, &[("x2", "not again")]),
        translations(1, &[("7", "a"), ("7", "b")]),
        translations(1, &[("7", "c")]),
        at(1, 82, new().message(1, unhashed)),
        sample(10, 7),
        sample(20, 0),
        sample(30, 8),
        event(40, unnamed(INSTANT, UUID)),
    ]);
    trace.gives(
        ARGS,
        &[
            "x2 chrome_histogram_sample.name string a",
            "x2 chrome_histogram_sample.name_hash uint 7",
            "x2 chrome_histogram_sample.name string zero",
            "x2 chrome_histogram_sample.name_hash uint 0",
            "x2 chrome_histogram_sample.name_hash uint 8",
        ],
    );
    trace.gives("SELECT count(*) FROM slice WHERE name IS NULL", &["1"]);
}

#[test]
fn tn1_a_table_counts_for_its_machine_and_not_without_state() {
    let lost = translations(4, &[("x", "lost")]).number(13, 2);
    let guests = translations(4, &[("x", "guest's")]).number(98, 7);
    let first = new().message(6, new().message(1, new().text(1, "ignored")));
    let both = translations(4, &[("z", "not taken")]).and(&at(1, 82, first));
    let trace = told(&[
        lost,
        guests,
        both,
        described(UUID, thread(10, 10)),
        says("I x@10"),
        says("I z@20"),
    ]);
    trace.gives(SLICES, &["x 10 0 0", "z 20 0 0"]);
}

#[test]
fn tn2_an_end_is_translated_too_and_atrace_as_well() {
    let trace = told(&[
        described(UUID, thread(10, 10)),
        translations(4, &[("a", "one"), ("b", "one")]),
        says("B a@10"),
        says("E b@20"),
        says("print B|10|b@30"),
        says("E one@40"),
    ]);
    trace.gives(SLICES, &["one 10 10 0", "one 30 10 0"]);
}

#[test]
fn tn3_a_name_of_its_own_counts_after_its_hash() {
    let sample = |time, message| event(time, named(INSTANT, "x", UUID).message(28, message));
    let (hash, name) = (new().number(1, 7), new().text(2, "own"));
    let trace = told(&[
        described(UUID, thread(10, 10)),
        translations(1, &[("7", "of the hash")]),
        sample(10, hash.clone().and(&name)),
        sample(20, name.and(&hash)),
    ]);
    let names = "SELECT s.ts, a.string_value FROM slice AS s JOIN args AS a USING (arg_set_id)
        WHERE a.key = 'chrome_histogram_sample.name' ORDER BY s.ts";
    trace.gives(names, &["10 own", "20 of the hash"]);
}

#[test]
fn tn3_each_kind_of_hash_has_its_names() {
    let user = new().message(25, new().number(2, 5));
    let trace = told(&[
        described(UUID, thread(10, 10)),
        translations(2, &[("5", "click")]),
        translations(6, &[("6", "trigger")]),
        event(10, named(INSTANT, "x", UUID).and(&user)),
        at(20, 109, new().number(2, 6)),
    ]);
    let names = "SELECT a.key, a.string_value FROM slice AS s JOIN args AS a USING (arg_set_id)
        WHERE a.value_type = 'string' ORDER BY s.ts";
    let found = kernel::lines(&trace.program.conn, names);
    let expected = ["chrome_user_event.action click", "chrome_trigger.name trigger"];
    assert_eq!(found, expected);
}

#[test]
fn tn4_tracks_of_processes_have_other_names_and_others_not() {
    let trace = told(&[
        translations(5, &[("raw", "known"), ("event", "by the event")]),
        described(1, process(10, "P").text(2, "raw")),
        described(2, below(1).text(2, "raw")),
        described(3, below(1)),
        described(4, new().text(2, "raw")),
        described(5, thread(10, 11).text(2, "raw")),
        described(6, below(5).text(2, "raw")),
        event(10, named(INSTANT, "a", 1)),
        event(20, named(INSTANT, "b", 2)),
        event(30, named(INSTANT, "event", 3)),
        event(40, named(INSTANT, "d", 4)),
        event(50, named(INSTANT, "f", 6)),
    ]);
    trace.gives(
        ON_TRACKS,
        &[
            "a process_track_event known",
            "b process_merged_track_event known",
            "event process_merged_track_event by the event",
            "d global_merged_track_event raw",
            "f thread_merged_track_event raw",
        ],
    );
}

#[test]
fn tn4_tracks_of_legacy_events_of_a_process_have_other_names() {
    let local = |time, phase, name| phase_of(time, phase, name, new().number(10, 5));
    fn phase_of(time: u64, kind: char, name: &str, ids: Message) -> Message {
        phase(time, kind, name, UUID, ids)
    }
    let trace = told(&[
        described(UUID, thread(10, 10)),
        translations(5, &[("raw", "known")]),
        local(10, 'b', "raw"),
        local(20, 'e', "raw"),
        phase_of(30, 'b', "raw", new().number(11, 6)),
    ]);
    trace.gives(
        ON_TRACKS,
        &["raw legacy_async_process_slice known", "raw legacy_async_global_slice raw"],
    );
}
