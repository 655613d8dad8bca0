"""Reactions as directed hyperedges: which side is consumed, and which reactions are missing?

    python paper/experiments/reactions.py direction
    python paper/experiments/reactions.py direction --networks iIT341 --models lr-history ehnn-directed-all
    python paper/experiments/reactions.py pool
    python paper/experiments/reactions.py swapped

- ``direction``: five splits of the irreversible reactions with two sides; reactions of one group stay
  together. Every model has four settings, chosen by the log loss on validation reactions.
- ``pool``: a fifth of the reactions of a model is hidden and ranked among the reactions of BiGG over the same
  metabolites. ``swapped``: the same against copies with half of the metabolites exchanged. Three splits, one
  setting for every model: nothing is chosen.

See `ehnn_paper.reactions`. Finished cells are kept in ``--out`` and never computed again; rows go to
``results/reactions.json`` and ``.csv``.
"""

from __future__ import annotations

import argparse
import json
import shlex
import statistics
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

from ehnn._utils.atomic import atomic_write
from ehnn_paper.reactions import direction_table, missing_table
from ehnn_paper.reactions.data import load_reactions
from ehnn_paper.reactions.missing import load_network
from ehnn_paper.results import origin, provenance, write_rows


def kept(path: Path, compute: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What is in the file, or else what is computed and written to it."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        found = compute() | {"origin": origin()}
        with atomic_write(path) as file:
            json.dump(found, file)
    return json.loads(path.read_text())


def direction(given: argparse.Namespace) -> None:
    for network in given.networks or direction_table.PUBLISHED:
        reactions = load_reactions(network, given.data_dir)
        for model in given.models or direction_table.MODELS:
            cells = [
                kept(
                    given.out / "direction" / network / f"{model}-{split}.json",
                    lambda m=model, s=split, r=reactions: direction_table.measure(m, r, s),
                )
                for split in range(given.splits or direction_table.SPLITS)
            ]
            values = {"accuracy": [cell["accuracy"] for cell in cells]}
            published = direction_table.PUBLISHED[network] if model == "lr-history" else None
            settings = {"chosen": [cell["setting"] for cell in cells]}
            write(given, f"direction, {network}", model, values, cells, settings, published)


def missing(kind: str, given: argparse.Namespace) -> None:
    networks = missing_table.POOLS if kind == "pool" else missing_table.SWAPPED
    for name in given.networks or networks:
        network = load_network(name, given.data_dir)
        for model in given.models or missing_table.MODELS:
            cells = [
                kept(
                    given.out / kind / name / f"{model}-{split}.json",
                    lambda m=model, s=split, n=network: missing_table.measure(kind, m, n, s),
                )
                for split in range(given.splits or missing_table.SPLITS)
            ]
            values = {metric: [cell[metric] for cell in cells] for metric in ("auroc", "ap")}
            settings = {"setting": cells[0]["setting"]}
            write(given, f"{kind}, {name}", model, values, cells, settings, selection="none")


def write(
    given: argparse.Namespace, setting: str, model: str, values: Mapping[str, list[float]],
    cells: list[dict[str, Any]], settings: dict[str, Any], published: float | None = None,
    selection: str = "validation",
) -> None:  # fmt: skip
    """One row for each metric."""
    seeds = range(len(cells))
    about = provenance(given.command, seeds=seeds, settings=settings, runs=[c["origin"] for c in cells])
    rows = [
        {
            "setting": setting, "model": model, "selection": selection, "metric": metric,
            "mean": statistics.mean(found), "std": statistics.pstdev(found), "runs": len(found),
            "paper": published, **about,
        }
        for metric, found in values.items()
    ]  # fmt: skip
    write_rows("reactions", rows, given.results)
    shown = ", ".join(f"{row['metric']} {row['mean']:.1f} ± {row['std']:.1f}" for row in rows)
    print(f"{setting:30} {model:20} {shown}", flush=True)


TASKS = {"direction": direction, "pool": partial(missing, "pool"), "swapped": partial(missing, "swapped")}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("task", choices=list(TASKS))
    parser.add_argument("--networks", nargs="+")
    parser.add_argument("--models", nargs="+")
    parser.add_argument("--splits", type=int, help="the first so many splits only")
    parser.add_argument("--data-dir")
    parser.add_argument("--out", type=Path, default=Path("runs/reactions"), help="folder of finished cells")
    parser.add_argument("--results", default="results", help="folder of the table")
    given = parser.parse_args(arguments)
    asked = {"--networks": given.networks, "--models": given.models}
    asked["--splits"] = [str(given.splits)] if given.splits else None
    words = [word for name, values in asked.items() if values for word in (name, *values)]
    given.command = shlex.join(["python", "paper/experiments/reactions.py", given.task, *words])
    torch.set_num_threads(1)
    TASKS[given.task](given)


if __name__ == "__main__":
    main()
