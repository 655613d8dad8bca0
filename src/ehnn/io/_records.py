"""A hypergraph as records: identifiers and attribute dictionaries, as JSON and graph libraries have them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ehnn._utils.validation import short
from ehnn.hypergraph import Hypergraph
from ehnn.hypergraph.build import from_incidence
from ehnn.hypergraph.roles import MAX_ROLES

from ._columns import DTYPES, Key, as_array, attribute, features, labels, plain, stored
from ._names import drop_numbers

VERSION = 1
# Where each tensor is kept: the key of the attribute, and the numbers of dimensions it may have.
_PLACES = {"x": ("x", (2,)), "edge_x": ("x", (2,)), "incidence_x": ("x", (2,)), "y": ("y", (1, 2))}
_DIMS = {k: dims for k, (_, dims) in _PLACES.items()} | {"edge_weight": (1,), "incidence_weight": (1,)}
_MAX_WIDTH = 2**31


@dataclass
class Records:
    """Nodes, hyperedges and incidences as lists; ``source`` begins every error message."""

    source: str
    nodes: Sequence[Hashable]
    edges: Sequence[Hashable]
    node: np.ndarray  # [incidences] place in ``nodes``
    edge: np.ndarray  # [incidences] place in ``edges``
    node_attributes: Sequence[Mapping[str, Any]]
    edge_attributes: Sequence[Mapping[str, Any]]
    edge_weight: Sequence[Any]  # None where missing
    incidence_weight: Sequence[Any]
    about: Any = field(default=None)  # what `describe` gave, if the source kept it
    roles: Sequence[int] | None = None  # [incidences]; those of a directed hypergraph are 0, 1 and 2
    incidence_attributes: Sequence[Mapping[str, Any]] | None = None


def describe(h: Hypergraph) -> dict[str, Any]:
    """What the records alone do not say: dtypes and widths, and whether the identifiers are names."""
    tensors = {}
    for name in _DIMS:
        value = getattr(h, name)
        if value is not None:
            dtype = str(value.dtype).removeprefix("torch.")
            if dtype not in DTYPES:
                raise ValueError(
                    f"{name} has dtype {dtype}, which cannot be written; use one of {list(DTYPES)}"
                )
            tensors[name] = {"dtype": dtype, "shape": list(value.shape)}
    names = {"node_names": h.node_names is not None, "edge_names": h.edge_names is not None}
    roles = {} if h.roles is None else {"num_roles": h.num_roles}
    return {"version": VERSION, **names, **roles, "tensors": tensors}


def node_attributes(h: Hypergraph, values: Callable[[Tensor], list] = plain) -> list[dict[str, Any]]:
    """One dictionary per node: ``x`` (a list of numbers) and ``y``."""
    return _rows({"x": h.x, "y": h.y}, h.num_nodes, values)


def edge_attributes(h: Hypergraph, values: Callable[[Tensor], list] = plain) -> list[dict[str, Any]]:
    """One dictionary per hyperedge: ``x`` (a list of numbers)."""
    return _rows({"x": h.edge_x}, h.num_edges, values)


def _rows(tensors: dict[str, Tensor | None], count: int, values: Callable[[Tensor], list]) -> list[dict]:
    columns = {key: values(tensor) for key, tensor in tensors.items() if tensor is not None}
    if not columns:
        return [{} for _ in range(count)]
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def to_hypergraph(r: Records, x: Key = None, edge_x: Key = None, y: Key = None) -> Hypergraph:
    """The hypergraph of the records.

    Attributes come from the named keys; where None is given, from what ehnn wrote there, if it did.
    """
    try:
        about = _About.read(r.about)
        attributes = {
            "x": _attribute("x", x, about, r.node_attributes, r.nodes),
            "edge_x": _attribute("edge_x", edge_x, about, r.edge_attributes, r.edges),
            "y": _attribute("y", y, about, r.node_attributes, r.nodes),
            "edge_weight": _weight(r.edge_weight, "edge_weight", about),
            "node_names": tuple(r.nodes),
            "edge_names": tuple(r.edges),
        }
        of_pairs = {"incidence_weight": _weight(r.incidence_weight, "incidence_weight", about)}
        of_pairs |= _incidence_rows(r, about)
        h = from_incidence((r.node, r.edge), len(r.nodes), len(r.edges), of_pairs, attributes)
        if h.roles is not None:
            h = h.replace(num_roles=about.num_roles or max(h.num_roles, 2))
    except ValueError as error:
        raise ValueError(f"{r.source}: {error}") from error
    return drop_numbers(h, about.node_names, about.edge_names)


def _incidence_rows(r: Records, about: _About) -> dict[str, Any]:
    """Roles and features of incidences: those of the source, and what ehnn wrote as attributes there."""
    found: dict[str, Any] = {} if r.roles is None else {"roles": list(r.roles)}
    records = r.incidence_attributes
    if records is None:
        return found
    owners = [(r.nodes[v], r.edges[e]) for v, e in zip(r.node.tolist(), r.edge.tolist(), strict=True)]
    if about.num_roles and r.roles is None:
        values = attribute(records, "role", owners, "incidence")
        found["roles"] = stored(values, torch.int64, (len(values),), "role")
    if "incidence_x" in about.tensors:
        values = attribute(records, "x", owners, "incidence")
        found["incidence_x"] = stored(values, *about.tensors["incidence_x"], "incidence_x")
    return found


def incidence_attributes(h: Hypergraph, values: Callable[[Tensor], list] = plain) -> list[dict[str, Any]]:
    """One dictionary per incidence: ``role`` and ``x`` (a list of numbers)."""
    return _rows({"role": h.roles, "x": h.incidence_x}, h.num_incidences, values)


def is_directed(h: Hypergraph) -> bool:
    """Whether roles are written as direction: 0 is tail, 1 head, 2 both."""
    return h.roles is not None and h.num_roles in (2, 3)


def sided(tails: Sequence[bool], heads: Sequence[bool]) -> list[int]:
    """Roles of incidences that are on a side: 0 in the tail, 1 in the head, 2 in both."""
    return [2 if t and h else int(h) for t, h in zip(tails, heads, strict=True)]


def _attribute(
    name: str, key: Key, about: _About, records: Sequence[Mapping[str, Any]], owners: Sequence[Hashable]
) -> Tensor | None:
    what = "hyperedge" if name == "edge_x" else "node"
    if key is None:
        if name not in about.tensors:
            return None
        values = attribute(records, _PLACES[name][0], owners, what)
        return stored(values, *about.tensors[name], name)
    keys = [key] if isinstance(key, str) else list(key)
    if not keys:
        return None
    columns = [attribute(records, k, owners, what) for k in keys]
    return labels(columns, name) if name == "y" else features(columns, name)


def _weight(values: Sequence[Any], name: str, about: _About) -> Tensor | None:
    """Weights, 1 where missing; None if the source says nothing but ones and ehnn did not write them."""
    lost = len(values) > 0 and all(v is None for v in values)
    if name in about.tensors and lost:
        warnings.warn(f"{name}: ehnn wrote weights, and another program has lost them", stacklevel=4)
        return None
    if name in about.tensors:
        return stored([1 if v is None else v for v in values], *about.tensors[name], name)
    if lost or not len(values):
        return None
    array = as_array([1.0 if v is None else v for v in values], name, floating=True)
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite numbers, got NaN or infinity")
    return None if (array == 1).all() else torch.from_numpy(array).to(torch.get_default_dtype())


@dataclass
class _About:
    """`describe`, read back and checked."""

    node_names: bool
    edge_names: bool
    tensors: dict[str, tuple[torch.dtype, tuple[int, ...]]]
    num_roles: int | None = None

    @classmethod
    def read(cls, value: Any) -> _About:
        if value is None:
            return cls(False, False, {})
        if not isinstance(value, Mapping) or value.get("version") != VERSION:
            raise ValueError(f"the ehnn metadata must be of version {VERSION}, got {short(value)}")
        tensors = value.get("tensors", {})
        if not isinstance(tensors, Mapping):
            raise ValueError(f"the ehnn metadata has {short(tensors)} as its tensors")
        layouts = {name: _layout(name, tensor) for name, tensor in tensors.items()}
        roles = value.get("num_roles")
        if roles is not None and (type(roles) is not int or not 1 <= roles <= MAX_ROLES):
            raise ValueError(f"the ehnn metadata has {short(roles)} as its number of roles")
        return cls(value.get("node_names") is True, value.get("edge_names") is True, layouts, roles)


def _layout(name: str, value: Any) -> tuple[torch.dtype, tuple[int, ...]]:
    fault = ValueError(f"the ehnn metadata describes {short(name)} as {short(value)}")
    if name not in _DIMS or not isinstance(value, Mapping):
        raise fault
    dtype, shape = value.get("dtype"), value.get("shape")
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise fault
    if not isinstance(shape, (list, tuple)) or len(shape) not in _DIMS[name]:
        raise fault
    if not all(type(size) is int and 0 <= size < _MAX_WIDTH for size in shape):
        raise fault
    return DTYPES[dtype], tuple(shape)
