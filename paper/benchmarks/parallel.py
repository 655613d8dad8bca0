"""Measured time, memory and bytes of partition-parallel training steps, beside the formula for the bytes.

Partition once, then run under torchrun (see ``docs/scaling.md``)::

    python paper/benchmarks/parallel.py partition threads-math-sx shards --ranks 2
    torchrun --nproc-per-node 2 paper/benchmarks/parallel.py run shards
    python paper/benchmarks/parallel.py alone threads-math-sx  # one process, without shards
    torchrun --nproc-per-node 2 paper/benchmarks/parallel.py ahead shards  # work while rows travel
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import nn

from ehnn.hypergraph import Hypergraph
from ehnn.nn import EHNNMLP, EHNNTransformer, Stack
from ehnn.parallel.cost import layer_traffic
from ehnn.parallel.files import load_shard, save_shards
from ehnn.parallel.gradients import backward, mean_over_ranks
from ehnn.parallel.owners import cut_report, partition
from ehnn.parallel.ranks import Ranks, start, stop
from ehnn.parallel.relation import ShardedOverlap

LAYERS = {"mlp": EHNNMLP, "transformer": EHNNTransformer}


def main(arguments: list[str] | None = None) -> None:
    """The command: ``partition`` or ``run``; prints JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    cutter = commands.add_parser("partition", help="write the shards of a dataset")
    cutter.add_argument("data", help="a dataset's name, or NODESxEDGES for a random one of orders 2 to 10")
    cutter.add_argument("shards", type=Path)
    cutter.add_argument("--ranks", type=int, required=True)
    cutter.add_argument("--method", default="auto")
    cutter.add_argument("--features", type=int, default=16, help="random features where there are none")
    runner = commands.add_parser("run", help="training steps on the ranks of torchrun")
    runner.add_argument("shards", type=Path)
    both = commands.add_parser("ahead", help="steps with and without work while rows travel, in turn")
    both.add_argument("shards", type=Path)
    alone = commands.add_parser("alone", help="the same steps in one process, on the whole hypergraph")
    alone.add_argument("data")
    alone.add_argument("--features", type=int, default=16)
    for command in (runner, both, alone):
        command.add_argument("--layer", choices=sorted(LAYERS), default="mlp")
        command.add_argument("--width", type=int, default=64)
        command.add_argument("--steps", type=int, default=5)
    given = parser.parse_args(arguments)
    if given.command == "partition":
        print(json.dumps(write(given.data, given.shards, given.ranks, given.method, given.features)))
        return
    ranks = start()
    load = (
        partial(whole, given.data, given.features)
        if given.command == "alone"
        else partial(load_shard, given.shards, ranks)
    )
    made = in_turn if given.command == "ahead" else measure
    result = made(load, ranks, given.layer, given.width, given.steps)
    if ranks.rank == 0:
        print(json.dumps(result))
    stop()


def whole(data: str, features: int) -> Hypergraph:
    """The hypergraph, with random features and labels where it has none."""
    return filled(_dataset(data), features)


def filled(h: Hypergraph, features: int) -> Hypergraph:
    """``h`` with random features and labels where it has none."""
    generator = torch.Generator().manual_seed(0)
    if h.x is None:
        h = h.replace(x=torch.randn(h.num_nodes, features, generator=generator))
    if h.y is None:
        h = h.replace(y=torch.randint(4, (h.num_nodes,), generator=generator))
    return h


def write(data: str, shards: Path, ranks: int, method: str, features: int) -> dict[str, Any]:
    """Partition ``data``, save the shards and return the report of balance and cut."""
    h = whole(data, features)
    began = time.perf_counter()
    parts = partition(h, ranks, method)
    seconds = time.perf_counter() - began
    save_shards(h, parts, shards)
    return cut_report(h, parts).as_dict() | {"seconds": round(seconds, 2)}


