"""A user who waits for a long import sees its progress; a script prints nothing."""

import io
import os
import re
import stat
import struct
import subprocess
import sys

import nbclient
import nbformat.v4
import pytest
import timebase
from conftest import DATA

SDK = DATA / "sdk.pftrace"

# A terminal is a POSIX terminal here, and the slow program is a script.
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")


def test_a_function_is_told_what_was_read_of_how_much(tmp_path):
    told = []
    timebase.import_trace(SDK, tmp_path / "a.db", progress=lambda *state: told.append(state))
    assert told[-1] == (SDK.stat().st_size, SDK.stat().st_size, 4825)
    assert all(0 <= read <= total for read, total, _ in told)
    told.clear()
    with timebase.connect(io.BytesIO(SDK.read_bytes()), progress=lambda *state: told.append(state)):
        assert told[-1] == (SDK.stat().st_size, None, 4825)
    told.clear()
    pytest.importorskip("pandas")
    assert timebase.read_sql("SELECT 1 AS x", SDK, progress=lambda *state: told.append(state)).x[0] == 1
    assert told


def test_a_function_that_fails_ends_the_import_and_leaves_nothing(tmp_path):
    class Endless(io.RawIOBase):
        def read(self, size=-1):
            return SDK.read_bytes()

    def fails(*state):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        timebase.import_trace(Endless(), tmp_path / "a.db", progress=fails)
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_function_is_told(tmp_path):
    with pytest.raises(TypeError, match="progress must be None, True, False or a function, not str"):
        timebase.import_trace(SDK, tmp_path / "a.db", progress="yes")


@pytest.fixture
def slow(tmp_path, monkeypatch):
    """A program that runs for a given time, and reports progress on request."""

    def program(seconds):
        path = tmp_path / "timebase"
        path.write_text(
            f"""#!{sys.executable}
import sys, time
for step in range(21):
    if "--progress=lines" in sys.argv:
        phase = "writing" if step == 20 else "reading"
        state = '{{"bytes":%d,"of":1000000,"packets":%d,"phase":"%s"}}'
        print(state % (step * 50_000, step * 500, phase), file=sys.stderr, flush=True)
    time.sleep({seconds} / 21)
"""
        )
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("TIMEBASE_PROGRAM", str(path))

    return program


def importing(progress, before=""):
    return f"{before}import timebase; timebase.import_trace({str(SDK)!r}, 'x.db', progress={progress}); print('done')"


#: The environment of a machine without tqdm.
WITHOUT_TQDM = "import sys; sys.modules['tqdm'] = sys.modules['tqdm.auto'] = None; "
EACH_WAY = pytest.mark.parametrize("before", ["", WITHOUT_TQDM], ids=["tqdm", "plain"])


def in_terminal(code):
    """The output of a Python that runs `code`, in a terminal of 80 columns."""
    import fcntl
    import pty
    import termios

    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    environment = {**os.environ, "TERM": "xterm"}
    process = subprocess.Popen([sys.executable, "-c", code], stdin=child, stdout=child, stderr=child, env=environment)
    os.close(child)
    sent = b""
    try:
        while part := os.read(parent, 4096):
            sent += part
    except OSError:  # Linux reports the end in this way
        pass
    finally:
        os.close(parent)
    assert process.wait() == 0, sent
    return sent.decode()


@EACH_WAY
def test_in_a_terminal_it_is_shown_when_it_takes_long_and_then_gone(slow, before):
    slow(2.5)
    *drawn, wiped, last = re.split(r"\r(?!\n)", in_terminal(importing("None", before)))
    drawn = [line for line in drawn if line.strip()]
    percents = [int(re.match(r"(?:importing|writing indexes): +(\d+) ?%", line)[1]) for line in drawn]
    # Only after a second has passed, of two and a half.
    assert 30 < percents[0] < 70 and percents == sorted(percents)
    assert drawn[-1].startswith("writing indexes: 100") and "10,000 packets" in drawn[-1]
    assert all(len(line) <= 80 for line in drawn)
    assert not wiped.strip() and last == "done\r\n"


@EACH_WAY
@pytest.mark.parametrize("progress, seconds", [("None", 0.3), ("False", 1.5)])
def test_in_a_terminal_nothing_is_shown_of_what_is_over_at_once_or_not_wanted(slow, before, progress, seconds):
    slow(seconds)
    assert in_terminal(importing(progress, before)) == "done\r\n"


@EACH_WAY
def test_a_script_is_silent_unless_it_asks(slow, before):
    slow(1.5)
    for progress, shown in [("None", False), ("True", True)]:
        code = importing(progress, before)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout == "done\n" and ("packets" in done.stderr) == shown, done.stderr
    assert "0 packets" in done.stderr


def test_a_notebook_shows_it(slow, tmp_path):
    slow(2)
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(importing("None"))])
    where = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=60, kernel_name="python3", resources=where).execute()
    text = "".join(output.get("text", "") for output in notebook.cells[0].outputs)
    assert "writing indexes" in text and "done" in text
    assert "Warning" not in text
