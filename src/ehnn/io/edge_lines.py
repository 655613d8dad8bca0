"""Text files with one hyperedge per line."""

from __future__ import annotations

import os
from itertools import chain
from typing import Literal

import numpy as np

from ehnn._utils.atomic import atomic_write
from ehnn._utils.validation import short
from ehnn.hypergraph import Hypergraph

from ._names import identifiers
from ._support import check_bound, read_text, single
from .named import from_named_edges

Path = str | os.PathLike[str]


def read_edge_lines(
    path: Path,
    *,
    separator: str | None = None,
    base: Literal[0, 1] = 0,
    num_nodes: int | None = None,
    named: bool = False,
    skip_blank: bool = False,
) -> Hypergraph:
    """A hypergraph from a UTF-8 text file in which line e lists the nodes of hyperedge e.

    Every line is a hyperedge, so a blank line is an empty hyperedge (``skip_blank``: ignore it) and an
    empty file has none. A node listed twice on a line counts once.

    >>> with open("sets.txt", "w") as file:
    ...     _ = file.write("1 2 3\\n3 4\\n")
    >>> read_edge_lines("sets.txt", base=1).edges()
    [[0, 1, 2], [2, 3]]

    Args:
        path: the file.
        separator: between nodes; None is any white space.
        base: number of the first node in the file, 0 or 1.
        num_nodes: count, for files whose last nodes are in no hyperedge. Without it the largest number
            decides, and a number out of all proportion to the file is refused.
        named: nodes are names, numbered in order of first appearance, without ``base`` and ``num_nodes``.

    Raises:
        ValueError: names the file, the line and what is wrong with it.
    """
    _check_options(separator, base)
    lines = read_text(path).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if not lines[-1]:
        lines.pop()
    rows = [_tokens(line, separator) for line in lines]
    if skip_blank:
        rows = [row for row in rows if row]
    if named:
        return from_named_edges(rows)
    node = _numbers(rows, lines, separator, base, num_nodes, path)
    if num_nodes is None:
        largest = int(node.max(initial=-1))
        check_bound(
            largest, node.size, "node", lambda: f"{path}, line {_line_of(lines, separator, largest + base)}"
        )
    edge = np.repeat(np.arange(len(rows)), np.fromiter(map(len, rows), np.int64, len(rows)))
    return Hypergraph.from_incidence((node, edge), num_nodes, len(rows))


def write_edge_lines(
    h: Hypergraph,
    path: Path,
    *,
    separator: str = " ",
    base: Literal[0, 1] = 0,
    named: bool = False,
) -> None:
    """Write one line per hyperedge to ``path``, atomically; an empty hyperedge is a blank line.

    Nodes are separated by ``separator`` and numbered from ``base``, 0 or 1.

    The file carries the hyperedges and, if ``named``, the node names instead of the numbers (read it
    with ``named=True``). It does not carry isolated nodes after the last used one (read it with
    ``num_nodes``; with names: any isolated node and the order of the nodes), hyperedge names,
    features, labels or weights.

    >>> write_edge_lines(Hypergraph.from_edges([[0, 1], [1, 2]]), "sets.txt")
    >>> read_edge_lines("sets.txt").edges()
    [[0, 1], [1, 2]]
    """
    _check_options(separator, base)
    h = single(h, "write_edge_lines")
    ids = identifiers(h.node_names, h.num_nodes, "node") if named else range(base, h.num_nodes + base)
    words = list(map(str, ids))
    for word in words if named else ():
        # What the reader would not give back is refused: separators, line ends, outer white space.
        for sep in {separator, None} if separator.isspace() else {separator}:
            if _tokens(word, sep) != [word] or "\n" in word or "\r" in word or word[0] == "\ufeff":
                raise ValueError(f"node name {short(word)} cannot be written with separator {separator!r}")
    with atomic_write(path) as file:
        file.writelines(separator.join(map(words.__getitem__, edge)) + "\n" for edge in h.edges())


def _check_options(separator: str | None, base: int) -> None:
    if separator is not None and (not isinstance(separator, str) or not separator or "\n" in separator):
        raise ValueError(f"separator must be a text without line ends, or None to read, got {separator!r}")
    if base not in (0, 1):
        raise ValueError(f"base must be 0 or 1, got {base!r}")


def _tokens(line: str, separator: str | None) -> list[str]:
    if separator is None or not line.strip():
        return line.split()
    return [token.strip() for token in line.split(separator)]


def _numbers(
    rows: list[list[str]],
    lines: list[str],
    separator: str | None,
    base: int,
    num_nodes: int | None,
    path: Path,
) -> np.ndarray:
    """``[incidences]`` node numbers from 0 of all rows."""
    tokens = list(chain.from_iterable(rows))
    try:
        if any("_" in token for token in tokens):  # int() reads 1_000 as a number
            raise ValueError
        given = np.fromiter(map(int, tokens), np.int64, len(tokens))
        if given.size == 0 or given.min() >= base:  # before the smallest number there is would wrap around
            node = given - base
            if num_nodes is None or node.max(initial=-1) < num_nodes:
                return node
    except (ValueError, OverflowError):
        pass
    raise _fault(lines, separator, base, num_nodes, path)


def _fault(
    lines: list[str], separator: str | None, base: int, num_nodes: int | None, path: Path
) -> ValueError:
    """The error that names the first bad entry."""
    upper = 2**63 - 1 if num_nodes is None else num_nodes + base
    for number, line in enumerate(lines, 1):
        for token in _tokens(line, separator):
            digits = token.removeprefix("-").removeprefix("+")
            if not digits.isdecimal() or len(digits) > 4000:
                what = f"{short(token)} is not a node number"
            elif not base <= int(token) < upper:
                what = f"node number {short(int(token))} must be from {base} to {upper - 1}"
            else:
                continue
            return ValueError(f"{path}, line {number}: {what}")
    return ValueError(f"{path}: the node numbers cannot be read")


def _line_of(lines: list[str], separator: str | None, number: int) -> int:
    return next(i for i, line in enumerate(lines, 1) if number in map(int, _tokens(line, separator)))
