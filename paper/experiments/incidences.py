"""Labels of nodes within hyperedges: WHATsNet, CoNHD and `ehnn.IncidenceClassifier` under one protocol.

    python paper/experiments/incidences.py --datasets outsider-cora --seeds 1
    python paper/experiments/incidences.py --device cuda --jobs 12 --minutes 6

Splits are of hyperedges: ``split`` of the file ("shipped"), and ``split_strict`` of outsider-* ("strict"),
where corrupted copies of one hyperedge stay together. Micro- and macro-F1 over the test incidences; of a node
that is twice in a hyperedge the first label counts. All models see the unlabelled test incidences, and train
on the labels of the training part. All choices are made on the validation part.

The networks have their authors' layers; step and dropout (with the first seed) are chosen. Three things
differ from their papers: every step takes all hyperedges in place of a batch of them; the node vectors that
are trained begin with 44 singular vectors of the incidence matrix in place of skip-gram vectors of walks;
the learning rate is 0.003 and falls by 0.995 at each step. Features of the dataset come beside the vectors.

Finished cells are kept in ``--out``; rows go to ``results/incidences.json`` and ``.csv``.
``ehnn reproduce incidences`` is the same.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

from ehnn_paper.incidences.data import DATASETS
from ehnn_paper.incidences.networks import NETS
from ehnn_paper.incidences.table import MODELS, OURS, Asked, reproduce
from ehnn_paper.results import shown


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--datasets", nargs="+", choices=[*DATASETS], default=[*DATASETS])
    parser.add_argument("--models", nargs="+", choices=[OURS, *NETS], default=[*MODELS])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after so long")
    parser.add_argument("--data-dir")
    parser.add_argument("--out", type=Path, default=Path("runs/incidences"), help="folder of finished cells")
    parser.add_argument("--results", type=Path, default=Path("results"), help="folder of the table")
    given = parser.parse_args(arguments)
    asked = Asked(
        given.datasets, given.models, given.seeds, given.steps, device=given.device, data_dir=given.data_dir,
        out=given.out, results=given.results,
    )  # fmt: skip
    words = ["--seeds", str(given.seeds), "--steps", str(given.steps), "--device", given.device]
    command = shlex.join(["python", "paper/experiments/incidences.py", *words])
    for row in reproduce(asked, command, jobs=given.jobs, seconds=60 * given.minutes, say=_say):
        figure = f"{shown(row)} ({row['runs']})"
        print(f"{row['setting']:24} {row['model']:20} {row['metric']} {figure}", flush=True)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
