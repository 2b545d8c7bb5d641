//! The rules of GPUs that are known from trace processor's sources alone, one by one, on small
//! traces made by hand.

use std::fs;

use crate::support::kernel::{RENDER_STAGE, TRACK_DESCRIPTOR, gives, imported, new, packet};
use crate::support::{Imported, Place, run};
use timebase_lab::encode::{Message, trace_of};

const TRACK_EVENT: u32 = 11;
const GPU_COUNTERS: u32 = 52;
const VULKAN_MEMORY: u32 = 62;
const GPU_LOG: u32 = 63;
const VULKAN_API: u32 = 65;

const INTERNED_DATA: u32 = 12;

/// A packet whose sequence begins with it.
fn first(time: u64, field: u32, payload: Message, interned: Message) -> Message {
    let first = packet(time, field, payload).number(13, 1);
    first.message(INTERNED_DATA, interned)
}

/// A stage with an event_id.
fn stage(id: u64) -> Message {
    new().number(1, id)
}

/// The arguments of all slices with these keys.
fn args_gives(packets: &[Message], keys: &str, expected: &[&str]) {
    let sql = format!(
        "SELECT s.ts, a.key, a.flat_key, a.value_type, \
             coalesce(a.string_value, a.int_value, a.real_value) \
         FROM slice AS s JOIN args AS a USING (arg_set_id) WHERE {keys} ORDER BY s.id, a.key"
    );
    gives(&imported(packets), &sql, expected);
}

#[test]
fn gp7_kernels_and_launches_have_arguments() {
    let named = |name: &str| new().text(2, name);
    let kernel = new().number(1, 1).text(2, "k");
    let kernel = kernel.message(5, new().number(1, 1).number(4, 32));
    let interned = new()
        .message(1000, kernel)
        .message(1001, named("regs").number(1, 1))
        .message(29, named("fast").number(1, 1));
    let launch = new()
        .message(1, new().number(1, 8))
        .message(2, new().number(3, 2))
        .message(3, named("a.b").signed(3, -1))
        .message(3, named("mode").number(7, 1))
        .message(3, named("share").double(5, 0.5));
    let full = stage(1).number(19, 1).message(21, launch);
    args_gives(
        &[first(1, RENDER_STAGE, full, interned)],
        "a.key IN ('kernel_name', 'regs', 'a.b', 'mode', 'share') OR a.key GLOB 'launch.*'",
        &[
            "1 a.b a.b int -1",
            "1 kernel_name kernel_name string k",
            "1 launch.grid_size.x launch.grid_size.x uint 8",
            "1 launch.workgroup_size.z launch.workgroup_size.z uint 2",
            "1 mode mode string fast",
            "1 regs regs uint 32",
            "1 share share real 0.5",
        ],
    );
}

fn object(of: u64, handle: u64, name: &str) -> Message {
    let name = new().number(3, of).number(4, handle).text(5, name);
    new().message(1, name)
}

#[test]
fn gp8_objects_have_names_from_then_on() {
    let drawn = || stage(1).number(8, 5).number(9, 5).number(12, 6);
    let trace = imported(&[
        packet(5, RENDER_STAGE, drawn()),
        packet(10, VULKAN_API, object(18, 5, "shadows")),
        packet(10, VULKAN_API, object(6, 6, "")),
        packet(20, RENDER_STAGE, drawn()),
        packet(20, RENDER_STAGE, drawn()).number(98, 7),
    ]);
    gives(
        &trace,
        "SELECT s.ts, k.machine_id, s.render_target_name, s.render_pass_name, \
             '<' || s.command_buffer_name || '>' \
         FROM gpu_slice AS s JOIN track AS k ON k.id = s.track_id ORDER BY s.id",
        &["5 0 - - -", "20 0 - shadows <>", "20 1 - - -"],
    );
    gives(
        &trace,
        "SELECT s.ts, a.string_value FROM slice AS s JOIN args AS a USING (arg_set_id) \
         WHERE a.key = 'render_pass_name' AND a.string_value IS NOT NULL",
        &["20 shadows"],
    );
}

const LINKS: &str = "SELECT o.name, i.name, f.trace_id FROM flow AS f \
     JOIN slice AS o ON o.id = slice_out JOIN slice AS i ON i.id = slice_in ORDER BY f.id";

/// An instant that submits ids and awaits some.
fn correlated(time: u64, name: &str, submits: &[u64], awaits: &[u64]) -> Message {
    let ids = |ids: Message, field, all: &[u64]| {
        let all = all.iter();
        all.fold(ids, |ids, &id| ids.number(field, id))
    };
    let ids = ids(ids(new(), 1, submits), 2, awaits);
    let event = new().number(9, 3).number(11, 1).text(23, name);
    packet(time, TRACK_EVENT, event.message(3000, ids))
}

