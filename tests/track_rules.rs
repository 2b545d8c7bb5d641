//! The rules of slices, counters, machines, cpus and GPUs, one by one, on small traces made by
//! hand.

use crate::support::kernel::{
    PROCESS_STATS, PROCESS_TREE, RENDER_STAGE, SYS_STATS, SYSTEM_INFO, TRACK_DESCRIPTOR, bundle,
    event, gives, imported, new, packet, print, switch, waking,
};
use timebase_lab::encode::Message;

/// Slices with their owners: the tid of a thread, or the name of a track.
const SLICES: &str = "SELECT s.ts, s.dur, s.name, coalesce(t.tid, k.name), s.depth FROM slice AS s \
     JOIN track AS k ON k.id = s.track_id LEFT JOIN thread_track AS o ON o.id = k.id \
     LEFT JOIN thread AS t ON t.utid = o.utid ORDER BY s.id";
const COUNTERS: &str = "SELECT k.type, k.name, k.unit, c.ts, c.value \
     FROM counter AS c JOIN counter_track AS k ON k.id = c.track_id ORDER BY c.id";

/// The texts that a thread prints, one in each nanosecond, from 1 on.
fn prints(emitter: u64, texts: &[&str]) -> Message {
    let prints = (1..).zip(texts).map(|(time, text)| print(time, emitter, text));
    bundle(0, &prints.collect::<Vec<_>>())
}

// B: slices of atrace and interrupts

#[test]
fn b1_b3_b5_b6_worked_example_of_lanes() {
    let texts = [
        "S|10|x|1", "S|10|x|2", "S|10|x|1", "F|10|x|1", "S|10|x|3", "F|10|x|3", "F|10|x|2",
        "B|10|f", "I|10|i", "E|10",
    ];
    let prints: Vec<Message> = (1..).zip(texts).map(|(time, text)| print(time, 10, text)).collect();
    let trace = imported(&[bundle(0, &prints)]);
    gives(&trace, SLICES, &["1 3 x x 0", "2 5 x x 0", "5 1 x x 0", "8 2 f 10 0", "9 0 i 10 1"]);
    let lanes = "SELECT group_concat(ts, ' ') FROM (SELECT * FROM slice WHERE name = 'x' ORDER BY id) \
                 GROUP BY track_id ORDER BY min(id)";
    gives(&trace, lanes, &["1 5", "2"]);
}

#[test]
fn b1_b2_texts_that_are_no_marks_do_nothing() {
    let trace = imported(&[prints(
        5,
        &[
            "",
            "\n",
            "Z|5|x",
            "B",
            "B|x|n",
            "I|5|",
            "N|5||n",
            "S|5|n|",
            "S|5|n|x",
            "C|5|n|1.5",
            "C|5|n|1 ",
            "G|5|t|n",
            "H|5|t|n|",
            "S|5||1",
        ],
    )]);
    gives(&trace, SLICES, &[]);
    gives(&trace, COUNTERS, &[]);
}

#[test]
fn b1_b2_b3_marks_of_all_forms() {
    let trace = imported(&[prints(
        5,
        &[
            "B|5|a|b\n\0",
            "E",
            "B|5|\n",
            "B|0",
            "E|nobody",
            "E|5|ignored",
            "I|+5|i",
            "N| 5|track|n",
            "G|5|track|g|-1|ignored",
            "H|5|track|-1",
            "G|5|track|h|2",
            "H|5|track|any|2",
            "B|4294967301|mod 2^32",
        ],
    )]);
    gives(
        &trace,
        SLICES,
        &[
            "1 1 a|b 5 0",
            "3 3 [empty slice name] 5 0",
            "4 1 [empty slice name] 5 1",
            "7 0 i 5 0",
            "8 0 n track 0",
            "9 1 g track 0",
            "11 1 h track 0",
            "13 -1 mod 2^32 5 0",
        ],
    );
    gives(
        &trace,
        "SELECT DISTINCT type FROM track WHERE id IN (SELECT track_id FROM slice) ORDER BY type",
        &["atrace_async_slice_for_track", "thread_execution"],
    );
}

#[test]
fn u5_a_thread_has_one_track_for_all_that_it_does() {
    let trace = imported(&[prints(5, &["B|5|a", "E|5", "I|5|i"])]);
    gives(
        &trace,
        "SELECT type, name, source_arg_set_id, (SELECT count(*) FROM slice WHERE track_id = t.id)
         FROM thread_track AS t",
        &["thread_execution - - 2"],
    );
}

#[test]
fn b2_numbers_saturate() {
    let trace = imported(&[prints(
        5,
        &["C|5|n|99999999999999999999", "C|5|n|-99999999999999999999", "C|5|n|\t+7"],
    )]);
    gives(
        &trace,
        "SELECT value FROM counter ORDER BY id",
        &["9223372036854776000", "-9223372036854776000", "7"],
    );
    let pid = imported(&[prints(5, &["I|99999999999999999999|i"])]);
    gives(&pid, "SELECT pid FROM process WHERE pid > 0", &["4294967295"]);
}

