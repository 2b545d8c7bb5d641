"""The loadable extension: its path, and how a connection loads it.

Python has no ``Connection.load_extension`` if it was built without ``--enable-loadable-sqlite-extensions``,
which is the default for pyenv and macOS. The SQLite below can nearly always load extensions nevertheless, and
has a documented way that does not go through Python: `sqlite3_auto_extension` registers a function that
SQLite calls with every new connection. So such a function is registered while one connection is opened, and
calls the entry point of the extension.

The alternative was to take the ``sqlite3*`` out of Python's connection object. This relies on the layout of a
private structure, and a wrong layout ends the process. Here a wrong guess is harmless: if Python uses another
SQLite than the one found, the function is not called, and `ExtensionError` says so.
"""

from __future__ import annotations

import ctypes
import os
import sqlite3
import sys
import threading
from pathlib import Path
from typing import Any, Callable, Optional, Type, TypeVar

C = TypeVar("C", bound=sqlite3.Connection)


class ExtensionError(RuntimeError):
    """The extension cannot be loaded; the message says why."""


def extension_path() -> Path:
    """The path of the loadable SQLite extension, for programs that load it.

    The environment variable ``TIMEBASE_EXTENSION`` names a file to use instead of the package's extension.

    Raises `ExtensionError` if the file does not exist.

    >>> import timebase
    >>> timebase.extension_path().suffix in (".so", ".dylib", ".dll")
    True
    """
    name = {"win32": "timebase.dll", "darwin": "libtimebase.dylib"}.get(sys.platform, "libtimebase.so")
    path = Path(os.environ.get("TIMEBASE_EXTENSION") or Path(__file__).resolve().parent / name)
    if not path.is_file():
        raise ExtensionError(
            f"the extension is not at {path}; install the wheel again, or name it in the "
            "environment variable TIMEBASE_EXTENSION"
        )
    return path


def connect(factory: Type[C], database: Any, **arguments: Any) -> C:
    """A connection with the extension loaded; otherwise raises `ExtensionError`."""
    library = extension_path()
    if python_can_load():
        return _load(sqlite3.connect(database, factory=factory, **arguments), library)
    return _connect_past_python(library, lambda: sqlite3.connect(database, factory=factory, **arguments))


def python_can_load() -> bool:
    return hasattr(sqlite3.Connection, "enable_load_extension")


def _load(connection: C, library: Path) -> C:
    try:
        load_into(connection, library)
    except ExtensionError:
        connection.close()
        raise
    return connection


def load_into(connection: sqlite3.Connection, library: Path) -> None:
    """Loads the extension in the usual way, which needs Python's support; raises `ExtensionError` on failure."""
    try:
        connection.enable_load_extension(True)
        try:
            connection.load_extension(os.fspath(library))
        finally:
            # In any case, statements must not load other extensions.
            connection.enable_load_extension(False)
    except sqlite3.Error as error:
        raise ExtensionError(f"{library} cannot be loaded: {error}") from error


# int entry(sqlite3 *, char **message, const sqlite3_api_routines *)
_SIGNATURE = (ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_char_p), ctypes.c_void_p)
_OK = 0
_OK_LOAD_PERMANENTLY = 256  # an entry point's result if it must not be unloaded


class _Awaited(threading.local):
    """For each thread: the entry point for its next connection, and the problem if there was one."""

    initialize: Any = None
    problem: Optional[str] = None


_awaited = _Awaited()

# SQLite has one list of these functions for the whole process.
_one_at_a_time = threading.Lock()


def _each_connection(connection: Any, message: Any, api: Any) -> int:
    initialize, _awaited.initialize = _awaited.initialize, None
    if initialize is None:
        return _OK  # another thread's connection
    _awaited.problem = None
    if not api:
        _awaited.problem = "this SQLite was built without extension loading"
    elif initialize(connection, message, api) not in (_OK, _OK_LOAD_PERMANENTLY):
        said = message[0]
        _awaited.problem = said.decode("utf-8", "replace") if said else "it does not say why"
    # An error here would prevent the connection from being opened at all.
    return _OK


# Never freed: another thread may still be inside after the function was removed from the list.
_ENTRY = ctypes.CFUNCTYPE(*_SIGNATURE)(_each_connection)


def _connect_past_python(library: Path, connect: Callable[[], C]) -> C:
    sqlite = _sqlite_of_python()
    try:
        initialize = ctypes.CDLL(os.fspath(library)).sqlite3_timebase_init
    except (OSError, AttributeError) as error:
        raise ExtensionError(f"{library} cannot be loaded: {error}") from error
    initialize.restype, initialize.argtypes = _SIGNATURE[0], list(_SIGNATURE[1:])
    with _one_at_a_time:
        if sqlite.sqlite3_auto_extension(_ENTRY) != _OK:
            raise ExtensionError("this SQLite takes no extensions (sqlite3_auto_extension)")
        _awaited.initialize = initialize
        _awaited.problem = "this Python's sqlite3 is not the SQLite that was found"
        try:
            connection = connect()
        finally:
            _awaited.initialize = None
            sqlite.sqlite3_cancel_auto_extension(_ENTRY)
    if _awaited.problem is not None:
        connection.close()
        raise ExtensionError(f"{library} cannot be loaded: {_awaited.problem}")
    return connection


def _sqlite_of_python() -> Any:
    """The SQLite library that Python's sqlite3 module is linked to."""
    import _sqlite3

    try:
        # None means the process itself, if the module is built into the program.
        sqlite = ctypes.CDLL(getattr(_sqlite3, "__file__", None))
        for name in ("sqlite3_auto_extension", "sqlite3_cancel_auto_extension"):
            getattr(sqlite, name)
    except (OSError, AttributeError, TypeError) as error:
        raise ExtensionError(f"this Python's sqlite3 cannot load extensions, and hides its SQLite: {error}") from error
    return sqlite
