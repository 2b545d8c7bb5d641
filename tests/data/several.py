"""Sets of small traces that belong together; make_fixtures.py writes them to several/.

docs/several.md describes them.
"""

import io
import json
import tarfile

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TracePacket, TrackDescriptor, TrackEvent

from synthetic import BOOT, BOOTTIME, MONOTONIC, MS, REALTIME, S, global_clock, snapshot, trace

US = 1000
INCREMENTAL_STATE_CLEARED = 1


class Writer:
    """A process with one thread that writes slices. If its machine has an id, its packets have this id."""

    def __init__(self, seq, pid, process, thread, machine=None, clock=None):
        self.seq, self.machine, self.clock = seq, machine, clock
        self.uuid = pid * 1000
        process_track = TrackDescriptor(uuid=self.uuid)
        process_track.process.pid, process_track.process.process_name = pid, process
        thread_track = TrackDescriptor(uuid=self.uuid + 1, parent_uuid=self.uuid)
        thread_track.thread.pid, thread_track.thread.tid = pid, pid
        thread_track.thread.thread_name = thread
        self.packets = [self.packet(track_descriptor=track) for track in [process_track, thread_track]]
        self.packets[0].sequence_flags = INCREMENTAL_STATE_CLEARED

    def packet(self, **fields):
        packet = TracePacket(trusted_packet_sequence_id=self.seq, **fields)
        if self.machine is not None:
            packet.machine_id = self.machine
        return packet

    def event(self, at, kind, name=None, clock=None, **fields):
        packet = self.packet(timestamp=at)
        if clock or self.clock:
            packet.timestamp_clock_id = clock or self.clock
        packet.track_event.type, packet.track_event.track_uuid = kind, self.uuid + 1
        if name:
            packet.track_event.name = name
        for field, value in fields.items():
            getattr(packet.track_event, field).append(value)
        self.packets.append(packet)

    def slice(self, begin, end, name, **fields):
        self.event(begin, TrackEvent.TYPE_SLICE_BEGIN, name, **fields)
        self.event(end, TrackEvent.TYPE_SLICE_END)

    def instant(self, at, name, **fields):
        self.event(at, TrackEvent.TYPE_INSTANT, name, **fields)


# Smaller ids of flows belong to one file; SDKs take 64 random bits.
FLOWS = 0x5BD1E995 << 32

def archive(**files):
    """A tar archive of files, the same every time."""
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w", format=tarfile.USTAR_FORMAT) as members:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            members.addfile(member, io.BytesIO(data))
    return tar.getvalue()


# A phone and a watch

# The watch was switched on this much later, and its wall clock is ahead.
WATCH_ON = 80 * S
WATCH_AHEAD = 2 * MS


def phone_trace():
    """An app asks a watch for a pulse three times, and waits for it."""
    app = Writer(3, 4242, "example.app", "app")
    for number in range(3):
        at = (101 + 3 * number) * S
        app.slice(at, at + 280 * MS, "ask for the pulse", flow_ids=FLOWS + 900 + number)
        app.instant(at + 275 * MS, "pulse received")
    clocks = [snapshot(BOOTTIME=at, MONOTONIC=at - 5 * S, REALTIME=BOOT + at) for at in [100 * S, 110 * S]]
    return trace(clocks[0], *app.packets, clocks[1])


def watch_trace():
    """The watch measures, and answers."""
    sensors = Writer(5, 310, "sensors", "pulse")
    for number in range(3):
        at = (101 + 3 * number) * S + 12 * MS - WATCH_ON
        sensors.slice(at, at + 250 * MS, "measure", terminating_flow_ids=FLOWS + 900 + number)

    def clocks(at):
        return snapshot(BOOTTIME=at - WATCH_ON, MONOTONIC=at - WATCH_ON, REALTIME=BOOT + at + WATCH_AHEAD)

    return trace(clocks(100 * S), *sensors.packets, clocks(110 * S))


