//! The rules of the order of events, of processes and threads, and of scheduling, one by one, on
//! small traces made by hand.

use crate::support::kernel::{
    BLOCKED_REASON, CLONE_THREAD, FREE, PROCESS_STATS, PROCESS_TREE, RENAME, SYS_STATS,
    SYSTEM_INFO, TRACK_DESCRIPTOR, bundle, event, gives, imported, new, newtask, packet, print,
    process, switch, waking,
};
use timebase_lab::encode::Message;

const PROCESSES: &str = "SELECT p.pid, p.name, q.pid, p.start_ts, p.end_ts FROM process AS p \
     LEFT JOIN process AS q ON q.upid = p.parent_upid ORDER BY p.upid";
const THREADS: &str = "SELECT t.tid, t.name, p.pid, t.start_ts, t.end_ts, t.is_main_thread \
     FROM thread AS t LEFT JOIN process AS p USING (upid) ORDER BY t.utid";
const SLICES_OF_CPUS: &str = "SELECT s.ts, s.dur, s.cpu, t.tid, s.end_state \
     FROM sched AS s JOIN thread AS t USING (utid) ORDER BY s.id";
const STATES: &str = "SELECT s.ts, s.dur, s.cpu, t.tid, s.state, s.io_wait, w.tid \
     FROM thread_state AS s JOIN thread AS t USING (utid) \
     LEFT JOIN thread AS w ON w.utid = s.waker_utid ORDER BY s.ts, t.tid";
// The worked examples

#[test]
fn q1_q2_q5_w1_to_w4_worked_example_of_scheduling() {
    let blocked = new().number(1, 11).number(3, 1);
    let trace = imported(&[
        bundle(
            0,
            &[
                switch(100, (0, 0), (10, "a")),
                waking(110, 10, 11, "b"),
                waking(115, 10, 11, "b"),
                switch(150, (12, 1), (0, "swapper")),
            ],
        ),
        bundle(
            1,
            &[
                switch(120, (0, 0), (11, "b")),
                switch(130, (11, 1), (0, "swapper")),
                event(140, 0, BLOCKED_REASON, blocked),
            ],
        ),
    ]);
    gives(
        &trace,
        SLICES_OF_CPUS,
        &["100 -1 0 10 -", "120 10 1 11 S", "130 -1 1 0 -", "150 -1 0 0 -"],
    );
    gives(
        &trace,
        STATES,
        &[
            "100 -1 0 10 Running - -",
            "110 10 - 11 R - 10",
            "120 10 1 11 Running - -",
            "130 -1 - 11 S 1 -",
            "150 -1 - 12 S - -",
        ],
    );
    let waker = "SELECT w.ts FROM thread_state AS s JOIN thread_state AS w ON w.id = s.waker_id";
    gives(&trace, waker, &["100"]);
    let spurious = "SELECT w.ts, s.ts FROM spurious_sched_wakeup AS w \
                    JOIN thread_state AS s ON s.id = w.thread_state_id";
    gives(&trace, spurious, &["115 110"]);
}

const LOST: &str = "SELECT kind, start_ts, end_ts, ucpu, seq_id, packet_id, severity FROM loss ORDER BY start_ts, end_ts, kind";

#[test]
fn dt1_q5_a_switch_from_another_thread_and_an_event_of_one_are_rows_of_loss() {
    let trace = imported(&[
        bundle(
            0,
            &[
                switch(100, (0, 0), (10, "a")),
                waking(110, 10, 11, "b"),
                switch(150, (12, 1), (0, "swapper")),
                print(160, 7, "of another"),
                print(170, 8, "of a third"),
                switch(180, (0, 0), (10, "a")),
                waking(190, 5, 11, "b"),
            ],
        ),
        bundle(1, &[print(165, 9, "before any switch")]),
    ]);
    gives(
        &trace,
        LOST,
        &[
            "switch 110 150 0 - - data_loss",
            "switch 150 160 0 - - data_loss",
            "switch 180 190 0 - - data_loss",
        ],
    );
    let counted = "SELECT value, severity FROM stats WHERE name = 'mismatched_sched_switch_tids'";
    gives(&trace, counted, &["1 error"]);
}

