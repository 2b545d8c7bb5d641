"""timebase.spark with a real Spark, with two workers: its tables equal those of the single databases.

This test has its own environment (requirements-spark.txt), which tests/run makes; in any other environment it is skipped.
"""

import gzip
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
from all_tables import exact, of_arrow
from conftest import DATA
from fleet_page import QUESTIONS, SPARK, TABLES as ASKED, as_text, labels
from fleet_tables import Tables, executors, kill_a_worker

pyspark = pytest.importorskip("pyspark", reason="tests/run has an environment for Spark")

# The programs in pyspark's folder start the workers.
os.environ["SPARK_HOME"] = os.path.dirname(pyspark.__file__)

import timebase.dataset  # noqa: E402
import timebase.spark  # noqa: E402
from pyspark.sql.datasource import GreaterThan  # noqa: E402
from pyspark.sql.types import StringType, StructField, StructType  # noqa: E402

#: Tables with every kind of value: numbers, texts, fractions, bytes.
TABLES = ["args", "counter", "packet", "slice"]

#: Tables of a fleet that are compared by sums: clocks, packets, threads, slices, findings.
COMPARED = ["clock_mapping_linear", "finding", "ftrace_event", "import_log", "packet_clock", "slice", "stats", "thread_state"]


@pytest.fixture(scope="module")
def spark():
    quiet = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2", "spark.log.level": "ERROR"}
    # Many small files are found and read, without a task for each.
    small = {"spark.sql.sources.parallelPartitionDiscovery.threshold": "1000", "spark.sql.files.openCostInBytes": "1024"}
    session = timebase.spark.session("local-cluster[2,1,1024]", config={**quiet, **small})
    yield session
    session.stop()


@pytest.fixture(scope="module")
def load(spark, fleet):
    """A table of the fleet, or of other traces."""
    return lambda path=fleet, **options: spark.read.format("perfetto").options(**options).load(str(path))


@pytest.fixture(scope="module")
def singly(fleet, tmp_path_factory):
    """The databases of all readable traces, by their paths."""
    directory = tmp_path_factory.mktemp("singly")
    made = {}
    for path in sorted(fleet.iterdir()):
        database = directory / (path.name + ".db")
        command = [os.environ["TIMEBASE_PROGRAM"], "import", "--no-data", path, "-o", database]
        if subprocess.run(command, capture_output=True).returncode == 0:
            made[str(path)] = database
    return made


def of_each(singly, sql):
    """The results of a query on each database."""
    for path, database in singly.items():
        with closing(sqlite3.connect(database)) as connection:
            for row in connection.execute(sql):
                yield (path, *row)


def test_counts_and_sums_are_those_of_the_single_databases(spark, fleet, tmp_path):
    tables = Tables()
    of_traces = {str(trace): tables.of_trace(trace, tmp_path / "one.db", COMPARED) for trace in fleet.iterdir()}
    singly = {path: rows for path, rows in of_traces.items() if rows is not None}
    assert len(singly) == 39
    for table in COMPARED:
        expected = {path: rows[table] for path, rows in singly.items() if rows[table][0] > 0}
        assert len(expected) > 4, table
        assert tables.of_spark(spark, fleet, table) == expected, table


def test_small_traces_share_tasks_and_large_ones_have_their_own(load, tmp_path):
    alone, eight, shared = (load(table="slice", **options) for options in ({"traces_per_task": 1}, {"traces_per_task": 8}, {}))
    assert [rows.rdd.getNumPartitions() for rows in (alone, eight, shared)] == [40, 5, 1]
    rows = shared.groupBy("trace_path").count().collect()
    assert len(rows) == 39 and sum(row["count"] for row in rows) == 17296

    def tasks(*sizes):
        """The tasks for traces of these sizes in MB."""
        folder = tmp_path / str(len(sizes))
        folder.mkdir()
        for number, size in enumerate(sizes):
            with open(folder / f"{number:03}", "wb") as file:
                file.truncate(size << 20)
        source = timebase.spark.TraceDataSource({"path": str(folder), "table": "slice"})
        return [list(map(int, map(os.path.basename, task.paths))) for task in source.reader(source.schema()).partitions()]

    assert tasks(17, 1, 17, 8, 6, 1) == [[0], [1], [2], [3, 4, 5]]
    # The tasks of a larger fleet are larger, up to a limit.
    assert [len(task) for task in tasks(*[8] * 100)] == [*[3] * 33, 1]
    assert [len(task) for task in tasks(*[8] * 400)] == [*[7] * 57, 1]


