"""The command line of ``experiments/willow.py`` and ``experiments/voc.py``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

from .matching import LEGEND, SHOWN, draw, reproduce, table
from .matching_data import BLOCKS, Setup
from .matching_recipes import BACKBONE_FACTOR, BENCHMARKS, Benchmark
from .report import plain_table


def main(name: str, description: str | None, arguments: Sequence[str] | None = None) -> None:
    """Train, write the table and print it."""
    benchmark = BENCHMARKS[name]
    given = _parser(benchmark, description).parse_args(arguments)
    told = {f.name: getattr(given, f.name) for f in fields(Setup)}
    setup = Setup(**told | {"lr_steps": None if given.lr_steps is None else tuple(given.lr_steps)})
    rows = reproduce(
        benchmark, given.models, setup, seeds=range(given.first_seed, given.first_seed + given.seeds),
        out=given.out, runs_dir=given.runs_dir, fresh=given.fresh, say=_say,
    )  # fmt: skip
    print(f"{benchmark.title}\n{LEGEND}\n\n{plain_table(*table(benchmark, rows))}")
    for path in draw(benchmark, given.out):
        print(f"Drawn: {path}")


def _say(text: str) -> None:
    print(text, flush=True)


def _parser(benchmark: Benchmark, description: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--models", nargs="+", choices=benchmark.recipes, default=list(SHOWN), metavar="NAME")
    add("--seeds", type=int, default=1, help="how many")
    add("--first-seed", type=int, default=0)
    add("--epochs", type=int, help=f"{benchmark.epochs} unless told")
    add("--iterations", type=int, help=f"of an epoch, {benchmark.iterations} unless told")
    add("--lr", type=float, help="learning rate, the recipe's unless told")
    add("--lr-steps", type=int, nargs="*", help=f"epochs after which it is halved, {benchmark.lr_steps}")
    add("--checkpoint-every", type=int, default=1, help="epochs")
    add("--batch-size", type=int, default=8, help="pairs")
    add("--test-pairs", type=int, help=f"per category, {benchmark.test_pairs} unless told")
    add("--valid-pairs", type=int, help=f"per category, {benchmark.valid_pairs} unless told")
    add("--hard-pairs", type=int, default=100, help="turned, and with outliers; per category")
    add("--epoch-pairs", type=int, help="test pairs per category judged while training; all unless told")
    add("--test-every", type=int, default=1, help="epochs between two judgements of test pairs")
    add("--hold-out", type=int, help=f"training images per category, {benchmark.valid_images}; 0: last epoch")
    add("--copies", type=int, help=f"of training images, but for one turned and scaled, {benchmark.copies}")
    add("--thin", type=float, default=0.0, help="probability that a keypoint is left out of a training pair")
    add("--weight-decay", type=float, help="decoupled; the recipe's unless told")
    add("--width", type=int, help="channels of the network; the recipe's unless told")
    add("--dropout", type=float, help="inside the EHNN layers; the recipe's unless told")
    add("--global-dropout", type=float, help="of what EHNN-Transformer sees of all; the recipe's unless told")
    add("--clip-norm", type=float, help="largest norm of the gradient")
    add("--ema", type=float, help="judge a moving average of the parameters with this decay a batch")
    add("--finetune", action="store_true", help="train the backbone too")
    add("--backbone-factor", type=float, default=BACKBONE_FACTOR, help="on the learning rate of the backbone")
    add("--blocks", type=int, choices=range(2, BLOCKS + 1), default=BLOCKS, help="of VGG16 that learn")
    add("--amp", action="store_true", help="a backbone that is trained works in bfloat16")
    add("--tf32", action="store_true", help="float32 products and convolutions on a GPU may use TF32")
    add("--minutes", type=float, help="of training and judging a model; no epoch begins that would end later")
    add("--device", default="cpu")
    add("--workers", type=int, help="processes that make batches; 8 beside a GPU, else 0")
    add("--data-dir", type=Path, help="holds the folder vision; EHNN_DATA unless told")
    add("--features-dir", type=Path, help="where features of the frozen backbone are kept")
    add("--out", type=Path, default=Path("results"))
    add("--runs-dir", type=Path, default=Path("runs"))
    add("--fresh", action="store_true", help="train again what is done or was stopped")
    return parser
