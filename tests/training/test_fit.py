"""The loop: it learns, many runs at once are separate runs, selection, stopping, options."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import torch
from torch import nn

from ehnn import Hypergraph
from ehnn.nn.dropout import Dropout
from ehnn.training import NotFiniteError, Progress, Runs, TrainConfig, fit

from .training_helpers import Scripted, Tiny, make, make_with_dropout, train


def test_loss_falls() -> None:
    history = train(epochs=30).history
    assert [row["epoch"] for row in history] == list(range(1, 31))
    assert history[-1]["loss"][0] < 0.5 * history[0]["loss"][0]


@pytest.mark.parametrize("optimizer", ["adam", "adamw"])
def test_many_runs_at_once_are_separate_runs(optimizer: str) -> None:
    options = {"optimizer": optimizer, "weight_decay": 0.01, "epochs": 6}
    together = train(make_with_dropout, seeds=(0, 5, 7), **options)
    for r, seed in enumerate((0, 5, 7)):
        alone = train(make_with_dropout, seeds=(seed,), **options)
        assert [row["loss"][r] for row in together.history] == pytest.approx(
            [row["loss"][0] for row in alone.history], rel=1e-4
        )
        assert together.best_epoch[r] == alone.best_epoch[0]
        for name, value in alone.runs.parameters.items():
            torch.testing.assert_close(together.runs.parameters[name][r], value[0], rtol=1e-3, atol=1e-4)


def test_seeds_fix_everything_and_differ() -> None:
    first, again, other = (train(make_with_dropout, seeds=(seed,)).history for seed in (3, 3, 4))
    assert first == again
    assert first != other


def test_parameters_are_drawn_with_the_seed_of_their_run() -> None:
    runs = Runs(make, (3, 4))
    for r, seed in enumerate((3, 4)):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            expected = dict(make().named_parameters())
        for name, value in runs.parameters.items():
            assert torch.equal(value[r], expected[name])


def test_dropout_is_on_in_training_and_off_in_prediction() -> None:
    runs = Runs(make_with_dropout, (0, 1))
    h, step = Tiny().train[0], torch.tensor(3)
    assert torch.equal(runs.forward(h), runs.forward(h))
    assert torch.equal(runs.forward(h, step=step), runs.forward(h, step=step))
    assert not torch.equal(runs.forward(h, step=step), runs.forward(h, step=step + 1))
    assert not torch.equal(runs.forward(h, step=step), runs.forward(h))


class TwoMasks(nn.Module):
    """The masks of two dropouts, as two channels."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.scale = Dropout(0.5), Dropout(0.5), nn.Parameter(torch.ones(()))

    def forward(self, h: Hypergraph, x: torch.Tensor | None = None) -> torch.Tensor:
        ones = self.scale * torch.ones(h.num_nodes, 20)
        return torch.stack([self.first(ones), self.second(ones)], -1)


def test_every_run_dropout_and_step_has_a_mask_of_its_own() -> None:
    runs, h = Runs(TwoMasks, (0, 1, 2)), Tiny().train[0]
    drawn = torch.stack([runs.forward(h, step=torch.tensor(step)) for step in range(4)])
    masks = (drawn > 0).movedim(-1, 2).flatten(0, 2).flatten(1)  # [steps × runs × dropouts, entries]
    assert len({tuple(mask.tolist()) for mask in masks}) == 4 * 3 * 2
    assert 0.4 < masks.double().mean() < 0.6


def test_one_run_becomes_an_ordinary_module() -> None:
    runs, h = Runs(make_with_dropout, (0, 1)), Tiny().train[0]
    model = runs.extract(1).eval()
    torch.testing.assert_close(model(h), runs.forward(h)[1])
    assert {name for name, _ in model.named_parameters()} == set(runs.parameters)


def test_an_extracted_model_draws_masks_of_its_own() -> None:
    model, h = Runs(TwoMasks, (0,)).extract(0).train(), Tiny().train[0]
    assert not torch.equal(model(h), model(h))


SCRIPT = [
    ([50.0, 50.0], [1.0, 9.0]),
    ([70.0, 40.0], [2.0, 8.0]),
    ([70.0, 60.0], [3.0, 7.0]),
    ([60.0, 30.0], [4.0, 6.0]),
]


