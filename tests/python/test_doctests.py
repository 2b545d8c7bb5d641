"""The examples in the package's docstrings."""

import doctest
import importlib
import pkgutil

import pytest
import timebase

# The examples of Spark need their own environment, and test_spark.py runs them.
NAMES = [module.name for module in pkgutil.iter_modules(timebase.__path__) if module.name != "spark"]
MODULES = ["timebase", *(f"timebase.{name}" for name in NAMES)]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name, in_repository):
    module = importlib.import_module(name)
    found = [test for test in doctest.DocTestFinder().find(module) if test.examples]
    runner = doctest.DocTestRunner()
    for test in found:
        runner.run(test)
    assert runner.summarize(verbose=False).failed == 0


def test_every_public_name_has_an_example():
    for name in set(timebase.__all__) - {"Connection", "ExtensionError", "QueryWarning", "TraceWarning"}:
        assert ">>> " in getattr(timebase, name).__doc__, name
