"""Random inputs and slow, literal readings of the paper's equations."""

from __future__ import annotations

from itertools import combinations, permutations, product
from math import comb

import torch
from torch import Tensor

from ehnn import Hypergraph
from ehnn.algebra import UniformHypergraph, to_tensor


def rand(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed + sum(shape))
    return torch.randn(*shape, dtype=torch.float64, generator=generator)


def close(a: Tensor, b: Tensor) -> bool:
    return a.shape == b.shape and torch.allclose(a, b, rtol=1e-11, atol=1e-11)


def tensor(n: int, k: int, d: int, seed: int = 0) -> Tensor:
    return rand(*[n] * k, d, seed=seed)


def axis_mean(A: Tensor) -> Tensor:
    """The mean of A over permutations of its node axes."""
    k = A.dim() - 1
    return torch.stack([A.permute(*p, k) for p in permutations(range(k))]).mean(0)


def uniform(n: int, k: int, d: int, seed: int = 0, keep: float = 0.7) -> UniformHypergraph:
    subsets = torch.tensor(list(combinations(range(n), k)), dtype=torch.int64).reshape(comb(n, k), k)
    chosen = torch.rand(len(subsets), generator=torch.Generator().manual_seed(seed)) < keep
    return UniformHypergraph(n, subsets[chosen], rand(int(chosen.sum()), d, seed=seed))


def uniform_tensors(n: int, K: int, d: int, seed: int = 0) -> dict[int, Tensor]:
    return {k: to_tensor(uniform(n, k, d, seed + k)) for k in range(1, K + 1)}


def sequence_weights(K: int, L: int, d: int, d_out: int) -> dict[tuple[int, int, int], Tensor]:
    keys = [(k, l, i) for k in range(K + 1) for l in range(L + 1) for i in range(1 + min(k, l))]
    return {key: rand(d, d_out, seed=97 * place) for place, key in enumerate(keys)}


def sequence_biases(L: int, d_out: int) -> dict[int, Tensor]:
    return {l: rand(d_out, seed=1000 + l) for l in range(L + 1)}


def random_hypergraph(n: int, top: int, d: int, seed: int = 0, low: int = 1) -> Hypergraph:
    """Distinct hyperedges of orders ``low`` … ``top``, in a random sequence."""
    edges = [e for k in range(low, top + 1) for e in combinations(range(n), k)]
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(edges), generator=generator)[: (len(edges) + 1) // 2].tolist()
    return Hypergraph.from_edges(
        [edges[i] for i in order], num_nodes=n, edge_x=rand(len(order), d, seed=seed)
    )


def slow_equation_1(A: Tensor, weight, bias, l: int, n: int) -> Tensor:
    """Σ_i A_i weight(equalities of (i, j)) + bias(equalities of j), one entry at a time."""

    def table(index):
        return tuple(a == b for a, b in combinations(index, 2))

    k = A.dim() - 1
    out = {}
    for j in product(range(n), repeat=l):
        terms = [A[i] @ weight(table((*i, *j))) for i in product(range(n), repeat=k)]
        out[j] = sum(terms) + bias(table(j))
    return torch.stack(list(out.values())).reshape(*[n] * l, -1)


def slow_equation_5(tensors: dict[int, Tensor], weights, biases, l: int, n: int) -> Tensor:
    """The paper's Eq. 5 at output order l, one entry at a time."""
    rows = []
    for j in product(range(n), repeat=l):
        row = torch.zeros_like(biases[l])
        if len(set(j)) == l:
            row = row + biases[l]
            for k, A in tensors.items():
                for i in product(range(n), repeat=k):
                    row = row + A[i] @ weights[k, l, 0]
                    shared = len(set(i) & set(j))
                    if shared:
                        row = row + A[i] @ weights[k, l, shared]
        rows.append(row)
    return torch.stack(rows).reshape(*[n] * l, -1)
