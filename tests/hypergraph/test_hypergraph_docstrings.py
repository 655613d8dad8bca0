"""The examples in docstrings are true."""

import doctest
import importlib
import pkgutil

import pytest

import ehnn.hypergraph
import ehnn.testing

MODULES = [
    f"{package.__name__}.{module.name}"
    for package in (ehnn.hypergraph, ehnn.testing)
    for module in pkgutil.iter_modules(package.__path__)
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert not result.failed


def test_there_are_examples():
    finder = doctest.DocTestFinder()
    modules = map(importlib.import_module, MODULES)
    assert sum(bool(t.examples) for m in modules for t in finder.find(m)) >= 5
