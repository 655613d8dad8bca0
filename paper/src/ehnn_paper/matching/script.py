"""The command line of ``paper/experiments/willow.py`` and ``paper/experiments/voc.py``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from ehnn.cli.show import plain_table

from .prepare import BLOCKS, Setup, setup_of
from .recipes import BACKBONE_FACTOR, BENCHMARKS, Benchmark
from .table import LEGEND, SHOWN, draw, reproduce, table


def main(name: str, description: str | None, arguments: Sequence[str] | None = None) -> None:
    """Train, write the table and print it."""
    benchmark = BENCHMARKS[name]
    given = _parser(benchmark, description).parse_args(arguments)
    setup = _setup(benchmark, given)
    rows = reproduce(
        benchmark, given.models, setup, seeds=range(given.first_seed, given.first_seed + given.seeds),
        out=given.out, runs_dir=given.runs_dir, fresh=given.fresh, say=_say,
    )  # fmt: skip
    print(f"{benchmark.title}\n{LEGEND}\n\n{plain_table(*table(benchmark, rows))}")
    for path in draw(benchmark, given.out):
        print(f"Drawn: {path}")


def parse(benchmark: Benchmark, arguments: Sequence[str]) -> tuple[list[str], Setup]:
    """The models that a command line names, and what else it asks for."""
    given = _parser(benchmark, None).parse_args(arguments)
    return given.models, _setup(benchmark, given)


def _setup(benchmark: Benchmark, given: argparse.Namespace) -> Setup:
    told = {f.name: getattr(given, f.name) for f in fields(Setup)}
    steps = None if given.lr_steps is None else tuple(given.lr_steps)
    return setup_of(benchmark, **told | {"lr_steps": steps})


def _say(text: str) -> None:
    print(text, flush=True)


def _parser(benchmark: Benchmark, description: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add, either = parser.add_argument, argparse.BooleanOptionalAction

    def own(name: str) -> Any:
        return benchmark.defaults.get(name, getattr(Setup, name))

    add("--models", nargs="+", choices=benchmark.recipes, default=list(SHOWN), metavar="NAME")
    add("--seeds", type=int, default=1, help="how many")
    add("--first-seed", type=int, default=0)
    add("--epochs", type=int, help=f"{benchmark.epochs} unless told")
    add("--iterations", type=int, help=f"of an epoch, {benchmark.iterations} unless told")
    add("--lr", type=float, help="learning rate, the recipe's unless told")
    add("--lr-steps", type=int, nargs="*", help=f"epochs after which it is halved, {benchmark.lr_steps}")
    add("--checkpoint-every", type=int, default=1, help="epochs")
    add("--batch-size", type=int, help=f"pairs, {own('batch_size')} unless told")
    add("--test-pairs", type=int, help=f"per category, {benchmark.test_pairs} unless told")
    add("--valid-pairs", type=int, help=f"per category, {benchmark.valid_pairs} unless told")
    add("--hard-pairs", type=int, default=100, help="turned, and with outliers; per category")
    told = own("epoch_pairs") or "all"
    add("--epoch-pairs", type=int, help=f"test pairs per category judged while training; {told} unless told")
    add("--test-every", type=int, help=f"epochs between two judgements of test pairs, {own('test_every')}")
    add("--hold-out", type=int, help=f"training images per category, {benchmark.valid_images}; 0: last epoch")
    add("--copies", type=int, help=f"of training images, but for one turned and scaled, {benchmark.copies}")
    add("--thin", type=float, default=0.0, help="probability that a keypoint is left out of a training pair")
    add("--weight-decay", type=float, help="decoupled; the recipe's unless told")
    add("--width", type=int, help="channels of the network; the recipe's unless told")
    add("--layers", type=int, help="on the association hypergraph; the recipe's unless told")
    add("--dropout", type=float, help="inside the EHNN layers; the recipe's unless told")
    add("--global-dropout", type=float, help="of what EHNN-Transformer sees of all; the recipe's unless told")
    add("--clip-norm", type=float, help="largest norm of the gradient")
    add("--ema", type=float, help="judge a moving average of the parameters with this decay a batch")
    add("--finetune", action=either, help="train the backbone too" + _on_gpu(benchmark, "finetune"))
    add("--backbone-factor", type=float, default=BACKBONE_FACTOR, help="on the learning rate of the backbone")
    blocks = "of VGG16 that learn" + _on_gpu(benchmark, "blocks")
    add("--blocks", type=int, choices=range(2, BLOCKS + 1), help=blocks)
    add("--amp", action=either, help="a trained backbone works in bfloat16" + _on_gpu(benchmark, "amp"))
    add("--tf32", action=either, help="products of float32 may use TF32" + _on_gpu(benchmark, "tf32"))
    add("--minutes", type=float, help="of training and judging a model; no epoch begins that would end later")
    add("--device", default="cpu")
    add("--workers", type=int, help="processes that make batches; 8 beside a GPU, else 0")
    add("--data-dir", type=Path, help="holds the folder vision; EHNN_DATA unless told")
    add("--features-dir", type=Path, help="where features of the frozen backbone are kept")
    add("--out", type=Path, default=Path("results"))
    add("--runs-dir", type=Path, default=Path("runs"))
    add("--fresh", action="store_true", help="train again what is done or was stopped")
    return parser


def _on_gpu(benchmark: Benchmark, name: str) -> str:
    """What stands for an option on a GPU where the backbone is trained."""
    value = {"finetune": benchmark.finetune, **benchmark.trained}.get(name)
    return f" (on a GPU: {value})" if value else ""
