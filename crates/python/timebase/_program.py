"""The path of the program `timebase`, and `import_trace`, which runs it.

The program's messages are for users of the command line, and name flags. They are translated into Python's
arguments (`_Words`), by one list of wordings; a test compares the list with all messages in the sources. The
alternative was messages with placeholders, and words for each language. That is more machinery in the program
than half a dozen messages are worth.
"""

from __future__ import annotations

import json
import os
import queue
import re
import subprocess
import sys
import sysconfig
import threading
import warnings
from contextlib import closing, nullcontext
from pathlib import Path
from types import FrameType
from typing import IO, Any, BinaryIO, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple, Type, Union

from ._progress import Progress, Reporter, State, reporter

Trace = Union[str, "os.PathLike[str]", BinaryIO]

#: The input of an import: a trace, an archive of traces, or several traces.
Traces = Union[Trace, Iterable[Trace]]

#: A file that says how several traces and their machines are related.
Manifest = Union[str, "os.PathLike[str]"]

#: A file or a folder, or several.
Files = Union[str, "os.PathLike[str]", Iterable[Union[str, "os.PathLike[str]"]]]

#: Mappings of R8 or ProGuard: files for all packages, or a file for each package.
Mappings = Union[Files, Mapping[str, Union[str, "os.PathLike[str]"]]]


class ImportFailed(RuntimeError):
    """A trace, or one of several, could not be imported. The message is the program's.

    >>> import timebase
    >>> timebase.import_trace("no such file", "trace.db")
    Traceback (most recent call last):
    timebase.ImportFailed: cannot open no such file: No such file or directory (os error 2)
    """


class TraceWarning(UserWarning):
    """A trace was imported, but not all of it could be read.

    The table ``import_log`` of the database keeps the message.
    """


def program_path() -> Path:
    """The path of the program `timebase`.

    The environment variable ``TIMEBASE_PROGRAM`` names a file to use instead of the package's program.

    Raises FileNotFoundError if the file does not exist.
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
    """The possible directories of this package's program, where pip puts it."""
    scripts = "Scripts" if sys.platform == "win32" else "bin"
    packages = Path(__file__).resolve().parent.parent
    # Beside the modules with `--target DIR`, else up to three levels above them:
    # PREFIX/lib/pythonX.Y/site-packages, PREFIX\Lib\site-packages.
    for directory in [packages, *packages.parents][:4]:
        yield directory / scripts
    yield Path(sysconfig.get_path("scripts"))


