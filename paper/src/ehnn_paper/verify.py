"""Train a random sample of published rows again, with fresh seeds, and compare the means.

    make verify-results
    python -m ehnn_paper.verify --count 20 --runs 10 --datasets zoo ntu2012 --device cuda

A row holds if its mean is within two standard errors of the fresh mean (of the difference of the two). Of
rows that are right, one in twenty fails by chance. So far rows of node classification are trained again.
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ehnn._utils.folders import write_json
from ehnn.datasets import load

from .nodes.config import find_model, settings_of
from .nodes.runs import train
from .nodes.table import EPOCHS
from .results import provenance, read_rows

CHEAP = ("zoo", "house-1", "house-0.6")
"""Datasets whose models train in minutes on a CPU."""
FIRST_SEED = 500_000
"""Seeds that neither published rows nor searches have."""


@dataclass(frozen=True)
class Check:
    """A published row beside fresh runs; accuracies in percent."""

    setting: str
    model: str
    published: float
    published_runs: int
    fresh: float
    fresh_runs: int
    standard_error: float

    @property
    def holds(self) -> bool:
        """Whether the means are within two standard errors of their difference."""
        return abs(self.published - self.fresh) <= 2 * self.standard_error + 1e-9

    def __str__(self) -> str:
        beside = f"{self.published:6.2f} published, {self.fresh:6.2f} ± {self.standard_error:.2f} fresh"
        return f"{self.setting:12} {self.model:22} {beside}  {'holds' if self.holds else 'DOES NOT HOLD'}"


def compare(row: dict[str, Any], values: Sequence[float]) -> Check:
    """The row of a table and the accuracies of fresh runs.

    >>> row = {"setting": "zoo", "model": "mlp", "mean": 90.0, "std": 3.0, "runs": 9}
    >>> compare(row, [91.0, 93.0, 92.0]).holds, compare(row, [70.0, 72.0, 71.0]).holds
    (True, False)
    """
    known = row["std"] ** 2 / (row["runs"] - 1)  # the std of a row divides by the number of runs
    error = math.sqrt(known + statistics.variance(values) / len(values))
    name = row["setting"], row["model"]
    return Check(*name, row["mean"], row["runs"], statistics.mean(values), len(values), error)


def sample(rows: Sequence[dict[str, Any]], datasets: Sequence[str], count: int, seed: int) -> list[Any]:
    """At most ``count`` rows of these datasets with a mean accuracy over several runs, at random."""
    fit = [
        row
        for row in rows
        if (row["metric"], row["selection"]) == ("accuracy", "validation")
        and row["setting"] in datasets
        and row["runs"] > 1
    ]
    return random.Random(seed).sample(fit, min(count, len(fit)))


def fresh(row: dict[str, Any], runs: int, epochs: int, device: str, data_dir: str | None) -> list[float]:
    """Test accuracies of fresh runs of a row of node classification."""
    dataset, model = row["setting"], row["model"]
    settings, seeds = settings_of(model, dataset), list(range(FIRST_SEED, FIRST_SEED + runs))
    h = find_model(model).prepare(load(dataset, data_dir)).to(device)
    config = settings.train_config(epochs, model)
    return [
        record["test"] for record in train(h, dataset, model, settings, config, None, device, False, seeds)
    ]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--datasets", nargs="+", default=list(CHEAP))
    parser.add_argument("--count", type=int, default=6, help="rows to train again")
    parser.add_argument("--runs", type=int, default=5, help="fresh runs of each")
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--data-dir")
    parser.add_argument("--results", default="results", help="folder of the published rows")
    parser.add_argument("--out", type=Path, help="JSON file of the report")
    given = parser.parse_args(arguments)
    checks = []
    for row in sample(read_rows("nodes", given.results), given.datasets, given.count, given.seed):
        checks.append(compare(row, fresh(row, given.runs, given.epochs, given.device, given.data_dir)))
        print(checks[-1], flush=True)
    if given.out is not None:
        seeds = range(FIRST_SEED, FIRST_SEED + given.runs)
        about = provenance(f"make verify-results COUNT={given.count} RUNS={given.runs}", seeds=seeds)
        write_json(given.out, about | {"checks": [asdict(one) | {"holds": one.holds} for one in checks]})
    return int(not all(one.holds for one in checks))


if __name__ == "__main__":
    sys.exit(main())
