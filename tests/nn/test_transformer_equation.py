"""EHNN-Transformer against Eqs. 9 to 11, written as loops over targets, sizes and sources."""

import math

import pytest
import torch

import ehnn
from ehnn.nn import EHNNTransformer
from ehnn.testing import random_hypergraph


def attend(layer, keys, query, value):
    """Σ_i α_i v_i of some sources: keys and values ``[n, heads, c]``, one query ``[heads, c]``."""
    logits = (keys * query).sum(-1) / math.sqrt(value.shape[2])
    weight = logits.softmax(0) if layer.attention == "softmax" else logits.sigmoid()
    return (weight.unsqueeze(-1) * value).sum(0).flatten()


def by_loops(layer, x, o):
    heads = (layer.heads, layer.d_out // layer.heads)
    x = layer.phi1(x, o.source_orders)
    value, keys = layer.value(x).unflatten(1, heads), layer.key(x).unflatten(1, (-1, *heads))
    query = layer.query(o.sizes).unflatten(1, heads)
    target, source, size = o.pairs()
    groups = sorted({(j, i) for j, i in zip(target.tolist(), size.tolist(), strict=True)})
    rows = []
    for j, i in groups:
        met = source[(target == j) & (size == i)]
        number = 1 + o.sizes.values.tolist().index(i)
        rows.append(attend(layer, keys[met, -1], query[number], value[met]))
    if layer.global_interaction:
        for member in range(o.num_members):
            own = o.source_batch == member
            rows.append(attend(layer, keys[own, 0], query[0], value[own]))
    orders = o.sizes_and_pool if layer.global_interaction else o.sizes
    rows = layer.phi2(layer.merge(torch.stack(rows)), orders)
    y = []
    for j in range(o.num_targets):
        own = [rows[g] for g, (t, _) in enumerate(groups) if t == j]
        if layer.global_interaction:
            own.append(rows[len(groups) + int(o.target_batch[j])])
        y.append(torch.stack(own).sum(0) if own else torch.zeros_like(rows[0]))
    bias, index = layer.bias(o.target_orders)
    y = layer.phi3(torch.stack(y), o.target_orders) + bias[index.index]
    return layer.feed_forward(y)


@pytest.mark.parametrize("attention", ["softmax", "sigmoid"])
@pytest.mark.parametrize("pooled", [True, False])
@pytest.mark.parametrize("ends", [("nodes", "edges"), ("edges", "edges"), ("all", "nodes")], ids=" to ".join)
def test_it_is_the_equation(attention, pooled, ends):
    each = [
        random_hypergraph(9, 6, (1, 5), seed=i, d_node=8, d_edge=8, dtype=torch.float64) for i in range(2)
    ]
    h = ehnn.batch(each)
    x = torch.cat([h.x, h.edge_x]) if ends[0] == "all" else h.features(ends[0])
    layer = EHNNTransformer(8, 8, heads=2, attention=attention, global_interaction=pooled).double()
    with torch.no_grad():
        for p in layer.parameters():
            p.copy_(torch.randn(p.shape, generator=torch.Generator().manual_seed(p.numel())) / 2)
        torch.testing.assert_close(layer(x, h.overlap(*ends)), by_loops(layer, x, h.overlap(*ends)))
