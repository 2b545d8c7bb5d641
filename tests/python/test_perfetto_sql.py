"""`Connection.perfetto_sql`, with modules of its own (docs/rules/perfettosql.md)."""

import gc
import os
import re
import sqlite3
import subprocess
import sys
import threading
import warnings
import weakref
from contextlib import closing
from pathlib import Path

import pandas
import pytest
import timebase
from conftest import DATA, REPOSITORY
from timebase import _extension

APP = DATA / "app.pftrace"
ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT sum(x) AS x FROM n"

MODULES = {
    "own/long.sql": """-- Slices of a millisecond and more.
CREATE PERFETTO FUNCTION ms(ns LONG) RETURNS DOUBLE AS SELECT $ns / 1e6;
CREATE PERFETTO TABLE long_slice AS SELECT id, name, ms(dur) AS ms FROM slice WHERE dur >= 1000000;
CREATE PERFETTO MACRO longest(column ColumnName) RETURNS Expr AS max($column);
""",
    "own/wrong.sql": "INCLUDE PERFETTO MODULE own.long;\nCREATE PERFETTO TABLE t AS\nSELECT missing FROM long_slice;\n",
    "own/endless.sql": f"CREATE PERFETTO TABLE endless AS {ENDLESS}",
}


@pytest.fixture(autouse=True)
def without_packages(monkeypatch):
    monkeypatch.delenv("TIMEBASE_SQL_PACKAGES", raising=False)


@pytest.fixture
def packages(tmp_path):
    return write(tmp_path / "packages", MODULES)


def write(folder, modules):
    for name, text in modules.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    return timebase.import_trace(APP, tmp_path_factory.mktemp("app") / "app.db")


@pytest.fixture(params=["load_extension", "auto_extension"])
def trace(request, database, monkeypatch):
    """A trace, with the extension registered in each way on a connection of Python's own sqlite3."""
    if request.param == "load_extension" and not _extension.python_can_load():
        pytest.skip("this Python was built without extension loading")
    monkeypatch.setattr(_extension, "python_can_load", lambda: request.param == "load_extension")
    with closing(timebase.connect(database, functions="extension")) as connection:
        yield connection


@pytest.fixture
def one(database):
    with closing(timebase.connect(database)) as connection:
        yield connection


def refusal(call, *arguments, **named):
    with pytest.raises(sqlite3.OperationalError) as error:
        call(*arguments, **named)
    return str(error.value)


def test_pq1_it_runs_a_script_and_returns_the_last_rows(trace, packages):
    script = "INCLUDE PERFETTO MODULE own.long; SELECT longest!(ms) AS ms, typeof(ms) FROM long_slice"
    cursor = trace.perfetto_sql(script, packages=[packages])
    assert [column[0] for column in cursor.description] == ["ms", "typeof(ms)"]
    assert cursor.fetchall() == [(28.77915, "real")]
    assert cursor.connection is trace
    # The same by plain SQL, from the database's table.
    assert trace.execute("SELECT max(dur) / 1e6 FROM main.slice").fetchone() == (28.77915,)


def test_what_is_made_stays_for_the_connection_and_nowhere_else(trace, packages, database):
    before = database.read_bytes()
    trace.perfetto_sql("INCLUDE PERFETTO MODULE own.long; CREATE PERFETTO VIEW v AS SELECT ms(2500000) AS x", packages=[packages])
    expected = trace.execute("SELECT count(*) FROM main.slice WHERE dur >= 1000000").fetchone()
    assert trace.execute("SELECT count(*) FROM long_slice").fetchone() == expected
    assert trace.execute("SELECT x, ms(500000) FROM v").fetchone() == (2.5, 0.5)
    assert trace.execute("SELECT count(*) FROM temp.sqlite_schema WHERE name IN ('v', 'long_slice')").fetchone() == (2,)
    assert trace.perfetto_sql("SELECT longest!(x) FROM v").fetchone() == (2.5,)
    with closing(timebase.connect(database)) as other:
        assert "no such table: long_slice" in refusal(other.execute, "SELECT * FROM long_slice")
    assert database.read_bytes() == before


