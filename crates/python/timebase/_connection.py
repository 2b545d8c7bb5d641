"""`connect`: a DB-API connection with timebase's SQL functions.

A database is opened read-only, unless the caller passes ``write=True``: a DELETE that was meant for another
file would remove data from the trace for good. SQLite itself refuses (``mode=ro`` in the file's URI), and
only refuses to write to the file: temporary tables and views, and attached databases, can be written. The
alternative was ``PRAGMA query_only``; it would forbid these, too, and any statement can switch it off.

A database may come from a stranger, so its schema is not trusted (`_distrust`). If the connection is
read-only, SQLite's other defences are on (`_protect`), as far as Python's sqlite3 has them. They limit what a
database can do by itself. An author of Python code needs no SQL to do harm, so statements may attach files
and change pragmas.

Ctrl-C ends a statement: sqlite3 regularly calls a function in Python, and during this call Python notices the
signal. The alternative was that the extension handles the signal; but notebooks and servers have their own
handlers.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sqlite3
import threading
import warnings
import weakref
from pathlib import Path
from typing import Any, Callable, Mapping, Optional, Sequence, TypeVar, Union
from urllib.parse import parse_qsl, quote

from . import _extension, _perfetto
from ._functions import Functions, Statement, load
from ._program import Files, Manifest, Mappings, Trace, Traces, TraceWarning, callers, check_conversion, import_temporarily, several
from ._progress import Progress
from ._scratch import Scratch

T = TypeVar("T")

#: Table functions, and their replacements if they are missing.
_TABLE_FUNCTIONS = {
    "clock_path": "`timebase explain` shows",
    "ancestor_slice": "the view slice_ancestor has",
    "descendant_slice": "the view slice_descendant has",
    "following_flow": "`timebase query` has",
    "preceding_flow": "`timebase query` has",
    "directly_connected_flow": "`timebase query` has",
}

#: The first bytes of a file that SQLite can open.
_DATABASE = b"SQLite format 3\0"


#: SQLite's message for a statement that would change a read-only database.
_READ_ONLY = "attempt to write a readonly database"

#: SQLite's code if reading would have to undo an incomplete change.
_READ_ONLY_ROLLBACK = 776

#: SQLite's message for an interrupted statement.
_INTERRUPTED = "interrupted"

#: The number of steps of SQLite's virtual machine between two checks for Ctrl-C: some hundredths of a second.
_STEPS = 1_000_000

#: Limits of a statement on a read-only connection, by their names in sqlite3. They are those of the program
#: (crates/cli/src/guard.rs).
_LIMITS = {
    "SQLITE_LIMIT_LENGTH": 512 << 20,
    "SQLITE_LIMIT_SQL_LENGTH": 16 << 20,
    "SQLITE_LIMIT_VDBE_OP": 10_000_000,
    "SQLITE_LIMIT_LIKE_PATTERN_LENGTH": 1000,
    "SQLITE_LIMIT_TRIGGER_DEPTH": 10,
}

_WRITE = "timebase.connect(..., write=True) opens it for writing"
_THROWN_AWAY = "it is temporary, made of a trace; timebase.import_trace() makes one that stays"


class _Cursor(sqlite3.Cursor):
    """Runs statements, and adds advice to their errors.

    A loop over a cursor fetches rows by sqlite3's own code. A writing statement does its work when it starts,
    and a call for each row would take longer than the row.
    """

    connection: Connection

    def execute(self, *arguments: Any) -> Any:
        self.connection._was_told = False
        try:
            return super().execute(*arguments)
        except sqlite3.OperationalError as error:
            self._explain(error)
            raise

    def executemany(self, *arguments: Any) -> Any:
        try:
            return super().executemany(*arguments)
        except sqlite3.OperationalError as error:
            self._explain(error)
            raise

    def executescript(self, *arguments: Any) -> Any:
        try:
            return super().executescript(*arguments)
        except sqlite3.OperationalError as error:
            self._explain(error)
            raise

    def fetchone(self) -> Any:
        try:
            return super().fetchone()
        except sqlite3.OperationalError as error:
            self._explain(error)
            raise

    def fetchmany(self, *arguments: Any, **named: Any) -> Any:
        try:
            return super().fetchmany(*arguments, **named)
        except sqlite3.OperationalError as error:
            self._explain(error)
            raise

    def fetchall(self) -> Any:
        try:
            return super().fetchall()
        except sqlite3.OperationalError as error:
            self._explain(error)
            raise

    def _explain(self, error: sqlite3.OperationalError) -> None:
        self.connection._explain(error)


def _look_for_signals() -> int:
    """Python raises KeyboardInterrupt in here, and then sqlite3 interrupts the statement."""
    return 0


class Connection(sqlite3.Connection):
    """The result of `connect`: an ``sqlite3.Connection`` with timebase's SQL functions."""

    #: How the functions were registered: by the "extension", or by "python" if the extension could not be
    #: loaded.
    functions: str = "extension"

    _close_database: Optional[Callable[[], Any]] = None
    #: The advice for writing, if the connection is read-only.
    _to_write: Optional[str] = None
    #: Whether only Ctrl-C can interrupt statements, as far as this class knows.
    _looks_for_signals: bool = False
    #: Whether `interrupt` interrupted the last statement.
    _was_told: bool = False

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        #: A script of PerfettoSQL has several statements, and another thread's statements must not run in
        #: between.
        self._one_script = threading.RLock()

    def perfetto_sql(
        self,
        script: str,
        parameters: Union[Sequence[Any], Mapping[str, Any]] = (),
        *,
        packages: _perfetto.Packages = (),
    ) -> sqlite3.Cursor:
        """Runs a script of PerfettoSQL, Perfetto's dialect of SQL, and returns the cursor of its last statement with rows.

        Without such a statement the cursor has no rows. The tables, views, functions and
        macros of the script stay for this connection; later statements use them.
        `parameters` are the values of the ``?`` or ``:name`` in the last statement.

        `packages` are folders with modules, for ``INCLUDE PERFETTO MODULE``: module
        ``a.b`` is the file ``a/b.sql`` of the first folder that has it. For Perfetto's own
        modules, name a checkout of its repository.
        ``"NAME=DIR"`` is a folder that is the package NAME. The connection keeps the
        folders. Those in the environment variable ``TIMEBASE_SQL_PACKAGES`` come after them.

        Raises sqlite3.Error, with the module, line and column of the wrong place; the
        statements before it have run. Warns with `QueryWarning` of a result that may
        lack rows, because timebase does not fill a table that it comes from.

        >>> import timebase
        >>> trace = timebase.connect("tests/data/app.pftrace")
        >>> trace.perfetto_sql('''
        ...     CREATE PERFETTO FUNCTION ms(ns LONG) RETURNS DOUBLE AS SELECT $ns / 1e6;
        ...     SELECT name, ms(dur) FROM slice ORDER BY dur DESC LIMIT :most''', {"most": 1}).fetchall()
        [('request', 28.77915)]
        >>> trace.execute("SELECT count(*) FROM slice WHERE ms(dur) > 20").fetchone()
        (25,)
        >>> trace.perfetto_sql("SELECT ms(dur), wrong FROM slice")
        Traceback (most recent call last):
        sqlite3.OperationalError: no such column: wrong
          line 1, column 17: SELECT ms(dur), wrong FROM slice
        >>> trace.close()
        """
        with self._one_script:
            return _perfetto.run(self, script, parameters, packages)

    def interrupt(self) -> None:
        """Ends the running statement, which fails with "interrupted". Another thread can call it."""
        self._was_told = True
        super().interrupt()

    def set_progress_handler(self, *arguments: Any, **named: Any) -> None:
        """Like ``sqlite3.Connection.set_progress_handler``. Your handler replaces the one with which Ctrl-C
        ends a statement.
        """
        self._looks_for_signals = False
        super().set_progress_handler(*arguments, **named)

    def _is_ctrl_c(self, error: BaseException) -> bool:
        """Whether Ctrl-C made a statement fail."""
        if str(error) != _INTERRUPTED:
            return False
        was_told, self._was_told = self._was_told, False
        return self._looks_for_signals and not was_told

    def _look_for_signals(self) -> None:
        super().set_progress_handler(_look_for_signals, _STEPS)
        self._looks_for_signals = True

    def close(self) -> None:
        """Closes the connection, and removes the database if it is a temporary one."""
        super().close()
        if self._close_database is not None:
            self._close_database()

    def cursor(self, factory: Any = None) -> Any:
        return super().cursor(factory or _Cursor)

    # From Python 3.11 on, sqlite3 makes its own cursors in these methods.

    def execute(self, *arguments: Any) -> Any:
        return self.cursor().execute(*arguments)

    def executemany(self, *arguments: Any) -> Any:
        return self.cursor().executemany(*arguments)

    def executescript(self, *arguments: Any) -> Any:
        return self.cursor().executescript(*arguments)

    def _explain(self, error: sqlite3.OperationalError) -> None:
        """Adds advice to an error."""
        if self._is_ctrl_c(error):
            raise KeyboardInterrupt from None
        if self._to_write is not None and str(error) == _READ_ONLY:
            advice = self._to_write
            if getattr(error, "sqlite_errorcode", None) == _READ_ONLY_ROLLBACK:
                advice = (
                    "a journal beside it holds an incomplete change, which reading cannot undo; "
                    f"if you trust both files, {advice}"
                )
            error.args = (f"{_READ_ONLY}; {advice}",)


