"""The moving average of the parameters: its formula, and that it is what is evaluated, kept and resumed."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from ehnn.training import TrainConfig, fit
from ehnn.training.loop import _Trainer

from .training_helpers import Tiny, make

CONFIG = TrainConfig(epochs=3, lr=0.05, ema=0.3, checkpoint_every=1)
SEEDS = (0, 1)


def test_the_average_follows_the_parameters_with_a_decay_that_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = _Trainer(make, Tiny(), SEEDS, CONFIG, None, "cpu")
    seen = [trainer.result.runs.state()]
    average = trainer._average

    def noting() -> None:
        seen.append(trainer.result.runs.state())
        average()

    monkeypatch.setattr(trainer, "_average", noting)
    for _ in range(2):
        trainer.run_epoch()
    assert trainer.average is not None
    for name, expected in seen[0].items():
        for step, state in enumerate(seen[1:]):
            decay = min(0.3, (step + 1) / (step + 10))  # 0.3 from the fourth of six steps on
            expected = decay * expected + (1 - decay) * state[name]
        torch.testing.assert_close(trainer.average[name], expected)


def test_the_average_is_what_is_evaluated_and_kept() -> None:
    class Noting(Tiny):
        def evaluate(self, predict):  # type: ignore[no-untyped-def]
            self.said = predict(self.valid)
            return super().evaluate(predict)

    trainer = _Trainer(make, task := Noting(), SEEDS, TrainConfig(epochs=1, lr=0.05, ema=0.3), None, "cpu")
    runs = trainer.result.runs
    trainer.run_epoch()
    assert trainer.average is not None
    assert torch.equal(task.said, runs.forward(task.valid, parameters=trainer.average))
    assert not torch.equal(task.said, runs.forward(task.valid))
    assert trainer.result.best_epoch == [1, 1]
    for name, value in trainer.average.items():
        assert torch.equal(trainer.result.best[name], value)
    moved = [name for name, value in runs.parameters.items() if not torch.equal(value, trainer.average[name])]
    assert moved


def test_the_average_is_resumed(tmp_path: Path) -> None:
    whole = fit(make, Tiny(), SEEDS, CONFIG, quiet=True)
    for _ in range(CONFIG.epochs):
        parts = fit(make, Tiny(), SEEDS, CONFIG, directory=tmp_path, quiet=True, seconds=0.0)
    assert parts.history == whole.history
    again = _Trainer(make, Tiny(), SEEDS, CONFIG, tmp_path, "cpu")
    assert again.average is not None
    for name, value in whole.best.items():
        assert torch.equal(parts.best[name], value)
        assert not torch.equal(again.average[name], again.result.runs.parameters[name]) or not value.any()
