"""A plugin for Datasette: it shows a trace's database in the browser.

After ``pip install ./crates/python datasette``, ``datasette trace.db`` has the SQL functions, descriptions of
tables and columns, and queries to start with. It hides the tables behind the views. Numbers that refer to
rows of other tables are links, and times are readable. The plugin does not change databases that timebase did
not make.

The program describes tables and columns (``timebase datasette-metadata``), from the reference. Foreign keys
would also make links, but views have none, and most queries use views.
"""

from __future__ import annotations

import functools
import html
import json
import os
import re
import subprocess
import warnings
import weakref
from typing import Any, Awaitable, Dict, Optional, Tuple
from urllib.parse import urlencode

from datasette import hookimpl
from datasette.utils.sqlite import sqlite3  # Python's sqlite3, or a similar driver
from markupsafe import Markup

from . import _extension
from ._functions import Functions, load
from ._program import program_path

#: The application id of timebase's databases, and its position in the file.
_APPLICATION_ID, _APPLICATION_ID_AT = b"tbfs", 68


@hookimpl
def prepare_connection(conn: sqlite3.Connection) -> None:
    """Registers the functions on a connection that Datasette opened."""
    [application_id] = conn.execute("PRAGMA application_id").fetchone()
    if application_id != int.from_bytes(_APPLICATION_ID, "big"):
        return
    try:
        library = _extension.extension_path()
        if _can_load(conn):
            try:
                _extension.load_into(conn, library)
                return
            except (_extension.ExtensionError, sqlite3.Error):
                pass  # For example, another SQLite in this process has loaded it.
        # It is too late for `sqlite3_auto_extension`, because the connection is open. The connection owns the
        # functions, and they end with it.
        Functions(conn, load(library))
    except _extension.ExtensionError as error:
        warnings.warn(f"timebase's SQL functions are missing: {error}", stacklevel=2)


def _can_load(conn: sqlite3.Connection) -> bool:
    return hasattr(conn, "enable_load_extension")


@hookimpl
def get_metadata(datasette: Any, key: Optional[str], database: Optional[str], table: Optional[str]) -> Dict[str, Any]:
    """The descriptions of those databases that are traces.

    Datasette calls this often, and changes the result. So it gets only the requested part, as a copy.
    """
    if key is not None and key not in _KEYS:
        return {}
    names = list(datasette.databases) if database is None else [database]
    traces = [name for name in names if _is_trace(datasette.databases.get(name))]
    return {"databases": {name: _copy(_described(), table) for name in traces}}


#: The keys that have a value here.
_KEYS = {
    "columns", "databases", "description", "description_html", "hidden", "queries", "source", "source_url", "tables", "title"
}  # fmt: skip


def _copy(described: Dict[str, Any], table: Optional[str]) -> Dict[str, Any]:
    tables = described["tables"]
    wanted = tables if table is None else {name: tables[name] for name in [table] if name in tables}
    return {
        **described,
        "tables": {name: {**said, "columns": dict(said["columns"])} for name, said in wanted.items()},
        "queries": {name: dict(query) for name, query in described["queries"].items()},
    }


@functools.lru_cache(maxsize=None)
def _described() -> Dict[str, Any]:
    name = "trace"
    try:
        command = [os.fspath(program_path()), "datasette-metadata", name]
        said = subprocess.run(command, check=True, capture_output=True, encoding="utf-8").stdout
    except (OSError, subprocess.SubprocessError) as error:
        warnings.warn(f"what the tables are cannot be told: {error}", stacklevel=2)
        return {"tables": {}, "queries": {}}
    described: Dict[str, Any] = json.loads(said)["databases"][name]
    return described


_known: "weakref.WeakKeyDictionary[Any, bool]" = weakref.WeakKeyDictionary()


def _is_trace(database: Any) -> bool:
    """Whether a database in Datasette was made by timebase.

    This reads the file, because a query would have to wait for its turn.
    """
    if database is None or not database.path:
        return False
    if database not in _known:
        try:
            with open(database.path, "rb") as file:
                file.seek(_APPLICATION_ID_AT)
                _known[database] = file.read(len(_APPLICATION_ID)) == _APPLICATION_ID
        except OSError:
            return False
    return _known[database]


#: Datasette writes the descriptions of columns above the rows, which are then out of sight.
_FOLD_COLUMNS = """
for (const columns of document.querySelectorAll("dl.column-descriptions")) {
  const folded = document.createElement("details");
  folded.innerHTML = "<summary>What the columns are</summary>";
  columns.replaceWith(folded);
  folded.append(columns);
}
"""


@hookimpl
def extra_body_script(database: Optional[str], table: Optional[str], datasette: Any) -> str:
    return _FOLD_COLUMNS if table is not None and _is_trace(datasette.databases.get(database)) else ""


# Links

_THREAD, _PROCESS, _SLICE, _TRACK = ("thread", "utid"), ("process", "upid"), ("slice", "id"), ("track", "id")
_ARGS = ("args", "arg_set_id")
_FILE, _MACHINE = ("trace_file", "id"), ("machine", "id")

