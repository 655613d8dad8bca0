"""From tables to shards: the steps, in order."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ehnn._utils.atomic import atomic_write
from ehnn._utils.folders import claimed
from ehnn._utils.validation import as_count, short
from ehnn.parallel.files import FORMAT, MANIFEST, read_manifest, shard_name

from . import cutting, incidences, nodes, numbering
from .attributes import KINDS, numbered
from .engine import Engine, engine
from .inputs import Input, pieces
from .nodes import Columns
from .propagation import Layout, Settings, propagate
from .steps import Folder, Item, Steps

METHODS = ("propagation", "contiguous")
_BASE = 600 * 2**20
"""Bytes of a worker that has imported everything and read nothing."""
_ROW = 800
"""Bytes that a worker needs at most for each row of a piece."""
_CELL = 40
"""Bytes more for each feature: as it is read, as float64 twice, and as float32 twice."""


@dataclass(frozen=True)
class Job:
    """The settings of a job that makes shards.

    Args:
        data: the table of incidences: a Parquet, Arrow or CSV file, or a folder of them.
        out: the folder of the shards.
        ranks: number of shards.
        node_column, edge_column: ids of nodes and hyperedges: integers or text. The column of nodes may hold
            lists, with a row for each hyperedge.
        role_column, weight_column: of the same table: role and weight of a node in a hyperedge.
        nodes: the table with a row per node, if there is one, of which ``columns`` are read.
        columns: of the table of nodes.
        method: of the partition: ``propagation``, or ``contiguous``, which cuts the order of the ids.
        imbalance: of the partition.
        memory: bytes that a worker may use.
        workers: processes on this machine; 0: everything in this process.
        cluster: address of a Dask scheduler, in place of ``workers``. Its workers must see the files.
        valid, test: shares of the labels, where no column says which part a node is in.
        seed: of the parts and the partition.

    >>> Job("members.parquet", "shards", ranks=2).method
    'propagation'
    """

    data: str | Path
    out: str | Path
    ranks: int
    node_column: str = "node"
    edge_column: str = "edge"
    role_column: str | None = None
    weight_column: str | None = None
    nodes: str | Path | None = None
    columns: Columns = field(default_factory=lambda: Columns("node"))
    method: str = "propagation"
    imbalance: float = 0.05
    memory: int = 2 * 2**30
    workers: int = field(default_factory=lambda: cores())
    cluster: str | None = None
    valid: float = 0.2
    test: float = 0.2
    seed: int = 0

    def __post_init__(self) -> None:
        as_count(self.ranks, "ranks", 1)
        as_count(self.workers, "workers")
        if self.method not in METHODS:
            raise ValueError(f"method must be one of {METHODS}, got {self.method!r}")
        if self.memory < _BASE + 2**27:
            raise ValueError(
                f"memory must be at least {(_BASE + 2**27) >> 20} MiB, got {self.memory >> 20} MiB"
            )
        if not (self.valid >= 0 and self.test >= 0 and self.valid + self.test < 1):
            raise ValueError(
                f"valid and test must leave a part to train on, got {self.valid} and {self.test}"
            )
        if not 0 <= self.imbalance < 1:
            raise ValueError(f"imbalance must be in [0, 1), got {self.imbalance}")

    @property
    def rows(self) -> int:
        """Rows of a piece, of which a worker holds one at a time."""
        row = _ROW + _CELL * len(self.columns.features)
        return min(max((self.memory - _BASE) // row, 10_000), 4_000_000)

    @property
    def attributes(self) -> dict[str, str]:
        """The columns of roles and weights of incidences, by `attributes.KINDS`."""
        columns = zip(KINDS, (self.role_column, self.weight_column), strict=True)
        return {kind: name for kind, name in columns if name is not None}

    def inputs(self) -> tuple[Input, Input | None]:
        """The two tables."""
        names = (self.node_column, self.edge_column, *self.attributes.values())
        edges = Input.find(self.data, names, ids=2)
        return edges, None if self.nodes is None else Input.find(self.nodes, self.columns.names, ids=1)

    def identity(self) -> dict[str, Any]:
        """What the shards depend on: the rows of a piece, but not the number of workers."""
        edges, table = self.inputs()
        names = (
            "ranks",
            "node_column",
            "edge_column",
            "method",
            "imbalance",
            "valid",
            "test",
            "seed",
            "rows",
        )
        own: dict[str, Any] = {name: getattr(self, name) for name in names} | {
            "columns": asdict(self.columns)
        }
        own |= {"attributes": self.attributes} if self.attributes else {}
        own |= {"data": edges.to_dict(), "nodes": None if table is None else table.to_dict()}
        return json.loads(json.dumps(own))


def make_shards(
    job: Job, *, fresh: bool = False, report: Callable[[str, int, float, int], None] | None = None
) -> dict[str, Any]:
    """Write the shards of tables that need not fit in memory; returns the manifest.

    Interrupted and called again, it goes on: finished tasks are kept in ``work`` inside the folder, with
    checksums. The folder of another ``job`` is refused, unless ``fresh``, which discards it. ``report`` is
    called with the name of each step, its tasks, its seconds and the peak memory of a process in bytes.

    >>> import pandas, ehnn
    >>> pandas.DataFrame({"node": ["a", "b", "b", "c"], "edge": [1, 1, 2, 2]}).to_parquet("members.parquet")
    >>> make_shards(Job("members.parquet", "shards", ranks=1, workers=0))["totals"]
    {'nodes': 3, 'edges': 2, 'incidences': 4}
    >>> ehnn.parallel.load_shard("shards", ehnn.parallel.Ranks()).num_nodes
    3
    """
    identity, out = job.identity(), Path(job.out)
    with claimed(out):
        work = out / "work"
        if fresh:
            _discard(out)
        elif (done := _made_before(out, identity)) is not None:
            shutil.rmtree(work, ignore_errors=True)  # there after a kill behind the last step
            return done
        work.mkdir(exist_ok=True)
        with atomic_write(work / "job.json") as file:
            json.dump(identity, file)
        with engine(job.workers, job.memory, job.cluster) as workers:
            manifest = _Maker(job, workers, report).manifest() | {"source": identity}
        with atomic_write(out / MANIFEST) as file:
            json.dump(manifest, file, indent=1)
        shutil.rmtree(work)
    return manifest


def _made_before(out: Path, identity: dict[str, Any]) -> dict[str, Any] | None:
    """The manifest of the same job; None if it is not finished. Another job is a ValueError."""
    if (out / MANIFEST).exists():
        manifest = read_manifest(out)
        _same(manifest.get("source"), identity, out)
        return manifest
    if (out / "work" / "job.json").exists():
        _same(json.loads((out / "work" / "job.json").read_text()), identity, out)
    return None


def _same(there: Any, identity: dict[str, Any], out: Path) -> None:
    if there == identity:
        return
    there = there if isinstance(there, dict) else {}
    what = next((k for k in identity if there.get(k) != identity[k]), "job")
    raise ValueError(
        f"{out} holds shards of another job ({what} was {short(there.get(what))}): "
        "choose another folder, or discard it with fresh (--fresh)"
    )


def _discard(out: Path) -> None:
    (out / MANIFEST).unlink(missing_ok=True)
    shutil.rmtree(out / "work", ignore_errors=True)
    for path in [*out.glob("shard-*-of-*.safetensors"), *out.glob("names-*-of-*.parquet")]:
        path.unlink()


class _Maker:
    """The steps of a job."""

    def __init__(
        self, job: Job, workers: Engine, report: Callable[[str, int, float, int], None] | None
    ) -> None:
        self.job, self.out = job, Path(job.out).resolve()
        self.steps = Steps(self.out / "work", workers, report)

    def manifest(self) -> dict[str, Any]:
        found, table = self.number()
        layout = self.sort(found)
        part = self.partition(layout)
        return self.cut(layout, part, table)

    def number(self) -> tuple[list[Item], dict[str, Any]]:
        """Number the ids of both tables."""
        job, steps = self.job, self.steps
        edges, table = job.inputs()
        items = [
            i | {"piece": f"{k:05d}", "attributes": job.attributes}
            for k, i in enumerate(pieces(steps, "edges", edges, job.rows))
        ]
        rows: list[Item] = []
        if table is not None:
            found = pieces(steps, "nodes", table, job.rows)
            rows = [i | {"piece": f"{k:05d}", "use": asdict(job.columns)} for k, i in enumerate(found)]
            _same_kind(items[0]["types"][job.node_column], rows[0]["types"][job.columns.id], job)
        ids = steps.run("ids", numbering.save_incidence_ids, items)
        more = steps.run("table-ids", nodes.save_node_ids, rows)
        kept = ("name", "distinct", "samples")
        of_nodes = [pair[0] for pair in ids] + [{k: f[k] for k in kept} for f in more]
        self.node_starts = numbering.number_ids(steps, "node", of_nodes, job.rows)
        self.edge_starts = numbering.number_ids(steps, "edge", [pair[1] for pair in ids], job.rows)
        starts = {"node_starts": self.node_starts}
        classes = sorted({c for f in more for c in f["classes"]})
        about = {"classes": classes, "pieces": [r["piece"] for r in rows]}
        if rows:
            scale = nodes.scale_of(more)
            steps.run("values", nodes.save_values, [r | starts | scale | {"classes": classes} for r in rows])
        both = starts | {"edge_starts": self.edge_starts, "attributes": list(job.attributes)}
        words = [pair[1].get("roles", []) for pair in ids]
        numbers = numbered([word for own in words for word in own])
        self.sides = list(numbers) == ["tail", "head"]
        told = {"numbers": {str(word): number for word, number in numbers.items()}}
        items = [
            {"piece": i["piece"], "words": own} | told | both for i, own in zip(items, words, strict=True)
        ]
        return steps.run("pairs", incidences.save_pairs, items), about | {"roles": numbers}

    def sort(self, found: list[Item]) -> Layout:
        """Sort the incidences by hyperedge and by node; degrees, orders and weights of nodes."""
        steps, rows = self.steps, self.job.rows
        n, m = self.node_starts[-1], self.edge_starts[-1]
        edges = incidences.ranges(np.sum([f["edges"] for f in found], 0).tolist(), m, rows)
        of_nodes = incidences.ranges(np.sum([f["nodes"] for f in found], 0).tolist(), n, rows)
        layout = Layout(
            [(a, b, f"{i:05d}") for i, (a, b) in enumerate(edges)],
            [(a, b, f"{i:05d}") for i, (a, b) in enumerate(of_nodes)],
        )
        names = [f"pairs-{i:05d}.npy" for i in range(len(found))]
        told = {"pairs": names, "attributes": list(self.job.attributes), "sides": self.sides}
        items = [{"range": [a, b], "name": name} | told for a, b, name in layout.edges]
        self.sorted = steps.run("edges", incidences.save_edge_range, items)
        by_node = [f"by-node-{name}.npy" for name in layout.edge_names]
        items = [{"range": [a, b], "name": name, "by_node": by_node} for a, b, name in layout.nodes]
        steps.run("nodes", incidences.save_node_range, items)
        incidences.join(steps, "edge-orders", layout.edge_names)
        steps.run("mass", save_mass, [{"name": name} for name in layout.node_names])
        incidences.join(steps, "node-mass", layout.node_names)
        return layout

    def partition(self, layout: Layout) -> str:
        """Owners of the nodes: the name of a file."""
        job = self.job
        if job.method == "contiguous" or job.ranks == 1:
            return str(self.steps.run("part", _contiguous, [{"ranks": job.ranks}])[0])
        return propagate(self.steps, layout, Settings(job.ranks, job.imbalance, job.seed))

    def cut(self, layout: Layout, part: str, table: dict[str, Any]) -> dict[str, Any]:
        """Write the shards; returns the manifest."""
        job, steps = self.job, self.steps
        of = {"part": part, "ranks": job.ranks, "attributes": list(job.attributes)}
        roles = max(s["roles"] for s in self.sorted)
        edges = [{"range": [a, b], "name": name} | of for a, b, name in layout.edges]
        owned = np.array(steps.run("owners", cutting.own_edges, edges))
        before = np.cumsum(owned, 0) - owned
        handed = steps.run(
            "hand-edges", cutting.hand_edges,
            [e | {"before": b} for e, b in zip(edges, before.tolist(), strict=True)],
        )  # fmt: skip
        use = {
            "pieces": table["pieces"], "features": len(job.columns.features), "split": job.columns.split,
            "valid": job.valid, "test": job.test, "seed": job.seed, "node_starts": self.node_starts,
        }  # fmt: skip
        rows = [{"range": [a, b], "name": name} | of | use for a, b, name in layout.nodes]
        given = steps.run("hand-nodes", cutting.hand_nodes, rows)
        identity = self._identity(part)
        per_range = {
            "edges": [{"name": n, "touched": h["touched"], "incidences": h["incidences"]}
                      for n, h in zip(layout.edge_names, handed, strict=True)],
            "nodes": [{"name": n, "nodes": g["nodes"]}
                      for n, g in zip(layout.node_names, given, strict=True)],
        }  # fmt: skip
        items = [
            {"rank": r, "ranks": job.ranks, "partition": identity, "roles": roles,
             "channels": len(job.columns.features) + 2, "attributes": list(job.attributes),
             "names": str(self.out / names_file(r, job.ranks)),
             "shard": str(self.out / shard_name(r, job.ranks))} | per_range
            for r in range(job.ranks)
        ]  # fmt: skip
        shards = steps.run("shards", cutting.write_shard, items)
        return self._manifest(identity, shards, handed, given, owned, table)

    def _identity(self, part: str) -> str:
        """A fingerprint of incidences and partition: the checksums of their files."""
        digest = hashlib.sha256()
        for path in sorted((self.steps.path / "done").glob("edges-*.json")):
            digest.update(json.dumps(json.loads(path.read_text())["files"], sort_keys=True).encode())
        folder = Folder(self.steps.path)
        folder.wrote(part)
        digest.update(folder.written[part]["sha256"].encode())
        return digest.hexdigest()

    def _manifest(
        self, identity: str, shards: list[Item], handed: list[Item], given: list[Item], owned: np.ndarray,
        table: dict[str, Any],
    ) -> dict[str, Any]:  # fmt: skip
        job = self.job
        per_node = np.sum([g["nodes"] for g in given], 0)
        per_edge, per_pair = owned.sum(0), np.sum([h["incidences"] for h in handed], 0)
        z = int(per_pair.sum())
        report = {
            "ranks": job.ranks, "method": job.method, "nodes": per_node.tolist(), "edges": per_edge.tolist(),
            "incidences": per_pair.tolist(), "imbalance": _imbalance(per_pair),
            "row_imbalance": _imbalance(per_node + per_edge), "cut_edges": sum(h["cut"] for h in handed),
            "ghosts": sum(h["ghosts"] for h in handed),
            "incidences_cut": sum(h["away"] for h in handed) / max(z, 1),
        }  # fmt: skip
        files = [
            {"name": shard_name(r, job.ranks), "bytes": s["bytes"], "sha256": s["sha256"]}
            for r, s in enumerate(shards)
        ]
        seen = sum(g["seen"] for g in given) if table["pieces"] else None
        return {
            "format": FORMAT, "partition": identity, "ranks": job.ranks, "files": files,
            "totals": {"nodes": self.node_starts[-1], "edges": self.edge_starts[-1], "incidences": z},
            "report": report, "classes": table["classes"],
            "features": [*job.columns.features, "1", "log degree"], "roles": table["roles"],
            "repeated": sum(s["repeated"] for s in self.sorted), "nodes_in_table": seen,
            "peak_memory": self.steps.peak,
        }  # fmt: skip


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def as_bytes(text: str) -> int:
    """Bytes of a size such as ``3GB``, ``512MiB`` or ``2e9``."""
    match = re.fullmatch(r"\s*([0-9]+(?:[.][0-9]+)?(?:e[0-9]+)?)\s*([kMGT]?)(i?)B?\s*", text)
    if match is None:
        raise ValueError(f"memory must be a size such as 3GB or 512MiB, got {text!r}")
    return int(float(match[1]) * (1024 if match[3] else 1000) ** " kMGT".index(match[2] or " "))


def names_file(rank: int, ranks: int) -> str:
    """The file with the ids of a rank's nodes, in the order of its shard."""
    return f"names-{rank:05d}-of-{ranks:05d}.parquet"


