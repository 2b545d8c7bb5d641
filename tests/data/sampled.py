"""A recording of a small program by perf and heapprofd, for the notebook about profiles; make_fixtures.py writes it.

The program decodes tiles in its first second and draws them in the second one.
"""

import random

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Profiling, TracePacket
from synthetic import S, trace

BOOTTIME, MONOTONIC_COARSE = 6, 4
MAPPINGS = {"app": ["system", "bin", "viewer"], "libpng": ["system", "lib", "libpng.so"], "libc": ["system", "lib", "libc.so"]}
# A function without a name only has an address.
FUNCTIONS = {
    "main": "app",
    "run_loop": "app",
    "decode_tile": "app",
    "draw_frame": "app",
    "layout": "app",
    "blend": "app",
    "walk": "app",
    "png_read_row": "libpng",
    "malloc": "libc",
    "memcpy": "libc",
    None: "libpng",
}
STACKS = [
    ["main", "run_loop"],
    ["main", "run_loop", "draw_frame"],
    ["main", "run_loop", "draw_frame", "blend"],
    ["main", "run_loop", "draw_frame", "layout", "walk"],
    ["main", "run_loop", "draw_frame", "layout", "walk", "walk"],
    ["main", "run_loop", "decode_tile", "png_read_row"],
    ["main", "run_loop", "decode_tile", "png_read_row", None],
    ["main", "run_loop", "decode_tile", "malloc"],
    ["main", "run_loop", "decode_tile", "memcpy"],
]
# The share of the time of each stack, in each half.
SHARES = [[2, 4, 5, 2, 1, 25, 40, 6, 15], [3, 10, 38, 12, 9, 5, 12, 2, 9]]
PID, WORKER = 4000, 4001
PERIOD = S // 200


def packet(timestamp=None, **more):
    return TracePacket(trusted_packet_sequence_id=2, timestamp=timestamp, sequence_flags=TracePacket.SEQ_NEEDS_INCREMENTAL_STATE, **more)


def interned():
    first = packet()
    first.sequence_flags = TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
    data = first.interned_data
    parts = sorted({part for path in MAPPINGS.values() for part in path})
    for iid, part in enumerate(parts, 1):
        data.mapping_paths.add(iid=iid, str=part.encode())
    for iid, (name, path) in enumerate(MAPPINGS.items(), 1):
        start = iid << 24
        data.build_ids.add(iid=iid, str=bytes([iid]) * 8)
        ids = [parts.index(part) + 1 for part in path]
        data.mappings.add(iid=iid, build_id=iid, start=start, end=start + (1 << 20), path_string_ids=ids)
    for iid, (name, mapping) in enumerate(FUNCTIONS.items(), 1):
        if name is not None:
            data.function_names.add(iid=iid, str=name.encode())
        function = iid if name is not None else 0
        data.frames.add(iid=iid, function_name_id=function, mapping_id=list(MAPPINGS).index(mapping) + 1, rel_pc=iid << 8)
    names = list(FUNCTIONS)
    for iid, stack in enumerate(STACKS, 1):
        data.callstacks.add(iid=iid, frame_ids=[names.index(name) + 1 for name in stack])
    return first


def described():
    snapshot = TracePacket(trusted_packet_sequence_id=1)
    for clock, reading in ((BOOTTIME, S), (MONOTONIC_COARSE, S)):
        snapshot.clock_snapshot.clocks.add(clock_id=clock, timestamp=reading)
    tree = packet(S)
    tree.process_tree.processes.add(pid=PID, ppid=1, cmdline=["/system/bin/viewer"])
    tree.process_tree.threads.add(tid=PID, tgid=PID, name="viewer")
    tree.process_tree.threads.add(tid=WORKER, tgid=PID, name="tiles")
    return [snapshot, interned(), tree]


def samples():
    draw = random.Random(18)
    for half, shares in enumerate(SHARES):
        for at in range(200):
            [stack] = draw.choices(range(len(STACKS)), shares)
            # Tiles are decoded by the worker.
            tid = WORKER if "decode_tile" in STACKS[stack] else PID
            sample = packet(S + half * S + at * PERIOD)
            sample.perf_sample.MergeFrom(
                type(sample.perf_sample)(cpu=at % 2, pid=PID, tid=tid, callstack_iid=stack + 1, cpu_mode=Profiling.MODE_USER)
            )
            yield sample
    # The last sample could not be unwound.
    yield packet(3 * S, perf_sample=dict(cpu=0, pid=PID, tid=PID, cpu_mode=Profiling.MODE_USER))


def dumps():
    """The bytes that each stack had allocated and freed by then."""
    tile, row, path = 8, 6, 5
    totals = [
        {tile: (40, 40 * 4096, 10), row: (300, 300 * 256, 300)},
        {tile: (90, 90 * 4096, 30), row: (700, 700 * 256, 700), path: (20, 20 * 64, 5)},
        {tile: (100, 100 * 4096, 85), row: (750, 750 * 256, 748), path: (400, 400 * 64, 12)},
    ]
    for index, stacks in enumerate(totals):
        dump = packet(S + (index + 1) * S * 6 // 10)
        dump.profile_packet.index = index
        process = dump.profile_packet.process_dumps.add(pid=PID, timestamp=S + (index + 1) * S * 6 // 10, heap_name="libc.malloc")
        for stack, (count, size, frees) in stacks.items():
            freed = size // count * frees
            process.samples.add(callstack_id=stack, self_allocated=size, self_freed=freed, alloc_count=count, free_count=frees)
        yield dump


def files():
    events = sorted([*samples(), *dumps()], key=lambda event: event.timestamp)
    return {"viewer.pftrace": trace(*described(), *events)}
