"""Features of each run's own: gates and shown labels, without a look at validation or test labels."""

from __future__ import annotations

import pytest
import torch

from ehnn.training import TrainConfig, fit
from ehnn_paper.nodes import inputs as nodes_inputs
from ehnn_paper.nodes.config import make_model
from ehnn_paper.nodes.inputs import PreparedNodes, RunHypergraph, f_gates
from ehnn_paper.nodes.settings import Settings

SEEDS = (0, 1, 5)


def test_gates_follow_the_f_statistic():
    stats = pytest.importorskip("scipy.stats")
    generator = torch.Generator().manual_seed(0)
    labels = torch.randint(-1, 3, (60,), generator=generator)
    x = torch.randn(60, 4, generator=generator, dtype=torch.float64)
    x[:, 0] += labels
    groups = [x[labels == c].numpy() for c in range(3)]
    expected = torch.from_numpy(stats.f_oneway(*groups, axis=0).statistic)
    found = f_gates(x, labels, 5, 1.0).double()  # two classes do not occur
    torch.testing.assert_close(found, (1 - 1 / expected).clamp(min=0), rtol=1e-5, atol=1e-6)
    assert found[0] > 0.9


def test_a_constant_feature_is_shut_out():
    assert f_gates(torch.ones(4, 1), torch.tensor([0, 0, 1, 1]), 2, 1.0).tolist() == [0.0]


def test_labels_of_validation_and_test_nodes_are_never_read(h):
    task = PreparedNodes(h, SEEDS, standardise=True, gate=2.0, hidden=0.5)
    for r, seed in enumerate(SEEDS):
        known = task.train[r] >= 0
        other = h.replace(y=torch.where(known | (h.y < 0), h.y, 1 - h.y))
        alone = PreparedNodes(other, (seed,), standardise=True, gate=2.0, hidden=0.5)
        if not torch.equal(alone.train[0], task.train[r]):
            pytest.fail("the split itself must not depend on the labels")
        for mine, theirs in ((task.evaluated, alone.evaluated), *zip(task._views, alone._views, strict=True)):
            assert torch.equal(mine.run_x[r], theirs.run_x[0])


def test_a_view_learns_what_it_hides_and_shows_the_rest(h):
    task = PreparedNodes(h, SEEDS, hidden=0.25, views=4)
    assert task.num_features == 6 + 2
    for view in task._views:
        assert torch.equal(view.run_x[..., :6], h.x.expand(3, -1, -1))
        shown = view.run_x[..., 6:].sum(-1).bool()
        hidden = view.target >= 0
        assert not (shown & hidden).any()
        assert torch.equal(shown | hidden, task.train >= 0)
        assert hidden.sum(1).tolist() == [5, 5, 5]  # a quarter of 19
        assert torch.equal(view.run_x[..., 6:].argmax(-1)[shown], h.y.expand(3, -1)[shown])
        assert torch.equal(view.target[hidden], h.y.expand(3, -1)[hidden])
    assert torch.equal(task.evaluated.run_x[..., 6:].sum(-1).bool(), task.train >= 0)


def test_views_come_back_and_share_the_overlaps(h):
    task = PreparedNodes(h, SEEDS, hidden=0.5, views=3)
    epochs = [next(iter(task.batches(e))) for e in range(6)]
    assert all(isinstance(b, RunHypergraph) and epochs[i] is epochs[i + 3] for i, b in enumerate(epochs[:3]))
    assert len({id(b) for b in epochs}) == 3
    assert epochs[0].overlap("nodes", "all") is h.overlap("nodes", "all")


def test_without_labels_all_training_nodes_are_learned(h):
    task = PreparedNodes(h, SEEDS, gate=1.0, smoothing=0.1)
    (view,) = task._views
    assert torch.equal(view.target, task.train)
    logits = torch.randn(3, 40, 2, dtype=torch.float64)
    nodes = task.train[1] >= 0
    expected = torch.nn.functional.cross_entropy(logits[1, nodes], h.y[nodes], label_smoothing=0.1)
    torch.testing.assert_close(task.loss(logits, view)[1], expected)


def test_identities_are_the_hyperedges_of_a_node(h, monkeypatch):
    task = PreparedNodes(h, SEEDS, identities=True)
    assert task.num_features == 6 + h.num_edges
    found = task.evaluated.run_x
    assert torch.equal(found[..., :6], h.x.expand(3, -1, -1))
    pairs = [(v, e) for e, nodes in enumerate(h.edges()) for v in nodes]
    assert sorted(map(tuple, found[1, :, 6:].nonzero().tolist())) == sorted(pairs)
    monkeypatch.setattr(nodes_inputs, "MOST_IDENTITIES", h.num_edges - 1)
    with pytest.raises(ValueError, match=f"at most {h.num_edges - 1} hyperedges, got {h.num_edges}"):
        PreparedNodes(h, SEEDS, identities=True)


def test_diffused_features_are_means_of_means_and_gated_too(h):
    task = PreparedNodes(h, SEEDS, diffused=2)
    assert task.num_features == 18
    found = task.evaluated.run_x[0]
    into = torch.zeros(h.num_nodes, h.num_edges, dtype=h.x.dtype)
    into[h.incidence.index, h.incidence.rows] = 1
    mean = (into / into.sum(1, keepdim=True).clamp(min=1)) @ (into.T / into.sum(0).clamp(min=1).unsqueeze(1))
    torch.testing.assert_close(found, torch.cat([h.x, mean @ h.x, mean @ mean @ h.x], 1))
    gated = PreparedNodes(h, SEEDS, diffused=1, gate=1e9)
    assert not gated.evaluated.run_x.any()


@pytest.mark.parametrize(
    "wrong",
    [{"hidden": 1.5}, {"hidden": -0.1}, {"views": 0}, {"gate": -1.0}, {"smoothing": 1.0}, {"diffused": -1}],
)
def test_bad_arguments(h, wrong):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be|{next(iter(wrong))} (not|in|and)"):
        PreparedNodes(h, **wrong)


def test_a_run_is_trained_on_its_own_features(h):
    """Two runs at once see what each sees alone."""
    settings = Settings(8, lr=1e-2, inputs={"gate": 2.0, "hidden": 0.5, "views": 3})

    def trained(seeds):
        task = PreparedNodes(h, seeds, **settings.inputs)
        config = TrainConfig(epochs=8, lr=1e-2)
        return fit(lambda: make_model("ehnn-mlp+", settings, 8, 2), task, seeds, config, quiet=True)

    both, alone = trained((3, 4)), trained((4,))
    losses = [[row["loss"][i] for row in r.history] for r, i in ((both, 1), (alone, 0))]
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)
