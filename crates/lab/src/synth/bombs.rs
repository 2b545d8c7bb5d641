//! Traces that would fill the memory, or take forever: each is well-formed, and has more of one
//! thing than any recording.
//!
//! ```
//! let bomb = timebase_lab::synth::bomb("sequences").unwrap();
//! let mut trace = Vec::new();
//! bomb.write(1000, &mut trace)?;
//! assert!(trace.len() < 100 * 1000);
//! # std::io::Result::Ok(())
//! ```
//!
//! # Design
//!
//! A bomb is a name, a description, the count for its full size, and a function that writes this
//! count. They are separate from the generator of realistic traces. That one has times, weights and
//! a truth, and these only need a count. They are written field by field, so each is some lines,
//! and shows the structure of its trace.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use timebase_schema::fields::{
    display_proto as display, heap_graph as graph, heap_graph_object as heap_object,
    heap_graph_root as heap_root, heap_graph_type as heap_type, interned_string,
    layers_snapshot_proto as layers, size_proto as size, trace_packet as field,
};

use crate::synth::encode::{bytes, message, number, varint};

/// A trace with too much of something.
#[derive(Debug, Clone, Copy)]
pub struct Bomb {
    /// Its name.
    pub name: &'static str,
    /// The thing that it has too many of.
    pub about: &'static str,
    /// The count for its full size.
    pub full: u64,
    write: fn(u64, &mut dyn Write) -> io::Result<()>,
}

impl Bomb {
    /// Writes the trace, with this count.
    ///
    /// # Errors
    ///
    /// The errors of `out`.
    pub fn write(&self, count: u64, out: &mut dyn Write) -> io::Result<()> {
        let mut out = io::BufWriter::with_capacity(1 << 18, out);
        (self.write)(count, &mut out)?;
        out.flush()
    }
}

/// The bomb with a name.
pub fn bomb(name: &str) -> Option<&'static Bomb> {
    BOMBS.iter().find(|bomb| bomb.name == name)
}

const MILLION: u64 = 1_000_000;
const MEGABYTE: u64 = 1 << 20;

/// All of them. The counts are such that the file has at most 500 MB.
pub const BOMBS: &[Bomb] = &[
    // Compressed data.
    of("gzip-in-gzip", "bytes of packets in gzip, which is in gzip", 4096 * MEGABYTE, gzip_in_gzip),
    of("zstd-of-zeros", "bytes of zeros in a zstd file", 16_384 * MEGABYTE, zstd_of_zeros),
    of("zstd-window", "is the logarithm of a zstd file's window", 31, zstd_window),
    of("zstd-of-packets", "equal packets in a zstd file", 20 * MILLION, zstd_of_packets),
    of(
        "zlib-packet",
        "bytes of small packets in one compressed packet of a few kB",
        256 * MEGABYTE,
        zlib_packet,
    ),
    of(
        "zlib-packet-of-one",
        "bytes of one packet in a compressed packet",
        256 * MEGABYTE,
        zlib_packet_of_one,
    ),
    of(
        "zstd-packet-window",
        "is the logarithm of the window of a compressed packet",
        31,
        zstd_packet_window,
    ),
    of("nested-packets", "compressed packets, each in the one before", 1000, nested_packets),
    // Large items.
    of("packet", "bytes of one packet", 256 * MEGABYTE, packet),
    of("name", "bytes of a slice's name", 100 * MEGABYTE, name),
    of(
        "interned-name",
        "bytes of an interned name, of which 1,000 events are",
        100 * MEGABYTE,
        interned_name,
    ),
    of("thread-name", "bytes of a thread's name", 100 * MEGABYTE, thread_name),
    of("log-line", "bytes of a log line", 100 * MEGABYTE, log_line),
    of("descriptor", "bytes of an extension descriptor", 100 * MEGABYTE, descriptor),
    of("deep-annotations", "debug annotations, each in the one before", 10_000, deep_annotations),
    of(
        "deep-nested-values",
        "nested values of an annotation, each in the one before",
        10_000,
        deep_nested_values,
    ),
    of("annotations", "debug annotations of one event", 10 * MILLION, annotations),
    of("bundle", "events of one ftrace bundle", 10 * MILLION, bundle),
    of("log-packet", "lines of one packet of the log", 10 * MILLION, log_packet),
    // Sequences and clocks.
    of("sequences", "sequences of one packet", MILLION, sequences),
    of("sequence-clocks", "sequences with a clock of their own", MILLION, sequence_clocks),
    of("backward-clocks", "sequences whose clock goes backwards", MILLION, backward_clocks),
    of(
        "backward-chains",
        "sequences with a clock behind one that goes backwards",
        MILLION,
        backward_chains,
    ),
    of("clocks-in-one", "clocks in one snapshot", 10 * MILLION, clocks_in_one),
    of("empty-clocks", "empty clocks in one snapshot", 50 * MILLION, empty_clocks),
    of("clocks", "clocks, in snapshots of eight", 10 * MILLION, clocks),
    of("clock-chain", "clocks, each known by the one before", MILLION, clock_chain),
    of(
        "clock-sets",
        "snapshots of BOOTTIME, each with another two of 2,000 clocks",
        MILLION,
        clock_sets,
    ),
    of("waiting", "packets that wait for a snapshot at the end", 10 * MILLION, waiting),
    // Named items.
    of("interned", "interned names of one sequence", MILLION, interned),
    of(
        "interned-by-many",
        "interned names on 100 sequences together",
        5 * MILLION,
        interned_by_many,
    ),
    of("names", "names of slices", 2 * MILLION, names),
    of("threads", "threads that kernel events name", MILLION, threads),
    of("processes", "processes of a process tree", MILLION, processes),
    of("uuids", "uuids of tracks that are described", MILLION, uuids),
    of("track-chain", "tracks, each the parent of the next", MILLION, track_chain),
    of("track-loop", "tracks in loops of two", MILLION, track_loop),
    of("flows", "flows that begin and never end", MILLION, flows),
    of("open-slices", "slices on tracks of their own, which never end", MILLION, open_slices),
    of("deep-slices", "slices on one track, which never end", MILLION, deep_slices),
    of(
        "complete-slices",
        "slices on one track, with an end that is known and far",
        MILLION,
        complete_slices,
    ),
    of("asyncs", "legacy async slices of an id of their own", MILLION, asyncs),
    of(
        "atrace-asyncs",
        "atrace's async slices with a name and cookie of their own",
        MILLION,
        atrace_asyncs,
    ),
    of("counters", "counter tracks of a name of their own", MILLION, counters),
    of("extra-counters", "extra counters of one event", MILLION, extra_counters),
    of("gpu-contexts", "contexts and GPUs of render stages", MILLION, gpu_contexts),
    of("event-names", "names of generic kernel events", MILLION, event_names),
    of("log-arguments", "arguments of one line of the log", 2 * MILLION, log_arguments),
    of("tags", "tags of the log", MILLION, tags),
    of("machines", "machines", MILLION, machines),
    of("cpus", "CPUs of ftrace bundles", MILLION, cpus),
    of("descriptors", "extension descriptors", 10_000, descriptors),
    of("arguments", "arguments of slices, none like another", 2 * MILLION, arguments),
    of("java-heap", "objects of a Java heap, each with three references", MILLION, java_heap),
    of("rectangles", "displays, each with a size of its own", MILLION, rectangles),
    of("corrupt", "packets whose payload cannot be read", MILLION, corrupt),
    of("small", "packets of four bytes", 20 * MILLION, small),
];

