"""The clock graph in Python: what `crates/resolver` does, for where the
extension cannot be loaded.

Rules V3 (paths), V2 (the nearest snapshot), N5 (clocks that went backwards) and
V7 (reasons) are decided here a second time, because the tables of the database
do not decide all: `clock_mapping` leads to BOOTTIME only, has parts of large
mappings only, and is that of the import, while the functions see rows that are
added to `clock_snapshot`. The tests hold it against the extension.
"""

from __future__ import annotations

from bisect import bisect_right
from operator import itemgetter
from typing import Dict, Iterable, List, NamedTuple, Optional, Set, Tuple

LEAST, GREATEST = -(1 << 63), (1 << 63) - 1

BUILTIN = {
    "REALTIME": 1,
    "REALTIME_COARSE": 2,
    "MONOTONIC": 3,
    "MONOTONIC_COARSE": 4,
    "MONOTONIC_RAW": 5,
    "BOOTTIME": 6,
    "TSC": 9,
    "PERF": 10,
    "TRACE_FILE": 11,
}
BUILTIN_NAME = {number: name for name, number in BUILTIN.items()}


class Clock(NamedTuple):
    """A clock domain, ordered as rule V3 has it."""

    id: int
    seq: int
    machine: int

    @classmethod
    def of(cls, machine: int, id: int, seq: int) -> Clock:
        """The clock that `id` means on a packet of this machine and sequence (rule C2)."""
        return cls(id, seq if 64 <= id < 128 else 0, machine)

    @property
    def lacks_sequence(self) -> bool:
        return 64 <= self.id < 128 and self.seq == 0

    def __str__(self) -> str:
        text = BUILTIN_NAME.get(self.id, str(self.id))
        if 64 <= self.id < 128:
            text += f"@{self.seq}"
        return text + (f" of machine {self.machine}" if self.machine else "")


BOOTTIME = Clock(BUILTIN["BOOTTIME"], 0, 0)


def clock_id(name: str) -> int:
    """The number of a clock's name (rule C3).

    >>> clock_id("BOOTTIME"), clock_id("com.example.my_subsystem")
    (6, 4144414090)
    """
    if name in BUILTIN:
        return BUILTIN[name]
    fnv = 0x811C9DC5
    for byte in name.encode():
        fnv = (fnv ^ byte) * 0x01000193 & 0xFFFFFFFF
    return fnv | 0x80000000


class Unresolved(Exception):
    """A reading cannot be converted; the argument is the reason (rule V7)."""


class Unusable(Exception):
    """A snapshot cannot be one (rule N2)."""


class Reading(NamedTuple):
    """A row of `clock_snapshot`."""

    snapshot: int
    clock: Clock
    value: int
    unit: int
    incremental: bool
    source: int


class Hop(NamedTuple):
    """The pairs of two clocks, in order of the first one's readings."""

    starts: List[int]
    offsets: List[int]

    def offset(self, value: int) -> int:
        """What the nearest pair adds (rule V2): the last at or before `value`, or else the first."""
        return self.offsets[max(bisect_right(self.starts, value) - 1, 0)]


def clamp(value: int) -> int:
    """The nearest value that 64 bits have."""
    return min(max(value, LEAST), GREATEST)


