"""Roles of nodes within hyperedges: checks, and the two sides of directed hyperedges."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any

import torch
from torch import Tensor

from ehnn._utils.validation import as_count, as_index, short

from .pairs import SparsePattern, pairs_from_coo

MAX_ROLES = 32
"""Most roles of a hypergraph: a layer sees R × R numbers of every pair of hyperedges."""


def check_roles(roles: Any, num_roles: int | None, incidences: int) -> dict[str, Any]:
    """``roles`` and ``num_roles`` of a Hypergraph, checked; a count that is not given is inferred."""
    if roles is None:
        if num_roles not in (None, 1):
            raise ValueError(f"num_roles must be 1 for a hypergraph without roles, got {num_roles!r}")
        return {"roles": None, "num_roles": 1}
    bound = MAX_ROLES if num_roles is None else as_count(num_roles, "num_roles", 1)
    if bound > MAX_ROLES:
        raise ValueError(f"num_roles must be at most {MAX_ROLES}, got {bound}")
    roles = as_index(roles, "roles", bound)
    if roles.shape[0] != incidences:
        raise ValueError(f"roles must have one row per incidence ({incidences}), got {roles.shape[0]} rows")
    if num_roles is None:
        num_roles = int(roles.max()) + 1 if incidences else 1
    return {"roles": roles, "num_roles": num_roles}


def nested_roles(roles: Iterable[Iterable[int]], edges: list[tuple[int, ...]]) -> Tensor:
    """``roles`` with the nesting of ``edges`` as one tensor."""
    try:
        lists = list(map(tuple, roles))
    except TypeError as error:
        raise ValueError(f"roles must be nested like edges, got {short(roles)}") from error
    if len(lists) != len(edges):
        raise ValueError(f"roles must be nested like edges: {len(edges)} hyperedges, got {len(lists)} lists")
    for e, (role, edge) in enumerate(zip(lists, edges, strict=True)):
        if len(role) != len(edge):
            raise ValueError(
                f"roles must be nested like edges: hyperedge {e} has {len(edge)} nodes, got {short(role)}"
            )
    return as_index(list(chain.from_iterable(lists)), "roles", MAX_ROLES)


def check_one_role(node: Tensor, edge: Tensor, roles: Tensor, pairs: SparsePattern) -> None:
    """Raise a ValueError if a node has two roles in one hyperedge; ``pairs`` has every (edge, node) once."""
    if len(pairs) == node.shape[0]:
        return
    both, order = pairs_from_coo(
        edge, node * MAX_ROLES + roles, pairs.num_rows, pairs.num_cols * MAX_ROLES, True
    )
    if len(both) == len(pairs):
        return
    assert order is not None
    rows, found = both.rows, torch.div(both.index, MAX_ROLES, rounding_mode="floor")
    at = int(((rows[1:] == rows[:-1]) & (found[1:] == found[:-1])).nonzero()[0])
    first, second = (both.index[at : at + 2] % MAX_ROLES).tolist()
    raise ValueError(
        f"node {int(found[at])} has roles {first} and {second} in hyperedge {int(rows[at])}; a node has one "
        "role in a hyperedge: give the combination a role of its own"
    )


Sides = tuple[list[tuple[int, ...]], list[list[int]], int]


def sides(edges: Iterable[tuple[Iterable[int], Iterable[int]]]) -> Sides:
    """Hyperedges, roles and their number of pairs (tail, head): 0, 1, and 2 for nodes in both."""
    nodes, roles, count = [], [], 2
    for e, given in enumerate(edges):
        tail, head = _two_sides(e, given)
        both = set(tail) & set(head)
        nodes.append((*tail, *head))
        marks = [0] * len(tail) + [1] * len(head)
        if both:
            marks = [2 if v in both else mark for v, mark in zip(nodes[-1], marks, strict=True)]
            count = 3
        roles.append(marks)
    return nodes, roles, count


def _two_sides(e: int, given: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    try:
        tail, head = given
        return tuple(tail), tuple(head)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"directed hyperedge {e} must be (tail, head), two collections of node numbers, got "
            f"{short(given)}; to mix directed and undirected hyperedges, use from_edges(…, roles=…) and give "
            "the nodes of undirected ones a role of their own"
        ) from error


def refuse_roles(roles: Tensor | None, what: str) -> None:
    """Raise a ValueError if there are roles, which ``what`` would ignore silently."""
    if roles is not None:
        raise ValueError(f"{what} does not take roles; use h.replace(roles=None) to ignore them")
