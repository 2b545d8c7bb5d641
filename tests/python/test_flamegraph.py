"""`timebase flamegraph`, looked at in a real browser: search, a click, a phone."""

import os
import subprocess
from contextlib import closing

import pytest
from browser import Browser
from conftest import DATA, REPOSITORY

#: The width of a phone, in pixels.
PHONE = 360
#: A random trace; its samples are compared with trace processor's in tests/profiles.rs.
TRACE = DATA / "profiles" / "03.pftrace"

#: The names of the functions that are shown, and how wide they are.
FRAMES = """
    [...document.querySelectorAll('#frames > g')].map(group => {
      const box = group.querySelector('rect').getBoundingClientRect();
      return [group.querySelector('title').textContent, box.width, getComputedStyle(group).display];
    }).filter(([, width, display]) => width > 0 && display !== 'none')
"""


@pytest.fixture(scope="module")
def browser():
    with closing(Browser()) as browser:
        yield browser


def flamegraph(*arguments):
    program = os.environ["TIMEBASE_PROGRAM"]
    command = [program, "flamegraph", TRACE, *arguments]
    return subprocess.run(command, check=True, cwd=REPOSITORY, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    page = tmp_path_factory.mktemp("flamegraph") / "flame.html"
    flamegraph("-o", page)
    return page


@pytest.fixture(scope="module")
def samples():
    """How often each stack was sampled."""
    lines = [line.rpartition(" ") for line in flamegraph().splitlines()]
    return {tuple(stack.split(";")): int(count) for stack, _, count in lines}


def shown(browser):
    return {title.split(" (")[0]: width for title, width, _ in browser.run(FRAMES)}


def test_widths_are_shares_and_nothing_is_fetched(browser, page, samples):
    browser.open(page)
    assert browser.complaints() == []
    assert [url for url in browser.fetched() if not url.startswith("data:")] == [page.as_uri()]
    total = sum(samples.values())
    frames = browser.run(FRAMES)
    [whole] = [width for title, width, _ in frames if title.startswith("all (")]
    outermost = {}
    for stack, count in samples.items():
        outermost[stack[0]] = outermost.get(stack[0], 0) + count
    for name, count in outermost.items():
        title = f"{name} ({count} samples, {100 * count / total:.2f}%)"
        widths = [width for found, width, _ in frames if found == title]
        assert any(abs(width / whole - count / total) < 0.01 for width in widths), (title, frames)


def test_a_click_zooms_and_the_way_back_is_there(browser, page, samples):
    browser.open(page)
    name = max(samples, key=samples.get)[0]
    before = shown(browser)
    click = "[...document.querySelectorAll('#frames > g')].find(g => g.querySelector('title').textContent.startsWith(NAME))"
    found = click.replace("NAME", repr(name + " ("))
    browser.run(f"{found}.querySelector('rect').dispatchEvent(new MouseEvent('click', {{bubbles: true}}))")
    assert shown(browser)[name] == pytest.approx(before["all"], rel=0.01)
    browser.run("document.getElementById('unzoom').dispatchEvent(new MouseEvent('click', {bubbles: true}))")
    assert shown(browser) == before


def test_a_search_says_how_much_is_found(browser, page, samples):
    browser.open(page)
    name = max(samples, key=samples.get)[-1]
    count = sum(count for stack, count in samples.items() if any(name in function for function in stack))
    browser.run(f"search({name!r})")
    share = 100 * count / sum(samples.values())
    matched = browser.run("document.getElementById('matched').textContent")
    assert matched.startswith("Matched") and float(matched.split(": ")[1].rstrip("%")) == pytest.approx(share, abs=0.11)


def test_on_a_phone_it_is_as_wide_as_the_screen(browser, page):
    browser.open(page, width=PHONE)
    assert browser.run("document.documentElement.scrollWidth") == PHONE
    right = browser.run("Math.max(...[...document.querySelectorAll('svg text')].map(text => text.getBoundingClientRect().right))")
    assert right <= PHONE