def test_a_script_without_rows_has_a_cursor_without_rows(trace):
    for script in ("", "-- nothing", "CREATE OR REPLACE PERFETTO TABLE t AS SELECT 1 AS x", "CREATE TEMP TABLE u (x); DELETE FROM u"):
        cursor = trace.perfetto_sql(script)
        assert (cursor.fetchone(), cursor.fetchall(), list(cursor), cursor.description) == (None, [], [], None), script
    assert trace.execute("SELECT x FROM t").fetchall() == [(1,)]


def test_rows_may_come_before_the_end_of_the_script(trace):
    script = "SELECT 1 AS x UNION ALL SELECT 2; CREATE OR REPLACE PERFETTO VIEW v AS SELECT 1 AS y"
    first = trace.perfetto_sql(script)
    assert first.fetchone() == (1,)
    # While the first rows are being read, the same statement runs again.
    assert trace.perfetto_sql(script).fetchall() == [(1,), (2,)]
    assert first.fetchall() == [(2,)]
    assert trace.perfetto_sql(script).fetchall() == [(1,), (2,)]
    script = "CREATE PERFETTO TABLE t AS SELECT 7 AS x; SELECT x FROM t; DROP PERFETTO TABLE t"
    for _ in range(2):
        assert trace.perfetto_sql(script).fetchall() == [(7,)]
    assert trace.perfetto_sql("PRAGMA user_version; CREATE TEMP TABLE after (x)").fetchall() == []


def test_pq11_a_table_is_replaced_when_its_cursor_has_no_more_rows(trace):
    script = "CREATE OR REPLACE PERFETTO TABLE t AS SELECT 1 AS x UNION ALL SELECT 2; SELECT x FROM t"
    reading = trace.perfetto_sql(script)
    # Newer versions of SQLite replace it nevertheless.
    for again in (script, "DROP PERFETTO TABLE t"):
        try:
            trace.perfetto_sql(again)
        except sqlite3.OperationalError as error:
            said = str(error)
            assert "cannot be replaced while" in said or "cannot be dropped while" in said
            assert "of this connection runs; fetch the rest of its rows, or close its cursor\n  line 1, column " in said
    reading.close()
    assert trace.perfetto_sql(script).fetchall() == [(1,), (2,)]


def test_a_script_can_run_again(trace, packages):
    script = "INCLUDE PERFETTO MODULE own.long; CREATE OR REPLACE PERFETTO TABLE t AS SELECT max(ms) AS ms FROM long_slice; SELECT ms FROM t"
    for _ in range(3):
        assert trace.perfetto_sql(script, packages=[packages]).fetchall() == [(28.77915,)]


def test_values_keep_their_types(trace):
    script = "CREATE PERFETTO TABLE t AS SELECT x'00ff' AS b, 'é\n' AS s, NULL AS n, 9223372036854775807 AS i, 0.5 AS r; SELECT * FROM t"
    assert trace.perfetto_sql(script).fetchone() == (b"\x00\xff", "é\n", None, 2**63 - 1, 0.5)


def test_parameters_are_those_of_the_last_statement(trace):
    script = "CREATE OR REPLACE PERFETTO MACRO twice(x Expr) RETURNS Expr AS 2 * $x; SELECT twice!(:n), $s, @b"
    values = {"n": 21, "s": "it's", "b": b"\0"}
    assert trace.perfetto_sql(script, values).fetchone() == (42, "it's", b"\0")
    assert trace.perfetto_sql("SELECT ?, twice!(?)", [None, 4]).fetchone() == (None, 8)
    with pytest.raises(sqlite3.ProgrammingError, match="binding|bindings"):
        trace.perfetto_sql("SELECT twice!(?)")
    with pytest.raises(sqlite3.ProgrammingError, match="the script has parameters, but no statement with rows"):
        trace.perfetto_sql("CREATE TEMP TABLE t (x)", [1])
    for script in ("CREATE TEMP TABLE u AS SELECT ? AS x", "SELECT :n; CREATE TEMP TABLE u (x)", "CREATE PERFETTO TABLE u AS SELECT :n AS x"):
        assert re.search(r"(\?|:n) has no value", refusal(trace.perfetto_sql, script, {"n": 1})), script


