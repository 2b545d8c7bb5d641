"""timebase.dataset: many traces as Parquet. pyarrow, DuckDB and Polars read the same as the database."""

import json
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing

import duckdb
import polars
import pyarrow.dataset
import pytest
import timebase
from all_tables import exact, of_arrow
from conftest import DATA
from timebase.dataset import Dataset, DatasetError

def device_and_build(path):
    device, build, _ = os.path.basename(path).split("-")
    return {"device": device, "build": build}


def test_every_table_is_exported(all_tables):
    names = all_tables.names
    assert len(names) > 50 and len(all_tables.ids) > 20
    assert {"slice", "sched", "thread_state", "counter", "args", "packet", "finding", "import_log", "android_logs"} <= set(names)


def test_every_row_of_every_table_of_every_trace_is_that_of_its_database_and_of_its_type(all_tables):
    seen = 0
    for name in all_tables.names:
        expected_columns, rows = all_tables.rows(name)
        expected = exact(name, expected_columns, rows)
        for reader, read in READERS.items():
            columns, found = read(all_tables.folder / name)
            assert columns == expected_columns, (reader, name)
            assert exact(name, columns, found) == expected, (reader, name)
        seen += len(rows)
    assert seen > 100_000


def by_pyarrow(table):
    read = pyarrow.dataset.dataset(table, partitioning=pyarrow.dataset.partitioning(pyarrow.schema([("trace_id", pyarrow.string())]), flavor="hive")).to_table()
    return read.column_names, of_arrow(read)


def by_duckdb(table):
    with closing(duckdb.connect()) as connection:
        files = f"{table}/*/*.parquet"
        query = connection.execute("SELECT * FROM read_parquet(?, hive_partitioning = true, hive_types_autocast = false)", [files])
        return [column[0] for column in query.description], query.fetchall()


def by_polars(table):
    frame = polars.scan_parquet(table, hive_partitioning=True, hive_schema={"trace_id": polars.String}).collect()
    return frame.columns, frame.rows()


READERS = {"pyarrow": by_pyarrow, "duckdb": by_duckdb, "polars": by_polars}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("fleet") / "tables"


@pytest.fixture(scope="module")
def traces(fleet, folder):
    return Dataset(fleet, folder=folder, tables=["slice", "thread_state", "finding"], labels=device_and_build).export()


@pytest.fixture(scope="module")
def singly(traces, tmp_path_factory):
    """The databases of all readable traces, by their paths."""
    directory = tmp_path_factory.mktemp("singly")
    made = {}
    for path in traces.traces.filter(pyarrow.compute.field("state") == "exported")["trace_path"].to_pylist():
        made[path] = directory / (os.path.basename(path) + ".db")
        command = [os.environ["TIMEBASE_PROGRAM"], "import", "--no-data", path, "-o", made[path]]
        subprocess.run(command, check=True, capture_output=True)
    return made


