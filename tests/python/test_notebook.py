"""The notebooks in docs/notebooks, run from beginning to end: they say what is saved in them, and on any other trace what that shows."""

import copy
import re
import warnings
from contextlib import closing

import nbclient
import nbformat
import pytest
import timebase
from conftest import DATA, REPOSITORY

NOTEBOOKS = REPOSITORY / "docs" / "notebooks"

# What each says, of its trace, and how many figures it draws.
ANSWERS = {
    "clocks": [
        r"TSC +6\.035 +0\.000 +9632897\.919 +9632897\.919 +1596122\.122",
        r"TSC counts 2\.5961 per nanosecond",
        r"MONOTONIC_COARSE stands still between two ticks of the kernel: readings are behind by up to 3\.2 ms",
        r"59 packets are placed, and 0 are not",
        r"2026-11-21T03:21:04\.583333798 is REALTIME 1795231264583333798",
        r"REALTIME +BOOTTIME +5 +1795231264583333798 +2415504452280",
    ],
    "scheduling": [
        r"/srv/desktop/bin/compositor +1 +857 +185\.3 +4\.6",
        r"raster-1/6 15796 +0\.6 +88\.2 +0\.0 +80\.9 +3186\.0",
        r"1 +raster-1/6 +R +vsync +9085 +0 +app-2 +16043 +7532",
        r"4 of the longest waits overlap, of raster-0, compositor, raster-1/6, vsync",
        r"Meanwhile app-2 \(16043\) had the CPU for 7\.5 ms",
        r"compositor +tiles done +118 +24\.0 +264\.0",
    ],
    "application": [
        r"frame +90 +1112\.2 +1097\.2 +15\.9",
        r"77 +frame +mapviewer +49\.4 +15\.9",
        r"debug\.n +4",
        r"-1 +fetch +net +123154\.0 +621\.2",
        r"The GPU was idle for 20\.8 ms before 'frame 12'; 4 threads ran",
    ],
}
FIGURES = {"clocks": 1, "scheduling": 2, "application": 3}

# Traces of all kinds: without events of the kernel, without slices, with one snapshot or none, with machines, cut
# short. And one with no more than a packet that says nothing.
EMPTY = "empty"
OTHERS = sorted(path.stem for path in DATA.glob("*.pftrace"))
OTHERS += [f"{directory}/{number}" for directory in ("both", "slices", "threads") for number in ("09", "14")] + [EMPTY]

# What is said where there is nothing, by the table that is empty.
MISSING = {
    "clocks": {"sched": "This trace does not tell what ran then."},
    "scheduling": {"sched": "it has no switches of the scheduler", "counter": "This trace has no counters that only grow."},
    "application": {
        "slice": "This trace has no slices that took time.",
        "flow": "This trace has no flows.",
        "counter": "This trace has no counters that changed.",
        "gpu_slice": "This trace has nothing of the GPU.",
    },
}


@pytest.fixture(scope="module", params=sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb")))
def name(request):
    return request.param


@pytest.fixture(scope="module")
def saved(name):
    return nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)


def executed(notebook, directory):
    notebook = copy.deepcopy(notebook)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    where = {"metadata": {"path": str(directory)}}
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources=where).execute()
    return notebook


@pytest.fixture(scope="module")
def run(saved):
    return executed(saved, NOTEBOOKS)


def outputs(notebook):
    """What each cell printed or showed, and how many pictures. How far an import is depends on the machine."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            shown = [output.get("data", {}) for output in cell.outputs]
            texts = [data.get("text/plain", "") for data in shown if "image/png" not in data]
            printed = [output.text for output in cell.outputs if output.get("name") == "stdout"]
            yield [text for text in texts if text], printed, sum("image/png" in data for data in shown)


def all_text(notebook):
    return "\n".join(part for texts, printed, _ in outputs(notebook) for part in texts + printed)


def test_it_shows_what_is_saved_in_it(saved, run):
    assert list(outputs(run)) == list(outputs(saved))


def test_its_answers(name, run):
    text = all_text(run)
    for answer in ANSWERS[name]:
        assert re.search(answer, text), answer


def test_it_draws_its_figures(name, run):
    assert sum(pictures for _, _, pictures in outputs(run)) == FIGURES[name]


def test_it_is_small_and_says_nothing_of_the_machine_it_ran_on(name, saved):
    text = (NOTEBOOKS / f"{name}.ipynb").read_text(encoding="utf-8")
    assert len(text) < 200_000
    assert set(saved.metadata) <= {"kernelspec", "language_info"}
    assert not re.search(r"/home/|/tmp/|/root/|/Users/", text)
    assert not any(output.output_type in ("error", "stream") and output.get("name") != "stdout"
                   for cell in saved.cells for output in cell.get("outputs", []))  # fmt: skip


def test_what_holds_of_one_trace_only_is_not_in_its_words(name, saved):
    """But for the first cell, which says of which trace the saved output is."""
    words = " ".join(cell.source for cell in saved.cells[1:] if cell.cell_type == "markdown")
    assert not re.search(r"\d\.\d|TSC|rustc|mapviewer|compositor|tile ", words)


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    path = tmp_path_factory.mktemp("empty") / "empty.pftrace"
    path.write_bytes(b"\n\x00")
    return path


@pytest.fixture(scope="module")
def shell():
    """Runs cells in this process: to start a kernel takes longer than most notebooks."""
    import matplotlib
    from IPython.core.interactiveshell import InteractiveShell

    matplotlib.use("Agg")
    with matplotlib.rc_context():  # notebooks set what figures are like
        yield InteractiveShell.instance()
    InteractiveShell.clear_instance()


@pytest.mark.parametrize("trace", OTHERS)
def test_any_trace_can_be_given_and_what_it_lacks_is_said(name, saved, trace, empty, shell):
    from IPython.utils.capture import capture_output
    from matplotlib import pyplot as plt

    path = empty if trace == EMPTY else DATA / f"{trace}.pftrace"
    first, *others = [cell.source for cell in saved.cells if cell.cell_type == "code"]
    first, count = re.subn(r'^(\w*TRACE) = ".*?"', lambda found: f"{found[1]} = {str(path)!r}", first, flags=re.M)
    assert count >= 1
    shell.reset()
    text = ""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", timebase.TraceWarning)  # of a trace that is damaged
        for source in [first, *others]:
            with capture_output() as captured:
                done = shell.run_cell(source)
            done.raise_error()
            text += captured.stdout
    plt.close("all")
    with closing(timebase.connect(path)) as connection:
        for table, said in MISSING[name].items():
            [is_there] = connection.execute(f"SELECT EXISTS (SELECT * FROM {table})").fetchone()
            assert is_there or said in text, (table, text)