#[test]
fn dt1_a_bundle_behind_lost_events_is_a_row_from_the_last_event_of_its_cpu() {
    let lost = |cpu, time| {
        let events = new().number(1, cpu).number(3, 1);
        let events = events.message(2, print(time, 1, "x"));
        new().number(10, 1).message(1, events)
    };
    let trace = imported(&[
        lost(0, 50),
        bundle(1, &[print(60, 1, "x")]),
        bundle(0, &[print(70, 1, "x"), print(80, 1, "x")]),
        lost(0, 90),
        lost(1, 95),
    ]);
    gives(
        &trace,
        LOST,
        &[
            "kernel_events - 50 0 - 0 data_loss",
            "kernel_events 60 95 1 - 4 data_loss",
            "kernel_events 80 90 0 - 3 data_loss",
        ],
    );
}

#[test]
fn dt1_packets_lost_on_a_sequence_that_had_some_are_a_row() {
    let at = |time, sequence| new().number(8, time).number(10, sequence);
    let trace = imported(&[
        at(10, 1).number(42, 1),
        at(20, 2),
        at(30, 1),
        at(40, 1).number(42, 1),
        at(50, 2).number(42, 1),
        new().number(8, 60),
        new().number(8, 70).number(42, 1),
    ]);
    gives(&trace, LOST, &["packets 20 50 - 2 4 data_loss", "packets 30 40 - 1 3 data_loss"]);
}

#[test]
fn p3_p6_p10_to_p14_worked_example_of_threads() {
    let tree = new().message(1, process(10, 1, &["/bin/app", "-x"]));
    let free = new().number(2, 10);
    let rename = new().number(1, 30).text(3, "kid2");
    let trace = imported(&[
        packet(50, PROCESS_TREE, tree),
        bundle(
            0,
            &[
                newtask(60, 10, 20, "w", CLONE_THREAD),
                newtask(70, 20, 30, "kid", 0),
                event(80, 10, FREE, free),
                waking(90, 5, 20, "w2"),
                event(95, 30, RENAME, rename),
            ],
        ),
    ]);
    gives(&trace, PROCESSES, &["0 - - - -", "1 - - - -", "10 /bin/app 1 - 80", "30 kid2 10 70 -"]);
    gives(
        &trace,
        THREADS,
        &[
            "0 swapper 0 - - 1",
            "1 - 1 - - 1",
            "10 - 10 - 80 1",
            "20 w 10 60 - 0",
            "30 kid2 30 70 - 1",
            "5 - - - - -",
            "20 w2 - - - -",
        ],
    );
}

// O: order

#[test]
fn o1_o3_events_are_in_the_order_of_time_and_at_one_time_of_the_file() {
    let named = |time, name| event(time, 7, RENAME, new().number(1, 7).text(3, name));
    let trace = imported(&[
        bundle(0, &[named(30, "last"), named(10, "first")]),
        bundle(1, &[named(20, "second")]),
        bundle(1, &[named(30, "after all")]),
    ]);
    gives(&trace, THREADS, &["0 swapper 0 - - 1", "7 after all - - - -"]);
}

#[test]
fn o2_a_packet_without_timestamp_stands_at_the_greatest_time_until_then() {
    let tree = |pid| new().message(2, new().number(1, pid).number(3, pid).text(2, "t"));
    let timeless = |pid| new().number(10, 3).message(SYS_STATS, new().number(4, pid));
    let trace = imported(&[
        timeless(1),
        packet(40, PROCESS_TREE, tree(5)),
        bundle(0, &[waking(70, 1, 2, "")]),
        bundle(0, &[waking(60, 1, 2, "")]),
        timeless(2),
    ]);
    let forks = "SELECT ts, value FROM counter ORDER BY id";
    gives(&trace, forks, &["0 1", "70 2"]);
}

#[test]
fn o2_a_packet_without_timestamp_counts_for_other_machines_where_it_stands() {
    let timeless = |forks| new().number(10, 3).message(SYS_STATS, new().number(4, forks));
    let of_guest = |forks| timeless(forks).number(98, 7);
    let trace = imported(&[
        packet(5, PROCESS_TREE, new()),
        bundle(0, &[]).number(8, 40),
        of_guest(1),
        timeless(2),
        of_guest(3),
        timeless(4).number(13, 2),
        packet(5, 900, new()).number(98, 7),
        bundle(0, &[]).number(8, 60).number(98, 7),
        new().number(10, 3).number(98, 7).message(900, new()),
        timeless(5),
    ]);
    let forks = "SELECT ts, value FROM counter ORDER BY value";
    gives(&trace, forks, &["5 1", "40 2", "40 3", "60 5"]);
}

