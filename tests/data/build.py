"""A build of a small C++ program: build/bazel.json is Bazel's profile, and build/geometry.json, mesh.json and solver.json are
clang's, with -ftime-trace. build/ninja.json is a build by ninja, as ninjatracing writes it from .ninja_log.

    python3 tests/data/build.py

Everything in them is invented; the fields are those of Bazel 8, clang 18 (geometry, mesh) and clang 19 (solver, whose headers are async
events). Times are in microseconds.
"""

import json
from pathlib import Path

FOLDER = Path(__file__).with_name("build")
DATE = 1742289161402518  # REALTIME of Bazel's zero: 2025-03-18T09:12:41.402518Z
MS = 1000


def write(name, head, events, tail):
    """A file with one event on each line."""
    lines = ",\n".join(json.dumps(event) for event in events)
    text = "{" + head + '"traceEvents":[\n' + lines + "\n]" + tail + "}\n"
    json.loads(text)
    (FOLDER / name).write_text(text)


# Bazel

ACTIONS = [
    # The evaluator's number, start, duration, mnemonic, name
    (0, 2_104_211, 7_318_440, "CppCompile", "Compiling src/solver.cc"),
    (1, 2_104_530, 3_911_872, "CppCompile", "Compiling src/mesh.cc"),
    (2, 2_105_018, 1_846_305, "CppCompile", "Compiling src/geometry.cc"),
    (2, 3_952_110, 402_118, "Genrule", "Executing genrule //src:version"),
    (0, 9_424_007, 151_209, "CppArchive", "Linking src/liborrery.a"),
    (0, 9_577_316, 1_284_551, "CppLink", "Linking src/orrery"),
    (1, 9_578_003, 1_102_786, "CppLink", "Linking src/orrery_test"),
    (1, 10_682_114, 1_604_230, "TestRunner", "Testing //src:orrery_test"),
]
CRITICAL = ["Compiling src/solver.cc", "Linking src/liborrery.a", "Linking src/orrery_test", "Testing //src:orrery_test"]
SANDBOX = 6_120  # before the process of an action starts
AFTER = 2_480


def bazel():
    main, evaluator = 41, 60
    threads = [(0, "Critical Path"), (main, "Main Thread")] + [(evaluator + n, f"skyframe-evaluator {n}") for n in range(3)]
    events = []
    for tid, name in threads:
        events.append({"name": "thread_name", "ph": "M", "pid": 1, "tid": tid, "args": {"name": name}})
    marker = {"cat": "build phase marker"}
    events.append(marker | {"name": "Launch Blaze", "ph": "X", "ts": -1_208_000, "dur": 1_208_000, "pid": 1, "tid": main})
    phases = [(0, "Initialize command"), (318_404, "Load packages"), (960_127, "Analyze dependencies"), (2_098_731, "Execute actions")]
    for ts, name in phases + [(12_293_608, "Complete build")]:
        events.append(marker | {"name": name, "ph": "i", "ts": ts, "pid": 1, "tid": main})
    for number, ts, dur, mnemonic, name in ACTIONS:
        tid = evaluator + number
        inner = {"cat": "general information", "name": "subprocess.run", "ph": "X"}
        events.append(inner | {"ts": ts + SANDBOX, "dur": dur - SANDBOX - AFTER, "pid": 1, "tid": tid})
        action = {"cat": "action processing", "name": name, "ph": "X", "ts": ts, "dur": dur, "pid": 1, "tid": tid}
        events.append(action | {"args": {"mnemonic": mnemonic}})
    for name in CRITICAL:
        _, ts, dur, _, _ = next(action for action in ACTIONS if action[4] == name)
        path = {"cat": "critical path component", "name": f"action '{name}'", "ph": "X", "ts": ts - 35, "dur": dur + 21, "pid": 1, "tid": 0}
        events.append(path)
    for second in range(2, 13):
        begin, end = second * 1_000_000, (second + 1) * 1_000_000
        busy = sum(max(0, min(ts + dur, end) - max(ts, begin)) for _, ts, dur, _, _ in ACTIONS)
        count = {"name": "action count", "ph": "C", "ts": begin, "pid": 1, "tid": main}
        events.append(count | {"args": {"action": str(round(busy / 1_000_000, 3))}})
    other = {
        "bazel_version": "release 8.2.1",
        "build_id": "5c1f7f6e-0f1d-4d53-9a1b-6d2a1c9be0a7",
        "output_base": "/build/output_base",
        "date": "2025-03-18T09:12:41.402518Z",
        "profile_start_ts": DATE // MS,
    }
    write("bazel.json", f'"otherData":{json.dumps(other)},', events, "")


# clang


