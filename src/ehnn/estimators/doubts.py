"""Warnings about labels and names that may be misunderstood."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from ehnn._utils.validation import is_missing
from ehnn.hypergraph import Hypergraph
from ehnn.tables.alike import alike_names, writing
from ehnn.tables.labels import alike_classes, like_blank

from .labels import has_names, plain

_ENOUGH = 10
"""Labels from which on a warning may say that there are too many classes."""
_FEW = 10
"""Isolated nodes up to which there is no warning."""


def looks_like_row_numbers(y: Any, count: int) -> bool:
    """Whether the index of a Series without a name holds numbers that rows of a table of ``count`` have."""
    numbers = y.index.tolist() if y.index.nlevels == 1 and y.index.name is None else [None]
    return all(type(v) is int and 0 <= v < count for v in numbers)


def warn_of_row_numbers(y: Any, names: Sequence[Any] | None, row: str) -> None:
    """Warn if the index of labels may be row numbers of a table instead of names.

    ``names`` are those of all rows, in order; ``row`` says what a row is.
    """
    if names is None or not hasattr(getattr(y, "index", None), "tolist"):
        return
    given = y.index.tolist()
    if not looks_like_row_numbers(y, len(names)) or not set(given) <= set(names):
        return
    other = next((v for v in given if names[v] != v), None)
    if other is None:
        return
    told = f"{row} {other} or of row {other} ({row} {names[other]})"
    taken = f"names of {row}s" if has_names(y) else f"rows in the order of the {row}s"
    warnings.warn(
        f"the index of y has no name: is {other} the label of {told}? It is taken for {taken}; "
        f"y.rename_axis('{row}') says that it has names; for rows give their names, y.set_axis(names)",
        stacklevel=5,
    )


def warn_of_order(names: Sequence[Any] | None, row: str) -> None:
    """Warn if labels are given by position and the names are numbers that are not sorted."""
    if names is None or not all(type(v) is int for v in names) or list(names) == sorted(names):
        return
    first = ", ".join(map(str, names[:3]))
    warnings.warn(
        f"y has a label per {row} by position, and the {row}s are numbers in the order in which they first "
        f"appear: {first}, …; a mapping from {row}s to labels, or a Series with their numbers as index, "
        "leaves no doubt",
        stacklevel=5,
    )


def warn_of_doubts(values: Sequence[Any]) -> None:
    """Warn of classes that may be mistakes: two spellings of one class, a missing label, or truth values."""
    told = []
    if alike := alike_classes(values):
        told.append(f"classes that may be one: {alike}")
    if (blank := like_blank(values)) is not None:
        told.append(
            f"{blank!r} is taken for a class; where it means that there is no label, give None or NaN in a "
            "list or an array of objects: NumPy makes text of NaN beside text"
        )
    classes = {v for v in values if not is_missing(v)}
    labelled = sum(not is_missing(v) for v in values)
    if labelled >= _ENOUGH and len(classes) > labelled / 2:
        told.append(f"{len(classes)} classes for {labelled} labels are too many to learn; are they names?")
    truths = {isinstance(v, bool) for v in values if isinstance(v, int)}
    if len(truths) > 1:
        told.append("labels are truths and numbers: True and 1 are one class, False and 0 are one class")
    for remark in told:
        warnings.warn(remark, stacklevel=5)


def warn_of_names(h: Hypergraph) -> None:
    """Warn of names that may be the same, such as 1 and "1", or missing."""
    for names, what in ((h.node_names, "nodes"), (h.edge_names, "hyperedges")):
        if names is None or all(type(name) is int for name in names):
            continue
        told = alike_names(names, what, capitals=True)
        told += [f"'' is the name of one of the {what}"] * ("" in names)
        for remark in told:
            warnings.warn(remark, stacklevel=4)


def warn_of_other_writing(known: Sequence[Any] | None, names: Sequence[Any] | None, what: str) -> None:
    """Warn if one of ``names`` is new and fit had it in another spelling (``known``): 12 and "12.0"."""
    if known is None or names is None:
        return
    before = set(map(plain, known))
    unknown = [name for name in map(plain, names) if name not in before]
    writings = {writing(str(name)): name for name in before} if unknown else {}
    other = next((name for name in unknown if writing(str(name)) in writings), None)
    if other is not None:
        told = f"{writings[writing(str(other))]!r} of fit is {other!r} here, which is another name"
        warnings.warn(f"{len(unknown)} of {len(names)} {what}s were not there in fit: {told}", stacklevel=6)


def warn_of_gaps(data: Any, h: Hypergraph) -> None:
    """Warn if most nodes of lists are in no hyperedge of ``h = as_hypergraph(data)``."""
    unused = int((h.degrees == 0).sum())
    if isinstance(data, (list, tuple, Mapping)) and unused > max(_FEW, h.num_nodes - unused):
        warnings.warn(
            f"{unused} of the {h.num_nodes} nodes are in no hyperedge: nodes of lists are numbers from 0 to "
            "the largest. Where they are names, give a frame of (node, hyperedge) rows, or text",
            stacklevel=4,
        )