def test_selection_rules() -> None:
    result = train(task=Scripted(SCRIPT), seeds=(0, 1), epochs=4)
    assert result.best_epoch == [3, 3]  # of equal validation metrics the later epoch
    assert result.selected() == result.selected("validation") == [3.0, 7.0]
    assert result.selected("test-best") == [4.0, 9.0]
    with pytest.raises(ValueError, match="rule must be 'validation' or 'test-best', got 'best'"):
        result.selected("best")


def test_best_parameters_are_those_of_the_best_epoch() -> None:
    short = train(task=Scripted(SCRIPT[:3]), seeds=(0, 1), epochs=3)
    whole = train(task=Scripted(SCRIPT), seeds=(0, 1), epochs=4)
    for name, value in short.runs.parameters.items():
        assert torch.equal(whole.best[name], value)
        assert not torch.equal(whole.runs.parameters[name], value) or not value.any()


def test_without_validation_the_last_epoch_is_kept() -> None:
    class Unvalidated(Tiny):
        def evaluate(self, predict):
            return {"test": super().evaluate(predict)["test"]}

    result = train(task=Unvalidated(), epochs=3)
    assert result.best_epoch == [3]
    for name, value in result.runs.parameters.items():
        assert torch.equal(result.best[name], value)
    with pytest.raises(ValueError, match="patience=2 needs validation data, the task has none"):
        train(task=Unvalidated(), epochs=3, patience=2)


def test_early_stopping_waits_for_the_last_run_to_gain() -> None:
    valid = [[50.0, 50.0], [40.0, 60.0], [40.0, 40.0], [40.0, 40.0], [99.0, 99.0]]
    result = train(task=Scripted([(v, v) for v in valid]), seeds=(0, 1), epochs=5, patience=2)
    assert [row["epoch"] for row in result.history] == [1, 2, 3, 4]
    assert result.best_epoch == [1, 2]


def test_an_equal_metric_is_kept_but_is_no_gain_for_patience() -> None:
    valid = [50.0, 50.0, 50.0, 99.0]
    result = train(task=Scripted([([v], [v]) for v in valid]), epochs=4, patience=2)
    assert [row["epoch"] for row in result.history] == [1, 2, 3]
    assert result.best_epoch == [3]


def test_an_epoch_is_not_a_place_in_the_history() -> None:
    """With an evaluation every other epoch, the second row is that of epoch 4."""
    script = [([70.0, 10.0], [1.0, 2.0]), ([60.0, 30.0], [3.0, 4.0]), ([50.0, 20.0], [5.0, 6.0])]
    result = train(task=Scripted(script), seeds=(0, 1), epochs=6, evaluate_every=2)
    assert result.best_epoch == [2, 4]
    assert result.selected() == [1.0, 4.0]
    assert result.selected("test-best") == [5.0, 6.0]


def test_patience_is_judged_at_evaluations() -> None:
    script = [([50.0], [0.0]), ([60.0], [0.0]), ([40.0], [0.0]), ([99.0], [0.0])]
    history = train(task=Scripted(script), epochs=100, patience=3, evaluate_every=5).history
    assert [row["epoch"] for row in history] == [5, 10, 15]


def test_a_metric_that_is_no_number_is_an_error() -> None:
    with pytest.raises(NotFiniteError, match=r"the metric valid is not a number in epoch 2 \(seeds \[7\]\)"):
        train(task=Scripted([([50.0, 50.0], [0.0] * 2), ([60.0, math.nan], [0.0] * 2)]), seeds=(0, 7))


def test_evaluation_every_few_epochs_and_at_the_end() -> None:
    assert [row["epoch"] for row in train(epochs=7, evaluate_every=3).history] == [3, 6, 7]


def test_cosine_schedule() -> None:
    config = TrainConfig(epochs=10, lr=0.2, schedule="cosine")
    assert [config.lr_at(e) for e in (0, 5)] == pytest.approx([0.2, 0.1])
    assert config.lr_at(9) == pytest.approx(0.1 * (1 + math.cos(0.9 * math.pi)))
    assert TrainConfig(lr=0.2).lr_at(400) == 0.2
    constant, cosine = (train(schedule=s).runs.parameters["embed.weight"] for s in ("constant", "cosine"))
    assert not torch.equal(constant, cosine)


