"""The package from its sources, with the program and the extension as built.

    python3 -m venv .venv && .venv/bin/pip install -r tests/python/requirements.txt
    .venv/bin/pytest tests/python

The program and the extension are built first, unless TIMEBASE_PROGRAM and
TIMEBASE_EXTENSION name them.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGE = REPOSITORY / "crates" / "python"
DATA = REPOSITORY / "tests" / "data"


def _built(variable, command, path):
    if variable not in os.environ:
        subprocess.run(command, cwd=REPOSITORY, check=True)
        os.environ[variable] = str(path)
    os.environ[variable] = os.path.abspath(os.environ[variable])


_TARGET = REPOSITORY / os.environ.get("CARGO_TARGET_DIR", "target")
_PROGRAM = "timebase.exe" if sys.platform == "win32" else "timebase"
_LIBRARY = {"win32": "timebase.dll", "darwin": "libtimebase.dylib"}.get(sys.platform, "libtimebase.so")
_built("TIMEBASE_PROGRAM", ["cargo", "build", "--release", "--locked"], _TARGET / "release" / _PROGRAM)
_built("TIMEBASE_EXTENSION", ["cargo", "extension", "--locked"], REPOSITORY / "target/extension/release" / _LIBRARY)

# For this process, and for the notebooks' and other processes it starts.
sys.path.insert(0, str(PACKAGE))
os.environ["PYTHONPATH"] = str(PACKAGE)


# Arguments of every type, in two sets, in the place of those of an import.
ARGS = """
DROP VIEW IF EXISTS args;
DROP TABLE IF EXISTS arg_set;
CREATE TABLE args (
  id INTEGER PRIMARY KEY, arg_set_id INTEGER, flat_key TEXT, key TEXT, int_value INTEGER, string_value TEXT,
  real_value REAL, value_type TEXT, display_value TEXT);
CREATE INDEX args_set ON args (arg_set_id);
INSERT INTO args (arg_set_id, flat_key, key, int_value, string_value, real_value, value_type) VALUES
  (3, 'debug.count', 'debug.count', -3, NULL, NULL, 'int'), (3, 'debug.done', 'debug.done', 1, NULL, NULL, 'bool'),
  (3, 'debug.at', 'debug.at', 9223372036854775807, NULL, NULL, 'pointer'),
  (3, 'MONOTONIC', 'MONOTONIC', NULL, 'ä' || char(0) || '€', NULL, 'string'), (3, '', '', NULL, '', NULL, 'string'),
  (3, 'debug.ratio', 'debug.ratio', NULL, NULL, -0.5, 'real'), (3, 'timestamp', 'timestamp', NULL, NULL, NULL, 'null'),
  (3, 'debug.raw', 'debug.raw', NULL, '{"a":1}', NULL, 'json'),
  (3, 'debug.list', 'debug.list[0]', 10, NULL, NULL, 'int'), (3, 'debug.list', 'debug.list[1]', 11, NULL, NULL, 'int'),
  (64, 'debug.count', 'debug.count', 4, NULL, NULL, 'int'),
  (64, 'x', 'x' || char(0) || 'ä€😀', 5, NULL, NULL, 'uint'), (64, 'it', 'it''s', 6, NULL, NULL, 'int');
"""


@pytest.fixture
def in_repository(tmp_path, monkeypatch):
    """A directory to write to, where tests/data is as in the repository."""
    (tmp_path / "tests").symlink_to(REPOSITORY / "tests")
    monkeypatch.chdir(tmp_path)
    return tmp_path