#[test]
fn o4_o5_q4_what_is_for_the_whole_trace_may_come_last() {
    let name = new().text(1, "Linux").text(3, "6.1.0");
    let events = [
        waking(40, 1, 2, "early"),
        switch(50, (9, 0x80), (1, "x")),
        switch(60, (1, 0x80), (0, "")),
    ];
    let trace = imported(&[
        bundle(0, &events),
        packet(0, SYSTEM_INFO, new().message(1, name)),
        packet(50, 69, new().number(2, 1)),
    ]);
    gives(&trace, SLICES_OF_CPUS, &["50 10 0 1 I", "60 -1 0 0 -"]);
    let early = "SELECT count(*) FROM thread WHERE name = 'early'";
    assert_eq!(trace.count(early), 0);
}

#[test]
fn o5_a_buffer_that_was_preserved_is_read_from_its_beginning() {
    let trace = imported(&[
        bundle(0, &[waking(40, 1, 2, "early")]),
        packet(50, 69, new().number(2, 1)),
        packet(50, 34, new().number(1, 1).number(8, 1)),
    ]);
    gives(&trace, STATES, &["40 -1 - 2 R - 1"]);
}

#[test]
fn o6_o7_before_all_buffers_begin_there_are_threads_but_no_switches() {
    let bundle = |cpu, begin, events: &[Message]| {
        let bundle = new().number(1, cpu).number(3, 1).number(10, begin);
        let bundle = events.iter().cloned().fold(bundle, |b, event| b.message(2, event));
        new().number(10, 2).message(1, bundle)
    };
    let trace = imported(&[
        bundle(0, 10, &[switch(20, (0, 0), (1, "a")), waking(30, 5, 6, "b")]),
        bundle(1, 50, &[switch(60, (0, 0), (2, "c"))]),
        // Only the first bundle of a cpu says when its buffer begins.
        bundle(1, 90, &[switch(70, (2, 1), (0, ""))]),
    ]);
    gives(&trace, SLICES_OF_CPUS, &["60 10 1 2 S", "70 -1 1 0 -"]);
    gives(&trace, "SELECT tid, name FROM thread ORDER BY utid", &["0 swapper", "5 -", "2 c"]);
}

// P: processes and threads

#[test]
fn p1_p2_p5_p9_a_pid_that_is_forked_again_is_another_process() {
    let trace = imported(&[bundle(
        0,
        &[
            newtask(10, 1, 5, "one", 0),
            newtask(15, 5, 6, "helper", CLONE_THREAD),
            newtask(20, 1, 5, "two", 0),
            // The thread of the first process is dead, so this is another one.
            waking(30, 1, 6, "again"),
        ],
    )]);
    gives(
        &trace,
        "SELECT upid, pid, name, start_ts, end_ts FROM process ORDER BY upid",
        &["0 0 - - -", "1 5 one 10 -", "2 5 two 20 -"],
    );
    gives(
        &trace,
        "SELECT tid, name, upid FROM thread WHERE tid > 1 ORDER BY utid",
        &["5 one 1", "6 helper 1", "5 two 2", "6 again -"],
    );
}

#[test]
fn p3_each_machine_has_its_idle_thread() {
    let guest = bundle(0, &[switch(20, (0, 0), (1, "b"))]).number(98, 77);
    let trace = imported(&[bundle(0, &[switch(10, (0, 0), (1, "a"))]), guest]);
    let idle = "SELECT t.machine_id, t.tid, t.name, t.is_main_thread, t.is_idle, p.pid, p.name \
                FROM thread AS t JOIN process AS p USING (upid) ORDER BY t.machine_id";
    gives(&trace, idle, &["0 0 swapper 1 1 0 -", "1 0 swapper 1 1 0 -"]);
}

#[test]
fn p4_p7_a_bind_with_another_pid_makes_a_second_thread_of_the_tid() {
    let events = [print(10, 5, "B|3|one"), print(20, 5, "B|4|two"), waking(30, 1, 5, "named")];
    gives(
        &imported(&[bundle(0, &events)]),
        THREADS,
        &[
            "0 swapper 0 - - 1",
            "5 - 3 - - 0",
            "3 - 3 - - 1",
            "4 - 4 - - 1",
            "5 named 4 - - 0",
            "1 - - - - -",
        ],
    );
}

