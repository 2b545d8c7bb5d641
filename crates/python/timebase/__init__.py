"""Perfetto traces in SQLite, every event on one clock.

>>> import timebase
>>> trace = timebase.connect("tests/data/sdk.pftrace")
>>> trace.execute("SELECT count(*) FROM packet").fetchone()
(4825,)
>>> trace.execute("SELECT to_boottime('MONOTONIC', 0, 2692618235744)").fetchone()
(2692618235664,)
>>> trace.close()

`connect` takes a trace, several traces or a database. `import_trace` makes a database, and `read_sql` returns
the result of a query as a pandas data frame. The connection's `perfetto_sql` runs PerfettoSQL. `doctor`
returns the problems with the clocks of a trace, and `report` makes a page about the clocks. `compare` says what
changed between two groups of traces.

Where the functions come from
-----------------------------

The wheel contains the program and the loadable extension. The connection loads the extension in the usual way
if Python's sqlite3 can do this. If Python was built without extension loading, SQLite itself still loads the
extension (`sqlite3_auto_extension`). If SQLite was also built without it, Python registers functions that
call the extension's library. `Connection.functions` tells which way it was, and ``docs/python.md`` lists the
missing functions in the last case.
"""

from ._compare import Condition, compare
from ._connection import Connection, connect
from ._extension import ExtensionError, extension_path
from ._frame import read_sql
from ._perfetto import QueryWarning
from ._program import CompareFailed, ImportFailed, RewriteFailed, TraceWarning, import_trace, rewrite
from ._report import Finding, Report, ReportFailed, doctor, report

__all__ = [
    "CompareFailed",
    "Condition",
    "Connection",
    "ExtensionError",
    "Finding",
    "ImportFailed",
    "QueryWarning",
    "Report",
    "ReportFailed",
    "RewriteFailed",
    "TraceWarning",
    "compare",
    "connect",
    "doctor",
    "extension_path",
    "import_trace",
    "read_sql",
    "report",
    "rewrite",
]

# Messages contain these names, and users only know the package's name.
for _public in (
    CompareFailed,
    Condition,
    Connection,
    ExtensionError,
    Finding,
    ImportFailed,
    QueryWarning,
    Report,
    ReportFailed,
    RewriteFailed,
    TraceWarning,
):
    _public.__module__ = __name__
del _public
