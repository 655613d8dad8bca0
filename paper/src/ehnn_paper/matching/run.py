"""One matcher, trained once and judged."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ehnn._utils.atomic import atomic_write
from ehnn._utils.schema import check, count
from ehnn._utils.untrusted import read_json
from ehnn.training import Result, TrainConfig, fit
from ehnn.training.checkpoint import NAME as CHECKPOINT
from ehnn_paper.results import origin

from .evaluation import HARDER, TRACKED
from .filling import FILLED
from .hungarian import hungarian
from .loading import drawn
from .loss import permutation_loss
from .models import LOSSES
from .pair_model import PairModel
from .pairs import Pair
from .positional import make_model
from .prepare import Prepared, Setup
from .recipes import Benchmark
from .storage import TRAINED, save_matcher
from .task import Matching

Scores = dict[str, dict[str, float]]
"""F1 in percent by selection rule, then by setting: a category, "mean", "mean, rotated" …"""
RULES = ("validation", "last", "test-best")
"""The epoch: best on validation pairs, the last where no image was held out, best on test pairs."""
EXAMPLE = "example.png"
_LATER = ("epoch_pairs", "test_every", "amp", "tf32", "blocks", "copies", "thin")


def run(
    benchmark: Benchmark,
    model: str,
    ready: Prepared,
    setup: Setup,
    seed: int,
    folder: Path,
    say: Callable[[str], None] = print,
    reserve: float = 0.0,
) -> dict[str, Any]:
    """Train a model with a seed; what was done before is read, and what was stopped goes on.

    Returns ``scores``, ``epochs``, ``iterations``, ``best_epoch``, ``seed`` and the `origin`. The folder
    keeps them, with the matcher of the best validation epoch (`load_matcher`). Of ``setup.minutes``, which
    count from here, ``reserve`` seconds are left for judging.
    """
    path = folder / "scores.json"
    config = config_of(benchmark, model, setup)
    if path.exists():
        told = read_json(path, "scores")
        check(told, SCORES, f"{path} (delete it to judge the model again)")
        if told["epochs"] >= config.epochs or not (folder / CHECKPOINT).exists():
            say(f"{model}, seed {seed}: done before, {told['iterations']} iterations ({folder})")
            return told
    task = make_task(benchmark, model, ready, setup, seed)
    result = fit(
        partial(_make, benchmark, model, ready, setup.amp),
        task,
        [seed],
        config,
        directory=folder,
        device=setup.device,
        label=f"{model}, {benchmark.name}",
        seconds=None if setup.minutes is None else 60 * setup.minutes - reserve,
    )
    told = _judge(task, result) | {"seed": seed, **origin()}
    draw_example(task, ready.example, result.runs.forward, folder / EXAMPLE)
    state = {name: value[0] for name, value in result.best.items()}
    save_matcher(folder, state, _about(benchmark, model, ready, setup))
    with atomic_write(path) as file:
        file.write(json.dumps(told, indent=1) + "\n")
    rule, chosen = next(iter(told["scores"].items()))
    how = f"validation {result.best_valid[0]:.2f} " if rule == "validation" else ""
    say(
        f"{model}, seed {seed}: {told['iterations']} iterations; {how}"
        f"(epoch {told['best_epoch']} of {told['epochs']}), test {chosen['mean']:.2f}"
    )
    if told["epochs"] >= config.epochs:
        (folder / CHECKPOINT).unlink(missing_ok=True)
    return told


SCORES = {"scores": dict, "epochs": count, "iterations": count, "best_epoch": count, "seed": int, ...: object}
"""What ``scores.json`` of a finished training holds."""


def config_of(benchmark: Benchmark, model: str, setup: Setup) -> TrainConfig:
    epochs = setup.epochs or benchmark.epochs
    steps = benchmark.lr_steps if setup.lr_steps is None else setup.lr_steps
    recipe = benchmark.recipes[model]
    return replace(
        recipe.config(epochs, steps, setup.lr),
        weight_decay=recipe.weight_decay if setup.weight_decay is None else setup.weight_decay,
        clip_norm=setup.clip_norm,
        ema=setup.ema,
        cuda_graph=model in FILLED,
        checkpoint_every=setup.checkpoint_every,
        lr_factors=(("backbone.", setup.backbone_factor),),
    )


def settings_of(benchmark: Benchmark, model: str, setup: Setup) -> dict[str, Any]:
    """What the command of a row may leave to the recipe and the benchmark."""
    config = config_of(benchmark, model, setup)
    return {
        "options": dict(benchmark.recipes[model].options),
        "lr": config.lr,
        "lr_steps": list(benchmark.lr_steps if setup.lr_steps is None else setup.lr_steps),
        "weight_decay": config.weight_decay,
        "batch_size": setup.batch_size,
        "hold_out": setup.held_out(benchmark),
        "copies": benchmark.copies if setup.copies is None else setup.copies,
    }


def make_task(benchmark: Benchmark, model: str, ready: Prepared, setup: Setup, seed: int = 0) -> Matching:
    """The training pairs of a seed, with the hyperedges that the model reads."""
    # Made where it costs neither memory nor time: only its middle is asked.
    with torch.device("meta"):
        middle = getattr(_matcher(benchmark, model, ready), "middle", None)
    return Matching(
        ready.data,
        getattr(middle, "orders", ()),
        seed=seed,
        iterations=setup.iterations or benchmark.iterations,
        batch_size=setup.batch_size,
        thin=setup.thin,
        workers=setup.processes,
        test_every=setup.test_every,
        loss=LOSSES.get(model, permutation_loss),
        whole_channels=ready.channels[1],
        fills=setup.on_gpu and model in FILLED,
    )


def _matcher(benchmark: Benchmark, model: str, ready: Prepared) -> nn.Module:
    return make_model(model, *ready.channels, **benchmark.recipes[model].options)


def _make(benchmark: Benchmark, model: str, ready: Prepared, amp: bool) -> nn.Module:
    return PairModel(_matcher(benchmark, model, ready), copy.deepcopy(ready.backbone), amp=amp)


def _judge(task: Matching, result: Result) -> dict[str, Any]:
    """Test scores at the chosen epochs, and of the chosen parameters on harder pairs.

    The parameters of the best validation epoch, or the last ones, are judged on all test pairs, here if
    training did not; there is no best epoch on test pairs where none, or not all of them, were judged.
    """
    rows = {row["epoch"]: row for row in result.history}
    tested = [row for row in rows.values() if "test" in row]
    chosen = rows[result.best_epoch[0]]
    result.runs.load(result.best)
    known = "test" in chosen and TRACKED not in task.data.fixed
    plain = _by_category(chosen) if known else plain_scores(task, result.runs.forward)
    rule = "validation" if "valid" in chosen else "last"
    scores: Scores = {rule: plain | hard_scores(task, result.runs.forward)}
    if tested and TRACKED not in task.data.fixed:
        scores["test-best"] = _by_category(max(tested, key=lambda row: row["test"][0]))
    epochs = result.history[-1]["epoch"]
    return {
        "scores": scores,
        "epochs": epochs,
        "iterations": epochs * task.iterations,
        "best_epoch": result.best_epoch[0],
    }


def _by_category(row: dict[str, Any]) -> dict[str, float]:
    found = {name.removeprefix("test/"): v[0] for name, v in row.items() if name.startswith("test/")}
    return found | {"mean": row["test"][0]}


@torch.no_grad()
def plain_scores(task: Matching, predict: Callable[[Any], Tensor]) -> dict[str, float]:
    """The test scores by category, and their mean."""
    return {category.lower(): value[0].item() for category, value in task.f1(predict).items()}


@torch.no_grad()
def hard_scores(task: Matching, predict: Callable[[Any], Tensor]) -> dict[str, float]:
    """The mean over categories for each kind of harder pairs."""
    kinds = [kind for kind in HARDER if task.data.fixed.get(kind)]
    return {f"mean, {kind}": task.f1(predict, kind)["mean"].mean().item() for kind in kinds}


@torch.no_grad()
def draw_example(task: Matching, pair: Pair, predict: Callable[[Any], Tensor], path: Path) -> None:
    """The two images of a pair with what the model matched; nothing where there is no matplotlib."""
    from .pictures import draw_matches

    ready = task.ready(drawn([pair], task.data.gallery.places))
    matched = hungarian(predict(ready)[0], ready.association.candidates)
    images = pair.a.read_image(), pair.b.read_image()
    with suppress(ImportError):
        draw_matches(*images, pair.a.points, pair.b.points, matched, pair.target, path)


def _about(benchmark: Benchmark, model: str, ready: Prepared, setup: Setup) -> dict[str, Any]:
    return {
        "model": model,
        "dataset": benchmark.name,
        "options": dict(benchmark.recipes[model].options),
        "channels": ready.channels[0],
        "whole_channels": ready.channels[1],
        "backbone": TRAINED if setup.finetune else ready.backbone_hash,
    }


def run_folder(
    runs_dir: Path, benchmark: Benchmark, model: str, setup: Setup, seed: int, data: str = ""
) -> Path:
    """A folder of its own for everything that changes the outcome; ``data`` is a digest of them."""
    copies = benchmark.copies if setup.copies is None else setup.copies
    pairs = setup.test_pairs or benchmark.test_pairs, setup.valid_pairs or benchmark.valid_pairs
    asked: list[Any] = [setup.batch_size, *pairs, setup.hard_pairs, copies, data]
    more = {f.name: getattr(setup, f.name) for f in fields(Setup) if f.name in _LATER}
    # What is not asked for is left out: folders from before there was such a choice stay good.
    asked += [(name, value) for name, value in more.items() if value != getattr(Setup(), name)]
    config = replace(config_of(benchmark, model, replace(setup, checkpoint_every=1)), cuda_graph=False)
    told = repr((config, benchmark.recipes[model], setup.held_out(benchmark), asked))
    code = hashlib.sha256(told.encode()).hexdigest()[:8]
    how = f"{setup.epochs or benchmark.epochs}x{setup.iterations or benchmark.iterations}-{code}"
    return runs_dir / benchmark.name / benchmark.row(model, setup.finetune) / how / f"seed-{seed}"
