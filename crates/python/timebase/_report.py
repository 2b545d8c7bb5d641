"""`report` and `doctor`: the program's page about the clocks of a trace, and their problems.

The page is shown in its own sandboxed frame (``srcdoc``). Its style does not reach the notebook, and the
notebook's style does not reach the page. Even without escaping, nothing from a stranger's trace could run
there. The alternative was to show the page's body directly in the notebook.
"""

from __future__ import annotations

import html
import json
import os
import subprocess
from contextlib import closing
from pathlib import Path
from typing import List, NamedTuple, Optional, Sequence, Union

from ._connection import connect, database_of
from ._program import Manifest, Trace, Traces, import_temporarily, program_path, reason, several
from ._progress import Progress
from ._scratch import Scratch


class ReportFailed(RuntimeError):
    """A page could not be made, or a database could not be examined. The message is the program's.

    >>> import sqlite3, timebase
    >>> other = sqlite3.connect("other.db")
    >>> _ = other.execute("CREATE TABLE t (x)")
    >>> timebase.report("other.db")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    timebase.ReportFailed: ...other.db is a SQLite database, but timebase did not make it
    """


class Report:
    """A page about the clocks of a trace. A notebook shows it, and a browser shows the saved file.

    >>> import timebase
    >>> page = timebase.report("tests/data/multihop.pftrace")
    >>> page
    <timebase.Report of multihop.pftrace>
    >>> page.save("multihop.html")
    PosixPath('multihop.html')
    """

    def __init__(self, page: str, name: str) -> None:
        #: The page: an HTML document without other files.
        self.html = page
        self._name = name

    def save(self, path: Union[str, "os.PathLike[str]"]) -> Path:
        """Writes the page to a file, and returns its path."""
        saved = Path(path)
        saved.write_text(self.html, encoding="utf-8")
        return saved

    def _repr_html_(self) -> str:
        return (
            '<iframe sandbox="" style="width:100%;height:80vh;border:1px solid #8888" '
            f'title="{html.escape(repr(self))}" srcdoc="{html.escape(self.html)}"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<timebase.Report of {self._name}>"


class Finding(NamedTuple):
    """A problem with the clocks of a trace, or a noteworthy fact: a row of the view ``finding``.

    >>> import timebase
    >>> timebase.Finding._fields[:3]
    ('check_name', 'severity', 'subject')
    """

    check_name: str
    #: "error", "warning" or "info".
    severity: str
    #: The clock, or another subject.
    subject: Optional[str]
    machine_id: Optional[int]
    #: The file that has the clock, or that is the subject.
    trace_file_id: Optional[int]
    clock_id: Optional[int]
    seq_id: Optional[int]
    #: The first packet that shows it, and the packet's position in the trace.
    packet_id: Optional[int]
    offset: Optional[int]
    #: The number of affected events, and their largest error in ns.
    events: Optional[int]
    worst_ns: Optional[int]
    message: str
    #: Advice for the producer of the trace.
    advice: Optional[str]


def report(
    trace_or_db: Traces,
    *,
    manifest: Optional[Manifest] = None,
    conversion: Optional[str] = None,
    progress: Progress = None,
) -> Report:
    """Makes a page about the clocks of a trace: their problems, how each clock runs, and the events without a time.

    `trace_or_db` is a trace (a path, or a file object open for reading bytes) or several, which it imports into a
    temporary database, with `manifest`, `conversion` and `progress` as for `import_trace`; or a database of timebase,
    which is an error if it has another conversion.

    Raises `ReportFailed`, and `ImportFailed` for a file that is no trace.

    >>> import timebase
    >>> page = timebase.report("tests/data/sdk.pftrace")
    >>> page.html[:15]
    '<!DOCTYPE html>'
    """
    traces = several(trace_or_db)
    [name, *others] = [
        os.path.basename(os.fspath(trace)) if isinstance(trace, (str, os.PathLike)) else "a file object" for trace in traces
    ]
    page = _asked(traces, ["report", "--output=-"], manifest, conversion, progress)
    return Report(page, f"{1 + len(others)} traces" if others else name)


def doctor(
    trace_or_db: Traces, *, manifest: Optional[Manifest] = None, progress: Progress = None
) -> List[Finding]:
    """Returns the problems with the clocks of a trace, and their remedies, errors first.

    `trace_or_db`, `manifest` and `progress` work as for `report`. The findings are the rows of the view ``finding``, which
    any query can read too; ``pandas.DataFrame(timebase.doctor(trace))`` makes a table of them.

    Raises `ReportFailed`, and `ImportFailed` for a file that is no trace.

    >>> import timebase
    >>> for finding in timebase.doctor("tests/data/dst.pftrace")[:1]:
    ...     print(finding.severity, finding.check_name, finding.subject)
    error clock_backwards REALTIME
    """
    command = ["doctor", "--format=json", "--fail-on=never"]
    answer = json.loads(_asked(several(trace_or_db), command, manifest, None, progress))
    return [Finding(**{name: row[name] for name in Finding._fields}) for row in answer["findings"]]


def _asked(
    traces: Sequence[Trace],
    command: List[str],
    manifest: Optional[Manifest],
    conversion: Optional[str],
    progress: Progress,
) -> str:
    """The program's answer about traces or a database."""
    database = database_of(traces, manifest)
    if database is not None:
        if conversion is not None:
            # `connect` explains a wrong conversion in Python's words.
            with closing(connect(database, conversion=conversion)):
                pass
        return _answer(command, Path(os.fspath(database)))
    # Imported here, so that the progress and the warnings are shown.
    scratch = Scratch()
    try:
        made = import_temporarily(traces, scratch.path / "trace.db", manifest, conversion, progress)
        return _answer(command, made)
    finally:
        scratch.remove()


def _answer(command: List[str], database: Path) -> str:
    process = subprocess.Popen(
        [os.fspath(program_path()), *command, "--", os.fspath(database)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "NO_COLOR": "1"},
    )
    try:
        answer, said = process.communicate()
    except BaseException:
        process.terminate()
        process.wait()
        raise
    if process.returncode != 0:
        lines = said.decode("utf-8", "replace").splitlines()
        raise ReportFailed(reason(lines) or f"timebase {command[0]} ended with code {process.returncode}")
    return answer.decode("utf-8")
