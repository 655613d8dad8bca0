"""Options of layers and models reach the part that they are about."""

import math

import pytest
import torch

from ehnn.nn import EHNNMLP, Block, EHNNLinear, EHNNTransformer, OrderEncoding, Readout, Stack
from ehnn.nn.baselines import AllDeepSets, UniGCNII
from ehnn.nn.dropout import Dropout, Rows
from ehnn.ops import use_backend
from ehnn.testing import random_hypergraph


@pytest.fixture
def h():
    return random_hypergraph(12, 9, (1, 5), seed=1, d_node=8, d_edge=8)


def probabilities(layer):
    return {name: m.p for name, m in layer.named_modules() if isinstance(m, Dropout)}


def test_each_dropout_of_a_transformer_has_its_own_probability():
    layer = EHNNTransformer(
        8, 8, dropout=0.1, local_dropout=0.2, global_dropout=0.3, feed_forward_dropout=0.4
    )
    found = probabilities(layer)
    assert {found[f"phi{i}.dropout{k}"] for i in (1, 2, 3) for k in (1, 2)} == {0.1}
    assert (found["local_dropout"], found["global_dropout"], found["feed_forward.dropout"]) == (0.2, 0.3, 0.4)
    assert probabilities(EHNNTransformer(8, 8, dropout=0.1))["feed_forward.dropout"] == 0.1
    assert (
        probabilities(EHNNTransformer(8, 8, dropout=0.1, feed_forward_dropout=0.0))["feed_forward.dropout"]
        == 0
    )


@pytest.mark.parametrize("name", ["dropout", "local_dropout", "global_dropout", "feed_forward_dropout"])
def test_each_dropout_of_a_transformer_drops_in_training_alone(h, name):
    layer, o = EHNNTransformer(8, 8, **{name: 0.5}), h.overlap("nodes", "edges")
    assert not torch.equal(layer(h.x, o), layer(h.x, o))
    layer.eval()
    assert torch.equal(layer(h.x, o), layer(h.x, o))


@pytest.mark.parametrize("backend", ["auto", "reference"])
def test_dropout_of_an_mlp_drops_in_each_phi(h, backend):
    layer, o = EHNNMLP(8, 8), h.overlap("nodes", "edges")
    with use_backend(backend):
        for phi in (layer.phi1, layer.phi2, layer.phi3):
            for drop in (phi.dropout1, phi.dropout2):
                drop.p = 0.5
                assert not torch.equal(layer(h.x, o), layer(h.x, o))
                drop.p = 0.0
        assert torch.equal(layer(h.x, o), layer(h.x, o))


def test_what_a_layer_says_of_its_rows():
    mlp, local = EHNNMLP(8, 8), EHNNMLP(8, 8, global_interaction=False)
    assert mlp.rows_seen() == {mlp.phi1: Rows.SOURCES, mlp.phi2: Rows.GROUPS_AND_MEMBERS}
    assert local.rows_seen() == {local.phi1: Rows.SOURCES, local.phi2: Rows.GROUPS}
    layer = EHNNTransformer(8, 8)
    seen = {layer.phi1: Rows.SOURCES, layer.phi2: Rows.GROUPS_AND_MEMBERS}
    assert layer.rows_seen() == seen | {layer.local_dropout: Rows.GROUPS, layer.global_dropout: Rows.MEMBERS}
    sets = AllDeepSets(8, 8)
    assert sets.rows_seen() == {sets.phi1: Rows.SOURCES}
    assert EHNNLinear(8, 8).rows_seen() == {}


def test_deep_layers_of_unigcnii_stay_near_the_identity():
    model = UniGCNII(8, 2, layers=3, lam=0.5)
    assert [c.beta for c in model.modules() if hasattr(c, "beta")] == [
        math.log(0.5 / l + 1) for l in (1, 2, 3)
    ]


