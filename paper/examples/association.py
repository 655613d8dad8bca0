"""A small association hypergraph, drawn, and matched by solvers that learn nothing.

    python examples/association.py [association.png]

Four keypoints and the same four, turned: a 2-edge of the association hypergraph is likely where the two
Delaunay edges are equally long, and random walks, projected iterations or an eigenvector find the matching.
"""

from __future__ import annotations

import math
import sys

import torch

from ehnn_paper.matching.association import associate
from ehnn_paper.matching.classic import SOLVERS, solve_classic
from ehnn_paper.matching.collate import collate
from ehnn_paper.matching.hungarian import hungarian
from ehnn_paper.matching.keypoints import Keypoints
from ehnn_paper.matching.pairs import Pair
from ehnn_paper.matching.pictures import draw_association

NAMES = ("beak", "eye", "tail", "foot")


def main(path: str = "association.png") -> None:
    points = torch.tensor([[60.0, 60.0], [180.0, 70.0], [100.0, 190.0], [150.0, 130.0]])
    turn = torch.tensor([[math.cos(1.0), -math.sin(1.0)], [math.sin(1.0), math.cos(1.0)]])
    turned = (points - 128) @ turn + 128
    a, b = (Keypoints(name, "bird", p, NAMES) for name, p in (("a", points), ("b", turned)))
    batch = collate([Pair(a, b, torch.arange(len(NAMES)))])
    association = associate(batch, orders=(2, 3))
    candidates = torch.stack([association.candidates.local_a, association.candidates.local_b], 1)
    edges = association.structure.edges()
    lines, triangles = (torch.tensor([e for e in edges if len(e) == order]).T for order in (2, 3))
    draw_association(points, turned, candidates, lines, triangles, path, (batch.a.edges, batch.b.edges))
    print(f"{association.structure}, drawn in {path}")

    (a0, b0), (a1, b1) = candidates[lines[0]].T, candidates[lines[1]].T
    longer = (points[a0] - points[a1]).norm(dim=1) - (turned[b0] - turned[b1]).norm(dim=1)
    affinity = torch.zeros(len(edges))
    affinity[: lines.shape[1]] = torch.exp(-((longer / 20) ** 2))  # 2-edges come first
    for solver in SOLVERS:
        scores = solve_classic(solver, torch.zeros(len(candidates)), affinity, association)
        matched = hungarian(scores, association.candidates).tolist()
        print(f"{solver}: {', '.join(f'{NAMES[i]} → {NAMES[j]}' for i, j in enumerate(matched))}")


if __name__ == "__main__":
    main(*sys.argv[1:])