const fn of(
    name: &'static str,
    about: &'static str,
    full: u64,
    write: fn(u64, &mut dyn Write) -> io::Result<()>,
) -> Bomb {
    Bomb { name, about, full, write }
}

/// The field of `Trace`.
const PACKET: u32 = 1;

const BOOTTIME: u64 = 6;
const CLEARED: u64 = 1;
const NEEDED: u64 = 2;

const BEGIN: u64 = 1;
const INSTANT: u64 = 3;
const COUNTER: u64 = 4;

type Out<'a> = &'a mut dyn Write;

fn put(out: Out<'_>, write: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
    let mut packet = Vec::new();
    message(&mut packet, PACKET, write);
    out.write_all(&packet)
}

/// Writes this many packets.
fn each(count: u64, out: Out<'_>, write: impl Fn(u64, &mut Vec<u8>)) -> io::Result<()> {
    let mut packet = Vec::new();
    for i in 0..count {
        packet.clear();
        message(&mut packet, PACKET, |packet| write(i, packet));
        out.write_all(&packet)?;
    }
    Ok(())
}

/// A packet with a field of this many bytes.
fn large(out: Out<'_>, path: &[u32], size: u64, before: &[u8]) -> io::Result<()> {
    let mut lengths = vec![size];
    let mut headers: Vec<Vec<u8>> = Vec::new();
    for (depth, &field) in path.iter().enumerate().rev() {
        let mut header = Vec::new();
        let innermost = depth + 1 == path.len();
        if innermost {
            header.extend_from_slice(before);
        }
        varint(&mut header, u64::from(field) << 3 | 2);
        let inside = lengths.last().copied().unwrap_or_default();
        varint(&mut header, inside);
        lengths.push(inside + header.len() as u64);
        headers.push(header);
    }
    let mut packet = Vec::new();
    varint(&mut packet, u64::from(PACKET) << 3 | 2);
    varint(&mut packet, lengths.last().copied().unwrap_or_default());
    out.write_all(&packet)?;
    for header in headers.iter().rev() {
        out.write_all(header)?;
    }
    repeat(out, b"timebase", size)
}

fn repeat(out: Out<'_>, bytes: &[u8], size: u64) -> io::Result<()> {
    let block: Vec<u8> = bytes.iter().copied().cycle().take(1 << 16).collect();
    let mut left = size;
    while left > 0 {
        let part = usize::try_from(left).map_or(block.len(), |left| left.min(block.len()));
        out.write_all(&block[..part])?;
        left -= part as u64;
    }
    Ok(())
}

