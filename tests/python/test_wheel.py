"""The wheel in an empty environment, as on a fresh machine.

TIMEBASE_WHEEL names a wheel; without it, the command in docs/python.md builds one.
"""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest
from conftest import REPOSITORY

pytestmark = pytest.mark.heavy

PAGES = {page: (REPOSITORY / page).read_text(encoding="utf-8") for page in ("docs/python.md", "README.md")}


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    given = os.environ.get("TIMEBASE_WHEEL")
    if given:
        return Path(given).resolve()
    directory = tmp_path_factory.mktemp("wheel")
    [command] = re.findall(r"^    pip (wheel crates/python .*)-w dist$", PAGES["docs/python.md"], re.M)
    subprocess.run([sys.executable, "-m", "pip", *command.split(), "-w", directory], cwd=REPOSITORY, check=True)
    [built] = directory.iterdir()
    return built


def pythons():
    """The Pythons of this machine: one that can load extensions, and one that cannot, if they exist."""
    names = ["python3", "python3.9", "python3.10", "python3.11", "python3.12", "python3.13", "python3.14"]
    found = {}
    for path in [sys.executable, "/usr/bin/python3", *map(shutil.which, names)]:
        script = (
            "import ensurepip, sqlite3, sys, venv; assert sys.version_info >= (3, 9);"
            "print(hasattr(sqlite3.Connection, 'enable_load_extension'), '%d.%d' % sys.version_info[:2])"
        )
        if path and Path(path).exists():
            said = subprocess.run([path, "-c", script], capture_output=True, text=True)
            if said.returncode == 0:
                can_load, version = said.stdout.split()
                found.setdefault((can_load == "True", version), path)
    chosen = {}
    for (can_load, version), path in sorted(found.items(), key=lambda item: [int(n) for n in item[0][1].split(".")]):
        chosen.setdefault(can_load, (path, version))  # the oldest of each kind
    return [
        pytest.param(path, id=f"python{version}-{'with' if can_load else 'without'}-extension-loading")
        for can_load, (path, version) in chosen.items()
    ]


@pytest.fixture(scope="module", params=pythons())
def installed(request, wheel, tmp_path_factory):
    """An environment with nothing but the wheel: its directory of programs."""
    environment = tmp_path_factory.mktemp("environment")
    subprocess.run([request.param, "-m", "venv", environment], check=True)
    programs = environment / ("Scripts" if sys.platform == "win32" else "bin")
    subprocess.run([programs / "python", "-m", "pip", "install", "--quiet", "--no-index", wheel], check=True, env=fresh())
    return programs


def fresh():
    """The environment variables of a user without this repository."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("TIMEBASE", "PYTHON"))}


def run(command, directory=None):
    done = subprocess.run(command, cwd=directory, env=fresh(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_has_all_and_is_for_any_python(wheel):
    assert re.search(r"timebase-[\d.]+-py3-none-(?!any|linux)", wheel.name)
    names = zipfile.ZipFile(wheel).namelist()
    assert sum(name.startswith("timebase/") and name.endswith((".so", ".dylib", ".dll")) for name in names) == 1
    assert any(re.search(r"\.data/scripts/timebase(\.exe)?$", name) for name in names)
    assert "timebase/py.typed" in names
    [entry_points] = [name for name in names if name.endswith(".dist-info/entry_points.txt")]
    assert "[datasette]\ntimebase=timebase._datasette\n" in zipfile.ZipFile(wheel).read(entry_points).decode().replace(" = ", "=")


@pytest.mark.parametrize("page", PAGES)
def test_the_first_example(page, installed, in_repository):
    example = re.search(r"^```python\n(.*?)^```\n+```text\n(.*?)^```$", PAGES[page], re.S | re.M)
    if example is None:
        pytest.skip("no example in this page")
    assert run([installed / "python", "-c", example[1]], in_repository) == example[2]


def test_the_program(installed, in_repository):
    assert run([installed / "timebase", "clock-id", "BOOTTIME"]) == "6\n"


def test_every_function_is_there(installed, in_repository):
    script = (
        "import timebase; t = timebase.connect('tests/data/multihop.pftrace');"
        "print(t.functions, *t.execute(\"SELECT to_boottime(64, 2, 3503), packet_json(data) LIKE '{%',"
        "(SELECT count(*) FROM clock_path(64, 2, 3503)) FROM packet LIMIT 1\").fetchone())"
    )
    assert run([installed / "python", "-c", script], in_repository) == "extension 7703 1 2\n"


def test_without_the_extension(installed, in_repository):
    script = (
        "import timebase; t = timebase.connect('tests/data/multihop.pftrace', functions='python');"
        "print(t.functions, *t.execute(\"SELECT to_boottime(64, 2, 3503), why_unresolved(1, 0, 1), packet_json(x'')\").fetchone())"
    )
    assert run([installed / "python", "-c", script], in_repository) == "python 7703 unknown_clock {}\n"


def test_with_its_extra_it_reads_a_folder_of_traces(wheel, tmp_path):
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "environment"], check=True)
    [python] = (tmp_path / "environment").glob("*/python" if sys.platform != "win32" else "*/python.exe")
    # The requirements of the extra are those of this environment: pip checks them, and needs no network.
    packages = run([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]).strip()
    (Path(packages) / "tests.pth").write_text(sysconfig.get_path("purelib") + "\n")
    run([python, "-m", "pip", "install", "--quiet", "--no-index", f"{wheel}[dataset]"])
    (tmp_path / "traces").mkdir()
    for name in ("sdk.pftrace", "app.pftrace"):
        shutil.copy(REPOSITORY / "tests/data" / name, tmp_path / "traces")
    script = "from timebase.dataset import Dataset; traces = Dataset('traces', tables=['slice']); print(traces.table('slice').num_rows)"
    assert run([python, "-c", script], tmp_path) == "4999\n"


@pytest.mark.parametrize("how", ["target", "prefix"])
def test_other_ways_to_install(how, wheel, installed, in_repository):
    directory = in_repository / how
    run([installed / "python", "-m", "pip", "install", "--quiet", "--no-index", "--ignore-installed", f"--{how}", directory, wheel])
    [package] = [path.parent for path in directory.rglob("timebase/__init__.py")]
    script = (
        f"import sys; sys.path.insert(0, {str(package.parent)!r}); import timebase; from timebase import _program;"
        "print(timebase.__file__, _program.program_path(), timebase.connect('tests/data/multihop.pftrace').functions)"
    )
    module, program, functions = run([installed / "python", "-c", script], in_repository).split()
    assert str(directory) in module and str(directory) in program and functions == "extension"
