"""The loadable extension in the available SQLites, from 3.40 to the newest.

    cargo build --release && cargo extension
    pip install pytest apsw pysqlite3-binary
    TIMEBASE_PROGRAM=target/release/timebase \\
    TIMEBASE_EXTENSION=target/extension/release/libtimebase.so \\
        pytest tests/python/test_extension.py

A test that could end a process runs in its own process, which must end well.
"""

import json
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from conftest import ARGS, without_shell
from test_conversions import DATA, given, run

# How each driver connects, and what it raises. `conn.execute(sql)` and
# `conn.load_extension(path)` are the same in all.
DRIVERS = {
    "sqlite3": "from sqlite3 import connect, Error, sqlite_version",
    "pysqlite3": "from pysqlite3.dbapi2 import connect, Error, sqlite_version",
    "apsw": "from apsw import Connection as connect, Error, sqlitelibversion; sqlite_version = sqlitelibversion()",
}

PRELUDE = """
import itertools, json, sys, threading
EXTENSION, *GIVEN = sys.argv[1:]

def bare(path):
    conn = connect(path)
    conn.enable_load_extension(True)
    return conn

def load(path):
    conn = bare(path)
    conn.load_extension(EXTENSION)
    return conn

def answer(conn, sql):
    return conn.execute(sql).fetchall()[0][0]

def refusal(conn, sql):
    try:
        got = conn.execute(sql).fetchall()
    except Error as error:
        return str(error)
    raise AssertionError(f"{sql} gave {got}")
"""

# BOOTTIME of 64@2 3503 in multihop.pftrace: the example of the README.
SOUND = "SELECT to_boottime(64, 2, 3503)"


@pytest.fixture(params=DRIVERS)
def python(request):
    """Runs Python with a driver, and returns the script's output, from JSON."""
    if request.param == "sqlite3" and not hasattr(sqlite3.Connection, "enable_load_extension"):
        pytest.skip("this Python's sqlite3 is built without loading of extensions")
    return script_runner(request.param)


def script_runner(driver):
    def run_script(script, *arguments, extension=None):
        code = f"{DRIVERS[driver]}\n{PRELUDE}\n{script}"
        extension = extension or given("TIMEBASE_EXTENSION").with_suffix("")
        return json.loads(run([sys.executable, "-c", code, extension, *arguments]) or "null")

    return run_script


def shell(database, *commands):
    program = shutil.which("sqlite3")
    if program is None:
        without_shell()
    command = [program, "-batch", database, *commands]
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, encoding="utf-8")


def load_command():
    # In the form of users: without the suffix.
    return f".load {given('TIMEBASE_EXTENSION').with_suffix('')}"


@pytest.fixture(scope="session")
def imported(tmp_path_factory):
    place = tmp_path_factory.mktemp("extension")

    def database(trace):
        path = place / f"{trace}.db"
        if not path.exists():
            run([given("TIMEBASE_PROGRAM"), "import", DATA / f"{trace}.pftrace", "-o", path])
            changed(path, ARGS)
        return path

    return database


@pytest.fixture
def multihop(imported, tmp_path):
    """A separate database for the test."""
    return shutil.copy(imported("multihop"), tmp_path / "multihop.db")


def test_the_oldest_and_the_newest_sqlite_are_among_those_tried():
    versions = {"shell": shell(":memory:", "SELECT sqlite_version()").stdout.strip()}
    for driver in DRIVERS:
        versions[driver] = script_runner(driver)("print(json.dumps(sqlite_version))")
    numbers = sorted(tuple(int(part) for part in version.split(".")) for version in versions.values())
    # The shell is the system's: 3.40 on Debian 12, where these tests run for each change.
    assert numbers[0] >= (3, 40), versions
    assert numbers[-1] >= (3, 54), versions