fn timestamp(packet: &mut Vec<u8>, ns: u64) {
    number(packet, field::TIMESTAMP, ns);
    number(packet, field::TIMESTAMP_CLOCK_ID, BOOTTIME);
}

/// The header of a packet of a sequence, with its state cleared by the first.
fn on_sequence(packet: &mut Vec<u8>, sequence: u64, is_first: bool) {
    number(packet, field::TRUSTED_PACKET_SEQUENCE_ID, sequence);
    number(packet, field::SEQUENCE_FLAGS, if is_first { CLEARED } else { NEEDED });
}

/// A track event of a packet that has its sequence.
fn event_of(packet: &mut Vec<u8>, ns: u64, kind: u64, uuid: u64, more: impl FnOnce(&mut Vec<u8>)) {
    timestamp(packet, ns);
    message(packet, field::TRACK_EVENT, |event| {
        number(event, 9, kind);
        number(event, 11, uuid);
        more(event);
    });
}

/// A track event on a sequence whose state it does not need.
fn event(packet: &mut Vec<u8>, ns: u64, kind: u64, uuid: u64, more: impl FnOnce(&mut Vec<u8>)) {
    number(packet, field::TRUSTED_PACKET_SEQUENCE_ID, 7);
    event_of(packet, ns, kind, uuid, more);
}

fn text(out: &mut Vec<u8>, field: u32, text: &str) {
    bytes(out, field, text.as_bytes());
}

fn reading(snapshot: &mut Vec<u8>, clock: u64, value: u64) {
    message(snapshot, 1, |clocks| {
        number(clocks, 1, clock);
        number(clocks, 2, value);
    });
}

// Compressed data.

/// A packet with hardly any contents.
const SMALL: [u8; 4] = [0x0a, 2, 0x18, 1];

fn gzip_in_gzip(size: u64, out: Out<'_>) -> io::Result<()> {
    let outer = GzEncoder::new(out, Compression::best());
    let mut inner = GzEncoder::new(outer, Compression::fast());
    repeat(&mut inner, &SMALL, size)?;
    inner.finish()?.finish()?;
    Ok(())
}

fn zstd_of_zeros(size: u64, out: Out<'_>) -> io::Result<()> {
    let mut encoder = zstd::Encoder::new(out, 1)?;
    repeat(&mut encoder, &[0], size)?;
    encoder.finish()?;
    Ok(())
}

/// A frame of one packet, whose header needs a window of this size: the magic number, no content
/// size, the window's logarithm above 10, and an uncompressed block.
fn frame_of_window(log: u64) -> Vec<u8> {
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0];
    frame.push((log.clamp(10, 41) as u8 - 10) << 3);
    let block = (SMALL.len() as u32) << 3 | 1;
    frame.extend_from_slice(&block.to_le_bytes()[..3]);
    frame.extend_from_slice(&SMALL);
    frame
}

fn zstd_window(log: u64, out: Out<'_>) -> io::Result<()> {
    out.write_all(&frame_of_window(log))
}

fn zstd_of_packets(count: u64, out: Out<'_>) -> io::Result<()> {
    let mut encoder = zstd::Encoder::new(out, 1)?;
    repeat(&mut encoder, &SMALL, count * SMALL.len() as u64)?;
    encoder.finish()?;
    Ok(())
}

fn zlib(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<Vec<u8>> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    write(&mut encoder)?;
    encoder.finish()
}

fn zlib_packet(size: u64, out: Out<'_>) -> io::Result<()> {
    let inside = zlib(|out| repeat(out, &SMALL, size))?;
    put(out, |packet| bytes(packet, field::COMPRESSED_PACKETS, &inside))
}

fn zlib_packet_of_one(size: u64, out: Out<'_>) -> io::Result<()> {
    let header = 8;
    let size = size.saturating_sub(header);
    let inside = zlib(|out| large(out, &[field::FOR_TESTING], size, &[]))?;
    put(out, |packet| bytes(packet, field::COMPRESSED_PACKETS, &inside))
}

fn zstd_packet_window(log: u64, out: Out<'_>) -> io::Result<()> {
    out.write_all(&SMALL)?;
    put(out, |packet| bytes(packet, field::ZSTD_COMPRESSED_PACKETS, &frame_of_window(log)))?;
    out.write_all(&SMALL)
}

fn nested_packets(count: u64, out: Out<'_>) -> io::Result<()> {
    let mut inside = SMALL.to_vec();
    for _ in 0..count {
        let zlib = zlib(|out| out.write_all(&inside))?;
        inside.clear();
        message(&mut inside, PACKET, |packet| bytes(packet, field::COMPRESSED_PACKETS, &zlib));
    }
    out.write_all(&inside)
}

// Large items.

