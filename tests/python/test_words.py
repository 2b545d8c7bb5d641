"""Errors of an import name Python's arguments for users of Python, not flags."""

import io
import os
import re
import sqlite3
import stat
import sys

import pytest
import timebase
from conftest import DATA, REPOSITORY
from timebase import _program

MULTIHOP = DATA / "multihop.pftrace"

# The sources with the messages of an import and of a comparison.
SOURCES = [
    "crates/import/src",
    "crates/trace/src",
    "crates/cli/src/advice.rs",
    "crates/cli/src/import.rs",
    "crates/cli/src/messages.rs",
    "crates/cli/src/compare.rs",
    "crates/cli/src/compare",
    "crates/compare/src",
]
FLAG = re.compile(r"(?<![\w-])--?[a-z][\w-]*(?![\w-])|timebase (?:import|query|shell|clocks|explain)\b")
# Flags of other programs, flags that the package passes by itself or never, the command of an origin, the name of a track.
NOT_OURS = {"--include_imports", "--descriptor_set_out", "-dc", "--long", "-so", "-xf", "--txt", "-c", "-r", "--sparse", "--pieces", "-funcgraph", "-f", "-t", "--split", "--help"}
# Flags of a comparison that no call passes, or that only its text and its pages name.
NOT_OURS |= {"--labels", "--format", "--values", "--measure", "--top", "--with", "--label"}


def messages():
    """All sentences in these sources that name a flag or a command, except the summary of a run."""
    for source in SOURCES:
        path = REPOSITORY / source
        for file in sorted(path.rglob("*.rs")) if path.is_dir() else [path]:
            text = file.read_text(encoding="utf-8").partition("#[cfg(test)]")[0]
            text = re.sub(r"^\s*//.*$", "", text, flags=re.M)
            for literal in re.findall(r'"((?:[^"\\]|\\(?:.|\n))*)"', text):
                literal = re.sub(r"\\\n\s*", "", literal)
                if FLAG.search(literal) and " " in literal and not literal.startswith(("\\nNext: ", "Examples:")):
                    yield pytest.param(literal, id=f"{file.name}: {literal[:60]}")


MESSAGES = list(messages())


def test_the_messages_are_found():
    texts = [parameter.values[0] for parameter in MESSAGES]
    for part in ("replace it with --force", "Without --strict", "another place with -o", "`timebase query`"):
        assert any(part in text for text in texts), part


@pytest.mark.parametrize("words", ["_OF_IMPORT", "_OF_TEMPORARY", "_OF_REWRITE", "_OF_COMPARE"])
@pytest.mark.parametrize("message", MESSAGES)
def test_no_message_names_a_flag(message, words):
    said = getattr(_program, words).in_python(message, [])
    assert set(FLAG.findall(said)) <= NOT_OURS, said


def test_a_database_that_exists_is_replaced_with_an_argument(in_repository):
    timebase.import_trace(MULTIHOP, "trace.db")
    with pytest.raises(timebase.ImportFailed) as error:
        timebase.import_trace(MULTIHOP, "trace.db")
    assert str(error.value) == "trace.db exists; name another file with db=, or replace it with force=True"
    timebase.import_trace(MULTIHOP, "trace.db", force=True)
    (in_repository / "text.db").write_text("not a database")
    with pytest.raises(timebase.ImportFailed, match="text.db is not a SQLite database, .* name another file with db=$"):
        timebase.import_trace(MULTIHOP, "text.db", force=True)


def test_a_damaged_trace_is_read_without_strict(tmp_path):
    (tmp_path / "cut.pftrace").write_bytes((DATA / "sdk.pftrace").read_bytes()[:50_000])
    with pytest.raises(timebase.ImportFailed, match="Without strict=True, the readable parts are kept"):
        timebase.import_trace(tmp_path / "cut.pftrace", strict=True)
    with pytest.raises(timebase.RewriteFailed, match="Without strict=True, the readable parts are kept"):
        timebase.rewrite(tmp_path / "cut.pftrace", tmp_path / "out.pftrace", strict=True)


def test_tables_are_named_as_the_argument(tmp_path):
    with pytest.raises(timebase.ImportFailed, match="for tables: there is no 'scheds'"):
        timebase.import_trace(MULTIHOP, tmp_path / "a.db", tables=["scheds"])


def test_the_trace_is_not_to_be_replaced(tmp_path):
    trace = tmp_path / "trace.db"
    trace.write_bytes(MULTIHOP.read_bytes())
    for db in (trace, None):
        with pytest.raises(timebase.ImportFailed, match="the database would replace the trace") as error:
            timebase.import_trace(trace, db)
        assert not FLAG.search(str(error.value).replace(str(tmp_path), ""))


def test_colors_are_for_terminals(tmp_path, monkeypatch):
    monkeypatch.setenv("CLICOLOR_FORCE", "1")
    with pytest.raises(timebase.ImportFailed, match="^cannot open .*none: No such file"):
        timebase.import_trace(tmp_path / "none", tmp_path / "x.db")
    (tmp_path / "cut.pftrace").write_bytes((DATA / "sdk.pftrace").read_bytes()[:50_000])
    with pytest.warns(timebase.TraceWarning, match="ends inside the packet"):
        timebase.import_trace(tmp_path / "cut.pftrace")