# Every function of the documentation, with all possible numbers of arguments.
CALLS = [
    "to_boottime(64, 2, 3503)",
    "to_boottime('MONOTONIC', 0, 3503)",
    "to_boottime(64, 2, 3503, 0)",
    "extract_metadata('trace_type')",
    "android_package_lookup(1001000)",
    "__intrinsic_arg_set_to_json(0)",
    "hex(substr(__intrinsic_zstd_compress('abc'), 1, 4))",
    "(SELECT count(*) FROM experimental_slice_layout('0,1,2,3'))",
    "(SELECT group_concat(col_type) FROM perfetto_table_info('__intrinsic_counter'))",
    "to_boottime(64, 2, 3503, 0, NULL)",
    "to_boottime(64, 2, NULL)",
    "to_boottime(99, 9, 5)",
    "convert_clock(64, 2, 3503, 'MONOTONIC', 0)",
    "convert_clock('BOOTTIME', 0, 7703, 64, 2, 0)",
    "why_unresolved(64, 2, 3503)",
    "why_unresolved(99, 9, 5)",
    "why_unresolved(99, 9, 5, 0)",
    "why_unresolved(3, 0, 5, 64, 2)",
    "why_unresolved(3, 0, 5, 'REALTIME', 0, 0)",
    "why_unresolved(3, 0, 5, 'REALTIME', 0, 0, NULL)",
    "convert_clock('BOOTTIME', 0, 7703, 64, 2, 0, NULL)",
    "(SELECT json_group_array(json_array(step, from_clock, to_clock, snapshot_id, from_value, "
    "to_value, value_in, value_out)) FROM clock_path(64, 2, 3503))",
    "(SELECT count(*) FROM clock_path(64, 2, 3503, 3, 0, 0))",
    "(SELECT count(*) FROM packet AS p, clock_path(p.clock_id, p.seq_id, p.clock_ts))",
    "to_boottime('64@2', NULL, 3503)",
    "convert_clock('boottime', 0, 7703, '64@2 of machine 0', 2, 0)",
    "(SELECT count(*) FROM clock_path('64@2', 0, 3503, 'monotonic'))",
    "clock_id('BOOTTIME')",
    "clock_id('64@2')",
    "clock_id('com.example.gpu')",
    "clock_name(3)",
    "clock_name(200)",
    "(SELECT json_group_array(packet_json(data)) FROM packet)",
    "(SELECT json_group_array(packet_field(data, 'clock_snapshot.clocks[0].timestamp')) FROM packet)",
    "json_object('packet', packet_json(x'40d0085a024801'))",
    "packet_field(x'40d0085a024801', 'track_event.type')",
    "(SELECT json_group_array(extract_arg(arg_set_id, key)) FROM args WHERE arg_set_id IN (3, 64))",
    "extract_arg(3, 'debug.list')",
    "extract_arg(NULL, 'debug.count')",
    "(SELECT json_group_array(json_array(s.id, a.id, a.name)) FROM slice AS s, ancestor_slice(s.id) AS a)",
    "(SELECT json_group_array(json_array(s.id, d.id, d.depth)) FROM slice AS s, descendant_slice(s.id) AS d)",
    "(SELECT json_group_array(json_array(s.id, f.id)) FROM slice AS s, following_flow(s.id) AS f)",
    "(SELECT json_group_array(json_array(s.id, f.id)) FROM slice AS s, preceding_flow(s.id) AS f)",
    "(SELECT json_group_array(json_array(s.id, f.trace_id)) FROM slice AS s, directly_connected_flow(s.id) AS f)",
    "(SELECT json_group_array(slice_is_ancestor(parent_id, id)) FROM slice)",
    "to_realtime(7703)",
    "to_monotonic(7703)",
    "abs_time_str(7703)",
    "abs_time_str(7703, 'Europe/Berlin')",
    "from_abs_time_str('2026-11-21T17:21:30.5[Europe/Berlin]')",
    # The functions that trace processor has without a module.
    "str_split('a-b', '-', 1)",
    "hash('x')",
    "reverse('abc')",
    "base64_encode(x'00ff')",
    "base64_decode('AP8=')",
    "demangle('_ZN3foo3barEv')",
    "to_timecode(3600000000005)",
    "round(ln(2), 9)",
    "round(exp(2), 9)",
    "round(sqrt(2), 9)",
    "sqrt(NULL)",
    "regexp('a+', 'caat')",
    "regexp('A', 'cat', 'i')",
    "'cat' REGEXP '^a'",
    "regexp_extract('trace', 'r(.)c')",
    "regexp_replace_simple('a.b', '[.]', '-')",
    "trace_start()",
    "trace_end()",
    "trace_dur()",
    *(f"time_from_{unit}(3)" for unit in ["ns", "us", "ms", "s", "min", "hours", "days"]),
    "time_from_days(300000)",
    *(f"time_to_{unit}(172800000000001)" for unit in ["ns", "us", "ms", "s", "min", "hours", "days"]),
    "(SELECT percentile(column1, 25) FROM (VALUES (1), (2), (4), (NULL)))",
    "(SELECT percentile_cont(column1, 0.25) FROM (VALUES (1), (2), (4)))",
    "(SELECT percentile_disc(column1, 0.25) FROM (VALUES (1), (2), (4)))",
    "(SELECT median(column1) FROM (VALUES (1), (2), (4), (9)))",
    "(SELECT json_group_array(to_ftrace(id)) FROM ftrace_event)",
]


