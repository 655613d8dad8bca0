"""The rows of the three tables of reactions: direction, pool and swapped."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ehnn_paper.cells import Cell, keep
from ehnn_paper.digest import digest
from ehnn_paper.experiment import write_unless_fuller
from ehnn_paper.results import provenance, shown, summary

from . import direction_table, missing_table
from .data import load_reactions, path_of
from .missing import load_network


@dataclass(frozen=True)
class Asked:
    """What to compute; None: all.

    Attributes:
        splits: the first so many splits only.
        command: that is kept with the rows.
        out, results: folders of finished cells and of the table.
    """

    command: str
    networks: Sequence[str] | None = None
    models: Sequence[str] | None = None
    splits: int | None = None
    data_dir: str | None = None
    out: Path = Path("runs/reactions")
    results: Path = Path("results")


def direction(asked: Asked) -> None:
    """Which side is consumed?"""
    for network in asked.networks or direction_table.PUBLISHED:
        reactions = load_reactions(network, asked.data_dir)
        for model in asked.models or direction_table.MODELS:
            decides = direction_table.MODELS[model].grid, direction_table.SPLITS, direction_table.SEEDS
            found = partial(direction_table.measure, model, reactions)
            cells = _cells(asked, "direction", network, model, decides, direction_table.SPLITS, found)
            values = {"accuracy": [cell["accuracy"] for cell in cells]}
            published = direction_table.PUBLISHED[network] if model == "lr-history" else None
            settings = {"chosen": [cell["setting"] for cell in cells]}
            _write(asked, f"direction, {network}", model, values, cells, settings, published)


def missing(kind: str, asked: Asked) -> None:
    """Which reactions are missing? ``kind``: pool or swapped."""
    networks = missing_table.POOLS if kind == "pool" else missing_table.SWAPPED
    for name in asked.networks or networks:
        network = load_network(name, asked.data_dir)
        for model in asked.models or missing_table.MODELS:
            parts = missing_table.FOLDS, missing_table.PARTS, missing_table.SEEDS
            decides = missing_table.MODELS[model][1], parts
            found = partial(missing_table.measure, kind, model, network)
            cells = _cells(asked, kind, name, model, decides, missing_table.SPLITS, found)
            values = {metric: [cell[metric] for cell in cells] for metric in ("auroc", "ap")}
            settings = {"setting": cells[0]["setting"]}
            _write(asked, f"{kind}, {name}", model, values, cells, settings, selection="none")


def _cells(
    asked: Asked, kind: str, name: str, model: str, decides: Any, splits: int,
    measure: Callable[[int], dict[str, Any]],
) -> list[dict[str, Any]]:  # fmt: skip
    """What ``measure`` finds on each split; it is kept for the same data and what else ``decides``."""
    code, folder = digest(path_of(name, asked.data_dir), decides), asked.out / kind / name
    return [
        keep(Cell(folder / f"{model}-{split}-{code}.json", partial(measure, split)))
        for split in range(asked.splits or splits)
    ]


def _write(
    asked: Asked, setting: str, model: str, values: Mapping[str, list[float]],
    cells: list[dict[str, Any]], settings: dict[str, Any], published: float | None = None,
    selection: str = "validation",
) -> None:  # fmt: skip
    """One row for each metric."""
    seeds = range(len(cells))
    about = provenance(asked.command, seeds=seeds, settings=settings, runs=[c["origin"] for c in cells])
    rows = [
        {
            "setting": setting, "model": model, "selection": selection, "metric": metric,
            **summary(found), "paper": published, **about,
        }
        for metric, found in values.items()
    ]  # fmt: skip
    write_unless_fuller("reactions", rows, asked.results, print, f"{model}, {setting}")
    figures = ", ".join(f"{row['metric']} {shown(row)}" for row in rows)
    print(f"{setting:30} {model:20} {figures}", flush=True)


TASKS: dict[str, Callable[[Asked], None]] = {
    "direction": direction, "pool": partial(missing, "pool"), "swapped": partial(missing, "swapped"),
}  # fmt: skip
