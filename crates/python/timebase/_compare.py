"""`compare`: the changes between two groups of runs, as a pandas data frame.

The program does all of it (`timebase compare`), and writes the rows to a temporary file. `compare` is an object
that can be called, because the SQL of the values belongs to it: ``timebase.compare.METRICS``. The package has this SQL
as a file, and a test compares the file with the program's sources. The alternative was a program that prints it: a
process for a constant.
"""

from __future__ import annotations

import json
import os
import re
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from ._program import _ERROR, _OF_COMPARE, _WARNING, CompareFailed, TraceWarning, _conversion, _path, _run, callers, reason
from ._progress import Progress, reporter
from ._scratch import Scratch

if TYPE_CHECKING:
    import pandas

#: One or several: paths of traces, databases, folders, patterns, folders of tables with conditions, files of values.
Runs = Union[str, "os.PathLike[str]", Iterable[Union[str, "os.PathLike[str]"]]]

#: A share: a number from 0 to 1, or a text such as "5%".
Share = Union[float, str]

#: The columns of the result with texts. All others have numbers.
_TEXTS = ("line", "family", "process", "name", "stat", "unit", "why")


#: The parts of the SQL over tables, which are no tables.
_PARTS = {"lasting", "ranked", "percentile", "lasted", "counted", "weighed", "found"}


class Condition(NamedTuple):
    """The outcome of a condition of ``fail_on``.

    >>> import timebase
    >>> timebase.Condition._fields
    ('condition', 'outcome', 'reason')
    """

    #: The condition as it was given.
    condition: str
    #: "passes", "fails", "undecided" (more runs would decide) or "unknown" (the reason says why).
    outcome: str
    #: The interval of the change, or the reason why there is none.
    reason: str