def manifest(**machines):
    """A manifest with the machine of each file."""
    files = [{"path": path, "machine": {"name": name}} for path, name in machines.items()]
    text = {"perfetto_manifest": {"version": 1, "files": files}}
    return (json.dumps(text, indent=2) + "\n").encode()


# A virtual machine

GUEST = 42
# The guest was started this much later, and its clocks are 20 us too fast in a second.
GUEST_ON = 900 * S


def of_guest(at):
    since = at - GUEST_ON
    return since + since // 50_000


def vm_trace():
    """A host that asks a service on a guest, and what the two asked each other for the time.

    A round is a ping and an update of it; the recorder keeps the last five of these, which begin with
    an update.
    """
    sync = TracePacket(trusted_packet_sequence_id=1, machine_id=GUEST)

    def synced(sent_by_client, read_by_host):
        both = sync.remote_clock_sync.synced_clocks.add()
        for clocks, boottime in [(both.client_clocks, of_guest(sent_by_client)), (both.host_clocks, read_by_host)]:
            for clock, value in [(BOOTTIME, boottime), (MONOTONIC, boottime), (REALTIME, BOOT + read_by_host)]:
                clocks.clocks.add(clock_id=clock, timestamp=value)

    first, second = 1001 * S, 1031 * S
    synced(first - 30 * S, first - 30 * S + 2 * US)
    for at in [first, second]:
        synced(at, at + 2 * US)
        synced(at + 4 * US, at + 6 * US)

    client = Writer(3, 700, "client", "main")
    service = Writer(4, 55, "service", "main", GUEST)
    for number in range(3):
        at = first + (1 + 14 * number) * S
        flow = FLOWS + 70 + number
        client.slice(at, at + 900 * US, "request", flow_ids=flow)
        service.slice(of_guest(at + 100 * US), of_guest(at + 700 * US), "handle", terminating_flow_ids=flow)
    begin, end = [snapshot(BOOTTIME=at, MONOTONIC=at, REALTIME=BOOT + at) for at in [1000 * S, 1040 * S]]
    return trace(begin, sync, *client.packets, *service.packets, end)


# Two processes that record themselves

CYCLES = "com.example.cycles"


def frontend_trace():
    """A process that counts cycles before its first snapshot describes them."""
    cycles = global_clock(CYCLES)
    writer = Writer(2, 8001, "frontend", "main", clock=MONOTONIC)
    writer.instant(7_000_000, "started", clock=cycles)
    clocks = snapshot(BOOTTIME=502 * S, MONOTONIC=500 * S, REALTIME=BOOT + 502 * S)
    clocks.clock_snapshot.clocks.add(clock_id=cycles, timestamp=9_000_000)
    writer.packets.append(clocks)
    for number in range(2):
        at = (500 + number) * S + MS
        writer.slice(at, at + 40 * MS, "query", flow_ids=FLOWS + 30 + number)
    return trace(*writer.packets)


def backend_trace():
    writer = Writer(2, 8002, "backend", "main", clock=MONOTONIC)
    for number in range(2):
        at = (500 + number) * S + 4 * MS
        writer.slice(at, at + 20 * MS, "look up", terminating_flow_ids=FLOWS + 30 + number)
    return trace(snapshot(BOOTTIME=501 * S, MONOTONIC=499 * S, REALTIME=BOOT + 501 * S), *writer.packets)


def files():
    """The bytes of each file, by name."""
    machines = manifest(**{"phone.pftrace": "phone", "watch.pftrace": "watch"})
    traces = {"phone.pftrace": phone_trace(), "watch.pftrace": watch_trace()}
    processes = {"frontend.pftrace": frontend_trace(), "backend.pftrace": backend_trace()}
    return traces | processes | {
        "machines.json": machines,
        "phone-and-watch.tar": archive(**traces, **{"machines.json": machines}),
        "processes.tar": archive(**processes),
        "vm.pftrace": vm_trace(),
    }