def test_every_row_of_every_table_of_every_trace_is_that_of_its_database_and_of_its_type(spark, all_tables):
    """Spark reads exactly the exported data."""
    spark.conf.set("spark.sql.sources.partitionColumnTypeInference.enabled", "false")
    seen = 0
    for name in all_tables.names:
        found = spark.read.parquet(str(all_tables.folder / name)).toArrow()
        columns, expected = all_tables.rows(name)
        assert found.column_names == columns, name
        assert exact(name, columns, of_arrow(found)) == exact(name, columns, expected), name
        seen += len(expected)
    assert seen > 100_000


def test_the_data_source_reads_the_same(spark, all_tables):
    for name in TABLES:
        found = spark.read.format("perfetto").option("table", name).load(all_tables.traces).drop("trace_path").toArrow()
        columns, expected = all_tables.rows(name)
        assert found.column_names == columns, name
        assert exact(name, columns, of_arrow(found)) == exact(name, columns, expected), name


def test_traces_in_chromes_json_format_are_rows_of_the_same_table(load, tmp_path):
    for name in ("training-rank0.json", "sdk.pftrace"):
        shutil.copy(DATA / name, tmp_path)
    (tmp_path / "training.json.gz").write_bytes(gzip.compress((DATA / "training.json").read_bytes()))
    expected = Counter()
    for path in tmp_path.iterdir():
        with closing(timebase.connect(path)) as trace:
            expected.update((path.name, *row) for row in trace.execute("SELECT ts, dur, name, args FROM slice"))
    rows = load(tmp_path, table="slice").collect()
    assert Counter((os.path.basename(row.trace_path), row.ts, row.dur, row.name, row.args) for row in rows) == expected
    assert {name for name, *_ in expected} == {"training-rank0.json", "training.json.gz", "sdk.pftrace"}


def test_a_worker_that_is_killed_in_the_middle_changes_nothing(spark, load, singly):
    rows = []
    job = threading.Thread(target=lambda: rows.extend(load(table="slice", traces_per_task=1).collect()))
    assert len(executors()) == 2
    job.start()
    killed = kill_a_worker(spark)
    assert job.is_alive()
    job.join()
    expected = dict(of_each(singly, "SELECT count(*) FROM slice"))
    assert Counter(row.trace_path for row in rows) == Counter({path: count for path, count in expected.items() if count})
    assert killed not in executors()


def test_a_query_is_run_on_each_trace(load, singly):
    asked = "SELECT name, count(*) AS slices, avg(dur) AS mean, abs_time_str(min(ts)) AS since FROM slice GROUP BY name"
    rows = load(sql=asked, labels='{"lab": "north"}')
    kinds = [("name", "string"), ("slices", "bigint"), ("mean", "double"), ("since", "string")]
    assert rows.dtypes == [*kinds, ("lab", "string"), ("trace_id", "string"), ("trace_path", "string")]
    found = rows.where("lab = 'north'").select("trace_path", "name", "slices", "mean").collect()
    expected = of_each(singly, "SELECT name, count(*), avg(dur) FROM slice GROUP BY name")
    assert sorted(map(tuple, found)) == sorted(expected)


def test_filters_leave_out_whole_traces_and_rows(load, fleet, singly):
    rows = load(table="slice", columns="name, ts, trace_path", traces_per_task=1).where("trace_path LIKE '%/elm-%' AND name = 'frame' AND ts > 5")
    assert rows.rdd.getNumPartitions() == len(list(fleet.glob("elm-*"))) == 8
    expected = {path: count for path, count in of_each(singly, "SELECT count(*) FROM slice WHERE name = 'frame'") if "/elm-" in path}
    found = Counter(row.trace_path for row in rows.collect())
    assert found == Counter(expected) and rows.columns == ["name", "ts", "trace_path"]
    path, count = next(iter(expected.items()))
    [id] = {row.trace_id for row in load(path, table="slice", columns="trace_id").collect()}
    assert load(table="slice").where(f"trace_id = '{id}' AND name = 'frame'").count() == count


@pytest.fixture(scope="module")
def lake(spark, fleet, tmp_path_factory):
    folder = tmp_path_factory.mktemp("lake") / "tables"
    timebase.dataset.Dataset(fleet, folder=folder, tables=ASKED, labels=labels).export()
    spark.conf.set("spark.sql.sources.partitionColumnTypeInference.enabled", "false")
    for name in ASKED:
        spark.read.parquet(str(folder / name)).createOrReplaceTempView(name)
    return spark


class TestThePage:
    """docs/fleet.md: Spark gives the same answers as DuckDB in test_fleet.py."""

    @pytest.mark.parametrize("sql, printed", QUESTIONS, ids=range(len(QUESTIONS)))
    def test_a_question_has_the_answer_that_is_shown(self, sql, printed, lake):
        answer = lake.sql(sql)
        assert as_text(answer.columns, answer.collect()) == printed

    def test_its_python_prints_what_is_shown(self, spark, fleet, capsys):
        code, printed = SPARK
        # Spark was started elsewhere.
        exec(code.replace('load("traces', f'load("{fleet}'), {})
        assert capsys.readouterr().out == printed


