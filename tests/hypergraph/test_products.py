"""Which rows share columns: the lists that a GPU sorts against the sparse product of a CPU."""

import pytest
import torch

from ehnn import Hypergraph
from ehnn.hypergraph import products
from ehnn.testing import random_hypergraph


def dense(pairs):
    a = torch.zeros(pairs.num_rows, pairs.num_cols, dtype=torch.int64)
    a[pairs.rows, pairs.index] = 1
    return a


def sorted_pairs(row, col, count):
    order = (row * 1000 + col).argsort()
    return row[order], col[order], count[order]


@pytest.mark.parametrize("chunk", [1, 7, 100, 2**26])
def test_sorted_lists_are_the_product(monkeypatch, chunk):
    monkeypatch.setattr(products, "CHUNK", chunk)
    h = random_hypergraph(30, 25, (1, 6), seed=3)
    odd = Hypergraph.from_edges([[], [0, 1, 2], list(range(30)), [], [1, 2], [1, 2], []], num_nodes=30)
    for a, b in ((h, h), (odd, h), (h, odd), (odd, odd)):
        a, b = a.incidence, b.incidence
        row, col, count = products._counted(a, b)
        want = dense(a) @ dense(b).T
        assert torch.equal(torch.stack([row, col], 1), want.nonzero())  # sorted by row, then column
        assert torch.equal(count, want[row, col])
        for mine, theirs in zip((row, col, count), sorted_pairs(*products.common_columns(a, b)), strict=True):
            assert torch.equal(mine, theirs)


@pytest.mark.parametrize("edges", [[], [[], []]])
def test_no_pairs(edges):
    a = Hypergraph.from_edges(edges, num_nodes=3).incidence
    assert [v.tolist() for v in products._counted(a, a)] == [[], [], []]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_on_a_gpu_nothing_is_copied_to_the_cpu():
    h = random_hypergraph(200, 150, (1, 9), seed=0)
    on_cpu, on_gpu = h.overlap("edges", "edges"), h.to("cuda").overlap("edges", "edges")
    for mine, theirs in zip(on_gpu.pairs(), on_cpu.pairs(), strict=True):
        assert mine.is_cuda
        assert torch.equal(mine.cpu(), theirs)
