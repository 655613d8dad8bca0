"""Keypoint matching: Tables 3 (WILLOW ObjectClass) and 4 (PASCAL VOC) of the paper."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from itertools import starmap
from pathlib import Path
from typing import Any

import torch

from ehnn_paper.dots import draw_dots
from ehnn_paper.experiment import write_unless_fuller
from ehnn_paper.results import provenance, read_rows, summary

from .models import make_matcher
from .pair_model import PairModel
from .prepare import Prepared, Setup, prepare, setup_of
from .recipes import Benchmark
from .run import EXAMPLE, RULES, Scores, hard_scores, run, run_folder, settings_of
from .task import Matching

_LEAST = {"willow": 80.0, "voc": 40.0}  # F1 below this is drawn at the edge of the figure
BASELINES = {"coordinates": "coordinates", "vgg16": "features"}
"""Rows that learn nothing, and the control that makes each."""
SHOWN = ("ehnn-mlp", "ehnn-transformer", "nhgm-v2", "ngm-v2")
"""Models that are trained unless others are named."""
METRIC = "f1"
LEGEND = "F1 in % on test pairs; epoch chosen on validation, the last, or best on test like the paper's."


def reproduce(
    benchmark: Benchmark,
    models: Sequence[str],
    setup: Setup,
    *,
    seeds: Sequence[int] = range(1),
    out: Path = Path("results"),
    runs_dir: Path = Path("runs"),
    fresh: bool = False,
    say: Callable[[str], None] = print,
) -> list[dict[str, Any]]:
    """Train what is not trained yet and write each model's rows to ``out`` at once; returns the rows."""
    unknown = [model for model in models if model not in benchmark.recipes]
    if unknown:
        raise ValueError(f"models must be among {tuple(benchmark.recipes)}, got {unknown[0]!r}")
    if setup.options:
        benchmark = benchmark.with_options(models, setup.options)
    with precision(setup):
        return _reproduce(benchmark, models, setup, seeds, out, runs_dir, fresh, say)


def _reproduce(
    benchmark: Benchmark,
    models: Sequence[str],
    setup: Setup,
    seeds: Sequence[int],
    out: Path,
    runs_dir: Path,
    fresh: bool,
    say: Callable[[str], None],
) -> list[dict[str, Any]]:
    begun = time.monotonic()
    say("making the data ready: images are read and features computed, which may take minutes")
    ready = prepare(benchmark, setup)
    prepared = time.monotonic()
    controls = _baseline_rows(benchmark, ready, setup)
    judging = time.monotonic() - prepared  # of two that take as long as a model without its network
    say(f"data ready after {prepared - begun:.0f} s, controls judged in {judging:.0f} s")
    for name, own in controls.items():
        write_unless_fuller(benchmark.name, own, out, say, name)
    rows = [row for own in controls.values() for row in own]
    usual = benchmark.epochs * benchmark.iterations
    for model in models:
        done = []
        for seed in seeds:
            folder = run_folder(runs_dir, benchmark, model, setup, seed, ready.digest)
            if fresh and folder.exists():
                shutil.rmtree(folder)
            done.append(run(benchmark, model, ready, setup, seed, folder, say, judging))
            if model == models[0] and seed == seeds[0] and (folder / EXAMPLE).exists():
                shutil.copyfile(folder / EXAMPLE, _example_path(benchmark, out))
        told = command(benchmark, model, setup, seeds) + cut_short(done, setup, benchmark)
        name = benchmark.row(model, setup.finetune)
        about = provenance(told, seeds=seeds, settings=settings_of(benchmark, model, setup), runs=done)
        own = make_rows(benchmark, name, [d["scores"] for d in done], about)
        write_unless_fuller(benchmark.name, own, out, say, name, usual)
        rows += own
    return rows


def scores_of(
    benchmark: Benchmark, model: str, setup: Setup, seeds: Sequence[int], runs_dir: Path
) -> list[Scores]:
    """The scores of a model with each seed, without rows of a table."""
    if setup.options:
        benchmark = benchmark.with_options([model], setup.options)
    with precision(setup):
        ready = prepare(benchmark, setup)
        folders = [run_folder(runs_dir, benchmark, model, setup, seed, ready.digest) for seed in seeds]
        runs = [
            run(benchmark, model, ready, setup, seed, folder)
            for seed, folder in zip(seeds, folders, strict=True)
        ]
    return [done["scores"] for done in runs]


@contextmanager
def precision(setup: Setup) -> Iterator[None]:
    """Products and convolutions on a GPU in float32 as asked for; PyTorch's convolutions would use TF32."""
    before = torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32
    if setup.on_gpu:
        torch.set_float32_matmul_precision("high" if setup.tf32 else "highest")
        torch.backends.cudnn.allow_tf32 = setup.tf32
    try:
        yield
    finally:
        if setup.on_gpu:
            torch.set_float32_matmul_precision(before[0])
            torch.backends.cudnn.allow_tf32 = before[1]


def make_rows(
    benchmark: Benchmark, name: str, runs: Sequence[Scores], about: dict[str, Any]
) -> list[dict[str, Any]]:
    """A row for each selection rule and setting, with the `provenance` of all of them.

    The paper's figure, of the best epoch on test pairs, stands with that rule, or with every other where
    there is none.
    """
    likened = {"test-best"} & set(runs[0]) or set(runs[0])
    rows = []
    for rule in runs[0]:
        for setting in runs[0][rule]:
            values = [scores[rule][setting] for scores in runs]
            paper = benchmark.published(name, setting) if rule in likened else None
            rows.append({
                "setting": setting, "model": name, "selection": rule, "metric": METRIC,
                **summary(values), "paper": paper, **about,
            })  # fmt: skip
    return rows


