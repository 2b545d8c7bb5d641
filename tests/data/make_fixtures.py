#!/usr/bin/env python3
"""Makes the fixtures of tests/events.rs, tests/packet_json.rs and tests/argument_rules.rs.

    pip install perfetto==0.59.1 zstandard
    python3 tests/data/make_fixtures.py

It can be run from anywhere, and writes the same files every time. The tests do
not need it: what it writes is committed.

What is read here is read with Perfetto's own Python package, so that a
misreading of timebase cannot be in the fixtures, too.

    json/<trace>.jsonl.zst     one line a packet, in the order of packet.id
    events/<trace>.jsonl.zst   one line an ftrace event
    args/<trace>.jsonl.zst     one line a track event with debug annotations
    *.pftrace, *.descriptor    the traces that synthetic.py describes
    several/*                  those that several.py does
    profiles/viewer.pftrace    a recording by profilers, which sampled.py does
    java-heap.pftrace          two dumps of a Java heap, which java_heap.py does
"""

import json
import zlib
from pathlib import Path

import zstandard
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.json_format import MessageToDict
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TracePacket, TrackEvent

import java_heap
import sampled
import several
import synthetic

DATA = Path(__file__).resolve().parent
TRACES = ["nearest", "multihop", "dst", "sdk", "system", "system-compressed"]

INTEGERS_OF_64_BITS = {
    FieldDescriptor.TYPE_INT64,
    FieldDescriptor.TYPE_UINT64,
    FieldDescriptor.TYPE_SINT64,
    FieldDescriptor.TYPE_FIXED64,
    FieldDescriptor.TYPE_SFIXED64,
}