fn packet(size: u64, out: Out<'_>) -> io::Result<()> {
    let header = 8;
    large(out, &[field::FOR_TESTING], size.saturating_sub(header), &[])
}

fn name(size: u64, out: Out<'_>) -> io::Result<()> {
    let mut begin = Vec::new();
    number(&mut begin, 9, BEGIN);
    number(&mut begin, 11, 1);
    large(out, &[field::TRACK_EVENT, 23], size, &begin)
}

fn interned_name(size: u64, out: Out<'_>) -> io::Result<()> {
    put(out, |packet| on_sequence(packet, 7, true))?;
    let mut packet = Vec::new();
    on_sequence(&mut packet, 7, true);
    let mut entry = Vec::new();
    number(&mut entry, 1, 1);
    varint(&mut entry, 2 << 3 | 2);
    varint(&mut entry, size);
    let mut interned = Vec::new();
    varint(&mut interned, 2 << 3 | 2);
    varint(&mut interned, entry.len() as u64 + size);
    interned.extend_from_slice(&entry);
    varint(&mut packet, u64::from(field::INTERNED_DATA) << 3 | 2);
    varint(&mut packet, interned.len() as u64 + size);
    packet.extend_from_slice(&interned);
    let mut header = Vec::new();
    varint(&mut header, u64::from(PACKET) << 3 | 2);
    varint(&mut header, packet.len() as u64 + size);
    out.write_all(&header)?;
    out.write_all(&packet)?;
    repeat(out, b"timebase", size)?;
    each(1000, out, |i, packet| {
        on_sequence(packet, 7, false);
        event_of(packet, i, INSTANT, 1, |event| number(event, 10, 1));
    })
}

fn thread_name(size: u64, out: Out<'_>) -> io::Result<()> {
    let mut ids = Vec::new();
    number(&mut ids, 1, 5);
    number(&mut ids, 2, 6);
    large(out, &[field::TRACK_DESCRIPTOR, 4, 5], size, &ids)
}

fn log_line(size: u64, out: Out<'_>) -> io::Result<()> {
    let mut time = Vec::new();
    number(&mut time, 5, 1);
    large(out, &[field::ANDROID_LOG, 1, 8], size, &time)
}

fn descriptor(size: u64, out: Out<'_>) -> io::Result<()> {
    // A file with a name of this many bytes.
    large(out, &[field::EXTENSION_DESCRIPTOR, 1, 1, 1], size, &[])
}

/// Messages of one field, each inside the previous one.
fn nested(count: u64, field: u32, innermost: &[u8]) -> Vec<u8> {
    // From the inside to the outside, backwards.
    let mut reversed: Vec<u8> = innermost.iter().rev().copied().collect();
    let mut header = Vec::new();
    for _ in 0..count {
        header.clear();
        varint(&mut header, u64::from(field) << 3 | 2);
        varint(&mut header, reversed.len() as u64);
        reversed.extend(header.iter().rev());
    }
    reversed.reverse();
    reversed
}

fn deep_annotations(count: u64, out: Out<'_>) -> io::Result<()> {
    // dict_entries of dict_entries.
    let deep = nested(count, 11, &[0x20, 1]);
    put(out, |packet| event(packet, 1, BEGIN, 1, |event| bytes(event, 4, &deep)))
}

fn deep_nested_values(count: u64, out: Out<'_>) -> io::Result<()> {
    // array_values of array_values.
    let deep = nested(count, 4, &[0x08, 2]);
    put(out, |packet| {
        event(packet, 1, BEGIN, 1, |event| {
            message(event, 4, |annotation| {
                text(annotation, 10, "deep");
                bytes(annotation, 8, &deep);
            });
        });
    })
}

fn annotations(count: u64, out: Out<'_>) -> io::Result<()> {
    put(out, |packet| {
        event(packet, 1, BEGIN, 1, |event| {
            for i in 0..count {
                message(event, 4, |annotation| {
                    text(annotation, 10, &format!("{i:x}"));
                    number(annotation, 4, i);
                });
            }
        });
    })
}

fn bundle(count: u64, out: Out<'_>) -> io::Result<()> {
    put(out, |packet| {
        message(packet, field::FTRACE_EVENTS, |bundle| {
            number(bundle, 1, 0);
            for i in 0..count {
                message(bundle, 2, |event| {
                    number(event, 1, i);
                    number(event, 2, 1);
                    message(event, 13, |idle| number(idle, 1, i % 3));
                });
            }
        });
    })
}

fn log_packet(count: u64, out: Out<'_>) -> io::Result<()> {
    put(out, |packet| {
        message(packet, field::ANDROID_LOG, |log| {
            for i in 0..count {
                message(log, 1, |line| number(line, 5, i));
            }
        });
    })
}

// Sequences and clocks.

fn sequences(count: u64, out: Out<'_>) -> io::Result<()> {
    each(count, out, |i, packet| {
        on_sequence(packet, i + 1, true);
        event_of(packet, i, INSTANT, 1, |_| {});
    })
}