class _PythonConnection(Connection):
    """A connection whose functions are registered from Python."""

    functions = "python"
    _python: Optional[Functions] = None

    def cursor(self, factory: Any = None) -> Any:
        return super().cursor(factory or _PythonCursor)


class _PythonCursor(_Cursor):
    """Tells the functions which statement is running, and tells the user why a statement failed.

    A script, which runs at once, counts as one statement.
    """

    _statement: Optional[Statement] = None

    def _step(self, function: Callable[..., T], *arguments: Any) -> T:
        functions: Optional[Functions] = getattr(self.connection, "_python", None)
        if functions is None:
            return function(*arguments)
        here = functions.here
        # A separate variable keeps the statement alive while it runs.
        statement, outer = self._statement, here.statement
        here.statement = statement and statement.handle
        here.failure = here.raised = None
        try:
            return function(*arguments)
        except sqlite3.OperationalError as error:
            if here.raised is not None:
                raise here.raised from None
            if here.failure is not None:
                # sqlite3 only says "user-defined function raised exception".
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
        return self._step(lambda: super(_PythonCursor, self).fetchmany(*arguments, **named))

    def fetchall(self) -> Any:
        return self._step(super().fetchall)


def connect(
    db_or_trace: Traces,
    *,
    manifest: Optional[Manifest] = None,
    write: bool = False,
    functions: str = "auto",
    conversion: Optional[str] = None,
    symbols: Optional[Files] = None,
    mapping: Optional[Mappings] = None,
    progress: Progress = None,
    **arguments: Any,
) -> Connection:
    """Connects to a database, a trace or several traces, with timebase's SQL functions.

    It imports a trace (a path or a file object, optionally compressed; or an archive, or a list of traces) into a
    temporary database. It removes this database when the connection is closed or collected, or the process ends;
    after a kill, the next process removes it. `manifest`, `conversion`, `symbols`, `mapping` and `progress` work as for
    `import_trace`; a database with another conversion is an error. All other `arguments` go to ``sqlite3.connect``.

    The connection is read-only: statements cannot change the file, but can create
    temporary tables and views. ``write=True`` opens a database for writing;
    ``connection.total_changes`` then counts the changed rows. A path may have any
    characters; a URI (``uri=True``) without a ``mode`` gets ``mode=ro``.

    `functions` selects how the functions get into the connection: "extension" uses
    the loadable extension; "python" registers functions from Python, which call the
    same library, need no SQLite that loads extensions, and lack table functions such
    as `clock_path`; "auto" uses the first way that works. The attribute `functions` of
    the connection says which it was.

    You can open an untrusted database: its views call no function that could do harm, and Ctrl-C ends an endless
    statement. ``docs/hostile-input.md`` lists the guarantees.

    Raises `ExtensionError` if no requested way works, FileNotFoundError for a missing
    path, and `ImportFailed` if the import of a trace fails. Raises ValueError for a trace
    with ``write=True``, because its changes would be lost; for a database with a
    `manifest`, `symbols` or `mapping`, among several traces, or with another conversion. Raises sqlite3.Error as
    sqlite3 does. You can open a database that is not timebase's, with a `TraceWarning`; the
    clock functions then raise an error.

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

    >>> db = timebase.import_trace("tests/data/multihop.pftrace", "multihop.db")
    >>> trace = timebase.connect(db)
    >>> trace.execute("DELETE FROM packet_record")
    Traceback (most recent call last):
    sqlite3.OperationalError: attempt to write a readonly database; timebase.connect(..., write=True) opens it for writing
    >>> trace.execute("CREATE TEMP TABLE first AS SELECT * FROM packet LIMIT 1").connection is trace
    True
    >>> trace.close()

    >>> trace = timebase.connect(["tests/data/sdk.pftrace", "tests/data/dst.pftrace"])
    >>> trace.execute("SELECT trace_file_id, count(*) FROM packet GROUP BY trace_file_id").fetchall()
    [(1, 4825), (2, 8)]
    >>> trace.close()
    """
    if functions not in ("auto", "extension", "python"):
        raise ValueError(f"functions must be 'auto', 'extension' or 'python', not {functions!r}")
    if conversion is not None:
        check_conversion(conversion)
    if "factory" in arguments:
        raise TypeError("factory cannot be given: timebase.connect() has one of its own")
    traces = several(db_or_trace)
    database = database_of(traces, manifest, arguments.get("uri", False))
    if database is not None:
        if symbols is not None or mapping is not None:
            raise ValueError(
                f"{os.fspath(database)} is a database, and symbols and mapping are for traces: import its trace again with them"
            )
        connection = (_open if write else _open_read_only)(database, functions, arguments)
        _warn_if_foreign(connection, database)
        if conversion is not None:
            _refuse_other(connection, database, conversion)
        return connection

    if write:
        raise ValueError(
            "write=True is for databases: what is made of a trace here is temporary, so what is written "
            "would be lost; timebase.import_trace() makes a database that stays"
        )
    scratch = Scratch()
    try:
        made = import_temporarily(
            traces, scratch.path / "trace.db", manifest, conversion, progress, symbols, mapping
        )
        connection = _open_read_only(made, functions, {**arguments, "uri": False})
    except BaseException:
        scratch.remove()
        raise
    connection._to_write = _THROWN_AWAY
    connection._close_database = weakref.finalize(connection, scratch.remove)
    return connection


