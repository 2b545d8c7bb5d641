"""The SQL functions in Python, for where the extension cannot be loaded.

They have the arguments, the results and the messages of the extension's. What
sqlite3 cannot do from Python is missing: `clock_path`, which is a table. So are
`packet_json` and `packet_field`, which need Perfetto's schema; they are there to
say so.
"""

from __future__ import annotations

import sqlite3
import weakref
from bisect import bisect_right
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Callable, List, Optional, Sequence, Tuple, Union

from ._clocks import BOOTTIME, BUILTIN, BUILTIN_NAME, GREATEST, LEAST, Clock, ClockGraph, Reading, Unresolved, Unusable
from ._clocks import clock_id as number_of

Value = Union[None, int, float, str, bytes]

_SNAPSHOTS = """
    SELECT snapshot_id, machine_id, clock_id, seq_id, clock_value,
           unit_multiplier_ns, is_incremental, source
    FROM main.clock_snapshot ORDER BY snapshot_id, id"""
_READINGS = """
    SELECT ts, clock_value FROM main.clock_snapshot
    WHERE machine_id = 0 AND clock_id = ? AND ts IS NOT NULL ORDER BY ts, id DESC"""
_VERSION = "SELECT value FROM main.metadata WHERE name = 'clock_snapshot_version'"


class Refusal(Exception):
    """An SQL error: the message, without the name of the function."""


class Arguments:
    """The arguments of one call, checked."""

    def __init__(self, values: Sequence[Value]) -> None:
        self._values = values

    def __len__(self) -> int:
        return len(self._values)

    def _wrong(self, index: int, name: str, expected: str) -> Refusal:
        value = self._values[index]
        if value is None:
            got = "NULL"
        elif isinstance(value, float):
            digits = format(Decimal(repr(value)), "f")
            got = "the real number " + (digits[:-2] if digits.endswith(".0") else digits)
        elif isinstance(value, str):
            got = f"the text '{value}'"
        else:
            got = "a blob" if isinstance(value, bytes) else str(value)
        return Refusal(f"argument {index + 1} ({name}) must be {expected}, not {got}")

    def integer(self, index: int, name: str) -> Optional[int]:
        value = self._values[index]
        if value is None or isinstance(value, int):
            return value
        raise self._wrong(index, name, "an integer")

    def text(self, index: int, name: str) -> Optional[str]:
        value = self._values[index]
        if value is None or isinstance(value, str):
            return value
        raise self._wrong(index, name, "a text")

    def clock_id(self, index: int, name: str) -> Optional[int]:
        value = self._values[index]
        if isinstance(value, str):
            return number_of(value)
        if isinstance(value, int) and not 1 <= value <= 0xFFFFFFFF:
            raise self._wrong(index, name, "a clock number (1 to 4294967295) or name")
        if value is None or isinstance(value, int):
            return value
        raise self._wrong(index, name, "a clock number or name")

    def _number(self, index: int, name: str) -> Optional[int]:
        value = self.integer(index, name)
        if value is not None and not 0 <= value <= 0xFFFFFFFF:
            raise self._wrong(index, name, "between 0 and 4294967295")
        return value

    def clock(self, index: int, names: Tuple[str, str], machine: int) -> Optional[Clock]:
        """A clock at `index` and its sequence behind it; None if any is NULL."""
        id = self.clock_id(index, names[0])
        seq = self._number(index + 1, names[1])
        host = self._number(machine, "machine_id") if machine < len(self._values) else 0
        if id is None or seq is None or host is None:
            return None
        return Clock.of(host, id, seq)

    def reading(self, machine: int) -> Optional[Tuple[Clock, int]]:
        """The reading of ``(clock_id, seq_id, ts)``; None if any is NULL."""
        clock = self.clock(0, ("clock_id", "seq_id"), machine)
        ticks = self.integer(2, "ts")
        return None if clock is None or ticks is None else (clock, ticks)


