"""`timebase flamegraph` in a real browser: search, a click, a phone. And its callstacks in other readers: the profile for pprof
by its public schema, and the trace by Perfetto's own classes.
"""

import gzip
import os
import subprocess
from collections import Counter
from contextlib import closing

import pytest
import timebase
from browser import Browser
from conftest import DATA, REPOSITORY
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TracePacket

#: The width of a phone, in pixels.
PHONE = 360
#: A random trace; its samples are compared with trace processor's in tests/profiles.rs.
TRACE = DATA / "profiles" / "03.pftrace"

#: The names of the shown functions, and their widths.
FRAMES = """
    [...document.querySelectorAll('#frames > g')].map(group => {
      const box = group.querySelector('rect').getBoundingClientRect();
      return [group.querySelector('title').textContent, box.width, getComputedStyle(group).display];
    }).filter(([, width, display]) => width > 0 && display !== 'none')
"""


@pytest.fixture(scope="module")
def browser():
    with closing(Browser()) as browser:
        yield browser


def flamegraph(*arguments, trace=TRACE):
    program = os.environ["TIMEBASE_PROGRAM"]
    command = [program, "flamegraph", trace, *arguments]
    return subprocess.run(command, check=True, cwd=REPOSITORY, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    page = tmp_path_factory.mktemp("flamegraph") / "flame.html"
    flamegraph("-o", page)
    return page


@pytest.fixture(scope="module")
def samples():
    """The number of samples of each stack."""
    lines = [line.rpartition(" ") for line in flamegraph().splitlines()]
    return {tuple(stack.split(";")): int(count) for stack, _, count in lines}


def shown(browser):
    return {title.split(" (")[0]: width for title, width, _ in browser.run(FRAMES)}


def test_widths_are_shares_and_nothing_is_fetched(browser, page, samples):
    browser.open(page)
    assert browser.complaints() == []
    assert [url for url in browser.fetched() if not url.startswith("data:")] == [page.as_uri()]
    total = sum(samples.values())
    frames = browser.run(FRAMES)
    [whole] = [width for title, width, _ in frames if title.startswith("all (")]
    outermost = {}
    for stack, count in samples.items():
        outermost[stack[0]] = outermost.get(stack[0], 0) + count
    for name, count in outermost.items():
        title = f"{name} ({count} samples, {100 * count / total:.2f}%)"
        widths = [width for found, width, _ in frames if found == title]
        assert any(abs(width / whole - count / total) < 0.01 for width in widths), (title, frames)


def test_a_click_zooms_and_the_way_back_is_there(browser, page, samples):
    browser.open(page)
    name = max(samples, key=samples.get)[0]
    before = shown(browser)
    click = "[...document.querySelectorAll('#frames > g')].find(g => g.querySelector('title').textContent.startsWith(NAME))"
    found = click.replace("NAME", repr(name + " ("))
    browser.run(f"{found}.querySelector('rect').dispatchEvent(new MouseEvent('click', {{bubbles: true}}))")
    assert shown(browser)[name] == pytest.approx(before["all"], rel=0.01)
    browser.run("document.getElementById('unzoom').dispatchEvent(new MouseEvent('click', {bubbles: true}))")
    assert shown(browser) == before


def test_a_search_says_how_much_is_found(browser, page, samples):
    browser.open(page)
    name = max(samples, key=samples.get)[-1]
    count = sum(count for stack, count in samples.items() if any(name in function for function in stack))
    browser.run(f"search({name!r})")
    share = 100 * count / sum(samples.values())
    matched = browser.run("document.getElementById('matched').textContent")
    assert matched.startswith("Matched") and float(matched.split(": ")[1].rstrip("%")) == pytest.approx(share, abs=0.11)


def test_on_a_phone_it_is_as_wide_as_the_screen(browser, page):
    browser.open(page, width=PHONE)
    assert browser.run("document.documentElement.scrollWidth") == PHONE
    right = browser.run("Math.max(...[...document.querySelectorAll('svg text')].map(text => text.getBoundingClientRect().right))")
    assert right <= PHONE


#: pprof's schema (https://github.com/google/pprof/blob/main/proto/profile.proto): all fields of all messages.
PPROF = {
    "Profile": "sample_type=1:ValueType* sample=2:Sample* mapping=3:Mapping* location=4:Location* function=5:Function* "
    "string_table=6:string* drop_frames=7 keep_frames=8 time_nanos=9 duration_nanos=10 period_type=11:ValueType period=12 comment=13:int64* "
    "default_sample_type=14",
    "ValueType": "type=1 unit=2",
    "Sample": "location_id=1:uint64* value=2:int64* label=3:Label*",
    "Label": "key=1 str=2 num=3 num_unit=4",
    "Mapping": "id=1:uint64 memory_start=2:uint64 memory_limit=3:uint64 file_offset=4:uint64 filename=5 build_id=6 has_functions=7:bool "
    "has_filenames=8:bool has_line_numbers=9:bool has_inline_frames=10:bool",
    "Location": "id=1:uint64 mapping_id=2:uint64 address=3:uint64 line=4:Line* is_folded=5:bool",
    "Line": "function_id=1:uint64 line=2",
    "Function": "id=1:uint64 name=2 system_name=3 filename=4 start_line=5",
}


def pprof_schema():
    """The class of a profile, made by Google's protobuf library."""
    field_type = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="profile.proto", package="perftools.profiles", syntax="proto3")
    for name, fields in PPROF.items():
        message = file.message_type.add(name=name)
        for field in fields.split():
            named, _, kind = field.partition(":")
            field_name, number = named.split("=")
            label = field_type.LABEL_REPEATED if kind.endswith("*") else field_type.LABEL_OPTIONAL
            kind = kind.rstrip("*") or "int64"
            of = message.field.add(name=field_name, number=int(number), label=label)
            if kind in PPROF:
                of.type, of.type_name = field_type.TYPE_MESSAGE, f".perftools.profiles.{kind}"
            else:
                of.type = getattr(field_type, f"TYPE_{kind.upper()}")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("perftools.profiles.Profile"))


