//! Generic kernel events (rules GK), through the real program: random traces, with the rows that Perfetto's trace
//! processor has for the statements of queries-more.sql, and the rules one by one on traces made by hand.

use crate::support::kernel::{gives, imported, new, packet};
use crate::support::statements::answers_as_recorded;
use timebase_lab::encode::Message;

/// Types of packets.
const TASK_STATE: u32 = 117;
const CPU_FREQUENCY: u32 = 118;
const TASK_RENAME: u32 = 120;
const PROCESS_TREE: u32 = 122;
const GPU_FREQUENCY: u32 = 129;

const SCHED: &str = "SELECT s.ts, s.dur, s.cpu, t.tid, s.end_state, s.priority FROM sched_slice AS s \
     JOIN thread AS t USING (utid) ORDER BY s.id";
const STATES: &str = "SELECT s.ts, s.dur, s.cpu, t.tid, s.state FROM thread_state AS s \
     JOIN thread AS t USING (utid) ORDER BY s.ts, t.utid, s.id";
const FAULTS: &str = "SELECT name, value FROM stats WHERE value > 0 AND name IN \
     ('generic_task_state_invalid_order', 'task_state_invalid') ORDER BY name";
const THREADS: &str = "SELECT t.tid, t.name, t.start_ts, t.end_ts, p.pid, t.is_main_thread, t.is_idle FROM thread AS t \
     LEFT JOIN process AS p USING (upid) ORDER BY t.utid";

/// A thread comes to a state.
fn state(ts: u64, cpu: u64, tid: i64, state: u64) -> Message {
    packet(ts, TASK_STATE, said(cpu, tid, state))
}

fn said(cpu: u64, tid: i64, state: u64) -> Message {
    let said = new().number(1, cpu).number(3, tid as u64);
    said.number(4, state).number(5, 100)
}

#[test]
fn gk1_to_gk6_known_rows() {
    let traces = ["05", "12", "19", "26", "33", "40"];
    let asked = [
        "generic_sched",
        "generic_state",
        "generic_thread",
        "generic_process",
        "generic_counter",
        "counts",
    ];
    answers_as_recorded(&traces, &asked, &[]);
}

#[test]
fn gk1_to_gk4_worked_example() {
    let trace = imported(&[
        state(100, 0, 5, 3),
        state(150, 0, 6, 3),
        state(150, 0, 5, 4),
        state(180, 0, 6, 2),
        state(190, 0, 5, 1),
        state(200, 1, 5, 8),
        packet(210, TASK_STATE, said(1, 5, 1).text(2, "a2")),
    ]);
    gives(&trace, SCHED, &["100 50 0 5 S 100", "150 30 0 6 R 100"]);
    gives(
        &trace,
        STATES,
        &[
            "100 50 0 5 Running",
            "150 50 - 5 S",
            "150 30 0 6 Running",
            "180 -1 - 6 R",
            "200 -1 - 5 X",
            "210 -1 - 5 Created",
        ],
    );
    gives(&trace, FAULTS, &["generic_task_state_invalid_order 1"]);
    gives(
        &trace,
        THREADS,
        &["0 swapper - - 0 1 1", "5 - - 200 - - 0", "6 - - - - - 0", "5 a2 210 - - - 0"],
    );
}

#[test]
fn gk1_gk2_states_that_are_none_or_cannot_follow_do_nothing() {
    let wide = 1 << 40;
    let trace = imported(&[
        state(10, 0, wide, 9),
        packet(11, TASK_STATE, new().number(3, 7)),
        state(12, 0, wide, 7),
        // Only its end follows.
        state(13, 0, wide, 3),
        state(14, 0, wide, 4),
        state(15, 0, wide, 8),
        state(20, 0, -3, 3),
        state(21, 1, -3, 3),
        // A name of a thread that lives counts, but not at its end.
        packet(22, TASK_STATE, said(0, -3, 5).text(2, "named")),
        packet(23, TASK_STATE, said(0, -3, 8).text(2, "late")),
        packet(24, TASK_STATE, said(0, 9, 8).text(2, "brief")),
    ]);
    gives(&trace, FAULTS, &["generic_task_state_invalid_order 3", "task_state_invalid 2"]);
    gives(
        &trace,
        STATES,
        &[
            "12 3 - 1099511627776 Z",
            "15 -1 - 1099511627776 X",
            "20 2 0 -3 Running",
            "22 1 - -3 D",
            "23 -1 - -3 X",
            "24 -1 - 9 X",
        ],
    );
    gives(
        &trace,
        THREADS,
        &[
            "0 swapper - - 0 1 1",
            "1099511627776 - - 15 - - 0",
            "-3 named - 23 - - 0",
            "9 brief - 24 - - 0",
        ],
    );
}

