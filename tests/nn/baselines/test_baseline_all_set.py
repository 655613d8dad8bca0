"""AllDeepSets with the normalisation of its authors."""

import pytest
import torch
from torch.nn.functional import layer_norm

from ehnn import Hypergraph
from ehnn.nn.baselines import AllDeepSets
from ehnn.testing import random_hypergraph


@pytest.fixture
def h() -> Hypergraph:
    drawn = random_hypergraph(9, 6, (1, 5), seed=0, d_node=4)
    return drawn.replace(x=drawn.x.double())


def mlp(x: torch.Tensor, first: torch.nn.Linear, second: torch.nn.Linear) -> torch.Tensor:
    """Linear maps with LayerNorm before each and ReLU between them."""
    hidden = first(layer_norm(x, x.shape[1:])).relu()
    return second(layer_norm(hidden, hidden.shape[1:]))


@pytest.mark.parametrize("aggregation", ["sum", "mean"])
def test_normed_layer_against_dense_matrices(h: Hypergraph, aggregation: str) -> None:
    layer = AllDeepSets(4, 6, norm=True, aggregation=aggregation).double()
    H = torch.zeros(h.num_edges, h.num_nodes, dtype=torch.float64)
    H[h.index[1], h.index[0]] = 1
    if aggregation == "mean":
        H /= H.sum(1, keepdim=True)
    linears = [m for m in layer.modules() if isinstance(m, torch.nn.Linear)]
    want = mlp(H @ mlp(h.x, *linears[:2]).relu(), *linears[2:])
    torch.testing.assert_close(layer(h.x, h.overlap("nodes", "edges")), want)


def test_sum_and_mean_are_the_same_behind_the_norm(h: Hypergraph) -> None:
    total, mean = (AllDeepSets(4, 64, norm=True, aggregation=a).double() for a in ("sum", "mean"))
    mean.load_state_dict(total.state_dict())
    overlap = h.overlap("nodes", "edges")
    torch.testing.assert_close(total(h.x, overlap), mean(h.x, overlap), atol=1e-2, rtol=0)
    plain = AllDeepSets(4, 64, aggregation="sum").double()
    other = AllDeepSets(4, 64).double()
    other.load_state_dict(plain.state_dict())
    assert (plain(h.x, overlap) - other(h.x, overlap)).abs().max() > 0.1


def test_default_layer_has_no_norm_and_the_parameters_that_it_always_had() -> None:
    """Saved models of k-edge identification load by these names."""
    names = [f"phi{i}.{j}.{kind}" for i in (1, 2) for j in (0, 3) for kind in ("weight", "bias")]
    assert list(AllDeepSets(4, 6).state_dict()) == names


def test_dropout_reaches_what_is_summed(h: Hypergraph) -> None:
    torch.manual_seed(0)
    layer = AllDeepSets(4, 6, norm=True, dropout=0.5)
    x = h.x.float()
    assert torch.equal(layer.eval()(x, h.overlap("nodes", "nodes")), layer(x, h.overlap("nodes", "nodes")))
    assert (layer.train().phi1(x) == 0).float().mean() > (layer.eval().phi1(x) == 0).float().mean()