def save_mass(folder: Folder, item: Item) -> None:
    """Save the cost of each node of a range for its rank; `ehnn.parallel.growing.work` has the reasons."""
    from ehnn.parallel.growing import _NODE, _ROW

    degrees, edges = (
        folder.load(f"node-degrees-{item['name']}.npy"),
        folder.load(f"node-edges-{item['name']}.npy"),
    )
    share = 1 / np.maximum(folder.load("edge-orders.npy")[edges], 1)
    rows = _NODE + np.bincount(
        np.repeat(np.arange(len(degrees)), degrees), weights=share, minlength=len(degrees)
    )
    folder.save(f"node-mass-{item['name']}.npy", np.round(_ROW * rows).astype(np.int64) + degrees)


def _contiguous(folder: Folder, item: Item) -> str:
    """Pieces of the order of the ids, of equal weight."""
    mass = folder.load("node-mass.npy")
    before = np.cumsum(mass, dtype=np.int64) - mass
    folder.save("part.npy", (before * item["ranks"] // max(int(mass.sum()), 1)).astype(np.int32))
    return "part.npy"


def _same_kind(of_edges: str, of_nodes: str, job: Job) -> None:
    if of_edges.removeprefix("list of ") != of_nodes:
        raise ValueError(
            f"column {job.node_column!r} of {job.data} has {of_edges}s, but {job.columns.id!r} of "
            f"{job.nodes} has {of_nodes}s: ids must be of one type"
        )


def _imbalance(load: np.ndarray) -> float:
    return float(load.max() / load.mean()) if load.sum() else 1.0
