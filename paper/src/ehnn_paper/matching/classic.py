"""Classic solvers of the quadratic assignment problem, from pygmtools."""

from __future__ import annotations

import torch
from torch import Tensor

from ehnn._utils.optional import require

from .association import Association

SOLVERS = ("rrwm", "ipfp", "sm")


def solve_classic(solver: str, nodes: Tensor, edges: Tensor, association: Association) -> Tensor:
    r"""Scores ``[c]`` of the candidates from a solver without parameters, for `hungarian` to round.

    Maximises :math:`v^\top K v` over matchings v, where K has the affinities of candidates on its diagonal
    and those of 2-edges beside it; 3-edges are not used.

    Args:
        solver: ``"rrwm"`` (Cho, Lee, Lee; ECCV 2010), ``"ipfp"`` (Leordeanu, Hebert, Sukthankar; NeurIPS
            2009) or ``"sm"`` (Leordeanu, Hebert; ICCV 2005).
        nodes, edges: ``[c]``, ``[hyperedges]`` affinities; negative ones count as 0.
        association: whose hyperedges the affinities belong to.

    K of a pair of n and m keypoints is dense, (n m)² numbers, and pairs are solved one after the other.
    """
    if solver not in SOLVERS:
        raise ValueError(f"solver must be one of {SOLVERS}, got {solver!r}")
    solve = getattr(require("pygmtools", "vision", "./paper"), solver)
    candidates = association.candidates
    counts = torch.stack([candidates.counts_a, candidates.counts_b], 1).tolist()
    scores = []
    for matrix, (n, m) in zip(association_matrices(nodes, edges, association), counts, strict=True):
        # pygmtools numbers candidates column by column.
        order = torch.arange(n * m).reshape(n, m).T.flatten()
        by_column = matrix[order][:, order].cpu().double()
        if not n * m:
            continue
        found = solve(by_column, torch.tensor([n]), torch.tensor([m]), n, m, backend="pytorch")
        scores.append(found.reshape(n, m).flatten())
    return torch.cat([nodes.new_zeros(0), *(s.to(nodes) for s in scores)])


def association_matrices(nodes: Tensor, edges: Tensor, association: Association) -> list[Tensor]:
    """K of every image pair, ``[n m, n m]`` symmetric, without negative entries."""
    candidates, incidence = association.candidates, association.structure.incidence
    first, second = incidence.index[: 4 * association.edge_pairs].reshape(-1, 2).T
    values = edges[: 2 * association.edge_pairs].detach().clamp(min=0)
    owner = association.structure.edge_batch[: values.shape[0]]
    sizes = (candidates.counts_a * candidates.counts_b).tolist()
    matrices, start = [], 0
    for pair, size in enumerate(sizes):
        mine = owner == pair
        matrix = torch.diag(nodes[start : start + size].detach().clamp(min=0))
        i, j = first[mine] - start, second[mine] - start
        matrix[i, j] = matrix[j, i] = values[mine]
        matrices.append(matrix)
        start += size
    return matrices