@pytest.mark.parametrize("trace", ["multihop", "late-frame", "desktop", "app", "system"])
def test_every_function_answers_as_in_the_program(python, imported, trace):
    sql = "SELECT json_array(" + ", ".join(f"quote({call})" for call in CALLS) + ") AS answers"
    database = imported(trace)
    program = run([given("TIMEBASE_PROGRAM"), "query", database, sql, "--format", "jsonl"])
    expected = json.loads(json.loads(program)["answers"])
    script = "print(answer(load(GIVEN[0]), GIVEN[1]))"
    assert python(script, database, sql) == expected
    in_shell = shell(database, load_command(), sql)
    assert json.loads(in_shell.stdout) == expected, in_shell.stderr
    assert len(expected) == len(CALLS)
    if trace == "multihop":
        assert expected[0] == "7703"
    lines = expected[CALLS.index("(SELECT json_group_array(to_ftrace(id)) FROM ftrace_event)")]
    assert ("sched_switch: prev_comm=" in lines) == (trace in ["late-frame", "desktop", "system"])
    answers = dict(zip(CALLS, expected))
    assert answers["regexp_extract('trace', 'r(.)c')"] == "'a'"
    assert answers["time_to_hours(172800000000001)"] == "48"


def test_the_shell_loads_it_and_shows_errors(multihop):
    done = shell(multihop, load_command(), SOUND, "SELECT length(timebase_version()) > 0")
    assert (done.returncode, done.stdout, done.stderr) == (0, "7703\n1\n", "")
    failed = shell(multihop, load_command(), "SELECT to_boottime(x'00', 0, 1)")
    assert failed.returncode == 1
    assert "to_boottime(): argument 1 (clock_id) must be a clock number or name, not a blob" in failed.stderr


