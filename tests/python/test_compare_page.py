"""The page of `timebase compare` in a real browser: on a screen, on a phone, in the dark, by keyboard, on paper."""

import os
import re
import subprocess
from contextlib import closing

import pytest
from browser import Browser
from conftest import DATA, REPOSITORY

#: The width of a phone, in pixels.
PHONE = 390


@pytest.fixture(scope="module")
def browser():
    with closing(Browser()) as browser:
        yield browser


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The page of the runs that the repository has."""
    page = tmp_path_factory.mktemp("pages") / "diff.html"
    program = os.environ["TIMEBASE_PROGRAM"]
    before, after = DATA / "runs" / "before", DATA / "runs" / "after"
    subprocess.run([program, "compare", before, "--with", after, "-o", page], check=True, cwd=REPOSITORY)
    return page


def open_all(browser):
    browser.run("document.querySelectorAll('details').forEach(details => details.open = true)")


def test_it_is_shown_without_a_complaint_and_nothing_is_fetched(browser, page):
    browser.open(page, width=1200)
    assert browser.complaints() == []
    assert [url for url in browser.fetched() if not url.startswith("data:")] == [page.as_uri()]
    assert browser.run("document.querySelectorAll('script, img, iframe').length") == 0
    assert browser.run("document.querySelectorAll('details.line').length") > 0
    open_all(browser)
    # No drawing extends beyond its picture, and no column of numbers beyond its place.
    outside = browser.run("""
        [...document.querySelectorAll('figure svg')].flatMap(svg => {
          const frame = svg.getBoundingClientRect();
          return [...svg.querySelectorAll('text, circle, polyline')].filter(shape => {
            const box = shape.getBoundingClientRect();
            return box.left < frame.left - 2 || box.right > frame.right + 2 || box.bottom > frame.bottom + 2;
          }).map(shape => shape.outerHTML);
        })
    """)
    assert outside == []
    cut = browser.run("[...document.querySelectorAll('.row > span')].filter(s => s.scrollWidth > s.clientWidth + 1).map(s => s.textContent)")
    assert cut == []


def test_numbers_of_a_column_are_aligned(browser, page):
    browser.open(page, width=1200)
    rights = browser.run("""
        [...document.querySelectorAll('.lines')].map(lines => [0, 1, 2, 3].map(column =>
          new Set([...lines.querySelectorAll('.row')].map(row => Math.round(row.children[column].getBoundingClientRect().right))).size))
    """)
    assert rights and all(number == 1 for section in rights for number in section)


@pytest.mark.parametrize("width", [PHONE, 700, 1200])
def test_nothing_is_wider_than_the_screen(browser, page, width):
    browser.open(page, width=width)
    open_all(browser)
    assert browser.run("document.documentElement.scrollWidth") == width
    # Text in pictures is readable there, too.
    heights = browser.run("[...document.querySelectorAll('svg text')].map(text => text.getBoundingClientRect().height)")
    assert min(heights, default=20) > 11


def test_on_a_phone_a_number_has_its_name_beside_it(browser, page):
    browser.open(page, width=PHONE)
    names = browser.run("""
        [...document.querySelectorAll('details.line .number')].map(cell => getComputedStyle(cell, '::before').content)
    """)
    assert names and all(name not in ("none", '""') for name in names)
    assert browser.run("getComputedStyle(document.querySelector('.row.head')).display") == "none"


def test_on_a_dark_system_it_is_dark_and_so_are_the_plots(browser, page):
    def colours():
        return browser.run("""({
            paper: getComputedStyle(document.body).backgroundColor,
            ink: getComputedStyle(document.body).color,
            text: getComputedStyle(document.querySelector('svg text')).fill,
            before: getComputedStyle(document.querySelector('circle.before')).stroke,
            after: getComputedStyle(document.querySelector('circle.after')).fill,
        })""")

    def lightness(colour):
        return sum(map(int, re.findall(r"\d+", colour)[:3]))

    browser.open(page)
    light, light_shot = colours(), browser.screenshot()
    browser.open(page, dark=True)
    dark, dark_shot = colours(), browser.screenshot()
    assert light_shot != dark_shot
    assert lightness(dark["paper"]) < 300 < 500 < lightness(light["paper"])
    for of in ("ink", "text", "before", "after"):
        assert lightness(light[of]) < lightness(dark[of]), (of, light, dark)
    # Nothing that is drawn is black by accident, which is the colour of a shape without a rule.
    black = browser.run("""
        [...document.querySelectorAll('svg circle, svg rect, svg polygon, svg polyline, svg text')]
          .filter(shape => getComputedStyle(shape).fill == 'rgb(0, 0, 0)' && getComputedStyle(shape).stroke == 'none')
          .map(shape => shape.outerHTML)
    """)
    assert black == []


def test_a_line_opens_by_keyboard(browser, page):
    browser.open(page)
    opened = browser.run("[...document.querySelectorAll('details.line')].map(line => line.open)")
    assert opened[0] and not any(opened[1:])
    browser.run("document.querySelector('details.line').open = false; document.querySelector('details.line summary').focus()")
    for kind in ("keyDown", "keyUp"):
        key = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r" if kind == "keyDown" else ""}
        browser.do("Input.dispatchKeyEvent", type=kind, **key)
    assert browser.run("document.querySelector('details.line').open") is True
    assert browser.run("getComputedStyle(document.querySelector('details.line .what')).userSelect") in ("auto", "text")


def test_dots_stand_where_their_values_are(browser, page):
    browser.open(page)
    open_all(browser)
    figures = browser.run("""
        [...document.querySelectorAll('figure.runs')].map(figure =>
          [...figure.querySelectorAll('circle.dot')].map(dot =>
            [Number(dot.dataset.value), Number(dot.dataset.run), dot.getBoundingClientRect().top, dot.getBoundingClientRect().left]))
    """)
    assert figures
    for dots in figures:
        assert len(dots) == 20
        by_value = [top for _, _, top, _ in sorted(dots)]
        assert by_value == sorted(by_value, reverse=True) or max(b - a for a, b in zip(by_value, by_value[1:])) < 0.2
        by_run = [left for _, _, _, left in sorted(dots, key=lambda dot: dot[1])]
        assert by_run == sorted(by_run) and len(set(by_run)) == 20


def test_on_paper_all_lines_are_open_and_all_is_light(browser, page):
    browser.open(page, dark=True)
    assert browser.pdf().startswith(b"%PDF-")
    browser.do("Emulation.setEmulatedMedia", media="print")
    assert browser.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    heights = browser.run("[...document.querySelectorAll('details.line')].map(details => details.offsetHeight)")
    assert min(heights) > 100