class TestAFleet:
    def test_its_sums_are_those_of_the_single_databases(self, traces, singly):
        expected = {"slice": [0, 0], "thread_state": [0, 0]}
        for database in singly.values():
            with closing(sqlite3.connect(database)) as connection:
                for table, sums in expected.items():
                    count, total = connection.execute(f"SELECT count(*), coalesce(sum(dur), 0) FROM {table}").fetchone()
                    sums[:] = sums[0] + count, sums[1] + total
        assert len(singly) >= 38
        for table, sums in expected.items():
            rows = traces.table(table, columns=["dur"])
            assert [rows.num_rows, pyarrow.compute.sum(rows["dur"]).as_py()] == sums

    def test_duckdb_and_polars_read_the_folder(self, traces, folder):
        slices = traces.dataset("slice")
        of_folder = f"read_parquet('{folder}/slice/*/*.parquet', hive_partitioning = true, hive_types = {{'trace_id': VARCHAR}})"
        for source in ("slices", of_folder):
            asked = f"SELECT device, build, count(*) FROM {source} WHERE name = 'frame' GROUP BY ALL ORDER BY ALL"
            assert len(duckdb.sql(asked).fetchall()) == 10
        frames = polars.scan_parquet(folder / "slice").filter(polars.col("name") == "frame").collect()
        assert frames.height == traces.table("slice", filter=[("name", "=", "frame")]).num_rows
        assert set(frames["trace_id"]) <= set(traces.traces["trace_id"].to_pylist())

    def test_columns_and_rows_are_those_that_are_asked_for(self, traces):
        frames = traces.table("slice", columns=["device", "trace_id"], filter=[("name", "=", "frame"), ("device", "=", "elm")])
        assert frames.column_names == ["device", "trace_id"] and set(frames["device"].to_pylist()) == {"elm"}
        same = traces.table("slice", filter=(pyarrow.dataset.field("name") == "frame") & (pyarrow.dataset.field("device") == "elm"))
        assert same.num_rows == frames.num_rows > 100
        with pytest.raises(ValueError, match="there is no column 'nam' in slice; there are .*name.*trace_id"):
            traces.table("slice", columns=["nam"])

    def test_what_cannot_be_read_is_told_and_ends_nothing(self, traces, fleet):
        [empty] = [str(path) for path in fleet.iterdir() if path.stat().st_size == 0]
        errors = {row["path"]: row for row in traces.errors.to_pylist()}
        assert errors[empty] == {"path": empty, "code": "unreadable", "message": f"{empty} is empty; a trace has at least one packet"}
        assert "cut" in {row["code"] for row in errors.values()}
        states = traces.traces["state"].to_pylist()
        assert (states.count("exported"), states.count("unreadable")) == (39, 1)

    def test_the_unhealthy_device_is_found(self, traces):
        unhealthy = traces.table("finding", columns=["device"], filter=[("severity", "=", "error")])
        assert set(unhealthy["device"].to_pylist()) == {"elm"}

    def test_a_query_is_run_on_each_trace(self, traces, singly):
        asked = "SELECT name, count(*) AS slices, abs_time_str(min(ts)) AS since FROM slice GROUP BY name ORDER BY name"
        result = traces.sql(asked)
        assert result.column_names == ["name", "slices", "since", "trace_id", "trace_path", "device", "build"]
        expected = []
        for path, database in singly.items():
            with closing(timebase.connect(database)) as connection:
                expected += [(*row, path) for row in connection.execute(asked)]
        assert of_arrow(result.select(["name", "slices", "since", "trace_path"])) == expected

    def test_a_query_that_is_wrong_is_an_error(self, traces):
        with pytest.raises(DatasetError, match="fleet.*pftrace: .*no such column: nam"):
            traces.sql("SELECT nam FROM slice")
        with pytest.raises(ValueError, match="the query has a column 'trace_id', as every trace; call it otherwise with AS"):
            traces.sql("SELECT 1 AS trace_id")

    def test_what_is_there_is_not_done_again(self, traces, fleet, folder, monkeypatch, tmp_path):
        # Two devices, and the empty trace.
        some = [path for path in sorted(fleet.iterdir()) if path.name[:5] in ("elm-b", "birch") or path.stat().st_size == 0]
        calls = tmp_path / "calls"
        real = os.environ["TIMEBASE_PROGRAM"]
        program = tmp_path / "timebase"
        program.write_text(f'#!/bin/sh\nfor last; do :; done\necho "$1 $last" >> "{calls}"\nexec "{real}" "$@"\n')
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("TIMEBASE_PROGRAM", str(program))

        def exported(**changed):
            calls.write_text("")
            Dataset(some, **{"folder": folder, "tables": ["slice"], "labels": device_and_build, **changed}).export()
            return [line.split()[1] for line in calls.read_text().splitlines() if line.startswith("export /")]

        # The empty trace is tried again, because somebody may have been copying it.
        [empty] = exported()
        assert os.path.getsize(empty) == 0
        assert len(exported(labels=lambda path: {**device_and_build(path), "lab": "north"} if "elm" in path else device_and_build(path))) == 9
        assert len(exported(tables=["slice", "sched"])) == len(some) == 17


def test_an_interrupted_export_goes_on_where_it_was(fleet, tmp_path):
    some = sorted(path for path in fleet.iterdir() if path.stat().st_size)[:16]

    def interrupt(read, total, traces):
        assert 0 < read <= total
        if traces >= 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Dataset(some, folder=tmp_path / "tables", tables=["slice"], progress=interrupt).export()
    done = {path.stem for path in (tmp_path / "tables" / "_timebase").glob("*.json")}
    assert 4 <= len(done) < 15
    again = Dataset(some, folder=tmp_path / "tables", tables=["slice"])
    assert set(again.traces.filter(pyarrow.compute.field("state") == "exported")["trace_id"].to_pylist()) == done
    again.export()
    assert len(list((tmp_path / "tables" / "slice").glob("trace_id=*/part-0.parquet"))) == 16


def test_a_temporary_folder_goes_when_it_is_closed(fleet):
    with Dataset(sorted(fleet.glob("aster-*"))[:2], tables=["slice"]) as traces:
        assert traces.table("slice").num_rows > 0 and traces.folder.is_dir()
    assert not traces.folder.parent.exists()


def test_files_with_the_same_bytes_are_one_trace(tmp_path):
    shutil.copy(DATA / "multihop.pftrace", tmp_path / "a.pftrace")
    shutil.copy(DATA / "multihop.pftrace", tmp_path / "b.pftrace")
    with Dataset(tmp_path) as traces:
        assert traces.sql("SELECT count(*) AS packets FROM packet").num_rows == 1
        assert traces.export().traces["state"].to_pylist() == ["exported", "duplicate"]


def test_names_that_begin_with_a_dot_or_a_line_are_not_read(tmp_path):
    for name in ("a.pftrace", ".hidden", "_SUCCESS"):
        shutil.copy(DATA / "multihop.pftrace", tmp_path / name)
    with Dataset(tmp_path) as traces:
        assert traces.traces["trace_path"].to_pylist() == [str(tmp_path / "a.pftrace")]


