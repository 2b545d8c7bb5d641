"""The loadable extension: where it is, and how it gets into a connection.

Python's ``Connection.load_extension`` is missing where Python was built without
``--enable-loadable-sqlite-extensions``, as pyenv's and macOS's are by default.
The SQLite below nearly always can load extensions all the same, and has a
documented way in that does not go through Python: `sqlite3_auto_extension`
names a function that SQLite calls with every new connection. So that function
is named for as long as one connection is opened, and calls the entry point of
the extension.

Taking the ``sqlite3*`` out of Python's connection object was the alternative; it
relies on the layout of a private structure, and ends the process where it is
wrong. Here a wrong guess is harmless: if Python has another SQLite than the one
found, the function is not called, and `ExtensionError` says so.
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
    """Where the loadable extension of SQLite is, for programs that load it.

    The environment variable ``TIMEBASE_EXTENSION`` names another one than that of
    the package.

    Raises `ExtensionError` if it is not there.

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
    """A connection with the extension loaded, or `ExtensionError`."""
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
    """Loads the extension the usual way, where Python can, or raises `ExtensionError`."""
    try:
        connection.enable_load_extension(True)
        try:
            connection.load_extension(os.fspath(library))
        finally:
            # Whatever came of it, what a statement asks for is not loaded.
            connection.enable_load_extension(False)
    except sqlite3.Error as error:
        raise ExtensionError(f"{library} cannot be loaded: {error}") from error


# int entry(sqlite3 *, char **message, const sqlite3_api_routines *)
_SIGNATURE = (ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_char_p), ctypes.c_void_p)
_OK = 0
_OK_LOAD_PERMANENTLY = 256  # what an entry point says that must not be unloaded


class _Awaited(threading.local):
    """Of each thread: what its next connection is to get, and what went wrong."""

    initialize: Any = None
    problem: Optional[str] = None


_awaited = _Awaited()

# SQLite has one list of such functions for the whole process.
_one_at_a_time = threading.Lock()


def _each_connection(connection: Any, message: Any, api: Any) -> int:
    initialize, _awaited.initialize = _awaited.initialize, None
    if initialize is None:
        return _OK  # another thread's connection, which is none of ours
    _awaited.problem = None
    if not api:
        _awaited.problem = "this SQLite was built without extension loading"
    elif initialize(connection, message, api) not in (_OK, _OK_LOAD_PERMANENTLY):
        said = message[0]
        _awaited.problem = said.decode("utf-8", "replace") if said else "it does not say why"
    # An error here would keep the connection from being opened at all.
    return _OK


# Never freed: another thread may be in it when it has been taken off the list.
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
    """The SQLite that Python's sqlite3 calls: what its module was linked to."""
    import _sqlite3

    try:
        # None, the process itself, where the module is built into the program.
        sqlite = ctypes.CDLL(getattr(_sqlite3, "__file__", None))
        for name in ("sqlite3_auto_extension", "sqlite3_cancel_auto_extension"):
            getattr(sqlite, name)
    except (OSError, AttributeError, TypeError) as error:
        raise ExtensionError(f"this Python's sqlite3 cannot load extensions, and hides its SQLite: {error}") from error
    return sqlite
