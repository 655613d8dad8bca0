"""HAN by samples: the blocks are right, and with every neighbour drawn they give the full batch."""

import pytest
import torch

import ehnn
from ehnn import Hypergraph
from ehnn.nn.baselines import HAN
from ehnn.testing import random_hypergraph


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("layers", [1, 2])
def test_enough_walks_give_the_full_batch(layers: int) -> None:
    """With one metapath, attention over metapaths does not see which nodes are in the sample."""
    h = random_hypergraph(10, 6, (1, 3), seed=0, d_node=3, dtype=torch.float64)
    model = HAN(3, 2, width=8, heads=2, layers=layers).double().eval()
    nodes = torch.tensor([7, 0, 3])
    sample = model.sample(h, nodes, fanout=400, generator=generator())
    torch.testing.assert_close(model(h, sample=sample), model(h)[nodes])


def test_all_nodes_of_a_batch_with_two_metapaths() -> None:
    members = [random_hypergraph(5, 3, (1, 2), seed=s, d_node=3, dtype=torch.float64) for s in range(2)]
    h = ehnn.batch(members)
    model = HAN(3, 2, width=8, heads=2, metapaths=(1, 2)).double().eval()
    sample = model.sample(h, range(h.num_nodes), fanout=500, generator=generator())
    torch.testing.assert_close(model(h, sample=sample), model(h))


def test_blocks() -> None:
    h = random_hypergraph(50, 40, (2, 4), seed=0, d_node=3)
    model = HAN(3, 2, width=8, heads=2, layers=2, metapaths=(1, 2))
    sample = model.sample(h, [4, 9, 9], fanout=3, generator=generator())
    shares = torch.zeros(50, 40)
    shares[tuple(h.index)] = 1
    near = shares @ shares.T + torch.eye(50)
    first, second = sample.blocks
    assert sample.inputs.shape[0] == first.paths[0].num_cols
    assert second.paths[0].num_rows == 3
    assert first.paths[0].num_rows == second.paths[0].num_cols
    sources = sample.inputs
    targets = sources[first.place]
    for block, rows, cols in ((first, targets, sources), (second, sample.nodes, targets)):
        assert torch.equal(cols[block.place], rows)
        for pairs, reach in zip(block.paths, (near, near @ near), strict=True):
            assert int(pairs.lengths.max()) <= 4
            assert (reach[rows[pairs.rows], cols[pairs.index]] > 0).all()
            is_self = rows[pairs.rows] == cols[pairs.index]
            assert torch.equal(
                torch.bincount(pairs.rows[is_self], minlength=len(rows)), torch.ones_like(rows)
            )


def test_samples_repeat_with_their_seed_and_train() -> None:
    h = random_hypergraph(30, 20, (2, 5), seed=0, d_node=3)
    model = HAN(3, 2, width=8, heads=2)
    a, b, c = (model.sample(h, range(10), fanout=2, generator=generator(s)) for s in (0, 0, 1))
    assert torch.equal(a.inputs, b.inputs)
    assert not torch.equal(a.inputs, c.inputs)
    model(h, sample=a).sum().backward()
    assert model.convs[0].paths[0].theta.weight.grad.abs().sum() > 0


@pytest.mark.parametrize("edges", [[], [[]], [[0, 1]]])
def test_isolated_nodes_are_their_own_neighbours(edges: list) -> None:
    h = Hypergraph.from_edges(edges, num_nodes=3, x=torch.ones(3, 3))
    model = HAN(3, 2, width=8, heads=2).eval()
    torch.testing.assert_close(model(h, sample=model.sample(h, [2], fanout=4)), model(h)[2:])
    assert model(h, sample=model.sample(h, [], fanout=4)).shape == (0, 2)


def test_no_clique_expansion_is_needed() -> None:
    h = Hypergraph.from_edges([range(20_000)], x=torch.ones(20_000, 3))
    model = HAN(3, 2, width=8, heads=2)
    assert model(h, sample=model.sample(h, range(100), fanout=5)).shape == (100, 2)


def test_bad_input() -> None:
    h = Hypergraph.from_edges([[0, 1]], x=torch.ones(2, 3))
    with pytest.raises(ValueError, match="metapaths must name"):
        HAN(3, 2, metapaths=())
    with pytest.raises(ValueError, match="a metapath must be a positive integer, got 0"):
        HAN(3, 2, metapaths=(0,))
    with pytest.raises(ValueError, match="fanout must be a positive integer, got 0"):
        HAN(3, 2).sample(h, [0], fanout=0)
    with pytest.raises(ValueError, match="nodes"):
        HAN(3, 2).sample(h, [2], fanout=1)