#[test]
fn b4_only_instants_of_one_time_nest_in_each_other() {
    let events = [
        print(10, 5, "I|5|a"),
        print(10, 5, "I|5|b"),
        print(10, 5, "B|5|c"),
        print(20, 5, "E|5"),
        print(20, 5, "I|5|d"),
    ];
    let trace = imported(&[bundle(0, &events)]);
    gives(&trace, SLICES, &["10 0 a 5 0", "10 0 b 5 1", "10 10 c 5 0", "20 0 d 5 0"]);
}

#[test]
fn b4_a_stack_is_512_deep() {
    let begins: Vec<Message> = (1..=514).map(|time| print(time, 5, "B|5|n")).collect();
    let trace = imported(&[bundle(0, &begins)]);
    gives(&trace, "SELECT count(*), max(depth) FROM slice", &["512 511"]);
}

#[test]
fn b7_what_is_killed_has_an_instant() {
    let trace = imported(&[prints(
        5,
        &[
            "N|5|DeviceStateChanged|folded",
            "C|5|kill_one_process|7",
            "C|5|kill_one_process|0",
            "B|5|lmk,8,1,200,0",
        ],
    )]);
    gives(
        &trace,
        "SELECT s.ts, s.dur, s.name, k.type, k.name, p.pid FROM slice AS s \
         JOIN track AS k ON k.id = s.track_id LEFT JOIN process_track AS o ON o.id = k.id \
         LEFT JOIN process AS p ON p.upid = o.upid ORDER BY s.ts, s.dur DESC",
        &[
            "1 0 folded android_device_state DeviceStateChanged -",
            "2 0 mem.lmk android_lmk LMK 7",
            "4 0 mem.lmk android_lmk LMK 8",
            "4 -1 lmk,8,1,200,0 thread_execution - -",
        ],
    );
    let scores = "SELECT p.pid, c.value FROM counter AS c \
                  JOIN process_counter_track AS k ON k.id = c.track_id \
                  JOIN process AS p USING (upid) WHERE k.type = 'oom_score_adj'";
    gives(&trace, scores, &["8 200"]);
}

#[test]
fn b8_marks_in_fields() {
    let (b, e) = (u64::from(b'B'), u64::from(b'E'));
    let events = [
        event(1, 5, 331, new().number(1, 1).text(2, "zero").number(3, 5)),
        event(2, 5, 331, new().number(1, 2)),
        event(3, 5, 80, new().number(1, 5).text(2, "mark").number(3, 1)),
        event(4, 5, 80, new().number(1, 5).text(2, "none")),
        event(5, 5, 80, new().number(1, 5).number(3, 0)),
        event(6, 5, 333, new().number(1, 5).text(2, "sde").number(5, 1)),
        event(7, 5, 333, new().number(1, 5).number(3, e)),
        event(8, 5, 484, new().number(1, 5).text(2, "samsung").number(4, b)),
        event(9, 5, 484, new().number(1, 5).number(4, 0)),
        event(10, 5, 348, new().number(1, 9).text(4, "dpu").number(5, b)),
        event(11, 5, 348, new().number(5, 0)),
        event(12, 5, 349, new().number(1, 5).number(5, e)),
        event(13, 5, 350, new().text(1, "").number(2, 5).number(3, b)),
        event(14, 5, 467, new().number(2, e).number(3, 5).text(4, "lwis")),
    ];
    let trace = imported(&[bundle(0, &events)]);
    gives(
        &trace,
        SLICES,
        &[
            "1 1 zero 5 0",
            "3 2 mark 5 0",
            "6 1 sde 5 0",
            "8 1 samsung 5 0",
            "10 2 dpu 5 0",
            "13 1  5 0",
        ],
    );
}

#[test]
fn b5_b9_interrupts_are_on_their_cpus() {
    let events = [
        event(10, 5, 36, new().number(1, 3).text(2, "timer")),
        event(20, 5, 24, new().number(1, 3)),
        event(25, 5, 24, new().number(1, 10)),
        event(30, 5, 25, new().number(1, 3)),
        event(40, 5, 37, new().number(1, 3).number(2, 1)),
        event(50, 5, 37, new().number(1, 3)),
    ];
    let trace = imported(&[bundle(1, &events)]);
    gives(
        &trace,
        "SELECT s.ts, s.dur, s.name, s.category, k.name, k.type, k.cpu FROM slice AS s \
         JOIN cpu_track AS k ON k.id = s.track_id ORDER BY s.id",
        &[
            "10 30 IRQ (timer) irq Irq Cpu 1 cpu_irq 1",
            "20 10 NET_RX irq SoftIrq Cpu 1 cpu_softirq 1",
        ],
    );
}