WRONG = [
    ("SELECT to_boottime(0, 0, 1)", "to_boottime(): argument 1 (clock_id) must be a clock number (1 to 4294967295)"),
    ("SELECT to_boottime(9223372036854775807, 0, 1)", "argument 1 (clock_id)"),
    ("SELECT to_boottime(x'00', 0, 1)", "not a blob"),
    ("SELECT to_boottime(3, -1, 1)", "argument 2 (seq_id) must be between 0 and 4294967295, not -1"),
    ("SELECT to_boottime(3, 0, 1.5)", "argument 3 (ts) must be an integer, not the real number 1.5"),
    ("SELECT to_boottime(3, 0, 9223372036854775808)", "argument 3 (ts) must be an integer"),
    ("SELECT to_boottime(3, 0, 'x' || char(0))", "argument 3 (ts) must be an integer, not the text"),
    ("SELECT to_boottime(3, 0, 1, 4294967296)", "argument 4 (machine_id)"),
    ("SELECT to_boottime(3, 0)", "wrong number of arguments to function to_boottime()"),
    ("SELECT convert_clock(3, 0, 1, x'', 0)", "convert_clock(): argument 4 (to_clock_id)"),
    ("SELECT why_unresolved('a', 'b', 'c')", "why_unresolved(): argument 2 (seq_id)"),
    ("SELECT to_boottime('REALTIM', 0, 1)", "the text 'REALTIM'; did you mean REALTIME?"),
    ("SELECT to_boottime('64@', 0, 1)", "to_boottime(): argument 1 (clock_id) must be number@sequence"),
    ("SELECT convert_clock(3, 0, 1, '64@2', 3)", "convert_clock(): argument 5 (to_seq_id) must be 0 or 2"),
    ("SELECT * FROM clock_path('64@2', 3, 1)", "clock_path(): argument 2 (seq_id) must be 0 or 2"),
    ("SELECT * FROM clock_path", "clock_path() needs the arguments"),
    ("SELECT * FROM clock_path(3, 0, zeroblob(1000000))", "clock_path(): argument 3 (ts)"),
    ("SELECT * FROM clock_path(CAST(x'ff' AS TEXT), 0, 1)", "clock_path(): argument 1 (clock_id) must be UTF-8"),
    ("SELECT * FROM clock_path(1, 2, 3, 4, 5, 6, 7, 8)", "too many arguments on clock_path()"),
    ("SELECT * FROM ancestor_slice", "ancestor_slice() needs the argument (start_id)"),
    ("SELECT * FROM ancestor_slice('a')", "ancestor_slice(): argument 1 (start_id) must be an integer"),
    ("SELECT * FROM descendant_slice(99)", "descendant_slice(): argument 1 (start_id) must be the id of a slice"),
    ("SELECT * FROM descendant_slice(1, 2)", "too many arguments on descendant_slice()"),
    ("SELECT * FROM following_flow('a')", "following_flow(): argument 1 (start_id) must be an integer"),
    ("SELECT * FROM preceding_flow", "preceding_flow() needs the argument (start_id)"),
    ("SELECT * FROM directly_connected_flow(99)", "directly_connected_flow(): argument 1 (start_id)"),
    ("SELECT slice_is_ancestor(1, 'a')", "slice_is_ancestor(): argument 2 (descendant_id)"),
    ("SELECT clock_id(5)", "clock_id(): argument 1 (name) must be a text"),
    ("SELECT clock_name(-5)", "clock_name(): argument 1 (id)"),
    ("SELECT to_realtime('now')", "to_realtime(): argument 1 (ts)"),
    ("SELECT abs_time_str(1, 'Berlin')", "abs_time_str(): argument 2 (zone) must be a time zone"),
    ("SELECT from_abs_time_str('now')", "from_abs_time_str(): argument 1 (text) must be a time"),
    ("SELECT packet_json('text')", "packet_json(): argument 1 (data) must be a blob"),
    ("SELECT packet_json(x'ff')", "packet_json(): argument 1 (data) cannot be read"),
    ("SELECT packet_field(x'', 'no.such')", "packet_field(): argument 2 (path) is no path"),
    ("SELECT packet_field(x'', 'no' || char(0) || 'such')", "packet_field(): argument 2 (path) is no path"),
    ("SELECT extract_arg('3', 'debug.count')", "extract_arg(): argument 1 (arg_set_id) must be an integer"),
    ("SELECT extract_arg(3, 5)", "extract_arg(): argument 2 (key) must be a text"),
    ("SELECT packet_field(5, 'track_event')", "packet_field(): argument 1 (data) must be a blob"),
]


def test_a_wrong_argument_is_an_error_that_names_it(python, multihop):
    script = """
conn = load(GIVEN[0])
print(json.dumps([refusal(conn, sql) for sql in json.loads(GIVEN[1])] + [answer(conn, GIVEN[2])]))
"""
    *refusals, sound = python(script, multihop, json.dumps([sql for sql, _ in WRONG]), SOUND)
    for (sql, expected), message in zip(WRONG, refusals):
        assert expected in message, sql
    assert sound == 7703


