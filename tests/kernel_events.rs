//! Kernel events that become slices, counters and flows, through the real program: random traces with
//! trace processor's rows for the statements of queries-more.sql, and the worked examples of the rules.

use crate::support::Imported;
use crate::support::kernel::{bundle, event, gives, imported, new, packet, print};
use crate::support::statements::answers_as_recorded;
use timebase_lab::encode::Message;

/// The random traces of these rules, and their statements.
const TRACES: [&str; 6] = ["04", "11", "18", "25", "32", "39"];
const ANSWERS: [&str; 4] = ["kernel_slices", "kernel_counters", "kernel_flows", "counts"];

#[test]
fn ke1_to_ke47_kb1_to_kb4_known_rows() {
    // Nothing is counted in these traces.
    answers_as_recorded(&TRACES, &ANSWERS, &["counts"]);
}

const SLICES: &str = "SELECT ts, dur, s.name, t.type, t.name, args FROM slice AS s JOIN track AS t ON t.id = track_id ORDER BY s.id";

#[test]
fn ke5_fences_are_signaled_in_their_order() {
    let fence = |time, kind, seqno| {
        let fields = new().number(1, 1).number(3, seqno).text(4, "tl");
        event(time, 5, kind, fields)
    };
    let trace = imported(&[bundle(
        0,
        &[
            fence(10, 414, 7),
            fence(12, 414, 8),
            fence(20, 416, 8),
            fence(25, 415, 9),
            fence(30, 416, 9),
        ],
    )]);
    gives(
        &trace,
        SLICES,
        &[
            r#"10 10 fence drm_fence fence-tl-1 {"fence seqno":7}"#,
            r#"20 5 fence drm_fence fence-tl-1 {"fence seqno":8}"#,
            r#"25 5 fence drm_fence fence-tl-1 {"fence seqno":9}"#,
        ],
    );
}

#[test]
fn ke2_to_ke4_jobs_of_a_ring_run_one_after_the_other() {
    let job = |kind, time, id, fence| {
        let fields = new().number(2, fence).number(4, id).text(6, "gfx");
        event(time, 5, kind, fields)
    };
    let done = |time, fence| event(time, 0, 413, new().number(1, fence));
    let trace = imported(&[bundle(
        0,
        &[
            job(411, 10, 1, 70),
            job(412, 12, 1, 70),
            job(412, 14, 2, 71),
            done(20, 70),
            done(24, 71),
        ],
    )]);
    gives(
        &trace,
        SLICES,
        &[
            r#"10 0 drm_sched_job_queue thread_execution - {"gpu sched ring":"gfx","gpu sched job":1}"#,
            r#"12 8 job drm_sched_ring sched-gfx {"gpu sched job":1}"#,
            r#"20 4 job drm_sched_ring sched-gfx {"gpu sched job":2}"#,
        ],
    );
    let flows = "SELECT a.ts, b.ts, trace_id, f.arg_set_id FROM flow AS f JOIN slice AS a ON a.id = slice_out JOIN slice AS b ON b.id = slice_in";
    gives(&trace, flows, &["10 12 - -"]);
}

#[test]
fn ke12_suspend_enter_ends_with_the_threads_that_thaw() {
    let step = |time, action, value, start| {
        let fields = new().text(1, action).number(2, value).number(3, start);
        event(time, 5, 113, fields)
    };
    let trace = imported(&[bundle(
        0,
        &[
            step(10, "suspend_enter", 3, 1),
            step(12, "freeze_processes", 0, 1),
            step(14, "thaw_processes", 0, 1),
            step(16, "thaw_processes", 0, 0),
            step(18, "freeze_processes", 0, 0),
        ],
    )]);
    let lanes = "SELECT ts, dur, s.name, (SELECT int_value FROM args AS a WHERE a.arg_set_id = dimension_arg_set_id AND key = 'track_compressor_idx') FROM slice AS s JOIN track AS t ON t.id = track_id ORDER BY s.id";
    gives(
        &trace,
        lanes,
        &["10 6 suspend_enter(3) 0", "12 6 freeze_processes(0) 1", "14 2 thaw_processes(0) 2"],
    );
}

fn on_a_machine(machine: &str, events: &[Message]) -> Imported {
    let utsname = new().text(1, "Linux").text(3, "6.1.0").text(4, machine);
    let odd = new().text(4, "mips");
    imported(&[
        packet(1, 45, new().message(1, utsname)),
        packet(2, 45, new().message(1, odd)),
        bundle(0, events),
    ])
}

#[test]
fn ke32_calls_have_the_names_of_the_last_known_architecture() {
    for (machine, id, name) in [
        ("aarch64", 63, "sys_read"),
        ("aarch64", 79, "sys_fstatat"),
        ("aarch64", 295, "sys_295"),
        ("armv8l", 3, "sys_read"),
        ("armv7l", 0, "sys_restart_syscall"),
        ("x86_64", 0, "sys_read"),
        ("x86_64", 547, "sys_pwritev2"),
        ("i686", 3, "sys_read"),
        ("riscv64", 63, "sys_63"),
        ("aarch64", (1 << 32) + 549, "sys_549"),
    ] {
        let call = |time, id| event(time, 5, 329, new().number(1, id));
        let trace = on_a_machine(machine, &[call(10, id), call(11, 550)]);
        gives(&trace, "SELECT name FROM slice", &[name]);
    }
}

#[test]
fn ke32_a_mark_ends_the_call_that_writes_it() {
    let write = |time, kind| event(time, 5, kind, new().number(1, 64).number(2, 3));
    let trace = on_a_machine(
        "aarch64",
        &[
            write(10, 329),
            print(12, 5, "B|5|draw"),
            write(14, 330),
            print(20, 5, "E|5"),
            write(30, 329),
            write(34, 330),
        ],
    );
    gives(
        &trace,
        "SELECT ts, dur, name, depth FROM slice ORDER BY id",
        &["10 2 sys_write 0", "12 8 draw 0", "30 4 sys_write 0"],
    );
    let stats =
        "SELECT severity, source, value FROM stats WHERE name = 'truncated_sys_write_duration'";
    gives(&trace, stats, &["info analysis 1"]);
}

#[test]
fn ke47_a_cpu_that_no_machine_has_is_left_out() {
    let hotplug = |cpu| event(10 + cpu, 5, 345, new().number(1, cpu).number(3, 1));
    let trace = imported(&[bundle(0, &[hotplug(4095), hotplug(4096)])]);
    gives(&trace, "SELECT count(*) FROM slice", &["1"]);
    let log = "SELECT code, message FROM import_log";
    gives(
        &trace,
        log,
        &[
            "kernel_event_cpu_out_of_range 1 kernel events of CPUs above 4095 are no slices or values",
        ],
    );
}
