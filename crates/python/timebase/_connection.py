"""`connect`: a DB-API connection with timebase's SQL functions."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import weakref
from pathlib import Path
from typing import Any, Callable, Optional, TypeVar, Union

from . import _extension
from ._functions import Functions, Statement, load
from ._program import Trace, import_trace

T = TypeVar("T")

#: Functions that are tables, and what does for them where they are missing.
_TABLE_FUNCTIONS = {
    "clock_path": "`timebase explain` shows",
    "ancestor_slice": "the view slice_ancestor has",
    "descendant_slice": "the view slice_descendant has",
    "following_flow": "`timebase query` has",
    "preceding_flow": "`timebase query` has",
    "directly_connected_flow": "`timebase query` has",
}

#: How a file begins that SQLite can open.
_DATABASE = b"SQLite format 3\0"


class Connection(sqlite3.Connection):
    """What `connect` returns: an ``sqlite3.Connection`` with the functions on it."""

    #: How the functions got here: by the "extension", or by "python" if it could not be loaded.
    functions: str = "extension"

    _close_database: Optional[Callable[[], Any]] = None

    def close(self) -> None:
        """Closes the connection, and removes the database if it is a temporary one."""
        super().close()
        if self._close_database is not None:
            self._close_database()


class _PythonConnection(Connection):
    """A connection whose functions are registered from Python."""

    functions = "python"
    _python: Optional[Functions] = None

    def cursor(self, factory: Any = None) -> Any:
        return super().cursor(factory or _Cursor)

    # sqlite3 makes cursors of its own for these, from Python 3.11 on.

    def execute(self, *arguments: Any) -> Any:
        return self.cursor().execute(*arguments)

    def executemany(self, *arguments: Any) -> Any:
        return self.cursor().executemany(*arguments)

    def executescript(self, *arguments: Any) -> Any:
        return self.cursor().executescript(*arguments)


class _Cursor(sqlite3.Cursor):
    """Tells the functions which statement runs, and the user why one failed.

    What runs at once, as a script does, counts as one statement.
    """

    _statement: Optional[Statement] = None

    def _step(self, function: Callable[..., T], *arguments: Any) -> T:
        functions: Optional[Functions] = getattr(self.connection, "_python", None)
        if functions is None:
            return function(*arguments)
        here = functions.here
        # A name of its own: the statement must not end while it runs.
        statement, outer = self._statement, here.statement
        here.statement = statement and statement.handle
        here.failure = here.raised = None
        try:
            return function(*arguments)
        except sqlite3.OperationalError as error:
            if here.raised is not None:
                raise here.raised from None
            if here.failure is not None:
                # sqlite3 says "user-defined function raised exception" and no more.
                raise sqlite3.OperationalError(here.failure) from None
            function = str(error).partition("no such table: ")[2]
            if function in _TABLE_FUNCTIONS:
                raise sqlite3.OperationalError(
                    f"{error}: it needs the extension, which is not loaded; {_TABLE_FUNCTIONS[function]} the same"
                ) from None
            raise
        finally:
            here.statement = outer

    def _begin(self) -> None:
        functions: Optional[Functions] = getattr(self.connection, "_python", None)
        self._statement = functions and functions.begin()

    def execute(self, *arguments: Any) -> Any:
        self._begin()
        return self._step(super().execute, *arguments)

    def executemany(self, *arguments: Any) -> Any:
        self._begin()
        return self._step(super().executemany, *arguments)

    def executescript(self, *arguments: Any) -> Any:
        self._begin()
        return self._step(super().executescript, *arguments)

    def __next__(self) -> Any:
        return self._step(super().__next__)

    def fetchone(self) -> Any:
        return self._step(super().fetchone)

    def fetchmany(self, *arguments: Any, **named: Any) -> Any:
        return self._step(lambda: super(_Cursor, self).fetchmany(*arguments, **named))

    def fetchall(self) -> Any:
        return self._step(super().fetchall)


def connect(
    db_or_trace: Trace,
    *,
    functions: str = "auto",
    **arguments: Any,
) -> Connection:
    """A connection to a database, or to a trace, with timebase's SQL functions on it.

    A trace (a path or a file object, perhaps compressed) is imported to a temporary
    database, which is removed when the connection is closed, collected or the
    process ends. All other `arguments` are those of ``sqlite3.connect``.

    `functions` tells how the functions get into the connection: "extension" for
    the loadable extension; "python" for functions that Python registers, which call
    the same library, need no SQLite that loads extensions, and lack those that are
    tables, such as `clock_path`; "auto" for the first that works. The connection's
    attribute of this name tells which it was.

    Raises `ExtensionError` if none of what was asked for works,
    FileNotFoundError for a path where nothing is, `ImportFailed` for a trace
    that cannot be imported, and sqlite3.Error as sqlite3 does. A database that is
    not timebase's can be opened; the functions of clocks then say that it is none.

    >>> import timebase
    >>> trace = timebase.connect("tests/data/multihop.pftrace")
    >>> trace.execute("SELECT to_boottime(64, 2, 3503), to_boottime(64, 2, NULL)").fetchone()
    (7703, None)
    >>> trace.execute("SELECT why_unresolved('REALTIME', 0, 1)").fetchone()
    ('unknown_clock',)
    >>> trace.execute("SELECT to_boottime('MONOTONIC', 0, 1.5)")
    Traceback (most recent call last):
    sqlite3.OperationalError: to_boottime(): argument 3 (ts) must be an integer, not the real number 1.5
    >>> trace.close()
    """
    if functions not in ("auto", "extension", "python"):
        raise ValueError(f"functions must be 'auto', 'extension' or 'python', not {functions!r}")
    if "factory" in arguments:
        raise TypeError("factory cannot be given: timebase.connect() has one of its own")
    if _is_database(db_or_trace, arguments.get("uri", False)):
        return _open(db_or_trace, functions, arguments)

    directory = Path(tempfile.mkdtemp(prefix="timebase-"))
    try:
        connection = _open(import_trace(db_or_trace, directory / "trace.db"), functions, arguments)
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise
    connection._close_database = weakref.finalize(connection, shutil.rmtree, directory, ignore_errors=True)
    return connection


def _is_database(given: Any, uri: bool) -> bool:
    if not isinstance(given, (str, os.PathLike)):
        return False
    if uri or given == ":memory:":
        return True
    # What is no file, such as a pipe, can only be read once, by the import.
    if os.path.exists(given) and not os.path.isfile(given):
        return False
    with open(given, "rb") as file:
        return file.read(len(_DATABASE)) == _DATABASE


def _open(database: Union[str, "os.PathLike[str]", Any], functions: str, arguments: "dict[str, Any]") -> Connection:
    if functions != "python":
        try:
            return _extension.connect(Connection, database, **arguments)
        except _extension.ExtensionError:
            if functions == "extension":
                raise
    library = load(_extension.extension_path())
    connection = sqlite3.connect(database, factory=_PythonConnection, **arguments)
    try:
        connection._python = Functions(connection, library)
    except BaseException:
        connection.close()
        raise
    return connection
