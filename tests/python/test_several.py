"""Several traces on one timeline, from Python: as a list or an archive, and with a manifest."""

import io
import itertools
import json
import os
import shutil
import sqlite3
import tarfile
import tempfile
import zipfile
from contextlib import closing
from pathlib import Path

import pytest
import timebase
from conftest import DATA

SEVERAL = DATA / "several"
PHONE, WATCH, MACHINES = (SEVERAL / name for name in ("phone.pftrace", "watch.pftrace", "machines.json"))
TAR = SEVERAL / "phone-and-watch.tar"
#: A client and a server whose wall clocks disagree by 3.4 ms, and their 80 messages.
TALK = [DATA / "align" / "pair" / name for name in ("client.pftrace", "server.pftrace")]
FRONTEND, BACKEND = SEVERAL / "frontend.pftrace", SEVERAL / "backend.pftrace"

#: The recorded packets, independent of the files' order in the list or the archive.
EVENTS = """
    SELECT f.name, p.number, p.ts, p.unresolved, m.name
    FROM packet AS p JOIN trace_file AS f ON f.id = p.trace_file_id JOIN machine AS m ON m.id = p.machine_id ORDER BY p.id
"""


@pytest.fixture(params=["extension", "python"])
def connect(request):
    return lambda *arguments, **named: timebase.connect(*arguments, functions=request.param, **named)


def asked(sql, *arguments, **named):
    with closing(timebase.connect(*arguments, **named)) as trace:
        return trace.execute(sql).fetchall()


def packed(kind, directory):
    """The phone and the watch in an archive, with their manifest."""
    if kind == "tar":
        return TAR
    if kind == "tar.gz":
        path = directory / "both.tar.gz"
        with tarfile.open(path, "w:gz") as tar:
            for file in (WATCH, PHONE, MACHINES):
                tar.add(file, file.name)
        return path
    path = directory / "both.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in (WATCH, MACHINES, PHONE):
            archive.write(file, file.name)
    return path


# One timeline


def test_several_traces_with_a_manifest_are_on_one_timeline():
    with closing(timebase.connect([PHONE, WATCH], manifest=MACHINES)) as trace:
        assert trace.execute("SELECT name FROM machine ORDER BY id").fetchall() == [("phone",), ("watch",)]
        placed = trace.execute("SELECT trace_file_id, machine_id, how, offset FROM placement ORDER BY 1").fetchall()
        assert placed == [(1, 0, "trace_time", 0), (2, 1, "realtime", 80_002_000_000)]
        answers = """
            SELECT asked.ts, answer.ts FROM flow
            JOIN slice AS asked ON asked.id = slice_out JOIN slice AS answer ON answer.id = slice_in ORDER BY 1
        """
        # The watch's wall clock is two milliseconds ahead.
        assert trace.execute(answers).fetchone() == (101_000_000_000, 101_014_000_000)


def test_without_a_manifest_they_are_one_machine():
    placed = asked("SELECT machine_id, how, boots_differ FROM placement ORDER BY trace_file_id", [PHONE, WATCH])
    assert placed == [(0, "trace_time", None), (0, "same_clock", 80_002_000_000)]


def test_messages_move_a_machine_unless_the_caller_says_otherwise(tmp_path):
    placed = "SELECT how, offset FROM placement WHERE trace_file_id = 2"
    both = "SELECT how, count(clock_alignment.id) FROM placement, clock_alignment WHERE trace_file_id = 2"
    named = {"manifest": DATA / "align" / "pair" / "machines.json", "force": True}
    database = tmp_path / "talk.db"
    moved, assumed = ("causality", -4_899_999_985_910), ("realtime", -4_900_003_400_000)
    modes = [None, "auto", "flows", "collectives", "tighten", "report", "off"]
    found = {mode: asked(placed, timebase.import_trace(TALK, database, align=mode, **named)) for mode in modes}
    assert {mode: [moved] if mode in (None, "auto", "flows", "tighten") else [assumed] for mode in modes} == found
    assert asked(both, timebase.import_trace(TALK, database, align="report", **named)) == [("realtime", 1)]
    with pytest.raises(timebase.ImportFailed, match="align.pairs is required by the mode 'pairs': a SELECT"):
        timebase.import_trace(TALK, database, align="pairs", **named)
    with pytest.raises(timebase.ImportFailed, match="invalid value 'never' for align: use one of auto, flows,"):
        timebase.import_trace(TALK, database, align="never", **named)