class Unit:
    """A translation unit. Events are written when they end, so inner ones come first."""

    def __init__(self, name, pid, total, is_async):
        self.name, self.pid, self.total, self.is_async = name, pid, total, is_async
        self.events, self.totals = [], {}

    def event(self, name, ts, dur, detail=None):
        event = {"pid": self.pid, "tid": self.pid, "ts": ts}
        if name == "Source" and self.is_async:
            event |= {"cat": name, "ph": "b", "id": 0, "name": name, "args": {"detail": detail}}
            end = {"pid": self.pid, "tid": self.pid, "ts": ts + dur, "cat": name, "ph": "e", "id": 0, "name": name}
            self.events += [event, end]
        else:
            event |= {"ph": "X", "dur": dur, "name": name}
            self.events.append(event | ({"args": {"detail": detail}} if detail else {}))
        count, sum = self.totals.get(name, (0, 0))
        self.totals[name] = (count + 1, sum + dur)

    def headers(self, ts, headers):
        """Headers one after the other; each is a name, its own time, and the headers in it."""
        for name, own, inner in headers:
            begin = ts
            ts = self.headers(ts + own // 3, inner) + own - own // 3
            self.event("Source", begin, ts - begin, name)
        return ts

    def instantiate(self, ts, instantiations):
        """Instantiations one after the other: the kind, the template, its own time, and those that it needs."""
        for kind, name, own, inner in instantiations:
            begin = ts
            ts = self.instantiate(ts + own // 4, inner) + own - own // 4
            self.event(f"Instantiate{kind}", begin, ts - begin, name)
        return ts

    def compile(self, headers, classes, functions, passes):
        start = 1_204
        ts = self.headers(start + 810, headers)
        ts = self.instantiate(ts + 2_130, classes)
        pending = ts + 5_410
        ts = self.instantiate(pending + 12, functions)
        self.event("PerformPendingInstantiations", pending, ts + 9 - pending)
        self.event("Frontend", start, ts + 14_220 - start)
        backend = ts + 16_300
        ts = backend + 420
        module = ts
        for mangled, dur in passes:
            self.event("OptFunction", ts, dur, mangled)
            ts += dur + 31
        self.event("OptModule", module, ts - module, f"src/{self.name}.cc")
        self.event("CodeGenPasses", ts + 12, self.total - 2_400 - ts - 12)
        self.event("Backend", backend, self.total - 2_300 - backend)
        self.event("ExecuteCompiler", 68, self.total - 68)

    def write(self, began):
        tid = self.pid
        for name, (count, sum) in sorted(self.totals.items(), key=lambda total: -total[1][1]):
            tid += 1
            total = {"pid": self.pid, "tid": tid, "ph": "X", "ts": 0, "dur": sum, "name": f"Total {name}"}
            self.events.append(total | {"args": {"count": count, "avg ms": sum // count // MS}})
        for kind in ["process_name", "thread_name"]:
            name = {"args": {"name": "clang-19" if self.is_async else "clang-18"}}
            self.events.append({"cat": "", "pid": self.pid, "tid": self.pid, "ts": 0, "ph": "M", "name": kind} | name)
        write(f"{self.name}.json", "", self.events, f',\n"beginningOfTime":{began}')


VECTOR = ("/usr/include/c++/13/vector", 61 * MS, [("/usr/include/c++/13/bits/stl_algobase.h", 22 * MS, [])])
STRING = ("/usr/include/c++/13/string", 74 * MS, [("/usr/include/c++/13/bits/basic_string.h", 41 * MS, [])])
DENSE = ("third_party/dense/dense.h", 388 * MS, [("third_party/dense/expression.h", 604 * MS, []), VECTOR])
MATRIX = ("src/matrix.h", 29 * MS, [DENSE])


def matrix(rows):
    return f"dense::Matrix<double, {rows}, {rows}>"


def needs(rows, own):
    return ("Class", matrix(rows), own, [("Class", f"dense::Storage<double, {rows * rows}>", own // 3, [])])


def product(rows, own):
    name = f"dense::product<{matrix(rows)}, {matrix(rows)}>"
    return ("Function", name, own, [("Function", f"dense::unrolled<double, {rows * rows}>", own // 2, [])])


def clang():
    units = {
        "geometry": Unit("geometry", 7731, 1_828_214, False),
        "mesh": Unit("mesh", 7729, 3_894_006, False),
        "solver": Unit("solver", 7727, 7_298_751, True),
    }
    units["geometry"].compile(
        [("src/geometry.h", 9 * MS, [MATRIX])],
        [needs(3, 21 * MS), needs(4, 26 * MS)],
        [product(4, 58 * MS)],
        [("_ZN6orrery6rotateERKN5dense6MatrixIdLi4ELi4EEE", 47 * MS), ("_ZN6orrery8distanceEdd", 2 * MS)],
    )
    units["mesh"].compile(
        [("src/mesh.h", 12 * MS, [STRING, MATRIX]), ("/usr/include/c++/13/map", 53 * MS, [])],
        [needs(3, 22 * MS), ("Class", "std::map<std::string, orrery::Face>", 88 * MS, [])],
        [product(3, 44 * MS), ("Function", "std::sort<orrery::Face *, orrery::ByArea>", 131 * MS, [])],
        [("_ZN6orrery4Mesh4loadERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE", 912 * MS), ("_ZN6orrery4Mesh4saveEv", 206 * MS)],
    )
    units["solver"].compile(
        [("src/solver.h", 14 * MS, [MATRIX, STRING])],
        [needs(6, 120 * MS), needs(12, 342 * MS)],
        [product(6, 214 * MS), product(12, 1_684 * MS)],
        [("_ZN6orrery6Solver4stepEd", 1_377 * MS), ("_ZN6orrery6Solver6energyEv", 318 * MS)],
    )
    for name, unit in units.items():
        action = next(action for action in ACTIONS if action[4] == f"Compiling src/{name}.cc")
        unit.write(DATE + action[1] + SANDBOX + 4_310)


# ninja


def ninja():
    targets = [("src/solver.o", 0, 7_301, 0), ("src/mesh.o", 1, 3_897, 1), ("src/geometry.o", 2, 1_830, 2)]
    targets += [("src/version.h", 1_834, 2_236, 2), ("liborrery.a", 7_304, 7_455, 0), ("orrery", 7_457, 8_741, 0), ("orrery_test", 7_458, 8_560, 1)]
    events = []
    for name, start, end, tid in targets:
        times = {"ph": "X", "ts": start * MS, "dur": (end - start) * MS, "pid": 0, "tid": tid, "args": {}}
        events.append({"name": name, "cat": "targets"} | times)
    text = "[\n" + ",\n".join(json.dumps(event) for event in events) + "\n]\n"
    (FOLDER / "ninja.json").write_text(text)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    bazel()
    clang()
    ninja()