#[test]
fn b10_signals_are_instants_of_threads() {
    let events = [
        event(10, 5, 325, new().number(4, 6).number(6, 9)),
        event(20, 6, 324, new().number(3, 9)),
        event(30, 5, 334, new().number(1, 6)),
    ];
    gives(
        &imported(&[bundle(0, &events)]),
        SLICES,
        &["10 0 signal_generate 6 0", "20 0 signal_deliver 6 0", "30 0 mem.oom_kill 6 0"],
    );
}

// GP: stages of rendering

const STAGES: &str = "SELECT s.ts, s.dur, k.name, s.name, s.context_id, s.hw_queue_id, s.upid, \
     s.render_subpasses, s.render_stage_category FROM gpu_slice AS s \
     JOIN track AS k ON k.id = s.track_id ORDER BY s.id";

#[test]
fn gp1_gp4_gp5_names_are_those_of_the_sequence() {
    let interned = new()
        .message(2, new().number(1, 1).text(2, "event"))
        .message(23, new().number(1, 4).number(2, 9))
        .message(24, new().number(1, 1).text(2, "queue"))
        .message(24, new().number(1, 2).text(2, "stage").number(4, 1));
    let on_queue = |time, queue, stage: Message| {
        let stage = stage.number(1, 1).number(13, queue).number(2, 5);
        new().number(8, time).number(10, 3).message(RENDER_STAGE, stage)
    };
    let stage = |time, fields| on_queue(time, 1, fields);
    let mask = new().number(5, 4).number(20, 1).number(15, 5).number(15, 1 << 63);
    let trace = imported(&[
        new().number(10, 3).number(13, 1).message(12, interned),
        stage(10, mask),
        stage(20, new().number(14, 2)),
        stage(30, new().text(17, "named").number(14, 2)),
        stage(40, new().number(20, 9)),
        on_queue(50, 9, new()),
        packet(60, RENDER_STAGE, new().number(13, 1)),
        stage(70, new().number(4, 3)),
    ]);
    gives(
        &trace,
        STAGES,
        &[
            "10 5 queue event 4 1 1 0,2,127 -",
            "20 5 queue stage 0 1 0 - 1",
            "30 5 queue named 0 1 0 - 1",
            "40 5 queue - 0 1 0 - -",
            "70 5 queue render stage(3) 0 1 0 - -",
        ],
    );
}

#[test]
fn gp2_gp3_a_name_that_comes_later_renames_the_first_lane() {
    let stage = |time, specifications: Option<Message>| {
        let stage = new().number(1, 1).number(2, 5).number(3, 0).number(4, 1);
        let stage = match specifications {
            Some(specifications) => stage.message(7, specifications),
            None => stage,
        };
        packet(time, RENDER_STAGE, stage)
    };
    let named = |name| new().text(1, name);
    let specifications = new()
        .message(2, named("queue"))
        .message(3, named("zero"))
        .message(3, new())
        .message(3, named("one"));
    let trace = imported(&[
        stage(10, None),
        stage(12, None),
        stage(20, Some(specifications)),
        stage(25, None),
    ]);
    gives(
        &trace,
        "SELECT s.ts, k.name, s.name FROM gpu_slice AS s JOIN track AS k ON k.id = s.track_id \
         ORDER BY s.id",
        &[
            "10 queue render stage(1)",
            "12 Unknown GPU Queue 0 render stage(1)",
            "20 queue one",
            "25 queue one",
        ],
    );
    gives(&trace, "SELECT count(DISTINCT track_id) FROM gpu_slice", &["3"]);
}

// M: counters

#[test]
fn m1_m2_counters_of_the_kernel() {
    let events = [
        event(10, 5, 11, new().number(1, 900).number(2, 2)),
        event(20, 5, 13, new().number(1, u32::MAX.into()).number(2, 2)),
        event(30, 5, 12, new().number(1, 1).number(2, 2).number(3, 0)),
        event(40, 5, 16, new().text(1, "clk").number(2, u64::MAX)),
        event(50, 5, 509, new().number(1, 5).number(2, 1)),
        event(60, 5, 315, new().number(2, 10).number(3, 100)),
        event(70, 5, 314, new().text(1, "").number(2, 10).number(3, 100)),
        event(80, 5, 342, new().number(1, 3).text(2, "fan")),
        event(80, 5, 342, new().number(1, 3).text(2, "fan")),
    ];
    gives(
        &imported(&[bundle(0, &events)]),
        COUNTERS,
        &[
            "cpu_frequency cpufreq - 10 900",
            "cpu_idle cpuidle - 20 4294967295",
            "cpu_max_frequency_limit Cpu 0 Max Freq Limit - 30 2",
            "cpu_min_frequency_limit Cpu 0 Min Freq Limit - 30 1",
            "clock_frequency clk Frequency - 40 18446744073709552000",
            "gpu_frequency gpufreq kHz 50 5000",
            "ion mem.ion.unknown - 60 110",
            "ion_change mem.ion_change.unknown - 60 10",
            "ion mem.ion - 70 90",
            "ion_change mem.ion_change - 70 -10",
            "cooling_device_counter fan Cooling Device - 80 3",
            "cooling_device_counter fan Cooling Device - 80 3",
        ],
    );
}

