"""Writes runs/before and runs/after: ten small traces each of a program before and after a change.

The change: `layout` takes a fifth longer, pictures are decoded five times as often, and fetches are repeated. The
machine is up to 3 % slower or faster in each run. The same script gives the same bytes everywhere.

    python3 tests/data/runs.py
"""

import json
import pathlib
import random

HERE = pathlib.Path(__file__).parent / "runs"
FRAMES = 10


def events(rng, changed):
    """The slices of a run, with times in µs."""
    speed = rng.gauss(1, 0.015)
    result = [
        {"ph": "M", "pid": 7, "tid": 7, "name": "process_name", "args": {"name": "app"}},
        {"ph": "M", "pid": 7, "tid": 7, "name": "thread_name", "args": {"name": "ui"}},
        {"ph": "M", "pid": 7, "tid": 8, "name": "thread_name", "args": {"name": "worker"}},
    ]

    def took(usual, spread=0.1):
        return max(1, round(speed * rng.gauss(usual, usual * spread)))

    def put(tid, name, ts, dur):
        result.append({"ph": "X", "pid": 7, "tid": tid, "name": name, "ts": ts, "dur": dur})

    for frame in range(FRAMES):
        start = frame * 16_667
        at = start + 20
        for name, usual in [("input", 900), ("layout", 5_000 * (1.2 if changed else 1)), ("draw", 3_800)]:
            dur = took(usual)
            put(7, name, at, dur)
            at += dur + 15
        put(7, f"frame {frame}", start, at - start)
        at = start + 100
        for _ in range(5 if changed else 1):
            dur = took(420)
            put(8, f"decode {rng.randrange(1000)}", at, dur)
            at += dur + 10
        if frame % 3 == 0:
            dur = took(2_500)
            put(8, "fetch", at, dur)
            at += dur + 10
            if changed:
                put(8, "retry", at, took(700))
    return result


def main():
    for side in ("before", "after"):
        (HERE / side).mkdir(parents=True, exist_ok=True)
        for number in range(10):
            rng = random.Random(f"{side} {number}")
            lines = ",\n".join(json.dumps(event, separators=(",", ":")) for event in events(rng, side == "after"))
            (HERE / side / f"{number}.json").write_text(f"[{lines}]\n")


main()
