"""The drawing of a small hypergraph."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ehnn.hypergraph import Hypergraph

from .frame import drawing, figure, switch, view
from .layout import MAX_EDGES, MAX_NODES, Drawing, hull
from .layout import drawing as layout
from .markup import Markup, shorten, tag
from .parts import Small
from .theme import SERIES

_EDGE, _SIDE = 30, 400


def drawn(small: Small) -> bool:
    """Whether there is something to draw, and not too much of it."""
    return 0 < small.num_nodes <= MAX_NODES and len(small.edges) <= MAX_EDGES


def network_figure(small: Small, classes: Sequence[str], group: str) -> Markup:
    """Nodes as points in the colour of their class, hyperedges as hulls or as stars."""
    found = layout(Hypergraph.from_edges(small.edges, small.num_nodes))
    nodes, hubs = (_EDGE + _SIDE * places for places in (found.nodes, found.hubs))
    high = float(max(np.concatenate([nodes, hubs])[:, 1])) + _EDGE
    low = float(min(np.concatenate([nodes, hubs])[:, 1])) - _EDGE
    nodes, hubs = nodes - [0, low], hubs - [0, low]
    known = classes or _classes(small)
    points = tag("g", *(_node(small, i, nodes[i], known) for i in range(small.num_nodes)))
    said = f"Hypergraph with {small.num_nodes} nodes and {len(small.edges)} hyperedges"
    shapes = {"hulls": _hulls(found, nodes), "stars": _stars(found, nodes, hubs)}
    kind = "network" if not known else "network plainly"  # colours are the classes' then
    layers = [view(name, *shape, first=name == "hulls", kind="g") for name, shape in shapes.items()]
    chart = drawing(*layers, points, label=said, height=round(high - low), class_=kind)
    note = "Point at a node or a hyperedge to read its name."
    if small.predicted is not None and known:
        note = f"A ring marks a wrong prediction, also of nodes that were trained on. {note}"
    choice = switch("Hyperedges as", group, ("hulls", "stars"))
    return figure("Hypergraph", chart, _legend(known, small), note=note, switch=choice, wide=True)


def _classes(small: Small) -> list[str]:
    """The labels, unless there are so many that they must be numbers."""
    found = sorted({label for label in small.labels or [] if label is not None})
    return found if len(found) <= min(SERIES, small.num_nodes // 2) else []


def _hulls(found: Drawing, nodes: np.ndarray) -> list[Markup]:
    """Largest first, so that small ones can be pointed at; a thick round stroke pads each hull."""
    order = sorted(range(len(found.edges)), key=lambda e: -len(found.edges[e]))
    return [_hull(e, found.edges[e], nodes) for e in order if found.edges[e]]


def _hull(number: int, edge: list[int], nodes: np.ndarray) -> Markup:
    corners = hull(nodes[edge])
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in corners) + ("Z" if len(corners) > 2 else "h.01")
    return tag("path", _edge_title(number, edge), d=path, class_=f"hull s{number % SERIES}")


def _edge_title(number: int, edge: list[int]) -> Markup:
    return tag("title", f"hyperedge {number}: {len(edge)} node{'s' * (len(edge) != 1)}")


def _stars(found: Drawing, nodes: np.ndarray, hubs: np.ndarray) -> list[Markup]:
    return [_star(e, edge, nodes[edge], hubs[e]) for e, edge in enumerate(found.edges) if edge]


def _star(number: int, edge: list[int], ends: np.ndarray, hub: np.ndarray) -> Markup:
    x, y = hub
    rays = "".join(f"M{x:.1f} {y:.1f}L{a:.1f} {b:.1f}" for a, b in ends)
    square = tag("rect", x=f"{x - 4:.1f}", y=f"{y - 4:.1f}", width=8, height=8, class_="hub")
    return tag(
        "g",
        _edge_title(number, edge),
        tag("path", d=rays, class_="ray"),
        square,
        class_=f"s{number % SERIES}",
    )


def _node(small: Small, i: int, place: np.ndarray, classes: Sequence[str]) -> Markup:
    name = small.names[i] if small.names is not None else f"node {i}"
    label = small.labels[i] if small.labels is not None else None
    guess = small.predicted[i] if small.predicted is not None else None
    words = [name] + [
        f"{kind} {what}" for kind, what in (("true", label), ("predicted", guess)) if what is not None
    ]
    wrong = bool(classes) and label is not None and guess is not None and label != guess
    style = f"s{classes.index(label) % SERIES}" if label in classes else "unknown"
    x, y = (f"{v:.1f}" for v in place)
    ring = tag("circle", cx=x, cy=y, r=10, class_="ring") if wrong else None
    return tag(
        "g", tag("title", ", ".join(words)), ring, tag("circle", cx=x, cy=y, r=6, class_="node"),
        class_=style, data_node=i,
    )  # fmt: skip


def _legend(classes: Sequence[str], small: Small) -> Markup | None:
    if small.labels is None or not classes:
        return None
    entries = [
        tag("li", _dot(), shorten(name, 24), class_=f"s{i % SERIES}")
        for i, name in enumerate(classes[: 2 * SERIES])
    ]
    return tag("ul", *entries, class_="legend")


def _dot() -> Markup:
    return tag(
        "svg", tag("circle", cx=6, cy=6, r=5, class_="node"), viewBox="0 0 12 12", width=12, height=12,
        aria_hidden="true",
    )  # fmt: skip