#[test]
fn m2_b6_buffers_are_slices_on_lanes() {
    let stat =
        |time, buffer, length| event(time, 5, 335, new().number(1, buffer).signed(2, length));
    let events = [stat(10, 1, 4096), stat(20, 2, 9000), stat(30, 1, -4096)];
    gives(
        &imported(&[bundle(0, &events)]),
        SLICES,
        &["10 20 4 kB mem.ion_buffer 0", "20 -1 8 kB mem.ion_buffer 0"],
    );
}

#[test]
fn m3_counters_of_atrace_are_of_the_process_named() {
    let trace =
        imported(&[prints(5, &["C|7|frames|-3", "C|7|ScreenState|1", "C|7|battery_stats.x|2"])]);
    let of = "SELECT k.type, k.name, p.pid, c.value FROM counter AS c \
              JOIN counter_track AS k ON k.id = c.track_id \
              LEFT JOIN process_counter_track AS o ON o.id = k.id \
              LEFT JOIN process AS p USING (upid) ORDER BY c.id";
    gives(
        &trace,
        of,
        &[
            "atrace_counter frames 7 -3",
            "screen_state ScreenState - 1",
            "battery_stats battery_stats.x - 2",
        ],
    );
}

/// Counters with their processes and threads.
const OWNERS: &str = "SELECT k.type, k.name, p.pid, t.tid, c.value FROM counter AS c \
     JOIN counter_track AS k ON k.id = c.track_id \
     LEFT JOIN process_counter_track AS o ON o.id = k.id LEFT JOIN process AS p USING (upid) \
     LEFT JOIN thread_counter_track AS u ON u.id = k.id LEFT JOIN thread AS t ON t.utid = u.utid \
     ORDER BY c.id";

#[test]
fn m4_m5_memory_is_of_the_process_that_the_thread_is_bound_to_at_the_end() {
    let rss = |time, emitter, size| event(time, emitter, 313, new().number(1, 1).signed(2, size));
    let tree = new().message(2, new().number(1, 6).number(3, 5));
    let trace = imported(&[
        bundle(
            0,
            &[
                rss(10, 6, 4096),
                rss(20, 7, 8192),
                rss(30, 6, -1),
                event(40, 5, 326, new().signed(2, -1000).number(3, 6)),
                event(50, 6, 328, new().number(1, 1).number(2, 2).number(3, 3).number(4, 7)),
            ],
        ),
        packet(60, PROCESS_TREE, tree),
    ]);
    gives(
        &trace,
        OWNERS,
        &[
            "process_memory mem.rss.anon 5 - 4096",
            "process_memory_thread_fallback mem.rss.anon - 7 8192",
            "oom_score_adj oom_score_adj 5 - -1000",
        ],
    );
}

#[test]
fn m5_memory_of_others_is_of_its_owner() {
    let rss = |time, emitter, curr, mm| {
        let fields = new().signed(2, time).number(3, curr).number(4, mm);
        event(time.cast_unsigned(), emitter, 313, fields)
    };
    let events = [rss(10, 5, 1, 9), rss(20, 6, 0, 9), rss(30, 6, 0, 8)];
    gives(
        &imported(&[bundle(0, &events)]),
        OWNERS,
        &[
            "process_memory_thread_fallback mem.rss.file - 5 10",
            "process_memory_thread_fallback mem.rss.file - 5 20",
        ],
    );
}

#[test]
fn m6_process_stats_count_memory() {
    let process = new().number(1, 5).number(3, 4).signed(10, -900).number(21, 7);
    let trace = imported(&[packet(10, PROCESS_STATS, new().message(1, process))]);
    gives(
        &trace,
        "SELECT k.type, k.name, p.pid, c.value FROM counter AS c \
         JOIN process_counter_track AS k ON k.id = c.track_id \
         JOIN process AS p USING (upid) ORDER BY k.name",
        &[
            "process_memory mem.rss 5 4096",
            "oom_score_adj oom_score_adj 5 -900",
            "proc_stat_runtime runtime.user_ns 5 7",
        ],
    );
}