@torch.no_grad()
def _baseline_rows(benchmark: Benchmark, ready: Prepared, setup: Setup) -> dict[str, list[dict[str, Any]]]:
    """Coordinates, and features of the untrained backbone, matched by the Hungarian algorithm."""
    rows = {}
    judged = {name: getattr(setup, name) for name in ("test_pairs", "hard_pairs")}
    changed = {name: value for name, value in judged.items() if value != getattr(setup_of(benchmark), name)}
    told = " ".join([f"python paper/experiments/{benchmark.name}.py", *starmap(_option, changed.items())])
    for name, control in BASELINES.items():
        task, model = Matching(ready.data, ()), PairModel(make_matcher(control), ready.backbone)

        def predict(batch: Any, model: PairModel = model) -> torch.Tensor:
            return model.to(setup.device)(batch).unsqueeze(0)

        scores = {category.lower(): value.item() for category, value in task.f1(predict).items()}
        rows[name] = make_rows(
            benchmark, name, [{"none": scores | hard_scores(task, predict)}], provenance(told)
        )
    return rows


def command(benchmark: Benchmark, model: str, setup: Setup, seeds: Sequence[int]) -> str:
    """The command that computes a model's rows alone: what differs from the benchmark's own choices."""
    words = [f"python paper/experiments/{benchmark.name}.py --models {model} --seeds {len(seeds)}"]
    words += [f"--first-seed {seeds[0]}"] if seeds[0] else []
    full = replace(
        setup,
        epochs=setup.epochs or benchmark.epochs,
        iterations=setup.iterations or benchmark.iterations,
    )
    if setup.epoch_pairs is None and "epoch_pairs" in benchmark.defaults:  # all of them
        full = replace(full, epoch_pairs=setup.test_pairs or benchmark.test_pairs)
    bare, trained = setup_of(benchmark, device=setup.device), {"finetune": setup.finetune}
    own = vars(setup_of(benchmark, device=setup.device, **trained)) | {"finetune": bare.finetune}
    changed = {f.name: getattr(full, f.name) for f in fields(Setup) if getattr(full, f.name) != own[f.name]}
    words += [_option(name, value) for name, value in changed.items() if name not in _ELSEWHERE]
    return " ".join([*words, f"--device {setup.device}"])


_ELSEWHERE = ("device", "workers", "data_dir", "features_dir", "checkpoint_every")
"""What does not change the figures."""


def _option(name: str, value: Any) -> str:
    flag = name.replace("_", "-")
    if isinstance(value, bool):
        return f"--{flag}" if value else f"--no-{flag}"
    if isinstance(value, float):
        return f"--{flag} {value:g}"
    return f"--{flag} {' '.join(map(str, value)) if isinstance(value, tuple) else value}"


def cut_short(done: Iterable[dict[str, Any]], setup: Setup, benchmark: Benchmark) -> str:
    """What to add to the command of runs that were out of time."""
    whole = (setup.epochs or benchmark.epochs) * (setup.iterations or benchmark.iterations)
    iterations = [d["iterations"] for d in done]
    return "" if min(iterations) >= whole else f" (out of time after {min(iterations)} iterations)"


def table(benchmark: Benchmark, rows: Iterable[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Columns and lines for people: each model chosen on validation, best on test, and the paper's."""
    settings = [*benchmark.short, "mean", *dict.fromkeys(r["setting"] for r in rows if "," in r["setting"])]
    columns = ["model", "chosen", *(benchmark.short.get(s, s.removeprefix("mean, ")) for s in settings)]
    found = {(r["model"], r["selection"], r["setting"]): r["mean"] for r in rows}
    lines = []
    for model in dict.fromkeys(r["model"] for r in rows):
        for rule in ("none", *RULES):
            if (model, rule, "mean") in found:
                cells = [found.get((model, rule, s)) for s in settings]
                lines.append([model, "" if rule == "none" else rule, *map(_number, cells)])
        if model in benchmark.paper:
            lines.append([model, "paper", *(_number(benchmark.published(model, s)) for s in settings)])
    return columns, lines


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def draw(benchmark: Benchmark, out: Path) -> list[Path]:
    """The F1 of every model in ``out`` by category; returns the pictures there are."""
    by_model: dict[str, dict[str, float]] = {}
    for row in sorted(read_rows(benchmark.name, out), key=lambda row: row["selection"] != "validation"):
        setting = benchmark.short.get(row["setting"], row["setting"])
        if row["selection"] != "test-best" and "," not in setting and "finetuned" not in row["model"]:
            by_model.setdefault(row["model"], {})[setting] = row["mean"]
    path, example = out / f"{benchmark.name}.png", _example_path(benchmark, out)
    try:
        draw_dots(by_model, path, "F1, %", least=_LEAST.get(benchmark.name))
    except ImportError:
        return []
    return [path, example] if example.exists() else [path]


def _example_path(benchmark: Benchmark, out: Path) -> Path:
    return out / f"{benchmark.name}-matches.png"