def import_trace(
    trace: Traces,
    db: Optional[Union[str, "os.PathLike[str]"]] = None,
    *,
    manifest: Optional[Manifest] = None,
    merge: bool = False,
    default_clock: Optional[str] = None,
    align: Optional[str] = None,
    conversion: str = "nearest",
    force: bool = False,
    data: bool = True,
    compact: bool = False,
    events: bool = True,
    tables: Optional[Iterable[str]] = None,
    strict: bool = False,
    descriptors: Iterable[Union[str, "os.PathLike[str]"]] = (),
    symbols: Optional[Files] = None,
    mapping: Optional[Mappings] = None,
    max_size: Optional[Union[int, str]] = None,
    max_memory: Optional[Union[int, str]] = None,
    progress: Progress = None,
) -> Path:
    """Makes a database of a trace, or of several, and returns the path of the database.

    `trace` is a path or a file object open for reading bytes, optionally
    compressed with gzip or zstd. `db` is the path of the database. The default is
    beside the trace, with the extension ``.db``. The database appears when it is
    complete, or not at all.

    Several traces get one timeline: pass a list in any order, or a zip or tar archive. `manifest` is the path of
    a file that says how the traces and their machines relate (``docs/manifest.md``); an archive may contain its
    own. The name without directories identifies a file, so two files must not have the same name. One item of a
    list may be a file object. If nothing says how the clocks of the files relate, there is a `TraceWarning`;
    ``merge=True`` says that they belong on one timeline.

    `default_clock` is the clock of timestamps that name none: "REALTIME" is for traces with Unix time and without
    snapshots of clocks.

    `align` says what messages between machines may change: "auto" moves files whose place was only assumed, and is
    proven wrong by messages that would arrive before they were sent; "flows", "collectives" and "pairs" use these
    messages only, and move each assumed place that they bound; "tighten" is "auto", and makes the errors of measured
    relations less where messages bound them; "report" fills the tables and moves nothing; "off" does neither. By default, the manifest decides, or else it is "auto".

    ``conversion="linear"`` converts times by lines through all snapshots of the trace, which it reads twice.
    "nearest" uses the nearest snapshot, as Perfetto does.

    `force` replaces an existing database. ``data=False`` leaves out the bytes of
    the packets; ``compact=True`` compresses them, and only the SQL function ``packet_data`` returns them; ``events=False`` the events inside packets. `tables` only keeps
    the named tables: "ftrace_event", "android_logs", "thread" (with process), "sched"
    (with thread_state), "slice", "counter". Each of the last three includes processes
    and threads. `strict` fails if the trace is damaged, instead of importing the
    readable parts with a `TraceWarning`. `descriptors` are files that extend the
    schema of packets, each a serialized ``FileDescriptorSet``.

    `symbols` is a folder of ELF files, or a list of folders: they name the native functions of callstacks, by build
    id. `mapping` is a mapping of R8 or ProGuard, or a list, and names obfuscated Java classes and methods; in a dict
    of packages, each mapping holds for its package: ``{"com.example.app": "mapping.txt"}``.

    `max_size` limits the database and the temporary files together, and `max_memory`
    limits the memory: a number of bytes, or a text such as "500M", "2G" or "4GiB". An import
    that would exceed a limit fails, and leaves no files.

    `progress` shows the progress: by default in a terminal or notebook, if the import takes longer than a
    second; with True always, with False never. tqdm draws it if it is installed. A function is called several
    times a second, with the bytes read so far, the size (None for a file object), and the packets so far. With
    ``conversion="linear"`` the import reads the bytes twice, and copies those of a file object before that; each
    time the numbers start at 0.

    Raises `ImportFailed`, with the program's message, TypeError for a file
    object or several traces without a `db`, and ValueError for `tables` with ``events=False``.

    >>> import timebase
    >>> timebase.import_trace("tests/data/sdk.pftrace", "sdk.db")
    PosixPath('sdk.db')
    >>> timebase.import_trace("tests/data/sdk.pftrace", "sdk.db")
    Traceback (most recent call last):
    timebase.ImportFailed: sdk.db exists; name another file with db=, or replace it with force=True
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
    >>> db = timebase.import_trace(["tests/data/sdk.pftrace", "tests/data/dst.pftrace"], "both.db", merge=True)
    >>> trace = timebase.connect(db)
    >>> trace.execute("SELECT name, packets FROM trace_file WHERE parent_id = 0").fetchall()
    [('sdk.pftrace', 4825), ('dst.pftrace', 8)]
    >>> trace.close()
    """
    traces = several(trace)
    if db is None:
        if len(traces) > 1:
            raise TypeError("db is needed where there are several traces: the path of the database")
        [only] = traces
        if not isinstance(only, (str, os.PathLike)):
            raise TypeError("db is needed where the trace is a file object: the path of the database")
        db = _beside(Path(only))
    if isinstance(tables, str):
        raise TypeError(f"tables must be a list of names, such as [{tables!r}], not a str")
    chosen = None if tables is None else list(tables)
    if chosen is not None and not events:
        raise ValueError("tables and events=False cannot both be given")

    arguments = _conversion(conversion)
    if force:
        arguments.append("--force")
    if not data:
        arguments.append("--no-data")
    if compact:
        arguments.append("--compact")
    if not events or chosen == []:
        arguments.append("--no-events")
    elif chosen is not None:
        arguments.append("--tables=" + ",".join(chosen))
    if strict:
        arguments.append("--strict")
    if merge:
        arguments.append("--merge")
    arguments += _given({"default-clock": default_clock, "align": align, "max-size": max_size, "max-memory": max_memory})
    files = [os.fspath(file) for file in descriptors]
    arguments += ["--descriptor=" + file for file in files]
    named, names = name_arguments(symbols, mapping)
    arguments += named
    return _import(traces, db, manifest, arguments, [*(chosen or ()), *files, *names], progress)


