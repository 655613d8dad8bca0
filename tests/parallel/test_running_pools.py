"""The running estimate of the global term: right on average, steadier than one batch, with its gradient."""

import copy
from functools import partial

import pytest
import torch

from ehnn import Hypergraph
from ehnn.nn import EHNNMLP, EHNNTransformer, Layer, Stack
from ehnn.parallel.running import RunningPools
from ehnn.parallel.sampled_task import SampledNodes
from ehnn.parallel.sampling import sample
from ehnn.parallel.synthetic import synthetic
from ehnn.tasks import NodeClassification
from ehnn.testing import random_hypergraph
from ehnn.training import TrainConfig, fit

LAYERS = {
    "mlp": EHNNMLP,
    "mlp-sum": partial(EHNNMLP, aggregation="sum"),
    "transformer": EHNNTransformer,
    "sigmoid": partial(EHNNTransformer, attention="sigmoid"),
}
each_layer = pytest.mark.parametrize("layer", LAYERS.values(), ids=LAYERS)


@pytest.fixture
def h() -> Hypergraph:
    return random_hypergraph(60, 50, (1, 6), seed=0, d_node=4, dtype=torch.float64)


def stack(layer: type[Layer]) -> Stack:
    torch.manual_seed(0)
    return Stack(4, 3, layer, width=8).double()


