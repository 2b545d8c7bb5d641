"""Many traces on a cluster: a folder of traces becomes a Spark table.

    import timebase.spark

    spark = timebase.spark.session()                 # or, in an existing session: timebase.spark.register(spark)
    slices = spark.read.format("perfetto").option("table", "slice").load("traces/*.pftrace")
    frames = spark.read.format("perfetto").option("sql", "SELECT count(*) AS frames FROM slice").load("traces")

Each trace is a partition, and so a task. Several small traces share a task, because a task has a fixed cost.
A task imports its traces with the program, one after the other, on the executor's local disk, and yields
Arrow batches. Spark's Python Data Source API passes filters, but not the requested columns, so the option
``columns`` or a schema names them.

Spark runs `TraceReader.read` on the executors, and everything else on the driver. pyarrow is only imported
when a task needs it.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import sys
import tempfile
from array import array
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

_INSTALL = "pip install 'pyspark[sql]>=4.1,<5' 'pyarrow>=16' 'pandas>=2.2,<3'"

try:
    import pyspark
    from pyspark.sql import datasource as api
except ImportError as error:
    _version = getattr(globals().get("pyspark"), "__version__", None)
    if _version is None:
        _message = f"timebase.spark needs pyspark 4.1 or later: {_INSTALL}"
        raise ModuleNotFoundError(_message, name="pyspark") from error
    raise ImportError(f"timebase.spark needs pyspark 4.1 or later, and this is {_version}: {_INSTALL}") from error
if not hasattr(api, "EqualTo"):
    raise ImportError(f"timebase.spark needs pyspark 4.1 or later, and this is {pyspark.__version__}: {_INSTALL}")

from pyspark.sql.types import BinaryType, DataType, DoubleType, LongType, StringType, StructField, StructType

from ._scratch import Scratch
from ._traces import (
    IMPORT_LOG,
    UNREADABLE,
    Failed,
    Programs,
    check_labels,
    check_tables,
    conversion_arguments,
    found,
    hashed,
    is_trace_name,
    nothing_in,
    schema,
)

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import SparkSession

#: The columns of a trace in every table but ``errors``.
_OWN = ("trace_id", "trace_path")

#: The columns of the table of unreadable parts.
_ERRORS = ("path", "code", "message")

#: The number of rows in a batch: with a hundred bytes each, they are two megabytes.
_ROWS = 16_384

#: The size of a task with small traces, in bytes: a fleet's size divided by `_PART`, between the least and the largest
#: size. So the fixed cost of a task is small, a lost worker loses few traces, and all workers have work.
_PART = 32
_LEAST = 16 << 20
_MOST = 64 << 20

#: The fixed cost of a trace's import, in bytes.
_EACH = 256 << 10

#: The number of traces on which a query runs to learn its columns, unless each column has a value before.
_PROBES = 5


class TraceDataSource(api.DataSource):
    """Spark's data source ``perfetto``: a table of many traces, or the results of a query on each.

    ``load`` takes a folder, a pattern, or a trace, optionally with ``file:`` before it. Paths with other
    schemes (``s3://…``) are opened with `fsspec <https://filesystem-spec.readthedocs.io>`_, and copied to the
    executor's disk while they are read.

    | option | |
    |---|---|
    | ``table`` | a table or view of the reference, or ``errors`` (``path``, ``code``, ``message``) for the unreadable parts |
    | ``sql`` | instead of a table: a query that runs on each trace, with timebase's functions |
    | ``columns`` | the table's columns to read, such as ``ts, dur, name``; by default all |
    | ``mode`` | ``permissive`` (by default) yields the readable parts of damaged traces; ``failfast`` fails and names the file |
    | ``conversion`` | ``nearest`` (by default) or ``linear`` |
    | ``labels`` | columns with the same value for all traces, as JSON: ``{"lab": "north"}`` |
    | ``traces_per_task`` | the number of traces in a partition; by default one, or several small ones with 16 MB together, in large fleets up to 64 MB |
    | ``storage`` | the arguments with which fsspec opens files, as JSON |

    Every table has the columns ``trace_id`` and ``trace_path`` besides its own; filters of ``trace_path`` skip whole traces.
    """

    @classmethod
    def name(cls) -> str:
        return "perfetto"

    def schema(self) -> StructType:
        return _schema(Options.of(self.options))

    def reader(self, schema: StructType) -> "TraceReader":
        return TraceReader(Options.of(self.options), schema)


@dataclass(frozen=True)
class Options:
    """The checked options."""

    paths: Tuple[str, ...]
    table: Optional[str]
    sql: Optional[str]
    columns: Tuple[str, ...]
    is_strict: bool
    conversion: Tuple[str, ...]
    labels: Mapping[str, str]
    traces_per_task: Optional[int]
    storage: Mapping[str, Any]

    @staticmethod
    def of(given: Mapping[str, str]) -> "Options":
        known = ("path", "paths", "table", "sql", "columns", "mode", "conversion", "labels", "traces_per_task", "storage")
        for name in given:
            if name.lower() not in known:
                raise ValueError(f"there is no option {name!r}; there are {', '.join(known[2:])}")
        # Spark passes one path, or a list of them.
        paths = [given["path"]] if "path" in given else json.loads(given.get("paths", "[]"))
        if not paths:
            raise ValueError('there are no traces named; give a folder or a pattern to load(), such as load("traces/*.pftrace")')
        table, sql = given.get("table"), given.get("sql")
        if (table is None) == (sql is None):
            raise ValueError("name either a table, with option(\"table\", …), or a query, with option(\"sql\", …)")
        mode = given.get("mode", "permissive").lower()
        if mode not in ("permissive", "failfast"):
            raise ValueError(f"mode must be permissive or failfast, not {mode!r}")
        traces_per_task = given.get("traces_per_task")
        if traces_per_task is not None and (not traces_per_task.isdecimal() or int(traces_per_task) == 0):
            raise ValueError(f"traces_per_task must be a number of 1 and more, not {traces_per_task!r}")
        columns = tuple(name.strip() for name in given.get("columns", "").split(",") if name.strip())
        if columns and table in (None, "errors"):
            raise ValueError("columns are those of a table; a query names its own")
        labels = {name: str(value) for name, value in _json("labels", given.get("labels")).items()}
        for name in _OWN:
            if name in labels:
                raise ValueError(f"a label cannot be called {name!r}, as every trace has a column of that name")
        return Options(
            paths=tuple(paths),
            table=table,
            sql=sql,
            columns=columns,
            is_strict=mode == "failfast",
            conversion=tuple(conversion_arguments(given.get("conversion"))),
            labels=labels,
            traces_per_task=None if traces_per_task is None else int(traces_per_task),
            storage=_json("storage", given.get("storage")),
        )


def _json(option: str, text: Optional[str]) -> Dict[str, Any]:
    try:
        value = json.loads(text or "{}")
    except ValueError as error:
        raise ValueError(f"the option {option} must be an object of JSON, such as {{\"a\": \"b\"}}: {error}") from None
    if not isinstance(value, dict):
        raise ValueError(f"the option {option} must be an object of JSON, such as {{\"a\": \"b\"}}, not {text}")
    return value


def register(spark: "SparkSession") -> None:
    """Registers the data source in a session, and lets Spark push filters to it."""
    spark.dataSource.register(TraceDataSource)
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")


def session(master: str = "local[*]", *, name: str = "timebase", config: Optional[Mapping[str, str]] = None) -> "SparkSession":
    """A Spark session with the data source: on all processors of this machine, or on the cluster `master`.

    `config` are Spark's settings. Raises RuntimeError if there is no Java.
    """
    from pyspark.sql import SparkSession

    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=os.path.join(home, "bin") if home else None)
    if java is None:
        where = f"in JAVA_HOME ({home})" if home else "here"
        raise RuntimeError(
            f"Spark needs Java 17 or later, and there is none {where} (Debian: apt install openjdk-17-jre-headless; macOS: brew install openjdk@17)"
        )
    if master.startswith("local"):
        # The workers are on this machine, and need the packages of this Python.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(master).appName(name)
    for key, value in (config or {}).items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    register(spark)
    return spark


# The schema, on the driver.


_TYPES: Dict[str, DataType] = {
    "int64": LongType(),
    "double": DoubleType(),
    "string": StringType(),
    "binary": BinaryType(),
}


def _schema(options: Options) -> StructType:
    if options.table == "errors":
        return StructType([StructField(name, StringType()) for name in _ERRORS])
    if options.sql is not None:
        columns = _probed(options)
        for name, _ in columns:
            if name in _OWN or name in options.labels:
                raise ValueError(f"the query has a column {name!r}, as every trace; call it otherwise with AS")
    else:
        tables = {**schema(), "errors": []}
        table = options.table or ""
        check_tables([table], tables)
        check_labels(options.labels, {table: tables[table]})
        columns = [(column.name, _TYPES[column.type]) for column in tables[table]]
        if options.columns:
            by_name = {**dict(columns), **{name: StringType() for name in (*options.labels, *_OWN)}}
            for name in options.columns:
                if name not in by_name:
                    raise ValueError(f"there is no column {name!r} in {table}; there are {', '.join(by_name)}")
            return StructType([StructField(name, by_name[name]) for name in options.columns])
    columns = [*columns, *((name, StringType()) for name in (*options.labels, *_OWN))]
    return StructType([StructField(name, type) for name, type in columns])


def _probed(options: Options) -> List[Tuple[str, DataType]]:
    """The columns of a query on the first readable traces, the smallest traces first."""
    from pyarrow import parquet, types

    known: Dict[str, Optional[DataType]] = {}
    first_failure = None
    read = 0
    for path, _ in sorted(_found(options), key=lambda trace: trace.size):
        with _scratch() as scratch:
            try:
                with _local(path, scratch, options) as file:
                    columns = parquet.read_schema(_queried(file, path, scratch, options))
            except Failed as error:
                first_failure = first_failure or error
                continue
        for field in columns:
            type = field.type.value_type if types.is_dictionary(field.type) else field.type
            told = _TYPES.get({"large_string": "string", "large_binary": "binary"}.get(str(type), str(type)))
            known[field.name] = known.get(field.name) or told
        read += 1
        if read == _PROBES or all(known.values()):
            break
    if not known:
        raise RuntimeError(f"the columns of the query cannot be known, as no trace could be read: {first_failure}")
    return [(name, type or StringType()) for name, type in known.items()]


class _Trace(NamedTuple):
    path: str
    #: In bytes; 0 if the file system does not tell.
    size: int


def _found(options: Options) -> List[_Trace]:
    """All traces, each once."""
    traces: List[_Trace] = []
    for given in options.paths:
        if _is_remote(given):
            traces += _found_remotely(given, options)
        else:
            paths = map(os.path.abspath, found(_without_scheme(given)))
            traces += (_Trace(path, os.path.getsize(path)) for path in paths)
    return list({trace.path: trace for trace in traces}.values())


def _found_remotely(given: str, options: Options) -> List[_Trace]:
    files, path = _remote(given, options)
    if any(sign in path for sign in "*?["):
        told = list(files.glob(path, detail=True).values())
    elif files.isdir(path):
        told = [one for one in files.ls(path, detail=True) if is_trace_name(one["name"].rsplit("/", 1)[-1])]
    else:
        told = [files.info(path)]
    told = sorted((one for one in told if one["type"] == "file"), key=lambda one: one["name"])
    if not told:
        raise FileNotFoundError(nothing_in([given]))
    return [_Trace(files.unstrip_protocol(one["name"]), one.get("size") or 0) for one in told]


def _without_scheme(path: str) -> str:
    """``file:///a`` and ``file:/a`` are ``/a``."""
    if not path.startswith("file:"):
        return path
    path = path[len("file:") :]
    return "/" + path.lstrip("/") if path.startswith("//") else path


def _is_remote(path: str) -> bool:
    return "://" in path and not path.startswith("file:")


def _remote(path: str, options: Options) -> Any:
    try:
        from fsspec.core import url_to_fs
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"{path} needs fsspec, and what it needs for this kind of path: pip install fsspec", name="fsspec") from error
    return url_to_fs(path, **options.storage)


