"""The package: from traces to connections with functions, in every available way."""

import gc
import gzip
import io
import itertools
import os
import random
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing

import pytest
import timebase
from conftest import ARGS, DATA
from timebase import _extension

TRACES = sorted(DATA.glob("*.pftrace"))
MULTIHOP = DATA / "multihop.pftrace"

# The ways to register the functions on a connection.
WAYS = ["load_extension", "auto_extension", "python"]


@pytest.fixture(params=WAYS)
def connect(request, monkeypatch):
    """timebase.connect, in each of the ways."""
    way = request.param
    if way == "load_extension" and not _extension.python_can_load():
        pytest.skip("this Python was built without extension loading")
    if way != "python":
        monkeypatch.setattr(_extension, "python_can_load", lambda: way == "load_extension")
    functions = "python" if way == "python" else "extension"

    def connected(*arguments, **named):
        connection = timebase.connect(*arguments, functions=functions, **named)
        assert connection.functions == functions
        return connection

    return connected


@pytest.fixture
def database(tmp_path):
    return timebase.import_trace(MULTIHOP, tmp_path / "multihop.db")


def ask(connection, sql, *parameters):
    return connection.execute(sql, parameters).fetchone()[0]


def refusal(connection, sql):
    with pytest.raises(sqlite3.OperationalError) as error:
        connection.execute(sql).fetchall()
    return str(error.value)


# Functions are the same in every way


def test_functions_answer(connect):
    with closing(connect(MULTIHOP)) as trace:
        assert ask(trace, "SELECT to_boottime(64, 2, 3503)") == 7703
        assert ask(trace, "SELECT to_boottime('MONOTONIC', 7, 3703, 0)") == 7703
        assert ask(trace, "SELECT convert_clock(64, 2, 3503, 3, 0)") == 3703
        assert ask(trace, "SELECT convert_clock(64, 2, 3503, 'MONOTONIC', 0, 0)") == 3703
        assert ask(trace, "SELECT to_boottime(64, 3, 1)") is None
        assert ask(trace, "SELECT to_boottime(64, 2, NULL)") is None
        assert ask(trace, "SELECT why_unresolved(64, 3, 1)") == "unknown_clock"
        assert ask(trace, "SELECT why_unresolved(64, 0, 1)") == "no_sequence_id"
        assert ask(trace, "SELECT why_unresolved(64, 2, 9223372036854775807)") == "overflow"
        assert ask(trace, "SELECT why_unresolved(64, 2, 1, 'REALTIME', 0)") == "no_target"
        assert ask(trace, "SELECT clock_id('com.example.my_subsystem')") == 4144414090
        assert ask(trace, "SELECT clock_name(6) || clock_name('TSC')") == "BOOTTIMETSC"
        assert ask(trace, "SELECT abs_time_str(5)") is None
    with closing(connect(DATA / "logs.pftrace")) as trace:
        assert ask(trace, "SELECT count(abs_time_str(ts)) = count(ts) FROM android_logs") == 1


@pytest.mark.parametrize(
    "call, message",
    [
        ("to_boottime(0, 0, 1)", "to_boottime(): argument 1 (clock_id) must be a clock number (1 to 4294967295) or name, not 0"),
        ("to_boottime(x'00', 0, 1)", "to_boottime(): argument 1 (clock_id) must be a clock number or name, not a blob"),
        ("to_boottime(3, -1, 1)", "to_boottime(): argument 2 (seq_id) must be between 0 and 4294967295, not -1"),
        ("to_boottime(3, 0, 1.5)", "to_boottime(): argument 3 (ts) must be an integer, not the real number 1.5"),
        ("to_boottime(3, 0, 1e21)", "to_boottime(): argument 3 (ts) must be an integer, not the real number 1000000000000000000000"),
        ("to_boottime(3, 0, 2.0)", "to_boottime(): argument 3 (ts) must be an integer, not the real number 2"),
        ("to_boottime(3, 0, 'x')", "to_boottime(): argument 3 (ts) must be an integer, not the text 'x'"),
        ("to_boottime(3, 0, 1, 'x')", "to_boottime(): argument 4 (machine_id) must be an integer, not the text 'x'"),
        ("convert_clock(3, 0, 1, 0, 0)", "convert_clock(): argument 4 (to_clock_id) must be a clock number (1 to 4294967295) or name, not 0"),
        ("clock_id(5)", "clock_id(): argument 1 (name) must be a text, not 5"),
        ("to_realtime('x')", "to_realtime(): argument 1 (ts) must be an integer, not the text 'x'"),
        ("to_boottime(3, 0)", "wrong number of arguments to function to_boottime()"),
    ],
)
def test_a_wrong_argument_is_an_sql_error_that_names_it(connect, database, call, message):
    with closing(connect(database)) as trace:
        assert refusal(trace, f"SELECT {call}") == message
        # Also if it is not in the first row, and in the user's own cursor.
        if "wrong number" not in message:
            cursor = trace.cursor()
            with pytest.raises(sqlite3.OperationalError) as error:
                list(cursor.execute(f"SELECT 1 UNION ALL SELECT {call}"))
            assert str(error.value) == message


