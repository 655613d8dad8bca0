"""The table of models by name serves layers, experiments and estimators."""

import pytest
import torch

from ehnn import NodeClassifier
from ehnn.nn import Stack
from ehnn.nn.named import NAMED
from ehnn.testing import random_hypergraph


@pytest.fixture(scope="module")
def h():
    generator = torch.Generator().manual_seed(0)
    made = random_hypergraph(12, 8, orders=(2, 4), seed=0)
    return made.replace(x=torch.randn(12, 3, generator=generator), y=torch.arange(12) % 2)


@pytest.mark.parametrize("name", NAMED)
def test_every_name_makes_a_network_for_nodes(name, h):
    known = NAMED[name]
    model = known.make(3, 2, width=8, dropout=0.0)
    out = model(known.prepare(h))
    assert out.shape == (12, 2)
    assert torch.isfinite(out).all()
    assert isinstance(model, Stack) == known.stacked


def test_what_is_given_goes_before_what_belongs_to_the_name():
    counting = NAMED["ehnn-mlp-counting"]
    assert counting.make(3, 2).layers[0].aggregation == "sum"
    given = counting.make(
        3, 2, options={"aggregation": "mean"}, stack={"residual": True}, path=("nodes", "nodes")
    )
    assert given.layers[0].aggregation == "mean"
    assert given.path == ("nodes", "nodes")
    assert given.block.residual
    assert NAMED["ehnn-mlp+"].make(3, 2).block.residual
    assert not NAMED["ehnn-mlp"].make(3, 2).block.residual


@pytest.mark.parametrize(
    "name", ["ehnn-mlp+", "ehnn-transformer+", "ehnn-mlp-counting", "ehnn-transformer-counting"]
)
def test_an_estimator_takes_every_name(name, h):
    fitted = NodeClassifier(model=name, width=8, epochs=2).fit(h, h.y)
    assert fitted.predict(h).shape == (12,)
