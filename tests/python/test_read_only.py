"""A newcomer's statements do not change a database by accident, whatever its name is."""

import os
import pathlib
import re
import shutil
import sqlite3
import sys
import threading
import warnings
from contextlib import closing

import pytest
import timebase
from conftest import DATA
from timebase import _connection

MULTIHOP = DATA / "multihop.pftrace"
REFUSED = "attempt to write a readonly database"
HINT = f"{REFUSED}; timebase.connect(..., write=True) opens it for writing"


@pytest.fixture(params=["extension", "python"])
def connect(request):
    return lambda *arguments, **named: timebase.connect(*arguments, functions=request.param, **named)


@pytest.fixture
def database(tmp_path):
    return timebase.import_trace(MULTIHOP, tmp_path / "multihop.db")


def packets(database):
    with closing(sqlite3.connect(database)) as plain:
        return plain.execute("SELECT count(*) FROM packet").fetchone()[0]


WRITES = [
    "DELETE FROM packet_record",
    "UPDATE packet_record SET ts = 0 RETURNING id",
    "DROP TABLE packet_record",
    "CREATE TABLE mine AS SELECT 1",
    "CREATE INDEX mine ON packet_record (ts)",
    "INSERT INTO import_log (severity, code, message) VALUES ('info', 'x', 'x')",
    "VACUUM",
]


@pytest.mark.parametrize("statement", WRITES)
def test_a_statement_that_writes_is_refused_and_says_how_to_write(connect, database, statement):
    before = database.read_bytes()
    with closing(connect(database)) as trace:
        ways = [trace.execute, trace.executescript, trace.cursor().execute, trace.cursor().executescript]
        for way in ways:
            trace.rollback()
            with pytest.raises(sqlite3.OperationalError) as error:
                way(statement)
            assert str(error.value) == HINT
            if sys.version_info >= (3, 11):
                assert error.value.sqlite_errorname == "SQLITE_READONLY"
    assert database.read_bytes() == before


def test_many_at_once_are_refused_alike(connect, database):
    with closing(connect(database)) as trace:
        for way in (trace.executemany, trace.cursor().executemany):
            with pytest.raises(sqlite3.OperationalError, match=re.escape(HINT)):
                way("DELETE FROM packet_record WHERE id = ?", [(1,), (2,)])


def test_who_asks_to_write_can_and_learns_how_much_changed(connect, database):
    count = packets(database)
    with closing(connect(database, write=True)) as trace:
        trace.execute("DELETE FROM packet_record")
        assert trace.total_changes == count
        trace.commit()
    assert packets(database) == 0


def test_tables_and_views_of_ones_own_are_temporary_or_elsewhere(connect, database, tmp_path):
    with closing(connect(database)) as trace:
        trace.execute("CREATE TEMP TABLE first AS SELECT * FROM packet LIMIT 1")
        trace.execute("CREATE TEMP VIEW again AS SELECT to_boottime(64, 2, 3503) AS ts FROM first")
        assert trace.execute("SELECT ts FROM again").fetchone() == (7703,)
        trace.execute("UPDATE first SET ts = 1")
        trace.commit()
        trace.execute("ATTACH ? AS kept", [os.fspath(tmp_path / "kept.db")])
        trace.execute("CREATE TABLE kept.first AS SELECT * FROM first")
        trace.commit()
    with closing(sqlite3.connect(tmp_path / "kept.db")) as kept:
        assert kept.execute("SELECT ts FROM first").fetchone() == (1,)


def test_the_database_of_a_trace_is_read_only_and_says_what_stays(connect):
    with closing(connect(MULTIHOP)) as trace:
        with pytest.raises(sqlite3.OperationalError) as error:
            trace.execute("DELETE FROM packet_record")
        assert str(error.value) == f"{REFUSED}; it is temporary, made of a trace; timebase.import_trace() makes one that stays"
        trace.execute("CREATE TEMP TABLE mine AS SELECT 1")
    with pytest.raises(ValueError, match="write=True is for databases: .* would be lost; timebase.import_trace.. makes"):
        connect(MULTIHOP, write=True)


def test_read_sql_cannot_write(database):
    pytest.importorskip("pandas")
    count = packets(database)
    with pytest.raises(sqlite3.OperationalError, match=re.escape(HINT)):
        timebase.read_sql("DELETE FROM packet_record RETURNING id", database)
    assert packets(database) == count


def test_in_memory_is_as_ever(connect):
    for given in (":memory:", "file::memory:", "file:", "file:shared?mode=memory&cache=shared"):
        with closing(connect(given, uri=True)) as connection:
            connection.execute("CREATE TABLE t (x)")
    with closing(connect(":memory:")) as connection:
        connection.execute("CREATE TABLE t (x)")


