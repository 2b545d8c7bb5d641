"""The notebooks in docs/notebooks, run from beginning to end. Their output equals the saved output, and on any other trace they
show that trace.
"""

import copy
import json
import os
import re
import warnings
from collections import Counter, defaultdict
from contextlib import closing

import nbclient
import nbformat
import pytest
import timebase
from conftest import DATA, REPOSITORY
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace

NOTEBOOKS = REPOSITORY / "docs" / "notebooks"

# The statements of each notebook about its trace, and its number of figures.
ANSWERS = {
    "clocks": [
        r"TSC +6\.035 +0\.000 +9632897\.919 +9632897\.919 +1596122\.122",
        r"TSC counts 2\.5961 per nanosecond",
        r"MONOTONIC_COARSE stands still between two ticks of the kernel: readings are behind by up to 3\.2 ms",
        r"59 packets are placed, and 0 are not",
        r"2026-11-21T03:21:04\.583333798 is REALTIME 1795231264583333798",
        r"REALTIME +BOOTTIME +5 +1795231264583333798 +2415504452280",
    ],
    "scheduling": [
        r"/srv/desktop/bin/compositor +1 +857 +185\.3 +4\.6",
        r"raster-1/6 15796 +0\.6 +88\.2 +0\.0 +80\.9 +3186\.0",
        r"1 +raster-1/6 +R +vsync +9085 +0 +app-2 +16043 +7532",
        r"4 of the longest waits overlap, of raster-0, compositor, raster-1/6, vsync",
        r"Meanwhile app-2 \(16043\) had the CPU for 7\.5 ms",
        r"compositor +tiles done +118 +24\.0 +264\.0",
    ],
    "application": [
        r"frame +90 +1112\.2 +1097\.2 +15\.9",
        r"77 +frame +mapviewer +49\.4 +15\.9",
        r"debug\.n +4",
        r"-1 +fetch +net +123154\.0 +621\.2",
        r"The GPU was idle for 20\.8 ms before 'frame 12'; 4 threads ran",
    ],
    # Below, these are looked up in the events.
    "perfettosql": [
        r"tile 1 +raster-1/6 +78\.38 +8\.68 +0\.0",
        r"3617 +composite 105 +compositor +0\.09 +4\.51 +0\.0",
        r"raster-1/6 15796 +180\.0 +278\.0 +1883\.0 +9085\.0",
        r"ms +3835\.1 +144\.1 +19\.9",
    ],
    "profiles": [
        r"0 +2\.0 +400 +9 +3 +0",
        r"png_read_row +166 +52 +13\.0 +41\.5",
        r" 114 main;run_loop;decode_tile;png_read_row;/system/lib/libpng\.so\+0xb00",
        r"61440 bytes in 15 of 100 allocations: main;run_loop;decode_tile;malloc",
        r"has 9 callstacks, which weigh 400",
    ],
}
FIGURES = {"clocks": 1, "scheduling": 2, "application": 3, "perfettosql": 1, "profiles": 1}

# The notebooks with modules from a checkout of Perfetto, which the environment variable names.
WITH_PERFETTO = {"perfettosql"}

# Traces of all kinds: without kernel events, without slices, with one snapshot or none, with machines, cut short. And a trace
# with one packet that contains nothing.
EMPTY = "empty"
OTHERS = sorted(path.stem for path in DATA.glob("*.pftrace"))
OTHERS += [f"{directory}/{number}" for directory in ("both", "slices", "threads") for number in ("09", "14")] + [EMPTY]

# The text for missing data, by the empty table.
MISSING = {
    "clocks": {"sched": "This trace does not tell what ran then."},
    "scheduling": {"sched": "it has no switches of the scheduler", "counter": "This trace has no counters that only grow."},
    "application": {
        "slice": "This trace has no slices that took time.",
        "flow": "This trace has no flows.",
        "counter": "This trace has no counters that changed.",
        "gpu_slice": "This trace has nothing of the GPU.",
    },
    "perfettosql": {
        "sched": "it has no slices on threads, or no switches of the scheduler",
        "thread_state": "No thread of it had to wait",
        "thread_slice": "No thread of it has slices.",
    },
    "profiles": {
        "stack_sample": "This trace has no samples of callstacks.",
        "heap_profile_allocation": "This trace has no heap profiles.",
    },
}


