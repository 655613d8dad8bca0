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
``results/reactions.json`` and ``.csv``. ``ehnn reproduce reactions --setting direction`` is the same.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

from ehnn_paper.reactions.table import TASKS, Asked


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
    parser.add_argument("--results", type=Path, default=Path("results"), help="folder of the table")
    given = parser.parse_args(arguments)
    asked = {"--networks": given.networks, "--models": given.models}
    asked["--splits"] = [str(given.splits)] if given.splits else None
    words = [word for name, values in asked.items() if values for word in (name, *values)]
    command = shlex.join(["python", "paper/experiments/reactions.py", given.task, *words])
    torch.set_num_threads(1)
    TASKS[given.task](
        Asked(command, given.networks, given.models, given.splits, given.data_dir, given.out, given.results)
    )


if __name__ == "__main__":
    main()
