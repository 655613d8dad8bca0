"""What the recipes ask of stack and loop: kept features, averaged parameters that survive an interruption."""

from __future__ import annotations

import pytest
import torch

from ehnn.nn import EHNNMLP, Block, Stack
from ehnn.nn.layer import Layer
from ehnn.tasks import NodeClassification
from ehnn.training import TrainConfig, fit
from ehnn_paper.nodes.config import make_model
from ehnn_paper.nodes.settings import Settings


class Nothing(Layer):
    """A layer that has nothing to add."""

    def forward(self, x, overlap):
        return x.new_zeros(overlap.num_targets, self.d_out)


def test_dropout_spares_what_a_node_was(h):
    model = Stack(6, 2, Block(Nothing, dropout=0.9, residual=True), width=8).train()
    assert torch.equal(model(h), model.eval()(h))
    model = Stack(6, 2, Block(Nothing, dropout=0.9, residual=True, drop_kept=True), width=8).train()
    assert not torch.equal(model(h), model.eval()(h))


@pytest.mark.parametrize("after_last", [True, False])
def test_what_follows_the_last_layer(h, after_last):
    path = ("nodes", "nodes")
    block = Block(EHNNMLP, dropout=0.9, activation=True, after_last=after_last)
    model = Stack(6, 8, block, width=8, path=path, final_norm=False).train()
    torch.nn.init.eye_(model.classifier[0].weight)
    torch.nn.init.zeros_(model.classifier[0].bias)
    assert torch.equal(model(h), model(h)) != after_last  # dropout
    assert (model.eval()(h) >= 0).all() == after_last  # ReLU


def test_a_stack_can_do_without_its_last_norm_only():
    model = Stack(6, 2, Block(EHNNMLP, residual=True), final_norm=False)
    assert isinstance(model.norm, torch.nn.Identity)
    assert all(isinstance(norm, torch.nn.LayerNorm) for norm in model.norms)


def trained(h, directory=None, **options):
    settings = Settings(8, options={"dropout": 0.1})
    config = TrainConfig(lr=1e-2, checkpoint_every=2, **options)
    task = NodeClassification(h, (0, 1))
    return fit(
        lambda: make_model("ehnn-mlp+", settings, 6, 2), task, (0, 1), config, directory=directory, quiet=True
    )


def test_the_average_is_what_is_kept(h):
    """In the second step the average keeps 2/11 of itself, whatever a larger decay says."""
    first, second = trained(h, epochs=1, ema=0.99), trained(h, epochs=2, ema=0.99)
    now = trained(h, epochs=2).runs.state()["embed.weight"]
    assert torch.equal(second.runs.state()["embed.weight"], now)  # averaging changes no step
    expected = torch.lerp(first.best["embed.weight"], now, 1 - 2 / 11)
    kept = [r for r, epoch in enumerate(second.best_epoch) if epoch == 2]
    assert kept
    torch.testing.assert_close(second.best["embed.weight"][kept], expected[kept])


def test_an_average_survives_an_interruption(h, tmp_path, monkeypatch):
    whole = trained(h, epochs=6, ema=0.9)
    evaluate, seen = NodeClassification.evaluate, []

    def stop(self, predict):
        seen.append(1)
        if len(seen) == 5:
            raise KeyboardInterrupt
        return evaluate(self, predict)

    with monkeypatch.context() as m:
        m.setattr(NodeClassification, "evaluate", stop)
        with pytest.raises(KeyboardInterrupt):
            trained(h, tmp_path, epochs=6, ema=0.9)
    again = trained(h, tmp_path, epochs=6, ema=0.9)
    assert again.history == whole.history
    assert all(torch.equal(again.best[k], v) for k, v in whole.best.items())


@pytest.mark.parametrize("wrong", [0.0, 1.0, -1.0])
def test_bad_decay(wrong):
    with pytest.raises(ValueError, match="ema must be in"):
        TrainConfig(ema=wrong)
