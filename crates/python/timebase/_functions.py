"""The SQL functions if no SQLite can load the extension: the C functions of its library, called by ctypes and
registered with sqlite3.

They are the extension's functions and run the same code (`crates/extension/src/plain.rs`, which describes how
values are passed). They read the rows that they need through the connection. Python cannot register table
functions such as `clock_path` with sqlite3, so these are missing.

The library is called with Python's lock held (`PyDLL`). Releasing and taking the lock again would add 0.08 µs
to a conversion, which itself takes less.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sqlite3
import struct
import threading
import weakref
from array import array
from itertools import chain
from pathlib import Path
from typing import Any, Callable, Iterable, List, NamedTuple, Optional, Tuple, Union

from ._extension import ExtensionError

Value = Union[None, int, float, str, bytes]

_NULL, _INTEGER, _REAL, _TEXT, _BLOB, _JSON, _FAILED = 0, 1, 2, 3, 4, 5, -1

_KINDS = {type(None): _NULL, int: _INTEGER, float: _REAL, str: _TEXT, bytes: _BLOB}

#: The number of rows that are passed at once.
_ROWS = 4096


class _Output(ctypes.Structure):
    _fields_ = [
        ("number", ctypes.c_int64),
        ("real", ctypes.c_double),
        ("bytes", ctypes.c_void_p),
        ("size", ctypes.c_size_t),
    ]


# void read(void *sink, const char *sql, size_t size, size_t count, and an array of this length for each of:
# const uint8_t *kinds, const int64_t *numbers, const char *texts)
_READ = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 2, *[ctypes.c_size_t] * 2, *[ctypes.c_void_p] * 3)

_HANDLE, _SIZE, _BYTES = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p
_OUTPUT = ctypes.POINTER(_Output)
_VALUES = (_BYTES, _BYTES, _BYTES, _SIZE)  # kinds, numbers, texts and the size of the texts

# The result type and the argument types of each C function.
_SIGNATURES = {
    "session_open": (_HANDLE, _READ),
    "session_close": (None, _HANDLE),
    "function": (ctypes.c_int32, _HANDLE, _SIZE, _OUTPUT),
    "statement_begin": (_HANDLE,),
    "statement_end": (None, _HANDLE),
    "call": (ctypes.c_int32, _HANDLE, _HANDLE, _SIZE, *_VALUES, _OUTPUT),
    "rows": (ctypes.c_int32, _HANDLE, _SIZE, _SIZE, *_VALUES),
    "fail": (None, _HANDLE, _BYTES, _SIZE),
    "free": (None, ctypes.c_void_p, _SIZE),
}


class Library(NamedTuple):
    """The C functions, without the prefix `timebase_` of their names."""

    session_open: Callable[..., Any]
    session_close: Callable[..., Any]
    function: Callable[..., Any]
    statement_begin: Callable[..., Any]
    statement_end: Callable[..., Any]
    call: Callable[..., Any]
    rows: Callable[..., Any]
    fail: Callable[..., Any]
    free: Callable[..., Any]


@functools.lru_cache(maxsize=None)
def load(path: Path) -> Library:
    """The library at a path; otherwise raises `ExtensionError`."""
    try:
        library = ctypes.PyDLL(os.fspath(path))
    except OSError as error:
        raise ExtensionError(f"{path} cannot be loaded: {error}; install a wheel for this machine") from error
    functions = {}
    for name, (returned, *taken) in _SIGNATURES.items():
        try:
            function = getattr(library, f"timebase_{name}")
        except AttributeError:
            raise ExtensionError(
                f"{path} is of another version of timebase than this package; install the wheel again"
            ) from None
        function.restype, function.argtypes = returned, taken
        functions[name] = function
    return Library(**functions)


class _Failed(Exception):
    """A function failed; sqlite3 turns this into an SQL error."""


def _handed_over(values: Iterable[Any]) -> Tuple[bytes, bytes, bytes, int]:
    """Values in the library's form: their kinds, numbers and texts, and the size of the texts."""
    kinds: List[int] = []
    numbers: List[int] = []
    texts: List[bytes] = []
    for value in values:
        kind = _KINDS.get(type(value))
        kinds.append(kind)
        if kind == _INTEGER:
            numbers.append(value)
        elif kind == _BLOB:
            texts.append(value)
            numbers.append(len(value))
        elif kind == _TEXT:
            # The library refuses a text that is not valid, and names the argument.
            text = value.encode("utf-8", "surrogatepass")
            texts.append(text)
            numbers.append(len(text))
        elif kind == _NULL:
            numbers.append(0)
        elif kind == _REAL:
            numbers += struct.unpack("q", struct.pack("d", value))
        else:
            raise _Failed(f"a value has the type {type(value).__name__}, which SQLite does not have")
    text = b"".join(texts)
    return bytes(kinds), array("q", numbers).tobytes(), text, len(text)


def _taken(count: int, kinds: int, numbers: int, texts: int) -> List[Value]:
    """Values that the library passes to Python."""
    values: List[Value] = []
    integers = struct.unpack(f"{count}q", ctypes.string_at(numbers, 8 * count))
    for kind, number in zip(ctypes.string_at(kinds, count), integers):
        if kind == _INTEGER:
            values.append(number)
        elif kind == _NULL:
            values.append(None)
        elif kind == _REAL:
            values += struct.unpack("d", struct.pack("q", number))
        else:
            value = ctypes.string_at(texts, number)
            texts += number
            values.append(value if kind == _BLOB else value.decode())
    return values