def test_decoupled_decay_shrinks_what_has_no_gradient() -> None:
    class Idle(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale, self.inner = nn.Parameter(torch.ones(())), make()

        def forward(self, h, x=None):
            return self.inner(h, x) + 0 * self.scale

    def scale(optimizer: str) -> float:
        result = train(Idle, optimizer=optimizer, weight_decay=0.5, epochs=2)
        return result.runs.parameters["scale"].item()

    assert scale("adamw") == pytest.approx((1 - 0.01 * 0.5) ** 6)
    assert scale("adam") != pytest.approx(scale("adamw"))


def test_gradients_are_clipped_by_run() -> None:
    runs = Runs(make, (0, 1))
    for p in runs.parameters.values():
        p.grad = torch.ones_like(p) * torch.tensor([1e-6, 10.0]).reshape(-1, *[1] * (p.dim() - 1))
    small = runs.parameters["embed.weight"].grad[0].clone()
    runs.clip_gradients(2.0)
    norms = torch.cat([g.reshape(2, -1) for g in runs.gradients()], 1).norm(dim=1)
    assert norms[1].item() == pytest.approx(2.0, rel=1e-4)
    assert torch.equal(runs.parameters["embed.weight"].grad[0], small)


def test_mixed_precision_trains_float32_parameters() -> None:
    result = train(amp=True, epochs=20, seeds=(0, 1))
    assert all(p.dtype == torch.float32 for p in result.runs.parameters.values())
    assert max(result.history[-1]["loss"]) < 0.8 * min(result.history[0]["loss"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epochs": 0}, "epochs must be a positive integer, got 0"),
        ({"lr": -1.0}, "lr must be above 0"),
        ({"lr": math.nan}, "lr must be above 0"),
        ({"lr": math.inf}, "lr must be above 0 and finite, got inf"),
        ({"weight_decay": -0.1}, "weight_decay must be finite and not below 0, got -0.1"),
        ({"weight_decay": math.inf}, "weight_decay must be finite"),
        ({"patience": 0}, "patience must be a positive integer, got 0"),
        ({"patience": 2.5}, "patience must be a positive integer, got 2.5"),
        ({"epochs": True}, "epochs must be a positive integer, got True"),
        ({"schedule": "steps", "lr_steps": (1.5,)}, "lr_steps must be a positive integer, got 1.5"),
        ({"ema": 1.0}, r"ema must be in \(0, 1\) or None, got 1.0"),
        ({"ema": 0.0}, r"ema must be in \(0, 1\) or None, got 0.0"),
        ({"clip_norm": 0.0}, "clip_norm must be above 0 or None, got 0.0"),
        ({"optimizer": "sgd"}, r"optimizer must be one of \('adam', 'adamw'\), got 'sgd'"),
        ({"schedule": "linear"}, "schedule must be one of .*, got 'linear'"),
    ],
)
def test_impossible_options(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TrainConfig(**options)


def test_config_as_a_mapping() -> None:
    config = TrainConfig(epochs=3, schedule="cosine")
    assert TrainConfig(**json.loads(json.dumps(config.to_dict()))) == config


def test_nothing_to_train() -> None:
    with pytest.raises(ValueError, match="seeds must name at least one run, got none"):
        train(seeds=())
    task = Tiny()
    task.train = []
    with pytest.raises(ValueError, match="the task has no training batches"):
        train(task=task)


class Growing(Tiny):
    """The loss of the second run grows a hundredfold in each epoch from the third on."""

    def batches(self, epoch: int) -> Iterator[Hypergraph]:
        self.epoch = epoch
        return super().batches(epoch)

    def loss(self, logits: torch.Tensor, h: Hypergraph) -> torch.Tensor:
        factors = torch.tensor([1.0, 100.0 ** max(self.epoch - 1, 0)])
        return super().loss(logits, h) * factors


def test_a_run_that_diverges_is_named_once() -> None:
    with pytest.warns(RuntimeWarning, match=r"gone up in epoch 3, by seed: \{8: .*\}; lower lr") as told:
        fit(make, Growing(), [7, 8], TrainConfig(epochs=5, lr=1e-4), quiet=True)
    assert len(told) == 1


def test_progress_prints_plain_lines_without_rich(monkeypatch, capsys) -> None:
    monkeypatch.setitem(sys.modules, "rich", None)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with Progress("label", 2) as progress:
        progress.update(2, loss=0.5, valid=90.0)
    assert capsys.readouterr().err.startswith("label: epoch 2/2  loss 0.5  valid 90")
    with Progress("NodeClassifier", 3, unit="model") as progress:
        progress.update(3)
    assert capsys.readouterr().err.startswith("NodeClassifier: model 3/3")


def test_progress_bar_in_a_terminal(monkeypatch, capsys) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with Progress("label", 2) as progress:
        progress.update(2, loss=0.5)
    assert "label" in capsys.readouterr().err


@pytest.fixture
def on_board(monkeypatch: pytest.MonkeyPatch) -> list[tuple]:
    """What is written to TensorBoard, which need not be installed."""
    written: list[tuple] = []

    class Writer:
        def __init__(self, directory: str, purge_step: int) -> None:
            written.append((Path(directory), purge_step))

        def add_scalar(self, name: str, value: float, step: int) -> None:
            written.append((name, value, step))

        def close(self) -> None:
            written.append(("closed",))

    fake = ModuleType("torch.utils.tensorboard")
    fake.SummaryWriter = Writer
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", fake)
    monkeypatch.setattr("ehnn.training.board.find_spec", lambda name: object())
    return written


def test_tensorboard_gets_the_means(tmp_path: Path, on_board: list[tuple]) -> None:
    script = Scripted([([50.0, 70.0], [10.0, 30.0])])
    fit(make, script, (0, 1), TrainConfig(epochs=1), directory=tmp_path, quiet=True)
    assert on_board[0] == (tmp_path / "tensorboard", 1)
    assert ("valid", 60.0, 1) in on_board
    assert ("test", 20.0, 1) in on_board
    assert on_board[-1] == ("closed",)


def test_tensorboard_is_closed_after_an_error(tmp_path: Path, on_board: list[tuple]) -> None:
    script = Scripted([([50.0], [10.0]), ([float("nan")], [10.0])])
    with pytest.raises(NotFiniteError, match="valid is not a number in epoch 2"):
        fit(make, script, [0], TrainConfig(epochs=2), directory=tmp_path, quiet=True)
    assert ("valid", 50.0, 1) in on_board
    assert on_board[-1] == ("closed",)


def test_a_compiled_run_has_the_same_losses():
    torch.compiler.reset()
    seen = [
        [row["loss"] for row in fit(make, Tiny(), [0], TrainConfig(epochs=4, compile=on), quiet=True).history]
        for on in (False, True)
    ]
    torch.testing.assert_close(*map(torch.tensor, seen), rtol=1e-4, atol=1e-5)


def test_compile_is_for_one_seed():
    with pytest.raises(ValueError, match=r"compile trains one seed at a time, got 2 seeds: \[0, 1\]"):
        fit(make, Tiny(), [0, 1], TrainConfig(epochs=1, compile=True), quiet=True)


class _WithFrozen(nn.Module):
    """A stack and a parameter that is not learned."""

    def __init__(self) -> None:
        super().__init__()
        self.kept = nn.Parameter(torch.ones(3), requires_grad=False)
        self.stack = make()

    def forward(self, h: Hypergraph, x: torch.Tensor | None = None) -> torch.Tensor:
        return self.stack(h, x)


def test_weight_decay_leaves_what_is_not_learned() -> None:
    runs = train(_WithFrozen, epochs=2, lr=0.1, weight_decay=0.5, optimizer="adamw").runs
    assert torch.equal(runs.parameters["kept"], torch.ones(1, 3))
    gradient = runs.parameters["stack.embed.weight"].grad
    assert gradient is not None
    assert bool(gradient.any())


def test_a_model_is_made_by_a_factory() -> None:
    with pytest.raises(ValueError, match=r"make must be a factory .* got an instance of Linear"):
        fit(nn.Linear(2, 2), Tiny(), [0])
