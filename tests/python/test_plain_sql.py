"""The Python of docs/plain-sql.md, run on the traces in tests/data.

    pip install pytest pandas
    TIMEBASE_PROGRAM=target/debug/timebase pytest tests/python/test_plain_sql.py

Compares the page's results, with the stock sqlite3 module and with pandas, with the results of timebase's own SQL functions.
"""

import csv
import os
import random
import re
import sqlite3
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
PAGE = REPOSITORY / "docs" / "plain-sql.md"
TRACES = sorted((REPOSITORY / "tests" / "data").glob("*.pftrace"))

PACKETS = "SELECT id, to_boottime(clock_id, seq_id, clock_ts, machine_id) FROM packet"


def program():
    path = os.environ.get("TIMEBASE_PROGRAM")
    if path is None:
        pytest.fail("TIMEBASE_PROGRAM must be the path of the program timebase")
    return Path(path).resolve()


def blocks(section):
    """The Python blocks below a heading."""
    text = PAGE.read_text(encoding="utf-8").split(f"\n## {section}\n")[1]
    return re.findall(r"^```python\n(.*?)^```$", text.split("\n## ")[0], re.S | re.M)


def query(sql):
    command = [program(), "query", "trace.db", sql, "--format", "csv"]
    result = subprocess.run(command, check=True, capture_output=True, text=True)
    rows = list(csv.reader(result.stdout.splitlines()))[1:]
    return [[int(value) if value else None for value in row] for row in rows]


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out + bytes([value]))


def number(field, value):
    return varint(field << 3) + varint(value)


def message(field, value):
    return varint(field << 3 | 2) + varint(len(value)) + value


def large_trace():
    """Readings that a float cannot hold, clocks with a unit, and sums beyond 64 bits."""
    nanoseconds = 1_700_000_000_000_000_001
    packets = []
    for at in range(5):
        readings = [(6, nanoseconds + 7 * at, 1), (3, 1 + 5 * at, 1), (200, 100 + at, 50)]
        clocks = b"".join(message(1, number(1, c) + number(2, t) + number(4, u)) for c, t, u in readings)
        packets.append(number(10, 1) + message(6, clocks))
    for clock, timestamp in [
        (6, nanoseconds + 2), (3, 0), (3, 7), (3, 1 << 62), (3, (1 << 63) - 2), (3, 1 << 63),
        (200, 103), (200, 1 << 60), (201, 5), (70, 5),
    ]:
        packets.append(number(8, timestamp) + number(58, clock) + number(10, 2) + message(11, b""))
    return b"".join(message(1, packet) for packet in packets)


@pytest.fixture(params=[*TRACES, None], ids=lambda trace: trace.stem if trace else "large")
def database(request, tmp_path, monkeypatch):
    """A directory with a trace.db, as on the page."""
    monkeypatch.chdir(tmp_path)
    trace = request.param
    if trace is None:
        trace = tmp_path / "large.pftrace"
        trace.write_bytes(large_trace())
    subprocess.run([program(), "import", trace, "-o", "trace.db"], check=True, capture_output=True)
    return tmp_path / "trace.db"


def test_the_stock_module_says_what_to_boottime_says(database):
    names = {}
    exec("\n".join(blocks("Python, with nothing but sqlite3")), names)
    assert names["boottime"] == dict(query(PACKETS))

    clocks = sqlite3.connect(database).execute(
        "SELECT machine_id, clock_id, seq_id, unit_multiplier_ns, first_value, last_value FROM clock"
    )
    randoms = random.Random(1)
    for machine, clock, seq, unit, first, last in clocks.fetchall():
        first, last = (first or 0) // unit, (last or 0) // unit
        for ticks in {first - 1, first, last, last + 1, randoms.randint(first, max(first, last))}:
            [[expected]] = query(f"SELECT to_boottime({clock}, {seq}, {ticks}, {machine})") or [[None]]
            assert names["to_boottime"](clock, seq, ticks * unit, machine) == expected, (clock, seq, ticks)


def test_pandas_says_what_to_boottime_says(database):
    import pandas

    [block] = blocks("pandas")
    names = {}
    exec(block, names)
    boottime = names["placed"]["boottime"]
    assert boottime.dtype == pandas.Int64Dtype()
    found = {id: int(value) for id, value in boottime.items() if value is not pandas.NA}
    assert found == {id: value for id, value in query(PACKETS) if value is not None}
