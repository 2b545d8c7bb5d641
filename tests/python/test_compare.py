"""`timebase.compare`: the rows of `timebase compare` as a data frame, and the SQL of its values on a fleet.

`TIMEBASE_WRITE=1` writes the package's copy of this SQL anew.
"""

import csv
import io
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import warnings

import duckdb
import pandas
import pyarrow
import pytest
import timebase
from conftest import DATA, PACKAGE, REPOSITORY
from pyarrow import parquet

from timebase.dataset import Dataset

BEFORE, AFTER = DATA / "runs" / "before", DATA / "runs" / "after"
MEASURE = REPOSITORY / "crates" / "compare" / "src" / "measure"


def program(*arguments):
    return subprocess.run([os.environ["TIMEBASE_PROGRAM"], *map(str, arguments)], capture_output=True, text=True)


def called(rows):
    return set(rows[rows.called].line)


def labels(path):
    device, build, _ = os.path.basename(path).split("-")
    return {"device": device, "build": build}


@pytest.fixture(scope="module")
def values(tmp_path_factory):
    """The values of a hundred traces: ten of each of two builds, on each of five devices."""
    folder = tmp_path_factory.mktemp("compare")
    command = [os.environ["TIMEBASE_SYNTH"], "--fleet=100", "--damaged=0", folder / "traces"]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    with Dataset(folder / "traces", labels=labels) as traces:
        yield traces.sql(timebase.compare.METRICS)


def test_cm25_the_sql_is_that_of_the_program():
    source = (MEASURE / "mod.rs").read_text(encoding="utf-8")
    [parts] = re.findall(r"pub const METRICS: &str = concat!\((.*?)\n\);", source, re.S)
    sql = ""
    for file, text in re.findall(r'include_str!\("(.*?)"\)|"((?:[^"\\]|\\.)*)"', parts):
        sql += (MEASURE / file).read_text(encoding="utf-8") if file else json.loads(f'"{text}"')
    if "TIMEBASE_WRITE" in os.environ:
        (PACKAGE / "timebase" / "_metrics.sql").write_text(sql, encoding="utf-8")
    assert timebase.compare.METRICS == sql


def by_name(rows):
    """Values by trace, family, process, name and statistic, without missing ones and what tables do not show."""
    values = {tuple(row[:5]): tuple(row[5:]) for row in rows}
    return {key: value for key, value in values.items() if value != (None, None) and key[3] not in ("start", "errors")}


def test_cm26_duckdb_has_the_same_values_of_a_folder_of_tables(tmp_path):
    command = [os.environ["TIMEBASE_SYNTH"], "--fleet=8", "--damaged=0", tmp_path / "traces"]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    recorded = ["app.pftrace", "desktop.pftrace", "late-frame.pftrace", "logs.pftrace", "sdk.pftrace", "system.pftrace", "training.json"]
    traces = [*(tmp_path / "traces").iterdir(), *(DATA / name for name in recorded), *sorted(BEFORE.iterdir())[:2]]
    with Dataset(traces, tables=timebase.compare.TABLES) as tables, duckdb.connect() as lake:
        columns = ["trace_id", "family", "process", "name", "stat", "value", "value_all"]
        expected = by_name(tables.sql(timebase.compare.METRICS).select(columns).to_pandas().astype(object).where(lambda f: f.notna(), None).values)
        for name in timebase.compare.TABLES:
            lake.register(name, tables.dataset(name))
        lake.execute(timebase.compare.PATTERN)
        found = by_name(lake.execute(timebase.compare.METRICS_OF_TABLES).fetchall())
        assert [column[0] for column in lake.description] == columns
    assert found.keys() == expected.keys()
    assert {key[1] for key in found} >= {"slice", "self", "async", "cpu", "wait", "blocked", "counter", "log", "run"}
    for key, value in expected.items():
        for one, other in zip(found[key], value):
            assert one == (None if other is None else pytest.approx(other, rel=1e-12, nan_ok=True)), key


@pytest.mark.parametrize("name", ["Binder:123_4", "frame 12-13", "conv2d 0x1F", "a 0123456789abcdef01 b", "é12", "1a2 3", "x_1.2",
                                  "7c9e6679-7425-40de-944b-e07fc1f90ae7/2", "", "0x", "#1#", "ABCDEF0123456789", "10 20 30"])
def test_cm26_duckdb_makes_the_same_patterns(name):
    with duckdb.connect() as lake, timebase.connect(DATA / "sdk.pftrace") as trace:
        lake.execute(timebase.compare.PATTERN)
        assert lake.execute("SELECT pattern(?)", [name]).fetchone() == trace.execute("SELECT pattern(?)", [name]).fetchone()