#[test]
fn m7_m8_sys_stats_in_their_order() {
    let disk = |sectors, ms| {
        new().text(1, "sda").number(2, sectors).number(3, ms).number(8, 1).number(9, 2)
    };
    let name = new().text(1, "Linux").text(3, "6.1");
    let stats = new()
        .message(1, new().number(1, 2).number(2, 3))
        .message(1, new().number(1, 99).number(2, 3))
        .message(2, new().number(1, 1).number(2, u64::MAX))
        .message(3, new().number(2, 3))
        .number(4, 8)
        .message(12, new().text(1, "0").text(2, "DMA").number(3, 6).number(3, 7))
        .message(13, disk(2048, 10))
        .message(14, new().number(1, 9).number(2, 1))
        .message(14, new().number(1, 2).number(2, 1))
        .message(15, new().text(1, "zone").text(3, "cpu").number(2, 40))
        .number(17, 300)
        .message(18, new().text(1, "a").number(2, 2).number(3, 3));
    let trace = imported(&[
        packet(5, SYSTEM_INFO, new().message(1, name)),
        packet(10, SYS_STATS, stats),
        packet(20, SYS_STATS, new().message(13, disk(6144, 14))),
    ]);
    gives(
        &trace,
        COUNTERS,
        &[
            "meminfo MemFree bytes 10 3072",
            "vmstat nr_free_pages - 10 18446744073709552000",
            "num_forks num_forks - 10 8",
            "buddyinfo mem.buddyinfo[0][DMA][4 kB] - 10 6",
            "buddyinfo mem.buddyinfo[0][DMA][8 kB] - 10 7",
            "psi psi.cpu.full - 10 1",
            "thermal_temperature_sys cpu C 10 40",
            "gpu_frequency gpufreq kHz 10 300",
            "slabinfo mem.slab.a bytes 10 24576",
            "diskstat diskstat.[sda].read_amount MB 20 2",
            "diskstat diskstat.[sda].read_throughput MB/s 20 500",
            "diskstat diskstat.[sda].write_amount MB 20 0",
            "diskstat diskstat.[sda].write_throughput MB/s 20 0",
            "diskstat diskstat.[sda].discard_amount MB 20 0",
            "diskstat diskstat.[sda].discard_throughput MB/s 20 0",
            "diskstat diskstat.[sda].flush_amount count 20 0",
            "diskstat diskstat.[sda].flush_time ms 20 0",
        ],
    );
}

#[test]
fn m9_batteries() {
    let battery = new()
        .float(2, 77.5)
        .signed(3, -412_000)
        .text(5, "BAT0")
        .signed(6, 500_000)
        .signed(7, 4_100_000);
    gives(
        &imported(&[packet(10, 38, battery)]),
        "SELECT k.name, c.value FROM counter AS c JOIN counter_track AS k ON k.id = c.track_id \
         WHERE k.type = 'battery_counter' ORDER BY k.name",
        &[
            "batt.BAT0.capacity_pct 77.5",
            "batt.BAT0.charge_uah 121951",
            "batt.BAT0.current_ua -412000",
            "batt.BAT0.power_mw 1689",
            "batt.BAT0.voltage_uv 4100000",
        ],
    );
}

#[test]
fn m10_power_rails_may_be_described_later() {
    let energy = |index, ms, energy| new().number(1, index).number(2, ms).number(3, energy);
    let rail = |index, name| new().number(1, index).text(2, name);
    let trace = imported(&[
        packet(10, 40, new().message(2, energy(0, 2, 7)).message(2, energy(1, 3, 8))),
        packet(20, 40, new().message(1, rail(0, "S4M_VDD_TPU")).message(1, rail(300, "x"))),
        packet(30, 40, new().message(2, energy(300, 4, 9))),
    ]);
    gives(&trace, COUNTERS, &["power_rails power.rails.tpu - 2000000 7"]);
}

#[test]
fn m11_a_sample_of_a_gpu_is_for_the_time_before_it() {
    let spec = |id, name, direction| {
        let spec = new().number(1, id).text(2, name).number(7, 7).number(8, 22);
        spec.number(11, direction)
    };
    let specs = new().message(1, spec(0, "before", 1)).message(1, spec(1, "from", 2));
    let sample = |id, value| new().number(1, id).signed(2, value);
    let samples = |a, b| new().message(2, sample(0, a)).message(2, sample(1, b));
    let trace = imported(&[
        packet(10, 52, samples(1, 2)),
        packet(20, 52, samples(3, 4)),
        new().number(10, 3).message(52, samples(5, 6)),
        packet(30, 52, new().message(1, specs)),
    ]);
    gives(
        &trace,
        COUNTERS,
        &[
            "gpu_counter before B/s 10 3",
            "gpu_counter from B/s 10 2",
            "gpu_counter before B/s 20 0",
            "gpu_counter from B/s 20 4",
        ],
    );
}