class RewriteFailed(RuntimeError):
    """A trace, or one of several, could not be rewritten. The message is the program's.

    >>> import timebase
    >>> timebase.rewrite("no such file", "out.pftrace")
    Traceback (most recent call last):
    timebase.RewriteFailed: cannot open no such file: No such file or directory (os error 2)
    """


def rewrite(
    source: Traces,
    destination: Union[str, "os.PathLike[str]"],
    *,
    conversion: str = "nearest",
    manifest: Optional[Manifest] = None,
    start: Optional[Union[int, str]] = None,
    end: Optional[Union[int, str]] = None,
    slice_id: Optional[int] = None,
    during: Optional[str] = None,
    margin: Optional[str] = None,
    merge: bool = False,
    align: Optional[str] = None,
    one_file: bool = False,
    strict: bool = False,
    force: bool = False,
    max_size: Optional[Union[int, str]] = None,
    tracks: Optional[Mapping[str, str]] = None,
    reports: Sequence[str] = (),
    marks: bool = False,
    progress: Progress = None,
) -> Dict[str, Any]:
    """Writes a trace again, with every time on one clock, for tools that know fewer clocks (``docs/rewrite.md``).

    `source`, `manifest`, `merge`, `align`, `strict` and `progress` are those of `import_trace`. `destination` is the path of the new
    trace, or of a zip if there are several files or a manifest. A path that ends in ``.gz`` or ``.zst`` compresses it.
    The file appears when it is complete, or not at all; `force` replaces an existing file. `max_size` limits the file
    and the temporary files together. `tracks` adds the rows of SELECTs to the trace, each as a track of its name, `reports`
    those of reports ("sched-latency", "slices"), and `marks` adds losses, rows that may be wrong, and errors of clocks. A trace in Chrome's JSON format becomes a Perfetto
    trace; ``one_file=True`` makes one of several, and of a Perfetto trace among them.

    `start` and `end` cut a part out: from the one to before the other, as trace time in nanoseconds, or as a date and a
    time. `slice_id` cuts out the time of a slice, by its id in ``slice``, and `during` that of the first slice with a name,
    which may be a pattern ("fetch *"); `margin` adds a time on both sides ("50ms"). The new trace has the state at the
    begin: names, open slices, running threads, last values. The SELECTs of `tracks` then see only this part.

    Returns the summary. Counts are of packets, if nothing else is said:

    - ``files``, ``packets``: what was read; ``written``: what was written; ``unresolved``: those without a known
      time, which keep their clock and their timestamp
    - ``trace_time_clock``: the clock of all times
    - ``moved``: how many packets and events (``count``, ``of`` all) have another time than their nearest snapshot
      gives them, and how far they moved (``median_ns``, ``largest_ns``)
    - ``left_out``: a mapping for each kind of damage (``what``, ``count``, ``bytes``)
    - ``unmet``: a mapping for each kind of times that the format cannot express (``what``, ``count``, and
      ``largest_ns``, None if one stays as recorded)
    - ``unlike``: a mapping for each kind of things that differ in what was made of a JSON trace (``what``, ``count``)
    - ``tracks``: a mapping for each track that was added (``name``, ``rows``, ``left_out``, ``moved``, ``not_reached``)
    - ``source_bytes``, ``written_bytes``: sizes
    - ``cut``: None, or the part that was cut out: ``from``, ``to``, and the trace's ``trace_from`` and ``trace_to``;
      ``carried``: packets from before it; ``added``: packets that say what was known

    Raises `RewriteFailed` with the program's message, and warns of damage with a `TraceWarning`.

    >>> import timebase
    >>> summary = timebase.rewrite("tests/data/doctor/drift.pftrace", "right.pftrace", conversion="linear")
    >>> summary["written"], summary["trace_time_clock"], summary["unmet"]
    (106, 'BOOTTIME', [])
    >>> timebase.rewrite("tests/data/doctor/drift.pftrace", "right.pftrace")
    Traceback (most recent call last):
    timebase.RewriteFailed: right.pftrace exists; name another file with destination=, or replace it with force=True
    """
    arguments = ["rewrite", "--output=" + _path(destination), "--format=json", *_conversion(conversion)]
    if force:
        arguments.append("--force")
    if merge:
        arguments.append("--merge")
    if one_file:
        arguments.append("--one-file")
    if strict:
        arguments.append("--strict")
    window = {"from": start, "to": end, "slice": slice_id, "during": during, "margin": margin}
    arguments += _given({**window, "align": align, "max-size": max_size})
    for name, sql in (tracks or {}).items():
        if not name.strip() or "=" in name:
            raise ValueError(f"a track cannot have the name {name!r}: give it a text without '='")
        arguments.append(f"--track={name}={sql}")
    arguments.extend(f"--report={name}" for name in reports)
    if marks:
        arguments.append("--marks")
    printed = _said(several(source), manifest, arguments, [_path(destination)], progress, _OF_REWRITE)
    summary: Dict[str, Any] = json.loads(printed)
    return summary


