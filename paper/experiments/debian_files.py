"""The files of the Debian archive: 19.7 million incidences, from Parquet to a classifier.

Nodes are files; hyperedges are packages, directories and stems (names without extension). The class of a file
is its type. Half of the files are for training, a tenth for validation. Steps, in this order::

    python paper/experiments/debian_files.py tables --data DATA/scale --to runs/debian
    python paper/experiments/debian_files.py shard runs/debian --ranks 2 --workers 2 --memory 3GB

``debian_training.py`` trains on one device, ``debian_losses.py`` compares two ranks with one process.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

KINDS = ("package", "directory", "stem")
VALID, TEST = 0.1, 0.4


def main(arguments: list[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    tables = commands.add_parser("tables", help="write the tables as Parquet")
    tables.add_argument("--data", type=Path, required=True, help="folder of debian-files.npz")
    tables.add_argument("--to", type=Path, required=True)
    tables.add_argument("--files", type=int, default=8)
    shards = commands.add_parser("shard", help="make shards of the tables, and measure time and memory")
    shards.add_argument("folder", type=Path)
    shards.add_argument("--ranks", type=int, default=2)
    shards.add_argument("--workers", type=int, default=2)
    shards.add_argument("--memory", default="3GB")
    shards.add_argument("--method", default="propagation")
    shards.add_argument("--rows", action="store_true", help="write rows of results")
    given = parser.parse_args(arguments)
    if given.command == "tables":
        write_tables(given.data, given.to, given.files)
    else:
        shard(given.folder, given.ranks, given.workers, given.memory, given.method, given.rows)


def parts_of(count: int, seed: int = 0) -> np.ndarray:
    """``[count]`` 0, 1 or 2: training, validation or test."""
    u = np.random.default_rng(seed).random(count)
    return np.where(u < TEST, 2, np.where(u < TEST + VALID, 1, 0)).astype(np.int8)


def incidences(d: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Node, number within its kind, and kind of the hyperedge of each incidence."""
    every = np.arange(int(d["num_nodes"]), dtype=np.int32)
    parts = [(every, d["package"], 0), (d["more_file"], d["more_package"], 0)]
    parts += [(every[d[k] >= 0], d[k][d[k] >= 0], i) for i, k in enumerate(KINDS) if i]
    node, edge = (np.concatenate([p[i] for p in parts]) for i in range(2))
    return node, edge, np.concatenate([np.full(len(p[0]), p[2], dtype=np.int8) for p in parts])


def write_tables(data: Path, to: Path, files: int) -> None:
    """``to/members/*.parquet`` (file, group), ``to/files/*.parquet`` (file, type, part); ids are text."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    def text(prefix: str, numbers: np.ndarray) -> Any:
        digits = pc.utf8_lpad(pa.array(numbers).cast(pa.string()), 7, "0")
        return pc.binary_join_element_wise(prefix, digits, " ")

    d = np.load(data / "debian-files.npz")
    node, edge, kind = incidences(d)
    for folder in ("members", "files"):
        (to / folder).mkdir(parents=True, exist_ok=True)
    for i, rows in enumerate(np.array_split(np.arange(len(node)), files)):
        group = pa.chunked_array(
            [text(KINDS[k], edge[rows][kind[rows] == k]) for k in np.unique(kind[rows])], pa.string()
        )  # kinds ascend in the whole table, so their order is that of the rows
        table = pa.table({"file": text("file", node[rows]), "group": group})
        pq.write_table(table, to / "members" / f"{i:02d}.parquet", row_group_size=500_000)
    names = np.array(bytes(d["y_names"]).decode().split("\n"))
    part = np.array(["train", "valid", "test"])[parts_of(len(d["y"]))]
    for i, rows in enumerate(np.array_split(np.arange(len(d["y"])), files)):
        table = pa.table({"file": text("file", rows), "type": names[d["y"][rows]], "part": part[rows]})
        pq.write_table(table, to / "files" / f"{i:02d}.parquet", row_group_size=500_000)


def shard(folder: Path, ranks: int, workers: int, memory: str, method: str, rows: bool) -> None:
    """Make the shards; prints seconds, and the largest memory of any process, sampled ten times a second."""
    import psutil

    from ehnn.sharding import Columns, Job, make_shards
    from ehnn.sharding.job import as_bytes

    job = Job(
        folder / "members", folder / f"shards-{ranks}", ranks, node_column="file", edge_column="group",
        nodes=folder / "files", columns=Columns("file", "type", "part"), workers=workers, method=method,
        memory=as_bytes(memory),
    )  # fmt: skip
    peak: dict[str, int] = {}
    busy: dict[int, float] = {}
    done = threading.Event()

    def watch() -> None:
        me = psutil.Process()
        while not done.wait(0.1):
            for process in [me, *me.children(recursive=True)]:
                try:
                    key = "driver" if process == me else "worker"
                    peak[key] = max(peak.get(key, 0), process.memory_info().rss)
                    busy[process.pid] = sum(process.cpu_times()[:2])
                except psutil.Error:
                    continue

    watcher = threading.Thread(target=watch)
    watcher.start()
    start = time.perf_counter()
    try:
        manifest = make_shards(job, fresh=True, report=_tell)
    finally:
        done.set()
        watcher.join()
    seconds = time.perf_counter() - start
    figures = {"seconds": round(seconds, 1), "busy": round(sum(busy.values()), 1)} | {
        k: round(v / 1e9, 3) for k, v in peak.items()
    }
    print(json.dumps(figures | {"totals": manifest["totals"], "report": manifest["report"]}))
    if rows:
        _rows(figures, manifest, f"shard: {ranks} ranks, {workers} workers, {method}")


def _tell(step: str, tasks: int, seconds: float, peak: int) -> None:
    print(f"{step:16} {tasks:3} tasks {seconds:7.1f} s  peak {peak / 1e9:.2f} GB", flush=True)


def _rows(figures: dict[str, float], manifest: dict[str, Any], setting: str) -> None:
    from ehnn_paper.results import provenance, write_rows

    command = shlex.join(["python", "paper/experiments/debian_files.py", *sys.argv[1:]])
    about = provenance(command)
    known = {
        "seconds": figures["seconds"], "processor seconds of all processes": figures["busy"],
        "largest worker (GB)": figures.get("worker", 0.0),
        "driver (GB)": figures["driver"], "ghosts": float(manifest["report"]["ghosts"]),
    }  # fmt: skip
    row = {
        "setting": f"debian-files, {setting}", "model": "ehnn shard", "selection": "none", "std": None,
        "runs": 1, "paper": None,
    }  # fmt: skip
    write_rows("scale-real", [row | about | {"metric": k, "mean": float(v)} for k, v in known.items()])


if __name__ == "__main__":
    main()
