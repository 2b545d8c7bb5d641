"""`report` and `doctor`: the program's page about the clocks of a trace, and what is wrong with them.

The page is shown in a frame of its own (``srcdoc``), sandboxed: its style does not reach the
notebook, nor the notebook's the page, and what a stranger's trace brought along could run nothing there
even if it was not escaped. To show the page's body right in the notebook was the alternative.
"""

from __future__ import annotations

import html
import json
import os
import subprocess
from contextlib import closing
from pathlib import Path
from typing import List, NamedTuple, Optional, Union

from ._connection import connect, is_database
from ._program import Trace, import_temporarily, program_path, reason
from ._progress import Progress
from ._scratch import Scratch


class ReportFailed(RuntimeError):
    """A page could not be made, or a database not be examined. The message is the program's.

    >>> import sqlite3, timebase
    >>> other = sqlite3.connect("other.db")
    >>> _ = other.execute("CREATE TABLE t (x)")
    >>> timebase.report("other.db")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    timebase.ReportFailed: ...other.db is a SQLite database, but not one that timebase made
    """


class Report:
    """A page about the clocks of a trace. A notebook shows it, a browser once it is saved.

    >>> import timebase
    >>> page = timebase.report("tests/data/multihop.pftrace")
    >>> page
    <timebase.Report of multihop.pftrace>
    >>> page.save("multihop.html")
    PosixPath('multihop.html')
    """

    def __init__(self, page: str, name: str) -> None:
        #: The page: an HTML document that needs nothing else.
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
    """Something that is wrong with the clocks of a trace, or worth to know: a row of the view ``finding``.

    >>> import timebase
    >>> timebase.Finding._fields[:3]
    ('check_name', 'severity', 'subject')
    """

    check_name: str
    #: "error", "warning" or "info".
    severity: str
    #: The clock or what else it is about.
    subject: Optional[str]
    machine_id: Optional[int]
    clock_id: Optional[int]
    seq_id: Optional[int]
    #: The first packet that shows it, and where that is in the trace.
    packet_id: Optional[int]
    offset: Optional[int]
    #: How many events it costs, and by how many ns at most.
    events: Optional[int]
    worst_ns: Optional[int]
    message: str
    #: What the producer of the trace should do.
    advice: Optional[str]


def report(trace_or_db: Trace, *, conversion: Optional[str] = None, progress: Progress = None) -> Report:
    """A page about the clocks of a trace, to look at: what is wrong with them, how each runs, and what could not
    be placed in time.

    `trace_or_db` is a trace (a path, or a file object open for reading bytes), which is imported to a
    temporary database, with `conversion` and `progress` as with `import_trace`; or a database that was imported, which
    is refused if that was with another conversion.

    Raises `ReportFailed`, and `ImportFailed` for what is no trace.

    >>> import timebase
    >>> page = timebase.report("tests/data/sdk.pftrace")
    >>> page.html[:15]
    '<!DOCTYPE html>'
    """
    name = os.path.basename(os.fspath(trace_or_db)) if isinstance(trace_or_db, (str, os.PathLike)) else "a file object"
    return Report(_asked(trace_or_db, ["report", "--output=-"], conversion, progress), name)


def doctor(trace_or_db: Trace, *, progress: Progress = None) -> List[Finding]:
    """What is wrong with the clocks of a trace, and what its producer can do: errors come first.

    `trace_or_db` and `progress` are as with `report`. The findings are the rows of the view ``finding``, which
    any query can ask as well; ``pandas.DataFrame(timebase.doctor(trace))`` is a table of them.

    Raises `ReportFailed`, and `ImportFailed` for what is no trace.

    >>> import timebase
    >>> for finding in timebase.doctor("tests/data/dst.pftrace")[:1]:
    ...     print(finding.severity, finding.check_name, finding.subject)
    error clock_backwards REALTIME
    """
    answer = json.loads(_asked(trace_or_db, ["doctor", "--format=json", "--fail-on=never"], None, progress))
    return [Finding(**{name: row[name] for name in Finding._fields}) for row in answer["findings"]]


def _asked(trace_or_db: Trace, command: List[str], conversion: Optional[str], progress: Progress) -> str:
    """What the program answers of a trace or a database."""
    if is_database(trace_or_db):
        if conversion is not None:
            # It says what is wrong in Python's words.
            with closing(connect(trace_or_db, conversion=conversion)):
                pass
        return _answer(command, Path(os.fspath(trace_or_db)))
    # Imported here, for its progress and its warnings.
    scratch = Scratch()
    try:
        return _answer(command, import_temporarily(trace_or_db, scratch.path / "trace.db", conversion, progress))
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