def test_cm26_the_values_of_a_folder_of_tables_are_those_of_each_trace(spark, tmp_path):
    command = [os.environ["TIMEBASE_SYNTH"], "--fleet=4", "--damaged=0", tmp_path / "traces"]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    recorded = ["desktop.pftrace", "late-frame.pftrace", "logs.pftrace", "training.json"]
    traces = [*(tmp_path / "traces").iterdir(), *(DATA / name for name in recorded)]
    columns = ["trace_id", "family", "process", "name", "stat", "value", "value_all"]
    with timebase.dataset.Dataset(traces, folder=tmp_path / "tables", tables=timebase.compare.TABLES) as tables:
        tables.export()
        expected = by_name(tables.sql(timebase.compare.METRICS).select(columns).to_pylist())
    spark.conf.set("spark.sql.sources.partitionColumnTypeInference.enabled", "false")
    for name in timebase.compare.TABLES:
        spark.read.parquet(str(tmp_path / "tables" / name)).createOrReplaceTempView(name)
    spark.sql(timebase.compare.PATTERN_OF_SPARK)
    values = spark.sql(timebase.compare.METRICS_OF_TABLES)
    kinds = [*((name, "string") for name in columns[:5]), ("value", "double"), ("value_all", "double")]
    assert values.dtypes == kinds
    found = by_name(values.toArrow().to_pylist())
    assert found.keys() == expected.keys()
    assert {key[1] for key in found} >= {"slice", "self", "async", "cpu", "wait", "blocked", "counter", "log", "run"}
    for key, value in expected.items():
        for one, other in zip(found[key], value):
            assert one == (None if other is None else pytest.approx(other, rel=1e-12)), key


def by_name(rows):
    """Values by trace, family, process, name and statistic, without missing ones and what tables do not show."""
    values = {tuple(row.values())[:5]: tuple(row.values())[5:] for row in rows}
    return {key: value for key, value in values.items() if value != (None, None) and key[3] not in ("start", "errors")}


def test_cm26_spark_makes_the_same_patterns(spark):
    names = ["Binder:123_4", "frame 12-13", "conv2d 0x1F", "a 0123456789abcdef01 b", "é12", "1a2 3", "x_1.2", "", "0x", "#1#", "10 20 30",
             "7c9e6679-7425-40de-944b-e07fc1f90ae7/2", "ABCDEF0123456789"]
    spark.sql(timebase.compare.PATTERN_OF_SPARK)
    found = spark.createDataFrame([(name,) for name in names], "name string").selectExpr("name", "pattern(name)").collect()
    with closing(timebase.connect(DATA / "sdk.pftrace")) as trace:
        for name, pattern in found:
            assert trace.execute("SELECT pattern(?)", [name]).fetchone() == (pattern,), name


class TestDamagedTraces:
    def test_permissive_yields_what_can_be_read_and_tells_the_rest(self, load, fleet):
        [empty] = [str(path) for path in fleet.iterdir() if path.stat().st_size == 0]
        errors = {row.path: row for row in load(table="errors").collect()}
        assert (errors[empty].code, errors[empty].message) == ("unreadable", f"{empty} is empty; a trace has at least one packet")
        [cut] = [path for path, row in errors.items() if row.code == "cut"]
        assert 0 < load(cut, table="slice").count() < 300

    def test_failfast_names_the_file(self, load, fleet, tmp_path):
        (tmp_path / "cut.pftrace").write_bytes((DATA / "sdk.pftrace").read_bytes()[:50_000])
        for options in ({"table": "slice"}, {"sql": "SELECT count(*) AS n FROM slice"}):
            with pytest.raises(Exception, match="cut.pftrace.*(is damaged|cannot be read): .*ends inside the packet") as error:
                load(tmp_path, mode="failfast", **options).collect()
            assert "strict" not in str(error.value)