def test_scale_and_aggregation(h):
    o = h.overlap("nodes", "edges")
    layer = EHNNMLP(8, 8, aggregation="sum", scale=0.25)
    mean = EHNNMLP(8, 8, aggregation="mean", scale=1.0)
    mean.load_state_dict(layer.state_dict())
    assert not torch.allclose(layer(h.x, o), mean(h.x, o))
    layer.aggregation, layer.scale = "mean", 1.0
    torch.testing.assert_close(layer(h.x, o), mean(h.x, o))
    layer.scale = 0.5
    assert not torch.allclose(layer(h.x, o), mean(h.x, o))


def test_overlaps_that_cannot_be_have_no_matrix():
    layer = EHNNLinear(2, 3)
    assert layer.weight(2, 3, 2).shape == (2, 3)
    for i in (-1, 3):
        with pytest.raises(ValueError, match="the overlap of orders 2 and 3 must be from 0 to 2"):
            layer.weight(2, 3, i)


def test_encodings_of_orders():
    orders = torch.tensor([0, 1, 7])
    wave = OrderEncoding("sinusoidal", 4)(orders)
    rates = torch.tensor([1.0, 10000**-0.5])
    angle = orders[:, None] * rates
    torch.testing.assert_close(wave[:, 0::2], angle.sin())
    torch.testing.assert_close(wave[:, 1::2], angle.cos())
    assert OrderEncoding("number", 4)(orders).flatten().tolist() == pytest.approx([0, 0.1, 0.7])
    assert OrderEncoding(None, 4)(orders).shape == (3, 0)


def test_activation_and_residual_of_a_stack(h):
    class Minus(EHNNMLP):
        def forward(self, x, overlap):
            return -torch.ones(overlap.num_targets, self.d_out)

    blocks = [{}, {"activation": True}, {"residual": True}]
    made = [Stack(8, 2, Block(Minus, norm=False, **b), width=8, path=("nodes", "nodes")) for b in blocks]
    plain, clipped, kept = made
    for model in made:
        model.classifier = torch.nn.Identity()
    assert torch.equal(plain(h), -torch.ones(12, 8))
    assert torch.equal(clipped(h), torch.zeros(12, 8))
    torch.testing.assert_close(kept(h), kept.embed(h.x) - 1)


def test_readouts_weigh_by_a_softmax(h):
    layer, o = Readout(8, 3, kind="attention", heads=2), h.overlap("nodes", "graph")
    weight = layer.logit(h.x).softmax(0)
    pooled = torch.einsum("sh,shc->hc", weight, h.x.unflatten(1, (2, 4))).reshape(1, 8)
    torch.testing.assert_close(layer(h.x, o), layer.out(pooled))


def test_arguments_of_version_0_1_warn_and_make_the_same_stack(h):
    with pytest.warns(DeprecationWarning, match=r"Block\(layer, dropout=0.5, residual=True\)"):
        old = Stack(8, 2, EHNNMLP, width=8, dropout=0.5, residual=True)
    new = Stack(8, 2, Block(EHNNMLP, dropout=0.5, residual=True), width=8)
    assert repr(old) == repr(new)
    assert old.block == new.block
    assert Stack(8, 2, layer=EHNNMLP).block == Stack(8, 2, EHNNMLP).block
    with pytest.raises(TypeError, match="no argument 'depth'"):
        Stack(8, 2, EHNNMLP, depth=3)
    with pytest.raises(TypeError, match="needs a block"):
        Stack(8, 2)


def test_a_layer_shows_its_widths_and_settings():
    lookup = EHNNLinear(4, 8, weights="lookup", source_orders=[1], target_orders=[2, 3])
    assert "(weights): LookupWeights(source_orders=[1], target_orders=[2, 3])" in repr(lookup)
    readout = Readout(4, 3, kind="attention", heads=2)
    assert repr(readout).startswith("Readout(\n  4, 3, kind='attention', heads=2\n")
    assert "AllDeepSets(\n  4, 8, aggregation='sum'\n" in repr(AllDeepSets(4, 8, aggregation="sum"))