@pytest.mark.parametrize("given", ["str", "path", "list", "tuple", "iterator", "relative"])
def test_pq2_packages_are_given_in_any_form(one, packages, given, monkeypatch):
    monkeypatch.chdir(packages.parent)
    forms = {
        "str": str(packages),
        "path": packages,
        "list": [str(packages)],
        "tuple": (packages,),
        "iterator": iter([packages]),
        "relative": Path("packages"),
    }
    script = "INCLUDE PERFETTO MODULE own.long; SELECT ms(1000)"
    assert one.perfetto_sql(script, packages=forms[given]).fetchone() == (0.001,)


def test_pq2_a_folder_can_get_a_name(one, packages, tmp_path, monkeypatch):
    script = "INCLUDE PERFETTO MODULE mine.long; SELECT ms(1000)"
    assert one.perfetto_sql(script, packages=[f"mine={packages / 'own'}"]).fetchone() == (0.001,)
    # A path always names a folder, whatever characters it contains.
    write(tmp_path / "x=y", {"odd/m.sql": "CREATE PERFETTO TABLE odd AS SELECT 7 AS x"})
    monkeypatch.chdir(tmp_path)
    assert one.perfetto_sql("INCLUDE PERFETTO MODULE odd.m; SELECT x FROM odd", packages=Path("x=y")).fetchone() == (7,)


def test_pq2_the_first_folder_that_has_a_module_counts_and_the_environments_come_last(one, packages, tmp_path, monkeypatch):
    other = write(tmp_path / "other", {"own/long.sql": "CREATE PERFETTO TABLE long_slice AS SELECT 'other' AS name", "more/m.sql": ""})
    monkeypatch.setenv("TIMEBASE_SQL_PACKAGES", os.pathsep.join([str(other), ""]))
    script = "INCLUDE PERFETTO MODULE own.long; INCLUDE PERFETTO MODULE more.m; SELECT ms(1000)"
    assert one.perfetto_sql(script, packages=[packages]).fetchone() == (0.001,)


def test_pq2_the_environment_alone_is_enough(one, packages, monkeypatch):
    monkeypatch.setenv("TIMEBASE_SQL_PACKAGES", str(packages))
    assert one.perfetto_sql("INCLUDE PERFETTO MODULE own.long; SELECT ms(1000)").fetchone() == (0.001,)


def test_the_connection_keeps_its_folders(one, packages):
    one.perfetto_sql("SELECT 1", packages=[packages])
    assert one.perfetto_sql("INCLUDE PERFETTO MODULE own.long; SELECT ms(1000)").fetchone() == (0.001,)


def test_wrong_arguments_are_named(one, packages, tmp_path):
    with pytest.raises(TypeError, match="^script must be a str, not bytes$"):
        one.perfetto_sql(b"SELECT 1")
    with pytest.raises(TypeError, match="^each of packages must be a str or a path, not bytes$"):
        one.perfetto_sql("SELECT 1", packages=[bytes(packages)])
    with pytest.raises(ValueError, match="^the folder '' of packages has no name$"):
        one.perfetto_sql("SELECT 1", packages="")
    apart = f"{tmp_path}{os.pathsep}x"
    with pytest.raises(ValueError, match=f"has '{os.pathsep}' in its name, which separates folders; give a link to it$"):
        one.perfetto_sql("SELECT 1", packages=[apart])
    missing = tmp_path / "missing"
    assert refusal(one.perfetto_sql, "SELECT 1", packages=[missing]).startswith(f"cannot read the SQL package {missing}: ")
    file = packages / "own" / "long.sql"
    expected = f"the SQL package {file} is no folder; name the folder with the .sql files"
    assert refusal(one.perfetto_sql, "SELECT 1", packages=[file]) == expected


