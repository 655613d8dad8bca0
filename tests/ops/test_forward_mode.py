"""Tangents: right where an operation has them, and never lost where it has none."""

from __future__ import annotations

import pytest
import torch
from torch.autograd import forward_ad
from torch.func import functional_call, hessian, jacrev, jvp

from ehnn.nn import EHNNMLP, EHNNLinear, EHNNTransformer
from ehnn.ops import segment_sum, use_backend
from ehnn.ops.grouped_matmul import grouped_matmul
from ehnn.testing import random_hypergraph


@pytest.fixture
def h():
    h = random_hypergraph(12, 9, (1, 5), seed=1, d_node=8)
    return h.replace(x=h.x.double())


def test_sums_and_products_of_groups_have_tangents(h):
    dense = torch.zeros(9, 12, dtype=torch.float64)
    dense[h.incidence.rows, h.incidence.index] = 1
    _, tangent = jvp(lambda x: segment_sum(x, h.incidence), (h.x,), (h.x.sin(),))
    torch.testing.assert_close(tangent, dense @ h.x.sin())
    weight, ptr = torch.randn(3, 8, 4, dtype=torch.float64), torch.tensor([0, 5, 5, 12])
    moves = h.x.cos(), weight.cos()
    _, tangent = jvp(lambda x, w: grouped_matmul(x, w, ptr), (h.x, weight), moves)
    expected = grouped_matmul(moves[0], weight, ptr) + grouped_matmul(h.x, moves[1], ptr)
    torch.testing.assert_close(tangent, expected)


@pytest.mark.parametrize("make", [EHNNMLP, EHNNTransformer, EHNNLinear])
def test_forward_over_reverse_is_reverse_over_reverse(make, h):
    layer, overlap = make(8, 4).double(), h.overlap("nodes", "edges")

    def total(x):
        return layer(x, overlap).square().sum()

    with use_backend("reference"):
        want = jacrev(jacrev(total))(h.x)
        torch.testing.assert_close(hessian(total)(h.x), want)
    torch.testing.assert_close(hessian(total)(h.x), want)


@pytest.mark.parametrize("make", [EHNNMLP, EHNNTransformer])
def test_kernels_without_a_tangent_decline_and_none_is_lost(make, h):
    layer, overlap = make(8, 8).double(), h.overlap("nodes", "edges")
    with use_backend("reference"):
        want = jvp(lambda x: layer(x, overlap), (h.x,), (h.x,))
    for found, expected in zip(jvp(lambda x: layer(x, overlap), (h.x,), (h.x,)), want, strict=True):
        torch.testing.assert_close(found, expected)
    with forward_ad.dual_level(), torch.no_grad():
        y = layer(forward_ad.make_dual(h.x, h.x), overlap)
        torch.testing.assert_close(forward_ad.unpack_dual(y).tangent, want[1])


@pytest.mark.parametrize("make", [EHNNMLP, EHNNTransformer])
def test_runs_may_differ_in_one_parameter_alone(make, h):
    options = {"heads": 2} if make is EHNNTransformer else {}
    layer, overlap = make(8, 6, **options).double(), h.overlap("nodes", "edges")
    given = {name: value.detach() for name, value in layer.named_parameters()}
    for name, value in given.items():

        def run(v, name=name):
            return functional_call(layer, given | {name: v}, (h.x, overlap))

        several = torch.stack([value, value + 0.1])
        torch.testing.assert_close(torch.vmap(run)(several), torch.stack([run(v) for v in several]))