#[test]
fn m12_gpu_memory_is_of_the_gpu_or_of_a_process() {
    let memory = |pid, size| new().number(1, 1).number(2, pid).number(3, size);
    let trace = imported(&[
        packet(10, 71, memory(0, 100)),
        packet(20, 71, memory(5, 50)),
        bundle(0, &[event(30, 6, 340, memory(6, 7)), event(40, 6, 340, memory(9, 8))]),
    ]);
    gives(
        &trace,
        "SELECT g.type, g.gpu_id, p.pid, c.value FROM counter AS c \
         JOIN gpu_counter_track AS g ON g.id = c.track_id \
         LEFT JOIN process_counter_track AS o ON o.id = g.id LEFT JOIN process AS p USING (upid) \
         ORDER BY c.id",
        &["gpu_memory 1 - 100", "process_gpu_memory 1 5 50", "process_gpu_memory 1 6 7"],
    );
}

#[test]
fn m13_properties_and_the_display() {
    let property =
        |name: &str, value| new().text(1, &format!("debug.tracing.{name}")).text(2, value);
    let properties = new()
        .message(1, property("screen_state", "2"))
        .message(1, property("plug_type", "1"))
        .message(1, property("mcc", "x"))
        .message(1, property("device_state", "open"));
    let trace = imported(&[packet(10, 86, properties), packet(20, 70, new().number(1, 1))]);
    gives(
        &trace,
        COUNTERS,
        &[
            "screen_state ScreenState - 10 2",
            "sysprop_counter PlugType - 10 1",
            "screen_state ScreenState - 20 1",
        ],
    );
    gives(&trace, SLICES, &["10 0 open DeviceStateChanged 0"]);
}

// H: machines, cpus, GPUs, bounds

#[test]
fn h1_machines_are_numbered_as_they_are_seen() {
    let name = new().text(1, "Linux").text(2, "#1").text(3, "6.1").text(4, "arm");
    let info = new().message(1, name).number(8, 4);
    let trace = imported(&[
        bundle(0, &[waking(10, 1, 2, "")]),
        packet(20, SYSTEM_INFO, info).number(98, 77),
    ]);
    gives(
        &trace,
        "SELECT id, raw_id, sysname, release, version, arch, num_cpus FROM machine ORDER BY id",
        &["0 0 - - - - -", "1 77 Linux 6.1 #1 arm 4"],
    );
    let alone = imported(&[bundle(0, &[waking(10, 1, 2, "")]).number(98, 77)]);
    gives(&alone, "SELECT id, raw_id FROM machine", &["0 77"]);
}

#[test]
fn h2_h3_cpus_have_clusters_by_capacity() {
    let cpu = |capacity| new().text(1, "").number(2, 900).number(3, capacity);
    let info = new().message(1, cpu(1024)).message(1, cpu(250));
    let trace =
        imported(&[packet(5, 67, info), bundle(7, &[switch(10, (0, 0), (1, "a"))]).number(98, 77)]);
    gives(
        &trace,
        "SELECT ucpu, cpu, machine_id, cluster_id, processor, capacity FROM cpu ORDER BY ucpu",
        &["0 0 0 1 - 1024", "1 1 0 0 - 250", "4103 7 1 0 - -"],
    );
    gives(
        &trace,
        "SELECT cpu, freq FROM cpu_available_frequencies ORDER BY id",
        &["0 900", "1 900"],
    );
}

#[test]
fn h4_gpus_are_those_of_gpu_info_and_of_tracks() {
    let gpu = new().text(1, "Mali").text(2, "Arm");
    let trace = imported(&[
        packet(5, 128, new().message(1, gpu)),
        bundle(0, &[event(10, 1, 332, new().number(1, 3).number(2, 5))]),
    ]);
    gives(
        &trace,
        "SELECT gpu, name, vendor, machine_id FROM gpu ORDER BY gpu",
        &["0 Mali Arm 0", "3 - - 0"],
    );
}

#[test]
fn h5_the_bounds_are_those_of_all_tables() {
    let trace = imported(&[prints(5, &["B|5|n"]), packet(900, SYS_STATS, new().number(4, 1))]);
    gives(&trace, "SELECT start_ts, end_ts FROM trace_bounds", &["1 900"]);
}

#[test]
fn h6_arguments_of_slices_and_samples() {
    let trace = imported(&[prints(5, &["S|5|a|7", "G|5|t|g|1", "H|5|t|1", "C|5|n|1"])]);
    let args = |of: &str| {
        format!(
            "SELECT a.key, a.value_type, coalesce(t.tid, a.int_value) FROM {of} AS s \
             JOIN args AS a USING (arg_set_id) \
             LEFT JOIN thread AS t ON t.utid = a.int_value AND a.key LIKE '%utid' \
             ORDER BY s.id, a.key"
        )
    };
    gives(&trace, &args("slice"), &["cookie int 7", "end_utid uint 5", "utid uint 5"]);
    gives(&trace, &args("counter"), &["utid uint 5"]);
}

// Malformed traces

