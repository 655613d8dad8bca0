"""The time of a training step, as `ehnn.parallel.step_seconds` predicts it and as it is on 1 to 4 ranks.

The speeds of a rank are fitted to steps of single ranks of several sizes and widths, and those of the
exchange to `Plan` on two ranks; the rows of other sizes and more ranks are predictions. Seconds are those of
the processor, so that ranks may share cores. Prints also what the formula says of 10⁹ and 10¹⁰ incidences::

    python paper/benchmarks/cost_model.py --out results

With ``--bandwidth`` seconds are those of the clock, on a network that is as slow as that. On Linux, as root,
one of 50 MB/s for two ranks together is made by ``unshare -n sh -c "ip link set lo up; tc qdisc add dev lo
root tbf rate 400mbit burst 1mb latency 50ms; GLOO_SOCKET_IFNAME=lo python … --bandwidth 25e6 --ranks 2"``.
``--wire bfloat16`` halves the bytes. ``--ahead`` fits nothing: it compares, in turn, steps in which ranks
work while rows travel with steps in which they wait for them.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import numpy as np
import torch
from scipy.optimize import nnls

from ehnn.parallel import Machine, Ranks, partition, shard, start, step_seconds, stop
from ehnn.parallel.cost import step_terms
from ehnn.parallel.plan import make_plan
from ehnn.parallel.ranks import WIRES
from ehnn.testing import random_hypergraph
from ehnn_paper.results import provenance, write_rows
from parallel import filled, measure

SIZES = (
    (5000, 5000, 10), (5000, 20_000, 4), (20_000, 5000, 40), (20_000, 20_000, 10), (40_000, 10_000, 20),
    (20_000, 10_000, 3),
)  # fmt: skip
"""Nodes, hyperedges, largest order (the smallest is 2)."""
WIDTHS = (8, 32, 64)
GHOSTS = (1000, 10_000, 40_000)
PLANS = ((10**9, 10**8, 4 * 10**8, 64), (10**10, 10**9, 4 * 10**9, 512))
"""Incidences, nodes, hyperedges, ranks."""
AHEAD = "work while rows travel: "
"""How the settings of such rows begin."""
_TENSORS = 14
"""Tensors [rows, width] that a step of one pair of layers holds on a CPU."""


def main(arguments: list[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="40000x60000", help="NODESxEDGES of the steps to predict")
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2, 3, 4])
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--out", default=None, help="folder of the rows")
    parser.add_argument("--bandwidth", type=float, default=None, help="bytes per second that a rank can send")
    parser.add_argument("--wire", choices=tuple(WIRES), default="exact")
    parser.add_argument("--ahead", choices=("mlp",), help="compare steps of this layer")
    parser.add_argument("--exchange", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.exchange:
        time_exchange()
        return
    os.environ["EHNN_WIRE"] = given.wire  # for the ranks
    if given.ahead is not None:
        compare_ahead(given)
        return
    machine = calibrated(given.steps)
    print(machine, flush=True)
    found = {ranks: compared(given, ranks, machine) for ranks in given.ranks}
    if given.out is not None:
        write(given, found, machine)
    for plan in PLANS:
        print(planned(*plan, machine), flush=True)


def calibrated(steps: int) -> Machine:
    """The speeds that fit the steps of single ranks best, by relative error."""
    terms, seconds = [], []
    for nodes, edges, order in SIZES:
        h = filled(random_hypergraph(nodes, edges, (2, order), seed=0), 16)
        part = shard(h, partition(h, 1, "contiguous"), Ranks())
        for width in WIDTHS:
            terms.append(step_terms(h.num_nodes, h.num_edges, h.num_incidences, width))
            seconds.append(measure(lambda part=part: part, Ranks(), "mlp", width, steps)["cpu_seconds"][0])
            print(f"{h}, width {width}: {seconds[-1]:.3f} s", flush=True)
    weight = 1 / np.maximum(seconds, 1e-3)
    speeds, _ = nnls(np.array(terms) * weight[:, None], np.array(seconds) * weight)
    rows = np.array(call("--exchange", torchrun=2)["seconds"])  # bytes, seconds
    byte, rest = np.polyfit(rows[:, 0], rows[:, 1], 1, w=1 / np.maximum(rows[:, 1], 1e-4))
    return Machine(*(float(s) for s in speeds), byte=max(float(byte), 0.0), call=max(float(rest), 0.0))


def time_exchange() -> None:
    """On two ranks: bytes, and processor seconds of one exchange of ghosts, the mean of both directions."""
    ranks, found = start(backend="gloo"), []
    for ghosts in GHOSTS:
        owner = torch.full((ghosts,), 1 - ranks.rank)
        plan = make_plan(ranks, ghosts, owner, torch.arange(ghosts))
        for width in WIDTHS:
            x, best = torch.ones(ghosts, width), np.inf
            for _ in range(6):
                begun = time.process_time()
                plan.fold(plan.with_ghosts(x)[0])
                best = min(best, (time.process_time() - begun) / 2)
            found.append((4 * ghosts * width, best))
    if ranks.rank == 0:
        print(json.dumps({"seconds": found}))
    stop()


def call(*arguments: str, torchrun: int = 0, script: str = __file__) -> dict[str, Any]:
    """What a script prints last."""
    launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={torchrun}"]
    command = [sys.executable, *(launcher if torchrun else []), str(Path(script).resolve()), *arguments]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    text = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
    return dict(json.loads(text.strip().splitlines()[-1]))


def compared(given: argparse.Namespace, ranks: int, machine: Machine) -> tuple[float, float]:
    """Seconds of a step, measured (mean of the ranks) and predicted."""
    script = str(Path(__file__).with_name("parallel.py"))
    with tempfile.TemporaryDirectory() as folder:
        cut = call("partition", given.data, folder, f"--ranks={ranks}", "--method=growing", script=script)
        run = ("run", folder, f"--width={given.width}", f"--steps={given.steps}")
        found = call(*run, torchrun=ranks, script=script)
    sizes = [sum(cut[name]) for name in ("nodes", "edges", "incidences")]
    machine = machine if given.bandwidth is None else slower(machine, given.bandwidth)
    predicted = step_seconds(*sizes, cut["ghosts"], ranks, given.width, machine, wire_bytes(given.wire))
    measured = float(np.mean(found["cpu_seconds" if given.bandwidth is None else "seconds"]))
    told = f"{predicted.total:.3f} predicted ({predicted.exchange:.3f} of them to exchange)"
    print(f"{ranks} ranks, {cut['ghosts']} ghosts: {measured:.3f} s, {told}", flush=True)
    return measured, predicted.total


def compare_ahead(given: argparse.Namespace) -> None:
    """Seconds of steps with and without work while rows travel, and the median of the ratios of pairs."""
    script, rows = str(Path(__file__).with_name("parallel.py")), []
    for ranks in given.ranks:
        with tempfile.TemporaryDirectory() as folder:
            call("partition", given.data, folder, f"--ranks={ranks}", "--method=growing", script=script)
            options = (f"--width={given.width}", f"--steps={given.steps}", f"--layer={given.ahead}")
            found = call("ahead", folder, *options, torchrun=ranks, script=script)
        print(found, flush=True)
        where = "" if given.bandwidth is None else f", {given.bandwidth / 1e6:g} MB/s"
        row = {"setting": f"{AHEAD}{given.ahead}, {given.data}, width {given.width}, {ranks} ranks{where}"}
        row |= {"selection": "none", "std": None, "runs": given.steps, "paper": None}
        row |= provenance(shlex.join(["python", "paper/benchmarks/cost_model.py", *sys.argv[1:]]))
        seconds = {"metric": "median seconds per step"}
        rows += [row | seconds | {"model": name, "mean": found["median"][name]} for name in found["median"]]
        low, high = found["quartiles"]
        ratio = {"metric": "median ratio of pairs of steps", "settings": {"quartiles": [low, high]}}
        rows.append(row | ratio | {"model": "ahead", "mean": found["ratio"]})
    if given.out is not None:
        write_rows("scale-real", rows, given.out)


def slower(machine: Machine, bandwidth: float) -> Machine:
    """``machine`` on a network of so many bytes per second."""
    return Machine(**(vars(machine) | {"byte": machine.byte + 1 / bandwidth}))


def wire_bytes(wire: str) -> int:
    """Bytes of a number on the wire."""
    dtype = WIRES[wire]
    return 4 if dtype is None else dtype.itemsize


def planned(incidences: int, nodes: int, edges: int, ranks: int, machine: Machine) -> str:
    """A line about a size that has not been run, on cores like this one with a network of 10 GB/s each."""
    ghosts = int(0.4 * edges)
    cost = step_seconds(nodes, edges, incidences, ghosts, ranks, 64, slower(machine, 1e10))
    rows = (nodes + edges + ghosts) / ranks
    memory = 80 * incidences / ranks + rows * (130 + _TENSORS * 4 * 64)
    return (
        f"{incidences:.0e} incidences on {ranks} ranks of one core, width 64: {cost.total:.0f} s a step, "
        f"{cost.exchange:.1f} s of them to exchange, {memory / 1e9:.0f} GB each"
    )


def write(given: argparse.Namespace, found: dict[int, tuple[float, float]], machine: Machine) -> None:
    """Two rows for each number of ranks."""
    command = shlex.join(["python", "paper/benchmarks/cost_model.py", *sys.argv[1:]])
    kind, place = "processor seconds per step", ""
    if given.bandwidth is not None:
        kind, place = (
            "seconds per step",
            f", {given.bandwidth / 1e6:g} MB/s, {wire_bytes(given.wire)} bytes a number",
        )
    row = {"selection": "none", "metric": kind, "std": None, "runs": 1, "paper": None}
    row |= provenance(command, settings=vars(machine))
    rows = [
        row | {"setting": f"cost model: {given.data}, width {given.width}, {ranks} ranks{place}"}
        | {"model": m, "mean": s}
        for ranks, both in found.items()
        for m, s in zip(("measured", "formula"), both, strict=True)
    ]  # fmt: skip
    write_rows("scale-real", rows, given.out)


if __name__ == "__main__":
    main()
