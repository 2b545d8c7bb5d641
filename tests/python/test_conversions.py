"""The same conversions by all available ways: the results are equal.

    cargo build --release && cargo extension
    pip install pytest apsw pysqlite3-binary
    TIMEBASE_PROGRAM=target/release/timebase \\
    TIMEBASE_EXTENSION=target/extension/release/libtimebase.so \\
        pytest tests/python/test_conversions.py

Every packet of a trace that has a reading of a clock is converted to BOOTTIME.
"""

import csv
import io
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import without_shell

DATA = Path(__file__).resolve().parents[1] / "data"
TRACES = ["sdk", "system", "system-compressed", "multihop", "dst"]

BY_FUNCTION = """
SELECT id, to_boottime(clock_id, seq_id, clock_ts) FROM packet
WHERE clock_ts IS NOT NULL ORDER BY id"""

# The README's JOIN, for all packets.
BY_JOIN = """
SELECT p.id, p.clock_ts * c.unit_multiplier_ns + m.offset AS boottime
FROM packet AS p
LEFT JOIN clock AS c
  ON c.machine_id = p.machine_id AND c.clock_id = p.clock_id
 AND c.seq_id = CASE WHEN p.clock_id BETWEEN 64 AND 127 THEN p.seq_id ELSE 0 END
LEFT JOIN clock_mapping AS m
  ON m.machine_id = c.machine_id AND m.clock_id = c.clock_id AND m.seq_id = c.seq_id AND m.to_clock_id = 6
 AND (m.start_value IS NULL OR m.start_value <= p.clock_ts * c.unit_multiplier_ns)
 AND (m.end_value IS NULL OR p.clock_ts * c.unit_multiplier_ns < m.end_value)
WHERE p.clock_ts IS NOT NULL ORDER BY p.id"""


def given(variable):
    path = os.environ.get(variable)
    if not path:
        pytest.fail(f"the environment variable {variable} must name a file: see this test's first lines")
    return Path(path).resolve()


def rows(text):
    """Rows of integers from a program's CSV output."""
    return [tuple(int(value) if value else None for value in row) for row in csv.reader(io.StringIO(text))]


def run(command):
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, encoding="utf-8", timeout=120)
    assert result.returncode == 0, result.stderr
    return result.stdout


def by_program(database):
    answer = run([given("TIMEBASE_PROGRAM"), "query", database, BY_FUNCTION, "--format", "csv"])
    return rows(answer.split("\n", 1)[1])  # below the header


def by_shell(database):
    shell = shutil.which("sqlite3")
    if shell is None:
        without_shell()
    return rows(run([shell, "-csv", database, f".load {given('TIMEBASE_EXTENSION')}", BY_FUNCTION]))


# A process has only one SQLite that loads the extension, so each driver has its own process.
DRIVERS = {
    "sqlite3": "import sqlite3; conn = sqlite3.connect(sys.argv[1])",
    "pysqlite3": "import pysqlite3; conn = pysqlite3.connect(sys.argv[1])",
    "apsw": "import apsw; conn = apsw.Connection(sys.argv[1])",
}
CONVERT = """
conn.enable_load_extension(True)
conn.load_extension(sys.argv[2])
for id, boottime in conn.execute(sys.argv[3]):
    print(id, '' if boottime is None else boottime, sep=',')
"""


def by_driver(driver):
    def convert(database):
        if driver == "sqlite3" and not hasattr(sqlite3.Connection, "enable_load_extension"):
            pytest.skip("this Python's sqlite3 is built without loading of extensions")
        script = f"import sys\n{DRIVERS[driver]}\n{CONVERT}"
        return rows(run([sys.executable, "-c", script, database, given("TIMEBASE_EXTENSION"), BY_FUNCTION]))

    return convert


# The package's ways, in Pythons that can load extensions, and in those that cannot.
PACKAGE = """
import sys, timebase
from timebase import _extension
if sys.argv[3] == "past Python":
    _extension.python_can_load = lambda: False
functions = "python" if sys.argv[3] == "python" else "extension"
for id, boottime in timebase.connect(sys.argv[1], functions=functions).execute(sys.argv[2]):
    print(id, '' if boottime is None else boottime, sep=',')
"""


def by_package(way):
    return lambda database: rows(run([sys.executable, "-c", PACKAGE, database, BY_FUNCTION, way]))


def by_join(database):
    conn = sqlite3.connect(database)
    try:
        return conn.execute(BY_JOIN).fetchall()
    finally:
        conn.close()


# The ways by name, each with its result for a database: (id, boottime), in order.
WAYS = {
    "program": by_program,
    "shell with extension": by_shell,
    "Python's sqlite3 with extension": by_driver("sqlite3"),
    "pysqlite3 with extension": by_driver("pysqlite3"),
    "apsw with extension": by_driver("apsw"),
    "Python without extension loading": by_package("past Python"),
    "Python without extension": by_package("python"),
}


@pytest.fixture(scope="module", params=TRACES)
def database(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("conversions") / f"{request.param}.db"
    run([given("TIMEBASE_PROGRAM"), "import", DATA / f"{request.param}.pftrace", "-o", path])
    return path


@pytest.fixture(scope="module")
def expected(database):
    """The result of plain SQL, without timebase's code."""
    return by_join(database)


@pytest.mark.parametrize("way", WAYS)
def test_every_packet_is_converted_as_by_plain_sql(way, database, expected):
    assert any(boottime is not None for _, boottime in expected)
    assert WAYS[way](database) == expected
