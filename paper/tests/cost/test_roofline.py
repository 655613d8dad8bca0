"""What the mathematics needs: operations as PyTorch counts them, bytes by hand."""

from __future__ import annotations

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from ehnn.nn import EHNNMLP, EHNNTransformer
from ehnn.nn.baselines import AllDeepSets, HGNNConv
from ehnn.ops import use_backend
from ehnn.testing import random_hypergraph
from ehnn_paper.cost.pair import MODELS
from ehnn_paper.measure import roofline
from ehnn_paper.measure.roofline import Machine, Need, Work, measured_machine, work_of

D = 8


@pytest.fixture(scope="module")
def h():
    return random_hypergraph(20, 12, orders=(2, 5), seed=0)


def counted(layer, rows, *given):
    """Operations of products, forward and in all, as PyTorch counts them."""
    x = torch.randn(rows, D, requires_grad=True)
    with use_backend("reference"), FlopCounterMode(display=False) as forward:
        y = layer(x, *given)
    with use_backend("reference"), FlopCounterMode(display=False) as backward:
        torch.autograd.grad(y.sum(), [x, *layer.parameters()], allow_unused=True)
    return forward.get_total_flops(), backward.get_total_flops()


@pytest.mark.parametrize("ends", [("nodes", "all"), ("edges", "edges")])
def test_operations_are_those_that_pytorch_counts(h, ends):
    o = h.overlap(*ends)
    layers = {
        EHNNMLP(D, D, order_embedding=False): roofline.ehnn_mlp(o, D, D),
        AllDeepSets(D, D): roofline.all_deep_sets(o, D, D),
    }
    for layer, work in layers.items():
        found = counted(layer, o.num_sources, o)
        assert found == (work.forward.operations, work.backward.operations), type(layer)
    work = roofline.hgnn(h, D, D)
    assert counted(HGNNConv(D, D), h.num_nodes, h)[0] == work.forward.operations


def test_the_transformer_needs_no_more_than_the_plain_version(h):
    o = h.overlap("nodes", "edges")
    plain = counted(EHNNTransformer(D, D, order_embedding=False), o.num_sources, o)[0]
    work = roofline.ehnn_transformer(o, D, D, heads=4)
    assert roofline.ehnn_mlp(o, D, D).forward.operations < work.forward.operations < plain


def test_bytes_of_a_network_and_of_a_sum():
    assert roofline.network(10, 2, 3, 4) == Work(Need(4 * 10 * 6, 2 * 10 * 18), Need(4 * 10 * 8, 4 * 10 * 18))
    both = roofline.sums(pairs=7, cols=5, rows=3, d=2)
    assert both.forward == Need(4 * 2 * 8 + 8 * 10, 0)
    assert both.step.bytes == 2 * 4 * 2 * 8 + 8 * (10 + 12)


def test_the_larger_of_two_times_is_the_limit():
    machine = Machine(bandwidth=100.0, rate=1000.0)
    slow_memory, slow_products = Need(50, 100), Need(10, 900)
    assert (machine.milliseconds(slow_memory), machine.limit(slow_memory)) == (500, "memory")
    assert (machine.milliseconds(slow_products), machine.limit(slow_products)) == (900, "products")
    text, metrics = machine.beside(slow_products, 1800)
    assert metrics["times_roofline"] == 2
    assert text.endswith("900 ms (products), x2.0")


def test_every_row_of_the_cost_table_has_its_work(h):
    for name in MODELS:
        step = work_of(name, h).step
        assert step.bytes > 0
        assert step.operations > 0


def test_a_machine_is_measured_once():
    machine = measured_machine("cpu")
    assert machine.bandwidth > 1e8
    assert machine.rate > 1e8
    assert measured_machine("cpu") is machine
