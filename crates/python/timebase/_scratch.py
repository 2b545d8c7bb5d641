"""Directories for what is temporary, of which nothing stays when this process is killed.

The program has them, too (``crates/store/src/files`` says how and why): a process holds a lock on a
file in its directory, and the program removes those that nobody holds whenever it makes
something in one beside them. So here they are only made, locked and removed.
"""

from __future__ import annotations

import os
import secrets
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Optional

#: As in the program: how the names begin, how many letters and digits follow, and the lock.
_PREFIX = ".timebase-"
_RANDOM = 12
_LOCK = "timebase.lock"


class Scratch:
    """A directory in that for temporary files, or in another one, until it is removed."""

    def __init__(self, parent: Optional[str] = None) -> None:
        while True:
            self.path = Path(parent or tempfile.gettempdir()) / (_PREFIX + secrets.token_hex(_RANDOM // 2))
            try:
                os.mkdir(self.path, 0o700)
                self._file = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            except (FileExistsError, FileNotFoundError):
                # Taken; or empty, so that another process took it for abandoned.
                if not self.path.parent.is_dir():
                    raise
                continue
            if _lock(self._file) and (self.path / _LOCK).exists():
                return
            os.close(self._file)  # The same, a moment later.

    def remove(self) -> None:
        """Removes it with all that is in it, its lock last; what cannot be removed stays."""
        try:
            for entry in self.path.iterdir():
                if entry.name == _LOCK:
                    continue
                if entry.is_dir() and not entry.is_symlink():
                    shutil.rmtree(entry)
                else:
                    entry.unlink()
            if sys.platform == "win32":
                # There, what is open cannot be removed.
                os.close(self._file)
            (self.path / _LOCK).unlink()
            self.path.rmdir()
        except OSError:
            pass
        finally:
            if sys.platform != "win32":
                os.close(self._file)


def _lock(file: int) -> bool:
    """Takes the lock; False if another process has it. Where there are no locks, it needs none."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        # Windows tells so that another one has it.
        return sys.platform != "win32"
    return True