#[test]
fn p8_a_thread_that_is_bound_binds_its_kin_and_gives_children_their_parent() {
    let tree = new().message(2, new().number(1, 6).number(3, 5));
    let trace = imported(&[
        bundle(0, &[newtask(10, 6, 7, "kin", CLONE_THREAD), newtask(20, 7, 8, "child", 0)]),
        packet(30, PROCESS_TREE, tree),
    ]);
    gives(&trace, PROCESSES, &["0 - - - -", "8 child 5 20 -", "5 - - - -"]);
    let threads = "SELECT t.tid, p.pid FROM thread AS t JOIN process AS p USING (upid) \
                   WHERE tid > 0 ORDER BY utid";
    gives(&trace, threads, &["6 5", "7 5", "8 8", "5 5"]);
}

#[test]
fn p10_clone_thread_shares_the_process_of_its_maker() {
    let tree = new().message(1, process(5, 1, &["app"]));
    let trace = imported(&[
        packet(10, PROCESS_TREE, tree),
        bundle(
            0,
            &[
                newtask(20, 5, 6, "t", CLONE_THREAD),
                newtask(30, 5, 0, "none", CLONE_THREAD),
                // Nothing dies because of it, so the older one is found when this one ends.
                newtask(40, 5, 6, "newer", CLONE_THREAD),
                event(50, 5, FREE, new().number(2, 6)),
                waking(60, 5, 6, "older"),
            ],
        ),
    ]);
    let threads = "SELECT t.tid, t.name, p.pid, t.start_ts, t.end_ts FROM thread AS t \
                   JOIN process AS p USING (upid) WHERE tid > 1 ORDER BY utid";
    gives(&trace, threads, &["5 - 5 - -", "6 older 5 20 -", "6 newer 5 40 50"]);
}

#[test]
fn p11_a_process_ends_with_its_main_thread_only() {
    let threads = [(6, 5), (7, 5), (5, 5)].into_iter();
    let tree = threads
        .fold(new(), |tree, (tid, pid)| tree.message(2, new().number(1, tid).number(3, pid)));
    let free = |time, pid| event(time, 1, FREE, new().number(2, pid));
    let trace = imported(&[
        packet(10, PROCESS_TREE, tree),
        bundle(0, &[free(20, 6), free(30, 9), free(40, 5)]),
    ]);
    gives(&trace, PROCESSES, &["0 - - - -", "5 - - - 40"]);
    let ends = "SELECT tid, end_ts FROM thread WHERE tid > 1 ORDER BY tid";
    gives(&trace, ends, &["5 40", "6 20", "7 -"]);
}

#[test]
fn p12_p13_names_of_higher_rank_stay() {
    let descriptor = new().number(1, 70).message(3, new().number(1, 5).text(6, "by descriptor"));
    let tree = new()
        .message(1, process(6, 0, &["/bin/b", "x"]))
        .message(2, new().number(1, 6).number(3, 6).text(2, "by tree"));
    let named = |uuid, pid: u64, name| {
        let process = new().number(1, pid).text(6, name);
        packet(60, TRACK_DESCRIPTOR, new().number(1, uuid).message(3, process))
    };
    let trace = imported(&[
        packet(10, TRACK_DESCRIPTOR, descriptor),
        packet(20, PROCESS_TREE, tree),
        bundle(
            0,
            &[waking(30, 1, 6, "by waking"), waking(40, 1, 7, "first"), waking(50, 1, 7, "")],
        ),
        named(71, 6, "lower"),
    ]);
    gives(
        &trace,
        "SELECT pid, name, cmdline FROM process WHERE pid > 0 ORDER BY pid",
        &["5 by descriptor -", "6 /bin/b /bin/b x"],
    );
    gives(&trace, "SELECT tid, name FROM thread WHERE tid > 5 ORDER BY tid", &["6 by tree", "7 "]);
}