# The packets of a trace


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """(number, value) of each field; the value of one with a length is bytes."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        match tag & 7:
            case 0:
                value, at = varint(data, at)
            case 1:
                value, at = data[at : at + 8], at + 8
            case 2:
                length, at = varint(data, at)
                value, at = data[at : at + length], at + length
            case 5:
                value, at = data[at : at + 4], at + 4
            case other:
                raise ValueError(f"wire type {other}")
        yield tag >> 3, value


def packets(data):
    """Every packet; the packets inside a compressed packet come instead of it (F3)."""
    for number, packet in fields(data):
        if number != 1 or not packet:
            continue
        compressed = {n: v for n, v in fields(packet) if n in (50, 133)}
        if 50 in compressed:
            yield from packets(zlib.decompress(compressed[50]))
        elif 133 in compressed:
            inflate = zstandard.ZstdDecompressor().decompressobj()
            yield from packets(inflate.decompress(compressed[133]))
        else:
            yield TracePacket.FromString(packet)


# JSON


def as_json(message):
    """The protobuf JSON of a message, but with 64-bit integers as numbers."""
    return with_numbers(MessageToDict(message, preserving_proto_field_name=True), message.DESCRIPTOR)


def with_numbers(value, descriptor):
    return {name: field_with_numbers(v, descriptor.fields_by_name[name]) for name, v in value.items()}


def field_with_numbers(value, field):
    if field.message_type and field.message_type.GetOptions().map_entry:
        of_map = field.message_type.fields_by_name["value"]
        return {key: field_with_numbers(v, of_map) for key, v in value.items()}
    if isinstance(value, list):
        return [scalar_with_numbers(v, field) for v in value]
    return scalar_with_numbers(value, field)


def scalar_with_numbers(value, field):
    if field.message_type:
        return with_numbers(value, field.message_type)
    return int(value) if field.type in INTEGERS_OF_64_BITS else value


# ftrace events


class Cpu:
    """The thread that runs on a CPU, according to the last switch on it."""

    def __init__(self):
        self.running = None

    def switch(self, args):
        previous, self.running = self.running, args
        if previous is None:
            return {"args": args, "partial": True}
        before = {f"prev_{key}": previous[f"next_{key}"] for key in ("comm", "pid", "prio")}
        return {"tid": previous["next_pid"], "args": args | before}

    def rename(self, pid, comm):
        if self.running is not None and self.running["next_pid"] == pid:
            self.running = self.running | {"next_comm": comm}

    def waking(self, args):
        if self.running is None:
            return {"args": args, "partial": True}
        return {"tid": self.running["next_pid"], "args": args}


def events(trace):
    cpus = {}
    for packet_id, packet in enumerate(packets(trace)):
        if not packet.HasField("ftrace_events"):
            continue
        bundle = packet.ftrace_events
        where = {"packet_id": packet_id, "cpu": bundle.cpu}
        for event in bundle.event:
            yield where | full(event)
        cpu = cpus.setdefault(bundle.cpu, Cpu())
        for event in compact(bundle, cpu, cpus.values()):
            yield where | event


def full(event):
    """An event in the encoding for all kinds of events."""
    name = event.WhichOneof("event")
    row = {"timestamp": event.timestamp, "tid": event.pid, "name": name}
    if event.HasField("common_flags"):
        row["common_flags"] = event.common_flags
    return row | {"args": as_json(getattr(event, name))}


def compact(bundle, cpu, cpus):
    """The events of FtraceEventBundle.compact_sched, in order of time.

    Who switched away, and who woke another, is not recorded: it is the thread
    that the switch before switched to, under the name that it has got since.
    """
    columns = bundle.compact_sched
    switches = zip(
        running_sums(columns.switch_timestamp),
        columns.switch_next_comm_index,
        columns.switch_next_pid,
        columns.switch_next_prio,
        columns.switch_prev_state,
        strict=True,
    )
    wakings = zip(
        running_sums(columns.waking_timestamp),
        columns.waking_comm_index,
        columns.waking_pid,
        columns.waking_prio,
        columns.waking_target_cpu,
        columns.waking_common_flags,
        strict=True,
    )
    comms = columns.intern_table
    rows = []
    for timestamp, comm, pid, prio, state in switches:
        args = {"next_comm": comms[comm], "next_pid": pid, "next_prio": prio, "prev_state": state}
        rows.append((timestamp, "sched_switch", args, {}))
    for timestamp, comm, pid, prio, target, flags in wakings:
        args = {"comm": comms[comm], "pid": pid, "prio": prio, "target_cpu": target}
        rows.append((timestamp, "sched_waking", args, {"common_flags": flags}))
    for event in bundle.event:
        if event.HasField("task_rename"):
            rows.append((event.timestamp, "task_rename", event.task_rename, {}))
    # Our traces have no two events at one time, whose order would be a guess.
    assert len({timestamp for timestamp, *_ in rows}) == len(rows)
    for timestamp, name, args, flags in sorted(rows, key=lambda row: row[0]):
        if name == "task_rename":
            for other in cpus:
                other.rename(args.pid, args.newcomm)
            continue
        told = cpu.switch(args) if name == "sched_switch" else cpu.waking(args)
        yield {"timestamp": timestamp, "name": name} | told | flags


def running_sums(deltas):
    total = 0
    for delta in deltas:
        total += delta
        yield total


# Debug annotations


SLICE_TYPES = {
    TrackEvent.TYPE_SLICE_BEGIN: "begin",
    TrackEvent.TYPE_SLICE_END: "end",
    TrackEvent.TYPE_INSTANT: "instant",
}


class Interned:
    """The entries of a sequence's interned numbers: the first entry of each number since the state was cleared."""

    def __init__(self):
        self.names = {}
        self.strings = {}

    def add(self, data):
        for entry in data.debug_annotation_names:
            self.names.setdefault(entry.iid, entry.name)
        for entry in data.debug_annotation_string_values:
            self.strings.setdefault(entry.iid, entry.str.decode())


