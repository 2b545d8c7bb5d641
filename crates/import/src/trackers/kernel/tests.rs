use super::super::testing::{Bytes, Field, Number, Trace};
use super::*;
use crate::definitions::Definitions;
use crate::trackers::reads_ftrace;

#[test]
fn ke47_every_event_has_one_route_and_reaches_trackers() {
    let routes = &*ROUTES;
    let in_table = TABLE.iter().map(|line| line.event);
    let in_files = SUBJECTS.iter().flat_map(|(_, events)| events.iter().copied());
    for event in in_table.clone() {
        assert!(matches!(routes.0[event as usize], Route::Lines(..)), "{event}");
    }
    for event in in_files.clone() {
        assert!(matches!(routes.0[event as usize], Route::Subject(_)), "{event}");
    }
    for event in in_table.chain(in_files) {
        assert!(EVENTS.has(event) && reads_ftrace(event), "{event}");
    }
    let known = routes.0.iter().filter(|route| !matches!(route, Route::Nothing));
    let all = (0..Events::COUNT as u32).filter(|&event| EVENTS.has(event));
    assert_eq!(known.count(), all.count());
    assert!(!EVENTS.has(3) && reads_ftrace(3) && !reads_ftrace(u32::MAX));
}

#[test]
fn ke47_lines_of_an_event_stand_together() {
    let groups = TABLE.chunk_by(|one, other| one.event == other.event);
    let mut events: Vec<_> = groups.map(|lines| lines[0].event).collect();
    let count = events.len();
    events.sort_unstable();
    events.dedup();
    assert_eq!(events.len(), count);
}