@pytest.mark.parametrize("kind", ["tar", "tar.gz", "zip"])
def test_an_archive_is_one_path_and_has_the_manifest_in_it(kind, tmp_path):
    expected = asked(EVENTS, [PHONE, WATCH], manifest=MACHINES)
    archive = packed(kind, tmp_path)
    assert len(expected) == 23
    assert asked(EVENTS, archive) == expected
    assert asked(EVENTS, io.BytesIO(archive.read_bytes())) == expected
    assert asked(EVENTS, [archive]) == expected


def test_the_order_does_not_matter(tmp_path):
    expected = asked(EVENTS, [PHONE, WATCH, MACHINES])
    for files in itertools.permutations([PHONE, WATCH, MACHINES]):
        assert asked(EVENTS, files) == expected
    assert asked(EVENTS, (path for path in (WATCH, str(PHONE), os.fspath(MACHINES)))) == expected


def test_a_list_of_one_is_that_one(tmp_path):
    database = timebase.import_trace([PHONE], tmp_path / "phone.db")
    assert asked("SELECT id, parent_id, packets FROM trace_file", [database]) == [(0, None, 13)]
    copied = shutil.copy(PHONE, tmp_path / "copied.pftrace")
    assert timebase.import_trace([copied]) == tmp_path / "copied.db"


def test_one_of_several_may_be_a_file_object(tmp_path):
    with open(WATCH, "rb") as watch:
        database = timebase.import_trace([watch, PHONE], tmp_path / "both.db", force=True, conversion="linear")
    assert asked("SELECT packets FROM trace_file WHERE parent_id = 0", database) == [(10,), (13,)]
    with pytest.raises(TypeError, match="only one trace of a list can be a file object; name the others by their paths"):
        timebase.connect([io.BytesIO(b""), io.BytesIO(b"")])


@pytest.mark.parametrize("conversion", ["nearest", "linear"])
def test_all_functions_of_the_package_take_them(tmp_path, conversion):
    pytest.importorskip("pandas")
    named = {"manifest": MACHINES, "conversion": conversion}
    database = timebase.import_trace([PHONE, WATCH], tmp_path / "both.db", **named)
    names = "SELECT name FROM machine ORDER BY id"
    assert asked(names, database, conversion=conversion) == [("phone",), ("watch",)]
    assert list(timebase.read_sql(names, [WATCH, PHONE], **named).name) == ["phone", "watch"]
    page = timebase.report([PHONE, WATCH], **named)
    assert repr(page) == "<timebase.Report of 2 traces>" and "REALTIME" in page.html
    findings = {(finding.check_name, finding.machine_id) for finding in timebase.doctor(database)}
    assert {(finding.check_name, finding.machine_id) for finding in timebase.doctor([WATCH, PHONE], manifest=MACHINES)} == findings


# Functions with a machine and a file

BY_FUNCTION = """
    SELECT p.id, p.ts, to_boottime(k.clock_id, k.seq_id, p.clock_ts, k.machine_id, k.trace_file_id)
    FROM packet AS p JOIN packet_clock AS k ON k.packet_id = p.id WHERE p.clock_ts IS NOT NULL
"""


@pytest.mark.parametrize("traces, manifest", [([PHONE, WATCH], MACHINES), ([FRONTEND, BACKEND], None), (SEVERAL / "vm.pftrace", None)])
def test_functions_say_when_each_packet_was(connect, traces, manifest):
    with closing(connect(traces, manifest=manifest)) as trace:
        found = trace.execute(BY_FUNCTION).fetchall()
        assert len(found) > 5
        assert [boottime for _, _, boottime in found] == [ts for _, ts, _ in found]


