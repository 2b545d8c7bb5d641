"""Many traces on one machine: their tables as Parquet files in a folder, for pyarrow, pandas, Polars and
DuckDB.

>>> from timebase.dataset import Dataset
>>> traces = Dataset(["tests/data/sdk.pftrace", "tests/data/app.pftrace"])
>>> traces.sql("SELECT count(*) AS slices FROM slice").to_pandas()[["trace_path", "slices"]]
               trace_path  slices
0  tests/data/sdk.pftrace    3200
1  tests/data/app.pftrace    1799
>>> frames = traces.table("slice", columns=["dur"], filter=[("name", "=", "frame")])
>>> frames.num_rows
90
>>> traces.close()

Each trace is exported by its own process (`timebase export`); the number of simultaneous processes is the
number of processors. A trace is exported only once: the folder has the version of the program and the options
for each trace. Threads wait for these processes; Python processes would cost more, and would only wait, too.
"""

from __future__ import annotations

import json
import os
import weakref
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Union

from ._progress import Progress, State, reporter
from ._scratch import Scratch
from ._traces import (
    UNREADABLE,
    Failed,
    Many,
    Programs,
    check_labels,
    check_tables,
    conversion_arguments,
    found,
    hashed,
    schema,
    version,
)

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.dataset

#: Labels of the traces: the same for all, or a function that makes them from a trace's path.
Labels = Union[Mapping[str, Any], Callable[[str], Mapping[str, Any]]]

#: The requested rows: an expression of pyarrow, or tuples such as ``("name", "=", "frame")``.
Filter = Union["pyarrow.dataset.Expression", List[Any]]

#: The subfolder next to the folders of tables, with a file for each complete trace.
_RECORDS = "_timebase"

#: The table with the unreadable parts of a trace; it is always exported.
_LOG = "import_log"

#: The columns of every result of `Dataset.sql`.
_OWN = ("trace_id", "trace_path")


class DatasetError(RuntimeError):
    """A folder of traces could not be read or written. The message is the program's, if it has one.

    >>> from timebase.dataset import Dataset
    >>> Dataset("tests/data/sdk.pftrace").sql("SELECT * FROM slizes")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    timebase.dataset.DatasetError: tests/data/sdk.pftrace: ...no such table: slizes...
    """


class _Trace(NamedTuple):
    path: str
    size: int
    labels: Dict[str, str]