def test_rows_added_to_clock_snapshot_are_seen_by_the_next_statement(connect, database):
    add = "INSERT INTO clock_snapshot (snapshot_id, clock_id, clock_value) VALUES (9, 3, 5000), (9, 6, 20000)"
    with closing(connect(database, write=True, isolation_level=None)) as trace:
        asked = "SELECT to_boottime(3, 0, 5001), to_monotonic(5201)"
        before = trace.execute(asked).fetchone()
        trace.execute("BEGIN")
        trace.execute(add)
        assert trace.execute(asked).fetchone()[0] == 20001
        trace.execute("ROLLBACK")
        assert trace.execute(asked).fetchone() == before
        with closing(sqlite3.connect(database)) as other:
            other.execute(add)
            other.commit()
        assert trace.execute(asked).fetchone()[0] == 20001


def test_what_is_no_database_of_timebase_is_told(connect):
    with closing(connect(":memory:")) as connection:
        assert "to_boottime(): this is not a timebase database" in refusal(connection, "SELECT to_boottime(3, 0, 1)")


def test_a_snapshot_that_cannot_be_one_is_told(connect, database):
    with closing(connect(database, write=True)) as trace:
        trace.execute("INSERT INTO clock_snapshot (snapshot_id, clock_id, clock_value) VALUES (9, 3, 1), (9, 3, 2)")
        expected = "to_boottime(): clock_snapshot cannot be used: snapshot 9: clock MONOTONIC is read twice"
        assert refusal(trace, "SELECT to_boottime(3, 0, 1)") == expected


def test_row_factories_are_the_users(connect, database):
    with closing(connect(database)) as trace:
        trace.row_factory = sqlite3.Row
        row = trace.execute("SELECT to_boottime(64, 2, 3503) AS boottime").fetchone()
        assert row["boottime"] == 7703


def test_packets_are_read(connect, tmp_path):
    packet = "x'40d0085a024801'"
    with closing(connect(MULTIHOP)) as trace:
        assert ask(trace, f"SELECT packet_json({packet})") == '{"timestamp":1104,"track_event":{"type":"TYPE_SLICE_BEGIN"}}'
        assert ask(trace, f"SELECT packet_field({packet}, 'track_event.type')") == "TYPE_SLICE_BEGIN"
        assert ask(trace, f"SELECT packet_field({packet}, 'timestamp')") == 1104
        assert ask(trace, f"SELECT packet_field({packet}, 'trusted_uid')") is None
        assert ask(trace, "SELECT packet_field(x'920303de00ad', 'compressed_packets')") == b"\xde\0\xad"
        assert ask(trace, "SELECT packet_field(x'', 'timestamp'), packet_json(NULL)") is None
        assert ask(trace, "SELECT packet_json(x'')") == "{}"
    extended = timebase.import_trace(
        DATA / "extension-undescribed.pftrace", tmp_path / "extended.db", descriptors=[DATA / "extension.descriptor"]
    )
    with closing(connect(extended, write=True)) as trace:
        everything = "SELECT group_concat(packet_json(data)) FROM packet"
        known = ask(trace, everything)
        trace.execute("DELETE FROM descriptor")
        assert ask(trace, everything) != known
        trace.rollback()
        assert ask(trace, everything) == known


def test_arguments_are_looked_up(connect, database):
    with closing(connect(database, write=True)) as trace:
        assert ask(trace, "SELECT extract_arg(3, 'debug.count')") is None
        trace.executescript(ARGS)
        every = trace.execute("SELECT extract_arg(arg_set_id, key) FROM args WHERE arg_set_id IN (3, 64) ORDER BY id").fetchall()
        text = "ä€"
        assert [value for (value,) in every] == [-3, 1, 2**63 - 1, text, "", -0.5, None, '{"a":1}', 10, 11, 4, 5, 6]
        assert ask(trace, "SELECT extract_arg(?, ?)", 64, "x ä€😀") == 5
        assert ask(trace, "SELECT extract_arg(?, ?)", 64, "debug.done") is None
        assert ask(trace, "SELECT extract_arg(NULL, 'debug.count')") is None
        wrong = "extract_arg(): argument 1 (arg_set_id) must be an integer, not the text '3'"
        assert refusal(trace, "SELECT extract_arg('3', 'debug.count')") == wrong
        trace.execute("UPDATE arg_set SET args = replace(args, '-3', '7') WHERE id = 3")
        assert ask(trace, "SELECT extract_arg(3, 'debug.count')") == 7
        trace.rollback()
        assert ask(trace, "SELECT extract_arg(3, 'debug.count')") == -3
        trace.execute("DROP VIEW args")
        trace.execute(
            "CREATE VIEW args AS SELECT 0 AS id, 3 AS arg_set_id, '' AS key, 'int' AS value_type, NULL AS string_value, "
            "NULL AS real_value, extract_arg(3, '') AS int_value"
        )
        itself = "extract_arg(): a table that it reads is a view that calls it; define the view without the call"
        assert refusal(trace, "SELECT extract_arg(3, '')") == itself


