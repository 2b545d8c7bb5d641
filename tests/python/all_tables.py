"""All tables of traces of the repository, as databases and as a Parquet folder, and a comparison with a reader's results."""

import os
import sqlite3
import subprocess
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

from conftest import DATA
from fleet_tables import NOT_COMPARED


class AllTables:
    def __init__(self, directory, traces=None):
        self.folder = directory / "tables"
        if traces is None:
            # Of the directories with traces of random generators and of checks, every third trace.
            traces = sorted(DATA.glob("*.pftrace"))
            traces += sorted(DATA.glob("*/**/*.pftrace"))[::3]
        with ThreadPoolExecutor() as pool:
            made = pool.map(self._made, traces, (directory / f"{number}.db" for number in range(len(traces))))
            by_id = {id: (str(trace), database) for trace, (id, database) in zip(traces, made) if id is not None}
        #: For the readable traces, each once: the ids, the paths and the databases.
        self.ids = list(by_id)
        self.traces = [trace for trace, _ in by_id.values()]
        self._databases = [sqlite3.connect(database) for _, database in by_id.values()]

    def close(self):
        for database in self._databases:
            database.close()

    def _made(self, trace, database):
        """The id of a readable trace, and its database."""
        imported = _run("import", trace, "-o", database)
        if imported.returncode != 0:
            # This is intended: the repository has these traces for this purpose.
            assert b"error" in imported.stderr, trace
            return None, None
        with closing(sqlite3.connect(database)) as connection:
            [(id,)] = connection.execute("SELECT value FROM fact WHERE name = 'trace_id'")
        _run("export", database, "-o", self.folder, "--force").check_returncode()
        return id, database

    @property
    def names(self):
        return sorted(path.name for path in self.folder.iterdir() if not path.name.startswith("_"))

    def rows(self, name):
        """The columns of a table, and the rows of all databases in the form of Parquet: with the trace's id as the last column."""
        rows = []
        for id, database in zip(self.ids, self._databases):
            query = database.execute(f'SELECT * FROM "{name}"')
            # The partition is called trace_id, so a flow's own column has another name. The label of a fleet is often called
            # device.
            renamed = {"trace_id": "flow_trace_id", "device": "vulkan_device"}
            columns = [renamed.get(column, column) for column, *_ in query.description]
            if name in ("metadata", "stats"):
                # Their trace_file_id has the same values.
                at = columns.index("flow_trace_id")
                del columns[at]
                query = [(*row[:at], *row[at + 1 :]) for row in query]
            rows += [(*row, id) for row in query]
        if name == "metadata":
            # The only column with numbers and texts becomes text.
            at = columns.index("value")
            rows = [tuple(str(value) if index == at and value is not None else value for index, value in enumerate(row)) for row in rows]
        return [*columns, "trace_id"], rows


def exact(name, columns, rows):
    """The number of each row, and the types of each column, so that 1 is not 1.0."""
    left_out = NOT_COMPARED.get(name, ())
    kept = [index for index, column in enumerate(columns) if column not in left_out]
    if len(kept) < len(columns):
        rows = [tuple(row[index] for index in kept) for row in rows]
    types = [set(map(type, column)) for column in zip(*rows)]
    return Counter(rows), types


def of_arrow(table):
    return list(zip(*(column.to_pylist() for column in table.columns)))


def _run(*arguments):
    return subprocess.run([os.environ["TIMEBASE_PROGRAM"], *arguments], capture_output=True)
