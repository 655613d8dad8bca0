"""Labels of hyperedges: `ehnn.HyperedgeClassifier`, simple answers and networks under one protocol.

    python paper/experiments/edge_labels.py
    python paper/experiments/edge_labels.py --datasets yeast-gem --models majority lr-members-directed

- mag-10 and walmart-trip-types have the split of their files. Reactions are split 60/20/20, another way with
  each seed; those that differ in compartment or direction alone stay together. Classes have 20 reactions.
- All models know the labels of 80 % and choose on a part of them; accuracy and macro-F1 are over the last
  fifth. Names that end in ``-directed`` see which side of a reaction a metabolite is on.
- Networks have the better of two settings on their own validation labels.

Finished cells are kept in ``--out``; rows go to ``results/edge-labels.json`` and ``.csv``.
``ehnn reproduce edge-labels`` is the same.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

from ehnn_paper.edge_labels.data import DATASETS
from ehnn_paper.edge_labels.models import DIRECTED, MODELS
from ehnn_paper.edge_labels.table import Asked, reproduce
from ehnn_paper.results import shown


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [*MODELS, *DIRECTED]
    parser.add_argument("--datasets", nargs="+", choices=[*DATASETS], default=[*DATASETS])
    parser.add_argument("--models", nargs="+", choices=names, default=names)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after so long")
    parser.add_argument("--data-dir")
    parser.add_argument("--out", type=Path, default=Path("runs/edge-labels"), help="folder of finished cells")
    parser.add_argument("--results", type=Path, default=Path("results"), help="folder of the table")
    given = parser.parse_args(arguments)
    asked = Asked(
        given.datasets, given.models, given.seeds, given.device, given.data_dir, given.out, given.results
    )
    words = ["--seeds", str(given.seeds), "--device", given.device]
    command = shlex.join(["python", "paper/experiments/edge_labels.py", *words])
    for row in reproduce(asked, command, jobs=given.jobs, seconds=60 * given.minutes, say=_say):
        figure = f"{shown(row)} ({row['runs']})"
        print(f"{row['setting']:24} {row['model']:30} {row['metric']} {figure}", flush=True)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
