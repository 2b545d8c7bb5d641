"""Databases of strangers in Python: views that call forbidden functions, and endless queries."""

import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
from contextlib import closing

import pytest
import timebase
from conftest import DATA
from timebase import _connection


@pytest.fixture(params=["extension", "python"])
def connect(request):
    return lambda *arguments, **named: timebase.connect(*arguments, functions=request.param, **named)


@pytest.fixture
def craft(tmp_path):
    def crafted(sql):
        database = timebase.import_trace(DATA / "multihop.pftrace", tmp_path / "crafted.db", force=True)
        with closing(sqlite3.connect(database)) as plain:
            plain.executescript(sql)
        return database

    return crafted


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n)"

#: Endless rows.
NO_READINGS = f"""
    DROP TABLE clock_snapshot;
    CREATE VIEW clock_snapshot AS {ENDLESS}
    SELECT i AS id, 0 AS ts, 3 AS clock_id, i AS clock_value, i AS snapshot_id, 0 AS machine_id, 0 AS seq_id,
      1 AS unit_multiplier_ns, 0 AS is_incremental, 'service' AS source, NULL AS trace_file_id
    FROM n WHERE i % 2 = 7;
"""


@pytest.mark.skipif(not _connection._views_can_be_distrusted(), reason="this SQLite distrusts what its own JSON does")
def test_a_view_calls_no_function_of_the_user(connect, craft):
    database = craft("CREATE VIEW v AS SELECT shell('rm -rf ~') AS x")
    called = []
    with closing(connect(database)) as trace:
        trace.create_function("shell", 1, called.append)
        with pytest.raises(sqlite3.OperationalError, match="unsafe use of shell"):
            trace.execute("SELECT * FROM v").fetchall()
        trace.execute("SELECT shell('echo')").fetchall()
    assert called == ["echo"]


def test_views_of_the_database_work(connect, craft):
    with closing(connect(craft(""))) as trace:
        views = [name for (name,) in trace.execute("SELECT name FROM sqlite_schema WHERE type = 'view'")]
        assert len(views) > 30
        for view in views:
            trace.execute(f'SELECT * FROM "{view}" LIMIT 10').fetchall()


def test_a_view_that_calls_the_function_that_reads_it_is_an_error(craft):
    database = craft(
        """DROP TABLE clock_snapshot;
        CREATE VIEW clock_snapshot AS SELECT 0 AS id, 0 AS ts, 3 AS clock_id, to_boottime(3, 0, 5) AS clock_value,
          0 AS snapshot_id, 0 AS machine_id, 0 AS seq_id, 1 AS unit_multiplier_ns, 0 AS is_incremental, 'service' AS source, NULL AS trace_file_id"""
    )
    for functions in ("extension", "python"):
        with closing(timebase.connect(database, functions=functions)) as trace:
            with pytest.raises(sqlite3.OperationalError, match="without the call|unsafe use of"):
                trace.execute("SELECT to_boottime(3, 0, 5)").fetchall()


def test_wrong_values_are_named(connect, craft):
    with closing(connect(craft("UPDATE clock_snapshot SET clock_value = 'now' WHERE id = 3"))) as trace:
        with pytest.raises(sqlite3.OperationalError, match="clock_value must be an integer, not the text 'now'"):
            trace.execute("SELECT to_boottime(3, 0, 5)").fetchall()


@pytest.mark.skipif(sys.version_info < (3, 11), reason="sqlite3 sets no limits before")
def test_statements_are_bounded_where_nobody_writes(connect, craft):
    database = craft("")
    with closing(connect(database)) as trace:
        for sql in ["SELECT zeroblob(536870913)", "SELECT 'a' LIKE printf('%.*c', 1001, '_')"]:
            with pytest.raises(sqlite3.Error, match="too big|too complex"):
                trace.execute(sql).fetchall()
    with closing(connect(database, write=True)) as trace:
        assert trace.execute("SELECT 'a' LIKE printf('%.*c', 1001, '_')").fetchone() == (0,)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sqlite3 does not set these before")
def test_defences_are_on_where_nobody_writes(connect, craft):
    database = craft("")
    with closing(connect(database)) as trace:
        assert trace.getconfig(sqlite3.SQLITE_DBCONFIG_DEFENSIVE)
        assert not trace.getconfig(sqlite3.SQLITE_DBCONFIG_ENABLE_TRIGGER)
    with closing(connect(database, write=True)) as trace:
        assert not trace.getconfig(sqlite3.SQLITE_DBCONFIG_DEFENSIVE)


def test_a_journal_of_a_change_that_was_not_completed_is_told(connect, tmp_path):
    database = timebase.import_trace(DATA / "multihop.pftrace", tmp_path / "whole.db")
    half = tmp_path / "half.db"
    with closing(sqlite3.connect(database, isolation_level=None)) as plain:
        plain.executescript(
            f"""PRAGMA cache_size = 2; BEGIN; UPDATE packet_common SET uid = 4711;
            CREATE TABLE t AS {ENDLESS} SELECT i, randomblob(500) FROM n LIMIT 3000"""
        )
        for end in ("", "-journal"):
            (tmp_path / f"half.db{end}").write_bytes((tmp_path / f"whole.db{end}").read_bytes())
    before = half.read_bytes()
    with pytest.raises(sqlite3.OperationalError) as error:
        with closing(connect(half)) as trace:
            trace.execute("SELECT count(*) FROM packet")
    if sys.version_info >= (3, 11):
        assert "a journal beside it holds an incomplete change" in str(error.value)
    assert half.read_bytes() == before


@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C is no signal there")
@pytest.mark.parametrize("functions", ["extension", "python"])
@pytest.mark.parametrize(
    "ask",
    [
        f'trace.execute("{ENDLESS} SELECT count(*) FROM n")',
        f'trace.execute("{ENDLESS} SELECT i FROM n WHERE i = 0 OR i % 2 = 7").fetchall()',
        f'trace.cursor().execute("{ENDLESS} SELECT i FROM n WHERE i % 2 = 7").fetchone()',
        'trace.execute("SELECT to_boottime(3, 0, 5)")',
        'timebase.read_sql("SELECT to_boottime(3, 0, 5)", trace)',
    ],
)
def test_ctrl_c_ends_what_has_no_end(craft, functions, ask):
    if "read_sql" in ask:
        pytest.importorskip("pandas")
    program = f"""
        import signal, sys, timebase
        signal.signal(signal.SIGINT, signal.default_int_handler)
        trace = timebase.connect(sys.argv[1], functions={functions!r})
        trace.execute("SELECT 1").fetchall()
        print("asks", flush=True)
        try:
            {ask}
        except KeyboardInterrupt:
            # It goes on from there.
            print(trace.execute("SELECT 1 + 1").fetchone())
    """
    command = [sys.executable, "-c", textwrap.dedent(program), os.fspath(craft(NO_READINGS))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "asks\n", process.stderr.read()
        while process.poll() is None:
            # Until the program is inside SQLite, a signal ends it as it should.
            try:
                process.wait(1)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGINT)
                break
        said, error = process.communicate(timeout=300)
    assert (said, error) == ("(2,)\n", "")


def test_interrupt_from_another_thread_is_an_error_of_sql(connect, craft):
    import threading

    with closing(connect(craft(""), check_same_thread=False)) as trace:
        timer = threading.Timer(0.5, trace.interrupt)
        timer.start()
        with pytest.raises(sqlite3.OperationalError, match="interrupted"):
            trace.execute(f"{ENDLESS} SELECT count(*) FROM n").fetchall()
        timer.join()
        assert trace.execute("SELECT 2").fetchone() == (2,)