@each_layer
def test_all_seeds_and_no_limits_are_exact(h: Hypergraph, layer: type[Layer]) -> None:
    """Every estimate is then exact, so is their average, and so are all gradients."""
    plain, pools = stack(layer), RunningPools(stack(layer), 0.5).double()
    every = torch.arange(60)
    for _ in range(3):  # the average of equal values
        pools.zero_grad()
        y = pools(sample(h, every, [(-1, -1)]))
        y.square().sum().backward()
    expected = plain(h)
    expected.square().sum().backward()
    torch.testing.assert_close(y, expected)
    for mine, theirs in zip(pools.model.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(mine.grad, theirs.grad)


@each_layer
def test_the_average_is_steadier_than_a_batch(h: Hypergraph, layer: type[Layer]) -> None:
    """The output of seeds with exact neighbourhoods differs from the truth by the global terms alone."""
    g = torch.Generator().manual_seed(0)
    pools, plain = RunningPools(stack(layer), 0.95).double(), stack(layer)
    errors: dict[str, list[float]] = {"running": [], "batch": []}
    truth = plain(h).detach()
    for step in range(120):
        seeds = torch.randperm(60, generator=g)[:10]
        s = sample(h, seeds, [(-1, -1)])
        with torch.no_grad():
            for name, model in (("running", pools), ("batch", plain)):
                if step >= 60:
                    errors[name].append(float((model(s)[:10] - truth[seeds]).square().mean()))
                else:
                    model(s)
    # Seeds' hyperedges reach nodes whose own neighbourhoods were not drawn: errors do not go to 0 for 𝓘 ≥ 1.
    assert sum(errors["running"]) < 0.7 * sum(errors["batch"]), errors


def test_the_first_batches_weigh_the_same(h: Hypergraph) -> None:
    """Until 1 / t is below 1 − decay the average is the mean of all batches, then it forgets."""
    samples = [sample(h, torch.arange(i, 60, 5), [(-1, -1)]) for i in range(4)]
    single = []
    for s in samples:
        alone = RunningPools(stack(EHNNMLP)).double()
        alone(s)
        single.append(alone.averages[0][:-1].clone())
    pools = RunningPools(stack(EHNNMLP), decay=0.7).double()
    for t, s in enumerate(samples[:3], 1):
        pools(s)
        torch.testing.assert_close(pools.averages[0][:-1], torch.stack(single[:t]).mean(0))
    pools(samples[3])
    torch.testing.assert_close(
        pools.averages[0][:-1], 0.7 * torch.stack(single[:3]).mean(0) + 0.3 * single[3]
    )


def test_evaluation_by_parts_reads_the_labels_of_its_own_part() -> None:
    h = synthetic(60, 50, 3, seed=2)
    task = SampledNodes(h, [0, 1], fan_out=[(2, 2)], evaluate_by=7)
    right = torch.nn.functional.one_hot(h.y, 3).float()
    for part, wanted in (("train", (0, 0)), ("valid", (100, 0)), ("test", (0, 100))):
        known = (getattr(task, part) >= 0).unsqueeze(-1)
        told = torch.where(known, right, -right)
        scores = task.evaluate(lambda s, told=told: told[:, s.node_ids])
        assert (scores["valid"].tolist(), scores["test"].tolist()) == ([wanted[0]] * 2, [wanted[1]] * 2)


def test_only_training_nodes_are_trained_on() -> None:
    h = synthetic(60, 50, 3, seed=2)
    task = SampledNodes(h, [0, 1], batch_size=10, fan_out=[(2, 2)])
    seeds = torch.cat([s.node_ids[: s.num_seeds] for s in task.batches(0)])
    assert sorted(seeds.tolist()) == (task.train >= 0).any(0).nonzero().squeeze(1).tolist()
    batch = next(iter(task.batches(0)))
    logits = torch.randn(2, batch.num_nodes, 3, dtype=torch.float64)
    kept = task.train[1, batch.node_ids[: batch.num_seeds]]
    expected = torch.nn.functional.cross_entropy(logits[1, : batch.num_seeds], kept, ignore_index=-1)
    torch.testing.assert_close(task.loss(logits, batch)[1], expected)


def test_prediction_does_not_learn(h: Hypergraph) -> None:
    pools = RunningPools(stack(EHNNMLP)).double()
    pools(sample(h, torch.arange(30), [(2, 2)]))
    before = [a.clone() for a in pools.averages]
    assert all(float(a[-1]) == 1 for a in before)
    pools.eval()
    pools(sample(h, torch.arange(30, 60), [(2, 2)]))
    assert all(torch.equal(a, b) for a, b in zip(before, pools.averages, strict=True))
    twin = copy.deepcopy(pools).train()
    twin(sample(h, torch.arange(30), [(2, 2)]))
    assert float(twin.averages[0][-1]) == 2
    assert float(pools.averages[0][-1]) == 1  # a copy has averages of its own


def test_attention_survives_logits_that_wander(h: Hypergraph) -> None:
    pools = RunningPools(stack(EHNNTransformer)).double()
    layer = pools.model.layers[0]
    for size in (1, 3000, -3000, 1):
        with torch.no_grad():
            layer.key.bias[: layer.d_out].fill_(float(size))  # the keys of 𝓘 = 0
        y = pools(sample(h, torch.arange(0, 60, 2), [(-1, -1)]))
        assert bool(y.isfinite().all())


def test_training_by_samples_learns_what_full_batch_learns() -> None:
    h = synthetic(400, 600, 3, seed=2, noise=1.5)
    make = partial(Stack, 16, 3, EHNNMLP, width=16, dropout=0.1)
    full = fit(make, NodeClassification(h, [0, 1]), [0, 1], TrainConfig(epochs=40, lr=0.01), quiet=True)
    task = SampledNodes(h, [0, 1], batch_size=50, fan_out=[(4, 4)], evaluate_by=100)
    config = TrainConfig(epochs=10, lr=0.01, cuda_graph=False)
    some = fit(lambda: RunningPools(make()), task, [0, 1], config, quiet=True)
    a, b = (sum(r.selected("validation")) / 2 for r in (full, some))
    assert b > a - 5, (a, b)
    assert (some.runs.state()["averages.0"][:, -1] > 15).all()  # each run keeps its own


def test_stopped_and_resumed(tmp_path) -> None:
    h = synthetic(100, 120, 3, seed=2)
    make = lambda: RunningPools(Stack(16, 3, EHNNMLP, width=8))  # noqa: E731
    config = TrainConfig(epochs=6, lr=0.01, checkpoint_every=2, cuda_graph=False)

    class Stops(SampledNodes):
        def batches(self, epoch):
            if epoch == 5:
                raise KeyboardInterrupt
            yield from super().batches(epoch)

    options = {"batch_size": 20, "fan_out": [(3, 3)]}
    with pytest.raises(KeyboardInterrupt):
        fit(make, Stops(h, [0], **options), [0], config, directory=tmp_path, quiet=True)
    resumed = fit(make, SampledNodes(h, [0], **options), [0], config, directory=tmp_path, quiet=True)
    whole = fit(make, SampledNodes(h, [0], **options), [0], config, quiet=True)
    for name, value in whole.runs.state().items():
        assert torch.equal(value, resumed.runs.state()[name]), name


def test_bad_decay() -> None:
    with pytest.raises(ValueError, match=r"decay must be in \[0, 1\), got 1"):
        RunningPools(stack(EHNNMLP), 1)
