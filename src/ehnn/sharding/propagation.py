"""A partition by label propagation, on the engine: cluster, cut the clusters, move nodes between ranks.

1. *Cluster.* A hyperedge takes the label that most of its nodes have, a node the label with the largest
   weight among its hyperedges (1 / (order − 1) each). Clusters have a largest weight; a round is
   O(incidences).
2. *Cut.* Clusters are the nodes of a small hypergraph, which Mt-KaHyPar or the built-in method cuts in one
   process.
3. *Move.* Nodes go to the rank where the connectivity (λ − 1) falls most, within the allowed imbalance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from . import kernels
from .incidences import join
from .steps import Folder, Item, Steps

MOST_RANKS = 64
"""With more ranks, nodes are not moved after the cut: the table of hyperedges × ranks would be too large."""


@dataclass(frozen=True)
class Settings:
    """Settings of the partition.

    Attributes:
        ranks, imbalance, seed: as in `ehnn.parallel.partition`.
        clusters: smallest number of clusters for each rank.
        rounds: rounds of label propagation.
        passes: passes in which nodes are moved; the best result is kept.
        pins: largest number of (cluster, hyperedge) pairs in the cut, which one process makes; the largest
            hyperedges are left out first.
        solver: of the cut: ``auto``, ``mtkahypar`` or ``growing``.
    """

    ranks: int
    imbalance: float = 0.05
    seed: int = 0
    clusters: int = 1024
    rounds: int = 8
    passes: int = 8
    pins: int = 4_000_000
    solver: str = "auto"


@dataclass(frozen=True)
class Layout:
    """The ranges of a job: ``[begin, end]`` and the name of each."""

    edges: list[tuple[int, int, str]]
    nodes: list[tuple[int, int, str]]

    @property
    def num_nodes(self) -> int:
        return self.nodes[-1][1]

    @property
    def edge_names(self) -> list[str]:
        return [name for _, _, name in self.edges]

    @property
    def node_names(self) -> list[str]:
        return [name for _, _, name in self.nodes]


def propagate(steps: Steps, layout: Layout, settings: Settings) -> str:
    """Owners of all nodes: the name of a file ``[num_nodes]`` int32.

    Reads the sorted incidences, ``node-mass.npy`` and ``edge-orders.npy``.
    """
    masses = steps.run("mass-total", _total, [{"file": "node-mass.npy"}])[0]
    limit = max(masses["total"] / (settings.ranks * settings.clusters), masses["largest"])
    label = _cluster(steps, layout, settings, limit)
    part = _cut(steps, layout, settings, label)
    if settings.ranks > MOST_RANKS:
        return part
    return _move(steps, layout, settings, part, masses["total"])


def _cluster(steps: Steps, layout: Layout, settings: Settings, limit: float) -> str:
    steps.run("label-00", _own_labels, [{"count": layout.num_nodes, "mass": "node-mass.npy"}])
    for r in range(1, settings.rounds + 1):
        old, new = f"{r - 1:02d}", f"{r:02d}"
        more = {"old": old, "new": new, "limit": limit, "salt": settings.seed * 1000 + r}
        steps.run(f"edge-label-{new}", _edge_labels, [_item(e, more) for e in layout.edges])
        join(steps, f"edge-label-{new}", layout.edge_names)
        share = {"share": len(layout.nodes)}
        steps.run(f"label-part-{new}", _node_labels, [_item(n, more | share) for n in layout.nodes])
        join(steps, f"label-{new}", layout.node_names)
        steps.run(f"sizes-{new}", _sizes, [{"label": f"label-{new}.npy", "to": f"sizes-{new}.npy"}])
    return f"{settings.rounds:02d}"


def _cut(steps: Steps, layout: Layout, settings: Settings, label: str) -> str:
    steps.run("compact", _compact, [{"sizes": f"sizes-{label}.npy"}])
    items = [_item(e, {"label": f"label-{label}.npy"}) for e in layout.edges]
    steps.run("contract", _contract, items)
    more = {name: getattr(settings, name) for name in ("ranks", "imbalance", "seed", "pins", "solver")}
    steps.run("solve", _solve, [{"ranges": layout.edge_names, "sizes": f"sizes-{label}.npy"} | more])
    return str(steps.run("part-00", _project, [{"label": f"label-{label}.npy", "to": "part-00.npy"}])[0])


def _move(steps: Steps, layout: Layout, settings: Settings, part: str, total: float) -> str:
    """The best of the passes."""
    found: list[tuple[int, float, str]] = []
    limit = total / settings.ranks * (1 + settings.imbalance)
    for p in range(settings.passes + 1):
        more: Item = {"part": part, "ranks": settings.ranks, "pass": p}
        cuts = steps.run(f"presence-{p:02d}", _presence, [_item(e, more) for e in layout.edges])
        loads = steps.run(f"loads-{p:02d}", _loads, [more])[0]
        found.append((sum(cuts), max(loads), part))
        if p == settings.passes or (p > 2 and found[-1][0] >= 0.999 * found[-3][0]):
            break
        join(steps, f"presence-{p:02d}", layout.edge_names)
        room = [(limit - load) / len(layout.nodes) for load in loads]
        more |= {"room": room, "salt": settings.seed * 1000 + p}
        steps.run(f"move-{p:02d}", _moves, [_item(n, more) for n in layout.nodes])
        part = join(steps, f"part-{p + 1:02d}", layout.node_names)
    allowed = [f for f in found if f[1] <= max(limit, found[0][1])]
    return min(allowed)[2]


def _item(stretch: tuple[int, int, str], more: Item) -> Item:
    return {"range": stretch[:2], "name": stretch[2]} | more


def _total(folder: Folder, item: Item) -> dict[str, float]:
    mass = folder.load(item["file"])
    return {"total": float(mass.sum(dtype=np.float64)), "largest": float(mass.max(initial=0))}


def _own_labels(folder: Folder, item: Item) -> None:
    folder.save("label-00.npy", np.arange(item["count"]))
    folder.save("sizes-00.npy", folder.load(item["mass"]).astype(np.float64))


def _edge_labels(folder: Folder, item: Item) -> None:
    """Each hyperedge takes the label that most of its nodes have."""
    name, label = item["name"], folder.load(f"label-{item['old']}.npy")
    edge = kernels.segment_rows(folder.load(f"edge-orders-{name}.npy"))
    row, choice, total = kernels.runs(edge, label[folder.load(f"edge-nodes-{name}.npy")])
    folder.save(
        f"edge-label-{item['new']}-{name}.npy", choice[kernels.heaviest(row, choice, total, item["salt"])]
    )


def _node_labels(folder: Folder, item: Item) -> int:
    (begin, end), name = item["range"], item["name"]
    edges = folder.load(f"node-edges-{name}.npy")
    node = kernels.segment_rows(folder.load(f"node-degrees-{name}.npy"))
    order = folder.load("edge-orders.npy")[edges]
    votes = folder.load(f"edge-label-{item['new']}.npy")[edges]
    label = folder.load(f"label-{item['old']}.npy")[begin:end]
    changed = kernels.new_labels(
        node, votes, 1 / np.maximum(order - 1, 0.5), label, folder.load(f"sizes-{item['old']}.npy"),
        folder.load("node-mass.npy")[begin:end], np.arange(begin, end), limit=item["limit"],
        share=item["share"], salt=item["salt"],
    )  # fmt: skip
    folder.save(f"label-{item['new']}-{name}.npy", changed)
    return int((changed != label).sum())


def _sizes(folder: Folder, item: Item) -> None:
    label, mass = folder.load(item["label"]), folder.load("node-mass.npy")
    folder.save(item["to"], np.bincount(label, weights=mass, minlength=len(label)))


def _compact(folder: Folder, item: Item) -> int:
    """Numbers 0, 1, … for the labels that are in use."""
    used = folder.load(item["sizes"]) > 0
    folder.save("cluster.npy", (np.cumsum(used) - 1).astype(np.int64))
    return int(used.sum())


def _contract(folder: Folder, item: Item) -> int:
    name = item["name"]
    edge = kernels.segment_rows(folder.load(f"edge-orders-{name}.npy"))
    label = folder.load(item["label"])[folder.load(f"edge-nodes-{name}.npy")]
    for part, array in zip(
        ("orders", "members", "weights"),
        kernels.contracted(edge, folder.load("cluster.npy")[label]),
        strict=True,
    ):
        folder.save(f"coarse-{part}-{name}.npy", array)
    return len(label)


def _solve(folder: Folder, item: Item) -> dict[str, Any]:
    """Cut the clusters, in one process."""
    from .coarse import solve

    orders, members, weights = (
        np.concatenate([folder.load(f"coarse-{part}-{name}.npy") for name in item["ranges"]])
        for part in ("orders", "members", "weights")
    )
    orders, members, weights = kernels.merged(orders, members, weights)
    sizes = folder.load(item["sizes"])
    part, method = solve(
        orders, members, weights, sizes[sizes > 0], item["ranks"], item["imbalance"], item["seed"],
        item["pins"], item["solver"],
    )  # fmt: skip
    folder.save("cluster-part.npy", part)
    return {"clusters": len(part), "edges": len(orders), "pins": len(members), "method": method}


def _project(folder: Folder, item: Item) -> str:
    cluster, part = folder.load("cluster.npy"), folder.load("cluster-part.npy")
    folder.save(item["to"], part[cluster[folder.load(item["label"])]].astype(np.int32))
    return str(item["to"])


def _presence(folder: Folder, item: Item) -> int:
    """Saves which ranks each hyperedge of a range is on; returns Σ (λ − 1)."""
    (begin, end), name, ranks = item["range"], item["name"], item["ranks"]
    edge = kernels.segment_rows(folder.load(f"edge-orders-{name}.npy"))
    part = folder.load(item["part"])[folder.load(f"edge-nodes-{name}.npy")]
    table = kernels.presence(edge, part, end - begin, ranks)
    folder.save(f"presence-{item['pass']:02d}-{name}.npy", table)
    return int(np.maximum((table > 0).sum(1) - 1, 0).sum())


def _loads(folder: Folder, item: Item) -> list[float]:
    part, mass = folder.load(item["part"]), folder.load("node-mass.npy")
    return np.bincount(part, weights=mass, minlength=item["ranks"]).tolist()


def _moves(folder: Folder, item: Item) -> int:
    (begin, end), name, ranks = item["range"], item["name"], item["ranks"]
    part = folder.load(item["part"])[begin:end].astype(np.int64)
    there = folder.load(f"presence-{item['pass']:02d}.npy")[folder.load(f"node-edges-{name}.npy")]
    to, gain = kernels.gains(folder.load(f"node-degrees-{name}.npy"), there, part, ranks)
    active = (kernels.mixed(np.arange(begin, end), item["salt"]) & np.uint64(1)).astype(bool)
    mass = folder.load("node-mass.npy")[begin:end]
    new = kernels.moved(part, to, gain, mass, np.asarray(item["room"]), active)
    folder.save(f"part-{item['pass'] + 1:02d}-{name}.npy", new.astype(np.int32))
    return int((new != part).sum())
