"""The program `timebase`: where it is, and `import_trace`, which runs it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import warnings
from pathlib import Path
from typing import IO, BinaryIO, Iterable, Iterator, List, Optional, Union

Trace = Union[str, "os.PathLike[str]", BinaryIO]


class ImportFailed(RuntimeError):
    """A trace could not be imported. The message is the program's.

    >>> import timebase
    >>> timebase.import_trace("no such file", "trace.db")
    Traceback (most recent call last):
    timebase.ImportFailed: cannot open no such file: No such file or directory (os error 2)
    """


class TraceWarning(UserWarning):
    """A trace was imported, but not all of it could be read.

    The table ``import_log`` of the database keeps what is said.
    """


def program_path() -> Path:
    """Where the program `timebase` is.

    The environment variable ``TIMEBASE_PROGRAM`` names another one than that of
    the package.

    Raises FileNotFoundError if it is not there.
    """
    given = os.environ.get("TIMEBASE_PROGRAM")
    if given:
        return Path(given)
    name = "timebase.exe" if sys.platform == "win32" else "timebase"
    for directory in _script_directories():
        path = directory / name
        if path.is_file():
            return path
    raise FileNotFoundError(
        f"the program {name}, which is a part of the package timebase, is not installed beside it; "
        "install the wheel again, or name the program in the environment variable TIMEBASE_PROGRAM"
    )


def _script_directories() -> Iterator[Path]:
    """Where pip puts the program of the package that this module is in."""
    scripts = "Scripts" if sys.platform == "win32" else "bin"
    packages = Path(__file__).resolve().parent.parent
    # Beside the modules with `--target DIR`, else up to three levels above them:
    # PREFIX/lib/pythonX.Y/site-packages, PREFIX\Lib\site-packages.
    for directory in [packages, *packages.parents][:4]:
        yield directory / scripts
    yield Path(sysconfig.get_path("scripts"))


def import_trace(
    trace: Trace,
    db: Optional[Union[str, "os.PathLike[str]"]] = None,
    *,
    force: bool = False,
    data: bool = True,
    events: bool = True,
    tables: Optional[Iterable[str]] = None,
    strict: bool = False,
    descriptors: Iterable[Union[str, "os.PathLike[str]"]] = (),
) -> Path:
    """Makes a database of a trace, and returns the path of the database.

    `trace` is a path or a file object open for reading bytes; either may be
    compressed with gzip or zstd. `db` is where the database goes: by default
    beside the trace, with ``.db`` for its extension. It appears when it is
    complete, or not at all.

    `force` replaces a database that exists. ``data=False`` leaves out the packets'
    bytes, and ``events=False`` the events inside of packets. `tables` keeps those
    that it names: "ftrace_event", "android_logs", "thread" (with process), "sched"
    (with thread_state), "slice", "counter". Processes and threads come with the
    last three. `strict` fails where the trace is damaged, instead of
    importing what can be read and warning with `TraceWarning`. `descriptors`
    are files that extend the schema of packets, each a serialized
    ``FileDescriptorSet``.

    Raises `ImportFailed`, with the program's message, TypeError for a file
    object without a `db`, and ValueError for `tables` with ``events=False``.

    >>> import timebase
    >>> timebase.import_trace("tests/data/sdk.pftrace", "sdk.db")
    PosixPath('sdk.db')
    >>> timebase.import_trace("tests/data/sdk.pftrace", "sdk.db")
    Traceback (most recent call last):
    timebase.ImportFailed: sdk.db exists; name another file with -o, or replace it with --force
    >>> import gzip
    >>> packed = gzip.compress(open("tests/data/sdk.pftrace", "rb").read())
    >>> import io
    >>> timebase.import_trace(io.BytesIO(packed), "sdk.db", force=True)
    PosixPath('sdk.db')
    >>> db = timebase.import_trace("tests/data/system.pftrace", "sched.db", tables=["sched", "counter"])
    >>> trace = timebase.connect(db)
    >>> trace.execute("SELECT (SELECT count(*) FROM sched), (SELECT count(*) FROM slice)").fetchone()
    (3815, 0)
    >>> trace.close()
    """
    stream: Optional[BinaryIO] = None
    if isinstance(trace, (str, os.PathLike)):
        source = os.fspath(trace)
        if db is None:
            db = _beside(Path(source))
        if source == "-":
            # For the program this is standard input, which a caller here gives
            # as a file object.
            source = os.path.join(os.curdir, source)
    elif hasattr(trace, "read"):
        stream, source = trace, "-"
    else:
        raise TypeError(f"trace must be a path or a file object, not {type(trace).__name__}")
    if isinstance(tables, str):
        raise TypeError(f"tables must be a list of names, such as [{tables!r}], not a str")
    chosen = None if tables is None else list(tables)
    if chosen is not None and not events:
        raise ValueError("tables and events=False cannot both be given")
    if db is None:
        raise TypeError("db is needed where the trace is a file object: the path of the database")

    arguments: List[str] = ["import", "--output=" + os.fspath(db)]
    if force:
        arguments.append("--force")
    if not data:
        arguments.append("--no-data")
    if not events or chosen == []:
        arguments.append("--no-events")
    elif chosen is not None:
        arguments.append("--tables=" + ",".join(chosen))
    if strict:
        arguments.append("--strict")
    arguments += ["--descriptor=" + os.fspath(file) for file in descriptors]
    code, said = _run([*arguments, "--", source], stream)
    if code != 0:
        raise ImportFailed(_why(said) or f"timebase import ended with code {code}")
    for line in said.splitlines():
        if line.startswith("warning: "):
            warnings.warn(line[len("warning: ") :], TraceWarning, stacklevel=2)
    return Path(db)


def _beside(trace: Path) -> Path:
    """The program's own default: an extension that tells the compression does not count."""
    return (trace.with_suffix("") if trace.suffix in (".gz", ".zst") else trace).with_suffix(".db")


def _why(said: str) -> str:
    """The program's message, without what only makes sense in a terminal."""
    lines = [line for line in said.splitlines() if line.strip() and line != "For more information, try '--help'."]
    for start, line in enumerate(lines):
        for prefix in ("timebase: error: ", "error: "):
            if line.startswith(prefix):
                return "\n".join([line[len(prefix) :], *lines[start + 1 :]])
    return "\n".join(lines)


def _run(arguments: List[str], stream: Optional[BinaryIO]) -> "tuple[int, str]":
    """Runs the program, and returns its exit code and what it said."""
    # A file for what it says: a pipe would have to be read while the other one
    # is written.
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            [os.fspath(program_path()), *arguments],
            stdin=subprocess.DEVNULL if stream is None else subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=said,
        )
        try:
            if stream is not None and process.stdin is not None:
                _feed(stream, process.stdin)
            code = process.wait()
        except BaseException:
            # Interrupted, or the stream failed. Told to end it takes away what
            # it has written so far; killed, it would leave it.
            process.terminate()
            process.wait()
            raise
        said.seek(0)
        return code, said.read().decode("utf-8", "replace")


def _feed(stream: BinaryIO, pipe: IO[bytes]) -> None:
    try:
        with pipe:
            shutil.copyfileobj(stream, pipe, 1 << 20)
    except BrokenPipeError:
        pass  # The program has ended, and says why.