# A trace, on an executor.


@dataclass
class TracePartition(api.InputPartition):
    """The traces that a task reads, one or several."""

    paths: Tuple[str, ...]


class TraceReader(api.DataSourceReader):
    """Reads the traces in tasks."""

    def __init__(self, options: Options, schema: StructType) -> None:
        self._options = options
        self._schema = schema
        self._filters: List[api.Filter] = []

    def pushFilters(self, filters: List[api.Filter]) -> Iterable[api.Filter]:
        # Spark checks the remaining rows once more, which costs little.
        self._filters = [filter for filter in filters if _is_understood(filter)]
        return filters

    def partitions(self) -> Sequence[api.InputPartition]:
        wanted = [trace for trace in _found(self._options) if _holds(self._filters, "trace_path", trace.path)]
        # The weight of each trace, and the largest weight of a task.
        if self._options.traces_per_task is not None:
            counts, most = [1] * len(wanted), self._options.traces_per_task
        else:
            counts = [trace.size + _EACH for trace in wanted]
            most = min(max(sum(counts) // _PART, _LEAST), _MOST)
        tasks: List[List[str]] = []
        room = 0
        for trace, count in zip(wanted, counts):
            if not tasks or count > room:
                tasks.append([])
                room = most
            tasks[-1].append(trace.path)
            room -= count
        return [TracePartition(tuple(task)) for task in tasks]

    def read(self, partition: api.InputPartition) -> Iterator["pyarrow.RecordBatch"]:
        # If all traces are filtered out, Spark passes a partition of its own.
        paths = partition.paths if isinstance(partition, TracePartition) else ()
        yield from _together(batch for path in paths for batch in self._read(path))

    def _read(self, path: str) -> Iterator["pyarrow.RecordBatch"]:
        options = self._options
        with _scratch() as scratch:
            try:
                with _local(path, scratch, options) as file:
                    if options.table == "errors":
                        yield from self._errors(file, path, scratch)
                    else:
                        yield from self._rows(file, path, scratch)
            except Failed as error:
                if options.is_strict:
                    raise RuntimeError(f"{path} cannot be read: {error}") from None

    def _errors(self, file: str, path: str, scratch: Scratch) -> Iterator["pyarrow.RecordBatch"]:
        """The unreadable parts of a trace."""
        import pyarrow as pa

        database = os.path.join(scratch.path, "trace.db")
        try:
            _run(["import", f"--output={database}", "--no-data", *self._options.conversion], [file], path)
        except Failed as error:
            rows = [(path, UNREADABLE, str(error))]
        else:
            with closing(sqlite3.connect(database)) as connection:
                rows = [(path, code, message) for code, message in connection.execute(IMPORT_LOG)]
        names = [name for name in self._schema.names]
        columns = dict(zip(_ERRORS, zip(*rows))) if rows else {}
        if columns:
            yield pa.RecordBatch.from_arrays([pa.array(columns[name], pa.string()) for name in names], names=names)

    def _rows(self, file: str, path: str, scratch: Scratch) -> Iterator["pyarrow.RecordBatch"]:
        """The rows of the table or query."""
        own = {**self._options.labels, "trace_path": path}
        # The folder's id is only known after the export, and a filter may make the export needless.
        if self._options.sql is not None or _is_filtered(self._filters, "trace_id"):
            own["trace_id"] = hashed(file)
            if not _holds(self._filters, "trace_id", own["trace_id"]):
                return
        if self._options.sql is not None:
            table = _queried(file, path, scratch, self._options)
        else:
            table, own["trace_id"] = _exported(file, path, scratch, self._options)
        yield from _batches(table, own, self._schema, self._filters, path)


def _exported(file: str, path: str, scratch: Scratch, options: Options) -> Tuple[str, str]:
    """The Parquet file of the table, and the trace's id."""
    folder = os.path.join(scratch.path, "tables")
    arguments = ["export", f"--output={folder}", f"--tables={options.table}", "--compression=none", *options.conversion]
    _run([*arguments, *(["--strict"] if options.is_strict else [])], [file], path)
    table = os.path.join(folder, str(options.table))
    [name] = [name for name in os.listdir(table) if name.startswith("trace_id=")]
    return os.path.join(table, name, "part-0.parquet"), name.partition("=")[2]


def _queried(file: str, path: str, scratch: Scratch, options: Options) -> str:
    """The Parquet file of the query's result."""
    result = os.path.join(scratch.path, "result.parquet")
    arguments = [*options.conversion, *(["--strict"] if options.is_strict else [])]
    try:
        _run(["query", "--format=parquet", f"--output={result}", *arguments], [file, str(options.sql)], path)
    except Failed as error:
        # If the trace can be imported, the query was wrong.
        _run(["import", f"--output={os.path.join(scratch.path, 'trace.db')}", *arguments], [file], path)
        raise RuntimeError(f"{path}: {error}") from None
    return result


def _run(arguments: List[str], inputs: List[str], path: str) -> None:
    """Runs the program. Messages about a copy name the trace instead."""
    try:
        Programs().run(arguments, inputs)
    except Failed as error:
        said = str(error).replace(inputs[0], path)
        raise Failed(said.replace("Without strict=True", "With the mode permissive")) from None


def _batches(
    file: str, own: Mapping[str, str], schema: StructType, filters: Sequence[api.Filter], path: str
) -> Iterator["pyarrow.RecordBatch"]:
    """The rows of a Parquet file, with the columns and types of the schema."""
    import pyarrow as pa
    from pyarrow import parquet
    from pyspark.sql.pandas.types import to_arrow_schema

    wanted = to_arrow_schema(schema, timezone="UTC")
    with parquet.ParquetFile(file, pre_buffer=False) as table:
        there = set(table.schema_arrow.names)
        for field in wanted:
            if field.name not in there and field.name not in own:
                raise RuntimeError(f"{path}: there is no column {field.name!r}; there are {', '.join([*table.schema_arrow.names, *own])}")
        groups = [group for group in range(table.num_row_groups) if _may_hold(table.metadata.row_group(group), filters)]
        names = [name for name in wanted.names if name in there]
        for batch in table.iter_batches(_ROWS, row_groups=groups, columns=names, use_threads=False):
            columns = [_column(batch, field, own, path) for field in wanted]
            batch = _kept(pa.RecordBatch.from_arrays(columns, schema=wanted), filters)
            if batch.num_rows:
                yield batch


def _together(batches: Iterable["pyarrow.RecordBatch"]) -> Iterator["pyarrow.RecordBatch"]:
    """Merges the batches of small traces, because a batch has a fixed cost."""
    import pyarrow as pa

    held: List["pyarrow.RecordBatch"] = []
    rows = 0
    for batch in batches:
        if held and rows + batch.num_rows > _ROWS:
            yield from pa.Table.from_batches(held).combine_chunks().to_batches()
            held, rows = [], 0
        held.append(batch)
        rows += batch.num_rows
    if held:
        yield from pa.Table.from_batches(held).combine_chunks().to_batches()


def _column(batch: "pyarrow.RecordBatch", field: "pyarrow.Field", own: Mapping[str, str], path: str) -> "pyarrow.Array":
    import pyarrow as pa

    if field.name in own:
        return _repeated(own[field.name], batch.num_rows).cast(field.type)
    column = batch.column(field.name)
    try:
        return column if column.type == field.type else column.cast(field.type)
    except pa.ArrowInvalid as error:
        raise RuntimeError(
            f"{path}: the column {field.name} has values that are no {field.type}: {error}; "
            "say with CAST in the query, or with schema() of the reader, what it is"
        ) from None


def _repeated(text: str, rows: int) -> "pyarrow.Array":
    """The same text in each row. Arrow converts Python values with pandas if that is installed, which takes
    as much memory as everything else.
    """
    import pyarrow as pa

    value = text.encode("utf-8")
    ends = array("i", range(0, (rows + 1) * len(value), len(value)) if value else [0] * (rows + 1))
    return pa.StringArray.from_buffers(rows, pa.py_buffer(ends), pa.py_buffer(value * rows))


@contextmanager
def _local(path: str, scratch: Scratch, options: Options) -> Iterator[str]:
    """The trace's file on this machine, which is a copy if the trace is elsewhere."""
    if not _is_remote(path):
        if not os.path.exists(path):
            raise FileNotFoundError(f"{path} is not there on this executor; put traces where all executors see them, or name them by a scheme such as s3://")
        yield path
        return
    files, inside = _remote(path, options)
    copy = os.path.join(scratch.path, inside.rsplit("/", 1)[-1])
    files.get_file(inside, copy)
    yield copy


@contextmanager
def _scratch() -> Iterator[Scratch]:
    """A directory on the executor's local disks that Spark names, or in the directory for temporary files."""
    disks = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")
    disk = disks[os.getpid() % len(disks)]
    scratch = Scratch(disk if os.path.isdir(disk) else tempfile.gettempdir())
    try:
        yield scratch
    finally:
        scratch.remove()


# Filters.


def _is_understood(filter: api.Filter) -> bool:
    if isinstance(filter, api.Not):
        return _is_understood(filter.child)
    return len(filter.attribute) == 1 and isinstance(
        filter,
        (
            api.EqualTo,
            api.EqualNullSafe,
            api.GreaterThan,
            api.GreaterThanOrEqual,
            api.LessThan,
            api.LessThanOrEqual,
            api.In,
            api.IsNull,
            api.IsNotNull,
            api.StringStartsWith,
            api.StringEndsWith,
            api.StringContains,
        ),
    )


def _attribute(filter: api.Filter) -> str:
    return _attribute(filter.child) if isinstance(filter, api.Not) else filter.attribute[0]


def _attributes(filters: Sequence[api.Filter]) -> List[str]:
    return [_attribute(filter) for filter in filters]


def _is_filtered(filters: Sequence[api.Filter], name: str) -> bool:
    return name in _attributes(filters)


def _holds(filters: Sequence[api.Filter], name: str, value: str) -> bool:
    """Whether a trace with this value may have rows that the filters select."""
    return all(_is_true(filter, value) for filter in filters if _attribute(filter) == name)


def _is_true(filter: api.Filter, value: str) -> bool:
    """The result of a filter for a text that is not NULL."""
    if isinstance(filter, api.Not):
        return not _is_true(filter.child, value)
    if isinstance(filter, api.IsNull):
        return False
    if isinstance(filter, api.IsNotNull):
        return True
    other = filter.value
    if isinstance(filter, api.In):
        return value in other
    return {
        api.EqualTo: lambda: value == other,
        api.EqualNullSafe: lambda: value == other,
        api.GreaterThan: lambda: value > other,
        api.GreaterThanOrEqual: lambda: value >= other,
        api.LessThan: lambda: value < other,
        api.LessThanOrEqual: lambda: value <= other,
        api.StringStartsWith: lambda: value.startswith(other),
        api.StringEndsWith: lambda: value.endswith(other),
        api.StringContains: lambda: other in value,
    }[type(filter)]()


def _may_hold(group: "pyarrow.parquet.RowGroupMetaData", filters: Sequence[api.Filter]) -> bool:
    """Whether a row group may have rows that the filters select, by its least and greatest numbers."""
    bounds = {}
    for number in range(group.num_columns):
        column = group.column(number)
        statistics = column.statistics
        if column.physical_type == "INT64" and statistics is not None and statistics.has_min_max:
            bounds[column.path_in_schema] = (statistics.min, statistics.max)
    for filter in filters:
        value = getattr(filter, "value", None)
        if _attribute(filter) not in bounds or not isinstance(value, int):
            continue
        low, high = bounds[_attribute(filter)]
        if isinstance(filter, api.EqualTo) and not low <= value <= high:
            return False
        if isinstance(filter, (api.GreaterThan, api.GreaterThanOrEqual)) and high < value:
            return False
        if isinstance(filter, (api.LessThan, api.LessThanOrEqual)) and low > value:
            return False
    return True


def _kept(batch: "pyarrow.RecordBatch", filters: Sequence[api.Filter]) -> "pyarrow.RecordBatch":
    """The rows that the filters select, as far as these are comparisons."""
    from pyarrow import compute

    compared = {
        api.EqualTo: compute.equal,
        api.GreaterThan: compute.greater,
        api.GreaterThanOrEqual: compute.greater_equal,
        api.LessThan: compute.less,
        api.LessThanOrEqual: compute.less_equal,
    }
    for filter in filters:
        name, compare = _attribute(filter), compared.get(type(filter))
        if compare is not None and isinstance(filter.value, (int, float, str)):
            batch = batch.filter(compare(batch.column(name), filter.value))
    return batch
