"""`timebase view` in a real browser: only the UI's origin gets the trace."""

import http.server
import os
import signal
import ssl
import subprocess
import threading
from contextlib import closing, contextmanager

import pytest
import timebase
import trustme
from browser import Browser
from conftest import DATA

TRACE = DATA / "doctor" / "drift.pftrace"
UI, OTHER = "https://ui.perfetto.dev", "https://example.com"


class Blank(http.server.BaseHTTPRequestHandler):
    """An empty page for every request."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>page</title>")

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def browser():
    """A browser in which both origins are this machine, so that no request leaves the machine."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Blank)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    names = [origin.removeprefix("https://") for origin in (UI, OTHER)]
    trustme.CA().issue_cert(*names).configure_cert(context)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    here = f"127.0.0.1:{server.server_port}"
    rules = ",".join(f"MAP {name}:443 {here}" for name in names)
    with closing(Browser("--ignore-certificate-errors", f"--host-resolver-rules={rules}")) as browser:
        yield browser
    server.shutdown()


@contextmanager
def viewed(*arguments):
    """The program, and the address of the served trace."""
    command = [os.environ["TIMEBASE_PROGRAM"], "view", TRACE, "--conversion", "linear", "--no-browser", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        try:
            printed = program.stdout.readline().strip()
            assert printed.startswith(UI + "/#!/?url=http://127.0.0.1:9001/"), printed + program.stderr.read()
            yield program, printed.partition("url=")[2]
        finally:
            program.kill()


def fetched(browser, url, method="GET"):
    """The bytes that a page gets, or the kind of its error."""
    script = f"""
        fetch({url!r}, {{method: {method!r}}})
            .then(async (answer) => [answer.status, Array.from(new Uint8Array(await answer.arrayBuffer()))])
            .catch((error) => error.name)"""
    return browser.run(script)


def test_the_ui_gets_the_trace_and_the_program_ends(browser, tmp_path):
    timebase.rewrite(TRACE, tmp_path / "out.pftrace", conversion="linear")
    with viewed() as (program, url):
        browser.go(UI + "/")
        status, data = fetched(browser, url)
        assert status == 200 and bytes(data) == (tmp_path / "out.pftrace").read_bytes()
        assert program.wait(timeout=30) == 0


def test_the_ui_gets_a_trace_in_json_as_it_is(browser):
    command = [os.environ["TIMEBASE_PROGRAM"], "view", DATA / "training.json", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        url = program.stdout.readline().strip().partition("url=")[2]
        browser.go(UI + "/")
        status, data = fetched(browser, url)
        assert status == 200 and bytes(data) == (DATA / "training.json").read_bytes()
        assert program.wait(timeout=30) == 0
        assert "in Chrome's JSON format: the UI gets it as it is" in program.stderr.read()


def test_no_other_origin_path_or_method_gets_anything(browser):
    with viewed("--keep") as (program, url):
        browser.go(OTHER + "/")
        assert fetched(browser, url) == "TypeError"
        browser.go(UI + "/")
        assert fetched(browser, url + "x") == "TypeError"
        assert fetched(browser, url, "POST") == "TypeError"
        # By a name that points to this machine.
        assert fetched(browser, url.replace("127.0.0.1", "localhost")) == "TypeError"
        assert fetched(browser, url)[0] == 200
        assert program.poll() is None
        second = subprocess.run([os.environ["TIMEBASE_PROGRAM"], "view", TRACE], capture_output=True, text=True)
        assert second.returncode == 1 and f"port 9001 is in use by timebase (process {program.pid})" in second.stderr


def test_the_signal_that_ends_a_kept_view_is_no_error():
    with viewed("--keep") as (program, _):
        assert "until Ctrl-C" in program.stderr.readline()
        program.send_signal(signal.SIGINT)
        assert (program.wait(timeout=30), program.stderr.read()) == (0, "")
