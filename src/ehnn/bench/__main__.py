"""``python -m ehnn.bench cost scale --device cuda --out results``."""

from __future__ import annotations

import argparse
import inspect
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import BENCHES, merge
from .machine import threads
from .plots import draw_scale

_NOT_PASSED = ("names", "threads", "merge")
"""Options that are not for a benchmark itself."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run benchmarks by name; returns the exit code."""
    options = _parser().parse_args(arguments)
    if options.merge is not None:
        names = merge(options.merge, options.out)
        if "scale" in names:
            draw_scale(options.out)
        print(f"merged into {options.out}: {', '.join(names)}")
        return 0
    if not options.names:
        print(f"name at least one benchmark: {', '.join(BENCHES)}", file=sys.stderr)
        return 2
    try:
        for name in options.names:
            start = time.perf_counter()
            with threads(options.threads):
                BENCHES[name](**_given(name, options))
            print(f"{name}: {time.perf_counter() - start:.0f} s, written to {options.out}\n", flush=True)
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="ehnn bench", description="Measure speed and memory.")
    parser.add_argument("names", nargs="*", choices=[*BENCHES, []], metavar="NAME", help=", ".join(BENCHES))
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--out", type=Path, default=Path("results"), help="folder of the tables and figures")
    parser.add_argument("--repeats", type=int, help="of each measurement (cost: at least 50 for the table)")
    parser.add_argument("--threads", type=int, help="CPU threads of PyTorch")
    parser.add_argument("--sizes", type=lambda s: int(float(s)), nargs="+", help="scale: incidences")
    parser.add_argument("--variants", nargs="+", help="cost, walmart: eager, compiled, graph, compiled+graph")
    parser.add_argument("--models", nargs="+", help="cost, walmart: these models only")
    parser.add_argument("--modes", nargs="+", help="scale: ehnn-mlp, 'ehnn-mlp, bounded memory'")
    parser.add_argument("--data-dir", type=Path, help="walmart: where the data is (default $EHNN_DATA)")
    parser.add_argument(
        "--merge", type=Path, metavar="DIR", help="merge the tables in DIR into --out instead"
    )
    return parser


def _given(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """The options that were given, which must be this benchmark's."""
    known = inspect.signature(BENCHES[name]).parameters
    given = {k: v for k, v in vars(options).items() if v is not None and k not in _NOT_PASSED}
    wrong = next((k for k in given if k not in known), None)
    if wrong is not None:
        raise ValueError(f"--{wrong.replace('_', '-')} does not go with the benchmark {name!r}")
    return given


if __name__ == "__main__":
    raise SystemExit(main())
