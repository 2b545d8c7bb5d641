"""PerfettoSQL on a connection: the implementation of `Connection.perfetto_sql`.

The extension's function `perfetto_query` runs a script up to its last statement with rows, and returns this
statement in SQLite's own SQL. Then Python's sqlite3 runs it like any other statement: rows come one by one,
parameters are bound, and the connection's row factory applies. The rows could also come from `perfetto_rows`,
as JSON; this would lose blobs, and take twice the time.

It needs the extension, because functions that Python registers cannot know the connection's modules.
"""

from __future__ import annotations

import os
import re
import sqlite3
import warnings
from contextlib import closing
from typing import TYPE_CHECKING, Any, Iterable, List, Optional, Tuple, Union

from ._program import callers

if TYPE_CHECKING:
    from ._connection import Connection

Package = Union[str, "os.PathLike[str]"]

#: One folder with modules, or several.
Packages = Union[Package, Iterable[Package]]

#: The environment variable with folders of modules.
_VARIABLE = "TIMEBASE_SQL_PACKAGES"

#: A pattern for texts that need more than SQLite's SQL. Like the program, it does not look at tokens.
_DIALECT = re.compile(r"perfetto|!(?!=)|_auto_id", re.IGNORECASE)


class QueryWarning(UserWarning):
    """The result of a query may lack rows, or a statement was left out.

    Trace processor has tables that timebase does not fill. A query of PerfettoSQL that reads such a table
    causes this warning.
    """


def may_be_dialect(sql: Any) -> bool:
    """Whether a text may be PerfettoSQL. It recognizes all PerfettoSQL, but may also take a string or a
    comment for it.
    """
    return isinstance(sql, str) and _DIALECT.search(sql) is not None


def run(connection: Connection, script: str, parameters: Any, packages: Packages) -> sqlite3.Cursor:
    """Runs a script, and returns the cursor of its last statement with rows."""
    if not isinstance(script, str):
        raise TypeError(f"script must be a str, not {type(script).__name__}")
    arguments: Tuple[str, ...] = (script,)
    folders = _folders(packages)
    if folders:
        arguments += (os.pathsep.join(folders),)
    cursor: sqlite3.Cursor = connection.cursor()
    try:
        sql = _told(connection, "perfetto_query", arguments)
        if sql is not None:
            cursor.execute(sql, parameters)
        elif parameters:
            raise sqlite3.ProgrammingError("the script has parameters, but no statement with rows to give them to")
        notes = _told(connection, "perfetto_notes", (sql or "",))
    except BaseException:
        cursor.close()
        raise
    for note in (notes or "").splitlines():
        warnings.warn(note, QueryWarning, stacklevel=callers())
    return cursor


def _folders(packages: Packages) -> List[str]:
    """The folders in the extension's form: first the given ones, then those of the environment."""
    given = [packages] if isinstance(packages, (str, os.PathLike)) else list(packages)
    folders = [_folder(package) for package in given]
    return [*folders, *filter(None, os.environ.get(_VARIABLE, "").split(os.pathsep))]


def _folder(package: Package) -> str:
    if not isinstance(package, (str, os.PathLike)):
        raise TypeError(f"each of packages must be a str or a path, not {type(package).__name__}")
    folder = os.fspath(package)
    if not isinstance(package, str) and not os.path.isabs(folder):
        # A path is always a folder, whatever its name; a text may be NAME=DIR.
        folder = os.path.join(os.curdir, folder)
    if os.pathsep in folder or not folder:
        why = f"has {os.pathsep!r} in its name, which separates folders; give a link to it" if folder else "has no name"
        raise ValueError(f"the folder {folder!r} of packages {why}")
    return folder


def _told(connection: Connection, function: str, arguments: Tuple[str, ...]) -> Optional[str]:
    """The function's result (a text or NULL), independent of the connection's factories."""
    places = ", ".join("?" * len(arguments))
    connection._was_told = False
    # A cursor of sqlite3's own class, whose errors have no advice yet.
    with closing(sqlite3.Cursor(connection)) as cursor:
        try:
            [told] = cursor.execute(f"SELECT CAST({function}({places}) AS BLOB)", arguments).fetchone()
        except sqlite3.OperationalError as error:
            message = str(error)
            if message == f"no such function: {function}":
                raise sqlite3.OperationalError(
                    "PerfettoSQL needs the extension, which is not loaded; `timebase query` runs it"
                ) from None
            # The position in the script is below the message.
            what, newline, place = message.partition("\n")
            error.args = (what,)
            connection._explain(error)
            error.args = (_in_python(error.args[0]) + newline + place,)
            raise
    return None if told is None else told.decode()


#: The extension's wording, and Python's wording for it.
_WORDS = [
    (f"in the variable {_VARIABLE}", f"in packages=[…], or in the variable {_VARIABLE}"),
    ("end that statement first (SELECT perfetto_sql('…') is one)", "fetch the rest of its rows, or close its cursor"),
]


def _in_python(message: str) -> str:
    for words, pythons in _WORDS:
        message = message.replace(words, pythons)
    return message
