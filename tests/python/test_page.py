"""`timebase report` and `timebase.report` in a real browser: on a screen, on a phone, in the dark, on paper."""

import io
import os
import re
import sqlite3
import subprocess
from contextlib import closing

import pytest
import timebase
from browser import Browser
from conftest import DATA, REPOSITORY

TRACES = sorted(path.stem for path in DATA.glob("*.pftrace"))
#: The width of a phone, in pixels.
PHONE = 360


@pytest.fixture(scope="module")
def browser():
    with closing(Browser()) as browser:
        yield browser


@pytest.fixture(scope="module")
def page_of(tmp_path_factory):
    """Pages of traces, each made once, with their databases."""
    place = tmp_path_factory.mktemp("pages")
    made = {}

    def page_of(trace):
        if trace not in made:
            db, page = place / f"{trace}.db", place / f"{trace}.html"
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("warnings.warn", lambda *_, **__: None)  # the trace is damaged
                timebase.import_trace(DATA / f"{trace}.pftrace", db)
            program = os.environ["TIMEBASE_PROGRAM"]
            subprocess.run([program, "report", db, "-o", page], check=True, cwd=REPOSITORY)
            made[trace] = db, page
        return made[trace]

    return page_of


@pytest.mark.parametrize("trace", TRACES)
def test_it_is_shown_without_a_complaint_and_nothing_is_fetched(browser, page_of, trace):
    db, page = page_of(trace)
    browser.open(page)
    assert browser.complaints() == []
    assert [url for url in browser.fetched() if not url.startswith("data:")] == [page.as_uri()]
    with closing(sqlite3.connect(db)) as database:
        # Nobody read the assumed clock, so there is nothing to draw.
        [hops] = database.execute("SELECT count(*) FROM clock_hop WHERE source <> 'assumed'").fetchone()
        drawn = "SELECT coalesce(sum(readings - outliers), 0) FROM clock_hop WHERE source <> 'assumed'"
        [readings] = database.execute(drawn).fetchone()
    assert browser.run("document.querySelectorAll('#hops svg').length") == min(hops, 24)
    if hops <= 24:
        assert browser.run("document.querySelectorAll('#hops svg circle').length") == readings
    assert browser.run("document.querySelectorAll('#graph svg').length") == 1
    # No drawing extends beyond its picture.
    outside = browser.run("""
        [...document.querySelectorAll('svg')].flatMap(svg => {
          const frame = svg.getBoundingClientRect();
          return [...svg.querySelectorAll('text')].filter(text => {
            const box = text.getBoundingClientRect();
            return box.left < frame.left - 2 || box.right > frame.right + 2 || box.bottom > frame.bottom + 2;
          }).map(text => text.textContent.trim());
        })
    """)
    assert outside == []


@pytest.mark.parametrize("trace", TRACES)
def test_on_a_phone_nothing_is_wider_than_the_screen(browser, page_of, trace):
    browser.open(page_of(trace)[1], width=PHONE)
    browser.run("document.querySelectorAll('details').forEach(details => details.open = true)")
    assert browser.run("document.documentElement.scrollWidth") == PHONE
    # Text in pictures is readable there, too.
    heights = browser.run("[...document.querySelectorAll('svg text')].map(text => text.getBoundingClientRect().height)")
    assert min(heights, default=20) > 12


def test_on_a_dark_system_it_is_dark_and_so_are_the_plots(browser, page_of):
    def colours():
        return browser.run("""({
            paper: getComputedStyle(document.body).backgroundColor,
            ink: getComputedStyle(document.body).color,
            text: getComputedStyle(document.querySelector('#hops svg text')).fill,
            dot: getComputedStyle(document.querySelector('#hops svg circle')).fill,
            band: getComputedStyle(document.querySelector('#hops svg polygon')).fill,
        })""")

    def lightness(colour):
        return sum(map(int, re.findall(r"\d+", colour)[:3]))

    page = page_of("system")[1]
    browser.open(page)
    light, light_shot = colours(), browser.screenshot()
    browser.open(page, dark=True)
    dark, dark_shot = colours(), browser.screenshot()
    assert light_shot != dark_shot
    for of in ("paper", "band"):
        assert lightness(dark[of]) < 300 < 500 < lightness(light[of]), (of, light, dark)
    for of in ("ink", "text", "dot"):
        assert lightness(light[of]) < lightness(dark[of]), (of, light, dark)
    # All drawings have a colour that changes.
    drawn = browser.run("""
        [...document.querySelectorAll('svg [fill], svg [stroke]')].flatMap(shape =>
          ['fill', 'stroke'].filter(property => (shape.getAttribute(property) || 'none') != 'none').map(property => {
            const rgb = getComputedStyle(shape)[property].match(/\\d+/g).map(Number);
            return [shape.getAttribute(property), '#' + rgb.map(part => part.toString(16).padStart(2, '0')).join('').toUpperCase()];
          })).filter(([attribute, shown]) => attribute == shown).map(([attribute]) => attribute)
    """)
    assert drawn == []