def test_what_is_missing_without_the_extension_says_so(database):
    with closing(timebase.connect(database, functions="python")) as trace:
        for function, instead in [("clock_path", "timebase explain"), ("ancestor_slice", "slice_ancestor")]:
            message = refusal(trace, f"SELECT * FROM {function}(1)")
            assert message.startswith(f"no such table: {function}: it needs the extension, which is not loaded")
            assert instead in message


def test_the_version_is_told(connect, database):
    with closing(connect(database)) as trace:
        assert ask(trace, "SELECT timebase_version() GLOB '*.*.*'") == 1


# Statements

ADD = "INSERT INTO clock_snapshot (snapshot_id, clock_id, clock_value) VALUES (9, 3, 5000), (9, 6, 20000)"
NUMBERS = "WITH RECURSIVE n (n) AS (VALUES (0) UNION ALL SELECT n + 1 FROM n LIMIT 9)"


def test_statements_that_run_by_turns_see_one_graph_each(connect, database):
    with closing(connect(database, write=True, isolation_level=None)) as trace:
        # The second statement calls the functions for the first time when it is at row 2.
        first = trace.execute(f"{NUMBERS} SELECT to_boottime(3, 0, 5001) FROM n")
        second = trace.execute(f"{NUMBERS} SELECT CASE WHEN n >= 2 THEN to_boottime(3, 0, 5001) END FROM n")
        before = first.fetchone()[0]
        trace.execute(ADD)
        assert ask(trace, "SELECT to_boottime(3, 0, 5001)") == 20001 != before
        assert second.fetchmany(3) == [(None,), (None,), (20001,)]
        assert first.fetchmany(2) == [(before,)] * 2
        trace.execute("UPDATE clock_snapshot SET clock_value = clock_value + 7 WHERE snapshot_id = 9 AND clock_id = 6")
        assert ask(trace, "SELECT to_boottime(3, 0, 5001)") == 20008
        assert {*second} == {(20001,)} and {*first} == {(before,)}


def test_a_cursor_of_another_class_sees_every_change(connect, database):
    with closing(connect(database, write=True, isolation_level=None)) as trace:
        ask(trace, "SELECT to_boottime(3, 0, 5001)")
        cursor = trace.cursor(sqlite3.Cursor)
        trace.execute(ADD)
        assert cursor.execute("SELECT to_boottime(3, 0, 5001)").fetchone() == (20001,)


def test_a_cursor_may_begin_anew_while_it_runs(connect, database):
    with closing(connect(database)) as trace:
        cursor = trace.cursor()

        def again():
            cursor.execute("SELECT to_boottime(64, 2, 3503)")
            gc.collect()
            return 0

        trace.create_function("again", 0, again)
        # Whether sqlite3 allows this depends on the version of Python; it must do no harm.
        sql = f"{NUMBERS} SELECT to_boottime(64, 2, 3503) + again() + to_boottime(64, 2, 3503) FROM n"
        try:
            assert {*cursor.execute(sql)} <= {(7703,), (2 * 7703,)}
        except sqlite3.Error:
            pass
        assert ask(trace, "SELECT to_boottime(64, 2, 3503)") == 7703


def test_a_table_that_needs_the_clocks_is_told(connect, database):
    with closing(connect(database, write=True, isolation_level=None)) as trace:
        trace.execute("DROP VIEW finding")
        trace.execute("ALTER TABLE clock_snapshot RENAME TO stored")
        trace.execute("CREATE VIEW clock_snapshot AS SELECT * FROM stored WHERE to_realtime(ts) IS NULL")
        for _again in range(2):
            for call in ("to_boottime(64, 2, 3503)", "to_realtime(1)"):
                assert refusal(trace, f"SELECT {call}").endswith("clock_snapshot is defined by a call that reads clock_snapshot; define it without the call")
        trace.execute("DROP VIEW clock_snapshot")
        trace.execute("ALTER TABLE stored RENAME TO clock_snapshot")
        assert ask(trace, "SELECT to_boottime(64, 2, 3503)") == 7703


