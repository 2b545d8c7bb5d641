"""docs/datasette.md: its commands, and what it says comes out."""

import json
import os
import re
import socket
import subprocess
import sysconfig
import time
import urllib.error
import urllib.parse
import urllib.request

import pytest
from conftest import REPOSITORY
from timebase import _extension

PAGE = (REPOSITORY / "docs" / "datasette.md").read_text(encoding="utf-8")
COMMANDS = [line[4:] for line in PAGE.splitlines() if re.match(r"    (timebase|datasette|curl) ", line)]

pytestmark = pytest.mark.skipif(
    not _extension._python_can_load(), reason="Datasette needs a Python with extension loading"
)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@pytest.fixture
def server(in_repository):
    """Datasette, started by the commands of the page in a directory of its own."""
    programs = in_repository / "programs"
    programs.mkdir()
    (programs / "timebase").symlink_to(os.environ["TIMEBASE_PROGRAM"])
    # Python's and datasette's are those of this environment.
    path = os.pathsep.join([str(programs), sysconfig.get_path("scripts"), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path}
    imports, serves, _ = COMMANDS
    subprocess.run(imports, shell=True, check=True, env=environment, capture_output=True)
    port = free_port()
    process = subprocess.Popen(
        ["/bin/sh", "-c", f"exec {serves} --port {port}"], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
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


def test_functions_of_the_extension_and_their_errors(server):
    stage = "SELECT packet_field(data, 'gpu_render_stage_event.name') AS stage FROM packet"
    [row] = rows(server, f"{stage} WHERE type = 'gpu_render_stage_event' LIMIT 1 OFFSET 11")
    assert row == {"stage": "frame 11"}
    [row] = rows(server, "SELECT count(*) AS hops FROM clock_path('REALTIME', 0, 1700005000195000000)")
    assert row == {"hops": 1}
    [row] = rows(server, "SELECT to_realtime(5000195000000) AS exact")
    assert row == {"exact": 1700005000195000000}
    with pytest.raises(urllib.error.HTTPError) as error:
        rows(server, "SELECT to_boottime(3, 0, 'x')")
    assert "argument 3 (ts) must be an integer" in error.value.read().decode()
