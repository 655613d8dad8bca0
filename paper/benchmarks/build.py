"""How fast is a Hypergraph built, and in how much memory? ``python paper/benchmarks/build.py``

Three parts, each writing its rows to ``results/build.json`` and ``results/build.csv``:

- ``pairs``: building from 10 million (node, hyperedge) pairs, as a ratio to two ``torch.sort`` calls on the
  same pairs in the same run, and the peak memory it adds, as a multiple of the input;
- ``overlaps``: the hyperedge-to-hyperedge overlaps of four data sets, read from
  ``EHNN_DATA`` or ``../shared/data``;
- ``peers``: the same hypergraphs in DHG, XGI and HyperNetX, each library in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch

import ehnn
from ehnn.testing import random_hypergraph
from ehnn_paper.results import provenance, write_rows

ROOT = Path(__file__).resolve().parents[2]
DATASETS = {
    "mushroom": "Mushroom",
    "ntu2012": "NTU2012",
    "house": "house-committees",
    "walmart": "walmart-trips",
}
PEERS = ("ehnn (lists)", "ehnn (index)", "dhg", "xgi", "hypernetx")
PEER_INCIDENCES = (100_000, 1_000_000)
PEER_LIMIT = 60.0


def seconds(fn: Callable[[], Any]) -> float:
    start = time.perf_counter()
    fn()
    return time.perf_counter() - start


def row(setting: str, model: str, metric: str, values: list[float]) -> dict[str, Any]:
    std = statistics.stdev(values) if len(values) > 1 else None
    mean = statistics.fmean(values)
    print(
        f"{setting:>22}  {model:<13} {metric:<28} {mean:9.4g}" + (f" ± {std:.2g}" if std is not None else "")
    )
    measured = {"mean": mean, "std": std, "runs": len(values), "paper": None}
    return {"setting": setting, "model": model, "selection": "none", "metric": metric} | measured


# ---------------------------------------------------------------------- 10 million pairs


def random_pairs(count: int) -> tuple[torch.Tensor, int, int]:
    """``[2, count]`` random (node, hyperedge) pairs and the two counts."""
    num_nodes, num_edges = max(count // 10, 1), max(count // 5, 1)
    generator = torch.Generator().manual_seed(0)
    index = torch.empty(2, count, dtype=torch.int64)
    torch.randint(num_nodes, (count,), generator=generator, out=index[0])
    torch.randint(num_edges, (count,), generator=generator, out=index[1])
    return index, num_nodes, num_edges


def pairs_part(count: int, runs: int) -> list[dict[str, Any]]:
    index, num_nodes, num_edges = random_pairs(count)
    sort, build = [], []
    for _ in range(runs):
        sort.append(seconds(lambda: (torch.sort(index[0]), torch.sort(index[1]))))
        build.append(seconds(lambda: ehnn.Hypergraph.from_incidence(index, num_nodes, num_edges)))
    memory = [worker("memory", count=count) for _ in range(min(runs, 3))]
    name = f"{count:.0e} pairs".replace("e+0", "e")
    rows = [
        row(name, "torch.sort", "seconds of two sorts", sort),
        row(name, "ehnn", "seconds", build),
        row(name, "ehnn", "ratio to two sorts", [b / s for b, s in zip(build, sort, strict=True)]),
    ]
    failed = [m for m in memory if "multiple" not in m]
    if failed:
        print(f"{name:>22}  peak memory skipped: {failed[0]}")
        return rows
    return [*rows, row(name, "ehnn", "peak memory over input", [m["multiple"] for m in memory])]


def memory_worker(count: int) -> dict[str, Any]:
    """Peak memory that building adds, as a multiple of its input, by the high-water mark of this process."""
    ehnn.Hypergraph.from_edges([[0, 1]])  # whatever is imported on first use
    index, num_nodes, num_edges = random_pairs(count)
    before = resident("VmRSS")
    h = ehnn.Hypergraph.from_incidence(index, num_nodes, num_edges)
    extra = resident("VmHWM") - before
    return {"multiple": extra / (index.numel() * index.element_size()), "incidences": h.num_incidences}


def resident(field: str) -> int:
    """Resident memory of this process in bytes: now (``VmRSS``) or at its highest (``VmHWM``).

    Not from ``getrusage``, whose high-water mark begins with that of the parent process.
    """
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{field}:"))


# ---------------------------------------------------------------------- overlaps of real data


def overlaps_part(runs: int) -> list[dict[str, Any]]:
    folder = Path(os.environ.get("EHNN_DATA", ROOT.parent / "shared" / "data")) / "hypergraphs"
    rows = []
    for setting, name in DATASETS.items():
        if not (folder / name).is_dir():
            print(f"{setting:>22}  skipped: no folder {name} (set EHNN_DATA to the directory of the data)")
            continue
        h = read_hypergraph(folder / name)
        print(f"{setting:>22}  {h}")
        times = [seconds_of_overlap(h) for _ in range(runs)]
        rows.append(row(setting, "ehnn", "seconds, edges to edges", times))
    return rows


def seconds_of_overlap(h: ehnn.Hypergraph) -> float:
    fresh = h.permute_nodes(torch.arange(h.num_nodes))  # overlaps are kept once found, so not on h itself
    return seconds(lambda: fresh.overlap("edges", "edges"))


def read_hypergraph(folder: Path) -> ehnn.Hypergraph:
    """The structure of one of the paper's raw data sets."""
    pairs = folder / f"{folder.name}.edges"
    if pairs.exists():
        node, edge = np.loadtxt(pairs, dtype=np.int64).T
        return ehnn.Hypergraph.from_incidence(
            (node, edge - edge.min())
        )  # hyperedges are numbered after nodes
    lines = (folder / f"hyperedges-{folder.name}.txt").read_text().splitlines()
    numbers = np.array(",".join(lines).split(","), dtype=np.int64) - 1
    lengths = [line.count(",") + 1 for line in lines]
    return ehnn.Hypergraph.from_incidence((numbers, np.repeat(np.arange(len(lines)), lengths)))