def test_a_database_that_timebase_did_not_make_is_opened_with_a_warning(connect, tmp_path):
    foreign = tmp_path / "foreign.db"
    with closing(sqlite3.connect(foreign)) as plain:
        plain.execute("CREATE TABLE t (x)")
    for write in (False, True):
        with pytest.warns(timebase.TraceWarning, match="foreign.db is a SQLite database, but timebase did not make it"):
            with closing(connect(foreign, write=write)) as connection:
                assert connection.execute("SELECT count(*) FROM t").fetchone() == (0,)
    ours = timebase.import_trace(MULTIHOP, tmp_path / "ours.db")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        connect(ours).close()
        connect(":memory:").close()


NAMES = [
    "what?.db", "what?mode=rwc", "50%.db", "%41.db", "a#b.db", "a b&c=d.db", "ä€😀.db", "file:x.db", "-o", "'\";.db", "a:b.db", "+.db",
    "..db", "~.db",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_database_may_have_any_name(connect, database, name, tmp_path, monkeypatch):
    directory = tmp_path / name
    directory.mkdir()
    shutil.copy(database, directory / name)
    monkeypatch.chdir(directory)
    # A name that begins like a URI is still a path, unless URIs were requested.
    for given in (name, directory / name, pathlib.Path(name)):
        with closing(connect(given)) as trace:
            assert trace.execute("SELECT to_boottime(64, 2, 3503)").fetchone() == (7703,)
            with pytest.raises(sqlite3.OperationalError, match=re.escape(HINT)):
                trace.execute("DELETE FROM packet_record")
    assert os.listdir(directory) == [name]


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="names of files are Unicode there")
def test_even_one_that_is_no_text(connect, database, tmp_path):
    name = os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe.db")
    shutil.copy(database, name)
    with closing(connect(name)) as trace:
        assert trace.execute("SELECT count(*) FROM packet").fetchone()[0] > 0


def test_behind_a_link_two_dots_are_where_the_link_leads(connect, database, tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "a" / "b")
    shutil.copy(database, tmp_path / "a" / "there.db")
    with closing(connect(tmp_path / "link" / ".." / "there.db")) as trace:
        assert trace.execute("SELECT count(*) FROM packet").fetchone()[0] > 0


@pytest.mark.parametrize(
    "path, uri",
    [
        ("C:\\traces\\50% #1.db", "file:///C:/traces/50%25%20%231.db"),
        ("\\\\server\\share\\a?.db", "file:////server/share/a%3F.db"),
    ],
)
def test_drives_of_windows(monkeypatch, path, uri):
    monkeypatch.setattr(_connection, "Path", pathlib.PureWindowsPath)
    monkeypatch.setattr(pathlib.PureWindowsPath, "absolute", lambda self: self, raising=False)
    assert _connection._uri_of_path(path) == uri


def test_a_uri_is_read_only_unless_it_says_otherwise(connect, database):
    uri = database.as_uri()
    for given in (uri, uri + "?cache=private", uri + "?cache=private#mode=rw", uri + "#x", uri + "?"):
        with closing(connect(given, uri=True)) as trace:
            with pytest.raises(sqlite3.OperationalError, match=re.escape(HINT)):
                trace.execute("DELETE FROM packet_record")
    for given in (uri + "?mode=rw", uri + "?%6dode=rwc"):
        with closing(connect(given, uri=True)) as trace:
            trace.execute("DELETE FROM packet_record")
    with closing(connect(uri + "?mode=ro", uri=True, write=True)) as trace:
        with pytest.raises(sqlite3.OperationalError, match=f"{REFUSED}$"):
            trace.execute("DELETE FROM packet_record")
    with closing(connect(database, uri=True)) as trace:
        with pytest.raises(sqlite3.OperationalError, match=re.escape(HINT)):
            trace.execute("DELETE FROM packet_record")
    assert packets(database) > 0


def test_a_trace_is_one_also_where_uris_are_asked_for(connect):
    with closing(connect(MULTIHOP, uri=True)) as trace:
        assert trace.execute("SELECT to_boottime(64, 2, 3503)").fetchone() == (7703,)


def test_readers_see_what_a_writer_commits(connect, database):
    with closing(connect(database)) as reader, closing(connect(database, write=True)) as writer:
        before = reader.execute("SELECT count(*) FROM packet").fetchone()[0]
        writer.execute("DELETE FROM packet_record")
        assert reader.execute("SELECT count(*) FROM packet").fetchone()[0] == before
        writer.commit()
        assert reader.execute("SELECT count(*) FROM packet").fetchone()[0] == 0


def test_the_pool_of_an_engine_reads_in_its_own_threads(database):
    sqlalchemy = pytest.importorskip("sqlalchemy")
    engine = sqlalchemy.create_engine("sqlite://", creator=lambda: timebase.connect(database, check_same_thread=False))
    answers = []

    def ask():
        with engine.connect() as trace:
            answers.append(trace.execute(sqlalchemy.text("SELECT to_boottime(64, 2, 3503)")).scalar())

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert answers == [7703]
    with engine.connect() as trace, pytest.raises(sqlalchemy.exc.OperationalError, match="write=True"):
        trace.execute(sqlalchemy.text("DELETE FROM packet_record"))
    engine.dispose()
