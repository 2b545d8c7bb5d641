"""Temporary directories that do not remain after this process is killed.

The program has the same directories (``crates/store/src/files`` explains them). A process holds a lock on a
file in its directory. When the program makes such a directory, it removes those next to it whose lock nobody
holds. So this module only makes, locks and removes directories.
"""

from __future__ import annotations

import os
import secrets
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Optional

#: The same as in the program: the prefix of names, the number of letters and digits after it, and the name of
#: the lock.
_PREFIX = ".timebase-"
_RANDOM = 12
_LOCK = "timebase.lock"


class Scratch:
    """A directory inside the directory for temporary files, or inside another one, until it is removed."""

    def __init__(self, parent: Optional[str] = None) -> None:
        while True:
            self.path = Path(parent or tempfile.gettempdir()) / (_PREFIX + secrets.token_hex(_RANDOM // 2))
            try:
                os.mkdir(self.path, 0o700)
                self._file = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            except (FileExistsError, FileNotFoundError):
                # The name is taken; or the directory was still empty, and another process removed it as
                # abandoned.
                if not self.path.parent.is_dir():
                    raise
                continue
            if _lock(self._file) and (self.path / _LOCK).exists():
                return
            os.close(self._file)  # The same happened a moment later.

    def remove(self) -> None:
        """Removes the directory with its contents, the lock last. Anything that cannot be removed stays."""
        try:
            for entry in self.path.iterdir():
                if entry.name == _LOCK:
                    continue
                if entry.is_dir() and not entry.is_symlink():
                    shutil.rmtree(entry)
                else:
                    entry.unlink()
            if sys.platform == "win32":
                # Windows cannot remove an open file.
                os.close(self._file)
            (self.path / _LOCK).unlink()
            self.path.rmdir()
        except OSError:
            pass
        finally:
            if sys.platform != "win32":
                os.close(self._file)


def _lock(file: int) -> bool:
    """Takes the lock; False if another process has it. On a file system without locks, this is no failure."""
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
        # Windows reports this error if another process has the lock.
        return sys.platform != "win32"
    return True
