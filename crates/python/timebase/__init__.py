"""Perfetto traces in SQLite, every event on one clock.

>>> import timebase
>>> trace = timebase.connect("tests/data/sdk.pftrace")
>>> trace.execute("SELECT count(*) FROM packet").fetchone()
(4825,)
>>> trace.execute("SELECT to_boottime('MONOTONIC', 0, 2692618235744)").fetchone()
(2692618235664,)
>>> trace.close()

`connect` takes a trace, several or a database, `import_trace` makes a database, and
`read_sql` gives the result of a query as a pandas data frame. The connection's
`perfetto_sql` runs PerfettoSQL. `doctor` tells what is wrong with the clocks of a trace,
and `report` makes a page about them.

Where the functions come from
-----------------------------

The wheel has the program and the loadable extension in it. The connection
loads the extension the usual way where Python's sqlite3 can; where Python was
built without that, SQLite itself still loads it (`sqlite3_auto_extension`); and
where SQLite was built without it too, Python registers functions that call the
extension's library. `Connection.functions` tells which it is, and
``docs/python.md`` what is missing in the last case.
"""

from ._connection import Connection, connect
from ._extension import ExtensionError, extension_path
from ._frame import read_sql
from ._perfetto import QueryWarning
from ._program import ImportFailed, RewriteFailed, TraceWarning, import_trace, rewrite
from ._report import Finding, Report, ReportFailed, doctor, report

__all__ = [
    "Connection",
    "ExtensionError",
    "Finding",
    "ImportFailed",
    "QueryWarning",
    "Report",
    "ReportFailed",
    "RewriteFailed",
    "TraceWarning",
    "connect",
    "doctor",
    "extension_path",
    "import_trace",
    "read_sql",
    "report",
    "rewrite",
]

# Users meet these names in messages, and know the package's only.
for _public in (
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
