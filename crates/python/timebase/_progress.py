"""The progress of an import: shown to a waiting user, or passed to a function.

The program reports it in lines (``timebase import --progress=lines``). `_program` passes them on in the
caller's thread, because notebooks and tqdm need this. Nothing is shown if nobody can see it (a script whose
standard error is a file), or if the import ends at once.
"""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any, Callable, NamedTuple, Optional, Union

#: The use of the progress: None shows it in a terminal or notebook, True and False show it always and never,
#: a function gets it.
Progress = Union[None, bool, Callable[[int, Optional[int], int], Any]]

#: The time before anything is shown, in seconds. A user who waits no longer has no question.
_PATIENCE = 1.0


#: The text for a phase.
_DOING = {"copying": "copying", "surveying": "reading snapshots", "writing": "writing indexes", "measuring": "measuring"}


class State(NamedTuple):
    """The progress of an import, or of a comparison, which counts runs in place of bytes."""

    bytes_read: int
    #: None if the total is unknown, as for a file object.
    bytes_total: Optional[int]
    packets: int
    #: "reading"; before that "copying" and "surveying", if the trace is read twice; "writing" after reading.
    phase: str
    #: The name of the things in `packets`, if they are not packets.
    counted: str = "packets"
    #: The unit of `bytes_read` and `bytes_total`.
    unit: str = "B"

    def doing(self) -> str:
        return _DOING.get(self.phase, "importing")


class Reporter:
    """Receives the progress, whenever it is known."""

    def report(self, state: State) -> None:
        raise NotImplementedError

    def close(self) -> None:
        """Removes the shown progress."""


def reporter(progress: Progress) -> Optional[Reporter]:
    """The receiver of the progress; None if there is none.

    Raises TypeError for an argument that is no function.
    """
    if callable(progress):
        return _Told(progress)
    if progress is None:
        return _Shown(_PATIENCE) if _somebody_looks() else None
    if isinstance(progress, bool):
        return _Shown(0) if progress else None
    raise TypeError(f"progress must be None, True, False or a function, not {type(progress).__name__}")


def _somebody_looks() -> bool:
    return _in_notebook() or (sys.stderr is not None and sys.stderr.isatty())


def _in_notebook() -> bool:
    # Without an import of IPython, this is no notebook.
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


class _Told(Reporter):
    def __init__(self, function: Callable[[int, Optional[int], int], Any]) -> None:
        self._function = function

    def report(self, state: State) -> None:
        self._function(state.bytes_read, state.bytes_total, state.packets)


class _Shown(Reporter):
    def __init__(self, patience: float) -> None:
        self._from = time.monotonic() + patience
        self._bar: Union[None, _TqdmBar, _Line] = None

    def report(self, state: State) -> None:
        if self._bar is None:
            if time.monotonic() < self._from:
                return
            self._bar = _bar(state)
        self._bar.show(state)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


def _bar(state: State) -> Union[_TqdmBar, _Line]:
    try:
        with warnings.catch_warnings():
            # In a notebook without ipywidgets, tqdm warns, and shows text as elsewhere.
            warnings.simplefilter("ignore")
            from tqdm.auto import tqdm

            bar = tqdm(
                total=state.bytes_total,
                initial=state.bytes_read,
                desc=state.doing(),
                unit=state.unit,
                unit_scale=state.unit == "B",
                leave=False,
                dynamic_ncols=True,
            )
            return _TqdmBar(bar)
    except ImportError:
        return _Line()


class _TqdmBar:
    def __init__(self, bar: Any) -> None:
        self._bar = bar

    def show(self, state: State) -> None:
        self._bar.set_description(state.doing(), refresh=False)
        self._bar.set_postfix_str(f"{state.packets:,} {state.counted}", refresh=False)
        # For a file object, the total is known after the copy.
        self._bar.total = state.bytes_total
        self._bar.n = state.bytes_read
        self._bar.refresh()

    def close(self) -> None:
        self._bar.close()


class _Line:
    """A line that is overwritten repeatedly."""

    def __init__(self) -> None:
        self._width = 0

    def show(self, state: State) -> None:
        read, total = state.bytes_read, state.bytes_total
        share = f"{100 * read // total} % of {_size(total, state.unit)}" if total else _size(read, state.unit)
        self._write(f"{state.doing()}: {share}, {state.packets:,} {state.counted}")

    def close(self) -> None:
        self._write("")
        self._write("")

    def _write(self, text: str) -> None:
        if sys.stderr is None:
            return
        sys.stderr.write("\r" + text.ljust(self._width))
        sys.stderr.flush()
        self._width = len(text)


def _size(count: int, unit: str) -> str:
    return f"{count / 1e6:,.1f} MB" if unit == "B" else f"{count:,} {unit}s"
