"""Learning rates by epoch and by parameter, and training against the clock."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from ehnn.training import TrainConfig, fit
from ehnn.training.loop import _Trainer

from .training_helpers import Tiny, make


def test_steps_halve_the_rate() -> None:
    config = TrainConfig(epochs=8, lr=0.8, schedule="steps", lr_steps=(2, 5))
    assert [config.lr_at(epoch) for epoch in range(7)] == [0.8, 0.8, 0.4, 0.4, 0.4, 0.2, 0.2]


def test_the_first_prefix_that_fits_counts() -> None:
    config = TrainConfig(lr_factors=(("embed.", 0.1), ("embed.weight", 0.2)))
    names = ("embed.weight", "inner.embed.weight", "bias")
    assert [config.lr_factor(name) for name in names] == [0.1, 1.0, 1.0]


def test_rates_survive_json() -> None:
    config = TrainConfig(schedule="steps", lr_steps=(2,), lr_factors=(("embed.", 0.01),))
    listed = config.to_dict() | {"lr_steps": [2], "lr_factors": [["embed.", 0.01]]}
    assert TrainConfig(**listed) == config


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"schedule": "steps", "lr_steps": (3, 2)}, "ascending"),
        ({"schedule": "steps", "lr_steps": (0,)}, "lr_steps must be a positive integer, got 0"),
        ({"lr_steps": (2,)}, "lr_steps need schedule='steps'"),
        ({"lr_factors": (("a.", 0.0),)}, "lr_factors must be above 0 and finite, got 0.0 for 'a.'"),
    ],
)
def test_wrong_rates_are_named(wrong: dict, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        TrainConfig(**wrong)


def test_parameters_have_rates_of_their_own() -> None:
    config = TrainConfig(epochs=1, lr=0.01, lr_factors=(("embed.", 0.01),), clip_norm=None)
    trainer = _Trainer(make, Tiny(), [0], config, None, "cpu")
    before = trainer.result.runs.state()
    trainer.run_epoch()
    moved = {k: (v - before[k]).abs().max().item() for k, v in trainer.result.runs.parameters.items()}
    # Three steps of Adam are at most about three times the rate.
    assert all(0 < m <= 4e-4 for k, m in moved.items() if k.startswith("embed."))
    assert max(m for k, m in moved.items() if not k.startswith("embed.")) > 1e-2
    rates = {group["factor"]: group["lr"] for group in trainer.optimizer.param_groups}
    assert rates == pytest.approx({0.01: 1e-4, 1.0: 1e-2})


@pytest.mark.parametrize("seeds", [[0], [0, 1]])
def test_every_step_is_clipped(seeds: list[int]) -> None:
    norms = []
    for clip_norm in (1e-3, None):
        config = TrainConfig(epochs=1, clip_norm=clip_norm)
        trainer = _Trainer(make, Tiny(), seeds, config, None, "cpu")
        trainer.run_epoch()
        gradients = [g.reshape(len(seeds), -1) for g in trainer.result.runs.gradients()]
        norms.append(torch.cat(gradients, 1).norm(dim=1))
    torch.testing.assert_close(norms[0], torch.full((len(seeds),), 1e-3), rtol=1e-2, atol=0.0)
    assert bool((norms[1] > 1e-2).all())


def test_a_run_with_rates_of_their_own_resumes(tmp_path: Path) -> None:
    config = TrainConfig(
        epochs=4, lr=0.01, schedule="steps", lr_steps=(2,), lr_factors=(("embed.", 0.1),), checkpoint_every=1
    )
    first = fit(make, Tiny(), [0], config, directory=tmp_path / "a", quiet=True, seconds=0.0)
    assert [row["epoch"] for row in first.history] == [1]
    rest = fit(make, Tiny(), [0], config, directory=tmp_path / "a", quiet=True)
    whole = fit(make, Tiny(), [0], config, directory=tmp_path / "b", quiet=True)
    assert rest.history == whole.history
    for name, value in whole.runs.parameters.items():
        assert torch.equal(value, rest.runs.parameters[name])


def test_enough_time_is_no_limit() -> None:
    assert len(fit(make, Tiny(), [0], TrainConfig(epochs=3), quiet=True, seconds=600).history) == 3


def test_no_epoch_begins_that_would_end_too_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """Epochs of 10 seconds: the third would end after 30 of the 25 that there are."""
    clock = [0.0]

    class Ticking(Tiny):
        def batches(self, epoch):  # type: ignore[no-untyped-def]
            clock[0] += 10
            return super().batches(epoch)

    monkeypatch.setattr("ehnn.training.loop.time.monotonic", lambda: clock[0])
    result = fit(make, Ticking(), [0], TrainConfig(epochs=5), quiet=True, seconds=25.0)
    assert [row["epoch"] for row in result.history] == [1, 2]


def test_what_time_ends_is_evaluated() -> None:
    """Also between two evaluations: otherwise nothing of the run could be selected."""
    result = fit(make, Tiny(), [0], TrainConfig(epochs=50, evaluate_every=10), quiet=True, seconds=0.0)
    assert [row["epoch"] for row in result.history] == [1]
    assert result.selected("validation") == result.history[0]["test"]


def test_metrics_with_a_slash_are_kept_and_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    class More(Tiny):
        def evaluate(self, predict):  # type: ignore[no-untyped-def]
            found = super().evaluate(predict)
            return found | {"test/duck": found["test"]}

    result = fit(make, More(), [0], TrainConfig(epochs=1))
    assert result.history[0]["test/duck"] == result.history[0]["test"]
    shown = capsys.readouterr().err
    assert "test" in shown
    assert "duck" not in shown


def test_what_time_ends_between_evaluations_selects_nothing_of_what_goes_on(tmp_path: Path) -> None:
    config = TrainConfig(epochs=7, evaluate_every=3, checkpoint_every=3, lr=0.01)
    whole = fit(make, Tiny(), [0, 1], config, quiet=True)
    for _ in range(7):
        parts = fit(make, Tiny(), [0, 1], config, directory=tmp_path, quiet=True, seconds=0.0)
    assert [row["epoch"] for row in parts.history] == [3, 6, 7]
    assert (parts.best_epoch, parts.best_valid) == (whole.best_epoch, whole.best_valid)
    for name, value in whole.best.items():
        assert torch.equal(value, parts.best[name])


def test_dropout_of_pytorch_is_a_function_of_the_seed_and_leaves_the_generator_alone(tmp_path: Path) -> None:
    class Dropping(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stack, self.dropout = make(), torch.nn.Dropout(0.5)

        def forward(self, h, x=None):  # type: ignore[no-untyped-def]
            return self.stack(h, self.dropout(h.x if x is None else x))

    config = TrainConfig(epochs=4, checkpoint_every=1)
    torch.manual_seed(1)
    first = fit(Dropping, Tiny(), [0], config, quiet=True)
    after = torch.rand(1)
    torch.manual_seed(1)
    assert torch.equal(torch.rand(1), after)
    for _ in range(4):
        second = fit(Dropping, Tiny(), [0], config, directory=tmp_path, quiet=True, seconds=0.0)
    for name, value in first.runs.parameters.items():
        assert torch.equal(value, second.runs.parameters[name])


def test_a_metric_for_too_few_runs_is_an_error() -> None:
    class Wrong(Tiny):
        def evaluate(self, predict):  # type: ignore[no-untyped-def]
            return {"valid": torch.zeros(1)}

    with pytest.raises(ValueError, match="valid must have a number for each of 2 runs, got 1"):
        fit(make, Wrong(), [0, 1], TrainConfig(epochs=1), quiet=True)