class _Here(threading.local):
    """The state of a thread that uses a connection."""

    #: The running statement; without one, each call is its own statement.
    statement: Optional[int] = None
    #: The reason why the last call failed. Python's sqlite3 does not pass it on.
    failure: Optional[str] = None
    #: The exception that ended a call but is no SQL error, such as KeyboardInterrupt.
    raised: Optional[BaseException] = None

    def __init__(self) -> None:
        self.output = _Output()
        self.reference = ctypes.byref(self.output)


class Statement:
    """The view of one statement on the database, from its beginning to its end."""

    __slots__ = ("handle", "_end")

    def __init__(self, library: Library) -> None:
        self._end = library.statement_end
        self.handle: int = library.statement_begin()

    def __del__(self) -> None:
        self._end(self.handle)


def _itself(connection: sqlite3.Connection) -> sqlite3.Connection:
    return connection


class Functions:
    """The functions of one connection."""

    def __init__(self, connection: sqlite3.Connection, library: Library) -> None:
        self.here = _Here()
        self._library = library
        self._connection: Callable[[], Optional[sqlite3.Connection]]
        try:
            # The connection owns the functions, in a way that Python's collector of cycles cannot see.
            self._connection = weakref.ref(connection)
        except TypeError:
            # A connection of sqlite3's own class, which others made, lives until it is closed.
            self._connection = functools.partial(_itself, connection)
        this = weakref.ref(self)

        def read(sink: int, sql: int, size: int, *parameters: int) -> None:
            functions = this()
            if functions is not None:
                functions._read(sink, ctypes.string_at(sql, size).decode(), parameters)

        self._reader = _READ(read)
        self._session: Optional[int] = library.session_open(self._reader)
        if self._session is None:
            raise ExtensionError("the library does not give its functions")
        number, output = 0, self.here.output
        while library.function(self._session, number, self.here.reference) == _TEXT:
            count = output.number
            name = str(self._value(_TEXT, output))
            connection.create_function(name, count, self._callable(number, count), deterministic=True)
            number += 1

    def __del__(self) -> None:
        # The registered functions own this object, so no more calls can happen.
        if self._session is not None:
            self._library.session_close(self._session)

    def begin(self) -> Statement:
        """Starts a statement."""
        return Statement(self._library)

    def _callable(self, number: int, count: int) -> Callable[..., Value]:
        here, session, call = self.here, self._session, self._library.call
        as_integers = struct.Struct(f"{count}q").pack

        def called(*values: Value) -> Value:
            try:
                try:
                    kind = call(session, here.statement, number, None, as_integers(*values), None, 0, here.reference)
                except struct.error:
                    kind = call(session, here.statement, number, *_handed_over(values), here.reference)
                if kind == _INTEGER:
                    return here.output.number
                if kind == _NULL:
                    return None
                return self._value(kind, here.output)
            except _Failed as failed:
                here.failure = str(failed)
                raise

        return called

    def _value(self, kind: int, output: _Output) -> Value:
        if kind == _INTEGER:
            return output.number
        if kind == _NULL:
            return None
        if kind == _REAL:
            return output.real
        start, size = output.bytes, output.size
        try:
            value = ctypes.string_at(start, size)
        finally:
            self._library.free(start, size)
        if kind == _BLOB:
            return value
        text = value.decode()
        if kind == _FAILED:
            raise _Failed(text)
        return text

    def _read(self, sink: int, sql: str, parameters: Tuple[int, ...]) -> None:
        """Passes the rows of a query to the library, or the reason why there are none. It must not raise."""
        here = self.here
        here.failure = None
        try:
            connection = self._connection()
            if connection is None:
                raise _Failed("the connection is closed")
            # Not a cursor of the connection's own class, which is for the user's statements.
            cursor = sqlite3.Cursor(connection) if isinstance(connection, sqlite3.Connection) else connection.cursor()
            cursor.row_factory = None  # the user's factory may turn a row into anything
            cursor.execute(sql, _taken(*parameters))
            columns = len(cursor.description)
            rows = cursor.fetchmany(_ROWS)
            while rows and self._library.rows(sink, len(rows), columns, *_rows_handed_over(rows)):
                rows = cursor.fetchmany(_ROWS)
            cursor.close()
        except BaseException as error:
            is_ctrl_c = getattr(self._connection(), "_is_ctrl_c", None)
            if is_ctrl_c is not None and is_ctrl_c(error):
                error = KeyboardInterrupt()
            if not isinstance(error, Exception):
                here.raised = error
            # For a view that calls a function, sqlite3 only knows that the function failed.
            message = (here.failure or str(error)).encode("utf-8", "replace")
            self._library.fail(sink, message, len(message))


def _rows_handed_over(rows: List[Tuple[Value, ...]]) -> Tuple[Optional[bytes], bytes, bytes, int]:
    try:
        return None, array("q", chain.from_iterable(rows)).tobytes(), b"", 0
    except TypeError:
        return _handed_over(chain.from_iterable(rows))