#[test]
fn p14_a_process_tree_tells_parents_names_users_and_starts() {
    let tree = new()
        .message(1, process(7, 2, &["kworker/0:1-events"]).number(8, 1).number(9, 1))
        .message(1, process(8, 3, &["a b"]).number(5, 10_123).number(7, 4))
        .message(1, process(9, 3, &["a b", "c"]))
        .message(1, process(10, 3, &[]))
        .message(1, process(8, 9, &["again"]))
        .message(2, new().number(1, 7).number(3, 7).text(2, "kworker/0:1+more"));
    let trace = imported(&[packet(50, PROCESS_TREE, tree)]);
    gives(
        &trace,
        "SELECT p.pid, q.pid, p.name, p.cmdline, p.uid, p.android_appid, p.android_user_id, p.start_ts \
         FROM process AS p JOIN process AS q ON q.upid = p.parent_upid ORDER BY p.pid",
        &[
            "7 2 kworker/0:1 kworker/0:1 - - - -",
            "8 3 again again 10123 10123 0 4",
            "9 3 a b a b c - - - -",
        ],
    );
    gives(&trace, "SELECT tid, name FROM thread WHERE tid = 7 OR tid = 10", &["7 kworker/0:1"]);
}

#[test]
fn p15_process_stats_mention_who_has_anything() {
    let with_thread = new().number(1, 5).message(11, new().number(1, 6));
    let stats = new()
        .message(1, with_thread)
        .message(1, new().number(1, 7))
        .message(1, new().number(1, 8).number(2, 1));
    let trace = imported(&[packet(50, PROCESS_STATS, stats)]);
    gives(&trace, "SELECT pid FROM process ORDER BY upid", &["0", "5", "8"]);
    let threads = "SELECT tid, is_main_thread FROM thread ORDER BY utid";
    gives(&trace, threads, &["0 1", "5 1", "6 0", "8 1"]);
}

/// A descriptor of a track of a thread.
fn thread_track(time: u64, uuid: u64, tid: i64, pid: i64, name: &str) -> Message {
    let thread = new().signed(1, pid).signed(2, tid).text(5, name);
    let descriptor = new().number(1, uuid).message(4, thread);
    packet(time, TRACK_DESCRIPTOR, descriptor)
}

#[test]
fn p16_u3_j3_j4_a_second_uuid_means_that_the_number_was_used_again() {
    let process = |time, uuid, name| {
        let process = new().number(1, 5).text(6, name).number(7, time);
        packet(time, TRACK_DESCRIPTOR, new().number(1, uuid).message(3, process))
    };
    let trace = imported(&[
        thread_track(10, 1, 6, 5, "one"),
        thread_track(20, 2, 6, 5, "two"),
        thread_track(25, 2, 6, 5, ""),
        process(30, 3, "first"),
        process(40, 4, "second"),
    ]);
    gives(
        &trace,
        "SELECT pid, name, start_ts FROM process WHERE pid > 0 ORDER BY upid",
        &["5 first 30", "5 second 40"],
    );
    gives(
        &trace,
        "SELECT tid, name, upid FROM thread WHERE tid > 0 ORDER BY utid",
        &["5 - 1", "6 one 1", "6 two 1", "5 - 2"],
    );
}

/// A descriptor of a uuid with a parent, and of a process if there is a pid.
fn below(time: u64, uuid: u64, parent: u64, pid: Option<u64>) -> Message {
    let mut descriptor = new().number(1, uuid).number(5, parent);
    if let Some(pid) = pid {
        let process = new().number(1, pid).text(6, "below");
        descriptor = descriptor.message(3, process);
    }
    packet(time, TRACK_DESCRIPTOR, descriptor)
}

const NAMED: &str = "SELECT t.tid, t.name, p.pid FROM thread AS t JOIN process AS p USING (upid) \
     WHERE t.utid > 0 ORDER BY t.utid";

#[test]
fn u1_j5_what_the_file_says_first_of_an_uuid_counts_and_every_name_is_read() {
    // The second one has the earlier time; nevertheless uuid 1 is thread 6.
    let trace = imported(&[
        thread_track(20, 1, 6, 5, "one"),
        thread_track(10, 1, 7, 5, "two"),
        thread_track(30, 1, 7, 5, ""),
    ]);
    gives(&trace, NAMED, &["5 - 5", "6 one 5", "7 two 5"]);
}