def test_a_machine_and_a_file_tell_clocks_apart(connect):
    with closing(connect([PHONE, WATCH], manifest=MACHINES)) as trace:
        calls = "SELECT to_boottime('BOOTTIME', 0, :at), to_boottime('BOOTTIME', 0, :at, 0, NULL), to_boottime('BOOTTIME', 0, :at, 1)"
        at = 21_012_000_000
        assert trace.execute(calls, {"at": at}).fetchone() == (at, at, 101_014_000_000)
        [there] = trace.execute("SELECT convert_clock(6, 0, ?, 3, 0, 1, NULL)", [at]).fetchone()
        assert there == at
        with pytest.raises(sqlite3.OperationalError, match=r"to_boottime\(\): argument 4 \(machine_id\) must be the id of a row of machine"):
            trace.execute("SELECT to_boottime('BOOTTIME', 0, 1, 2)").fetchall()
        with pytest.raises(sqlite3.OperationalError, match=r"to_boottime\(\): argument 5 \(trace_file_id\)"):
            trace.execute("SELECT to_boottime('BOOTTIME', 0, 1, 0, 'phone')").fetchall()


def test_each_file_of_a_machine_has_its_own_clocks(connect):
    with closing(connect([FRONTEND, BACKEND])) as trace:
        mine = trace.execute("SELECT id FROM trace_file WHERE name = 'frontend.pftrace'").fetchone()[0]
        at = "com.example.cycles", 0, 9_000_000, 0
        assert trace.execute("SELECT to_boottime(?, ?, ?, ?, ?)", [*at, mine]).fetchone() == (502_000_000_000,)
        assert trace.execute("SELECT to_boottime(?, ?, ?, ?, NULL)", at).fetchone() == (None,)
        reason = "SELECT why_unresolved(?, ?, ?, 'BOOTTIME', 0, ?, NULL)"
        assert trace.execute(reason, at).fetchone() == ("unknown_clock",)


# Refused input


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(timebase.ImportFailed, match="^cannot open .*none.pftrace: No such file"):
        timebase.import_trace([PHONE, tmp_path / "none.pftrace"], tmp_path / "x.db")
    with pytest.raises(FileNotFoundError, match="none.pftrace"):
        timebase.connect([PHONE, tmp_path / "none.pftrace"])
    with pytest.raises(timebase.ImportFailed, match="^cannot open .*none.json: No such file"):
        timebase.connect([PHONE, WATCH], manifest=tmp_path / "none.json")
    assert list(tmp_path.iterdir()) == []


def test_two_of_one_name_are_refused(tmp_path):
    copied = shutil.copy(WATCH, tmp_path / "phone.pftrace")
    with pytest.raises(timebase.ImportFailed) as error:
        timebase.connect([PHONE, copied])
    assert str(error.value).startswith(f"{PHONE} and {copied} have the same name, 'phone.pftrace', ")


@pytest.mark.parametrize(
    "files, where",
    [
        ({"version": 2}, "version"),
        ({"version": 1, "files": [{"path": "phone.pftrace", "machine": {}}]}, r"files\[0\].machine.name"),
    ],
)
def test_a_manifest_that_is_none_is_refused_with_its_place(files, where, tmp_path):
    manifest = tmp_path / "manifest.json"
    manifest.write_text(json.dumps({"perfetto_manifest": files}))
    with pytest.raises(timebase.ImportFailed, match=f"^perfetto_manifest: {where}"):
        timebase.import_trace([PHONE, WATCH], tmp_path / "x.db", manifest=manifest)
    assert not (tmp_path / "x.db").exists()


def test_an_archive_in_an_archive_is_refused(tmp_path):
    with pytest.raises(timebase.ImportFailed, match="phone-and-watch.tar is a tar archive, which"):
        timebase.connect([PHONE, TAR])