def test_on_paper_tables_are_open_and_all_is_light(browser, page_of):
    page = page_of("desktop")[1]
    browser.open(page, dark=True)
    printed = browser.pdf()
    assert printed.startswith(b"%PDF-") and len(re.findall(rb"/Type\s*/Page\b", printed)) >= 3
    browser.do("Emulation.setEmulatedMedia", media="print")
    assert browser.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    heights = browser.run("[...document.querySelectorAll('details')].map(details => details.offsetHeight)")
    assert len(heights) >= 4 and min(heights) > 100


def test_a_page_of_a_stranger_runs_nothing(browser, tmp_path):
    db = timebase.import_trace(DATA / "app.pftrace", tmp_path / "strange.db")
    with closing(sqlite3.connect(db)) as database:
        strange = "<img src=http://example.invalid/x onerror=\"document.title='run'\"><script>document.title='run'</script>"
        database.execute("UPDATE clock_record SET name = ?", [strange])
        database.execute("UPDATE fact SET value = ? WHERE name = 'source'", [strange])
        database.execute("UPDATE string SET value = ?", [strange])
        database.commit()
    page = timebase.report(db).save(tmp_path / "strange.html")
    browser.open(page)
    assert browser.complaints() == []
    assert [url for url in browser.fetched() if not url.startswith("data:")] == [page.as_uri()]
    assert browser.run("document.querySelectorAll('script, img').length") == 0
    assert strange[:20] in browser.run("document.querySelector('#graph').textContent")
    assert browser.run("document.title") != "run"


def test_a_notebook_shows_it_in_a_frame_of_its_own(browser, tmp_path):
    shown = timebase.report(DATA / "multihop.pftrace")
    notebook = tmp_path / "notebook.html"
    style = "body{background:rgb(1,2,3)} svg{display:none}"
    notebook.write_text(f"<!DOCTYPE html><style>{style}</style><title>notebook</title>{shown._repr_html_()}", encoding="utf-8")
    browser.open(notebook)
    assert browser.complaints() == []
    assert browser.run("document.querySelectorAll('body > iframe').length") == 1
    assert browser.run("document.querySelector('iframe').srcdoc") == shown.html
    # The page's style does not affect the notebook, and the notebook's style does not affect the page.
    assert browser.run("getComputedStyle(document.body).backgroundColor") == "rgb(1, 2, 3)"
    assert browser.run("document.querySelectorAll('svg').length") == 0
    assert browser.run("document.querySelector('iframe').offsetHeight") > 400


def test_a_page_has_the_name_of_its_trace_whatever_it_is_made_of(tmp_path):
    trace = DATA / "multihop.pftrace"
    db = timebase.import_trace(trace, tmp_path / "x.db")
    with open(trace, "rb") as file:
        of_file = timebase.report(io.BytesIO(file.read()))
    for report in (timebase.report(trace), timebase.report(str(trace)), timebase.report(db)):
        assert "<h1>multihop.pftrace</h1>" in report.html
    assert "<h1>the file object</h1>" in of_file.html or "<h1>standard input</h1>" in of_file.html
    assert repr(of_file) == "<timebase.Report of a file object>"
    saved = timebase.report(db).save(tmp_path / "page.html")
    assert saved.read_text(encoding="utf-8") == timebase.report(db).html


def test_the_conversion_is_chosen_as_for_an_import(tmp_path):
    trace = DATA / "late-frame.pftrace"
    linear = timebase.report(trace, conversion="linear")
    assert "by the line between two snapshots." in linear.html
    assert "by the nearest snapshot." in timebase.report(trace).html
    db = timebase.import_trace(trace, tmp_path / "linear.db", conversion="linear")
    assert timebase.report(db).html == timebase.report(db, conversion="linear").html == linear.html
    with pytest.raises(ValueError, match="import the trace again with conversion='nearest'"):
        timebase.report(db, conversion="nearest")


def test_findings_are_the_rows_of_the_view(tmp_path):
    db = timebase.import_trace(DATA / "dst.pftrace", tmp_path / "dst.db")
    findings = timebase.doctor(db)
    assert findings == timebase.doctor(DATA / "dst.pftrace")
    with closing(timebase.connect(db)) as trace:
        rows = trace.execute(f"SELECT {', '.join(timebase.Finding._fields)} FROM finding").fetchall()
    assert sorted(findings, key=str) == sorted((timebase.Finding(*row) for row in rows), key=str)
    assert findings[0].severity == "error" and findings[0].events == 1
    pandas = pytest.importorskip("pandas")
    assert list(pandas.DataFrame(findings).columns) == list(timebase.Finding._fields)


def test_what_is_no_database_or_trace_is_said(tmp_path):
    other = tmp_path / "other.db"
    with closing(sqlite3.connect(other)) as database:
        database.execute("CREATE TABLE t (x)")
    for ask in (timebase.report, timebase.doctor):
        with pytest.raises(timebase.ReportFailed, match="is a SQLite database, but timebase did not make it"):
            ask(other)
        with pytest.raises(FileNotFoundError):
            ask(tmp_path / "none.pftrace")
        with pytest.raises(timebase.ImportFailed, match="is not a trace"):
            ask(REPOSITORY / "README.md")
        with pytest.raises(TypeError, match="trace must be a path, a file object, or a list of them, not int"):
            ask(3)
