"""A run that is stopped goes on to the same result; what is damaged or foreign says so."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

import ehnn
from ehnn.training import NotFiniteError, TrainConfig, fit
from ehnn.training.checkpoint import NAME, load_checkpoint

from .training_helpers import Scripted, Tiny, make, make_with_dropout

CONFIG = TrainConfig(epochs=9, lr=0.01, optimizer="adamw", schedule="cosine", checkpoint_every=2)


class Stop(Exception):
    """Stands for whatever ends a process."""


class Stopping(Tiny):
    """Stops in the middle of an epoch."""

    def __init__(self, epoch: int) -> None:
        super().__init__()
        self.stop_at = epoch

    def batches(self, epoch: int):
        for i, h in enumerate(super().batches(epoch)):
            if (epoch, i) == (self.stop_at, 1):
                raise Stop
            yield h


def train(task: Tiny, directory: Path, seeds=(0, 1), config: TrainConfig = CONFIG):
    return fit(make_with_dropout, task, seeds, config, directory=directory, quiet=True)


def same(a, b) -> None:
    assert a.history == b.history
    assert (a.best_valid, a.best_epoch) == (b.best_valid, b.best_epoch)
    for name, value in a.runs.parameters.items():
        assert torch.equal(value, b.runs.parameters[name])
        assert torch.equal(a.best[name], b.best[name])


@pytest.mark.parametrize("epoch", [0, 1, 2, 5, 8])
def test_stopped_in_the_middle_of_an_epoch(tmp_path: Path, epoch: int) -> None:
    with pytest.raises(Stop):
        train(Stopping(epoch), tmp_path / "stopped")
    resumed, whole = train(Tiny(), tmp_path / "stopped"), train(Tiny(), tmp_path / "whole")
    same(resumed, whole)
    lines = [(tmp_path / d / "metrics.jsonl").read_text() for d in ("stopped", "whole")]
    assert lines[0] == lines[1]
    assert [json.loads(line) for line in lines[0].splitlines()] == whole.history


def test_a_finished_run_is_not_trained_again(tmp_path: Path) -> None:
    first = train(Tiny(), tmp_path)
    same(train(Stopping(0), tmp_path), first)


def in_parts(task: Scripted, directory: Path, config: TrainConfig, calls: int):
    """Epochs one at a time, each by a call of its own."""
    for _ in range(calls):
        result = fit(make, task, (0,), config, directory=directory, quiet=True, seconds=0.0)
    return result


def test_patience_goes_on_where_it_was(tmp_path: Path) -> None:
    script = Scripted([([v], [v]) for v in (50.0, 40.0, 40.0, 40.0, 99.0)])
    config = TrainConfig(epochs=5, patience=3, checkpoint_every=1)
    result = in_parts(script, tmp_path, config, 7)
    assert [row["epoch"] for row in result.history] == [1, 2, 3, 4]
    assert result.best_epoch == [1]


def test_an_evaluation_that_time_forced_is_forgotten(tmp_path: Path) -> None:
    """Epochs 1, 2, 4 and 5 are evaluated because time is up, and seem better than 3 and 6."""
    script = Scripted([([v], [v]) for v in (99.0, 98.0, 50.0, 97.0, 96.0, 40.0)])
    config = TrainConfig(epochs=6, lr=0.05, evaluate_every=3, checkpoint_every=1)
    result = in_parts(script, tmp_path, config, 6)
    assert [row["epoch"] for row in result.history] == [3, 6]
    assert (result.best_epoch, result.best_valid) == ([3], [50.0])
    third = fit(make, Tiny(), (0,), replace(config, epochs=3), quiet=True)
    for name, value in third.runs.parameters.items():
        assert torch.equal(result.best[name], value)


KILLER = """
import os, random, signal, sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from training_helpers import Tiny, make_with_dropout
from ehnn.training import TrainConfig, fit

root, kills, moments = Path(sys.argv[1]), 0, random.Random(int(sys.argv[3]))
config = TrainConfig(epochs=24, lr=0.01, checkpoint_every=3)

def train(name):
    fit(make_with_dropout, Tiny(), (0, 1), config, directory=root / name, quiet=True)

