"""docs/datasette.md: its commands and their output; and the plugin, page by page."""

import asyncio
import json
import os
import re
import shutil
import socket
import sqlite3
import subprocess
import sysconfig
import time
import tomllib
import urllib.error
import urllib.parse
import urllib.request
from contextlib import closing
from html import unescape

import pytest
import timebase
from conftest import DATA, PACKAGE, REPOSITORY

datasette = pytest.importorskip("datasette")
from datasette.app import Datasette  # noqa: E402
from datasette.plugins import pm  # noqa: E402
from datasette.utils import tilde_encode  # noqa: E402
from datasette.utils.sqlite import sqlite3 as DRIVER  # noqa: E402
from timebase import _datasette  # noqa: E402

PAGE = (REPOSITORY / "docs" / "datasette.md").read_text(encoding="utf-8")
COMMANDS = [line[4:] for line in PAGE.splitlines() if re.match(r"    (timebase|datasette|curl) ", line)]

# The page


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@pytest.fixture
def installed(in_repository):
    """The environment of a user who has installed the package, with its entry points."""
    programs = in_repository / "programs"
    programs.mkdir()
    (programs / "timebase").symlink_to(os.environ["TIMEBASE_PROGRAM"])
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    about = in_repository / "packages" / "timebase-0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: timebase\nVersion: 0\n")
    lines = [f"{name} = {module}" for name, module in project["entry-points"]["datasette"].items()]
    (about / "entry_points.txt").write_text("\n".join(["[datasette]", *lines, ""]))
    # Python and datasette are those of this environment.
    return {
        **os.environ,
        "PATH": os.pathsep.join([str(programs), sysconfig.get_path("scripts"), os.environ["PATH"]]),
        "PYTHONPATH": os.pathsep.join([os.environ["PYTHONPATH"], str(about.parent)]),
    }


