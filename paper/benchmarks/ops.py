"""Why sums over pairs and dropout keep nothing: each operation against its plain version, in one process.

``python paper/benchmarks/ops.py``: 10⁶ pairs over 2·10⁵ rows and columns, width 64 (4 heads of 16), forward
and
backward, alternating; medians. The plain versions gather pairs × channels and keep them for the backward
pass; ours read the columns in place and, backward, read the rows the same way. Plain dropout makes its mask
in a dozen operations and keeps it; ours makes it where it is used, twice.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import torch
from torch import Tensor

from ehnn.ops import (
    Mask,
    seeded_dropout,
    segment_softmax_sum,
    segment_sum,
    use_backend,
)
from ehnn.ops.softmax_sum.naive import reference_softmax_sum
from ehnn.testing import random_hypergraph
from ehnn_paper.results import provenance, write_rows

HEADS, CHANNELS = 4, 16


def step(fn: Callable[[], Tensor]) -> tuple[float, int]:
    """Seconds of forward and backward, and the bytes that the forward pass keeps."""
    kept: dict[int, int] = {}

    def keep(t: Tensor) -> Tensor:
        kept[t.untyped_storage().data_ptr()] = t.untyped_storage().nbytes()
        return t

    start = time.perf_counter()
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda t: t):
        y = fn()
    y.sum().backward()
    return time.perf_counter() - start, sum(kept.values())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--out", default="results")
    given = parser.parse_args()
    n = given.pairs // 5
    pairs = random_hypergraph(n, n, 5, seed=0).incidence
    x = torch.randn(n, HEADS, CHANNELS, requires_grad=True)
    logits = torch.randn(n, HEADS, requires_grad=True)

    def plain_sum() -> Tensor:
        return torch.zeros(n, HEADS, CHANNELS).index_add(0, pairs.rows, x[pairs.index])

    mask = Mask(torch.tensor(1), 0.5)

    def plain_dropout() -> Tensor:
        with use_backend("reference"):
            return seeded_dropout(x, mask)

    ours = {
        "segment_sum": (lambda: segment_sum(x, pairs), plain_sum),
        "segment_softmax_sum": (
            lambda: segment_softmax_sum(x, logits, pairs),
            lambda: reference_softmax_sum(x, logits, pairs),
        ),
        "seeded_dropout": (lambda: seeded_dropout(x, mask), plain_dropout),
    }
    about = provenance(f"python paper/benchmarks/ops.py --pairs {given.pairs} --repeats {given.repeats}")
    rows = []
    for name, (fast, plain) in ours.items():
        with use_backend("cpu"):
            runs = [(step(fast), step(plain)) for _ in range(given.repeats + 1)][1:]
        times = [statistics.median(r[i][0] for r in runs) for i in range(2)]
        found = {
            "total_ms": 1e3 * times[0],
            "times_faster_than_plain": times[1] / times[0],
            "kept_mb": runs[-1][0][1] / 1e6,
            "kept_mb_of_plain": runs[-1][1][1] / 1e6,
        }
        print(name, "  ".join(f"{k} {v:.3g}" for k, v in found.items()))
        rows += [
            {"setting": f"{given.pairs} pairs", "model": name, "selection": "none", "metric": metric,
             "mean": value, "std": None, "runs": given.repeats, "paper": None, **about}
            for metric, value in found.items()
        ]  # fmt: skip
    write_rows("ops", rows, given.out)


if __name__ == "__main__":
    main()