def _given(flags: Mapping[str, object]) -> List[str]:
    """The flags that have a value."""
    return [f"--{flag}={value}" for flag, value in flags.items() if value is not None]


class CompareFailed(RuntimeError):
    """Runs could not be compared. The message is the program's.

    >>> import timebase
    >>> timebase.compare("tests/data/runs/before", "tests/data/runs/after", min_share=7)
    Traceback (most recent call last):
    timebase.CompareFailed: invalid value '7' for min_share: use a share from 0 to 1, or from 0% to 100%
    """


def import_temporarily(
    traces: Sequence[Trace],
    db: Path,
    manifest: Optional[Manifest],
    conversion: Optional[str],
    progress: Progress,
    symbols: Optional[Files] = None,
    mapping: Optional[Mappings] = None,
) -> Path:
    """Makes a database at a path that the caller did not choose."""
    named, names = name_arguments(symbols, mapping)
    arguments = [*([] if conversion is None else _conversion(conversion)), *named]
    return _import(traces, db, manifest, arguments, names, progress, is_temporary=True)


def name_arguments(symbols: Optional[Files], mapping: Optional[Mappings]) -> Tuple[List[str], List[str]]:
    """The arguments for files with names, and the names of these files."""
    folders = [_path(folder) for folder in _each(symbols)]
    if isinstance(mapping, Mapping):
        files = [(f"{package}=", _path(file)) for package, file in mapping.items()]
    else:
        files = [("", _path(file)) for file in _each(mapping)]
    arguments = ["--symbols=" + folder for folder in folders]
    arguments += ["--mapping=" + package + file for package, file in files]
    return arguments, [*folders, *(file for _, file in files)]


def _each(files: Optional[Files]) -> Iterable[Union[str, "os.PathLike[str]"]]:
    if files is None:
        return ()
    return (files,) if isinstance(files, (str, os.PathLike)) else files


def _conversion(conversion: str) -> List[str]:
    check_conversion(conversion)
    return ["--conversion=" + conversion]


def check_conversion(conversion: str) -> None:
    if conversion not in ("nearest", "linear"):
        raise ValueError(f"conversion must be 'nearest' or 'linear', not {conversion!r}")


def _beside(trace: Path) -> Path:
    """The program's own default: the extension of a compressed file does not count."""
    return (trace.with_suffix("") if trace.suffix in (".gz", ".zst") else trace).with_suffix(".db")


def several(given: Any) -> List[Trace]:
    """The given traces, at least one.

    A file object is one trace, although it can be iterated.
    """
    if _is_trace(given):
        return [given]
    if isinstance(given, (bytes, bytearray)) or not isinstance(given, Iterable):
        raise TypeError(f"trace must be a path, a file object, or a list of them, not {type(given).__name__}")
    traces: List[Trace] = list(given)
    if not traces:
        raise ValueError("there is no trace in the list; name at least one")
    for trace in traces:
        if not _is_trace(trace):
            raise TypeError(f"each trace of a list must be a path or a file object, not {type(trace).__name__}")
    if sum(not isinstance(trace, (str, os.PathLike)) for trace in traces) > 1:
        raise TypeError("only one trace of a list can be a file object; name the others by their paths")
    return traces


def _is_trace(given: Any) -> bool:
    return isinstance(given, (str, os.PathLike)) or hasattr(given, "read")


