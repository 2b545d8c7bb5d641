"""All tables of all traces of the repository, as databases and as a folder of Parquet, and how to compare what a reader makes of them."""

import os
import sqlite3
import subprocess
from contextlib import closing

from conftest import DATA

#: In these, SQLite numbers what is inside of JSON, and writes numbers, each version in its own way.
_NOT_COMPARED = {"args": {"id", "display_value"}}


class AllTables:
    def __init__(self, directory):
        self.folder = directory / "tables"
        #: Those that can be read, each once.
        self.traces = []
        self._databases = {}
        for number, trace in enumerate(sorted(DATA.rglob("*.pftrace"))):
            database = directory / f"{number}.db"
            imported = _run("import", trace, "-o", database)
            if imported.returncode != 0:
                # As it is to be: these traces are there for it.
                assert b"error" in imported.stderr, trace
                continue
            with closing(sqlite3.connect(database)) as connection:
                [(id,)] = connection.execute("SELECT value FROM fact WHERE name = 'trace_id'")
            if id not in self._databases:
                _run("export", database, "-o", self.folder).check_returncode()
                self._databases[id] = database
                self.traces.append(str(trace))

    @property
    def names(self):
        return sorted(path.name for path in self.folder.iterdir() if not path.name.startswith("_"))

    @property
    def ids(self):
        return set(self._databases)

    def rows(self, name):
        """The columns of a table, and the rows of all databases, as Parquet has to have them: with the trace's id as the last column."""
        rows = []
        for id, database in self._databases.items():
            with closing(sqlite3.connect(database)) as connection:
                query = connection.execute(f'SELECT * FROM "{name}"')
                # The partition is called trace_id, so a flow's own is not.
                columns = ["flow_trace_id" if column == "trace_id" else column for column, *_ in query.description]
                rows += [(*row, id) for row in query]
        if name == "metadata":
            # The one column of numbers and texts is of texts.
            at = columns.index("value")
            rows = [tuple(str(value) if index == at and value is not None else value for index, value in enumerate(row)) for row in rows]
        return [*columns, "trace_id"], rows


def exact(name, columns, rows):
    """Rows with the types of their values, so that 1 is not 1.0, in an order that is the same for the same rows."""
    left_out = _NOT_COMPARED.get(name, ())
    kept = [index for index, column in enumerate(columns) if column not in left_out]
    return sorted(repr([(type(row[index]).__name__, row[index]) for index in kept]) for row in rows)


def of_arrow(table):
    return list(zip(*(column.to_pylist() for column in table.columns)))


def _run(*arguments):
    return subprocess.run([os.environ["TIMEBASE_PROGRAM"], *arguments], capture_output=True)