def test_cm25_a_fleet_is_compared_where_its_traces_are(values, tmp_path):
    assert values.schema.field("value").type == pyarrow.float64()
    file = tmp_path / "values.parquet"
    parquet.write_table(values, file)
    rows = timebase.compare(f"{file},build=b1", f"{file},build=b2", by="device")
    birch = rows[rows.line.str.contains("birch")]
    assert called(rows) == called(birch)
    changed = birch[birch.called & (birch.stat == "total")]
    assert set(zip(changed.family, changed.name)) == {
        *(("self", name) for name in ("frame", "layout", "draw")),
        *(("cpu", name) for name in ("com.example.app", "RenderThread")),
    }
    assert changed.ratio.between(1.4, 1.8).all()


def test_cm25_random_halves_of_a_build_are_equal(values, tmp_path):
    frame = values.to_pandas()
    frame = frame[frame.build == "b1"]
    file, numbers = tmp_path / "values.parquet", random.Random(7)
    for _ in range(5):
        half = {}
        for _, runs in frame.groupby("device").trace_path.unique().items():
            half.update(dict.fromkeys(numbers.sample(sorted(runs), len(runs) // 2), "one"))
        frame = frame.assign(half=frame.trace_path.map(half).fillna("other"))
        frame.to_parquet(file)
        assert not called(timebase.compare(f"{file},half=one", f"{file},half=other", by="device"))


def test_it_has_the_rows_of_the_program():
    said = program("compare", BEFORE, "--with", AFTER, "-F", "csv").stdout
    rows = timebase.compare(BEFORE, AFTER)
    expected = list(csv.DictReader(io.StringIO(said)))
    assert list(rows.columns) == list(expected[0]) and len(rows) == len(expected)
    for row, record in zip(expected, rows.to_dict("records")):
        for name, text in row.items():
            value = record[name]
            if text == "" and name != "unit" and name != "process":
                assert pandas.isna(value), name
            else:
                assert (float(value) == float(text)) if not isinstance(value, str) else value == text, name


def test_types_are_those_of_any_comparison():
    few = timebase.compare(BEFORE / "0.json", AFTER / "0.json")
    many = timebase.compare(BEFORE, AFTER)
    assert few.dtypes.to_dict() == many.dtypes.to_dict()
    assert few.p.isna().all() and not few.called.any()


def test_runs_are_given_in_any_form(in_repository):
    rows = timebase.compare(BEFORE, AFTER)
    runs = [[f"tests/data/runs/{side}/{number}.json" for number in range(10)] for side in ("before", "after")]
    pandas.testing.assert_frame_equal(timebase.compare(*runs), rows)
    pandas.testing.assert_frame_equal(timebase.compare("tests/data/runs/before/*.json", "tests/data/runs/after/[0-9].json"), rows)
    shutil.copy(runs[0][0], "-o")
    assert timebase.compare("-o", iter(runs[1])).n_before.max() == 1
    for wrong, error in [(7, TypeError), ([], ValueError), (b"x", TypeError)]:
        with pytest.raises(error, match="^before "):
            timebase.compare(wrong, AFTER)


def test_a_folder_of_tables_has_conditions(tmp_path):
    traces = [*sorted(BEFORE.glob("*.json"))[:5], *sorted(AFTER.glob("*.json"))[:5]]
    folder = tmp_path / "tables"
    with Dataset(traces, folder=folder, labels=lambda path: {"build": os.path.basename(os.path.dirname(path))}) as exported:
        exported.export()
    rows = timebase.compare(f"{folder},build=before", f"{folder},build=after")
    expected = timebase.compare(traces[:5], traces[5:])
    ours, theirs = (frame.set_index(["line", "stat"]).sort_index() for frame in (rows, expected))
    pandas.testing.assert_frame_equal(ours, theirs)
    with pytest.raises(timebase.CompareFailed, match=r"export them with timebase.dataset.Dataset\(…, folder=…, labels=…\) first$"):
        timebase.compare(BEFORE, AFTER, by="build")


def test_each_option_is_the_programs(tmp_path):
    options = {
        "metrics": {"layouts": "SELECT count(*) FROM slice WHERE name = 'layout'"},
        "names": {"dec(.*) [0-9]+": "in$1"},
        "per": "second",
        "min_share": 0.01,
        "max_loss": "7%",
        "leave_out": str(BEFORE / "3.json"),
        "skip_first": 1,
        "absolute": True,
        "cache": tmp_path / "cache",
        "conversion": "linear",
        "jobs": 1,
    }
    flags = [
        "--metric=layouts=SELECT count(*) FROM slice WHERE name = 'layout'", "--name=dec(.*) [0-9]+=in$1", "--per=second", "--min-share=1%",
        "--max-loss=7%", "--leave-out", BEFORE / "3.json", "--skip-first=1", "--absolute", "--conversion=linear",
    ]
    rows = timebase.compare(BEFORE, AFTER, **options)
    expected = json.loads(program("compare", BEFORE, "--with", AFTER, "-F", "json", *flags).stdout)["rows"]
    assert rows.line.tolist() == [row["line"] for row in expected] and "self:app/inode" in set(rows.line)
    assert rows.ratio.fillna(0).tolist() == [row["ratio"] or 0 for row in expected]
    assert len(list((tmp_path / "cache").iterdir())) == 20
    assert not timebase.compare(BEFORE, AFTER, keep_names=True).line.str.contains("#").any()
    paired = timebase.compare(BEFORE, AFTER, paired=True)
    pandas.testing.assert_frame_equal(timebase.compare(BEFORE, AFTER, pair_by=r"(\d)\.json"), paired)
    during = timebase.compare(BEFORE, AFTER, during="frame 1")
    assert during[(during.line == "self:app/layout") & (during.stat == "count")].mean_before.item() == 1
    part = timebase.compare(BEFORE, AFTER, start=80_000_000, end=120_000_000)
    assert part[(part.line == "slice:app/frame #") & (part.stat == "count")].mean_before.item() < 5


def test_what_the_program_would_take_otherwise_is_refused():
    for metrics in ({"a=b": "SELECT 1"}, {"@file.sql": "SELECT 1"}, {" ": "SELECT 1"}):
        with pytest.raises(ValueError, match="^metrics: "):
            timebase.compare(BEFORE, AFTER, metrics=metrics)
    with pytest.raises(ValueError, match="^names: .* must not have a =$"):
        timebase.compare(BEFORE, AFTER, names={"a": "b=c"})
    with pytest.raises(ValueError, match="^conversion must be"):
        timebase.compare(BEFORE, AFTER, conversion="none")


def test_cm21_conditions_have_outcomes():
    conditions = ["self:app/layout total > +5 %", "self:app/layout total > +19 %", "self:app/draw total > +5 %", "none: total > +5 %"]
    judged = timebase.compare(BEFORE, AFTER, fail_on=conditions).attrs["fail_on"]
    assert [one.condition for one in judged] == conditions
    assert [one.outcome for one in judged] == ["fails", "undecided", "passes", "unknown"]
    assert judged[0].reason.startswith("the change is from +")
    assert judged[3].reason.startswith("no line has this name and statistic; write ")
    assert timebase.compare(BEFORE, AFTER).attrs["fail_on"] == []
    with pytest.raises(timebase.CompareFailed, match='^"wrong" is no condition'):
        timebase.compare(BEFORE, AFTER, fail_on="wrong")


def test_errors_are_in_pythons_words(tmp_path):
    wrong = {
        "per='nothing'": "by which per= divides: choose another per=$",
        "leave_out='none'": "leave_out= needs the name of a run, or lossy$",
        "pair_by='('": r"^pair_by=\(: ",
        "skip_first=-1": "^invalid value '-1' for skip_first: ",
        "skip_first=10": "because all 10 are left out by skip_first=$",
        "paired=True, pair_by='x'": "^the argument pair_by cannot be used with paired$",
        "start=5, during='x'": "^the argument during cannot be used with",
    }
    for arguments, message in wrong.items():
        with pytest.raises(timebase.CompareFailed, match=message) as error:
            eval(f"timebase.compare(BEFORE, AFTER, {arguments})")
        assert "--" not in str(error.value)
    with pytest.raises(timebase.CompareFailed, match="is on both sides: name it once$"):
        timebase.compare(BEFORE, [BEFORE / "1.json"])


def test_a_run_that_is_left_out_is_warned_of(tmp_path):
    shutil.copytree(BEFORE, tmp_path / "--force")
    (tmp_path / "--force" / "3.json").write_text("no trace")
    with pytest.warns(timebase.TraceWarning, match="^left out: .*--force/3.json") as told:
        rows = timebase.compare(tmp_path / "--force", AFTER)
    assert [warning.filename for warning in told] == [__file__]
    assert rows.n_before.max() == 9
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(timebase.CompareFailed, match="3.json.*; without strict=True, the run is left out$"):
            timebase.compare(tmp_path / "--force", AFTER, strict=True)


def test_progress_counts_runs(capsys):
    told = []
    timebase.compare(BEFORE, AFTER, progress=lambda *state: told.append(state))
    assert told[-1] == (20, 20, 0) and told == sorted(told)
    timebase.compare(BEFORE, AFTER, progress=True)
    assert "measuring" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform == "win32", reason="no signal reaches a process there")
def test_ctrl_c_ends_it_and_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)

    def interrupt(*_):
        if threading.current_thread() is threading.main_thread():
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        timebase.compare(BEFORE, AFTER, progress=interrupt)
    assert list(tmp_path.iterdir()) == []
