//! The values of events. Each is a line with its id, time, track and value.

use std::collections::BTreeMap;

use timebase_schema::tables;
use timebase_trace::Interval;

use crate::definitions::{
    CounterGroup, Definitions, DescribedCounter, GpuCounter, GroupCalled, RailIndex,
};
use crate::place::PartIx;
use crate::timeline::{Energy, Event, FtraceEvent, PacketEvent};
use crate::trackers::testing::{Bytes, Double, Number, Trace, WrittenRows, message};

fn ftrace(tid: u32, field: u32, message: &[u8]) -> Event<'_> {
    Event::Ftrace(FtraceEvent {
        part: PartIx(0),
        machine: 0,
        cpu: 0,
        tid,
        interval: Interval::default(),
        field,
        message,
    })
}

fn packet(field: u32, payload: &[u8]) -> Event<'_> {
    Event::Packet(PacketEvent {
        part: PartIx(0),
        id: 0,
        file: 0,
        machine: 0,
        field,
        trusted_pid: 0,
        interval: Interval::default(),
        valid: true,
        payload,
    })
}

/// Follows events.
fn follow(definitions: Definitions, events: &[(i64, Event<'_>)]) -> WrittenRows {
    let mut trace = Trace::default();
    for (ts, event) in events {
        trace.push(*ts, event);
    }
    trace.follow(definitions)
}

/// Values by their ids: `id ts type/name owner value`.
fn values(definitions: Definitions, events: &[(i64, Event<'_>)]) -> Vec<String> {
    let made = follow(definitions, events);
    let tracks: BTreeMap<_, _> = made
        .rows(&tables::track_record::TABLE)
        .into_iter()
        .map(|track| {
            let owner = ["utid", "upid", "ucpu", "ugpu"].iter().zip(&track[9..13]);
            let owner = owner.filter(|(_, id)| *id != "-");
            let owner: Vec<_> = owner.map(|(key, id)| format!("{key}{id} ")).collect();
            let said = format!("{}/{} {}", track[2], track[1], owner.concat());
            (track[0].clone(), said)
        })
        .collect();
    let values: BTreeMap<i64, String> = made
        .rows(&tables::counter_record::TABLE)
        .into_iter()
        .map(|row| {
            let id = row[0].parse().unwrap();
            (id, format!("{id} {} {}{}", row[1], tracks[&row[2]], row[3]))
        })
        .collect();
    values.into_values().collect()
}

fn rss_stat(member: u64, size: i64, space: Option<(u64, bool)>) -> Vec<u8> {
    let mut fields = vec![(1, Number(member)), (2, Number(size as u64))];
    if let Some((space, is_own)) = space {
        fields.extend([(3, Number(is_own.into())), (4, Number(space))]);
    }
    message(&fields)
}

/// Process 1 has the thread 11 (upid 1; utids 1 and 2, or in the order of events).
fn binding() -> Vec<u8> {
    let thread = message(&[(1, Number(11))]);
    let process = message(&[(1, Number(1)), (11, Bytes(&thread))]);
    message(&[(1, Bytes(&process))])
}

#[test]
fn m4_values_belong_to_the_process_that_the_thread_is_bound_to_in_the_end() {
    let (rss, binding) = (rss_stat(1, 4096, None), binding());
    let found = values(
        Definitions::default(),
        &[
            (1, ftrace(11, 313, &rss)),
            (2, ftrace(12, 313, &rss)),
            (3, packet(9, &binding)),
            (4, ftrace(11, 313, &rss)),
        ],
    );
    assert_eq!(
        found,
        [
            "0 1 process_memory/mem.rss.anon upid1 4096",
            "1 2 process_memory_thread_fallback/mem.rss.anon utid2 4096",
            "2 4 process_memory/mem.rss.anon upid1 4096",
        ]
    );
}

#[test]
fn m4_m6_both_have_one_track() {
    let (rss, binding) = (rss_stat(1, 4096, None), binding());
    let process = message(&[(1, Number(1)), (4, Number(2))]);
    let stats = message(&[(1, Bytes(&process))]);
    let events = [(1, ftrace(11, 313, &rss)), (2, packet(9, &binding)), (3, packet(9, &stats))];
    let made = follow(Definitions::default(), &events);
    assert_eq!(made.rows(&tables::track_record::TABLE).len(), 1);
    assert_eq!(made.rows(&tables::counter_record::TABLE).len(), 2);
}

#[test]
fn m5_an_address_space_is_its_owners() {
    let own = rss_stat(0, 1, Some((7, true)));
    let foreign = rss_stat(0, 2, Some((7, false)));
    let unknown = rss_stat(0, 3, Some((8, false)));
    let negative = rss_stat(0, -4, Some((8, true)));
    let member = rss_stat(9, 5, None);
    let free = message(&[(2, Number(11))]);
    let track = "process_memory_thread_fallback/mem.rss.file utid1";
    let found = values(
        Definitions::default(),
        &[
            (1, ftrace(11, 313, &own)),
            (2, ftrace(12, 313, &foreign)),
            (3, ftrace(12, 313, &unknown)),
            (4, ftrace(12, 313, &negative)),
            (5, ftrace(12, 313, &unknown)),
            (6, ftrace(12, 240, &free)),
            (7, ftrace(12, 313, &foreign)),
            (8, ftrace(12, 313, &member)),
        ],
    );
    assert_eq!(
        found,
        [
            format!("0 1 {track} 1"),
            format!("1 2 {track} 2"),
            "2 8 process_memory_thread_fallback/mem.unknown utid2 5".to_owned(),
        ]
    );
}

#[test]
fn m2_a_counter_of_a_cpu_that_no_machine_has_is_left_out_and_logged() {
    let frequency = |cpu| message(&[(1, Number(1000)), (2, Number(cpu))]);
    let (last, beyond) = (frequency(4095), frequency(4096));
    let events = [(1, ftrace(1, 11, &last)), (2, ftrace(1, 11, &beyond))];
    assert_eq!(
        values(Definitions::default(), &events),
        ["0 1 cpu_frequency/cpufreq ucpu4095 1000"]
    );
    let log = follow(Definitions::default(), &events).rows(&tables::import_log::TABLE);
    assert_eq!(log[0][2], "counter_cpu_out_of_range");
    assert_eq!(log[0][6], "1 counter values of CPUs above 4095 are left out");
}

#[test]
fn m2_h6_a_change_of_a_heap_has_its_inode() {
    let change = message(&[(1, Number(u64::MAX)), (2, Number(-8i64 as u64)), (3, Number(64))]);
    let events = [(1, ftrace(5, 351, &change))];
    assert_eq!(
        values(Definitions::default(), &events),
        [
            "0 1 android_dma_heap/mem.dma_heap 64",
            "1 1 android_dma_heap_change/mem.dma_heap_change utid1 -8",
        ]
    );
    let made = follow(Definitions::default(), &events);
    let changes = made.rows(&tables::counter_record::TABLE);
    let sets = made.rows(&tables::arg_set::TABLE);
    let set = sets.iter().find(|set| set[0] == changes[1][4]).unwrap();
    assert_eq!(set[1..], [r#"{"inode":18446744073709551615}"#, "0"]);
    let types = made.rows(&tables::arg_type::TABLE);
    assert_eq!(types, [["0", r#"{"inode":"uint"}"#, "-"]]);
}

#[test]
fn m2_a_heap_without_a_name_is_unknown_and_one_of_an_empty_name_is_all() {
    let size = (2, Number(10));
    let total = (3, Number(100));
    let nameless = message(&[size, total]);
    let (size, total) = ((2, Number(10)), (3, Number(100)));
    let empty = message(&[(1, Bytes(b"")), size, total]);
    let events = [(1, ftrace(5, 315, &nameless)), (2, ftrace(5, 314, &empty))];
    assert_eq!(
        values(Definitions::default(), &events),
        [
            "0 1 ion/mem.ion.unknown 110",
            "1 1 ion_change/mem.ion_change.unknown utid1 10",
            "2 2 ion/mem.ion 90",
            "3 2 ion_change/mem.ion_change utid1 -10",
        ]
    );
}

#[test]
fn m7_what_has_no_name_is_left_out_alone() {
    let psi = |resource, total| message(&[(1, Number(resource)), (2, Number(total))]);
    let (unknown, known) = (psi(7, 1), psi(6, 2));
    let zone = message(&[(1, Bytes(b"zone")), (2, Number(45)), (3, Bytes(b"skin"))]);
    let buddy = message(&[(1, Bytes(b"0")), (2, Bytes(b"DMA")), (3, Bytes(&[1, 2]))]);
    let stats = message(&[
        (14, Bytes(&unknown)),
        (15, Bytes(&zone)),
        (14, Bytes(&known)),
        (17, Number(300)),
        (12, Bytes(&buddy)),
    ]);
    assert_eq!(
        values(Definitions::default(), &[(1, packet(7, &stats))]),
        [
            "0 1 buddyinfo/mem.buddyinfo[0][DMA][4 kB] 1",
            "1 1 buddyinfo/mem.buddyinfo[0][DMA][8 kB] 2",
            "2 1 psi/psi.mem.full 2",
            "3 1 thermal_temperature_sys/skin 45",
            "4 1 gpu_frequency/gpufreq ugpu0 300",
        ]
    );
}

#[test]
fn m10_a_rail_may_be_described_later_and_rails_of_one_name_are_two() {
    let mut definitions = Definitions::default();
    let index = |session, index| RailIndex { session, index };
    definitions.parts.of(PartIx(0)).rails.describe(index(5, 0), "S1_GONE", None);
    definitions.parts.of(PartIx(0)).rails.describe(index(5, 0), "S2M_VDD_INT", None);
    definitions.parts.of(PartIx(0)).rails.describe(index(6, 0), "S5M_VDD_INT", None);
    let energy = |session, index| {
        Event::Energy(Energy {
            part: PartIx(0),
            machine: 0,
            session,
            index,
            energy: u64::MAX,
            packet_ts: None,
        })
    };
    let events = [(1, energy(5, 0)), (2, energy(6, 0)), (3, energy(6, 1))];
    let name = "power_rails/power.rails.system.fabric";
    let most = u64::MAX as f64;
    assert_eq!(
        values(definitions, &events),
        [format!("0 1 {name} {most}"), format!("1 2 {name} {most}")]
    );
}

fn counter(name: &str, is_forwards: bool) -> GpuCounter {
    GpuCounter { gpu: 3, name: name.into(), unit: None, description: None, is_forwards }
}

fn described(number: u32, counter: GpuCounter, groups: &[i32]) -> DescribedCounter {
    DescribedCounter { number, counter, groups: groups.to_vec() }
}

#[test]
fn m11_on_one_track_the_last_row_gets_a_value_of_the_time_before() {
    let mut definitions = Definitions::default();
    let own = [described(1, counter("both", false), &[]), described(2, counter("both", true), &[])];
    definitions.parts.of(PartIx(0)).gpu_counters.describe(own.into(), Vec::new());
    let sample = |number, value| message(&[(1, Number(number)), (2, Number(value))]);
    let samples = [(1, 5), (2, 6), (1, 7), (2, 8)];
    let samples = samples.map(|(number, value)| message(&[(2, Bytes(&sample(number, value)))]));
    let events: Vec<_> = (1..).zip(&samples).map(|(ts, sample)| (ts, packet(52, sample))).collect();
    assert_eq!(
        values(definitions, &events),
        [
            "0 1 gpu_counter/both ugpu0 0",
            "1 2 gpu_counter/both ugpu0 7",
            "2 3 gpu_counter/both ugpu0 0",
            "3 4 gpu_counter/both ugpu0 8",
        ]
    );
}

#[test]
fn m14_counters_are_in_the_groups_that_they_and_that_groups_name() {
    let group = |group, name: Option<&str>, counters: &[u32]| CounterGroup {
        group,
        called: GroupCalled { name: name.map(Into::into), description: None },
        counters: counters.to_vec(),
    };
    let mut definitions = Definitions::default();
    let known = &mut definitions.parts.of(PartIx(0)).gpu_counters;
    let own = |groups: &[i32]| vec![described(1, counter("busy", false), groups)];
    // If two groups have one number, the first group names it.
    let groups =
        [group(3, Some("three"), &[1, 9]), group(3, None, &[1, 1]), group(-1, Some("below"), &[])];
    known.describe(own(&[3, -1, 4]), groups.into());
    // The counter has a description already.
    known.describe(own(&[5]), vec![group(6, None, &[1])]);
    for cleared in 0..2 {
        let interval = Interval { cleared, ..Interval::default() };
        let described = || (own(&[]), vec![group(0, Some("zero"), &[1])]);
        known.intern(interval, 9, b"", described);
    }
    let found = follow(definitions, &[]);
    let strings = found.rows(&tables::string::TABLE);
    let text = |id: &str| match id.parse::<usize>() {
        Ok(id) => strings[id][1].clone(),
        Err(_) => id.to_owned(),
    };
    let rows = found.rows(&tables::gpu_counter_group_record::TABLE);
    let rows = rows.iter().map(|row| {
        let of = row[..3].join(" ");
        format!("{of} {} {}", text(&row[3]), text(&row[4]))
    });
    assert_eq!(
        rows.collect::<Vec<_>>(),
        [
            "0 3 0 three -",
            "1 -1 0 below -",
            "2 4 0 - -",
            "3 3 0 three -",
            "4 3 0 - -",
            "5 3 0 - -",
            "6 0 0 - -",
            "7 0 0 zero -",
        ]
    );
}

#[test]
fn m11_a_sample_is_for_the_time_before_it() {
    let mut definitions = Definitions::default();
    let known = &mut definitions.parts.of(PartIx(0)).gpu_counters;
    let described = |number, counter| described(number, counter, &[]);
    let own = [
        described(1, counter("busy", false)),
        described(1, counter("late", false)),
        described(2, counter("load", true)),
    ];
    known.describe(own.into(), Vec::new());
    let interned = || (vec![described(1, counter("busy", false))], Vec::new());
    known.intern(Interval::default(), 9, b"", interned);
    let one = message(&[(1, Number(1)), (2, Number(-5i64 as u64))]);
    let two = message(&[(1, Number(2)), (3, Double(1.5))]);
    let none = message(&[(1, Number(7)), (2, Number(1))]);
    let sample = message(&[(2, Bytes(&one)), (2, Bytes(&two)), (2, Bytes(&none))]);
    let by_iid = message(&[(4, Number(9)), (2, Bytes(&one)), (2, Bytes(&two))]);
    let unknown = message(&[(4, Number(8)), (2, Bytes(&one))]);
    let found = values(
        definitions,
        &[
            (1, packet(52, &sample)),
            (2, packet(52, &by_iid)),
            (3, packet(52, &unknown)),
            (4, packet(52, &sample)),
        ],
    );
    assert_eq!(
        found,
        [
            "0 1 gpu_counter/busy ugpu0 -5",
            "1 1 gpu_counter/load ugpu0 1.5",
            "2 2 gpu_counter/busy ugpu0 -5",
            "3 4 gpu_counter/busy ugpu0 0",
            "4 4 gpu_counter/load ugpu0 1.5",
        ]
    );
}

#[test]
fn m12_memory_of_a_gpu_is_of_processes_that_live() {
    let memory = |pid, size| message(&[(1, Number(2)), (2, Number(pid)), (3, Number(size))]);
    let (all, gone, own) = (memory(0, 9), memory(40, 8), memory(41, 7));
    let found = values(
        Definitions::default(),
        &[
            (1, ftrace(5, 340, &all)),
            (2, ftrace(5, 340, &gone)),
            (3, packet(71, &own)),
            (4, ftrace(5, 340, &own)),
        ],
    );
    assert_eq!(
        found,
        [
            "0 1 gpu_memory/GPU Memory ugpu0 9",
            "1 3 process_gpu_memory/GPU Memory upid1 ugpu0 7",
            "2 4 process_gpu_memory/GPU Memory upid1 ugpu0 7",
        ]
    );
}

#[test]
fn h4_gpu_info_says_what_gpus_are() {
    let more = message(&[(1, Bytes(b"driver")), (2, Bytes(b"7"))]);
    let gpu = message(&[
        (1, Bytes(b"Fast")),
        (2, Bytes(b"")),
        (5, Bytes(&[0xab, 1])),
        (6, Bytes(&more)),
        (7, Bytes(b"00:02.0")),
    ]);
    let info = message(&[(1, Bytes(&gpu)), (1, Bytes(&[]))]);
    let found = follow(Definitions::default(), &[(1, packet(128, &info))]);
    let gpus = found.rows(&tables::gpu_record::TABLE);
    assert_eq!(
        gpus,
        [
            ["0", "0", "Fast", "-", "-", "-", "ab01", "00:02.0", "0", "0"],
            ["1", "1", "-", "-", "-", "-", "-", "-", "0", "-"],
        ]
    );
}