# Errors


def test_an_error_names_the_module_its_line_and_column(trace, packages):
    script = "SELECT 1;\nINCLUDE PERFETTO MODULE own.wrong"
    expected = "no such column: missing\n  own.wrong, line 3, column 8: SELECT missing FROM long_slice;\n  included at line 2, column 1"
    assert refusal(trace.perfetto_sql, script, packages=[packages]) == expected
    # Nothing of the module remains.
    assert "no such table: long_slice" in refusal(trace.perfetto_sql, "SELECT * FROM long_slice")
    script = "CREATE PERFETTO MACRO m() RETURNS Expr AS\n missing;\nSELECT m!()"
    expected = "no such column: missing\n  line 2, column 2: missing;\n  through the macro m!, called at line 3, column 8"
    assert refusal(trace.perfetto_sql, script) == expected


def test_a_missing_module_says_what_to_do_in_pythons_words(one, packages):
    said = refusal(one.perfetto_sql, "INCLUDE PERFETTO MODULE slices.none")
    how = "Name the folder that has it in packages=[…], or in the variable TIMEBASE_SQL_PACKAGES; Perfetto's modules are in "
    assert said.startswith(f"no such module: slices.none. {how}")
    assert said.endswith("\n  line 1, column 1: INCLUDE PERFETTO MODULE slices.none")
    said = refusal(one.perfetto_sql, "INCLUDE PERFETTO MODULE slices.none", packages=packages)
    assert said.startswith(f"no such module: slices.none; these folders do not have it: {packages}. {how}")
    assert "--" not in said


def test_writing_is_refused_as_by_any_statement(one):
    hint = "attempt to write a readonly database; timebase.connect(..., write=True) opens it for writing"
    assert refusal(one.perfetto_sql, "SELECT 1;\n DELETE FROM packet_record").startswith(f"{hint}\n  line 2, column 2: ")
    assert refusal(one.perfetto_sql, "DELETE FROM packet_record RETURNING id").startswith(hint)


def test_what_was_asked_for_can_be_written(tmp_path):
    database = timebase.import_trace(DATA / "multihop.pftrace", tmp_path / "x.db")
    with closing(timebase.connect(database, write=True)) as trace:
        assert trace.perfetto_sql("DELETE FROM import_log; CREATE TABLE mine AS SELECT 1 AS x; SELECT x FROM mine").fetchall() == [(1,)]
        trace.commit()
    with closing(sqlite3.connect(database)) as plain:
        assert plain.execute("SELECT x FROM mine").fetchall() == [(1,)]


def test_without_the_extension_it_says_so(database):
    with closing(timebase.connect(database, functions="python")) as trace:
        said = "PerfettoSQL needs the extension, which is not loaded; `timebase query` runs it"
        assert refusal(trace.perfetto_sql, "SELECT 1") == said
        assert list(timebase.read_sql("SELECT 'perfetto!' AS x", trace).x) == ["perfetto!"]


def test_a_closed_connection_is_refused(database):
    trace = timebase.connect(database)
    trace.close()
    with pytest.raises(sqlite3.ProgrammingError, match="closed database"):
        trace.perfetto_sql("SELECT 1")


# Perfetto's own modules