class Functions:
    """The functions of one connection, and what they know of its database."""

    #: Why the last call failed. Python's sqlite3 does not hand it on.
    failure: Optional[str] = None
    #: Whether the running statement has looked for changes of `clock_snapshot`.
    checked = False

    def __init__(self, connection: sqlite3.Connection, why_no_extension: str) -> None:
        # The connection owns the functions, in a way that Python's collector of
        # cycles cannot see.
        self._connection = weakref.ref(connection)
        self._graph: Optional[ClockGraph] = None
        self._readings: "dict[int, List[Tuple[int, int]]]" = {}
        self._version: Any = None
        self._loading = False
        for count in (3, 4):
            self._register("to_boottime", count, self._to_boottime)
        for count in (5, 6):
            self._register("convert_clock", count, self._convert_clock)
        for count in (3, 4, 5, 6):
            self._register("why_unresolved", count, self._why_unresolved)
        self._register("clock_id", 1, _clock_id)
        self._register("clock_name", 1, _clock_name)
        self._register("to_realtime", 1, lambda arguments: self._from_trace_time(arguments, "REALTIME"))
        self._register("to_monotonic", 1, lambda arguments: self._from_trace_time(arguments, "MONOTONIC"))
        self._register("abs_time_str", 1, self._abs_time_str)

        def missing(arguments: Arguments) -> Value:
            raise Refusal(
                "needs the extension, which is not loaded: "
                f"{why_no_extension}. `timebase query` has this function, and so has a Python whose "
                "sqlite3 can load extensions"
            )

        self._register("packet_json", 1, missing)
        self._register("packet_field", 2, missing)

    def _register(self, name: str, count: int, function: Callable[[Arguments], Value]) -> None:
        def called(*values: Value) -> Value:
            try:
                return function(Arguments(values))
            except (Refusal, Unusable) as error:
                what = f"clock_snapshot cannot be used: {error}" if isinstance(error, Unusable) else str(error)
                separator = " " if what.startswith("needs") else ": "
                self.failure = f"{name}(){separator}{what}"
                raise

        connection = self._connection()
        if connection is not None:
            connection.create_function(name, count, called, deterministic=True)

    # Conversions

    def _to_boottime(self, arguments: Arguments) -> Value:
        return self._answer(arguments.reading(3), BOOTTIME)[0]

    def _convert_clock(self, arguments: Arguments) -> Value:
        return self._converted(arguments)[0]

    def _why_unresolved(self, arguments: Arguments) -> Value:
        if len(arguments) < 5:
            return self._answer(arguments.reading(3), BOOTTIME)[1]
        return self._converted(arguments)[1]

    def _converted(self, arguments: Arguments) -> Tuple[Optional[int], Optional[str]]:
        target = arguments.clock(3, ("to_clock_id", "to_seq_id"), 5)
        return self._answer(arguments.reading(5), target)

    def _answer(
        self, reading: Optional[Tuple[Clock, int]], target: Optional[Clock]
    ) -> Tuple[Optional[int], Optional[str]]:
        """The result, or why there is none; neither if an argument is NULL."""
        if reading is None or target is None:
            return None, None
        try:
            return self._up_to_date().convert(reading[0], reading[1], target), None
        except Unresolved as reason:
            return None, str(reason)

    # Rules K

    def _from_trace_time(self, arguments: Arguments, clock: str) -> Optional[int]:
        ts = arguments.integer(0, "ts")
        if ts is None:
            return None
        self._up_to_date()
        number = BUILTIN[clock]
        if number not in self._readings:
            # Of several with the same ts the first: it comes last here.
            self._readings[number] = sorted(dict(self._select(_READINGS, (number,))).items())
        return _at(self._readings[number], ts)

    def _abs_time_str(self, arguments: Arguments) -> Optional[str]:
        realtime = self._from_trace_time(arguments, "REALTIME")
        return None if realtime is None else _as_utc(realtime)

    # What is read of the database

    def _up_to_date(self) -> ClockGraph:
        """The graph; looks once a statement whether it has changed."""
        if self._loading:
            raise Refusal("clock_snapshot cannot be made of what is read from it")
        if self.checked and self._graph is not None:
            return self._graph
        try:
            version = self._select(_VERSION)
        except sqlite3.Error:
            version = []
        if self._graph is None or not version or version != self._version:
            self._graph = None
            self._readings.clear()
            self._loading = True
            try:
                self._graph = ClockGraph(map(_reading, self._select(_SNAPSHOTS)))
            except sqlite3.Error as error:
                if str(error).startswith("no such"):
                    raise Refusal(
                        f"this is not a timebase database ({error}); make one with `timebase import`"
                    ) from None
                raise Refusal(f"clock_snapshot cannot be used: {error}") from None
            finally:
                self._loading = False
        self._version = version
        self.checked = True
        return self._graph

    def _select(self, sql: str, parameters: Tuple[int, ...] = ()) -> List[Any]:
        connection = self._connection()
        if connection is None:
            raise Refusal("the connection is closed")
        cursor = sqlite3.Cursor(connection)
        cursor.row_factory = None  # the user's, which may make anything of a row
        return cursor.execute(sql, parameters).fetchall()


def _reading(row: Sequence[Any]) -> Reading:
    if not all(isinstance(value, int) for value in row):
        raise Unusable(f"snapshot {row[0]}: a column is not an integer")
    snapshot, machine, clock, seq, value, unit, incremental, source = row
    return Reading(snapshot, Clock.of(machine, clock, seq), value, max(unit, 1), incremental != 0, source)


def _clock_id(arguments: Arguments) -> Optional[int]:
    name = arguments.text(0, "name")
    return None if name is None else number_of(name)


def _clock_name(arguments: Arguments) -> Optional[str]:
    id = arguments.clock_id(0, "id")
    return None if id is None else BUILTIN_NAME.get(id)


def _at(readings: List[Tuple[int, int]], ts: int) -> Optional[int]:
    """Rule K1.

    >>> readings = [(10, 100), (20, 105), (30, 200)]
    >>> [_at(readings, ts) for ts in (5, 10, 14, 19, 20, 33)]
    [100, 100, 104, 105, 105, 203]
    """
    after = bisect_right(readings, (ts, GREATEST))
    if after == 0:
        return readings[0][1] if readings else None
    before_ts, before = readings[after - 1]
    value = before + ts - before_ts
    if after < len(readings) and ts > before_ts:
        value = min(value, readings[after][1])  # between two readings time is not seen going back
    return value if LEAST <= value <= GREATEST else None


def _as_utc(realtime: int) -> str:
    """Rule K2.

    >>> _as_utc(1652903999999999995)
    '2022-05-18T19:59:59.999999995'
    """
    seconds, nanoseconds = divmod(realtime, 1_000_000_000)
    return f"{(datetime(1970, 1, 1) + timedelta(seconds=seconds)).isoformat()}.{nanoseconds:09}"
