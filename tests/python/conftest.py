"""The package from its sources, with the program and the extension as built.

    python3 -m venv .venv && .venv/bin/pip install -r tests/python/requirements.txt
    .venv/bin/pytest tests/python

The program, the extension and the generator of traces are built first, unless TIMEBASE_PROGRAM,
TIMEBASE_EXTENSION and TIMEBASE_SYNTH name them. TIMEBASE_PROFILE is Cargo's profile, `release` if it is not set.
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
_PROFILE = os.environ.get("TIMEBASE_PROFILE", "release")
_DIRECTORY = "debug" if _PROFILE == "dev" else _PROFILE
_PROGRAM, _SYNTH = ("timebase.exe", "synth.exe") if sys.platform == "win32" else ("timebase", "synth")
_LIBRARY = {"win32": "timebase.dll", "darwin": "libtimebase.dylib"}.get(sys.platform, "libtimebase.so")
_BUILD = ["cargo", "build", "--locked", "--profile", _PROFILE]
_EXTENSION = ["--manifest-path", "crates/extension/Cargo.toml", "--target-dir", "target/extension"]
_built("TIMEBASE_PROGRAM", _BUILD, _TARGET / _DIRECTORY / _PROGRAM)
_built("TIMEBASE_EXTENSION", _BUILD + _EXTENSION, REPOSITORY / "target/extension" / _DIRECTORY / _LIBRARY)

# For this process, and for the processes that it starts, such as those of notebooks.
sys.path.insert(0, str(PACKAGE))
os.environ["PYTHONPATH"] = str(PACKAGE)


def pytest_configure(config):
    config.addinivalue_line("markers", "heavy: takes long and rarely breaks; tests/run --all runs it")


def pytest_collection_modifyitems(items):
    for item in items:
        if "all_tables" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.heavy)


def without_shell():
    """Skips a test if it needs the SQLite shell and the system has none."""
    why = "the sqlite3 shell is needed: apt-get install sqlite3"
    pytest.skip(why) if "TIMEBASE_WITHOUT_SHELL" in os.environ else pytest.fail(why)


# Arguments of every type, in two sets that no import makes.
ARGS = """
INSERT OR REPLACE INTO arg_set (id, args) VALUES
  (3, '{"debug.count":-3,"debug.done":true,"debug.at":9223372036854775807,"MONOTONIC":"ä€","":"","debug.ratio":-0.5,"timestamp":null,'
      || '"debug.raw":{"a":1},"debug.list[0]":10,"debug.list[1]":11}'),
  (64, '{"debug.count":4,"x ä€😀":5,"it''s":6}');
"""


@pytest.fixture(scope="session")
def all_tables(tmp_path_factory):
    """All tables of traces of the repository."""
    from all_tables import AllTables

    made = AllTables(tmp_path_factory.mktemp("all"))
    yield made
    made.close()


@pytest.fixture(scope="session")
def fleet(tmp_path_factory):
    """Forty small traces of phones: one of them is damaged, one is empty, and four lost packets."""
    directory = tmp_path_factory.mktemp("fleet")
    _built("TIMEBASE_SYNTH", [*_BUILD, "--package", "timebase-lab", "--bin", "synth"], _TARGET / _DIRECTORY / _SYNTH)
    subprocess.run([os.environ["TIMEBASE_SYNTH"], "--fleet=40", directory], check=True, stderr=subprocess.DEVNULL)
    return directory


@pytest.fixture
def in_repository(tmp_path, monkeypatch):
    """A directory for writing, in which tests/data is available as in the repository."""
    (tmp_path / "tests").symlink_to(REPOSITORY / "tests")
    monkeypatch.chdir(tmp_path)
    return tmp_path