def unknown(message):
    """Whether a message, or a message inside it, has fields that the schema does not know."""
    fields = type(message).FromString(message.SerializeToString())
    fields.DiscardUnknownFields()
    return fields.SerializeToString(deterministic=True) != message.SerializeToString(deterministic=True)


def by_id(messages):
    assert all(message.id > 0 for message in messages)
    numbered = {message.id: message for message in messages}
    assert len(numbered) == len(messages)
    return numbered


def folded(profile):
    """The folded lines of a profile with one or two values for each sample; the last value counts. The profile must satisfy
    pprof's rules.
    """
    texts = profile.string_table
    assert texts[0] == ""
    functions, locations = by_id(profile.function), by_id(profile.location)
    mappings = by_id(profile.mapping)
    stacks = Counter()
    for sample in profile.sample:
        assert len(sample.value) == len(profile.sample_type)
        names = []
        for location in (locations[number] for number in sample.location_id):
            assert location.mapping_id == 0 or texts[mappings[location.mapping_id].filename] is not None
            names += [texts[functions[line.function_id].name].replace(";", ":") for line in location.line]
        stacks[";".join(reversed(names))] += sample.value[-1]
    return stacks


@pytest.mark.parametrize("number, of", [("03", "cpu"), ("14", "cpu"), ("24", "cpu"), ("18", "heap"), ("30", "allocations")])
def test_a_reader_of_pprofs_schema_finds_the_same_stacks(tmp_path, number, of):
    trace, file = DATA / "profiles" / f"{number}.pftrace", tmp_path / "profile.pb.gz"
    flamegraph("--of", of, "-o", file, trace=trace)
    profile = pprof_schema().FromString(gzip.decompress(file.read_bytes()))
    assert not unknown(profile)
    kinds = [(profile.string_table[kind.type], profile.string_table[kind.unit]) for kind in profile.sample_type]
    assert kinds == {
        "cpu": [("samples", "count")],
        "heap": [("inuse_objects", "count"), ("inuse_space", "bytes")],
        "allocations": [("alloc_objects", "count"), ("alloc_space", "bytes")],
    }[of]
    lines = [line.rpartition(" ") for line in flamegraph("--of", of, trace=trace).splitlines()]
    expected = {stack: int(weight) for stack, _, weight in lines}
    assert len(expected) > 3 and folded(profile) == expected


def function_name(known, frame):
    """The name of a frame on a callstack, by the interned data of its sequence."""
    function = known.get(("function_names", frame.function_name_id))
    if function is not None and function.str:
        return function.str.decode(errors="replace").replace(";", ":")
    mapping = known["mappings", frame.mapping_id]
    path = "".join("/" + known["mapping_paths", iid].str.decode() for iid in mapping.path_string_ids)
    return f"{path or '[unknown]'}+0x{frame.rel_pc:x}"


def sampled(trace):
    """The number of perf's samples of each stack, read naively: each packet by the interned data before it, without defaults, and
    without handling missing data.
    """
    interned, stacks = {}, Counter()
    for packet in Trace.FromString(trace.read_bytes()).packet:
        if packet.sequence_flags & TracePacket.SEQ_INCREMENTAL_STATE_CLEARED:
            interned[packet.trusted_packet_sequence_id] = {}
        known = interned.setdefault(packet.trusted_packet_sequence_id, {})
        for field in ("function_names", "mapping_paths", "mappings", "frames", "callstacks"):
            for entry in getattr(packet.interned_data, field):
                known.setdefault((field, entry.iid), entry)
        callstack = known.get(("callstacks", packet.perf_sample.callstack_iid))
        if packet.HasField("perf_sample") and callstack is not None:
            frames = [known["frames", iid] for iid in callstack.frame_ids]
            stacks[";".join(function_name(known, frame) for frame in frames)] += 1
    return stacks


# The random traces that a naive reader understands, with 16 samples or more.
@pytest.mark.parametrize("number", ["03", "07", "14", "18"])
def test_perfettos_own_classes_decode_the_same_stacks(number):
    trace = DATA / "profiles" / f"{number}.pftrace"
    with closing(timebase.connect(trace)) as database:
        rows = database.execute("SELECT callstack(callsite_id), count(*) FROM perf_sample WHERE callsite_id IS NOT NULL GROUP BY 1")
        ours = dict(rows.fetchall())
    assert sum(ours.values()) >= 16
    assert sampled(trace) == ours
