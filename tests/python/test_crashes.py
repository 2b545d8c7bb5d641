"""The files that remain if this process, or the program, ends in the middle of an import."""

import io
import os
import signal
import sqlite3
import subprocess
import sys
import time

import pytest
import timebase
from conftest import DATA

pytestmark = pytest.mark.heavy

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and locks are those of POSIX")

SDK = DATA / "sdk.pftrace"
NEAREST = DATA / "nearest.pftrace"

#: The start of the tested process: a trace that never ends, and is whole in the middle.
PRELUDE = f"""
import io, sys, threading, time
import timebase

class Endless(io.RawIOBase):
    given = False
    def read(self, size=-1):
        if not self.given:
            self.given = True
            return open({str(NEAREST)!r}, "rb").read()
        print("waiting", flush=True)
        time.sleep(60)
"""


def until(is_so):
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def left(directory):
    return sorted(path.name for path in directory.iterdir())


@pytest.fixture(params=[False, True], ids=["new", "force"])
def older(request, tmp_path):
    """The bytes of the database at the destination, or None."""
    if not request.param:
        return None
    return timebase.import_trace(SDK, tmp_path / "trace.db").read_bytes()


@pytest.fixture
def place(tmp_path, older):
    """The destination, which must not change."""
    path = tmp_path / "trace.db"
    yield path
    # If its caller was killed, the program may still be running.
    until(lambda: left(tmp_path) == ([] if older is None else ["trace.db"]))
    assert older is None or path.read_bytes() == older


def python(code, temporary=None):
    environment = {**os.environ, **({"TMPDIR": str(temporary)} if temporary else {})}
    command = [sys.executable, "-c", PRELUDE + code]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, env=environment, text=True, **pipes)


def started(code, temporary=None):
    process = python(code, temporary)
    assert process.stdout.readline() == "waiting\n", process.stderr.read()
    return process


@pytest.mark.parametrize("signalled", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_process_that_is_ended_leaves_what_was_there(place, signalled):
    process = started(f"timebase.import_trace(Endless(), {str(place)!r}, force=True)")
    process.send_signal(signalled)
    _, said = process.communicate(timeout=60)
    assert process.returncode != 0
    assert ("KeyboardInterrupt" in said) == (signalled == signal.SIGINT)


def test_a_process_that_is_ended_while_it_waits_for_a_pipe_leaves_what_was_there(place, tmp_path_factory):
    pipe = tmp_path_factory.mktemp("pipe") / "trace"
    os.mkfifo(pipe)
    code = f"print('waiting', flush=True); timebase.import_trace({str(pipe)!r}, {str(place)!r}, force=True)"
    process = started(code)
    with open(pipe, "wb") as feed:  # after the program has opened it
        feed.write(NEAREST.read_bytes())
        feed.flush()
        until(lambda: any(name.startswith(".timebase-") for name in left(place.parent)))
        process.kill()
        process.communicate(timeout=60)
        # Nobody reads the program's lines, so the program gives up while the pipe is open.
        until(lambda: not any(name.startswith(".timebase-") for name in left(place.parent)))


@pytest.mark.parametrize("daemon", [True, False])
def test_an_interpreter_that_ends_while_a_thread_imports(place, daemon):
    code = f"""
def work():
    timebase.import_trace(Endless(), {str(place)!r}, force=True)
threading.Thread(target=work, daemon={daemon}).start()
time.sleep(0.5)
raise SystemExit(3)
"""
    process = started(code)
    if not daemon:
        # The process waits for the thread, as Python does.
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=2)
        process.kill()
    process.communicate(timeout=60)
    assert process.returncode == (3 if daemon else -signal.SIGKILL)


def test_a_function_or_a_stream_that_fails_leaves_what_was_there(place):
    class Fails:
        def __init__(self, then):
            self._pieces, self._then = [NEAREST.read_bytes()], then

        def read(self, size=-1):
            return self._pieces.pop() if self._pieces else self._then()

    with pytest.raises(ZeroDivisionError):
        timebase.import_trace(Fails(lambda: 1 // 0), place, force=True)
    for no_bytes in ["text", None]:
        with pytest.raises(TypeError, match="bytes-like object is required"):
            timebase.import_trace(Fails(lambda: no_bytes), place, force=True)

    def fails(*state):
        raise KeyboardInterrupt

    # A file of this size may be imported before anybody can stop the import.
    with pytest.raises(KeyboardInterrupt):
        timebase.import_trace(Slow(io.BytesIO(SDK.read_bytes())), place, force=True, progress=fails)


class Slow:
    """A stream that lasts long enough to be observed."""

    def __init__(self, stream):
        self._stream = stream

    def read(self, size=-1):
        time.sleep(0.05)
        return self._stream.read(1000)


def test_a_program_that_is_killed_is_told_and_cleared_by_the_next(tmp_path, monkeypatch):
    killed = tmp_path / "timebase"
    program = os.environ["TIMEBASE_PROGRAM"]
    killed.write_text(f"""#!/bin/sh
exec 3<&0
{program} import --output={tmp_path}/trace.db --pieces - <&3 &
while ! ls -d {tmp_path}/.timebase-*/incomplete >/dev/null 2>&1; do sleep 0.01; done
kill -9 $!
kill -9 $$
""")
    killed.chmod(0o755)
    monkeypatch.setenv("TIMEBASE_PROGRAM", str(killed))
    with pytest.raises(timebase.ImportFailed, match="ended with code -9"):
        timebase.import_trace(Slow(io.BytesIO(SDK.read_bytes())), tmp_path / "trace.db")
    monkeypatch.setenv("TIMEBASE_PROGRAM", program)
    litter = [name for name in left(tmp_path) if name != "timebase"]
    assert len(litter) == 1 and litter[0].startswith(".timebase-")
    timebase.import_trace(SDK, tmp_path / "trace.db")
    assert left(tmp_path) == ["timebase", "trace.db"]


def test_a_temporary_database_of_a_process_that_was_killed_is_removed_by_the_next(tmp_path):
    code = f"""
trace = timebase.connect({str(SDK)!r})
print("waiting", flush=True)
sys.stdin.readline()
print(trace.execute("SELECT count(*) FROM packet").fetchone()[0])
"""
    living = started(code, tmp_path)
    while_open = started(code, tmp_path)
    while_importing = started("timebase.connect(Endless())", tmp_path)
    assert len(left(tmp_path)) == 3
    for process in (while_open, while_importing):
        process.kill()
        process.communicate()
    # The next program removes the leftovers, whether it is started by itself or from Python.
    program = [os.environ["TIMEBASE_PROGRAM"], "query", str(SDK), "SELECT 1"]
    subprocess.run(program, env={**os.environ, "TMPDIR": str(tmp_path)}, check=True, capture_output=True)
    until(lambda: len(left(tmp_path)) == 1)
    again = started(code, tmp_path)
    again.kill()
    again.communicate()
    started("timebase.connect(" + repr(str(SDK)) + ").close(); print('waiting', flush=True)", tmp_path).communicate()
    assert len(left(tmp_path)) == 1
    said, _ = living.communicate("\n")
    assert said == "4825\n"
    assert left(tmp_path) == []


def test_what_is_whole_is_there(tmp_path):
    """The tests above would see a database if one was made."""
    timebase.import_trace(Slow(io.BytesIO(NEAREST.read_bytes())), tmp_path / "trace.db")
    with sqlite3.connect(tmp_path / "trace.db") as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert left(tmp_path) == ["trace.db"]
