"""Fitted estimators on disk: a folder with ``model.json`` and one safetensors file. Nothing is pickled."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from ehnn.hypergraph import Hypergraph
from ehnn.hypergraph.pairs import pairs_from_sorted
from ehnn.hypergraph.validate import short
from ehnn.io.atomic import atomic_write

from .labels import plain

NAME = "model.json"
FORMAT, VERSION = "ehnn-estimator", 1
_ROWS = ("x", "edge_x", "edge_weight", "incidence_weight")
_BATCH = ("node_batch", "edge_batch")


def write(path: str | os.PathLike[str], about: dict[str, Any], tensors: dict[str, Tensor]) -> None:
    """Save to the folder ``path``, replacing what an earlier save left there.

    The tensors go to a file named by their sum, then ``model.json``, which names that file, takes the place
    of the old one in one step: a reader sees the old estimator or the new one, whole.
    """
    from safetensors.torch import save

    folder = Path(path)
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file; an estimator is saved to a folder")
    old = _weights_of(folder)
    data = save({k: v.detach().cpu().contiguous() for k, v in tensors.items()})
    digest = hashlib.sha256(data).hexdigest()
    name = f"weights-{digest[:16]}.safetensors"
    whole = {"format": FORMAT, "version": VERSION, **about, "weights": {"file": name, "sha256": digest}}
    try:
        text = json.dumps(whole, indent=1, ensure_ascii=False, allow_nan=False, default=_number)
    except (TypeError, ValueError) as error:
        raise ValueError(f"this estimator cannot be saved as JSON: {error}") from error
    folder.mkdir(parents=True, exist_ok=True)
    with atomic_write(folder / name, "wb") as file:
        file.write(data)
    with atomic_write(folder / NAME) as file:
        file.write(text + "\n")
    if old is not None and old != name:
        (folder / old).unlink(missing_ok=True)


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """What `write` wrote; a file that is missing, damaged or of another kind is a ValueError."""
    from safetensors import SafetensorError
    from safetensors.torch import load

    folder = Path(path)
    if not (folder / NAME).is_file():
        raise ValueError(f"{folder} holds no saved estimator: there is no {NAME}")
    about = _json(folder / NAME)
    name, digest = _weights(about, folder)
    try:
        data = (folder / name).read_bytes()
    except OSError as error:
        raise ValueError(f"{folder / name} cannot be read: {error.strerror}") from error
    if hashlib.sha256(data).hexdigest() != digest:
        raise ValueError(f"{folder / name} is damaged: its contents are not what {NAME} says")
    try:
        return about, load(data)
    except (SafetensorError, ValueError, KeyError) as error:
        raise ValueError(f"{folder / name} is damaged: {error}") from error


def _json(path: Path) -> dict[str, Any]:
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is damaged: {error}") from error
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise ValueError(f"{path} is not a saved estimator: its format is not {FORMAT!r}")
    if about.get("version") != VERSION:
        raise ValueError(f"{path} has version {about.get('version')!r}; this library reads {VERSION}")
    return about


def _weights(about: dict[str, Any], folder: Path) -> tuple[str, str]:
    """Name and sum of the file with the tensors; the name must be a plain one in the same folder."""
    weights = about.get("weights")
    name = weights.get("file") if isinstance(weights, dict) else None
    if not isinstance(weights, dict) or not isinstance(name, str) or Path(name).name != name:
        raise ValueError(f"{folder / NAME} is damaged: it names no file of weights")
    return name, str(weights.get("sha256"))


def _weights_of(folder: Path) -> str | None:
    """The file with the tensors of an earlier save, or None."""
    try:
        return _weights(_json(folder / NAME), folder)[0]
    except (ValueError, OSError):
        return None


def _number(value: Any) -> Any:
    """A number of NumPy among the parameters; anything else is no JSON."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} is not JSON")


# ---------------------------------------------------------------------- a hypergraph


def hypergraph_about(h: Hypergraph) -> dict[str, Any]:
    """What goes to JSON of ``h``; labels and the names of hyperedges, which no model reads, are left out."""
    names = None if h.node_names is None else [_plain_name(name) for name in h.node_names]
    return {"nodes": h.num_nodes, "members": h.num_members, "node_names": names}


def _plain_name(name: Hashable) -> str | int:
    found = plain(name)
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
    """Inverse of `hypergraph_about` and `hypergraph_tensors`."""
    pairs = pairs_from_sorted(tensors["hypergraph.ptr"], tensors["hypergraph.index"], int(about["nodes"]))
    rows: dict[str, Any] = {name: tensors.get(f"hypergraph.{name}") for name in _ROWS + _BATCH}
    members = int(about.get("members", 1))  # not in older files
    return Hypergraph(pairs, **rows, node_names=about["node_names"], num_members=members)