#: `application_id` of the databases that timebase makes.
_APPLICATION_ID = int.from_bytes(b"tbfs", "big")


def _warn_if_foreign(connection: Connection, database: Any) -> None:
    """Warns of a file that timebase did not make. A database in memory is for the caller to fill."""
    cursor = connection.cursor()
    # Overrides the row factory in the caller's arguments.
    cursor.row_factory = None
    try:
        files = cursor.execute("SELECT file FROM pragma_database_list WHERE name = 'main'").fetchall()
        (found,) = cursor.execute("PRAGMA application_id").fetchone()
    except sqlite3.Error:
        # A file that cannot be read gives this error again to the first statement.
        return
    if found != _APPLICATION_ID and files not in ([], [("",)], [(None,)]):
        warnings.warn(
            f"{os.fspath(database)} is a SQLite database, but timebase did not make it: it does not have the tables "
            "of a trace, and the clock functions raise an error",
            TraceWarning,
            stacklevel=callers(),
        )


def _refuse_other(connection: Connection, database: Any, conversion: str) -> None:
    """Closes a connection to a database with another conversion."""
    try:
        sql = "SELECT str_value FROM metadata WHERE name = 'conversion'"
        cursor = connection.cursor()
        # Overrides the row factory in the caller's arguments.
        cursor.row_factory = None
        found = cursor.execute(sql).fetchone()
        if found != (conversion,):
            made = f"imported with conversion={found[0]!r}" if found else "imported by another version"
            raise ValueError(
                f"{os.fspath(database)} was {made}, which cannot change; "
                f"import the trace again with conversion={conversion!r}"
            )
    except BaseException:
        connection.close()
        raise


