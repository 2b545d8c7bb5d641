"""read_sql: every value is unchanged."""

import sqlite3
import sys
from contextlib import closing

import pytest
import timebase
from conftest import DATA, REPOSITORY

pandas = pytest.importorskip("pandas")
EXACT = 1_795_228_849_078_881_529

# Values by the number n of a row. Odd values come late, after many rows were read.
COLUMNS = {
    "integers": (f"{EXACT} + n", "int64"),
    "late_null": (f"iif(n = 9000, NULL, {EXACT} + n)", "Int64"),
    "early_null": (f"iif(n = 0, NULL, {EXACT} + n)", "Int64"),
    "nulls_then_integers": (f"iif(n < 5000, NULL, {EXACT} + n)", "Int64"),
    "reals": ("n + 0.5", "float64"),
    "reals_with_null": ("iif(n % 3, n + 0.5, NULL)", "float64"),
    "late_real": ("iif(n = 9000, 0.5, n)", "float64"),
    "late_integer": ("iif(n = 9000, 1, n + 0.5)", "float64"),
    "texts": ("'a' || n", None),
    "texts_with_null": ("iif(n % 3, 'a' || n, NULL)", None),
    "late_text": ("iif(n = 9000, 'late', n)", "object"),
    "late_blob": ("iif(n = 9000, x'00ff', n)", "object"),
    "blobs": ("CAST('a' || n AS BLOB)", "object"),
    "nulls": ("NULL", "object"),
    "extremes": ("iif(n % 2, 9223372036854775807, -9223372036854775807 - 1)", "int64"),
}
ROWS = "WITH RECURSIVE rows (n) AS (VALUES (0) UNION ALL SELECT n + 1 FROM rows LIMIT 10000) "


@pytest.fixture(scope="module")
def trace():
    with closing(timebase.connect(DATA / "multihop.pftrace")) as connection:
        yield connection


@pytest.mark.parametrize("column", COLUMNS)
def test_every_value_is_exact_and_has_the_type_of_its_column(trace, column):
    expression, dtype = COLUMNS[column]
    sql = f"{ROWS} SELECT {expression} AS value FROM rows"
    frame = timebase.read_sql(sql, trace)
    if dtype is None:  # the text type of pandas
        dtype = pandas.Series(["a"]).dtype
    assert frame.value.dtype == dtype
    for (expected,), found in zip(trace.execute(sql), frame.value):
        assert (pandas.isna(found) if expected is None else found == expected), (expected, found)


def test_columns_go_together_and_can_be_changed(trace):
    expressions = ", ".join(f"{expression} AS {name}" for name, (expression, _) in COLUMNS.items())
    frame = timebase.read_sql(f"{ROWS} SELECT {expressions} FROM rows", trace)
    assert list(frame.columns) == list(COLUMNS) and len(frame) == 10_000
    frame["integers"] -= frame.integers.min()
    frame.loc[0, "reals"] = 7.0
    assert frame.integers.tolist() == list(range(10_000)) and frame.reals[0] == 7


@pytest.mark.parametrize("rows", [0, 1, 4095, 4096, 4097, 8192])
def test_any_number_of_rows(trace, rows):
    frame = timebase.read_sql(f"{ROWS} SELECT n, NULL AS none, n AS again FROM rows WHERE n < ?", trace, [rows])
    assert frame.n.tolist() == list(range(rows)) == frame.again.tolist()
    assert list(frame.columns) == ["n", "none", "again"]


def test_what_is_no_query_has_no_columns(trace):
    assert timebase.read_sql("CREATE TEMP TABLE mine (x)", trace).shape == (0, 0)


def test_converters_are_the_users(tmp_path):
    sqlite3.register_converter("huge", lambda text: int(text) << 70)
    sqlite3.register_converter("flag", lambda text: text == b"1")
    with closing(timebase.connect(":memory:", detect_types=sqlite3.PARSE_DECLTYPES)) as connection:
        connection.execute("CREATE TABLE t (a huge, b flag, c huge)")
        connection.executemany("INSERT INTO t VALUES (?, ?, ?)", [(1, 1, None), (2, 0, 3)])
        frame = timebase.read_sql("SELECT * FROM t", connection)
    assert frame.a.tolist() == [1 << 70, 2 << 70] and frame.c.tolist() == [None, 3 << 70]
    assert frame.b.dtype == "bool" and frame.b.tolist() == [True, False]


def test_the_benchmark_measures_every_query(monkeypatch):
    monkeypatch.syspath_prepend(REPOSITORY / "benches")
    import read_sql

    measured = dict(read_sql.ratios(1000, 1))
    assert len(measured) == len(read_sql.QUERIES) and min(measured.values()) > 0
    sys.modules.pop("read_sql")
