"""docs/fleet.md on its own fleet, with DuckDB and Polars; test_spark.py has the parts for Spark."""

import duckdb
import pytest
from fleet_page import BLOCKS, PAGE, PYTHON, QUESTIONS, TABLES, as_text, labels

from timebase.dataset import Dataset


def test_all_of_the_page_is_found():
    assert len(BLOCKS) == PAGE.count("```text\n") == 11 and len(QUESTIONS) == 4


def test_its_python_prints_what_is_shown(fleet, in_repository, capsys):
    (in_repository / "traces").symlink_to(fleet)
    names = {}
    for code, printed in PYTHON:
        exec(code, names)
        assert capsys.readouterr().out == printed


@pytest.fixture(scope="module")
def lake(fleet):
    with Dataset(fleet, tables=TABLES, labels=labels) as traces, duckdb.connect() as lake:
        for name in TABLES:
            lake.register(name, traces.dataset(name))
        yield lake


@pytest.mark.parametrize("sql, printed", QUESTIONS, ids=range(len(QUESTIONS)))
def test_a_question_has_the_answer_that_is_shown(sql, printed, lake):
    answer = lake.execute(sql)
    assert as_text([column[0] for column in answer.description], answer.fetchall()) == printed
