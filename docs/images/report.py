"""Makes report.png, the picture of a page in docs/report.md and the README.

    cargo build -p timebase-cli -p timebase-lab && python3 docs/images/report.py

The trace is a made-up one of a minute, with a suspend and snapshots whose clocks were not read together.
It needs Chromium (Debian: apt install chromium).
"""

import base64
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
PROGRAMS = REPOSITORY / "target" / "debug"
TRACE = (
    "--preset wander --records 20k --seed 3 --set gap_ns=3ms --set crystals=2 --set outlier_every=20"
    " --set suspends=1 --set suspend_ns=5s"
)

sys.path.insert(0, str(REPOSITORY / "tests" / "python"))
from browser import Browser  # noqa: E402

with tempfile.TemporaryDirectory() as place:
    trace, page = Path(place) / "phone.pftrace", Path(place) / "phone.html"
    subprocess.run([PROGRAMS / "synth", *TRACE.split(), trace], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    # By its name only, as the page says where it was.
    subprocess.run([PROGRAMS / "timebase", "report", trace.name, "-o", page], check=True, cwd=place)
    browser = Browser()
    browser.open(page, width=900)
    # The head, the graph and the first two plots.
    browser.run("document.querySelector('#findings').remove()")
    edge = browser.run("document.querySelectorAll('#hops figure')[1].getBoundingClientRect().bottom + scrollY + 16")
    clip = {"x": 0, "y": 0, "width": 900, "height": edge, "scale": 1}
    shot = browser.do("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
    browser.close()
    (HERE / "report.png").write_bytes(base64.b64decode(shot["data"]))