#[test]
fn u2_descriptors_that_are_ignored() {
    let thread = new().signed(1, 5).signed(2, 6).text(5, "no uuid");
    let no_uuid = packet(10, TRACK_DESCRIPTOR, new().message(4, thread));
    let no_tid = new().number(1, 1).message(4, new().signed(1, 15).text(5, "no tid"));
    let no_pid = new().number(1, 2).message(3, new().text(6, "no pid"));
    let ordering = new().number(1, 3).number(11, 4).message(3, new().number(1, 25));
    let trace = imported(&[
        no_uuid,
        packet(11, TRACK_DESCRIPTOR, no_tid),
        packet(12, TRACK_DESCRIPTOR, no_pid),
        packet(13, TRACK_DESCRIPTOR, ordering),
        // For uuid 0 with a parent, the name is read.
        below(14, 0, 1, Some(35)),
    ]);
    let processes = "SELECT pid, name FROM process WHERE upid > 0";
    gives(&trace, processes, &["35 below"]);
}

#[test]
fn u4_an_uuid_whose_parents_are_not_known_has_no_track() {
    let mut packets = vec![
        // A parent without descriptor, and a loop.
        below(10, 1, 99, Some(5)),
        below(11, 2, 3, Some(6)),
        below(11, 3, 2, None),
        // 98 parents are as many as there may be.
        below(12, 1000, 0, None),
    ];
    packets.extend((1..=99).map(|n| below(12, 1000 + n, 999 + n, Some(100 + n))));
    let trace = imported(&packets);
    let greatest = "SELECT min(pid), max(pid), count(*) FROM process WHERE upid > 0";
    gives(&trace, greatest, &["101 198 98"]);
}

#[test]
fn j2_j7_numbers_of_threads_in_descriptors_are_signed_and_sandboxed_ones_are_their_process_s() {
    let process = new().number(1, 4_294_967_289).text(6, "unsigned");
    let sandboxed = new()
        .number(1, 2)
        .message(4, new().signed(1, 5).signed(2, 6).text(5, "inside"))
        .message(7, new().number(3, 1));
    let trace = imported(&[
        thread_track(10, 1, -7, -7, "signed"),
        packet(20, TRACK_DESCRIPTOR, new().number(1, 3).message(3, process)),
        packet(30, TRACK_DESCRIPTOR, sandboxed),
    ]);
    let found = format!("{} inside 5", (5_i64 << 32) + 6);
    gives(&trace, NAMED, &["4294967289 signed 4294967289", "5 - 5", &found]);
}

#[test]
fn p17_a_line_of_a_log_binds_its_thread() {
    let snapshot = |clock, time| new().number(1, clock).number(2, time);
    let snapshots = new().message(1, snapshot(6, 100)).message(1, snapshot(1, 1_100));
    let line = new().number(2, 5).number(3, 6).number(5, 1_150).text(8, "said");
    let trace = imported(&[
        new().number(10, 1).message(6, snapshots),
        packet(120, 39, new().message(1, line)),
    ]);
    let said = "SELECT l.ts, l.msg, t.tid, p.pid FROM android_logs AS l \
                JOIN thread AS t USING (utid) JOIN process AS p USING (upid)";
    gives(&trace, said, &["150 said 6 5"]);
}

// Q, W: scheduling

/// A bundle of compact events: switches as time, state, pid; wakings as time, pid, flags.
fn compact(cpu: u64, switches: &[[u64; 3]], wakings: &[[u64; 3]]) -> Message {
    let column = |rows: &[[u64; 3]], place: usize| -> Vec<u64> {
        rows.iter().map(|row| row[place]).collect()
    };
    let deltas = |times: Vec<u64>| -> Vec<u64> {
        let before = [0].into_iter().chain(times.clone());
        times.iter().zip(before).map(|(time, before)| time - before).collect()
    };
    let same = |rows: &[[u64; 3]], value| vec![value; rows.len()];
    let columns = new()
        .text(5, "by switch")
        .packed(1, &deltas(column(switches, 0)))
        .packed(2, &column(switches, 1))
        .packed(3, &column(switches, 2))
        .packed(4, &same(switches, 120))
        .packed(6, &same(switches, 0))
        .packed(7, &deltas(column(wakings, 0)))
        .packed(8, &column(wakings, 1))
        .packed(9, &same(wakings, 0))
        .packed(10, &same(wakings, 120))
        .packed(11, &same(wakings, 0))
        .packed(12, &column(wakings, 2));
    new().number(10, 2).message(1, new().number(1, cpu).message(4, columns))
}