class Dataset:
    """The tables of many traces, as one.

    `traces` is a folder, a pattern such as ``"traces/*.pftrace"``, or a list of paths. A folder stands for
    all files in it, except those whose names begin with ``.`` or ``_``.

    `folder` is the folder for the tables, as Parquet files: ``slice/trace_id=…/part-0.parquet``. It is
    created if necessary. A trace in the folder is not exported again, if it was exported by the same version
    of the program, with the same labels, conversion and compression. The default is a temporary folder, which
    is removed with this object, or by `close`. `tables` are the tables to export, by default all;
    ``import_log`` is always exported.

    `labels` are additional columns of every table: a dict, or a function that makes a dict from a trace's
    path, such as ``lambda path: {"build": path.split("-")[1]}``. Their values are texts.

    `conversion` works as for `timebase.import_trace`. `compression` is ``"zstd"`` (the default), ``"snappy"``
    or ``"none"``. `processes` is the number of traces that are read at a time, by default the number of
    processors. `progress` works as for `timebase.import_trace`; a function gets the bytes of the traces read
    so far, the total of bytes, and the number of these traces.

    An unreadable trace ends nothing: `errors` has the reason.

    Raises FileNotFoundError if there are no traces, ValueError for an unknown table or option and for a label
    with the name of a column, and ModuleNotFoundError without pyarrow.

    >>> from timebase.dataset import Dataset
    >>> with Dataset("tests/data/doctor/c*.pftrace", labels={"lab": "north"}, tables=["finding"]) as traces:
    ...     found = traces.table("finding", columns=["check_name", "lab"], filter=[("severity", "=", "error")])
    >>> found.to_pylist()[0]
    {'check_name': 'clock_backwards', 'lab': 'north'}
    """

    def __init__(
        self,
        traces: Many,
        *,
        folder: Optional[Union[str, "os.PathLike[str]"]] = None,
        tables: Optional[Iterable[str]] = None,
        labels: Optional[Labels] = None,
        conversion: Optional[str] = None,
        compression: Optional[str] = None,
        processes: Optional[int] = None,
        progress: Progress = None,
    ) -> None:
        _pyarrow()
        if isinstance(tables, str):
            raise TypeError(f"tables must be a list of names, such as [{tables!r}], not a str")
        if compression not in (None, "zstd", "snappy", "none"):
            raise ValueError(f"compression must be 'zstd', 'snappy' or 'none', not {compression!r}")
        if processes is not None and processes < 1:
            raise ValueError(f"processes must be at least 1, not {processes}")
        self._conversion = conversion_arguments(conversion)
        self._compression = compression or "zstd"
        self._processes = processes or _processors()
        self._progress = progress
        reporter(progress)  # It raises an error for a wrong argument.
        self._schema = schema()
        self._tables: Optional[List[str]] = None if tables is None else list(dict.fromkeys([*tables, _LOG]))
        check_tables(self._tables or (), self._schema)
        self._traces = [_Trace(path, os.stat(path).st_size, _labels(labels, path)) for path in found(traces)]
        check_labels(dict.fromkeys(name for trace in self._traces for name in trace.labels), self._schema)
        self._folder, self._remove = _folder(folder)
        if self._remove is not None:
            self._finalizer = weakref.finalize(self, self._remove)
        #: The trace ids by path, for all files that could be read.
        self._ids: Dict[str, str] = {}
        #: The reasons by path, for the traces that could not be read.
        self._failed: Dict[str, str] = {}
        self._is_exported = False

    def __enter__(self) -> "Dataset":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Removes the folder, if it is a temporary one."""
        if self._remove is not None:
            self._finalizer()

    def __repr__(self) -> str:
        return f"<timebase.dataset.Dataset of {len(self._traces)} traces in {self._folder}>"

    @property
    def folder(self) -> Path:
        """The folder with the tables."""
        return self._folder

    def export(self) -> "Dataset":
        """Exports all traces that are not in the folder yet; `table`, `dataset` and `errors` call this
        method.

        Raises `DatasetError` if the disk is full, or if the folder contains other files.
        """
        if self._is_exported:
            return self
        os.makedirs(self._folder / _RECORDS, exist_ok=True)
        now = version()
        first = self._first_of_each()

        def one(programs: Programs, trace: _Trace) -> None:
            id = self._ids[trace.path]
            if self._is_done(id, trace, now):
                return
            arguments = ["export", f"--output={self._folder}", "--force", f"--compression={self._compression}"]
            arguments += self._conversion
            if self._tables is not None:
                arguments.append("--tables=" + ",".join(self._tables))
            arguments += [f"--label={name}={value}" for name, value in trace.labels.items()]
            programs.run(arguments, [trace.path], [str(self._folder), *trace.labels.values()])

        self._each(one, first)
        self._is_exported = True
        return self

    @property
    def traces(self) -> "pyarrow.Table":
        """A row for each trace: ``trace_id``, ``trace_path``, ``size`` in bytes, ``labels``, and ``state``.

        The state is "exported", "new", "unreadable", or "duplicate" of a file with the same bytes as an
        earlier one.
        """
        pa = _pyarrow()
        first = {trace.path for trace in self._first_of_each()}
        now = version()

        def state(trace: _Trace) -> str:
            id = self._ids.get(trace.path)
            if id is None or trace.path in self._failed:
                return UNREADABLE
            if trace.path not in first:
                return "duplicate"
            return "exported" if self._is_done(id, trace, now) else "new"

        columns = {
            "trace_id": pa.array([self._ids.get(trace.path) for trace in self._traces], pa.string()),
            "trace_path": pa.array([trace.path for trace in self._traces], pa.string()),
            "size": pa.array([trace.size for trace in self._traces], pa.int64()),
            "labels": pa.array([list(trace.labels.items()) for trace in self._traces], pa.map_(pa.string(), pa.string())),
            "state": pa.array([state(trace) for trace in self._traces], pa.string()),
        }
        return pa.table(columns)

    @property
    def errors(self) -> "pyarrow.Table":
        """The unreadable parts of traces: ``path``, ``code``, ``message``.

        The code is "unreadable" if nothing of the trace could be read. For a damaged trace, the rows are
        those of its ``import_log``, without mere notes.
        """
        pa = _pyarrow()
        self.export()
        paths = {self._ids[trace.path]: trace.path for trace in reversed(self._traces) if trace.path in self._ids}
        rows = [(path, UNREADABLE, message) for path, message in self._failed.items()]
        if self._readable():
            wanted = ["trace_id", "code", "message"]
            log = self.table(_LOG, columns=wanted, filter=[("severity", "!=", "info")])
            rows += [(paths[row["trace_id"]], row["code"], row["message"]) for row in log.to_pylist()]
        order = {trace.path: number for number, trace in enumerate(self._traces)}
        rows.sort(key=lambda row: order[row[0]])
        return pa.table({name: pa.array([row[at] for row in rows], pa.string()) for at, name in enumerate(("path", "code", "message"))})

    def dataset(self, name: str) -> "pyarrow.dataset.Dataset":
        """A table of all traces, which is read on demand. DuckDB takes it without conversion.

        >>> from timebase.dataset import Dataset
        >>> traces = Dataset("tests/data/sdk.pftrace")
        >>> slices = traces.dataset("slice")
        >>> import duckdb
        >>> duckdb.sql("SELECT count(*) FROM slices").fetchall()
        [(3200,)]

        Raises `DatasetError` if no trace could be read.
        """
        from pyarrow import dataset

        pa = _pyarrow()
        check_tables([name], self._schema if self._tables is None else dict.fromkeys(self._tables))
        self.export()
        readable = self._readable()
        if not readable:
            path, message = next(iter(self._failed.items()))
            raise DatasetError(f"no trace could be read; of {path} it is said: {message}")
        # All traces have the same columns, except for labels.
        kinds = {tuple(trace.labels): trace for trace in reversed(readable)}
        schemas = [dataset.dataset(str(self._file(name, trace)), format="parquet").schema for trace in reversed(kinds.values())]
        fields = pa.unify_schemas([*schemas, pa.schema([("trace_id", pa.string())])])
        return dataset.dataset(
            [str(self._file(name, trace)) for trace in readable],
            format="parquet",
            schema=fields.remove_metadata(),
            partitioning=dataset.partitioning(pa.schema([("trace_id", pa.string())]), flavor="hive"),
        )

    def table(
        self, name: str, columns: Optional[Sequence[str]] = None, filter: Optional[Filter] = None
    ) -> "pyarrow.Table":
        """A table of all traces, with the additional columns ``trace_id`` and the labels.

        `columns` are the columns to read, by default all; `filter` selects the rows to read.

        Raises the errors of `dataset`.
        """
        rows = self.dataset(name)
        if isinstance(filter, list):
            from pyarrow.parquet import filters_to_expression

            filter = filters_to_expression(filter)
        if columns is not None:
            for column in columns:
                if column not in rows.schema.names:
                    raise ValueError(f"there is no column {column!r} in {name}; there are {', '.join(rows.schema.names)}")
        return rows.to_table(columns=None if columns is None else list(columns), filter=filter)

    def sql(self, query: str) -> "pyarrow.Table":
        """Runs a query on each trace, with all of timebase's functions, and returns the results as one table,
        in the order of the traces.

        The table has the columns ``trace_id`` and ``trace_path`` and the labels besides the query's own. This
        imports each trace, so `dataset` is better for frequent queries.

        Raises `DatasetError` if the query fails, and ValueError if the query has a column with one of these
        names.
        """
        pa = _pyarrow()
        from pyarrow import parquet

        scratch = Scratch()
        try:

            def one(programs: Programs, trace: _Trace) -> "pyarrow.Table":
                file = scratch.path / (self._ids[trace.path] + ".parquet")
                arguments = ["query", "--format=parquet", f"--output={file}", *self._conversion]
                try:
                    programs.run(arguments, [trace.path, query], [query])
                except Failed as error:
                    # If the trace can be imported, the query was wrong.
                    database = file.with_suffix(".db")
                    programs.run(["import", f"--output={database}", *self._conversion], [trace.path])
                    raise DatasetError(f"{trace.path}: {error}") from None
                result = parquet.read_table(file)
                file.unlink()
                own = {"trace_id": self._ids[trace.path], "trace_path": trace.path, **trace.labels}
                for name in own:
                    if name in result.column_names:
                        raise ValueError(f"the query has a column {name!r}, as every trace; call it otherwise with AS")
                for name, value in own.items():
                    result = result.append_column(name, pa.repeat(pa.scalar(value, pa.string()), result.num_rows))
                return result

            results = self._each(one, self._first_of_each())
        finally:
            scratch.remove()
        if not results:
            path, message = next(iter(self._failed.items()))
            raise DatasetError(f"no trace could be read; of {path} it is said: {message}")
        return pa.concat_tables(results, promote_options="permissive")

    def _each(self, one: Callable[[Programs, _Trace], Any], traces: Sequence[_Trace]) -> List[Any]:
        """The results for the readable traces, several at a time; keeps the reasons for the others."""
        programs, told = Programs(), reporter(self._progress)
        total, read, done = sum(trace.size for trace in traces), 0, 0
        with ThreadPoolExecutor(self._processes) as pool:
            futures: Dict["Future[Any]", _Trace] = {pool.submit(one, programs, trace): trace for trace in traces}
            try:
                waiting = set(futures)
                while waiting:
                    # A short time, because Ctrl-C does not end a wait everywhere.
                    over, waiting = wait(waiting, timeout=0.2, return_when=FIRST_COMPLETED)
                    for future in over:
                        read, done = read + futures[future].size, done + 1
                        self._took(future, futures[future])
                    if told is not None and over:
                        told.report(State(read, total, done, "reading", "traces"))
            except BaseException:
                for future in futures:
                    future.cancel()
                programs.stop()
                raise
            finally:
                if told is not None:
                    told.close()
        return [future.result() for future in futures if future.exception() is None]

    def _took(self, future: "Future[Any]", trace: _Trace) -> None:
        error = future.exception()
        if error is None:
            self._failed.pop(trace.path, None)
            return
        if not isinstance(error, Failed):
            raise error
        message = str(error)
        # The disk is full: the next traces would fail in the same way.
        if "no space left" in message.lower():
            raise DatasetError(message)
        self._failed[trace.path] = message

    def _first_of_each(self) -> List[_Trace]:
        """The traces whose files can be read; of files with the same bytes, only the first."""
        if not self._ids:

            def one(_: Programs, trace: _Trace) -> None:
                try:
                    self._ids[trace.path] = hashed(trace.path)
                except OSError as error:
                    raise Failed(f"cannot read {trace.path}: {error.strerror}") from error

            progress, self._progress = self._progress, False
            self._each(one, self._traces)
            self._progress = progress
        first = {self._ids[trace.path]: trace for trace in reversed(self._traces) if trace.path in self._ids}
        return list(reversed(first.values()))

    def _readable(self) -> List[_Trace]:
        return [trace for trace in self._first_of_each() if trace.path not in self._failed]

    def _file(self, table: str, trace: _Trace) -> Path:
        return self._folder / table / f"trace_id={self._ids[trace.path]}" / "part-0.parquet"

    def _is_done(self, id: str, trace: _Trace, now: str) -> bool:
        """Whether the folder has the trace with the requested options."""
        try:
            record = json.loads((self._folder / _RECORDS / f"{id}.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return False
        [*_, conversion] = self._conversion or ["--conversion=nearest"]
        wanted = {
            "version": now,
            "labels": trace.labels,
            "conversion": conversion.partition("=")[2],
            "compression": self._compression,
        }
        tables = self._schema if self._tables is None else self._tables
        is_same = all(record.get(name) == value for name, value in wanted.items())
        return is_same and set(tables) <= set(record.get("tables", ()))


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ModuleNotFoundError as error:
        message = "timebase.dataset needs pyarrow: pip install 'pyarrow>=16'"
        raise ModuleNotFoundError(message, name="pyarrow") from error
    return pyarrow


def _processors() -> int:
    # The number of processors that this process may use, if the system tells it.
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


def _labels(labels: Optional[Labels], path: str) -> Dict[str, str]:
    given = labels(path) if callable(labels) else labels or {}
    if not isinstance(given, Mapping):
        raise TypeError(f"labels must be a dict, or a function that returns one, not {type(given).__name__} (of {path})")
    for name in given:
        if name in _OWN:
            raise ValueError(f"a label cannot be called {name!r}, as every trace has a column of that name")
    return {str(name): str(value) for name, value in given.items()}


def _folder(folder: Optional[Union[str, "os.PathLike[str]"]]) -> Any:
    """The folder of tables, and the function that removes it if it is temporary."""
    if folder is None:
        scratch = Scratch()
        return scratch.path / "tables", scratch.remove
    path = Path(folder)
    if path.exists() and not path.is_dir():
        raise NotADirectoryError(f"{path} is a file; name a folder for the tables")
    if path.is_dir() and any(path.iterdir()) and not (path / _RECORDS).is_dir():
        raise DatasetError(f"{path} holds something else than tables of timebase; name another folder")
    return path, None
