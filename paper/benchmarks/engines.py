"""The same tasks on Dask and on Ray: numbering the ids of a table, as `ehnn shard` does it.

Prints seconds to start the engine, seconds of the tasks, the largest process, and all processes of the engine
together. Both engines are given the same functions, files and number of workers. Needs ``pip install ray``::

    python paper/benchmarks/engines.py --rows 4000000 --workers 2
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

import numpy as np
import psutil

from ehnn.sharding import numbering
from ehnn.sharding.engine import Engine, engine
from ehnn.sharding.inputs import Input, pieces
from ehnn.sharding.steps import Steps
from ehnn_paper.results import provenance, write_rows


class OnRay:
    """`ehnn.sharding.engine.Engine` on Ray."""

    def map(self, function: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
        import ray

        task = ray.remote(lambda item: function(item))  # Ray takes no partial functions
        waiting = [task.options(max_retries=3).remote(item) for item in items]
        while waiting:
            done, waiting = ray.wait(waiting)
            yield from ray.get(done)


@contextmanager
def on_ray(workers: int, memory: int) -> Iterator[Engine]:
    import ray

    ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False, object_store_memory=2**28)
    try:
        yield OnRay()
    finally:
        ray.shutdown()


def write_table(folder: Path, rows: int) -> None:
    """Incidences of about ``rows / 3`` nodes and ``rows / 16`` hyperedges, with text as ids, in 8 files."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    for i in range(8):
        node, edge = rng.integers(rows // 3, size=rows // 8), rng.integers(rows // 16, size=rows // 8)
        ids = {"node": np.char.mod("file %08d", node), "edge": np.char.mod("group %08d", edge)}
        pq.write_table(pa.table(ids), folder / f"{i}.parquet", row_group_size=250_000)


def number(steps: Steps, table: Path, rows: int) -> int:
    """The first steps of `ehnn shard`; returns the number of nodes."""
    found = pieces(steps, "edges", Input.find(table, ("node", "edge"), 2), rows)
    items = [item | {"piece": f"{i:05d}"} for i, item in enumerate(found)]
    ids = steps.run("ids", numbering.save_incidence_ids, items)
    counts = [
        numbering.number_ids(steps, k, [pair[i] for pair in ids], rows)
        for i, k in enumerate(("node", "edge"))
    ]
    return counts[0][-1]


def processes() -> list[psutil.Process]:
    """This process and everything that it started, also Ray's own processes."""
    return [psutil.Process(), *psutil.Process().children(recursive=True)]


def measure(name: str, start: Callable[[], Any], table: Path, rows: int) -> dict[str, float]:
    """Seconds and memory (GB) of one engine."""
    done, peaks = threading.Event(), {"largest": 0.0, "together": 0.0}

    def watch() -> None:
        while not done.wait(0.1):
            sizes = []
            for process in processes()[1:]:
                try:
                    sizes.append(process.memory_info().rss / 1e9)
                except psutil.Error:
                    continue
            peaks["largest"] = max(peaks["largest"], max(sizes, default=0))
            peaks["together"] = max(peaks["together"], sum(sizes))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        begun = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder, start() as workers:
            list(workers.map(len, [[1]] * 4))
            ready = time.perf_counter()
            found = number(Steps(Path(folder), workers), table, rows)
            ended = time.perf_counter()
    finally:
        done.set()
        watcher.join()
    result = {"start": ready - begun, "tasks": ended - ready, **peaks, "nodes": found}
    print(name, json.dumps({k: round(v, 2) for k, v in result.items()}), flush=True)
    return result


def main(arguments: list[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", default="results")
    given = parser.parse_args(arguments)
    command = shlex.join(["python", "paper/benchmarks/engines.py", *(arguments or sys.argv[1:])])
    starts = {
        "Dask": lambda: engine(given.workers, 3 * 10**9),
        "Ray": lambda: on_ray(given.workers, 3 * 10**9),
    }
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        write_table(Path(folder), given.rows)
        for name, start in starts.items():
            found = measure(name, start, Path(folder), given.rows // 8)
            units = {
                "start": "seconds to start", "tasks": "seconds of the tasks",
                "largest": "largest process (GB)", "together": "processes of the engine (GB)",
            }  # fmt: skip
            row = {"setting": f"engines: ids of {given.rows} rows, {given.workers} workers", "model": name}
            row |= {"selection": "none", "std": None, "runs": 1, "paper": None} | provenance(command)
            rows += [row | {"metric": unit, "mean": float(found[key])} for key, unit in units.items()]
    write_rows("scale-real", rows, given.out)


if __name__ == "__main__":
    main()
