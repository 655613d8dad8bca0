"""Small tables on disk, and the same hypergraph in memory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from ehnn.hypergraph import Hypergraph


@dataclass(frozen=True)
class Written:
    """Tables and what they hold, with nodes and hyperedges in the order of their ids."""

    members: Path
    nodes: Path
    h: Hypergraph
    names: list[str]
    labels: np.ndarray
    parts: np.ndarray
    x: np.ndarray


def written(folder: Path, n: int = 300, m: int = 200, *, files: int = 3, seed: int = 0) -> Written:
    """``files`` Parquet files of incidences, some of them repeated, and a table of nodes in another order."""
    rng = np.random.default_rng(seed)
    node, edge = rng.integers(n - 5, size=4 * m), rng.integers(m, size=4 * m)
    edge[:m] = np.arange(m)
    names = np.array([f"file {i:04d}" for i in range(n)])
    folder.mkdir(parents=True, exist_ok=True)
    table = pd.DataFrame({"member": names[node], "club": edge * 7 + 1})
    table = pd.concat([table, table.iloc[:50]])
    members = folder / "members"
    members.mkdir()
    for i, part in enumerate(np.array_split(np.arange(len(table)), files)):
        table.iloc[part].to_parquet(members / f"part-{i}.parquet", row_group_size=100)
    labels, parts, x = rng.integers(3, size=n), rng.integers(3, size=n), rng.normal(5, 2, (n, 2))
    shuffled = rng.permutation(n)
    about = pd.DataFrame(
        {"name": names, "kind": np.array(["a", "b", "c"])[labels], "age": x[:, 0], "size": x[:, 1]}
    )
    about["part"] = np.array(["train", "valid", "test"])[parts]
    about.iloc[shuffled].to_parquet(folder / "nodes.parquet")
    pairs = np.unique(np.stack([edge, node]), axis=1)
    h = Hypergraph.from_incidence(torch.from_numpy(pairs[::-1].copy()), n, m)
    return Written(members, folder / "nodes.parquet", h, names.tolist(), labels, parts, x)


def with_attributes(w: Written, **columns: object) -> Written:
    """The same tables with further columns of incidences: values, or functions of the table."""
    for file in sorted(w.members.iterdir()):
        table = pd.read_parquet(file)
        more = {name: given(table) if callable(given) else given for name, given in columns.items()}
        table.assign(**more).to_parquet(file, row_group_size=100)
    return w