@pytest.fixture(scope="module", params=sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb")))
def name(request):
    return request.param


def need_perfetto(name):
    """Skips a notebook, and reports this, if it needs Perfetto's modules and they are missing."""
    if name in WITH_PERFETTO and "TIMEBASE_PERFETTO" not in os.environ:
        pytest.skip("TIMEBASE_PERFETTO does not name a checkout of Perfetto, whose modules the notebook uses")


@pytest.fixture(scope="module")
def saved(name):
    return nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)


def executed(notebook, directory):
    notebook = copy.deepcopy(notebook)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    where = {"metadata": {"path": str(directory)}}
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources=where).execute()
    return notebook


@pytest.fixture(scope="module")
def run(name, saved):
    need_perfetto(name)
    return executed(saved, NOTEBOOKS)


def outputs(notebook):
    """The text output of each cell, and its number of pictures. The progress of an import depends on the machine."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            shown = [output.get("data", {}) for output in cell.outputs]
            texts = [data.get("text/plain", "") for data in shown if "image/png" not in data]
            printed = [output.text for output in cell.outputs if output.get("name") == "stdout"]
            yield [text for text in texts if text], printed, sum("image/png" in data for data in shown)


def all_text(notebook):
    return "\n".join(part for texts, printed, _ in outputs(notebook) for part in texts + printed)


def test_it_shows_what_is_saved_in_it(saved, run):
    assert list(outputs(run)) == list(outputs(saved))


def test_its_answers(name, run):
    text = all_text(run)
    for answer in ANSWERS[name]:
        assert re.search(answer, text), answer


def test_it_draws_its_figures(name, run):
    assert sum(pictures for _, _, pictures in outputs(run)) == FIGURES[name]


def test_it_is_small_and_says_nothing_of_the_machine_it_ran_on(name, saved):
    text = (NOTEBOOKS / f"{name}.ipynb").read_text(encoding="utf-8")
    assert len(text) < 200_000
    assert set(saved.metadata) <= {"kernelspec", "language_info"}
    assert not re.search(r"/home/|/tmp/|/root/|/Users/", text)
    assert not any(output.output_type in ("error", "stream") and output.get("name") != "stdout"
                   for cell in saved.cells for output in cell.get("outputs", []))  # fmt: skip


def test_what_holds_of_one_trace_only_is_not_in_its_words(name, saved):
    """Only the first cell names the trace of the saved output."""
    words = " ".join(cell.source for cell in saved.cells[1:] if cell.cell_type == "markdown")
    assert not re.search(r"\d\.\d|TSC|rustc|mapviewer|compositor|tile ", words)


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    path = tmp_path_factory.mktemp("empty") / "empty.pftrace"
    path.write_bytes(b"\n\x00")
    return path


@pytest.fixture(scope="module")
def shell():
    """Runs cells in this process, because starting a kernel takes longer than most notebooks."""
    import matplotlib
    from IPython.core.interactiveshell import InteractiveShell

    matplotlib.use("Agg")
    with matplotlib.rc_context():  # notebooks change the style of figures
        yield InteractiveShell.instance()
    InteractiveShell.clear_instance()


@pytest.mark.parametrize("trace", OTHERS)
def test_any_trace_can_be_given_and_what_it_lacks_is_said(name, saved, trace, empty, shell):
    from IPython.utils.capture import capture_output
    from matplotlib import pyplot as plt

    need_perfetto(name)

    path = empty if trace == EMPTY else DATA / f"{trace}.pftrace"
    first, *others = [cell.source for cell in saved.cells if cell.cell_type == "code"]
    first, count = re.subn(r'^(\w*TRACE) = ".*?"', lambda found: f"{found[1]} = {str(path)!r}", first, flags=re.M)
    assert count >= 1
    shell.reset()
    text = ""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", timebase.TraceWarning)  # the trace is damaged
        for source in [first, *others]:
            with capture_output() as captured:
                done = shell.run_cell(source)
            done.raise_error()
            text += captured.stdout
    plt.close("all")
    with closing(timebase.connect(path)) as connection:
        for table, said in MISSING[name].items():
            [is_there] = connection.execute(f"SELECT EXISTS (SELECT * FROM {table})").fetchone()
            assert is_there or said in text, (table, text)


# The statements of the notebook with Perfetto's modules, looked up in the events: this only reads `ftrace_event`, no table of
# slices or thread states, and no module.


# The process of the compositor, by its name in the events.
COMPOSITOR = "15791"


@pytest.fixture(scope="module")
def events():
    with closing(timebase.connect(DATA / "desktop.pftrace")) as trace:
        sql = "SELECT ts, tid, name, args FROM ftrace_event WHERE name IN ('print', 'sched_switch', 'sched_waking') ORDER BY ts, id"
        return [(ts, tid, name, json.loads(args)) for ts, tid, name, args in trace.execute(sql)]


def open_slices(events):
    """The outermost slices of the compositor: from a B outside of all others to its E, by thread."""
    stacks = defaultdict(list)
    for ts, tid, name, args in events:
        words = args["buf"].rstrip("\n").split("|", 2) if name == "print" else []
        if words[:2] == ["B", COMPOSITOR]:
            stacks[tid].append((ts, words[2]))
        elif words[:2] == ["E", COMPOSITOR] and stacks[tid]:
            begin, what = stacks[tid].pop()
            if not stacks[tid] and ts > begin:
                yield tid, what, begin, ts


def states(events, tid):
    """The states of a thread, each with its start. The thread runs from a switch to it; it waits for a CPU from a wakeup, or if
    it was switched away from while it could run; otherwise it sleeps.
    """
    for ts, _, name, args in events:
        if name == "sched_switch" and args["next_pid"] == tid:
            yield ts, "running"
        elif name == "sched_switch" and args["prev_pid"] == tid:
            yield ts, "sleeping" if args["prev_state"] & 0xFF else "waiting"
        elif name == "sched_waking" and args["pid"] == tid:
            yield ts, "waking"


def waits(events, tid):
    """The duration of each wait of a thread, in ns."""
    state, since = None, None
    for ts, now in states(events, tid):
        if now == "running" and state == "waiting":
            yield ts - since
        if now == "waking":
            now = "waiting" if state == "sleeping" else state
        if now != state:
            state, since = now, ts


def test_the_slice_that_waited_longest_did_so_by_the_events(events):
    [(tid, begin, end)] = [(tid, begin, end) for tid, what, begin, end in open_slices(events) if what == "composite 105"]
    did = defaultdict(int)
    state, since = "running", begin  # a thread that begins a slice runs
    for ts, now in states(events, tid):
        if begin < ts < end:
            did[state] += ts - since
            state, since = now, ts
    did[state] += end - since
    text = rf"3617 +composite 105 +compositor +{did['running'] / 1e6:.2f} +{did['waiting'] / 1e6:.2f} +0\.0"
    assert re.search(text, all_text(nbformat.read(NOTEBOOKS / "perfettosql.ipynb", as_version=4))), text


def test_the_longest_waits_are_those_of_the_events(events):
    text = all_text(nbformat.read(NOTEBOOKS / "perfettosql.ipynb", as_version=4))
    shown = re.findall(r"^(?:raster|compositor|vsync)\S* (\d+) +(\d+)\.0 .* (\d+)\.0$", text, re.M)
    assert len(shown) == 4
    for tid, count, longest in shown:
        found = [round(ns / 1e3) for ns in waits(events, int(tid))]
        # The events have more waits. Those that may be wrong, because events around them are lost, are left out.
        assert int(longest) in found and int(count) <= len(found), (tid, found)


def test_as_many_threads_were_at_work_as_the_events_say(events):
    changes = sorted((ts, step) for _, _, begin, end in open_slices(events) for ts, step in ((begin, 1), (end, -1)))
    lasted, threads = defaultdict(int), 0
    for (ts, step), (after, _) in zip(changes, changes[1:]):
        threads += step
        lasted[threads] += after - ts
    text = all_text(nbformat.read(NOTEBOOKS / "perfettosql.ipynb", as_version=4))
    shown = [f"{lasted[n] / 1e6:.1f}" for n in range(max(lasted) + 1)]
    assert re.search(r"ms +" + " +".join(map(re.escape, shown)), text), shown


# The statements of the notebook about profiles, looked up in the packets, which Perfetto's own classes decode. The writer of the
# trace interns everything once, at its beginning.


@pytest.fixture(scope="module")
def recorded():
    """The packets, and the functions of each callstack, the outermost first."""
    packets = Trace.FromString((DATA / "profiles" / "viewer.pftrace").read_bytes()).packet
    [known] = [packet.interned_data for packet in packets if packet.HasField("interned_data")]
    functions = {entry.iid: entry.str.decode() for entry in known.function_names}
    # The only function without a name.
    frames = {frame.iid: functions.get(frame.function_name_id, f"/system/lib/libpng.so+0x{frame.rel_pc:x}") for frame in known.frames}
    return packets, {stack.iid: [frames[iid] for iid in stack.frame_ids] for stack in known.callstacks}


@pytest.fixture(scope="module")
def sampled(recorded):
    """The times of each callstack's samples."""
    packets, stacks = recorded
    found = [(p.timestamp, stacks[p.perf_sample.callstack_iid]) for p in packets if p.perf_sample.callstack_iid]
    assert len(found) == 400
    return found