@pytest.mark.parametrize(
    "change, expected",
    [
        ("SET clock_value = 'la' || char(0) || 'te'", r"clock_value must be an integer, not the text 'la\0te'"),
        ("SET clock_value = 1.5", "clock_value must be an integer, not the real number 1.5"),
        ("SET clock_id = x'00'", "clock_id must be an integer, not a blob"),
        ("SET machine_id = -1", "machine_id must be between 0 and 4294967295, not -1"),
        ("SET source = 7", "source must be one of manifest, service, writer, remote_sync, ftrace, causality, json, assumed"),
    ],
)
def test_snapshots_that_cannot_be_are_told(connect, database, change, expected):
    with closing(connect(database, write=True)) as trace:
        trace.execute(f"UPDATE clock_snapshot {change} WHERE snapshot_id = 1")
        message = refusal(trace, "SELECT to_boottime(3, 0, 1)")
        assert message == f"to_boottime(): clock_snapshot cannot be used: snapshot 1: {expected}"
        trace.rollback()
        assert ask(trace, "SELECT to_boottime(64, 2, 3503)") == 7703


def test_snapshots_may_come_in_any_order_and_without_a_time(connect, database):
    with closing(connect(database, write=True)) as trace:
        trace.execute("UPDATE clock_snapshot SET id = -id, ts = NULL")
        assert ask(trace, "SELECT to_boottime(64, 2, 3503)") == 7703
        assert ask(trace, "SELECT to_monotonic(7703)") is None


def test_a_load_that_is_interrupted_is_begun_anew(connect, database):
    with closing(connect(database, write=True, isolation_level=None)) as trace:
        trace.execute("DROP VIEW finding")
        trace.execute("ALTER TABLE clock_snapshot RENAME TO stored")
        trace.execute("CREATE VIEW clock_snapshot AS SELECT * FROM stored WHERE interrupt_once() ORDER BY id")
        left = [True]

        def interrupt_once():
            if left:
                left.pop()
                trace.interrupt()
            return 1

        trace.create_function("interrupt_once", 0, interrupt_once)
        assert "interrupted" in refusal(trace, "SELECT to_boottime(64, 2, 3503)")
        assert ask(trace, "SELECT to_boottime(64, 2, 3503)") == 7703


