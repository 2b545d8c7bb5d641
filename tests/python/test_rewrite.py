"""The output of `timebase rewrite`, read by Perfetto's own package: only times differ (rules RW2 to RW8)."""

import gzip
import os
import subprocess
import zlib

import pytest
import timebase
from conftest import DATA
from google.protobuf.message import DecodeError
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace

TRACES = sorted(DATA.glob("*.pftrace"))


def decoded(data):
    """The packets, with the contents of compressed packets in their places; None for packets that this package cannot read."""
    trace = Trace()
    try:
        trace.ParseFromString(data)
        packets = []
        for packet in trace.packet:
            if packet.HasField("compressed_packets"):
                inner = Trace()
                # zlib, without gzip's header.
                inner.ParseFromString(_inflated(packet.compressed_packets))
                packets += inner.packet
            else:
                packets.append(packet)
        return packets
    except (DecodeError, ValueError):
        return None


def _inflated(data):
    try:
        return zlib.decompress(data)
    except zlib.error as error:
        raise ValueError(str(error)) from None


def without_times(packet):
    """A packet without the fields that rules RW2 to RW8 change."""
    packet.ClearField("timestamp")
    packet.ClearField("timestamp_clock_id")
    if packet.HasField("trace_packet_defaults"):
        packet.trace_packet_defaults.ClearField("timestamp_clock_id")
    kind = packet.WhichOneof("data")
    if kind == "ftrace_events":
        bundle = packet.ftrace_events
        for field in ("ftrace_clock", "ftrace_timestamp", "boot_timestamp"):
            bundle.ClearField(field)
        for field in ("last_read_event_timestamp", "previous_bundle_end_timestamp"):
            if field in bundle.DESCRIPTOR.fields_by_name:
                bundle.ClearField(field)
        for event in bundle.event:
            event.ClearField("timestamp")
        if bundle.HasField("compact_sched"):
            compact = bundle.compact_sched
            for field in ("switch_timestamp", "waking_timestamp"):
                count = len(getattr(compact, field))
                compact.ClearField(field)
                getattr(compact, field).extend([0] * count)
    elif kind == "track_event":
        packet.track_event.ClearField("timestamp_delta_us")
        packet.track_event.ClearField("timestamp_absolute_us")
    elif kind == "android_log":
        for line in packet.android_log.events:
            line.ClearField("timestamp")
    elif kind == "power_rails":
        for sample in packet.power_rails.energy_data:
            sample.ClearField("timestamp_ms")
    elif kind == "remote_clock_sync":
        packet.remote_clock_sync.Clear()
    return packet.SerializeToString(deterministic=True)


@pytest.mark.filterwarnings("ignore::timebase.TraceWarning")
@pytest.mark.parametrize("conversion", ["nearest", "linear"])
@pytest.mark.parametrize("trace", TRACES, ids=lambda trace: trace.stem)
def test_perfettos_package_reads_the_same_payloads(trace, conversion, tmp_path):
    try:
        summary = timebase.rewrite(trace, tmp_path / "out.pftrace", conversion=conversion)
    except timebase.RewriteFailed:
        pytest.skip("no trace")
    read, written = decoded(trace.read_bytes()), decoded((tmp_path / "out.pftrace").read_bytes())
    # A text with invalid UTF-8 does not change, and this package refuses it.
    assert read is None or written is not None and len(written) == summary["written"]
    if read is None or any("cannot be read" in left["what"] or "damaged" in left["what"] for left in summary["left_out"]):
        pytest.skip("damaged: there is nothing to compare")
    assert [without_times(packet) for packet in written] == [without_times(packet) for packet in read]


