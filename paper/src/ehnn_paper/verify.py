"""Train a random sample of published rows again, with fresh seeds, and compare the means.

    make verify-results
    python -m ehnn_paper.verify --count 20 --runs 10 --tables nodes --datasets zoo ntu2012 --device cuda

A row holds if Welch's two-sided t-test at 5 % does not tell its mean from the fresh one. The standard error
of their difference is √(s₁²/n₁ + s₂²/n₂), from the spread of both sides. The factor on it is the quantile of
Student's t: 2.3 for 5 and 5 runs of equal spread, more for fewer, 1.96 for many. About one in twenty of the
rows that are right fails by chance.

Rows of node classification, of k-edge identification, of the benchmark, of hypergraph classification, of
labels of hyperedges, of hyperedge prediction (AUROC), of the direction of reactions and of missing reactions
are trained again, each with fresh seeds of splits (or draws of the data) and parameters; where a row chose
among settings, so do the fresh runs. Keypoint matching is trained as the commands of its rows say, on other
pairs of the same training images.

A sample has rows that a CPU trains in minutes. ``--datasets`` and ``--models`` name others, such as those of
PASCAL VOC:

    python -m ehnn_paper.verify --tables voc --datasets mean --device cuda --runs 2
"""

from __future__ import annotations

import argparse
import json
import random
import shlex
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from scipy.stats import t as student_t

from ehnn._utils.folders import write_json

from .fresh_runs import FIRST_SEED, TABLES, Again
from .results import provenance, read_rows

LEVEL = 0.05
"""The share of right rows that fail by chance."""
LEAST_MARGIN = 0.1
"""The last digit of the tables, in points: runs that are all perfect have no spread."""


@dataclass(frozen=True)
class Check:
    """A published row beside fresh runs, in percent; ``margin`` is the largest difference that holds."""

    table: str
    setting: str
    model: str
    published: float
    published_runs: int
    fresh: float
    fresh_runs: int
    standard_error: float
    margin: float

    @property
    def holds(self) -> bool:
        """Whether the difference of the means is within the margin."""
        return abs(self.published - self.fresh) <= self.margin + 1e-9

    def __str__(self) -> str:
        beside = f"{self.published:6.2f} published, {self.fresh:6.2f} fresh, margin {self.margin:.2f}"
        name = f"{self.table:17} {self.setting:16} {self.model:22}"
        return f"{name} {beside}  {'holds' if self.holds else 'DOES NOT HOLD'}"


def compare(table: str, row: Mapping[str, Any], values: Sequence[float]) -> Check:
    """The row of a table and the figures of fresh runs.

    >>> row = {"setting": "zoo", "model": "mlp", "mean": 90.0, "std": 3.0, "runs": 9}
    >>> compare("nodes", row, [91.0, 93.0, 92.0]).holds, compare("nodes", row, [70.0, 72.0, 71.0]).holds
    (True, False)
    """
    draws = (row.get("settings") or {}).get("draws")  # of such rows std is over draws, each of several runs
    sides = (row["std"], draws or row["runs"]), (statistics.stdev(values), len(values))
    error, margin = difference(*sides)
    name = table, row["setting"], row["model"]
    return Check(*name, row["mean"], row["runs"], statistics.mean(values), len(values), error, margin)


def difference(*sides: tuple[float, int]) -> tuple[float, float]:
    """The standard error of a difference of two means, and the largest that Welch's t-test lets pass.

    Args:
        sides: sample deviation and number of runs of each mean.

    >>> error, margin = difference((1.0, 5), (1.0, 5))  # 8 degrees of freedom: a factor of 2.31
    >>> round(error, 3), round(margin, 3)
    (0.632, 1.458)
    """
    parts = [(std**2 / runs, runs - 1) for std, runs in sides]
    square = sum(part for part, _ in parts)
    if square == 0:
        return 0.0, LEAST_MARGIN
    freedom = square**2 / sum(part**2 / left for part, left in parts)
    error = square**0.5
    return error, max(LEAST_MARGIN, float(student_t.ppf(1 - LEVEL / 2, freedom)) * error)


def sample(
    rows: Sequence[dict[str, Any]],
    again: Again,
    count: int,
    seed: int,
    datasets: Sequence[str] = (),
    models: Sequence[str] = (),
) -> list[Any]:
    """At most ``count`` rows with a mean over several runs, at random.

    They are of the cheap datasets and models, unless either is named.
    """
    models = models or (() if datasets else again.cheap_models)
    datasets = datasets or again.cheap
    fit = [
        row
        for row in rows
        if row["metric"] == again.metric
        and row["selection"] in again.selection
        and row["setting"] in datasets
        and (not models or row["model"] in models)
        and row["std"] is not None
    ]
    return random.Random(seed).sample(fit, min(count, len(fit)))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--datasets", nargs="+", default=[], help="by default those that are cheap on a CPU")
    parser.add_argument("--models", nargs="+", default=[], help="by default those that are cheap on a CPU")
    parser.add_argument("--count", type=int, default=2, help="rows of each table to train again")
    parser.add_argument("--runs", type=int, default=5, help="fresh runs of each")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--data-dir")
    parser.add_argument("--results", default="results", help="folder of the published rows")
    parser.add_argument("--out", type=Path, help="JSON file of the report")
    given = parser.parse_args(arguments)
    if given.runs < 2:
        parser.error(f"--runs must be at least 2, which have a spread, got {given.runs}")
    checks = []
    for table in given.tables:
        again = TABLES[table]
        rows = read_rows(again.rows or table, given.results)
        chosen = sample(rows, again, given.count, given.seed, given.datasets, given.models)
        if not chosen:
            print(f"{table:17} no such row; --datasets names those that are slow on a CPU", flush=True)
        for row in chosen:
            checks.append(compare(table, row, again.fresh(row, given.runs, given.device, given.data_dir)))
            print(checks[-1], flush=True)
    if given.out is not None:
        _report(given.out, checks, _command(given), range(FIRST_SEED, FIRST_SEED + given.runs))
    return int(not all(one.holds for one in checks))


def _command(given: argparse.Namespace) -> str:
    asked = {"--datasets": given.datasets, "--models": given.models}
    asked["--device"] = [given.device] if given.device != "cpu" else []
    words = [word for name, values in asked.items() if values for word in (name, *values)]
    if given.tables == list(TABLES) and not words:
        return f"make verify-results COUNT={given.count} RUNS={given.runs} SEED={given.seed}"
    counts = "--count", str(given.count), "--runs", str(given.runs), "--seed", str(given.seed)
    return shlex.join(["python", "-m", "ehnn_paper.verify", "--tables", *given.tables, *words, *counts])


def _report(path: Path, checks: Sequence[Check], command: str, seeds: Sequence[int]) -> None:
    """Write each check with where it comes from; those of tables without a new one stay."""
    there = json.loads(path.read_text())["checks"] if path.exists() else []
    tables = {one.table for one in checks}
    kept = [check for check in there if check["table"] not in tables]
    about = provenance(command, seeds=seeds)
    new = [asdict(one) | {"holds": one.holds} | about for one in checks]
    write_json(path, {"checks": kept + new})


if __name__ == "__main__":
    sys.exit(main())