def test_threads_use_a_connection_one_after_the_other(connect, database):
    with closing(connect(database, check_same_thread=False)) as trace:
        answers, one_at_a_time = [], threading.Lock()

        def use():
            for _ in range(50):
                with one_at_a_time:
                    row = trace.execute("SELECT to_boottime(64, 2, 3503), packet_json(x'40d008'), why_unresolved(9, 0, 1)").fetchone()
                answers.append(row)

        threads = [threading.Thread(target=use) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert answers == [(7703, '{"timestamp":1104}', "unknown_clock")] * 200


def test_connections_of_many_threads_keep_apart(connect, database):
    answers = []

    def use():
        for _ in range(20):
            with closing(connect(database)) as trace:
                answers.append(ask(trace, f"{NUMBERS} SELECT sum(to_boottime(64, 2, 3503 + n)) FROM n"))

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [9 * 7703 + 36] * 80


# Functions that Python registers, compared with the extension


def outcome(connection, sql):
    try:
        return connection.execute(sql).fetchall()
    except sqlite3.OperationalError as error:
        return str(error)


def same_answers(database, calls):
    with closing(timebase.connect(database, functions="extension")) as extension:
        with closing(timebase.connect(database, functions="python")) as python:
            for sql in calls:
                assert outcome(python, sql) == outcome(extension, sql), sql


def conversions(database, seed):
    """Statements that convert readings of all clocks to all clocks."""
    randoms = random.Random(seed)
    with closing(sqlite3.connect(database)) as plain:
        values = plain.execute(
            "SELECT clock_id, seq_id, machine_id, clock_value / unit_multiplier_ns, unit_multiplier_ns FROM clock_snapshot"
        ).fetchall()
        times = [ts for [ts] in plain.execute("SELECT ts FROM clock_snapshot WHERE ts IS NOT NULL")]
    clocks = sorted({(clock, seq, machine) for clock, seq, machine, _, _ in values})
    clocks += [(64, 0, 0), (99, 9, 0), (1, 0, 5), (4000000000, 0, 0)]
    # A trace may have no snapshot of clocks.
    for _ in range(150 if values else 0):
        clock, seq, machine, value, unit = randoms.choice(values)
        if randoms.random() < 0.1:
            clock, seq, machine = randoms.choice(clocks)
        value = randoms.choice([value, value - 1, value + 1, value + randoms.randint(-10**9, 10**9), -(1 << 63), (1 << 63) - 1])
        to, to_seq, _ = randoms.choice(clocks)
        value = min(max(value, -(1 << 63) + 1), (1 << 63) - 1)
        for arguments in (f"{clock}, {seq}, {value}, {machine}", f"{clock}, {seq}, {value}, {to}, {to_seq}, {machine}"):
            function = "convert_clock" if arguments.count(",") == 5 else "to_boottime"
            yield f"SELECT {function}({arguments}), why_unresolved({arguments})"
    for ts in randoms.sample(times, min(len(times), 20)):
        ts += randoms.choice([0, -1, 1, 10**6, -(10**12)])
        yield f"SELECT to_realtime({ts}), to_monotonic({ts}), abs_time_str({ts}), from_abs_time_str(abs_time_str({ts}, '+02:00'))"


@pytest.mark.parametrize("trace", TRACES, ids=lambda trace: trace.stem)
def test_functions_in_python_say_what_the_extension_says(trace, tmp_path):
    database = timebase.import_trace(trace, tmp_path / "trace.db")
    clocks = "SELECT id, to_boottime(clock_id, seq_id, clock_ts, machine_id), why_unresolved(clock_id, seq_id, clock_ts) FROM packet"
    packets = "SELECT packet_json(data), packet_field(data, 'timestamp'), packet_field(data, 'clock_snapshot') FROM packet"
    same_answers(database, [clocks, packets, *conversions(database, 1)])


VALUES = [
    "NULL", "0", "-1", "3", "64", "4294967295", "4294967296", "9223372036854775807", "-9223372036854775808", "1e308", "-0.0",
    "9e999", "''", "'MONOTONIC'", "'64@2'", "'2026-11-21'", "'x' || char(0) || 'ä€😀'", "x''", "x'00ff00'", "x'40d008'", "zeroblob(100000)",
    "printf('%.*c', 100000, '[')", "'track_event.' || char(0)", "'timestamp'",
]  # fmt: skip
COUNTS = {
    "to_boottime": 5, "convert_clock": 7, "why_unresolved": 7, "clock_id": 1, "clock_name": 1, "packet_json": 1,
    "packet_field": 2, "packet_data": 1, "extract_arg": 2, "to_realtime": 1, "to_monotonic": 1, "abs_time_str": 2, "from_abs_time_str": 1,
    "timebase_version": 0,
}  # fmt: skip


@pytest.mark.parametrize("function", COUNTS)
def test_any_arguments_have_the_same_answer_or_error(function, database):
    with closing(sqlite3.connect(database)) as plain:
        plain.executescript(ARGS)
    with closing(timebase.connect(database, functions="extension")) as extension:
        with closing(timebase.connect(database, functions="python")) as python:
            for count in range(COUNTS[function] + 2):
                # Every combination of up to two arguments; for more arguments, one of each kind in each place among valid ones.
                sound = ["64", "2", "3503", "3", "0", "0", "NULL", "0"][:count]
                calls = itertools.product(VALUES, repeat=count)
                if count > 2:
                    calls = ([*sound[:at], value, *sound[at + 1 :]] for at in range(count) for value in VALUES)
                for arguments in calls:
                    sql = f"SELECT {function}({', '.join(arguments)})"
                    assert outcome(python, sql) == outcome(extension, sql), sql


def test_a_text_that_is_none_is_an_error(database):
    with closing(timebase.connect(database, functions="python")) as trace:
        # Python's sqlite3 itself refuses this, before the function is called.
        assert refusal(trace, "SELECT clock_id(CAST(x'4dff' AS TEXT))") == "user-defined function raised exception"
        assert ask(trace, "SELECT clock_id('TSC')") == 9


@pytest.mark.parametrize("seed", range(25))
def test_they_do_for_any_snapshots(seed, database):
    randoms = random.Random(seed)
    clocks = [(1, 0), (3, 0), (6, 0), (64, 1), (64, 2), (70, 2), (200, 0), (300, 0), (301, 0)]
    units = {clock: randoms.choice([1, 1, 1, 50]) for clock in clocks}
    big = randoms.choice([0, 0, 1 << 62])
    with closing(sqlite3.connect(database)) as plain:
        plain.execute("DELETE FROM clock_snapshot")
        kinds = [randoms.sample(clocks, randoms.randint(1, 4)) for _ in range(6)]
        for snapshot in range(randoms.randint(1, 40)):
            source = randoms.choice(["service", "service", "writer", "remote_sync", "ftrace", "manifest", "assumed"])
            for clock, seq in randoms.choice(kinds):
                value = snapshot * 100 + randoms.randint(-60 if randoms.random() < 0.1 else 0, 60) + big * randoms.choice([0, 1])
                plain.execute(
                    "INSERT INTO clock_snapshot (snapshot_id, ts, clock_id, seq_id, clock_value, unit_multiplier_ns, source)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?)",
                    (snapshot, snapshot * 100, clock, seq, value, units[(clock, seq)], source),
                )
        plain.commit()
    same_answers(database, conversions(database, seed))


# The registered functions


def test_auto_takes_the_extension_where_it_can(database):
    with closing(timebase.connect(database)) as trace:
        assert trace.functions == "extension"
        assert ask(trace, "SELECT timebase_version()")


@pytest.mark.parametrize("functions", ["auto", "extension", "python"])
def test_without_the_library_it_is_told_what_to_do(database, monkeypatch, tmp_path, functions):
    monkeypatch.setenv("TIMEBASE_EXTENSION", str(tmp_path / "none.so"))
    with pytest.raises(timebase.ExtensionError, match="the extension is not at .*none.so; install the wheel again, or name it"):
        timebase.connect(database, functions=functions)


@pytest.mark.parametrize("functions", ["auto", "python"])
def test_a_library_that_cannot_be_loaded_is_told(database, monkeypatch, tmp_path, functions):
    library = tmp_path / "libtimebase.so"
    library.write_bytes(b"no library")
    monkeypatch.setenv("TIMEBASE_EXTENSION", str(library))
    with pytest.raises(timebase.ExtensionError, match="libtimebase.so cannot be loaded: .*; install a wheel for this machine"):
        timebase.connect(database, functions=functions)
    import _ctypes

    monkeypatch.setenv("TIMEBASE_EXTENSION", _ctypes.__file__)
    with pytest.raises(timebase.ExtensionError, match="another version of timebase than this package; install the wheel again"):
        timebase.connect(database, functions=functions)


@pytest.mark.parametrize("python_can_load", [True, False])
def test_a_library_that_is_none_is_told(database, monkeypatch, tmp_path, python_can_load):
    if python_can_load and not _extension.python_can_load():
        pytest.skip("this Python was built without extension loading")
    monkeypatch.setattr(_extension, "python_can_load", lambda: python_can_load)
    library = tmp_path / "libtimebase.so"
    library.write_bytes(b"no library")
    monkeypatch.setenv("TIMEBASE_EXTENSION", str(library))
    with pytest.raises(timebase.ExtensionError, match="libtimebase.so cannot be loaded"):
        timebase.connect(database, functions="extension")


def test_a_sqlite_without_extensions_gets_functions_in_python(database, monkeypatch):
    class Sqlite:
        """Like Apple's SQLite: it registers no functions for every connection."""

        def sqlite3_auto_extension(self, entry):
            return 21

    monkeypatch.setattr(_extension, "python_can_load", lambda: False)
    monkeypatch.setattr(_extension, "_sqlite_of_python", Sqlite)
    with closing(timebase.connect(database)) as trace:
        assert trace.functions == "python"
        assert ask(trace, "SELECT to_boottime(64, 2, 3503)") == 7703


def test_another_sqlite_than_pythons_gets_functions_in_python(database, monkeypatch):
    class Sqlite:
        """A SQLite that Python's connections do not use."""

        def sqlite3_auto_extension(self, entry):
            return 0

        def sqlite3_cancel_auto_extension(self, entry):
            return 1

    monkeypatch.setattr(_extension, "python_can_load", lambda: False)
    monkeypatch.setattr(_extension, "_sqlite_of_python", Sqlite)
    with pytest.raises(timebase.ExtensionError, match="not the SQLite that was found"):
        timebase.connect(database, functions="extension")


def test_other_connections_stay_as_they_are(database, monkeypatch):
    monkeypatch.setattr(_extension, "python_can_load", lambda: False)
    without, stop = [], threading.Event()

    def others():
        while not stop.is_set():
            with closing(sqlite3.connect(":memory:")) as plain:
                try:
                    plain.execute("SELECT clock_id('BOOTTIME')")
                except sqlite3.OperationalError:
                    without.append(True)
                else:
                    without.append(False)

    thread = threading.Thread(target=others)
    thread.start()
    try:
        for _ in range(50):
            with closing(timebase.connect(database)) as trace:
                assert trace.functions == "extension"
    finally:
        stop.set()
        thread.join()
    assert without and all(without)


# Connections


def test_a_temporary_database_goes_with_its_connection(connect):
    def path_of(trace):
        return trace.execute("SELECT file FROM pragma_database_list").fetchone()[0]

    trace = connect(MULTIHOP)
    path = path_of(trace)
    assert os.path.exists(path)
    trace.close()
    assert not os.path.exists(os.path.dirname(path))
    trace.close()

    trace = connect(MULTIHOP)
    path = path_of(trace)
    del trace
    gc.collect()
    assert not os.path.exists(os.path.dirname(path))


def test_and_with_the_process():
    script = (
        f"import timebase; trace = timebase.connect({str(MULTIHOP)!r});"
        "print(trace.execute('SELECT file FROM pragma_database_list').fetchone()[0])"
    )
    path = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout.strip()
    assert path.endswith("trace.db") and not os.path.exists(os.path.dirname(path))


def test_a_database_stays(connect, database):
    connect(database).close()
    assert database.exists()


def test_a_trace_may_be_a_file_object_or_compressed(connect, tmp_path):
    packed = tmp_path / "multihop.pftrace.gz"
    packed.write_bytes(gzip.compress(MULTIHOP.read_bytes()))
    for trace in (packed, str(packed), io.BytesIO(packed.read_bytes()), open(packed, "rb")):
        with closing(connect(trace)) as connection:
            assert ask(connection, "SELECT to_boottime(64, 2, 3503)") == 7703


def test_files_with_names_are_passed_on(connect, database, tmp_path):
    mapping = tmp_path / "mapping.txt"
    mapping.write_text("org.Good -> a.b:\n    void run() -> c\n")
    for given in (mapping, str(mapping), [mapping], {"org.app": mapping}):
        with closing(connect(MULTIHOP, symbols=tmp_path, mapping=given)) as trace:
            assert ask(trace, "SELECT count(*) FROM unsymbolized_mapping") == 0
    with pytest.raises(timebase.ImportFailed, match="none: No such file"):
        timebase.import_trace(MULTIHOP, tmp_path / "named.db", symbols=[tmp_path, tmp_path / "none"])
    mapping.write_text("org.Good\n")
    with pytest.raises(timebase.ImportFailed, match="mapping.txt, line 1: 'org.Good' is not 'name -> name'"):
        connect(MULTIHOP, mapping=mapping)
    with pytest.raises(ValueError, match="is a database, and symbols and mapping are for traces"):
        connect(database, symbols=tmp_path)


def test_arguments_of_sqlite3_are_passed_on(connect, database):
    with closing(connect(f"{database.as_uri()}?mode=ro", uri=True)) as trace:
        assert ask(trace, "SELECT to_boottime(64, 2, 3503)") == 7703
        assert "readonly" in refusal(trace, "DELETE FROM packet_record")
    with closing(connect(database, check_same_thread=False, timeout=1)) as trace:
        answers = []
        thread = threading.Thread(target=lambda: answers.append(ask(trace, "SELECT to_boottime(64, 2, 3503)")))
        thread.start()
        thread.join()
        assert answers == [7703]


def test_what_cannot_be_connected_to_is_told(tmp_path):
    with pytest.raises(FileNotFoundError, match="none.pftrace"):
        timebase.connect(tmp_path / "none.pftrace")
    with pytest.raises(timebase.ImportFailed, match="is a directory"):
        timebase.connect(tmp_path)
    with pytest.raises(ValueError, match="functions must be 'auto', 'extension' or 'python', not 'C'"):
        timebase.connect(MULTIHOP, functions="C")
    with pytest.raises(TypeError, match="factory"):
        timebase.connect(MULTIHOP, factory=sqlite3.Connection)
    assert "trace" not in str(list(tmp_path.iterdir()))


# Import


def test_import_says_where_the_database_is(tmp_path):
    for name in ("a.pftrace", "b.pftrace.gz", "c"):
        (tmp_path / name).write_bytes(MULTIHOP.read_bytes())
        assert timebase.import_trace(tmp_path / name) == tmp_path / (name[0] + ".db")
        assert (tmp_path / (name[0] + ".db")).exists()


def test_import_fails_with_the_programs_words(tmp_path, database):
    with pytest.raises(timebase.ImportFailed, match="multihop.db exists"):
        timebase.import_trace(MULTIHOP, database)
    timebase.import_trace(MULTIHOP, database, force=True)
    with pytest.raises(timebase.ImportFailed, match="^cannot open .*none: No such file"):
        timebase.import_trace(tmp_path / "none", tmp_path / "none.db")
    with pytest.raises(timebase.ImportFailed, match="multihop.db"):
        timebase.import_trace(io.BytesIO(b"x" * 10_000_000), tmp_path / "multihop.db")
    with pytest.raises(TypeError, match="db is needed"):
        timebase.import_trace(io.BytesIO(b""))
    with pytest.raises(TypeError, match="trace must be a path, a file object, or a list of them, not int"):
        timebase.import_trace(5, tmp_path / "x.db")
    assert not (tmp_path / "x.db").exists()


def test_an_import_takes_no_more_than_it_may(tmp_path):
    trace = DATA / "system.pftrace"
    too_large = r"more than 1MB of disk, .* Raise the limit with max_size=, or import less with data=False or tables=$"
    with pytest.raises(timebase.ImportFailed, match=too_large):
        timebase.import_trace(trace, tmp_path / "small.db", max_size="1M")
    with pytest.raises(timebase.ImportFailed, match="more than 1MB of disk"):
        timebase.import_trace(trace, tmp_path / "small.db", max_size=1_000_000)
    with pytest.raises(timebase.ImportFailed, match="for max_size: a size is a number of bytes"):
        timebase.import_trace(trace, tmp_path / "small.db", max_size="large")
    with pytest.raises(timebase.ImportFailed, match="more than 1KB of memory, .* raise the limit with max_memory="):
        timebase.import_trace(trace, tmp_path / "small.db", max_memory="1K")
    assert not list(tmp_path.iterdir())
    timebase.import_trace(trace, tmp_path / "small.db", max_size="20M", max_memory="1G")


def test_a_damaged_trace_is_a_warning_or_with_strict_an_error(tmp_path):
    cut = io.BytesIO((DATA / "sdk.pftrace").read_bytes()[:50_000])
    with pytest.warns(timebase.TraceWarning, match="ends inside the packet that starts at byte"):
        database = timebase.import_trace(cut, tmp_path / "cut.db")
    with closing(sqlite3.connect(database)) as plain:
        assert ask(plain, "SELECT count(*) FROM packet") == 1955
    cut.seek(0)
    with pytest.raises(timebase.ImportFailed, match="ends inside the packet"):
        timebase.import_trace(cut, tmp_path / "strict.db", strict=True)


def test_a_stream_that_fails_leaves_nothing_behind(tmp_path):
    class Fails(io.RawIOBase):
        def read(self, size=-1):
            raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        timebase.import_trace(Fails(), tmp_path / "none.db")
    assert list(tmp_path.iterdir()) == []


def test_what_is_left_out(tmp_path):
    database = timebase.import_trace(DATA / "late-frame.pftrace", tmp_path / "a.db", data=False, events=False)
    with closing(sqlite3.connect(database)) as plain:
        counts = "SELECT (SELECT count(data) FROM packet), (SELECT count(*) FROM ftrace_event)"
        assert plain.execute(counts).fetchone() == (0, 0)
    extended = timebase.import_trace(
        DATA / "extension-undescribed.pftrace", tmp_path / "b.db", descriptors=[DATA / "extension.descriptor"]
    )
    with closing(sqlite3.connect(extended)) as plain:
        assert ask(plain, "SELECT count(*) FROM descriptor") == 1


TABLES = ["ftrace_event", "thread", "sched", "thread_state", "slice", "counter"]


@pytest.mark.parametrize(
    "named, filled",
    [
        (None, TABLES),
        ([], []),
        (["ftrace_event"], ["ftrace_event"]),
        (["thread"], ["thread"]),
        (("sched",), ["thread", "sched", "thread_state"]),
        (iter(["slice", "counter"]), ["thread", "slice", "counter"]),
    ],
)
def test_only_the_tables_that_are_named_have_rows(named, filled, tmp_path):
    database = timebase.import_trace(DATA / "system.pftrace", tmp_path / "a.db", tables=named)
    with closing(sqlite3.connect(database)) as plain:
        assert [table for table in TABLES if ask(plain, f"SELECT EXISTS (SELECT * FROM {table})")] == filled
        assert ask(plain, "SELECT count(*) FROM packet") > 0


def test_tables_that_cannot_be_chosen_are_told(tmp_path):
    def imported(**arguments):
        return timebase.import_trace(DATA / "system.pftrace", tmp_path / "a.db", **arguments)

    with pytest.raises(timebase.ImportFailed, match="there is no 'scheds' to choose: they are .*, counter, stack_sample$"):
        imported(tables=["counter", "scheds"])
    with pytest.raises(TypeError, match="tables must be a list of names, such as .'sched'., not a str"):
        imported(tables="sched")
    with pytest.raises(ValueError, match="tables and events=False cannot both be given"):
        imported(tables=["sched"], events=False)
    assert list(tmp_path.iterdir()) == []


# pandas


def test_read_sql_keeps_integers_exact(connect, database):
    pandas = pytest.importorskip("pandas")
    exact = 1_795_228_849_078_881_529
    sql = f"SELECT {exact} AS ts, 'a' AS text, 1.5 AS real, NULL AS no_value, ? AS given UNION ALL SELECT NULL, NULL, 2, NULL, 7"
    with closing(connect(database)) as trace:
        frame = timebase.read_sql(sql, trace, (3,))
        assert list(frame.columns) == ["ts", "text", "real", "no_value", "given"]
        assert frame.ts.dtype == "Int64" and frame.ts[0] == exact and frame.ts[1] is pandas.NA
        assert frame.given.dtype == "int64" and frame.real.dtype == "float64"
        assert timebase.read_sql("SELECT to_boottime(64, 2, :ts) AS x", trace, {"ts": 3503}).x[0] == 7703
        none = timebase.read_sql("SELECT ts, id FROM packet WHERE id < 0", trace)
        assert list(none.columns) == ["ts", "id"] and len(none) == 0
        twice = timebase.read_sql("SELECT 1 AS x, 2 AS x", trace)
        assert list(twice.columns) == ["x", "x"] and twice.iloc[0].tolist() == [1, 2]
        trace.row_factory = sqlite3.Row
        assert timebase.read_sql("SELECT 1 AS x", trace).x[0] == 1


def test_read_sql_takes_what_connect_takes(database):
    pytest.importorskip("pandas")
    for source in (database, str(database), MULTIHOP, io.BytesIO(MULTIHOP.read_bytes())):
        assert timebase.read_sql("SELECT to_boottime(64, 2, 3503) AS x", source).x[0] == 7703


def test_read_sql_says_that_it_needs_pandas(database, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ModuleNotFoundError, match="pip install pandas"):
        timebase.read_sql("SELECT 1", database)