def measure(
    load: Callable[[], Hypergraph], ranks: Ranks, layer: str, width: int, steps: int
) -> dict[str, Any]:
    """Seconds per step (of the clock and of the processor), peak memory above the start and bytes per step of
    each rank; losses of all."""
    before = _peak()
    h = load()
    step = stepper(h, ranks, layer, width)
    losses, seconds, busy, sent = [], [], [], (0, 0)
    for _ in range(steps + 1):  # the first makes the relations
        ranks.traffic.clear()
        began, worked = time.perf_counter(), time.process_time()
        losses.append(step())
        seconds.append(time.perf_counter() - began)
        busy.append(time.process_time() - worked)
        sent = ranks.traffic.exchanged, ranks.traffic.reduced
    heads = 4 if layer == "transformer" else 0
    paths = [("nodes", "all"), ("all", "nodes")]
    relations = [o for path in paths if isinstance(o := h.overlap(*path), ShardedOverlap)]
    wanted = [layer_traffic(o, width, heads) for o in relations]
    formula = sum(w.forward[0] + w.backward[0] for w in wanted)
    best = [min(seconds[1:]), min(busy[1:])]
    mine = [*best, (_peak() - before) / 2**20, sent[0], sent[1], formula, h.num_incidences]
    every = [t.tolist() for t in ranks.gather(torch.tensor(mine, dtype=torch.float64))]
    names = ("seconds", "cpu_seconds", "peak_mib", "exchanged", "reduced", "formula", "incidences")
    columns = {name: [round(row[i], 3) for row in every] for i, name in enumerate(names)}
    return {"ranks": ranks.size, "layer": layer, "width": width, "losses": losses[-2:], **columns}


def stepper(h: Hypergraph, ranks: Ranks, layer: str, width: int) -> Callable[[], float]:
    """A function that makes a training step of a new model and returns the loss."""
    assert h.x is not None
    assert h.y is not None
    torch.manual_seed(0)
    classes = int(ranks.max(h.y.max() if h.y.numel() else torch.tensor(0))) + 1
    model = Stack(h.x.shape[1], classes, LAYERS[layer], width=width)
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    labels = h.y.clamp(min=0)

    def step() -> float:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(h), labels, reduction="none")
        total = backward(mean_over_ranks(loss, ranks), model, ranks)
        optimizer.step()
        return float(total)

    return step


def in_turn(
    load: Callable[[], Hypergraph], ranks: Ranks, layer: str, width: int, steps: int
) -> dict[str, Any]:
    """Seconds of steps with and without work while rows travel, of the slowest rank. Each pair of steps is
    made in the other order than the pair before, and ranks start every step together."""
    h = load()
    step = stepper(h, ranks, layer, width)
    seconds: dict[bool, list[float]] = {True: [], False: []}
    for turn in range(steps + 1):  # the first makes the relations
        for ahead in (True, False) if turn % 2 else (False, True):
            ranks.ahead = ahead
            ranks.sum(torch.zeros(1))
            began = time.perf_counter()
            step()
            lasted = torch.tensor(time.perf_counter() - began, dtype=torch.float64)
            seconds[ahead].append(float(ranks.max(lasted)))
    found = {name: seconds[way][1:] for name, way in (("ahead", True), ("waiting", False))}
    middle = {name: statistics.median(values) for name, values in found.items()}
    pairs = [a / b for a, b in zip(found["ahead"], found["waiting"], strict=True)]
    return {
        "ranks": ranks.size, "layer": layer, "width": width, "steps": steps,
        "median": {name: round(value, 4) for name, value in middle.items()},
        "best": {name: round(min(values), 4) for name, values in found.items()},
        "ratio": round(statistics.median(pairs), 3), "quartiles": [round(q, 3) for q in _quartiles(pairs)],
    }  # fmt: skip


def _quartiles(values: list[float]) -> list[float]:
    """The first and the third."""
    cut = statistics.quantiles(values, n=4) if len(values) > 1 else values * 3
    return [cut[0], cut[2]]


def _peak() -> int:
    """Bytes of memory that this process has held at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _dataset(name: str) -> Hypergraph:
    nodes, cross, edges = name.partition("x")
    if cross and nodes.isdigit() and edges.isdigit():
        from ehnn.testing import random_hypergraph

        return random_hypergraph(int(nodes), int(edges), (2, 10), seed=0)
    from ehnn.datasets import load

    return load(name, download=False)


if __name__ == "__main__":
    main()
