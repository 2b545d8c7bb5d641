//! A trace of a program that writes into the kernel's buffer: slices, with a counter and switches.

use std::io::{BufWriter, Write};

use timebase_lab::encode::{bytes, number};

use crate::traces::{Trace, create};
use crate::{Bench, Result};

/// This many threads take turns on each of two CPUs.
const THREADS: u64 = 16;

/// The depth of a thread's slices.
const DEEP: u64 = 4;

/// The number of turns in a packet.
const TURNS: u64 = 100;

/// A turn is a switch, a frequency, and slices that begin and end.
pub fn trace(bench: &Bench) -> Result<Trace> {
    let packets = bench.size(1000, 100);
    let (path, file) = create(bench, "system")?;
    let mut file = BufWriter::new(file);
    for packet in 0..packets {
        for cpu in 0..2 {
            let mut bundle = Vec::new();
            number(&mut bundle, 1, cpu);
            for turn in packet * TURNS..(packet + 1) * TURNS {
                self::turn(&mut bundle, cpu, turn);
            }
            let mut payload = Vec::new();
            bytes(&mut payload, 1, &bundle);
            let mut framed = Vec::new();
            bytes(&mut framed, 1, &payload);
            file.write_all(&framed)?;
        }
    }
    file.flush()?;
    Ok(Trace::of_bench(path))
}

fn turn(bundle: &mut Vec<u8>, cpu: u64, turn: u64) {
    let ts = 1_000_000_000 + turn * 100_000 + cpu;
    let tid = |turn: u64| 100 + cpu * THREADS + turn % THREADS;
    let mut switch = Vec::new();
    number(&mut switch, 2, tid(turn + THREADS - 1));
    number(&mut switch, 4, turn % 2);
    bytes(&mut switch, 5, format!("worker-{}", tid(turn)).as_bytes());
    number(&mut switch, 6, tid(turn));
    number(&mut switch, 7, 120);
    event(bundle, ts, tid(turn + THREADS - 1), 4, &switch);
    let mut frequency = Vec::new();
    number(&mut frequency, 1, 1_000_000 + turn % 7 * 100_000);
    number(&mut frequency, 2, cpu);
    event(bundle, ts + 10, tid(turn), 11, &frequency);
    for depth in 0..DEEP {
        let begin = format!("B|{}|stage {} of the frame", 100 + cpu, (turn + depth) % 50);
        print(bundle, ts + 100 + depth * 10, tid(turn), &begin);
    }
    for depth in 0..DEEP {
        print(bundle, ts + 50_000 + depth * 10, tid(turn), "E|");
    }
}

fn print(bundle: &mut Vec<u8>, ts: u64, tid: u64, text: &str) {
    let mut print = Vec::new();
    bytes(&mut print, 2, text.as_bytes());
    event(bundle, ts, tid, 3, &print);
}

fn event(bundle: &mut Vec<u8>, ts: u64, tid: u64, field: u32, message: &[u8]) {
    let mut event = Vec::new();
    number(&mut event, 1, ts);
    number(&mut event, 2, tid);
    bytes(&mut event, field, message);
    bytes(bundle, 2, &event);
}
