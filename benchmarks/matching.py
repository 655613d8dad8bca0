"""Time and memory of keypoint matching: association hypergraph, network and Sinkhorn, forward and backward.

``python benchmarks/matching.py --device cuda``: 8 made-up image pairs of 10 to 20 keypoints, 1024 channels,
the size of PASCAL VOC. ``structure_ms`` makes the association hypergraph and its overlap from the batch,
``forward_ms`` and ``backward_ms`` are a step on a structure made before, ``total_ms`` is all of it, made anew
in every repeat; medians. With ``--refine 2`` two SplineConv layers stand before it. Prints JSON.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from ehnn.results import provenance
from ehnn.tasks.matching.association import Association
from ehnn.tasks.matching.graphs import delaunay
from ehnn.tasks.matching.loss import permutation_loss
from ehnn.tasks.matching.models import Matcher, make_matcher
from ehnn.tasks.matching.pair_batch import PairBatch, Side

CHANNELS, WHOLE = 1024, 512


def random_side(counts: list[int], generator: torch.Generator) -> Side:
    points = [256 * torch.rand(n, 2, generator=generator) for n in counts]
    graphs = [delaunay(p) for p in points]
    first = [sum(counts[:i]) for i in range(len(counts))]
    features = torch.randn(sum(counts), CHANNELS, generator=generator) / 32
    return Side(
        torch.cat(points),
        torch.tensor(counts),
        torch.cat([e + row for (e, _), row in zip(graphs, first, strict=True)], 1),
        torch.cat([t + row for (_, t), row in zip(graphs, first, strict=True)], 1),
        features,
        torch.randn(len(counts), WHOLE, generator=generator),
    )


def random_batch(pairs: int, device: str) -> PairBatch:
    """Pairs with 10 to 20 keypoints, the same number in both images."""
    generator = torch.Generator().manual_seed(0)
    counts = torch.randint(10, 21, (pairs,), generator=generator).tolist()
    a, b = random_side(counts, generator), random_side(counts, generator)
    batch = PairBatch(a, b, torch.arange(sum(counts))).to(device)
    # Gradients go on into the backbone.
    wants = [replace(s, features=s.features.requires_grad_()) for s in (batch.a, batch.b)]  # type: ignore[union-attr]
    return replace(batch, a=wants[0], b=wants[1])


def structure_of(model: Matcher, batch: PairBatch) -> Association:
    found = model.associate(batch)
    if hasattr(model.middle, "layer"):
        _ = found.overlap
    return found


def median_ms(fn: Callable[[], Any], device: str, repeats: int) -> float:
    times = []
    for repeat in range(repeats + 3):
        _wait(device)
        start = time.perf_counter()
        fn()
        _wait(device)
        times.append(1e3 * (time.perf_counter() - start) if repeat >= 3 else 0.0)
    return statistics.median(times[3:])


def _wait(device: str) -> None:
    if device.startswith("cuda"):
        torch.cuda.synchronize()


def measure(name: str, pairs: int, given: argparse.Namespace) -> dict[str, Any]:
    """A row of figures for one network and number of pairs."""
    torch.manual_seed(0)
    batch = random_batch(pairs, given.device)
    model = make_matcher(name, CHANNELS, WHOLE, refine=given.refine).to(given.device)
    found = structure_of(model, batch)
    inputs = [*model.parameters(), batch.a.features, batch.b.features]

    def forward(structure: Association) -> Tensor:
        return permutation_loss(model(batch, structure), batch, structure.candidates)

    def step(structure: Association) -> None:
        torch.autograd.grad(forward(structure), inputs, allow_unused=True)

    def time_of(fn: Callable[[], Any]) -> float:
        return median_ms(fn, given.device, given.repeats)

    both = time_of(lambda: step(found))
    ahead = time_of(lambda: forward(found))
    row = {
        "model": name,
        "pairs": pairs,
        "candidates": len(found.candidates),
        "hyperedges": found.structure.num_edges,
        "structure_ms": time_of(lambda: structure_of(model, batch)),
        "forward_ms": ahead,
        "backward_ms": both - ahead,
        "total_ms": time_of(lambda: step(structure_of(model, batch))),
        **_memory(lambda: step(structure_of(model, batch)), lambda: forward(found), given.device),
    }
    if given.device.startswith("cuda"):
        row["graph_replay_ms"] = _replayed(lambda: step(found), given)
    return row


def _memory(step: Callable[[], Any], forward: Callable[[], Tensor], device: str) -> dict[str, float]:
    """On a GPU the peak of a step above what was there; on a CPU what the forward pass keeps."""
    if device.startswith("cuda"):
        torch.cuda.synchronize()
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        step()
        return {"peak_mb": (torch.cuda.max_memory_allocated() - before) / 1e6}
    kept: dict[int, int] = {}

    def keep(t: Tensor) -> Tensor:
        kept[t.untyped_storage().data_ptr()] = t.untyped_storage().nbytes()
        return t

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda t: t):
        forward()
    return {"kept_mb": sum(kept.values()) / 1e6}


def _replayed(step: Callable[[], Any], given: argparse.Namespace) -> float | str:
    """The step recorded once and replayed, or why it cannot be."""
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            step()
    except RuntimeError as error:
        return str(error).splitlines()[0]
    return median_ms(graph.replay, given.device, given.repeats)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cpu")
    models = ["ehnn-mlp", "ehnn-transformer", "nhgm-v2", "ngm-v2"]
    parser.add_argument("--models", nargs="+", default=models, choices=models)
    parser.add_argument("--pairs", type=int, nargs="+", default=[8], help="several show how memory grows")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--refine", type=int, default=0, help="SplineConv layers")
    given = parser.parse_args()
    command = f"python benchmarks/matching.py --device {given.device} --refine {given.refine}"
    rows = [measure(name, pairs, given) for name in given.models for pairs in given.pairs]
    about = provenance(command)
    if given.device.startswith("cuda"):
        about["hardware"] = torch.cuda.get_device_name()
    print(json.dumps({**about, "rows": rows}, indent=2))


if __name__ == "__main__":
    main()