def test_the_whole_is_compressed_as_its_name_says(tmp_path):
    trace = DATA / "multihop.pftrace"
    timebase.rewrite(trace, tmp_path / "plain.pftrace")
    timebase.rewrite(trace, tmp_path / "packed.pftrace.gz")
    plain = (tmp_path / "plain.pftrace").read_bytes()
    assert gzip.decompress((tmp_path / "packed.pftrace.gz").read_bytes()) == plain
    with open(trace, "rb") as stream:
        timebase.rewrite(stream, tmp_path / "streamed.pftrace")
    assert (tmp_path / "streamed.pftrace").read_bytes() == plain
    piped = subprocess.run([os.environ["TIMEBASE_PROGRAM"], "rewrite", trace, "-o", "-"], capture_output=True, check=True)
    assert piped.stdout == plain


def test_rows_of_a_select_are_a_track_and_a_json_trace_is_converted(tmp_path):
    out = tmp_path / "out.pftrace"
    tracks = {"long": "SELECT ts, dur, name FROM slice WHERE dur > 1000"}
    summary = timebase.rewrite(DATA / "training-rank0.json", out, tracks=tracks)
    [track] = summary["tracks"]
    assert track["name"] == "long" and track["rows"] > 0 and summary["left_out"] == []
    names = {packet.track_descriptor.name for packet in decoded(out.read_bytes()) if packet.HasField("track_descriptor")}
    assert "long" in names
    with pytest.raises(timebase.RewriteFailed, match="no column ts"):
        timebase.rewrite(DATA / "app.pftrace", tmp_path / "other.pftrace", tracks={"a": "SELECT 1 AS x"})


def test_a_part_is_cut_out(tmp_path):
    start, end = 3086000000000, 3087000000000
    summary = timebase.rewrite(DATA / "desktop.pftrace", tmp_path / "part.pftrace", start=start, end=end)
    assert (summary["cut"]["from"], summary["cut"]["to"]) == (start, end)
    assert summary["written"] < summary["packets"] and summary["cut"]["carried"] > 0
    written = decoded((tmp_path / "part.pftrace").read_bytes())
    assert written is not None and len(written) == summary["written"]


def test_the_time_of_a_slice_is_cut_out(tmp_path):
    trace, out = DATA / "desktop.pftrace", tmp_path / "part.pftrace"
    by_name = timebase.rewrite(trace, out, during="fetch *", margin="50ms", reports=["slices"])
    assert [track["name"] for track in by_name["tracks"]] == ["slowest slices"]
    sql = "SELECT id, ts FROM slice WHERE name GLOB 'fetch *' ORDER BY ts, id LIMIT 1"
    [slice_id, ts] = timebase.connect(trace).execute(sql).fetchone()
    by_id = timebase.rewrite(trace, out, slice_id=slice_id, margin="50ms", force=True)
    assert by_id["cut"] == by_name["cut"] and by_id["cut"]["from"] == ts - 50_000_000
    with pytest.raises(timebase.RewriteFailed, match="^during='fetsh 1': no slice has this name; did you mean fetch 1"):
        timebase.rewrite(trace, tmp_path / "other.pftrace", during="fetsh 1")
    with pytest.raises(timebase.RewriteFailed, match="^margin= widens a window; say which: during=, slice_id=, or start= and end=$"):
        timebase.rewrite(trace, tmp_path / "other.pftrace", margin="5ms")
    with pytest.raises(ValueError, match="a track cannot have the name 'a=b'"):
        timebase.rewrite(trace, tmp_path / "other.pftrace", tracks={"a=b": "SELECT 1 AS ts"})


def test_tracks_are_added_to_a_part(tmp_path):
    window = {"start": 3086000000000, "end": 3087000000000}
    tracks = {"all": "SELECT ts, dur, name FROM slice"}
    part = timebase.rewrite(DATA / "desktop.pftrace", tmp_path / "part.pftrace", **window, tracks=tracks)
    [track] = part["tracks"]
    whole = timebase.rewrite(DATA / "desktop.pftrace", tmp_path / "whole.pftrace", tracks=tracks)
    assert part["cut"]["from"] == window["start"] and 0 < track["rows"] < whole["tracks"][0]["rows"]
