"""Any order, a fixed number of parameters, and errors that name what is wrong."""

from functools import partial

import pytest
import torch

from ehnn import Hypergraph
from ehnn.nn import EHNNMLP, Block, EHNNLinear, EHNNTransformer, OrderEncoding, Readout, Stack, pairs_path
from ehnn.nn.baselines import AllDeepSets, AllSetTransformer
from ehnn.ops.attention_logits import folded
from ehnn.testing import random_hypergraph

ANY_ORDER = {
    "hypernetwork": EHNNLinear,
    "mlp": EHNNMLP,
    "mlp-number": partial(EHNNMLP, order_encoding="number"),
    "transformer": EHNNTransformer,
}


def train(layer, h, steps=3):
    optimiser = torch.optim.Adam(layer.parameters(), 1e-3)
    for _ in range(steps):
        optimiser.zero_grad()
        layer(h.x, h.overlap("nodes", "edges")).square().mean().backward()
        optimiser.step()


@pytest.mark.parametrize("name", ANY_ORDER)
def test_order_5000_after_training_on_orders_up_to_10(name):
    torch.manual_seed(0)
    layer = ANY_ORDER[name](4, 8)
    before = [tuple(p.shape) for p in layer.parameters()]
    train(layer, random_hypergraph(40, 20, (1, 10), seed=0, d_node=4))
    h = Hypergraph.from_edges([range(5000), [0, 1], range(4999)], x=torch.randn(5000, 4))
    for source, target, x in (("nodes", "edges", h.x), ("edges", "nodes", torch.randn(3, 4))):
        y = layer(x, h.overlap(source, target))
        assert y.isfinite().all()
    big = layer(torch.randn(3, 4), h.overlap("edges", "edges"))  # 𝓘 of 4999 and 5000 too
    assert big.isfinite().all()
    assert [tuple(p.shape) for p in layer.parameters()] == before


def test_only_the_lookup_table_grows_with_the_orders():
    def count(layer):
        return sum(p.numel() for p in layer.parameters())

    small, large = (
        EHNNLinear(4, 8, weights="lookup", source_orders=range(n), target_orders=range(n)) for n in (3, 6)
    )
    assert count(large) > count(small)
    for name, factory in ANY_ORDER.items():
        layer = factory(4, 8)
        before = count(layer)
        for order in (2, 9):
            h = random_hypergraph(12, 3, order, seed=0, d_node=4)
            train(layer, h, steps=1)
        assert count(layer) == before, name