def test_no_arguments_end_the_process(python, multihop):
    script = """
VALUES = ["NULL", "0", "-1", "3", "64", "4294967295", "4294967296", "9223372036854775807",
          "-9223372036854775808", "1e308", "-0.0", "9e999", "''", "'MONOTONIC'", "'64@2'", "'2026-11-21'", "'x' || char(0)",
          "CAST(x'ff' AS TEXT)", "x''", "x'40d008'", "zeroblob(100000)", "randomblob(1000)",
          "printf('%.*c', 100000, '[')", "'track_event.' || char(0)"]
CALLS = {"extract_metadata": 1, "android_package_lookup": 1, "__intrinsic_arg_set_to_json": 1,
         "__intrinsic_zstd_compress": 1, "to_boottime": 5, "convert_clock": 7, "why_unresolved": 7, "clock_id": 1, "clock_name": 1,
         "packet_json": 1, "packet_field": 2, "packet_data": 1, "extract_arg": 2, "slice_is_ancestor": 2, "to_realtime": 1, "to_monotonic": 1, "abs_time_str": 2,
         "from_abs_time_str": 1}
conn = load(GIVEN[0])
answers = refusals = 0
unnamed = []
TABLES = {"experimental_slice_layout": 1, "experimental_annotated_callstack": 1, "perfetto_table_info": 1,
          "clock_path": 7, "ancestor_slice": 1, "descendant_slice": 1, "following_flow": 1, "preceding_flow": 1,
          "directly_connected_flow": 1, "heap_graph_path": 1, "heap_graph_dominator": 2}
for name, most in [*CALLS.items(), *TABLES.items()]:
    of_table = name in TABLES
    for count in range(most + 2):
        # Every combination of up to three; of more, one of each kind behind sound ones.
        rows = itertools.product(VALUES, repeat=count) if count <= 3 else (
            [*["64", "2", "3503", "3", "0", "0", "NULL", "0"][:count - 1], value] for value in VALUES)
        for arguments in rows:
            call = f"{name}({', '.join(arguments)})"
            try:
                conn.execute(f"SELECT * FROM {call}" if of_table else f"SELECT {call}").fetchall()
                answers += 1
            except Error as error:
                refusals += 1
                if name not in str(error):
                    unnamed.append((call[:200], str(error)[:200]))
print(json.dumps([answers, refusals, unnamed[:5], answer(conn, GIVEN[1])]))
"""
    answers, refusals, unnamed, sound = python(script, multihop, SOUND)
    assert answers > 500 and refusals > 1000
    assert unnamed == []
    assert sound == 7703


def changed(database, statements):
    conn = sqlite3.connect(database)
    conn.executescript(statements)
    conn.close()
    return database


READ_SNAPSHOTS = [
    "SELECT to_boottime(3, 0, 1)",
    "SELECT convert_clock(3, 0, 1, 6, 0)",
    "SELECT why_unresolved(3, 0, 1)",
    "SELECT * FROM clock_path(3, 0, 1)",
    "SELECT to_realtime(1)",
    "SELECT to_monotonic(1)",
    "SELECT abs_time_str(1)",
    "SELECT abs_time_str(1, 'UTC')",
    "SELECT from_abs_time_str('2026-11-21')",
]
REFUSALS = "conn = load(GIVEN[0]); print(json.dumps([refusal(conn, sql) for sql in json.loads(GIVEN[1])]))"


@pytest.mark.parametrize(
    "version, tables, advice",
    [
        (1, "DROP VIEW finding; DROP VIEW trace_bounds; DROP VIEW time_outlier; ALTER TABLE clock_snapshot DROP COLUMN source;", "import the trace again"),
        (99, "", "a newer timebase made it, so update timebase"),
    ],
)
def test_a_database_of_another_version_is_told_with_what_to_do(python, multihop, version, tables, advice):
    with closing(sqlite3.connect(multihop)) as conn:
        (current,) = conn.execute("PRAGMA user_version").fetchone()
    changed(multihop, f"PRAGMA user_version = {version}; {tables}")
    for message in python(REFUSALS, multihop, json.dumps(READ_SNAPSHOTS)):
        assert f"this database has version {version} of timebase's tables" in message
        assert message.endswith(f"this timebase reads version {current}: {advice}")


