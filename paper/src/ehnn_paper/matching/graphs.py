"""Delaunay graphs of keypoints."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

FLAT = 1e-6
"""Points whose spread across a line is below this share of their spread along it are taken as collinear: a
few times what is rounded off a float32."""


def delaunay(points: Tensor) -> tuple[Tensor, Tensor]:
    """The Delaunay edges ``[2, e]`` and triangles ``[3, t]`` of ``points [n, 2]``, int64 on the CPU.

    Each undirected edge and each triangle is there once, its corners ascending, and columns are sorted.
    Points that have no proper triangulation get a connected graph all the same:

    - no point or one: nothing; two points: their edge;
    - collinear (or all equal) points: the path along the line, without triangles;
    - a point that coincides with another one is joined to it by an edge and lies in no triangle;
    - where Qhull fails on points that are not collinear: the complete graph, without triangles.

    Four points on a circle have two triangulations, and which one is taken depends on their order.

    >>> delaunay(torch.tensor([[0.0, 0.0], [4.0, 0.0], [0.0, 3.0]]))
    (tensor([[0, 0, 1],
            [1, 2, 2]]), tensor([[0],
            [1],
            [2]]))
    """
    if points.dim() != 2 or points.shape[1] != 2:
        raise ValueError(f"points must have shape [n, 2], got {list(points.shape)}")
    if not bool(torch.isfinite(points).all()):
        raise ValueError("points must be finite, got NaN or infinity")
    found = points.detach().cpu().double().numpy()
    if len(found) < 2 or _collinear(found):
        edges, triangles = _path(found), np.zeros((0, 3), np.int64)
    else:
        edges, triangles = _triangulated(found)
    return _columns(edges, len(found)), _columns(triangles, len(found))


def _collinear(points: np.ndarray) -> bool:
    along, across = np.linalg.svd(points - points.mean(0), compute_uv=False).tolist()
    return across <= FLAT * along


def _path(points: np.ndarray) -> np.ndarray:
    """``[n − 1, 2]``: neighbours along the line of collinear points."""
    if len(points) < 2:
        return np.zeros((0, 2), np.int64)
    direction = np.linalg.svd(points - points.mean(0), full_matrices=False)[2][0]
    order = np.argsort(points @ direction, kind="stable")
    return np.stack([order[:-1], order[1:]], 1)


def _triangulated(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    from scipy.spatial import Delaunay, QhullError

    try:
        # Centred and scaled, so that Qhull's absolute tolerances fit.
        found = Delaunay((points - points.mean(0)) / np.abs(points - points.mean(0)).max())
    except QhullError:
        return np.stack(np.triu_indices(len(points), 1), 1), np.zeros((0, 3), np.int64)
    triangles = found.simplices.astype(np.int64)
    sides = triangles[:, [[0, 1], [0, 2], [1, 2]]].reshape(-1, 2)
    # Qhull leaves out a point that coincides with another one, and names the vertex next to it.
    left_out = found.coplanar[:, [0, 2]].astype(np.int64)
    return np.concatenate([sides, left_out]), triangles


def _columns(rows: np.ndarray, num_points: int) -> Tensor:
    """``[k, c]`` tuples as ``[c, k']`` sorted columns without repetitions."""
    rows = np.sort(rows, 1)
    place = num_points ** np.arange(rows.shape[1])[::-1]
    _, first = np.unique(rows @ place, return_index=True)
    return torch.from_numpy(np.ascontiguousarray(rows[first].T))
