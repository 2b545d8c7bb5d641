"""The number of rows of each table and each trace of a fleet, and a sum of each column: from single databases, and from Spark.

test_spark.py compares some tables of a small fleet, and `benches/fleet.py --check` all of a large one.
"""

import os
import signal
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path

from timebase._traces import schema

#: How both SQLite and Spark turn a column into a number to add up.
_ADDED = {
    "int64": "sum(`{}` % 1000003)",
    "double": "count(`{}`)",
    "string": "sum(length(`{}`))",
    "binary": "sum(length(`{}`))",
}

#: Columns that differ between SQLite's versions: numbers of JSON's contents, and numbers written as text.
NOT_COMPARED = {"args": {"id", "display_value"}}

#: Some facts belong to the import, not to the trace.
_NOT_ADDED = {**NOT_COMPARED, "metadata": {"int_value", "str_value", "value"}}


class Tables:
    def __init__(self):
        self._columns = schema()

    @property
    def names(self):
        return list(self._columns)

    def _asked(self, table, names):
        columns = [column for column in self._columns[table] if column.name not in _NOT_ADDED.get(table, ())]
        added = (_ADDED[column.type].format(names.get(column.name, column.name)) for column in columns)
        return ", ".join(["count(*)", *added])

    def of_trace(self, trace, database, tables):
        """A trace's row of each table, from an import; None if the import fails."""
        command = [os.environ["TIMEBASE_PROGRAM"], "import", trace, "-o", database]
        if subprocess.run(command, capture_output=True).returncode != 0:
            return None
        # A partition has the name of Perfetto's column of flows, and a label has the name of a handle of Vulkan.
        own = {"flow_trace_id": "trace_id", "vulkan_device": "device"}
        with closing(sqlite3.connect(database)) as connection:
            rows = {table: connection.execute(f"SELECT {self._asked(table, own)} FROM `{table}`").fetchone() for table in tables}
        os.unlink(database)
        return rows

    def of_spark(self, spark, traces, table, **options):
        """The row of each trace with rows, by its path."""
        rows = spark.read.format("perfetto").options(table=table, **options).load(str(traces))
        rows.createOrReplaceTempView("asked")
        found = spark.sql(f"SELECT trace_path, {self._asked(table, {})} FROM asked GROUP BY trace_path").collect()
        return {path: tuple(row) for path, *row in found}


def executors():
    """The processes of Spark's executors that this process has started through its JVM."""
    parents, found = {}, []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            stat, command = (process / "stat").read_text(), (process / "cmdline").read_bytes()
        except OSError:
            continue  # It has just ended.
        parents[int(process.name)] = int(stat.rpartition(")")[2].split()[1])
        if b"CoarseGrainedExecutorBackend" in command:
            found.append(int(process.name))

    def is_ours(process):
        while process > 1:
            if process == os.getpid():
                return True
            process = parents.get(process, 0)
        return False

    return [process for process in found if is_ours(process)]


def kill_a_worker(spark):
    """Kills an executor after some tasks of a job have ended, and returns its process id."""
    tracker, executor = spark.sparkContext.statusTracker(), min(executors())
    deadline = time.monotonic() + 60
    while not any(stage.numCompletedTasks >= 3 for stage in map(tracker.getStageInfo, tracker.getActiveStageIds()) if stage):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.kill(executor, signal.SIGKILL)
    return executor