/// A snapshot of a clock of a sequence and BOOTTIME.
fn own_clock(packet: &mut Vec<u8>, sequence: u64, value: u64, boottime: u64) {
    number(packet, field::TRUSTED_PACKET_SEQUENCE_ID, sequence);
    number(packet, field::SEQUENCE_FLAGS, CLEARED);
    message(packet, field::CLOCK_SNAPSHOT, |snapshot| {
        reading(snapshot, 64, value);
        reading(snapshot, BOOTTIME, boottime);
    });
}

fn on_own_clock(packet: &mut Vec<u8>, sequence: u64, ns: u64) {
    number(packet, field::TIMESTAMP, ns);
    number(packet, field::TIMESTAMP_CLOCK_ID, 64);
    number(packet, field::TRUSTED_PACKET_SEQUENCE_ID, sequence);
}

fn sequence_clocks(count: u64, out: Out<'_>) -> io::Result<()> {
    each(2 * count, out, |i, packet| match i % 2 {
        0 => own_clock(packet, i / 2 + 1, 0, i),
        _ => on_own_clock(packet, i / 2 + 1, 5),
    })
}

fn backward_clocks(count: u64, out: Out<'_>) -> io::Result<()> {
    each(4 * count, out, |i, packet| match i % 4 {
        0 => own_clock(packet, i / 4 + 1, 1000, i),
        1 => own_clock(packet, i / 4 + 1, 0, i),
        2 => on_own_clock(packet, i / 4 + 1, 5),
        _ => timestamp(packet, i),
    })
}

fn backward_chains(count: u64, out: Out<'_>) -> io::Result<()> {
    each(5 * count, out, |i, packet| match i % 5 {
        0 => own_clock(packet, i / 5 + 1, 1000, i),
        1 => {
            number(packet, field::TRUSTED_PACKET_SEQUENCE_ID, i / 5 + 1);
            message(packet, field::CLOCK_SNAPSHOT, |snapshot| {
                reading(snapshot, 64, 0);
                reading(snapshot, 65, 0);
            });
        }
        2 => own_clock(packet, i / 5 + 1, 0, i),
        3 => on_own_clock(packet, i / 5 + 1, 5),
        _ => {
            number(packet, field::TIMESTAMP, 1);
            number(packet, field::TIMESTAMP_CLOCK_ID, 65);
            number(packet, field::TRUSTED_PACKET_SEQUENCE_ID, i / 5 + 1);
        }
    })
}

fn clocks_in_one(count: u64, out: Out<'_>) -> io::Result<()> {
    put(out, |packet| {
        message(packet, field::CLOCK_SNAPSHOT, |snapshot| {
            reading(snapshot, BOOTTIME, 1);
            (0..count).for_each(|i| reading(snapshot, 1000 + i, i));
        });
    })
}

fn empty_clocks(count: u64, out: Out<'_>) -> io::Result<()> {
    put(out, |packet| {
        message(packet, field::CLOCK_SNAPSHOT, |snapshot| {
            (0..count).for_each(|_| bytes(snapshot, 1, &[]));
        });
    })
}

fn clocks(count: u64, out: Out<'_>) -> io::Result<()> {
    each(count / 7, out, |i, packet| {
        message(packet, field::CLOCK_SNAPSHOT, |snapshot| {
            reading(snapshot, BOOTTIME, i);
            (0..7).for_each(|j| reading(snapshot, 1000 + 7 * i + j, 1));
        });
    })
}

fn clock_chain(count: u64, out: Out<'_>) -> io::Result<()> {
    put(out, |packet| {
        message(packet, field::CLOCK_SNAPSHOT, |snapshot| {
            reading(snapshot, BOOTTIME, 1);
            reading(snapshot, 1000, 1);
        });
    })?;
    each(2 * count, out, |i, packet| {
        let clock = 1000 + i / 2;
        if i % 2 == 0 {
            message(packet, field::CLOCK_SNAPSHOT, |snapshot| {
                reading(snapshot, clock, 1);
                reading(snapshot, clock + 1, 1);
            });
        } else {
            number(packet, field::TIMESTAMP, i);
            number(packet, field::TIMESTAMP_CLOCK_ID, clock + 1);
        }
    })
}

fn clock_sets(count: u64, out: Out<'_>) -> io::Result<()> {
    each(2 * count, out, |i, packet| {
        let (one, other) = (i / 2 / 2000 % 2000, i / 2 % 2000);
        if i % 2 == 0 {
            message(packet, field::CLOCK_SNAPSHOT, |snapshot| {
                reading(snapshot, BOOTTIME, i);
                reading(snapshot, 1000 + one, i);
                reading(snapshot, 4000 + other, i);
            });
        } else {
            number(packet, field::TIMESTAMP, i);
            number(packet, field::TIMESTAMP_CLOCK_ID, 4000 + other);
        }
    })
}

