"""Figures of matchings: the two images with lines between them, and the association hypergraph."""

from __future__ import annotations

import os
from itertools import cycle, islice
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ehnn_paper.figures import COLOURS, new_figure, save_figure

RIGHT, WRONG, MISSING, UNKNOWN = "#00A651", "#E02020", "#8C8C8C", "#1F77D0"
_GAP = 12  # pixels between the two images
_PathLike = str | os.PathLike[str]


def draw_matches(
    image_a: Tensor,
    image_b: Tensor,
    points_a: Tensor,
    points_b: Tensor,
    predicted: Tensor,
    target: Tensor | None,
    path: _PathLike,
) -> None:
    """Write a PNG of two images side by side with a line per matched keypoint.

    Right matches are green; wrong ones are red and end in a cross; a keypoint that has a partner but was
    matched with none has a grey dashed line to it. Keypoints without any match are rings. Where the truth is
    not known (``target`` None) matches are blue.

    Args:
        image_a, image_b: ``[3, h, w]`` uint8.
        points_a, points_b: ``[n, 2]`` and ``[m, 2]``, x and y in pixels of these images.
        predicted, target: ``[n]``, the row of ``points_b`` for each row of ``points_a``, −1 for none.
    """
    _check_rows("predicted", predicted, points_a, points_b)
    if target is not None:
        _check_rows("target", target, points_a, points_b)
    (_, height_a, width_a), (_, height_b, width_b) = image_a.shape, image_b.shape
    height, width = max(height_a, height_b), width_a + _GAP + width_b
    figure = new_figure(figsize=(10, 10 * height / width + 0.6), dpi=120, layout="constrained")
    axes = figure.subplots()
    shift = torch.tensor([width_a + _GAP, 0])
    for image, left in ((image_a, 0), (image_b, width_a + _GAP)):
        h, w = image.shape[1:]
        axes.imshow(image.permute(1, 2, 0).cpu().numpy(), extent=(left, left + w, h, 0))
    a, b = points_a.detach().cpu(), points_b.detach().cpu() + shift
    _draw_lines(axes, a, b, predicted.cpu(), None if target is None else target.cpu())
    axes.set(xlim=(0, width), ylim=(height, 0), aspect="equal")
    axes.axis("off")
    save_figure(figure, path)


def _draw_lines(axes: Any, a: Tensor, b: Tensor, predicted: Tensor, target: Tensor | None) -> None:
    matched = predicted >= 0
    if target is None:
        kinds = [("match", UNKNOWN, "solid", "o", predicted, matched)]
    else:
        right = matched & (predicted == target)
        kinds = [
            ("missing", MISSING, "dashed", "o", target, ~matched & (target >= 0)),
            ("wrong", WRONG, "solid", "X", predicted, matched & ~right),
            ("right", RIGHT, "solid", "o", predicted, right),
        ]
    rings = torch.cat([a, b]).numpy()
    axes.scatter(
        rings[:, 0], rings[:, 1], s=34, facecolors="none", edgecolors="white", linewidths=1.2, zorder=2
    )
    for name, colour, style, mark, rows, chosen in kinds:
        ends = torch.stack([a[chosen], b[rows[chosen]]], 1).numpy()  # [lines, 2, 2]
        _lines(axes, ends, colour, style, 2.0)
        look = {"color": colour, "edgecolors": "white", "linewidths": 0.6, "zorder": 4}
        axes.scatter(ends[:, 0, 0], ends[:, 0, 1], s=26, **look)
        axes.scatter(ends[:, 1, 0], ends[:, 1, 1], s=26 if mark == "o" else 48, marker=mark, **look)
        axes.plot([], [], color=colour, linestyle=style, marker=mark, label=f"{name}: {len(ends)}")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 0), ncols=len(kinds), frameon=False, reverse=True)