def test_all_of_perfettos_modules_load_in_pythons_sqlite_but_for_those_that_the_page_names(one):
    if "TIMEBASE_PERFETTO" not in os.environ:
        pytest.skip("TIMEBASE_PERFETTO does not name a checkout of Perfetto")
    library = Path(os.environ["TIMEBASE_PERFETTO"], "src/trace_processor/perfetto_sql/stdlib")
    page = (REPOSITORY / "docs" / "perfettosql.md").read_text(encoding="utf-8")
    newer = set()
    for package, modules in re.findall(r"^\| `(\w+)` \| (.*?) \|", page, re.M):
        for module, version in re.findall(r"`([\w.]+)` \(SQLite ([\d.]+)\)", modules):
            if sqlite3.sqlite_version_info < tuple(map(int, version.split("."))):
                newer.add(f"{package}.{module}")
    failed = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", timebase.QueryWarning)
        for path in sorted(library.rglob("*.sql")):
            module = ".".join(path.relative_to(library).with_suffix("").parts)
            try:
                one.perfetto_sql(f"INCLUDE PERFETTO MODULE {module}", packages=library)
            except sqlite3.OperationalError:
                failed.add(module)
    assert failed == newer


# Notes


def test_a_table_without_rows_is_told(one, tmp_path):
    # If a folder `prelude` is given, trace processor's own tables exist (PQ2a).
    modules = {"prelude/p.sql": "CREATE PERFETTO VIEW heap AS SELECT * FROM __intrinsic_jit_code", "a/m.sql": "CREATE PERFETTO TABLE made AS SELECT * FROM heap"}
    folder = write(tmp_path / "with_prelude", modules)
    one.perfetto_sql("INCLUDE PERFETTO MODULE a.m", packages=folder)
    for table in ("heap", "made"):
        with pytest.warns(timebase.QueryWarning) as told:
            assert one.perfetto_sql(f"SELECT count(*) FROM {table}").fetchall() == [(0,)]
        [warning] = told
        assert str(warning.message) == "the result may lack rows: timebase does not fill __intrinsic_jit_code yet"
        assert warning.filename == __file__
    with pytest.warns(timebase.QueryWarning, match="may lack rows"):
        timebase.read_sql("/* PERFETTO */ SELECT count(*) FROM made", one)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert one.perfetto_sql("SELECT count(*) > 0 FROM slice").fetchone() == (1,)


def test_an_index_that_is_left_out_is_told(one):
    with pytest.warns(timebase.QueryWarning, match="^CREATE PERFETTO INDEX i was left out: slice is part of the database"):
        one.perfetto_sql("CREATE PERFETTO INDEX i ON slice(ts)")


# Independent of the connection's settings


def test_what_the_connection_makes_of_rows_and_texts_holds(one):
    one.row_factory, one.text_factory = sqlite3.Row, bytes
    row = one.perfetto_sql("CREATE PERFETTO TABLE t AS SELECT 'é' AS s; SELECT s FROM t").fetchone()
    assert isinstance(row, sqlite3.Row) and row["s"] == "é".encode()


def test_a_data_frame_of_a_script(one, packages):
    script = "INCLUDE PERFETTO MODULE own.long; SELECT name, longest!(ms) AS ms FROM long_slice GROUP BY name ORDER BY ms DESC LIMIT ?"
    frame = timebase.read_sql(script, one, [2], packages=[packages])
    assert (list(frame.columns), list(frame.name), frame.ms[0]) == (["name", "ms"], ["request", "drag"], 28.77915)
    assert pandas.read_sql_query("SELECT count(*) AS n FROM long_slice", one).n[0] > 2
    assert timebase.read_sql("CREATE TEMP TABLE perfetto (x)", one).shape == (0, 0)
    alone = timebase.read_sql(script, APP, [1], packages=packages)
    assert list(alone.name) == ["request"]
    with closing(sqlite3.connect(":memory:")) as plain:
        assert list(timebase.read_sql("SELECT 'perfetto' AS x", plain).x) == ["perfetto"]
        with pytest.raises(TypeError, match="needs a connection of timebase.connect"):
            timebase.read_sql("SELECT 1", plain, packages=packages)