#[test]
fn q3_the_first_compact_switch_of_a_cpu_is_only_remembered() {
    let trace = imported(&[compact(0, &[[10, 0, 5], [20, 1, 6], [40, 2, 0]], &[])]);
    gives(&trace, SLICES_OF_CPUS, &["20 20 0 6 D", "40 -1 0 0 -"]);
    gives(&trace, STATES, &["20 -1 - 5 S - -", "20 20 0 6 Running - -", "40 -1 - 6 D - -"]);
    gives(
        &trace,
        "SELECT tid, name FROM thread ORDER BY tid",
        &["0 swapper", "5 by switch", "6 by switch"],
    );
}

#[test]
fn q4_letters_of_states_depend_on_the_kernel() {
    let states = [0x0, 0x1, 0x402, 0x102, 0x40, 0x80, 0x100, 0x1000, 0x800, 0x3f];
    for (release, letters) in [
        ("4.4.1", ["R", "S", "I", "DW", "x", "K", "W", "R", "R+", "SDT"]),
        ("4.9.1", ["R", "S", "I", "DW", "x", "K", "W", "R+", "R", "SDT"]),
        ("6.1-rc1", ["R", "S", "I", "DW", "x", "K", "W", "R", "R+", "SDT"]),
        ("6.1", ["R", "S", "-", "D", "P", "I", "R+", "-", "-", "SDT"]),
    ] {
        let name = new().text(1, "Linux").text(3, release);
        let switches = (0..).zip(states).map(|(n, state)| {
            let (from, to) = ((10 + n, state), (11 + n, "t"));
            switch(100 + n, from, to)
        });
        let trace = imported(&[
            packet(1, SYSTEM_INFO, new().message(1, name)),
            bundle(0, &switches.collect::<Vec<_>>()),
        ]);
        let of_states = "SELECT state FROM thread_state WHERE state IS NOT 'Running' ORDER BY ts";
        gives(&trace, of_states, &letters);
    }
}

#[test]
fn w5_a_compact_waking_is_by_the_thread_of_the_last_switch() {
    let trace = imported(&[compact(
        0,
        &[[10, 0, 5], [20, 1, 6]],
        &[[5, 7, 0], [15, 7, 8], [25, 8, 1], [30, 8, 16]],
    )]);
    let woken = "SELECT s.ts, t.tid, t.name, w.tid, s.irq_context FROM thread_state AS s \
                 JOIN thread AS t USING (utid) JOIN thread AS w ON w.utid = s.waker_utid \
                 ORDER BY s.id";
    gives(&trace, woken, &["15 7 - 5 1", "25 8 - 6 0"]);
    let spurious = "SELECT ts, irq_context FROM spurious_sched_wakeup";
    gives(&trace, spurious, &["30 1"]);
}

#[test]
fn w4_the_function_is_what_the_sequence_says_even_later() {
    let interned = |iid, name| {
        let symbol = new().number(1, iid).text(2, name);
        new().number(10, 2).message(12, new().message(26, symbol))
    };
    let blocked = new().number(1, 5).number(2, (1 << 32) + 3).number(3, 1);
    let events = bundle(0, &[switch(10, (5, 2), (6, "x")), event(20, 6, BLOCKED_REASON, blocked)]);
    let function = "SELECT state, io_wait, blocked_function FROM thread_state WHERE state = 'D'";
    let cleared = new().number(10, 2).number(13, 1);
    let trace = imported(&[
        interned(3, "of nobody"), // the state is not valid yet
        cleared.clone(),
        events.clone(),
        interned(3, "first"),
        interned(3, "second"),
        cleared.clone(),
        interned(3, "of others"),
    ]);
    gives(&trace, function, &["D 1 first"]);
    let trace = imported(&[cleared.clone(), events, cleared, interned(3, "of others")]);
    gives(&trace, function, &["D 1 -"]);
}

#[test]
fn w6_a_new_task_is_runnable_woken_by_its_maker() {
    let trace = imported(&[bundle(0, &[switch(10, (0, 0), (5, "a")), newtask(20, 5, 6, "b", 0)])]);
    let states = "SELECT s.ts, t.tid, s.state, s.irq_context, w.ts FROM thread_state AS s \
                  JOIN thread AS t USING (utid) LEFT JOIN thread_state AS w ON w.id = s.waker_id \
                  ORDER BY s.ts";
    gives(&trace, states, &["10 5 Running - -", "20 6 R 0 10"]);
}
