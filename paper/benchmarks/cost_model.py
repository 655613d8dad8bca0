"""The time of a step, as `ehnn.parallel.step_cost` predicts it and as it is measured on 1 to 4 local ranks.

The speed of products and of memory comes from one process at two widths; the other rows are predictions.
Seconds are those of the processor, so that ranks may share cores. Prints also what the formula says of 10⁹
and 10¹⁰ incidences on GPUs, which nobody has run::

    python paper/benchmarks/cost_model.py --nodes 20000 --edges 30000
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

from ehnn.parallel import Machine, step_cost
from ehnn_paper.results import provenance, write_rows

SCRIPT = str(Path(__file__).with_name("parallel.py"))
GPU = Machine(flops=3e13, memory=1.5e12, network=2.5e10, latency=3e-5)
"""Assumed, not measured: a GPU of the size of an H200, and 25 GB/s between hosts."""
PLANS = ((10**9, 10**8, 4 * 10**8, 64), (10**10, 10**9, 4 * 10**9, 512))
"""Incidences, nodes, hyperedges, ranks."""


def main(arguments: list[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=20_000)
    parser.add_argument("--edges", type=int, default=30_000)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--out", default="results")
    given = parser.parse_args(arguments)
    data = f"{given.nodes}x{given.edges}"
    narrow, wide = (call("alone", data, "--width", str(w), "--steps", "3") for w in (8, 64))
    sizes = (given.nodes, given.edges, int(narrow["incidences"][0]))
    machine = calibrated(sizes, {8: narrow["cpu_seconds"][0], 64: wide["cpu_seconds"][0]})
    print(machine, flush=True)
    command = shlex.join(["python", "paper/benchmarks/cost_model.py", *(arguments or sys.argv[1:])])
    rows = []
    for ranks in given.ranks:
        measured, ghosts = run(data, ranks, given.width)
        predicted = step_cost(*sizes, ghosts, ranks, given.width, machine).seconds
        print(f"{ranks} ranks: {measured:.3f} s of the processor, {predicted:.3f} s predicted", flush=True)
        row = {"setting": f"cost model: {data}, width {given.width}, {ranks} ranks", "selection": "none"}
        row |= {"metric": "processor seconds per step", "std": None, "runs": 1, "paper": None}
        row |= provenance(command)
        rows += [row | {"model": m, "mean": v} for m, v in (("measured", measured), ("formula", predicted))]
    write_rows("scale-real", rows, given.out)
    for plan in PLANS:
        print(planned(*plan), flush=True)


def call(*arguments: str, torchrun: int = 0) -> dict[str, Any]:
    """What ``parallel.py`` prints."""
    launcher = (
        ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={torchrun}"] if torchrun else []
    )
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    command = [sys.executable, *launcher, SCRIPT, *arguments]
    text = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    return dict(json.loads(text.strip().splitlines()[-1]))


def run(data: str, ranks: int, width: int) -> tuple[float, int]:
    """Processor seconds of the slowest rank, and ghosts."""
    with tempfile.TemporaryDirectory() as folder:
        cut = call("partition", data, folder, "--ranks", str(ranks), "--method", "growing")
        found = call("run", folder, "--width", str(width), "--steps", "3", torchrun=ranks)
    return max(found["cpu_seconds"]), int(cut["ghosts"])


def calibrated(sizes: tuple[int, int, int], seconds: dict[int, float]) -> Machine:
    """Two speeds from two widths: products grow with width², passes with width."""
    unit = {w: step_cost(*sizes, 0, 1, w, Machine(1.0, 1.0, 1.0)) for w in seconds}
    (a, b) = sorted(seconds)
    determinant = unit[a].products * unit[b].passes - unit[b].products * unit[a].passes
    per_flop = (seconds[a] * unit[b].passes - seconds[b] * unit[a].passes) / determinant
    per_byte = (unit[a].products * seconds[b] - unit[b].products * seconds[a]) / determinant
    return Machine(1 / max(per_flop, 1e-15), 1 / max(per_byte, 1e-15), 2e9)


def planned(incidences: int, nodes: int, edges: int, ranks: int) -> str:
    """A line about a size that has not been run."""
    ghosts = int(0.4 * edges)
    cost = step_cost(nodes, edges, incidences, ghosts, ranks, 64, GPU)
    parts = f"products {cost.products:.2f}, passes {cost.passes:.2f}, exchange {cost.exchange:.2f}"
    return (
        f"{incidences:.0e} incidences on {ranks} GPUs: {cost.seconds:.2f} s a step ({parts}), "
        f"{cost.activations / 1e9:.0f} GB of activations each"
    )


if __name__ == "__main__":
    main()