# ---------------------------------------------------------------------- peers


def peers_part(runs: int) -> list[dict[str, Any]]:
    rows = []
    for count in PEER_INCIDENCES:
        setting = f"{count:.0e} incidences".replace("e+0", "e")
        for model in PEERS:
            found = worker("peer", count=count, model=model, runs=runs)
            if "skipped" in found:
                print(f"{setting:>22}  {model:<13} skipped: {found['skipped']}")
            elif "stopped" in found:
                rows.append(row(setting, model, "seconds, stopped after", [found["stopped"]]))
            else:
                rows.append(row(setting, model, "seconds", found["seconds"]))
    return rows


def peer_worker(model: str, count: int, runs: int) -> dict[str, Any]:
    """Seconds to build one random hypergraph from what the library takes, made before time starts."""
    warnings.simplefilter("ignore")
    h = random_hypergraph(count // 5, count // 6, orders=(2, 10), seed=0)
    try:
        peer_builder(model, random_hypergraph(100, 100, seed=0))()  # whatever happens on first use
        build = peer_builder(model, h)
    except ImportError as error:
        return {"skipped": f"not installed ({error.name or error})"}
    times, start = [], time.perf_counter()
    while len(times) < runs and time.perf_counter() - start < PEER_LIMIT / 3:
        times.append(seconds(build))
    return {"seconds": times}


def peer_builder(model: str, h: ehnn.Hypergraph) -> Callable[[], Any]:
    edges, index = h.edges(), h.index
    if model == "ehnn (lists)":
        return lambda: ehnn.Hypergraph.from_edges(edges, h.num_nodes)
    if model == "ehnn (index)":
        return lambda: ehnn.Hypergraph.from_incidence(index, h.num_nodes, h.num_edges)
    if model == "dhg":
        import dhg

        return lambda: dhg.Hypergraph(h.num_nodes, edges)
    if model == "xgi":
        import xgi

        return lambda: xgi.Hypergraph(edges)
    if model == "hypernetx":
        import hypernetx

        named = dict(enumerate(edges))
        return lambda: hypernetx.Hypergraph(named)
    raise ValueError(f"model must be one of {PEERS}, got {model!r}")


# ---------------------------------------------------------------------- command


def worker(task: str, **arguments: Any) -> dict[str, Any]:
    """The result of a task in a process of its own, which is stopped when it takes too long."""
    command = [sys.executable, __file__, "--worker", json.dumps([task, arguments])]
    start = time.perf_counter()
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=2 * PEER_LIMIT, check=False)
    except subprocess.TimeoutExpired:
        return {"stopped": time.perf_counter() - start}
    if done.returncode:
        return {"skipped": f"failed with exit code {done.returncode}"}
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--parts", nargs="+", default=["pairs", "overlaps", "peers"],
                        choices=["pairs", "overlaps", "peers"])  # fmt: skip
    parser.add_argument("--pairs", type=int, default=10_000_000, help="number of pairs to build from")
    parser.add_argument("--runs", type=int, default=5, help="repeats of each measurement")
    parser.add_argument("--out", default=Path("results"), type=Path, help="directory of the tables")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        task, arguments = json.loads(options.worker)
        print(json.dumps({"memory": memory_worker, "peer": peer_worker}[task](**arguments)))
        return
    parts = {
        "pairs": lambda: pairs_part(options.pairs, options.runs),
        "overlaps": lambda: overlaps_part(options.runs),
        "peers": lambda: peers_part(options.runs),
    }
    asked = f"--parts {' '.join(options.parts)} --pairs {options.pairs} --runs {options.runs}"
    source = provenance(f"python paper/benchmarks/build.py {asked}")
    rows = list(chain.from_iterable(parts[name]() for name in options.parts))
    path = write_rows("build", [r | source for r in rows], options.out)
    print(f"wrote {path.parent.name}/{path.name}")


if __name__ == "__main__":
    main()