def draw_association(
    points_a: Tensor,
    points_b: Tensor,
    pairs: Tensor,
    edges2: Tensor,
    edges3: Tensor,
    path: _PathLike,
    graphs: tuple[Tensor, Tensor] | None = None,
) -> None:
    """Write a PNG of a small association hypergraph.

    On the left are the keypoints of the two images, on the right a grid with a node for each candidate pair
    (a column per keypoint of the first image, a row per keypoint of the second), 2-edges as lines and 3-edges
    as translucent triangles.

    Args:
        points_a, points_b: ``[n, 2]`` and ``[m, 2]``, y pointing down.
        pairs: ``[nodes, 2]``, the keypoint of each image that a node pairs.
        edges2, edges3: ``[2, lines]`` and ``[3, triangles]``, rows of ``pairs``.
        graphs: edges ``[2, ·]`` of the two images' own graphs, to be drawn on the left.
    """
    for name, edges, order in (("edges2", edges2, 2), ("edges3", edges3, 3)):
        if edges.shape[:1] != (order,) or (edges.numel() and int(edges.max()) >= len(pairs)):
            raise ValueError(
                f"{name} must be [{order}, ·] rows of {len(pairs)} pairs, got {list(edges.shape)}"
            )
    figure = new_figure(figsize=(9, 5.4), dpi=140, layout="constrained")
    grid = figure.add_gridspec(2, 2, width_ratios=(1, 2.2))
    sides = ((points_a, "a", COLOURS[0]), (points_b, "b", COLOURS[1]))
    for i, (points, letter, colour) in enumerate(sides):
        edges = torch.zeros(2, 0, dtype=torch.int64) if graphs is None else graphs[i]
        _draw_points(figure.add_subplot(grid[i, 0]), points.cpu(), edges.cpu(), letter, colour)
    _draw_grid(figure.add_subplot(grid[:, 1]), pairs.cpu(), edges2.cpu(), edges3.cpu())
    save_figure(figure, path)


def _draw_points(axes: Any, points: Tensor, edges: Tensor, letter: str, colour: str) -> None:
    _lines(axes, points[edges.T].numpy(), "#999999", "solid", 1.0)
    axes.scatter(points[:, 0], points[:, 1], s=190, color=colour, zorder=3)
    for i, (x, y) in enumerate(points.tolist(), 1):
        axes.text(x, y, f"{letter}{i}", color="white", fontsize=7, ha="center", va="center", zorder=4)
    axes.set_title(f"keypoints of image {letter}", fontsize=9)
    axes.margins(0.2)
    axes.invert_yaxis()
    axes.set_aspect("equal", adjustable="datalim")
    axes.set(xticks=[], yticks=[])


def _draw_grid(axes: Any, pairs: Tensor, edges2: Tensor, edges3: Tensor) -> None:
    from matplotlib.collections import PolyCollection

    place = pairs.double()
    colours = list(islice(cycle(COLOURS), edges3.shape[1]))
    axes.add_collection(
        PolyCollection(list(place[edges3.T].numpy()), facecolors=colours, alpha=0.18, zorder=1)
    )
    _lines(axes, place[edges2.T].numpy(), "#444444", "solid", 0.8, 0.6)
    axes.scatter(place[:, 0], place[:, 1], s=70, color="white", edgecolors="black", zorder=3)
    columns, rows = (sorted(set(pairs[:, i].tolist())) for i in (0, 1))
    axes.set_xticks(columns, [f"a{i + 1}" for i in columns])
    axes.set_yticks(rows, [f"b{i + 1}" for i in rows])
    axes.invert_yaxis()
    axes.set_aspect("equal")
    axes.margins(0.08)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    axes.set_title(
        f"association hypergraph: {len(pairs)} nodes, {edges2.shape[1]} 2-edges, {edges3.shape[1]} 3-edges",
        fontsize=9,
    )


def _lines(axes: Any, ends: np.ndarray, colour: str, style: str, width: float, alpha: float = 1.0) -> None:
    """``ends``: ``[lines, 2, 2]``."""
    from matplotlib.collections import LineCollection

    lines = LineCollection(
        list(ends), colors=colour, linestyles=style, linewidths=width, alpha=alpha, zorder=2
    )
    axes.add_collection(lines)


def _check_rows(name: str, rows: Tensor, points_a: Tensor, points_b: Tensor) -> None:
    n, m = len(points_a), len(points_b)
    if rows.shape != (n,) or (n and not -1 <= int(rows.min()) <= int(rows.max()) < m):
        raise ValueError(f"{name} must be [{n}] rows from −1 to {m - 1}, got {rows.tolist()}")