def test_a_database_without_arguments_is_told(python, tmp_path):
    empty = changed(tmp_path / "empty.db", "CREATE TABLE t (x)")
    (message,) = python(REFUSALS, empty, json.dumps(["SELECT extract_arg(3, 'debug.count')"]))
    assert "extract_arg(): this database has no arguments (no such table: main.args)" in message


def test_arguments_are_looked_up_for_any_statement(python, multihop):
    script = """
conn = load(GIVEN[0])
sql = "SELECT extract_arg(arg_set_id, key) FROM args WHERE arg_set_id IN (3, 64) AND key LIKE 'debug.%' ORDER BY id"
first, second = conn.execute(sql), conn.execute(sql)
got = [next(first)[0], next(second)[0], next(first)[0]]
conn.execute("CREATE VIEW counted AS SELECT arg_set_id, extract_arg(arg_set_id, 'debug.count') AS count "
             "FROM args WHERE arg_set_id IN (3, 64) GROUP BY 1")
got += [count for _, count in conn.execute("SELECT * FROM counted")]
conn.execute("UPDATE arg_set SET args = json_set(args, '$.\\"debug.count\\"', extract_arg(id, 'debug.count') + 1) WHERE id IN (3, 64)")
got += [count for _, count in conn.execute("SELECT * FROM counted")]
got += [row[0] for row in second]
del first, second
conn.close()
print(json.dumps(got))
"""
    # The second statement began before the change.
    assert python(script, multihop) == [-3, -3, 1, -3, 4, -2, 5, 1, 2**63 - 1, -0.5, '{"a":1}', 10, 11, 4]


def test_a_database_without_clocks_is_told(python, tmp_path):
    empty = changed(tmp_path / "empty.db", "CREATE TABLE t (x)")
    for message in python(REFUSALS, empty, json.dumps(READ_SNAPSHOTS)):
        assert "this is not a timebase database (no such table: main.clock_snapshot)" in message


def test_a_file_that_is_no_database_is_told(python, tmp_path):
    path = tmp_path / "noise.db"
    path.write_bytes(b"noise" * 1000)
    for message in python(REFUSALS, path, json.dumps(READ_SNAPSHOTS)):
        assert "file is not a database" in message


@pytest.mark.parametrize(
    "change, expected",
    [
        ("UPDATE clock_snapshot SET clock_value = 'late'", "clock_snapshot cannot be used"),
        ("UPDATE clock_snapshot SET clock_id = x'00'", "clock_snapshot cannot be used"),
        ("UPDATE clock_snapshot SET machine_id = -1", "clock_snapshot cannot be used"),
        ("UPDATE clock_snapshot SET source = 7", "source must be one of "),
        ("INSERT INTO clock_snapshot (snapshot_id, clock_id, clock_value) VALUES (99, 3, 1), (99, 3, 2)", "snapshot 99"),
    ],
)
def test_snapshots_that_cannot_be_are_told(python, multihop, change, expected):
    changed(multihop, change)
    (message,) = python(REFUSALS, multihop, json.dumps([SOUND]))
    assert message.startswith(("to_boottime(): ", "SQLError: to_boottime(): ")) and expected in message


def test_a_database_of_another_maker_that_has_snapshots_is_used(python, multihop):
    changed(multihop, "PRAGMA application_id = 0; PRAGMA user_version = 77")
    assert python("print(answer(load(GIVEN[0]), GIVEN[1]))", multihop, SOUND) == 7703


