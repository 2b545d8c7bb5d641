"""Many traces: their paths, their ids, and the program that reads them one after the other.

`dataset` and `spark` both read folders of traces, and share this module. It only imports Python's own
modules, so that a Spark task starts at once.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
import subprocess
import threading
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Set, Union

from ._program import _OF_IMPORT, _path, _progress, check_conversion, program_path, reason

#: A folder, a pattern, a trace, or a list of them.
Many = Union[str, "os.PathLike[str]", Iterable[Union[str, "os.PathLike[str]"]]]

#: The error code of an unreadable trace. All other codes come from ``import_log``.
UNREADABLE = "unreadable"

#: The rows of ``import_log`` about problems of the trace, without mere notes.
IMPORT_LOG = "SELECT code, message FROM import_log WHERE severity <> 'info' ORDER BY id"


class Failed(RuntimeError):
    """A run of the program that ended with an error. It has the program's message."""


class Column(NamedTuple):
    """A column in the form of ``timebase export``."""

    name: str
    #: "int64", "double", "string" or "binary".
    type: str


def found(traces: Many) -> List[str]:
    """The paths of all traces, in order, each once.

    A folder stands for the files in it, except those whose names begin with ``.`` or ``_``.

    Raises FileNotFoundError for a name without a file or folder, or if there are no traces.
    """
    given = [traces] if isinstance(traces, (str, os.PathLike)) else list(traces)
    paths: Dict[str, None] = {}
    for name in map(os.fspath, given):
        if os.path.isdir(name):
            inside = sorted(os.path.join(name, file) for file in os.listdir(name) if is_trace_name(file))
            paths.update(dict.fromkeys(path for path in inside if os.path.isfile(path)))
        elif os.path.exists(name):
            paths[name] = None
        elif glob.has_magic(name):
            matching = sorted(glob.glob(name, recursive=True))
            paths.update(dict.fromkeys(path for path in matching if os.path.isfile(path)))
        else:
            raise FileNotFoundError(f"there is no file or folder {name}")
    if not paths:
        raise FileNotFoundError(nothing_in(given))
    return list(paths)


def is_trace_name(name: str) -> bool:
    """Whether a file in a folder counts as a trace."""
    return not name.startswith((".", "_"))


def nothing_in(given: Sequence[Any]) -> str:
    """The message if there are no traces."""
    names = ", ".join(map(os.fspath, given)) or "the list"
    return f"there are no traces in {names}; name a folder with traces, or a pattern such as traces/*.pftrace"


def hashed(path: str) -> str:
    """The id of a trace: the first 32 digits of its SHA-256, as in `timebase export`."""
    digest = hashlib.sha256()
    buffer = memoryview(bytearray(1 << 20))
    with open(path, "rb", buffering=0) as file:
        while size := file.readinto(buffer):
            digest.update(buffer[:size])
    return digest.hexdigest()[:32]


def version() -> str:
    """The version of the program."""
    return _answer(["--version"]).split()[-1]


def schema() -> Dict[str, List[Column]]:
    """The columns of all tables, by the table's name."""
    tables = json.loads(_answer(["export", "--schema"]))["tables"]
    return {
        table["name"]: [Column(column["name"], column["type"]) for column in table["columns"]] for table in tables
    }


def check_tables(names: Iterable[str], known: Mapping[str, Any]) -> None:
    """Raises ValueError for an unknown table, and names the known tables."""
    for name in names:
        if name not in known:
            raise ValueError(f"there is no table {name!r}; there are {', '.join(sorted(known))}")


def check_labels(labels: Iterable[str], tables: Mapping[str, Iterable[Column]]) -> None:
    """Raises ValueError for a label with the name of a column, ignoring case."""
    owners = {column.name.lower(): table for table, columns in tables.items() for column in columns}
    for name in labels:
        if name.lower() in owners:
            raise ValueError(f"the label {name!r} is called as a column of {owners[name.lower()]}; give it another name")


def conversion_arguments(conversion: Optional[str]) -> List[str]:
    """The arguments for the requested conversion."""
    if conversion is None:
        return []
    check_conversion(conversion)
    return ["--conversion=" + conversion]


def _answer(arguments: List[str]) -> str:
    done = subprocess.run(
        [os.fspath(program_path()), *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=_environment(),
    )
    if done.returncode != 0:
        raise Failed(_why(arguments, done.returncode, done.stderr, ()))
    return done.stdout.decode("utf-8")


def _environment() -> Dict[str, str]:
    return {**os.environ, "NO_COLOR": "1"}


def _why(arguments: Sequence[str], code: int, said: bytes, verbatim: Sequence[str]) -> str:
    lines = said.decode("utf-8", "replace").splitlines()
    lines = [line for line in lines if _progress(line) is None]
    why = reason(lines) or f"timebase {arguments[0]} ended with code {code}"
    return _OF_IMPORT.in_python(why, verbatim)


class Programs:
    """Runs of the program, in several threads at a time, which can all be stopped."""

    def __init__(self) -> None:
        self._running: Set["subprocess.Popen[bytes]"] = set()
        self._lock = threading.Lock()
        self._is_over = False

    def run(self, arguments: Sequence[str], traces: Sequence[str], verbatim: Sequence[str] = ()) -> None:
        """Runs the program, with the traces as its last arguments.

        Raises `Failed` with the program's message, in which the texts of `verbatim` do not change.
        """
        with self._lock:
            if self._is_over:
                raise Failed("interrupted")
            process = subprocess.Popen(
                [os.fspath(program_path()), *arguments, "--", *map(_path, traces)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env=_environment(),
            )
            self._running.add(process)
        try:
            _, said = process.communicate()
        except BaseException:
            process.terminate()
            process.wait()
            raise
        finally:
            with self._lock:
                self._running.discard(process)
        if process.returncode != 0:
            raise Failed(_why(arguments, process.returncode, said, [*traces, *verbatim]))

    def stop(self) -> None:
        """Stops all runs, and starts no more. The stopped programs remove their incomplete files."""
        with self._lock:
            self._is_over = True
            for process in self._running:
                process.terminate()
