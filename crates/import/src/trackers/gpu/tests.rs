//! Slices of GPUs from events made by hand.

use timebase_schema::fields::interned_data as interned;
use timebase_schema::tables::{flow, gpu_context, gpu_slice_record, vulkan_memory_record};

use super::{GPU_LOG, RENDER_STAGE_EVENT, VULKAN_API_EVENT, VULKAN_MEMORY_EVENT, compute};
use crate::definitions::Definitions;
use crate::trackers::testing::{Bytes, Double, Field, Number, Trace, WrittenRows, message};

fn stage(trace: Trace, ts: i64, fields: &[(u32, Field<'_>)]) -> Trace {
    trace.packet(ts, RENDER_STAGE_EVENT, &message(fields))
}

/// Slices without their arguments.
fn drawn(made: &WrittenRows) -> Vec<String> {
    let slices = made.slices().into_iter();
    let on_track = slices.map(|slice| match slice.split_once(" ugpu0") {
        Some((slice, _)) => format!("{slice} ugpu0"),
        None => slice,
    });
    on_track.collect()
}

/// The rows of `gpu_slice_record` without their ids.
fn said(made: &WrittenRows) -> Vec<String> {
    let rows = made.rows(&gpu_slice_record::TABLE);
    rows.iter().map(|row| row[1..].join(" ")).collect()
}

#[test]
fn gp1_gp3_gp4_gp5_queues_and_names_are_interned() {
    let trace = Trace::default()
        .interned(interned::GPU_SPECIFICATIONS, &[(1, Number(1)), (2, Bytes(b"queue"))])
        .interned(
            interned::GPU_SPECIFICATIONS,
            &[(1, Number(2)), (2, Bytes(b"stage")), (4, Number(1))],
        )
        .interned(interned::EVENT_NAMES, &[(1, Number(3)), (2, Bytes(b"name"))])
        .interned(interned::GRAPHICS_CONTEXTS, &[(1, Number(4)), (2, Number(70))]);
    let (event, queue) = ((1, Number(0)), (13, Number(1)));
    let trace = stage(trace, 1, &[event, queue, (2, Number(10)), (14, Number(2))]);
    let more = [
        (1, Number(0)),
        (13, Number(1)),
        (2, Number(u64::MAX)),
        (20, Number(3)),
        (14, Number(2)),
        (5, Number(4)),
        (8, Number(u64::MAX)),
        (9, Number(6)),
        (12, Number(7)),
        (10, Number(8)),
        (15, Number(5)),
        (15, Number(1 << 63)),
    ];
    let trace = stage(trace, 2, &more);
    // No slices: no event_id, an unknown queue.
    let trace = stage(trace, 3, &[(13, Number(1))]);
    let trace = stage(trace, 4, &[(1, Number(0)), (13, Number(9))]);
    // An unknown name is no name.
    let unknown = [(1, Number(0)), (13, Number(1)), (20, Number(9)), (17, Bytes(b"x"))];
    let made = stage(trace, 11, &unknown).follow(Definitions::default());
    assert_eq!(
        drawn(&made),
        [
            "1+10 0 stage, gpu_render_stage/queue#0 ugpu0",
            "2+9223372036854775807 0 name, gpu_render_stage/queue#1 ugpu0",
            "11+0 0 -, gpu_render_stage/queue#0 ugpu0",
        ]
    );
    assert_eq!(
        said(&made),
        ["0 0 - 0 - 0 - 0 1 0 - 1", "4 -1 - 6 - 7 - 8 1 1 0,2,127 1", "0 0 - 0 - 0 - 0 1 0 - -"]
    );
}

#[test]
fn gp2_gp3_a_name_that_comes_later_renames_the_first_lane() {
    let named = |name| message(&[(1, Bytes(name))]);
    let context = message(&[(1, Number(1)), (2, Number(80))]);
    let (unnamed, queue, first, second) = (message(&[]), named(b"q"), named(b"s0"), named(b"s1"));
    let specifications = message(&[
        (1, Bytes(&context)),
        (2, Bytes(&unnamed)),
        (2, Bytes(&queue)),
        (3, Bytes(&first)),
        (3, Bytes(&unnamed)),
        (3, Bytes(&second)),
    ]);
    let on = |queue| [(1, Number(0)), (2, Number(5)), (3, Number(queue))];
    let trace = stage(Trace::default(), 1, &on(1));
    let trace = stage(trace, 2, &on(1));
    let trace = stage(trace, 3, &on(0));
    let last = [
        (1, Number(0)),
        (3, Number(1)),
        (4, Number(1)),
        (5, Number(9)),
        (7, Bytes(&specifications)),
    ];
    let trace = stage(trace, 9, &last);
    // A second name renames nothing.
    let trace = stage(trace, 10, &[(7, Bytes(&message(&[(2, Bytes(&queue))])))]);
    let below_zero = [(1, Number(0)), (3, Number(1)), (4, Number(u64::MAX))];
    let made = stage(trace, 11, &below_zero).follow(Definitions::default());
    assert_eq!(
        drawn(&made),
        [
            "1+5 0 render stage(0), gpu_render_stage/q#0 ugpu0",
            "2+5 0 render stage(0), gpu_render_stage/Unknown GPU Queue 1#1 ugpu0",
            "3+5 0 render stage(0), gpu_render_stage/q#2 ugpu0",
            "9+0 0 s1, gpu_render_stage/q#3 ugpu0",
            "11+0 0 render stage(18446744073709551615), gpu_render_stage/q#3 ugpu0",
        ]
    );
    assert_eq!(said(&made)[3], "9 0 - 0 - 0 - 0 1 1 - -");
}

/// The arguments of a slice that not every render stage has.
fn more_args(made: &WrittenRows) -> Vec<String> {
    const ALL: [&str; 11] = [
        "context_id",
        "render_target",
        "render_target_name",
        "render_pass",
        "render_pass_name",
        "render_subpasses",
        "command_buffer",
        "command_buffer_name",
        "submission_id",
        "hw_queue_id",
        "upid",
    ];
    let slices = made.slices().into_iter();
    let more = slices.map(|slice| {
        let args = slice.split(' ').filter_map(|word| word.split_once('='));
        let args = args.filter(|(key, _)| !ALL.contains(key));
        let args: Vec<_> = args.map(|(key, value)| format!("{key}={value}")).collect();
        args.join(" ")
    });
    more.collect()
}

#[test]
fn gp7_kernels_and_their_launches_have_arguments() {
    let named = |iid, name: &'static str| [(1, Number(iid)), (2, Bytes(name.as_bytes()))];
    let signed = message(&[(1, Number(1)), (3, Number(-5i64 as u64)), (4, Number(6))]);
    let unsigned = message(&[(2, Bytes(b"unsigned")), (4, Number(u64::MAX)), (5, Double(1.5))]);
    let real = message(&[(2, Bytes(b"real")), (5, Double(1.5)), (7, Number(1))]);
    let kernel = [
        (1, Number(7)),
        (2, Bytes(b"_Z1k")),
        (3, Bytes(b"k()")),
        (4, Bytes(b"")),
        (5, Bytes(&signed)),
        (5, Bytes(&unsigned)),
        (5, Bytes(&real)),
    ];
    let interned = message(&[(2, Bytes(b"interned")), (6, Bytes(b"own")), (7, Number(1))]);
    let textless = message(&[(2, Bytes(b"textless")), (7, Number(2))]);
    let own = message(&[(2, Bytes(b"own")), (6, Bytes(b"text"))]);
    // These make no argument: no such text, no such name, a name without text, no name, no value.
    let lost = message(&[(2, Bytes(b"lost")), (6, Bytes(b"own")), (7, Number(9))]);
    let unnamed = message(&[(1, Number(9)), (2, Bytes(b"x")), (3, Number(1))]);
    let nameless = message(&[(1, Number(2)), (3, Number(1))]);
    let none = message(&[(3, Number(1))]);
    let valueless = message(&[(2, Bytes(b"valueless"))]);
    let grid = message(&[(1, Number(8)), (3, Number(u64::MAX))]);
    let group = message(&[(2, Number(0))]);
    let args = [&interned, &textless, &own, &lost, &unnamed, &nameless, &none, &valueless];
    let mut launch = vec![(1, Bytes(&grid[..])), (2, Bytes(&group))];
    launch.extend(args.map(|arg| (3, Bytes(arg))));
    let launch = message(&launch);
    let trace = Trace::default()
        .interned(compute::COMPUTE_KERNELS, &kernel)
        .interned(compute::COMPUTE_KERNELS, &[(1, Number(8))])
        .interned(compute::COMPUTE_ARG_NAMES, &named(1, "signed"))
        .interned(compute::COMPUTE_ARG_NAMES, &[(1, Number(2))])
        .interned(interned::DEBUG_ANNOTATION_STRING_VALUES, &named(1, "value"))
        .interned(interned::DEBUG_ANNOTATION_STRING_VALUES, &[(1, Number(2))]);
    let event = (1, Number(0));
    let trace = stage(trace, 1, &[event, (19, Number(7))]);
    let (event, same) = ((1, Number(0)), (1, Number(0)));
    let trace = stage(trace, 2, &[event, (19, Number(8)), (21, Bytes(&launch))]);
    let made = stage(trace, 3, &[same, (19, Number(9))]).follow(Definitions::default());
    assert_eq!(
        more_args(&made),
        [
            "kernel_name=_Z1k kernel_demangled_name=k() arch= signed=-5 \
             unsigned=18446744073709551615 real=1.5",
            "launch.grid_size.x=8 launch.grid_size.z=4294967295 launch.workgroup_size.y=0 \
             interned=value textless=null own=text",
            "",
        ]
    );
}

#[test]
fn gp8_objects_are_called_by_their_last_name() {
    let name = |of, handle, name: &[u8]| {
        let said = message(&[(3, Number(of)), (4, Number(handle)), (5, Bytes(name))]);
        message(&[(1, Bytes(&said))])
    };
    let api = |trace: Trace, ts, payload: &[u8]| trace.packet(ts, VULKAN_API_EVENT, payload);
    let draws = |trace, ts| {
        let handles = [(8, Number(5)), (9, Number(5)), (12, Number(5))];
        let fields: Vec<_> = [(1, Number(0))].into_iter().chain(handles).collect();
        stage(trace, ts, &fields)
    };
    let trace = api(Trace::default(), 1, &name(24, 5, b"target\0rest"));
    let trace = api(trace, 1, &name(18, 6, b"another"));
    let trace = api(trace, 1, &name(25, 5, b"of another type"));
    let trace = api(draws(trace, 2), 3, &name(24, 5, b"renamed"));
    let trace = api(trace, 3, &name(6, 5, b""));
    let unnamed = message(&[(3, Number(18)), (4, Number(5))]);
    let made = draws(api(trace, 3, &message(&[(1, Bytes(&unnamed))])), 4);
    let made = made.follow(Definitions::default());
    let called = |row: &Vec<String>| [&row[3], &row[5], &row[7]].map(String::clone).join(" ");
    let rows = made.rows(&gpu_slice_record::TABLE);
    let called: Vec<String> = rows.iter().map(called).collect();
    // The numbers of `target`, `renamed` and the empty text.
    assert_eq!(called[0].split_once(' ').unwrap().1, "- -");
    let [first, second] = [&called[0], &called[1]].map(|called| called.split(' ').next());
    assert_ne!(first, second);
    let slices = made.slices();
    assert!(slices[0].contains(" render_target_name=target render_pass=5 "));
    assert!(slices[1].contains(" render_target_name=renamed render_pass=5 render_pass_name= "));
    assert!(slices[1].contains(" command_buffer_name= "));
}

#[test]
fn gp9_stages_follow_those_that_they_wait_for() {
    let drawn = |trace, ts, id, waits: &[u64]| {
        let waits = waits.iter().map(|&id| (18, Number(id)));
        let fields: Vec<_> = [(1, Number(id))].into_iter().chain(waits).collect();
        stage(trace, ts, &fields)
    };
    let trace = drawn(Trace::default(), 1, 7, &[]);
    let trace = drawn(trace, 2, 8, &[7, 9, 7]);
    let made = drawn(trace, 3, 9, &[9]).follow(Definitions::default());
    let links = made.rows(&flow::TABLE);
    let links: Vec<_> = links.iter().map(|row| row[1..].join(" ")).collect();
    assert_eq!(links, ["0 1 - -", "0 1 - -", "2 1 - -", "2 2 - -"]);
}

#[test]
fn gp10_what_is_submitted_to_vulkan_is_a_slice() {
    let submit = |submit: &[u8]| message(&[(2, Bytes(submit))]);
    let full = submit(&message(&[
        (1, Number(9)),
        (2, Number(5)),
        (3, Number(6)),
        (5, Number(u64::MAX)),
        (5, Number(2)),
        (6, Number(7)),
    ]));
    let trace = Trace::default().packet(1, VULKAN_API_EVENT, &full);
    let trace = trace.packet(10, VULKAN_API_EVENT, &submit(&message(&[])));
    let made = trace.follow(Definitions::default());
    assert_eq!(
        made.slices(),
        [
            "1+9 0 vkQueueSubmit, vulkan_events/Vulkan Events#0 pid=5 tid=6 \
             command_buffer=18446744073709551615 command_buffers[0]=18446744073709551615 \
             command_buffers[1]=2 submission_id=7",
            "10+0 0 vkQueueSubmit, vulkan_events/Vulkan Events#0 pid=0 tid=0 submission_id=0",
        ]
    );
    assert_eq!(said(&made), ["- - - - - -1 - 7 - - - -", "- - - - - - - 0 - - - -"]);
}

#[test]
fn gp11_lines_of_gpus_are_instants() {
    let line =
        |trace: Trace, ts, fields: &[(u32, Field<'_>)]| trace.packet(ts, GPU_LOG, &message(fields));
    let trace = line(Trace::default(), 1, &[]);
    let full = [(1, Number(5)), (2, Bytes(b"tag")), (3, Bytes(b"hot"))];
    let trace = line(trace, 2, &full);
    let trace = line(trace, 3, &[(1, Number(6)), (2, Bytes(b""))]);
    let made = line(trace, 4, &[(1, Number(u64::MAX))]).follow(Definitions::default());
    assert_eq!(
        made.slices(),
        [
            "1+0 0 UNSPECIFIED, gpu_log/GPU Log#0",
            "2+0 0 ERROR, gpu_log/GPU Log#0 tag=tag message=hot",
            "3+0 0 UNKNOWN_SEVERITY, gpu_log/GPU Log#0 tag=",
            "4+0 0 UNKNOWN_SEVERITY, gpu_log/GPU Log#0",
        ]
    );
    assert_eq!(said(&made).len(), 4);
}

#[test]
fn gp12_contexts_that_are_named_are_rows() {
    let context = |iid, more: &[u64]| {
        let more = (2..).zip(more).map(|(field, &number)| (field, Number(number)));
        [(1, Number(iid))].into_iter().chain(more).collect::<Vec<_>>()
    };
    let trace = Trace::default()
        .interned(interned::GRAPHICS_CONTEXTS, &context(1, &[]))
        .interned(interned::GRAPHICS_CONTEXTS, &context(u64::MAX, &[7, 2]))
        .interned(interned::GRAPHICS_CONTEXTS, &context(3, &[8, 99]))
        .interned(interned::GRAPHICS_CONTEXTS, &context(4, &[9, 0]));
    // A context needs no slice. An unknown context has no row, nor has a context that no event
    // names.
    let named = [3, u64::MAX, 9, 3, 1];
    let trace =
        (1..).zip(named).fold(trace, |trace, (ts, iid)| stage(trace, ts, &[(5, Number(iid))]));
    let rows = trace.follow(Definitions::default()).rows(&gpu_context::TABLE);
    let rows: Vec<_> = rows.iter().map(|row| row.join(" ")).collect();
    assert_eq!(rows, ["0 3 8 UNDEFINED 0", "1 -1 7 VULKAN 0", "2 1 - - 0"]);
}

/// Events of Vulkan's memory: source, operation, pid, size, scope, memory type.
fn memory(events: &[[u64; 6]]) -> Trace {
    let fields = [1, 2, 4, 6, 8, 18];
    (1..).zip(events).fold(Trace::default(), |trace, (ts, event)| {
        let event = fields.into_iter().zip(event);
        let event: Vec<_> = event.map(|(field, &number)| (field, Number(number))).collect();
        trace.packet(ts, VULKAN_MEMORY_EVENT, &message(&event))
    })
}

#[test]
fn m15_memory_of_vulkan_is_summed_up_for_each_process() {
    let trace = memory(&[
        [1, 1, 7, 10, 2, 0],
        [1, 1, 8, 100, 2, 0],
        [1, 2, 7, 4, 2, 0],
        [3, 1, 7, 50, 0, 1],
        [4, 3, 7, 20, 0, 1],
        [5, 3, 7, 5, 0, 1],
        [5, 4, 7, 20, 0, 1],
        [3, 2, 7, 51, 0, 1],
        // These change nothing: no scope, another operation, another source.
        [1, 1, 7, 1, 0, 0],
        [1, 1, 7, 1, 6, 0],
        [1, 3, 7, 1, 2, 0],
        [3, 3, 7, 1, 0, 1],
        [4, 1, 7, 1, 0, 1],
        [2, 1, 7, 1, 2, 1],
        [6, 1, 7, 1, 2, 1],
        [3, 6, 7, 1, 2, 1],
    ]);
    let made = trace.follow(Definitions::default());
    assert_eq!(
        made.values(),
        [
            "1 10, vulkan_driver_mem/vulkan.mem.driver.scope.OBJECT#0 upid1",
            "2 100, vulkan_driver_mem/vulkan.mem.driver.scope.OBJECT#1 upid2",
            "3 6, vulkan_driver_mem/vulkan.mem.driver.scope.OBJECT#0 upid1",
            "4 50, vulkan_device_mem_allocation/vulkan.mem.device.memory.type.1.allocation#2 upid1",
            "5 20, vulkan_device_mem_bind/vulkan.mem.device.memory.type.1.bind#3 upid1",
            "6 25, vulkan_device_mem_bind/vulkan.mem.device.memory.type.1.bind#3 upid1",
            "7 5, vulkan_device_mem_bind/vulkan.mem.device.memory.type.1.bind#3 upid1",
            "8 -1, vulkan_device_mem_allocation/vulkan.mem.device.memory.type.1.allocation#2 upid1",
        ]
    );
    let rows = made.rows(&vulkan_memory_record::TABLE);
    let words: Vec<_> = rows.iter().map(|row| [&row[2], &row[3], &row[13]]).collect();
    assert_eq!(words[0], ["DRIVER", "CREATE", "OBJECT"]);
    assert_eq!(words[9], ["DRIVER", "CREATE", "-"]);
    assert_eq!(words[14], ["-", "CREATE", "OBJECT"]);
    assert_eq!(words[15], ["GPU_DEVICE_MEMORY", "-", "OBJECT"]);
}

#[test]
fn m15_annotations_have_keys_of_interned_data() {
    const KEYS: u32 = 22;
    let named = |iid, name: &'static str| [(1, Number(iid)), (2, Bytes(name.as_bytes()))];
    let annotations = [
        message(&[(1, Number(1)), (2, Number(-2i64 as u64)), (3, Double(0.5))]),
        message(&[(1, Number(2)), (3, Double(0.5)), (4, Number(1))]),
        message(&[(1, Number(3)), (4, Number(1))]),
        message(&[(1, Number(4)), (4, Number(9))]),
        // No such key, a key without a name, no key, no value.
        message(&[(1, Number(9)), (2, Number(1))]),
        message(&[(1, Number(5)), (2, Number(1))]),
        message(&[(2, Number(1))]),
        message(&[(1, Number(6))]),
    ];
    let annotations = annotations.each_ref().map(|said| (9, Bytes(said)));
    let mut fields = vec![(7, Number(1))];
    fields.extend(annotations);
    let trace = Trace::default()
        .interned(5, &named(1, "vkAllocateMemory"))
        .interned(KEYS, &named(1, "int"))
        .interned(KEYS, &named(2, "real"))
        .interned(KEYS, &named(3, "text"))
        .interned(KEYS, &named(4, "none"))
        .interned(KEYS, &[(1, Number(5))])
        .interned(KEYS, &named(6, "valueless"));
    let trace = trace.packet(1, VULKAN_MEMORY_EVENT, &message(&fields));
    let unknown = message(&[(7, Number(2))]);
    let made = trace.packet(2, VULKAN_MEMORY_EVENT, &unknown);
    let made = made.follow(Definitions::default());
    let rows = made.rows(&vulkan_memory_record::TABLE);
    let [with, without] = [&rows[0], &rows[1]].map(|row| (row[9].clone(), row[14].clone()));
    assert_eq!(without, ("-".to_owned(), "-".to_owned()));
    assert_ne!(with.0, "-");
    let sets = made.rows(&timebase_schema::tables::arg_set::TABLE);
    let set = sets.iter().find(|set| set[0] == with.1).unwrap();
    assert_eq!(set[1], r#"{"int":-2,"real":0.5,"text":"int","none":null}"#);
}