def test_it_may_be_loaded_twice_and_while_a_statement_runs(python, multihop):
    script = """
conn = load(GIVEN[0])
conn.load_extension(EXTENSION)
rows = conn.execute("SELECT load_extension(?1), to_boottime(64, 2, 3503) FROM packet LIMIT 2", [EXTENSION])
next(rows)
conn.load_extension(EXTENSION)
next(rows)
print(answer(conn, GIVEN[1]))
"""
    assert python(script, multihop, SOUND) == 7703


def test_it_may_be_loaded_into_many_connections(python, multihop):
    script = """
def use(found):
    for _ in range(50):
        conns = [load(GIVEN[0]) for _ in range(5)]
        found.update(answer(conn, GIVEN[1]) for conn in conns)
        for conn in conns:
            conn.close()
found = [set() for _ in range(4)]
threads = [threading.Thread(target=use, args=[each]) for each in found]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(json.dumps([list(each) for each in found]))
"""
    assert python(script, multihop, SOUND) == [[7703]] * 4


def test_two_connections_in_two_threads_keep_apart(python, imported):
    databases = [imported("multihop"), imported("system-compressed")]
    sql = "SELECT group_concat(ifnull(to_boottime(clock_id, seq_id, clock_ts), 'none')) FROM packet"
    alone = [python("print(json.dumps(answer(load(GIVEN[0]), GIVEN[1])))", path, sql) for path in databases]
    script = """
start = threading.Barrier(2)
def use(path, found):
    conn = load(path)
    start.wait()
    for _ in range(int(100 / (1 + path.count("compressed") * 9))):
        found.add(answer(conn, GIVEN[2]))
found = [set(), set()]
threads = [threading.Thread(target=use, args=pair) for pair in zip(GIVEN, found)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(json.dumps([list(each) for each in found]))
"""
    assert python(script, *databases, sql) == [[answer] for answer in alone]


def test_a_file_of_another_name_loads(python, multihop, tmp_path):
    extension = given("TIMEBASE_EXTENSION")
    copy = shutil.copy(extension, tmp_path / f"other{extension.suffix}")
    assert python("print(answer(load(GIVEN[0]), GIVEN[1]))", multihop, SOUND, extension=copy) == 7703


def test_another_sqlite_of_the_process_takes_a_copy(multihop, tmp_path):
    extension = given("TIMEBASE_EXTENSION")
    copy = shutil.copy(extension, tmp_path / f"copy{extension.suffix}")
    script = """
import apsw
first = load(GIVEN[0])
second = apsw.Connection(GIVEN[0])
second.enable_load_extension(True)
try:
    second.load_extension(EXTENSION)
    message = None
except apsw.Error as error:
    message = str(error)
second.load_extension(GIVEN[2])
print(json.dumps([message, *(answer(conn, GIVEN[1]) for conn in (first, second, first))]))
"""
    message, *answers = script_runner("pysqlite3")(script, multihop, SOUND, copy)
    assert "another SQLite of this process has loaded this file already" in message
    assert answers == [7703] * 3


def test_views_use_the_functions_where_the_schema_is_not_trusted(python, multihop):
    changed(multihop, "CREATE VIEW v AS SELECT to_boottime(64, 2, 3503) + (SELECT count(*) FROM clock_path(64, 2, 3503))")
    script = "conn = load(GIVEN[0]); conn.execute('PRAGMA trusted_schema = off'); print(answer(conn, 'SELECT * FROM v'))"
    assert python(script, multihop) == 7705


def test_texts_of_any_encoding_are_names(python, imported, tmp_path):
    path = tmp_path / "utf16.db"
    tables = [line for line in sqlite3.connect(imported("multihop")).iterdump() if "clock_snapshot" in line.split("(")[0]]
    changed(path, "PRAGMA encoding = 'UTF-16le';" + "".join(line for line in tables if "TRIGGER" not in line))
    script = "print(json.dumps(load(GIVEN[0]).execute(GIVEN[1]).fetchall()[0]))"
    sql = "SELECT to_boottime('MONOTONIC', 0, 3703), clock_name(3), packet_field(x'40d0085a024801', 'track_event.type')"
    assert python(script, path, sql) == [7703, "MONOTONIC", "TYPE_SLICE_BEGIN"]
