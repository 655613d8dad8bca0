"""From a user's files to what an estimator reads: found out in training, kept beside the model."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ehnn.hypergraph import Hypergraph
from ehnn.hypergraph.validate import short
from ehnn.io._names import factorize
from ehnn.io._support import suggest
from ehnn.io.atomic import atomic_write

from .columns import Feature, encode, feature_from, learn_feature, new_texts, with_node_table
from .known import beside, mostly_of
from .layouts import Layout
from .places import Places
from .sheets import Columns, Sheet, read_sheet

TASKS = ("nodes", "sets", "hyperedges")
NAME, VECTORS = "inputs.json", "inputs.safetensors"
VERSION = 1


@dataclass(frozen=True)
class Files:
    """The files of a user, and what was said about them."""

    data: Path
    nodes: Path | None
    layout: Layout
    id_column: str | None

    def read(self, loose: bool = False) -> tuple[Sheet, list[str]]:
        """What is in them, and remarks where they do not fit together."""
        sheet = read_sheet(self.data, self.layout, loose)
        return (sheet, []) if self.nodes is None else with_node_table(sheet, self.nodes, self.id_column)

    def paths(self) -> list[Path]:
        return [self.data] if self.nodes is None else [self.data, self.nodes]

    def digest(self) -> str:
        """A sum over what is in the files."""
        return hashlib.sha256("".join(map(digest_of, self.paths())).encode()).hexdigest()


@dataclass(frozen=True)
class Recipe:
    """How a sheet becomes a hypergraph with features.

    Attributes:
        task: ``"nodes"``, ``"sets"`` (the sets are the nodes of the dual hypergraph) or ``"hyperedges"``.
        label: the column of labels; None for hyperedges.
        layout: of the file of sets, found out.
        id_column: of the table of nodes, None where there was none.
        features: columns that are read as features.
        places: who keeps company with whom.
        digest: SHA-256 of the file of sets.
        known: for ``"sets"`` the hypergraph of training, beside which new sets are judged.
    """

    task: str
    label: str | None
    layout: Layout
    id_column: str | None
    features: tuple[Feature, ...]
    places: Places
    digest: str
    known: Hypergraph | None = None

    def columns(self, sheet: Sheet) -> Columns | None:
        """What is said about the things that are classified."""
        return sheet.edges if self.task == "sets" else sheet.nodes

    def graph(self, sheet: Sheet) -> tuple[Hypergraph, list[str]]:
        """The hypergraph whose nodes are classified, with features, and remarks for the user."""
        h = dual(sheet.h) if self.task == "sets" else sheet.h
        remarks: list[str] = []
        columns = self.columns(sheet)
        parts = [encode(self.features, columns, h.num_nodes)]
        if columns is not None:
            remarks += filter(None, (new_texts(feature, columns) for feature in self.features))
        if self.places.names:
            x, known = self.places.encode(h)
            parts.append(x)
            remarks += self._strangers(sheet.path, h, known)
        x = torch.cat(parts, 1)
        return h.replace(x=x if x.shape[1] else None), remarks

    def _strangers(self, path: Path, h: Hypergraph, known: np.ndarray) -> list[str]:
        """A remark if members of sets (or sets of nodes) were not there in training; an error if none was.

        They are the hyperedges of ``h``, ``known`` by their places. A member of a single set has no place,
        but the hypergraph of training knows its name.
        """
        counted = h.orders.numpy() >= 2
        if self.known is not None:
            codes, _ = factorize(h.edge_names or (), self.known.edge_names or ())
            known, counted = codes < len(self.known.edge_names or ()), h.orders.numpy() >= 1
        unknown, others = int((counted & ~known).sum()), "members" if self.task == "sets" else "sets"
        if unknown and unknown == counted.sum():
            name = str((h.edge_names or ())[int(np.flatnonzero(counted & ~known)[0])])
            raise ValueError(
                f"{path}: not one of its {others} was there in training, {short(name)} for one"
                f"{self._meant(name)}; by them the model knows its way: for new names train with --no-places"
            )
        told = f"{unknown} of the {counted.sum()} {others} of {path} were not there in training"
        return [told] if unknown else []

    def _meant(self, name: str) -> str:
        """A hint where a name is one of training but for its case, or a list of some."""
        known = self._names
        parts = {part.strip() for part in re.split(r"[,;|\t ]", name)}
        if self.task == "sets" and not parts.isdisjoint(known):
            return " (a list? --separator says what is between its members)"
        return suggest(name, known[:10_000])

    @property
    def _names(self) -> tuple[str, ...]:
        """Of the hyperedges that were there in training."""
        return self.places.names if self.known is None else tuple(map(str, self.known.edge_names or ()))

    def unknown_rows(self, graph: Hypergraph) -> np.ndarray:
        """``[num_nodes]`` bool: of which nodes of ``graph`` the model knows nothing, for they have no column
        that it reads, and are in no hyperedge that was there in training."""
        if not self.places.names or self.features:
            return np.zeros(graph.num_nodes, bool)
        known = factorize(graph.edge_names or (), self._names)[0] < len(self._names)
        node, edge = graph.index.numpy()
        return np.bincount(node[known[edge]], minlength=graph.num_nodes) == 0

    def judged(self, graph: Hypergraph, by: Callable[[Hypergraph], np.ndarray]) -> np.ndarray:
        """``[num_nodes, …]``: what ``by`` says of the nodes of ``graph``. A set is judged among those of
        training if it has at least half of its members from there, and else among those of its file."""
        if self.known is None:
            return by(graph)
        among = mostly_of(self.known, graph)
        if not among.any():
            return by(graph)
        parts = [(by(h)[at.numpy()], rows.numpy()) for h, at, rows in beside(self.known, graph, among)]
        if not among.all():
            parts.append((by(graph)[~among], np.flatnonzero(~among)))
        found, rows = (np.concatenate(part) for part in zip(*parts, strict=True))
        return found[np.argsort(rows)]

    def without_places(self, sheet: Sheet) -> Recipe:
        """The same with the columns as the only features."""
        bare = replace(self, places=Places.none())
        return replace(bare, known=None if self.known is None else bare.graph(sheet)[0])

    # ------------------------------------------------------------------ on disk

    def save(self, folder: Path) -> None:
        from safetensors.torch import save

        about = {
            "format": "ehnn-inputs", "version": VERSION, "task": self.task, "label": self.label,
            "layout": asdict(self.layout), "id_column": self.id_column, "digest": self.digest,
            "features": [vars(feature) for feature in self.features], "places": self.places.names,
            "known": None if self.known is None else [self.known.node_names, self.known.edge_names],
        }  # fmt: skip
        tensors = {"places": self.places.vectors.contiguous()}
        if self.known is not None:
            tensors["known"] = self.known.index.contiguous()
            tensors |= {} if self.known.x is None else {"known.x": self.known.x.contiguous()}
        folder.mkdir(parents=True, exist_ok=True)
        with atomic_write(folder / VECTORS, "wb") as file:
            file.write(save(tensors))
        with atomic_write(folder / NAME) as file:
            file.write(json.dumps(about, ensure_ascii=False) + "\n")

    @classmethod
    def load(cls, folder: Path) -> Recipe:
        """What `save` wrote; a ValueError where it is not there or damaged."""
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        if not (folder / NAME).is_file():
            raise ValueError(f"{folder} holds no model of `ehnn train --data`: there is no {NAME}")
        try:
            about = json.loads((folder / NAME).read_text(encoding="utf-8"))
            return cls._from(about, load_file(folder / VECTORS))
        except (OSError, ValueError, KeyError, TypeError, AttributeError, SafetensorError) as error:
            raise ValueError(f"{folder / NAME} is damaged: {type(error).__name__}: {error}") from error

    @classmethod
    def _from(cls, about: dict[str, Any], tensors: dict[str, Tensor]) -> Recipe:
        if about["format"] != "ehnn-inputs" or about["version"] != VERSION or about["task"] not in TASKS:
            raise ValueError("it is of another format or version")
        layout = dict(about["layout"])
        layout["members"] = tuple(layout["members"])
        features = tuple(map(feature_from, about["features"]))
        names, vectors = tuple(about["places"]), tensors["places"]
        if len(names) != len(vectors):
            raise ValueError(f"{len(names)} names for {len(vectors)} vectors")
        return cls(
            about["task"], about["label"], Layout(**layout), about["id_column"], features,
            Places(names, vectors), about["digest"], _known(about.get("known"), tensors),
        )  # fmt: skip


def _known(names: list[list[str]] | None, tensors: dict[str, Tensor]) -> Hypergraph | None:
    if names is None:
        return None
    nodes, edges = map(tuple, names)
    return Hypergraph.from_incidence(
        tensors["known"], len(nodes), len(edges), x=tensors.get("known.x"), node_names=nodes, edge_names=edges
    )


def learn_recipe(
    files: Files, sheet: Sheet, task: str, label: str | None, wanted: Sequence[str] | None, places: bool
) -> tuple[Recipe, list[str]]:
    """How to read these files; ``wanted`` are the feature columns (None: all of a table of nodes)."""
    bare = Recipe(task, label, sheet.layout, sheet.id_column, (), Places.none(), digest_of(files.data))
    features, remarks = _features(bare, sheet, wanted, files)
    h = dual(sheet.h) if task == "sets" else sheet.h
    # The places of nodes in held-out hyperedges would give the answer away.
    learned = Places.learn(h) if places and task != "hyperedges" else Places.none()
    recipe = replace(bare, features=features, places=learned)
    return replace(recipe, known=recipe.graph(sheet)[0] if task == "sets" else None), remarks


def _features(
    recipe: Recipe, sheet: Sheet, wanted: Sequence[str] | None, files: Files
) -> tuple[tuple[Feature, ...], list[str]]:
    columns = recipe.columns(sheet)
    count = sheet.h.num_edges if recipe.task == "sets" else sheet.h.num_nodes
    if columns is None:
        if wanted:
            raise ValueError(
                f"--feature-columns: {files.data} says nothing about {recipe.task}; give --nodes"
            )
        return (), []
    if wanted is None:
        others = (recipe.label, recipe.id_column, sheet.layout.node, sheet.layout.edge)
        names = [c for c in columns.table.columns if c not in others] if files.nodes is not None else []
    else:
        names = list(wanted)
    if recipe.label in names:
        raise ValueError(
            f"--feature-columns: {recipe.label!r} is the label, which would give the answer away"
        )
    found = [learn_feature(columns, name, count) for name in names]
    problems = [f"{columns.table.path}: {why}" for why in found if isinstance(why, str)]
    if problems and wanted is not None:
        raise ValueError(f"--feature-columns: {problems[0]}")
    return tuple(f for f in found if not isinstance(f, str)), [f"{why}: not used" for why in problems]


def digest_of(path: Path) -> str:
    """The SHA-256 sum of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def dual(h: Hypergraph) -> Hypergraph:
    """The hypergraph whose nodes are the hyperedges of ``h``, and whose hyperedges are its nodes."""
    node, edge = h.index
    return Hypergraph.from_incidence(
        torch.stack([edge, node]), h.num_edges, h.num_nodes, node_names=h.edge_names, edge_names=h.node_names
    )