@pytest.fixture
def server(installed):
    """Datasette, started by the page's commands in its own directory."""
    imports, serves, _ = COMMANDS
    subprocess.run(imports, shell=True, check=True, env=installed, capture_output=True)
    port = free_port()
    process = subprocess.Popen(
        ["/bin/sh", "-c", f"exec {serves} --port {port}"], env=installed, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    try:
        yield wait_until_it_answers(process, f"http://127.0.0.1:{port}")
    finally:
        process.terminate()
        process.wait()


def wait_until_it_answers(process, address):
    for _ in range(300):
        if process.poll() is not None:
            pytest.fail(f"datasette ended: {process.stderr.read().decode()}")
        try:
            urllib.request.urlopen(f"{address}/-/versions.json", timeout=5).close()
            return address
        except OSError:
            time.sleep(0.1)
    pytest.fail("datasette does not answer")


def get(address):
    with urllib.request.urlopen(address, timeout=30) as answer:
        return answer.read().decode()


def rows(server, sql):
    return json.loads(get(f"{server}/late-frame.json?{urllib.parse.urlencode({'sql': sql, '_shape': 'array'})}"))


def test_the_page(server):
    [expected] = re.findall(r"^    (\[\{.*\])$", PAGE, re.M)
    [asked] = re.findall(r'"http://127.0.0.1:8001(.*?)"', COMMANDS[2])
    assert json.loads(get(server + urllib.parse.quote(asked, safe="/?=&+(),"))) == json.loads(expected)

    [linked] = re.findall(r"^    http://127.0.0.1:8001(.*)$", PAGE, re.M)
    assert "5000195000000" in get(server + urllib.parse.quote(linked, safe="/?=&+(),"))

    [sql] = re.findall(r"```sql\n(.*?)```", PAGE, re.S)
    found = rows(server, sql)
    assert {row["tag"] for row in found} == {"example.app", "OpenGLRenderer"}
    assert all(abs(row["us_after"]) <= 2000 for row in found)

    front = get(f"{server}/late-frame")
    assert "Slowest slices" in front and "sched_record" not in re.sub(r"hidden.*", "", front, flags=re.S)
    assert "+0.196000 s" in get(f"{server}/late-frame/sched?ts=5000196000000")


def test_its_pictures_are_there_and_small():
    pictures = re.findall(r"!\[.+?\]\((images/.*?\.png)\)", PAGE)
    assert len(pictures) >= 3
    for picture in pictures:
        data = (REPOSITORY / "docs" / picture).read_bytes()
        assert data.startswith(b"\x89PNG") and len(data) < 200_000


def test_functions_of_the_extension_and_their_errors(server):
    stage = "SELECT packet_field(data, 'gpu_render_stage_event.name') AS stage FROM packet"
    [row] = rows(server, f"{stage} WHERE type = 'gpu_render_stage_event' LIMIT 1 OFFSET 11")
    assert row == {"stage": "frame 11"}
    [row] = rows(server, "SELECT to_realtime(5000195000000) AS exact")
    assert row == {"exact": 1700005000195000000}
    if hasattr(DRIVER.Connection, "enable_load_extension"):
        [row] = rows(server, "SELECT count(*) AS hops FROM clock_path('REALTIME', 0, 1700005000195000000)")
        assert row == {"hops": 1}
        with pytest.raises(urllib.error.HTTPError) as error:
            rows(server, "SELECT to_boottime(3, 0, 'x')")
        assert "argument 3 (ts) must be an integer" in error.value.read().decode()


# The plugin


@pytest.fixture(scope="module", autouse=True)
def plugin():
    """The plugin in this process, in which Datasette may use another SQLite than the other tests.

    A process can load the extension into only one of them, so the functions are registered from Python here. In its own process,
    Datasette loads the extension: see `server`.
    """
    pm.register(_datasette, "timebase")
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(_datasette, "_can_load", lambda conn: False)
        yield
    pm.unregister(name="timebase")


@pytest.fixture(scope="module")
def databases(tmp_path_factory):
    directory = tmp_path_factory.mktemp("databases")
    names = {"late": "late-frame", "app": "app", "desktop": "desktop", "small": "multihop", "logs": "logs"}
    for name, trace in names.items():
        timebase.import_trace(DATA / f"{trace}.pftrace", directory / f"{name}.db")
    with closing(sqlite3.connect(directory / "other.db")) as other:
        other.execute("CREATE TABLE slice (ts INTEGER, packet_id INTEGER, utid INTEGER)")
        other.execute("INSERT INTO slice VALUES (5000196000000, 1, 2)")
        other.commit()
    return directory


def pages(databases, *paths, names=("late", "app", "other"), **settings):
    """The pages of a Datasette that serves these databases."""

    async def answers():
        served = Datasette([str(databases / f"{name}.db") for name in names], **settings)
        await served.invoke_startup()
        found = [await served.client.get(path, follow_redirects=True) for path in paths]
        for path, answer in zip(paths, found):
            assert answer.status_code == 200, (path, answer.text[-500:])
        return [answer.text for answer in found]

    return asyncio.run(answers())


def cells(page, column):
    return re.findall(rf'<td class="col-{column}[^>]*>(.*?)</td>', page, re.S)


def test_tables_are_described_and_those_behind_the_views_are_hidden(databases):
    tables, view, columns = pages(databases, "/late?_show_hidden=1", "/late/slice", "/late/packet")
    [listed] = re.findall(r"<h2[^>]*>Tables</h2>(.*)", tables, re.S)
    hidden = set(re.findall(r'<a href="/late/(\w+)">\w+</a><em> \(hidden\)</em>', listed))
    assert {"sched_record", "thread_record", "string", "arg_set"} <= hidden
    assert not hidden & {"packet", "clock", "clock_snapshot", "import_log", "stats", "flow"}
    assert "A row is a slice" in view or "<p>A row is" in view
    assert "0, 1, 2 … in file order; for several files, in the order in which the import reads them (integer, key)" in unescape(columns)


def test_every_table_and_column_of_a_database_is_described(databases):
    described = _datasette._described()["tables"]
    with closing(sqlite3.connect(databases / "late.db")) as plain:
        columns = plain.execute(
            "SELECT s.name, c.name FROM sqlite_schema AS s, pragma_table_xinfo(s.name) AS c"
            " WHERE s.type IN ('table', 'view') AND s.name NOT LIKE 'sqlite%'"
        ).fetchall()
    assert len(columns) > 500
    for table, column in columns:
        # Trace processor's own name of a table is described by the name without its beginning.
        of_table = described.get(table) or described[table.removeprefix("__intrinsic_")]
        assert of_table["description_html"] and of_table["columns"][column]


@pytest.mark.parametrize("name", ["late", "app", "desktop", "small", "logs"])
def test_the_queries_that_come_with_it_answer_on_any_trace(databases, name):
    queries = _datasette._described()["queries"]
    paths = [f"/{name}/{query}" for query in queries]
    for query, page in zip(queries, pages(databases, *paths, names=[name], settings={"sql_time_limit_ms": 20_000})):
        assert 'class="message-error"' not in page, query


def test_a_query_is_answered_with_links_and_times(databases):
    waits, at = pages(databases, "/late/longest-waits-for-a-cpu", "/late/what-ran-at-a-time?ts=5000196000000")
    assert '<a href="/late/thread?utid=2">2</a>' in cells(waits, "utid")[0]
    assert 'title="2023-11-14T23:36:40.195000000"' in cells(waits, "ts")[0]
    assert "5000195000000" in cells(waits, "ts")[0] and "+0.195000 s" in cells(waits, "ts")[0]
    assert [re.sub("<.*?>", "", cell).strip() for cell in cells(at, "thread_name")] == ["swapper", "HeapTaskDaemon"]
    assert "12060000" in cells(at, "dur")[0] and "12.060 ms" in cells(at, "dur")[0]


def test_numbers_lead_to_their_rows(databases):
    with closing(sqlite3.connect(databases / "app.db")) as plain:
        views = dict(plain.execute("SELECT name, sql FROM sqlite_schema WHERE type IN ('table', 'view')"))
        columns = {(table, column) for table in views for (column,) in plain.execute("SELECT name FROM pragma_table_info(?)", [table])}
        for table, column in sorted(columns):
            target = _datasette.link(column, table)
            if target is None:
                continue
            assert target in columns, (table, column, target)
            values = plain.execute(f'SELECT DISTINCT "{column}" FROM "{table}" WHERE "{column}" IS NOT NULL LIMIT 5').fetchall()
            for (value,) in values:
                there = plain.execute(f'SELECT EXISTS (SELECT * FROM "{target[0]}" WHERE "{target[1]}" = ?)', [value]).fetchone()
                assert there == (1,), (table, column, value, target)
    assert _datasette.link("parent_id", "slice") == ("slice", "id")
    assert _datasette.link("parent_id", "thread_track") == ("track", "id")
    assert _datasette.link("parent_id", None) is None
    [page] = pages(databases, "/app/slice?_size=3&depth=1")
    assert re.search(r'<a href="/app/packet\?id=\d+">\d+</a>', cells(page, "packet_id")[0])
    [linked] = re.findall(r'href="(.*?)"', cells(page, "parent_id")[0])
    [parent] = pages(databases, unescape(linked))
    assert len(cells(parent, "name")) == 1


def test_only_times_are_taken_for_times(databases):
    times = {"ts", "ts_end", "first_ts", "last_ts", "start_ts", "end_ts", "ts_in", "ts_out"}
    others = {"clock_ts", "timestamp", "parts", "tsc", "bits", "counts", "duration_hint"}
    assert all(_datasette._TIME.fullmatch(name) for name in times)
    assert not any(_datasette._TIME.fullmatch(name) for name in others)
    sql = "SELECT 12 AS ts, 5000196000000 AS first_ts, 5000196000000 AS clock_ts, 'x' AS dur, -1 AS self_dur"
    [page] = pages(databases, "/late?" + urllib.parse.urlencode({"sql": sql}))
    assert [cells(page, name)[0].strip() for name in ("ts", "clock_ts", "dur", "self_dur")] == ["12", "5000196000000", "x", "-1"]
    assert "+0.196000 s" in cells(page, "first_ts")[0]


def test_other_databases_are_left_alone(databases):
    front, table = pages(databases, "/other", "/other/slice")
    assert "Slowest slices" not in front and "every event on one clock" not in front
    assert cells(table, "packet_id")[0].strip() == "1" and cells(table, "ts")[0].strip() == "5000196000000"

    async def ask():
        served = Datasette([str(databases / "other.db")])
        await served.invoke_startup()
        answer = await served.client.get("/other.json?sql=select+clock_id('BOOTTIME')")
        return answer.json()

    assert "no such function: clock_id" in asyncio.run(ask())["error"]


def test_what_the_user_says_of_a_table_counts(databases):
    said = {"databases": {"late": {"title": "My trace", "tables": {"packet": {"description_html": "<p>Mine.</p>"}}}}}
    front, table, again = pages(databases, "/late", "/late/packet", "/late/clock", metadata=said)
    assert "My trace" in front and "Slowest slices" in front
    assert "<p>Mine.</p>" in table and "in file order" in table
    assert "A row is a clock" in again
    # And in no other place.
    [other] = pages(databases, "/late/packet")
    assert "Mine." not in other and "A row is a packet" in other


def test_the_bytes_of_a_packet_are_a_link_to_them(databases):
    [page] = pages(databases, "/late/packet?_size=1")
    [(where, size)] = re.findall(r'href="([^"]+)">([\d,]+) bytes</a>', cells(page, "data")[0])
    assert where == "/late/packet_record/0.blob?_blob_column=data"

    async def get():
        served = Datasette([str(databases / "late.db")])
        await served.invoke_startup()
        return await served.client.get(where)

    found = asyncio.run(get())
    with closing(sqlite3.connect(databases / "late.db")) as plain:
        [data] = plain.execute("SELECT data FROM packet WHERE id = 0").fetchone()
    assert found.content == data and size == f"{len(data):,}"


def test_functions_are_there_in_any_python(databases):
    sql = "SELECT to_boottime('REALTIME', 0, 1700005000195000000) AS ts, packet_json(data) AS j FROM packet LIMIT 1"
    [page] = pages(databases, "/late.json?_shape=array&" + urllib.parse.urlencode({"sql": sql}))
    [row] = json.loads(page)
    assert row["ts"] == 5000195000000 and row["j"].startswith("{")


def test_without_the_library_the_rest_is_there(databases, monkeypatch, tmp_path):
    monkeypatch.setenv("TIMEBASE_EXTENSION", str(tmp_path / "none.so"))
    with pytest.warns(UserWarning, match="timebase's SQL functions are missing: the extension is not at"):
        front, table = pages(databases, "/late", "/late/sched?_size=1")
    assert "Slowest slices" in front
    assert cells(table, "ts")[0].strip() == "5000000060000" and '/late/thread?utid=' in cells(table, "utid")[0]


def test_without_the_plugin_a_metadata_file_says_the_same(databases, tmp_path):
    command = [os.environ["TIMEBASE_PROGRAM"], "datasette-metadata", "late.db", "x/other.trace.db"]
    said = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert list(said["databases"]) == ["late", "other.trace"]
    pm.unregister(name="timebase")
    try:
        front, table = pages(databases, "/late", "/late/clock", metadata=said)
    finally:
        pm.register(_datasette, "timebase")
    assert "Slowest slices" in front and "A row is a clock" in table
    wrong = subprocess.run([command[0], "datasette-metadata"], capture_output=True, text=True)
    assert wrong.returncode == 2 and "<DB>" in wrong.stderr


def test_a_database_may_be_called_anything(databases, tmp_path):
    shutil.copy(databases / "late.db", tmp_path / "my trace.1.db")
    path = "/" + tilde_encode("my trace.1")
    [page] = pages(tmp_path, f"{path}/sched?_size=1", names=["my trace.1"])
    assert f'href="{path}/thread?utid=' in cells(page, "utid")[0]
