"""docs/python.md: examples with their output, and SQL cells with JupySQL.

Its first example is run with the wheel, too: test_wheel.py.
"""

import os
import re
import shutil
import subprocess
import sys

import nbclient
import nbformat.v4
import pytest
from conftest import DATA, PACKAGE, REPOSITORY

PAGE = (REPOSITORY / "docs" / "python.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.S | re.M)
EXAMPLES = re.findall(r"^```python\n((?:(?!```).*\n)*)```\n\n```text\n((?:(?!```).*\n)*)```$", PAGE, re.M)


def run(cells, directory):
    """The output of a notebook's cells."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    where = {"metadata": {"path": str(directory)}}
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3", resources=where).execute()
    return [
        output.get("text") or output.get("data", {}).get("text/plain", "")
        for cell in notebook.cells
        for output in cell.outputs
    ]


def blocks(word):
    return [block for block in BLOCKS if word in block]


@pytest.mark.parametrize("example, expected", EXAMPLES, ids=range(len(EXAMPLES)))
def test_it_prints_what_is_shown(example, expected, in_repository):
    environment = {**os.environ, "MPLBACKEND": "Agg"}
    done = subprocess.run([sys.executable, "-c", example], env=environment, capture_output=True, text=True)
    assert (done.stdout, done.returncode) == (expected, 0), done.stderr
    for picture in re.findall(r"savefig\(\"(.*?)\"\)", example):
        assert (in_repository / picture).read_bytes().startswith(b"\x89PNG")


def test_all_examples_are_found():
    assert len(EXAMPLES) == PAGE.count("```text\n") == 14


def test_sql_cells(in_repository):
    connect, [cell] = blocks("%load_ext"), blocks("%%sql")
    shown = run([*connect, cell, "rows = %sql SELECT count(*) AS n FROM packet\nrows.DataFrame().n[0]"], in_repository)
    assert any("REALTIME → BOOTTIME" in text and "2692618235643" in text for text in shown)
    assert shown[-1] in ("4825", "np.int64(4825)")


def test_an_error_in_a_sql_cell_is_the_functions_own(in_repository):
    with pytest.raises(nbclient.exceptions.CellExecutionError, match="argument 3 .ts. must be an integer, not the text 'x'"):
        run([*blocks("%load_ext"), "%sql SELECT to_boottime(1, 0, 'x')"], in_repository)


def test_sql_cells_with_an_engine(in_repository):
    [engine] = blocks("create_engine")
    shown = run([engine, "%load_ext sql\n%sql engine", "%sql SELECT to_boottime('MONOTONIC', 0, 2692618235744) AS ts"], in_repository)
    assert "2692618235664" in shown[0] and "2692618235664" in shown[-1]


def test_the_packages_own_readme(in_repository):
    shutil.copy(DATA / "sdk.pftrace", "trace.pftrace")
    [example] = re.findall(r"```python\n(.*?)```", (PACKAGE / "README.md").read_text(encoding="utf-8"), re.S)
    result = subprocess.run([sys.executable, "-c", example], check=True, capture_output=True, text=True)
    assert "(3, 'MONOTONIC → BOOTTIME')" in result.stdout
