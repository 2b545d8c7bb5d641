"""docs/fleet.md: its code and its output. test_fleet.py runs it with DuckDB, and test_spark.py with Spark."""

import os
import re

from conftest import REPOSITORY

PAGE = (REPOSITORY / "docs" / "fleet.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(python|sql)\n(.*?)^```\n\n```text\n(.*?)^```$", PAGE, re.S | re.M)
PYTHON = [(code, printed) for language, code, printed in BLOCKS if language == "python" and "timebase.spark" not in code]
[SPARK] = [(code, printed) for language, code, printed in BLOCKS if "timebase.spark" in code]
QUESTIONS = [(code, printed) for language, code, printed in BLOCKS if language == "sql"]

#: The tables in the questions.
TABLES = ["slice", "thread_state", "finding", "stats"]


def labels(path):
    device, build, _ = os.path.basename(path).split("-")
    return {"device": device, "build": build}


def as_text(columns, rows):
    """A result in the form of the page."""
    return "".join(" | ".join(map(str, row)) + "\n" for row in [columns, *rows])
