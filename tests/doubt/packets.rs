//! DT7: lost packets of track events, on a sequence whose next packet reports the loss.

use super::{Random, Rows, Score, import, rows};
use crate::support::kernel::new;
use timebase_lab::encode::{Message, trace_of};

/// Rows of `slice`, without depth and parent.
const SLICES: &str = "SELECT track_id, ts, dur, name, doubt IS NOT NULL FROM slice";

const SEQUENCES: u64 = 4;

/// A packet of a thread's sequence: its event, if it has one.
fn packet(sequence: u64, time: u64, event: Message) -> (u64, Message) {
    let packet = new().number(8, time).number(10, sequence);
    (sequence, packet.message(11, event))
}

/// Threads that begin and end nested slices.
fn trace(seed: u64, events: usize) -> Vec<(u64, Message)> {
    let mut random = Random(seed);
    let mut packets = Vec::new();
    for sequence in 1..=SEQUENCES {
        let thread = new().number(1, 7).number(2, 100 + sequence);
        let descriptor = new().number(1, sequence).message(4, thread);
        packets.push((sequence, new().number(10, sequence).message(60, descriptor)));
    }
    let mut depths = [0_u64; SEQUENCES as usize];
    let mut now = 1_000;
    while packets.len() < events {
        now += 1 + random.below(50);
        let sequence = 1 + random.below(SEQUENCES);
        let depth = &mut depths[sequence as usize - 1];
        let event = new().number(11, sequence);
        let name = format!("f{}", random.below(9));
        let event = match random.below(10) {
            0..=4 if *depth < 6 => {
                *depth += 1;
                event.number(9, 1).text(23, &name)
            }
            0..=8 if *depth > 0 => {
                *depth -= 1;
                event.number(9, 2)
            }
            _ => event.number(9, 3).text(23, &name),
        };
        packets.push(packet(sequence, now, event));
    }
    packets
}

fn bytes(packets: &[(u64, Message)]) -> Vec<u8> {
    let packets: Vec<Message> = packets.iter().map(|(_, packet)| packet.clone()).collect();
    trace_of(&packets)
}

fn slices(packets: &[(u64, Message)]) -> Rows {
    rows(&import(&bytes(packets)).conn, SLICES)
}

#[test]
fn dt7_of_packets_that_are_lost_and_said_to_be() {
    for lost in [1, 3, 20] {
        let mut score = Score::default();
        for seed in 0..12 {
            let whole = trace(seed, 4_000);
            let before = slices(&whole);
            let mut random = Random(seed + 100);
            let mut rest = whole;
            for _ in 0..5 {
                let first = 50 + random.below(rest.len() as u64 - 500) as usize;
                let sequence = rest[first].0;
                let of: Vec<usize> = (first..rest.len())
                    .filter(|at| rest[*at].0 == sequence)
                    .take(lost + 1)
                    .collect();
                let (gone, next) = of.split_at(lost);
                rest[next[0]].1 = rest[next[0]].1.clone().number(42, 1);
                for at in gone.iter().rev() {
                    rest.remove(*at);
                }
            }
            score.add(&before, &slices(&rest));
        }
        let (found, doubted) = score.percent();
        println!(
            "{lost} packets: {found:.1} / {doubted:.2} of {} and {}",
            score.wrong, score.right
        );
        assert!(score.wrong > 0);
        assert!(found >= 98.0 && doubted <= 2.0, "{lost} packets: {found:.1}, {doubted:.2}");
    }
}

#[test]
fn dt7_a_slice_is_doubtful_if_it_was_open() {
    let event = |sequence, time, event: Message| packet(sequence, time, event).1;
    let begin = |name: &str, uuid: u64| new().number(9, 1).text(23, name).number(11, uuid);
    let end = |uuid: u64| new().number(9, 2).number(11, uuid);
    let track = |uuid: u64| {
        let descriptor = new().number(1, uuid).text(2, "t");
        new().number(10, 1).message(60, descriptor)
    };
    let complete = new().number(2, u64::from(b'X')).number(3, 1).text(23, "x");
    let complete = new().message(6, complete).text(23, "whole").number(11, 3);
    let packets = [
        track(1),
        track(2),
        track(3),
        event(1, 10, begin("before", 1)),
        event(1, 20, end(1)),
        event(1, 30, begin("outer", 1)),
        event(1, 40, begin("inner", 1)),
        event(2, 50, begin("of another", 2)),
        event(1, 55, complete),
        // The event of the reporting packet comes after the loss.
        event(1, 60, begin("after", 1)).number(42, 1),
        event(1, 70, end(1)),
        event(1, 80, end(1)),
        event(2, 90, end(2)),
    ];
    let imported = import(&trace_of(&packets));
    let rows =
        imported.rows("SELECT name, dur, doubt FROM slice WHERE name <> 'whole' ORDER BY ts");
    let rows: Vec<String> = rows.iter().map(|row| row.join(" ")).collect();
    assert_eq!(
        rows,
        [
            "before 10 [NULL]",
            "outer -1 packets_lost",
            "inner 40 packets_lost",
            "of another 40 [NULL]",
            "after 10 [NULL]",
        ]
    );
    let whole = "SELECT count(*) FROM slice WHERE name = 'whole' AND doubt IS NOT NULL";
    assert_eq!(imported.count(whole), 0);
}