#[test]
fn gk3_gk4_only_the_time_of_its_end_tells_why_a_slice_has_ended() {
    let trace = imported(&[
        state(10, 0, 1, 3),
        state(20, 0, 2, 3),
        // Too late, and of another cpu: only a state.
        state(21, 0, 1, 4),
        state(30, 0, 3, 3),
        // By an event of any cpu, once.
        state(30, 7, 2, 5),
        state(30, 7, 2, 6),
        // Another cpu: the slice stays open.
        state(40, 1, 3, 2),
    ]);
    gives(&trace, SCHED, &["10 10 0 1 - 100", "20 10 0 2 D 100", "30 -1 0 3 - 100"]);
    gives(
        &trace,
        STATES,
        &[
            "10 10 0 1 Running",
            "20 1 - 1 -",
            "20 10 0 2 Running",
            "21 -1 - 1 S",
            "30 0 - 2 D",
            "30 -1 - 2 T",
            "30 10 0 3 Running",
            "40 -1 - 3 R",
        ],
    );
    gives(&trace, FAULTS, &["generic_task_state_invalid_order 1"]);
}

#[test]
fn gk4_the_idle_thread_has_slices_but_no_states() {
    let trace =
        imported(&[state(10, 0, 0, 3), state(20, 0, 0, 3), state(30, 0, 4, 3), state(40, 0, 4, 8)]);
    gives(&trace, SCHED, &["10 10 0 0 - 100", "20 10 0 0 - 100", "30 10 0 4 X 100"]);
    gives(&trace, STATES, &["30 10 0 4 Running", "40 -1 - 4 X"]);
    gives(&trace, FAULTS, &[]);
}

#[test]
fn gk3_cpus_that_no_machine_has_make_threads_and_no_rows() {
    let trace =
        imported(&[state(10, 4096, 5, 3), state(11, u64::MAX, 6, 3), state(12, 4095, 7, 3)]);
    gives(&trace, SCHED, &["12 -1 4095 7 - 100"]);
    gives(&trace, STATES, &["12 -1 4095 7 Running"]);
    gives(&trace, "SELECT tid FROM thread ORDER BY utid", &["0", "5", "6", "7"]);
}

#[test]
fn gk4_ids_of_a_thread_are_in_the_order_of_time() {
    let states = [3, 4, 2, 3, 5, 7, 8];
    let trace: Vec<Message> = (0..)
        .zip(states)
        .flat_map(|(step, next)| {
            let of = move |thread: u64| state(100 * step + thread, thread, thread as i64, next);
            (1..4).map(of)
        })
        .collect();
    let trace = imported(&trace);
    let unordered = "SELECT count(*) FROM thread_state AS a JOIN thread_state AS b USING (utid) \
         WHERE a.id < b.id AND a.ts > b.ts";
    gives(&trace, unordered, &["0"]);
    gives(&trace, "SELECT count(*), count(DISTINCT id) FROM thread_state", &["21 21"]);
}

#[test]
fn gk5_the_process_tree_binds_and_names() {
    let process = |pid, parent, line: &str| new().number(1, pid).number(2, parent).text(3, line);
    let thread = |tid, pid| new().number(1, tid).number(2, pid);
    let tree = new()
        .message(1, process(40, 1, "/bin/app -x"))
        // Without a command line a process is not even made.
        .message(1, new().number(1, 41).number(2, 1))
        .message(2, thread(40, 40).number(4, 1).text(3, "main"))
        .message(2, thread(43, 40).number(5, 1))
        .message(2, thread(43, 44));
    let again = new().message(1, process(40, 2, "app"));
    let rename = |tid, name: &str| new().number(1, tid).text(2, name);
    let trace = imported(&[
        packet(5, TASK_STATE, said(0, 40, 1).text(2, "comm")),
        packet(10, PROCESS_TREE, tree),
        packet(11, PROCESS_TREE, again),
        // Below the tree's name of a thread, as good as the tree's of a process.
        packet(12, TASK_RENAME, rename(40, "renamed")),
        packet(13, TASK_RENAME, rename(50, "made")),
        packet(14, TASK_RENAME, new().number(1, 51)),
        state(20, 0, 40, 8),
    ]);
    gives(
        &trace,
        "SELECT p.pid, p.name, q.pid, p.end_ts, p.cmdline FROM process AS p \
         LEFT JOIN process AS q ON q.upid = p.parent_upid ORDER BY p.upid",
        &["0 - - - -", "1 - - - -", "40 renamed 1 20 app", "44 - - - -", "2 - - - -"],
    );
    gives(
        &trace,
        THREADS,
        &[
            "0 swapper - - 0 1 1",
            "40 main 5 20 40 1 0",
            "43 - - - 40 0 1",
            "43 - - - 44 0 0",
            "50 made - - - - 0",
            "51 - - - - - 0",
        ],
    );
}

#[test]
fn gk6_frequencies_are_those_of_other_kernels() {
    let of = |number, value: u64| new().number(1, number).number(2, value);
    let trace = imported(&[
        packet(10, CPU_FREQUENCY, of(3, 1_500_500)),
        packet(11, CPU_FREQUENCY, of(4096, 1)),
        packet(12, CPU_FREQUENCY, of(3, -500i64 as u64)),
        packet(13, GPU_FREQUENCY, of(1, 500)),
    ]);
    gives(
        &trace,
        "SELECT c.ts, k.type, k.name, k.unit, c.value FROM counter AS c \
         JOIN counter_track AS k ON k.id = c.track_id ORDER BY c.id",
        &[
            "10 cpu_frequency cpufreq - 1500.5",
            "12 cpu_frequency cpufreq - -0.5",
            "13 gpu_frequency gpufreq kHz 500",
        ],
    );
}