class Compare:
    """Compares two groups of runs: which lines changed, and how sure that is (``docs/python.md``).

    `before` and `after` are the runs of the two sides: the path of a trace, a database, a folder or a pattern, or a list
    of them. Each trace is a run; several files that belong together are an archive. A folder of tables, as
    `timebase.dataset` and ``timebase export`` fill it, and a file with values (``.csv``, ``.parquet``) may have
    conditions: ``"tables,build=b1"``. `by` compares within each value of a label, with one correction over all.

    Returns a data frame with a row for each statistic of each line: its mean on both sides, the `ratio`, its interval
    from `low` to `high`, and `called`. The first row is the change that all lines share, with the stat ``shift``, if
    there are enough lines. Names that are new or gone are the last rows.

    - `metrics`: further values of each run, as a mapping of names to SELECTs with one number, or with columns name, value
    - `per`: divides counts and totals by ``"second"``, ``"frame"``, or the slices with this name
    - `during`: only the time of the first slice with this name; `start` and `end`: only this time, as trace time in
      nanoseconds, or as a date and a time
    - `names`: replaces parts of names, as a mapping of regular expressions to texts, before numbers become ``#``;
      `keep_names` keeps the numbers
    - `min_share`: leaves out lines with a smaller share of their family's time; `max_loss`: marks runs that lost more
    - `leave_out`: names of runs, or ``"lossy"`` for all marked runs; `skip_first`: so many first runs of each side
    - `absolute`: tests changes as they are, not beyond the change that all lines share
    - `paired`: compares the first run with the first, and so on; `pair_by`: those whose names have the same match
    - `fail_on`: conditions such as ``"self:app/layout total > +5 %"`` or ``"any > +5 %"``. ``attrs["fail_on"]`` of the
      result has a `Condition` for each; no condition is an error
    - `cache`: a folder that keeps the values of each trace, for the next comparison
    - `strict`: an unreadable run is an error; without it, a `TraceWarning` says which run is left out
    - `conversion`: as for `import_trace`; `jobs`: so many runs at a time, by default one for each processor
    - `progress`: as for `import_trace`, but a function gets the number of runs so far, of all, and of those that failed

    ``timebase.compare.METRICS`` is the SQL that gives the values of one run. `timebase.dataset.Dataset.sql` and the
    option ``sql`` of `timebase.spark` run it where the traces are, and its rows in a Parquet file are runs to compare
    (``docs/fleet.md``). ``METRICS_OF_TABLES`` gives the same of a folder of tables, in DuckDB or Spark.

    Raises `CompareFailed` with the program's message, and ModuleNotFoundError without pandas.

    >>> import timebase
    >>> rows = timebase.compare("tests/data/runs/before", "tests/data/runs/after", fail_on=["any > +5 %"])
    >>> rows[rows.called & (rows.stat == "total")][["line", "ratio", "low", "high"]].round(2)
                    line  ratio   low  high
    1  self:app/decode #   4.96  4.77  5.16
    7    self:app/layout   1.19  1.14  1.24
    >>> rows[rows.stat == "new"].name.tolist()
    ['retry']
    >>> rows.attrs["fail_on"][0].outcome
    'fails'
    >>> timebase.compare("tests/data/runs/before", "nothing")
    Traceback (most recent call last):
    timebase.CompareFailed: cannot open nothing: No such file or directory (os error 2)
    """

    #: One statement with the values of a run: family, process, name, stat, value, value_all.
    METRICS: str = Path(__file__).with_name("_metrics.sql").read_text(encoding="utf-8")

    #: The same over the tables of many traces, for DuckDB and Spark: it has a column trace_id, and needs the function ``pattern``.
    METRICS_OF_TABLES: str = Path(__file__).with_name("_metrics_of_tables.sql").read_text(encoding="utf-8")

    #: The tables that it reads.
    TABLES: Tuple[str, ...] = tuple(sorted(set(re.findall(r"(?:FROM|JOIN) ([a-z_]+)", METRICS_OF_TABLES)) - _PARTS))

    #: The statement with which DuckDB gets the function ``pattern``, which replaces numbers in names by ``#``.
    PATTERN: str = (
        "CREATE OR REPLACE MACRO pattern(name) AS regexp_replace(regexp_replace(regexp_replace(name, "
        "'[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}', '#', 'g'), "
        "'0x[0-9a-fA-F]+|[0-9a-fA-F]{16,}', '#', 'g'), '(^|[^A-Za-z0-9])[0-9]+', '\\1#', 'g')"
    )

    #: The statement with which a session of Spark gets this function.
    PATTERN_OF_SPARK: str = (
        "CREATE OR REPLACE TEMPORARY FUNCTION pattern(name STRING) RETURNS STRING RETURN regexp_replace(regexp_replace(regexp_replace(name, "
        "'[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}', '#'), "
        "'0x[0-9a-fA-F]+|[0-9a-fA-F]{16,}', '#'), '(^|[^A-Za-z0-9])[0-9]+', '$1#')"
    )

    def __call__(
        self,
        before: Runs,
        after: Runs,
        *,
        by: Optional[str] = None,
        metrics: Optional[Mapping[str, str]] = None,
        per: str = "run",
        during: Optional[str] = None,
        start: Optional[Union[int, str]] = None,
        end: Optional[Union[int, str]] = None,
        names: Optional[Mapping[str, str]] = None,
        keep_names: bool = False,
        min_share: Optional[Share] = None,
        max_loss: Optional[Share] = None,
        leave_out: Union[str, Iterable[str]] = (),
        skip_first: int = 0,
        absolute: bool = False,
        paired: bool = False,
        pair_by: Optional[str] = None,
        fail_on: Union[str, Iterable[str]] = (),
        cache: Optional[Union[str, "os.PathLike[str]"]] = None,
        strict: bool = False,
        conversion: Optional[str] = None,
        jobs: Optional[int] = None,
        progress: Progress = None,
    ) -> pandas.DataFrame:
        """Compares two groups of runs; the class has the explanation."""
        try:
            import pandas as _
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError("timebase.compare() needs pandas: pip install pandas", name="pandas") from error

        sides = [_runs("before", before), _runs("after", after)]
        conditions = _texts(fail_on)
        given: List[str] = []
        arguments = [] if conversion is None else _conversion(conversion)
        pairs = [("metrics", "metric", metrics, "="), ("names", "name", names, "")]
        for argument, flag, mapping, not_in_key in pairs:
            for key, value in (mapping or {}).items():
                _check_pair(argument, key, value, not_in_key)
                arguments.append(f"--{flag}={key}={value}")
                given += [key, value]
        options = {
            "by": by,
            "per": per,
            "during": during,
            "from": start,
            "to": end,
            "min-share": min_share,
            "max-loss": max_loss,
            "skip-first": skip_first,
            "pair-by": pair_by,
            "cache": None if cache is None else _path(cache),
            "jobs": jobs,
        }
        options = {flag: value for flag, value in options.items() if value is not None}
        arguments += [f"--{flag}={value}" for flag, value in options.items()]
        flags = {"keep-names": keep_names, "absolute": absolute, "paired": paired, "strict": strict}
        arguments += [f"--{flag}" for flag, is_set in flags.items() if is_set]
        arguments += [f"--leave-out={name}" for name in _texts(leave_out)]
        arguments += [f"--fail-on={condition}" for condition in conditions]
        given += [*map(str, options.values()), *_texts(leave_out), *conditions]
        document, said = _compared(sides, arguments, given, progress)
        frame = _frame(document["rows"])
        frame.attrs["runs"] = document["runs"]
        frame.attrs["notes"] = [note["text"] for note in document["notes"]]
        frame.attrs["fail_on"] = _judged(conditions, said)
        return frame

    def __repr__(self) -> str:
        return "<function timebase.compare>"


