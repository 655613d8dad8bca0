"""A picture of the overlaps of a small hypergraph: the figure of docs/theory.md.

On the left nine nodes and four hyperedges; on the right the size 𝓘 = |i ∩ j| of the overlap of every
source i with every target j, nodes and hyperedges alike (a node is a hyperedge of order 1).

Run it with ``python examples/overlaps.py [file.png]`` where ehnn and matplotlib are installed.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

import ehnn

EDGES = {"a": [0, 1, 2, 3], "b": [2, 3, 4], "c": [4, 5], "d": [6, 7, 8]}
PLACES = [
    *[(0.2, 2.3), (0.0, 1.0), (1.3, 2.1), (1.2, 0.8), (2.5, 1.4)],
    *[(3.5, 2.2), (2.3, 0.05), (3.3, 0.7), (3.7, -0.2)],
]
COLOURS = {"a": "#0072b2", "b": "#d55e00", "c": "#009e73", "d": "#9a5b9a"}
RADII = {"a": 0.42, "b": 0.33, "c": 0.25, "d": 0.33}
CELLS = ("#ffffff", "#dbe9f6", "#9dc6e4", "#4d93c7", "#14539a")
SIZE = len(PLACES) + len(EDGES)


def hypergraph() -> ehnn.Hypergraph:
    """Nine nodes in the four hyperedges of `EDGES`."""
    return ehnn.Hypergraph.from_edges(EDGES.values(), num_nodes=len(PLACES), edge_names=tuple(EDGES))


def sizes(h: ehnn.Hypergraph, source: str = "all", target: str = "all") -> Tensor:
    """``[num_sources, num_targets]`` the matrix of overlap sizes 𝓘; small hypergraphs only."""
    overlap = h.overlap(source, target)
    to, start, size = overlap.pairs()
    dense = torch.zeros(overlap.num_sources, overlap.num_targets, dtype=torch.int64)
    dense[start, to] = size
    return dense


def outline(centres: list[tuple[float, float]], radius: float) -> Tensor:
    """``[corners, 2]`` the convex hull of discs of one radius, which is a rounded polygon."""
    from scipy.spatial import ConvexHull

    turn = torch.linspace(0, 2 * torch.pi, 60)
    disc = radius * torch.stack([turn.cos(), turn.sin()], 1)
    points = (torch.tensor(centres).unsqueeze(1) + disc).reshape(-1, 2)
    return points[torch.from_numpy(ConvexHull(points.numpy()).vertices).long()]


def draw_hypergraph(axes: Any) -> None:
    """Hyperedges as rounded hulls, nodes as numbered dots."""
    for name, nodes in EDGES.items():
        colour, border = COLOURS[name], outline([PLACES[v] for v in nodes], RADII[name])
        axes.fill(*border.T, facecolor=colour, alpha=0.16, linewidth=0)
        axes.fill(*border.T, facecolor="none", edgecolor=colour, linewidth=1.8)
    for name, x, y in (("a", 0.15, 2.86), ("b", 1.92, 2.27), ("c", 2.95, 2.62), ("d", 3.78, 0.75)):
        axes.text(x, y, f"${name}$, order {len(EDGES[name])}", color=COLOURS[name], fontsize=12)
    axes.scatter(*zip(*PLACES, strict=True), s=250, color="#222222", zorder=3)
    for v, (x, y) in enumerate(PLACES):
        axes.text(x, y, str(v), color="white", ha="center", va="center_baseline", fontsize=10, zorder=4)
    axes.set(xlim=(-0.6, 4.7), ylim=(-0.7, 3.1), aspect="equal")
    axes.set_title("nodes 0 … 8, hyperedges $a, b, c, d$", pad=22)
    axes.axis("off")


def draw_sizes(axes: Any) -> None:
    """The matrix 𝓘 of V∪E → V∪E, its four blocks divided by lines."""
    from matplotlib.colors import ListedColormap

    table, split = sizes(hypergraph()), len(PLACES) - 0.5
    axes.imshow(table, cmap=ListedColormap(CELLS), vmin=-0.5, vmax=4.5)
    for i, j in table.nonzero().tolist():
        size = int(table[i, j])
        ink = "white" if size > 2 else "#222222"
        axes.text(j, i, str(size), ha="center", va="center_baseline", fontsize=9, color=ink)
    names = [*map(str, range(len(PLACES))), *(f"${e}$" for e in EDGES)]
    axes.set_xticks(range(SIZE), names)
    axes.set_yticks(range(SIZE), names)
    for ticks in (axes.get_xticklabels(), axes.get_yticklabels()):
        for tick, name in zip(ticks[len(PLACES) :], EDGES, strict=True):
            tick.set_color(COLOURS[name])
    axes.set_xticks([i - 0.5 for i in range(1, SIZE)], minor=True)
    axes.set_yticks([i - 0.5 for i in range(1, SIZE)], minor=True)
    axes.grid(which="minor", color="#d8d8d8", linewidth=0.6)
    axes.tick_params(which="both", length=0)
    axes.axhline(split, color="#222222", linewidth=1.4)
    axes.axvline(split, color="#222222", linewidth=1.4)
    nodes, edges = (len(PLACES) - 1) / 2, len(PLACES) + (len(EDGES) - 1) / 2
    for label, place in (("$V$", nodes), ("$E$", edges)):
        axes.text(place, -0.75, label, ha="center", va="bottom", fontsize=11)
        axes.text(SIZE - 0.3, place, label, ha="left", va="center", fontsize=11)
    axes.set(xlabel="target $j$", ylabel="source $i$")
    axes.set_title(r"overlap size $\mathcal{I} = |i \cap j|$ (blank: 0)", pad=22)


def main(path: str | Path = Path(__file__).parents[1] / "docs" / "img" / "overlaps.png") -> None:
    """Draw both halves into one PNG."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(
        1, 2, figsize=(11, 4.9), width_ratios=(1.25, 1), layout="constrained"
    )
    draw_hypergraph(left)
    draw_sizes(right)
    figure.savefig(path, format="png", dpi=130, facecolor="white")
    plt.close(figure)


if __name__ == "__main__":
    main(*sys.argv[1:2])