fn waiting(count: u64, out: Out<'_>) -> io::Result<()> {
    each(count, out, |i, packet| {
        number(packet, field::TIMESTAMP, i);
        number(packet, field::TIMESTAMP_CLOCK_ID, 3);
    })?;
    put(out, |packet| {
        message(packet, field::CLOCK_SNAPSHOT, |snapshot| {
            reading(snapshot, 3, 0);
            reading(snapshot, BOOTTIME, 0);
        });
    })
}

// Named items.

/// Packets with a thousand interned names each, from this number on.
fn interned_names(packet: &mut Vec<u8>, first: u64) {
    message(packet, field::INTERNED_DATA, |interned| {
        for iid in first..first + 1000 {
            message(interned, 2, |entry| {
                number(entry, 1, iid + 1);
                text(entry, 2, &format!("a name, which is {iid}"));
            });
        }
    });
}

fn interned(count: u64, out: Out<'_>) -> io::Result<()> {
    each(count / 1000, out, |i, packet| {
        on_sequence(packet, 7, i == 0);
        interned_names(packet, 1000 * i);
        event_of(packet, i, INSTANT, 1, |event| number(event, 10, 1000 * i + 1));
    })
}

fn interned_by_many(count: u64, out: Out<'_>) -> io::Result<()> {
    each(count / 1000, out, |i, packet| {
        on_sequence(packet, 1 + i % 100, i < 100);
        interned_names(packet, 1000 * (i / 100));
        event_of(packet, i, INSTANT, 1, |_| {});
    })
}

fn names(count: u64, out: Out<'_>) -> io::Result<()> {
    each(count, out, |i, packet| {
        event(packet, i, INSTANT, 1, |event| text(event, 23, &format!("a name, which is {i}")));
    })
}

fn threads(count: u64, out: Out<'_>) -> io::Result<()> {
    each(count / 1000, out, |i, packet| {
        message(packet, field::FTRACE_EVENTS, |bundle| {
            number(bundle, 1, 0);
            for tid in 1000 * i..1000 * (i + 1) {
                message(bundle, 2, |event| {
                    number(event, 1, tid);
                    number(event, 2, tid + 1);
                    message(event, 4, |switch| {
                        text(switch, 1, &format!("thread {tid}"));
                        number(switch, 2, tid + 1);
                        text(switch, 5, &format!("thread {}", tid + 1));
                        number(switch, 6, tid + 2);
                    });
                });
            }
        });
    })
}

fn processes(count: u64, out: Out<'_>) -> io::Result<()> {
    each(count / 1000, out, |i, packet| {
        timestamp(packet, i);
        message(packet, field::PROCESS_TREE, |tree| {
            for pid in 1000 * i..1000 * (i + 1) {
                message(tree, 1, |process| {
                    number(process, 1, pid + 1);
                    number(process, 2, pid);
                    text(process, 3, &format!("process {pid}"));
                });
            }
        });
    })
}

fn described(packet: &mut Vec<u8>, uuid: u64, parent: Option<u64>) {
    message(packet, field::TRACK_DESCRIPTOR, |track| {
        number(track, 1, uuid);
        text(track, 2, &format!("track {uuid}"));
        if let Some(parent) = parent {
            number(track, 5, parent);
        }
    });
}

fn uuids(count: u64, out: Out<'_>) -> io::Result<()> {
    each(2 * count, out, |i, packet| match i % 2 {
        0 => described(packet, i / 2 + 1, None),
        _ => event(packet, i, INSTANT, i / 2 + 1, |event| text(event, 23, "one")),
    })
}

fn track_chain(count: u64, out: Out<'_>) -> io::Result<()> {
    each(count, out, |i, packet| described(packet, i + 1, Some(i + 2)))?;
    each(count, out, |i, packet| {
        event(packet, i, INSTANT, i + 1, |event| text(event, 23, "one"));
    })
}

fn track_loop(count: u64, out: Out<'_>) -> io::Result<()> {
    each(count, out, |i, packet| described(packet, i + 2, Some((i ^ 1) + 2)))?;
    each(count, out, |i, packet| {
        event(packet, i, INSTANT, i + 2, |event| text(event, 23, "one"));
    })
}

fn flows(count: u64, out: Out<'_>) -> io::Result<()> {
    put(out, |packet| described(packet, 1, None))?;
    each(count, out, |i, packet| {
        event(packet, i, INSTANT, 1, |event| number(event, 36, i + 1));
    })
}

fn open_slices(count: u64, out: Out<'_>) -> io::Result<()> {
    each(2 * count, out, |i, packet| match i % 2 {
        0 => described(packet, i / 2 + 1, None),
        _ => event(packet, i, BEGIN, i / 2 + 1, |event| text(event, 23, "open")),
    })
}

fn deep_slices(count: u64, out: Out<'_>) -> io::Result<()> {
    put(out, |packet| described(packet, 1, None))?;
    each(count, out, |i, packet| {
        event(packet, i, BEGIN, 1, |event| text(event, 23, "deep"));
    })
}