def test_a_file_object_is_called_that(tmp_path):
    with pytest.raises(timebase.ImportFailed, match="^the file object is empty"):
        timebase.import_trace(io.BytesIO(b""), tmp_path / "x.db")


def test_a_file_may_be_called_as_the_program_calls_a_stream(in_repository):
    (in_repository / "-").write_bytes(MULTIHOP.read_bytes())
    timebase.import_trace("-", "x.db")
    (in_repository / "-").unlink()
    assert os.fspath(timebase.import_trace(MULTIHOP, "-")) == "-"
    with open("-", "rb") as file:
        assert file.read(6) == b"SQLite"


def test_names_of_files_stay_as_they_are(tmp_path):
    trace = tmp_path / "-o --force --strict"
    with pytest.raises(timebase.ImportFailed) as error:
        timebase.import_trace(trace, tmp_path / "x.db")
    assert str(error.value).startswith(f"cannot open {trace}: ")
    database = tmp_path / "replace it with --force"
    timebase.import_trace(MULTIHOP, database)
    with pytest.raises(timebase.ImportFailed) as error:
        timebase.import_trace(MULTIHOP, database)
    assert str(error.value) == f"{database} exists; name another file with db=, or replace it with force=True"


@pytest.mark.skipif(sys.platform == "win32", reason="a script is no program there")
class TestOfAnyProgram:
    """Messages of a broken installation: a program that prints timebase's messages."""

    @pytest.fixture
    def says(self, tmp_path, monkeypatch):
        def program(stderr, code=1):
            path = tmp_path / "timebase"
            (tmp_path / "stderr").write_text(stderr, encoding="utf-8")
            path.write_text(f"#!/bin/sh\ncat '{tmp_path}/stderr' >&2\nexit {code}\n")
            path.chmod(path.stat().st_mode | stat.S_IXUSR)
            monkeypatch.setenv("TIMEBASE_PROGRAM", str(path))

        return program

    def test_a_full_disk_names_what_can_be_chosen(self, says):
        says("timebase: error: no space left to write x.db; nothing was changed. Free some space, or name another place with -o\n")
        with pytest.raises(timebase.ImportFailed, match="or name another place with db=$"):
            timebase.import_trace(MULTIHOP, "x.db")
        with pytest.raises(timebase.ImportFailed, match="or name another place in the environment variable TMPDIR$"):
            timebase.connect(MULTIHOP)

    def test_a_warning_is_of_the_line_that_called(self, says, tmp_path):
        says("x.pftrace → x.db\n\ntimebase: warning: something is odd; see --strict\nNext: …\n", code=0)
        with pytest.warns(timebase.TraceWarning) as warnings:
            timebase.import_trace(MULTIHOP, tmp_path / "x.db")
        [warning] = warnings
        assert (str(warning.message), warning.filename) == ("something is odd; see strict=True", __file__)
        with pytest.warns(timebase.TraceWarning) as warnings, pytest.raises(sqlite3.OperationalError, match="unable to open"):
            timebase.connect(MULTIHOP)
        assert {warning.filename for warning in warnings} == {__file__}

    def test_a_directory_is_given_as_an_argument(self, says):
        says("timebase: error: out is a directory; name the database in it, such as -o out/trace.db\n")
        with pytest.raises(timebase.ImportFailed, match="name the database in it, such as db=out/trace.db$"):
            timebase.import_trace(MULTIHOP, "out")

    def test_what_is_compressed_otherwise_is_decompressed_to_a_file(self, says):
        says("timebase: error: a.xz is not a trace: … Decompress it first: xz -dc FILE | timebase import - -o trace.db\n")
        with pytest.raises(timebase.ImportFailed, match="Decompress it first: xz -dc FILE > trace.pftrace$"):
            timebase.connect(MULTIHOP)

    def test_a_program_that_says_nothing_has_a_code(self, says):
        says("", code=101)
        with pytest.raises(timebase.ImportFailed, match="timebase import ended with code 101"):
            timebase.import_trace(MULTIHOP, "x.db")

    def test_what_is_said_may_be_long(self, says):
        says("timebase: error: " + "x" * 1_000_000 + "\n" * 1000)
        with pytest.raises(timebase.ImportFailed, match="x{1000000}$"):
            timebase.import_trace(open(os.fspath(MULTIHOP), "rb"), "x.db")


def test_rewriting_speaks_python_too(tmp_path):
    out = tmp_path / "db=.pftrace"
    summary = timebase.rewrite(MULTIHOP, out)
    assert summary["written"] == summary["packets"] > 0
    with pytest.raises(timebase.RewriteFailed) as error:
        timebase.rewrite(MULTIHOP, out)
    assert str(error.value) == f"{out} exists; name another file with destination=, or replace it with force=True"
    with pytest.raises(timebase.RewriteFailed, match="is a directory; name the trace in it, such as destination="):
        timebase.rewrite(MULTIHOP, tmp_path)