def database_of(traces: Sequence[Trace], manifest: Optional[Manifest], uri: bool = False) -> Any:
    """The given database; None if traces are given.

    Raises ValueError for a database with an argument that is only for traces.
    """
    found = [given for given in traces if _is_database(given, uri)]
    if not found:
        return None
    database: Any = found[0]
    if len(traces) > 1:
        raise ValueError(
            f"{os.fspath(database)} is a database, but only traces can be imported together; "
            "query it alone, or pass the trace that it was made from"
        )
    if manifest is not None:
        raise ValueError(
            f"{os.fspath(database)} is a database, but a manifest only applies to an import; "
            "import its trace again with manifest="
        )
    return database


def _is_database(given: Any, uri: bool) -> bool:
    """Whether the argument is a database and not a trace."""
    if not isinstance(given, (str, os.PathLike)):
        return False
    if given == ":memory:" or (uri and os.fspath(given).startswith(_URI)):
        return True
    # A pipe, for example, is no regular file and can only be read once, by the import.
    if os.path.exists(given) and not os.path.isfile(given):
        return False
    with open(given, "rb") as file:
        return file.read(len(_DATABASE)) == _DATABASE


def _open_read_only(database: Any, functions: str, arguments: "dict[str, Any]") -> Connection:
    if database == ":memory:":
        return _open(database, functions, arguments)
    given = os.fspath(database)
    if arguments.get("uri", False) and given.startswith(_URI):
        uri = _uri_read_only(given)
        if uri is None:
            return _open(given, functions, arguments)
    else:
        uri = _uri_of_path(given) + "?" + _MODE
    connection = _open(uri, functions, {**arguments, "uri": True})
    connection._to_write = _WRITE
    _protect(connection)
    return connection


