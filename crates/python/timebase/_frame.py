"""`read_sql`: the result of a query as a pandas data frame."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any, Mapping, Sequence, Union

from ._connection import connect
from ._program import Trace

if TYPE_CHECKING:
    import pandas


def read_sql(
    sql: str,
    source: Union[sqlite3.Connection, Trace],
    params: Union[Sequence[Any], Mapping[str, Any]] = (),
) -> pandas.DataFrame:
    """The result of a query as a pandas data frame.

    `source` is a connection, or what `connect` takes; a trace is imported for this
    one query then. `params` are the values of the ``?`` or ``:name`` in `sql`.

    Integers stay exact: a column that has NULLs besides them is of the type
    ``Int64``, not ``float64``, which would round times of 2⁵³ ns and more (``pandas.read_sql``
    does so). Times are integers, in nanoseconds.

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
        with closing(connect(source)) as connection:
            frame: pandas.DataFrame = read_sql(sql, connection, params)
            return frame
    with closing(source.cursor()) as cursor:
        cursor.row_factory = None
        cursor.execute(sql, params)
        names = [column[0] for column in cursor.description or ()]
        rows = cursor.fetchall()
    columns = [pandas.Series(column, dtype=object) for column in zip(*rows)] or [pandas.Series(dtype=object)] * len(names)
    frame = pandas.DataFrame({index: _typed(column) for index, column in enumerate(columns)})
    frame.columns = names
    return frame


def _typed(column: Any) -> Any:
    """The column with the type of its values; integers are not made real numbers."""
    from pandas.api.types import infer_dtype

    if infer_dtype(column, skipna=True) == "integer":
        return column.astype("Int64" if column.hasnans else "int64")
    return column.infer_objects()