@pytest.fixture(scope="module")
def profiles():
    return all_text(nbformat.read(NOTEBOOKS / "profiles.ipynb", as_version=4))


def test_functions_have_as_many_samples_as_the_packets(sampled, profiles):
    inner = Counter(stack[-1] for _, stack in sampled)
    total = Counter(name for _, stack in sampled for name in set(stack))
    shown = re.findall(r"^(\S+) +(\d+) +(\d+) +(\d+\.\d) +(\d+\.\d)$", profiles, re.M)
    assert len(shown) == 8 and shown[0][0] == inner.most_common(1)[0][0]
    for name, *numbers in shown:
        found = [total[name], inner[name], round(inner[name] / 4, 1), round(total[name] / 4, 1)]
        assert [float(number) for number in numbers] == pytest.approx(found, abs=0.06), name


def test_callstacks_of_a_function_are_those_of_the_packets(sampled, profiles):
    [(function, ways)] = re.findall(r"^(\S+):\n((?: +\d+ \S+\n)+)", profiles, re.M)
    shown = {stack: int(count) for count, stack in (line.split() for line in ways.splitlines())}
    assert shown == Counter(";".join(stack) for _, stack in sampled if function in stack)


def test_the_change_between_halves_is_that_of_the_packets(sampled, profiles):
    end = 3_000_000_000  # the last sample has no callstack, so this is the end of the trace
    middle = (1_000_000_000 + end + 1) // 2
    halves = [Counter(stack[-1] for ts, stack in sampled if (ts >= middle) == later) for later in (False, True)]
    shown = re.findall(r"^(\S+) +(\d+\.\d) +(\d+\.\d) +(-?\d+\.\d)$", profiles, re.M)
    assert len(shown) == 6
    for name, *numbers in shown:
        first, second = (100 * half[name] / half.total() for half in halves)
        assert [float(number) for number in numbers] == pytest.approx([first, second, second - first], abs=0.15), name


def test_memory_that_was_not_freed_is_that_of_the_last_dump(recorded, profiles):
    packets, stacks = recorded
    *_, last = (packet.profile_packet for packet in packets if packet.HasField("profile_packet"))
    [process] = last.process_dumps
    shown = re.findall(r"^ +(\d+) bytes in (\d+) of (\d+) allocations: (\S+)$", profiles, re.M)
    assert {(stack, *map(int, numbers)) for *numbers, stack in shown} == {
        (";".join(stacks[s.callstack_id]), s.self_allocated - s.self_freed, s.alloc_count - s.free_count, s.alloc_count) for s in process.samples
    }


def test_the_flame_graph_has_the_callstacks_of_the_packets(sampled, profiles):
    counts = Counter(";".join(stack) for _, stack in sampled)
    [(largest, _)] = counts.most_common(1)
    said = f"has {len(counts)} callstacks, which weigh {counts.total()}; the largest is {largest}."
    assert "A page that begins with '<!DOCTYPE html>'" in profiles and said in profiles