def test_what_is_no_trace_is_left_out_with_a_warning_or_refused(tmp_path):
    (tmp_path / "notes --force.txt").write_text("none")
    given = [PHONE, tmp_path / "notes --force.txt"]
    with pytest.warns(timebase.TraceWarning, match="notes --force.txt: not a trace, left out"):
        timebase.import_trace(given, tmp_path / "x.db")
    with pytest.raises(timebase.ImportFailed, match="notes --force.txt is not a trace. Without strict=True, it is left out"):
        timebase.import_trace(given, tmp_path / "y.db", strict=True)


def test_a_database_is_not_imported(tmp_path):
    database = timebase.import_trace(PHONE, tmp_path / "phone.db")
    for ask in (timebase.connect, timebase.report, timebase.doctor):
        with pytest.raises(ValueError, match="phone.db is a database, but only traces can be imported together"):
            ask([WATCH, database])
        with pytest.raises(ValueError, match="phone.db is a database, but a manifest only applies to an import"):
            ask(database, manifest=MACHINES)


def test_arguments_of_wrong_types_are_told(tmp_path):
    with pytest.raises(ValueError, match="there is no trace in the list"):
        timebase.connect([])
    with pytest.raises(TypeError, match="each trace of a list must be a path or a file object, not int"):
        timebase.import_trace([PHONE, 5], tmp_path / "x.db")
    with pytest.raises(TypeError, match="trace must be a path, a file object, or a list of them, not bytes"):
        timebase.connect(b"phone.pftrace")
    with pytest.raises(TypeError, match="db is needed where there are several traces"):
        timebase.import_trace([PHONE, WATCH])
    with pytest.raises(TypeError, match="dict"):
        timebase.connect([PHONE, WATCH], manifest={"perfetto_manifest": {"version": 1}})


# Databases of several traces


def test_the_database_is_read_only_and_goes_with_the_connection(connect, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with closing(connect([PHONE, WATCH], manifest=MACHINES)) as trace:
        assert len(list(tmp_path.iterdir())) == 1
        with pytest.raises(sqlite3.OperationalError, match="readonly database; it is temporary, made of a trace"):
            trace.execute("DELETE FROM trace_file")
        trace.execute("CREATE TEMP VIEW watch AS SELECT * FROM packet WHERE machine_id = 1")
        assert trace.execute("SELECT count(*) FROM watch").fetchone() == (10,)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ValueError, match="write=True is for databases"):
        connect([PHONE, WATCH], write=True)
    with pytest.raises(timebase.ImportFailed):
        connect([PHONE, PHONE])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("conversion", ["nearest", "linear"])
@pytest.mark.parametrize("kind", ["list", "tar", "tar.gz", "zip"])
def test_how_far_an_import_is_counts_all_files(kind, conversion, tmp_path):
    told = []
    traces, manifest = ([PHONE, WATCH], MACHINES) if kind == "list" else (packed(kind, tmp_path), None)
    timebase.import_trace(
        traces, tmp_path / "x.db", manifest=manifest, conversion=conversion, progress=lambda *state: told.append(state)
    )
    size = sum(Path(path).stat().st_size for path in (PHONE, WATCH, MACHINES))
    assert told[-1] == (size, size, 23)
    assert all(total is None or 0 <= read <= total for read, total, _ in told)


def test_several_files_are_rewritten_onto_one_timeline(tmp_path):
    with open(PHONE, "rb") as phone:
        summary = timebase.rewrite([phone, WATCH], tmp_path / "both.zip", merge=True)
    assert summary["files"] == 2
    timebase.rewrite([PHONE, WATCH], tmp_path / "both.zip", manifest=MACHINES, force=True)
    read = timebase.import_trace([PHONE, WATCH], tmp_path / "read.db", manifest=MACHINES)
    written = timebase.import_trace(tmp_path / "both.zip", tmp_path / "written.db")
    slices = "SELECT ts, dur, name, track_id FROM slice ORDER BY id"
    of = [timebase.connect(db).execute(slices).fetchall() for db in (read, written)]
    assert of[0] and of[0] == of[1]
