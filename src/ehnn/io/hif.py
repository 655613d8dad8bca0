"""The Hypergraph Interchange Format: JSON that XGI, HyperNetX and others read and write."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import torch

from ehnn._utils.atomic import atomic_write
from ehnn._utils.optional import suggest
from ehnn._utils.validation import short
from ehnn.hypergraph import Hypergraph

from ._columns import Key, json_plain
from ._names import factorize, identifiers
from ._records import (
    Records,
    describe,
    edge_attributes,
    incidence_attributes,
    is_directed,
    node_attributes,
    sided,
    to_hypergraph,
)
from ._support import check_role_names, read_text, single

_KEYS = ("network-type", "metadata", "incidences", "nodes", "edges")
_TYPES = ("undirected", "asc", "directed")


def read_hif(
    path: str | os.PathLike[str],
    *,
    x: Key = None,
    edge_x: Key = None,
    y: Key = None,
    ignore_direction: bool = False,
) -> Hypergraph:
    """A hypergraph from the HIF JSON file ``path``.

    ``x``, ``edge_x``, ``y`` and ``ignore_direction`` are those of `from_hif_dict`.

    >>> with open("clubs.json", "w") as file:
    ...     _ = file.write('{"incidences": [{"node": "Ann", "edge": "chess"}]}')
    >>> read_hif("clubs.json").node_names
    ('Ann',)

    Raises:
        ValueError: names the file and the line, or the record, that is wrong.
    """
    text = read_text(path)
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}, line {error.lineno}, column {error.colno}: {error.msg}") from error
    except RecursionError as error:
        raise ValueError(f"{path}: the JSON is nested too deeply") from error
    except ValueError as error:  # a number with thousands of digits
        raise ValueError(f"{path}: {error}") from error
    return _from_hif(data, str(path), x, edge_x, y, ignore_direction)


def from_hif_dict(
    data: Mapping[str, Any],
    *,
    x: Key = None,
    edge_x: Key = None,
    y: Key = None,
    ignore_direction: bool = False,
) -> Hypergraph:
    """A hypergraph from a dictionary in the Hypergraph Interchange Format.

    Nodes are in the order of ``nodes``, then of first appearance in ``incidences``; hyperedges alike.
    Identifiers become names and stay int or str; if they are exactly 0 … n−1 they are plain numbers
    (unless ehnn wrote them as names). ``weight`` of hyperedges and incidences, or of their ``attrs``, is read
    (missing: 1; only ones: none). An incidence that is listed twice counts once; with different weights it is
    a ValueError. Weights of nodes, other attributes and metadata are not kept.

    Args:
        data: the dictionary, as `json.load` gives it.
        x, edge_x, y: key or keys of ``attrs`` that hold numbers (or lists of numbers) to use as node
            features, hyperedge features, node labels (text becomes class numbers, sorted). None: what
            ehnn wrote, if it did.
        ignore_direction: read a directed hypergraph as undirected.

    A directed hypergraph has roles: 0 for ``"direction": "tail"``, 1 for ``"head"``, and 2 for a node with
    both, as in `Hypergraph.from_directed`.

    >>> from_hif_dict({"incidences": [{"node": "Ann", "edge": "chess"}, {"node": "Ben", "edge": "chess"}]})
    Hypergraph(2 nodes, 1 hyperedge, 2 incidences, order 2)
    """
    return _from_hif(data, "HIF", x, edge_x, y, ignore_direction)


def to_hif_dict(h: Hypergraph, *, role_names: Sequence[str] = ()) -> dict[str, Any]:
    """``h`` as a dictionary in the Hypergraph Interchange Format, ready for JSON.

    It carries everything: features and labels as ``attrs`` ``x`` and ``y``, weights as ``weight``, roles as
    ``attrs`` ``role`` (two or three roles also as ``direction``: 0 is the tail, 1 the head, 2 both), and
    in ``metadata`` under ``ehnn`` the dtypes and whether identifiers are names. NaN features become
    null, infinite ones text. Names must be str or int and distinct; weights must be finite; a batch is
    refused.

    Args:
        h: the hypergraph.
        role_names: a name for each role. They are written as ``attrs`` ``role_name`` beside the numbers, and
            the hypergraph is not called directed.

    >>> to_hif_dict(Hypergraph.from_edges([[0, 1]]))["incidences"]
    [{'edge': 0, 'node': 0}, {'edge': 0, 'node': 1}]
    """
    h = single(h, "HIF", carries=("roles", "incidence_x"))
    _check_weights(h)
    nodes = identifiers(h.node_names, h.num_nodes, "node", (str, int))
    edges = identifiers(h.edge_names, h.num_edges, "hyperedge", (str, int))
    records = {
        "nodes": [
            {"node": i} | _attrs(a) for i, a in zip(nodes, node_attributes(h, json_plain), strict=True)
        ],
        "edges": [
            {"edge": i} | _attrs(a) for i, a in zip(edges, edge_attributes(h, json_plain), strict=True)
        ],
        "incidences": [
            {"edge": edges[e], "node": nodes[v]} | _attrs(a)
            for (v, e), a in zip(h.index.T.tolist(), incidence_attributes(h, json_plain), strict=True)
        ],
    }
    for part, weight in (("edges", h.edge_weight), ("incidences", h.incidence_weight)):
        for record, value in zip(records[part], [] if weight is None else weight.tolist(), strict=False):
            record["weight"] = value
    if role_names and h.roles is not None:
        check_role_names(h, role_names)
        for record in records["incidences"]:
            record["attrs"]["role_name"] = role_names[record["attrs"]["role"]]
    directed = is_directed(h) and not role_names
    if directed:
        records["incidences"] = list(chain.from_iterable(map(_with_direction, records["incidences"])))
    kind = "directed" if directed else "undirected"
    return {"network-type": kind, "metadata": {"ehnn": describe(h)}, **records}


def write_hif(h: Hypergraph, path: str | os.PathLike[str], *, role_names: Sequence[str] = ()) -> None:
    """Write ``h`` to ``path`` as HIF JSON, atomically; see `to_hif_dict`, also for ``role_names``.

    >>> write_hif(Hypergraph.from_edges([[0, 1], [1, 2]]), "sets.json")
    >>> read_hif("sets.json").edges()
    [[0, 1], [1, 2]]
    """
    text = json.dumps(to_hif_dict(h, role_names=role_names), allow_nan=False)
    with atomic_write(path) as file:
        file.write(text + "\n")


def _with_direction(record: dict[str, Any]) -> list[dict[str, Any]]:
    """An incidence in the tail, in the head, or once in each."""
    sides = {0: ["tail"], 1: ["head"], 2: ["tail", "head"]}[record["attrs"]["role"]]
    return [record | {"direction": side} for side in sides]


def _directions(incidences: list[Mapping[str, Any]], ends: dict[str, list[Any]], source: str) -> list[int]:
    """The role of each incidence of a directed hypergraph."""
    sides = {"tail": set(), "head": set()}  # type: ignore[var-annotated]
    pairs = list(zip(ends["node"], ends["edge"], strict=True))
    for i, (record, pair) in enumerate(zip(incidences, pairs, strict=True)):
        side = record.get("direction")
        if not isinstance(side, str) or side not in sides:
            raise ValueError(
                f"{source}: incidences[{i}].direction must be 'tail' or 'head' in a directed hypergraph, got "
                f"{short(side)}"
            )
        sides[side].add(pair)
    return sided(*([pair in sides[side] for pair in pairs] for side in ("tail", "head")))


def _attrs(attributes: dict[str, Any]) -> dict[str, Any]:
    return {"attrs": attributes} if attributes else {}


def _check_weights(h: Hypergraph) -> None:
    for name in ("edge_weight", "incidence_weight"):
        weight = getattr(h, name)
        if weight is not None and not bool(torch.isfinite(weight).all()):
            raise ValueError(f"{name} must be finite in HIF, got NaN or infinity")


def _from_hif(data: Any, source: str, x: Key, edge_x: Key, y: Key, ignore_direction: bool) -> Hypergraph:
    if not isinstance(data, Mapping):
        raise ValueError(f"{source}: expected a JSON object with the key 'incidences', got {short(data)}")
    if "incidences" not in data:
        hint = suggest("incidences", data)
        raise ValueError(f"{source}: the key 'incidences' is missing; found {short(list(data))}{hint}")
    kind = data.get("network-type", "undirected")
    if kind not in _TYPES:
        raise ValueError(f"{source}: network-type must be one of {_TYPES}, got {short(kind)}")
    nodes, edges, incidences = (_list(data, key, source) for key in ("nodes", "edges", "incidences"))
    node_ids, node_attrs, _ = _items(nodes, "node", source)
    edge_ids, edge_attrs, edge_weight = _items(edges, "edge", source)
    ends = {key: _ids(incidences, key, "incidences", source) for key in ("node", "edge")}
    node, all_nodes = factorize(ends["node"], node_ids)
    edge, all_edges = factorize(ends["edge"], edge_ids)
    more_edges = len(all_edges) - len(edge_ids)
    directed = kind == "directed" and not ignore_direction
    found = to_hypergraph(
        Records(
            source, all_nodes, all_edges, node, edge,
            [*node_attrs, *({} for _ in range(len(all_nodes) - len(node_ids)))],
            [*edge_attrs, *({} for _ in range(more_edges))],
            [*edge_weight, *(None for _ in range(more_edges))],
            _weights(incidences, "incidences", source),
            _about(data.get("metadata"), source),
            _directions(incidences, ends, source) if directed else None,
            _attributes(incidences, "incidences", source),
        ), x, edge_x, y,
    )  # fmt: skip
    return found.replace(roles=None) if kind == "directed" and ignore_direction else found


def _about(metadata: Any, source: str) -> Any:
    if metadata is None:
        return None
    if not isinstance(metadata, Mapping):
        raise ValueError(f"{source}: metadata must be an object, got {short(metadata)}")
    return metadata.get("ehnn")


def _list(data: Mapping[str, Any], key: str, source: str) -> list[Mapping[str, Any]]:
    records = data.get(key, [])
    if not isinstance(records, list):
        raise ValueError(f"{source}: {key} must be a list, got {short(records)}")
    for i, record in enumerate(records):
        if not isinstance(record, Mapping):
            raise ValueError(f"{source}: {key}[{i}] must be an object, got {short(record)}")
    return records


def _items(records: list[Mapping[str, Any]], key: str, source: str) -> tuple[list, list, list]:
    """Identifiers, attributes and weights of the nodes or hyperedges; each may be listed once."""
    part = f"{key}s"
    ids = _ids(records, key, part, source)
    if len(set(ids)) != len(ids):
        seen: set = set()
        i, twice = next((i, v) for i, v in enumerate(ids) if v in seen or seen.add(v))  # type: ignore[func-returns-value]
        raise ValueError(f"{source}: {part}[{i}] lists {short(twice)} a second time")
    return ids, _attributes(records, part, source), _weights(records, part, source)


def _attributes(records: list[Mapping[str, Any]], part: str, source: str) -> list[Mapping[str, Any]]:
    attrs = [record.get("attrs", record.get("attr")) or {} for record in records]
    for i, value in enumerate(attrs):
        if not isinstance(value, Mapping):
            raise ValueError(f"{source}: {part}[{i}].attrs must be an object, got {short(value)}")
    return attrs


def _ids(records: list[Mapping[str, Any]], key: str, part: str, source: str) -> list[Any]:
    ids = [record.get(key) for record in records]
    kinds = set(map(type, chain(ids)))
    if kinds <= {str, int}:
        return ids
    ids = [v.item() if isinstance(v, np.generic) else v for v in ids]
    for i, value in enumerate(ids):
        if type(value) not in (str, int):
            found = short(list(records[i])) if key not in records[i] else short(value)
            raise ValueError(f"{source}: {part}[{i}] must have {key!r}, a text or an integer; got {found}")
    return ids


def _weights(records: list[Mapping[str, Any]], part: str, source: str) -> list[Any]:
    """``weight`` of each record, or of its ``attrs``, where XGI keeps it."""
    weights = [record.get("weight") for record in records]
    if all(weight is None for weight in weights):
        weights = [(record.get("attrs") or {}).get("weight") for record in records]
    for i, value in enumerate(weights):
        if value is not None and (isinstance(value, (bool, str)) or not np.isscalar(value)):
            raise ValueError(f"{source}: {part}[{i}].weight must be a number, got {short(value)}")
    return weights
