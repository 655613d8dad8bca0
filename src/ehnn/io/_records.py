"""A hypergraph as records: identifiers and attribute dictionaries, as JSON and graph libraries have them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ehnn.hypergraph import Hypergraph
from ehnn.hypergraph.validate import short

from ._columns import DTYPES, Key, as_array, attribute, features, labels, plain, stored
from ._names import drop_numbers

VERSION = 1
# Where each tensor is kept: the key of the attribute, and the numbers of dimensions it may have.
_PLACES = {"x": ("x", (2,)), "edge_x": ("x", (2,)), "y": ("y", (1, 2))}
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
    return {"version": VERSION, **names, "tensors": tensors}


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
            "incidence_weight": _weight(r.incidence_weight, "incidence_weight", about),
        }
        h = Hypergraph.from_incidence(
            (r.node, r.edge), len(r.nodes), len(r.edges), **attributes,
            node_names=tuple(r.nodes), edge_names=tuple(r.edges),
        )  # fmt: skip
    except ValueError as error:
        raise ValueError(f"{r.source}: {error}") from error
    return drop_numbers(h, about.node_names, about.edge_names)


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
    if name in about.tensors:
        return stored([1 if v is None else v for v in values], *about.tensors[name], name)
    if all(v is None for v in values):
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
        return cls(value.get("node_names") is True, value.get("edge_names") is True, layouts)


def _layout(name: str, value: Any) -> tuple[torch.dtype, tuple[int, ...]]:
    fault = ValueError(f"the ehnn metadata describes {name!r} as {short(value)}")
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
