"""`read_sql`: the result of a query as a pandas data frame.

Rows are fetched a few thousand at a time and turned into columns at once, so that few Python objects exist at
a time. From then on, a number takes eight bytes. The type of a column follows from the types of its values,
because SQLite leaves it open. ``pandas.read_sql_query`` fetches all rows, makes an array of objects from
them, and infers the type of each column of this array; the collector of cycles visits the million tuples
again and again. ``benches/read_sql.py`` measures both.
"""

from __future__ import annotations

import sqlite3
from array import array
from contextlib import closing
from itertools import chain
from typing import TYPE_CHECKING, Any, List, Mapping, Optional, Sequence, Set, Union

from ._connection import Connection, connect
from ._perfetto import Packages, may_be_dialect
from ._program import Manifest, Traces
from ._progress import Progress

if TYPE_CHECKING:
    import pandas


def read_sql(
    sql: str,
    source: Union[sqlite3.Connection, Traces],
    params: Union[Sequence[Any], Mapping[str, Any]] = (),
    *,
    manifest: Optional[Manifest] = None,
    conversion: Optional[str] = None,
    packages: Packages = (),
    progress: Progress = None,
) -> pandas.DataFrame:
    """Returns the result of a query as a pandas data frame.

    `source` is a connection, or an argument of `connect`. It imports traces for this one query, with `manifest`,
    `conversion` and `progress` as for `import_trace`. `params` are the values of the ``?`` or ``:name`` in `sql`.
    `sql` may be a script of PerfettoSQL, with `packages` as for `Connection.perfetto_sql`.

    Integers stay exact: a column of integers with NULLs has the type ``Int64``, not
    ``float64``, which would round times of 2⁵³ ns and more (as ``pandas.read_sql``
    does). Times are integers, in nanoseconds.

    Raises ModuleNotFoundError without pandas, and sqlite3.Error if the query fails.

    >>> import timebase
    >>> frame = timebase.read_sql(
    ...     "SELECT type, count(*) AS packets, max(ts) AS latest FROM packet GROUP BY type HAVING packets > ?",
    ...     "tests/data/sdk.pftrace", [5])
    >>> print(frame.to_string(index=False))
                type  packets        latest
      clock_snapshot        7 2692849668147
    track_descriptor        8 2692618682154
         track_event     4800 2692849544573
    >>> frame.latest.dtype
    dtype('int64')
    """
    try:
        import pandas
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("timebase.read_sql() needs pandas: pip install pandas", name="pandas") from error

    if not isinstance(source, sqlite3.Connection):
        with closing(connect(source, manifest=manifest, conversion=conversion, progress=progress)) as connection:
            frame: pandas.DataFrame = read_sql(sql, connection, params, packages=packages)
            return frame
    with closing(_executed(sql, source, params, packages)) as cursor:
        cursor.row_factory = None
        names = [column[0] for column in cursor.description or ()]
        columns = [_Column() for _ in names]
        rows = cursor.fetchmany(_ROWS)
        while rows:
            # Faster than zip(*rows), which makes an iterator for each row.
            values = list(chain.from_iterable(rows))
            for number, column in enumerate(columns):
                column.add(values[number :: len(columns)])
            rows = cursor.fetchmany(_ROWS)
    frame = pandas.DataFrame({index: column.typed() for index, column in enumerate(columns)}, copy=False)
    frame.columns = names
    return frame


def _executed(sql: str, source: sqlite3.Connection, params: Any, packages: Packages) -> sqlite3.Cursor:
    if isinstance(source, Connection):
        if packages or (source.functions == "extension" and may_be_dialect(sql)):
            return source.perfetto_sql(sql, params, packages=packages)
    elif packages:
        raise TypeError("packages= needs a connection of timebase.connect()")
    return source.cursor().execute(sql, params)


#: The number of rows that are fetched at once. Their objects stay in the processor's cache.
_ROWS = 4096

_NULL = type(None)


#: The array types of numbers.
_CODES = {int: "q", float: "d"}


class _Column:
    """The values of a column; they are an array of numbers as long as all have the same type."""

    __slots__ = ("_kinds", "_values")

    def __init__(self) -> None:
        self._kinds: Set[type] = set()
        self._values: Union[array[Any], List[Any]] = []

    def add(self, values: List[Any]) -> None:
        is_first = not self._kinds
        self._kinds.update(map(type, values))
        if len(self._kinds) == 1 and (is_first or isinstance(self._values, array)):
            [kind] = self._kinds
            try:
                numbers = array(_CODES[kind], values)
            except (KeyError, OverflowError):  # an integer this large comes from a user's converter, not from SQLite
                pass
            else:
                if isinstance(self._values, array):
                    self._values.extend(numbers)
                else:
                    self._values = numbers
                return
        if isinstance(self._values, array):
            self._values = self._values.tolist()
        self._values.extend(values)

    def typed(self) -> Any:
        """The column with the type of its values; integers do not become real numbers."""
        import numpy
        import pandas

        if isinstance(self._values, array):
            return numpy.frombuffer(self._values, dtype="int64" if self._values.typecode == "q" else "float64")
        objects = numpy.empty(len(self._values), dtype=object)
        objects[:] = self._values
        if self._kinds == {int, _NULL}:
            missing = numpy.equal(objects, None).astype(bool)
            objects[missing] = 0
            try:
                return pandas.arrays.IntegerArray(objects.astype("int64"), missing)
            except OverflowError:
                objects[missing] = None
        return pandas.Series(objects, dtype=object).infer_objects()
