"""docs/notebooks/clocks.ipynb, run from beginning to end: it says what is saved in it."""

import copy
import re

import nbclient
import nbformat
import pytest
from conftest import REPOSITORY

NOTEBOOK = REPOSITORY / "docs" / "notebooks" / "clocks.ipynb"


@pytest.fixture(scope="module")
def saved():
    return nbformat.read(NOTEBOOK, as_version=4)


@pytest.fixture(scope="module")
def run(saved):
    notebook = copy.deepcopy(saved)
    for cell in notebook.cells:
        cell.pop("outputs", None) if cell.cell_type != "code" else cell.update(outputs=[])
    where = {"metadata": {"path": str(NOTEBOOK.parent)}}
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources=where).execute()
    return notebook


def outputs(notebook):
    """What each cell printed or showed, and how many pictures."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            shown = [output.get("data", {}) for output in cell.outputs]
            texts = [data.get("text/plain", "") for data in shown if "image/png" not in data]
            printed = [output.text for output in cell.outputs if output.output_type == "stream"]
            yield texts, printed, sum("image/png" in data for data in shown)


def test_it_shows_what_is_saved_in_it(saved, run):
    assert list(outputs(run)) == list(outputs(saved))


def test_its_answers(run):
    text = "\n".join(part for texts, printed, _ in outputs(run) for part in texts + printed)
    assert re.search(r"TSC +6\.035 +9632897\.919 +1596122\.122", text)
    assert re.search(r"MONOTONIC_COARSE +6\.035 +811\.749", text)
    assert re.search(r"rustc +32109 +1 +173257 +swapper/1", text)
    assert re.search(r"2026-11-21T03:21:05\.212654758 +3955 +app-4 +75", text)
    assert re.search(r"2415044575271 +2415044575371 +0 +swapper/0", text)


def test_it_draws_two_figures(run):
    assert sum(pictures for _, _, pictures in outputs(run)) == 2


def test_it_is_small_and_says_nothing_of_the_machine_it_ran_on(saved):
    text = NOTEBOOK.read_text(encoding="utf-8")
    assert len(text) < 200_000
    assert set(saved.metadata) <= {"kernelspec", "language_info"}
    assert not re.search(r"/home/|/tmp/|/root/|/Users/", text)
    assert not any(output.output_type == "error" for cell in saved.cells for output in cell.get("outputs", []))