def annotated(trace):
    """The arguments of each event from its annotations, as if it were the only event of its slice."""
    sequences = {}
    for packet_id, packet in enumerate(packets(trace)):
        if packet.sequence_flags & TracePacket.SEQ_INCREMENTAL_STATE_CLEARED:
            sequences.pop(packet.trusted_packet_sequence_id, None)
        interned = sequences.setdefault(packet.trusted_packet_sequence_id, Interned())
        interned.add(packet.interned_data)
        event = packet.track_event
        if event.type in SLICE_TYPES and event.debug_annotations:
            arguments = Arguments(interned)
            for annotation in event.debug_annotations:
                arguments.annotation("debug", annotation)
            yield {"packet_id": packet_id, "type": SLICE_TYPES[event.type], "args": arguments.of_event}


class Arguments:
    """Values by keys. Two lists of one key are one list."""

    def __init__(self, interned):
        self.interned = interned
        self.of_event = {}
        self.lengths = {}

    def annotation(self, parent, annotation):
        has_iid = annotation.WhichOneof("name_field") == "name_iid"
        name = self.interned.names[annotation.name_iid] if has_iid else annotation.name
        self.value(f"{parent}.{sanitized(name)}", annotation)

    def value(self, key, annotation):
        if annotation.dict_entries:
            for entry in annotation.dict_entries:
                self.annotation(key, entry)
            return
        if annotation.array_values:
            self.list(key, annotation.array_values, self.value)
            return
        match annotation.WhichOneof("value"):
            case "string_value_iid":
                self.of_event[key] = self.interned.strings[annotation.string_value_iid]
            case "legacy_json_value":
                self.json(key, json.loads(annotation.legacy_json_value))
            case "nested_value":
                self.nested(key, annotation.nested_value)
            case None:
                pass
            case field:
                self.of_event[key] = getattr(annotation, field)

    def list(self, key, entries, add):
        for entry in entries:
            before = len(self.of_event)
            add(f"{key}[{self.lengths.get(key, 0)}]", entry)
            if len(self.of_event) > before:
                self.lengths[key] = self.lengths.get(key, 0) + 1

    def json(self, key, value):
        match value:
            case dict():
                for name, entry in value.items():
                    self.json(f"{key}.{name}", entry)
            case list():
                self.list(key, value, self.json)
            case None:
                pass
            case _:
                self.of_event[key] = value

    def nested(self, key, value):
        match value.nested_type:
            case value.DICT:
                for name, entry in zip(value.dict_keys, value.dict_values, strict=True):
                    self.nested(f"{key}.{sanitized(name)}", entry)
            case value.ARRAY:
                self.list(key, value.array_values, self.nested)
            case _:
                for field, said in value.ListFields():
                    self.of_event[key] = said


def sanitized(name):
    return name.translate(str.maketrans(".[]", "___"))


# Files


def write_lines(path, rows):
    lines = [json.dumps(row, separators=(",", ":"), ensure_ascii=False) for row in rows]
    text = "".join(line + "\n" for line in lines)
    write(path, zstandard.ZstdCompressor(level=19).compress(text.encode()), f"{len(lines)} lines")


def write(path, data, what=""):
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    print(f"{path.relative_to(DATA)}: {len(data)} bytes {what}")


def main():
    for name in TRACES:
        trace = (DATA / f"{name}.pftrace").read_bytes()
        write_lines(DATA / f"json/{name}.jsonl.zst", (as_json(packet) for packet in packets(trace)))
        if name.startswith("system"):
            write_lines(DATA / f"events/{name}.jsonl.zst", events(trace))
    for name in ["app", "sdk"]:
        trace = (DATA / f"{name}.pftrace").read_bytes()
        write_lines(DATA / f"args/{name}.jsonl.zst", annotated(trace))
    sdk = (DATA / "sdk.pftrace").read_bytes()
    write(DATA / "damaged.pftrace", sdk[:1600] + sdk[1700:3000], "a piece is missing, and the end")
    for name, data in synthetic.files().items():
        write(DATA / name, data)
    for name, data in several.files().items():
        write(DATA / "several" / name, data)
    for name, data in sampled.files().items():
        write(DATA / "profiles" / name, data)
    write(DATA / "java-heap.pftrace", java_heap.leak())


if __name__ == "__main__":
    main()