def _import(
    traces: Sequence[Trace],
    db: Union[str, "os.PathLike[str]"],
    manifest: Optional[Manifest],
    arguments: List[str],
    given: Sequence[str],
    progress: Progress,
    *,
    is_temporary: bool = False,
) -> Path:
    """Runs the import. `given` are the caller's texts, which messages may repeat."""
    arguments = ["import", "--output=" + _path(db), *arguments]
    words = _OF_TEMPORARY if is_temporary else _OF_IMPORT
    _said(traces, manifest, arguments, [_path(db), *given], progress, words)
    return Path(db)


def _said(
    traces: Sequence[Trace],
    manifest: Optional[Manifest],
    arguments: List[str],
    given: Sequence[str],
    progress: Progress,
    how: "_Words",
) -> str:
    """Runs a command that reads traces, and returns its output. `given` are the caller's texts, which
    messages may repeat.
    """
    stream: Optional[BinaryIO] = None
    sources: List[str] = []
    for trace in traces:
        if isinstance(trace, (str, os.PathLike)):
            sources.append(_path(trace))
        else:
            stream = trace
            sources.append("-")
    named = [source for source in sources if source != "-"]
    if manifest is not None:
        named.append(_path(manifest))
        arguments = [*arguments, "--manifest=" + named[-1]]
    told = reporter(progress)
    # Also without a receiver: a program that writes lines gives up when nobody reads them any more. So
    # nothing continues after this process is killed.
    command = [*arguments, "--progress=lines"]
    if stream is not None:
        command.append("--pieces")
    code, said, printed = _run([*command, "--", *sources], stream, told)
    # If there are several, messages contain their names without directories.
    names = [os.path.basename(path) for path in named]
    verbatim = [text for text in (*named, *names, *given) if text]
    if code != 0:
        why = reason(said) or f"timebase {arguments[0]} ended with code {code}"
        raise how.failure(how.in_python(why, verbatim))
    for line in said:
        if line.startswith(_WARNING):
            # The warning belongs to the line that called a function of this package.
            text = how.in_python(line[len(_WARNING) :], verbatim)
            warnings.warn(text, TraceWarning, stacklevel=callers())
    return printed


def _path(path: Union[str, "os.PathLike[str]"]) -> str:
    """A path in the program's form. The program takes ``-`` for a stream; callers in Python pass a file
    object for that.
    """
    text = os.fspath(path)
    return os.path.join(os.curdir, text) if text == "-" else text


def callers() -> int:
    """The number of stack levels from the caller of this function to the first caller outside of this
    package.
    """
    level = 1
    frame: Optional[FrameType] = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__package__") == __package__:
        level, frame = level + 1, frame.f_back
    return level


_ERROR = "timebase: error: "
_WARNING = "timebase: warning: "