fn named(time: u64, id: u64, name: &str, waits: &[u64]) -> Message {
    let stage = stage(id).text(17, name);
    let waits = waits.iter();
    let stage = waits.fold(stage, |stage, &id| stage.number(18, id));
    packet(time, RENDER_STAGE, stage)
}

#[test]
fn gp9_flows_lead_from_submissions_over_stages_to_waits() {
    let track = new().number(1, 1).text(2, "gpu calls");
    let trace = imported(&[
        packet(1, TRACK_DESCRIPTOR, track).number(13, 1),
        correlated(10, "launch", &[7], &[]),
        named(20, 7, "7", &[]),
        named(30, 8, "8", &[7]),
        correlated(40, "sync", &[], &[8]),
    ]);
    let expected = ["launch 7 -", "7 8 -", "8 sync -"];
    gives(&trace, LINKS, &expected);
    let late = imported(&[
        packet(1, TRACK_DESCRIPTOR, new().number(1, 1)).number(13, 1),
        correlated(10, "sync", &[], &[7, 8]),
        named(20, 8, "8", &[7, 9, 8]),
        correlated(30, "launch", &[7], &[]),
        named(40, 7, "7", &[]),
        // From another machine.
        named(50, 9, "9", &[]).number(98, 3),
    ]);
    gives(&late, LINKS, &["8 sync -", "8 8 -", "launch 7 -", "7 sync -", "7 8 -"]);
}

#[test]
fn gp9_an_id_of_many_slices_has_few_links() {
    let ids = [1; 4000];
    let trace: Vec<Message> = (0..200).map(|time| named(time, 1, "s", &[])).collect();
    let trace = imported(&[trace, vec![named(300, 2, "w", &ids)]].concat());
    // Each time that it is named counts: 4,200 × 64 links.
    gives(&trace, "SELECT count(*) FROM flow", &["268800"]);
    gives(
        &trace,
        "SELECT s.value > 0, l.code FROM stats AS s, import_log AS l \
         WHERE s.name = l.code AND l.code = 'gpu_flow_limit_exceeded'",
        &["1 gpu_flow_limit_exceeded"],
    );
}

#[test]
fn gp10_gp11_submissions_and_lines_of_the_log_are_slices() {
    let submit = new().number(1, 5).number(2, 3).number(5, 9).number(5, 8);
    let submit = new().message(2, submit.number(6, 2));
    let line = new().number(1, 5).text(3, "hot");
    let packets = [
        packet(10, VULKAN_API, submit),
        packet(20, GPU_LOG, line.clone()),
        packet(20, GPU_LOG, line.number(1, 6)),
    ];
    let trace = imported(&packets);
    gives(
        &trace,
        "SELECT s.ts, s.dur, s.name, k.type, k.name, s.command_buffer, s.submission_id, s.upid \
         FROM gpu_slice AS s JOIN gpu_track AS k ON k.id = s.track_id ORDER BY s.id",
        &[
            "10 5 vkQueueSubmit vulkan_events Vulkan Events 9 2 -",
            "20 0 ERROR gpu_log GPU Log - - -",
            "20 0 UNKNOWN_SEVERITY gpu_log GPU Log - - -",
        ],
    );
    args_gives(
        &packets[..2],
        "true",
        &[
            "10 command_buffer command_buffer uint 9",
            "10 command_buffers[0] command_buffers uint 9",
            "10 command_buffers[1] command_buffers uint 8",
            "10 pid pid int 3",
            "10 submission_id submission_id int 2",
            "10 tid tid int 0",
            "20 message message string hot",
        ],
    );
}

#[test]
fn gp12_contexts_that_stages_name_are_rows() {
    let context = new().number(1, u64::MAX).number(2, 7).number(3, 2);
    let interned = new().message(23, context);
    let named = |iid| new().number(5, iid);
    let trace = imported(&[
        first(10, RENDER_STAGE, named(u64::MAX), interned),
        packet(20, RENDER_STAGE, named(u64::MAX)),
        packet(30, RENDER_STAGE, named(1)),
    ]);
    gives(&trace, "SELECT * FROM gpu_context", &["0 -1 7 VULKAN 0"]);
}

#[test]
fn tk3_gpu_tracks_have_the_descriptions_of_their_queues() {
    let queue = new().number(1, 1).text(2, "queue").text(3, "draws");
    let drawn = stage(1).number(13, 1);
    let trace = imported(&[first(1, RENDER_STAGE, drawn, new().message(24, queue))]);
    gives(&trace, "SELECT name, description FROM gpu_track", &["queue draws"]);
}

const GROUPS: &str = "SELECT k.name, g.group_id, g.name, g.description FROM gpu_counter_group AS g \
     JOIN gpu_counter_track AS k ON k.id = g.track_id ORDER BY g.id";