/// No contents of a trace end an import.
#[test]
fn h1_p14_b1_m7_gp1_what_is_malformed_does_no_harm() {
    let broken: [&[u8]; 9] = [
        &[0xff],
        &[0x0a, 0x7f],
        &[0x0a, 0x01, 0xff],
        &[0x0a, 0x00],
        &[0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
        &[0x10, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02],
        &[0x12, 0x03, 0x0a, 0x01, 0xff],
        &[0x0f],
        &[0x12, 0x06, 0x08, 0x01, 0x10, 0x01, 0x1a, 0x00, 0x22, 0x01, 0xff],
    ];
    let payloads = [1, 2, 7, 9, 34, 38, 39, 40, 43, 44, 45, 52, 53, 60, 67, 69, 70, 71, 86, 128];
    let mut packets = Vec::new();
    for bytes in broken {
        for payload in payloads {
            let header = new().number(8, 10).number(10, 3);
            packets.push(header.clone().bytes(payload, bytes));
            packets.push(header.bytes(12, bytes).bytes(payload, &[]));
        }
        let kinds = [3, 4, 18, 20, 24, 36, 80, 235, 236, 240, 313, 325, 331, 335, 340, 348, 467];
        for kind in kinds {
            let event = new().number(1, 10).number(2, 5).bytes(kind, bytes);
            packets.push(bundle(0, &[event]));
        }
        packets.push(new().number(10, 2).message(1, new().bytes(4, bytes)));
    }
    let deep = (0..200).map(|uuid| {
        let descriptor = new().number(1, uuid).number(5, (uuid + 1) % 200);
        packet(20, TRACK_DESCRIPTOR, descriptor)
    });
    packets.extend(deep);
    packets.push(print(u64::MAX, u32::MAX.into(), "B|4294967295|\u{10ffff}"));
    let trace = imported(&packets);
    assert_eq!(trace.count("SELECT count(*) FROM packet"), packets.len() as i64);
}

#[test]
fn h7_a_cpu_says_what_kind_it_is() {
    let arm = new().number(1, 0x41).number(2, 8).number(4, 0xd05);
    let cpus = new()
        .message(1, new().message(4, arm).number(5, 6))
        .message(1, new().number(5, 1 << 63))
        .message(1, new().text(1, "x"));
    let trace = imported(&[packet(1, 67, cpus)]);
    let args = "SELECT c.cpu, a.key, a.value_type, a.int_value FROM cpu AS c \
         JOIN args AS a USING (arg_set_id) ORDER BY c.cpu, a.key";
    gives(
        &trace,
        args,
        &[
            "0 arm_cpu_architecture uint 8",
            "0 arm_cpu_implementer uint 65",
            "0 arm_cpu_part uint 3333",
            "0 arm_cpu_revision uint 0",
            "0 arm_cpu_variant uint 0",
            "0 cpu_features.mte3 bool 1",
            "0 cpu_features.raw_bitmap uint 6",
            "1 cpu_features.raw_bitmap uint -9223372036854775808",
        ],
    );
    gives(&trace, "SELECT cpu FROM cpu WHERE arg_set_id IS NULL", &["2"]);
}

/// The time that CPUs spent for users, on the one sequence.
fn spent(time: u64, clusters: Option<u64>, of: &[(u64, &[u64])]) -> Message {
    let mut said = new();
    if let Some(clusters) = clusters {
        said = said.number(1, clusters);
    }
    for (uid, times) in of {
        said = said.number(2, *uid);
        said = times.iter().fold(said, |said, &time| said.number(3, time));
    }
    packet(time, 119, said)
}

const SPENT: &str = "SELECT k.type, k.name, k.unit, c.ts, c.value FROM counter AS c \
     JOIN counter_track AS k ON k.id = c.track_id ORDER BY k.type, k.name, c.ts";

#[test]
fn cu1_to_cu4_worked_example() {
    let of = |time: u64| -> Vec<(u64, Vec<u64>)> { vec![(10001, vec![time])] };
    let at = |ts, clusters, time| {
        let of = of(time);
        let of: Vec<(u64, &[u64])> = of.iter().map(|(uid, times)| (*uid, &times[..])).collect();
        spent(ts, clusters, &of)
    };
    let trace = imported(&[at(10, Some(1), 5), at(20, None, 0), at(30, None, 0), at(40, None, 7)]);
    gives(
        &trace,
        SPENT,
        &[
            "android_cpu_per_uid CPU for UID 10001 CL0 ms 10 5",
            "android_cpu_per_uid CPU for UID 10001 CL0 ms 30 5",
            "android_cpu_per_uid CPU for UID 10001 CL0 ms 40 12",
            "android_cpu_per_uid_totals CPU for Apps CL0 ms 10 0",
            "android_cpu_per_uid_totals CPU for Apps CL0 ms 30 0",
            "android_cpu_per_uid_totals CPU for Apps CL0 ms 40 7",
        ],
    );
    let dimensions = "SELECT k.type, group_concat(a.key || ' ' || a.value_type || '=' || \
         coalesce(a.string_value, a.int_value)) FROM track AS k \
         JOIN args AS a ON a.arg_set_id = k.dimension_arg_set_id GROUP BY k.id ORDER BY k.type";
    gives(
        &trace,
        dimensions,
        &[
            "android_cpu_per_uid cluster int=0,uid int=10001",
            "android_cpu_per_uid_totals cluster int=0,type string=Apps",
        ],
    );
}

#[test]
fn cu2_cu3_users_of_a_range_share_tracks_and_a_cleared_state_begins_anew() {
    let trace = imported(&[
        spent(10, Some(2), &[(1000, &[1, 2]), (1_090_123, &[3, 4])]),
        spent(20, None, &[(1000, &[10, 0]), (1_090_124, &[9, 9]), (1_090_123, &[1])]),
        // From then on the values are absolute again; the growth is to the last of any interval.
        spent(30, Some(1), &[(1000, &[15]), (1_090_123, &[2])]).number(13, 1),
    ]);
    gives(
        &trace,
        SPENT,
        &[
            "android_cpu_per_uid CPU for UID 1000 CL0 ms 10 1",
            "android_cpu_per_uid CPU for UID 1000 CL0 ms 20 11",
            "android_cpu_per_uid CPU for UID 1000 CL0 ms 30 15",
            "android_cpu_per_uid CPU for UID 1000 CL1 ms 10 2",
            "android_cpu_per_uid CPU for UID 1090000 CL0 ms 10 0",
            "android_cpu_per_uid CPU for UID 1090000 CL0 ms 20 1",
            "android_cpu_per_uid CPU for UID 1090000 CL1 ms 10 0",
            "android_cpu_per_uid_totals CPU for Apps CL0 ms 10 0",
            "android_cpu_per_uid_totals CPU for Apps CL0 ms 20 1",
            "android_cpu_per_uid_totals CPU for Apps CL1 ms 10 0",
            "android_cpu_per_uid_totals CPU for System CL0 ms 10 0",
            "android_cpu_per_uid_totals CPU for System CL0 ms 20 10",
            "android_cpu_per_uid_totals CPU for System CL0 ms 30 14",
            "android_cpu_per_uid_totals CPU for System CL1 ms 10 0",
        ],
    );
}

#[test]
fn gp6_slices_of_gpus_have_arguments() {
    let spec = |iid, name: &str| new().number(1, iid).text(2, name);
    let interned =
        new().message(24, spec(1, "q")).message(24, spec(2, "draw").text(3, "d").number(4, 1));
    let extra = |name: &str| new().text(1, name);
    let full = new()
        .number(1, 7)
        .number(13, 1)
        .number(14, 2)
        .number(5, 3)
        .number(8, u64::MAX)
        .number(10, 4)
        .number(15, 5)
        .number(16, 9)
        .message(6, extra("k").text(2, "v"))
        .message(6, extra("none"));
    let stage = new().text(1, "old").text(2, "described");
    let old = new().number(1, 8).number(4, 0).message(7, new().message(3, stage));
    let trace = imported(&[
        packet(1, RENDER_STAGE, full).number(13, 1).message(12, interned),
        packet(2, RENDER_STAGE, old),
        // No stage is named.
        packet(3, RENDER_STAGE, new().number(1, 9)),
    ]);
    let args = "SELECT s.ts, a.key, a.value_type, coalesce(a.string_value, a.int_value) FROM slice AS s \
         JOIN args AS a USING (arg_set_id) ORDER BY s.ts, a.key";
    let rest = |ts: u64, queue: u64| {
        [
            format!("{ts} command_buffer uint 0"),
            format!("{ts} command_buffer_name string -"),
            format!("{ts} context_id uint 0"),
            format!("{ts} hw_queue_id uint {queue}"),
            format!("{ts} render_pass uint 0"),
            format!("{ts} render_pass_name string -"),
            format!("{ts} render_subpasses string -"),
            format!("{ts} render_target uint 0"),
            format!("{ts} render_target_name string -"),
            format!("{ts} submission_id int 0"),
            format!("{ts} upid int 0"),
        ]
    };
    let mut expected: Vec<String> = rest(1, 1)
        .into_iter()
        .map(|line| match line.as_str() {
            "1 context_id uint 0" => "1 context_id uint 3".to_owned(),
            "1 render_subpasses string -" => "1 render_subpasses string 0,2".to_owned(),
            "1 render_target uint 0" => "1 render_target uint -1".to_owned(),
            "1 submission_id int 0" => "1 submission_id int 4".to_owned(),
            _ => line,
        })
        .collect();
    expected.extend(
        [
            "1 correlation_id string rp:#9",
            "1 description string d",
            "1 k string v",
            "1 none string -",
            "1 render_stage_category int 1",
            "2 description string described",
        ]
        .map(str::to_owned),
    );
    expected.extend(rest(2, 0));
    expected.extend(rest(3, 0));
    expected.sort();
    let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
    gives(&trace, args, &expected);
}