fn legacy(packet: &mut Vec<u8>, ns: u64, name: &str, more: impl FnOnce(&mut Vec<u8>)) {
    number(packet, field::TRUSTED_PACKET_SEQUENCE_ID, 7);
    timestamp(packet, ns);
    message(packet, field::TRACK_EVENT, |event| {
        text(event, 22, "legacy");
        text(event, 23, name);
        message(event, 6, more);
    });
}

fn complete_slices(count: u64, out: Out<'_>) -> io::Result<()> {
    each(count, out, |i, packet| {
        legacy(packet, i, "complete", |legacy| {
            number(legacy, 2, b'X'.into());
            number(legacy, 3, 1_000_000_000 - i);
            number(legacy, 18, 5);
            number(legacy, 19, 6);
        });
    })
}

fn asyncs(count: u64, out: Out<'_>) -> io::Result<()> {
    each(count, out, |i, packet| {
        legacy(packet, i, "async", |legacy| {
            number(legacy, 2, b'b'.into());
            number(legacy, 11, i);
        });
    })
}

fn print(packet: &mut Vec<u8>, first: u64, mark: impl Fn(u64) -> String) {
    message(packet, field::FTRACE_EVENTS, |bundle| {
        number(bundle, 1, 0);
        for i in first..first + 1000 {
            message(bundle, 2, |event| {
                number(event, 1, i);
                number(event, 2, 77);
                message(event, 3, |print| text(print, 2, &mark(i)));
            });
        }
    });
}

fn atrace_asyncs(count: u64, out: Out<'_>) -> io::Result<()> {
    each(count / 1000, out, |i, packet| {
        print(packet, 1000 * i, |i| format!("S|77|async {i}|{i}\n"));
    })
}

fn counters(count: u64, out: Out<'_>) -> io::Result<()> {
    each(count / 1000, out, |i, packet| {
        print(packet, 1000 * i, |i| format!("C|77|counter {i}|{i}\n"));
    })
}

fn extra_counters(count: u64, out: Out<'_>) -> io::Result<()> {
    put(out, |packet| {
        event(packet, 1, COUNTER, 1, |event| {
            number(event, 30, 1);
            (0..count).for_each(|i| number(event, 31, i));
            (0..count).for_each(|i| number(event, 12, i));
        });
    })
}

fn gpu_contexts(count: u64, out: Out<'_>) -> io::Result<()> {
    each(count, out, |i, packet| {
        timestamp(packet, i);
        message(packet, field::GPU_RENDER_STAGE_EVENT, |stage| {
            number(stage, 1, i);
            number(stage, 2, 10);
            number(stage, 3, i);
            number(stage, 4, i);
            number(stage, 5, i);
            number(stage, 11, i);
        });
    })
}

fn event_names(count: u64, out: Out<'_>) -> io::Result<()> {
    each(count / 1000, out, |i, packet| {
        message(packet, field::FTRACE_EVENTS, |bundle| {
            number(bundle, 1, 0);
            for i in 1000 * i..1000 * (i + 1) {
                message(bundle, 2, |event| {
                    number(event, 1, i);
                    number(event, 2, 77);
                    message(event, 327, |generic| {
                        text(generic, 1, &format!("event {i}"));
                        message(generic, 2, |field| {
                            text(field, 1, &format!("field {i}"));
                            number(field, 4, i);
                        });
                    });
                });
            }
        });
    })
}

fn log_arguments(count: u64, out: Out<'_>) -> io::Result<()> {
    put(out, |packet| {
        message(packet, field::ANDROID_LOG, |log| {
            message(log, 1, |line| {
                number(line, 5, 1);
                for i in 0..count {
                    message(line, 9, |arg| {
                        text(arg, 1, &format!("{i}"));
                        number(arg, 2, i);
                    });
                }
            });
        });
    })
}

fn tags(count: u64, out: Out<'_>) -> io::Result<()> {
    each(count / 1000, out, |i, packet| {
        message(packet, field::ANDROID_LOG, |log| {
            for i in 1000 * i..1000 * (i + 1) {
                message(log, 1, |line| {
                    number(line, 5, i);
                    text(line, 6, &format!("tag {i}"));
                    text(line, 8, &format!("line {i}"));
                });
            }
        });
    })
}

fn machines(count: u64, out: Out<'_>) -> io::Result<()> {
    each(count, out, |i, packet| {
        number(packet, field::MACHINE_ID, i);
        event(packet, i, INSTANT, 1, |_| {});
    })
}

fn cpus(count: u64, out: Out<'_>) -> io::Result<()> {
    each(count, out, |i, packet| {
        message(packet, field::FTRACE_EVENTS, |bundle| {
            number(bundle, 1, i);
            message(bundle, 2, |event| {
                number(event, 1, i);
                number(event, 2, 5);
                message(event, 13, |idle| number(idle, 1, 1));
            });
        });
    })
}