#[test]
fn m14_counters_are_in_groups() {
    let spec = |id, name: &str| new().number(1, id).text(2, name);
    let group = |id, name: &str| new().number(1, id).text(2, name);
    let fragments = group(3, "Fragments").number(4, 1);
    let descriptor = |spec| new().message(1, spec).message(6, fragments.clone());
    let own = descriptor(spec(1, "busy").number(10, 3));
    let own = own.message(1, spec(2, "idle"));
    let again = descriptor(spec(1, "late").number(10, 4));
    let named = group(9, "Own").text(3, "more").number(4, 5).number(4, 6);
    let interned = new().message(1, spec(5, "heat").number(10, 5).number(10, 9));
    let interned = new().number(1, 1).message(2, interned.message(6, named));
    let interned = new().message(47, interned);
    let by_iid = |time| {
        let event = new().number(4, 1);
        first(time, GPU_COUNTERS, event, interned.clone())
    };
    let trace = imported(&[
        packet(1, GPU_COUNTERS, new().message(1, own)),
        packet(2, GPU_COUNTERS, new().message(1, again)),
        by_iid(3),
        by_iid(4),
    ]);
    gives(
        &trace,
        GROUPS,
        &[
            "busy 3 Fragments -",
            "idle 0 - -",
            "busy 3 Fragments -",
            "heat 5 - -",
            "heat 9 Own more",
            "heat 9 Own more",
        ],
    );
}

/// An event of the driver's memory, with a time of its own.
fn memory(time: u64, own: u64, operation: u64, size: u64) -> Message {
    let event = new().number(1, 1).number(2, operation).number(3, own);
    let event = event.number(4, 7).number(6, size).number(8, 2);
    packet(time, VULKAN_MEMORY, event)
}

const ALLOCATIONS: &str = "SELECT v.timestamp, v.source, v.operation, v.scope, v.memory_size, p.pid \
     FROM vulkan_memory_allocations AS v JOIN process AS p USING (upid) ORDER BY v.id";

#[test]
fn m15_memory_of_vulkan_has_rows_and_sums() {
    let interned = new()
        .message(5, new().number(1, 3).text(2, "vkAllocateMemory"))
        .message(22, new().number(1, 4).text(2, "flags"));
    let flags = new().number(1, 4).signed(2, -1);
    let device = new().number(1, 3).number(2, 1).number(7, 3).message(9, flags);
    let trace = imported(&[
        // In the order of their times; one without a time is at its packet's.
        memory(30, 20, 2, 4),
        memory(40, 10, 1, 10),
        first(50, VULKAN_MEMORY, device.number(18, 1), interned),
    ]);
    gives(
        &trace,
        ALLOCATIONS,
        &[
            "10 DRIVER CREATE OBJECT 10 7",
            "20 DRIVER DESTROY OBJECT 4 7",
            "50 GPU_DEVICE_MEMORY CREATE - - 0",
        ],
    );
    gives(
        &trace,
        "SELECT k.type, k.name, c.ts, c.value FROM counter AS c \
         JOIN process_counter_track AS k ON k.id = c.track_id ORDER BY c.id",
        &[
            "vulkan_driver_mem vulkan.mem.driver.scope.OBJECT 10 10",
            "vulkan_driver_mem vulkan.mem.driver.scope.OBJECT 20 6",
            "vulkan_device_mem_allocation vulkan.mem.device.memory.type.1.allocation 50 0",
        ],
    );
    gives(
        &trace,
        "SELECT v.function_name, a.key, a.value_type, a.int_value \
         FROM vulkan_memory_allocations AS v JOIN args AS a USING (arg_set_id)",
        &["vkAllocateMemory flags int -1"],
    );
}

#[test]
fn m15_rw6_times_of_vulkan_memory_are_rewritten() {
    let reading = |clock, value| new().number(1, clock).number(2, value);
    let snapshot = new().message(1, reading(3, 1000)).message(1, reading(6, 5000)).number(2, 3);
    let snapshot = new().number(10, 1).message(6, snapshot);
    let trace = trace_of(&[snapshot, memory(6000, 5500, 1, 10)]);
    let place = Place::new();
    let path = |name: &str| place.path(name).to_str().unwrap().to_owned();
    let (read, written) = (path("read.pftrace"), path("written.pftrace"));
    fs::write(&read, trace).unwrap();
    let said = run(&["rewrite", &read, "-o", &written]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    for file in [read, written] {
        let trace = Imported::of_bytes(&fs::read(file).unwrap(), &[]);
        gives(&trace, ALLOCATIONS, &["1500 DRIVER CREATE OBJECT 10 7"]);
    }
}