class TestBadInput:
    @pytest.mark.parametrize(
        "options, said",
        [
            ({"table": "slizes"}, "there is no table 'slizes'; there are .*sched.*slice.*thread"),
            ({}, "name either a table, with option.*, or a query"),
            ({"table": "slice", "sql": "SELECT 1"}, "name either a table, with option.*, or a query"),
            ({"table": "slice", "modus": "x"}, "there is no option 'modus'; there are table, sql, columns, mode"),
            ({"table": "slice", "mode": "fast"}, "mode must be permissive or failfast, not 'fast'"),
            ({"table": "slice", "conversion": "cubic"}, "conversion must be 'nearest' or 'linear', not 'cubic'"),
            ({"table": "slice", "traces_per_task": "0"}, "traces_per_task must be a number of 1 and more, not '0'"),
            ({"table": "slice", "columns": "tz"}, "there is no column 'tz' in slice; there are .*ts.*trace_path"),
            ({"table": "slice", "labels": "north"}, "the option labels must be an object of JSON"),
            ({"table": "slice", "labels": '{"Dur": 1}'}, "the label 'Dur' is called as a column of slice; give it another name"),
            ({"sql": "SELECT nam FROM slice"}, "no such column: nam"),
            ({"sql": "SELECT 1 AS trace_id"}, "the query has a column 'trace_id', as every trace"),
        ],
        ids=lambda value: " ".join(value) if isinstance(value, dict) else None,
    )
    def test_it_is_told(self, options, said, load):
        with pytest.raises(Exception, match=said):
            load(**options).collect()

    def test_an_empty_folder(self, load, tmp_path):
        with pytest.raises(Exception, match="there are no traces in .*; name a folder with traces, or a pattern"):
            load(tmp_path, table="slice").collect()
        with pytest.raises(Exception, match="there is no file or folder .*/none"):
            load(tmp_path / "none", table="slice").collect()

    def test_without_java(self, tmp_path):
        script = "import timebase.spark; timebase.spark.session()"
        environment = {**os.environ, "PATH": str(tmp_path), "JAVA_HOME": ""}
        done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
        assert "RuntimeError: Spark needs Java 17 or later, and there is none here (Debian: apt install openjdk-17" in done.stderr


class TestATaskAlone:
    """A task by itself, without Spark."""

    @staticmethod
    def read(path, **options):
        source = timebase.spark.TraceDataSource({"path": str(path), **options})
        reader = source.reader(source.schema())
        return [row for part in reader.partitions() for batch in reader.read(part) for row in batch.to_pylist()]

    def test_what_fsspec_opens_is_copied_and_called_by_its_own_name(self):
        import fsspec

        files = fsspec.filesystem("memory")
        for name in ("app", "multihop"):
            files.pipe(f"/traces/{name}.pftrace", (DATA / f"{name}.pftrace").read_bytes())
        for path in ("memory://traces", "memory://traces/*.pftrace"):
            rows = self.read(path, sql="SELECT count(*) AS packets FROM packet", storage=json.dumps({"skip_instance_cache": True}))
            assert {row["trace_path"] for row in rows} == {"memory:///traces/app.pftrace", "memory:///traces/multihop.pftrace"}
            [local] = self.read(DATA / "app.pftrace", sql="SELECT count(*) AS packets FROM packet")
            assert (local["trace_id"], local["packets"]) in {(row["trace_id"], row["packets"]) for row in rows}
        files.pipe("/bad/a.pftrace", b"no trace")
        [error] = self.read("memory://bad", table="errors")
        assert error["message"].startswith("memory:///bad/a.pftrace is not a trace")

    def test_a_path_may_have_a_scheme(self):
        asked = "SELECT count(*) AS packets FROM packet"
        assert self.read(f"file://{DATA}/app.pftrace", sql=asked) == self.read(DATA / "app.pftrace", sql=asked)

    def test_a_trace_that_an_executor_does_not_see_is_an_error(self, tmp_path):
        shutil.copy(DATA / "multihop.pftrace", tmp_path / "a.pftrace")
        source = timebase.spark.TraceDataSource({"path": str(tmp_path), "table": "packet"})
        reader = source.reader(source.schema())
        [part] = reader.partitions()
        (tmp_path / "a.pftrace").unlink()
        with pytest.raises(FileNotFoundError, match="a.pftrace is not there on this executor; put traces where all executors see them"):
            list(reader.read(part))

    def test_a_filter_compares_what_the_schema_says_and_not_what_the_file_has(self):
        source = timebase.spark.TraceDataSource({"path": str(DATA / "app.pftrace"), "sql": "SELECT 9 AS n UNION SELECT 10"})
        reader = source.reader(StructType([StructField("n", StringType())]))
        list(reader.pushFilters([GreaterThan(("n",), "5")]))
        [part] = reader.partitions()
        assert [row for batch in reader.read(part) for row in batch.to_pylist()] == [{"n": "9"}]

    def test_it_needs_no_pandas(self):
        script = "import sys, timebase.spark; source = timebase.spark.TraceDataSource({'path': sys.argv[1], 'table': 'slice'})\n"
        script += "reader = source.reader(source.schema()); [part] = reader.partitions()\n"
        script += "assert sum(batch.num_rows for batch in reader.read(part)) == 1799 and 'pandas' not in sys.modules"
        subprocess.run([sys.executable, "-c", script, DATA / "app.pftrace"], check=True)

    def test_nothing_stays_on_the_disk(self, tmp_path, monkeypatch):
        monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path))
        assert self.read(DATA / "app.pftrace", table="slice")
        with pytest.raises(RuntimeError, match="no such column"):
            self.read(DATA / "app.pftrace", sql="SELECT nam FROM slice")
        assert list(tmp_path.iterdir()) == []
