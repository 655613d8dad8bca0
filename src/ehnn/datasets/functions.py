"""A real example that needs no download: the public functions of the installed SciPy."""

from __future__ import annotations

import csv
import importlib
import inspect
import os
import re
from collections import Counter
from typing import Any

import torch

from ehnn._utils.atomic import atomic_write
from ehnn.hypergraph import Hypergraph

MODULES = (
    *("cluster.hierarchy", "fft", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal"),
    *("sparse", "sparse.csgraph", "sparse.linalg", "spatial", "spatial.distance", "special", "stats"),
)
"""Modules of SciPy whose functions and classes are the nodes; a function of several belongs to the first."""
_WORD = re.compile(r"[a-z]{3,}")
_BLANK = {"nan", "none", "null"}
_UNNAMED = {"self", "args", "kwargs", "kwds"}


def scipy_functions() -> tuple[Hypergraph, dict[str, str]]:
    """The functions of SciPy as nodes, the words that they share as hyperedges, and their modules.

    The words of a function are the names of its parameters and the words of the first paragraph of its
    docstring. A word that two or more functions use is a hyperedge: the set of these functions. The numbers
    depend on the installed version of SciPy.

    Returns:
        The hypergraph, with names of nodes and hyperedges; and function → module, without ``scipy.``.

    >>> h, module = scipy_functions()
    >>> module["ttest_ind"], "axis" in h.edge_names
    ('stats', True)
    """
    words, module = _words_and_modules()
    counts = Counter(word for found in words.values() for word in found)
    names, shared = list(words), sorted(word for word in counts if counts[word] > 1)
    number = {word: e for e, word in enumerate(shared)}
    pairs = [(v, number[word]) for v, name in enumerate(names) for word in words[name] if word in number]
    index = torch.tensor(pairs).T
    return Hypergraph.from_incidence(index, node_names=names, edge_names=shared), module


def write_example(path: str | os.PathLike[str], known: int = 3) -> None:
    """Write `scipy_functions` to the CSV file ``path``: a row for each pair of a function and a word.

    Columns ``function``, ``word`` and ``module``. The module is given for every ``known``-th function and
    blank for the others, which are to be predicted. Words are in small letters. Left out are words that mean
    a blank cell in tables, such as ``nan``, and functions whose name another one has in small letters.

    >>> write_example("functions.csv")
    >>> with open("functions.csv") as file:
    ...     print(file.readline().strip())
    function,word,module
    """
    h, module = scipy_functions()
    names, shared = tuple(module), h.edge_names or ()
    given = {name: module[name] for name in names[::known]}
    node, edge = h.index.tolist()
    written = {name.lower(): name for name in names}  # of two that differ in capitals alone, the last
    pairs = {(names[v], shared[e].lower()): None for v, e in zip(node, edge, strict=True)}
    rows = [
        (name, word, given.get(name, ""))
        for name, word in pairs
        if written[name.lower()] == name and word not in _BLANK
    ]
    with atomic_write(path) as file:
        csv.writer(file).writerows([("function", "word", "module"), *rows])


def _words_and_modules() -> tuple[dict[str, list[str]], dict[str, str]]:
    words: dict[str, list[str]] = {}
    module: dict[str, str] = {}
    for name in MODULES:
        package = importlib.import_module(f"scipy.{name}")
        for attribute in sorted(package.__all__):
            function = getattr(package, attribute)
            if callable(function) and attribute not in module:
                words[attribute], module[attribute] = _words(function), name
    return words, module


def _words(function: Any) -> list[str]:
    """Names of parameters and words of the first paragraph of the docstring, sorted."""
    first, _, _ = (inspect.getdoc(function) or "").partition("\n\n")
    try:
        named = set(inspect.signature(function).parameters) - _UNNAMED
    except (TypeError, ValueError):  # written in C
        named = set()
    return sorted(named | set(_WORD.findall(first.lower())))
