"""Random numbers: the same as after a seed, and of one thread alone."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

import ehnn
from ehnn.training.randomness import OwnRandom

DRAWS = {
    "linear": lambda: nn.Linear(5, 7).weight,
    "embedding": lambda: nn.Embedding(4, 3).weight,
    "conv": lambda: nn.Conv1d(3, 4, 2).weight,
    "gru": lambda: nn.GRU(4, 4).weight_hh_l0,
    "attention": lambda: nn.MultiheadAttention(8, 2).in_proj_weight,
    "xavier": lambda: nn.init.xavier_uniform_(torch.empty(3, 4)),
    "trunc_normal": lambda: nn.init.trunc_normal_(torch.empty(8)),
    "orthogonal": lambda: nn.init.orthogonal_(torch.empty(4, 4)),
    "rand": lambda: torch.rand(4, 2),
    "randn": lambda: torch.randn(30),
    "randperm": lambda: torch.randperm(9),
    "randint": lambda: torch.randint(0, 9, (5,)),
    "uniform_": lambda: torch.empty(6).uniform_(-1, 1),
    "normal": lambda: torch.normal(torch.zeros(3), 1.0),
    "bernoulli": lambda: torch.bernoulli(torch.full((20,), 0.5)),
    "rand_like": lambda: torch.rand_like(torch.ones(4)),
    "randn_like": lambda: torch.randn_like(torch.ones(4, dtype=torch.float64)),
    "dropout": lambda: F.dropout(torch.ones(1000), 0.3),
    "dropout of all": lambda: F.dropout(torch.ones(9), 1.0),
    "no dropout": lambda: F.dropout(torch.ones(9), 0.3, training=False),
    "ehnn": lambda: torch.cat([p.flatten() for p in ehnn.nn.EHNNTransformer(8, 8).parameters()]),
}


@pytest.mark.parametrize("name", DRAWS)
def test_the_numbers_of_a_seed_without_the_state_of_the_process(name):
    with torch.random.fork_rng():
        torch.manual_seed(3)
        want = [DRAWS[name](), torch.rand(3)]
        torch.manual_seed(7)
        state = torch.get_rng_state()
        with OwnRandom(3):
            found = [DRAWS[name](), torch.rand(3)]
        assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(a, b) for a, b in zip(found, want, strict=True))


class Dropped(nn.Module):
    """A user's own module that draws as it trains."""

    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(d_in, 8), nn.Linear(8, d_out)

    def forward(self, h, x=None):
        x = self.first(h.x if x is None else x)
        noise = torch.rand_like(x) if self.training else 0.5
        return self.last(F.dropout(x + noise, 0.5, self.training).relu())


@pytest.mark.parametrize("model", ["ehnn-mlp", Dropped])
def test_fits_in_threads_are_those_of_one_alone(model):
    h = ehnn.Hypergraph.from_edges([[i, (i + 1) % 12, (i * 5) % 12] for i in range(12)], x=torch.eye(12))
    y = [i % 3 for i in range(12)]

    def outcome(seed: int) -> np.ndarray:
        options = {"width": 8, "epochs": 6, "device": "cpu", "validation_fraction": 0.0}
        one = ehnn.NodeClassifier(model=model, random_state=seed, **options).fit(h, y)
        return one.predict_proba(h)

    seeds = [0, 1, 2] * 3
    alone = {seed: outcome(seed) for seed in set(seeds)}
    state = torch.get_rng_state()
    with ThreadPoolExecutor(6) as pool:
        together = list(pool.map(outcome, seeds))
    assert all(np.array_equal(found, alone[seed]) for seed, found in zip(seeds, together, strict=True))
    assert torch.equal(torch.get_rng_state(), state)
    assert not np.array_equal(alone[0], alone[1])
