"""The cost of a fleet: the bare imports of its traces, timebase.dataset, and Spark.

    cargo build --release && cargo build --release -p timebase-lab
    PYTHONPATH=crates/python TIMEBASE_PROGRAM=target/release/timebase target/spark/bin/python benches/fleet.py

Each of them counts the slices, and all must find the same number. All figures except the first column are ratios to the bare imports of
the same files with as many processors in the same run: `timebase import` to a file, one after the other on each processor. The figure of
the bare imports themselves is the ratio to the smallest fleet: n times the traces should take n times as long. tests/run makes the
environment target/spark. --traces and --records change the fleets. --processors is the number of this machine's processors to use, by
default all. With several --rounds, the fastest of each counts. Linux only.

--check measures nothing: it compares each table of the fleet in Spark with the single databases, by the number of rows of each trace and a
sum of each column. While Spark reads `slice`, a worker is killed.

    PYTHONPATH=crates/python TIMEBASE_PROGRAM=target/release/timebase target/spark/bin/python benches/fleet.py --check --traces 1000
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyspark

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "tests" / "python"))
os.environ["SPARK_HOME"] = os.path.dirname(pyspark.__file__)

import timebase.spark  # noqa: E402
from fleet_tables import Tables, executors, kill_a_worker  # noqa: E402
from timebase.dataset import Dataset  # noqa: E402

PROGRAM = os.path.abspath(os.environ["TIMEBASE_PROGRAM"])
# For the workers, which run elsewhere.
os.environ["TIMEBASE_PROGRAM"] = PROGRAM
os.environ["PYTHONPATH"] = str(REPOSITORY / "crates" / "python")

#: The rows of a trace, and the memory of its task without Python, Spark and Arrow. The peak comes from the kernel and not from getrusage,
#: which includes the process's memory before its program began.
TASK = """
import re, sys, pyarrow.parquet, pyspark.sql.pandas.types, timebase.spark
def most(): return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
source = timebase.spark.TraceDataSource({"path": sys.argv[1], "table": "slice"})
reader = source.reader(source.schema())
[part] = reader.partitions()
before = most()
rows = sum(batch.num_rows for batch in reader.read(part))
print(rows, most() - before)
"""

#: The same for the program, measured by a smaller process, for the same reason.
PROGRAM_ALONE = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


#: How often the smallest fleet is read before anything is measured, because the JVM compiles code that runs repeatedly.
WARM = 3


def fleet(directory, traces, records):
    command = [REPOSITORY / "target/release/synth", f"--fleet={traces}", f"--records={records}", directory]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    return directory


def bare(directory, processors):
    """The imports alone."""
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(processors) as pool:

        def one(trace):
            database = os.path.join(scratch, trace.name + ".db")
            subprocess.run([PROGRAM, "import", trace, "-o", database], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if os.path.exists(database):
                os.unlink(database)

        list(pool.map(one, sorted(directory.iterdir())))


def exported(directory, processors):
    """The number of slices, by timebase.dataset."""
    with Dataset(directory, processes=processors, tables=["slice"], progress=False) as traces:
        return traces.dataset("slice").count_rows()


def counted(spark, directory, **options):
    return spark.read.format("perfetto").options(**options).load(str(directory)).count()


def summed(spark, directory):
    rows = spark.read.format("perfetto").option("sql", "SELECT count(*) AS slices FROM slice").load(str(directory))
    return rows.groupBy().sum("slices").collect()[0][0]


def timed(work):
    begin = time.perf_counter()
    result = work()
    return time.perf_counter() - begin, result


def asked(command):
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return list(map(int, done.stdout.split()))


def check(spark, directory, processors):
    tables = Tables()
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(processors) as pool:

        def one(trace):
            return str(trace), tables.of_trace(trace, os.path.join(scratch, trace.name + ".db"), tables.names)

        singly = {path: rows for path, rows in pool.map(one, sorted(directory.iterdir())) if rows is not None}
    print(f"{len(singly)} traces of {len(list(directory.iterdir()))} can be read")
    total = 0
    for table in tables.names:
        options, killing = {}, None
        if table == "slice":
            options, killing = {"traces_per_task": 1}, ThreadPoolExecutor(1).submit(kill_a_worker, spark)
        expected = {path: rows[table] for path, rows in singly.items() if rows[table][0] > 0}
        found = tables.of_spark(spark, directory, table, **options)
        assert found == expected, (table, [path for path in {*found, *expected} if found.get(path) != expected.get(path)])
        assert killing is None or killing.result() not in executors()
        rows = sum(count for count, *_ in expected.values())
        total += rows
        killed = ", a worker was killed" if killing else ""
        print(f"{table}: {rows:,} rows of {len(expected):,} traces{killed}", flush=True)
    print(f"{len(tables.names)} tables, {total:,} rows: all equal")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--traces", default="100,300,1000")
    parser.add_argument("--processors", default=len(os.sched_getaffinity(0)), type=int)
    parser.add_argument("--records", default=1500, type=int, help="of each trace")
    parser.add_argument("--rounds", default=1, type=int)
    parser.add_argument("--check", action="store_true", help="that each table is that of the single databases")
    arguments = parser.parse_args()
    processors = arguments.processors
    # This also holds for all processes that it starts.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:processors])
    sizes = [int(size) for size in arguments.traces.split(",")]
    with tempfile.TemporaryDirectory() as scratch:
        fleets = {size: fleet(Path(scratch) / str(size), size, arguments.records) for size in sizes}
        quiet = {"spark.ui.enabled": "false", "spark.log.level": "ERROR", "spark.ui.showConsoleProgress": "false"}
        if arguments.check:
            spark = timebase.spark.session(f"local-cluster[{processors},1,1024]", config={**quiet, "spark.sql.shuffle.partitions": "2"})
            for directory in fleets.values():
                check(spark, directory, processors)
            spark.stop()
            return
        asked_of = ["dataset, `slice`", "Spark, `slice`", "Spark, `ts, dur, name` of it", "Spark, `sql`"]
        print(f"| processors | traces | bare imports, ms a trace | to the smallest fleet | {' | '.join(asked_of)} |\n|{'---|' * 8}")
        spark = timebase.spark.session(f"local-cluster[{processors},1,1024]", config=quiet)
        for _ in range(WARM):
            counted(spark, fleets[sizes[0]], table="slice")
        smallest = None
        for size, directory in fleets.items():
            works = [
                lambda: bare(directory, processors),
                lambda: exported(directory, processors),
                lambda: counted(spark, directory, table="slice"),
                lambda: counted(spark, directory, table="slice", columns="ts, dur, name"),
                lambda: summed(spark, directory),
            ]
            best = [min(timed(work) for _ in range(arguments.rounds)) for work in works]
            assert len({slices for _, slices in best[1:]}) == 1, best
            bare_time, *took = (time for time, _ in best)
            each = bare_time / size
            smallest = smallest or each
            ratios = [each / smallest, *(time / bare_time for time in took)]
            print(f"| {processors} | {size:,} | {1000 * each:.0f} | " + " | ".join(f"{ratio:.2f}" for ratio in ratios) + " |", flush=True)
        spark.stop()
        print("\nA task of Spark's, of a trace of so many MB:\n\n| MB | slices | MB of Python's, above what Spark needs | MB of the program |\n|---|---|---|---|")
        for records in (arguments.records, 100_000, 1_000_000):
            [trace] = fleet(Path(scratch) / f"of-{records}", 1, records).iterdir()
            rows, own = asked([sys.executable, "-c", TASK, trace])
            exported_to = Path(scratch) / f"tables-{records}"
            export = [PROGRAM, "export", trace, "-o", exported_to, "--tables=slice", "--compression=none"]
            [program] = asked([sys.executable, "-S", "-c", PROGRAM_ALONE, *export])
            print(f"| {trace.stat().st_size / 1e6:.1f} | {rows:,} | {own / 1000:.0f} | {program / 1000:.0f} |", flush=True)


if __name__ == "__main__":
    main()
