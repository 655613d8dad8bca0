"""From Parquet files to predictions on two ranks: what to do with tables that do not fit in memory.

Writes a synthetic table of communities, cuts it into shards (``ehnn shard``), trains on two ranks
(``torchrun … -m ehnn train --shards``) and in one process, and compares both. ``make scale-demo`` runs it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("scale-demo"))
    parser.add_argument("--nodes", type=int, default=20_000)
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--workers", type=int, default=2, help="Dask processes; 0: none")
    given = parser.parse_args()
    write_tables(given.out, given.nodes)
    for ranks in (2, 1):
        shards, run = given.out / f"shards-{ranks}", given.out / f"run-{ranks}"
        tables = ["--nodes", str(given.out / "people"), "--label-column", "team", "--split-column", "part"]
        columns = ["--node-column", "person", "--edge-column", "club", "--feature-columns", "age"]
        size = ["--ranks", str(ranks), "--workers", str(given.workers), "--out", str(shards)]
        call("-m", "ehnn", "shard", str(given.out / "members"), *size, *tables, *columns, "--fresh")
        start = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"]
        settings = ["--epochs", str(given.epochs), "--width", "16", "--lr", "0.02", "--device", "cpu"]
        call(*start, "-m", "ehnn", "train", "--shards", str(shards), "--out", str(run), *settings)
    compare(given.out)


def write_tables(folder: Path, count: int) -> None:
    """``members/*.parquet``: a row per person and club. ``people/*.parquet``: a row per person."""
    rng = np.random.default_rng(0)
    names = np.array([f"person {i:07d}" for i in range(count)])
    club = np.repeat(np.arange(3 * count // 2), 4)
    anyone = rng.integers(count, size=len(club))
    own = np.minimum(anyone - anyone % 4 + club % 4, count - 1)  # of the team of the club
    person = np.where(rng.random(len(club)) < 0.8, own, anyone)
    member = {"person": names[person], "club": club}
    part = np.array(["train", "valid", "test"])[rng.choice(3, count, p=[0.5, 0.1, 0.4])]
    teams = np.array(["red", "green", "blue", "black"])[np.arange(count) % 4]
    about = {"person": names, "team": teams, "part": part, "age": rng.normal(40, 10, count)}
    for name, table in (("members", pd.DataFrame(member)), ("people", pd.DataFrame(about))):
        (folder / name).mkdir(parents=True, exist_ok=True)
        for i, rows in enumerate(np.array_split(np.arange(len(table)), 4)):
            table.iloc[rows].to_parquet(folder / name / f"{i}.parquet", index=False)


def call(*arguments: str) -> None:
    """Run Python with these arguments, and stop if it fails."""
    shown = " ".join(a if " " not in a else repr(a) for a in arguments)
    print(f"\n$ python {shown}", flush=True)
    start = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
    print(f"({time.perf_counter() - start:.0f} s)", flush=True)


def compare(folder: Path) -> None:
    """Losses and test accuracy of two ranks and of one process."""
    lines = [(folder / f"run-{r}" / "metrics.jsonl").read_text().splitlines() for r in (1, 2)]
    one, two = (np.array([json.loads(line)["loss"][0] for line in text]) for text in lines)
    apart = np.abs(one - two) / one  # grows with the epochs: sums in float32 are rounded in another order
    print(f"\nlargest relative difference of the losses of the first 5 epochs: {apart[:5].max():.1e}")
    parts = [pd.read_parquet(p) for p in sorted((folder / "run-2").glob("predictions-*.parquet"))]
    table = pd.concat(parts)
    test = table[table["part"] == "test"]
    right = (test["predicted"].astype(str) == test["label"].astype(str)).mean()
    print(f"test accuracy of two ranks, from their Parquet files: {100 * right:.1f} %")


if __name__ == "__main__":
    main()