#: The program's wording, and Python's wording for it, the longer ones first.
_WORDS: List[Tuple[str, str]] = [
    (r"name a trace file, or - for standard input", "name a trace file, or give a file object"),
    (r"query it with `timebase query`(?: or `timebase shell`)?", "query it with timebase.connect()"),
    (r"\| timebase (?:import - -o trace\.db|rewrite - -o trace\.pftrace)", "> trace.pftrace"),
    (r"'--tables <LIST>'", "tables"),
    (r"'--align <MODE>'", "align"),
    (r"'--max-size <SIZE>'", "max_size"),
    (r"'--max-memory <SIZE>'", "max_memory"),
    (r"'--min-share <SHARE>'", "min_share"),
    (r"'--max-loss <SHARE>'", "max_loss"),
    (r"'--skip-first <N>'", "skip_first"),
    (r"'--paired'", "paired"),
    (r"'--pair-by <REGEX>'", "pair_by"),
    (r"'--jobs <N>'", "jobs"),
    (r"'--during <NAME>'", "during"),
    (r"'--from <TIME>'", "start"),
    (r"'--to <TIME>'", "end"),
    (r"export the traces to a folder of tables with --label first", "export them with timebase.dataset.Dataset(…, folder=…, labels=…) first"),
    (r"--name 'REGEX=TEXT'", "names={regex: text}"),
    (r"--pair-by REGEX", "pair_by=REGEX"),
    (r"--by ", "by="),
    (r"--cache:", "cache:"),
    (r"--during:", "during:"),
    (r"--from:", "start:"),
    (r"--to:", "end:"),
    (r"--conversion:", "conversion:"),
    (r"--name:", "names:"),
    (r"--keep-names:", "keep_names:"),
    (r"such as -o ", "such as db="),
    (r"(?:--output|-o)(?: OUT\.db)?", "db="),
    (r"--force", "force=True"),
    (r"--strict", "strict=True"),
    (r"--merge", "merge=True"),
    (r"--no-data", "data=False"),
    (r"--compact", "compact=True"),
    (r"--no-events", "events=False"),
    (r"--tables", "tables="),
    (r"--max-size", "max_size="),
    (r"--max-memory", "max_memory="),
    (r"--manifest", "manifest="),
    (r"--conversion linear", 'conversion="linear"'),
    (r"--default-clock REALTIME", 'default_clock="REALTIME"'),
    (r"--default-clock", "default_clock="),
    (r"--align ", "align="),
    (r"--one-file", "one_file=True"),
    (r"--during", "during="),
    (r"--from", "start="),
    (r"--to", "end="),
    (r"--per '(?:SLICE )?NAME'", "per='SLICE NAME'"),
    (r"--per divides", "per= divides"),
    (r"--per ", "per="),
    (r"--per", "per="),
    (r"--metric:", "metrics:"),
    (r"--metric", "metrics="),
    (r"--leave-out", "leave_out="),
    (r"--skip-first ", "skip_first="),
    (r"--skip-first", "skip_first="),
    (r"--paired", "paired=True"),
    (r"--pair-by ", "pair_by="),
    (r"--pair-by", "pair_by="),
    (r"--descriptor", "descriptors="),
    (r"standard input", "the file object"),
]

#: The same if the caller did not choose the database's path: `connect` and `read_sql`.
_WORDS_OF_TEMPORARY: List[Tuple[str, str]] = [
    (r"name another place with -o", "name another place in the environment variable TMPDIR"),
]

_WORDS_OF_REWRITE: List[Tuple[str, str]] = [
    (r", or write to standard output with -o -", ""),
    (r"'--slice <ID>'", "slice_id"),
    (r"'--margin <DUR>'", "margin"),
    (r"'--report <NAME>'", "reports"),
    (r"--during ", "during="),
    (r"--slice ", "slice_id="),
    (r"--slice", "slice_id="),
    (r"--margin", "margin="),
    (r"--track", "tracks="),
    (r"--report", "reports="),
    (r"--marks", "marks=True"),
    (r"such as -o ", "such as destination="),
    (r"-o(?: OUT)?", "destination="),
]


class _Words:
    """Python's wording of the program's messages."""

    def __init__(self, failure: Type[RuntimeError], words: Sequence[Tuple[str, str]]) -> None:
        self.failure = failure
        self._words = [*words, *_WORDS]

    def in_python(self, message: str, verbatim: Sequence[str]) -> str:
        """A message of the program in the words of Python's users.

        `verbatim` are texts that do not change: names of files, which may contain anything.
        """
        kept = [rf"(?<!\w){re.escape(text)}(?!\w)" for text in sorted(verbatim, key=len, reverse=True)]
        # Not inside another word: protoc has a flag --descriptor_set_out.
        said = [rf"(?<![\w-]){word}" + ("" if word.endswith(" ") else r"(?![\w-])") for word, _ in self._words]

        def replaced(found: "re.Match[str]") -> str:
            number = (found.lastindex or 0) - 1
            return found[0] if number < 0 else self._words[number][1]

        return re.sub("|".join([*kept, *(f"({word})" for word in said)]), replaced, message)


_OF_IMPORT = _Words(ImportFailed, [])
_OF_TEMPORARY = _Words(ImportFailed, _WORDS_OF_TEMPORARY)
_OF_REWRITE = _Words(RewriteFailed, _WORDS_OF_REWRITE)
_OF_COMPARE = _Words(CompareFailed, _WORDS_OF_TEMPORARY)