#: The row to which a number refers: its table and column.
LINKS: Dict[str, Tuple[str, str]] = {
    "packet_id": ("packet", "id"),
    "trace_file_id": _FILE,
    "to_trace_file_id": _FILE,
    "host_trace_file_id": _FILE,
    "machine_id": _MACHINE,
    "to_machine_id": _MACHINE,
    "host_machine_id": _MACHINE,
    "utid": _THREAD,
    "utid_in": _THREAD,
    "utid_out": _THREAD,
    "waker_utid": _THREAD,
    "upid": _PROCESS,
    "upid_in": _PROCESS,
    "upid_out": _PROCESS,
    "parent_upid": _PROCESS,
    "slice_id": _SLICE,
    "slice_in": _SLICE,
    "slice_out": _SLICE,
    "track_id": _TRACK,
    "track_id_in": _TRACK,
    "track_id_out": _TRACK,
    "arg_set_id": _ARGS,
    "dimension_arg_set_id": _ARGS,
    "source_arg_set_id": _ARGS,
    "snapshot_id": ("clock_snapshot", "snapshot_id"),
    "thread_state_id": ("thread_state", "id"),
    "waker_id": ("thread_state", "id"),
    "gpu_id": ("gpu", "id"),
}


def link(column: str, table: Optional[str]) -> Optional[Tuple[str, str]]:
    """The table and column to which the numbers of a column refer. For a query, the table is unknown."""
    if column == "parent_id" and table is not None:
        if table == "trace_file":
            return _FILE
        return _TRACK if "track" in table else _SLICE
    target = LINKS.get(column)
    return None if target is not None and target == (table, column) else target


# Times

_TIME = re.compile(r"(?!clock_)(?:\w+_)?ts(?:_\w+)?")
_DURATION = re.compile(r"(?:\w+_)?dur(?:_\w+)?|cpu_time|delay")


@hookimpl
def render_cell(row: Any, value: Any, column: str, table: Optional[str], database: str, datasette: Any) -> Any:
    """Shows a number as a link, or with a readable time; None leaves it to other plugins."""
    if type(value) is bytes and (table, column) == ("packet", "data") and _is_trace(datasette.databases.get(database)):
        # Datasette looks the bytes up by the rowid, which a view does not have.
        where = datasette.urls.row_blob(database, "packet_record", row["id"], column)
        return Markup(f'<a class="blob-download" href="{html.escape(str(where))}">{len(value):,} bytes</a>')
    if type(value) is not int:
        return None
    target = link(column, table)
    is_time = target is None and _TIME.fullmatch(column) is not None
    is_duration = target is None and _DURATION.fullmatch(column) is not None
    if not (target or is_time or is_duration):
        return None
    shown_of = datasette.databases.get(database)
    if not _is_trace(shown_of):
        return None
    if target is not None:
        where = datasette.urls.table(database, target[0]) + "?" + urlencode({target[1]: value})
        return Markup(f'<a href="{html.escape(str(where))}">{value}</a>')
    if is_duration:
        return _with_note(value, _duration(value)) if value >= 1000 else None
    return _time(shown_of, value, table is None)


def _time(database: Any, value: int, of_query: bool) -> Awaitable[Optional[Markup]]:
    async def shown() -> Optional[Markup]:
        try:
            bounds = await _bounds(database)
            found = await database.execute("SELECT abs_time_str(?)", [value])
            at = found.single_value()
        except sqlite3.Error:
            return None  # without the functions, or after Datasette's time limit
        # In a query, a column with the name of a time may be anything.
        if bounds is None or (of_query and not bounds[0] <= value <= bounds[1]):
            return None
        return _with_note(value, f"{(value - bounds[0]) / 1e9:+.6f} s", at)

    return shown()


_bounds_known: "weakref.WeakKeyDictionary[Any, Optional[Tuple[int, int]]]" = weakref.WeakKeyDictionary()


async def _bounds(database: Any) -> Optional[Tuple[int, int]]:
    """The first and the last time of the trace."""
    if database not in _bounds_known:
        found = await database.execute("SELECT start_ts, end_ts FROM trace_bounds")
        row = found.first()
        _bounds_known[database] = None if row is None or None in tuple(row) else (row[0], row[1])
    return _bounds_known[database]


def _duration(ns: int) -> str:
    for unit, size in (("s", 10**9), ("ms", 10**6)):
        if ns >= size:
            return f"{ns / size:.3f} {unit}"
    return f"{ns / 1000:.3f} µs"


def _with_note(value: int, note: str, title: Optional[str] = None) -> Markup:
    """The number unchanged, with its meaning."""
    tip = f' title="{html.escape(title)}"' if title else ""
    return Markup(f'<span{tip} style="white-space: nowrap">{value} <small style="opacity: 0.6">{html.escape(note)}</small></span>')