class TestBadInput:
    def test_no_traces(self, tmp_path):
        for nothing in (tmp_path, tmp_path / "*.pftrace", []):
            with pytest.raises(FileNotFoundError, match="there are no traces in .*; name a folder with traces, or a pattern such as"):
                Dataset(nothing)
        with pytest.raises(FileNotFoundError, match="there is no file or folder .*none.pftrace"):
            Dataset([DATA / "sdk.pftrace", tmp_path / "none.pftrace"])

    def test_a_table_that_there_is_not(self):
        with pytest.raises(ValueError, match="there is no table 'slizes'; there are .*sched.*slice.*thread"):
            Dataset(DATA / "sdk.pftrace", tables=["slizes"])
        with pytest.raises(TypeError, match=r"tables must be a list of names, such as \['slice'\]"):
            Dataset(DATA / "sdk.pftrace", tables="slice")
        with Dataset(DATA / "sdk.pftrace", tables=["slice"]) as traces, pytest.raises(ValueError, match="there is no table 'sched'"):
            traces.table("sched")

    def test_an_option_that_there_is_not(self):
        for wrong, message in [
            ({"conversion": "cubic"}, "conversion must be 'nearest' or 'linear', not 'cubic'"),
            ({"compression": "gzip"}, "compression must be 'zstd', 'snappy' or 'none', not 'gzip'"),
            ({"processes": 0}, "processes must be at least 1, not 0"),
            ({"labels": {"trace_id": 1}}, "a label cannot be called 'trace_id'"),
            ({"labels": {"Dur": 1}}, "the label 'Dur' is called as a column of .*; give it another name"),
        ]:
            with pytest.raises(ValueError, match=message):
                Dataset(DATA / "sdk.pftrace", **wrong)
        with pytest.raises(TypeError, match="labels must be a dict, or a function that returns one, not str"):
            Dataset(DATA / "sdk.pftrace", labels=lambda path: path)

    def test_a_folder_that_holds_something_else(self, tmp_path):
        (tmp_path / "notes.txt").write_text("mine")
        with pytest.raises(DatasetError, match="holds something else than tables of timebase; name another folder"):
            Dataset(DATA / "sdk.pftrace", folder=tmp_path)
        with pytest.raises(NotADirectoryError, match="notes.txt is a file; name a folder for the tables"):
            Dataset(DATA / "sdk.pftrace", folder=tmp_path / "notes.txt")

    def test_nothing_that_can_be_read(self, tmp_path):
        (tmp_path / "a.pftrace").write_text("no trace")
        with Dataset(tmp_path) as traces:
            for ask in (lambda: traces.table("slice"), lambda: traces.sql("SELECT 1 AS one")):
                with pytest.raises(DatasetError, match="no trace could be read; of .*a.pftrace it is said: .*is not a trace"):
                    ask()

    @pytest.mark.skipif(sys.platform == "win32", reason="a script is no program there")
    def test_a_full_disk_ends_all(self, fleet, tmp_path, monkeypatch):
        real, program = os.environ["TIMEBASE_PROGRAM"], tmp_path / "timebase"
        full = "timebase: error: no space left to write tables. Free some space, or name another place with -o"
        program.write_text(f'#!/bin/sh\ncase "$*" in *--schema*|*--version*) exec "{real}" "$@";; esac\necho "{full}" >&2\nexit 1\n')
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("TIMEBASE_PROGRAM", str(program))
        with pytest.raises(DatasetError, match="no space left to write tables"):
            Dataset(fleet, folder=tmp_path / "tables").export()

    def test_without_pyarrow(self):
        script = (
            "import sys; sys.modules['pyarrow'] = None\n"
            "from timebase.dataset import Dataset\n"
            f"Dataset({str(DATA / 'sdk.pftrace')!r})"
        )
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
        assert "ModuleNotFoundError: timebase.dataset needs pyarrow: pip install 'pyarrow>=16'" in done.stderr

    @pytest.mark.parametrize("version, said", [(None, "ModuleNotFoundError"), ("3.5.1", "and this is 3.5.1")])
    def test_without_spark_or_with_an_old_one(self, version, said, tmp_path):
        setup = "sys.modules['pyspark'] = None"
        if version is not None:
            (tmp_path / "pyspark" / "sql").mkdir(parents=True)
            (tmp_path / "pyspark" / "__init__.py").write_text(f"__version__ = {version!r}")
            (tmp_path / "pyspark" / "sql" / "__init__.py").write_text("")
            setup = f"sys.path.insert(0, {str(tmp_path)!r})"
        done = subprocess.run([sys.executable, "-c", f"import sys; {setup}; import timebase.spark"], capture_output=True, text=True)
        assert "timebase.spark needs pyspark 4.1 or later" in done.stderr and said in done.stderr
        assert "pip install 'pyspark[sql]>=4.1,<5'" in done.stderr


def test_the_record_says_how_a_trace_was_exported(tmp_path):
    Dataset(DATA / "multihop.pftrace", folder=tmp_path / "t", tables=["packet"], labels={"a": 1}, conversion="linear", compression="snappy").export()
    [record] = (tmp_path / "t" / "_timebase").glob("*.json")
    said = json.loads(record.read_text())
    assert (said["labels"], said["conversion"], said["compression"]) == ({"a": "1"}, "linear", "snappy")
    assert set(said["tables"]) == {"packet", "import_log"}
