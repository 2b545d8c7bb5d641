"""`connect`: a DB-API connection with timebase's SQL functions.

A database is opened read-only, unless it is asked for with ``write=True``: a
DELETE that was meant for another file would be gone from the trace for good. It
is SQLite that refuses (``mode=ro`` in the file's URI), and only to write to the
file: temporary tables and views, and databases that are attached, can be written.
``PRAGMA query_only`` was the alternative; it would forbid these, too, and any
statement can switch it off.

A database may be a stranger's, so its schema is not trusted (`_distrust`), and SQLite's
other defences are on where nobody writes (`_protect`), as far as Python's sqlite3 has them.
What is bounded is what a database could do by itself; whoever writes Python needs no SQL to do
harm, so statements may attach files and change pragmas.

Ctrl-C ends a statement: sqlite3 calls a function of Python's every so often, in which Python
notices that. Asking the extension to handle the signal was the alternative; notebooks
and servers have handlers of their own.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sqlite3
import threading
import weakref
from pathlib import Path
from typing import Any, Callable, Mapping, Optional, Sequence, TypeVar, Union
from urllib.parse import parse_qsl, quote

from . import _extension, _perfetto
from ._functions import Functions, Statement, load
from ._program import Manifest, Trace, Traces, check_conversion, import_temporarily, several
from ._progress import Progress
from ._scratch import Scratch

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


#: What SQLite says of a statement that would change what is read-only.
_READ_ONLY = "attempt to write a readonly database"

#: Its code where reading would have to take back a change that was not completed.
_READ_ONLY_ROLLBACK = 776

#: What SQLite says of a statement that was interrupted.
_INTERRUPTED = "interrupted"

#: How many steps of SQLite's machine there are between two looks for Ctrl-C: some hundredths of a second.
_STEPS = 1_000_000

#: Bounds of a statement where nobody writes, by the names of sqlite3: those of the program (crates/cli/src/guard.rs).
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
    """What runs statements, and says what can be done where one failed.

    A loop over a cursor fetches rows by sqlite3's own code: what writes does so when it begins, and a
    call for each row would take longer than the row.
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
    """Python raises KeyboardInterrupt in here, which makes sqlite3 interrupt the statement."""
    return 0


class Connection(sqlite3.Connection):
    """What `connect` returns: an ``sqlite3.Connection`` with the functions on it."""

    #: How the functions got here: by the "extension", or by "python" if it could not be loaded.
    functions: str = "extension"

    _close_database: Optional[Callable[[], Any]] = None
    #: What to do for writing, if that was not asked for.
    _to_write: Optional[str] = None
    #: Whether it is Ctrl-C that interrupts statements, as far as this knows.
    _looks_for_signals: bool = False
    #: Whether it was `interrupt` that interrupted the last one.
    _was_told: bool = False

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        #: A script of PerfettoSQL is several statements, between which no other thread's may come.
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
        ``a.b`` is the file ``a/b.sql`` of the first folder that has it. Perfetto's own
        modules are in ``src/trace_processor/perfetto_sql/stdlib`` of its repository.
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
        """Ends the statement that runs, for another thread to call: it fails with "interrupted"."""
        self._was_told = True
        super().interrupt()

    def set_progress_handler(self, *arguments: Any, **named: Any) -> None:
        """As that of ``sqlite3.Connection``. A handler of yours replaces the one by which Ctrl-C ends a statement."""
        self._looks_for_signals = False
        super().set_progress_handler(*arguments, **named)

    def _is_ctrl_c(self, error: BaseException) -> bool:
        """Whether it was Ctrl-C that a statement failed of."""
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

    # sqlite3 makes cursors of its own for these, from Python 3.11 on.

    def execute(self, *arguments: Any) -> Any:
        return self.cursor().execute(*arguments)

    def executemany(self, *arguments: Any) -> Any:
        return self.cursor().executemany(*arguments)

    def executescript(self, *arguments: Any) -> Any:
        return self.cursor().executescript(*arguments)

    def _explain(self, error: sqlite3.OperationalError) -> None:
        """Adds to an error what can be done."""
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
    progress: Progress = None,
    **arguments: Any,
) -> Connection:
    """Connects to a database, a trace or several traces, with timebase's SQL functions.

    It imports a trace (a path or a file object, optionally compressed; or an archive, or a list of traces) into a
    temporary database. It removes this database when the connection is closed or collected, or the process ends;
    after a kill, the next process removes it. `manifest`, `conversion` and `progress` work as for `import_trace`; a
    database with another conversion is an error. All other `arguments` go to ``sqlite3.connect``.

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
    `manifest`, among several traces, or with another conversion. Raises sqlite3.Error as
    sqlite3 does. You can open a database that is not timebase's; the clock functions then
    raise an error.

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
        connection = (_open if write else _open_read_only)(database, functions, arguments)
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
        made = import_temporarily(traces, scratch.path / "trace.db", manifest, conversion, progress)
        connection = _open_read_only(made, functions, {**arguments, "uri": False})
    except BaseException:
        scratch.remove()
        raise
    connection._to_write = _THROWN_AWAY
    connection._close_database = weakref.finalize(connection, scratch.remove)
    return connection


def _refuse_other(connection: Connection, database: Any, conversion: str) -> None:
    """Closes a connection to a database whose times were made in another way."""
    try:
        sql = "SELECT str_value FROM metadata WHERE name = 'conversion'"
        cursor = connection.cursor()
        # Whatever the caller's own arguments say of rows.
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
    """The database that was given; None where traces were.

    Raises ValueError for a database with what is only for traces.
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
    """Whether a file is a database, and no trace."""
    if not isinstance(given, (str, os.PathLike)):
        return False
    if given == ":memory:" or (uri and os.fspath(given).startswith(_URI)):
        return True
    # What is no file, such as a pipe, can only be read once, by the import.
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


#: How SQLite tells a URI from a path.
_URI = "file:"

_MODE = "mode=ro"


def _uri_of_path(path: str) -> str:
    """The URI of a file, as SQLite reads it: on Windows, a drive follows the third slash."""
    # Not `resolve`, and not normalized: behind a symbolic link `..` is elsewhere.
    absolute = Path(path).absolute().as_posix()
    rooted = absolute if absolute.startswith("/") else "/" + absolute
    # Bytes, since a name need not be UTF-8.
    return _URI + "//" + quote(os.fsencode(rooted), safe="/:")


def _uri_read_only(uri: str) -> Optional[str]:
    """A URI with ``mode=ro``; None for one that says how to open it, or names what is in memory."""
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
    """Whether SQLite knows its own functions of JSON for harmless. It does not up to 3.40 at least, and
    the view `args` calls one.
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
    """Keeps views and the like of the database from calling what may do harm, such as functions
    of the user's; has pages looked at before they are believed; and the file not mapped into
    memory, so that one that shrinks meanwhile does not end the process.
    """
    pragmas = ["cell_size_check = ON", "mmap_size = 0"]
    if _views_can_be_distrusted():
        pragmas.append("trusted_schema = OFF")
    for pragma in pragmas:
        # No statement of the user's class of cursors, and no transaction.
        sqlite3.Cursor(connection).execute(f"PRAGMA {pragma}").close()


def _protect(connection: Connection) -> None:
    """For a database that is only read: what would change how SQLite sees it is not believed,
    and no statement grows without bound. Older versions of Python have none of this.
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