fn descriptors(count: u64, out: Out<'_>) -> io::Result<()> {
    each(2 * count, out, |i, packet| {
        if i % 2 == 1 {
            return event(packet, i, INSTANT, 1, |event| {
                // The extension's field.
                number(event, 10_000 + (i / 2) as u32, 5);
            });
        }
        message(packet, field::EXTENSION_DESCRIPTOR, |extension| {
            message(extension, 1, |set| {
                message(set, 1, |file| {
                    text(file, 1, &format!("file{i}.proto"));
                    text(file, 2, &format!("package{i}"));
                    message(file, 7, |field| {
                        text(field, 1, &format!("field{i}"));
                        text(field, 2, ".perfetto.protos.TrackEvent");
                        number(field, 3, 10_000 + i / 2);
                        number(field, 4, 1);
                        number(field, 5, 3);
                    });
                });
            });
        });
    })
}

fn arguments(count: u64, out: Out<'_>) -> io::Result<()> {
    each(count, out, |i, packet| {
        event(packet, i, INSTANT, 1, |event| {
            message(event, 4, |annotation| {
                text(annotation, 10, &format!("key {}", i / 2));
                text(annotation, 6, &format!("value {i}"));
            });
        });
    })
}

/// Snapshots of a thousand displays. Each display has a rectangle.
fn rectangles(count: u64, out: Out<'_>) -> io::Result<()> {
    const SNAPSHOT: u64 = 1000;
    each(count.div_ceil(SNAPSHOT), out, |index, packet| {
        timestamp(packet, 1000 + index);
        number(packet, field::TRUSTED_PACKET_SEQUENCE_ID, 1);
        message(packet, field::SURFACEFLINGER_LAYERS_SNAPSHOT, |snapshot| {
            for place in index * SNAPSHOT..count.min((index + 1) * SNAPSHOT) {
                message(snapshot, layers::DISPLAYS, |of| {
                    message(of, display::SIZE, |of| number(of, size::W, 1 + place));
                });
            }
        });
    })
}

/// A dump whose objects are a tree, each with one more reference to any other.
fn java_heap(count: u64, out: Out<'_>) -> io::Result<()> {
    const PACKET_OF: u64 = 1000;
    const CLASSES: u64 = 1000;
    const FIELDS: u64 = 3;
    let address = |object: u64| 0x1000_0000 + 8 * object;
    let packets = count.div_ceil(PACKET_OF);
    each(packets + 1, out, |index, packet| {
        timestamp(packet, 1000);
        number(packet, field::TRUSTED_PACKET_SEQUENCE_ID, 1);
        message(packet, field::HEAP_GRAPH, |dump| {
            number(dump, graph::PID, 100);
            number(dump, graph::INDEX, index);
            let objects = index * PACKET_OF..count.min((index + 1) * PACKET_OF);
            for object in objects {
                message(dump, graph::OBJECTS, |out| {
                    match object % PACKET_OF {
                        0 => number(out, heap_object::ID, address(object)),
                        _ => number(out, heap_object::ID_DELTA, 8),
                    }
                    number(out, heap_object::TYPE_ID, 1 + object % CLASSES);
                    let to = [2 * object + 1, 2 * object + 2, object * 7919 % count];
                    let to = to.map(|object| if object < count { address(object) } else { 0 });
                    let mut references = Vec::new();
                    to.into_iter().for_each(|to| varint(&mut references, to));
                    bytes(out, heap_object::REFERENCE_OBJECT_ID, &references);
                });
            }
            if index < packets {
                return number(dump, graph::CONTINUED, 1);
            }
            for class in 1..=CLASSES {
                message(dump, graph::TYPES, |out| {
                    number(out, heap_type::ID, class);
                    text(out, heap_type::CLASS_NAME, &format!("com.example.Class{class}"));
                    number(out, heap_type::OBJECT_SIZE, 24);
                    let mut fields = Vec::new();
                    let own = FIELDS * class..FIELDS * (class + 1);
                    own.for_each(|field| varint(&mut fields, field));
                    bytes(out, heap_type::REFERENCE_FIELD_ID, &fields);
                    number(out, heap_type::KIND, 1);
                });
            }
            for name in FIELDS..FIELDS * (CLASSES + 1) {
                message(dump, graph::FIELD_NAMES, |out| {
                    number(out, interned_string::IID, name);
                    text(
                        out,
                        interned_string::STR,
                        &format!("T com.example.Class{}.f", name / FIELDS),
                    );
                });
            }
            message(dump, graph::ROOTS, |out| {
                number(out, heap_root::OBJECT_IDS, address(0));
                number(out, heap_root::ROOT_TYPE, 5);
            });
        });
    })
}

fn corrupt(count: u64, out: Out<'_>) -> io::Result<()> {
    each(count, out, |i, packet| {
        timestamp(packet, i);
        bytes(packet, field::CLOCK_SNAPSHOT, &[0x0a, 9, 1]);
    })
}

fn small(count: u64, out: Out<'_>) -> io::Result<()> {
    repeat(out, &SMALL, count * SMALL.len() as u64)
}