/// Slices of events of one thread, at the times 1, 2, 3 …
fn slices(events: &[(u32, &[(u32, Field<'_>)])]) -> Vec<String> {
    trace(events).slices()
}

fn trace(events: &[(u32, &[(u32, Field<'_>)])]) -> Trace {
    let events = events.iter().zip(1..);
    events
        .fold(Trace::default(), |trace, (&(field, fields), ts)| trace.ftrace(ts, 5, field, fields))
}

#[test]
fn ke21_ke25_a_function_without_a_name_is_its_address() {
    let address = u64::MAX;
    let trace = trace(&[
        (437, &[(2, Number(7))]),
        (437, &[(2, Number(address))]),
        (437, &[]),
        (438, &[(3, Number(7))]),
        (443, &[(8, Number(7))]),
    ]);
    let symbol = [(1, Number(7)), (2, Bytes(b"do_it"))];
    let slices = trace.interned(26, &symbol).slices();
    assert_eq!(
        slices,
        [
            "1+3 0 do_it, thread_funcgraph/Funcgraph#0 utid1",
            "2+-1 1 0xffffffffffffffff, thread_funcgraph/Funcgraph#0 utid1",
            "3+-1 2 0, thread_funcgraph/Funcgraph#0 utid1",
            "5+-1 0 mm_vmscan_shrink_slab, thread_execution/-#1 utid1 shrink_name=do_it total_scan=0 priority=0",
        ]
    );
}

#[test]
fn ke7_ke11_sums_of_the_largest_numbers_do_not_overflow() {
    let most = || (1, Number(u64::MAX));
    let many = trace(&[
        (360, &[most(), (2, Bytes(b"lo"))]),
        (360, &[most(), (2, Bytes(b"lo"))]),
        (361, &[most(), (2, Bytes(b"lo"))]),
        (361, &[most(), (2, Bytes(b"lo")), (3, Number(1))]),
        (367, &[(2, Number(0x800))]),
        (367, &[(2, Number(0x801))]),
        (367, &[(2, Number(0x86dd))]),
    ]);
    let args = "cpu=3 len=4294967295";
    assert_eq!(
        many.follow(Definitions::default()).values(),
        [
            format!("1 4194303, net_receive/lo Received KB#0 {args}"),
            format!("2 8388607, net_receive/lo Received KB#0 {args}"),
            format!("3 4194303, net_transmit/lo Transmitted KB#1 {args}"),
            "5 1, net_kfree_skb/Kfree Skb IP Prot#2 protocol=IP".to_owned(),
            "7 2, net_kfree_skb/Kfree Skb IP Prot#2 protocol=IPV6".to_owned(),
        ]
    );
}

#[test]
fn ke41_the_difference_of_the_farthest_times_wraps() {
    let least = Number(i64::MIN as u64);
    let values = trace(&[(364, &[(1, least), (2, Number(1)), (5, Number(2))])]);
    let made = values.follow(Definitions::default()).values();
    let name = "cros_ec_sensorhub_data/cros_ec.cros_ec_sensorhub_data.2#0";
    assert_eq!(made, [format!("1 9223372036854776000, {name} ec_num=2 ec_delta=-1 sample_ts=1")]);
}

#[test]
fn ke12_ke15_ke43_long_names_are_cut() {
    let name = "ä".repeat(40);
    let made = slices(&[
        (113, &[(1, Bytes(name.as_bytes())), (3, Number(1))]),
        (404, &[(1, Bytes(name.as_bytes()))]),
        (424, &[(3, Number(i32::MIN as u32 as u64)), (4, Number(u64::MAX))]),
    ]);
    let cut =
        |text: &str, count: usize| String::from_utf8_lossy(&text.as_bytes()[..count]).into_owned();
    assert!(made[0].contains(&cut(&name, 63)) && !made[0].contains('('), "{made:?}");
    let lock = cut(&format!("Wakelock({name}"), 31);
    assert!(made[1].contains(&format!("{lock}, wakesource_wakelock/{lock}#")), "{made:?}");
    let longest = "vb2_v4l2_buf_queue minor=-2147483648 seq=4294967295 type=0 inde,";
    assert!(made[2].contains(longest), "{made:?}");
}

#[test]
fn ke28_an_adapter_that_there_cannot_be_is_ignored() {
    let transfer = |adapter| [(1, Number(adapter)), (2, Number(0))];
    let made = slices(&[
        (27, &transfer(256)),
        (28, &transfer(u64::MAX)),
        (27, &transfer(255)),
        (28, &[(1, Number(1)), (2, Number(u64::from(u32::MAX)))]),
        (29, &[(1, Number(255)), (2, Number(1))]),
        (29, &transfer(256)),
    ]);
    assert_eq!(made, ["3+2 0 i2c-255, thread_execution/-#0 utid1"]);
}

#[test]
fn ke32_a_call_without_an_architecture_has_its_number() {
    let made = slices(&[
        (329, &[(1, Number(1)), (2, Number(u64::MAX)), (2, Number(2))]),
        (329, &[(1, Number(u64::MAX))]),
        (330, &[(1, Number(1)), (2, Number(i64::MIN as u64))]),
    ]);
    assert_eq!(
        made,
        [
            "1+2 0 sys_1, thread_execution/-#0 utid1 args[0]=18446744073709551615 args[1]=2 ret=-9223372036854775808"
        ]
    );
}

#[test]
fn ke31_a_checkpoint_lists_its_reasons() {
    let made = slices(&[
        (272, &[(1, Number(u64::MAX)), (4, Number(0x81))]),
        (272, &[(5, Number(1))]),
        (272, &[]),
        (272, &[(5, Number(2))]),
    ]);
    let track = "f2fs_write_checkpoint/f2fs_ckpt 5#0 upid1";
    assert_eq!(
        made,
        [
            format!(
                "1+2 0 F2fs Write Checkpoint, {track} dev=18446744073709551615 reason_int=129 reason_str[0]=Umount reason_str[1]=Resize"
            ),
            format!("3+1 0 F2fs Write Checkpoint, {track} dev=0 reason_int=0 reason_str=Unknown"),
        ]
    );
}

#[test]
fn kb4_frames_of_a_thread_are_limited() {
    let send = (485, &[(1, Number(0x4040_6300))][..]);
    let fails = (486, &[(1, Number(0x7205))][..]);
    let mut events = vec![(53, &[][..])];
    events.extend(vec![send; 600]);
    events.push((50, &[]));
    events.push(fails);
    events.extend(vec![fails; 600]);
    let made = slices(&events);
    let lines: Vec<_> = made.iter().map(|line| line.split(", ").next().unwrap()).collect();
    assert_eq!(lines, ["binder: 1+-1 0 binder lock waiting", "binder: 602+1 1 binder transaction"]);
}
