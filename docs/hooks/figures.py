"""The tables of docs/choosing.md, from results/: ``python docs/hooks/figures.py`` writes them anew.

A table stands between ``<!-- table NAME -->`` and ``<!-- end -->``; a test holds the page to the results.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "choosing.md"
PLACE = re.compile(r"(<!-- table (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)
TITLES = {
    "all-deep-sets": "AllDeepSets",
    "all-set-transformer": "AllSetTransformer",
    "ehnn-lookup": "EHNNLinear, lookup",
    "ehnn-hypernetwork": "EHNNLinear, hypernetwork",
    "ehnn-mlp": "EHNN-MLP",
    "ehnn-transformer": "EHNN-Transformer",
    "ehnn-mlp+": "EHNN-MLP, counting",
    "ehnn-transformer+": "EHNN-Transformer, counting",
}
Row = dict[str, Any]


def rows(experiment: str, **wanted: str) -> list[Row]:
    """The rows of ``results/<experiment>.json`` with the given values."""
    found = json.loads((ROOT / "results" / f"{experiment}.json").read_text(encoding="utf-8"))
    return [row for row in found if all(row[key] == value for key, value in wanted.items())]


def table(columns: dict[str, list[Row]], show: Callable[[Row], str]) -> str:
    """A line for each model and a column for each setting; a blank where there is no row."""
    cells = {title: {row["model"]: show(row) for row in found} for title, found in columns.items()}
    models = [model for model in TITLES if any(model in column for column in cells.values())]
    lines = [["", *cells], ["---"] * (len(cells) + 1)]
    lines += [[TITLES[model], *(column.get(model, "") for column in cells.values())] for model in models]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def accuracy() -> str:
    settings = {"seen orders": "seen", "between them": "interpolation", "beyond them": "extrapolation"}
    columns = {
        title: rows("k-edge", setting=setting, selection="validation", metric="accuracy")
        for title, setting in settings.items()
    }
    return table(columns, lambda row: f"{row['mean']:.1f} ± {row['std']:.1f}")


def cost() -> str:
    settings = {
        "CPU, one core": "cpu-1, eager",
        "H200, eager": "cuda, eager",
        "H200, CUDA graph": "cuda, graph",
    }
    columns = {
        f"{title} (ms)": rows("cost", setting=setting, metric="total_ms")
        for title, setting in settings.items()
    }
    columns["memory (MB)"] = rows("cost", setting="cpu-1, eager", metric="peak_mb")
    return table(columns, lambda row: f"{row['mean']:.2f}" if row["mean"] < 1 else f"{row['mean']:.1f}")


TABLES = {"accuracy": accuracy, "cost": cost}


def filled(text: str) -> str:
    """The page with its tables from the results."""
    return PLACE.sub(lambda m: f"{m[1]}{TABLES[m[2]]()}{m[3]}", text)


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
