"""Chromium without a window, controlled by its own protocol.

The browser is the system's: the environment variable TIMEBASE_BROWSER names one, otherwise it is Chromium or Chrome in any usual
place. Commands go through two pipes, in JSON (https://chromedevtools.github.io/devtools-protocol). This needs no driver for the
browser's version, and no port. The alternatives were Selenium and Playwright; for a dozen commands they bring a driver, or a
browser of their own.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Dict, List

NAMES = ["chromium", "chromium-browser", "google-chrome", "/Applications/Chromium.app/Contents/MacOS/Chromium"]

FLAGS = [
    "--headless",
    "--no-sandbox",  # otherwise root could not run it
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
]


def path() -> str:
    """The path of the browser."""
    given = os.environ.get("TIMEBASE_BROWSER")
    found = given or next((found for name in NAMES if (found := shutil.which(name))), None)
    assert found, "a browser is needed: Debian: apt install chromium; or TIMEBASE_BROWSER names one"
    return found


class Browser:
    """A browser with one page."""

    def __init__(self, *flags: str) -> None:
        self._profile = tempfile.mkdtemp(prefix="timebase-browser-")
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()
        # The browser reads from descriptor 3 and writes to 4.
        command = [path(), *FLAGS, *flags, f"--user-data-dir={self._profile}", "about:blank"]
        shell = f"exec 3<&{to_browser} 4>&{from_browser}; exec \"$@\""
        self._process = subprocess.Popen(
            ["bash", "-c", shell, "bash", *command],
            pass_fds=(to_browser, from_browser),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        self.events: List[Dict[str, Any]] = []
        [page] = [target for target in self.do("Target.getTargets")["targetInfos"] if target["type"] == "page"]
        self._session = self.do("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.do(f"{domain}.enable")

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(timeout=30)
        os.close(self._write)
        os.close(self._read)
        shutil.rmtree(self._profile, ignore_errors=True)

    def do(self, method: str, **params: Any) -> Any:
        """Sends a command, and returns the answer."""
        self._number += 1
        message: Dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]
            self.events.append(answer)

    def _next(self) -> Dict[str, Any]:
        while b"\0" not in self._buffer:
            part = os.read(self._read, 1 << 16)
            assert part, "the browser has ended"
            self._buffer += part
        message, _, self._buffer = self._buffer.partition(b"\0")
        answer: Dict[str, Any] = json.loads(message)
        return answer

    def open(self, page: Path, *, width: int = 1100, dark: bool = False) -> None:
        """Opens a file, in a window of this width, on a light or a dark system."""
        self.events.clear()
        self.do("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.do("Emulation.setEmulatedMedia", features=[scheme])
        self.go(page.absolute().as_uri())

    def go(self, url: str) -> None:
        """Opens a page by its address."""
        self.do("Page.navigate", url=url)
        end = time.monotonic() + 60
        while self.run("document.readyState") != "complete" or self.run("location.href") != url:
            assert time.monotonic() < end, "the page does not load"
            time.sleep(0.05)

    def run(self, script: str) -> Any:
        """The value of a script on the page."""
        result = self.do("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def complaints(self) -> List[str]:
        """The messages in the browser's console."""
        found = []
        for event in self.events:
            if event["method"] in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
                found.append(json.dumps(event["params"]))
        return found

    def fetched(self) -> List[str]:
        """The addresses that the browser fetched."""
        return [event["params"]["request"]["url"] for event in self.events if event["method"] == "Network.requestWillBeSent"]

    def screenshot(self) -> bytes:
        """The whole page as a PNG."""
        shot = self.do("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        return base64.b64decode(shot["data"])

    def pdf(self) -> bytes:
        """The printed page."""
        return base64.b64decode(self.do("Page.printToPDF")["data"])