def reason(said: Sequence[str]) -> str:
    """The program's message, without the parts that only make sense in a terminal."""
    lines = [line for line in said if line.strip() and not line.startswith(("Usage: ", "For more information, "))]
    for start, line in enumerate(lines):
        if line.startswith(_ERROR):
            return "\n".join([line[len(_ERROR) :], *lines[start + 1 :]])
    return "\n".join(lines)


def _progress(line: str) -> Optional[State]:
    """The content of a line of ``--progress=lines``, of an import or a comparison; None for any other line."""
    if not line.startswith(('{"bytes":', '{"failed":')):
        return None
    try:
        said = json.loads(line)
        if "failed" in said:
            return State(said["traces"], said["of"], said["failed"], said["phase"], "failed", "run")
        return State(said["bytes"], said["of"], said["packets"], said["phase"])
    except (ValueError, KeyError):
        return None


class _Listener(threading.Thread):
    """Reads the program's messages, so that the program never waits for a reader.

    The caller's thread evaluates them, and reads the trace.
    """

    def __init__(self, stderr: IO[bytes]) -> None:
        super().__init__(daemon=True)
        self.said: List[str] = []
        self._stderr = stderr
        #: The progress of the import; None at its end.
        self._news: "queue.SimpleQueue[Optional[State]]" = queue.SimpleQueue()
        self._is_over = False

    def run(self) -> None:
        with self._stderr:
            for line in self._stderr:
                text = line.decode("utf-8", "replace").rstrip("\r\n")
                progress = _progress(text)
                if progress is None:
                    self.said.append(text)
                else:
                    self._news.put(progress)
        self._news.put(None)

    def tell(self, told: Optional[Reporter], timeout: float = 0) -> bool:
        """Reports the latest progress, after waiting for it up to `timeout`. Returns False at the end."""
        latest: Optional[State] = None
        try:
            while not self._is_over:
                news = self._news.get(timeout=timeout) if timeout else self._news.get_nowait()
                self._is_over, latest, timeout = news is None, news or latest, 0
        except queue.Empty:
            pass
        if told is not None and latest is not None:
            told.report(latest)
        return not self._is_over


def _run(arguments: List[str], stream: Optional[BinaryIO], told: Optional[Reporter]) -> Tuple[int, List[str], str]:
    """Runs the program, and returns its exit code, its messages, and its short output."""
    process = subprocess.Popen(
        [os.fspath(program_path()), *arguments],
        stdin=subprocess.DEVNULL if stream is None else subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # The messages are parsed here, so they must not depend on the user's settings.
        env={**os.environ, "NO_COLOR": "1"},
    )
    assert process.stderr is not None and process.stdout is not None
    listener = _Listener(process.stderr)
    listener.start()
    try:
        with nullcontext() if told is None else closing(told):
            if stream is not None and process.stdin is not None:
                _feed(stream, process.stdin, listener, told)
            # A short time, because Ctrl-C does not end a wait everywhere.
            while listener.tell(told, timeout=0.2):
                pass
        with process.stdout:
            printed = process.stdout.read().decode()
        code = process.wait()
    except BaseException:
        # The user interrupted, or the stream failed. A terminated program removes its files; a killed program
        # would leave them to the next one.
        process.terminate()
        process.wait()
        raise
    finally:
        listener.join()
    return code, listener.said, printed


#: The number of bytes of a stream that are passed at once.
_CHUNK = 1 << 20


def _feed(stream: BinaryIO, pipe: IO[bytes], listener: _Listener, told: Optional[Reporter]) -> None:
    """Passes a stream in pieces, each after its size. Without the last piece, which has no bytes, the program
    takes it for no complete trace.
    """
    try:
        with pipe:
            while chunk := memoryview(stream.read(_CHUNK)).tobytes():
                for start in range(0, len(chunk), _CHUNK):
                    _piece(pipe, chunk[start : start + _CHUNK])
                listener.tell(told)
            _piece(pipe, b"")
    except BrokenPipeError:
        pass  # The program has ended, and gives the reason.


def _piece(pipe: IO[bytes], piece: bytes) -> None:
    pipe.write(len(piece).to_bytes(4, "little"))
    pipe.write(piece)
