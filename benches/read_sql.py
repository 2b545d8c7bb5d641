"""timebase.read_sql compared with pandas.read_sql_query: the same queries, alternately, in one run.

    PYTHONPATH=crates/python python benches/read_sql.py

The output is the ratio of read_sql's processor time to that of pandas, from the best of several rounds of
each: below 1, read_sql is faster. TIMEBASE_PROGRAM and TIMEBASE_EXTENSION name the program and the extension.
"""

import argparse
import gc
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

import pandas
import timebase

SDK = Path(__file__).resolve().parents[1] / "tests" / "data" / "sdk.pftrace"

# The given number of rows, with columns like those of traces.
ROWS = """
    CREATE TEMP TABLE rows AS
    WITH RECURSIVE n (i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n LIMIT ?)
    SELECT i AS id, 1795228849078881529 + i * 1000 AS ts, CASE WHEN i % 7 THEN i * 3 END AS dur,
           CASE WHEN i % 11 THEN 'thread ' || i % 100 END AS name, i * 0.5 AS value
    FROM n
"""
QUERIES = {
    "sdk.pftrace, packets": "SELECT id, ts, clock_id, clock_ts, seq_id, type, size FROM packet",
    "sdk.pftrace, all columns": "SELECT * FROM packet",
    "{rows:,} rows, all columns": "SELECT * FROM rows",
    "{rows:,} rows, integers": "SELECT id, ts FROM rows",
    "{rows:,} rows, integers and NULLs": "SELECT ts, dur FROM rows",
    "{rows:,} rows, texts": "SELECT name FROM rows",
    "{rows:,} rows, real numbers": "SELECT value FROM rows",
}


def compare(trace, sql, rounds):
    """The ratio of read_sql's time to that of pandas."""
    ways = [lambda: timebase.read_sql(sql, trace), lambda: pandas.read_sql_query(sql, trace)]
    best = [float("inf")] * len(ways)
    for _ in range(rounds):
        for number, way in enumerate(ways):
            gc.collect()
            start = time.process_time()
            way()
            best[number] = min(best[number], time.process_time() - start)
    return best[0] / best[1]


def ratios(rows, rounds):
    """The ratio of each query, by its title."""
    with tempfile.TemporaryDirectory() as directory:
        with closing(timebase.connect(timebase.import_trace(SDK, Path(directory) / "sdk.db"))) as trace:
            trace.execute(ROWS, [rows])
            for title, sql in QUERIES.items():
                yield title.format(rows=rows), compare(trace, sql, rounds)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="?", type=int, default=1_000_000, help="how many rows there are to read")
    parser.add_argument("--rounds", type=int, default=5, help="how often each is measured")
    arguments = parser.parse_args()
    for title, ratio in ratios(arguments.rows, arguments.rounds):
        print(f"{ratio:6.2f}  {title}")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
