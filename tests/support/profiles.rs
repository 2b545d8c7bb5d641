//! A recording by profilers with known answers: functions, stacks, and samples of three threads.

use std::path::PathBuf;

use timebase_lab::encode::{self, Message};

use super::Place;
use super::kernel::{self, bundle, print};

fn new() -> Message {
    Message::new()
}

/// The functions of the recording, by their numbers from 1 on.
pub const FUNCTIONS: [&str; 5] = ["main", "draw", "layout", "<wait & see>", "other_main"];

/// Its stacks, by their numbers from 1 on: functions from the outermost to the innermost.
pub const STACKS: [&[u64]; 4] = [&[1, 2], &[1, 2, 3], &[1, 4], &[5]];

/// Samples of threads: the time, the process, the thread, the stack.
pub const SAMPLES: [(u64, u64, u64, u64); 11] = [
    (1_000, 10, 11, 1),
    (2_000, 10, 11, 2),
    (3_000, 10, 11, 2),
    (4_000, 10, 11, 3),
    (5_000, 10, 12, 1),
    (6_000, 10, 12, 2),
    (7_000, 20, 20, 4),
    (8_000, 20, 20, 4),
    (9_000, 10, 11, 2),
    (10_000, 10, 11, 3),
    // Without a callstack.
    (11_000, 10, 11, 0),
];

fn interned() -> Message {
    let named =
        |field| move |(iid, name): (u64, &&str)| (field, new().number(1, iid).text(2, name));
    let mut entries = vec![
        (17, new().number(1, 1).text(2, "lib")),
        (17, new().number(1, 2).text(2, "app.so")),
        (19, new().number(1, 1).number(7, 1).number(7, 2)),
        // A frame without a name.
        (6, new().number(1, 9).number(3, 1).number(4, 0x1f40)),
        (7, new().number(1, 9).number(2, 1).number(2, 9)),
    ];
    entries.extend((1..).zip(&FUNCTIONS).map(named(5)));
    entries.extend((1..=5).map(|iid| {
        let frame = new().number(1, iid).number(2, iid).number(3, 1);
        (6, frame.number(4, 16 * iid).number(6, 100 + iid))
    }));
    entries.extend((1..).zip(STACKS).map(|(iid, frames)| {
        let stack =
            frames.iter().fold(new().number(1, iid), |stack, frame| stack.number(2, *frame));
        (7, stack)
    }));
    let all = entries.into_iter();
    all.fold(new(), |all, (field, entry)| all.message(field, entry))
}

fn sample((ts, pid, tid, stack): (u64, u64, u64, u64)) -> Message {
    let mut sample = new().number(1, 0).number(2, pid).number(3, tid);
    if stack > 0 {
        sample = sample.number(4, stack);
    }
    let packet = new().number(10, 2).number(8, ts).number(58, 6);
    packet.message(66, sample)
}

/// A dump of the heap of process 10: stacks, with the bytes that they allocated and freed.
pub fn heap(ts: u64, samples: &[(u64, u64, u64)]) -> Message {
    let mut dump = new().number(1, 10).number(9, ts).text(11, "malloc");
    for &(stack, allocated, freed) in samples {
        let sample = new().number(1, stack).number(2, allocated).number(3, freed);
        dump = dump.message(2, sample.number(5, 2).number(6, u64::from(freed > 0)));
    }
    let packet = new().number(10, 2).number(8, ts).number(58, 6);
    packet.message(37, new().number(7, 0).message(5, dump))
}

/// The recording with these samples.
pub fn packets(samples: &[(u64, u64, u64, u64)]) -> Vec<Message> {
    let reading = |id| new().number(1, id).number(2, 500);
    let clocks = new().message(1, reading(6)).message(1, reading(4));
    let process = |pid, name| kernel::process(pid, 1, &[name]);
    let tree = new().message(1, process(10, "app")).message(1, process(20, "other"));
    let mut packets = vec![
        new().number(10, 1).message(6, clocks),
        new().number(10, 2).number(13, 1).message(12, interned()),
        kernel::packet(600, 2, tree),
        // Frames of thread 11: the second is inside the first.
        bundle(
            0,
            &[
                print(1_500, 11, "B|10|frame"),
                print(1_600, 11, "B|10|frame"),
                print(2_500, 11, "E|10"),
                print(3_500, 11, "E|10"),
                print(8_500, 11, "B|10|frame"),
                print(9_500, 11, "E|10"),
            ],
        ),
    ];
    packets.extend(samples.iter().copied().map(sample));
    packets
}

pub fn recording(place: &Place, name: &str, packets: &[Message]) -> PathBuf {
    place.write(name, &encode::trace_of(packets))
}
