"""What each input of the benchmark adds: smoothed features, the gate, known labels.

    EHNN_DATA=DATA python paper/experiments/inputs.py
    python paper/experiments/inputs.py --data-dir DATA --datasets house-1 --models mlp ehnn-mlp

Each model trains with each input alone, on the splits of ``ehnn reproduce benchmark``, with one setting. The
difference to an MLP with the same input is what the network adds. The epoch is chosen on validation nodes.

Finished trials are kept in ``runs/inputs``; rows go to ``results/inputs.json`` and ``.csv``.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

from ehnn_paper.benchmark.inputs import DATASETS, MODELS, reproduce, trials


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data-dir", default=os.environ.get("EHNN_DATA"), help="or the variable EHNN_DATA")
    parser.add_argument("--datasets", nargs="+", choices=DATASETS, default=DATASETS)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=MODELS)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=200)
    parser.add_argument("--first-seed", type=int, default=700)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--minutes", type=float, help="stop after so long")
    given = parser.parse_args()
    if given.data_dir is None:
        parser.error("the data folder is needed: --data-dir DIR, or EHNN_DATA=DIR")
    asked = trials(given.datasets, given.models, given.runs, given.epochs, given.first_seed)
    sweeping = {"jobs": given.jobs, "minutes": given.minutes}
    left = reproduce(asked, given.data_dir, given.device, Path("results"), **sweeping)
    print(f"{left} trials are left" if left else "all trials are done")


if __name__ == "__main__":
    main()
