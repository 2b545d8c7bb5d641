"""The notebooks in docs/notebooks, run from beginning to end: they say what is saved in them."""

import copy
import re

import nbclient
import nbformat
import pytest
from conftest import REPOSITORY

NOTEBOOKS = REPOSITORY / "docs" / "notebooks"

# What each says, of its trace, and how many figures it draws.
ANSWERS = {
    "clocks": [
        r"TSC +6\.035 +9632897\.919 +1596122\.122",
        r"MONOTONIC_COARSE +6\.035 +811\.749",
        r"rustc +32109 +1 +173257 +swapper/1",
        r"2026-11-21T03:21:05\.212654758 +3955 +app-4 +75",
        r"2415044575271 +2415044575371 +0 +swapper/0",
    ],
    "scheduling": [
        r"/srv/desktop/bin/compositor +1 +857 +185\.3 +4\.6",
        r"raster-1/6 15796 +0\.6 +93\.7 +0\.0 +80\.9 +3823\.6",
        r"1 +raster-1/6 +R +vsync +9085 +0 +app-2 +16043 +7532",
        r"compositor +tiles done +118 +24\.0 +264\.0",
    ],
    "slices": [
        r"frame +90 +1112\.2 +1097\.2 +15\.9",
        r"4 +4 +49\.4 +15\.9",
        r"-1 +fetch +net +29\.7 +741\.4",
        r"tile 57 +3337517136765 +64 +4 +12416535",
    ],
}
FIGURES = {"clocks": 2, "scheduling": 2, "slices": 1}


@pytest.fixture(scope="module", params=sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb")))
def name(request):
    return request.param


@pytest.fixture(scope="module")
def saved(name):
    return nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)


@pytest.fixture(scope="module")
def run(saved):
    notebook = copy.deepcopy(saved)
    for cell in notebook.cells:
        cell.pop("outputs", None) if cell.cell_type != "code" else cell.update(outputs=[])
    where = {"metadata": {"path": str(NOTEBOOKS)}}
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


def test_its_answers(name, run):
    text = "\n".join(part for texts, printed, _ in outputs(run) for part in texts + printed)
    for answer in ANSWERS[name]:
        assert re.search(answer, text), answer


def test_it_draws_its_figures(name, run):
    assert sum(pictures for _, _, pictures in outputs(run)) == FIGURES[name]


def test_it_is_small_and_says_nothing_of_the_machine_it_ran_on(name, saved):
    text = (NOTEBOOKS / f"{name}.ipynb").read_text(encoding="utf-8")
    assert len(text) < 200_000
    assert set(saved.metadata) <= {"kernelspec", "language_info"}
    assert not re.search(r"/home/|/tmp/|/root/|/Users/", text)
    assert not any(output.output_type == "error" for cell in saved.cells for output in cell.get("outputs", []))