@pytest.mark.parametrize("kind", ["sinusoidal", "number"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_encodings_tell_large_orders_apart_whatever_the_type(kind, dtype):
    encoding = OrderEncoding(kind, 8).to(dtype)
    code = encoding(torch.tensor([0, 1, 256, 257, 5000, 5001]))
    assert torch.unique(code, dim=0).shape[0] == 6
    torch.testing.assert_close(code, OrderEncoding(kind, 8)(torch.tensor([0, 1, 256, 257, 5000, 5001])))


def test_sinusoidal_encoding_by_hand():
    code = OrderEncoding("sinusoidal", 4)(torch.tensor([3]))[0]
    angle = torch.tensor([3.0, 3.0 / 100])
    torch.testing.assert_close(code, torch.stack([angle.sin(), angle.cos()], 1).flatten())
    assert OrderEncoding("sinusoidal", 5)(torch.tensor([3, 4])).shape == (2, 5)
    assert OrderEncoding(None, 8)(torch.tensor([3])).shape == (1, 0)


@pytest.mark.parametrize("kind", [EHNNMLP, EHNNTransformer])
def test_ablations_hide_what_they_say(kind):
    """Without order embedding equal features give equal outputs; without global the far side is unseen."""
    torch.manual_seed(0)
    h = Hypergraph.from_edges([[0], [1, 2], [3, 4, 5]])
    x = torch.ones(6, 4)
    overlap = h.overlap("nodes", "edges")
    blind, seeing = kind(4, 8, order_embedding=False)(x, overlap), kind(4, 8)(x, overlap)
    torch.testing.assert_close(blind, blind[:1].expand_as(blind))
    assert (seeing[0] - seeing[1]).abs().max() > 1e-3
    far = x.clone()
    far[3:] = 2.0 * torch.randn(3, 4)
    local, everywhere = kind(4, 8, global_interaction=False), kind(4, 8)
    torch.testing.assert_close(local(x, overlap)[0], local(far, overlap)[0])
    assert (everywhere(x, overlap)[0] - everywhere(far, overlap)[0]).abs().max() > 1e-4


def test_attention_dropouts_are_separate():
    torch.manual_seed(0)
    h = Hypergraph.from_edges([[0, 1], [2]], x=torch.randn(3, 4))
    overlap = h.overlap("nodes", "edges")
    for name, other in (("local_dropout", "global_dropout"), ("global_dropout", "local_dropout")):
        layer = EHNNTransformer(4, 8, **{name: 0.5})
        assert getattr(layer, other).p == 0
        assert not torch.equal(layer(h.x, overlap), layer(h.x, overlap))
        assert torch.equal(layer.eval()(h.x, overlap), layer(h.x, overlap))


def test_orders_outside_a_lookup_table():
    layer = EHNNLinear(4, 8, weights="lookup", source_orders=[1], target_orders=[2, 3])
    h = Hypergraph.from_edges([[0, 1], [0, 1, 2, 3]], x=torch.ones(4, 4), edge_x=torch.ones(2, 4))
    with pytest.raises(ValueError, match=r"target order 4 is not in the lookup table, which holds \[2, 3\]"):
        layer(h.x, h.overlap("nodes", "edges"))
    with pytest.raises(ValueError, match=r"source order 2 is not in the lookup table, which holds \[1\]"):
        layer(h.edge_x, h.overlap("edges", "edges"))
    with pytest.raises(ValueError, match="source order 5"):
        layer.weight(5, 2, 1)
    with pytest.raises(ValueError, match="target order 9"):
        layer.bias(9)
    with pytest.raises(ValueError, match="overlap of orders 1 and 2 must be from 0 to 1, got 2"):
        layer.weight(1, 2, 2)
    assert layer.weight(1, 2, 1).shape == (4, 8)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: EHNNLinear(4, 8, weights="table"), r"weights must be one of .*got 'table'"),
        (lambda: EHNNLinear(4, 8, weights="lookup"), "needs source_orders and target_orders"),
        (lambda: EHNNLinear(4, 8, aggregation="max"), r"aggregation must be one of .*got 'max'"),
        (lambda: EHNNMLP(4, 8, aggregation="max"), r"aggregation must be one of .*got 'max'"),
        (lambda: EHNNMLP(4, 8, order_encoding="rotary"), r"order_encoding must be one of .*got 'rotary'"),
        (lambda: EHNNMLP(4, 8, dropout=1.5), "dropout must be in .*got 1.5"),
        (lambda: EHNNTransformer(4, 8, heads=3), "heads must divide d_out=8, got 3"),
        (lambda: EHNNTransformer(4, 8, heads=0), "heads must be a positive integer, got 0"),
        (lambda: AllDeepSets(4, 8, aggregation="max"), r"aggregation must be one of .*got 'max'"),
        (lambda: AllSetTransformer(4, 8, heads=3), "heads must divide d_out=8, got 3"),
        (lambda: AllSetTransformer(4, 8, heads=0), "heads must be a positive integer, got 0"),
        (lambda: Readout(4, 8, kind="max"), r"kind must be one of .*got 'max'"),
        (lambda: Readout(4, 8, kind="attention", heads=3), "heads must divide d_in=4, got 3"),
        (lambda: Readout(4, 8, kind="attention", heads=0), "heads must be a positive integer, got 0"),
        (lambda: Stack(4, 2, EHNNMLP, path=("nodes",)), r"at least two families, got \('nodes',\)"),
        (lambda: Stack(4, 2, EHNNMLP, path="nodes"), "at least two families, got 'nodes'"),
        (lambda: Stack(4, 2, EHNNMLP, path=("node", "edges")), r"families \('nodes', .*got 'node'"),
        (lambda: Stack(4, 2, EHNNMLP(8, 8)), "layer must be a factory .* got an instance of EHNNMLP"),
        (
            lambda: EHNNMLP(4, 8)(_features(4).x, _features(4)),
            r"h\.overlap\(source, target\), got Hypergraph",
        ),
        (
            lambda: EHNNMLP(4, 8)(_features(4).x.numpy(), _features(4).overlap()),
            "x must be a tensor, got ndarray",
        ),
        (lambda: Stack(4, 2, EHNNMLP)(_features(5)), "x must have d_in=4 channels, got 5"),
        (
            lambda: Stack(4, 2, EHNNMLP)(_features(4, torch.float64)),
            "x must be torch.float32, as the parameters",
        ),
    ],
)
def test_arguments_that_do_not_exist(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_features_of_another_family_or_type():
    h = random_hypergraph(6, 4, (1, 3), seed=0, d_node=4, d_edge=4)
    layer = EHNNMLP(4, 8)
    with pytest.raises(ValueError, match=r"one row per source \(4\), got shape \[6, 4\]"):
        layer(h.x, h.overlap("edges", "nodes"))
    with pytest.raises(ValueError, match="over the same 6 nodes, got one over 7"):
        h.overlap("nodes", Hypergraph.from_edges([[0]], num_nodes=7))


@pytest.mark.parametrize("layer", [EHNNMLP, EHNNTransformer])
def test_features_of_another_dtype_are_named(layer):
    h = _features(4, torch.float64)
    with pytest.raises(
        ValueError, match=r"x must be torch\.float32, as the parameters are, got torch\.float64"
    ):
        layer(4, 8)(h.x, h.overlap("nodes", "edges"))


def test_a_lookup_table_is_as_large_as_its_orders():
    """Not as the cube of the largest; orders come as any integers, and only as such."""
    layer = EHNNLinear(1, 1, weights="lookup", source_orders=[3000], target_orders=torch.tensor([3000, 3000]))
    held = sum(t.numel() for t in (*layer.parameters(), *layer.buffers()))
    assert held == 3001 + 3001
    for i in (0, 7, 3000):
        assert torch.equal(layer.weight(3000, 3000, i), layer.weights.table[i])
    assert (
        EHNNLinear(1, 1, weights="lookup", source_orders=[], target_orders=[3]).weights.biases.shape[0] == 4
    )
    with pytest.raises(ValueError, match="source_orders must not be negative, got -2"):
        EHNNLinear(1, 1, weights="lookup", source_orders=[-2], target_orders=[3])


MADE = {
    "mlp": partial(EHNNMLP, 4, 8),
    "transformer": partial(EHNNTransformer, 4, 8),
    "hypernetwork": partial(EHNNLinear, 4, 8),
    "lookup": partial(EHNNLinear, 4, 8, weights="lookup", source_orders=[1], target_orders=range(6)),
}


@pytest.mark.parametrize("name", MADE)
def test_a_layer_made_on_no_device_takes_parameters_over(name):
    h, layer = _features(4), MADE[name]()
    with torch.device("meta"):
        empty = MADE[name]()
    empty.load_state_dict(layer.state_dict(), assign=True)
    o = h.overlap("nodes", "edges")
    torch.testing.assert_close(empty(h.x, o), layer(h.x, o))


def test_stack_walks_its_path():
    h = random_hypergraph(6, 4, (1, 3), seed=0, d_node=4)
    assert pairs_path(2) == ("nodes", "all", "nodes", "all", "nodes")
    for path, rows in ((pairs_path(2), 6), (("nodes", "edges"), 4), (("nodes", "edges", "graph"), 1)):
        model = Stack(4, 3, EHNNMLP, width=8, path=path)
        assert model(h).shape == (rows, 3)
        assert torch.equal(model(h.replace(x=None), h.x), model(h))
    deep = Stack(4, 3, Block(EHNNMLP, residual=True), width=8, path=("nodes", *["edges"] * 8))
    assert deep(h).isfinite().all()


@pytest.mark.parametrize("first", ["vmap", "inference"])
def test_structure_made_inside_a_transform_outlives_it(first):
    """Overlaps are kept: those of a first call in vmap or inference mode must serve later calls."""
    h = random_hypergraph(9, 6, (2, 4), seed=0, d_node=3)
    model = Stack(3, 2, EHNNMLP, width=4)
    if first == "vmap":
        stacked = {k: torch.stack([v, v]) for k, v in model.named_parameters()}
        call = torch.func.grad(lambda p: torch.func.functional_call(model, p, (h,)).sum())
        torch.func.vmap(call)(stacked)
    else:
        with torch.inference_mode():
            model(h)
    model(h).sum().backward()
    assert all(torch.isfinite(p.grad).all() for p in model.parameters())


def test_a_stack_keeps_the_rows_that_both_families_share():
    h = random_hypergraph(9, 6, (2, 4), seed=0, d_node=4)
    for path in [("nodes", "all"), ("all", "nodes"), ("edges", "edges"), ("nodes", "edges")]:
        plain = Stack(4, 2, EHNNMLP, width=4, path=path).eval()
        kept = Stack(4, 2, Block(EHNNMLP, residual=True), width=4, path=path).eval()
        kept.load_state_dict(
            plain.state_dict() | {f"norms.{k}": v for k, v in kept.norms.state_dict().items()}
        )
        plain.norms = kept.norms  # a residual stack normalises what a layer reads
        plain.norm = kept.norm = plain.classifier = kept.classifier = torch.nn.Identity()
        rows = {"nodes": 9, "edges": 6, "all": 15}
        x = torch.randn(rows[path[0]], 4)
        inside = kept.embed(x)[: rows[path[1]]]
        want = torch.zeros(rows[path[1]], 4)
        if path != ("nodes", "edges"):
            want[: len(inside)] = inside
        torch.testing.assert_close(kept(h, x) - plain(h, x), want)


def _features(channels: int, dtype: torch.dtype = torch.float32) -> Hypergraph:
    return Hypergraph.from_edges([[0, 1], [1, 2]], x=torch.ones(3, channels, dtype=dtype))


def test_attention_between_hyperedges_takes_memory_for_what_meets():
    """Many sizes of overlaps, each between few hyperedges: rows × sizes are not made."""
    blocks, start = [], 0
    for size in range(2, 26):
        nodes = list(range(start, start + 2 * size))
        blocks += [nodes[:-1], nodes[1:]]
        start += 2 * size
    h = Hypergraph.from_edges([*blocks, *([start + 2 * i, start + 2 * i + 1] for i in range(600))])
    h = h.replace(edge_x=torch.randn(h.num_edges, 8, dtype=torch.float64))
    layer, overlap = EHNNTransformer(8, 8, heads=2).double(), h.overlap("edges", "edges")
    assert len(overlap.sizes.values) > 20
    x = h.edge_x.clone().requires_grad_()
    cut = layer(x, overlap)
    (found,) = torch.autograd.grad(cut.square().sum(), x)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(folded, "_MANY", 10**9)
        whole = layer(x, overlap)
        (expected,) = torch.autograd.grad(whole.square().sum(), x)
    torch.testing.assert_close(cut, whole)
    torch.testing.assert_close(found, expected)
