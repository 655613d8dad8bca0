"""A brute-force overlap, and the shapes of hypergraph that the tests run over."""

import torch

import ehnn
from ehnn import Hypergraph
from ehnn.overlap import Overlap
from ehnn.testing import random_hypergraph


def odd_hypergraphs() -> dict[str, Hypergraph]:
    """Ordinary and degenerate hypergraphs by name."""
    single = Hypergraph.from_edges([[0, 1, 2], [1, 2, 3], [], [1, 2, 3], [4], [0, 1, 2, 3, 4]], num_nodes=7)
    return {
        "random": random_hypergraph(9, 7, (1, 5), seed=3),
        "odd": single,
        "zero nodes": Hypergraph.from_edges([[], []], num_nodes=0),
        "nothing": Hypergraph.from_edges([], num_nodes=0),
        "no edges": Hypergraph.from_edges([], num_nodes=4),
        "all empty": Hypergraph.from_edges([[], []], num_nodes=3),
        "full": Hypergraph.from_edges([[0], [0]], num_nodes=1),
        "batch": ehnn.batch(
            [
                random_hypergraph(5, 4, (1, 4), seed=1),
                Hypergraph.from_edges([], num_nodes=2),
                single,
                Hypergraph.from_edges([[]], num_nodes=0),
            ]
        ),
        "no members": ehnn.batch([]),
    }


def family_sets(h: Hypergraph, family: object) -> list[set[int]]:
    """The hyperedges of a family as Python sets."""
    nodes, edges = [{v} for v in range(h.num_nodes)], [set(e) for e in h.edges()]
    if isinstance(family, Hypergraph):
        return [set(e) for e in family.edges()]
    if not isinstance(family, str):
        return [set(e) for e in family]  # type: ignore[attr-defined]
    named = {"nodes": nodes, "edges": edges, "all": nodes + edges}
    return named[family] if family in named else [set() for _ in range(h.num_members)]


def brute_pairs(sources: list[set[int]], targets: list[set[int]]) -> list[tuple[int, int, int]]:
    """(target, 𝓘, source) of every pair that meets, sorted."""
    return sorted((j, len(s & t), i) for j, t in enumerate(targets) for i, s in enumerate(sources) if s & t)


def found_pairs(o: Overlap) -> list[tuple[int, int, int]]:
    target, source, size = o.pairs()
    return list(zip(target.tolist(), size.tolist(), source.tolist(), strict=True))


def dense(pairs: ehnn.hypergraph.SparsePattern) -> torch.Tensor:
    """``[num_rows, num_cols]`` 0/1."""
    out = torch.zeros(pairs.num_rows, pairs.num_cols, dtype=torch.int64)
    out[pairs.rows, pairs.index] = 1
    return out


def assert_valid(pairs: ehnn.hypergraph.SparsePattern) -> None:
    """Both sorted orders describe the same set, and the permutation links them."""
    assert pairs.ptr.shape == (pairs.num_rows + 1,)
    assert pairs.t_ptr.shape == (pairs.num_cols + 1,)
    assert pairs.ptr[0] == pairs.t_ptr[0] == 0
    assert pairs.ptr[-1] == pairs.t_ptr[-1] == len(pairs)
    assert (pairs.ptr.diff() >= 0).all()
    key = pairs.rows * max(pairs.num_cols, 1) + pairs.index
    assert (key.diff() > 0).all()
    cols = torch.repeat_interleave(pairs.t_lengths)
    assert (cols * max(pairs.num_rows, 1) + pairs.t_index).diff().gt(0).all()
    assert torch.equal(pairs.rows[pairs.t_perm], pairs.t_index)
    assert torch.equal(pairs.index[pairs.t_perm], cols)