#: The prefix by which SQLite tells a URI from a path.
_URI = "file:"

_MODE = "mode=ro"


def _uri_of_path(path: str) -> str:
    """The URI of a file, as SQLite reads it: on Windows, a drive follows the third slash."""
    # Not `resolve`, and not normalized, because `..` after a symbolic link leads elsewhere.
    absolute = Path(path).absolute().as_posix()
    rooted = absolute if absolute.startswith("/") else "/" + absolute
    # Bytes, because a name need not be UTF-8.
    return _URI + "//" + quote(os.fsencode(rooted), safe="/:")


def _uri_read_only(uri: str) -> Optional[str]:
    """A URI with ``mode=ro``; None for a URI that sets its own mode, or names a database in memory."""
    rest, hash_sign, fragment = uri.partition("#")
    path, _, query = rest.partition("?")
    said = dict(parse_qsl(query, keep_blank_values=True))
    if "mode" in said or said.get("vfs") == "memdb" or path[len(_URI) :] in ("", ":memory:"):
        return None
    return path + "?" + (query + "&" if query else "") + _MODE + hash_sign + fragment


def _open(database: Union[str, "os.PathLike[str]", Any], functions: str, arguments: "dict[str, Any]") -> Connection:
    connection = _open_trusting(database, functions, arguments)
    try:
        _distrust(connection)
    except BaseException:
        connection.close()
        raise
    connection._look_for_signals()
    return connection


@functools.lru_cache(maxsize=None)
def _views_can_be_distrusted() -> bool:
    """Whether SQLite considers its own JSON functions harmless. Versions up to 3.40 at least do not, and the
    view `args` calls one of them.
    """
    with contextlib.closing(sqlite3.connect(":memory:")) as probe:
        try:
            probe.execute("PRAGMA trusted_schema = OFF")
            probe.execute("CREATE VIEW quoted AS SELECT json_quote(1)")
            probe.execute("SELECT * FROM quoted").fetchall()
        except sqlite3.OperationalError:
            return False
    return True


def _distrust(connection: Connection) -> None:
    """Protects against the database itself. Its views and triggers cannot call harmful functions, such as the
    user's own; pages are checked before they are used; and the file is not mapped into memory, so that the
    process does not end if the file shrinks.
    """
    pragmas = ["cell_size_check = ON", "mmap_size = 0"]
    if _views_can_be_distrusted():
        pragmas.append("trusted_schema = OFF")
    for pragma in pragmas:
        # No statement of the user's class of cursors, and no transaction.
        sqlite3.Cursor(connection).execute(f"PRAGMA {pragma}").close()


def _protect(connection: Connection) -> None:
    """Protects a read-only connection: statements cannot change SQLite's view of the database, and no statement
    grows without bound. Older versions of Python have none of this.
    """
    if hasattr(connection, "setconfig"):  # Python 3.12
        connection.setconfig(sqlite3.SQLITE_DBCONFIG_DEFENSIVE, True)
        connection.setconfig(sqlite3.SQLITE_DBCONFIG_ENABLE_TRIGGER, False)
    if hasattr(connection, "setlimit"):  # Python 3.11
        for name, most in _LIMITS.items():
            connection.setlimit(getattr(sqlite3, name), most)


def _open_trusting(
    database: Union[str, "os.PathLike[str]", Any], functions: str, arguments: "dict[str, Any]"
) -> Connection:
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
