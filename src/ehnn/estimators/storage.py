"""Fitted estimators on disk: a folder with ``model.json`` and one safetensors file. Nothing is pickled."""

from __future__ import annotations

import json
import os
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ehnn._utils.schema import positive
from ehnn._utils.sealed import read_document, write_document
from ehnn._utils.validation import as_count, as_index, short
from ehnn.hypergraph import Hypergraph
from ehnn.hypergraph.pairs import checked_pairs

from .labels import plain

NAME = "model.json"
FORMAT, VERSION = "ehnn-estimator", 2
MOST = 100_000
"""No size among the parameters of a network is beyond this."""


def _size(value: Any) -> bool:
    """text, true, false, null, a number of at most 100,000 or a list of them"""
    if isinstance(value, list):
        return not any(isinstance(v, list) for v in value) and all(map(_size, value))
    number = isinstance(value, int | float) and abs(value) <= MOST
    return value is None or isinstance(value, str | bool) or number


_NAMES = (None, [(str, int)])
ABOUT = {
    "class": str, "params": {
        "width?": _size, "options?": (None, {...: _size}), "batch_size?": positive, ...: object,
    },
    "fitted": {
        "hypergraph?": (None, {"node_names?": _NAMES, ...: object}), "node_names?": _NAMES, ...: object,
    },
    "history": (None, [dict]), "best_epoch": (None, int), ...: object,
}  # fmt: skip
"""What ``model.json`` holds, beside its format and version."""
_ROWS = ("x", "edge_x", "edge_weight", "incidence_weight", "incidence_x", "roles")
_BATCH = ("node_batch", "edge_batch")


def write(path: str | os.PathLike[str], about: dict[str, Any], tensors: dict[str, Tensor]) -> None:
    """Save to the folder ``path``, replacing what an earlier save left there (see `write_document`)."""
    folder = Path(path)
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file; an estimator is saved to a folder")
    whole = {"format": FORMAT, "version": VERSION, **about}
    try:
        json.dumps(whole, allow_nan=False, default=_plain)
    except (TypeError, ValueError) as error:
        raise ValueError(f"this estimator cannot be saved as JSON: {error}") from error
    folder.mkdir(parents=True, exist_ok=True)
    write_document(folder / NAME, whole, tensors, "weights", default=_plain)


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """What `write` wrote; a file that is missing, damaged or of another kind is a ValueError."""
    folder = Path(path)
    if not (folder / NAME).is_file():
        raise ValueError(f"{folder} holds no saved estimator: there is no {NAME}")

    def check(about: dict[str, Any]) -> bool:
        if about.get("format") != FORMAT:
            raise ValueError(f"{folder / NAME} is not a saved estimator: its format is not {FORMAT!r}")
        version = about.get("version")
        if version not in (1, VERSION):
            raise ValueError(f"{folder / NAME} has version {short(version)}; this library reads {VERSION}")
        return version == VERSION

    return read_document(folder / NAME, check)


def _plain(value: Any) -> Any:
    """A number of NumPy or a device among the parameters; anything else is no JSON."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, torch.device):
        return str(value)
    raise TypeError(f"{type(value).__name__} is not JSON")


def check_shapes(weights: Mapping[str, Tensor], wanted: Mapping[str, Tensor]) -> None:
    """A ValueError if ``weights`` do not have the names and shapes of ``wanted``."""
    odd = sorted(weights.keys() ^ wanted.keys())
    if odd:
        raise ValueError(f"the weight {short(odd[0])} is {'missing' if odd[0] in wanted else 'unknown'}")
    for name, value in wanted.items():
        there, right = list(weights[name].shape), list(value.shape)
        if there != right or weights[name].dtype.is_floating_point != value.dtype.is_floating_point:
            raise ValueError(f"the weight {name} must have shape {right}, got {there}")


# ---------------------------------------------------------------------- a hypergraph


def hypergraph_about(h: Hypergraph) -> dict[str, Any]:
    """What goes to JSON of ``h``; labels and the names of hyperedges, which no model reads, are left out."""
    names = None if h.node_names is None else [plain_name(name) for name in h.node_names]
    return {"nodes": h.num_nodes, "members": h.num_members, "roles": h.num_roles, "node_names": names}


def plain_name(name: Hashable) -> str | int:
    """A name as JSON holds it; a whole number such as 3.0 is the integer, which is the same name."""
    found = plain(name)
    if isinstance(found, float) and found.is_integer():
        return int(found)
    if isinstance(found, bool) or not isinstance(found, (str, int)):
        raise ValueError(f"node names must be text or integers to be saved, got {short(name)}")
    return found


def hypergraph_tensors(h: Hypergraph) -> dict[str, Tensor]:
    """What goes to the tensors of ``h``, beside `hypergraph_about`."""
    kept = _ROWS if h.num_members == 1 else _ROWS + _BATCH
    given = {"ptr": h.incidence.ptr, "index": h.incidence.index} | {name: getattr(h, name) for name in kept}
    # Copies: safetensors refuses tensors that share memory.
    return {f"hypergraph.{k}": v.clone() for k, v in given.items() if v is not None}


def hypergraph_from(about: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> Hypergraph:
    """Inverse of `hypergraph_about` and `hypergraph_tensors`, checked: a ValueError says what is wrong."""
    rows: dict[str, Any] = {name: tensors.get(f"hypergraph.{name}") for name in _ROWS}
    members = as_count(about.get("members", 1), "members")
    for name in _BATCH:
        given = tensors.get(f"hypergraph.{name}")
        rows[name] = None if given is None else as_index(given, name, members)
    nodes, names = as_count(about.get("nodes"), "nodes"), about.get("node_names")
    for name, given in (("x", rows["x"]), ("node_names", names), ("node_batch", rows["node_batch"])):
        if given is not None and len(given) != nodes:  # before memory is taken for so many nodes
            raise ValueError(f"{name} must have one row per node ({nodes}), got {len(given)}")
    try:
        ptr, index = tensors["hypergraph.ptr"], tensors["hypergraph.index"]
    except KeyError as error:
        raise ValueError(f"the tensor {error.args[0]} is missing") from error
    pairs = checked_pairs(ptr, index, nodes)
    rows["num_roles"] = as_count(about.get("roles", 1), "roles", 1)
    return Hypergraph(pairs, **rows, node_names=names, num_members=members)