class ClockGraph:
    """Conversions over the snapshots of a trace, all in nanoseconds.

    >>> def reading(snapshot, clock, value):
    ...     return Reading(snapshot, Clock(clock, 0, 0), value, 1, False, 0)
    >>> graph = ClockGraph([
    ...     reading(0, 3, 1100), reading(0, 6, 2100),
    ...     reading(1, 3, 2000), reading(1, 6, 3500),
    ... ])
    >>> monotonic = Clock(3, 0, 0)
    >>> [graph.convert(monotonic, ticks, BOOTTIME) for ticks in (900, 1104, 1999, 2000)]
    [1900, 2104, 2999, 3500]
    >>> graph.convert(Clock(1, 0, 0), 5, BOOTTIME)
    Traceback (most recent call last):
    timebase._clocks.Unresolved: unknown_clock
    """

    def __init__(self, readings: Iterable[Reading]) -> None:
        """`readings` in order of their snapshots."""
        self._unit: Dict[Clock, Tuple[int, bool]] = {}
        self._backwards: Set[Clock] = set()
        # Snapshots of the same clocks are kept together: rule N5 speaks of them.
        self._sets: Dict[Tuple[Clock, ...], List[Tuple[int, int, Dict[Clock, int]]]] = {}
        self._sets_of: Dict[Clock, List[Tuple[Clock, ...]]] = {}
        self._routes: Dict[Tuple[Clock, bool], Dict[Clock, Clock]] = {}
        self._paths: Dict[Tuple[Clock, Clock], List[Hop]] = {}
        together: List[Reading] = []
        count = 0
        for reading in readings:
            if together and together[-1].snapshot != reading.snapshot:
                self._add(count, together)
                together, count = [], count + 1
            together.append(reading)
        if together:
            self._add(count, together)

    def _add(self, order: int, readings: List[Reading]) -> None:
        for reading in readings:
            if reading.source not in (0, 1, 2):
                raise Unusable(f"snapshot {reading.snapshot}: source {reading.source} is none of 0, 1, 2")
            problem = self._problem(reading)
            if problem:
                raise Unusable(f"snapshot {reading.snapshot}: {problem}")
        values: Dict[Clock, int] = {}
        for reading in sorted(readings, key=itemgetter(1)):
            if reading.clock in values:
                raise Unusable(f"snapshot {reading.snapshot}: clock {reading.clock} is read twice")
            values[reading.clock] = reading.value
        for reading in readings:
            self._unit.setdefault(reading.clock, (reading.unit, reading.incremental))
        clocks = tuple(values)
        rows = self._sets.get(clocks)
        if rows is None:
            rows = self._sets[clocks] = []
            for clock in clocks:
                self._sets_of.setdefault(clock, []).append(clocks)
        else:
            before = rows[-1][2]
            self._backwards.update(clock for clock in clocks if values[clock] < before[clock])
        rows.append((order, readings[-1].source, values))

    def _problem(self, reading: Reading) -> Optional[str]:
        clock = reading.clock
        if clock.id == 0:
            return "a reading names no clock"
        if clock.lacks_sequence:
            return f"clock {clock} is sequence-scoped, and the packet has no sequence id"
        if reading.incremental and not 64 <= clock.id < 128:
            return f"clock {clock} is incremental, which only sequence-scoped clocks (64 to 127) can be"
        if self._unit.get(clock, (reading.unit, reading.incremental)) != (reading.unit, reading.incremental):
            return f"clock {clock} has another unit or incremental flag than in its first snapshot"
        return None

    def convert(self, source: Clock, ticks: int, target: Clock) -> int:
        """Converts a reading, in the clock's own unit, to nanoseconds of another.

        Raises `Unresolved`, with the reason.
        """
        value = ticks * self._unit.get(source, (1, False))[0]
        fits = LEAST <= value <= GREATEST
        if source == target:
            if fits:
                return value
            raise Unresolved("overflow")
        offset = 0
        for hop in self._path(source, target):
            offset += hop.offset(clamp(value + offset))
        if fits and LEAST <= offset <= GREATEST and LEAST <= value + offset <= GREATEST:
            return value + offset
        raise Unresolved("overflow")

    def _path(self, source: Clock, target: Clock) -> List[Hop]:
        path = self._paths.get((source, target))
        if path is not None:
            return path
        if source.lacks_sequence or target.lacks_sequence:
            raise Unresolved("no_sequence_id")
        if source not in self._unit:
            raise Unresolved("unknown_clock")
        if target not in self._unit:
            raise Unresolved("no_target")
        following = self._next(target, False)
        if source not in following:
            backwards = source in self._next(target, True)
            raise Unresolved("non_monotonic" if backwards else "no_path")
        path, clock = [], source
        while clock != target:
            path.append(self._hop(clock, following[clock]))
            clock = following[clock]
        self._paths[(source, target)] = path
        return path

    def _next(self, target: Clock, backwards_too: bool) -> Dict[Clock, Clock]:
        """The next clock of each on its shortest path to the target (rule V3).

        Of several the lowest, which is the one that comes first: each level of
        the search is gone through in order.
        """
        following = self._routes.get((target, backwards_too))
        if following is not None:
            return following
        following = {}
        level, seen = [target], set()
        while level:
            further = []
            for clock in sorted(level):
                for clocks in self._sets_of[clock]:
                    if clocks in seen:
                        continue
                    seen.add(clocks)
                    for member in clocks:
                        usable = backwards_too or member not in self._backwards
                        if usable and member != target and member not in following:
                            following[member] = clock
                            further.append(member)
            level = further
        self._routes[(target, backwards_too)] = following
        return following

    def _hop(self, source: Clock, target: Clock) -> Hop:
        rows = [row for clocks in self._sets_of[source] if target in clocks for row in self._sets[clocks]]
        best = min(row[1] for row in rows)  # who took the snapshot: the smaller is the better one
        rows = sorted((row for row in rows if row[1] == best), key=lambda row: (row[2][source], row[0]))
        return Hop(
            [values[source] for _, _, values in rows],
            [values[target] - values[source] for _, _, values in rows],
        )
