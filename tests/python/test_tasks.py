"""The Python of docs/tasks.md: the plot of a counter shows the trace's values."""

import re
import sqlite3

import matplotlib
import numpy
import pytest
from conftest import DATA, REPOSITORY
from matplotlib import colors, image

import timebase

PAGE = (REPOSITORY / "docs" / "tasks.md").read_text(encoding="utf-8")
EXAMPLE = r"^```python\n((?:(?!```).*\n)*)```\n\n```text\n((?:(?!```).*\n)*)```$"


@pytest.fixture
def plotted(in_repository, monkeypatch, capsys):
    """The printed output, the axes, and the picture."""
    matplotlib.use("Agg")
    [(program, expected)] = re.findall(EXAMPLE, PAGE, re.M)
    names = {}
    exec(program, names)
    assert capsys.readouterr().out == expected
    [picture] = re.findall(r"savefig\(\"(.*?)\"\)", program)
    return names["axes"], image.imread(in_repository / picture)


def values(name, database):
    """A counter's values from the stock sqlite3, in seconds since the start of the trace."""
    timebase.import_trace(DATA / "app.pftrace", database)
    with sqlite3.connect(database) as trace:
        return trace.execute(
            """
            SELECT (ts - (SELECT start_ts FROM trace_bounds)) / 1e9, value
            FROM counter JOIN counter_track AS t ON t.id = track_id WHERE name = ? ORDER BY ts
            """,
            [name],
        ).fetchall()


def test_the_plot_has_the_values_of_the_counter(plotted, tmp_path):
    axes, _ = plotted
    [line] = axes.get_lines()
    drawn = [tuple(point) for point in line.get_xydata()]
    assert drawn == values("temperature", tmp_path / "app.db")
    assert len(drawn) == 18 and line.get_drawstyle() == "steps-post"
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("seconds", "°C")


def test_the_picture_shows_the_line(plotted):
    axes, picture = plotted
    [line] = axes.get_lines()
    is_line = numpy.abs(picture[:, :, :3] - colors.to_rgb(line.get_color())).sum(axis=2) < 0.05
    height, width = is_line.shape
    # The line goes from left to right, without a gap, and up and down.
    columns = numpy.flatnonzero(is_line.any(axis=0))
    assert len(columns) == columns[-1] - columns[0] + 1 > width * 0.6
    assert is_line.any(axis=1).sum() > height * 0.5