train("whole")  # first, so that the children need not import what it brings
while True:
    child = os.fork()
    if not child:
        train("killed")
        os._exit(0)
    time.sleep(moments.uniform(0.02, 0.25) * (1 + kills / 2))
    if os.waitpid(child, os.WNOHANG)[0]:
        break
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    kills += 1
print(kills)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_at_random_moments(tmp_path: Path) -> None:
    path = os.pathsep.join([str(Path(ehnn.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-c", KILLER, str(tmp_path), str(Path(__file__).parent), "0"]
    environment = os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 2
    (killed, state), (whole, want) = (load_checkpoint(tmp_path / d) for d in ("killed", "whole"))  # type: ignore[misc]
    assert state == want
    assert killed.keys() == whole.keys()
    assert all(torch.equal(killed[name], whole[name]) for name in whole)
    assert len({(tmp_path / d / "metrics.jsonl").read_text() for d in ("killed", "whole")}) == 1
    assert [p.name for p in (tmp_path / "killed").iterdir() if not p.name.startswith(".")]


class Diverging(Tiny):
    """Its loss is not a number from the fourth epoch on, in the second run."""

    def __init__(self) -> None:
        super().__init__()
        self.steps = 0

    def loss(self, logits: Tensor, h) -> Tensor:
        self.steps += 1
        bad = torch.nan if self.steps > 3 * len(self.train) else 0.0
        return super().loss(logits, h) + torch.tensor([0.0, bad])


def test_a_loss_that_is_not_finite_stops_and_keeps_the_last_good_checkpoint(tmp_path: Path) -> None:
    config = TrainConfig(epochs=9, checkpoint_every=1)
    with pytest.raises(
        NotFiniteError, match=r"not finite in epoch 4 \(seeds \[7\]\); last good checkpoint in"
    ) as e:
        train(Diverging(), tmp_path, (5, 7), config)
    assert str(tmp_path) in str(e.value)
    tensors, state = load_checkpoint(tmp_path)  # type: ignore[misc]
    assert state["epoch"] == 3
    assert all(v.isfinite().all() for v in tensors.values())
    train(Tiny(), tmp_path, (5, 7), config)  # and it goes on from there


def test_without_a_checkpoint_the_message_says_so(tmp_path: Path) -> None:
    with pytest.raises(NotFiniteError, match="no checkpoint yet"):
        train(Diverging(), tmp_path, (0, 1), TrainConfig(epochs=9))


class SpoiledParameters(Tiny):
    """A finite loss with a gradient that is not."""

    def loss(self, logits: Tensor, h) -> Tensor:
        return super().loss(logits, h) + (0 * logits).sum((1, 2)).sqrt()


def test_parameters_that_are_not_finite_are_never_saved(tmp_path: Path) -> None:
    task = SpoiledParameters()
    task.train = task.train[:1]
    with pytest.raises(NotFiniteError, match="parameters are not finite after epoch 1"):
        train(task, tmp_path, config=TrainConfig(epochs=3, checkpoint_every=1))
    assert not (tmp_path / NAME).exists()


@pytest.mark.parametrize("damage", ["cut", "noise", "empty"])
def test_a_damaged_checkpoint_names_the_file(tmp_path: Path, damage: str) -> None:
    train(Tiny(), tmp_path)
    path = tmp_path / NAME
    data = path.read_bytes()
    path.write_bytes({"cut": data[: len(data) // 2], "noise": b"\x07" * 100, "empty": b""}[damage])
    with pytest.raises(ValueError, match=NAME):
        train(Tiny(), tmp_path)


def test_other_settings_need_another_folder(tmp_path: Path) -> None:
    train(Tiny(), tmp_path)
    for change, told in (({"seeds": (0, 2)}, "seeds"), ({"config": replace(CONFIG, lr=0.02)}, "lr")):
        with pytest.raises(ValueError, match=rf"other settings \(what differs: {told}\)"):
            train(Tiny(), tmp_path, **change)
    with pytest.raises(ValueError, match=r"what differs: shapes, model"):
        fit(lambda: make(0.3, width=4), Tiny(), (0, 1), CONFIG, directory=tmp_path, quiet=True)


def test_the_checkpoint_is_an_ordinary_safetensors_file(tmp_path: Path) -> None:
    result = train(Tiny(), tmp_path)
    tensors = load_file(tmp_path / NAME)
    for name, value in result.runs.parameters.items():
        assert torch.equal(tensors[f"parameters.{name}"], value)
    assert not list(tmp_path.glob(".*"))