def test_a_script_of_10_mb_runs(one):
    statement = "CREATE OR REPLACE PERFETTO MACRO m() RETURNS Expr AS (SELECT 'a long text in the body');\n"
    script = statement * ((10 << 20) // len(statement)) + "SELECT m!()"
    assert one.perfetto_sql(script).fetchone() == ("a long text in the body",)


def test_a_closed_connection_is_not_kept_alive(packages):
    trace = timebase.connect(APP)
    database = Path(trace.execute("PRAGMA database_list").fetchone()[2])
    trace.perfetto_sql("INCLUDE PERFETTO MODULE own.long; SELECT ms(id) FROM slice", packages=[packages]).fetchone()
    assert database.exists()
    gone = weakref.ref(trace)
    trace.close()
    assert not database.exists()
    del trace
    gc.collect()
    assert gone() is None


def test_a_forgotten_connection_is_closed(packages):
    trace = timebase.connect(APP)
    database = Path(trace.execute("PRAGMA database_list").fetchone()[2])
    trace.perfetto_sql("INCLUDE PERFETTO MODULE own.long", packages=[packages])
    del trace
    gc.collect()
    assert not database.exists()


def test_two_threads_use_one_connection(database):
    with closing(timebase.connect(database, check_same_thread=False)) as trace:
        wrong = []

        def rounds(number):
            for n in range(100):
                # The rows come before the end, so they are kept in a table, which only this script may use.
                script = f"CREATE PERFETTO TABLE t{number}_{n} AS SELECT {n} AS x; SELECT x FROM t{number}_{n}; CREATE OR REPLACE PERFETTO VIEW v AS SELECT 1 AS y"
                try:
                    found = trace.perfetto_sql(script).fetchall()
                except sqlite3.Error as error:
                    found = error
                if found != [(n,)]:
                    wrong.append(found)

        threads = [threading.Thread(target=rounds, args=[number]) for number in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong == []


def test_the_thread_is_checked_as_by_sqlite3(one):
    said = []

    def other():
        try:
            one.perfetto_sql("SELECT 1")
        except sqlite3.ProgrammingError as error:
            said.append(str(error))

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert "created in a thread can only be used in that same thread" in said[0]


def test_pq13_another_thread_can_interrupt_it(database, packages):
    with closing(timebase.connect(database, check_same_thread=False)) as trace:
        for script in ("INCLUDE PERFETTO MODULE own.endless", f"CREATE PERFETTO TABLE t AS {ENDLESS}", f"/* PERFETTO */ {ENDLESS}"):
            timer = threading.Timer(0.3, trace.interrupt)
            timer.start()
            assert refusal(trace.perfetto_sql, script, packages=[packages]) == "interrupted"
            timer.join()
        assert trace.perfetto_sql("INCLUDE PERFETTO MODULE own.long; SELECT ms(1000)").fetchone() == (0.001,)


@pytest.mark.skipif(sys.platform == "win32", reason="no such signal there")
def test_pq13_ctrl_c_ends_it(database, packages):
    code = f"""
import signal, sys, timebase
trace = timebase.connect({str(database)!r})
signal.signal(signal.SIGALRM, signal.default_int_handler)
for script in ("INCLUDE PERFETTO MODULE own.endless", sys.argv[1]):
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        trace.perfetto_sql(script, packages=[{str(packages)!r}])
    except KeyboardInterrupt:
        print("ended")
print(trace.perfetto_sql("INCLUDE PERFETTO MODULE own.long; SELECT ms(1000)").fetchone())
"""
    done = subprocess.run([sys.executable, "-c", code, ENDLESS], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("ended\nended\n(0.001,)\n", "")


def test_no_message_names_a_flag():
    """The messages come from the extension; the program adds the flag itself."""
    folder = REPOSITORY / "crates" / "sql" / "src" / "perfetto"
    texts = [path.read_text(encoding="utf-8").partition("#[cfg(test)]")[0] for path in folder.rglob("*.rs") if "tests" not in path.parts]
    literals = [literal for text in texts for literal in re.findall(r'"((?:[^"\\]|\\(?:.|\n))*)"', re.sub(r"^\s*//.*$", "", text, flags=re.M))]
    assert any("Name the folder that has it" in literal for literal in literals)
    assert [literal for literal in literals if re.search(r"(?<![\w-])--[a-z]", literal)] == []
