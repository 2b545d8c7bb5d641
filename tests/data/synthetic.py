"""Small traces, each made for one question; make_fixtures.py writes them.

What a test expects of one stands in the test, worked out by hand from docs/rules,
not here.
"""

import gzip

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorSet
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import (
    AndroidLogId,
    AndroidLogPriority,
    ExtensionDescriptor,
    FtraceClock,
    FtraceEvent,
    FtraceEventBundle,
    PrintFtraceEvent,
    TracePacket,
    TrackEvent,
)

REALTIME, MONOTONIC, MONOTONIC_RAW, BOOTTIME = 1, 3, 5, 6
S = 1_000_000_000
# Boot was at this REALTIME.
BOOT = 1_700_000_000 * S


# Bytes for fields that the schema does not have


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def field(number, value):
    """A field: a varint if the value is an integer, otherwise with its length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def trace(*packets):
    serialized = (p if isinstance(p, bytes) else p.SerializeToString(deterministic=True) for p in packets)
    return b"".join(field(1, packet) for packet in serialized)


def snapshot(**readings):
    """A ClockSnapshot of the tracing service."""
    packet = TracePacket(trusted_packet_sequence_id=1)
    for name, timestamp in readings.items():
        packet.clock_snapshot.clocks.add(clock_id=globals()[name], timestamp=timestamp)
    return packet


# Android logs


def logs(timestamp, *lines):
    packet = TracePacket(trusted_packet_sequence_id=2, timestamp=timestamp)
    for line in lines:
        packet.android_log.events.add(**line)
    return packet


def line(realtime, message, **more):
    """A line of the main log. None takes a field away."""
    fields = dict(
        log_id=AndroidLogId.LID_DEFAULT,
        pid=100,
        tid=101,
        uid=1000,
        timestamp=realtime,
        tag="app",
        prio=AndroidLogPriority.PRIO_INFO,
        message=message,
    )
    return {name: value for name, value in (fields | more).items() if value is not None}


def binary(realtime, tag, *args):
    """A line of the binary event log: it has values instead of a text."""
    return line(realtime, None, tag=tag, args=list(args)) | {"log_id": AndroidLogId.LID_EVENTS}


def log_trace():
    """Lines before, between and after three snapshots, and a suspend of five minutes.

    BOOTTIME and REALTIME go on in the suspend, MONOTONIC stands still. NTP moves
    REALTIME forward against BOOTTIME by 1 us, then by 2 us more.
    """
    return trace(
        logs(
            90 * S,
            line(BOOT + 400 * S + S // 2, "early, of the suspend"),
            line(BOOT + 401 * S + S // 2, "early, after the suspend"),
        ),
        snapshot(BOOTTIME=100 * S, MONOTONIC=80 * S, REALTIME=BOOT + 100 * S),
        logs(
            101 * S,
            line(BOOT + 99 * S + S // 2, "before the first snapshot"),
            line(BOOT + 100 * S, "at the first snapshot"),
            line(BOOT + 100 * S + S // 4, "after the first snapshot"),
            line(BOOT + 401 * S + S // 4, "after the suspend, read before its snapshot"),
        ),
        snapshot(BOOTTIME=401 * S, MONOTONIC=81 * S, REALTIME=BOOT + 401 * S + 1000),
        logs(
            401 * S,
            line(BOOT + 200 * S, "in the suspend"),
            line(BOOT + 401 * S + 999, "just before the second snapshot"),
            line(BOOT + 401 * S + 1000, "at the second snapshot"),
        ),
        snapshot(BOOTTIME=402 * S, MONOTONIC=82 * S, REALTIME=BOOT + 402 * S + 3000),
        logs(
            403 * S,
            line(BOOT + 401 * S + 3 * S // 4, "before the third snapshot"),
            line(BOOT + 402 * S + S // 2, "after the third snapshot"),
        ),
        logs(
            404 * S,
            line(BOOT + 403 * S, "it's a \"quote\", a \\ and a 'quote'", tag="quotes"),
            line(BOOT + 403 * S, "one line\nanother\tline\n", tag="newlines"),
            line(BOOT + 403 * S, "größer als π, 日本語, 🕰", tag="ünï"),
            line(BOOT + 403 * S, "", tag="empty"),
            line(BOOT + 403 * S, "no uid", tag="no-uid", uid=None),
            line(BOOT + 403 * S, "root", tag="root", uid=0),
            line(BOOT + 403 * S, "no prio", tag="no-prio", prio=None),
            line(BOOT + 403 * S, "boom", tag="fatal", prio=AndroidLogPriority.PRIO_FATAL),
            line(
                BOOT + 403 * S,
                "crashed",
                tag="crash",
                log_id=AndroidLogId.LID_CRASH,
                pid=4000,
                tid=4001,
                uid=10123,
            ),
        ),
        logs(
            405 * S,
            binary(
                BOOT + 404 * S,
                "am_proc_start",
                dict(name="User", int_value=10),
                dict(name="Bytes", int_value=5_000_000_000),
                dict(name="Delta", int_value=-1),
                dict(name="Load", float_value=0.5),
                dict(name="Process Name", string_value='com.example."π"'),
            ),
            binary(
                BOOT + 404 * S,
                "am_twice",
                dict(name="Value", int_value=1),
                dict(name="Value", string_value="two"),
            ),
        ),
    )


def dst_log_trace():
    """REALTIME goes back by an hour in the second snapshot."""
    hour = 3600 * S
    return trace(
        logs(90 * S, line(BOOT + 95 * S, "early")),
        snapshot(BOOTTIME=100 * S, MONOTONIC=80 * S, REALTIME=BOOT + 100 * S),
        logs(
            101 * S,
            line(BOOT + 99 * S, "before the first snapshot"),
            line(BOOT + 101 * S, "after the first snapshot"),
        ),
        snapshot(BOOTTIME=200 * S, MONOTONIC=180 * S, REALTIME=BOOT + 200 * S - hour),
        logs(
            201 * S,
            line(BOOT + 150 * S, "before the jump, read after it"),
            line(BOOT + 201 * S - hour, "after the jump"),
        ),
        snapshot(BOOTTIME=300 * S, MONOTONIC=280 * S, REALTIME=BOOT + 300 * S - hour),
        logs(301 * S, line(BOOT + 301 * S - hour, "it goes forward again")),
    )


# ftrace


def bundle(seq, *events, pair=None, **fields):
    """A packet with a bundle; an event of it may be bytes."""
    if pair:
        fields["ftrace_timestamp"], fields["boot_timestamp"] = pair
    body = FtraceEventBundle(**fields).SerializeToString(deterministic=True)
    for event in events:
        data = event if isinstance(event, bytes) else event.SerializeToString(deterministic=True)
        body += field(2, data)
    packet = TracePacket(trusted_packet_sequence_id=seq) if seq else TracePacket()
    return packet.SerializeToString(deterministic=True) + field(1, body)


def mark(timestamp, text):
    """An event with a name."""
    return FtraceEvent(timestamp=timestamp, pid=7, print=PrintFtraceEvent(buf=text))


def unknown(timestamp, number, body):
    """An event of a kind that the schema does not know."""
    return FtraceEvent(timestamp=timestamp, pid=7).SerializeToString() + field(number, body)


def generic(timestamp):
    event = FtraceEvent(timestamp=timestamp, pid=8)
    event.generic.event_name = "my_probe"
    event.generic.field.add(name="label", str_value='a "b" π')
    event.generic.field.add(name="delta", int_value=-5)
    event.generic.field.add(name="mask", uint_value=2**64 - 1)
    return event


# The number of an event that describes itself; Perfetto counts them from here.
VENDOR_POKE = 65536


def vendor_poke_descriptor():
    kinds = FieldDescriptorProto
    message = DescriptorProto(name="vendor_poke")
    for number, (name, kind) in enumerate(
        [("irq", kinds.TYPE_INT64), ("mask", kinds.TYPE_UINT64), ("label", kinds.TYPE_STRING)], 1
    ):
        message.field.add(name=name, number=number, type=kind, label=kinds.LABEL_OPTIONAL)
    return dict(
        field_id=VENDOR_POKE,
        group_name="vendor",
        event_descriptor=message.SerializeToString(deterministic=True),
    )


def vendor_poke(timestamp, irq, mask, label):
    body = field(1, irq % 2**64) + field(2, mask) + field(3, label.encode())
    return unknown(timestamp, VENDOR_POKE, body)


def machines_trace():
    """Two machines that describe different kinds of events under one number.

    The first event comes before its description.
    """
    message = DescriptorProto(name="guest_exit")
    message.field.add(
        name="reason",
        number=1,
        type=FieldDescriptorProto.TYPE_INT64,
        label=FieldDescriptorProto.LABEL_OPTIONAL,
    )
    guest = dict(field_id=VENDOR_POKE, event_descriptor=message.SerializeToString(deterministic=True))
    event = vendor_poke(100, 5, 6, "x")
    on_guest = bundle(2, event, cpu=0, generic_event_descriptors=[guest]) + field(98, 7)
    return trace(
        snapshot(BOOTTIME=100, MONOTONIC=100),
        bundle(2, event, cpu=0),
        bundle(2, event, cpu=0, generic_event_descriptors=[vendor_poke_descriptor()]),
        on_guest,
        bundle(2, event, cpu=0),
    )


def damaged_columns_trace():
    """Compact events: one of them lacks a value, and one names a missing thread."""
    body = FtraceEventBundle(cpu=0)
    columns = body.compact_sched
    columns.intern_table.append("init")
    columns.switch_timestamp.extend([100, 10, 10])
    columns.switch_prev_state.extend([0, 1, 0])
    columns.switch_next_pid.extend([1, 2])
    columns.switch_next_prio.extend([120, 120, 120])
    columns.switch_next_comm_index.extend([0, 7, 0])
    packet = TracePacket(trusted_packet_sequence_id=2)
    packet.ftrace_events.CopyFrom(body)
    return trace(snapshot(BOOTTIME=100, MONOTONIC=100), packet)


def ftrace_clock_trace():
    clock = FtraceClock
    no_time = b"\x08\xff"  # the varint of its timestamp does not end
    return trace(
        snapshot(BOOTTIME=1_000_000, MONOTONIC=900_000, MONOTONIC_RAW=500_000),
        # 1-4: two sequences, each with a clock 64 of its own
        bundle(
            2,
            mark(900, "global, before the pair"),
            mark(1000, "global, at the pair"),
            mark(1500, "global, after the pair"),
            cpu=0,
            ftrace_clock=clock.FTRACE_CLOCK_GLOBAL,
            pair=(1000, 11_000),
        ),
        bundle(
            2,
            mark(1600, "global, the pair repeated"),
            mark(2600, "global, read before the second pair"),
            cpu=1,
            ftrace_clock=clock.FTRACE_CLOCK_GLOBAL,
            pair=(1000, 99_000),
        ),
        bundle(
            3,
            mark(6500, "local, before the pair"),
            mark(7500, "local, after the pair"),
            cpu=0,
            ftrace_clock=clock.FTRACE_CLOCK_LOCAL,
            pair=(7000, 57_000),
        ),
        bundle(
            2,
            mark(1999, "global, between the pairs"),
            mark(2600, "global, after the second pair"),
            cpu=0,
            ftrace_clock=clock.FTRACE_CLOCK_GLOBAL,
            pair=(2000, 12_100),
        ),
        # 5-6: the pair comes after the events
        bundle(6, mark(300, "global, no pair yet"), cpu=0, ftrace_clock=clock.FTRACE_CLOCK_GLOBAL),
        bundle(
            6,
            mark(450, "global, the first pair"),
            cpu=0,
            ftrace_clock=clock.FTRACE_CLOCK_GLOBAL,
            pair=(400, 20_400),
        ),
        # 7: the pair is 7 ns off the service's snapshot
        bundle(
            2,
            mark(500_000, "raw, at the snapshot"),
            mark(600_500, "raw, after the pair"),
            cpu=0,
            ftrace_clock=clock.FTRACE_CLOCK_MONO_RAW,
            pair=(600_000, 1_100_007),
        ),
        # 8-10: events that cannot be placed
        bundle(2, mark(1_000_500, "unknown"), cpu=0, ftrace_clock=clock.FTRACE_CLOCK_UNKNOWN),
        bundle(
            0,
            mark(55, "local, no sequence"),
            cpu=0,
            ftrace_clock=clock.FTRACE_CLOCK_LOCAL,
            pair=(50, 60_050),
        ),
        bundle(5, mark(1_000_500, "global, never a pair"), cpu=0, ftrace_clock=clock.FTRACE_CLOCK_GLOBAL),
        # 11-14: events of all kinds, on BOOTTIME
        bundle(
            2,
            mark(2_000_000, "boottime"),
            generic(2_000_100),
            unknown(2_000_200, 1999, field(1, 7) + field(2, 300)),
            no_time,
            mark(2_000_300, "after the corrupt one"),
            cpu=3,
        ),
        bundle(
            2,
            vendor_poke(2_000_400, -3, 2**64 - 1, "first"),
            cpu=2,
            generic_event_descriptors=[vendor_poke_descriptor()],
        ),
        bundle(2, vendor_poke(2_000_500, 4, 5, "second"), cpu=1),
        bundle(2, mark(2_000_600, "after a loss"), cpu=0, lost_events=True),
    )


# An extension of the schema


def extension_set():
    """What `protoc --descriptor_set_out` makes of

    package example;
    import "protos/perfetto/trace/track_event/track_event.proto";

    message Request {
      optional string url = 1;
      optional Phase phase = 2;
      optional uint64 bytes = 3;
      enum Phase { PHASE_UNSPECIFIED = 0; PHASE_SEND = 1; }
    }
    message ExampleTrackEvent {
      extend perfetto.protos.TrackEvent {
        optional int64 latency_ns = 9901;
        optional Request request = 9902;
        repeated string labels = 9903;
      }
    }

    Like protoc's, it does not hold what it imports.
    """
    kinds = FieldDescriptorProto
    files = FileDescriptorSet()
    file = files.file.add(name="example/track_event.proto", package="example", syntax="proto2")
    file.dependency.append("protos/perfetto/trace/track_event/track_event.proto")
    request = file.message_type.add(name="Request")
    phase = request.enum_type.add(name="Phase")
    phase.value.add(name="PHASE_UNSPECIFIED", number=0)
    phase.value.add(name="PHASE_SEND", number=1)
    for number, name, kind, type_name in [
        (1, "url", kinds.TYPE_STRING, None),
        (2, "phase", kinds.TYPE_ENUM, ".example.Request.Phase"),
        (3, "bytes", kinds.TYPE_UINT64, None),
    ]:
        request.field.add(name=name, number=number, type=kind, type_name=type_name, label=kinds.LABEL_OPTIONAL)
    wrapper = file.message_type.add(name="ExampleTrackEvent")
    for number, name, kind, type_name, label in [
        (9901, "latency_ns", kinds.TYPE_INT64, None, kinds.LABEL_OPTIONAL),
        (9902, "request", kinds.TYPE_MESSAGE, ".example.Request", kinds.LABEL_OPTIONAL),
        (9903, "labels", kinds.TYPE_STRING, None, kinds.LABEL_REPEATED),
    ]:
        wrapper.extension.add(
            name=name,
            number=number,
            type=kind,
            type_name=type_name,
            label=label,
            extendee=".perfetto.protos.TrackEvent",
        )
    return files.SerializeToString(deterministic=True)


def extended_event():
    """A track event that uses the extension."""
    event = TrackEvent(type=TrackEvent.TYPE_INSTANT, name="request").SerializeToString(deterministic=True)
    request = field(1, "https://example.org/π".encode()) + field(2, 1) + field(3, 2**63)
    event += field(9901, 1_234_567_890_123) + field(9902, request)
    event += field(9903, b"slow") + field(9903, b"retried")
    packet = TracePacket(trusted_packet_sequence_id=2, timestamp=150)
    return packet.SerializeToString(deterministic=True) + field(11, event)


def extension_trace(descriptor=None):
    """A trace with this ExtensionDescriptor, if there is one, and an event that needs it."""
    packets = [snapshot(BOOTTIME=100, MONOTONIC=100)]
    if descriptor:
        packets.append(TracePacket(trusted_packet_sequence_id=1, extension_descriptor=descriptor))
    return trace(*packets, extended_event())


# The trace of the README's tour

MS = 1_000_000
GPU = "com.example.gpu"
# The GPU's counter runs at 20 MHz.
GPU_TICK = 50

APP, RENDER, GC, COMPOSITOR, IDLE = 4242, 4250, 4261, 612, 0
NAMES = {
    APP: "example.app",
    RENDER: "RenderThread",
    GC: "HeapTaskDaemon",
    COMPOSITOR: "surfaceflinger",
    IDLE: "swapper",
}


def global_clock(name):
    """Rule C3."""
    hashed = 0x811C9DC5
    for byte in name.encode():
        hashed = (hashed ^ byte) * 0x01000193 & 0xFFFFFFFF
    return hashed | 0x80000000


class Cpu:
    """The compact scheduler events of a CPU, and its running thread."""

    def __init__(self, number):
        self.bundle = FtraceEventBundle(cpu=number)
        self.comms = {}
        self.last = {"switch": 0, "waking": 0}

    def comm(self, pid):
        if pid not in self.comms:
            self.comms[pid] = len(self.comms)
            self.bundle.compact_sched.intern_table.append(NAMES[pid])
        return self.comms[pid]

    def since_last(self, kind, at):
        delta, self.last[kind] = at - self.last[kind], at
        return delta

    def switch(self, at, pid, state=1):
        columns = self.bundle.compact_sched
        columns.switch_timestamp.append(self.since_last("switch", at))
        columns.switch_prev_state.append(state)
        columns.switch_next_pid.append(pid)
        columns.switch_next_prio.append(120)
        columns.switch_next_comm_index.append(self.comm(pid))

    def wake(self, at, pid, cpu):
        columns = self.bundle.compact_sched
        columns.waking_timestamp.append(self.since_last("waking", at))
        columns.waking_pid.append(pid)
        columns.waking_target_cpu.append(cpu)
        columns.waking_prio.append(120)
        columns.waking_comm_index.append(self.comm(pid))
        columns.waking_common_flags.append(1)


def late_frame_trace():
    """A phone draws 20 frames. In the 13th, the garbage collector is in the way.

    The kernel is on BOOTTIME, the log on REALTIME, the GPU on a counter of its
    own, which started 40 s after boot and loses 20 us a second.
    """
    start = 5000 * S
    frame = 16 * MS
    gpu = global_clock(GPU)

    def ticks(boottime):
        since = boottime - 40 * S
        return (since - since // 50_000) // GPU_TICK

    def clocks(now):
        packet = snapshot(BOOTTIME=now, MONOTONIC=now - 3 * S, REALTIME=BOOT + now)
        readings = packet.clock_snapshot.clocks
        readings.add(clock_id=gpu, timestamp=ticks(now), unit_multiplier_ns=GPU_TICK)
        return packet

    cpus = Cpu(0), Cpu(1)
    packets = [clocks(start - MS)]
    stages, lines = [], []
    for cpu in cpus:
        cpu.switch(start - MS, IDLE)
    for number in range(20):
        now = start + number * frame
        late = 9 * MS if number == 12 else 0
        # The display's signal wakes the app, which hands its frame to the render
        # thread, which hands it to the GPU; then it is composed, if it is in time.
        cpus[0].wake(now, APP, 0)
        cpus[0].switch(now + 60_000, APP, 0)
        if late:
            cpus[0].wake(now + 2 * MS, GC, 1)
            cpus[1].switch(now + 2 * MS + 40_000, GC, 0)
            collected = now + 11 * MS + 900_000
            lines.append(
                line(
                    BOOT + collected,
                    "Background young concurrent mark compact GC freed 6120KB, paused 9.781ms",
                    tag="example.app",
                    pid=APP,
                    tid=GC,
                )
            )
        cpus[0].wake(now + 3 * MS, RENDER, 1)
        cpus[0].switch(now + 4 * MS, IDLE)
        drawn = now + 3 * MS + 80_000 + late
        cpus[1].switch(drawn, RENDER, 0)
        submitted = drawn + 2 * MS
        stages.append((submitted, 4 * MS + number % 3 * 100_000, number))
        if not late:
            cpus[1].wake(submitted, COMPOSITOR, 0)
        cpus[1].switch(submitted + 50_000, IDLE)
        if late:
            missed = now + frame + 700_000
            lines.append(
                line(
                    BOOT + missed,
                    "Davey! duration=23ms; missed the deadline of frame 12",
                    tag="OpenGLRenderer",
                    prio=AndroidLogPriority.PRIO_WARN,
                    pid=APP,
                    tid=RENDER,
                )
            )
        else:
            cpus[0].switch(submitted + 5 * MS, COMPOSITOR, 0)
            cpus[0].switch(submitted + 6 * MS, IDLE)
    for cpu in cpus:
        packet = TracePacket(trusted_packet_sequence_id=2)
        packet.ftrace_events.CopyFrom(cpu.bundle)
        packets.append(packet)
    for at, duration, number in stages:
        packet = TracePacket(trusted_packet_sequence_id=3, timestamp_clock_id=gpu, timestamp=ticks(at))
        stage = packet.gpu_render_stage_event
        stage.event_id, stage.duration, stage.name = number, duration, f"frame {number}"
        packets.append(packet)
    packets.append(logs(start + 20 * frame, *lines))
    packets.append(clocks(start + 20 * frame))
    return trace(*packets)


def files():
    """The bytes of each file, by name."""
    extension = extension_set()
    plain = ExtensionDescriptor()
    plain.extension_set.MergeFromString(extension)
    gzipped = ExtensionDescriptor(extension_set_gzip=gzip.compress(extension, mtime=0))
    return {
        "logs.pftrace": log_trace(),
        "logs-dst.pftrace": dst_log_trace(),
        "ftrace-clocks.pftrace": ftrace_clock_trace(),
        "ftrace-machines.pftrace": machines_trace(),
        "ftrace-damaged.pftrace": damaged_columns_trace(),
        "extension.pftrace": extension_trace(plain),
        "extension-gzip.pftrace": extension_trace(gzipped),
        "extension-undescribed.pftrace": extension_trace(),
        "extension.descriptor": extension,
        "late-frame.pftrace": late_frame_trace(),
    }