#: The object that users call.
compare = Compare()


def _runs(argument: str, given: Any) -> List[str]:
    """The paths of one side."""
    if isinstance(given, (str, os.PathLike)):
        return [_path(given)]
    if isinstance(given, (bytes, bytearray)) or not isinstance(given, Iterable):
        raise TypeError(f"{argument} must be a path or a list of paths, not {type(given).__name__}")
    paths = [_path(path) for path in given]
    if not paths:
        raise ValueError(f"{argument} is an empty list; name at least one run")
    return paths


def _texts(given: Union[str, Iterable[str]]) -> List[str]:
    return [given] if isinstance(given, str) else list(given)


def _check_pair(argument: str, key: str, value: str, not_in_key: str) -> None:
    """Checks that the program will split ``key=value`` there: the name of a metric ends at the first ``=``, and the
    text for a name starts after the last ``=``.

    Raises ValueError for another key or value.
    """
    if not key.strip() or (not_in_key and (not_in_key in key or key.startswith("@"))):
        raise ValueError(f"{argument}: {key!r} is no name; it must have text, no =, and no @ in front")
    if not not_in_key and "=" in value:
        raise ValueError(f"{argument}: the text {value!r} must not have a =")


def _compared(
    sides: Sequence[Sequence[str]], arguments: Sequence[str], given: Sequence[str], progress: Progress
) -> Tuple[Dict[str, List[Dict[str, Any]]], List[str]]:
    """The rows, runs and notes of the program, and its messages."""
    before, after = sides
    told = reporter(progress)
    scratch = Scratch()
    try:
        file = scratch.path / "rows.json"
        command = ["compare", f"--output={file}", "--progress=lines", *arguments, *(f"--with={path}" for path in after)]
        code, said, _ = _run([*command, "--", *before], None, told)
        names = [*before, *after]
        verbatim = [text for text in (*names, *map(os.path.basename, names), *given) if text]
        # They come before an error, which may only say that no run was left.
        for line in said:
            if line.startswith(_WARNING):
                text = _OF_COMPARE.in_python(line[len(_WARNING) :], verbatim)
                warnings.warn(text, TraceWarning, stacklevel=callers())
        if not file.exists() or any(line.startswith(_ERROR) for line in said):
            why = reason([line for line in said if not line.startswith(_WARNING)])
            raise CompareFailed(_OF_COMPARE.in_python(why or f"timebase compare ended with code {code}", verbatim))
        document: Dict[str, List[Dict[str, Any]]] = json.loads(file.read_bytes())
        return document, said
    finally:
        scratch.remove()


def _frame(rows: Sequence[Mapping[str, Any]]) -> pandas.DataFrame:
    """The rows with the same types of columns in every comparison, whatever their values are."""
    import pandas

    names = list(rows[0]) if rows else [*_TEXTS]
    columns: Dict[str, Any] = {}
    for name in names:
        values = [row[name] for row in rows]
        if name in _TEXTS:
            columns[name] = pandas.Series(values, dtype=object)
        elif name == "called":
            columns[name] = pandas.Series([None if value is None else bool(value) for value in values], dtype="boolean")
        else:
            columns[name] = pandas.Series(values, dtype="int64" if name.startswith("n_") else "float64")
    return pandas.DataFrame(columns)


def _judged(conditions: Sequence[str], said: Sequence[str]) -> List[Condition]:
    """The outcomes, which the program prints last and in the order of the conditions: ``passes: CONDITION: REASON``."""
    judged = []
    for condition, line in zip(conditions, said[len(said) - len(conditions) :]):
        outcome, _, text = line.partition(": ")
        judged.append(Condition(condition, outcome, text[len(condition) :].strip(": ")))
    return judged
